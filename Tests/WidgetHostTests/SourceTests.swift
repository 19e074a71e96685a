import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// Where data comes from, as values in and values out.
struct SourceTests {
  @Test func `a file is read when its widget appears, watched, and made data of`() throws {
    var scene = try Scene(
      """
      data: {one: 0.0}
      sources: {load: {file: /etc/load, parse: words, set: {one: 'double(result[0][0])'}}}
      """, permissions: "{read: [/etc]}")
    let file = try need(scene.fileRequest())
    #expect(file.request.path == "/etc/load")
    #expect(scene.fileWatch()?.path == "/etc/load")
    try scene.print(file.id, "0.25 0.5 1/2 3\n")
    #expect(scene["one"] == .double(0.25))
    #expect(scene.status("load") == .string("success"))
  }

  @Test func `a missing file is a failure, and what it said is no longer said`() throws {
    var scene = try Scene(
      """
      data: {note: {type: string, default: --}}
      sources: {note: {file: "${bundle}/note", set: {note: result}}}
      """)
    let first = try need(scene.fileRequest())
    let watch = try need(scene.fileWatch())
    #expect(watch.path == "/bundles/b/note")
    try scene.print(first.id, "hello\n")
    #expect(scene["note"] == .string("hello"))
    scene.pass(.seconds(1))
    scene.tell(.fileChanged(watch.id))
    scene.tell(
      .failed(try need(scene.fileRequest()).id, Failure("NOT_FOUND", "there is no file")))
    #expect(scene["note"] == .string("--"))
    #expect(scene.status("note") == .string("failure"))
    #expect(scene.status("note", "code") == .string("NOT_FOUND"))
    #expect(scene.status("note", "title") == .string("Note failed"))
  }

  @Test(arguments: ["", " \n"])
  func `an empty file of JSON is a failure, and what it said is still said`(text: String) throws {
    var scene = try Scene(
      """
      data: {people: []}
      sources: {people: {file: "${bundle}/people.json", set: {people: result}}}
      """)
    try scene.print(scene.fileRequest()?.id, "[1, 2]")
    scene.pass(.seconds(1))
    scene.tell(.fileChanged(try need(scene.fileWatch()).id))
    try scene.print(scene.fileRequest()?.id, text)
    #expect(scene["people"] == .list([.int(1), .int(2)]))
    #expect(scene.status("people") == .string("failure"))
    #expect(
      scene.status("people", "message")
        == .string("the JSON is not valid at \(text.isEmpty ? "1:1" : "2:1"): a value is missing"))
  }

  @Test func `an optional file that is missing is a state, and is read when it appears`() throws {
    var scene = try Scene(
      """
      data: {note: {type: string, default: --}}
      sources:
        note: {file: "${bundle}/note", optional: true, staleAfter: 1s, set: {note: result}}
      content: {label: =data.note}
      """)
    let watch = try need(scene.fileWatch())
    let gone = Failure("NOT_FOUND", "there is no file")
    scene.tell(.failed(try need(scene.fileRequest()).id, gone))
    #expect(scene.status("note") == .string("missing"))
    #expect(scene.status("note", "missing") == .bool(true))
    #expect(scene.status("note", "failed") == .bool(false))
    #expect(scene.status("note", "code") == .string("NOT_FOUND"))
    #expect(scene.status("note", "message") == .string("there is no file"))
    scene.pass(.seconds(100))
    #expect(scene.widget?.isStale == false && scene.widget?.error == nil)
    #expect(scene.instance.failures.isEmpty)
    #expect(scene.taken().isEmpty, "nothing is tried while nothing changes")
    scene.tell(.fileChanged(watch.id))
    try scene.print(scene.fileRequest()?.id, "hello\n")
    #expect(scene["note"] == .string("hello") && scene.status("note") == .string("success"))
    scene.pass(.seconds(1))
    scene.tell(.fileChanged(watch.id))
    scene.tell(.failed(try need(scene.fileRequest()).id, gone))
    #expect(scene["note"] == .string("--"), "what it said is no longer said")
  }

  @Test func `a failure of an optional source that is no absence stays a failure`() throws {
    var scene = try Scene(
      """
      data: {note: ""}
      sources: {note: {file: "${bundle}/note", optional: true, every: 10s, set: {note: result}}}
      """)
    scene.tell(
      .failed(try need(scene.fileRequest()).id, Failure("PERMISSION_DENIED", "not yours")))
    #expect(scene.status("note") == .string("failure"))
    #expect(scene.widget?.error?.reason == BundleInstance.sourceFailed)
    scene.pass(.seconds(10))
    scene.tell(.failed(try need(scene.fileRequest()).id, Failure("NOT_FOUND", "gone")))
    #expect(scene.status("note") == .string("missing"))
    #expect(scene.widget?.error == nil)
  }

  @Test func `an optional program that is missing is tried less and less often, or as it says`()
    throws
  {
    var scene = try Scene(
      """
      data: {a: "", b: "", c: ""}
      sources:
        a: {command: [a], optional: true, every: 10s, set: {a: result}}
        b: {command: [b], optional: true, set: {b: result}}
        c: {command: [c], optional: true, lines: true, set: {c: result}}
      """, permissions: "{commands: [a, b, c]}")
    var tries: [String: Int] = [:]
    for _ in 0..<200 {
      while let program = scene.program() {
        tries[program.request.program, default: 0] += 1
        scene.tell(.failed(program.id, Failure("NOT_FOUND", "there is no program")))
      }
      scene.pass(.milliseconds(500))
    }
    #expect(tries["a"] == 10)
    #expect((5...9).contains(tries["b"] ?? 0) && (5...9).contains(tries["c"] ?? 0))
    #expect(["a", "b", "c"].allSatisfy { scene.status($0) == .string("missing") })
    #expect(scene.instance.failures.isEmpty)
  }

  @Test func `an optional socket is connected to as soon as it appears`() throws {
    var scene = try Scene(
      """
      data: {n: ""}
      sources: {s: {socket: /run/s, optional: true, set: {n: result}}}
      """, permissions: "{sockets: [/run/s]}")
    for _ in 0..<8 {
      scene.tell(.failed(try need(scene.connection()).id, Failure("NOT_FOUND", "no socket")))
      scene.pass(.seconds(300))
    }
    scene.tell(.failed(try need(scene.connection()).id, Failure("NOT_FOUND", "no socket")))
    #expect(scene.status("s") == .string("missing"))
    let watch = try need(scene.lastFileWatch())
    #expect(watch.path == "/run/s")
    scene.pass(.seconds(1))
    scene.tell(.fileChanged(watch.id))
    // It is there, and its program does not listen yet.
    let refused = Failure("UNAVAILABLE", "refused", isTransient: true)
    scene.tell(.failed(try need(scene.connection()).id, refused))
    #expect(scene.status("s") == .string("missing"))
    scene.pass(.seconds(2))
    let connection = try need(scene.connection())
    scene.tell(.line(connection.id, Array("hi".utf8)))
    #expect(scene["n"] == .string("hi") && scene.status("s") == .string("success"))
    scene.tell(.failed(connection.id, refused))
    #expect(scene.status("s") == .string("missing"), "its program has ended")
    #expect(scene["n"] == .string(""))
  }

  @Test func `an optional socket whose variable is unset is missing`() throws {
    let scene = try Scene(
      """
      data: {n: ""}
      sources: {s: {socket: =environment.NONE, optional: true, set: {n: result}}}
      """, permissions: "{environment: [NONE]}")
    #expect(scene.status("s") == .string("missing"))
    #expect(
      scene.status("s", "message")
        == .string("no path: the host's environment lacks NONE; start the host with it set"))
  }

  @Test func `a folder is read, watched, and read again when something in it changes`() throws {
    var scene = try Scene(
      """
      data: {names: []}
      sources: {f: {folder: "${bundle}/x", set: {names: "result.map(e, e.name)"}}}
      """)
    var reading = try need(scene.folderRequest())
    #expect(reading.request.path == "/bundles/b/x" && reading.request.entriesMax == 1_000)
    let watch = try need(scene.fileWatch())
    func entries(_ names: String...) -> Value {
      .list(names.map { .map(["name": .string($0)]) })
    }
    scene.tell(.value(reading.id, entries("a")))
    #expect(scene["names"] == .list([.string("a")]))
    scene.pass(.seconds(1))
    scene.tell(.fileChanged(watch.id))
    reading = try need(scene.folderRequest())
    scene.tell(.value(reading.id, entries("a", "b")))
    #expect(scene["names"] == .list([.string("a"), .string("b")]))
    scene.pass(.seconds(1))
    scene.tell(.fileChanged(watch.id))
    let gone = Failure("NOT_FOUND", "there is no folder")
    scene.tell(.failed(try need(scene.folderRequest()).id, gone))
    #expect(scene["names"] == .list([]) && scene.status("f") == .string("failure"))
  }

  @Test func `a folder that permissions do not name is not read`() throws {
    var scene = try Scene(
      """
      data: {path: /etc, names: []}
      sources: {f: {folder: =data.path, set: {names: result}}}
      """, permissions: "{read: [/etcetera]}")
    #expect(scene.folderRequest() == nil)
    #expect(scene.status("f", "code") == .string("PERMISSION_DENIED"))
  }

  @Test func `a file that keeps changing is read at intervals, and last after the last change`()
    throws
  {
    var scene = try Scene(
      """
      data: {n: ""}
      sources: {f: {file: "${bundle}/f", set: {n: result}}}
      """)
    let watch = try need(scene.fileWatch())
    try scene.print(scene.fileRequest()?.id, "0")
    var reads = 0
    for round in 1...1_000 {
      scene.pass(.milliseconds(1))
      scene.tell(.fileChanged(watch.id))
      if let read = scene.fileRequest() {
        reads += 1
        try scene.print(read.id, "\(round)")
      }
    }
    scene.pass(.seconds(1))
    let last = try need(scene.fileRequest())
    try scene.print(last.id, "end")
    #expect((5...11).contains(reads))
    #expect(scene["n"] == .string("end"))
    #expect(scene.fileRequest() == nil)
  }

  @Test func `a source is read again when what its input reads changes`() throws {
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
    // While it is read, it changes again: it is read once more, for the last one.
    try scene.change { $0.data["city"] = .string("Kiel") }
    try scene.change { $0.data["city"] = .string("Jena") }
    #expect(scene.webRequest() == nil)
    try scene.answer(second.id, 200, "\"2\"")
    scene.pass(.seconds(1))
    #expect(try need(scene.webRequest()).request.address.query == "q=Jena")
    #expect(scene.webRequest() == nil)
  }

  @Test func `a source is not read again for what it sets itself`() throws {
    var scene = try Scene(
      """
      data: {n: 0}
      sources: {count: {value: =data.n + 1, every: 1s, set: {n: result}}}
      """)
    scene.pass(.seconds(10))
    #expect(scene["n"] == .int(11))
  }

  @Test func `a value follows what it is made of`() throws {
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

  @Test func `a program that goes on is started again with what its arguments are now`() throws {
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

  @Test func `the kernel's own files are read at intervals and not watched`() throws {
    var scene = try Scene(
      """
      data: {n: ""}
      sources: {f: {file: /proc/loadavg, every: 2s, set: {n: result}}}
      """, permissions: "{read: [/proc/loadavg]}")
    #expect(scene.fileWatch() == nil)
    for _ in 0..<3 {
      try scene.print(scene.fileRequest()?.id, "1")
      scene.pass(.seconds(2))
    }
    // The first reading changed the data; what is equal makes no change.
    #expect(scene.patches.count == 1)
  }

  @Test(arguments: ["/etc/shadow", "/etc/loads", "/etc/load/../shadow"])
  func `a file that permissions do not name is not read`(path: String) throws {
    var scene = try Scene(
      """
      parameters: {path: {type: string, default: ""}}
      data: {path: "\(path)", n: ""}
      sources: {f: {file: =data.path, set: {n: result}}}
      """, permissions: "{read: [/etc/load]}")
    #expect(scene.fileRequest() == nil)
    #expect(scene.status("f", "code") == .string("PERMISSION_DENIED"))
    guard case .string(let message)? = scene.status("f", "message") else {
      Issue.record("no message")
      return
    }
    #expect(message.contains("permissions.read") && message.contains("\"b\""))
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

  @Test func `a server is asked only for what is new`() throws {
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
    // Well again, it is as often as it was meant to be.
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

  @Test func `with stubs nothing is touched`() throws {
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

  @Test func `what is under way is bounded, and the rest has its turn`() throws {
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
      on: {click: [{set: {n: data.n + 1}}, {emit: done}]}
      """, limits: limits)
    #expect(scene.status("loop", "code") == .string("RESOURCE_EXHAUSTED"))
    scene.pass(.seconds(20))
    #expect(scene["flag"] == .bool(false))
    // The allowance is used up; it comes back.
    scene.pass(.seconds(1))
    try scene.event("click")
    #expect(scene["n"] == .int(0))
    scene.time = HostTime(wall: scene.time.wall, uptime: scene.time.uptime + .seconds(100_000))
    try scene.event("click")
    #expect(scene["n"] == .int(1))
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

  @Test func `what is asked for is shown as running, also after a failure and during a retry`()
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
    // By itself it is tried again without a word.
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
