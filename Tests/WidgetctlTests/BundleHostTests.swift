import Testing
import WidgetClient
import WidgetModel

@testable import widgetctl

@Suite struct BundleHostTests {
  private func widget(_ data: ValueMap, isStale: Bool = false) throws -> Widget {
    let name = BundleHost.widget
    var widget = Widget(id: try #require(WidgetID(name)), kind: try #require(KindName(name)))
    widget.data = data
    widget.isStale = isStale
    return widget
  }

  @Test func `a running host is known with its folders`() throws {
    let host = BundleHost(
      try widget(["state": .string("running"), "folders": .list([.string("/a"), .string("/b")])]))
    #expect(host == .running(folders: ["/a", "/b"]))
    #expect(host.runs("/b") == true)
    #expect(host.problem(of: "/b") == nil)
    #expect(host.runs("/c") == false)
    #expect(host.problem(of: "/c")?.contains("widgetd-host runs /a, /b") == true)
  }

  @Test func `a bundle changes nothing only if a running host runs other folders`() {
    let words = BundleHost.running(folders: ["/a"]).absence(from: "/c")
    #expect(words?.hasPrefix("no host runs the folder /c: widgetd-host runs /a;") == true)
    let none = BundleHost.running(folders: []).absence(from: "/c")
    #expect(
      none
        == "widgetd-host runs no folder of bundles; start it with `widgetd-host --bundles /c`")
    for host: BundleHost in [
      .running(folders: ["/a", "/c"]), .running(folders: [], problem: BundleHost.unreported),
      .returning(folders: ["/a"]), .missing(former: ["/a"]), .unknown,
    ] {
      #expect(host.absence(from: "/c") == nil, "\(host)")
    }
  }

  @Test func `a problem of another folder does not hide that the host runs another copy`() {
    let host = BundleHost.running(folders: ["/a", "/b"], problem: "/x does not exist")
    #expect(
      host.warnings(changing: "/b", "runs from /a") == [
        "widgetd-host: /x does not exist", "runs from /a",
      ])
    #expect(BundleHost.running(folders: ["/a", "/b"]).warnings(changing: "/b", nil).isEmpty)
    let elsewhere = BundleHost.running(folders: ["/a"]).warnings(changing: "/c", "runs from /a")
    #expect(elsewhere.count == 1)
    #expect(elsewhere.first?.hasPrefix("no host runs the folder /c") == true)
  }

  @Test func `a folder that an installation has made is not called missing`() {
    let host = BundleHost.running(
      folders: ["/a", "/b"], problem: "/a does not exist; make it\n/b does not exist; make it")
    #expect(host.warnings(changing: "/a", nil) == ["widgetd-host: /b does not exist; make it"])
    #expect(host.problem(of: "/a")?.contains("/a does not exist") == true)
    let one = BundleHost.running(folders: ["/a"], problem: "/a does not exist; make it")
    #expect(one.warnings(changing: "/a", nil).isEmpty)
  }

  @Test func `a removal from a folder that the host does not run names the host's folder`() {
    func words(_ host: BundleHost) -> String? { host.warning(removing: ["desk"], from: "/c") }
    #expect(
      words(.running(folders: ["/a"]))
        == "no host runs the folder /c, so the removal changes nothing in the daemon; widgetd-host "
        + "runs /a: add --dir /a, or --remote")
    let named = BundleHost.running(folders: ["/a"])
      .warning(removing: ["desk"], from: "/c", isNamed: true)
    #expect(named?.hasSuffix("widgetd-host runs /a: use --dir /a instead") == true)
    #expect(words(.running(folders: ["/a", "/c"])) == nil)
    #expect(words(.missing(former: ["/a"])) == nil && words(.unknown) == nil)
  }

  @Test func `a folder that does not exist yet has the same path in all spellings`() {
    let path = "/nonexistent/all/bundles"
    for spelling in [path, path + "/", "//nonexistent/all//bundles"] {
      #expect(BundleHost.resolved(spelling) == path)
    }
    #expect(BundleHost.resolved("nonexistent-bundles").hasPrefix("/"))
    #expect(BundleHost.resolved("nonexistent-bundles").hasSuffix("/nonexistent-bundles"))
  }

  @Test func `a connected host without its widget runs, and nothing else is known`() {
    let host = BundleHost.running(folders: [], problem: BundleHost.unreported)
    #expect(host.runs("/a") == nil && !host.isMissing && host.mend == nil)
    #expect(host.problem(of: "/a")?.hasPrefix("widgetd-host runs, but it could not report") == true)
    #expect(host.nothing(in: "/a") == "no bundles in /a\n")
  }

  @Test func `a widget of a user that hides the host is named with its owner`() throws {
    let id = try #require(WidgetID(BundleHost.widget))
    var hiding = Widget(id: id, kind: try #require(KindName("note")), ownerUID: 4_000_000_000)
    let problem = try #require(BundleHost.hiddenProblem(by: hiding))
    #expect(
      problem == "it cannot report its folders and bundles: the widget \"widgetd-host\" already"
        + " exists and was created by user 4000000000; remove that widget with its data"
        + " (`widgetctl rm widgetd-host`)")
    let host = BundleHost.running(folders: [], problem: problem)
    #expect(host.runs("/a") == nil && host.problem(of: "/a") == "widgetd-host runs, but \(problem)")
    hiding.applySet = "desk"
    #expect(BundleHost.hiddenProblem(by: hiding)?.contains("belongs to the set desk") == true)
    #expect(BundleHost.hiddenProblem(by: try widget([:])) == nil)
  }

  @Test func `a host that cannot read its folder is reported`() throws {
    let host = BundleHost(
      try widget([
        "state": .string("running"), "folders": .list([.string("/a")]),
        "problem": .string("/a does not exist"),
      ]))
    #expect(host.problem(of: "/a") == "widgetd-host: /a does not exist")
  }

  @Test func `a host that runs with --stub is reported`() throws {
    let host = BundleHost(
      try widget([
        "state": .string("running"), "folders": .list([.string("/a")]), "stub": .bool(true),
      ]))
    #expect(host == .running(folders: ["/a"], stub: true))
    #expect(host.words == "/a with --stub")
    #expect(host.problem(of: "/a")?.hasPrefix("widgetd-host runs /a with --stub") == true)
  }

  @Test func `a disconnected or ended host runs no bundle`() throws {
    let folders: Value = .list([.string("/a")])
    let away = BundleHost(
      try widget(["state": .string("running"), "folders": folders], isStale: true))
    let ended = BundleHost(try widget(["state": .string("stopped"), "folders": folders]))
    #expect([away, ended] == [.missing(former: ["/a"]), .missing(former: ["/a"])])
    #expect(away.problem(of: "/a")?.contains("widgetd-host is not running") == true)
  }

  @Test(
    arguments: [
      (true, "/usr/lib/systemd/system/widgetd-host.service", "systemctl start widgetd-host"),
      (false, "/usr/lib/systemd/user/widgetd-host.service", "systemctl --user start widgetd-host"),
      (
        false, "/h/.config/systemd/user/widgetd-host.service", "systemctl --user start widgetd-host"
      ),
      (false, "/usr/lib/systemd/system/widgetd-host.service", "widgetd-host --bundles '/a b'"),
      (true, "/usr/lib/systemd/user/widgetd-host.service", "widgetd-host --bundles '/a b'"),
    ])
  func `a unit is advised only where systemd has it`(isRoot: Bool, unit: String, command: String) {
    let variables = ["HOME": "/h"]
    let start = HostStart(isRoot: isRoot, environment: { variables[$0] }) {
      $0 == "/run/systemd/system" || $0 == unit
    }
    #expect(start.command(["/a b"]) == command)
    // A container has the packages' units, but no systemd.
    let contained = HostStart(isRoot: isRoot, environment: { variables[$0] }) { $0 == unit }
    #expect(contained.command() == "widgetd-host")
  }

  /// A host with one folder would stop the bundles of the other folders.
  @Test func `the advised start of a host has all folders of the last one`() {
    func words(_ folder: String, _ former: [String], hasUnit: Bool = false) -> String {
      HostStart(isRoot: true, environment: { _ in nil }, exists: { _ in hasUnit })
        .words(for: folder, former: former)
    }
    let all = "`widgetd-host --bundles /a --bundles /b`"
    #expect(words("/a", ["/a", "/b"]) == all && words("/b", ["/a"]) == all)
    #expect(words("/a", []) == "`widgetd-host --bundles /a`")
    let unit = "`systemctl start widgetd-host`"
    #expect(words("/a", ["/a", "/b"], hasUnit: true) == unit)
    #expect(words("/b", ["/a"], hasUnit: true) == "\(unit) or \(all)")
    #expect(
      BundleHost.running(folders: ["/a"]).problem(of: "/b")
        == "no host runs the folder /b: widgetd-host runs /a; install with --dir /a, or restart "
        + "widgetd-host with `--bundles /a --bundles /b`")
    let start = HostStart.ofProcess.command(["/a", "/b"])
    #expect(BundleHost.notConnected(former: ["/a", "/b"]).hasSuffix("start it with `\(start)`"))
  }

  @Test func `a bundle whose host was killed is stopped`() throws {
    let data: ValueMap = [
      "id": .string("clock"), "version": .string("1.0.0"), "state": .string("running"),
      "problem": .string(""), "widgets": .int(2),
    ]
    let runs = BundleStanding(try widget(data))
    #expect((runs.text, runs.isBad) == ("running", false))
    #expect((runs.version, runs.widgetCount) == ("1.0.0", 2))
    let elsewhere = BundleStanding(try widget(["state": .string("stopped")]))
    #expect(elsewhere.isElsewhere && elsewhere.isBad && !elsewhere.hasFailed)
    let killed = BundleStanding(try widget(data, isStale: true))
    #expect((killed.text, killed.isBad) == ("stopped: widgetd-host is not running", true))
  }

  @Test func `after a restart of the daemon, a host and its bundles are waiting`() throws {
    let folders: Value = .list([.string("/a")])
    let running: ValueMap = ["state": .string("running"), "folders": folders]
    let host = BundleHost(try widget(running), .away)
    #expect(host == .returning(folders: ["/a"]))
    #expect(host.runs("/a") == nil)
    #expect(
      host.problem(of: "/a")?.hasPrefix(
        "the daemon has restarted, and widgetd-host has not returned yet; it ran /a; ") == true)
    let stale = BundleHost(try widget(running, isStale: true), .away)
    #expect(stale == .missing(former: ["/a"]))
    for state in ["running", "failing", "failed"] {
      let standing = BundleStanding(try widget(["state": .string(state)]), .away)
      #expect(
        standing.text
          == "waiting: the daemon has restarted, and widgetd-host has not returned yet")
      #expect(standing.isBad)
    }
    let ended = BundleStanding(try widget(["state": .string("stopped")]), .away)
    #expect(ended.state == "stopped")
  }

  @Test func `a stopped process of another user is continued as root`() {
    let silence = ProviderSilence(since: .epoch, pid: 42)
    let other = SilentProcess(silence, isStopped: true, isOfOther: true)
    #expect(other.mend == "sudo kill -CONT 42")
    #expect(SilentProcess(silence, isStopped: true).mend == "kill -CONT 42")
    #expect(SilentProcess(silence, isStopped: false, isOfOther: true).mend == nil)
  }

  @Test(arguments: [false, true])
  func `a host that runs and does not answer has not ended`(isStopped: Bool) throws {
    let process = SilentProcess(
      ProviderSilence(since: .epoch, pid: 42), isStopped: isStopped)
    let running: ValueMap = ["state": .string("running"), "folders": .list([.string("/a")])]
    let host = BundleHost(try widget(running, isStale: true), .silent(process))
    #expect(host == .silent(process, folders: ["/a"]))
    #expect(host.runs("/a") == nil)
    let words =
      "widgetd-host (process 42) has not answered since 1970-01-01T00:00:00Z: "
      + (isStopped
        ? "it is stopped by a signal; continue it with `kill -CONT 42`" : "it hangs; restart it")
    #expect(host.problem(of: "/a") == words)
    #expect(BundleRemote.waiting(for: host) == "\(words); waiting for it")
    let standing = BundleStanding(
      try widget(["state": .string("running")], isStale: true), .silent(process))
    #expect(standing.text == "no answer: \(words)" && standing.isBad)
    let ended = BundleStanding(
      try widget(["state": .string("stopped")], isStale: true), .silent(process))
    #expect(ended.state == "stopped")
  }

  @Test func `a command that waits for a host says so only if a host can answer`() {
    #expect(
      BundleRemote.waiting(for: .running(folders: ["/a"]))
        == "widgetd-host has not answered yet; waiting for it")
    for host in [BundleHost.returning(folders: ["/a"]), .missing(former: ["/a"]), .unknown] {
      #expect(BundleRemote.waiting(for: host) == nil)
    }
  }

  @Test func `a bundle whose daemon cannot store changes is failing`() throws {
    let trouble = StoreTrouble(StoreFailure(message: "/db: no space left", since: .epoch))
    let words = "widgetd cannot store changes since 1970-01-01T00:00:00Z: /db: no space left"
    let running = BundleStanding(try widget(["state": .string("running")]), store: trouble)
    #expect(running.text == "failing: \(words)" && running.isFailing && !running.hasFailed)
    let failing = BundleStanding(
      try widget(["state": .string("failing"), "problem": .string("x")]), store: trouble)
    #expect(failing.text == "failing: \(words) (and 1 more)")
    let failed = BundleStanding(
      try widget(["state": .string("failed"), "problem": .string("x")]), store: trouble)
    #expect(failed.text == "failed: x" && failed.hasFailed && !failed.isFailing)
  }

  @Test(arguments: [
    ("/b/clock", "widgetctl bundle rm clock"), (nil, "widgetctl bundle rm clock"),
    ("/my widgets/clock", "widgetctl bundle rm clock --dir '/my widgets'"),
    ("/b/My_Folder", "widgetctl bundle rm My_Folder"), ("/b/odd", "widgetctl bundle rm clock"),
  ])
  func `the command that removes a bundle has the folder of its host`(
    path: String?, command: String
  ) {
    #expect(BundleStanding.removal(of: "clock", at: path, usual: "/b") == command)
  }

  @Test func `a value of a bundle's widget that is set aside is reported`() {
    var widget = Samples.widget
    let field = FieldOwner(path: "data.n", owner: "earlier change", declared: .int(42))
    widget.applySet = "bundle/top"
    #expect(
      BundleStanding.asideText(field, of: widget)
        == "bundle top: widget clock: the value 42 of data.n, set by an earlier change, is set "
        + "aside, because it does not fit the kind; the value comes back when it fits; "
        + "`widgetctl set clock --release data.n` discards the value")
    #expect(
      BundleStanding.asideText(FieldOwner(path: "data.n", owner: "bundle/top"), of: widget) == nil)
    widget.applySet = "mine"
    #expect(BundleStanding.asideText(field, of: widget) == nil)
  }

  @Test func `notes about fields are only about the listed bundles`() {
    var widget = Samples.widget
    widget.data["n"] = .int(1)
    widget.applySet = "bundle/top"
    let tagged = TaggedWidget(
      widget: widget,
      owners: [
        FieldOwner(
          path: "data.n", owner: "earlier change", manager: "bundle/top", declared: .int(2)),
        FieldOwner(path: "data.m", owner: "earlier change", declared: .int(42)),
      ])
    #expect(BundleStanding.keptFields(in: [tagged], of: ["top", "side"]).count == 1)
    #expect(BundleStanding.keptFields(in: [tagged], of: ["side"]) == [])
    func notes(declared: Set<WidgetID>) -> [String] {
      BundleStanding.keptFields(in: [tagged], of: ["top"], declaring: ["top": declared])
    }
    #expect(notes(declared: [widget.id]).count == 1 && notes(declared: []) == [])
  }

  @Test func `a field that has the set value already is reported if it follows a set`() {
    func text(_ owner: FieldOwner...) -> String? { SetCommand.owned("data.n", owners: owner) }
    #expect(
      text(FieldOwner(path: "data.n", owner: "bundle/top"))
        == "  data.n has this value already, so it still follows bundle top; to own it, set another "
        + "value")
    #expect(text() == nil && text(FieldOwner(path: "data.m", owner: "bundle/top")) == nil)
    for owner in ["user 1000", "provider bundle/top"] {
      #expect(text(FieldOwner(path: "data.n", owner: owner, manager: "bundle/top")) == nil)
    }
  }

  @Test func `a released field is reported with its value and the set that it follows`() {
    var widget = Samples.widget
    widget.data["n"] = .int(5)
    #expect(
      SetCommand.released(
        "data.n", in: widget, owners: [FieldOwner(path: "data.n", owner: "bundle/top")])
        == "  data.n is 5; it follows bundle top")
    #expect(
      SetCommand.released("labels.panel", in: widget, owners: [])
        == "  labels.panel is \"top\"; no bundle and no set declares it, so it has no owner")
  }

  @Test func `an unset of a missing key is reported`() {
    let data: ValueMap = ["percent": .int(1), "text": .string("")]
    #expect(SetCommand.absent(["text"], data, "data value") == [])
    #expect(
      SetCommand.absent(["percnt"], data, "data value")
        == ["data value \"percnt\"; did you mean \"percent\"?"])
  }

  @Test(arguments: [
    ("", "no bundle and no set declares"), ("bundle/top", "bundle top declares no data"),
    ("mine", "the set \"mine\" was applied without --own"),
  ])
  func `the message without owners says why`(set: String, words: String) {
    #expect(GetCommand.noOwners(of: Samples.id("clock"), in: set).contains(words))
  }

  @Test func `the message for an empty folder names the host's folders`() {
    let host = BundleHost.running(folders: ["/a", "/b c"])
    #expect(
      host.nothing(in: "/x") == """
        no bundles in /x; widgetd-host runs /a, /b c:
          widgetctl bundle ls --dir /a
          widgetctl bundle ls --dir '/b c'

        """)
    for host in [host, .missing(), .unknown] {
      #expect(host.nothing(in: "/a") == "no bundles in /a\n")
      #expect(host.folder(insteadOf: "/a") == nil)
    }
    #expect(host.folder(insteadOf: "/x") == "/a")
    #expect(BundleHost.missing(former: ["/c"]).folder(insteadOf: "/x") == "/c")
  }

  @Test func `a list of the host's folders names no single folder`() {
    #expect(
      BundleListCommand.otherFolders(than: "/usual")
        == "there are no bundles in /usual; the list shows the folders of widgetd-host")
  }

  @Test(
    arguments: [
      (
        true, true, BundleHost.running(folders: []),
        "it is stored; widgetd-host continues it: `widgetctl get w --field data.status` shows its state"
      ),
      (
        true, false, .running(folders: []),
        "it is stored; widgetd-host runs, but not its bundle: `widgetctl bundle ls` shows why"
      ),
      (
        false, true, .missing(),
        "its kind stores no events; no widgetd-host runs; the host loses the event"
      ),
      (
        true, true, .missing(),
        "it is stored; no widgetd-host runs; a host that starts handles the event"
      ),
      (
        true, true, .returning(folders: []),
        "it is stored; the daemon has restarted, and widgetd-host has not returned yet; it continues "
          + "the event when it returns"
      ),
      (
        nil, nil, .unknown,
        "the daemon has taken it; the daemon does not answer: "
          + "run `widgetctl doctor`"
      ),
      (
        nil, nil, .missing(),
        "the daemon has taken it; no widgetd-host runs; a host that starts handles "
          + "the event"
      ),
    ] as [(Bool?, Bool?, BundleHost, String)])
  func `the timeout message says whether the event is stored`(
    isStored: Bool?, isProvided: Bool?, host: BundleHost, end: String
  ) throws {
    let words = OutcomeWait.words(
      event: 7, of: try #require(WidgetID("w")), within: "1s", isStored: isStored,
      isProvided: isProvided, host: host)
    #expect(words.hasPrefix("event 7 has not ended within 1s; \(end)"))
  }

  @Test(
    arguments: [
      (true, false, true), (false, true, false), (nil, true, true), (nil, false, false),
    ] as [(Bool?, Bool, Bool)])
  func `the bundle, not its stale widget, says whether the program of an event runs`(
    told: Bool?, isConnected: Bool, runs: Bool
  ) {
    var kind = RegisteredKind(
      kind: Kind(name: Samples.kind("k")), provider: "bundle/feed", isAttended: true)
    kind.isProviderConnected = isConnected
    let bundle = told.map { told in
      LiveSamples.widget("bundle/feed") { $0.data = ["runs": .bool(told)] }
    }
    #expect(OutcomeWait.runs(kind, bundle) == runs)
    kind.isAttended = false
    #expect(OutcomeWait.runs(kind, bundle) == told)
  }

  @Test(
    arguments: [
      (.running(folders: ["/a"]), "widgetd-host runs; `widgetctl get w --field data.status`"),
      (.returning(folders: []), BundleHost.waiting), (.missing(), "no widgetd-host runs: `"),
      (.unknown, "run `widgetctl doctor`"),
    ] as [(BundleHost, String)])
  func `send --wait says what it waits for`(host: BundleHost, words: String) {
    let text = OutcomeWait.waiting(event: 7, of: Samples.id("w"), host: host)
    #expect(text.hasPrefix("still waiting for the outcome of event 7; "))
    #expect(text.contains(words))
  }

  @Test func `without a host, data that reducers have set is not called pending`() throws {
    let kind = Kind(
      name: Samples.kind("k"),
      reducers: [Reducer(event: "press", nodeID: "plus", assignments: ["n": "data.n + 1"])])
    func reduces(_ name: String, _ node: String) -> Bool {
      kind.reduces(SendEventRequest(widgetID: Samples.id("w"), nodeID: node, name: name))
    }
    #expect(reduces("press", "plus"))
    #expect(!reduces("press", "minus") && !reduces("hold", "plus"))
    let words = OutcomeWait.words(
      event: 7, of: Samples.id("w"), within: "1s", isStored: true, isReduced: true,
      isProvided: false, host: .missing())
    #expect(words.hasPrefix("the daemon has changed the data (event 7, "))
    #expect(words.contains("no widgetd-host runs"))
  }

  @Test func `a host that does not answer is not called the daemon`() {
    let process = SilentProcess(ProviderSilence(since: .epoch, pid: 42), isStopped: true)
    func words(_ host: BundleHost) -> String? {
      BundleRemote.slowness(host, after: .seconds(4), mayBeMade: true)
    }
    let running = words(.running(folders: ["/a"]))
    #expect(
      running?.hasPrefix("the daemon answers, but widgetd-host did not answer within") == true)
    #expect(running?.hasSuffix(". The change may still be made") == true)
    #expect(words(.silent(process, folders: []))?.contains("`kill -CONT 42`") == true)
    #expect(words(.unknown) == nil)
  }

  @Test func `a refresh of a silent provider's widgets names its process`() throws {
    let silence = ProviderSilence(since: .epoch, pid: 42)
    var kind = RegisteredKind(kind: Kind(name: Samples.kind("k")), provider: "feed")
    (kind.isAttended, kind.providerSilence) = (true, silence)
    let refusal = try #require(
      RefreshCommand.silence(of: [Samples.kind("k")], among: [kind]))
    #expect(refusal.exit == .refused)
    #expect(refusal.message.contains("the provider \"feed\" (process 42) has not answered since"))
    #expect(RefreshCommand.silence(of: [Samples.kind("other")], among: [kind]) == nil)
  }
}
