import SeededRandom
import Testing
import WidgetModel

@testable import WidgetCore

/// Changes of kinds, and their effects on widgets.
extension KindTests {
  @Test func `widgets follow when their kind changes, all in one commit`() throws {
    var store = try store()
    try store.run(.create(spec("a", data: ["drift": .double(2), "ticks": .int(4)])))
    try store.run(.create(spec("b")))
    try store.create("other")
    let cursor = store.revision
    var changed = Self.clock
    changed.data = [
      // A field with another type that the value does not fit, a field without a default, and a new
      // field.
      Field(name: "ticks", type: .string, defaultValue: .string("none")),
      Field(name: "zone", type: .string, defaultValue: .string("Z")),
    ]
    changed.parameters.removeFirst()
    let commit = try store.register([changed])
    #expect(results(commit) == ["~clock(2)"])
    #expect(store.revision == cursor + 1)
    #expect(store.widget("a")?.data == ["ticks": .string("none"), "zone": .string("Z")])
    #expect(store.widget("a")?.parameters == ["title": .string("T")])
    #expect(store.widget("b")?.data == store.widget("a")?.data)
    let delta = try store.changes(since: cursor)
    #expect(words(delta).count == 2)
    for change in delta.changes {
      guard case .updated(let update) = change else {
        Issue.record("\(change)")
        continue
      }
      #expect(update.unsetParameters == ["zone"])
      #expect(update.transition == .slow)
    }
    #expect(store.checkInvariants() == [])
  }

  @Test func `widgets that were there before their kind are made to fit`() throws {
    var store = Store()
    try store.create("early", kind: "clock", data: ["ticks": .int(3), "stray": .int(1)])
    try store.register([Self.clock])
    #expect(store.widget("early")?.data == ["ticks": .int(3)])
    #expect(store.widget("early")?.parameters == ["zone": .string("UTC")])
  }

  @Test func `the values that a changed kind takes from widgets are named, at most 64`() throws {
    var store = Store()
    let old = Kind(
      name: "note",
      data: [
        Field(name: "text", type: .string, defaultValue: .string("")),
        Field(name: "size", type: .int, defaultValue: .int(1)), Field(name: "gone", type: .bool),
      ])
    try store.register([old])
    let ids = try (1...70).map { try #require(WidgetID("w\($0)")) }
    for id in ids { try store.create(id, kind: "note") }
    try store.update("w1", .with { $0.setData = ["text": .string("mine"), "size": .int(4)] })
    var new = old
    new.data = [Field(name: "nota", type: .string), Field(name: "size", type: .string)]
    let expected = Set(
      ["data.size", "data.text"].map { LostField(widgetID: "w1", path: $0, isSetAside: true) })
    for isDryRun in [true, false] {
      let result = try store.change(new, isDryRun: isDryRun)
      #expect(Set(result.lostFields) == expected)
      #expect(result.lostFieldsCount == 2)
    }
    try store.register([old])
    for id in ids { try store.update(id, .with { $0.setData = ["text": .string("t")] }) }
    let result = try store.change(new)
    #expect(result.lostFields.count == KindResult.lostFieldsMax)
    // The count is one more than the widgets, because the size of the first widget returned with
    // the former kind.
    #expect(result.lostFieldsCount == 71)
  }

  @Test func `a change of only a kind's texts changes no widget`() throws {
    var store = try store()
    try store.run(.create(spec()))
    var changed = Self.clock
    changed.summary = "Shows the time of a place."
    #expect(results(try store.register([changed])) == ["~clock"])
    #expect(store.revision(of: "a") == 2)
  }

  private static func gauge(_ level: Int64, zone: String) -> Kind {
    Kind(
      name: "gauge",
      parameters: [Field(name: "zone", type: .string, defaultValue: .string(zone))],
      data: [
        Field(name: "level", type: .int, defaultValue: .int(level)),
        Field(name: "note", type: .string),
      ],
      events: [EventType(name: "press")],
      reducers: [Reducer(event: "press", assignments: ["level": "data.level + 50"])])
  }

  /// The values stayed, so the registered kind took them for values that somebody had set.
  @Test(arguments: [false, true], [false, true])
  func `a kind that is removed and registered again has its new defaults`(
    isPruned: Bool, isRestarted: Bool
  ) throws {
    var image = StoreImage(epoch: 1)
    var store = Store(image: image)
    try store.register([Self.gauge(1, zone: "UTC")])
    try store.create("plain", kind: "gauge", data: ["note": .string("n")])
    try store.create("set", kind: "gauge")
    try store.set("set", ["level": .int(9)])
    try store.create("pressed", kind: "gauge")
    try store.send("press", to: "pressed")
    let declared = WidgetSpec(id: "declared", kind: "gauge", data: ["level": .int(1)])
    try store.declare([declared], in: "bundle/b", owns: true)
    image.apply(store.pendingGroup())
    store.commitGroup(at: .at(0))
    let cursor = store.revision
    if isPruned {
      try store.register([], prunes: true)
    } else {
      try store.run(.deleteKind("gauge"))
    }
    #expect(store.widget("plain")?.data == ["note": .string("n")])
    #expect(store.widget("plain")?.parameters == [:])
    #expect(store.widget("set")?.data == ["level": .int(9)])
    #expect(store.widget("pressed")?.data == ["level": .int(51)])
    #expect(store.widget("declared")?.data == ["level": .int(1)])
    guard
      case .updated(let update)? = try store.changes(since: cursor).changes.first(where: {
        if case .updated(let update) = $0 { update.id == "plain" } else { false }
      })
    else {
      Issue.record("not an update")
      return
    }
    #expect(update.unsetData == ["level"])
    #expect(store.checkInvariants() == [])
    if isRestarted {
      image.apply(store.pendingGroup())
      store = Store(image: image)
    }
    try store.register([Self.gauge(7, zone: "CET")], provider: "other")
    #expect(store.widget("plain")?.data == ["level": .int(7), "note": .string("n")])
    #expect(store.widget("plain")?.parameters == ["zone": .string("CET")])
    #expect(store.widget("set")?.data["level"] == .int(9))
    #expect(store.widget("pressed")?.data["level"] == .int(51))
    #expect(store.widget("declared")?.data["level"] == .int(1))
    #expect(store.checkInvariants() == [])
  }

  @Test func `a removal of a kind that is undone has the same values again`() throws {
    var store = try store([Self.gauge(1, zone: "UTC")])
    try store.create("a", kind: "gauge", data: ["level": .int(3)])
    try store.create("b", kind: "gauge")
    let ids: [WidgetID] = ["a", "b"]
    let before = ids.map { store.widget($0)?.data }
    try store.run(.deleteKind("gauge"))
    try store.register([Self.gauge(1, zone: "UTC")])
    #expect(ids.map { store.widget($0)?.data } == before)
    #expect(store.checkInvariants() == [])
  }
}
