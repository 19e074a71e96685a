#if GRPC
  import NIOCore

  /// Removes a peer's pings and resets from a connection before HTTP/2 sees them.
  ///
  /// NIO's HTTP/2 treats 200 pings or 200 resets within half a minute as an attack, see
  /// https://github.com/apple/swift-nio-http2/pull/561. It then closes the connection with all its
  /// streams. The limits are settings of NIO's handler, but grpc-swift-nio-transport 2.9.2 does not
  /// pass them on for servers (`NIOChannelPipeline+GRPC.swift`). Ordinary clients reach the limits:
  /// - Some clients measure a connection with a ping for each batch of received data. A busy watch
  ///   causes hundreds in a second. An answer costs 17 bytes.
  /// - A client resets a stream when a deadline expires and when a watch is cancelled. Such a call
  ///   is ended here, as if the daemon had reset it, within `stream_resets_max`.
  ///
  /// Answers wait for the peer to read. While it does not read, its frames go to HTTP/2 and count
  /// there.
  final class ControlFrames: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var scanner = ControlFrameScanner()
    private let connection: CallerConnection

    init(connection: CallerConnection) {
      self.connection = connection
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      var answers = ByteBuffer()
      scanner.receive(unwrapInboundIn(data))
      while let piece = scanner.next() {
        switch piece {
        case .ping(let payload, _) where context.channel.isWritable:
          ControlFrameScanner.writeAnswer(to: payload, into: &answers)
        case .reset(let streamID, _)
        where context.channel.isWritable && connection.cancelCall(on: streamID):
          break
        case .other(let bytes), .ping(_, let bytes), .reset(_, let bytes):
          context.fireChannelRead(wrapInboundOut(bytes))
        }
      }
      guard answers.readableBytes > 0 else { return }
      context.write(wrapOutboundOut(answers), promise: nil)
      context.flush()
    }

    /// Ends the read that a connection's error has cut short.
    ///
    /// NIO's HTTP/2 keeps the streams of the current read until the read is complete
    /// (`didReadChannels` in `HTTP2CommonInboundStreamMultiplexer` of swift-nio-http2 1.46.0). A
    /// socket that is closed while it is read completes no read, and then the streams and the
    /// connection hold each other for ever. No issue is known upstream.
    func channelInactive(context: ChannelHandlerContext) {
      context.fireChannelInactive()
      // After the frames of this read, and before the handlers are removed.
      context.eventLoop.assumeIsolated().execute { context.fireChannelReadComplete() }
    }
  }

  /// Finds pings and resets in the bytes of a client's side of an HTTP/2 connection.
  ///
  /// A value: bytes in, pieces out, in order. It buffers at most one incomplete control frame. Of
  /// other frames it reads only the heads. Malformed frames pass unchanged.
  struct ControlFrameScanner {
    enum Piece: Equatable {
      /// A ping that asks for an answer, and its frame.
      case ping(UInt64, ByteBuffer)
      /// The reset of a stream, and its frame.
      case reset(UInt32, ByteBuffer)
      /// Other frames, or parts of them.
      case other(ByteBuffer)
    }

    /// The number of bytes to pass unread: the connection preface, then the payload of a frame.
    private var passing: Int
    /// Received bytes that `next` has not returned.
    private var arrived = ByteBuffer()
    /// Whether a header block is open. Other frames are not allowed in it.
    private var isInHeaderBlock = false

    fileprivate static let headBytes = 9
    private static let endHeaders: UInt8 = 4

    /// - Parameter openingBytes: The length of the connection preface.
    init(openingBytes: Int = 24) {
      passing = openingBytes
    }

    /// Receives bytes. Before the next call, call `next` until it returns nil.
    mutating func receive(_ bytes: ByteBuffer) {
      guard arrived.readableBytes > 0 else { return arrived = bytes }
      arrived.writeImmutableBuffer(bytes)
    }

    /// The next piece. Nil if it needs more bytes.
    mutating func next() -> Piece? {
      let unread = arrived
      while arrived.readableBytes > 0 {
        if passing > 0 {
          let count = min(passing, arrived.readableBytes)
          arrived.moveReaderIndex(forwardBy: count)
          passing -= count
          continue
        }
        guard let head = arrived.peekHead() else { break }
        guard head.isPing || head.isReset, !isInHeaderBlock else {
          follow(head)
          passing = head.length + ControlFrameScanner.headBytes
          continue
        }
        // Return the bytes before the frame first.
        guard arrived.readerIndex == unread.readerIndex else { break }
        guard let frame = arrived.readSlice(length: ControlFrameScanner.headBytes + head.length)
        else { break }
        return piece(head, frame)
      }
      let passed = unread.beginning(upTo: arrived)
      guard passed.readableBytes == 0 else { return .other(passed) }
      // Copy a small rest, so that it does not retain a large buffer.
      arrived = arrived.readableBytes == 0 ? ByteBuffer() : ByteBuffer(buffer: arrived.slice())
      return nil
    }

    private func piece(_ head: FrameHead, _ frame: ByteBuffer) -> Piece {
      guard head.isPing else { return .reset(head.streamID, frame) }
      let payload: UInt64? = frame.getInteger(at: frame.readerIndex + ControlFrameScanner.headBytes)
      return payload.map { .ping($0, frame) } ?? .other(frame)
    }

    private mutating func follow(_ head: FrameHead) {
      switch head.type {
      case FrameHead.headers, FrameHead.pushPromise, FrameHead.continuation:
        isInHeaderBlock = head.flags & ControlFrameScanner.endHeaders == 0
      default: break
      }
    }

    static func writeAnswer(to payload: UInt64, into buffer: inout ByteBuffer) {
      buffer.writeBytes([0, 0, UInt8(FrameHead.pingBytes), FrameHead.ping, 1, 0, 0, 0, 0])
      buffer.writeInteger(payload)
    }
  }

  /// The head of an HTTP/2 frame.
  private struct FrameHead {
    let length: Int
    let type: UInt8
    let flags: UInt8
    let streamID: UInt32

    static let headers: UInt8 = 1
    static let reset: UInt8 = 3
    static let pushPromise: UInt8 = 5
    static let ping: UInt8 = 6
    static let continuation: UInt8 = 9
    static let pingBytes = 8
    static let resetBytes = 4

    /// Whether it asks for an answer.
    var isPing: Bool {
      type == FrameHead.ping && flags & 1 == 0 && streamID == 0 && length == FrameHead.pingBytes
    }

    var isReset: Bool {
      type == FrameHead.reset && streamID != 0 && length == FrameHead.resetBytes
    }
  }

  /// A rate limit for the resets of a connection, per half minute.
  ///
  /// A value: the caller passes in the time.
  struct ResetAllowance {
    let maximum: Int
    private var used = 0
    private var windowEnd: NIODeadline?

    static let window = TimeAmount.seconds(30)

    init(maximum: Int) {
      self.maximum = maximum
    }

    /// Counts a reset. Returns false if the window's limit is reached.
    mutating func take(at now: NIODeadline) -> Bool {
      if windowEnd.map({ now >= $0 }) ?? true {
        windowEnd = now + ResetAllowance.window
        used = 0
      }
      guard used < maximum else { return false }
      used += 1
      return true
    }
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
