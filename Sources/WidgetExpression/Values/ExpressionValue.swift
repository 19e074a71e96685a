public import WidgetModel

/// A value of the expression language.
///
/// `==` and hashing compare content: same kind, same content. `1`, `1u` and `1.0` differ, a NaN
/// equals itself, `0.0` differs from `-0.0`, text is compared byte by byte, and the order of a
/// map's entries does not count. The language's own equality, where `1 == 1.0`, is
/// ``isEqual(to:)``.
///
/// Lists and maps of the domain (`WidgetModel.Value`) are stored without conversion and read in
/// place, so that binding a widget's data or selecting a field of it copies nothing.
public enum ExpressionValue: Hashable, Sendable {
  case null
  case bool(Bool)
  case int(Int64)
  case uint(UInt64)
  case double(Double)
  case string(String)
  case bytes([UInt8])
  case list(ExpressionList)
  case map(ExpressionMap)
  case timestamp(Timestamp)
  /// At most 2^63 nanoseconds in both directions (292 years), as in CEL.
  case duration(Duration)
  case type(ExpressionKind)

  /// A list of these elements.
  public static func list(_ elements: [ExpressionValue]) -> ExpressionValue {
    .list(ExpressionList(elements))
  }

  /// The kind of the value.
  public var kind: ExpressionKind {
    switch self {
    case .null: .null
    case .bool: .bool
    case .int: .int
    case .uint: .uint
    case .double: .double
    case .string: .string
    case .bytes: .bytes
    case .list: .list
    case .map: .map
    case .timestamp: .timestamp
    case .duration: .duration
    case .type: .type
    }
  }

  /// The depth of nested lists and maps; 0 for a scalar.
  var depth: Int {
    switch self {
    case .list(let list): list.depth
    case .map(let map): map.depth
    default: 0
    }
  }

  /// The length of text and bytes, which a comparison or a look-up reads; 0 for other kinds.
  var readBytes: Int {
    switch self {
    case .string(let text): text.utf8.count
    case .bytes(let bytes): bytes.count
    default: 0
    }
  }

  public static func == (a: ExpressionValue, b: ExpressionValue) -> Bool {
    switch (a, b) {
    case (.null, .null): true
    case (.bool(let x), .bool(let y)): x == y
    case (.int(let x), .int(let y)): x == y
    case (.uint(let x), .uint(let y)): x == y
    case (.double(let x), .double(let y)):
      x.bitPattern == y.bitPattern || (x.isNaN && y.isNaN)
    case (.string(let x), .string(let y)): x.hasSameBytes(as: y)
    case (.bytes(let x), .bytes(let y)): x == y
    case (.list(let x), .list(let y)): x == y
    case (.map(let x), .map(let y)): x == y
    case (.timestamp(let x), .timestamp(let y)): x == y
    case (.duration(let x), .duration(let y)): x == y
    case (.type(let x), .type(let y)): x == y
    default: false
    }
  }

  public func hash(into hasher: inout Hasher) {
    switch self {
    case .null: hasher.combine(0)
    case .bool(let x): hasher.combine(x)
    case .int(let x): hasher.combine(x)
    case .uint(let x): hasher.combine(x)
    case .double(let x): hasher.combine(x.isNaN ? Double.nan.bitPattern : x.bitPattern)
    case .string(let x): hasher.combine(x)
    case .bytes(let x): hasher.combine(x)
    case .list(let x): hasher.combine(x)
    case .map(let x): hasher.combine(x)
    case .timestamp(let x): hasher.combine(x)
    case .duration(let x): hasher.combine(x)
    case .type(let x): hasher.combine(x)
    }
  }
}

extension ExpressionValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral
{
  public init(stringLiteral value: String) { self = .string(value) }
  public init(integerLiteral value: Int64) { self = .int(value) }
  public init(floatLiteral value: Double) { self = .double(value) }
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  public init(arrayLiteral elements: ExpressionValue...) { self = .list(elements) }
}
