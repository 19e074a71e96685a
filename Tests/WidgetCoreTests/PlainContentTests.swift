import Testing
import WidgetModel

@testable import WidgetCore

/// The content of widgets whose kind nobody has registered.
struct PlainContentTests {
  private func texts(_ widget: Widget?) -> [String] {
    (widget?.content?.nodes ?? []).compactMap { node in
      if case .string(let text)? = node.properties["text"] { text } else { nil }
    }
  }

  private func change(_ store: Store, since cursor: Revision) throws -> ContentChange? {
    guard case .updated(let update)? = try store.changes(since: cursor).changes.first else {
      return nil
    }
    return update.content
  }

  @Test(arguments: Family.allCases)
  func `data is a table in every family, and a line says that the kind is not registered`(
    family: Family
  ) throws {
    var store = Store()
    try store.run(
      .create(
        WidgetSpec(
          id: "a", kind: "weather", family: family,
          data: ["sky": .string("clear"), "max": .double(21.5)])))
    #expect(
      texts(store.widget("a"))
        == ["max", "21.5", "sky", "clear", "The kind \"weather\" is not registered."])
    let types = store.widget("a")?.content?.nodes.map(\.type)
    #expect(types?.prefix(3) == [.stack, .table, .stack])
    #expect(store.checkInvariants() == [])
  }

  @Test func `a widget without data shows only the line`() throws {
    var store = Store()
    try store.create("a")
    #expect(texts(store.widget("a")) == ["The kind \"k\" is not registered."])
  }

  @Test(arguments: 0..<20)
  func `a line break or a combined letter is found at each place of a text`(place: Int) {
    var text = Array(repeating: "x", count: 20)
    text[place] = "\n"
    #expect(
      PlainContent.text(of: .string(text.joined())) == text.joined().replacing("\n", with: " "))
    // Characters are counted, not bytes: 119 of them are shown, and the mark.
    var long = Array(repeating: "x", count: 140)
    long[place] = "e\u{301}"
    #expect(
      PlainContent.text(of: .string(long.joined())) == long.prefix(119).joined() + "…")
  }

  @Test func `a change of one key changes one node`() throws {
    var store = Store()
    try store.create("a", data: ["x": .int(1), "y": .int(2)])
    let cursor = store.revision
    try store.set("a", ["y": .int(3)])
    let change = try change(store, since: cursor)
    #expect(change?.setNodes.map(\.id) == ["value/y"])
    #expect(change?.setNodes.first?.properties["text"] == .string("3"))
    #expect(change?.replaces == false && change?.removedIDs == [])
  }

  @Test(arguments: [
    WidgetPatch.set(["z": .int(1)]), .set([:], unset: ["x"]), .set(["y": .int(9)], unset: ["x"]),
  ])
  func `adding or removing a key replaces the content`(patch: WidgetPatch) throws {
    var store = Store()
    try store.create("a", data: ["x": .int(1), "y": .int(2)])
    let cursor = store.revision
    let before = store.widget("a")
    try store.update("a", patch)
    let change = try #require(try change(store, since: cursor))
    #expect(change.replaces)
    #expect(Content.applying(change, to: before?.content) == store.widget("a")?.content)
  }

  @Test func `a change of labels changes no node`() throws {
    var store = Store()
    try store.create("a", data: ["x": .int(1)])
    let cursor = store.revision
    try store.update("a", .with { $0.setLabels = ["l": "1"] })
    #expect(try change(store, since: cursor) == nil)
  }

  @Test func `a registered kind replaces the table, and a removed kind brings it back`() throws {
    var store = Store()
    try store.create("a", kind: "weather", data: ["sky": .string("clear")])
    let free = store.widget("a")
    var mirror = free
    func follow(_ cursor: Revision) throws {
      for change in try store.changes(since: cursor).changes {
        switch change {
        case .added(let widget, _): mirror = widget
        case .updated(let update): mirror?.apply(update)
        case .removed: mirror = nil
        }
      }
      #expect(mirror == store.widget("a"))
      #expect(store.checkInvariants() == [])
    }
    let fields = [Field(name: "sky", type: .string)]
    var cursor = store.revision
    try store.register([Kind(name: "weather", data: fields)])
    #expect(store.widget("a")?.content == nil)
    try follow(cursor)
    cursor = store.revision
    try store.run(.deleteKind("weather"))
    #expect(store.widget("a")?.content == free?.content)
    try follow(cursor)
    cursor = store.revision
    let label = NodeTemplate(
      id: "sky", type: .label, properties: ["text": Binding("data.sky")])
    try store.register([
      Kind(name: "weather", data: fields, content: [ContentTemplate(root: label)])
    ])
    #expect(texts(store.widget("a")) == ["clear"])
    try follow(cursor)
    cursor = store.revision
    try store.run(.applyKinds(KindDeclaration(provider: "p", kinds: [], prunes: true)))
    try follow(cursor)
    store.rollbackGroup()
    #expect(store.checkInvariants() == [])
  }

  @Test func `a restart keeps the content, and a resumed reader gets changed keys`() throws {
    var store = Store()
    try store.create("a", data: ["x": .int(1)])
    let cursor = store.revision
    try store.set("a", ["y": .int(2)])
    let image = store.pendingGroup().upserts
    let restarted = Store(
      image: StoreImage(epoch: 7, revision: store.revision, records: image))
    #expect(restarted.widget("a") == store.widget("a"))
    #expect(try change(restarted, since: cursor)?.replaces == true)
  }

  @Test func `the table shows the first keys and counts the others`() throws {
    var store = Store()
    let max = PlainContent.rowsMax
    func key(_ number: Int) -> String { "k\(1000 + number)" }
    try store.create(
      "a",
      data: ValueMap((0..<max).map { .init(key: key($0), value: .int(Int64($0))) }))
    #expect(!texts(store.widget("a")).contains { $0.contains("more") })
    try store.set("a", [key(max): .int(0), key(max + 1): .int(0)])
    #expect(texts(store.widget("a")).contains("and 2 more"))
    #expect(!texts(store.widget("a")).contains(key(max)))
    var cursor = store.revision
    try store.set("a", [key(max): .int(5)])
    #expect(try change(store, since: cursor) == nil)
    cursor = store.revision
    try store.set("a", [key(max - 1): .int(5)])
    #expect(try change(store, since: cursor)?.setNodes.count == 1)
  }

  @Test(arguments: [
    (Value.string(String(repeating: "é", count: 121)), String(repeating: "é", count: 119) + "…"),
    (.string(String(repeating: "a", count: 120)), String(repeating: "a", count: 120)),
    (.string(String(repeating: "a", count: 121)), String(repeating: "a", count: 119) + "…"),
    (
      .string(String(repeating: "a", count: 120) + "\u{301}"),
      String(repeating: "a", count: 119) + "a\u{301}"
    ),
    (
      .string(String(repeating: "a", count: 121) + "\u{301}"),
      String(repeating: "a", count: 119) + "…"
    ),
    (.string(String(repeating: "a", count: 120) + "\n"), String(repeating: "a", count: 119) + "…"),
    (.string("a\r\nb\u{85}c\td"), "a b c\td"), (.string("\u{7f}"), "\u{7f}"),
    (.string("two\nlines"), "two lines"), (.null, "null"), (.bool(true), "true"),
    (.bytes([1, 2]), "2 bytes"), (.list([.int(1), .string("x")]), "[1, \"x\"]"),
    (.map(["a": .list([])]), "{a: []}"),
  ])
  func `a value is shown on one line, and a long one is cut`(value: Value, text: String) {
    #expect(PlainContent.text(of: value) == text)
  }

  @Test func `a huge value costs only as much as its shown part`() {
    let long = Value.list((0..<100_000).map { .int($0) })
    #expect(PlainContent.text(of: long).count == PlainContent.valueLengthMax)
  }

  @Test func `a reader without content costs nothing`() throws {
    var store = Store()
    try store.create("a", data: ["x": .int(1)])
    let cursor = store.revision
    try store.set("a", ["x": .int(2)])
    let delta = try store.changes(since: cursor, taking: .none)
    guard case .updated(let update)? = delta.changes.first else { return }
    #expect(update.content == nil)
  }
}
