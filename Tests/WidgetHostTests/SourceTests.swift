import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// The sources of data, as values in and values out.
struct SourceTests {
  @Test func `a source is read again when a value that its input reads changes`() throws {
    var scene = try Scene(
      """
      parameters: {user: {type: string, default: me}}
      data: {city: Ulm, note: "", other: 0}
      sources: {feed: {http: {url: "http://h/x", query: {q: =data.city}}, set: {note: result}}}
      """, permissions: "{hosts: [h]}")
    let first = try need(scene.webRequest())
    #expect(first.request.address.query == "q=Ulm")
    try scene.answer(first.id, 200, "\"1\"")
    scene.pass(.seconds(1))
    try scene.change { $0.data["other"] = .int(1) }
    #expect(scene.webRequest() == nil)
    try scene.change { $0.data["city"] = .string("Bonn") }
    let second = try need(scene.webRequest())
    #expect(second.request.address.query == "q=Bonn")
    // The value changes again during the reading, so the source is read once more, for the last
    // value.
    try scene.change { $0.data["city"] = .string("Kiel") }
    try scene.change { $0.data["city"] = .string("Jena") }
    #expect(scene.webRequest() == nil)
    try scene.answer(second.id, 200, "\"2\"")
    scene.pass(.seconds(1))
    #expect(try need(scene.webRequest()).request.address.query == "q=Jena")
    #expect(scene.webRequest() == nil)
  }

  /// While the host restores a kind that somebody has removed, widgets lack its defaults.
  @Test func `expressions have the defaults of data and parameters that a widget lacks`() throws {
    var scene = try Scene(
      """
      parameters: {step: {type: int, default: 2}}
      data: {n: 0}
      sources: {count: {value: =data.n + parameters.step, every: 1s, set: {n: result}}}
      """)
    #expect(scene["n"] == .int(2))
    scene.pass(.seconds(1))
    #expect(scene["n"] == .int(4))
    try scene.change { $0.data["n"] = nil }
    scene.pass(.seconds(1))
    #expect(scene.widget?.error == nil)
    #expect(scene["n"] == .int(2))
  }

  @Test func `a default that a widget lacks for a moment reads no source again`() throws {
    var scene = try Scene(
      """
      parameters: {user: {type: string, default: me}}
      data: {note: ""}
      sources: {feed: {http: {url: "http://h/x"}, set: {note: result}}}
      """, permissions: "{hosts: [h]}")
    let first = try need(scene.webRequest())
    try scene.answer(first.id, 200, "\"1\"")
    for value in [.string("me"), nil, .string("me")] as [Value?] {
      scene.pass(.seconds(1))
      try scene.change { $0.parameters["user"] = value }
      #expect(scene.webRequest() == nil)
    }
    scene.pass(.seconds(1))
    try scene.change { $0.parameters["user"] = .string("you") }
    #expect(scene.webRequest() != nil)
  }

  @Test func `a source is not read again because of data that it sets`() throws {
    var scene = try Scene(
      """
      data: {n: 0}
      sources: {count: {value: =data.n + 1, every: 1s, set: {n: result}}}
      """)
    scene.pass(.seconds(10))
    #expect(scene["n"] == .int(11))
  }

  @Test func `a source with a value follows the data that it reads`() throws {
    var scene = try Scene(
      """
      data: {a: 1, sum: 0}
      sources: {sum: {value: =data.a * 2, set: {sum: result}}}
      """)
    #expect(scene["sum"] == .int(2))
    scene.pass(.seconds(1))
    try scene.change { $0.data["a"] = .int(4) }
    scene.pass(.seconds(1))
    #expect(scene["sum"] == .int(8))
  }

  @Test func `a continuous program is restarted with its new arguments`() throws {
    var scene = try Scene(
      """
      data: {name: a, line: ""}
      sources: {log: {command: [tail, =data.name], lines: true, parse: text, set: {line: result}}}
      """, permissions: "{commands: [tail]}")
    let first = try need(scene.program())
    scene.pass(.seconds(1))
    try scene.change { $0.data["name"] = .string("b") }
    #expect(scene.cancelled() == first.id)
    #expect(try need(scene.program()).request.arguments == ["b"])
  }

  @Test
  func `a program's lines are results, one by one, and it is started again with growing waits`()
    throws
  {
    var scene = try Scene(
      """
      data: {line: ""}
      sources: {log: {command: [tail], lines: true, parse: text, set: {line: result}}}
      """, permissions: "{commands: [tail]}")
    let first = try need(scene.program())
    #expect(first.request.isContinuous && first.request.timeout == nil)
    for line in ["a", "b"] {
      scene.tell(.line(first.id, Array(line.utf8)))
      #expect(scene["line"] == .string(line))
    }
    var waits: [Duration] = []
    var id = first.id
    for _ in 0..<4 {
      // A line before the end does not shorten the next wait.
      scene.tell(.line(id, Array("c".utf8)))
      scene.tell(.failed(id, Failure("ABORTED", "ended")))
      #expect(scene.status("log") == .string("failure"))
      let start = scene.time.uptime
      let deadline = try #require(scene.instance.nextDeadline)
      scene.pass(deadline - start)
      waits.append(scene.time.uptime - start)
      id = try need(scene.program()).id
    }
    for (index, wait) in waits.enumerated() {
      let longest = Duration.seconds(1 << index)
      #expect(wait <= longest && wait >= longest / 2)
    }
  }

  @Test
  func `a line for which the filter is false is ignored, without a commit or an event`() throws {
    var scene = try Scene(
      """
      data: {n: 0, seen: 0}
      let: {count: int(result.n)}
      sources:
        log:
          command: [tail]
          lines: true
          parse: json
          filter: result.kind == "count" && count > 0
          set: {n: count}
      on: {log.ready: {set: {seen: data.seen + 1}}}
      """, permissions: "{commands: [tail]}")
    let id = try need(scene.program()).id
    _ = scene.taken()
    scene.patches = []
    for line in [#"{"kind": "other", "n": 3}"#, #"{"kind": "count", "n": 0}"#] {
      scene.tell(.line(id, Array(line.utf8)))
    }
    #expect(scene.patches.isEmpty && scene.taken().isEmpty)
    #expect(scene["n"] == .int(0) && scene.status("log") == .string("running"))
    scene.tell(.line(id, Array(#"{"kind": "count", "n": 5}"#.utf8)))
    #expect(scene["n"] == .int(5) && scene.status("log") == .string("success"))
    #expect(scene.sentEvent()?.name == "log.ready")
    scene.patches = []
    scene.tell(.line(id, Array(#"{"kind": "other", "n": 1}"#.utf8)))
    #expect(scene.patches.isEmpty && scene["n"] == .int(5))
    scene.tell(.line(id, Array(#"{"n": 1}"#.utf8)))
    #expect(scene.status("log", "code") == .string("FAILED_PRECONDITION"), "no kind")
  }

  @Test func `a server is asked with the etag of its last answer, and a 304 changes nothing`()
    throws
  {
    var scene = try Scene(
      """
      data: {n: 0, other: ""}
      sources:
        feed:
          http: {url: "http://127.0.0.1:8080/feed"}
          every: 10s
          parse: json
          set: {n: int(result.n)}
      """, permissions: "{hosts: [\"127.0.0.1:8080\"]}")
    let first = try need(scene.webRequest())
    #expect(first.request.header("If-None-Match") == nil)
    try scene.answer(first.id, 200, #"{"n": 3}"#, etag: "\"x\"")
    #expect(scene["n"] == .int(3))
    scene.pass(.seconds(10))
    let second = try need(scene.webRequest())
    #expect(second.request.header("If-None-Match") == "\"x\"")
    let count = scene.patches.count
    try scene.answer(second.id, 304)
    #expect(scene.patches.count == count)
    #expect(scene.status("feed") == .string("success"))
  }

  @Test func `validators of an answer are used only for the same request`() throws {
    var scene = try Scene(
      """
      data: {n: 0, q: a}
      sources:
        feed:
          http: {url: "http://127.0.0.1:8080/feed", query: {q: =data.q}}
          every: 10s
          parse: json
          set: {n: int(result.n)}
      """, permissions: "{hosts: [\"127.0.0.1:8080\"]}")
    let first = try need(scene.webRequest())
    // Before the answer comes, the data changes the request.
    try scene.change { $0.data["q"] = .string("b") }
    try scene.answer(first.id, 200, #"{"n": 3}"#, etag: "\"of a\"")
    scene.pass(.seconds(1))
    let second = try need(scene.webRequest())
    #expect(second.request.address.query == "q=b")
    #expect(second.request.header("If-None-Match") == nil)
    try scene.answer(second.id, 200, #"{"n": 4}"#, etag: "\"of b\"")
    try scene.change { $0.data["q"] = .string("a") }
    scene.pass(.seconds(1))
    // The validators are those of the last answer.
    #expect(try need(scene.webRequest()).request.header("If-None-Match") == nil)
  }

  @Test(arguments: [false, true])
  func `sources that change each other's input are read ten times a second`(isStub: Bool) throws {
    let input = isStub ? "command: [cat, =string(data.KEY)], stub: 1" : "value: '=data.KEY + 1'"
    let values = isStub ? "{VALUE: data.VALUE + 1}" : "{VALUE: result}"
    func source(_ key: String, _ value: String) -> String {
      "{\(input), set: \(values)}".replacing("KEY", with: key).replacing("VALUE", with: value)
    }
    var scene = try Scene(
      "data: {x: 0, y: 0}\nsources: {a: \(source("y", "x")), b: \(source("x", "y"))}",
      permissions: "{commands: [cat]}", widgets: [], isStub: isStub)
    // Each answer makes the host check the inputs again, so the test gives a limited number of
    // answers.
    scene.isBusy = true
    let id = try need(WidgetID("w"))
    let kind = try need(KindName("k"))
    scene.widgets[id] = Widget(id: id, kind: kind, data: ["x": .int(0), "y": .int(0)], revision: 1)
    var answered = 0
    func answer() {
      let isPatch = { (effect: Effect) in if case .patch = effect { true } else { false } }
      while answered < 500, let place = scene.effects.firstIndex(where: isPatch) {
        answered += 1
        scene.perform(scene.effects.remove(at: place))
      }
    }
    scene.tell(.snapshot([try need(scene.widgets[id])]))
    answer()
    #expect(answered <= 4)
    for _ in 0..<100 {
      scene.pass(.milliseconds(10))
      answer()
    }
    #expect((10...30).contains(answered), "\(answered)")
  }

  @Test func `a server that fails is asked again, less and less often`() throws {
    var scene = try Scene(
      """
      data: {n: 0}
      sources: {feed: {http: {url: "http://a.example/"}, every: 1s, parse: json, set: {n: int(result.n)}}}
      """, permissions: "{hosts: [a.example]}")
    var requests = 0
    for _ in 0..<600 {
      while let request = scene.webRequest() {
        requests += 1
        try scene.answer(request.id, 500)
      }
      scene.pass(.seconds(1))
    }
    #expect(scene.status("feed", "title") == .string("Feed failed"))
    #expect((8...20).contains(requests))
    scene.pass(.seconds(300))
    try scene.answer(try need(scene.webRequest()).id, 200, #"{"n": 1}"#)
    #expect(scene["n"] == .int(1))
    #expect(scene.status("feed") == .string("success"))
    // After a success, the interval is the normal one again.
    scene.pass(.seconds(1))
    #expect(scene.webRequest() != nil)
  }

  @Test func `a source whose condition does not hold is not read until it does`() throws {
    var scene = try Scene(
      """
      data: {n: ""}
      sources: {f: {file: "${bundle}/f", when: widget.visible, every: 1s, set: {n: result}}}
      """)
    try scene.print(scene.fileRequest()?.id, "1")
    let watch = try need(scene.fileWatch())
    try scene.change { $0.presence.isVisible = false }
    #expect(scene.cancelled() == watch.id)
    scene.pass(.seconds(10))
    #expect(scene.fileRequest() == nil)
    try scene.change { $0.presence.isVisible = true }
    #expect(scene.fileRequest() != nil)
  }

  @Test func `aligned intervals end on the clock's multiples`() throws {
    var scene = try Scene(
      """
      data: {seen: {type: timestamp}}
      sources: {tick: {timer: 60s, aligned: true, set: {seen: result}}}
      """)
    scene.time.wall = scene.time.wall.advanced(by: .seconds(17))
    scene.tell(.snapshot([]))
    scene.tell(.snapshot(Array(scene.widgets.values)))
    scene.pass(.seconds(60))
    guard case .timestamp(let seen)? = scene["seen"] else {
      Issue.record("no time")
      return
    }
    #expect(seen.seconds % 60 == 0)
  }

  @Test func `with stubs, sources and actions make no requests`() throws {
    var scene = try Scene(
      """
      data: {items: []}
      sources:
        feed:
          http: {url: "http://a.example/"}
          parse: {format: json, shape: list}
          set: {items: result}
          stub: [1, 2]
      actions:
        go: {do: [{http: {url: "http://a.example/"}, stub: 5}]}
      on: {click: go}
      """, permissions: "{hosts: [a.example]}", isStub: true)
    #expect(scene["items"] == .list([.int(1), .int(2)]))
    try scene.event("click")
    #expect(scene.status("go") == .string("success"))
    #expect(scene.taken().isEmpty)
  }

  @Test func `the number of requests at a time is limited, and the others follow`() throws {
    var limits = HostLimits()
    limits.effectsMax = 3
    var scene = try Scene(
      """
      data: {n: ""}
      sources: {f: {file: "${bundle}/f", set: {n: result}}}
      """, widgets: (0..<10).map { "w\($0)" }, limits: limits)
    var open: [RequestID] = []
    while let request = scene.fileRequest() { open.append(request.id) }
    #expect(open.count == 3)
    var done = 0
    while let id = open.popLast() {
      try scene.print(id, "x")
      done += 1
      while let request = scene.fileRequest() { open.append(request.id) }
      #expect(open.count <= 3)
    }
    #expect(done == 10)
  }

  @Test func `a window manager has a time for its answers, and a socket with lines has none`()
    throws
  {
    var scene = try Scene(
      """
      data: {a: "", b: []}
      sources:
        a: {socket: /run/a, set: {a: result}}
        b: {socket: {path: /run/b, format: i3, request: get_workspaces}, set: {b: result}}
      """, permissions: "{sockets: [/run/a, /run/b]}")
    #expect(try need(scene.connection()).request.timeout == nil)
    #expect(try need(scene.connection()).request.timeout == .seconds(10))
  }

  @Test func `an endless computation is ended, and the bundle goes on`() throws {
    var limits = HostLimits()
    limits.costBurst = 3_000_000
    limits.costPerSecond = 1_000
    let range = "[0,1,2,3,4,5,6,7,8,9]"
    let endless = (0..<8).reduce("true") { body, depth in "\(range).all(v\(depth), \(body))" }
    var scene = try Scene(
      """
      data: {flag: false, n: 0}
      sources:
        loop: {timer: 1s, set: {flag: '\(endless)'}}
      on:
        click: [{set: {n: data.n + 1}}, {emit: done}]
        spin: [{set: {flag: '\(endless)'}}, {emit: done}]
      """, limits: limits)
    #expect(scene.status("loop", "code") == .string("RESOURCE_EXHAUSTED"))
    scene.pass(.seconds(20))
    #expect(scene["flag"] == .bool(false))
    // The share of the user is used up; it comes back. Another user has a separate share.
    scene.pass(.seconds(1))
    for _ in 0..<5 { try scene.event("spin", uid: 1) }
    try scene.event("click", uid: 1)
    #expect(scene["n"] == .int(0))
    try scene.event("click", uid: 2)
    #expect(scene["n"] == .int(1))
    while let sent = scene.sentEvent() { scene.tell(.sent(sent.id, 0)) }
    scene.time = HostTime(wall: scene.time.wall, uptime: scene.time.uptime + .seconds(100_000))
    try scene.event("click", uid: 1)
    #expect(scene["n"] == .int(2))
  }

  @Test func `a value that data does not take is a failure, and nothing of it is set`() throws {
    let scene = try Scene(
      """
      data: {a: 0, b: 0}
      sources: {c: {value: {x: [1]}, set: {a: "1", b: dyn(result.x)}}}
      """)
    #expect(scene["a"] == .int(0))
    #expect(scene.status("c", "code") == .string("INVALID_ARGUMENT"))
  }

  @Test func `a requested reading is shown as running, even after a failure and during a retry`()
    throws
  {
    var scene = try Scene(
      """
      data: {n: 0}
      sources: {feed: {http: {url: "http://h/"}, every: 1h, set: {n: result}}}
      on: {again: [{reload: feed}]}
      """, permissions: "{hosts: [h]}")
    try scene.answer(try need(scene.webRequest()).id, 500)
    #expect(scene.status("feed") == .string("failure"))
    // An automatic retry is not shown.
    scene.pass(.seconds(10))
    let retry = try need(scene.webRequest())
    #expect(scene.status("feed") == .string("failure"))
    try scene.event("again")
    #expect(scene.status("feed") == .string("running"))
    try scene.answer(retry.id, 500)
    let asked = try need(scene.webRequest())
    #expect(scene.status("feed") == .string("running"))
    try scene.answer(asked.id, 200, "5")
    #expect(scene.status("feed") == .string("success") && scene["n"] == .int(5))
  }
}
