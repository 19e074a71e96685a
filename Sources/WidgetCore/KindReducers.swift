import WidgetExpression
import WidgetModel

/// A kind's reducers, compiled: what events do to the data of its widgets.
///
/// Pure: the same event on the same widget always does the same. Whatever goes wrong while one runs
/// refuses the event, so that a widget never holds half of what an event means.
struct KindReducers {
  /// What keeps the reducers from being used.
  struct Problem: Hashable {
    /// `reducers[0].set[count]`
    let place: String
    let message: String
  }

  /// The first thing that is wrong with them. `applyKinds` refuses a kind that has one; it can only
  /// have one later if a newer version of the daemon reads it.
  let problem: Problem?
  private var byEvent: [String: [CompiledReducer]] = [:]

  private struct CompiledReducer {
    let place: String
    let nodeID: String
    let condition: CompiledExpression?
    let assignments: [Assignment]
    /// Keys to remove, with what they get instead.
    let unset: [(key: String, defaultValue: Value?)]
  }

  private struct Assignment {
    let key: String
    let expression: CompiledExpression
    let type: FieldType
  }

  init(_ kind: Kind, timeZones: WidgetStore.TimeZones?) {
    var problem: Problem?
    for (index, reducer) in kind.reducers.enumerated() where problem == nil {
      do throws(Failure) {
        let compiled = try KindReducers.compile(
          reducer, of: kind, place: "reducers[\(index)]", timeZones)
        byEvent[reducer.event, default: []].append(compiled)
      } catch {
        problem = Problem(place: error.place, message: error.message)
      }
    }
    self.problem = problem
  }

  // MARK: - Running

  /// What an event does to a widget; nil for nothing.
  func patch(
    for event: Event, on record: Record, costMax: Int, valueDepthMax: Int
  ) throws(StoreError) -> WidgetPatch? {
    if let problem {
      throw .reducerFailed(
        record.id, event: event.name, place: problem.place, message: problem.message)
    }
    guard let reducers = byEvent[event.name] else { return nil }
    var run = Run(event: event, record: record, budget: costMax, valueDepthMax: valueDepthMax)
    for reducer in reducers where reducer.nodeID.isEmpty || reducer.nodeID == event.nodeID {
      do throws(Failure) { try run.apply(reducer) } catch {
        throw .reducerFailed(
          record.id, event: event.name, place: error.place, message: error.message)
      }
    }
    return run.patch
  }

  /// One event on one widget.
  private struct Run {
    var patch = WidgetPatch()
    /// The data as the reducers so far have left it.
    private var data: RecordMap
    private var bindings: SlotBindings
    private var budget: Int
    private let valueDepthMax: Int

    init(event: Event, record: Record, budget: Int, valueDepthMax: Int) {
      self.budget = budget
      self.valueDepthMax = valueDepthMax
      data = RecordMap(record.data)
      let labels = record.labels.entries.map {
        ValueMap.Entry(key: $0.key, value: .string($0.value))
      }
      bindings = SlotBindings([
        .map(ExpressionMap(data)), .map(ExpressionMap(RecordMap(record.parameters))),
        ExpressionValue(
          [
            "name": .string(event.name), "node": .string(event.nodeID),
            "payload": .map(event.payload), "time": .timestamp(event.time),
          ] as ValueMap),
        ExpressionValue(
          [
            "id": .string(record.id.rawValue), "kind": .string(record.kind.rawValue),
            "family": .string(record.family.name), "labels": .map(ValueMap(labels)),
            "visible": .bool(record.presence.isVisible),
            "enabled": .bool(record.presence.isEnabled),
          ] as ValueMap),
        .timestamp(event.time),
      ])
    }

    mutating func apply(_ reducer: CompiledReducer) throws(Failure) {
      if let condition = reducer.condition {
        let place = "\(reducer.place).condition"
        guard case .bool(let holds) = try value(of: condition, place) else {
          throw Failure(place, "expected true or false")
        }
        guard holds else { return }
      }
      var changed = data.changed
      for assignment in reducer.assignments {
        let place = "\(reducer.place).set[\(assignment.key)]"
        let result = try value(of: assignment.expression, place)
        guard let value = Value(result), let fitted = assignment.type.fitted(value) else {
          throw Failure(place, "expected a value of type \(assignment.type)")
        }
        guard fitted.isNested(atMost: valueDepthMax) else {
          throw Failure(place, "lists and maps may be nested \(valueDepthMax) deep at most")
        }
        changed[assignment.key] = .some(fitted)
        patch.setData[assignment.key] = fitted
        patch.unsetData.removeAll { $0 == assignment.key }
      }
      for (key, defaultValue) in reducer.unset {
        changed[key] = .some(defaultValue)
        patch.setData[key] = defaultValue
        if defaultValue == nil { patch.unsetData.append(key) }
      }
      data = RecordMap(data.base, changed: changed)
      bindings.values[0] = .map(ExpressionMap(data))
    }

    private mutating func value(
      of expression: CompiledExpression, _ place: String
    ) throws(Failure) -> ExpressionValue {
      do throws(EvaluationError) {
        let (value, cost) = try expression.evaluateWithCost(bindings, budget: budget)
        budget -= cost
        return value
      } catch {
        throw Failure(place, "\(error)")
      }
    }
  }

  /// A widget's map as expressions read it: as it is in the record, with what has changed since. What
  /// is not read is not looked at, so an event costs what its reducers read, not what there is.
  private final class RecordMap: ExpressionObject {
    let base: RevisedMap
    /// New values, by declared names; nil for removed.
    let changed: [String: Value?]

    init(_ base: RevisedMap, changed: [String: Value?] = [:]) {
      self.base = base
      self.changed = changed
    }

    var fieldNames: [String] {
      var names = base.keys.filter { isUnchanged($0) }
      for (name, value) in changed where value != nil { names.append(name) }
      return names.sorted { $0.precedesByBytes($1) }
    }

    func field(named name: String) -> ExpressionValue? {
      if !isUnchanged(name), let value = changed[name] { return value.map { ExpressionValue($0) } }
      return base[name].map { ExpressionValue($0) }
    }

    private func isUnchanged(_ name: String) -> Bool {
      // A dictionary takes keys that only look alike for one.
      changed.index(forKey: name).map { !changed[$0].key.hasSameBytes(as: name) } ?? true
    }
  }

  /// What is wrong, and with which part.
  private struct Failure: Error {
    let place: String
    let message: String

    init(_ place: String, _ message: String) {
      self.place = place
      self.message = message
    }
  }

  // MARK: - Compiling

  private static func compile(
    _ reducer: Reducer, of kind: Kind, place: String, _ timeZones: WidgetStore.TimeZones?
  ) throws(Failure) -> CompiledReducer {
    let eventType = kind.events.first { $0.name == reducer.event }
    if eventType == nil, !kind.events.isEmpty, !kind.isOpen {
      throw Failure(
        "\(place).event",
        hint(
          "the kind declares no event \"\(reducer.event)\"", reducer.event, kind.events.map(\.name))
      )
    }
    var environment = ExpressionEnvironment(
      variables: variables(kind, payload: eventType?.payload), timeZones: timeZones)
    var condition: CompiledExpression?
    if !reducer.condition.isEmpty {
      environment.resultType = .bool
      condition = try compile(reducer.condition, environment, "\(place).condition")
      environment.resultType = nil
    }
    var assignments: [Assignment] = []
    for (key, source) in reducer.assignments.sorted(by: { $0.key.precedesByBytes($1.key) }) {
      let place = "\(place).set[\(key)]"
      let type = try field(key, kind, place)?.type ?? .any
      let expression = try compile(source, environment, place)
      guard expression.resultType.mayFit(type) else {
        throw Failure(
          place,
          "the expression gives a value of type \(expression.resultType), but \"\(key)\" is of type "
            + "\(type)")
      }
      assignments.append(Assignment(key: key, expression: expression, type: type))
    }
    var unset: [(key: String, defaultValue: Value?)] = []
    for key in reducer.unset {
      let place = "\(place).unset"
      guard reducer.assignments[key] == nil else {
        throw Failure(place, "\"\(key)\" is also set; do one of the two")
      }
      unset.append((key, try field(key, kind, place)?.defaultValue))
    }
    return CompiledReducer(
      place: place, nodeID: reducer.nodeID, condition: condition, assignments: assignments,
      unset: unset)
  }

  private static func compile(
    _ source: String, _ environment: ExpressionEnvironment, _ place: String
  ) throws(Failure) -> CompiledExpression {
    do throws(ExpressionError) {
      return try CompiledExpression(source, in: environment)
    } catch {
      throw Failure(place, error.rendered)
    }
  }

  /// The declared field of a key; nil for one that an open kind does not declare.
  private static func field(
    _ key: String, _ kind: Kind, _ place: String
  ) throws(Failure) -> Field? {
    guard key.isFieldName else {
      throw Failure(place, "use 1 to 64 letters, digits and _, not beginning with a digit")
    }
    if let field = kind.data.first(where: { $0.name == key }) { return field }
    if kind.isOpen { return nil }
    throw Failure(
      place, hint("the kind declares no data \"\(key)\"", key, kind.data.map(\.name)))
  }

  private static func hint(_ problem: String, _ name: String, _ names: [String]) -> String {
    name.closest(among: names).map { "\(problem); did you mean \"\($0)\"?" } ?? problem
  }

  /// What expressions of reducers can read; `Run` binds them in the same order.
  private static func variables(_ kind: Kind, payload: [Field]?) -> [ExpressionVariable] {
    let payloadType: ExpressionType =
      payload.map { .record(RecordType($0, isOpen: kind.isOpen)) } ?? .map(.string, .dyn)
    return [
      ExpressionVariable("data", .record(RecordType(kind.data, isOpen: kind.isOpen))),
      ExpressionVariable("parameters", .record(RecordType(kind.parameters, isOpen: kind.isOpen))),
      ExpressionVariable(
        "event",
        .record(
          RecordType(["name": .string, "node": .string, "payload": payloadType, "time": .timestamp])
        )),
      ExpressionVariable(
        "widget",
        .record(
          RecordType([
            "id": .string, "kind": .string, "family": .string, "labels": .map(.string, .string),
            "visible": .bool, "enabled": .bool,
          ]))),
      ExpressionVariable("now", .timestamp),
    ]
  }
}

extension RecordType {
  init(_ fields: [Field], isOpen: Bool) {
    self.init(
      Dictionary(
        fields.map { ($0.name, ExpressionType($0.type)) }, uniquingKeysWith: { first, _ in first }),
      isOpen: isOpen)
  }
}

extension ExpressionType {
  /// The type that expressions give a declared field.
  init(_ type: FieldType) {
    self =
      switch type {
      case .any: .dyn
      case .bool: .bool
      case .int: .int
      case .double: .double
      case .string: .string
      case .bytes: .bytes
      case .timestamp: .timestamp
      case .duration: .duration
      case .list(let element): .list(ExpressionType(element))
      case .map(let value): .map(.string, ExpressionType(value))
      }
  }

  /// Whether a value of this type can be one that a field takes.
  func mayFit(_ type: FieldType) -> Bool {
    switch (self, type) {
    case (_, .any), (.dyn, _), (.null, _), (.parameter, _), (.bool, .bool), (.int, .int),
      (.uint, .int), (.double, .double), (.int, .double), (.uint, .double), (.string, .string),
      (.type, .string), (.bytes, .bytes), (.timestamp, .timestamp), (.duration, .duration),
      (.record, .map):
      true
    case (.list(let element), .list(let wanted)): element.mayFit(wanted)
    case (.map(_, let value), .map(let wanted)): value.mayFit(wanted)
    default: false
    }
  }
}
