#if GRPC
  import NIOCore
  import Testing

  @testable import WidgetGRPC

  @Suite struct `Pieces of a connection's input` {
    private static let opening = [UInt8](repeating: 0x50, count: 24)
    private static let settings = frame(4, [0, 1, 2, 3, 4, 5])
    private static let head = frame(1, flags: 4, stream: 1, [0x82, 0x83])
    private static let openHead = frame(1, stream: 1, [0x82])
    private static let restOfHead = frame(9, flags: 4, stream: 1, [0x83])
    private static let body = frame(0, flags: 1, stream: 1, [UInt8](repeating: 7, count: 100))
    private static let reset = frame(3, stream: 1, [0, 0, 0, 8])
    private static let window = frame(8, [0, 0, 0, 1])
    private static let call = head + body

    private static func frame(
      _ type: UInt8, flags: UInt8 = 0, stream: UInt8 = 0, _ payload: [UInt8]
    ) -> [UInt8] {
      [0, 0, UInt8(payload.count), type, flags, 0, 0, 0, stream] + payload
    }

    /// The pieces of bytes that arrive in parts of these lengths, then the rest.
    private static func pieces(_ bytes: [UInt8], parts: [Int] = []) -> [[UInt8]] {
      var cutter = FrameCutter()
      var found: [[UInt8]] = []
      var rest = bytes[...]
      for length in parts + [bytes.count] {
        cutter.receive(ByteBuffer(bytes: rest.prefix(length)))
        rest = rest.dropFirst(length)
        while cutter.hasMore {
          guard let piece = cutter.next() else {
            Issue.record("no piece, and more is said to be there")
            return found
          }
          found.append(Array(piece.readableBytesView))
        }
        #expect(cutter.next() == nil)
      }
      return found
    }

    @Test func `the pieces of an input have all bytes in order at every split`() {
      let conversation =
        Self.opening + Self.settings + Self.call + Self.window + Self.reset + Self.openHead
        + Self.restOfHead + Self.body
      for first in 0...conversation.count {
        for second in [0, 1, 8, 40] {
          let found = Self.pieces(conversation, parts: [first, second])
          #expect(Array(found.joined()) == conversation, "cut at \(first) and \(second) later")
          #expect(found.allSatisfy { !$0.isEmpty })
        }
      }
      let bytes = Self.pieces(
        conversation, parts: [Int](repeating: 1, count: conversation.count))
      #expect(Array(bytes.joined()) == conversation)
    }

    @Test func `the cutter counts the bytes of frames and header blocks that are not complete`() {
      let continuation = Self.frame(9, stream: 1, [UInt8](repeating: 0x82, count: 50))
      let parts: [(bytes: [UInt8], staysOpen: Bool, isData: Bool)] = [
        (Self.settings, false, false), (Self.openHead, true, false), (continuation, true, false),
        (Self.restOfHead, false, false), (Self.body, false, true), (Self.window, false, false),
      ]
      var cutter = FrameCutter(openingBytes: 0)
      var open = 0
      for part in parts {
        let before = cutter.completeCount
        // Without its last byte, a frame is not complete. A head is passed on when it is there whole.
        for end in 0..<part.bytes.count {
          #expect(cutter.incompleteBytes == open + (part.isData || end < 9 ? 0 : end))
          cutter.receive(ByteBuffer(bytes: part.bytes[end..<end + 1]))
          while cutter.hasMore, cutter.next() != nil {}
        }
        open = part.staysOpen ? open + part.bytes.count : 0
        #expect(cutter.incompleteBytes == open)
        #expect(cutter.completeCount - before == (part.staysOpen ? 0 : 1))
      }
    }

    private static func onStream(_ id: UInt8, _ frames: [UInt8]...) -> [UInt8] {
      frames.flatMap { frame in frame.prefix(8) + [id] + frame.dropFirst(9) }
    }

    @Test func `nothing of refused streams is passed on`() {
      let before = Self.opening + Self.call
      let refused =
        Self.onStream(3, Self.head, Self.body, Self.window, Self.reset)
        + Self.onStream(5, Self.openHead, Self.restOfHead, Self.body)
      let expected = Self.onStream(1, Self.body, Self.reset) + Self.settings
      let after = refused + expected
      for cut in 0...after.count {
        var cutter = FrameCutter()
        var passed: [UInt8] = []
        func take(_ bytes: ArraySlice<UInt8>) {
          cutter.receive(ByteBuffer(bytes: bytes))
          while cutter.hasMore {
            if let piece = cutter.next() { passed += Array(piece.readableBytesView) }
          }
        }
        take(before[...])
        cutter.refuseNewStreams()
        cutter.refuseNewStreams()
        take(after.prefix(cut))
        take(after.dropFirst(cut))
        #expect(passed == before + expected, "cut at \(cut)")
        #expect(cutter.takeRefusedIDs() == [3, 5], "cut at \(cut)")
        #expect(cutter.takeRefusedIDs() == [])
        #expect(cutter.closingReason == nil)
      }
    }

    @Test(arguments: [
      ([onStream(3, head), onStream(5, head)], false),
      ([onStream(3, head), onStream(5, head), onStream(7, head)], true),
      ([onStream(3, head), onStream(3, head), onStream(3, head)], true),
      // The daemon cannot read headers after headers that were dropped.
      ([onStream(1, head), onStream(3, head)], false),
      ([onStream(3, head), onStream(1, head)], true),
    ])
    func `a connection is closed for heads that were not on their way`(
      frames: [[UInt8]], isClosed: Bool
    ) {
      var cutter = FrameCutter(openingBytes: 0, streamsMax: 2)
      func take(_ bytes: [UInt8]) {
        cutter.receive(ByteBuffer(bytes: bytes))
        while cutter.hasMore { _ = cutter.next() }
      }
      take(Self.call)
      cutter.refuseNewStreams()
      take(Array(frames.joined()))
      #expect((cutter.closingReason != nil) == isClosed)
    }

    @Test func `data of refused streams is dropped, for a bounded number of streams`() {
      func data(_ id: UInt8) -> [UInt8] { Self.body.prefix(8) + [id] + Self.body.dropFirst(9) }
      var cutter = FrameCutter(openingBytes: 0, streamsMax: 2)
      var passed: [UInt8] = []
      func take(_ bytes: [UInt8]) {
        cutter.receive(ByteBuffer(bytes: bytes))
        while cutter.hasMore {
          if let piece = cutter.next() { passed += Array(piece.readableBytesView) }
        }
      }
      for id: UInt32 in [1, 3, 5] { cutter.refuse(id) }
      take(data(1) + data(3) + data(5) + data(7) + data(3) + Self.reset)
      #expect(passed == data(1) + data(7) + Self.reset)
      #expect(cutter.takeDroppedBytes() == 300)
      #expect(cutter.takeDroppedBytes() == 0)
    }

    @Test func `a piece causes work of a call only if it belongs to a stream`() {
      var cutter = FrameCutter(openingBytes: 0)
      for (bytes, isOfStream) in [
        (Self.settings, false), (Self.call, true), (Self.window, false), (Self.body, true),
        (Self.reset, true), (Self.window, false),
      ] {
        cutter.receive(ByteBuffer(bytes: bytes))
        #expect(cutter.next() == ByteBuffer(bytes: bytes))
        #expect(cutter.pieceIsOfStream == isOfStream)
      }
    }

    @Test func `a piece has one call with its message, and frames of the connection`() {
      let calls = Self.pieces(
        Self.opening + Self.settings + Self.window + Self.call + Self.call + Self.window
          + Self.openHead + Self.restOfHead + Self.body)
      #expect(
        calls == [
          Self.opening + Self.settings + Self.window, Self.call, Self.call + Self.window,
          Self.openHead + Self.restOfHead + Self.body,
        ])
    }

    @Test(arguments: [head, reset, settings])
    func `a piece has at most one frame that takes long`(frame: [UInt8]) {
      let found = Self.pieces(Self.opening + frame + frame + Self.window + frame)
      #expect(found == [Self.opening + frame, frame + Self.window, frame])
    }

    @Test func `a piece has a bounded number of small frames`() {
      let count = FrameCutter.framesMax
      let windows = Array(repeatElement(Self.window, count: 3 * count + 1).joined())
      let found = Self.pieces(Self.opening + windows)
      #expect(found.map(\.count) == [24 + 13 * count, 13 * count, 13 * count, 13])
    }

    @Test func `a long payload is passed on as it arrives, a head only when complete`() {
      let long: [UInt8] = [0, 0x40, 0, 0, 0, 0, 0, 0, 1] + [UInt8](repeating: 1, count: 1 << 14)
      let found = Self.pieces(Self.opening + long + Self.window, parts: [24 + 5, 1_000])
      #expect(found.map(\.count) == [24, 5 + 1_000, long.count - 1_005 + 13])
    }
  }
#endif
