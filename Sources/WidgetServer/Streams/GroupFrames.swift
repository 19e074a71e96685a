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

/// The snapshot frames of a group, by chunk, for readers that come in quick succession.
struct SnapshotFrames {
  private var chunks: [Chunk?] = []
  /// The last use.
  private(set) var usedAt = NIODeadline.uptimeNanoseconds(0)

  private struct Chunk {
    /// The revision at which the frames were made.
    let revision: Revision
    let frames: [EncodedMessage]
  }

  /// Notes a use. Returns whether nothing was kept before.
  mutating func use(at instant: NIODeadline, chunk: Int) -> Bool {
    defer { while chunks.count <= chunk { chunks.append(nil) } }
    usedAt = instant
    return chunks.isEmpty
  }

  /// The frames of a chunk, if they were made since its last change.
  func frames(of chunk: Int, changedAt revision: Revision) -> [EncodedMessage]? {
    guard let kept = chunks[chunk], kept.revision >= revision else { return nil }
    return kept.frames
  }

  mutating func keep(_ frames: [EncodedMessage], of chunk: Int, at revision: Revision) {
    chunks[chunk] = Chunk(revision: revision, frames: frames)
  }

  /// The size of the frames, in bytes.
  var bytes: Int {
    chunks.reduce(0) { sum, chunk in
      sum + (chunk?.frames.reduce(0) { $0 + $1.payload.readableBytes } ?? 0)
    }
  }

  mutating func removeAll() { chunks.removeAll() }
}
