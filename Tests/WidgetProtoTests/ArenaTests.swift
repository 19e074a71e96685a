import CWidgetProto
import Testing

/// The allocator below protobuf-c.
struct ArenaTests {
  @Test func `a reset to a mark frees only the allocations after the mark`() throws {
    let arena = try #require(wp_arena_new(64, 1 << 20))
    defer { wp_arena_free(arena) }
    let kept = try #require(wp_arena_alloc(arena, 8))
    kept.storeBytes(of: 0x1122_3344_5566_7788, as: UInt64.self)
    let mark = wp_arena_mark(arena)
    for size in [1, 16, 100, 5000, 1] {
      let memory = try #require(wp_arena_alloc(arena, size))
      memset(memory, 0xff, size)
      let inner = wp_arena_mark(arena)
      _ = wp_arena_alloc(arena, 3000)
      wp_arena_reset(arena, inner)
    }
    #expect(arena.pointee.total > 5000)
    wp_arena_reset(arena, mark)
    #expect(arena.pointee.total == 16)
    #expect(kept.load(as: UInt64.self) == 0x1122_3344_5566_7788)
  }

  @Test func `allocations are aligned and do not overlap`() throws {
    let arena = try #require(wp_arena_new(64, 1 << 20))
    defer { wp_arena_free(arena) }
    var ranges: [Range<UInt>] = []
    for size in [0, 1, 15, 16, 17, 40, 64, 65, 1000] as [Int] {
      let memory = try #require(wp_arena_alloc(arena, size))
      let start = UInt(bitPattern: memory)
      #expect(start % 16 == 0)
      let range = start..<(start + UInt(size))
      #expect(ranges.allSatisfy { !$0.overlaps(range) })
      ranges.append(range)
    }
  }

  @Test func `the budget is exact and its end is noted`() throws {
    let arena = try #require(wp_arena_new(64, 160))
    defer { wp_arena_free(arena) }
    let mark = wp_arena_mark(arena)
    for _ in 0..<10 { #expect(wp_arena_alloc(arena, 16) != nil) }
    #expect(!arena.pointee.exhausted)
    #expect(wp_arena_alloc(arena, 1) == nil)
    #expect(arena.pointee.exhausted)
    wp_arena_reset(arena, mark)
    #expect(!arena.pointee.exhausted)
    #expect(wp_arena_alloc(arena, 160) != nil)
  }

  @Test(arguments: [Int.max, -1, -15, -16, 1 << 62])
  func `an allocation whose size overflows fails`(size: Int) throws {
    let arena = try #require(wp_arena_new(64, .max))
    defer { wp_arena_free(arena) }
    #expect(wp_arena_alloc(arena, size) == nil)
    #expect(arena.pointee.exhausted)
  }
}
