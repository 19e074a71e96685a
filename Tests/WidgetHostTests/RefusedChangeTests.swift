import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// Changes that the daemon refuses, for now or for good.
struct RefusedChangeTests {
  @Test func `a change that the daemon refuses is the failure of its source or action`() throws {
    var instance = BundleInstance(
      try Scene.bundle("data: {n: 0}\nsources: {s: {value: 5, set: {n: result}}}"),
      generation: 1, folder: "/b", home: "/", seed: 1)
    let id = try #require(WidgetID("w"))
    let kind = try #require(KindName("k"))
    let now = HostTime(wall: .epoch, uptime: .zero)
    let first = instance.handle(
      .snapshot([Widget(id: id, kind: kind, data: ["n": .int(0)], revision: 1)]), at: now)
    guard case .patch(let request, _, let patch)? = first.first else {
      Issue.record("no change")
      return
    }
    #expect(patch.setData["n"] == .int(5))
    let full = Failure("RESOURCE_EXHAUSTED", "full")
    let second = instance.handle(.failed(request, full), at: now)
    guard case .patch(let next, _, let told)? = second.last else {
      Issue.record("nothing is told: \(second)")
      return
    }
    #expect(told.setData.keys == ["status"])
    guard case .map(let all)? = told.setData["status"], case .map(let status)? = all["s"] else {
      Issue.record("no status")
      return
    }
    #expect(status["code"] == .string("RESOURCE_EXHAUSTED"))
    // If even this change is refused, no further change follows.
    let third = instance.handle(.failed(next, full), at: now)
    #expect(!third.contains { if case .patch = $0 { true } else { false } })
  }

  @Test func `a change that the daemon refuses for now fails the bundle, until it is taken`() throws
  {
    var scene = try Scene("data: {n: 0}\nsources: {s: {timer: 1s, set: {n: data.n + 1}}}")
    scene.isBusy = true
    scene.pass(.seconds(1))
    var refusal = Failure("UNAVAILABLE", "no space left", isTransient: true)
    refusal.refusal = "STORAGE_FAILED"
    guard case .patch(let request, let id, _)? = patches(&scene).first else {
      Issue.record("no change")
      return
    }
    let since = scene.time.wall
    scene.tell(.failed(request, refusal))
    #expect(
      scene.instance.failures == [
        BundleFailure(
          widgetID: id, title: "Update refused", message: "no space left", code: "UNAVAILABLE",
          since: since)
      ])
    // The host's log has one line for all widgets.
    #expect(!scene.taken().contains { if case .report = $0 { true } else { false } })
    scene.pass(.seconds(1))
    guard case .patch(let again, _, let patch)? = patches(&scene).first else {
      Issue.record("not sent again")
      return
    }
    #expect(patch.error == nil)
    scene.tell(.sent(again, 9))
    #expect(scene.instance.failures == [])
  }

  @Test(arguments: ["NOT_FOUND", "PERMISSION_DENIED"])
  func `a mark that the daemon refuses for good is set again only after news of the widget`(
    code: String
  ) throws {
    var scene = try Scene("data: {n: 0}")
    scene.isBusy = true
    scene.take(scene.instance.setProblem("the folder is missing", isAbsent: true, at: scene.time))
    guard case .patch(let request, let id, let patch)? = patches(&scene).first else {
      Issue.record("no mark")
      return
    }
    #expect(patch.error??.message == "the folder is missing")
    scene.tell(.failed(request, Failure(code, "no")))
    scene.pass(.seconds(60))
    #expect(patches(&scene).isEmpty)
    var widget = try #require(scene.widgets[id])
    widget.revision += 1
    scene.tell(.widget(widget))
    #expect(patches(&scene).count == 1)
  }

  @Test func `the log has the beginning and the end of refusals, and not each`() {
    var refusals = ChangeRefusals(HostLimits())
    var failure = Failure("UNAVAILABLE", "full", isTransient: true)
    // A lost connection is reported otherwise.
    #expect(refusals.refused(failure, at: .zero) == nil)
    failure.refusal = "STORAGE_FAILED"
    let begun = (0..<100).compactMap { refusals.refused(failure, at: .seconds($0)) }
    #expect(begun.count == 1 && begun[0].hasSuffix(": full"))
    // Almost full: small changes are taken, large ones are not.
    for second in 100..<200 {
      refusals.taken()
      #expect(refusals.refused(failure, at: .seconds(second)) == nil)
    }
    #expect(refusals.deadline == nil)
    refusals.taken()
    #expect(refusals.deadline == .seconds(204))
    #expect(refusals.tick(at: .seconds(203)) == nil)
    #expect(refusals.tick(at: .seconds(204)) == "the daemon takes changes again")
    #expect(refusals.deadline == nil)
    #expect(refusals.refused(failure, at: .seconds(300)) != nil)
  }

  @Test func `two alternating reasons of refusals are logged once each`() {
    var refusals = ChangeRefusals(HostLimits())
    let reasons = ["STORAGE_FAILED", "QUOTA_EXCEEDED"]
    var lines: [String] = []
    for second in 0..<100 {
      var failure = Failure("UNAVAILABLE", reasons[second % 2], isTransient: true)
      failure.refusal = reasons[second % 2]
      lines += [refusals.refused(failure, at: .seconds(second))].compactMap(\.self)
    }
    #expect(lines.count == 2)
    // The reasons are news again after the end.
    refusals.taken()
    #expect(refusals.tick(at: .seconds(200)) != nil)
    var failure = Failure("UNAVAILABLE", "full", isTransient: true)
    for reason in reasons {
      failure.refusal = reason
      #expect(refusals.refused(failure, at: .seconds(300)) != nil)
    }
  }

  @Test func `the log names a bounded number of reasons for refusals`() {
    var refusals = ChangeRefusals(HostLimits())
    let lines = (0..<1_000).compactMap { index in
      var failure = Failure("UNAVAILABLE", "x", isTransient: true)
      failure.refusal = "R\(index)"
      return refusals.refused(failure, at: .seconds(index))
    }
    #expect(lines.count == ChangeRefusals.reasonsMax)
  }

  /// The news after a refused change.
  private func outcome(_ effects: [Effect], of event: String) -> ValueMap? {
    for case .patch(_, _, let patch) in effects {
      if case .map(let all)? = patch.setData["status"], case .map(let told)? = all["$outcomes"],
        case .map(let outcome)? = told[event]
      {
        return outcome
      }
    }
    return nil
  }

  @Test func `the outcome of an event reports that its change was refused`() throws {
    var scene = try Scene("data: {n: 0}\non: {go: [{set: {n: 1}}, {reload: all}]}")
    scene.isBusy = true
    try scene.event("go", wantsOutcome: true)
    guard case .fetchWidget(let fetch, let id)? = scene.taken().first else {
      Issue.record("the event is not followed")
      return
    }
    scene.tell(.fetched(fetch, try need(scene.widgets[id])))
    guard case .patch(let request, _, let patch)? = scene.taken().last else {
      Issue.record("no change")
      return
    }
    #expect(patch.setData["n"] == .int(1) && outcome([.patch(request, id, patch)], of: "1") != nil)
    scene.tell(.failed(request, Failure("RESOURCE_EXHAUSTED", "full")))
    let told = try need(outcome(scene.effects, of: "1"))
    #expect(told["failed"] == .bool(true) && told["code"] == .string("RESOURCE_EXHAUSTED"))
  }

  private func patches(_ scene: inout Scene) -> [Effect] {
    scene.taken().filter { if case .patch = $0 { true } else { false } }
  }

  @Test func `an outcome arrives although other data of the same change is refused`() throws {
    var scene = try Scene(
      "data: {n: 0}\nsources: {s: {http: http://a.example/, every: 10s, set: {n: result.size()}}}\n"
        + "on: {go: [{reload: all}]}", permissions: "{hosts: [a.example]}")
    scene.isBusy = true
    try scene.answer(scene.webRequest()?.id, 500)
    // The change is under way. The next change has the values that come meanwhile.
    guard case .patch(let first, _, _)? = patches(&scene).last else {
      Issue.record("no change")
      return
    }
    scene.pass(.seconds(10))
    try scene.answer(scene.webRequest()?.id, 200, "[1, 2]")
    try scene.event("unknown", wantsOutcome: true)
    scene.tell(.sent(first, 100))
    guard case .patch(let second, _, let patch)? = patches(&scene).last else {
      Issue.record("no second change: \(scene.effects) \(scene.instance.requests)")
      return
    }
    #expect(patch.setData["n"] == .int(2))
    scene.tell(.failed(second, Failure("RESOURCE_EXHAUSTED", "full")))
    let told = try need(outcome(scene.effects, of: "1"))
    #expect(told["succeeded"] == .bool(true))
    // If only the status is refused, the outcome is sent once more alone.
    guard case .patch(let third, _, _)? = patches(&scene).last else {
      Issue.record("the failure is not told")
      return
    }
    scene.tell(.failed(third, Failure("RESOURCE_EXHAUSTED", "full")))
    guard case .patch(let fourth, _, let least)? = patches(&scene).last else {
      Issue.record("it is not told again")
      return
    }
    #expect(outcome([.patch(fourth, try need(WidgetID("w")), least)], of: "1") != nil)
    scene.tell(.failed(fourth, Failure("RESOURCE_EXHAUSTED", "full")))
    #expect(!scene.taken().contains { if case .patch = $0 { true } else { false } })
  }

  @Test func `a change that is refused for now is made later, with the later changes`()
    throws
  {
    var instance = BundleInstance(
      try Scene.bundle("data: {n: 0, m: 0}\non: {click: [{set: {n: data.n + 1}}, {reload: all}]}"),
      generation: 1, folder: "/b", home: "/", seed: 1)
    let id = try #require(WidgetID("w"))
    let kind = try #require(KindName("k"))
    func at(_ seconds: Int) -> HostTime { HostTime(wall: .epoch, uptime: .seconds(seconds)) }
    _ = instance.handle(
      .snapshot([Widget(id: id, kind: kind, data: ["n": .int(0)], revision: 1)]), at: at(0))
    /// The effects of an event, once the daemon's answer is known.
    func click(_ sequence: UInt64) -> [Effect] {
      let event = Event(sequence: sequence, widgetID: id, name: "click")
      guard case .fetchWidget(let request, _)? = instance.handle(.event(event), at: at(1)).first
      else { return [] }
      return instance.handle(.failed(request, Failure("UNAVAILABLE", "away")), at: at(1))
    }
    guard case .patch(let request, _, _)? = click(1).first else {
      Issue.record("no change")
      return
    }
    // While a change is under way, others wait and go together.
    #expect(click(2).isEmpty)
    let lost = Failure("UNAVAILABLE", "away", isTransient: true)
    #expect(instance.handle(.failed(request, lost), at: at(1)).isEmpty)
    let later = instance.handle(.tick, at: at(3))
    guard case .patch(_, _, let patch)? = later.first, later.count == 1 else {
      Issue.record("not made again: \(later)")
      return
    }
    #expect(patch.setData == ["n": .int(2)])
  }
}
