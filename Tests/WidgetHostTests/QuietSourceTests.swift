import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// Programs and connections that work after a failure, and give no result for long.
struct QuietSourceTests {
  private static let ended = Failure("UNAVAILABLE", "it has ended", isTransient: true)

  private func scene(_ source: String, parse: String = "text") throws -> Scene {
    try Scene(
      "data: {n: \"\"}\nsources: {s: {\(source), parse: \(parse), set: {n: string(result)}}}",
      permissions: "{commands: [tail], sockets: [/run/s]}")
  }

  private func begun(_ scene: inout Scene) throws -> RequestID {
    if let program = scene.program() { return program.id }
    return try need(scene.connection()).id
  }

  private func say(_ scene: inout Scene, _ request: RequestID, _ line: String) {
    scene.tell(.line(request, Array(line.utf8)))
  }

  @Test(arguments: ["socket: /run/s", "command: [tail], lines: true"])
  func `a program or connection that is back, and quiet, ends its failure`(source: String) throws {
    var scene = try scene(source)
    let first = try begun(&scene)
    say(&scene, first, "a")
    scene.tell(.failed(first, QuietSourceTests.ended))
    #expect(scene.status("s") == .string("failure") && scene.widget?.error != nil)
    scene.pass(.seconds(1))
    let second = try begun(&scene)
    scene.pass(.seconds(4))
    #expect(scene.status("s") == .string("failure"))
    scene.pass(.seconds(1))
    #expect(scene.status("s") == .string("running") && scene.widget?.error == nil)
    #expect(scene.instance.failures.isEmpty && scene["n"] == .string("a"))
    scene.pass(.seconds(1_000))
    #expect(scene.widget?.isStale == false)
    scene.tell(.failed(second, QuietSourceTests.ended))
    #expect(scene.status("s") == .string("failure"))
  }

  @Test func `after an end without a result, the next program must last twice as long`() throws {
    var scene = try scene("command: [tail], lines: true")
    let first = try begun(&scene)
    scene.pass(.seconds(20))
    scene.tell(.failed(first, QuietSourceTests.ended))
    scene.pass(.seconds(1))
    _ = try begun(&scene)
    scene.pass(.seconds(38))
    #expect(scene.status("s") == .string("failure"))
    scene.pass(.seconds(2))
    #expect(scene.status("s") == .string("running"))
  }

  @Test func `a program that waits long for its server, and ends, must last long each time`()
    throws
  {
    var scene = try scene("command: [tail], lines: true")
    for _ in 0..<2 {
      let program = try begun(&scene)
      scene.pass(.seconds(360))
      scene.tell(.failed(program, QuietSourceTests.ended))
      scene.pass(.seconds(1))
    }
    _ = try begun(&scene)
    scene.pass(.seconds(298))
    #expect(scene.status("s") == .string("failure"))
    scene.pass(.seconds(3))
    #expect(scene.status("s") == .string("running"))
  }

  @Test func `a window manager has the time for its answer before it counts as working`() throws {
    var scene = try scene("socket: {path: /run/s, format: i3, subscribe: [window]}", parse: "json")
    let first = try begun(&scene)
    say(&scene, first, "1")
    scene.tell(.failed(first, QuietSourceTests.ended))
    scene.pass(.seconds(1))
    _ = try begun(&scene)
    scene.pass(.seconds(13))
    #expect(scene.status("s") == .string("failure"))
    scene.pass(.seconds(2))
    #expect(scene.status("s") == .string("running"))
  }

  @Test func `a result that the filter drops ends the failure of the former connection`() throws {
    var scene = try scene("socket: /run/s, filter: result.size() > 1")
    let first = try begun(&scene)
    scene.tell(.failed(first, QuietSourceTests.ended))
    scene.pass(.seconds(1))
    say(&scene, try begun(&scene), "a")
    #expect(scene.status("s") == .string("running") && scene.widget?.error == nil)
    #expect(scene["n"] == .string(""))
  }

  @Test func `a wrong line of a connection is a failure until the next result`() throws {
    var scene = try scene("socket: /run/s, filter: result != 1", parse: "json")
    let first = try begun(&scene)
    scene.tell(.failed(first, QuietSourceTests.ended))
    scene.pass(.seconds(1))
    let second = try begun(&scene)
    say(&scene, second, "{")
    say(&scene, second, "1")
    scene.pass(.seconds(100))
    #expect(scene.status("s", "code") == .string("INVALID_ARGUMENT"))
    say(&scene, second, "2")
    #expect(scene.status("s") == .string("success"))
  }

  @Test func `an optional socket that is back, and quiet, is no longer missing`() throws {
    var scene = try scene("socket: /run/s, optional: true")
    scene.tell(.failed(try begun(&scene), QuietSourceTests.ended))
    #expect(scene.status("s") == .string("missing"))
    scene.pass(.seconds(1))
    _ = try begun(&scene)
    scene.pass(.seconds(5))
    #expect(scene.status("s") == .string("running"))
  }

  @Test func `a window manager that does not answer does not end the failure`() throws {
    var scene = try scene(
      "socket: {path: /run/s, format: i3, request: get_outputs}", parse: "json")
    scene.tell(.failed(try begun(&scene), QuietSourceTests.ended))
    scene.pass(.seconds(1))
    _ = try begun(&scene)
    scene.pass(.seconds(1_000))
    #expect(scene.status("s") == .string("failure"))
  }

  @Test(arguments: ["", ", optional: true"])
  func `a first answer that the filter drops ends the failure of a window manager's connection`(
    key: String
  ) throws {
    var scene = try scene(
      "socket: {path: /run/s, format: i3, request: focused, subscribe: [window]},"
        + " filter: result.type == \"con\"\(key)", parse: "json")
    scene.tell(.failed(try begun(&scene), QuietSourceTests.ended))
    #expect(scene.status("s") == .string(key.isEmpty ? "failure" : "missing"))
    scene.pass(.seconds(1))
    say(&scene, try begun(&scene), "{\"type\": \"workspace\"}")
    #expect(scene.status("s") == .string("running") && scene.widget?.error == nil)
    #expect(scene.instance.failures.isEmpty)
  }

  private func properties() throws -> Scene {
    try Scene(
      """
      data: {n: 0}
      sources:
        s:
          dbus: {name: org.x.P, path: /, interface: org.x.I, properties: [Level]}
          filter: result.Level != 0
          set: {n: int(result.Level)}
      """, permissions: "{dbus: [org.x.P]}")
  }

  private func give(_ scene: inout Scene, _ request: RequestID, _ level: Value) {
    scene.tell(.value(request, .map(["Level": level])))
  }

  @Test func `properties that the filter drops end the failure of the former connection`() throws {
    var scene = try properties()
    scene.tell(.failed(try need(scene.busRequest()).id, QuietSourceTests.ended))
    #expect(scene.status("s") == .string("failure"))
    scene.pass(.seconds(1))
    give(&scene, try need(scene.busRequest()).id, .int(0))
    #expect(scene.status("s") == .string("running") && scene.instance.failures.isEmpty)
  }

  @Test func `properties that the filter drops end the absence of the service`() throws {
    var scene = try properties()
    let request = try need(scene.busRequest()).id
    give(&scene, request, .string("wrong"))
    #expect(scene.status("s") == .string("failure"))
    give(&scene, request, .int(0))
    #expect(scene.status("s") == .string("failure"), "the wrong value still counts")
    scene.tell(.absent(request, Failure("NOT_FOUND", "no program has the name org.x.P")))
    #expect(scene.status("s", "code") == .string("NOT_FOUND"))
    give(&scene, request, .int(0))
    #expect(scene.status("s") == .string("running") && scene.instance.failures.isEmpty)
  }

  @Test func `a source of signals waits without a failure if the bus is back without the service`()
    throws
  {
    var scene = try Scene(
      """
      data: {text: ""}
      sources:
        said: {dbus: {name: org.x.P, interface: org.x.I, signal: Said}, set: {text: "string(result[0])"}}
      """, permissions: "{dbus: [org.x.P]}")
    scene.tell(.failed(try need(scene.busRequest()).id, QuietSourceTests.ended))
    scene.pass(.seconds(1))
    let second = try need(scene.busRequest())
    #expect(scene.status("said") == .string("failure"))
    scene.tell(.absent(second.id, Failure("NOT_FOUND", "no program has the name org.x.P")))
    #expect(scene.status("said") == .string("running") && scene.widget?.error == nil)
    #expect(scene.instance.failures.isEmpty)
  }
}
