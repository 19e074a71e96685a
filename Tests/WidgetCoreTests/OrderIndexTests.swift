import SeededRandom
import Testing
import WidgetModel

@testable import WidgetCore

/// The order of widgets by position.
struct OrderIndexTests {
  @Test(arguments: [1, 2, 3] as [UInt64])
  func `a moved entry is where a removed and inserted one would be`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var (moved, model) = (OrderIndex(), OrderIndex())
    var positions: [Int64] = []
    // Few positions, so that widgets share them, as while they swap places.
    for slot in 0..<40 {
      positions.append(Int64.random(in: 0..<60, using: &random))
      moved.insert(Int32(slot), at: positions[slot])
      model.insert(Int32(slot), at: positions[slot])
    }
    for _ in 0..<2_000 {
      let slot = Int.random(in: 0..<40, using: &random)
      let position = Int64.random(in: 0..<60, using: &random)
      moved.move(Int32(slot), from: positions[slot], to: position)
      model.remove(Int32(slot), at: positions[slot])
      model.insert(Int32(slot), at: position)
      positions[slot] = position
      #expect(moved.entries == model.entries)
    }
  }

  @Test func `a moved entry that is missing is inserted`() {
    var order = OrderIndex()
    order.insert(1, at: 10)
    order.insert(2, at: 20)
    order.move(3, from: 15, to: 12)
    #expect(order.entries.map(\.slot) == [1, 3, 2])
    order.move(1, from: 10, to: 30)
    #expect(order.entries.map(\.slot) == [3, 2, 1])
  }
}
