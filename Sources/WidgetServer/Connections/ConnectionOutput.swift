import NIOCore
import WidgetProto
import WidgetTransport

/// The output of a ttrpc connection: answers of a turn, frames for the next flush, and bytes that
/// the kernel has not taken.
///
/// A value that writes only to the socket. The caller gets the bytes that the socket did not take,
/// for the channel. Then everything goes to the channel, until the channel has written all of it.
struct ConnectionOutput {
  private var writer: SocketWriter
  /// The buffers that the channel has to write.
  private var handedToChannel = CircularBuffer<ByteBuffer>()
  private var handedBytes = 0
  /// Answers of this turn.
  private(set) var responses = ByteBuffer()
  /// Frames that go out with the next flush.
  private var outgoing = ByteBuffer()

  /// A larger buffer for answers is given back after use.
  private static let responsesKeptBytesMax = 16 << 10
  /// Small frames are put together up to this size, to be sent with one write.
  private static let outgoingBytesMax = 16 << 10

  init(socket: CInt) { writer = SocketWriter(descriptor: socket) }

  var isWritable: Bool { writer.isWritable }
  var responseBytes: Int { responses.readableBytes }
  /// The bytes that the kernel has not taken, as far as the channel tells.
  var unsentBytes: Int { handedBytes + outgoing.readableBytes + responses.readableBytes }

  // MARK: - Answers

  mutating func addResponse(_ packed: PackedMessage, to call: UInt32) {
    responses.reserveCapacity(minimumWritableBytes: FrameHeader.bytes + packed.byteCount)
    responses.writeFrameHeader(
      FrameHeader(dataBytes: UInt32(packed.byteCount), streamID: call, type: .response))
    responses.writeWithUnsafeMutableBytes(minimumWritableBytes: packed.byteCount) { bytes in
      if let start = bytes.baseAddress { packed.pack(into: start) }
      return packed.byteCount
    }
  }

  /// Replaces the answers. Returns the former ones.
  mutating func exchangeResponses(with others: ByteBuffer) -> ByteBuffer {
    let former = responses
    responses = others
    return former
  }

  mutating func responsesWereWritten() {
    if responses.capacity > ConnectionOutput.responsesKeptBytesMax {
      responses = ByteBuffer()
    } else {
      // The next answers use the same memory, unless the channel still holds it.
      responses.clear()
    }
  }

  mutating func discardResponses() { responses.clear() }

  // MARK: - Frames

  /// Adds a frame to the waiting frames. If the frames together would be too large, returns the
  /// earlier frames, to be written now.
  mutating func enqueue(_ frame: ByteBuffer) -> ByteBuffer? {
    guard frame.readableBytes > 0 else { return nil }
    if outgoing.readableBytes == 0 {
      outgoing = frame
    } else if outgoing.readableBytes + frame.readableBytes <= ConnectionOutput.outgoingBytesMax {
      outgoing.writeImmutableBuffer(frame)
    } else {
      let full = outgoing
      outgoing = frame
      return full
    }
    return nil
  }

  mutating func takeOutgoing() -> ByteBuffer? {
    guard outgoing.readableBytes > 0 else { return nil }
    let frames = outgoing
    outgoing = ByteBuffer()
    return frames
  }

  // MARK: - Writing

  /// Writes to the socket.
  ///
  /// - Returns: the bytes that the socket did not take, for the channel; nil if it took all.
  mutating func write(_ buffer: ByteBuffer) -> ByteBuffer? {
    var buffer = buffer
    guard !writer.write(&buffer) else { return nil }
    writer.handingOver()
    handedToChannel.append(buffer)
    handedBytes += buffer.readableBytes
    return buffer
  }

  /// The channel has written the first of the buffers that it was given.
  mutating func channelHasWritten() {
    writer.handedOver()
    handedBytes -= handedToChannel.popFirst()?.readableBytes ?? 0
  }

  /// The bytes that the kernel has not taken: the end of the channel's data, and everything after
  /// it.
  ///
  /// - Parameter buffered: how many bytes the channel still has. Nil if it does not say.
  func unsent(bufferedByChannel buffered: Int?) -> [UInt8]? {
    var bytes: [UInt8] = []
    if !handedToChannel.isEmpty {
      for buffer in handedToChannel { bytes += buffer.readableBytesView }
      guard let buffered, buffered <= bytes.count else { return nil }
      bytes.removeFirst(bytes.count - buffered)
    }
    return bytes + outgoing.readableBytesView + responses.readableBytesView
  }
}
