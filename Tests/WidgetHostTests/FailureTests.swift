import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// A failure marks its widget and its bundle, and is in the log, until the next success.
struct FailureTests {
  static let command = """
    data: {n: 0}
    sources: {feed: {command: [cat], every: 1s, parse: text, set: {n: int(result)}STALE}}
    content: CONTENT
    """

  func scene(stale: String = "", content: String = "{label: =string(data.n)}") throws
    -> Scene
  {
    let body = FailureTests.command.replacing("STALE", with: stale)
      .replacing("CONTENT", with: content)
    var scene = try Scene(body, permissions: "{commands: [cat]}")
    try scene.print(scene.program()?.id, "5")
    return scene
  }

  func fail(_ scene: inout Scene, _ message: String = "cat failed") throws {
    scene.pass(.seconds(1))
    scene.tell(.failed(try need(scene.program()).id, Failure("ABORTED", message)))
  }

  func error(_ scene: Scene) -> WidgetError? {
    WidgetID("w").flatMap { scene.widgets[$0] }?.error
  }

  func isStale(_ scene: Scene) -> Bool {
    WidgetID("w").flatMap { scene.widgets[$0] }?.isStale ?? false
  }

  func reports(_ scene: inout Scene) -> [String] {
    scene.taken().compactMap {
      switch $0 {
      case .report(let text), .note(let text): text
      default: nil
      }
    }
  }

  @Test func `a failed source has a mark with its reason and time, until it succeeds`()
    throws
  {
    var scene = try scene()
    #expect(error(scene) == nil)
    try fail(&scene)
    let since = scene.time.wall
    #expect(
      error(scene)
        == WidgetError(
          reason: "SOURCE_FAILED", message: "Feed failed: cat failed", since: since))
    #expect(scene.status("feed", "since") == .timestamp(since))
    #expect(reports(&scene) == ["bundle b: widget w: source feed: cat failed"])
    #expect(scene.instance.failures.map(\.message) == ["cat failed"])
    try fail(&scene)
    #expect(error(scene)?.since == since)
    #expect(reports(&scene) == [])
    scene.pass(.seconds(1))
    try scene.print(scene.program()?.id, "6")
    #expect(error(scene) == nil)
    #expect(scene.status("feed", "since") == .null)
    #expect(reports(&scene) == ["bundle b: widget w: source feed works again"])
    #expect(scene.instance.failures == [])
  }

  @Test(arguments: [
    "[{label: =string(data.n)}, {label: =status.feed.message}]",
    "[{label: =string(data.n)}, {label: '=string(data.status.feed.failed)'}]",
    "[{label: =string(data.n)}, {spinner: x, if: status.feed.failed}]",
  ])
  func `a failure that the content shows is left to its author`(children: String) throws {
    var scene = try scene(content: "{stack: \(children)}")
    try fail(&scene)
    #expect(error(scene) == nil)
    #expect(scene.instance.failures == [])
    #expect(reports(&scene).count == 1)
  }

  @Test func `the status of another source does not show the failure`() throws {
    var scene = try Scene(
      """
      data: {n: 0}
      sources:
        feed: {command: [cat], set: {n: int(result)}}
        other: {value: 1, set: {n: result}}
      content: {label: =status.other.message}
      """, permissions: "{commands: [cat]}")
    scene.tell(.failed(try need(scene.program()).id, Failure("ABORTED", "no")))
    #expect(error(scene)?.reason == "SOURCE_FAILED")
  }

  @Test func `a placeholder for a missing file does not hide the failure`() throws {
    var scene = try Scene(
      """
      data: {note: {type: string}}
      sources: {note: {file: "${bundle}/note", set: {note: result}}}
      content: {label: {value: =data.note, placeholder: Nothing}}
      """)
    scene.tell(.failed(try need(scene.fileRequest()).id, Failure("NOT_FOUND", "there is no file")))
    #expect(error(scene) == nil)
    // The bundle still says that it is failing, and why.
    #expect(scene.instance.failures.map(\.message) == ["there is no file"])
  }

  @Test(arguments: [("", 30), (", staleAfter: 5s", 5), (", staleAfter: 0s", 0)])
  func `a widget is stale when a source has failed for a time`(option: String, seconds: Int) throws
  {
    var scene = try scene(stale: option)
    try fail(&scene)
    for _ in 0..<seconds {
      #expect(!isStale(scene))
      try fail(&scene)
    }
    #expect(isStale(scene))
    scene.pass(.seconds(1))
    try scene.print(scene.program()?.id, "6")
    #expect(!isStale(scene))
  }

  @Test func `a source that is turned off has no failure`() throws {
    var scene = try Scene(
      """
      data: {n: 0, on: true}
      sources: {feed: {command: [cat], when: data.on, set: {n: int(result)}}}
      """, permissions: "{commands: [cat]}")
    scene.tell(.failed(try need(scene.program()).id, Failure("ABORTED", "no")))
    #expect(error(scene) != nil)
    try scene.change { $0.data["on"] = .bool(false) }
    #expect(error(scene) == nil)
    #expect(scene.status("feed") == .string("idle"))
  }

  @Test func `a failed action is marked until it succeeds`() throws {
    var scene = try Scene(
      """
      actions: {save: {do: [{http: {method: DELETE, url: "http://h/x"}}], title: Could not save}}
      on: {go: save}
      """, permissions: "{hosts: [h]}")
    try scene.event("go")
    try scene.answer(scene.webRequest()?.id, 403)
    let since = scene.time.wall
    #expect(
      error(scene)
        == WidgetError(
          reason: "ACTION_FAILED",
          message: "Could not save: the server answered 403 (forbidden)", since: since))
    #expect(
      reports(&scene) == [
        "bundle b: widget w: action save: the server answered 403 (forbidden)"
      ])
    try scene.event("go")
    #expect(error(scene) != nil)
    try scene.answer(scene.webRequest()?.id, 200)
    #expect(error(scene) == nil)
  }

  @Test(arguments: [
    "{actions: {save: [{command: [no]}]}, on: {go: save}}", "{on: {go: [{command: [no]}]}}",
  ])
  func `an action that fails again fails now, and the log has it again`(body: String) throws {
    var scene = try Scene(body, permissions: "{commands: [no]}")
    for attempt in 0..<3 {
      scene.pass(.seconds(5))
      try scene.event("go")
      scene.tell(.failed(try need(scene.program()).id, Failure("ABORTED", "no failed")))
      #expect(error(scene)?.since == scene.time.wall)
      #expect(scene.instance.failures.map(\.since) == [scene.time.wall])
      let lines = reports(&scene)
      #expect(lines.count == 1 && lines[0].hasSuffix("no failed" + (attempt > 0 ? " (again)" : "")))
    }
  }

  @Test func `only a failure with the same reason is in the log as again`() throws {
    var scene = try Scene("{on: {go: [{command: [no]}]}}", permissions: "{commands: [no]}")
    var lines: [String] = []
    for words in ["disk full", "no route", "no route", "disk full"] {
      scene.pass(.seconds(5))
      try scene.event("go")
      scene.tell(.failed(try need(scene.program()).id, Failure("ABORTED", words)))
      lines += reports(&scene)
    }
    let start = "bundle b: widget w: on go: "
    #expect(
      lines == [
        "\(start)disk full", "\(start)no route", "\(start)no route (again)", "\(start)disk full",
      ])
  }

  @Test func `a flood of failing events does not fill the log`() throws {
    var scene = try Scene("{on: {go: [{command: [no]}]}}", permissions: "{commands: [no]}")
    for _ in 0..<100 {
      try scene.event("go")
      scene.tell(.failed(try need(scene.program()).id, Failure("ABORTED", "no failed")))
    }
    #expect(reports(&scene).count == 1 + HostLimits().repeatsBurst)
  }

  @Test func `a reading that a step asks for is reported when it fails again`() throws {
    var scene = try Scene(
      """
      data: {n: 0}
      sources: {feed: {command: [cat], every: 1h, set: {n: int(result)}}}
      on: {go: [{reload: feed}]}
      """, permissions: "{commands: [cat]}")
    scene.tell(.failed(try need(scene.program()).id, Failure("ABORTED", "cat failed")))
    let since = scene.time.wall
    #expect(reports(&scene) == ["bundle b: widget w: source feed: cat failed"])
    scene.pass(.seconds(5))
    try scene.event("go")
    scene.tell(.failed(try need(scene.program()).id, Failure("ABORTED", "cat failed")))
    #expect(reports(&scene) == ["bundle b: widget w: source feed: cat failed (again)"])
    #expect(error(scene)?.since == since)
  }

  @Test func `a wrong timeline is a failure of the bundle, and leaves the mark to clients`() throws
  {
    var scene = try Scene("{data: {n: 0}, content: {label: =string(data.n)}}")
    try scene.change { $0.timeline = TimelineStatus(problem: "There is no date.") }
    #expect(error(scene) == nil)
    #expect(scene.instance.failures.map(\.message) == ["There is no date."])
    #expect(reports(&scene) == ["bundle b: widget w: its timeline: There is no date."])
    try scene.change { $0.data["n"] = .int(1) }
    #expect(reports(&scene) == [])
    try scene.change { $0.timeline = nil }
    #expect(scene.instance.failures == [])
    #expect(reports(&scene) == ["bundle b: widget w: its timeline works now"])
  }

  @Test func `an expression of the content that fails is a failure of the bundle`() throws {
    var scene = try Scene("{data: {n: 0}, content: {label: =string(data.n)}}")
    func show(_ problem: String, _ properties: ValueMap = [:]) throws {
      try scene.change {
        var node = Node(id: "text", type: .label, properties: properties)
        node.problem = problem
        $0.content = Content(rootID: "text", nodes: [node])
      }
    }
    try show("text: division by zero")
    #expect(error(scene) == nil)
    #expect(scene.instance.failures.map(\.message) == ["text: text: division by zero"])
    #expect(reports(&scene) == ["bundle b: widget w: its content: text: text: division by zero"])
    try show("text: division by zero", ["color": .string("color.error")])
    #expect(reports(&scene) == [])
    // The placeholder is the author's answer to the failure.
    try show("text: division by zero", ["text": .string("-")])
    #expect(scene.instance.failures == [])
    #expect(reports(&scene) == ["bundle b: widget w: its content works now"])
  }

  @Test func `only a success is reported as the end of a failure`() throws {
    let body = """
      data: {n: 0}
      sources: {feed: {command: [cat], every: 1s, parse: text, set: {n: int(result)}}}
      """
    var scene = try Scene(body, permissions: "{commands: [cat]}")
    for words in ["works now", "works again"] {
      scene.tell(.failed(try need(scene.program()).id, Failure("ABORTED", "no")))
      #expect(reports(&scene).count == 1)
      scene.pass(.seconds(1))
      try scene.print(scene.program()?.id, "5")
      #expect(reports(&scene) == ["bundle b: widget w: source feed \(words)"])
      scene.pass(.seconds(1))
    }
  }

  @Test func `a cancelled action, and a source that is off, do not count as a success`() throws {
    var scene = try Scene(
      """
      data: {n: 0, on: true}
      sources: {feed: {command: [cat], when: data.on, set: {n: int(result)}}}
      actions: {save: [{command: [no]}]}
      on: {go: save, stop: [{cancel: save}]}
      """, permissions: "{commands: [cat, no]}")
    scene.tell(.failed(try need(scene.program()).id, Failure("ABORTED", "no")))
    try scene.event("go")
    scene.tell(.failed(try need(scene.program()).id, Failure("ABORTED", "no")))
    try scene.event("go")
    #expect(reports(&scene).count == 2)
    try scene.event("stop")
    try scene.change { $0.data["on"] = .bool(false) }
    #expect(
      reports(&scene) == [
        "bundle b: widget w: action save is cancelled",
        "bundle b: widget w: source feed is off: `when` is false",
      ])
  }

  @Test(arguments: [true, false])
  func `a cleared mark of an action stays cleared in the next host`(isCleared: Bool) throws {
    let bundle = try Scene.bundle(
      """
      actions: {save: {do: [{http: {method: DELETE, url: "http://h/x"}}], title: Could not save}}
      on: {go: save}
      """, permissions: "{hosts: [h]}")
    var scene = try Scene(bundle)
    try scene.event("go")
    try scene.answer(scene.webRequest()?.id, 403)
    let marked = error(scene)
    if isCleared { try scene.change { $0.error = nil } }
    #expect(scene.instance.failures.isEmpty == isCleared)
    scene.instance = BundleInstance(
      bundle, generation: 2, folder: "/bundles/b", home: "/home/me", limits: HostLimits(), seed: 8)
    scene.tell(.snapshot(Array(scene.widgets.values)))
    #expect(error(scene) == (isCleared ? nil : marked))
    #expect(scene.instance.failures.isEmpty == isCleared)
    try scene.event("go")
    try scene.answer(scene.webRequest()?.id, 403)
    #expect(error(scene)?.reason == "ACTION_FAILED")
    #expect(scene.instance.failures.count == 1)
  }

  @Test func `failed steps without a name are marked, and reported once`() throws {
    var scene = try Scene(
      "on: {every: {interval: 1s, do: [{command: [nothing]}]}}",
      permissions: "{commands: [nothing]}")
    for _ in 0..<3 {
      scene.pass(.seconds(1))
      scene.tell(
        .failed(try need(scene.program()).id, Failure("NOT_FOUND", "there is no program nothing")))
    }
    #expect(error(scene)?.message == "on every 1s: there is no program nothing")
    #expect(reports(&scene).count == 1)
    scene.pass(.seconds(1))
    try scene.print(scene.program()?.id, "")
    #expect(error(scene) == nil)
  }

  @Test(arguments: [
    """
    actions: {save: {do: [{http: "http://h/x"}], catch: [{set: {note: error.message}}]}}
    on: {go: save}
    data: {note: ""}
    """,
    """
    actions: {save: {do: [{http: "http://h/x"}]}}
    on: {go: save, error: [{set: {note: string(event.payload.message)}}]}
    data: {note: ""}
    """,
    """
    data: {note: ""}
    on: {go: {do: [{http: "http://h/x"}], catch: [{set: {note: error.message}}]}}
    """,
  ])
  func `a failure that the author catches is not marked`(body: String) throws {
    var scene = try Scene(body, permissions: "{hosts: [h]}")
    try scene.event("go")
    try scene.answer(scene.webRequest()?.id, 500)
    #expect(error(scene) == nil)
    #expect(reports(&scene).count == 1)
  }

  @Test(arguments: [
    """
    actions: {save: {do: [{http: "http://h/x"}], catch: [{http: "http://h/y"}]}}
    on: {go: save}
    """,
    """
    on: {go: {do: [{http: "http://h/x"}], catch: [{http: "http://h/y"}]}}
    """,
  ])
  func `a failure in a failure's handler is marked, reported and counted`(body: String) throws {
    var scene = try Scene(body, permissions: "{hosts: [h]}")
    try scene.event("go")
    try scene.answer(scene.webRequest()?.id, 500)
    try scene.answer(scene.webRequest()?.id, 404)
    #expect(error(scene)?.message.contains("404") == true)
    let lines = reports(&scene)
    #expect(lines.count == 2 && lines.last?.contains("404") == true)
    try scene.event("go")
    try scene.answer(scene.webRequest()?.id, 500)
    try scene.answer(scene.webRequest()?.id, 200)
    #expect(error(scene) == nil)
  }

  @Test func `a cleared mark comes back with the next failure, even the same one`() throws {
    var scene = try scene()
    try fail(&scene)
    let marked = try need(error(scene))
    try scene.change { $0.error = nil }
    scene.pass(.milliseconds(500))
    #expect(error(scene) == nil)
    scene.pass(.milliseconds(500))
    scene.tell(.failed(try need(scene.program()).id, Failure("ABORTED", "cat failed")))
    #expect(error(scene) == marked)
    try fail(&scene, "another reason")
    #expect(error(scene)?.message == "Feed failed: another reason")
  }

  @Test func `an error that somebody else set stays while a failure continues`() throws {
    var scene = try scene()
    try fail(&scene)
    let theirs = WidgetError(reason: "THEIRS", message: "look at this")
    try scene.change { $0.error = theirs }
    try fail(&scene)
    #expect(error(scene)?.all.map(\.message) == ["Feed failed: cat failed", "look at this"])
  }

  @Test func `the mark shows each failure, the newest first`() throws {
    var scene = try Scene(
      """
      data: {n: 0}
      sources:
        first: {command: [cat, a], every: 1m, set: {n: int(result)}}
        second: {command: [cat, b], every: 1m, set: {n: int(result)}}
      """, permissions: "{commands: [cat]}")
    let (a, b) = (try need(scene.program()).id, try need(scene.program()).id)
    scene.tell(.failed(b, Failure("ABORTED", "no b")))
    scene.pass(.seconds(1))
    scene.tell(.failed(a, Failure("ABORTED", "no a")))
    #expect(error(scene)?.all.map(\.message) == ["First failed: no a", "Second failed: no b"])
    #expect(scene.instance.failures.map(\.message) == ["no a", "no b"])
  }

  @Test func `the next host takes over failures with their times`() throws {
    var scene = try scene()
    try fail(&scene)
    let marked = try need(error(scene))
    let widgets = scene.widgets.values.map(\.self)
    var next = try Scene(
      FailureTests.command.replacing("STALE", with: "").replacing("CONTENT", with: "{label: x}"),
      permissions: "{commands: [cat]}", widgets: [], generation: 2)
    for widget in widgets { next.widgets[widget.id] = widget }
    next.tell(.snapshot(widgets))
    #expect(error(next) == marked)
    let since = RFC3339.text(try need(marked.since))
    let place = "bundle b: widget w: source feed"
    let program = try need(next.program())
    #expect(reports(&next) == ["\(place): has failed since \(since): cat failed"])
    next.tell(.failed(program.id, Failure("ABORTED", "cat failed")))
    #expect(reports(&next) == [])
    next.pass(.seconds(1))
    try next.print(next.program()?.id, "7")
    #expect(error(next) == nil)
    #expect(reports(&next) == ["\(place) works now"])
  }

  @Test func `a new version in the same host does not report former failures again`() throws {
    var scene = try scene()
    try fail(&scene)
    scene.instance = BundleInstance(
      scene.instance.bundle, generation: 2, folder: "/bundles/b", home: "/home/me",
      limits: HostLimits(), isReload: true, seed: 8)
    _ = reports(&scene).count
    scene.tell(.snapshot(Array(scene.widgets.values)))
    #expect(scene.instance.failures.map(\.message) == ["cat failed"])
    #expect(reports(&scene) == [])
  }

  @Test func `a source that was being read when its host ended has not failed`() throws {
    var scene = try scene()
    try scene.change { widget in
      guard case .map(var all)? = widget.data["status"], case .map(var one)? = all["feed"] else {
        return
      }
      one["state"] = .string("running")
      one["running"] = .bool(true)
      all["feed"] = .map(one)
      widget.data["status"] = .map(all)
    }
    scene.instance = BundleInstance(
      scene.instance.bundle, generation: 2, folder: "/bundles/b", home: "/home/me",
      limits: HostLimits(), seed: 8)
    _ = reports(&scene).count
    scene.tell(.snapshot(Array(scene.widgets.values)))
    #expect(error(scene) == nil)
    #expect(scene.instance.failures == [])
    try scene.print(scene.program()?.id, "7")
    #expect(reports(&scene) == [])
  }
}
