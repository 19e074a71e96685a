import WidgetExpression
public import WidgetModel

/// An expression or a binding as its author wrote it.
///
/// The reader of bundles makes one expression of the author's text. It binds the names of `let`,
/// settings and the host's variables around it (`cel.bind`), and nests the steps of a long binding.
/// The daemon stores only that expression. This type turns it back into the author's text. An
/// expression of another form is not changed.
public struct WrittenBinding: Hashable, Sendable {
  /// A name that `let` declares.
  public struct Name: Hashable, Sendable {
    public let name: String
    public let expression: String
  }

  /// The expression alone, or the binding as in a bundle's file: `"TEXT"`, `=EXPRESSION`, or
  /// `{from: EXPRESSION, …}`.
  public let text: String
  /// The names of `let` that the text reads, each after the names that it uses itself.
  public let names: [Name]

  /// An expression where only an expression is allowed, such as a condition.
  public init(expression: String) {
    var reader = WrittenReader()
    text = reader.expression(expression)
    names = reader.names
  }

  public init(_ binding: Binding) {
    var reader = WrittenReader()
    text = reader.binding(binding)
    names = reader.names
  }
}

/// Takes apart what `Reading.compile` and `TemplateReader.long` put together.
private struct WrittenReader {
  var names: [WrittenBinding.Name] = []

  // MARK: - Expressions

  /// The expression without the names around it.
  mutating func expression(_ source: String) -> String {
    guard let (name, value, body) = bound(source) else { return source }
    switch name {
    case "defaults" where value.hasPrefix("{"), "environment" where value.hasPrefix("dyn({"),
      "status" where value == "data.status":
      guard let body = SourceParts(body).parenthesized else { return source }
      return expression(body)
    case "defaults", "environment", "status", "value", "shown": return source
    default: return named(source)
    }
  }

  /// The expression inside the bindings of `let` names. The innermost binding has it in
  /// parentheses.
  private mutating func named(_ source: String) -> String {
    var found: [WrittenBinding.Name] = []
    var rest = source
    while let (name, value, body) = bound(rest), let value = SourceParts(value).parenthesized {
      found.append(.init(name: name, expression: value))
      if let inner = SourceParts(body).parenthesized {
        for name in found where !names.contains(name) { names.append(name) }
        return inner
      }
      rest = body
    }
    return source
  }

  /// The parts of `cel.bind(NAME, VALUE, BODY)`.
  private func bound(_ source: String) -> (name: String, value: String, body: String)? {
    guard let call = SourceParts(source).call, call.name == "cel.bind", call.arguments.count == 3
    else { return nil }
    return (call.arguments[0], call.arguments[1], call.arguments[2])
  }

  // MARK: - Bindings

  mutating func binding(_ binding: Binding) -> String {
    let value = binding.value.map { CELText.literal($0) }
    guard !binding.expression.isEmpty else { return value ?? "" }
    let placeholder = value.map { "placeholder: \($0)" }
    if let steps = steps(binding.expression) {
      return "{\((steps + [placeholder].compactMap(\.self)).joined(separator: ", "))}"
    }
    if let placeholder {
      return "{from: \(quoted(expression(binding.expression))), \(placeholder)}"
    }
    return template(binding.expression, inside: false)
  }

  /// The keys of a long binding.
  private mutating func steps(_ source: String) -> [String]? {
    guard let (name, value, body) = bound(source), name == "value",
      let from = SourceParts(value).parenthesized, var rest = unlessNull(body, "value")
    else { return nil }
    var last: [String] = []
    if let (name, value, body) = bound(rest), name == "shown",
      let shown = argument(of: "dyn", value), let text = unlessNull(body, "shown")
    {
      last = ["format: \(format(text))"]
      rest = shown
    }
    var transforms: [String] = []
    while let (name, value, body) = bound(rest), name == "value",
      let inner = SourceParts(value).parenthesized, let transform = SourceParts(body).parenthesized
    {
      let standard = Transform.standard.first { $0.value.source == transform }
      transforms.insert(standard?.key ?? quoted(expression(transform)), at: 0)
      rest = inner
    }
    if !transforms.isEmpty {
      let list = transforms.joined(separator: ", ")
      last.insert("transform: \(transforms.count == 1 ? list : "[\(list)]")", at: 0)
    }
    return ["from: \(quoted(expression(from)))"] + choice(rest) + last
  }

  /// `if`, `then` and `else`.
  private mutating func choice(_ source: String) -> [String] {
    if let (condition, yes, no) = SourceParts(source).conditional,
      let condition = SourceParts(condition).parenthesized, let yes = argument(of: "dyn", yes),
      let no = argument(of: "dyn", no)
    {
      var parts = ["if: \(quoted(expression(condition)))"]
      if yes != "null" { parts.append("then: \(template(yes, inside: true))") }
      if no != "null" { parts.append("else: \(template(no, inside: true))") }
      return parts
    }
    return source == "value" ? [] : ["then: \(template(source, inside: true))"]
  }

  /// A part of a template: a constant, or an expression, which is in parentheses inside of another.
  private mutating func template(_ source: String, inside: Bool) -> String {
    let parts = SourceParts(source)
    if let elements = parts.elements,
      elements.contains(where: { SourceParts($0).parenthesized != nil })
    {
      var texts: [String] = []
      for element in elements { texts.append(template(element, inside: true)) }
      return "[\(texts.joined(separator: ", "))]"
    }
    guard inside else { return "=" + expression(source) }
    return parts.parenthesized.map { quoted("=" + expression($0)) } ?? source
  }

  /// A scalar as it can stand in an object or a list of a YAML file.
  private func quoted(_ text: String) -> String {
    let isPlain =
      !text.contains(": ") && !text.contains(" #")
      && !text.contains { ",[]{}".contains($0) || $0.isNewline }
      && text.first.map { !"\"'!&*?|>%@`-".contains($0) } == true
    return isPlain ? text : "'\(text.replacing("'", with: "''"))'"
  }

  /// The format `%@ %%` of the expression `"%s".format([shown]) + " %"`.
  private func format(_ source: String) -> String {
    let value = "\"%s\".format([shown])"
    let text = SourceParts(source).sum.map { part in
      part == value ? "%@" : String(part.dropFirst().dropLast()).replacing("%", with: "%%")
    }
    return "\"\(text.joined())\""
  }

  /// The body of `NAME == null ? dyn(null) : dyn(BODY)`.
  private func unlessNull(_ source: String, _ name: String) -> String? {
    guard let (condition, yes, no) = SourceParts(source).conditional, yes == "dyn(null)",
      condition == "\(name) == null" || condition == "dyn(\(name)) == null"
    else { return nil }
    return argument(of: "dyn", no)
  }

  private func argument(of name: String, _ source: String) -> String? {
    guard let call = SourceParts(source).call, call.name == name, call.arguments.count == 1 else {
      return nil
    }
    return call.arguments[0]
  }
}
