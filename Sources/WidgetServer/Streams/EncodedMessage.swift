import NIOCore
import WidgetTransport

/// A message of a stream, encoded once for all its subscribers.
///
/// Its bytes follow a frame header with the stream number that most clients use. For these clients
/// a delivery is a reference to one buffer and copies nothing. For other stream numbers a small
/// message is copied behind another header, once for all streams of the same number in a row. A
/// large message is sent as two buffers.
final class EncodedMessage {
  /// Header and message.
  private let framed: ByteBuffer
  private var other: (streamID: UInt32, frame: ByteBuffer)?

  /// The number of a client's first stream, which usually is its only one.
  private static let usualStreamID: UInt32 = 1
  /// Up to this size it is cheaper to copy the message behind another header than to write two
  /// buffers.
  private static let copyBytesMax = 4 << 10

  /// - Parameter write: writes exactly `byteCount` bytes.
  init(byteCount: Int, write: (UnsafeMutableRawPointer) -> Void) {
    var buffer = ByteBufferAllocator().buffer(capacity: FrameHeader.bytes + byteCount)
    buffer.writeFrameHeader(EncodedMessage.header(EncodedMessage.usualStreamID, byteCount))
    buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: byteCount) { bytes in
      if let start = bytes.baseAddress { write(start) }
      return byteCount
    }
    framed = buffer
  }

  /// The size of the message without the header.
  var byteCount: Int { framed.readableBytes - FrameHeader.bytes }

  /// The bare message, as other transports frame it themselves.
  var payload: ByteBuffer {
    var payload = framed
    payload.moveReaderIndex(forwardBy: FrameHeader.bytes)
    return payload
  }

  /// The data frame for a stream, as one or two buffers.
  func frame(for streamID: UInt32) -> (ByteBuffer, ByteBuffer?) {
    if streamID == EncodedMessage.usualStreamID { return (framed, nil) }
    if let other, other.streamID == streamID { return (other.frame, nil) }
    let payload = payload
    let isSmall = payload.readableBytes <= EncodedMessage.copyBytesMax
    var buffer = ByteBufferAllocator().buffer(
      capacity: FrameHeader.bytes + (isSmall ? payload.readableBytes : 0))
    buffer.writeFrameHeader(EncodedMessage.header(streamID, payload.readableBytes))
    guard isSmall else { return (buffer, payload) }
    buffer.writeImmutableBuffer(payload)
    other = (streamID, buffer)
    return (buffer, nil)
  }

  private static func header(_ streamID: UInt32, _ byteCount: Int) -> FrameHeader {
    FrameHeader(dataBytes: UInt32(clamping: byteCount), streamID: streamID, type: .data)
  }
}
