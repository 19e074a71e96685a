import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// Requests to services of the bundle, titles and messages of sources, and stubs.
struct ServiceTests {
  private static let services = """
    {api: {url: "https://a.example/v1", query: {key: k, lang: en}, headers: {X-From: bundle, Accept: text/plain},
      auth: "${bundle}/token", timeout: 5s}}
    """

  private func request(_ http: String) throws -> WebRequest {
    var scene = try Scene(
      try Scene.bundle(
        "data: {id: a/b}\nactions: {go: {do: [{http: \(http)}]}}\non: {click: go}",
        permissions: "{hosts: [a.example]}", services: ServiceTests.services))
    try scene.event("click")
    return try need(scene.webRequest()).request
  }

  @Test func `a request to a service starts from the service's values`() throws {
    let request = try request("{service: api, path: [notes, =data.id], query: {page: 2}}")
    #expect(
      "\(request.address)" == "https://a.example/v1/notes/a%2Fb?key=k&lang=en&page=2")
    #expect(request.header("X-From") == "bundle" && request.header("Accept") == "text/plain")
    #expect(request.auth?.scheme == .bearer)
    #expect(request.auth?.file.path == "/bundles/b/token")
    #expect(request.timeout == .seconds(5))
    #expect(request.method == "GET")
  }

  @Test func `a request replaces the service's values of the same name`() throws {
    let request = try request(
      """
      {service: api, path: notes/recent, query: {lang: de}, headers: {x-from: me, Authorization: none},
       timeout: 1s, json: {a: 1}}
      """)
    #expect("\(request.address)" == "https://a.example/v1/notes/recent?key=k&lang=de")
    #expect(request.headers.filter { $0.name.lowercased() == "x-from" }.map(\.value) == ["me"])
    #expect(request.auth == nil)
    #expect(request.header("Authorization") == "none")
    #expect(request.timeout == .seconds(1))
    #expect(request.method == "POST" && request.text == #"{"a":1}"#)
  }

  @Test func `a service reads the bundle's settings`() throws {
    var scene = try Scene(
      try Scene.bundle(
        "data: {n: 0}\nsources: {feed: {http: {service: api, path: x}, set: {n: result}}}",
        permissions: "{hosts: [a.example]}",
        services: "{api: {url: =defaults.server}}\ndefaults: {server: \"https://a.example/v2\"}"))
    #expect("\(try need(scene.webRequest()).request.address)" == "https://a.example/v2/x")
  }

  @Test func `a source uses the bundle's title and message`() throws {
    var scene = try Scene(
      """
      data: {n: 0}
      sources:
        feed:
          http: http://a.example/
          every: 10s
          parse: json
          title: ='No feed after ' + string(data.n)
          message: =string(result.size()) + ' of ' + string(data.n)
          set: {n: result.size()}
      """, permissions: "{hosts: [a.example]}")
    try scene.answer(scene.webRequest()?.id, 200, "[1, 2]", etag: "x")
    #expect(scene.status("feed", "message") == .string("2 of 2"))
    scene.pass(.seconds(10))
    try scene.answer(scene.webRequest()?.id, 304)
    #expect(scene.status("feed", "message") == .string("2 of 2"))
    scene.pass(.seconds(10))
    try scene.answer(scene.webRequest()?.id, 500)
    #expect(scene.status("feed", "title") == .string("No feed after 2"))
    let error = WidgetID("w").flatMap { scene.widgets[$0]?.error }
    #expect(error?.message.hasPrefix("No feed after 2: the server answered 500") == true)
  }

  @Test(arguments: [
    (#"{"error": {"text": "It is full"}, "items": []}"#, "It is full"),
    (#"{"error": {"text": ["a", "b"]}, "items": []}"#, nil as String?),
    (#"{"error": {"text": ""}, "items": []}"#, ""),
    (#"{"error": {"text": null}, "items": []}"#, ""),
    (#"{"error": {"text": false}, "items": []}"#, ""),
    (#"{"error": {"text": []}, "items": []}"#, ""),
    (#"{"error": {"text": {}}, "items": []}"#, ""), (#"{"items": []}"#, ""),
  ])
  func `an answer of 200 with text at errorPath is a failure`(body: String, words: String?) throws {
    var scene = try Scene(
      """
      data: {items: [1]}
      sources:
        feed:
          http: http://a.example/
          parse: {format: json, path: items, errorPath: error.text}
          set: {items: result}
      """, permissions: "{hosts: [a.example]}")
    try scene.answer(scene.webRequest()?.id, 200, body)
    guard words == "" else {
      #expect(scene.status("feed") == .string("failure"))
      #expect(scene.status("feed", "code") == .string("UNKNOWN"))
      if let words { #expect(scene.status("feed", "message") == .string(words)) }
      #expect(scene["items"] == .list([.int(1)]))
      return
    }
    #expect(scene.status("feed") == .string("success"))
    #expect(scene["items"] == .list([]))
  }

  @Test(arguments: [200, 500])
  func `a long text at errorPath is cut`(status: Int) throws {
    var scene = try Scene(
      """
      data: {items: []}
      sources:
        feed:
          http: http://a.example/
          parse: {format: json, errorPath: error}
          set: {items: result}
      """, permissions: "{hosts: [a.example]}")
    let text = String(repeating: "word ", count: 100_000)
    try scene.answer(scene.webRequest()?.id, status, #"{"error": "\#(text)"}"#)
    guard case .string(let message)? = scene.status("feed", "message") else {
      Issue.record("no message")
      return
    }
    #expect(message.hasPrefix("word word") && message.hasSuffix(" word…"))
    #expect((400...500).contains(message.utf8.count))
  }

  // MARK: Stubs

  @Test func `a stub can read the data, and has a delay`() throws {
    var scene = try Scene(
      """
      data: {q: a, found: "", said: ""}
      sources:
        feed:
          http: {url: "http://a.example/", query: {q: =data.q}}
          parse: {format: json, shape: object}
          stub: {of: [=data.q, x]}
          debugDelay: 2s
          set: {found: "string(result.of[0])"}
      actions:
        save: {do: [{http: {method: POST, url: "http://a.example/"}, stub: "='id of ' + data.q",
                     debugDelay: 500ms, set: {said: string(result)}}], message: Saved}
      on: {go: save}
      """, permissions: "{hosts: [a.example]}", isStub: true)
    #expect(scene.status("feed") == .string("running"))
    #expect(scene["found"] == .string(""))
    scene.pass(.seconds(2))
    #expect(scene["found"] == .string("a"))
    #expect(scene.status("feed") == .string("success"))
    try scene.event("go")
    #expect(scene.status("save") == .string("running"))
    scene.pass(.milliseconds(499))
    #expect(scene.status("save") == .string("running"))
    scene.pass(.milliseconds(1))
    #expect(scene["said"] == .string("id of a"))
    #expect(scene.status("save", "message") == .string("Saved"))
    // A change of its input makes the host read the source again, also during a reading.
    try scene.change { $0.data["q"] = .string("b") }
    scene.pass(.seconds(1))
    try scene.change { $0.data["q"] = .string("c") }
    scene.pass(.seconds(5))
    #expect(scene["found"] == .string("c"))
    #expect(scene.taken().isEmpty)
  }

  @Test func `an action can be cancelled while its stub is delayed`() throws {
    var scene = try Scene(
      """
      data: {n: 0}
      actions: {slow: {do: [{command: [x], debugDelay: 1s}, {set: {n: 1}}]}}
      on: {go: slow, stop: [{cancel: slow}]}
      """, permissions: "{commands: [x]}", isStub: true)
    try scene.event("go")
    try scene.event("stop")
    #expect(scene.status("slow") == .string("idle"))
    #expect(scene.instance.nextDeadline == nil)
    scene.pass(.seconds(2))
    #expect(scene["n"] == .int(0))
    #expect(scene.taken().isEmpty)
  }
  @Test func `a stub takes the place of a value and of a time`() throws {
    let body = """
      data: {n: 0, seen: {type: timestamp}}
      sources:
        number: {value: 5, stub: 7, set: {n: result}}
        clock:
          timer: 60s
          stub: {$timestamp: "2026-11-21T14:30:00Z"}
          debugDelay: 2s
          set: {seen: result}
      """
    #expect(try Scene(body)["n"] == .int(5))
    var scene = try Scene(body, isStub: true)
    #expect(scene["n"] == .int(7))
    #expect((scene["seen"] ?? .null) == .null && scene.status("clock") == .string("running"))
    scene.pass(.seconds(2))
    let time = Timestamp(nanosecondsSinceEpoch: 1_795_271_400_000_000_000)
    #expect(scene["seen"] == .timestamp(time) && scene.status("clock") == .string("success"))
  }

  @Test func `without a stub, a value and a time are as usual`() throws {
    let scene = try Scene(
      """
      data: {n: 0, seen: {type: timestamp}}
      sources:
        number: {value: 5, set: {n: result}}
        clock: {timer: 60s, set: {seen: result}}
      """, isStub: true)
    #expect(scene["n"] == .int(5) && scene["seen"] == .timestamp(scene.time.wall))
  }

  @Test func `a source without a stub ends the failure of an earlier host`() throws {
    var scene = try Scene(
      """
      data: {n: 0}
      sources: {feed: {http: "http://a.example/", staleAfter: 0s, set: {n: result}}}
      """, permissions: "{hosts: [a.example]}")
    try scene.answer(scene.webRequest()?.id, 403)
    #expect(scene.widget?.error != nil && scene.widget?.isStale == true)
    scene.instance = BundleInstance(
      scene.instance.bundle, generation: 2, folder: "/bundles/b", home: "/home/me", isStub: true,
      seed: 8)
    scene.tell(.snapshot(Array(scene.widgets.values)))
    #expect(scene.status("feed") == .string("success"))
    #expect(scene.widget?.error == nil && scene.widget?.isStale == false)
    #expect(scene.instance.failures.isEmpty && scene["n"] == .int(0))
  }
}
