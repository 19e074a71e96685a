import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

// Bundles that the daemon refuses because of a widget of bundle `a`. The refusal, the notes and the log
// say only what is so.
extension HandOverTests {
  private func text(_ key: String, of id: String) -> String {
    if case .string(let text)? = widget("bundle/\(id)")?.data[key] { text } else { "" }
  }

  private mutating func editB(_ widgets: String, kinds: [String] = ["j"]) throws {
    try edit("b", "u: {kind: j}\(widgets)", kinds: kinds, in: "/b/y")
  }

  /// Bundle `b` wants widget `w` with kind `m`. Bundle `a` has it with kind `k`, and a user's value.
  private mutating func refuseB(hasFormer: Bool) throws {
    if hasFormer { try editB("") }
    try begin("w: {kind: k}, v: {kind: l}", kinds: ["k", "l"])
    try editB(", w: {kind: m}", kinds: ["j", "m"])
    pass(.seconds(2))
  }

  private mutating func giveUp() throws {
    try edit("a", "v: {kind: l}", kinds: ["l"])
    pass(.seconds(2))
  }

  @Test(arguments: [true, false])
  mutating func `a refusal because of a widget of another kind follows the file of its bundle`(
    hasFormer: Bool
  ) throws {
    let (has, lacks) = ("delete \"w\" from the file of bundle a", "no longer has the widget")
    func isToldThat(_ words: String) -> Bool {
      text("state", of: "b") == "failed" && text("problem", of: "b").contains(words)
    }
    try refuseB(hasFormer: hasFormer)
    #expect(isToldThat(has))
    try giveUp()
    #expect(isToldThat(lacks))
    // The file has the widget again.
    try edit("a", "w: {kind: k}, v: {kind: l}", kinds: ["k", "l"])
    pass(.seconds(2))
    #expect(isToldThat(has))
    // The file has the id for another widget, which waits until the former one is removed.
    try edit("a", "w: {kind: l}, v: {kind: l}", kinds: ["l"])
    pass(.seconds(2))
    #expect(isToldThat(has))
    try giveUp()
    #expect(isToldThat(lacks))
    pass(limit + .seconds(2))
    #expect(text("state", of: "b") == "running" && text("problem", of: "b") == "")
    #expect(state("w") == "bundle/b fresh " && widget("w")?.kind.rawValue == "m")
    #expect(machine.nextDeadline == nil)
  }

  @Test(arguments: [true, false])
  mutating func `the log has each fact about a refusal once`(hasFormer: Bool) throws {
    try refuseB(hasFormer: hasFormer)
    try giveUp()
    // A user asks for a retry, which changes nothing.
    let session = try #require(hostSession)
    let asked = try #require(WidgetID("bundle/b"))
    run(machine.handle(.session(session, .asked(asked, isRefresh: true)), at: time))
    pass(.seconds(5))
    let refusals = reports.filter { $0.contains("refuses the bundle") }
    #expect(refusals.count == 2 && Set(refusals).count == 2)
    pass(limit)
    #expect(reports.filter { $0.contains("refuses the bundle") } == refusals)
    let lines = notes.filter { $0.hasPrefix("bundle b ") }
    let loads = Array(repeating: "read from /b/y", count: hasFormer ? 2 : 1)
    let facts = loads + ["runs: the daemon no longer refuses it"]
    #expect(lines == facts.map { "bundle b 1.0.0 \($0)" })
  }

  /// The removal is put off again and again, because the file of bundle `a` has a mistake.
  @Test mutating func `a refusal is in the log once, although the time of a removal moves`()
    throws
  {
    try begin("w: {kind: k}, v: {kind: l}", kinds: ["k", "l"])
    try giveUp()
    try editB(", w: {kind: m}", kinds: ["j", "m"])
    run(machine.found(.broken(problem: "wrong", digest: 99), in: "/b/x", at: time))
    pass(limit * 10)
    #expect(state("w") == "bundle/a stale a user's")
    #expect(reports.count { $0.contains("refuses the bundle") } == 1)
    #expect(text("problem", of: "b").contains("`widgetctl get w --field error` has the time"))
  }

  @Test mutating func `a widget that another bundle has taken is not restored, says the log`()
    throws
  {
    try begin("w: {kind: k}, v: {kind: k}")
    let taken = try #require(WidgetID("w"))
    tellNews()
    daemon.move(taken, to: "bundle/b")
    tellNews()
    pass(.seconds(5))
    // Each change of the widget is news.
    daemon.setValue(of: taken)
    tellNews()
    pass(.seconds(5))
    #expect(!reports.contains { $0.contains("restoring") })
    #expect(reports.count { $0.contains("refuses the bundle") } == 1)
    let words = "widget \"w\" already exists and belongs to bundle b"
    #expect(text("problem", of: "a").contains(words))
    #expect(state("w") == "bundle/b fresh a user's")
  }

  @Test mutating func `a version that exceeds a limit is not retried because of holds`() throws {
    try editB("")
    try begin("w: {kind: k}, v: {kind: k}")
    try edit("a", "v: {kind: k}")
    daemon.refusedID = WidgetID("x")
    try editB(", w: {kind: k}, x: {kind: j}")
    #expect(state("w") == "bundle/a stale a user's")
    #expect(
      text("problem", of: "b").hasSuffix(
        "no room for x; when there is room again, `widgetctl refresh bundle/b` tries again"))
    let last = try #require(machine.daemon.links.generations.max())
    try edit("a", "w: {kind: k}, v: {kind: k}")
    try edit("a", "v: {kind: k}")
    #expect(state("w") == "bundle/a stale a user's")
    // Only these two versions have begun.
    #expect(machine.daemon.links.generations.max() == last + 2)
    // A user asks for a retry.
    daemon.refusedID = nil
    let session = try #require(hostSession)
    let asked = try #require(WidgetID("bundle/b"))
    run(machine.handle(.session(session, .asked(asked, isRefresh: true)), at: time))
    #expect(state("w") == "bundle/b fresh a user's" && text("state", of: "b") == "running")
  }

  /// Bundles `b` and `c` want the same widget. The daemon refuses both for another reason.
  @Test mutating func `two refused bundles do not retry each other in a circle`() throws {
    try begin("w: {kind: k}, v: {kind: k}")
    for (id, kind, path) in [("b", "j", "/b/y"), ("c", "m", "/b/z")] {
      try edit(id, "w: {kind: k}, x: {kind: note}", kinds: [kind], in: path)
    }
    daemon.refusedID = WidgetID("x")
    try edit("a", "v: {kind: k}")
    pass(.seconds(5))
    #expect(state("w") == "bundle/a stale a user's")
    for id in ["b", "c"] {
      #expect(
        text("problem", of: id).hasSuffix(
          "no room for x; widgetd-host tries again when this changes, or at once with `widgetctl"
            + " refresh bundle/\(id)`"))
    }
    // A new offer of the widget is news.
    daemon.refusedID = nil
    try edit("a", "w: {kind: k}, v: {kind: k}")
    try edit("a", "v: {kind: k}")
    #expect(state("w") == "bundle/b fresh a user's" && text("state", of: "b") == "running")
  }

  /// The refused version of each bundle wants a widget that the other one gives up, and a
  /// stranger's.
  ///
  /// - Parameter undoes: whether each also has the widget again that its own bundle gives up.
  @Test(arguments: [true, false])
  mutating func `two bundles with former versions do not retry each other in a circle`(
    undoes: Bool
  ) throws {
    try edit("b", "h: {kind: k}, u: {kind: j}", kinds: ["j"], in: "/b/y")
    try begin("w: {kind: k}, v: {kind: k}", valued: ["w", "h"])
    let strangers = try ["x", "z"].map { try #require(WidgetID($0)) }
    for id in strangers { daemon.put(id, try #require(KindName("note")), set: "mine") }
    try edit("a", "v: {kind: k}")
    try editB("")
    try edit("a", "v: {kind: k}, h: {kind: k}, x: {kind: note}" + (undoes ? ", w: {kind: k}" : ""))
    try editB(", w: {kind: k}, z: {kind: note}" + (undoes ? ", h: {kind: k}" : ""))
    let last = machine.daemon.links.generations.max()
    pass(.seconds(5))
    #expect(machine.daemon.links.generations.max() == last)
    #expect(state("w") == "bundle/a stale a user's" && state("h") == "bundle/b stale a user's")
    guard !undoes else { return }
    // The causes end, one after the other.
    daemon.remove(strangers[0])
    pass(.seconds(2))
    #expect(state("h") == "bundle/a fresh a user's" && state("w") == "bundle/a stale a user's")
    daemon.remove(strangers[1])
    pass(.seconds(2))
    #expect(state("w") == "bundle/b fresh a user's" && daemon.lost.isEmpty)
  }

  @Test mutating func `the refusal of two bundles that exchange widgets says what to do`() throws {
    try edit("b", "x: {kind: k}, u: {kind: j}", kinds: ["j"], in: "/b/y")
    try begin("w: {kind: k}, v: {kind: k}", valued: ["w", "x"])
    try edit("a", "x: {kind: k}, v: {kind: k}")
    #expect(text("problem", of: "a").contains("delete \"x\" from the file of bundle b"))
    let last = try #require(machine.daemon.links.generations.max())
    try editB(", w: {kind: k}")
    for (id, gets, other) in [("a", "x", "b"), ("b", "w", "a")] {
      #expect(text("problem", of: id).contains(words(gets, of: other)))
      #expect(text("problem", of: id).ranges(of: "exchange widgets").count == 1)
    }
    pass(.seconds(5))
    // The refused version of bundle `b` and its former one. Bundle `a` got only new words.
    #expect(machine.daemon.links.generations.max() == last + 2)
    #expect(reports.count { $0.contains(words("x", of: "b")) } == 1)
    try exchange()
  }

  /// The words of a refusal because of a widget that the new file of another bundle lacks.
  private func words(_ id: String, of other: String) -> String {
    "widget \"\(id)\" already exists and belongs to bundle \(other). The new file of bundle \(other)"
      + " lacks this widget, but the daemon has not taken that file. If that file has a mistake,"
      + " correct it. If the two bundles exchange widgets, save this file without \"\(id)\" first,"
      + " then with \"\(id)\" within 30 seconds"
  }

  /// Does what the refusals say.
  private mutating func exchange() throws {
    try edit("a", "v: {kind: k}")
    #expect(state("w") == "bundle/b fresh a user's" && state("x") == "bundle/b stale a user's")
    try edit("a", "x: {kind: k}, v: {kind: k}")
    #expect(state("w") == "bundle/b fresh a user's" && state("x") == "bundle/a fresh a user's")
    #expect(text("state", of: "a") == "running" && text("state", of: "b") == "running")
    #expect(daemon.lost.isEmpty && machine.nextDeadline == nil)
  }

  @Test mutating func `so does the refusal if the files change while no host runs`() throws {
    try edit("b", "x: {kind: k}, u: {kind: j}", kinds: ["j"], in: "/b/y")
    try begin("w: {kind: k}, v: {kind: k}", valued: ["w", "x"])
    try restart {
      try $0.edit("a", "x: {kind: k}, v: {kind: k}")
      try $0.editB(", w: {kind: k}")
    }
    pass(.seconds(2))
    #expect(text("problem", of: "a").contains(words("x", of: "b")))
    #expect(text("problem", of: "b").contains(words("w", of: "a")))
    try exchange()
  }

  @Test mutating func `a refusal names the file that the daemon refuses for another reason`()
    throws
  {
    try edit("b", "x: {kind: k}, u: {kind: j}", kinds: ["j"], in: "/b/y")
    try begin("v: {kind: k}", valued: ["x"])
    try takeKind()
    try editB("", kinds: ["j", "taken"])
    // A refused file of a bundle that does not have the widget changes nothing.
    try edit("c", "t: {kind: m}", kinds: ["m", "taken"], in: "/b/z")
    try edit("a", "x: {kind: k}, v: {kind: k}")
    #expect(text("problem", of: "a").contains(words("x", of: "b")))
    try editB(", x: {kind: k}", kinds: ["j", "taken"])
    try edit("a", "x: {kind: k}, v: {kind: k}")
    #expect(text("problem", of: "a").contains("delete \"x\" from the file of bundle b"))
  }

  @Test mutating func `a refused version is no former version of the next one`() throws {
    try refuseB(hasFormer: false)
    try editB(", w: {kind: m}, x: {kind: j}", kinds: ["j", "m"])
    pass(.seconds(2))
    #expect(widget("bundle/b")?.data["runs"] == .bool(false))
    // One for each version of the file.
    #expect(reports.count { $0.contains("refuses the bundle") } == 2)
    try giveUp()
    pass(limit + .seconds(2))
    #expect(text("state", of: "b") == "running" && text("problem", of: "b") == "")
    #expect(state("w") == "bundle/b fresh " && widget("x") != nil)
  }

  @Test(arguments: [true, false])
  mutating func `the note about a missing kind ends while another bundle provides the kind`(
    hasFormer: Bool
  ) throws {
    func hasNote() -> Bool {
      guard case .list(let list)? = widget("bundle/a")?.data["remarks"] else { return false }
      return list.contains { note in
        if case .string(let text) = note { text.contains("did you mean \"gauge\"?") } else { false }
      }
    }
    if hasFormer { try editB("") }
    try begin("w: {kind: gauges}", kinds: ["gauge"])
    #expect(hasNote())
    try takeKind()
    try edit("b", "", kinds: ["gauges", "taken"], in: "/b/y")
    #expect(hasNote(), "the daemon refuses the bundle")
    try giveKind()
    pass(.seconds(2))
    #expect(!hasNote())
    run(machine.found(nil, in: "/b/y", absence: .removed, at: time))
    #expect(hasNote())
  }
}
