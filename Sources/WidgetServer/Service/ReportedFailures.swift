import WidgetModel

/// The failures of reducers that are already in the log, so that a repeated event does not fill the
/// log. Only failures of the present kinds are kept.
struct ReportedFailures {
  static let countMax = 1_024

  private struct Failure: Hashable {
    let widgetID: WidgetID
    let message: String
  }

  private var known: Set<Failure> = []

  /// Adds a failure. Returns whether it is new. If there are more than `countMax`, the first ones
  /// count as new again.
  mutating func add(_ message: String, of widgetID: WidgetID) -> Bool {
    if known.count == ReportedFailures.countMax { known = [] }
    return known.insert(Failure(widgetID: widgetID, message: message)).inserted
  }
}
