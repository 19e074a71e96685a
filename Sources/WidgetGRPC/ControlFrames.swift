#if GRPC
  import NIOCore
  import WidgetServer

  /// Removes a peer's pings from a connection before HTTP/2 sees them, and most resets.
  ///
  /// NIO's HTTP/2 treats 200 pings or 200 resets within half a minute as an attack, see
  /// https://github.com/apple/swift-nio-http2/pull/561. It then closes the connection with all its
  /// streams. The limits are settings of NIO's handler, but grpc-swift-nio-transport 2.9.2 does not
  /// pass them on for servers (`NIOChannelPipeline+GRPC.swift`). Ordinary clients reach the limits:
  /// - Some clients measure a connection with a ping for each batch of received data
  ///   (https://github.com/grpc/grpc-swift-2/issues/5). A busy watch causes hundreds in a second. An
  ///   answer costs 17 bytes.
  /// - A client resets a stream when a deadline expires and when a watch is cancelled. Such a call
  ///   is ended here, as if the daemon had reset it, within `stream_resets_max`.
  ///
  /// The answers to the pings of one turn are one write, at the end of the loop's work. Many small
  /// writes would take several times as much memory as their bytes, so few are under way. Later
  /// answers wait until the socket has taken one of them. All answers count as unsent bytes. While the
  /// socket is full, the peer's resets go to HTTP/2. While the peer has not taken many answers, its
  /// pings count as HTTP/2 would count them. The peer could not take the answers of the present turn,
  /// so the lower limit is not for these. Counted pings are answered here, too: HTTP/2 would answer
  /// them before the pings whose answers wait.
  ///
  /// Before HTTP/2 would take a peer for an attacker, the connection is closed here. Its calls then
  /// end one by one, see `LingeringChannel`. NIO drops the bytes that a socket has not taken when it
  /// closes the socket. So the socket is closed when it has taken the frame that tells the reason. If
  /// a peer has not taken `pingAnswerBytesEnd` of answers, nobody waits for this.
  final class ControlFrames: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var scanner = ControlFrameScanner()
    private let connection: CallerConnection
    /// The maximum time for which the connection waits for its peer to read before it is closed.
    private let closingMax: TimeAmount
    /// Whether the connection is being closed. HTTP/2 gets no more frames.
    private var isClosing = false
    /// Whether far too many answers to pings wait for the peer.
    private var isDeaf = false
    /// The answers to pings that were not written.
    private(set) var answers = ByteBuffer()
    /// The bytes of answers that were not offered to the socket, although it may have room.
    private var newBytes = 0
    /// Whether the next answers wait for the end of the loop's work.
    private var isScheduled = false
    /// The number of writes of answers that the socket has not taken.
    private var writeCount = 0
    /// The bytes of these writes.
    private var writtenBytes = 0

    /// The default of `closingMax`.
    static let closingMax = TimeAmount.seconds(30)
    /// The maximum bytes of answers in the writes under way: whole frames, because HTTP/2 can write
    /// between two writes. More would make the channel unwritable, even if the peer reads.
    static let writtenBytesMax =
      (32 << 10) / ControlFrameScanner.answerBytes * ControlFrameScanner.answerBytes
    /// The maximum number of writes under way. With one, an answer would wait until the socket has taken
    /// the former one, and then for all that was written meanwhile.
    static let writesMax = 8

    init(connection: CallerConnection, closingMax: TimeAmount = ControlFrames.closingMax) {
      self.connection = connection
      self.closingMax = closingMax
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      guard !isClosing else { return }
      scanner.receive(unwrapInboundIn(data))
      while let piece = scanner.next() {
        let passing: ByteBuffer
        switch piece {
        case .ping(let payload, let frame):
          answer(payload, frame)
          continue
        case .reset(let streamID, _)
        where context.channel.isWritable && connection.cancelCall(on: streamID):
          continue
        case .reset(_, let frame):
          scanner.count(frame)
          guard !scanner.isFlood else { continue }
          passing = frame
        case .other(let bytes):
          passing = bytes
        }
        context.fireChannelRead(wrapInboundOut(passing))
      }
      if scanner.isFlood { return close(context) }
      guard !isScheduled else { return }
      guard nextWriteBytes > 0 else {
        // They wait until the socket has taken earlier ones.
        if answers.readableBytes > 0 { newBytes = 0 }
        return
      }
      isScheduled = true
      context.eventLoop.assumeIsolated().execute {
        self.isScheduled = false
        self.writeAnswers(context)
        let offeredBytes = self.newBytes
        // `TurnFlushing` offers them to the socket before this.
        context.eventLoop.assumeIsolated().execute {
          self.newBytes = max(0, self.newBytes - offeredBytes)
        }
      }
    }

    /// Answers a ping, after all earlier ones. A peer that does not take them has few more pings.
    private func answer(_ payload: UInt64, _ frame: ByteBuffer) {
      if !connection.mayAnswerPings(besides: newBytes) {
        scanner.count(frame)
        isDeaf = connection.hasTooManyPingAnswers
        if isDeaf { scanner.stop() }
        guard !scanner.isFlood else { return }
      }
      ControlFrameScanner.writeAnswer(to: payload, into: &answers)
      connection.pingAnswerBytes += ControlFrameScanner.answerBytes
      newBytes += ControlFrameScanner.answerBytes
    }

    /// The size of the next write: whole answers. 0 if there are none, or if they wait.
    private var nextWriteBytes: Int {
      guard writeCount < ControlFrames.writesMax else { return 0 }
      let room = ControlFrames.writtenBytesMax - writtenBytes
      if answers.readableBytes <= room { return answers.readableBytes }
      // A small part would leave the others to be copied.
      return room >= ControlFrames.writtenBytesMax / 2 ? room : 0
    }

    /// Writes the next answers. The others follow when the socket has taken a write.
    private func writeAnswers(_ context: ChannelHandlerContext) {
      let byteCount = nextWriteBytes
      guard byteCount > 0, let bytes = answers.readSlice(length: byteCount) else { return }
      // A copy. The old buffer also has all answers that were written, and would grow with each.
      answers = ByteBuffer(buffer: answers.slice())
      writeCount += 1
      writtenBytes += byteCount
      let written = context.eventLoop.makePromise(of: Void.self)
      written.futureResult.assumeIsolated().whenComplete { result in
        self.writeCount -= 1
        self.writtenBytes -= byteCount
        self.connection.pingAnswerBytes -= byteCount
        switch result {
        case .success: self.writeAnswers(context)
        case .failure: self.dropAnswers()
        }
      }
      context.writeAndFlush(wrapOutboundOut(bytes), promise: written)
    }

    private func dropAnswers() {
      connection.pingAnswerBytes -= answers.readableBytes
      answers = ByteBuffer()
    }

    func handlerRemoved(context: ChannelHandlerContext) { dropAnswers() }

    /// A connection that is being closed reads nothing more.
    func read(context: ChannelHandlerContext) {
      if !isClosing { context.read() }
    }

    private func close(_ context: ChannelHandlerContext) {
      writeAnswers(context)
      isClosing = true
      dropAnswers()
      connection.client.logClosing(because: "it sends too many control frames or empty frames")
      var frame = ByteBuffer()
      ControlFrameScanner.writeGoAway(into: &frame)
      let written = context.eventLoop.makePromise(of: Void.self)
      let waitMax = isDeaf ? TimeAmount.zero : closingMax
      let timer = context.eventLoop.assumeIsolated().scheduleTask(in: waitMax) {
        context.close(promise: nil)
      }
      written.futureResult.assumeIsolated().whenComplete { _ in
        timer.cancel()
        context.close(promise: nil)
      }
      context.writeAndFlush(wrapOutboundOut(frame), promise: written)
    }

    /// Ends the read that a connection's error has cut short.
    ///
    /// NIO's HTTP/2 keeps the streams of the current read until the read is complete. A socket that
    /// is closed while it is read completes no read, and then the streams and the connection hold
    /// each other for ever. The list is `didReadChannels` in
    /// https://github.com/apple/swift-nio-http2/blob/1.46.0/Sources/NIOHTTP2/HTTP2CommonInboundStreamMultiplexer.swift.
    /// The end of the handler (https://github.com/apple/swift-nio-http2/pull/483) does not empty it.
    /// No issue reports this (November 2026). docs/decisions/0020 has the report.
    func channelInactive(context: ChannelHandlerContext) {
      context.fireChannelInactive()
      // After the frames of this read, and before the handlers are removed.
      context.eventLoop.assumeIsolated().execute { context.fireChannelReadComplete() }
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
#endif
