#if GRPC
  import NIOCore
  import Testing

  @testable import WidgetGRPC

  /// NIO's HTTP/2 ends all streams of a connection in one step after these frames.
  @Suite struct `Frames for which HTTP/2 takes a peer for an attacker` {
    private static func frame(
      _ type: UInt8, flags: UInt8 = 0, stream: UInt8 = 0, _ payload: [UInt8] = []
    ) -> [UInt8] {
      [0, 0, UInt8(payload.count), type, flags, 0, 0, 0, stream] + payload
    }

    private static let begin = frame(1, flags: 4, stream: 1, [0x82])
    private static let empty = frame(0, stream: 1)
    private static let emptyEnd = frame(0, flags: 1, stream: 1)
    private static let padding = frame(0, flags: 8, stream: 1, [2, 0, 0])
    private static let noPadding = frame(0, flags: 8, stream: 1, [0])
    private static let padded = frame(0, flags: 8, stream: 1, [1, 7, 0])
    private static let data = frame(0, stream: 1, [7])
    private static let dataEnd = frame(0, flags: 1, stream: 1, [7])
    private static let window = frame(8, [0, 0, 0, 1])
    private static let settings = frame(4)
    private static let acknowledgement = frame(4, flags: 1)
    private static let priority = frame(2, stream: 1, [0, 0, 0, 0, 16])
    private static let pong = frame(6, flags: 1, [1, 2, 3, 4, 5, 6, 7, 8])
    private static let ping = frame(6, [1, 2, 3, 4, 5, 6, 7, 8])
    private static let reset = frame(3, stream: 1, [0, 0, 0, 8])
    private static let start = NIODeadline.uptimeNanoseconds(1_000)

    /// The index of the frame that HTTP/2 must not get. nil if it gets all.
    private static func flood(
      _ frames: [[UInt8]], at time: (Int) -> NIODeadline = { _ in Self.start }
    ) -> Int? {
      var scanner = ControlFrameScanner(openingBytes: 0)
      for (index, frame) in frames.enumerated() {
        let now = time(index)
        scanner.receive(ByteBuffer(bytes: frame))
        while let piece = scanner.next(at: now) {
          switch piece {
          case .ping(_, let bytes), .reset(_, let bytes): scanner.count(bytes, at: now)
          case .other: break
          }
        }
        if scanner.isFlood { return index }
      }
      return nil
    }

    @Test(arguments: [
      [begin, empty, data, dataEnd],
      [begin, empty, emptyEnd, begin, empty, emptyEnd],
      [begin, padding, data, begin, padding, dataEnd, noPadding],
      [begin, empty, begin, empty, begin, empty],
      [begin, padded, padded, padded, padded],
      [begin, empty, window, settings, dataEnd, empty],
    ])
    func `empty data is allowed once between the beginnings and ends of requests`(
      frames: [[UInt8]]
    ) {
      #expect(Self.flood(frames) == nil)
    }

    @Test(arguments: [
      ([begin, empty, empty], 2), ([begin, padding, padding], 2), ([empty, noPadding], 1),
      ([begin, empty, data, empty], 3), ([begin, empty, padded, window, padding], 4),
      ([begin, dataEnd, empty, reset, empty], 4),
    ])
    func `the second empty data is one too many, with other frames between`(
      frames: [[UInt8]], index: Int
    ) {
      #expect(Self.flood(frames) == index)
    }

    @Test func `the length of the padding is found at every split`() {
      let frames = Self.begin + Self.padding + Self.padding
      for cut in 0...frames.count {
        var scanner = ControlFrameScanner(openingBytes: 0)
        var passed: [UInt8] = []
        for part in [frames.prefix(cut), frames.dropFirst(cut)] {
          scanner.receive(ByteBuffer(bytes: part))
          while case .other(let bytes)? = scanner.next(at: Self.start) {
            passed += Array(bytes.readableBytesView)
          }
        }
        #expect(scanner.isFlood, "cut at \(cut)")
        #expect(passed == Self.begin + Self.padding, "cut at \(cut)")
      }
    }

    @Test(arguments: [
      [settings], [acknowledgement], [priority], [ping], [pong], [reset],
      [settings, priority, pong, frame(10, [0, 0]), frame(12)],
    ])
    func `control frames and resets have a maximum in a window of time`(kinds: [[UInt8]]) {
      let maximum = FloodLimits.framesMax
      let frames = (0...maximum).map { kinds[$0 % kinds.count] }
      #expect(Self.flood(frames) == maximum)
      // The first frame is forgotten when the last one comes.
      let later = Self.start + FloodLimits.window + .nanoseconds(1)
      let times = { (index: Int) in index < maximum ? Self.start : later }
      #expect(Self.flood(frames, at: times) == nil)
      #expect(Self.flood(frames + frames, at: times) == 2 * maximum)
    }

    @Test func `resets and other control frames count apart`() {
      let frames = (0..<2 * FloodLimits.framesMax).map {
        $0.isMultiple(of: 2) ? Self.reset : Self.settings
      }
      #expect(Self.flood(frames) == nil)
      #expect(Self.flood([[UInt8]](repeating: Self.window, count: 1_000)) == nil)
    }

    @Test func `the frames before such a frame pass, and nothing after it`() {
      let before = Self.begin + Self.dataEnd + Self.begin + Self.empty
      var scanner = ControlFrameScanner(openingBytes: 0)
      scanner.receive(ByteBuffer(bytes: before + Self.empty + Self.ping + Self.begin))
      let first = scanner.next(at: Self.start)
      #expect(first == ControlFrameScanner.Piece.other(ByteBuffer(bytes: before)))
      #expect(scanner.isFlood)
      let second = scanner.next(at: Self.start)
      #expect(second == nil)
      scanner.receive(ByteBuffer(bytes: Self.begin))
      let third = scanner.next(at: Self.start)
      #expect(third == nil)
    }

    @Test func `the last frame to such a peer tells it to calm down`() {
      var bytes = ByteBuffer()
      ControlFrameScanner.writeGoAway(into: &bytes)
      #expect(
        Array(bytes.readableBytesView)
          == [0, 0, 8, 7, 0, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 11])
    }
  }
#endif
