import WidgetModel

/// Encoded answers to GetWidget for whole widgets: a small table without chains. Two widgets may
/// share a place; then each replaces the other. An answer that does not fit beside the others
/// replaces all of them.
final class WidgetCache {
  private struct Entry {
    let id: WidgetID
    let revision: Revision
    let response: [UInt8]
  }

  private static let placeCount = 64
  /// The maximum size of all answers, in bytes.
  static let bytesMax = 1 << 20

  /// The size of all answers, in bytes.
  private(set) var byteCount = 0
  private var entries = [Entry?](repeating: nil, count: WidgetCache.placeCount)

  /// The answer for a widget at its revision.
  func response(for id: WidgetID, at revision: Revision) -> [UInt8]? {
    guard let entry = entries[WidgetCache.place(of: id)], entry.revision == revision,
      entry.id == id
    else { return nil }
    return entry.response
  }

  func keep(_ response: [UInt8], for id: WidgetID, at revision: Revision) {
    let place = WidgetCache.place(of: id)
    byteCount -= entries[place]?.response.count ?? 0
    entries[place] = nil
    if byteCount + response.count > WidgetCache.bytesMax { removeAll() }
    guard response.count <= WidgetCache.bytesMax else { return }
    entries[place] = Entry(id: id, revision: revision, response: response)
    byteCount += response.count
  }

  func removeAll() {
    for index in entries.indices { entries[index] = nil }
    byteCount = 0
  }

  private static func place(of id: WidgetID) -> Int {
    let bytes = id.rawValue.utf8
    return (bytes.count &* 31 &+ Int(bytes.last ?? 0)) & (placeCount - 1)
  }
}
