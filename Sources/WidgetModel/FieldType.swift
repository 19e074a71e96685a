/// The type of a value that a kind declares, written as in CEL: `bool`, `int`, `double`, `string`,
/// `bytes`, `timestamp`, `duration`, `list(TYPE)`, `map(string, TYPE)`, and `dyn` for any. A plain
/// `list` is a `list(dyn)`, a plain `map` a `map(string, dyn)`.
///
/// Null fits every type, because a value can be temporarily unknown.
public indirect enum FieldType: Hashable, Sendable {
  case any
  case bool
  case int
  case double
  case string
  case bytes
  case timestamp
  case duration
  case list(FieldType)
  case map(FieldType)

  /// The maximum depth of nested lists and maps in a type.
  public static let depthMax = 8

  /// Reads a type. Returns nil if the text is not a type.
  public init?(_ text: String) {
    var rest = Substring(text)
    guard let type = FieldType.parse(&rest, depth: FieldType.depthMax), rest.isEmpty else {
      return nil
    }
    self = type
  }

  private static func parse(_ rest: inout Substring, depth: Int) -> FieldType? {
    skipSpaces(&rest)
    let name = rest.prefix { ("a"..."z").contains($0) }
    rest.removeFirst(name.count)
    skipSpaces(&rest)
    switch name {
    case "dyn": return .any
    case "bool": return .bool
    case "int": return .int
    case "double": return .double
    case "string": return .string
    case "bytes": return .bytes
    case "timestamp": return .timestamp
    case "duration": return .duration
    case "list":
      // The long form of a short form is one level deeper, and must be readable after it is
      // written.
      guard depth > 1 else { return nil }
      guard take("(", &rest) else { return .list(.any) }
      guard let element = parse(&rest, depth: depth - 1), take(")", &rest) else {
        return nil
      }
      return .list(element)
    case "map":
      guard depth > 1 else { return nil }
      guard take("(", &rest) else { return .map(.any) }
      guard parse(&rest, depth: 1) == .string, take(",", &rest),
        let value = parse(&rest, depth: depth - 1), take(")", &rest)
      else { return nil }
      return .map(value)
    default: return nil
    }
  }

  private static func skipSpaces(_ rest: inout Substring) {
    while rest.first == " " { rest.removeFirst() }
  }

  private static func take(_ character: Character, _ rest: inout Substring) -> Bool {
    guard rest.first == character else { return false }
    rest.removeFirst()
    skipSpaces(&rest)
    return true
  }

  /// The value in the form of this type, or nil if it does not fit. A whole number becomes a double
  /// for a double type. O(value).
  public func fitted(_ value: Value) -> Value? {
    switch (self, value) {
    case (.any, _), (_, .null), (.bool, .bool), (.int, .int), (.double, .double),
      (.string, .string), (.bytes, .bytes), (.timestamp, .timestamp), (.duration, .duration):
      return value
    case (.double, .int(let number)): return .double(Double(number))
    case (.list(.any), .list), (.map(.any), .map): return value
    case (.list(let type), .list(let elements)):
      var fitted: [Value] = []
      fitted.reserveCapacity(elements.count)
      for element in elements {
        guard let element = type.fitted(element) else { return nil }
        fitted.append(element)
      }
      return .list(fitted)
    case (.map(let type), .map(let map)):
      var entries: [ValueMap.Entry] = []
      entries.reserveCapacity(map.count)
      for entry in map.entries {
        guard let value = type.fitted(entry.value) else { return nil }
        entries.append(.init(key: entry.key, value: value))
      }
      return .map(ValueMap(entries))
    default: return nil
    }
  }
}

extension FieldType: CustomStringConvertible {
  /// The written form.
  public var description: String {
    switch self {
    case .any: "dyn"
    case .bool: "bool"
    case .int: "int"
    case .double: "double"
    case .string: "string"
    case .bytes: "bytes"
    case .timestamp: "timestamp"
    case .duration: "duration"
    case .list(let element): "list(\(element))"
    case .map(let value): "map(string, \(value))"
    }
  }
}

extension Value {
  /// The name of the value's own type, as `FieldType` writes it, for messages.
  public var typeName: String {
    switch self {
    case .null: "null"
    case .bool: "bool"
    case .int: "int"
    case .double: "double"
    case .string: "string"
    case .bytes: "bytes"
    case .list: "list"
    case .map: "map"
    case .timestamp: "timestamp"
    case .duration: "duration"
    }
  }

  /// The same with its article: `a map`, `an int`, `null`.
  public var typeWithArticle: String {
    switch self {
    case .null, .bytes: typeName
    default: typeName.withArticle
    }
  }
}
