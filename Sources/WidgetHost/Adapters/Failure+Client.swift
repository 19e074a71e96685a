import WidgetClient
import WidgetModel

extension Failure {
  /// Whether another program has the provider's session.
  var isProvidedAlready: Bool { code == Failure.providedAlready }

  /// Whether a declared widget exists with another kind.
  var isKindMismatch: Bool { code == Failure.kindMismatch }

  /// Whether a widget has changed since the answer on which a change depends.
  var isETagMismatch: Bool { code == Failure.etagMismatch }

  /// Whether one of the daemon's limits is reached.
  var isLimit: Bool { code == Failure.exhausted }

  /// One of the daemon's limits is reached.
  static func limit(_ message: String) -> Failure { Failure(exhausted, message) }

  private static let providedAlready = "PROVIDER_ACTIVE"
  private static let kindMismatch = "KIND_MISMATCH"
  private static let etagMismatch = "ETAG_MISMATCH"
  private static let exhausted = "RESOURCE_EXHAUSTED"

  /// A failure between the host and the daemon.
  init(_ error: ClientError) {
    switch error {
    case .status where error.reason == Failure.providedAlready:
      self.init(Failure.providedAlready, error.words)
    case .status where error.reason == Failure.kindMismatch:
      self.init(Failure.kindMismatch, error.words)
    // The daemon takes changes, so this is no `refusal`.
    case .status where error.reason == Failure.etagMismatch:
      self.init(Failure.etagMismatch, error.words, isTransient: true)
    case .status(let status):
      let code = "\(status.code)"
      // An exhausted quota is not transient, unless the daemon sends a time for the retry.
      let isTransient =
        ["UNAVAILABLE", "DEADLINE_EXCEEDED", "ABORTED"].contains(code) || status.retryDelay != nil
      // The host tries again by itself, and each answer has another time.
      self.init(code, error.wordsOfCause, isTransient: isTransient)
      // A daemon that ends closes its connections, which is reported.
      if isTransient, error.reason != "SHUTTING_DOWN" { refusal = error.reason ?? code }
    case .unavailable, .socketNotFound, .connectionLost, .unresponsive, .deadlineExceeded:
      self.init("UNAVAILABLE", error.words, isTransient: true)
    case .cancelled, .closed:
      self.init("CANCELLED", error.words)
    case .protocolViolation:
      self.init("INTERNAL", error.words, isTransient: true)
    case .wire, .requestTooLong:
      self.init("INVALID_ARGUMENT", error.words)
    }
  }
}

extension ClientError {
  /// The refusal for people: the message of the daemon without its code and reason, which stand in
  /// other fields or help nobody. If the message is missing, the reason or the code stays.
  var words: String {
    guard case .status(let status) = self else { return "\(self)" }
    return words(of: status, delay: status.retryDelay)
  }

  /// The same without the next attempt, for a session that reconnects by itself.
  var wordsOfCause: String {
    guard case .status(let status) = self else { return cause }
    return words(of: status, delay: nil)
  }

  private func words(of status: RPCStatus, delay: Duration?) -> String {
    let message =
      status.message.isEmpty
      ? "the daemon refused the call (\(reason ?? status.code.name))" : status.message
    // The message of a single violation often is the violation.
    let details = status.fieldViolations.map { "\($0.field): \($0.description)" }
      .filter { !message.contains($0) }
    var text = ([message] + details).map(\.withoutFinalPeriod).joined(separator: "; ")
    if let delay { text += "; try again in \(delay)" }
    return text
  }
}

extension String {
  /// Other words follow.
  fileprivate var withoutFinalPeriod: String {
    var text = self
    while text.hasSuffix(".") { text.removeLast() }
    return text
  }
}
