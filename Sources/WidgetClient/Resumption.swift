import WidgetProto

/// The state of a watch between two connections. A value: messages and errors in, frames and
/// decisions out; `ResumingSequence` carries the decisions out.
protocol Resumption: Sendable {
  associatedtype Request: WireMessage
  associatedtype Message: WireMessage
  associatedtype Frame: Sendable

  static var method: RPCMethod { get }
  static var disconnected: (ClientError) -> Frame { get }
  static var reconnected: Frame { get }

  /// The request that continues the stream where it stopped.
  var request: Request { get }

  /// Called before each attempt to open the stream.
  mutating func willOpen()

  /// Takes a message of the stream.
  ///
  /// - Returns: nil for a message that only a later version knows, which is skipped.
  /// - Throws: `protocolViolation` if the daemon must not send this here.
  mutating func receive(_ message: Message) throws(ClientError) -> Frame?

  /// Whether the daemon opened the stream since `willOpen`.
  var isOpen: Bool { get }

  /// Decides how to continue after the stream could not be opened, or ended with an error.
  mutating func recover(from error: ClientError) -> Recovery<Frame>
}

/// The next step after a stream failed.
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
  /// The decision that depends only on the error: temporary errors are retried.
  init(for error: ClientError) {
    switch error {
    case .connectionLost, .unresponsive: self = .retry(least: .zero)
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
