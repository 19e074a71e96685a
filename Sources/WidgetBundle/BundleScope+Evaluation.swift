public import WidgetExpression
public import WidgetModel

extension BundleScope {
  /// The variables, in the order of their slots.
  enum Slot: Int, CaseIterable {
    case data, parameters, status, widget, event, result, error, now, bundle, nodes, uptime

    /// Whether only a host has a value for the variable.
    var needsHost: Bool {
      switch self {
      case .status, .result, .error, .bundle, .uptime: true
      case .data, .parameters, .widget, .event, .now, .nodes: false
      }
    }
  }

  /// The data key that holds the state of sources and actions.
  public static let statusKey = "status"

  /// The key in the status under which the outcomes of events are, each by its number. No source or
  /// action can have this name.
  public static let outcomesKey = "$outcomes"

  /// The key in the status that lists events by number: events that do not come again, and whose
  /// outcome is not written yet.
  public static let pendingKey = "$pending"

  /// The values of all variables at a moment, in the order of the environment's. O(1) except for
  /// the widget's labels.
  public func bindings(for moment: Moment) -> SlotBindings {
    let widget = moment.widget
    let event = moment.event
    let values = Slot.allCases.map { slot -> ExpressionValue in
      switch slot {
      case .data: ExpressionValue(widget.data)
      case .parameters: ExpressionValue(widget.parameters)
      case .status: ExpressionValue(widget.data[BundleScope.statusKey] ?? .map([:]))
      case .widget: ExpressionValue(WidgetVariable.values(of: widget))
      case .event:
        ExpressionValue(
          [
            "name": .string(event?.name ?? ""), "node": .string(event?.nodeID ?? ""),
            "row": .string(moment.row), "rows": .list(moment.rows.map { .string($0) }),
            "payload": .map(event?.payload ?? [:]),
            "time": .timestamp(event?.time ?? moment.now),
          ] as ValueMap)
      case .result: ExpressionValue(moment.result)
      case .error:
        ExpressionValue(
          [
            "code": .string(moment.error?.code ?? ""), "title": .string(moment.error?.title ?? ""),
            "message": .string(moment.error?.message ?? ""),
          ] as ValueMap)
      case .now: .timestamp(moment.now)
      case .bundle:
        ExpressionValue(
          ["id": .string(moment.bundleID), "version": .string(moment.bundleVersion)] as ValueMap)
      case .nodes: ExpressionValue(nodes(event))
      case .uptime: .duration(moment.uptime)
      }
    }
    return SlotBindings(values)
  }

  private func nodes(_ event: Event?) -> ValueMap {
    var submitted = ValueMap()
    if case .map(let values)? = event?.payload["values"] { submitted = values }
    return ValueMap(
      formFields.map { .init(key: $0, value: .map(["value": submitted[$0] ?? .null])) })
  }
}

/// The reason why a value of a bundle's file could not be computed.
public struct TemplateError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The place in the document: `kinds.todo.actions.save.do[0].http.url`.
  public let place: String
  /// The problem: one line without a full stop.
  public let message: String

  public init(place: String, message: String) {
    self.place = place
    self.message = message
  }

  public var description: String { "\(place): \(message)" }
}

/// The cost that evaluations for one purpose may still have; see `CompiledExpression.evaluate`.
public struct EvaluationBudget: Hashable, Sendable {
  /// The default budget.
  public static let standard = EvaluationBudget(1_000_000)

  public internal(set) var remaining: Int

  public init(_ amount: Int) { remaining = amount }
}

extension Expression {
  /// The value. Takes its cost from the budget.
  public func evaluate(
    _ bindings: SlotBindings, _ budget: inout EvaluationBudget
  ) throws(TemplateError) -> Value {
    do throws(EvaluationError) {
      let (result, cost) = try compiled.evaluateWithCost(bindings, budget: budget.remaining)
      budget.remaining -= cost
      return try Value(result, budget: &budget.remaining)
    } catch {
      throw TemplateError(place: place, message: error.quoted)
    }
  }

  public func evaluate(
    _ bindings: SlotBindings, budget: EvaluationBudget = .standard
  ) throws(TemplateError) -> Value {
    var budget = budget
    return try evaluate(bindings, &budget)
  }

  /// Whether a condition holds. A result that is not a bool is an error.
  public func holds(
    _ bindings: SlotBindings, budget: EvaluationBudget = .standard
  ) throws(TemplateError) -> Bool {
    guard case .bool(let flag) = try evaluate(bindings, budget: budget) else {
      throw TemplateError(place: place, message: "expected true or false")
    }
    return flag
  }
}

extension Template {
  /// The value, with all expressions in it evaluated.
  public func evaluate(
    _ bindings: SlotBindings, budget: EvaluationBudget = .standard
  ) throws(TemplateError) -> Value {
    var budget = budget
    return try evaluate(bindings, &budget)
  }

  /// The same; the budget pays for all expressions together.
  public func evaluate(
    _ bindings: SlotBindings, _ budget: inout EvaluationBudget
  ) throws(TemplateError) -> Value {
    switch self {
    case .constant(let value): return value
    case .expression(let expression): return try expression.evaluate(bindings, &budget)
    case .list(let templates):
      var values: [Value] = []
      for template in templates { values.append(try template.evaluate(bindings, &budget)) }
      return .list(values)
    case .map(let templates):
      var entries: [ValueMap.Entry] = []
      for (key, template) in templates {
        entries.append(.init(key: key, value: try template.evaluate(bindings, &budget)))
      }
      return .map(ValueMap(entries))
    }
  }
}

extension Assignments {
  /// The new values. All see the data as the bindings have it. The daemon checks whether a value
  /// fits its key.
  public func evaluate(
    _ bindings: SlotBindings, budget: EvaluationBudget = .standard
  ) throws(TemplateError) -> ValueMap {
    var budget = budget
    var entries: [ValueMap.Entry] = []
    for (key, expression) in values {
      entries.append(.init(key: key, value: try expression.evaluate(bindings, &budget)))
    }
    return ValueMap(entries)
  }
}
