import WidgetExpression
import WidgetModel

/// The content of a widget whose kind is not registered: a `DataTable`.
///
/// The store does not keep this content. It makes the content from the record for each read, and
/// the difference from the changed keys. So this content adds no cost to an update of the widget.
enum PlainContent {
  /// The maximum number of keys in the table.
  static let rowsMax = 64
  /// The maximum number of characters of a value in the table.
  static let valueLengthMax = 120
  /// The maximum number of characters of a key in the table.
  static let keyLengthMax = 64

  static func content(of record: Record) -> Content {
    let rowCount = min(record.data.liveCount, rowsMax)
    var rows: [DataTable.Row] = []
    rows.reserveCapacity(rowCount)
    record.data.forEachLive(rowsMax) { key, value in rows.append(row(key, value)) }
    return Content(
      DataTable(kind: record.kind, rows: rows, moreCount: record.data.liveCount - rowCount))
  }

  /// The approximate size of the content in frames, in bytes. O(1).
  static func sizeBytes(of record: Record) -> Int {
    128 + min(record.data.liveCount, rowsMax) * 160
  }

  /// The nodes that changed after a cursor, if no key was added or removed since; nil if none
  /// changed. O(changed keys), or O(`rowsMax`) if not all keys are shown.
  static func change(of record: Record, since cursor: Revision) -> ContentChange? {
    guard record.data.hasChanges(since: cursor) else { return nil }
    let last = record.data.liveCount > rowsMax ? record.data.liveKey(rowsMax - 1) : nil
    var change = ContentChange()
    for entry in record.data.changes(since: cursor).set.entries {
      if let last, last.precedesByBytes(entry.key) { continue }
      change.setNodes.append(row(entry.key, entry.value).valueNode)
    }
    return change.setNodes.isEmpty ? nil : change
  }

  private static func row(_ key: String, _ value: Value) -> DataTable.Row {
    DataTable.Row(path: path(of: key), key: cut(key, keyLengthMax), value: text(of: value))
  }

  /// The last part of the ids of a row's nodes.
  private static func path(of key: String) -> String {
    let path = "/" + NodeID.encoded(key: key)
    if path.utf8.count <= NodeID.rowsLengthMax - NodeID.rowNumberLengthMax { return path }
    var seen: Set<String> = []
    return RowList.path("", key: key, seen: &seen)
  }

  private static func cut(_ text: String, _ lengthMax: Int) -> String {
    cutPrintable(text, lengthMax) ?? cutCharacters(text, lengthMax)
  }

  /// The text, cut by its bytes. Nil if the shown part is not all printable ASCII.
  private static func cutPrintable(_ text: String, _ lengthMax: Int) -> String? {
    guard isPrintable(text, upTo: lengthMax + 1) else { return nil }
    guard text.utf8.count > lengthMax else { return text }
    return text[..<text.utf8.index(text.startIndex, offsetBy: lengthMax - 1)] + "…"
  }

  private static func cutCharacters(_ text: String, _ lengthMax: Int) -> String {
    guard let end = text.index(text.startIndex, offsetBy: lengthMax, limitedBy: text.endIndex),
      end < text.endIndex
    else { return text }
    return text[..<text.index(before: end)] + "…"
  }

  /// Whether the first bytes of a text are all printable ASCII. Then each byte begins a character,
  /// and the search for the ends of characters, which takes a hundred times as long, is
  /// unnecessary.
  private static func isPrintable(_ text: String, upTo countMax: Int) -> Bool {
    var text = text
    return text.withUTF8 { bytes in
      let count = min(bytes.count, countMax)
      var place = 0
      // The loop tests eight bytes at a time.
      while place + 8 <= count {
        let word = UnsafeRawBufferPointer(bytes)
          .loadUnaligned(fromByteOffset: place, as: UInt64.self)
        guard word.hasOnlyPrintableASCII else { return false }
        place += 8
      }
      return bytes[place..<count].allSatisfy { (0x20...0x7e).contains($0) }
    }
  }

  /// A value in one line. Reads only the part of the value that the line shows.
  static func text(of value: Value) -> String {
    if case .string(let string) = value { return line(string) }
    var text = ""
    append(value, isInside: false, to: &text)
    return cut(text, valueLengthMax)
  }

  /// A text in one line.
  private static func line(_ text: String) -> String {
    if let line = cutPrintable(text, valueLengthMax) { return line }
    return String(cutCharacters(text, valueLengthMax).map { $0.isNewline ? " " : $0 })
  }

  private static func append(_ value: Value, isInside: Bool, to text: inout String) {
    guard text.utf8.count <= 4 * valueLengthMax else { return }
    switch value {
    case .string(let string):
      let shown = line(string)
      text += isInside ? "\"\(shown)\"" : shown
    case .list(let values):
      text += "["
      for (index, value) in values.enumerated() {
        guard text.utf8.count <= 4 * valueLengthMax else { return }
        if index > 0 { text += ", " }
        append(value, isInside: true, to: &text)
      }
      text += "]"
    case .map(let map):
      text += "{"
      for (index, entry) in map.entries.enumerated() {
        guard text.utf8.count <= 4 * valueLengthMax else { return }
        if index > 0 { text += ", " }
        text += "\(cut(entry.key, keyLengthMax)): "
        append(entry.value, isInside: true, to: &text)
      }
      text += "}"
    case .bytes(let bytes): text += "\(bytes.count) bytes"
    case .null: text += "null"
    default: text += ExpressionValue(value).text ?? ""
    }
  }
}

extension RevisedMap {
  /// Calls `body` with the first `limit` live entries, in order of their keys.
  func forEachLive(_ limit: Int, _ body: (String, Value) -> Void) {
    var count = 0
    for slot in sorted {
      guard let value = slots[Int(slot)].value else { continue }
      if count == limit { return }
      count += 1
      body(slots[Int(slot)].key, value)
    }
  }

  /// The live key at a place in the order, from 0; nil if there are too few. O(place + removed
  /// keys).
  func liveKey(_ place: Int) -> String? {
    var count = 0
    for slot in sorted where slots[Int(slot)].value != nil {
      if count == place { return slots[Int(slot)].key }
      count += 1
    }
    return nil
  }
}

extension UInt64 {
  /// Whether each of its bytes is from 0x20 to 0x7e.
  fileprivate var hasOnlyPrintableASCII: Bool {
    let high: UInt64 = 0x8080_8080_8080_8080
    let every: UInt64 = 0x0101_0101_0101_0101
    // If no byte has the high bit, the subtraction sets it for bytes below 0x20, and the addition
    // for 0x7f.
    return self & high == 0 && (self &- every &* 0x20) & high == 0 && (self &+ every) & high == 0
  }
}
