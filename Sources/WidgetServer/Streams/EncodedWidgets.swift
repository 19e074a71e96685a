import WidgetCore
import WidgetModel
import WidgetProto

/// Widgets of the store as bytes of a snapshot, for readers that take whole widgets with each
/// widget's content. Readers with different selectors share them.
///
/// Each is a `SnapshotChunk` with one widget. Concatenated messages are one message with all
/// elements of their repeated fields. So a frame is its header and the bytes of its widgets.
struct EncodedWidgets {
  private struct Entry {
    let revision: Revision
    let chunk: [UInt8]
  }

  /// By the widget's slot in the store.
  private var entries: [Entry?] = []
  /// The size of the entries, in bytes.
  private(set) var byteCount = 0
  private let bytesMax: Int

  init(bytesMax: Int) {
    self.bytesMax = bytesMax
  }

  /// The widget of a slot, if it is kept at this revision.
  func chunk(at slot: Int, _ revision: Revision) -> [UInt8]? {
    guard let entry = entry(at: slot), entry.revision == revision else { return nil }
    return entry.chunk
  }

  /// Keeps the widget of a slot, if there is room.
  mutating func keep(_ chunk: [UInt8], at slot: Int, _ revision: Revision) {
    let bytes = byteCount - (entry(at: slot)?.chunk.count ?? 0) + chunk.count
    guard bytes <= bytesMax else { return }
    while entries.count <= slot { entries.append(nil) }
    entries[slot] = Entry(revision: revision, chunk: chunk)
    byteCount = bytes
  }

  mutating func removeAll() { self = EncodedWidgets(bytesMax: bytesMax) }

  private func entry(at slot: Int) -> Entry? { slot < entries.count ? entries[slot] : nil }
}
