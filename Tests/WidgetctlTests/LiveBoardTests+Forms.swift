import Synchronization
import Testing
import WidgetClient
import WidgetLayout
import WidgetModel
import WidgetProto
import WidgetRender
import WidgetTerminal

@testable import widgetctl

/// Forms, inputs and typed text.
extension LiveBoardTests {
  @Test func `a view of one widget begins in the first input of its form`() throws {
    var board = try LiveSamples.board([Self.widget("f", Self.form)]) { $0.focusesFirst = true }
    #expect(board.focus?.node == "title")
    #expect(type(&board, "milk") == [])
    #expect(lines(board).contains { $0.contains("milk") })
    // Later frames leave the focus to the user.
    press(&board, .escape)
    try board.take(.synced(WatchSynced(revision: 2)))
    #expect(board.focus == nil)
    #expect(try LiveSamples.board([Self.widget("f", Self.form)]).focus == nil)
  }

  @Test func `a view of one widget without a form focuses its only control`() throws {
    func focus(_ nodes: [Node]) throws -> String? {
      let root = Node(id: "box", type: .stack, childIDs: nodes.map(\.id))
      let content = Content(rootID: "box", nodes: [root] + nodes)
      let board = try LiveSamples.board([Self.widget("f", content)]) { $0.focusesFirst = true }
      return board.focus?.node
    }
    func button(_ id: String) -> Node {
      Node(id: id, type: .button, properties: ["text": .string(id)], events: ["press"])
    }
    #expect(try focus([button("a")]) == "a")
    #expect(try focus([button("a"), button("b")]) == nil)
    #expect(try focus([]) == nil)
    // With the focus in a search field, the keys of the view would be typed into it.
    let search = Node(id: "search", type: .input, events: ["change"])
    #expect(try focus([search, button("b")]) == nil)
  }

  @Test func `a form sends the typed values by name, and is empty after its success`() throws {
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
    // The form may still fail.
    #expect(lines(board).contains { $0.contains("milk") })
    board.accepted(
      LiveEvent(widget: Samples.id("f"), node: "new", name: "submit"),
      SendEventResponse(sequence: 1, revision: 1))
    #expect(!lines(board).contains { $0.contains("milk") })
  }

  private static let ticket = Content(
    rootID: "new",
    nodes: [
      Node(
        id: "new", type: .form, properties: ["submit": .string("Add")],
        childIDs: ["title", "soon", "loud"]),
      Node(id: "title", type: .input, properties: ["name": .string("title")]),
      Node(
        id: "soon", type: .toggle, properties: ["name": .string("soon"), "text": .string("Soon")]),
      Node(
        id: "loud", type: .toggle, properties: ["value": .bool(true), "text": .string("Loud")]),
    ])

  @Test func `a toggle with a name is sent with its form, and sends no event before`() throws {
    // A toggle that is sent with its form needs no event.
    var board = try Self.board([Self.widget("f", Self.ticket) { $0.content?.nodes[2].events = [] }])
    func says(_ text: String) -> Bool { lines(board).contains { $0.contains(text) } }
    func submitted(_ soon: Bool) -> [LiveBoard.Effect] {
      [
        .send(
          LiveEvent(
            widget: Samples.id("f"), node: "new", name: "submit",
            payload: ["values": .map(["title": .string(""), "soon": .bool(soon)])]), after: nil)
      ]
    }
    press(&board, .tab, .tab)
    #expect(press(&board, .enter) == [])
    #expect(says("[x] Soon"))
    #expect(press(&board, .enter) == [])
    #expect(says("[ ] Soon"))
    press(&board, .enter)
    // A toggle without a name is not a value of the form: it sends its change.
    press(&board, .tab)
    #expect(
      press(&board, .enter) == [
        .send(
          LiveEvent(
            widget: Samples.id("f"), node: "loud", name: "change", payload: ["value": .bool(false)]),
          after: nil)
      ])
    press(&board, .tab)
    #expect(press(&board, .enter) == submitted(true))
    // The input keeps the user's choice until the form has succeeded.
    #expect(says("[x] Soon"))
    board.refused(LiveEvent(widget: Samples.id("f"), node: "new", name: "submit"), "no")
    #expect(says("[x] Soon"))
    #expect(press(&board, .enter) == submitted(true))
    board.accepted(
      LiveEvent(widget: Samples.id("f"), node: "new", name: "submit"),
      SendEventResponse(sequence: 1, revision: 1))
    #expect(says("[ ] Soon"))
    #expect(press(&board, .enter) == submitted(false))
  }

  /// The board after a form with "milk" was sent as event 7.
  private func sent(_ data: ValueMap, _ now: @escaping @Sendable () -> Timestamp = { .epoch })
    throws -> LiveBoard
  {
    var board = try Self.board([Self.widget("f", Self.form, data: data)], now: now)
    press(&board, .tab, .tab)
    _ = type(&board, "milk")
    press(&board, .enter)
    board.accepted(
      LiveEvent(widget: Samples.id("f"), node: "new", name: "submit"),
      SendEventResponse(sequence: 7, revision: 2))
    return board
  }

  static func status(_ outcome: ValueMap) -> ValueMap {
    ["status": .map(["$outcomes": .map(["7": .map(outcome)])])]
  }

  @Test func `a bundle's form keeps the typed values until the bundle has succeeded`() throws {
    var board = try sent(["status": .map([:])])
    func says(_ data: ValueMap) throws -> Bool {
      var update = WidgetUpdate(id: Samples.id("f"), revision: 3, updateTime: .epoch)
      update.setData = data
      try board.take(
        .changes(ChangeSet(fromRevision: 1, toRevision: 3, changes: [.updated(update)])))
      return lines(board).contains { $0.contains("milk") }
    }
    #expect(lines(board).contains { $0.contains("milk") })
    let isKept = try says(
      Self.status([
        "failed": .bool(true), "title": .string("Not saved"), "message": .string("disk full"),
      ]))
    #expect(isKept)
    #expect(board.notice == "Not saved: disk full")

    board = try sent(["status": .map([:])])
    let isKeptAfterSuccess = try says(Self.status(["failed": .bool(false)]))
    #expect(!isKeptAfterSuccess)
  }

  @Test(arguments: [-1, -2, -3_600] as [Int64])
  func `a bundle's form keeps the typed values if the clock is set back`(step: Int64) throws {
    let clock = Mutex(Timestamp.epoch)
    var board = try sent(["status": .map([:])]) { clock.withLock { $0 } }
    func says(after seconds: Int64) -> Bool {
      clock.withLock { $0 = $0.advanced(by: .seconds(seconds)) }
      board.timeHasPassed(turningSpinners: false)
      return lines(board).contains { $0.contains("milk") }
    }
    let isKept = says(after: step)
    #expect(isKept)
    let isKeptInTheWait = says(after: 9)
    #expect(isKeptInTheWait)
    let isKeptAfterTheWait = says(after: 1)
    #expect(!isKeptAfterTheWait)
  }

  @Test func `the answer to a form does not count for the same form that is sent again`() throws {
    var board = try Self.board([Self.widget("f", Self.form)])
    press(&board, .tab, .tab)
    _ = type(&board, "alpha")
    press(&board, .enter)
    _ = type(&board, " two")
    press(&board, .enter)
    let event = LiveEvent(widget: Samples.id("f"), node: "new", name: "submit")
    board.accepted(event, SendEventResponse(sequence: 1, revision: 1))
    #expect(lines(board).contains { $0.contains("alpha two") })
    board.refused(event, "no")
    #expect(lines(board).contains { $0.contains("alpha two") })
    press(&board, .enter)
    board.accepted(event, SendEventResponse(sequence: 3, revision: 1))
    #expect(!lines(board).contains { $0.contains("alpha") })
  }

  @Test func `a form with wrong fields is not sent, and focuses the first wrong field`() throws {
    var content = Self.form
    for index in content.nodes.indices where content.nodes[index].id == "title" {
      content.nodes[index].properties["required"] = .bool(true)
      content.nodes[index].properties["maxLength"] = .int(5)
    }
    var board = try Self.board([Self.widget("f", content)])
    press(&board, .tab, .tab, .tab)
    #expect(press(&board, .enter) == [])
    #expect(board.notice == "Title is needed")
    #expect(board.focus?.node == "title")
    _ = type(&board, "abcdef")
    #expect(press(&board, .enter) == [])
    #expect(board.notice == "Title takes 5 characters; these are 6")
    press(&board, .backspace)
    press(&board, .tab)
    for wrong in ["nan", "0x1F", "1,5", "inf", "1e999", "--1"] {
      _ = type(&board, wrong)
      #expect(press(&board, .enter) == [], "\(wrong)")
      #expect(board.notice == "count takes a number, such as 12 or 0.5", "\(wrong)")
      press(&board, .character("u"), modifiers: .control)
    }
    _ = type(&board, "1.5")
    #expect(press(&board, .enter).count == 1)
  }

  @Test func `sent text does not come back with a later problem`() throws {
    var board = try sent([:])
    // The event was accepted at revision 2, which has now arrived, so the fields are empty.
    var update = WidgetUpdate(id: Samples.id("f"), revision: 2, updateTime: .epoch)
    try board.take(
      .changes(ChangeSet(fromRevision: 1, toRevision: 2, changes: [.updated(update)])))
    #expect(!lines(board).contains { $0.contains("milk") })
    var title = try #require(Self.taking(Self.form)["title"])
    title.properties["problem"] = .string("needed")
    update.revision = 3
    update.content = ContentChange(setNodes: [title])
    try board.take(
      .changes(ChangeSet(fromRevision: 2, toRevision: 3, changes: [.updated(update)])))
    #expect(!lines(board).contains { $0.contains("milk") })
  }

  @Test func `a long text is shown around its cursor`() throws {
    var board = try Self.board([Self.widget("f", Self.form)], columns: 30)
    press(&board, .tab, .tab)
    _ = type(&board, "abcdefghijklmnopqrstuvwxyz0123456789")
    #expect(lines(board).contains { $0.contains("6789") && !$0.contains("abc") })
    let cursor = try #require(board.picture().cursor)
    #expect(lines(board)[cursor.row].prefix(cursor.column).hasSuffix("789"))
    press(&board, .home)
    #expect(lines(board).contains { $0.contains("abcdef") })
    press(&board, .end)
    #expect(lines(board).contains { $0.contains("6789") })
  }

  @Test(arguments: ["height", "maxHeight"])
  func `a field of several lines with a height scrolls to the cursor`(property: String) throws {
    let content = Content(
      rootID: "box",
      nodes: [
        Node(id: "box", type: .stack, childIDs: ["memo", "next"]),
        Node(
          id: "memo", type: .input,
          properties: [
            "mode": .string("multiline"), "text": .string("Memo"), property: .double(48),
          ]),
        Node(id: "next", type: .label, properties: ["text": .string("next")]),
      ])
    var board = try Self.board([Self.widget("m", content)])
    press(&board, .tab)
    func textAtCursor() throws -> String {
      let cursor = try #require(board.picture().cursor)
      return String(lines(board)[cursor.row].prefix(cursor.column).suffix(3))
    }
    for line in ["AAA", "BBB", "CCC", "DDD"] {
      if line != "AAA" { press(&board, .enter) }
      _ = type(&board, line)
      #expect(try textAtCursor() == line)
    }
    #expect(!lines(board).contains { $0.contains("BBB") })
    // The view moves only when the cursor would leave it.
    press(&board, .up)
    #expect(try textAtCursor() == "CCC")
    #expect(lines(board).contains { $0.contains("DDD") })
    press(&board, .up, .up)
    #expect(try textAtCursor() == "AAA")
    #expect(!lines(board).contains { $0.contains("CCC") })
    let picture = lines(board)
    let last = try #require(picture.firstIndex { $0.contains("BBB") })
    #expect(picture[last + 1].contains("next"))
  }

  @Test func `a field of several lines fits another size of the terminal`() throws {
    let content = Content(
      rootID: "memo",
      nodes: [Node(id: "memo", type: .input, properties: ["mode": .string("multiline")])])
    var board = try Self.board([Self.widget("m", content)])
    press(&board, .tab)
    _ = type(&board, "one two three four five six seven eight nine ten")
    board.resize(TerminalSize(columns: 24, rows: 24))
    let cursor = try #require(board.picture().cursor)
    #expect(lines(board)[cursor.row].prefix(cursor.column).hasSuffix("ten"))
  }

  @Test func `a pasted text keeps its lines in an input of several lines`() throws {
    var content = Self.form
    for index in content.nodes.indices where content.nodes[index].id == "title" {
      content.nodes[index].properties["mode"] = .string("multiline")
    }
    var board = try Self.board([Self.widget("f", content)])
    press(&board, .tab, .tab)
    _ = board.take(.paste("one\rtwo\r\nthree"))
    #expect(board.panes[Samples.id("f")]?.draft("title").text == "one\ntwo\nthree")
    press(&board, .tab)
    _ = board.take(.paste("4\r5"))
    #expect(board.panes[Samples.id("f")]?.draft("count").text == "4 5")
    _ = board.take(.paste("\u{1B}[31m6\u{0}\u{9B}7"))
    #expect(board.panes[Samples.id("f")]?.draft("count").text == "4 567")
  }

  @Test func `typed text stays if the form has problems or the event is refused`() throws {
    for isRefused in [true, false] {
      var board = try Self.board([Self.widget("f", Self.form)])
      press(&board, .tab, .tab)
      _ = type(&board, "milk")
      press(&board, .enter)
      let event = LiveEvent(widget: Samples.id("f"), node: "new", name: "submit")
      if isRefused {
        board.refused(event, "no")
        #expect(board.notice == "no")
      } else {
        board.accepted(event, SendEventResponse(sequence: 1, revision: 2))
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

  @Test func `an input shows the daemon's text when its changes are taken and it is left`() throws {
    var content = Self.form
    for index in content.nodes.indices where content.nodes[index].id == "search" {
      content.nodes[index].properties["value"] = .string("")
    }
    var board = try Self.board([Self.widget("f", content)])
    press(&board, .tab, modifiers: .shift)
    _ = type(&board, "x")
    let event = LiveEvent(
      widget: Samples.id("f"), node: "search", name: "change", payload: ["value": .string("x")])
    press(&board, .tab)
    #expect(board.panes[Samples.id("f")]?.node("search")?.text("value") == "x")
    board.accepted(event, SendEventResponse(sequence: 1, revision: 2))
    #expect(board.panes[Samples.id("f")]?.node("search")?.text("value") == "")
  }

  /// The board after the daemon has set the text of "search".
  private static func saying(_ text: String, _ board: inout LiveBoard, _ revision: Revision) throws
  {
    var search = try #require(taking(form)["search"])
    search.properties["value"] = .string(text)
    var update = WidgetUpdate(id: Samples.id("f"), revision: revision, updateTime: .epoch)
    update.content = ContentChange(setNodes: [search])
    try board.take(
      .changes(
        ChangeSet(
          fromRevision: revision - 1, toRevision: revision, changes: [.updated(update)])))
  }

  @Test func `an input in which only the cursor was moved shows the daemon's text`() throws {
    var board = try Self.board([Self.widget("f", Self.form)])
    try Self.saying("one", &board, 2)
    press(&board, .tab, modifiers: .shift)
    press(&board, .left)
    try Self.saying("two", &board, 3)
    #expect(board.panes[Samples.id("f")]?.node("search")?.text("value") == "two")
    press(&board, .tab)
    try Self.saying("three", &board, 4)
    #expect(board.panes[Samples.id("f")]?.node("search")?.text("value") == "three")
  }

  @Test func `an input that Esc leaves shows the daemon's text again`() throws {
    var board = try Self.board([Self.widget("f", Self.form)])
    try Self.saying("one", &board, 2)
    press(&board, .tab, modifiers: .shift)
    _ = type(&board, "X")
    let event = LiveEvent(
      widget: Samples.id("f"), node: "search", name: "change", payload: ["value": .string("oneX")])
    board.accepted(event, SendEventResponse(sequence: 1, revision: 2))
    press(&board, .escape)
    try Self.saying("three", &board, 3)
    #expect(board.panes[Samples.id("f")]?.node("search")?.text("value") == "three")
  }

  @Test func `an input that takes no change sends none`() throws {
    var widget = Self.widget("f", Self.form)
    for index in widget.content?.nodes.indices ?? 0..<0 {
      widget.content?.nodes[index].events = ["submit"]
    }
    var board = try Self.board([widget])
    press(&board, .tab, modifiers: .shift)
    #expect(board.focus?.node == "search")
    #expect(type(&board, "x") == [])
  }

  @Test func `a text of many rows shows the row with the cursor`() {
    var draft = LiveDraft("")
    for number in 0..<20 {
      draft.insert("l\(number)\n")
      draft.fit(columns: 20, isMultiline: true)
    }
    draft.insert("end")
    draft.fit(columns: 20, isMultiline: true)
    #expect(draft.shownText == ((11...19).map { "l\($0)" } + ["end"]).joined(separator: "\n"))
    #expect(draft.place == (9, 3))
    func up() -> Bool { draft.moveRow(by: -1) }
    for _ in 0..<9 { #expect(up()) }
    draft.fit(columns: 20, isMultiline: true)
    #expect(draft.place == (0, 3) && draft.shownText.hasPrefix("l11\n"))
    #expect(up())
    draft.fit(columns: 20, isMultiline: true)
    #expect(draft.shownText.hasPrefix("l10\n"))
  }

  @Test func `a long line is broken into rows, and the cursor is in one of them`() {
    var draft = LiveDraft(String(repeating: "word ", count: 5) + String(repeating: "x", count: 12))
    draft.fit(columns: 10, isMultiline: true)
    #expect(draft.shownText == "word word \nword word \nword \nxxxxxxxxxx\nxx")
    #expect(draft.place == (4, 2))
    func up() -> Bool { draft.moveRow(by: -1) }
    #expect(up() && up())
    #expect(draft.head == "word word word word wo")
    draft.moveToStart()
    #expect(!up())
    var wide = LiveDraft("漢字漢字漢字")
    wide.fit(columns: 5, isMultiline: true)
    #expect(wide.shownText == "漢字\n漢字\n漢字")
    #expect(wide.place == (2, 4))
  }
}
