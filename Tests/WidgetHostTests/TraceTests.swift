import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// Traces of a bundle.
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

  private func line(_ bytes: Int) -> TraceLine {
    TraceLine(
      time: .epoch, widgetID: nil, subject: .bundle, name: "b",
      text: String(repeating: "x", count: bytes))
  }

  @Test func `lines are divided among events, and every dropped line is counted`() {
    let lines = [line(10), line(900), line(5000), line(20), line(5000)]
    let batches = TraceLine.batches(lines, dropped: 2, bytesMax: 1200)
    #expect(batches.map { $0.lines.map(\.text.count) } == [[10, 900], [20]])
    #expect(batches.map(\.dropped) == [3, 1])
    for batch in batches {
      #expect(Value.list(batch.lines.map(\.value)).costBytes <= 1200 + 16)
    }
    let none = TraceLine.batches([line(5000)], dropped: 0, bytesMax: 1200)
    #expect(none.count == 1 && none[0].lines.isEmpty && none[0].dropped == 1)
    #expect(TraceLine.batches([], dropped: 0, bytesMax: 1200).isEmpty)
  }

  @Test func `a line has a limit in bytes, too`() throws {
    var scene = try Scene(
      "data: {t: ''}\nsources: {s: {file: '${bundle}/t', every: 1s, set: {t: result}}}")
    scene.instance.trace(until: .seconds(100))
    try scene.print(scene.fileRequest()?.id, "e" + String(repeating: "\u{301}", count: 50_000))
    let texts = scene.taken().flatMap { effect -> [String] in
      if case .trace(_, let lines, _) = effect { lines.map(\.text) } else { [] }
    }
    #expect(texts.contains { $0.hasPrefix("sets t = ") })
    #expect(texts.allSatisfy { $0.utf8.count <= HostLimits().traceTextBytesMax + 3 })
  }

  @Test func `a trace begins with a request and ends with its lease`() throws {
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

  @Test func `a trace has readings and results, without credentials`() throws {
    var scene = try scene()
    try scene.answer(scene.webRequest()?.id, 200, #"{"n": 3}"#)
    _ = scene.taken()
    scene.instance.trace(until: .seconds(100))
    scene.pass(.seconds(10))
    let request = try need(scene.webRequest())
    #expect(
      lines(&scene) == ["source feed: sends a GET request to http://a.example/… (query: key)"])
    try scene.answer(request.id, 200, #"{"n": 4}"#)
    #expect(lines(&scene) == ["source feed: result: a map of 1", "source feed: sets n = 4"])
    scene.pass(.seconds(10))
    _ = lines(&scene)
  }

  @Test func `a trace has only values that every client can read`() throws {
    var scene = try Scene(
      """
      data: {n: 0}
      sources:
        feed: {http: {url: http://a.example/s3cret}, every: 10s, parse: json, set: {n: int(result.n)}}
      actions:
        ask: {do: [{http: {method: POST, url: "http://a.example/ask/s3cret"}, parse: json}]}
        run: {do: [{command: ["true", s3cret, =event.payload.by]}]}
        tell: {do: [{emit: told, payload: {by: =event.payload.by}}]}
      on: {go: [tell, ask, run]}
      """, permissions: "{hosts: [a.example], commands: [\"true\"]}")
    scene.instance.trace(until: .seconds(100))
    try scene.answer(scene.webRequest()?.id, 200, #"{"n": 4, "token": "s3cret"}"#)
    try scene.event("go", ["by": .string("s3cret"), "values": .map(["a": .string("s3cret")])])
    let sent = try need(scene.sentEvent())
    scene.tell(.sent(sent.id, 0))
    try scene.answer(scene.webRequest()?.id, 200, #"{"token": "s3cret"}"#)
    try scene.print(scene.program()?.id, "s3cret")
    try scene.change {
      $0.content = Content(
        rootID: "a", nodes: [Node(id: "a", type: .input, properties: ["value": .string("s3cret")])])
    }
    let told = lines(&scene)
    for words in [
      "result: a map of 2", "event go: received with by, values", "sends told to w with by",
      "sends a POST request to http://a.example/…", "runs true", "value changed", "sets n = 4",
    ] {
      #expect(told.contains { $0.hasSuffix(words) }, "\(words): \(told)")
    }
    #expect(!told.contains { $0.contains("s3cret") }, "\(told)")
  }

  @Test func `a trace has what is asked on D-Bus and in folders, without arguments`() throws {
    let service = "bus: system, name: org.x.P, path: /, interface: org.x.I"
    var scene = try Scene(
      """
      data: {v: null, n: 0}
      sources:
        files: {folder: "${bundle}/in", every: 10s, set: {n: size(result)}}
        state: {dbus: {\(service), properties: [State]}, set: {v: result.State}}
        said: {dbus: {\(service), signal: Said}, set: {v: "result[0]"}}
        list: {dbus: {\(service), call: List}, every: 10s, set: {n: size(result)}}
      actions:
        go: {do: {dbus: {\(service), call: Go, arguments: [=event.payload.to], signature: s}}}
      on: {click: go}
      """, permissions: "{dbus: [org.x.P]}")
    // The first requests were made before the trace.
    let folder = try need(scene.folderRequest())
    let asked = [try need(scene.busRequest()), try need(scene.busRequest())]
    let call = try need(scene.busRequest())
    scene.tell(.value(folder.id, .list([])))
    scene.tell(.value(call.id, .list([])))
    for request in asked { scene.tell(.failed(request.id, Failure("UNAVAILABLE", "ended"))) }
    _ = scene.taken()
    scene.instance.trace(until: .seconds(100))
    scene.pass(.seconds(10))
    let told = lines(&scene)
    for line in [
      "source files: reads the folder /bundles/b/in",
      "source state: follows the properties of org.x.I of org.x.P on the system bus",
      "source said: follows the signal Said of org.x.I of org.x.P on the system bus",
      "source list: calls List of org.x.I of org.x.P on the system bus",
    ] {
      #expect(told.contains(line), "\(line): \(told)")
    }
    try scene.event("click", ["to": .string("s3cret")])
    let step = try need(scene.busRequest())
    scene.tell(.value(step.id, .list([.string("s3cret")])))
    let acted = lines(&scene)
    #expect(acted.contains("action go: calls Go of org.x.I of org.x.P on the system bus"))
    #expect(acted.contains("action go: result: a list of 1"))
    #expect(!acted.contains { $0.contains("s3cret") }, "\(acted)")
  }

  @Test(arguments: [(0, true), (1000, true), (1001, false), (UInt32.max, false)])
  func `only root and the host's user can trace`(uid: UInt32, may: Bool) {
    #expect(HostMachine.mayTrace(EventOrigin(uid: uid, client: "widgetctl"), hostUID: 1000) == may)
  }

  @Test func `a trace has the failures of sources and actions`() throws {
    var scene = try scene()
    scene.instance.trace(until: .seconds(100))
    try scene.answer(scene.webRequest()?.id, 404)
    #expect(
      lines(&scene) == ["source feed: fails: NOT_FOUND: the server answered 404 (not found)"])
    try scene.event("other")
    #expect(lines(&scene).contains { $0.hasPrefix("action on other: fails: PERMISSION_DENIED") })
  }

  @Test func `a trace has events and actions, step by step`() throws {
    var scene = try scene()
    scene.instance.trace(until: .seconds(100))
    try scene.event("go", ["by": .string("me")])
    let request = try need(
      scene.effects.compactMap { effect -> RequestID? in
        if case .web(let id, let request) = effect, request.method == "POST" { id } else { nil }
      }.first)
    #expect(
      lines(&scene) == [
        "event go: received with by", "action on go: starts", "action on go: sets n = 1",
        "action save: starts", "action save: sends a POST request to http://a.example/",
      ])
    try scene.answer(request, 200)
    #expect(lines(&scene).last == "action save: succeeds: Saved")
    try scene.event("nothing")
    #expect(lines(&scene) == ["event nothing: received: the host does nothing for it"])
  }

  @Test func `a trace has what reducers made of an event`() throws {
    var scene = try Scene("data: {n: 4, m: 0}\non: {press: {set: {n: data.n + 1}}}")
    try scene.event("press")
    #expect(lines(&scene) == [])
    scene.instance.trace(until: .seconds(100))
    try scene.event("press")
    #expect(
      lines(&scene) == [
        "event press: received: the daemon has changed the data",
        "event press: after the daemon's reducers: n = 4",
      ])
  }

  @Test func `a trace has changed nodes and their problems`() throws {
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
    #expect(lines(&scene) == ["node a: works again"])
    try scene.change { $0.content = nil }
    #expect(lines(&scene) == ["node a: removed"])
  }

  @Test func `the lines of a trace and their length are limited`() throws {
    var limits = HostLimits()
    (limits.traceLinesMax, limits.traceTextMax) = (2, 10)
    var scene = try scene(limits: limits)
    scene.instance.trace(until: .seconds(100))
    try scene.event("go", ["by": .string("a long\ntext")])
    #expect(
      lines(&scene) == [
        "event go: received w…", "action on go: starts", "action on go: sets n = 1", "2 dropped",
      ])
  }
}
