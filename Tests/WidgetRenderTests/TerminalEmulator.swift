import WidgetRender

/// A terminal that knows the sequences of `ANSIEncoder` and reports all others.
struct TerminalEmulator {
  struct Place: Equatable {
    var character: Character = " "
    var columns = 1
    var codes = CellStyle.plain
    var link: String?

    /// The visible part of a cell: for a blank, only its background and lines.
    var seen: Place {
      let lines: CellAttributes = [.underline, .strikethrough, .reverse]
      guard character == " ", columns == 1, codes.attributes.isDisjoint(with: lines) else {
        return self
      }
      var seen = self
      seen.codes = CellStyle(background: codes.background)
      return seen
    }
  }

  let width: Int
  let height: Int
  private var all: [Place]
  var places: [Place] { all.map(\.seen) }
  private(set) var complaints: [String] = []
  private var column = 0
  private var row = 0
  private var style = CellStyle.plain
  private var link: String?

  init(width: Int, height: Int) {
    (self.width, self.height) = (width, height)
    all = Array(repeating: Place(), count: width * height)
  }

  /// The screen of a terminal with the size of a grid.
  static func places(of grid: CellGrid) -> [Place] {
    (0..<grid.height).flatMap { row in
      (0..<grid.width).map { column in
        let cell = grid[column, row]
        return Place(
          character: cell.character, columns: Int(cell.columns), codes: cell.style, link: cell.link
        ).seen
      }
    }
  }

  mutating func feed(_ output: String) {
    var scalars = output.unicodeScalars[...]
    while let first = scalars.first {
      guard first == "\u{1B}" else {
        let end = scalars.firstIndex(of: "\u{1B}") ?? scalars.endIndex
        for character in String(scalars[..<end]) { show(character, String(scalars[..<end])) }
        scalars = scalars[end...]
        continue
      }
      scalars = scalars.dropFirst()
      let kind = scalars.popFirst()
      if kind == "[" {
        let parameters = String(scalars.prefix { $0.value < 0x40 })
        scalars = scalars.dropFirst(parameters.unicodeScalars.count)
        control(scalars.popFirst(), parameters)
      } else if kind == "]" {
        let end = scalars.firstIndex(of: "\u{1B}") ?? scalars.endIndex
        let text = String(scalars[..<end])
        scalars = scalars[end...].dropFirst(2)
        if text.hasPrefix("8;;") {
          link = text.count > 3 ? String(text.dropFirst(3)) : nil
        } else {
          complaints.append("OSC \(text)")
        }
      } else {
        complaints.append("ESC \(String(describing: kind))")
      }
    }
  }

  private mutating func show(_ character: Character, _ run: String) {
    guard character.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F }) else {
      return complaints.append("control character \(character.unicodeScalars.first?.value ?? 0)")
    }
    // The columns of a grid, so that both agree.
    var probe = CellGrid(width: 2, height: 1)
    let columns = probe.put(String(character), column: 0, row: 0)
    guard column + columns <= width else { return complaints.append("past the edge: \(run)") }
    split(column)
    if columns == 2 { split(column + 1) }
    let index = row * width + column
    all[index] = Place(character: character, columns: columns, codes: style, link: link)
    if columns == 2 { all[index + 1] = Place(columns: 0, codes: style, link: link) }
    column += columns
  }

  /// As in a terminal, the other half of a wide character becomes a blank.
  private mutating func split(_ column: Int) {
    let index = row * width + column
    if all[index].columns == 2 {
      all[index + 1] = Place()
    } else if all[index].columns == 0 {
      all[index - 1] = Place()
    }
  }

  private mutating func control(_ final: Unicode.Scalar?, _ parameters: String) {
    let numbers = parameters.split(separator: ";", omittingEmptySubsequences: false).map { Int($0) }
    switch final {
    case "H":
      row = (numbers.first.flatMap { $0 } ?? 1) - 1
      column = (numbers.dropFirst().first.flatMap { $0 } ?? 1) - 1
      if row >= height || column >= width { complaints.append("cursor outside") }
    case "C": column += numbers.first.flatMap { $0 } ?? 1
    case "J" where parameters == "2": all = Array(repeating: Place(), count: width * height)
    case "m": render(numbers.map { $0 ?? 0 })
    default: complaints.append("CSI \(parameters)\(String(describing: final))")
    }
  }

  private mutating func render(_ codes: [Int]) {
    var codes = (codes.isEmpty ? [0] : codes)[...]
    while let code = codes.popFirst() {
      switch code {
      case 0: style = .plain
      case 1: style.attributes.insert(.bold)
      case 2: style.attributes.insert(.dim)
      case 3: style.attributes.insert(.italic)
      case 4: style.attributes.insert(.underline)
      case 7: style.attributes.insert(.reverse)
      case 9: style.attributes.insert(.strikethrough)
      case 22: style.attributes.subtract([.bold, .dim])
      case 23: style.attributes.remove(.italic)
      case 24: style.attributes.remove(.underline)
      case 27: style.attributes.remove(.reverse)
      case 29: style.attributes.remove(.strikethrough)
      case 30...37: style.foreground = .palette(UInt8(code - 30))
      case 40...47: style.background = .palette(UInt8(code - 40))
      case 90...97: style.foreground = .palette(UInt8(code - 82))
      case 100...107: style.background = .palette(UInt8(code - 92))
      case 38: style.foreground = color(&codes)
      case 48: style.background = color(&codes)
      case 39: style.foreground = nil
      case 49: style.background = nil
      default: complaints.append("SGR \(code)")
      }
    }
  }

  private mutating func color(_ codes: inout ArraySlice<Int>) -> CellColor? {
    if codes.popFirst() == 5 { return codes.popFirst().map { .palette(UInt8($0)) } }
    guard let r = codes.popFirst(), let g = codes.popFirst(), let b = codes.popFirst() else {
      complaints.append("colour cut off")
      return nil
    }
    return .rgb(UInt8(r), UInt8(g), UInt8(b))
  }
}
