import WidgetBundle
import WidgetModel

// The content of kinds, as `describe` prints it. A node is an object of its `type`, `id`, `if`,
// `rows`, `children`, and its properties; text that begins with `=` is an expression. `==` stands
// for a text that begins with `=`.

extension ContentTemplate {
  var document: Value {
    var map: ValueMap = ["root": root.document]
    if !families.isEmpty { map["families"] = .list(families.map { .string($0.name) }) }
    return .map(map)
  }
}

extension NodeTemplate {
  fileprivate var document: Value {
    var map: ValueMap = ["type": .string(type.name), "id": .string(id)]
    if !condition.isEmpty { map["if"] = .string(condition) }
    if let rows {
      var fields: ValueMap = ["list": .string(rows.list), "as": .string(rows.name)]
      if !rows.key.isEmpty { fields["key"] = .string(rows.key) }
      map["rows"] = .map(fields)
    }
    for (name, binding) in properties { map[name] = binding.document }
    if !children.isEmpty { map["children"] = .list(children.map(\.document)) }
    if let events { map["events"] = .list(events.map { .string($0) }) }
    return .map(map)
  }
}

extension Binding {
  private static func mapTexts(of value: Value, _ change: (String) -> String) -> Value {
    switch value {
    case .string(let text): .string(change(text))
    case .list(let values): .list(values.map { mapTexts(of: $0, change) })
    case .map(let map):
      .map(
        ValueMap(map.entries.map { .init(key: $0.key, value: mapTexts(of: $0.value, change)) }))
    default: value
    }
  }

  fileprivate var document: Value {
    let constant = value.map {
      Binding.mapTexts(of: $0) { $0.utf8.first == UInt8(ascii: "=") ? "=\($0)" : $0 }
    }
    guard !expression.isEmpty else {
      // A map with these names does not count as a binding.
      if case .map(let map)? = constant, map["value"] != nil {
        return .map(["value": .map(map)])
      }
      return constant ?? .null
    }
    guard let constant else { return .string("=\(expression)") }
    return .map(["value": .string("=\(expression)"), "placeholder": constant])
  }
}
