import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// Which failed sources are read again, and when.
struct SourceRetryTests {
  /// An expression that uses up the whole allowance.
  static let endless = (0..<8).reduce("true") { body, depth in
    "[0,1,2,3,4,5,6,7,8,9].all(v\(depth), \(body))"
  }

  /// A bundle may compute little, and a second later again.
  static var limits: HostLimits {
    var limits = HostLimits()
    limits.costBurst = 1_000
    limits.costPerSecond = 1_000
    return limits
  }

  private static let call = "dbus: {name: org.x.P, path: /, interface: org.x.I, call: List}"

  private func scene(_ input: String) throws -> Scene {
    try Scene(
      "data: {v: null}\nsources: {s: {\(input), set: {v: result}}}",
      permissions: "{commands: [cat], dbus: [org.x.P], hosts: [h], read: [/proc, /etc]}")
  }

  @Test(arguments: [
    ("command: [cat]", "NOT_FOUND"), ("command: [cat]", "DEADLINE_EXCEEDED"),
    ("command: [cat]", "RESOURCE_EXHAUSTED"), (SourceRetryTests.call, "NOT_FOUND"),
    (SourceRetryTests.call, "UNAVAILABLE"), (SourceRetryTests.call, "DEADLINE_EXCEEDED"),
    ("http: {url: \"http://h/\"}", "UNAVAILABLE"), ("file: /proc/x", "NOT_FOUND"),
    ("file: /etc/x", "UNAVAILABLE"),
  ])
  func `a source is read again with the backoff if its input is missing or does not answer`(
    input: String, code: String
  ) throws {
    var scene = try scene(input)
    var request = scene.anyRequest()
    for attempt in 0..<4 {
      scene.tell(.failed(try need(request), Failure(code, "away")))
      #expect(scene.status("s") == .string("failure"))
      let longest = Duration.seconds(1 << attempt)
      scene.pass(longest / 2 - .milliseconds(1))
      request = scene.anyRequest()
      #expect(request == nil)
      // Small steps, because a program rests longer after an attempt that took long.
      for _ in 0..<200 where request == nil {
        scene.pass(longest / 200)
        request = scene.anyRequest()
      }
    }
    #expect(request != nil)
  }

  @Test(arguments: [
    ("command: [cat]", "ABORTED"), ("command: [cat]", "PERMISSION_DENIED"),
    ("command: [cat]", "OUT_OF_RANGE"), (SourceRetryTests.call, "UNKNOWN"),
    (SourceRetryTests.call, "INVALID_ARGUMENT"), ("file: /etc/x", "PERMISSION_DENIED"),
    ("file: /etc/x", "NOT_FOUND"),
  ])
  func `a source is not read again if its input has refused, or is watched`(
    input: String, code: String
  ) throws {
    var scene = try scene(input)
    scene.tell(.failed(try need(scene.anyRequest()), Failure(code, "no")))
    scene.pass(.seconds(1_000))
    #expect(scene.anyRequest() == nil)
  }

  @Test func `a program that takes long to fail rests five times as long, but not beyond every`()
    throws
  {
    var scene = try scene("command: [cat], every: 1h")
    let late = Failure("DEADLINE_EXCEEDED", "late")
    for _ in 0..<2 {
      let program = try need(scene.program())
      scene.pass(.seconds(120))
      scene.tell(.failed(program.id, late))
      scene.pass(.seconds(599))
      #expect(scene.program() == nil)
      scene.pass(.seconds(1))
    }
    let program = try need(scene.program())
    scene.pass(.seconds(1_200))
    scene.tell(.failed(program.id, late))
    scene.pass(.seconds(2_400))
    #expect(scene.program() != nil)
  }

  @Test func `a service that does not answer for long is asked again soon`() throws {
    var scene = try scene(SourceRetryTests.call)
    let call = try need(scene.busRequest())
    scene.pass(.seconds(25))
    scene.tell(.failed(call.id, Failure("DEADLINE_EXCEEDED", "late")))
    scene.pass(.seconds(1))
    #expect(scene.busRequest() != nil)
  }

  @Test func `a missing file of auth is looked for at the times of every, and a server is not`()
    throws
  {
    for (code, isSoon) in [("NOT_FOUND", true), ("UNAVAILABLE", false)] {
      var scene = try scene("http: {url: \"http://h/\"}, every: 10s")
      for _ in 0..<8 {
        scene.tell(.failed(try need(scene.webRequest()).id, Failure(code, "no token")))
        scene.pass(isSoon ? .seconds(10) : .seconds(300))
      }
      scene.tell(.failed(try need(scene.webRequest()).id, Failure(code, "no token")))
      scene.pass(.seconds(10))
      #expect((scene.webRequest() != nil) == isSoon, "\(code)")
    }
  }

  @Test func `a missing path in the widget's data is not asked for again and again`() throws {
    var scene = try Scene(
      """
      data: {path: "", v: null}
      sources:
        s: {dbus: {name: org.x.P, path: =data.path, interface: org.x.I, call: List}, set: {v: result}}
      """, permissions: "{dbus: [org.x.P]}")
    #expect(scene.status("s", "code") == .string("NOT_FOUND"))
    #expect(scene.instance.timers[.source(try need(WidgetID("w")), 0)] == nil)
    try scene.change { $0.data["path"] = .string("/a") }
    scene.pass(.seconds(1))
    #expect(scene.busRequest() != nil)
  }

  @Test func `a missing program is retried before a long interval is over`() throws {
    var scene = try scene("command: [cat], every: 1h")
    scene.tell(.failed(try need(scene.program()).id, Failure("NOT_FOUND", "no program")))
    scene.pass(.seconds(1))
    try scene.print(scene.program()?.id, "a")
    scene.pass(.seconds(3_000))
    #expect(scene.program() == nil)
  }

  /// A bundle with one place for three connections.
  private func crowdedScene() throws -> Scene {
    var limits = HostLimits()
    limits.continuousMax = 1
    return try Scene(
      """
      data: {on: true, other: true, n: ""}
      sources:
        first: {socket: /run/a, when: data.on, set: {n: result}}
        second: {socket: /run/b, when: data.other, set: {n: result}}
        third: {socket: /run/c, set: {n: result}}
      """, permissions: "{sockets: [/run/a, /run/b, /run/c]}", limits: limits)
  }

  @Test func `a connection over the limit begins as soon as there is a place`() throws {
    var scene = try crowdedScene()
    #expect(scene.connection()?.request.path == "/run/a" && scene.connection() == nil)
    #expect(scene.status("second", "code") == .string("RESOURCE_EXHAUSTED"))
    // The backoff is minutes long by now.
    scene.pass(.seconds(1_000))
    #expect(scene.connection() == nil)
    try scene.change { $0.data["on"] = .bool(false) }
    let second = try need(scene.connection())
    #expect(second.request.path == "/run/b" && scene.connection() == nil)
    scene.tell(.line(second.id, Array("x".utf8)))
    #expect(scene["n"] == .string("x") && scene.status("second") == .string("success"))
    #expect(scene.status("third", "code") == .string("RESOURCE_EXHAUSTED"))
  }

  @Test func `a connection that ends gives its place to the next source`() throws {
    var scene = try crowdedScene()
    let first = try need(scene.connection())
    scene.tell(.failed(first.id, Failure("UNAVAILABLE", "gone")))
    #expect(scene.connection()?.request.path == "/run/b" && scene.connection() == nil)
  }

  @Test func `a source that was turned off does not take a place`() throws {
    var scene = try crowdedScene()
    let first = try need(scene.connection())
    try scene.change { $0.data["other"] = .bool(false) }
    scene.tell(.failed(first.id, Failure("UNAVAILABLE", "gone")))
    #expect(scene.connection()?.request.path == "/run/c" && scene.connection() == nil)
  }

  /// A bundle with one place for two programs with `lines`. The first one has an argument.
  private func crowdedPrograms() throws -> Scene {
    var limits = HostLimits()
    limits.continuousMax = 1
    return try Scene(
      """
      data: {on: true, path: a, n: ""}
      sources:
        first: {command: [tail, =data.path], lines: true, when: data.on, set: {n: result}}
        second: {command: [yes], lines: true, set: {n: result}}
      """, permissions: "{commands: [tail, yes]}", limits: limits)
  }

  /// The argument changes at once, or later than the shortest time between two readings.
  @Test(arguments: [Duration.zero, .seconds(10)])
  func `a program that starts again with another argument keeps its place`(after wait: Duration)
    throws
  {
    var scene = try crowdedPrograms()
    let first = try need(scene.program())
    #expect(first.request.arguments == ["a"] && scene.program() == nil)
    scene.pass(wait)
    try scene.change { $0.data["path"] = .string("b") }
    #expect(scene.cancelled() == first.id)
    scene.pass(HostLimits().fileSpacing)
    let again = try need(scene.program())
    #expect(again.request.arguments == ["b"] && scene.program() == nil)
    #expect(scene.status("second", "code") == .string("RESOURCE_EXHAUSTED"))
    // The end of the program gives its place to the other one.
    scene.tell(.failed(again.id, Failure("UNAVAILABLE", "gone")))
    #expect(scene.program()?.request.program == "yes")
  }

  @Test func `a program that is turned off before it starts again gives its place away`() throws {
    var scene = try crowdedPrograms()
    _ = try need(scene.program())
    try scene.change { $0.data["path"] = .string("b") }
    #expect(scene.program() == nil)
    try scene.change { $0.data["on"] = .bool(false) }
    #expect(scene.program()?.request.program == "yes" && scene.program() == nil)
  }

  @Test func `a program whose new argument fails gives its place away`() throws {
    var scene = try crowdedPrograms()
    _ = try need(scene.program())
    try scene.change { $0.data["path"] = .string("\0") }
    scene.pass(HostLimits().fileSpacing)
    #expect(scene.status("first") == .string("failure"))
    #expect(scene.program()?.request.program == "yes" && scene.program() == nil)
  }

  @Test func `sources continue when the bundle may compute again`() throws {
    var scene = try Scene(
      """
      data: {flag: false, note: "", n: 0}
      sources:
        note: {file: "${bundle}/f", set: {note: result + "!"}}
        burn: {value: '=\(SourceRetryTests.endless)', set: {flag: result}}
        one: {value: =data.n + 1, set: {n: result}}
      """, limits: SourceRetryTests.limits)
    try scene.print(scene.fileRequest()?.id, "x")
    for name in ["note", "burn", "one"] {
      #expect(scene.status(name, "code") == .string("RESOURCE_EXHAUSTED"))
    }
    for _ in 0..<100 {
      scene.pass(.seconds(1))
      if let request = scene.fileRequest() { try scene.print(request.id, "x") }
    }
    #expect(scene["note"] == .string("x!") && scene["n"] == .int(1))
    #expect(scene.status("note") == .string("success"))
    #expect(scene.status("one") == .string("success"))
  }

  @Test func `properties that the bundle could not process are read again`() throws {
    var scene = try Scene(
      """
      data: {flag: false, level: 0}
      sources:
        power:
          dbus: {name: org.x.P, path: /, interface: org.x.I, properties: [Level]}
          set: {level: int(result.Level)}
        burn: {value: '=\(SourceRetryTests.endless)', set: {flag: result}}
      """, permissions: "{dbus: [org.x.P]}", limits: SourceRetryTests.limits)
    let first = try need(scene.busRequest())
    scene.tell(.value(first.id, .map(["Level": .int(50)])))
    #expect(scene.status("power", "code") == .string("RESOURCE_EXHAUSTED"))
    #expect(scene.cancelled() == first.id)
    scene.pass(.seconds(1))
    #expect(scene.busRequest() != nil)
  }
}

extension Scene {
  /// The next request of a source, whatever its input is.
  fileprivate mutating func anyRequest() -> RequestID? {
    if let program = program() { return program.id }
    if let request = busRequest() { return request.id }
    if let request = webRequest() { return request.id }
    return fileRequest()?.id
  }
}
