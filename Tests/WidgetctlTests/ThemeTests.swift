import Testing
import WidgetModel
import WidgetProto
import WidgetRender

@testable import widgetctl

/// The input and output of the `theme` commands.
struct ThemeTests {
  private static let brand = ThemeColors(
    light: ThemeColor(red: 255, green: 102, blue: 0), dark: ThemeColor(red: 0, green: 0, blue: 0),
    highContrast: ThemeColor(red: 1, green: 2, blue: 3, alpha: 4))
  private static let state = ThemeState(
    RevisedTheme(
      overrides: [
        "color.brand": .color(brand), "offset.basic": .offset(6.5),
        "font.title": .font(ThemeFont(size: 20, weight: .bold, isItalic: true)),
      ], revision: 7), etag: "e.7")

  private static func values(_ arguments: String...) throws -> [String: ThemeValue] {
    try ThemeAssignment.values(
      arguments.map { try ThemeAssignment($0) }, over: Theme.standard.values)
  }

  @Test func `the colour for high contrast has its name with a hyphen and without`() throws {
    let hyphen = try Self.values("color.primary.high-contrast=#00ff00")
    #expect(try Self.values("color.primary.highContrast=#00ff00") == hyphen)
    func read(_ names: String...) throws -> ThemeValue {
      var map: ValueMap = ["light": .string("#000000")]
      for name in names { map[name] = .string("#00ff00") }
      return try ThemeValue.read(.map(map), of: "color.primary")
    }
    #expect(try read("high-contrast") == read("highContrast"))
    #expect(throws: FieldFailure.self) { try read("high-contrast", "highContrast") }
    #expect(try parseAppearance("highContrast") == parseAppearance("high-contrast"))
  }

  @Test func `a token is set as a whole or in parts`() throws {
    let green = ThemeColor(red: 0, green: 255, blue: 0)
    #expect(try Self.values("color.primary=#00ff00") == ["color.primary": .color(.init(green))])
    let old = try #require(Theme.standard.color("color.primary", .light))
    let values = try Self.values(
      "color.primary.dark=#00ff00", "color.primary.high-contrast=#00ff00", "offset.mine=3",
      "font.title.size=20", "font.title.italic=true", "font.title.weight=bold")
    #expect(
      values == [
        "color.primary": .color(ThemeColors(light: old, dark: green, highContrast: green)),
        "offset.mine": .offset(3),
        "font.title": .font(ThemeFont(size: 20, weight: .bold, isItalic: true)),
      ])
  }

  @Test(arguments: [
    ("color.primary=red", "color.primary: \"red\" is not a colour; write #rrggbb or #rrggbbaa"),
    ("color.new.dark=#000000", "color.new.dark: the token has no value yet; write color.new=#"),
    ("offset.basic=-1", "offset.basic: -1.0 is not a length; write points, 0 to 100000"),
    ("offset.basic=nan", "offset.basic: nan is not a length"),
    ("offset.basic=wide", "offset.basic: must be a length; write points"),
    ("font.title.size=2", "font.title.size: 2.0 is not a font size; write a size of 4 to 200"),
    ("font.title.weight=fat", "font.title.weight: must be regular, bold, light"),
    ("font.title.italic=yes", "font.title.italic: must be true or false"),
    ("colour.primary=#000000", "\"colour.primary\" is not a token; did you mean color.primary?"),
    ("primary=#000000", "\"primary\" is not a token; did you mean color.primary?"),
    ("color.primary.drak=#000000", "color.primary has no part \"drak\"; use light, dark, high-"),
    ("color.primary", "\"color.primary\" is not TOKEN=VALUE"),
  ])
  func `the error for a wrong value has the token, the reason and the right form`(
    argument: String, message: String
  ) {
    let error = #expect(throws: SyntaxFailure.self) { try Self.values(argument) }
    #expect(error.map { "\($0)".hasPrefix(message) } == true, "\(error.map { "\($0)" } ?? "")")
  }

  @Test func `a map without its end is reported with the message of its language`() {
    func message(_ text: String) -> String? {
      let error = #expect(throws: CommandFailure.self) {
        try DocumentReader.documents(text, name: "f")
      }
      return error?.message
    }
    #expect(message("{color.primary: 7")?.contains("a key in quotes") == false)
    #expect(message("{\"color.primary\": 7")?.contains("\"{\" is not closed") == true)
  }

  @Test(arguments: ["yaml", "json"])
  func `a printed theme can be imported`(format: String) throws {
    let document = Self.state.document
    let text = format == "json" ? JSONWriter.pretty(document) : YAMLWriter.document(document)
    let read = try DocumentReader.documents(text, name: "theme.\(format)")
    #expect(try ThemeState.readValues(read[0]) == Self.state.values)
  }

  @Test(arguments: [
    ("{color.primary: 7}", "color.primary: must be a colour"),
    ("{theme: {color.primary: {drak: \"#000000\"}}}", "theme.color.primary.drak: unknown field"),
    ("{theme: {color.primary: {dark: \"#000000\"}}}", "theme.color.primary.light: must be"),
    ("{font.x: {weight: bold}}", "font.x.size: must be a number"),
    ("{offset.x: -1}", "offset.x: -1.0 is not a length"),
    ("{offst.x: 1}", "offst.x: \"offst.x\" is not a token; did you mean offset.x?"),
    ("[1]", ": must be a map of tokens"),
  ])
  func `a wrong file is refused with token and reason`(text: String, message: String) throws {
    let document = try DocumentReader.documents(text, name: "f.yaml")[0]
    do throws(FieldFailure) {
      _ = try ThemeState.readValues(document)
      Issue.record("it is read")
    } catch {
      #expect("\(error.path): \(error.reason)".hasPrefix(message), "\(error)")
    }
  }

  @Test func `a preview has a patch for each appearance, and plain text without colours`() {
    let preview = { (depth: ColorDepth) in
      ThemeText(
        state: Self.state, painter: Painter(usesColour: depth != .none), depth: depth
      ).preview.split(separator: "\n").map(String.init)
    }
    let plain = preview(.none)
    #expect(!plain.joined().contains("\u{1B}"))
    #expect(plain.contains("* color.brand       #ff6600    #000000    #01020304"))
    #expect(plain.contains("* font.title        20 points, bold, italic"))
    #expect(plain.contains("* offset.basic      6.5 points  ─"))
    #expect(plain.contains("  offset.none       0 points"))
    let rich = preview(.truecolor).joined(separator: "\n")
    #expect(rich.contains("\u{1B}[48;2;255;102;0m    \u{1B}[m #ff6600"))
    #expect(rich.contains("\u{1B}[1;3m20 points, bold, italic\u{1B}[0m"))
    let some = preview(.palette256).joined(separator: "\n")
    #expect(some.contains("\u{1B}[48;5;202m    \u{1B}[m #ff6600"))
    // One of the 16 colours of every terminal.
    let few = preview(.sixteen).joined(separator: "\n")
    #expect(few.contains(/\u{1B}\[(4|10)[0-7]m    \u{1B}\[m #ff6600/))
  }

  @Test func `a change prints the tokens that differ`() {
    let text = ThemeCommand.text(
      from: ThemeState(RevisedTheme(overrides: ["color.old": .color(Self.brand)])),
      to: Self.state, isDryRun: false)
    #expect(
      text == """
        color.brand is #ff6600 light, #000000 dark, #01020304 high-contrast
        color.old removed
        font.title is 20 points, bold, italic
        offset.basic is 6.5 points

        """)
    let nothing = ThemeCommand.text(from: Self.state, to: Self.state, isDryRun: true)
    #expect(nothing == "nothing changed\n")
  }

  @Test func `a new token like a known one is refused`() {
    let message = ThemeSetCommand.misspelt("color.primry", in: Self.state)?.message
    #expect(
      message == "the theme has no token \"color.primry\"; did you mean \"color.primary\"? "
        + "--new adds a token with this name")
    for token in ["color.primary", "color.brand", "offset.gutter"] {
      #expect(ThemeSetCommand.misspelt(token, in: Self.state) == nil)
    }
  }
}
