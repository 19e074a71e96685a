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

  /// The minimum width of the last column, if `yielding` can shrink.
  static let lastColumnsMin = 32
  /// The minimum width of a shortened column, while another column can be left out.
  static let shortenedColumnsMin = 12
  /// The minimum width of a shortened column in the narrowest terminals.
  static let squeezedColumnsMin = 8
  private static let gapColumns = 2

  let header: [String]
  private(set) var rows: [[Cell]] = []
  /// The column that shrinks before the last one. Nil if there is none.
  private let yielding: Int?
  /// The columns that are shortened, and then left out, if there is too little room. The least
  /// important one comes first.
  private let dispensable: [Int]

  /// - Parameters:
  ///   - yielding: the column that shrinks before the last one.
  ///   - dispensable: the columns to shorten, and then to leave out, the least important one first.
  ///     At most two wide columns fit into 24 columns, so the others are here.
  init(_ header: String..., yielding: String? = nil, dispensable: [String] = []) {
    self.header = header
    self.yielding = header.firstIndex { $0 == yielding }
    self.dispensable = dispensable.compactMap { name in header.firstIndex { $0 == name } }
  }

  mutating func add(_ cells: Cell...) { add(cells) }
  mutating func add(_ cells: [Cell]) { rows.append(cells) }

  /// The lines, each ending in a newline; without rows only the header.
  ///
  /// - Parameters:
  ///   - width: the maximum width of lines, for which columns are shortened or left out; nil for no
  ///     limit.
  ///   - painter: colours.
  func text(width: Int?, _ painter: Painter) -> String {
    let all = [header.map { Cell($0, .header) }] + rows
    let natural = header.indices.map { column in
      all.map { column < $0.count ? $0[column].text.columns : 0 }.max() ?? 0
    }
    let (shown, widths) = layout(natural, for: width)
    return all.map { row in
      let columns = shown.filter { $0 < row.count }
      var line = ""
      var used = 0
      for (place, column) in columns.enumerated() {
        let cell = row[column]
        let isLast = place == columns.count - 1
        var text = cell.text
        if !isLast { text = text.cut(toColumns: widths[column]) }
        if isLast, let width {
          text = cell.cut(toColumns: max(width - used, Self.squeezedColumnsMin))
        }
        line += painter.paint(text, cell.style)
        guard columns[(place + 1)...].contains(where: { !row[$0].text.isEmpty }) else { break }
        line += String(repeating: " ", count: widths[column] - text.columns + Self.gapColumns)
        used += widths[column] + Self.gapColumns
      }
      return line + "\n"
    }.joined()
  }

  /// The columns to show, and the width of each column but the last shown one.
  ///
  /// - Parameter natural: the widths of the widest cells.
  private func layout(_ natural: [Int], for width: Int?) -> (shown: [Int], widths: [Int]) {
    var shown = Array(header.indices)
    guard let width else { return (shown, natural) }
    var left = dispensable[...]
    while true {
      var columns = ShownColumns(natural, shown, width)
      if let yielding { columns.shorten(yielding, toLeave: Self.lastColumnsMin) }
      for column in left { columns.shorten(column, toLeave: Self.shortenedColumnsMin) }
      if columns.leaves(Self.shortenedColumnsMin) { return (shown, columns.widths) }
      guard let next = left.popFirst() else {
        for column in shown.reversed() {
          columns.shorten(
            column, to: Self.squeezedColumnsMin, toLeave: Self.squeezedColumnsMin)
        }
        return (shown, columns.widths)
      }
      shown.removeAll { $0 == next }
    }
  }

  /// The widths of the shown columns in a terminal.
  private struct ShownColumns {
    private(set) var widths: [Int]
    private let shown: [Int]
    private let width: Int

    init(_ natural: [Int], _ shown: [Int], _ width: Int) {
      (widths, self.shown, self.width) = (natural, shown, width)
    }

    /// The columns that the last column lacks.
    private func missing(_ room: Int) -> Int {
      guard let last = shown.last else { return 0 }
      let used = shown.dropLast().reduce(0) { $0 + widths[$1] + Table.gapColumns }
      return max(0, min(widths[last], room) - (width - used))
    }

    /// Whether the last column has this room, or all that it needs.
    func leaves(_ room: Int) -> Bool { missing(room) == 0 }

    /// Shortens a column as far as the last column lacks room. The last column is cut anyway.
    mutating func shorten(
      _ column: Int, to least: Int = Table.shortenedColumnsMin, toLeave room: Int
    ) {
      guard column != shown.last, shown.contains(column) else { return }
      widths[column] = min(widths[column], max(widths[column] - missing(room), least))
    }
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
