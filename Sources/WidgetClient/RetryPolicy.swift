/// The wait before a retry, and the number of retries.
///
/// The wait doubles with each attempt up to a bound. It is shortened at random by up to half, so
/// that clients of the same daemon do not all reconnect at the same moment.
public struct RetryPolicy: Sendable {
  /// The wait before the first attempt, before it is shortened.
  public var delayInitial: Duration
  /// The longest wait.
  public var delayMax: Duration
  /// The maximum number of attempts in a row; nil for no limit.
  public var attemptsMax: Int?
  /// A number in 0..<1 by which waits are shortened: 0 leaves them, nearly 1 halves them.
  public var jitter: @Sendable () -> Double
  /// The clock for waits.
  public var clock: any Clock<Duration>

  public init(
    delayInitial: Duration = .milliseconds(100), delayMax: Duration = .seconds(10),
    attemptsMax: Int? = nil,
    jitter: @escaping @Sendable () -> Double = { .random(in: 0..<1) },
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    self.delayInitial = delayInitial
    self.delayMax = delayMax
    self.attemptsMax = attemptsMax
    self.jitter = jitter
    self.clock = clock
  }

  /// Retries without a limit.
  public static var forever: RetryPolicy { RetryPolicy() }
  /// The first failure is final.
  public static var never: RetryPolicy { RetryPolicy(attemptsMax: 0) }

  /// The wait before an attempt.
  ///
  /// - Parameters:
  ///   - attempt: the number of failed attempts since the last success.
  ///   - least: the minimum wait, because the daemon asked for it.
  /// - Returns: nil if no more attempts are to be made.
  public func delay(beforeAttempt attempt: Int, least: Duration = .zero) -> Duration? {
    if let attemptsMax, attempt >= attemptsMax { return nil }
    var delay = delayInitial
    var doublings = attempt
    // Doubling stops at the bound, so it neither overflows nor takes long, whatever `attempt` is.
    while doublings > 0, delay > .zero, delay < delayMax {
      delay *= 2
      doublings -= 1
    }
    delay = min(delay, delayMax) * (1 - 0.5 * jitter().clamped(to: 0...1))
    return max(delay, least)
  }
}

extension Double {
  fileprivate func clamped(to range: ClosedRange<Double>) -> Double {
    isNaN ? range.lowerBound : min(max(self, range.lowerBound), range.upperBound)
  }
}
