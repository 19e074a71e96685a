import WidgetBundle
import WidgetExpression
import WidgetModel

// The values of expressions. Every evaluation has a budget, and all evaluations of a bundle share
// an allowance, with equal shares for the users behind them. Evaluations above a share fail for a
// while. Other users and other bundles are not affected.
extension BundleInstance {
  func moment(
    _ id: WidgetID, event: Event? = nil, row: String = "", result: Value = .null,
    error: ActionStatus? = nil
  ) throws(Failure) -> BundleScope.Moment {
    guard let widget = widgets[id]?.view else {
      throw Failure("NOT_FOUND", "the widget \(id) was removed")
    }
    return BundleScope.Moment(
      widget: facts(of: id)?.completed(widget) ?? widget, event: event, row: row, result: result,
      error: error, now: now.wall, uptime: now.machine, bundleID: bundle.id,
      bundleVersion: bundle.version)
  }

  mutating func value(
    _ expression: Expression, _ moment: BundleScope.Moment
  ) throws(Failure) -> Value {
    guard let facts = kinds[moment.widget.kind] else {
      throw Failure("NOT_FOUND", "the kind \(moment.widget.kind) was removed")
    }
    let sharer = sharer(of: moment.event)
    let allowed = min(limits.evaluationCostMax, allowances.cost(for: sharer))
    guard allowed > 0 else { throw Failure.tooMuch(at: expression, for: sharer) }
    do throws(EvaluationError) {
      let (result, cost) = try expression.compiled.evaluateWithCost(
        facts.kind.scope.bindings(for: moment), budget: allowed)
      var remaining = allowed - cost
      let value = try Value(result, budget: &remaining)
      allowances.spend(cost: allowed - remaining + 1, for: sharer)
      return value
    } catch {
      // The cost of a failed evaluation is unknown, except if it spent its whole budget.
      let isSpent = error.reason == .costExceeded
      allowances.spend(cost: isSpent ? allowed : 1_000, for: sharer)
      // The rest of the allowance was not enough; the whole one may be.
      if isSpent, allowed < limits.evaluationCostMax {
        throw Failure.tooMuch(at: expression, for: sharer)
      }
      let message = "\(expression.place): \(error.quoted)"
      guard !isSpent else { throw Failure("RESOURCE_EXHAUSTED", message) }
      throw Failure("FAILED_PRECONDITION", message).of(expression)
    }
  }

  mutating func value(
    _ template: Template, _ moment: BundleScope.Moment
  ) throws(Failure) -> Value {
    switch template {
    case .constant(let value): return value
    case .expression(let expression): return try value(expression, moment)
    case .list(let templates):
      var elements: [Value] = []
      for template in templates { elements.append(try value(template, moment)) }
      return .list(elements)
    case .map(let pairs):
      var map = ValueMap()
      for pair in pairs { map[pair.key] = try value(pair.value, moment) }
      return .map(map)
    }
  }

  mutating func text(
    _ template: Template, _ moment: BundleScope.Moment
  ) throws(Failure) -> String {
    PlainText.of(try value(template, moment))
  }

  mutating func holds(
    _ expression: Expression?, _ moment: BundleScope.Moment
  ) throws(Failure) -> Bool {
    guard let expression else { return true }
    guard case .bool(let holds) = try value(expression, moment) else {
      throw Failure(
        "FAILED_PRECONDITION", "\(expression.place): the condition is neither true nor false"
      ).of(expression)
    }
    return holds
  }

  /// All new values. Each expression sees the values before the assignments. If one fails, nothing
  /// is set.
  mutating func values(
    _ assignments: Assignments, _ moment: BundleScope.Moment
  ) throws(Failure) -> [(key: String, value: Value)] {
    guard let facts = kinds[moment.widget.kind] else { return [] }
    var result: [(key: String, value: Value)] = []
    for (key, expression) in assignments.values {
      let new = try value(expression, moment)
      do throws(Failure) {
        result.append((key, try facts.fitted(new, to: key, place: expression.place)))
      } catch {
        throw error.of(expression)
      }
    }
    return result
  }

  mutating func set(_ id: WidgetID, _ values: [(key: String, value: Value)]) {
    for (key, value) in values { widgets.set(id, key, value) }
    widgets.touch(id)
  }
}

extension Failure {
  /// The same failure, as that of an expression with the variables that it reads.
  fileprivate func of(_ expression: Expression) -> Failure {
    var failure = self
    failure.isOfResult = expression.readsResult
    return failure
  }

  /// The share of the bundle's allowance is used up for now. Others may still have theirs.
  fileprivate static func tooMuch(at expression: Expression, for sharer: Sharer) -> Failure {
    let work =
      switch sharer {
      case .bundle: "sources and timers"
      case .user: "events of one user"
      case .host: "events of the host"
      }
    return Failure(
      "RESOURCE_EXHAUSTED",
      "\(expression.place): the evaluation steps for \(work) are used up, and more come in a moment"
        + "; let the bundle compute less, or less often", isTransient: true)
  }
}
