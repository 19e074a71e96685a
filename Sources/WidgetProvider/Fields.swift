import WidgetModel

/// What a widget holds or is configured with, as a struct. Its fields are said once, with key paths, so that
/// the compiler checks names and types; their defaults are those of `init()`.
///
///     struct State: Fields {
///       var count = 0
///       var note: String?
///       static let fields: [FieldOf<State>] = [
///         .init("count", \.count, "How often it was pressed."),
///         .init("note", \.note),
///       ]
///     }
public protocol Fields: Sendable {
  init()
  static var fields: [FieldOf<Self>] { get }
}

/// One field of a struct: its name on the wire, and where it is.
public struct FieldOf<Root: Sendable>: Sendable {
  public let name: String
  public let summary: String
  let type: FieldType
  let isOptional: Bool
  let read: @Sendable (Root) -> Value
  /// Returns false, and changes nothing, if the value is not of the field's type.
  let write: @Sendable (inout Root, Value) -> Bool

  /// - Parameters:
  ///   - name: letters, digits and `_`, as the wire and expressions have it.
  ///   - path: the property.
  ///   - summary: what it means, its unit and range.
  public init<T: FieldValue>(
    _ name: String, _ path: any WritableKeyPath<Root, T> & Sendable, _ summary: String = ""
  ) {
    self.name = name
    self.summary = summary
    type = T.fieldType
    isOptional = T(fieldValue: .null) != nil
    read = { $0[keyPath: path].fieldValue }
    write = { root, value in
      guard let typed = T(fieldValue: value) else { return false }
      root[keyPath: path] = typed
      return true
    }
  }
}

/// No fields: of widgets without parameters, or without state.
public struct NoFields: Fields {
  public static let fields: [FieldOf<NoFields>] = []
  public init() {}
}

extension Fields {
  /// The fields as a kind declares them, with the defaults of `init()`.
  static var schema: [Field] {
    let defaults = Self()
    return fields.map { field in
      let value = field.read(defaults)
      return Field(
        name: field.name, type: field.type,
        defaultValue: value == .null && field.isOptional ? nil : value, summary: field.summary)
    }
  }

  /// What a widget holds. A key that is missing, or of another type, has its default.
  init(reading map: ValueMap) {
    self.init()
    for field in Self.fields {
      if let value = map[field.name] { _ = field.write(&self, value) }
    }
  }

  /// What has to be set and removed to make one of these the other.
  func difference(from old: Self) -> (set: ValueMap, unset: [String]) {
    var set: ValueMap = [:]
    var unset: [String] = []
    for field in Self.fields {
      let value = field.read(self)
      guard value != field.read(old) else { continue }
      if value == .null && field.isOptional {
        unset.append(field.name)
      } else {
        set[field.name] = value
      }
    }
    return (set, unset)
  }
}
