import WidgetExpression
import WidgetModel

/// A part of the document: its source node and its path.
struct Item {
  var node: SourceNode
  var path: String

  func element(_ index: Int, _ node: SourceNode) -> Item {
    Item(node: node, path: "\(path)[\(index)]")
  }

  /// Whether the item is an object with the key, whatever its value is.
  func hasKey(_ key: String) -> Bool {
    guard case .map(let entries) = node.content else { return false }
    return entries.contains { $0.key == key }
  }
}

/// An object of a known shape.
struct Object {
  let item: Item
  let shape: ObjectShape
  fileprivate let entries: [String: SourceNode.Entry]

  /// The value of a key; nil if the key is missing or null.
  subscript(key: String) -> Item? {
    assert(shape.keys.contains(key) || shape.isOpen, "\(shape.name) has no \(key)")
    guard let entry = entries[key], !entry.value.isNull else { return nil }
    return Item(node: entry.value, path: item.path.isEmpty ? key : "\(item.path).\(key)")
  }

  /// Whether the object has a key, even with the value null.
  func has(_ key: String) -> Bool { entries[key] != nil }

  /// Whether an unknown key looks like one of some names.
  func misspells(_ names: [String]) -> Bool {
    entries.keys.contains { !shape.keys.contains($0) && $0.closest(among: names) != nil }
  }

  /// Whether the object has a key that the daemon fills.
  var hasPrintedKeys: Bool { shape.printedKeys.contains { entries[$0] != nil } }

  /// The text of a key that the daemon fills. Empty if there is none.
  func printedText(_ key: String) -> String {
    assert(shape.printedKeys.contains(key), "\(shape.name) prints no \(key)")
    guard case .scalar(let text, _)? = entries[key]?.value.content else { return "" }
    return text
  }
}

/// A name and its value, in the order of the file.
struct Named {
  let name: String
  /// The place of the name.
  let nameItem: Item
  let item: Item
}

/// Reads the parts of a document, and collects their mistakes. Goes on after a mistake, so that all
/// mistakes are reported together.
final class Reading {
  private(set) var problems: [BundleProblem] = []
  /// Warnings about possible mistakes.
  private(set) var remarks: [BundleProblem] = []
  let timeZones: (@Sendable (String) -> TimeZoneRules?)?
  /// The maximum number of collected problems. It is higher than the number of reported problems,
  /// so that the first ones in the file's order are among them.
  private static let problemsKept = 500
  private static let remarksKept = 500

  let lines: SourceLines
  /// The line that was asked for last. Its copy takes long if it has a whole document.
  private var lastLine: (number: Int, text: String?)?
  let form: DeclaredForm
  /// The settings that expressions read as `defaults`.
  var defaults = BundleDefaults()
  /// The host's variables. Expressions read the permitted ones as `environment`.
  var environment: [String: String] = [:]
  var permissions = Permissions()
  /// The names that `let` declares, in the order of the file.
  var lets: [LetName] = []
  /// The part of the document whose fields problems name, with the path from there. Empty if a line
  /// and a column are enough. Entries of a timeline look alike, and a program has often made them.
  var namedPart = ""
  /// Whether a problem already says how to make the file a bundle.
  var hasAdvisedBundle = false
  /// Called with each valid expression.
  var onCompiled: ((CompiledExpression) -> Void)?

  init(
    _ lines: SourceLines, form: DeclaredForm = .short,
    timeZones: (@Sendable (String) -> TimeZoneRules?)?
  ) {
    self.timeZones = timeZones
    self.lines = lines
    self.form = form
  }

  // MARK: - Problems

  /// Whether no further problem is kept, so that nobody need look for its place.
  var isFull: Bool { problems.count >= Reading.problemsKept }
  var hasAllRemarks: Bool { remarks.count >= Reading.remarksKept }

  /// A line by its number, from 1; nil if there is none.
  func line(_ number: Int) -> String? {
    if let lastLine, lastLine.number == number { return lastLine.text }
    let text = lines[number]
    lastLine = (number, text)
    return text
  }

  /// - Parameter hint: only used if the problem is kept. The search for a near name can take long.
  func report(_ item: Item, _ message: String, hint: @autoclosure () -> String = "") {
    report(line: item.node.line, column: item.node.column, item.path, message, hint: hint())
  }

  func report(
    line: Int, column: Int, _ path: String, _ message: String,
    hint: @autoclosure () -> String = ""
  ) {
    guard !isFull else { return }
    problems.append(
      BundleProblem(
        line: line, column: column, path: path, message: fieldPrefix(path) + message,
        hint: hint()))
  }

  /// The field of a problem in `namedPart`: `entries[3].values.title: `.
  private func fieldPrefix(_ path: String) -> String {
    guard !namedPart.isEmpty, path.hasPrefix(namedPart) else { return "" }
    let field = path.dropFirst(namedPart.count).drop { $0 == "." }
    return field.isEmpty ? "" : "\(field.prefix(200)): "
  }

  /// - Parameter foreignKind: the kind that the bundle lacks, if the warning is about it.
  func remark(_ item: Item, _ message: String, hint: String, foreignKind: KindName? = nil) {
    var problem = BundleProblem(
      line: item.node.line, column: item.node.column, path: item.path, message: message,
      hint: hint)
    problem.foreignKind = foreignKind
    remark(problem)
  }

  /// Adds a warning, once: an expression such as a transform may be read several times.
  func remark(_ problem: BundleProblem) {
    guard !hasAllRemarks, !remarks.contains(problem) else { return }
    remarks.append(problem)
  }

  // MARK: - Objects and lists

  /// The object. An item that is not an object is reported and gives nil. Unknown keys are
  /// reported.
  func object(_ item: Item, _ shape: ObjectShape, or alternatives: String = "") -> Object? {
    guard case .map(let entries) = item.node.content else {
      let keys = shape.keys.prefix(8).joined(separator: ", ")
      report(
        item, "expected an object\(alternatives), not \(item.node.words)",
        hint: "it has the keys \(keys)\(shape.keys.count > 8 ? ", …" : "")")
      return nil
    }
    if !shape.isOpen { checkKeys(entries, item, shape) }
    warnOfComments(entries, item)
    return Object(
      item: item, shape: shape,
      entries: Dictionary(entries.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first }))
  }

  /// Reports a missing key, unless an unknown key looks like it, so that one misspelt key gives one
  /// error.
  func reportMissing(_ key: String, of object: Object, _ message: String, hint: String) {
    guard !object.misspells([key]) else { return }
    report(object.item, message, hint: hint)
  }

  /// Warns of keys with a comment in place of a value: `title: # 1`.
  private func warnOfComments(_ entries: [SourceNode.Entry], _ item: Item) {
    for entry in entries {
      guard case .scalar("", isPlain: true) = entry.value.content,
        let line = lines[entry.value.line]?.unicodeScalars
      else { continue }
      let rest = line.dropFirst(entry.value.column - 1).drop { $0 == " " || $0 == "\t" }
      guard rest.first == "#" else { continue }
      remark(
        Item(
          node: entry.value, path: item.path.isEmpty ? entry.key : "\(item.path).\(entry.key)"),
        "\"\(entry.key.prefix(64))\" has no value, because \"#\" begins a comment",
        hint: "put the text in quotes, or remove the key")
    }
  }

  private func checkKeys(_ entries: [SourceNode.Entry], _ item: Item, _ shape: ObjectShape) {
    for entry in entries
    where !shape.keys.contains(entry.key) && entry.key != ObjectShape.remark
      && !(form == .long && shape.printedKeys.contains(entry.key))
    {
      report(
        line: entry.line, column: entry.column, item.path,
        "unknown key \"\(entry.key.prefix(64))\"",
        hint: hint(forKey: entry.key, of: shape))
    }
  }

  /// The entries of an object whose keys are the bundle's own names.
  func entries(_ item: Item, of what: String) -> [Named]? {
    guard case .map(let entries) = item.node.content else {
      report(item, "expected an object of \(what), not \(item.node.words)")
      return nil
    }
    warnOfComments(entries, item)
    return entries.filter { $0.key != ObjectShape.remark }.map { entry in
      let path = item.path.isEmpty ? entry.key : "\(item.path).\(entry.key)"
      let name = SourceNode(
        line: entry.line, column: entry.column, content: .scalar(entry.key, isPlain: false))
      return Named(
        name: entry.key, nameItem: Item(node: name, path: path),
        item: Item(node: entry.value, path: path))
    }
  }

  func list(_ item: Item?, of what: String) -> [Item] {
    guard let item else { return [] }
    guard case .list(let elements) = item.node.content else {
      report(
        item, "expected a list of \(what), not \(item.node.words)", hint: "put it in brackets: [ ]")
      return []
    }
    return elements.enumerated().map { item.element($0, $1) }
  }

  /// One, or a list of them.
  func oneOrMore(_ item: Item?) -> [Item] {
    guard let item else { return [] }
    guard case .list(let elements) = item.node.content else { return [item] }
    return elements.enumerated().map { item.element($0, $1) }
  }

  // MARK: - Scalars

  /// The text as it is written, even of a number. In the long form, a number needs quotes, because
  /// JSON does not keep its digits.
  func text(_ item: Item?, _ what: String = "text") -> String? {
    guard let item else { return nil }
    guard case .scalar(let text, let isPlain) = item.node.content else {
      report(item, "expected \(what), not \(item.node.words)")
      return nil
    }
    if form == .long, isPlain, PlainScalar.value(text) != .string(text) {
      report(item, "expected \(what), not \(item.node.words)", hint: "put it in quotes")
      return nil
    }
    return text
  }

  func texts(_ item: Item?, of what: String) -> [(text: String, item: Item)] {
    list(item, of: what).compactMap { element in
      text(element, "text").map { (text: $0, item: element) }
    }
  }

  func bool(_ item: Item?) -> Bool? {
    guard let item else { return nil }
    if case .scalar(let text, isPlain: true) = item.node.content,
      case .bool(let flag)? = PlainScalar.value(text)
    {
      return flag
    }
    report(item, "expected true or false, not \(item.node.words)")
    return nil
  }

  func int(_ item: Item?, in range: ClosedRange<Int>) -> Int? {
    guard let item else { return nil }
    if case .scalar(let text, isPlain: true) = item.node.content,
      case .int(let number)? = PlainScalar.value(text), let int = Int(exactly: number),
      range.contains(int)
    {
      return int
    }
    report(
      item,
      "expected a whole number from \(range.lowerBound) to \(range.upperBound), not "
        + item.node.words)
    return nil
  }

  func duration(_ item: Item?, atLeast least: Duration = .zero) -> Duration? {
    guard let item, let text = text(item, "a duration") else { return nil }
    guard let duration = DurationSyntax.parse(text) else {
      report(item, "\"\(text.prefix(40))\" is not a duration", hint: "write \(DurationSyntax.hint)")
      return nil
    }
    guard duration >= least else {
      report(
        item, "\(text) is too short", hint: "the shortest is \(DurationSyntax.seconds(least))")
      return nil
    }
    return duration
  }

  /// The value for one of some names.
  func choice<T>(_ item: Item?, _ what: String, _ choices: [(name: String, value: T)]) -> T? {
    guard let item, let text = text(item, what) else { return nil }
    if let choice = choices.first(where: { $0.name == text }) { return choice.value }
    report(
      item, "\"\(text.prefix(40))\" is not a valid \(what)",
      hint: suggestion(text, among: choices.map(\.name)))
    return nil
  }

  /// - Parameter others: other names to suggest.
  func families(
    _ texts: [(text: String, item: Item)], others: [String] = []
  ) -> [Family] {
    texts.compactMap { text, item in
      if let family = Family.allCases.first(where: { $0.name == text }) { return family }
      let names = Family.allCases.map(\.name)
      let isOther = !others.isEmpty && text.closest(among: names) == nil
      report(
        item,
        "\"\(text.prefix(40))\" is "
          + (isOther ? "neither a family nor a type of node" : "not a family"),
        hint: suggestion(text, among: names + others))
      return nil
    }
  }

  /// `did you mean "x"?`, or the existing names.
  func suggestion(_ name: String, among names: some Collection<String>) -> String {
    if name.hasSuffix("\"") || name.hasSuffix("'"), names.contains(String(name.dropLast())) {
      return "its opening quote is missing"
    }
    if name.isRestOfValue { return String.commaHint }
    if let closest = name.closest(among: names) { return "did you mean \"\(closest)\"?" }
    guard !names.isEmpty else { return "" }
    return "there is: " + names.prefix(16).joined(separator: ", ") + (names.count > 16 ? ", …" : "")
  }

  // MARK: - Constants

  /// A value that is always the same. `{"$bytes": BASE64}`, `{"$timestamp": RFC3339}`,
  /// `{"$duration": "5s"}` and `{"$double": "NaN"}` are values of types that JSON does not have.
  /// `==` at the beginning of text stands for one `=`. The long form has no escapes for `=`.
  func constant(_ item: Item) -> Value? {
    guard form == .short else { return printedConstant(item) }
    guard case .map(let entries) = item.node.content, entries.count == 1, let only = entries.first,
      only.key.hasPrefix("$"),
      case .scalar(let text, _) = only.value.content
    else {
      switch item.node.content {
      case .scalar(let text, let isPlain): return constant(text, isPlain: isPlain, item)
      case .list(let elements):
        let values = elements.enumerated().map { constant(item.element($0, $1)) }
        return values.contains { $0 == nil } ? nil : .list(values.compactMap(\.self))
      case .map(let entries):
        var values: [ValueMap.Entry] = []
        for entry in entries {
          guard let value = constant(Item(node: entry.value, path: "\(item.path).\(entry.key)"))
          else { continue }
          values.append(.init(key: entry.key, value: value))
        }
        return values.count == entries.count ? .map(ValueMap(values)) : nil
      }
    }
    let types: [String: FieldType] = [
      "$bytes": .bytes, "$timestamp": .timestamp, "$duration": .duration, "$double": .double,
    ]
    guard let type = types[only.key], let value = Reading.value(of: text, as: type) else {
      report(
        item, "\"\(only.key)\": \"\(text.prefix(40))\" is not a value",
        hint: "use $bytes with Base64, $timestamp with RFC 3339, $duration, or $double")
      return nil
    }
    return value
  }

  private func constant(_ text: String, isPlain: Bool, _ item: Item) -> Value? {
    if text.hasPrefix("==") { return .string(String(text.dropFirst())) }
    if text.hasPrefix("="), text != "=" {
      report(
        item, "an expression is not allowed here, because this value is constant",
        hint: "write == for text that begins with =")
      return nil
    }
    guard isPlain else { return .string(text) }
    guard let value = PlainScalar.value(text) else {
      report(item, "\(text.prefix(40)) is outside 64 bits", hint: "put it in quotes")
      return nil
    }
    return value
  }

  /// Text as a value of a type that JSON does not have.
  static func value(of text: String, as type: FieldType) -> Value? {
    switch type {
    case .duration: return DurationSyntax.parse(text).map { .duration($0) }
    case .timestamp: return evaluate("timestamp(text)", text)
    case .bytes: return evaluate("base64.decode(text)", text)
    case .double:
      return Double(text).map { .double($0) }
    default: return nil
    }
  }

  private static func evaluate(_ source: String, _ text: String) -> Value? {
    let environment = ExpressionEnvironment(variables: [ExpressionVariable("text", .string)])
    guard let expression = try? CompiledExpression(source, in: environment),
      let value = try? expression.evaluate(SlotBindings([.string(text)]))
    else { return nil }
    return Value(value)
  }

  /// The value with the declared type. A duration or a time can be written as text. If the value
  /// does not fit, reports that and returns nil.
  func fitted(_ value: Value, _ type: FieldType, _ item: Item, hint: String = "") -> Value? {
    if let fitted = type.fitted(value) { return fitted }
    if let converted = Reading.converted(value, type), let fitted = type.fitted(converted) {
      return fitted
    }
    report(
      item, "expected a value of type \(type), not \(value.typeName)",
      hint: hint.isEmpty ? type.example : hint)
    return nil
  }

  /// The value with the type and choices of a declared field. If the value does not fit, reports
  /// that and returns nil.
  func fitted(_ value: Value, _ field: Field, _ item: Item) -> Value? {
    guard let fitted = fitted(value, field.type, item) else { return nil }
    if field.takes(fitted) { return fitted }
    let text = ExpressionValue(fitted).text.map { "\"\($0.prefix(64))\"" } ?? "the value"
    report(
      item, "\(text) is not one of the choices of \"\(field.name)\"",
      hint: "use \(field.choiceWords)")
    return nil
  }

  private static func converted(_ value: Value, _ type: FieldType) -> Value? {
    switch (type, value) {
    case (.duration, .string(let text)), (.timestamp, .string(let text)),
      (.bytes, .string(let text)):
      return Reading.value(of: text, as: type)
    case (.list(let element), .list(let values)):
      let converted = values.map { Reading.converted($0, element) }
      return converted.contains { $0 == nil } ? nil : .list(converted.compactMap(\.self))
    case (.map(let element), .map(let map)):
      var entries: [ValueMap.Entry] = []
      for entry in map.entries {
        guard let value = Reading.converted(entry.value, element) else { return nil }
        entries.append(.init(key: entry.key, value: value))
      }
      return .map(ValueMap(entries))
    default: return type.fitted(value)
    }
  }
}

extension FieldType {
  /// The hint for writing a value of the type. Empty if every value has the type.
  fileprivate var example: String {
    switch self {
    case .bool: "write true or false"
    case .int: "write a whole number, such as 5"
    case .double: "write a number, such as 1.5"
    case .string: "write text; put a number in quotes"
    case .bytes: "write text in Base64"
    case .timestamp: "write for example 2026-01-01T08:00:00Z"
    case .duration: "write \(DurationSyntax.hint)"
    case .list: "write a list: [ ]"
    case .map: "write keys and values: { }"
    case .any: ""
    }
  }
}

extension String {
  /// The hint about a name that expressions cannot use.
  var fieldNameHint: String {
    isRestOfValue
      ? String.commaHint : "use 1 to 64 of a-z, A-Z, 0-9 and _, not a digit first"
  }

  /// Whether the name is probably the end of a value without quotes, which has a comma in it.
  var isRestOfValue: Bool { contains { ")]'\"".contains($0) } }

  static let commaHint = "the comma before it ended a value; put that value in quotes"
}
