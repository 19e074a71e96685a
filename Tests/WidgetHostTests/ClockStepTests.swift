import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// Steps of the wall clock. The host measures ages in its uptime.
extension FailureTests {
  static let clockSteps = [3_600, -3_600, 30 * 86_400, -30 * 86_400]

  private func step(_ scene: inout Scene, _ seconds: Int) {
    scene.time.wall = scene.time.wall.advanced(by: .seconds(seconds))
  }

  @Test(arguments: FailureTests.clockSteps)
  func `the time of a failure until its widget is stale does not follow the clock`(
    seconds: Int
  ) throws {
    var scene = try scene(stale: ", staleAfter: 5s")
    try fail(&scene)
    step(&scene, seconds)
    for _ in 0..<5 {
      #expect(!isStale(scene))
      try fail(&scene)
    }
    #expect(isStale(scene))
    step(&scene, -seconds)
    try fail(&scene)
    #expect(isStale(scene))
  }

  @Test(arguments: FailureTests.clockSteps)
  func `a new version keeps the age of a failure after a step of the clock`(seconds: Int) throws {
    var scene = try scene(stale: ", staleAfter: 5s")
    try fail(&scene)
    let former = scene.instance
    step(&scene, seconds)
    scene.instance = BundleInstance(
      former.bundle, generation: 2, folder: "/bundles/b", home: "/home/me", limits: HostLimits(),
      isReload: true, seed: 8)
    scene.instance.keepAges(of: former)
    scene.tell(.snapshot(Array(scene.widgets.values)))
    #expect(!isStale(scene))
    for _ in 0..<4 {
      try fail(&scene)
      #expect(!isStale(scene))
    }
    try fail(&scene)
    #expect(isStale(scene))
  }

  /// The event comes again to the same host, or to the next one.
  @Test(arguments: FailureTests.clockSteps, [true, false])
  func `an event whose outcome is written does nothing after a step of the clock`(
    seconds: Int, isSameHost: Bool
  ) throws {
    let body = "{data: {n: 0}, on: {go: [{command: [x]}]}}"
    var scene = try Scene(body, permissions: "{commands: [x]}")
    let event = Event(
      sequence: 1, widgetID: try #require(WidgetID("w")), name: "go", time: scene.time.wall,
      wantsOutcome: true)
    scene.tell(.event(event))
    try scene.print(scene.program()?.id, "")
    #expect(outcome(scene) == .string("success"))
    if !isSameHost { scene = try next(scene, body, permissions: "{commands: [x]}") }
    step(&scene, seconds)
    scene.tell(.event(event))
    #expect(scene.program() == nil)
    #expect(outcome(scene) == .string("success"))
  }

  /// The next host begins after the step, so the event can have a later time than its beginning.
  @Test(arguments: FailureTests.clockSteps)
  func `the next host knows an event by its revision, whatever the clock shows`(
    seconds: Int
  ) throws {
    let body = "{data: {n: 0}, on: {go: [{command: [x]}]}}"
    var scene = try Scene(body, permissions: "{commands: [x]}")
    step(&scene, seconds)
    let event = Event(
      sequence: 1, widgetID: try #require(WidgetID("w")), name: "go", time: scene.time.wall,
      revision: scene.revision, wantsOutcome: true)
    scene.tell(.event(event))
    try scene.print(scene.program()?.id, "")
    // The clock of the next host is as before the step.
    scene = try next(scene, body, permissions: "{commands: [x]}")
    scene.tell(.event(event))
    #expect(scene.program() == nil)
    #expect(outcome(scene) == .string("success"))
  }
}

struct RenamingTests {
  /// The folder of bundle `a` is renamed, and the id in its file is changed. The daemon refuses
  /// bundle `b`, because `a` has the kind.
  @Test(arguments: [1, 6], FailureTests.clockSteps)
  func `a refused bundle is a copy of a missing one by its age, whatever the clock shows`(
    seconds: Int, step: Int
  ) throws {
    var now = HostTime(wall: .epoch.advanced(by: .seconds(100 * 86_400)), uptime: .zero)
    var state = HostState(home: "/home/me", seed: 1)
    _ = state.daemonIsBack(at: now)
    for (id, refusal) in [("a", nil), ("b", "no")] as [(String, String?)] {
      let found = state.found(try bundle(id), in: "/b/\(id)", at: now)
      let generation = try #require(found.generations.first)
      _ = state.declared(generation: generation, refusal: refusal, at: now)
    }
    now.uptime += .seconds(seconds)
    now.wall = now.wall.advanced(by: .seconds(seconds + step))
    let outputs = state.lost("/b/a", .missing, at: now)
    #expect(outputs.handedOver == (seconds < 5 ? ["a -> b"] : []))
  }

  private func bundle(_ id: String) throws -> HostState.Found {
    let file = try BundleReader.read(
      """
      {bundle: \(id), format: 1, version: 1.0.0,
       kinds: {k: {data: {n: 1}, content: {label: x}}}, widgets: {w: {kind: k}}}
      """)
    return .bundle(file, digest: 1)
  }
}
