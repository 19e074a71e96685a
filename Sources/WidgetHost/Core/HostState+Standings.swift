import WidgetBundle
public import WidgetModel

// How things stand with bundles: the state that the widget of each bundle shows.
extension HostState {
  /// The state of a bundle, as its widget shows it.
  public struct Standing: Hashable, Sendable {
    public enum State: String, Hashable, Sendable { case running, failing, failed, stopped }

    /// The id in the name of its widget.
    public var id: String
    /// The id in its file, if the bundle runs from another folder.
    public var copyOf: String?
    public var name: String
    public var version: String
    public var state: State
    public var problem: String
    public var path: String
    /// The load time of the version that runs, or ran last.
    public var loaded: Timestamp?
    /// The number of its own widgets, of any kind.
    public var widgetCount: Int
    /// The failures that the content of its widgets does not show, the newest first.
    public var failures: [BundleFailure] = []
    /// Whether a version runs. In the state `failed`, it is the previous one.
    public var runs = false
    /// The number of widgets of its kinds that are not its own, and the first ones with their owners.
    public var otherCount = 0
    public var others: [String] = []
    /// The events that its kinds react to, by kind, without events of nodes and events that the
    /// daemon handles.
    public var handled: [KindName: [String]] = [:]
    /// The data of its kinds that no source sets. Also that of former kinds, because widgets of them
    /// can wait for their removal.
    var settable = SettableData()
    /// The data of kinds that former versions had.
    var dropped = SettableData()
    /// The values that are gone with removed widgets; nil if there are none.
    var losses: FormerLosses?
    /// The marks of removals that were there when a host last saw the bundle's file, and earlier ones.
    /// Nil if only an older host ran the bundle.
    var marks: Set<String>?
    /// The numbers of events that the daemon has dropped before the bundle got them.
    public var drops: [ClosedRange<UInt64>] = []
    /// Widgets that wait for their removal, edits without effect, values that are gone with removed
    /// widgets, dropped events, sources that notice changes late, settings that are not in force, and
    /// possible mistakes in the bundle's file, with the place.
    public var remarks: [String] = []
  }

  public var standings: [Standing] {
    var hints = kindHints
    return standings(with: &hints)
  }

  private func standings(with hints: inout KindHints) -> [Standing] {
    var result: [Standing] = []
    var taken: Set<String> = []
    for (path, folder) in folders.all {
      let current = running[folder.id].flatMap { $0.folder == path ? $0 : nil }
      let problem = folder.problem ?? current?.refusal
      var id = folder.id
      // If two folders have the same bundle, the second folder is shown under its fallback name.
      if current == nil, folder.bundle != nil || taken.contains(id) { id = folder.fallbackID }
      var name = id
      var number = 1
      while taken.contains(name) || (current == nil && running[name] != nil) {
        number += 1
        name = "\(id)-\(number)"
      }
      taken.insert(name)
      let shown = current?.instance.bundle ?? folder.bundle
      // The bundle that an earlier host ran, before this host has read a valid file.
      let former = shown == nil ? folder.remembered.last : nil
      let waiting = heldRemarks(current) + (former?.heldRemarks ?? [])
      let owner = former?.id ?? folder.id
      let marks = marks(of: folder, owner)?.filter { $0.hasPrefix("\(owner) ") }
      let lost = current.map { FormerLosses(of: $0) } ?? former?.losses
      // A file that is missing has not changed.
      let formerLosses = folder.absence == nil ? nil : former?.losses
      let drops = (current?.drops ?? formerLosses?.drops) ?? []
      let lossLines = (current?.losses ?? formerLosses?.lines) ?? LossLines()
      let losses = lossLines.shown + drops.map(HostState.dropRemark)
      let others = current?.instance.others
      let otherNames = others?.names(countMax: limits.othersShownMax)
      let late = Array((current?.instance.lateRemarks ?? []).prefix(limits.failuresShownMax))
      let notes = shown.map { remarks(of: $0, &hints) } ?? []
      let failures = current?.instance.failures ?? []
      let lines = failures.prefix(limits.failuresShownMax).map(\.line)
      let more = failures.count - lines.count
      result.append(
        Standing(
          id: name, copyOf: current == nil ? folder.bundle?.id : nil,
          name: (shown?.name ?? former?.name) ?? "",
          version: (shown?.version ?? former?.version) ?? "",
          state: isStopping
            ? .stopped : problem != nil ? .failed : failures.isEmpty ? .running : .failing,
          problem: problem
            ?? (lines + (more > 0 ? ["(and \(more) more)"] : [])).joined(separator: "\n"),
          path: path, loaded: current?.loaded ?? folder.remembered.last?.loaded,
          widgetCount: current.map(widgetCount(of:)) ?? (former?.widgetCount ?? 0),
          failures: Array(failures.prefix(limits.failuresShownMax)),
          runs: !isStopping && (current.map(runs) ?? false),
          otherCount: (others?.ids.count ?? former?.otherCount) ?? 0,
          others: (otherNames ?? former?.others) ?? [],
          handled: (current?.instance.bundle.handledEvents ?? former?.handled) ?? [:],
          settable: (current.map(settable(of:)) ?? former?.settable) ?? SettableData(),
          dropped: current.map { formerData.dropped(by: $0.instance.bundle.id) }
            ?? former?.dropped ?? SettableData(),
          losses: lost, marks: marks, drops: drops,
          remarks: waiting + editRemarks(current) + losses + late
            + (shown?.defaults.problems ?? [])
            + notes.map(\.description)))
    }
    return result
  }

  /// The data that no source sets: of the kinds of a bundle, and of former kinds.
  func settable(of current: RunningBundle) -> SettableData {
    var data = current.settable
    if let earlier = formerData[current.instance.bundle.id] { data.add(earlier) }
    return data
  }

  /// Notes a value that is gone with its widget, so that the bundle's widget shows it.
  mutating func lost(_ field: BundleClaims.KeptField, of id: String) -> [Output] {
    noteLoss(field.message(by: "", names: userName), of: id)
  }

  /// Notes a line about a value that is gone, so that the bundle's widget shows it.
  mutating func noteLoss(_ line: String, of id: String) -> [Output] {
    running.lost(line, of: id, countMax: limits.failuresShownMax)
    return standing()
  }

  /// Notes events that the daemon has dropped before the bundle got them.
  mutating func dropped(_ events: ClosedRange<UInt64>, generation: UInt64) -> [Output] {
    guard let id = running.id(of: generation),
      running.dropped(events, of: id, countMax: limits.failuresShownMax)
    else { return [] }
    return [.report("bundle \(id): \(HostState.dropRemark(events))")] + standing()
  }

  /// `events 31 to 47 (at most 17) were dropped …`
  static func dropRemark(_ events: ClosedRange<UInt64>) -> String {
    let (first, last) = (events.lowerBound, events.upperBound)
    let isOne = first == last
    let subject =
      isOne
      ? "event \(first) was dropped"
      : "events \(first) to \(last) (at most \(last - first + 1)) were dropped"
    return "\(subject) before the bundle got \(isOne ? "it" : "them"), because more events waited "
      + "than events_kept_max or event_bytes_kept_max allows; send \(isOne ? "it" : "them") again "
      + "if you still need \(isOne ? "it" : "them")"
  }

  /// Notes the edits of a bundle's file that have no effect.
  mutating func edited(_ fields: [BundleClaims.KeptField], generation: UInt64) -> [Output] {
    guard let id = running.id(of: generation), running[id]?.edits != fields else { return [] }
    running.set(id, edits: fields)
    return standing()
  }

  /// A line for each edit without effect, until the widget has the file's value.
  func editRemarks(_ current: RunningBundle?) -> [String] {
    guard let current else { return [] }
    let kept = current.edits.filter { edit in
      current.instance.widgets[edit.widget].map { edit.isKept(in: $0.view) } ?? true
    }
    return kept.prefix(limits.failuresShownMax).map { $0.message(by: "", names: userName) }
  }

  /// Notes the widgets that the file lacks, and that wait for their removal.
  ///
  /// - Parameter kinds: those of all such widgets that the daemon still has.
  mutating func held(
    _ widgets: [Holds.Waiting], of kinds: Set<KindName> = [], generation: UInt64, at now: HostTime
  ) -> [Output] {
    guard let id = running.id(of: generation) else { return [] }
    running.set(id, held: widgets, of: kinds)
    forgetFormerKinds(of: id)
    return prolongAbsence(of: id, at: now) + standing()
  }

  /// Forgets the data of former kinds of which the daemon no longer has widgets that the file lacks.
  /// Before the daemon has taken the version, nobody knows these widgets.
  mutating func forgetFormerKinds(of id: String) {
    guard let current = running[id], current.isTaken else { return }
    formerData.keep(only: current.heldKinds, of: id)
  }

  mutating func standing() -> [Output] {
    mayHaveNewTroubles = true
    var hints = kindHints
    let specs = standings(with: &hints).compactMap(HostState.spec)
    kindHints = hints
    guard specs != told else { return [] }
    told = specs
    return [.standing(specs)]
  }
}
