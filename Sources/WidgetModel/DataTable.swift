/// The content of a widget whose kind is not registered: its data as a table of keys and values,
/// and a line that says that the kind is not registered.
///
/// A content with this form makes its nodes only when somebody reads them. Most such contents are
/// only written for a reader, and `WidgetProto` writes them from the rows.
public struct DataTable: Sendable {
  /// A shown key.
  public struct Row: Sendable {
    /// The last part of the ids of the row's nodes: `/sky`.
    public let path: String
    /// The text of the key, on one line.
    public let key: String
    /// The text of the value, on one line.
    public let value: String

    public init(path: String, key: String, value: String) {
      self.path = path
      self.key = key
      self.value = value
    }

    /// The node that changes with the value.
    public var valueNode: Node { DataTable.label("value" + path, value) }
  }

  /// The kind of the widget.
  public let kind: KindName
  /// The shown keys, in their order.
  public let rows: [Row]
  /// The number of keys that are not shown.
  public let moreCount: Int

  public init(kind: KindName, rows: [Row], moreCount: Int = 0) {
    self.kind = kind
    self.rows = rows
    self.moreCount = moreCount
  }

  /// The id of the node at the top.
  public static var rootID: String { "plain" }

  /// The id of the node that says that the kind is not registered.
  public static var kindNoteID: String { "kind" }

  /// The nodes of the content, each before its children. O(rows).
  public var nodes: [Node] {
    var top: [String] = []
    var nodes: [Node] = []
    nodes.reserveCapacity(3 * rows.count + 4)
    // Its children are known at the end.
    nodes.append(Node(id: DataTable.rootID, type: .stack))
    if !rows.isEmpty {
      top.append("table")
      nodes.append(
        Node(
          id: "table", type: .table, properties: DataTable.columns,
          childIDs: rows.map { "row" + $0.path }))
      for row in rows {
        let ids = ["key" + row.path, "value" + row.path]
        nodes.append(
          Node(
            id: "row" + row.path, type: .stack, properties: DataTable.horizontal, childIDs: ids))
        nodes.append(DataTable.label(ids[0], row.key))
        nodes.append(row.valueNode)
      }
    }
    if moreCount > 0 {
      top.append("more")
      nodes.append(DataTable.label("more", moreText))
    }
    top.append(DataTable.kindNoteID)
    nodes[0].childIDs = top
    nodes.append(
      Node(
        id: DataTable.kindNoteID, type: .label,
        properties: [
          "font": .string("caption"), "text": .string(DataTable.kindNote(kind)),
        ]))
    return nodes
  }

  fileprivate static func kindNote(_ kind: KindName) -> String {
    "The kind \"\(kind)\" is not registered."
  }

  /// The line about the keys that are not shown.
  public var moreText: String { "and \(moreCount) more" }

  // The properties that every table has.
  private static let columns: ValueMap = ["columns": .list([.string("Key"), .string("Value")])]
  private static let horizontal: ValueMap = ["axis": .string("horizontal")]

  private static func label(_ id: String, _ text: String) -> Node {
    Node(
      id: id, type: .label, properties: ValueMap([.init(key: "text", value: .string(text))]))
  }
}

extension Widget {
  /// Whether the kind is not registered: the daemon's content is then a `DataTable`. False if the
  /// content is missing from the answer.
  ///
  /// - Complexity: that of the content's subscript.
  public var isOfUnknownKind: Bool {
    content?.rootID == DataTable.rootID
      && content?[DataTable.kindNoteID]?.properties["text"] == .string(DataTable.kindNote(kind))
  }
}
