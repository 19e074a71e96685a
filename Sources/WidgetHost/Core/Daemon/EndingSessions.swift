/// The sessions that end.
///
/// The session of a bundle's earlier version is retired: it closes after the next version's kinds
/// are registered. So nobody sees the widgets without a provider in between.
struct EndingSessions: Sendable {
  /// By bundle.
  private var retired: [String: [SessionID]] = [:]
  /// The sessions that are being closed, with their bundles and the ends of the waits.
  private var closings: [CallID: (bundle: String, end: Duration)] = [:]

  // MARK: Retired sessions

  mutating func retire(_ session: SessionID, of bundle: String) {
    retired[bundle, default: []].append(session)
  }

  func retired(of bundle: String) -> [SessionID] { retired[bundle] ?? [] }

  /// The bundles with retired sessions, in order.
  var retiredBundles: [String] { retired.keys.sorted() }

  /// - Returns: the retired sessions, which the caller now closes.
  mutating func takeRetired(of bundle: String) -> [SessionID] {
    retired.removeValue(forKey: bundle) ?? []
  }

  // MARK: Closing

  /// A session is being closed.
  ///
  /// - Parameter bundle: its bundle; empty for the host's session.
  mutating func close(with call: CallID, of bundle: String, until end: Duration) {
    closings[call] = (bundle, end)
  }

  mutating func closed(_ call: CallID) { closings[call] = nil }

  /// The calls that close sessions.
  var calls: Set<CallID> { Set(closings.keys) }

  /// Whether no session is being closed.
  var isClosed: Bool { closings.isEmpty }

  /// Whether a session of the bundle, which no other session takes over, is being closed.
  func isClosing(_ bundle: String) -> Bool { closings.values.contains { $0.bundle == bundle } }

  /// Whether sessions of the bundle have not ended, so that they could register its kinds.
  func has(_ bundle: String) -> Bool { retired[bundle] != nil || isClosing(bundle) }

  // MARK: Time

  var nextDeadline: Duration? { closings.values.map(\.end).min() }

  /// Gives up the waits that have lasted too long.
  ///
  /// - Returns: the calls to forget.
  mutating func tick(at uptime: Duration) -> [CallID] {
    let due = closings.filter { $0.value.end <= uptime }.map(\.key)
    for call in due { closings[call] = nil }
    return due
  }

  /// Gives up all waits.
  mutating func giveUp() { closings = [:] }
}
