import WidgetModel

extension Table {
  /// ID, KIND and a column for each path of `--field`, one row per widget. The cell of a value that
  /// the widget lacks is empty.
  ///
  /// - Parameters:
  ///   - rows: the widgets and their documents, which have the fields of the paths.
  ///   - now: the time from which ages are measured.
  static func of(
    fields paths: [String], _ rows: [(widget: Widget, document: Value)], now: Timestamp
  ) -> Table {
    var seen: Set<String> = []
    let paths = paths.filter { seen.insert($0).inserted }
    var table = Table(
      header: ["ID", "KIND"] + paths, dispensable: ["KIND"] + paths.dropFirst().reversed())
    for row in rows {
      let cells = paths.map { cell($0, of: row.widget, row.document, now) }
      table.add([Cell(row.widget.id.rawValue), Cell(row.widget.kind.rawValue)] + cells)
    }
    return table
  }

  private static func cell(
    _ path: String, of widget: Widget, _ document: Value, _ now: Timestamp
  ) -> Cell {
    var text: String
    var reason: String?
    switch path {
    case "error":
      let told = widget.keepingPromises(at: now)
      text = told.failureSummary(DateText(now: now)).map { "! \($0)" } ?? ""
      reason = told.failures.first?.reason
    case "data": text = widget.dataSummary
    case "parameters": text = widget.parameters.summary
    case "labels":
      text = widget.labels.entries.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
    default:
      let value = try? GetCommand.text(of: path, in: document, id: widget.id, escapes: true)
      text = value ?? ""
      // A timeline, an activity or content that the widget lacks.
      if text == "null", !path.contains(".") { text = "" }
    }
    return Cell(text.cut(toColumns: dataColumnsMax), reason: reason)
  }
}
