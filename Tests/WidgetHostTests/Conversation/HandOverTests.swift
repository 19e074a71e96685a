import Testing
import WidgetBundle
import WidgetClient
import WidgetModel

@testable import WidgetHost

/// Hosts whose bundle gets another id, and the naive daemon. Nothing that users have set is lost in
/// silence.
struct HandOverTests {
  var daemon = NaiveDaemon()
  var machine = HostMachine(home: "/home/me", uid: 0, seed: 1)
  var now = Duration.zero
  var digest: UInt64 = 0
  var kept: [String] = []
  var reports: [String] = []
  var notes: [String] = []
  var confirmations = 0
  /// Whether the daemon has no room for the sessions that begin.
  var isWithoutRoom = false
  /// Whether the daemon asks for the data of all widgets when a session begins.
  var asksForData = false
  /// Whether the answers to declarations of bundles are lost.
  var losesDeclarations = false
  /// The questions about all widgets.
  var lists = 0
  /// The changes of widgets, in order.
  var updates: [(id: WidgetID, patch: WidgetPatch)] = []
  /// The kinds of each watch.
  var watches: [WatchID: [KindName]] = [:]
  /// The last session of each provider.
  var sessions: [String: SessionID] = [:]
  var requests: [SessionID: SessionRequest] = [:]
  var hostSession: SessionID? { sessions[HostState.provider] }
  let limit = HostLimits().absenceMax

  var time: HostTime { HostTime(wall: Timestamp.epoch.advanced(by: now), uptime: now) }

  func read(_ id: String, _ widgets: String, kinds: [String]) throws -> Bundle {
    let kinds = kinds.map { "\($0): {data: {n: ''}, content: {label: x}}" }.joined(separator: ", ")
    return try BundleReader.read(
      "{bundle: \(id), format: 1, version: 1.0.0, kinds: {\(kinds)}, widgets: {\(widgets)}}")
  }

  /// Carries out everything, until nothing is left to do.
  mutating func run(_ outputs: [HostMachine.Output]) {
    var queue = outputs
    var count = 0
    while !queue.isEmpty {
      count += 1
      guard count < 20_000 else {
        Issue.record("the host does not come to rest")
        return
      }
      var input: DaemonInput?
      switch queue.removeFirst() {
      case .daemon(.open(let id, let request)):
        sessions[request.provider] = id
        requests[id] = request
        guard !isWithoutRoom else {
          queue += machine.handle(.session(id, .refused("no room")), at: time)
          continue
        }
        let failure = daemon.register(request.kinds.map(\.name), of: request.provider)
        input = .session(id, .opened(epoch: 1))
        if let failure { input = .sessionEnded(id, failure) }
      case .daemon(.watch(let id, let kinds)):
        watches[id] = kinds
        input = .watch(id, .snapshot(daemon.shown(of: kinds)))
      case .daemon(.call(let id, .declareKinds(let session))):
        var result = Result<DaemonAnswer, Failure>.success(.done)
        if let request = requests[session],
          let failure = daemon.register(request.kinds.map(\.name), of: request.provider)
        {
          result = .failure(failure)
        }
        input = .answered(id, result)
      case .daemon(.call(let id, .folders(let bundles))):
        let absences = Dictionary(bundles.map { ($0.path, HostState.Absence.missing) }) { $1 }
        input = .answered(id, .success(.absences(absences)))
      case .daemon(.call(let id, let call)):
        if case .errors = call { lists += 1 }
        if case .update(let id, let patch, _, _) = call { updates.append((id, patch)) }
        let answer = daemon.isUp ? daemon.answer(call) : .failure(ConversationSimulation.lost)
        input = .answered(id, isLost(call) ? .failure(ConversationSimulation.lost) : answer)
      case .kept(let field, let bundle): kept.append(field.message(by: bundle))
      case .daemon(.endWatch(let id)): watches[id] = nil
      case .report(let text): reports.append(text)
      case .note(let text): notes.append(text)
      case .removalsConfirmed: confirmations += 1
      default: break
      }
      if let input { queue += machine.handle(input, at: time) }
      if case .session(let id, .opened)? = input, asksForData { queue += ask(id) }
    }
  }

  /// The file of the folder changes, and the host reads it.
  mutating func edit(
    _ id: String, _ widgets: String, kinds: [String] = ["k"], isInstalled: Bool = false,
    in path: String = "/b/x"
  ) throws {
    digest += 1
    let bundle = try read(id, widgets, kinds: kinds)
    let found: HostState.Found =
      isInstalled ? .installed(bundle, digest: digest) : .bundle(bundle, digest: digest)
    run(machine.found(found, in: path, at: time))
  }

  /// Another host begins. The former one was killed.
  mutating func restart(_ prepare: (inout HandOverTests) throws -> Void) rethrows {
    machine = HostMachine(home: "/home/me", uid: 0, seed: 1)
    try prepare(&self)
    run(machine.start(at: time))
  }

  mutating func pass(_ duration: Duration) {
    let end = now + duration
    while let deadline = machine.nextDeadline, deadline <= end {
      now = max(now, deadline)
      run(machine.tick(at: time))
    }
    now = end
  }

  /// Bundle `a` runs, and a user has set a value on each of these widgets.
  mutating func begin(
    _ widgets: String, kinds: [String] = ["k"], valued: [String] = ["w"]
  ) throws {
    try edit("a", widgets, kinds: kinds)
    run(machine.start(at: time))
    for id in valued { daemon.setValue(of: try #require(WidgetID(id))) }
  }

  /// The daemon ends. Calls fail until it is back.
  mutating func loseDaemon() throws {
    daemon.isUp = false
    let host = try #require(hostSession)
    run(machine.handle(.session(host, .lost("gone")), at: time))
  }

  /// The daemon is back with its widgets. The sessions of the host and of these bundles open again.
  mutating func regainDaemon(_ bundles: String...) throws {
    daemon.isUp = true
    for provider in [HostState.provider] + bundles.map(HostState.provider(of:)) {
      let session = try #require(sessions[provider])
      run(machine.handle(.session(session, .opened(epoch: 2)), at: time))
    }
  }

  func widget(_ id: String) -> Widget? {
    WidgetID(id).flatMap { id in daemon.sortedWidgets.first { $0.id == id } }
  }

  /// `bundle/b fresh a user's`: the set, the state and the value of a widget.
  func state(_ id: String) -> String? {
    widget(id).map { widget in
      var value = ""
      if case .string(let text)? = widget.data["n"] { value = text }
      return "\(widget.applySet) \(widget.isStale ? "stale" : "fresh") \(value)"
    }
  }

  /// Makes the daemon refuse bundles with the kind `taken`.
  mutating func takeKind() throws {
    daemon.kinds[try #require(KindName("taken"))] = "stranger"
  }

  mutating func giveKind() throws { daemon.removeKinds([try #require(KindName("taken"))]) }

  // MARK: Chains

  @Test mutating func `an id that changes twice before the first heir declares loses nothing`()
    throws
  {
    try begin("w: {kind: k}")
    try takeKind()
    try edit("b", "w: {kind: k}", kinds: ["k", "taken"])
    #expect(state("w") == "bundle/a fresh a user's")
    try edit("c", "w: {kind: k}")
    #expect(state("w") == "bundle/c fresh a user's")
    #expect(daemon.lost.isEmpty && kept.isEmpty)
    #expect(!daemon.sortedWidgets.contains { ["bundle/a", "bundle/b"].contains($0.id.rawValue) })
  }

  @Test mutating func `the first id that comes back before its heirs declare has its widgets`()
    throws
  {
    try begin("w: {kind: k}, v: {kind: k}", valued: ["w", "v"])
    try takeKind()
    try edit("b", "w: {kind: k}", kinds: ["k", "taken"])
    try edit("c", "v: {kind: k}", kinds: ["k", "taken"])
    try edit("a", "w: {kind: k}, v: {kind: k}")
    pass(limit * 2)
    #expect(state("w") == "bundle/a fresh a user's" && state("v") == "bundle/a fresh a user's")
    #expect(daemon.lost.isEmpty)
    #expect(daemon.kinds.values.filter { $0.hasPrefix("bundle/") } == ["bundle/a"])
  }

  @Test mutating func `a host that restarts while the heir is refused keeps the values for it`()
    throws
  {
    try begin("w: {kind: k}")
    try takeKind()
    try edit("b", "w: {kind: k}", kinds: ["k", "taken"])
    for _ in 0..<2 {
      try restart { try $0.edit("b", "w: {kind: k}", kinds: ["k", "taken"]) }
      pass(limit * 2)
      #expect(state("w") == "bundle/a fresh a user's")
    }
    try giveKind()
    pass(limit)
    #expect(state("w") == "bundle/b fresh a user's")
    #expect(daemon.lost.isEmpty && widget("bundle/a") == nil)
  }

  @Test mutating func `so does a host whose heir's id has changed once more`() throws {
    try begin("w: {kind: k}")
    try takeKind()
    try edit("b", "w: {kind: k}", kinds: ["k", "taken"])
    try restart { try $0.edit("c", "w: {kind: k}") }
    #expect(state("w") == "bundle/c fresh a user's" && daemon.lost.isEmpty)
  }

  @Test mutating func `a second folder with the heir's id does not hide the former id`() throws {
    func text(_ key: String) -> String {
      if case .string(let text)? = widget("bundle/b")?.data[key] { text } else { "" }
    }
    func editA(in tests: inout HandOverTests, _ path: String) throws {
      try tests.edit("a", "w: {kind: k}", kinds: ["taken"], in: path)
    }
    try takeKind()
    try edit("b", "w: {kind: k}", in: "/b/b")
    try editA(in: &self, "/b/x")
    run(machine.start(at: time))
    daemon.setValue(of: try #require(WidgetID("w")))
    try editA(in: &self, "/b/b")
    let problem = "bundle a is in /b/x, too, and the host uses that one; remove /b/b, or change"
    let heir = "bundle a takes over its kinds and widgets"
    for isRestarted in [false, true] {
      if isRestarted { try restart { for path in ["/b/x", "/b/b"] { try editA(in: &$0, path) } } }
      pass(limit * 2)
      #expect(state("w") == "bundle/b fresh a user's")
      #expect(text("state") == "stopped" && text("heir") == "a")
      #expect(widget("bundle/b")?.data["runs"] == .bool(false))
      #expect(text("problem").hasPrefix("\(heir)\n\(problem)"))
    }
    try giveKind()
    pass(limit)
    #expect(state("w") == "bundle/a fresh a user's" && daemon.lost.isEmpty)
    // The folder is shown under its name.
    #expect(text("state") == "failed" && text("heir") == "" && text("problem").hasPrefix(problem))
  }

  @Test(arguments: [true, false])
  mutating func `an id that changes while no host runs hands over`(isBroken: Bool) throws {
    try begin("w: {kind: k}, v: {kind: k}", valued: ["w", "v"])
    try restart {
      guard isBroken else { return try $0.edit("b", "w: {kind: k}") }
      $0.run(
        $0.machine.found(.broken(problem: "wrong", digest: 99), in: "/b/x", at: $0.time))
    }
    if isBroken {
      pass(limit * 2)
      #expect(state("w") == "bundle/a stale a user's")
      try edit("b", "w: {kind: k}")
    }
    #expect(widget("w")?.applySet == "bundle/b")
    #expect(state("v") == "bundle/a stale a user's")
    pass(limit)
    #expect(widget("v") == nil)
    #expect(kept.count == 1 && kept[0].contains("bundle b: widget v is removed"))
  }

  @Test mutating func `an id and a folder that change while no host runs hand over`() throws {
    try begin("w: {kind: k}")
    try restart { try $0.edit("b", "w: {kind: k}", in: "/b/y") }
    pass(.seconds(2))
    #expect(widget("w")?.applySet == "bundle/b" && widget("w")?.data["n"] == .string("a user's"))
    pass(limit * 2)
    #expect(widget("w")?.applySet == "bundle/b" && daemon.lost.isEmpty)
    #expect(widget("bundle/a") == nil)
  }

  // MARK: Widgets that the heir lacks

  @Test mutating func `widgets that the bundle with the new id lacks stay for a while`() throws {
    try begin("w: {kind: k}, v: {kind: k}, u: {kind: k}", valued: ["w", "v"])
    try edit("b", "w: {kind: k}")
    #expect(state("w") == "bundle/b fresh a user's")
    #expect(state("v") == "bundle/a stale a user's")
    #expect(widget("u") == nil, "nobody has set a value on it")
    let words = try #require(widget("v")?.error?.message)
    #expect(words.contains("bundle b no longer has this widget, which bundle a had"))
    #expect(words.contains("undo that by 1970-01-01T00:00:30Z") && words.contains("data.n"))
    #expect(reports.contains { $0.contains(words) })
    #expect(widget("bundle/a")?.data["state"] == .string("stopped"))
    pass(limit - .milliseconds(1))
    #expect(widget("v") != nil && daemon.lost.isEmpty)
    pass(.milliseconds(1))
    #expect(widget("v") == nil && widget("bundle/a") == nil && machine.nextDeadline == nil)
    try #require(kept.count == 1)
    #expect(kept[0].contains("bundle b: widget v is removed, and with it the value of data.n"))
    #expect(widget("bundle/b")?.data["remarks"] != .list([]))
  }

  @Test(arguments: ["a", "b", "c"])
  mutating func `they are fresh again if a file has them in time`(id: String) throws {
    try begin("w: {kind: k}, v: {kind: k}", valued: ["w", "v"])
    try edit("b", "w: {kind: k}")
    pass(limit / 2)
    try edit(id, "w: {kind: k}, v: {kind: k}")
    for widget in ["w", "v"] { #expect(state(widget) == "bundle/\(id) fresh a user's") }
    pass(limit * 2)
    for widget in ["w", "v"] { #expect(state(widget) == "bundle/\(id) fresh a user's") }
    #expect(daemon.lost.isEmpty && machine.nextDeadline == nil)
  }

  @Test mutating func `their time goes on if the id changes again`() throws {
    try begin("w: {kind: k}, v: {kind: k}", valued: ["w", "v"])
    try edit("b", "w: {kind: k}")
    pass(limit / 2)
    try edit("c", "w: {kind: k}")
    pass(limit / 2 - .milliseconds(1))
    #expect(state("v") == "bundle/a stale a user's")
    pass(.milliseconds(1))
    #expect(widget("v") == nil && kept.count == 1)
  }

  @Test mutating func `a bundle that has nothing of the former one leaves its widgets for a while`()
    throws
  {
    try begin("w: {kind: k}")
    try edit("b", "v: {kind: j}", kinds: ["j"])
    #expect(state("w") == "bundle/a stale a user's" && state("v") != nil)
    var other = self
    try other.edit("a", "w: {kind: k}")
    #expect(other.state("w") == "bundle/a fresh a user's" && other.widget("v") == nil)
    pass(limit)
    #expect(widget("w") == nil && kept.count == 1)
  }

  @Test mutating func `a widget to which the heir gives another kind stays for a while`() throws {
    try begin("w: {kind: k}")
    try edit("b", "w: {kind: j}", kinds: ["j"])
    #expect(state("w") == "bundle/a stale a user's")
    #expect(widget("w")?.error?.message.contains("gives this widget another kind") == true)
    pass(limit)
    #expect(state("w") == "bundle/b fresh " && widget("w")?.kind.rawValue == "j")
    #expect(kept.count == 1 && machine.nextDeadline == nil)
  }

  @Test mutating func `widgets of kinds that the bundle does not have count`() throws {
    try begin("w: {kind: note}")
    try edit("b", "v: {kind: k}")
    #expect(state("w") == "bundle/a stale a user's")
    try edit("b", "v: {kind: k}, w: {kind: note}")
    #expect(state("w") == "bundle/b fresh a user's")
  }

  @Test mutating func `so does a widget of such a kind that an earlier host made stale`() throws {
    try begin("w: {kind: note}, v: {kind: k}")
    try edit("a", "v: {kind: k}")
    #expect(state("w") == "bundle/a stale a user's")
    try restart { try $0.edit("a", "v: {kind: k}") }
    // A further declaration does not forget it.
    let gone = try #require(WidgetID("v"))
    daemon.remove(gone)
    let watch = try #require(machine.daemon.links.all.compactMap(\.watch).first)
    run(machine.handle(.watch(watch, .removed(gone)), at: time))
    pass(.seconds(1))
    #expect(state("v") != nil && state("w") == "bundle/a stale a user's")
    try restart { try $0.edit("a", "v: {kind: k}, w: {kind: note}") }
    #expect(state("w") == "bundle/a fresh a user's")
  }

  @Test mutating func `an installed bundle takes over, and names the values that are lost at once`()
    throws
  {
    try begin("w: {kind: k}, v: {kind: k}", valued: ["w", "v"])
    try edit("b", "w: {kind: k}", isInstalled: true)
    #expect(state("w") == "bundle/b fresh a user's" && widget("v") == nil)
    #expect(kept.count == 1 && machine.nextDeadline == nil)
  }

  @Test mutating func `the removal of the heir removes what it has not taken over`() throws {
    try begin("w: {kind: k}, v: {kind: k}", valued: ["w", "v"])
    try edit("b", "w: {kind: k}")
    run(machine.found(nil, in: "/b/x", absence: .removed, at: time))
    #expect(daemon.sortedWidgets.map(\.id.rawValue) == ["widgetd-host"])
    #expect(daemon.kinds.values.allSatisfy { $0 == HostState.provider })
    #expect(kept.count == 2 && machine.nextDeadline == nil)
  }

  @Test mutating func `a bundle that never ran is not remembered`() throws {
    let meant = HostState.Found.broken(problem: "/b/x has bundel.yaml", digest: 0)
    run(machine.found(meant, in: "/b/x", at: time))
    run(machine.start(at: time))
    restart { $0.run($0.machine.found(meant, in: "/b/x", at: $0.time)) }
    #expect(!machine.bundles.hasBundle(in: "/b/x"))
    #expect(widget("bundle/x")?.data["problem"] == .string("/b/x has bundel.yaml"))
    // A bundle that ran is remembered by all later hosts, although its file stays broken.
    try edit("a", "w: {kind: k}")
    for _ in 0..<2 {
      restart { $0.run($0.machine.found(meant, in: "/b/x", at: $0.time)) }
      #expect(machine.bundles.hasBundle(in: "/b/x"))
    }
  }

  // MARK: Widgets that wait

  @Test mutating func `an event does not make a widget fresh that waits for its removal`() throws {
    try begin("w: {kind: k}, v: {kind: k}")
    try edit("a", "v: {kind: k}")
    let errors = widget("w")?.error
    let session = try #require(sessions["bundle/a"])
    let event = Event(sequence: 1, widgetID: try #require(WidgetID("w")), name: "press")
    run(machine.handle(.session(session, .event(event)), at: time))
    tellNews()
    #expect(state("w") == "bundle/a stale a user's")
    #expect(errors != nil && widget("w")?.error == errors)
    #expect(machine.bundles.running["a"]?.instance.widgets.ids.map(\.rawValue) == ["v", "w"])
  }

  /// The daemon does not answer when the time of widget `w` is over.
  @Test(arguments: ["broken", "missing", "away"])
  mutating func `a widget whose removal is delayed stays if nobody may remove it by then`(
    cause: String
  ) throws {
    try begin("w: {kind: k}, v: {kind: k}")
    try edit("a", "v: {kind: k}")
    daemon.isUp = false
    pass(limit)
    switch cause {
    case "broken":
      run(machine.found(.broken(problem: "wrong", digest: 99), in: "/b/x", at: time))
    case "missing": run(machine.found(nil, in: "/b/x", absence: .missing, at: time))
    default:
      try loseDaemon()
      try regainDaemon("a")
    }
    daemon.isUp = true
    pass(.seconds(5))
    #expect(state("w") == "bundle/a stale a user's" && daemon.lost.isEmpty)
    try edit("a", "v: {kind: k}, w: {kind: k}")
    #expect(state("w") == "bundle/a fresh a user's" && daemon.lost.isEmpty)
  }

  @Test mutating func `the bundle's widget names widgets that wait for their removal`() throws {
    func remarks() -> [String]? {
      guard case .list(let list)? = widget("bundle/a")?.data["remarks"] else { return nil }
      return list.compactMap { if case .string(let text) = $0 { text } else { nil } }
    }
    let undo = "undo that by 1970-01-01T00:00:30Z, or"
    let words = "removed with the values that users, events or actions have set"
    try begin("w: {kind: k}, v: {kind: k}")
    #expect(remarks() == [])
    try edit("a", "v: {kind: k}")
    let other = "declare the widget with the same kind in another bundle; otherwise it is"
    #expect(remarks() == ["the file no longer has widget w; \(undo) \(other) \(words)"])
    #expect(widget("w")?.error?.message.contains("\(undo) \(other) \(words): data.n") == true)
    try edit("a", "v: {kind: k}, w: {kind: l}", kinds: ["k", "l"])
    #expect(remarks() == ["the file gives widget w another kind; \(undo) the widget is \(words)"])
    try edit("a", "v: {kind: k}, w: {kind: k}")
    #expect(remarks() == [])
    try edit("a", "v: {kind: k}")
    pass(limit)
    #expect(widget("w") == nil && remarks()?.count == 1)
    #expect(remarks()?.first?.hasPrefix("widget w is removed, and with it the value of") == true)
  }

  // MARK: Widgets of users with the ids of the host's widgets

  @Test mutating func `a widget of a user that has a bundle's id hides only this bundle`() throws {
    let taken = try #require(WidgetID("bundle/a"))
    daemon.put(taken, try #require(KindName("note")), set: "")
    try edit("a", "w: {kind: k}")
    try edit("b", "v: {kind: l}", kinds: ["l"], in: "/b/y")
    run(machine.start(at: time))
    #expect(widget("w") != nil && widget("v") != nil)
    #expect(widget("bundle/b")?.data["state"] == .string("running"))
    let problem =
      "widget \"bundle/a\" already exists and was created by user 0, so it hides the state of"
      + " bundle a; remove it with its data (`widgetctl rm bundle/a`)"
    #expect(widget("widgetd-host")?.data["problem"] == .string(problem))
    // The last declaration leaves it out, too.
    pass(HostLimits().refusalRetryInterval * 3)
    #expect(reports.filter { $0.contains("bundle/a") } == [problem])
    var last = machine
    let end = last.stop(at: time).compactMap { output -> [WidgetSpec]? in
      if case .daemon(.call(_, .declare(let specs, _))) = output { specs } else { nil }
    }
    #expect(end.first?.map { $0.id?.rawValue } == ["widgetd-host", "bundle/b"])
    daemon.remove(taken)
    pass(HostLimits().refusalRetryInterval)
    #expect(widget("bundle/a")?.data["state"] == .string("running"))
    #expect(widget("widgetd-host")?.data["problem"] == .string(""))
    #expect(machine.nextDeadline == nil)
  }
}
