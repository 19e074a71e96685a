import WidgetExpression
public import WidgetModel

/// Fields: names with types, defaults and descriptions.
extension Reading {
  /// Objects by name, or a list of them.
  func fields(_ item: Item?, of what: String, mayBeRequired: Bool) -> [Field] {
    guard let item else { return [] }
    var fields: [Field] = []
    func add(_ field: Field?, _ item: Item) {
      guard let field else { return }
      guard !fields.contains(where: { $0.name == field.name }) else {
        report(item, "\"\(field.name)\" appears twice")
        return
      }
      var complete = field
      // The default of an unknown value is null, so expressions need not check whether the value
      // exists.
      if !mayBeRequired, form == .short, field.defaultValue == nil {
        complete.defaultValue = .null
      }
      fields.append(complete)
    }
    if case .list(let elements) = item.node.content {
      for (index, element) in elements.enumerated() {
        let item = item.element(index, element)
        guard let object = object(item, .field) else { continue }
        guard let nameItem = object["name"], let name = text(nameItem) else {
          reportMissing(
            "name", of: object, "the name is missing", hint: "add name: NAME")
          continue
        }
        add(field(object, name: name, at: nameItem, mayBeRequired: mayBeRequired), nameItem)
      }
    } else {
      for entry in entries(item, of: what) ?? [] {
        add(field(entry, mayBeRequired: mayBeRequired), entry.nameItem)
      }
    }
    return fields
  }

  /// A name and an object, or a name and its default, which gives the type.
  private func field(_ entry: Named, mayBeRequired: Bool) -> Field? {
    // `{}` is the default of a map, as `[]` is that of a list.
    if case .map(let entries) = entry.item.node.content,
      mayBeRequired || form == .long || !entries.isEmpty
    {
      guard let object = object(entry.item, .field) else { return nil }
      if let item = object["name"] {
        report(item, "the key is already the name", hint: "leave out name")
      }
      return field(object, name: entry.name, at: entry.nameItem, mayBeRequired: mayBeRequired)
    }
    guard checkName(entry.name, entry.nameItem), let value = constant(entry.item) else {
      return nil
    }
    if case .string(let text) = value, FieldType(text) != nil {
      remark(
        entry.item, "\"\(text)\" is a text here, the default of \"\(entry.name)\", and not a type",
        hint: "write {type: \(text)} for the type, or {default: \(text)} for this text")
    }
    let type: FieldType =
      switch value {
      case .null: .any
      case .bool: .bool
      case .int: .int
      case .double: .double
      case .list: .list(.any)
      case .bytes: .bytes
      case .timestamp: .timestamp
      case .duration: .duration
      case .map: .map(.any)
      case .string: .string
      }
    return Field(name: entry.name, type: type, defaultValue: value)
  }

  private func checkName(_ name: String, _ item: Item) -> Bool {
    if name.isFieldName { return true }
    report(
      item, "\"\(name.prefix(70))\" is not a name that expressions can use",
      hint: name.fieldNameHint)
    return false
  }

  private func field(
    _ object: Object, name: String, at nameItem: Item, mayBeRequired: Bool
  ) -> Field? {
    guard checkName(name, nameItem) else { return nil }
    var field = Field(name: name)
    let defaultValue = object["default"].flatMap { item in
      constant(item).map { (value: $0, item: item) }
    }
    if let item = object["type"], let text = text(item) {
      guard let type = FieldType(text) else {
        report(
          item, "\"\(text.prefix(60))\" is not a type",
          hint: "use bool, int, double, string, bytes, timestamp, duration, list(TYPE), "
            + "map(string, TYPE) or dyn")
        return field
      }
      field.type = type
    }
    if let (value, item) = defaultValue {
      field.defaultValue = fitted(value, field.type, item)
    } else if form == .long, object.has("default"), object["default"] == nil {
      // `describe` prints the default null, which differs from none.
      field.defaultValue = .null
    }
    if form == .short, let item = object["choices"], case .list(let values) = item.node.content,
      values.isEmpty
    {
      report(
        item, "the list of choices is empty, so the field could have no value",
        hint: "list the values, or leave out choices to allow all of the type")
    }
    for item in list(object["choices"], of: "choices") {
      if let value = constant(item).flatMap({ fitted($0, field.type, item) }) {
        field.choices.append(value)
      }
    }
    if let (_, item) = defaultValue, let value = field.defaultValue, !field.takes(value) {
      report(item, "the default is not one of the choices", hint: "use \(field.choiceWords)")
    }
    field.summary = text(object["description"]) ?? ""
    field.isRequired = bool(object["required"]) ?? false
    if field.isRequired, let item = object["required"] {
      if !mayBeRequired, form == .short {
        report(
          item, "a widget can exist before its data, so data cannot be required",
          hint: "give the field a default")
      } else if field.defaultValue != nil {
        report(item, "a field with a default cannot be required", hint: "leave out required")
      }
    }
    return field
  }
}

extension Field {
  /// The choices, as people read them.
  public var choiceWords: String {
    choices.map { ExpressionValue($0).text ?? $0.typeName }.joined(separator: ", ")
  }
}
