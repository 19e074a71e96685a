import WidgetModel
import WidgetProto
import WidgetRender

/// A theme as lines of text: each colour in each appearance, fonts, lengths.
struct ThemeText {
  let state: ThemeState
  let painter: Painter
  /// The number of colours that the terminal shows.
  let depth: ColorDepth

  private static let swatchColumns = 4

  var preview: String {
    var text = ""
    let names = state.values.keys.sorted { $0.precedesByBytes($1) }
    let width = names.map(\.utf8.count).max() ?? 0
    for group in ThemeToken.Group.allCases {
      let tokens = names.filter { state.values[$0]?.group == group }
      guard !tokens.isEmpty else { continue }
      if !text.isEmpty { text += "\n" }
      text += heading(group, width)
      for token in tokens {
        guard let value = state.values[token] else { continue }
        let mark = state.overridden.contains(token) ? "* " : "  "
        text += mark + ThemeText.padded(token.safeForTerminal, width) + "  " + line(value) + "\n"
      }
    }
    return state.overridden.isEmpty ? text : text + "\n* not the standard value\n"
  }

  /// One value, in words: `#2b5fd9 light, #7aa2f7 dark, #66b2ff high-contrast`.
  static func words(for value: ThemeValue) -> String {
    switch value {
    case .color(let colors):
      if colors == ThemeColors(colors.light) { return "\(colors.light)" }
      return Theme.Appearance.allCases.map { "\(colors[$0]) \($0.name)" }.joined(separator: ", ")
    case .offset(let points): return "\(number(points)) points"
    case .font(let font):
      let parts =
        ["\(number(font.size)) points"] + (font.weight == .regular ? [] : [font.weight.name])
        + (font.isItalic ? ["italic"] : []) + (font.isMonospaced ? ["monospace"] : [])
      return parts.joined(separator: ", ")
    }
  }

  private func heading(_ group: ThemeToken.Group, _ width: Int) -> String {
    let columns =
      group == .color
      ? Theme.Appearance.allCases.map { ThemeText.padded($0.name, swatchWidth + 9) } : ["value"]
    let name = ThemeText.padded(group.rawValue, width)
    var line = "  \(name)  " + columns.joined(separator: "  ")
    while line.hasSuffix(" ") { line.removeLast() }
    return painter.paint(line, .header) + "\n"
  }

  private var swatchWidth: Int { depth == .none ? 0 : ThemeText.swatchColumns + 1 }

  private func line(_ value: ThemeValue) -> String {
    switch value {
    case .color(let colors):
      let cells = Theme.Appearance.allCases.map { appearance in
        swatch(colors[appearance]) + ThemeText.padded("\(colors[appearance])", 9)
      }
      var line = cells.joined(separator: "  ")
      while line.hasSuffix(" ") { line.removeLast() }
      return line
    case .offset(let points):
      // A column of a terminal is eight points.
      let columns = min(Int((min(points, 1000) / 8).rounded()), 40)
      return ThemeText.words(for: value)
        + (columns > 0 ? "  " + String(repeating: "─", count: columns) : "")
    case .font(let font):
      guard painter.usesColour else { return ThemeText.words(for: value) }
      let codes =
        [font.weight == .bold ? "1" : nil, font.weight == .light ? "2" : nil]
        .compactMap { $0 } + (font.isItalic ? ["3"] : [])
      let words = ThemeText.words(for: value)
      return codes.isEmpty
        ? words : "\u{1B}[\(codes.joined(separator: ";"))m\(words)\u{1B}[0m"
    }
  }

  private func swatch(_ color: ThemeColor) -> String {
    guard depth != .none else { return "" }
    var patch = CellGrid(width: ThemeText.swatchColumns, height: 1)
    patch.fill(
      patch.bounds,
      style: CellStyle(background: .rgb(color.red, color.green, color.blue)))
    return ANSIEncoder(depth: depth).text(patch).dropLast() + " "
  }

  private static func number(_ value: Double) -> String { Value.double(value).plainText }

  private static func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.columns))
  }
}
