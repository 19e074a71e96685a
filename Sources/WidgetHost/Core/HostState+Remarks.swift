import WidgetBundle
import WidgetModel

/// The reports about one folder that another folder of the same look can make untrue.
struct UnsaidReports: Sendable {
  /// The problems of folders whose bundle runs from another folder. That folder may be gone.
  var doubles: [String: String] = [:]
  /// The new bundles, whose missing kinds another bundle may have.
  var bundles: Set<String> = []
  /// By bundle, the missing kinds about which the daemon has not told yet, and those of bundles that
  /// the daemon has neither taken nor refused yet.
  var awaitedKinds: [String: Set<KindName>] = [:]
}

// The notes on the files of bundles, and the reports that wait for all folders of a look.
extension HostState {
  /// The host has looked into all changed folders.
  ///
  /// - Returns: the reports that waited for this, if they are still true.
  mutating func looked() -> [Output] {
    let waiting = unsaid
    unsaid = UnsaidReports()
    unsaid.awaitedKinds = waiting.awaitedKinds
    let doubles = waiting.doubles.sorted { $0.key < $1.key }.filter { path, problem in
      folders[path]?.problem == problem
    }
    var outputs = doubles.map { Output.report($0.value) }
    for id in waiting.bundles.sorted() { outputs += reportMissingKinds(of: id) }
    return outputs + reportAwaitedKinds()
  }

  /// The daemon has taken or refused a bundle, or has told whether kinds are registered, or a bundle is
  /// gone.
  ///
  /// - Returns: the reports about kinds that are not registered.
  mutating func reportAwaitedKinds() -> [Output] {
    var outputs: [Output] = []
    // The next look reports the kinds of the others.
    for id in unsaid.awaitedKinds.keys.sorted() where !unsaid.bundles.contains(id) {
      outputs += reportMissingKinds(of: id, only: unsaid.awaitedKinds[id])
    }
    return outputs
  }

  /// Notes which kinds of other programs are registered.
  ///
  /// - Returns: whether this has changed, and the reports about kinds that are not registered.
  mutating func noteRegistrations(
    in input: BundleInput, of id: String
  ) -> (hasChanged: Bool, outputs: [Output]) {
    guard let ended = running.noteRegistrations(in: input, of: id) else { return (false, []) }
    if !ended.isEmpty { unsaid.awaitedKinds[id, default: []].formUnion(ended) }
    return (true, reportAwaitedKinds())
  }

  /// Reports the missing kinds of a bundle. Kinds wait if the daemon has not told about them, if
  /// their bundle has no answer of the daemon, or if the daemon may have them of bundles that do not
  /// run.
  ///
  /// - Parameter kinds: the kinds to report; nil for all.
  private mutating func reportMissingKinds(
    of id: String, only kinds: Set<KindName>? = nil
  ) -> [Output] {
    unsaid.awaitedKinds[id] = nil
    guard let bundle = running[id]?.instance.bundle else { return [] }
    var missing: [BundleProblem] = []
    var awaited: Set<KindName> = []
    let kept = keptKinds
    for remark in bundle.remarks {
      guard let kind = remark.foreignKind, kinds?.contains(kind) ?? true, !running.provides(kind)
      else { continue }
      let isRegistered = running.isRegistered(kind, for: id)
      guard isRegistered != true else { continue }
      let isUnknown = formerIDs == nil || isRegistered == nil
      if isUnknown || kept.contains(kind) || running.declares(kind) {
        awaited.insert(kind)
      } else {
        missing.append(remark)
      }
    }
    if !awaited.isEmpty { unsaid.awaitedKinds[id] = awaited }
    var hints = kindHints
    let lines = suggesting(missing.prefix(limits.failuresShownMax), in: bundle, &hints)
    kindHints = hints
    return lines.map { .report("bundle \(id): \($0)") }
  }

  /// Whether a version of a bundle runs. In the state `failed`, it is the previous one.
  func runs(_ current: RunningBundle) -> Bool {
    running.wasTaken(current.instance.bundle.id) && current.refusal == nil
      && current.instance.absentSince == nil
  }

  /// A line for each widget that waits for its removal, as its error has it.
  func heldRemarks(_ current: RunningBundle?) -> [String] {
    guard let current else { return [] }
    return current.held.filter(\.runs).prefix(limits.failuresShownMax).map { widget in
      let id = widget.id
      let isDeclared = current.instance.bundle.widgets.contains { $0.id == id }
      let what =
        isDeclared ? "\(HostState.given) \(id) another kind" : "\(HostState.lacked) \(id)"
      let end = widget.isPaused ? nil : widget.end
      return "\(what); \(Holds.advice(by: end, isDeclared: isDeclared))"
    }
  }

  private static let given = "the file gives widget"
  private static let lacked = "the file no longer has widget"

  /// Whether a remark is about a widget that waits for its removal.
  static func isHeldRemark(_ line: String) -> Bool {
    line.hasPrefix(given) || line.hasPrefix(lacked)
  }

  /// The remarks on a bundle's file that apply: other programs may provide the kinds that it lacks.
  func remarks(of bundle: Bundle, _ hints: inout KindHints) -> [BundleProblem] {
    suggesting(applyingRemarks(of: bundle).prefix(limits.failuresShownMax), in: bundle, &hints)
  }

  /// All such remarks, as the reader has made them.
  private func applyingRemarks(of bundle: Bundle) -> [BundleProblem] {
    let kept = bundle.remarks.contains { $0.foreignKind != nil } ? keptKinds : []
    return bundle.remarks.filter { problem in
      guard let kind = problem.foreignKind else { return true }
      return running.isRegistered(kind, for: bundle.id) == false && !running.provides(kind)
        && !kept.contains(kind)
    }
  }

  /// The kinds of bundles that only an earlier host ran, and whose file has a mistake or is missing. The
  /// daemon has these kinds until the bundles are removed.
  private var keptKinds: Set<KindName> {
    let known = folders.all.flatMap(\.folder.remembered).filter { running[$0.id] == nil }
    return Set(known.flatMap(\.kinds))
  }

  /// The remarks. Those about missing kinds say that the kind is not registered, and suggest the
  /// similar kind of any bundle or program. The reader knows only the kinds of the bundle itself.
  private func suggesting(
    _ remarks: some Sequence<BundleProblem>, in bundle: Bundle, _ hints: inout KindHints
  ) -> [BundleProblem] {
    var remarks = Array(remarks)
    guard remarks.contains(where: { $0.foreignKind != nil }) else { return remarks }
    hints.use(
      KindHints.Names(
        known: running.kinds.union(BundleReader.builtInKinds).union(programKinds),
        last: Set(lastKinds.values.joined())))
    let own = Set(bundle.kinds.map(\.kind.name))
    for index in remarks.indices {
      guard let kind = remarks[index].foreignKind else { continue }
      remarks[index].message =
        "the kind \"\(kind)\" is not registered, so the widget shows its data as a table"
      remarks[index].hint = hints.hint(for: kind, besides: own)
    }
    return remarks
  }

  /// Notes the kinds of a version. The number of bundles is limited, because bundles that have ended
  /// count, too. They make room first.
  mutating func noteKinds(_ kinds: Set<KindName>, of id: String) {
    if lastKinds[id] == nil, lastKinds.count >= 1_000 {
      guard let ended = lastKinds.keys.filter({ running[$0] == nil }).min() else { return }
      lastKinds[ended] = nil
    }
    lastKinds[id] = kinds
  }

  /// Somebody has removed these bundles on purpose, so nobody means their kinds.
  mutating func forgetKinds(of ids: [String]) {
    for id in ids where running[id] == nil { lastKinds[id] = nil }
  }

  /// The daemon has told the kinds of programs.
  mutating func note(programKinds kinds: Set<KindName>) -> [Output] {
    programKinds = kinds
    return standing()
  }
}
