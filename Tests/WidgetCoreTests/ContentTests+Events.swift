import Testing
import WidgetExpression
import WidgetModel

@testable import WidgetCore

/// Events of nodes.
extension ContentTests {
  @Test func `an event on a node of a row knows its row`() throws {
    var store = try store()
    try store.set("a", ["items": .list([Self.item("x", "X"), Self.item("a b", "Y")])])
    try store.run(.sendEvent(EventDraft(widgetID: "a", nodeID: "drop/a.20b", name: "press")))
    #expect(store.widget("a")?.data["items"] == .list([Self.item("x", "X")]))
    #expect(
      store.refusal(
        of: .sendEvent(EventDraft(widgetID: "a", nodeID: "drop/a.20b", name: "press")))
        == .nodeNotFound("a", "drop/a.20b"))
  }

  @Test func `a node that is disabled, hidden or missing takes no events`() throws {
    var store = try store()
    try store.set("a", ["items": .list([Self.item("x", "X")])])
    let press = EventDraft(widgetID: "a", nodeID: "drop/x", name: "press")
    #expect(store.refusal(of: .sendEvent(press)) == .nodeDisabled("a", "drop/x"))
    var forced = press
    forced.isForced = true
    try store.run(.sendEvent(forced))
    #expect(store.widget("a")?.data["items"] == .list([]))
    #expect(
      store.refusal(of: .sendEvent(EventDraft(widgetID: "a", nodeID: "much", name: "press")))
        == .nodeNotFound("a", "much"))
    #expect(
      store.refusal(of: .sendEvent(EventDraft(widgetID: "a", nodeID: "nope", name: "press")))
        == .nodeNotFound("a", "nope"))
  }

  @Test func `events of a node's type need no declaration, and their payload is checked`() throws {
    var store = Store()
    var kind = Self.kind([])
    kind.events = [EventType(name: "declared")]
    kind.content = [
      ContentTemplate(
        root: NodeTemplate(
          id: "form", type: .stack,
          children: [
            NodeTemplate(id: "on", type: .toggle),
            NodeTemplate(
              id: "gone", type: .stack, properties: ["visible": Binding(value: .bool(false))],
              children: [NodeTemplate(id: "b", type: .button)]),
          ]))
    ]
    kind.reducers = [
      Reducer(event: "change", nodeID: "on", assignments: ["any": "!event.payload.value"])
    ]
    try store.register([kind])
    try store.create("a", kind: "list")
    let change = { (payload: ValueMap) in
      Command.sendEvent(
        EventDraft(widgetID: "a", nodeID: "on", name: "change", payload: payload))
    }
    try store.run(change(["value": .bool(true)]))
    #expect(store.widget("a")?.data["any"] == .bool(false))
    guard case .invalid(let field, _)? = store.refusal(of: change(["value": .int(1)])) else {
      Issue.record("not refused")
      return
    }
    #expect(field == "payload[value]")
    #expect(store.refusal(of: change([:])) != nil)
    #expect(
      store.refusal(of: .sendEvent(EventDraft(widgetID: "a", nodeID: "b", name: "press")))
        == .nodeHidden("a", "b"))
    #expect(
      store.refusal(of: .sendEvent(EventDraft(widgetID: "a", nodeID: "on", name: "press"))) != nil)
  }
}
