import Synchronization
import Testing
import WidgetClient
import WidgetLayout
import WidgetModel
import WidgetProto
import WidgetRender
import WidgetTerminal

@testable import widgetctl

/// What a dashboard shows and sends, as values: without a terminal and without a daemon.
@Suite struct LiveBoardTests {
  private static let counter = Content(
    rootID: "box",
    nodes: [
      Node(id: "box", type: .stack, childIDs: ["n", "row"]),
      Node(id: "n", type: .label, properties: ["text": .string("0")]),
      Node(
        id: "row", type: .stack, properties: ["axis": .string("horizontal")],
        childIDs: ["less", "more"]),
      Node(
        id: "less", type: .button, properties: ["text": .string("-"), "enabled": .bool(false)]),
      Node(id: "more", type: .button, properties: ["text": .string("+")]),
    ])
  static let form = Content(
    rootID: "box",
    nodes: [
      Node(id: "box", type: .stack, childIDs: ["done", "new", "search"]),
      Node(
        id: "done", type: .toggle, properties: ["text": .string("Done"), "value": .bool(false)]),
      Node(
        id: "new", type: .form, properties: ["submit": .string("Add")],
        childIDs: ["title", "count"]),
      Node(
        id: "title", type: .input,
        properties: ["name": .string("title"), "text": .string("Title")]),
      Node(
        id: "count", type: .input,
        properties: ["name": .string("count"), "mode": .string("number")]),
      Node(
        id: "search", type: .input,
        properties: ["throttle": .duration(.milliseconds(300)), "placeholder": .string("Find")]),
    ])

  static func widget(
    _ id: String, _ content: Content?, revision: Revision = 1, data: ValueMap = [:],
    change: (inout Widget) -> Void = { _ in }
  ) -> Widget {
    var widget = Widget(
      id: Samples.id(id), kind: Samples.kind("k"), family: .medium,
      position: revision == 1 ? Int64(id.utf8.count) : 1,
      data: data, createdRevision: 1, revision: revision, createTime: .epoch, updateTime: .epoch,
      content: content.map(taking))
    change(&widget)
    return widget
  }

  /// The content with the events that its controls have.
  static func taking(_ content: Content) -> Content {
    var content = content
    for index in content.nodes.indices {
      guard let type = content.nodes[index].type,
        [.button, .toggle, .input, .form].contains(type)
      else { continue }
      content.nodes[index].events = type.events.map(\.name)
    }
    return content
  }

  static func board(
    _ widgets: [Widget], columns: Int = 80, rows: Int = 24,
    now: @escaping @Sendable () -> Timestamp = { .epoch }
  ) throws -> LiveBoard {
    var board = LiveBoard(
      options: LiveOptions(metrics: .cells(), now: now),
      size: TerminalSize(columns: columns, rows: rows), look: CellLook(usesColor: false))
    try board.take(.opened(WatchOpened(subscriptionID: 1, epoch: 1, revision: 1)))
    try board.take(.snapshot(SnapshotChunk(widgets: widgets)))
    try board.take(.synced(WatchSynced(revision: 1)))
    return board
  }

  func lines(_ board: LiveBoard) -> [String] {
    var board = board
    return PlainTextEncoder.text(board.picture().grid).split(
      separator: "\n", omittingEmptySubsequences: false
    ).map(String.init)
  }

  @discardableResult
  func press(
    _ board: inout LiveBoard, _ keys: TerminalKey..., modifiers: KeyModifiers = []
  ) -> [LiveBoard.Effect] {
    keys.flatMap { board.take(.key($0, modifiers)) }
  }

  func type(_ board: inout LiveBoard, _ text: String) -> [LiveBoard.Effect] {
    text.flatMap { board.take(.key(.character($0), [])) }
  }

  @Test func `Tab goes to what can be pressed, and Enter presses it`() throws {
    var board = try Self.board([Self.widget("c", Self.counter)])
    press(&board, .tab)
    #expect(board.focus == LiveFocus(widget: Samples.id("c"), node: "more", kind: .control))
    #expect(
      press(&board, .enter) == [
        .send(LiveEvent(widget: Samples.id("c"), node: "more", name: "press"), after: nil)
      ])
  }

  @Test func `the focus stays where it is when what is before it can be pressed too`() throws {
    var board = try Self.board([
      Self.widget("c", Self.counter), Self.widget("ff", Self.form),
    ])
    press(&board, .tab)
    var less = try #require(Self.taking(Self.counter)["less"])
    less.properties["enabled"] = .bool(true)
    var update = WidgetUpdate(id: Samples.id("c"), revision: 2, updateTime: .epoch)
    update.content = ContentChange(setNodes: [less])
    try board.take(
      .changes(ChangeSet(fromRevision: 1, toRevision: 2, changes: [.updated(update)])))
    #expect(board.focus?.node == "more")
    press(&board, .tab)
    #expect(board.focus == LiveFocus(widget: Samples.id("ff"), node: "done", kind: .control))
    press(&board, .tab, modifiers: .shift)
    press(&board, .tab, modifiers: .shift)
    #expect(board.focus?.node == "less")
  }

  @Test func `a disabled button takes neither focus nor click`() throws {
    var board = try Self.board([Self.widget("c", Self.counter)])
    let picture = lines(board)
    let row = try #require(picture.firstIndex { $0.contains("( - )") })
    let column = try #require(picture[row].firstIndex(of: "-"))
    let event = MouseEvent(
      action: .press(.left),
      column: picture[row].distance(from: picture[row].startIndex, to: column),
      row: row)
    #expect(board.take(.mouse(event)) == [])
    #expect(board.focus == nil)
    #expect(!board.targets.contains { $0.focus.node == "less" })
  }

  @Test func `a button without events takes no focus`() throws {
    var board = try Self.board([
      Self.widget("c", Self.counter) { $0.content?.nodes[4].events = [] }
    ])
    press(&board, .tab)
    #expect(board.focus == nil)
  }

  @Test func `a row that can be pressed takes focus and clicks`() throws {
    var board = try Self.board([
      Self.widget("c", Self.counter) { $0.content?.nodes[0].events = ["press"] }
    ])
    press(&board, .tab)
    #expect(
      press(&board, .enter) == [
        .send(LiveEvent(widget: Samples.id("c"), node: "box", name: "press"), after: nil)
      ])
  }

  @Test func `a row of a table that can be pressed takes focus and clicks`() throws {
    let table = Content(
      rootID: "t",
      nodes: [
        Node(id: "t", type: .table, childIDs: ["row"]),
        Node(id: "row", type: .stack, childIDs: ["a"], events: ["press"]),
        Node(id: "a", type: .label, properties: ["text": .string("one")]),
      ])
    var board = try Self.board([Self.widget("c", table)])
    press(&board, .tab)
    #expect(
      press(&board, .enter) == [
        .send(LiveEvent(widget: Samples.id("c"), node: "row", name: "press"), after: nil)
      ])
  }

  @Test func `another theme is taken at once`() throws {
    var board = try Self.board([Self.widget("c", Self.counter)])
    let theme = Theme.standard.overridden(by: ["offset.basic": .offset(8)])
    try board.take(.theme(ThemeState(values: theme.values)))
    #expect(board.look.theme == theme)
    #expect(board.options.metrics.theme == theme)
  }

  @Test func `a click presses what is under the pointer`() throws {
    var board = try Self.board([Self.widget("c", Self.counter)])
    let picture = lines(board)
    let row = try #require(picture.firstIndex { $0.contains("[ + ]") })
    let column = try #require(picture[row].firstIndex(of: "+"))
    let event = MouseEvent(
      action: .press(.left),
      column: picture[row].distance(from: picture[row].startIndex, to: column),
      row: row)
    #expect(
      board.take(.mouse(event)) == [
        .send(LiveEvent(widget: Samples.id("c"), node: "more", name: "press"), after: nil)
      ])
  }

  @Test func `the keys scroll on a low screen`() throws {
    var board = try Self.board([Self.widget("c", Self.counter)], rows: 6)
    press(&board, .character("?"))
    let first = lines(board)
    press(&board, .pageDown)
    #expect(lines(board) != first)
    for _ in 0..<100 { press(&board, .down) }
    let last = lines(board)
    press(&board, .down)
    #expect(lines(board) == last)
    for _ in 0..<200 { press(&board, .up) }
    #expect(lines(board) == first)
  }

  @Test func `letters with Ctrl or Alt are not commands`() throws {
    var board = try Self.board([Self.widget("c", Self.counter)])
    for modifiers in [KeyModifiers.control, .alt] {
      for key in "qwpi/?r" {
        #expect(press(&board, .character(key), modifiers: modifiers) == [], "\(key)")
      }
    }
    #expect(board.overlay == nil && !board.isFiltering && !board.look.isPrivate)
  }

  @Test func `an input outside of forms sends each change, after its rest`() throws {
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
    // Other changes of the widget confirm nothing.
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
    // A node comes and another one goes.
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

  @Test func `a toggle falls back though only other widgets change`() throws {
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

  func status(_ board: LiveBoard) -> String? {
    var board = board
    let grid = board.picture().grid
    return PlainTextEncoder.text(grid).split(separator: "\n", omittingEmptySubsequences: false)
      .map(String.init).dropLast().last
  }

  @Test func `a narrow status line keeps the help and drops the rest`() throws {
    let widgets = (0..<9).map { Self.widget("w\($0)", Self.counter) }
    for columns in [10, 16, 24, 40, 80] {
      var board = try Self.board(widgets, columns: columns, rows: 8)
      #expect(status(board)?.contains("? keys") == true, "\(columns)")
      #expect(status(board)?.contains("PgDn more") == (columns >= 40), "\(columns)")
      press(&board, .end)
      #expect(status(board)?.contains("PgDn more") == false)
      board.notice = "a long word of what has gone wrong"
      #expect(lines(board).contains { $0.hasPrefix("● a long") })
    }
    var board = try Self.board([Self.widget("f", Self.form)])
    press(&board, .tab, .tab)
    #expect(status(board)?.hasSuffix("Enter submit  Esc leave") == true)
  }

  @Test func `keys that type do not command`() throws {
    var board = try Self.board([Self.widget("f", Self.form)])
    press(&board, .tab, .tab)
    #expect(type(&board, "q?/ir") == [])
    #expect(board.overlay == nil)
    press(&board, .escape)
    #expect(type(&board, "q") == [.quit])
    #expect(press(&board, .character("c"), modifiers: .control) == [.quit])
    #expect(press(&board, .character("z"), modifiers: .control) == [.suspend])
  }

  @Test func `a failed and a stale widget are marked without help of their content`() throws {
    let failed = Self.widget("c", Self.counter) { widget in
      widget.isStale = true
      widget.error = WidgetError(reason: "SOURCE_FAILED", message: "no\u{1B}[2Jfile")
    }
    let board = try Self.board([failed])
    let picture = lines(board)
    #expect(picture[0].contains("c failed stale"))
    #expect(picture.contains { $0.contains("! no") })
    #expect(picture.contains { $0.contains("1 stale  1 failed") })
    #expect(!picture.joined().contains("\u{1B}"))
  }

  @Test func `a kind that is not registered is marked in the title, with its age below`() throws {
    let widget = Samples.unregistered { $0.updateTime = Samples.time(1000) }
    let clock = Mutex(Samples.time(1120))
    var board = try Self.board([widget], now: { clock.withLock { $0 } })
    var picture = lines(board)
    #expect(picture[0].contains("w unregistered"))
    #expect(picture.joined().contains("is not registered"))
    #expect(picture.contains { $0.contains("for 2m") })
    #expect(picture.count { $0.contains("registered") } == 2)
    #expect(board.quiet == .seconds(60))
    clock.withLock { $0 = Samples.time(1180) }
    board.timeHasPassed(turningSpinners: false)
    #expect(lines(board).contains { $0.contains("for 3m") })
    // The kind is registered.
    var update = WidgetUpdate(id: widget.id, revision: 2, updateTime: Samples.time(1180))
    update.content = ContentChange(
      replaces: true, rootID: "l",
      setNodes: [Node(id: "l", type: .label, properties: ["text": .string("ticks")])])
    try board.take(
      .changes(ChangeSet(fromRevision: 1, toRevision: 2, changes: [.updated(update)])))
    picture = lines(board)
    #expect(picture.joined().contains("ticks") && !picture.joined().contains("registered"))
    #expect(board.quiet == nil)
  }

  @Test func `without the daemon all widgets are stale, until it is back`() throws {
    let ids = ["c", "d", "e"]
    let widgets = ids.map { id in
      Self.widget(id, Self.counter) { $0.isStale = id == "c" }
    }
    var board = try Self.board(widgets)
    func stale() -> (titles: Int, count: Bool) {
      let picture = lines(board)
      return (
        ids.count { id in picture.contains { $0.contains("\(id) stale") } },
        picture.contains { $0.contains("\(board.mirror.isConnected ? 1 : 3) stale") }
      )
    }
    #expect(stale() == (1, true))
    try board.take(.disconnected(.closed))
    #expect(stale() == (3, true))
    try board.take(.opened(WatchOpened(subscriptionID: 1, epoch: 1, revision: 1)))
    #expect(stale() == (1, true))
  }

  @Test func `a widget without content shows its data`() throws {
    let board = try Self.board([Self.widget("d", nil, data: ["n": .int(3), "text": .string("x")])])
    #expect(lines(board).contains { $0.contains("n: 3") })
  }

  @Test func `a filter leaves out widgets with other names`() throws {
    var board = try Self.board([Self.widget("c", Self.counter), Self.widget("ff", Self.form)])
    press(&board, .character("/"))
    _ = type(&board, "ff")
    #expect(board.order.map(\.rawValue) == ["ff"])
    press(&board, .enter)
    #expect(board.order.map(\.rawValue) == ["ff"])
    press(&board, .escape)
    #expect(board.order.map(\.rawValue) == ["c", "ff"])
  }

  @Test(arguments: [(20, 5), (38, 10), (79, 24), (80, 24), (200, 60), (1, 1), (3, 2)])
  func `panes keep apart and on the page, at every size`(columns: Int, rows: Int) throws {
    let widgets = (0..<9).map { index in
      Self.widget(
        "w\(String(repeating: "x", count: index))",
        index % 2 == 0 ? Self.counter : Self.form
      ) { $0.family = [.small, .large, .extraLarge][index % 3] }
    }
    var board = try Self.board(widgets, columns: 100, rows: 30)
    board.resize(TerminalSize(columns: columns, rows: rows))
    #expect(board.frames.count == 9)
    for (id, frame) in board.frames {
      #expect(frame.x >= 0 && frame.endX <= columns, "\(id)")
      for (other, frame2) in board.frames where other != id {
        #expect(frame.intersection(frame2).isEmpty, "\(id) \(other)")
      }
    }
    let grid = board.picture().grid
    #expect(grid.width == columns && grid.height == rows)
  }

  @Test func `Tab goes on from the control that Esc left`() throws {
    var board = try Self.board([Self.widget("f", Self.form)])
    _ = press(&board, .tab, .tab, .escape)
    #expect(board.focus == nil)
    _ = press(&board, .tab)
    #expect(board.focus?.node == "count")
  }

  @Test(arguments: [
    ("bundle", "running", true, true), ("bundle", "stopped", true, true),
    ("bundle", "failing", false, false), ("widgetd-host", "running", false, true),
    ("widgetd-host", "running", true, false), ("widgetd-host", "stopped", true, false),
    ("clock", "running", false, false),
  ])
  func `while a host is away, its bundles stand well and its own widget does not`(
    kind: String, state: String, isStale: Bool, isWell: Bool
  ) {
    let widget = Widget(
      id: Samples.id("w"), kind: Samples.kind(kind), data: ["state": .string(state)],
      isStale: isStale)
    #expect(widget.isStandingWell == isWell)
  }

  @Test func `details reach every widget, also those without controls`() throws {
    var board = try Self.board([Self.widget("a", Self.counter), Self.widget("bb", Self.form)])
    _ = press(&board, .character("i"))
    #expect(board.overlay == .details(Samples.id("a"), 0), "the first one, without a focus")
    _ = press(&board, .tab)
    #expect(board.overlay == .details(Samples.id("bb"), 0))
    #expect(press(&board, .character("r")) == [.refresh(Samples.id("bb"))])
    _ = press(&board, .tab)
    #expect(board.overlay == .details(Samples.id("a"), 0))
    _ = board.take(.key(.tab, [.shift]))
    #expect(board.overlay == .details(Samples.id("bb"), 0))
  }

  @Test func `i and r mean the widget whose control Esc left`() throws {
    var board = try Self.board([Self.widget("a", Self.counter), Self.widget("bb", Self.form)])
    for _ in 0..<3 { _ = press(&board, .tab) }
    let id = try #require(board.focus?.widget)
    _ = press(&board, .escape)
    #expect(press(&board, .character("r")) == [.refresh(id)])
    _ = press(&board, .character("i"))
    #expect(board.overlay == .details(id, 0))
    // Beside an overlay, the status line has the overlay's keys.
    let status = try #require(lines(board).last { !$0.isEmpty })
    #expect(status.contains("Esc close") && !status.contains("q quit"))
  }

  @Test(arguments: [TerminalKey.character("?"), .character("i")])
  func `an overlay scrolls to its last page, and up from there at once`(opens: TerminalKey) throws {
    var board = try Self.board([Self.widget("a", Self.counter)], rows: 10)
    _ = press(&board, opens)
    for _ in 0..<40 { _ = press(&board, .pageDown) }
    let end = lines(board)
    _ = press(&board, .up)
    #expect(lines(board) != end)
    _ = press(&board, .down)
    #expect(lines(board) == end)
  }

  @Test func `a node whose token the theme lacks is marked in the pane`() throws {
    func text(_ color: String) throws -> String {
      let content = Content(
        rootID: "n",
        nodes: [
          Node(
            id: "n", type: .label,
            properties: ["text": .string("words"), "color": .string(color)])
        ])
      var board = try Self.board([Self.widget("a", content)])
      return LiveSamples.lines(&board).joined()
    }
    #expect(try text("color.nope").contains("!"))
    #expect(try !text("color.primary").contains("!"))
  }

  @Test func `a long reason is wrapped in the details, and a very long one is cut`() throws {
    func lines(_ message: String, rows: Int = 24) throws -> [String] {
      var board = try Self.board(
        [
          Self.widget("c", Self.counter) {
            $0.error = WidgetError(reason: "BROKEN", message: message)
          }
        ], columns: 30, rows: rows)
      _ = board.take(.key(.tab, []))
      _ = board.take(.key(.character("i"), []))
      return LiveSamples.lines(&board)
    }
    let words = "the sensor in the cellar does not answer since its cable is wet"
    let text = try lines(words).joined(separator: "\n")
    #expect(text.contains("the sensor in the cellar"))
    #expect(text.contains("cable is wet"))
    // The box has room for all of it, so that only the limit cuts it.
    let long = try lines(String(repeating: "long ", count: 500), rows: 200)
    let error = long.drop { !$0.contains("Error") }
    #expect(error.count { $0.contains("long") } == LiveDetails.rowsPerLineMax)
    #expect(long.contains { $0.contains("long…") })
    #expect(long.contains { $0.contains("Data") })
  }

  @Test func `a notice disappears after its time, and the status line returns`() throws {
    let clock = Mutex(Timestamp.epoch)
    var board = try Self.board(
      [Self.widget("c", Self.counter), Self.widget("d", Self.counter)],
      now: { clock.withLock { $0 } })
    _ = board.take(.key(.character("r"), []))
    #expect(LiveSamples.lines(&board).joined().contains("move the pointer"))
    #expect(board.quiet == LiveBoard.noticeDuration)
    let later = Timestamp.epoch.advanced(by: LiveBoard.noticeDuration)
    clock.withLock { $0 = later.advanced(by: .milliseconds(-500)) }
    board.timeHasPassed(turningSpinners: false)
    #expect(LiveSamples.lines(&board).joined().contains("move the pointer"))
    #expect(board.quiet == .milliseconds(500))
    clock.withLock { $0 = later }
    board.timeHasPassed(turningSpinners: false)
    #expect(LiveSamples.lines(&board).joined().contains("revision 1"))
    #expect(board.quiet == nil)
  }

  @Test func `a lost connection replaces an earlier notice at once`() throws {
    var board = try Self.board([Self.widget("c", Self.counter), Self.widget("d", Self.counter)])
    _ = board.take(.key(.character("r"), []))
    #expect(LiveSamples.lines(&board).joined().contains("move the pointer"))
    try board.take(.disconnected(.closed))
    let lines = LiveSamples.lines(&board).joined()
    #expect(!lines.contains("move the pointer"))
    #expect(lines.contains("○"))
  }

  @Test func `the board sets no timer unless something moves`() throws {
    var board = try Self.board([Self.widget("c", Self.counter), Self.widget("d", Self.counter)])
    #expect(board.quiet == nil)
    let timer = Content(
      rootID: "t",
      nodes: [
        Node(
          id: "t", type: .date,
          properties: ["date": .timestamp(.epoch), "style": .string("timer")])
      ])
    board = try Self.board([Self.widget("c", timer)])
    #expect(board.quiet == .seconds(1))
  }
}
