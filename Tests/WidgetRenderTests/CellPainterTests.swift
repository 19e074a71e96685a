import NodeSamples
import SeededRandom
import Testing
import WidgetLayout
import WidgetModel
import WidgetRender

struct CellPainterTests {
  private func grid(
    _ root: Gallery.Part, width: Int = 30, _ change: (inout CellLook) -> Void = { _ in }
  ) -> CellGrid {
    var picture = WidgetPicture(format: .ansi(.truecolor))
    change(&picture.look)
    return picture.grid(of: Gallery.content(root), width: width)
  }

  private func style(_ grid: CellGrid, of text: String) -> CellStyle? {
    for row in 0..<grid.height {
      for column in 0..<grid.width where grid[column, row].character == text.first {
        return grid[column, row].style
      }
    }
    return nil
  }

  @Test func `children inherit the colour and the state of their parent`() {
    let tree = Gallery.part(
      .stack, "a", ["color": "#ff0000"],
      [
        Gallery.part(.label, "b", ["text": "X"]),
        Gallery.part(.stack, "c", ["enabled": false], [Gallery.part(.label, "d", ["text": "Y"])]),
        Gallery.part(.label, "e", ["text": "Z", "color": "#00ff00"]),
      ])
    let grid = grid(tree)
    #expect(style(grid, of: "X")?.foreground == .rgb(255, 0, 0))
    #expect(style(grid, of: "Y")?.foreground == .rgb(0x67, 0x6E, 0x7B))
    #expect(style(grid, of: "Z")?.foreground == .rgb(0, 255, 0))
  }

  @Test func `a disabled widget draws all its nodes as disabled`() {
    let tree = Gallery.part(
      .stack, "a", [:],
      [
        Gallery.part(.label, "b", ["text": "X", "color": "#ff0000"]),
        Gallery.part(.button, "c", ["text": "Y", "style": "primary"]),
        Gallery.part(.gauge, "d", ["text": "Z", "value": 0.5]),
      ])
    let gray = CellColor.rgb(0x67, 0x6E, 0x7B)
    for text in ["X", "Y", "Z"] {
      #expect(style(grid(tree) { $0.isDisabled = true }, of: text)?.foreground == gray, "\(text)")
      #expect(style(grid(tree), of: text)?.foreground != gray, "\(text)")
    }
    // Without colours, the whole text is dim.
    let plain = grid(tree) {
      $0.isDisabled = true
      $0.usesColor = false
    }
    #expect(style(plain, of: "X")?.attributes.contains(.dim) == true)
  }

  @Test func `text on a background is readable in every appearance`() {
    for background in ["#000000", "#ffffff", "#808080", "#ffee00"] {
      for appearance in Theme.Appearance.allCases {
        let tree = Gallery.part(.label, "a", ["text": "X", "background": .string(background)])
        let grid = grid(tree) { $0.appearance = appearance }
        guard case .rgb(let r, _, _)? = style(grid, of: "X")?.foreground,
          case .rgb(let under, _, _)? = style(grid, of: "X")?.background
        else {
          Issue.record("no colours on \(background)")
          continue
        }
        #expect(abs(Int(r) - Int(under)) > 60, "\(background) \(appearance)")
      }
    }
  }

  @Test func `a colour with opacity is mixed with what is behind it`() {
    let tree = Gallery.part(
      .stack, "a", ["background": "#000000"],
      [Gallery.part(.label, "b", ["text": "X", "color": "#ffffff80"])])
    #expect(style(grid(tree), of: "X")?.foreground == .rgb(128, 128, 128))
  }

  @Test(arguments: Gallery.contents.map(\.name))
  func `nothing private is seen while privacy is on`(name: String) throws {
    var content = try #require(Gallery.contents.first { $0.name == name }).content
    for index in content.nodes.indices where content.nodes[index].id == content.rootID {
      content.nodes[index].properties["privacy"] = true
    }
    var picture = WidgetPicture(format: .text) { _ in "1970" }
    picture.look.isPrivate = true
    let text = picture.text(of: content, width: 60)
    #expect(!text.contains { $0.isLetter && $0 != "x" || $0.isNumber }, "\(text)")
  }

  @Test func `stale widgets are dim and marked`() {
    let tree = Gallery.part(.label, "a", ["text": "old"])
    let grid = grid(tree) { $0.isStale = true }
    #expect(style(grid, of: "o")?.attributes == .dim)
    #expect(grid[grid.width - 1, 0].character == "↻")
  }

  @Test func `the theme's background fills the picture when it is wanted`() {
    let tree = Gallery.part(.label, "a", ["text": "X"])
    let grid = grid(tree) {
      $0.paintsBackground = true
      $0.appearance = .light
    }
    #expect(grid[grid.width - 1, 0].style.background == .rgb(255, 255, 255))
    #expect(style(grid, of: "X")?.foreground == .rgb(0x1C, 0x1E, 0x21))
  }

  @Test func `a background is painted only if the theme sets one`() {
    var look = CellLook()
    #expect(look.ownBackground == nil)
    let blue = ThemeColor(red: 0, green: 0, blue: 99)
    look.theme = Theme.standard.overridden(by: ["color.background": .color(ThemeColors(blue))])
    #expect(look.ownBackground == .rgb(0, 0, 99))
    look.usesColor = false
    #expect(look.ownBackground == nil)
  }

  @Test func `text gets a colour only if the theme sets one`() {
    let tree = Gallery.part(.label, "a", ["text": "X"])
    #expect(style(grid(tree) { _ in }, of: "X")?.foreground == nil)
    let red = ThemeColor(red: 255, green: 0, blue: 0)
    let own = grid(tree) {
      $0.theme = Theme.standard.overridden(by: ["color.text": .color(ThemeColors(red))])
    }
    #expect(style(own, of: "X")?.foreground == .rgb(255, 0, 0))
  }

  @Test func `a field that is read only leaves the background of the picture`() {
    let tree = Gallery.part(.input, "i", ["text": "X", "readOnly": true])
    let blue = ThemeColor(red: 0, green: 0, blue: 99)
    let grid = grid(tree) {
      $0.paintsBackground = true
      $0.theme = Theme.standard.overridden(by: ["color.background": .color(ThemeColors(blue))])
    }
    for column in 0..<grid.width {
      #expect(grid[column, 0].style.background == .rgb(0, 0, 99), "column \(column)")
    }
  }

  @Test(arguments: 0..<200)
  func `a row painted by itself equals the row of the whole picture`(seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed))
    let parts = (0..<6).map { index -> Gallery.Part in
      switch Int.random(in: 0..<4, using: &random) {
      case 0: Gallery.part(.button, "n\(index)", ["text": "go"])
      case 1: Gallery.part(.chart, "n\(index)", ["values": .list([1, 3, 2]), "height": 48])
      case 2:
        Gallery.part(
          .stack, "n\(index)", ["background": "#102030", "corner": 4, "padding": 8],
          [Gallery.part(.label, "t\(index)", ["text": "two\nlines", "accessory": "checkmark"])])
      default: Gallery.part(.label, "n\(index)", ["text": "words 日本", "separator": true])
      }
    }
    let table = NodeTable(
      Gallery.content(Gallery.part(.stack, "all", ["axis": "vertical"], parts)))
    var engine = LayoutEngine(metrics: .cells())
    let layout = engine.layout(table, width: 30)
    var look = CellLook()
    look.isStale = Bool.random(using: &random)
    let painter = CellPainter(look: look)
    let whole = painter.grid(layout, table)
    let first = Int.random(in: 0...whole.height, using: &random)
    let rows = first..<Int.random(in: first...whole.height, using: &random)
    let part = painter.grid(layout, table, rows: rows)
    #expect(part.height == rows.count)
    for row in rows {
      for column in 0..<whole.width {
        #expect(part[column, row - first] == whole[column, row])
      }
    }
  }

  @Test func `the thumb of a scrolled stack shows the offset`() {
    let rows = (0..<20).map { Gallery.part(.label, "l\($0)", ["text": .string("line \($0)")]) }
    let table = NodeTable(
      Gallery.content(Gallery.part(.stack, "list", ["scroll": true], rows)))
    var engine = LayoutEngine(metrics: .cells())
    func thumb(_ offset: Int) -> String {
      let layout = engine.layout(table, width: 12, height: 5, scroll: ["list": offset])
      let grid = CellPainter(look: CellLook()).grid(layout, table)
      return String((0..<5).map { grid[11, $0].character })
    }
    #expect(thumb(0) == "▐    ")
    #expect(thumb(15) == "    ▐")
    #expect(thumb(8) == "  ▐  ")
  }

  @Test func `a row of pages shows the sides with more pages`() {
    let pages = (0..<4).map {
      Gallery.part(.label, "l\($0)", ["text": .string("page \($0)"), "align": "center"])
    }
    let table = NodeTable(
      Gallery.content(
        Gallery.part(
          .stack, "list", ["axis": "horizontal", "scroll": true, "itemWidth": 96], pages)))
    var engine = LayoutEngine(metrics: .cells())
    func ends(_ offset: Int) -> String {
      let layout = engine.layout(table, width: 12, scroll: ["list": offset])
      let grid = CellPainter(look: CellLook()).grid(layout, table)
      return String([grid[0, 0].character, grid[11, 0].character])
    }
    #expect(ends(0) == " ›")
    #expect(ends(12) == "‹›")
    #expect(ends(36) == "‹ ")
  }

  @Test func `a region without a blank cell at its edge still shows that there is more`() {
    let pages = (0..<4).map {
      Gallery.part(
        .label, "l\($0)",
        [
          "text": .string($0 == 3 ? "日本語日本語" : "abcdefghijklmn"), "padding": 0, "lines": .int(1),
        ])
    }
    func text(_ properties: ValueMap, _ offset: Int, _ height: Int? = nil) -> String {
      let table = NodeTable(Gallery.content(Gallery.part(.stack, "list", properties, pages)))
      var engine = LayoutEngine(metrics: .cells())
      let layout = engine.layout(table, width: 12, height: height, scroll: ["list": offset])
      return PlainTextEncoder.text(CellPainter(look: CellLook()).grid(layout, table))
    }
    let row: ValueMap = [
      "axis": "horizontal", "scroll": true, "itemWidth": 96, "padding": 0, "spacing": 0,
    ]
    #expect(text(row, 0) == "abcdefghijk›\n")
    #expect(text(row, 12).hasPrefix("‹bcdefghijk›"))
    // Half of a wide character is a blank.
    #expect(text(row, 36).hasPrefix("‹ 本語日本語"))
    #expect(text(["scroll": true, "padding": 0, "spacing": 0], 0, 2).contains("▐"))
  }

  @Test(arguments: [
    (Gallery.part(.button, "a", ["text": "Go"]), "( Go )"),
    (Gallery.part(.toggle, "a", ["text": "Wi-Fi", "value": true]), "(x) Wi-Fi"),
    (Gallery.part(.toggle, "a", ["text": "Wi-Fi"]), "( ) Wi-Fi"),
    (Gallery.part(.input, "a", ["text": "Name", "value": "Ada"]), "Name: (Ada"),
    (Gallery.part(.form, "a", ["submit": "Add"]), "( Add )"),
  ])
  func `a disabled control has round brackets`(part: Gallery.Part, disabled: String) {
    func text(_ properties: ValueMap) -> String {
      let inside = Gallery.part(.stack, "outer", properties, [part])
      return PlainTextEncoder.text(
        grid(inside) {
          $0.usesColor = false
          $0.focusedID = "a"
        })
    }
    #expect(text(["enabled": false]).contains(disabled))
    #expect(!text(["enabled": true]).contains(disabled))
  }

  @Test(arguments: [
    (Gallery.part(.link, "a", ["text": "Docs", "url": "https://a.example"]), "(Docs)"),
    (Gallery.part(.label, "a", ["text": "Off"], events: ["press"]), "(Off)"),
    (Gallery.part(.label, "a", ["text": "one\ntwo"], events: ["press"]), "(one\n two)"),
    (Gallery.part(.image, "a", ["alt": "Cat"], events: ["press"]), "([Cat])"),
    (
      Gallery.part(
        .stack, "a", ["width": 80], events: ["press"], [Gallery.part(.label, "b", ["text": "In"])]),
      "(In      )"
    ),
  ])
  func `a disabled node without a border has round brackets`(
    part: Gallery.Part, disabled: String
  ) {
    func text(_ properties: ValueMap) -> String {
      let outer = Gallery.part(.stack, "outer", properties, [part])
      return PlainTextEncoder.text(grid(outer, width: 40) { $0.usesColor = false })
    }
    #expect(text(["enabled": false]).contains(disabled))
    #expect(!text(["enabled": true]).contains(disabled))
  }

  @Test(
    arguments: [
      (["fallback": "moon"], "moon"), (["source": "", "fallback": "moon"], "moon"),
      (["source": "sun", "fallback": "moon"], "sun"),
      (["alt": "A map", "fallback": "moon"], "A map"), ([:], "image"),
    ] as [(ValueMap, String)])
  func `an image without a picture shows the first of its texts, with and without a box`(
    properties: ValueMap, words: String
  ) {
    var box = properties
    (box["width"], box["height"]) = (.double(160), .double(64))
    for properties in [properties, box] {
      let grid = grid(Gallery.part(.image, "a", properties)) { _ in }
      for text in [
        PlainTextEncoder.text(grid), HTMLEncoder().text(grid), ANSIEncoder(depth: .none).text(grid),
      ] {
        #expect(text.contains(words), "\(text)")
      }
    }
  }

  @Test(arguments: [["selection": "multiple"], ["deletable": true]] as [ValueMap])
  func `a disabled row that could be selected has round brackets`(table: ValueMap) {
    func text(_ row: ValueMap, _ table: ValueMap) -> String {
      let cells = [Gallery.part(.label, "b", ["text": "Mail"])]
      let row = Gallery.part(.stack, "a", row, cells)
      return PlainTextEncoder.text(grid(Gallery.part(.table, "t", table, [row])) { _ in })
    }
    #expect(text(["enabled": false], table).hasPrefix("(Mail"))
    #expect(text(["enabled": false], table).hasSuffix(")\n"))
    #expect(text(["enabled": true], table) == " Mail\n")
    #expect(text(["enabled": false], [:]) == " Mail\n")
  }

  @Test func `a disabled node without padding has no brackets`() {
    let label = Gallery.part(
      .label, "a", ["text": "Off", "enabled": false, "padding": 0], events: ["press"])
    #expect(PlainTextEncoder.text(grid(label) { _ in }) == "Off\n")
  }

  @Test func `a spinner has ten frames, and begins again after them`() {
    let tree = Gallery.part(.spinner, "a")
    let frames = (-1...9).map { tick in
      grid(tree) { $0.spinnerTick = tick }[1, 0].character
    }
    #expect(Set(frames).count == 10)
    #expect(frames.first == frames.last)
  }

  @Test func `a token that a user has set replaces the standard colour`() {
    let theme = Theme.standard.overridden(by: [
      "color.error": .color(ThemeColors(ThemeColor(red: 1, green: 2, blue: 3)))
    ])
    let tree = Gallery.part(.label, "a", ["text": "X", "color": "error"])
    #expect(style(grid(tree) { $0.theme = theme }, of: "X")?.foreground == .rgb(1, 2, 3))
  }

  @Test(arguments: 0..<300)
  func `random content gives a picture without control characters`(seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed))
    var ids = 0
    func part(_ depth: Int) -> Gallery.Part {
      ids += 1
      let type =
        Bool.random(using: &random)
        ? NodeType.stack : NodeType.allCases.randomElement(using: &random)
      var properties = ValueMap()
      let names = (type?.allProperties.map(\.name) ?? []) + ["text"]
      for _ in 0..<Int.random(in: 0...6, using: &random) {
        guard let name = names.randomElement(using: &random) else { continue }
        properties[name] = value(&random, 0)
      }
      let count = depth > 3 ? 0 : Int.random(in: 0...3, using: &random)
      return Gallery.part(
        type, "n\(ids)", properties, problem: Int.random(in: 0..<6, using: &random) == 0 ? "p" : "",
        (0..<count).map { _ in part(depth + 1) })
    }
    let content = Gallery.content(part(0))
    var look = CellLook(
      appearance: Theme.Appearance.allCases.randomElement(using: &random) ?? .dark,
      usesColor: true)
    look.focusedID = "n\(Int.random(in: 0...ids, using: &random))"
    look.isPrivate = Bool.random(using: &random)
    let width = Int.random(in: 1...60, using: &random)
    let height = Bool.random(using: &random) ? Int.random(in: 1...30, using: &random) : nil
    let formats: [WidgetPicture.Format] = [.ansi(.truecolor), .ansi(.sixteen), .ansi(.none), .text]
    for format in formats {
      let grid = WidgetPicture(format: format, look: look).grid(
        of: content, width: width, height: height)
      #expect(grid.width == width)
      var terminal = TerminalEmulator(width: max(grid.width, 1), height: max(grid.height, 1))
      terminal.feed(ANSIEncoder(depth: .truecolor).difference(from: nil, to: grid))
      #expect(terminal.complaints == [], "seed \(seed)")
    }
  }

  private func value(_ random: inout SeededGenerator, _ depth: Int) -> Value {
    let words = [
      "error", "primary", "#ff000080", "#123", "title", "caption", "horizontal", "layered", "bar",
      "ring", "sparkline", "center", "end", "multiline", "secret", "checkmark", "offset.basic4",
    ]
    switch Int.random(in: 0..<(depth > 2 ? 6 : 8), using: &random) {
    case 0: return .string(random.text())
    case 1: return .string(words.randomElement(using: &random) ?? "")
    case 2: return .bool(Bool.random(using: &random))
    case 3: return .int(.random(in: -5...200, using: &random))
    case 4:
      return .double([.nan, .infinity, -1, 0, 0.5, 40, 1e300].randomElement(using: &random) ?? 0)
    case 5: return .null
    case 6: return .list((0..<3).map { _ in value(&random, depth + 1) })
    default:
      let keys = [
        "text", "weight", "color", "link", "top", "all", "insets", "title", "width", "image",
      ]
      var map = ValueMap()
      for _ in 0..<3 { map[keys.randomElement(using: &random) ?? ""] = value(&random, depth + 1) }
      return .map(map)
    }
  }
}
