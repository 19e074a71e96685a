/// The type of a value before evaluation. A ``dyn`` value has its type at run time only.
///
/// It reads and writes as text: `list(int)`, `map(string, dyn)`, `timestamp`.
public indirect enum ExpressionType: Hashable, Sendable {
  case null, bool, int, uint, double, string, bytes, timestamp, duration
  /// A type as a value, such as `type(1)`.
  case type
  /// Anything; checked when it is used.
  case dyn
  case list(ExpressionType)
  case map(ExpressionType, ExpressionType)
  /// A map with known string keys, such as a widget's data by its kind's schema.
  case record(RecordType)
  /// A type parameter of a function's signature. Parameters with the same number have the same
  /// type.
  case parameter(Int)

  /// A list of anything, and a map from anything to anything.
  public static let anyList = ExpressionType.list(.dyn)
  public static let anyMap = ExpressionType.map(.dyn, .dyn)
}

/// The named fields of a map, for catching misspelt ones.
public struct RecordType: Hashable, Sendable {
  public let fields: [String: ExpressionType]
  /// Whether a name that is not declared is allowed, as `dyn`.
  public let isOpen: Bool

  public init(_ fields: [String: ExpressionType], isOpen: Bool = false) {
    self.fields = fields
    self.isOpen = isOpen
  }
}

extension ExpressionType: CustomStringConvertible {
  public var description: String {
    switch self {
    case .null: "null"
    case .bool: "bool"
    case .int: "int"
    case .uint: "uint"
    case .double: "double"
    case .string: "string"
    case .bytes: "bytes"
    case .timestamp: "timestamp"
    case .duration: "duration"
    case .type: "type"
    case .dyn: "dyn"
    case .list(let element): "list(\(element))"
    case .map(let key, let value): "map(\(key), \(value))"
    case .record: "record"
    case .parameter(let number): number < 4 ? ["A", "B", "C", "D"][max(0, number)] : "T\(number)"
    }
  }
}

extension ExpressionType {
  /// Reads `list(map(string, int))`; A to D are parameters. Nil for anything else, and for more than
  /// 32 levels.
  public init?(_ text: String) {
    var reader = TypeReader(text)
    guard let type = reader.type(depth: 0), reader.isAtEnd else { return nil }
    self = type
  }
}

/// Reads types from text, also those in a function's signature.
struct TypeReader {
  private var rest: Substring

  init(_ text: String) { rest = Substring(text) }

  var isAtEnd: Bool { rest.allSatisfy { $0 == " " } }

  mutating func skip(_ text: String) -> Bool {
    rest = rest.drop { $0 == " " }
    guard rest.utf8.starts(with: text.utf8) else { return false }
    rest = rest.dropFirst(text.count)
    return true
  }

  mutating func word() -> String {
    rest = rest.drop { $0 == " " }
    let word = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "." }
    rest = rest.dropFirst(word.count)
    return String(word)
  }

  mutating func type(depth: Int) -> ExpressionType? {
    guard depth < 32 else { return nil }
    switch word() {
    case "null", "null_type": return .null
    case "bool": return .bool
    case "int": return .int
    case "uint": return .uint
    case "double": return .double
    case "string": return .string
    case "bytes": return .bytes
    case "timestamp", "google.protobuf.Timestamp": return .timestamp
    case "duration", "google.protobuf.Duration": return .duration
    case "type": return .type
    case "dyn": return .dyn
    case "A": return .parameter(0)
    case "B": return .parameter(1)
    case "C": return .parameter(2)
    case "D": return .parameter(3)
    case "list":
      guard skip("(") else { return .anyList }
      guard let element = type(depth: depth + 1), skip(")") else { return nil }
      return .list(element)
    case "map":
      guard skip("(") else { return .anyMap }
      guard let key = type(depth: depth + 1), skip(","), let value = type(depth: depth + 1),
        skip(")")
      else { return nil }
      return .map(key, value)
    default: return nil
    }
  }
}
