public import NIOCore

/// Cuts a stream of bytes into frames.
///
/// Written by hand for the hot path. A buffer that arrives while nothing is pending is adopted
/// without copying, and every frame in it is a slice of it. Only a frame that spans several reads
/// is copied, each byte an amortised constant number of times.
///
/// A frame that announces more than `FrameHeader.frameDataBytesMax` is reported as soon as its
/// header arrives. Its data is then dropped as it arrives, so that the caller can refuse it and
/// continue. The reader holds at most one read and one frame of valid length, whatever the peer
/// sends. A header alone reserves no memory.
///
/// Usage: `append` the received bytes, then call `next` until it returns nil.
public struct FrameReader: Sendable {
  /// An item in the stream.
  public enum Item: Equatable, Sendable {
    /// A whole frame.
    case frame(Frame)
    /// A frame that is too long. Its data is dropped.
    case oversize(FrameHeader)
  }

  private var pending = ByteBuffer()
  /// The bytes of an oversize frame that are still to be dropped.
  public private(set) var discardBytes = 0

  public init() {}

  /// A stream of which another process has read the beginning.
  public init(held: ByteBuffer, discardBytes: Int) {
    pending = held
    self.discardBytes = max(0, discardBytes)
  }

  /// The received bytes that `next` has not returned yet.
  public var held: ByteBuffer { pending }

  /// The bytes of frames that are incomplete, or that `next` has not returned yet.
  public var bufferedBytes: Int { pending.readableBytes }

  /// Whether the stream is inside a frame, so that an end now would cut the frame.
  public var isInsideFrame: Bool { pending.readableBytes > 0 || discardBytes > 0 }

  /// Adds bytes to the stream.
  public mutating func append(_ bytes: ByteBuffer) {
    var bytes = bytes
    if discardBytes > 0 {
      let dropped = min(discardBytes, bytes.readableBytes)
      bytes.moveReaderIndex(forwardBy: dropped)
      discardBytes -= dropped
    }
    guard bytes.readableBytes > 0 else { return }
    if pending.readableBytes == 0 {
      pending = bytes
    } else {
      pending.writeBuffer(&bytes)
    }
  }

  /// Returns the next frame, or nil if more bytes are needed. O(1).
  public mutating func next() -> Item? {
    guard let header = pending.peekFrameHeader() else { return releaseAndWait() }
    if header.isOversize {
      pending.moveReaderIndex(forwardBy: FrameHeader.bytes)
      let dropped = min(Int(header.dataBytes), pending.readableBytes)
      pending.moveReaderIndex(forwardBy: dropped)
      discardBytes = Int(header.dataBytes) - dropped
      return .oversize(header)
    }
    guard pending.readableBytes >= FrameHeader.bytes + Int(header.dataBytes) else {
      return releaseAndWait()
    }
    pending.moveReaderIndex(forwardBy: FrameHeader.bytes)
    guard let data = pending.readSlice(length: Int(header.dataBytes)) else {
      return releaseAndWait()
    }
    return .frame(Frame(header: header, data: data))
  }

  /// Drops the frame that has not arrived completely: its data so far, and the rest as it arrives.
  /// Returns nil, and drops nothing, if its header has not arrived.
  ///
  /// Call after `next` has returned nil.
  public mutating func dropFrame() -> FrameHeader? {
    guard let header = pending.peekFrameHeader() else { return nil }
    discardBytes = FrameHeader.bytes + Int(header.dataBytes) - pending.readableBytes
    pending = ByteBuffer()
    return header
  }

  /// Releases returned frames, by moving the rest into a new buffer. Otherwise the next `append`
  /// would copy the returned frames, too, because they share the storage.
  private mutating func releaseAndWait() -> Item? {
    if pending.readableBytes == 0 {
      pending = ByteBuffer()
    } else if pending.readerIndex > 0 {
      pending = ByteBuffer(buffer: pending)
    }
    return nil
  }
}
