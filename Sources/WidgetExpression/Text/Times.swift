import WidgetModel

/// Timestamps and durations: their ranges and their text.
enum Times {
  /// The duration, if it fits in 2^63 nanoseconds.
  static func checked(_ duration: Duration) throws(ExpressionFailure) -> Duration {
    guard duration.checkedNanoseconds != nil else {
      throw ExpressionFailure(.outOfRange, "the duration is beyond 292 years")
    }
    return duration
  }

  static func add(_ time: Timestamp, _ duration: Duration) throws(ExpressionFailure) -> Timestamp {
    let sum = time.advanced(by: duration)
    // The model clamps such a value, but the language has an error.
    guard sum.duration(since: time) == duration else { throw timestampRange }
    return sum
  }

  static let timestampRange = ExpressionFailure(
    .outOfRange, "the timestamp is outside the years 1 to 9999")

  // MARK: Timestamps as text

  /// Reads RFC 3339: `2026-11-21T14:30:00Z`, with any offset and any number of digits of a fraction.
  static func timestamp(_ text: String) throws(ExpressionFailure) -> Timestamp {
    do throws(RFC3339.Failure) {
      return try RFC3339.read(text, dropsDigits: true)
    } catch {
      switch error {
      case .range: throw timestampRange
      case .syntax: throw notATimestamp(text)
      }
    }
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
      "\(SyntaxPrinter.quotedStart(of: text)) is not a timestamp; "
        + "write it like 2026-11-21T14:30:00Z")
  }

  /// RFC 3339 in UTC, with as many digits of a fraction as needed.
  static func text(_ timestamp: Timestamp) -> String {
    RFC3339.text(timestamp, fraction: .shortest)
  }

  static func padded(_ number: some BinaryInteger, _ width: Int = 2) -> String {
    RFC3339.padded(number, width)
  }

  // MARK: Durations as text

  private static let units: [(name: String, nanoseconds: Int)] = [
    ("ns", 1), ("us", 1_000), ("µs", 1_000), ("μs", 1_000), ("ms", 1_000_000),
    ("s", 1_000_000_000), ("m", 60_000_000_000), ("h", 3_600_000_000_000),
  ]

  /// Reads `1h30m`, `-1.5s`, `0`: numbers with the units h, m, s, ms, us, ns.
  static func duration(_ text: String) throws(ExpressionFailure) -> Duration {
    var rest = Array(text.utf8)[...]
    let isNegative = rest.first == UInt8(ascii: "-")
    if isNegative || rest.first == UInt8(ascii: "+") { rest.removeFirst() }
    if rest.elementsEqual("0".utf8) { return .zero }
    guard !rest.isEmpty else { throw notADuration(text) }
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
      else { throw notADuration(text) }
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

  private static func notADuration(_ text: String) -> ExpressionFailure {
    ExpressionFailure(
      .invalidArgument,
      "\(SyntaxPrinter.quotedStart(of: text)) is not a duration; write it like 1h30m or 1.5s")
  }

  /// Seconds with as many digits of a fraction as needed: `5400s`, `-1.5s`.
  static func text(_ duration: Duration) -> String {
    let (seconds, attoseconds) = duration.components
    let nanosecond = Int(abs(attoseconds) / 1_000_000_000)
    let sign = seconds < 0 || attoseconds < 0 ? "-" : ""
    return "\(sign)\(seconds.magnitude)\(RFC3339.fraction(nanosecond, .shortest))s"
  }
}
