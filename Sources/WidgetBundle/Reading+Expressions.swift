import WidgetExpression
import WidgetModel

/// The variables that an expression can read, by its place.
struct Variables {
  var environment: ExpressionEnvironment

  init(
    _ variables: [ExpressionVariable], timeZones: (@Sendable (String) -> TimeZoneRules?)?
  ) {
    environment = ExpressionEnvironment(variables: variables, timeZones: timeZones)
  }

  /// The variables with a further one, which hides another one of the same name.
  func adding(_ name: String, _ type: ExpressionType) -> Variables {
    var copy = self
    copy.environment.variables.append(ExpressionVariable(name, type))
    return copy
  }
}

/// Expressions and templates.
extension Reading {
  /// The reason why expressions know no time zone of this name; nil if they may know it.
  func mistake(inZone name: String) -> PropertyMismatch? {
    guard !TimeZoneRules.mayBeName(name, in: timeZones) else { return nil }
    let suggestion = TimeZoneRules.suggestion(for: name, in: timeZones)
    return PropertyMismatch(
      message: "there is no time zone \"\(name.prefix(64))\"",
      hint: suggestion.map { "did you mean \($0)?" }
        ?? "use a name such as Europe/Berlin, or =parameters.zone")
  }

  /// An expression where only an expression is allowed. A `=` in front of it is allowed.
  ///
  /// - Parameters:
  ///   - wanted: the type that it must have, and its purpose.
  ///   - orText: whether a value with a text form is accepted where text is wanted, as in
  ///     properties of nodes.
  func expression(
    _ item: Item?, _ variables: Variables, giving wanted: FieldType? = nil, orText: Bool = false,
    for purpose: String = ""
  ) -> Expression? {
    guard let item, let text = text(item, "an expression") else { return nil }
    let skipped = text.hasPrefix("=") ? 1 : 0
    return compile(
      text, skipping: skipped, item, variables, giving: wanted, orText: orText, for: purpose)
  }

  /// - Parameter skipped: how many bytes of the text are before the expression.
  func compile(
    _ text: String, skipping skipped: Int, _ item: Item, _ variables: Variables,
    giving wanted: FieldType?, orText: Bool = false, for purpose: String
  ) -> Expression? {
    var source = String(decoding: text.utf8.dropFirst(skipped), as: UTF8.self)
    var compiled: CompiledExpression
    let isFree = !variables.environment.variables.contains { $0.name == "defaults" }
    var known =
      isFree && !defaults.fields.isEmpty ? variables.adding("defaults", defaults.type) : variables
    let hasEnvironment =
      !permissions.environment.isEmpty
      && !variables.environment.variables.contains { $0.name == "environment" }
    if hasEnvironment { known = known.adding("environment", .dyn) }
    do throws(ExpressionError) {
      compiled = try CompiledExpression(source, in: adding(letsTo: known).environment)
    } catch {
      let isText = skipped == 0 && (wanted == .string || wanted == .any)
      var advice = isText ? Reading.advice(forWords: text, known) : ""
      for problem in error.problems {
        report(problem, skipping: skipped, of: text, item, advice: advice)
        advice = ""
      }
      return nil
    }
    guard !tellDoubts(compiled, skipping: skipped, of: text, item) else { return nil }
    let used = letsUsed(by: compiled)
    if !used.isEmpty {
      guard let bound = binding(used, in: source, skipping: skipped, of: text, item, known) else {
        return nil
      }
      (compiled, source) = (bound, bound.source)
    }
    let isText = orText && wanted == .string && compiled.resultType.hasText
    if let wanted, !isText, !compiled.resultType.mayFit(wanted) {
      let place = isFull ? nil : position(of: skipped, in: text, item.node)
      report(
        line: place?.line ?? item.node.line, column: place?.column ?? item.node.column, item.path,
        "the expression gives \(compiled.resultType), but \(purpose.isEmpty ? "this" : purpose) is "
          + "of type \(wanted)", hint: conversion(to: wanted))
      return nil
    }
    let read = compiled.references
    var bound = source
    if isFree, read.contains(where: { $0.variable == "defaults" }) {
      bound = bindingDefaults(bound)
    }
    let ofEnvironment = read.filter { hasEnvironment && $0.variable == "environment" }
    if !ofEnvironment.isEmpty {
      guard mayRead(ofEnvironment, item) else { return nil }
      bound = bindingEnvironment(bound, ofEnvironment)
    }
    if bound != source,
      let constant = try? CompiledExpression(bound, in: variables.environment)
    {
      compiled = constant
    }
    onCompiled?(compiled)
    let names = ofEnvironment.compactMap { reference -> String? in
      if case .field(let name)? = reference.path.first { name } else { nil }
    }
    return Expression(compiled: compiled, place: item.path, environmentNames: names)
  }

  /// Reports a mistake at its place in the text.
  ///
  /// - Parameter advice: a further next step, unless the mistake looks like a misspelt name.
  func report(
    _ problem: ExpressionError.Problem, skipping skipped: Int, of text: String, _ item: Item,
    advice: String = ""
  ) {
    guard !isFull else { return }
    let place = position(of: problem.offset + skipped, in: text, item.node)
    let parts = problem.message.parts(between: "; ", maxSplits: 1).map(String.init)
    let unknown =
      place == nil ? " (at \(problem.position.line):\(problem.position.column))" : ""
    var hint = parts.count > 1 ? parts[1] : Reading.isCut(text, item.node) ? Reading.cutHint : ""
    if !advice.isEmpty, !hint.hasPrefix("did you mean") {
      hint += (hint.isEmpty ? "" : "; ") + advice
    }
    report(
      line: place?.line ?? item.node.line, column: place?.column ?? item.node.column, item.path,
      (parts.first ?? problem.message) + unknown, hint: hint)
  }

  /// The advice for words where an expression is needed, such as `hello` under `set`. The written
  /// form has the same meaning in YAML and in JSON. Empty for other texts.
  private static func advice(forWords text: String, _ variables: Variables) -> String {
    let name = text.prefix { $0 == "_" || $0.isLetter || $0.isNumber }
    let words = text.last.map({ ".!?".contains($0) }) == true ? text.dropLast() : text[...]
    guard text.first?.isLetter == true, text.count <= 60,
      words.allSatisfy({ $0 == " " || $0 == "_" || $0.isLetter || $0.isNumber }),
      !variables.environment.variables.contains(where: { $0.name == name })
    else { return "" }
    return "for a text, write \"'\(text)'\", because this is an expression"
  }

  private static let cutHint =
    "a comma ends a value in braces or brackets; put the whole expression in quotes"

  /// Whether the text has no quotes and lacks closing brackets, so that a comma probably ended it.
  private static func isCut(_ text: String, _ node: SourceNode) -> Bool {
    guard case .scalar(_, isPlain: true) = node.content else { return false }
    func count(_ characters: String) -> Int { text.count { characters.contains($0) } }
    return count("([{") > count(")]}")
  }

  /// Reports a mistake at an offset of an expression, in bytes. If the source differs from the
  /// item's text, because variables were inserted, the place is the item's.
  func report(
    _ item: Item, at offset: Int, of source: String, _ message: String, hint: String
  ) {
    guard case .scalar(let text, _) = item.node.content, text.hasSuffix(source),
      let place = position(of: text.utf8.count - source.utf8.count + offset, in: text, item.node)
    else { return report(item, message, hint: hint) }
    report(line: place.line, column: place.column, item.path, message, hint: hint)
  }

  /// Reports constants that make the expression fail always, and warns of other likely mistakes.
  /// Returns whether the expression always fails.
  private func tellDoubts(
    _ compiled: CompiledExpression, skipping skipped: Int, of text: String, _ item: Item
  ) -> Bool {
    for doubt in compiled.doubts {
      let isKept = doubt.alwaysFails ? !isFull : !hasAllRemarks
      let place = isKept ? position(of: doubt.offset + skipped, in: text, item.node) : nil
      let parts = doubt.message.parts(between: "; ", maxSplits: 1).map(String.init)
      let (line, column) = (place?.line ?? item.node.line, place?.column ?? item.node.column)
      let problem = BundleProblem(
        line: line, column: column, path: item.path, message: parts.first ?? doubt.message,
        hint: parts.count > 1 ? parts[1] : "")
      if doubt.alwaysFails {
        report(line: line, column: column, item.path, problem.message, hint: problem.hint)
      } else {
        remark(problem)
      }
    }
    return compiled.doubts.contains { $0.alwaysFails }
  }

  /// Warns of text that looks like an expression without its `=`, such as `data.n`, and of text with
  /// braces around one.
  private func remarkForgottenSign(_ text: String, _ item: Item, _ variables: Variables) {
    let start = "\"\(text.prefix(60))\" is shown as it is"
    if let hint = forgottenSign(text, variables) {
      remark(item, start, hint: hint)
    } else if let inside = embedded(text, variables) {
      remark(
        item, start + ", because braces insert no value",
        hint: "write an expression, such as =\"…\" + string(\(inside))")
    }
  }

  /// The advice for a text that looks like an expression without its `=`. Nil for other text.
  private func forgottenSign(_ text: String, _ variables: Variables) -> String? {
    let name = text.prefix { $0 == "_" || $0.isLetter || $0.isNumber }
    guard text.dropFirst(name.count).first.map({ $0 == "." || $0 == "[" }) == true,
      variables.environment.variables.contains(where: { $0.name == name }),
      let compiled = try? CompiledExpression(text, in: variables.environment),
      !compiled.references.isEmpty
    else { return nil }
    return "write =\(text.prefix(60)) for its value"
  }

  /// The first expression that stands between braces in a text: `data.n` in `{data.n} %`.
  private func embedded(_ text: String, _ variables: Variables) -> String? {
    for part in text.split(separator: "{").dropFirst(text.hasPrefix("{") ? 0 : 1) {
      guard let end = part.firstIndex(of: "}") else { continue }
      let inside = String(part[..<end])
      if forgottenSign(inside, variables) != nil { return inside }
    }
    return nil
  }

  /// The source with the settings as constants. The bundle is loaded again when the user changes a
  /// setting.
  private func bindingDefaults(_ source: String) -> String {
    "cel.bind(defaults, \(CELText.literal(.map(defaults.values))), \(CELText.wrapped(source)))"
  }

  /// Replaces `${environment.NAME}` by the host's variables. Nil if the host lacks one of them.
  func replacingVariables(_ text: String) -> String? {
    var result = ""
    var rest = text[...]
    while let start = rest.firstRange(of: "${environment.") {
      result += rest[..<start.lowerBound]
      rest = rest[start.upperBound...]
      guard let end = rest.firstIndex(of: "}"), let value = environment[String(rest[..<end])],
        !value.isEmpty
      else { return nil }
      result += value
      rest = rest[rest.index(after: end)...]
    }
    return result + rest
  }

  /// Reports variables that the permissions do not name. Returns false if there are any.
  private func mayRead(_ references: [ExpressionReference], _ item: Item) -> Bool {
    for case .field(let name)? in references.map(\.path.first)
    where !permissions.allowsVariable(name) {
      report(
        item, "the bundle may not read the variable \(name.prefix(80))",
        hint: "add \(name.prefix(80)) to permissions.environment")
      return false
    }
    return true
  }

  /// Binds the host's variables as constants: all permitted ones, and null for variables that the
  /// source names and the host lacks.
  private func bindingEnvironment(_ source: String, _ references: [ExpressionReference]) -> String {
    var values = ValueMap()
    for name in permissions.environment where EnvironmentPermission(name)?.isPattern == false {
      values[name] = .null
    }
    for case .field(let name)? in references.map(\.path.first) { values[name] = .null }
    for (name, value) in environment where permissions.allowsVariable(name) {
      values[name] = .string(value)
    }
    // As `dyn`, so that the type of an expression does not depend on the host's variables.
    return
      "cel.bind(environment, dyn(\(CELText.literal(.map(values)))), \(CELText.wrapped(source)))"
  }

  private func conversion(to type: FieldType) -> String {
    switch type {
    case .string: "convert it with string(…), formatNumber(…) or formatDate(…)"
    case .double: "convert it with double(…)"
    case .int: "convert it with int(…)"
    case .bool: "compare it with something"
    default: ""
    }
  }

  /// The place in the file of a byte of a scalar's text. Nil if the place is unknown, as in a block
  /// whose lines are not joined.
  private func position(
    of offset: Int, in text: String, _ node: SourceNode
  ) -> (line: Int, column: Int)? {
    guard let line = line(node.line) else { return nil }
    let rest = line.unicodeScalars.dropFirst(node.column - 1)
    let before = String(decoding: text.utf8.prefix(offset), as: UTF8.self).unicodeScalars
    if rest.starts(with: text.unicodeScalars) { return (node.line, node.column + before.count) }
    guard let sign = rest.first else { return nil }
    if sign == ">" { return position(of: before.count, inFolded: text, node) }
    guard sign == "|" else {
      var written = WrittenText(node, in: lines)
      return written?.place(of: before.count, in: text)
    }
    // A literal block: its lines are below, all of them further in.
    let inside = before.split(separator: "\n", omittingEmptySubsequences: false)
    let all = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
    let number = inside.count - 1
    guard let last = inside.last, all.indices.contains(number),
      let line = lines[node.line + 1 + number]
    else { return nil }
    let indent = line.unicodeScalars.count - all[number].count
    guard indent >= 0, line.unicodeScalars.dropFirst(indent).elementsEqual(all[number]) else {
      return nil
    }
    return (node.line + 1 + number, indent + last.count + 1)
  }

  /// The place in a folded block: a blank joins two lines, and each empty line is a line break. Nil
  /// if a line is further in than the first one, because such lines are not joined.
  ///
  /// - Parameter offset: in Unicode scalars.
  private func position(
    of offset: Int, inFolded text: String, _ node: SourceNode
  ) -> (line: Int, column: Int)? {
    var rest = text.unicodeScalars[...]
    var left = offset
    var number = node.line
    var indent: Int?
    var isJoined = false
    while true {
      number += 1
      guard let line = lines[number]?.unicodeScalars else { return nil }
      let start = line.prefix { $0 == " " }.count
      let isEmpty = start == line.count
      if isEmpty || isJoined {
        let joint: Unicode.Scalar = isEmpty ? "\n" : " "
        guard rest.first == joint else { return nil }
        rest = rest.dropFirst()
        left -= 1
      }
      isJoined = !isEmpty
      guard !isEmpty else { continue }
      let content = line.dropFirst(start)
      guard start == indent ?? start, rest.starts(with: content) else { return nil }
      indent = start
      if left <= content.count { return left < 0 ? nil : (number, start + left + 1) }
      rest = rest.dropFirst(content.count)
      left -= content.count
    }
  }

  // MARK: - Templates

  /// A constant, or an expression that gives a value.
  ///
  /// - Parameters:
  ///   - wanted: the required type, and its purpose.
  ///   - orText: see `expression`.
  func template(
    _ item: Item?, _ variables: Variables, giving wanted: FieldType? = nil, orText: Bool = false,
    for purpose: String = ""
  ) -> Template? {
    guard let item else { return nil }
    switch item.node.content {
    case .scalar(let text, let isPlain):
      if text.hasPrefix("="), !text.hasPrefix("==") {
        return compile(
          text, skipping: 1, item, variables, giving: wanted, orText: orText, for: purpose
        ).map { .expression($0) }
      }
      if orText { remarkForgottenSign(text, item, variables) }
      // An author who writes `5` where text is wanted means "5".
      if wanted == .string, isPlain { return .constant(.string(text.droppingEscape)) }
      guard let value = constant(item) else { return nil }
      guard let wanted else { return .constant(value) }
      let hint = forgottenSign(text, variables) ?? ""
      return fitted(value, wanted, item, hint: hint).map { .constant($0) }
    case .list(let elements):
      var wantedElement: FieldType?
      if case .list(let type)? = wanted { wantedElement = type }
      if let wanted, wantedElement == nil, wanted != .any {
        report(item, "expected a value of type \(wanted), not a list")
        return nil
      }
      let templates = elements.enumerated().map {
        template(item.element($0, $1), variables, giving: wantedElement)
      }
      guard !templates.contains(where: { $0 == nil }) else { return nil }
      let found = templates.compactMap(\.self)
      let constants = found.compactMap(\.constantValue)
      return constants.count == found.count ? .constant(.list(constants)) : .list(found)
    case .map(let entries):
      if entries.count == 1, entries.first?.key.hasPrefix("$") == true {
        guard let value = constant(item) else { return nil }
        guard let wanted else { return .constant(value) }
        return fitted(value, wanted, item).map { .constant($0) }
      }
      var wantedValue: FieldType?
      if case .map(let type)? = wanted { wantedValue = type }
      if let wanted, wantedValue == nil, wanted != .any {
        report(item, "expected a value of type \(wanted), not an object")
        return nil
      }
      var found: [(key: String, value: Template)] = []
      for entry in entries {
        let child = Item(node: entry.value, path: "\(item.path).\(entry.key)")
        guard let value = template(child, variables, giving: wantedValue) else { continue }
        found.append((entry.key, value))
      }
      guard found.count == entries.count else { return nil }
      let constants = found.compactMap { entry in
        entry.value.constantValue.map { ValueMap.Entry(key: entry.key, value: $0) }
      }
      return constants.count == found.count ? .constant(.map(ValueMap(constants))) : .map(found)
    }
  }

  /// The entries of an object, each a template.
  func templates(
    _ item: Item?, of what: String, _ variables: Variables, giving wanted: FieldType? = nil
  ) -> [(name: String, value: Template)] {
    guard let item, let entries = entries(item, of: what) else { return [] }
    return entries.compactMap { entry in
      template(entry.item, variables, giving: wanted).map { (name: entry.name, value: $0) }
    }
  }
}

extension String {
  /// `==x` is how `=x` is written.
  var droppingEscape: String { hasPrefix("==") ? String(dropFirst()) : self }
}

extension Template {
  var constantValue: Value? {
    if case .constant(let value) = self { value } else { nil }
  }

  /// The text, if it is constant.
  var constantText: String? {
    if case .constant(.string(let text)) = self { text } else { nil }
  }
}
