import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// Sources that are read at multiples of their interval, when the clock is set.
struct AlignedSourceTests {
  private static let body = """
    data: {seen: {type: timestamp}}
    sources: {day: {timer: 24h, aligned: true, set: {seen: result}}}
    """

  /// The clock shows 08:00.
  private func scene(isAligned: Bool = true) throws -> Scene {
    try Scene(
      isAligned
        ? AlignedSourceTests.body
        : AlignedSourceTests.body.replacing(", aligned: true", with: ""))
  }

  private func step(_ scene: inout Scene, _ step: Duration) {
    scene.time.wall = scene.time.wall.advanced(by: step)
    scene.tell(.tick)
  }

  /// The wait until the next reading.
  private func wait(_ scene: Scene) -> Duration? {
    scene.instance.nextDeadline.map { $0 - scene.time.uptime }
  }

  @Test(arguments: [72, -72, 17, -9])
  func `a step of the clock to another day reads the source at once`(hours: Int) throws {
    var scene = try scene()
    #expect(wait(scene) == .seconds(16 * 3_600))
    step(&scene, .seconds(hours * 3_600))
    #expect(scene["seen"] == .timestamp(scene.time.wall))
    scene.pass(.seconds(24 * 3_600))
    guard case .timestamp(let seen)? = scene["seen"] else {
      Issue.record("no time")
      return
    }
    #expect(seen.seconds % 86_400 == 0)
  }

  @Test(arguments: [15, -7, 1])
  func `a step of the clock on the same day moves the next reading`(hours: Int) throws {
    var scene = try scene()
    let seen = scene["seen"]
    step(&scene, .seconds(hours * 3_600))
    #expect(scene["seen"] == seen)
    #expect(wait(scene) == .seconds((16 - hours) * 3_600))
  }

  @Test func `a small difference of the clocks, or the time that passes, moves no reading`() throws
  {
    var scene = try scene()
    step(&scene, .milliseconds(900))
    #expect(wait(scene) == .seconds(16 * 3_600))
    scene.pass(.seconds(3_600))
    scene.tell(.tick)
    #expect(wait(scene) == .seconds(15 * 3_600))
  }

  @Test func `a source that is not aligned does not follow the clock`() throws {
    var scene = try scene(isAligned: false)
    let seen = scene["seen"]
    step(&scene, .seconds(72 * 3_600))
    #expect(scene["seen"] == seen && wait(scene) == .seconds(24 * 3_600))
    #expect(!scene.instance.hasAlignedSources)
  }

  @Test func `the host tells a bundle with an aligned source that the clock was set`() throws {
    var now = HostTime(
      wall: Timestamp(nanosecondsSinceEpoch: 1_800_000_000_000_000_000), uptime: .zero)
    var state = HostState(home: "/home/me", seed: 1)
    _ = state.daemonIsBack(at: now)
    #expect(!state.followsClock)
    let bundle = try Scene.bundle(AlignedSourceTests.body)
    let found = state.found(.bundle(bundle, digest: 1), in: "/b/b", at: now)
    let generation = try #require(found.generations.first)
    #expect(state.followsClock)
    let widget = Widget(id: try need(WidgetID("w")), kind: try need(KindName("k")), revision: 1)
    func changes(_ outputs: [HostState.Output]) -> [RequestID] {
      outputs.compactMap {
        if case .effect(.patch(let request, _, _)) = $0 { request } else { nil }
      }
    }
    for request in changes(state.handle(.snapshot([widget]), generation: generation, at: now)) {
      _ = state.handle(.sent(request, 2), generation: generation, at: now)
    }
    now.wall = now.wall.advanced(by: .seconds(72 * 3_600))
    #expect(changes(state.tick(at: now)).isEmpty)
    #expect(!changes(state.tick(at: now, isClockSet: true)).isEmpty)
  }
}
