/// A time as a calendar and a clock show it: the proleptic Gregorian calendar, without leap seconds.
package struct CivilTime: Equatable {
  package var year: Int
  /// 1 to 12.
  package var month: Int
  /// 1 to 31.
  package var day: Int
  package var hour: Int
  package var minute: Int
  package var second: Int
  package var nanosecond: Int

  package init(
    year: Int, month: Int = 1, day: Int = 1, hour: Int = 0, minute: Int = 0, second: Int = 0,
    nanosecond: Int = 0
  ) {
    (self.year, self.month, self.day) = (year, month, day)
    (self.hour, self.minute, self.second, self.nanosecond) = (hour, minute, second, nanosecond)
  }

  /// The start of a day, from its number of days since 1970. The year may be outside of 1 to 9999.
  package init(days: Int) {
    let (year, month, day) = Self.date(days: days)
    self.init(year: year, month: month, day: day)
  }

  /// The civil time at an offset in seconds east of UTC.
  package init(_ timestamp: Timestamp, offset: Int) {
    let total = Int(timestamp.seconds) + offset
    let days = Self.floorDivide(total, 86_400)
    let rest = total - days * 86_400
    (year, month, day) = Self.date(days: days)
    (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60)
    nanosecond = Int(timestamp.nanoseconds)
  }

  /// Seconds since 1970, taking the fields as UTC.
  package var seconds: Int {
    Self.days(year: year, month: month, day: day) * 86_400 + hour * 3_600 + minute * 60 + second
  }

  /// 0 for a Sunday.
  package var weekday: Int {
    let days = Self.days(year: year, month: month, day: day)
    return ((days + 4) % 7 + 7) % 7
  }

  /// 0 for the first of January.
  package var dayOfYear: Int {
    Self.days(year: year, month: month, day: day) - Self.days(year: year, month: 1, day: 1)
  }

  package var isValid: Bool {
    (1...12).contains(month) && day >= 1 && day <= Self.daysIn(month: month, year: year)
      && (0..<24).contains(hour) && (0..<60).contains(minute) && (0..<60).contains(second)
  }

  package static func daysIn(month: Int, year: Int) -> Int {
    switch month {
    case 2: isLeap(year) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  package static func isLeap(_ year: Int) -> Bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
  }

  /// Days since 1970-01-01. Counted in years that begin in March, so that the leap day is the last.
  package static func days(year: Int, month: Int, day: Int) -> Int {
    let shifted = month <= 2 ? year - 1 : year
    let era = floorDivide(shifted, 400)
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
  }

  private static func date(days: Int) -> (Int, Int, Int) {
    let shifted = days + 719_468
    let era = floorDivide(shifted, 146_097)
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let marchMonth = (5 * dayOfYear + 2) / 153
    let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    return (year, month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
  }

  private static func floorDivide(_ a: Int, _ b: Int) -> Int { (a >= 0 ? a : a - b + 1) / b }
}
