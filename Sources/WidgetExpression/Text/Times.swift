import WidgetModel

/// Timestamps and durations: their ranges, and the text they are read from and written as.
enum Times {
  /// The duration, if it fits in 2^63 nanoseconds.
  static func checked(_ duration: Duration) throws(ExpressionFailure) -> Duration {
    guard nanoseconds(duration) != nil else {
      throw ExpressionFailure(.outOfRange, "the duration is beyond 292 years")
    }
    return duration
  }

  /// Nanoseconds, if they fit.
  static func nanoseconds(_ duration: Duration) -> Int64? {
    let (seconds, attoseconds) = duration.components
    let (product, overflows) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, carries) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
    return overflows || carries ? nil : sum
  }

  static func add(_ time: Timestamp, _ duration: Duration) throws(ExpressionFailure) -> Timestamp {
    let sum = time.advanced(by: duration)
    // The model clamps; the language has an error.
    guard sum.duration(since: time) == duration else { throw timestampRange }
    return sum
  }

  static let timestampRange = ExpressionFailure(
    .outOfRange, "the timestamp is outside the years 1 to 9999")

  // MARK: Timestamps as text

  /// Reads RFC 3339: `2026-11-21T14:30:00Z`, with up to 9 digits of a fraction and any offset.
  static func timestamp(_ text: String) throws(ExpressionFailure) -> Timestamp {
    var reader = DigitReader(text)
    guard let year = reader.number(4), reader.skip("-"), let month = reader.number(2),
      reader.skip("-"), let day = reader.number(2), reader.skip("T") || reader.skip("t"),
      let hour = reader.number(2), reader.skip(":"), let minute = reader.number(2),
      reader.skip(":"), let second = reader.number(2)
    else {
      if text.utf8.first.map(isDigit) == true, text.utf8.prefix(while: isDigit).count > 4 {
        throw timestampRange
      }
      throw notATimestamp(text)
    }
    var nanosecond = 0
    if reader.skip(".") {
      guard let fraction = reader.fraction() else { throw notATimestamp(text) }
      nanosecond = fraction
    }
    var offset = 0
    if !reader.skip("Z"), !reader.skip("z") {
      let isEast = reader.skip("+")
      guard isEast || reader.skip("-"), let hours = reader.number(2), reader.skip(":"),
        let minutes = reader.number(2), hours < 24, minutes < 60
      else { throw notATimestamp(text) }
      offset = (hours * 60 + minutes) * (isEast ? 60 : -60)
    }
    let civil = CivilTime(
      year: year, month: month, day: day, hour: hour, minute: minute, second: second)
    guard reader.isAtEnd, civil.isValid else { throw notATimestamp(text) }
    return try timestamp(seconds: Int64(civil.seconds - offset), nanoseconds: nanosecond)
  }

  static func timestamp(
    seconds: Int64, nanoseconds: Int = 0
  ) throws(ExpressionFailure) -> Timestamp {
    guard let result = Timestamp(seconds: seconds, nanoseconds: Int32(nanoseconds)) else {
      throw timestampRange
    }
    return result
  }

  private static func notATimestamp(_ text: String) -> ExpressionFailure {
    ExpressionFailure(
      .invalidArgument,
      "\(SyntaxPrinter.quoted(String(text.prefix(60)))) is not a timestamp; "
        + "write it like 2026-11-21T14:30:00Z")
  }

  /// RFC 3339 in UTC, with as many digits of a fraction as needed.
  static func text(_ timestamp: Timestamp) -> String {
    let civil = CivilTime(timestamp, offset: 0)
    return "\(padded(civil.year, 4))-\(padded(civil.month))-\(padded(civil.day))"
      + "T\(padded(civil.hour)):\(padded(civil.minute)):\(padded(civil.second))"
      + fraction(civil.nanosecond) + "Z"
  }

  static func padded(_ number: some BinaryInteger, _ width: Int = 2) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
  }

  private static func fraction(_ nanosecond: Int) -> String {
    guard nanosecond != 0 else { return "" }
    var digits = Substring(padded(nanosecond, 9))
    while digits.utf8.last == UInt8(ascii: "0") { digits.removeLast() }
    return ".\(digits)"
  }

  // MARK: Durations as text

  private static let units: [(name: String, nanoseconds: Int)] = [
    ("ns", 1), ("us", 1_000), ("µs", 1_000), ("μs", 1_000), ("ms", 1_000_000),
    ("s", 1_000_000_000), ("m", 60_000_000_000), ("h", 3_600_000_000_000),
  ]

  /// Reads `1h30m`, `-1.5s`, `0`: numbers with the units h, m, s, ms, us, ns.
  static func duration(_ text: String) throws(ExpressionFailure) -> Duration {
    let failure = ExpressionFailure(
      .invalidArgument,
      "\(SyntaxPrinter.quoted(String(text.prefix(60)))) is not a duration; write it like 1h30m or 1.5s"
    )
    var rest = Array(text.utf8)[...]
    let isNegative = rest.first == UInt8(ascii: "-")
    if isNegative || rest.first == UInt8(ascii: "+") { rest.removeFirst() }
    if rest.elementsEqual("0".utf8) { return .zero }
    guard !rest.isEmpty else { throw failure }
    var total: Int128 = 0
    while !rest.isEmpty {
      let whole = rest.prefix(while: isDigit)
      rest = rest.dropFirst(whole.count)
      var fraction: ArraySlice<UInt8> = []
      if rest.first == UInt8(ascii: ".") {
        rest.removeFirst()
        fraction = rest.prefix(while: isDigit)
        rest = rest.dropFirst(fraction.count)
      }
      let name = rest.prefix { !isDigit($0) && $0 != UInt8(ascii: ".") }
      guard !whole.isEmpty || !fraction.isEmpty,
        let unit = units.first(where: { name.elementsEqual($0.name.utf8) })
      else { throw failure }
      rest = rest.dropFirst(name.count)
      var value: Int128 = 0
      for digit in whole {
        value = value * 10 + Int128(digit - UInt8(ascii: "0"))
        if value > 1 << 64 {
          throw ExpressionFailure(.outOfRange, "the duration is beyond 292 years")
        }
      }
      total += value * Int128(unit.nanoseconds)
      // Exact: at most 15 digits of at most an hour's nanoseconds. Parts of a nanosecond are
      // dropped.
      var (numerator, denominator): (Int128, Int128) = (0, 1)
      for digit in fraction.prefix(15) {
        numerator = numerator * 10 + Int128(digit - UInt8(ascii: "0"))
        denominator *= 10
      }
      total += numerator * Int128(unit.nanoseconds) / denominator
      if total > 1 << 64 {
        throw ExpressionFailure(.outOfRange, "the duration is beyond 292 years")
      }
    }
    if isNegative { total = -total }
    guard let nanoseconds = Int64(exactly: total) else {
      throw ExpressionFailure(.outOfRange, "the duration is beyond 292 years")
    }
    return .nanoseconds(nanoseconds)
  }

  /// Seconds with as many digits of a fraction as needed: `5400s`, `-1.5s`.
  static func text(_ duration: Duration) -> String {
    let (seconds, attoseconds) = duration.components
    let nanosecond = Int(abs(attoseconds) / 1_000_000_000)
    let sign = seconds < 0 || attoseconds < 0 ? "-" : ""
    return "\(sign)\(seconds.magnitude)\(fraction(nanosecond))s"
  }
}

/// Reads digits and marks from ASCII text.
struct DigitReader {
  private let bytes: [UInt8]
  private(set) var offset = 0

  init(_ text: String) { bytes = Array(text.utf8) }

  var isAtEnd: Bool { offset == bytes.count }
  var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

  mutating func skip(_ mark: Character) -> Bool {
    guard let byte = next, byte == mark.asciiValue else { return false }
    offset += 1
    return true
  }

  /// A number of at most so many digits, and of exactly so many unless `isShort` is allowed.
  mutating func number(_ width: Int, isShort: Bool = false) -> Int? {
    let start = offset
    var value = 0
    while offset - start < width, let byte = next, isDigit(byte) {
      value = value * 10 + Int(byte - UInt8(ascii: "0"))
      offset += 1
    }
    guard offset - start == width || (isShort && offset > start) else { return nil }
    return value
  }

  /// One to nine digits as nanoseconds; more digits are read and dropped.
  mutating func fraction() -> Int? {
    guard isDigit(next) else { return nil }
    var (value, scale) = (0, 100_000_000)
    while let byte = next, isDigit(byte) {
      value += Int(byte - UInt8(ascii: "0")) * scale
      scale /= 10
      offset += 1
    }
    return value
  }

  /// The rest, without reading it.
  var rest: ArraySlice<UInt8> { bytes[offset...] }

  mutating func skip(_ count: Int) { offset = min(bytes.count, offset + count) }
}
