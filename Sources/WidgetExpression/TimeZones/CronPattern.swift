import WidgetModel

/// Times as cron(8) writes them: minute, hour, day of the month, month, day of the week.
///
/// Each field is `*`, a number, a range `a-b`, a step `*/n` or `a-b/n`, or a list of those. Months
/// and days of the week also have names of three letters; 7 is a Sunday like 0. If both days are
/// restricted, it is enough if one of them fits. `@hourly`, `@daily`, `@weekly`, `@monthly` and
/// `@yearly` are short for patterns.
///
/// Times are local clock times. A time that the clocks skip does not fit. A time that they repeat
/// fits twice.
package struct CronPattern: Hashable, Sendable {
  private var minutes: UInt64
  private var hours: UInt64
  private var days: UInt64
  private var months: UInt64
  private var weekdays: UInt64
  private var restrictsDays: Bool
  private var restrictsWeekdays: Bool

  /// The number of years, ahead and back, that a search covers.
  package static let yearsMax = 12

  /// The problem of a pattern's text.
  package struct Problem: Error, Hashable {
    package let message: String
    /// The next step. Empty if there is none.
    package var hint = ""

    /// The message with its hint.
    package var text: String { hint.isEmpty ? message : "\(message); \(hint)" }
  }

  /// The limit is above the length of a pattern that lists all minutes, hours, days, months and
  /// weekdays.
  private static let bytesMax = 1_000

  package init(_ text: String) throws(Problem) {
    guard text.utf8.count <= CronPattern.bytesMax else {
      throw Problem(
        message: "the pattern is too long", hint: "use at most \(CronPattern.bytesMax) bytes")
    }
    var fields = text.split(whereSeparator: { $0 == " " || $0 == "\t" }).map(String.init)
    if let only = fields.first, fields.count == 1, only.hasPrefix("@") {
      guard let pattern = CronPattern.shorthands[only.lowercased()] else {
        let names = CronPattern.shorthands.keys.sorted().joined(separator: ", ")
        throw Problem(
          message: "\"\(only.prefix(32))\" is not known", hint: "use one of \(names)")
      }
      fields = pattern.split(separator: " ").map(String.init)
    }
    guard fields.count == 5 else {
      throw Problem(
        message: "expected 5 fields, not \(fields.count)",
        hint: "write minute, hour, day of the month, month and day of the week, for example "
          + "\"*/5 9-17 * * mon-fri\"")
    }
    minutes = try CronPattern.set(fields[0], 0...59, "minute")
    hours = try CronPattern.set(fields[1], 0...23, "hour")
    days = try CronPattern.set(fields[2], 1...31, "day of the month")
    months = try CronPattern.set(fields[3], 1...12, "month", names: CronPattern.monthNames)
    weekdays = try CronPattern.set(fields[4], 0...7, "day of the week", names: CronPattern.dayNames)
    if weekdays & 1 << 7 != 0 { weekdays |= 1 }
    restrictsDays = !fields[2].hasPrefix("*")
    restrictsWeekdays = !fields[4].hasPrefix("*")
    // The search begins in 2000, a leap year, which has all possible days.
    var budget = Int.max
    guard next(after: 946_684_800, in: .utc, spending: &budget) != nil else {
      throw Problem(
        message: "\"\(text.prefix(64))\" never fits: no month has such a day",
        hint: "name a day that the month has")
    }
  }

  private static let shorthands = [
    "@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0", "@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
  ]
  private static let monthNames = [
    "jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6, "jul": 7, "aug": 8, "sep": 9,
    "oct": 10, "nov": 11, "dec": 12,
  ]
  private static let dayNames = [
    "sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6,
  ]

  /// The numbers of a field, as bits.
  private static func set(
    _ field: String, _ range: ClosedRange<Int>, _ name: String, names: [String: Int] = [:]
  ) throws(Problem) -> UInt64 {
    func number(_ text: Substring) throws(Problem) -> Int {
      if let known = names[text.lowercased()] { return known }
      guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
        let number = Int(text), range.contains(number)
      else {
        throw Problem(
          message: "\"\(text.prefix(16))\" is not \(name.withArticle)",
          hint: advice(for: text.lowercased(), range, names))
      }
      return number
    }
    var bits: UInt64 = 0
    for part in field.split(separator: ",", omittingEmptySubsequences: false) {
      let pieces = part.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
      var step = 1
      if pieces.count == 2 {
        guard let value = Int(pieces[1]), value > 0, value <= range.upperBound else {
          throw Problem(
            message: "\"\(pieces[1].prefix(16))\" is not a step of the \(name)",
            hint: "use 1 to \(range.upperBound)")
        }
        step = value
      }
      var (low, high) = (range.lowerBound, range.upperBound)
      if pieces[0] != "*" {
        let ends = pieces[0].split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        low = try number(ends[0])
        high = ends.count == 2 ? try number(ends[1]) : pieces.count == 2 ? range.upperBound : low
        guard low <= high else {
          throw Problem(
            message: "\"\(pieces[0].prefix(16))\" begins after its end",
            hint: "write the smaller number first")
        }
      } else if range.upperBound == 7 {
        high = 6
      }
      for value in stride(from: low, through: high, by: step) { bits |= 1 << UInt64(value) }
    }
    return bits
  }

  /// The replacement for a word.
  private static func advice(
    for word: String, _ range: ClosedRange<Int>, _ names: [String: Int]
  ) -> String {
    let numbers = "use \(range.lowerBound) to \(range.upperBound)"
    guard !names.isEmpty else { return numbers }
    let start = String(word.prefix(3))
    // monday, sept
    if word.count > 3, names[start] != nil { return "write \(start)" }
    if let near = word.closest(among: names.keys.sorted()) { return "did you mean \(near)?" }
    let known = names.sorted { $0.value < $1.value }.map(\.key)
    return "\(numbers), or \(known.first ?? "") to \(known.last ?? "")"
  }

  // MARK: - Searching

  /// The number of seconds that a search covers. The margin is for the start of the first year.
  private static let secondsMax = (yearsMax * 366 + 200) * 86_400

  /// The cost of one look at a zone, in steps. A look at a month costs one step.
  static let costOfZone = 2

  /// The first matching second after another one, in seconds since 1970. Takes the cost from a
  /// budget. The result is right even if the budget is spent.
  ///
  /// Between two changes of the clocks, local times are in the order of the calendar.
  func next(after start: Int, in zone: TimeZoneRules, spending budget: inout Int) -> Int? {
    let last = start + CronPattern.secondsMax
    var from = start + 1
    while from <= last {
      budget -= CronPattern.costOfZone
      let span = zone.span(at: from)
      let end = min(span.end, last + 1)
      if let local = first(
        from: from + span.offset, before: end + span.offset, spending: &budget)
      {
        return local - span.offset
      }
      from = end
    }
    return nil
  }

  /// The last matching second that is not after another one; see `next`.
  func last(notAfter end: Int, in zone: TimeZoneRules, spending budget: inout Int) -> Int? {
    let first = end - CronPattern.secondsMax
    var upTo = end
    while upTo >= first {
      budget -= CronPattern.costOfZone
      let span = zone.span(at: upTo)
      let start = max(span.start, first)
      if let local = last(
        notAfter: upTo + span.offset, from: start + span.offset, spending: &budget)
      {
        return local - span.offset
      }
      upTo = start - 1
    }
    return nil
  }

  /// The first matching local time in a range.
  private func first(from start: Int, before end: Int, spending budget: inout Int) -> Int? {
    let start = start.roundedUp(to: 60)
    guard start < end else { return nil }
    let today = start.roundedDown(to: 86_400)
    var date = CivilTime(days: today / 86_400)
    if matchingDays(of: date, &budget) & 1 << UInt64(date.day) != 0,
      let second = timeOfDay(atOrAfter: start - today)
    {
      return today + second < end ? today + second : nil
    }
    guard let second = timeOfDay(atOrAfter: 0) else { return nil }
    // From the next day on. In the last month, the number can be one too high.
    date.day += 1
    while date.start < end {
      if let day = matchingDays(of: date, &budget).firstBit(from: date.day) {
        date.day = day
        return date.start + second < end ? date.start + second : nil
      }
      guard let month = months.firstBit(from: date.month + 1) ?? months.firstBit(from: 1) else {
        return nil
      }
      date = CivilTime(year: date.year + (month > date.month ? 0 : 1), month: month)
    }
    return nil
  }

  /// The last matching local time in a range.
  private func last(notAfter end: Int, from start: Int, spending budget: inout Int) -> Int? {
    guard start <= end else { return nil }
    let today = end.roundedDown(to: 86_400)
    var date = CivilTime(days: today / 86_400)
    if matchingDays(of: date, &budget) & 1 << UInt64(date.day) != 0,
      let second = timeOfDay(notAfter: end - today)
    {
      return today + second >= start ? today + second : nil
    }
    guard let second = timeOfDay(notAfter: 86_399) else { return nil }
    date.day -= 1
    // The month is looked at as long as its days can be in the range.
    while date.start + 86_400 > start {
      if let day = matchingDays(of: date, &budget).lastBit(upTo: date.day) {
        date.day = day
        return date.start + second >= start ? date.start + second : nil
      }
      guard let month = months.lastBit(upTo: date.month - 1) ?? months.lastBit(upTo: 12) else {
        return nil
      }
      date = CivilTime(
        year: date.year - (month < date.month ? 0 : 1), month: month, day: 31)
    }
    return nil
  }

  /// The matching days of a date's month, as bits. This look costs one step.
  private func matchingDays(of date: CivilTime, _ budget: inout Int) -> UInt64 {
    budget -= 1
    guard months & 1 << UInt64(date.month) != 0 else { return 0 }
    // The weekdays, beginning with the first of the month, five times.
    let first = UInt64(CivilTime(year: date.year, month: date.month).weekday)
    let week = (weekdays & 0x7F) >> first | (weekdays << (7 - first)) & 0x7F
    let fitting = week &* 0x1020_4081 << 1
    let all = UInt64(2) << UInt64(CivilTime.daysIn(month: date.month, year: date.year)) - 2
    return (restrictsDays && restrictsWeekdays ? days | fitting : days & fitting) & all
  }

  /// The first matching time of a day, in seconds, rounded to minutes.
  private func timeOfDay(atOrAfter second: Int) -> Int? {
    let (hour, minute) = (second / 3_600, second / 60 % 60)
    if hours & 1 << UInt64(hour) != 0, let minute = minutes.firstBit(from: minute) {
      return hour * 3_600 + minute * 60
    }
    guard let next = hours.firstBit(from: hour + 1), let minute = minutes.firstBit(from: 0) else {
      return nil
    }
    return next * 3_600 + minute * 60
  }

  private func timeOfDay(notAfter second: Int) -> Int? {
    let (hour, minute) = (second / 3_600, second / 60 % 60)
    if hours & 1 << UInt64(hour) != 0, let minute = minutes.lastBit(upTo: minute) {
      return hour * 3_600 + minute * 60
    }
    guard let former = hours.lastBit(upTo: hour - 1), let minute = minutes.lastBit(upTo: 59)
    else { return nil }
    return former * 3_600 + minute * 60
  }
}

extension UInt64 {
  /// The lowest bit that is set, at a place or above it.
  fileprivate func firstBit(from place: Int) -> Int? {
    guard place < 64 else { return nil }
    let rest = self >> UInt64(place)
    return rest == 0 ? nil : place + rest.trailingZeroBitCount
  }

  /// The highest bit that is set, at a place or below it.
  fileprivate func lastBit(upTo place: Int) -> Int? {
    guard place >= 0 else { return nil }
    let rest = self << UInt64(63 - place)
    return rest == 0 ? nil : place - rest.leadingZeroBitCount
  }
}

extension CivilTime {
  /// The start of the day in UTC, in seconds since 1970.
  fileprivate var start: Int { CivilTime.days(year: year, month: month, day: day) * 86_400 }
}
