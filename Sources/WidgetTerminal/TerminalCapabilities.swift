import WidgetModel
public import WidgetRender

/// The capabilities of a terminal, from its environment.
public struct TerminalCapabilities: Hashable, Sendable {
  /// Ways to show pictures in a terminal.
  public enum Images: Hashable, Sendable, CaseIterable {
    /// Two pixels in each cell, as half blocks.
    case blocks
    case kitty
    case iterm
    case sixel
  }

  public var depth: ColorDepth
  public var images: Images
  /// Whether it knows OSC 8.
  public var hasLinks: Bool
  /// Whether it can move the cursor: a live view needs that.
  public var movesCursor: Bool
  /// Whether its background is light; nil if it is not known.
  public var isLight: Bool?
  /// Whether the program runs in a multiplexer: tmux or screen.
  public private(set) var isMultiplexed = false

  public init(
    depth: ColorDepth, images: Images, hasLinks: Bool, movesCursor: Bool, isLight: Bool? = nil
  ) {
    self.depth = depth
    self.images = images
    self.hasLinks = hasLinks
    self.movesCursor = movesCursor
    self.isLight = isLight
  }

  /// Reads the capabilities from the environment. Empty variables count as not set.
  public init(environment: (String) -> String?) {
    func variable(_ name: String) -> String? {
      environment(name).flatMap { $0.isEmpty ? nil : $0 }
    }
    let term = variable("TERM") ?? "dumb"
    let program = variable("TERM_PROGRAM") ?? ""
    movesCursor = term != "dumb"
    depth = TerminalCapabilities.depth(term, program, variable)
    // A multiplexer passes on neither pictures nor unknown sequences.
    let isInside =
      variable("TMUX") != nil || variable("STY") != nil || term.hasPrefix("screen")
      || term.hasPrefix("tmux")
    isMultiplexed = isInside
    images =
      isInside || !movesCursor ? .blocks : TerminalCapabilities.images(term, program, variable)
    hasLinks =
      movesCursor && term != "linux" && variable("STY") == nil && program != "Apple_Terminal"
    isLight = variable("COLORFGBG").flatMap(TerminalCapabilities.isLight)
  }

  /// The capabilities after an answer of the terminal about its background, colour scheme or
  /// pictures. Other input changes nothing.
  public func after(_ answer: TerminalInput) -> TerminalCapabilities {
    var result = self
    switch answer {
    case .background(let red, let green, let blue):
      // Rec. 709, without gamma, because only the comparison with the middle matters.
      let luma = 2126 * Int(red) + 7152 * Int(green) + 722 * Int(blue)
      result.isLight = luma > 10_000 * 128
    case .colorScheme(let isDark): result.isLight = !isDark
    case .graphics(isKnown: true) where !isMultiplexed: result.images = .kitty
    case .attributes(let numbers) where numbers.contains(4) && images == .blocks:
      result.images = .sixel
    default: break
    }
    return result
  }

  private static func depth(
    _ term: String, _ program: String, _ variable: (String) -> String?
  ) -> ColorDepth {
    guard variable("NO_COLOR") == nil, term != "dumb" else { return .none }
    if ["truecolor", "24bit"].contains(variable("COLORTERM")) || term.hasSuffix("-direct")
      || term.hasSuffix("-truecolor") || variable("WT_SESSION") != nil
    {
      return .truecolor
    }
    let names = [
      "xterm-kitty", "xterm-ghostty", "alacritty", "foot", "foot-extra", "wezterm", "contour",
    ]
    let isInside = term.hasPrefix("screen") || term.hasPrefix("tmux")
    if names.contains(term)
      || !isInside && ["iTerm.app", "WezTerm", "ghostty", "vscode", "kitty"].contains(program)
    {
      return .truecolor
    }
    if term.contains("256color") || program == "Apple_Terminal" { return .palette256 }
    if ["vt52", "vt100", "vt102", "vt220", "vt320", "ansi-mono", "xterm-mono"].contains(term) {
      return .none
    }
    return .sixteen
  }

  private static func images(
    _ term: String, _ program: String, _ variable: (String) -> String?
  ) -> Images {
    if term == "xterm-kitty" || term == "xterm-ghostty" || variable("KITTY_WINDOW_ID") != nil
      || program == "ghostty"
    {
      return .kitty
    }
    if program == "iTerm.app" || program == "WezTerm" { return .iterm }
    if term.hasPrefix("foot") || term.hasPrefix("mlterm") || term.hasPrefix("contour")
      || term.hasPrefix("yaft") || term.contains("sixel")
    {
      return .sixel
    }
    return .blocks
  }

  /// `15;0`: foreground and background as colours of the palette.
  private static func isLight(_ colors: String) -> Bool? {
    guard let last = colors.split(separator: ";").last, let index = Int(last) else { return nil }
    switch index {
    case 0...6, 8: return false
    case 7, 9...15: return true
    default: return nil
    }
  }
}
