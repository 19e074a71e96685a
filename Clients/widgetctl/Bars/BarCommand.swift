import ArgumentParser
import TaskThreads
import WidgetBar
import WidgetClient
import WidgetModel
import WidgetTimers

/// `bar`: widgets in a status bar.
struct BarCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bar",
    abstract: "Feed a status bar: waybar, i3bar, polybar, tmux and others.",
    discussion: """
      The command prints widgets in the format of a bar. It prints the text once at the start, and \
      again at every change. The text is the widgets' content for the family inline. The command \
      leaves out hidden widgets. One process can feed a whole bar. The command waits for the \
      daemon, and continues after a restart of the daemon. While the daemon does not run, the last \
      state stays, marked as stale. The command ends when the bar ends.

      Formats:
        waybar            a custom module with "return-type": "json"
        i3bar, swaybar    a status_command, with clicks
        i3blocks          a block with interval=persist and format=json
        polybar           a module custom/script with tail = true, with clicks
        yambar            a module script: the tags text, short, icon, percentage, …
        eww               a deflisten variable: a list of blocks
        tmux              #(widgetctl bar --format tmux) in status-right
        json, plain       a list of blocks per line; text alone

      A click sends an event. The left mouse button presses a button or toggle, or a node that \
      takes `press`. If no node takes a press, the left mouse button sends `click`. Other mouse \
      buttons send `click`, and the wheel sends `scroll`. Both events have the number of the mouse \
      button as `button`. The command sends them if the node or the widget's kind takes them.

      i3bar and swaybar write clicks to standard input. polybar runs commands that are in the \
      text. i3blocks 1.4 passes no clicks to a command that keeps running. The other bars run \
      `widgetctl bar --click BUTTON ID` from their configuration. --print-config prints a \
      configuration for the bar, with clicks if there is one id.

      Examples:
        widgetctl bar --format waybar battery
        widgetctl bar --format swaybar -l panel=top
        widgetctl bar --format polybar cpu memory --print-config
        widgetctl bar --click 3 volume
      """)

  @Argument(
    help: "Only these widgets, in this order. They need not exist yet.", completion: idCompletion,
    transform: parseID)
  var ids: [WidgetID] = []

  @OptionGroup var selection: SelectorOptions

  @Option(
    help: ArgumentHelp(
      "The format: \(BarFormat.allCases.map(\.rawValue).joined(separator: ", ")).",
      valueName: "format"),
    completion: .list(BarFormat.allCases.map(\.rawValue)), transform: parseBarFormat)
  var format: BarFormat?

  @Option(
    name: .customLong("as"),
    help: ArgumentHelp("Show the content for this family. Default: inline.", valueName: "family"),
    completion: .list(Family.allCases.map(\.name)), transform: parseFamily)
  var family: Family = .inline

  @Option(
    help: ArgumentHelp(
      "The text between two widgets if the bar does not separate them.", valueName: "text"))
  var separator = " | "

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      """
      Maximum width of a widget's text, in columns. The tooltip has the whole text, up to 4096 \
      bytes. Default: 60.
      """, valueName: "columns"),
    transform: { try parseWhole($0, "1 to 1000") })
  var maxLength = 60

  @Option(
    name: .appearance,
    help: ArgumentHelp(
      "The theme's colours: light, dark or high-contrast. Default: dark.", valueName: "appearance"),
    completion: .list(Theme.Appearance.allCases.map(\.name)), transform: parseAppearance)
  var appearance: Theme.Appearance = .dark

  @Flag(help: "Write one text and end. With i3bar and swaybar, a JSON list without a header.")
  var once = false

  @Option(
    help: ArgumentHelp(
      """
      Send a click to the widget and end: 1 left, 2 middle, 3 right, 4 to 7 the wheel up, down, \
      left and right, 8 back, 9 forward.
      """, valueName: "button"),
    transform: { text in
      guard let button = Int(text), (1...BarClick.buttonMax).contains(button) else {
        throw ValidationError("--click is 1 to \(BarClick.buttonMax)")
      }
      return button
    })
  var click: Int?

  @Option(help: ArgumentHelp("With --click: the clicked node.", valueName: "node"))
  var node: String?

  @Flag(help: "Print a configuration for the bar and end.")
  var printConfig = false

  @OptionGroup var privacy: RedactedOption
  @OptionGroup var global: GlobalOptions

  func validate() throws {
    if let output = global.output, output != .table {
      throw ValidationError("leave out --output; `widgetctl bar --format json` prints JSON")
    }
    if click != nil {
      guard ids.count == 1, selection.isEmpty else {
        throw ValidationError("--click needs the id of one widget")
      }
      guard format == nil, !once, !printConfig else {
        throw ValidationError(
          "--click sends an event; leave out --format, --once and --print-config")
      }
      return
    }
    guard node == nil else { throw ValidationError("--node needs --click") }
    guard format != nil else {
      throw ValidationError(
        "--format is missing; use one of: "
          + BarFormat.allCases.map(\.rawValue).joined(separator: ", ")
      )
    }
    guard ids.isEmpty || selection.isEmpty else {
      throw ValidationError("ids and a selection exclude each other; use one of them")
    }
    guard (1...1000).contains(maxLength) else {
      throw ValidationError("--max-length is 1 to 1000")
    }
    guard !separator.contains(where: \.isNewline) else {
      throw ValidationError("--separator must be on one line")
    }
  }

  func run() async throws {
    if let click { return try await send(click) }
    guard let format else { return }
    if printConfig {
      Output.write(configuration(format).text)
      return await noteMissing()
    }
    // If a command fails, i3blocks shows no output of it. So a block without a daemon prints its problem.
    let follow = FollowOptions(global: global, waits: !once || format == .i3blocks)
    let (socket, family) = (global.socket, family)
    var board = BarBoard(
      ids: ids, leavesOutStanding: ids.isEmpty && selection.isEmpty,
      encoder: BarEncoder(format: format, separator: separator) { button, widget, part in
        BarConfiguration.command(button, widget, part, family: family, socket: socket)
      }, appearance: appearance, columnsMax: maxLength)
    board.isOnce = once
    let session: Session
    do throws(CommandFailure) { session = try follow.session() } catch {
      if once { BarCommand.show(error, board) }
      throw error
    }
    if !once {
      Output.endWithReader()
      // A bar does short work often. With several threads, the threads would wake each other.
      TaskThreads.limit(to: 1)
    }
    var bar = BarSession(
      session: session, selector: ids.isEmpty ? selection.selector() : Selector(ids: ids),
      family: family)
    bar.isOnce = once
    bar.isRedacted = privacy.redacted
    // The bar has a place for missing kinds, and reports them there.
    if !selection.isEmpty, selection.kinds.isEmpty {
      let (selection, ending) = (selection, once ? "" : " yet; waiting")
      let isRedacted = privacy.redacted
      bar.noteNothing = {
        await selection.noteNothing(in: session, ending, isRedacted: isRedacted)
      }
    }
    let (running, first) = (bar, board)
    do {
      try await follow.limited { try await running.run(first) }
    } catch let failure as CommandFailure where failure.exit == .timedOut && once {
      BarCommand.show(failure, board)
      guard format == .i3blocks else { throw failure }
      Output.writeError("widgetctl: \(failure.message)\n")
    }
  }

  /// Prints the text of a bar that has found no daemon.
  private static func show(_ failure: CommandFailure, _ board: BarBoard) {
    var board = board
    board.fail(failure.message)
    if let text = board.next(DateText(now: .wallClock())) { Output.write(text) }
  }

  /// The longest wait for the daemon that knows whether the widgets of a configuration exist.
  private static let lookMax = Duration.seconds(2)

  /// Reports ids and kinds of a configuration that do not exist. A configuration does not need the
  /// daemon.
  private func noteMissing() async {
    guard !ids.isEmpty || !selection.kinds.isEmpty, let session = try? global.session() else {
      return
    }
    let request = ListWidgetsRequest(selector: Selector(ids: ids), readMask: .idsOnly)
    guard
      let found = try? await session.client.listWidgets(
        request, options: CallOptions(timeout: BarCommand.lookMax))
    else { return }
    await FollowOptions.noteMissing(
      of: ids, among: Set(found.widgets.map(\.widget.id)), waits: false, session)
    await selection.noteUnregisteredKinds(in: session)
  }

  private func send(_ button: Int) async throws {
    let session = try global.session()
    let widget = try await session.client.getWidget(
      GetWidgetRequest(id: ids[0], contentFamily: family), options: session.options
    ).widget
    let kind = try? await session.client.getKind(
      GetKindRequest(name: widget.kind), options: session.options
    ).kind.kind
    if let node, widget.content?[node] == nil {
      let all = widget.content?.nodes.map(\.id) ?? []
      let nearest = node.closest(among: all).map { "; did you mean \"\($0)\"?" } ?? ""
      throw CommandFailure(
        .notFound,
        "widget \"\(widget.id)\" has no node \"\(node)\" in family \(family.name)\(nearest)")
    }
    switch widget.presence.state {
    case .visible: break
    case .hidden:
      throw CommandFailure(
        .refused,
        "widget \"\(widget.id)\" is hidden and takes no clicks; show it with "
          + "`widgetctl show \(widget.id)`")
    case .disabled:
      throw CommandFailure(
        .refused,
        "widget \"\(widget.id)\" is disabled and takes no clicks; enable it with "
          + "`widgetctl enable \(widget.id)`")
    }
    for (property, state) in [("visible", "hidden"), ("enabled", "disabled")] {
      guard let node, widget.content?[node]?.properties[property] == .bool(false) else { continue }
      throw CommandFailure(
        .refused, "node \"\(node)\" of widget \"\(widget.id)\" is \(state) and takes no clicks")
    }
    let click = BarClick(button: button, node: node)
    guard let event = click.event(for: widget, kind: kind) else {
      throw CommandFailure(
        .invalidArgument,
        "neither widget \"\(widget.id)\" nor a node of it takes a click with button \(button); "
          + "`widgetctl view \(widget.id) --as \(family.name) --nodes` lists what they take")
    }
    let request = SendEventRequest(
      widgetID: widget.id, nodeID: event.node, name: event.name, payload: event.payload,
      client: "widgetctl")
    _ = try await session.client.sendEvent(request, options: session.options)
    if let warning = await EventCheck.warning(request, session) { Output.warn([warning]) }
  }

  /// The text to copy into the bar's configuration. It has this command's arguments that also
  /// matter there.
  private func configuration(_ format: BarFormat) -> BarConfiguration {
    var words = CommandLine.arguments.dropFirst().drop { $0 != "bar" }.dropFirst()
    var kept: [String] = []
    while let word = words.popFirst() {
      switch word {
      case "--format": words = words.dropFirst()
      case "--print-config": break
      case _ where word.hasPrefix("--format="): break
      default: kept.append(word)
      }
    }
    // The program that starts a bar does not have this shell's variable, so the text has its value.
    let socket = global.socket ?? Terminal.environment("WIDGETD_SOCKET")
    if global.socket == nil, let socket { kept += ["--socket", socket] }
    return BarConfiguration(
      format: format, arguments: kept, widget: ids.count == 1 ? ids[0] : nil,
      family: family, socket: socket)
  }
}

@Sendable private func parseBarFormat(_ text: String) throws -> BarFormat {
  guard let format = BarFormat(rawValue: text) else {
    let names = BarFormat.allCases.map(\.rawValue)
    let nearest = text.closest(among: names).map { "; did you mean \"\($0)\"?" } ?? ""
    throw ValidationError("use one of \(names.joined(separator: ", "))\(nearest)")
  }
  return format
}
