import Testing
import WidgetModel

@testable import WidgetProvider

/// The waits of schedules, when the wall clock is set.
@Suite struct SchedulePaceTests {
  /// 08:00 on a day.
  private static let morning = Timestamp(nanosecondsSinceEpoch: 1_800_000_000_000_000_000)

  /// A daily schedule.
  private func daily(isAligned: Bool = true) -> SchedulePace {
    SchedulePace(every: .seconds(86_400), isAligned: isAligned, at: SchedulePaceTests.morning)
  }

  private func time(after hours: Int) -> Timestamp {
    SchedulePaceTests.morning.advanced(by: .seconds(hours * 3_600))
  }

  @Test(arguments: [(0, 16), (1, 15), (15, 1), (-7, 23), (-8, 24)])
  func `an aligned schedule waits for the next multiple on the new clock`(hours: Int, left: Int) {
    #expect(daily().delay(at: time(after: hours)) == .seconds(left * 3_600))
  }

  @Test(arguments: [16, 17, 72, 50_000, -9, -72, -50_000])
  func `an aligned schedule is due if the clock has another day`(hours: Int) {
    #expect(daily().delay(at: time(after: hours)) == .zero)
  }

  @Test func `an aligned schedule leaves out the multiples during a refresh`() {
    var pace = daily()
    pace.hasRefreshed(at: time(after: 41))
    #expect(pace.delay(at: time(after: 41)) == .seconds(23 * 3_600))
  }

  @Test func `a step of the clock during a refresh is noticed after it`() {
    var pace = daily()
    pace.hasRefreshed(at: time(after: 17))
    #expect(pace.delay(at: time(after: 72)) == .zero)
    #expect(pace.delay(at: time(after: 18)) == .seconds(22 * 3_600))
  }

  @Test(arguments: [0, 72, -72])
  func `a schedule that is not aligned does not follow the clock`(hours: Int) {
    var pace = daily(isAligned: false)
    #expect(!pace.isAligned)
    #expect(pace.delay(at: time(after: hours)) == .seconds(86_400))
    pace.hasRefreshed(at: time(after: hours))
    #expect(pace.delay(at: time(after: 0)) == .seconds(86_400))
  }
}

/// The waits that a step of the clock ends.
@Suite struct ScheduleWaitsTests {
  @Test func `a wait ends when the clock is set, also directly after its begin`() async {
    let waits = ScheduleWaits()
    let isOver = await waits.wait(on: ContinuousClock()) {
      // The clock is set between the reading of the clock and the wait.
      waits.end()
      return .seconds(86_400)
    }
    #expect(!isOver)
  }

  @Test func `a wait without a step of the clock lasts its whole time`() async {
    let waits = ScheduleWaits()
    waits.end()
    let isOver = await waits.wait(on: ContinuousClock()) { .nanoseconds(1) }
    #expect(isOver)
    let isDue = await waits.wait(on: ContinuousClock()) { .zero }
    #expect(isDue)
  }

  @Test func `a wait ends with its task`() async {
    let waits = ScheduleWaits()
    let task = Task { await waits.wait(on: ContinuousClock()) { .seconds(86_400) } }
    task.cancel()
    let isOver = await task.value
    #expect(!isOver)
  }
}
