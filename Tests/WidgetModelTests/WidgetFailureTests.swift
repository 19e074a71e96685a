import Testing
import WidgetModel

/// The one definition of a widget that fails.
struct WidgetFailureTests {
  private func node(
    _ id: String, _ problem: String, _ properties: ValueMap = [:], type: NodeType = .label,
    children: [String] = []
  ) -> Node {
    var node = Node(id: id, type: type, properties: properties, childIDs: children)
    node.problem = problem
    return node
  }

  private func failures(_ nodes: Node...) -> [WidgetFailure] {
    Content(rootID: nodes[0].id, nodes: nodes).failures
  }

  @Test func `an expression of the content that fails is a failure`() throws {
    #expect(
      failures(node("a", "text: division by zero"), node("b", ""))
        == [.content(node: "a", problem: "text: division by zero", since: nil)])
    #expect(
      failures(node("a", "rows: no such key\nb.condition: no such key"))
        == [
          .content(node: "a", problem: "rows: no such key", since: nil),
          .content(node: "a", problem: "b.condition: no such key", since: nil),
        ])
    let id = try #require(WidgetID("w"))
    let kind = try #require(KindName("k"))
    var widget = Widget(
      id: id, kind: kind, content: Content(rootID: "a", nodes: [node("a", "text: no")]))
    #expect(widget.hasFailed)
    // The content shows it, so renderers add nothing.
    #expect(widget.untoldFailures == [])
    widget.content?.nodes[0].problem = ""
    #expect(!widget.hasFailed && widget.failures == [])
  }

  @Test func `a placeholder and a failure of the look are no failures of the widget`() {
    #expect(failures(node("a", "text: no such key", ["text": .string("-")])) == [])
    #expect(failures(node("a", "color: no such key")) == [])
    #expect(
      failures(node("a", "color: no\ntext: no"))
        == [.content(node: "a", problem: "text: no", since: nil)])
  }

  @Test func `the failures of an embedded widget are its own`() {
    let embed = node(
      "e", "content: The widget \"w\" has an error: no.", type: .embed, children: ["e::root"])
    #expect(failures(embed, node("e::root", "text: no")) == [])
    #expect(embed.isEmbedOfFailure)
    #expect(
      !node("e", "content: The widget \"w\" is stale.", type: .embed, children: ["e::root"])
        .isEmbedOfFailure)
    // An embed that shows no widget is a failure of the widget with the embed.
    let reason = "content: There is no widget \"w\"."
    for children in [[], ["e::problem"]] {
      #expect(
        failures(node("e", reason, type: .embed, children: children))
          == [.content(node: "e", problem: reason, since: nil)])
    }
  }
}
