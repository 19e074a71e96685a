import NIOCore
import WidgetProto
import WidgetTransport

/// One unary call, until its caller has the result. Confined to the loop.
///
/// Three things can end it: an answer (or the loss of the connection), its deadline, and the
/// cancellation of the waiting task. The first one counts.
final class UnaryCall<Request: WireMessage, Response: WireMessage>: CallReceiver {
  typealias Answer = Result<Response, ClientError>

  private let method: RPCMethod
  private let request: Request
  private let options: CallOptions
  private var continuation: CheckedContinuation<Answer, Never>?
  private var timer: Scheduled<Void>?
  private var silenceTimer: Scheduled<Void>?
  private var connection: RPCConnection?
  private var streamID: UInt32?
  /// Whether the caller was told of a pending change, and not yet of its end.
  private var isPendingChange = false

  init(
    _ method: RPCMethod, _ request: Request, options: CallOptions,
    continuation: CheckedContinuation<Answer, Never>
  ) {
    self.method = method
    self.request = request
    self.options = options
    self.continuation = continuation
  }

  /// Starts the deadline, gets the connection, sends the request.
  func start(on connector: Connector) {
    if let timeout = options.timeout {
      guard timeout > .zero else { return complete(.failure(.deadlineExceeded(timeout))) }
      timer = connector.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(timeout)) {
        self.giveUp(.deadlineExceeded(timeout))
      }
    }
    let started = NIODeadline.now()
    watchSilence(since: started, connector.eventLoop)
    connector.withShared { result in
      guard self.continuation != nil else { return }
      switch result {
      case .success(let connection): self.send(on: connection, since: started)
      case .failure(let error): self.complete(.failure(error))
      }
    }
  }

  private func send(on connection: RPCConnection, since started: NIODeadline) {
    let waited = Duration.nanoseconds((NIODeadline.now() - started).nanoseconds)
    do throws(ClientError) {
      streamID = try connection.open(
        .unary, method, request, timeout: options.timeout.map { max($0 - waited, .nanoseconds(1)) },
        metadata: options.metadata, receiver: self, willSend: notePendingChange)
      self.connection = connection
    } catch {
      complete(.failure(error))
    }
  }

  /// Tells the caller that the change is sent now. A request without an encoding never gets here.
  private func notePendingChange() {
    guard method.mayChange, let pendingChange = options.pendingChange else { return }
    isPendingChange = true
    pendingChange(true)
  }

  /// Ends the call from the caller's side.
  func giveUp(_ error: ClientError) {
    if let streamID { connection?.abandon(streamID) }
    complete(.failure(streamID == nil ? error : error.of(method)))
  }

  // MARK: Silence

  /// Tells the caller that the daemon does not answer. A call may take long, so the daemon is asked
  /// first: a daemon that answers the question works on the call.
  private func watchSilence(since started: NIODeadline, _ eventLoop: any EventLoop) {
    guard let silence = options.silence else { return }
    let answerMax = silence.after * 0.4
    let loop = eventLoop.assumeIsolated()
    silenceTimer = loop.scheduleTask(in: TimeAmount(silence.after - answerMax)) {
      guard self.continuation != nil else { return }
      let asked = NIODeadline.now()
      self.connection?.ask()
      self.silenceTimer = loop.scheduleTask(in: TimeAmount(answerMax)) {
        guard self.continuation != nil, self.connection?.hasHeard(since: asked) != true else {
          return
        }
        silence.note()
      }
    }
  }

  func message(_ bytes: ByteBuffer) {
    // The connection treats data on a unary call as a violation of the protocol.
  }

  func finish(_ result: Result<ByteBuffer?, ClientError>) {
    switch result {
    case .success(let payload):
      guard let connection else { return complete(.failure(.closed)) }
      do throws(WireError) {
        complete(
          .success(try connection.codec.decode(Response.self, from: payload ?? ByteBuffer())))
      } catch {
        complete(.failure(.wire(error)))
      }
    case .failure(let error):
      complete(.failure(error.of(method)))
    }
  }

  private func complete(_ answer: Answer) {
    timer?.cancel()
    silenceTimer?.cancel()
    (timer, silenceTimer) = (nil, nil)
    connection = nil
    if isPendingChange {
      isPendingChange = false
      options.pendingChange?(false)
    }
    continuation.take()?.resume(returning: answer)
  }
}

/// Connects a call with the cancellation of its task, in either order.
enum CallSlot<Request: WireMessage, Response: WireMessage> {
  case waiting
  case started(UnaryCall<Request, Response>)
  case cancelled
}
