#if GRPC
  import NIOCore

  /// Finds the beginnings of messages in a peer's stream: each has a flag and a length before it. A
  /// value: bytes in, findings out.
  struct MessageScanner {
    /// The fault of a message.
    enum Fault: Equatable {
      /// The length of the message is above the limit.
      case tooLarge
      /// The message is marked as compressed, which is not allowed.
      case compressed
    }

    /// The maximum size of a message, in bytes.
    var bytesMax: Int
    var allowsCompressed = false
    private var prefix = ByteBuffer()
    /// The length of the message that is arriving.
    private var length = 0
    /// The bytes of the message that have not arrived.
    private var missingBytes = 0
    /// The number of complete messages, and their bytes without prefixes.
    private(set) var messages = 0
    private(set) var messageBytes = 0
    /// The received bytes of an incomplete message; 0 between messages.
    private(set) var incompleteBytes = 0

    /// The flag and the length.
    static let prefixBytes = 5

    init(bytesMax: Int) { self.bytesMax = bytesMax }

    /// Scans the next bytes. After a fault, the rest of the stream cannot be read.
    mutating func scan(_ bytes: ByteBuffer) -> Fault? {
      var bytes = bytes
      while bytes.readableBytes > 0 {
        if missingBytes > 0 {
          let count = min(missingBytes, bytes.readableBytes)
          bytes.moveReaderIndex(forwardBy: count)
          missingBytes -= count
          incompleteBytes += count
        } else {
          let count = min(MessageScanner.prefixBytes - prefix.readableBytes, bytes.readableBytes)
          if var part = bytes.readSlice(length: count) { prefix.writeBuffer(&part) }
          incompleteBytes += count
          guard
            let (flag, size) = prefix.readMultipleIntegers(as: (UInt8, UInt32).self)
          else { return nil }
          prefix.clear()
          if flag != 0, !allowsCompressed { return .compressed }
          if size > bytesMax { return .tooLarge }
          (length, missingBytes) = (Int(size), Int(size))
        }
        guard missingBytes == 0 else { continue }
        incompleteBytes = 0
        messages += 1
        messageBytes += length
      }
      return nil
    }
  }
#endif
