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
  /// The walk before the turn's part; nil if the turn has taken no part. A part without a change
  /// depends on the turn's group, too: it passes widgets that the group removes or spares.
  private var former: Abandonment?
  /// Whether the turn's part has changed widgets.
  private var hasChangedWidgets = false
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
    let isNew = waiting[provider]?.insert(id).inserted ?? false
    let isNewInWalk = walk?.spare(id, of: provider) ?? false
    // If an earlier group has spared the widget, this group cannot take that back.
    if isNew || isNewInWalk { sparedInTurn.append((id, provider)) }
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
    hasChangedWidgets = isChange
  }

  /// The turn's group is durable. Returns whether its part has changed widgets.
  mutating func groupEnded() -> Bool {
    defer { (former, sparedInTurn, hasChangedWidgets) = (nil, [], false) }
    return hasChangedWidgets
  }

  /// The turn's group was taken back, so its part has to be repeated. Returns whether the part had
  /// changed widgets.
  mutating func groupFailed() -> Bool {
    let hadChanged = hasChangedWidgets
    if former != nil { walk = former }
    (former, hasChangedWidgets) = (nil, false)
    for (id, provider) in sparedInTurn {
      waiting[provider]?.remove(id)
      walk?.unspare(id, of: provider)
    }
    sparedInTurn.removeAll()
    if walk?.providers.isEmpty == true { walk = nil }
    return hadChanged
  }
}
