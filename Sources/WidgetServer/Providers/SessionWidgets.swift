import WidgetCore
import WidgetModel

/// The kinds and widgets that one session has told its provider about.
struct SessionWidgets {
  /// The kinds of the provider, as far as the session has been told.
  private(set) var kinds: Set<KindName> = []
  /// Those among them that the provider has declared in a session.
  private(set) var attendedKinds: Set<KindName> = []
  /// The session has looked at all changes of widgets up to this revision.
  private(set) var cursor: Revision = 0
  /// Removed kinds and widgets that the provider does not know of yet.
  private var kindRemovals: Set<KindName> = []
  /// Kinds that somebody else has declared in the provider's place, and that it does not know of yet.
  private var kindReplacements: Set<KindName> = []
  private var removals: [WidgetID] = []

  /// The maximum number of ids in a frame of removed widgets.
  private static let removalsPerFrameMax = 256

  /// Begins with the present state.
  init(
    kinds: Set<KindName> = [], attended: Set<KindName> = [], at revision: Revision = 0
  ) {
    self.kinds = kinds
    attendedKinds = attended
    cursor = revision
  }

  /// Whether the provider has been told of everything up to the cursor.
  var hasToldEverything: Bool {
    kindRemovals.isEmpty && kindReplacements.isEmpty && removals.isEmpty
  }

  /// Skips changes of other providers' widgets up to a revision.
  mutating func skip(to revision: Revision) { cursor = max(cursor, revision) }

  /// Takes the kinds that the provider has now, and those that it has declared in a session. Returns
  /// the new ones.
  mutating func take(_ current: Set<KindName>, attended: Set<KindName>) -> Set<KindName> {
    kindReplacements.formUnion(attendedKinds.intersection(current))
    kindReplacements.subtract(attended)
    kindReplacements.formIntersection(current)
    attendedKinds = attended
    let added = current.subtracting(kinds)
    kindRemovals.formUnion(kinds.subtracting(current))
    kindRemovals.subtract(current)
    kinds = current
    return added
  }

  /// The provider itself has removed these kinds.
  mutating func giveUp(_ names: [KindName]) { kinds.subtract(names) }

  /// Takes widgets that were removed up to a revision.
  mutating func take(_ removed: [WidgetID], upTo revision: Revision) {
    cursor = revision
    removals += removed
  }

  /// The removed kinds that the provider is told of next; nil if there are none.
  mutating func nextKindRemovals() -> [KindName]? {
    let names = kindRemovals.union(kindReplacements)
    guard !names.isEmpty else { return nil }
    (kindRemovals, kindReplacements) = ([], [])
    return names.sorted { $0.rawValue.precedesByBytes($1.rawValue) }
  }

  /// The removed widgets that the provider is told of next; nil if there are none.
  mutating func nextRemovals() -> [WidgetID]? {
    guard !removals.isEmpty else { return nil }
    let ids = Array(removals.prefix(SessionWidgets.removalsPerFrameMax))
    removals.removeFirst(ids.count)
    return ids
  }
}
