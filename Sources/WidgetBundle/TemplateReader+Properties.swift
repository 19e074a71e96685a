import WidgetExpression
import WidgetModel

/// The bindings of a node's properties.
extension TemplateReader {
  func readProperties(
    _ object: Object, _ type: NodeType, _ main: Item?, _ node: inout NodeTemplate,
    _ variables: Variables, isField: Bool
  ) {
    if let name = TemplateReader.mainProperty(type), let main {
      var isChildren = false
      if case .list = main.node.content { isChildren = type.isContainer }
      if !isChildren, let propertyType = type.property(name) {
        if object.has(name), name != type.name {
          reading.report(main, "\"\(name)\" stands in two places", hint: "keep one of them")
        }
        node.properties[name] = binding(main, name, propertyType, type, variables)
      }
    }
    let structure: Set<String> = ["type", "id", "if", "rows", "children", "on", "maxLength"]
    for key in ObjectShape.node.keys where object.has(key) && !structure.contains(key) {
      if NodeType(name: key) != nil, !object.has("type") { continue }
      guard let item = object[key] else { continue }
      guard let propertyType = type.property(key) else {
        let names = (type.properties + NodeType.common).map(\.name)
        reading.report(
          item, "a \(type.name) has no \"\(key)\"", hint: reading.suggestion(key, among: names))
        continue
      }
      // In a form, minLength limits the submitted value; it does not tell when to send changes.
      if isField, key == "minLength" { continue }
      node.properties[key] = binding(item, key, propertyType, type, variables)
    }
    if object.has("maxLength"), !isField {
      reading.report(
        object["maxLength"] ?? object.item, "only a form's input has maxLength")
    }
  }

  /// The binding of a property: a constant, `=EXPRESSION`, or an object.
  func binding(
    _ item: Item, _ name: String, _ type: FieldType, _ nodeType: NodeType, _ variables: Variables
  ) -> Binding? {
    if case .map(let entries) = item.node.content {
      let names = Set(entries.map(\.key))
      let isBinding = type != .any || names.contains("value") || names.contains("from")
      if isBinding, names != ["$timestamp"], names != ["$duration"] {
        return long(item, name, type, variables)
      }
    }
    guard
      let template = reading.template(
        item, variables, giving: type, orText: true, for: "\"\(name)\" of a \(nodeType.name)")
    else { return nil }
    switch template {
    case .constant(let value):
      check(value, name, nodeType, item)
      return Binding(value: value)
    case .expression(let expression): return Binding(expression.compiled.source)
    case .list, .map: return Binding(CELText.source(of: template))
    }
  }

  /// Reports text of a property that takes only some words, if it is none of them.
  private func check(_ value: Value, _ name: String, _ type: NodeType, _ item: Item) {
    guard case .string(let text) = value else { return }
    let words: [String]
    switch (type, name) {
    case (_, "align"): words = ["start", "center", "end", "fill"]
    case (_, "accessory"): words = ["none", "disclosure", "activity", "checkmark"]
    case (.image, "mode"): words = ["fit", "fill", "center"]
    case (.button, "style"): words = ["plain", "primary", "destructive"]
    case (.input, "mode"): words = ["text", "multiline", "number", "search", "secret", "file"]
    case (.chart, "style"): words = ["line", "bar"]
    case (.stack, "axis"): words = ["vertical", "horizontal"]
    case (.stack, "distribution"): words = ["start", "center", "end", "fill", "equal"]
    case (.date, "style"): words = ["date", "time", "datetime", "relative", "timer"]
    case (_, "color"), (_, "background"), (_, "tint"):
      let digits = text.dropFirst()
      let isNumber =
        text.hasPrefix("#") && [6, 8].contains(digits.count)
        && digits.allSatisfy { $0.isASCII && $0.isHexDigit }
      guard !isNumber, !TemplateReader.colorTokens.contains(text) else { return }
      reading.report(
        item, "\"\(text.prefix(40))\" is no colour",
        hint:
          "write #rrggbb, #rrggbbaa, or one of \(TemplateReader.colorTokens.joined(separator: ", "))"
      )
      return
    default: return
    }
    guard !words.contains(text) else { return }
    reading.report(
      item, "\"\(text.prefix(40))\" is no \(name) of a \(type.name)",
      hint: reading.suggestion(text, among: words))
  }

  /// A binding as an object: takes `from` (or `value`), chooses `then` or `else` by `if`, applies
  /// `transform` and `format`. `placeholder` is the result if the value is null or a part fails.
  /// Without `if`, `then` replaces the value.
  private func long(
    _ item: Item, _ name: String, _ type: FieldType, _ variables: Variables
  ) -> Binding? {
    guard let object = reading.object(item, .binding) else { return nil }
    let hasMore = ["if", "then", "else", "transform", "format"].contains { object.has($0) }
    let purpose = "\"\(name)\""
    let wanted = hasMore ? nil : type
    if object.has("from"), object.has("value") {
      reading.report(item, "\"value\" and \"from\" mean the same", hint: "keep one of them")
    }
    var source: String
    var valueType = ExpressionType.dyn
    var references: [ExpressionReference] = []
    if let fromItem = object["from"] {
      guard
        let from = reading.expression(
          fromItem, variables, giving: wanted, orText: true, for: purpose)
      else { return nil }
      (source, valueType) = (from.compiled.source, from.compiled.resultType)
      references = from.compiled.references.filter { $0.variable == "data" }
    } else if let valueItem = object["value"] {
      guard
        let value = reading.template(
          valueItem, variables, giving: wanted, orText: true, for: purpose)
      else { return nil }
      if case .constant(let value) = value, !hasMore { return Binding(value: value) }
      if case .expression(let expression) = value {
        (source, valueType) = (expression.compiled.source, expression.compiled.resultType)
        references = expression.compiled.references.filter { $0.variable == "data" }
      } else {
        source = CELText.source(of: value)
      }
    } else {
      reading.report(item, "the value is missing", hint: "add value: =EXPRESSION")
      return nil
    }
    if hasMore {
      let inner = variables.adding("value", valueType)
      guard let body = body(object, item, type, purpose, inner) else { return nil }
      // Null gives the placeholder; no other part is applied.
      source =
        "cel.bind(value, \(CELText.wrapped(source)), "
        + "dyn(value) == null ? dyn(null) : dyn(\(body)))"
    }
    var binding = Binding(source)
    if let item = object["placeholder"] {
      for case .field(let key)? in references.map(\.path.first) { placeholderKeys.insert(key) }
      if type == .string, case .scalar(let text, isPlain: true) = item.node.content {
        binding.value = .string(text.droppingEscape)
      } else if let value = reading.constant(item) {
        binding.value = reading.fitted(value, type, item)
      }
    }
    return binding
  }

  private func body(
    _ object: Object, _ item: Item, _ type: FieldType, _ purpose: String, _ variables: Variables
  ) -> String? {
    let wanted = object.has("format") || object.has("transform") ? nil : type
    var source = "value"
    if let item = object["if"] {
      guard let condition = reading.expression(item, variables, giving: .bool) else { return nil }
      let test = CELText.wrapped(condition.compiled.source)
      if object.has("then") || object.has("else") {
        guard let yes = branch(object["then"], wanted, purpose, variables),
          let no = branch(object["else"], wanted, purpose, variables)
        else { return nil }
        source = "\(test) ? dyn(\(yes)) : dyn(\(no))"
      } else {
        source = test
        if let wanted, wanted != .string, !ExpressionType.bool.mayFit(wanted) {
          reading.report(
            item,
            "without then and else this gives true or false, but \(purpose) is of type "
              + "\(wanted)", hint: "add then: and else:")
          return nil
        }
      }
    } else if let item = object["else"] {
      reading.report(item, "\"else\" needs an \"if\" beside it", hint: "add if: EXPRESSION")
      return nil
    } else if object.has("then") {
      guard let value = branch(object["then"], wanted, purpose, variables) else { return nil }
      source = value
    }
    if let item = object["transform"] {
      guard let transformed = transformed(source, by: item, variables) else { return nil }
      source = transformed.source
      let isText = type == .string && transformed.type.hasText
      if !object.has("format"), !isText, !transformed.type.mayFit(type) {
        reading.report(
          item, "the transform gives \(transformed.type), but \(purpose) is of type \(type)")
        return nil
      }
    }
    guard let formatItem = object["format"], let format = reading.text(formatItem) else {
      return source
    }
    guard let text = formatted(format.droppingEscape, formatItem) else { return nil }
    if ExpressionType.string.mayFit(type) == false {
      reading.report(formatItem, "format makes text, but \(purpose) is of type \(type)")
      return nil
    }
    return "cel.bind(shown, dyn(\(source)), shown == null ? dyn(null) : dyn(\(text)))"
  }

  private func branch(
    _ item: Item?, _ wanted: FieldType?, _ purpose: String, _ variables: Variables
  ) -> String? {
    guard let item else { return "null" }
    return reading.template(item, variables, giving: wanted, orText: true, for: purpose).map {
      CELText.source(of: $0)
    }
  }

  /// The expression for a format. `%@` is the value, `%%` a percent sign; any other `%` is a
  /// mistake.
  private func formatted(_ format: String, _ item: Item) -> String? {
    var parts: [String] = []
    var text = ""
    var rest = format[...]
    while let character = rest.popFirst() {
      guard character == "%" else {
        text.append(character)
        continue
      }
      switch rest.popFirst() {
      case "%": text.append("%")
      case "@":
        if !text.isEmpty { parts.append(CELText.literal(.string(text))) }
        text = ""
        parts.append("\"%s\".format([shown])")
      default:
        reading.report(
          item, "in a format, % stands before @ or %", hint: "write %% for a percent sign")
        return nil
      }
    }
    if !text.isEmpty || parts.isEmpty { parts.append(CELText.literal(.string(text))) }
    return parts.joined(separator: " + ")
  }
}
