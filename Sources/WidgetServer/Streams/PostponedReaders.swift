import WidgetModel

/// The revision of the readers that rounds left to later turns. The store keeps the removals after
/// it, so that these readers need no new snapshot.
///
/// The protection has bounds. Otherwise readers that come again and again could keep all removals for
/// ever. Readers that come while others wait are the next generation. Each generation has the same
/// number of turns, and at most two exist.
///
/// A value: the caller passes the ends of turns, and the number of removals that the store keeps.
struct PostponedReaders {
  private struct Generation {
    let revision: Revision
    /// The number of kept removals when the generation began.
    let removalCount: Int
    var turnsLeft = PostponedReaders.turnsMax
  }

  private var present: Generation?
  /// The revision of the first reader that has come since the present generation began.
  private var next: Revision?

  /// The number of turns of a generation.
  static let turnsMax = 256
  /// The maximum number of removals that come in a generation, as a multiple of `tombstones_max`.
  static let removalsFactor = 8

  /// The store keeps all removals after this revision. Nil if no reader was left to a later turn.
  var revision: Revision? { present?.revision }

  /// Readers that have all changes up to a revision are left to later turns.
  mutating func postpone(at revision: Revision, removalCount: Int) {
    if present == nil {
      present = Generation(revision: revision, removalCount: removalCount)
    } else if next == nil {
      next = revision
    }
  }

  /// Ends a turn.
  ///
  /// - Parameter isLast: Whether all readers were served.
  mutating func endTurn(isLast: Bool, removalCount: Int, tombstonesMax: Int) {
    guard let generation = present else { return }
    let added = removalCount - generation.removalCount
    if isLast || added / PostponedReaders.removalsFactor > tombstonesMax {
      self = PostponedReaders()
    } else if generation.turnsLeft > 0 {
      present?.turnsLeft -= 1
    } else {
      present = next.map { Generation(revision: $0, removalCount: removalCount) }
      next = nil
    }
  }
}
