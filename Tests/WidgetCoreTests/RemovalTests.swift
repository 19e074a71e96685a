import Testing
import WidgetModel

@testable import WidgetCore

/// The removals that a late reader gets in pieces.
struct RemovalTests {
  private static func id(_ number: Int) throws -> WidgetID {
    try #require(WidgetID("w\(number)"))
  }

  /// Widgets, all of which the reader holds, and the reader's cursor.
  private func makeStore(
    count: Int, limits: StoreLimits = StoreLimits()
  ) throws -> (store: Store, cursor: Revision) {
    var store = Store(limits: limits)
    for number in 0..<count {
      try store.create(RemovalTests.id(number), data: ["n": .int(Int64(number))])
    }
    store.commitGroup(at: .at(0))
    return (store, store.revision)
  }

  /// All pieces, each with the ids of its removals.
  private func pieces(
    _ store: Store, from cursor: Revision, through end: Revision, atMost countMax: Int,
    selecting selector: Selector = Selector()
  ) throws -> [[WidgetID]] {
    var (pieces, place): ([[WidgetID]], RemovalCursor) = ([], RemovalCursor(cursor))
    while place.revision < end {
      let before = place
      let piece = try store.removals(
        from: place, through: end, readerHeldUpTo: cursor, transferStartedAt: end,
        atMost: countMax, selecting: selector)
      pieces.append(
        piece.changes.compactMap { if case .removed(let id, _) = $0 { id } else { nil } })
      place = piece.next
      try #require(place != before)
    }
    return pieces
  }

  @Test(arguments: [1, 3, 7, 100])
  func `pieces have all removals once, also those of one revision`(countMax: Int) throws {
    var (store, cursor) = try makeStore(count: 40)
    for number in 0..<10 { try store.delete(RemovalTests.id(number)) }
    // One command removes many widgets in one revision.
    let specs = try (100..<120).map { WidgetSpec(id: try RemovalTests.id($0), kind: "k") }
    try store.run(.apply(Declaration(widgets: specs)))
    cursor = store.revision
    try store.run(.apply(Declaration(widgets: [], prunes: true)))
    for number in 10..<20 { try store.delete(RemovalTests.id(number)) }
    store.commitGroup(at: .at(1))
    let found = try pieces(store, from: cursor, through: store.revision, atMost: countMax)
    let removed = try ((100..<120).map(RemovalTests.id) + (10..<20).map(RemovalTests.id))
    #expect(Set(found.joined()) == Set(removed) && found.joined().count == removed.count)
    #expect(found.allSatisfy { $0.count <= countMax })
  }

  @Test func `an expression ends a piece early if ids are used again`() throws {
    var (store, cursor) = try makeStore(count: 60, limits: .with { $0.scanCostMax = 200 })
    for number in 0..<60 { try store.delete(RemovalTests.id(number)) }
    for number in 0..<60 {
      try store.create(RemovalTests.id(number), data: ["n": .int(Int64(number))])
    }
    store.commitGroup(at: .at(1))
    // It costs 25 to 102 steps for each widget.
    let selector = Selector(expression: "[0,1,2,3,4,5,6,7,8,9].all(a, a >= 0 && data.n >= 30)")
    let found = try pieces(
      store, from: cursor, through: store.revision, atMost: .max, selecting: selector)
    #expect(try Set(found.joined()) == Set((0..<30).map(RemovalTests.id)))
    #expect(found.count > 5)
  }

  @Test func `removals that are forgotten are refused`() throws {
    var (store, cursor) = try makeStore(count: 40, limits: .with { $0.tombstonesMax = 8 })
    for number in 0..<20 { try store.delete(RemovalTests.id(number)) }
    store.commitGroup(at: .at(1))
    var refused: StoreError?
    do throws(StoreError) {
      _ = try store.removals(
        from: RemovalCursor(cursor), through: store.revision, readerHeldUpTo: cursor,
        transferStartedAt: store.revision, atMost: 1)
    } catch { refused = error }
    #expect(refused == .revisionCompacted(compactRevision: store.compactRevision))
  }

  @Test func `only removals of widgets count as many`() throws {
    var (store, cursor) = try makeStore(count: 10)
    for number in 0..<5 { try store.delete(RemovalTests.id(number)) }
    for number in 5..<10 { try store.unset(RemovalTests.id(number), ["n"]) }
    store.commitGroup(at: .at(1))
    #expect(store.hasRemovals(since: cursor, moreThan: 4))
    #expect(!store.hasRemovals(since: cursor, moreThan: 5))
    #expect(!store.hasRemovals(since: store.revision, moreThan: 0))
  }

  @Test func `costly tests of many changed widgets are too many for one part`() throws {
    var (store, cursor) = try makeStore(
      count: 60,
      limits: .with {
        $0.scanCostMax = 400
        $0.selectorCostMax = 100
      })
    let costly = Selector(expression: "[0,1,2,3,4,5,6,7,8,9].all(a, a >= 0 && data.n >= 0)")
    let cheap = Selector(expression: "data.n >= 0")
    for number in 0..<3 { try store.set(RemovalTests.id(number), ["m": .int(1)]) }
    store.commitGroup(at: .at(1))
    #expect(!store.testsCostTooMuch(since: cursor, selecting: costly))
    for number in 0..<60 { try store.set(RemovalTests.id(number), ["m": .int(2)]) }
    store.commitGroup(at: .at(2))
    #expect(store.testsCostTooMuch(since: cursor, selecting: costly))
    #expect(!store.testsCostTooMuch(since: cursor, selecting: cheap))
    #expect(!store.testsCostTooMuch(since: cursor, selecting: Selector()))
    cursor = store.revision
    #expect(!store.testsCostTooMuch(since: cursor, selecting: costly))
  }
}
