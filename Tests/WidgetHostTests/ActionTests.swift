import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// What is done when something happens, as values in and values out.
struct ActionTests {
  private static let hosts = "{hosts: [a.example], commands: [true]}"

  private static func post(_ more: String = "", on: String = "click: save") -> String {
    """
    data: {n: 0, text: "", list: [], owner: me, said: ""}
    actions:
      save:
        do: [{http: {method: post, url: "http://a.example/", json: {text: =event.payload.text}}, parse: json, set: {n: int(result.n)}}]
    \(more)
    on:
      \(on)
    """
  }

  @Test func `an action shows that it runs, and that it succeeded`() throws {
    var scene = try Scene(
      ActionTests.post("    message: =\"Got \" + string(data.n)"), permissions: ActionTests.hosts)
    let text = "a \"quoted\" text\nwith a line's end, \\ and $text"
    try scene.event("click", ["text": .string(text)])
    #expect(scene.status("save", "running") == .bool(true))
    let request = try need(scene.webRequest())
    #expect(request.request.method == "POST")
    #expect(try JSONText.parse(Array(request.request.text.utf8)) == .map(["text": .string(text)]))
    try scene.answer(request.id, 201, #"{"n": 7}"#)
    #expect(scene["n"] == .int(7))
    #expect(scene.status("save") == .string("success"))
    #expect(scene.status("save", "message") == .string("Got 7"))
  }

  @Test func `a command goes to the window manager, and no program is started`() throws {
    let body = """
      data: {n: 0}
      actions:
        visit:
          do:
            socket: {path: /run/s, format: i3, send: '="workspace " + event.row'}
            set: {n: size(result)}
            stub: [{success: true}, {success: true}]
      on: {click: visit, other: {socket: {path: '="/run/" + event.payload.to', format: i3, send: nop}}}
      """
    var scene = try Scene(body, permissions: "{sockets: [/run/s]}")
    scene.instance.trace(until: .seconds(100))
    try scene.event("click")
    let asked = try need(scene.socketCommand())
    #expect(asked.request.path == "/run/s" && asked.request.command == "workspace ")
    #expect(asked.request.timeout == HostLimits().socketTimeout)
    #expect(asked.request.answerBytesMax == HostLimits().outputBytesMax)
    let traced = scene.taken().flatMap { effect -> [String] in
      if case .trace(_, let lines, _) = effect { lines.map(\.text) } else { [] }
    }
    #expect(traced.contains("sends a command to /run/s"))
    #expect(scene.status("visit", "running") == .bool(true))
    scene.tell(.value(asked.id, .list([.map(["success": .bool(true)])])))
    #expect(scene.status("visit") == .string("success") && scene["n"] == .int(1))
    try scene.event("click")
    let second = try need(scene.socketCommand())
    scene.tell(.failed(second.id, Failure("FAILED_PRECONDITION", "refused")))
    #expect(scene.status("visit", "code") == .string("FAILED_PRECONDITION"))
    try scene.event("other", ["to": .string("t")])
    #expect(scene.socketCommand() == nil, "the permission names another socket")
    var stubbed = try Scene(body, permissions: "{sockets: [/run/s]}", isStub: true)
    try stubbed.event("click")
    #expect(stubbed["n"] == .int(2) && stubbed.socketCommand() == nil)
  }

  @Test func `201 is a success, and what follows success is done`() throws {
    var scene = try Scene(
      ActionTests.post(
        """
            then: [{set: {said: 'string(result.n)'}}, feed]
        sources:
          feed: {http: {url: "http://a.example/feed"}, start: false, parse: json, set: {list: result}}
        """), permissions: ActionTests.hosts)
    try scene.event("click", ["text": .string("x")])
    try scene.answer(scene.webRequest()?.id, 201, #"{"n": 2}"#)
    #expect(scene["said"] == .string("2"))
    let feed = try need(scene.webRequest())
    #expect(feed.request.address.path == "/feed")
    try scene.answer(feed.id, 200, "[1]")
    #expect(scene["list"] == .list([.int(1)]))
  }

  @Test(arguments: [
    (500, "INTERNAL"), (404, "NOT_FOUND"), (403, "PERMISSION_DENIED"), (302, "FAILED_PRECONDITION"),
  ])
  func `what is not 2xx is a failure`(status: Int, code: String) throws {
    var scene = try Scene(
      ActionTests.post("    catch: {set: {said: error.code}}\n    title: Could not save"),
      permissions: ActionTests.hosts)
    try scene.event("click", ["text": .string("x")])
    try scene.answer(scene.webRequest()?.id, status, #"{"n": 2}"#)
    #expect(scene["n"] == .int(0))
    #expect(scene["said"] == .string(code))
    #expect(scene.status("save", "title") == .string("Could not save"))
    let event = try need(scene.sentEvent())
    #expect(event.name == "error")
    #expect(event.payload["action"] == .string("save"))
    #expect(event.payload["code"] == .string(code))
  }

  @Test func `the server's own words tell what is wrong`() throws {
    var scene = try Scene(
      """
      data: {n: 0}
      actions:
        go: {do: [{http: {url: "http://a.example/"}, parse: {format: json, errorPath: "error.text"}}]}
      on: {click: go}
      """, permissions: ActionTests.hosts)
    try scene.event("click")
    try scene.answer(scene.webRequest()?.id, 422, #"{"error": {"text": "Too long"}}"#)
    #expect(scene.status("go", "message") == .string("Too long"))
  }

  @Test func `optimistic values are taken back when the steps fail`() throws {
    var scene = try Scene(
      """
      data: {list: [1, 2, 3], n: 0}
      actions:
        remove:
          optimistic: {list: "data.list.filter(x, x != 2)"}
          do: [{http: {method: delete, url: "http://a.example/2"}}]
      on: {click: remove}
      """, permissions: ActionTests.hosts)
    let all = try #require(scene["list"])
    try scene.event("click")
    #expect(scene["list"] == .list([.int(1), .int(3)]))
    try scene.answer(scene.webRequest()?.id, 500)
    #expect(scene["list"] == all)
    try scene.event("click")
    try scene.answer(scene.webRequest()?.id, 204)
    #expect(scene["list"] == .list([.int(1), .int(3)]))
  }

  @Test func `what somebody else changed meanwhile is not taken back`() throws {
    var scene = try Scene(
      """
      data: {n: 0}
      actions:
        up: {optimistic: {n: "5"}, do: [{http: {url: "http://a.example/"}}]}
      on: {click: up}
      """, permissions: ActionTests.hosts)
    try scene.event("click")
    try scene.change { $0.data["n"] = .int(9) }
    try scene.answer(scene.webRequest()?.id, 500)
    #expect(scene["n"] == .int(9))
  }

  @Test
  func `a requirement that does not hold refuses, with its code and words, and nothing is sent`()
    throws
  {
    var scene = try Scene(
      ActionTests.post(
        "    require: {if: 'event.payload.owner == data.owner', message: Not yours}"),
      permissions: ActionTests.hosts)
    try scene.event("click", ["owner": .string("you"), "text": .string("")])
    #expect(scene.webRequest() == nil)
    #expect(scene.status("save", "code") == .string("PERMISSION_DENIED"))
    #expect(scene.status("save", "message") == .string("Not yours"))
    try scene.event("click", ["owner": .string("me"), "text": .string("")])
    #expect(scene.webRequest() != nil)
  }

  @Test func `a condition chooses, and the other steps are no action's success`() throws {
    var scene = try Scene(
      """
      data: {n: 0}
      actions:
        go: {if: data.n > 0, else: {set: {n: "1"}}, do: [{command: ["true"]}]}
      on: {click: go}
      """, permissions: ActionTests.hosts)
    try scene.event("click")
    #expect(scene["n"] == .int(1))
    #expect(scene.program() == nil)
    #expect(scene.status("go") == .string("idle"))
    try scene.event("click")
    #expect(scene.program()?.request.program == "true")
  }

  @Test func `a delay begins anew when the action is asked for again`() throws {
    var scene = try Scene(
      """
      data: {n: 0}
      actions: {go: {delay: 1s, do: [{set: {n: data.n + 1}}]}}
      on: {click: go}
      """)
    for _ in 0..<5 {
      try scene.event("click")
      scene.pass(.milliseconds(900))
    }
    #expect(scene["n"] == .int(0))
    scene.pass(.milliseconds(200))
    #expect(scene["n"] == .int(1))
    scene.pass(.seconds(10))
    #expect(scene["n"] == .int(1))
  }

  private static let search = """
    data: {query: "", found: ""}
    content:
      input: query
      id: query
      value: =data.query
      on:
        change:
          throttle: 500ms
          minLength: 2
          do: [{http: {url: "http://a.example/", query: {q: =event.payload.value}}, parse: text, set: {found: result}}]
    """

  @Test func `of several changes in a row only the last is acted on`() throws {
    var scene = try Scene(ActionTests.search, permissions: ActionTests.hosts)
    for text in ["ca", "caf", "cafe"] {
      try scene.event("change", node: "query", ["value": .string(text)])
      scene.pass(.milliseconds(400))
      #expect(scene.webRequest() == nil)
    }
    scene.pass(.milliseconds(100))
    #expect(scene.webRequest()?.request.address.query == "q=cafe")
    scene.pass(.seconds(5))
    #expect(scene.webRequest() == nil)
  }

  @Test func `what is too short is left out, and nothing at all is not`() throws {
    var scene = try Scene(ActionTests.search, permissions: ActionTests.hosts)
    try scene.event("change", node: "query", ["value": .string("c")])
    scene.pass(.seconds(1))
    #expect(scene.webRequest() == nil)
    // What is cleared shows everything again.
    try scene.event("change", node: "query", ["value": .string("")])
    scene.pass(.seconds(1))
    #expect(scene.webRequest()?.request.address.query == "q=")
  }

  @Test func `firings of one trigger go one after the other, and so many may wait`() throws {
    var limits = HostLimits()
    limits.queuedMax = 3
    var scene = try Scene(
      ActionTests.post(), permissions: ActionTests.hosts, limits: limits)
    for number in 0..<6 { try scene.event("click", ["text": .string("\(number)")]) }
    var texts: [String] = []
    while let request = scene.webRequest() {
      texts.append(request.request.text)
      #expect(scene.webRequest() == nil)
      try scene.answer(request.id, 200, #"{"n": 1}"#)
    }
    #expect(texts == (0..<4).map { #"{"text":"\#($0)"}"# })
    #expect(scene.taken().contains { if case .report = $0 { true } else { false } })
  }

  @Test func `an action that is cancelled ends, and its values are taken back`() throws {
    var scene = try Scene(
      """
      data: {n: 0}
      actions:
        slow: {optimistic: {n: "1"}, do: [{http: {url: "http://a.example/"}}]}
      on: {click: slow, stop: {cancel: slow}}
      """, permissions: ActionTests.hosts)
    try scene.event("click")
    let request = try need(scene.webRequest())
    #expect(scene["n"] == .int(1))
    try scene.event("stop")
    #expect(scene.cancelled() == request.id)
    #expect(scene["n"] == .int(0))
    #expect(scene.status("slow") == .string("idle"))
    // The answer may have been on its way.
    try scene.answer(request.id, 200)
    #expect(scene.status("slow") == .string("idle"))
  }

  @Test func `actions that call each other too deep are ended`() throws {
    let kind = try Scene.bundle("data: {n: 0}").kinds[0]
    var actions: [String: Action] = [:]
    for index in 0..<20 {
      actions["a\(index)"] = Action(name: "a\(index)", steps: [.run("a\((index + 1) % 20)")])
    }
    let circle = BundleKind(
      kind: kind.kind, actions: actions,
      triggers: [Trigger(when: .event(name: "click", nodeID: nil), steps: [.run("a0")])],
      scope: kind.scope)
    var scene = try Scene(Bundle(id: "b", version: "1.0.0", kinds: [circle]))
    try scene.event("click")
    let event = try need(scene.sentEvent())
    #expect(event.payload["code"] == .string("RESOURCE_EXHAUSTED"))
    guard case .string(let message)? = event.payload["message"] else {
      Issue.record("no message")
      return
    }
    #expect(message.contains("8 deep"))
    #expect(scene.instance.runs.isEmpty)
  }

  @Test func `a trigger has only so many steps`() throws {
    let kind = try Scene.bundle("data: {n: 0}").kinds[0]
    let steps = [Step](repeating: .cancel("nothing"), count: 1_000)
    let long = BundleKind(
      kind: kind.kind, triggers: [Trigger(when: .event(name: "click", nodeID: nil), steps: steps)],
      scope: kind.scope)
    var scene = try Scene(Bundle(id: "b", version: "1.0.0", kinds: [long]))
    try scene.event("click")
    #expect(scene.sentEvent()?.payload["code"] == .string("RESOURCE_EXHAUSTED"))
  }

  @Test func `a storm of events is let through at a rate, and told of`() throws {
    var limits = HostLimits()
    limits.triggersBurst = 10
    limits.triggersPerSecond = 1
    var scene = try Scene(
      "data: {n: 0}\non: {click: [{set: {n: data.n + 1}}, {reload: all}]}", limits: limits)
    for _ in 0..<1_000 { try scene.event("click") }
    #expect(scene["n"] == .int(10))
    scene.pass(.seconds(2))
    try scene.event("click")
    #expect(scene["n"] == .int(11))
  }

  @Test func `events and presence are asked of the daemon, after the changes before them`() throws {
    var scene = try Scene(
      """
      data: {n: 0}
      on:
        click: [{set: {n: "1"}}, {emit: done, payload: {n: =data.n}}, {hide: [self]}, {set: {n: "2"}}]
      """)
    try scene.event("click")
    #expect(scene["n"] == .int(1))
    let event = try need(scene.sentEvent())
    #expect(event.payload == ["n": .int(1)])
    #expect(scene.presence() == nil)
    scene.tell(.sent(event.id, 0))
    let presence = try need(scene.presence())
    #expect(presence.action == .hide && presence.ids.map(\.rawValue) == ["w"])
    scene.tell(.sent(presence.id, 0))
    #expect(scene["n"] == .int(2))
  }

  @Test func `an event that the daemon's reducers answer is acted on after them`() throws {
    var scene = try Scene(
      """
      data: {n: 0, seen: 0}
      reducers: [{event: click, set: {n: data.n + 1}}]
      on: {click: [{set: {seen: data.n}}, {reload: all}]}
      """)
    scene.isBusy = true
    try scene.event("click")
    #expect(scene["seen"] == .int(0))
    scene.isBusy = false
    guard case .fetchWidget(let request, let id)? = scene.taken().first else {
      Issue.record("the widget is not asked for")
      return
    }
    var widget = try #require(scene.widgets[id])
    widget.data["n"] = .int(1)
    widget.revision += 1
    scene.tell(.fetched(request, widget))
    #expect(scene["seen"] == .int(1))
  }

  private static let form = """
    data: {n: 0}
    content:
      form:
        - {input: title, text: Title, required: true, minLength: 2, maxLength: 5}
        - {input: note, text: Note}
      id: editor
      submit: Save
      action: save
      on: {submit: save}
    actions:
      save: {do: [{http: {method: post, url: "http://a.example/", json: =event.payload.values}}]}
    """

  @Test(arguments: [
    ("", "needed"), ("  \n ", "needed"), ("a", "at least 2"), ("abcdef", "at most 5"),
  ])
  func `a form with a wrong field sends nothing, and says what is wrong`(
    text: String, words: String
  ) throws {
    let body = ActionTests.form.split(separator: "\n").filter { !$0.contains("action: save") }
      .joined(separator: "\n")
    var scene = try Scene(body, permissions: ActionTests.hosts)
    try scene.event("submit", node: "editor", ["values": .map(["title": .string(text)])])
    #expect(scene.webRequest() == nil)
    #expect(scene.status("save", "code") == .string("INVALID_ARGUMENT"))
    #expect(scene.status("save", "failed") == .bool(true))
    guard case .map(let fields)? = scene.status("save", "fields"),
      case .string(let message)? = fields["title"]
    else {
      Issue.record("no word about the field")
      return
    }
    #expect(fields.count == 1)
    #expect(message.contains("Title") && message.contains(words))
    try scene.event("submit", node: "editor", ["values": .map(["title": .string("abc")])])
    #expect(scene.webRequest()?.request.text == #"{"note":"","title":"abc"}"#)
    #expect(scene.status("save", "fields") == .map([:]))
  }

  struct WrongForm: Sendable {
    let values: ValueMap
    let wrong: [String: String]
  }

  private static let wrongForms: [WrongForm] = [
    WrongForm(
      values: ["title": Value.list([Value.string("a")])],
      wrong: ["title": "not a value of type list"]),
    WrongForm(
      values: ["title": Value.string("abc"), "extra": Value.int(1)],
      wrong: ["extra": "no field \"extra\""]),
    WrongForm(values: ["title": Value.int(5)], wrong: ["title": "not a value of type int"]),
    WrongForm(
      values: ["title": Value.map([:]), "more": Value.null],
      wrong: ["title": "type map", "more": "no field"]),
  ]

  @Test(arguments: wrongForms)
  func `a form takes what its fields are for, and nothing else`(form: WrongForm) throws {
    let (values, wrong) = (form.values, form.wrong)
    let body = ActionTests.form.split(separator: "\n").filter { !$0.contains("action: save") }
      .joined(separator: "\n")
    var scene = try Scene(body, permissions: ActionTests.hosts)
    try scene.event("submit", node: "editor", ["values": .map(values)])
    #expect(scene.webRequest() == nil)
    guard case .map(let fields)? = scene.status("save", "fields") else {
      Issue.record("no words about fields")
      return
    }
    #expect(Set(fields.keys) == Set(wrong.keys))
    for (name, words) in wrong {
      guard case .string(let message)? = fields[name] else { continue }
      #expect(message.contains(words), "\(message)")
    }
  }

  private static let numbers: [Value] = [
    .string("12"), .string("-1.5"), .int(3), .double(0.5), .string(""),
  ]
  private static let noNumbers: [Value] = [
    .string("twelve"), .string("nan"), .bool(true), .list([.int(1)]),
  ]

  @Test(arguments: numbers + noNumbers)
  func `a field for a number takes numbers`(value: Value) throws {
    let isTaken = ActionTests.numbers.contains(value)
    var scene = try Scene(
      """
      content: {form: [{input: n, mode: number}], id: f, on: {submit: save}}
      actions: {save: {do: [{http: "http://a.example/"}]}}
      """, permissions: ActionTests.hosts)
    try scene.event("submit", node: "f", ["values": .map(["n": value])])
    #expect((scene.webRequest() != nil) == isTaken)
  }

  @Test(
    arguments: [
      (["t": Value.bool(true)], "true"), (["t": Value.bool(false)], "false"), ([:], "false"),
      (["t": Value.string("true")], nil), (["t": Value.int(1)], nil),
    ] as [(ValueMap, String?)])
  func `a toggle with a name is a field of its form`(values: ValueMap, sent: String?) throws {
    var scene = try Scene(
      """
      content: {form: [{toggle: Urgent, name: t}], id: f, on: {submit: save}}
      actions:
        save: {do: [{http: {method: post, url: "http://a.example/", json: =nodes.t.value}}]}
      """, permissions: ActionTests.hosts)
    try scene.event("submit", node: "f", ["values": .map(values)])
    #expect(scene.webRequest()?.request.text == sent)
    guard sent == nil else { return }
    guard case .string(let message)? = scene.status("save", "message") else {
      Issue.record("no word about the toggle")
      return
    }
    #expect(message.contains("Urgent takes true or false"), "\(message)")
  }

  @Test func `an event loop ends, and is told with its chain`() throws {
    var limits = HostLimits()
    limits.chainMax = 6
    var scene = try Scene(
      "{data: {n: 0}, on: {ping: [{emit: pong}], pong: [{emit: ping}]}}", limits: limits)
    try scene.event("ping")
    var count = 0
    while let sent = scene.sentEvent(), count < 100 {
      count += 1
      scene.tell(.sent(sent.id, 0))
      try scene.event(sent.name, client: "widgetd-host")
    }
    // Five of the chain, and the one that tells of the failure.
    #expect(count == 6)
    let error = WidgetID("w").flatMap { scene.widgets[$0]?.error }
    #expect(error?.reason == "ACTION_FAILED")
    #expect(
      error?.message.contains("event loop: … → pong → ping → pong → ping") == true,
      "\(error as Any)")
    #expect(scene.instance.failures.count == 1)
  }

  @Test func `events that follow from one another after a delay are no loop`() throws {
    var limits = HostLimits()
    limits.chainMax = 3
    var scene = try Scene(
      "{data: {n: 0}, on: {ping: {delay: 1s, do: [{emit: ping}]}}}", limits: limits)
    try scene.event("ping")
    for _ in 0..<10 {
      scene.pass(.seconds(1))
      let sent = try need(scene.sentEvent())
      scene.tell(.sent(sent.id, 0))
      try scene.event(sent.name, client: "widgetd-host")
    }
    #expect(scene.instance.failures.isEmpty)
  }

  @Test func `the chain of a refused event is forgotten`() throws {
    var limits = HostLimits()
    limits.chainMax = 4
    var scene = try Scene(
      """
      data: {n: 0}
      on: {go: [{emit: a}], a: [{emit: b}], b: [{emit: c}], c: [{emit: d}], other: [{emit: c}]}
      """, limits: limits)
    try scene.event("go")
    for name in ["a", "b"] {
      let sent = try need(scene.sentEvent())
      #expect(sent.name == name)
      scene.tell(.sent(sent.id, 0))
      try scene.event(name, client: "widgetd-host")
    }
    scene.tell(.failed(try need(scene.sentEvent()).id, Failure("FAILED_PRECONDITION", "hidden")))
    while scene.sentEvent() != nil {}
    try scene.event("other")
    let sent = try need(scene.sentEvent())
    #expect(sent.name == "c")
    scene.tell(.sent(sent.id, 0))
    try scene.event("c", client: "widgetd-host")
    // With the chain of go, a and b, this event would be one too many.
    #expect(scene.sentEvent()?.name == "d")
  }

  @Test func `an event in a row is about that row`() throws {
    var scene = try Scene(
      """
      data: {items: [], said: ""}
      content:
        stack:
          - button: Remove
            id: remove
            rows: {list: data.items, key: item.id}
            on: {press: [{set: {said: 'event.row + "," + event.node'}}, {reload: all}]}
      """)
    try scene.event("press", node: "remove/a.2Fb")
    #expect(scene["said"] == .string("a/b,remove/a.2Fb"))
    try scene.event("press", node: "remover")
    try scene.event("press", node: "other/x")
    #expect(scene["said"] == .string("a/b,remove/a.2Fb"))
  }

  @Test func `what was running when a host ended is told as interrupted`() throws {
    var scene = try Scene(ActionTests.post(), permissions: ActionTests.hosts)
    try scene.event("click", ["text": .string("x")])
    let left = Array(scene.widgets.values)
    var next = try Scene(
      ActionTests.post(), permissions: ActionTests.hosts, widgets: [], generation: 2)
    next.widgets = scene.widgets
    next.tell(.snapshot(left))
    #expect(next.status("save", "code") == .string("ABORTED"))
  }

  @Test func `an answer to an earlier version of the bundle is nothing to the next`() throws {
    var scene = try Scene(ActionTests.post(), permissions: ActionTests.hosts)
    try scene.event("click", ["text": .string("x")])
    let request = try need(scene.webRequest())
    var next = try Scene(ActionTests.post(), permissions: ActionTests.hosts, generation: 2)
    try next.answer(request.id, 200, #"{"n": 5}"#)
    #expect(next["n"] == .int(0))
  }

  @Test func `when a widget goes, what was under way for it is ended`() throws {
    var scene = try Scene(
      """
      data: {n: ""}
      sources: {f: {file: "${bundle}/f", every: 1s, set: {n: result}}}
      actions: {go: {do: [{http: {url: "http://a.example/"}}]}}
      on: {click: go, every: {interval: 1s, do: go}}
      """, permissions: ActionTests.hosts)
    try scene.event("click")
    scene.tell(.removed(try #require(WidgetID("w"))))
    #expect(scene.taken().filter { if case .cancel = $0 { true } else { false } }.count == 3)
    #expect(scene.instance.nextDeadline == nil)
    #expect(scene.instance.purposes.isEmpty && scene.instance.runs.isEmpty)
  }

  @Test func `a change that the daemon refuses is told where its result would be`() throws {
    var instance = BundleInstance(
      try Scene.bundle("data: {n: 0}\nsources: {s: {value: 5, set: {n: result}}}"),
      generation: 1, folder: "/b", home: "/", seed: 1)
    let id = try #require(WidgetID("w"))
    let kind = try #require(KindName("k"))
    let now = HostTime(wall: .epoch, uptime: .zero)
    let first = instance.handle(
      .snapshot([Widget(id: id, kind: kind, data: ["n": .int(0)], revision: 1)]), at: now)
    guard case .patch(let request, _, let patch)? = first.first else {
      Issue.record("no change")
      return
    }
    #expect(patch.setData["n"] == .int(5))
    let full = Failure("RESOURCE_EXHAUSTED", "full")
    let second = instance.handle(.failed(request, full), at: now)
    guard case .patch(let next, _, let told)? = second.last else {
      Issue.record("nothing is told: \(second)")
      return
    }
    #expect(told.setData.keys == ["status"])
    guard case .map(let all)? = told.setData["status"], case .map(let status)? = all["s"] else {
      Issue.record("no status")
      return
    }
    #expect(status["code"] == .string("RESOURCE_EXHAUSTED"))
    // If even that is refused there is an end to it.
    let third = instance.handle(.failed(next, full), at: now)
    #expect(!third.contains { if case .patch = $0 { true } else { false } })
  }

  /// What a refused change leaves to be told.
  private func outcome(_ effects: [Effect], of event: String) -> ValueMap? {
    for case .patch(_, _, let patch) in effects {
      if case .map(let all)? = patch.setData["status"], case .map(let told)? = all["$outcomes"],
        case .map(let outcome)? = told[event]
      {
        return outcome
      }
    }
    return nil
  }

  @Test func `whoever waits is told that what the event set was refused`() throws {
    var scene = try Scene("data: {n: 0}\non: {go: [{set: {n: 1}}, {reload: all}]}")
    scene.isBusy = true
    try scene.event("go", wantsOutcome: true)
    guard case .fetchWidget(let fetch, let id)? = scene.taken().first else {
      Issue.record("the event is not followed")
      return
    }
    scene.tell(.fetched(fetch, try need(scene.widgets[id])))
    guard case .patch(let request, _, let patch)? = scene.taken().last else {
      Issue.record("no change")
      return
    }
    #expect(patch.setData["n"] == .int(1) && outcome([.patch(request, id, patch)], of: "1") != nil)
    scene.tell(.failed(request, Failure("RESOURCE_EXHAUSTED", "full")))
    let told = try need(outcome(scene.effects, of: "1"))
    #expect(told["failed"] == .bool(true) && told["code"] == .string("RESOURCE_EXHAUSTED"))
  }

  private func patches(_ scene: inout Scene) -> [Effect] {
    scene.taken().filter { if case .patch = $0 { true } else { false } }
  }

  @Test func `an outcome arrives though other data that was to go with it is refused`() throws {
    var scene = try Scene(
      "data: {n: 0}\nsources: {s: {http: http://a.example/, every: 10s, set: {n: result.size()}}}\n"
        + "on: {go: [{reload: all}]}", permissions: "{hosts: [a.example]}")
    scene.isBusy = true
    try scene.answer(scene.webRequest()?.id, 500)
    // Its change is under way: the next one holds what comes up meanwhile.
    guard case .patch(let first, _, _)? = patches(&scene).last else {
      Issue.record("no change")
      return
    }
    scene.pass(.seconds(10))
    try scene.answer(scene.webRequest()?.id, 200, "[1, 2]")
    try scene.event("unknown", wantsOutcome: true)
    scene.tell(.sent(first, 100))
    guard case .patch(let second, _, let patch)? = patches(&scene).last else {
      Issue.record("no second change: \(scene.effects) \(scene.instance.purposes)")
      return
    }
    #expect(patch.setData["n"] == .int(2))
    scene.tell(.failed(second, Failure("RESOURCE_EXHAUSTED", "full")))
    let told = try need(outcome(scene.effects, of: "1"))
    #expect(told["succeeded"] == .bool(true))
    // With the status alone refused, the outcome is told once more by itself.
    guard case .patch(let third, _, _)? = patches(&scene).last else {
      Issue.record("the failure is not told")
      return
    }
    scene.tell(.failed(third, Failure("RESOURCE_EXHAUSTED", "full")))
    guard case .patch(let fourth, _, let least)? = patches(&scene).last else {
      Issue.record("it is not told again")
      return
    }
    #expect(outcome([.patch(fourth, try need(WidgetID("w")), least)], of: "1") != nil)
    scene.tell(.failed(fourth, Failure("RESOURCE_EXHAUSTED", "full")))
    #expect(!scene.taken().contains { if case .patch = $0 { true } else { false } })
  }

  @Test func `a text that looks like a place is handed to a program as it is`() throws {
    var scene = try Scene(
      """
      data: {n: 0}
      actions: {go: {do: [{command: [echo, "${bundle}/a", =event.payload.text]}]}}
      on: {click: go}
      """, permissions: "{commands: [echo]}")
    try scene.event("click", ["text": .string("${bundle}/a")])
    #expect(try need(scene.program()).request.arguments == ["/bundles/b/a", "${bundle}/a"])
  }

  @Test func `a change that the daemon could not take now is made later, with what came since`()
    throws
  {
    var instance = BundleInstance(
      try Scene.bundle("data: {n: 0, m: 0}\non: {click: [{set: {n: data.n + 1}}, {reload: all}]}"),
      generation: 1, folder: "/b", home: "/", seed: 1)
    let id = try #require(WidgetID("w"))
    let kind = try #require(KindName("k"))
    func at(_ seconds: Int) -> HostTime { HostTime(wall: .epoch, uptime: .seconds(seconds)) }
    _ = instance.handle(
      .snapshot([Widget(id: id, kind: kind, data: ["n": .int(0)], revision: 1)]), at: at(0))
    /// What follows from an event, once it is known what the daemon made of it.
    func click(_ sequence: UInt64) -> [Effect] {
      let event = Event(sequence: sequence, widgetID: id, name: "click")
      guard case .fetchWidget(let request, _)? = instance.handle(.event(event), at: at(1)).first
      else { return [] }
      return instance.handle(.failed(request, Failure("UNAVAILABLE", "away")), at: at(1))
    }
    guard case .patch(let request, _, _)? = click(1).first else {
      Issue.record("no change")
      return
    }
    // While a change is under way, others wait and go together.
    #expect(click(2).isEmpty)
    let lost = Failure("UNAVAILABLE", "away", isTransient: true)
    #expect(instance.handle(.failed(request, lost), at: at(1)).isEmpty)
    let later = instance.handle(.tick, at: at(3))
    guard case .patch(_, _, let patch)? = later.first, later.count == 1 else {
      Issue.record("not made again: \(later)")
      return
    }
    #expect(patch.setData == ["n": .int(2)])
  }

  @Test func `how far a request is is shown as long as it goes on`() throws {
    var scene = try Scene(
      """
      data: {n: 0}
      actions: {send: {do: [{http: {method: post, url: "http://h/"}}]}}
      on: {click: send}
      sources: {feed: {http: {url: "http://h/"}, set: {n: result}}}
      """, permissions: "{hosts: [h]}")
    let feed = try need(scene.webRequest())
    scene.tell(.progress(feed.id, 0.25))
    #expect(scene.status("feed", "progress") == .double(0.25))
    try scene.event("click")
    let send = try need(scene.webRequest())
    #expect(scene.status("send", "progress") == .null)
    scene.tell(.progress(send.id, 0.5))
    #expect(scene.status("send", "progress") == .double(0.5))
    #expect(scene.status("send") == .string("running"))
    try scene.answer(send.id, 200, "{}")
    #expect(scene.status("send") == .string("success"))
    #expect(scene.status("send", "progress") == .null)
    scene.tell(.progress(send.id, 0.75))
    #expect(scene.status("send", "progress") == .null)
  }

  @Test(arguments: [(5, 1), (7, 7)])
  func `what was set in advance by a host that is gone is taken back by the next`(
    found: Int64, left: Int64
  ) throws {
    let body = """
      data: {n: 1}
      actions:
        send:
          optimistic: {n: 5}
          do: [{http: {method: post, url: "http://h/"}}]
          title: It did not go
      on: {click: send}
      """
    var scene = try Scene(body, permissions: "{hosts: [h]}")
    try scene.event("click")
    #expect(scene["n"] == .int(5) && scene.status("send") == .string("running"))
    scene.tell(.progress(try need(scene.webRequest()).id, 0.5))
    var next = try Scene(body, permissions: "{hosts: [h]}", widgets: [], generation: 2)
    var widget = try #require(scene.widgets.values.first)
    // Somebody may have changed it since.
    widget.data["n"] = .int(found)
    next.widgets[widget.id] = widget
    next.tell(.snapshot([widget]))
    #expect(next["n"] == .int(left))
    #expect(next.status("send", "code") == .string("ABORTED"))
    #expect(next.status("send", "title") == .string("It did not go"))
    #expect(next.status("send", "undo") == nil)
  }
}
