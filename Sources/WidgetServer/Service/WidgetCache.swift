import WidgetModel

/// Encoded answers to GetWidget for whole widgets: a small table without chains. Two widgets may
/// share a place; then each replaces the other.
final class WidgetCache {
  private struct Entry {
    let id: WidgetID
    let revision: Revision
    let response: [UInt8]
  }

  private static let placeCount = 64

  private var entries = [Entry?](repeating: nil, count: WidgetCache.placeCount)

  /// The answer for a widget at its revision.
  func response(for id: WidgetID, at revision: Revision) -> [UInt8]? {
    guard let entry = entries[WidgetCache.place(of: id)], entry.revision == revision,
      entry.id == id
    else { return nil }
    return entry.response
  }

  func keep(_ response: [UInt8], for id: WidgetID, at revision: Revision) {
    entries[WidgetCache.place(of: id)] = Entry(id: id, revision: revision, response: response)
  }

  func removeAll() {
    for index in entries.indices { entries[index] = nil }
  }

  private static func place(of id: WidgetID) -> Int {
    let bytes = id.rawValue.utf8
    return (bytes.count &* 31 &+ Int(bytes.last ?? 0)) & (placeCount - 1)
  }
}
