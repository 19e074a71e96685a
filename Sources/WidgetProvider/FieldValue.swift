public import WidgetModel

/// A Swift type that a field of a widget can have: `Bool`, `Int`, `Int64`, `Double`, `String`,
/// `[UInt8]`, `Timestamp`, `Duration`, `Value` for any, optionals (null), and arrays and
/// dictionaries by text of these. An enum with text as raw values only has to conform.
public protocol FieldValue: FieldElement {
  /// The type as kinds declare it.
  static var fieldType: FieldType { get }
  /// The value as widgets hold it.
  var fieldValue: Value { get }
  /// Reads a widget's value; nil if the value has another type.
  init?(fieldValue: Value)
}

extension Bool: FieldValue {
  public static var fieldType: FieldType { .bool }
  public var fieldValue: Value { .bool(self) }
  public init?(fieldValue: Value) {
    guard case .bool(let flag) = fieldValue else { return nil }
    self = flag
  }
}

extension Int64: FieldValue {
  public static var fieldType: FieldType { .int }
  public var fieldValue: Value { .int(self) }
  public init?(fieldValue: Value) {
    guard case .int(let number) = fieldValue else { return nil }
    self = number
  }
}

extension Int: FieldValue {
  public static var fieldType: FieldType { .int }
  public var fieldValue: Value { .int(Int64(self)) }
  public init?(fieldValue: Value) {
    guard case .int(let number) = fieldValue else { return nil }
    self.init(exactly: number)
  }
}

extension Double: FieldValue {
  public static var fieldType: FieldType { .double }
  public var fieldValue: Value { .double(self) }
  public init?(fieldValue: Value) {
    switch fieldValue {
    case .double(let number): self = number
    case .int(let number): self = Double(number)
    default: return nil
    }
  }
}

extension String: FieldValue {
  public static var fieldType: FieldType { .string }
  public var fieldValue: Value { .string(self) }
  public init?(fieldValue: Value) {
    guard case .string(let text) = fieldValue else { return nil }
    self = text
  }
}

extension Timestamp: FieldValue {
  public static var fieldType: FieldType { .timestamp }
  public var fieldValue: Value { .timestamp(self) }
  public init?(fieldValue: Value) {
    guard case .timestamp(let time) = fieldValue else { return nil }
    self = time
  }
}

extension Duration: FieldValue {
  public static var fieldType: FieldType { .duration }
  public var fieldValue: Value { .duration(self) }
  public init?(fieldValue: Value) {
    guard case .duration(let duration) = fieldValue else { return nil }
    self = duration
  }
}

extension Value: FieldValue {
  public static var fieldType: FieldType { .any }
  public var fieldValue: Value { self }
  public init?(fieldValue: Value) { self = fieldValue }
}

extension UInt8: FieldElement {
  public static var listType: FieldType { .bytes }
  public static func list(of elements: [UInt8]) -> Value { .bytes(elements) }
  public static func elements(of list: Value) -> [UInt8]? {
    guard case .bytes(let bytes) = list else { return nil }
    return bytes
  }
}

/// A type that an array can hold: everything that is a `FieldValue`. An array of bytes is one
/// value.
public protocol FieldElement: Sendable {
  static var listType: FieldType { get }
  static func list(of elements: [Self]) -> Value
  static func elements(of list: Value) -> [Self]?
}

extension FieldElement where Self: FieldValue {
  public static var listType: FieldType { .list(fieldType) }
  public static func list(of elements: [Self]) -> Value { .list(elements.map(\.fieldValue)) }
  public static func elements(of list: Value) -> [Self]? {
    guard case .list(let values) = list else { return nil }
    var elements: [Self] = []
    for value in values {
      guard let element = Self(fieldValue: value) else { return nil }
      elements.append(element)
    }
    return elements
  }
}

extension Array: FieldElement where Element: FieldElement {}

extension Array: FieldValue where Element: FieldElement {
  public static var fieldType: FieldType { Element.listType }
  public var fieldValue: Value { Element.list(of: self) }
  public init?(fieldValue: Value) {
    guard let elements = Element.elements(of: fieldValue) else { return nil }
    self = elements
  }
}

extension Dictionary: FieldElement where Key == String, Value: FieldValue {}

extension Dictionary: FieldValue where Key == String, Value: FieldValue {
  public static var fieldType: FieldType { .map(Value.fieldType) }
  public var fieldValue: WidgetModel.Value {
    .map(ValueMap(map { ValueMap.Entry(key: $0.key, value: $0.value.fieldValue) }))
  }
  public init?(fieldValue: WidgetModel.Value) {
    guard case .map(let map) = fieldValue else { return nil }
    self.init()
    for entry in map.entries {
      guard let value = Value(fieldValue: entry.value) else { return nil }
      self[entry.key] = value
    }
  }
}

extension Optional: FieldElement where Wrapped: FieldValue {}

extension Optional: FieldValue where Wrapped: FieldValue {
  public static var fieldType: FieldType { Wrapped.fieldType }
  public var fieldValue: Value { self?.fieldValue ?? .null }
  public init?(fieldValue: Value) {
    if fieldValue == .null {
      self = .none
    } else if let wrapped = Wrapped(fieldValue: fieldValue) {
      self = wrapped
    } else {
      return nil
    }
  }
}

extension RawRepresentable where Self: FieldValue, RawValue == String {
  public static var fieldType: FieldType { .string }
  public var fieldValue: Value { .string(rawValue) }
  public init?(fieldValue: Value) {
    guard case .string(let text) = fieldValue else { return nil }
    self.init(rawValue: text)
  }
}
