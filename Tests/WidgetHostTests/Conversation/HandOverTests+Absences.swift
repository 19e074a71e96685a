import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

// Widgets of others with a kind of bundle `a`, whose folder is missing. No error about it stays for
// ever.
extension HandOverTests {
  /// Bundle `a` runs with widget `v`. The guest `g` is a program's widget of the same kind.
  private mutating func beginWithGuest() throws {
    try begin("v: {kind: k}", valued: [])
    let guest = try #require(WidgetID("g"))
    daemon.put(guest, try #require(KindName("k")), set: "mine")
    tellNews()
  }

  private mutating func lose(_ absence: HostState.Absence = .missing) {
    run(machine.found(nil, in: "/b/x", absence: absence, at: time))
    tellNews()
  }

  private func error(_ id: String) -> String { widget(id)?.error?.message ?? "" }

  @Test mutating func `the error of a missing bundle on a widget of others names the bundle`()
    throws
  {
    try beginWithGuest()
    lose()
    #expect(
      error("g").hasSuffix(
        "put the file or folder back by 1970-01-01T00:00:30Z, or bundle a is removed, and with it the"
          + " kind of this widget; the widget and its data stay"))
    lose(.unavailable("/b does not exist"))
    #expect(error("g").contains("bundle a in it has the kind of this widget"))
    pass(limit)
    lose(.removed)
    #expect(widget("v") == nil && state("g") == "mine stale " && error("g") == "")
  }

  /// The daemon is away when the time of the missing folder would have been over.
  @Test(arguments: [false, true])
  mutating func `a missing bundle stays for its whole time after the return of the daemon`(
    comesBack: Bool
  ) throws {
    func problem() -> String {
      if case .string(let text)? = widget("bundle/a")?.data["problem"] { text } else { "" }
    }
    try beginWithGuest()
    daemon.setValue(of: try #require(WidgetID("v")))
    lose()
    pass(limit / 2)
    try loseDaemon()
    pass(limit)
    #expect(error("g").contains("put the file or folder back by 1970-01-01T00:00:30Z"))
    try regainDaemon("a")
    pass(.seconds(2))
    let words = "put the file or folder back by 1970-01-01T00:01:15Z, or"
    #expect(error("v").contains(words) && error("g").contains(words) && problem().contains(words))
    #expect(state("v") == "bundle/a stale a user's" && state("g") == "mine stale ")
    #expect(reports.last { $0.contains("put the file or folder back") }?.contains(words) == true)
    guard !comesBack else {
      let file = try read("a", "v: {kind: k}", kinds: ["k"])
      run(machine.found(.bundle(file, digest: digest), in: "/b/x", at: time))
      pass(limit * 2)
      #expect(state("v") == "bundle/a fresh a user's" && error("v") == "" && problem() == "")
      return
    }
    pass(limit - .seconds(3))
    #expect(state("v") == "bundle/a stale a user's" && daemon.lost.isEmpty)
    pass(.seconds(1))
    #expect(widget("v") == nil && state("g") == "mine stale " && error("g") == "")
    #expect(machine.nextDeadline == nil)
  }

  /// The daemon forgets that the bundle had a session, so it does not make the widget stale.
  @Test mutating func `a widget is stale if its kind goes while the daemon is away`() throws {
    try beginWithGuest()
    try loseDaemon()
    run(machine.found(nil, in: "/b/x", absence: .removed, at: time))
    pass(limit)
    #expect(state("g") == "mine fresh ")
    #expect(notes.last == "bundle a: its widgets are removed when the daemon is back")
    #expect(!notes.contains { $0.hasPrefix("bundle a removed") })
    try regainDaemon()
    #expect(
      notes.last == "bundle a removed: 1 widget; 1 widget of others keeps its data, but loses its"
        + " kind: g (set mine)")
    #expect(widget("v") == nil && daemon.kinds.values.allSatisfy { $0 == HostState.provider })
    #expect(state("g") == "mine stale " && error("g") == "")
    // It is fresh again when a bundle with its kind runs.
    try edit("c", "u: {kind: k}")
    tellNews()
    let asked = try #require(WidgetID("g"))
    let session = try #require(sessions["bundle/c"])
    run(machine.handle(.session(session, .asked(asked, isRefresh: false)), at: time))
    #expect(state("g") == "mine fresh ")
  }

  /// A host that ends before the removal leaves the mark to the next one.
  @Test mutating func `the mark of a removed bundle stays while the daemon has it`() throws {
    try beginWithGuest()
    try loseDaemon()
    run(machine.found(nil, in: "/b/x", absence: .removed, at: time))
    pass(limit)
    #expect(machine.daemon.withdrawals.unconfirmed == ["a"])
    try regainDaemon()
    #expect(widget("v") == nil && widget("bundle/a") == nil)
    #expect(machine.daemon.withdrawals.unconfirmed.isEmpty)
  }

  /// A backup can have a copy of the mark, and somebody can install the bundle again.
  @Test mutating func `later hosts know the mark of a removal that an earlier one carried out`()
    throws
  {
    func marks(_ id: String) -> Value? { widget(id)?.data["marks"] }
    let known = Value.list([.string("a 1")])
    try beginWithGuest()
    run(machine.found(nil, in: "/b/x", absence: .removed, marks: ["a 1", "b 2"], at: time))
    tellNews()
    #expect(widget("bundle/a") == nil && marks("widgetd-host") == known)
    restart { _ in }
    #expect(marks("widgetd-host") == known)
    try restart { try $0.edit("a", "v: {kind: k}") }
    #expect(marks("bundle/a") == known && marks("widgetd-host") == known)
    #expect(machine.bundles.occupants.map(\.seenMarks) == [["a 1"]])
    run(machine.stop(at: time))
    #expect(marks("widgetd-host") == known)
  }

  @Test mutating func `after a restart of the host, the state of a missing bundle is as before`()
    throws
  {
    func shown() -> [Value?] {
      ["version", "state", "widgets", "others", "othersFirst", "handled", "loaded"].map {
        widget("bundle/a")?.data[$0]
      }
    }
    try beginWithGuest()
    lose()
    let before = shown()
    #expect(before[2] == .int(1) && before[3] == .int(1))
    #expect(before[4] == .list([.string("g (set mine)")]))
    // The source of the guest has failed, too.
    let guest = try #require(WidgetID("g"))
    let failure = WidgetError(reason: BundleInstance.sourceFailed, message: "no answer")
    let errors = WidgetError(joining: (widget("g")?.error?.all ?? []) + [failure])
    _ = daemon.answer(.update(guest, WidgetPatch(error: .some(errors)), provider: ""))
    pass(limit / 2)
    for _ in 0..<2 {
      restart { _ in }
      // The new host counts from its own start.
      let words = "put the file or folder back by 1970-01-01T00:00:45Z, or "
      #expect(error("v").contains(words + "the widgets of the bundle are removed"))
      #expect(error("g").contains(words + "bundle a is removed, and with it the kind"))
      #expect(widget("g")?.error?.all.map(\.reason) == ["BUNDLE_INVALID", "SOURCE_FAILED"])
      #expect(shown() == before)
    }
    pass(limit)
    #expect(widget("v") == nil && error("g") == "" && widget("g")?.isStale == true)
  }

  @Test mutating func `the error of a broken file ends if the id changes while no host runs`()
    throws
  {
    try beginWithGuest()
    let broken = HostState.Found.broken(problem: "/b/x/bundle.yaml:1:1: wrong", digest: 99)
    run(machine.found(broken, in: "/b/x", at: time))
    tellNews()
    restart { $0.run($0.machine.found(broken, in: "/b/x", at: $0.time)) }
    #expect(error("v").contains("wrong") && error("g").contains("wrong"))
    try edit("c", "v2: {kind: j}", kinds: ["j"])
    #expect(error("g") == "" && widget("v") == nil)
  }

  @Test mutating func `a refused version is not tried again while its folder is missing`() throws {
    try beginWithGuest()
    try takeKind()
    try edit("a", "v: {kind: k}, v2: {kind: k}", kinds: ["k", "taken"])
    tellNews()
    lose()
    let last = machine.daemon.links.generations
    try giveKind()
    pass(.seconds(5))
    #expect(machine.daemon.links.generations == last && widget("v2") == nil)
    #expect(error("v").contains("put the file or folder back by") && widget("v")?.isStale == true)
    // The same file is back.
    let file = try read("a", "v: {kind: k}, v2: {kind: k}", kinds: ["k", "taken"])
    run(machine.found(.bundle(file, digest: digest), in: "/b/x", at: time))
    #expect(widget("v2") != nil && widget("bundle/a")?.data["state"] == .string("running"))
    pass(limit * 2)
    #expect(widget("v2") != nil)
  }

  /// The folder comes back with another id in its file, but the daemon refuses the file.
  @Test mutating func `the error of a missing folder ends although the heir is refused`() throws {
    asksForData = true
    try beginWithGuest()
    lose()
    pass(.seconds(5))
    try takeKind()
    try edit("c", "v: {kind: k}", kinds: ["k", "taken"])
    pass(limit * 2)
    #expect(state("v") == "bundle/a stale " && error("v") == "" && error("g") == "")
    try giveKind()
    pass(.seconds(2))
    #expect(state("v") == "bundle/c fresh ")
  }

  @Test mutating func `so does the error of a folder that an earlier host had`() throws {
    try beginWithGuest()
    try restart { try $0.takeKind() }
    #expect(error("v").contains("put the file or folder back by"))
    try edit("c", "v: {kind: k}", kinds: ["k", "taken"])
    #expect(state("v") == "bundle/a stale " && error("v") == "")
  }

  /// The daemon is away when the id changes and the folder gets another name. It then still has the
  /// bundle with the former id in the former folder.
  @Test mutating func `a bundle that was handed over while the daemon was away is not missing`()
    throws
  {
    try begin("w: {kind: k}")
    try loseDaemon()
    try edit("b", "v: {kind: j}", kinds: ["j"])
    run(machine.found(nil, in: "/b/x", absence: .missing, at: time))
    try edit("b", "w: {kind: j}", kinds: ["j"], in: "/b/y")
    #expect(reports.count { $0.contains("has no bundle file") } == 1)
    try regainDaemon()
    #expect(reports.count { $0.contains("has no bundle file") } == 1)
    #expect(error("w").contains("bundle b gives this widget another kind"))
    pass(limit * 2)
    #expect(state("w") == "bundle/b fresh " && widget("w")?.kind.rawValue == "j")
    #expect(widget("bundle/a") == nil && kept.count == 1 && machine.nextDeadline == nil)
  }

  /// The file drops widget `w`, gets a mistake perhaps, and goes.
  @Test(
    arguments: [.missing, .unavailable("/b does not exist")] as [HostState.Absence], [true, false])
  mutating func `a widget that waits for its removal stays while the folder is missing`(
    absence: HostState.Absence, hasMistake: Bool
  ) throws {
    try begin("w: {kind: k}, v: {kind: k}")
    tellNews()
    try edit("a", "v: {kind: k}")
    pass(.seconds(10))
    if hasMistake {
      let mistake = "/b/x/bundle.yaml:1:1: wrong"
      run(machine.found(.broken(problem: mistake, digest: 99), in: "/b/x", at: time))
      pass(limit)
    }
    lose(absence)
    // Its time would be over now.
    pass(limit - .seconds(1))
    #expect(state("w") == "bundle/a stale a user's" && daemon.lost.isEmpty)
    try edit("a", "w: {kind: k}, v: {kind: k}")
    pass(limit * 2)
    #expect(state("w") == "bundle/a fresh a user's" && error("w") == "" && error("v") == "")
  }

  @Test mutating func `a widget that waits for its removal goes with its missing bundle`() throws {
    try begin("w: {kind: k}, v: {kind: k}")
    tellNews()
    try edit("a", "v: {kind: k}")
    pass(.seconds(20))
    lose()
    for seconds in [0, 15] {
      pass(.seconds(seconds))
      #expect(error("w").contains("; undo that by 1970-01-01T00:00:50Z, or"))
      #expect(error("v").contains("put the file or folder back by 1970-01-01T00:00:50Z, or"))
    }
    pass(.seconds(15) - .milliseconds(1))
    #expect(state("w") == "bundle/a stale a user's" && daemon.lost.isEmpty)
    pass(.milliseconds(1))
    #expect(widget("w") == nil && widget("v") == nil && machine.nextDeadline == nil)
  }

  /// Widget `w` has the promise to stay for 30 seconds after the removal of widget `x`.
  @Test(arguments: [false, true])
  mutating func `a missing bundle stays as long as its widget that waits for its removal`(
    isRestarted: Bool
  ) throws {
    let kinds = ["k", "l"]
    try edit("b", "u: {kind: j}", kinds: ["j"], in: "/b/y")
    try begin("w: {kind: k}, x: {kind: k}, v: {kind: l}", kinds: kinds, valued: ["w", "x"])
    tellNews()
    try edit("a", "x: {kind: k}, v: {kind: l}", kinds: kinds)
    pass(.seconds(20))
    try edit("a", "v: {kind: l}", kinds: kinds)
    try edit("b", "u: {kind: j}, w: {kind: k}, x: {kind: j}", kinds: ["j"], in: "/b/y")
    pass(.seconds(11))
    #expect(error("w").contains("; undo that by 1970-01-01T00:01:20Z, or"))
    lose()
    for id in ["w", "x"] { #expect(error(id).contains("; undo that by 1970-01-01T00:01:20Z, or")) }
    for _ in 0..<(isRestarted ? 2 : 0) {
      try restart {
        try $0.edit("b", "u: {kind: j}, w: {kind: k}, x: {kind: j}", kinds: ["j"], in: "/b/y")
      }
    }
    #expect(error("v").contains("put the file or folder back by 1970-01-01T00:01:20Z, or"))
    pass(.seconds(49) - .milliseconds(1))
    #expect(state("w") == "bundle/a stale a user's" && daemon.lost.isEmpty)
    pass(.milliseconds(1))
    #expect(widget("v") == nil && widget("bundle/a") == nil)
  }

  /// The first look into the folders comes before the daemon's answer.
  @Test mutating func `old marks of removals can go when the host knows the daemon's bundles`() {
    run(machine.looked(at: time))
    #expect(confirmations == 0)
    run(machine.start(at: time))
    #expect(confirmations == 1)
  }

  /// Nobody knows the file of the bundle any more.
  @Test mutating func `the log of a removal after a restart has the values of events`() throws {
    try begin("v: {kind: k}", valued: [])
    daemon.count(try #require(WidgetID("v")))
    lose()
    restart { _ in }
    pass(limit)
    #expect(widget("v") == nil && widget("bundle/a") == nil)
    let words =
      "bundle a removed: 1 widget, with data that users or actions had set: v data.n = "
      + "\"an event's\""
    #expect(notes.last == words)
  }

  /// Widget `w` has a kind of others.
  @Test(arguments: [false, true])
  mutating func `the log of a removal has the values on all widgets of the bundle, once`(
    isRestarted: Bool
  ) throws {
    try begin("w: {kind: note}, v: {kind: k}")
    tellNews()
    lose()
    if isRestarted { restart { _ in } }
    pass(limit)
    #expect(widget("w") == nil && widget("v") == nil)
    #expect(notes.last == "bundle a removed: 2 widgets")
    #expect(kept.count == 1)
    #expect(kept[0].contains("bundle a: widget w is removed, and with it the value of data.n"))
  }

  /// The file had a mistake before.
  @Test mutating func `the error of a widget that waits has the age of the wait`() throws {
    try begin("w: {kind: k}, v: {kind: k}")
    run(machine.found(.broken(problem: "wrong", digest: 99), in: "/b/x", at: time))
    pass(.seconds(5))
    let start = time.wall
    try edit("a", "v: {kind: k}")
    #expect(widget("w")?.error?.since == start)
    pass(.seconds(5))
    run(machine.found(.broken(problem: "wrong", digest: 98), in: "/b/x", at: time))
    pass(limit)
    #expect(widget("w")?.error?.since == start)
  }

  @Test(arguments: [true, false])
  mutating func `a time that stands still because of the file is not shown, and begins again`(
    isMistake: Bool
  ) throws {
    func remarks() -> String { "\(widget("bundle/a")?.data["remarks"] ?? .null)" }
    try begin("w: {kind: k}, v: {kind: k}")
    tellNews()
    try edit("a", "v: {kind: k}")
    pass(.seconds(10))
    if isMistake {
      run(machine.found(.broken(problem: "wrong", digest: 99), in: "/b/x", at: time))
    } else {
      lose(.unavailable("/b does not exist"))
    }
    let before = updates.count
    for _ in 0..<3 {
      #expect(error("w").contains("; undo that, or declare the widget"))
      #expect(remarks().contains("; undo that, or declare the widget"))
      pass(limit)
    }
    #expect(updates.count == before)
    try edit("a", "v: {kind: k}, v2: {kind: k}")
    for words in [error("w"), remarks()] {
      #expect(words.contains("; undo that by 1970-01-01T00:02:10Z, or"))
    }
    pass(limit - .seconds(1))
    #expect(state("w") == "bundle/a stale a user's")
    pass(.seconds(1))
    #expect(widget("w") == nil)
  }

  @Test mutating func `a file that gets a mistake again and again does not keep a widget`() throws {
    try begin("w: {kind: k}, v: {kind: k}")
    tellNews()
    try edit("a", "v: {kind: k}")
    for round in 1...4 {
      pass(.seconds(10))
      run(machine.found(.broken(problem: "wrong", digest: 99), in: "/b/x", at: time))
      pass(limit)
      try edit("a", "v: {kind: k}, v\(round): {kind: k}")
      #expect((widget("w") != nil) == (round < 4))
      // The first mistake gives the whole time again.
      let words = ["01:10", "01:40", "02:10"].map { "; undo that by 1970-01-01T00:\($0)Z, or" }
      if round < 4 { #expect(error("w").contains(words[round - 1])) }
    }
    #expect(kept.count == 1)
  }

  // MARK: Kinds of others

  /// Widget `p` of a user has the kind `j` of a program, which has failed.
  private mutating func beginWithProgram() throws {
    let (id, kind) = (try #require(WidgetID("p")), try #require(KindName("j")))
    daemon.kinds[kind] = "stranger"
    daemon.put(id, kind, set: "mine")
    let failure = WidgetError(reason: BundleInstance.sourceFailed, message: "no answer")
    _ = daemon.answer(.update(id, WidgetPatch(error: .some(failure)), provider: ""))
    // Nobody hears of it.
    daemon.news = []
  }

  /// Bundle `b` declares the kind of a program. It is removed before the daemon has answered, or
  /// after the program has taken the kind.
  @Test(arguments: [true, false])
  mutating func `a removed bundle leaves widgets alone whose kind a program has`(hadKind: Bool)
    throws
  {
    func editB(_ tests: inout HandOverTests) throws {
      try tests.edit("b", "q: {kind: j}", kinds: ["j"], in: "/b/y")
    }
    if hadKind { try editB(&self) }
    try beginWithGuest()
    try loseDaemon()
    try beginWithProgram()
    if !hadKind { try editB(&self) }
    if !hadKind { run(machine.found(nil, in: "/b/y", absence: .removed, at: time)) }
    try regainDaemon("a")
    if hadKind {
      let session = try #require(sessions["bundle/b"])
      let refusal = daemon.register([try #require(KindName("j"))], of: "bundle/b")
      run(machine.handle(.sessionEnded(session, refusal), at: time))
      run(machine.found(nil, in: "/b/y", absence: .removed, at: time))
    }
    pass(.seconds(2))
    #expect(widget("q") == nil && widget("bundle/b") == nil)
    #expect(state("p") == "mine fresh " && error("p") == "no answer")
  }

  /// The folder of bundle `a` goes while no host runs.
  @Test mutating func `a missing bundle that the daemon always refused has no kinds`() throws {
    try beginWithProgram()
    try edit("a", "v: {kind: j}", kinds: ["j"])
    run(machine.start(at: time))
    restart { _ in }
    #expect(reports.contains { $0.hasPrefix("bundle a: the folder /b/x has no bundle file") })
    #expect(state("p") == "mine fresh " && error("p") == "no answer")
    pass(limit)
    #expect(widget("bundle/a") == nil)
    #expect(state("p") == "mine fresh " && error("p") == "no answer")
  }
}
