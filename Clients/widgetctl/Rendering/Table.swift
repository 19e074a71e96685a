import WidgetBar
import WidgetLayout
import WidgetModel

/// Text in aligned columns, two spaces apart, no trailing blanks.
struct Table {
  /// One cell: its text, and its colour, which has no width.
  struct Cell: Hashable {
    var text: String
    var style: Style
    /// The reason of a failure, which the text has. If the text is cut, the cell shows only the
    /// reason, shortened so that its cause stays.
    private var reason = ""
    /// The words before the reason that a cut cell keeps: `failing: `.
    private var lead = ""

    /// The minimum width of the reason beside the words before it.
    private static let reasonColumnsMin = 8

    /// The mark of a stale widget, as in the dashboard.
    static let staleMark = "↻ "

    init(_ text: String, _ style: Style = .plain, reason: String? = nil, lead: String = "") {
      self.text = text.safeForTerminal
      self.style = style
      self.reason = reason?.safeForTerminal ?? ""
      self.lead = lead.safeForTerminal
    }

    func cut(toColumns limit: Int) -> String {
      guard text.columns > limit, !reason.isEmpty else { return text.cut(toColumns: limit) }
      let mark = lead.nonEmpty ?? ["! ", Cell.staleMark].first { text.hasPrefix($0) } ?? ""
      let room = limit - mark.columns
      guard lead.isEmpty || room >= Cell.reasonColumnsMin else {
        return text.cut(toColumns: limit)
      }
      let shortened = ReasonText.shortened(reason, to: max(room, 1))
      // If the whole reason fits, the cut text shows even more.
      return shortened == reason ? text.cut(toColumns: limit) : mark + shortened
    }
  }

  /// The minimum width of the last column, if another column can shrink.
  static let lastColumnsMin = 32
  /// The minimum width of a column that shrinks.
  static let yieldingColumnsMin = 12

  let header: [String]
  private(set) var rows: [[Cell]] = []
  /// The column that shrinks before the last one. Nil if there is none.
  private let yielding: Int?

  init(_ header: String..., yielding: String? = nil) {
    self.header = header
    self.yielding = header.firstIndex { $0 == yielding }
  }

  mutating func add(_ cells: Cell...) { add(cells) }
  mutating func add(_ cells: [Cell]) { rows.append(cells) }

  /// The lines, each ending in a newline; without rows only the header.
  ///
  /// - Parameters:
  ///   - width: the maximum width of lines, for which the shrinking column and the last column are
  ///     cut; nil for no limit.
  ///   - painter: colours.
  func text(width: Int?, _ painter: Painter) -> String {
    let all = [header.map { Cell($0, .header) }] + rows
    var widths = header.indices.map { column in
      all.map { column < $0.count ? $0[column].text.columns : 0 }.max() ?? 0
    }
    if let yielding, let width, let last = widths.last {
      let left = width - widths.dropLast().reduce(0) { $0 + $1 + 2 }
      let missing = max(0, min(last, Self.lastColumnsMin) - left)
      widths[yielding] = min(
        widths[yielding], max(widths[yielding] - missing, Self.yieldingColumnsMin))
    }
    return all.map { row in
      var line = ""
      var used = 0
      for (column, cell) in row.enumerated() {
        let isLast = column == row.count - 1
        var text = cell.text
        if isLast, let width { text = cell.cut(toColumns: max(width - used, 8)) }
        if !isLast { text = text.cut(toColumns: widths[column]) }
        line += painter.paint(text, cell.style)
        guard !isLast, row[(column + 1)...].contains(where: { !$0.text.isEmpty }) else { break }
        let gap = widths[column] - text.columns + 2
        line += String(repeating: " ", count: gap)
        used += widths[column] + 2
      }
      return line + "\n"
    }.joined()
  }
}

/// The style of a piece of text, for its colour.
enum Style: Hashable {
  case plain, header, good, warning, bad, dim
}

/// Colours text, or returns it unchanged.
struct Painter: Hashable, Sendable {
  let usesColour: Bool

  func paint(_ text: String, _ style: Style) -> String {
    guard usesColour, !text.isEmpty else { return text }
    let code: String? =
      switch style {
      case .plain: nil
      case .header: "1"
      case .good: "32"
      case .warning: "33"
      case .bad: "31"
      case .dim: "2"
      }
    return code.map { "\u{1B}[\($0)m\(text)\u{1B}[0m" } ?? text
  }
}

extension String {
  /// The width in columns of a terminal.
  var columns: Int { TextColumns.width(of: self) }

  /// The text, cut at the end with an ellipsis if it takes more columns.
  func cut(toColumns limit: Int) -> String { TextColumns.truncated(self, to: limit) }
}
