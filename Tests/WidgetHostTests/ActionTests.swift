import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// The effects of events, as values in and values out.
struct ActionTests {
  static let hosts = "{hosts: [a.example], commands: [true]}"

  static func post(_ more: String = "", on: String = "click: save") -> String {
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

  @Test(arguments: ["http: \"http://a.example/\"", "run: inner"])
  func `a step without a stub succeeds, although the message needs its result`(step: String) throws
  {
    let body = """
      content: {label: x}
      actions:
        inner: {do: [{http: "http://a.example/"}]}
        save: {do: [{\(step)}], message: '="in " + result.path'}
        wrong: {do: [{http: "http://a.example/"}], message: '="in " + data.nosuch.path'}
      data: {nosuch: null}
      on: {click: save, other: wrong}
      """
    var scene = try Scene(body, permissions: ActionTests.hosts, isStub: true)
    try scene.event("click")
    #expect(scene.status("save", "succeeded") == .bool(true))
    #expect(scene.status("save", "message") == .string(""))
    try scene.event("other")
    #expect(scene.status("wrong", "failed") == .bool(true))
  }

  @Test func `a 201 is a success, and the steps under then run`() throws {
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
  func `a status other than 2xx is a failure`(status: Int, code: String) throws {
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

  @Test func `the failure has the server's message`() throws {
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

  @Test func `optimistic values are reverted when the steps fail`() throws {
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

  @Test func `an optimistic value that somebody else has changed is not reverted`() throws {
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
  func `a requirement that does not hold refuses with its code and message, and nothing is sent`()
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

  @Test func `a false condition runs the else steps, and the action stays idle`() throws {
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

  @Test func `a delay begins again when the action is started again`() throws {
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

  @Test func `an action that is cancelled ends, and its values are reverted`() throws {
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
    // The answer may have been under way.
    try scene.answer(request.id, 200)
    #expect(scene.status("slow") == .string("idle"))
  }

  @Test func `actions that call each other too deeply are ended`() throws {
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

  @Test func `a trigger with too many steps ends with RESOURCE_EXHAUSTED`() throws {
    let kind = try Scene.bundle("data: {n: 0}").kinds[0]
    let steps = [Step](repeating: .cancel("nothing"), count: 1_000)
    let long = BundleKind(
      kind: kind.kind, triggers: [Trigger(when: .event(name: "click", nodeID: nil), steps: steps)],
      scope: kind.scope)
    var scene = try Scene(Bundle(id: "b", version: "1.0.0", kinds: [long]))
    try scene.event("click")
    #expect(scene.sentEvent()?.payload["code"] == .string("RESOURCE_EXHAUSTED"))
  }

  @Test func `steps run on the data after the daemon's reducers`() throws {
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

  @Test func `an action that ran when its host ended fails as interrupted`() throws {
    var scene = try Scene(ActionTests.post(), permissions: ActionTests.hosts)
    try scene.event("click", ["text": .string("x")])
    let left = Array(scene.widgets.values)
    var next = try Scene(
      ActionTests.post(), permissions: ActionTests.hosts, widgets: [], generation: 2)
    next.widgets = scene.widgets
    next.tell(.snapshot(left))
    #expect(next.status("save", "code") == .string("ABORTED"))
    // Failure is state: the widget shows it, and the log has it.
    #expect(next.widget?.error?.reason == "ACTION_FAILED")
    #expect(next.widget?.error?.message.contains("It was interrupted; try again.") == true)
    #expect(
      next.effects.contains {
        if case .report(let text) = $0 { text.contains("It was interrupted") } else { false }
      })
  }

  @Test(arguments: [false, true])
  func `an action in its delay fails as interrupted when its host ends`(isCancelled: Bool) throws {
    let body = """
      data: {n: 0}
      actions: {later: {delay: 5s, do: [{set: {n: "1"}}]}}
      on: {click: later, stop: {cancel: later}}
      """
    var scene = try Scene(body)
    try scene.event("click")
    #expect(scene.status("later") == .string("idle"))
    if isCancelled { try scene.event("stop") }
    var next = try Scene(body, widgets: [], generation: 2)
    next.widgets = scene.widgets
    next.tell(.snapshot(Array(scene.widgets.values)))
    #expect(next.status("later") == .string(isCancelled ? "idle" : "failure"))
    #expect(next.status("later", "code") == .string(isCancelled ? "" : "ABORTED"))
    #expect((next.widget?.error?.reason == "ACTION_FAILED") != isCancelled)
    #expect(next["n"] == .int(0))
  }

  @Test func `an action in its delay stays so when an earlier run of it ends`() throws {
    var scene = try Scene(
      """
      data: {n: 0}
      actions: {later: {delay: 5s, do: [{http: {url: "http://a.example/"}}]}}
      on: {click: later, press: later}
      """, permissions: ActionTests.hosts)
    try scene.event("click")
    scene.pass(.seconds(5))
    let request = try need(scene.webRequest())
    try scene.event("press")
    #expect(scene.status("later") == .string("running"))
    try scene.answer(request.id, 200, "{}")
    #expect(scene.status("later") == .string("success"))
    #expect(scene.status("later", "delayed") == .bool(true))
    scene.pass(.seconds(5))
    #expect(scene.status("later", "delayed") == nil)
  }

  @Test func `an action whose delay is over is not interrupted`() throws {
    let body = """
      data: {n: 0}
      actions: {later: {delay: 5s, if: data.n > 0, do: [{set: {n: "2"}}]}}
      on: {click: later}
      """
    var scene = try Scene(body)
    try scene.event("click")
    #expect(scene.status("later", "delayed") == .bool(true))
    scene.pass(.seconds(5))
    #expect(scene.status("later", "delayed") == nil && scene.status("later") == .string("idle"))
  }

  @Test func `an answer to an earlier version of the bundle is ignored`() throws {
    var scene = try Scene(ActionTests.post(), permissions: ActionTests.hosts)
    try scene.event("click", ["text": .string("x")])
    let request = try need(scene.webRequest())
    var next = try Scene(ActionTests.post(), permissions: ActionTests.hosts, generation: 2)
    try next.answer(request.id, 200, #"{"n": 5}"#)
    #expect(next["n"] == .int(0))
  }

  @Test func `a removed widget cancels its requests and timers`() throws {
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
    #expect(scene.instance.requests.isEmpty && scene.instance.runs.isEmpty)
  }

  @Test func `a bundle placeholder in data is not expanded in a program's arguments`() throws {
    var scene = try Scene(
      """
      data: {n: 0}
      actions: {go: {do: [{command: [echo, "${bundle}/a", =event.payload.text]}]}}
      on: {click: go}
      """, permissions: "{commands: [echo]}")
    try scene.event("click", ["text": .string("${bundle}/a")])
    #expect(try need(scene.program()).request.arguments == ["/bundles/b/a", "${bundle}/a"])
  }

  @Test func `the progress of a request is shown until it ends`() throws {
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
  func `the next host reverts the optimistic values of an ended host`(
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
