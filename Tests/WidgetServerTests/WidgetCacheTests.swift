import Testing
import WidgetModel

@testable import WidgetServer

@Suite struct `The cache of answers` {
  private static func answer(_ size: Int, _ byte: UInt8 = 1) -> [UInt8] {
    [UInt8](repeating: byte, count: size)
  }

  @Test func `the cache keeps the answers of the last widgets, within its bytes`() throws {
    let cache = WidgetCache()
    let size = 300 << 10
    var most = 0
    for number in 0..<64 {
      let id = try WidgetID.make("w\(number)")
      cache.keep(Self.answer(size, UInt8(number)), for: id, at: 1)
      #expect(cache.response(for: id, at: 1)?.first == UInt8(number))
      most = max(most, cache.byteCount)
    }
    #expect(most == 3 * size)
    cache.removeAll()
    #expect(cache.byteCount == 0)
  }

  @Test func `a new revision replaces the answer of the old one`() throws {
    let cache = WidgetCache()
    let id = try WidgetID.make("w")
    for revision in 1...20 {
      cache.keep(Self.answer(WidgetCache.bytesMax - revision), for: id, at: Revision(revision))
    }
    #expect(cache.byteCount == WidgetCache.bytesMax - 20)
    #expect(cache.response(for: id, at: 19) == nil)
    #expect(cache.response(for: id, at: 20) != nil)
    // An answer that is too large for the cache removes the old one.
    cache.keep(Self.answer(WidgetCache.bytesMax + 1), for: id, at: 21)
    #expect(cache.byteCount == 0 && cache.response(for: id, at: 20) == nil)
  }
}
