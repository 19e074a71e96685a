import Glibc
import SeededRandom
import Testing
import WidgetClient
import WidgetLayout
import WidgetModel
import WidgetProto
import WidgetTerminal

@testable import widgetctl

/// The places of widgets on a dashboard, and the file with the arrangement.
@Suite struct LiveArrangementTests {
  private static let wall = """
    columns:
      - width: 30
        rows:
          - clock
          - {id: disk, title: My disks}
      - {labels: "panel=top", order: id}
    """

  private func board(
    _ text: String, _ ids: [String], columns: Int = 120,
    change: (inout Widget) -> Void = { _ in }
  ) throws -> LiveBoard {
    let widgets = ids.enumerated().map { index, id in
      LiveSamples.widget(id, position: Int64(index)) { widget in
        if id.hasPrefix("top") { widget.labels = ["panel": "top"] }
        change(&widget)
      }
    }
    return try LiveSamples.board(widgets, columns: columns) {
      $0.arrangement = try? LiveArrangement(text: text, name: "f.yaml")
    }
  }

  private func frame(_ board: LiveBoard, _ id: String) -> LayoutRect? {
    board.frames[Samples.id(id)]
  }

  @Test func `columns have the widths and the widgets of the file`() throws {
    var board = try board(Self.wall, ["other", "top2", "disk", "clock", "top1"])
    #expect(board.order.map(\.rawValue) == ["clock", "disk", "top1", "top2", "other"])
    #expect(frame(board, "clock") == LayoutRect(x: 0, y: 0, width: 30, height: 3))
    #expect(frame(board, "disk") == LayoutRect(x: 0, y: 3, width: 30, height: 3))
    // The widgets of a selection are side by side in columns, in the order of the selection.
    #expect(frame(board, "top1")?.x == 31)
    #expect(frame(board, "top2")?.endX == 120)
    #expect(frame(board, "other")?.y == 6)
    #expect(LiveSamples.lines(&board)[3].contains("My disks"))
  }

  @Test func `widgets without a place are left out with rest hide`() throws {
    let board = try board(Self.wall + "\nrest: hide", ["other", "clock"])
    #expect(board.order.map(\.rawValue) == ["clock"])
  }

  @Test func `a widget that does not exist yet has its place, and takes it later`() throws {
    var board = try board(Self.wall, ["clock", "other"])
    #expect(board.awaited.map(\.rawValue) == ["disk"])
    #expect(LiveSamples.lines(&board).contains { $0.contains("waits for the widget disk") })
    #expect(frame(board, "disk")?.y == 3)
    let disk = LiveSamples.widget("disk", says: "full")
    try board.take(
      .changes(
        ChangeSet(
          fromRevision: 1, toRevision: 2, changes: [.added(disk, nil)])))
    #expect(board.awaited.isEmpty)
    #expect(frame(board, "disk")?.y == 3)
    #expect(LiveSamples.lines(&board)[4].contains("full"))
  }

  @Test func `a hidden widget has no place, and an empty column has none`() throws {
    let board = try board(
      "columns: [clock, disk]", ["clock", "disk"],
      change: {
        if $0.id.rawValue == "clock" { $0.presence.isVisible = false }
      })
    #expect(frame(board, "clock") == nil)
    #expect(frame(board, "disk")?.width == 120)
  }

  @Test func `with too little room columns become rows`() throws {
    let board = try board("columns: [a, b, c]", ["a", "b", "c"], columns: 40)
    #expect(["a", "b", "c"].map { frame(board, $0)?.y } == [0, 3, 6])
    #expect(["a", "b", "c"].map { frame(board, $0)?.width } == [40, 40, 40])
  }

  @Test(
    arguments: [
      ([nil, nil], [40, 39]), ([.cells(30), nil], [30, 49]), ([.percent(50), nil], [39, 40]),
      ([.cells(500), nil], [61, 18]), ([.cells(100), .cells(100)], [40, 39]),
    ] as [([LiveArrangement.Width?], [Int])])
  func `widths fill the room, and each column gets some of it`(
    wanted: [LiveArrangement.Width?], widths: [Int]
  ) {
    let found = LiveArrangement.widths(wanted, in: 80, gap: 1, least: 18) ?? []
    #expect(found.sorted() == widths.sorted())
    #expect(found.allSatisfy { $0 >= 18 })
  }

  @Test func `a family of the file takes a watch, whose content is shown`() throws {
    let text = "rows: [{id: clock, family: small}, {kind: k, family: inline}, plain]"
    var board = try board(text, ["clock", "plain"])
    #expect(
      board.options.feeds.map(\.family) == [.small, .inline])
    #expect(LiveSamples.lines(&board)[1].contains("words 0"))
    try board.take(.opened(WatchOpened(subscriptionID: 2, epoch: 1, revision: 1)), from: 0)
    try board.take(
      .snapshot(SnapshotChunk(widgets: [LiveSamples.widget("clock", says: "small")])), from: 0)
    try board.take(.synced(WatchSynced(revision: 1)), from: 0)
    #expect(LiveSamples.lines(&board)[1].contains("small 0"))
    // The content from the watch for all widgets no longer counts.
    try board.take(LiveSamples.change("clock", "n0", to: "wide", from: 1))
    #expect(LiveSamples.lines(&board)[1].contains("small 0"))
    try board.take(LiveSamples.change("clock", "n0", to: "tiny", from: 1), from: 0)
    #expect(LiveSamples.lines(&board)[1].contains("tiny"))
    try board.take(.disconnected(.closed), from: 0)
    #expect(board.trouble == nil)
  }

  @Test(arguments: [
    ("columns: [{widht: 3, id: a}]", "f.yaml:1:12: columns[0].widht: unknown field"),
    (
      "rows:\n- a\n- {id: b, width: 3}", "f.yaml:3:11: rows[1].width: is for entries in columns"
    ),
    ("columns:\n- {id: b, width: 40.%}", "must be a number"),
    ("columns:\n- {id: b, width: 0.5%}", "must be a number"),
    ("columns:\n- {id: b, width: 100.01%}", "must be a number"),
    ("columns:\n- {id: b, width: wide}", "f.yaml:2:11: columns[0].width: must be a number"),
    ("rows: [a]\nrest: maybe", "f.yaml:2:1: rest: must be show or hide"),
    ("rows: [panel=top]", "write {labels: \"panel=top\"}"),
    ("rows: [{id: a, labels: x=y}]", "id names one widget"),
    ("rows: [{labels: 'x=('}]", "f.yaml:1:9: rows[0].labels"),
    ("rows: [{id: a, family: huge}]", "rows[0].family: must be"),
    ("rows: [{title: t}]", "names no widget"),
    ("rows: []", "names no widget; write its id"),
    ("columns: []\nrows: []", "there are columns already"),
    ("- a", "must be a map with `columns` or `rows`"),
    ("", "is empty"),
    ("rows: [a", "f.yaml:"),
    ("rows: [[a]]", "must be a widget's id"),
  ])
  func `a wrong file is refused with its place`(text: String, words: String) {
    do throws(CommandFailure) {
      let arrangement = try LiveArrangement(text: text, name: "f.yaml")
      Issue.record("\(arrangement)")
    } catch {
      #expect(error.message.contains(words), "\(error.message)")
    }
  }

  private func failure(_ text: String) -> String {
    do throws(CommandFailure) {
      _ = try LiveArrangement(text: text, name: "f.yaml")
      return "none"
    } catch {
      return error.message
    }
  }

  @Test func `all mistakes of a file are reported in order, with their places`() {
    let text = """
      columns:
        - width: wide
          rows:
            - clock
            - {id: disk, titel: My disks, width: 3}
            - {title: nothing}
        - {labels: "x=(", kind: [k, "k k", 3], order: size}
        - [a]
        - {idd: x}
      rest: maybe
      """
    let places = failure(text).split(separator: "\n").filter { $0.hasPrefix("f.yaml:") }.map {
      $0.prefix { $0 != ";" }.description
    }
    #expect(
      places == [
        "f.yaml:2:5: columns[0].width: must be a number of columns of the terminal, or a share such as 40%",
        "f.yaml:5:20: columns[0].rows[1].titel: unknown field",
        "f.yaml:5:37: columns[0].rows[1].width: is for entries in columns",
        "f.yaml:6:9: columns[0].rows[2]: names no widget",
        "f.yaml:7:6: columns[1].labels: \"x=(\": a ) is missing",
        "f.yaml:7:31: columns[1].kind[1]: \"k k\" is not a kind",
        "f.yaml:7:38: columns[1].kind[2]: must be text",
        "f.yaml:7:42: columns[1].order: must be position or id",
        "f.yaml:8:5: columns[2]: must be a widget's id, or a map with id, labels, kind, columns or rows",
        "f.yaml:9:6: columns[3].idd: unknown field",
        "f.yaml:10:1: rest: must be show or hide",
      ])
  }

  @Test func `only the first of very many mistakes are reported`() {
    let most = LiveArrangement.problemsMax
    func message(_ count: Int) -> String {
      failure("rows: [\((0..<count).map { "{id: w\($0), width: 1}" }.joined(separator: ", "))]")
    }
    func told(_ message: String) -> Int {
      message.split(separator: "\n").count { $0.hasPrefix("f.yaml:") }
    }
    #expect(told(message(most)) == most)
    #expect(!message(most).contains("more mistakes"))
    #expect(told(message(most + 3)) == most)
    #expect(message(most + 3).hasSuffix("… and 3 more mistakes"))
  }

  @Test func `an arrangement at a limit is read, and one above it is refused`() throws {
    let ids = (0..<LiveArrangement.entriesMax).map { "w\($0)" }
    #expect(throws: Never.self) {
      try LiveArrangement(text: "rows: [\(ids.joined(separator: ", "))]", name: "f")
    }
    #expect(throws: CommandFailure.self) {
      try LiveArrangement(text: "rows: [x, \(ids.joined(separator: ", "))]", name: "f")
    }
    func nested(_ depth: Int) -> String {
      String(repeating: "{rows: [", count: depth) + "a" + String(repeating: "]}", count: depth)
    }
    #expect(throws: Never.self) {
      try LiveArrangement(text: nested(LiveArrangement.depthMax), name: "f")
    }
    #expect(throws: CommandFailure.self) {
      try LiveArrangement(text: nested(LiveArrangement.depthMax + 1), name: "f")
    }
    func watches(_ count: Int) -> String {
      "rows: [\((0..<count).map { "{kind: k\($0), family: small}" }.joined(separator: ", "))]"
    }
    #expect(throws: Never.self) {
      try LiveArrangement(text: watches(LiveArrangement.feedsMax), name: "f")
    }
    #expect(throws: CommandFailure.self) {
      try LiveArrangement(text: watches(LiveArrangement.feedsMax + 1), name: "f")
    }
  }

  @Test func `w writes the arrangement, and the file gives the same arrangement`() throws {
    var board = try LiveSamples.board([
      LiveSamples.widget("a", position: 1) { $0.family = .extraLarge },
      LiveSamples.widget("b", position: 2, lines: 5), LiveSamples.widget("c", position: 3),
      LiveSamples.widget("d", position: 4),
    ])
    let effects = board.take(.key(.character("w"), []))
    guard case .save(let text, replacing: nil)? = effects.first else {
      Issue.record("\(effects)")
      return
    }
    #expect(text.contains("- a\n"))
    let read = try LiveArrangement(text: text, name: "f")
    let again = try LiveSamples.board(
      ["d", "c", "b", "a"].map { id in
        LiveSamples.widget(id, position: 1, lines: id == "b" ? 5 : 1)
      }
    ) { $0.arrangement = read }
    #expect(again.frames == board.frames)
  }

  @Test(arguments: 0..<200)
  func `random arrangements are read back from the files that w writes`(seed: UInt64)
    throws
  {
    var random = SeededGenerator(seed: seed)
    let families: [Family] = [.small, .medium, .medium, .large, .large, .extraLarge]
    let widgets = (0..<Int.random(in: 1...12, using: &random)).map { index in
      LiveSamples.widget(
        "w\(index)", position: Int64(index), lines: .random(in: 1...7, using: &random)
      ) { $0.family = families.randomElement(using: &random) ?? .medium }
    }
    let columns = [80, 101, 120, 163, 200, 237].randomElement(using: &random) ?? 80
    var board = try LiveSamples.board(widgets, columns: columns, rows: 60)
    // Heights change, and panes keep their columns.
    for revision in 1..<Revision(Int.random(in: 1...6, using: &random)) {
      var changed = try #require(widgets.randomElement(using: &random))
      changed.content =
        LiveSamples.widget("x", lines: .random(in: 1...12, using: &random)).content
      var update = WidgetUpdate(
        id: changed.id, revision: revision + 1, updateTime: .epoch)
      update.content = changed.content.map { ContentChange(replacingBy: $0) }
      try board.take(
        .changes(
          ChangeSet(
            fromRevision: revision, toRevision: revision + 1, changes: [.updated(update)])))
    }
    guard case .save(let text, replacing: nil)? = board.take(.key(.character("w"), [])).first
    else {
      Issue.record("nothing to save")
      return
    }
    let read = try LiveArrangement(text: text, name: "f")
    let again = try LiveSamples.board(
      board.order.compactMap { board.panes[$0]?.widget }, columns: columns, rows: 60
    ) { $0.arrangement = read }
    #expect(again.frames == board.frames, "seed \(seed):\n\(text)")
  }

  @Test func `w writes many widgets without delay`() throws {
    let families: [Family] = [.medium, .medium, .large, .extraLarge]
    let widgets = (0..<600).map { index in
      LiveSamples.widget("w\(index)", position: Int64(index), lines: index * 7 % 5 + 1) {
        $0.family = families[index * 5 % 4]
      }
    }
    let board = try LiveSamples.board(widgets, columns: 200, rows: 60)
    let start = Self.threadTime()
    #expect(board.presentArrangement?.entries.count == 600)
    #expect(Self.threadTime() - start < .seconds(5))
  }

  /// The CPU time of this thread. Unlike elapsed time, it does not depend on other threads.
  private static func threadTime() -> Duration {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Duration.seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }

  @Test func `w keeps a width that is not a whole percentage`() throws {
    let board = try board(
      "columns: [{id: a, width: 67}, {id: b, width: 70}, c]", ["a", "b", "c"], columns: 200)
    var written = board
    guard case .save(let text, _)? = written.take(.key(.character("w"), [])).first else {
      Issue.record("nothing to save")
      return
    }
    let again = try self.board(text, ["a", "b", "c"], columns: 200)
    #expect(again.frames == board.frames, "\(text)")
    #expect(text.contains("%"))
  }

  @Test func `a pane keeps its column when heights change, until the page or the set does`() throws
  {
    let widgets = (0..<4).map {
      LiveSamples.widget("w\($0)", position: Int64($0), lines: $0 == 0 ? 6 : 1)
    }
    var board = try LiveSamples.board(widgets, columns: 80)
    func columns() -> [Int?] { (0..<4).map { frame(board, "w\($0)")?.x } }
    // The first widget fills the left column, and the others are beside it.
    #expect(columns() == [0, 40, 40, 40])
    func resize(_ id: String, lines: Int, from revision: Revision) throws {
      var update = WidgetUpdate(id: Samples.id(id), revision: revision + 1, updateTime: .epoch)
      update.content = LiveSamples.widget("x", lines: lines).content.map {
        ContentChange(replacingBy: $0)
      }
      try board.take(
        .changes(
          ChangeSet(
            fromRevision: revision, toRevision: revision + 1, changes: [.updated(update)])))
    }
    try resize("w0", lines: 1, from: 1)
    try resize("w1", lines: 9, from: 2)
    #expect(columns() == [0, 40, 40, 40])
    #expect(frame(board, "w2")?.y == 11)
    board.resize(TerminalSize(columns: 81, rows: 24))
    #expect(columns() == [0, 41, 0, 0])
    // A filter assigns the columns again, too.
    for key in [TerminalKey.character("/"), .character("w"), .escape] {
      _ = board.take(.key(key, []))
    }
    try board.take(
      .changes(
        ChangeSet(fromRevision: 3, toRevision: 4, changes: [.removed(Samples.id("w0"), nil)])))
    #expect(frame(board, "w1")?.x == 0)
  }

  @Test func `an existing file is replaced only after a yes`() throws {
    var board = try LiveSamples.board([LiveSamples.widget("a")])
    guard case .save(let text, _)? = board.take(.key(.character("w"), [])).first else {
      Issue.record("nothing to save")
      return
    }
    let version = ArrangementFile.Version(stat())
    board.saved(text, .exists(version), path: "/f")
    #expect(LiveSamples.lines(&board).contains { $0.contains("Replace it?") })
    #expect(board.take(.key(.character("x"), [])) == [])
    #expect(board.overlay == .replacing(text, version))
    #expect(board.take(.key(.character("n"), [])) == [])
    #expect(board.overlay == nil)
    board.saved(text, .exists(version), path: "/f")
    #expect(board.take(.key(.character("y"), [])) == [.save(text, replacing: version)])
    board.saved(text, .written, path: "/f")
    #expect(board.notice.contains("/f"))
  }
}
