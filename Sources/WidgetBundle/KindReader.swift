import WidgetExpression
import WidgetModel

/// Reads one kind of a bundle, with its sources, actions and templates.
///
/// Names come first: the reader knows all names before it reads references to them.
final class KindReader {
  static let namesMax = 256

  let reading: Reading
  let context: BundleContext
  var kind: Kind
  /// Names of sources and of actions. No two may be equal, because both have a status.
  private(set) var sourceNames: [String] = []
  private(set) var actionNames: [String] = []
  var actions: [String: Action] = [:]
  var triggers: [Trigger] = []
  /// The actions whose life events the kind takes.
  var toldActions: Set<String> = []
  /// The sources that a source reads again when it was read itself, with their places in the file.
  var reloads: [String: [(name: String, item: Item)]] = [:]
  var forms: [String: Form] = [:]
  /// The names of the inputs in forms, including forms with mistakes.
  var inputNames: Set<String> = []
  var contentReads: [ContentReads] = []
  /// The actions that an action runs, with the places in the file.
  var runs: [String: [(name: String, item: Item)]] = [:]
  /// The named action that is being read; nil for none.
  var currentAction: String?
  /// The handlers of nodes, in the order of the file.
  var handlers: [NodeHandler] = []
  var nodeIDs = NodeIDs()
  /// The type of each node, by its id.
  var nodeTypes: [String: NodeType] = [:]
  /// The nodes that reducers name, with their places in the file.
  private var reducerNodes: [(id: String, item: Item)] = []
  /// The buttons of all templates, by node.
  var buttons: [(nodeID: String, item: Item)] = []

  /// The steps for an event of a node.
  struct NodeHandler {
    let nodeID: String
    let event: EventType
    let item: Item
  }

  init(_ reading: Reading, _ name: KindName, _ context: BundleContext) {
    self.reading = reading
    self.context = context
    kind = Kind(name: name)
  }

  func read(_ item: Item) -> BundleKind? {
    guard let object = reading.object(item, .kind) else { return nil }
    if let item = object["name"], reading.text(item) != kind.name.rawValue {
      reading.report(item, "the kind is called \"\(kind.name)\" already", hint: "leave out name")
    }
    readHead(object)
    kind.parameters = reading.fields(object["parameters"], of: "parameters", mayBeRequired: true)
    kind.data = reading.fields(object["data"], of: "data", mayBeRequired: false)
    kind.events = events(object["events"])
    readTimelines(object)
    if !context.hasHost { reportHostKeys(item) }
    let sourceItems = names(context.hasHost ? object["sources"] : nil, of: "sources")
    let actionItems = names(
      context.hasHost ? object["actions"] : nil, of: "actions", besides: sourceItems)
    (sourceNames, actionNames) = (sourceItems.map(\.name), actionItems.map(\.name))
    addStatus(object)
    let outerLets = reading.lets
    defer { reading.lets = outerLets }
    var letVariables = hostVariables()
    // The content, which is read later, has the inputs.
    letVariables.environment.variables[BundleScope.Slot.nodes.rawValue] = ExpressionVariable(
      "nodes", .dyn)
    reading.declareLets(object["let"], letVariables)

    for (index, item) in reading.list(object["reducers"], of: "reducers").enumerated() {
      if let reducer = reducer(item, index: index) { kind.reducers.append(reducer) }
    }
    content(object["content"])
    checkReducerNodes(hasContent: object["content"] != nil)
    let sources = sourceItems.compactMap { source($0) }
    for named in actionItems {
      currentAction = named.name
      runs[named.name] = []
      if let action = action(named.item, name: named.name, hostVariables()) {
        actions[named.name] = action
      }
      currentAction = nil
    }
    reportCycles(actionItems)
    // Steps that only change data become reducers, so read the actions before the events.
    noteLifeEvents(object["on"])
    for handler in handlers { read(handler) }
    if let item = object["on"] { on(item) }
    reportReloadCircles()
    warnOfCycles(among: sources, sourceItems)
    // Without a host, programs can handle events that no node has a handler for.
    if context.hasHost { noteNodeEvents() }
    warnOfIdleButtons()
    let tellsOutcomes = addOutcomes()
    return BundleKind(
      kind: kind, sources: sources, actions: actions, triggers: triggers, forms: forms,
      scope: BundleScope(environment: hostVariables().environment, formFields: formFields),
      contentReads: contentReads,
      tellsOutcomes: tellsOutcomes)
  }

  /// Declares `status` for a kind that has only steps without a name, because their events have
  /// outcomes too.
  ///
  /// - Returns: whether the kind has a status for outcomes.
  private func addOutcomes() -> Bool {
    guard (sourceNames + actionNames).isEmpty else { return true }
    guard !triggers.isEmpty, !kind.data.contains(where: { $0.name == BundleScope.statusKey }) else {
      return false
    }
    kind.data.append(
      Field(
        name: BundleScope.statusKey, type: .map(.any), defaultValue: .map([:]),
        summary: "The outcomes of events whose sender waits for them."))
    return true
  }

  /// Reports keys of a kind that need a host.
  private func reportHostKeys(_ item: Item) {
    guard case .map(let entries) = item.node.content else { return }
    for entry in entries where ["sources", "actions"].contains(entry.key) {
      let key = SourceNode(
        line: entry.line, column: entry.column, content: .scalar(entry.key, isPlain: true))
      reading.reportNeedsHost(
        Item(node: key, path: "\(item.path).\(entry.key)"), "\"\(entry.key)\"")
    }
  }

  func readHead(_ object: Object) {
    kind.displayName = reading.text(object["displayName"]) ?? ""
    kind.summary = reading.text(object["description"]) ?? ""
    kind.families = reading.families(reading.texts(object["families"], of: "families"))
    if let item = object["families"], Set(kind.families).count < kind.families.count {
      reading.report(item, "a family appears twice", hint: "leave out one of them")
    }
    if let item = object["persistence"] {
      kind.persistence =
        reading.choice(
          item, "persistence", Kind.Persistence.allCases.map { ("\($0)", $0) }) ?? .durable
    }
    kind.isOpen = reading.bool(object["open"]) ?? false
    kind.hasLosableEvents = reading.bool(object["losableEvents"]) ?? false
    if let item = object["transition"], let text = reading.text(item) {
      do throws(SyntaxFailure) { kind.transition = try TransitionSyntax.parse(text) } catch {
        reading.report(item, error.reason)
      }
    }
  }

  /// The state of sources and actions is data.
  private func addStatus(_ object: Object) {
    let names = sourceNames + actionNames
    guard !names.isEmpty else { return }
    if kind.data.contains(where: { $0.name == BundleScope.statusKey }), let item = object["data"] {
      reading.report(
        item, "\"status\" is the name of the state of sources and actions",
        hint: "rename the field")
      return
    }
    let idle = ActionStatus().value
    kind.data.append(
      Field(
        name: BundleScope.statusKey, type: .map(.any),
        defaultValue: .map(ValueMap(names.map { .init(key: $0, value: idle) })),
        summary: "State of its sources and actions, by name."))
  }

  private func names(_ item: Item?, of what: String, besides others: [Named] = []) -> [Named] {
    guard let item, let entries = reading.entries(item, of: what) else { return [] }
    guard entries.count <= KindReader.namesMax else {
      reading.report(item, "there are more than \(KindReader.namesMax) \(what)")
      return []
    }
    return entries.filter { entry in
      guard entry.name.isFieldName, !["all", "self"].contains(entry.name) else {
        reading.report(
          entry.nameItem, "\"\(entry.name.prefix(70))\" cannot be the name of one of the \(what)",
          hint: entry.name.isFieldName ? "choose another" : entry.name.fieldNameHint)
        return false
      }
      guard !others.contains(where: { $0.name == entry.name }) else {
        reading.report(
          entry.nameItem, "there is a source \"\(entry.name)\" already",
          hint: "choose another name; sources and actions share the names in `status`")
        return false
      }
      return true
    }
  }

  // MARK: - Events

  func events(_ item: Item?) -> [EventType] {
    guard let item else { return [] }
    var events: [EventType] = []
    func add(_ name: String, _ object: Object, _ item: Item) {
      guard checkEventName(name, item) else { return }
      guard !events.contains(where: { $0.name == name }) else {
        reading.report(item, "event \"\(name)\" appears twice")
        return
      }
      events.append(
        EventType(
          name: name, summary: reading.text(object["description"]) ?? "",
          payload: reading.fields(object["payload"], of: "payload", mayBeRequired: true)))
    }
    if case .list(let elements) = item.node.content {
      for (index, element) in elements.enumerated() {
        let item = item.element(index, element)
        guard let object = reading.object(item, .event) else { continue }
        guard let nameItem = object["name"], let name = reading.text(nameItem) else {
          reading.reportMissing(
            "name", of: object, "the name is missing", hint: "add name: NAME")
          continue
        }
        add(name, object, nameItem)
      }
    } else {
      for entry in reading.entries(item, of: "events") ?? [] {
        if entry.item.node.isNull {
          if checkEventName(entry.name, entry.nameItem) {
            events.append(EventType(name: entry.name))
          }
        } else if let object = reading.object(entry.item, .event) {
          add(entry.name, object, entry.nameItem)
        }
      }
    }
    return events
  }

  func checkEventName(_ name: String, _ item: Item) -> Bool {
    if name.isIdentifier(lengthMax: KindName.lengthMax) { return true }
    reading.report(
      item, "\"\(name.prefix(70))\" cannot be an event's name",
      hint: "use 1 to 64 of a-z, A-Z, 0-9 and . _ - / :, a letter or digit first")
    return false
  }

  /// Whether such an event can happen to widgets of the kind. If not, reports that.
  func checkEvent(_ name: String, _ item: Item) -> Bool {
    let ofNodes = NodeType.allCases.flatMap(\.events).map(\.name)
    guard !kind.events.isEmpty, !kind.isOpen, !ofNodes.contains(name),
      !kind.events.contains(where: { $0.name == name })
    else { return checkEventName(name, item) }
    reading.report(
      item, "the kind declares no event \"\(name.prefix(64))\"",
      hint: reading.suggestion(name, among: kind.events.map(\.name)))
    return false
  }

  // MARK: - Scopes

  /// The names of the inputs in forms. The reader reads content before everything that can use
  /// them.
  private var formFields: [String] {
    inputNames.union(forms.values.flatMap { $0.fields.map(\.name) }).sorted()
  }

  private var nodesType: ExpressionType {
    let input = ExpressionType.record(RecordType(["value": .dyn]))
    return .record(
      RecordType(Dictionary(uniqueKeysWithValues: formFields.map { ($0, input) })))
  }

  /// The type of `status`.
  private var statusType: ExpressionType {
    let one = ExpressionType.record(
      RecordType([
        "state": .string, "running": .bool, "succeeded": .bool, "failed": .bool, "missing": .bool,
        "progress": .dyn, "title": .string, "message": .string, "code": .string,
        "fields": .map(.string, .string), "since": .dyn,
      ]))
    return .record(
      RecordType(
        Dictionary(
          (sourceNames + actionNames).map { ($0, one) }, uniquingKeysWith: { first, _ in first })))
  }

  private var dataType: ExpressionType {
    let record = RecordType(kind.data, isOpen: kind.isOpen)
    guard !(sourceNames + actionNames).isEmpty else { return .record(record) }
    return .record(
      RecordType(
        record.fields.merging([BundleScope.statusKey: statusType]) { $1 }, isOpen: record.isOpen))
  }

  private var parametersType: ExpressionType {
    .record(RecordType(kind.parameters, isOpen: kind.isOpen))
  }

  /// The payload of an event, as far as it is declared.
  func payloadType(_ event: String) -> ExpressionType {
    kind.events.first { $0.name == event }.map {
      .record(RecordType($0.payload, isOpen: kind.isOpen))
    } ?? .map(.string, .dyn)
  }

  func payloadType(_ event: EventType) -> ExpressionType {
    .record(RecordType(event.payload, isOpen: false))
  }

  /// The variables of expressions that the host evaluates. The slots do not depend on the types.
  func hostVariables(
    payload: ExpressionType = .map(.string, .dyn), result: ExpressionType = .dyn
  ) -> Variables {
    let types: [BundleScope.Slot: ExpressionType] = [
      .data: dataType, .parameters: parametersType, .status: statusType,
      .widget: WidgetVariable.type,
      .event: EventVariable.type(payload: payload), .result: result,
      .error: .record(RecordType(["code": .string, "title": .string, "message": .string])),
      .now: .timestamp, .bundle: .record(RecordType(["id": .string, "version": .string])),
      .nodes: nodesType, .uptime: .duration,
    ]
    return Variables(
      BundleScope.Slot.allCases.map { slot in
        ExpressionVariable(
          "\(slot)", types[slot] ?? .dyn, isListed: context.hasHost || !slot.needsHost)
      },
      timeZones: reading.timeZones)
  }

  func contentVariables() -> Variables {
    Variables(
      [
        ExpressionVariable("data", dataType), ExpressionVariable("parameters", parametersType),
        ExpressionVariable("status", statusType), ExpressionVariable("widget", WidgetVariable.type),
      ] + (kind.hasEntries ? [ExpressionVariable("entry", entryType)] : []),
      timeZones: reading.timeZones)
  }

  private var entryType: ExpressionType {
    let own = [Field(name: "date", type: .timestamp), Field(name: "score", type: .double)]
    return .record(RecordType(own + kind.entry, isOpen: kind.isOpen))
  }

  private func reducerVariables(payload: ExpressionType) -> Variables {
    Variables(
      [
        ExpressionVariable("data", dataType), ExpressionVariable("parameters", parametersType),
        ExpressionVariable("event", EventVariable.type(payload: payload)),
        ExpressionVariable("widget", WidgetVariable.type),
        ExpressionVariable("now", .timestamp), ExpressionVariable("nodes", nodesType),
      ], timeZones: reading.timeZones)
  }

  // MARK: - Reducers

  private func reducer(_ item: Item, index: Int) -> Reducer? {
    guard let object = reading.object(item, .reducer) else { return nil }
    guard let eventItem = object["event"], let event = reading.text(eventItem),
      checkEvent(event, eventItem)
    else {
      if object["event"] == nil {
        reading.reportMissing(
          "event", of: object, "the event is missing", hint: "add event: NAME")
      }
      return nil
    }
    let variables = reducerVariables(payload: payloadType(event))
    var reducer = Reducer(event: event, nodeID: reading.text(object["nodeId"]) ?? "")
    if let item = object["nodeId"] { reducerNodes.append((reducer.nodeID, item)) }
    if let condition = reading.expression(object["condition"], variables, giving: .bool) {
      reducer.condition = condition.compiled.source
    }
    for (key, value) in assignments(object["set"], variables).values {
      reducer.assignments[key] = value.compiled.source
    }
    reducer.unset = dataKeys(object["unset"])
    for key in reducer.unset where reducer.assignments[key] != nil {
      reading.report(
        item, "\"\(key)\" is both set and unset", hint: "remove it from set or from unset")
    }
    return reducer
  }

  /// Reports reducers for nodes that the content does not have. The content must be read before.
  private func checkReducerNodes(hasContent: Bool) {
    for (id, item) in reducerNodes where !id.isEmpty && nodeTypes[id] == nil {
      if hasContent {
        reading.report(
          item, "the content has no node \"\(id.prefix(64))\"",
          hint: reading.suggestion(id, among: nodeTypes.keys.sorted()))
      } else if WidgetID(id) == nil {
        reading.report(
          item, "\"\(id.prefix(70))\" cannot be a node's id",
          hint: "use 1 to 64 of a-z, A-Z, 0-9, _ and -, a letter or digit first")
      }
    }
  }

  // MARK: - Data

  /// New values for data keys.
  func assignments(_ item: Item?, _ variables: Variables) -> Assignments {
    guard let item, let entries = reading.entries(item, of: "data keys and expressions") else {
      return Assignments()
    }
    var result = Assignments()
    for entry in entries {
      guard let type = dataType(of: entry.name, entry.nameItem) else { continue }
      let expression =
        entry.item.node.isNull
        ? reading.compile(
          "null", skipping: 0, entry.item, variables, giving: type, for: "\"\(entry.name)\"")
        : reading.expression(entry.item, variables, giving: type, for: "\"\(entry.name)\"")
      if let expression { result.values.append((key: entry.name, value: expression)) }
    }
    return result
  }

  func dataKeys(_ item: Item?) -> [String] {
    reading.oneOrMore(item).compactMap { item in
      guard let key = reading.text(item, "a data key"), dataType(of: key, item) != nil else {
        return nil
      }
      return key
    }
  }

  /// The type of a data key. If the key may not be changed, reports that and returns nil.
  private func dataType(of key: String, _ item: Item) -> FieldType? {
    if key == BundleScope.statusKey, !(sourceNames + actionNames).isEmpty {
      reading.report(item, "\"status\" changes by itself", hint: "set another field")
      return nil
    }
    if let field = kind.data.first(where: { $0.name == key }) { return field.type }
    if kind.isOpen, key.isFieldName { return .any }
    reading.report(
      item, "the kind has no data \"\(key.prefix(64))\"",
      hint: reading.suggestion(
        key, among: kind.data.map(\.name).filter { $0 != BundleScope.statusKey }))
    return nil
  }
}

/// Ids for nodes without an id: `label-1`, `label-2`, in the order of the file. The numbers run
/// over all templates of a kind, so an event of one node is never taken for an event of another
/// node.
struct NodeIDs {
  private var taken: Set<String> = []
  private var numbers: [NodeType: Int] = [:]

  mutating func reserve(_ id: String) { taken.insert(id) }

  mutating func next(_ type: NodeType) -> String {
    while true {
      let number = numbers[type, default: 0] + 1
      numbers[type] = number
      let id = "\(type.name)-\(number)"
      if !taken.contains(id) { return id }
    }
  }
}
