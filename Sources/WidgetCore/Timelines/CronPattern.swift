import WidgetExpression
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
struct CronPattern: Hashable, Sendable {
  private var minutes: UInt64
  private var hours: UInt64
  private var days: UInt64
  private var months: UInt64
  private var weekdays: UInt64
  private var restrictsDays: Bool
  private var restrictsWeekdays: Bool

  /// The number of years, ahead and back, that a search covers.
  static let yearsMax = 12

  /// The problem of a pattern's text.
  struct Problem: Error, Hashable {
    let message: String
  }

  /// The limit is above the length of a pattern that lists all minutes, hours, days, months and
  /// weekdays.
  private static let bytesMax = 1_000

  init(_ text: String) throws(Problem) {
    guard text.utf8.count <= CronPattern.bytesMax else {
      throw Problem(message: "use at most \(CronPattern.bytesMax) bytes")
    }
    var fields = text.split(whereSeparator: { $0 == " " || $0 == "\t" }).map(String.init)
    if let only = fields.first, fields.count == 1, only.hasPrefix("@") {
      guard let pattern = CronPattern.shorthands[only.lowercased()] else {
        let names = CronPattern.shorthands.keys.sorted().joined(separator: ", ")
        throw Problem(message: "\"\(only.prefix(32))\" is not known; use one of \(names)")
      }
      fields = pattern.split(separator: " ").map(String.init)
    }
    guard fields.count == 5 else {
      throw Problem(
        message:
          "expected 5 fields, not \(fields.count): minute, hour, day of the month, month, day "
          + "of the week, for example \"*/5 9-17 * * mon-fri\"")
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
    guard next(after: 946_684_800, in: .utc) != nil else {
      throw Problem(message: "\"\(text.prefix(64))\" never fits: no month has such a day")
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
          message: "\"\(text.prefix(16))\" is not \(name.withArticle); "
            + advice(for: text.lowercased(), range, names))
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
            message: "\"\(pieces[1].prefix(16))\" is not a step of the \(name); use 1 to "
              + "\(range.upperBound)")
        }
        step = value
      }
      var (low, high) = (range.lowerBound, range.upperBound)
      if pieces[0] != "*" {
        let ends = pieces[0].split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        low = try number(ends[0])
        high = ends.count == 2 ? try number(ends[1]) : pieces.count == 2 ? range.upperBound : low
        guard low <= high else {
          throw Problem(message: "\"\(pieces[0].prefix(16))\" begins after its end")
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

  /// The largest unit of a time that does not match the pattern.
  private enum Fit { case fits, wrongMinute, wrongHour, wrongDay }

  private func fit(_ local: Int) -> Fit {
    let day = local.roundedDown(to: 86_400)
    let civil = CivilTime(secondsSinceEpoch: day)
    let fitsDay = days & 1 << UInt64(civil.day) != 0
    let fitsWeekday = weekdays & 1 << UInt64(civil.weekday) != 0
    let isDay =
      restrictsDays && restrictsWeekdays ? fitsDay || fitsWeekday : fitsDay && fitsWeekday
    guard isDay, months & 1 << UInt64(civil.month) != 0 else { return .wrongDay }
    guard hours & 1 << UInt64((local - day) / 3_600) != 0 else { return .wrongHour }
    return minutes & 1 << UInt64((local - day) / 60 % 60) != 0 ? .fits : .wrongMinute
  }

  private static let stepsMax = yearsMax * 366 + 200

  /// The first matching second after another one, in seconds since 1970.
  func next(after start: Int, in zone: TimeZoneRules) -> Int? {
    var time = start.roundedDown(to: 60) + 60
    for _ in 0..<CronPattern.stepsMax {
      let east = zone.offset(at: time)
      let unit: Int
      switch fit(time + east) {
      case .fits: return time
      case .wrongMinute: unit = 60
      case .wrongHour: unit = 3_600
      case .wrongDay: unit = 86_400
      }
      var target = (time + east).roundedDown(to: unit) + unit - east
      // If the clocks went forward meanwhile, go back to the beginning of the unit.
      target -= max(0, zone.offset(at: target) - east)
      time = max(time + 60, target)
    }
    return nil
  }

  /// The last matching second that is not after another one.
  func last(notAfter end: Int, in zone: TimeZoneRules) -> Int? {
    var time = end.roundedDown(to: 60)
    for _ in 0..<CronPattern.stepsMax {
      let east = zone.offset(at: time)
      let unit: Int
      switch fit(time + east) {
      case .fits: return time
      case .wrongMinute: unit = 60
      case .wrongHour: unit = 3_600
      case .wrongDay: unit = 86_400
      }
      var target = (time + east).roundedDown(to: unit) - east - 60
      target += max(0, east - zone.offset(at: target))
      time = min(time - 60, target)
    }
    return nil
  }
}

extension CivilTime {
  /// Seconds since 1970 in UTC.
  fileprivate init(secondsSinceEpoch seconds: Int) {
    self.init(
      Timestamp(seconds: Int64(seconds), nanoseconds: 0) ?? (seconds < 0 ? .earliest : .latest),
      offset: 0)
  }
}
