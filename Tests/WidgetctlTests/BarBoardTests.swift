import Testing
import WidgetBar
import WidgetClient
import WidgetModel
import WidgetProto

@testable import widgetctl

/// The text of a bar, as a value: frames are the input, lines the output.
@Suite struct BarBoardTests {
  private let dates = DateText(now: .epoch, localZone: { _ in "+00:00" })

  private func board(_ format: BarFormat = .plain, ids: [WidgetID] = []) -> BarBoard {
    BarBoard(
      ids: ids, leavesOutStanding: false, encoder: BarEncoder(format: format),
      appearance: .dark, columnsMax: 60)
  }

  private func synced(_ board: BarBoard, _ widgets: [Widget]) throws -> BarBoard {
    var board = board
    try board.take(.opened(WatchOpened(subscriptionID: 1, epoch: 1, revision: 1)), at: .epoch)
    try board.take(.snapshot(SnapshotChunk(widgets: widgets)), at: .epoch)
    try board.take(.synced(WatchSynced(revision: 1)), at: .epoch)
    return board
  }

  @Test func `each change gives one line, and an equal state gives none`() throws {
    var board = try synced(board(), [LiveSamples.widget("a", says: "x")])
    #expect(board.next(dates) == "x 0\n")
    #expect(board.next(dates) == nil)
    try board.take(.progress(WatchProgress(revision: 2)), at: .epoch)
    #expect(board.next(dates) == nil)
    try board.take(.synced(WatchSynced(revision: 3)), at: .epoch)
    #expect(board.next(dates) == "\n")
  }

  @Test(arguments: BarFormat.allCases)
  func `each bar shows the fallback of an image without a source`(format: BarFormat) throws {
    let node = Node(
      id: "i", type: .image,
      properties: ["source": .string(""), "fallback": .string("Kein Bild ü")])
    let image = LiveSamples.widget("a", content: Content(rootID: "i", nodes: [node]))
    var board = try synced(board(format), [image])
    let next = board.next(dates)
    let line = try #require(next)
    #expect(line.contains(format == .waybar ? "Kein-Bild-ü" : "Kein Bild ü"))
  }

  @Test func `nothing is written before the state is complete`() throws {
    var board = board()
    #expect(board.next(dates) == nil)
    try board.take(.opened(WatchOpened(subscriptionID: 1, epoch: 1, revision: 1)), at: .epoch)
    #expect(board.next(dates) == nil)
    let failure = StoreFailure(message: "no space left", since: .epoch)
    try board.take(.store(WatchStore(failure: failure)), at: .epoch)
    #expect(board.next(dates) == nil)
    let widgets = [LiveSamples.widget("a", says: "x")]
    try board.take(.snapshot(SnapshotChunk(widgets: widgets)), at: .epoch)
    try board.take(.synced(WatchSynced(revision: 1)), at: .epoch)
    #expect(board.next(dates) == "x 0 ↻\n")
  }

  @Test
  func
    `before the first connection a bar names the lost daemon, later it keeps the state as stale`()
    throws
  {
    var board = board(.json)
    try board.take(.disconnected(.connectionLost(socketPath: "/s")), at: .epoch)
    #expect(board.next(dates)?.contains("widgetd?") == true)
    board = try synced(board, [LiveSamples.widget("a", says: "x")])
    #expect(board.next(dates)?.contains("\"classes\":[\"k\"]") == true)
    try board.take(.disconnected(.connectionLost(socketPath: "/s")), at: .epoch)
    let next = board.next(dates)
    let line = try #require(next)
    #expect(line.contains("x 0") && line.contains("\"classes\":[\"k\",\"stale\"]"))
    #expect(
      line.contains("\"tooltip\":\"widgetd has been away since 1970-01-01 00:00\""), "\(line)")
  }

  @Test func `a lost daemon is in the tooltip once, with the time of the loss`() throws {
    let widgets = ["a", "b"].map { LiveSamples.widget($0, says: "x") }
    var board = try synced(board(.waybar), widgets)
    let shutdown = ClientError.status(
      RPCStatus(code: .unavailable, message: "The daemon is shutting down. Connect again."))
    try board.take(.disconnected(shutdown), at: .epoch)
    let line = board.next(dates) ?? ""
    #expect(
      line.contains("\"tooltip\":\"widgetd has been away since 1970-01-01 00:00\""), "\(line)")
    // Later attempts change nothing.
    let later = try #require(Timestamp(seconds: 300, nanoseconds: 0))
    try board.take(.disconnected(.unavailable(.refused, socketPath: "/s")), at: later)
    #expect(board.next(dates) == nil)
  }

  @Test func `a daemon that hangs and a missing daemon have different texts`() throws {
    let hangs = ClientError.unresponsive(socketPath: "/s", answerMax: .seconds(5))
    var board = try synced(board(.waybar), [LiveSamples.widget("a", says: "x")])
    try board.take(.disconnected(hangs), at: .epoch)
    let line = board.next(dates) ?? ""
    let tooltip = #""tooltip":"widgetd has not answered since 1970-01-01 00:00""#
    #expect(line.contains(tooltip), "\(line)")
    #expect(line.contains("stale"), "\(line)")
    board = self.board(.waybar)
    try board.take(.disconnected(hangs), at: .epoch)
    let first = board.next(dates) ?? ""
    #expect(first.contains("widgetd?") && first.contains("hangs, is stopped"), "\(first)")
  }

  @Test func `a removed widget disappears`() throws {
    var board = try synced(
      board(.json, ids: ["a", "b"].map { Samples.id($0) }), [LiveSamples.widget("a")])
    #expect(board.next(dates)?.contains(#"there is no widget \"b\" yet"#) == true)
    try board.take(.synced(WatchSynced(revision: 3)), at: .epoch)
    let line = board.next(dates) ?? ""
    #expect(line.contains(#"there is no widget \"a\" any more"#), "\(line)")
    #expect(line.contains(#"there is no widget \"b\" yet"#), "\(line)")
  }

  @Test func `a selected widget that the daemon lacks has the same words everywhere`() throws {
    var board = try synced(board(.json, ids: [Samples.id("watr")]), [LiveSamples.widget("water")])
    #expect(board.missing == [Samples.id("watr")])
    board.nearest = [Samples.id("watr"): "water"]
    let words =
      "there is no widget \"watr\" yet; did you mean \"water\"? `widgetctl ls` lists all widgets"
    #expect(board.selectionProblems == [words])
    #expect(board.blocks(dates)[0].tooltip == words)
    board = try synced(self.board(.json), [LiveSamples.widget("water")])
    board.unknownKinds = [try #require(KindName("nokind"))]
    #expect(board.selectionProblems == [board.blocks(dates)[1].tooltip])
    board = try synced(self.board(.json, ids: [Samples.id("water")]), [LiveSamples.widget("water")])
    #expect(board.selectionProblems == [])
  }

  @Test func `a mistake in the selection is not reported as a missing daemon`() {
    var board = board()
    board.fail("--where: 1:15: the expression ends too early", isSelectionWrong: true)
    #expect(board.next(dates) == "selection?\n")
    board = self.board(.waybar)
    board.fail("permission denied")
    #expect(board.next(dates)?.contains("widgetd?") == true)
    let violation = FieldViolation(field: "selector.expression", description: "it ends too early")
    let refusal = RPCStatus(code: .invalidArgument, message: "no", fieldViolations: [violation])
    #expect(BarSession.isAboutSelection(ClientError.status(refusal)))
    #expect(!BarSession.isAboutSelection(ClientError.connectionLost(socketPath: "/s")))
  }

  @Test func `widgets have the requested order, and missing ones are named`() throws {
    let widgets = [
      LiveSamples.widget("a", says: "x", position: 1),
      LiveSamples.widget("b", says: "y", position: 2),
      LiveSamples.widget("c", says: "z", position: 3) { $0.presence.isVisible = false },
    ]
    var named = try synced(board(ids: ["b", "soon", "a", "c"].map { Samples.id($0) }), widgets)
    #expect(named.next(dates) == "y 0 | soon? | x 0\n")
    var all = try synced(board(), widgets)
    #expect(all.next(dates) == "x 0 | y 0\n")
  }

  @Test func `widgets are sorted by position, and by id where positions are equal`() throws {
    let widgets = [("b", 1), ("c", 0), ("a", 1)].map {
      LiveSamples.widget($0.0, says: $0.0, position: Int64($0.1))
    }
    var board = try synced(board(), widgets)
    #expect(board.next(dates) == "c 0 | a 0 | b 0\n")
  }

  @Test func `a separator is dim if the daemon is lost`() throws {
    let widgets = ["a", "b"].map { LiveSamples.widget($0, says: "x") }
    let dim = try #require(Theme.standard.color("color.secondary", .dark)).description
    for (format, separator) in [
      (BarFormat.polybar, "%{F\(dim)} | %{F-}"), (.tmux, "#[fg=\(dim)] | #[default]"),
      (.waybar, "<span foreground='\(dim)'> | </span>"),
      (.i3blocks, "<span foreground='\(dim)'> | </span>"),
    ] {
      var board = try synced(board(format), widgets)
      #expect(board.next(dates)?.contains(separator) == false)
      try board.take(.disconnected(.connectionLost(socketPath: "/s")), at: .epoch)
      let line = board.next(dates) ?? ""
      #expect(line.contains(separator), "\(line)")
    }
  }

  @Test func `a bar without tooltips shows why a widget has failed`() throws {
    let failed = LiveSamples.widget("a", says: "x") {
      $0.error = WidgetError(reason: "SOURCE_FAILED", message: "weather: no answer\nfrom it")
    }
    for format in BarFormat.allCases {
      var board = try synced(board(format), [failed])
      let line = board.next(dates) ?? ""
      let hasTooltip = [.waybar, .eww, .json].contains(format)
      #expect(format.showsTooltips == hasTooltip)
      #expect(line.contains("weather: no answer from it") != hasTooltip, "\(format): \(line)")
    }
  }

  @Test func `the time until a date says something else is known`() throws {
    let date = Node(
      id: "d", type: .date,
      properties: ["date": .timestamp(.epoch), "style": .string("timer")])
    let content = Content(rootID: "d", nodes: [date])
    let ticking = try synced(board(), [LiveSamples.widget("a", content: content)])
    #expect(ticking.quiet(dates) == .seconds(1))
    #expect(try synced(board(), [LiveSamples.widget("a")]).quiet(dates) == nil)
  }

  @Test func `i3bar's stream has a header, and lines that end with a comma`() throws {
    var board = try synced(board(.i3bar), [LiveSamples.widget("a", says: "x")])
    #expect(board.header.hasPrefix("{\"click_events\":true") && board.header.hasSuffix("\n[\n"))
    #expect(board.next(dates)?.hasPrefix("[{") == true)
    #expect(board.encoder.format.takesClicks)
    let click = try #require(I3Click(.map(["name": .string("a"), "button": .int(1)])))
    #expect(board.clicked(click)?.id == Samples.id("a"))
    // i3blocks names no widget, so the click is for the only one.
    #expect(board.clicked(try #require(I3Click(.int(1))))?.id == Samples.id("a"))
  }

  @Test(arguments: [BarFormat.i3bar, .swaybar])
  func `--once for i3bar prints one complete JSON list`(format: BarFormat) throws {
    var board = try synced(board(format), [LiveSamples.widget("a", says: "x")])
    board.isOnce = true
    let text = board.next(dates) ?? ""
    #expect(text.hasPrefix("[{") && text.hasSuffix("}]\n"), "\(text)")
  }

  @Test func `there is no text before the first state`() throws {
    var empty = board()
    #expect(empty.next(dates) == nil)
    #expect(!empty.hasText)
    var full = try synced(board(), [LiveSamples.widget("a", says: "x")])
    _ = full.next(dates)
    #expect(full.hasText)
  }

  @Test func `a section of i3blocks with another name is still a click on the only widget`() throws
  {
    let click = try #require(I3Click(.map(["name": .string("b"), "button": .int(1)])))
    let blocks = try synced(board(.i3blocks), [LiveSamples.widget("a", says: "x")])
    #expect(blocks.clicked(click)?.id == Samples.id("a"))
    // The others name widgets, and this one does not exist any more.
    let bar = try synced(board(.i3bar), [LiveSamples.widget("a", says: "x")])
    #expect(bar.clicked(click) == nil)
  }

  @Test func `eww's clicks go to the same daemon`() {
    let text = BarConfiguration(
      format: .eww, arguments: ["cpu", "--socket", "/s k"], widget: nil, socket: "/s k"
    ).text
    #expect(text.contains("--click 1 ${block.id} --socket '/s k' &"))
  }

  @Test func `a selection in the configuration of eww is not an expression of eww`() {
    let text = BarConfiguration(
      format: .eww, arguments: ["--where", #"data.x == "${y}""#], widget: nil, socket: "/${s}"
    ).text
    #expect(text.contains(##"--where 'data.x == \"\${y}\"'""##), "\(text)")
    #expect(text.contains(#"${block.id} --socket '/\${s}' &""#), "\(text)")
  }

  @Test func `the tooltip says that a kind is not registered`() throws {
    var board = try synced(board(.json), [Samples.unregistered { $0.updateTime = .epoch }])
    let line = board.next(dates) ?? ""
    #expect(
      line.contains(
        #"the kind \"clock\" is not registered; not updated since 1970-01-01 00:00"#), "\(line)")
  }

  @Test func `a widget whose kind is not registered has a mark and a class`() throws {
    let widget = Samples.unregistered { $0.updateTime = .epoch }
    var plain = try synced(board(), [widget])
    #expect(plain.next(dates) == "max 21.5 ! unregistered kind clock\n")
    var empty = try synced(board(), [Samples.unregistered(hasData: false)])
    #expect(empty.next(dates) == "! unregistered kind clock\n")
    var json = try synced(board(.json), [widget])
    let line = json.next(dates) ?? ""
    #expect(line.contains(#""classes":["clock","unregistered"]"#), "\(line)")
    #expect(line.contains("max 21.5 !") && !line.contains("The kind"), "\(line)")
    let known = LiveSamples.widget("a", says: "x")
    var other = try synced(board(.json), [known])
    #expect(other.next(dates)?.contains(#""classes":["k"]"#) == true)
  }

  @Test func `the tooltip has the problem of a timeline, and the failure of an activity`() throws {
    let wrong = LiveSamples.widget("a", says: "x") {
      $0.timeline = TimelineStatus(problem: "There is no date.")
    }
    let failed = LiveSamples.widget("b", says: "y") {
      $0.activity = Activity(state: .ended, startTime: .epoch, expireTime: .epoch)
      ($0.data["outcome"], $0.data["status"]) = (.string("failed"), .string("status 1"))
    }
    var board = try synced(board(.json), [wrong, failed])
    let text = board.next(dates) ?? ""
    #expect(text.contains(#""tooltip":"timeline: There is no date.""#))
    #expect(text.contains(#""tooltip":"failed: status 1""#))
  }

  @Test func `the text of a failure does not change with the time`() throws {
    let failed = LiveSamples.widget("a", says: "x") {
      $0.error = WidgetError(reason: "SOURCE_FAILED", message: "no answer", since: .epoch)
    }
    var board = try synced(board(.json), [failed])
    #expect(board.next(dates)?.contains("failed: no answer (since 1970-01-01 00:00)") == true)
    let later = DateText(
      now: Timestamp(seconds: 90, nanoseconds: 0) ?? .epoch, localZone: { _ in "+00:00" })
    #expect(board.next(later) == nil)
  }

  @Test func `configurations name the command`() {
    for format in BarFormat.allCases where format != .yambar {
      let text = BarConfiguration(format: format, arguments: ["cpu", "memory"], widget: nil).text
      #expect(text.contains("widgetctl bar --format \(format.rawValue) cpu memory"))
      #expect(!text.contains("--click") || format == .eww)
    }
    let words = ["--where", "data.n > 3"]
    let yambar = BarConfiguration(format: .yambar, arguments: words, widget: nil).text
    #expect(yambar.contains(#""--where", "data.n > 3"]"#))
    let one = BarConfiguration(
      format: .waybar, arguments: ["bar/volume"], widget: Samples.id("bar/volume"), socket: "/s")
    #expect(one.text.contains("\"custom/bar-volume\": {"))
    #expect(one.text.contains("\"modules-right\": [\"custom/bar-volume\"]"))
    let tmux = BarConfiguration(format: .tmux, arguments: ["cpu"], widget: nil).text
    for line in ["status-interval 1", "status-right-length 120", "status-right \"#(widgetctl"] {
      #expect(tmux.contains("set -g \(line)"))
    }
    #expect(tmux.contains(" %H:%M\"\n"))
    #expect(tmux.hasSuffix("print the configuration of one widget.\n"))
    #expect(one.text.contains("widgetctl bar --click 3 bar/volume --socket /s\""))
    #expect(
      BarConfiguration.command(3, Samples.id("a"), BarPart("x", node: "n/it's"), socket: nil)
        == "widgetctl bar --click 3 a --node 'n/it'\\''s'")
  }

  @Test func `a configuration for one widget has its clicks, also in another family`() throws {
    let id = Samples.id("bar/volume")
    for format in [BarFormat.waybar, .i3blocks, .yambar, .eww, .tmux] {
      let text = BarConfiguration(
        format: format, arguments: ["bar/volume", "--as", "small"], widget: id, family: .small
      ).text
      let target = format == .eww ? "${block.id}" : "bar/volume"
      let button = format == .i3blocks ? "\"$BLOCK_BUTTON\"" : "3"
      #expect(text.contains("--click \(button) \(target) --as small"), "\(text)")
    }
    #expect(
      BarConfiguration.command(
        1, id, BarPart("x", node: "n"), family: .small, socket: "/s")
        == "widgetctl bar --click 1 bar/volume --node n --as small --socket /s")
  }

  @Test func `a click in a configuration of tmux is a format in double quotes`() {
    let id = Samples.id("a")
    let text = BarConfiguration(
      format: .tmux, arguments: ["a"], widget: id, socket: "/%s #[x] \"$y\""
    ).text
    let command = #"widgetctl bar --click 1 a --socket '/%s ##''[x] \"\$y\"' || true"#
    #expect(text.contains("bind -n MouseDown1StatusRight run-shell -b \"\(command)\"\n"), "\(text)")
  }

  @Test func `the tooltip says why a disabled widget is dim`() throws {
    let disabled = LiveSamples.widget("a", says: "x") { $0.presence.isEnabled = false }
    var board = try synced(board(.waybar), [disabled])
    #expect(board.next(dates)?.contains(#""tooltip":"disabled: it takes no clicks""#) == true)
  }

  @Test func `a style sheet of eww can name each class`() throws {
    let failed = LiveSamples.widget("a", says: "x") {
      $0.isStale = true
      $0.error = WidgetError(reason: "SOURCE_FAILED", message: "no answer")
    }
    var board = try synced(board(.eww), [failed])
    #expect(board.next(dates)?.contains(#""class":"k stale failed""#) == true)
  }
}
