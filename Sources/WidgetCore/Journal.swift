import WidgetModel

/// The inverses of changes outside the records, newest last. `RecordTable` keeps the inverses of
/// changes of records.
///
/// While `keepsInverses`, every structural change appends its inverse. Undoing runs the inverses in
/// reverse order, so each finds the store exactly as it left it. Of revisions in a row, only the
/// first one is kept.
struct Journal {
  enum Inverse {
    /// The store's former revision.
    case revision(Revision)
    case dropTombstone
    case dropEvent
    /// The event of this number, the last one of its kind, was added as not acknowledged.
    case dropUnacknowledged(KindName, UInt64)
    /// These events of a kind were acknowledged, or removed with it.
    case restoreUnacknowledged(KindName, UnacknowledgedEvents.Removed)
    case lowerEventCeiling(to: UInt64)
    case lowerRevisionCeiling(to: Revision)
    /// An answer was kept, and hides an older one with the same id.
    case dropRequest(hiding: RequestImage?)
    case renumber(KindName, to: UInt64)
    /// The former registration under a name; nil for none.
    indirect case kind(KindName, RegisteredKind?, KindSchema?)
    /// The theme before the change.
    indirect case theme(RevisedTheme)
  }

  /// Whether changes append their inverses, so that they can be taken back.
  var keepsInverses: Bool
  var inverses: [Inverse] = []
  /// The savepoint of the innermost `atomically`, or 0: `undo` goes back to it, or further.
  var savepointInForce = 0

  init(keepsInverses: Bool) { self.keepsInverses = keepsInverses }

  mutating func append(_ inverse: Inverse) {
    guard keepsInverses else { return }
    if case .revision = inverse, inverses.count > savepointInForce,
      case .revision? = inverses.last
    {
      return
    }
    inverses.append(inverse)
  }
}
