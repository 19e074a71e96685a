import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// The requests to servers, and the meaning of their answers.
struct RequestTests {
  private func request(_ http: String, data: String = "{n: 0}", hosts: String = "a.example") throws
    -> WebRequest?
  {
    var scene = try Scene(
      "data: \(data)\nactions: {go: {do: [{http: \(http)}]}}\non: {click: go}",
      permissions: "{hosts: [\"\(hosts)\"], read: [/etc/a]}")
    try scene.event("click")
    return scene.webRequest()?.request
  }

  @Test func `values in a URL are percent-encoded`() throws {
    let request = try #require(
      try request(
        #"{url: "http://a.example/api?x=1", path: [items, =data.key], query: {q: =data.key, none: =data.none, many: [a, b]}}"#,
        data: #"{key: "a/b&c=d ü?", none: null}"#))
    #expect(
      "\(request.address)"
        == "http://a.example/api/items/a%2Fb%26c%3Dd%20%C3%BC%3F"
        + "?x=1&q=a%2Fb%26c%3Dd%20%C3%BC%3F&many=a&many=b")
  }

  @Test(arguments: ["", ".", ".."])
  func `a path component that is empty or made of dots is refused`(part: String) throws {
    #expect(
      try request(
        #"{url: "http://a.example/items", path: [=data.key]}"#, data: "{key: \"\(part)\"}")
        == nil)
  }

  @Test(arguments: [
    ("a.example", "http://a.example/", true), ("a.example", "https://a.example/", true),
    ("a.example", "http://a.example:8080/", false),
    ("a.example:8080", "http://a.example:8080/", true),
    ("a.example:8080", "http://a.example/", false), ("*.example", "http://b.a.example/", true),
    ("*.a.example", "http://a.example/", false), ("*.a.example", "http://xa.example/", false),
    ("a.example", "http://a.example.evil/", false), ("a.example", "http://A.EXAMPLE/", true),
    ("a.example", "http://a.example@evil/", false), ("a.example", "http://evil#@a.example/", false),
    ("a.example", "http://evil\\\\@a.example/", false), ("[::1]:80", "http://[::1]/", true),
  ])
  func `requests go only to hosts that permissions name`(rule: String, url: String, isAllowed: Bool)
    throws
  {
    let made = try request("{url: =data.url}", data: "{url: \"\(url)\"}", hosts: rule)
    #expect((made != nil) == isAllowed)
  }

  @Test func `a refusal names the permission to add, and its place`() throws {
    var scene = try Scene(
      #"data: {url: "http://b.example:81/"}"#
        + "\nactions: {go: {do: [{http: {url: =data.url}}]}}\non: {click: go}",
      permissions: "{hosts: [a.example]}")
    try scene.event("click")
    #expect(scene.status("go", "code") == .string("PERMISSION_DENIED"))
    guard case .string(let message)? = scene.status("go", "message") else {
      Issue.record("no message")
      return
    }
    #expect(message.contains("add \"b.example:81\" to permissions.hosts"))
  }

  @Test(arguments: ["a\\nb: c", "a\\rb", "\\u0001"])
  func `a value cannot add another header`(value: String) throws {
    #expect(
      try request(
        #"{url: "http://a.example/", headers: {X-A: =data.v}}"#, data: "{v: \"\(value)\"}") == nil)
  }

  @Test(arguments: ["Host", "content-length", "Transfer-Encoding", "a b"])
  func `a bundle cannot set headers that frame a message`(name: String) throws {
    #expect(
      (try? request(#"{url: "http://a.example/", headers: {"\#(name)": x}}"#)) ?? nil == nil)
  }

  @Test func `a form is sent in the encoding of HTML forms`() throws {
    let made = try #require(
      try request(
        #"{method: post, url: "http://a.example/", form: {text: =data.text, n: 1}}"#,
        data: #"{text: "a b&c=\"ü\"\n"}"#))
    #expect(made.text == "text=a+b%26c%3D%22%C3%BC%22%0A&n=1")
    #expect(made.header("Content-Type") == "application/x-www-form-urlencoded")
  }

  @Test func `parts of a multipart body have a boundary that no part contains`() throws {
    let made = try #require(
      try request(
        #"{method: post, url: "http://a.example/", multipart: {text: "x", file: {file: /etc/a/b.png, contentType: image/png}}}"#
      ))
    guard case .multipart(let parts, let boundary) = made.body else {
      Issue.record("no parts")
      return
    }
    #expect(parts.count == 2)
    #expect(made.header("Content-Type") == "multipart/form-data; boundary=\(boundary)")
  }

  @Test func `the host reads a blob for the user who sent the event`() throws {
    var scene = try Scene(
      #"""
      data: {id: mine}
      actions:
        send:
          do: [{http: {method: post, url: "http://a.example/", multipart: {photo: {blob: =data.id}}}}]
      on: {go: send}
      """#, permissions: "{hosts: [a.example]}")
    try scene.event("go", uid: 1001)
    guard case .multipart(let parts, _)? = scene.webRequest()?.request.body,
      case .blob("mine", uid: 1001, _, _)? = parts.first?.content
    else {
      Issue.record("the blob is asked for as somebody else")
      return
    }
  }

  @Test func `a blob is sent only if a client's event names it`() throws {
    let http = #"{url: "http://a.example/", method: post, multipart: {photo: {blob: mine}}}"#
    var scene = try Scene(
      """
      data: {n: 0}
      sources: {feed: {http: \(http), every: 1m, set: {n: '1'}}}
      actions: {send: {do: [{http: \(http)}]}}
      on: {go: send}
      """, permissions: "{hosts: [a.example]}")
    #expect(scene.webRequest() == nil)
    #expect(scene.status("feed", "code") == .string("FAILED_PRECONDITION"))
    // Steps sent this event, and any user may have started them.
    try scene.event("go", client: "widgetd-host", uid: 1001)
    #expect(scene.webRequest() == nil)
    #expect(scene.status("send", "code") == .string("FAILED_PRECONDITION"))
  }

  @Test func `a blob goes on with an event that steps emit, for the user who began it`() throws {
    var scene = try Scene(
      #"""
      data: {n: 0}
      actions:
        send: {do: [{http: {method: post, url: "http://a.example/", multipart: {photo: {blob: =event.payload.photo}}}}]}
      on: {go: {emit: on, payload: {photo: =event.payload.photo}}, on: send}
      """#, permissions: "{hosts: [a.example]}")
    func blob(_ scene: inout Scene) -> (id: String, uid: UInt32)? {
      guard case .multipart(let parts, _)? = scene.webRequest()?.request.body,
        case .blob(let id, let uid, _, _)? = parts.first?.content
      else { return nil }
      return (id, uid)
    }
    try scene.event("go", ["photo": .string("mine")], client: "bar", uid: 1001)
    let emitted = try #require(
      scene.effects.compactMap { effect in
        if case .send(let id, _, _, _, _) = effect { id } else { nil }
      }.last)
    // The next event comes from another user.
    scene.tell(.emitted(emitted, sequence: scene.sequence + 2))
    // Somebody claims to be the host, with another event.
    try scene.event(
      "on", ["photo": .string("theirs")], client: "widgetd-host", uid: 1002)
    #expect(blob(&scene) == nil)
    #expect(scene.status("send", "code") == .string("FAILED_PRECONDITION"))
    try scene.event(
      "on", ["photo": .string("mine")], client: "widgetd-host", uid: 0)
    let sent = try #require(blob(&scene))
    #expect(sent == ("mine", 1001))
  }

  @Test func `a new session forgets the senders of events, the oldest first`() {
    var senders = EventSenders()
    for sequence in 0...UInt64(EventSenders.countMax) { senders.add(7, of: sequence) }
    #expect(senders[0] == nil && senders[1] == 7 && senders.count == EventSenders.countMax)
    senders.removeAll()
    #expect(senders[1] == nil)
  }

  // MARK: Redirects and addresses

  @Test(arguments: [
    ("/x", "http://a.example/x"), ("x", "http://a.example/dir/x"), ("//b/y", "http://b/y"),
    ("https://c:444/z?q#f", "https://c:444/z?q"),
  ])
  func `a redirect leads where it says`(location: String, target: String) throws {
    let address = try WebAddress("http://a.example/dir/page?q=1")
    #expect("\(try address.redirected(to: location))" == target)
  }

  @Test(arguments: [
    "", "ftp://a/", "http://", "http:///x", "http://a:0/", "http://a:99999/", "http://a b/",
    "http://u@a/", "http://[::1/", "javascript:alert(1)", "http://a:-1/", "http://\u{e4}/",
  ])
  func `a text that is not a URL is refused`(text: String) {
    #expect(throws: Failure.self) { try WebAddress(text) }
  }

  @Test(arguments: ["http://u@a/x", "http://u:secret@a/x"])
  func `the failure of a computed URL names the user name as the reason`(text: String) {
    let failure = #expect(throws: Failure.self) { try WebAddress(text) }
    #expect(
      failure?.message
        == "\"http://a/…\" is not a usable URL: it must not have a user name or a password")
  }

  // MARK: Results

  @Test(arguments: [
    (Parse(format: .text), "a\nb\n", Value.string("a\nb")),
    (Parse(format: .lines), "a\nb\n", .list([.string("a"), .string("b")])),
    (Parse(format: .lines), "", .list([])),
    (
      Parse(format: .words), "a  b\n\tc\n",
      .list([.list([.string("a"), .string("b")]), .list([.string("c")])])
    ),
    (Parse(format: .json), "", .null), (Parse(format: .json), "1.5", .double(1.5)),
    (Parse(format: .json, path: [.key("a"), .index(1)]), #"{"a": [1, 2]}"#, .int(2)),
    (
      Parse(format: .json, shape: .list), "[1e2, -3, true, null]",
      .list([.double(100), .int(-3), .bool(true), .null])
    ),
    (Parse(), #"{"a": "ü\u00fc\ud83d\ude00\n"}"#, .map(["a": .string("üü😀\n")])),
  ])
  func `the bytes of a result are parsed in the requested format`(
    parse: Parse, text: String, value: Value
  ) throws {
    #expect(
      try ResultParsing.value(
        of: Array(text.utf8), as: parse, hint: "application/json; charset=utf-8")
        == value)
  }

  @Test(arguments: [
    (Parse.Shape.list, "{}", "the answer is a map, not a list"),
    (.object, "1", "the answer is an int, not an object"),
    (.object, "null", "the answer is null, not an object"),
  ])
  func `a result of another shape is refused, with both shapes`(
    shape: Parse.Shape, text: String, words: String
  ) {
    let failure = #expect(throws: Failure.self) {
      try ResultParsing.value(
        of: Array(text.utf8), as: Parse(format: .json, shape: shape), hint: "")
    }
    #expect(failure?.message == words)
  }

  @Test(arguments: [
    "{", "[1,]", "{\"a\" 1}", "01", "1.", "nul", "\"\u{1}\"", "\"\\x\"", "\"\\ud800\"", "[1] 2",
    "--1",
    "\"", "{a: 1}", "NaN", "+1", ".5",
  ])
  func `a text that is not JSON is refused, with the place`(text: String) {
    let failure = #expect(throws: Failure.self) { try JSONText.parse(Array(text.utf8)) }
    #expect(failure?.message.contains("1:") == true)
  }

  @Test func `JSON that nests too deep is refused`() {
    let text = String(repeating: "[", count: 100_000)
    #expect(throws: Failure.self) { try JSONText.parse(Array(text.utf8)) }
  }

  @Test func `written JSON is read back as the same value`() throws {
    let value = Value.map([
      "a": .list([.int(.min), .double(0.1), .bool(false), .null]),
      "quotes \" and \\ and \u{1}\n\r\t": .string("ü😀\u{7f}\u{2028}"),
    ])
    #expect(try JSONText.parse(Array(JSONText.write(value).utf8)) == value)
  }

  @Test(arguments: [
    (Int64(0), "1970-01-01T00:00:00Z"), (951_782_400, "2000-02-29T00:00:00Z"),
    (-1, "1969-12-31T23:59:59Z"), (253_402_300_799, "9999-12-31T23:59:59Z"),
    (-62_135_596_800, "0001-01-01T00:00:00Z"),
  ])
  func `times are written in the form of RFC 3339`(seconds: Int64, text: String) throws {
    let time = try #require(Timestamp(seconds: seconds, nanoseconds: 0))
    #expect(RFC3339.text(time) == text)
  }

  @Test func `bytes are written as base64`() {
    for (bytes, text) in [
      ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="),
    ] {
      #expect(PaddedBase64.encode(Array(bytes.utf8)) == text)
    }
  }

  @Test(arguments: [
    ("https://a.example/", true), ("http://a.example/", false), ("http://127.0.0.1/", true),
    ("http://localhost/", true), ("http://127.0.0.1.a.example/", false),
  ])
  func `credentials are sent only over TLS or to this machine`(
    url: String, isAllowed: Bool
  ) throws {
    let made = try request(
      "{url: =data.url, auth: /etc/a/token}", data: "{url: \"\(url)\"}",
      hosts: #"a.example", 127.0.0.1, localhost, "127.0.0.1.a.example"#)
    #expect(made.map { $0.auth?.file.path == "/etc/a/token" } == (isAllowed ? true : nil))
  }

  @Test func `a file that may not be read does not authenticate`() throws {
    let made = try request(
      "{url: \"https://a.example/\", auth: {file: =data.path, scheme: basic}}",
      data: "{path: /etc/shadow}")
    #expect(made == nil)
  }
}
