import NIOCore
import WidgetCore
import WidgetModel

/// Providers without a session whose widgets become stale: those whose session ended, and those of
/// the former process that did not come back in time.
///
/// One walk over all widgets serves all providers that are lost at its start. Providers that are lost
/// later wait for the next walk. A value: it knows the state before the turn, for a failed group.
struct LostProviders {
  /// Lost providers that wait for the next walk, each with its widgets that stay fresh.
  private var waiting: [String: Set<WidgetID>] = [:]
  /// The walk that is not over.
  private var walk: Abandonment?
  /// The walk before the turn's part; nil if the turn has changed no widgets of lost providers.
  private var former: Abandonment?
  /// The widgets that calls of the turn have made fresh.
  private var sparedInTurn: [(id: WidgetID, provider: String)] = []
  /// Providers that had sessions before the daemon started, and have not come back.
  private var absent: Set<String> = []
  private var absenceWatch = LeaseWatch()

  /// The time after the start in which a provider can come back.
  static let returnTime = TimeAmount.seconds(15)

  // MARK: - Gone and back

  /// Whether widgets are left to be made stale.
  var hasMore: Bool { walk != nil || !waiting.isEmpty }

  /// The providers whose widgets are not all stale yet.
  var names: Set<String> { (walk?.providers ?? []).union(waiting.keys) }

  mutating func lose(_ provider: String) {
    if walk?.concerns(provider) != true { waiting[provider] = waiting[provider] ?? [] }
  }

  /// A provider has a session again. Its other widgets stay fresh: it is asked for their data.
  mutating func comeBack(_ provider: String) {
    absent.remove(provider)
    waiting[provider] = nil
    walk?.forget(provider)
    former?.forget(provider)
    if walk?.providers.isEmpty == true { walk = nil }
  }

  /// Names the providers of the process before.
  mutating func await(_ providers: Set<String>) { absent = providers }

  /// Checks whether the time to come back is over.
  ///
  /// - Returns: what to do next; nil if no provider is absent.
  mutating func lookAtAbsent(at instant: NIODeadline, start: NIODeadline) -> LeaseWatch.Verdict? {
    guard !absent.isEmpty else { return nil }
    let verdict = absenceWatch.look(at: instant, end: start + LostProviders.returnTime)
    if case .isOver = verdict {
      for provider in absent { lose(provider) }
      absent.removeAll()
    }
    return verdict
  }

  // MARK: - A turn

  /// A call makes a widget of a provider fresh. If the provider is lost, the widget stays fresh, as
  /// if all widgets had become stale before the call.
  mutating func spare(_ id: WidgetID, of provider: String) {
    guard hasMore, waiting[provider] != nil || walk?.concerns(provider) == true else { return }
    waiting[provider]?.insert(id)
    walk?.spare(id, of: provider)
    sparedInTurn.append((id, provider))
  }

  /// The walk whose next part the turn takes; nil if no provider is lost. `endPart` has to follow.
  mutating func beginPart() -> Abandonment? {
    guard hasMore else { return nil }
    let current = walk ?? Abandonment(of: waiting)
    if walk == nil { waiting.removeAll() }
    former = current
    return current
  }

  /// - Parameters:
  ///   - isChange: Whether the part changed widgets.
  ///   - hasMore: Whether the walk has further parts.
  mutating func endPart(_ current: Abandonment, isChange: Bool, hasMore: Bool) {
    walk = hasMore ? current : nil
    if !isChange { former = nil }
  }

  /// The turn's group is durable. Returns whether it has a part of a walk.
  mutating func groupEnded() -> Bool {
    defer { (former, sparedInTurn) = (nil, []) }
    return former != nil
  }

  /// The turn's group was taken back, so its part has to be repeated. Returns whether it had one.
  mutating func groupFailed() -> Bool {
    let hadPart = former != nil
    if hadPart { walk = former }
    former = nil
    for (id, provider) in sparedInTurn {
      waiting[provider]?.remove(id)
      walk?.unspare(id, of: provider)
    }
    sparedInTurn.removeAll()
    if walk?.providers.isEmpty == true { walk = nil }
    return hadPart
  }
}
