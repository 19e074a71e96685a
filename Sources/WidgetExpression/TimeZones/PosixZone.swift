import WidgetModel

/// A time zone rule such as `CET-1CEST,M3.5.0,M10.5.0/3`: POSIX's TZ, with RFC 8536's extensions.
struct PosixZone: Hashable, Sendable {
  private struct Change: Hashable {
    enum Day: Hashable {
      /// 1 to 365; the 29th of February does not count.
      case julian(Int)
      /// 0 to 365.
      case ordinal(Int)
      /// The `week`th (5: last) weekday of a month.
      case weekday(month: Int, week: Int, day: Int)
    }

    let day: Day
    /// Seconds after midnight as the clocks showed before the change; may be negative or past 24 h.
    let time: Int
  }

  private let standard: TimeZoneRules.Period
  private let daylight: (period: TimeZoneRules.Period, start: Change, end: Change)?

  static func == (a: PosixZone, b: PosixZone) -> Bool {
    a.standard == b.standard && a.daylight?.period == b.daylight?.period
      && a.daylight?.start == b.daylight?.start && a.daylight?.end == b.daylight?.end
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(standard)
    hasher.combine(daylight?.period)
  }

  /// Nil if the text is no such rule.
  init?(_ text: String) {
    var reader = DigitReader(text)
    guard let name = Self.name(&reader), let west = Self.time(&reader) else { return nil }
    standard = .init(offsetSeconds: -west, abbreviation: name, isDaylightSaving: false)
    if reader.isAtEnd {
      daylight = nil
      return
    }
    guard let summer = Self.name(&reader) else { return nil }
    var offset = -west + 3_600
    if let next = reader.next, next != UInt8(ascii: ",") {
      guard let west = Self.time(&reader) else { return nil }
      offset = -west
    }
    guard reader.skip(","), let start = Self.change(&reader), reader.skip(","),
      let end = Self.change(&reader), reader.isAtEnd
    else { return nil }
    daylight = (
      .init(offsetSeconds: offset, abbreviation: summer, isDaylightSaving: true), start, end
    )
  }

  func period(atSeconds seconds: Int64) -> TimeZoneRules.Period {
    guard let daylight, let changes = changes(around: Int(seconds)) else { return standard }
    return changes.areDaylight ? daylight.period : standard
  }

  /// The span around a second. It ends at the latest with the year.
  func span(at seconds: Int) -> TimeZoneRules.Span {
    let bound = TimeZoneRules.Span.bound
    guard let daylight, let changes = changes(around: seconds) else {
      return .init(offset: standard.offsetSeconds, start: -bound, end: bound)
    }
    let period = changes.areDaylight ? daylight.period : standard
    guard Self.range.contains(seconds) else {
      let isEarly = seconds < Self.range.lowerBound
      return .init(
        offset: period.offsetSeconds, start: isEarly ? -bound : Self.range.upperBound + 1,
        end: isEarly ? Self.range.lowerBound : bound)
    }
    // The changes of other years do not matter, because `changes` looks at one year.
    let first = CivilTime.days(year: changes.year, month: 1, day: 1) * 86_400
    let last = CivilTime.days(year: changes.year + 1, month: 1, day: 1) * 86_400
    var (start, end) = (first - standard.offsetSeconds, last - standard.offsetSeconds)
    for change in [changes.start, changes.end] {
      if change <= seconds { start = max(start, change) } else { end = min(end, change) }
    }
    return .init(offset: period.offsetSeconds, start: start, end: end)
  }

  /// Timestamps are within the years 1 to 9999; beyond, the year does not matter.
  private static let range = -62_135_596_800...253_402_300_799

  /// The changes of the clocks in the year of a second, and whether the second is between them. Nil
  /// if the clocks never change.
  private func changes(
    around seconds: Int
  ) -> (year: Int, start: Int, end: Int, areDaylight: Bool)? {
    guard let daylight else { return nil }
    let now = min(max(seconds, Self.range.lowerBound), Self.range.upperBound)
    let local = now + standard.offsetSeconds
    let days = (local >= 0 ? local : local - 86_399) / 86_400
    let year = Self.year(ofDay: days)
    let start =
      Self.seconds(of: daylight.start, year) - standard.offsetSeconds
    let end = Self.seconds(of: daylight.end, year) - daylight.period.offsetSeconds
    let isSummer = start < end ? now >= start && now < end : now >= start || now < end
    return (year, start, end, isSummer)
  }

  private static func year(ofDay days: Int) -> Int {
    var year = 1970 + Int((Double(days) / 365.2425).rounded(.down))
    while CivilTime.days(year: year, month: 1, day: 1) > days { year -= 1 }
    while CivilTime.days(year: year + 1, month: 1, day: 1) <= days { year += 1 }
    return year
  }

  /// The time of a change in a year, in seconds since 1970, on clocks that are not changed yet.
  private static func seconds(of change: Change, _ year: Int) -> Int {
    let first = CivilTime.days(year: year, month: 1, day: 1)
    let day: Int
    switch change.day {
    case .julian(let number):
      day = first + number - 1 + (CivilTime.isLeap(year) && number > 59 ? 1 : 0)
    case .ordinal(let number): day = first + number
    case .weekday(let month, let week, let weekday):
      let civil = CivilTime(year: year, month: month)
      var date = 1 + (weekday - civil.weekday + 7) % 7 + (week - 1) * 7
      if date > CivilTime.daysIn(month: month, year: year) { date -= 7 }
      day = CivilTime.days(year: year, month: month, day: date)
    }
    return day * 86_400 + change.time
  }

  // MARK: Reading

  private static func name(_ reader: inout DigitReader) -> String? {
    let isQuoted = reader.skip("<")
    let name = reader.rest.prefix {
      isQuoted
        ? $0 != UInt8(ascii: ">") && $0 < 128
        : ($0 | 32 >= UInt8(ascii: "a") && $0 | 32 <= UInt8(ascii: "z"))
    }
    guard (3...16).contains(name.count) else { return nil }
    reader.skip(name.count)
    if isQuoted, !reader.skip(">") { return nil }
    return String(decoding: name, as: UTF8.self)
  }

  /// `[+-]hh[:mm[:ss]]` in seconds.
  private static func time(_ reader: inout DigitReader) -> Int? {
    let isNegative = reader.skip("-")
    if !isNegative { _ = reader.skip("+") }
    guard let hours = reader.number(3, isShort: true), hours <= 167 else { return nil }
    var seconds = hours * 3_600
    for scale in [60, 1] where reader.skip(":") {
      guard let part = reader.number(2, isShort: true), part < 60 else { return nil }
      seconds += part * scale
    }
    return isNegative ? -seconds : seconds
  }

  private static func change(_ reader: inout DigitReader) -> Change? {
    let day: Change.Day
    if reader.skip("M") {
      guard let month = reader.number(2, isShort: true), (1...12).contains(month),
        reader.skip("."), let week = reader.number(1), (1...5).contains(week), reader.skip("."),
        let weekday = reader.number(1), weekday <= 6
      else { return nil }
      day = .weekday(month: month, week: week, day: weekday)
    } else if reader.skip("J") {
      guard let number = reader.number(3, isShort: true), (1...365).contains(number) else {
        return nil
      }
      day = .julian(number)
    } else {
      guard let number = reader.number(3, isShort: true), number <= 365 else { return nil }
      day = .ordinal(number)
    }
    guard reader.skip("/") else { return Change(day: day, time: 7_200) }
    guard let time = time(&reader) else { return nil }
    return Change(day: day, time: time)
  }
}
