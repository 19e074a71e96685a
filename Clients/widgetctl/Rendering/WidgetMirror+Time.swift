import WidgetClient
import WidgetModel

extension WidgetMirror {
  /// The number of entries of each timeline that a view shows without the daemon.
  static let upcomingShown = 10

  /// The time until a widget shows its next entry. Nil for never.
  func untilNextDate(_ now: Timestamp) -> Duration? {
    nextDate.map { max($0.duration(since: now), .milliseconds(1)) }
  }
}
