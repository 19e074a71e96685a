/// An input or a named toggle of a form: the rules for its value.
///
/// The daemon checks the submissions that reducers answer, and the host those of bundles. Both use
/// these rules.
public struct FormField: Hashable, Sendable {
  public var name: String
  /// The name of the field, for people.
  public var label: String
  /// Whether the value must have a character that is not white space.
  public var isRequired: Bool
  public var minLength: Int
  /// 0 for no limit.
  public var maxLength: Int
  /// Whether the value must be a number, or a text that is a number.
  public var isNumber: Bool
  /// Whether the value must be true or false: the field is a toggle.
  public var isFlag: Bool
  /// The id of its node in the template.
  public var nodeID: String
  /// The properties of its node that expressions compute. The shown node has their values.
  public var computed: Set<String>

  public init(
    name: String, label: String = "", isRequired: Bool = false, minLength: Int = 0,
    maxLength: Int = 0, isNumber: Bool = false, isFlag: Bool = false, nodeID: String = "",
    computed: Set<String> = []
  ) {
    self.name = name
    self.label = label
    self.isRequired = isRequired
    self.minLength = minLength
    self.maxLength = maxLength
    self.isNumber = isNumber
    self.isFlag = isFlag
    self.nodeID = nodeID
    self.computed = computed
  }

  /// The properties of a node that are rules for its value.
  private static let rules = ["text", "required", "mode", "minLength", "maxLength"]

  /// The rules of an input or a toggle. Nil for other nodes, and if the name is missing or computed.
  public init?(_ node: NodeTemplate) {
    guard node.type.role.hasFormValue,
      case .string(let name)? = node.constant("name"), !name.isEmpty
    else { return nil }
    self.init(name: name, isFlag: node.type.role == .toggle, nodeID: node.id)
    for rule in FormField.rules {
      guard let binding = node.properties[rule] else { continue }
      if binding.expression.isEmpty { apply(rule, binding.value) } else { computed.insert(rule) }
    }
  }

  private mutating func apply(_ rule: String, _ value: Value?) {
    switch (rule, value) {
    case ("text", .string(let text)?): label = text
    case ("required", _): isRequired = value == .bool(true)
    case ("mode", _): isNumber = value == .string("number")
    case ("minLength", .int(let length)?): minLength = Int(length)
    case ("maxLength", .int(let length)?): maxLength = Int(length)
    default: break
    }
  }

  /// The field with the computed rules of the shown node. A rule without a value does not count.
  func resolved(_ shown: ValueMap?) -> FormField {
    var field = self
    for rule in computed { field.apply(rule, shown?[rule]) }
    return field
  }

  /// The rules as a text, to find out later whether somebody has edited them. The number of the node
  /// is no rule.
  public var ruleText: String {
    var words: [String] = []
    if isRequired { words.append("required") }
    if isNumber { words.append("number") }
    if isFlag { words.append("toggle") }
    words += computed.sorted().map { "computed:\($0)" }
    return (words + ["\(minLength)-\(maxLength)", label]).joined(separator: " ")
  }

  // MARK: - Submissions

  /// One wrong value of a submission.
  public struct Problem: Hashable, Sendable {
    /// The name of the field.
    public let name: String
    /// A sentence. It can have the beginning of the value.
    public let words: String
    /// A sentence without the value, which can be a secret.
    public let brief: String
  }

  /// All problems of a submission, in order of the fields. Then come values without a field.
  ///
  /// - Parameters:
  ///   - form: The id of the form, with the keys of the rows around it.
  ///   - othersMax: The most values without a field that are named; 0 if the form takes others.
  ///   - shown: The properties of a shown node, by its id.
  public static func problems(
    of values: ValueMap, for fields: [FormField], in form: String, othersMax: Int,
    shown: (String) -> ValueMap?
  ) -> [Problem] {
    let rows = form.firstIndex(of: "/").map { form[$0...] } ?? ""
    var problems = fields.compactMap { field -> Problem? in
      let field = field.computed.isEmpty ? field : field.resolved(shown(field.nodeID + rows))
      let value = values[field.name] ?? .null
      return field.complaint(about: value).map { words in
        Problem(
          name: field.name, words: words,
          brief: field.complaint(about: value, isQuoting: false) ?? words)
      }
    }
    let names = fields.map(\.name)
    let others = values.keys.lazy.filter { key in
      !names.contains { $0.hasSameBytes(as: key) }
    }
    for other in others.prefix(othersMax) {
      let hint =
        other.closest(among: names).map { "did you mean \"\($0)\"?" }
        ?? (names.isEmpty ? "it has none." : "there is: \(names.joined(separator: ", ")).")
      let words = beginning(aboutUnknown: other)
      problems.append(Problem(name: other, words: "\(words); \(hint)", brief: "\(words)."))
    }
    return problems
  }

  /// The beginning of the words about a value without a field.
  public static func beginning(aboutUnknown name: String) -> String {
    "The form has no field \"\(name.prefix(64).withMarkedNewlines)\""
  }

  /// The values with one for each field. A field that was left out gets empty text, null if it
  /// takes a number, or false if it is a toggle. The text of a number has no blanks around it; an
  /// empty one is null.
  public static func completed(_ values: ValueMap, for fields: [FormField]) -> ValueMap {
    var values = values
    for field in fields {
      switch values[field.name] ?? .null {
      case .null:
        values[field.name] = field.isFlag ? .bool(false) : field.isNumber ? .null : .string("")
      case .string(let text) where field.isNumber:
        let number = text.trimmed
        values[field.name] = number.isEmpty ? .null : .string(number)
      default: break
      }
    }
    return values
  }

  /// - Parameter isQuoting: Whether the words can have the value.
  private func complaint(about value: Value, isQuoting: Bool = true) -> String? {
    let label = label.isEmpty ? name : label
    if isFlag {
      switch value {
      case .null, .bool: return nil
      default: return "\(label) takes true or false, not a value of type \(value.typeName)."
      }
    }
    switch value {
    case .null: return isRequired ? "\(label) is needed." : nil
    case .string(let text) where text.allSatisfy(\.isWhitespace):
      return isRequired ? "\(label) is needed." : nil
    case .string(let text) where isNumber:
      guard text.isDecimalNumber else {
        return "\(label) takes a number" + (isQuoting ? ", not \"\(text.prefix(40))\"." : ".")
      }
      return complaint(aboutLength: text.trimmed.count, label)
    case .string(let text): return complaint(aboutLength: text.count, label)
    case .int where isNumber: return nil
    case .double(let number) where isNumber && number.isFinite: return nil
    default:
      return "\(label) takes a \(isNumber ? "number" : "text"), not a value of type "
        + "\(value.typeName)."
    }
  }

  private func complaint(aboutLength count: Int, _ label: String) -> String? {
    if count < minLength {
      return "\(label) needs at least \(minLength) \(minLength == 1 ? "character" : "characters")."
    }
    if maxLength > 0, count > maxLength {
      return "\(label) has \(count) characters, and may have at most \(maxLength)."
    }
    return nil
  }

  /// The problem with the value of a number input outside of forms; nil for none.
  ///
  /// - Parameter isTyping: The user has not finished, so `-` and `1e` are valid.
  public static func complaint(aboutNumber value: Value, isTyping: Bool) -> String? {
    switch value {
    case .null, .int: nil
    case .double(let number) where number.isFinite: nil
    case .string(let text)
    where text.allSatisfy(\.isWhitespace) || text.isDecimalNumber
      || (isTyping && text.trimmed.utf8.allSatisfy(String.numeric.contains)):
      nil
    case .string(let text): "The input takes a number, not \"\(text.prefix(40))\"."
    default: "The input takes a number."
    }
  }
}

extension NodeTemplate {
  /// The value of a property that no expression computes.
  fileprivate func constant(_ name: String) -> Value? {
    properties[name].flatMap { $0.expression.isEmpty ? $0.value : nil }
  }
}

extension String {
  fileprivate static let numeric = Set("0123456789+-.eE".utf8)

  fileprivate var trimmed: String {
    let start = drop(while: \.isWhitespace)
    guard let end = start.lastIndex(where: { !$0.isWhitespace }) else { return "" }
    return String(start[...end])
  }

  /// `-1.5e3`: digits with an optional sign, fraction and exponent, and within the range of a
  /// double. Blanks may be around them.
  fileprivate var isDecimalNumber: Bool {
    let number = trimmed
    return number.utf8.allSatisfy(String.numeric.contains) && Double(number)?.isFinite == true
  }
}
