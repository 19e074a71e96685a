import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// The outcome of an event comes after everything that its steps have started: events and readings.
struct AwaitedOutcomeTests {
  private func outcome(_ scene: Scene, _ detail: String = "state") -> Value? {
    guard case .map(let all)? = scene["status"],
      case .map(let told)? = all[BundleScope.outcomesKey], case .map(let one)? = told["1"]
    else { return nil }
    return one[detail]
  }

  /// Accepts the event that a step sends, and brings it back as the daemon does.
  private func deliver(_ scene: inout Scene) throws {
    let sent = try need(scene.sentEvent())
    scene.tell(.emitted(sent.id, sequence: scene.sequence + 1))
    try scene.event(sent.name, sent.payload, client: BundleInstance.sender)
  }

  @Test(arguments: [("", "success"), ("no", "failure")])
  func `an event waits for the event that its step sends`(error: String, state: String) throws {
    var scene = try Scene(
      """
      on: {a: {emit: b}, b: {command: [x]}}
      """, permissions: "{commands: [x]}")
    try scene.event("a", wantsOutcome: true)
    try deliver(&scene)
    #expect(outcome(scene) == nil)
    let program = try need(scene.program()?.id)
    if error.isEmpty {
      try scene.print(program, "")
    } else {
      scene.tell(.failed(program, Failure("ABORTED", error)))
    }
    #expect(outcome(scene) == .string(state))
  }

  @Test(arguments: [
    ("{actions: {a: {do: [{command: [x]}]}}, on: {go: a, stop: {cancel: a}}}", "\"a\""),
    ("{actions: {a: {delay: 1s, do: [{command: [x]}]}}, on: {go: a}}", "later event"),
    ("{actions: {a: {delay: 1s, do: [{command: [x]}]}}, on: {go: a, stop: a}}", "later event"),
    ("{on: {go: {throttle: 1s, do: [{command: [x]}]}}}", "later event"),
  ])
  func `an event whose action is cancelled is not done`(kind: String, reason: String) throws {
    var scene = try Scene(kind, permissions: "{commands: [x]}")
    try scene.event("go", wantsOutcome: true)
    #expect(outcome(scene) == nil)
    try scene.event(kind.contains("stop") ? "stop" : "go")
    #expect(outcome(scene) == .string("cancelled"))
    #expect(outcome(scene, "failed") == .bool(true))
    #expect(outcome(scene, "code") == .string("CANCELLED"))
    guard case .string(let message)? = outcome(scene, "message") else {
      Issue.record("no message")
      return
    }
    #expect(message.contains(reason))
  }

  @Test func `an event loop is a failed outcome`() throws {
    var scene = try Scene("on: {a: {emit: a}}")
    try scene.event("a", wantsOutcome: true)
    for _ in 1..<HostLimits().chainMax {
      #expect(outcome(scene) == nil)
      try deliver(&scene)
    }
    #expect(scene.sentEvent()?.name == "error")
    #expect(outcome(scene, "code") == .string("RESOURCE_EXHAUSTED"))
  }

  @Test func `a loop of life events is a failed outcome`() throws {
    var limits = HostLimits()
    limits.chainMax = 4
    var scene = try Scene(
      "{data: {n: 0}, actions: {a: {do: [{set: {n: data.n + 1}}, {reload: all}]}}, "
        + "on: {go: a, a.success: a}}", limits: limits)
    try scene.event("go", wantsOutcome: true)
    for _ in 0..<limits.chainMax where outcome(scene) == nil { try deliver(&scene) }
    #expect(outcome(scene, "code") == .string("RESOURCE_EXHAUSTED"))
  }

  @Test(arguments: ["{reload: s}", "s", "{do: [], then: s}"])
  func `an event waits for the reading that its step asks for`(step: String) throws {
    for (error, state) in [("", "success"), ("no", "failure")] {
      var scene = try Scene(
        """
        sources: {s: {command: [x], start: false}}
        on: {a: \(step)}
        """, permissions: "{commands: [x]}")
      try scene.event("a", wantsOutcome: true)
      #expect(outcome(scene) == nil)
      let program = try need(scene.program()?.id)
      if error.isEmpty {
        try scene.print(program, "")
      } else {
        scene.tell(.failed(program, Failure("ABORTED", error)))
      }
      #expect(outcome(scene) == .string(state))
    }
  }

  @Test func `a reading that cannot begin is a failed outcome`() throws {
    var scene = try Scene(
      """
      data: {n: 0}
      sources: {s: {value: =1 / data.n, start: false, set: {n: result}}}
      on: {a: s}
      """)
    try scene.event("a", wantsOutcome: true)
    #expect(outcome(scene) == .string("failure"))
  }

  @Test func `an event does not wait for continuous sources or for false conditions`() throws {
    var scene = try Scene(
      """
      sources:
        s: {command: [x], lines: true, start: false}
        t: {command: [y], when: false, start: false}
      on: {a: [s, t]}
      """, permissions: "{commands: [x, y]}")
    try scene.event("a", wantsOutcome: true)
    #expect(outcome(scene) == .string("success"))
  }
}
