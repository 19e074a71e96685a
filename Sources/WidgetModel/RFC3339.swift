/// Points in time as text: `2026-01-02T03:04:05.678Z`, always in UTC when written.
package enum RFC3339 {
  /// With 0, 3, 6 or 9 digits of the second's fraction, as many as needed.
  package static func text(_ time: Timestamp) -> String {
    let days = time.seconds.flooredDivision(by: 86_400)
    let second = Int(time.seconds - days * 86_400)
    let (year, month, day) = date(days)
    var text = "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))T"
    text += "\(padded(second / 3600, 2)):\(padded(second / 60 % 60, 2)):\(padded(second % 60, 2))"
    text += fraction(Int(time.nanoseconds))
    return text + "Z"
  }

  /// A fraction of a second, with its point: "", ".5" becomes ".500".
  private static func fraction(_ nanoseconds: Int) -> String {
    if nanoseconds == 0 { return "" }
    if nanoseconds % 1_000_000 == 0 { return "." + padded(nanoseconds / 1_000_000, 3) }
    if nanoseconds % 1000 == 0 { return "." + padded(nanoseconds / 1000, 6) }
    return "." + padded(nanoseconds, 9)
  }

  private static func padded(_ number: Int, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }

  /// Reads `YYYY-MM-DDTHH:MM:SS[.fraction](Z|±HH:MM)`; nil for other text, or outside the years 1
  /// to 9999.
  package static func timestamp(_ text: String) -> Timestamp? {
    var rest = text.utf8[...]
    func number(_ count: Int) -> Int? {
      let digits = rest.prefix(count)
      guard digits.count == count, digits.allSatisfy(\.isDigit) else { return nil }
      rest = rest.dropFirst(count)
      return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }
    func take(_ bytes: UInt8...) -> UInt8? {
      guard let first = rest.first, bytes.contains(first) else { return nil }
      rest = rest.dropFirst()
      return first
    }
    let dash = UInt8(ascii: "-")
    let colon = UInt8(ascii: ":")
    guard let year = number(4), take(dash) != nil, let month = number(2), take(dash) != nil,
      let day = number(2), take(UInt8(ascii: "T"), UInt8(ascii: "t")) != nil,
      let hour = number(2), take(colon) != nil, let minute = number(2), take(colon) != nil,
      let second = number(2), (1...12).contains(month), hour < 24, minute < 60, second < 60,
      day >= 1, day <= length(of: month, year)
    else { return nil }
    var nanoseconds = 0
    if take(UInt8(ascii: ".")) != nil {
      let digits = rest.prefix(while: \.isDigit)
      guard (1...9).contains(digits.count), let value = number(digits.count) else { return nil }
      nanoseconds = (digits.count..<9).reduce(value) { scaled, _ in scaled * 10 }
    }
    var offset = 0
    switch take(UInt8(ascii: "Z"), UInt8(ascii: "z"), UInt8(ascii: "+"), dash) {
    case nil: return nil
    case UInt8(ascii: "Z"), UInt8(ascii: "z"): break
    case let sign:
      guard let hours = number(2), take(colon) != nil, let minutes = number(2), hours < 24,
        minutes < 60
      else { return nil }
      offset = (hours * 60 + minutes) * (sign == dash ? -60 : 60)
    }
    guard rest.isEmpty else { return nil }
    let seconds = days(year, month, day) * 86_400 + Int64(hour * 3600 + minute * 60 + second)
    return Timestamp(seconds: seconds - Int64(offset), nanoseconds: Int32(nanoseconds))
  }

  private static func isLeap(_ year: Int) -> Bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
  }

  private static func length(of month: Int, _ year: Int) -> Int {
    switch month {
    case 2: isLeap(year) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  // The proleptic Gregorian calendar repeats every 400 years (146,097 days). Years are counted from
  // March, so that the leap day is the last day of its year.

  private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int64 {
    let year = month <= 2 ? year - 1 : year
    let era = Int64(year).flooredDivision(by: 400)
    let yearOfEra = Int64(year) - era * 400
    let monthFromMarch = Int64((month + 9) % 12)
    let dayOfYear = (153 * monthFromMarch + 2) / 5 + Int64(day) - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  private static func date(_ days: Int64) -> (year: Int, month: Int, day: Int) {
    let shifted = days + 719_468
    let era = shifted.flooredDivision(by: 146_097)
    let dayOfEra = shifted - era * 146_097
    let yearOfEra =
      (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let month = Int(monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9)
    let year = Int(yearOfEra + era * 400) + (month <= 2 ? 1 : 0)
    return (year, month, Int(dayOfYear - (153 * monthFromMarch + 2) / 5 + 1))
  }
}

extension UInt8 {
  package var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
}

extension Int64 {
  fileprivate func flooredDivision(by divisor: Int64) -> Int64 {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? quotient - 1 : quotient
  }
}
