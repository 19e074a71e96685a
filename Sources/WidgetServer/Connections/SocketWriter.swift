import Glibc
import NIOCore

/// Writes to a connection's socket directly, as long as the kernel takes the bytes.
///
/// A channel's write passes a pipeline, a list of pending writes and a promise. Together they cost
/// more than the system call; with a thousand readers that is most of the work. So bytes go to the
/// kernel directly. The channel gets the bytes that the kernel does not take, and all bytes after
/// them, until it has written them. So the order is kept, and the channel waits for room as always.
///
/// Confined to the channel's event loop. It never uses the descriptor of an inactive channel,
/// because another connection may have the number by then.
struct SocketWriter {
  private let descriptor: CInt
  /// The number of writes that the channel still holds.
  private(set) var pendingWrites = 0

  init(descriptor: CInt) { self.descriptor = descriptor }

  /// Whether the kernel takes more.
  var isWritable: Bool { pendingWrites == 0 }

  /// Writes as much as the kernel takes now, from the front. Returns whether that was all of it; if
  /// not, the rest is for the channel: call `handingOver` and write it there.
  func write(_ buffer: inout ByteBuffer) -> Bool {
    guard pendingWrites == 0 else { return false }
    while buffer.readableBytes > 0 {
      let count = buffer.withUnsafeReadableBytes { bytes in
        send(descriptor, bytes.baseAddress, bytes.count, CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL))
      }
      if count < 0 {
        if errno == EINTR { continue }
        // The channel gets the same error, and handles it.
        return false
      }
      buffer.moveReaderIndex(forwardBy: count)
    }
    return true
  }

  /// Counts a write that the caller gives to the channel. Call it before, because the write may be
  /// over at once.
  mutating func handingOver() { pendingWrites += 1 }

  /// One write of the channel is over.
  mutating func handedOver() { pendingWrites -= 1 }
}
