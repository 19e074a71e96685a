public import WidgetModel

/// The value of text without quotes, by YAML 1.2's core schema: `yes` and `no` are text, a whole
/// number is an int and `1.0` a double, as in JSON.
public enum PlainScalar {
  /// The value; nil for a number beyond 64 bits.
  public static func value(_ text: String) -> Value? {
    switch text {
    case "", "~", "null", "Null", "NULL": return .null
    case "true", "True", "TRUE": return .bool(true)
    case "false", "False", "FALSE": return .bool(false)
    case ".nan", ".NaN", ".NAN": return .double(.nan)
    case ".inf", ".Inf", ".INF", "+.inf": return .double(.infinity)
    case "-.inf", "-.Inf", "-.INF": return .double(-.infinity)
    default: break
    }
    let unsigned = text.hasPrefix("-") || text.hasPrefix("+") ? text.dropFirst() : text[...]
    guard let first = unsigned.utf8.first, isDigit(first) || first == UInt8(ascii: ".") else {
      return .string(text)
    }
    if text.hasPrefix("0x"), let int = Int64(text.dropFirst(2), radix: 16) { return .int(int) }
    if text.hasPrefix("0o"), let int = Int64(text.dropFirst(2), radix: 8) { return .int(int) }
    if unsigned.utf8.allSatisfy({ isDigit($0) }) { return Int64(text).map { .int($0) } }
    let isNumber = unsigned.utf8.allSatisfy { byte in
      isDigit(byte) || ".eE+-".utf8.contains(byte)
    }
    if isNumber, let double = Double(text.hasSuffix(".") ? text + "0" : text) {
      return double.isFinite ? .double(double) : nil
    }
    return .string(text)
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }
}
