import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// The parts of the conversation, each without the others.
struct ConversationPartTests {
  let limits = HostLimits()

  func widget(_ id: String, set: String = "bundle/a") throws -> Widget {
    Widget(id: try #require(WidgetID(id)), kind: try #require(KindName("k")), applySet: set)
  }

  func call(_ number: UInt64) -> CallID { CallID(number: number) }

  // MARK: Rests

  @Test func `a refusal counts until the next one, or until the bundle is removed`() throws {
    let (v, w) = try (widget("v").id, widget("w").id)
    let version = Rests.Holder.version("a")
    var rests = Rests()
    rests.refused("a", for: .limit("no room"), trying: [v, w])
    #expect(!rests.dependsOnHolds(version) && rests.dependsOnHolds(.work(1)))
    #expect(rests.hasTried("a", v) && !rests.hasTried("b", v))
    rests.begin(offer: v)
    #expect(!rests.hasTried("a", v) && rests.hasTried("a", w))
    rests.forget("a")
    #expect(rests.dependsOnHolds(version) && !rests.hasTried("a", w))
    let taken = Circumstances.WidgetStanding(id: v, kind: try widget("v").kind, applySet: "mine")
    rests.refused("a", for: .limit("no room"), trying: [])
    rests.refused("a", for: Failure("ALREADY_EXISTS", "v is taken"), trying: [], rival: taken)
    #expect(rests.dependsOnHolds(version) && rests.rival(of: "a") == taken)
  }

  // MARK: Exchange

  @Test func `a cancelled call is forgotten`() {
    var exchange = Exchange()
    let first = exchange.call(.removeKinds(of: "a"), for: .withdrawal("a"))
    let second = exchange.call(.removeKinds(of: "b"), for: .withdrawal("b"))
    let ends = [exchange.end(first), exchange.end(first)]
    #expect(ends == [.withdrawal("a"), nil])
    exchange.cancelAll()
    exchange.cancel(second)
    #expect(exchange.end(second) == nil)
    let cancelled = exchange.takeOutputs().compactMap { output -> CallID? in
      if case .effect(.cancel(let id)) = output { id } else { nil }
    }
    #expect(cancelled == [second])
  }

  // MARK: Sessions that end

  @Test func `a retired session counts until it is closed, or its time is over`() {
    var ending = EndingSessions()
    let session = SessionID(number: 1)
    ending.retire(session, of: "a")
    #expect(ending.has("a") && !ending.isClosing("a") && ending.retiredBundles == ["a"])
    let retired = ending.takeRetired(of: "a")
    #expect(retired == [session] && !ending.has("a"))
    ending.close(with: call(1), of: "a", until: .seconds(3))
    #expect(ending.has("a") && ending.isClosing("a") && ending.nextDeadline == .seconds(3))
    let (early, due) = (ending.tick(at: .seconds(2)), ending.tick(at: .seconds(3)))
    #expect(early == [] && due == [call(1)] && ending.isClosed)
  }

  // MARK: Standing

  /// The lines for the log after the daemon has listed bundle `a`, which an earlier host ran from
  /// `/c/a`. That folder still exists, and is not in a folder of this host.
  private func reports(of work: inout StandingWork) throws -> [String]? {
    var known = Widget(
      id: try #require(WidgetID("bundle/a")), kind: try #require(KindName("bundle")),
      applySet: HostState.provider)
    known.data = [
      "id": .string("a"), "path": .string("/c/a"), "loaded": .timestamp(.epoch),
      "state": .string("running"), "runs": .bool(true),
    ]
    work.list(with: call(1))
    _ = work.answered(.success(.widgets([known])), at: .zero, limits)
    work.look(with: call(2))
    let answered = work.answered(.success(.absences([:])), at: .zero, limits)
    return if case .remembered(_, let reports) = answered { reports } else { nil }
  }

  @Test func `a bundle in a folder of another host is stopped, and no version of it runs`() throws {
    var work = StandingWork()
    let lines = try reports(of: &work)
    #expect(
      lines == ["bundle a in /c/a is not in a folder of this host; its widgets stay and are stale"])
    let spec = try #require(work.all.first)
    #expect(spec.data["state"] == .string("stopped") && spec.data["runs"] == .bool(false))
  }

  /// The host did not note this mark, so a copy of it counted again.
  @Test func `the mark of a removal at the start of a host is known from then on`() throws {
    func known(_ id: String, _ kind: String, _ data: ValueMap) throws -> Widget {
      Widget(
        id: try #require(WidgetID(id)), kind: try #require(KindName(kind)), data: data,
        applySet: HostState.provider)
    }
    let widgets = [
      try known("widgetd-host", "widgetd-host", ["marks": .list([.string("memo 1")])]),
      try known(
        "bundle/a", "bundle",
        ["id": .string("a"), "path": .string("/c/a"), "loaded": .timestamp(.epoch)]),
    ]
    var work = StandingWork()
    work.list(with: call(1))
    _ = work.answered(.success(.widgets(widgets)), at: .zero, limits)
    work.look(with: call(2))
    let answer = DaemonAnswer.absences(["/c/a": .removed], marks: ["a 2", "b 3"])
    let answered = work.answered(.success(answer), at: .zero, limits)
    guard case .remembered(let bundles, _) = answered else {
      Issue.record("the host remembers no bundle")
      return
    }
    var state = HostState(home: "/home/me", seed: 1)
    _ = state.remembered(
      bundles, removals: work.formerMarks, at: HostTime(wall: .epoch, uptime: .zero))
    #expect(state.knownMarks.ofRemoved == ["memo 1", "a 2"])
  }

  @Test func `a bundle that this host runs from another folder is not called stale`() throws {
    let id = try #require(WidgetID("bundle/a"))
    let kind = try #require(KindName("bundle"))
    func spec(_ loaded: Value) -> WidgetSpec {
      WidgetSpec(
        id: id, kind: kind, family: .small,
        data: ["id": .string("a"), "path": .string("/d/a"), "loaded": loaded])
    }
    var work = StandingWork()
    work.set([spec(.timestamp(.epoch))])
    let lines = try reports(of: &work)
    #expect(lines == [])
    #expect(work.all == [spec(.timestamp(.epoch))])
    // The bundle is removed. The other folder is not this host's, and had nothing.
    work.set([])
    #expect(work.all.isEmpty)
    // The file in this host's folder has a mistake, so that no host runs the bundle.
    var broken = StandingWork()
    broken.set([spec(.null)])
    let others = try reports(of: &broken)
    #expect(others?.count == 1)
  }

  /// The widget kept the last problem of the bundle, or none.
  @Test func `a bundle that is being removed says so`() throws {
    let id = try #require(WidgetID("bundle/a"))
    let spec = WidgetSpec(
      id: id, kind: try #require(KindName("bundle")), family: .small,
      data: [
        "id": .string("a"), "path": .string("/d/a"), "loaded": .timestamp(.epoch),
        "state": .string("failed"), "runs": .bool(true),
        "problem": .string("the folder /d/a has no bundle file"),
      ])
    var work = StandingWork()
    work.set([spec])
    work.declare(work.declaration(keeping: [:]), with: call(1))
    work.set([])
    let heirs: [WidgetID: String?] = [id: nil]
    let kept = try #require(work.declaration(keeping: heirs).first)
    #expect(kept.id == id && kept.data["state"] == .string("stopped"))
    #expect(kept.data["problem"] == .string(BundleRemovalMark.problem))
    #expect(kept.data["runs"] == .bool(false))
    #expect(work.declaration(keeping: [:]).isEmpty)
  }

  // MARK: Holds

  @Test func `a widget that the file lacks again waits again after its return`() throws {
    let bundle = try BundleReader.read(
      "{bundle: a, format: 1, version: 1.0.0, kinds: {k: {content: {label: x}}},"
        + " widgets: {w: {kind: k}}}")
    let claims = BundleClaims(of: bundle)
    let widget = try widget("w")
    var holds = Holds()
    #expect(holds.leave(widget, until: .seconds(30)) == .begins)
    #expect(holds.leave(widget, until: .seconds(40)) == .waits)
    #expect(holds.nextDeadline == .seconds(30) && holds.waiting(of: claims) == [widget.id])
    // A version that has the widget is loaded, and the next one lacks it again.
    holds.suspend(claims)
    #expect(holds.nextDeadline == nil && holds.waiting(of: claims).isEmpty && !holds.isEmpty)
    #expect(holds.leave(widget, until: .seconds(50)) == .beginsAgain)
    #expect(holds.tick(at: .seconds(50)) == ["bundle/a"])
    #expect(holds.leave(widget, until: .seconds(60)) == .goes)
    holds.declared(claims)
    #expect(holds.isEmpty)
  }

  @Test func `a time that an error has promised counts until the widget is removed`() throws {
    let bundle = try BundleReader.read(
      "{bundle: a, format: 1, version: 1.0.0, kinds: {k: {content: {label: x}}},"
        + " widgets: {w: {kind: k}}}")
    let claims = BundleClaims(of: bundle)
    let widget = try widget("w")
    let start = HostTime(wall: .epoch, uptime: .zero)
    var holds = Holds()
    _ = holds.leave(widget, until: .seconds(30))
    #expect(holds.shown(of: claims).isEmpty)
    holds.set(Holds.Cause(change: "x", isDeclared: false, values: "data.n"), of: widget.id)
    #expect(holds.show(widget.id, beside: [], at: start) != nil)
    func promises() -> [Duration] { holds.shown(of: claims).map(\.deadline) }
    #expect(holds.shown(of: claims).map(\.runs) == [true] && promises() == [.seconds(30)])
    holds.take([widget.id])
    #expect(holds.shown(of: claims).map(\.runs) == [false] && promises() == [.seconds(30)])
    holds.giveBack([widget.id])
    holds.suspend(claims)
    #expect(holds.shown(of: claims).map(\.runs) == [false] && promises() == [.seconds(30)])
    holds.recall(widget.id, saying: "refused")
    #expect(holds.shown(of: claims).map(\.runs) == [false] && promises() == [.seconds(30)])
    holds.end(widget.id)
    #expect(promises() == [])
  }

  @Test func `the end of a widget's time is delayed for a limited time`() throws {
    let widget = try widget("w")
    var holds = Holds()
    _ = holds.leave(widget, until: .seconds(30))
    #expect(holds.due(at: .seconds(29)).isEmpty && holds.due(at: .seconds(30)) == [widget.id])
    #expect(holds.canStay(widget.id, beyond: .seconds(30), longest: .seconds(60)))
    holds.delay(widget.id, until: .seconds(60), longest: .seconds(60))
    #expect(holds.nextDeadline == .seconds(60) && holds.due(at: .seconds(30)).isEmpty)
    holds.delay(widget.id, until: .seconds(120), longest: .seconds(60))
    #expect(holds.nextDeadline == .seconds(90))
    #expect(!holds.canStay(widget.id, beyond: .seconds(90), longest: .seconds(60)))
    #expect(holds.tick(at: .seconds(90)) == ["bundle/a"])
  }

  @Test func `a pause of a widget's time is no delay of its end`() throws {
    let widget = try widget("w")
    var holds = Holds()
    _ = holds.leave(widget, until: .seconds(30))
    holds.postpone(["bundle/b"], dueAt: .seconds(30), until: .seconds(60))
    holds.postpone(["bundle/a"], dueAt: .seconds(29), until: .seconds(60))
    #expect(holds.nextDeadline == .seconds(30))
    holds.take([widget.id])
    holds.postpone(dueAt: .seconds(30), until: .seconds(50))
    holds.giveBack([widget.id])
    holds.postpone(["bundle/a"], dueAt: .seconds(50), until: .seconds(60))
    #expect(holds.nextDeadline == .seconds(60))
    holds.delay(widget.id, until: .seconds(500), longest: .seconds(60))
    #expect(holds.nextDeadline == .seconds(120))
    _ = holds.tick(at: .seconds(120))
    holds.resume(["bundle/b"], until: .seconds(130))
    #expect(holds.nextDeadline == nil)
    holds.resume(["bundle/a"], until: .seconds(150))
    #expect(holds.nextDeadline == .seconds(150))
  }

  /// The file gets a mistake three times. The second one stays longer than the widget's time.
  @Test func `only the first pause of a widget's time gives it the whole time again`() throws {
    let widget = try widget("w")
    var holds = Holds()
    _ = holds.leave(widget, until: .seconds(30))
    var ends: [Duration?] = []
    for (start, end) in [(10, 20), (30, 100), (110, 111)] {
      holds.pause(at: .seconds(start), whole: .seconds(30)) { _, _ in true }
      // The end moves while nobody can remove the widget.
      let delay = Duration.seconds(end + 30)
      holds.postpone(dueAt: .seconds(end), until: delay)
      holds.pause(at: .seconds(end), whole: .seconds(30)) { _, _ in false }
      ends.append(holds.nextDeadline)
    }
    #expect(ends == [.seconds(50), .seconds(120), .seconds(121)])
  }

  // MARK: Links

  @Test func `a kind is lost that was removed during the declaration of another one`() throws {
    let bundle = try BundleReader.read(
      "{bundle: a, format: 1, version: 1.0.0,"
        + " kinds: {k: {content: {label: x}}, l: {content: {label: x}}}}")
    let (k, l) = (try #require(KindName("k")), try #require(KindName("l")))
    let session = SessionID(number: 1)
    var link = BundleLink(bundle)
    link.open(session)
    link.opened(waitingFor: call(1))
    link.registered()
    link.lost([], kinds: [k], at: .zero, limits)
    _ = link.tick(at: limits.restoreWaitMax)
    let first = link.nextStep(declarationsWait: false)
    link.begin(.kinds(call(2)))
    link.lost([], kinds: [l], at: limits.restoreWaitMax, limits)
    _ = link.tick(at: limits.restoreWaitMax * 2)
    _ = link.endWork()
    link.kindsDeclared()
    let second = link.nextStep(declarationsWait: false)
    link.begin(.kinds(call(3)))
    _ = link.endWork()
    // A program has the kind by now.
    link.restWork(isKinds: true)
    #expect(first == .declareKinds(session) && second == .declareKinds(session))
    #expect(link.lostKinds == [l] && link.kinds == [k])
  }

  @Test func `a wait for the owner of a widget is no failed attempt`() throws {
    let bundle = try BundleReader.read(
      "{bundle: a, format: 1, version: 1.0.0, kinds: {k: {content: {label: x}}},"
        + " widgets: {w: {kind: k}}}")
    var link = BundleLink(bundle)
    link.open(SessionID(number: 1))
    link.opened(waitingFor: call(1))
    link.registered()
    for round in 1...3 { link.waitForOwner(at: limits.daemonWait(round)) }
    #expect(link.ownerWaits == 3 && link.workAttempts == 0 && !link.isAboutToDeclare)
    #expect(link.nextDeadline == limits.daemonWait(3))
    link.retryWork(isKinds: false, at: limits.daemonWait(1))
    #expect(link.ownerWaits == 3 && link.workAttempts == 1)
    let taken = link.owned()
    #expect(link.ownerWaits == 0 && link.workAttempts == 0 && taken.isEmpty)
  }

  // MARK: Withdrawals

  @Test func `an heir of an heir takes over from all, and the kinds go first`() {
    var withdrawals = Withdrawals()
    #expect(withdrawals.begin("a", heir: "b") == ["a"])
    #expect(withdrawals.begin("b", heir: "c") == ["a", "b"])
    #expect(withdrawals.begin("b", heir: "c") == nil)
    #expect(withdrawals.inherited(by: "c") == ["a", "b"] && withdrawals.inherited(by: "b").isEmpty)
    #expect(withdrawals.isInheriting("c") && !withdrawals.isRemoving)
    for id in withdrawals.idle {
      guard case .removeKinds? = withdrawals.nextCall(of: id) else {
        Issue.record("the widgets of \(id) go first")
        continue
      }
      withdrawals.called(id, with: call(1))
      #expect(withdrawals.answered(.success(.done), id, at: .zero, limits) == .nothing)
    }
    #expect(!withdrawals.isInheriting("c") && withdrawals.waitsForHeir("a", isHolding: false))
    withdrawals.taken(["a", "b"], by: "c")
    #expect(!withdrawals.waitsForHeir("a", isHolding: false))
    #expect(withdrawals.waitsForHeir("a", isHolding: true))
    withdrawals.called("a", with: call(2))
    let answered = withdrawals.answered(.success(.results([])), "a", at: .zero, limits)
    #expect(answered == .removed(showsBundle: true) && !withdrawals.contains("a"))
  }

  /// The removal fails. Meanwhile somebody takes widget `v` over, and the daemon has removed widget
  /// `w`, or not.
  @Test(arguments: [true, false])
  func `only values of widgets that are gone are named as lost`(isRemoved: Bool) throws {
    let (v, w) = try (widget("v"), widget("w"))
    func deleted(_ widgets: [Widget]) -> DaemonAnswer {
      .results(
        widgets.map {
          ApplyResult(
            id: $0.id, action: .deleted,
            keptFields: [FieldOwner(path: "data.n", owner: "user 0", declared: .int(5))])
        })
    }
    var withdrawals = Withdrawals()
    _ = withdrawals.begin("a", heir: nil)
    /// Answers the next call. Returns its name, and the lost values.
    func next(_ result: Result<DaemonAnswer, Failure>) throws -> [String] {
      let made = try #require(withdrawals.nextCall(of: "a"))
      withdrawals.called("a", with: call(1))
      let name = made.signature.prefix { $0 != " " }
      let lost = (try? result.get()).map { withdrawals.losses(of: "a", after: $0) } ?? []
      _ = withdrawals.answered(result, "a", at: .zero, limits)
      return [String(name)] + lost.map(\.widget.rawValue)
    }
    let full = Failure("UNAVAILABLE", "the disk is full", isTransient: true)
    var steps = try [next(.success(deleted([v, w]))), next(.failure(full))]
    withdrawals.tick(at: try #require(withdrawals.nextDeadline))
    let left = isRemoved ? [v] : [v, w]
    let there = left.map { Circumstances.WidgetStanding(id: $0.id, kind: $0.kind, applySet: "") }
    let rest = isRemoved ? [] : [w]
    steps.append(try next(.success(.standing(Circumstances(widgets: Set(there))))))
    steps.append(try next(.success(deleted(rest))))
    steps.append(try next(.success(deleted(rest))))
    #expect(steps == [["foresee"], ["declare"], ["standing"], ["foresee"], ["declare", "w"]])
  }

  @Test func `a removal is confirmed when the bundle's own widget is gone, too`() throws {
    let shown: Set = [try #require(WidgetID("bundle/a")), try #require(WidgetID("bundle/b"))]
    var withdrawals = Withdrawals()
    _ = withdrawals.begin("a", heir: nil)
    let isEarly = withdrawals.confirm(showing: [])
    #expect(withdrawals.unconfirmed == ["a"] && !isEarly)
    for answer in [DaemonAnswer.results([]), .results([]), .done] {
      withdrawals.called("a", with: call(1))
      _ = withdrawals.answered(.success(answer), "a", at: .zero, limits)
    }
    let isShown = !withdrawals.confirm(showing: shown)
    #expect(!withdrawals.contains("a") && isShown && withdrawals.unconfirmed == ["a"])
    let isGone = withdrawals.confirm(showing: [])
    #expect(isGone && withdrawals.unconfirmed.isEmpty)
    _ = withdrawals.begin("a", heir: nil)
    withdrawals.revoke("a")
    #expect(withdrawals.unconfirmed.isEmpty)
  }

  // MARK: Declarations

  @Test func `an edit without effect is one that follows the change of a user`() throws {
    let id = try #require(WidgetID("w"))
    func bundle(_ n: Int) throws -> Bundle {
      try BundleReader.read(
        "{bundle: a, format: 1, version: 1.0.0, kinds: {k: {data: {n: 1}, content: {label: x}}},"
          + " widgets: {w: {kind: k, data: {n: \(n)}}}}")
    }
    func kept(_ n: Int64) -> BundleClaims.KeptField {
      BundleClaims.KeptField(
        widget: id,
        field: FieldOwner(
          path: "data.n", owner: "user 1", manager: "bundle/a", declared: .int(n)))
    }
    var declarations = BundleDeclarations()
    // Nobody knows the file from before the start of the host.
    var told = declarations.declared(try bundle(5), keeping: [kept(5)])
    #expect(told.edits.isEmpty && told.news.isEmpty)
    told = declarations.declared(try bundle(6), keeping: [kept(6)])
    #expect(told.edits == [kept(6)] && told.news == [kept(6)])
    told = declarations.declared(try bundle(6), keeping: [kept(6)])
    #expect(told.edits == [kept(6)] && told.news.isEmpty)
    told = declarations.declared(try bundle(5), keeping: [kept(5)])
    #expect(told.edits.isEmpty)
    // The next host knows the edit from the remarks of this one.
    var next = BundleDeclarations()
    let remarks = Value.list([.string(kept(6).message(by: ""))])
    next.remember(HostState.Remembered(id: "a", path: "/b/a", shown: ["remarks": remarks]))
    told = next.declared(try bundle(6), keeping: [kept(6)])
    #expect(told.edits == [kept(6)] && told.news == [kept(6)])
  }

  /// The daemon has the values of the last declaration.
  @Test(arguments: [true, false])
  func `an edit that was made while no host ran is one without effect`(isEdited: Bool) throws {
    let id = try #require(WidgetID("w"))
    let bundle = try BundleReader.read(
      "{bundle: a, format: 1, version: 1.0.0, kinds: {k: {data: {n: 1.5}, content: {label: x}}},"
        + " widgets: {w: {kind: k, data: {n: 6}}}}")
    func owner(_ n: Double) -> FieldOwner {
      FieldOwner(path: "data.n", owner: "user 1", manager: "bundle/a", declared: .double(n))
    }
    let file = FieldOwner(path: "data.m", owner: "bundle/a")
    let user = FieldOwner(path: "data.o", owner: "user 1")
    var declarations = BundleDeclarations()
    let owners = [owner(isEdited ? 5 : 6), file, user]
    let former = BundleDeclarations.FormerOwners(set: "bundle/a", fields: owners)
    declarations.remember([id: former], of: "a")
    #expect(declarations.fields(of: "a") == [id: ["data.n", "data.m"]])
    let kept = BundleClaims.KeptField(widget: id, field: owner(6))
    let told = declarations.declared(bundle, keeping: [kept])
    #expect(told.edits == (isEdited ? [kept] : []) && told.news == told.edits)
  }

  @Test(arguments: [true, false])
  func `a value that a source sets again is not named as replaced`(isRead: Bool) throws {
    let bundle = try BundleReader.read(
      """
      bundle: a
      format: 1
      version: 1.0.0
      kinds:
        k:
          data: {n: 1, m: 2}
          sources: {s: {value: 2, set: {\(isRead ? "n" : "m"): result}}}
          content: {label: x}
      widgets: {w: {kind: k, data: {n: 50}}}
      """)
    var known = try widget("w")
    known.data = ["n": .int(7)]
    let taken = BundleClaims(of: bundle).taken(from: [known], before: [known.id: []])
    #expect(taken.map(\.path) == (isRead ? [] : ["data.n"]))
  }

  // MARK: Folders

  @Test func `the order of folders is the order in which they were found`() {
    var folders = FolderTable()
    let bundle = Bundle(id: "a", version: "1.0.0")
    let broken = (0..<2).map { _ in
      folders.found(broken: "no", digest: 1, in: "/b/y", at: .epoch)
    }
    #expect(broken == [true, false])
    let first = folders.found(bundle, digest: 2, isInstalled: false, in: "/b/x")
    let second = folders.found(bundle, digest: 3, isInstalled: false, in: "/b/y")
    #expect(first.isNews && second.before?.problem == "no")
    #expect(folders.paths == ["/b/y", "/b/x"] && folders.holding("a") == ["/b/x", "/b/y"])
    folders.miss(
      "/b/y", .missing, problem: "gone", forOthers: "", until: .seconds(30),
      at: .epoch)
    #expect(folders.nextDeadline == .seconds(30) && folders.due(at: .seconds(30)) == ["/b/y"])
    // A file that comes back is news, although it is the same.
    let back = folders.found(bundle, digest: 3, isInstalled: false, in: "/b/y")
    #expect(back.isNews && folders.nextDeadline == nil && folders["/b/y"]?.problem == nil)
    folders.remove("/b/y")
    #expect(folders.paths == ["/b/x"] && folders["/b/y"] == nil)
  }
}
