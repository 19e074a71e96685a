import Testing
import WidgetModel

@testable import WidgetCore

/// Activities: the effects of calls and of time on them, and the parts that survive a restart.
struct ActivityTests {
  private static let hour: Int64 = 3_600

  private func text(_ id: WidgetID, _ node: String, _ store: Store) -> String? {
    store.widget(id)?.content?[node]?.properties["text"]?.words
  }

  /// Starts an activity of the built-in kind, for an hour.
  private func start(
    _ id: WidgetID? = "a", data: ValueMap = [:], kind: KindName = .activity,
    parameters: ValueMap = ["title": .string("Backup")],
    lifetime: Duration? = .seconds(hour), staleAfter: Duration? = nil, in store: inout Store,
    uid: UInt32 = 1_000, at now: Timestamp = .at(0)
  ) throws {
    try store.run(
      .startActivity(
        WidgetSpec(id: id, kind: kind, parameters: parameters, data: data), lifetime: lifetime,
        staleAfter: staleAfter), uid: uid, at: now)
  }

  private func set(_ data: ValueMap) -> StatePatch { StatePatch(setData: data) }

  /// A state with this size in bytes: a key of one byte, and 16 bytes for the value.
  private func state(bytes: Int) -> ValueMap {
    ["status": .string(String(repeating: "x", count: bytes - 16 - 6))]
  }

  // MARK: - Start, update, end

  @Test func `an activity is a widget with times`() throws {
    var store = Store()
    try start(nil, data: ["status": .string("copying"), "progress": .double(0.25)], in: &store)
    let widget = try #require(store.widget("activity-1"))
    #expect(widget.activity == Activity(startTime: .at(0), expireTime: .at(Self.hour)))
    #expect(widget.parameters == ["title": .string("Backup")])
    #expect(text("activity-1", "title", store) == "Backup")
    #expect(text("activity-1", "status", store) == "copying")
    #expect(widget.content?["progress"]?.properties["value"] == .double(0.25))
    #expect(widget.content?["elapsed"]?.properties["date"] == .timestamp(.at(0)))
    #expect(store.checkInvariants().isEmpty)
  }

  @Test(arguments: Family.allCases) func `the built-in kind shows something in each family`(
    family: Family
  ) throws {
    var store = Store()
    for (id, data) in [
      ("plain", [:] as ValueMap), ("far", ["progress": .double(1.5), "status": .string("x")]),
      ("odd", ["progress": .null, "status": .null, "outcome": .null]),
    ] {
      let id = try #require(WidgetID(id))
      try store.run(
        .startActivity(WidgetSpec(id: id, kind: .activity, family: family, data: data)))
      for step in 0..<2 {
        if step == 1 {
          try store.run(.endActivity(id, set(["outcome": .string("failed")])), at: .at(83))
        }
        let content = try #require(store.widget(id)?.content)
        #expect(content.nodes.allSatisfy { $0.problem.isEmpty }, "\(content.nodes)")
        let words = content.nodes.contains { node in
          node.properties["text"].map { !$0.words.isEmpty } ?? false
        }
        #expect(words, "\(id) says nothing")
      }
    }
    let preview = try store.preview(of: .activity, family: family)
    #expect(preview.content?.nodes.allSatisfy { $0.problem.isEmpty } == true)
  }

  @Test func `an update changes the state and the stale time, and nothing else`() throws {
    var store = Store()
    try start(in: &store)
    let cursor = store.revision
    try store.run(
      .updateActivity("a", set(["progress": .double(0.5)]), staleAfter: .seconds(60)), at: .at(10))
    let changes = try store.changes(since: cursor).changes
    guard case .updated(let update)? = changes.first, changes.count == 1 else {
      Issue.record("\(changes)")
      return
    }
    #expect(update.setData == ["progress": .double(0.5)])
    #expect(update.activity?.staleTime == .at(70))
    #expect(update.setParameters.isEmpty)
    // The same again changes the stale time alone; without one, it is never stale.
    #expect(try store.run(.updateActivity("a"), at: .at(20)).isChange)
    #expect(store.widget("a")?.activity?.staleTime == nil)
    #expect(try !store.run(.updateActivity("a"), at: .at(30)).isChange)
    try store.run(.updateActivity("a", StatePatch(unsetData: ["progress", "nothing"])))
    #expect(store.widget("a")?.data == [:])
    #expect(store.checkInvariants().isEmpty)
  }

  @Test(arguments: [
    (Activity.Dismissal.standard, 4 * hour), (.after(.seconds(600)), 600), (.after(.zero), 0),
  ]) func `an end has the last state, and a time of removal`(
    dismissal: Activity.Dismissal, stay: Int64
  ) throws {
    var store = Store()
    try start(staleAfter: .seconds(5), in: &store)
    try store.run(
      .endActivity("a", set(["outcome": .string("succeeded")]), dismissal), at: .at(83))
    #expect(
      store.widget("a")?.activity
        == Activity(
          state: .ended, startTime: .at(0), expireTime: .at(Self.hour), endTime: .at(83),
          dismissTime: .at(83 + stay)))
    #expect(text("a", "status", store) == "succeeded")
    #expect(text("a", "duration", store) == "1m 23s")
    if stay > 0 { #expect(store.settle(to: .at(83 + stay - 1)) == 0) }
    #expect(store.settle(to: .at(83 + stay)) == 1)
    #expect(store.widget("a") == nil)
    #expect(store.nextActivityDate == nil)
    #expect(store.checkInvariants().isEmpty)
  }

  @Test func `an immediate dismissal removes the widget with the end`() throws {
    var store = Store()
    try start(in: &store)
    let before = store.revision
    let commit = try store.run(.endActivity("a", set(["status": .string("done")]), .immediate))
    #expect(commit.outcome == .deleted)
    #expect(commit.revision == before + 1)
    #expect(try store.changes(since: before).changes == [.removed("a", nil)])
    #expect(store.checkInvariants().isEmpty)
  }

  @Test func `an ended activity keeps its state`() throws {
    var store = Store()
    try start(data: ["status": .string("x")], in: &store)
    try store.create("w")
    try store.run(.endActivity("a"))
    let ended = StoreError.activityEnded("a")
    #expect(store.refusal(of: .updateActivity("a", set(["status": .string("y")]))) == ended)
    #expect(store.refusal(of: .endActivity("a")) == ended)
    #expect(store.refusal(of: .update("a", .set(["status": .string("y")]))) == ended)
    #expect(store.refusal(of: .update("a", .set([:], unset: ["status"]))) == ended)
    #expect(store.refusal(of: .updateActivity("w")) == .notAnActivity("w"))
    #expect(store.refusal(of: .endActivity("nobody")) == .widgetNotFound("nobody"))
    // Fields that do not belong to the activity can be changed.
    try store.update("a", .with { $0.setLabels = ["panel": "top"] })
    try store.run(.setPresence(.ids(["a"]), .hide))
    try store.update("a", .set(["status": .string("x")]))
    try store.delete("a")
    #expect(store.nextActivityDate.map { $0 > .at(0) } ?? true)
    #expect(store.settle(to: .at(100_000)) == 0)
  }

  @Test func `an update of an activity's attributes is refused`() throws {
    var store = Store()
    try start(in: &store)
    let patch = WidgetPatch.with { $0.setParameters = ["title": .string("Other")] }
    guard case .invalid(let field, _)? = store.refusal(of: .update("a", patch)) else {
      Issue.record("not refused")
      return
    }
    #expect(field == "patch.set_parameters")
    // Equal values are no change, so printed values can be applied again.
    try store.update("a", .with { $0.setParameters = ["title": .string("Backup")] })
    let spec = WidgetSpec(id: "a", kind: .activity, parameters: ["title": .string("Backup")])
    try store.declare([spec])
    guard
      case .invalid("widgets[0].parameters", _)? = store.refusal(
        of: .apply(Declaration(widgets: [WidgetSpec(id: "a", kind: .activity)])))
    else {
      Issue.record("not refused")
      return
    }
  }

  // MARK: - Bad input

  @Test func `a state of 4,096 bytes is taken, and one of 4,097 changes nothing`() throws {
    var store = Store()
    try start(data: state(bytes: 4_096), in: &store)
    let large = state(bytes: 4_097)
    func field(_ command: Command) -> String? {
      guard case .invalid(let field, let description)? = store.refusal(of: command) else {
        return nil
      }
      #expect(description.contains("4097") && description.contains("activity_state_bytes_max"))
      return field
    }
    #expect(field(.startActivity(WidgetSpec(kind: .activity, data: large))) == "widget.data")
    #expect(field(.updateActivity("a", set(large))) == "patch.set_data")
    #expect(field(.endActivity("a", set(large))) == "patch.set_data")
    #expect(field(.update("a", .set(large))) == "patch.set_data")
    let spec = WidgetSpec(
      id: "a", kind: .activity, parameters: ["title": .string("Backup")], data: large)
    #expect(field(.apply(Declaration(widgets: [spec]))) == "widgets[0].data")
    // A smaller state, and other data of the same size, are fine.
    try store.run(.updateActivity("a", set(state(bytes: 4_096))))
    try store.run(.updateActivity("a", set(["status": .string("")])))
    // A widget that is no activity has other limits.
    try store.create("w", kind: .activity, data: large)
  }

  @Test func `a state that lowered limits leave too large can only shrink`() throws {
    var store = Store()
    try start(data: state(bytes: 4_000), in: &store)
    store.limits.activityStateBytesMax = 100
    try store.run(.updateActivity("a", set(state(bytes: 3_000))))
    #expect(store.refusal(of: .updateActivity("a", set(state(bytes: 3_001)))) != nil)
  }

  @Test func `lifetimes, stale times and dismissals have ranges`() throws {
    var store = Store()
    try start(in: &store)
    func field(_ command: Command) -> String? {
      if case .invalid(let field, _)? = store.refusal(of: command) { field } else { nil }
    }
    let spec = WidgetSpec(kind: .activity)
    for lifetime in [Duration.zero, .seconds(-1), .seconds(8 * Self.hour) + .nanoseconds(1)] {
      #expect(field(.startActivity(spec, lifetime: lifetime)) == "lifetime")
    }
    #expect(field(.startActivity(spec, staleAfter: .zero)) == "stale_after")
    #expect(field(.updateActivity("a", staleAfter: .seconds(-1))) == "stale_after")
    for stay in [Duration.seconds(-1), .seconds(4 * Self.hour) + .nanoseconds(1)] {
      #expect(field(.endActivity("a", .init(), .after(stay))) == "dismiss_after")
    }
    let wrong = field(.startActivity(WidgetSpec(kind: .activity, data: ["progress": .bool(true)])))
    #expect(wrong == "widget.data[progress]")
    let outcome = field(.endActivity("a", set(["outcome": .string("maybe")])))
    #expect(outcome == "patch.set_data[outcome]")
    try store.run(.startActivity(spec, lifetime: .seconds(8 * Self.hour)))
  }

  @Test func `an ended activity gives its id to the next one of its user`() throws {
    var store = Store()
    try start(data: ["status": .string("first")], in: &store)
    let again = Command.startActivity(
      WidgetSpec(id: "a", kind: .activity, data: ["status": .string("second")]))
    #expect(store.refusal(of: again) == .widgetExists("a"))
    try store.run(.endActivity("a"))
    #expect(store.refusal(of: again, uid: 1_001) == .widgetExists("a"))
    store.commitGroup(at: .at(0))
    let (cursor, before) = (store.revision, store.observation())
    // The commit is all or nothing, even if the new activity is refused.
    guard
      case .invalid? = store.refusal(
        of: .startActivity(WidgetSpec(id: "a", kind: .activity, data: state(bytes: 5_000))))
    else {
      Issue.record("not refused")
      return
    }
    #expect(try store.run(again).revision == cursor + 1)
    let changes = try store.changes(since: cursor).changes
    guard case .added(let widget, _)? = changes.first, changes.count == 1 else {
      Issue.record("\(changes)")
      return
    }
    #expect(widget.data == ["status": .string("second")])
    #expect(store.checkInvariants().isEmpty)
    store.rollbackGroup()
    #expect(store.observation() == before)
    #expect(store.checkInvariants().isEmpty)
  }

  // MARK: - Time

  @Test func `a widget is stale from its stale time on, until an update`() throws {
    var store = Store()
    try start(staleAfter: .seconds(60), in: &store)
    #expect(store.nextActivityDate == .at(60))
    #expect(store.settle(to: .at(59)) == 0)
    let cursor = store.revision
    #expect(store.settle(to: .at(60)) == 1)
    #expect(store.revision == cursor + 1)
    #expect(store.widget("a")?.isStale == true)
    #expect(store.widget("a")?.activity?.staleTime == nil)
    #expect(store.nextActivityDate == .at(Self.hour))
    try store.run(.updateActivity("a", staleAfter: .seconds(60)), at: .at(100))
    #expect(store.widget("a")?.isStale == false)
    // A later stale time moves the appointment.
    try store.run(.updateActivity("a", staleAfter: .seconds(600)), at: .at(150))
    #expect(store.settle(to: .at(700)) == 0)
    #expect(store.settle(to: .at(750)) == 1)
    // The end is the last change, and makes the widget fresh.
    try store.run(.endActivity("a"), at: .at(760))
    #expect(store.widget("a")?.isStale == false)
  }

  @Test func `a lifetime that is over ends the activity, and its widget is removed later`() throws {
    var store = Store()
    try start(in: &store)
    #expect(store.settle(to: .at(Self.hour)) == 1)
    let widget = try #require(store.widget("a"))
    #expect(widget.activity?.state == .expired)
    #expect(widget.activity?.endTime == .at(Self.hour))
    #expect(widget.isStale)
    #expect(text("a", "status", store) == "expired")
    #expect(store.refusal(of: .updateActivity("a")) == .activityEnded("a"))
    #expect(store.settle(to: .at(5 * Self.hour)) == 1)
    #expect(store.widget("a") == nil)
  }

  @Test func `due changes are made in steps of bounded cost, one revision each`() throws {
    var store = Store()
    for _ in 0..<20 { try start(nil, in: &store) }
    store.commitGroup(at: .at(0))
    let before = store.revision
    let steps = store.settle(to: .at(100_000), costMax: 100)
    #expect(steps > 1 && steps < 20)
    #expect(store.revision == before + Revision(steps))
    #expect(store.count == 0)
  }

  @Test func `due changes are made in steps of so many widgets and bytes`() throws {
    var store = Store()
    for _ in 0..<10 { try start(nil, staleAfter: .seconds(1), in: &store) }
    store.commitGroup(at: .at(0))
    var other = store
    #expect(store.settle(to: .at(1), widgetsMax: 4) == 3)
    #expect(other.settle(to: .at(1), bytesMax: 0) == 10)
  }

  @Test func `due changes are made again after their group was rolled back`() throws {
    var store = Store()
    try start("a", in: &store)
    try start("b", staleAfter: .seconds(1), in: &store)
    store.commitGroup(at: .at(0))
    let before = store.observation()
    #expect(store.settle(to: .at(9 * Self.hour)) == 1)
    store.rollbackGroup()
    #expect(store.observation() == before)
    #expect(store.settle(to: .at(9 * Self.hour)) == 1)
    #expect(store.count == 0)
    #expect(store.pendingGroup().deletions.count == 2)
    #expect(store.pendingGroup().tombstones.count == 2)
  }

  @Test func `changes that came due during a restart are made in one commit`() throws {
    var image = StoreImage(epoch: 7)
    var store = Store(image: image)
    try start("active", staleAfter: .seconds(60), in: &store)
    try start("expired", lifetime: .seconds(600), in: &store)
    try start("over", lifetime: .seconds(1), in: &store)
    try start("ended", in: &store)
    try store.run(.endActivity("ended", .init(), .after(.seconds(700))), at: .at(10))
    image.apply(store.pendingGroup())
    let cursor = store.revision

    var next = Store(image: image)
    #expect(next.widget("active") == store.widget("active"))
    #expect(next.widget("ended")?.activity == store.widget("ended")?.activity)
    #expect(next.nextActivityDate == .at(1))
    #expect(next.settle(to: .at(720)) == 1)
    #expect(next.revision == cursor + 1)
    #expect(next.widget("active")?.isStale == true)
    #expect(next.widget("expired")?.activity?.state == .expired)
    #expect(next.widget("over")?.activity?.state == .expired)
    #expect(next.widget("ended") == nil)
    #expect(next.checkInvariants().isEmpty)
    // Readers can resume across this revision.
    let changes = try next.changes(since: cursor).changes
    #expect(changes.contains(.removed("ended", nil)))
    #expect(changes.count == 4)
    image.apply(next.pendingGroup())
    // Much later, the other widgets are removed, too.
    var last = Store(image: image)
    #expect(last.settle(to: .at(100 * Self.hour)) == 1)
    #expect(last.count == 0)
  }

  @Test func `many updates leave few appointments, and no duplicate`() throws {
    var store = Store()
    try start(in: &store)
    for second in 1...5_000 {
      try store.run(
        .updateActivity("a", staleAfter: .seconds(60)), at: .at(0, nanoseconds: Int64(second)))
    }
    #expect(store.settle(to: .at(61)) == 1)
    #expect(store.settle(to: .at(62)) == 0)
  }

  // MARK: - Kinds and providers

  @Test func `an activity can be of any kind, and gets its data from its starter`() throws {
    let build = Kind(
      name: "build", data: [Field(name: "n", type: .int, defaultValue: .int(0))],
      reducers: [Reducer(event: "add", assignments: ["n": "data.n + 1"])],
      content: [
        ContentTemplate(
          root: NodeTemplate(
            id: "text", type: .label,
            properties: [
              "text": Binding(
                "(has(widget.activity) ? widget.activity.state : 'none') + string(data.n)")
            ]))
      ])
    var store = Store()
    try store.register([build])
    try store.create("w", kind: "build")
    let cursor = store.revision
    try start(kind: "build", parameters: [:], in: &store)
    #expect(text("w", "text", store) == "none0")
    #expect(text("a", "text", store) == "active0")
    // The daemon does not ask the provider, and its absence does not matter.
    #expect(try store.providedChanges(since: cursor, of: ["build"]).created.isEmpty)
    store.abandon(["desk"])
    #expect(store.widget("w")?.isStale == true)
    #expect(store.widget("a")?.isStale == false)
    try store.send("add", to: "a")
    try store.run(.endActivity("a"))
    #expect(text("a", "text", store) == "ended1")
    let event = EventDraft(widgetID: "a", name: "add")
    #expect(store.refusal(of: .sendEvent(event)) == .activityEnded("a"))
    #expect(store.checkInvariants().isEmpty)
  }

  @Test func `nobody else can register the built-in kind`() throws {
    var store = Store()
    #expect(throws: StoreError.kindClaimed(.activity, by: "widgetd")) {
      try store.register([Kind(name: .activity)])
    }
    #expect(store.refusal(of: .deleteKind(.activity)) == .kindClaimed(.activity, by: "widgetd"))
    #expect(store.kinds().kinds.map(\.kind.name) == [.activity, .help, .smartStack])
  }

  @Test func `a selector reads activities`() throws {
    var store = Store()
    try store.create("w")
    try start("a", in: &store)
    try start("b", in: &store)
    try store.run(.endActivity("b"))
    func ids(_ expression: String) -> [WidgetID] {
      var selector = Selector()
      selector.expression = expression
      return store.list(after: nil, limit: 10, selecting: selector).widgets.map(\.id)
    }
    #expect(ids("has(widget.activity)") == ["a", "b"])
    #expect(ids("widget.activity.state == 'active'") == ["a"])
  }
}

extension Value {
  fileprivate var words: String { if case .string(let text) = self { text } else { "" } }
}
