import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

// The states of widgets that wait for their removal, and the flags and errors of others on widgets
// of bundles.
extension HandOverTests {
  /// Asks for the data of the widgets of a session's kinds, as the daemon does when the session
  /// begins.
  mutating func ask(_ id: SessionID) -> [HostMachine.Output] {
    let kinds = requests[id]?.kinds.map(\.name) ?? []
    var outputs: [HostMachine.Output] = []
    for widget in daemon.sortedWidgets where kinds.contains(widget.kind) {
      outputs += machine.handle(.session(id, .asked(widget.id, isRefresh: false)), at: time)
    }
    return outputs
  }

  func isLost(_ call: DaemonCall) -> Bool {
    switch call {
    case .own: losesDeclarations
    case .declare([], let set): losesDeclarations && set != HostState.provider
    default: false
    }
  }

  /// Another program changes a widget.
  private mutating func change(_ id: String, _ patch: WidgetPatch) throws {
    _ = daemon.answer(.update(try #require(WidgetID(id)), patch, provider: ""))
    tellNews()
  }

  private func messages(_ id: String) -> [String] { widget(id)?.error?.all.map(\.message) ?? [] }

  /// The disk of the daemon is full when the file drops the widget.
  @Test mutating func `the error of a widget that waits is set again after a failure`() throws {
    try begin("w: {kind: k}, v: {kind: k}")
    tellNews()
    daemon.updateFailure = Failure("UNAVAILABLE", "the disk is full", isTransient: true)
    try edit("a", "v: {kind: k}")
    #expect(state("w") == "bundle/a fresh a user's" && messages("w") == [])
    daemon.updateFailure = nil
    pass(.seconds(1))
    #expect(state("w") == "bundle/a stale a user's")
    #expect(messages("w").first?.contains("no longer has this widget") == true)
  }

  /// The disk of the daemon was full, so the widget has no error that the end of the wait removes.
  @Test mutating func `a wait that ends without a change of the widget is over for its instance`()
    throws
  {
    try edit("b", "u: {kind: j}", kinds: ["j"], in: "/b/y")
    try begin("w: {kind: j}, v: {kind: k}")
    tellNews()
    daemon.updateFailure = Failure("UNAVAILABLE", "the disk is full", isTransient: true)
    try edit("a", "v: {kind: k}")
    #expect(!machine.daemon.toldWaiting.isEmpty)
    daemon.updateFailure = nil
    updates = []
    try edit("a", "w: {kind: j}, v: {kind: k}")
    pass(.seconds(5))
    #expect(machine.daemon.toldWaiting.isEmpty)
    #expect(state("w") == "bundle/a fresh a user's")
    #expect(!updates.contains { $0.id.rawValue == "w" }, "nothing is left to change")
  }

  /// The daemon takes the next change of the error.
  @Test mutating func `an error that the daemon refuses for good is set again later`() throws {
    try begin("w: {kind: k}, v: {kind: k}")
    tellNews()
    daemon.updateFailure = Failure("RESOURCE_EXHAUSTED", "too large")
    try edit("a", "v: {kind: k}")
    daemon.updateFailure = nil
    pass(.seconds(5))
    #expect(messages("w") == [])
    let mistake = "/b/x/bundle.yaml:1:1: wrong"
    run(machine.found(.broken(problem: mistake, digest: 99), in: "/b/x", at: time))
    #expect(messages("w").count == 2 && messages("w").last == mistake)
    // A user clears the error. The daemon is away before the host hears of that.
    let id = try #require(WidgetID("w"))
    _ = daemon.answer(.update(id, WidgetPatch(error: .some(nil)), provider: ""))
    daemon.news = []
    try loseDaemon()
    try regainDaemon("a")
    #expect(messages("w").count == 2 && state("w") == "bundle/a stale a user's")
  }

  @Test mutating func `a widget that waits keeps the errors of programs`() throws {
    try begin("w: {kind: k}, v: {kind: k}")
    tellNews()
    let hot = WidgetError(reason: "FAN_FAILED", message: "too hot")
    try change("w", WidgetPatch(error: .some(hot)))
    try edit("a", "v: {kind: k}")
    #expect(messages("w").count == 2 && messages("w").last == "too hot")
    let loud = WidgetError(reason: "FAN_FAILED", message: "too loud")
    let errors = WidgetError(joining: (widget("w")?.error?.all ?? []) + [loud])
    try change("w", WidgetPatch(error: .some(errors)))
    let mistake = "/b/x/bundle.yaml:1:1: wrong"
    run(machine.found(.broken(problem: mistake, digest: 99), in: "/b/x", at: time))
    #expect(messages("w").dropFirst() == [mistake, "too hot", "too loud"])
    try edit("a", "w: {kind: k}, v: {kind: k}")
    tellNews()
    #expect(state("w") == "bundle/a fresh a user's" && messages("w") == ["too hot", "too loud"])
  }

  /// No bundle watches the widget, so the host does not hear of the error.
  @Test mutating func `a widget that waits keeps an error that nobody has told the host`() throws {
    try begin("w: {kind: note}, v: {kind: k}")
    tellNews()
    try edit("a", "v: {kind: k}")
    let hot = WidgetError(reason: "FAN_FAILED", message: "too hot")
    let errors = WidgetError(joining: (widget("w")?.error?.all ?? []) + [hot])
    try change("w", WidgetPatch(error: .some(errors)))
    let mistake = "/b/x/bundle.yaml:1:1: wrong"
    run(machine.found(.broken(problem: mistake, digest: 99), in: "/b/x", at: time))
    #expect(messages("w").dropFirst() == [mistake, "too hot"])
    try edit("a", "w: {kind: note}, v: {kind: k}")
    tellNews()
    #expect(state("w") == "bundle/a fresh a user's" && messages("w") == ["too hot"])
  }

  /// Widget `w` has a kind of others. It waits until its file has it again, or another bundle takes
  /// it over.
  @Test(arguments: [true, false])
  mutating func `a widget that a user has made stale stays stale after its wait`(isBack: Bool)
    throws
  {
    try edit("b", "u: {kind: j}", kinds: ["j"], in: "/b/y")
    try begin("w: {kind: note}, v: {kind: k}")
    tellNews()
    try change("w", WidgetPatch(isStale: true))
    try edit("a", "v: {kind: k}")
    #expect(messages("w").count == 1)
    if isBack {
      try edit("a", "w: {kind: note}, v: {kind: k}")
    } else {
      try edit("b", "u: {kind: j}, w: {kind: note}", kinds: ["j"], in: "/b/y")
    }
    tellNews()
    #expect(state("w") == "bundle/\(isBack ? "a" : "b") stale a user's" && messages("w") == [])
  }

  @Test mutating func `a widget that another program takes is fresh although its error is cleared`()
    throws
  {
    try begin("w: {kind: k}, v: {kind: k}")
    try edit("a", "v: {kind: k}")
    tellNews()
    let id = try #require(WidgetID("w"))
    _ = daemon.answer(.update(id, WidgetPatch(error: .some(nil)), provider: ""))
    // The news is about the last state.
    daemon.news = []
    daemon.move(id, to: "mine")
    tellNews()
    #expect(state("w") == "mine fresh a user's" && messages("w") == [])
  }

  @Test mutating func `the error of a widget that waits is set again if somebody clears it`()
    throws
  {
    try begin("w: {kind: k}, v: {kind: k}")
    tellNews()
    try edit("a", "v: {kind: k}")
    tellNews()
    let error = widget("w")?.error
    pass(.seconds(5))
    for _ in 0..<2 {
      let before = updates.count
      try change("w", WidgetPatch(error: .some(nil)))
      #expect(error != nil && widget("w")?.error == error)
      #expect(updates.count == before + 1, "once for each time")
    }
    // The daemon refuses the next one. Later news changes nothing.
    let before = updates.count
    _ = daemon.answer(
      .update(try #require(WidgetID("w")), WidgetPatch(error: .some(nil)), provider: ""))
    daemon.updateFailure = Failure("RESOURCE_EXHAUSTED", "too large")
    tellNews()
    daemon.updateFailure = nil
    try change("w", WidgetPatch(isStale: true))
    #expect(messages("w") == [] && updates.count == before + 1)
  }

  /// Each provider's answer to a data request makes the widget fresh.
  @Test mutating func `a new version makes a widget fresh that a user has made stale`() throws {
    asksForData = true
    try begin("w: {kind: k}, v: {kind: k}")
    tellNews()
    try change("w", WidgetPatch(isStale: true))
    run(machine.found(.broken(problem: "wrong", digest: 99), in: "/b/x", at: time))
    tellNews()
    let file = try read("a", "w: {kind: k}, v: {kind: k}", kinds: ["k"])
    var other = self
    other.run(other.machine.found(.bundle(file, digest: digest), in: "/b/x", at: time))
    other.tellNews()
    #expect(other.state("w") == "bundle/a stale a user's", "the same version runs")
    try edit("a", "w: {kind: k}, v: {kind: k}, v2: {kind: k}")
    tellNews()
    #expect(state("w") == "bundle/a fresh a user's")
  }

  /// Somebody has taken widget `t` of bundle `b`. The bundle learns it when its watch has ended:
  /// from its next declaration.
  @Test mutating func `a bundle that is refused after the end of its watch serves its widgets`()
    throws
  {
    try edit("b", "u: {kind: j}, t: {kind: j}", kinds: ["j"], in: "/b/y")
    run(machine.start(at: time))
    tellNews()
    daemon.move(try #require(WidgetID("t")), to: "mine")
    daemon.news = []
    let watch = try #require(machine.daemon.links.all.compactMap(\.watch).first)
    watches[watch] = nil
    let failure = Failure("UNAVAILABLE", "the watch has ended", isTransient: true)
    run(machine.handle(.watchEnded(watch, failure), at: time))
    pass(HostLimits().watchWait)
    tellNews()
    #expect(widget("bundle/b")?.data["state"] == .string("failed"))
    #expect(messages("u").count == 1 && widget("u")?.isStale == false && watches.count == 1)
    pass(HostLimits().refusalRetryInterval)
    tellNews()
    #expect(messages("u").count == 1 && widget("u")?.isStale == false && watches.count == 1)
  }

  /// The daemon removes widget `w` after its time, but its answer is lost.
  @Test mutating func `values of users are named although the answer to their removal is lost`()
    throws
  {
    try begin("w: {kind: k}, v: {kind: k}")
    tellNews()
    try edit("a", "v: {kind: k}")
    losesDeclarations = true
    pass(limit)
    #expect(widget("w") == nil && kept.isEmpty)
    losesDeclarations = false
    pass(.seconds(5))
    try #require(kept.count == 1)
    #expect(kept[0].contains("bundle a: widget w is removed, and with it the value of data.n"))
  }

  /// A version without widget `w` is installed, or the bundle is removed. The daemon removes the
  /// widget, but its answer is lost.
  @Test(arguments: [true, false])
  mutating func `values of users are named although the answer to a removal at once is lost`(
    isInstallation: Bool
  ) throws {
    try begin("w: {kind: k}, v: {kind: k}")
    tellNews()
    losesDeclarations = true
    if isInstallation {
      try edit("a", "v: {kind: k}", isInstalled: true)
    } else {
      run(machine.found(nil, in: "/b/x", absence: .removed, at: time))
    }
    #expect(widget("w") == nil && kept.isEmpty)
    losesDeclarations = false
    pass(.seconds(5))
    try #require(kept.count == 1)
    #expect(kept[0].contains("bundle a: widget w is removed, and with it the value of data.n"))
  }

  /// The folder of the bundle comes back with another file, which the daemon refuses.
  @Test mutating func `a refusal does not continue the age of a missing folder`() throws {
    try begin("v: {kind: k}", valued: [])
    tellNews()
    run(machine.found(nil, in: "/b/x", absence: .missing, at: time))
    tellNews()
    #expect(widget("v")?.error?.since == time.wall)
    pass(.seconds(5))
    try takeKind()
    try edit("a", "v: {kind: k}, v2: {kind: k}", kinds: ["k", "taken"])
    tellNews()
    #expect(messages("v").first?.contains("the daemon refuses the bundle") == true)
    #expect(widget("v")?.error?.since == time.wall)
  }

  // MARK: The parts

  @Test func `a widget that waits has one change under way, and the last one counts`() throws {
    let known = try waiting()
    let (id, limits) = (known.widget.id, HostLimits())
    let (stale, fresh) = (WidgetPatch(isStale: true), WidgetPatch(isStale: false))
    var holds = Holds()
    _ = holds.leave(known.widget, until: .seconds(30))
    var changes = HeldChanges()
    changes.set(HeldChanges.Change(patch: stale, isWaiting: true), of: id)
    var reads = [changes.takeReady(holds), changes.takeReady(holds)]
    let first = changes.read(known, holds, canChange: true)
    holds.end(id)
    changes.set(HeldChanges.Change(patch: fresh, isWaiting: false), of: id)
    reads.append(changes.takeReady(holds))
    let lost = Failure("UNAVAILABLE", "the daemon is away", isTransient: true)
    let isRefused = changes.answered(.failure(lost), id, at: .zero, limits)
    reads.append(changes.takeReady(holds))
    changes.tick(at: limits.daemonWait(1))
    reads.append(changes.takeReady(holds))
    let second = changes.read(known, holds, canChange: true)
    #expect(reads == [[id], [], [], [], [id]] && !isRefused)
    #expect(first?.patch == stale && first?.etag == "1" && second?.patch == fresh)
    // The wait is over without another change.
    changes.set(HeldChanges.Change(patch: stale, isWaiting: true), of: id)
    _ = changes.answered(.success(.revision(1)), id, at: .zero, limits)
    let last = changes.takeReady(holds)
    #expect(last == [] && changes.nextDeadline == nil)
  }

  private func waiting() throws -> ListedWidget {
    let (id, kind) = (try #require(WidgetID("w")), try #require(KindName("k")))
    return ListedWidget(widget: Widget(id: id, kind: kind, applySet: "bundle/a"), etag: "1")
  }

  @Test func `a widget that waits is read again before its change if the change comes too late`()
    throws
  {
    var known = try waiting()
    let (id, limits) = (known.widget.id, HostLimits())
    let holds = Holds()
    var changes = HeldChanges()
    changes.set(
      HeldChanges.Change(patch: WidgetPatch(isStale: false, error: .some(nil)), isWaiting: false),
      of: id)
    var (now, waits) = (Duration.zero, [Duration]())
    var errors: [String] = []
    for round in 1...6 {
      let ids = changes.takeReady(holds)
      #expect(ids == [id])
      // A source of the widget fails in the meantime.
      known.widget.error = WidgetError(
        reason: BundleInstance.sourceFailed, message: "failure \(round)")
      let change = changes.read(known, holds, canChange: true)
      let error = change?.patch.error.flatMap(\.self)
      errors += error?.all.map(\.message) ?? []
      let isRefused = changes.answered(.failure(NaiveDaemon.outdated), id, at: now, limits)
      let deadline = try #require(changes.nextDeadline)
      #expect(!isRefused && changes.isEnding)
      waits.append(deadline - now)
      now = deadline
      changes.tick(at: now)
    }
    let failures = (1...6).map { "failure \($0)" }
    #expect(errors == failures)
    var expected = [1, 2, 3, 4].map { limits.daemonWait($0) }
    expected += [limits.clearedLookInterval, limits.clearedLookInterval]
    #expect(waits == expected)
  }

  /// Another host serves the daemon when the widget is read.
  @Test func `a widget that waits is read again if the host could not change it`() throws {
    let known = try waiting()
    let (id, limits) = (known.widget.id, HostLimits())
    let holds = Holds()
    var changes = HeldChanges()
    changes.set(
      HeldChanges.Change(patch: WidgetPatch(isStale: false), isWaiting: false), of: id)
    var reads = [changes.takeReady(holds)]
    let isEarly = changes.read(known, holds, canChange: false) != nil
    reads.append(changes.takeReady(holds))
    let change = changes.read(known, holds, canChange: true)
    #expect(reads == [[id], [id]] && !isEarly && change?.patch.isStale == false)
    _ = changes.answered(.success(.revision(1)), id, at: .zero, limits)
    // A widget that is gone is not read again.
    changes.set(HeldChanges.Change(patch: WidgetPatch(isStale: false), isWaiting: false), of: id)
    _ = changes.takeReady(holds)
    _ = changes.answered(.failure(Failure("NOT_FOUND", "no w")), id, at: .zero, limits)
    let last = changes.takeReady(holds)
    #expect(last == [] && !changes.isEnding && changes.nextDeadline == nil)
  }

  @Test func `a widget that waits is read again if the daemon refuses to tell it`() throws {
    let known = try waiting()
    let (id, limits) = (known.widget.id, HostLimits())
    let holds = Holds()
    var changes = HeldChanges()
    changes.set(
      HeldChanges.Change(patch: WidgetPatch(isStale: false), isWaiting: false), of: id)
    var reads = [changes.takeReady(holds)]
    let failure = Failure("INTERNAL", "the store has damage")
    let isRefused = changes.answered(.failure(failure), id, at: .zero, limits)
    reads.append(changes.takeReady(holds))
    let deadline = try #require(changes.nextDeadline)
    changes.tick(at: deadline)
    reads.append(changes.takeReady(holds))
    let change = changes.read(known, holds, canChange: true)
    #expect(reads == [[id], [], [id]] && !isRefused && deadline == limits.daemonWait(1))
    #expect(change?.patch.isStale == false)
  }
}
