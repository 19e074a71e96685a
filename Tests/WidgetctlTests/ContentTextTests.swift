import Testing
import WidgetModel

@testable import widgetctl

/// What nodes look like as text, type by type and together.
struct ContentTextTests {
  private static let now = Samples.time(1_767_323_045)  // 2026-01-02T03:04:05Z

  /// Nodes in the order of the tree; the first is the top.
  private static func text(
    _ nodes: [Node], width: Int? = nil, zone: String = "+02:00"
  ) -> String {
    let dates = DateText(now: now, localZone: { _ in zone })
    return ContentText(width: width, dates: dates)
      .lines(of: Content(rootID: nodes[0].id, nodes: nodes)).joined(separator: "\n")
  }

  private static func node(
    _ type: NodeType?, _ properties: ValueMap = [:], id: String = "n", _ children: [String] = [],
    problem: String = ""
  ) -> Node {
    Node(id: id, type: type, properties: properties, childIDs: children, problem: problem)
  }

  private static func label(_ id: String, _ text: String) -> Node {
    node(.label, ["text": .string(text)], id: id)
  }

  /// A node that has these labels in it, named by their texts.
  private static func around(
    _ type: NodeType?, _ properties: ValueMap = [:], _ texts: String..., extra: ValueMap = [:]
  ) -> [Node] {
    [node(type, properties, id: "top", texts)] + texts.map { label($0, $0) }
  }

  private static func numbers(_ values: Double...) -> Value { .list(values.map { .double($0) }) }

  // MARK: - One node

  @Test(arguments: [
    (node(.label, ["text": .string("Hi")]), "Hi"),
    (node(.label, ["text": .string("one\ntwo\r\nthree")]), "one\ntwo\nthree"),
    (node(.label, ["text": .string("one\ntwo\nthree"), "lines": .int(2)]), "one\ntwo…"),
    (node(.label), ""),
    (node(.image, ["alt": .string("a cat"), "source": .string("/c.png")]), "[a cat]"),
    (node(.image, ["source": .string("/c.png")]), "[/c.png]"),
    (node(.image, ["source": .string("/c.png"), "fallback": .string("x")]), "[/c.png]"),
    (node(.image, ["fallback": .string("no-picture")]), "[no-picture]"),
    (node(.button, ["text": .string("Go")]), "[ Go ]"),
    (node(.button, ["icon": .string("plus")]), "[ plus ]"),
    (node(.toggle, ["text": .string("Wifi"), "value": .bool(true)]), "[x] Wifi"),
    (node(.toggle, ["text": .string("Wifi")]), "[ ] Wifi"),
    (node(.toggle, ["value": .bool(true)]), "[x]"),
    (node(.input, ["text": .string("Name"), "value": .string("Ada")]), "Name: [Ada]"),
    (node(.input, ["text": .string("Name"), "placeholder": .string("yours")]), "Name: [(yours)]"),
    (node(.input, ["value": .string("a\nb")]), "[a ⏎ b]"),
    (node(.input, ["value": .string("hunter2"), "mode": .string("secret")]), "[••••••••]"),
    (
      node(.input, ["text": .string("Age"), "problem": .string("no number")]),
      "Age: []\n! no number"
    ),
    (node(.gauge, ["value": .double(0.425), "text": .string("CPU")]), "CPU [████░░░░░░] 43%"),
    (node(.gauge, ["value": .int(3), "min": .int(1), "max": .int(5)]), "[█████░░░░░] 50%"),
    (node(.gauge, ["value": .double(7)]), "[██████████] 100%"),
    (node(.gauge, ["value": .double(-.infinity)]), "[░░░░░░░░░░] 0%"),
    (node(.gauge, ["text": .string("CPU")]), "CPU [··········] -"),
    (node(.gauge, ["value": .double(1), "max": .double(0)]), "[··········] -"),
    (node(.gauge, ["value": .double(.nan)]), "[··········] -"),
    (node(.chart, ["values": numbers(0, 1, 2, 3, 4, 5, 6, 7)]), "▁▂▃▄▅▆▇█"),
    (node(.chart, ["values": numbers(5, 5)]), "▄▄"),
    (
      node(.chart, ["values": numbers(0, 5), "max": .double(10), "text": .string("Load")]),
      "Load ▁▅"
    ),
    (node(.chart, ["values": .list([.double(0), .null, .double(.nan), .int(1)])]), "▁  █"),
    (node(.chart), ""),
    (
      node(
        .chart,
        [
          "style": .string("bar"), "values": numbers(1, 2.5, 10), "min": .int(0),
          "labels": .list([.string("a"), .string("bcd")]), "text": .string("Sales"),
        ]),
      """
      Sales
      a    ██                    1
      bcd  █████                 2.5
           ████████████████████  10
      """
    ),
    (node(.space), ""),
    (node(.spinner, ["text": .string("Loading")]), "… Loading"),
    (node(.spinner, ["text": .string("Loading"), "active": .bool(false)]), ""),
    (node(.link, ["text": .string("Home"), "url": .string("https://a.b")]), "Home <https://a.b>"),
    (node(.link, ["url": .string("https://a.b")]), "<https://a.b>"),
    (node(.form, ["text": .string("Sign in")]), "Sign in\n[ Submit ]"),
    (node(.form, ["submit": .string("Go")]), "[ Go ]"),
    (node(.label, ["text": .string("gone"), "visible": .bool(false)]), ""),
    (node(.label, ["text": .string("Hi"), "separator": .bool(true)]), "Hi\n──"),
  ])
  func `a node is shown as its type wants`(node: Node, expected: String) {
    #expect(Self.text([node]) == expected)
  }

  @Test func `a bar chart without a scale is half full`() {
    let half = Self.node(.chart, ["style": .string("bar"), "values": Self.numbers(5)])
    #expect(Self.text([half]) == "██████████  5")
  }

  @Test(arguments: [
    ("", "", "", "2026-01-02 05:04"), ("datetime", "", "UTC", "2026-01-02 03:04"),
    ("date", "", "Pacific/Honolulu", "2026-01-01"), ("time", "", "", "05:04"),
    ("time", "", "Asia/Tokyo", "12:04"), ("date", "%H.%M.%S", "UTC", "03.04.05"),
    ("relative", "", "", "now"), ("timer", "", "", "0:00:00"),
    ("", "%Q", "", "2026-01-02T03:04:05Z"), ("", "", "Mars/Base", "2026-01-02T03:04:05Z"),
  ])
  func `a date is formatted in its style and zone`(
    style: String, format: String, zone: String, expected: String
  ) {
    let node = Self.node(
      .date,
      [
        "date": .timestamp(Self.now), "style": .string(style), "format": .string(format),
        "zone": .string(zone),
      ])
    #expect(Self.text([node]) == expected)
  }

  @Test(arguments: [
    ("relative", -300, "5 minutes ago"), ("relative", 7_200, "in 2 hours"),
    ("timer", 299, "0:04:59"), ("timer", -90_061, "25:01:01"),
  ])
  func `what is relative is measured from now`(style: String, seconds: Int, expected: String) {
    let node = Self.node(
      .date,
      [
        "date": .timestamp(Self.now.advanced(by: .seconds(seconds))), "style": .string(style),
      ])
    #expect(Self.text([node]) == expected)
    #expect(ContentText.follows(time: Content(rootID: "n", nodes: [node])))
  }

  // MARK: - Together

  @Test func `stacks put nodes below and beside each other`() {
    #expect(Self.text(Self.around(.stack, [:], "a", "b")) == "a\nb")
    let horizontal: ValueMap = ["axis": .string("horizontal")]
    #expect(Self.text(Self.around(.stack, horizontal, "a", "b\nbb", "c")) == "a  b   c\n   bb")
    #expect(Self.text(Self.around(.stack, horizontal, "日本", "x")) == "日本  x")
  }

  @Test func `a node of an unknown type shows its children`() {
    #expect(Self.text(Self.around(nil, [:], "a", "b")) == "a\nb")
  }

  @Test func `grids align their columns`() {
    #expect(Self.text(Self.around(.grid, [:], "1", "2", "333", "4")) == "1    2\n333  4")
    #expect(
      Self.text(Self.around(.grid, ["columns": .int(3)], "日本", "b", "c", "d", "e"))
        == "日本  b  c\nd     e")
  }

  @Test func `tables have headings and rows, whose stacks are cells`() {
    let headings: Value = .list([.string("NAME"), .string("SIZE")])
    let nodes = [
      Self.node(.table, ["columns": headings], id: "t", ["r/1", "r/2", "hidden", "whole"]),
      Self.node(.stack, id: "r/1", ["a", "b"]), Self.label("a", "swap"), Self.label("b", "2"),
      Self.node(.stack, id: "r/2", ["c", "d"]),
      Self.node(.spinner, ["active": .bool(false)], id: "c"),
      Self.label("d", "10"), Self.node(.stack, ["visible": .bool(false)], id: "hidden"),
      Self.label("whole", "that is all"),
    ]
    #expect(
      Self.text(nodes) == """
        NAME         SIZE
        swap         2
                     10
        that is all
        """)
    let empty: ValueMap = ["columns": headings, "empty": .string("nothing")]
    #expect(Self.text([Self.node(.table, empty)]) == "NAME  SIZE\nnothing")
    #expect(Self.text([Self.node(.table, ["empty": .string("nothing")])]) == "nothing")
    let more: ValueMap = ["columns": headings, "more": .bool(true)]
    #expect(Self.text([Self.node(.table, more)]) == "NAME  SIZE\n…")
  }

  @Test func `buttons, links and forms have their children in them`() {
    #expect(Self.text(Self.around(.button, ["text": .string("Go")], "a", "b")) == "[ Go  a  b ]")
    #expect(Self.text(Self.around(.button, [:], "a\nb")) == "[ a\n  b ]")
    #expect(Self.text(Self.around(.link, ["url": .string("u:")], "a")) == "a <u:>")
    #expect(
      Self.text(Self.around(.form, ["text": .string("F"), "submit": .string("OK")], "a"))
        == "F\na\n[ OK ]")
  }

  @Test func `what is hidden hides what is in it`() {
    #expect(Self.text(Self.around(.stack, ["visible": .bool(false)], "a")) == "")
  }

  @Test func `space is an empty line, or more room`() {
    let nodes = [Self.node(.stack, id: "top", ["a", "s", "b"]), Self.label("a", "a")]
    let rest = [Self.node(.space, id: "s"), Self.label("b", "b")]
    #expect(Self.text(nodes + rest) == "a\n\nb")
    var horizontal = nodes
    horizontal[0].properties["axis"] = .string("horizontal")
    #expect(Self.text(horizontal + rest) == "a    b")
  }

  @Test func `what a placeholder stands in for is told only to who asks`() {
    let node = Self.node(
      .label, ["text": .string("--")], id: "a", problem: "text: no such key: 'load'")
    let content = Content(rootID: "a", nodes: [node])
    var text = ContentText(width: nil, dates: DateText(now: .epoch))
    #expect(text.lines(of: content) == ["--"])
    text.tellsAll = true
    #expect(text.lines(of: content) == ["--", "! a: text: no such key: 'load'"])
    var widget = Samples.widget
    widget.content = content
    #expect(
      Table.nodes(of: [widget]).text(width: nil, Samples.plain).hasSuffix(
        "text=\"--\"  ! text: no such key: 'load'\n"))
  }

  @Test func `problems are told at the end, also those of what is hidden`() {
    let nodes = [
      Self.node(.stack, id: "top", ["a"], problem: "x: first"),
      Self.node(.label, ["visible": .bool(false)], id: "a", problem: "text: no\nsuch key"),
    ]
    #expect(Self.text(nodes) == "! top: x: first\n! a: text: no ⏎ such key")
  }

  // MARK: - Bounds

  @Test func `lines keep within the terminal`() {
    #expect(
      Self.text([Self.label("n", "the quick brown fox")], width: 10) == "the quick\nbrown fox")
    #expect(Self.text([Self.label("n", "日本語日本語")], width: 9) == "日本語日\n本語")
    #expect(Self.text([Self.label("n", "abcdefghijkl mn")], width: 8) == "abcdefgh\nijkl mn")
    let button = Self.node(.button, ["text": .string("much too long")])
    #expect(Self.text([button], width: 10) == "[ much to…")
    let chart = Self.node(.chart, ["values": Self.numbers(9, 9, 0, 1, 2, 3, 4, 5, 6, 7)])
    #expect(Self.text([chart], width: 8) == "▁▂▃▃▄▅▆▆")
  }

  @Test func `nothing from the daemon acts on the terminal`() {
    let evil = "\u{1B}[31m\u{7}\u{202E}x"
    let properties: ValueMap = [
      "text": .string(evil), "value": .string(evil), "url": .string(evil), "alt": .string(evil),
      "problem": .string(evil), "placeholder": .string(evil), "submit": .string(evil),
      "columns": .list([.string(evil)]), "labels": .list([.string(evil)]), "empty": .string(evil),
      "icon": .string(evil), "style": .string("bar"), "values": Self.numbers(1),
      "format": .string(evil), "date": .timestamp(Self.now),
    ]
    for type in NodeType.allCases {
      let text = Self.text([Node(id: evil, type: type, properties: properties, problem: evil)])
      #expect(!text.unicodeScalars.contains { $0.actsOnTerminal && $0 != "\n" }, "\(type)")
      #expect(text.contains("\\u{1b}"), "\(type)")
    }
  }

  @Test func `circles end, and a node is shown once`() {
    let nodes = [
      Self.node(.stack, id: "a", ["b", "a", "x", "b"]), Self.node(.stack, id: "b", ["a", "x"]),
      Self.label("x", "x"),
    ]
    #expect(Self.text(nodes) == "x")
    #expect(Self.text([Self.node(.stack, id: "a", ["nope"])]) == "")
  }

  @Test func `what is nested without end is cut`() {
    let nodes = (0..<100_000).map { Self.node(.stack, id: "n\($0)", ["n\($0 + 1)"]) }
    #expect(Self.text(nodes) == "…")
  }
}

/// Widgets as people see them.
struct WidgetTextTests {
  private static let text = WidgetText(
    painter: Samples.plain, content: ContentText(width: nil, dates: DateText(now: .epoch)))

  @Test func `without content it is the data, a line a key`() {
    var widget = Samples.widget
    widget.presence = Presence()
    widget.data = [
      "n": .int(1), "list": .list([.int(1), .string("a")]), "none": .null, "half": .double(0.5),
      "text": .string("12\n00\u{1B}"),
    ]
    #expect(
      Self.text.lines(of: widget, isTitled: false, isKindKnown: true) == [
        "half: 0.5", "list: [1,\"a\"]", "n: 1", "none: ", "text: 12 ⏎ 00\\u{1b}",
      ])
    #expect(
      Self.text.lines(of: widget, isTitled: true, isKindKnown: false).prefix(2)
        == ["clock", "unknown kind \"clock\""])
  }

  @Test func `what is wrong with it is in the first line`() {
    var widget = Samples.widget
    widget.content = Content(
      rootID: "a", nodes: [Node(id: "a", type: .label, properties: ["text": .string("Hi")])])
    #expect(
      Self.text.lines(of: widget, isTitled: false, isKindKnown: false) == ["clock, disabled", "Hi"])
    widget.isStale = true
    widget.error = WidgetError(reason: "NO_DATA", message: "nothing\ncame")
    widget.presence = Presence(isVisible: false)
    #expect(
      Self.text.lines(of: widget, isTitled: false, isKindKnown: true)
        == ["clock, hidden, stale, NO_DATA: nothing ⏎ came", "Hi"])
    widget = Samples.widget
    widget.presence = Presence()
    #expect(Self.text.lines(of: widget, isTitled: true, isKindKnown: true)[0] == "clock")
  }

  @Test func `a page has an empty line between widgets`() {
    var widget = Samples.widget
    widget.presence = Presence()
    widget.data = ["n": .int(1)]
    let page = ViewPage(ids: [], isTitled: true, painter: Samples.plain)
    let unknown = KindNames(unknown: [widget.kind])
    #expect(
      page.lines(of: [widget, widget], kinds: unknown, now: .epoch, width: 12) == [
        "clock", "unknown kin…", "n: 1", "", "clock", "unknown kin…", "n: 1",
      ])
  }
}
