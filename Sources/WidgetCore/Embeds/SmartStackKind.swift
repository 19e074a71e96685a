import WidgetModel

/// The kind that shows the most relevant of several widgets. It is built in, because it looks at
/// other widgets.
///
/// The shown widget follows from the widgets, the time, and the last choice of a user. Only that
/// choice is stored. See `WidgetStore.settleEmbeds`.
enum SmartStackKind {
  static let schema = KindSchema(
    Kind(
      name: .smartStack, displayName: "Smart stack",
      summary: "Shows the most relevant of several widgets, one at a time.",
      parameters: [
        Field(
          name: "widgets", type: .list(.string), defaultValue: .list([]),
          summary: "The ids of the widgets."),
        Field(
          name: expressionName, type: .string, defaultValue: .string(""),
          summary: "An expression that selects more widgets, as in --where; empty for none."),
        Field(
          name: "rotate", type: .string, defaultValue: .string(""),
          summary: "How long each of equally relevant widgets is shown, at least 1s: 30s, 5m, 1h. "
            + "Empty: the first one stays."),
        Field(
          name: "hold", type: .string, defaultValue: .string("10m"),
          summary: "How long a chosen widget stays: 30s, 5m, 1h."),
      ],
      data: [
        Field(
          name: "current", type: .string, defaultValue: .string(""),
          summary: "The id of the widget that is shown; empty for none."),
        Field(
          name: "members", type: .list(.string), defaultValue: .list([]),
          summary: "The ids of the widgets that can be shown."),
        Field(
          name: "position", type: .int, defaultValue: .int(0),
          summary: "The place of the shown widget among them, from 1."),
        Field(
          name: "problem", type: .string, defaultValue: .string(""),
          summary: "Why widgets may be missing, for people; empty if none are."),
        Field(name: "chosen", type: .string, summary: "The widget that a user has chosen."),
        Field(name: "chosen_at", type: .timestamp, summary: "When."),
      ],
      events: [
        EventType(name: "next", summary: "Show the next widget."),
        EventType(name: "previous", summary: "Show the previous widget."),
        EventType(
          name: "select", summary: "Show this widget.",
          payload: [Field(name: "widget", type: .string, summary: "Its id.", isRequired: true)]),
      ], content: content))

  /// The parameter with the expression.
  static let expressionName = "where"
  /// The maximum number of widgets of one stack.
  static let membersMax = 64
  /// The shortest time of `rotate`.
  static let rotateMin = Duration.seconds(1)

  private static let content: [ContentTemplate] = [
    ContentTemplate(
      families: [.inline, .circular, .rectangular],
      root: NodeTemplate(id: "stack", type: .stack, children: [shown, empty])),
    ContentTemplate(
      root: NodeTemplate(
        id: "stack", type: .stack,
        children: [
          shown, empty,
          NodeTemplate(
            id: "problem", type: .label,
            properties: [
              "text": Binding("data.problem"), "font": Binding(value: .string("font.caption")),
              "color": Binding(value: .string("color.warning")),
            ],
            condition: "data.problem != ''"),
          NodeTemplate(
            id: "controls", type: .stack,
            properties: [
              "axis": Binding(value: .string("horizontal")),
              "distribution": Binding(value: .string("center")),
            ],
            condition: "size(data.members) > 1",
            children: [
              button("previous", "‹"),
              NodeTemplate(
                id: "position", type: .label,
                properties: [
                  "text": Binding("string(data.position) + '/' + string(size(data.members))"),
                  "font": Binding(value: .string("font.caption")),
                ]),
              button("next", "›"),
            ]),
        ])),
  ]

  private static let shown = NodeTemplate(
    id: "shown", type: .embed, properties: ["widget": Binding("data.current")],
    condition: "data.current != ''")
  private static let empty = NodeTemplate(
    id: "empty", type: .label, properties: ["text": Binding(value: .string("Nothing to show"))],
    condition: "data.current == ''")

  private static func button(_ id: String, _ text: String) -> NodeTemplate {
    NodeTemplate(id: id, type: .button, properties: ["text": Binding(value: .string(text))])
  }

  static func ownData(field: String) -> StoreError {
    .invalid(
      field: field,
      description: "The daemon fills widgets of kind \"smart-stack\" itself; send the event next, "
        + "previous or select.")
  }

  static func ownTimeline(field: String) -> StoreError {
    .invalid(
      field: field,
      description: "A widget of kind \"smart-stack\" has no timeline; set those of its widgets.")
  }

  static func holdsNothing(_ action: String) -> StoreError {
    .invalid(
      field: "name",
      description: "\"\(action)\" has no effect, because the stack's hold is 0s; set a longer one.")
  }

  /// The effect of a user's event on a stack; nil for none.
  static func patch(for event: Event, on record: Record) throws(StoreError) -> WidgetPatch? {
    let members = record.data["members"].texts
    let current = record.data["current"].text
    let action = event.name == "press" ? event.nodeID : event.name
    let place: Int
    switch action {
    case "next": place = (members.firstIndex(of: current) ?? -1) + 1
    case "previous": place = (members.firstIndex(of: current) ?? 0) - 1 + members.count
    case "select":
      let wanted = event.payload["widget"].text
      guard let found = members.firstIndex(of: wanted) else {
        throw .invalid(
          field: "payload[widget]",
          description: "\"\(wanted)\" is not one of the widgets of \"\(record.id)\": "
            + (members.isEmpty ? "it has none." : members.joined(separator: ", ") + "."))
      }
      place = found
    default: return nil
    }
    guard !members.isEmpty else { return nil }
    guard DurationSyntax.parse(record.parameters["hold"].text) != .zero else {
      throw holdsNothing(action)
    }
    let id = members[place % members.count]
    return WidgetPatch(setData: [
      "chosen": .string(id), "chosen_at": .timestamp(event.time), "current": .string(id),
      "position": .int(Int64(place % members.count + 1)),
    ])
  }
}

/// The widgets of a stack that its expression selects.
struct StackMembers {
  /// The selected widgets, in display order.
  var selected: [WidgetID] = [] { didSet { members = Set(selected) } }
  /// The same as a set.
  private(set) var members: Set<WidgetID> = []
  /// The first widget that the expression selects and that has no place; nil for none.
  var firstLeftOut: WidgetID?
  /// The expression that selected them.
  let expression: String
  /// The compiled expression; nil if it is empty, or if the stack does not follow changes.
  var test: WidgetTest?
  /// Whether all widgets must be checked again.
  var isOutdated: Bool
  /// The revision of the store at the time of the selection.
  let selectedRevision: Revision
  /// Why widgets may be missing; empty if none are.
  var problem = ""

  init(expression: String, isOutdated: Bool, selectedRevision: Revision) {
    self.expression = expression
    self.isOutdated = isOutdated
    self.selectedRevision = selectedRevision
  }
}

/// The widget that a stack shows.
struct StackChoice {
  var members: [WidgetID] = []
  var current: WidgetID?
  /// The next time at which the choice may change without other changes.
  var nextDate: Timestamp?

  /// Chooses among members with their relevance.
  ///
  /// - Parameter entries: the current entry of each member; nil for none.
  init(
    _ members: [WidgetID], _ entries: [TimelineEntry?], of record: Record, at now: Timestamp
  ) {
    self.members = members
    guard !members.isEmpty else { return }
    var dates: [Timestamp] = []
    for case let entry? in entries {
      if let end = entry.scoreEnd, end > now { dates.append(end) }
    }
    defer { nextDate = dates.min() }
    if case .timestamp(let chosenAt)? = record.data["chosen_at"],
      let hold = DurationSyntax.parse(record.parameters["hold"].text),
      let chosen = members.firstIndex(where: { $0.rawValue == record.data["chosen"].text }),
      chosenAt <= now, case let end = chosenAt.advanced(by: hold), end > now
    {
      current = members[chosen]
      dates.append(end)
      return
    }
    let scores = entries.map { $0?.score(at: now) ?? 0 }
    let best = scores.max() ?? 0
    let candidates = zip(members, scores).filter { $0.1 == best }.map(\.0)
    current = candidates.first
    guard let rotate = DurationSyntax.parse(record.parameters["rotate"].text),
      rotate >= SmartStackKind.rotateMin, candidates.count > 1
    else { return }
    // Counted from a fixed time, so that a restart changes nothing.
    let period = rotate.components.seconds
    let turn = (now.seconds - Timestamp.earliest.seconds) / period
    current = candidates[Int(turn % Int64(candidates.count))]
    let end = Timestamp.earliest.advanced(by: .seconds((turn + 1) * period))
    // At the last time that a timestamp can have, no turn follows.
    if end > now { dates.append(end) }
  }
}

extension Optional<Value> {
  fileprivate var text: String { if case .string(let text)? = self { text } else { "" } }
  fileprivate var texts: [String] {
    guard case .list(let values)? = self else { return [] }
    return values.compactMap { if case .string(let text) = $0 { text } else { nil } }
  }
}

extension Record {
  /// The ids that the parameter `widgets` of a stack names.
  var stackIDs: [WidgetID] { parameters["widgets"].texts.compactMap { WidgetID($0) } }
  /// The expression of a stack.
  var stackExpression: String { parameters[SmartStackKind.expressionName].text }
}
