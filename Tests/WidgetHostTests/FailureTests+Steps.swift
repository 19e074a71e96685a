import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// Failed steps without a name, in the next host or version.
extension FailureTests {
  @Test func `the next host takes over failed steps without a name`() throws {
    let body = "on: {go: [{http: \"http://h/x\"}], stop: [{http: \"http://h/y\"}]}"
    let title = "on go: "
    let bundle = try Scene.bundle(body, permissions: "{hosts: [h]}")
    var scene = try Scene(bundle)
    try scene.event("go")
    try scene.answer(scene.webRequest()?.id, 500)
    let marked = try need(error(scene))
    #expect(marked.message.hasPrefix(title))
    _ = reports(&scene)
    scene.instance = BundleInstance(
      bundle, generation: 2, folder: "/bundles/b", home: "/home/me", limits: HostLimits(), seed: 8)
    scene.tell(.snapshot(Array(scene.widgets.values)))
    #expect(error(scene) == marked)
    #expect(scene.instance.failures.map(\.title) == ["on go"])
    let since = RFC3339.text(try need(marked.since))
    let place = "bundle b: widget w: on go"
    let message = String(marked.message.dropFirst(title.count))
    #expect(reports(&scene) == ["\(place): failed at \(since): \(message)"])
    try scene.event("go")
    try scene.answer(scene.webRequest()?.id, 200)
    #expect(error(scene) == nil)
  }

  @Test(arguments: [false, true])
  func `each failure of steps without a name outlives the host, and a new version`(
    isReload: Bool
  ) throws {
    let bundle = try Scene.bundle(
      "on: {go: [{http: \"http://h/x\"}], stop: [{http: \"http://h/y\"}]}",
      permissions: "{hosts: [h]}")
    var scene = try Scene(bundle)
    for event in ["go", "stop"] {
      try scene.event(event)
      try scene.answer(scene.webRequest()?.id, 500)
      scene.pass(.seconds(60))
    }
    let marked = try need(error(scene))
    #expect(marked.all.map { $0.message.prefix { $0 != ":" } } == ["on stop", "on go"])
    #expect(marked.further.first?.since.map { $0 < marked.since ?? $0 } == true)
    _ = reports(&scene)
    scene.instance = BundleInstance(
      bundle, generation: 2, folder: "/bundles/b", home: "/home/me", limits: HostLimits(),
      isReload: isReload, seed: 8)
    scene.tell(.snapshot(Array(scene.widgets.values)))
    #expect(error(scene) == marked)
    #expect(scene.instance.failures.map(\.title) == ["on stop", "on go"])
    // The log of this process already has them.
    #expect(reports(&scene).count == (isReload ? 0 : 2))
    try scene.event("stop")
    try scene.answer(scene.webRequest()?.id, 200)
    #expect(error(scene) == marked.further.first)
    try scene.event("go")
    try scene.answer(scene.webRequest()?.id, 200)
    #expect(error(scene) == nil)
  }

  @Test func `a mistake in the file hides no failure of steps`() throws {
    let bundle = try Scene.bundle(
      "on: {go: [{http: \"http://h/x\"}]}", permissions: "{hosts: [h]}")
    var scene = try Scene(bundle)
    try scene.event("go")
    try scene.answer(scene.webRequest()?.id, 500)
    scene.take(scene.instance.setProblem("line 3: no", at: scene.time))
    #expect(error(scene)?.all.map(\.reason) == ["BUNDLE_INVALID", "ACTION_FAILED"])
    // The corrected file is a new version.
    scene.instance = BundleInstance(
      bundle, generation: 2, folder: "/bundles/b", home: "/home/me", limits: HostLimits(),
      isReload: true, seed: 8)
    scene.tell(.snapshot(Array(scene.widgets.values)))
    #expect(error(scene)?.all.map(\.reason) == ["ACTION_FAILED"])
    #expect(scene.instance.failures.map(\.title) == ["on go"])
  }

  @Test func `a failure counts again for the bundle only if it happens after its error is cleared`()
    throws
  {
    var scene = try Scene(
      """
      on:
        go: [{http: "http://h/x"}]
        stop: [{http: "http://h/y"}]
      """, permissions: "{hosts: [h]}")
    for event in ["go", "stop"] {
      try scene.event(event)
      try scene.answer(scene.webRequest()?.id, 500)
    }
    #expect(scene.instance.failures.count == 2)
    let before = scene.instance.summary
    try scene.change { $0.error = nil }
    #expect(scene.instance.failures == [] && scene.instance.summary != before)
    scene.pass(.seconds(60))
    #expect(error(scene) == nil && scene.instance.failures == [])
    try scene.event("stop")
    try scene.answer(scene.webRequest()?.id, 500)
    #expect(error(scene)?.all.map { $0.message.prefix { $0 != ":" } } == ["on stop"])
    #expect(scene.instance.failures.map(\.title) == ["on stop"])
  }

  @Test func `a mistake in the file is shown again, without the failures that a client cleared`()
    throws
  {
    var scene = try Scene("on: {go: [{http: \"http://h/x\"}]}", permissions: "{hosts: [h]}")
    try scene.event("go")
    try scene.answer(scene.webRequest()?.id, 500)
    scene.take(scene.instance.setProblem("line 3: no", at: scene.time))
    try scene.change { $0.error = nil }
    #expect(error(scene)?.all.map(\.reason) == ["BUNDLE_INVALID"])
  }

  @Test func `an error of others in place of the bundle's clears no failure`() throws {
    var scene = try Scene("on: {go: [{http: \"http://h/x\"}]}", permissions: "{hosts: [h]}")
    try scene.event("go")
    try scene.answer(scene.webRequest()?.id, 500)
    try scene.change { $0.error = WidgetError(reason: "THEIRS", message: "look at this") }
    #expect(scene.instance.failures.map(\.title) == ["on go"])
  }

  @Test func `reducers that fail are failures of the bundle`() throws {
    var scene = try Scene("data: {n: 0}")
    let marks = ["one", "two"].map {
      WidgetError(reason: "REDUCER_FAILED", message: $0, since: scene.time.wall)
    }
    try scene.change { $0.error = WidgetError(joining: marks) }
    #expect(Set(scene.instance.failures.map(\.message)) == ["one", "two"])
    #expect(reports(&scene).count == 2)
    // The host's error does not replace the daemon's, so nothing is sent.
    #expect(scene.patches.isEmpty)
    try scene.change { $0.error = marks[1] }
    #expect(scene.instance.failures.map(\.message) == ["two"])
    try scene.change { $0.error = nil }
    #expect(scene.instance.failures == [])
  }

  @Test func `a version without the failed steps forgets their failure`() throws {
    var scene = try Scene("on: {go: [{http: \"http://h/x\"}]}", permissions: "{hosts: [h]}")
    try scene.event("go")
    try scene.answer(scene.webRequest()?.id, 500)
    #expect(error(scene)?.reason == "ACTION_FAILED")
    scene.instance = BundleInstance(
      try Scene.bundle(
        "on: {stop: [{http: \"http://h/x\"}], halt: [{http: \"http://h/x\"}]}",
        permissions: "{hosts: [h]}"), generation: 2, folder: "/bundles/b", home: "/home/me",
      limits: HostLimits(), seed: 8)
    _ = reports(&scene)
    scene.tell(.snapshot(Array(scene.widgets.values)))
    #expect(error(scene) == nil)
    #expect(
      reports(&scene) == [
        "bundle b: widget w: on go: its failure has ended, because the file has changed"
      ])
  }

  /// `autosave` fails together with `save`.
  @Test(arguments: [true, false], [true, false])
  func `the failure of an inner action counts once for the next host`(
    isCaught: Bool, isReload: Bool
  ) throws {
    let handler = isCaught ? ", catch: [{set: {note: error.message}}]" : ""
    let bundle = try Scene.bundle(
      """
      actions:
        save: {do: [{http: "http://h/x"}]\(handler)}
        autosave: {do: save}
      on: {go: autosave}
      data: {note: ""}
      """, permissions: "{hosts: [h]}")
    var scene = try Scene(bundle)
    try scene.event("go")
    try scene.answer(scene.webRequest()?.id, 500)
    #expect(scene.status("autosave") == .string("failure"))
    #expect(scene.status("autosave", "inner") == .string("save"))
    #expect(scene.status("save", "inner") == nil)
    let before = error(scene)
    #expect((before == nil) == isCaught)
    scene.instance = BundleInstance(
      bundle, generation: 2, folder: "/bundles/b", home: "/home/me", limits: HostLimits(),
      isReload: isReload, seed: 8)
    scene.tell(.snapshot(Array(scene.widgets.values)))
    #expect(error(scene) == before)
    #expect(scene.instance.failures.count == (isCaught ? 0 : 1))
  }

  /// `sync` runs `autosave`, and that runs `save`, whose request is under way.
  @Test(arguments: [true, false], ["", "delay: 5s, "])
  func `an interruption of actions that run each other is one failure`(
    isReload: Bool, delay: String
  ) throws {
    let bundle = try Scene.bundle(
      """
      actions:
        save: {\(delay)do: [{http: "http://h/x"}]}
        autosave: {do: save}
        sync: {do: autosave}
      on: {go: sync}
      """, permissions: "{hosts: [h]}")
    var scene = try Scene(bundle)
    try scene.event("go")
    #expect(scene.status("sync") == .string("running"))
    scene.instance = BundleInstance(
      bundle, generation: 2, folder: "/bundles/b", home: "/home/me", limits: HostLimits(),
      isReload: isReload, seed: 8)
    _ = reports(&scene)
    scene.tell(.snapshot(Array(scene.widgets.values)))
    for name in ["sync", "autosave", "save"] {
      #expect(scene.status(name, "code") == .string("ABORTED"))
      #expect(scene.status(name, "inner") == (name == "save" ? nil : .string("save")))
    }
    #expect(error(scene)?.all.count == 1)
    #expect(scene.instance.failures.count == 1)
    let lines = reports(&scene)
    #expect(lines == ["bundle b: widget w: action save: It was interrupted; try again."])
    // The next version, or host, counts it once, too.
    scene.instance = BundleInstance(
      bundle, generation: 3, folder: "/bundles/b", home: "/home/me", limits: HostLimits(),
      isReload: isReload, seed: 9)
    scene.tell(.snapshot(Array(scene.widgets.values)))
    #expect(error(scene)?.all.count == 1)
  }

  /// `autosave` has run `save`, and now waits for its second step.
  @Test func `an action that has ended is not the cause of a later interruption`() throws {
    let bundle = try Scene.bundle(
      """
      actions:
        save: {do: [{http: "http://h/x"}]}
        autosave: {do: [{run: save}, {http: "http://h/y"}]}
      on: {go: autosave}
      """, permissions: "{hosts: [h]}")
    var scene = try Scene(bundle)
    try scene.event("go")
    #expect(scene.status("autosave", "inner") == .string("save"))
    try scene.answer(scene.webRequest()?.id, 200)
    #expect(scene.status("autosave", "inner") == nil)
    scene.instance = BundleInstance(
      bundle, generation: 2, folder: "/bundles/b", home: "/home/me", limits: HostLimits(), seed: 8)
    scene.tell(.snapshot(Array(scene.widgets.values)))
    #expect(scene.status("save") == .string("success"))
    #expect(scene.status("autosave", "inner") == nil)
    #expect(scene.instance.failures.count == 1)
  }

  /// Both runs of `autosave` run `save`. The run of `also` fails. Then `save` succeeds in the other.
  @Test func `the end of an action in another run leaves the cause of a failure`() throws {
    let bundle = try Scene.bundle(
      """
      actions:
        save: {do: [{http: "http://h/x"}]}
        autosave: {do: [{run: save}, {http: "http://h/y"}]}
      on: {go: autosave, also: autosave}
      """, permissions: "{hosts: [h]}")
    var scene = try Scene(bundle)
    try scene.event("go")
    let first = scene.webRequest()?.id
    try scene.event("also")
    try scene.answer(scene.webRequest()?.id, 500)
    #expect(error(scene)?.all.count == 1)
    try scene.answer(first, 200)
    #expect(scene.status("autosave") == .string("failure"))
    #expect(scene.status("autosave", "inner") == .string("save"))
    #expect(error(scene) == nil)
    scene.instance = BundleInstance(
      bundle, generation: 2, folder: "/bundles/b", home: "/home/me", limits: HostLimits(), seed: 8)
    scene.tell(.snapshot(Array(scene.widgets.values)))
    #expect(error(scene) == nil)
  }

  /// `autosave` runs `save`, whose request is under way.
  @Test(arguments: [true, false], ["catch", "error", "save.error"])
  func `an interruption is an error of the widget, also of an action that handles failures`(
    isReload: Bool, handler: String
  ) throws {
    let steps = "[{set: {note: '\"lost\"'}}]"
    let handlers =
      handler == "catch" ? (", catch: \(steps)", "") : ("", ", \(handler): \(steps)")
    let bundle = try Scene.bundle(
      """
      actions:
        save: {do: [{http: "http://h/x"}]\(handlers.0)}
        autosave: {do: save}
      on: {go: autosave\(handlers.1)}
      data: {note: ""}
      """, permissions: "{hosts: [h]}")
    var scene = try Scene(bundle)
    try scene.event("go")
    // The second host, or version, learns it from the data of the widget.
    for generation: UInt64 in [2, 3] {
      scene.instance = BundleInstance(
        bundle, generation: generation, folder: "/bundles/b", home: "/home/me",
        limits: HostLimits(), isReload: isReload, seed: 8)
      scene.tell(.snapshot(Array(scene.widgets.values)))
      #expect(
        error(scene)?.all.map(\.message) == ["Save failed: It was interrupted; try again."])
      #expect(scene.instance.failures.count == 1)
    }
    _ = scene.taken()
    // The steps of the author handle the failures of later runs.
    try scene.event("go")
    try scene.answer(scene.webRequest()?.id, 500)
    #expect(scene.status("save", "interrupted") == nil)
    #expect(error(scene) == nil && scene.instance.failures == [])
  }

  /// `save` has no handler of its own. The steps that run it have one.
  @Test(arguments: [
    ("outer: {do: save, catch: [{set: {note: error.message}}]}", "go: outer"),
    ("outer: {do: save}", "go: outer, outer.error: [{set: {note: '\"x\"'}}]"),
    ("other: {do: save}", "go: {do: other, catch: [{set: {note: error.message}}]}"),
  ])
  func `a failure that an outer action handles is no error, also not for the next host`(
    action: String, on: String
  ) throws {
    let bundle = try Scene.bundle(
      """
      actions:
        save: {do: [{http: "http://h/x"}]}
        \(action)
      on: {\(on), alone: save}
      data: {note: ""}
      """, permissions: "{hosts: [h]}")
    var scene = try Scene(bundle)
    try scene.event("go")
    try scene.answer(scene.webRequest()?.id, 500)
    #expect(scene.status("save") == .string("failure"))
    #expect(error(scene) == nil && scene.instance.failures == [])
    scene.instance = BundleInstance(
      bundle, generation: 2, folder: "/bundles/b", home: "/home/me", limits: HostLimits(), seed: 8)
    scene.tell(.snapshot(Array(scene.widgets.values)))
    #expect(error(scene) == nil && scene.instance.failures == [])
    // Nobody handles this run.
    try scene.event("alone")
    try scene.answer(scene.webRequest()?.id, 500)
    #expect(error(scene) != nil && scene.instance.failures.count == 1)
  }

  /// Such a run sends no further event `error`.
  @Test func `a failure of the action for the event error is shown`() throws {
    var scene = try Scene(
      """
      actions: {save: {do: [{http: "http://h/x"}]}, notify: {do: [{http: "http://h/y"}]}}
      on: {go: save, error: notify}
      """, permissions: "{hosts: [h]}")
    try scene.event("go")
    try scene.answer(scene.webRequest()?.id, 500)
    #expect(error(scene) == nil)
    try scene.event("error")
    try scene.answer(scene.webRequest()?.id, 500)
    #expect(error(scene) != nil && scene.instance.failures.count == 1)
  }

  @Test func `the log does not say that a failed source works if the host reads only stubs`()
    throws
  {
    let bundle = try Scene.bundle(
      """
      data: {n: 0}
      sources: {feed: {http: "http://h/x", every: 10s, stub: 1, set: {n: int(result)}}}
      """, permissions: "{hosts: [h]}")
    var scene = try Scene(bundle)
    try scene.answer(scene.webRequest()?.id, 500)
    #expect(error(scene) != nil)
    _ = scene.taken()
    scene.instance = BundleInstance(
      bundle, generation: 2, folder: "/bundles/b", home: "/home/me", limits: HostLimits(),
      isStub: true, seed: 8)
    scene.tell(.snapshot(Array(scene.widgets.values)))
    scene.pass(.seconds(1))
    #expect(error(scene) == nil)
    #expect(
      reports(&scene).last
        == "bundle b: widget w: source feed is not read, because the host runs with --stub")
  }
}
