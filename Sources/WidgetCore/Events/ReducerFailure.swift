public import WidgetModel

/// The failure of a reducer at an event, and the mark that it leaves on the widget.
///
/// The mark is the widget's error, until the reducer handles the event, the kind changes, or
/// somebody sets the error. It has only words of the daemon and text of the kind. So a user who may
/// only send events cannot write text into a widget, and the mark shows no private data.
public struct ReducerFailure: Hashable, Sendable {
  /// The reason of the mark.
  public static let reason = WidgetError.reducerFailed
  /// The maximum number of marks of a widget. The maximum is lower if the widget already has
  /// `furtherErrorsMax` further errors. Failures without a mark are only in the log.
  static let marksMax = 8

  /// The event; empty if the reducers of the kind can handle no event at all.
  public let event: String
  /// The node of the reducer; empty for any node.
  public let nodeID: String
  /// The part of the kind, such as `reducers[0].set[count]`.
  public let place: String
  /// The reducer in the words of a file: `on.press`, `on.press[1] of "pour"`.
  public let key: String
  /// The cause, without values of the event and of the widget.
  public let cause: String
  /// The cause with the values, for the sender of the event.
  public let message: String

  init(
    event: String, nodeID: String, place: String, key: String, cause: String, message: String
  ) {
    self.event = event
    self.nodeID = nodeID
    self.place = place
    self.key = key
    self.cause = cause
    self.message = message
  }

  /// The widget's error while the reducer fails.
  public var mark: WidgetError {
    WidgetError(
      reason: ReducerFailure.reason,
      message: ReducerFailure.beginning(event) + (nodeID.isEmpty ? "" : " of \"\(nodeID)\"")
        + " can\(event.isEmpty ? "" : "not") be handled: \(words): \(shortCause)"
        + ReducerFailure.end(key))
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
    ReducerFailure.isMark(error, of: event, key: key)
  }

  /// Whether an error is a mark that is gone after a reducer has handled an event.
  static func isMark(_ error: WidgetError, of event: String, key: String) -> Bool {
    guard error.reason == reason else { return false }
    return error.message.hasPrefix(beginning("") + " ")
      || (error.message.hasPrefix(beginning(event) + " ") && error.message.hasSuffix(end(key)))
  }

  /// Whether an error is the mark of any reducer.
  static func isMark(_ error: WidgetError) -> Bool {
    error.reason == reason && error.message.hasSuffix(advice)
  }

  /// Whether an error, or a further one, is the mark of any reducer.
  static func hasMark(_ error: WidgetError?) -> Bool { error?.all.contains(where: isMark) == true }

  private var shortCause: String {
    let line = cause.prefix { !$0.isNewline }
    return line.count > 200 ? "\(line.prefix(199))…" : String(line)
  }

  private static func beginning(_ event: String) -> String {
    event.isEmpty ? "No event" : "\"\(event)\""
  }

  private static func end(_ key: String) -> String { ". Correct \(key) \(advice)" }

  private static let advice = "in the kind, or the widget's data."

  /// The key of each reducer. Reducers of the same event and node have numbers, from 0.
  static func keys(of reducers: [Reducer]) -> [String] {
    struct Target: Hashable {
      let event: String
      let nodeID: String
    }
    let targets = reducers.map { Target(event: $0.event, nodeID: $0.nodeID) }
    let counts = Dictionary(targets.map { ($0, 1) }, uniquingKeysWith: +)
    var numbers: [Target: Int] = [:]
    return targets.map { target in
      let number = numbers[target, default: 0]
      numbers[target] = number + 1
      return "on.\(target.event)" + (counts[target] == 1 ? "" : "[\(number)]")
        + (target.nodeID.isEmpty ? "" : " of \"\(target.nodeID)\"")
    }
  }
}
