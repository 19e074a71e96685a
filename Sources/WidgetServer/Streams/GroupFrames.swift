import NIOCore
import WidgetModel

/// The change frames of a group for its late readers: each from a cursor to the same revision.
struct ChangeFrames {
  private var byCursor: [Revision: [EncodedMessage]] = [:]
  private var revision: Revision = 0

  var count: Int { byCursor.count }

  /// The frames from a cursor to a revision, if they were kept. Forgets frames to another revision.
  mutating func frames(since cursor: Revision, to current: Revision) -> [EncodedMessage]? {
    if revision != current {
      byCursor.removeAll(keepingCapacity: true)
      revision = current
    }
    return byCursor[cursor]
  }

  /// Keeps frames to the revision that was asked for last.
  mutating func keep(_ frames: [EncodedMessage], since cursor: Revision) {
    byCursor[cursor] = frames
  }

  mutating func removeAll() { byCursor.removeAll() }
}

/// The event frames of a group for its late readers.
struct EventFrames {
  /// The frames begin after this event.
  let after: UInt64
  let limit: Int
  /// The last event of the store when the frames were made.
  let last: UInt64
  let messages: [EncodedMessage]
  /// The frames have all events up to this one.
  let end: UInt64
}

/// The bytes that the chunk frames of all groups may keep. Each different filter is a group, so a
/// user can have many. Confined to the event loop.
final class ChunkFrameBudget {
  private let bytesMax: Int
  private(set) var bytes = 0

  init(bytesMax: Int) { self.bytesMax = bytesMax }

  /// Takes bytes, or gives them back if the number is negative. Returns false, and takes nothing, if
  /// there is no room.
  fileprivate func take(_ count: Int) -> Bool {
    guard count <= 0 || bytes + count <= bytesMax else { return false }
    bytes += count
    return true
  }
}

/// The frames of a group, by chunk, for readers that come in quick succession and hold the same state.
final class ChunkFrames {
  /// The revision of the state that the readers hold; 0 for none.
  let cursor: Revision
  private var chunks: [Chunk?] = []
  /// The memory of the frames and of the list, in bytes.
  private(set) var bytes = 0
  private var budget: ChunkFrameBudget?
  /// Whether the frames will expire.
  private var isUsed = false
  /// The last use.
  private(set) var usedAt = NIODeadline.uptimeNanoseconds(0)

  private struct Chunk {
    /// The revision at which the frames were made.
    let revision: Revision
    let frames: [EncodedMessage]

    var bytes: Int { frames.reduce(0) { $0 + $1.byteCount + ChunkFrames.frameBytes } }
  }

  /// The memory of a frame without its message: its object, its buffer, and a copy of a small message
  /// for other numbers of streams.
  static var frameBytes: Int { 256 }
  /// The memory of a chunk's place in the list, which may have room for twice as many.
  static var placeBytes: Int { 2 * MemoryLayout<Chunk?>.stride }

  init(since cursor: Revision = 0) { self.cursor = cursor }

  deinit { removeAll() }

  /// Notes a use. Returns whether it is the first one, so that the frames have to expire.
  func use(at instant: NIODeadline) -> Bool {
    usedAt = instant
    defer { isUsed = true }
    return !isUsed
  }

  /// Ends the use, and forgets the frames. Returns their bytes.
  func expire() -> Int {
    defer { removeAll() }
    isUsed = false
    return bytes
  }

  /// The frames of a chunk, if they were made since its last change.
  func frames(of chunk: Int, changedAt revision: Revision) -> [EncodedMessage]? {
    guard chunk < chunks.count, let kept = chunks[chunk], kept.revision >= revision else {
      return nil
    }
    return kept.frames
  }

  /// Keeps the frames of a chunk in place of older ones, if the budget has room.
  func keep(
    _ frames: [EncodedMessage], of chunk: Int, at revision: Revision,
    within budget: ChunkFrameBudget
  ) {
    self.budget = budget
    let new = Chunk(revision: revision, frames: frames)
    let missing = max(0, chunk + 1 - chunks.count)
    let old = missing > 0 ? nil : chunks[chunk]
    let change = new.bytes - (old?.bytes ?? 0) + missing * ChunkFrames.placeBytes
    guard budget.take(change) else { return }
    bytes += change
    chunks.append(contentsOf: repeatElement(nil, count: missing))
    chunks[chunk] = new
  }

  func removeAll() {
    _ = budget?.take(-bytes)
    bytes = 0
    chunks.removeAll()
  }
}
