import SeededRandom
import Testing
import WidgetClient
import WidgetLayout
import WidgetModel
import WidgetProto
import WidgetRender
import WidgetTerminal

@testable import widgetctl

/// The canvas paints only changed panes, and shows the same as one that paints all panes.
@Suite struct LiveCanvasTests {
  private func board(columns: Int = 80) throws -> LiveBoard {
    try LiveSamples.board(
      (0..<6).map { LiveSamples.widget("w\($0)", says: "text \($0)", position: Int64($0)) },
      columns: columns)
  }

  /// The number of panes that the board paints after the change.
  private func painted(
    _ board: inout LiveBoard, _ change: (inout LiveBoard) throws -> Void
  ) throws -> Int {
    _ = board.picture()
    let before = board.canvas.paintedCount
    try change(&board)
    let grid = board.picture().grid
    let count = board.canvas.paintedCount - before
    board.canvas = LiveCanvas()
    #expect(board.picture().grid == grid)
    return count
  }

  @Test func `a change paints the one pane that changed`() throws {
    var board = try board()
    #expect(try painted(&board) { _ in } == 0)
    #expect(
      try painted(&board) { try $0.take(LiveSamples.change("w3", "n0", to: "new", from: 1)) } == 1)
    #expect(LiveSamples.lines(&board).contains { $0.contains("new") })
  }

  @Test func `an overlay repaints no pane`() throws {
    var board = try board()
    #expect(try painted(&board) { _ = $0.take(.key(.character("?"), [])) } == 0)
    #expect(try painted(&board) { _ = $0.take(.key(.escape, [])) } == 0)
  }

  @Test func `another appearance, another size and a lost daemon repaint all panes`() throws {
    var board = try board()
    #expect(try painted(&board) { $0.look.appearance = .light } == 6)
    #expect(try painted(&board) { $0.resize(TerminalSize(columns: 100, rows: 30)) } == 6)
    #expect(try painted(&board) { try $0.take(.disconnected(.closed)) } == 6)
  }

  @Test func `a widget that is removed and created again is painted again`() throws {
    var board = try board(columns: 60)
    #expect(
      try painted(&board) {
        try $0.take(
          .changes(
            ChangeSet(
              fromRevision: 1, toRevision: 2,
              changes: [
                .removed(Samples.id("w2"), nil)
              ])))
        try $0.take(
          .changes(
            ChangeSet(
              fromRevision: 2, toRevision: 3,
              changes: [
                .added(
                  LiveSamples.widget("w2", says: "other", position: 2), nil)
              ])))
      } == 1)
    #expect(LiveSamples.lines(&board).contains { $0.contains("other") })
  }

  @Test func `a change of a pane's height moves the panes below`() throws {
    var board = try board(columns: 60)
    let before = try #require(board.frames[Samples.id("w3")])
    try board.take(LiveSamples.change("w2", "n0", to: "short", from: 1))
    #expect(board.frames[Samples.id("w3")] == before)
    let long = String(repeating: "words ", count: 20)
    try board.take(LiveSamples.change("w2", "n0", to: long, from: 2))
    #expect(board.frames[Samples.id("w3")]?.y == before.y + 2)
    var update = WidgetUpdate(id: Samples.id("w1"), revision: 4, updateTime: .epoch)
    update.error = .some(WidgetError(reason: "NO", message: ""))
    try board.take(
      .changes(ChangeSet(fromRevision: 3, toRevision: 4, changes: [.updated(update)])))
    #expect(board.frames[Samples.id("w3")]?.y == before.y + 3)
    var hidden = WidgetUpdate(id: Samples.id("w0"), revision: 5, updateTime: .epoch)
    hidden.presence = Presence(isVisible: false)
    try board.take(
      .changes(ChangeSet(fromRevision: 4, toRevision: 5, changes: [.updated(hidden)])))
    #expect(board.frames[Samples.id("w0")] == nil)
    #expect(board.frames[Samples.id("w3")]?.y == before.y)
  }

  @Test func `a tick paints the panes with times, and spinners paint their panes`()
    throws
  {
    let timer = Content(
      rootID: "t",
      nodes: [
        Node(
          id: "t", type: .date,
          properties: ["date": .timestamp(.epoch), "style": .string("timer")])
      ])
    let spinner = Content(rootID: "s", nodes: [Node(id: "s", type: .spinner)])
    var board = try LiveSamples.board([
      LiveSamples.widget("a"), LiveSamples.widget("t", content: timer),
      LiveSamples.widget("s", content: spinner),
    ])
    #expect(try painted(&board) { $0.timeHasPassed(turningSpinners: false) } == 1)
    #expect(try painted(&board) { $0.timeHasPassed(turningSpinners: true) } == 2)
  }

  // MARK: - Rows

  @Test(arguments: 0..<20)
  func `comparing only drawn rows gives the same screen as comparing all`(seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed))
    var board = try LiveSamples.board(
      (0..<9).map { LiveSamples.widget("w\($0)", says: "text \($0)", position: Int64($0)) },
      columns: 80, rows: 16, look: CellLook()
    ) { $0.moves = true }
    let encoder = ANSIEncoder(depth: .truecolor)
    var (some, all) = (ScreenUpdate(encoder: encoder), ScreenUpdate(encoder: encoder))
    var compared: Int?
    let keys: [TerminalKey] = [
      .tab, .escape, .pageDown, .pageUp, .home, .character("?"), .character("/"), .character("w"),
      .character("1"), .character("p"), .character("i"), .down,
    ]
    for step in 1...120 {
      let id = "w\(Int.random(in: 0..<9, using: &random))"
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<4:
        let text = String(repeating: "new ", count: Int.random(in: 0..<20, using: &random))
        if board.mirror[Samples.id(id)] != nil {
          try board.take(LiveSamples.change(id, "n0", to: text, from: Revision(step)))
        }
      case 4..<6: _ = board.take(.key(keys[Int.random(in: 0..<keys.count, using: &random)], []))
      case 6:
        let size = TerminalSize(
          columns: Int.random(in: 30..<100, using: &random),
          rows: Int.random(in: 4..<30, using: &random))
        board.resize(size)
      case 7:
        let change: WidgetChange =
          board.mirror[Samples.id(id)] == nil
          ? .added(LiveSamples.widget(id, position: 3, lines: 2), nil)
          : .removed(Samples.id(id), nil)
        try board.take(
          .changes(
            ChangeSet(
              fromRevision: Revision(step), toRevision: Revision(step) + 1, changes: [change])))
      case 8: board.look.appearance = board.look.appearance == .dark ? .light : .dark
      default: if board.isMoving { board.moveOn() }
      }
      let picture = board.picture()
      compared = picture.drawnRows?.count ?? compared
      let output = some.next(picture.grid, cursor: picture.cursor, drawn: picture.drawnRows)
      #expect(output == all.next(picture.grid, cursor: picture.cursor), "seed \(seed) step \(step)")
    }
    // The canvas compared fewer cells than all.
    #expect(compared != nil)
  }

  @Test func `only the visible rows of a pane taller than the screen are painted`() throws {
    let tall = LiveSamples.widget("tall", lines: 100)
    var whole = try LiveSamples.board([tall], columns: 40, rows: 140)
    let page = whole.picture().grid
    var board = try LiveSamples.board([tall], columns: 40, rows: 12)
    for key in [TerminalKey.home, .pageDown, .pageDown, .down, .end, .pageUp] {
      _ = board.take(.key(key, []))
      let grid = board.picture().grid
      for row in 0..<11 {
        for column in 0..<40 { #expect(grid[column, row] == page[column, row + board.top]) }
      }
    }
    #expect(board.top > 0)
  }

  // MARK: - Theme and privacy

  @Test func `a background is painted if the theme sets it`() throws {
    var board = try LiveSamples.board([LiveSamples.widget("a")], look: CellLook())
    #expect(board.picture().grid[79, 20].style.background == nil)
    let blue = ThemeColor(red: 0, green: 0, blue: 99)
    board.look.theme = Theme.standard.overridden(by: ["color.background": .color(ThemeColors(blue))]
    )
    for key in [TerminalKey.escape, .character("?")] {
      _ = board.take(.key(key, []))
      let grid = board.picture().grid
      for row in 0..<grid.height {
        for column in 0..<grid.width {
          #expect(grid[column, row].style.background == .rgb(0, 0, 99))
        }
      }
    }
  }

  @Test func `the key p hides private nodes and their data`() throws {
    let content = Content(
      rootID: "box",
      nodes: [
        Node(id: "box", type: .stack, childIDs: ["pin", "name"]),
        Node(
          id: "pin", type: .label,
          properties: ["text": .string("secret 1234"), "privacy": .bool(true)]),
        Node(id: "name", type: .label, properties: ["text": .string("name")]),
      ])
    var board = try LiveSamples.board([
      LiveSamples.widget("a", content: content) { $0.data = ["pin": .int(1234)] }
    ])
    func says(_ text: String) -> Bool { LiveSamples.lines(&board).contains { $0.contains(text) } }
    #expect(says("secret 1234"))
    _ = board.take(.key(.character("p"), []))
    #expect(!says("secret") && says("▒▒▒") && says("name"))
    _ = board.take(.key(.character("i"), []))
    #expect(!says("1234") && says("It is private"))
    _ = board.take(.key(.escape, []))
    _ = board.take(.key(.character("p"), []))
    #expect(says("secret 1234"))
  }

  // MARK: - Motion

  private func moving() throws -> LiveBoard {
    var board = try LiveSamples.board(
      (0..<3).map { LiveSamples.widget("w\($0)", says: "text", position: Int64($0 * 2)) },
      columns: 40, look: CellLook()
    ) { $0.moves = true }
    _ = board.picture()
    return board
  }

  /// The picture without motion.
  private func still(_ board: LiveBoard) -> CellGrid {
    var board = board
    board.canvas = LiveCanvas()
    return board.picture().grid
  }

  @Test func `changed text fades to its colour in some steps, and then nothing moves`() throws {
    var board = try moving()
    #expect(!board.isMoving)
    try board.take(LiveSamples.change("w1", "n0", to: "news", from: 1))
    let first = board.picture().grid
    #expect(first != still(board))
    #expect(PlainTextEncoder.text(first) == PlainTextEncoder.text(still(board)))
    for _ in 0..<LiveCanvas.steps {
      #expect(board.isMoving)
      board.moveOn()
      _ = board.picture()
    }
    #expect(!board.isMoving)
    #expect(board.picture().grid == still(board))
  }

  @Test func `a new widget opens, and the widgets below slide`() throws {
    var board = try moving()
    let new = LiveSamples.widget("new", says: "hello", position: 1)
    try board.take(
      .changes(ChangeSet(fromRevision: 1, toRevision: 2, changes: [.added(new, nil)])))
    #expect(board.picture().grid != still(board))
    for _ in 0..<LiveCanvas.steps {
      #expect(board.isMoving)
      board.moveOn()
      _ = board.picture()
    }
    #expect(!board.isMoving)
    #expect(board.picture().grid == still(board))
    try board.take(
      .changes(
        ChangeSet(fromRevision: 2, toRevision: 3, changes: [.removed(Samples.id("w0"), nil)])))
    _ = board.picture()
    #expect(board.isMoving)
  }

  @Test func `keys, scrolling, another size and many changes cause no motion`() throws {
    var board = try moving()
    for input in [TerminalInput.key(.tab, []), .key(.pageDown, []), .key(.character("?"), [])] {
      _ = board.take(input)
      _ = board.picture()
      #expect(!board.isMoving)
    }
    board.resize(TerminalSize(columns: 90, rows: 30))
    _ = board.picture()
    #expect(!board.isMoving)
    var crowd = try LiveSamples.board(
      (0..<9).map { LiveSamples.widget("w\($0)", says: "text", position: Int64($0)) },
      columns: 200, rows: 60, look: CellLook()
    ) { $0.moves = true }
    _ = crowd.picture()
    for index in 0..<9 {
      try crowd.take(
        LiveSamples.change("w\(index)", "n0", to: "new", from: Revision(index + 1)))
    }
    let fading = crowd.picture().grid
    let rested = still(crowd)
    let count = (0..<9).count { index in
      let frame = crowd.frames[Samples.id("w\(index)")] ?? .zero
      return fading[frame.x + 2, frame.y + 1] != rested[frame.x + 2, frame.y + 1]
    }
    #expect(count == LiveCanvas.fadesMax)
  }

  @Test func `a change is shown at once on a slow link and with motion off`() throws {
    for isSlow in [true, false] {
      var board = try moving()
      if isSlow { board.isLinkSlow = true } else { board = try self.board() }
      _ = board.picture()
      try board.take(LiveSamples.change("w1", "n0", to: "news", from: 1))
      #expect(board.picture().grid == still(board))
      #expect(!board.isMoving)
    }
  }
}
