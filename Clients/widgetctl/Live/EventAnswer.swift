import WidgetModel
import WidgetProto

/// The daemon's answer to an event, and its time.
struct EventAnswer {
  /// The outcome of an event.
  enum Outcome {
    case open
    case done
    case failed(String)
  }

  var response: SendEventResponse
  /// The time of the answer, from which the wait for the outcome counts.
  var at: Timestamp

  /// Begins the wait again if the clock was set back. An outcome that is still open is then not taken
  /// for a missing one.
  mutating func restartWait(ifSetBack now: Timestamp) {
    if now.isSetBack(since: at) { at = now }
  }

  /// The outcome of the event as its bundle reports it, in `data.status.$outcomes` by the event's
  /// sequence. Open until the bundle has reported it.
  func outcome(in widget: Widget) -> Outcome {
    guard case .map(let status)? = widget.data["status"],
      case .map(let outcomes)? = status["$outcomes"],
      case .map(let outcome)? = outcomes["\(response.sequence)"]
    else { return .open }
    guard outcome["failed"] == .bool(true) else { return .done }
    let words = [outcome["title"], outcome["message"]].compactMap { $0?.plainText }
      .filter { !$0.isEmpty }
    return .failed(words.isEmpty ? "the event failed" : words.joined(separator: ": "))
  }
}
