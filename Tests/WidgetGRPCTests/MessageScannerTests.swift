#if GRPC
  import NIOCore
  import Testing

  @testable import WidgetGRPC

  @Suite struct `A scanner of messages` {
    private static func message(_ count: Int, flag: UInt8 = 0) -> [UInt8] {
      [flag] + withUnsafeBytes(of: UInt32(count).bigEndian) { Array($0) }
        + [UInt8](repeating: 1, count: count)
    }

    @Test(arguments: 1...12)
    func `the scanner counts a message's bytes at every split`(pieceBytes: Int) {
      let bytes = Self.message(3) + Self.message(0) + Self.message(7)
      // A message is complete after 8, 13 and 25 bytes.
      var scanner = MessageScanner(bytesMax: 7)
      var start = 0
      while start < bytes.count {
        let end = min(start + pieceBytes, bytes.count)
        #expect(scanner.scan(ByteBuffer(bytes: bytes[start..<end])) == nil)
        let complete = [0, 8, 13, 25].last { $0 <= end } ?? 0
        #expect(scanner.incompleteBytes == end - complete, "after \(end)")
        #expect(scanner.messages == [8, 13, 25].count { $0 <= end })
        #expect(scanner.messageBytes == [0: 0, 8: 3, 13: 3, 25: 10][complete])
        start = end
      }
    }

    @Test func `the scanner finds a message that announces too many bytes`() {
      var scanner = MessageScanner(bytesMax: 7)
      #expect(scanner.scan(ByteBuffer(bytes: Self.message(7))) == nil)
      #expect(scanner.scan(ByteBuffer(bytes: [0, 0, 0, 0])) == nil)
      #expect(scanner.scan(ByteBuffer(bytes: [8])) == .tooLarge)
    }

    @Test(arguments: [1, 2, 255] as [UInt8])
    func `the scanner finds a compressed message`(flag: UInt8) {
      var scanner = MessageScanner(bytesMax: 7)
      #expect(scanner.scan(ByteBuffer(bytes: Self.message(1, flag: flag))) == .compressed)
      scanner = MessageScanner(bytesMax: 7)
      scanner.allowsCompressed = true
      #expect(scanner.scan(ByteBuffer(bytes: Self.message(1, flag: flag))) == nil)
    }
  }
#endif
