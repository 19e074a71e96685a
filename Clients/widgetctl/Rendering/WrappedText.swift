import WidgetLayout

/// Text in pieces with styles, on lines that are broken between words. Nothing is left out.
struct WrappedText {
  private var text = ""
  /// The style of each character.
  private var styles: [Style] = []

  init() {}

  init(_ text: String, _ style: Style = .plain) { add(text, style) }

  /// Adds text without newlines.
  mutating func add(_ piece: String, _ style: Style = .plain) {
    text += piece
    // The first character of a piece can join the last one of the text.
    let added = max(0, text.count - styles.count)
    styles += Array(repeating: style, count: added)
  }

  /// - Parameter width: the maximum width of lines, 1 or more; nil for one line.
  func lines(width: Int?, _ painter: Painter) -> [String] {
    let lines = width.map { TextColumns.wrapped(text, to: $0, most: .max) } ?? [text]
    let characters = Array(text)
    var place = 0
    return lines.map { line in
      // The blanks at which a line is broken are not shown.
      while place < characters.count, characters[place] == " ", line.first != " " { place += 1 }
      var shown = ""
      var (run, style) = ("", Style.plain)
      for character in line {
        let next = place < styles.count ? styles[place] : .plain
        if next != style {
          shown += painter.paint(run, style)
          (run, style) = ("", next)
        }
        run.append(character)
        place += 1
      }
      return shown + painter.paint(run, style)
    }
  }
}
