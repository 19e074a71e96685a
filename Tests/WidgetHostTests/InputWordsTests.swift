import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// Failures name the input whose content is wrong: the server, the socket or the program.
struct InputWordsTests {
  private static let server = "api.example:8443"

  /// A source and an action that read the same, with a secret in the query.
  private func scene(parse: String) throws -> Scene {
    let http = "{url: \"https://\(InputWordsTests.server)/v1/key\", query: {token: secret}}"
    return try Scene(
      """
      data: {n: 0}
      sources: {feed: {http: \(http), start: false, parse: \(parse), set: {n: size(result)}}}
      actions: {save: {do: [{http: \(http), parse: \(parse), set: {n: size(result)}}]}}
      on: {go: save, read: [{reload: feed}]}
      """, permissions: "{hosts: [\"api.example:8443\"]}")
  }

  @Test(arguments: [
    ("{path: a.b}", 200, "{}", "the answer of api.example:8443 has nothing at a.b"),
    ("{shape: list}", 200, "{}", "the answer of api.example:8443 is a map, not a list"),
    (
      "json", 200, "{",
      "the JSON of the answer of api.example:8443 is not valid at 1:2: the object has no end"
    ),
    ("json", 404, "", "api.example:8443 answered 404 (not found)"),
    ("json", 418, "", "api.example:8443 answered 418"),
  ])
  func `a failure of an answer names the server, without the path and the query`(
    parse: String, status: Int, body: String, words: String
  ) throws {
    for (event, name) in [("read", "feed"), ("go", "save")] {
      var scene = try scene(parse: parse)
      try scene.event(event)
      try scene.answer(
        scene.webRequest()?.id, status, body, server: InputWordsTests.server)
      guard case .string(let message)? = scene.status(name, "message") else {
        Issue.record("\(name) has not failed")
        continue
      }
      // The words about the mistake in JSON are those of the reader.
      let isSame = body == "{" ? message.hasPrefix(words.prefix { $0 != "1" }) : message == words
      #expect(isSame, "\(message)")
    }
  }

  /// The widget has the text of the server alone.
  @Test(arguments: [
    (200, "api.example:8443 answered 200"), (422, "api.example:8443 answered 422"),
    (500, "api.example:8443 answered 500 (internal server error)"),
  ])
  func `the log and the trace name the server and the status beside the text of the server`(
    status: Int, words: String
  ) throws {
    for (event, name) in [("read", "source feed"), ("go", "action save")] {
      var scene = try scene(parse: "{format: json, errorPath: error}")
      scene.instance.trace(until: .seconds(100))
      try scene.event(event)
      let request = scene.webRequest()?.id
      _ = scene.taken()
      try scene.answer(
        request, status, #"{"error": "no room"}"#, server: InputWordsTests.server)
      let subject = name.split(separator: " ").last.map { String($0) } ?? ""
      #expect(scene.status(subject, "message") == .string("no room"))
      #expect(scene.widget?.error?.message.hasSuffix(" failed: no room") == true)
      #expect(scene.instance.failures.map(\.message) == ["no room"])
      let effects = scene.taken()
      let traced = effects.flatMap { effect -> [String] in
        if case .trace(_, let lines, _) = effect { lines.map(\.text) } else { [] }
      }
      #expect(traced.contains { $0.hasPrefix("fails: ") && $0.hasSuffix(": no room; \(words)") })
      #expect(effects.contains(.report("bundle b: widget w: \(name): no room; \(words)")))
    }
  }

  @Test func `a failure of a line of a socket names the socket`() throws {
    var scene = try Scene(
      """
      data: {n: 0}
      sources: {s: {socket: /run/s, parse: {path: a}, set: {n: result}}}
      """, permissions: "{sockets: [/run/s]}")
    scene.tell(.line(try need(scene.connection()).id, Array("{}".utf8)))
    #expect(scene.status("s", "message") == .string("/run/s has nothing at a"))
  }

  /// An expression can put a value of a user in the place of the program's name.
  @Test(arguments: [
    ("[\"${bundle}/df\", -h]", "the output of df has nothing at a"),
    ("[=data.program]", "the output has nothing at a"),
  ])
  func `a failure of the output of a step names the program`(command: String, words: String) throws
  {
    var scene = try Scene(
      """
      data: {n: 0, program: df}
      actions: {act: {do: [{command: \(command), parse: {path: a}, set: {n: size(result)}}]}}
      on: {go: act}
      """, permissions: "{commands: [df, \"${bundle}/df\"]}")
    try scene.event("go")
    try scene.print(scene.program()?.id, "{}")
    #expect(scene.status("act", "message") == .string(words))
  }

  @Test(arguments: [
    "ftp://me:secret@api.example/x?token=secret", "https://me:secret@api.example/x?token=secret#a",
    "https://api.example:0/x?token=secret", "me:secret@api.example?u=https://secret.example",
    "https://secret@?", "https://api.example:1x#secret", "https://me:ab/secret@api.example/x",
    "//me:secret@api.example", "https:/me:secret@api.example", "https://me:p?secret@api.example",
    "https://me:p#secret@api.example", "https://api.example:1x/botsecret/send",
    "https://api.example:secret/", "https://api.example:1x/?a=b@secret",
  ])
  func `a refused URL is shown without anything but its scheme and its host`(text: String) {
    let failure = #expect(throws: Failure.self) { try WebAddress(text) }
    #expect(failure?.message.contains("secret") == false)
    #expect(failure?.message.contains("is not a usable URL: ") == true)
  }

  /// A source and an action that read the same field, or set a constant.
  private func scene(value: String, parse: String = "json") throws -> Scene {
    let http = "{url: \"https://\(InputWordsTests.server)/v1\"}"
    return try Scene(
      """
      data: {n: 1}
      sources: {feed: {http: \(http), start: false, parse: \(parse), set: {n: \(value)}}}
      actions: {save: {do: [{http: \(http), parse: \(parse), set: {n: \(value)}}]}}
      on: {go: save, read: [{reload: feed}]}
      """, permissions: "{hosts: [\"api.example:8443\"]}")
  }

  @Test(arguments: [
    ("read", "feed", "json", 200), ("read", "feed", "json", 204), ("go", "save", "json", 200),
    ("go", "save", "json", 204), ("read", "feed", "{path: a}", 200),
    ("go", "save", "{shape: object}", 200),
  ])
  func `an empty answer is the reason of a failure that needs its values`(
    event: String, name: String, parse: String, status: Int
  ) throws {
    var scene = try scene(value: "int(result.n)", parse: parse)
    try scene.event(event)
    try scene.answer(scene.webRequest()?.id, status, " \n", server: InputWordsTests.server)
    guard case .string(let message)? = scene.status(name, "message") else {
      Issue.record("\(name) has not failed")
      return
    }
    #expect(message.hasPrefix("the answer of api.example:8443 is empty"), "\(message)")
    #expect(scene["n"] == .int(1))
  }

  /// The failure of the source or of the action. `n` is set first, and `m` fails.
  private func failure(ofSource isSource: Bool, m: String) throws -> String {
    let http = "{url: \"https://\(InputWordsTests.server)/v1\"}"
    let set = "{n: \"result == null ? 2 : 3\", m: \"\(m)\"}"
    var scene = try Scene(
      """
      data: {n: 1, m: 1, list: []}
      sources: {feed: {http: \(http), start: false, parse: json, set: \(set)}}
      actions: {save: {do: [{http: \(http), parse: json, set: \(set)}]}}
      on: {go: save, read: [{reload: feed}]}
      """, permissions: "{hosts: [\"api.example:8443\"]}")
    try scene.event(isSource ? "read" : "go")
    try scene.answer(scene.webRequest()?.id, 204, server: InputWordsTests.server)
    #expect(scene["n"] == .int(1))
    guard case .string(let message)? = scene.status(isSource ? "feed" : "save", "message") else {
      Issue.record("nothing has failed")
      return ""
    }
    return message
  }

  @Test(arguments: [true, false])
  func `a failure of an expression that does not read the answer says nothing of it`(
    isSource: Bool
  ) throws {
    let message = try failure(ofSource: isSource, m: "data.list[3]")
    #expect(!message.contains("is empty") && !message.isEmpty, "\(message)")
  }

  @Test(arguments: [true, false], ["data.list[3]", "dyn('text')"])
  func `a failure of an expression that reads the empty answer has both facts`(
    isSource: Bool, value: String
  ) throws {
    let message = try failure(ofSource: isSource, m: "result == null ? \(value) : 0")
    #expect(message.hasPrefix("the answer of api.example:8443 is empty, and "), "\(message)")
  }

  @Test(arguments: [
    ("read", "feed", "'result == null ? 2 : 3'", 204), ("read", "feed", "'2'", 200),
    ("go", "save", "'result == null ? 2 : 3'", 200), ("go", "save", "'2'", 200),
  ])
  func `an empty answer is a success if no value of it is needed`(
    event: String, name: String, value: String, status: Int
  ) throws {
    var scene = try scene(value: value)
    try scene.event(event)
    try scene.answer(scene.webRequest()?.id, status)
    #expect(scene.status(name) == .string("success"))
    #expect(scene["n"] == .int(2))
  }
}
