#if GRPC
  import GRPCCore
  import NIOCore
  import NIOHPACK
  import NIOHTTP2
  import WidgetProto
  import WidgetServer

  /// A handler between an HTTP/2 stream and grpc-swift.
  ///
  /// - It overwrites the reserved header, so that the call can be found; see `Callers`.
  /// - It refuses a call with more metadata than `metadata_bytes_max`, or with an invalid
  ///   `grpc-timeout`. grpc-swift traps on a negative one: `Timeout.init(decoding:)` reads `-1S`, and a
  ///   precondition then refuses the amount
  ///   (https://github.com/grpc/grpc-swift-2/blob/2.4.3/Sources/GRPCCore/Timeout.swift).
  /// - It ends a call whose deadline has already passed at the start.
  /// - It passes on the end of a stream that has no data as data. grpc-swift ends the messages of a
  ///   call only at a data frame with the end of the stream, not at such headers
  ///   (https://github.com/grpc/grpc-swift-nio-transport/blob/2.9.2/Sources/GRPCNIOTransportCore/Server/GRPCServerStreamHandler.swift).
  /// - It bounds the memory that a peer can fill with requests: for each request, for all of a
  ///   connection, and for all of a user. A request that has begun counts until its call begins, even
  ///   without a body. A complete request counts if its call waits behind another one. A refused
  ///   request gets a status; grpc-swift would reset the stream without one.
  /// - It counts the bytes of the answer until the peer has it, or is gone. The stream of a call with
  ///   an answer counts until the call ends. A stream makes no more messages while too many of its
  ///   bytes, or of its connection's, are not written.
  /// - It bounds the open calls of users who may only ask for health.
  ///
  /// No issue upstream reports the two faults (November 2026).
  final class CallGuard: ChannelDuplexHandler, CallAdmission, StreamRoom {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias InboundOut = HTTP2Frame.FramePayload
    typealias OutboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    private let streamID: UInt32
    private let number: String
    private let connection: CallerConnection
    private let onEnd: () -> Void
    /// The bytes of the request's body.
    private var receivedBytes = 0
    /// The memory of the stream and of its metadata.
    private var openBytes = 0
    /// The part of `openBytes` that the connection counts together with the answer.
    private var answeredBytes = 0
    private var scanner = MessageScanner(bytesMax: messageBytesMax)
    /// The memory of the request, as the connection counts it.
    private var heldBytes = 0
    private let incomplete: IncompleteRequest
    /// The stream of a conversation. The stream may stay open without a limit, so only its messages
    /// have to arrive in time. nil if the request is one message.
    private var conversation: IncompleteRequest?
    /// Whether the end of the request has arrived.
    private var isComplete = false
    private var answerBytes = 0
    /// Bytes of the answer that wait for the socket.
    private var unwrittenBytes = 0
    /// Bytes of a stream's messages that were made and not written to the connection.
    private var streamBytes = 0
    var onRoom: (() -> Void)?
    private(set) var isOver = false
    var isLost: Bool { isOver || connection.isLost }
    /// Whether the client has got an error of this guard as the call's end.
    private(set) var isRefused = false
    /// Whether the call is one of the bounded calls of a user who may only ask for health.
    private var isBounded = false
    /// Whether the call is one of reflection. Its stream and its questions count until its end.
    private var isReflection = false
    /// The memory of questions without an answer.
    private var questionBytes = 0
    /// Makes the next answer of reflection. It waits for room.
    private var makeAnswer: ((_ isOver: Bool) -> Int)?
    /// Whether grpc-swift has sent the answer's head.
    private var hasHead = false
    private var context: ChannelHandlerContext?

    /// The maximum size of a request's message.
    static let messageBytesMax = 4 << 20
    /// A message and its prefix.
    private static let requestBytesMax = messageBytesMax + MessageScanner.prefixBytes
    /// A stream with this many unwritten bytes makes no more messages. So much fits into a socket.
    private static let streamBytesMax = 128 << 10
    /// The memory of an open stream, without its metadata.
    private static let streamCostBytes = 22 << 10
    /// The memory of an answer, without its message: its frames on their way to the socket.
    static let answerCostBytes = 512
    /// The maximum size of a question to reflection. Questions are names.
    private static let questionBytesMax = 64 << 10
    /// The memory of a question, without its bytes.
    private static let questionCostBytes = 256
    /// The paths of methods that take any number of messages.
    private static let conversations = Set(
      InProcessClient.methods.filter(\.isConversation).map { "/" + $0.fullName })
    /// The paths of streams without a conversation. The service itself bounds the number of streams.
    private static let streams = Set(
      InProcessClient.methods.filter { $0.isStream && !$0.isConversation }.map { "/" + $0.fullName }
    )
    /// The paths of reflection, whose questions are small.
    private static let reflections: Set = [
      "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
      "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
    ]

    init(
      _ streamID: UInt32, number: String, connection: CallerConnection, onEnd: @escaping () -> Void
    ) {
      self.streamID = streamID
      self.number = number
      self.connection = connection
      self.onEnd = onEnd
      incomplete = connection.client.incompleteRequest()
      incomplete.endLate = { [weak self] in self?.refuseLate() ?? true }
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
      let size = CallGuard.size(of: head.headers)
      guard size <= connection.metadataBytesMax else {
        return refuse(
          .refused(
            .resourceExhausted, "QUOTA_EXCEEDED",
            "The call has \(size) bytes of metadata; metadata_bytes_max = "
              + "\(connection.metadataBytesMax). Send less, or raise the limit in the daemon's "
              + "configuration.",
            metadata: [
              "limit": "metadata_bytes_max", "maximum": "\(connection.metadataBytesMax)",
            ]), context)
      }
      head.headers.replaceOrAdd(name: Callers.header, value: number)
      for timeout in head.headers["grpc-timeout"] {
        guard CallGuard.isTimeout(timeout) else {
          return refuse(
            .protocolError(
              "\"\(timeout.prefix(32))\" is not a grpc-timeout; send 1 to 8 digits and one of HMSmun."
            ),
            context)
        }
        guard !CallGuard.isOver(timeout) else {
          return refuse(
            .refused(
              .deadlineExceeded, "DEADLINE_EXCEEDED",
              "The call's deadline had passed when the call began."),
            context)
        }
      }
      let path = head.headers.first(name: ":path") ?? ""
      // Trailers are a second head.
      let isFirst = openBytes == 0
      if isFirst, !CallGuard.streams.contains(path) {
        if let refusal = connection.client.beginCall() { return refuse(refusal, context) }
        isBounded = true
      }
      if CallGuard.conversations.contains(path) {
        beginConversation()
      } else if CallGuard.reflections.contains(path) {
        beginConversation()
        isReflection = true
        scanner.bytesMax = CallGuard.questionBytesMax
      }
      // A later check refuses an unknown encoding.
      scanner.allowsCompressed = head.headers["grpc-encoding"].contains { $0 != "identity" }
      // The metadata counts twice, because HTTP/2 and grpc-swift each have a copy.
      openBytes += (isFirst ? CallGuard.streamCostBytes : 0) + 2 * size
      isComplete = head.endStream
      head.endStream = false
      if isReflection, let refusal = holdArrived() { return refuse(refusal, context) }
      context.fireChannelRead(wrapInboundOut(.headers(head)))
      guard isComplete else { return connection.callHasBegun(self) }
      requestHasEnded()
      let body = HTTP2Frame.FramePayload.Data(data: .byteBuffer(ByteBuffer()), endStream: true)
      context.fireChannelRead(wrapInboundOut(.data(body)))
    }

    private func beginConversation() {
      guard conversation == nil else { return }
      let stream = connection.client.incompleteRequest()
      stream.endLate = { [weak self] in self?.refuseLate() ?? true }
      conversation = stream
    }

    private func receive(
      _ body: HTTP2Frame.FramePayload.Data, _ context: ChannelHandlerContext, _ data: NIOAny
    ) {
      if case .byteBuffer(let bytes) = body.data {
        receivedBytes += bytes.readableBytes
        // Between two messages there is no time limit.
        conversation?.isTimed = receivedBytes == 0
        let (messages, messageBytes) = (scanner.messages, scanner.messageBytes)
        switch scanner.scan(bytes) {
        case nil:
          guard isReflection else { break }
          questionBytes +=
            (scanner.messages - messages) * CallGuard.questionCostBytes
            + scanner.messageBytes - messageBytes
        case .tooLarge: return refuseSize(context)
        case .compressed:
          return refuse(
            .refused(
              .internalError, "PROTOCOL_ERROR",
              "The message is marked as compressed, but the call has no grpc-encoding. Send "
                + "it plain."
            ),
            context)
        }
      }
      if conversation == nil, receivedBytes > CallGuard.requestBytesMax {
        return refuseSize(context)
      }
      isComplete = body.endStream
      if isComplete, !isReflection {
        requestHasEnded()
      } else if let refusal = holdArrived() {
        return refuse(refusal, context)
      }
      context.fireChannelRead(data)
    }

    /// Reads all questions at once, because only questions that have arrived here count.
    func channelReadComplete(context: ChannelHandlerContext) {
      context.fireChannelReadComplete()
      if isReflection, !isComplete, !isRefused { context.read() }
    }

    private func refuseSize(_ context: ChannelHandlerContext) {
      refuse(
        .refused(
          .resourceExhausted, "PROTOCOL_ERROR",
          "The message is larger than \(scanner.bytesMax) bytes. Send less at a time."), context)
    }

    /// Answers with an error and ends the stream.
    private func refuse(_ status: RPCStatus, _ context: ChannelHandlerContext) {
      isRefused = true
      if !isComplete { connection.onRefusedCall?(streamID) }
      _ = hold(message: 0, stream: 0)
      // A second head, or a head after the end, would be an error of the connection.
      var headers: HPACKHeaders =
        hasHead ? [:] : [":status": "200", "content-type": "application/grpc"]
      headers.add(name: "grpc-status", value: "\(status.code.rawValue)")
      headers.add(name: "grpc-message", value: status.message)
      if let details = try? WireCodec().encode(status) {
        headers.add(name: RPCError.detailsKey, value: Metadata.Value.binary(details).encoded())
      }
      let head = HTTP2Frame.FramePayload.Headers(headers: headers, endStream: true)
      writeError(head, context, nil)
      // The peer's further frames are not needed. With any other reason, the peer would not see the
      // status.
      context.writeAndFlush(wrapOutboundOut(.rstStream(.noError)), promise: nil)
    }

    /// Writes the end of a failed call, and counts it until the socket has taken it. No window stops
    /// such an end.
    private func writeError(
      _ head: HTTP2Frame.FramePayload.Headers, _ context: ChannelHandlerContext,
      _ promise: EventLoopPromise<Void>?
    ) {
      let byteCount = CallGuard.size(of: head.headers) + CallGuard.answerCostBytes
      let written = promise ?? context.eventLoop.makePromise()
      let connection = connection
      written.futureResult.assumeIsolated().whenComplete { _ in
        connection.errorIsWritten(byteCount)
      }
      let mayStay = connection.addError(byteCount)
      context.write(wrapOutboundOut(.headers(head)), promise: written)
      guard !mayStay, let channel = context.channel.parent else { return }
      // HTTP/2 may be in the middle of a read.
      context.eventLoop.execute { channel.close(promise: nil) }
    }

    // MARK: - The memory of the request

    /// Counts a request that did not arrive completely with the input that began it.
    func countBeginning() {
      guard !isComplete else { return }
      countArrived()
    }

    /// The end of the request has arrived. What counts goes on counting until the call begins,
    /// because it can wait for its slice of time.
    private func requestHasEnded() {
      guard !isReflection, conversation != nil || hasHead else { return }
      _ = hold(message: 0, stream: 0)
    }

    /// Counts a complete request, because its call waits for the peer to read, or for its slice.
    func countWaiting() { countArrived() }

    /// The call of a complete request is carried out now.
    func requestIsTaken() { _ = hold(message: 0, stream: 0) }

    private func countArrived() {
      guard !isOver, !isRefused, let context, let refusal = holdArrived() else { return }
      refuse(refusal, context)
    }

    /// Counts the received bytes of the request. Returns the refusal if they cannot be held.
    private func holdArrived() -> RPCStatus? {
      let message = conversation == nil ? receivedBytes : scanner.incompleteBytes
      if let refusal = hold(message: message, stream: openBytes + questionBytes) { return refusal }
      guard connection.receivingBytes > CallerConnection.receivingBytesMax else { return nil }
      return .refused(
        .resourceExhausted, "PROTOCOL_ERROR",
        "This connection has more than \(CallerConnection.receivingBytesMax >> 20) MiB of "
          + "requests under way. Send fewer at a time.")
    }

    private func hold(message: Int, stream: Int) -> RPCStatus? {
      // The connection has a limit for streams, so waiting calls count only their messages here.
      let received = message + (isComplete && !isReflection ? 0 : stream)
      connection.receivingBytes += received - heldBytes
      heldBytes = received
      guard let conversation else { return incomplete.hold(message + stream) }
      return incomplete.hold(message) ?? conversation.hold(stream)
    }

    /// Refuses a request that has not arrived in time. Returns false if it has arrived, and waits.
    private func refuseLate() -> Bool {
      guard let context, !isRefused else { return true }
      guard !isComplete else { return false }
      refuse(.requestLate(connection.client.requestMilliseconds), context)
      return true
    }

    // MARK: - The answer

    /// Forwards grpc-swift's answer, until the call is refused.
    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
      guard !isRefused else {
        promise?.fail(ChannelError.ioOnClosedChannel)
        return
      }
      switch unwrapOutboundIn(data) {
      case .headers(let head):
        hasHead = true
        // A stream is open now. Other calls have begun, or have failed.
        if isComplete, conversation == nil { requestIsTaken() }
        if head.endStream, head.headers.first(name: "grpc-status") != "0" {
          return writeError(head, context, promise)
        }
      case .data(let body) where streamBytes > 0:
        let byteCount = body.data.readableBytes
        let written = promise ?? context.eventLoop.makePromise()
        written.futureResult.assumeIsolated().whenComplete { _ in self.give(byteCount) }
        return context.write(data, promise: written)
      case .data(let body) where answerBytes > unwrittenBytes:
        // HTTP/2 ends the stream before the socket has taken the answer.
        let byteCount = min(
          body.data.readableBytes + CallGuard.answerCostBytes, answerBytes - unwrittenBytes)
        unwrittenBytes += byteCount
        let written = promise ?? context.eventLoop.makePromise()
        written.futureResult.assumeIsolated().whenComplete { _ in self.answerIsWritten(byteCount) }
        return context.write(data, promise: written)
      default: break
      }
      context.write(data, promise: promise)
    }

    // MARK: - Room for a stream's messages

    var hasRoom: Bool {
      !isOver && streamBytes < CallGuard.streamBytesMax && connection.hasRoom
    }

    func take(_ byteCount: Int) {
      guard !isOver else { return }
      let byteCount = byteCount + MessageScanner.prefixBytes
      streamBytes += byteCount
      connection.addStreamBytes(byteCount)
    }

    /// Notes the number of bytes that were written or dropped.
    private func give(_ byteCount: Int) {
      let byteCount = min(byteCount, streamBytes)
      let wasFull = streamBytes >= CallGuard.streamBytesMax
      streamBytes -= byteCount
      connection.addStreamBytes(-byteCount)
      if wasFull, hasRoom { onRoom?() }
    }

    // MARK: - Reflection

    /// Answers a question when there is room for the answer.
    ///
    /// - Parameter make: Makes the answer, exactly once, now or later. It returns the answer's size.
    ///   If the call is over, it gets true, and makes none.
    func answer(_ question: ByteBuffer, _ make: @escaping (_ isOver: Bool) -> Int) {
      makeAnswer = { [unowned self] isOver in
        questionBytes -= CallGuard.questionCostBytes + question.readableBytes
        if !isOver { _ = hold(message: scanner.incompleteBytes, stream: openBytes + questionBytes) }
        return make(isOver)
      }
      onRoom = { [unowned self] in answerQuestion() }
      answerQuestion()
    }

    /// Ends the wait for room: the call's deadline has passed, or its task has been cancelled.
    func stopAnswering() {
      guard let make = makeAnswer else { return }
      makeAnswer = nil
      onRoom = nil
      _ = make(true)
    }

    private func answerQuestion() {
      guard !isOver, !isRefused else { return stopAnswering() }
      guard hasRoom, let make = makeAnswer else { return }
      makeAnswer = nil
      onRoom = nil
      take(make(false))
    }

    // MARK: - Admission

    func admit(_ start: @escaping (_ isCancelled: Bool) -> Int) {
      guard !isOver, !isRefused else {
        _ = start(true)
        return
      }
      connection.admit(self, start)
    }

    /// Adds to the answer's size. Returns the size that the connection counts, until it is
    /// released.
    func hold(_ byteCount: Int) -> Int {
      guard !isOver else { return 0 }
      answerBytes += byteCount
      return byteCount
    }

    /// An answer that did not come at once: a provider has made it.
    func answered(_ byteCount: Int) { connection.addAnswerBytes(hold(byteCount)) }

    /// Counts the stream with its answer. The peer can delay the end of the stream by not taking the
    /// answer, however small the answer is.
    func holdStream() {
      guard !isOver, answeredBytes == 0 else { return }
      answeredBytes = openBytes
      connection.callBytes += answeredBytes
    }

    /// Notes the number of the answer's bytes that were written or dropped.
    private func answerIsWritten(_ byteCount: Int) {
      unwrittenBytes -= byteCount
      if isOver { connection.releaseRest(byteCount) }
    }

    func channelInactive(context: ChannelHandlerContext) {
      end()
      context.fireChannelInactive()
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
      self.context = nil
      end()
    }

    /// Ends the call as a reset by its client would.
    func cancel() {
      guard let context else { return }
      context.fireChannelRead(wrapInboundOut(.rstStream(.cancel)))
      context.close(promise: nil)
    }

    private func end() {
      guard !isOver else { return }
      isOver = true
      _ = hold(message: 0, stream: 0)
      onEnd()
      stopAnswering()
      onRoom = nil
      give(streamBytes)
      if isBounded { connection.client.endCall() }
      connection.callBytes -= answeredBytes
      connection.release(self, answerBytes - unwrittenBytes)
    }
  }
#endif
