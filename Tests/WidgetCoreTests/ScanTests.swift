import Testing
import WidgetModel

@testable import WidgetCore

/// Each part of a scan over many widgets has a bounded cost, and all parts together find
/// everything.
struct ScanTests {
  private static let count = 40
  private static func id(_ number: Int) throws -> WidgetID {
    try #require(WidgetID("w\(number)"))
  }

  private static func wanted() throws -> [WidgetID] {
    try (0..<count).filter { $0 % 7 == 0 }.map(id)
  }

  private func makeStore(scanCostMax: Int) throws -> Store {
    var store = Store(limits: .with { $0.scanCostMax = scanCostMax })
    for number in 0..<ScanTests.count {
      try store.create(ScanTests.id(number), data: ["n": .int(Int64(number))])
    }
    store.commitGroup(at: .at(0))
    return store
  }

  @Test(arguments: [-5, 0, 1, 3, 10, 100, 100_000])
  func `pages of a list end early, and together have every selected widget`(costMax: Int) throws {
    let store = try makeStore(scanCostMax: costMax)
    let everySeventh = Selector(expression: "int(data.n) % 7 == 0")
    var found: [WidgetID] = []
    var position: Int64?
    var pages = 0
    repeat {
      let page = store.list(after: position, limit: 100, selecting: everySeventh)
      found += page.widgets.map(\.id)
      position = page.next
      pages += 1
      try #require(pages <= ScanTests.count + 1)
    } while position != nil
    #expect(try found == ScanTests.wanted())
    #expect(costMax < 100_000 ? pages > 1 : pages == 1)
  }

  @Test func `a page can be empty before the first selected widget`() throws {
    let store = try makeStore(scanCostMax: 5)
    let page = store.list(after: nil, limit: 1, selecting: Selector(expression: "data.n == 39"))
    #expect(page.widgets.isEmpty && page.hasMore)
  }

  @Test func `each label condition adds to the cost of a widget's test`() throws {
    let store = try makeStore(scanCostMax: ScanTests.count + 5)
    let few = Selector(labels: [LabelRequirement(key: "a", operator: .notExists)])
    let many = Selector(
      labels: (0..<100).map { LabelRequirement(key: "a\($0)", operator: .notExists) })
    #expect(store.list(after: nil, limit: 100, selecting: few).next == nil)
    #expect(store.list(after: nil, limit: 100, selecting: many).next != nil)
  }

  @Test func `the number of ids adds nothing to the cost of a widget's test`() throws {
    let store = try makeStore(scanCostMax: ScanTests.count + 5)
    let page = store.list(
      after: nil, limit: 100, selecting: Selector(ids: try (0..<1_000).map(ScanTests.id)))
    #expect(page.widgets.count == ScanTests.count && page.next == nil)
  }

  @Test(arguments: [1, 4, 1_000])
  func `pieces of a snapshot and of changes end early, and together have everything`(
    costMax: Int
  ) throws {
    var store = try makeStore(scanCostMax: costMax)
    let everySeventh = Selector(expression: "int(data.n) % 7 == 0")
    let start = store.revision
    for number in 0..<ScanTests.count {
      try store.set(ScanTests.id(number), ["other": .int(1)])
    }
    store.commitGroup(at: .at(1))
    var (shown, changed): ([WidgetID], [WidgetID]) = ([], [])
    var (slot, pieces): (Int?, Int) = (0, 0)
    while let first = slot {
      let piece = store.piece(from: first, selecting: everySeventh)
      shown += piece.widgets.map(\.id)
      slot = piece.next
      pieces += 1
    }
    slot = 0
    while let first = slot {
      let piece = store.changedPiece(from: first, since: start, selecting: everySeventh)
      changed += piece.changes.compactMap {
        switch $0 {
        case .added(let widget, _): widget.id
        case .updated(let update): update.id
        case .removed: nil
        }
      }
      slot = piece.next
    }
    let wanted = try ScanTests.wanted()
    #expect(Set(shown) == Set(wanted) && shown.count == wanted.count)
    #expect(Set(changed) == Set(wanted) && changed.count == wanted.count)
    #expect(costMax < 1_000 ? pieces > 1 : pieces == 1)
  }

  @Test func `a page of events ends early, and the next page continues after it`() throws {
    var store = try makeStore(scanCostMax: 1_000)
    for _ in 0..<30 { try store.run(.sendEvent(EventDraft(widgetID: "w3", name: "ping"))) }
    store.commitGroup(at: .at(1))
    let selector = Selector(expression: "data.n == 3")
    var (sequences, cursor, pages): ([UInt64], UInt64, Int) = ([], 0, 0)
    while cursor < 30 {
      let page = store.events(after: cursor, selecting: selector, costMax: 8)
      sequences += page.events.map(\.sequence)
      try #require(page.cursor > cursor)
      cursor = page.cursor
      pages += 1
    }
    #expect(sequences == Array(1...30) && pages > 10)
  }

  @Test func `a call with too expensive a selector is refused, and changes nothing`() throws {
    var store = try makeStore(scanCostMax: ScanTests.count)
    let target = PresenceTarget.selector(Selector(expression: "data.n >= 0"))
    let refusal = StoreError.quotaExceeded(limit: "scan_cost_max", maximum: ScanTests.count)
    #expect(store.refusal(of: .setPresence(target, .hide)) == refusal)
    #expect(store.widget("w0")?.presence.isVisible == true)
    var refused: StoreError?
    do throws(StoreError) { try store.forEachWidget(in: target) { _, _ in } } catch {
      refused = error
    }
    #expect(refused == refusal)
    // So does a call about all widgets.
    for (costMax, isRefused) in [(ScanTests.count - 1, true), (ScanTests.count, false)] {
      let store = try makeStore(scanCostMax: costMax)
      var (visits, refused) = (0, false)
      do throws(StoreError) { try store.forEachWidget(in: .all) { _, _ in visits += 1 } } catch {
        refused = error == .quotaExceeded(limit: "scan_cost_max", maximum: costMax)
      }
      #expect(refused == isRefused && visits == (isRefused ? 0 : costMax))
    }
    var roomy = try makeStore(scanCostMax: 1_000)
    try roomy.forEachWidget(in: target) { _, _ in }
    try roomy.run(.setPresence(target, .hide))
    #expect(roomy.widget("w39")?.presence.isVisible == false)
  }

  @Test func `a patch that unsets more keys than a widget can have is refused`() throws {
    var store = Store(limits: .with { $0.keysPerWidgetMax = 3 })
    try store.create("w", data: ["a": .int(1)])
    let keys = ["a", "b", "c", "d"]
    for (patch, field) in [
      (WidgetPatch(unsetData: keys), "unset_data"),
      (WidgetPatch(unsetParameters: keys), "unset_parameters"),
      (WidgetPatch(unsetLabels: keys), "unset_labels"),
      (WidgetPatch(releases: keys), "release"),
    ] {
      guard
        case .invalid(field: "patch.\(field)", description: _)? = store.refusal(
          of: .update("w", patch))
      else {
        Issue.record("\(field) was not refused")
        continue
      }
    }
    try store.run(.update("w", WidgetPatch(unsetData: ["a", "b", "c"])))
    #expect(store.widget("w")?.data == [:])
  }
}
