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
