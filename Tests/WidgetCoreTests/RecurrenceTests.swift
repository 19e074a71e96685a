import Testing
import WidgetExpression
import WidgetModel
import WidgetTimeZones

@testable import WidgetCore

/// Recurring times, in zones whose clocks change.
struct RecurrenceTests {
  private static let berlin = SystemTimeZones().rules("Europe/Berlin") ?? .utc

  private func time(_ text: String) throws -> Timestamp { try #require(RFC3339.timestamp(text)) }

  private func texts(
    _ recurrence: Recurrence, after start: String, _ zone: TimeZoneRules, _ count: Int
  ) throws -> [String] {
    var time = try time(start)
    var texts: [String] = []
    for _ in 0..<count {
      guard let next = recurrence.next(after: time, in: zone) else { break }
      texts.append(RFC3339.text(next))
      time = next
    }
    return texts
  }

  @Test func `every hour goes on when the clocks go forward`() throws {
    #expect(
      try texts(
        .every(seconds: 3_600, offset: 0), after: "2026-03-29T00:00:00Z", Self.berlin, 2) == [
          "2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z",
        ])
  }

  @Test func `every day begins at midnight of the zone, on both sides of a change`() throws {
    #expect(
      try texts(
        .every(seconds: 86_400, offset: 0), after: "2026-03-28T12:00:00Z", Self.berlin, 2) == [
          "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z",
        ])
    #expect(
      try texts(
        .every(seconds: 86_400, offset: 0), after: "2026-10-24T12:00:00Z", Self.berlin, 2) == [
          "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z",
        ])
  }

  @Test func `an offset moves where the periods begin`() throws {
    #expect(
      try texts(.every(seconds: 86_400, offset: 21_600), after: "2026-07-01T00:00:00Z", .utc, 2)
        == ["2026-07-01T06:00:00Z", "2026-07-02T06:00:00Z"])
  }

  @Test func `a skipped local time does not occur, and a repeated one occurs twice`()
    throws
  {
    let pattern = Recurrence.cron(try CronPattern("30 2 * * *"))
    #expect(
      try texts(pattern, after: "2026-03-28T00:00:00Z", Self.berlin, 2) == [
        "2026-03-28T01:30:00Z", "2026-03-30T00:30:00Z",
      ])
    #expect(
      try texts(pattern, after: "2026-10-24T12:00:00Z", Self.berlin, 3) == [
        "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z",
      ])
  }

  @Test(arguments: [
    ("*/15 * * * *", "2026-01-01T00:15:00Z"), ("0 9-17 * * mon-fri", "2026-01-01T09:00:00Z"),
    ("0 0 29 2 *", "2028-02-29T00:00:00Z"), ("@yearly", "2027-01-01T00:00:00Z"),
    ("5,10 4 13 * fri", "2026-01-02T04:05:00Z"), ("0 0 * * 7", "2026-01-04T00:00:00Z"),
    ("1-59/29 23 31 12 *", "2026-12-31T23:01:00Z"),
  ])
  func `a pattern gives the expected next times`(pattern: String, expected: String) throws {
    let found = Recurrence.cron(try CronPattern(pattern)).next(
      after: try time("2026-01-01T00:00:00Z"), in: .utc)
    #expect(found.map { RFC3339.text($0) } == expected)
  }

  @Test(arguments: [
    ("0 0 30 2 *", "never fits"), ("60 * * * *", "\"60\" is not a minute"),
    ("0 0 * * monday", "\"monday\" is not a day of the week; write mon"),
    ("0 0 * * mo", "did you mean mon?"), ("0 0 * sept *", "write sep"),
    ("0 0 * * weekdays", "use 0 to 7, or sun to sat"), ("* * *", "5 fields"),
    ("*/0 * * * *", "not a step"), ("9-5 * * * *", "begins after its end"), ("@often", "@daily"),
    ("a * * * *", "\"a\" is not a minute"), ("* * * * mon-", "\"\" is not a day of the week"),
    ("99999999999999999999 * * * *", "is not a minute"), ("", "5 fields"),
  ])
  func `an invalid pattern is reported with the reason`(pattern: String, words: String) {
    #expect {
      _ = try CronPattern(pattern)
    } throws: { error in
      (error as? CronPattern.Problem)?.message.contains(words) ?? false
    }
  }

  /// Compares both searches with a test of every minute, in two years with all changes of the
  /// clocks.
  @Test(arguments: ["Europe/Berlin", "Australia/Lord_Howe", "America/St_Johns", "UTC"])
  func `the last time before and the next time after are neighbours`(zone: String) throws {
    let rules = try #require(TimeZoneRules(named: zone, in: SystemTimeZones().rules))
    let recurrences: [Recurrence] = [
      .every(seconds: 3_600, offset: 0), .every(seconds: 86_400, offset: 3_600),
      .every(seconds: 7_200, offset: 1_800), .cron(try CronPattern("30 2 * * *")),
      .cron(try CronPattern("*/20 1-3 * * *")),
    ]
    let start = try time("2026-03-01T00:00:00Z").seconds
    for recurrence in recurrences {
      var fits: [Int64] = []
      for minute in 0..<(60 * 24 * 400) {
        let second = start + Int64(minute) * 60
        let local = Int(second) + rules.offset(at: Int(second))
        let isFit: Bool
        switch recurrence {
        case .every(let period, let offset): isFit = (local - offset) % period == 0
        case .cron(let pattern):
          isFit = pattern.last(notAfter: Int(second), in: rules) == Int(second)
        }
        if isFit { fits.append(second) }
      }
      #expect(fits.count > 300)
      for (place, second) in fits.enumerated().dropLast() {
        let now = try #require(Timestamp(seconds: second, nanoseconds: 0))
        #expect(recurrence.last(notAfter: now, in: rules)?.seconds == second)
        let next = recurrence.next(after: now, in: rules)?.seconds
        if next != fits[place + 1] {
          Issue.record("\(recurrence) in \(zone) after \(second): \(next ?? 0)")
          return
        }
      }
    }
  }
}
