import SeededRandom
import Testing
import WidgetModel

@testable import WidgetCore

/// The content of widgets in other families.
@Suite struct FamilyContentTests {
  private static func kind(
    inline text: String = "'in ' + string(data.n)", families: [Family] = [],
    reducers: [Reducer] = [], press: [String]? = nil
  ) -> Kind {
    Kind(
      name: "k", families: families, isOpen: true, reducers: reducers,
      content: [
        ContentTemplate(
          families: [.inline],
          root: NodeTemplate(
            id: "line", type: .stack,
            children: [
              NodeTemplate(id: "text", type: .label, properties: ["text": Binding(text)]),
              NodeTemplate(
                id: "press", type: .button, properties: ["text": Binding("widget.family")],
                events: press),
            ])),
        ContentTemplate(
          root: NodeTemplate(
            id: "box", type: .label, properties: ["text": Binding("string(data.m)")])),
      ])
  }

  private func store() throws -> Store {
    var store = Store()
    try store.register([Self.kind()])
    try store.create("a", data: ["n": .int(1), "m": .int(1)])
    return store
  }

  private func change(_ store: Store, since cursor: Revision) throws -> ContentChange? {
    guard
      case .updated(let update)? = try store.changes(since: cursor, taking: .family(.inline))
        .changes.first
    else { return nil }
    return update.content
  }

  private func inline(_ store: Store) -> Content? {
    store.widget("a", taking: .family(.inline))?.content
  }

  @Test func `a reader of another family gets that family's content`() throws {
    let store = try store()
    #expect(store.widget("a")?.content?.rootID == "box")
    let content = try #require(inline(store))
    #expect(content["text"]?.properties["text"] == .string("in 1"))
    #expect(content["press"]?.properties["text"] == .string("inline"))
    #expect(store.widget("a")?.family == .medium)
    #expect(store.widget("a", taking: .none)?.content == nil)
  }

  @Test func `changes of a watched family are sent as differences`() throws {
    var store = try store()
    store.keepContent(of: .inline)
    _ = inline(store)
    var cursor = store.revision
    try store.set("a", ["n": .int(2)])
    let first = try #require(try change(store, since: cursor))
    #expect(!first.replaces)
    #expect(first.setNodes.map(\.id) == ["text"])
    cursor = store.revision
    // This reader gets no content for the widget's family.
    try store.set("a", ["m": .int(2)])
    #expect(try change(store, since: cursor) == nil)
  }

  @Test func `changes have the whole content of a family without a watcher`() throws {
    var store = try store()
    let cursor = store.revision
    try store.set("a", ["n": .int(2)])
    let change = try #require(try change(store, since: cursor))
    #expect(change == ContentChange(replacingBy: inline(store)))
  }

  @Test func `the last watcher of a family frees its cached content`() throws {
    var store = try store()
    store.keepContent(of: .inline)
    store.keepContent(of: .inline)
    _ = inline(store)
    store.dropContent(of: .inline)
    #expect(store.records.first?.familyContents.count == 1)
    store.dropContent(of: .inline)
    #expect(store.records.first?.familyContents.isEmpty == true)
  }

  @Test func `content without watchers is evicted in parts, and stays right until then`()
    throws
  {
    var store = try store()
    let ids = try (0..<5).map { number in try #require(WidgetID("w\(number)")) }
    for id in ids { try store.create(id, data: ["n": .int(1), "m": .int(1)]) }
    store.keepContent(of: .inline)
    let all: [WidgetID] = ["a"] + ids
    for id in all { _ = store.widget(id, taking: .family(.inline)) }
    func cachedCount(_ store: Store) -> Int { store.records.count { !$0.familyContents.isEmpty } }
    #expect(cachedCount(store) == 6)
    store.endContent(of: .inline)
    var next = store.evictContents(from: 0) { true }
    #expect(next == 1 && cachedCount(store) == 5)
    // A change evicts the content of its widget, too.
    try store.set("w4", ["n": .int(2)])
    #expect(cachedCount(store) == 4)
    #expect(store.checkInvariants() == [])
    store.keepContent(of: .inline)
    let cursor = store.revision
    try store.set("w3", ["n": .int(7)])
    let change = try #require(try change(store, since: cursor))
    #expect(!change.replaces && change.setNodes.map(\.id) == ["text"])
    #expect(change.setNodes.first?.properties["text"] == .string("in 7"))
    // The rest of the eviction leaves the content of families with watchers.
    while let slot = next { next = store.evictContents(from: slot) { true } }
    #expect(cachedCount(store) == 4)
    #expect(store.checkInvariants() == [])
  }

  @Test func `readers of a family get a change of the kind that only that family shows`() throws {
    var store = try store()
    store.keepContent(of: .inline)
    _ = inline(store)
    let cursor = store.revision
    try store.register([Self.kind(inline: "'now ' + string(data.n)")])
    #expect(
      Content.applying(try #require(try change(store, since: cursor)), to: nil)?["text"]?
        .properties["text"] == .string("now 1"))
    #expect(store.checkInvariants() == [])
  }

  @Test func `of two kinds that change together, only one with another look changes widgets`()
    throws
  {
    var store = try store()
    var plain = Self.kind()
    plain.name = "plain"
    try store.register([plain])
    try store.create("b", kind: "plain", data: ["n": .int(1), "m": .int(1)])
    let before = store.revision(of: "b")
    plain.summary = "Shows two numbers."
    try store.register([Self.kind(inline: "'now ' + string(data.n)"), plain])
    #expect(store.revision(of: "a") == store.revision)
    #expect(store.revision(of: "b") == before)
    #expect(store.checkInvariants() == [])
  }

  /// Changes of a kind that concern other families, but not the widget's own.
  @Test(arguments: [true, false])
  func `readers lose the content of a family that their kind no longer supports`(
    keeps: Bool
  ) throws {
    let everything = { (families: [Family]) in
      Kind(
        name: "k", families: families,
        content: [ContentTemplate(root: NodeTemplate(id: "box", type: .label))])
    }
    var store = Store()
    try store.register([everything([.medium, .inline])])
    try store.create("a")
    if keeps { store.keepContent(of: .inline) }
    #expect(inline(store) != nil)
    var cursor = store.revision
    try store.register([everything([.medium])])
    #expect(inline(store) == nil)
    #expect(try change(store, since: cursor) == ContentChange(replacingBy: nil))
    cursor = store.revision
    try store.register([everything([])])
    #expect(
      Content.applying(try #require(try change(store, since: cursor)), to: nil) == inline(store))
    #expect(inline(store) != nil)
  }

  @Test(arguments: [true, false])
  func `readers of another family get the events of a new reducer for its node`(
    keeps: Bool
  ) throws {
    var store = Store()
    try store.register([Self.kind(press: [])])
    try store.create("a", data: ["n": .int(1), "m": .int(1)])
    if keeps { store.keepContent(of: .inline) }
    #expect(inline(store)?["press"]?.events == [])
    let cursor = store.revision
    let reducer = Reducer(event: "press", nodeID: "press", assignments: ["n": "data.n + 1"])
    try store.register([Self.kind(reducers: [reducer], press: [])])
    #expect(
      Content.applying(try #require(try change(store, since: cursor)), to: nil)?["press"]?.events
        == ["press"])
    #expect(store.checkInvariants() == [])
  }

  @Test func `readers get the events of a new reducer for a node of the widget's family`() throws {
    var store = Store()
    try store.register([Self.kind()])
    try store.create("a", data: ["n": .int(1), "m": .int(1)])
    let cursor = store.revision
    try store.register([
      Self.kind(reducers: [Reducer(event: "tap", nodeID: "box", assignments: ["n": "0"])])
    ])
    guard case .updated(let update)? = try store.changes(since: cursor).changes.first else {
      Issue.record("nobody is told")
      return
    }
    #expect(Content.applying(try #require(update.content), to: nil)?["box"]?.events == ["tap"])
  }

  @Test func `a new description of a kind changes no widget`() throws {
    var store = try store()
    store.keepContent(of: .inline)
    _ = inline(store)
    let cursor = store.revision
    var kind = Self.kind()
    kind.summary = "Other words."
    try store.register([kind])
    #expect(try store.changes(since: cursor, taking: .family(.inline)).changes.isEmpty)
  }

  @Test func `a widget whose family changes is shown as a whole again`() throws {
    var store = try store()
    store.keepContent(of: .inline)
    var held = inline(store)
    let cursor = store.revision
    try store.declare([WidgetSpec(id: "a", kind: "k", family: .inline)])
    let change = try #require(try change(store, since: cursor))
    held = Content.applying(change, to: held)
    #expect(held == store.widget("a")?.content)
    #expect(held == inline(store))
  }

  @Test func `a node that only another family shows takes events`() throws {
    var store = try store()
    try store.run(.sendEvent(EventDraft(widgetID: "a", nodeID: "press", name: "press")))
    #expect(
      store.refusal(of: .sendEvent(EventDraft(widgetID: "a", nodeID: "no", name: "press")))
        == .nodeNotFound("a", "no"))
  }

  @Test func `a widget of a kind that is not made for the family has no content there`() throws {
    var kind = Self.kind()
    kind.families = [.inline, .small]
    var store = Store()
    try store.register([kind])
    try store.run(.create(WidgetSpec(id: "a", kind: "k", family: .small, data: ["n": .int(1)])))
    #expect(store.widget("a", taking: .family(.circular))?.content == nil)
    #expect(throws: StoreError.self) {
      try store.check(.circular, isOfferedBy: "a")
    }
    try store.check(.inline, isOfferedBy: "a")
  }

  @Test func `a reader of another family has the right content after random changes`() throws {
    var random = SeededGenerator(seed: 4)
    // With enough room for the cache, with too little room, and without a watcher.
    for room in [1 << 20, 150, nil] {
      var store = try store()
      if let room {
        store.limits.familyContentBytesMax = room
        store.keepContent(of: .inline)
      }
      var held = inline(store)
      var cursor = store.revision
      for step in 0..<400 {
        switch Int(random.next() % 8) {
        case 0:
          try store.register([
            Self.kind(
              inline: "'v\(step % 3) ' + string(data.n)",
              families: [[], [.inline, .medium, .small], [.inline, .small]][
                Int(random.next() % 3)],
              reducers: random.next() % 2 == 0
                ? [] : [Reducer(event: "tap", nodeID: "press", assignments: ["n": "0"])])
          ])
        case 3:
          try store.register([
            Kind(
              name: "k", families: random.next() % 2 == 0 ? [] : [.medium, .small], isOpen: true,
              reducers: random.next() % 2 == 0
                ? [] : [Reducer(event: "tap", nodeID: "box", assignments: ["n": "0"])],
              content: [
                ContentTemplate(
                  root: NodeTemplate(
                    id: "box", type: .label, properties: ["text": Binding("string(data.m)")]))
              ])
          ])
        case 1:
          let family: Family = random.next() % 2 == 0 ? .inline : .small
          // The kind may not support the family.
          _ = try? store.declare([WidgetSpec(id: "a", kind: "k", family: family)])
        case 2: try store.set("a", ["m": .int(Int64(step))])
        default: try store.set("a", ["n": .int(Int64(step / 2))])
        }
        if random.next() % 2 == 0 { continue }
        for change in try store.changes(since: cursor, taking: .family(.inline)).changes {
          switch change {
          case .added(let widget, _): held = widget.content
          case .updated(let update):
            if let change = update.content { held = Content.applying(change, to: held) }
          case .removed: held = nil
          }
        }
        cursor = store.revision
        #expect(held == inline(store), "step \(step)")
        #expect(store.checkInvariants() == [], "step \(step)")
      }
      #expect(store.checkInvariants() == [])
    }
  }
}
