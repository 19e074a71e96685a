import WidgetExpression
import WidgetModel

/// Reads the actions and triggers of a kind.
extension KindReader {
  private static let codes = [
    "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
    "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE",
    "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
  ]

  /// An action: an object with `do`, or only its steps.
  func action(_ item: Item, name: String = "", _ variables: Variables) -> Action? {
    guard case .map(let entries) = item.node.content,
      entries.contains(where: { ObjectShape.action.keys.contains($0.key) })
    else { return Action(name: name, steps: steps(item, variables)) }
    guard let object = reading.object(item, .action) else { return nil }
    return action(object, name: name, variables)
  }

  /// - Parameter object: of a shape that has the keys of an action.
  private func action(_ object: Object, name: String, _ variables: Variables) -> Action {
    if object["do"] == nil {
      reading.report(
        object.item, "there is nothing to do", hint: "add do: with a step or a list of them")
    }
    var action = Action(name: name)
    action.condition = reading.expression(object["if"], variables, giving: .bool)
    if let item = object["else"] {
      if action.condition == nil, object["if"] == nil {
        reading.report(item, "\"else\" needs an \"if\" beside it")
      }
      action.otherwise = steps(item, variables)
    }
    action.requirements = reading.oneOrMore(object["require"]).compactMap {
      requirement($0, variables)
    }
    action.delay = reading.duration(object["delay"])
    action.optimistic = assignments(object["optimistic"], variables)
    action.steps = steps(object["do"], variables)
    action.success = steps(object["then"], variables)
    action.failure = steps(object["catch"], variables)
    action.errorTitle = reading.template(
      object["title"], variables, giving: .string, for: "a title")
    action.successMessage = reading.template(
      object["message"], variables, giving: .string, for: "a message")
    return action
  }

  private func requirement(_ item: Item, _ variables: Variables) -> Requirement? {
    guard let object = reading.object(item, .require) else { return nil }
    guard let conditionItem = object["if"] else {
      reading.reportMissing(
        "if", of: object, "the condition is missing", hint: "add if: EXPRESSION")
      return nil
    }
    let condition = reading.expression(conditionItem, variables, giving: .bool)
    let message =
      reading.template(object["message"], variables, giving: .string, for: "a message")
      ?? .constant(.string("This is not allowed"))
    var code = "PERMISSION_DENIED"
    if let item = object["code"], let text = reading.text(item) {
      if KindReader.codes.contains(text) {
        code = text
      } else {
        reading.report(
          item, "\"\(text.prefix(40))\" is not an error code",
          hint: reading.suggestion(text.uppercased(), among: KindReader.codes))
      }
    }
    return condition.map { Requirement(condition: $0, code: code, message: message) }
  }

  // MARK: - Steps

  /// An action's name, a step, or a list of such.
  func steps(_ item: Item?, _ variables: Variables) -> [Step] {
    reading.oneOrMore(item).flatMap { step($0, variables) }
  }

  private func step(_ item: Item, _ variables: Variables) -> [Step] {
    switch item.node.content {
    case .scalar(let name, _): return [run(name, item)].compactMap(\.self)
    case .list:
      reading.report(item, "a list of steps cannot be in another one")
      return []
    case .map(let entries):
      if entries.contains(where: { ObjectShape.action.keys.contains($0.key) }) {
        let isStep = entries.contains { ObjectShape.step.keys.contains($0.key) }
        if isStep, !entries.contains(where: { $0.key == "do" }) {
          let key = entries.first { ObjectShape.action.keys.contains($0.key) }?.key ?? ""
          reading.report(
            item, "\"\(key)\" and a step cannot be in one object", hint: "put the step under do:")
          return []
        }
        return action(item, variables).map { [.action($0)] } ?? []
      }
      guard let object = reading.object(item, .step, or: " or an action's name") else { return [] }
      return step(object, variables)
    }
  }

  /// The name of an action, or of a source to read again.
  private func run(_ name: String, _ item: Item) -> Step? {
    if actionNames.contains(name) {
      if let currentAction { runs[currentAction, default: []].append((name, item)) }
      return .run(name)
    }
    if sourceNames.contains(name) { return .reload([name]) }
    guard context.hasHost else {
      reading.reportNeedsHost(item, "an action's name")
      return nil
    }
    reading.report(
      item, "there is no action \"\(name.prefix(64))\"",
      hint: reading.suggestion(name, among: actionNames + sourceNames))
    return nil
  }

  /// The keys that select the action of a step. `set` can also stand beside a key that gives a
  /// result.
  static let verbs = [
    "http", "command", "dbus", "socket", "show", "hide", "enable", "disable", "toggle", "reload",
    "emit", "run", "cancel",
  ]
  /// The verbs that give a result.
  private static let resultVerbs = ["http", "command", "dbus", "socket"]
  /// Keys with details of a verb.
  private static let details = [
    "parse": ["http", "command"], "stub": resultVerbs, "debugDelay": resultVerbs,
    "input": ["command"],
    "timeout": ["command"], "widget": ["emit"], "payload": ["emit"],
  ]

  private func step(_ object: Object, _ variables: Variables) -> [Step] {
    let given = KindReader.verbs.filter { object.has($0) }
    for (detail, verbs) in KindReader.details.sorted(by: { $0.key < $1.key }) {
      guard let item = object[detail], !verbs.contains(where: { given.contains($0) }) else {
        continue
      }
      reading.report(
        item, "\"\(detail)\" is for \(verbs.joined(separator: " and "))", hint: "leave it out")
    }
    guard given.count <= 1 else {
      reading.report(
        object.item, "a step does one thing: \(given.joined(separator: " or "))",
        hint: "make a list of steps")
      return []
    }
    guard let verb = given.first else {
      guard object.has("set") || object.has("unset") else {
        reading.report(
          object.item, "the step does nothing",
          hint: "use one of "
            + (["set", "unset"] + KindReader.verbs + ["do"]).joined(separator: ", "))
        return []
      }
      return changes(object, variables)
    }
    if object.has("unset") || (object.has("set") && !KindReader.resultVerbs.contains(verb)) {
      reading.report(
        object.item,
        "\"\(object.has("unset") ? "unset" : "set")\" cannot be in the same step as \(verb)",
        hint: "make a list of two steps")
    }
    guard let item = object[verb] else {
      reading.report(object.item, "\"\(verb)\" says nothing")
      return []
    }
    return doing(verb, item, object, variables).map { [$0] } ?? []
  }

  private func changes(_ object: Object, _ variables: Variables) -> [Step] {
    var steps: [Step] = []
    let set = assignments(object["set"], variables)
    if !set.isEmpty { steps.append(.set(set)) }
    let unset = dataKeys(object["unset"])
    if !unset.isEmpty { steps.append(.unset(unset)) }
    for key in unset where set.values.contains(where: { $0.key == key }) {
      reading.report(object.item, "\"\(key)\" is both set and unset", hint: "remove one of them")
    }
    return steps
  }

  private func doing(
    _ verb: String, _ item: Item, _ object: Object, _ variables: Variables
  ) -> Step? {
    switch verb {
    case "dbus":
      guard let bus = bus(item, variables, isStep: true) else { return nil }
      var after = variables
      let slot = BundleScope.Slot.result
      after.environment.variables[slot.rawValue] = ExpressionVariable("\(slot)", resultType(bus))
      return .bus(
        bus, assignments: assignments(object["set"], after),
        stub: stub(object, Parse(), variables))
    case "socket":
      guard let socket = commandSocket(item, variables) else { return nil }
      var after = variables
      let slot = BundleScope.Slot.result
      after.environment.variables[slot.rawValue] = ExpressionVariable("\(slot)", .list(.dyn))
      return .socket(
        socket, assignments: assignments(object["set"], after),
        stub: stub(object, Parse(), variables))
    case "http", "command":
      let parse = self.parse(object["parse"])
      var after = variables
      let slot = BundleScope.Slot.result
      after.environment.variables[slot.rawValue] = ExpressionVariable("\(slot)", resultType(parse))
      let assignments = self.assignments(object["set"], after)
      let stub = self.stub(object, parse, variables)
      if verb == "http" {
        return http(item, variables).map {
          .http($0, parse, assignments: assignments, stub: stub)
        }
      }
      return command(item, object, variables).map {
        .command($0, parse, assignments: assignments, stub: stub)
      }
    case "show", "hide", "enable", "disable", "toggle":
      let actions = Dictionary(
        PresenceAction.allCases.map { ("\($0)", $0) }, uniquingKeysWith: { first, _ in first })
      guard let action = actions[verb] else { return nil }
      return widgets(item, variables).map { .presence(action, $0) }
    case "reload":
      if case .scalar("all", _) = item.node.content { return .reload([]) }
      let names = reading.oneOrMore(item).compactMap { item -> String? in
        guard let name = reading.text(item, "a source's name") else { return nil }
        if sourceNames.contains(name) || !context.hasHost { return name }
        reading.report(
          item, "there is no source \"\(name.prefix(64))\"",
          hint: reading.suggestion(name, among: sourceNames + ["all"]))
        return nil
      }
      return names.isEmpty ? nil : .reload(names)
    case "emit": return emit(item, object, variables)
    case "run":
      return reading.text(item, "an action's name").flatMap { run($0, item) }
    default:
      guard let name = reading.text(item, "an action's name") else { return nil }
      guard actionNames.contains(name) || !context.hasHost else {
        reading.report(
          item, "there is no action \"\(name.prefix(64))\"",
          hint: reading.suggestion(name, among: actionNames))
        return nil
      }
      return .cancel(name)
    }
  }

  /// Ids of widgets. `self` is the widget itself, which is also the default.
  private func widgets(_ item: Item, _ variables: Variables) -> [Template]? {
    if case .scalar("self", _) = item.node.content { return [] }
    let ids = reading.oneOrMore(item).compactMap { widget($0, variables) }
    return ids.isEmpty ? nil : ids
  }

  private func widget(_ item: Item, _ variables: Variables) -> Template? {
    guard let id = reading.template(item, variables, giving: .string, for: "a widget's id") else {
      return nil
    }
    guard context.hasHost, let text = id.constantText, !context.widgetIDs.contains(text) else {
      return id
    }
    if text == "self" {
      // A list can have other ids beside `self`.
      return reading.compile(
        "widget.id", skipping: 0, item, variables, giving: .string, for: ""
      ).map { .expression($0) }
    }
    reading.report(
      item, "the bundle has no widget \"\(text.prefix(64))\"",
      hint: reading.suggestion(text, among: context.widgetIDs.sorted() + ["self"]))
    return nil
  }

  private func emit(_ item: Item, _ object: Object, _ variables: Variables) -> Step? {
    guard let name = reading.text(item, "an event's name") else { return nil }
    let widgetItem = object["widget"]
    var target: Template?
    if let widgetItem, case .scalar("self", _) = widgetItem.node.content {
    } else if let widgetItem {
      target = widget(widgetItem, variables)
    }
    // The reader does not know the events of another widget.
    let isKnown = target == nil ? checkEvent(name, item) : checkEventName(name, item)
    let payload = reading.templates(object["payload"], of: "names and values", variables)
    guard isKnown else { return nil }
    return .emit(
      name: name, widget: target, payload: payload.map { (key: $0.name, value: $0.value) })
  }

  /// Actions that run each other in a circle would never end.
  func reportCycles(_ items: [Named]) {
    var done: Set<String> = []
    var path: [String] = []
    func visit(_ name: String) {
      guard !done.contains(name) else { return }
      path.append(name)
      for (next, item) in runs[name] ?? [] {
        if let start = path.firstIndex(of: next) {
          let names = Array(path[start...])
          let shown = names.count > 8 ? names.prefix(7) + ["…"] : names[...]
          let circle = (shown + [next]).joined(separator: " → ")
          reading.report(
            item, "actions run each other in a circle: \(circle)",
            hint: "leave one of them out, or use reload: for sources to read again")
        } else {
          visit(next)
        }
      }
      path.removeLast()
      done.insert(name)
    }
    for item in items { visit(item.name) }
  }

  // MARK: - When

  /// Reads the steps for a node's event.
  func read(_ handler: NodeHandler) {
    let variables = hostVariables(payload: payloadType(handler.event))
    read(
      handler.item, .event(name: handler.event.name, nodeID: handler.nodeID), variables)
  }

  /// Reads the steps for loading, for intervals, and for events.
  func on(_ item: Item) {
    guard let object = reading.object(item, .on) else { return }
    for entry in reading.entries(item, of: "events and steps") ?? [] {
      switch entry.name {
      case "load": read(entry.item, .load, hostVariables())
      case "every":
        for item in reading.oneOrMore(object["every"]) { every(item) }
      default:
        let isLife = declareLifeEvent(entry.name, entry.nameItem)
        guard isLife ?? checkEvent(entry.name, entry.nameItem) else { continue }
        if isLife == nil { remarkSlip(entry.name, entry.nameItem) }
        let ofNodes = NodeType.allCases.flatMap(\.events).contains { $0.name == entry.name }
        let isDeclared = kind.events.contains { $0.name == entry.name }
        let payload = ofNodes && !isDeclared ? .map(.string, .dyn) : payloadType(entry.name)
        read(
          entry.item, .event(name: entry.name, nodeID: nil), hostVariables(payload: payload))
        if isLife == true { noteReloads(entry) }
      }
    }
  }

  private func every(_ item: Item) {
    guard context.hasHost else { return reading.reportNeedsHost(item, "\"every\"") }
    guard let object = reading.object(item, .every) else { return }
    guard let intervalItem = object["interval"] else {
      reading.reportMissing(
        "interval", of: object, "the interval is missing", hint: "add interval: DURATION")
      return
    }
    guard let doItem = object["do"] else {
      reading.report(item, "there is nothing to do", hint: "add do: STEPS")
      return
    }
    let interval = reading.duration(intervalItem, atLeast: KindReader.intervalLeast)
    let steps = self.steps(doItem, hostVariables())
    if let interval { triggers.append(Trigger(when: .every(interval), steps: steps)) }
  }

  /// Steps, or an object that also has a wait for further events.
  private func read(_ item: Item, _ when: Trigger.When, _ variables: Variables) {
    var throttle: Duration?
    var minLength: Int?
    var steps: [Step]
    let problemCount = reading.problems.count
    if case .map(let entries) = item.node.content,
      entries.contains(where: { $0.key == "throttle" || $0.key == "minLength" })
    {
      guard let object = reading.object(item, .handler) else { return }
      throttle = reading.duration(object["throttle"])
      minLength = reading.int(object["minLength"], in: 0...1_000_000)
      let isPlain = !entries.contains {
        ObjectShape.action.keys.contains($0.key) && $0.key != "do"
      }
      if isPlain, let item = object["do"] {
        steps = self.steps(item, variables)
      } else {
        steps = [.action(action(object, name: "", variables))]
      }
    } else {
      steps = self.steps(item, variables)
    }
    // The host checks the values of a form before its action runs, so a form is not a reducer.
    if throttle == nil, minLength == nil, case .event(let name, let nodeID) = when,
      name != "submit" || nodeID == nil || !context.hasHost,
      let reducers = reducers(steps, event: name, nodeID: nodeID ?? "")
    {
      kind.reducers += reducers
      return
    }
    guard !steps.isEmpty else { return }
    guard context.hasHost else {
      let hasMistake = reading.problems.count > problemCount
      return reportNeedsHost(item, steps, when, hasMistake: hasMistake)
    }
    triggers.append(
      Trigger(when: when, steps: steps, throttle: throttle, minLength: minLength))
  }

  // MARK: - Reducers

  /// The steps as reducers, which the daemon runs in one change with the event. Nil if some steps
  /// do more than change data, or read variables that only the host has.
  private func reducers(
    _ steps: [Step], event: String, nodeID: String, depth: Int = 0
  ) -> [Reducer]? {
    guard !steps.isEmpty, depth < 8 else { return nil }
    var reducers: [Reducer] = []
    for step in steps {
      var reducer = Reducer(event: event, nodeID: nodeID)
      switch step {
      case .set(let assignments):
        for (key, value) in assignments.values {
          guard let source = reducerSource(value) else { return nil }
          reducer.assignments[key] = source
        }
        reducers.append(reducer)
      case .unset(let keys):
        reducer.unset = keys
        reducers.append(reducer)
      case .run(let name):
        // The daemon does not send life events, so an action with life events is no reducer.
        guard let action = actions[name], isPlain(action), !toldActions.contains(name),
          let inner = self.reducers(
            [.action(action)], event: event, nodeID: nodeID, depth: depth + 1)
        else { return nil }
        reducers += inner
      case .action(let action):
        guard isPlain(action),
          var inner = self.reducers(
            action.steps, event: event, nodeID: nodeID, depth: depth + 1)
        else { return nil }
        if let condition = action.condition {
          // The first step could change the condition before the second step reads it.
          guard inner.count == 1, inner[0].condition.isEmpty,
            let source = reducerSource(condition)
          else { return nil }
          inner[0].condition = source
        }
        reducers += inner
      default: return nil
      }
    }
    return reducers
  }

  /// Whether an action has only a condition and steps.
  private func isPlain(_ action: Action) -> Bool {
    action.otherwise.isEmpty && action.requirements.isEmpty && action.delay == nil
      && action.optimistic.isEmpty && action.success.isEmpty && action.failure.isEmpty
      && action.errorTitle == nil && action.successMessage == nil
  }

  /// The expression for a reducer; nil if it reads variables that only the host has.
  private func reducerSource(_ expression: Expression) -> String? {
    let names = Set(expression.compiled.references.map(\.variable))
    guard
      names.isSubset(of: [
        "data", "parameters", "event", "widget", "now", "status", "nodes",
      ])
    else {
      return nil
    }
    let source = expression.compiled.source
    // The daemon has no variable `status`. There, the status is a data key.
    return names.contains("status")
      ? "cel.bind(status, data.status, \(CELText.wrapped(source)))" : source
  }
}
