import Synchronization
import Testing
import WidgetClient
import WidgetLayout
import WidgetModel
import WidgetProto
import WidgetRender
import WidgetTerminal

@testable import widgetctl

/// Inputs and toggles, and the changes of the daemon meanwhile.
extension LiveBoardTests {
  @Test func `an input outside of forms sends each change after a pause`() throws {
    var board = try Self.board([Self.widget("f", Self.form)])
    press(&board, .tab, modifiers: .shift)
    #expect(board.focus?.node == "search")
    #expect(
      type(&board, "x") == [
        .send(
          LiveEvent(
            widget: Samples.id("f"), node: "search", name: "change",
            payload: ["value": .string("x")]),
          after: .milliseconds(300))
      ])
    #expect(
      press(&board, .enter) == [
        .send(
          LiveEvent(
            widget: Samples.id("f"), node: "search", name: "submit",
            payload: ["value": .string("x")]),
          after: nil)
      ])
  }

  @Test func `a toggle flips at once, and back if the daemon refuses`() throws {
    var board = try Self.board([Self.widget("f", Self.form)])
    press(&board, .tab)
    let effects = press(&board, .character(" "))
    let event = LiveEvent(
      widget: Samples.id("f"), node: "done", name: "change", payload: ["value": .bool(true)])
    #expect(effects == [.send(event, after: nil)])
    #expect(board.panes[Samples.id("f")]?.node("done")?.properties["value"] == .bool(true))
    board.refused(event, "no")
    #expect(board.panes[Samples.id("f")]?.node("done")?.properties["value"] == .bool(false))
  }

  @Test func `a toggle whose event changes nothing returns to the daemon's value`() throws {
    let clock = Mutex(Timestamp.epoch)
    var board = try Self.board([Self.widget("f", Self.form)], now: { clock.withLock { $0 } })
    press(&board, .tab)
    press(&board, .character(" "))
    let event = LiveEvent(
      widget: Samples.id("f"), node: "done", name: "change", payload: ["value": .bool(true)])
    board.accepted(event, SendEventResponse(sequence: 1, revision: 1))
    func isOn(_ board: LiveBoard) -> Bool {
      board.panes[Samples.id("f")]?.node("done")?.properties["value"] == .bool(true)
    }
    #expect(isOn(board))
    // Other changes of the widget are not a confirmation.
    var update = WidgetUpdate(id: Samples.id("f"), revision: 2, updateTime: .epoch)
    update.content = ContentChange(
      setNodes: [Node(id: "count", type: .input, properties: ["text": .string("Number")])])
    try board.take(
      .changes(ChangeSet(fromRevision: 1, toRevision: 2, changes: [.updated(update)])))
    #expect(isOn(board))
    #expect(board.quiet == .seconds(2))
    clock.withLock { $0 = $0.advanced(by: .seconds(2)) }
    board.timeHasPassed(turningSpinners: false)
    #expect(!isOn(board))
    #expect(board.notice == "nothing changed the value of done; the switch is reverted")
    board.notice = ""
    #expect(board.quiet == nil)
  }

  @Test func `a toggle waits again, and a notice ends, if the clock is set back`() throws {
    let clock = Mutex(Timestamp.epoch)
    var board = try Self.board([Self.widget("f", Self.form)], now: { clock.withLock { $0 } })
    press(&board, .tab)
    press(&board, .character(" "))
    let event = LiveEvent(
      widget: Samples.id("f"), node: "done", name: "change", payload: ["value": .bool(true)])
    board.accepted(event, SendEventResponse(sequence: 1, revision: 1))
    func isOn(_ board: LiveBoard) -> Bool {
      board.panes[Samples.id("f")]?.node("done")?.properties["value"] == .bool(true)
    }
    clock.withLock { $0 = $0.advanced(by: .seconds(-3_600)) }
    #expect(board.quiet == .seconds(2))
    board.timeHasPassed(turningSpinners: false)
    #expect(isOn(board))
    #expect(board.notice.isEmpty && board.quiet == .seconds(2))
    clock.withLock { $0 = $0.advanced(by: .seconds(2)) }
    board.timeHasPassed(turningSpinners: false)
    #expect(!isOn(board))
    #expect(!board.notice.isEmpty)
    clock.withLock { $0 = $0.advanced(by: .seconds(-3_600)) }
    board.timeHasPassed(turningSpinners: false)
    #expect(board.notice.isEmpty && board.quiet == nil)
  }

  @Test func `a toggle whose event waits for a program falls back without another notice`() throws {
    let clock = Mutex(Timestamp.epoch)
    var board = try Self.board(
      [Self.widget("f", Self.form) { $0.isStale = true }], now: { clock.withLock { $0 } })
    var facts = ProviderFacts()
    facts.kinds[Samples.kind("k")] = RegisteredKind(
      kind: Kind(name: Samples.kind("k")), provider: "sysmon", isAttended: true)
    board.describe(facts)
    press(&board, .tab)
    press(&board, .character(" "))
    board.accepted(
      LiveEvent(
        widget: Samples.id("f"), node: "done", name: "change", payload: ["value": .bool(true)]),
      SendEventResponse(sequence: 1, revision: 1))
    let words = board.notice
    #expect(words.contains("the event is "))
    clock.withLock { $0 = $0.advanced(by: .seconds(2)) }
    board.timeHasPassed(turningSpinners: false)
    #expect(board.panes[Samples.id("f")]?.node("done")?.properties["value"] == .bool(false))
    #expect(board.notice == words)
  }

  @Test func `a change set in several parts is shown after its last part`() throws {
    var board = try Self.board([Self.widget("c", Self.counter)])
    var first = WidgetUpdate(id: Samples.id("c"), revision: 2, updateTime: .epoch)
    first.content = ContentChange(
      setNodes: [Node(id: "n", type: .label, properties: ["text": .string("forty-one")])])
    var second = WidgetUpdate(id: Samples.id("c"), revision: 3, updateTime: .epoch)
    second.setData = ["x": .int(1)]
    try board.take(
      .changes(
        ChangeSet(fromRevision: 1, toRevision: 3, changes: [.updated(first)], more: true)))
    try board.take(.changes(ChangeSet(fromRevision: 1, toRevision: 3, changes: [.updated(second)])))
    #expect(lines(board).contains { $0.contains("forty-one") })
  }

  @Test func `several changes of a widget lay out only the nodes that differ`() throws {
    let labels = (0..<20).map {
      Node(id: "l\($0)", type: .label, properties: ["text": .string("line \($0)")])
    }
    let top = Node(id: "top", type: .stack, childIDs: labels.map(\.id))
    var board = try Self.board([Self.widget("w", Content(rootID: "top", nodes: [top] + labels))])
    func update(_ text: String) -> WidgetChange {
      var update = WidgetUpdate(id: Samples.id("w"), revision: 2, updateTime: .epoch)
      update.content = ContentChange(
        setNodes: [Node(id: "l7", type: .label, properties: ["text": .string(text)])])
      return .updated(update)
    }
    try board.take(
      .changes(ChangeSet(fromRevision: 1, toRevision: 3, changes: [update("first")], more: true)))
    try board.take(
      .changes(ChangeSet(fromRevision: 1, toRevision: 3, changes: [update("second")])))
    #expect(lines(board).contains { $0.contains("second") })
    let measured = try #require(board.panes[Samples.id("w")]?.layout.measuredCount)
    #expect((1...2).contains(measured))
    // One node is added, and another one is removed.
    var change = WidgetUpdate(id: Samples.id("w"), revision: 4, updateTime: .epoch)
    let new = Node(id: "new", type: .label, properties: ["text": .string("a new line")])
    change.content = ContentChange(
      setNodes: [
        Node(id: "top", type: .stack, childIDs: labels.dropFirst().map(\.id) + ["new"]), new,
      ], removedIDs: ["l0"])
    try board.take(
      .changes(ChangeSet(fromRevision: 3, toRevision: 4, changes: [.updated(change)])))
    #expect(lines(board).contains { $0.contains("a new line") })
    #expect(!lines(board).contains { $0.contains("line 0") })
    #expect(board.panes[Samples.id("w")]?.node("l0") == nil)
  }

  @Test func `a toggle without an answer returns to its value, also while other widgets change`()
    throws
  {
    let clock = Mutex(Timestamp.epoch)
    var board = try Self.board([Self.widget("f", Self.form)], now: { clock.withLock { $0 } })
    press(&board, .tab)
    press(&board, .character(" "))
    board.accepted(
      LiveEvent(
        widget: Samples.id("f"), node: "done", name: "change", payload: ["value": .bool(true)]),
      SendEventResponse(sequence: 1, revision: 99))
    clock.withLock { $0 = $0.advanced(by: .seconds(2)) }
    board.timeHasPassed(turningSpinners: false)
    #expect(
      board.panes[Samples.id("f")]?.node("done")?.properties["value"] == .bool(false))
    board.notice = ""
    #expect(board.quiet == nil)
  }

  @Test func `a very long text is pasted at once`() throws {
    var board = try Self.board([Self.widget("f", Self.form)])
    press(&board, .tab, .tab)
    _ = board.take(.paste(String(repeating: "word ", count: 100_000)))
    #expect(board.panes[Samples.id("f")]?.draft("title").text.count == 500_000)
    #expect(lines(board).contains { $0.contains("word word") })
  }

  @Test func `two quick presses that are refused leave a toggle as it was`() throws {
    var board = try Self.board([Self.widget("f", Self.form)])
    press(&board, .tab)
    press(&board, .character(" "), .character(" "))
    for flag in [true, false] {
      board.refused(
        LiveEvent(
          widget: Samples.id("f"), node: "done", name: "change", payload: ["value": .bool(flag)]),
        "no")
    }
    #expect(board.panes[Samples.id("f")]?.node("done")?.properties["value"] == .bool(false))
  }

  @Test(arguments: [
    ("relative", 90.0, 30.001), ("relative", -90, 30), ("relative", -7_300, 3_500),
    ("relative", 200_000, 27_200.001), ("timer", 10.5, 0.501), ("timer", -10.25, 0.75),
  ])
  func `a date is drawn again when its words change`(
    style: String, distance: Double, delay: Double
  ) throws {
    let date = Node(
      id: "d", type: .date,
      properties: [
        "date": .timestamp(Timestamp.epoch.advanced(by: .seconds(distance))),
        "style": .string(style),
      ])
    let board = try Self.board([Self.widget("a", Content(rootID: "d", nodes: [date]))])
    let quiet = try #require(board.quiet)
    #expect(abs(quiet / .seconds(1) - delay) < 0.0005, "\(quiet)")
  }
}
