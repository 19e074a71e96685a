import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// Widgets that wait for their removal, because the file of a bundle lacks them.
struct WaitingWidgetTests {
  private let id: WidgetID

  init() throws { id = try #require(WidgetID("w")) }

  private static let acting = """
    data: {n: 5, m: 0}
    sources: {s: {command: [x], every: 10s, set: {m: int(result)}}}
    actions: {act: {optimistic: {n: "99"}, do: [{command: [y]}, {set: {n: "7"}}]}}
    on: {press: act, again: s}
    """

  private static func scene() throws -> Scene {
    try Scene(acting, permissions: "{commands: [x, y]}")
  }

  private func outcome(_ scene: Scene, _ event: Int, _ detail: String = "state") -> Value? {
    guard case .map(let all)? = scene["status"],
      case .map(let told)? = all[BundleScope.outcomesKey], case .map(let one)? = told["\(event)"]
    else { return nil }
    return one[detail]
  }

  /// Sends an event whose widget the bundle no longer serves.
  ///
  /// - Returns: the lines in the log.
  private func linesOfRefusedFetch(_ scene: inout Scene, _ event: String) throws -> [String] {
    scene.isBusy = true
    try scene.event(event)
    let fetch = try need(
      scene.taken().compactMap {
        if case .fetchWidget(let request, _) = $0 { request } else { nil }
      }.first)
    scene.tell(.failed(fetch, Failure("FAILED_PRECONDITION", "the bundle does not serve it")))
    let effects = scene.taken()
    scene.isBusy = false
    let programs = effects.filter { if case .run = $0 { true } else { false } }
    #expect(programs.isEmpty)
    return effects.compactMap { if case .report(let text) = $0 { text } else { nil } }
  }

  /// The error that `Holds` sets.
  private func showWait(_ scene: inout Scene) throws {
    let cause = Holds.Cause(
      change: "the file of bundle b no longer has this widget", isDeclared: false, values: "data.n")
    try scene.change {
      $0.isStale = true
      $0.error = WidgetError(
        reason: BundleInstance.invalid, message: cause.words(by: Timestamp.epoch))
    }
  }

  @Test func `an event of a widget that waits runs its action`() throws {
    var scene = try Self.scene()
    try scene.print(try need(scene.program()?.id), "1")
    scene.tell(.waiting([id]))
    try showWait(&scene)
    try scene.event("press", wantsOutcome: true)
    #expect(scene["n"] == .int(99))
    try scene.print(try need(scene.program()?.id), "")
    #expect(scene["n"] == .int(7) && outcome(scene, 1) == .string("success"))
    #expect(scene.widget?.isStale == true)
    #expect(scene.widget?.error?.message.contains("no longer has this widget") == true)
    #expect(scene.acknowledged.last == 1)
  }

  @Test func `the failure of a widget that waits stands beside the error of the wait`() throws {
    var scene = try Self.scene()
    try scene.print(try need(scene.program()?.id), "1")
    scene.tell(.waiting([id]))
    try showWait(&scene)
    try scene.event("press", wantsOutcome: true)
    scene.tell(.failed(try need(scene.program()).id, Failure("ABORTED", "boom")))
    #expect(outcome(scene, 1, "message") == .string("boom"))
    let errors = scene.widget?.error?.all ?? []
    #expect(errors.map(\.reason) == [BundleInstance.invalid, BundleInstance.actionFailed])
    // The next success ends the failure, and not the error of the wait.
    try scene.event("press")
    try scene.print(try need(scene.program()?.id), "")
    #expect(scene.widget?.error?.all.map(\.reason) == [BundleInstance.invalid])
    #expect(scene.widget?.isStale == true)
  }

  @Test func `the beginning of the wait interrupts the actions`() throws {
    var scene = try Self.scene()
    try scene.print(try need(scene.program()?.id), "1")
    try scene.event("press", wantsOutcome: true)
    let program = try need(scene.program()?.id)
    #expect(scene["n"] == .int(99) && scene.status("act") == .string("running"))
    scene.tell(.waiting([id]))
    #expect(scene["n"] == .int(5) && scene.status("act") == .string("failure"))
    #expect(scene.status("act", "code") == .string("ABORTED"))
    #expect(outcome(scene, 1, "code") == .string("ABORTED"))
    let effects = scene.taken()
    #expect(effects.contains(.cancel(program)))
    #expect(
      effects.contains(
        .report("bundle b: widget w: action act: It was interrupted; try again.")))
  }

  @Test func `sources and timers rest until the wait is over`() throws {
    var scene = try Self.scene()
    let first = try need(scene.program()?.id)
    scene.tell(.waiting([id]))
    #expect(scene.cancelled() == first)
    scene.pass(.seconds(60))
    #expect(scene.program() == nil)
    // A step reads the source once.
    try scene.event("again", wantsOutcome: true)
    try scene.print(try need(scene.program()?.id), "3")
    #expect(scene["m"] == .int(3) && outcome(scene, 1) == .string("success"))
    scene.pass(.seconds(60))
    #expect(scene.program() == nil)
    scene.tell(.waiting([]))
    try scene.print(try need(scene.program()?.id), "4")
    scene.pass(.seconds(10))
    #expect(scene["m"] == .int(4))
    #expect(scene.program() != nil)
  }

  @Test func `a widget that appears while it waits begins no source`() throws {
    var scene = try Scene(
      Scene.bundle(Self.acting, permissions: "{commands: [x, y]}"), widgets: [])
    scene.tell(.waiting([id]))
    let kind = try #require(scene.instance.bundle.kinds.first?.kind.name)
    scene.tell(.snapshot([Widget(id: id, kind: kind, revision: 1)]))
    #expect(scene.program() == nil)
    #expect(scene.instance.widgetCount == 0)
  }

  @Test func `an event that nothing handles fails at once, and the log has it`() throws {
    var scene = try Self.scene()
    try scene.print(try need(scene.program()?.id), "1")
    try scene.event("gone", wantsOutcome: true)
    #expect(outcome(scene, 1) == .string("success"), "the widget does not wait")
    scene.tell(.waiting([id]))
    try showWait(&scene)
    _ = scene.taken()
    try scene.event("gone", wantsOutcome: true)
    let words =
      "nothing handles the event gone, and the file of bundle b no longer has this widget;"
      + " undo that by 1970-01-01T00:00:00Z"
    #expect(outcome(scene, 2) == .string("failure"))
    #expect(outcome(scene, 2, "message") == .string(words))
    #expect(scene.taken().contains(.report("bundle b: widget w: \(words)")))
  }

  @Test func `an event of a widget that the instance does not have is in the log`() throws {
    var scene = try Self.scene()
    scene.tell(.removed(id))
    _ = scene.taken()
    let lines = try linesOfRefusedFetch(&scene, "press")
    #expect(lines.count == 1 && lines.first?.contains("the event press is lost") == true)
  }

  @Test func `an event of a kind that the bundle has lost runs nothing`() throws {
    var scene = try Self.scene()
    try scene.print(try need(scene.program()?.id), "1")
    _ = scene.taken()
    let lines = try linesOfRefusedFetch(&scene, "press")
    #expect(lines.count == 1)
    #expect(scene["n"] == .int(5) && scene.program() == nil)
  }

  @Test func `an event that no kind handles is not lost`() throws {
    var scene = try Self.scene()
    scene.tell(.removed(id))
    _ = scene.taken()
    let lines = try linesOfRefusedFetch(&scene, "gone")
    #expect(lines == [])
  }

  @Test func `events in the queue run after all actions are interrupted`() throws {
    var scene = try Scene(
      """
      data: {k: 0, m: 0}
      actions:
        copy: {do: [{set: {k: data.m}}, {command: [x]}]}
        keep: {optimistic: {m: "50"}, do: [{command: [x]}]}
      on: {press: copy, hold: keep}
      """, permissions: "{commands: [x]}")
    try scene.event("press")
    try scene.event("hold")
    try scene.event("press")
    #expect(scene["k"] == .int(0) && scene["m"] == .int(50))
    scene.tell(.waiting([id]))
    #expect(scene["k"] == .int(0) && scene["m"] == .int(0))
    #expect(scene.status("copy") == .string("running"))
  }

  @Test func `an event whose steps after a success are interrupted fails`() throws {
    var scene = try Scene(
      """
      data: {n: 0}
      actions: {act: {do: [{set: {n: "1"}}], then: [{command: [x]}]}}
      on: {press: act}
      """, permissions: "{commands: [x]}")
    try scene.event("press", wantsOutcome: true)
    let program = try need(scene.program()?.id)
    #expect(scene["n"] == .int(1))
    scene.tell(.waiting([id]))
    #expect(scene.cancelled() == program)
    #expect(outcome(scene, 1) == .string("failure"))
    #expect(outcome(scene, 1, "code") == .string("ABORTED"))
  }

  @Test func `the end of the wait interrupts the actions, and the events in the queue fail`()
    throws
  {
    var scene = try Self.scene()
    try scene.print(try need(scene.program()?.id), "1")
    scene.tell(.waiting([id]))
    try showWait(&scene)
    try scene.event("press", wantsOutcome: true)
    try scene.event("press", wantsOutcome: true)
    let program = try need(scene.program()?.id)
    #expect(scene["n"] == .int(99))
    scene.tell(.ending([id]))
    #expect(scene["n"] == .int(5) && scene.status("act", "code") == .string("ABORTED"))
    #expect(outcome(scene, 1, "code") == .string("ABORTED"))
    #expect(outcome(scene, 2, "code") == .string("ABORTED"))
    #expect(scene.taken().contains(.cancel(program)))
    #expect(scene.program() == nil && scene.widget?.isStale == true)
  }

  @Test func `no action begins between the end of the wait and the removal`() throws {
    var scene = try Self.scene()
    try scene.print(try need(scene.program()?.id), "1")
    scene.tell(.waiting([id]))
    try showWait(&scene)
    scene.tell(.ending([id]))
    let patchCount = scene.patches.count
    try scene.event("press", wantsOutcome: true)
    #expect(scene["n"] == .int(5) && scene.program() == nil)
    #expect(outcome(scene, 1, "code") == .string("ABORTED"))
    #expect(scene.patches.dropFirst(patchCount).allSatisfy { $0.patch.setData["n"] == nil })
    // A bundle has the widget again, before the removal.
    scene.tell(.waiting([]))
    try scene.event("press")
    #expect(scene["n"] == .int(99))
  }

  @Test func `an event between the end of the wait and the removal is in the log`() throws {
    var scene = try Self.scene()
    try scene.print(try need(scene.program()?.id), "1")
    scene.tell(.waiting([id]))
    scene.tell(.ending([id]))
    _ = scene.taken()
    try scene.event("press")
    #expect(
      scene.taken() == [
        .report(
          "bundle b: widget w: the event press is lost, because the removal of the widget has begun;"
            + " send it again if the widget stays")
      ])
  }

  /// The daemon refuses the removal.
  @Test func `events of a widget that waits on after its time was over run actions`() throws {
    var scene = try Self.scene()
    try scene.print(try need(scene.program()?.id), "1")
    scene.tell(.waiting([id]))
    scene.tell(.ending([id]))
    scene.tell(.ending([]))
    try scene.event("press", wantsOutcome: true)
    #expect(scene["n"] == .int(99))
    try scene.print(try need(scene.program()?.id), "")
    #expect(scene["n"] == .int(7) && outcome(scene, 1) == .string("success"))
    // The time is over again.
    try scene.event("press", wantsOutcome: true)
    scene.tell(.ending([id]))
    #expect(scene["n"] == .int(7) && outcome(scene, 2, "code") == .string("ABORTED"))
  }

  @Test func `the undo at the end of the wait does not wait for the answer to another change`()
    throws
  {
    var scene = try Self.scene()
    try scene.print(try need(scene.program()?.id), "1")
    scene.tell(.waiting([id]))
    try scene.event("press")
    try scene.event("again")
    let reading = try need(scene.lastProgram())
    scene.isBusy = true
    try scene.print(reading, "3")
    scene.tell(.ending([id]))
    let changes = scene.taken().compactMap {
      if case .patch(_, _, let patch) = $0 { patch.setData["n"] } else { nil }
    }
    #expect(changes == [.int(5)])
  }

  /// The widget is of a user, so it stays when its kind goes.
  @Test(arguments: [true, false])
  func `a bundle leaves no optimistic value on a widget whose kind goes`(isRemoved: Bool) throws {
    let now = HostTime(wall: .epoch, uptime: .zero)
    let bundle = try Scene.bundle(Self.acting, permissions: "{commands: [x, y]}")
    let kind = try #require(bundle.kinds.first?.kind.name)
    let widget = Widget(id: id, kind: kind, data: ["n": .int(5), "m": .int(0)], revision: 1)
    var state = HostState(home: "/home/me", seed: 1)
    _ = state.remembered([], at: now)
    let starts = state.found(.bundle(bundle, digest: 1), in: "/b/x", at: now)
    let generation = try #require(starts.generations.first)
    var revision: Revision = 1
    func take(_ outputs: [HostState.Output]) {
      for output in outputs {
        switch output {
        case .effect(.patch(let request, _, _)):
          revision += 1
          take(state.handle(.sent(request, revision), generation: generation, at: now))
        case .effect(.fetchWidget(let request, _)):
          take(state.handle(.fetched(request, widget), generation: generation, at: now))
        default: break
        }
      }
    }
    take(state.declared(generation: generation, refusal: nil, at: now))
    take(state.handle(.snapshot([widget]), generation: generation, at: now))
    let event = Event(
      sequence: 1, widgetID: id, nodeID: "", name: "press", payload: [:], time: now.wall,
      origin: EventOrigin(uid: 0, client: ""), wantsOutcome: false)
    take(state.handle(.event(event), generation: generation, at: now))
    #expect(state.running["b"]?.instance.widgets[id]?.view.data["n"] == .int(99))
    let next = try BundleReader.read(
      "{bundle: b, format: 1, version: 1.0.1, kinds: {j: {content: {label: x}}}}")
    let outputs =
      isRemoved
      ? state.lost("/b/x", .removed, at: now)
      : state.found(.bundle(next, digest: 2), in: "/b/x", at: now)
    let left = outputs.compactMap { output in
      if case .leave(_, let patch, _) = output { patch.setData["n"] } else { nil }
    }
    #expect(left == [.int(5)])
  }

  @Test(arguments: [false, true])
  func `a removal waits for the changes of its widgets, at most until a limit`(isLate: Bool)
    throws
  {
    let bundle = try Scene.bundle(Self.acting, permissions: "{commands: [x, y]}")
    let limit = HostLimits().endWaitMax
    var conversation = DaemonConversation(limits: HostLimits())
    conversation.open(1, bundle, isInstalled: false)
    conversation.endings[1] = ([1], limit)
    conversation.add(.patch(.unanswered(1), id, WidgetPatch(isStale: false)), 1)
    #expect(conversation.nextDeadline.map { $0 <= limit } == true)
    let time = HostTime(wall: .epoch, uptime: isLate ? limit : .zero)
    conversation.declareEndings(1, at: time)
    #expect(conversation.endings.keys.contains(1) == !isLate)
  }

  /// The widgets whose time is over, as the instances are told.
  private func toldEnds(_ conversation: inout DaemonConversation) -> [Set<WidgetID>] {
    conversation.takeOutputs().compactMap {
      if case .tell(.ending(let ids), generation: 1) = $0 { ids } else { nil }
    }
  }

  @Test func `an instance hears which widgets wait on after their time was over`() throws {
    let other = try #require(WidgetID("v"))
    let kind = try #require(KindName("k"))
    var conversation = DaemonConversation(limits: HostLimits())
    for (id, set) in [(id, "bundle/a"), (other, "bundle/b")] {
      _ = conversation.holds.leave(
        Widget(id: id, kind: kind, applySet: set), until: .seconds(30))
    }
    conversation.toldWaiting = [1: [id, other]]
    _ = conversation.holds.tick(at: .seconds(30))
    let time = HostTime(wall: .epoch, uptime: .seconds(31))
    for id in [id, other] { _ = conversation.tellEnds(of: [id]) }
    let first = toldEnds(&conversation)
    #expect(first == [[id], [id, other]])
    conversation.settle(at: time)
    let unchanged = toldEnds(&conversation)
    #expect(unchanged == [])
    conversation.holds.resume(["bundle/a"], until: .seconds(60))
    for _ in 0..<2 { conversation.settle(at: time) }
    let rest = toldEnds(&conversation)
    #expect(rest == [[other]])
  }

  /// A version that has the widget again is loaded before the removal, and the next one lacks it.
  @Test func `an instance hears that the time of a widget begins again`() throws {
    let bundle = try BundleReader.read(
      "{bundle: a, format: 1, version: 1.0.0, kinds: {k: {content: {label: x}}},"
        + " widgets: {w: {kind: k}}}")
    let widget = Widget(id: id, kind: try #require(KindName("k")), applySet: "bundle/a")
    var conversation = DaemonConversation(limits: HostLimits())
    _ = conversation.holds.leave(widget, until: .seconds(30))
    conversation.toldWaiting = [1: [id]]
    _ = conversation.holds.tick(at: .seconds(30))
    _ = conversation.tellEnds(of: [id])
    conversation.holds.suspend(BundleClaims(of: bundle))
    let time = HostTime(wall: .epoch, uptime: .seconds(31))
    conversation.settle(at: time)
    let early = toldEnds(&conversation)
    #expect(early == [[id]])
    _ = conversation.holds.leave(widget, until: .seconds(60))
    conversation.settle(at: time)
    let late = toldEnds(&conversation)
    #expect(late == [[]])
  }

  @Test func `a wait that ends without news is over for the instance`() throws {
    let other = try #require(WidgetID("v"))
    var conversation = DaemonConversation(limits: HostLimits())
    conversation.toldWaiting = [1: [id, other], 2: [id]]
    conversation.endWaits(of: [id])
    #expect(conversation.toldWaiting == [1: [other]])
  }
}
