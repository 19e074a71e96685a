import NIOCore
import SeededRandom
import Testing
import WidgetTransport

/// Bytes that no correct peer sends. The seed names the run; a failure prints it.
@Suite struct FuzzTests {
  @Test(arguments: 0..<16 as Range<UInt64>)
  func `random bytes neither crash nor pile up`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var reader = FrameReader()
    var server = ServerStreams(openStreamsMax: 4)
    var client = ClientStreams()
    for kind in [ClientStreams.Kind.unary, .server, .bidirectional, .server] {
      _ = client.open(kind)
    }
    var appended = 0
    for _ in 0..<400 {
      let piece = FuzzTests.piece(using: &random)
      appended += piece.readableBytes
      reader.append(piece)
      while let item = reader.next() {
        let header: FrameHeader
        switch item {
        case .frame(let frame):
          #expect(frame.data.readableBytes == Int(frame.header.dataBytes))
          header = frame.header
        case .oversize(let found):
          #expect(found.isOversize)
          header = found
        }
        _ = server.receive(header)
        _ = client.receive(header)
        if Bool.random(using: &random), let open = server.openStreamIDs.min() { server.end(open) }
        #expect(server.openCount <= 4)
        #expect(client.openCount <= 4)
      }
      #expect(reader.bufferedBytes <= FrameHeader.bytes + FrameHeader.frameDataBytesMax)
    }
    #expect(appended > 0)
  }

  @Test(arguments: 0..<16 as Range<UInt64>)
  func `random frames are read for any split of their bytes`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let frames = (0..<40).map { _ in
      Frame.sample(
        FrameType(rawValue: .random(in: 0...4, using: &random)),
        flags: FrameFlags(rawValue: .random(in: 0...7, using: &random)),
        streamID: .random(in: 0...20, using: &random),
        data: String(repeating: "z", count: .random(in: 0...300, using: &random)))
    }
    let bytes = frames.bytes
    let cuts = (0..<60).map { _ in Int.random(in: 0...bytes.readableBytes, using: &random) }
    var reader = FrameReader()
    var found: [FrameReader.Item] = []
    for piece in bytes.pieces(at: cuts.sorted()) {
      reader.append(piece)
      if Bool.random(using: &random) { found += reader.drain() }
    }
    found += reader.drain()
    #expect(found == frames.map { .frame($0) })
    #expect(!reader.isInsideFrame)
  }

  /// One half is noise, the other half has nearly valid headers that reach the state machines.
  private static func piece(using random: inout SeededGenerator) -> ByteBuffer {
    var buffer = ByteBuffer()
    if Bool.random(using: &random) {
      for _ in 0..<Int.random(in: 0...200, using: &random) {
        buffer.writeInteger(UInt8.random(in: 0...255, using: &random))
      }
    } else {
      let lengths: [UInt32] = [0, 1, 30, 5000, 4 << 20, (4 << 20) + 1, .max]
      buffer.writeFrameHeader(
        FrameHeader(
          dataBytes: lengths.randomElement(using: &random) ?? 0,
          streamID: .random(in: 0...30, using: &random),
          type: FrameType(rawValue: .random(in: 0...4, using: &random)),
          flags: FrameFlags(rawValue: .random(in: 0...255, using: &random))))
      buffer.writeRepeatingByte(0, count: .random(in: 0...6000, using: &random))
    }
    return buffer
  }
}
