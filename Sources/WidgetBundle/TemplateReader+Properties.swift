import WidgetExpression
import WidgetModel

/// The sources of the values of a node's properties.
extension TemplateReader {
  func readProperties(
    _ object: Object, _ type: NodeType, _ main: Item?, _ node: inout NodeTemplate,
    _ variables: Variables, isField: Bool
  ) {
    if let name = type.mainProperty, let main {
      var isChildren = false
      if case .list = main.node.content { isChildren = type.isContainer }
      if !isChildren, let property = type.property(name) {
        if object.has(name), name != type.name {
          reading.report(main, "\"\(name)\" is in two places", hint: "keep one of them")
        }
        node.properties[name] = binding(main, property, type, variables)
      }
    }
    let structure: Set<String> = ["type", "id", "if", "rows", "children", "on"]
    for key in ObjectShape.node.keys where object.has(key) && !structure.contains(key) {
      // Reported below.
      if key == "maxLength", !isField { continue }
      if NodeType(name: key) != nil, !object.has("type") { continue }
      guard let item = object[key] else { continue }
      guard let property = type.property(key) else {
        let names = type.allProperties.map(\.name)
        reading.report(
          item, "\(type.name.withArticle) has no \"\(key)\"",
          hint: reading.suggestion(key, among: names))
        continue
      }
      node.properties[key] = binding(item, property, type, variables)
    }
    if object.has("maxLength"), !isField {
      reading.report(
        object["maxLength"] ?? object.item, "only a form's input has maxLength")
    }
  }

  /// The source of a property's value: a constant, `=EXPRESSION`, or an object.
  func binding(
    _ item: Item, _ property: NodeProperty, _ nodeType: NodeType, _ variables: Variables
  ) -> Binding? {
    let type = property.type.fieldType
    if case .map(let entries) = item.node.content {
      let names = Set(entries.map(\.key))
      let isBinding = type != .any || names.contains("value") || names.contains("from")
      if isBinding, names != ["$timestamp"], names != ["$duration"] {
        return long(item, property, nodeType, variables)
      }
    }
    guard
      let template = reading.template(
        item, variables, giving: type, orText: true,
        for: "\"\(property.name)\" of \(nodeType.name.withArticle)")
    else { return nil }
    switch template {
    case .constant(let value):
      return constant(value, property, nodeType, item).map { Binding(value: $0) }
    case .expression(let expression):
      checkConstants(of: expression, property, nodeType, item)
      return Binding(expression.compiled.source)
    case .list, .map:
      checkParts(of: template, property, nodeType, item)
      return Binding(CELText.source(of: template))
    }
  }

  /// Reports constants that do not fit the property, in a list or a map with expressions.
  private func checkParts(
    of template: Template, _ property: NodeProperty, _ type: NodeType, _ item: Item
  ) {
    guard let value = Self.example(of: template, property.type) else { return }
    _ = constant(value, property, type, item)
  }

  /// The value with fitting values in place of expressions. Nil if the type has no known parts.
  ///
  /// - Parameter key: the key of the part in its map; nil for the whole value and for elements.
  private static func example(
    of template: Template, _ type: PropertyType, key: String? = nil
  ) -> Value? {
    switch template {
    case .constant(let value): return value
    case .expression:
      switch type {
      case .edges: return .double(0)
      case .separator: return key == "color" ? .string("#000000") : .double(0)
      case .accessory: return .string("")
      case .runs, .columns: return key == nil ? .string("") : .null
      case .field, .whole, .number, .choice, .color, .length, .font: return nil
      }
    case .list(let parts):
      let values = parts.compactMap { example(of: $0, type) }
      return values.count == parts.count ? .list(values) : nil
    case .map(let entries):
      let values = entries.compactMap { entry in
        example(of: entry.value, type, key: entry.key).map {
          ValueMap.Entry(key: entry.key, value: $0)
        }
      }
      return values.count == entries.count ? .map(ValueMap(values)) : nil
    }
  }

  /// A constant with the property's type. If it does not fit, reports that and returns nil.
  private func constant(
    _ value: Value, _ property: NodeProperty, _ type: NodeType, _ item: Item
  ) -> Value? {
    do throws(PropertyMismatch) { return try fitted(value, property, type) } catch {
      reading.report(item, error.message, hint: error.hint)
      return nil
    }
  }

  private func fitted(
    _ value: Value, _ property: NodeProperty, _ type: NodeType
  ) throws(PropertyMismatch) -> Value {
    // Names of parts begin with the property's name: `runs[2].weight`.
    if let problem = property.patternProblem(value) {
      throw PropertyMismatch(message: problem, hint: "")
    }
    if let problem = property.zoneProblem(value, in: reading.timeZones) {
      guard case .string(let zone) = value,
        let near = TimeZoneRules.suggestion(for: zone, in: reading.timeZones)
      else { throw problem }
      throw PropertyMismatch(message: problem.message, hint: "did you mean \(near)?")
    }
    let hasParts = property.type == .runs || property.type == .columns
    return try property.type.fitted(
      value, as: hasParts ? property.name : "\(property.name) of \(type.name.withArticle)")
  }

  /// Reports branches of an expression, such as `"bloo"` in `data.isOn ? "red" : "bloo"`, that do
  /// not fit the property.
  private func checkConstants(
    of expression: Expression, _ property: NodeProperty, _ type: NodeType, _ item: Item
  ) {
    for result in expression.compiled.constantResults {
      // A number is shown as text where text is wanted.
      let text = property.type == .field(.string) ? result.value.text : nil
      guard let value = text.map({ Value.string($0) }) ?? Value(result.value) else { continue }
      do throws(PropertyMismatch) { _ = try fitted(value, property, type) } catch {
        reading.report(
          item, at: result.offset, of: expression.compiled.source, error.message, hint: error.hint)
      }
    }
  }

  /// `from` (or `value`) comes first. Then `if` chooses between `then` and `else`, `transform` and
  /// `format` convert the value, and `placeholder` replaces a missing value or a failure. Without
  /// `if`, `then` is the new value.
  private func long(
    _ item: Item, _ property: NodeProperty, _ nodeType: NodeType, _ variables: Variables
  ) -> Binding? {
    guard let object = reading.object(item, .binding) else { return nil }
    let type = property.type.fieldType
    let hasMore = ["if", "then", "else", "transform", "format"].contains { object.has($0) }
    let purpose = "\"\(property.name)\""
    let wanted = hasMore ? nil : type
    if object.has("from"), object.has("value") {
      reading.report(item, "\"value\" and \"from\" mean the same", hint: "keep one of them")
    }
    // Nil after a mistake. The other parts are read all the same, so that their mistakes are
    // reported, too.
    var source: String?
    var valueType = ExpressionType.dyn
    var dataKeys: Set<String> = []
    if let fromItem = object["from"] {
      let from = reading.expression(
        fromItem, variables, giving: wanted, orText: true, for: purpose)
      if let from {
        (source, valueType) = (from.compiled.source, from.compiled.resultType)
        dataKeys = from.compiled.dataKeys
        if !hasMore { checkConstants(of: from, property, nodeType, fromItem) }
      }
    } else if let valueItem = object["value"] {
      let value = reading.template(
        valueItem, variables, giving: wanted, orText: true, for: purpose)
      if case .constant(let value)? = value, !hasMore {
        return constant(value, property, nodeType, valueItem).map { Binding(value: $0) }
      }
      if case .expression(let expression)? = value {
        (source, valueType) = (expression.compiled.source, expression.compiled.resultType)
        if !hasMore { checkConstants(of: expression, property, nodeType, valueItem) }
        dataKeys = expression.compiled.dataKeys
      } else if let value {
        source = CELText.source(of: value)
        if !hasMore { checkParts(of: value, property, nodeType, valueItem) }
      }
    } else {
      reading.report(item, "the value is missing", hint: "add value: =EXPRESSION")
      return nil
    }
    if hasMore {
      let inner = variables.adding("value", valueType)
      let body = body(object, item, property, nodeType, inner)
      // Nothing goes straight to the placeholder.
      source = source.flatMap { source in
        body.map { body in
          "cel.bind(value, \(CELText.wrapped(source)), "
            + "dyn(value) == null ? dyn(null) : dyn(\(body)))"
        }
      }
    }
    guard let source else { return nil }
    var binding = Binding(source)
    if let item = object["placeholder"] {
      placeholderKeys.formUnion(dataKeys)
      if type == .string, case .scalar(let text, isPlain: true) = item.node.content {
        binding.value = .string(text.droppingEscape)
      } else if let value = reading.constant(item) {
        binding.value = reading.fitted(value, type, item)
      }
      binding.value = binding.value.flatMap { constant($0, property, nodeType, item) }
    }
    return binding
  }

  private func body(
    _ object: Object, _ item: Item, _ property: NodeProperty, _ nodeType: NodeType,
    _ variables: Variables
  ) -> String? {
    let (type, purpose) = (property.type.fieldType, "\"\(property.name)\"")
    let wanted = object.has("format") || object.has("transform") ? nil : type
    // Nil after a mistake, as in `long`.
    var source: String? = "value"
    if let item = object["if"] {
      let condition = reading.expression(item, variables, giving: .bool)
      let test = condition.map { CELText.wrapped($0.compiled.source) }
      source = test
      if object.has("then") || object.has("else") {
        let yes = branch(object["then"], wanted, property, nodeType, variables)
        let no = branch(object["else"], wanted, property, nodeType, variables)
        source = nil
        if let test, let yes, let no { source = "\(test) ? dyn(\(yes)) : dyn(\(no))" }
      } else if let wanted, wanted != .string, !ExpressionType.bool.mayFit(wanted) {
        reading.report(
          item,
          "without then and else this gives true or false, but \(purpose) is of type "
            + "\(wanted)", hint: "add then: and else:")
        source = nil
      }
    } else if let item = object["else"] {
      reading.report(item, "\"else\" needs an \"if\" beside it", hint: "add if: EXPRESSION")
      source = nil
    } else if object.has("then") {
      source = branch(object["then"], wanted, property, nodeType, variables)
    }
    if let item = object["transform"] {
      let transformed = transformed(source, by: item, variables)
      source = transformed?.source
      if let transformed, !object.has("format"), !transformed.type.mayFit(type),
        !(type == .string && transformed.type.hasText)
      {
        reading.report(
          item, "the transform gives \(transformed.type), but \(purpose) is of type \(type)")
        source = nil
      }
    }
    guard let formatItem = object["format"], let format = reading.text(formatItem) else {
      return source
    }
    let text = formatted(format.droppingEscape, formatItem)
    if ExpressionType.string.mayFit(type) == false {
      reading.report(formatItem, "format makes text, but \(purpose) is of type \(type)")
      return nil
    }
    guard let source, let text else { return nil }
    return "cel.bind(shown, dyn(\(source)), shown == null ? dyn(null) : dyn(\(text)))"
  }

  /// - Parameter wanted: nil if the value is not the property's yet, because of `format` or
  ///   `transform`.
  private func branch(
    _ item: Item?, _ wanted: FieldType?, _ property: NodeProperty, _ nodeType: NodeType,
    _ variables: Variables
  ) -> String? {
    guard let item else { return "null" }
    let template = reading.template(
      item, variables, giving: wanted, orText: true, for: "\"\(property.name)\"")
    guard let template else { return nil }
    if wanted != nil {
      switch template {
      case .constant(let value):
        guard constant(value, property, nodeType, item) != nil else { return nil }
      case .expression(let expression): checkConstants(of: expression, property, nodeType, item)
      case .list, .map: checkParts(of: template, property, nodeType, item)
      }
    }
    return CELText.source(of: template)
  }

  /// `%@` is the value, `%%` a percent sign; other characters are literal, and other `%` sequences
  /// are errors.
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
          item, "in a format, @ or % must follow %", hint: "write %% for a percent sign")
        return nil
      }
    }
    if !text.isEmpty || parts.isEmpty { parts.append(CELText.literal(.string(text))) }
    return parts.joined(separator: " + ")
  }
}

extension CompiledExpression {
  /// The keys of `data` for which the expression can fail if they are null. `data.KEY == null`, and
  /// tests whether `data` has the key, cannot fail.
  fileprivate var dataKeys: Set<String> {
    var keys: Set<String> = []
    for use in uses where use.reference.variable == "data" {
      let path = use.reference.path
      guard case .field(let key)? = path.first, use.kind == .value || path.count > 1 else {
        continue
      }
      keys.insert(key)
    }
    return keys
  }
}
