import Testing
import WidgetClient
import WidgetModel

@testable import widgetctl

struct StatusTests {
  static let stats = GetStatsResponse(
    version: "1.0.0", startTime: Samples.time(1000), uptime: .seconds(200), store: "sqlite",
    epoch: 7, revision: 55, compactRevision: 10, widgets: 81, stateBytes: 1_536, lastSequence: 17,
    connections: 3, subscriptions: 2,
    counters: [
      "calls": 9, "calls_failed": 2, "readers_behind": 3, "protocol_errors": 0, "groups_failed": 2,
    ],
    limits: ["widgets_max": 100, "connections_max": 100, "page_size_max": 10], pid: 42,
    recentErrors: [
      RecentError(
        time: Samples.time(1060), code: .unavailable, reason: "STORAGE_FAILED", area: "storage",
        message: "the disk is full", count: 3),
      RecentError(
        time: Samples.time(1100), code: .resourceExhausted, reason: "QUOTA_EXCEEDED",
        area: "connections", message: "too many", count: 1, peerUID: 1000),
    ], usage: ["widgets_max": 81, "connections_max": 79, "new_limit": 5], memoryBytes: 20 << 20)

  static func report(
    _ state: StatusReport.State, level: Facts.Level = .owner, stats: GetStatsResponse? = stats,
    revision: Revision? = nil
  ) -> StatusReport {
    StatusReport(
      socket: "/s", state: state, level: level, stats: stats, revision: revision,
      now: Samples.time(1200))
  }

  @Test func `the report for an owner has statistics, limits and errors`() {
    #expect(
      Self.report(.running(.serving)).text(Samples.plain) == """
        ● widgetd 1.0.0 - running since 1970-01-01T00:16:40Z; 3m20s ago
            Socket: /s
           Process: 42, 20.0 MiB of memory
             Store: sqlite, epoch 7, revision 55 (can resume from 10)
           Widgets: 81, 1.5 KiB of state
           Clients: 3 connections, 2 open watches of widgets or events
            Events: the next one gets the number 18; a restart can skip numbers
            Limits: connections_max: 79 of 100, 79 %
                    widgets_max: 81 of 100, 81 %
           Trouble: failed writes to the store 2

        1970-01-01T00:17:40Z STORAGE_FAILED (UNAVAILABLE) in storage, 3 times: the disk is full
        1970-01-01T00:18:20Z QUOTA_EXCEEDED (RESOURCE_EXHAUSTED) in connections, user 1000: too many

        """)
  }

  @Test func `the report says what is counted for the clients`() {
    var stats = Self.stats
    (stats.connections, stats.subscriptions) = (1, 1)
    stats.limits["subscriptions_per_uid_max"] = 16
    stats.usage["subscriptions_per_uid_max"] = 4
    let text = Self.report(.running(.serving), stats: stats).text(Samples.plain)
    #expect(text.contains("Clients: 1 connection, 1 open watch of widgets or events\n"), "\(text)")
    #expect(
      text.contains("subscriptions_per_uid_max: 4 of 16, 25 % (the user with the most)\n"),
      "\(text)")
  }

  @Test func `bundles that have failed are named`() {
    var report = Self.report(.running(.serving))
    report.host = .running(folders: ["/b"])
    #expect(report.text(Samples.plain).contains("Bundles: widgetd-host runs /b\n    "))
    report.host = .missing(former: ["/b"])
    let missing = report.text(Samples.plain)
    #expect(missing.contains("Bundles: no widgetd-host runs; the last one ran /b; start it with `"))
    report.host = .running(folders: ["/b"])
    report.failedBundles = ["clock", "feed"]
    report.failingBundles = ["desk", "mail"]
    #expect(
      report.text(Samples.plain).contains(
        """
        Bundles: widgetd-host runs /b
                    2 bundles have failed: clock, feed; `widgetctl bundle ls --remote`
                    2 bundles are failing: desk, mail; `widgetctl bundle ls --remote`

        """))
    #expect("\(report.document)".contains("feed"))
    report.failedBundles = []
    report.failingBundles = []
    report.stoppedBundles = ["clock"]
    #expect(
      report.text(Samples.plain).contains(
        """
        Bundles: widgetd-host runs /b
                    stopped: not in a folder of this host: clock; `widgetctl bundle ls --remote`

        """))
  }

  @Test
  func `a store that takes no changes is in the first line, with the cause and the age below`() {
    var report = Self.report(.running(.serving))
    report.store = StoreTrouble(
      StoreFailure(message: "/db: no space left; free some", since: Samples.time(1140)))
    let lines = report.text(Samples.plain).split(separator: "\n")
    #expect(
      lines.first
        == "● widgetd 1.0.0 - running since 1970-01-01T00:16:40Z; 3m20s ago, but it cannot store changes"
    )
    #expect(
      lines.contains { $0.hasSuffix("has stored no change for 1m: /db: no space left; free some") })
    #expect(JSONWriter.compact(report.document).contains(#""takesChanges":false"#))
    // Other users get this only from the health service.
    report.stats = nil
    report.store = StoreTrouble()
    #expect(
      report.text(Samples.plain).contains(
        "widgetd cannot store changes; its owner and root see why with `widgetctl status`; "
          + "widgets may be old"))
  }

  @Test func `a host that does not answer is not reported as ended`() {
    var report = Self.report(.running(.serving))
    let process = SilentProcess(
      ProviderSilence(since: Samples.time(1140), pid: 7), isStopped: true)
    report.host = .silent(process, folders: ["/a"])
    #expect(
      report.text(Samples.plain).contains(
        "Bundles: widgetd-host (process 7) has not answered since 1970-01-01T00:19:00Z: it is "
          + "stopped by a signal; continue it with `kill -CONT 7`\n"))
    #expect(JSONWriter.compact(report.document).contains(#""silence":{"pid":7,"#))
  }

  @Test(arguments: [(1, "1 widget"), (4, "4 widgets"), (1000, "at least 1000 widgets")])
  func `widgets that fail are counted, and the first ones have their reason`(
    count: Int, words: String
  ) {
    var report = Self.report(.running(.serving))
    report.failing = FailingWidgets()
    #expect(!report.text(Samples.plain).contains("Failing"))
    let error = WidgetError(reason: "R", message: "no answer", since: Samples.time(1140))
    report.failing = FailingWidgets(
      (1...count).map {
        Widget(
          id: Samples.id("w\($0)"), kind: Samples.kind("k"), position: Int64($0), error: error)
      }, isCut: count == 1000)
    let text = report.text(Samples.plain)
    let errors = count == 1 ? "1 error" : "\(count) errors"
    #expect(text.contains("   Failing: \(words) (\(errors)); `widgetctl ls --failing`\n"))
    #expect(text.contains("            w1: failed: no answer (for 1m)\n"))
    #expect(text.contains("w3: ") == (count > 2))
    #expect(!text.contains("w4: "))
    let client = StatusReport(
      socket: "/s", state: .running(.serving), level: .client, failing: report.failing,
      now: Samples.time(1200))
    #expect(client.text(Samples.plain).contains("w1: failed: no answer (for 1m)"))
    #expect("\(client.document)".contains("no answer"))
  }

  @Test func `the kinds of failures are counted separately, and so are stale widgets`() {
    func widget(_ id: String, _ change: (inout Widget) -> Void) -> Widget {
      var widget = Widget(id: Samples.id(id), kind: Samples.kind("k"))
      change(&widget)
      return widget
    }
    var failing = Node(id: "label", type: .label)
    failing.problem = "text: division by zero"
    let failing2 = failing
    var report = Self.report(.running(.serving))
    report.failing = FailingWidgets([
      widget("error") { $0.error = WidgetError(reason: "R", message: "m") },
      widget("timeline") {
        $0.timeline = TimelineStatus(problem: "no entries")
        $0.position = 1
      },
      widget("content") {
        $0.content = Content(rootID: "label", nodes: [failing2])
        $0.isStale = true
        $0.position = 2
      },
      widget("fine") { _ in },
      widget("old") { $0.isStale = true },
    ])
    let text = report.text(Samples.plain)
    #expect(
      text.contains(
        """
           Failing: 3 widgets (1 error, 1 timeline, 1 content); `widgetctl ls --failing`
                    error: failed: m
                    timeline: timeline: no entries
                    content: label: text: division by zero
             Stale: 2 widgets; `widgetctl ls --where widget.stale`

        """), "\(text)")
    guard case .map(let document) = report.document, case .map(let failing)? = document["failing"]
    else {
      Issue.record("no failing widgets in the document")
      return
    }
    #expect(failing["count"] == .int(3) && failing["stale"] == .int(2))
    #expect(failing["contents"] == .int(1) && failing["activities"] == .int(0))
  }

  @Test func `widgets of unregistered kinds are counted, and are no failures`() {
    var report = Self.report(.running(.serving))
    report.failing = FailingWidgets([
      Samples.unregistered { $0.isStale = true },
      Samples.unregistered { $0.id = Samples.id("x") },
    ])
    let text = report.text(Samples.plain)
    #expect(
      text.contains(
        "   Unknown: 2 widgets of unregistered kinds: clock; `widgetctl ls` marks them\n"),
      "\(text)")
    #expect(!text.contains("Failing"))
    #expect("\(report.document)".contains("unregistered"))
  }

  @Test(arguments: [
    (BundleHost.running(folders: ["/a", "/b"]), "   Bundles: widgetd-host runs /a, /b\n"),
    (.running(folders: ["/a"], stub: true), "   Bundles: widgetd-host runs /a with --stub\n"),
    (
      .running(folders: ["/a"], problem: "/a does not exist"),
      "   Bundles: widgetd-host runs /a\n            /a does not exist\n"
    ),
    (.missing(), "   Bundles: no widgetd-host runs\n"),
    (.returning(folders: ["/a"]), "   Bundles: \(BundleHost.waiting)\n"),
  ])
  func `the report has a line for the host of bundles`(host: BundleHost, line: String) {
    var report = Self.report(.running(.serving))
    report.host = host
    #expect(report.text(Samples.plain).contains(line))
  }

  @Test func `the report for a client has no statistics`() {
    #expect(
      Self.report(.running(.serving), level: .client, stats: nil, revision: 55)
        .text(Samples.plain) == """
          ● widgetd - running
              Socket: /s
            Revision: 55
             You may: read, watch and send events; root sees more: `sudo widgetctl status`

          """)
  }

  @Test func `limits near their maximum are coloured`() {
    let text = Self.report(.running(.serving)).text(Painter(usesColour: true))
    #expect(text.contains("\u{1B}[33mwidgets_max: 81 of 100, 81 %\u{1B}"))
    #expect(!text.contains("mconnections_max"))
  }

  @Test func `the report of a stopped daemon has the reason and the next command`() {
    var report = Self.report(.notRunning, stats: nil)
    report.trouble = .fail("connect", "nobody listens", mend: "start it")
    #expect(
      report.text(Samples.plain) == """
        ○ widgetd - not running
            Socket: /s
            Reason: nobody listens
               Fix: start it
              Next: `widgetctl doctor` shows more

        """)
  }

  @Test(
    arguments: [
      (.running(.serving), 0, "running"), (.running(.notServing), 3, "not-serving"),
      (.notRunning, 3, "not-running"), (.unknown, 4, "unknown"),
    ] as [(StatusReport.State, Int32, String)])
  func `the exit status is that of systemctl`(
    _ state: StatusReport.State, exit: Int32, word: String
  ) {
    #expect(Self.report(state).exitStatus == exit)
    #expect(Self.report(state).word == word)
  }

  @Test(
    arguments: [
      (.notTried, 3), (.failed(.refused), 3), (.failed(.noSuchFile), 3),
      (.failed(.permissionDenied), 4), (.failed(.backlogFull), 4),
      (.mute(.deadlineExceeded(.seconds(1))), 4), (.mute(.connectionLost(socketPath: "/s")), 4),
      (.mute(.protocolViolation("x")), 4),
      (.answered(.init(health: .notServing, level: .unknown)), 3),
      (.answered(.init(health: .serving, level: .nothing)), 0),
    ] as [(Facts.ConnectAttempt, Int32)])
  func `a stopped daemon and an unknown state have different exit statuses`(
    _ connection: Facts.ConnectAttempt, exit: Int32
  ) {
    #expect(Self.report(StatusCommand.state(of: connection), stats: nil).exitStatus == exit)
  }

  @Test func `each counter of problems has a text for people`() {
    #expect(TroubleWords.missing(among: StatusReport.troubleCounters) == [])
    #expect(TroubleWords.text("connections_refused", 2) == "refused connections 2")
    #expect(TroubleWords.text("new_one", 1) == "new_one 1")
  }

  @Test func `the document has the fields of GetStats and more`() throws {
    let text = JSONWriter.compact(Self.report(.running(.serving)).document)
    for part in [
      #""state":"running""#, #""socket":"/s""#, #""level":"owner""#, #""revision":55"#,
      #""nearLimits":[{"maximum":100,"name":"widgets_max","used":81}]"#,
      #""troubles":{"groups_failed":2}"#,
      #""recentErrors":[{"area":"storage","code":"UNAVAILABLE","count":3,"#, #""peerUid":1000,"#,
      #""memoryBytes":20971520"#,
    ] {
      #expect(text.contains(part), "\(part) is not in \(text)")
    }
    var report = Self.report(.unknown, stats: nil)
    report.trouble = .fail("health", "f", mend: "m")
    #expect(
      JSONWriter.compact(report.document)
        == #"{"mend":"m","next":"widgetctl doctor","reason":"f","socket":"/s","state":"unknown"}"#)
  }

  @Test(
    arguments: [
      (79, 100, 79), (799, 1000, 79), (0, 5, 0), (5, 0, 100), (0, 0, 100), (3, 2, 150),
      (.max, 1, .max), (.max, .max, 100), (.max - 1, .max, 99), (1 << 62, 1 << 63, 50),
      (.max, 50, .max),
    ] as [(UInt64, UInt64, Int)])
  func `the share of a limit is computed without overflow`(
    _ used: UInt64, _ maximum: UInt64, percent: Int
  ) {
    let limit = StatusReport.Limit(name: "x_bytes_max", used: used, maximum: maximum)
    #expect(limit.percent == percent)
    #expect(limit.isNear == (percent >= 80))
    #expect(limit.text.hasSuffix(", \(percent) %"))
  }

  @Test func `suggested commands repeat the --socket of the command line`() {
    var report = Self.report(.running(.serving), level: .client, stats: nil)
    (report.next, report.asRoot) = (
      "widgetctl doctor --socket /s", "sudo widgetctl status --socket /s"
    )
    #expect(report.text(Samples.plain).contains("`sudo widgetctl status --socket /s`"))
    report.level = .nothing
    #expect(report.text(Samples.plain).contains("`widgetctl doctor --socket /s` shows why"))
    report.level = .unknown
    #expect(report.text(Samples.plain).contains("see `widgetctl doctor --socket /s`"))
  }

  @Test(arguments: [
    (0, "0 B"), (1_023, "1023 B"), (1_024, "1.0 KiB"), (1_536, "1.5 KiB"), (20 << 20, "20.0 MiB"),
    (3 << 30, "3.0 GiB"), (UInt64.max, "17179869183.9 GiB"),
  ])
  func `byte counts have binary units`(_ bytes: UInt64, text: String) {
    #expect(ByteCount.text(bytes) == text)
  }
}
