import Testing
import WidgetExpression
import WidgetModel

@testable import WidgetCore

/// The content of widgets: templates become nodes, stay up to date, and are sent node by node.
struct ContentTests: ContentSamples {
  @Test func `a template is evaluated for a new widget`() throws {
    let store = try store()
    #expect(ids(store) == ["root", "title", "list"])
    #expect(text("title", store) == .string("n: 0"))
    #expect(store.widget("a")?.content?["title"]?.properties["lines"] == .int(1))
    #expect(store.widget("a")?.content?["root"]?.childIDs == ["title", "list"])
    #expect(store.checkInvariants() == [])
  }

  @Test func `an update has only the changed nodes`() throws {
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

  @Test func `rolled back data is not shown`() throws {
    var store = try store()
    try store.set("a", ["items": .list([Self.item("x", "X")])])
    store.rollbackGroup()
    #expect(ids(store) == ["root", "title", "list"])
    #expect(store.checkInvariants() == [])
  }

  @Test func `a false condition removes a node with all nodes below it`() throws {
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

  @Test func `status is data and also a variable, even beside rows`() throws {
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
    // In reverse order, only the order changes, and nodes that read a row's place.
    try store.set(
      "a", ["items": .list([Self.item("y", "Y"), Self.item("x", "X", tags: ["t"])])])
    var change = try update(store, since: cursor)
    #expect(Set(change?.setNodes.map(\.id) ?? []) == ["list", "drop/x", "drop/y"])
    #expect(store.widget("a")?.content?["list"]?.childIDs == ["row/y", "row/x"])
    // One row changes, one is removed, one is added.
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

  @Test func `rows with the same key are all shown`() throws {
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
  func `an event names the row by its key, for each of several rows with this key`(
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

  @Test func `an expression that fails shows its placeholder and the reason`() throws {
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
    // A property of type text shows a number as text.
    #expect(store.widget("a")?.content?["r"]?.properties["tooltip"] == .string("4"))
    #expect(store.widget("a")?.content?["r"]?.problem.hasPrefix("lines: ") == true)
    try store.set("a", ["any": .null])
    #expect(store.widget("a")?.content?["r"]?.problem.hasPrefix("tooltip: ") == true)
    #expect(store.checkInvariants() == [])
  }

  @Test func `all problems of a node are listed, with a limit`() throws {
    var store = Store()
    let hidden = (0..<12).map {
      NodeTemplate(id: "c\($0)", type: .label, condition: "data.any.deep == 1")
    }
    let root = NodeTemplate(
      id: "r", type: .stack,
      children: [
        NodeTemplate(
          id: "two", type: .label,
          properties: ["lines": Binding("data.any"), "tooltip": Binding("data.any.deep")])
      ] + hidden)
    try store.register([Self.kind([ContentTemplate(root: root)])])
    try store.create("a", kind: "list", data: ["any": .string("text")])
    let two = try #require(store.widget("a")?.content?["two"]).problem.split(separator: "\n")
    #expect(two.count == 2)
    #expect(two.first?.hasPrefix("lines: ") == true)
    #expect(two.last?.hasPrefix("tooltip: ") == true)
    let all = try #require(store.widget("a")?.content?["r"]).problem.split(separator: "\n")
    #expect(all.count == 9)
    #expect(all.first?.hasPrefix("c0.condition: ") == true)
    #expect(all.last == "and 4 more")
    try store.update("a", .set(["any": .map(["deep": .int(4)])]))
    #expect(
      store.widget("a")?.content?["two"]?.problem.split(separator: "\n").map { $0.prefix(6) }
        == ["lines:"])
    #expect(store.checkInvariants() == [])
  }

  @Test func `the family's template is shown, or the template for all other families`() throws {
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

  @Test func `the content of widgets changes with their kind, and only then`() throws {
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
    try store.set("a", ["any": .int(1)])
    cursor = store.revision
    try store.run(.deleteKind("list"))
    // The other nodes are the data of a widget without a registered kind.
    #expect(ids(store).contains("value/any"))
    guard case .added(let whole, _)? = try store.changes(since: cursor).changes.first else {
      Issue.record("not a whole widget")
      return
    }
    #expect(whole == store.widget("a"))
    store.rollbackGroup()
    #expect(ids(store) == ["root", "title", "list"])
    #expect(store.checkInvariants() == [])
  }

  @Test func `a change in the revision of a new template is reported`() throws {
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
    // Another template with the same content, and then another content, all in one commit.
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

  @Test func `a reader older than the remembered changes gets all nodes`() throws {
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
      node.problem.hasPrefix(
        "axis: \"upward\" is not a valid axis; use vertical, horizontal or layered")
    )
  }

  @Test func `values of expressions that contradict each other are the node's problem`() throws {
    let root = NodeTemplate(
      id: "root", type: .stack,
      children: [
        NodeTemplate(
          id: "gauge", type: .gauge,
          properties: [
            "min": Binding("data.least"), "max": Binding("data.most"),
            "minWidth": Binding(value: .double(20)), "maxWidth": Binding("data.width"),
          ]),
        NodeTemplate(id: "input", type: .input, properties: ["throttle": Binding("data.pause")]),
        NodeTemplate(id: "date", type: .date, properties: ["format": Binding("data.format")]),
      ])
    var store = Store()
    try store.register([Kind(name: "k", isOpen: true, content: [ContentTemplate(root: root)])])
    try store.create(
      "w", kind: "k",
      data: [
        "least": .double(9), "most": .double(5), "width": .double(10),
        "pause": .duration(.seconds(-1)), "format": .string("%Q"),
      ])
    func problem(_ id: String) throws -> String {
      try #require(store.widget("w")?.content?[id]).problem
    }
    #expect(
      try problem("gauge").split(separator: "\n").map { $0.prefix { $0 != ";" } } == [
        "min and max: min 9 is greater than max 5",
        "minWidth and maxWidth: minWidth 20 is greater than maxWidth 10",
      ])
    #expect(try problem("input").hasPrefix("throttle: a negative duration is not a valid throttle"))
    #expect(try problem("date").contains("'%Q' is unknown"))
    #expect(store.widget("w")?.content?["date"]?.properties["format"] == nil)
    // The other end of each range changes.
    try store.set(
      "w", ["least": .double(1), "width": .double(30), "pause": .duration(.seconds(1))])
    try store.set("w", ["format": .string("%H:%M")])
    for id in ["gauge", "input", "date"] { #expect(try problem(id) == "", "\(id)") }
    #expect(store.widget("w")?.content?["gauge"]?.properties["max"] == .double(5))
    #expect(store.checkInvariants() == [])
  }

  @Test(arguments: ["Mars/Base", "../../etc/passwd", "Europe/Atlantis\n"])
  func `a computed time zone that does not exist is the node's problem`(zone: String) throws {
    let root = NodeTemplate(
      id: "date", type: .date,
      properties: [
        "zone": Binding("data.zone"),
        "date": Binding("timestamp('2026-07-01T12:00:00Z')"),
      ])
    var store = Store(
      image: StoreImage(epoch: 7),
      timeZones: { ["Etc/UTC", "Europe/Berlin"].contains($0) ? .utc : nil })
    try store.register([Kind(name: "k", isOpen: true, content: [ContentTemplate(root: root)])])
    try store.create("w", kind: "k", data: ["zone": .string("Europe/Berlin")])
    #expect(store.widget("w")?.content?["date"]?.properties["zone"] == .string("Europe/Berlin"))
    #expect(store.widget("w")?.content?["date"]?.problem == "")
    try store.set("w", ["zone": .string(zone)])
    let node = try #require(store.widget("w")?.content?["date"])
    #expect(node.properties["zone"] == nil)
    #expect(
      node.problem
        == "zone: there is no time zone \"\(zone.replacing("\n", with: "\\n"))\"; "
        + "write it like Europe/Berlin or +02:00")
    for known in ["+02:00", ""] {
      try store.set("w", ["zone": .string(known)])
      #expect(store.widget("w")?.content?["date"]?.problem == "", "\(known)")
    }
    #expect(store.checkInvariants() == [])
  }

  @Test func `a restored widget has the same content, and earlier readers get all of it`() throws {
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

  @Test func `volatile data is not stored, and has its defaults after a restart`() throws {
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
    // A reader with the old data gets the widget as a whole. No other reader gets a change.
    #expect(restored.revision == store.revision + 1)
    let changes = try restored.changes(since: store.revision).changes
    #expect(changes == [.added(widget, nil)])
  }

  @Test func `data is not stored while its kind is volatile, and is stored again afterwards`()
    throws
  {
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
    // Otherwise the next restart would lose the data.
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

  @Test func `data stored before its kind was volatile is removed with the next group`() throws {
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
    // A group of removals needs no room for such widgets. The group after it stores them.
    restored.commitGroup(at: .at(0), onlyRemoved: true)
    try restored.delete("b")
    #expect(restored.pendingGroup(onlyRemoves: true).onlyRemoves)
    #expect(restored.pendingGroup(onlyRemoves: true).upserts.isEmpty)
    #expect(restored.pendingGroup(onlyRemoves: true).deletions == ["b"])
    restored.commitGroup(at: .at(0), onlyRemoved: true)
    try restored.create("c")
    #expect(restored.pendingGroup().upserts.map(\.widget.id) == ["c", "a"])
    restored.commitGroup(at: .at(0))
    try restored.create("d")
    #expect(restored.pendingGroup().upserts.map(\.widget.id) == ["d"])
  }

  @Test func `a kind that becomes volatile shows no lost data`() throws {
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
}
