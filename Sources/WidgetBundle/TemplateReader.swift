import WidgetExpression
import WidgetModel

/// Reads one template of content.
final class TemplateReader {
  let kindReader: KindReader
  var reading: Reading { kindReader.reading }
  private var ids: Set<String> = []
  private var count = 0
  private var depth = 0
  private var rowDepth = 0
  /// The data keys that bindings with a placeholder read.
  var placeholderKeys: Set<String> = []

  /// The fields of a form, while its children are read.
  final class FormFields {
    var fields: [FormField] = []
  }

  init(_ kindReader: KindReader) { self.kindReader = kindReader }

  /// A node and all below it. Plain text is a label.
  func node(
    _ item: Item, _ variables: Variables, form: FormFields?, isRoot: Bool = false
  ) -> NodeTemplate? {
    count += 1
    depth += 1
    defer { depth -= 1 }
    guard depth <= NodeTemplate.depthMax, count <= NodeTemplate.nodesMax else {
      reading.report(
        item, "the content has too many nodes, or too many inside one another",
        hint: "it can have \(NodeTemplate.nodesMax), \(NodeTemplate.depthMax) deep")
      return nil
    }
    if case .scalar = item.node.content, let text = NodeType.label.property("text") {
      var node = NodeTemplate(id: kindReader.nodeIDs.next(.label), type: .label)
      node.properties["text"] = binding(item, text, .label, variables)
      return node
    }
    guard let object = reading.object(item, .node, or: " or text"),
      let (type, main) = type(of: object)
    else { return nil }
    var node = NodeTemplate(id: id(object, type), type: type)
    if type == .button { kindReader.buttons.append((node.id, object.item)) }
    var inner = variables
    let depthBefore = rowDepth
    defer { rowDepth = depthBefore }
    if let item = object["rows"] {
      if isRoot {
        reading.report(
          item, "the node at the top cannot have rows", hint: "put it into a stack or a table")
      }
      if let (rows, variables) = rows(item, variables) {
        node.rows = rows
        inner = variables
      }
      rowDepth += 1
      if rowDepth > NodeTemplate.rowDepthMax {
        reading.report(
          item, "rows can be inside one another \(NodeTemplate.rowDepthMax) deep at most")
      }
    }
    if let item = object["if"] {
      if isRoot {
        reading.report(
          item, "the node at the top cannot have a condition", hint: "put it into a stack")
      }
      // A node with rows evaluates its condition for each row.
      node.condition =
        reading.expression(item, inner, giving: .bool)?.compiled.source ?? ""
    }
    let isField = type == .input && form != nil
    readProperties(object, type, main, &node, inner, isField: isField)
    if type == .input, !object.has("mode"), let main { remarkMode(main) }
    if let form, isField || type == .toggle {
      if let field = field(object, node, main) { form.fields.append(field) }
    }

    let fields = type == .form ? FormFields() : form
    if type == .form, form != nil {
      reading.report(item, "a form cannot be in a form")
    }
    for child in children(object, type, main) {
      if let child = self.node(child, inner, form: fields) { node.children.append(child) }
    }
    for (name, mismatch) in node.contradictions {
      let isMain = name == type.mainProperty
      reading.report(
        object[name] ?? (isMain ? main : nil) ?? object.item, mismatch.message, hint: mismatch.hint)
    }
    readHandlers(object, type, node.id)
    if type == .form, let fields {
      // Steps can read the inputs even if the form is wrong, so that one mistake gives one problem.
      kindReader.inputNames.formUnion(fields.fields.map(\.name))
      checkNames(object, fields)
      if kindReader.context.hasHost { self.form(object, node.id, fields) }
    }
    return node
  }

  // MARK: - The type of a node

  private func type(of object: Object) -> (NodeType, Item?)? {
    if let item = object["type"] {
      guard
        let type = reading.choice(
          item, "type of node", NodeType.allCases.map { (name: $0.name, value: $0) })
      else { return nil }
      for other in NodeType.allCases
      where object.has(other.name) && type.property(other.name) == nil {
        reading.report(
          object[other.name] ?? object.item, "\(type.name.withArticle) has no \"\(other.name)\"",
          hint: "write either type: or \(other.name):")
      }
      return (type, nil)
    }
    let types = NodeType.allCases.filter { object.has($0.name) }
    guard let type = types.first else {
      // The unknown key has a problem already.
      guard !object.misspells(NodeType.allCases.map(\.name)) else { return nil }
      reading.report(
        object.item, "the node has no type",
        hint: "write it as \(NodeType.label.name): TEXT, \(NodeType.stack.name): [ … ] and so on; "
          + reading.suggestion("", among: NodeType.allCases.map(\.name)))
      return nil
    }
    guard types.count == 1 else {
      reading.report(
        object[types[1].name] ?? object.item,
        "a node is one thing: \(types.map(\.name).joined(separator: " or "))",
        hint: "make a stack of two nodes")
      return nil
    }
    return (type, object[type.name])
  }

  /// Warns of an input with the name of a mode: `input: secret` shows the text that users type.
  private func remarkMode(_ main: Item) {
    guard case .scalar(let name, _) = main.node.content,
      case .choice(let modes)? = NodeType.input.property("mode")?.type,
      modes.contains(name), name != "text"
    else { return }
    reading.remark(
      main, "input: \(name) names the input \"\(name)\", and its mode is text",
      hint: "write mode: \(name) for the mode, or mode: text if \(name) is only a name")
  }

  private func id(_ object: Object, _ type: NodeType) -> String {
    guard let item = object["id"], let id = reading.text(item) else {
      let id = kindReader.nodeIDs.next(type)
      kindReader.nodeTypes[id] = type
      return id
    }
    if !NodeID.isTemplateID(id) {
      reading.report(
        item, "\"\(id.prefix(70))\" cannot be a node's id",
        hint: "use 1 to 64 of a-z, A-Z, 0-9, _ and -, a letter or digit first")
    } else if !ids.insert(id).inserted {
      reading.report(item, "there is a node \"\(id)\" already", hint: "give it another id")
    } else if let other = kindReader.nodeTypes[id], other != type {
      reading.report(
        item, "node \"\(id)\" is \(other.name.withArticle) in another template",
        hint: "give the node another id")
    }
    kindReader.nodeTypes[id] = type
    return id
  }

  private func rows(_ item: Item, _ variables: Variables) -> (RowTemplate, Variables)? {
    var listItem: Item? = item
    var object: Object?
    if case .map = item.node.content {
      guard let found = reading.object(item, .rows) else { return nil }
      object = found
      listItem = found["list"]
      if listItem == nil {
        reading.reportMissing(
          "list", of: found, "the list is missing", hint: "add list: EXPRESSION")
      }
    }
    // If the list has a mistake, only this mistake is reported, because the rows' variables exist
    // in any case.
    let list = listItem.flatMap {
      reading.expression($0, variables, giving: .list(.any), for: "a row's list")
    }
    var rows = RowTemplate(list: list?.compiled.source ?? "")
    if let item = object?["as"], let name = reading.text(item) {
      let taken = variables.environment.variables.map(\.name) + reading.lets.map(\.name)
      if !name.isFieldName || taken.contains(name) || taken.contains(name + "Index") {
        reading.report(
          item, "\"\(name.prefix(64))\" cannot be the name of a row",
          hint: name.isFieldName
            ? "choose another name, because this one is already in use here" : name.fieldNameHint)
      } else {
        rows.name = name
      }
    }
    var element = ExpressionType.dyn
    if case .list(let type)? = list?.compiled.resultType { element = type }
    let inner = variables.adding(rows.name, element).adding(rows.name + "Index", .int)
    if let key = reading.expression(object?["key"], inner) {
      switch key.compiled.resultType {
      case .string, .int, .uint, .bool, .dyn: rows.key = key.compiled.source
      default:
        reading.report(
          object?["key"] ?? item, "a row's key is text or a number, not \(key.compiled.resultType)")
      }
    }
    return (rows, inner)
  }

  private func children(_ object: Object, _ type: NodeType, _ main: Item?) -> [Item] {
    let explicit = object["children"]
    guard type.isContainer else {
      if let explicit { reading.report(explicit, "\(type.name.withArticle) has no children") }
      return []
    }
    var ofMain: Item?
    if let main {
      switch main.node.content {
      case .list: ofMain = main
      case .map where type.mainProperty == nil: ofMain = main
      default:
        if type.mainProperty == nil {
          reading.report(
            main, "expected a list of nodes, not \(main.node.words)",
            hint: "write \(type.name): [ … ], and its properties beside it")
        }
      }
    }
    if let explicit, ofMain != nil {
      reading.report(explicit, "the children are in two places", hint: "keep one of them")
    }
    return reading.oneOrMore(ofMain ?? explicit)
  }

  // MARK: - Events and forms

  private func readHandlers(_ object: Object, _ type: NodeType, _ nodeID: String) {
    guard let item = object["on"], let entries = reading.entries(item, of: "events") else { return }
    for entry in entries {
      guard let event = type.events.first(where: { $0.name == entry.name }) else {
        reading.report(
          entry.nameItem, "\(type.name.withArticle) causes no event \"\(entry.name.prefix(64))\"",
          hint: reading.suggestion(entry.name, among: type.events.map(\.name)))
        continue
      }
      kindReader.add(.init(nodeID: nodeID, event: event, item: entry.item))
    }
  }

  private func field(_ object: Object, _ node: NodeTemplate, _ main: Item?) -> FormField? {
    let isToggle = node.type.role == .toggle
    if isToggle, !object.has("name") {
      if !object.has("on") {
        reading.remark(
          object.item, "the form does not submit this toggle, because it has no name",
          hint: "add name: NAME, which is then event.payload.values.NAME")
      }
      return nil
    }
    let main = isToggle ? object["name"] : main
    guard case .string(let name)? = node.properties["name"]?.value,
      node.properties["name"]?.expression.isEmpty == true
    else {
      reading.report(
        main ?? object.item, "\(isToggle ? "a toggle" : "an input") in a form needs a name",
        hint: "write \(isToggle ? "name" : "input"): NAME, which is then event.payload.values.NAME")
      return nil
    }
    guard name.isFieldName else {
      reading.report(
        main ?? object.item, "\"\(name.prefix(64))\" cannot be a field's name",
        hint: name.fieldNameHint)
      return nil
    }
    guard let field = FormField(node) else { return nil }
    if field.maxLength > 0, field.minLength > field.maxLength, let item = object["minLength"] {
      reading.report(item, "minLength is more than maxLength")
    }
    return field
  }

  private func checkNames(_ object: Object, _ fields: FormFields) {
    var seen: Set<String> = []
    for field in fields.fields where !seen.insert(field.name).inserted {
      reading.report(object.item, "the form has two fields \"\(field.name)\"", hint: "rename one")
    }
  }

  private func form(_ object: Object, _ nodeID: String, _ fields: FormFields) {
    var name: String?
    if let item = object["on"], case .map(let entries) = item.node.content,
      let submit = entries.first(where: { $0.key == "submit" })
    {
      switch submit.value.content {
      case .scalar(let text, _): name = text
      case .map(let entries):
        if entries.count == 1, entries[0].key == "run",
          case .scalar(let text, _) = entries[0].value.content
        {
          name = text
        }
      case .list: break
      }
    }
    guard let name, kindReader.actionNames.contains(name) else {
      if name != nil { kindReader.removeHandler(of: nodeID, "submit") }
      reading.report(
        object["on"] ?? object.item,
        "a form needs the name of an action to submit it to\(name.map { ", not \"\($0.prefix(64))\"" } ?? "")",
        hint: name.map { reading.suggestion($0, among: kindReader.actionNames) }
          ?? "add on: {submit: NAME}; status.NAME.fields then has the mistakes")
      return
    }
    kindReader.add(Form(fields: fields.fields, action: name), nodeID: nodeID, object.item)
  }
}
