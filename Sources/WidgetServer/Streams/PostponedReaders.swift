import NIOCore
import WidgetModel

/// The revision of the readers that rounds left to later turns, or that wait for the end of their
/// `min_interval` or `batch_delay`. The store keeps the removals after it, so that these readers
/// need no new snapshot.
///
/// The protection has bounds. Otherwise readers that come again and again could keep all removals for
/// ever. Readers that come while others wait are the next generation. A generation has the time of
/// its delays, and then a number of turns, in which its readers are served. It also ends when too
/// many removals have come in it. At most two generations exist.
///
/// A value: the caller passes the ends of turns, the time, and the number of removals that the
/// store keeps.
struct PostponedReaders {
  private struct Generation {
    let revision: Revision
    /// The number of kept removals when the generation began.
    let removalCount: Int
    /// The end of the last delay. Nil if no reader waits for one.
    var delayedUntil: NIODeadline?
    var turnsLeft = PostponedReaders.turnsMax
  }

  private var present: Generation?
  /// The lowest revision of the readers that have come since the present generation began, and the
  /// end of their last delay.
  private var next: (revision: Revision, delayedUntil: NIODeadline?)?

  /// The number of turns of a generation, after its delays.
  static let turnsMax = 256
  /// The maximum number of removals that come in a generation, as a multiple of `tombstones_max`.
  static let removalsFactor = 8
  /// The same if only readers with a delay are left. They can wait for long.
  static let removalsFactorOfDelays = 1

  /// The store keeps all removals after this revision. Nil if no reader was left to a later turn.
  var revision: Revision? { present.map { min($0.revision, next?.revision ?? .max) } }

  /// Readers that have all changes up to a revision are left to later turns.
  ///
  /// - Parameter delayedUntil: The end of the last `min_interval` or `batch_delay` of these
  /// readers; nil if they do not wait for one.
  mutating func postpone(
    at revision: Revision, removalCount: Int, delayedUntil: NIODeadline? = nil
  ) {
    guard let generation = present else {
      present = Generation(
        revision: revision, removalCount: removalCount, delayedUntil: delayedUntil)
      return
    }
    if generation.revision == revision {
      present?.delayedUntil = PostponedReaders.later(generation.delayedUntil, delayedUntil)
    } else if let following = next {
      next = (
        min(following.revision, revision),
        PostponedReaders.later(following.delayedUntil, delayedUntil)
      )
    } else {
      next = (revision, delayedUntil)
    }
  }

  private static func later(_ a: NIODeadline?, _ b: NIODeadline?) -> NIODeadline? {
    guard let a, let b else { return a ?? b }
    return max(a, b)
  }

  /// Ends a turn.
  ///
  /// - Parameter isLast: Whether all readers that are ready were served.
  mutating func endTurn(
    isLast: Bool, at now: NIODeadline, removalCount: Int, tombstonesMax: Int
  ) {
    guard let generation = present else { return }
    let factor =
      isLast ? PostponedReaders.removalsFactorOfDelays : PostponedReaders.removalsFactor
    if (removalCount - generation.removalCount) / factor <= tombstonesMax {
      if let end = generation.delayedUntil {
        // The readers become ready after the delay, in a later turn.
        if now >= end { present?.delayedUntil = nil }
        return
      }
      if !isLast, generation.turnsLeft > 0 {
        present?.turnsLeft -= 1
        return
      }
    }
    present = next.flatMap { following in
      guard !isLast || following.delayedUntil != nil else { return nil }
      return Generation(
        revision: following.revision, removalCount: removalCount,
        delayedUntil: following.delayedUntil)
    }
    next = nil
  }
}
