import WidgetClient
import WidgetModel

extension Failure {
  /// Whether another program has the provider's session.
  var isProvidedAlready: Bool { code == Failure.providedAlready }

  /// Whether a declared widget exists with another kind.
  var isKindMismatch: Bool { code == Failure.kindMismatch }

  private static let providedAlready = "PROVIDER_ACTIVE"
  private static let kindMismatch = "KIND_MISMATCH"

  /// A failure between the host and the daemon.
  init(_ error: ClientError) {
    switch error {
    case .status where error.reason == Failure.providedAlready:
      self.init(Failure.providedAlready, "\(error)")
    case .status where error.reason == Failure.kindMismatch:
      self.init(Failure.kindMismatch, "\(error)")
    case .status(let status):
      let code = "\(status.code)"
      // An exhausted quota is not transient, unless the daemon sends a time for the retry.
      let isTransient =
        ["UNAVAILABLE", "DEADLINE_EXCEEDED", "ABORTED"].contains(code) || status.retryDelay != nil
      self.init(code, "\(error)", isTransient: isTransient)
      // A daemon that ends closes its connections, which is reported.
      if isTransient, error.reason != "SHUTTING_DOWN" { refusal = error.reason ?? code }
    case .unavailable, .socketNotFound, .connectionLost, .unresponsive, .deadlineExceeded:
      self.init("UNAVAILABLE", "\(error)", isTransient: true)
    case .cancelled, .closed:
      self.init("CANCELLED", "\(error)")
    case .protocolViolation:
      self.init("INTERNAL", "\(error)", isTransient: true)
    case .wire, .requestTooLong:
      self.init("INVALID_ARGUMENT", "\(error)")
    }
  }
}
