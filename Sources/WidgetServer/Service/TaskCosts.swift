import NIOCore

/// The average time of the tasks that a part of work starts.
///
/// A call of a guest protocol runs as tasks, most of them after the slice of time that has begun or
/// answered the call. A task also passes on the messages of a stream, after the round that has made
/// them. One slice has time for thousands of calls or messages, and their tasks would then keep the
/// loop from reading. So each part counts the tasks that it will start, at this average.
///
/// A value: times are arguments.
struct TaskCosts {
  /// The average so far. The initial value was measured with a release build on a usual machine.
  private(set) var average = TimeAmount.microseconds(25)
  private var parts: Int64 = 0
  private var time = TimeAmount.zero

  /// Tasks also do work that no part has started, such as frames of HTTP/2 that belong to no call.
  /// So the average has a maximum, about the time of a call's tasks in a release
  /// build. A turn then has room for the usual number of calls in flight, and their changes share
  /// frames.
  static let averageMax = TimeAmount.microseconds(50)
  private static let averageMin = TimeAmount.microseconds(2)

  /// Notes parts of work that start tasks.
  mutating func count(parts count: Int64) { parts += count }

  /// Notes the time of a task.
  mutating func count(_ taskTime: TimeAmount) { time = time + taskTime }

  /// Ends a pass of the loop, in which all tasks have run.
  mutating func endPass() {
    if parts > 0 {
      let found = min(
        max(.nanoseconds(time.nanoseconds / parts), TaskCosts.averageMin), TaskCosts.averageMax)
      // A higher cost counts at once, and a lower cost gradually, because a pass that is too long
      // delays everybody.
      average =
        found > average
        ? found : .nanoseconds((average.nanoseconds * 7 + found.nanoseconds) / 8)
    }
    (parts, time) = (0, .zero)
  }
}
