import NIOCore
import WidgetTransport

extension Frame {
  static func sample(
    _ type: FrameType, flags: FrameFlags = [], streamID: UInt32, data: String
  ) -> Frame {
    let data = ByteBuffer(string: data)
    return Frame(
      header: FrameHeader(
        dataBytes: UInt32(data.readableBytes), streamID: streamID, type: type, flags: flags),
      data: data)
  }
}

extension FrameHeader {
  static func request(_ streamID: UInt32, _ flags: FrameFlags = [], bytes: UInt32 = 3)
    -> FrameHeader
  {
    FrameHeader(dataBytes: bytes, streamID: streamID, type: .request, flags: flags)
  }

  static func response(_ streamID: UInt32, bytes: UInt32 = 3) -> FrameHeader {
    FrameHeader(dataBytes: bytes, streamID: streamID, type: .response)
  }

  static func data(_ streamID: UInt32, _ flags: FrameFlags = [], bytes: UInt32 = 3) -> FrameHeader {
    FrameHeader(dataBytes: bytes, streamID: streamID, type: .data, flags: flags)
  }
}

extension [Frame] {
  var bytes: ByteBuffer {
    reduce(into: ByteBuffer()) { buffer, frame in
      buffer.writeFrameHeader(frame.header)
      buffer.writeImmutableBuffer(frame.data)
    }
  }
}

extension ByteBuffer {
  /// The bytes, split at these ascending offsets, with each piece in a separate buffer.
  func pieces(at cuts: [Int]) -> [ByteBuffer] {
    let bounds = [0] + cuts.map { Swift.min($0, readableBytes) } + [readableBytes]
    return zip(bounds, bounds.dropFirst()).map { start, end in
      var result = ByteBuffer()
      result.writeBytes(readableBytesView[readerIndex + start..<readerIndex + end])
      return result
    }
  }

  var storageAddress: Int {
    withUnsafeReadableBytes { Int(bitPattern: $0.baseAddress) }
  }
}

extension FrameReader {
  mutating func drain() -> [Item] {
    var result: [Item] = []
    while let item = next() { result.append(item) }
    return result
  }
}
