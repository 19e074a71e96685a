import Testing
import WidgetModel
import WidgetProto

@testable import widgetctl

/// The warning about an event that nothing handles.
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

  @Test func `an event of a kind that is not registered causes a warning`() throws {
    let kind = try #require(KindName("guage"))
    let near = EventCheck.unregistered(kind, "press", among: ["clock", "gauge"])
    #expect(near.reason == "KIND_NOT_REGISTERED")
    #expect(near.metadata["suggestion"] == "gauge")
    #expect(near.message.hasSuffix("notice the event \"press\". Did you mean the kind \"gauge\"?"))
    let alone = EventCheck.unregistered(kind, "press", among: ["clock"])
    #expect(alone.metadata["suggestion"] == nil)
    #expect(alone.message.hasSuffix("`widgetctl apply -f FILE` registers a kind."))
  }

  @Test(arguments: [
    ("press", nil), ("presss", "press"), ("rest", "reset"), ("boom", ""),
  ])
  func `an event of a bundle's kind without a reducer or a handler causes a warning`(
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

  @Test
  func `an unknown event of a kind without a bundle warns that only other programs may notice it`()
    throws
  {
    let warning = try check(reducers: [Reducer(event: "click")]).warning("clik")
    #expect(warning?.message.contains("Only programs that follow its events notice it") == true)
    #expect(warning?.metadata["suggestion"] == "click")
    #expect(try check(reducers: [Reducer(event: "click")]).warning("click") == nil)
    // A reducer of one node does not handle events of the widget.
    #expect(try check(reducers: [Reducer(event: "click", nodeID: "n")]).warning("click") != nil)
  }

  @Test func `an event that the daemon checks needs no warning`() throws {
    #expect(try check(events: ["click"]).warning("clik") == nil)
    let open = try check(events: ["click"], isOpen: true)
    #expect(open.warning("clik")?.metadata["suggestion"] == "click")
    #expect(open.warning("click") == nil)
  }

  @Test func `an event of a kind with a provider in a session needs no warning`() throws {
    var check = try check(provider: "sysmon")
    #expect(check.warning("click") != nil)
    check = EventCheck(
      kind: RegisteredKind(kind: check.kind.kind, provider: "sysmon", isAttended: true))
    #expect(check.warning("click") == nil)
  }

  @Test(
    arguments: [
      (OutcomeWait.Handler.bundle, nil, "done"), (.daemon, nil, "done"),
      (.program("sysmon"), nil, "sent to sysmon, which reports no outcome"),
      (.program("sysmon"), "PROVIDER_AWAY", "sent, but not handled yet"),
      (.nobody, nil, "sent, but its kind is not registered, so there is no outcome"),
      (.daemon, "EVENT_NOT_HANDLED", "sent, but nothing handles it"),
    ] as [(OutcomeWait.Handler, String?, String)])
  func `only an event with an outcome is reported as done`(
    handler: OutcomeWait.Handler, warning: String?, words: String
  ) throws {
    let id = try #require(WidgetID("w"))
    let text = OutcomeWait.done(
      SendEventRequest(widgetID: id, name: "click"), 4, .null, handler, warning: warning)
    #expect(text == "w click \(words) (event 4)\n")
  }

  @Test(
    arguments: [
      (.map(["state": .string("success")]), "PROVIDER_AWAY", nil),
      (.map([:]), "PROVIDER_AWAY", nil),
      (.map([:]), "EVENT_NOT_HANDLED", "EVENT_NOT_HANDLED"),
      (.null, "PROVIDER_AWAY", "PROVIDER_AWAY"),
    ] as [(Value, String, String?)])
  func `an event with an outcome is handled, even if its host seems to be silent`(
    outcome: Value, found: String, reason: String?
  ) {
    let warning = RequestWarning(reason: found, message: "", metadata: [:])
    #expect(OutcomeWait.warning(warning, beside: outcome)?.reason == reason)
    #expect(OutcomeWait.warning(nil, beside: outcome) == nil)
  }

  @Test(arguments: [
    ("failure", 11, "w click failed: Not saved: no room. (RESOURCE_EXHAUSTED)"),
    ("cancelled", 12, "w click was cancelled: no room"),
  ])
  func `a cancelled action has an exit status of its own`(
    state: String, status: Int32, words: String
  ) throws {
    let id = try #require(WidgetID("w"))
    let failure = OutcomeWait.failure(
      [
        "state": .string(state), "failed": .bool(true), "title": .string("Not saved"),
        "message": .string("no room."), "code": .string("RESOURCE_EXHAUSTED"),
      ], of: SendEventRequest(widgetID: id, name: "click"))
    #expect(failure.exit.rawValue == status)
    #expect(failure.message == words)
  }

  @Test(arguments: [true, false])
  func `an event of a widget whose bundle has dropped the kind fails`(isWaiting: Bool) throws {
    let id = try #require(WidgetID("w"))
    let words = "the file of bundle a no longer has this widget; undo that by 2026-01-31T12:00:00Z"
    let error = WidgetError(reason: "BUNDLE_INVALID", message: words)
    let widget = Widget(
      id: id, kind: try #require(KindName("k")), isStale: isWaiting,
      error: isWaiting ? error : nil)
    let failure = OutcomeWait.unhandled(SendEventRequest(widgetID: id, name: "click"), on: widget)
    #expect(failure?.exit.rawValue == (isWaiting ? 11 : nil))
    let message =
      "w click failed: nobody handles the event, because the kind \"k\" is not registered; \(words)"
    #expect(failure?.message == (isWaiting ? message : nil))
  }

  @Test func `a form that refuses its values is reported like a refusal of the daemon`() throws {
    let failure = OutcomeWait.failure(
      [
        "state": .string("failure"), "failed": .bool(true), "code": .string("INVALID_ARGUMENT"),
        "title": .string("Save failed"),
        "message": .string("n takes a number.\nTitle is needed."),
        "fields": .map(["n": .string("n takes a number."), "title": .string("Title is needed.")]),
      ], of: SendEventRequest(widgetID: try #require(WidgetID("w")), name: "submit"))
    #expect(failure.exit == .invalidArgument)
    #expect(
      failure.message
        == "the form's value n: n takes a number\nthe form's value title: Title is needed")
    #expect(failure.violations.map(\.field) == ["payload[values][n]", "payload[values][title]"])
  }

  @Test func `the mistakes of a form have the order of the form`() throws {
    let failure = OutcomeWait.failure(
      [
        "state": .string("failure"), "message": .string("Title is needed.\nn takes a number."),
        "fields": .map(["n": .string("n takes a number."), "title": .string("Title is needed.")]),
      ], of: SendEventRequest(widgetID: try #require(WidgetID("w")), name: "submit"))
    #expect(failure.violations.map(\.field) == ["payload[values][title]", "payload[values][n]"])
  }

  @Test func `an event that nodes take names all of them, those that can take it now first`()
    throws
  {
    let nodes = [
      Node(id: "top", type: .stack, childIDs: ["minus", "plus", "group"]),
      Node(id: "minus", type: .button, properties: ["enabled": .bool(false)], events: ["press"]),
      Node(id: "group", type: .stack, properties: ["enabled": .bool(false)], childIDs: ["inner"]),
      Node(id: "inner", type: .button, events: ["press"]),
      Node(id: "away", type: .button, properties: ["visible": .bool(false)], events: ["press"]),
      Node(id: "plus", type: .button, events: ["press"]),
      Node(id: "row/a b", type: .button, events: ["press"]),
      Node(id: "field", type: .button, events: ["edit"]),
    ]
    let warning = try check(provider: "bundle/b", nodes: nodes, handled: []).warning("press")
    let takers =
      "--node plus, --node 'row/a b', --node minus (disabled), --node inner (disabled), "
      + "--node away (hidden)"
    #expect(warning?.message.hasSuffix("Its nodes take it: \(takers)") == true)
  }

  @Test func `a warning about an event that very many nodes take names only some`() throws {
    let nodes = (1...20).map { Node(id: "n\($0)", type: .button, events: ["press"]) }
    let warning = try check(provider: "bundle/b", nodes: nodes, handled: []).warning("press")
    #expect(warning?.message.hasSuffix("--node n7, --node n8, and 12 more") == true)
  }
}

/// The same for events of nodes.
struct NodeEventCheckTests {
  private func warning(
    _ name: String, of node: String = "go", takes events: [String],
    handled: [String]? = nil, reducers: [Reducer] = []
  ) throws -> RequestWarning? {
    let kind = Kind(name: try #require(KindName("gauge")), isOpen: true, reducers: reducers)
    let nodes = [Node(id: "go", type: .button, events: events)]
    return EventCheck(
      kind: RegisteredKind(kind: kind, provider: "bundle/x"), nodes: nodes, handled: handled
    ).warning(name, of: node)
  }

  @Test func `a warning for a node that does not take the event names the events that it takes`()
    throws
  {
    let wrong = try #require(try warning("click", takes: ["press"]))
    #expect(wrong.reason == "EVENT_NOT_HANDLED")
    #expect(
      wrong.message == "Nothing handles the event \"click\" of the node \"go\". It takes: press.")
    let near = try #require(try warning("pres", takes: ["press"]))
    #expect(near.message.hasSuffix("Did you mean \"press\"?"))
    let label = try #require(try warning("press", takes: []))
    #expect(label.message.hasSuffix("It takes no events now."))
  }

  @Test func `an event that the node, a reducer or the bundle's file takes needs no warning`()
    throws
  {
    #expect(try warning("press", takes: ["press"]) == nil)
    #expect(try warning("reset", takes: ["press"], handled: ["reset"]) == nil)
    let ofNode = Reducer(event: "reset", nodeID: "go")
    #expect(try warning("reset", takes: ["press"], reducers: [ofNode]) == nil)
    #expect(try warning("reset", takes: [], reducers: [Reducer(event: "reset")]) == nil)
    let ofOther = Reducer(event: "reset", nodeID: "other")
    #expect(try warning("reset", takes: ["press"], reducers: [ofOther]) != nil)
  }

  @Test func `only the daemon knows a node of another family's content`() throws {
    #expect(try warning("press", of: "row-9", takes: []) == nil)
  }
}
