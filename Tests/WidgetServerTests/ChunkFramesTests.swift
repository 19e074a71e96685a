import NIOCore
import Testing
import WidgetModel

@testable import WidgetServer

/// Snapshot frames that the readers of a group share.
struct ChunkFramesTests {
  private static func message(_ size: Int) -> EncodedMessage {
    EncodedMessage(byteCount: size) { _ in }
  }

  /// The memory of a message of this size, and of the places of the chunks up to it.
  private static func bytes(_ size: Int, places: Int = 1) -> Int {
    message(size).byteCount + ChunkFrames.frameBytes + places * ChunkFrames.placeBytes
  }

  @Test func `all groups keep at most the budget, and the end of a group frees its part`() {
    let size = Self.bytes(1_000)
    let budget = ChunkFrameBudget(bytesMax: 3 * size)
    var groups = (0..<5).map { _ in ChunkFrames() }
    for group in groups {
      _ = group.use(at: .now())
      group.keep([Self.message(1_000)], of: 0, at: 1, within: budget)
    }
    #expect(budget.bytes == 3 * size)
    let areKept = groups.map { $0.frames(of: 0, changedAt: 1) != nil }
    #expect(areKept == [true, true, true, false, false])
    groups[0].removeAll()
    #expect(budget.bytes == 2 * size)
    groups.remove(at: 1)
    #expect(budget.bytes == size)
    groups = []
    #expect(budget.bytes == 0)
  }

  @Test func `newer frames of a chunk replace the older ones`() {
    let budget = ChunkFrameBudget(bytesMax: Self.bytes(1_000))
    let group = ChunkFrames()
    _ = group.use(at: .now())
    group.keep([Self.message(1_000)], of: 0, at: 1, within: budget)
    group.keep([Self.message(500)], of: 0, at: 2, within: budget)
    #expect(budget.bytes == Self.bytes(500) && group.bytes == budget.bytes)
    #expect(group.frames(of: 0, changedAt: 2)?.count == 1)
    // Without room, the older frames stay, and are found at their revision only.
    group.keep([Self.message(2_000)], of: 0, at: 3, within: budget)
    #expect(group.frames(of: 0, changedAt: 3) == nil)
    #expect(budget.bytes == Self.bytes(500))
  }

  /// Thousands of filters that select little have many small frames, and long lists.
  @Test func `small frames and empty chunks count with their memory`() {
    let budget = ChunkFrameBudget(bytesMax: 1 << 20)
    let sparse = ChunkFrames()
    sparse.keep([], of: 399, at: 1, within: budget)
    #expect(budget.bytes >= 400 * 16)
    let empty = budget.bytes
    sparse.keep([Self.message(25)], of: 7, at: 1, within: budget)
    #expect(budget.bytes - empty >= 250)
    // Without room for its place, a chunk is not kept.
    let full = ChunkFrameBudget(bytesMax: 400)
    let group = ChunkFrames()
    group.keep([], of: 399, at: 1, within: full)
    #expect(group.frames(of: 399, changedAt: 1) == nil && full.bytes == 0)
  }

  @Test func `frames expire once after their first use`() {
    let budget = ChunkFrameBudget(bytesMax: Self.bytes(1_000, places: 2))
    let frames = ChunkFrames(since: 5)
    #expect(frames.frames(of: 1, changedAt: 0) == nil)
    #expect(frames.use(at: .now()) && !frames.use(at: .now()))
    frames.keep([Self.message(100)], of: 1, at: 9, within: budget)
    #expect(frames.expire() == Self.bytes(100, places: 2) && budget.bytes == 0)
    #expect(frames.frames(of: 1, changedAt: 0) == nil)
    #expect(frames.use(at: .now()))
  }

  @Test func `a group keeps frames for the three states that were used last`() {
    let group = WatchGroup(.events(Selector(), names: []))
    let first = group.transfers(since: 1)
    for cursor in [Revision(2), 3, 1] {
      _ = group.transfers(since: cursor).use(at: .now())
    }
    #expect(group.transfers(since: 1) === first)
    #expect(group.transfers(since: 4) !== first)
    #expect(Set(group.transfers.map(\.cursor)) == [1, 3, 4])
    group.dropTransfers(first)
    #expect(Set(group.transfers.map(\.cursor)) == [3, 4])
  }
}
