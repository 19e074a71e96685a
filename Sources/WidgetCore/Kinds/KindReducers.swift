import WidgetExpression
import WidgetModel

/// The compiled reducers of a kind: the effects of events on the data of its widgets.
///
/// Pure: the same event on the same widget always has the same effect. A failure in a reducer
/// refuses the event, so that a widget never has only a part of an event's effect.
struct KindReducers {
  /// The reason why the reducers cannot be used.
  struct Problem: Hashable {
    /// `reducers[0].set[count]`
    let place: String
    /// `on.press`
    let key: String
    let message: String
  }

  /// The first problem. `applyKinds` refuses a kind that has one. It can only appear later if a
  /// newer version of the daemon reads the kind.
  private(set) var problem: Problem?
  private var byEvent: [String: EventReducers] = [:]

  /// The reducers of one event, and the variables that their expressions read. Variables that no
  /// expression reads are not made, because making one costs more than a small reducer.
  private struct EventReducers {
    private(set) var reducers: [CompiledReducer] = []
    private(set) var readsEvent = false
    private(set) var readsWidget = false

    mutating func append(_ reducer: CompiledReducer) {
      reducers.append(reducer)
      let expressions =
        reducer.assignments.map(\.expression) + [reducer.condition].compactMap(\.self)
      let variables = Set(expressions.flatMap(\.references).map(\.variable))
      readsEvent = readsEvent || variables.contains("event")
      readsWidget = readsWidget || variables.contains("widget")
    }
  }

  private struct CompiledReducer {
    let place: String
    let key: String
    let nodeID: String
    let condition: CompiledExpression?
    let assignments: [Assignment]
    /// The keys to remove, with their defaults.
    let unset: [(key: String, defaultValue: Value?)]

    func runs(for event: Event) -> Bool {
      nodeID.isEmpty || NodeID.isNode(event.nodeID, of: nodeID)
    }
  }

  private struct Assignment {
    let key: String
    let expression: CompiledExpression
    /// Nil for an undeclared key of an open kind.
    let field: Field?

    var type: FieldType { field?.type ?? .any }
  }

  private init() {}

  /// Whether a reducer runs for an event on a node.
  func answer(_ event: String, on nodeID: String) -> Bool {
    byEvent[event]?.reducers.contains { $0.nodeID.isEmpty || NodeID.isNode(nodeID, of: $0.nodeID) }
      ?? false
  }

  // MARK: - Running

  /// The effect of an event on a widget; nil for none.
  func patch(
    for event: Event, on record: Record, costMax: Int, valueDepthMax: Int
  ) throws(StoreError) -> WidgetPatch? {
    if let problem {
      // The name of the event is the sender's text, so the mark must not have it.
      throw .reducerFailed(
        record.id, event: event.name,
        ReducerFailure(
          event: "", nodeID: "", place: problem.place, key: problem.key,
          cause: problem.message, message: problem.message))
    }
    guard let known = byEvent[event.name] else { return nil }
    var run = Run(
      event: event, record: record, for: known, budget: costMax, valueDepthMax: valueDepthMax)
    for reducer in known.reducers where reducer.runs(for: event) {
      do throws(Failure) { try run.apply(reducer) } catch {
        throw .reducerFailed(
          record.id, event: event.name,
          ReducerFailure(
            event: event.name, nodeID: reducer.nodeID, place: error.place, key: reducer.key,
            cause: error.cause, message: error.message))
      }
    }
    var patch = run.patch
    if let error = record.error {
      let others = error.all.filter { error in
        !known.reducers.contains { reducer in
          reducer.runs(for: event)
            && ReducerFailure.isMark(error, of: event.name, key: reducer.key)
        }
      }
      if others.count < error.all.count { patch.error = .some(WidgetError(joining: others)) }
    }
    return patch
  }

  /// The changes of data by the reducers of an event, in their order. A later change of a key counts.
  ///
  /// A kind can have thousands of changes. So each one costs O(1), and the patch O(n log n).
  private struct DataChanges {
    private(set) var all: [(key: String, value: Value?)] = []

    var count: Int { all.count }

    mutating func append(_ key: String, _ value: Value?) { all.append((key, value)) }

    var patch: WidgetPatch {
      let order = all.indices.sorted { a, b in
        all[a].key.hasSameBytes(as: all[b].key) ? a < b : all[a].key.precedesByBytes(all[b].key)
      }
      var patch = WidgetPatch()
      var entries: [ValueMap.Entry] = []
      for (place, index) in order.enumerated() {
        let (key, value) = all[index]
        let isLast = place + 1 == order.count || !all[order[place + 1]].key.hasSameBytes(as: key)
        guard isLast else { continue }
        if let value {
          entries.append(.init(key: key, value: value))
        } else {
          patch.unsetData.append(key)
        }
      }
      patch.setData = ValueMap(entries)
      return patch
    }
  }

  /// One event on one widget.
  private struct Run {
    /// The data after the reducers so far.
    private let data: RecordMap
    private var changes = DataChanges()
    private let bindings: SlotBindings
    private var budget: Int
    private let valueDepthMax: Int

    init(
      event: Event, record: Record, for known: EventReducers, budget: Int, valueDepthMax: Int
    ) {
      self.budget = budget
      self.valueDepthMax = valueDepthMax
      data = RecordMap(record.data)
      bindings = SlotBindings([
        .map(ExpressionMap(data)), .map(ExpressionMap(RecordMap(record.parameters))),
        known.readsEvent ? Run.variable(event) : .null,
        known.readsWidget ? WidgetVariable.value(of: record) : .null,
        .timestamp(event.time),
        Run.nodes(event),
      ])
    }

    /// The effect of the reducers so far.
    var patch: WidgetPatch { changes.patch }

    /// The variable `event`.
    private static func variable(_ event: Event) -> ExpressionValue {
      let rows = NodeID.rowKeys(of: event.nodeID)
      return ExpressionValue(
        [
          // The fields are in the order of a map, so that the map need not be sorted.
          "name": .string(event.name), "node": .string(event.nodeID),
          "payload": .map(event.payload), "row": .string(rows.last ?? ""),
          "rows": .list(rows.map { .string($0) }), "time": .timestamp(event.time),
        ] as ValueMap)
    }

    /// The submitted values by the names of their fields; null for other events.
    private static func nodes(_ event: Event) -> ExpressionValue {
      guard event.name == "submit", case .map(let values)? = event.payload["values"] else {
        return .null
      }
      return ExpressionValue(
        ValueMap(values.entries.map { .init(key: $0.key, value: .map(["value": $0.value])) }))
    }

    mutating func apply(_ reducer: CompiledReducer) throws(Failure) {
      if let condition = reducer.condition {
        let place = "\(reducer.place).condition"
        guard case .bool(let holds) = try value(of: condition, place) else {
          throw Failure(place, "expected true or false")
        }
        guard holds else { return }
      }
      let first = changes.count
      for assignment in reducer.assignments {
        let place = "\(reducer.place).set[\(assignment.key)]"
        let result = try value(of: assignment.expression, place)
        let value = try stored(result, place)
        guard let fitted = assignment.type.fitted(value) else {
          throw Failure(place, "expected a value of type \(assignment.type)")
        }
        if let field = assignment.field, !field.takes(fitted) {
          throw Failure(place, "expected one of: \(field.choiceWords)")
        }
        changes.append(assignment.key, fitted)
      }
      budget -= reducer.unset.count
      guard budget >= 0 else {
        throw Failure(
          "\(reducer.place).unset", KindReducers.tooCostly, cause: KindReducers.tooCostly)
      }
      for (key, defaultValue) in reducer.unset { changes.append(key, defaultValue) }
      // Only now: the expressions of a reducer see the data before it.
      for change in changes.all[first...] { data.change(change.key, to: change.value) }
    }

    /// The value in the form that the store keeps.
    private mutating func stored(
      _ result: ExpressionValue, _ place: String
    ) throws(Failure) -> Value {
      do throws(EvaluationError) {
        return try Value(result, budget: &budget, depthMax: valueDepthMax)
      } catch {
        guard error.reason != .costExceeded else { throw Failure(place, KindReducers.tooCostly) }
        throw Failure(
          place, error.storageMessage(depthMax: valueDepthMax), cause: error.reason.words)
      }
    }

    private mutating func value(
      of expression: CompiledExpression, _ place: String
    ) throws(Failure) -> ExpressionValue {
      do throws(EvaluationError) {
        let (value, cost) = try expression.evaluateWithCost(bindings, budget: budget)
        budget -= cost
        return value
      } catch {
        throw Failure(
          place, error.quoted,
          cause: error.reason == .costExceeded ? KindReducers.tooCostly : error.quotedReason)
      }
    }
  }

  private static let tooCostly = "the event costs more than event_cost_max allows"

  /// The problem and its place.
  private struct Failure: Error {
    let place: String
    let message: String
    /// The message without values.
    let cause: String

    init(_ place: String, _ message: String, cause: String? = nil) {
      self.place = place
      self.message = message
      self.cause = cause ?? message
    }
  }

  // MARK: - Compiling

  /// The compilation of a kind's reducers, in steps.
  struct Compilation {
    /// The reducers so far.
    private(set) var reducers = KindReducers()
    private let kind: Kind
    private let memory: KindMemory
    private let timeZones: WidgetStore.TimeZones?
    private let fields: [String: Field]
    private let types: [String: EventType]
    private let nodes: NodeTypes
    private let keys: [String]
    /// The types of the fields are shared, because their cost depends on the size of the kind.
    private let variables: [ExpressionVariable]
    /// One environment for each event.
    private var environments: [String: ExpressionEnvironment] = [:]
    /// The place of the next reducer, or of the one in `draft`.
    private var index = 0
    private var draft: Draft?

    /// A reducer with some of its expressions.
    private struct Draft {
      let environment: ExpressionEnvironment
      let condition: CompiledExpression?
      var assignments: [Assignment] = []
      /// The assignments that follow.
      var rest: ArraySlice<(key: String, value: String)>
    }

    init(_ kind: Kind, _ memory: KindMemory, timeZones: WidgetStore.TimeZones?) {
      self.kind = kind
      self.memory = memory
      self.timeZones = timeZones
      fields = Dictionary(
        kind.data.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
      types = Dictionary(
        kind.events.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
      nodes = NodeTypes(kind)
      variables = KindReducers.variables(kind)
      keys = ReducerFailure.keys(of: kind.reducers)
    }

    /// Compiles one expression at most. Returns false at the end.
    mutating func step() -> Bool {
      guard reducers.problem == nil, index < kind.reducers.count else { return false }
      do throws(Failure) { try advance() } catch {
        reducers.problem = Problem(place: error.place, key: keys[index], message: error.message)
      }
      return true
    }

    private mutating func advance() throws(Failure) {
      let reducer = kind.reducers[index]
      let place = "reducers[\(index)]"
      guard draft != nil else {
        draft = try begin(reducer, place)
        return
      }
      if let next = draft?.rest.popFirst() { try assign(next.key, next.value, place) }
      if draft?.rest.isEmpty == true { try end(reducer, place) }
    }

    private mutating func begin(_ reducer: Reducer, _ place: String) throws(Failure) -> Draft {
      let type = types[reducer.event] ?? nodes.event(reducer.event, of: reducer.nodeID)
      if type == nil, !kind.events.isEmpty, !kind.isOpen {
        throw Failure(
          "\(place).event",
          KindReducers.hint(
            "the kind declares no event \"\(reducer.event)\"", reducer.event,
            kind.events.map(\.name)))
      }
      if !reducer.nodeID.isEmpty, !kind.content.isEmpty, nodes.types[reducer.nodeID] == nil {
        throw Failure(
          "\(place).node_id",
          KindReducers.hint(
            "the kind's content has no node \"\(reducer.nodeID)\"", reducer.nodeID,
            nodes.types.keys.sorted()))
      }
      var environment =
        environments["\(reducer.event) \(reducer.nodeID)"]
        ?? ExpressionEnvironment(
          variables: KindReducers.variables(
            variables, payload: type?.payload, isOpen: kind.isOpen), timeZones: timeZones)
      environments["\(reducer.event) \(reducer.nodeID)"] = environment
      var condition: CompiledExpression?
      if !reducer.condition.isEmpty {
        environment.resultType = .bool
        condition = try KindReducers.compile(
          reducer.condition, environment, memory, "\(place).condition")
        environment.resultType = nil
      }
      let assignments = reducer.assignments.sorted { $0.key.precedesByBytes($1.key) }
      return Draft(environment: environment, condition: condition, rest: assignments[...])
    }

    private mutating func assign(
      _ key: String, _ source: String, _ place: String
    ) throws(Failure) {
      guard let environment = draft?.environment else { return }
      let place = "\(place).set[\(key.prefix(64))]"
      let field = try KindReducers.field(key, kind, fields, place)
      let type = field?.type ?? .any
      let expression = try KindReducers.compile(source, environment, memory, place)
      guard expression.resultType.mayFit(type) else {
        throw Failure(
          place,
          "the expression gives a value of type \(expression.resultType), but \"\(key)\" is of "
            + "type \(type)")
      }
      draft?.assignments.append(Assignment(key: key, expression: expression, field: field))
    }

    private mutating func end(_ reducer: Reducer, _ place: String) throws(Failure) {
      guard let draft else { return }
      var unset: [(key: String, defaultValue: Value?)] = []
      for key in reducer.unset {
        let place = "\(place).unset"
        guard reducer.assignments[key] == nil else {
          throw Failure(place, "\"\(key)\" is also set; remove it from set or from unset")
        }
        unset.append((key, try KindReducers.field(key, kind, fields, place)?.defaultValue))
      }
      reducers.byEvent[reducer.event, default: EventReducers()].append(
        CompiledReducer(
          place: place, key: keys[index], nodeID: reducer.nodeID, condition: draft.condition,
          assignments: draft.assignments, unset: unset))
      self.draft = nil
      index += 1
    }
  }

  private static func compile(
    _ source: String, _ environment: ExpressionEnvironment, _ memory: KindMemory, _ place: String
  ) throws(Failure) -> CompiledExpression {
    do throws(KindMemory.Refusal) {
      return try memory.compile(source, in: environment)
    } catch {
      throw Failure(place, error.message)
    }
  }

  /// The nodes of a kind's content, all templates together.
  private struct NodeTypes {
    private(set) var types: [String: NodeType] = [:]

    init(_ kind: Kind) {
      for template in kind.content { add(template.root) }
    }

    private mutating func add(_ node: NodeTemplate) {
      types[node.id] = node.type
      for child in node.children { add(child) }
    }

    /// The event that users cause on a node, or (without an id) on any node.
    func event(_ name: String, of id: String) -> EventType? {
      let candidates = id.isEmpty ? Set(types.values) : Set([types[id]].compactMap(\.self))
      let events = candidates.flatMap(\.events).filter { $0.name == name }
      // Nodes of several types may have different details for one name.
      return Set(events.map(\.payload)).count > 1
        ? EventType(name: name, payload: [Field(name: "value")]) : events.first
    }
  }

  /// The declared field of a key; nil for an undeclared key of an open kind.
  private static func field(
    _ key: String, _ kind: Kind, _ fields: [String: Field], _ place: String
  ) throws(Failure) -> Field? {
    guard key.isFieldName else {
      throw Failure(place, "use 1 to 64 of a-z, A-Z, 0-9 and _, not a digit first")
    }
    if let field = fields[key] { return field }
    if kind.isOpen { return nil }
    throw Failure(
      place, hint("the kind declares no data \"\(key)\"", key, kind.data.map(\.name)))
  }

  private static func hint(_ problem: String, _ name: String, _ names: [String]) -> String {
    name.closest(among: names).map { "\(problem); did you mean \"\($0)\"?" } ?? problem
  }

  /// The variables for expressions of reducers; `Run` binds them in the same order. The payload of
  /// `event` is missing.
  private static func variables(_ kind: Kind) -> [ExpressionVariable] {
    [
      ExpressionVariable("data", .record(RecordType(kind.data, isOpen: kind.isOpen))),
      ExpressionVariable("parameters", .record(RecordType(kind.parameters, isOpen: kind.isOpen))),
      ExpressionVariable("event", .dyn),
      ExpressionVariable("widget", WidgetVariable.type),
      ExpressionVariable("now", .timestamp),
      ExpressionVariable("nodes", .dyn),
    ]
  }

  /// The variables with the payload of an event; nil for an event without a type.
  private static func variables(
    _ variables: [ExpressionVariable], payload: [Field]?, isOpen: Bool
  ) -> [ExpressionVariable] {
    let payloadType: ExpressionType =
      payload.map { .record(RecordType($0, isOpen: isOpen)) } ?? .map(.string, .dyn)
    return variables.map { variable in
      guard variable.name == "event" else { return variable }
      return ExpressionVariable("event", EventVariable.type(payload: payloadType))
    }
  }
}

extension EvaluationError {
  /// The reason why a value cannot be stored. If the cost is the reason, the caller adds the name
  /// of the limit.
  func storageMessage(depthMax: Int) -> String {
    reason == .tooDeep ? "lists and maps may be nested \(depthMax) deep at most" : message
  }
}
