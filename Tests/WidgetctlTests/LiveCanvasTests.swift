import Testing
import WidgetClient
import WidgetModel
import WidgetProto
import WidgetRender
import WidgetTerminal

@testable import widgetctl

/// A picture paints what changed, and shows the same as one that paints all.
@Suite struct LiveCanvasTests {
  private func board(columns: Int = 80) throws -> LiveBoard {
    try LiveSamples.board(
      (0..<6).map { LiveSamples.widget("w\($0)", says: "text \($0)", position: Int64($0)) },
      columns: columns)
  }

  /// How many panes the change makes the board paint.
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

  @Test func `what lies over the panes paints none of them`() throws {
    var board = try board()
    #expect(try painted(&board) { _ = $0.take(.key(.character("?"), [])) } == 0)
    #expect(try painted(&board) { _ = $0.take(.key(.escape, [])) } == 0)
  }

  @Test func `another look, another size and a lost daemon paint all`() throws {
    var board = try board()
    #expect(try painted(&board) { $0.look.appearance = .light } == 6)
    #expect(try painted(&board) { $0.resize(TerminalSize(columns: 100, rows: 30)) } == 6)
    #expect(try painted(&board) { try $0.take(.disconnected(.closed)) } == 6)
  }

  @Test func `a widget that goes and comes again is painted again`() throws {
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

  @Test func `time paints the panes that follow it, and spinners the panes in which they turn`()
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
}
