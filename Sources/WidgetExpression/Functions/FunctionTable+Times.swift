import WidgetModel

/// The parts of timestamps and durations.
extension FunctionTable {
  /// The functions that give a part of a time, in a zone.
  static let partNames: Set = [
    "getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear",
    "getHours", "getMinutes", "getSeconds", "getMilliseconds",
  ]

  mutating func addTimes() {
    part("getFullYear") { Int64($0.year) }
    part("getMonth") { Int64($0.month - 1) }
    part("getDate") { Int64($0.day) }
    part("getDayOfMonth") { Int64($0.day - 1) }
    part("getDayOfWeek") { Int64($0.weekday) }
    part("getDayOfYear") { Int64($0.dayOfYear) }
    part("getHours", ofDuration: { $0 / 3_600_000_000_000 }) { Int64($0.hour) }
    part("getMinutes", ofDuration: { $0 / 60_000_000_000 }) { Int64($0.minute) }
    part("getSeconds", ofDuration: { $0 / 1_000_000_000 }) { Int64($0.second) }
    part("getMilliseconds", ofDuration: { $0 / 1_000_000 % 1_000 }) {
      Int64($0.nanosecond / 1_000_000)
    }
  }

  private mutating func part(
    _ name: String, ofDuration: (@Sendable (Int64) -> Int64)? = nil,
    _ ofTime: @escaping @Sendable (CivilTime) -> Int64
  ) {
    let types = ofDuration == nil ? [] : ["duration -> int"]
    add(
      .init(
        name: name, isMember: true, signatures: Self.read(["timestamp -> int"] + types),
        body: .one { value, _ in
          switch value {
          case .timestamp(let time): return .int(ofTime(CivilTime(time, offset: 0)))
          case .duration(let duration):
            guard let ofDuration, let nanoseconds = duration.checkedNanoseconds else { return nil }
            return .int(ofDuration(nanoseconds))
          default: return nil
          }
        }))
    two(name, isMember: true, "timestamp, string -> int") {
      a, b, context throws(ExpressionFailure) in
      guard case .timestamp(let time) = a, case .string(let zone) = b else { return nil }
      let rules = try context.rules(of: zone)
      return .int(ofTime(CivilTime(time, offset: rules.period(at: time).offsetSeconds)))
    }
  }
}

extension FunctionContext {
  /// The rules of a zone by name (`Europe/Berlin`) or fixed offset (`+02:00`, `02:00`).
  func rules(of zone: String) throws(ExpressionFailure) -> TimeZoneRules {
    if let rules = TimeZoneRules(fixed: zone) { return rules }
    let shown = SyntaxPrinter.quotedStart(of: zone)
    guard let timeZones else {
      throw ExpressionFailure(
        .unknownTimeZone,
        "there is no time zone database, so \(shown) is unknown; use UTC or an offset such as +02:00"
      )
    }
    guard zone.utf8.count <= TimeZoneRules.nameBytesMax, let rules = timeZones(zone) else {
      throw ExpressionFailure(
        .unknownTimeZone,
        "the time zone \(shown) is unknown; write it like Europe/Berlin or +02:00")
    }
    return rules
  }
}
