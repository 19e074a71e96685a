import WidgetModel

/// The failures of reducers that the log has already, so that an event that is sent again and again
/// does not fill the log. The failures are those of the present kinds.
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
