/// Whether the daemon refuses the host's changes for now, as on a full disk.
///
/// A value: times in, lines for the log out. The host repeats a refused change every second, so only the
/// beginning and the end of the refusals are reported.
struct ChangeRefusals: Hashable, Sendable {
  /// The reason of the last refusal. Nil if the daemon takes changes.
  private var reason: String?
  private var lastRefusal = Duration.zero
  /// Whether the daemon has taken a change since the last refusal.
  private var hasTaken = false
  private let endWait: Duration

  init(_ limits: HostLimits) { endWait = limits.refusalEndWait }

  /// The daemon has refused a change.
  ///
  /// - Returns: the line for the log, if this is news.
  mutating func refused(_ failure: Failure, at uptime: Duration) -> String? {
    guard let refusal = failure.refusal else { return nil }
    let isNews = reason != refusal
    (reason, lastRefusal, hasTaken) = (refusal, uptime, false)
    return isNews
      ? "the daemon refuses changes, so widgets are not updated; trying again until it takes them: "
        + failure.message : nil
  }

  /// The daemon has taken a change.
  mutating func taken() { hasTaken = reason != nil }

  /// When the refusals may be over. Nil if nothing waits.
  var deadline: Duration? { hasTaken ? lastRefusal + endWait : nil }

  /// Time has passed.
  ///
  /// - Returns: the line for the log, if the refusals are over.
  mutating func tick(at uptime: Duration) -> String? {
    guard let deadline, deadline <= uptime else { return nil }
    forget()
    return "the daemon takes changes again"
  }

  /// The connection is lost.
  mutating func forget() { (reason, hasTaken) = (nil, false) }
}
