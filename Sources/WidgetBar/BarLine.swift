import WidgetLayout

/// The parts of a line with a maximum number of columns.
struct BarLine {
  let columnsMax: Int
  private(set) var parts: [BarPart] = []
  private(set) var isCut = false
  /// The uncut text, if the line was cut.
  private(set) var whole = ""

  init(columnsMax: Int) { self.columnsMax = columnsMax }

  var text: String { parts.map(\.text).joined() }
  var columns: Int { TextColumns.width(of: text) }

  /// Appends parts, and cuts the last one that fits.
  mutating func append(_ more: [BarPart]) {
    whole = more.map(\.text).joined()
    isCut = more.reduce(0) { $0 + TextColumns.width(of: $1.text) } > columnsMax
    guard isCut else { return more.forEach { join($0) } }
    guard columnsMax > 0 else { return }
    // The ellipsis needs one column.
    var room = columnsMax - 1
    for part in more {
      let end = TextColumns.prefix(of: part.text[...], columns: room)
      var cut = part
      cut.text = String(part.text[..<end])
      room -= TextColumns.width(of: cut.text)
      let isLast = end < part.text.endIndex
      if isLast { cut.text += TextColumns.ellipsis }
      join(cut)
      if isLast { return }
    }
  }

  mutating func completeDirections() { TextDirection.complete(&parts) }

  mutating func end(with part: BarPart) {
    var part = part
    if parts.isEmpty { part.text = String(part.text.drop { $0 == " " }) }
    parts.append(part)
  }

  /// Appends text in the look of the last part.
  mutating func extend(with text: String) {
    var part = parts.last ?? BarPart("")
    part.text = text
    guard self.text.isEmpty else { return join(part) }
    part.text = String(text.drop { $0 == " " })
    parts = [part]
  }

  private mutating func join(_ part: BarPart) {
    if let last = parts.last, last.looksLike(part) {
      parts[parts.count - 1].text += part.text
    } else {
      parts.append(part)
    }
  }
}
