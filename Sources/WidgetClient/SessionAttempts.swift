import WidgetProto

/// The attempts to open a provider's session: the result of the last one, and whether another one can
/// help.
struct SessionAttempts {
  /// Whether a session was open and its kinds accepted, since the last attempt began.
  private var wasOpen = false
  /// The reason why the kinds were refused, if that may change.
  private var refusal: ClientError?
  /// The time since when another session has blocked this one, which had been open.
  private var displacedSince: ContinuousClock.Instant?

  // MARK: - The result

  mutating func opened() { displacedSince = nil }

  mutating func acceptedKinds() { wasOpen = true }

  /// Keeps the reason. Without it, the provider would learn only that its session was closed.
  mutating func refusedKinds(_ error: ClientError) { refusal = error }

  mutating func takeWasOpen() -> Bool {
    defer { wasOpen = false }
    return wasOpen
  }

  mutating func takeRefusal() -> ClientError? {
    defer { refusal = nil }
    return refusal
  }

  // MARK: - Another one

  /// The minimum wait before another attempt; nil if a retry cannot help, or another program has
  /// taken the provider's place.
  mutating func delay(
    after error: ClientError, isAgain: Bool, lease: Duration?
  ) -> Duration? {
    guard let least = SessionAttempts.delay(after: error, isAgain: isAgain),
      !isDisplaced(by: error, lease: lease)
    else { return nil }
    return least
  }

  /// The minimum wait before another attempt; nil if a retry cannot help.
  static func delay(after error: ClientError, isAgain: Bool) -> Duration? {
    switch error.reason {
    case "PROVIDER_REPLACED": return nil
    // The daemon may not have noticed the end of the last session, or another process has the
    // session.
    case "PROVIDER_ACTIVE": return isAgain ? .zero : nil
    case "REVISION_COMPACTED": return .zero
    default: break
    }
    return if case .retry(let least) = Recovery<ProviderRequest>(for: error) { least } else { nil }
  }

  /// Whether another session blocks this one for longer than a former session of this provider
  /// could. It is then another program's.
  private mutating func isDisplaced(by error: ClientError, lease: Duration?) -> Bool {
    guard error.reason == "PROVIDER_ACTIVE" else {
      if error.reason != nil { displacedSince = nil }
      return false
    }
    let since = displacedSince ?? .now
    displacedSince = since
    return .now - since > (lease ?? .seconds(15)) + .seconds(5)
  }
}
