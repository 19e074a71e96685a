import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

// Widget `bw` of bundle `b` has a kind of bundle `c`. It shows the problems of both bundles.
extension HandOverTests {
  private static let widgetsOfB = "bw: {kind: k}, n: {kind: note}, u: {kind: j}"

  private mutating func beginBoth() throws {
    try edit("c", "cw: {kind: k}", in: "/b/c")
    try edit("b", HandOverTests.widgetsOfB, kinds: ["j"], in: "/b/y")
    run(machine.start(at: time))
    tellNews()
  }

  private mutating func lose(_ path: String) {
    run(machine.found(nil, in: path, absence: .missing, at: time))
    tellNews()
  }

  /// The same file is back.
  private mutating func giveBack(_ path: String) throws {
    if path == "/b/c" {
      let file = try read("c", "cw: {kind: k}", kinds: ["k"])
      run(machine.found(.bundle(file, digest: 1), in: path, at: time))
    } else {
      let file = try read("b", HandOverTests.widgetsOfB, kinds: ["j"])
      run(machine.found(.bundle(file, digest: 2), in: path, at: time))
    }
    tellNews()
  }

  private func errors(_ id: String) -> [String] { widget(id)?.error?.all.map(\.message) ?? [] }

  @Test(arguments: [true, false])
  mutating func `a widget shows that its own bundle and the bundle of its kind are missing`(
    ownFirst: Bool
  ) throws {
    try beginBoth()
    let order = ownFirst ? ["/b/y", "/b/c"] : ["/b/c", "/b/y"]
    for path in order {
      lose(path)
      #expect(widget("bw")?.isStale == true)
      #expect(errors("bw").contains { $0.hasPrefix("the folder \(path) ") })
    }
    // Its own bundle can remove it, so that one comes first.
    try #require(errors("bw").count == 2)
    #expect(errors("bw")[0].hasPrefix("the folder /b/y has no bundle file"))
    #expect(errors("bw")[0].hasSuffix("or the widgets of the bundle are removed with their data"))
    #expect(errors("bw")[1].contains("bundle c is removed, and with it the kind of this widget"))
    #expect(errors("cw").count == 1 && errors("u").count == 1 && errors("n").count == 1)
    #expect(widget("n")?.isStale == true)
    try giveBack("/b/c")
    #expect(errors("bw").count == 1)
    #expect(errors("bw")[0].hasPrefix("the folder /b/y has no bundle file"))
    #expect(widget("bw")?.isStale == true && errors("cw") == [])
    try giveBack("/b/y")
    for id in ["bw", "cw", "n", "u"] {
      #expect(errors(id) == [] && widget(id)?.isStale == false, "\(id)")
    }
    pass(limit * 2)
    #expect(widget("bw") != nil && machine.nextDeadline == nil)
  }

  @Test mutating func `a widget shows the mistake and the refusal of its own bundle`() throws {
    try beginBoth()
    let mistake = "/b/y/bundle.yaml:1:1: wrong"
    run(machine.found(.broken(problem: mistake, digest: 99), in: "/b/y", at: time))
    tellNews()
    // The former version of bundle `b` runs, and bundle `c` gives the widget data.
    for id in ["bw", "n", "u"] {
      #expect(errors(id) == [mistake] && widget(id)?.isStale == false, "\(id)")
    }
    #expect(errors("cw") == [])
    try takeKind()
    try edit("b", HandOverTests.widgetsOfB, kinds: ["j", "taken"], in: "/b/y")
    tellNews()
    for id in ["bw", "n", "u"] {
      #expect(errors(id).count == 1, "\(id)")
      #expect(errors(id).first?.hasPrefix("/b/y: the daemon refuses the bundle: ") == true)
    }
    try giveKind()
    pass(.seconds(2))
    tellNews()
    for id in ["bw", "n", "u"] { #expect(errors(id) == [], "\(id)") }
  }

  /// No version of bundle `b` has run since the start of the host.
  @Test mutating func `the cleared error of a bundle that does not run is set again`() throws {
    try beginBoth()
    let mistake = "/b/y/bundle.yaml:1:1: wrong"
    try restart {
      try $0.edit("c", "cw: {kind: k}", in: "/b/c")
      $0.run($0.machine.found(.broken(problem: mistake, digest: 99), in: "/b/y", at: $0.time))
    }
    tellNews()
    #expect(errors("u") == [mistake])
    let cleared = WidgetPatch(error: .some(nil))
    _ = daemon.answer(.update(try #require(WidgetID("u")), cleared, provider: ""))
    tellNews()
    #expect(errors("u") == [])
    pass(HostLimits().clearedLookInterval)
    tellNews()
    #expect(errors("u") == [mistake] && widget("u")?.isStale == true)
  }

  /// Somebody takes a widget of bundle `b` while the bundle runs, and gives it back.
  ///
  /// If the daemon restarts meanwhile, the bundle is refused again, now without a watch.
  @Test(arguments: [false, true])
  mutating func `the refusal of a bundle that runs on ends on all its widgets`(
    isDaemonRestarted: Bool
  ) throws {
    let taken = try #require(WidgetID("t"))
    try edit("b", "n: {kind: note}, u: {kind: j}, t: {kind: j}", kinds: ["j"], in: "/b/y")
    run(machine.start(at: time))
    tellNews()
    daemon.move(taken, to: "mine")
    tellNews()
    pass(.seconds(2))
    tellNews()
    // The bundle still has the kind of widget `u`, and gives it data.
    #expect(widget("n")?.isStale == true && widget("u")?.isStale == false)
    if isDaemonRestarted {
      try loseDaemon()
      try regainDaemon("b")
      tellNews()
      #expect(widget("n")?.isStale == true && widget("u")?.isStale == true)
    }
    for id in ["n", "u"] {
      #expect(errors(id).count == 1, "\(id)")
      #expect(errors(id).first?.hasPrefix("/b/y: the daemon refuses the bundle: ") == true)
    }
    daemon.move(taken, to: "bundle/b")
    tellNews()
    pass(.seconds(2))
    tellNews()
    #expect(widget("bundle/b")?.data["state"] == .string("running"))
    for id in ["n", "u", "t"] {
      #expect(errors(id) == [] && widget(id)?.isStale == false, "\(id)")
    }
  }

  /// Somebody has taken widget `t` of bundle `b`. Then the bundle's watch ends.
  @Test mutating func `a refused bundle serves its widgets although its watch has ended`() throws {
    try edit("b", "u: {kind: j}, t: {kind: j}", kinds: ["j"], in: "/b/y")
    run(machine.start(at: time))
    tellNews()
    daemon.move(try #require(WidgetID("t")), to: "mine")
    tellNews()
    pass(.seconds(2))
    tellNews()
    #expect(errors("u").count == 1 && widget("u")?.isStale == false)
    let watch = try #require(machine.daemon.links.all.compactMap(\.watch).first)
    watches[watch] = nil
    let failure = Failure("UNAVAILABLE", "the watch has ended", isTransient: true)
    run(machine.handle(.watchEnded(watch, failure), at: time))
    #expect(widget("u")?.isStale == false && watches.isEmpty)
    pass(HostLimits().watchWait)
    tellNews()
    #expect(errors("u").count == 1 && widget("u")?.isStale == false && watches.count == 1)
  }

  /// The folder of bundle `b` is back when the host starts again. The daemon refuses bundle `c`,
  /// which has the kind of widget `bw`.
  @Test mutating func `an error that is over ends although the bundle of the kind is refused`()
    throws
  {
    try beginBoth()
    lose("/b/y")
    #expect(errors("bw").count == 1)
    daemon.refusedID = WidgetID("cw")
    try restart {
      try $0.edit("c", "cw: {kind: k}", in: "/b/c")
      try $0.edit("b", HandOverTests.widgetsOfB, kinds: ["j"], in: "/b/y")
    }
    tellNews()
    #expect(widget("bundle/c")?.data["state"] == .string("failed"))
    #expect(errors("bw") == [] && widget("bw")?.isStale == false)
  }

  /// The daemon refuses bundle `b` since the start of the host. Bundle `c` gives widget `bw` data.
  @Test mutating func `a widget of a refused bundle that does not run is stale`() throws {
    try beginBoth()
    try restart {
      try $0.takeKind()
      try $0.edit("c", "cw: {kind: k}", in: "/b/c")
      try $0.edit("b", HandOverTests.widgetsOfB, kinds: ["j", "taken"], in: "/b/y")
    }
    tellNews()
    for id in ["bw", "n", "u"] {
      #expect(errors(id).count == 1 && widget(id)?.isStale == true, "\(id)")
    }
    #expect(errors("cw") == [] && widget("cw")?.isStale == false)
    try giveKind()
    pass(.seconds(2))
    tellNews()
    for id in ["bw", "n", "u"] {
      #expect(errors(id) == [] && widget(id)?.isStale == false, "\(id)")
    }
  }

  /// A program takes the kind of bundle `b` while the daemon does not have the host.
  @Test mutating func `the refusal of a bundle that has lost its kind ends on all its widgets`()
    throws
  {
    let kind = try #require(KindName("j"))
    try edit("b", "n: {kind: note}, u: {kind: j}", kinds: ["j"], in: "/b/y")
    run(machine.start(at: time))
    tellNews()
    try loseDaemon()
    daemon.kinds[kind] = "stranger"
    try regainDaemon()
    let session = try #require(sessions["bundle/b"])
    run(machine.handle(.sessionEnded(session, daemon.register([kind], of: "bundle/b")), at: time))
    tellNews()
    for id in ["n", "u"] {
      #expect(errors(id).count == 1, "\(id)")
      #expect(errors(id).first?.hasPrefix("/b/y: the daemon refuses the bundle: ") == true)
    }
    // The bundle has no widgets of the kind, but they are still its own.
    #expect(machine.bundles.running["b"]?.instance.widgets.count == 0)
    #expect(widget("bundle/b")?.data["widgets"] == .int(2))
    daemon.removeKinds([kind])
    pass(.seconds(2))
    tellNews()
    #expect(widget("bundle/b")?.data["state"] == .string("running"))
    for id in ["n", "u"] {
      #expect(errors(id) == [] && widget(id)?.isStale == false, "\(id)")
    }
  }

  /// The session of a bundle that runs ends, and the daemon has no room for the next one at first.
  @Test mutating func `a widget is fresh when the daemon has room for its bundle again`() throws {
    try edit("b", "u: {kind: j}", kinds: ["j"], in: "/b/y")
    run(machine.start(at: time))
    tellNews()
    isWithoutRoom = true
    run(machine.handle(.sessionEnded(try #require(sessions["bundle/b"]), nil), at: time))
    pass(.seconds(2))
    tellNews()
    #expect(errors("u").count == 1 && widget("u")?.isStale == true)
    isWithoutRoom = false
    let session = try #require(sessions["bundle/b"])
    run(machine.handle(.session(session, .opened(epoch: 1)), at: time))
    tellNews()
    #expect(errors("u") == [] && widget("u")?.isStale == false)
  }

  @Test mutating func `a retry of a refused bundle does not look for its widgets again`() throws {
    try takeKind()
    try edit("b", HandOverTests.widgetsOfB, kinds: ["j", "taken"], in: "/b/y")
    run(machine.start(at: time))
    let before = lists
    pass(HostLimits().refusalRetryInterval * 3)
    #expect(widget("bundle/b")?.data["state"] == .string("failed"))
    #expect(before > 0 && lists == before)
  }

  /// A program takes kind `j` of bundle `b`, whose session stays open.
  @Test mutating func `a bundle that has lost a kind serves the widgets of its other kinds`()
    throws
  {
    let (lost, kept) = (try #require(KindName("j")), try #require(KindName("l")))
    try edit("b", "u: {kind: j}, v: {kind: l}", kinds: ["j", "l"], in: "/b/y")
    run(machine.start(at: time))
    daemon.put(try #require(WidgetID("g")), kept, set: "mine")
    tellNews()
    let session = try #require(sessions["bundle/b"])
    daemon.removeKinds([lost])
    daemon.kinds[lost] = "stranger"
    run(machine.handle(.session(session, .kindsRemoved([lost])), at: time))
    pass(.seconds(2))
    tellNews()
    for id in ["u", "v", "g"] {
      #expect(errors(id).count == 1, "\(id)")
      #expect(errors(id).first?.hasPrefix("/b/y: the daemon refuses the bundle: ") == true)
      #expect(widget(id)?.isStale == (id == "u"), "\(id)")
    }
    // An event was under way.
    let event = Event(sequence: 1, widgetID: try #require(WidgetID("u")), name: "press")
    run(machine.handle(.session(session, .event(event)), at: time))
    #expect(machine.bundles.running["b"]?.instance.widgets.ids.map(\.rawValue) == ["g", "v"])
    #expect(watches.values.contains([kept]) && !watches.values.contains([lost, kept]))
    daemon.removeKinds([lost])
    pass(.seconds(2))
    tellNews()
    #expect(widget("bundle/b")?.data["state"] == .string("running"))
    for id in ["u", "v", "g"] {
      #expect(errors(id) == [] && widget(id)?.isStale == false, "\(id)")
    }
    #expect(machine.bundles.running["b"]?.instance.widgets.count == 3)
    #expect(reports.count { $0.contains("restoring") } == 1)
  }

  /// A program gets kind `j` of bundle `b` while the file has a mistake and the daemon is away.
  @Test mutating func `the error of a mistake ends on a widget whose kind the bundle has lost`()
    throws
  {
    let kind = try #require(KindName("j"))
    try edit("b", "n: {kind: note}, u: {kind: j}", kinds: ["j"], in: "/b/y")
    run(machine.start(at: time))
    daemon.put(try #require(WidgetID("g")), kind, set: "mine")
    tellNews()
    let mistake = "/b/y/bundle.yaml:1:1: wrong"
    run(machine.found(.broken(problem: mistake, digest: 99), in: "/b/y", at: time))
    tellNews()
    #expect(errors("g") == [mistake])
    try loseDaemon()
    daemon.kinds[kind] = "stranger"
    try regainDaemon()
    let session = try #require(sessions["bundle/b"])
    run(machine.handle(.sessionEnded(session, daemon.register([kind], of: "bundle/b")), at: time))
    tellNews()
    try edit("b", "n: {kind: note}", kinds: ["m"], in: "/b/y")
    tellNews()
    #expect(widget("bundle/b")?.data["state"] == .string("running"))
    #expect(errors("n") == [] && errors("g") == [] && widget("u") == nil)
  }

  @Test mutating func `the error of the widget's own bundle stays after the removal of the other`()
    throws
  {
    try beginBoth()
    lose("/b/c")
    run(machine.found(.broken(problem: "/b/y/b.yaml:1:1: wrong", digest: 99), in: "/b/y", at: time))
    tellNews()
    #expect(errors("bw").count == 2)
    pass(limit)
    #expect(widget("cw") == nil && errors("bw") == ["/b/y/b.yaml:1:1: wrong"])
    #expect(widget("bw")?.isStale == true, "its kind is gone")
    // The end of its own problem does not make it fresh.
    try giveBack("/b/y")
    #expect(errors("bw") == [] && widget("bw")?.isStale == true)
  }

  /// The host restarts while the folder of bundle `b` is missing.
  @Test mutating func `the bundle of the kind keeps the error of the widget's own bundle`() throws {
    try beginBoth()
    lose("/b/y")
    pass(.seconds(5))
    try restart { try $0.edit("c", "cw: {kind: k}", in: "/b/c") }
    for id in ["bw", "n", "u"] {
      #expect(errors(id).count == 1 && widget(id)?.isStale == true, "\(id)")
      let words = "put the file or folder back by 1970-01-01T00:00:35Z, or the"
      #expect(errors(id).first?.contains(words) == true)
    }
    var other = self
    try other.edit("b", HandOverTests.widgetsOfB, kinds: ["j"], in: "/b/y")
    other.tellNews()
    for id in ["bw", "n", "u"] {
      #expect(other.errors(id) == [] && other.widget(id)?.isStale == false, "\(id)")
    }
    #expect(!other.notes.contains { $0.contains("again") })
    pass(limit)
    #expect(widget("bw") == nil && widget("n") == nil && widget("cw") != nil)
  }

  @Test mutating func `a widget that never left is not there again, and keeps another error`()
    throws
  {
    try beginBoth()
    lose("/b/c")
    try edit("b", HandOverTests.widgetsOfB + ", u2: {kind: j}", kinds: ["j"], in: "/b/y")
    #expect(!notes.contains { $0.contains("has widget") })
    #expect(errors("bw").count == 1 && errors("bw")[0].contains("bundle c is removed"))
    #expect(widget("bw")?.isStale == true)
  }

  /// Widget `bw` waits for its removal. Bundle `d` is to take it over.
  @Test mutating func `a widget that waits for its removal shows the problems of bundles, too`()
    throws
  {
    try beginBoth()
    daemon.setValue(of: try #require(WidgetID("bw")))
    tellNews()
    try edit("b", "n: {kind: note}, u: {kind: j}", kinds: ["j"], in: "/b/y")
    let words = "the file of bundle b no longer has this widget"
    #expect(errors("bw").count == 1 && errors("bw").first?.hasPrefix(words) == true)
    let mistake = "/b/c/bundle.yaml:1:1: wrong"
    run(machine.found(.broken(problem: mistake, digest: 99), in: "/b/c", at: time))
    #expect(errors("bw").count == 2 && errors("bw").first?.hasPrefix(words) == true)
    #expect(errors("bw").last == mistake)
    try takeKind()
    try edit("d", "bw: {kind: k}", kinds: ["taken"], in: "/b/d")
    #expect(errors("bw").count == 3)
    #expect(errors("bw").last?.hasPrefix("/b/d: the daemon refuses the bundle: ") == true)
    try giveBack("/b/c")
    #expect(errors("bw").count == 2 && widget("bw")?.isStale == true)
    try giveKind()
    pass(.seconds(2))
    tellNews()
    #expect(errors("bw") == [] && state("bw") == "bundle/d fresh a user's")
    pass(limit * 2)
    #expect(state("bw") == "bundle/d fresh a user's" && daemon.lost.isEmpty)
  }

  /// Bundle `d` wants widget `bw`, which waits for its removal. The daemon refuses the bundle for
  /// long.
  @Test mutating func `the error of a widget that waits does not change at each retry`() throws {
    try beginBoth()
    let id = try #require(WidgetID("bw"))
    daemon.setValue(of: id)
    tellNews()
    try takeKind()
    try edit("d", "bw: {kind: k}", kinds: ["taken"], in: "/b/d")
    try edit("b", "n: {kind: note}, u: {kind: j}", kinds: ["j"], in: "/b/y")
    // So the widget waits for long.
    run(machine.found(.broken(problem: "wrong", digest: 99), in: "/b/y", at: time))
    #expect(errors("bw").count == 3)
    updates = []
    pass(HostLimits().refusalRetryInterval * 3)
    #expect(errors("bw").count == 3 && state("bw") == "bundle/b stale a user's")
    for update in updates where update.id == id {
      let messages = update.patch.error.flatMap(\.self)?.all.map(\.message) ?? []
      #expect(messages.contains { $0.hasPrefix("/b/d: the daemon refuses the bundle: ") })
    }
  }

  /// Bundle `e` is a copy of bundle `c`. The daemon refuses the copy, because `c` has the kind.
  @Test mutating func `a widget that waits shows no problem of a bundle that lacks its kind`()
    throws
  {
    try beginBoth()
    daemon.setValue(of: try #require(WidgetID("bw")))
    tellNews()
    try edit("e", "ew: {kind: k}", in: "/b/e")
    #expect(widget("bundle/e")?.data["state"] == .string("failed"))
    try edit("b", "n: {kind: note}, u: {kind: j}", kinds: ["j"], in: "/b/y")
    #expect(errors("bw").count == 1)
    #expect(errors("bw").first?.hasPrefix("the file of bundle b no longer has this widget") == true)
  }

  /// An earlier host has set the error. No host has called the widget back yet.
  @Test mutating func `the bundle of the kind keeps the error of a widget that leaves`() throws {
    try beginBoth()
    daemon.setValue(of: try #require(WidgetID("bw")))
    tellNews()
    try edit("b", "n: {kind: note}, u: {kind: j}", kinds: ["j"], in: "/b/y")
    #expect(errors("bw").first?.contains("the file of bundle b no longer has this widget") == true)
    try restart { try $0.edit("c", "cw: {kind: k}", in: "/b/c") }
    let words = "the file of bundle b no longer has this widget"
    #expect(errors("bw").contains { $0.hasPrefix(words) } && widget("bw")?.isStale == true)
    try edit("b", HandOverTests.widgetsOfB, kinds: ["j"], in: "/b/y")
    tellNews()
    #expect(errors("bw") == [] && state("bw") == "bundle/b fresh a user's")
    #expect(notes.contains("bundle b: the file has widget bw again"))
  }

  /// A user takes the widgets that bundle `b` lacks while no host runs. The folder of bundle `b` is
  /// missing at the next start.
  @Test mutating func `the error of a widget that left ends with its bundle`() throws {
    try beginBoth()
    let ids = try ["bw", "n"].map { try #require(WidgetID($0)) }
    for id in ids { daemon.setValue(of: id) }
    tellNews()
    try edit("b", "u: {kind: j}", kinds: ["j"], in: "/b/y")
    for id in ids {
      #expect(errors(id.rawValue).first?.contains("no longer has this widget") == true)
      daemon.move(id, to: "mine")
    }
    daemon.news = []
    try restart { try $0.edit("c", "cw: {kind: k}", in: "/b/c") }
    #expect(state("bw") == "mine fresh a user's" && errors("bw") == [])
    pass(limit)
    #expect(widget("u") == nil)
    for id in ["bw", "n"] { #expect(state(id) == "mine fresh a user's" && errors(id) == []) }
  }
}
