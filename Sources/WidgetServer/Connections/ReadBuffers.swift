import NIOCore

/// The buffers for the reads of one connection. Their size follows the size of the reads, up to
/// 64 KiB. It is at most 4 KiB while many received bytes of the user wait.
///
/// The channel keeps its first buffer, and lets it grow to `nextBufferSize`. With nil, and after
/// true from `record`, the channel makes a buffer for one read (`NIOPooledRecvBufferAllocator`). So
/// an idle connection keeps no large buffer, and a small read never gets a large one.
///
/// Confined to the event loop.
struct ReadBuffers: RecvByteBufferAllocator {
  private var adaptive = AdaptiveRecvByteBufferAllocator(
    minimum: 256, initial: 512, maximum: 65_536)
  private let uid: UInt32
  private let isClient: Bool
  private let received: NIOLoopBound<ReceivedBytes>

  /// The maximum size of a small read, and of the buffer that the channel keeps.
  static let smallBytesMax = 4 << 10

  init(uid: UInt32, isClient: Bool, received: NIOLoopBound<ReceivedBytes>) {
    self.uid = uid
    self.isClient = isClient
    self.received = received
  }

  /// The size after the last read, whatever waits.
  private var wantedBytes: Int { adaptive.nextBufferSize() ?? ReadBuffers.smallBytesMax }

  private var bytes: Int {
    let wanted = wantedBytes
    guard wanted > ReadBuffers.smallBytesMax else { return wanted }
    let isFull = received.value.isFull(for: uid, isClient: isClient)
    return isFull ? ReadBuffers.smallBytesMax : wanted
  }

  func buffer(allocator: ByteBufferAllocator) -> ByteBuffer { allocator.buffer(capacity: bytes) }

  func nextBufferSize() -> Int? {
    let bytes = bytes
    return bytes <= ReadBuffers.smallBytesMax ? bytes : nil
  }

  mutating func record(actualReadBytes: Int) -> Bool {
    let mayGrow = adaptive.record(actualReadBytes: actualReadBytes)
    return mayGrow || wantedBytes > ReadBuffers.smallBytesMax
  }
}
