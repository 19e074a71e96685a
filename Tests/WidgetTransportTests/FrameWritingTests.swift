import NIOCore
import Testing
import WidgetTransport

@Suite struct FrameWritingTests {
  struct EncodeFailed: Error, Equatable {}

  @Test func `a written frame is read back`() throws {
    var buffer = ByteBuffer()
    try buffer.writeFrame(.response, streamID: 3, data: ByteBuffer(string: "copied"))
    try buffer.writeFrame(.data, flags: .remoteClosed, streamID: 5) { $0.writeString("in place") }
    buffer.writeEndOfStream(streamID: 7)
    var reader = FrameReader()
    reader.append(buffer)
    #expect(
      reader.drain() == [
        .frame(.sample(.response, streamID: 3, data: "copied")),
        .frame(.sample(.data, flags: .remoteClosed, streamID: 5, data: "in place")),
        .frame(.sample(.data, flags: [.remoteClosed, .noData], streamID: 7, data: "")),
      ])
  }

  @Test func `a frame that would be too long is not written`() throws {
    let most = ByteBuffer(repeating: 1, count: FrameHeader.frameDataBytesMax)
    let tooMuch = ByteBuffer(repeating: 1, count: FrameHeader.frameDataBytesMax + 1)
    var buffer = ByteBuffer(string: "before")
    #expect(
      FrameTooLong(dataBytes: 5 << 20).description
        == "a message of 5242880 bytes is longer than the 4194304 bytes that a frame carries; send "
        + "fewer or smaller values, for example fewer entries of a timeline; `widgetctl stats` lists "
        + "the limits, such as timeline_entries_max")
    #expect(throws: FrameTooLong(dataBytes: tooMuch.readableBytes)) {
      try buffer.writeFrame(.data, streamID: 1, data: tooMuch)
    }
    #expect(throws: FrameBodyError<Never>.self) {
      try buffer.writeFrame(.data, streamID: 1) { $0.writeImmutableBuffer(tooMuch) }
    }
    #expect(buffer == ByteBuffer(string: "before"))
    try buffer.writeFrame(.data, streamID: 1, data: most)
    #expect(buffer.readableBytes == 6 + FrameHeader.bytes + most.readableBytes)
  }

  @Test func `a frame whose data cannot be encoded is not written`() {
    var buffer = ByteBuffer(string: "before")
    do throws(FrameBodyError<EncodeFailed>) {
      try buffer.writeFrame(.data, streamID: 1) { (buffer) throws(EncodeFailed) in
        buffer.writeString("half of it")
        throw EncodeFailed()
      }
      Issue.record("it was written")
    } catch {
      guard case .body(EncodeFailed()) = error else {
        Issue.record("\(error)")
        return
      }
    }
    #expect(buffer == ByteBuffer(string: "before"))
  }
}
