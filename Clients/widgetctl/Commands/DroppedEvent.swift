import WidgetClient
import WidgetModel
import WidgetProto

/// An event that the daemon drops because too many events wait for their providers.
///
/// The daemon does not say whether an event waits. After its return, the host has the numbers of
/// dropped events in the widget of the bundle. Before that, only the list of recent events tells
/// something: the daemon never drops a waiting event before it drops the event from this list.
enum DroppedEvent {
  /// Whether the host has reported that the daemon dropped an event.
  ///
  /// - Parameter bundle: the status widget of the bundle that handles the event.
  static func isReported(_ event: UInt64, by bundle: Widget?) -> Bool {
    guard case .list(let ranges)? = bundle?.data["droppedEvents"] else { return false }
    let number = Int64(clamping: event)
    return ranges.contains { range in
      guard case .map(let range) = range, case .int(let first)? = range["first"],
        case .int(let last)? = range["last"]
      else { return false }
      return first <= number && number <= last
    }
  }

  /// Whether an event is missing in the list of recent events, as far as a frame of a watch shows it.
  /// The watch begins with this event. Nil if a later frame shows it.
  static func isMissing(_ event: UInt64, in frame: EventFrame) -> Bool? {
    switch frame {
    // The daemon has another store, so the number is of another event.
    case .opened(let opened) where opened.afterSequence != event - 1: false
    case .opened, .reconnected: nil
    case .gap(let gap): gap.firstSequence <= event && event <= gap.lastSequence
    case .events, .disconnected: false
    }
  }

  /// Whether an event is missing in the list of recent events. False if the daemon does not say it
  /// within the limit.
  static func isMissing(
    _ event: UInt64, of id: WidgetID, _ client: WidgetClient, within limit: Duration
  ) async -> Bool {
    guard event > 0 else { return false }
    let options = WatchEventsOptions(selector: Selector(ids: [id]), afterSequence: event - 1)
    let answer = try? await withThrowingTaskGroup(of: Bool.self) { group in
      group.addTask {
        for try await frame in client.watchEvents(options) {
          if let verdict = DroppedEvent.isMissing(event, in: frame) { return verdict }
        }
        return false
      }
      group.addTask {
        try await Task.sleep(for: limit)
        return false
      }
      defer { group.cancelAll() }
      return try await group.next() ?? false
    }
    return answer ?? false
  }

  /// The failure of an event that was dropped.
  static func failure(_ event: UInt64) -> CommandFailure {
    CommandFailure(
      .actionFailed,
      "event \(event) was dropped before widgetd-host got it, because more events waited than "
        + "events_kept_max or event_bytes_kept_max allows; send it again")
  }
}
