public import WidgetModel

@testable import WidgetCore

// Helpers for short tests: literals for names, a store that applies commands at a fixed time, and
// commands with the usual defaults.

extension WidgetID: ExpressibleByStringLiteral {
  public init(stringLiteral text: String) {
    guard let id = WidgetID(text) else { preconditionFailure("\"\(text)\" is not an id.") }
    self = id
  }
}

extension KindName: ExpressibleByStringLiteral {
  public init(stringLiteral text: String) {
    guard let kind = KindName(text) else { preconditionFailure("\"\(text)\" is not a kind.") }
    self = kind
  }
}

extension Timestamp {
  /// A time that is this many seconds after the time of the tests' commands.
  static func at(_ seconds: Int64, nanoseconds: Int64 = 0) -> Timestamp {
    Timestamp(nanosecondsSinceEpoch: (1_000_000 + seconds) * 1_000_000_000 + nanoseconds)
  }
}

extension StoreLimits {
  /// The defaults with some of them changed.
  static func with(_ change: (inout StoreLimits) -> Void) -> StoreLimits {
    var limits = StoreLimits()
    change(&limits)
    return limits
  }
}

extension Transition {
  static let quick = Transition(curve: .linear, duration: .milliseconds(100))
  static let slow = Transition(curve: .easeOut, duration: .seconds(2))
}

extension WidgetPatch {
  static func set(_ data: ValueMap, unset: [String] = []) -> WidgetPatch {
    WidgetPatch(setData: data, unsetData: unset)
  }

  static func with(_ change: (inout WidgetPatch) -> Void) -> WidgetPatch {
    var patch = WidgetPatch()
    change(&patch)
    return patch
  }
}

extension Store {
  /// An empty, revocable store.
  init(limits: StoreLimits = StoreLimits(), isRevocable: Bool = true) {
    self.init(image: StoreImage(epoch: 7), limits: limits, isRevocable: isRevocable)
  }

  /// A store with widgets of kind "k", in this order, committed.
  init(widgets ids: [WidgetID], limits: StoreLimits = StoreLimits()) throws(StoreError) {
    self.init(limits: limits)
    for id in ids { try create(id) }
    commitGroup(at: .at(0))
  }

  /// Applies a command on behalf of a user.
  @discardableResult
  mutating func run(
    _ command: Command, uid: UInt32 = 1_000, at now: Timestamp = .at(0)
  ) throws(StoreError) -> Commit {
    try apply(command, by: Caller(uid: uid, pid: 1, client: "test"), at: now)
  }

  /// Applies a command that must be refused, and returns the reason. Nil if the command was not
  /// refused, or has changed something.
  mutating func refusal(of command: Command, uid: UInt32 = 1_000) -> StoreError? {
    let before = observation()
    do throws(StoreError) {
      try run(command, uid: uid)
      return nil
    } catch {
      return observation() == before && checkInvariants().isEmpty ? error : nil
    }
  }

  @discardableResult
  mutating func create(
    _ id: WidgetID?, kind: KindName = "k", labels: Labels = [:], data: ValueMap = [:],
    uid: UInt32 = 1_000, transition: Transition? = nil
  ) throws(StoreError) -> Commit {
    try run(
      .create(
        WidgetSpec(id: id, kind: kind, labels: labels, data: data), transition: transition),
      uid: uid)
  }

  @discardableResult
  mutating func update(
    _ id: WidgetID, _ patch: WidgetPatch, transition: Transition? = nil
  ) throws(StoreError) -> Commit {
    try run(.update(id, patch, transition: transition))
  }

  @discardableResult
  mutating func set(_ id: WidgetID, _ data: ValueMap) throws(StoreError) -> Commit {
    try update(id, .set(data))
  }

  @discardableResult
  mutating func unset(_ id: WidgetID, _ keys: [String]) throws(StoreError) -> Commit {
    try update(id, .set([:], unset: keys))
  }

  @discardableResult
  mutating func delete(
    _ id: WidgetID, transition: Transition? = nil
  ) throws(StoreError) -> Commit {
    try run(.delete(id, transition: transition))
  }

  @discardableResult
  mutating func send(
    _ name: String, to id: WidgetID, payload: ValueMap = [:], isForced: Bool = false
  ) throws(StoreError) -> Commit {
    try run(
      .sendEvent(EventDraft(widgetID: id, name: name, payload: payload, isForced: isForced)))
  }

  @discardableResult
  mutating func declare(
    _ widgets: [WidgetSpec], in applySet: String = "default", prunes: Bool = false,
    isDryRun: Bool = false, owns: Bool = false, isForeign: Bool = false,
    transition: Transition? = nil
  ) throws(StoreError) -> Commit {
    try run(
      .apply(
        Declaration(
          applySet: applySet, widgets: widgets, prunes: prunes, isDryRun: isDryRun,
          ownsFields: owns, isForeign: isForeign),
        transition: transition))
  }

  /// All widgets' ids in display order.
  var ids: [String] { list(after: nil, limit: .max).widgets.map(\.id.rawValue) }
}

/// The results of an apply command as words: "+a" created, "~a" updated, "=a" unchanged, "-a"
/// deleted.
func words(_ commit: Commit) -> [String] {
  guard case .applied(let results) = commit.outcome else { return ["not an apply"] }
  return results.map { result in
    switch result.action {
    case .created: "+\(result.id)"
    case .updated: "~\(result.id)"
    case .unchanged: "=\(result.id)"
    case .deleted: "-\(result.id)"
    case .unspecified: "?\(result.id)"
    }
  }
}

/// A delta's changes as words: "+a" added, "~a" updated, "-a" removed.
func words(_ delta: Delta) -> [String] { delta.changes.map(word) }

func word(_ change: WidgetChange) -> String {
  switch change {
  case .added(let widget, _): "+\(widget.id)"
  case .updated(let update): "~\(update.id)"
  case .removed(let id, _): "-\(id)"
  }
}

extension Widget {
  /// The widget with the content that it has if nobody has registered its kind.
  var withPlainContent: Widget {
    var state = RecordState(family: family, position: 0, revision: 1, time: .epoch)
    for entry in data.entries { _ = state.data.set(entry.key, to: entry.value, at: 1) }
    let record = Record(
      id: id, kind: kind, ownerUID: 0, createdRevision: 1, createTime: .epoch, state: state)
    var widget = self
    widget.content = PlainContent.content(of: record)
    return widget
  }
}

extension RunningTime {
  /// A time of the test.
  static func at(_ seconds: Int64, nanoseconds: Int64 = 0) -> RunningTime {
    RunningTime(elapsed: .seconds(seconds) + .nanoseconds(nanoseconds))
  }
}
