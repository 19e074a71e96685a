import NodeSamples

@testable import WidgetLayout

/// Draws a layout in cells, so that tests can describe its look.
struct Canvas {
  private(set) var cells: [[String]]
  /// The places where text or a part was drawn over another one.
  private(set) var overlaps: [String] = []

  init(_ result: LayoutResult) {
    cells = Array(
      repeating: Array(repeating: " ", count: result.size.width), count: result.size.height)
    for node in result.placed {
      for part in node.parts { draw(part, node.clip) }
      for text in node.texts { put(text.text, text.frame, node.clip) }
      if let line = node.separator {
        put(String(repeating: "─", count: line.width), line, node.clip)
      }
      for line in node.dividers {
        for row in line.y..<line.endY {
          let cell = LayoutRect(x: line.x, y: row, width: 1, height: 1)
          put("│", cell, node.clip)
        }
      }
      if let mark = node.accessory { put(">", mark, node.clip) }
    }
  }

  /// Without the blanks at their ends.
  var lines: [String] {
    cells.map { row in
      var line = row.joined()
      while line.last == " " { line.removeLast() }
      return line
    }
  }

  private mutating func draw(_ part: PlacedPart, _ clip: LayoutRect) {
    let frame = part.frame
    switch part.kind {
    case .button, .submit: bracket(frame, clip)
    case .field, .bar:
      bracket(frame, clip)
      guard part.kind == .bar, frame.width > 2 else { return }
      fill("=", frame.inset(LayoutEdges(leading: 1, trailing: 1)), clip)
    case .checkbox: put("[x]", frame, clip)
    case .plot, .ring, .image: fill("~", frame, clip)
    case .chartBar: fill("=", frame, clip)
    case .icon: put("*", frame, clip)
    case .spinner: put("…", frame, clip)
    case .more, .tooDeep: put("…", frame, clip)
    case .headingSeparator: fill("─", frame, clip)
    }
  }

  private mutating func bracket(_ frame: LayoutRect, _ clip: LayoutRect) {
    put("[", frame, clip)
    put(
      "]", LayoutRect(x: frame.endX - 1, y: frame.endY - 1, width: 1, height: 1),
      clip.intersection(frame))
  }

  private mutating func fill(_ mark: String, _ frame: LayoutRect, _ clip: LayoutRect) {
    for y in frame.y..<frame.endY {
      put(
        String(repeating: mark, count: frame.width),
        LayoutRect(x: frame.x, y: y, width: frame.width, height: 1), clip)
    }
  }

  private mutating func put(_ text: String, _ frame: LayoutRect, _ clip: LayoutRect) {
    var x = frame.x
    for character in text {
      let width = TextColumns.width(of: character)
      defer { x += width }
      guard width > 0, x + width <= frame.endX,
        clip.contains(LayoutRect(x: x, y: frame.y, width: width, height: 1)),
        cells.indices.contains(frame.y), x >= 0, x + width <= cells[frame.y].count
      else { continue }
      if cells[frame.y][x] != " " { overlaps.append("\(character) at \(x), \(frame.y)") }
      cells[frame.y][x] = String(character)
      for column in (x + 1)..<(x + width) where width > 1 { cells[frame.y][column] = "" }
    }
  }
}
