import WidgetExpression
import WidgetModel

/// One evaluation of a content's expressions: the variables and the budget.
struct ContentEvaluation {
  /// The widget's variables, then those of the rows.
  private var bindings: SlotBindings
  private var budget: Int
  /// Whether something was left out, because there was no room or no budget.
  private(set) var metLimit = false
  /// Whether the budget was used up.
  private(set) var ranOut = false
  /// The cost so far, including the nodes that were made.
  private(set) var spent = 0
  let limits: StoreLimits
  private let timeZones: WidgetStore.TimeZones?
  let revision: Revision
  /// The start of failures that this evaluation finds.
  let time: Timestamp
  /// The number of rows around the current place.
  private(set) var depth = 0

  /// - Parameter time: The time of the evaluation; nil for the time of the widget's change, or of
  ///   its current entry.
  init(
    _ record: Record, _ limits: StoreLimits, for program: ContentProgram, as family: Family?,
    at time: Timestamp? = nil
  ) {
    bindings = SlotBindings([
      .map(ExpressionMap(RecordMap(record.data))),
      .map(ExpressionMap(RecordMap(record.parameters))),
      // Making the value costs more than a small expression.
      program.readsWidget ? WidgetVariable.value(of: record, as: family ?? record.family) : .null,
    ])
    if program.hasStatus {
      bindings.values.append(
        record.data[ContentCompiler.statusKey].map { ExpressionValue($0) } ?? .null)
    }
    if program.hasEntries { bindings.values.append(EntryVariable.value(of: record)) }
    self.limits = limits
    timeZones = program.timeZones
    budget = limits.contentCostMax
    revision = record.revision
    self.time =
      time ?? max(record.updateTime, record.moment?.status.current?.date ?? record.updateTime)
  }

  /// Enters a row: its element and place become variables.
  mutating func enter(_ element: ExpressionValue, _ place: Int) {
    bindings.values += [element, .int(Int64(place))]
    depth += 1
  }

  mutating func leave() {
    bindings.values.removeLast(2)
    depth -= 1
  }

  /// A value, or its problem.
  mutating func value(_ expression: CompiledExpression) -> Result<ExpressionValue, Failure> {
    guard budget > 0 else {
      (metLimit, ranOut) = (true, true)
      return .failure(.tooCostly)
    }
    // An expression that costs too much must not take the whole budget from the others.
    let allowance = max(1, budget / 2)
    var rest = allowance - 1
    defer { spend(allowance - rest) }
    do throws(EvaluationError) {
      return .success(try expression.evaluate(bindings, spending: &rest))
    } catch {
      guard error.reason == .costExceeded else { return .failure(Failure(message: error.quoted)) }
      (metLimit, ranOut) = (true, true)
      return .failure(.tooCostly)
    }
  }

  private mutating func spend(_ cost: Int) {
    budget -= cost
    spent += cost
  }

  /// A value in the form that is stored, or its problem.
  mutating func stored(_ value: ExpressionValue) -> Result<Value, Failure> {
    var rest = budget
    defer { spend(budget - rest) }
    do throws(EvaluationError) {
      return .success(try Value(value, budget: &rest, depthMax: limits.valueDepthMax))
    } catch {
      if error.reason == .costExceeded { (metLimit, ranOut) = (true, true) }
      return .failure(
        error.reason == .costExceeded
          ? .tooCostly : Failure(message: error.storageMessage(depthMax: limits.valueDepthMax)))
    }
  }

  /// A value in the form of a property.
  mutating func stored(
    _ result: ExpressionValue, as property: NodeProperty
  ) -> Result<Value, Failure> {
    switch stored(result) {
    case .failure(let error): return .failure(error)
    case .success(let value):
      do throws(PropertyMismatch) {
        return .success(try property.fitted(value, in: timeZones))
      } catch {
        return .failure(Failure(message: error.description))
      }
    }
  }

  /// Records that something was left out because there was no room.
  mutating func meetLimit() { metLimit = true }

  /// Counts nodes that were made.
  mutating func count(nodes: Int) { spent += nodes * ContentEvaluation.nodeCost }

  /// The cost of making a node, in steps of expressions.
  static let nodeCost = 20

  struct Failure: Error {
    let message: String

    static let tooCostly = Failure(
      message: "the content costs more than content_cost_max allows; simplify the expressions")
  }
}
