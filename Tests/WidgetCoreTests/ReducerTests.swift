import Testing
import WidgetModel

@testable import WidgetCore

/// The effects of events on widgets whose kind has reducers.
struct ReducerTests {
  private static func counter(_ reducers: [Reducer], isOpen: Bool = false) -> Kind {
    Kind(
      name: "counter",
      parameters: [
        Field(name: "step", type: .int, defaultValue: .int(1)),
        Field(name: "limit", type: .int, defaultValue: .int(3)),
      ],
      data: [
        Field(name: "count", type: .int, defaultValue: .int(0)),
        Field(name: "last", type: .string),
        Field(name: "ratio", type: .double, defaultValue: .double(0)),
        Field(name: "log", type: .list(.string), defaultValue: .list([])),
      ], isOpen: isOpen,
      events: [
        EventType(name: "click"), EventType(name: "reset"),
        EventType(name: "add", payload: [Field(name: "by", type: .int, isRequired: true)]),
      ], reducers: reducers)
  }

  private func store(_ reducers: [Reducer], isOpen: Bool = false) throws -> Store {
    var store = Store()
    try store.register([Self.counter(reducers, isOpen: isOpen)])
    try store.create("a", kind: "counter")
    store.commitGroup(at: .at(0))
    return store
  }

  @Test func `an event and the changes of its reducers are one commit`() throws {
    var store = try store([Reducer(event: "click", assignments: ["count": "data.count + 1"])])
    let cursor = store.revision
    let commit = try store.send("click", to: "a")
    #expect(commit.isChange)
    #expect(store.revision == cursor + 1)
    #expect(store.widget("a")?.data["count"] == .int(1))
    // The event comes before its consequences.
    #expect(store.events(after: 0).events.map(\.revision) == [cursor])
    guard case .updated(let update) = try store.changes(since: cursor).changes.first else {
      Issue.record("not an update")
      return
    }
    #expect(update.setData == ["count": .int(1)])
    store.rollbackGroup()
    #expect(store.widget("a")?.data["count"] == .int(0))
    #expect(store.events(after: 0).events.isEmpty)
    #expect(store.checkInvariants() == [])
  }

  @Test func `of several changes of a key by one event, the last one counts`() throws {
    let reducers = [
      Reducer(event: "click", assignments: ["z": "1", "m": "1"], unset: ["last"]),
      Reducer(event: "click", assignments: ["last": "'b'", "a": "data.z + 1"], unset: ["m"]),
      Reducer(event: "click", assignments: ["count": "data.a + 4"], unset: ["a"]),
    ]
    var store = try store(reducers, isOpen: true)
    try store.send("click", to: "a")
    let data: ValueMap = [
      "count": .int(6), "last": .string("b"), "log": .list([]), "ratio": .double(0), "z": .int(1),
    ]
    #expect(store.widget("a")?.data == data)
    #expect(store.checkInvariants() == [])
  }

  @Test func `an event cannot set a field to a value that is none of its choices`() throws {
    var kind = Self.counter([Reducer(event: "click", assignments: ["count": "data.count + 1"])])
    kind.data[0].choices = [.int(0), .int(1)]
    var store = Store()
    try store.register([kind])
    try store.create("a", kind: "counter")
    try store.send("click", to: "a")
    let second = Command.sendEvent(EventDraft(widgetID: "a", name: "click"))
    let refusal = store.refusal(of: second)
    #expect("\(String(describing: refusal))".contains("expected one of: 0, 1"))
    #expect(store.widget("a")?.data["count"] == .int(1))
  }

  @Test(arguments: [
    ("change", Value.string("12.5"), true), ("change", .string("-"), true),
    ("change", .string(""), true), ("change", .int(3), true), ("change", .double(0.5), true),
    ("change", .double(.infinity), false), ("change", .string("abc"), false),
    ("change", .string("0x1"), false), ("submit", .string("7"), true),
    ("submit", .string("-"), false), ("submit", .bool(true), false),
  ])
  func `an input for a number takes no other text`(name: String, value: Value, isTaken: Bool) throws
  {
    let input = NodeTemplate(
      id: "n", type: .input, properties: ["mode": Binding(value: .string("number"))])
    var store = Store()
    try store.register([Kind(name: "k", content: [ContentTemplate(root: input)])])
    try store.create("a", kind: "k")
    let event = Command.sendEvent(
      EventDraft(widgetID: "a", nodeID: "n", name: name, payload: ["value": value]))
    guard !isTaken else {
      try store.run(event)
      return
    }
    guard case .invalid(let field, let words) = store.refusal(of: event) else {
      Issue.record("\(value) was taken")
      return
    }
    #expect(field.hasPrefix("payload"))
    #expect(words.contains("number") || words.contains("string"))
  }

  @Test(arguments: [
    (Value.int(12), "12"), (.double(-0.5), "-0.5"), (.string("1.50"), "1.50"),
  ])
  func `reducers get the number of an input as text`(value: Value, text: String) throws {
    let input = NodeTemplate(
      id: "n", type: .input, properties: ["mode": Binding(value: .string("number"))])
    var store = Store()
    try store.register([
      Kind(
        name: "k", data: [Field(name: "text", type: .string)],
        reducers: [Reducer(event: "change", assignments: ["text": "event.payload.value"])],
        content: [ContentTemplate(root: input)])
    ])
    try store.create("a", kind: "k")
    try store.run(
      .sendEvent(
        EventDraft(widgetID: "a", nodeID: "n", name: "change", payload: ["value": value])))
    #expect(store.widget("a")?.data["text"] == .string(text))
  }

  @Test func `an event without a reducer changes nothing`() throws {
    var store = try store([Reducer(event: "click", assignments: ["count": "1"])])
    #expect(try !store.send("reset", to: "a").isChange)
    #expect(store.lastEventSequence == 1)
  }

  @Test func `equal data makes no commit`() throws {
    var store = try store([Reducer(event: "click", assignments: ["count": "data.count * 1"])])
    #expect(try !store.send("click", to: "a").isChange)
  }

  @Test(arguments: [
    [Reducer(event: "click", condition: "widget.id == 'a'", assignments: ["count": "1"])],
    [Reducer(event: "click", condition: "event.name == 'click'", assignments: ["count": "1"])],
    [
      Reducer(event: "click", assignments: ["last": "'x'"]),
      Reducer(event: "click", assignments: ["count": "size(widget.id)"]),
    ],
    [
      Reducer(event: "click", assignments: ["count": "size(event.node) + 1"]),
      Reducer(event: "click", assignments: ["last": "'x'"]),
    ],
  ])
  func `a variable that only one expression of an event reads has its value`(
    _ reducers: [Reducer]
  ) throws {
    var store = try store(reducers)
    try store.send("click", to: "a")
    #expect(store.widget("a")?.data["count"] == .int(1))
  }

  @Test func `expressions read data, parameters, the event, the widget and the time`() throws {
    var store = try store([
      Reducer(
        event: "add",
        assignments: [
          "count": "data.count + event.payload.by * parameters.step",
          "last": "event.name + ' ' + event.node + ' ' + widget.id + ' ' + widget.kind + ' ' "
            + "+ widget.family + ' ' + widget.labels['l'] + ' ' + string(widget.visible) + ' ' "
            + "+ string(now) + ' ' + string(event.time == now)",
        ])
    ])
    try store.update(
      "a",
      .with {
        $0.setParameters = ["step": .int(10)]
        $0.setLabels = ["l": "x"]
      })
    try store.run(
      .sendEvent(
        EventDraft(widgetID: "a", nodeID: "plus", name: "add", payload: ["by": .int(4)])),
      at: .epoch)
    #expect(store.widget("a")?.data["count"] == .int(40))
    #expect(
      store.widget("a")?.data["last"]
        == .string("add plus a counter medium x true 1970-01-01T00:00:00Z true"))
  }

  @Test func `all values of a reducer see the data before it, the next reducer sees them`() throws {
    var store = try store([
      Reducer(event: "click", assignments: ["count": "data.count + 1", "ratio": "data.count"]),
      Reducer(event: "click", assignments: ["ratio": "data.ratio + double(data.count) / 2.0"]),
    ])
    try store.set("a", ["count": .int(4)])
    try store.send("click", to: "a")
    #expect(store.widget("a")?.data["count"] == .int(5))
    #expect(store.widget("a")?.data["ratio"] == .double(6.5))
  }

  @Test func `a reducer runs only for its node and while its condition is true`() throws {
    var store = try store([
      Reducer(
        event: "click", nodeID: "plus", condition: "data.count < parameters.limit",
        assignments: ["count": "data.count + 1"]),
      Reducer(event: "click", nodeID: "minus", assignments: ["count": "data.count - 1"]),
    ])
    func click(_ node: String) throws {
      try store.run(.sendEvent(EventDraft(widgetID: "a", nodeID: node, name: "click")))
    }
    for _ in 0..<5 { try click("plus") }
    #expect(store.widget("a")?.data["count"] == .int(3))
    try click("minus")
    try click("")
    #expect(store.widget("a")?.data["count"] == .int(2))
  }

  @Test func `keys are removed, or get their default`() throws {
    var store = try store([
      Reducer(event: "click", assignments: ["last": "'now'"]),
      Reducer(event: "reset", unset: ["count", "last"]),
    ])
    try store.set("a", ["count": .int(7)])
    try store.send("click", to: "a")
    #expect(store.widget("a")?.data["last"] == .string("now"))
    let cursor = store.revision
    try store.send("reset", to: "a")
    #expect(store.widget("a")?.data["count"] == .int(0))
    #expect(store.widget("a")?.data["last"] == nil)
    guard case .updated(let update) = try store.changes(since: cursor).changes.first else {
      Issue.record("not an update")
      return
    }
    #expect(update.unsetData == ["last"])
    #expect(store.checkInvariants() == [])
  }

  @Test func `the last reducer that sets or removes a key counts`() throws {
    var store = try store([
      Reducer(event: "click", assignments: ["last": "'a'"]),
      Reducer(event: "click", unset: ["last"]),
      Reducer(event: "reset", unset: ["last"]),
      Reducer(event: "reset", assignments: ["last": "has(data.last) ? 'was' : 'gone'"]),
    ])
    try store.set("a", ["last": .string("before")])
    try store.send("click", to: "a")
    #expect(store.widget("a")?.data["last"] == nil)
    try store.set("a", ["last": .string("before")])
    try store.send("reset", to: "a")
    #expect(store.widget("a")?.data["last"] == .string("gone"))
  }

  @Test(arguments: [
    ("data.last + '!'", "set[last]"),  // There is no such key yet.
    ("string(1 / (data.count))", "set[last]"),
    ("[1, 2, 3].map(x, x)[data.count + 5] == 1 ? 'a' : 'b'", "set[last]"),
    ("string(dyn(data.count) + 'x')", "set[last]"),
  ])
  func `an event that a reducer cannot handle is refused, and changes nothing`(
    source: String, place: String
  ) throws {
    var store = try store([
      Reducer(event: "click", assignments: ["count": "data.count"]),
      Reducer(event: "click", assignments: ["last": source]),
    ])
    let refusal = store.refusal(of: .sendEvent(EventDraft(widgetID: "a", name: "click")))
    guard case .reducerFailed("a", "click", let failure) = refusal else {
      Issue.record("\(refusal as Any)")
      return
    }
    #expect(failure.place == "reducers[1].\(place)")
    #expect(failure.message.contains(", in `"))
  }

  @Test func `a value whose type is known only at the event is refused then`() throws {
    var store = try store(
      [Reducer(event: "click", assignments: ["count": "data.extra"])], isOpen: true)
    try store.set("a", ["extra": .string("text")])
    guard
      case .reducerFailed(_, _, let failure) = store.refusal(
        of: .sendEvent(EventDraft(widgetID: "a", name: "click")))
    else {
      Issue.record("taken")
      return
    }
    #expect(failure.place == "reducers[0].set[count]")
    #expect(failure.message.contains("int"))
    try store.set("a", ["extra": .int(4)])
    try store.send("click", to: "a")
    #expect(store.widget("a")?.data["count"] == .int(4))
  }

  @Test func `a widget that takes no events runs no reducer, unless forced`() throws {
    var store = try store([Reducer(event: "click", assignments: ["count": "data.count + 1"])])
    try store.run(.setPresence(.ids(["a"]), .disable))
    #expect(
      store.refusal(of: .sendEvent(EventDraft(widgetID: "a", name: "click")))
        == .widgetDisabled("a"))
    try store.send("click", to: "a", isForced: true)
    #expect(store.widget("a")?.data["count"] == .int(1))
  }

  @Test func `the cost of an event is limited over all its reducers`() throws {
    var store = Store(limits: .with { $0.eventCostMax = 2_000 })
    let list = "[" + (0..<20).map(String.init).joined(separator: ",") + "]"
    let slow = "\(list).map(x, \(list).map(y, x * y)).size()"
    try store.register([
      Self.counter(
        [Reducer](repeating: .init(event: "click", assignments: ["count": slow]), count: 5))
    ])
    try store.create("a", kind: "counter")
    guard
      case .reducerFailed(_, _, let failure) = store.refusal(
        of: .sendEvent(EventDraft(widgetID: "a", name: "click")))
    else {
      Issue.record("not refused")
      return
    }
    #expect(failure.place.hasPrefix("reducers["))
  }

  @Test func `the removed fields of an event count, too`() throws {
    var store = Store(limits: .with { $0.eventCostMax = 100 })
    try store.register([
      Self.counter(
        [Reducer](repeating: .init(event: "click", unset: ["count", "last"]), count: 50)
          + [Reducer](repeating: .init(event: "reset", unset: ["count", "last"]), count: 51))
    ])
    try store.create("a", kind: "counter")
    try store.send("click", to: "a")
    guard
      case .reducerFailed(_, _, let failure) = store.refusal(
        of: .sendEvent(EventDraft(widgetID: "a", name: "reset")))
    else {
      Issue.record("not refused")
      return
    }
    #expect(failure.place == "reducers[100].unset")
    #expect(failure.message.contains("event_cost_max"))
  }

  @Test func `a reducer that makes a widget's data too large is refused`() throws {
    var store = Store(limits: .with { $0.widgetBytesMax = 1_000 })
    try store.register([
      Self.counter([
        Reducer(event: "click", assignments: ["log": "data.log + ['twenty letters long']"])
      ])
    ])
    try store.create("a", kind: "counter")
    var clicks = 0
    while clicks < 1_000 {
      let before = store.observation(cursors: [])
      do throws(StoreError) { try store.send("click", to: "a") } catch {
        #expect(error == .quotaExceeded(limit: "widget_bytes_max", maximum: 1_000))
        #expect(store.observation(cursors: []) == before)
        break
      }
      clicks += 1
    }
    #expect((1..<100).contains(clicks))
  }

  @Test(arguments: [
    #""a\u0000b""#, #"{"\u0000k": 1}"#, #"[{"a": "\u0000"}]"#, "string(event.payload.raw)",
  ])
  func `an event that would set text with a NUL is refused`(source: String) throws {
    var store = Store()
    try store.register([
      Kind(
        name: "counter", data: [Field(name: "any")],
        reducers: [Reducer(event: "click", assignments: ["any": source])])
    ])
    try store.create("a", kind: "counter")
    let draft = EventDraft(widgetID: "a", name: "click", payload: ["raw": .bytes([97, 0, 98])])
    guard case .reducerFailed(_, _, let failure) = store.refusal(of: .sendEvent(draft)) else {
      Issue.record("taken")
      return
    }
    #expect(failure.message.contains("NUL"))
  }

  @Test func `a value of shared parts costs its full size before it is built`() throws {
    // Ten times ten times ten …: a few steps to evaluate, and a thousand million values to store.
    var store = Store(limits: .with { $0.eventCostMax = 200_000 })
    let tenfold = "[" + (0..<10).map { _ in "data.any" }.joined(separator: ", ") + "]"
    let first = Reducer(event: "click", assignments: ["any": "[1,1,1,1,1,1,1,1,1,1]"])
    try store.register([
      Kind(
        name: "counter", data: [Field(name: "any")],
        reducers: [first]
          + [Reducer](repeating: .init(event: "click", assignments: ["any": tenfold]), count: 9))
    ])
    try store.create("a", kind: "counter")
    guard
      case .reducerFailed(_, _, let failure) = store.refusal(
        of: .sendEvent(EventDraft(widgetID: "a", name: "click")))
    else {
      Issue.record("taken")
      return
    }
    #expect(failure.message.contains("event_cost_max"))
    // 10, 100, 1,000, 10,000 and 100,000 values fit into 200,000 steps, and no more.
    #expect(failure.place == "reducers[5].set[any]")
  }

  // MARK: - What no reducer can be

  @Test(arguments: [
    (Reducer(event: ""), "event", "Name the event"),
    (Reducer(event: "clik"), "event", "did you mean \"click\"?"),
    (Reducer(event: "click", nodeID: "-"), "node_id", "a-z, A-Z, 0-9"),
    (Reducer(event: "click", condition: "data.count +"), "condition", "^"),
    (Reducer(event: "click", condition: "data.count"), "condition", "bool"),
    (Reducer(event: "click", condition: "data.cuont > 1"), "condition", "count"),
    (Reducer(event: "click", condition: "event.paylod.by"), "condition", "did you mean 'payload'?"),
    (Reducer(event: "click", assignments: ["count": "'a'"]), "set[count]", "of type int"),
    (Reducer(event: "click", assignments: ["count": "data.ratio"]), "set[count]", "of type int"),
    (Reducer(event: "click", assignments: ["log": "[1]"]), "set[log]", "list(string)"),
    (Reducer(event: "click", assignments: ["cuont": "1"]), "set[cuont]", "did you mean \"count\"?"),
    (Reducer(event: "click", assignments: ["a b": "1"]), "set[a b]", "a-z, A-Z"),
    (Reducer(event: "click", assignments: ["count": "event.payload.by"]), "set[count]", "by"),
    (Reducer(event: "click", unset: ["nothing"]), "unset", "declares no data"),
    (Reducer(event: "click", assignments: ["last": "'a'"], unset: ["last"]), "unset", "also set"),
    (
      Reducer(
        event: "click",
        assignments: [
          "count": String(repeating: "(", count: 100_000) + "1"
            + String(repeating: ")", count: 100_000)
        ]), "set[count]", "more than"
    ),
  ])
  func `an invalid reducer is refused with its place`(
    reducer: Reducer, place: String, words: String
  ) {
    var store = Store()
    let refusal = store.refusal(
      of: .applyKinds(.init(provider: "desk", kinds: [Self.counter([reducer])])))
    guard case .invalid(let field, let description) = refusal else {
      Issue.record("\(refusal as Any)")
      return
    }
    #expect(field == "kinds[0].reducers[0].\(place)")
    #expect(description.contains(words), "\(description)")
  }

  @Test func `the number of a kind's reducers is limited`() {
    var store = Store(limits: .with { $0.reducersPerKindMax = 1 })
    let reducers = [Reducer(event: "click"), Reducer(event: "click")]
    #expect(
      store.refusal(of: .applyKinds(.init(provider: "desk", kinds: [Self.counter(reducers)])))
        == .quotaExceeded(limit: "reducers_per_kind_max", maximum: 1))
  }

  @Test func `a kind that this version cannot run refuses its events, and keeps the widget`() throws
  {
    // A newer daemon may have stored this kind.
    let kind = Self.counter([Reducer(event: "click", assignments: ["count": "fromTheFuture()"])])
    var store = Store(
      image: StoreImage(
        epoch: 1, revision: 1,
        kinds: [RegisteredKind(kind: kind, provider: "desk", revision: 1)]))
    try store.create("a", kind: "counter")
    guard
      case .reducerFailed(_, _, let failure) = store.refusal(
        of: .sendEvent(EventDraft(widgetID: "a", name: "click")))
    else {
      Issue.record("taken")
      return
    }
    #expect(failure.place == "reducers[0].set[count]")
    #expect(failure.message.contains("fromTheFuture"))
  }
}
