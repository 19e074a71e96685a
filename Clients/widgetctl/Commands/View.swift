import ArgumentParser
import WidgetClient
import WidgetModel

/// `view`: draws widgets as text.
struct ViewCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "view", abstract: "Draw widgets as a picture in text.",
    discussion: """
      The command draws the content that a widget's kind declares. If the kind has no content, the \
      widget shows its data, one line per key. Without ids and selection, it draws all visible \
      widgets, each with a title. It draws the status widgets of a host and its bundles only if \
      they report an error, or with --verbose. A line that begins with ! has the problem of a \
      node. If the node has a placeholder, only --verbose and --nodes show that line.

      The picture has colours on a terminal, and is plain text elsewhere. --width, --height and \
      --format adapt the picture to a message of the day, a status bar or a web page. --watch \
      redraws at every change until q or Ctrl-C. Without a terminal, --watch prints the picture \
      again at every change. --live also takes keys and the mouse.

      --nodes lists the nodes for `send --node`. With --defaults, it also lists the properties \
      that have their default. With -o json or yaml, `view` prints the same as `ls`.

      Examples:
        widgetctl view
        widgetctl view todo
        widgetctl view todo --nodes
        widgetctl view todo --family inline
        widgetctl view todo --format html --width 60
        widgetctl view -l panel=top --watch
        widgetctl send todo press --node add
      """)

  @Argument(
    help: "Only these widgets, even hidden ones.", completion: idCompletion, transform: parseID)
  var ids: [WidgetID] = []

  @OptionGroup var selection: SelectorOptions

  @Option(
    name: .customLong("as"),
    help: ArgumentHelp(
      """
      Show the content for this family: \(Family.names). The widgets do not change. With ids, \
      --family does the same. Without ids, --family selects widgets of that family.
      """, valueName: "family"),
    completion: .list(Family.allCases.map(\.name)), transform: parseFamily)
  var shownFamily: Family?

  /// With ids there is no selection, so `--family` means the family to show.
  private var family: Family? {
    shownFamily ?? (ids.isEmpty ? nil : selection.families.first)
  }

  private var isFamilyAlone: Bool {
    selection.families.count == 1 && selection.labels.isEmpty && selection.kinds.isEmpty
      && selection.condition == nil && shownFamily == nil
  }

  @Flag(help: "Redraw at every change.")
  var watch = false

  @Flag(help: "List the nodes with their ids, types, events and properties.")
  var nodes = false

  @Flag(help: "With --nodes: also list the properties that have their default.")
  var defaults = false

  @OptionGroup var picture: PictureOptions

  @Flag(
    help: "Hide nodes with the property privacy: their text becomes bars of the same width.")
  var redact = false

  @OptionGroup var privacy: RedactedOption

  @Flag(help: "Show the widgets full screen, with keys and mouse, like `dashboard`.")
  var live = false

  @Option(
    help: ArgumentHelp(
      "With --live: the file with the places of widgets; `none` for no file.", valueName: "file"),
    completion: .file(extensions: ["yaml", "yml", "json"]))
  var arrangement: String?

  @Flag(
    name: .customLong("wait"),
    help: "With --watch or --live: wait for the daemon if it is not running.")
  var waits = false

  @OptionGroup var global: GlobalOptions

  func validate() throws {
    if !ids.isEmpty, shownFamily != nil, !selection.families.isEmpty {
      throw ValidationError("with ids, --as and --family have the same effect; use one of them")
    }
    if !ids.isEmpty, !selection.isEmpty, !isFamilyAlone {
      throw ValidationError("ids and a selection exclude each other; use one of them")
    }
    if watch, let output = global.output, output != .table {
      throw ValidationError("--watch draws; `widgetctl watch -o jsonl` prints changes")
    }
    if live, let output = global.output, output != .table {
      throw ValidationError("--live draws; `widgetctl watch -o jsonl` prints changes")
    }
    if redact, nodes { throw ValidationError("--redact is for pictures; leave out --nodes") }
    if redact, let output = global.output, output != .table {
      throw ValidationError("--redact is for pictures; leave out --output")
    }
    if watch, nodes { throw ValidationError("--watch draws; leave out --nodes") }
    if let option = picture.given, watch || live || nodes {
      throw ValidationError(
        "\(option) is for one picture; leave out \(watch ? "--watch" : live ? "--live" : "--nodes")"
      )
    }
    if waits, !watch, !live { throw ValidationError("--wait needs --watch or --live") }
    if arrangement != nil, !live { throw ValidationError("--arrangement needs --live") }
    if let arrangement, arrangement != "none", !ids.isEmpty || !selection.isEmpty {
      throw ValidationError("--arrangement names the widgets; leave out ids and selection")
    }
    if live, watch || nodes {
      throw ValidationError("--live already follows changes; leave out --watch and --nodes")
    }
    if defaults, !nodes { throw ValidationError("--defaults needs --nodes") }
    if let option = picture.given, let output = global.output, output != .table {
      throw ValidationError(
        "\(option) is for a picture; `widgetctl ls -o \(output.rawValue)` prints data")
    }
  }

  func run() async throws {
    if live {
      var dashboard = DashboardOptions(ids: ids, selection: selection, global: global)
      dashboard.family = family
      dashboard.waits = waits
      dashboard.redacts = redact
      dashboard.isRedacted = privacy.redacted
      dashboard.arrangement = arrangement
      return try await dashboard.run()
    }
    guard !watch else { return try await follow() }
    let session = try global.session()
    try await selection.checkKinds(in: session)
    guard ids.isEmpty else {
      let named = try await NamedWidgets(ids, socket: global.socket) { id in
        try await session.client.getWidget(
          GetWidgetRequest(
            id: id, contentFamily: family, isRedacted: privacy.redacted), options: session.options
        ).widget
      }
      if !named.found.isEmpty { try await show(named.found, session) }
      return try named.end(session.printer.format)
    }
    let widgets = try await session.list(
      selection.selector(), family: family, isRedacted: privacy.redacted
    ).widgets
      .map(\.widget).filter { $0.isShownUnnamed(withStanding: showsStanding) }
    try await show(widgets, session)
    let isRedacted = privacy.redacted || redact
    if widgets.isEmpty, !selection.isEmpty {
      await selection.noteNothing(in: session, isRedacted: isRedacted)
    } else {
      await selection.noteFailures(in: session, isRedacted: isRedacted)
    }
  }

  private func show(_ found: [Widget], _ session: Session) async throws {
    await session.warnOfStore()
    guard session.printer.format != .table || nodes else { return try await draw(found, session) }
    let painter = session.printer.painter
    let theme = nodes ? await theme(session) : .standard
    session.printer.print(
      list: found.map { $0.nodesDocument(theme: theme, withDefaults: defaults) },
      around: { .map(["widgets": $0]) }
    ) {
      Table.nodes(of: found, theme: theme, withDefaults: defaults)
        .text(width: defaults ? nil : Terminal.width, painter)
    }
  }

  /// Whether to show status widgets of hosts and bundles that run without errors.
  private var showsStanding: Bool { !selection.isEmpty || nodes || global.verbose }

  /// The daemon's theme, or the standard one if the daemon does not support themes.
  private func theme(_ session: Session) async -> Theme {
    let answer = try? await session.client.getTheme(options: session.options)
    return answer?.theme.theme ?? .standard
  }

  private func draw(_ widgets: [Widget], _ session: Session) async throws {
    var kinds = KindNames()
    try await kinds.look(for: widgets, session)
    var page = picture.page(
      isTitled: ids.count != 1, tellsAll: global.verbose, noColor: global.noColor)
    page.isPrivate = redact || privacy.redacted
    page.family = family
    page.theme = await theme(session)
    let text = page.text(of: widgets, kinds: kinds)
    defer {
      for advice in ViewCommand.advice(aboutKindsOf: widgets) {
        Output.writeError("widgetctl: \(advice)\n")
      }
    }
    let isTold = widgets.isEmpty && !selection.isEmpty
    let isNothing = text.isEmpty && ids.isEmpty && !isTold && Terminal.outputIsTerminal
    let nothing =
      selection.isEmpty ? "no visible widgets" : "no visible widget matches the selection"
    Output.write(isNothing ? nothing + "\n" : text)
  }

  /// The next step for each kind that is not registered. The picture has the problem. If the error of
  /// a bundle is on the widget, the error has the next step.
  static func advice(aboutKindsOf widgets: [Widget]) -> [String] {
    let unknown = widgets.filter { $0.isOfUnknownKind && !$0.hasBundleError }
    return Set(unknown.map(\.kind.rawValue)).sorted().map {
      "`widgetctl apply -f FILE` registers the kind \"\($0)\", `widgetctl bundle install` installs a "
        + "bundle with kinds"
    }
  }

  private func follow() async throws {
    let follow = FollowOptions(global: global, waits: waits)
    let session = try follow.session()
    let options = WatchOptions(
      selector: ids.isEmpty ? selection.selector() : Selector(ids: ids), retry: FollowOptions.retry,
      contentFamily: family, includeTheme: true, upcomingEntries: WidgetMirror.upcomingShown,
      isRedacted: privacy.redacted, liveness: Terminal.outputIsTerminal ? .attentive : .patient)
    Output.endWithReader()
    let watch = ViewWatch(
      ids: ids, showsStanding: showsStanding, picture: picture, session: session, watch: options,
      tellsAll: global.verbose,
      noColor: global.noColor, redacts: redact || privacy.redacted)
    try await follow.limited { try await watch.run(follow) }
  }
}

extension Widget {
  /// Whether the widget is shown if the command line names no ids.
  func isShownUnnamed(withStanding: Bool) -> Bool {
    presence.isVisible && (withStanding || !isStandingWell)
  }

  /// The widget with all properties of its nodes, defaults included.
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

extension Content {
  /// The reasons why the default separators of nodes are not drawn, by the nodes' ids.
  var missingSeparators: [String: String] {
    let nodes = Dictionary(nodes.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    var reasons = nodes.mapValues { _ in "the node is the root" }
    for parent in nodes.values {
      let divides =
        (parent.role == .stack && parent.text("axis") != "layered" || parent.role == .table)
        && parent.properties["divider"] == .bool(true)
      for id in parent.childIDs {
        reasons[id] =
          !divides
          ? "the parent has no divider" : id == parent.childIDs.last ? "it is the last child" : nil
      }
    }
    return reasons.filter { nodes[$0.key]?.properties["separator"] == nil }
  }
}

extension Widget {
  /// The widget as a document, with the facts of the table of nodes: an unknown token is a problem of
  /// its node. With defaults, `notes` says why a default separator is not drawn.
  func nodesDocument(theme: Theme = .standard, withDefaults: Bool = false) -> Value {
    let shown = withDefaults ? self.withDefaults : self
    guard let content = shown.content, case .map(var map) = shown.document() else {
      return shown.document()
    }
    let notes = withDefaults ? self.content?.separatorNotes ?? [:] : [:]
    let nodes = content.nodes.map { node -> Value in
      var node = node
      node.problem = node.problems(with: theme).joined(separator: "\n")
      guard case .map(var map) = node.document, let note = notes[node.id] else {
        return node.document
      }
      map["notes"] = .list([.string(note)])
      return .map(map)
    }
    map["content"] = .map(["rootId": .string(content.rootID), "nodes": .list(nodes)])
    return .map(map)
  }
}

extension Node {
  /// The problems of the node, and the tokens that the theme lacks.
  fileprivate func problems(with theme: Theme) -> [String] {
    problems + unknownTokens(of: theme).map(\.description)
  }
}

extension Content {
  fileprivate var separatorNotes: [String: String] {
    missingSeparators.mapValues { "separator: not drawn, \($0)" }
  }
}

extension Table {
  /// The table WIDGET NODE TYPE EVENTS PROPERTIES, one row per node, in the order of the tree.
  ///
  /// A `!` begins each problem of a node, and each token that the theme lacks.
  ///
  /// - Parameter withDefaults: Whether to list properties that have their default. A separator that is not
  ///   drawn has the reason.
  static func nodes(
    of widgets: [Widget], theme: Theme = .standard, withDefaults: Bool = false
  ) -> Table {
    var table = Table(
      "WIDGET", "NODE", "TYPE", "EVENTS", "PROPERTIES", dispensable: ["TYPE", "EVENTS", "WIDGET"])
    for widget in widgets {
      let shown = withDefaults ? widget.withDefaults : widget
      let notes = withDefaults ? widget.content?.separatorNotes ?? [:] : [:]
      for node in shown.content?.nodes ?? [] {
        let problems = node.problems(with: theme)
        let parts = [node.properties.summary, notes[node.id] ?? ""] + problems.map { "! \($0)" }
        table.add(
          Cell(widget.id.rawValue), Cell(node.id), Cell(node.type?.name ?? "unknown"),
          Cell(node.events.joined(separator: ",")),
          Cell(
            parts.filter { !$0.isEmpty }.joined(separator: "  "), reason: problems.first,
            lead: "! "))
      }
    }
    return table
  }
}

/// Finds the families of kinds whose widgets have no content, and the providers of stale widgets.
struct KindNames: Sendable {
  /// The daemon's facts about the providers of stale widgets.
  private(set) var providers = ProviderFacts()
  private var known: Set<KindName> = []
  /// The families for which a kind has content.
  private var families: [KindName: [Family]] = [:]

  init(families: [KindName: [Family]] = [:], providers: ProviderFacts = ProviderFacts()) {
    (self.families, self.providers) = (families, providers)
  }

  /// The option that shows content of a widget without content for the family. Nil if there is no
  /// such content.
  ///
  /// - Parameters:
  ///   - family: The family that was asked for. Default: the widget's own.
  ///   - option: The option that asks for another family.
  func advice(
    for widget: Widget, family: Family? = nil, option: String = "--as"
  ) -> String? {
    let family = family ?? widget.family
    guard widget.content == nil, let shown = families[widget.kind], let other = shown.first,
      !shown.contains(family)
    else { return nil }
    return "no content for the family \(family.name); \(option) \(other.name) shows some"
  }

  /// Asks the daemon for each kind once, and again for one that did not exist. A daemon without kinds
  /// leaves the families unknown.
  mutating func look(for widgets: [Widget], _ session: Session) async throws(ClientError) {
    await providers.look(for: widgets, session)
    for kind in Set(widgets.filter { $0.content == nil }.map(\.kind)).subtracting(known) {
      do throws(ClientError) {
        let answer = try await session.client.getKind(
          GetKindRequest(name: kind), options: session.options)
        families[kind] = answer.kind.kind.content.flatMap(\.families)
      } catch {
        if error.reason == "KIND_NOT_FOUND" { continue }
        if error.status == nil { throw error }
      }
      known.insert(kind)
    }
  }
}
