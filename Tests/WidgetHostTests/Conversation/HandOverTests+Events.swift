import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

// Values that events and actions have set. The daemon records no owner of them, so it does not name
// them when a declaration removes their widget.
extension HandOverTests {
  private static let loss =
    "bundle a: widget w is removed, and with it the value of data.n, \"an event's\", which was set by"
    + " an event or an action"

  /// Bundle `a` runs, and an event has set a value on widget `w`.
  private mutating func beginCounting() throws {
    try begin("w: {kind: k}, v: {kind: k}", valued: [])
    daemon.count(try #require(WidgetID("w")))
  }

  @Test mutating func `a widget with a value of an event stays for a while, and the log names it`()
    throws
  {
    try beginCounting()
    try edit("a", "v: {kind: k}")
    #expect(state("w") == "bundle/a stale an event's" && kept.isEmpty)
    let words = "it is removed with the values that users, events or actions have set: data.n"
    #expect(widget("w")?.error?.message.hasSuffix(words) == true)
    pass(limit)
    #expect(widget("w") == nil && kept == [HandOverTests.loss])
  }

  @Test mutating func `the log and the bundle's widget have the numbers of dropped events`()
    throws
  {
    try begin("w: {kind: k}, v: {kind: k}", valued: [])
    let session = try #require(sessions["bundle/a"])
    run(machine.handle(.session(session, .missed(first: 31, last: 47)), at: time))
    // The daemon sends it again if the acknowledgement was lost.
    run(machine.handle(.session(session, .missed(first: 31, last: 47)), at: time))
    run(machine.handle(.session(session, .missed(first: 50, last: 50)), at: time))
    let remarks = [HostState.dropRemark(31...47), HostState.dropRemark(50...50)]
    #expect(remarks[0].hasPrefix("events 31 to 47 (at most 17) were dropped before the bundle got"))
    #expect(remarks[1].hasPrefix("event 50 was dropped before the bundle got it"))
    #expect(reports.filter { $0.contains("dropped") } == remarks.map { "bundle a: \($0)" })
    guard case .list(let shown)? = widget("bundle/a")?.data["remarks"] else {
      Issue.record("no remarks")
      return
    }
    #expect(Array(shown.prefix(2)) == remarks.map { Value.string($0) })
    func drop(_ first: Int64, _ last: Int64) -> Value {
      .map(["first": .int(first), "last": .int(last)])
    }
    #expect(widget("bundle/a")?.data["droppedEvents"] == .list([drop(31, 47), drop(50, 50)]))
    // In another epoch, the numbers belong to other events.
    run(machine.handle(.session(session, .opened(epoch: 7)), at: time))
    #expect(widget("bundle/a")?.data["droppedEvents"] == .list([]))
  }

  @Test mutating func `a widget without such a value is removed at once`() throws {
    try begin("w: {kind: k}, v: {kind: k}", valued: [])
    try edit("a", "v: {kind: k}")
    #expect(widget("w") == nil && kept.isEmpty)
  }

  @Test mutating func `an installed version removes the widget at once, and the log names it`()
    throws
  {
    try beginCounting()
    try edit("a", "v: {kind: k}", isInstalled: true)
    #expect(widget("w") == nil && kept == [HandOverTests.loss])
  }

  /// The file drops the kind, too, so only the former version knows the sources of the kind.
  @Test mutating func `another bundle takes a widget with a value of an event over`() throws {
    try beginCounting()
    try edit("a", "u: {kind: j}", kinds: ["j"])
    #expect(state("w") == "bundle/a stale an event's")
    try edit("b", "w: {kind: k}", in: "/b/y")
    #expect(state("w") == "bundle/b fresh an event's")
    pass(limit * 2)
    #expect(state("w") == "bundle/b fresh an event's" && kept.isEmpty)
  }

  /// The data of `bundle/a` has the data of a kind that only the file of an earlier host had.
  @Test(arguments: ["a", "b"], [true, false])
  mutating func `a host that starts after the edit knows the values of kinds that it lacks`(
    id: String, hasKind: Bool
  ) throws {
    try beginCounting()
    try restart { try $0.edit(id, "u: {kind: j}", kinds: hasKind ? ["k", "j"] : ["j"]) }
    #expect(state("w") == "bundle/a stale an event's")
    pass(limit)
    #expect(widget("w") == nil && kept.count == 1)
    #expect(kept.first?.hasPrefix("bundle \(id): ") == true)
    #expect(kept.first?.dropFirst(10) == HandOverTests.loss.dropFirst(10))
  }

  @Test mutating func `so do further hosts while the widget waits`() throws {
    try beginCounting()
    try edit("a", "u: {kind: j}", kinds: ["j"])
    for _ in 0..<2 {
      try restart { try $0.edit("a", "u: {kind: j}", kinds: ["j"]) }
      #expect(state("w") == "bundle/a stale an event's")
    }
    pass(limit)
    #expect(widget("w") == nil && kept == [HandOverTests.loss])
  }

  /// The widget waits, and the file may lack its kind.
  @Test(arguments: [true, false])
  mutating func `the line about a removed bundle names the value of a widget that waits`(
    hasKind: Bool
  ) throws {
    try beginCounting()
    try edit("a", "u: {kind: j}", kinds: hasKind ? ["j", "k"] : ["j"])
    #expect(state("w") == "bundle/a stale an event's")
    run(machine.found(nil, in: "/b/x", absence: .removed, at: time))
    #expect(widget("w") == nil)
    let line =
      "bundle a removed: 2 widgets, with data that users or actions had set: w data.n = "
      + "\"an event's\""
    #expect(notes.contains(line))
  }

  @Test mutating func `edits while the daemon is away keep the value of a dropped kind`() throws {
    try beginCounting()
    try loseDaemon()
    try edit("a", "u: {kind: j}", kinds: ["j"])
    try edit("a", "t: {kind: i}", kinds: ["i"])
    func kinds() -> [String] {
      guard case .map(let kinds)? = widget("bundle/a")?.data["settable"] else { return [] }
      return kinds.keys
    }
    try regainDaemon()
    #expect(state("w") == "bundle/a stale an event's" && kinds() == ["i", "k"])
    pass(limit)
    #expect(widget("w") == nil && kept == [HandOverTests.loss] && kinds() == ["i"])
  }

  private static let replaced =
    "widget w: the file declares data.n now and has replaced its value, \"an event's\", which was set"
    + " by an event, an action or a source"

  /// The daemon still has the owners that the last host has left.
  @Test mutating func `the log names a value that an edit without a host has replaced`() throws {
    try beginCounting()
    try restart { try $0.edit("a", "w: {kind: k, data: {n: mine}}, v: {kind: k}") }
    #expect(reports.contains("bundle a: \(HandOverTests.replaced)"))
  }

  /// The version with the value has another id, or is the first one that has the widget again.
  @Test(arguments: [["b"], ["b", "b"], ["a", "a"]])
  mutating func `the log and the bundle's widget name a value that the file has replaced`(
    ids: [String]
  ) throws {
    try begin("w: {kind: k}, v: {kind: j}", kinds: ["k", "j"], valued: [])
    daemon.count(try #require(WidgetID("w")))
    let id = try #require(ids.last)
    for former in ids.dropLast() { try edit(former, "v: {kind: j}", kinds: ["j"]) }
    try edit(id, "v: {kind: j}, w: {kind: k, data: {n: mine}}", kinds: ["k", "j"])
    #expect(reports.filter { $0 == "bundle \(id): \(HandOverTests.replaced)" }.count == 1)
    guard case .list(let remarks)? = widget("bundle/\(id)")?.data["remarks"] else {
      Issue.record("no remarks")
      return
    }
    #expect(remarks.contains(.string(HandOverTests.replaced)))
  }

  @Test mutating func `a value that a source sets does not keep its widget`() throws {
    func bundle(_ widgets: String) throws -> Bundle {
      try BundleReader.read(
        """
        bundle: a
        format: 1
        version: 1.0.0
        kinds:
          k:
            data: {n: ''}
            sources: {s: {value: '"x"', set: {n: result}}}
            content: {label: x}
        widgets: {\(widgets)}
        """)
    }
    run(
      machine.found(
        .bundle(try bundle("w: {kind: k}, v: {kind: k}"), digest: 1), in: "/b/x", at: time))
    run(machine.start(at: time))
    daemon.count(try #require(WidgetID("w")))
    run(machine.found(.bundle(try bundle("v: {kind: k}"), digest: 2), in: "/b/x", at: time))
    #expect(widget("w") == nil && kept.isEmpty)
  }

  // MARK: Events of widgets that wait

  private func acting(_ widgets: String) throws -> Bundle {
    try BundleReader.read(
      """
      bundle: a
      format: 1
      version: 1.0.0
      permissions: {commands: [x]}
      kinds:
        k:
          data: {n: '', m: 0}
          actions:
            go: [{set: {m: "=size(bundle.id) + 6"}}]
            long: {optimistic: {m: "99"}, do: [{command: [x]}]}
          on: {press: [{do: go}], hold: [{do: long}]}
          content: {label: x}
      widgets: {\(widgets)}
      """)
  }

  /// The file drops widget `w`, which has a value of an event, or has it again.
  private mutating func act(_ widgets: String) throws {
    digest += 1
    run(machine.found(.bundle(try acting(widgets), digest: digest), in: "/b/x", at: time))
    tellNews()
  }

  private mutating func send(_ name: String, _ sequence: UInt64) throws {
    let session = try #require(sessions["bundle/a"])
    let event = Event(
      sequence: sequence, widgetID: try #require(WidgetID("w")), nodeID: "", name: name,
      payload: [:], time: time.wall, origin: EventOrigin(uid: 0, client: ""), wantsOutcome: true)
    run(machine.handle(.session(session, .event(event)), at: time))
    tellNews()
  }

  /// A detail of a status, or of an outcome.
  private func status(_ path: [String]) -> Value? {
    var value = widget("w")?.data["status"]
    for key in path {
      guard case .map(let map)? = value else { return nil }
      value = map[key]
    }
    return value
  }

  @Test mutating func `an event of a widget that waits runs, and its sender gets the outcome`()
    throws
  {
    try act("w: {kind: k}, v: {kind: k}")
    run(machine.start(at: time))
    daemon.count(try #require(WidgetID("w")))
    tellNews()
    try act("v: {kind: k}")
    #expect(state("w") == "bundle/a stale an event's")
    try send("press", 1)
    #expect(widget("w")?.data["m"] == .int(7))
    #expect(status([BundleScope.outcomesKey, "1", "state"]) == .string("success"))
    #expect(state("w") == "bundle/a stale an event's")
    #expect(widget("w")?.error?.message.contains("no longer has this widget") == true)
    // The undo makes the widget fresh, and it keeps the value.
    try act("w: {kind: k}, v: {kind: k}")
    #expect(state("w") == "bundle/a fresh an event's" && widget("w")?.error == nil)
    #expect(widget("w")?.data["m"] == .int(7))
  }

  @Test mutating func `the removal names the value before an optimistic value`() throws {
    try act("w: {kind: k}, v: {kind: k}")
    run(machine.start(at: time))
    let (id, kind) = (try #require(WidgetID("w")), try #require(KindName("k")))
    daemon.count(id)
    daemon.put(id, kind, data: ["n": .string("an event's"), "m": .int(5)], set: "bundle/a")
    tellNews()
    try send("hold", 1)
    #expect(widget("w")?.data["m"] == .int(99))
    try act("v: {kind: k}")
    #expect(widget("w")?.data["m"] == .int(5))
    #expect(status(["long", "code"]) == .string("ABORTED"))
    #expect(status([BundleScope.outcomesKey, "1", "code"]) == .string("ABORTED"))
    #expect(reports.contains("bundle a: widget w: action long: It was interrupted; try again."))
    pass(limit)
    #expect(widget("w") == nil)
    #expect(kept.contains { $0.contains("the value of data.m, 5, ") })
    #expect(!kept.contains { $0.contains("99") })
  }
}
