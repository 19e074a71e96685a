import Synchronization
import WidgetModel

// The waits of schedules, which end early if the wall clock is set.

extension ProviderRunner {
  var hasAlignedSchedules: Bool {
    widgets.values.contains { widget in
      if case .every(_, isAligned: true) = widget.schedule { true } else { false }
    }
  }

  /// Waits until a schedule is due.
  ///
  /// - Parameter retry: the longest wait; nil if the last refresh needs no retry.
  /// - Throws: `CancellationError`.
  func wait(
    for pace: SchedulePace, retryingAfter retry: Duration?, _ waits: ScheduleWaits
  ) async throws {
    func delay() -> Duration {
      let delay = pace.delay(at: now())
      return retry.map { min(delay, $0) } ?? delay
    }
    guard pace.isAligned else { return try await clock.sleep(for: delay()) }
    var isOver = false
    while !isOver {
      isOver = await waits.wait(on: clock, for: delay)
      try Task.checkCancellation()
    }
  }
}

/// The waits of aligned schedules. A step of the wall clock ends all of them, so that they begin again
/// with the new time.
final class ScheduleWaits: Sendable {
  private struct State {
    var lastNumber = 0
    var ends: [Int: AsyncStream<Void>.Continuation] = [:]
  }

  private let state = Mutex(State())

  /// Ends the present waits.
  func end() {
    let ends = state.withLock { Array($0.ends.values) }
    for end in ends { end.yield() }
  }

  /// Waits for a time, or until `end` is called.
  ///
  /// - Parameter time: is called once, after the begin of the wait. So no step of the clock is missed
  ///   between the reading of the clock and the wait.
  /// - Returns: whether the whole time is over. False also if the task was cancelled.
  func wait(on clock: any Clock<Duration>, for time: () -> Duration) async -> Bool {
    let (ends, end) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let number = state.withLock { state in
      state.lastNumber += 1
      state.ends[state.lastNumber] = end
      return state.lastNumber
    }
    defer { state.withLock { $0.ends[number] = nil } }
    let delay = time()
    guard delay > .zero else { return true }
    return await withTaskGroup(of: Bool.self) { group in
      group.addTask {
        do { try await clock.sleep(for: delay) } catch { return false }
        return true
      }
      group.addTask {
        for await _ in ends { break }
        return false
      }
      let isOver = await group.next() ?? false
      group.cancelAll()
      return isOver
    }
  }
}
