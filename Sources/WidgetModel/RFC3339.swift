/// Points in time as text: `2026-01-02T03:04:05.678Z`, always in UTC when written.
package enum RFC3339 {
  /// The number of digits of a second's fraction.
  package enum Fraction {
    /// 0, 3, 6 or 9 digits, as in the JSON of protobuf.
    case thousands
    /// As few digits as possible, as in CEL.
    case shortest
  }

  /// The reason why a text is no time.
  package enum Failure: Error {
    /// The text has another form, or a date that no calendar has.
    case syntax
    /// The time is outside the years 1 to 9999.
    case range
  }

  package static func text(_ time: Timestamp, fraction digits: Fraction = .thousands) -> String {
    let civil = CivilTime(time, offset: 0)
    return "\(padded(civil.year, 4))-\(padded(civil.month))-\(padded(civil.day))"
      + "T\(padded(civil.hour)):\(padded(civil.minute)):\(padded(civil.second))"
      + fraction(civil.nanosecond, digits) + "Z"
  }

  /// A fraction of a second, with its point: "" or ".5".
  package static func fraction(_ nanosecond: Int, _ digits: Fraction) -> String {
    guard nanosecond != 0 else { return "" }
    switch digits {
    case .thousands:
      if nanosecond % 1_000_000 == 0 { return "." + padded(nanosecond / 1_000_000, 3) }
      if nanosecond % 1000 == 0 { return "." + padded(nanosecond / 1000, 6) }
      return "." + padded(nanosecond, 9)
    case .shortest:
      var text = Substring(padded(nanosecond, 9))
      while text.utf8.last == UInt8(ascii: "0") { text.removeLast() }
      return ".\(text)"
    }
  }

  /// The number with zeros in front, up to a width.
  package static func padded(_ number: some BinaryInteger, _ width: Int = 2) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
  }

  /// Reads `YYYY-MM-DDTHH:MM:SS[.fraction](Z|±HH:MM)`; nil for other text, or outside the years 1
  /// to 9999.
  package static func timestamp(_ text: String) -> Timestamp? { try? read(text) }

  /// Reads the same form.
  ///
  /// - Parameter dropsDigits: Whether a fraction may have more than nine digits, which are dropped.
  package static func read(
    _ text: String, dropsDigits: Bool = false
  ) throws(Failure) -> Timestamp {
    var reader = DigitReader(text)
    guard let year = reader.number(4), reader.skip("-"), let month = reader.number(2),
      reader.skip("-"), let day = reader.number(2), reader.skip("T") || reader.skip("t"),
      let hour = reader.number(2), reader.skip(":"), let minute = reader.number(2),
      reader.skip(":"), let second = reader.number(2)
    else { throw text.utf8.prefix(while: \.isDigit).count > 4 ? .range : .syntax }
    var nanosecond = 0
    if reader.skip(".") {
      let start = reader.offset
      guard let fraction = reader.fraction(), dropsDigits || reader.offset - start <= 9
      else { throw .syntax }
      nanosecond = fraction
    }
    var offset = 0
    if !reader.skip("Z"), !reader.skip("z") {
      let isEast = reader.skip("+")
      guard isEast || reader.skip("-"), let hours = reader.number(2), reader.skip(":"),
        let minutes = reader.number(2), hours < 24, minutes < 60
      else { throw .syntax }
      offset = (hours * 60 + minutes) * (isEast ? 60 : -60)
    }
    let civil = CivilTime(
      year: year, month: month, day: day, hour: hour, minute: minute, second: second)
    guard reader.isAtEnd, civil.isValid else { throw .syntax }
    guard
      let time = Timestamp(
        seconds: Int64(civil.seconds - offset), nanoseconds: Int32(nanosecond))
    else { throw .range }
    return time
  }
}
