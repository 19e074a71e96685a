import Testing
import WidgetRender
import WidgetTerminal

struct TerminalCapabilitiesTests {
  private func capabilities(_ environment: [String: String]) -> TerminalCapabilities {
    TerminalCapabilities { environment[$0] }
  }

  @Test(
    arguments: [
      ([:], ColorDepth.none), (["TERM": "dumb"], .none), (["TERM": "xterm"], .sixteen),
      (["TERM": "linux"], .sixteen), (["TERM": "vt100"], .none),
      (["TERM": "xterm-256color"], .palette256), (["TERM": "screen-256color"], .palette256),
      (["TERM": "xterm-256color", "COLORTERM": "truecolor"], .truecolor),
      (["TERM": "xterm-kitty"], .truecolor), (["TERM": "xterm-direct"], .truecolor),
      (["TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"], .truecolor),
      (["TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"], .palette256),
      (["TERM": "tmux-256color", "TERM_PROGRAM": "tmux"], .palette256),
      (["TERM": "xterm-kitty", "NO_COLOR": "1"], .none),
      (["TERM": "xterm-kitty", "NO_COLOR": ""], .truecolor),
      (["TERM": "dumb", "COLORTERM": "truecolor"], .none),
    ] as [([String: String], ColorDepth)])
  func `the depth of colours follows from the environment`(
    environment: [String: String], _ depth: ColorDepth
  ) {
    #expect(capabilities(environment).depth == depth)
  }

  @Test(
    arguments: [
      (["TERM": "xterm-256color"], TerminalCapabilities.Images.blocks),
      (["TERM": "xterm-kitty"], .kitty), (["TERM": "xterm", "KITTY_WINDOW_ID": "1"], .kitty),
      (["TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"], .iterm), (["TERM": "foot"], .sixel),
      (["TERM": "tmux-256color", "TMUX": "/tmp/x", "KITTY_WINDOW_ID": "1"], .blocks),
      (["TERM": "dumb", "KITTY_WINDOW_ID": "1"], .blocks),
    ] as [([String: String], TerminalCapabilities.Images)])
  func `the way to show pictures follows from the environment`(
    environment: [String: String], _ images: TerminalCapabilities.Images
  ) {
    #expect(capabilities(environment).images == images)
  }

  @Test(
    arguments: [
      ("15;0", false), ("0;15", true), ("0;default;15", true), ("12;8", false), ("0;7", true),
      ("default;default", nil), ("", nil), ("0;300", nil),
    ] as [(String, Bool?)])
  func `COLORFGBG says whether the background is light`(value: String, _ isLight: Bool?) {
    #expect(capabilities(["TERM": "rxvt", "COLORFGBG": value]).isLight == isLight)
  }

  @Test func `answers of the terminal have priority over the environment`() {
    let terminal = capabilities(["TERM": "xterm", "COLORFGBG": "15;0"])
    #expect(terminal.after(.background(250, 250, 240)).isLight == true)
    #expect(terminal.after(.background(30, 30, 60)).isLight == false)
    #expect(terminal.after(.colorScheme(isDark: false)).isLight == true)
    #expect(terminal.after(.attributes([62, 4])).images == .sixel)
    #expect(terminal.after(.attributes([62, 22])).images == .blocks)
    #expect(terminal.after(.focus(true)) == terminal)
  }

  @Test func `a dumb terminal moves no cursor and has no links`() {
    #expect(!capabilities(["TERM": "dumb"]).movesCursor)
    #expect(!capabilities(["TERM": "dumb"]).hasLinks)
    #expect(!capabilities(["TERM": "linux"]).hasLinks)
    #expect(capabilities(["TERM": "xterm"]).hasLinks)
  }

  @Test func `a terminal that answers about kitty's pictures shows them, but not in a multiplexer`()
  {
    let plain = TerminalCapabilities { $0 == "TERM" ? "xterm-256color" : nil }
    #expect(plain.images == .blocks && !plain.isMultiplexed)
    #expect(plain.after(.graphics(isKnown: true)).images == .kitty)
    #expect(plain.after(.graphics(isKnown: false)).images == .blocks)
    // Attributes come last, and do not replace a better protocol.
    #expect(plain.after(.graphics(isKnown: true)).after(.attributes([62, 4])).images == .kitty)
    let inside = TerminalCapabilities { $0 == "TERM" ? "tmux-256color" : nil }
    #expect(inside.isMultiplexed)
    #expect(inside.after(.graphics(isKnown: true)).images == .blocks)
  }
}
