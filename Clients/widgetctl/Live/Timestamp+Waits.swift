import WidgetModel

// Short waits of the dashboard, on the clock of its dates.
extension Timestamp {
  /// A smaller step back is a correction of the clock, and the wait goes on.
  private static let stepLeast = Duration.seconds(1)

  /// Whether the clock was set back after `start`.
  func isSetBack(since start: Timestamp) -> Bool {
    duration(since: start) <= .zero - Timestamp.stepLeast
  }

  /// Whether a wait since `start` is over at this time. The wait is over also if the clock was set back.
  /// Otherwise it would last as long as the step.
  func isPast(_ wait: Duration, since start: Timestamp) -> Bool {
    duration(since: start) >= wait || isSetBack(since: start)
  }
}
