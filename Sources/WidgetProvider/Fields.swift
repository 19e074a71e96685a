import WidgetModel

/// The data or parameters of a widget, as a struct. Its fields are declared once, with key paths,
/// so that the compiler checks names and types. Their defaults are those of `init()`.
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

/// One field of a struct: its name on the wire, and its path.
public struct FieldOf<Root: Sendable>: Sendable {
  /// The name on the wire. If a dictionary has a key for each entry: the prefix of these keys.
  public let name: String
  public let summary: String
  /// Whether each entry of the dictionary is a separate key.
  let isSpread: Bool
  let type: FieldType
  let isOptional: Bool
  let read: @Sendable (Root) -> Value
  /// Returns false, and changes nothing, if the value is not of the field's type.
  let write: @Sendable (inout Root, Value) -> Bool

  /// - Parameters:
  ///   - name: letters, digits and `_`, as on the wire and in expressions.
  ///   - path: the property.
  ///   - summary: the meaning, the unit and the range.
  public init<T: FieldValue>(
    _ name: String, _ path: any WritableKeyPath<Root, T> & Sendable, _ summary: String = ""
  ) {
    self.name = name
    self.summary = summary
    isSpread = false
    type = T.fieldType
    isOptional = T(fieldValue: .null) != nil
    read = { $0[keyPath: path].fieldValue }
    write = { root, value in
      guard let typed = T(fieldValue: value) else { return false }
      root[keyPath: path] = typed
      return true
    }
  }

  /// A dictionary with a key on the wire for each entry, so that a changed entry is sent without
  /// the others. For example, `.init(each: "interface.", \.interfaces)` has the keys
  /// `interface.lo`, `interface.eth0`, … Its kind is open, because such names cannot be declared.
  /// Expressions read `data["interface.lo"]`. Entries of another type than the dictionary's are
  /// left out.
  ///
  /// - Parameters:
  ///   - prefix: the prefix of the keys. No other field's name may begin with it. With the prefix,
  ///     an entry's key has at most 256 bytes.
  ///   - path: the property.
  public init<T: FieldValue>(
    each prefix: String, _ path: any WritableKeyPath<Root, [String: T]> & Sendable
  ) {
    name = prefix
    summary = ""
    isSpread = true
    type = .map(T.fieldType)
    isOptional = false
    read = { $0[keyPath: path].fieldValue }
    write = { root, value in
      guard case .map(let map) = value else { return false }
      root[keyPath: path] = Dictionary(
        map.entries.compactMap { entry in T(fieldValue: entry.value).map { (entry.key, $0) } },
        uniquingKeysWith: { first, _ in first })
      return true
    }
  }

  /// The field's value in a widget's map; nil if it is missing.
  func value(in map: ValueMap) -> Value? {
    guard isSpread else { return map[name] }
    return .map(
      ValueMap(
        map.entries.filter { $0.key.hasPrefix(name) }.map {
          ValueMap.Entry(key: String($0.key.dropFirst(name.count)), value: $0.value)
        }))
  }
}

/// No fields, for widgets without parameters or state.
public struct NoFields: Fields {
  public static let fields: [FieldOf<NoFields>] = []
  public init() {}
}

extension Fields {
  /// The fields as a kind declares them, with the defaults of `init()`.
  static var schema: [Field] {
    let defaults = Self()
    return fields.filter { !$0.isSpread }.map { field in
      let value = field.read(defaults)
      return Field(
        name: field.name, type: field.type,
        defaultValue: value == .null && field.isOptional ? nil : value, summary: field.summary)
    }
  }

  /// Whether there are fields with names that no kind can declare.
  static var isOpen: Bool { fields.contains(where: \.isSpread) }

  /// The data of a widget. A key that is missing, or of another type, has its default.
  init(reading map: ValueMap) {
    self.init()
    for field in Self.fields {
      if let value = field.value(in: map) { _ = field.write(&self, value) }
    }
  }

  /// The keys to set and to remove so that a widget has this data. A missing key counts as its
  /// default. A key of another type, or with an unknown value, is corrected.
  func difference(from map: ValueMap) -> (set: ValueMap, unset: [String]) {
    let defaults = Self()
    var set: ValueMap = [:]
    var unset: [String] = []
    for field in Self.fields {
      let value = field.read(self)
      if field.isSpread {
        guard case .map(let wanted) = value else { continue }
        for entry in wanted.entries where map[field.name + entry.key] != entry.value {
          set[field.name + entry.key] = entry.value
        }
        unset += map.keys.filter {
          $0.hasPrefix(field.name) && wanted[String($0.dropFirst(field.name.count))] == nil
        }
      } else if value != map[field.name] ?? field.read(defaults) {
        if value == .null && field.isOptional {
          unset.append(field.name)
        } else {
          set[field.name] = value
        }
      }
    }
    return (set, unset)
  }
}

/// A struct of fields as a field of another struct: a map by names, without fields that are nil. If
/// the struct also conforms to `FieldValue`, it can be a field, and an element of arrays and
/// dictionaries.
extension FieldValue where Self: Fields {
  public static var fieldType: FieldType { .map(.any) }
  public var fieldValue: Value {
    var map: ValueMap = [:]
    for field in Self.fields {
      let value = field.read(self)
      if field.isSpread, case .map(let entries) = value {
        for entry in entries.entries { map[field.name + entry.key] = entry.value }
      } else if value != .null || !field.isOptional {
        map[field.name] = value
      }
    }
    return .map(map)
  }
  public init?(fieldValue: Value) {
    guard case .map(let map) = fieldValue else { return nil }
    self.init(reading: map)
  }
}
