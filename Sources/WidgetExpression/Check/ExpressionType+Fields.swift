public import WidgetModel

// Between the types that kinds declare and the language's.

extension RecordType {
  /// The record of declared fields; of two with the same name, the first counts.
  public init(_ fields: [Field], isOpen: Bool) {
    self.init(
      Dictionary(
        fields.map { ($0.name, ExpressionType($0.type)) }, uniquingKeysWith: { first, _ in first }),
      isOpen: isOpen)
  }
}

extension ExpressionType {
  /// The type that expressions give a declared field.
  public init(_ type: FieldType) {
    self =
      switch type {
      case .any: .dyn
      case .bool: .bool
      case .int: .int
      case .double: .double
      case .string: .string
      case .bytes: .bytes
      case .timestamp: .timestamp
      case .duration: .duration
      case .list(let element): .list(ExpressionType(element))
      case .map(let value): .map(.string, ExpressionType(value))
      }
  }

  /// Whether a field can take a value of this type.
  public func mayFit(_ type: FieldType) -> Bool {
    switch (self, type) {
    case (_, .any), (.dyn, _), (.null, _), (.parameter, _), (.bool, .bool), (.int, .int),
      (.uint, .int), (.double, .double), (.int, .double), (.uint, .double), (.string, .string),
      (.type, .string), (.bytes, .bytes), (.timestamp, .timestamp), (.duration, .duration),
      (.record, .map):
      true
    case (.list(let element), .list(let wanted)): element.mayFit(wanted)
    case (.map(_, let value), .map(let wanted)): value.mayFit(wanted)
    default: false
    }
  }

  /// Whether values of this type have a text; see `ExpressionValue.text`.
  public var hasText: Bool {
    switch self {
    case .bool, .int, .uint, .double, .timestamp, .duration: true
    default: false
    }
  }
}
