#if GRPC
  import GRPCCore
  import NIOCore
  import NIOHPACK
  import NIOHTTP2
  import WidgetServer

  /// Stands between an HTTP/2 stream and grpc-swift.
  ///
  /// - It overwrites the reserved header, so that the call can be found; see `Callers`.
  /// - It takes out a `grpc-timeout` that is none: grpc-swift traps on a sign.
  /// - It passes on the end of a stream that has no data as data: grpc-swift misses it in the head.
  /// - It bounds what a request may take, which is the peer's to fill: each and all of a connection.
  /// - It counts what the answer takes until the peer has it, or is gone.
  final class CallGuard: ChannelInboundHandler, CallAdmission {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias InboundOut = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    private let number: String
    private let connection: CallerConnection
    private let onEnd: () -> Void
    private var receivedBytes = 0
    /// The first bytes of the request, which say how long its message is.
    private var prefix = ByteBuffer()
    private var answerBytes = 0
    private var isBounded = true
    private var isOver = false
    private var isRefused = false

    /// How large the message of a request may be.
    static let messageBytesMax = 4 << 20
    /// The flag and the length before a message.
    private static let prefixBytes = 5
    /// A message and what is before it.
    private static let requestBytesMax = messageBytesMax + prefixBytes

    init(number: String, connection: CallerConnection, onEnd: @escaping () -> Void) {
      self.number = number
      self.connection = connection
      self.onEnd = onEnd
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      guard !isRefused else { return }
      switch unwrapInboundIn(data) {
      case .headers(let head): receive(head, context)
      case .data(let body): receive(body, context, data)
      default: context.fireChannelRead(data)
      }
    }

    private func receive(_ head: HTTP2Frame.FramePayload.Headers, _ context: ChannelHandlerContext)
    {
      var head = head
      head.headers.replaceOrAdd(name: Callers.header, value: number)
      let timeout = "grpc-timeout"
      if !head.headers[timeout].allSatisfy(CallGuard.isTimeout) {
        head.headers.remove(name: timeout)
      }
      // A conversation has no end to its request, only its messages have.
      isBounded = head.headers.first(name: ":path")?.contains("ServerReflection/") != true
      let isEmpty = head.endStream
      head.endStream = false
      context.fireChannelRead(wrapInboundOut(.headers(head)))
      guard isEmpty else { return }
      let body = HTTP2Frame.FramePayload.Data(data: .byteBuffer(ByteBuffer()), endStream: true)
      context.fireChannelRead(wrapInboundOut(.data(body)))
    }

    /// One to eight digits and a unit.
    private static func isTimeout(_ text: String) -> Bool {
      let bytes = text.utf8
      guard (2...9).contains(bytes.count), let unit = bytes.last else { return false }
      return "HMSmun".utf8.contains(unit)
        && bytes.dropLast().allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }

    private func receive(
      _ body: HTTP2Frame.FramePayload.Data, _ context: ChannelHandlerContext, _ data: NIOAny
    ) {
      guard isBounded else { return context.fireChannelRead(data) }
      let byteCount = body.data.readableBytes
      receivedBytes += byteCount
      connection.receivingBytes += byteCount
      if receivedBytes > CallGuard.requestBytesMax || announcesTooMuch(body.data) {
        return refuse(
          "The message is larger than \(CallGuard.messageBytesMax) bytes. Send less at a time.",
          context)
      }
      if connection.receivingBytes > CallerConnection.receivingBytesMax {
        return refuse(
          "This connection has more than \(CallerConnection.receivingBytesMax >> 20) MiB of requests "
            + "under way. Send fewer at a time.", context)
      }
      if body.endStream { forgetRequest() }
      context.fireChannelRead(data)
    }

    /// Whether a message says that it is too large; grpc-swift would reset its stream without a status.
    private func announcesTooMuch(_ data: IOData) -> Bool {
      guard prefix.readableBytes < CallGuard.prefixBytes, case .byteBuffer(let bytes) = data else {
        return false
      }
      let missing = CallGuard.prefixBytes - prefix.readableBytes
      prefix.writeBytes(bytes.readableBytesView.prefix(missing))
      let length = prefix.getInteger(at: prefix.readerIndex + 1, as: UInt32.self) ?? 0
      return length > CallGuard.messageBytesMax
    }

    /// Answers with an error and ends the stream, as far as it is not answered yet.
    private func refuse(_ message: String, _ context: ChannelHandlerContext) {
      isRefused = true
      forgetRequest()
      let headers: HPACKHeaders = [
        ":status": "200", "content-type": "application/grpc",
        "grpc-status": "\(Status.Code.resourceExhausted.rawValue)", "grpc-message": message,
      ]
      let head = HTTP2Frame.FramePayload.Headers(headers: headers, endStream: true)
      context.write(wrapOutboundOut(.headers(head)), promise: nil)
      context.flush()
      context.close(promise: nil)
    }

    private func forgetRequest() {
      connection.receivingBytes -= receivedBytes
      receivedBytes = 0
      isBounded = false
    }

    // MARK: - The answer

    func admit(_ start: @escaping (_ isCancelled: Bool) -> Int) {
      guard !isOver else {
        _ = start(true)
        return
      }
      connection.admit(self, start)
    }

    /// Notes what the answer takes. Returns what the connection has to count, until it is released.
    func hold(_ byteCount: Int) -> Int {
      guard !isOver else { return 0 }
      answerBytes += byteCount
      return byteCount
    }

    func channelInactive(context: ChannelHandlerContext) {
      end()
      context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { end() }

    private func end() {
      guard !isOver else { return }
      isOver = true
      forgetRequest()
      onEnd()
      connection.release(self, answerBytes)
    }
  }
#endif
