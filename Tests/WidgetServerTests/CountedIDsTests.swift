import Testing
import WidgetModel

@testable import WidgetServer

/// The tables of large filters, without a daemon.
@Suite struct `The tables of large filters` {
  private static func ids(_ count: Int) throws -> [WidgetID] {
    try (0..<count).map { try .make("w\($0)") }
  }

  @Test func `an id is counted until it is removed as often as it was added`() throws {
    let id = try WidgetID.make("a")
    var counts = CountedIDs()
    counts.remove(id)
    #expect(!counts.contains(id))
    counts.add(id)
    counts.add(id)
    counts.remove(id)
    #expect(counts.contains(id))
    counts.remove(id)
    #expect(!counts.contains(id) && counts.capacity == 0)
  }

  @Test func `a part is small, and removed ids give their memory back`() throws {
    let ids = try Self.ids(20_000)
    var counts = CountedIDs()
    for id in ids { counts.add(id) }
    #expect(counts.largestPart < 1_000)
    let capacity = counts.capacity
    let (kept, removed) = (ids.prefix(100), ids.dropFirst(100))
    for id in removed { counts.remove(id) }
    #expect(kept.allSatisfy { counts.contains($0) })
    #expect(!removed.contains { counts.contains($0) })
    #expect(counts.capacity < capacity / 8)
    for id in kept { counts.remove(id) }
    #expect(counts.capacity == 0)
  }

  private final class Record {
    var hashes = 0
  }

  /// Counts how often it is hashed.
  private struct Probe: Hashable {
    let number: Int
    let record: Record

    static func == (a: Probe, b: Probe) -> Bool { a.number == b.number }

    func hash(into hasher: inout Hasher) {
      record.hashes += 1
      hasher.combine(number)
    }
  }

  @Test func `a large key is hashed once, also if its dictionary grows`() {
    let record = Record()
    let keys = (0..<1_000).map { KeptHash(Probe(number: $0, record: record)) }
    var table: [KeptHash<Probe>: Int] = [:]
    for key in keys { table[key] = key.value.number }
    #expect(keys.allSatisfy { table[$0] == $0.value.number })
    for key in keys { table[key] = nil }
    #expect(record.hashes == keys.count)
    #expect(keys[0] != keys[1])
  }

  @Test func `an id counts with its entry in a table`() throws {
    let short = try Self.ids(3)
    let long = try WidgetID.make(String(repeating: "x", count: 100))
    #expect(WatchGroup(.events(Selector(ids: short), names: [])).termBytes == 3 * 64)
    #expect(WatchGroup(.events(Selector(ids: [long]), names: [])).termBytes == 64 + 32 + 100)
  }
}
