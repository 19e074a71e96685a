import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// What a bundle tells of itself while somebody asks.
struct TraceTests {
  private static let body = """
    data: {n: 0, q: secret}
    sources:
      feed: {http: {url: "http://a.example/feed", query: {key: =data.q}, headers: {X: hidden}},
             every: 10s, parse: json, set: {n: int(result.n)}}
    actions:
      save: {do: [{http: {method: POST, url: "http://a.example/", json: {a: hidden}}}], message: Saved}
    on: {go: [{set: {n: data.n + 1}}, save], other: [{command: [=data.q]}]}
    """

  private func lines(_ scene: inout Scene) -> [String] {
    scene.taken().flatMap { effect -> [String] in
      guard case .trace(_, let lines, let dropped) = effect else { return [] }
      return lines.map { "\($0.subject) \($0.name): \($0.text)" }
        + (dropped > 0 ? ["\(dropped) dropped"] : [])
    }
  }

  private func scene(limits: HostLimits = HostLimits()) throws -> Scene {
    try Scene(TraceTests.body, permissions: "{hosts: [a.example]}", limits: limits)
  }

  @Test func `nothing is told until somebody asks, and after the time is over`() throws {
    var scene = try scene()
    try scene.answer(scene.webRequest()?.id, 200, #"{"n": 3}"#)
    #expect(lines(&scene) == [])
    scene.instance.trace(until: scene.time.uptime + .seconds(15))
    scene.pass(.seconds(10))
    #expect(scene.effects.contains { if case .trace = $0 { true } else { false } })
    try scene.answer(scene.webRequest()?.id, 200, #"{"n": 4}"#)
    _ = lines(&scene)
    scene.pass(.seconds(10))
    try scene.answer(scene.webRequest()?.id, 200, #"{"n": 5}"#)
    #expect(lines(&scene) == [])
  }

  @Test func `readings and results are told, without what authenticates`() throws {
    var scene = try scene()
    try scene.answer(scene.webRequest()?.id, 200, #"{"n": 3}"#)
    _ = scene.taken()
    scene.instance.trace(until: .seconds(100))
    scene.pass(.seconds(10))
    let request = try need(scene.webRequest())
    #expect(lines(&scene) == ["source feed: requests GET http://a.example/feed with key"])
    try scene.answer(request.id, 200, #"{"n": 4}"#)
    #expect(lines(&scene) == [#"source feed: result {"n":4}"#, "source feed: sets n = 4"])
    scene.pass(.seconds(10))
    _ = lines(&scene)
  }

  @Test func `failures are told`() throws {
    var scene = try scene()
    scene.instance.trace(until: .seconds(100))
    try scene.answer(scene.webRequest()?.id, 404)
    #expect(
      lines(&scene) == ["source feed: fails: NOT_FOUND: the server answered 404 (not found)"])
    try scene.event("other")
    #expect(lines(&scene).contains { $0.hasPrefix("action on other: fails: PERMISSION_DENIED") })
  }

  @Test func `events and actions are told, step by step`() throws {
    var scene = try scene()
    scene.instance.trace(until: .seconds(100))
    try scene.event("go", ["by": .string("me")])
    let request = try need(
      scene.effects.compactMap { effect -> RequestID? in
        if case .web(let id, let request) = effect, request.method == "POST" { id } else { nil }
      }.first)
    #expect(
      lines(&scene) == [
        #"event go: {"by":"me"}"#, "action on go: begins", "action on go: sets n = 1",
        "action save: begins", "action save: requests POST http://a.example/",
      ])
    try scene.answer(request, 200)
    #expect(lines(&scene).last == "action save: succeeds: Saved")
    try scene.event("nothing")
    #expect(lines(&scene) == ["event nothing: {}: the host has nothing to do for it"])
  }

  @Test func `what is shown is told, and what is wrong with it`() throws {
    var scene = try scene()
    scene.instance.trace(until: .seconds(100))
    try scene.change {
      $0.content = Content(
        rootID: "a", nodes: [Node(id: "a", type: .label, properties: ["text": .string("x")])])
    }
    #expect(lines(&scene) == [#"node a: text = "x""#])
    try scene.change { $0.content?.nodes[0].problem = "no such key" }
    #expect(lines(&scene) == ["node a: problem: no such key"])
    try scene.change { $0.content?.nodes[0].problem = "" }
    #expect(lines(&scene) == ["node a: is right again"])
    try scene.change { $0.content = nil }
    #expect(lines(&scene) == ["node a: is gone"])
  }

  @Test func `so many lines are told at once, of so many characters`() throws {
    var limits = HostLimits()
    (limits.traceLinesMax, limits.traceTextMax) = (2, 10)
    var scene = try scene(limits: limits)
    scene.instance.trace(until: .seconds(100))
    try scene.event("go", ["by": .string("a long\ntext")])
    #expect(
      lines(&scene) == [
        #"event go: {"by":"a l…"#, "action on go: begins", "action on go: sets n = 1", "2 dropped",
      ])
  }
}
