public import WidgetModel

/// The failure of a reducer at an event, and the mark that it leaves on the widget.
///
/// The mark is the widget's error, until the reducer handles the event, the kind changes, or
/// somebody sets the error. It has only words of the daemon and text of the kind. So a user who may
/// only send events cannot write text into a widget, and the mark shows no private data.
public struct ReducerFailure: Hashable, Sendable {
  /// The reason of the mark.
  public static let reason = WidgetError.reducerFailed
  /// The maximum number of marks of a widget. Of further failures, only the log has a line.
  static let marksMax = 8

  /// The event; empty if the reducers of the kind can handle no event at all.
  public let event: String
  /// The node of the reducer; empty for any node.
  public let nodeID: String
  /// The part of the kind, such as `reducers[0].set[count]`.
  public let place: String
  /// The cause, without values of the event and of the widget.
  public let cause: String
  /// The cause with the values, for the sender of the event.
  public let message: String

  init(event: String, nodeID: String, place: String, cause: String, message: String) {
    self.event = event
    self.nodeID = nodeID
    self.place = place
    self.cause = cause
    self.message = message
  }

  /// The widget's error while the reducer fails.
  public var mark: WidgetError {
    WidgetError(
      reason: ReducerFailure.reason,
      message: ReducerFailure.beginning(event) + (nodeID.isEmpty ? "" : " of \"\(nodeID)\"")
        + " can\(event.isEmpty ? "" : "not") be handled: \(words): \(shortCause)"
        + ReducerFailure.end(reducer))
  }

  /// The failed part, for people: they may have written it as `on: {press: …}`.
  public var words: String {
    if place.hasSuffix(".condition") { return "its condition cannot be evaluated" }
    guard let start = place.firstRange(of: ".set["), place.hasSuffix("]") else {
      return "its reducer is wrong"
    }
    return "\"\(place[start.upperBound...].dropLast())\" cannot be set"
  }

  /// Whether an error is the mark of this reducer at this event, perhaps for another cause.
  func isMarked(by error: WidgetError) -> Bool {
    ReducerFailure.isMark(error, of: event, reducer: reducer)
  }

  /// Whether an error is a mark that is gone after a reducer has handled an event.
  static func isMark(_ error: WidgetError, of event: String, reducer: String) -> Bool {
    guard error.reason == reason else { return false }
    return error.message.hasPrefix(beginning("") + " ")
      || (error.message.hasPrefix(beginning(event) + " ") && error.message.hasSuffix(end(reducer)))
  }

  /// Whether an error is the mark of any reducer.
  static func isMark(_ error: WidgetError) -> Bool {
    error.reason == reason && error.message.hasSuffix(advice)
  }

  /// Whether an error, or a further one, is the mark of any reducer.
  static func hasMark(_ error: WidgetError?) -> Bool { error?.all.contains(where: isMark) == true }

  /// `reducers[0]`
  private var reducer: String { String(place.prefix { $0 != "." }) }

  private var shortCause: String {
    let line = cause.prefix { !$0.isNewline }
    return line.count > 200 ? "\(line.prefix(199))…" : String(line)
  }

  private static func beginning(_ event: String) -> String {
    event.isEmpty ? "No event" : "\"\(event)\""
  }

  private static func end(_ reducer: String) -> String { ". Correct \(reducer) \(advice)" }

  private static let advice = "of the kind, or the widget's data."
}
