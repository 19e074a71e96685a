import WidgetCore
import WidgetModel

/// The progress of a reader in the state and the events.
struct StreamCursor {
  private(set) var position: Position
  /// Everything up to this event has been sent. Updated only while the reader is not caught up.
  private(set) var sequence: UInt64

  /// The progress of a reader in the state.
  enum Position {
    /// The reader has everything up to the last round of frames.
    case caughtUp
    /// The reader has everything up to a revision.
    case behind(Revision)
    /// The reader is being sent everything since a revision, in chunks.
    case transferring(Transfer)
  }

  /// A transfer under way; see `WidgetStore.changes(endingTransferSince:startedAt:)`.
  struct Transfer {
    /// The reader's revision before the transfer; 0 and `isSnapshot` for none.
    let cursor: Revision
    let isSnapshot: Bool
    let startedAt: Revision
    /// The number of chunks in the pass under way.
    private(set) var chunkCount: Int
    /// The revision at the start of the pass under way.
    private(set) var passStartedAt: Revision
    /// The pass under way sends the changes since this revision. 0 in a snapshot's first pass:
    /// everything.
    private(set) var passSince: Revision
    private(set) var passes = 1
    private(set) var nextChunk = 0
    /// The next slot within the chunk; 0 at its beginning.
    private(set) var nextSlot = 0
    /// The removals that the reader was sent. Those before the start matter only to a reader that
    /// held something.
    private(set) var removals: RemovalCursor

    init(cursor: Revision, isSnapshot: Bool, startedAt: Revision, chunkCount: Int) {
      self.cursor = cursor
      self.isSnapshot = isSnapshot
      self.startedAt = startedAt
      self.chunkCount = chunkCount
      passStartedAt = startedAt
      passSince = cursor
      removals = RemovalCursor(isSnapshot ? startedAt : cursor)
    }

    /// Whether the reader lacks removals from before the start.
    var lacksRemovals: Bool { removals.revision < startedAt }

    /// Whether the pass under way has gone through all chunks.
    var isThrough: Bool { nextChunk >= chunkCount }

    /// The parts of removals that were sent after the last chunk.
    private(set) var removalParts = 0

    mutating func sentRemovals(upTo place: RemovalCursor) {
      removals = place
      if isThrough { removalParts += 1 }
    }

    /// Goes through the chunks again, for the changes made during the last pass.
    mutating func beginPass(at revision: Revision, chunkCount: Int) {
      (passSince, passStartedAt) = (passStartedAt, revision)
      (self.chunkCount, nextChunk, nextSlot) = (chunkCount, 0, 0)
      passes += 1
    }

    /// Continues at a slot of this chunk, or at the next chunk.
    mutating func advance(to slot: Int?) {
      nextChunk += slot == nil ? 1 : 0
      nextSlot = slot ?? 0
    }
  }

  init(_ position: Position, sequence: UInt64) {
    self.position = position
    self.sequence = sequence
  }

  var isCaughtUp: Bool {
    if case .caughtUp = position { true } else { false }
  }

  /// A round of frames left the reader out.
  mutating func fallBehind(at revision: Revision, _ sequence: UInt64) {
    position = .behind(revision)
    self.sequence = sequence
  }

  mutating func sentEvents(through sequence: UInt64) { self.sequence = sequence }

  mutating func catchUp() { position = .caughtUp }

  /// Begins a transfer, or continues it.
  mutating func transfer(_ transfer: Transfer) { position = .transferring(transfer) }
}
