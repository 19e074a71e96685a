import Testing
import WidgetBundle
import WidgetClient
import WidgetModel

@testable import WidgetHost

// Widgets that move from the file of bundle `a` to the file of bundle `b`.
extension HandOverTests {
  /// Bundle `b` runs, too. A user has set a value on widget `w` of bundle `a`.
  private mutating func beginTwo(_ widgets: String, kinds: [String]) throws {
    try edit("b", "u: {kind: j}", kinds: ["j"], in: "/b/y")
    try begin(widgets, kinds: kinds)
  }

  private mutating func editB(
    _ widgets: String, kinds: [String] = ["j"], isInstalled: Bool = false
  ) throws {
    try edit(
      "b", "u: {kind: j}, \(widgets)", kinds: kinds, isInstalled: isInstalled, in: "/b/y")
  }

  /// Tells the watches which widgets have changed.
  mutating func tellNews() {
    while !daemon.news.isEmpty {
      guard case .changed(let widget) = daemon.news.removeFirst() else { continue }
      for (watch, kinds) in watches where kinds.contains(widget.kind) {
        run(machine.handle(.watch(watch, .widget(widget)), at: time))
      }
    }
  }

  /// The reports of removals and refusals.
  private var warnings: [String] {
    reports.filter { $0.contains("undo that") || $0.contains("refuses the bundle") }
  }

  private var loads: Int { notes.count { $0.hasPrefix("bundle b ") && $0.contains("read from") } }

  @Test(arguments: [true, false], [true, false])
  mutating func `a widget that moves to another bundle keeps its values`(
    leavesFirst: Bool, movesKind: Bool
  ) throws {
    try beginTwo("w: {kind: k}, v: {kind: l}", kinds: ["k", "l"])
    func leave(_ tests: inout HandOverTests) throws {
      try tests.edit("a", "v: {kind: l}", kinds: movesKind ? ["l"] : ["k", "l"])
    }
    if leavesFirst {
      try leave(&self)
      #expect(state("w") == "bundle/a stale a user's")
      pass(.seconds(2))
    }
    try editB("w: {kind: k}", kinds: movesKind ? ["j", "k"] : ["j"])
    if !leavesFirst {
      #expect(state("w") == "bundle/a fresh a user's")
      pass(.seconds(2))
      try leave(&self)
      pass(.seconds(2))
    }
    #expect(state("w") == "bundle/b fresh a user's" && widget("w")?.error == nil)
    #expect(reports.contains { $0.contains("refuses the bundle") } != leavesFirst)
    pass(limit * 2)
    #expect(state("w") == "bundle/b fresh a user's" && daemon.lost.isEmpty && kept.isEmpty)
    #expect(widget("bundle/a")?.data["remarks"] == .list([]))
    #expect(widget("bundle/b")?.data["state"] == .string("running"))
    #expect(machine.nextDeadline == nil)
  }

  @Test(arguments: [15, 40])
  mutating func `it keeps them if the daemon is away for a part of the time`(
    secondsAway: Int
  ) throws {
    try beginTwo("w: {kind: k}, v: {kind: k}", kinds: ["k"])
    try edit("a", "v: {kind: k}")
    pass(.seconds(5))
    try loseDaemon()
    pass(.seconds(5))
    try editB("w: {kind: k}")
    pass(.seconds(secondsAway))
    try regainDaemon("a")
    pass(.seconds(2))
    #expect(state("w") == "bundle/b fresh a user's" && daemon.lost.isEmpty)
  }

  @Test(arguments: [true, false])
  mutating func `a widget that is put back with a mistake stays until the file is correct`(
    isPutBack: Bool
  ) throws {
    try begin("w: {kind: k}, v: {kind: k}", valued: ["w"])
    try edit("a", "v: {kind: k}")
    pass(.seconds(5))
    run(machine.found(.broken(problem: "wrong", digest: 99), in: "/b/x", at: time))
    pass(limit * 3)
    #expect(state("w") == "bundle/a stale a user's" && daemon.lost.isEmpty)
    try edit("a", isPutBack ? "w: {kind: k}, v: {kind: k}" : "v: {kind: k}, v2: {kind: k}")
    pass(limit * 2)
    #expect(isPutBack ? state("w") == "bundle/a fresh a user's" : widget("w") == nil)
    #expect(machine.daemon.holds.isEmpty)
  }

  @Test mutating func `it goes if the daemon was away and no bundle takes it over`() throws {
    try beginTwo("w: {kind: k}, v: {kind: k}", kinds: ["k"])
    try edit("a", "v: {kind: k}")
    try loseDaemon()
    pass(limit * 2)
    #expect(state("w") == "bundle/a stale a user's")
    try regainDaemon("a", "b")
    let words = "undo that by 1970-01-01T00:01:30Z"
    #expect(widget("w")?.error?.message.contains(words) == true)
    pass(limit - .seconds(1))
    #expect(state("w") == "bundle/a stale a user's")
    pass(.seconds(1))
    #expect(widget("w") == nil && kept.count == 1 && machine.daemon.holds.isEmpty)
  }

  @Test mutating func `it keeps them if the daemon refuses the kinds of the first bundle by then`()
    throws
  {
    try beginTwo("w: {kind: k}, v: {kind: l}", kinds: ["k", "l"])
    try edit("a", "v: {kind: l}", kinds: ["l"])
    pass(.seconds(5))
    let kind = try #require(KindName("l"))
    try loseDaemon()
    daemon.kinds[kind] = "stranger"
    try regainDaemon("b")
    let session = try #require(sessions["bundle/a"])
    let refusal = daemon.register([kind], of: "bundle/a")
    run(machine.handle(.sessionEnded(session, refusal), at: time))
    pass(limit * 2)
    #expect(state("w") == "bundle/a stale a user's")
    try editB("w: {kind: k}")
    #expect(state("w") == "bundle/b fresh a user's" && machine.daemon.holds.isEmpty)
  }

  @Test mutating func `it keeps them if it moves while no host runs`() throws {
    try beginTwo("w: {kind: k}, v: {kind: k}", kinds: ["k"])
    try restart {
      try $0.edit("a", "v: {kind: k}")
      try $0.editB("w: {kind: k}")
    }
    pass(.seconds(2))
    #expect(state("w") == "bundle/b fresh a user's" && daemon.lost.isEmpty)
    #expect(warnings == [])
  }

  /// The bundle that gets the widget declares first.
  @Test mutating func `so does a widget that moves to the first bundle`() throws {
    try edit("b", "u: {kind: j}, w: {kind: k}", kinds: ["j"], in: "/b/y")
    try begin("v: {kind: k}")
    try restart {
      try $0.edit("a", "v: {kind: k}, w: {kind: k}")
      try $0.edit("b", "u: {kind: j}", kinds: ["j"], in: "/b/y")
    }
    let waiting = try #require(machine.daemon.links.all.first { $0.bundle.id == "a" })
    #expect(waiting.ownerWaits == 1 && waiting.workAttempts == 0, "the wait is no failure")
    pass(.seconds(2))
    #expect(state("w") == "bundle/a fresh a user's" && daemon.lost.isEmpty)
    #expect(warnings == [])
    pass(limit * 2)
    #expect(state("w") == "bundle/a fresh a user's")
  }

  /// The bundle that is to get the widget is refused for another reason.
  @Test mutating func `the log names a widget that waits as soon as nobody takes it over`() throws {
    try beginTwo("w: {kind: k}, v: {kind: k}", kinds: ["k"])
    try takeKind()
    try restart {
      try $0.edit("a", "v: {kind: k}")
      try $0.editB("w: {kind: k}", kinds: ["j", "taken"])
    }
    pass(.seconds(10))
    #expect(warnings.count { $0.contains("widget w: ") && $0.contains("; undo that by ") } == 1)
  }

  @Test
  mutating func `an installed version that lacks a widget leaves it for a bundle that has it`()
    throws
  {
    try beginTwo("w: {kind: k}, v: {kind: k}, x: {kind: k}", kinds: ["k"])
    try editB("w: {kind: k}", isInstalled: true)
    daemon.setValue(of: try #require(WidgetID("x")))
    try edit("a", "v: {kind: k}", isInstalled: true)
    #expect(state("w") == "bundle/b fresh a user's")
    #expect(kept.count == 1 && kept[0].contains("widget x is removed"))
  }

  @Test mutating func `a bundle that cannot declare its widgets takes nothing over`() throws {
    try beginTwo("w: {kind: k}, v: {kind: k}", kinds: ["k"])
    try edit("a", "v: {kind: k}")
    daemon.refusedID = WidgetID("w")
    try editB("w: {kind: k}")
    daemon.refusedID = nil
    #expect(state("w") == "bundle/a stale a user's")
    // The former version runs again.
    #expect(widget("bundle/b")?.data["state"] == .string("failed"))
    pass(limit)
    #expect(kept.count == 1 && kept[0].contains("bundle a: widget w is removed"))
  }

  @Test mutating func `a refused version of the first bundle gives nothing up`() throws {
    try beginTwo("w: {kind: k}, v: {kind: k}", kinds: ["k"])
    try takeKind()
    try edit("a", "v: {kind: k}", kinds: ["k", "taken"])
    try editB("w: {kind: k}")
    pass(limit * 2)
    #expect(state("w") == "bundle/a fresh a user's" && daemon.lost.isEmpty)
  }

  /// The refused version wants the widget that its own former version gives up.
  @Test mutating func `a bundle does not retry because of its own former version`() throws {
    try beginTwo("w: {kind: k}, v: {kind: k}", kinds: ["k"])
    try edit("a", "v: {kind: k}")
    try takeKind()
    try edit("a", "w: {kind: k}, v: {kind: k}", kinds: ["k", "taken"])
    let refusals = reports.count { $0.contains("refuses the bundle") }
    #expect(refusals == 1)
    pass(.seconds(20))
    #expect(reports.count { $0.contains("refuses the bundle") } == refusals)
  }

  /// The file has the widget again in time, but the daemon refuses the file for another reason.
  @Test(arguments: [true, false])
  mutating func `a widget stays while the daemon refuses the file that has it again`(
    isTaken: Bool
  ) throws {
    try beginTwo("w: {kind: k}, v: {kind: k}", kinds: ["k"])
    try edit("a", "v: {kind: k}")
    pass(limit / 2)
    try takeKind()
    try edit("a", "w: {kind: k}, v: {kind: k}", kinds: ["k", "taken"])
    // Another bundle cannot have it.
    try editB("w: {kind: k}")
    pass(limit * 2)
    #expect(state("w") == "bundle/a stale a user's" && kept.isEmpty)
    let words = "the daemon refuses the file of bundle a, which has this widget again"
    #expect(widget("w")?.error?.message.hasPrefix(words) == true)
    #expect(widget("bundle/a")?.data["remarks"] == .list([]))
    if case .string(let problem)? = widget("bundle/b")?.data["problem"] {
      #expect(problem.contains("delete \"w\" from the file of bundle a"))
    } else {
      Issue.record("bundle b has no problem")
    }
    try editB("u2: {kind: j}")
    guard isTaken else {
      // The file lacks the widget again.
      try edit("a", "v: {kind: k}")
      #expect(widget("w")?.error?.message.contains("no longer has this widget") == true)
      pass(limit - .milliseconds(1))
      #expect(state("w") == "bundle/a stale a user's")
      pass(.milliseconds(1))
      #expect(widget("w") == nil && kept.count == 1)
      return
    }
    try giveKind()
    pass(.seconds(2))
    #expect(state("w") == "bundle/a fresh a user's" && widget("w")?.error == nil)
    #expect(machine.daemon.holds.isEmpty && machine.nextDeadline == nil)
  }

  /// The file of the first bundle still has the id, for a widget of another kind.
  @Test mutating func `a bundle keeps a widget whose kind its file has changed`() throws {
    try beginTwo("w: {kind: k}, v: {kind: l}", kinds: ["k", "l"])
    try edit("a", "w: {kind: l}, v: {kind: l}", kinds: ["l"])
    try editB("w: {kind: k}", kinds: ["j", "k"])
    #expect(state("w") == "bundle/a stale a user's")
    pass(limit + .seconds(2))
    #expect(widget("w")?.kind.rawValue == "l" && widget("w")?.applySet == "bundle/a")
  }

  @Test mutating func `a widget with another kind is refused once, and then new`() throws {
    try beginTwo("w: {kind: k}, v: {kind: l}", kinds: ["k", "l"])
    try edit("a", "v: {kind: l}", kinds: ["l"])
    pass(.seconds(2))
    try editB("w: {kind: m}", kinds: ["j", "m"])
    pass(limit - .seconds(3))
    let refusals = reports.filter { $0.contains("refuses the bundle") }
    try #require(refusals.count == 1)
    let words =
      "belongs to bundle a. The file of bundle a no longer has the widget. widgetd-host removes the"
      + " widget and its values soon; `widgetctl get w --field error` has the time. To keep the"
      + " values, give the widget the kind k in this file, too; widgetd-host tries again"
    #expect(refusals[0].contains(words))
    #expect(widget("w")?.error?.message.contains("; undo that by 1970-01-01T00:00:30Z, or") == true)
    #expect(loads == 2, "the first version, and the refused one")
    #expect(state("w") == "bundle/a stale a user's")
    pass(.seconds(5))
    #expect(widget("w")?.kind.rawValue == "m" && loads == 2 && kept.count == 1)
  }

  // MARK: Several widgets that move at once

  /// Bundle `a` has `w1` and `w2` of kind `k`, each with a user's value. Bundle `b` wants `w1` with
  /// the same kind, and `w2` with another one.
  private mutating func moveTwo(_ more: String = "", givesUpFirst: Bool = true) throws {
    try edit("b", "u: {kind: j}", kinds: ["j"], in: "/b/y")
    try begin(
      "w1: {kind: k}, w2: {kind: k}, v: {kind: l}", kinds: ["k", "l"], valued: ["w1", "w2"])
    if givesUpFirst { try edit("a", "v: {kind: l}", kinds: ["k", "l"]) }
    try editB("w1: {kind: k}, w2: {kind: j}\(more)")
    if !givesUpFirst { try edit("a", "v: {kind: l}", kinds: ["k", "l"]) }
  }

  @Test(arguments: [true, false])
  mutating func `a widget keeps its values if a widget of another kind moves with it`(
    givesUpFirst: Bool
  ) throws {
    try moveTwo(givesUpFirst: givesUpFirst)
    #expect(state("w1") == "bundle/a stale a user's" && state("w2") == "bundle/a stale a user's")
    pass(limit + .seconds(2))
    #expect(state("w1") == "bundle/b fresh a user's" && widget("w1")?.error == nil)
    #expect(state("w2") == "bundle/b fresh " && widget("w2")?.kind.rawValue == "j")
    try #require(kept.count == 1)
    #expect(kept[0].contains("bundle a: widget w2 is removed, and with it the value of data.n"))
    #expect(
      notes.contains(
        "bundle a: widget w1 stays until 1970-01-01T00:01:00Z: another bundle can take it over"
          + " after the removal of widget w2"))
    pass(limit * 4)
    #expect(state("w1") == "bundle/b fresh a user's" && kept.count == 1)
    #expect(machine.nextDeadline == nil)
  }

  @Test mutating func `such a widget goes at last if the other bundle is still refused`() throws {
    daemon.refusedID = WidgetID("x")
    try moveTwo(", x: {kind: j}")
    pass(limit + .seconds(2))
    #expect(widget("w2") == nil && state("w1") == "bundle/a stale a user's")
    // The error and the remark have the new end.
    let words = "undo that by 1970-01-01T00:01:00Z, or"
    #expect(widget("w1")?.error?.message.contains(words) == true)
    guard case .list(let remarks)? = widget("bundle/a")?.data["remarks"],
      case .string(let first)? = remarks.first
    else {
      Issue.record("bundle a has no remarks")
      return
    }
    #expect(first.hasPrefix("the file no longer has widget w1; \(words)"))
    pass(limit - .seconds(3))
    #expect(state("w1") == "bundle/a stale a user's")
    pass(.seconds(2))
    #expect(widget("w1") == nil && kept.count == 2 && machine.daemon.holds.isEmpty)
  }

  @Test mutating func `of two widgets that wait for each other only one loses its values`() throws {
    try edit("c", "t: {kind: m}", kinds: ["m"], in: "/b/z")
    try moveTwo()
    try edit(
      "c", "t: {kind: m}, w1: {kind: m}, w2: {kind: k}", kinds: ["m"], in: "/b/z")
    pass(limit + .seconds(2))
    #expect(state("w2") == "bundle/c fresh a user's")
    #expect(state("w1") == "bundle/c fresh " && widget("w1")?.kind.rawValue == "m")
    try #require(kept.count == 1)
    #expect(kept[0].contains("bundle a: widget w1 is removed"))
    #expect(machine.daemon.holds.isEmpty)
  }

  /// A third widget is due at the same time, and waits for nothing.
  @Test mutating func `a circle ends although another widget goes at the same time`() throws {
    try edit("c", "t: {kind: m}", kinds: ["m"], in: "/b/z")
    try edit("b", "u: {kind: j}", kinds: ["j"], in: "/b/y")
    let widgets = ["w1", "w2", "w3"]
    let list = widgets.map { "\($0): {kind: k}, " }.joined()
    try begin("\(list)v: {kind: l}", kinds: ["k", "l"], valued: widgets)
    try edit("a", "v: {kind: l}", kinds: ["k", "l"])
    try editB("w1: {kind: k}, w2: {kind: j}")
    try edit("c", "t: {kind: m}, w1: {kind: m}, w2: {kind: k}", kinds: ["m"], in: "/b/z")
    pass(limit + .seconds(2))
    #expect(state("w2") == "bundle/c fresh a user's" && widget("w3") == nil)
    #expect(state("w1") == "bundle/c fresh " && widget("w1")?.kind.rawValue == "m")
    #expect(kept.count == 2 && machine.daemon.holds.isEmpty)
  }

  @Test mutating func `the note about a widget that stays has all widgets that go before`() throws {
    try edit("b", "u: {kind: j}", kinds: ["j"], in: "/b/y")
    let widgets = ["w1", "w2", "w3", "w4"]
    let list = widgets.map { "\($0): {kind: k}, " }.joined()
    try begin("\(list)v: {kind: l}", kinds: ["k", "l"], valued: widgets)
    try edit("a", "v: {kind: l}", kinds: ["k", "l"])
    try editB("w1: {kind: k}, w2: {kind: j}, w3: {kind: j}, w4: {kind: j}")
    pass(limit)
    let words = "after the removal of widget w2, widget w3 and widget w4"
    #expect(notes.contains { $0.hasPrefix("bundle a: widget w1 stays") && $0.hasSuffix(words) })
  }

  @Test mutating func `widgets of several bundles wait for one another in order`() throws {
    // Bundle `b` takes over `w1` after `w3` of bundle `c` is gone.
    try edit("b", "u: {kind: j}", kinds: ["j"], in: "/b/y")
    try edit("c", "t: {kind: m}, w3: {kind: m}", kinds: ["m"], in: "/b/z")
    try begin("w1: {kind: k}, v: {kind: l}", kinds: ["k", "l"], valued: ["w1", "w3"])
    try edit("a", "v: {kind: l}", kinds: ["k", "l"])
    try editB("w1: {kind: k}, w3: {kind: j}")
    pass(limit - .seconds(5))
    try edit("c", "t: {kind: m}", kinds: ["m"], in: "/b/z")
    pass(limit - .seconds(1))
    #expect(state("w1") == "bundle/a stale a user's" && state("w3") == "bundle/c stale a user's")
    pass(.seconds(3))
    #expect(state("w1") == "bundle/b fresh a user's" && state("w3") == "bundle/b fresh ")
    #expect(kept.count == 1 && kept[0].contains("bundle c: widget w3 is removed"))
  }

  @Test mutating func `the bundle that has the kind leaves a widget alone that waits`() throws {
    try edit("b", "w: {kind: k}, u: {kind: j}", kinds: ["j"], in: "/b/y")
    try begin("v: {kind: k}")
    tellNews()
    try editB("v2: {kind: j}")
    tellNews()
    let words = "no longer has this widget"
    #expect(state("w") == "bundle/b stale a user's")
    #expect(widget("w")?.error?.message.contains(words) == true)
    run(machine.found(.broken(problem: "wrong", digest: 99), in: "/b/x", at: time))
    #expect(widget("v")?.error?.message == "wrong")
    #expect(widget("w")?.error?.message.contains(words) == true && widget("w")?.isStale == true)
    // The next version of that bundle, too.
    try edit("a", "v: {kind: k}, v3: {kind: k}")
    tellNews()
    run(machine.found(.broken(problem: "wrong", digest: 98), in: "/b/x", at: time))
    #expect(widget("w")?.error?.message.contains(words) == true)
  }

  @Test mutating func `a widget stays without an error when the bundle of its kind is removed`()
    throws
  {
    try edit("b", "w: {kind: k}, u: {kind: j}", kinds: ["j"], in: "/b/y")
    try begin("v: {kind: k}", valued: [])
    tellNews()
    #expect(widget("bundle/b")?.data["widgets"] == .int(2), "also the one of another bundle's kind")
    #expect(widget("bundle/a")?.data["widgets"] == .int(1))
    #expect(widget("bundle/a")?.data["othersFirst"] == .list([.string("w (bundle b)")]))
    run(machine.found(nil, in: "/b/x", absence: .missing, at: time))
    tellNews()
    #expect(widget("w")?.error?.message.hasSuffix("the widget and its data stay") == true)
    pass(limit)
    #expect(widget("v") == nil && state("w") == "bundle/b stale " && widget("w")?.error == nil)
    try edit("a", "v: {kind: k}")
    tellNews()
    #expect(widget("v") != nil && widget("w")?.error == nil)
    // The daemon asks about stale widgets. The answer makes them fresh.
    let asked = try #require(WidgetID("w"))
    let session = try #require(sessions["bundle/a"])
    run(machine.handle(.session(session, .asked(asked, isRefresh: false)), at: time))
    #expect(state("w") == "bundle/b fresh " && widget("w")?.error == nil)
  }

  @Test(arguments: [true, false])
  mutating func `a widget that another program takes in time is fresh`(isTold: Bool) throws {
    try begin("w: {kind: k}, v: {kind: k}")
    try edit("a", "v: {kind: k}")
    tellNews()
    daemon.move(try #require(WidgetID("w")), to: "mine")
    if isTold { tellNews() } else { pass(limit) }
    #expect(state("w") == "mine fresh a user's" && widget("w")?.error == nil)
    #expect(widget("bundle/a")?.data["remarks"] == .list([]))
    pass(limit * 2)
    #expect(state("w") == "mine fresh a user's")
  }

  @Test mutating func `a bundle that is removed while the daemon is away does not come back`()
    throws
  {
    try begin("w: {kind: k}")
    let session = try #require(hostSession)
    run(machine.handle(.session(session, .lost("gone")), at: time))
    run(machine.found(nil, in: "/b/x", absence: .removed, at: time))
    run(machine.handle(.session(session, .opened(epoch: 2)), at: time))
    pass(limit / 2)
    #expect(widget("bundle/a") == nil && widget("w") == nil)
    #expect(!reports.contains { $0.contains("put the file or folder back") })
    // A later bundle of this id is remembered.
    try edit("a", "w: {kind: k}")
    #expect(state("w") == "bundle/a fresh ")
  }
}
