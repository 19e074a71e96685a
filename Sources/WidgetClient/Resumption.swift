import WidgetProto

/// What a watch remembers between two connections. A value: messages and errors in, frames and
/// decisions out; `ResumingSequence` does what it says.
protocol Resumption: Sendable {
  associatedtype Request: WireMessage
  associatedtype Message: WireMessage
  associatedtype Frame: Sendable

  static var method: RPCMethod { get }
  static var disconnected: (ClientError) -> Frame { get }
  static var reconnected: Frame { get }

  /// What opens the stream so that it goes on where it stopped.
  var request: Request { get }

  /// The stream is about to be opened (again).
  mutating func willOpen()

  /// Takes a message of the stream.
  ///
  /// - Returns: nil for a message that only a later version knows, which is skipped.
  /// - Throws: `protocolViolation` if the daemon must not send this here.
  mutating func receive(_ message: Message) throws(ClientError) -> Frame?

  /// Whether the daemon opened the stream since `willOpen`.
  var isOpen: Bool { get }

  /// Says what to do after the stream could not be opened, or ended with an error.
  mutating func recover(from error: ClientError) -> Recovery<Frame>
}

/// What to do when a stream failed.
enum Recovery<Frame: Sendable>: Sendable {
  /// Wait (at least this long) and open it again.
  case retry(least: Duration)
  /// Deliver this frame and open it again at once.
  case restart(Frame)
  /// Give up; the caller gets the error.
  case fail
}

extension Recovery: Equatable where Frame: Equatable {}

extension Recovery {
  /// The decision that depends only on the error: what may pass by itself is tried again.
  init(for error: ClientError) {
    switch error {
    case .connectionLost: self = .retry(least: .zero)
    case .unavailable(let failure, _): self = failure.isTransient ? .retry(least: .zero) : .fail
    case .status(let status):
      switch status.code {
      case .unavailable, .resourceExhausted, .aborted, .deadlineExceeded:
        self = .retry(least: max(.zero, status.retryDelay ?? .zero))
      default: self = .fail
      }
    case .socketNotFound, .deadlineExceeded, .cancelled, .closed, .protocolViolation, .wire,
      .requestTooLong:
      self = .fail
    }
  }
}
