import WidgetExpression
import WidgetModel

/// The declared fields of one map of values: a kind's data, parameters or entries, or an event's
/// payload. The fields give maps from callers the declared types and defaults.
///
/// An object, because schemas are copied often.
final class DeclaredFields: Sendable {
  /// In the order of the declaration. If a name appears twice, the first field counts.
  let list: [Field]
  /// Whether the map may have other values.
  let isOpen: Bool
  private let place: Place
  private let byName: [String: Field]

  /// The declaration that has the fields.
  enum Place {
    case data(of: KindName)
    case parameters(of: KindName)
    case entry(of: KindName)
    case payload(ofEvent: String)

    /// The words for a value that is not declared.
    fileprivate var refusal: String {
      switch self {
      case .data(let kind): "Kind \"\(kind)\" has no such data field"
      case .parameters(let kind): "Kind \"\(kind)\" has no such parameter"
      case .entry(let kind): "Kind \"\(kind)\" has no such field in `entry`"
      case .payload(let event): "Event \"\(event)\" has no such detail"
      }
    }

    /// The words for a required value that is missing.
    fileprivate var need: String {
      switch self {
      case .data(let kind), .parameters(let kind), .entry(let kind): "Kind \"\(kind)\" needs it"
      case .payload(let event): "Event \"\(event)\" needs it"
      }
    }

    /// The meaning of a missing parameter, if it is declared.
    fileprivate func help(_ field: Field) -> String {
      if case .parameters = self, !field.summary.isEmpty { " \(field.summary)" } else { "" }
    }
  }

  init(_ list: [Field], of place: Place, isOpen: Bool) {
    self.list = list
    self.place = place
    self.isOpen = isOpen
    byName = Dictionary(list.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
  }

  subscript(_ key: String) -> Field? {
    // A dictionary treats canonically equivalent keys as one.
    byName[key].flatMap { $0.name.hasSameBytes(as: key) ? $0 : nil }
  }

  /// Whether the map may have a value for a key.
  func allows(_ key: String) -> Bool { isOpen || self[key] != nil }

  /// The types of the fields, for compiling expressions.
  var types: [String: FieldType] { byName.mapValues(\.type) }

  // MARK: - Values from callers

  /// The values with the declared types. Throws for a value that is not declared or does not fit.
  ///
  /// - Parameters:
  ///   - path: The place of the map in the request.
  ///   - hint: The hint for a key that is not declared. If nil, the hint has the names that are
  ///     near it.
  func fitted(
    _ map: ValueMap, path: @autoclosure () -> String, hint: (String) -> String? = { _ in nil }
  ) throws(StoreError) -> ValueMap {
    var result = map
    for entry in map.entries {
      guard let field = self[entry.key] else {
        if isOpen { continue }
        throw .invalid(
          field: "\(path())[\(entry.key)]",
          description: "\(place.refusal); "
            + (hint(entry.key) ?? entry.key.hint(among: list.map(\.name))))
      }
      let value = try field.fitted(entry.value, path: "\(path())[\(entry.key)]")
      if value != entry.value { result[entry.key] = value }
    }
    return result
  }

  /// Throws if a required value is missing or null.
  func checkRequired(
    _ map: ValueMap, path: @autoclosure () -> String
  ) throws(StoreError) {
    for field in list where field.isRequired && (map[field.name] ?? .null) == .null {
      throw .invalid(
        field: "\(path())[\(field.name)]",
        description: "\(place.need), of type \(field.type)." + place.help(field))
    }
  }

  /// The map with defaults for the missing keys, of all fields or of some.
  func withDefaults(_ map: ValueMap, only keys: [String]? = nil) -> ValueMap {
    var result = map
    func add(_ field: Field) {
      guard let value = field.defaultValue, result[field.name] == nil else { return }
      result[field.name] = value
    }
    if let keys {
      for key in keys { self[key].map(add) }
    } else {
      for field in byName.values { add(field) }
    }
    return result
  }

  // MARK: - Values from a former declaration

  /// The changes that make a widget's values fit; see `KindSchema.conforming`.
  ///
  /// - Parameter declared: The value that the field's manager declares, if it fits.
  func conforming(
    _ map: ValueMap, declared: (String) -> Value?
  ) -> (set: ValueMap, unset: [String]) {
    var set: ValueMap = [:]
    var unset: [String] = []
    for entry in map.entries {
      guard let field = self[entry.key] else {
        if !isOpen { unset.append(entry.key) }
        continue
      }
      if let value = field.fitted(entry.value) {
        if value != entry.value { set[entry.key] = value }
      } else if let value = declared(entry.key) ?? field.defaultValue {
        set[entry.key] = value
      } else {
        unset.append(entry.key)
      }
    }
    for (key, field) in byName where map[key] == nil {
      if let value = field.defaultValue { set[key] = value }
    }
    return (set, unset)
  }

  /// The values that fit, and defaults for the others.
  ///
  /// - Parameter lose: Gets each value that does not fit. Null does not count.
  func conforming(_ map: ValueMap, lose: (String, Value) -> Void) -> ValueMap {
    var values = map
    for entry in map.entries {
      let field = self[entry.key]
      if field == nil, isOpen { continue }
      let value = field?.fitted(entry.value)
      if value == nil, entry.value != .null { lose(entry.key, entry.value) }
      values[entry.key] = value
    }
    return withDefaults(values)
  }

  /// The defaults that differ from those of a former declaration: by key, the former and the new
  /// one.
  func newDefaults(since former: DeclaredFields) -> [(key: String, old: Value, new: Value)] {
    byName.compactMap { key, field in
      guard let new = field.defaultValue, let old = former[key]?.defaultValue, old != new else {
        return nil
      }
      return (key, old, new)
    }
  }
}

extension Field {
  /// The value with the declared type.
  func fitted(_ value: Value, path: @autoclosure () -> String) throws(StoreError) -> Value {
    guard let fitted = type.fitted(value) else {
      throw .invalid(
        field: path(), description: "Expected a value of type \(type), not \(value.typeName).")
    }
    guard takes(fitted) else {
      throw .invalid(field: path(), description: "Use one of: \(choiceWords).")
    }
    return fitted
  }

  /// The choices, for people.
  var choiceWords: String {
    choices.map { ExpressionValue($0).text ?? $0.typeName }.joined(separator: ", ")
  }
}

extension String {
  /// The hint for an unknown name: the nearest known name, or all known ones.
  func hint(among names: [String]) -> String {
    if let closest = bareName(among: names) ?? closest(among: names) {
      return "did you mean \"\(closest)\"?"
    }
    guard !names.isEmpty else { return "it has none." }
    let listed = names.prefix(12).joined(separator: ", ")
    return "there is: \(listed)\(names.count > 12 ? ", …" : "")."
  }

  /// The known name in a path such as `data.n`, as paths of other requests have it.
  private func bareName(among names: [String]) -> String? {
    for scope in ["data.", "parameters.", "payload.", "entry."] where hasPrefix(scope) {
      let bare = String(dropFirst(scope.count))
      return names.contains(bare) ? bare : bare.closest(among: names)
    }
    return nil
  }
}
