import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// Sources that are read only while their widget is watched.
struct AudienceTests {
  private static func body(_ source: String) -> String {
    """
    data: {n: 0}
    sources:
      s: {\(source), whileWatched: true, set: {n: int(result)}}
    """
  }

  private static let command = "command: [measure], every: 10s, parse: text"

  /// A host whose daemon reports watchers, with the widget `w`, which is not watched.
  private func scene(
    _ source: String = AudienceTests.command, isStub: Bool = false
  ) throws -> Scene {
    var scene = try Scene(
      AudienceTests.body(source), permissions: "{commands: [measure], read: [/etc]}", widgets: [],
      isStub: isStub)
    scene.instance.trace(until: .seconds(10_000))
    scene.tell(.opened(epoch: 1, tellsAudience: true))
    let id = try need(WidgetID("w"))
    scene.widgets[id] = Widget(id: id, kind: try need(KindName("k")), data: ["n": .int(0)])
    scene.tell(.snapshot(Array(scene.widgets.values)))
    return scene
  }

  private func watch(_ scene: inout Scene, _ isWatched: Bool) throws {
    let id = try need(WidgetID("w"))
    scene.tell(.audience(attached: isWatched ? [id] : [], detached: isWatched ? [] : [id]))
  }

  private func texts(_ scene: inout Scene) -> [String] {
    scene.taken().flatMap { effect -> [String] in
      if case .trace(_, let lines, _) = effect { lines.map(\.text) } else { [] }
    }
  }

  @Test func `a source is not read before somebody watches, and then at once`() throws {
    var scene = try scene()
    scene.tell(.audience(attached: [], detached: []))
    scene.pass(.seconds(100))
    #expect(scene.program() == nil)
    #expect(texts(&scene).contains("is off: no client watches the widget"))
    try watch(&scene, true)
    try scene.print(scene.program()?.id, "7")
    #expect(scene["n"] == .int(7))
    #expect(texts(&scene).contains("is on: a client watches the widget"))
    scene.pass(.seconds(10))
    #expect(scene.program() != nil)
  }

  @Test func `watchers that come and go do not shorten the interval`() throws {
    var scene = try scene()
    try watch(&scene, true)
    try scene.print(scene.program()?.id, "1")
    scene.pass(.seconds(4))
    try watch(&scene, false)
    scene.pass(.seconds(2))
    try watch(&scene, true)
    #expect(scene.program() == nil)
    scene.pass(.milliseconds(3_999))
    #expect(scene.program() == nil)
    scene.pass(.milliseconds(1))
    try scene.print(scene.program()?.id, "2")
    try watch(&scene, false)
    scene.pass(.seconds(60))
    #expect(scene.program() == nil)
    try watch(&scene, true)
    #expect(scene.program() != nil)
  }

  @Test func `an aligned source is read for the next watcher if its time has passed meanwhile`()
    throws
  {
    // The clock shows 08:00.
    var scene = try scene("timer: 24h, aligned: true")
    try watch(&scene, true)
    let first = scene["n"]
    try watch(&scene, false)
    scene.pass(.seconds(15 * 3_600))
    try watch(&scene, true)
    #expect(scene["n"] == first)
    try watch(&scene, false)
    scene.pass(.seconds(2 * 3_600))
    try watch(&scene, true)
    #expect(scene["n"] == .int(Int64(scene.time.wall.seconds)))
  }

  @Test func `a condition that fails when somebody watches is a failure of the source`() throws {
    var scene = try scene("command: [measure], when: data.n / data.n == 1")
    try watch(&scene, true)
    #expect(scene.status("s") == .string("failure") && scene.program() == nil)
    try watch(&scene, false)
    #expect(scene.widget?.error == nil)
    try watch(&scene, true)
    #expect(scene.status("s") == .string("failure"))
    try scene.change { $0.data["n"] = .int(1) }
    #expect(scene.program() != nil)
  }

  @Test func `a reading is cancelled when nobody watches, and starts again for the next watcher`()
    throws
  {
    var scene = try scene()
    try watch(&scene, true)
    let first = try need(scene.program())
    try watch(&scene, false)
    #expect(scene.cancelled() == first.id)
    try watch(&scene, true)
    #expect(scene.program() != nil)
  }

  @Test func `failures and staleness do not count while nobody watches`() throws {
    var scene = try scene()
    let id = try need(WidgetID("w"))
    try watch(&scene, true)
    scene.tell(.failed(try need(scene.program()).id, Failure("NOT_FOUND", "gone")))
    #expect(scene.widgets[id]?.error != nil)
    try watch(&scene, false)
    #expect(scene.widgets[id]?.error == nil)
    scene.pass(.seconds(3_600))
    #expect(scene.widgets[id]?.isStale == false)
    // The source that failed last is tried at once.
    try watch(&scene, true)
    #expect(scene.program() != nil)
  }

  @Test func `a file is watched only while somebody watches, and read again for the next watcher`()
    throws
  {
    var scene = try scene("file: /etc/n")
    try watch(&scene, true)
    let file = try need(scene.fileWatch())
    try scene.print(scene.fileRequest()?.id, "1")
    try watch(&scene, false)
    #expect(scene.cancelled() == file.id)
    try watch(&scene, true)
    #expect(scene.fileWatch() != nil && scene.fileRequest() != nil)
  }

  @Test func `a continuous program runs only while somebody watches`() throws {
    var scene = try scene("command: [measure], lines: true, parse: text")
    scene.tell(.audience(attached: [], detached: []))
    scene.tell(.asked(try need(WidgetID("w")), isRefresh: true))
    #expect(scene.program() == nil)
    try watch(&scene, true)
    let program = try need(scene.program())
    try watch(&scene, false)
    #expect(scene.cancelled() == program.id)
    try watch(&scene, true)
    #expect(scene.program() != nil)
  }

  @Test func `a refresh reads the source although nobody watches`() throws {
    var scene = try scene()
    scene.tell(.asked(try need(WidgetID("w")), isRefresh: true))
    try scene.print(scene.program()?.id, "5")
    #expect(scene["n"] == .int(5) && scene.answers.count == 1)
    scene.pass(.seconds(100))
    #expect(scene.program() == nil)
  }

  @Test func `a stub of a source is read only while its widget is watched`() throws {
    var scene = try scene("command: [measure], every: 10s, parse: text, stub: '3'", isStub: true)
    scene.pass(.seconds(100))
    #expect(scene["n"] == .int(0))
    try watch(&scene, true)
    #expect(scene["n"] == .int(3))
  }

  @Test func `the known audience stays until the next session reports it`() throws {
    var scene = try scene()
    try watch(&scene, true)
    try scene.print(scene.program()?.id, "1")
    scene.tell(.opened(epoch: 1, tellsAudience: true))
    scene.pass(.seconds(10))
    try scene.print(scene.program()?.id, "2")
    // The first frame has all watched widgets: none.
    scene.tell(.audience(attached: [], detached: []))
    scene.pass(.seconds(100))
    #expect(scene.program() == nil)
    // A daemon that does not report watchers.
    scene.tell(.opened(epoch: 2))
    #expect(scene.program() != nil)
  }

  @Test func `a widget that is removed is not watched any more`() throws {
    var scene = try scene()
    let id = try need(WidgetID("w"))
    try watch(&scene, true)
    _ = scene.program()
    scene.tell(.removed(id))
    scene.tell(.unasked(id))
    scene.tell(.widget(try need(scene.widgets[id])))
    #expect(scene.program() == nil)
  }

  @Test func `sources without whileWatched are read although nobody watches`() throws {
    var scene = try Scene(
      "data: {n: 0}\nsources: {s: {command: [measure], every: 10s, set: {n: int(result)}}}",
      permissions: "{commands: [measure]}")
    _ = scene.program()
    scene.tell(.opened(epoch: 1, tellsAudience: true))
    scene.tell(.audience(attached: [], detached: []))
    #expect(scene.cancelled() == nil)
  }
}
