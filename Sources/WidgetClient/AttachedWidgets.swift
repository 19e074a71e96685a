public import WidgetModel
import WidgetProto

/// The widgets of a provider that are watched. Pass it every request of `ProviderSession.requests`,
/// in order.
///
/// After a lost connection, the last state stays until the daemon has sent a new one.
public struct AttachedWidgets: Sendable {
  /// The watched widgets. Nil if they are unknown: the provider did not ask, or the daemon does not
  /// support it.
  private var ids: Set<WidgetID>?
  /// Whether the next `audience` is the full state, and not a difference.
  private var isBeginning = false

  /// The widgets that became watched, and those that lost their last watcher.
  public struct Change: Hashable, Sendable {
    public var attached: [WidgetID] = []
    public var detached: [WidgetID] = []
  }

  public init() {}

  /// Whether a widget is watched. True for all widgets while it is unknown.
  public func contains(_ id: WidgetID) -> Bool { ids?.contains(id) ?? true }

  /// Applies a request. Returns the change.
  @discardableResult
  public mutating func apply(_ request: ProviderRequest) -> Change {
    switch request {
    case .connected(let opened):
      isBeginning = opened.includesAudience
      if !opened.includesAudience { ids = nil }
    case .removed(let removed): ids?.subtract(removed)
    case .audience(let audience):
      let before = ids ?? []
      var after = isBeginning ? [] : before
      isBeginning = false
      after.formUnion(audience.attached)
      after.subtract(audience.detached)
      ids = after
      return Change(
        attached: after.subtracting(before).sorted { $0.rawValue < $1.rawValue },
        detached: before.subtracting(after).sorted { $0.rawValue < $1.rawValue })
    default: break
    }
    return Change()
  }
}
