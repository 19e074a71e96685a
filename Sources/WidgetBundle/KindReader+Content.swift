import WidgetExpression
import WidgetModel

/// What a kind's widgets show.
extension KindReader {
  private static let everyFamily = "*"

  /// One node for all families, or one by family: `small`, `"medium, large"`, `"*"`.
  func content(_ item: Item?) {
    guard let item else { return }
    reserveIDs(item.node)
    guard case .map(let entries) = item.node.content else {
      read(template: item, families: [])
      return
    }
    let nodeKeys = Set(NodeType.allCases.map(\.name) + ["type"])
    if entries.contains(where: { nodeKeys.contains($0.key) }) {
      read(template: item, families: [])
      return
    }
    var seen: Set<Family> = []
    var hasFallback = false
    for entry in reading.entries(item, of: "families and nodes") ?? [] {
      guard entry.name != KindReader.everyFamily else {
        hasFallback = true
        read(template: entry.item, families: [])
        continue
      }
      let names = entry.name.split(separator: ",").map { part in
        (text: String(part.drop { $0 == " " }.prefix { $0 != " " }), item: entry.nameItem)
      }
      let families = reading.families(names, others: NodeType.allCases.map(\.name))
      for family in families {
        if !seen.insert(family).inserted {
          reading.report(entry.nameItem, "there is content for \(family.name) already")
        }
        if !kind.families.isEmpty, !kind.families.contains(family) {
          reading.report(
            entry.nameItem, "the kind is not made for \(family.name)",
            hint: "add it to families, or leave this out")
        }
      }
      if !families.isEmpty { read(template: entry.item, families: families) }
    }
    let missing = kind.families.filter { !seen.contains($0) }.map(\.name)
    if !hasFallback, !missing.isEmpty {
      reading.report(
        item, "there is no content for \(missing.joined(separator: ", "))",
        hint: "add content for \"*\"")
    }
  }

  private func reserveIDs(_ node: SourceNode) {
    switch node.content {
    case .scalar: break
    case .list(let elements): for element in elements { reserveIDs(element) }
    case .map(let entries):
      for entry in entries {
        if entry.key == "id", case .scalar(let id, _) = entry.value.content {
          nodeIDs.reserve(id)
        }
        reserveIDs(entry.value)
      }
    }
  }

  private func read(template item: Item, families: [Family]) {
    let reader = TemplateReader(self)
    var reads = ContentReads(families: families)
    reading.onCompiled = { expression in
      for reference in expression.references { reads.add(reference) }
    }
    defer { reading.onCompiled = nil }
    guard let root = reader.node(item, contentVariables(), form: nil, isRoot: true) else { return }
    reads.placeholderKeys = reader.placeholderKeys
    kind.content.append(ContentTemplate(families: families, root: root))
    contentReads.append(reads)
  }

  /// What a node does, unless another template's node of that id does the same.
  func add(_ handler: NodeHandler) {
    let same = handlers.first {
      $0.nodeID == handler.nodeID && $0.event.name == handler.event.name
    }
    guard let same else { return handlers.append(handler) }
    guard !same.item.node.isSame(as: handler.item.node) else { return }
    reading.report(
      handler.item,
      "node \"\(handler.nodeID)\" does something else on \(handler.event.name) in another template",
      hint: "give it an id of its own")
  }

  func add(_ form: Form, nodeID: String, _ item: Item) {
    if let other = forms[nodeID], other != form {
      reading.report(
        item, "form \"\(nodeID)\" is another one in another template",
        hint: "give it an id of its own")
    }
    forms[nodeID] = form
  }
}

extension ContentReads {
  /// `status.feed.title`, or `data.status.feed.title`, reads the status of `feed`.
  fileprivate mutating func add(_ reference: ExpressionReference) {
    var path = reference.path[...]
    if reference.variable == "data" {
      guard let first = path.first else { return readsAllStatuses = true }
      guard first == .field(BundleScope.statusKey) else { return }
      path = path.dropFirst()
    } else if reference.variable != "status" {
      return
    }
    if case .field(let name)? = path.first {
      statuses.insert(name)
    } else {
      readsAllStatuses = true
    }
  }
}

/// Reads one template of content.
final class TemplateReader {
  static let nodesMax = 2000
  /// How many nodes, and how many of them with rows, may be inside one another: as many as the daemon
  /// takes.
  static let depthMax = 16
  static let rowDepthMax = 4
  /// The colours that a theme names.
  static let colorTokens = [
    "primary", "secondary", "accent", "success", "warning", "error", "background", "surface",
  ]

  private let kindReader: KindReader
  private var reading: Reading { kindReader.reading }
  private var ids: Set<String> = []
  private var count = 0
  private var depth = 0
  private var rowDepth = 0
  /// What bindings with a placeholder read of the data.
  private(set) var placeholderKeys: Set<String> = []

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
    guard depth <= TemplateReader.depthMax, count <= TemplateReader.nodesMax else {
      reading.report(
        item, "the content has too many nodes, or too many inside one another",
        hint: "it can have \(TemplateReader.nodesMax), \(TemplateReader.depthMax) deep")
      return nil
    }
    if case .scalar = item.node.content {
      var node = NodeTemplate(id: kindReader.nodeIDs.next(.label), type: .label)
      node.properties["text"] = binding(item, "text", .string, .label, variables)
      return node
    }
    guard let object = reading.object(item, .node, or: " or text"),
      let (type, main) = type(of: object)
    else { return nil }
    var node = NodeTemplate(id: id(object, type), type: type)
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
      if rowDepth > TemplateReader.rowDepthMax {
        reading.report(
          item, "rows can be inside one another \(TemplateReader.rowDepthMax) deep at most")
      }
    }
    if let item = object["if"] {
      if isRoot {
        reading.report(
          item, "the node at the top is always there", hint: "put it into a stack")
      }
      // Also of rows, each for itself.
      node.condition =
        reading.expression(item, inner, giving: .bool)?.compiled.source ?? ""
    }
    let isField = type == .input && form != nil
    readProperties(object, type, main, &node, inner, isField: isField)
    if isField, let form { field(object, node, main).map { form.fields.append($0) } }

    let fields = type == .form ? FormFields() : form
    if type == .form, form != nil {
      reading.report(item, "a form cannot be in a form")
    }
    for child in children(object, type, main) {
      if let child = self.node(child, inner, form: fields) { node.children.append(child) }
    }
    readHandlers(object, type, node.id)
    if type == .form, let fields { self.form(object, node.id, fields) }
    return node
  }

  // MARK: - What a node is

  private func type(of object: Object) -> (NodeType, Item?)? {
    if let item = object["type"] {
      guard
        let type = reading.choice(
          item, "type of node", NodeType.allCases.map { (name: $0.name, value: $0) })
      else { return nil }
      for other in NodeType.allCases
      where object.has(other.name) && type.property(other.name) == nil {
        reading.report(
          object[other.name] ?? object.item, "a \(type.name) has no \"\(other.name)\"",
          hint: "write either type: or \(other.name):")
      }
      return (type, nil)
    }
    let types = NodeType.allCases.filter { object.has($0.name) }
    guard let type = types.first else {
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

  /// The property that stands behind a node's type: `label: TEXT`.
  private static func mainProperty(_ type: NodeType) -> String? {
    switch type {
    case .label, .button, .toggle, .link, .spinner: "text"
    case .image: "source"
    case .input: "name"
    case .gauge: "value"
    case .chart: "values"
    case .date: "date"
    case .space: "size"
    case .stack, .grid, .table, .form: nil
    }
  }

  private func id(_ object: Object, _ type: NodeType) -> String {
    guard let item = object["id"], let id = reading.text(item) else {
      return kindReader.nodeIDs.next(type)
    }
    if !NodeID.isTemplateID(id) {
      reading.report(
        item, "\"\(id.prefix(70))\" cannot be a node's id",
        hint: "use 1 to 64 letters, digits, _ and -, a letter or digit first")
    } else if !ids.insert(id).inserted {
      reading.report(item, "there is a node \"\(id)\" already", hint: "give it another id")
    } else if let other = kindReader.nodeTypes[id], other != type {
      reading.report(
        item, "node \"\(id)\" is a \(other.name) in another template",
        hint: "give it an id of its own")
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
        reading.report(item, "the list is missing", hint: "add list: EXPRESSION")
      }
    }
    // If the list is wrong, that is the only mistake: the rows' variables are there all the same.
    let list = listItem.flatMap {
      reading.expression($0, variables, giving: .list(.any), for: "a row's list")
    }
    var rows = RowTemplate(list: list?.compiled.source ?? "")
    if let item = object?["as"], let name = reading.text(item) {
      let taken = variables.environment.variables.map(\.name)
      if !name.isFieldName || taken.contains(name) || taken.contains(name + "Index") {
        reading.report(
          item, "\"\(name.prefix(64))\" cannot be what a row is called",
          hint: name.isFieldName ? "that means something else here" : String.fieldNameHint)
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
      if let explicit { reading.report(explicit, "a \(type.name) has no children") }
      return []
    }
    var ofMain: Item?
    if let main {
      switch main.node.content {
      case .list: ofMain = main
      case .map where TemplateReader.mainProperty(type) == nil: ofMain = main
      default:
        if TemplateReader.mainProperty(type) == nil {
          reading.report(
            main, "expected a list of nodes, not \(main.node.words)",
            hint: "write \(type.name): [ … ], and its properties beside it")
        }
      }
    }
    if let explicit, ofMain != nil {
      reading.report(explicit, "the children stand in two places", hint: "keep one of them")
    }
    return reading.oneOrMore(ofMain ?? explicit)
  }

  // MARK: - Properties

  private func readProperties(
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
      // In a form this is about what may be submitted, not about when changes are sent.
      if isField, key == "minLength" { continue }
      node.properties[key] = binding(item, key, propertyType, type, variables)
    }
    if object.has("maxLength"), !isField {
      reading.report(
        object["maxLength"] ?? object.item, "only a form's input has maxLength")
    }
  }

  /// Where a property's value comes from: a constant, `=EXPRESSION`, or an object.
  private func binding(
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

  /// Text that means something only if it is one of some words.
  private func check(_ value: Value, _ name: String, _ type: NodeType, _ item: Item) {
    guard case .string(let text) = value else { return }
    let words: [String]
    switch (type, name) {
    case (_, "align"): words = ["start", "center", "end", "fill"]
    case (_, "accessory"): words = ["none", "disclosure", "activity", "checkmark"]
    case (.image, "mode"): words = ["fit", "fill", "center"]
    case (.button, "style"): words = ["plain", "primary", "destructive"]
    case (.input, "mode"): words = ["text", "multiline", "number", "search", "secret"]
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

  /// `from` (or `value`), then `if` chooses between `then` and `else`, `format` makes text of it, and
  /// `placeholder` stands in for nothing and for failures. Without `if`, `then` is what is made of the
  /// value.
  private func long(
    _ item: Item, _ name: String, _ type: FieldType, _ variables: Variables
  ) -> Binding? {
    guard let object = reading.object(item, .binding) else { return nil }
    let hasMore = ["if", "then", "else", "format"].contains { object.has($0) }
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
      // Nothing goes straight to the placeholder.
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
    let wanted = object.has("format") ? nil : type
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

  /// `%@` is the value, `%%` a percent sign; nothing else is special, and nothing else may look so.
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

  // MARK: - Events and forms

  private func readHandlers(_ object: Object, _ type: NodeType, _ nodeID: String) {
    guard let item = object["on"], let entries = reading.entries(item, of: "events") else { return }
    for entry in entries {
      guard let event = type.events.first(where: { $0.name == entry.name }) else {
        reading.report(
          entry.nameItem, "a \(type.name) causes no event \"\(entry.name.prefix(64))\"",
          hint: reading.suggestion(entry.name, among: type.events.map(\.name)))
        continue
      }
      kindReader.add(.init(nodeID: nodeID, event: event, item: entry.item))
    }
  }

  private func field(_ object: Object, _ node: NodeTemplate, _ main: Item?) -> FormField? {
    guard case .string(let name)? = node.properties["name"]?.value,
      node.properties["name"]?.expression.isEmpty == true
    else {
      reading.report(
        main ?? object.item, "an input in a form needs a name",
        hint: "write input: NAME, which is then event.payload.values.NAME")
      return nil
    }
    guard name.isFieldName else {
      reading.report(
        main ?? object.item, "\"\(name.prefix(64))\" cannot be a field's name",
        hint: String.fieldNameHint)
      return nil
    }
    var field = FormField(name: name)
    if case .string(let label)? = node.properties["text"]?.value { field.label = label }
    if case .bool(true)? = node.properties["required"]?.value { field.isRequired = true }
    field.isNumber = node.properties["mode"]?.value == .string("number")
    let lengths = 0...1_000_000
    field.minLength = reading.int(object["minLength"], in: lengths) ?? 0
    field.maxLength = reading.int(object["maxLength"], in: lengths) ?? 0
    if field.maxLength > 0, field.minLength > field.maxLength, let item = object["minLength"] {
      reading.report(item, "minLength is more than maxLength")
    }
    return field
  }

  private func form(_ object: Object, _ nodeID: String, _ fields: FormFields) {
    var seen: Set<String> = []
    for field in fields.fields where !seen.insert(field.name).inserted {
      reading.report(object.item, "the form has two fields \"\(field.name)\"", hint: "rename one")
    }
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
      reading.report(
        object["on"] ?? object.item,
        "a form needs the name of an action to submit it to\(name.map { ", not \"\($0.prefix(64))\"" } ?? "")",
        hint: name.map { reading.suggestion($0, among: kindReader.actionNames) }
          ?? "add on: {submit: NAME}; status.NAME.fields then says what is wrong")
      return
    }
    kindReader.add(Form(fields: fields.fields, action: name), nodeID: nodeID, object.item)
  }
}

/// Values and templates as source text of expressions.
enum CELText {
  static func source(of template: Template) -> String {
    switch template {
    case .constant(let value): literal(value)
    case .expression(let expression): wrapped(expression.compiled.source)
    case .list(let elements): "[\(elements.map { source(of: $0) }.joined(separator: ", "))]"
    case .map(let entries):
      "{"
        + entries.map { "\(literal(.string($0.key))): \(source(of: $0.value))" }
        .joined(separator: ", ") + "}"
    }
  }

  /// An expression as a part of another one. A remark at its end must not swallow what follows.
  static func wrapped(_ source: String) -> String {
    source.contains("//") || source.contains("\n") ? "(\(source)\n)" : "(\(source))"
  }

  static func literal(_ value: Value) -> String {
    switch value {
    case .null: "null"
    case .bool(let flag): "\(flag)"
    case .int(.min): "(-9223372036854775807 - 1)"
    case .int(let number): "\(number)"
    case .double(let number):
      number.isNaN
        ? "(0.0 / 0.0)"
        : number.isInfinite ? (number < 0 ? "(-1.0 / 0.0)" : "(1.0 / 0.0)") : "\(number)"
    case .string(let text): quoted(text)
    case .bytes(let bytes):
      "b\"" + bytes.map { "\\x" + String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        + "\""
    case .list(let values): "[\(values.map(literal).joined(separator: ", "))]"
    case .map(let map):
      "{"
        + map.entries.map { "\(quoted($0.key)): \(literal($0.value))" }.joined(separator: ", ")
        + "}"
    case .timestamp(let time):
      "(timestamp(\(time.seconds)) + duration(\"\(time.nanoseconds)ns\"))"
    case .duration(let duration): "duration(\"\(DurationSyntax.seconds(duration))\")"
    }
  }

  private static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": result += "\\\\"
      case "\"": result += "\\\""
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case "\u{0}"..<" ", "\u{7F}":
        let digits = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}
