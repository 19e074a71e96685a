import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// The answers to requests that the daemon waits for.
struct DutyTests {
  /// The daemon cannot carry out the second step.
  private static let counter = """
    data: {n: 0}
    on: {click: [{set: {n: data.n + 1}}, {reload: all}]}
    """

  @Test func `an event is acknowledged when its change is stored`() throws {
    var scene = try Scene(DutyTests.counter)
    try scene.event("click")
    #expect(scene["n"] == .int(1))
    #expect(scene.acknowledged == [1])
    scene.isBusy = true
    try scene.event("click")
    guard case .fetchWidget? = scene.effects.first else {
      Issue.record("the widget is not asked for")
      return
    }
    scene.perform(scene.effects.removeFirst())
    #expect(scene.acknowledged == [1])
    guard case .patch? = scene.effects.first else {
      Issue.record("nothing is changed")
      return
    }
    scene.perform(scene.effects.removeFirst())
    #expect(scene["n"] == .int(2))
    #expect(scene.acknowledged == [1, 2])
  }

  @Test func `an event without a handler is acknowledged at once`() throws {
    var scene = try Scene(DutyTests.counter)
    try scene.event("other")
    #expect(scene.acknowledged == [1] && scene.patches.isEmpty)
  }

  @Test func `an event of a removed widget is acknowledged`() throws {
    var scene = try Scene(DutyTests.counter)
    try scene.event("click", of: "gone")
    #expect(scene.acknowledged == [1])
  }

  @Test func `an event of an unknown widget makes the host read that widget`() throws {
    var scene = try Scene(DutyTests.counter)
    let id = try #require(WidgetID("new"))
    var widget = try #require(scene.widgets[WidgetID("w") ?? id])
    widget.id = id
    scene.widgets[id] = widget
    try scene.event("click", of: "new")
    #expect(scene.data("n", of: "new") == .int(1))
    #expect(scene.acknowledged == [1])
  }

  /// Within an epoch of the daemon, events with the same number are the same event.
  @Test(arguments: [(epoch: UInt64(0), count: Int64(1)), (5, 2)])
  func `an event that comes again while it is worked on is done once`(
    epoch: UInt64, count: Int64
  ) throws {
    var scene = try Scene(DutyTests.counter)
    scene.isBusy = true
    try scene.event("click")
    let event = Event(
      sequence: 1, widgetID: try #require(WidgetID("w")), name: "click", time: scene.time.wall)
    scene.tell(.opened(epoch: epoch))
    scene.tell(.event(event))
    scene.catchUp()
    #expect(scene["n"] == .int(count))
    #expect(scene.acknowledged == [1])
  }

  /// The daemon was restarted: volatile data is at its defaults. The news of that comes before the
  /// session is open again, after it, or not at all if the daemon has lost nothing.
  @Test(arguments: ["before", "after", "never"])
  func `volatile data is restored when the daemon is back`(news: String) throws {
    var scene = try Scene(
      """
      persistence: volatile
      data: {text: none, minute: {type: timestamp}}
      sources:
        file: {file: /a, set: {text: result}}
        clock: {timer: 1h, aligned: true, set: {minute: result}}
      """, permissions: "{read: [/]}")
    func answer(_ text: String) throws {
      let request = scene.fileRequest()
      scene.tell(.bytes(try #require(request).id, Array(text.utf8)))
    }
    scene.tell(.opened(epoch: 1))
    try answer("hello")
    #expect(scene["text"] == .string("hello"))
    let id = try #require(WidgetID("w"))
    let minute = try #require(scene["minute"])
    #expect(minute != .null)
    var lost = try #require(scene.widgets[id])
    lost.data["text"] = .string("none")
    lost.data["minute"] = .null
    lost.data["status"] = nil
    scene.revision += 1
    lost.revision = scene.revision
    if news != "never" { scene.widgets[id] = lost }
    if news == "before" { scene.tell(.widget(lost)) }
    scene.tell(.opened(epoch: 1))
    if news == "after" { scene.tell(.widget(lost)) }
    try answer("hello")
    #expect(scene.widgets[id]?.data["text"] == .string("hello"), "\(news)")
    #expect(scene["minute"] != .null && scene["minute"] != nil, "\(news)")
    #expect(scene.status("file") == .string("success"))
  }

  private static let sender = """
    data: {n: 0}
    actions: {send: {do: [{http: {method: post, url: "http://h/"}}]}}
    on: {click: [{run: send}], tick: [{set: {n: data.n + 1}}, {reload: all}]}
    """
  private static let permissions = "{hosts: [h]}"

  @Test func `an event is acknowledged when its request is sent, so that it is not sent twice`()
    throws
  {
    var scene = try Scene(DutyTests.sender, permissions: DutyTests.permissions)
    try scene.event("click")
    #expect(scene.webRequest() != nil)
    #expect(scene.acknowledged == [1])
  }

  @Test func `a waiting event, and all events after it, are not acknowledged`() throws {
    var scene = try Scene(DutyTests.sender, permissions: DutyTests.permissions)
    try scene.event("click")
    try scene.event("click")
    try scene.event("tick")
    #expect(scene["n"] == .int(1))
    #expect(scene.acknowledged == [1])
    let first = try need(scene.webRequest())
    try scene.answer(first.id, 200, "{}")
    #expect(scene.webRequest() != nil)
    #expect(scene.acknowledged == [1, 3])
  }

  @Test func `a throttled event is acknowledged when its steps run`() throws {
    var scene = try Scene(
      """
      data: {text: ""}
      on:
        change:
          throttle: 300ms
          do: [{set: {text: event.payload.value}}, {reload: all}]
      """)
    try scene.event("change", ["value": .string("a")])
    try scene.event("change", ["value": .string("ab")])
    // The first event does not matter any more, and the second waits.
    #expect(scene.acknowledged == [1])
    scene.pass(.milliseconds(300))
    #expect(scene["text"] == .string("ab"))
    #expect(scene.acknowledged == [1, 2])
  }

  @Test func `a data request is answered when the widget's readings are done`() throws {
    var scene = try Scene(
      "data: {t: \"\"}\nsources: {a: {file: \"${bundle}/a\", set: {t: result}}}")
    let id = try #require(WidgetID("w"))
    scene.tell(.asked(id, isRefresh: false))
    #expect(scene.answers.isEmpty)
    try scene.print(try need(scene.fileRequest()).id, "text")
    #expect(scene.answers.map(\.id) == [id])
    #expect(scene.patches.last?.patch.setData["t"] == .string("text"))
    // No source is being read now, so the data is current.
    scene.tell(.asked(id, isRefresh: false))
    #expect(scene.answers.count == 2 && scene.fileRequest() == nil)
  }

  @Test func `a refresh reads all sources again`() throws {
    var scene = try Scene(
      """
      data: {t: "", u: ""}
      sources:
        a: {file: "${bundle}/a", set: {t: result}}
        b: {file: "${bundle}/b", set: {u: result}}
      """)
    for _ in 0..<2 { try scene.print(try need(scene.fileRequest()).id, "old") }
    let id = try #require(WidgetID("w"))
    scene.tell(.asked(id, isRefresh: true))
    try scene.print(try need(scene.fileRequest()).id, "new")
    #expect(scene.answers.isEmpty)
    try scene.print(try need(scene.fileRequest()).id, "new")
    #expect(scene.answers.count == 1)
    #expect(scene["t"] == .string("new") && scene["u"] == .string("new"))
  }

  @Test func `an answer keeps the error that is shown`() throws {
    var scene = try Scene(DutyTests.counter)
    scene.take(scene.instance.setProblem("broken", at: scene.time))
    let id = try #require(WidgetID("w"))
    scene.tell(.asked(id, isRefresh: false))
    let answer = try #require(scene.answers.first?.patch.error)
    #expect(answer?.message == "broken")
  }

  @Test func `a slow action does not delay other events of the daemon`() throws {
    var scene = try Scene(DutyTests.sender, permissions: DutyTests.permissions)
    for _ in 0..<2 { try scene.event("click") }
    for _ in 0..<Duties.eventsHeldMax { try scene.event("tick") }
    // The second click waits for the first one. Then the acknowledgement does not wait for it any
    // more.
    #expect(scene.acknowledged.last ?? 0 > 2)
    #expect(scene["n"] == .int(Int64(Duties.eventsHeldMax)))
  }

  @Test func `a data request that comes again before its answer is the same request`() throws {
    var scene = try Scene(
      "data: {t: \"\"}\nsources: {a: {file: \"${bundle}/a\", set: {t: result}}}")
    let id = try #require(WidgetID("w"))
    let reading = try need(scene.fileRequest())
    for _ in 0..<3 { scene.tell(.asked(id, isRefresh: true)) }
    try scene.print(reading.id, "text")
    #expect(scene.answers.count == 1)
    // The source was being read when the request came. It is read once more, and only once.
    scene.pass(.seconds(10))
    try scene.print(try need(scene.fileRequest()).id, "more")
    scene.pass(.seconds(10))
    #expect(scene.fileRequest() == nil && scene.answers.count == 1)
  }

  @Test func `a message about a removed widget does not affect a new one with its id`() throws {
    var scene = try Scene(
      "data: {t: \"\"}\nsources: {a: {file: \"${bundle}/a\", set: {t: result}}}")
    let id = try #require(WidgetID("w"))
    scene.tell(.unasked(id))
    try scene.print(try need(scene.fileRequest()).id, "text")
    #expect(scene["t"] == .string("text"))
  }

  @Test func `a widget that was deleted and created again begins with its defaults`() throws {
    var scene = try Scene(
      "data: {t: \"\"}\nsources: {a: {file: \"${bundle}/a\", set: {t: result}}}")
    try scene.print(try need(scene.fileRequest()).id, "text")
    try scene.change { widget in
      widget.createdRevision += 1
      widget.data["t"] = .string("")
    }
    try scene.print(try need(scene.fileRequest()).id, "again")
    #expect(scene["t"] == .string("again"))
  }
}
