/// Calls of functions and methods, and macros.
extension Checker {
  mutating func call(
    _ name: String, _ target: Int?, _ arguments: [Int], isAbsolute: Bool, at node: Int
  ) -> Typed {
    if wantsProblems, let message = misuse(of: name, isMethod: target != nil) {
      // The arguments are not checked, because they name variables that only the macro declares.
      if let target, name != MacroKind.bind.rawValue { _ = check(target) }
      let offset = tree.offsets[node]
      report(target == nil ? .unknownFunction : .noSuchOverload, message, at: offset)
      return Typed(type: .dyn, code: fail(.unchecked, "no such call of '\(name)'", at: offset))
    }
    guard let target else {
      if wantsProblems, let meant = macro(meantByFunction: name, isAbsolute, arguments.count) {
        let offset = tree.offsets[node]
        report(
          .unknownFunction,
          "unknown function '\(name)'; did you mean '\(meant.rawValue)'? Write "
            + meant.form(meant.rawValue), at: offset)
        return Typed(type: .dyn, code: fail(.unchecked, "no such function '\(name)'", at: offset))
      }
      let typed =
        arguments.count == 1
        ? [argument(arguments[0], of: name)] : arguments.map { check($0) }
      return function(name, typed, isAbsolute: isAbsolute, at: node)
    }
    // `math.abs(x)` reads like a method of a variable `math`.
    if let prefix = qualifiedName(target) {
      let full = "\(prefix.name).\(name)"
      let isFunction = candidates(full, prefix.isAbsolute).contains {
        !functions.all(named: $0, isMember: false).isEmpty
      }
      if isFunction || (wantsProblems && !resolves(prefix.name, prefix.isAbsolute)) {
        if !isFunction, prefix.name == "cel" {
          let offset = tree.offsets[node]
          report(
            .unknownFunction,
            "unknown function '\(full)'; write \(MacroKind.bind.form(MacroKind.bind.rawValue))",
            at: offset)
          return Typed(type: .dyn, code: fail(.unchecked, "no such function '\(full)'", at: offset))
        }
        let isNamespace =
          isFunction
          || functions.names(isMember: false).contains {
            $0.hasPrefix(prefix.name + ".")
          }
        let close = Suggestion.closest(to: full, among: functions.names(isMember: false))
        if isNamespace || close?.contains(".") == true {
          let typed = arguments.map { check($0) }
          return function(full, typed, isAbsolute: prefix.isAbsolute, at: node)
        }
      }
    }
    let base = arguments.isEmpty ? argument(target, of: name) : check(target)
    if wantsProblems, resemblesMacro(name, arguments) {
      return unknownMethod(name, argumentCount: arguments.count + 1, at: tree.offsets[node])
    }
    let typed = [base] + arguments.map { check($0) }
    return method(name, typed, at: node)
  }

  private mutating func function(
    _ name: String, _ arguments: [Typed], isAbsolute: Bool, at node: Int
  ) -> Typed {
    for candidate in candidates(name, isAbsolute) {
      if let found = functions.find(candidate, isMember: false, arity: arguments.count) {
        return apply(found, arguments, at: node)
      }
    }
    let offset = tree.offsets[node]
    guard wantsProblems else {
      return Typed(type: .dyn, code: fail(.unchecked, "no such function '\(name)'", at: offset))
    }
    let others = candidates(name, isAbsolute).flatMap { functions.all(named: $0, isMember: false) }
    if let message = Self.wrongCount(name, arguments.count, others) {
      report(.noSuchOverload, message, at: offset)
    } else if name == "asc" || name == "desc" {
      report(
        .unknownFunction,
        "'\(name)' says how sortBy() sorts by a key: write list.sortBy(x, [\(name)(x.name)])",
        at: offset)
    } else if functions.find(name, isMember: true, arity: max(1, arguments.count)) != nil {
      report(.unknownFunction, "'\(name)' is a method: write x.\(name)(…)", at: offset)
    } else {
      let names = functions.names(isMember: false) + Self.specialNames
      let hint =
        ForeignWords.advice(aboutOperator: name).map { "; \($0)" }
        ?? Suggestion.hint(for: name, among: names)
      report(.unknownFunction, "unknown function '\(name)'\(hint)", at: offset)
    }
    return Typed(type: .dyn, code: fail(.unchecked, "no such function '\(name)'", at: offset))
  }

  private mutating func method(_ name: String, _ arguments: [Typed], at node: Int) -> Typed {
    if let found = functions.find(name, isMember: true, arity: arguments.count) {
      return apply(found, arguments, at: node)
    }
    let offset = tree.offsets[node]
    guard wantsProblems else {
      return Typed(type: .dyn, code: fail(.unchecked, "no such method '\(name)'", at: offset))
    }
    if name == "includes", let base = arguments.first, case .list = solver.resolved(base.type) {
      report(.unknownFunction, "unknown method 'includes'; write x in list", at: offset)
      return Typed(type: .dyn, code: fail(.unchecked, "no such method '\(name)'", at: offset))
    }
    return unknownMethod(name, argumentCount: arguments.count, at: offset)
  }

  private static let macroNames = MacroKind.allCases.map(\.rawValue)

  /// - Parameter argumentCount: the number of arguments, with the value before the dot.
  private mutating func unknownMethod(
    _ name: String, argumentCount: Int, at offset: Int
  ) -> Typed {
    if let message = Self.wrongCount(
      name, argumentCount, functions.all(named: name, isMember: true))
    {
      report(.noSuchOverload, message, at: offset)
    } else if functions.find(name, isMember: false, arity: argumentCount) != nil {
      report(.unknownFunction, "'\(name)' is not a method: write \(name)(x…)", at: offset)
    } else if let meant = ForeignWords.functions[name],
      !functions.all(named: meant, isMember: false).isEmpty,
      functions.all(named: meant, isMember: true).isEmpty
    {
      report(.unknownFunction, "unknown method '\(name)'; write \(meant)(x)", at: offset)
    } else {
      let hint = Suggestion.hint(
        for: name, among: functions.names(isMember: true) + Self.macroNames)
      report(.unknownFunction, "unknown method '\(name)'\(hint)", at: offset)
    }
    return Typed(type: .dyn, code: fail(.unchecked, "no such method '\(name)'", at: offset))
  }

  /// Whether the arguments of an unknown method may name variables that only a macro declares:
  /// `list.fliter(x, x > 1)`, `list.each(x, x > 1)`.
  private func resemblesMacro(_ name: String, _ arguments: [Int]) -> Bool {
    guard functions.find(name, isMember: true, arity: arguments.count + 1) == nil else {
      return false
    }
    if arguments.count > 1, case .identifier(let first, isAbsolute: false) = tree[arguments[0]],
      !locals.contains(where: { $0.name == first }), !resolves(first, false)
    {
      return true
    }
    let near = Suggestion.closest(
      to: name, among: functions.names(isMember: true) + Self.macroNames)
    return near.map { Self.macroNames.contains($0) } ?? false
  }

  /// The macro whose name an unknown function probably means. Nil if a function's name is near.
  private func macro(
    meantByFunction name: String, _ isAbsolute: Bool, _ count: Int
  ) -> MacroKind? {
    let isKnown = candidates(name, isAbsolute).contains {
      functions.find($0, isMember: false, arity: count) != nil
        || !functions.all(named: $0, isMember: false).isEmpty
    }
    guard !isKnown else { return nil }
    let names = functions.names(isMember: false) + Self.specialNames
    guard functions.find(name, isMember: true, arity: max(1, count)) == nil,
      Suggestion.closest(to: name, among: names) == nil
    else { return nil }
    return Suggestion.closest(to: name, among: Self.macroNames).flatMap {
      MacroKind(rawValue: $0)
    }
  }

  /// Names that look like functions, and are parts of the language.
  private static let specialNames = ["has", "asc", "desc"]

  /// The form of a macro, for a call with the name of a macro and another form. The parser makes
  /// macros of calls with the right form. Nil for other names.
  private func misuse(of name: String, isMethod: Bool) -> String? {
    guard let kind = name == "existsOne" ? .existsOne : MacroKind(rawValue: name),
      functions.all(named: name, isMember: isMethod).isEmpty
    else { return nil }
    let form = "write \(kind.form(name))"
    return isMethod || kind == .bind
      ? "\(name)() does not take these arguments; \(form)"
      : "'\(name)' is a method; \(form)"
  }

  private static func wrongCount(
    _ name: String, _ count: Int, _ others: [FunctionDefinition]
  ) -> String? {
    guard !others.isEmpty else { return nil }
    return "'\(name)' does not take so many arguments; it has "
      + others.map(\.usage).joined(separator: ", ")
  }

  private mutating func apply(
    _ function: FunctionDefinition, _ arguments: [Typed], at node: Int
  ) -> Typed {
    let offset = tree.offsets[node]
    let type = resolve(
      function.signatures, arguments, function.name, at: offset, usage: function.usage)
    if function.name == "formatDate" || function.name == "parseDate" {
      doubtDate(function.name, arguments, at: node)
    }
    if FunctionTable.partNames.contains(function.name) { doubtPart(arguments, at: node) }
    let constants = arguments.compactMap { builder.constant($0.code) }
    if function.name == "matches", constants.last != nil,
      let pattern = builder.constant(arguments[arguments.count - 1].code),
      let typed = matches(arguments[0], pattern, at: offset)
    {
      return typed
    }
    if constants.count == arguments.count, Self.foldable.contains(function.name),
      let value = fold(function, constants, at: offset)
    {
      return Typed(type: type, code: builder.constant(value, at: offset))
    }
    let index = builder.add(function)
    switch function.body {
    case .one: return emit(type, .call1(function: index, arguments[0].code), at: node)
    case .two:
      return emit(
        type, .call2(function: index, arguments[0].code, arguments[1].code), at: node)
    case .many:
      let children = builder.children(arguments.map(\.code))
      return emit(
        type, .call(function: index, children: children, count: Int32(arguments.count)), at: node)
    }
  }

  /// Conversions of constants that the checker makes once, so that it can report their mistakes
  /// early.
  private static let foldable: Set = ["timestamp", "duration"]

  private mutating func fold(
    _ function: FunctionDefinition, _ arguments: [ExpressionValue], at offset: Int
  ) -> ExpressionValue? {
    guard case .one(let body) = function.body else { return nil }
    var context = FunctionContext(
      meter: CostMeter(budget: 100_000), timeZones: nil, valueDepthMax: 0)
    do {
      return try body(arguments[0], &context)
    } catch {
      report(.invalidArgument, error.message, at: offset)
      return nil
    }
  }

  private mutating func matches(
    _ text: Typed, _ pattern: ExpressionValue, at offset: Int
  ) -> Typed? {
    guard case .string(let source) = pattern else { return nil }
    do {
      var meter = CostMeter(budget: 1_000_000)
      // All patterns of an expression share one limit.
      let rest = environment.limits.patternBytesMax - builder.patternBytes
      let index = builder.add(try RegexProgram(source, &meter, bytesMax: rest))
      return Typed(
        type: .bool, code: builder.emit(.matches(text.code, pattern: index), at: offset))
    } catch {
      report(
        error.reason == .costExceeded ? .tooLarge : .invalidArgument, error.message, at: offset)
      return nil
    }
  }

  /// `a.b` as a name, if the node is nothing but names and the first is no local variable.
  private func qualifiedName(_ node: Int) -> (name: String, isAbsolute: Bool)? {
    var parts: [String] = []
    var node = node
    while case .select(let operand, let field) = tree[node] {
      parts.append(field)
      node = operand
    }
    guard case .identifier(let first, let isAbsolute) = tree[node],
      isAbsolute || !locals.contains(where: { $0.name == first })
    else { return nil }
    return (([first] + parts.reversed()).joined(separator: "."), isAbsolute)
  }

  /// Whether the name or its beginning is a variable.
  private func resolves(_ name: String, _ isAbsolute: Bool) -> Bool {
    var rest = Substring(name)
    while true {
      if candidates(String(rest), isAbsolute).contains(where: { variable($0) != nil }) {
        return true
      }
      guard let dot = rest.lastIndex(of: ".") else { return false }
      rest = rest[..<dot]
    }
  }

  // MARK: Macros

  mutating func macro(_ macro: SyntaxTree.Macro, at node: Int) -> Typed {
    let (range, reference) = access(macro.range)
    let depth = locals.count
    defer { locals.removeSubrange(depth...) }
    let (first, second) = partsOfVariables(of: macro, reference, range.type)
    let types =
      macro.kind == .bind
      ? (range.type, .dyn) : elementTypes(of: range, macro, at: tree.offsets[node])
    locals.append((macro.variables[0], types.0, first))
    if macro.variables.count > 1 { locals.append((macro.variables[1], types.1, second)) }
    builder.localCount = max(builder.localCount, locals.count)

    var condition: Typed?
    if macro.bodies.count > 1 {
      let typed = check(macro.bodies[0])
      require(typed, .bool, at: macro.bodies[0]) {
        "the condition of \(macro.kind.rawValue)() must be a bool, not \($0)"
      }
      condition = typed
    }
    let last = macro.bodies[macro.bodies.count - 1]
    if macro.kind == .sortBy {
      let keys = sortKeys(last)
      let index = builder.add(
        Program.Macro(
          kind: .sortBy, range: range.code, first: depth, second: -1, condition: -1, result: -1,
          sortKeys: keys))
      return emit(.list(types.0), .macro(index), at: node)
    }
    let result = check(last)
    let type: ExpressionType
    switch macro.kind {
    case .all, .exists, .existsOne, .filter:
      require(result, .bool, at: last) {
        "the condition of \(macro.kind.rawValue)() must be a bool, not \($0)"
      }
      type = macro.kind == .filter ? .list(types.0) : .bool
    case .map, .transformList: type = .list(result.type)
    case .transformMap: type = .map(types.0, result.type)
    case .transformMapEntry:
      require(result, .anyMap, at: last) { "transformMapEntry() needs a map, not \($0)" }
      if case .map = solver.resolved(result.type) { type = result.type } else { type = .anyMap }
    case .bind, .sortBy: type = result.type
    }
    let index = builder.add(
      Program.Macro(
        kind: macro.kind, range: range.code, first: depth,
        second: macro.variables.count > 1 ? depth + 1 : -1, condition: condition?.code ?? -1,
        result: result.code, sortKeys: []))
    return emit(type, .macro(index), at: node)
  }

  /// The types of a macro's variables.
  private mutating func elementTypes(
    of range: Typed, _ macro: SyntaxTree.Macro, at offset: Int
  ) -> (ExpressionType, ExpressionType) {
    let isPair = macro.variables.count > 1
    switch solver.resolved(range.type) {
    case .list(let element): return isPair ? (.int, element) : (element, .dyn)
    case .map(let key, let value) where macro.kind != .sortBy: return (key, value)
    case .record where macro.kind != .sortBy: return (.string, .dyn)
    case .dyn, .parameter: return (.dyn, .dyn)
    case let other:
      report(
        .typeMismatch,
        "\(macro.kind.rawValue)() needs a list\(macro.kind == .sortBy ? "" : " or a map"), "
          + "not \(solver.final(other))", at: offset)
      return (.dyn, .dyn)
    }
  }

  /// `x.n`, `desc(x.n)`, or a list of such keys, the most significant first.
  private mutating func sortKeys(_ body: Int) -> [Program.SortKey] {
    var keys = [body]
    if case .list(let elements) = tree[body] {
      keys = elements
      if elements.isEmpty {
        report(.typeMismatch, "sortBy() needs at least one key", at: tree.offsets[body])
      }
    }
    return keys.map { node in
      var (key, isDescending) = (node, false)
      if case .call(let name, target: nil, let arguments, isAbsolute: false) = tree[node],
        ["asc", "desc"].contains(name), arguments.count == 1
      {
        (key, isDescending) = (arguments[0], name == "desc")
      }
      let typed = check(key)
      checkSortable(typed, at: key)
      return Program.SortKey(code: typed.code, isDescending: isDescending)
    }
  }

  private mutating func checkSortable(_ key: Typed, at node: Int) {
    switch solver.resolved(key.type) {
    case .list, .map, .record, .null, .type:
      report(
        .typeMismatch,
        "sortBy() needs a key that has an order, not \(solver.final(key.type))",
        at: tree.offsets[node])
    default: break
    }
  }
}
