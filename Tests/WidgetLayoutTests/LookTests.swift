import NodeSamples
import Testing
import WidgetModel

@testable import WidgetLayout

/// The look of nodes in cells. `Canvas` draws brackets, lines and bars around the texts.
@Suite struct LookTests {
  @Test(arguments: [
    (Tree.label("Hello"), 20, [" Hello"]),
    (.label("one two three"), 9, [" one two", " three"]),
    (.label("one two three", ["lines": 1]), 9, [" one tw…"]),
    (.label("one two three four", ["lines": 2]), 9, [" one two", " three…"]),
    (.label("日本語です"), 8, [" 日本語", " です"]),
    (.label("a\nb"), 8, [" a", " b"]),
    (.label("\u{1B}[2J"), 12, [" \\u{1b}[2J"]),
    (.label("right", ["align": "end"]), 12, ["      right"]),
    (.label("mid", ["align": "center"]), 11, ["    mid"]),
    (.button("Press"), 20, [" [ Press ]"]),
    (.button("Press"), 9, [" [ Pr… ]"]),
    (Tree(.button, ["icon": "bell"]), 20, [" [ bell ]"]),
    (Tree(.button, [.label("All"), .label("5")]), 20, [" [  All   5  ]"]),
    (Tree(.toggle, ["text": "Wi-Fi"]), 20, [" [x] Wi-Fi"]),
    (Tree(.toggle), 20, [" [x]"]),
    (Tree(.toggle, ["text": "Wi-Fi"]), 9, [" [x] Wi…"]),
    (Tree(.toggle, ["text": "Wi-Fi"]), 7, [" [x] …"]),
    (Tree(.toggle, ["text": "Wi-Fi"]), 6, [" [x]…"]),
    (Tree(.toggle, ["text": "Wi-Fi"]), 5, [" [x]"]),
    (Tree(.input, ["text": "Name", "value": "Ada"]), 24, [" Name: [Ada           ]"]),
    (Tree(.input, ["text": "Name", "value": "Ada"]), 14, [" Name:", " [Ada       ]"]),
    (Tree(.input, ["value": "hunter2", "mode": "secret"]), 14, [" [••••••••  ]"]),
    (Tree(.input, ["value": "a\nb"]), 14, [" [a ⏎ b     ]"]),
    (
      Tree(.input, ["mode": "multiline", "value": "a\nb"]), 14,
      [" [a", "  b", "            ]"]
    ),
    (
      Tree(.input, ["placeholder": "Search", "problem": "Too short for that"]), 16,
      [" [Search      ]", " Too short for", " that"]
    ),
    (Tree(.gauge, ["value": 0.5]), 40, [" [====================] 50%"]),
    (Tree(.gauge, ["value": 0.5, "text": "Disk"]), 20, [" Disk [======] 50%"]),
    (Tree(.gauge), 40, [" [====================] -"]),
    (
      Tree(.chart, ["values": [1, 2], "text": "Load"]), 8,
      [" Load", " ~~~~~~", " ~~~~~~", " ~~~~~~", " ~~~~~~"]
    ),
    (Tree(.chart, ["values": [1, 2], "style": "sparkline", "text": "Load"]), 12, [" Load ~~~~~"]),
    (
      Tree(.chart, ["values": [1, 2.5], "style": "bar", "labels": ["a", "bb"], "text": "Load"]), 14,
      [" Load", " a  ===== 1", " bb ===== 2.5"]
    ),
    (Tree(.image, ["alt": "A cat"]), 14, [" [A cat]"]),
    (Tree(.image, ["alt": "A cat", "height": 32]), 14, [" ~~~~", " ~~~~"]),
    (Tree(.image, ["fallback": "moon"]), 14, [" [moon]"]),
    (Tree(.image, ["source": "", "fallback": "moon"]), 14, [" [moon]"]),
    (Tree(.image, ["source": "sun", "fallback": "moon"]), 14, [" [sun]"]),
    (Tree(.image, ["fallback": "moon", "height": 32]), 14, [" ~~~~", " ~~~~"]),
    (Tree(.image), 14, [" [image]"]),
    (Tree(.spinner, ["text": "Loading"]), 14, [" … Loading"]),
    (Tree(.spinner, ["text": "Loading", "active": false]), 14, []),
    (Tree(.date, ["format": "12:00"]), 14, [" 12:00"]),
    (Tree(.link, ["text": "Site", "url": "https://a.b"]), 22, [" Site <https://a.b>"]),
    (
      Tree(.form, ["text": "New", "submit": "Add"], [Tree(.input, ["text": "Title"])]), 24,
      [" New", " Title: [             ]", " [ Add ]"]
    ),
    (Tree(nil, [.label("inside"), .label("what is new")]), 14, [" inside", " what is new"]),
    (Tree(.label, ["text": 5]), 14, [" 5"]),
  ])
  func `a node has its look in a narrow and in a wide row`(
    _ tree: Tree, _ width: Int, _ lines: [String]
  ) {
    #expect(Tree.column(tree).drawn(width) == lines)
  }

  // MARK: - Stacks

  @Test(arguments: [
    ("start", [" ab", " abcd"]), ("center", ["    ab", "   abcd"]),
    ("end", ["       ab", "     abcd"]),
    ("fill", [" ab", " abcd"]),
  ])
  func `children of a stack are aligned left, centre or right, or fill it`(
    _ align: String, _ lines: [String]
  ) throws {
    let tree = Tree.column(["crossAlign": .string(align)], .label("ab"), .label("abcd"))
    #expect(tree.drawn(10) == lines)
    let frames = tree.layout(10).placed.dropFirst().map(\.frame.width)
    #expect(frames == (align == "fill" ? [10, 10] : [4, 6]))
  }

  @Test(arguments: [
    ("start", [" a", " b", "", ""]), ("center", ["", " a", " b", ""]),
    ("end", ["", "", " a", " b"]),
    ("between", [" a", "", "", " b"]), ("fill", [" a", "", " b", ""]),
    ("equal", [" a", "", " b", ""]),
  ])
  func `a stack spreads its children over a height`(_ distribution: String, _ lines: [String]) {
    let tree = Tree.column(
      ["distribution": .string(distribution)], .label("a"), .label("b"))
    #expect(tree.drawn(6, height: 4) == lines)
  }

  @Test(arguments: [
    ("start", " a  b"), ("center", "        a  b"), ("end", "               a  b"),
    ("between", " a                b"), ("fill", " a         b"), ("equal", " a         b"),
  ])
  func `a row spreads its children over its width`(_ distribution: String, _ line: String) {
    let tree = Tree.row(["distribution": .string(distribution)], .label("a"), .label("b"))
    #expect(tree.drawn(20) == [line])
  }

  @Test func `a row of equal children has equal columns while there is room for their controls`() {
    let tree = Tree.row(["distribution": "equal"], .label("a long text"), .button("Press"))
    let widths = { (width: Int) in tree.layout(width).placed.dropFirst().map(\.frame.width) }
    #expect(widths(30) == [15, 15])
    #expect(widths(21) == [10, 11])
  }

  @Test func `a long label wraps and grows`() {
    let tree = Tree.column(.label("one two three four five"), .label("next"))
    #expect(tree.drawn(30) == [" one two three four five", " next"])
    #expect(tree.drawn(12) == [" one two", " three four", " five", " next"])
    #expect(tree.layout(12).size.height == 4)
  }

  @Test func `text in a row shrinks before controls do`() {
    let tree = Tree.row(
      .label("a text of many words", ["lines": 1]), .button("Go"),
      Tree(.toggle, ["text": "On"]))
    #expect(tree.drawn(50) == [" a text of many words  [ Go ]  [x] On"])
    #expect(tree.drawn(30) == [" a text of m…  [ Go ]  [x] On"])
    #expect(tree.drawn(20) == [" a…  [ Go ]  [x] On"])
    #expect(tree.drawn(17) == [" …  [ Go ]  [x]…"])
  }

  @Test func `the longest text shrinks first`() {
    let tree = Tree.row(.label("short"), .label("a very long text", ["lines": 1]))
    #expect(tree.drawn(20) == [" short  a very lon…"])
  }

  @Test func `spare room goes to nodes that grow`() {
    let tree = Tree.row(.label("a", ["grow": 1]), .label("b"), .label("c", ["grow": 2]))
    #expect(tree.layout(30).placed.dropFirst().map(\.frame.width) == [10, 3, 17])
    #expect(Tree.row(.label("a"), Tree(.space), .label("b")).drawn(12) == [" a        b"])
    #expect(
      Tree.column(.label("a"), Tree(.space), .label("b")).drawn(9, height: 4)
        == [" a", "", "", " b"])
    #expect(
      Tree.row(.label("a"), Tree(.space, ["size": 32]), .label("b")).drawn(12) == [" a      b"])
  }

  @Test func `a control is aligned in its room`() {
    let toggle = { (align: Value) in
      Tree.row(Tree(.toggle, ["text": "On", "grow": 1, "align": align]), .label("x"))
    }
    #expect(toggle("start").drawn(20) == [" [x] On           x"])
    #expect(toggle("center").drawn(20) == ["     [x] On       x"])
    #expect(toggle("end").drawn(20) == ["          [x] On  x"])
  }

  @Test func `a node in a row is never narrower than minWidth or wider than maxWidth`() {
    let tree = Tree.row(
      .label("a", ["minWidth": 80]), .label("b", ["grow": 1, "maxWidth": 40]),
      .label("c", ["width": 48]))
    #expect(tree.layout(60).placed.dropFirst().map(\.frame.width) == [10, 5, 6])
  }

  @Test func `layers share one place`() {
    let tree = Tree.column(
      ["axis": "layered", "crossAlign": "start"], .label("below"), .label("up"))
    let placed = tree.layout(20).placed
    #expect(placed[1].frame.x == placed[2].frame.x && placed[1].frame.y == placed[2].frame.y)
    #expect(placed[0].frame.height == 1)
  }

  // MARK: - Room that is reserved

  @Test func `a separator has a line of its own`() {
    let tree = Tree.column(
      .label("one", ["separator": true]), .label("two", ["separator": false]), .label("three"))
    #expect(tree.drawn(9) == [" one", " ───────", " two", " three"])
    let dividing = Tree.column(
      ["divider": true], .label("one"), .label("two", ["separator": false]), .label("three"),
      .label("four"))
    #expect(
      dividing.drawn(9) == [" one", " ───────", " two", " three", " ───────", " four"])
  }

  @Test func `a row that divides its children has a line between them`() {
    let row = Tree.row(
      ["divider": true], Tree.column(.label("one"), .label("two")), .label("three"), .label("x"))
    #expect(row.drawn(24) == [" one │ three │ x", " two │       │"])
    // A row that is too narrow for lines has none.
    for width in 0...24 { _ = row.drawn(width) }
    #expect(Tree.row(["divider": true], .label("one")).drawn(9) == [" one"])
  }

  @Test func `an accessory has a column of its own`() {
    for width in 0...30 {
      let tree = Tree.column(
        .label("a text of many words", ["accessory": "disclosure", "separator": true]))
      let node = tree.layout(width).placed[1]
      for text in node.texts {
        #expect(!text.frame.overlaps(node.accessory ?? .zero), "width \(width)")
        #expect(!text.frame.overlaps(node.separator ?? .zero), "width \(width)")
      }
    }
    #expect(
      Tree.column(.label("words", ["accessory": "disclosure"])).drawn(14) == [" words    >"])
  }

  @Test func `a row of a table is as high as its accessory`() {
    let rows = ["a", "b"].map { id in
      Tree.row(["accessory": ["node": .string(id)]], .label("Job"), .label("1\n2\n3", id: id))
    }
    let tree = Tree(.table, rows)
    #expect(tree.drawn(14).prefix(3) == ["            1", " Job        2", "            3"])
    #expect(tree.layout(14).size.height == 6)
    #expect(!tree.layout(14).isClipped)
  }

  @Test(arguments: [
    (1, [" [ Add ]"]), (2, [" A long", " [ Add ]"]), (3, [" A long", " title", " [ Add ]"]),
  ])
  func `the button of a form has room before its title`(height: Int, drawn: [String]) {
    let form = Tree(.form, ["text": "A long title", "submit": "Add"])
    #expect(form.drawn(10, height: height) == drawn)
    let layout = form.layout(10, height: height)
    #expect(layout.focusable.map(\.kind) == [.submit])
    #expect(layout.isClipped == (height < 3))
  }

  @Test func `a child can be the accessory`() {
    let tree = Tree.column(
      ["accessory": ["node": "go"]], .label("a text of many words"), .button("Go", id: "go"))
    #expect(tree.drawn(20) == [" a text of   [ Go ]", " many words"])
  }

  @Test func `margin is outside of a node, and padding inside`() {
    let tree = Tree.column(
      .label("a", ["margin": ["leading": 16, "top": 16], "padding": 8]), .label("b"))
    #expect(tree.drawn(9) == ["", "", "   a", "", " b"])
  }

  // MARK: - Too little height

  @Test func `a scrolled node shows a part and its position`() throws {
    let lines = (0..<9).map { Tree.label("line \($0)") }
    let tree = Tree.column(
      .label("above"), Tree(.stack, ["scroll": true], id: "list", lines), .button("below"))
    #expect(tree.drawn(12, height: 5) == [" above", " line 0", " line 1", " line 2", " [ below ]"])
    #expect(
      tree.drawn(12, height: 5, scroll: ["list": 4]) == [
        " above", " line 4", " line 5", " line 6", " [ below ]",
      ])
    let result = tree.layout(12, height: 5, scroll: ["list": 99])
    let region = try #require(result.scrollRegions.first)
    #expect(region.id == "list" && region.axis == .vertical)
    #expect(region.offset == 6 && region.offsetMax == 6 && region.contentLength == 9)
    #expect(region.viewport == LayoutRect(x: 0, y: 1, width: 12, height: 3))
    #expect(!result.isClipped)
    #expect(result.contentSize.height == 11)
    #expect(tree.layout(12, scroll: ["list": -5]).scrollRegions.isEmpty)
  }

  @Test func `the headings of a table stay where they are`() {
    let rows = (0..<9).map { Tree.row(.label("row \($0)")) }
    let tree = Tree(.table, ["columns": ["Title"], "scroll": true], id: "t", rows)
    #expect(
      tree.drawn(12, height: 4, scroll: ["t": 2]) == [" Title", " row 2", " row 3", " row 4"])
  }

  @Test func `a row scrolls sideways, in pages`() throws {
    let items = (0..<5).map { Tree.label("item \($0)") }
    let tree = Tree(
      .stack, ["axis": "horizontal", "scroll": true, "itemWidth": 80, "paging": true], id: "row",
      items)
    #expect(tree.drawn(25) == [" item 0    item 1    item"])
    #expect(tree.drawn(25, scroll: ["row": 10]) == [" item 1    item 2    item"])
    let region = try #require(tree.layout(25, scroll: ["row": 99]).scrollRegions.first)
    #expect(region.offset == 25 && region.pages == [0, 20, 25])
  }

  @Test func `a child that is longer than the viewport has several pages`() throws {
    let lines = { (text: String) in Tree.label(text, ["height": 32]) }
    let tree = Tree(
      .stack, ["scroll": true, "paging": true, "height": 48, "spacing": 16], id: "list",
      [lines("a"), Tree.label("long", ["height": 112]), lines("b")])
    let region = try #require(tree.layout(12).scrollRegions.first)
    #expect(region.contentLength == 13)
    #expect(region.pages == [0, 3, 6, 7, 10])
  }

  @Test func `a region scrolls just far enough to show a frame`() {
    let region = ScrollRegion(
      index: 0, id: "", axis: .vertical, viewport: LayoutRect(x: 0, y: 2, width: 9, height: 4),
      offset: 10, contentLength: 30, pages: [])
    let frame = { (y: Int, height: Int) in LayoutRect(x: 0, y: y, width: 9, height: height) }
    #expect(region.offset(showing: frame(3, 1)) == 10)
    #expect(region.offset(showing: frame(1, 1)) == 9)
    #expect(region.offset(showing: frame(7, 2)) == 13)
    #expect(region.offset(showing: frame(20, 9)) == 26)
    #expect(region.offset(showing: frame(-90, 1)) == 0)
  }

  @Test func `the layout reports content that is cut for lack of room`() {
    let tree = Tree.column(.label("one"), .label("two"), .label("three"))
    #expect(tree.drawn(12, height: 2) == [" one", " two"])
    #expect(tree.layout(12, height: 2).isClipped)
    #expect(!tree.layout(12, height: 3).isClipped)
    #expect(Tree.column(["height": 16], .label("a"), .label("b")).layout(12).isClipped)
  }

  // MARK: - Focus and limits

  @Test func `nodes that can be focused come in reading order`() {
    let tree = Tree.column(
      .button("a", id: "a"),
      Tree(
        .table, ["selection": "single"], [.row(["visible": true], id: "r", .button("b", id: "b"))]),
      Tree(.form, [:], id: "f", [Tree(.input, ["text": "x"], id: "i")]),
      .button("no", ["enabled": false]), .button("no", ["visible": false]),
      Tree(.link, ["text": "no"]), Tree(.link, ["text": "l", "url": "https://a.b"], id: "l"))
    let targets = tree.layout(30).focusable
    #expect(targets.map(\.id) == ["a", "r", "b", "i", "f", "l"])
    #expect(targets.map(\.kind) == [.control, .row, .control, .control, .submit, .control])
  }

  @Test func `a label of runs is placed in parts`() {
    let tree = Tree.label(
      "ignored",
      ["runs": [["text": "one "], ["text": "two three", "weight": "bold"], ["text": "!"]]])
    let texts = tree.layout(10).placed[0].texts
    #expect(texts.map(\.text) == ["one ", "two", "three", "!"])
    #expect(texts.map(\.run) == [0, 1, 1, 2])
    #expect(texts.map(\.frame.x) == [1, 5, 1, 6])
    #expect(texts.map(\.frame.y) == [0, 0, 1, 1])
    #expect(tree.drawn(10) == [" one two", " three!"])
  }

  @Test func `an accent that begins a run is drawn with its letter`() {
    let tree = Tree.label(
      "", ["runs": [["text": "cafe"], ["text": ""], ["text": "\u{301}s", "weight": "bold"]]])
    let texts = tree.layout(10).placed[0].texts
    #expect(texts.map(\.text) == ["cafe\u{301}", "s"])
    #expect(texts.map(\.run) == [0, 2])
    #expect(texts.map(\.frame.x) == [1, 5])
    let family = Tree.label("", ["runs": ["👩", "\u{200D}👧!"]]).layout(10).placed[0].texts
    #expect(family.map(\.text) == ["👩\u{200D}👧", "!"])
  }

  @Test func `content of any depth is placed as deep as there is room for`() {
    var tree = Tree.label("deep")
    for _ in 0..<300 { tree = Tree(.stack, [tree]) }
    let result = tree.layout(20)
    #expect(result.placed.count == NodeTable.drawnDepthMax + 1)
    #expect(result.placed.last?.parts.map(\.kind) == [.tooDeep])
  }

  @Test func `an empty content has no placed nodes`() {
    var engine = LayoutEngine(metrics: .cells())
    let result = engine.layout(NodeTable(), width: 20, height: 3)
    #expect(result.placed.isEmpty && result.size == LayoutSize(width: 20, height: 3))
    #expect(Tree.label("x", ["visible": false]).layout(20).placed.isEmpty)
    #expect(Tree.label("x").layout(0).size.width == 0)
  }

  @Test func `points are rounded half up to cells`() {
    let metrics = LayoutMetrics.cells()
    #expect([0, 3, 4, 11, 12].map { metrics.horizontal($0) } == [0, 0, 1, 1, 2])
    #expect([0, 4, 7, 8, 16, 24].map { metrics.vertical($0) } == [0, 0, 0, 1, 1, 2])
    #expect(metrics.horizontal(1e300) == 12_500)
    #expect(metrics.horizontal(-1) == 0 && metrics.horizontal(.nan) == 0)
  }
}
