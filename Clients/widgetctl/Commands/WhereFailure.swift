import WidgetClient
import WidgetExpression
import WidgetModel

/// The widgets for which an expression of `--where` fails. For the daemon, a failure counts as false,
/// so this type evaluates the expression again.
struct WhereFailure: Hashable, Sendable {
  /// The widgets for which the expression was evaluated, and for which it failed.
  var widgets = 0
  var failed = 0
  /// An example: the first widget for which it failed, and the reason. A widget that only lacks a
  /// value is the example if there is no other one.
  var id: WidgetID?
  var reason = ""

  /// The largest number of widgets to evaluate the expression for.
  private static let widgetsMax = 20_000

  /// Asks the daemon for the widgets that the rest of a selection selects.
  static func of(
    _ condition: String, _ others: Selector, sparesLacks: Bool, in session: Session
  ) async -> WhereFailure? {
    guard let expression = try? EvalCommand.compile(condition),
      let mask = try? ReadMask(paths: paths(of: expression)),
      let widgets = try? await session.list(others, mask: mask).widgets
    else { return nil }
    let stats = try? await session.client.getStats(GetStatsRequest(), options: session.options)
    let budget = stats?.limits["selector_cost_max"].flatMap { Int(exactly: $0) }
    return WhereFailure(
      condition, widgets.prefix(widgetsMax).map(\.widget), budget: budget,
      sparesLacks: sparesLacks)
  }

  /// The fields of widgets that an expression reads.
  static func paths(of expression: CompiledExpression) -> [String] {
    var paths: Set = ["id"]
    for reference in expression.references {
      var key: String?
      if case .field(let name)? = reference.path.first { key = name }
      switch (reference.variable, key) {
      case ("status", _): paths.insert("data.status")
      case ("widget", "visible"?), ("widget", "enabled"?): paths.insert("presence")
      case ("widget", let key?): paths.insert(key)
      case ("widget", nil):
        paths.formUnion(["family", "labels", "presence", "stale", "error", "activity"])
      case (let variable, let key?): paths.insert("\(variable).\(key)")
      case (let variable, nil): paths.insert(variable)
      }
    }
    return paths.sorted()
  }

  /// - Parameters:
  ///   - budget: the maximum cost of one evaluation. Nil for the limit of `widgetctl eval`.
  ///   - sparesLacks: whether a widget that lacks a value of the expression does not count as
  ///     failed. A selection often has widgets of other kinds, without the value.
  init?(_ condition: String, _ widgets: [Widget], budget: Int?, sparesLacks: Bool = false) {
    guard let expression = try? EvalCommand.compile(condition) else { return nil }
    var showsLack = false
    for widget in widgets {
      self.widgets += 1
      guard let failure = WhereFailure.failure(of: expression, for: widget, budget: budget),
        !(failure.isLack && sparesLacks)
      else { continue }
      failed += 1
      guard id == nil || showsLack && !failure.isLack else { continue }
      (id, reason, showsLack) = (widget.id, failure.words, failure.isLack)
    }
    if failed == 0 { return nil }
  }

  /// The reason why the expression fails for a widget, and whether the widget lacks a value. Nil if
  /// the expression does not fail.
  private static func failure(
    of expression: CompiledExpression, for widget: Widget, budget: Int?
  ) -> (words: String, isLack: Bool)? {
    do throws(EvaluationError) {
      let bindings = SlotBindings(EvalCommand.bindings(of: widget))
      let value = try expression.evaluate(bindings, budget: budget)
      if case .bool = value { return nil }
      return ("the result is \(value.kind.shortName), not true or false", false)
    } catch {
      switch error.reason {
      case .costExceeded where budget != nil:
        return ("it costs more than selector_cost_max of the daemon, \(budget ?? 0) steps", false)
      case .noSuchKey, .indexOutOfRange: return (error.quoted, true)
      default: return (error.quoted, false)
      }
    }
  }

  var text: String {
    let count = failed == widgets ? "every widget" : "\(failed) of \(widgets) widgets"
    return "the expression fails for \(count), and counts as false there; for "
      + "\"\(id?.rawValue ?? "")\": \(reason)"
  }
}
