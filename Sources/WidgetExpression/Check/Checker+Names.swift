/// Names, fields and indexes, which an expression reads.
extension Checker {
  /// A name, field or index, with its reference. A key that only the evaluation knows is the step
  /// `any`. The caller notes the reference, or the longer one it makes of it.
  mutating func access(_ node: Int) -> (Typed, ExpressionReference?) {
    let offset = tree.offsets[node]
    switch tree[node] {
    case .identifier, .select:
      if let named = resolveNames(node) { return named }
      guard case .select(let operand, let field) = tree[node] else { return unknown(node) }
      let (base, reference) = access(operand)
      return select(base, field, reference, at: offset)
    case .index(let operand, let index):
      let (base, reference) = access(operand)
      let key = check(index)
      let constant = builder.constant(key.code)
      let type = elementType(base.type, key, constant, at: offset)
      let code: Int32
      if case .string(let field) = constant, declares(base.type, field) {
        code = builder.emit(.declared(base.code, name: builder.name(field)), at: offset)
      } else {
        code = builder.emit(.index(base.code, key.code), at: offset)
      }
      let typed = Typed(type: type, code: code)
      guard let reference else { return (typed, nil) }
      switch constant {
      case .string(let name): return (typed, reference.appending(.field(name)))
      case .int(let number): return (typed, reference.appending(.index(number)))
      default: return (typed, reference.appending(.any))
      }
    default: return (check(node), nil)
    }
  }

  /// `has(operand.field)`.
  mutating func has(_ operand: Int, _ field: String, at node: Int) -> Typed {
    let offset = tree.offsets[node]
    let (base, reference) = access(operand)
    _ = fieldType(base.type, field, at: offset)
    let name = builder.name(field)
    let code = builder.emit(.has(base.code, name: name), at: offset)
    if let reference { note(reference.appending(.field(field)), .presence) }
    return Typed(type: .bool, code: code)
  }

  private mutating func select(
    _ base: Typed, _ field: String, _ reference: ExpressionReference?, at offset: Int
  ) -> (Typed, ExpressionReference?) {
    let type = fieldType(base.type, field, at: offset)
    let name = builder.name(field)
    let code = builder.emit(
      declares(base.type, field)
        ? .declared(base.code, name: name) : .select(base.code, name: name), at: offset)
    return (Typed(type: type, code: code), reference?.appending(.field(field)))
  }

  // MARK: Resolving

  /// Resolves a chain of names: its longest prefix that is a variable or a type, then fields of
  /// that. Nil if the node is no such chain, or has no known prefix.
  private mutating func resolveNames(_ node: Int) -> (Typed, ExpressionReference?)? {
    var parts: [(name: String, offset: Int)] = []
    var current = node
    while case .select(let operand, let field) = tree[current] {
      parts.append((field, tree.offsets[current]))
      current = operand
    }
    guard case .identifier(let first, let isAbsolute) = tree[current] else { return nil }
    parts.append((first, tree.offsets[current]))
    parts.reverse()
    var result: (Typed, ExpressionReference?)
    var used = 1
    if !isAbsolute, let slot = locals.lastIndex(where: { $0.name == first }) {
      let code = builder.emit(.local(Int32(slot)), at: parts[0].offset)
      result = (Typed(type: locals[slot].type, code: code), locals[slot].reference)
    } else {
      guard let (named, count) = longestName(parts, isAbsolute) else { return nil }
      (result, used) = (named, count)
    }
    for (name, offset) in parts.dropFirst(used) {
      result = select(result.0, name, result.1, at: offset)
    }
    return result
  }

  private mutating func longestName(
    _ parts: [(name: String, offset: Int)], _ isAbsolute: Bool
  ) -> ((Typed, ExpressionReference?), Int)? {
    let offset = parts[0].offset
    var name = parts.map(\.name).joined(separator: ".")
    for count in stride(from: parts.count, through: 1, by: -1) {
      for candidate in candidates(name, isAbsolute) {
        if let index = variable(candidate) {
          let variable = environment.variables[index]
          let code = builder.emit(.variable(Int32(index)), at: offset)
          return (
            (Typed(type: variable.type, code: code), ExpressionReference(variable.name)), count
          )
        }
        if let kind = Self.typeNames[candidate] {
          return ((Typed(type: .type, code: builder.constant(.type(kind), at: offset)), nil), count)
        }
      }
      name = String(name.dropLast(parts[count - 1].name.count + 1))
    }
    return nil
  }

  /// The candidates for a name: in the container, in those around it, and without a container.
  func candidates(_ name: String, _ isAbsolute: Bool) -> [String] {
    guard !isAbsolute, !environment.container.isEmpty else { return [name] }
    var result: [String] = []
    var container = Substring(environment.container)
    while true {
      result.append("\(container).\(name)")
      guard let dot = container.lastIndex(of: ".") else { break }
      container = container[..<dot]
    }
    return result + [name]
  }

  private static let typeNames: [String: ExpressionKind] = Dictionary(
    uniqueKeysWithValues: ExpressionKind.allCases.filter { $0 != .dyn }.map { ($0.rawValue, $0) })

  /// An unknown name.
  private mutating func unknown(_ node: Int) -> (Typed, ExpressionReference?) {
    guard case .identifier(let name, _) = tree[node] else { return (check(node), nil) }
    let offset = tree.offsets[node]
    guard wantsProblems else {
      let code = fail(.unboundVariable, "unknown variable '\(name)'", at: offset)
      return (Typed(type: .dyn, code: code), nil)
    }
    let code = fail(.unboundVariable, "unknown variable '\(name)'", at: offset)
    // A name is one mistake, however often the expression has it.
    guard reportedNames.insert(name).inserted else { return (Typed(type: .dyn, code: code), nil) }
    let known = locals.map(\.name) + environment.variables.filter(\.isListed).map(\.name)
    var hint = hintAtField(name)
    if hint.isEmpty, let advice = ForeignWords.advice(aboutValue: name) { hint = "; \(advice)" }
    if hint.isEmpty { hint = Suggestion.hint(for: name, among: known) }
    if hint.isEmpty {
      if !functions.all(named: name, isMember: false).isEmpty {
        hint = "; '\(name)' is a function: call it with ()"
      } else if !known.isEmpty, known.count <= 12 {
        hint = "; \(Suggestion.list(of: known))"
      }
    }
    report(.unknownVariable, "unknown variable '\(name)'\(hint)", at: offset)
    return (Typed(type: .dyn, code: code), nil)
  }

  /// `; did you mean 'widget.kind'?`, if variables declare a field of this name. Empty if none does.
  private func hintAtField(_ name: String) -> String {
    let holders = environment.variables.enumerated().filter { index, holder in
      // A later variable hides earlier ones of its name.
      holder.isListed && declares(holder.type, name) && variable(holder.name) == index
    }.map { "'\($0.element.name).\(name)'" }
    guard !holders.isEmpty, holders.count <= 3 else { return "" }
    return "; did you mean \(holders.joined(separator: " or "))?"
  }

  // MARK: Types of parts

  /// Whether a type is a record that declares a field. A value may lack it: an optional parameter
  /// without a default, or an optional detail of an event.
  private func declares(_ type: ExpressionType, _ field: String) -> Bool {
    guard case .record(let record) = solver.resolved(type) else { return false }
    return record.fields[field] != nil
  }

  private static func hasSize(_ type: ExpressionType) -> Bool {
    switch type {
    case .string, .bytes, .list, .map: true
    default: false
    }
  }

  private mutating func fieldType(
    _ type: ExpressionType, _ field: String, at offset: Int
  ) -> ExpressionType {
    switch solver.resolved(type) {
    case .dyn, .parameter: return .dyn
    case .map(let key, let value):
      if !solver.fits(.string, key) {
        report(
          .noSuchOverload,
          "the map's keys are \(solver.final(key)), so it has no field '\(field)'; use […]",
          at: offset)
      }
      return value
    case .record(let record):
      if let type = record.fields[field] { return type }
      if record.isOpen { return .dyn }
      var hint =
        ForeignWords.advice(aboutField: field, among: record.fields.keys)
        ?? Suggestion.hint(for: field, among: record.fields.keys)
      if hint.isEmpty, record.fields.count <= 12 {
        hint =
          record.fields.isEmpty
          ? "; there are none"
          : "; \(Suggestion.list(of: Array(record.fields.keys)))"
      }
      report(.unknownField, "unknown field '\(field)'\(hint)", at: offset)
      return .dyn
    case let other:
      report(
        .noSuchOverload,
        "a value of type \(solver.final(other)) has no fields such as '\(field)'"
          + ForeignWords.advice(
            aboutField: field, hasSize: Self.hasSize(other), of: source.operand(before: offset)),
        at: offset)
      return .dyn
    }
  }

  private mutating func elementType(
    _ type: ExpressionType, _ key: Typed, _ constant: ExpressionValue?, at offset: Int
  ) -> ExpressionType {
    switch solver.resolved(type) {
    case .dyn, .parameter: return .dyn
    case .list(let element):
      if !solver.fits(key.type, .int) {
        report(
          .noSuchOverload, "a list's index is an int, not \(solver.final(key.type))", at: offset)
      }
      return element
    case .map(let keyType, let value):
      if !solver.fits(key.type, keyType) {
        report(
          .noSuchOverload,
          "the map's keys are \(solver.final(keyType)), not \(solver.final(key.type))", at: offset)
      }
      return value
    case .record:
      if case .string(let name) = constant { return fieldType(type, name, at: offset) }
      if !solver.fits(key.type, .string) {
        report(
          .noSuchOverload, "a field's name is a string, not \(solver.final(key.type))", at: offset)
      }
      return .dyn
    case let other:
      report(
        .noSuchOverload, "a value of type \(solver.final(other)) has no elements for […]",
        at: offset)
      return .dyn
    }
  }
}

extension ExpressionReference {
  func appending(_ step: Step) -> ExpressionReference {
    ExpressionReference(variable, path + [step])
  }
}
