import Testing

@testable import WidgetServer

/// The key with the lowest rank, after any changes, and their cost.
struct RankedKeysTests {
  /// Counts the comparisons of all ranks.
  private final class Counter {
    var comparisons = 0
  }

  private struct Rank: Comparable {
    let value: Int
    let counter: Counter

    static func < (a: Rank, b: Rank) -> Bool {
      a.counter.comparisons += 1
      return a.value < b.value
    }

    static func == (a: Rank, b: Rank) -> Bool { a.value == b.value }
  }

  /// The same numbers in each run.
  private struct Numbers: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return state ^ (state >> 29)
    }
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `the first key has the lowest of all ranks after each change`(seed: UInt64) {
    var numbers = Numbers(state: seed)
    var queue = RankedKeys<Int, Int>()
    var model: [Int: Int] = [:]
    for _ in 0..<2_000 {
      let key = Int.random(in: 0..<40, using: &numbers)
      if Int.random(in: 0..<3, using: &numbers) == 0 {
        queue.remove(key)
        model[key] = nil
      } else {
        let rank = Int.random(in: 0..<100, using: &numbers)
        queue.set(key, to: rank)
        model[key] = rank
      }
      #expect(queue.count == model.count)
      #expect(queue.first?.rank == model.values.min())
      if let first = queue.first { #expect(model[first.key] == first.rank) }
    }
    var ranks: [Int] = []
    while let first = queue.first {
      ranks.append(first.rank)
      queue.remove(first.key)
    }
    #expect(ranks == model.values.sorted())
  }

  @Test func `no change compares more ranks than a path of the heap has`() {
    let counter = Counter()
    var queue = RankedKeys<Int, Rank>()
    let count = 4_096
    // Twice the height of the heap: a rank is compared with two children.
    let comparisonsMax = 2 * 13
    var worst = 0
    func change(_ body: () -> Void) {
      counter.comparisons = 0
      body()
      worst = max(worst, counter.comparisons)
    }
    // Each new rank is the lowest, then each becomes the highest, then the lowest ones go.
    for key in 0..<count {
      change { queue.set(key, to: Rank(value: -key, counter: counter)) }
    }
    for key in 0..<count {
      change { queue.set(key, to: Rank(value: count + key, counter: counter)) }
    }
    for key in 0..<count { change { queue.remove(key) } }
    #expect(worst > 0 && worst <= comparisonsMax)
    #expect(queue.first == nil)
  }
}
