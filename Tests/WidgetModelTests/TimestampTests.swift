import Testing
import WidgetModel

/// Times are exact to the nanosecond and never leave years 1 to 9999.
struct TimestampTests {
  private func time(_ seconds: Int64, _ nanoseconds: Int32 = 0) throws -> Timestamp {
    try #require(Timestamp(seconds: seconds, nanoseconds: nanoseconds))
  }

  @Test(
    arguments: [
      (-62_135_596_800, 0, true), (-62_135_596_801, 999_999_999, false),
      (253_402_300_799, 999_999_999, true), (253_402_300_800, 0, false),
      (0, -1, false), (0, 0, true), (0, 999_999_999, true), (0, 1_000_000_000, false),
    ] as [(Int64, Int32, Bool)])
  func `a time outside years 1 to 9999 or with invalid nanoseconds is refused`(
    seconds: Int64, nanoseconds: Int32, isValid: Bool
  ) {
    #expect((Timestamp(seconds: seconds, nanoseconds: nanoseconds) != nil) == isValid)
  }

  @Test func `the constructor accepts the earliest and the latest time`() throws {
    #expect(try time(-62_135_596_800) == .earliest)
    #expect(try time(253_402_300_799, 999_999_999) == .latest)
    #expect(try time(0) == .epoch)
  }

  @Test(
    arguments: [
      0, 1, -1, 999_999_999, 1_000_000_000, -999_999_999, -1_000_000_000, -1_000_000_001,
      .max, .max - 1, .min, .min + 1, .min + 500_000_000, .min + 1_000_000_000,
    ] as [Int64])
  func `nanoseconds since 1970 come back as they were`(total: Int64) {
    let time = Timestamp(nanosecondsSinceEpoch: total)
    #expect(time.nanosecondsSinceEpoch == total)
    #expect((0..<1_000_000_000).contains(time.nanoseconds))
  }

  @Test func `nanoseconds since 1970 are clamped beyond what 64 bits hold`() {
    #expect(Timestamp.earliest.nanosecondsSinceEpoch == .min)
    #expect(Timestamp.latest.nanosecondsSinceEpoch == .max)
  }

  @Test func `one nanosecond before 1970 counts down from the second before`() {
    let time = Timestamp(nanosecondsSinceEpoch: -1)
    #expect(time.seconds == -1)
    #expect(time.nanoseconds == 999_999_999)
  }

  @Test func `whole seconds are rounded down, also before 1970`() throws {
    #expect(try time(5, 999_999_999).wholeSeconds == (try time(5)))
    #expect(try time(-6, 1).wholeSeconds == (try time(-6)))
    #expect(Timestamp.latest.wholeSeconds == (try time(253_402_300_799)))
  }

  @Test func `times are ordered by seconds and then nanoseconds`() throws {
    let ordered = [
      Timestamp.earliest, try time(-1, 5), try time(-1, 6), .epoch, try time(0, 1), try time(1),
      .latest,
    ]
    #expect(ordered.reversed().sorted() == ordered)
  }

  @Test func `adding carries and borrows between nanoseconds and seconds`() throws {
    let start = try time(10, 600_000_000)
    #expect(start.advanced(by: .milliseconds(400)) == (try time(11)))
    #expect(start.advanced(by: .milliseconds(-601)) == (try time(9, 999_000_000)))
    #expect(start.advanced(by: .zero) == start)
    #expect(start.advanced(by: .seconds(-20)) == (try time(-10, 600_000_000)))
  }

  @Test(arguments: [
    (Timestamp.earliest, Duration.nanoseconds(-1), Timestamp.earliest),
    (.earliest, .milliseconds(-999), .earliest),
    (.earliest, .seconds(-5), .earliest),
    (.latest, .nanoseconds(1), .latest),
    (.latest, .seconds(5), .latest),
    (.epoch, .seconds(Int64.max), .latest),
    (.epoch, .seconds(Int64.min), .earliest),
    (.latest, .seconds(Int64.max), .latest),
    (.earliest, .seconds(Int64.min), .earliest),
  ])
  func `a sum beyond the range is the nearest end of it`(
    start: Timestamp, step: Duration, expected: Timestamp
  ) {
    #expect(start.advanced(by: step) == expected)
  }

  @Test func `the difference of two times leads from one to the other`() throws {
    let times = [
      Timestamp.earliest, .latest, .epoch, try time(5, 999_999_999), try time(6, 1),
      try time(-6, 1),
    ]
    for a in times {
      for b in times {
        #expect(a.advanced(by: b.duration(since: a)) == b)
      }
    }
  }
}
