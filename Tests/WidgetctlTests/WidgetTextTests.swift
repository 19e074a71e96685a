import ArgumentParser
import Testing
import WidgetModel

@testable import widgetctl

/// The texts about a widget: its dates, its failures, the problems of its nodes.
struct WidgetTextTests {
  private static let now = Samples.time(1_767_323_045)  // 2026-01-02T03:04:05Z
  private static let dates = DateText(now: now, localZone: { _ in "+02:00" })

  @Test func `pictures show an error as text`() {
    let since = Self.now.advanced(by: .seconds(-58))
    var widget = Samples.widget
    widget.error = WidgetError(
      reason: "ACTION_FAILED", message: "Toggle failed: no answer", since: since)
    #expect(widget.failures(Self.dates) == ["Toggle failed: no answer (for 58s)"])
    widget.error?.message = ""
    #expect(widget.failures(Self.dates) == ["action failed (for 58s)"])
  }

  @Test(arguments: ["no answer", "the last attempt failed", "HTTP: the last attempt failed"])
  func `an error that does not start with what has failed gets the word`(message: String) {
    for (text, expected) in [
      ("Bad: \(message)", "failed: Bad: \(message)"),
      ("Bad failed: \(message)", "Bad failed: \(message)"),
    ] {
      var widget = Samples.widget
      widget.error = WidgetError(
        reason: "ACTION_FAILED", message: text, since: Self.now.advanced(by: .seconds(-58)))
      #expect(widget.failures(Self.dates) == ["\(expected) (for 58s)"])
    }
  }

  @Test func `several errors have the same order everywhere: the newest first`() {
    func error(_ message: String, _ seconds: Int) -> WidgetError {
      WidgetError(
        reason: "R", message: message, since: Self.now.advanced(by: .seconds(-seconds)))
    }
    var widget = Samples.widget
    widget.error = WidgetError(joining: [error("new", 5), error("older", 50), error("old", 500)])
    let lines = ["failed: new (for 5s)", "failed: older (for 50s)", "failed: old (for 8m)"]
    #expect(widget.failures(Self.dates) == lines)
    #expect(widget.failureSummary(Self.dates) == "failed: new (for 5s) (and 2 more)")
    #expect(GetCommand.errorText(of: widget, now: Self.now) == lines.joined(separator: "\n"))
    #expect(
      GetCommand.problems(of: widget, now: Self.now) == lines.map { "  \($0)\n" }.joined())
    widget.isStale = true
    #expect(widget.failures(Self.dates).dropFirst() == lines[...])
  }

  @Test func `the table says why a widget is stale`() {
    var widget = Samples.widget
    widget.isStale = true
    func text(_ providers: ProviderFacts?, width: Int? = nil) -> String {
      Table.of([widget], now: Samples.time(2300), reasons: true, providers: providers)
        .text(width: width, Samples.plain)
    }
    #expect(text(ProviderFacts()).contains("  ↻ not updated for 5m text=\"12:00\" n=1\n"))
    #expect(!text(nil).contains("↻"))
    widget.error = WidgetError(reason: "R", message: "no answer")
    #expect(text(ProviderFacts()).contains("  ! failed: no answer ↻ not updated for 5m text="))
  }

  @Test func `a wrong timeline and a failed activity count as errors`() {
    var widget = Samples.widget
    widget.timeline = TimelineStatus(problem: "There is no\ndate.")
    #expect(widget.stateWords == "disabled,error")
    #expect(widget.stateStyle == .bad)
    #expect(widget.failures(Self.dates) == ["timeline: There is no ⏎ date."])
    widget.timeline = nil
    #expect(widget.stateWords == "disabled")
    widget.activity = Activity(state: .ended, startTime: Self.now, expireTime: Self.now)
    widget.data["outcome"] = .string("failed")
    #expect(widget.stateWords == "disabled,error")
    #expect(widget.failures(Self.dates) == ["failed"])
    widget.kind = .activity
    #expect(widget.stateWords == "disabled,error")
    #expect(widget.failures(Self.dates) == [])
  }

  @Test(arguments: [
    ("", "", "", "2026-01-02 05:04"), ("datetime", "", "UTC", "2026-01-02 03:04"),
    ("date", "", "Pacific/Honolulu", "2026-01-01"), ("time", "", "", "05:04"),
    ("time", "", "Asia/Tokyo", "12:04"), ("date", "%H.%M.%S", "UTC", "03.04.05"),
    ("relative", "", "", "now"), ("timer", "", "", "0:00:00"),
    ("", "%Q", "", "2026-01-02T03:04:05Z"), ("", "", "Mars/Base", "2026-01-02T03:04:05Z"),
  ])
  func `a date is formatted in its style and zone`(
    style: String, format: String, zone: String, expected: String
  ) {
    let node = Node(
      id: "n", type: .date,
      properties: [
        "date": .timestamp(Self.now), "style": .string(style), "format": .string(format),
        "zone": .string(zone),
      ])
    #expect(Self.dates.text(of: node) == expected)
  }

  @Test(arguments: [
    ("relative", -300, "5 minutes ago"), ("relative", 7_200, "in 2 hours"),
    ("timer", 299, "0:04:59"), ("timer", -90_061, "25:01:01"),
  ])
  func `relative dates are measured from now`(style: String, seconds: Int, expected: String) {
    let node = Node(
      id: "n", type: .date,
      properties: [
        "date": .timestamp(Self.now.advanced(by: .seconds(seconds))), "style": .string(style),
      ])
    #expect(Self.dates.text(of: node) == expected)
    let wait = Self.dates.untilChange(of: node) ?? .zero
    #expect(wait > .zero && wait <= (style == "timer" ? .seconds(1) : .seconds(3_600)))
  }

  @Test func `an absolute date needs no timer`() {
    let still = Node(id: "n", type: .date, properties: ["date": .timestamp(Self.now)])
    #expect(Self.dates.untilChange(of: still) == nil)
  }

  @Test func `a problem behind a placeholder is printed only on request`() {
    let node = Node(
      id: "a", type: .label, properties: ["text": .string("--")],
      problem: "text: no such key: 'load'")
    let content = Content(rootID: "a", nodes: [node])
    #expect(content.problemLines(tellsAll: false) == [])
    #expect(content.problemLines(tellsAll: true) == ["! a: text: no such key: 'load'"])
    var widget = Samples.widget
    widget.content = content
    #expect(
      Table.nodes(of: [widget]).text(width: nil, Samples.plain).hasSuffix(
        "text=\"--\"  ! text: no such key: 'load'\n"))
  }

  @Test func `the list of nodes names the tokens that the theme lacks`() {
    let node = Node(
      id: "a", type: .label,
      properties: ["text": .string("x"), "color": .string("color.primry")])
    var widget = Samples.widget
    widget.content = Content(rootID: "a", nodes: [node])
    let text = Table.nodes(of: [widget]).text(width: nil, Samples.plain)
    #expect(text.contains("! color: the theme has no token \"color.primry\""))
    var theme = Theme.standard
    theme.values["color.primry"] = theme.values["color.primary"]
    #expect(!Table.nodes(of: [widget], theme: theme).text(width: nil, Samples.plain).contains("!"))
  }

  @Test func `each problem is one line without control characters`() {
    let nodes = [
      Node(id: "top", type: .stack, childIDs: ["a"], problem: "x: first"),
      Node(
        id: "a", type: .label, properties: ["visible": .bool(false)],
        problem: "text: no such\u{1B} key\ntooltip: none"),
    ]
    #expect(
      Content(rootID: "top", nodes: nodes).problemLines(tellsAll: false)
        == ["! top: x: first", "! a: text: no such\\u{1b} key", "! a: tooltip: none"])
  }

  @Test func `files of images that cannot be read are told, also if a fallback is shown`() {
    func image(_ properties: ValueMap) -> [String] {
      let node = Node(id: "a", type: .image, properties: properties)
      return PictureFile.problemLines(of: Content(rootID: "a", nodes: [node]))
    }
    let missing = "/nonexistent/a.png"
    let line = "! a: source: \(missing): No such file or directory"
    #expect(image(["source": .string(missing)]) == [line])
    #expect(
      image(["source": .string(missing), "fallback": .string("/etc/passwd")])
        == ["\(line); its fallback is shown"])
    #expect(
      image(["source": .string(missing), "fallback": .string("/nonexistent/b.png")])
        == [line, "! a: fallback: /nonexistent/b.png: No such file or directory"])
    #expect(image(["source": .string(missing), "fallback": .string("weather-clear")]) == [line])
    for properties: ValueMap in [
      ["source": .string("/etc/passwd")], ["source": .string("weather-clear")], [:],
      ["source": .string(missing), "visible": .bool(false)],
    ] {
      #expect(image(properties) == [])
    }
  }

  @Test func `a failure of the content, the timeline or the activity has its age`() {
    let dates = Self.dates
    let since = Self.now.advanced(by: .seconds(-300))
    var widget = Samples.widget
    widget.content = Content(
      rootID: "a",
      nodes: [Node(id: "a", type: .label, problem: "text: no such key", problemSince: since)])
    widget.timeline = TimelineStatus(problem: "no such zone", problemSince: since)
    #expect(
      widget.failures.map { $0.words { "for \(dates.age(of: $0))" } }
        == ["timeline: no such zone (for 5m)", "a: text: no such key (for 5m)"])
    #expect(
      widget.content?.problemLines(tellsAll: false, dates)
        == ["! a: text: no such key (for 5m)"])
    #expect(widget.failureSummary(dates) == "timeline: no such zone (for 5m) (and 1 more)")
    guard case .map(let map)? = widget.failures.last?.document else {
      Issue.record("no document")
      return
    }
    #expect(map["since"] == .string(RFC3339.text(since)))
  }

  @Test func `tokens that the theme lacks are named with a similar one`() {
    let node = Node(
      id: "a", type: .label,
      properties: [
        "text": .string("color.nothing"), "color": .string("color.primry"),
        "font": .string("font.title"), "padding": .map(["top": .string("offset.mine")]),
        "runs": .list([
          .string("color.text"), .map(["text": .string("x"), "color": .string("color.x")]),
        ]),
      ])
    let content = Content(rootID: "a", nodes: [node])
    #expect(
      content.problemLines(tellsAll: false).sorted() == [
        "! a: color: the theme has no token \"color.primry\"; did you mean color.primary?",
        "! a: padding: the theme has no token \"offset.mine\"; `widgetctl theme set` adds it",
        "! a: runs: the theme has no token \"color.x\"; `widgetctl theme set` adds it",
      ])
    let own = Theme.standard.overridden(by: ["offset.mine": .offset(3)])
    #expect(!content.problemLines(tellsAll: false, theme: own).contains { $0.contains("offset") })
  }

  @Test func `failures have their reason and age`() {
    var widget = Samples.widget
    #expect(widget.failures(Self.dates) == [])
    widget.isStale = true
    widget.updateTime = Self.now.advanced(by: .seconds(-7200))
    widget.error = WidgetError(
      reason: "NO_DATA", message: "nothing\ncame", since: Self.now.advanced(by: .seconds(-300)))
    #expect(
      widget.failures(Self.dates) == [
        "stale: not updated for 2h", "failed: nothing ⏎ came (for 5m)",
      ])
    #expect(Self.dates.untilChange(of: widget) == .seconds(60))
    widget.error = nil
    #expect(Self.dates.untilChange(of: widget) == .seconds(3600))
    widget.isStale = false
    #expect(Self.dates.untilChange(of: widget) == nil)
  }

  @Test func `ls begins the data of a failed widget with the reason`() {
    let nodes = ["text: no", "value: no"].enumerated().map { index, problem in
      var node = Node(id: "n\(index)", type: .label)
      node.problem = problem
      return node
    }
    let failed = Widget(
      id: Samples.id("a"), kind: Samples.kind("k"), data: ["n": .int(1)],
      content: Content(rootID: "n0", nodes: nodes))
    let table = Table.of([failed], now: .epoch, reasons: true).text(width: nil, Samples.plain)
    #expect(table.contains("visible,error"))
    #expect(table.contains("! n0: text: no (and 1 more) n=1"))
    #expect(!Table.of([failed], now: .epoch).text(width: nil, Samples.plain).contains("text: no"))
  }

  @Test func `the field error has every failure, with the text of ls`() {
    var widget = WatchPrinterTests.failing("text: no such key\nvalue: none")
    #expect(
      GetCommand.errorText(of: widget, now: Self.now)
        == "top: text: no such key\ntop: value: none")
    widget.error = WidgetError(
      reason: "NO_DATA", message: "nothing\ncame", since: Self.now.advanced(by: .seconds(-300)))
    widget.timeline = TimelineStatus(problem: "the zone is wrong")
    #expect(
      GetCommand.errorText(of: widget, now: Self.now).hasPrefix(
        "failed: nothing ⏎ came (for 5m)\ntimeline: the zone is wrong\ntop: text: "))
    #expect(GetCommand.errorText(of: Samples.widget, now: Self.now) == "")
  }

  @Test func `a table of the field error asks for all failures, and shows no data`() async throws {
    let options = try await FieldOptions.parsed(["--field", "error"])
    let mask = try options.mask(for: .table)
    #expect(mask.wants(.content) && mask.wants(.timeline) && mask.wants(.activity))
    #expect(try !options.mask(for: .json).wants(.content))
    var widget = WatchPrinterTests.failing("text: no such key")
    widget.data["status"] = .string("x")
    let table = Table.of(
      fields: options.paths, [(widget: widget, document: widget.document(mask: mask))],
      now: .epoch
    ).text(width: nil, Samples.plain)
    #expect(table.contains("! top: text: no such key") && !table.contains("status"), "\(table)")
  }

  @Test func `failed sources and actions of a bundle are named`() {
    var widget = Samples.widget
    widget.data = [
      "status": .map([
        "feed": .map(["failed": .bool(true), "message": .string("refused")]),
        "save": .map(["failed": .bool(false), "message": .string("")]),
        "odd": .int(1),
      ])
    ]
    #expect(widget.statusFailures == ["! feed failed: refused"])
    widget.error = WidgetError(reason: "SOURCE_FAILED", message: "Feed failed: refused")
    #expect(widget.statusFailures == [])
    // One of the further errors may be the failure, too.
    widget.error = WidgetError(
      reason: "ACTION_FAILED", message: "Save failed: no room",
      further: [WidgetError(reason: "SOURCE_FAILED", message: "Feed failed: refused")])
    #expect(widget.statusFailures == [])
    widget.data = [
      "status": .map([
        "feed": .map([
          "failed": .bool(true), "title": .string("Feed failed"), "message": .string("refused"),
        ]),
        "save": .map(["failed": .bool(true), "message": .string("1")]),
      ])
    ]
    #expect(widget.statusFailures == ["! save failed: 1"])
    // The text of another failure may contain the message.
    widget.error = WidgetError(reason: "SOURCE_FAILED", message: "Feed failed: status 1")
    #expect(widget.statusFailures == ["! feed failed: refused", "! save failed: 1"])
    // A refused form has a line for each wrong value. Its error has other words.
    widget.data = [
      "status": .map([
        "add": .map([
          "failed": .bool(true), "title": .string("Add failed"),
          "message": .string("A takes a number, not \"x\".\nB is needed."),
          "errorMessage": .string("A takes a number. B is needed."),
        ])
      ])
    ]
    widget.error = WidgetError(
      reason: "ACTION_FAILED", message: "Add failed: A takes a number. B is needed.")
    #expect(widget.statusFailures == [])
    widget.error = nil
    // Somebody has cleared its error.
    widget.data = [
      "status": .map([
        "save": .map([
          "failed": .bool(true), "cleared": .bool(true), "message": .string("no room"),
        ])
      ])
    ]
    #expect(widget.statusFailures == [])
    widget.data = ["status": .string("fine")]
    #expect(widget.statusFailures == [])
  }
}
