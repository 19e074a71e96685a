import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// Requests that ask only for newer content: only while the former answer still holds.
struct ConditionalRequestTests {
  private func scene(set: String, message: String = "''") throws -> Scene {
    var scene = try Scene(
      """
      parameters: {city: {type: string, default: Ulm}}
      data: {n: 0, other: 0}
      sources:
        feed: {http: {url: "http://h/x"}, parse: json, set: {n: '\(set)'}, message: \(message)}
      on: {again: [{reload: feed}]}
      """, permissions: "{hosts: [h]}")
    let first = try need(scene.webRequest())
    #expect(first.request.header("If-None-Match") == nil)
    try scene.answer(first.id, 200, #"["Ulm", "Bonn", "Bonn"]"#, etag: "\"x\"")
    scene.pass(.seconds(1))
    return scene
  }

  private static let counting = "result.filter(x, x == parameters.city).size()"

  /// The next request. Reads the source if it is not read already.
  private func next(_ scene: inout Scene, isAsked: Bool = true) throws -> (
    id: RequestID, isConditional: Bool
  ) {
    if isAsked { try scene.event("again") }
    let request = try need(scene.webRequest())
    return (request.id, request.request.header("If-None-Match") != nil)
  }

  @Test func `a request is conditional if nothing that the source reads or sets has changed`()
    throws
  {
    var scene = try scene(set: ConditionalRequestTests.counting, message: "=string(data.n)")
    #expect(scene["n"] == .int(1))
    try scene.change { $0.data["other"] = .int(5) }
    let second = try next(&scene)
    #expect(second.isConditional)
    try scene.answer(second.id, 304)
    #expect(scene.status("feed") == .string("success"))
    #expect(scene.status("feed", "message") == .string("1"))
  }

  @Test func `a source fails if a server answers 304 to a request without a condition`() throws {
    var scene = try scene(set: ConditionalRequestTests.counting)
    try scene.change { $0.data["n"] = .int(7) }
    let second = try next(&scene)
    #expect(!second.isConditional)
    try scene.answer(second.id, 304)
    #expect(scene.status("feed") == .string("failure"))
    #expect(
      scene.status("feed", "message")
        == .string(
          "the server answered 304 (not modified) to a request without a condition;"
            + " correct the server"))
    #expect(scene["n"] == .int(7))
  }

  @Test func `a first request has no condition, so its source fails with 304`() throws {
    var scene = try Scene(
      """
      data: {n: 0}
      sources: {feed: {http: {url: "http://h/x"}, set: {n: int(result)}}}
      """, permissions: "{hosts: [h]}")
    try scene.answer(scene.webRequest()?.id, 304)
    #expect(scene.status("feed") == .string("failure"))
    #expect(scene.status("feed", "code") == .string("FAILED_PRECONDITION"))
  }

  @Test func `a source succeeds with 304 if the bundle has set a condition`() throws {
    var scene = try Scene(
      """
      data: {n: 3}
      sources:
        feed: {http: {url: "http://h/x", headers: {If-None-Match: '"x"'}}, set: {n: int(result)}}
      """, permissions: "{hosts: [h]}")
    try scene.answer(scene.webRequest()?.id, 304)
    #expect(scene.status("feed") == .string("success"))
    #expect(scene["n"] == .int(3))
  }

  @Test func `data that reads a changed parameter is computed again`() throws {
    var scene = try scene(set: ConditionalRequestTests.counting)
    try scene.change { $0.parameters["city"] = .string("Bonn") }
    let second = try next(&scene, isAsked: false)
    #expect(!second.isConditional)
    try scene.answer(second.id, 200, #"["Ulm", "Bonn", "Bonn"]"#, etag: "\"x\"")
    #expect(scene["n"] == .int(2))
  }

  @Test func `data that somebody else has changed or unset is set again`() throws {
    for value in [Value.int(7), nil] as [Value?] {
      var scene = try scene(set: ConditionalRequestTests.counting)
      try scene.change { $0.data["n"] = value }
      let second = try next(&scene)
      #expect(!second.isConditional)
      try scene.answer(second.id, 200, #"["Ulm"]"#, etag: "\"x\"")
      #expect(scene["n"] == .int(1))
    }
  }

  @Test(arguments: ["data.n + result.size()", "now.getFullYear() + result.size()"])
  func `a source whose result depends on its former value or on the time asks for all`(
    set: String
  ) throws {
    var scene = try scene(set: set)
    let second = try next(&scene)
    #expect(!second.isConditional)
  }

  @Test func `a source reads again if its data changes while the server has nothing new`() throws {
    var scene = try scene(set: ConditionalRequestTests.counting)
    let second = try next(&scene)
    #expect(second.isConditional)
    try scene.change { $0.data["n"] = .int(9) }
    try scene.answer(second.id, 304)
    scene.pass(.seconds(1))
    let third = try next(&scene, isAsked: false)
    #expect(!third.isConditional)
    try scene.answer(third.id, 200, #"["Ulm"]"#, etag: "\"x\"")
    #expect(scene["n"] == .int(1) && scene.status("feed") == .string("success"))
    #expect(scene.webRequest() == nil)
  }
}
