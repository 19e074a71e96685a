import Testing
import WidgetBar
import WidgetClient
import WidgetDrawing
import WidgetModel
import WidgetProto
import WidgetRender
import WidgetTerminal

@testable import widgetctl

/// The reason and the time of staleness, in all renderers.
@Suite struct StalenessTests {
  private static let now = Samples.time(1300)
  private static let dates = DateText(now: now, localZone: { _ in "+00:00" })

  private static func stale(
    _ id: String = "w", _ change: (inout Widget) -> Void = { _ in }
  ) -> Widget {
    LiveSamples.widget(id) {
      $0.isStale = true
      $0.updateTime = Samples.time(1000)
      change(&$0)
    }
  }

  /// A stale widget whose source `posts` has failed.
  private static func failed(
    _ message: String, makesStale: Bool = true, change: (inout Widget) -> Void = { _ in }
  ) -> Widget {
    stale {
      $0.data = [
        "status": .map([
          "posts": .map([
            "state": .string("failure"), "failed": .bool(true),
            "since": .timestamp(Samples.time(1240)), "message": .string(message),
            "stale": .bool(makesStale),
          ]), "users": .map(["state": .string("success")]),
        ])
      ]
      change(&$0)
    }
  }

  @Test func `the reason for an old timeline is its stale time`() {
    let widget = Self.stale {
      $0.timeline = TimelineStatus(staleTime: Samples.time(900))
    }
    func words(_ facts: ProviderFacts) -> String? {
      facts.staleness(of: widget)?.words(Self.dates)
    }
    for facts in [Self.facts("rail", isConnected: true), Self.facts("rail"), Self.facts(nil)] {
      guard !facts.kinds.isEmpty else { continue }
      #expect(
        words(facts) == "its timeline is out of date for \(Self.dates.age(of: Samples.time(900)))")
    }
    // A disconnected program sends no other event.
    #expect(words(Self.facts("rail", isConnected: false))?.contains("is not connected") == true)
    var marked = widget
    marked.timeline?.staleTime = Samples.time(2_000)
    #expect(
      Self.facts("rail", isConnected: true).staleness(of: marked)?.cause == .providerSilent("rail"))
  }

  private static func host(isStale: Bool) -> Widget {
    LiveSamples.widget("widgetd-host") {
      $0.isStale = isStale
      $0.updateTime = Samples.time(1180)
      $0.data = ["state": .string("running")]
    }
  }

  private static func facts(
    _ provider: String?, _ widgets: [Widget] = [], losable: Bool = false, reducers: [Reducer] = [],
    isConnected: Bool? = nil
  ) -> ProviderFacts {
    var facts = ProviderFacts()
    if let provider {
      let kind = Kind(
        name: Samples.kind("k"), reducers: reducers, hasLosableEvents: losable)
      var registered = RegisteredKind(
        kind: kind, provider: provider, isAttended: isConnected != nil)
      registered.isProviderConnected = isConnected == true
      facts.kinds[kind.name] = registered
    }
    for widget in widgets { facts.widgets[widget.id] = widget }
    return facts
  }

  private static func missing(_ end: String) -> Widget {
    LiveSamples.widget("bundle/feed") {
      $0.data = [
        "state": .string("failed"),
        "problem": .string("the folder /b/feed has no bundle file\(end)"),
      ]
    }
  }

  /// A stale widget that says why: the host has set its error.
  private static func invalid(_ message: String, of set: String = "bundle/feed") -> Widget {
    var widget = stale()
    widget.applySet = set
    widget.error = WidgetError(reason: "BUNDLE_INVALID", message: message)
    return widget
  }

  private static let unexplained = [
    facts("bundle/feed", [host(isStale: false), missing("")]), facts(nil),
  ]

  @Test(arguments: unexplained)
  func `a widget whose error says why it is stale has no other reason`(facts: ProviderFacts) {
    let widget = Self.invalid("the file of bundle feed no longer has this widget")
    #expect(
      widget.failures(Self.dates, facts)
        == ["stale", "failed: the file of bundle feed no longer has this widget"])
    let away = Self.facts("bundle/feed", [Self.host(isStale: true)])
    #expect(widget.failures(Self.dates, away).first == "stale: widgetd-host has been away for 2m")
  }

  @Test(arguments: [("bundle/feed", true), ("", false), ("panel", false)])
  func `a widget of others is not said to be removed with its bundle`(set: String, isLost: Bool) {
    let end = ", or the widgets of the bundle are removed with their data"
    let facts = Self.facts("bundle/feed", [Self.host(isStale: false), Self.missing(end)])
    var widget = Self.stale()
    widget.applySet = set
    #expect(
      facts.staleness(of: widget)?.words(Self.dates)
        == "its bundle failed 5m ago: the folder /b/feed has no bundle file\(isLost ? end : "")")
  }

  @Test func `the failure of a bundle keeps its age when somebody clears the widget's error`() {
    var bundle = Self.missing("")
    bundle.updateTime = Samples.time(1000)
    let facts = Self.facts("bundle/feed", [Self.host(isStale: false), bundle])
    var widget = Self.stale()
    widget.updateTime = Samples.time(1299)
    #expect(facts.staleness(of: widget)?.since == Samples.time(1000))
    #expect(
      facts.staleness(of: widget)?.words(Self.dates)
        == "its bundle failed 5m ago: the folder /b/feed has no bundle file")
    // The bundle's widget has changed since.
    bundle.updateTime = Samples.time(1299)
    widget.updateTime = Samples.time(1000)
    let later = Self.facts("bundle/feed", [Self.host(isStale: false), bundle])
    #expect(later.staleness(of: widget)?.since == Samples.time(1000))
  }

  @Test func `an error about the file does not hide that the bundle is stopped`() {
    let words = "/b/feed is not in a folder of this host"
    let stopped = LiveSamples.widget("bundle/feed") {
      $0.data = ["state": .string("stopped"), "problem": .string(words)]
    }
    let facts = Self.facts("bundle/feed", [Self.host(isStale: false), stopped])
    let widget = Self.invalid("the file of bundle feed no longer has this widget")
    #expect(
      widget.failures(Self.dates, facts).first == "stale: its bundle is stopped for 5m: \(words)")
  }

  /// The host runs the events of a bundle that it has read before its folder went.
  @Test func `an event to a bundle without its folder is not said to wait for sure`() throws {
    var bundle = Self.missing("")
    bundle.data["path"] = .string("/b/feed")
    bundle.data["runs"] = .bool(false)
    let facts = Self.facts("bundle/feed", [Self.host(isStale: false), bundle])
    let staleness = try #require(facts.staleness(of: Self.stale()))
    let request = SendEventRequest(widgetID: Samples.id("w"), name: "press")
    #expect(
      EventCheck.waiting(request, staleness)?.message
        == "The folder of bundle feed is missing now; if widgetd-host has read the folder since its "
        + "start, it runs the event. Otherwise, the event is stored, and waits for it.")
  }

  /// In that moment, the widget was "stopped", which the commands explained by the folders of the host.
  @Test func `a bundle that is being removed is the reason`() throws {
    let removed = LiveSamples.widget("bundle/feed") {
      $0.data = [
        "id": .string("feed"), "path": .string("/nonexistent/feed"), "state": .string("stopped"),
        "problem": .string("the bundle is being removed"), "runs": .bool(false),
      ]
    }
    let facts = Self.facts("bundle/feed", [Self.host(isStale: false), removed])
    let staleness = try #require(facts.staleness(of: Self.stale()))
    #expect(staleness.words(Self.dates) == "its bundle is being removed")
    #expect(staleness.absence == "bundle feed is being removed")
    let request = SendEventRequest(widgetID: Samples.id("w"), name: "press")
    #expect(
      EventCheck.waiting(request, staleness)?.message
        == "Bundle feed is being removed now; the event is lost with it.")
    let standing = BundleStanding(removed)
    #expect(standing.text == "stopped: the bundle is being removed")
    #expect(standing.isLeaving && !standing.isElsewhere && !standing.hasFailed)
    #expect(standing.asMissing == standing)
    // The host of a stale widget has ended, so nobody removes anything.
    var left = removed
    left.isStale = true
    #expect(!BundleStanding(left, .away).isLeaving)
  }

  private static let bundle = LiveSamples.widget("bundle/feed") {
    $0.data = ["state": .string("broken"), "problem": .string("feed.yaml:3: no")]
  }

  static let cases: [(ProviderFacts, Widget, String)] = [
    (facts("bundle/feed", [host(isStale: true)]), stale(), "widgetd-host has been away for 2m"),
    // While the host is disconnected, it cannot repair an earlier failure.
    (
      facts("bundle/feed", [host(isStale: true)]), failed("no answer"),
      "widgetd-host has been away for 2m"
    ),
    (
      facts("bundle/feed", [host(isStale: false)]), failed("no answer"),
      "posts failed for 1m: no answer"
    ),
    (
      facts("bundle/feed", [host(isStale: false), bundle]), stale(),
      "its bundle is broken for 5m: feed.yaml:3: no"
    ),
    (facts("bundle/feed"), stale(), "not updated for 5m: no widgetd-host runs"),
    (
      facts("sysmon"), stale(),
      "a program or user has marked it as stale (for 5m); its kind is declared by \"sysmon\""
    ),
    (
      facts("sysmon", isConnected: false), stale(),
      "not updated for 5m: its provider \"sysmon\" is not connected"
    ),
    (
      facts("sysmon", isConnected: false), failed("no answer"),
      "not updated for 5m: its provider \"sysmon\" is not connected"
    ),
    (
      facts("sysmon", isConnected: true), stale(),
      "not updated for 5m: its provider \"sysmon\" is connected, but sends nothing"
    ),
    (facts(""), stale(), "a program or user has marked it as stale (for 5m)"),
    (facts(nil), stale(), "not updated for 5m"),
  ]

  @Test(arguments: cases)
  func `the reason and the age are on one line`(
    facts: ProviderFacts, widget: Widget, words: String
  ) {
    #expect(facts.staleness(of: widget)?.words(Self.dates) == words)
    #expect(widget.failures(Self.dates, facts) == ["stale: " + words])
  }

  @Test func `a fresh widget has no reason`() {
    #expect(Self.facts("sysmon").staleness(of: LiveSamples.widget("w")) == nil)
    #expect(LiveSamples.widget("w").failures(Self.dates, Self.facts("sysmon")).isEmpty)
  }

  /// A failed action, or a source that has failed for a short time.
  @Test func `a failure that makes no widget stale is not the reason of a user's mark`() {
    let widget = Self.failed("no answer", makesStale: false)
    let facts = Self.facts("bundle/feed", [Self.host(isStale: false)])
    #expect(facts.staleness(of: widget)?.cause == .unknown)
    #expect(widget.failures(Self.dates, facts) == ["stale: not updated for 5m"])
  }

  @Test func `an error that repeats the failed source is printed once`() {
    let widget = Self.failed("no answer") {
      $0.error = WidgetError(
        reason: "SOURCE_FAILED", message: "no answer", since: Samples.time(1240))
    }
    let facts = Self.facts("bundle/feed", [Self.host(isStale: false)])
    #expect(widget.failures(Self.dates, facts) == ["stale", "failed: no answer (for 1m)"])
  }

  @Test func `view and pictures have the reason above the content`() {
    let facts = Self.facts("bundle/feed", [Self.host(isStale: true)])
    let kinds = KindNames(providers: facts)
    let page = PicturePage(format: .text, width: 60, isTitled: false, dates: Self.dates)
    #expect(
      page.text(of: [Self.stale()], kinds: kinds).hasPrefix(
        "stale: widgetd-host has been away for 2m\n"))
    let drawing = RenderPage(dates: Self.dates).drawing(of: [Self.stale()], kinds: kinds)
    #expect(drawing?.words.contains("stale: widgetd-host has been away for 2m") == true)
  }

  @Test(arguments: [Family.small, .medium, .extraLarge])
  func `the age of a long error is on the card`(family: Family) throws {
    let widget = LiveSamples.widget("w") {
      $0.family = family
      $0.error = WidgetError(
        reason: "BAD", message: (0..<60).map { "word\($0)" }.joined(separator: " "),
        since: Samples.time(1000))
    }
    let drawing = try #require(RenderPage(dates: Self.dates).drawing(of: [widget]))
    let file = SVGEncoder.text(drawing, scale: 1)
    #expect(file.contains("(for 5m)</text>"))
    #expect(file.contains("word0 word1"))
  }

  @Test func `the picture is drawn again when the age changes`() {
    // The host has been disconnected for 120 s.
    let facts = Self.facts("bundle/feed", [Self.host(isStale: true)])
    #expect(Self.dates.untilChange(of: Self.stale(), facts) == .seconds(60))
    #expect(Self.dates.untilChange(of: LiveSamples.widget("w"), facts) == nil)
  }

  @Test func `the tooltip of a bar has the reason, with the time instead of an age`() throws {
    var board = BarBoard(
      ids: [], leavesOutStanding: false, encoder: BarEncoder(format: .waybar), appearance: .dark,
      columnsMax: 60)
    board.providers = Self.facts("bundle/feed", [Self.host(isStale: true)])
    try board.take(.opened(WatchOpened(subscriptionID: 1, epoch: 1, revision: 1)), at: .epoch)
    try board.take(.snapshot(SnapshotChunk(widgets: [Self.stale()])), at: .epoch)
    try board.take(.synced(WatchSynced(revision: 1)), at: .epoch)
    // An age would change the text all the time.
    let time = Self.dates.text(Samples.time(1180), style: "datetime", pattern: "", zone: "")
    #expect(
      board.blocks(Self.dates)[0].tooltip == "stale: widgetd-host has been away since \(time)")
  }

  // MARK: - The dashboard

  private func board(
    _ widgets: [Widget], _ facts: ProviderFacts, columns: Int = 80
  ) throws -> LiveBoard {
    var board = try LiveSamples.board(widgets, columns: columns) { $0.now = { Self.now } }
    board.describe(facts)
    return board
  }

  @Test func `a pane has the reason below its title, and asks the daemon once`() throws {
    var board = try board([Self.stale()], Self.facts(nil))
    #expect(board.kindsToDescribe() == [Samples.kind("k")])
    #expect(board.kindsToDescribe() == [])
    #expect(LiveSamples.lines(&board)[1].contains("↻ not updated for 5m"))
    board.describe(Self.facts("bundle/feed", [Self.host(isStale: true)]))
    let lines = LiveSamples.lines(&board)
    #expect(lines[0].contains("w stale"))
    #expect(lines[1].contains("↻ widgetd-host has been away for 2m"))
    #expect(lines[2].contains("words 0"))
    #expect(board.quiet == .seconds(60))
  }

  @Test func `the beginning of a long reason can be read, and details have all of it`() throws {
    let words = (0..<60).map { "word\($0)" }.joined(separator: " ")
    let widgets = ["w", "x"].map { id in
      Self.failed(words) { $0.id = Samples.id(id) }
    }
    var board = try board(widgets, Self.facts("bundle/feed", [Self.host(isStale: false)]))
    let lines = LiveSamples.lines(&board)
    #expect(lines[1].contains("↻ posts failed for 1m: word0 word1"))
    #expect(lines[2].contains("…"))
    #expect(lines[3].contains("words 0"))
    #expect(board.take(.key(.character("i"), [])).count == 1)
    let details = LiveSamples.lines(&board).joined(separator: " ")
    #expect(details.contains("word59"))
  }

  @Test func `a long error is wrapped, cut after three rows, and keeps its age`() throws {
    let words = (0..<60).map { "word\($0)" }.joined(separator: " ")
    let widgets = ["w", "x"].map { id in
      LiveSamples.widget(id) {
        $0.error = WidgetError(reason: "BAD", message: words, since: Samples.time(1000))
      }
    }
    var board = try board(widgets, Self.facts(nil))
    let lines = LiveSamples.lines(&board)
    #expect(lines[1].contains("! word0 word1"))
    #expect(lines[2].contains("word5"))
    #expect(lines[3].prefix(39).contains("… (for 5m)"))
    #expect(lines[4].contains("words 0"))
  }

  // MARK: - Events that wait

  private func press(_ facts: ProviderFacts, _ widget: Widget) throws -> String {
    var board = try board([widget], facts)
    let event = LiveEvent(widget: widget.id, node: "n0", name: "press")
    board.accepted(event, SendEventResponse(sequence: 1, revision: 1))
    return board.notice
  }

  @Test func `a press without an answer causes a notice with the next step`() throws {
    let notice = try press(Self.facts("bundle/feed", [Self.host(isStale: true)]), Self.stale())
    #expect(
      notice.hasPrefix(
        "No widgetd-host runs the kind \"k\" now; the event is stored, and waits for it. To change "
          + "that, run `\(HostStart.ofProcess.command())`"))
    #expect(
      try press(Self.facts("sysmon", losable: true), Self.stale())
        == "No provider \"sysmon\" runs the kind \"k\" now; the event is lost for it, because the kind "
        + "stores no events. To change that, start its program.")
    #expect(
      try press(Self.facts("bundle/feed", [Self.host(isStale: false), Self.bundle]), Self.stale())
        .hasPrefix("Bundle feed is broken now; "))
    #expect(
      try press(
        Self.facts("bundle/feed", [Self.host(isStale: false), Self.missing("")]), Self.stale()
      ).hasPrefix("Bundle feed does not run now; "))
  }

  @Test func `an answered press causes no notice`() throws {
    // The source has failed, but the host runs and takes the event.
    #expect(
      try press(Self.facts("bundle/feed", [Self.host(isStale: false)]), Self.failed("no")) == "")
    // The daemon itself changes the data.
    #expect(
      try press(Self.facts("sysmon", reducers: [Reducer(event: "press")]), Self.stale()) == "")
    #expect(try press(Self.facts("sysmon"), LiveSamples.widget("w")) == "")
  }

  @Test func `a bundle whose previous version runs takes the events of its stale widgets`() throws {
    let bundle = LiveSamples.widget("bundle/feed") {
      $0.data = [
        "state": .string("failed"), "problem": .string("feed.yaml:3:1: no"), "runs": .bool(true),
      ]
    }
    let facts = Self.facts("bundle/feed", [Self.host(isStale: false), bundle])
    #expect(try press(facts, Self.failed("no")) == "")
    #expect(try press(facts, Self.stale()) == "")
    #expect(
      facts.staleness(of: Self.failed("no"))?.words(Self.dates) == "posts failed for 1m: no")
  }

  @Test func `a long notice takes more rows, and its end is visible`() throws {
    var board = try LiveSamples.board([LiveSamples.widget("a", lines: 30)])
    board.notice = (0..<30).map { "word\($0)" }.joined(separator: " ")
    let lines = LiveSamples.lines(&board)
    #expect(lines[21].hasPrefix("● word0 word1"))
    #expect(lines[23].contains("word29"))
    // The next key clears it, and the rows show the widget again.
    _ = board.take(.key(.character("p"), []))
    let after = LiveSamples.lines(&board)
    #expect(after[21].contains("words 20"))
    #expect(after[23].hasPrefix("● revision 1"))
  }
}
