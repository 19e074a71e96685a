import WidgetBundle
import WidgetModel

/// The reports about one folder that another folder of the same look can make untrue.
struct UnsaidReports: Sendable {
  /// The problems of folders whose bundle runs from another folder. That folder may be gone.
  var doubles: [String: String] = [:]
  /// The new bundles, whose missing kinds another bundle may have.
  var bundles: Set<String> = []
}

// The notes on the files of bundles, and the reports that wait for all folders of a look.
extension HostState {
  /// The host has looked into all changed folders.
  ///
  /// - Returns: the reports that waited for this, if they are still true.
  mutating func looked() -> [Output] {
    let waiting = unsaid
    unsaid = UnsaidReports()
    let doubles = waiting.doubles.sorted { $0.key < $1.key }.filter { path, problem in
      folders[path]?.problem == problem
    }
    var outputs = doubles.map { Output.report($0.value) }
    for id in waiting.bundles.sorted() {
      guard let bundle = running[id]?.instance.bundle else { continue }
      for remark in remarks(of: bundle) {
        guard let kind = remark.foreignKind, !running.declares(kind) else { continue }
        outputs.append(.report("bundle \(id): \(remark)"))
      }
    }
    return outputs
  }

  /// Whether a version of a bundle runs. In the state `failed`, it is the previous one.
  func runs(_ current: RunningBundle) -> Bool {
    current.refusal == nil && current.instance.absentSince == nil
  }

  /// A line for each widget that waits for its removal, as its error has it.
  func heldRemarks(_ current: RunningBundle?) -> [String] {
    guard let current else { return [] }
    return current.held.prefix(limits.failuresShownMax).map { widget in
      let id = widget.id
      let isDeclared = current.instance.bundle.widgets.contains { $0.id == id }
      let what = isDeclared ? "gives widget \(id) another kind" : "no longer has widget \(id)"
      return "the file \(what); \(Holds.advice(by: widget.end, isDeclared: isDeclared))"
    }
  }

  /// The remarks on a bundle's file that apply: other bundles may provide the kinds that it lacks.
  func remarks(of bundle: Bundle) -> [BundleProblem] {
    let applying = bundle.remarks.filter { problem in
      problem.foreignKind.map { !running.provides($0) } ?? true
    }
    return suggesting(applying.prefix(limits.failuresShownMax), in: bundle)
  }

  /// Remarks of which those about missing kinds have the similar kind of any bundle. The reader knows
  /// only the kinds of the bundle itself.
  private func suggesting(
    _ remarks: some Sequence<BundleProblem>, in bundle: Bundle
  ) -> [BundleProblem] {
    var names: [String]?
    return remarks.map { remark in
      guard let kind = remark.foreignKind else { return remark }
      let known = names ?? kindNames(besides: bundle)
      names = known
      // The daemon may not have taken the bundle with the kind itself yet.
      let others = known.filter { $0 != kind.rawValue }
      guard let meant = kind.rawValue.closest(among: others) else { return remark }
      var remark = remark
      remark.hint = "did you mean \"\(meant)\"?"
      return remark
    }
  }

  private func kindNames(besides bundle: Bundle) -> [String] {
    let own = bundle.kinds.map(\.kind.name) + BundleReader.builtInKinds
    return running.kinds.union(own).map(\.rawValue).sorted()
  }
}
