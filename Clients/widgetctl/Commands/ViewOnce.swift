import ArgumentParser
import WidgetModel
import WidgetRender
import WidgetTerminal
import WidgetTimers

/// The options of one picture of `view`.
struct PictureOptions: ParsableArguments {
  enum Format: String, CaseIterable, ExpressibleByArgument {
    case text, ansi, html
  }

  /// The maximum number of columns, and of rows, of a picture.
  static let sideMax = CellGrid.sideMax
  /// The width of a picture without a terminal, in columns.
  static let widthDefault = 80

  @Flag(help: "Print one picture and end. Default: on, unless the picture follows changes.")
  var once = false

  @Option(
    help: ArgumentHelp(
      "The width in columns. Default: the terminal's width, else 80.",
      valueName: "columns"),
    transform: { try parseWhole($0, "1 to \(PictureOptions.sideMax)") })
  var width: Int?

  @Option(
    help: ArgumentHelp(
      "The height in rows. Default: the height of the widgets.", valueName: "rows"),
    transform: { try parseWhole($0, "1 to \(PictureOptions.sideMax)") })
  var height: Int?

  @Option(
    help: ArgumentHelp(
      "The format. Default: ansi on a terminal with colours, else text.",
      valueName: "format"))
  var format: Format?

  @Option(
    name: .appearance,
    help: ArgumentHelp(
      """
      light, dark or high-contrast. Default: light if $COLORFGBG has a light background, else dark.
      """,
      valueName: "appearance"),
    completion: .list(Theme.Appearance.allCases.map(\.name)), transform: parseAppearance)
  var appearance: Theme.Appearance?

  @Option(help: .now, transform: parseTime)
  var now: Timestamp?

  /// The first given option that implies one picture. Nil if none is given.
  var given: String? {
    [
      once ? "--once" : nil, width.map { _ in "--width" }, height.map { _ in "--height" },
      format.map { _ in "--format" }, appearance.map { _ in "--appearance" },
      now.map { _ in "--now" },
    ].lazy.compactMap(\.self).first
  }

  func validate() throws {
    for (name, side) in [("--width", width), ("--height", height)] {
      if let side, !(1...PictureOptions.sideMax).contains(side) {
        throw ValidationError("\(name) is 1 to \(PictureOptions.sideMax)")
      }
    }
  }

  /// The format: from `--format`, or one that fits the output.
  ///
  /// - Parameters:
  ///   - isTerminal: Whether the output is a terminal.
  ///   - noColor: Whether the user turned colours off. The environment then does not matter.
  ///   - environment: Reads a variable. Nil if it is not set.
  func format(
    isTerminal: Bool, noColor: Bool, environment: (String) -> String?
  ) -> WidgetPicture.Format {
    let depth = noColor ? .none : TerminalCapabilities(environment: environment).depth
    switch format {
    case .text?: return .text
    case .html?: return .html
    case .ansi?:
      // The text may be shown later by another terminal, such as a message of the day. If that
      // terminal is unknown, use the colours that every terminal with colours has.
      if depth == .none, !noColor, environment("NO_COLOR") == nil, environment("TERM") == nil {
        return .ansi(.sixteen)
      }
      return .ansi(depth)
    case nil: return isTerminal && depth != .none ? .ansi(depth) : .text
    }
  }

  /// The page for this process's terminal and environment.
  func page(isTitled: Bool, tellsAll: Bool, noColor: Bool) -> PicturePage {
    let terminal = TerminalCapabilities(environment: Terminal.environment)
    return PicturePage(
      format: format(
        isTerminal: Terminal.outputIsTerminal, noColor: noColor, environment: Terminal.environment),
      appearance: appearance ?? (terminal.isLight == true ? .light : .dark),
      width: width ?? Terminal.width ?? PictureOptions.widthDefault, height: height,
      isTitled: isTitled, dates: DateText(now: now ?? Timestamp.wallClock()), tellsAll: tellsAll,
      writesLinks: terminal.hasLinks)
  }
}

extension ArgumentHelp {
  /// The help of `--now`.
  static let now = ArgumentHelp(
    "Draw dates and ages for this time, such as 2026-03-29T01:00:00Z. Default: the present.",
    valueName: "time")
}
