import Testing
import WidgetModel

/// Durations as whole nanoseconds, which an `Int64` holds for 292 years.
struct DurationTests {
  @Test(
    arguments: [
      (.zero, 0), (.nanoseconds(1), 1), (.nanoseconds(-1), -1),
      (.milliseconds(1_500), 1_500_000_000), (.milliseconds(-1_500), -1_500_000_000),
      (.nanoseconds(Int64.max), .max), (.nanoseconds(Int64.min), .min),
      (Duration(secondsComponent: 0, attosecondsComponent: 999_999_999), 0),
      (Duration(secondsComponent: 0, attosecondsComponent: -999_999_999), 0),
    ] as [(Duration, Int64)])
  func `nanoseconds are exact, and the rest is cut off`(duration: Duration, expected: Int64) {
    #expect(duration.checkedNanoseconds == expected)
    #expect(duration.nanoseconds == expected)
  }

  @Test(
    arguments: [
      (.nanoseconds(Int64.max) + .nanoseconds(1), .max),
      (.nanoseconds(Int64.min) - .nanoseconds(1), .min),
      (.seconds(Int64.max), .max), (.seconds(Int64.min), .min),
    ] as [(Duration, Int64)])
  func `nanoseconds beyond 64 bits are clamped`(duration: Duration, expected: Int64) {
    #expect(duration.checkedNanoseconds == nil)
    #expect(duration.nanoseconds == expected)
  }
}
