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

/// The bytes that the snapshot frames of all groups may keep. Each different filter is a group, so a
/// user can have many. Confined to the event loop.
final class SnapshotBudget {
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

/// The snapshot frames of a group, by chunk, for readers that come in quick succession.
final class SnapshotFrames {
  private var chunks: [Chunk?] = []
  /// The size of the frames, in bytes.
  private(set) var bytes = 0
  private var budget: SnapshotBudget?
  /// The last use.
  private(set) var usedAt = NIODeadline.uptimeNanoseconds(0)

  private struct Chunk {
    /// The revision at which the frames were made.
    let revision: Revision
    let frames: [EncodedMessage]

    var bytes: Int { frames.reduce(0) { $0 + $1.payload.readableBytes } }
  }

  deinit { removeAll() }

  /// Notes a use. Returns whether nothing was kept before.
  func use(at instant: NIODeadline, chunk: Int) -> Bool {
    defer { while chunks.count <= chunk { chunks.append(nil) } }
    usedAt = instant
    return chunks.isEmpty
  }

  /// The frames of a chunk, if they were made since its last change.
  func frames(of chunk: Int, changedAt revision: Revision) -> [EncodedMessage]? {
    guard let kept = chunks[chunk], kept.revision >= revision else { return nil }
    return kept.frames
  }

  /// Keeps the frames of a chunk in place of older ones, if the budget has room. Call `use` first.
  func keep(
    _ frames: [EncodedMessage], of chunk: Int, at revision: Revision,
    within budget: SnapshotBudget
  ) {
    self.budget = budget
    let new = Chunk(revision: revision, frames: frames)
    let change = new.bytes - (chunks[chunk]?.bytes ?? 0)
    guard budget.take(change) else { return }
    bytes += change
    chunks[chunk] = new
  }

  func removeAll() {
    _ = budget?.take(-bytes)
    bytes = 0
    chunks.removeAll()
  }
}
