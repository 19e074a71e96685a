public import NIOCore
public import WidgetProto

/// An open stream inside the process.
///
/// One task at a time reads it. The queue of unread messages has a bound: a slow reader gets
/// conflated frames, as on a socket. Releasing the stream ends it.
public final class InProcessStream: Sendable {
  private let sink: NIOLoopBound<InProcessSink>
  private let gate: LoopGate

  init(sink: InProcessSink, service: ServiceLoop) {
    self.sink = NIOLoopBound(sink, eventLoop: service.context.eventLoop)
    gate = service.gate
  }

  deinit { cancel() }

  /// The next messages, at least one; nil when the stream has ended well or was cancelled. Cancelling
  /// the task cancels the stream.
  ///
  /// - Throws: the status that ended the stream.
  public func next() async throws(RPCStatus) -> [ByteBuffer]? {
    let sink = sink
    let batch = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard !gate.run({ sink.value.next(continuation) }) else { return }
        continuation.resume(returning: InProcessSink.Batch.end(.shuttingDown))
      }
    } onCancel: {
      cancel()
    }
    switch batch {
    case .messages(let messages): return messages
    case .end(nil): return nil
    case .end(let status?): throw status
    }
  }

  /// Sends a message, on a conversation. Returns when the daemon has read it and takes more. The
  /// daemon stops reading while its answers are not read. One task at a time may send.
  ///
  /// - Returns: false if the conversation is over.
  public func send(_ message: ByteBuffer) async -> Bool {
    let sink = sink
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard !gate.run({ sink.value.receive(message, continuation) }) else { return }
        continuation.resume(returning: false)
      }
    } onCancel: {
      _ = gate.run { sink.value.stopSending() }
    }
  }

  /// Says that no more messages come.
  public func finishSending() {
    let sink = sink
    _ = gate.run { sink.value.halfClose() }
  }

  /// Ends the stream. Unread messages are dropped; the reader gets nil.
  public func cancel() { cancel(with: nil) }

  /// Ends the stream with an error, which the reader gets.
  public func cancel(_ status: RPCStatus) { cancel(with: status) }

  private func cancel(with status: RPCStatus?) {
    let sink = sink
    // If the server has stopped, the stream has ended.
    _ = gate.run { sink.value.cancel(status) }
  }
}

/// Holds a stream's messages until they are read. Confined to the event loop.
///
/// The waiting messages have a bound: `waitingBytesMax` and the message being made. More are taken
/// only while the reader asks for them. So a stopped reader costs only its waiting messages.
final class InProcessSink: StreamSink, TurnParticipant {
  enum Batch: Sendable {
    case messages([ByteBuffer])
    case end(RPCStatus?)
  }

  private let peer: Peer
  private let service: ServiceLoop
  private let calls: InProcessCalls
  private let room: (any StreamRoom)?
  private var stream: (any ServedStream)?
  private var waiting: [ByteBuffer] = []
  private var waitingBytes = 0
  private var isOver = false
  private var status: RPCStatus?
  private var reader: CheckedContinuation<Batch, Never>?
  /// The sender of a message that waits until another one is taken.
  private var sender: CheckedContinuation<Bool, Never>?
  /// The peer's messages that are not carried out yet. The first one waits in `calls`, the others
  /// behind it.
  private var messages = CircularBuffer<ByteBuffer>()
  /// Whether the peer has sent its last message.
  private var isHalfClosed = false
  private var isTouched = false

  /// More messages are taken while fewer bytes wait. The value is the capacity of a usual socket.
  private static let waitingBytesMax = 128 << 10
  /// The cost of a message in addition to its bytes.
  private static let messageOverheadBytes = 128

  init(peer: Peer, service: ServiceLoop, calls: InProcessCalls, room: (any StreamRoom)?) {
    self.peer = peer
    self.service = service
    self.calls = calls
    self.room = room
  }

  typealias Opened = CheckedContinuation<Result<InProcessStream, RPCStatus>, Never>

  /// Opens the stream when the service has time for the request, at the end of a turn. The request
  /// counts at once, because it can wait for its turn.
  func open(
    _ method: Method, _ request: ByteBuffer, _ timeout: Duration?, _ opened: Opened
  ) {
    calls.openingBegins()
    do throws(RPCStatus) {
      let arrived = try StreamReservation(
        of: peer, service.policy.level(of: peer), bytes: request.readableBytes,
        in: service.context)
      calls.add { [self] isAbandoned in
        arrived.release()
        guard !isAbandoned else { return refuse(.shuttingDown, opened) }
        guard !isLost else { return refuse(.cancelled, opened) }
        calls.expectTasks()
        openAtEnd(method, request, timeout, opened)
      }
    } catch {
      service.context.note(method, error, of: peer)
      refuse(error, opened)
    }
  }

  /// Opens the stream at the end of the turn.
  private func openAtEnd(
    _ method: Method, _ request: ByteBuffer, _ timeout: Duration?, _ opened: Opened
  ) {
    service.turn.open()
    do throws(RPCStatus) {
      if service.context.phase == .handingOver { throw .shuttingDown }
      let waiting = try service.prepare(
        method, request, sink: self, peer: peer, level: service.policy.level(of: peer))
      service.turn.whenDurable(for: calls.share) { [self] refusal in
        defer { waiting.drop() }
        guard !isLost else { return refuse(.cancelled, opened) }
        do throws(RPCStatus) {
          if let refusal { throw refusal }
          if let timeout, timeout <= .zero { throw .deadlineExceeded }
          let stream = try waiting.open()
          serve(stream, timeout)
          opened.resume(returning: .success(InProcessStream(sink: self, service: service)))
          calls.openingEnded()
        } catch {
          service.context.note(method, error, of: peer)
          refuse(error, opened)
        }
      }
    } catch {
      service.context.note(method, error, of: peer)
      refuse(error, opened)
    }
  }

  private func refuse(_ status: RPCStatus, _ opened: Opened) {
    opened.resume(returning: .failure(status))
    calls.openingEnded()
  }

  /// Begins a conversation.
  func converse(_ method: Method, _ timeout: Duration?, _ begun: Opened) {
    service.turn.open()
    do throws(RPCStatus) {
      if let timeout, timeout <= .zero { throw .deadlineExceeded }
      let stream = try service.providers.converse(
        method, sink: self, peer: peer, level: service.policy.level(of: peer))
      serve(stream, timeout)
      begun.resume(returning: .success(InProcessStream(sink: self, service: service)))
    } catch {
      service.context.note(method, error, of: peer)
      begun.resume(returning: .failure(error))
    }
  }

  private func serve(_ stream: any ServedStream, _ timeout: Duration?) {
    self.stream = stream
    if let timeout { stream.setDeadline(in: timeout, service.context) }
    room?.onRoom = { [weak self] in
      guard let self, reader != nil else { return }
      self.stream?.becameWritable()
    }
  }

  // MARK: - What the peer sends

  func receive(_ message: ByteBuffer, _ sender: CheckedContinuation<Bool, Never>) {
    guard self.sender == nil else {
      preconditionFailure("messages are sent by one task at a time")
    }
    guard stream != nil, !isOver else { return sender.resume(returning: false) }
    self.sender = sender
    messages.append(message)
    if messages.count == 1 { awaitSlice() }
  }

  private func awaitSlice() {
    calls.add { [self] isAbandoned in
      if !isAbandoned, stream != nil, service.context.pause.isOn {
        stream?.messagesWait()
        return service.context.pause.wait(self) { self.awaitSlice() }
      }
      guard !isAbandoned, stream != nil, let message = messages.first,
        let kinds = service.preparations.preparation(ofFrame: message, of: peer)
      else { return carryOut(isAbandoned: isAbandoned) }
      kinds.onWait = { [self] in stream?.messagesWait() }
      kinds.isNeeded = { [self] in stream != nil && !isLost }
      calls.add(after: kinds) { isAbandoned in
        kinds.carryOut { self.carryOut(isAbandoned: isAbandoned) }
      }
    }
  }

  /// Carries out the first message.
  private func carryOut(isAbandoned: Bool) {
    guard let message = messages.popFirst(), let stream, !isAbandoned else {
      messages.removeAll()
      return stopSending()
    }
    stream.receive(message)
    calls.expectTasks()
    if messages.isEmpty { halfCloseAfterMessages() } else { awaitSlice() }
    // The result of the message is known at the end of the turn.
    service.turn.open()
    service.turn.whenDurable { self.resumeSender() }
  }

  func halfClose() {
    isHalfClosed = true
    halfCloseAfterMessages()
  }

  /// Whether a sender waits.
  var isSending: Bool { sender != nil }

  private func halfCloseAfterMessages() {
    if isHalfClosed, messages.isEmpty { stream?.halfClosed() }
  }

  /// The task that sends was cancelled.
  func stopSending() {
    guard let sender else { return }
    self.sender = nil
    sender.resume(returning: false)
  }

  /// Resumes the sender, unless its message waits or too many bytes wait to be read.
  private func resumeSender() {
    guard let sender,
      isOver || (messages.isEmpty && waitingBytes < InProcessSink.waitingBytesMax)
    else { return }
    self.sender = nil
    sender.resume(returning: !isOver)
  }

  // MARK: - The service's side

  var isWritable: Bool {
    reader != nil && !isOver && waitingBytes < InProcessSink.waitingBytesMax
      && room?.hasRoom ?? true
  }

  var isLost: Bool { isOver || room?.isLost == true }

  func send(_ message: EncodedMessage) {
    guard !isOver else { return }
    let payload = message.payload
    waiting.append(payload)
    waitingBytes += payload.readableBytes + InProcessSink.messageOverheadBytes
    service.context.counters.countBytes(payload.readableBytes)
    room?.take(payload.readableBytes)
    // The reader's task passes the message on after the turn.
    calls.expectTasks()
    touch()
  }

  func finish(_ status: RPCStatus?) {
    stream = nil
    guard !isOver else { return }
    (isOver, self.status) = (true, status)
    resumeSender()
    touch()
  }

  /// The reader is resumed at the end of the turn, when it has all messages of the turn.
  private func touch() {
    guard !isTouched, reader != nil else { return }
    isTouched = true
    service.turn.join(self)
  }

  func flushResponses() {
    isTouched = false
    guard let reader, !waiting.isEmpty || isOver else { return }
    self.reader = nil
    reader.resume(returning: take())
  }

  /// The messages of a stream are already durable.
  func discardResponses() {}

  // MARK: - The reader's side

  func next(_ reader: CheckedContinuation<Batch, Never>) {
    guard self.reader == nil else {
      preconditionFailure("a stream is read by one task at a time")
    }
    guard waiting.isEmpty, !isOver else { return reader.resume(returning: take()) }
    self.reader = reader
    stream?.becameWritable()
  }

  private func take() -> Batch {
    guard !waiting.isEmpty else { return .end(status) }
    let messages = waiting
    waiting = []
    waitingBytes = 0
    resumeSender()
    return .messages(messages)
  }

  func cancel(_ status: RPCStatus? = nil) {
    guard !isOver else { return }
    (isOver, self.status) = (true, status)
    waiting = []
    resumeSender()
    stream?.forget()
    stream = nil
    if let reader {
      self.reader = nil
      reader.resume(returning: .end(status))
    }
  }
}
