import WidgetModel

/// Conversions between types, by the types' names.
extension FunctionTable {
  mutating func addConversions() {
    one("bool", "bool -> bool", "string -> bool") { value, _ throws(ExpressionFailure) in
      switch value {
      case .bool: return value
      case .string(let text):
        // Swift compares characters, so that a long text of accents takes long.
        guard text.utf8.count <= 5 else { throw Self.unreadable(text, "bool") }
        switch text {
        case "1", "t", "T", "true", "TRUE", "True": return .bool(true)
        case "0", "f", "F", "false", "FALSE", "False": return .bool(false)
        default: throw Self.unreadable(text, "bool")
        }
      default: return nil
      }
    }
    one("int", "int -> int", "uint -> int", "double -> int", "string -> int", "timestamp -> int") {
      value, context throws(ExpressionFailure) in
      switch value {
      case .int: return value
      case .uint(let x):
        guard let result = Int64(exactly: x) else { throw Operators.overflow("int") }
        return .int(result)
      case .double(let x):
        // CEL excludes -2^63 itself, because it may be the result of rounding.
        guard x > -0x1p63, x < 0x1p63 else { throw Operators.overflow("int") }
        return .int(Int64(x))
      case .string(let text):
        // Zeros in front make a valid text of any length.
        try context.meter.chargeRead(text.utf8.count)
        guard let result = Int64(text) else { throw Self.unreadable(text, "int") }
        return .int(result)
      case .timestamp(let time): return .int(time.seconds)
      default: return nil
      }
    }
    one("uint", "uint -> uint", "int -> uint", "double -> uint", "string -> uint") {
      value, context throws(ExpressionFailure) in
      switch value {
      case .uint: return value
      case .int(let x):
        guard let result = UInt64(exactly: x) else { throw Operators.overflow("uint") }
        return .uint(result)
      case .double(let x):
        guard x >= 0, x < 0x1p64 else { throw Operators.overflow("uint") }
        return .uint(UInt64(x))
      case .string(let text):
        try context.meter.chargeRead(text.utf8.count)
        guard let result = UInt64(text) else { throw Self.unreadable(text, "uint") }
        return .uint(result)
      default: return nil
      }
    }
    one(
      "double", "double -> double", "int -> double", "uint -> double", "string -> double",
      "timestamp -> double"
    ) { value, context throws(ExpressionFailure) in
      switch value {
      case .double: return value
      case .int(let x): return .double(Double(x))
      case .uint(let x): return .double(Double(x))
      case .timestamp(let time):
        return .double(Double(time.seconds) + Double(time.nanoseconds) / 1e9)
      case .string(let text):
        try context.meter.charge(text.utf8.count)
        guard let result = Self.double(text) else { throw Self.unreadable(text, "double") }
        return .double(result)
      default: return nil
      }
    }
    one(
      "string", "string -> string", "bool -> string", "int -> string", "uint -> string",
      "double -> string", "bytes -> string", "timestamp -> string", "duration -> string"
    ) { value, context throws(ExpressionFailure) in
      try context.meter.charge(20)
      switch value {
      case .string: return value
      case .bool(let x): return .string(String(x))
      case .int(let x): return .string(String(x))
      case .uint(let x): return .string(String(x))
      case .double(let x): return .string(DecimalText.shortest(x))
      case .bytes(let bytes):
        try context.meter.charge(bytes.count)
        guard let text = String(validating: bytes, as: UTF8.self) else {
          throw ExpressionFailure(.invalidArgument, "the bytes are not UTF-8")
        }
        return .string(text)
      case .timestamp(let time): return .string(Times.text(time))
      case .duration(let duration): return .string(Times.text(duration))
      default: return nil
      }
    }
    one("bytes", "bytes -> bytes", "string -> bytes") { value, context throws(ExpressionFailure) in
      switch value {
      case .bytes: return value
      case .string(let text):
        try context.meter.charge(text.utf8.count)
        return .bytes(Array(text.utf8))
      default: return nil
      }
    }
    one("timestamp", "timestamp -> timestamp", "string -> timestamp", "int -> timestamp") {
      value, context throws(ExpressionFailure) in
      switch value {
      case .timestamp: return value
      case .string(let text):
        try context.meter.charge(text.utf8.count)
        return .timestamp(try Times.timestamp(text))
      case .int(let seconds): return .timestamp(try Times.timestamp(seconds: seconds))
      default: return nil
      }
    }
    one("duration", "duration -> duration", "string -> duration") {
      value, context throws(ExpressionFailure) in
      switch value {
      case .duration: return value
      case .string(let text):
        try context.meter.charge(text.utf8.count)
        return .duration(try Times.duration(text))
      default: return nil
      }
    }
  }

  private static func unreadable(_ text: String, _ type: String) -> ExpressionFailure {
    ExpressionFailure(
      .invalidArgument,
      "\(SyntaxPrinter.quotedStart(of: text)) is not \(type == "int" ? "an" : "a") \(type)")
  }

  /// Decimal text as a double; also `NaN` and `Infinity`.
  static func double(_ text: String) -> Double? {
    // Swift compares characters, so that a long text of accents takes long.
    if text.utf8.count <= 9 {
      switch text {
      case "NaN": return .nan
      case "Infinity", "+Infinity", "inf", "+inf", "Inf", "+Inf": return .infinity
      case "-Infinity", "-inf", "-Inf": return -.infinity
      default: break
      }
    }
    // Swift's conversion would also accept hexadecimal digits and other words.
    let allowed = text.utf8.allSatisfy {
      isDigit($0) || [43, 45, 46, 69, 101].contains($0)
    }
    guard allowed, let value = Double(text), value.isFinite else { return nil }
    return value
  }
}
