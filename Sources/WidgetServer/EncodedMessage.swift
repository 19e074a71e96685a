import NIOCore
import WidgetTransport

/// A message of a stream, encoded once for all its subscribers.
///
/// A connection needs it with a frame header in front. Most clients have one stream, and that has
/// the same number, so the last header's frame is kept: for the common case a delivery is one
/// reference to one buffer, without copying anything.
final class EncodedMessage {
  /// The bare message, as other transports frame it themselves.
  let payload: ByteBuffer
  private var framed: (streamID: UInt32, frame: ByteBuffer)?

  /// Up to this size it is cheaper to copy the payload behind another header than to write two
  /// buffers.
  private static let copyBytesMax = 4 << 10

  init(payload: ByteBuffer) { self.payload = payload }

  /// The data frame for a stream, as one or two buffers.
  func frame(for streamID: UInt32) -> (ByteBuffer, ByteBuffer?) {
    if let framed, framed.streamID == streamID { return (framed.frame, nil) }
    let header = FrameHeader(
      dataBytes: UInt32(clamping: payload.readableBytes), streamID: streamID, type: .data)
    let isSmall = payload.readableBytes <= EncodedMessage.copyBytesMax
    var buffer = ByteBufferAllocator().buffer(
      capacity: FrameHeader.bytes + (isSmall ? payload.readableBytes : 0))
    buffer.writeFrameHeader(header)
    guard isSmall else { return (buffer, payload) }
    buffer.writeImmutableBuffer(payload)
    framed = (streamID, buffer)
    return (buffer, nil)
  }
}
