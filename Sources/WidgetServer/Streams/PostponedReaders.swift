import NIOCore
import WidgetModel

/// The revision of the readers that rounds left to later turns, or that wait for the end of their
/// `min_interval` or `batch_delay`. The store keeps the removals after it, so that these readers
/// need no new snapshot.
///
/// The protection has bounds. Otherwise readers that come again and again could keep all removals for
/// ever. Readers that come while others wait are the next generation. Each generation has the same
/// number of turns, and the time of its delays. At most two exist.
///
/// A value: the caller passes the ends of turns, the time, and the number of removals that the
/// store keeps.
struct PostponedReaders {
  private struct Generation {
    let revision: Revision
    /// The number of kept removals when the generation began.
    let removalCount: Int
    /// The end of the last delay.
    var delayedUntil: NIODeadline
    /// 0 if only readers with a delay are left.
    var turnsLeft = PostponedReaders.turnsMax
  }

  private var present: Generation?
  /// The revision of the first reader that has come since the present generation began, and the end
  /// of the last delay.
  private var next: (revision: Revision, delayedUntil: NIODeadline)?

  /// The number of turns of a generation.
  static let turnsMax = 256
  /// The maximum number of removals that come in a generation, as a multiple of `tombstones_max`.
  static let removalsFactor = 8
  /// The same if only readers with a delay are left. They can wait for long.
  static let removalsFactorOfDelays = 1

  /// The store keeps all removals after this revision. Nil if no reader was left to a later turn.
  var revision: Revision? { present?.revision }

  /// Readers that have all changes up to a revision are left to later turns.
  ///
  /// - Parameter delayedUntil: The end of the last `min_interval` or `batch_delay` of these
  /// readers.
  mutating func postpone(
    at revision: Revision, removalCount: Int,
    delayedUntil: NIODeadline = .uptimeNanoseconds(0)
  ) {
    guard let generation = present else {
      present = Generation(
        revision: revision, removalCount: removalCount, delayedUntil: delayedUntil)
      return
    }
    if generation.revision == revision {
      present?.delayedUntil = max(generation.delayedUntil, delayedUntil)
    } else if let following = next {
      next = (following.revision, max(following.delayedUntil, delayedUntil))
    } else {
      next = (revision, delayedUntil)
    }
  }

  /// Ends a turn.
  ///
  /// - Parameter isLast: Whether all readers without a delay were served.
  mutating func endTurn(
    isLast: Bool, at now: NIODeadline, removalCount: Int, tombstonesMax: Int
  ) {
    guard var generation = present else { return }
    if isLast { generation.turnsLeft = 0 }
    let factor =
      isLast ? PostponedReaders.removalsFactorOfDelays : PostponedReaders.removalsFactor
    if (removalCount - generation.removalCount) / factor > tombstonesMax {
      self = PostponedReaders()
      return
    }
    guard generation.turnsLeft == 0 else {
      generation.turnsLeft -= 1
      present = generation
      return
    }
    guard now >= generation.delayedUntil else {
      present = generation
      return
    }
    present = next.flatMap { following in
      guard !isLast || now < following.delayedUntil else { return nil }
      return Generation(
        revision: following.revision, removalCount: removalCount,
        delayedUntil: following.delayedUntil)
    }
    next = nil
  }
}
