import WidgetBundle
import WidgetModel

// The content of kinds, as documents. A node is an object of its `type`, `id`, `if`, `rows`,
// `children`, and its properties; text that begins with `=` is an expression (`==` for text that
// really does).

extension ContentTemplate {
  private static let fields = ["families", "root"]

  static func read(_ value: Value) throws(FieldFailure) -> ContentTemplate {
    guard case .map(let map) = value else {
      throw FieldFailure("", "must be a template: families, root")
    }
    try map.onlyHas(fields)
    guard let root = map["root"] else { throw FieldFailure("root", "is missing") }
    return ContentTemplate(
      families: try map.list("families", Family.read),
      root: try NodeTemplate.read(root, at: "root", depth: 0))
  }

  var document: Value {
    var map: ValueMap = ["root": root.document]
    if !families.isEmpty { map["families"] = .list(families.map { .string($0.name) }) }
    return .map(map)
  }
}

extension Family {
  static func read(_ value: Value) throws(FieldFailure) -> Family {
    guard case .string(let text) = value, let family = Family(name: text) else {
      throw FieldFailure("", "must be \(Family.names)")
    }
    return family
  }
}

extension NodeTemplate {
  private static let fields: Set<String> = ["type", "id", "if", "rows", "children", "events"]

  fileprivate static func read(
    _ value: Value, at place: String, depth: Int
  ) throws(FieldFailure) -> NodeTemplate {
    do throws(FieldFailure) { return try read(value, depth: depth) } catch {
      throw error.inside(place)
    }
  }

  private static func read(_ value: Value, depth: Int) throws(FieldFailure) -> NodeTemplate {
    guard depth < NodeTemplate.depthMax else {
      throw FieldFailure("", "nodes may be nested \(NodeTemplate.depthMax) deep at most")
    }
    guard case .map(let map) = value else {
      throw FieldFailure("", "must be a node: type, id, …")
    }
    let typeName = try map.required("type")
    guard let type = NodeType(name: typeName) else {
      let names = NodeType.allCases.map(\.name)
      throw FieldFailure(
        "type",
        typeName.closest(among: names).map { "is not a type of node; did you mean \($0)?" }
          ?? "must be one of \(names.joined(separator: ", "))")
    }
    var node = NodeTemplate(id: try map.required("id"), type: type)
    node.condition = try map.expression("if") ?? ""
    let rows = try map.object("rows")
    if !rows.isEmpty {
      try rows.onlyHas(["list", "as", "key"])
      node.rows = RowTemplate(
        list: try rows.expression("list") ?? "", name: try rows.text("as") ?? "item",
        key: try rows.expression("key") ?? "")
    }
    node.children = try map.list("children") { (child) throws(FieldFailure) in
      try read(child, depth: depth + 1)
    }
    if map["events"] != nil {
      node.events = try map.list("events") { (event) throws(FieldFailure) in
        guard case .string(let name) = event else {
          throw FieldFailure("", "must be an event's name: events: [press]")
        }
        return name
      }
    }
    for entry in map.entries where !fields.contains(entry.key) {
      do throws(FieldFailure) {
        node.properties[entry.key] = try Binding.read(
          entry.value, type: type.property(entry.key)?.type.fieldType)
      } catch {
        throw error.inside(entry.key)
      }
    }
    return node
  }

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
  fileprivate static func read(_ value: Value, type: FieldType?) throws(FieldFailure) -> Binding {
    if let expression = expression(in: value) { return Binding(expression) }
    // `value` and `placeholder` are a binding; other maps and lists may have expressions in them.
    if case .map(let map) = value, let inner = map["value"],
      map.keys.allSatisfy({ ["value", "placeholder"].contains($0) })
    {
      let placeholder = try map["placeholder"].map { (value) throws(FieldFailure) in
        try constant(value, type, at: "placeholder")
      }
      if let expression = expression(in: inner) {
        return Binding(expression, placeholder: placeholder)
      }
      if hasExpression(inner) {
        return Binding(try source(of: inner, at: "value"), placeholder: placeholder)
      }
      return Binding(value: try constant(inner, type, at: "value"))
    }
    if hasExpression(value) { return Binding(try source(of: value, at: "")) }
    return Binding(value: try constant(value, type, at: ""))
  }

  /// Whether a list or a map has an expression in it, however deep.
  private static func hasExpression(_ value: Value) -> Bool {
    switch value {
    case .list(let values): values.contains(where: hasExpression)
    case .map(let map): map.entries.contains { hasExpression($0.value) }
    default: expression(in: value) != nil
    }
  }

  /// The expression that gives a list or a map of expressions and constants.
  private static func source(of value: Value, at place: String) throws(FieldFailure) -> String {
    if let expression = expression(in: value) { return CELText.wrapped(expression) }
    guard hasExpression(value) else { return CELText.literal(try constant(value, nil, at: place)) }
    var parts: [String] = []
    switch value {
    case .list(let values):
      for (index, value) in values.enumerated() {
        parts.append(try source(of: value, at: "\(place)[\(index)]"))
      }
      return "[\(parts.joined(separator: ", "))]"
    case .map(let map):
      for entry in map.entries {
        let value = try source(
          of: entry.value, at: place.isEmpty ? entry.key : "\(place).\(entry.key)")
        parts.append("\(CELText.literal(.string(entry.key))): \(value)")
      }
      return "{\(parts.joined(separator: ", "))}"
    default: return CELText.literal(value)
    }
  }

  private static func expression(in value: Value) -> String? {
    guard case .string(let text) = value, text.utf8.first == UInt8(ascii: "="),
      text.utf8.dropFirst().first != UInt8(ascii: "=")
    else { return nil }
    return String(text.dropFirst())
  }

  private static func constant(
    _ value: Value, _ type: FieldType?, at place: String
  ) throws(FieldFailure) -> Value {
    do throws(DataDocument.Failure) {
      let value = try DataDocument.untagged(unescaped(value))
      return type?.fitted(value) ?? value
    } catch {
      throw FieldFailure(place, "\(error)")
    }
  }

  /// Text that begins with `==` begins with `=`, at any depth.
  private static func unescaped(_ value: Value) -> Value {
    mapTexts(of: value) { $0.utf8.starts(with: "==".utf8) ? String($0.dropFirst()) : $0 }
  }

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
