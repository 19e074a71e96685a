import WidgetLayout

/// Text in aligned columns, two spaces apart, no trailing blanks.
///
/// In a terminal with too little room, columns are shortened, and then left out, the least important
/// one first. The first column and the state stay. The first column is shortened to half of the
/// terminal before the last column is left out. In the narrowest terminals, the first column and the
/// state are on separate lines.
struct Table {
  /// The minimum width of the last column, if `yielding` can shrink, and of a state that is last.
  static let lastColumnsMin = 32
  /// The minimum width of a shortened column, while another column can be left out.
  static let shortenedColumnsMin = 12
  /// The minimum width of a shortened column in the narrowest terminals.
  static let squeezedColumnsMin = 8
  /// The width that the state keeps while the first column can be squeezed.
  static let squeezedStateColumnsMin = 14
  /// The default width below which cells that do not fit side by side are on separate lines.
  static let sideBySideColumnsMin = 24
  private static let gapColumns = 2

  let header: [String]
  private(set) var rows: [[Cell]] = []
  /// The column that shrinks before the last one. Nil if there is none.
  private let yielding: Int?
  /// The columns that are shortened, and then left out, if there is too little room. The least
  /// important one comes first.
  private let dispensable: [Int]
  /// The column that has the state or the failure. Nil if there is none.
  private let state: Int?
  /// The width up to which the state is never cut. Nil if it can be cut.
  private let wholeStateColumns: Int?

  /// - Parameters:
  ///   - yielding: the column that shrinks before the last one.
  ///   - dispensable: the columns to shorten, and then to leave out, the least important one first.
  ///     At most two wide columns fit into 24 columns, so the others are here.
  ///   - state: the column with the state or the failure. It is not dispensable.
  ///   - wholeStateColumns: the width up to which the state is never cut, because a cut value would
  ///     look like another one. Nil if it can be cut.
  init(
    _ header: String..., yielding: String? = nil, dispensable: [String] = [],
    state: String? = nil, wholeStateColumns: Int? = nil
  ) {
    self.init(
      header: header, yielding: yielding, dispensable: dispensable, state: state,
      wholeStateColumns: wholeStateColumns)
  }

  /// The same with columns that are not known in advance.
  init(
    header: [String], yielding: String? = nil, dispensable: [String] = [], state: String? = nil,
    wholeStateColumns: Int? = nil
  ) {
    self.header = header
    self.yielding = header.firstIndex { $0 == yielding }
    self.dispensable = dispensable.compactMap { name in header.firstIndex { $0 == name } }
    self.state = header.firstIndex { $0 == state }
    self.wholeStateColumns = wholeStateColumns
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
    guard let width else { return lines(.init(Array(header.indices), natural), painter) }
    let layout = self.layout(for: width)
    guard let state, hidesKeyword(layout) else { return lines(layout, painter) }
    var table = self
    for row in rows.indices where state < rows[row].count {
      for (column, cell) in rows[row].enumerated() where !cell.keyword.isEmpty {
        table.rows[row][state].add(word: cell.keyword)
        table.rows[row][column].dropKeyword()
      }
    }
    return table.lines(table.layout(for: width), painter)
  }

  // MARK: - Lines

  private var all: [[Cell]] { [header.map { Cell($0, .header) }] + rows }

  private func lines(_ layout: Layout, _ painter: Painter) -> String {
    all.map { row in
      layout.isStacked ? stacked(row, layout, painter) : line(row, layout, painter)
    }.joined()
  }

  private func line(_ row: [Cell], _ layout: Layout, _ painter: Painter) -> String {
    let columns = layout.shown.filter { $0 < row.count }
    var line = ""
    for (place, column) in columns.enumerated() {
      let cell = row[column]
      let width = layout.widths[column]
      let text = cell.cut(toColumns: width)
      line += painter.paint(text, cell.style)
      guard columns[(place + 1)...].contains(where: { !row[$0].text.isEmpty }) else { break }
      line += String(repeating: " ", count: width - text.columns + Self.gapColumns)
    }
    return line + "\n"
  }

  /// The cells of a row on separate lines, with the first one at the margin.
  private func stacked(_ row: [Cell], _ layout: Layout, _ painter: Painter) -> String {
    var lines = ""
    for column in layout.shown where column < row.count && !row[column].text.isEmpty {
      let width = layout.widths[column]
      let indent = lines.isEmpty || width <= Self.squeezedColumnsMin ? 0 : Self.gapColumns
      let text = row[column].cut(toColumns: width - indent)
      lines += String(repeating: " ", count: indent) + painter.paint(text, row[column].style)
      lines += "\n"
    }
    return lines
  }

  /// Whether a keyword is in no shown cell.
  private func hidesKeyword(_ layout: Layout) -> Bool {
    rows.contains { row in
      row.indices.contains { column in
        let cell = row[column]
        guard !cell.keyword.isEmpty else { return false }
        return !layout.shown.contains(column)
          || !cell.cut(toColumns: layout.widths[column]).contains(cell.keyword)
      }
    }
  }

  // MARK: - Layout

  /// The widths of the widest cells.
  private var natural: [Int] { widths(\.text.columns) }

  private func widths(_ width: (Cell) -> Int) -> [Int] {
    let all = self.all
    return header.indices.map { column in
      all.map { column < $0.count ? width($0[column]) : 0 }.max() ?? 0
    }
  }

  /// The columns for a terminal, and their widths.
  private func layout(for width: Int) -> Layout {
    let natural = self.natural
    var layout = Layout(Array(header.indices), natural, room: width)
    var left = dispensable[...]
    let kept = layout.shown.filter { !left.contains($0) }
    if width < sideBySideColumns, !Layout(kept, natural, room: width).leaves(.max) {
      return Layout(kept, natural.map { _ in width }, isStacked: true)
    }
    while true {
      let least = lastColumnsMin(in: layout, left)
      if let yielding { layout.shorten(yielding, toLeave: Self.lastColumnsMin) }
      for column in left { layout.shorten(column, toLeave: least) }
      if let state, left.first == layout.shown.last {
        // The important words of the state leave more room for the last column.
        layout.shorten(
          state, to: widths(\.rankedColumns)[state], toLeave: Self.shortenedColumnsMin)
      }
      if let first = layout.shown.first, left.first == layout.shown.last {
        layout.shorten(first, to: max(width / 2, Self.shortenedColumnsMin), toLeave: least)
      }
      if layout.leaves(least) { break }
      guard let next = left.popFirst() else {
        squeeze(&layout)
        break
      }
      layout = Layout(layout.shown.filter { $0 != next }, natural, room: width)
    }
    layout.fillLast()
    return layout
  }

  /// The width that the state gets before other columns, if it is the last column.
  private var stateColumnsMin: Int { wholeStateColumns ?? Self.lastColumnsMin }

  /// In terminals with fewer columns, cells that do not fit side by side are on separate lines.
  private var sideBySideColumns: Int {
    guard let wholeStateColumns else { return Self.sideBySideColumnsMin }
    let columns = Self.squeezedColumnsMin + Self.gapColumns + wholeStateColumns
    return max(columns, Self.sideBySideColumnsMin)
  }

  /// The minimum width of the last column, unless the column needs less.
  ///
  /// - Parameter left: the columns that can be left out.
  private func lastColumnsMin(in layout: Layout, _ left: ArraySlice<Int>) -> Int {
    guard let last = layout.shown.last, last != state else { return stateColumnsMin }
    // A short reason still says more than none.
    let hasReason = rows.contains { last < $0.count && $0[last].hasReason }
    return hasReason && left.first == last ? Self.squeezedColumnsMin : Self.shortenedColumnsMin
  }

  /// Shortens columns that are never left out.
  private func squeeze(_ layout: inout Layout) {
    if state != nil, let first = layout.shown.first {
      layout.shorten(first, toLeave: stateColumnsMin)
      layout.shorten(
        first, to: Self.squeezedColumnsMin,
        toLeave: wholeStateColumns ?? Self.squeezedStateColumnsMin)
    }
    for column in layout.shown.reversed() {
      layout.shorten(column, to: Self.squeezedColumnsMin, toLeave: Self.squeezedColumnsMin)
    }
  }

  /// The columns to show, and their widths.
  private struct Layout {
    let shown: [Int]
    private(set) var widths: [Int]
    /// Whether the cells of a row are on separate lines.
    let isStacked: Bool
    private let room: Int

    init(_ shown: [Int], _ widths: [Int], room: Int = .max, isStacked: Bool = false) {
      (self.shown, self.widths, self.room, self.isStacked) = (shown, widths, room, isStacked)
    }

    /// The columns in front of the last one.
    private var used: Int { shown.dropLast().reduce(0) { $0 + widths[$1] + Table.gapColumns } }

    /// The columns that the last column lacks.
    private func missing(_ least: Int) -> Int {
      guard let last = shown.last else { return 0 }
      return max(0, min(widths[last], least) - (room - used))
    }

    /// Whether the last column has this room, or all that it needs.
    func leaves(_ least: Int) -> Bool { missing(least) == 0 }

    /// Shortens a column as far as the last column lacks room. The last column is cut anyway.
    mutating func shorten(
      _ column: Int, to least: Int = Table.shortenedColumnsMin, toLeave last: Int
    ) {
      guard column != shown.last, shown.contains(column) else { return }
      widths[column] = min(widths[column], max(widths[column] - missing(last), least))
    }

    /// Gives the last column the remaining room.
    mutating func fillLast() {
      if let last = shown.last { widths[last] = min(widths[last], max(room - used, 1)) }
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
