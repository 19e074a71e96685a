import SeededRandom
import Testing
import WidgetModel
import WidgetTimeZones

@testable import WidgetExpression

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
      (error as? CronPattern.Problem)?.text.contains(words) ?? false
    }
  }

  /// Compares both searches with a test of every minute, in a year with all changes of the clocks.
  @Test(arguments: ["Europe/Berlin", "Australia/Lord_Howe", "America/St_Johns", "UTC"])
  func `the last time before and the next time after are neighbours`(zone: String) throws {
    let rules = try #require(TimeZoneRules(named: zone, in: SystemTimeZones().rules))
    let recurrences: [(Recurrence, (Int) -> Bool)] = [
      (.every(seconds: 3_600, offset: 0), { $0 % 3_600 == 0 }),
      (.every(seconds: 86_400, offset: 3_600), { ($0 - 3_600) % 86_400 == 0 }),
      (.every(seconds: 7_200, offset: 1_800), { ($0 - 1_800) % 7_200 == 0 }),
      (.cron(try CronPattern("30 2 * * *")), { $0 / 60 % 1_440 == 150 }),
      (
        .cron(try CronPattern("*/20 1-3 * * *")),
        { $0 / 60 % 20 == 0 && (1...3).contains($0 / 3_600 % 24) }
      ),
    ]
    let start = Int(try time("2026-03-01T00:00:00Z").seconds)
    for (recurrence, fits) in recurrences {
      let found = (0..<(60 * 24 * 400)).lazy.map { start + $0 * 60 }
        .filter { fits($0 + rules.offset(at: $0)) }
      try expectNeighbours(recurrence, Array(found), in: rules, zone)
    }
  }

  /// Each time has the one before and the one after it as neighbours.
  private func expectNeighbours(
    _ recurrence: Recurrence, _ found: [Int], in rules: TimeZoneRules, _ name: String
  ) throws {
    for (second, next) in zip(found, found.dropFirst()) {
      let now = try #require(Timestamp(seconds: Int64(second), nanoseconds: 0))
      let before = try #require(Timestamp(seconds: Int64(next - 1), nanoseconds: 0))
      let results = [
        recurrence.last(notAfter: now, in: rules)?.seconds,
        recurrence.last(notAfter: before, in: rules)?.seconds,
        recurrence.next(after: now, in: rules)?.seconds,
        recurrence.next(after: before, in: rules)?.seconds,
      ].map { $0.map { Int($0) } }
      if results != [second, second, next, next] {
        Issue.record("\(recurrence) in \(name) from \(second) to \(next): \(results)")
        return
      }
    }
  }

  /// A pattern with some random numbers in each field, and a test of a local time against it.
  private func randomPattern(
    _ random: inout SeededGenerator
  ) -> (text: String, fits: (CivilTime) -> Bool) {
    func field(_ range: ClosedRange<Int>, _ chance: Int) -> (text: String, numbers: Set<Int>) {
      guard random.chance(chance) else { return ("*", Set(range)) }
      let numbers = (0...random.below(4)).map { _ in Int.random(in: range, using: &random) }
      return (numbers.map(String.init).joined(separator: ","), Set(numbers))
    }
    let (minute, hour) = (field(0...59, 90), field(0...23, 70))
    let (day, month, weekday) = (field(1...31, 50), field(1...12, 20), field(0...7, 40))
    let either = day.text != "*" && weekday.text != "*"
    let weekdays = Set(weekday.numbers.map { $0 % 7 })
    return (
      [minute, hour, day, month, weekday].map(\.text).joined(separator: " "),
      { time in
        let days = (day.numbers.contains(time.day), weekdays.contains(time.weekday))
        return minute.numbers.contains(time.minute) && hour.numbers.contains(time.hour)
          && month.numbers.contains(time.month)
          && (either ? days.0 || days.1 : days.0 && days.1)
      }
    )
  }

  /// The windows are around changes of the clocks, and at the ends of months and years.
  @Test(arguments: [
    "Europe/Berlin", "Australia/Lord_Howe", "America/Sao_Paulo", "America/Havana",
    "Africa/Casablanca", "Antarctica/Troll", "Pacific/Apia", "Asia/Gaza", "UTC",
  ])
  func `random patterns agree with a test of every minute`(zone: String) throws {
    let rules = try #require(TimeZoneRules(named: zone, in: SystemTimeZones().rules))
    var random = SeededGenerator(seed: 8)
    var count = 0
    for round in 0..<16 {
      let (text, fits) = randomPattern(&random)
      guard let pattern = try? CronPattern(text) else { continue }
      let date = [
        "2011-12-28T00:00:00Z", "2026-03-06T00:00:00Z", "2026-03-26T12:00:00Z",
        "2026-10-22T00:00:00Z", "2026-10-30T12:00:00Z", "2028-02-26T00:00:00Z",
        "2038-01-15T00:00:00Z", "2018-02-14T00:00:00Z",
      ][round % 8]
      let start = Int(try time(date).seconds)
      let found = (0..<(60 * 24 * 6)).map { start + $0 * 60 }.filter { second in
        guard let now = Timestamp(seconds: Int64(second), nanoseconds: 0) else { return false }
        return fits(CivilTime(now, offset: rules.offset(at: second)))
      }
      count += found.count
      try expectNeighbours(.cron(pattern), found, in: rules, "\(zone): \(text)")
    }
    #expect(count > 100)
  }

  @Test(arguments: [
    ("0 0 29 2 *", "2096-03-01T00:00:00Z", "2104-02-29T00:00:00Z"),
    ("0 0 29 2 *", "2096-02-29T00:00:00Z", "2104-02-29T00:00:00Z"),
    ("59 23 31 12 *", "9999-12-31T23:58:00Z", "9999-12-31T23:59:00Z"),
    ("59 23 31 12 *", "9999-12-31T23:59:00Z", nil), ("0 0 29 2 *", "9996-03-01T00:00:00Z", nil),
    ("0 0 1 1 *", "0001-01-01T00:00:00Z", "0002-01-01T00:00:00Z"),
  ])
  func `rare times are found, up to the last year`(
    pattern: String, start: String, expected: String?
  ) throws {
    let recurrence = Recurrence.cron(try CronPattern(pattern))
    let found = recurrence.next(after: try time(start), in: .utc)
    #expect(found.map { RFC3339.text($0) } == expected)
    guard let found else { return }
    #expect(recurrence.last(notAfter: found, in: .utc) == found)
  }

  @Test func `the time before the first year is unknown`() throws {
    let yearly = Recurrence.cron(try CronPattern("0 0 29 2 *"))
    #expect(yearly.last(notAfter: .earliest, in: .utc) == nil)
    #expect(yearly.next(after: .latest, in: Self.berlin) == nil)
    #expect(yearly.last(notAfter: .latest, in: Self.berlin) != nil)
  }

  /// A search used to take a step for each day.
  @Test(arguments: ["0 0 29 2 *", "0 0 1 1 *", "59 23 31 12 *", "0 0 * * 1", "* * * * *"])
  func `a search looks at few months and changes of the clocks`(text: String) throws {
    let pattern = Recurrence.cron(try CronPattern(text))
    let start = try time("2096-03-01T00:00:00Z")
    for zone in [.utc, Self.berlin] {
      var budget = 0
      let next = try #require(pattern.next(after: start, in: zone, spending: &budget))
      #expect(-budget < 160)
      budget = 0
      #expect(try #require(pattern.last(notAfter: next, in: zone, spending: &budget)) == next)
      #expect(-budget < 8)
    }
  }
}

extension Recurrence {
  fileprivate func next(after time: Timestamp, in zone: TimeZoneRules) -> Timestamp? {
    var budget = Int.max
    return next(after: time, in: zone, spending: &budget)
  }

  fileprivate func last(notAfter time: Timestamp, in zone: TimeZoneRules) -> Timestamp? {
    var budget = Int.max
    return last(notAfter: time, in: zone, spending: &budget)
  }
}

extension TimeZoneRules {
  func offset(at seconds: Int) -> Int {
    Timestamp(seconds: Int64(seconds), nanoseconds: 0).map { period(at: $0).offsetSeconds } ?? 0
  }
}
