#if GRPC
  import NIOCore
  import Testing

  @testable import WidgetGRPC

  @Suite struct `Pings of a peer` {
    private static let opening = [UInt8](repeating: 0x50, count: 24)
    private static let settings: [UInt8] = [0, 0, 6, 4, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6]
    private static let data: [UInt8] = [0, 0, 3, 0, 1, 0, 0, 0, 1, 7, 8, 9]
    private static func ping(_ value: UInt8, flags: UInt8 = 0, stream: UInt8 = 0) -> [UInt8] {
      [0, 0, 8, 6, flags, 0, 0, 0, stream] + [UInt8](repeating: value, count: 8)
    }
    private static let openHeaders: [UInt8] = [0, 0, 1, 1, 0, 0, 0, 0, 1, 0x82]
    private static let lastHeaders: [UInt8] = [0, 0, 1, 9, 4, 0, 0, 0, 1, 0x82]

    /// What passes and what is answered, if the bytes come in pieces.
    private static func scan(
      _ bytes: [UInt8], pieces: [Int], answersPings: Bool = true
    ) -> (passed: [UInt8], pings: [UInt64]) {
      var scanner = PingScanner()
      var passed: [UInt8] = []
      var pings: [UInt64] = []
      var rest = bytes[...]
      for piece in pieces + [bytes.count] {
        let part = rest.prefix(piece)
        rest = rest.dropFirst(piece)
        guard !part.isEmpty else { continue }
        let out = scanner.scan(ByteBuffer(bytes: part), answersPings: answersPings) {
          pings.append($0)
        }
        passed += Array(out.readableBytesView)
      }
      return (passed, pings)
    }

    private static let conversation =
      opening + settings + ping(1) + data + ping(2) + ping(3) + data
    private static let withoutPings = opening + settings + data + data

    @Test func `are taken out and answered, however the bytes are cut`() {
      let pings = [1, 2, 3].map { UInt64($0) * 0x0101_0101_0101_0101 }
      for first in 0...Self.conversation.count {
        for second in [0, 1, 8, 17, 40] {
          let result = Self.scan(Self.conversation, pieces: [first, second])
          #expect(result.passed == Self.withoutPings, "cut at \(first) and \(second) later")
          #expect(result.pings == pings, "cut at \(first) and \(second) later")
        }
      }
      let single = Self.scan(
        Self.conversation, pieces: [Int](repeating: 1, count: Self.conversation.count))
      #expect(single.passed == Self.withoutPings)
      #expect(single.pings == pings)
    }

    @Test func `pass while answers would not be taken`() {
      let result = Self.scan(Self.conversation, pieces: [], answersPings: false)
      #expect(result.passed == Self.conversation)
      #expect(result.pings.isEmpty)
    }

    @Test(arguments: [
      ping(1, flags: 1), ping(1, stream: 1), [0, 0, 7, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7],
      openHeaders + ping(1),
    ])
    func `that are none, or out of place, pass`(bytes: [UInt8]) {
      let result = Self.scan(Self.opening + bytes + Self.data, pieces: [30, 3])
      #expect(result.passed == Self.opening + bytes + Self.data)
      #expect(result.pings.isEmpty)
    }

    @Test func `are answered again after a header block`() {
      let bytes = Self.opening + Self.openHeaders + Self.lastHeaders + Self.ping(4)
      #expect(Self.scan(bytes, pieces: []).pings == [0x0404_0404_0404_0404])
    }

    @Test func `are answered with their own payload`() {
      var answer = ByteBuffer()
      PingScanner.writeAnswer(to: 0x0102_0304_0506_0708, into: &answer)
      #expect(
        Array(answer.readableBytesView)
          == [0, 0, 8, 6, 1, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8])
    }
  }
#endif
