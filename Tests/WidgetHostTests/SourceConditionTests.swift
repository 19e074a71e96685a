import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// Conditions of sources that fail, or that cannot be evaluated for a moment.
struct SourceConditionTests {
  private static let body = """
    data: {url: null, note: ""}
    sources:
      feed:
        SOURCE
        when: 'data.url.startsWith("http")'
        set: {note: result}
    """

  private func scene(_ source: String = "http: {url: \"http://h/x\"}") throws -> Scene {
    try Scene(
      SourceConditionTests.body.replacing("SOURCE", with: source),
      permissions: "{hosts: [h], sockets: [/run/s]}")
  }

  @Test func `a source whose condition fails at first is read when the condition becomes true`()
    throws
  {
    var scene = try scene()
    #expect(scene.webRequest() == nil)
    #expect(scene.status("feed") == .string("failure") && scene.widget?.error != nil)
    try scene.change { $0.data["url"] = .string("http://a") }
    try scene.answer(scene.webRequest()?.id, 200, "\"x\"")
    #expect(scene["note"] == .string("x") && scene.status("feed") == .string("success"))
    #expect(scene.widget?.error == nil)
  }

  @Test func `a connection whose condition fails at first begins when the condition becomes true`()
    throws
  {
    var scene = try scene("socket: /run/s")
    #expect(scene.connection() == nil)
    try scene.change { $0.data["url"] = .string("http://a") }
    #expect(scene.connection() != nil)
  }

  @Test(arguments: ["socket: /run/s", "http: {url: \"http://h/x\"}"])
  func `a condition that fails later is a failure, and ends what is under way`(
    source: String
  ) throws {
    var scene = try scene(source)
    try scene.change { $0.data["url"] = .string("http://a") }
    func request() -> RequestID? { scene.connection()?.id ?? scene.webRequest()?.id }
    let first = try need(request())
    #expect(scene.status("feed") == .string("running"))
    try scene.change { $0.data["url"] = .null }
    #expect(scene.status("feed") == .string("failure") && scene.widget?.error != nil)
    #expect(scene.cancelled() == first)
    let count = scene.patches.count
    try scene.change { $0.data["note"] = .string("x") }
    #expect(scene.patches.count == count, "it fails once")
    try scene.change { $0.data["url"] = .string("http://b") }
    #expect(request() != nil)
  }

  @Test func `a condition of a source that nobody has read does not fail`() throws {
    var scene = try scene("http: {url: \"http://h/x\"}\n    start: false")
    #expect(scene.widget?.error == nil)
    try scene.change { $0.data["note"] = .string("x") }
    #expect(scene.widget?.error == nil)
  }

  @Test func `the failure of a condition ends when the condition becomes false`() throws {
    var scene = try scene()
    #expect(scene.widget?.error != nil)
    try scene.change { $0.data["url"] = .string("ftp://a") }
    #expect(scene.status("feed") == .string("idle") && scene.widget?.error == nil)
    #expect(scene.webRequest() == nil)
  }

  @Test func `another source can set the data that a condition waits for`() throws {
    var scene = try Scene(
      """
      data: {url: null, note: ""}
      sources:
        place: {command: [place], set: {url: result}}
        feed: {http: {url: =data.url}, when: 'data.url.startsWith("http")', set: {note: result}}
      """, permissions: "{commands: [place], hosts: [h]}")
    #expect(scene.webRequest() == nil)
    try scene.print(scene.program()?.id, "http://h/x")
    #expect(scene.webRequest() != nil)
    #expect(scene.webRequest() == nil, "it is read once")
  }

  @Test func `a condition that the bundle may not compute now is checked again in a moment`()
    throws
  {
    var scene = try Scene(
      """
      data: {on: false, flag: false, note: ""}
      sources:
        note: {file: "${bundle}/f", when: data.on, set: {note: result}}
        burn: {value: '=\(SourceRetryTests.endless)', set: {flag: result}}
      """, limits: SourceRetryTests.limits)
    #expect(scene.status("burn", "code") == .string("RESOURCE_EXHAUSTED"))
    try scene.change { $0.data["on"] = .bool(true) }
    #expect(scene.fileRequest() == nil)
    scene.pass(.seconds(100))
    #expect(scene.fileRequest() != nil)
  }
}
