import Testing
import WidgetModel
import WidgetProto

@testable import widgetctl

/// What is said of an event that nothing handles.
struct EventCheckTests {
  private func check(
    provider: String = "gauges", events: [String] = [], isOpen: Bool = false,
    reducers: [Reducer] = [], nodes: [Node] = [], handled: [String]? = nil
  ) throws -> EventCheck {
    let kind = Kind(
      name: try #require(KindName("gauge")), isOpen: isOpen,
      events: events.map { EventType(name: $0) }, reducers: reducers)
    return EventCheck(
      kind: RegisteredKind(kind: kind, provider: provider), nodes: nodes, handled: handled)
  }

  @Test(arguments: [
    ("press", nil), ("presss", "press"), ("rest", "reset"), ("boom", ""),
  ])
  func `of a bundle's kind an event is known that its file does something on`(
    name: String, suggestion: String?
  ) throws {
    let check = try check(
      provider: "bundle/clicks", reducers: [Reducer(event: "press")], handled: ["reset"])
    let warning = check.warning(name)
    guard let suggestion else {
      #expect(warning == nil)
      return
    }
    #expect(warning?.reason == "EVENT_NOT_HANDLED")
    #expect(
      warning?.message.hasPrefix("Nothing handles the event \"\(name)\" of kind \"gauge\".") == true
    )
    #expect(warning?.metadata["suggestion"] ?? "" == suggestion)
    #expect(
      warning?.message.hasSuffix(
        suggestion.isEmpty
          ? "in clicks's file, or to \"events\"." : "Did you mean \"\(suggestion)\"?")
        == true)
  }

  @Test func `of another kind it may be followed by programs`() throws {
    let warning = try check(reducers: [Reducer(event: "click")]).warning("clik")
    #expect(warning?.message.contains("only programs that follow its events notice it") == true)
    #expect(warning?.metadata["suggestion"] == "click")
    #expect(try check(reducers: [Reducer(event: "click")]).warning("click") == nil)
    // What a reducer does on one node it does not do on the widget.
    #expect(try check(reducers: [Reducer(event: "click", nodeID: "n")]).warning("click") != nil)
  }

  @Test func `what the daemon checks needs no word`() throws {
    #expect(try check(events: ["click"]).warning("clik") == nil)
    let open = try check(events: ["click"], isOpen: true)
    #expect(open.warning("clik")?.metadata["suggestion"] == "click")
    #expect(open.warning("click") == nil)
  }

  @Test func `an event that nodes take names one of them`() throws {
    let nodes = [
      Node(id: "top", type: .stack), Node(id: "plus", type: .button, events: ["press"]),
    ]
    let warning = try check(provider: "bundle/b", nodes: nodes, handled: []).warning("press")
    #expect(warning?.message.hasSuffix("Its nodes take it: --node plus") == true)
  }
}
