import NIOCore
import Testing
import WidgetTransport

@Suite struct FrameReaderTests {
  /// Three frames that differ in everything: a request, an empty data frame, a response.
  static let frames: [Frame] = [
    .sample(.request, streamID: 1, data: "hello"),
    .sample(.data, flags: .endOfStream, streamID: 0x0102_0305, data: ""),
    .sample(.response, streamID: 0xFFFF_FFFF, data: "a longer answer, with some more bytes"),
  ]

  @Test func `a header has the bytes of the protocol`() {
    var buffer = ByteBuffer()
    buffer.writeFrameHeader(
      FrameHeader(
        dataBytes: 0x0001_0203, streamID: 0x0405_0607, type: .data,
        flags: [.remoteClosed, .noData]))
    #expect(Array(buffer.readableBytesView) == [0, 1, 2, 3, 4, 5, 6, 7, 3, 5])
  }

  @Test func `a frame split at every byte is read the same`() {
    let bytes = FrameReaderTests.frames.bytes
    for split in 0...bytes.readableBytes {
      var reader = FrameReader()
      var found: [FrameReader.Item] = []
      for part in bytes.pieces(at: [split]) {
        reader.append(part)
        found += reader.drain()
      }
      #expect(found == FrameReaderTests.frames.map { .frame($0) }, "split at \(split)")
      #expect(!reader.isInsideFrame)
    }
  }

  @Test func `frames that arrive byte by byte are read the same`() {
    let bytes = FrameReaderTests.frames.bytes
    var reader = FrameReader()
    var found: [FrameReader.Item] = []
    for part in bytes.pieces(at: Array(1..<bytes.readableBytes)) {
      reader.append(part)
      found += reader.drain()
    }
    #expect(found == FrameReaderTests.frames.map { .frame($0) })
  }

  @Test func `frames of one read share its storage`() {
    var reader = FrameReader()
    let bytes = FrameReaderTests.frames.bytes
    reader.append(bytes)
    let address = bytes.storageAddress
    for item in reader.drain() {
      guard case .frame(let frame) = item, frame.header.dataBytes > 0 else { continue }
      let offset = frame.data.storageAddress - address
      #expect((0..<bytes.readableBytes).contains(offset), "a frame was copied")
    }
  }

  @Test func `a returned frame does not change while more bytes arrive`() {
    var reader = FrameReader()
    let bytes = FrameReaderTests.frames.bytes
    let parts = bytes.pieces(at: [FrameHeader.bytes + 5 + 3])
    reader.append(parts[0])
    let first = reader.next()
    #expect(reader.next() == nil)
    reader.append(parts[1])
    #expect(first == .frame(FrameReaderTests.frames[0]))
    #expect(reader.drain() == FrameReaderTests.frames.dropFirst().map { .frame($0) })
  }

  @Test func `a frame of the greatest length is read`() {
    let frame = Frame.sample(
      .data, streamID: 7, data: String(repeating: "x", count: FrameHeader.frameDataBytesMax))
    var reader = FrameReader()
    for part in [frame].bytes.pieces(at: stride(from: 65_536, to: 4 << 20, by: 65_536).map { $0 }) {
      #expect(reader.next() == nil)
      reader.append(part)
    }
    #expect(reader.drain() == [.frame(frame)])
  }

  @Test(arguments: [0, 1, 9, 10, 11, 1 << 16])
  func `a frame that is too long is reported once and dropped piece by piece`(first: Int) {
    let header = FrameHeader(
      dataBytes: UInt32(FrameHeader.frameDataBytesMax) + 1, streamID: 5, type: .request)
    var bytes = ByteBuffer()
    bytes.writeFrameHeader(header)
    bytes.writeRepeatingByte(0xFF, count: Int(header.dataBytes))
    bytes.writeImmutableBuffer(FrameReaderTests.frames.bytes)
    var reader = FrameReader()
    var found: [FrameReader.Item] = []
    var most = 0
    let cuts = [first] + Array(stride(from: first + 65_537, to: bytes.readableBytes, by: 65_537))
    for part in bytes.pieces(at: cuts) {
      reader.append(part)
      found += reader.drain()
      most = max(most, reader.bufferedBytes)
    }
    #expect(found == [.oversize(header)] + FrameReaderTests.frames.map { .frame($0) })
    #expect(most < 65_537)
  }

  @Test func `a frame that is too long is reported before its data arrives`() {
    let header = FrameHeader(dataBytes: .max, streamID: 9, type: .data)
    var bytes = ByteBuffer()
    bytes.writeFrameHeader(header)
    var reader = FrameReader()
    reader.append(bytes)
    #expect(reader.next() == .oversize(header))
    #expect(reader.next() == nil)
    #expect(reader.isInsideFrame)
  }

  @Test func `an end inside a frame differs from an end between frames`() {
    var reader = FrameReader()
    #expect(!reader.isInsideFrame)
    reader.append(ByteBuffer(bytes: [0, 0, 0]))
    #expect(reader.next() == nil)
    #expect(reader.isInsideFrame)
  }

  @Test func `a frame that is dropped is not held, and the next one follows it`() {
    var bytes = ByteBuffer()
    bytes.writeFrameHeader(FrameHeader(dataBytes: 100, streamID: 5, type: .request))
    bytes.writeRepeatingByte(0xFF, count: 40)
    var reader = FrameReader()
    #expect(reader.dropFrame() == nil)
    reader.append(ByteBuffer(bytes: [0, 0]))
    #expect(reader.next() == nil)
    #expect(reader.dropFrame() == nil)
    reader = FrameReader()
    reader.append(bytes)
    #expect(reader.next() == nil)
    #expect(reader.dropFrame()?.streamID == 5)
    #expect(reader.bufferedBytes == 0)
    #expect(reader.isInsideFrame)
    var rest = ByteBuffer(repeating: 0xFF, count: 60)
    rest.writeImmutableBuffer(FrameReaderTests.frames.bytes)
    reader.append(rest)
    #expect(reader.drain() == FrameReaderTests.frames.map { .frame($0) })
  }

  @Test func `a read without bytes gives no frame`() {
    var reader = FrameReader()
    reader.append(ByteBuffer())
    #expect(reader.next() == nil)
    #expect(!reader.isInsideFrame)
  }
}
