import SeededRandom
import WidgetModel

@testable import WidgetCore

/// Random commands over few names, so that they concern the same objects. Most are valid, some are
/// not.
struct Workload {
  var rng: SeededGenerator
  /// The existing widgets.
  private var present: [WidgetID] = []
  private let ids: [WidgetID] = ["a", "b", "c", "d", "e", "f", "k-1", "k-2"]
  private let kinds: [KindName] = ["k", "l"]
  private let keys = ["x", "y", "z", "\u{E9}", "e\u{301}", "k.1"]
  private let values: [Value] = [
    .null, .bool(true), .int(1), .int(2), .double(1), .double(.nan), .double(0), .double(-0.0),
    .string("\u{E9}"), .string("e\u{301}"), .string("a long text that costs a few bytes"),
    .bytes([1, 2, 3]), .list([.int(1), .list([.null])]), .map(["m": .int(1)]),
    .timestamp(.epoch), .duration(.seconds(1)),
  ]
  private let transitions: [Transition?] = [nil, nil, nil, .quick, .slow]

  init(seed: UInt64) { rng = SeededGenerator(seed: seed) }

  mutating func caller() -> Caller {
    Caller(uid: UInt32(1 + rng.below(3)), pid: UInt32(rng.below(2)), client: rng.pick(["", "c"]))
  }

  mutating func command(for model: Model) -> Command {
    present = model.order
    return switch rng.below(128) {
    case 0..<16: .create(spec(id: rng.chance(80) ? absentID() : nil), transition: hint())
    case 16..<50: .update(id(), patch(), ifRevision: expected(model), transition: hint())
    case 50..<60:
      .delete(
        id(), ifRevision: expected(model), allowMissing: rng.chance(30), transition: hint())
    case 60..<70: .setPresence(target(), rng.pick(PresenceAction.allCases), transition: hint())
    case 70..<80: .move(id(), to: destination(), transition: hint())
    case 80..<91: .apply(declaration(), transition: hint())
    case 91..<97: .sendEvent(event())
    case 97..<100: .updateTheme(themeUpdate(), ifRevision: expected(model.theme))
    case 100..<108:
      .startActivity(
        spec(id: rng.chance(80) ? activityID(of: model, isEnded: true) : nil),
        lifetime: rng.chance(8) ? rng.pick([.zero, .seconds(60)]) : rng.pick([nil, .seconds(9)]),
        staleAfter: staleAfter(), transition: hint())
    case 108..<118:
      .updateActivity(
        activityID(of: model), statePatch(), staleAfter: staleAfter(), transition: hint())
    case 118..<122: .markFailure(id(), failure())
    default:
      .endActivity(
        activityID(of: model), statePatch(),
        rng.pick([
          .standard, .immediate, .after(.seconds(3)), .after(.seconds(rng.chance(20) ? 60 : 0)),
        ]),
        transition: hint())
    }
  }

  private mutating func staleAfter() -> Duration? {
    rng.chance(5) ? .zero : rng.pick([nil, .seconds(2), .seconds(5)])
  }

  private mutating func failure() -> ReducerFailure {
    let cause = rng.pick(["division by zero", "there is no such key"])
    return ReducerFailure(
      event: rng.pick(["click", "click", "drag"]), nodeID: "",
      place: rng.pick(["reducers[0].set[x]", "reducers[0].set[y]", "reducers[1].condition"]),
      key: rng.pick(["on.click[0]", "on.click[1]"]), cause: cause, message: cause)
  }

  private mutating func statePatch() -> StatePatch {
    StatePatch(setData: map(max: 2), unsetData: rng.some(keys, max: 1))
  }

  /// Usually the id of an active or ended activity, otherwise a free id.
  private mutating func activityID(of model: Model, isEnded: Bool = false) -> WidgetID {
    let known = model.order.filter { id in
      model.widgets[id]?.activity.map { ($0.endTime != nil) == isEnded } ?? false
    }
    guard !known.isEmpty, rng.chance(80) else { return isEnded ? absentID() : id() }
    return rng.pick(known)
  }

  private mutating func themeUpdate() -> ThemeUpdate {
    var update = ThemeUpdate(replaces: rng.chance(10), isDryRun: rng.chance(10))
    for _ in 0..<rng.below(3) {
      let (token, value) = rng.pick(rng.chance(90) ? ModelTheme.good : ModelTheme.bad)
      update.set[token] = value
    }
    let tokens = rng.chance(90) ? ModelTheme.tokens : ModelTheme.noTokens
    if rng.chance(40) { update.unset = rng.some(tokens, max: 2) }
    return update
  }

  private mutating func expected(_ theme: ModelTheme) -> Revision? {
    guard rng.chance(15) else { return nil }
    return rng.chance(70) ? theme.revision : theme.revision + 1
  }

  /// Usually the id of an existing widget.
  private mutating func id() -> WidgetID {
    !present.isEmpty && rng.chance(85) ? rng.pick(present) : rng.pick(ids)
  }

  /// Usually a free id.
  private mutating func absentID() -> WidgetID {
    let absent = ids.filter { !present.contains($0) }
    return !absent.isEmpty && rng.chance(85) ? rng.pick(absent) : rng.pick(ids)
  }

  private mutating func hint() -> Transition? { rng.pick(transitions) }

  private mutating func expected(_ model: Model) -> Revision? {
    guard rng.chance(15) else { return nil }
    return rng.chance(70)
      ? model.widgets.values.map(\.revision).max() : Revision(rng.below(Int(model.revision) + 2))
  }

  private mutating func key() -> String {
    rng.below(400) == 0
      ? rng.pick(["", String(repeating: "k", count: 300)]) : rng.pick(keys)
  }

  private mutating func value() -> Value {
    guard rng.below(400) == 0 else { return rng.pick(values) }
    var deep = Value.null
    for _ in 0..<(15 + rng.below(3)) { deep = .list([deep]) }
    return deep
  }

  private mutating func map(max: Int) -> ValueMap {
    ValueMap((0..<rng.below(max + 1)).map { _ in .init(key: key(), value: value()) })
  }

  private mutating func labels(max: Int) -> Labels {
    Labels(
      (0..<rng.below(max + 1)).map { _ in
        (
          rng.below(400) == 0 ? "" : rng.pick(["on", "room", "\u{E9}"]),
          rng.pick(["1", "\u{E9}", "e\u{301}"])
        )
      })
  }

  private mutating func spec(id: WidgetID?) -> WidgetSpec {
    WidgetSpec(
      id: id, kind: rng.chance(85) ? "k" : rng.pick(kinds),
      family: rng.chance(50) ? nil : rng.pick([.small, .medium]), labels: labels(max: 2),
      isVisible: rng.pick([nil, nil, true, false]), isEnabled: rng.pick([nil, nil, true, false]),
      parameters: map(max: 2), data: map(max: 3))
  }

  private mutating func patch() -> WidgetPatch {
    var patch = WidgetPatch()
    if rng.chance(70) { patch.setData = map(max: 3) }
    if rng.chance(40) { patch.unsetData = rng.some(keys, max: 3) }
    patch.replaceData = rng.chance(8)
    if rng.chance(25) { patch.setParameters = map(max: 2) }
    if rng.chance(20) { patch.unsetParameters = rng.some(keys, max: 2) }
    if rng.chance(20) { patch.setLabels = labels(max: 2) }
    if rng.chance(15) { patch.unsetLabels = rng.some(["on", "room", "\u{E9}"], max: 2) }
    if rng.chance(8) { patch.isStale = rng.chance(50) }
    if rng.chance(8) {
      let reason = rng.chance(5) ? "" : rng.pick(["R", "S"])
      let error = WidgetError(reason: reason, message: rng.pick(["\u{E9}", "e\u{301}"]))
      patch.error = .some(rng.chance(40) ? nil : error)
    }
    if rng.chance(12) {
      let paths = keys.map { "data.\($0)" } + ["parameters.x", "labels.on", "labels", "state.x"]
      patch.releases = rng.some(paths, max: 2)
    }
    return patch
  }

  private mutating func target() -> PresenceTarget {
    switch rng.below(10) {
    case 0..<6: .ids((0..<rng.below(4)).map { _ in id() })
    case 6..<9: .selector(selector())
    default: .all
    }
  }

  private mutating func destination() -> MoveDestination {
    switch rng.below(4) {
    case 0: .first
    case 1: .last
    case 2: .before(id())
    default: .after(id())
    }
  }

  private mutating func declaration() -> Declaration {
    var declared: [WidgetID?] = []
    for id in rng.some(ids, max: 4) where rng.chance(3) || !declared.contains(id) {
      declared.append(id)
    }
    if rng.chance(2) { declared.append(nil) }
    return Declaration(
      applySet: rng.chance(2) ? "" : rng.pick(["default", "other"]),
      widgets: declared.map { spec(id: $0) }, prunes: rng.chance(40), isDryRun: rng.chance(20),
      ownsFields: rng.chance(50))
  }

  private mutating func event() -> EventDraft {
    EventDraft(
      widgetID: id(), nodeID: rng.chance(3) ? "!" : rng.pick(["", "n"]),
      name: rng.chance(3) ? "" : rng.pick(["click", "drag"]), payload: map(max: 2),
      isForced: rng.chance(30))
  }

  mutating func selector() -> Selector {
    switch rng.below(11) {
    case 0, 1: Selector()
    case 8, 9: Selector(expression: rng.pick(NaiveExpression.all.map(\.text)))
    case 10: Selector(kinds: ["k"], expression: rng.pick(NaiveExpression.all.map(\.text)))
    case 2: Selector(ids: rng.some(ids, max: 3) + ["missing"])
    case 3: Selector(kinds: [rng.pick(kinds)])
    case 4: Selector(families: [.small])
    case 5: Selector(labels: [.init(key: "on", operator: rng.pick([.exists, .notExists]))])
    case 6:
      Selector(
        kinds: ["k"],
        labels: [
          .init(
            key: rng.pick(["on", "room"]), operator: rng.pick([.isIn, .notIn]),
            values: ["1", "\u{E9}"])
        ])
    default:
      Selector(
        ids: [id(), id()], families: [.medium], labels: [.init(key: "on", operator: .exists)])
    }
  }

  mutating func mask() throws -> ReadMask {
    try ReadMask(
      paths: rng.pick([
        [], [], ["data"], ["data.x", "data.\u{E9}"], ["parameters.y", "presence", "update_time"],
        ["id"], ["labels", "position", "stale", "error", "family", "apply_set", "activity"],
        ["owner_uid", "create_time", "data.x", "parameters"],
      ]))
  }

  /// Limits from generous to hardly usable. The lifetime of answers is the same in all.
  mutating func limits() -> StoreLimits {
    let configuration = rng.below(4)
    return .with {
      $0.requestLifetime = .seconds(5)
      $0.activityLifetimeSecondsMax = 20
      $0.activityDismissalSecondsMax = 6
      $0.activityStateBytesMax = 60
      guard configuration > 0 else { return }
      $0.tombstonesMax = configuration == 1 ? 3 : 8
      $0.themeOverridesMax = 2
      $0.eventsKeptMax = 3
      $0.requestsKeptMax = 2
      guard configuration > 1 else { return }
      $0.eventBytesKeptMax = 300
      $0.requestBytesKeptMax = 300
      $0.keysPerWidgetMax = 3
      $0.labelsPerWidgetMax = 2
      guard configuration > 2 else { return }
      $0.widgetsMax = 5
      $0.widgetsPerUIDMax = 3
      $0.widgetBytesMax = 420
      $0.stateBytesPerUIDMax = 900
      $0.declaredWidgetsMax = 3
      $0.eventPayloadBytesMax = 40
      $0.tombstonesMax = 0
    }
  }
}
