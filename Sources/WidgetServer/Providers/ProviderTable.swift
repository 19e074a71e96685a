import NIOCore
import WidgetProto

/// The sessions of providers: all, and the one of each provider.
///
/// Invariant: each session of `byName` is in `sessions` until it is over.
struct ProviderTable {
  /// All sessions, also those whose provider is not known yet.
  private var sessions: [ObjectIdentifier: ServedSession] = [:]
  /// The session of each provider that has one.
  private(set) var byName: [String: ServedSession] = [:]
  /// The event after which each provider without a session continues; see `remember`.
  private var resumePoints: [String: UInt64] = [:]

  /// The maximum number of remembered providers.
  static let rememberedMax = 1_024

  var all: [ServedSession] { Array(sessions.values) }
  var isEmpty: Bool { sessions.isEmpty }
  /// The number of providers with a session.
  var count: Int { byName.count }

  /// The highest number of providers of one user.
  var highestCount: Int {
    Dictionary(grouping: byName.values, by: \.peer.uid).values.map(\.count).max() ?? 0
  }

  /// The number of providers of a user.
  func count(of uid: UInt32) -> Int { byName.values.count { $0.peer.uid == uid } }

  /// The last opened session of those that manage bundles.
  var bundleManager: ServedSession? {
    byName.values.filter { $0.managesBundles && $0.isStarted && !$0.isOver }.max { $0.id < $1.id }
  }

  mutating func add(_ session: ServedSession) { sessions[ObjectIdentifier(session)] = session }

  mutating func remove(_ session: ServedSession) {
    sessions[ObjectIdentifier(session)] = nil
  }

  /// Makes a session the provider's session, in place of the former one.
  mutating func name(_ session: ServedSession, _ provider: String) {
    if let other = byName[provider] { remember(provider, at: other.resumePoint) }
    byName[provider] = session
  }

  /// Takes a provider its session away, if it is still the provider's. Returns whether it was.
  mutating func release(_ session: ServedSession) -> Bool {
    guard let provider = session.provider, byName[provider] === session else { return false }
    remember(provider, at: session.resumePoint)
    byName[provider] = nil
    return true
  }

  /// The event after which a provider continues, if known.
  func resumePoint(of provider: String) -> UInt64? { resumePoints[provider] }

  /// Remembers where a provider continues. Above the limit, the least recent providers are
  /// forgotten.
  mutating func remember(_ provider: String, at point: UInt64) {
    resumePoints[provider] = max(point, resumePoints[provider] ?? 0)
    guard resumePoints.count > ProviderTable.rememberedMax else { return }
    let oldest = resumePoints.filter { byName[$0.key] == nil }.min { $0.value < $1.value }
    if let oldest { resumePoints[oldest.key] = nil }
  }
}
