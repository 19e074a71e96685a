import WidgetModel

/// The content of a kind in the long form. A node is an object of its `type`, `id`, `if`, `rows`,
/// `children`, `events`, and its properties. The daemon knows the properties.
extension KindReader {
  func longTemplate(_ item: Item) -> ContentTemplate? {
    guard let object = reading.object(item, .longTemplate) else { return nil }
    let families = reading.families(reading.texts(object["families"], of: "families"))
    guard let root = object["root"] else {
      reading.reportMissing(
        "root", of: object, "the root is missing", hint: "add root: {type: TYPE, id: ID}")
      return nil
    }
    return longNode(root, depth: 0).map { ContentTemplate(families: families, root: $0) }
  }

  private func longNode(_ item: Item, depth: Int) -> NodeTemplate? {
    guard depth < NodeTemplate.depthMax else {
      reading.report(
        item, "the content has too many nodes inside one another",
        hint: "it can be \(NodeTemplate.depthMax) deep")
      return nil
    }
    guard let object = reading.object(item, .longNode), required("type", object) != nil,
      let id = required("id", object),
      let type = reading.choice(
        object["type"], "type of node", NodeType.allCases.map { (name: $0.name, value: $0) })
    else { return nil }
    var node = NodeTemplate(id: id, type: type)
    node.condition = expressionText(object["if"])
    node.rows = object["rows"].flatMap { longRows($0) }
    node.children = reading.list(object["children"], of: "nodes").compactMap {
      longNode($0, depth: depth + 1)
    }
    if let item = object["events"] {
      node.events = reading.texts(item, of: "events").map(\.text)
    }
    for entry in reading.entries(item, of: "properties") ?? []
    where !object.shape.keys.contains(entry.name) {
      let type = type.property(entry.name)?.type.fieldType
      node.properties[entry.name] = longBinding(entry.item, type)
    }
    return node
  }

  private func longRows(_ item: Item) -> RowTemplate? {
    guard let object = reading.object(item, .rows) else { return nil }
    var rows = RowTemplate(list: expressionText(object["list"]))
    if let name = reading.text(object["as"]) { rows.name = name }
    rows.key = expressionText(object["key"])
    return rows
  }

  // MARK: - Bindings

  /// A constant, or `=EXPRESSION` at any depth. `value` and `placeholder` are a binding too.
  private func longBinding(_ item: Item, _ type: FieldType?) -> Binding? {
    if let expression = LongBinding.expression(in: item.node.value) { return Binding(expression) }
    if case .map(let entries) = item.node.content,
      let inner = entries.first(where: { $0.key == "value" }),
      entries.allSatisfy({ ["value", "placeholder"].contains($0.key) })
    {
      let inner = Item(node: inner.value, path: "\(item.path).value")
      let placeholder = entries.first { $0.key == "placeholder" }.flatMap { entry in
        longConstant(Item(node: entry.value, path: "\(item.path).placeholder"), type)
      }
      guard let source = source(of: inner) else {
        return longConstant(inner, type).map { Binding(value: $0) }
      }
      return Binding(source, placeholder: placeholder)
    }
    if let source = source(of: item) { return Binding(source) }
    return longConstant(item, type).map { Binding(value: $0) }
  }

  /// The expression for a value with expressions in it. Nil for a constant.
  private func source(of item: Item) -> String? {
    let value = item.node.value
    if let expression = LongBinding.expression(in: value) { return expression }
    return LongBinding.hasExpression(value) ? part(of: item) : nil
  }

  /// A part of an expression: a list or a map of expressions and constants.
  private func part(of item: Item) -> String {
    let value = item.node.value
    if let expression = LongBinding.expression(in: value) { return CELText.wrapped(expression) }
    guard LongBinding.hasExpression(value) else {
      return CELText.literal(longConstant(item, nil) ?? .null)
    }
    switch item.node.content {
    case .scalar: return CELText.literal(value)
    case .list(let elements):
      let parts = elements.enumerated().map { part(of: item.element($0, $1)) }
      return "[\(parts.joined(separator: ", "))]"
    case .map(let entries):
      let parts = entries.sorted {
        $0.key.utf8.lexicographicallyPrecedes($1.key.utf8)
      }.map { entry in
        let value = part(of: Item(node: entry.value, path: "\(item.path).\(entry.key)"))
        return "\(CELText.literal(.string(entry.key))): \(value)"
      }
      return "{\(parts.joined(separator: ", "))}"
    }
  }

  private func longConstant(_ item: Item, _ type: FieldType?) -> Value? {
    guard let value = reading.printedConstant(item) else { return nil }
    let unescaped = LongBinding.unescaped(value)
    return type?.fitted(unescaped) ?? unescaped
  }
}

/// Texts of templates in the long form: `=` begins an expression, and `==` a text with `=`.
private enum LongBinding {
  static func expression(in value: Value) -> String? {
    guard case .string(let text) = value, text.utf8.first == UInt8(ascii: "="),
      text.utf8.dropFirst().first != UInt8(ascii: "=")
    else { return nil }
    return String(text.dropFirst())
  }

  /// Whether a list or a map has an expression in it, however deep.
  static func hasExpression(_ value: Value) -> Bool {
    switch value {
    case .list(let values): values.contains(where: hasExpression)
    case .map(let map): map.entries.contains { hasExpression($0.value) }
    default: expression(in: value) != nil
    }
  }

  /// Replaces `==` at the beginning of texts by `=`, at any depth.
  static func unescaped(_ value: Value) -> Value {
    switch value {
    case .string(let text):
      .string(text.utf8.starts(with: "==".utf8) ? String(text.dropFirst()) : text)
    case .list(let values): .list(values.map(unescaped))
    case .map(let map):
      .map(ValueMap(map.entries.map { .init(key: $0.key, value: unescaped($0.value)) }))
    default: value
    }
  }
}

extension ObjectShape {
  fileprivate static let longTemplate = ObjectShape(
    "template", "Content of a widget, for some families.",
    [
      Key("families", .list(.words(Family.allCases.map(\.name))), "Families. Default: all others."),
      Key("root", .shape("node"), "The node at the top.", isRequired: true),
    ])

  fileprivate static let longNode = ObjectShape(
    "node", node.summary,
    [
      Key("type", .words(NodeType.allCases.map(\.name)), "Type.", isRequired: true),
      Key("id", .text, "Id.", isRequired: true), Key("if", .expression, "Condition."),
      Key("rows", .shape("rows"), "Rows."), Key("children", .list(.shape("node")), "Child nodes."),
      Key("events", .list(.text), "Events that the node takes."),
    ], others: .template)
}
