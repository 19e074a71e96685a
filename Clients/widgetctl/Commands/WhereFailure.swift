import WidgetClient
import WidgetExpression
import WidgetModel

/// The reason why an expression of `--where` selects nothing: it fails for some widgets. For the
/// daemon, a failure counts as false, so this type evaluates the expression again.
struct WhereFailure: Hashable, Sendable {
  /// The widgets for which the expression was evaluated, and for which it failed.
  var widgets = 0
  var failed = 0
  /// The first widget for which it failed, and the reason.
  var id: WidgetID?
  var reason = ""

  /// The largest number of widgets to evaluate the expression for.
  private static let widgetsMax = 200

  /// Asks the daemon for the widgets that the rest of a selection selects.
  static func of(
    _ condition: String, _ others: Selector, in session: Session
  ) async -> WhereFailure? {
    let paths = ["family", "labels", "presence", "data", "parameters", "stale", "error"]
    // An older daemon does not know activities.
    let mask = try? ReadMask(paths: paths + (condition.contains("activity") ? ["activity"] : []))
    guard let mask, let widgets = try? await session.list(others, mask: mask).widgets else {
      return nil
    }
    let stats = try? await session.client.getStats(GetStatsRequest(), options: session.options)
    let budget = stats?.limits["selector_cost_max"].flatMap { Int(exactly: $0) }
    return WhereFailure(condition, widgets.prefix(widgetsMax).map(\.widget), budget: budget)
  }

  /// - Parameter budget: the maximum cost of one evaluation. Nil for the limit of `widgetctl eval`.
  init?(_ condition: String, _ widgets: [Widget], budget: Int?) {
    guard let expression = try? EvalCommand.compile(condition) else { return nil }
    for widget in widgets {
      self.widgets += 1
      var words: String?
      do throws(EvaluationError) {
        let bindings = SlotBindings(EvalCommand.bindings(of: widget))
        let value = try expression.evaluate(bindings, budget: budget)
        if case .bool = value { continue }
        words = "the result is \(value.kind.shortName), not true or false"
      } catch {
        words =
          error.reason == .costExceeded && budget != nil
          ? "it costs more than selector_cost_max of the daemon, \(budget ?? 0) steps"
          : error.quoted
      }
      failed += 1
      guard id == nil else { continue }
      (id, reason) = (widget.id, words ?? "")
    }
    if failed == 0 { return nil }
  }

  var text: String {
    let count = failed == widgets ? "every widget" : "\(failed) of \(widgets) widgets"
    return "the expression fails for \(count), and counts as false there; for "
      + "\"\(id?.rawValue ?? "")\": \(reason)"
  }
}
