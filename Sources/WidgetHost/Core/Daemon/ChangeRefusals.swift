/// Whether the daemon refuses the host's changes for now, as on a full disk.
///
/// A value: times in, lines for the log out. The host repeats a refused change every second, so only the
/// beginning of each reason and the end of the refusals are reported.
struct ChangeRefusals: Hashable, Sendable {
  /// The maximum number of reasons in the log before the end of the refusals.
  static let reasonsMax = 16

  /// The reasons of the refusals since the daemon last took changes. Empty if it takes changes.
  /// Several reasons can alternate: one for large changes, another for small ones.
  private var reasons: Set<String> = []
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
    (lastRefusal, hasTaken) = (uptime, false)
    guard reasons.count < ChangeRefusals.reasonsMax, reasons.insert(refusal).inserted else {
      return nil
    }
    return
      "the daemon refuses changes, so widgets are not updated; trying again until it takes them: "
      + failure.message
  }

  /// The daemon has taken a change.
  mutating func taken() { hasTaken = !reasons.isEmpty }

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
  mutating func forget() { (reasons, hasTaken) = ([], false) }
}
