import WidgetModel

/// Functions for widgets beyond CEL: search in text, and numbers and times as people read them.
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
      try Self.formatDate([a, b], &context)
    }
    for signature in [
      "timestamp, string, string -> string", "timestamp, string, string, string -> string",
    ] {
      many("formatDate", signature) { values, context throws(ExpressionFailure) in
        try Self.formatDate(values, &context)
      }
    }
    two("parseDate", "string, string -> timestamp") { a, b, context throws(ExpressionFailure) in
      try Self.parseDate([a, b], &context)
    }
    for signature in [
      "string, string, string -> timestamp", "string, string, string, string -> timestamp",
    ] {
      many("parseDate", signature) { values, context throws(ExpressionFailure) in
        try Self.parseDate(values, &context)
      }
    }
  }

  /// Writes a time by a pattern or a style. The zone and the locale are optional.
  private static func formatDate(
    _ values: [ExpressionValue], _ context: inout FunctionContext
  ) throws(ExpressionFailure) -> ExpressionValue? {
    guard case .timestamp(let time) = values[0], let texts = texts(values[1...]) else { return nil }
    // A field of 2 bytes gives at most 30 bytes, a style of 4 bytes at most 100.
    try context.meter.charge(25 * texts[0].utf8.count)
    let rules = try context.rules(of: texts.count > 1 ? texts[1] : "UTC")
    let locale = try locale(texts, &context)
    return .string(try DatePattern.format(time, texts[0], rules, locale))
  }

  private static func texts(_ values: ArraySlice<ExpressionValue>) -> [String]? {
    var texts: [String] = []
    for value in values {
      guard case .string(let text) = value else { return nil }
      texts.append(text)
    }
    return texts
  }

  /// The locale in the arguments after the time or text: a pattern, a zone and a locale.
  private static func locale(
    _ texts: [String], _ context: inout FunctionContext
  ) throws(ExpressionFailure) -> DateLocale {
    guard texts.count > 2 else { return .english }
    try context.meter.charge(20)
    guard let locale = DateLocale.named(texts[2]) else {
      throw ExpressionFailure(
        .invalidArgument,
        "no dates in the language \(SyntaxPrinter.quotedStart(of: texts[2])); "
          + "there are \(DateLocale.languages)")
    }
    return locale
  }

  private static func parseDate(
    _ values: [ExpressionValue], _ context: inout FunctionContext
  ) throws(ExpressionFailure) -> ExpressionValue? {
    guard case .string(let text) = values[0], let texts = texts(values[1...]) else { return nil }
    try context.meter.charge(text.utf8.count + 25 * texts[0].utf8.count)
    let rules = try context.rules(of: texts.count > 1 ? texts[1] : "UTC")
    let locale = try locale(texts, &context)
    return .timestamp(try DatePattern.parse(text, texts[0], rules, locale))
  }
}
