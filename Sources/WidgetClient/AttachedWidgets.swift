public import WidgetModel
import WidgetProto

/// Which widgets somebody watches, as a provider is told: pass it every request of
/// `ProviderSession.requests`, in order.
///
/// After a lost connection, what was known stays until the daemon has told all of it again.
public struct AttachedWidgets: Sendable {
  /// nil: not known, because nobody asked or the daemon does not tell.
  private var ids: Set<WidgetID>?
  /// Whether the next `audience` has all that are attached, and not what is different.
  private var isBeginning = false

  /// Widgets that are watched now and were not before, and the other way round.
  public struct Change: Hashable, Sendable {
    public var attached: [WidgetID] = []
    public var detached: [WidgetID] = []
  }

  public init() {}

  /// Whether somebody watches a widget; true for all while it is not known.
  public func contains(_ id: WidgetID) -> Bool { ids?.contains(id) ?? true }

  /// Takes in what was told. Returns what is different now.
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
