public import WidgetModel

/// A walk over all widgets that makes the widgets of lost providers stale, in parts.
///
/// A value: `WidgetStore.abandon` takes the next part. The walk visits each widget once, whatever
/// changes between the parts. Widgets that are created after the first part stay as they are.
public struct Abandonment: Hashable, Sendable {
  /// The lost providers, each with its widgets that stay fresh.
  private(set) var spared: [String: Set<WidgetID>]
  /// The next slot to look at.
  fileprivate var slot = 0
  /// The revision before the first part; nil until then.
  fileprivate var startRevision: Revision?

  /// - Parameter providers: The lost providers, each with its widgets that stay fresh.
  public init(of providers: [String: Set<WidgetID>]) { spared = providers }

  public var providers: Set<String> { Set(spared.keys) }

  /// Whether a provider is one of the lost ones. O(1).
  public func concerns(_ provider: String) -> Bool { spared[provider] != nil }

  /// Leaves the rest of a provider's widgets as they are.
  public mutating func forget(_ provider: String) { spared[provider] = nil }

  /// Lets a widget of a lost provider stay fresh. Returns false if nothing changes: the widget stays
  /// fresh already, or the provider is none of the lost ones.
  @discardableResult
  public mutating func spare(_ id: WidgetID, of provider: String) -> Bool {
    spared[provider]?.insert(id).inserted ?? false
  }

  /// Takes `spare` back.
  public mutating func unspare(_ id: WidgetID, of provider: String) {
    spared[provider]?.remove(id)
  }

  /// The number of widgets that a part looks at before it asks for the time. A look takes less time
  /// than the clock.
  fileprivate static let looksMax = 64
}

extension WidgetStore {
  /// Makes further widgets of lost providers stale, as a part of the group. All changes have one
  /// revision. They cannot be refused: content without room is cut. O(widgets looked at).
  ///
  /// A part ends after `widgetsMax` changed widgets. It also ends when the rows of the group exceed
  /// `bytesMax`, or when `isOver` returns true, but not before the first changed widget or 64 others.
  public mutating func abandon(
    _ walk: inout Abandonment, at now: Timestamp, widgetsMax: Int = .max, bytesMax: Int = .max,
    isOver: () -> Bool = { false }
  ) -> Advance {
    var result = Advance()
    let startRevision = walk.startRevision ?? revision
    walk.startRevision = startRevision
    contents.beginCommand(at: now)
    records.beginCommand()
    let end = records.indices.upperBound
    var (changed, looks) = (0, 0)
    while walk.slot < end {
      if changed >= widgetsMax || changed > 0 && pendingBytes > bytesMax { break }
      if changed > 0 || looks >= Abandonment.looksMax {
        if isOver() { break }
        looks = 0
      }
      guard
        let slot = nextAbandoned(&walk, before: end, looks: &looks, since: startRevision)
      else { continue }
      if !result.isChange {
        _ = advanceRevision()
        result.isChange = true
      }
      let revision = revision
      records.modify(slot, at: revision, &contents, limits: limitsForAdvance(of: slot)) { state in
        state.isStale = true
        state.statusRevision = revision
        state.finish(nil, at: revision, time: now)
      }
      changed += 1
    }
    result.hasMore = walk.slot < end
    return result
  }

  /// The slot of the next widget to make stale. Returns nil at the end, and after some looks.
  private mutating func nextAbandoned(
    _ walk: inout Abandonment, before end: Int, looks: inout Int, since startRevision: Revision
  ) -> Int? {
    while walk.slot < end, looks < Abandonment.looksMax {
      let slot = walk.slot
      walk.slot += 1
      looks += 1
      guard let record = records[slot], record.createdRevision <= startRevision,
        !record.isActivity, let provider = registeredKinds[record.kind]?.provider,
        let spared = walk.spared[provider], !spared.contains(record.id)
      else { continue }
      guard record.isStale else { return slot }
      // If time has made the widget stale, the lost provider is a second reason from now on.
      records.stayStale(slot)
    }
    return nil
  }
}
