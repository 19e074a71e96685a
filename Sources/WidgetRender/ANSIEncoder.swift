/// Writes a `CellGrid` as text with escape sequences (ECMA-48, and OSC 8 for links).
///
/// Two forms: lines, for output that scrolls, and the difference between two grids, for a screen. The
/// only escape characters in either are the encoder's.
public struct ANSIEncoder: Sendable {
  public var depth: ColorDepth
  /// Whether links are written, as OSC 8.
  public var writesLinks: Bool

  public init(depth: ColorDepth, writesLinks: Bool = true) {
    self.depth = depth
    self.writesLinks = writesLinks
  }

  /// All rows as lines, each ended by a newline and with the default style. Trailing blanks that
  /// cannot be seen are left out. O(cells).
  public func text(_ grid: CellGrid) -> String {
    var pen = Pen(self)
    for row in 0..<grid.height {
      let cells = grid.row(row)
      let end = cells.lastIndex { !$0.isInvisible }.map { $0 + 1 } ?? cells.startIndex
      for cell in cells[..<end] where !cell.isContinuation { pen.write(cell) }
      pen.reset()
      pen.output += "\n"
    }
    return pen.output
  }

  /// The text that changes a screen from one grid to another. Empty if they are the same.
  /// Afterwards the cursor's place is undefined and the style is the default.
  ///
  /// The upper left cell is the screen's, and the screen has at least the size of `new`. O(cells).
  ///
  /// - Parameter old: The grid on the screen. Nil if it is unknown. If it is nil or the sizes
  ///   differ, the screen is cleared and written whole.
  ///
  /// - Parameter rows: The rows that differ. Default: found by comparison.
  public func difference(
    from old: CellGrid?, to new: CellGrid, rows: [Int]? = nil
  ) -> String {
    var pen = Pen(self)
    var base = old ?? CellGrid(width: new.width, height: new.height)
    if old == nil || old?.width != new.width || old?.height != new.height {
      pen.output += "\u{1B}[m\u{1B}[2J"
      base = CellGrid(width: new.width, height: new.height)
    }
    for row in rows ?? base.rows(differingFrom: new) {
      let from = base.row(row)
      let to = new.row(row)
      for column in 0..<new.width {
        let cell = to[to.startIndex + column]
        guard !cell.isContinuation, cell != from[from.startIndex + column] else { continue }
        pen.move(toColumn: column, row: row, over: to)
        pen.write(cell)
        pen.advance(by: Int(cell.columns), isSteady: CellText.isSteady(cell.character), new.width)
      }
    }
    pen.reset()
    return pen.output
  }

  /// The output so far, and the state of the terminal after it.
  private struct Pen {
    var output = ""
    private let encoder: ANSIEncoder
    private var mapping = ColorMapping()
    private var style = CellStyle.plain
    private var link: String?
    /// The place of the cursor; nil if terminals may differ about it.
    private var place: (column: Int, row: Int)?
    /// The maximum number of unchanged cells that are written again, instead of a sequence that
    /// skips them.
    private static let gapMax = 4

    init(_ encoder: ANSIEncoder) { self.encoder = encoder }

    /// Writes a cell at the cursor.
    mutating func write(_ cell: Cell) {
      var next = cell.style
      next.foreground = mapping.color(next.foreground, at: encoder.depth)
      next.background = mapping.color(next.background, at: encoder.depth)
      if let background = next.background, next.foreground == background,
        cell.style.foreground != cell.style.background
      {
        // The text must stay readable on the changed background.
        next.foreground = ANSIEncoder.contrast(background)
      }
      if cell.character == " ", next.attributes.isDisjoint(with: CellStyle.seenOnBlank),
        style.attributes.isDisjoint(with: CellStyle.seenOnBlank)
      {
        // A blank looks the same in any colour of text.
        next.foreground = style.foreground
        next.attributes = style.attributes
      }
      change(to: next, link: encoder.writesLinks ? cell.link : nil)
      output.append(cell.character)
    }

    /// Back to the default style, without a link.
    mutating func reset() { change(to: .plain, link: nil) }

    mutating func advance(by columns: Int, isSteady: Bool, _ width: Int) {
      guard let (column, row) = place, isSteady, column + columns < width else {
        // After the last column, a terminal delays the cursor's move to the next line.
        place = nil
        return
      }
      place = (column + columns, row)
    }

    mutating func move(toColumn column: Int, row: Int, over cells: ArraySlice<Cell>) {
      defer { place = (column, row) }
      let target = cells[cells.startIndex + column]
      guard let place, place.row == row, CellText.isSteady(target.character) else {
        output += "\u{1B}[\(row + 1);\(column + 1)H"
        return
      }
      guard place.column != column else { return }
      let gap = cells[cells.startIndex + place.column..<cells.startIndex + column]
      if gap.count <= Pen.gapMax,
        gap.allSatisfy({
          $0.columns == 1 && $0.style == target.style && $0.link == target.link
            && CellText.isSteady($0.character)
        })
      {
        for cell in gap { write(cell) }
      } else {
        output += gap.count == 1 ? "\u{1B}[C" : "\u{1B}[\(gap.count)C"
      }
    }

    private mutating func change(to next: CellStyle, link nextLink: String?) {
      if link != nextLink {
        output += "\u{1B}]8;;\(nextLink ?? "")\u{1B}\\"
        link = nextLink
      }
      guard style != next else { return }
      defer { style = next }
      guard next != .plain else {
        output += "\u{1B}[m"
        return
      }
      var codes: [String] = []
      var before = style.attributes
      let after = next.attributes
      // Bold and dim end together.
      let weight: CellAttributes = [.bold, .dim]
      if !before.intersection(weight).subtracting(after).isEmpty {
        codes.append("22")
        before.subtract(weight)
      }
      for (attribute, on, off) in ANSIEncoder.codes
      where before.contains(attribute) != after.contains(attribute) {
        codes.append(after.contains(attribute) ? on : off)
      }
      if style.foreground != next.foreground {
        codes.append(ANSIEncoder.code(next.foreground, isBackground: false))
      }
      if style.background != next.background {
        codes.append(ANSIEncoder.code(next.background, isBackground: true))
      }
      output += "\u{1B}[" + codes.joined(separator: ";") + "m"
    }
  }

  private static let codes: [(CellAttributes, on: String, off: String)] = [
    (.bold, "1", "22"), (.dim, "2", "22"), (.italic, "3", "23"), (.underline, "4", "24"),
    (.reverse, "7", "27"), (.strikethrough, "9", "29"),
  ]

  private static func code(_ color: CellColor?, isBackground: Bool) -> String {
    switch color {
    case nil: isBackground ? "49" : "39"
    case .palette(let index) where index < 8: "\((isBackground ? 40 : 30) + Int(index))"
    case .palette(let index) where index < 16: "\((isBackground ? 100 : 90) + Int(index) - 8)"
    case .palette(let index): (isBackground ? "48;5;" : "38;5;") + "\(index)"
    case .rgb(let r, let g, let b): (isBackground ? "48;2;" : "38;2;") + "\(r);\(g);\(b)"
    }
  }

  /// Black or white, whichever can be read on a colour.
  private static func contrast(_ color: CellColor) -> CellColor {
    let (r, g, b) = color.components
    return Oklab(r, g, b).lightness > 0.6 ? .palette(0) : .palette(15)
  }
}

extension CellColor {
  /// Red, green and blue; a palette's colour as xterm has it.
  var components: (UInt8, UInt8, UInt8) {
    switch self {
    case .rgb(let r, let g, let b): (r, g, b)
    case .palette(let index): ColorMapping.palette[Int(index)]
    }
  }
}
