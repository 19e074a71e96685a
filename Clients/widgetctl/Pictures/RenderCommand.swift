import ArgumentParser
import WidgetCairo
import WidgetClient
import WidgetDrawing
import WidgetModel
import WidgetTimers

/// `render`: draws widgets into a picture file.
struct RenderCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "render", abstract: "Draw widgets as a picture: SVG or PNG.",
    discussion: """
      The command draws the content that `view` shows, with shapes and fonts. Each widget is a \
      card in the size of its family and the colours of the daemon's theme. Several widgets form a \
      column. Without ids and selection, the command draws all visible widgets.

      An SVG file keeps text as text, and needs no other file. PNG needs the Debian packages \
      libcairo2 and libpangocairo-1.0-0. Stale data is dim and has a mark. The failure of a widget \
      is above its content. A card grows with its content. With --height, the command cuts content \
      that does not fit, and three dots mark the cut.

      --watch replaces the file at every change, even when only the text of a date changes. \
      Programs that read the file never see a part of a picture. While the daemon cannot be \
      reached, the picture is dim and says for how long.

      Examples:
        widgetctl render load -o load.svg
        widgetctl render load --family small --appearance light -o load.svg
        widgetctl render load --format png --scale 2 -o load.png
        widgetctl render -l panel=top -o panel.svg
        widgetctl render clock --watch -o ~/clock.svg
      """)

  enum Format: String, CaseIterable, ExpressibleByArgument {
    case svg, png
  }

  /// The allowed lengths of a card's sides, in points.
  static let sides = 16.0...4_096
  static let scales = 0.5...8.0

  @Argument(
    help: "Only these widgets, even hidden ones.", completion: idCompletion, transform: parseID)
  var ids: [WidgetID] = []

  @OptionGroup var selection: SelectorOptions

  @Option(
    name: .customLong("as"),
    help: ArgumentHelp(
      "Show the content for this family: \(Family.names). With ids, --family does the same.",
      valueName: "family"),
    completion: .list(Family.allCases.map(\.name)), transform: parseFamily)
  var shownFamily: Family?

  @Option(
    name: [.customShort("o", allowingJoined: true), .customLong("output")],
    help: ArgumentHelp(
      "The file; - is standard output. Default: -.", valueName: "file"), completion: .file())
  var file: String?

  @Option(
    help: ArgumentHelp(
      "The format. Default: the ending of the file's name, else svg.", valueName: "format"))
  var format: Format?

  @Option(
    name: .appearance,
    help: ArgumentHelp(
      "light, dark or high-contrast. Default: dark.", valueName: "appearance"),
    completion: .list(Theme.Appearance.allCases.map(\.name)), transform: parseAppearance)
  var appearance: Theme.Appearance = .dark

  @Option(
    help: ArgumentHelp(
      """
      The width in points. Default: small 170, medium and large 360, extra-large 720, inline as wide \
      as its text.
      """,
      valueName: "points"),
    transform: { try parseNumber($0, "16 to 4096") })
  var width: Double?

  @Option(
    help: ArgumentHelp(
      """
      The height in points. Default: small and medium 170, large and extra-large 380, inline 28; \
      more if the content needs it.
      """,
      valueName: "points"),
    transform: { try parseNumber($0, "16 to 4096") })
  var height: Double?

  @Option(
    help: ArgumentHelp("Pixels per point, 0.5 to 8. Default: 1.", valueName: "factor"),
    transform: { try parseNumber($0, "0.5 to 8") })
  var scale: Double = 1

  @Option(help: .now, transform: parseTime)
  var now: Timestamp?

  @Flag(help: "Replace the file at every change.")
  var watch = false

  @Flag(
    help: "Hide nodes with the property privacy: their text becomes bars of the same width.")
  var redact = false

  @OptionGroup var privacy: RedactedOption

  @Flag(name: .customLong("wait"), help: "With --watch: wait for the daemon if it is not running.")
  var waits = false

  @OptionGroup var connection: ConnectionOptions

  /// With ids there is no selection, so `--family` means the family to show.
  private var family: Family? {
    shownFamily ?? (ids.isEmpty ? nil : selection.families.first)
  }

  func validate() throws {
    let isFamilyAlone =
      selection.families.count == 1 && selection.labels.isEmpty && selection.kinds.isEmpty
      && selection.condition == nil && shownFamily == nil
    if !ids.isEmpty, !selection.isEmpty, !isFamilyAlone {
      throw ValidationError("ids and a selection exclude each other; use one of them")
    }
    for (name, side) in [("--width", width), ("--height", height)] {
      if let side, !RenderCommand.sides.contains(side) {
        throw ValidationError("\(name) is 16 to 4096 points")
      }
    }
    if !RenderCommand.scales.contains(scale) { throw ValidationError("--scale is 0.5 to 8") }
    if watch, file == nil || file == "-" {
      throw ValidationError("--watch rewrites a file; name it with -o")
    }
    if waits, !watch { throw ValidationError("--wait needs --watch") }
    if watch, now != nil { throw ValidationError("--now is for one picture; leave out --watch") }
    if let file, file.isEmpty { throw ValidationError("-o needs a file's name, or -") }
    if format == nil, let ending = fileEnding, Format(rawValue: ending) == nil {
      throw ValidationError(
        "pictures are svg or png, not \(ending); end the file's name with .svg or .png, or add "
          + "--format")
    }
  }

  /// The ending of the file's name, in lower case. Nil without one.
  private var fileEnding: String? {
    let name = file?.split(separator: "/").last ?? ""
    guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return nil }
    let ending = name[name.index(after: dot)...].lowercased()
    return ending.isEmpty ? nil : ending
  }

  /// The format: from `--format`, or from the file name's ending.
  var shownFormat: Format { format ?? fileEnding.flatMap(Format.init) ?? .svg }

  func run() async throws {
    let output = RenderOutput(
      file: OutputFile(file), format: shownFormat, scale: scale, now: now, page: page())
    try output.check(isTerminal: file == nil && Terminal.outputIsTerminal)
    guard !watch else { return try await follow(output) }
    let session = try connection.global.session()
    try await selection.checkKinds(in: session)
    var widgets: [Widget] = []
    if ids.isEmpty {
      widgets = try await session.list(
        selection.selector(), family: family, isRedacted: privacy.redacted
      ).widgets
        .map(\.widget).filter { $0.isShownUnnamed(withStanding: !selection.isEmpty) }
    } else {
      let named = try await NamedWidgets(ids, socket: connection.global.socket) { id in
        try await session.client.getWidget(
          GetWidgetRequest(
            id: id, contentFamily: family, isRedacted: privacy.redacted), options: session.options
        ).widget
      }
      // A picture without the failed widgets would look complete.
      try named.end(session.printer.format)
      widgets = named.found
    }
    guard !widgets.isEmpty else {
      throw CommandFailure(
        .notFound,
        selection.isEmpty ? "no visible widgets" : "no visible widget matches the selection")
    }
    var kinds = KindNames()
    try await kinds.look(for: widgets, session)
    // A daemon without themes uses the standard theme.
    let theme = try? await session.client.getTheme(options: session.options).theme.theme
    let trouble = await session.warnOfStore()
    let loss = trouble?.failure.map { ConnectionLoss($0) }
    if let bytes = try output.bytes(of: widgets, kinds: kinds, theme: theme, loss: loss) {
      try output.file.write(bytes)
    }
  }

  private func page() -> RenderPage {
    var page = RenderPage(dates: DateText(now: .wallClock()))
    page.appearance = appearance
    (page.width, page.height, page.family) = (width, height, family)
    page.tellsAll = connection.verbose
    page.isPrivate = redact || privacy.redacted
    return page
  }

  private func follow(_ output: RenderOutput) async throws {
    let follow = FollowOptions(global: connection.global, waits: waits)
    let session = try follow.session()
    let options = WatchOptions(
      selector: ids.isEmpty ? selection.selector() : Selector(ids: ids),
      minInterval: RenderWatch.pause, retry: FollowOptions.retry, contentFamily: family,
      includeTheme: true, upcomingEntries: WidgetMirror.upcomingShown,
      isRedacted: privacy.redacted)
    let watch = RenderWatch(
      ids: ids, showsStanding: !selection.isEmpty, output: output, session: session, watch: options)
    try await follow.limited { try await watch.run(follow) }
  }
}

/// The global options of a command whose `--output` is a file.
struct ConnectionOptions: ParsableArguments {
  @Option(
    name: .long,
    help: ArgumentHelp(
      """
      The daemon's socket. Default: $WIDGETD_SOCKET, $XDG_RUNTIME_DIR/widgetd/widgetd.sock, \
      /run/widgetd/widgetd.sock.
      """, valueName: "path"), completion: .file())
  var socket: String?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "Give up after this time: 500ms, 5s; 0 is no timeout. Default: 30s; none with --watch.",
      valueName: "duration"),
    transform: parseDuration)
  var timeout: Duration?

  @Flag(name: .shortAndLong, help: "Print progress on standard error.")
  var verbose = false

  /// The options in the form that other commands use.
  var global: GlobalOptions {
    var global = GlobalOptions()
    (global.socket, global.timeout, global.output) = (socket, timeout, nil)
    (global.requestId, global.verbose, global.noColor) = (nil, verbose, false)
    return global
  }
}

/// The output of a drawing: its format, scale and file.
struct RenderOutput: Sendable {
  let file: OutputFile
  let format: RenderCommand.Format
  /// Pixels per point.
  let scale: Double
  /// The time that dates and ages show. Nil for the time of drawing.
  var now: Timestamp?
  var page: RenderPage

  /// Refuses to write PNG to a terminal.
  func check(isTerminal: Bool) throws(CommandFailure) {
    if format == .png, isTerminal {
      throw CommandFailure(
        .usage, "a terminal cannot show a PNG file; write it to a file with -o FILE")
    }
  }

  /// The bytes of the picture now. Nil if there is no widget to show.
  ///
  /// - Parameters:
  ///   - loss: The loss of the connection to the daemon. Nil while it is up.
  ///   - removed: The removed widgets among these.
  func bytes(
    of widgets: [Widget], kinds: KindNames, theme: Theme?, loss: ConnectionLoss? = nil,
    removed: Set<WidgetID> = []
  ) throws(CommandFailure) -> [UInt8]? {
    var page = page
    page.loss = loss
    page.removed = removed
    page.dates.now = now ?? Timestamp.wallClock()
    if let theme { page.theme = theme }
    switch format {
    case .svg:
      return page.drawing(of: widgets, kinds: kinds).map {
        Array(SVGEncoder.text($0, scale: scale).utf8)
      }
    case .png:
      do throws(CairoFailure) {
        page.measure = try PangoTextMeasure()
        guard let drawing = page.drawing(of: widgets, kinds: kinds) else { return nil }
        return try CairoPainter.png(of: drawing, scale: scale)
      } catch {
        throw CommandFailure(.otherError, "\(error)")
      }
    }
  }
}
