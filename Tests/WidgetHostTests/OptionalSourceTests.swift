import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// Sources that may be missing.
struct OptionalSourceTests {
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

  @Test func `a missing source clears no value that other sources have set`() throws {
    var scene = try Scene(
      """
      data: {level: {type: int, default: -1}, own: ""}
      sources:
        first: {file: "${bundle}/first", optional: true, every: 10s, set: {level: int(result), own: result}}
        second: {file: "${bundle}/second", optional: true, every: 10s, set: {level: int(result)}}
      """)
    /// Answers all readings. With a text, only the second file exists.
    func read(_ scene: inout Scene, _ text: String?) throws {
      var paths: [String] = []
      while let (id, request) = scene.fileRequest() {
        paths.append(request.path)
        if let text, request.path.hasSuffix("second") {
          try scene.print(id, text + "\n")
        } else {
          scene.tell(.failed(id, Failure("NOT_FOUND", "there is no file")))
        }
      }
      #expect(paths.count == 2, "\(paths)")
      scene.pass(.seconds(10))
    }
    try read(&scene, "40")
    #expect(scene["level"] == .int(40) && scene["own"] == .string(""))
    try scene.change { $0.data["own"] = .string("pressed") }
    try read(&scene, "41")
    try read(&scene, "42")
    #expect(scene["level"] == .int(42) && scene["own"] == .string("pressed"))
    try read(&scene, nil)
    #expect(scene["level"] == .int(-1), "the value is nobody's now")
  }

  @Test func `a failure of an optional source other than absence stays a failure`() throws {
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

  @Test func `a missing optional program is retried less and less often, and at its interval`()
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
    #expect((10...14).contains(tries["a"] ?? 0))
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
    // The socket exists, but its program does not listen yet.
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

  @Test func `a missing socket that cannot be watched is only retried with the backoff`() throws {
    var scene = try Scene(
      """
      data: {n: ""}
      sources: {s: {socket: /run/s, optional: true, set: {n: result}}}
      """, permissions: "{sockets: [/run/s]}")
    let gone = Failure("NOT_FOUND", "no socket")
    for _ in 0..<8 {
      scene.tell(.failed(try need(scene.connection()).id, gone))
      let watch = try need(scene.lastFileWatch())
      scene.tell(.unwatched(watch.id, Failure("RESOURCE_EXHAUSTED", "full", isTransient: true)))
      #expect(scene.connection() == nil && scene.status("s") == .string("missing"))
      scene.pass(.seconds(300))
    }
    let reports = scene.taken().filter { if case .report = $0 { true } else { false } }
    #expect(reports.isEmpty && scene.instance.lateRemarks.isEmpty)
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
        == .string(
          "no path: the host's environment lacks NONE; start the host with these variables"))
  }
}
