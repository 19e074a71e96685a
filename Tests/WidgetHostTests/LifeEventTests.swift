import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// Life events of sources and actions, and the names of inputs in forms.
struct LifeEventTests {
  private static let hosts = #"{hosts: ["a.example"]}"#
  private static let save = """
    actions: {save: {do: [{http: {method: POST, url: "http://a.example/"}, set: {n: data.n + 1}}],
      message: Saved}}
    """

  /// The names of all events that were sent, in order. The daemon accepts each event and sends it
  /// back.
  private func names(_ scene: inout Scene) throws -> [String] {
    var names: [String] = []
    while let sent = scene.sentEvent(), names.count < 100 {
      names.append(sent.name)
      scene.tell(.sent(sent.id, 0))
      try scene.event(sent.name, sent.payload, client: "widgetd-host")
    }
    return names
  }

  @Test func `an action sends its life events to a kind that takes them`() throws {
    var scene = try Scene(
      "data: {n: 0, log: []}\n" + LifeEventTests.save + """

        on:
          click: save
          save.start: [{set: {log: 'data.log + ["start"]'}}, {reload: all}]
          save.ready: [{set: {log: 'data.log + ["ready " + string(data.n)]'}}, {reload: all}]
          save.success: [{set: {log: 'data.log + [event.payload.message]'}}, {reload: all}]
        """, permissions: LifeEventTests.hosts)
    try scene.event("click")
    #expect(try names(&scene) == ["save.start"])
    try scene.answer(scene.webRequest()?.id, 200)
    // The host sends both events before either of them comes back.
    let ready = try need(scene.sentEvent())
    let success = try need(scene.sentEvent())
    #expect([ready.name, success.name] == ["save.ready", "save.success"])
    #expect(success.payload == ["message": .string("Saved")])
    try scene.event(success.name, success.payload, client: "widgetd-host")
    #expect(scene["log"] == .list([.string("start"), .string("Saved")]))
    #expect(scene["n"] == .int(1))
  }

  @Test func `the error event of an action has the reason`() throws {
    var scene = try Scene(
      "events: {click: {}, save.error: {payload: {code: {type: string}}}}\ndata: {n: 0}\n"
        + LifeEventTests.save + "\non: {click: save}", permissions: LifeEventTests.hosts)
    try scene.event("click")
    try scene.answer(scene.webRequest()?.id, 403)
    let sent = try need(scene.sentEvent())
    #expect(sent.name == "save.error")
    #expect(sent.payload == ["code": .string("PERMISSION_DENIED")])
    #expect(scene.sentEvent() == nil)
  }

  @Test(arguments: [
    ("{click: save}", true), ("{click: save, save.error: {set: {n: 1}}}", false),
    ("{click: save, save.error: {emit: told}}", false),
    ("{click: save, save.success: {set: {n: 1}}}", true),
  ])
  func `a handler of an action's error event handles the failure`(on: String, isShown: Bool) throws
  {
    var scene = try Scene(
      "data: {n: 0}\n" + LifeEventTests.save + "\non: \(on)", permissions: LifeEventTests.hosts)
    try scene.event("click")
    try scene.answer(scene.webRequest()?.id, 403)
    #expect((WidgetID("w").flatMap { scene.widgets[$0]?.error } != nil) == isShown)
    #expect(scene.instance.failures.isEmpty == !isShown)
  }

  @Test func `a source sends its life events, with its progress`() throws {
    var scene = try Scene(
      """
      data: {n: 0, part: 0.0, failures: 0}
      sources: {feed: {http: "http://a.example/", every: 1m, parse: json, set: {n: result}}}
      on:
        feed.progress: [{set: {part: event.payload.progress}}, {reload: []}]
        feed.success: {if: data.n > 1, do: [{emit: much}]}
      """, permissions: LifeEventTests.hosts)
    let first = try need(scene.webRequest())
    scene.tell(.progress(first.id, 0.5))
    #expect(try names(&scene) == ["feed.progress"])
    try scene.answer(first.id, 200, "5")
    #expect(try names(&scene) == ["feed.success", "much"])
  }

  @Test func `an action sends the progress of its request until the request ends`() throws {
    var scene = try Scene(
      "data: {n: 0, part: 0.0}\n" + LifeEventTests.save + """

        on:
          click: save
          save.progress: [{set: {part: event.payload.progress}}, {reload: all}]
        """, permissions: LifeEventTests.hosts)
    try scene.event("click")
    let request = try need(scene.webRequest())
    scene.tell(.progress(request.id, 0.5))
    let sent = try need(scene.sentEvent())
    #expect(sent.name == "save.progress")
    #expect(sent.payload == ["progress": .double(0.5)])
    scene.tell(.sent(sent.id, 0))
    try scene.event(sent.name, sent.payload, client: "widgetd-host")
    try scene.answer(request.id, 200)
    #expect(scene["n"] == .int(1) && scene["part"] == .double(0.5))
    scene.tell(.progress(request.id, 0.75))
    #expect(scene.sentEvent() == nil)
  }

  @Test func `a kind that takes no life events gets none`() throws {
    var scene = try Scene(
      "data: {n: 0}\n" + LifeEventTests.save + "\non: {click: save}",
      permissions: LifeEventTests.hosts)
    try scene.event("click")
    try scene.answer(scene.webRequest()?.id, 200)
    #expect(scene["n"] == .int(1))
    #expect(scene.sentEvent() == nil)
  }

  @Test(arguments: [
    "on: {click: save, save.success: {emit: done}}",
    """
    on: {click: save}
    events: {click: {}, save.success: {}}
    """,
  ])
  func `an action that only sets data sends life events`(on: String) throws {
    var scene = try Scene(
      "data: {n: 0}\nactions: {save: {do: [{set: {n: data.n + 1}}]}}\n" + on)
    try scene.event("click")
    #expect(scene.sentEvent()?.name == "save.success")
    #expect(scene["n"] == .int(1))
  }

  @Test func `an action that starts itself on success ends as an event loop`() throws {
    var limits = HostLimits()
    limits.chainMax = 6
    var scene = try Scene(
      "{data: {n: 0}, actions: {a: {do: [{set: {n: data.n + 1}}, {reload: all}]}}, "
        + "on: {click: a, a.success: a}}", limits: limits)
    try scene.event("click")
    #expect(try names(&scene).count { $0 == "a.success" } == 5)
    let error = WidgetID("w").flatMap { scene.widgets[$0]?.error }
    #expect(error?.message.contains("event loop: … → ") == true, "\(error as Any)")
  }

  @Test(
    arguments: [
      ("{save.sucess: save}", nil), ("{sav.success: save}", "no source or action \"sav\""),
      ("{feed.success: feed}", "read again and again"),
      ("{feed.success: [{reload: all}]}", "read again and again"), ("{feed.error: save}", nil),
      (
        "{feed.success: [{reload: other}], other.success: [{reload: feed}]}",
        #""feed" → "other" → "feed""#
      ), ("{feed.success: [{reload: other}]}", nil),
    ] as [(String, String?)])
  func `a misspelt name of a life event is refused`(on: String, problem: String?) throws {
    let body = """
      events: {click: {}, save.sucess: {}}
      data: {n: 0}
      sources: {feed: {value: 1, set: {n: result}}, other: {value: 2, set: {n: result}}}
      actions: {save: {do: [{set: {n: "2"}}]}}
      on: \(on)
      """
    guard let problem else {
      _ = try Scene.bundle(body)
      return
    }
    let error = #expect(throws: InvalidBundle.self) { try Scene.bundle(body) }
    let messages = error?.problems.map(\.message) ?? []
    #expect(messages.contains { $0.contains(problem) }, "\(messages)")
  }

  @Test func `a table gets its next page when a client reaches its end`() throws {
    var scene = try Scene(
      """
      data: {items: [], page: 0, hasMore: true}
      sources:
        first: {http: {url: "http://a.example/", query: {page: 1}}, parse: json,
          set: {items: result, page: "1"}}
      actions:
        next:
          do:
            http: {url: "http://a.example/", query: {page: =data.page + 1}}
            parse: json
            set: {items: data.items + result, page: data.page + 1, hasMore: size(result) > 0}
      content:
        table: [{label: =string(item), rows: data.items}]
        id: t
        more: =data.hasMore
        on: {more: next}
      """, permissions: LifeEventTests.hosts)
    try scene.answer(scene.webRequest()?.id, 200, "[1, 2]")
    try scene.event("more", node: "t")
    let request = try need(scene.webRequest())
    #expect("\(request.request.address)".contains("page=2"))
    try scene.answer(request.id, 200, "[3]")
    #expect(scene["items"] == .list([.int(1), .int(2), .int(3)]))
    try scene.event("more", node: "t")
    try scene.answer(scene.webRequest()?.id, 200, "[]")
    #expect(scene["hasMore"] == .bool(false))
  }

  @Test func `an action reads all inputs of its form by name`() throws {
    var scene = try Scene(
      """
      data: {said: "", extra: none}
      content: {form: [{input: text}, {input: note}, {input: n, mode: number}], id: f,
        on: {submit: save}}
      actions:
        save:
          do:
            set:
              said: nodes.text.value + nodes.note.value + event.payload.values.note
              extra: 'nodes.n.value == null ? "no number" : "number"'
      """)
    try scene.event("submit", node: "f", ["values": .map(["text": .string("hello")])])
    #expect(scene["said"] == .string("hello"))
    #expect(scene["extra"] == .string("no number"))
    let error = #expect(throws: InvalidBundle.self) {
      try Scene.bundle(
        """
        data: {said: ""}
        content: {form: [{input: text}], id: f, on: {submit: save}}
        actions: {save: {do: {set: {said: nodes.txt.value}}}}
        """)
    }
    #expect(error?.problems.first?.hint.contains("text") == true)
  }
}
