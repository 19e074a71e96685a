import WidgetExpression
import WidgetModel

/// The content of a widget whose kind nobody has registered: its data as a table of keys and
/// values, and a line that says that the kind is not registered.
///
/// The store does not keep this content. It makes the content from the record when somebody reads
/// it, and the difference from the keys that changed. So an update of the widget costs nothing
/// more.
enum PlainContent {
  /// How many keys the table shows.
  static let rowsMax = 64
  /// How many characters of a value the table shows.
  static let valueLengthMax = 120
  /// How many characters of a key the table shows.
  static let keyLengthMax = 64

  static func content(of record: Record) -> Content {
    var top = Node(id: "plain", type: .stack)
    var table = Node(
      id: "table", type: .table,
      properties: ["columns": .list([.string("Key"), .string("Value")])])
    var rows: [Node] = []
    record.data.forEachLive(rowsMax) { key, value in
      let path = path(of: key)
      table.childIDs.append("row" + path)
      rows.append(
        Node(
          id: "row" + path, type: .stack, properties: ["axis": .string("horizontal")],
          childIDs: ["key" + path, "value" + path]))
      rows.append(label("key" + path, cut(key, keyLengthMax)))
      rows.append(valueNode(path, value))
    }
    var nodes: [Node] = []
    if !rows.isEmpty {
      top.childIDs.append("table")
      nodes += [table] + rows
    }
    let more = record.data.liveCount - rowsMax
    if more > 0 {
      top.childIDs.append("more")
      nodes.append(label("more", "and \(more) more"))
    }
    top.childIDs.append("kind")
    nodes.append(
      label("kind", "The kind \"\(record.kind)\" is not registered.", font: "caption"))
    return Content(rootID: "plain", nodes: [top] + nodes)
  }

  /// About how many bytes the content takes in frames. O(1).
  static func sizeBytes(of record: Record) -> Int {
    128 + min(record.data.liveCount, rowsMax) * 160
  }

  /// The nodes that changed after a cursor, if no key was added or removed since; nil if none
  /// changed. O(changed keys), and O(`rowsMax`) if not all keys are shown.
  static func change(of record: Record, since cursor: Revision) -> ContentChange? {
    guard record.data.hasChanges(since: cursor) else { return nil }
    let last = record.data.liveCount > rowsMax ? record.data.liveKey(rowsMax - 1) : nil
    var change = ContentChange()
    for entry in record.data.changes(since: cursor).set.entries {
      if let last, last.precedesByBytes(entry.key) { continue }
      change.setNodes.append(valueNode(path(of: entry.key), entry.value))
    }
    return change.setNodes.isEmpty ? nil : change
  }

  private static func valueNode(_ path: String, _ value: Value) -> Node {
    label("value" + path, text(of: value))
  }

  private static func label(_ id: String, _ text: String, font: String? = nil) -> Node {
    var properties: ValueMap = ["text": .string(text)]
    if let font { properties["font"] = .string(font) }
    return Node(id: id, type: .label, properties: properties)
  }

  /// The last part of the ids of a row's nodes.
  private static func path(of key: String) -> String {
    let path = "/" + NodeID.encoded(key: key)
    if path.utf8.count <= NodeID.rowsLengthMax - NodeID.rowNumberLengthMax { return path }
    var seen: Set<String> = []
    return RowList.path("", key: key, seen: &seen)
  }

  private static func cut(_ text: String, _ lengthMax: Int) -> String {
    guard let end = text.index(text.startIndex, offsetBy: lengthMax, limitedBy: text.endIndex),
      end < text.endIndex
    else { return text }
    return text[..<text.index(before: end)] + "…"
  }

  /// A value in one line. Reads no more of the value than the line shows.
  static func text(of value: Value) -> String {
    var text = ""
    append(value, isInside: false, to: &text)
    return cut(text, valueLengthMax)
  }

  private static func append(_ value: Value, isInside: Bool, to text: inout String) {
    guard text.utf8.count <= 4 * valueLengthMax else { return }
    switch value {
    case .string(let string):
      let shown = cut(string, valueLengthMax)
        .map { $0.isNewline ? " " : String($0) }.joined()
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

  /// The live key at a place in the order, from 0; nil if there are fewer. O(place + removed keys).
  func liveKey(_ place: Int) -> String? {
    var count = 0
    for slot in sorted where slots[Int(slot)].value != nil {
      if count == place { return slots[Int(slot)].key }
      count += 1
    }
    return nil
  }
}
