import Testing
import WidgetModel

@testable import WidgetCore

/// The cost of contents of other families for readers that do not take them.
@Suite struct FamilyContentLimitTests {
  /// A kind with one label in the widget's family, and with a row for each element of `data.rows`
  /// in other families.
  private static func kind(_ families: [Family] = [.large]) -> Kind {
    let rows = { (family: Family) in
      ContentTemplate(
        families: [family],
        root: NodeTemplate(
          id: "list", type: .stack,
          children: [
            NodeTemplate(
              id: "row", type: .button,
              properties: ["text": Binding("item + ' \(family.name)'")],
              rows: RowTemplate(list: "data.rows", key: "item")),
            NodeTemplate(id: "add", type: .button),
          ]))
    }
    return Kind(
      name: "k", isOpen: true,
      content: families.map(rows) + [
        ContentTemplate(root: NodeTemplate(id: "box", type: .label))
      ])
  }

  private static func rows(_ count: Int, _ letter: String = "x") -> Value {
    .list((0..<count).map { .string("\($0)" + String(repeating: letter, count: 100)) })
  }

  private func store(
    widgets count: Int, rows: Int, families: [Family] = [.large],
    limits: StoreLimits = StoreLimits()
  ) throws -> Store {
    var store = Store(limits: limits)
    try store.register([Self.kind(families)])
    for number in 0..<count {
      let id = try #require(WidgetID("w\(number)"))
      try store.create(id, data: ["rows": Self.rows(rows)])
    }
    return store
  }

  // MARK: - Pages

  @Test(arguments: [true, false])
  func `a page ends when contents of another family fill it`(keeps: Bool) throws {
    var store = try store(widgets: 20, rows: 100)
    if keeps { store.keepContent(of: .large) }
    let own = store.list(after: nil, limit: 100, bytesMax: 400_000)
    #expect(own.widgets.count == 20 && !own.hasMore)
    var seen: [String] = []
    var position: Int64?
    var hasMore = true
    while hasMore {
      let page = store.list(
        after: position, limit: 100, bytesMax: 60_000, taking: .family(.large))
      hasMore = page.hasMore
      #expect((1...3).contains(page.widgets.count))
      seen += page.widgets.map(\.id.rawValue)
      position = page.widgets.last?.position
    }
    #expect(seen == store.ids)
  }

  @Test(arguments: [true, false])
  func `a part of a snapshot ends when contents of another family fill it`(keeps: Bool) throws {
    var store = try store(widgets: 20, rows: 100)
    if keeps { store.keepContent(of: .large) }
    let part = store.widgets(inChunk: 0, from: 0, bytesMax: 60_000, taking: .family(.large))
    #expect((1...3).contains(part.widgets.count))
    #expect(part.next == part.widgets.count)
  }

  @Test func `a page ends where making its contents costs too much`() throws {
    let store = try store(
      widgets: 20, rows: 100, limits: .with { $0.contentCostMax = 9_000 })
    let page = store.list(after: nil, limit: 100, taking: .family(.large))
    #expect((1...5).contains(page.widgets.count))
    #expect(page.hasMore)
  }

  @Test(arguments: [true, false])
  func `changes are many if the contents that the reader takes are large`(keeps: Bool) throws {
    var store = try store(widgets: 4, rows: 100)
    if keeps { store.keepContent(of: .large) }
    #expect(!store.hasChanges(since: 1, bytesMax: 100_000, taking: .own))
    #expect(store.hasChanges(since: 1, bytesMax: 100_000, taking: .family(.large)))
    #expect(!store.hasChanges(since: 1, bytesMax: 200_000, taking: .family(.large)))
    // The daemon makes no content that the reader has not selected.
    #expect(
      !store.hasChanges(
        since: 1, bytesMax: 100_000, selecting: Selector(ids: ["w0"]), taking: .family(.large)))
  }

  // MARK: - Keeping

  private func read(_ store: Store) -> [Content?] {
    store.list(after: nil, limit: 100, taking: .family(.large)).widgets.map(\.content)
  }

  @Test func `contents of other families are cached up to the limit`() throws {
    var store = try store(
      widgets: 5, rows: 100, limits: .with { $0.familyContentBytesMax = 60_000 })
    store.keepContent(of: .large)
    let shown = read(store)
    #expect(store.records.count { !$0.familyContents.isEmpty } == 2)
    #expect((40_000...60_000).contains(store.familyBytes))
    // A content that grows is evicted, and another one then has room.
    let cursor = store.revision
    try store.set("w0", ["rows": Self.rows(100, "yyyy")])
    #expect(store.records[0].familyContents.isEmpty)
    #expect(store.checkInvariants() == [])
    guard
      case .updated(let update)? = try store.changes(since: cursor, taking: .family(.large))
        .changes.first
    else {
      Issue.record("nobody is told")
      return
    }
    #expect(Content.applying(try #require(update.content), to: shown[0]) == read(store)[0])
    #expect(store.checkInvariants() == [])
    store.rollbackGroup()
    #expect(store.checkInvariants() == [])
    store.dropContent(of: .large)
    #expect(store.familyBytes == 0)
  }

  @Test func `a removed widget frees its cached content, and a rollback restores it`() throws {
    var store = try store(widgets: 2, rows: 100)
    store.commitGroup(at: .at(0))
    store.keepContent(of: .large)
    _ = read(store)
    let bytes = store.familyBytes
    try store.delete("w0")
    #expect(store.familyBytes == bytes / 2)
    store.rollbackGroup()
    #expect(store.familyBytes == bytes)
    #expect(store.checkInvariants() == [])
  }

  @Test func `contents for readers never make a command fail, only the cache smaller`() throws {
    var store = try store(widgets: 6, rows: 100)
    store.keepContent(of: .large)
    _ = read(store)
    // The content for the widgets' families costs little.
    store.limits.contentCostMax = 5_000
    store.limits.contentCostPerCommandMax = 5_000
    let cursor = store.revision
    var kind = Self.kind()
    kind.content[0].root.children[1].properties["text"] = Binding("'add'")
    try store.register([kind])
    #expect((1...4).contains(store.records.count { !$0.familyContents.isEmpty }))
    #expect(store.checkInvariants() == [])
    #expect(
      try store.changes(since: cursor, taking: .family(.large)).changes.count == 6)
  }

  // MARK: - Events

  private func event(_ node: String) -> Command {
    .sendEvent(EventDraft(widgetID: "w0", nodeID: node, name: "press"))
  }

  @Test(arguments: ["nope", "nope/0", "row", "add/0", "list/1"])
  func `an event on a node that no template has costs nothing`(node: String) throws {
    var store = try store(
      widgets: 1, rows: 500, families: [.small, .large, .inline],
      limits: .with { $0.eventCostMax = 1 })
    #expect(store.refusal(of: event(node)) == .nodeNotFound("w0", node))
  }

  @Test func `an event on an uncached node of another family counts the cost to find it`() throws {
    var store = try store(
      widgets: 1, rows: 500, families: [.small, .large, .inline],
      limits: .with { $0.eventCostMax = 1_000 })
    let absent = event("row/7")
    #expect(
      store.refusal(of: absent) == .quotaExceeded(limit: "event_cost_max", maximum: 1_000))
    // The content for a watcher is already cached.
    store.keepContent(of: .large)
    _ = store.widget("w0", taking: .family(.large))
    try store.run(event("add"))
    store.limits.eventCostMax = 1_000_000
    store.dropContent(of: .large)
    try store.run(event("add"))
    #expect(store.refusal(of: absent) == .nodeNotFound("w0", "row/7"))
  }
}
