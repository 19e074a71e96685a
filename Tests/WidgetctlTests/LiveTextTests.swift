import Testing
import WidgetClient
import WidgetLayout
import WidgetModel
import WidgetProto
import WidgetRender
import WidgetTerminal

@testable import widgetctl

/// Selected text in the inputs of a dashboard.
@Suite struct LiveTextTests {
  private func board(
    _ properties: ValueMap = [:], look: CellLook = CellLook(usesColor: false)
  ) throws -> LiveBoard {
    var properties = properties
    if properties["value"] == nil { properties["value"] = .string("hello world") }
    var board = try LiveSamples.board(
      [
        LiveSamples.widget(
          "w",
          content: Content(
            rootID: "in",
            nodes: [Node(id: "in", type: .input, properties: properties, events: ["change"])]))
      ], look: look)
    _ = board.take(.key(.tab, []))
    return board
  }

  private func text(_ board: LiveBoard) -> String? { board.focusedDraft?.text }

  @discardableResult
  private func press(
    _ board: inout LiveBoard, _ key: TerminalKey, _ modifiers: KeyModifiers = [], times: Int = 1
  ) -> [LiveBoard.Effect] {
    (0..<times).flatMap { _ in board.take(.key(key, modifiers)) }
  }

  static let selections: [(TerminalKey, KeyModifiers, Int, String)] = [
    (.left, .shift, 5, "world"), (.home, .shift, 1, "hello world"),
    (.character("a"), .control, 1, "hello world"), (.up, .shift, 1, "hello world"),
  ]

  @Test(arguments: selections)
  func `keys select text, and typed text replaces it`(
    key: TerminalKey, modifiers: KeyModifiers, times: Int, selected: String
  ) throws {
    var board = try board()
    press(&board, key, modifiers, times: times)
    #expect(board.focusedDraft?.selectedText == selected)
    press(&board, .character("x"))
    #expect(text(board) == "hello world".dropLast(selected.count) + "x")
    #expect(board.focusedDraft?.selection.isEmpty == true)
  }

  @Test func `a selection can go from the start to the end`() throws {
    var board = try board()
    press(&board, .home)
    press(&board, .right, .shift, times: 2)
    #expect(board.focusedDraft?.selectedText == "he")
    press(&board, .end, .shift)
    #expect(board.focusedDraft?.selectedText == "hello world")
  }

  @Test(arguments: [TerminalKey.backspace, .delete])
  func `deleting deletes only the selection`(key: TerminalKey) throws {
    var board = try board()
    press(&board, .left, .shift, times: 6)
    press(&board, key)
    #expect(text(board) == "hello")
  }

  @Test func `pasted text replaces the selection`() throws {
    var board = try board()
    press(&board, .character("a"), .control)
    _ = board.take(.paste("new"))
    #expect(text(board) == "new")
  }

  @Test(arguments: [(TerminalKey.left, 6), (.right, 11)])
  func `an arrow ends the selection at its edge`(key: TerminalKey, cursor: Int) throws {
    var board = try board()
    press(&board, .left, .shift, times: 5)
    press(&board, key)
    #expect(board.focusedDraft?.selection.isEmpty == true)
    #expect(board.focusedDraft?.cursor == cursor)
  }

  @Test func `Ctrl+C copies the selection, and quits without one`() throws {
    var board = try board()
    press(&board, .left, .shift, times: 5)
    #expect(press(&board, .character("c"), .control) == [.copy("world")])
    #expect(board.notice == "copied 5 characters")
    #expect(text(board) == "hello world")
    #expect(press(&board, .character("d"), .control) == [.quit])
    press(&board, .right)
    #expect(press(&board, .character("c"), .control) == [.quit])
  }

  @Test func `Ctrl+X cuts the selection`() throws {
    var board = try board()
    press(&board, .left, .shift, times: 6)
    #expect(press(&board, .character("x"), .control).first == .copy(" world"))
    #expect(text(board) == "hello")
  }

  @Test func `a read-only input is focused and copied, and not changed`() throws {
    var board = try board(["readOnly": .bool(true), "value": .string("token")])
    #expect(board.focusedInput?.node == "in")
    press(&board, .character("a"), .control)
    #expect(press(&board, .character("c"), .control) == [.copy("token")])
    #expect(press(&board, .character("x"), .control) == [.copy("token")])
    for key in [TerminalKey.character("x"), .delete, .backspace] { press(&board, key) }
    _ = board.take(.paste("other"))
    #expect(text(board) == "token")
  }

  @Test func `a secret is not copied`() throws {
    var board = try board(["mode": .string("secret")])
    press(&board, .character("a"), .control)
    #expect(press(&board, .character("c"), .control) == [])
    #expect(press(&board, .character("x"), .control) == [])
    #expect(board.notice == "a secret is not copied")
    #expect(text(board) == "hello world")
  }

  @Test(arguments: [false, true])
  func `selected text has the colours of a selection`(usesColor: Bool) throws {
    let look = CellLook(usesColor: usesColor)
    var board = try board(look: look)
    press(&board, .left, .shift, times: 5)
    let grid = board.picture().grid
    let line = LiveSamples.lines(&board)[1]
    let column = try #require(
      line.indices.firstIndex { line[$0...].hasPrefix("world") }
        .map { line.distance(from: line.startIndex, to: line.indices[$0]) })
    let color = look.theme.color("color.selected", look.appearance)
    func isMarked(_ column: Int) -> Bool {
      let style = grid[column, 1].style
      guard usesColor, let color else { return style.attributes.contains(.reverse) }
      return style.background == .rgb(color.red, color.green, color.blue)
    }
    #expect((column..<column + 5).allSatisfy(isMarked))
    #expect(!isMarked(column - 1))
    #expect(!isMarked(column + 5))
    // Without the selection, nothing is marked: the picture is not taken from the cache.
    press(&board, .right)
    let after = board.picture().grid
    #expect(after[column, 1].style != grid[column, 1].style)
  }

  @Test func `rows are selected, with the newline between them`() throws {
    var draft = LiveDraft("ab\ncde\nf")
    draft.fit(columns: 20, isMultiline: true)
    draft.moveToStart()
    draft.move(by: 1)
    _ = draft.moveRow(by: 1, selects: true)
    #expect(draft.selectedText == "b\nc")
    #expect(draft.selectedColumns.map(\.row) == [0, 1])
    #expect(draft.selectedColumns.map(\.columns) == [1..<3, 0..<1])
  }

  @Test func `the filter has a selection too`() throws {
    var board = try LiveSamples.board([LiveSamples.widget("a")])
    press(&board, .character("/"))
    for letter in "feed" { press(&board, .character(letter)) }
    press(&board, .left, .shift, times: 2)
    #expect(press(&board, .character("c"), .control) == [.copy("ed")])
    let grid = board.picture().grid
    #expect(grid[3, 23].style.attributes.contains(.reverse))
    #expect(!grid[2, 23].style.attributes.contains(.reverse))
    press(&board, .character("a"), .control)
    press(&board, .character("a"))
    #expect(board.filter?.text == "a")
  }
}

/// Scrolling nodes of a dashboard with the keys.
@Suite struct LiveScrollTests {
  /// A scrolling stack of some rows, with its neighbours.
  private func board(_ type: NodeType, events: [String], rows: Int = 12) throws -> LiveBoard {
    let items = (0..<rows).map { index in
      Node(
        id: "row\(index)", type: type, properties: ["text": .string("row \(index).")],
        events: events)
    }
    return try LiveSamples.board([
      LiveSamples.widget(
        "w",
        content: Content(
          rootID: "top",
          nodes: [
            Node(id: "top", type: .stack, childIDs: ["before", "list", "after"]),
            Node(
              id: "before", type: .button, properties: ["text": .string("before")],
              events: ["press"]),
            Node(
              id: "list", type: .stack,
              properties: ["scroll": .bool(true), "height": .double(64)], childIDs: items.map(\.id)),
            Node(
              id: "after", type: .button, properties: ["text": .string("after")], events: ["press"]),
          ] + items))
    ])
  }

  private func seen(_ board: inout LiveBoard) -> [Int] {
    let text = LiveSamples.lines(&board).joined()
    return (0..<12).filter { text.contains("row \($0).") }
  }

  @discardableResult
  private func press(_ board: inout LiveBoard, _ keys: TerminalKey...) -> [LiveBoard.Effect] {
    keys.flatMap { board.take(.key($0, [])) }
  }

  @Test func `a list of texts takes the focus, and the keys scroll it`() throws {
    var board = try board(.label, events: [])
    let first = seen(&board)
    #expect(first.first == 0 && first.count < 12)
    press(&board, .tab, .tab)
    #expect(board.focus?.node == "list" && board.focus?.kind == .scroll)
    press(&board, .down)
    #expect(seen(&board).first == 1)
    press(&board, .pageDown)
    #expect(seen(&board).first == first.count)
    press(&board, .pageDown, .pageDown)
    #expect(seen(&board).last == 11)
    #expect(press(&board, .enter) == [])
    // At the end of the list, the arrow moves the focus.
    press(&board, .down)
    #expect(board.focus?.node == "after")
    press(&board, .up)
    #expect(board.focus?.node == "list")
    press(&board, .pageUp, .pageUp, .pageUp)
    #expect(seen(&board).first == 0)
    press(&board, .up)
    #expect(board.focus?.node == "before")
  }

  @Test func `a list that shows all its rows takes no focus`() throws {
    var board = try board(.label, events: [], rows: 2)
    press(&board, .tab, .tab)
    #expect(board.focus?.node == "after")
  }

  @Test func `the scroll mark of a text list shows the focus`() throws {
    var board = try board(.label, events: [])
    press(&board, .tab)
    let before = board.picture().grid
    press(&board, .tab)
    let after = board.picture().grid
    let marks = (0..<24).flatMap { row in (0..<80).map { (column: $0, row: row) } }
      .filter { after[$0.column, $0.row].character == "▐" }
    #expect(!marks.isEmpty)
    #expect(marks.allSatisfy { after[$0.column, $0.row].style.attributes.contains(.bold) })
    #expect(marks.allSatisfy { !before[$0.column, $0.row].style.attributes.contains(.bold) })
    // The text has the same look as before.
    #expect(!after[3, 3].style.attributes.contains(.reverse))
  }

  @Test func `Tab and arrows show the control that they focus`() throws {
    var board = try board(.button, events: ["press"])
    press(&board, .tab)
    for row in 0..<12 {
      press(&board, row % 2 == 0 ? .tab : .down)
      #expect(board.focus?.node == "row\(row)")
      #expect(seen(&board).contains(row))
    }
    press(&board, .down)
    #expect(board.focus?.node == "after")
    // A hidden row is not a neighbour. The neighbour is the last visible row.
    press(&board, .up)
    #expect(board.focus?.node == "row11")
    press(&board, .pageUp)
    let node = try #require(board.focus?.node)
    #expect(seen(&board).contains { "row\($0)" == node })
  }

  @Test func `focusing scrolls only the nodes around the control`() throws {
    func list(_ id: String) -> [Node] {
      let items = (0..<12).map { index in
        Node(
          id: "\(id)\(index)", type: .button, properties: ["text": .string("\(id) \(index).")],
          events: ["press"])
      }
      return [
        Node(
          id: id, type: .stack, properties: ["scroll": .bool(true), "height": .double(64)],
          childIDs: items.map(\.id))
      ] + items
    }
    var board = try LiveSamples.board([
      LiveSamples.widget(
        "w",
        content: Content(
          rootID: "top",
          nodes: [Node(id: "top", type: .stack, childIDs: ["one", "two"])] + list("one")
            + list("two")))
    ])
    _ = board.take(.key(.tab, .shift))
    #expect(board.focus?.node == "two11")
    let first = LiveSamples.lines(&board).joined()
    #expect(first.contains("two 11.") && first.contains("one 0."))
    press(&board, .tab)
    for _ in 0..<23 { press(&board, .tab) }
    #expect(board.focus?.node == "two11")
    let text = LiveSamples.lines(&board).joined()
    #expect(text.contains("two 11.") && text.contains("one 11."))
    press(&board, .tab)
    #expect(board.focus?.node == "one0")
    let again = LiveSamples.lines(&board).joined()
    #expect(again.contains("one 0.") && again.contains("two 11."))
  }
}

/// Characters of several code points that are typed one code point after the other.
@Suite struct ComposedTextTests {
  private func typed(_ codePoints: String) -> LiveDraft {
    var draft = LiveDraft("")
    for codePoint in codePoints.unicodeScalars { draft.insert(String(codePoint)) }
    return draft
  }

  @Test(arguments: [
    (
      "ab\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}",
      "abX\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}", "ab"
    ),
    ("e\u{301}", "Xe\u{301}", ""),
    (
      "\u{1F1E9}\u{1F1EA}\u{1F1EB}\u{1F1F7}", "\u{1F1E9}\u{1F1EA}X\u{1F1EB}\u{1F1F7}",
      "\u{1F1E9}\u{1F1EA}"
    ),
  ])
  func `several code points of one character are one step for the cursor`(
    codePoints: String, inserted: String, deleted: String
  ) {
    var draft = typed(codePoints)
    #expect(draft.text == codePoints && draft.cursor == codePoints.count)
    draft.move(by: -1)
    draft.insert("X")
    // Compared by code points: equal texts can have different ones.
    #expect(Array(draft.text.unicodeScalars) == Array(inserted.unicodeScalars))
    draft = typed(codePoints)
    draft.deleteBackward()
    #expect(Array(draft.text.unicodeScalars) == Array(deleted.unicodeScalars))
  }

  @Test func `two marks join when the character between them is deleted`() {
    var draft = LiveDraft("ex\u{1F1E9}")
    draft.move(by: -1)
    draft.deleteBackward()
    draft.insert("\u{301}")
    #expect(draft.text == "e\u{301}\u{1F1E9}" && draft.cursor == 1)
    draft.deleteForward()
    #expect(draft.text == "e\u{301}" && draft.cursor == 1)
  }
}
