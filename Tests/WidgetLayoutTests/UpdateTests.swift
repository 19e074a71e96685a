import NodeSamples
import Testing
import WidgetModel

@testable import WidgetLayout

/// The cost of a change depends on its size. It is counted in measured nodes, not in time.
@Suite struct UpdateTests {
  /// 1,000 labels in 40 groups of 25, three levels below the root.
  private func groups() -> Tree {
    Tree(
      .stack,
      (0..<40).map { group in
        Tree(
          .stack,
          (0..<25).map { .label("text", id: "label-\(group * 25 + $0)") })
      })
  }

  private func set(_ text: String, of id: String, _ table: inout NodeTable) -> NodeTable.Changes {
    table.apply(
      ContentChange(setNodes: [Node(id: id, type: .label, properties: ["text": .string(text)])]))
  }

  @Test func `a change of one text among a thousand measures only its ancestors`() {
    var table = NodeTable(groups().content)
    var engine = LayoutEngine(metrics: .cells())
    #expect(engine.layout(table, width: 60).measuredCount == 1_041)
    engine.invalidate(set("changed", of: "label-500", &table))
    let result = engine.layout(table, width: 60)
    #expect(result.measuredCount == 3)
    let placed = result.placed.first { $0.id == "label-500" }
    #expect(placed?.texts.map(\.text) == ["changed"])
  }

  @Test func `an update without a changed node measures no node`() {
    var table = NodeTable(groups().content)
    var engine = LayoutEngine(metrics: .cells())
    let first = engine.layout(table, width: 60)
    engine.invalidate(set("text", of: "label-500", &table))
    var second = engine.layout(table, width: 60)
    #expect(second.measuredCount == 0)
    second.measuredCount = first.measuredCount
    #expect(second == first)
    // Another width needs new heights, but no other sizes.
    #expect(engine.layout(table, width: 30).measuredCount == 0)
  }

  @Test func `a cell of a table measures its row and the table`() {
    let rows = (0..<300).map {
      Tree.row(.label("a text", id: "text-\($0)"), .label("\($0)"), .button("Remove"))
    }
    var table = NodeTable(Tree(.stack, [Tree(.table, rows)]).content)
    var engine = LayoutEngine(metrics: .cells())
    _ = engine.layout(table, width: 60)
    engine.invalidate(set("a much longer text", of: "text-150", &table))
    #expect(engine.layout(table, width: 60).measuredCount == 4)
  }

  @Test func `changes of several commits count together`() {
    var table = NodeTable(groups().content)
    var engine = LayoutEngine(metrics: .cells())
    _ = engine.layout(table, width: 60)
    engine.invalidate(set("one", of: "label-0", &table))
    engine.invalidate(set("two", of: "label-1", &table))
    engine.invalidate(set("other", of: "label-999", &table))
    #expect(engine.layout(table, width: 60).measuredCount == 6)
  }

  @Test func `a date is measured again on request`() throws {
    let text = Mutable("1 min")
    let tree = Tree.row(Tree(.date, ["style": "relative"], id: "date"), .label("ago"))
    let table = NodeTable(tree.content)
    var engine = LayoutEngine(metrics: .cells(dateText: { _ in text.value }))
    #expect(engine.layout(table, width: 30).placed[1].frame.width == 7)
    text.value = "12 min"
    #expect(engine.layout(table, width: 30).placed[1].frame.width == 7)
    engine.invalidate(index: try #require(table.index(of: "date")))
    let result = engine.layout(table, width: 30)
    #expect(result.placed[1].frame.width == 8 && result.placed[1].texts.map(\.text) == ["12 min"])
  }

  @Test func `a replaced content leaves nothing of the old layout`() {
    var table = NodeTable(groups().content)
    var engine = LayoutEngine(metrics: .cells())
    _ = engine.layout(table, width: 60)
    engine.invalidate(table.apply(ContentChange(replacingBy: Tree.label("new").content)))
    #expect(Canvas(engine.layout(table, width: 60)).lines == [" new"])
  }

  /// A value that a test changes between two layouts.
  private final class Mutable: @unchecked Sendable {
    var value: String
    init(_ value: String) { self.value = value }
  }
}
