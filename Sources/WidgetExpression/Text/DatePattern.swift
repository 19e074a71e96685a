public import WidgetModel

extension NodeProperty {
  /// The reason why a value of a date's `format` fails for every time. Nil for other properties,
  /// and if the value can succeed.
  public func patternProblem(_ value: Value) -> String? {
    guard name == "format", case .string(let pattern) = value else { return nil }
    return DatePattern.problem(pattern, isRead: false)
  }

  /// The reason why a value of a date's `zone` is no time zone. Nil for other properties.
  public func zoneProblem(
    _ value: Value, in timeZones: (@Sendable (String) -> TimeZoneRules?)?
  ) -> PropertyMismatch? {
    guard name == "zone", case .string(let zone) = value,
      !TimeZoneRules.mayBeName(zone, in: timeZones)
    else { return nil }
    return PropertyMismatch(
      message: "there is no time zone \(SyntaxPrinter.quotedStart(of: zone, scalarsMax: 64))",
      hint: "write it like Europe/Berlin or +02:00")
  }
}

/// Dates by a pattern in the manner of `strftime`, or by a style such as `long`.
enum DatePattern {
  /// For messages.
  private static let known =
    "%Y %y %m %d %e %H %I %M %S %L %f %p %A %a %B %b %j %u %V %F %T %R %z %Z %s %%"

  // MARK: Writing

  static func format(
    _ time: Timestamp, _ pattern: String, _ rules: TimeZoneRules,
    _ locale: DateLocale = .english
  ) throws(ExpressionFailure) -> String {
    let period = rules.period(at: time)
    let civil = CivilTime(time, offset: period.offsetSeconds)
    var result = ""
    var scalars = (locale.pattern(ofStyle: pattern) ?? pattern).unicodeScalars[...]
    while let scalar = scalars.popFirst() {
      guard scalar == "%" else {
        result.unicodeScalars.append(scalar)
        continue
      }
      guard var letter = scalars.popFirst() else { throw failure("the pattern ends after a %") }
      let isBare = letter == "-"
      if isBare {
        guard let next = scalars.popFirst() else { throw failure("the pattern ends after a %-") }
        letter = next
      }
      guard let text = field(letter, civil, time, period, locale) else {
        throw failure("'%\(letter)' is unknown; there are \(known)")
      }
      result += isBare ? bare(text) : text
    }
    return result
  }

  /// The reason why a pattern fails for every time, or for every text if `isRead`. Nil if it can
  /// succeed.
  static func problem(_ pattern: String, isRead: Bool) -> String? {
    guard DateLocale.english.pattern(ofStyle: pattern) == nil else { return nil }
    do throws(ExpressionFailure) {
      _ = try format(.epoch, pattern, .utc)
      guard isRead else { return nil }
      var reader = DateReader("", .english)
      var scalars = pattern.unicodeScalars[...]
      while let scalar = scalars.popFirst() {
        guard scalar == "%", var letter = scalars.popFirst() else { continue }
        if letter == "-", let next = scalars.popFirst() { letter = next }
        if reader.read(letter) == nil { throw unreadable(letter) }
      }
      return nil
    } catch { return error.message }
  }

  private static func unreadable(_ letter: Unicode.Scalar) -> ExpressionFailure {
    failure("'%\(letter)' cannot be read; use one of \(known) without j, u, V and Z")
  }

  private static func failure(_ message: String) -> ExpressionFailure {
    ExpressionFailure(.invalidArgument, "bad date pattern: \(message)")
  }

  /// The text without its padding.
  private static func bare(_ text: String) -> String {
    let rest = text.drop { $0 == "0" || $0 == " " }
    return rest.isEmpty && !text.isEmpty ? "0" : String(rest)
  }

  private static func field(
    _ letter: Unicode.Scalar, _ civil: CivilTime, _ time: Timestamp, _ period: TimeZoneRules.Period,
    _ locale: DateLocale
  ) -> String? {
    switch letter {
    case "Y": Times.padded(civil.year, 4)
    case "y": Times.padded(civil.year % 100)
    case "m": Times.padded(civil.month)
    case "d": Times.padded(civil.day)
    case "e": (civil.day < 10 ? " " : "") + String(civil.day)
    case "H": Times.padded(civil.hour)
    case "I": Times.padded((civil.hour + 11) % 12 + 1)
    case "M": Times.padded(civil.minute)
    case "S": Times.padded(civil.second)
    case "L": Times.padded(civil.nanosecond / 1_000_000, 3)
    case "f": Times.padded(civil.nanosecond / 1_000, 6)
    case "p": locale.halves[civil.hour < 12 ? 0 : 1]
    case "A": locale.weekdays[civil.weekday]
    case "a": locale.shortWeekdays[civil.weekday]
    case "B": locale.months[civil.month - 1]
    case "b": locale.shortMonths[civil.month - 1]
    case "j": Times.padded(civil.dayOfYear + 1, 3)
    case "u": String(civil.weekday == 0 ? 7 : civil.weekday)
    case "V": Times.padded(week(of: civil))
    case "F":
      "\(Times.padded(civil.year, 4))-\(Times.padded(civil.month))-\(Times.padded(civil.day))"
    case "T":
      "\(Times.padded(civil.hour)):\(Times.padded(civil.minute)):\(Times.padded(civil.second))"
    case "R": "\(Times.padded(civil.hour)):\(Times.padded(civil.minute))"
    case "z": offset(period.offsetSeconds)
    case "Z": period.abbreviation
    case "s": String(time.seconds)
    case "%": "%"
    default: nil
    }
  }

  private static func offset(_ seconds: Int) -> String {
    let minutes = abs(seconds) / 60
    return "\(seconds < 0 ? "-" : "+")\(Times.padded(minutes / 60))\(Times.padded(minutes % 60))"
  }

  /// The ISO 8601 week: that of the Thursday in the same week.
  private static func week(of civil: CivilTime) -> Int {
    let day = CivilTime.days(year: civil.year, month: civil.month, day: civil.day)
    let thursday = day - (civil.weekday + 6) % 7 + 3
    var year = civil.year
    if thursday < CivilTime.days(year: year, month: 1, day: 1) { year -= 1 }
    if thursday >= CivilTime.days(year: year + 1, month: 1, day: 1) { year += 1 }
    return (thursday - CivilTime.days(year: year, month: 1, day: 1)) / 7 + 1
  }

  // MARK: Reading

  /// The time in a text. Fields that the pattern leaves out are those of 1970-01-01T00:00.
  static func parse(
    _ text: String, _ pattern: String, _ rules: TimeZoneRules,
    _ locale: DateLocale = .english
  ) throws(ExpressionFailure) -> Timestamp {
    var reader = DateReader(text, locale)
    var scalars = (locale.pattern(ofStyle: pattern) ?? pattern).unicodeScalars[...]
    while let scalar = scalars.popFirst() {
      if scalar == "%" {
        guard var letter = scalars.popFirst() else { throw failure("the pattern ends after a %") }
        if letter == "-", let next = scalars.popFirst() { letter = next }
        guard let isRead = reader.read(letter) else {
          throw unreadable(letter)
        }
        guard isRead else { throw mismatch(text, pattern) }
      } else if !reader.skip(scalar) {
        throw mismatch(text, pattern)
      }
    }
    guard reader.isAtEnd, let time = try reader.timestamp(rules) else {
      throw mismatch(text, pattern)
    }
    if let weekday = reader.weekday(missedBy: time, rules) {
      throw ExpressionFailure(
        .invalidArgument,
        "\(SyntaxPrinter.quotedStart(of: text)) has a wrong weekday; the date is a "
          + DateLocale.english.weekdays[weekday])
    }
    return time
  }

  private static func mismatch(_ text: String, _ pattern: String) -> ExpressionFailure {
    ExpressionFailure(
      .invalidArgument,
      "\(SyntaxPrinter.quotedStart(of: text)) is not a date by the pattern "
        + SyntaxPrinter.quotedStart(of: pattern))
  }
}

/// Reads the fields of a date from a text.
private struct DateReader {
  private var digits: DigitReader
  private var civil = CivilTime(year: 1970)
  private var isAfternoon: Bool?
  private var weekday: Int?
  /// The fields that the text has.
  private var letters: Set<Unicode.Scalar> = []
  private var offset: Int?
  private var seconds: Int?

  private let locale: DateLocale

  init(_ text: String, _ locale: DateLocale) {
    digits = DigitReader(text)
    self.locale = locale
  }

  var isAtEnd: Bool { digits.isAtEnd }

  /// A character of the pattern; blanks fit any number of blanks.
  mutating func skip(_ scalar: Unicode.Scalar) -> Bool {
    if scalar == " " {
      while digits.skip(" ") {}
      return true
    }
    let bytes = Array(String(scalar).utf8)
    guard digits.rest.starts(with: bytes) else { return false }
    digits.skip(bytes.count)
    return true
  }

  /// Whether the text has the field; nil for a letter of no readable field.
  mutating func read(_ letter: Unicode.Scalar) -> Bool? {
    letters.insert(letter)
    switch letter {
    case "Y": return set(\.year, digits.number(4, isShort: true))
    case "y": return set(\.year, digits.number(2).map { $0 < 69 ? 2_000 + $0 : 1_900 + $0 })
    case "m": return set(\.month, digits.number(2, isShort: true))
    case "e":
      _ = digits.skip(" ")
      return set(\.day, digits.number(2, isShort: true))
    case "d": return set(\.day, digits.number(2, isShort: true))
    case "H": return set(\.hour, digits.number(2, isShort: true))
    case "I":
      guard let hour = digits.number(2, isShort: true), (1...12).contains(hour) else {
        return false
      }
      civil.hour = hour % 12
      return true
    case "M": return set(\.minute, digits.number(2, isShort: true))
    case "S": return set(\.second, digits.number(2, isShort: true))
    case "L", "f": return set(\.nanosecond, digits.fraction())
    case "p":
      guard let found = name(locale.halves) else { return false }
      isAfternoon = found == 1
      return true
    case "B", "b":
      return set(\.month, name(locale.months, locale.shortMonths).map { $0 + 1 })
    case "A", "a":
      // The weekday follows from the date, so its name is only checked.
      guard let found = name(locale.weekdays, locale.shortWeekdays) else { return false }
      weekday = found
      return true
    case "F":
      return read("Y") == true && skip("-") && read("m") == true && skip("-") && read("d") == true
    case "T": return read("R") == true && skip(":") && read("S") == true
    case "R": return read("H") == true && skip(":") && read("M") == true
    case "z":
      if digits.skip("Z") {
        offset = 0
        return true
      }
      let isWest = digits.skip("-")
      guard isWest || digits.skip("+"), let hours = digits.number(2) else { return false }
      _ = digits.skip(":")
      guard let minutes = digits.number(2), hours < 24, minutes < 60 else { return false }
      offset = (hours * 60 + minutes) * (isWest ? -60 : 60)
      return true
    case "s":
      let isNegative = digits.skip("-")
      guard let number = digits.number(12, isShort: true) else { return false }
      seconds = isNegative ? -number : number
      return true
    case "%": return digits.skip("%")
    default: return nil
    }
  }

  private mutating func set(_ field: WritableKeyPath<CivilTime, Int>, _ value: Int?) -> Bool {
    guard let value else { return false }
    civil[keyPath: field] = value
    return true
  }

  /// The index of the name at the beginning of the text, in upper or lower case. If several names
  /// fit, the longest one counts.
  private mutating func name(_ lists: [String]...) -> Int? {
    var found: (index: Int, length: Int)?
    for (index, name) in lists.flatMap({ $0.enumerated() }) {
      let isASCII = name.utf8.allSatisfy { $0 < 128 }
      for spelling in isASCII ? [name] : [name, name.lowercased(), name.uppercased()] {
        let wanted = spelling.utf8.map(Self.lowercased)
        guard wanted.count > found?.length ?? 0,
          digits.rest.prefix(wanted.count).map(Self.lowercased) == wanted
        else { continue }
        found = (index, wanted.count)
      }
    }
    if let found { digits.skip(found.length) }
    return found?.index
  }

  /// An ASCII letter in lower case; other bytes unchanged.
  private static func lowercased(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 32 : byte
  }

  /// The weekday of the date, if the text names another one; nil if it names none, or not the whole
  /// date.
  func weekday(missedBy time: Timestamp, _ rules: TimeZoneRules) -> Int? {
    let hasDate = ["Yy", "mBb", "de"].allSatisfy { field in
      field.unicodeScalars.contains { letters.contains($0) }
    }
    guard let weekday, hasDate || seconds != nil else { return nil }
    var date = civil
    if seconds != nil {
      date = CivilTime(time, offset: offset ?? rules.period(at: time).offsetSeconds)
    }
    return weekday == date.weekday ? nil : date.weekday
  }

  /// Nil if the fields are no date.
  func timestamp(_ rules: TimeZoneRules) throws(ExpressionFailure) -> Timestamp? {
    if let seconds { return try Times.timestamp(seconds: Int64(seconds)) }
    var civil = civil
    if isAfternoon == true, civil.hour < 12 { civil.hour += 12 }
    // Only %H reads such an hour: 15:30 AM.
    guard civil.isValid, isAfternoon != false || civil.hour < 12 else { return nil }
    let local = civil.seconds
    let offset = offset ?? rules.offset(forLocalSeconds: Int64(local))
    return try Times.timestamp(seconds: Int64(local - offset), nanoseconds: civil.nanosecond)
  }
}
