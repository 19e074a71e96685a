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
  private static let form = Content(
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

  private static func widget(
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
  private static func taking(_ content: Content) -> Content {
    var content = content
    for index in content.nodes.indices {
      guard let type = content.nodes[index].type,
        [.button, .toggle, .input, .form].contains(type)
      else { continue }
      content.nodes[index].events = type.events.map(\.name)
    }
    return content
  }

  private static func board(
    _ widgets: [Widget], columns: Int = 80, rows: Int = 24
  ) throws -> LiveBoard {
    var board = LiveBoard(
      options: LiveOptions(metrics: .cells(), now: { .epoch }),
      size: TerminalSize(columns: columns, rows: rows), look: CellLook(usesColor: false))
    try board.take(.opened(WatchOpened(subscriptionID: 1, epoch: 1, revision: 1)))
    try board.take(.snapshot(SnapshotChunk(widgets: widgets)))
    try board.take(.synced(WatchSynced(revision: 1)))
    return board
  }

  private func lines(_ board: LiveBoard) -> [String] {
    var board = board
    return PlainTextEncoder.text(board.picture().grid).split(
      separator: "\n", omittingEmptySubsequences: false
    ).map(String.init)
  }

  @discardableResult
  private func press(
    _ board: inout LiveBoard, _ keys: TerminalKey..., modifiers: KeyModifiers = []
  ) -> [LiveBoard.Effect] {
    keys.flatMap { board.take(.key($0, modifiers)) }
  }

  private func type(_ board: inout LiveBoard, _ text: String) -> [LiveBoard.Effect] {
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
    let row = try #require(picture.firstIndex { $0.contains("[ - ]") })
    let column = try #require(picture[row].firstIndex(of: "-"))
    let event = MouseEvent(
      action: .press(.left),
      column: picture[row].distance(from: picture[row].startIndex, to: column),
      row: row)
    #expect(board.take(.mouse(event)) == [])
    #expect(board.focus == nil)
    #expect(!board.targets.contains { $0.focus.node == "less" })
  }

  @Test func `a button that nothing comes of takes no focus`() throws {
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

  @Test func `a form sends what was typed, by name, and is empty again`() throws {
    var board = try Self.board([Self.widget("f", Self.form)])
    press(&board, .tab, .tab)
    #expect(type(&board, "milk q") == [])
    #expect(lines(board).contains { $0.contains("milk q") })
    press(&board, .tab)
    _ = type(&board, "3")
    #expect(
      press(&board, .enter) == [
        .send(
          LiveEvent(
            widget: Samples.id("f"), node: "new", name: "submit",
            payload: ["values": .map(["title": .string("milk q"), "count": .int(3)])]), after: nil)
      ])
    #expect(!lines(board).contains { $0.contains("milk") })
  }

  @Test func `what was typed comes back if the form has problems, or the event is refused`() throws
  {
    for isRefused in [true, false] {
      var board = try Self.board([Self.widget("f", Self.form)])
      press(&board, .tab, .tab)
      _ = type(&board, "milk")
      press(&board, .enter)
      if isRefused {
        board.refused(LiveEvent(widget: Samples.id("f"), node: "new", name: "submit"), "no")
        #expect(board.notice == "no")
      } else {
        var title = try #require(Self.taking(Self.form)["title"])
        title.properties["problem"] = .string("too short")
        var update = WidgetUpdate(id: Samples.id("f"), revision: 2, updateTime: .epoch)
        update.content = ContentChange(setNodes: [title])
        try board.take(
          .changes(ChangeSet(fromRevision: 1, toRevision: 2, changes: [.updated(update)])))
        #expect(lines(board).contains { $0.contains("too short") })
      }
      #expect(lines(board).contains { $0.contains("milk") })
    }
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

  @Test func `a failed and a stale widget say so by themselves`() throws {
    let failed = Self.widget("c", Self.counter) { widget in
      widget.isStale = true
      widget.error = WidgetError(reason: "SOURCE_FAILED", message: "no\u{1B}[2Jfile")
    }
    let board = try Self.board([failed])
    let picture = lines(board)
    #expect(picture[0].contains("c failed stale"))
    #expect(picture.contains { $0.contains("! SOURCE_FAILED: no") })
    #expect(picture.contains { $0.contains("1 stale  1 failed") })
    #expect(!picture.joined().contains("\u{1B}"))
  }

  @Test func `a widget without content shows its data`() throws {
    let board = try Self.board([Self.widget("d", nil, data: ["n": .int(3), "text": .string("x")])])
    #expect(lines(board).contains { $0.contains("n: 3") })
  }

  @Test func `a filter leaves out what is not called so`() throws {
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

  @Test func `without anything that moves there is nothing to wake up for`() throws {
    var board = try Self.board([Self.widget("c", Self.counter)])
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
