import Testing
import WidgetModel

@testable import WidgetCore

/// Redacted views, for screens in public places.
struct RedactionTests {
  private static let mail = Kind(
    name: "mail",
    data: [
      Field(name: "unread", type: .int, defaultValue: .int(1)),
      Field(name: "subject", type: .string, defaultValue: .string("secret lunch")),
      Field(name: "hides", type: .bool, defaultValue: .bool(true)),
    ],
    content: [
      ContentTemplate(
        root: NodeTemplate(
          id: "mail", type: .stack,
          children: [
            NodeTemplate(
              id: "count", type: .label, properties: ["text": Binding("string(data.unread)")]),
            NodeTemplate(
              id: "box", type: .stack,
              properties: [
                "privacy": Binding("data.hides"), "tooltip": Binding("data.subject"),
              ],
              children: [
                NodeTemplate(
                  id: "subject", type: .button, properties: ["text": Binding("data.subject")])
              ]),
          ]))
    ],
    entry: [Field(name: "note", type: .string, defaultValue: .string(""))])

  private static let login = Kind(
    name: "login", data: [Field(name: "hides", type: .bool, defaultValue: .bool(true))],
    content: [
      ContentTemplate(
        root: NodeTemplate(
          id: "form", type: .form, properties: ["text": Binding(value: .string("Log in"))],
          children: [
            NodeTemplate(
              id: "row", type: .stack,
              children: [
                NodeTemplate(
                  id: "secret", type: .input,
                  properties: [
                    "name": Binding(value: .string("s")), "privacy": Binding("data.hides"),
                  ])
              ])
          ]))
    ])

  @Test func `a form with private inputs cannot be submitted`() throws {
    var store = Store()
    try store.register([Self.login])
    try store.create("l", kind: "login")
    let redacted = { (store: Store) in
      store.widget("l")?.content.map(Redaction.redacted)?.nodes.first { $0.id == "form" }
    }
    let hidden = try #require(redacted(store))
    #expect(hidden.type == .stack && hidden.events.isEmpty && hidden.properties["text"] == nil)
    #expect(hidden.childIDs == ["row"])
    try store.set("l", ["hides": .bool(false)])
    let shown = try #require(redacted(store))
    #expect(shown.type == .form && shown.events == ["submit"])
  }

  private static let people = Kind(
    name: "people", data: [Field(name: "names", type: .list(.string), defaultValue: .list([]))],
    content: [
      ContentTemplate(
        root: NodeTemplate(
          id: "table", type: .table,
          properties: [
            "selected": Binding("data.names"), "selection": Binding(value: .string("single")),
          ],
          children: [
            NodeTemplate(
              id: "row", type: .stack,
              rows: RowTemplate(list: "data.names", name: "n", key: "n"),
              children: [
                NodeTemplate(
                  id: "name", type: .label,
                  properties: ["text": Binding("n"), "privacy": Binding("n != 'public'")]),
                NodeTemplate(id: "go", type: .button),
              ])
          ]))
    ])

  private static let open = Kind(
    name: "open", data: [Field(name: "n", type: .int, defaultValue: .int(0))],
    content: [
      ContentTemplate(
        root: NodeTemplate(
          id: "top", type: .stack,
          children: [
            NodeTemplate(id: "n", type: .label, properties: ["text": Binding("string(data.n)")]),
            NodeTemplate(
              id: "other", type: .label, properties: ["text": Binding("string(1/data.n)")]),
          ]))
    ])

  private func store() throws -> Store {
    var store = Store()
    try store.register([Self.mail, Self.people, Self.open])
    try store.create("m", kind: "mail", labels: ["l": "secret label"])
    store.commitGroup(at: .at(0))
    return store
  }

  private func view(_ id: WidgetID, _ store: Store) -> Widget? {
    store.widget(id, taking: .redacted(nil))
  }

  private func change(_ id: WidgetID, since cursor: Revision, _ store: Store) throws
    -> WidgetUpdate?
  {
    for case .updated(let update) in try store.changes(since: cursor, taking: .redacted(nil))
      .changes
    where update.id == id { return update }
    return nil
  }

  /// Whether a text is anywhere in the sent view.
  private func tells(_ thing: some Any, _ secret: String) -> Bool { "\(thing)".contains(secret) }

  @Test func `a private node is a label without its text, and the nodes in it are gone`() throws {
    let store = try store()
    let whole = try #require(store.widget("m"))
    #expect(tells(whole, "secret lunch"))
    let shown = try #require(view("m", store))
    #expect(shown.content?.nodes.map(\.id) == ["mail", "count", "box"])
    #expect(
      shown.content?["box"]
        == Node(
          id: "box", type: .label,
          properties: ["text": .string(Redaction.text), "privacy": .bool(true)]))
    #expect(shown.content?["count"]?.properties["text"] == .string("1"))
    #expect(!tells(shown, "secret"))
    #expect(shown.data.isEmpty)
  }

  @Test func `sources of private nodes are not sent: data, labels, entries, messages`() throws {
    var store = try store()
    let timeline = Timeline(
      entries: [TimelineEntry(date: .at(-1), values: ["note": .string("secret note")], score: 2)],
      policy: .never)
    try store.update(
      "m",
      .with {
        $0.error = .some(WidgetError(reason: "LOGIN", message: "secret user"))
        $0.timeline = .some(timeline)
      })
    let shown = try #require(view("m", store))
    #expect(shown.error?.reason == "LOGIN")
    #expect(shown.timeline?.current?.date == .at(-1))
    #expect(shown.labels.isEmpty)
    #expect(!tells(shown, "secret"))
    let page = store.timeline(of: "m", from: .at(0), limit: 5, taking: .redacted(nil))
    #expect(page?.entries.count == 1)
    #expect(!tells(page?.entries as Any, "secret"))
    let list = store.list(after: nil, limit: 5, taking: .redacted(nil)).widgets
    #expect(!tells(list, "secret"))
  }

  @Test func `a problem of a timeline has no text`() {
    var status = TimelineStatus()
    #expect(Redaction.redacted(status)?.problem == "")
    status.problem = "The zone \"secret\" does not exist."
    #expect(Redaction.redacted(status)?.problem == "The timeline has a problem.")
    #expect(!tells(Redaction.redacted(status) as Any, "secret"))
  }

  @Test func `changes have no private nodes and no data`() throws {
    var store = try store()
    var cursor = store.revision
    try store.set("m", ["subject": .string("secret dinner"), "unread": .int(2)])
    var update = try #require(try change("m", since: cursor, store))
    #expect(!tells(update, "secret"))
    #expect(update.setData.isEmpty)
    #expect(update.content?.replaces == true)
    #expect(update.content?.setNodes.map(\.id) == ["mail", "count", "box"])
    // In the earlier view, the content of the box was not visible.
    cursor = store.revision
    try store.set("m", ["hides": .bool(false)])
    update = try #require(try change("m", since: cursor, store))
    #expect(update.content?.setNodes.map(\.id) == ["mail", "count", "box", "subject"])
    cursor = store.revision
    try store.set("m", ["hides": .bool(true)])
    update = try #require(try change("m", since: cursor, store))
    #expect(!tells(update, "secret"))
  }

  @Test func `content without private nodes changes node by node, without problems`() throws {
    var store = try store()
    try store.create("o", kind: "open")
    #expect(store.widget("o")?.content?["other"]?.problem != "")
    #expect(view("o", store)?.content?["other"]?.problem == "")
    let cursor = store.revision
    try store.set("o", ["n": .int(2)])
    let update = try #require(try change("o", since: cursor, store))
    #expect(update.content?.replaces == false)
    #expect(Set(update.content?.setNodes.map(\.id) ?? []) == ["n", "other"])
  }

  @Test func `rows with private nodes have numbers in place of their keys`() throws {
    var store = try store()
    let names = ["secret one", "public", "secret two"]
    try store.create(
      "p", kind: "people", data: ["names": .list(names.map { .string($0) })])
    let shown = try #require(view("p", store)?.content)
    #expect(!tells(shown, "secret"))
    #expect(shown["row/public"]?.childIDs == ["name/public", "go/public"])
    #expect(shown["name/public"]?.properties["text"] == .string("public"))
    #expect(shown["go/public"]?.events == ["press"])
    let others = try #require(shown["table"]?.childIDs.filter { $0 != "row/public" })
    #expect(others == ["row/:1", "row/:2"])
    #expect(shown["go/:1"]?.events == [])
    #expect(shown["table"]?.properties["selected"] == nil)
    #expect(shown.table.nodes.count == shown.nodes.count)
    #expect(Set(shown.nodes.map(\.id)).count == shown.nodes.count)
  }

  @Test func `private nodes stay private in an embed`() throws {
    let frame = Kind(
      name: "frame",
      content: [
        ContentTemplate(
          root: NodeTemplate(
            id: "frame", type: .stack,
            children: [
              NodeTemplate(
                id: "in", type: .embed, properties: ["widget": Binding(value: .string("m"))])
            ]))
      ])
    var store = try store()
    try store.register([frame])
    try store.create("f", kind: "frame")
    store.commitGroup(at: .at(0))
    store.settleEmbeds()
    #expect(tells(store.widget("f") as Any, "secret lunch"))
    #expect(
      view("f", store)?.content?.nodes.map(\.id) == [
        "frame", "in", "in::mail", "in::count", "in::box",
      ])
    let cursor = store.revision
    try store.set("m", ["subject": .string("secret dinner")])
    store.commitGroup(at: .at(0))
    store.settleEmbeds()
    #expect(!tells(try change("f", since: cursor, store) as Any, "secret"))
  }

  @Test func `a widget of no registered kind does not show its data`() throws {
    var store = try store()
    try store.create("x", kind: "nobody", data: ["pin": .string("secret pin")])
    #expect(tells(store.widget("x")?.content as Any, "secret"))
    #expect(view("x", store)?.content?.nodes.map(\.id) == ["kind"])
    let cursor = store.revision
    try store.set("x", ["pin": .string("secret too")])
    #expect(try change("x", since: cursor, store)?.content == nil)
    // After the removal of a kind, the data of its widgets stays.
    try store.run(.deleteKind("mail"))
    #expect(!tells(view("m", store) as Any, "secret"))
    #expect(!tells(try store.changes(since: cursor, taking: .redacted(nil)), "secret"))
  }

  @Test func `readers of a family get that family redacted`() throws {
    let store = try store()
    let shown = store.widget("m", taking: .redacted(.inline))
    #expect(shown?.content?["box"]?.type == .label)
    #expect(!tells(shown as Any, "secret"))
  }

  @Test(arguments: ["1 / data.zero > 0", "data.unset", "data.zero == 1"])
  func `a node is private unless its expression says that it is not`(expression: String) throws {
    let label = NodeTemplate(
      id: "s", type: .label,
      properties: ["text": Binding("data.s"), "privacy": Binding(expression)])
    var store = Store()
    try store.register([
      Kind(
        name: "k",
        data: [
          Field(name: "s", type: .string, defaultValue: .string("HUSH")),
          Field(name: "zero", type: .int, defaultValue: .int(0)),
          Field(name: "unset", type: .bool),
        ], content: [ContentTemplate(root: label)])
    ])
    try store.create("w", kind: "k")
    let shown = store.widget("w", taking: .redacted(nil))?.content?.nodes.first?.properties["text"]
    let isPublic = expression == "data.zero == 1"
    #expect(shown == .string(isPublic ? "HUSH" : Redaction.text))
  }

  @Test func `the data of an unregistered kind is private in an embed too`() throws {
    let frame = NodeTemplate(
      id: "inner", type: .embed, properties: ["widget": Binding(value: .string("w"))])
    var store = Store()
    try store.register([Kind(name: "frame", content: [ContentTemplate(root: frame)])])
    try store.create("w", kind: "stray", data: ["pin": .string("HUSH")])
    try store.create("f", kind: "frame")
    store.commitGroup(at: .at(0))
    store.settleEmbeds()
    func texts(_ choice: ContentChoice) -> String {
      "\(store.widget("f", taking: choice)?.content?.nodes.map(\.properties) ?? [])"
    }
    #expect(texts(.own).contains("HUSH"))
    #expect(!texts(.redacted(nil)).contains("HUSH"))
  }
}
