import WidgetModel

/// How to take back what was done beside the records, newest last. `RecordTable` keeps the inverses of
/// changes of records.
///
/// Every structural change appends its inverse while recording is on. Undoing runs the inverses in
/// reverse order, so each finds the store exactly as it left it.
struct Journal {
  enum Inverse {
    /// The store's revision was this.
    case revision(Revision)
    case dropTombstone
    case dropEvent
    /// The event of this number, the last one of its kind, was taken in as not acknowledged.
    case dropUnacknowledged(KindName, UInt64)
    /// These events of a kind were acknowledged, or went with it.
    case restoreUnacknowledged(KindName, UnacknowledgedEvents.Removed)
    case lowerEventCeiling(to: UInt64)
    case lowerRevisionCeiling(to: Revision)
    case dropRequest
    case renumber(KindName, to: UInt64)
    /// What was registered under a name; nil for nothing.
    case kind(KindName, RegisteredKind?, KindSchema?)
    /// The theme before the change.
    case theme(RevisedTheme)
  }

  /// Whether changes can be taken back.
  var isRecording: Bool
  var inverses: [Inverse] = []

  init(isRecording: Bool) { self.isRecording = isRecording }
}
