import Testing
import WidgetExpression
import WidgetModel

@testable import WidgetCore

/// What widgets show: templates evaluated to nodes, kept up to date, and told node by node.
struct ContentTests {
  private static let root = NodeTemplate(
    id: "root", type: .stack,
    children: [
      NodeTemplate(
        id: "title", type: .label,
        properties: [
          "text": Binding(
            "parameters.name + ': ' + string(data.count)", placeholder: .string("--")),
          "lines": Binding(value: .int(1)),
        ]),
      NodeTemplate(
        id: "more", type: .stack, condition: "data.count > 2",
        children: [
          NodeTemplate(id: "much", type: .label, properties: ["text": Binding("'much'")])
        ]),
      NodeTemplate(
        id: "list", type: .table,
        children: [
          NodeTemplate(
            id: "row", type: .stack, condition: "!('hidden' in item)",
            rows: RowTemplate(list: "data.items", key: "item.id"),
            children: [
              NodeTemplate(
                id: "name", type: .label,
                properties: ["text": Binding("item.name + data.suffix")]),
              NodeTemplate(
                id: "drop", type: .button,
                properties: ["enabled": Binding("widget.enabled && itemIndex > 0")]),
              NodeTemplate(
                id: "tag", type: .label, properties: ["text": Binding("tag + ' of ' + item.name")],
                rows: RowTemplate(list: "has(item.tags) ? item.tags : []", name: "tag", key: "tag")),
            ])
        ]),
    ])

  private static let drop = Reducer(
    event: "press", nodeID: "drop",
    assignments: ["items": "data.items.filter(i, string(i.id) != event.row)"])

  private static func kind(_ content: [ContentTemplate]) -> Kind {
    Kind(
      name: "list",
      parameters: [Field(name: "name", type: .string, defaultValue: .string("n"))],
      data: [
        Field(name: "count", type: .int, defaultValue: .int(0)),
        Field(name: "suffix", type: .string, defaultValue: .string("")),
        Field(name: "items", type: .list(.map(.any)), defaultValue: .list([])),
        Field(name: "any"),
      ],
      reducers: content.contains { $0.root == root } ? [drop] : [], content: content)
  }

  private func store(limits: StoreLimits = StoreLimits()) throws -> Store {
    var store = Store(limits: limits)
    try store.register([Self.kind([ContentTemplate(root: Self.root)])])
    try store.create("a", kind: "list")
    store.commitGroup(at: .at(0))
    return store
  }

  private static func item(_ id: String, _ name: String, tags: [String] = []) -> Value {
    var map: ValueMap = ["id": .string(id), "name": .string(name)]
    if !tags.isEmpty { map["tags"] = .list(tags.map { .string($0) }) }
    return .map(map)
  }

  private func ids(_ store: Store) -> [String] {
    store.widget("a")?.content?.nodes.map(\.id) ?? []
  }

  private func text(_ id: String, _ store: Store) -> Value? {
    store.widget("a")?.content?[id]?.properties["text"]
  }

  private func update(_ store: Store, since cursor: Revision) throws -> ContentChange? {
    guard case .updated(let update)? = try store.changes(since: cursor).changes.first else {
      return nil
    }
    return update.content
  }

  @Test func `a template is evaluated for a new widget`() throws {
    let store = try store()
    #expect(ids(store) == ["root", "title", "list"])
    #expect(text("title", store) == .string("n: 0"))
    #expect(store.widget("a")?.content?["title"]?.properties["lines"] == .int(1))
    #expect(store.widget("a")?.content?["root"]?.childIDs == ["title", "list"])
    #expect(store.checkInvariants() == [])
  }

  @Test func `only nodes that changed are told`() throws {
    var store = try store()
    let cursor = store.revision
    try store.set("a", ["count": .int(1)])
    let change = try update(store, since: cursor)
    #expect(change?.setNodes.map(\.id) == ["title"])
    #expect(change?.setNodes.first?.properties["text"] == .string("n: 1"))
    #expect(change?.replaces == false)
    try store.set("a", ["any": .int(1)])
    #expect(try update(store, since: cursor + 1) == nil)
  }

  @Test func `what is taken back is not shown`() throws {
    var store = try store()
    try store.set("a", ["items": .list([Self.item("x", "X")])])
    store.rollbackGroup()
    #expect(ids(store) == ["root", "title", "list"])
    #expect(store.checkInvariants() == [])
  }

  @Test func `a condition takes a node away with all below it`() throws {
    var store = try store()
    try store.set("a", ["count": .int(3)])
    #expect(ids(store) == ["root", "title", "more", "much", "list"])
    let cursor = store.revision
    try store.set("a", ["count": .int(1)])
    #expect(ids(store) == ["root", "title", "list"])
    let change = try update(store, since: cursor)
    #expect(change?.removedIDs == ["more", "much"])
    #expect(change?.setNodes.map(\.id).sorted() == ["root", "title"])
  }

  @Test func `status is data that is a variable too, also beside rows`() throws {
    let root = NodeTemplate(
      id: "root", type: .stack,
      children: [
        NodeTemplate(id: "busy", type: .spinner, condition: "status.load.running"),
        NodeTemplate(
          id: "row", type: .label,
          properties: ["text": Binding("string(itemIndex) + item + status.load.state")],
          rows: RowTemplate(list: "['a', 'b']")),
      ])
    let idle: ValueMap = ["load": .map(["running": .bool(false), "state": .string("idle")])]
    let kind = Kind(
      name: "k", data: [Field(name: "status", type: .map(.any), defaultValue: .map(idle))],
      content: [ContentTemplate(root: root)])
    var store = Store()
    try store.register([kind])
    try store.create("a", kind: "k")
    #expect(store.widget("a")?.content?.nodes.map(\.id) == ["root", "row/0", "row/1"])
    let running: ValueMap = ["load": .map(["running": .bool(true), "state": .string("busy")])]
    _ = try store.update("a", WidgetPatch(setData: ["status": .map(running)]))
    let nodes = store.widget("a")?.content?.nodes ?? []
    #expect(nodes.map(\.id) == ["root", "busy", "row/0", "row/1"])
    #expect(
      nodes.compactMap { $0.properties["text"] } == [.string("0abusy"), .string("1bbusy")])
    #expect(nodes.allSatisfy { $0.problem.isEmpty })
  }

  @Test func `rows follow the list by their keys`() throws {
    var store = try store()
    try store.set(
      "a", ["items": .list([Self.item("x", "X", tags: ["t"]), Self.item("y", "Y")])])
    #expect(
      ids(store) == [
        "root", "title", "list", "row/x", "name/x", "drop/x", "tag/x/t", "row/y", "name/y",
        "drop/y",
      ])
    #expect(text("tag/x/t", store) == .string("t of X"))
    var cursor = store.revision
    // The other way round: nothing but the order, and what reads a row's place.
    try store.set(
      "a", ["items": .list([Self.item("y", "Y"), Self.item("x", "X", tags: ["t"])])])
    var change = try update(store, since: cursor)
    #expect(Set(change?.setNodes.map(\.id) ?? []) == ["list", "drop/x", "drop/y"])
    #expect(store.widget("a")?.content?["list"]?.childIDs == ["row/y", "row/x"])
    // One row changes, one goes, one comes.
    cursor = store.revision
    try store.set("a", ["items": .list([Self.item("y", "Z"), Self.item("a b", "A")])])
    change = try update(store, since: cursor)
    #expect(change?.removedIDs == ["drop/x", "name/x", "row/x", "tag/x/t"])
    #expect(
      Set(change?.setNodes.map(\.id) ?? [])
        == ["list", "name/y", "row/a.20b", "name/a.20b", "drop/a.20b"])
    // A value outside of the rows changes all of them.
    cursor = store.revision
    try store.set("a", ["suffix": .string("!")])
    change = try update(store, since: cursor)
    #expect(change?.setNodes.map(\.id) == ["name/y", "name/a.20b"])
    #expect(text("name/y", store) == .string("Z!"))
    #expect(store.checkInvariants() == [])
  }

  @Test func `rows with the same key are all there`() throws {
    var store = try store()
    try store.set("a", ["items": .list([Self.item("x", "1"), Self.item("x", "2")])])
    #expect(text("name/x", store) == .string("1"))
    #expect(text("name/x:2", store) == .string("2"))
    #expect(store.checkInvariants() == [])
  }

  @Test(arguments: [
    ("drop/x", ["x"]), ("drop/x:2", ["x"]), ("drop/a.3Ab:12", ["a:b"]), ("drop/:2", [""]),
    ("tag/x:2/y:3", ["x", "y"]), ("drop/", [""]), ("drop", []),
  ])
  func `an event names the row by its key, whichever of equal ones it is`(
    node: String, keys: [String]
  ) {
    #expect(NodeID.rowKeys(of: node) == keys)
  }

  @Test func `an event on one of two rows with the same key has this key`() throws {
    var store = try store()
    for node in ["drop/x", "drop/x:2"] {
      try store.set(
        "a", ["items": .list([Self.item("y", "0"), Self.item("x", "1"), Self.item("x", "2")])])
      try store.run(.sendEvent(EventDraft(widgetID: "a", nodeID: node, name: "press")))
      // The reducer keeps the rows with another key.
      #expect(ids(store).filter { $0.hasPrefix("drop") } == ["drop/y"])
    }
  }

  @Test func `a key of any length makes an id that events can name`() throws {
    var store = try store()
    let long = String(repeating: "k", count: 300)
    try store.set("a", ["items": .list([Self.item(long, "1"), Self.item(long + "2", "2")])])
    let rows = ids(store).filter { $0.hasPrefix("drop/") }
    #expect(rows.count == 2 && rows.allSatisfy { $0.isIdentifier(lengthMax: WidgetID.lengthMax) })
    try store.run(.sendEvent(EventDraft(widgetID: "a", nodeID: rows[1], name: "press")))
  }

  @Test func `an expression that fails shows its placeholder and says why`() throws {
    var store = Store()
    let root = NodeTemplate(
      id: "r", type: .label,
      properties: [
        "text": Binding("string(1 / data.count)", placeholder: .string("--")),
        "tooltip": Binding("data.any.deep"), "lines": Binding("data.any"),
      ])
    try store.register([Self.kind([ContentTemplate(root: root)])])
    try store.create("a", kind: "list", data: ["any": .string("text")])
    let node = try #require(store.widget("a")?.content?["r"])
    #expect(node.properties == ["text": .string("--")])
    #expect(node.problem.hasPrefix("lines: expected a value of type int, not string"))
    try store.update("a", .set(["count": .int(1), "any": .map(["deep": .int(4)])]))
    #expect(text("r", store) == .string("1"))
    // Where text is wanted, a number is its text.
    #expect(store.widget("a")?.content?["r"]?.properties["tooltip"] == .string("4"))
    #expect(store.widget("a")?.content?["r"]?.problem.hasPrefix("lines: ") == true)
    try store.set("a", ["any": .null])
    #expect(store.widget("a")?.content?["r"]?.problem.hasPrefix("tooltip: ") == true)
    #expect(store.checkInvariants() == [])
  }

  @Test func `the family's template is shown, or the one for all others`() throws {
    var store = Store()
    let label = { (id: String) in ContentTemplate(root: NodeTemplate(id: id, type: .label)) }
    var inline = label("line")
    inline.families = [.inline]
    try store.register([Self.kind([label("any"), inline])])
    try store.create("a", kind: "list")
    #expect(ids(store) == ["any"])
    let cursor = store.revision
    try store.declare([WidgetSpec(id: "a", kind: "list", family: .inline)])
    #expect(ids(store) == ["line"])
    let change = try update(store, since: cursor)
    #expect(change == ContentChange(replacingBy: store.widget("a")?.content))
  }

  @Test func `a kind that changes changes what its widgets show, and only then`() throws {
    var store = try store()
    try store.create("b", kind: "list")
    var kind = Self.kind([ContentTemplate(root: Self.root)])
    kind.summary = "Other words."
    var cursor = store.revision
    try store.register([kind])
    #expect(try store.changes(since: cursor).changes.isEmpty)
    kind.content = [ContentTemplate(root: NodeTemplate(id: "new", type: .spinner))]
    kind.reducers = []
    cursor = store.revision
    try store.register([kind])
    #expect(try store.changes(since: cursor).changes.count == 2)
    #expect(ids(store) == ["new"])
    cursor = store.revision
    try store.run(.deleteKind("list"))
    // The rest is the data of a widget without a registered kind.
    #expect(ids(store).contains("value/items"))
    #expect(
      try update(store, since: cursor)
        == ContentChange(replacingBy: store.widget("a")?.content))
    store.rollbackGroup()
    #expect(ids(store) == ["root", "title", "list"])
    #expect(store.checkInvariants() == [])
  }

  @Test func `what changes at the revision that brought another template is told`() throws {
    let label = { (text: String) in
      ContentTemplate(
        root: NodeTemplate(id: "l", type: .label, properties: ["text": Binding(text)]))
    }
    let limits = StoreLimits()
    let schemas = ["data.suffix", "'' + data.suffix"].map { KindSchema(Self.kind([label($0)])) }
    var contents = ContentMaker()
    contents.setSchema(schemas[0], of: "list")
    var state = RecordState(family: .medium, position: 0, revision: 1, time: .at(0))
    _ = state.data.set("suffix", to: .string("x"), at: 1)
    let record = Record(
      id: "a", kind: "list", ownerUID: 1, createdRevision: 1, createTime: .at(0), state: state)
    var records = RecordTable()
    let slot = records.insert(record, at: 1, &contents, limits: limits)
    // Another template that shows the same, and then something else, all in one commit.
    contents.setSchema(schemas[1], of: "list")
    records.modify(slot, at: 5, &contents, limits: limits) { $0.finish(nil, at: 5, time: .at(0)) }
    #expect(record.contentChange(since: 4) == nil)
    #expect(record.content?.table.checkInvariants() == [])
    records.modify(slot, at: 5, &contents, limits: limits) { state in
      _ = state.data.set("suffix", to: .string("y"), at: 5)
    }
    #expect(record.contentChange(since: 4)?.setNodes.first?.properties["text"] == .string("y"))
    #expect(record.content?.table.checkInvariants() == [])
  }

  @Test func `who comes from before the changes that are remembered gets all nodes`() throws {
    var store = try store()
    let cursor = store.revision
    for count in 1...600 { try store.set("a", ["count": .int(Int64(count))]) }
    let change = try update(store, since: cursor)
    #expect(change == ContentChange(replacingBy: store.widget("a")?.content))
    #expect(try update(store, since: store.revision - 3)?.setNodes.map(\.id) == ["title"])
    #expect(store.checkInvariants() == [])
  }

  @Test func `a stored kind with a constant that no property takes any more shows the rest`() throws
  {
    let root = NodeTemplate(
      id: "a", type: .label,
      properties: [
        "text": Binding("string(data.n)"), "color": Binding(value: .string("tomato")),
      ])
    let kind = Kind(name: "old", isOpen: true, content: [ContentTemplate(root: root)])
    var store = Store()
    try store.create("w", kind: "old", data: ["n": .int(3)])
    var image = StoreImage(epoch: 7, revision: store.revision)
    image.records = store.records.map { RecordImage($0) }
    image.kinds = [RegisteredKind(kind: kind, provider: "p")]
    let restored = Store(image: image)
    #expect(restored.widget("w")?.content?["a"]?.properties == ["text": .string("3")])
  }

  @Test func `a value that a property cannot take is the node's problem`() throws {
    let root = NodeTemplate(
      id: "a", type: .stack,
      properties: ["axis": Binding("data.axis"), "spacing": Binding("data.n")])
    var store = Store()
    try store.register([Kind(name: "k", isOpen: true, content: [ContentTemplate(root: root)])])
    try store.create("w", kind: "k", data: ["axis": .string("upward"), "n": .int(2)])
    let node = try #require(store.widget("w")?.content?["a"])
    #expect(node.properties == ["spacing": .double(2)])
    #expect(
      node.problem.hasPrefix("axis: \"upward\" is no axis; use vertical, horizontal or layered"))
  }

  @Test func `a restored widget shows the same, and readers from before get all of it`() throws {
    var store = try store()
    try store.set("a", ["items": .list([Self.item("x", "X")]), "count": .int(5)])
    var image = StoreImage(epoch: 7, revision: store.revision)
    image.records = store.records.map { RecordImage($0) }
    image.kinds = store.kinds().kinds
    var restored = Store(image: image)
    #expect(restored.widget("a")?.content == store.widget("a")?.content)
    #expect(try restored.changes(since: restored.revision).changes.isEmpty)
    #expect(try update(restored, since: restored.revision - 1)?.replaces == true)
    let cursor = restored.revision
    try restored.set("a", ["count": .int(6)])
    #expect(try update(restored, since: cursor)?.setNodes.map(\.id) == ["title"])
  }

  @Test func `volatile data is not stored, and begins anew for everyone`() throws {
    var store = Store()
    var kind = Self.kind([ContentTemplate(root: Self.root)])
    kind.persistence = .volatile
    try store.register([kind])
    try store.create("a", kind: "list")
    try store.create("b")
    try store.set("a", ["count": .int(5), "any": .int(1)])
    let group = store.pendingGroup()
    #expect(group.upserts.map(\.data.isEmpty) == [true, true])
    var image = StoreImage(epoch: 7, revision: group.revision)
    image.records = group.upserts
    image.kinds = group.kindUpserts
    let restored = Store(image: image)
    #expect(restored.checkInvariants() == [])
    let widget = try #require(restored.widget("a"))
    #expect(widget.data["count"] == .int(0) && widget.data["any"] == nil)
    #expect(text("title", restored) == .string("n: 0"))
    // A reader that held the old data gets the widget as a whole; nobody else changes.
    #expect(restored.revision == store.revision + 1)
    let changes = try restored.changes(since: store.revision).changes
    #expect(changes == [.added(widget, nil)])
  }

  @Test func `what is stored follows when a kind becomes volatile, or ceases to be`() throws {
    var store = try store()
    try store.set("a", ["count": .int(7)])
    try store.create("b")
    store.commitGroup(at: .at(0))
    var kind = Self.kind([ContentTemplate(root: Self.root)])
    kind.persistence = .volatile
    let declaration = KindDeclaration(provider: "desk", kinds: [kind], isDryRun: true)
    try store.run(.applyKinds(declaration))
    #expect(store.pendingGroup().upserts.isEmpty)
    try store.register([kind])
    #expect(store.pendingGroup().upserts.map(\.widget.id) == ["a"])
    #expect(store.pendingGroup().upserts.map(\.data) == [[]])
    #expect(store.widget("a")?.data["count"] == .int(7))
    store.rollbackGroup()
    #expect(store.pendingGroup().upserts.isEmpty)
    try store.register([kind])
    store.commitGroup(at: .at(0))
    // Otherwise its data would be lost by the next restart.
    kind.persistence = .durable
    try store.register([kind])
    let values = store.pendingGroup().upserts.map { $0.data.first { $0.key == "count" }?.value }
    #expect(values == [.int(7)])
    kind.persistence = .volatile
    try store.register([kind])
    store.commitGroup(at: .at(0))
    try store.run(.deleteKind("list"))
    #expect(store.pendingGroup().upserts.map(\.data.isEmpty) == [false])
    #expect(store.checkInvariants() == [])
  }

  @Test func `data that was stored before its kind was volatile goes with the next group`() throws {
    var store = try store()
    try store.set("a", ["count": .int(7)])
    var kind = Self.kind([ContentTemplate(root: Self.root)])
    kind.persistence = .volatile
    var image = Self.image(of: store)
    image.kinds = [RegisteredKind(kind: kind, provider: "desk", revision: 1)]
    var restored = Store(image: image)
    try restored.create("b")
    let group = restored.pendingGroup()
    #expect(group.upserts.map(\.widget.id) == ["b", "a"])
    #expect(group.upserts.map(\.data.isEmpty) == [true, true])
  }

  @Test func `a kind that becomes volatile shows nothing of what is gone`() throws {
    var store = try store()
    try store.set("a", ["count": .int(7)])
    var kind = Self.kind([ContentTemplate(root: Self.root)])
    kind.persistence = .volatile
    var image = StoreImage(epoch: 7, revision: store.revision)
    image.records = store.records.map { RecordImage($0) }
    image.kinds = [RegisteredKind(kind: kind, provider: "desk", revision: 1)]
    let restored = Store(image: image)
    #expect(text("title", restored) == .string("n: 0"))
    #expect(restored.checkInvariants() == [])
  }

  // MARK: - Events

  @Test func `an event on a node of a row knows its row`() throws {
    var store = try store()
    try store.set("a", ["items": .list([Self.item("x", "X"), Self.item("a b", "Y")])])
    try store.run(.sendEvent(EventDraft(widgetID: "a", nodeID: "drop/a.20b", name: "press")))
    #expect(store.widget("a")?.data["items"] == .list([Self.item("x", "X")]))
    #expect(
      store.refusal(
        of: .sendEvent(EventDraft(widgetID: "a", nodeID: "drop/a.20b", name: "press")))
        == .nodeNotFound("a", "drop/a.20b"))
  }

  @Test func `a node that is disabled, hidden or not there takes no events`() throws {
    var store = try store()
    try store.set("a", ["items": .list([Self.item("x", "X")])])
    let press = EventDraft(widgetID: "a", nodeID: "drop/x", name: "press")
    #expect(store.refusal(of: .sendEvent(press)) == .nodeDisabled("a", "drop/x"))
    var forced = press
    forced.isForced = true
    try store.run(.sendEvent(forced))
    #expect(store.widget("a")?.data["items"] == .list([]))
    #expect(
      store.refusal(of: .sendEvent(EventDraft(widgetID: "a", nodeID: "much", name: "press")))
        == .nodeNotFound("a", "much"))
    #expect(
      store.refusal(of: .sendEvent(EventDraft(widgetID: "a", nodeID: "nope", name: "press")))
        == .nodeNotFound("a", "nope"))
  }

  @Test func `what users do to a node needs no declaration, and has its details checked`() throws {
    var store = Store()
    var kind = Self.kind([])
    kind.events = [EventType(name: "declared")]
    kind.content = [
      ContentTemplate(
        root: NodeTemplate(
          id: "form", type: .stack,
          children: [
            NodeTemplate(id: "on", type: .toggle),
            NodeTemplate(
              id: "gone", type: .stack, properties: ["visible": Binding(value: .bool(false))],
              children: [NodeTemplate(id: "b", type: .button)]),
          ]))
    ]
    kind.reducers = [
      Reducer(event: "change", nodeID: "on", assignments: ["any": "!event.payload.value"])
    ]
    try store.register([kind])
    try store.create("a", kind: "list")
    let change = { (payload: ValueMap) in
      Command.sendEvent(
        EventDraft(widgetID: "a", nodeID: "on", name: "change", payload: payload))
    }
    try store.run(change(["value": .bool(true)]))
    #expect(store.widget("a")?.data["any"] == .bool(false))
    guard case .invalid(let field, _)? = store.refusal(of: change(["value": .int(1)])) else {
      Issue.record("not refused")
      return
    }
    #expect(field == "payload[value]")
    #expect(store.refusal(of: change([:])) != nil)
    #expect(
      store.refusal(of: .sendEvent(EventDraft(widgetID: "a", nodeID: "b", name: "press")))
        == .nodeHidden("a", "b"))
    #expect(
      store.refusal(of: .sendEvent(EventDraft(widgetID: "a", nodeID: "on", name: "press"))) != nil)
  }

  // MARK: - Bounds

  @Test func `too many rows are left out, and it says so`() throws {
    var store = try store(limits: .with { $0.contentNodesMax = 20 })
    let items = (0..<10).map { Self.item("\($0)", "\($0)") }
    try store.set("a", ["items": .list(items)])
    #expect(ids(store).count <= 20)
    #expect(store.widget("a")?.content?["list"]?.problem.contains("content_nodes_max") == true)
    #expect(store.checkInvariants() == [])
    try store.set("a", ["items": .list(Array(items.suffix(2)))])
    #expect(store.widget("a")?.content?["list"]?.problem == "")
    #expect(store.widget("a")?.content?["list"]?.childIDs == ["row/8", "row/9"])
    #expect(store.checkInvariants() == [])
  }

  @Test func `content that costs too much or is too large says so, and the change is made`() throws
  {
    var store = try store(limits: .with { $0.contentCostMax = 200 })
    try store.set("a", ["items": .list((0..<50).map { Self.item("\($0)", "\($0)") })])
    let content = try #require(store.widget("a")?.content)
    #expect(content.nodes.contains { $0.problem.contains("cost") })
    store = try self.store(limits: .with { $0.contentBytesMax = 2_000 })
    try store.set("a", ["suffix": .string(String(repeating: "s", count: 3_000))])
    try store.set("a", ["items": .list([Self.item("x", "X")])])
    #expect(store.widget("a")?.content?["name/x"]?.problem.contains("content_bytes_max") == true)
  }

  private static let growing: [(String, Command)] = [
    ("create", .create(WidgetSpec(id: "z", kind: "list"))),
    ("update", .update("a", .set(["suffix": .string(String(repeating: "s", count: 60))]))),
    ("event", .sendEvent(EventDraft(widgetID: "a", name: "fill"))),
    ("presence", .setPresence(.all, .hide)),
    ("updates", .provide([ProvidedUpdate("a", .set(["count": .int(3)]))], by: "desk")),
    ("set", .apply(Declaration(applySet: "s", widgets: [WidgetSpec(id: "z", kind: "list")]))),
    (
      "kinds",
      .applyKinds(
        KindDeclaration(
          provider: "desk",
          kinds: [growingKind("'1234567890' + data.suffix + string(data.count)")]))
    ),
  ]

  private static func growingKind(_ text: String) -> Kind {
    let root = NodeTemplate(
      id: "r", type: .stack,
      children: [
        NodeTemplate(id: "l", type: .label, properties: ["text": Binding(text)]),
        NodeTemplate(
          id: "more", type: .label, properties: ["text": Binding("'more'")],
          rows: RowTemplate(list: "!widget.visible || data.count > 2 ? [1, 2, 3] : []")),
      ])
    var kind = Self.kind([ContentTemplate(root: root)])
    kind.reducers = [Reducer(event: "fill", assignments: ["suffix": "'0123456789'"])]
    kind.events = [EventType(name: "fill")]
    return kind
  }

  @Test(arguments: growing, [true, false])
  func `what makes a user's contents grow beyond the limit is refused`(
    growing: (name: String, command: Command), isRevocable: Bool
  ) throws {
    var store = Store(isRevocable: isRevocable)
    try store.register([Self.growingKind("data.suffix + string(data.count)")])
    for id: WidgetID in ["a", "b"] { try store.create(id, kind: "list") }
    store.commitGroup(at: .at(0))
    let used = store.highestUsage.contentBytes
    store.limits.contentBytesPerUIDMax = used + 5
    #expect(
      store.refusal(of: growing.command)
        == .quotaExceeded(limit: "content_bytes_per_uid_max", maximum: used + 5))
    #expect(store.checkInvariants() == [])
    // It is the owner's limit, not the caller's.
    let makes = ["create", "set"].contains(growing.name)
    store.limits.contentBytesPerUIDMax = used
    let other = WidgetSpec(id: "o", kind: "list")
    try store.run(.create(other), uid: 9)
    #expect(store.refusal(of: growing.command, uid: makes ? 1_000 : 9) != nil)
    store.limits.contentBytesPerUIDMax = used + 1_000
    try store.run(growing.command)
    #expect(store.highestUsage.contentBytes > used)
    #expect(store.checkInvariants() == [])
  }

  @Test func `what makes contents shrink is not refused, and room comes back`() throws {
    var store = try store()
    try store.set("a", ["items": .list((0..<5).map { Self.item("\($0)", "n") })])
    store.limits.contentBytesPerUIDMax = 100
    try store.set("a", ["items": .list((0..<4).map { Self.item("\($0)", "n") })])
    #expect(store.refusal(of: .create(WidgetSpec(id: "b", kind: "list"))) != nil)
    try store.run(.delete("a"))
    #expect(store.highestUsage.contentBytes == 0)
    store.limits.contentBytesPerUIDMax = 1_000
    try store.create("b", kind: "list")
    #expect(store.checkInvariants() == [])
  }

  @Test(arguments: [true, false])
  func `limits may be as high as they can`(isRevocable: Bool) throws {
    var limits = StoreLimits()
    (limits.contentNodesMax, limits.contentBytesMax) = (.max, .max)
    (limits.contentBytesPerUIDMax, limits.contentCostMax) = (.max, .max)
    limits.contentCostPerCommandMax = .max
    var store = Store(limits: limits, isRevocable: isRevocable)
    try store.register([Self.kind([ContentTemplate(root: Self.root)])])
    try store.create("a", kind: "list")
    try store.set("a", ["items": .list([.map(["id": .int(1), "name": .int(2)])])])
    #expect(store.widget("a")?.content?["name/1"]?.problem != "")
    #expect(store.checkInvariants() == [])
  }

  @Test func `a row in front of as many as there may be takes the last one's place`() throws {
    var store = try store(limits: .with { $0.contentNodesMax = 5 + 3 * 5 })
    let items = (0..<5).map { Self.item("\($0)", "\($0)") }
    try store.set("a", ["items": .list(items)])
    #expect(store.widget("a")?.content?["list"]?.childIDs.count == 5)
    try store.set("a", ["items": .list([Self.item("new", "N")] + items)])
    #expect(
      store.widget("a")?.content?["list"]?.childIDs
        == ["row/new", "row/0", "row/1", "row/2", "row/3"])
    #expect(store.checkInvariants() == [])
  }

  @Test func `constants of rows count, and those of a template may not be more than fits`() throws {
    let large = NodeTemplate(
      id: "row", type: .label,
      properties: ["text": Binding(value: .string(String(repeating: "x", count: 1_000)))],
      rows: RowTemplate(list: "data.items"))
    var store = Store(limits: .with { $0.contentBytesMax = 4_500 })
    let stack = NodeTemplate(id: "r", type: .stack, children: [large])
    try store.register([Self.kind([ContentTemplate(root: stack)])])
    try store.create("a", kind: "list")
    try store.set("a", ["items": .list((0..<50).map { Self.item("\($0)", "") })])
    #expect(store.widget("a")?.content?["r"]?.childIDs.count == 4)
    #expect(store.widget("a")?.content?["r"]?.problem.contains("content_bytes_max") == true)
    #expect(store.checkInvariants() == [])
    var alone = large
    alone.rows = nil
    alone.properties["text"] = Binding(value: .string(String(repeating: "x", count: 9_000)))
    #expect(
      store.refusal(
        of: .applyKinds(
          KindDeclaration(
            provider: "desk", kinds: [Self.kind([ContentTemplate(root: alone)])]))) != nil)
  }

  @Test func `a condition that fails is told by the parent as long as it does`() throws {
    var store = Store()
    let row = NodeTemplate(
      id: "row", type: .label, condition: "item.missing == 1",
      rows: RowTemplate(list: "data.items", key: "item.id"))
    let stack = NodeTemplate(id: "r", type: .stack, children: [row])
    try store.register([Self.kind([ContentTemplate(root: stack)])])
    try store.create("a", kind: "list")
    for round in 0..<5 {
      let items = (0..<20).map { Self.item("\(round)-\($0)", "") }
      try store.set("a", ["items": .list(items)])
      #expect(
        store.widget("a")?.content?["r"]?.problem.hasPrefix("row/\(round)-0.condition: ") == true)
      #expect(store.checkInvariants() == [])
    }
    try store.set("a", ["items": .list([])])
    #expect(store.widget("a")?.content?["r"]?.problem == "")
  }

  @Test func `what has no room has its placeholder, not what it was before`() throws {
    var store = Store(limits: .with { $0.contentBytesMax = 2_000 })
    let root = NodeTemplate(
      id: "r", type: .label,
      properties: ["text": Binding("data.suffix", placeholder: .string("--"))])
    try store.register([Self.kind([ContentTemplate(root: root)])])
    try store.create("a", kind: "list", data: ["suffix": .string("old")])
    try store.set("a", ["suffix": .string(String(repeating: "s", count: 3_000))])
    #expect(text("r", store) == .string("--"))
    #expect(store.checkInvariants() == [])
  }

  @Test(arguments: 0..<12)
  func `keys of any length and look make rows of their own`(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var store = Store(limits: .with { $0.contentNodesMax = 200 })
    let cell = NodeTemplate(
      id: "cell", type: .stack, rows: RowTemplate(list: "row.cells", name: "cell", key: "cell"),
      children: [NodeTemplate(id: "leaf", type: .label, properties: ["text": Binding("cell")])])
    let row = NodeTemplate(
      id: "row", type: .stack,
      rows: RowTemplate(list: "data.items", name: "row", key: "row.id"), children: [cell])
    try store.register([
      Self.kind([ContentTemplate(root: NodeTemplate(id: "r", type: .stack, children: [row]))])
    ])
    try store.create("a", kind: "list")
    store.commitGroup(at: .at(0))
    // Among the keys are parts of ids that others were shortened to.
    var keys =
      [22, 23, 24, 25, 55, 60, 200].map { String(repeating: "a", count: $0) } + ["b", "", "a/b"]
    for _ in 0..<60 {
      let items = (0..<random.below(5)).map { _ in
        Value.map([
          "id": .string(random.pick(keys)),
          "cells": .list((0..<random.below(4)).map { _ in .string(random.pick(keys)) }),
        ])
      }
      try store.set("a", ["items": .list(items)])
      if random.chance(30) { store.rollbackGroup() } else { store.commitGroup(at: .at(0)) }
      let violations = store.checkInvariants()
      guard violations.isEmpty else {
        Issue.record("\(violations)")
        return
      }
      let parts = ids(store).flatMap { NodeID.rowKeys(of: $0) } + ids(store)
      if !parts.isEmpty { keys += random.some(parts, max: 2) }
      if keys.count > 40 { keys.removeFirst(20) }
    }
  }

  // MARK: - Templates

  private static func problem(_ root: NodeTemplate) -> String {
    guard let problem = KindSchema(kind([ContentTemplate(root: root)])).content.problem else {
      return "none"
    }
    return "\(problem.place): \(problem.message.prefix { $0 != "\n" })"
  }

  @Test(arguments: [
    (NodeTemplate(id: "", type: .label), "content[0].root.id: use 1 to 64 letters"),
    (NodeTemplate(id: "a/b", type: .label), "content[0].root.id: use 1 to 64"),
    (
      NodeTemplate(id: "a", type: .stack, children: [NodeTemplate(id: "a", type: .label)]),
      "content[0].root.children[0].id: \"a\" is there twice"
    ),
    (
      NodeTemplate(id: "a", type: .label, properties: ["txt": Binding("1")]),
      "content[0].root.properties[txt]: a label has no property \"txt\"; did you mean \"text\"?"
    ),
    (
      NodeTemplate(id: "a", type: .gauge, properties: ["value": Binding("'x'")]),
      "content[0].root.properties[value]: the expression gives a value of type string, not double"
    ),
    (
      NodeTemplate(id: "a", type: .gauge, properties: ["value": Binding(value: .string("x"))]),
      "content[0].root.properties[value]: expected a value of type double, not string"
    ),
    (
      NodeTemplate(
        id: "a", type: .stack, properties: ["axis": Binding(value: .string("horizonal"))]),
      "content[0].root.properties[axis]: \"horizonal\" is no axis; did you mean \"horizontal\"?"
    ),
    (
      NodeTemplate(
        id: "a", type: .gauge,
        properties: ["min": Binding(value: .int(9)), "max": Binding(value: .int(5))]),
      "content[0].root.properties[min]: min 9 is greater than max 5"
    ),
    (
      NodeTemplate(id: "a", type: .gauge, properties: ["max": Binding(value: .int(-5))]),
      "content[0].root.properties[max]: min 0 is greater than max -5"
    ),
    (
      NodeTemplate(
        id: "a", type: .stack,
        properties: ["accessory": Binding(value: .map(["node": .string("iconn")]))],
        children: [NodeTemplate(id: "icon", type: .label)]),
      "content[0].root.properties[accessory]: accessory.node: the stack has no child \"iconn\"; "
        + "did you mean \"icon\"?"
    ),
    (
      NodeTemplate(id: "a", type: .label, properties: ["color": Binding(value: .string("#12"))]),
      "content[0].root.properties[color]: \"#12\" is no colour; write #rrggbb, #rrggbbaa or a token"
    ),
    (
      NodeTemplate(
        id: "a", type: .label, properties: ["padding": Binding(value: .map(["topp": .int(1)]))]),
      "content[0].root.properties[padding]: padding has no \"topp\"; did you mean \"top\"?"
    ),
    (
      NodeTemplate(id: "a", type: .label, properties: ["text": Binding("data.cuont")]),
      "content[0].root.properties[text]: 1:6"
    ),
    (
      NodeTemplate(id: "a", type: .label, properties: ["text": Binding("string(now)")]),
      "content[0].root.properties[text]: 1:8"
    ),
    (
      NodeTemplate(id: "a", type: .label, children: [NodeTemplate(id: "b", type: .label)]),
      "content[0].root.children: a label has no children"
    ),
    (NodeTemplate(id: "a", type: .label, condition: "true"), "content[0].root.condition: "),
    (
      NodeTemplate(id: "a", type: .button, events: ["press", "pres"]),
      "content[0].root.events[1]: a button takes no event \"pres\"; did you mean \"press\"?"
    ),
    (
      NodeTemplate(id: "a", type: .button, events: ["press", "press"]),
      "content[0].root.events[1]: \"press\" is there twice"
    ),
    (
      NodeTemplate(id: "a", type: .input, events: ["x"]),
      "content[0].root.events[0]: a input takes no event \"x\"; use change, submit, or add a reducer"
    ),
    (
      NodeTemplate(id: "a", type: .gauge, events: ["x"]),
      "content[0].root.events[0]: a gauge takes no event \"x\"; use click, scroll, or add a reducer for it"
    ),
    (
      NodeTemplate(id: "a", type: .label, rows: RowTemplate(list: "[1]")),
      "content[0].root.rows: the top node cannot"
    ),
    (
      NodeTemplate(
        id: "a", type: .stack,
        children: [NodeTemplate(id: "b", type: .label, rows: RowTemplate(list: "1"))]),
      "content[0].root.children[0].rows.list: expected a list, not a value of type int"
    ),
    (
      NodeTemplate(
        id: "a", type: .stack,
        children: [
          NodeTemplate(id: "b", type: .label, rows: RowTemplate(list: "[1]", name: "data"))
        ]),
      "content[0].root.children[0].rows.name: \"data\" is a variable already"
    ),
    (
      NodeTemplate(
        id: "a", type: .stack, children: [NodeTemplate(id: "b", type: .label, condition: "1")]),
      "content[0].root.children[0].condition: "
    ),
  ])
  func `a template that cannot be shown is refused with its place`(
    root: NodeTemplate, problem: String
  ) {
    let found = Self.problem(root)
    #expect(found.hasPrefix(problem), "\(found)")
  }

  @Test(arguments: [
    ("Europe/Atlantis", false), ("Europe/Berlin", true), ("+02:00", true), ("+25:00", false),
  ])
  func `a kind with a time zone that does not exist is refused`(zone: String, isTaken: Bool) {
    let clock = NodeTemplate(
      id: "clock", type: .date, properties: ["zone": Binding(value: .string(zone))])
    let kind = Self.kind([ContentTemplate(root: clock)])
    let known: Set<String> = ["Etc/UTC", "Europe/Berlin"]
    var store = WidgetStore(
      image: StoreImage(epoch: 7), isRevocable: true,
      timeZones: { known.contains($0) ? .utc : nil })
    var refusal: StoreError?
    do throws(StoreError) {
      _ = try store.apply(
        .applyKinds(KindDeclaration(provider: "test", kinds: [kind])),
        by: Caller(uid: 1_000, pid: 1, client: "test"), at: .at(0))
    } catch {
      refusal = error
    }
    #expect((store.kind(kind.name) != nil) == isTaken)
    #expect(
      refusal
        == (isTaken
          ? nil
          : .invalid(
            field: "kinds[0].content[0].root.properties[zone]",
            description: "there is no time zone \"\(zone)\"; write it like Europe/Berlin or +02:00"))
    )
  }

  @Test func `a node takes the events of its type, those listed, or those of its reducers`() throws
  {
    let listed = { (type: NodeType, events: [String]?) in
      NodeTemplate(id: "\(type)-\(events?.count ?? 9)", type: type, events: events)
    }
    var kind = Kind(
      name: "k",
      reducers: [
        Reducer(event: "press", nodeID: "label-9"), Reducer(event: "wink", nodeID: "label-9"),
        Reducer(event: "change"), Reducer(event: "press", nodeID: "input-0"),
      ],
      content: [
        ContentTemplate(
          root: NodeTemplate(
            id: "top", type: .stack,
            children: [
              listed(.button, nil), listed(.button, []), listed(.label, nil), listed(.input, nil),
              listed(.input, []), listed(.form, nil), listed(.link, nil), listed(.toggle, []),
              listed(.table, nil), listed(.table, ["more", "press"]), listed(.image, ["wink"]),
            ]))
      ])
    var store = Store()
    try store.register([kind])
    try store.create("a", kind: "k")
    let events = { (store: borrowing Store) in
      Dictionary(
        uniqueKeysWithValues: (store.widget("a")?.content?.nodes ?? []).map { ($0.id, $0.events) })
    }
    #expect(
      events(store) == [
        "top": [], "button-9": ["press"], "button-0": [], "label-9": ["press", "wink"],
        "input-9": ["change", "submit"], "input-0": ["change", "press"], "form-9": ["submit"],
        "link-9": ["open"], "toggle-0": ["change"], "table-9": [], "table-2": ["press", "more"],
        "image-1": ["wink"],
      ])

    // Readers learn of it if only the reducers change.
    let before = store.revision
    kind.reducers = [Reducer(event: "wink", nodeID: "top")]
    try store.register([kind])
    guard case .updated(let update)? = try store.changes(since: before).changes.first else {
      Issue.record("nothing is told")
      return
    }
    #expect(update.content?.setNodes.first?.events == ["wink"])
    #expect(events(store)["label-9"] == [])
    #expect(store.checkInvariants().isEmpty)
  }

  @Test func `templates may not be nested without end`() {
    var node = NodeTemplate(id: "n0", type: .stack)
    for depth in 1...NodeTemplate.depthMax {
      node = NodeTemplate(id: "n\(depth)", type: .stack, children: [node])
    }
    #expect(Self.problem(node).contains("nested 16 deep"))
  }

  @Test func `a reducer on a node that is not there is refused`() {
    var kind = Self.kind([ContentTemplate(root: Self.root)])
    kind.reducers = [Reducer(event: "press", nodeID: "drp")]
    #expect(KindSchema(kind).reducers.problem?.place == "reducers[0].node_id")
    #expect(KindSchema(kind).reducers.problem?.message.contains("did you mean \"drop\"?") == true)
  }

  // MARK: - Any order of changes

  private static let bounds: [StoreLimits] = [
    .with { $0.contentNodesMax = 60 },
    .with { ($0.contentNodesMax, $0.contentBytesMax) = (26, 1 << 20) },
    .with { $0.contentBytesMax = 900 },
    .with { ($0.contentNodesMax, $0.contentBytesMax) = (20, 1_100) },
  ]

  /// Changes the widget, or its kind, in some way.
  private func changeAnything(_ store: inout Store, _ random: inout SplitMix64) throws {
    let items = (0..<random.below(8)).map { _ in
      var item: ValueMap = [
        "id": .string("\(random.below(10))"), "name": .string("\(random.below(3))"),
      ]
      if random.chance(20) { item["hidden"] = .bool(true) }
      if random.chance(40) {
        item["tags"] = .list((0..<random.below(3)).map { _ in .string("\(random.below(4))") })
      }
      // A list in which something has another shape than the template expects.
      if random.chance(5) { item["name"] = .int(1) }
      return Value.map(item)
    }
    switch random.below(8) {
    case 0: try store.set("a", ["count": .int(Int64(random.below(5)))])
    case 1:
      let suffix = String(repeating: "s", count: random.pick([0, 1, 2, 40]))
      try store.set("a", ["suffix": .string(suffix)])
    case 2: try store.run(.setPresence(.ids(["a"]), random.pick([.enable, .disable])))
    case 3:
      try store.update("a", .with { $0.setParameters = ["name": .string("\(random.below(3))")] })
    case 4 where random.chance(20):
      var kind = Self.kind([ContentTemplate(root: Self.root)])
      if random.chance(30) { kind.content = [] }
      kind.summary = "\(random.below(3))"
      try store.register([kind])
    default: try store.set("a", ["items": .list(items)])
    }
  }

  private static func image(of store: Store, _ group: CommitGroup? = nil) -> StoreImage {
    var image = StoreImage(epoch: 7, revision: store.revision)
    image.records = group?.upserts ?? store.records.map { RecordImage($0) }
    image.kinds = store.kinds().kinds
    return image
  }

  @Test(arguments: 0..<8, bounds)
  func `what is shown follows from the state, whatever it was before`(
    seed: UInt64, limits: StoreLimits
  ) throws {
    var random = SplitMix64(seed: seed)
    var store = try store(limits: limits)
    for _ in 0..<60 {
      try changeAnything(&store, &random)
      if random.chance(30) { store.rollbackGroup() } else { store.commitGroup(at: .at(0)) }
      let restored = Store(image: Self.image(of: store), limits: limits)
      #expect(restored.widget("a")?.content == store.widget("a")?.content)
    }
  }

  @Test func `who resumes is told of content that a step could pay for, and all at once cannot`()
    throws
  {
    let limits = StoreLimits.with { $0.contentCostMax = 400 }
    var store = try store(limits: limits)
    for count in 1...20 {
      try store.set("a", ["items": .list((0..<count).map { Self.item("\($0)", "\($0)") })])
    }
    #expect(store.widget("a")?.content?.nodes.allSatisfy { $0.problem.isEmpty } == true)
    let restored = Store(image: Self.image(of: store), limits: limits)
    let widget = try #require(restored.widget("a"))
    #expect(widget.content?.nodes.contains { $0.problem.contains("content_cost_max") } == true)
    #expect(try restored.changes(since: store.revision).changes == [.added(widget, nil)])
  }

  @Test func `who resumes is told once of content that has more room after a restart`() throws {
    var store = try store(limits: .with { $0.contentNodesMax = 20 })
    try store.set("a", ["items": .list((0..<10).map { Self.item("\($0)", "\($0)") })])
    let group = store.pendingGroup()
    #expect(group.upserts.map(\.contentIsCut) == [true])
    var restored = Store(image: Self.image(of: store, group))
    let widget = try #require(restored.widget("a"))
    #expect(widget.content?["list"]?.problem == "")
    #expect(try restored.changes(since: store.revision).changes == [.added(widget, nil)])
    // Nothing is to be made durable for that alone, and the first thing that is takes it along.
    #expect(restored.pendingGroup().upserts.map(\.widget.id) == ["a"])
    restored.commitGroup(at: .at(0))
    try restored.create("b")
    restored.rollbackGroup()
    restored.commitGroup(at: .at(0))
    try restored.create("c")
    let next = restored.pendingGroup()
    #expect(next.upserts.map(\.widget.id) == ["c", "a"])
    restored.commitGroup(at: .at(0))
    try restored.create("d")
    #expect(restored.pendingGroup().upserts.map(\.widget.id) == ["d"])
    let again = Store(image: Self.image(of: restored, next))
    #expect(try again.changes(since: restored.revision).changes.isEmpty)
  }

  @Test(arguments: 0..<8, bounds)
  func `readers at any distance hold what the widget shows`(
    seed: UInt64, limits: StoreLimits
  ) throws {
    var random = SplitMix64(seed: seed)
    var store = try store(limits: limits)
    var readers = (0..<4).map { _ in (cursor: Revision(0), mirror: Mirror()) }
    for _ in 0..<120 {
      try changeAnything(&store, &random)
      if random.chance(30) { store.rollbackGroup() } else { store.commitGroup(at: .at(0)) }
      let violations = store.checkInvariants()
      guard violations.isEmpty else {
        Issue.record("\(violations)")
        return
      }
      for reader in readers.indices where random.chance([80, 30, 8, 2][reader]) {
        guard readers[reader].cursor <= store.revision else { continue }
        let delta = try store.changes(since: readers[reader].cursor)
        #expect(readers[reader].mirror.apply(delta) == [])
        readers[reader].cursor = store.revision
        #expect(readers[reader].mirror.widgets["a"] == store.widget("a"))
      }
    }
  }
}
