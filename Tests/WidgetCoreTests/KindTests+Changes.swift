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
}
