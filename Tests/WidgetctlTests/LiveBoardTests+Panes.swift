import Synchronization
import Testing
import WidgetClient
import WidgetLayout
import WidgetModel
import WidgetProto
import WidgetRender
import WidgetTerminal

@testable import widgetctl

/// Panes, the status line, overlays and notices.
extension LiveBoardTests {
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

  @Test func `keys that type text are not commands`() throws {
    var board = try Self.board([Self.widget("f", Self.form)])
    press(&board, .tab, .tab)
    #expect(type(&board, "q?/ir") == [])
    #expect(board.overlay == nil)
    press(&board, .escape)
    #expect(type(&board, "q") == [.quit])
    #expect(press(&board, .character("c"), modifiers: .control) == [.quit])
    #expect(press(&board, .character("z"), modifiers: .control) == [.suspend])
  }

  @Test func `failed and stale widgets are marked, whatever their content`() throws {
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

  @Test func `a long error keeps its cause and its age`() throws {
    let failed = Self.widget("c", Self.counter) { widget in
      widget.error = WidgetError(
        reason: "SOURCE_FAILED",
        message: "Bad failed: ls failed with status 2: /usr/bin/ls: cannot access "
          + "'/nonexistent/some/very/long/path/that/does/not/exist/at/all.json': No such file",
        since: .epoch)
    }
    let text = lines(try Self.board([failed], columns: 40, rows: 20)).joined(separator: " ")
    #expect(text.contains("No such") && text.contains("(for "), "\(text)")
  }

  @Test func `a part of the content that fails has its reason above the content`() throws {
    let failing = Self.widget("c", Self.counter) { widget in
      for index in widget.content?.nodes.indices ?? 0..<0 {
        widget.content?.nodes[index].problem = "value: no such key"
      }
    }
    let id = try #require(failing.content?.failures.first)
    let picture = lines(try Self.board([failing]))
    #expect(picture.contains { $0.contains("! \(id.reason)") }, "\(picture)")
    #expect(picture.contains { $0.contains(" more)") }, "\(picture)")
  }

  @Test func `a wrong timeline and a failed activity are marked like an error`() throws {
    let wrong = Self.widget("c", Self.counter) {
      $0.timeline = TimelineStatus(problem: "There is no date.")
    }
    let failed = Self.widget("d", Self.counter) {
      $0.activity = Activity(state: .ended, startTime: .epoch, expireTime: .epoch)
      ($0.data["outcome"], $0.data["status"]) = (.string("failed"), .string("status 1"))
    }
    let picture = lines(try Self.board([wrong, failed]))
    #expect(picture.contains { $0.contains("c failed") })
    #expect(picture.contains { $0.contains("! timeline: There is no date.") })
    #expect(picture.contains { $0.contains("d failed") })
    #expect(picture.contains { $0.contains("! failed: status 1") })
    #expect(picture.contains { $0.contains("2 failed") })
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
  func `panes do not overlap and stay on the page, at every size`(columns: Int, rows: Int) throws {
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

  @Test func `Tab continues from the control that Esc left`() throws {
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
  func `while a host is away, only its own widget shows the failure`(
    kind: String, state: String, isStale: Bool, isWell: Bool
  ) {
    var widget = Widget(
      id: Samples.id("bundle/w"), kind: Samples.kind(kind), data: ["state": .string(state)],
      isStale: isStale)
    #expect(widget.isStandingWell == isWell)
    // A user's widget of the kind.
    widget.id = Samples.id("w")
    #expect(widget.isStandingWell == (isWell && kind != "bundle"))
  }

  @Test func `every widget has details, also one without controls`() throws {
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

  @Test func `i and r are for the widget of the control that Esc left`() throws {
    var board = try Self.board([Self.widget("a", Self.counter), Self.widget("bb", Self.form)])
    for _ in 0..<3 { _ = press(&board, .tab) }
    let id = try #require(board.focus?.widget)
    _ = press(&board, .escape)
    #expect(press(&board, .character("r")) == [.refresh(id)])
    _ = press(&board, .character("i"))
    #expect(board.overlay == .details(id, 0))
    // While an overlay is shown, the status line has its keys.
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
    // The box has room for the whole reason, so that only the limit cuts it.
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
