import WidgetModel

/// How to take back what was done, newest last.
///
/// Every structural change of the store appends its inverse while recording is on. Undoing runs
/// the inverses in reverse order, so each finds the store exactly as it left it; that is what makes
/// restoring a linked record's neighbours sound.
struct Journal {
  enum Inverse {
    /// The store's revision was this.
    case revision(Revision)
    /// The record in a slot was this. Here and below, `chunk` is what the slot's chunk revision was.
    case replace(slot: Int32, with: Record, chunk: Revision)
    /// A record was put into a slot.
    case remove(slot: Int32, chunk: Revision)
    /// A record was taken out of a slot.
    case restore(slot: Int32, Record, chunk: Revision)
    case dropTombstone
    case dropEvent
    /// The event of this number, the last one of its kind, was taken in as not acknowledged.
    case dropUnacknowledged(KindName, UInt64)
    /// These events of a kind were acknowledged, or went with it.
    case restoreUnacknowledged(KindName, UnacknowledgedEvents.Removed)
    case lowerEventCeiling(to: UInt64)
    case dropRequest
    case renumber(KindName, to: UInt64)
    /// The record in a slot is to be stored again, though it has not changed.
    case storeAgain(slot: Int32)
    /// What was registered under a name; nil for nothing.
    case kind(KindName, RegisteredKind?, KindSchema?)
    /// The theme before the change.
    case theme(RevisedTheme)
  }

  /// Whether changes can be taken back.
  var isRecording: Bool
  var inverses: [Inverse] = []

  /// A journal that shares no record with this one.
  func copy() -> Journal {
    var copy = Journal(isRecording: isRecording)
    copy.inverses = inverses.map { inverse in
      switch inverse {
      case .replace(let slot, let record, let chunk):
        .replace(slot: slot, with: record.copy(), chunk: chunk)
      case .restore(let slot, let record, let chunk):
        .restore(slot: slot, record.copy(), chunk: chunk)
      default: inverse
      }
    }
    return copy
  }

  init(isRecording: Bool) { self.isRecording = isRecording }
}
