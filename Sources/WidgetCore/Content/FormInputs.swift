import WidgetModel

/// The constant rules of the inputs and toggles in a kind's forms, read from its templates.
///
/// The store checks a submission before its reducer runs. The host uses the same rules for forms of
/// bundles.
struct FormInputs {
  private struct Input {
    let name: String
    let label: String
    let isRequired: Bool
    let isNumber: Bool
    /// A toggle, which takes true or false.
    let isFlag: Bool
    /// The lengths of the text, in characters. A longest of 0 is no limit.
    let shortest: Int
    let longest: Int
  }

  private struct Form {
    var inputs: [Input] = []
    /// Whether the names of all inputs are known. Rows can repeat an input, and an expression can
    /// compute its name.
    var isComplete = true
  }

  /// The forms by their ids. Templates of several families may share a form id: a submission is
  /// valid if one of them accepts it.
  private var forms: [String: [Form]] = [:]

  init(_ kind: Kind) {
    for template in kind.content { find(in: template.root) }
  }

  private mutating func find(in node: NodeTemplate) {
    if node.type == .form {
      var form = Form()
      for child in node.children { FormInputs.collect(child, &form) }
      forms[node.id, default: []].append(form)
    }
    for child in node.children { find(in: child) }
  }

  /// Collects the inputs outside rows. A row may repeat an input any number of times.
  private static func collect(_ node: NodeTemplate, _ form: inout Form) {
    // Clients may submit the inputs of a form inside, or of an embedded widget, too.
    guard node.rows == nil, node.type != .form, node.type != .embed else {
      form.isComplete = false
      return
    }
    let isInput = node.type == .input || node.type == .toggle
    if isInput, node.properties["name"].map({ !$0.expression.isEmpty }) == true {
      form.isComplete = false
    }
    if isInput, let name = text("name", of: node), !name.isEmpty {
      form.inputs.append(
        Input(
          name: name, label: text("text", of: node) ?? "",
          isRequired: constant("required", of: node) == .bool(true),
          isNumber: constant("mode", of: node) == .string("number"), isFlag: node.type == .toggle,
          shortest: length("minLength", of: node), longest: length("maxLength", of: node)))
    }
    for child in node.children { collect(child, &form) }
  }

  private static func text(_ name: String, of node: NodeTemplate) -> String? {
    if case .string(let text)? = constant(name, of: node) { text } else { nil }
  }

  private static func length(_ name: String, of node: NodeTemplate) -> Int {
    if case .int(let length)? = constant(name, of: node) { Int(length) } else { 0 }
  }

  private static func constant(_ name: String, of node: NodeTemplate) -> Value? {
    node.properties[name].flatMap { $0.expression.isEmpty ? $0.value : nil }
  }

  /// The first invalid input of a submission, and its problem. Nil if the submission is valid.
  func complaint(
    about payload: ValueMap, of node: String
  ) -> (name: String, words: String)? {
    guard let versions = forms.first(where: { NodeID.isNode(node, of: $0.key) })?.value else {
      return nil
    }
    var values: ValueMap = [:]
    if case .map(let map)? = payload["values"] { values = map }
    var first: (name: String, words: String)?
    for form in versions {
      let complaint = form.inputs.lazy.compactMap { input in
        FormInputs.words(about: input, values[input.name] ?? .null).map { (input.name, $0) }
      }.first
      guard let complaint = complaint ?? FormInputs.words(aboutOthers: values, than: form) else {
        return nil
      }
      first = first ?? complaint
    }
    return first
  }

  /// The problem with the value of a number input outside of forms; nil for none.
  ///
  /// - Parameter isTyping: The user has not finished, so `-` and `1e` are valid.
  static func complaint(aboutNumber value: Value, isTyping: Bool) -> String? {
    switch value {
    case .null, .int: nil
    case .double(let number) where number.isFinite: nil
    case .string(let text)
    where text.allSatisfy(\.isWhitespace) || isDecimalNumber(text)
      || (isTyping && trimmed(text).utf8.allSatisfy(numeric.contains)):
      nil
    case .string(let text): "The input takes a number, not \"\(text.prefix(40))\"."
    default: "The input takes a number."
    }
  }

  private static let numeric = Set("0123456789+-.eE".utf8)

  private static func trimmed(_ text: String) -> Substring {
    let start = text.drop(while: \.isWhitespace)
    guard let end = start.lastIndex(where: { !$0.isWhitespace }) else { return start }
    return start[...end]
  }

  /// Digits with an optional sign, fraction and exponent, and optional blanks around them.
  private static func isDecimalNumber(_ text: String) -> Bool {
    let number = trimmed(text)
    return number.utf8.allSatisfy(numeric.contains) && Double(number)?.isFinite == true
  }

  /// The first value for which a form has no input.
  private static func words(
    aboutOthers values: ValueMap, than form: Form
  ) -> (name: String, words: String)? {
    guard form.isComplete else { return nil }
    let names = form.inputs.map(\.name)
    guard
      let other = values.keys.first(where: { key in
        !names.contains { $0.hasSameBytes(as: key) }
      })
    else { return nil }
    let hint =
      other.closest(among: names).map { "did you mean \"\($0)\"?" }
      ?? (names.isEmpty ? "it has none." : "there is: \(names.joined(separator: ", ")).")
    return (other, "The form has no input \"\(other.prefix(64))\"; \(hint)")
  }

  private static func words(
    aboutLength count: Int, of input: Input, _ label: String
  ) -> String? {
    if count < input.shortest {
      return "\(label) needs at least \(input.shortest) "
        + (input.shortest == 1 ? "character." : "characters.")
    }
    if input.longest > 0, count > input.longest {
      return "\(label) has \(count) characters, and may have at most \(input.longest)."
    }
    return nil
  }

  private static func words(about input: Input, _ value: Value) -> String? {
    let label = input.label.isEmpty ? input.name : input.label
    if input.isFlag {
      switch value {
      case .null, .bool: return nil
      default: return "\(label) takes true or false."
      }
    }
    switch value {
    case .null: return input.isRequired ? "\(label) is needed." : nil
    case .string(let text) where text.allSatisfy(\.isWhitespace):
      return input.isRequired ? "\(label) is needed." : nil
    case .string(let text) where input.isNumber:
      guard isDecimalNumber(text) else {
        return "\(label) takes a number, not \"\(text.prefix(40))\"."
      }
      return words(aboutLength: trimmed(text).count, of: input, label)
    case .string(let text): return words(aboutLength: text.count, of: input, label)
    case .int: return nil
    case .double(let number) where number.isFinite: return nil
    default:
      return "\(label) takes a \(input.isNumber ? "number" : "text"), not a value of type "
        + "\(value.typeName)."
    }
  }
}
