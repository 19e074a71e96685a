import Synchronization
import Testing
import WidgetClient
import WidgetLayout
import WidgetModel
import WidgetProto
import WidgetRender
import WidgetTerminal

@testable import widgetctl

/// Tables, hover and marked text on a dashboard.
@Suite struct LiveUseTests {
  /// A table of some rows.
  private func table(
    _ properties: ValueMap, rows: Int = 3, keys prefix: String = "k", events: [String],
    change: (inout Widget) -> Void = { _ in }
  ) -> Widget {
    let keys = (0..<rows).map { "\(prefix)\($0)" }
    var nodes = [
      Node(
        id: "t", type: .table, properties: properties, childIDs: keys.map { "row/\($0)" },
        events: events)
    ]
    for key in keys {
      nodes.append(
        Node(
          id: "row/\(key)", type: .stack, properties: ["axis": .string("horizontal")],
          childIDs: ["cell/\(key)"]))
      nodes.append(
        Node(id: "cell/\(key)", type: .label, properties: ["text": .string("row \(key)")]))
    }
    return LiveSamples.widget("w", content: Content(rootID: "t", nodes: nodes), change: change)
  }

  private func event(_ name: String, _ payload: ValueMap = [:]) -> LiveBoard.Effect {
    .send(LiveEvent(widget: Samples.id("w"), node: "t", name: name, payload: payload), after: nil)
  }

  private func mouse(_ action: MouseEvent.Action, _ column: Int, _ row: Int) -> TerminalInput {
    .mouse(MouseEvent(action: action, column: column, row: row))
  }

  @Test func `keys and mouse select rows`() throws {
    var board = try LiveSamples.board([
      table(
        ["selection": .string("multiple"), "selected": .list([.string("k0")])], events: ["select"])
    ])
    _ = board.take(.key(.tab, []))
    _ = board.take(.key(.down, []))
    #expect(board.focus?.node == "row/k1")
    #expect(
      board.take(.key(.enter, [])) == [
        event("select", ["selected": .list([.string("k0"), .string("k1")])])
      ])
    let row = try #require(LiveSamples.lines(&board).firstIndex { $0.contains("row k0") })
    #expect(board.take(mouse(.press(.left), 5, row)) == [event("select", ["selected": .list([])])])
  }

  @Test func `rows of a table that takes no event have no focus`() throws {
    var board = try LiveSamples.board([table(["selection": .string("single")], events: [])])
    _ = board.take(.key(.tab, []))
    #expect(board.focus == nil)
  }

  @Test func `Delete deletes the focused row in a table with deletable rows`() throws {
    var board = try LiveSamples.board([table(["deletable": .bool(true)], events: ["delete"])])
    #expect(board.take(.key(.delete, [])) == [])
    #expect(board.notice.contains("Tab"))
    _ = board.take(.key(.tab, []))
    _ = board.take(.key(.tab, []))
    #expect(board.take(.key(.delete, [])) == [event("delete", ["row": .string("k1")])])
    #expect(board.take(.key(.enter, [])) == [])
    board = try LiveSamples.board([table(["selection": .string("single")], events: ["select"])])
    _ = board.take(.key(.tab, []))
    #expect(board.take(.key(.delete, [])) == [])
    #expect(board.notice.contains("cannot be deleted"))
  }

  @Test func `after a deletion the focus goes to the next row, at the end to the one before`()
    throws
  {
    func rows(_ count: Int) -> [Widget] {
      [table(["deletable": .bool(true)], rows: count, events: ["delete"])]
    }
    func delete(_ key: String) -> LiveBoard.Effect { event("delete", ["row": .string(key)]) }
    var board = try LiveSamples.board(rows(3))
    _ = board.take(.key(.tab, []))
    _ = board.take(.key(.tab, []))
    #expect(board.take(.key(.delete, [])) == [delete("k1")])
    // Until the daemon has answered, the key is for the same row and sends nothing.
    #expect(board.take(.key(.delete, [])) == [])
    board.accepted(
      LiveEvent(widget: Samples.id("w"), node: "t", name: "delete"),
      SendEventResponse(sequence: 1, revision: 2))
    #expect(board.take(.key(.delete, [])) == [delete("k1")])
    try Self.remove("k1", &board, 2)
    #expect(board.focus?.node == "row/k2")
    #expect(board.take(.key(.delete, [])) == [delete("k2")])
    try Self.remove("k2", &board, 3)
    #expect(board.focus?.node == "row/k0")
  }

  /// The daemon removes a row.
  private static func remove(
    _ key: String, _ board: inout LiveBoard, _ revision: Revision
  ) throws {
    let table = try #require(board.panes[Samples.id("w")]?.node("t"))
    var changed = table
    changed.childIDs.removeAll { $0 == "row/\(key)" }
    var update = WidgetUpdate(id: Samples.id("w"), revision: revision, updateTime: .epoch)
    update.content = ContentChange(
      setNodes: [changed], removedIDs: ["row/\(key)", "cell/\(key)"])
    try board.take(
      .changes(
        ChangeSet(fromRevision: revision - 1, toRevision: revision, changes: [.updated(update)])))
  }

  @Test func `every wheel scrolls a horizontal stack under the pointer`() throws {
    var nodes = (0..<9).map {
      Node(id: "h\($0)", type: .label, properties: ["text": .string("item\($0)")])
    }
    nodes.insert(
      Node(
        id: "s", type: .stack,
        properties: [
          "axis": .string("horizontal"), "itemWidth": .double(160), "scroll": .bool(true),
        ], childIDs: nodes.map(\.id)), at: 0)
    var board = try LiveSamples.board([
      LiveSamples.widget("w", content: Content(rootID: "s", nodes: nodes))
    ])
    let row = try #require(LiveSamples.lines(&board).firstIndex { $0.contains("item0") })
    func column() throws -> Int? {
      let line = LiveSamples.lines(&board)[row]
      return line.firstRange(of: "item1").map {
        line.distance(from: line.startIndex, to: $0.lowerBound)
      }
    }
    let start = try #require(try column())
    let turns: [(MouseEvent.Direction, KeyModifiers, Int)] = [
      (.down, [], 3), (.down, .shift, 6), (.right, [], 9), (.up, .shift, 6), (.up, [], 3),
      (.left, [], 0),
    ]
    for (direction, modifiers, distance) in turns {
      _ = board.take(
        .mouse(MouseEvent(action: .wheel(direction), column: 5, row: row, modifiers: modifiers)))
      #expect(try column() == start - distance, "\(direction) \(modifiers)")
    }
  }

  @Test func `reaching the end of a table sends one request for more rows`()
    throws
  {
    var board = try LiveSamples.board(
      [table(["more": .bool(true)], rows: 40, events: ["more"])], rows: 20)
    #expect(board.take(.key(.pageDown, [])) == [])
    #expect(board.take(.key(.end, [])) == [event("more")])
    #expect(board.take(.key(.end, [])) == [])
    board.refused(
      LiveEvent(widget: Samples.id("w"), node: "t", name: "more"), "no")
    #expect(board.take(mouse(.wheel(.down), 5, 5)) == [event("more")])
    let longer = table(["more": .bool(true)], rows: 60, events: ["more"]) { $0.revision = 2 }
    try board.take(
      .changes(
        ChangeSet(
          fromRevision: 1, toRevision: 2,
          changes: [.removed(longer.id, nil)])))
    try board.take(
      .changes(ChangeSet(fromRevision: 2, toRevision: 3, changes: [.added(longer, nil)])))
    #expect(board.take(.key(.home, [])) == [])
    #expect(board.take(.key(.end, [])) == [event("more")])
  }

  @Test func `a table with the same rows is asked for more again after a wait`() throws {
    let clock = Mutex(Timestamp.epoch)
    let now: @Sendable () -> Timestamp = { clock.withLock { $0 } }
    var board = try LiveSamples.board(
      [table(["more": .bool(true)], rows: 40, events: ["more"])], rows: 20
    ) { $0.now = now }
    #expect(board.take(.key(.end, [])) == [event("more")])
    clock.withLock { $0 = $0.advanced(by: LiveBoard.moreWait - .milliseconds(1)) }
    #expect(board.take(.key(.end, [])) == [])
    clock.withLock { $0 = $0.advanced(by: .milliseconds(1)) }
    #expect(board.take(.key(.end, [])) == [event("more")])
    #expect(board.take(mouse(.wheel(.down), 5, 5)) == [])
    // The clock is set back.
    clock.withLock { $0 = .epoch }
    #expect(board.take(.key(.end, [])) == [event("more")])
  }

  @Test func `a table with other rows of the same number is asked for more`() throws {
    var board = try LiveSamples.board(
      [table(["more": .bool(true)], rows: 40, events: ["more"])], rows: 20)
    #expect(board.take(.key(.end, [])) == [event("more")])
    let others = table(["more": .bool(true)], rows: 40, keys: "x", events: ["more"]) {
      $0.revision = 2
    }
    try board.take(
      .changes(
        ChangeSet(fromRevision: 1, toRevision: 2, changes: [.removed(others.id, nil)])))
    try board.take(
      .changes(ChangeSet(fromRevision: 2, toRevision: 3, changes: [.added(others, nil)])))
    #expect(board.take(.key(.home, [])) == [])
    #expect(board.take(.key(.end, [])) == [event("more")])
  }

  /// A stack that scrolls.
  private func stack(_ properties: ValueMap, _ count: Int, _ name: String) -> Widget {
    let items = (0..<count).map {
      Node(id: "\(name)\($0)", type: .label, properties: ["text": .string("\(name)\($0)")])
    }
    var all = properties
    all["scroll"] = .bool(true)
    return LiveSamples.widget(
      "w",
      content: Content(
        rootID: "top",
        nodes: [
          Node(id: "top", type: .stack, childIDs: ["s"]),
          Node(id: "s", type: .stack, properties: all, childIDs: items.map(\.id)),
        ] + items))
  }

  /// The items on the screen.
  private func items(_ board: inout LiveBoard, _ name: String) -> [Int] {
    let text = LiveSamples.lines(&board).joined(separator: "\n")
    return (0..<10).filter { text.contains("\(name)\($0)") }
  }

  @Test func `keys and wheel scroll a stack with paging by pages`() throws {
    var board = try LiveSamples.board([
      stack(
        [
          "axis": .string("horizontal"), "itemWidth": .double(616), "paging": .bool(true),
        ], 6, "item")
    ])
    let row = try #require(LiveSamples.lines(&board).firstIndex { $0.contains("item0") })
    _ = board.take(.key(.tab, []))
    let steps: [(TerminalInput, Int)] = [
      (.key(.right, []), 1), (.key(.pageDown, []), 2), (.key(.pageUp, []), 1),
      (.key(.left, []), 0), (mouse(.wheel(.right), 5, row), 1), (mouse(.wheel(.left), 5, row), 0),
      (.key(.left, []), 0),
    ]
    for (index, (input, item)) in steps.enumerated() {
      _ = board.take(input)
      #expect(items(&board, "item") == [item], "\(index)")
    }
    for _ in 0..<9 { _ = board.take(.key(.pageDown, [])) }
    #expect(items(&board, "item") == [5])
    board = try LiveSamples.board([stack(["height": .double(48), "paging": .bool(true)], 7, "v")])
    _ = board.take(.key(.tab, []))
    #expect(items(&board, "v") == [0, 1, 2])
    _ = board.take(.key(.down, []))
    #expect(items(&board, "v") == [3, 4, 5])
    _ = board.take(.key(.down, []))
    #expect(items(&board, "v") == [4, 5, 6])
    _ = board.take(.key(.up, []))
    #expect(items(&board, "v") == [3, 4, 5])
  }

  @Test func `a focus that moves into a stack with paging scrolls it to a page`() throws {
    var content = try #require(
      stack(["height": .double(48), "paging": .bool(true)], 7, "v").content)
    for index in content.nodes.indices where content.nodes[index].id == "v4" {
      content.nodes[index].type = .button
      content.nodes[index].events = ["press"]
    }
    var board = try LiveSamples.board([LiveSamples.widget("w", content: content)])
    _ = board.take(.key(.tab, []))
    #expect(board.focus?.node == "v4")
    #expect(items(&board, "v") == [3, 4, 5])
  }

  @Test func `the pointer highlights its node, and only a new node repaints`() throws {
    var board = try LiveSamples.board([
      table(["selection": .string("single")], events: ["select"])
    ])
    let row = try #require(LiveSamples.lines(&board).firstIndex { $0.contains("row k1") })
    _ = board.take(mouse(.move, 5, row))
    #expect(board.hover?.node == "row/k1")
    let painted = board.canvas.paintedCount
    _ = board.picture()
    #expect(board.canvas.paintedCount == painted + 1)
    _ = board.take(mouse(.move, 6, row))
    _ = board.picture()
    #expect(board.canvas.paintedCount == painted + 1)
    _ = board.take(.focus(false))
    #expect(board.hover == nil)
  }

  @Test func `dragging marks text in a pane, and letting go copies it`() throws {
    var board = try LiveSamples.board(
      [LiveSamples.widget("a", says: "line", lines: 3), LiveSamples.widget("b", position: 2)],
      columns: 80)
    _ = board.picture()
    let place = try #require(board.frames[Samples.id("a")])
    let (left, first) = (place.x + 2, place.y + 1)
    _ = board.take(mouse(.press(.left), left, first))
    _ = board.take(mouse(.drag(.left), 79, first + 1))
    let marked = board.picture().grid
    #expect(marked[left, first].style.attributes.contains(.reverse))
    // The focus does not leave the pane.
    #expect(!marked[place.endX + 2, first].style.attributes.contains(.reverse))
    #expect(board.take(mouse(.release(.left), 79, first + 1)) == [.copy("line 0\n line 1")])
    #expect(board.take(.key(.character("y"), [])) == [.copy("line 0\n line 1")])
    _ = board.take(.key(.escape, []))
    #expect(board.selection == nil)
  }

  @Test func `a click marks nothing, and a drag backwards marks text too`() throws {
    var board = try LiveSamples.board([LiveSamples.widget("a", says: "line")])
    _ = board.picture()
    _ = board.take(mouse(.press(.left), 7, 1))
    #expect(board.take(mouse(.release(.left), 7, 1)) == [])
    #expect(board.selection == nil)
    _ = board.take(mouse(.press(.left), 7, 1))
    _ = board.take(mouse(.drag(.left), 2, 1))
    #expect(board.take(mouse(.release(.left), 2, 1)) == [.copy("line 0")])
  }
}
