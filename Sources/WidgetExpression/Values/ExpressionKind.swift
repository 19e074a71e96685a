/// The type of a value at run time: the result of `type(x)`, without the types of elements.
///
/// Raw values are the names CEL gives them.
public enum ExpressionKind: String, Hashable, Sendable, CaseIterable {
  case null = "null_type"
  case bool
  case int
  case uint
  case double
  case string
  case bytes
  case list
  case map
  case timestamp = "google.protobuf.Timestamp"
  case duration = "google.protobuf.Duration"
  case type
  /// No value has this kind. Only an expression such as `dyn == type(x)` names it.
  case dyn

  /// The name to use in a message to a person: `timestamp` rather than protobuf's long name.
  public var shortName: String {
    switch self {
    case .null: "null"
    case .timestamp: "timestamp"
    case .duration: "duration"
    default: rawValue
    }
  }
}
