import SeededRandom
import Testing
import WidgetModel

@testable import WidgetExpression

/// Time zones from the system's files, and files that are broken.
struct TimeZoneTests {
  private func time(_ text: String) throws -> Timestamp { try Times.timestamp(text) }

  @Test(
    arguments: [
      ("Europe/Berlin", "2026-01-15T12:00:00Z", 3_600, "CET"),
      ("Europe/Berlin", "2026-07-15T12:00:00Z", 7_200, "CEST"),
      ("Europe/Berlin", "2026-03-29T00:59:59Z", 3_600, "CET"),
      ("Europe/Berlin", "2026-03-29T01:00:00Z", 7_200, "CEST"),
      ("Europe/Berlin", "2090-07-15T12:00:00Z", 7_200, "CEST"),
      ("Europe/Berlin", "2090-01-15T12:00:00Z", 3_600, "CET"),
      ("Australia/Sydney", "2050-01-15T12:00:00Z", 39_600, "AEDT"),
      ("Australia/Sydney", "2050-07-15T12:00:00Z", 36_000, "AEST"),
      ("Asia/Kolkata", "2026-01-15T12:00:00Z", 19_800, "IST"),
      ("US/Central", "2009-02-13T23:31:30Z", -21_600, "CST"),
      ("Europe/Dublin", "2050-07-15T12:00:00Z", 3_600, "IST"),
      ("Europe/Dublin", "2050-01-15T12:00:00Z", 0, "GMT"),
      ("America/Sao_Paulo", "2010-01-15T12:00:00Z", -7_200, "-02"),
      ("Asia/Tokyo", "9999-12-31T23:59:59Z", 32_400, "JST"),
      ("America/New_York", "0001-01-01T00:00:00Z", -17_762, "LMT"),
      ("UTC", "2026-01-15T12:00:00Z", 0, "UTC"),
    ] as [(String, String, Int, String)])
  func `a zone has its offset and name at a time`(
    zone: String, at text: String, offset: Int, name: String
  ) throws {
    let rules = try #require(ZoneFiles.rules(zone), "\(zone) is not in \(ZoneFiles.folder)")
    let period = rules.period(at: try time(text))
    #expect(period.offsetSeconds == offset)
    #expect(period.abbreviation == name)
  }

  @Test(arguments: [
    "Europe/Berlin", "America/New_York", "Australia/Sydney", "Africa/Casablanca", "UTC",
  ])
  func `a file cut off anywhere is refused, not misread`(zone: String) throws {
    let bytes = try #require(ZoneFiles.bytes(zone))
    for length in 0..<bytes.count {
      #expect(throws: TimeZoneRules.ParseError.self) {
        try TimeZoneRules(tzif: Array(bytes[..<length]))
      }
    }
  }

  @Test(arguments: [
    "Europe/Berlin", "Australia/Lord_Howe", "America/Sao_Paulo", "Africa/Casablanca",
    "Europe/Dublin", "Antarctica/Troll", "Asia/Gaza", "Asia/Tokyo", "UTC",
  ])
  func `a span has the offset of its seconds`(zone: String) throws {
    let rules = try #require(ZoneFiles.rules(zone))
    var generator = SeededGenerator(seed: 6)
    let range = Int(Timestamp.earliest.seconds)...Int(Timestamp.latest.seconds)
    for round in 0..<2_000 {
      let second =
        round % 2 == 0
        ? Int.random(in: range, using: &generator)
        : Int.random(in: -3_000_000_000...6_000_000_000, using: &generator)
      let span = rules.span(at: second)
      #expect(span.start <= second && second < span.end)
      for place in [span.start, second, (span.start + span.end) / 2, span.end - 1] {
        let offset = rules.period(atSeconds: Int64(place)).offsetSeconds
        if offset != span.offset { Issue.record("\(zone): \(span) at \(second), \(place)") }
      }
    }
    for second in [range.lowerBound, range.upperBound, range.upperBound + 1, -1 << 58, 1 << 58] {
      let span = rules.span(at: second)
      #expect(span.start <= second && second < span.end)
    }
  }

  @Test func `a file with random bytes changed never crashes`() throws {
    let bytes = try #require(ZoneFiles.bytes("Europe/Berlin"))
    var generator = SeededGenerator(seed: 5)
    let times = [Timestamp.earliest, .epoch, .latest]
    for _ in 0..<3_000 {
      var changed = bytes
      for _ in 0..<Int.random(in: 1...8, using: &generator) {
        let place = Int.random(in: 0..<changed.count, using: &generator)
        changed[place] = UInt8.random(in: 0...255, using: &generator)
      }
      guard let rules = try? TimeZoneRules(tzif: changed) else { continue }
      for time in times {
        #expect(abs(rules.period(at: time).offsetSeconds) <= 7 * 86_400)
        _ = rules.offset(forLocalSeconds: time.seconds)
        let span = rules.span(at: Int(time.seconds))
        #expect(span.start <= Int(time.seconds) && Int(time.seconds) < span.end)
        _ = CivilTime(time, offset: rules.period(at: time).offsetSeconds)
      }
    }
  }

  @Test(arguments: [
    "CET", "CET-1CEST", "C-1", "CET-1CEST,M3.5.0", "CET-1CEST,M13.5.0,M10.5.0",
    "CET-1CEST,M3.6.0,M10.5.0", "CET-1CEST,J0,J1", "<+03-3",
    "CET-1CEST,M3.5.0,M10.5.0x", "CET-200", "CET-1:60",
  ])
  func `an invalid rule is refused`(text: String) { #expect(PosixZone(text) == nil) }

  @Test(
    arguments: [
      ("CET-1CEST,M3.5.0,M10.5.0/3", "2026-07-01T00:00:00Z", 7_200),
      ("<+0330>-3:30", "2026-07-01T00:00:00Z", 12_600),
      ("EST5EDT4,J60,J300", "2024-02-29T12:00:00Z", -18_000),
      ("EST5EDT4,J60,J300", "2024-03-01T12:00:00Z", -14_400),
      ("EST5EDT4,59,300", "2024-02-29T12:00:00Z", -14_400),
      ("IST-2IDT,M3.4.4/26,M10.5.0", "2026-03-27T00:00:00Z", 10_800),
      ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2026-03-29T01:00:00Z", -3_600),
    ] as [(String, String, Int)])
  func `a rule gives the offset`(text: String, at moment: String, offset: Int) throws {
    let zone = try #require(PosixZone(text))
    #expect(zone.period(atSeconds: try time(moment).seconds).offsetSeconds == offset)
  }

  @Test func `without a database the zone is named in the error`() throws {
    var environment = Sample.environment
    environment.timeZones = nil
    let expression = try CompiledExpression("now.getHours('Asia/Tokyo')", in: environment)
    let error = #expect(throws: EvaluationError.self) { try expression.evaluate(Sample.bindings) }
    #expect(error?.reason == .unknownTimeZone)
    #expect(error?.message.contains("Asia/Tokyo") == true)
    #expect(Sample.reason("now.getHours('+02:00') + now.getHours('UTC')", in: environment) == nil)
  }

  @Test func `every day of four centuries is a date and back`() {
    var expected = (year: 1_899, month: 12, day: 31)
    for days in -25_567..<120_532 {
      if expected.day < CivilTime.daysIn(month: expected.month, year: expected.year) {
        expected.day += 1
      } else {
        expected =
          expected.month == 12 ? (expected.year + 1, 1, 1) : (expected.year, expected.month + 1, 1)
      }
      guard let time = Timestamp(seconds: Int64(days) * 86_400, nanoseconds: 0) else {
        continue
      }
      let civil = CivilTime(time, offset: 0)
      if (civil.year, civil.month, civil.day) != expected || civil.seconds != Int(time.seconds) {
        Issue.record("day \(days) is \(civil)")
        return
      }
    }
  }

  @Test(arguments: [
    "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z", "1969-12-31T23:59:59.5Z",
    "2024-02-29T00:00:00Z",
  ])
  func `a timestamp is written as it was read`(text: String) throws {
    #expect(Times.text(try time(text)) == text)
  }

  @Test(arguments: [
    "1h", "-1.5s", "0", "1h2m3s4ms5us6ns", "+3m", "1.000000001s", ".5s", "292y", "1", "", "-",
    "1hh", "h", "1..5s", "9999999999999h", "1e3s",
    "9223372036.854775807s", "9223372036.854775808s", "-9223372036.854775808s", "1.s",
  ])
  func `durations read and write`(text: String) {
    let bad: Set = [
      "292y", "1", "", "-", "1hh", "h", "1..5s", "9999999999999h", "1e3s", "9223372036.854775808s",
    ]
    let duration = try? Times.duration(text)
    #expect((duration == nil) == bad.contains(text))
    if let duration { #expect((try? Times.duration(Times.text(duration))) == duration) }
  }
}
