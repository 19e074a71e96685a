import Testing
import WidgetModel

@testable import WidgetCore

/// The mark of a widget whose reducer fails.
struct ReducerFailureTests {
  private static let kind = Kind(
    name: "tea",
    data: [
      Field(name: "cups", type: .int, defaultValue: .int(0)),
      Field(name: "share", type: .int, defaultValue: .int(0)),
      Field(name: "any"),
    ], isOpen: true,
    reducers: [
      Reducer(event: "press", nodeID: "pour", assignments: ["share": "10 / data.cups"]),
      Reducer(event: "press", nodeID: "stir", assignments: ["any": "data.spoon"]),
      Reducer(event: "fill", assignments: ["cups": "int(event.payload.count)"]),
      Reducer(event: "press", nodeID: "", condition: "data.cups > 100", assignments: ["cups": "0"]),
    ])

  private func store(limits: StoreLimits = StoreLimits(), _ kind: Kind = kind) throws -> Store {
    var store = Store(limits: limits)
    try store.register([kind])
    try store.create("a", kind: kind.name)
    store.commitGroup(at: .at(0))
    return store
  }

  /// Sends an event, and marks the widget if a reducer fails, as the daemon does.
  private func press(
    _ node: String, name: String = "press", payload: ValueMap = [:], _ store: inout Store,
    at now: Timestamp = .at(0)
  ) throws {
    let draft = EventDraft(widgetID: "a", nodeID: node, name: name, payload: payload)
    do throws(StoreError) { try store.run(.sendEvent(draft), at: now) } catch {
      guard case .reducerFailed(let id, _, let failure) = error else { throw error }
      try store.run(.markFailure(id, failure), at: now)
    }
  }

  private let pourMark = """
    "press" of "pour" cannot be handled: "share" cannot be set: division by zero, in \
    `10 / data.cups`. Correct on.press of "pour" in the kind, or the widget's data.
    """

  @Test func `a reducer that fails is the error of its widget, until it handles the event`() throws
  {
    var store = try store()
    let data = store.widget("a")?.data
    try press("pour", &store, at: .at(5))
    #expect(
      store.widget("a")?.error
        == WidgetError(reason: "REDUCER_FAILED", message: pourMark, since: .at(5)))
    #expect(store.widget("a")?.data == data)
    #expect(store.events(after: 0).events.isEmpty)
    // Another event of the widget does not show that this reducer works.
    try store.send("fill", to: "a", payload: ["count": .int(5)])
    #expect(store.widget("a")?.error?.message == pourMark)
    let revision = store.revision
    try press("pour", &store)
    #expect(store.widget("a")?.error == nil)
    #expect(store.widget("a")?.data["share"] == .int(2))
    #expect(store.revision == revision + 1)
    #expect(store.checkInvariants() == [])
  }

  @Test func `a reducer has the key of a file, with a number if others have the same`() {
    let reducers = [("press", ""), ("turn", "knob"), ("turn", "knob"), ("turn", "")].map {
      Reducer(event: $0, nodeID: $1)
    }
    #expect(
      ReducerFailure.keys(of: reducers) == [
        "on.press", "on.turn[0] of \"knob\"", "on.turn[1] of \"knob\"", "on.turn",
      ])
  }

  @Test func `an event that changes no data still clears the mark`() throws {
    var store = try store()
    try press("pour", &store)
    try store.set("a", ["cups": .int(5), "share": .int(2)])
    let revision = store.revision
    try press("pour", &store)
    #expect(store.widget("a")?.error == nil)
    #expect(store.revision == revision + 1)
  }

  @Test func `the same failure again makes no commit`() throws {
    var store = try store()
    try press("pour", &store)
    let revision = store.revision
    for second in 0..<Int64(100) { try press("pour", &store, at: .at(second)) }
    #expect(store.revision == revision)
  }

  @Test func `each reducer that fails has a mark with its age, until it handles its event`() throws
  {
    var store = try store()
    try press("pour", &store, at: .at(1))
    try press("stir", &store, at: .at(2))
    let revision = store.revision
    // Reducers that fail in turn make no commits.
    for second in 3..<Int64(100) {
      try press("pour", &store, at: .at(second))
      try press("stir", &store, at: .at(second))
    }
    #expect(store.revision == revision)
    let error = try #require(store.widget("a")?.error)
    #expect(error.message == pourMark && error.since == .at(1))
    #expect(error.further.map(\.since) == [.at(2)])
    #expect(error.further.first?.message.contains("of \"stir\"") == true)
    try store.set("a", ["cups": .int(5)])
    try press("pour", &store, at: .at(100))
    #expect(store.widget("a")?.error == error.further.first)
    #expect(store.checkInvariants() == [])
  }

  @Test func `the number of marks of a widget is bounded`() throws {
    var kind = Self.kind
    kind.reducers = (0..<20).map {
      Reducer(event: "press", nodeID: "n\($0)", assignments: ["share": "10 / data.cups"])
    }
    var store = try store(kind)
    for number in 0..<20 { try press("n\(number)", &store) }
    #expect(store.widget("a")?.error?.all.count == 8)
  }

  @Test func `an error and the marks are no more than can be written back`() throws {
    var kind = Self.kind
    kind.reducers = (0..<20).map {
      Reducer(event: "press", nodeID: "n\($0)", assignments: ["share": "10 / data.cups"])
    }
    var store = try store(kind)
    func set(further count: Int) throws {
      let further = (0..<count).map { WidgetError(reason: "NO_MILK", message: "\($0)") }
      let error = WidgetError(reason: "COLD", message: "It is cold.", further: further)
      try store.update("a", WidgetPatch(error: .some(error)))
    }
    func marks() -> Int { store.widget("a")?.error?.all.count(where: ReducerFailure.isMark) ?? 0 }
    try set(further: 30)
    for number in 0..<20 { try press("n\(number)", &store) }
    #expect(marks() == 2)
    let full = try #require(store.widget("a")?.error)
    #expect(full.further.count == 32)
    let revision = store.revision
    try store.update("a", WidgetPatch(error: .some(full)))
    #expect(store.revision == revision)
    try set(further: 31)
    #expect(marks() == 1)
    try set(further: 32)
    #expect(marks() == 0)
    #expect(store.widget("a")?.error?.further.count == 32)
    try press("n0", &store)
    #expect(marks() == 0)
    #expect(store.checkInvariants() == [])
  }

  @Test func `a provider that sends fresh data does not clear the marks`() throws {
    var store = try store()
    try press("pour", &store)
    let error = WidgetError(reason: "NO_MILK", message: "The milk is gone.")
    for (patch, reasons) in [
      (WidgetPatch(error: .some(error)), ["NO_MILK", "REDUCER_FAILED"]),
      (WidgetPatch(error: .some(nil)), ["REDUCER_FAILED"]),
      (WidgetPatch(error: .some(nil)), ["REDUCER_FAILED"]),
    ] {
      let provider = try #require(store.kind("tea")?.provider)
      try store.run(.provide([ProvidedUpdate("a", patch)], by: provider))
      #expect(store.widget("a")?.error?.all.map(\.reason) == reasons)
    }
    // A user can clear them.
    try store.update("a", WidgetPatch(error: .some(nil)))
    #expect(store.widget("a")?.error == nil)
  }

  @Test func `a handler of another node does not clear the mark`() throws {
    var store = try store()
    try press("stir", &store)
    try store.set("a", ["cups": .int(5)])
    try press("pour", &store)
    #expect(store.widget("a")?.error?.message.contains("of \"stir\"") == true)
    try store.set("a", ["spoon": .string("in")])
    try press("stir", &store)
    #expect(store.widget("a")?.error == nil)
  }

  @Test func `the mark of a missing field has the next step, as the refusal has`() throws {
    var store = try store()
    try press("stir", &store)
    let message = try #require(store.widget("a")?.error?.message)
    #expect(message.contains("there is no such field or key; test with has() or 'in' first, in `"))
  }

  @Test(arguments: ["<b>buy</b> now", "\u{202E}", String(repeating: "9", count: 500)])
  func `the mark has no text from the sender`(text: String) throws {
    var store = try store()
    let draft = EventDraft(widgetID: "a", name: "fill", payload: ["count": .string(text)])
    guard case .reducerFailed(_, _, let failure)? = store.refusal(of: .sendEvent(draft)) else {
      Issue.record("taken")
      return
    }
    try store.run(.markFailure("a", failure))
    let error = try #require(store.widget("a")?.error)
    #expect(!error.message.contains(text))
    #expect(error.message.contains("a function cannot take this value"))
    #expect(error.message.utf8.count < 400)
  }

  @Test func `mistakes of the sender mark nothing`() throws {
    var kind = Self.kind
    kind.events = [EventType(name: "fill", payload: [Field(name: "count", type: .int)])]
    kind.isOpen = false
    kind.reducers = [Reducer(event: "fill", assignments: ["cups": "10 / event.payload.count"])]
    var store = try store(kind)
    for draft in [
      EventDraft(widgetID: "a", name: "drink"),
      EventDraft(widgetID: "a", name: "fill", payload: ["count": .string("many")]),
      EventDraft(widgetID: "a", name: "fill", payload: ["spoons": .int(1)]),
      EventDraft(widgetID: "a", nodeID: "-", name: "fill"),
    ] {
      guard case .invalid? = store.refusal(of: .sendEvent(draft)) else {
        Issue.record("\(draft) is not refused as invalid")
        return
      }
    }
    #expect(store.widget("a")?.error == nil)
  }

  @Test func `an error that somebody has set stays first, and hides no mark`() throws {
    var store = try store()
    let error = WidgetError(reason: "NO_MILK", message: "The milk is gone.", since: .at(1))
    try store.update("a", WidgetPatch(error: .some(error)))
    try press("pour", &store)
    #expect(store.widget("a")?.error?.alone == error)
    #expect(store.widget("a")?.error?.further.map(\.message) == [pourMark])
    // Clearing the error leaves the mark. Clearing the mark leaves nothing.
    try store.update("a", WidgetPatch(error: .some(nil)))
    #expect(store.widget("a")?.error?.message == pourMark)
    try store.update("a", WidgetPatch(error: .some(nil)))
    #expect(store.widget("a")?.error == nil)
    try press("pour", &store)
    #expect(store.widget("a")?.error?.reason == "REDUCER_FAILED")
    try store.update("a", WidgetPatch(error: .some(error)))
    #expect(store.widget("a")?.error?.all.map(\.reason) == ["NO_MILK", "REDUCER_FAILED"])
    try store.set("a", ["cups": .int(5)])
    try press("pour", &store)
    #expect(store.widget("a")?.error == error)
  }

  @Test func `the mark is gone when the kind changes or is removed`() throws {
    for isRemoved in [false, true] {
      var store = try store()
      try press("pour", &store)
      try store.register([Self.kind])
      #expect(store.widget("a")?.error?.message == pourMark)
      let revision = store.revision
      var changed = Self.kind
      changed.reducers[0].assignments = ["share": "11 / data.cups"]
      if isRemoved {
        try store.run(.deleteKind("tea"))
      } else {
        try store.register([changed])
      }
      #expect(store.widget("a")?.error == nil)
      #expect(store.revision == revision + 1)
      switch try store.changes(since: revision).changes.first {
      case .updated(let update)?: #expect(!isRemoved && update.error == .some(nil))
      // The defaults of the kind are gone, too, so readers get the whole widget.
      case .added(let widget, _)?: #expect(isRemoved && widget.error == nil)
      default: Issue.record("no change")
      }
      #expect(store.checkInvariants() == [])
    }
  }

  @Test func `an error of somebody else outlives a change of the kind`() throws {
    var store = try store()
    let error = WidgetError(reason: "NO_MILK", message: "The milk is gone.", since: .at(1))
    try store.update("a", WidgetPatch(error: .some(error)))
    var changed = Self.kind
    changed.reducers.removeLast()
    try store.register([changed])
    #expect(store.widget("a")?.error == error)
  }

  @Test func `a widget without room for the mark does not change`() throws {
    var store = try store()
    store.limits.widgetBytesMax = 300
    #expect(
      store.refusal(of: .sendEvent(EventDraft(widgetID: "a", nodeID: "pour", name: "press")))
        != nil)
    #expect(throws: StoreError.quotaExceeded(limit: "widget_bytes_max", maximum: 300)) {
      try press("pour", &store)
    }
    #expect(store.widget("a")?.error == nil)
  }

  @Test func `the mark outlives a restart, and is undone with its group`() throws {
    var store = try store()
    var image = StoreImage(epoch: 7)
    var first = Store(image: image)
    try first.register([Self.kind])
    try first.create("a", kind: "tea")
    try press("pour", &first)
    image.apply(first.pendingGroup())
    #expect(Store(image: image).widget("a")?.error?.message == pourMark)
    try press("pour", &store)
    store.rollbackGroup()
    #expect(store.widget("a")?.error == nil)
    #expect(store.checkInvariants() == [])
  }

  @Test func `a kind that this version cannot run marks its widgets, without the event's name`()
    throws
  {
    var kind = Self.kind
    kind.reducers = [Reducer(event: "press", assignments: ["cups": "fromTheFuture()"])]
    let image = StoreImage(
      epoch: 1, revision: 1,
      kinds: [RegisteredKind(kind: kind, provider: "desk", revision: 1)])
    var store = Store(image: image)
    try store.create("a", kind: "tea")
    try press("", name: "buy-now", &store)
    let error = try #require(store.widget("a")?.error)
    #expect(error.message.hasPrefix("No event can be handled: \"cups\" cannot be set: "))
    #expect(!error.message.contains("buy-now"))
    #expect(!error.message.contains("\n"))
  }
}
