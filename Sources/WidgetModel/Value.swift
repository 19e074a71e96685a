/// One dynamically typed value, for widget data, parameters and event payloads.
///
/// Equality is equality of the stored content: same case, same content. `1` and `1.0` differ, a NaN
/// equals itself, and `0.0` differs from `-0.0`. So writing an equal value is never a change, and
/// every change that a reader could see is one.
public enum Value: Hashable, Sendable {
  case null
  case bool(Bool)
  case int(Int64)
  case double(Double)
  case string(String)
  case bytes([UInt8])
  case list([Value])
  case map(ValueMap)
  case timestamp(Timestamp)
  case duration(Duration)

  public static func == (a: Value, b: Value) -> Bool {
    switch (a, b) {
    case (.null, .null): true
    case (.bool(let x), .bool(let y)): x == y
    case (.int(let x), .int(let y)): x == y
    case (.double(let x), .double(let y)):
      x.bitPattern == y.bitPattern || (x.isNaN && y.isNaN)
    case (.string(let x), .string(let y)): x.hasSameBytes(as: y)
    case (.bytes(let x), .bytes(let y)): x == y
    case (.list(let x), .list(let y)): x == y
    case (.map(let x), .map(let y)): x == y
    case (.timestamp(let x), .timestamp(let y)): x == y
    case (.duration(let x), .duration(let y)): x == y
    default: false
    }
  }

  public func hash(into hasher: inout Hasher) {
    switch self {
    case .null: hasher.combine(0)
    case .bool(let x): hasher.combine(x)
    case .int(let x): hasher.combine(x)
    case .double(let x): hasher.combine(x.isNaN ? Double.nan.bitPattern : x.bitPattern)
    case .string(let x): hasher.combine(x)
    case .bytes(let x): hasher.combine(x)
    case .list(let x): hasher.combine(x)
    case .map(let x): hasher.combine(x)
    case .timestamp(let x): hasher.combine(x)
    case .duration(let x): hasher.combine(x)
    }
  }

  /// The cost of the value against a quota, in bytes: its content plus 16 for every value in it.
  public var costBytes: Int {
    let least = Value.costBytesMin
    return switch self {
    case .null, .bool, .int, .double, .timestamp, .duration: least
    case .string(let text): least + text.utf8.count
    case .bytes(let bytes): least + bytes.count
    case .list(let values): values.reduce(least) { $0 + $1.costBytes }
    case .map(let map): map.entries.reduce(least) { $0 + $1.key.utf8.count + $1.value.costBytes }
    }
  }

  /// The cost of a value without content, in bytes.
  public static let costBytesMin = 16
}
