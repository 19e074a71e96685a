import ArgumentParser
import Glibc
import WidgetClient
import WidgetLayout
import WidgetModel
import WidgetRender
import WidgetTerminal
import WidgetTimers

/// `dashboard`: shows all widgets on the full screen, and handles input for them.
struct DashboardCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "dashboard",
    abstract: "Use widgets full screen: look, press, type, scroll.",
    discussion: """
      The command shows the widgets of the ids or the selection, else all visible widgets, and \
      follows every change. Widgets fill columns in position order. A large widget takes two \
      columns, an extra-large widget takes all columns. An arrangement file gives widgets fixed \
      places; the key `w` writes this file. The title of a widget shows whether the widget is \
      stale or has failed.

      Tab and the arrows move the focus. Enter and Space press, switch and select. Type text into \
      inputs, and submit it with Enter. The mouse presses and scrolls; a drag copies text. Hold \
      Shift while you drag for the terminal's own selection. `/` filters, `i` shows a widget's \
      data, `?` shows all keys, `q` quits. Ctrl-Z suspends.

      If the daemon ends, the last state stays, marked as stale, until the daemon is back. \
      `view --live` is the same. Without ids and selection, the status widgets of a host and its \
      bundles are shown only while they report an error.

      Examples:
        widgetctl dashboard
        widgetctl dashboard -l panel=top
        widgetctl dashboard todo cpu
        widgetctl dashboard --arrangement wall.yaml
      """)

  @Argument(
    help: "Only these widgets, even hidden ones.", completion: idCompletion, transform: parseID)
  var ids: [WidgetID] = []

  @OptionGroup var selection: SelectorOptions

  @Option(
    name: .customLong("as"),
    help: ArgumentHelp(
      "Show the content for this family. Default: the widget's family.", valueName: "family"),
    completion: .list(Family.allCases.map(\.name)), transform: parseFamily)
  var family: Family?

  @Option(
    name: .appearance,
    help: ArgumentHelp(
      "light, dark or high-contrast. Default: like the terminal's background."),
    completion: .list(Theme.Appearance.allCases.map(\.name)), transform: parseAppearance)
  var appearance: Theme.Appearance?

  @Option(
    help: ArgumentHelp(
      """
      The YAML file with the places of widgets; `none` for no file. The key w writes such a file. \
      Default: $XDG_CONFIG_HOME/widgetd/dashboard.yaml, else ~/.config/widgetd/dashboard.yaml. The \
      default file is used only if it exists and you give no ids and no selection.
      """, valueName: "file"),
    completion: .file(extensions: ["yaml", "yml", "json"]))
  var arrangement: String?

  @Option(
    help: ArgumentHelp(
      "How to draw pictures. Default: the best method that the terminal supports.",
      valueName: "how"), completion: .list(ImageMethod.allCases.map(\.rawValue)))
  var images: ImageMethod?

  @Flag(help: "Hide nodes with the property privacy. The key p shows them.")
  var redact = false

  @OptionGroup var privacy: RedactedOption

  @Flag(name: .customLong("no-animation"), help: "Turn animations off.")
  var isStill = false

  @Flag(name: .customLong("wait"), help: "Wait for the daemon if it is not running.")
  var waits = false

  @OptionGroup var global: GlobalOptions

  func validate() throws {
    if !ids.isEmpty, !selection.isEmpty {
      throw ValidationError("ids and a selection exclude each other; use one of them")
    }
    if let arrangement, arrangement != "none", !ids.isEmpty || !selection.isEmpty {
      throw ValidationError("--arrangement names the widgets; leave out ids and selection")
    }
    if global.output != nil {
      throw ValidationError("dashboard draws; `widgetctl watch -o jsonl` prints changes")
    }
  }

  func run() async throws {
    var dashboard = DashboardOptions(ids: ids, selection: selection, global: global)
    dashboard.family = family
    dashboard.appearance = appearance
    dashboard.isStill = isStill
    dashboard.redacts = redact
    dashboard.isRedacted = privacy.redacted
    dashboard.arrangement = arrangement
    dashboard.images = images
    dashboard.waits = waits
    try await dashboard.run()
  }
}

/// The values of `--images`: the protocol, or another way, that draws pictures.
enum ImageMethod: String, CaseIterable, ExpressibleByArgument {
  case kitty, sixel, iterm, blocks, none

  var method: TerminalCapabilities.Images? {
    switch self {
    case .kitty: .kitty
    case .sixel: .sixel
    case .iterm: .iterm
    case .blocks: .blocks
    case .none: nil
    }
  }
}

/// The options of a dashboard, from `dashboard` or `view --live`.
struct DashboardOptions {
  let ids: [WidgetID]
  let selection: SelectorOptions
  let global: GlobalOptions
  var family: Family?
  var appearance: Theme.Appearance?
  var isStill = false
  var waits = false
  /// Whether private nodes are hidden at the start.
  var redacts = false
  /// Whether the daemon leaves out private nodes and data.
  var isRedacted = false
  /// The way to draw pictures. Nil to follow the terminal's capabilities.
  var images: ImageMethod?
  /// The path of the arrangement, or "none". Nil: `LiveArrangement.standardPath`.
  var arrangement: String?

  init(ids: [WidgetID], selection: SelectorOptions, global: GlobalOptions) {
    (self.ids, self.selection, self.global) = (ids, selection, global)
  }

  func run() async throws {
    let follow = FollowOptions(global: global, waits: waits)
    let session = try follow.session()
    // Without a daemon, the command only prints the error, and does not change the terminal.
    if !waits { try await session.checkAnswer() }
    var capabilities = TerminalCapabilities { Terminal.environment($0) }
    if global.noColor { capabilities.depth = .none }
    guard capabilities.movesCursor else {
      throw CommandFailure(
        .usage, "this terminal cannot be drawn on (TERM); `widgetctl view --watch` prints lines")
    }
    var metrics = LayoutMetrics.cells { DateText(now: .wallClock()).text(of: $0).onOneLine }
    metrics.showsURLs = !capabilities.hasLinks
    var options = LiveOptions(ids: ids, metrics: metrics)
    options.isSelection = !selection.isEmpty
    options.focusesFirst = ids.count == 1
    options.leavesOutStanding = ids.isEmpty && selection.isEmpty
    options.animates = !isStill
    options.moves = !isStill && capabilities.depth >= .palette256
    options.followsBackground = appearance == nil
    (options.arrangement, options.arrangementFile) = try readArrangement()
    var look = CellLook(
      appearance: appearance ?? (capabilities.isLight == true ? .light : .dark),
      usesColor: capabilities.depth != .none)
    look.isPrivate = redacts || isRedacted
    var live = LiveSession(
      session: session,
      watch: WatchOptions(
        selector: ids.isEmpty ? selection.selector() : Selector(ids: ids),
        minInterval: LiveSession.framePause, retry: FollowOptions.retry, contentFamily: family,
        includeTheme: true, upcomingEntries: WidgetMirror.upcomingShown,
        isRedacted: isRedacted, liveness: .attentive),
      options: options, look: look, capabilities: capabilities, follow: follow)
    live.images = images.map(\.method) ?? (capabilities.depth == .none ? nil : capabilities.images)
    live.asksForImages = images == nil && capabilities.depth != .none
    try await live.run()
  }

  /// Reads the arrangement. Returns it with the file that the key `w` writes.
  private func readArrangement() throws(CommandFailure) -> (LiveArrangement?, ArrangementFile?) {
    let standard = LiveArrangement.standardPath.map { ArrangementFile(path: $0) }
    if arrangement == "none" { return (nil, standard) }
    if let path = arrangement {
      return (
        try LiveArrangement(text: try Input.text(path), name: path), ArrangementFile(path: path)
      )
    }
    guard let standard, ids.isEmpty, selection.isEmpty, access(standard.path, F_OK) == 0 else {
      return (nil, standard)
    }
    let text = try Input.text(standard.path)
    do throws(CommandFailure) {
      return (try LiveArrangement(text: text, name: standard.path), standard)
    } catch {
      throw CommandFailure(
        error.exit, error.message + "\nfix it, or leave it out with `--arrangement none`")
    }
  }
}

extension NameSpecification {
  /// The names of the option for the appearance. People also type `--theme`.
  static let appearance: NameSpecification = [.customLong("appearance"), .customLong("theme")]
}

@Sendable func parseAppearance(_ text: String) throws -> Theme.Appearance {
  // The name in theme files.
  let text = text == "highContrast" ? Theme.Appearance.highContrast.name : text
  guard let appearance = Theme.Appearance.allCases.first(where: { $0.name == text }) else {
    throw ValidationError(
      "use one of \(Theme.Appearance.allCases.map(\.name).joined(separator: ", "))")
  }
  return appearance
}
