import ArgumentParser
import WidgetClient
import WidgetModel

/// `view`: shows what widgets show.
struct ViewCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "view", abstract: "See widgets as their users do: what they show, as text.",
    discussion: """
      What a widget shows is said by its kind. A widget whose kind says nothing about that is shown \
      as its data, a line a key. Without ids and selection: all widgets that are visible, each with a \
      title. A line that begins with ! says what is wrong with a part of it; where a placeholder stands in, \
      only --verbose and --nodes tell why.

      --watch redraws whenever something changes, until an interrupt; without a terminal it prints \
      everything again. With -o json or yaml it prints what `ls` does. --nodes lists the parts instead: \
      what `send --node` can name; with --defaults also the properties that a node leaves to their default.

      --once prints one picture, laid out for a width and with colours: for a message of the day, a \
      status bar, a web page. --height holds it to so many rows.

      Examples:
        widgetctl view
        widgetctl view todo
        widgetctl view todo --nodes
        widgetctl view todo --family inline
        widgetctl view --once
        widgetctl view todo --once --format html --width 60
        widgetctl view -l panel=top --watch
        widgetctl send todo press --node add
      """)

  @Argument(
    help: "Only these widgets, hidden ones too.", completion: idCompletion, transform: parseID)
  var ids: [WidgetID] = []

  @OptionGroup var selection: SelectorOptions

  @Option(
    name: .customLong("as"),
    help: ArgumentHelp(
      "Show the content for this family, whatever the widgets' own is. With ids, --family does too.",
      valueName: "family"),
    completion: .list(Family.allCases.map(\.name)), transform: parseFamily)
  var shownFamily: Family?

  /// With ids there is nothing to select, so that `--family` says how to show them.
  private var family: Family? {
    shownFamily ?? (ids.isEmpty ? nil : selection.families.first)
  }

  private var isFamilyAlone: Bool {
    selection.families.count == 1 && selection.labels.isEmpty && selection.kinds.isEmpty
      && selection.condition == nil && shownFamily == nil
  }

  @Flag(help: "Draw again whenever something changes.")
  var watch = false

  @Flag(help: "List the nodes with their ids, types, events and properties.")
  var nodes = false

  @Flag(help: "With --nodes: also the properties that hold by default.")
  var defaults = false

  @OptionGroup var picture: PictureOptions

  @Flag(help: "Show them full screen, with keys and mouse, as `dashboard` does.")
  var live = false

  @Option(
    help: ArgumentHelp(
      "With --live: the file that says where widgets go, or none.", valueName: "file"),
    completion: .file(extensions: ["yaml", "yml", "json"]))
  var arrangement: String?

  @Flag(
    name: .customLong("wait"),
    help: "With --watch or --live: wait for the daemon if it is not there.")
  var waits = false

  @OptionGroup var global: GlobalOptions

  func validate() throws {
    if !ids.isEmpty, shownFamily != nil, !selection.families.isEmpty {
      throw ValidationError("with ids, --as and --family say the same; use one of them")
    }
    if !ids.isEmpty, !selection.isEmpty, !isFamilyAlone {
      throw ValidationError("ids and a selection exclude each other; use one of them")
    }
    if watch, let output = global.output, output != .table {
      throw ValidationError("--watch draws; `widgetctl watch -o jsonl` prints changes")
    }
    if watch, nodes { throw ValidationError("--watch draws; leave out --nodes") }
    if waits, !watch, !live { throw ValidationError("--wait needs --watch or --live") }
    if arrangement != nil, !live { throw ValidationError("--arrangement needs --live") }
    if let arrangement, arrangement != "none", !ids.isEmpty || !selection.isEmpty {
      throw ValidationError("--arrangement says which widgets; leave out ids and selection")
    }
    if live, watch || nodes {
      throw ValidationError("--live draws by itself; leave out --watch and --nodes")
    }
    if defaults, !nodes { throw ValidationError("--defaults needs --nodes") }
    if picture.once, watch || live {
      throw ValidationError("use one of --once, --watch and --live")
    }
    if picture.once, nodes { throw ValidationError("--once draws; leave out --nodes") }
    if picture.once, let output = global.output, output != .table {
      throw ValidationError("--once draws; `widgetctl ls -o \(output.rawValue)` prints data")
    }
  }

  func run() async throws {
    if live {
      var dashboard = DashboardOptions(ids: ids, selection: selection, global: global)
      dashboard.family = family
      dashboard.waits = waits
      dashboard.arrangement = arrangement
      return try await dashboard.run()
    }
    guard !watch else { return try await follow() }
    let session = try global.session()
    var widgets: [Widget] = []
    if ids.isEmpty {
      widgets = try await session.list(selection.selector(), family: family).widgets
        .map(\.widget).filter(\.presence.isVisible)
    } else {
      for id in ids {
        let answer = try await session.client.getWidget(
          GetWidgetRequest(id: id, contentFamily: family), options: session.options)
        widgets.append(answer.widget)
      }
    }
    var kinds = KindNames()
    if session.printer.format == .table, !nodes { try await kinds.look(for: widgets, session) }
    if picture.once { return await draw(widgets, kinds, session) }
    if defaults { widgets = widgets.map(\.withDefaults) }
    let page = page(session.printer.painter)
    let (found, known) = (widgets, kinds)
    session.printer.print(
      list: found.map { $0.document() }, around: { .map(["widgets": $0]) }
    ) {
      if nodes {
        let width = defaults ? nil : Terminal.width
        return Table.nodes(of: found).text(width: width, page.painter)
      }
      let lines = page.lines(of: found, kinds: known, now: Terminal.now, width: Terminal.width)
      if lines.isEmpty, ids.isEmpty, Terminal.outputIsTerminal { return "no visible widgets\n" }
      return lines.map { $0 + "\n" }.joined()
    }
  }

  private func draw(_ widgets: [Widget], _ kinds: KindNames, _ session: Session) async {
    var page = picture.page(
      isTitled: widgets.count > 1, tellsAll: global.verbose, noColor: global.noColor)
    // A daemon that knows no themes has the standard one.
    let answer = try? await session.client.getTheme(options: session.options)
    if let answer { page.theme = answer.theme.theme }
    let text = page.text(of: widgets, kinds: kinds)
    let isNothing = text.isEmpty && ids.isEmpty && Terminal.outputIsTerminal
    Output.write(isNothing ? "no visible widgets\n" : text)
  }

  private func page(_ painter: Painter) -> ViewPage {
    ViewPage(ids: ids, isTitled: ids.count != 1, painter: painter, tellsAll: global.verbose)
  }

  private func follow() async throws {
    let follow = FollowOptions(global: global, waits: waits)
    let session = try follow.session()
    let options = WatchOptions(
      selector: ids.isEmpty ? selection.selector() : Selector(ids: ids), retry: FollowOptions.retry,
      contentFamily: family)
    let page = page(global.painter)
    Output.endWithReader()
    try await follow.limited {
      let screen = ViewScreen(page: page, session: session)
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          var notes = ConnectionNotes(follow)
          for try await frame in session.client.watch(options) {
            try notes.note(frame)
            try await screen.take(frame)
          }
        }
        if Terminal.outputIsTerminal {
          group.addTask {
            while true {
              try await Task.sleep(for: .seconds(1))
              await screen.tick()
            }
          }
        }
        defer { group.cancelAll() }
        try await group.next()
      }
    }
  }
}

extension Widget {
  /// The widget with all properties of its nodes, those too that hold because a node does not say.
  var withDefaults: Widget {
    guard let content else { return self }
    var widget = self
    widget.content = Content(
      rootID: content.rootID,
      nodes: content.nodes.map { node in
        var node = node
        for property in node.type?.allProperties ?? [] where node.properties[property.name] == nil {
          node.properties[property.name] = property.defaultValue
        }
        return node
      })
    return widget
  }
}

extension Table {
  /// WIDGET NODE TYPE EVENTS PROPERTIES, a row a node, in the order of the tree.
  static func nodes(of widgets: [Widget]) -> Table {
    var table = Table("WIDGET", "NODE", "TYPE", "EVENTS", "PROPERTIES")
    for widget in widgets {
      for node in widget.content?.nodes ?? [] {
        table.add(
          Cell(widget.id.rawValue), Cell(node.id), Cell(node.type?.name ?? "unknown"),
          Cell(node.events.joined(separator: ",")),
          Cell(
            [node.properties.summary, node.problem.isEmpty ? "" : "! \(node.problem)"]
              .filter { !$0.isEmpty }.joined(separator: "  ")))
      }
    }
    return table
  }
}

/// Completes with the nodes of the widget that the command line names.
let nodeCompletion = CompletionKind.custom { words, _, prefix in
  let option = words.lastIndex(of: "--socket").flatMap { index in
    words.indices.contains(index + 1) ? words[index + 1] : nil
  }
  guard let command = words.firstIndex(of: "send"),
    let id = words[(command + 1)...].lazy.compactMap({ WidgetID($0) }).first,
    let path = try? SocketPath.discover(explicit: option)
  else { return [] }
  let answer = try? await WidgetClient(socketPath: path).getWidget(
    GetWidgetRequest(id: id), options: CallOptions(timeout: .seconds(1)))
  return (answer?.widget.content?.nodes ?? []).map(\.id).filter { $0.hasPrefix(prefix) }
}

/// Which widgets are on a page, and how.
struct ViewPage: Sendable {
  /// In this order, hidden ones too; none for all that are visible.
  let ids: [WidgetID]
  let isTitled: Bool
  let painter: Painter
  /// Also what placeholders stand in for.
  var tellsAll = false

  /// The lines of the page, with an empty one between widgets.
  func lines(of widgets: [Widget], kinds: KindNames, now: Timestamp, width: Int?) -> [String] {
    let text = WidgetText(
      painter: painter,
      content: ContentText(width: width, dates: DateText(now: now), tellsAll: tellsAll))
    let blocks = widgets.map { widget in
      text.lines(
        of: widget, isTitled: isTitled, isKindKnown: !kinds.unknown.contains(widget.kind))
    }
    return Array(blocks.joined(separator: [""]))
  }

  /// The page's widgets among those that are there.
  func widgets(in mirror: WidgetMirror) -> [Widget] {
    ids.isEmpty
      ? mirror.widgets.filter(\.presence.isVisible) : ids.compactMap { mirror[$0] }
  }
}

/// Which kinds of widgets without content nobody has registered.
struct KindNames: Sendable {
  private(set) var unknown: Set<KindName> = []
  private var known: Set<KindName> = []

  init(unknown: Set<KindName> = []) { self.unknown = unknown }

  /// Asks for those that are not known, once for each; again for those that were not there before.
  mutating func look(for widgets: [Widget], _ session: Session) async throws(ClientError) {
    for kind in Set(widgets.filter { $0.content == nil }.map(\.kind)).subtracting(known) {
      do throws(ClientError) {
        _ = try await session.client.getKind(GetKindRequest(name: kind), options: session.options)
        known.insert(kind)
        unknown.remove(kind)
      } catch {
        // Of a daemon that knows no kinds nothing can be said.
        guard error.reason == "KIND_NOT_FOUND" else {
          if error.status == nil { throw error }
          known.insert(kind)
          continue
        }
        unknown.insert(kind)
      }
    }
  }
}

/// What `view --watch` has drawn.
private actor ViewScreen {
  private let page: ViewPage
  private let session: Session
  private var mirror = WidgetMirror()
  private var kinds = KindNames()
  private var shown: [String]?

  init(page: ViewPage, session: Session) {
    self.page = page
    self.session = session
  }

  func take(_ frame: WatchFrame) async throws {
    let wasSynced = mirror.isSynced
    guard try mirror.apply(frame) != nil, mirror.isSynced else { return }
    let widgets = page.widgets(in: mirror)
    // It may be asked again later; meanwhile everything is drawn as it was known before.
    var kinds = kinds
    do throws(ClientError) { try await kinds.look(for: widgets, session) } catch {}
    self.kinds = kinds
    if !wasSynced {
      await FollowOptions.noteMissing(
        of: page.ids, among: Set(mirror.widgets.map(\.id)), waits: true, session)
    }
    draw()
  }

  /// Draws again what follows the time.
  func tick() {
    guard mirror.isSynced,
      page.widgets(in: mirror).contains(where: {
        $0.error?.since != nil || $0.content.map(ContentText.follows(time:)) ?? false
      })
    else { return }
    draw()
  }

  private func draw() {
    let size = Terminal.size
    let lines = page.lines(
      of: page.widgets(in: mirror), kinds: kinds, now: Terminal.now, width: size?.columns)
    guard lines != shown else { return }
    if let size {
      Output.write(ViewScreen.frame(lines, height: size.lines))
    } else {
      Output.write((shown == nil ? "" : "\n") + lines.map { $0 + "\n" }.joined())
    }
    shown = lines
  }

  /// The lines at the top of the terminal, over what was there; those that do not fit are counted.
  private static func frame(_ lines: [String], height: Int) -> String {
    var lines = lines
    if lines.count >= height, height > 1 {
      let more = lines.count - height + 2
      lines = lines[..<(height - 2)] + ["… \(more) more lines"]
    }
    return "\u{1B}[H" + lines.map { $0 + "\u{1B}[K\n" }.joined() + "\u{1B}[J"
  }
}
