/// Memory for encoded rows, used again for each row.
///
/// Bound data stays here while the statement runs. So the encoder writes a row once, and SQLite
/// copies it once, into its page.
struct ScratchBuffer: ~Copyable {
  private var memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 4_096, alignment: 16)

  /// The size that `shrink` leaves. Larger rows are rare, and idle daemons should be small.
  static let keptBytes = 256 << 10

  deinit { memory.deallocate() }

  /// The first `count` bytes, with undefined content. Discards the former content.
  mutating func take(_ count: Int) -> UnsafeMutableRawBufferPointer {
    if count > memory.count {
      memory.deallocate()
      memory = .allocate(byteCount: max(count, 2 * memory.count), alignment: 16)
    }
    return UnsafeMutableRawBufferPointer(rebasing: memory[..<count])
  }

  /// Gives memory back that only large rows need.
  mutating func shrink() {
    guard memory.count > ScratchBuffer.keptBytes else { return }
    memory.deallocate()
    memory = .allocate(byteCount: ScratchBuffer.keptBytes, alignment: 16)
  }
}
