import Glibc
import Logging
import NIOCore
import WidgetProto
import WidgetTransport

/// One ttrpc connection: bytes in, calls to the service, answers and frames out.
///
/// A plain handler on the hot path. It cuts each read into frames without copying, and makes unary
/// calls at once. It gathers their answers in one buffer, which is sent with one write at the
/// turn's end. If the kernel has no room, the connection makes no more output and reads nothing. So
/// a slow peer costs its socket's buffer and the data under way.
final class TTRPCConnection: ChannelDuplexHandler, CallResponder, ServerConnection, SlicedWork {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = Never
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  let peer: Peer
  let level: AccessPolicy.Level
  let share: WorkShare
  let service: ServiceLoop
  private let socket: CInt
  private var output: ConnectionOutput
  /// The state from the process that served this connection before.
  private var former: HandedConnection?
  /// The streams of that process that are not taken over yet.
  private let untaken: UntakenStreams
  private var context: ChannelHandlerContext?
  private(set) var reader = FrameReader()
  private var streams: ServerStreams
  private(set) var sinks: [UInt32: TTRPCStreamSink] = [:]
  /// Whether the turn's end flushes this connection.
  private var isTouched = false
  private var isReadPending = false
  /// Whether there may be received frames that are not processed.
  private var hasUnseenFrames = false
  /// The bytes of an incomplete request.
  private let incomplete: IncompleteRequest
  /// The received bytes that wait for a slice.
  private let received: ReceivedAccount
  /// Streams that were asked for and are not open yet.
  private var openingCount = 0
  /// The message whose kinds are being compiled. The frames behind it wait.
  var preparing: (kinds: KindPreparation, carryOut: () -> Void)?
  /// Whether the connection is over. The remaining bytes are then ignored.
  private var isClosed = false
  /// The output that the kernel has not taken.
  let unsent: UnsentAccount
  /// Whether the peer takes output, and its user is below the limits of unsent bytes.
  var isWritable: Bool { output.isWritable && unsent.hasRoom }

  /// The peer's further calls wait for the next turn above this size, because one read can ask for
  /// ten thousand times its size.
  private static let responsesBytesMax = 256 << 10

  /// - Parameter socket: the channel's socket.
  /// - Parameter former: the state from the process that served the connection; nil if it is new.
  init(peer: Peer, socket: CInt, service: ServiceLoop, former: HandedConnection? = nil) {
    self.peer = peer
    self.service = service
    self.socket = socket
    self.former = former
    share = WorkShare(uid: peer.uid)
    output = ConnectionOutput(socket: socket)
    level = service.policy.level(of: peer)
    untaken = UntakenStreams(of: peer, level, in: service)
    incomplete = service.incompleteRequests.account(of: peer)
    received = service.receivedBytes.account(of: peer)
    unsent = service.unsentBytes.account(of: peer)
    streams = ServerStreams(openStreamsMax: service.context.limits.streamsPerConnectionMax)
  }

  // MARK: - Channel

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    // The references are strong, and end by hand in `handlerRemoved`, because weak references make
    // all reference counts of the connection slow.
    incomplete.endLate = closeLate
    unsent.onRoom = becameWritable
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    self.context = nil
    incomplete.endLate = { true }
    unsent.onRoom = {}
    unsent.close()
    service.connections.closed(self)
  }

  /// Ends the connection, because an answer cannot be encoded.
  func close() { context?.close(promise: nil) }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let bytes = unwrapInboundIn(data)
    service.context.counters.countBytes(bytes.readableBytes)
    reader.append(bytes)
    hasUnseenFrames = true
    let queue = service.context.work
    if !output.isWritable { holdUnsent() }
    guard let slice = queue.begin(self) else { return received.add(bytes.storageCapacity) }
    queue.end(self, slice, hasMore: work(slice))
    if hasUnseenFrames { received.add(bytes.storageCapacity) }
  }

  /// Whether frames can be processed: the peer takes answers, and the turn has few of them.
  private var takesFrames: Bool {
    isWritable && !isClosed && output.responseBytes < TTRPCConnection.responsesBytesMax
      && openingCount < WaitingStream.countMax
  }

  /// Whether there may be work: kinds are compiled also for a peer that takes no answers.
  private var mayWork: Bool { preparing == nil ? takesFrames : !isClosed }

  /// Takes streams over, and then processes the received frames, until the slice is over.
  func work(_ slice: TimeSlice) -> Bool {
    while let stream = untaken.next() {
      takeOver(stream)
      if slice.isOver { return true }
    }
    while mayWork {
      if let preparing {
        guard preparing.kinds.work(slice) else { return true }
        endPreparation()
        if slice.isOver { break }
        continue
      }
      guard !waitsForPause else { return false }
      switch reader.next() {
      case .frame(let frame):
        // The deadline of the next frame begins now.
        _ = incomplete.hold(0)
        receive(frame.header, frame.data)
      case .oversize(let header): receive(header, ByteBuffer())
      case nil:
        hasUnseenFrames = false
        received.clear()
        holdIncomplete()
        resumeRead()
        return false
      }
      if reader.bufferedBytes > 0 || preparing != nil, slice.isOver { break }
    }
    return hasUnseenFrames && mayWork
  }

  /// The remaining frames are ignored.
  func abandon() {}

  /// Counts the bytes of the next frame. Drops the frame if a limit is exceeded.
  private func holdIncomplete() {
    guard let refusal = incomplete.hold(reader.bufferedBytes), let header = reader.dropFrame()
    else { return }
    receive(header, ByteBuffer(), refusal: refusal)
  }

  /// Ends the connection of a peer that does not send the rest of a frame. Returns false if the
  /// daemon has not processed all received bytes.
  private func closeLate() -> Bool {
    guard !hasUnseenFrames else { return false }
    service.context.counters.countProtocolError()
    service.context.logClosing(
      peer, because: "a frame is not complete after request_milliseconds")
    isClosed = true
    context?.close(promise: nil)
    return true
  }

  /// Continues with the received frames in another turn, if the peer takes answers.
  func resumeFrames() {
    if hasUnseenFrames, mayWork { service.context.work.enqueue(self) }
  }

  func read(context: ChannelHandlerContext) {
    isReadPending = true
    resumeRead()
  }

  private func resumeRead() {
    guard isReadPending, isWritable, !hasUnseenFrames, let context else { return }
    isReadPending = false
    context.read()
  }

  private func becameWritable() {
    guard !isClosed else { return }
    for sink in sinks.values { sink.stream?.becameWritable() }
    resumeFrames()
    resumeRead()
  }

  func channelInactive(context: ChannelHandlerContext) {
    isClosed = true
    service.context.counters.countBytes(output.unsentBytes)
    _ = incomplete.hold(0)
    received.clear()
    unsent.close()
    preparing?.kinds.cancel()
    preparing = nil
    service.context.pause.forget(self)
    for sink in sinks.values { sink.lose(service.context.upkeep) }
    // Waiting work can keep the connection for long.
    (reader, hasUnseenFrames, sinks) = (FrameReader(), false, [:])
    untaken.removeAll()
    service.connections.closed(self)
    context.fireChannelInactive()
  }

  /// Closes the connection when everything that was written has been sent.
  func closeWhenFlushed() {
    guard let context else { return }
    for stream in untaken.removeAll() { endStream(stream.streamID, .shuttingDown) }
    flushOutgoing()
    let channel = context.channel
    context.writeAndFlush(wrapOutboundOut(ByteBuffer())).assumeIsolated().whenComplete { _ in
      channel.close(promise: nil)
    }
  }

  // MARK: - Changing processes

  var canBeHandedOver: Bool { true }
  var streamCount: Int { sinks.count + untaken.count }

  func handOver() -> (connection: HandedConnection, socket: CInt)? {
    guard let context, context.channel.isActive, !isClosed else { return nil }
    let buffered = context.channel.syncOptions.flatMap {
      try? $0.getOption(ChannelOptions.bufferedWritableBytes)
    }
    guard let unsent = output.unsent(bufferedByChannel: buffered) else { return nil }
    let duplicate = fcntl(socket, F_DUPFD_CLOEXEC, 0)
    guard duplicate >= 0, let name = HandedOver.identity(of: duplicate) else { return nil }
    let taken = sinks.values.sorted { $0.streamID < $1.streamID }.compactMap { sink in
      sink.stream.map { $0.handOver(streamID: sink.streamID) }
    }
    let connection = HandedConnection(
      name: name, lastStreamID: streams.lastStreamID,
      received: Array(reader.held.readableBytesView),
      discardBytes: UInt32(clamping: reader.discardBytes), unsent: unsent,
      streams: taken + untaken.remaining())
    isClosed = true
    context.close(promise: nil)
    return (connection, duplicate)
  }

  func channelActive(context: ChannelHandlerContext) {
    if let former { goOn(from: former) }
    former = nil
    context.fireChannelActive()
  }

  /// Continues where another process stopped.
  private func goOn(from former: HandedConnection) {
    service.turn.open()
    streams = ServerStreams(
      openStreamsMax: service.context.limits.streamsPerConnectionMax,
      lastStreamID: former.lastStreamID,
      openStreamIDs: former.streams.map(\.streamID))
    write(ByteBuffer(bytes: former.unsent))
    untaken.begin(former.streams) { [unowned self] in takeOver($0) }
    touch()
    reader = FrameReader(
      held: ByteBuffer(bytes: former.received), discardBytes: Int(former.discardBytes))
    hasUnseenFrames = true
    received.add(former.received.count)
    service.context.work.enqueue(self)
  }

  private func takeOver(_ stream: HandedStream) {
    let sink = TTRPCStreamSink(connection: self, streamID: stream.streamID)
    sinks[stream.streamID] = sink
    do throws(RPCStatus) {
      let taken = try service.takeOver(stream, sink: sink, peer: peer, level: level)
      // The first message of the stream may have shown that the peer is gone.
      guard sinks[stream.streamID] === sink else { return taken.forget() }
      sink.stream = taken
    } catch {
      endStream(stream.streamID, error)
    }
  }

  // MARK: - Frames in

  /// - Parameter refusal: why the data of the frame was dropped.
  private func receive(_ header: FrameHeader, _ data: ByteBuffer, refusal: RPCStatus? = nil) {
    switch streams.receive(header, isDropped: refusal != nil) {
    case .unaryCall(let streamID): unaryCall(streamID, data)
    case .openStream(let streamID, let kind): openStream(streamID, kind, data)
    case .message(let streamID, let isLast):
      receiveMessage(data, isLast: isLast, on: streamID)
    case .halfClose(let streamID): sinks[streamID]?.stream?.halfClosed()
    case .ignore: break
    case .refuse(let streamID, let error):
      service.context.counters.countProtocolError()
      refuseNow(refusal ?? RPCStatus(error), streamID)
    case .fail(let streamID, let error):
      service.context.counters.countProtocolError()
      sinks.removeValue(forKey: streamID)?.forget()
      refuseNow(refusal ?? RPCStatus(error), streamID)
    case .close(let reason):
      service.context.counters.countProtocolError()
      service.context.logClosing(peer, because: "it breaks the protocol: \(reason)")
      isClosed = true
      context?.close(promise: nil)
    }
  }

  private func unaryCall(
    _ streamID: UInt32, _ data: ByteBuffer, _ attempt: Attempt = .first, isPrepared: Bool = false
  ) {
    touch()
    data.withUnsafeReadableBytes { bytes in
      _ = withEnvelope(bytes, streamID) { method, envelope in
        guard method.shape == .unary else { return refuseNow(.wrongShape(method), streamID) }
        guard envelope.timeoutNanoseconds >= 0 else {
          return refuseNow(.deadlineExceeded, streamID)
        }
        guard method.readsStore else {
          return answerNow {
            service.perform(method, envelope.payload, call: streamID, for: self)
          }
        }
        if method == .applyKinds, attempt.isFirst, !isPrepared, level >= method.requiredLevel,
          let kinds = service.preparations.preparation(ofCall: envelope.payload, of: peer)
        {
          return prepare(kinds, isNeeded: { true }) { [self] in
            unaryCall(streamID, data, isPrepared: true)
          }
        }
        service.perform(method, envelope.payload, call: streamID, for: self, attempt)
        guard service.turn.remembersCalls, attempt.isFirst else { return }
        service.turn.remember(callOf: peer, method.roomUse) { [self] in
          unaryCall(streamID, data, $0)
        }
      }
    }
  }

  private func openStream(_ streamID: UInt32, _ kind: ServerStreams.StreamKind, _ data: ByteBuffer)
  {
    touch()
    data.withUnsafeReadableBytes { bytes in
      let opened = withEnvelope(bytes, streamID) { method, envelope in
        guard method.shape == (kind == .server ? .stream : .conversation) else {
          return endStream(streamID, .wrongShape(method))
        }
        let sink = TTRPCStreamSink(connection: self, streamID: streamID)
        do throws(RPCStatus) {
          if method.shape == .conversation { return try converse(sink, method, envelope) }
          open(
            sink, method, envelope.timeoutNanoseconds,
            try service.prepare(method, envelope.payload, sink: sink, peer: peer, level: level))
        } catch {
          service.context.note(method, error, of: peer)
          endStream(streamID, error)
        }
      }
      if !opened { streams.end(streamID) }
    }
  }

  /// Begins a conversation. The request may hold its first message.
  private func converse(
    _ sink: TTRPCStreamSink, _ method: Method, _ envelope: RequestEnvelopeView
  ) throws(RPCStatus) {
    guard envelope.timeoutNanoseconds >= 0 else { throw .deadlineExceeded }
    let stream = try service.providers.converse(method, sink: sink, peer: peer, level: level)
    sinks[sink.streamID] = sink
    sink.stream = stream
    if envelope.timeoutNanoseconds > 0 {
      stream.setDeadline(in: .nanoseconds(envelope.timeoutNanoseconds), service.context)
    }
    guard envelope.payload.count > 0 else { return }
    stream.receive(ByteBuffer(bytes: envelope.payload))
  }

  /// Opens a stream at the end of the turn.
  private func open(
    _ sink: TTRPCStreamSink, _ method: Method, _ timeoutNanoseconds: Int64,
    _ waiting: WaitingStream
  ) {
    sinks[sink.streamID] = sink
    openingCount += 1
    service.turn.whenDurable(for: share) { [self] refusal in
      openingCount -= 1
      defer {
        waiting.drop()
        resumeFrames()
      }
      guard sinks[sink.streamID] === sink else { return }
      do throws(RPCStatus) {
        if let refusal { throw refusal }
        guard timeoutNanoseconds >= 0 else { throw .deadlineExceeded }
        let stream = try waiting.open()
        // The stream's first frame is written by now. This write may have shown that the peer is
        // gone.
        guard sinks[sink.streamID] === sink else { return stream.forget() }
        sink.stream = stream
        if timeoutNanoseconds > 0 {
          stream.setDeadline(in: .nanoseconds(timeoutNanoseconds), service.context)
        }
      } catch {
        service.context.note(method, error, of: peer)
        endStream(sink.streamID, error)
      }
    }
  }

  // MARK: - Answers out

  /// Counts the output that is not sent. While the socket is full, received requests wait. Then they
  /// count, too. An incomplete request has its own account.
  private func holdUnsent() {
    let waits = hasUnseenFrames && !output.isWritable
    unsent.hold(
      output.unsentBytes + (waits ? max(0, reader.bufferedBytes - incomplete.bytes) : 0))
  }

  func append(_ packed: PackedMessage, to call: UInt32) {
    guard packed.byteCount <= FrameHeader.frameDataBytesMax else {
      return refuse(
        .responseTooLarge(packed.byteCount, FrameHeader.frameDataBytesMax), to: call)
    }
    output.addResponse(packed, to: call)
    holdUnsent()
  }

  /// Answers even if the turn's group fails, for answers that do not depend on the store. The other
  /// answers still wait for the group.
  func answerNow(_ body: () -> Void) {
    let answers = output.exchangeResponses(with: ByteBuffer())
    body()
    enqueue(output.exchangeResponses(with: answers))
    touch()
  }

  func flushResponses() {
    isTouched = false
    flushOutgoing()
    if output.responseBytes > 0 {
      write(output.responses)
      output.responsesWereWritten()
    }
    holdUnsent()
    resumeFrames()
  }

  /// Puts bytes in line for the next flush, behind those that wait already.
  private func enqueue(_ frame: ByteBuffer) {
    if let full = output.enqueue(frame) { write(full) }
    holdUnsent()
  }

  private func flushOutgoing() {
    if let frames = output.takeOutgoing() { write(frames) }
  }

  private func write(_ buffer: ByteBuffer) {
    service.context.counters.countBytes(buffer.readableBytes)
    guard let context, context.channel.isActive, let rest = output.write(buffer) else { return }
    context.writeAndFlush(wrapOutboundOut(rest)).assumeIsolated().whenComplete { [weak self] _ in
      guard let self else { return }
      output.channelHasWritten()
      holdUnsent()
      if isWritable { becameWritable() }
    }
  }

  func discardResponses() {
    output.discardResponses()
    holdUnsent()
  }

  /// Takes part in the turn. Opens it if it is not open.
  private func touch() {
    guard !isTouched else { return }
    isTouched = true
    service.turn.join(self)
  }

  // MARK: - Streams out

  func send(_ message: EncodedMessage, on streamID: UInt32) {
    let (first, second) = message.frame(for: streamID)
    enqueue(first)
    if let second { enqueue(second) }
    touch()
  }

  func endStream(_ streamID: UInt32, _ status: RPCStatus?) {
    guard streams.end(streamID) else { return }
    sinks.removeValue(forKey: streamID)?.connection = nil
    if let status { return refuseNow(status, streamID) }
    var frame = ByteBuffer()
    frame.writeEndOfStream(streamID: streamID)
    enqueue(frame)
    touch()
  }
}
