import Testing
import WidgetExpression
import WidgetModel

@testable import WidgetCore

/// Templates that a kind may have, and those that are refused.
struct TemplateTests: ContentSamples {
  private static func problem(_ root: NodeTemplate) -> String {
    guard let problem = KindSchema(kind([ContentTemplate(root: root)])).content.problem else {
      return "none"
    }
    return "\(problem.place): \(problem.message.prefix { $0 != "\n" })"
  }

  @Test(arguments: [
    (NodeTemplate(id: "", type: .label), "content[0].root.id: use 1 to 64 of a-z"),
    (NodeTemplate(id: "a/b", type: .label), "content[0].root.id: use 1 to 64"),
    (
      NodeTemplate(id: "a", type: .stack, children: [NodeTemplate(id: "a", type: .label)]),
      "content[0].root.children[0].id: \"a\" appears twice"
    ),
    (
      NodeTemplate(id: "a", type: .label, properties: ["txt": Binding("1")]),
      "content[0].root.properties[txt]: a label has no property \"txt\"; did you mean \"text\"?"
    ),
    (
      NodeTemplate(id: "a", type: .gauge, properties: ["value": Binding("'x'")]),
      "content[0].root.properties[value]: the expression gives a value of type string, not double"
    ),
    (
      NodeTemplate(id: "a", type: .gauge, properties: ["value": Binding(value: .string("x"))]),
      "content[0].root.properties[value]: expected a value of type double, not string"
    ),
    (
      NodeTemplate(
        id: "a", type: .stack, properties: ["axis": Binding(value: .string("horizonal"))]),
      "content[0].root.properties[axis]: \"horizonal\" is not a valid axis; did you mean \"horizontal\"?"
    ),
    (
      NodeTemplate(
        id: "a", type: .gauge,
        properties: ["min": Binding(value: .int(9)), "max": Binding(value: .int(5))]),
      "content[0].root.properties[min]: min 9 is greater than max 5"
    ),
    (
      NodeTemplate(id: "a", type: .gauge, properties: ["max": Binding(value: .int(-5))]),
      "content[0].root.properties[max]: min 0 is greater than max -5"
    ),
    (
      NodeTemplate(
        id: "a", type: .label,
        properties: ["minWidth": Binding(value: .int(9)), "maxWidth": Binding(value: .int(5))]),
      "content[0].root.properties[minWidth]: minWidth 9 is greater than maxWidth 5"
    ),
    (
      NodeTemplate(
        id: "a", type: .input, properties: ["throttle": Binding(value: .duration(.seconds(-1)))]),
      "content[0].root.properties[throttle]: a negative duration is not a valid throttle"
    ),
    (
      NodeTemplate(id: "a", type: .date, properties: ["format": Binding(value: .string("%Q"))]),
      "content[0].root.properties[format]: bad date pattern: '%Q' is unknown"
    ),
    (
      NodeTemplate(id: "a", type: .image, properties: ["txt": Binding(value: .string("x"))]),
      "content[0].root.properties[txt]: an image has no property \"txt\""
    ),
    (
      NodeTemplate(
        id: "a", type: .stack,
        properties: ["accessory": Binding(value: .map(["node": .string("iconn")]))],
        children: [NodeTemplate(id: "icon", type: .label)]),
      "content[0].root.properties[accessory]: accessory.node: the stack has no child \"iconn\"; "
        + "did you mean \"icon\"?"
    ),
    (
      NodeTemplate(id: "a", type: .label, properties: ["color": Binding(value: .string("#12"))]),
      "content[0].root.properties[color]: \"#12\" is not a colour; write #rrggbb, #rrggbbaa or a token"
    ),
    (
      NodeTemplate(
        id: "a", type: .label, properties: ["padding": Binding(value: .map(["topp": .int(1)]))]),
      "content[0].root.properties[padding]: padding has no \"topp\"; did you mean \"top\"?"
    ),
    (
      NodeTemplate(id: "a", type: .label, properties: ["text": Binding("data.cuont")]),
      "content[0].root.properties[text]: 1:6"
    ),
    (
      NodeTemplate(id: "a", type: .label, properties: ["text": Binding("string(now)")]),
      "content[0].root.properties[text]: 1:8"
    ),
    (
      NodeTemplate(id: "a", type: .label, children: [NodeTemplate(id: "b", type: .label)]),
      "content[0].root.children: a label has no children"
    ),
    (NodeTemplate(id: "a", type: .label, condition: "true"), "content[0].root.condition: "),
    (
      NodeTemplate(id: "a", type: .button, events: ["press", "pres"]),
      "content[0].root.events[1]: a button takes no event \"pres\"; did you mean \"press\"?"
    ),
    (
      NodeTemplate(id: "a", type: .button, events: ["press", "press"]),
      "content[0].root.events[1]: \"press\" appears twice"
    ),
    (
      NodeTemplate(id: "a", type: .input, events: ["x"]),
      "content[0].root.events[0]: an input takes no event \"x\"; use change, submit, or add a reducer"
    ),
    (
      NodeTemplate(id: "a", type: .gauge, events: ["x"]),
      "content[0].root.events[0]: a gauge takes no event \"x\"; use click, scroll, or add a reducer for it"
    ),
    (
      NodeTemplate(id: "a", type: .label, rows: RowTemplate(list: "[1]")),
      "content[0].root.rows: the top node cannot"
    ),
    (
      NodeTemplate(
        id: "a", type: .stack,
        children: [NodeTemplate(id: "b", type: .label, rows: RowTemplate(list: "1"))]),
      "content[0].root.children[0].rows.list: expected a list, not a value of type int"
    ),
    (
      NodeTemplate(
        id: "a", type: .stack,
        children: [
          NodeTemplate(id: "b", type: .label, rows: RowTemplate(list: "[1]", name: "data"))
        ]),
      "content[0].root.children[0].rows.name: \"data\" is a variable already"
    ),
    (
      NodeTemplate(
        id: "a", type: .stack, children: [NodeTemplate(id: "b", type: .label, condition: "1")]),
      "content[0].root.children[0].condition: "
    ),
  ])
  func `an invalid template is refused with its place`(
    root: NodeTemplate, problem: String
  ) {
    let found = Self.problem(root)
    #expect(found.hasPrefix(problem), "\(found)")
  }

  @Test(arguments: [
    ("Europe/Atlantis", false), ("Europe/Berlin", true), ("+02:00", true), ("+25:00", false),
  ])
  func `a kind with a time zone that does not exist is refused`(zone: String, isTaken: Bool) {
    let clock = NodeTemplate(
      id: "clock", type: .date, properties: ["zone": Binding(value: .string(zone))])
    let kind = Self.kind([ContentTemplate(root: clock)])
    let known: Set<String> = ["Etc/UTC", "Europe/Berlin"]
    var store = WidgetStore(
      image: StoreImage(epoch: 7), isRevocable: true,
      timeZones: { known.contains($0) ? .utc : nil })
    var refusal: StoreError?
    do throws(StoreError) {
      _ = try store.apply(
        .applyKinds(KindDeclaration(provider: "test", kinds: [kind])),
        by: Caller(uid: 1_000, pid: 1, client: "test"), at: .at(0))
    } catch {
      refusal = error
    }
    #expect((store.kind(kind.name) != nil) == isTaken)
    #expect(
      refusal
        == (isTaken
          ? nil
          : .invalid(
            field: "kinds[0].content[0].root.properties[zone]",
            description: "there is no time zone \"\(zone)\"; write it like Europe/Berlin or +02:00"))
    )
  }

  @Test func `a node takes its listed events, those of its reducers, or those of its type`() throws
  {
    let listed = { (type: NodeType, events: [String]?) in
      NodeTemplate(id: "\(type)-\(events?.count ?? 9)", type: type, events: events)
    }
    var kind = Kind(
      name: "k",
      reducers: [
        Reducer(event: "press", nodeID: "label-9"), Reducer(event: "wink", nodeID: "label-9"),
        Reducer(event: "change"), Reducer(event: "press", nodeID: "input-0"),
      ],
      content: [
        ContentTemplate(
          root: NodeTemplate(
            id: "top", type: .stack,
            children: [
              listed(.button, nil), listed(.button, []), listed(.label, nil), listed(.input, nil),
              listed(.input, []), listed(.form, nil), listed(.link, nil), listed(.toggle, []),
              listed(.table, nil), listed(.table, ["more", "press"]), listed(.image, ["wink"]),
            ]))
      ])
    var store = Store()
    try store.register([kind])
    try store.create("a", kind: "k")
    let events = { (store: borrowing Store) in
      Dictionary(
        uniqueKeysWithValues: (store.widget("a")?.content?.nodes ?? []).map { ($0.id, $0.events) })
    }
    #expect(
      events(store) == [
        "top": [], "button-9": ["press"], "button-0": [], "label-9": ["press", "wink"],
        "input-9": ["change", "submit"], "input-0": ["change", "press"], "form-9": ["submit"],
        "link-9": ["open"], "toggle-0": ["change"], "table-9": [], "table-2": ["press", "more"],
        "image-1": ["wink"],
      ])

    // Readers get the change even if only the reducers change.
    let before = store.revision
    kind.reducers = [Reducer(event: "wink", nodeID: "top")]
    try store.register([kind])
    guard case .updated(let update)? = try store.changes(since: before).changes.first else {
      Issue.record("nothing is told")
      return
    }
    #expect(update.content?.setNodes.first?.events == ["wink"])
    #expect(events(store)["label-9"] == [])
    #expect(store.checkInvariants().isEmpty)
  }

  @Test func `templates that nest too deep are refused`() {
    var node = NodeTemplate(id: "n0", type: .stack)
    for depth in 1...NodeTemplate.depthMax {
      node = NodeTemplate(id: "n\(depth)", type: .stack, children: [node])
    }
    #expect(Self.problem(node).contains("nested 16 deep"))
  }

  @Test func `a reducer on a missing node is refused`() {
    var kind = Self.kind([ContentTemplate(root: Self.root)])
    kind.reducers = [Reducer(event: "press", nodeID: "drp")]
    #expect(KindSchema(kind).reducers.problem?.place == "reducers[0].node_id")
    #expect(KindSchema(kind).reducers.problem?.message.contains("did you mean \"drop\"?") == true)
  }
}
