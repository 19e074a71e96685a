import WidgetModel

/// What widgets need beyond CEL: text to search in, and numbers and times as people read them.
extension FunctionTable {
  mutating func addWidgetFunctions() {
    one("fold", isMember: true, "string -> string") { value, context throws(ExpressionFailure) in
      guard case .string(let text) = value else { return nil }
      try context.meter.charge(2 * text.utf8.count)
      return .string(TextFolding.fold(text))
    }
    addNumbers()
    addDates()
  }

  private mutating func addNumbers() {
    one("formatNumber", "int -> string", "uint -> string", "double -> string") {
      value, context throws(ExpressionFailure) in
      try context.meter.charge(400)
      return WidgetText.number(value, digits: nil).map { .string($0) }
    }
    two("formatNumber", "int, int -> string", "uint, int -> string", "double, int -> string") {
      a, b, context throws(ExpressionFailure) in
      guard case .int(let digits) = b else { return nil }
      try context.meter.charge(400)
      return WidgetText.number(a, digits: try Self.digits(digits)).map { .string($0) }
    }
    one("formatPercent", "int -> string", "uint -> string", "double -> string") {
      value, context throws(ExpressionFailure) in
      try Self.percent(value, digits: 0, &context)
    }
    two("formatPercent", "int, int -> string", "uint, int -> string", "double, int -> string") {
      a, b, context throws(ExpressionFailure) in
      guard case .int(let digits) = b else { return nil }
      return try Self.percent(a, digits: try Self.digits(digits), &context)
    }
    one("formatBytes", "int -> string", "uint -> string", "double -> string") {
      value, context throws(ExpressionFailure) in
      try context.meter.charge(400)
      switch value {
      case .int(let x): return .string(WidgetText.bytes(Double(x)))
      case .uint(let x): return .string(WidgetText.bytes(Double(x)))
      case .double(let x): return .string(WidgetText.bytes(x))
      default: return nil
      }
    }
  }

  private static func percent(
    _ value: ExpressionValue, digits: Int, _ context: inout FunctionContext
  ) throws(ExpressionFailure) -> ExpressionValue? {
    try context.meter.charge(400)
    let fraction: Double
    switch value {
    case .int(let x): fraction = Double(x)
    case .uint(let x): fraction = Double(x)
    case .double(let x): fraction = x
    default: return nil
    }
    return WidgetText.number(.double(fraction * 100), digits: digits).map { .string($0 + "%") }
  }

  private static func digits(_ count: Int64) throws(ExpressionFailure) -> Int {
    guard (0...20).contains(count) else {
      throw ExpressionFailure(
        .invalidArgument, "the number of digits must be 0 to 20, not \(count)")
    }
    return Int(count)
  }

  private mutating func addDates() {
    two("formatRelative", "timestamp, timestamp -> string") {
      a, b, context throws(ExpressionFailure) in
      guard case .timestamp(let time) = a, case .timestamp(let now) = b else { return nil }
      try context.meter.charge(20)
      return .string(WidgetText.relative(time, to: now))
    }
    one("formatDuration", "duration -> string") { value, context throws(ExpressionFailure) in
      guard case .duration(let duration) = value else { return nil }
      try context.meter.charge(20)
      return .string(WidgetText.duration(duration))
    }
    two("formatDate", "timestamp, string -> string") {
      a, b, context throws(ExpressionFailure) in
      try Self.formatDate([a, b, .string("UTC")], &context)
    }
    many("formatDate", "timestamp, string, string -> string") {
      values, context throws(ExpressionFailure) in
      try Self.formatDate(values, &context)
    }
    two("parseDate", "string, string -> timestamp") { a, b, context throws(ExpressionFailure) in
      try Self.parseDate([a, b, .string("UTC")], &context)
    }
    many("parseDate", "string, string, string -> timestamp") {
      values, context throws(ExpressionFailure) in
      try Self.parseDate(values, &context)
    }
  }

  private static func formatDate(
    _ values: [ExpressionValue], _ context: inout FunctionContext
  ) throws(ExpressionFailure) -> ExpressionValue? {
    guard case .timestamp(let time) = values[0], case .string(let pattern) = values[1],
      case .string(let zone) = values[2]
    else { return nil }
    // A field makes at most 20 bytes of two.
    try context.meter.charge(10 * pattern.utf8.count)
    return .string(try DatePattern.format(time, pattern, try context.rules(of: zone)))
  }

  private static func parseDate(
    _ values: [ExpressionValue], _ context: inout FunctionContext
  ) throws(ExpressionFailure) -> ExpressionValue? {
    guard case .string(let text) = values[0], case .string(let pattern) = values[1],
      case .string(let zone) = values[2]
    else { return nil }
    try context.meter.charge(text.utf8.count + 10 * pattern.utf8.count)
    return .timestamp(try DatePattern.parse(text, pattern, try context.rules(of: zone)))
  }
}
