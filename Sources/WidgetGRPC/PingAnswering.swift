#if GRPC
  import NIOCore

  /// Answers the pings of a peer, before HTTP/2 sees them.
  ///
  /// Some clients measure a connection with a ping for each batch of data they receive; that of a
  /// busy watch are hundreds in a second. NIO's HTTP/2 takes 200 in half a minute for an attack and
  /// closes the connection, and grpc-swift has no setting for it. An answer costs 17 bytes, which the
  /// peer has to take: while it takes nothing, its pings go to HTTP/2 and count there.
  ///
  /// It follows the frames by their heads alone. What is no ping, or none that should be answered,
  /// passes as it is.
  final class PingAnswering: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var scanner = PingScanner()

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      var answers = ByteBuffer()
      let rest = scanner.scan(unwrapInboundIn(data), answersPings: context.channel.isWritable) {
        PingScanner.writeAnswer(to: $0, into: &answers)
      }
      if answers.readableBytes > 0 {
        context.write(wrapOutboundOut(answers), promise: nil)
        context.flush()
      }
      if rest.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(rest)) }
    }
  }

  /// Finds pings in the bytes of a client's side of an HTTP/2 connection.
  ///
  /// A value: bytes in, bytes and pings out. It keeps at most the head of a frame and a ping.
  struct PingScanner {
    /// Bytes that pass unseen: the connection's opening, then the payload of a frame.
    private var passing: Int
    /// The beginning of a frame whose head, or whose ping, is not complete.
    private var held = ByteBuffer()
    /// Whether a header block is open, in which no other frame may come.
    private var isInHeaderBlock = false

    private static let headBytes = 9
    private static let pingBytes = 8
    private enum FrameType {
      static let headers: UInt8 = 1
      static let pushPromise: UInt8 = 5
      static let ping: UInt8 = 6
      static let continuation: UInt8 = 9
    }
    private static let endHeaders: UInt8 = 4

    /// - Parameter openingBytes: how many bytes come before the first frame.
    init(openingBytes: Int = 24) {
      passing = openingBytes
    }

    /// Looks at what arrived. Returns it without the pings that were answered.
    mutating func scan(
      _ bytes: ByteBuffer, answersPings: Bool, onPing: (UInt64) -> Void
    ) -> ByteBuffer {
      var bytes = bytes
      if held.readableBytes > 0 {
        held.writeBuffer(&bytes)
        bytes = held
        held = ByteBuffer()
      }
      // As long as no ping is taken out, what passes is the beginning of what arrived.
      let arrived = bytes
      var passed: ByteBuffer?
      while bytes.readableBytes > 0 {
        if passing > 0 {
          pass(min(passing, bytes.readableBytes), of: &bytes, to: &passed)
          continue
        }
        guard let head = bytes.peekHead() else { break }
        guard answersPings, head.isPing, !isInHeaderBlock else {
          follow(head)
          passing = head.length + PingScanner.headBytes
          continue
        }
        guard bytes.readableBytes >= PingScanner.headBytes + PingScanner.pingBytes else { break }
        passed = passed ?? arrived.beginning(upTo: bytes)
        bytes.moveReaderIndex(forwardBy: PingScanner.headBytes)
        if let payload = bytes.readInteger(as: UInt64.self) { onPing(payload) }
      }
      if bytes.readableBytes > 0 { held = ByteBuffer(buffer: bytes) }
      return passed ?? arrived.beginning(upTo: bytes)
    }

    private mutating func pass(
      _ count: Int, of bytes: inout ByteBuffer, to passed: inout ByteBuffer?
    ) {
      passing -= count
      if var slice = bytes.readSlice(length: count), passed != nil { passed?.writeBuffer(&slice) }
    }

    private mutating func follow(_ head: FrameHead) {
      switch head.type {
      case FrameType.headers, FrameType.pushPromise, FrameType.continuation:
        isInHeaderBlock = head.flags & PingScanner.endHeaders == 0
      default: break
      }
    }

    static func writeAnswer(to payload: UInt64, into buffer: inout ByteBuffer) {
      buffer.writeBytes([0, 0, UInt8(pingBytes), FrameType.ping, 1, 0, 0, 0, 0])
      buffer.writeInteger(payload)
    }
  }

  /// The head of an HTTP/2 frame.
  private struct FrameHead {
    let length: Int
    let type: UInt8
    let flags: UInt8
    let streamID: UInt32

    /// Whether it asks for an answer.
    var isPing: Bool { type == 6 && flags & 1 == 0 && streamID == 0 && length == 8 }
  }

  extension ByteBuffer {
    /// What was read from this buffer to get to `rest`.
    fileprivate func beginning(upTo rest: ByteBuffer) -> ByteBuffer {
      getSlice(at: readerIndex, length: rest.readerIndex - readerIndex) ?? ByteBuffer()
    }

    fileprivate func peekHead() -> FrameHead? {
      guard let first = getInteger(at: readerIndex, as: UInt32.self),
        let flags = getInteger(at: readerIndex + 4, as: UInt8.self),
        let streamID = getInteger(at: readerIndex + 5, as: UInt32.self)
      else { return nil }
      return FrameHead(
        length: Int(first >> 8), type: UInt8(truncatingIfNeeded: first), flags: flags,
        streamID: streamID & 0x7fff_ffff)
    }
  }
#endif
