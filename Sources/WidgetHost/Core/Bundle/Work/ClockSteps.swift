import WidgetModel

/// Notices steps of the wall clock. Between steps, the clock and the uptime run alike.
struct ClockSteps: Sendable {
  /// A smaller difference can come from the time between the readings of the two.
  private static let least = Duration.seconds(1)

  /// The wall clock's time minus the uptime, at the start or after the last step.
  private var offset: Duration?

  /// - Returns: the size of a new step, negative for a step back; nil if there was none.
  mutating func step(at now: HostTime) -> Duration? {
    let current = now.wall.duration(since: .epoch) - now.uptime
    guard let known = offset else {
      offset = current
      return nil
    }
    let step = current - known
    guard step >= ClockSteps.least || step <= .zero - ClockSteps.least else { return nil }
    offset = current
    return step
  }
}
