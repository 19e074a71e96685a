import Synchronization
import Testing
import WidgetClient
import WidgetLayout
import WidgetModel
import WidgetProto
import WidgetRender
import WidgetTerminal

@testable import widgetctl

/// The cells and messages of a dashboard, as values: without a terminal and without a daemon.
@Suite struct LiveBoardTests {
  static let counter = Content(
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

  @Test func `Tab focuses controls, and Enter presses the focused one`() throws {
    var board = try Self.board([Self.widget("c", Self.counter)])
    press(&board, .tab)
    #expect(board.focus == LiveFocus(widget: Samples.id("c"), node: "more", kind: .control))
    #expect(
      press(&board, .enter) == [
        .send(LiveEvent(widget: Samples.id("c"), node: "more", name: "press"), after: nil)
      ])
  }

  @Test func `the focus stays when an earlier control is enabled`() throws {
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

  @Test func `a new theme is used for the next layout`() throws {
    var board = try Self.board([Self.widget("c", Self.counter)])
    let theme = Theme.standard.overridden(by: ["offset.basic": .offset(8)])
    try board.take(.theme(ThemeState(values: theme.values)))
    #expect(board.look.theme == theme)
    #expect(board.options.metrics.theme == theme)
  }

  @Test func `a click presses the control under the pointer`() throws {
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

  @Test func `a missing widget beside others is named, with the nearest id`() throws {
    var board = try LiveSamples.board([LiveSamples.widget("clock")]) {
      $0.ids = [Samples.id("clock"), Samples.id("clokc"), Samples.id("x")]
    }
    #expect(
      board.notice
        == #"no widget "clokc" yet; waiting for it; another id without a widget"#)
    board.suggest(among: ["clock", "cpu"])
    #expect(
      board.notice == #"no widget "clokc" yet; waiting for it; did you mean "clock"?"#
        + "; another id without a widget")
    var empty = try LiveSamples.board([]) { $0.ids = [Samples.id("clokc")] }
    empty.suggest(among: ["clock"])
    #expect(
      LiveSamples.lines(&empty).contains {
        $0.contains(#"no widget "clokc" yet; waiting for it; did you mean "clock"?"#)
      })
  }
}
