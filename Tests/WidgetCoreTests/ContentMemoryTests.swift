import Testing
import WidgetModel

@testable import WidgetCore

/// The memory of nodes that were removed.
struct ContentMemoryTests {
  private static let kind = Kind(
    name: "k",
    data: [
      Field(name: "items", type: .list(.int), defaultValue: .list([])),
      Field(name: "n", type: .int, defaultValue: .int(0)),
    ],
    content: [
      ContentTemplate(
        root: NodeTemplate(
          id: "r", type: .stack,
          children: [
            NodeTemplate(id: "n", type: .label, properties: ["text": Binding("string(data.n)")]),
            NodeTemplate(
              id: "row", type: .label, rows: RowTemplate(list: "data.items", key: "item")),
          ]))
    ])

  private func store() throws -> Store {
    var store = Store()
    try store.register([Self.kind])
    try store.create("a", data: ["items": .list((0..<40).map { .int($0) })])
    return store
  }

  /// The counted bytes beside those of the nodes.
  private func others(_ store: Store) -> Int {
    store.records[0].contentBytes - store.records[0].nodesBytes
  }

  @Test func `removed nodes count for their user until the daemon has forgotten them`() throws {
    var store = try store()
    #expect(others(store) == 0)
    try store.set("a", ["items": .list([])])
    #expect(others(store) == 40 * NodeEntry.costBytes)
    #expect(store.checkInvariants() == [])
    for n in 1...600 { try store.set("a", ["n": .int(Int64(n))]) }
    #expect(others(store) == 0)
    #expect(store.checkInvariants() == [])
  }

  @Test func `the slots of removed nodes count if the last node stays`() throws {
    var store = try store()
    try store.set("a", ["items": .list([.int(39)])])
    let kept = others(store)
    #expect(kept == 39 * NodeEntry.costBytes)
    for n in 1...600 { try store.set("a", ["n": .int(Int64(n))]) }
    #expect(others(store) == kept)
    // New nodes take free slots.
    try store.set("a", ["items": .list((0..<40).map { .int($0) })])
    #expect(others(store) == 0)
    #expect(store.checkInvariants() == [])
  }
}
