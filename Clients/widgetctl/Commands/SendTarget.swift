import WidgetClient
import WidgetModel

/// The target of an event: a widget's nodes and kind. It fills in the parts that the command line
/// omits.
struct SendTarget: Sendable {
  var nodes: [Node]
  /// The events that the kind declares, and those that its reducers and its bundle's steps name.
  var events: [EventType] = []
  var handled: Set<String> = []

  /// Asks the daemon if something is left out. Nil if the command is complete, or if that fails.
  static func look(for command: SendCommand, _ session: Session) async throws -> SendTarget? {
    let isOpen = (command.payload + command.values).contains { assignment in
      if case .textFile = assignment.source { return true }
      return assignment.guessed != nil
    }
    guard isOpen || command.name == "submit" else { return nil }
    guard
      let widget = try? await session.client.getWidget(
        GetWidgetRequest(id: command.id), options: session.options
      ).widget
    else { return nil }
    var target = SendTarget(nodes: widget.content?.nodes ?? [])
    let kind = try? await session.client.getKind(
      GetKindRequest(name: widget.kind), options: session.options
    ).kind.kind
    target.events = kind?.events ?? []
    target.handled = Set(
      target.events.map(\.name) + (kind?.reducers ?? []).filter(\.nodeID.isEmpty).map(\.event))
    return target
  }

  /// The form that a submit without a node is meant for; nil if it is an event of the widget itself.
  func form(for event: String, of id: WidgetID) throws(CommandFailure) -> String? {
    guard event == "submit", !handled.contains(event) else { return nil }
    let forms = nodes.filter { $0.role == .form }.map(\.id)
    guard forms.count > 1 else { return forms.first }
    throw CommandFailure(
      .invalidArgument,
      "widget \"\(id)\" has \(forms.count) forms; say which: "
        + forms.map { "--node \($0)" }.joined(separator: ", "))
  }

  /// The payload, with declared types: `value=123` for an input becomes the text "123", also for an
  /// input for numbers. In the values of a form, such an input has a number, also if the number is
  /// in a file.
  func typed(
    _ payload: ValueMap, _ details: [Assignment], _ values: [Assignment], event: String,
    node: String?
  ) throws(CommandFailure) -> ValueMap {
    var payload = payload
    for detail in details {
      let fields = events.first { $0.name == event }?.payload
      let declared = fields?.first { $0.name == detail.key }?.type
      let isTyped =
        node == nil
        || detail.key == "value" && nodes.contains { $0.id == node && $0.role == .input }
      let type = isTyped ? declared ?? (node == nil ? nil : FieldType.string) : nil
      if let value = type.flatMap({ detail.value(as: $0) }) { payload[detail.key] = value }
    }
    guard case .map(var submitted)? = payload["values"] else { return payload }
    for value in values {
      if let number = number(of: value, in: submitted) {
        submitted[value.key] = number
        continue
      }
      guard let text = value.asText,
        nodes.contains(where: {
          SendTarget.takesText($0) && $0.properties["name"] == .string(value.key)
        })
      else { continue }
      submitted[value.key] = text
    }
    payload["values"] = .map(submitted)
    return payload
  }

  /// The number in the file of a value. Nil if the value is no file for an input for numbers, or if
  /// the file has no number.
  private func number(of value: Assignment, in submitted: ValueMap) -> Value? {
    guard case .textFile = value.source, case .string(let text)? = submitted[value.key],
      nodes.contains(where: {
        $0.role == .input && $0.text("mode") == "number" && $0.text("name") == value.key
      }), let number = try? Assignment.inferred(SendTarget.withoutBlanks(text))
    else { return nil }
    switch number {
    case .int, .double: return number
    default: return nil
    }
  }

  /// The text without spaces and newlines around it.
  private static func withoutBlanks(_ text: String) -> Substring {
    let start = text.drop { $0.isWhitespace }
    guard let end = start.lastIndex(where: { !$0.isWhitespace }) else { return "" }
    return start[...end]
  }

  /// The payload of a submit, with values: a form without input submits none.
  func completed(_ payload: ValueMap, event: String, node: String?) -> ValueMap {
    guard event == "submit", payload["values"] == nil, form(node) != nil else { return payload }
    var payload = payload
    payload["values"] = .map([:])
    return payload
  }

  /// The submitted values that a form refuses. A host refuses them after the event was sent, so the
  /// daemon's answer does not have the refusal.
  func warnings(_ payload: ValueMap, event: String, node: String?, uploads: [String])
    -> [RequestWarning]
  {
    guard event == "submit", let form = form(node), case .map(let values)? = payload["values"]
    else { return [] }
    let fields = fields(of: form)
    let names = fields.map { $0.text("name") }
    var warnings: [String] = []
    for field in fields where field.properties["required"] == .bool(true) {
      let name = field.text("name")
      guard !uploads.contains(name), [nil, .null, .string("")].contains(values[name]) else {
        continue
      }
      let option = field.text("mode") == "file" ? "--upload \(name)=FILE" : "--value \(name)==TEXT"
      warnings.append("The form \"\(form.id)\" requires \"\(name)\": \(option)")
    }
    for field in fields {
      let name = field.text("name")
      guard let words = SendTarget.complaint(about: values[name] ?? .null, for: field) else {
        continue
      }
      warnings.append("The field \"\(name)\" \(words).")
    }
    for name in values.keys where !names.contains(name) {
      let hint =
        name.closest(among: names).map { "Did you mean \"\($0)\"?" }
        ?? (names.isEmpty ? "It has no fields." : "It has: \(names.joined(separator: ", ")).")
      warnings.append("The form \"\(form.id)\" has no field \"\(name)\". \(hint)")
    }
    return warnings.map {
      RequestWarning(reason: "FORM_VALUES", message: $0, metadata: ["node": form.id])
    }
  }

  /// The type that a field of a form takes, if a value has another one: `takes a text, not a value of
  /// type list`. Nil if the value fits.
  private static func complaint(about value: Value, for field: Node) -> String? {
    let isNumber = field.properties["mode"] == .string("number")
    let type = "a value of type \(value.typeName)"
    switch (field.role, value) {
    case (_, .null), (.toggle, .bool): return nil
    case (.toggle, _): return "takes true or false, not \(type)"
    case (_, .string(let text)):
      let number = withoutBlanks(text)
      guard isNumber, !number.isEmpty, Double(number) == nil else { return nil }
      return "takes a number, not \"\(number)\""
    case (_, .int) where isNumber: return nil
    case (_, .double(let number)) where isNumber && number.isFinite: return nil
    default: return "takes a \(isNumber ? "number" : "text"), not \(type)"
    }
  }

  /// The files of `--value photo=@cat.png` for inputs of the form that take a file. The command
  /// uploads them like those of `--upload`, because the input takes the id of a blob, and no text.
  func files(
    among values: [Assignment], node: String?
  ) throws(CommandFailure) -> [SendCommand.File] {
    let inputs = form(node).map { fields(of: $0) } ?? nodes
    var files: [SendCommand.File] = []
    for value in values {
      guard case .textFile(let path) = value.source,
        inputs.contains(where: {
          $0.role == .input && $0.text("mode") == "file" && $0.text("name") == value.key
        })
      else { continue }
      guard path != "-" else {
        throw CommandFailure(
          .invalidArgument,
          "the input \"\(value.key)\" takes a file, and standard input is not one; write the content "
            + "to a file, and give --upload " + "\(value.key)=FILE".asArgument)
      }
      files.append(SendCommand.File(name: value.key, path: path))
    }
    return files
  }

  /// The command line for refused details that are values of a form: `title=Milk` is
  /// `--value title=Milk`. For a text where the event declares another type, how to write the value.
  /// Nil if there is no hint.
  func hint(
    at details: [Assignment], of event: String? = nil, refusedBy violations: [FieldViolation]
  ) -> String? {
    let wrong = details.filter { detail in
      violations.contains { $0.field == "payload[\(detail.key)]" }
    }
    let declared = events.first { $0.name == event }?.payload ?? []
    for detail in wrong {
      let field = declared.first { $0.name == detail.key }
      if let advice = field.flatMap({ detail.advice(for: $0.type) }) { return advice }
    }
    let refused = wrong.filter { detail in
      nodes.contains { $0.role.hasFormValue && $0.text("name") == detail.key }
    }
    guard !refused.isEmpty else { return nil }
    let options = refused.map { detail in
      let value = "\(detail.key)=\(detail.guessed ?? "VALUE")"
      return "--value \(value.asArgument)"
    }
    return "write values of a form as \(options.joined(separator: " "))"
  }

  private func form(_ id: String?) -> Node? {
    nodes.first { $0.id == id && $0.role == .form }
  }

  /// The inputs and named toggles of a form, in their order.
  private func fields(of form: Node) -> [Node] {
    let byID = Dictionary(nodes.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    var found: [Node] = []
    var pending = Array(form.childIDs.reversed())
    while let id = pending.popLast() {
      guard let node = byID[id] else { continue }
      if node.role.hasFormValue, !node.text("name").isEmpty { found.append(node) }
      pending += node.childIDs.reversed()
    }
    return found
  }

  /// Whether the value of a node in a form is always text.
  private static func takesText(_ node: Node) -> Bool {
    guard node.role == .input else { return false }
    return node.properties["mode"] != .string("number")
  }
}
