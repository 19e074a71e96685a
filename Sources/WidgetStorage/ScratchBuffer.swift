/// Memory that encoded rows are put into, used again from row to row.
///
/// What is bound to a statement stays here while the statement runs, so a row is written once by
/// the encoder and copied once by SQLite, into its page.
struct ScratchBuffer: ~Copyable {
  private var memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 4_096, alignment: 16)

  /// What `shrink` leaves. Larger rows are rare, and idle daemons should be small.
  static let keptBytes = 256 << 10

  deinit { memory.deallocate() }

  /// The first `count` bytes, whatever they hold. What was there before is gone.
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
