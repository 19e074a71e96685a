import NodeSamples
import SeededRandom
import Testing
import WidgetModel

@testable import WidgetLayout

/// Columns of grids and tables.
extension LookTests {
  @Test func `the columns of a table fit their cells, and the last one with words grows`() {
    let tree = Tree(
      .table, ["columns": ["Name", "Size"]],
      [
        .row(.label("a long name"), .label("5"), .button("Remove")),
        .row(.label("b"), .label("1,024"), .button("Remove")),
      ])
    #expect(
      tree.drawn(40) == [
        " Name                  Size", " a long name              5  [ Remove ]",
        " b                    1,024  [ Remove ]",
      ])
    // Text shrinks before buttons and short numbers do.
    #expect(tree.drawn(29).allSatisfy { !$0.contains("Remo…") && !$0.contains("1,0…") })
    #expect(tree.drawn(29)[1] == " a long        5  [ Remove ]")
  }

  @Test func `a table without words stays packed, and a column that grows takes the room`() {
    let rows = [Tree.row(.label("1"), .button("Go")), .row(.label("22"), .button("Go"))]
    #expect(Tree(.table, rows).drawn(20) == ["  1  [ Go ]", " 22  [ Go ]"])
    let words = [Tree.row(.label("a"), .label("b"), .button("Go"))]
    #expect(Tree(.table, words).drawn(20) == [" a  b        [ Go ]"])
    let columns: Value = [["grow": 1], "", ""]
    #expect(Tree(.table, ["columns": columns], words).drawn(20) == [" a        b  [ Go ]"])
  }

  @Test func `a low cell is centred in a higher row`() {
    let tree = Tree(
      .table, [.row(.label("one two three"), .label("5"), .button("Go"))])
    #expect(tree.drawn(18) == [" one", " two    5  [ Go ]", " three"])
  }

  @Test func `the fields of a form begin in one column`() throws {
    let form = Tree(
      .form, ["submit": "Add"],
      [
        Tree(.input, ["text": "Title"], id: "title"), Tree(.input, ["text": "A note"]),
        Tree(.input, ["text": "A name as long as a sentence"]), Tree(.input, ["value": "alone"]),
      ])
    #expect(
      form.drawn(50) == [
        " Title:  [                                      ]",
        " A note: [                                      ]",
        " A name as long as a sentence: [                ]",
        " [alone                                         ]", " [ Add ]",
      ])
    // If one name has no room beside its field, all names are above.
    #expect(form.drawn(18).prefix(2) == [" Title:", " [              ]"])
  }

  @Test func `the fields of a form move back when the field with the longest name is removed`()
    throws
  {
    var table = NodeTable(
      Tree(
        .form, [:], id: "form",
        [
          Tree(.input, ["text": "To"], id: "to"), Tree(.input, ["text": "Subject"], id: "subject"),
        ]
      ).content)
    var engine = LayoutEngine(metrics: .cells())
    func field(_ result: LayoutResult) -> Int? {
      result.placed.first { $0.id == "to" }?.parts.first?.frame.x
    }
    #expect(field(engine.layout(table, width: 40)) == 10)
    let shorter = Node(id: "subject", type: .input, properties: ["text": "By"])
    engine.invalidate(table.apply(ContentChange(setNodes: [shorter])))
    #expect(field(engine.layout(table, width: 40)) == 5)
  }

  @Test func `a table has sections, lines, and says that it is empty or has more`() {
    let section = Tree.column(["section": true], .label("Fruit"))
    let rows = [
      section, Tree.row(.label("Apple"), .label("Red")), Tree.row(.label("Fig"), .label("Blue")),
    ]
    #expect(
      Tree(.table, ["more": true], rows).drawn(20) == [
        " Fruit", " Apple  Red", " Fig    Blue", " …",
      ])
    #expect(
      Tree(.table, ["divider": true, "columns": ["A", "B"]], rows).drawn(13) == [
        " A      B", "─────────────", " Fruit", " ───────────", " Apple  Red", " ───────────",
        " Fig    Blue",
      ])
    #expect(Tree(.table, ["empty": "Nothing to do"]).drawn(9) == [" Nothing", " to do"])
    #expect(Tree(.table, ["empty": "Nothing", "columns": ["A"]]).drawn(9) == [" A", " Nothing"])
  }

  @Test func `a column has its declared width, share and alignment`() {
    let columns: Value = [
      ["title": "A", "width": 80], ["title": "B", "grow": 1], ["title": "C", "align": "end"],
    ]
    let tree = Tree(
      .table, ["columns": columns],
      [.row(.label("a"), .label("b"), .label("c")), .row(.label("1"), .label("2"), .label("long"))])
    #expect(
      tree.drawn(30) == [
        " A         B                C", " a         b                c",
        " 1         2             long",
      ])
    let spans = tree.layout(30).placed[0].columns
    #expect(spans.map(\.length) == [10, 14, 6])
  }

  @Test func `a cell with a width is cut, and wraps only if it has a number of lines`() {
    let columns: Value = [["title": "A", "width": 80], "B"]
    let text = "three long words"
    func drawn(_ cell: Tree, _ columns: Value, _ width: Int) -> [String] {
      Tree(.table, ["columns": columns], [.row(cell, .label("b"))]).drawn(width)
    }
    #expect(drawn(.label(text), columns, 20) == [" A         B", " three l…  b"])
    #expect(
      drawn(.label(text, ["lines": 2]), columns, 20)
        == [" A         B", " three     b", " long wo…"])
    #expect(
      drawn(.label(text, ["width": 80]), ["A", "B"], 20) == [" A         B", " three l…  b"])
    #expect(
      drawn(.label(text), ["A", "B"], 12) == [" A        B", " three", " long     b", " words"])
  }

  @Test func `a cell wraps again when its column has no width any more`() {
    func content(_ columns: Value) -> Content {
      Tree(.table, ["columns": columns], [.row(.label("three long words"), .label("b"))]).content
    }
    let fixed: Value = [["title": "A", "width": 72], "B"]
    let free: Value = ["A", "B"]
    for (first, second) in [(fixed, free), (free, fixed)] {
      var table = NodeTable(content(first))
      var engine = LayoutEngine(metrics: .cells())
      _ = engine.layout(table, width: 12)
      let top = content(second).nodes[0]
      engine.invalidate(table.apply(ContentChange(setNodes: [top])))
      var fresh = LayoutEngine(metrics: .cells())
      let (updated, whole) = (
        engine.layout(table, width: 12), fresh.layout(table, width: 12)
      )
      #expect(updated.placed == whole.placed)
      #expect(updated.size == whole.size)
    }
  }

  @Test(arguments: 8...40)
  func `columns and texts with a width shrink before a button is cut`(width: Int) throws {
    let trees = [
      Tree(
        .table, ["columns": [["title": "A", "width": 160], ["title": "B", "width": 16], "C"]],
        [.row(.label("a text of words"), .label("b"), .button("Go"))]),
      Tree.row(.label("a text of words", ["width": 200]), .button("Go")),
    ]
    // The minimum of the texts and the columns, and the full width of the button.
    for (tree, least) in zip(trees, [13, 11]) {
      let drawn = tree.drawn(width)
      #expect(drawn.contains { $0.hasSuffix("[ Go ]") } == (width >= least), "\(drawn)")
    }
  }

  @Test func `a column with a width is as wide as its buttons, but text does not widen it`() {
    func drawn(_ last: Tree, _ column: Value) -> [String] {
      Tree(.table, ["columns": ["A", column]], [.row(.label("some text"), last)]).drawn(16)
    }
    let narrow: Value = ["title": "B", "width": 16]
    for cell in [Tree.button("Go"), Tree.row(.button("Go"))] {
      #expect(drawn(cell, narrow).contains { $0.hasSuffix("[ Go ]") }, "\(drawn(cell, narrow))")
    }
    #expect(drawn(.label("long"), narrow) == [" A", " some text     …"])
  }

  @Test func `a cell that is hidden keeps its place`() {
    let tree = Tree(
      .table,
      [
        .row(.label("a"), .label("b", ["visible": false]), .label("c")),
        .row(.label("1"), .label("x"), .label("3")),
      ])
    #expect(tree.drawn(12) == [" a     c", " 1  x  3"])
  }

  @Test func `a grid has columns as wide as their cells`() {
    let tree = Tree(
      .grid, ["columns": 2, "spacing": 16],
      [.label("a"), .label("b"), .label("long one"), .label("d"), .label("e")])
    #expect(tree.drawn(30) == [" a           b", "", " long one    d", "", " e"])
  }
}
