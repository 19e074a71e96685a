/// Checks names and types of a tree and resolves it to a program, in one walk.
///
/// Gradual: `dyn` values are checked at run time. Problems are collected; after one, the part has
/// the type `dyn`, so that it causes no further ones. In unchecked mode, types are not compared,
/// and an unknown name becomes an instruction that fails when it runs.
struct Checker {
  /// A checked node: its type and the instruction that computes it.
  struct Typed {
    let type: ExpressionType
    let code: Int32
  }

  let tree: SyntaxTree
  let source: SourceText
  let environment: ExpressionEnvironment
  let functions: FunctionTable
  var solver = TypeSolver()
  var builder = ProgramBuilder()
  /// The references that are used for their values.
  var references: Set<ExpressionReference> = []
  /// All other references.
  var dependencies: Set<ExpressionReference> = []
  /// All uses but those of `references`.
  var uses: Set<ExpressionUse> = []
  private(set) var problems: [ExpressionError.Problem] = []
  var doubts: [ExpressionDoubt] = []
  /// The unknown variables that have been reported.
  var reportedNames: Set<String> = []
  /// The variables of macros around the current place, innermost last; an index is a slot. The
  /// reference is the part that the variable stands for.
  var locals: [(name: String, type: ExpressionType, reference: ExpressionReference?)] = []

  struct Result {
    let program: Program
    let type: ExpressionType
    let references: [ExpressionReference]
    let uses: [ExpressionUse]?
    let doubts: [ExpressionDoubt]
  }

  static func check(
    _ tree: SyntaxTree, _ text: String, in environment: ExpressionEnvironment
  ) throws(ExpressionError) -> Result {
    var checker = Checker(tree, text, environment)
    let root = checker.check(tree.root)
    if let needed = environment.resultType {
      checker.require(root, needed, at: tree.root) {
        "the expression must give \(needed), but gives \($0)"
      }
    }
    guard checker.problems.isEmpty else {
      let sorted = checker.problems.sorted { $0.offset < $1.offset }
      throw ExpressionError(problems: sorted, source: text)
    }
    let (references, uses) = checker.reads()
    return Result(
      program: Program(checker.builder, root: root.code, source: text, environment: environment),
      type: checker.solver.final(root.type),
      references: references, uses: uses, doubts: checker.doubts)
  }

  private init(_ tree: SyntaxTree, _ text: String, _ environment: ExpressionEnvironment) {
    self.tree = tree
    source = SourceText(text)
    self.environment = environment
    functions =
      environment.functions.isEmpty ? .standard : FunctionTable(adding: environment.functions)
  }

  /// The index of a variable in the environment. There are few, so each expression searches them: a
  /// table would take longer to make.
  func variable(_ name: String) -> Int? {
    environment.variables.lastIndex { $0.name == name }
  }

  // MARK: Nodes

  mutating func check(_ node: Int) -> Typed {
    let offset = tree.offsets[node]
    switch tree[node] {
    case .literal(let value):
      return Typed(type: Self.type(of: value), code: builder.constant(value, at: offset))
    case .identifier, .select, .index:
      let (typed, reference) = access(node)
      if let reference { note(reference) }
      return typed
    case .has(let operand, let field): return has(operand, field, at: node)
    case .call(let name, let target, let arguments, let isAbsolute):
      return call(name, target, arguments, isAbsolute: isAbsolute, at: node)
    case .not(let operand):
      let typed = check(operand)
      require(typed, .bool, at: operand) { "! needs a bool, not \($0)" }
      return emit(.bool, .not(typed.code), at: node)
    case .negate(let operand):
      let typed = check(operand)
      return emit(
        resolve(Self.negation, [typed], "-", at: offset), .negate(typed.code), at: node)
    case .arithmetic(let first, let links): return arithmetic(first, links, at: node)
    case .comparison(let comparison, let left, let right):
      let isEquality = comparison == .equal || comparison == .notEqual
      let a = isEquality ? compared(left, with: right) : check(left)
      let b =
        isEquality
        ? compared(right, with: left)
        : comparison == .isIn ? container(right, of: a) : check(right)
      let type = resolve(Self.overloads(of: comparison), [a, b], comparison.rawValue, at: offset)
      return emit(type, .comparison(comparison, a.code, b.code), at: node)
    case .and(let operands):
      let codes = logical(operands, "&&")
      let children = builder.children(codes)
      return emit(.bool, .and(children: children, count: Int32(codes.count)), at: node)
    case .or(let operands):
      let codes = logical(operands, "||")
      let children = builder.children(codes)
      return emit(.bool, .or(children: children, count: Int32(codes.count)), at: node)
    case .conditional(let branches, let otherwise):
      return conditional(branches, otherwise, at: node)
    case .list(let elements): return list(elements, at: node)
    case .map(let entries): return map(entries, at: node)
    case .message(let name):
      report(.unsupported, "messages such as \(name){} are not supported; write a map", at: offset)
      return Typed(type: .dyn, code: fail(.unchecked, "messages are not supported", at: offset))
    case .macro(let macro): return self.macro(macro, at: node)
    }
  }

  /// The right side of `in`. Of a map, `in` reads only the entry of a constant key.
  private mutating func container(_ node: Int, of key: Typed) -> Typed {
    let (typed, reference) = access(node)
    guard let reference else { return typed }
    guard hasEntries(typed.type) else {
      note(reference)
      return typed
    }
    guard case .string(let name)? = builder.constant(key.code) else {
      note(reference.appending(.any), .presence)
      return typed
    }
    let entry = reference.appending(.field(name))
    if case .map = solver.resolved(typed.type) {
      note(entry, .presence)
    } else {
      note(entry, .presence, dependency: reference)
    }
    return typed
  }

  mutating func emit(
    _ type: ExpressionType, _ instruction: Program.Instruction, at node: Int
  ) -> Typed {
    Typed(type: type, code: builder.emit(instruction, at: tree.offsets[node]))
  }

  /// An instruction that fails.
  mutating func fail(
    _ reason: EvaluationError.Reason, _ message: String, at offset: Int
  ) -> Int32 {
    let index = builder.add(ExpressionFailure(reason, message))
    return builder.emit(.fail(index), at: offset)
  }

  private mutating func logical(_ operands: [Int], _ name: String) -> [Int32] {
    operands.map { operand in
      let typed = check(operand)
      require(typed, .bool, at: operand) { "\(name) needs a bool, not \($0)" }
      return typed.code
    }
  }

  private mutating func arithmetic(
    _ first: Int, _ links: [SyntaxTree.Link], at node: Int
  ) -> Typed {
    var left = check(first)
    let start = left.code
    var compiled: [Program.Link] = []
    for link in links {
      let right = check(link.operand)
      let type = resolve(
        Self.overloads(of: link.operation), [left, right], link.operation.rawValue, at: link.offset)
      compiled.append(
        .init(operation: link.operation, operand: right.code, offset: Int32(link.offset)))
      left = Typed(type: type, code: start)
    }
    if compiled.count == 1 {
      return emit(
        left.type, .arithmetic(compiled[0].operation, start, compiled[0].operand), at: node)
    }
    let index = builder.add(compiled)
    return emit(left.type, .row(start, links: index, count: Int32(compiled.count)), at: node)
  }

  private mutating func conditional(
    _ branches: [(condition: Int, value: Int)], _ otherwise: Int, at node: Int
  ) -> Typed {
    var type: ExpressionType?
    var codes: [Int32] = []
    for (condition, value) in branches {
      let test = check(condition)
      require(test, .bool, at: condition) { "the condition before ? must be a bool, not \($0)" }
      let result = check(value)
      type = sameResult(type, result.type, at: value)
      codes += [test.code, result.code]
    }
    let last = check(otherwise)
    let result = sameResult(type, last.type, at: otherwise)
    let children = builder.children(codes)
    return emit(
      result,
      .conditional(children: children, count: Int32(branches.count), otherwise: last.code), at: node
    )
  }

  private mutating func sameResult(
    _ known: ExpressionType?, _ type: ExpressionType, at node: Int
  ) -> ExpressionType {
    guard let known else { return type }
    if solver.fits(type, known) || !environment.isChecked { return solver.join(known, type) }
    report(
      .typeMismatch,
      "the results of ? : must have one type, but are \(solver.final(known)) and "
        + "\(solver.final(type)); convert one, or wrap both in dyn()", at: tree.offsets[node])
    return .dyn
  }

  private mutating func list(_ elements: [Int], at node: Int) -> Typed {
    var type: ExpressionType?
    var codes: [Int32] = []
    for element in elements {
      let typed = check(element)
      type = type.map { solver.join($0, typed.type) } ?? typed.type
      codes.append(typed.code)
    }
    let listType = ExpressionType.list(type ?? solver.fresh())
    // A list of constants is made once. This keeps `x in ['a', 'b']` cheap.
    let constants = codes.compactMap { builder.constant($0) }
    if constants.count == codes.count {
      let value = ExpressionList(constants)
      if value.depth <= environment.limits.valueDepthBound {
        return Typed(type: listType, code: builder.constant(.list(value), at: tree.offsets[node]))
      }
    }
    let children = builder.children(codes)
    return emit(listType, .list(children: children, count: Int32(codes.count)), at: node)
  }

  private mutating func map(_ entries: [(key: Int, value: Int)], at node: Int) -> Typed {
    var (keyType, valueType): (ExpressionType?, ExpressionType?)
    var codes: [Int32] = []
    for (key, value) in entries {
      let typedKey = check(key)
      switch solver.resolved(typedKey.type) {
      case .bool, .int, .uint, .string, .dyn, .parameter: break
      case let other:
        if environment.isChecked {
          report(
            .typeMismatch, "a map's key is a bool, int, uint or string, not \(solver.final(other))",
            at: tree.offsets[key])
        }
      }
      let typedValue = check(value)
      keyType = keyType.map { solver.join($0, typedKey.type) } ?? typedKey.type
      valueType = valueType.map { solver.join($0, typedValue.type) } ?? typedValue.type
      codes += [typedKey.code, typedValue.code]
    }
    let type = ExpressionType.map(keyType ?? solver.fresh(), valueType ?? solver.fresh())
    let constants = codes.compactMap { builder.constant($0) }
    if constants.count == codes.count {
      let pairs = stride(from: 0, to: constants.count, by: 2).map {
        (key: constants[$0], value: constants[$0 + 1])
      }
      if let value = ExpressionMap(pairs), value.depth <= environment.limits.valueDepthBound {
        return Typed(type: type, code: builder.constant(.map(value), at: tree.offsets[node]))
      }
    }
    let children = builder.children(codes)
    return emit(type, .map(children: children, count: Int32(entries.count)), at: node)
  }

  // MARK: Types

  /// The result of the overload that fits, or a problem. If an argument is `dyn`, the result is the
  /// common result of all overloads that fit, or `dyn`.
  mutating func resolve(
    _ signatures: [FunctionDefinition.Signature], _ arguments: [Typed], _ name: String,
    at offset: Int, usage: @autoclosure () -> String? = nil
  ) -> ExpressionType {
    let types = arguments.map(\.type)
    let isUnambiguous = types.allSatisfy { isKnown($0) }
    var found: ExpressionType?
    for signature in signatures {
      let mark = solver.mark
      let (parameters, result) = solver.instantiate(signature)
      guard solver.fit(types, parameters) else { continue }
      if let known = found {
        if solver.final(known) != solver.final(result) {
          solver.rewind(to: mark)
          return .dyn
        }
        solver.rewind(to: mark)
      } else {
        found = result
        if isUnambiguous { break }
      }
    }
    if let found { return found }
    if wantsProblems {
      let given = types.map { solver.final($0).description }
      let message =
        usage().map {
          "no overload of '\(name)' takes (\(given.joined(separator: ", "))); it has \($0)"
        }
        ?? operatorMessage(name, given)
      report(.noSuchOverload, message, at: offset)
    }
    return .dyn
  }

  private func isKnown(_ type: ExpressionType) -> Bool {
    switch solver.resolved(type) {
    case .dyn, .parameter: false
    case .list(let element): isKnown(element)
    case .map(let key, let value): isKnown(key) && isKnown(value)
    default: true
    }
  }

  private func operatorMessage(_ name: String, _ given: [String]) -> String {
    guard given.count == 2 else {
      return "'\(name)' does not take \(given.joined(separator: ", "))"
    }
    let numbers: Set = ["int", "uint", "double"]
    let hint =
      given[0] != given[1] && numbers.isSuperset(of: given)
      ? "; convert one side, such as \(given.contains("double") ? "double" : "int")(…)"
      : given.contains("string") && name == "+" ? "; convert the other side with string(…)" : ""
    return "'\(name)' does not take \(given[0]) and \(given[1])\(hint)"
  }

  /// A problem if the type does not fit.
  mutating func require(
    _ typed: Typed, _ type: ExpressionType, at node: Int, _ message: (String) -> String
  ) {
    guard wantsProblems, !solver.fits(typed.type, type) else { return }
    report(
      .typeMismatch, message(solver.final(typed.type).description), at: tree.offsets[node])
  }

  /// Whether another problem would be kept. If not, the search for advice can be left out.
  var wantsProblems: Bool {
    environment.isChecked && problems.count < max(1, environment.limits.problemsMax)
  }

  mutating func report(_ reason: ExpressionError.Reason, _ message: String, at offset: Int) {
    guard wantsProblems else { return }
    problems.append(
      .init(
        reason: reason, message: message, position: source.position(at: offset), offset: offset))
  }

  static func type(of value: ExpressionValue) -> ExpressionType {
    switch value {
    case .null: .null
    case .bool: .bool
    case .int: .int
    case .uint: .uint
    case .double: .double
    case .string: .string
    case .bytes: .bytes
    case .list: .anyList
    case .map: .anyMap
    case .timestamp: .timestamp
    case .duration: .duration
    case .type: .type
    }
  }

  // MARK: Operators

  private static let negation = FunctionTable.read(["int -> int", "double -> double"])
  private static let equality = FunctionTable.read([
    "A, A -> bool", "A, null -> bool", "null, A -> bool",
  ])
  private static let membership = FunctionTable.read([
    "A, list(A) -> bool", "A, list(null) -> bool", "null, list(A) -> bool", "A, map(A, B) -> bool",
  ])
  private static let ordering = FunctionTable.read(
    ["bool", "string", "bytes", "timestamp", "duration"].map { "\($0), \($0) -> bool" }
      + ["int", "uint", "double"].flatMap { a in
        ["int", "uint", "double"].map { "\(a), \($0) -> bool" }
      })
  private static let addition = FunctionTable.read([
    "int, int -> int", "uint, uint -> uint", "double, double -> double",
    "string, string -> string", "bytes, bytes -> bytes", "list(A), list(A) -> list(A)",
    "timestamp, duration -> timestamp", "duration, timestamp -> timestamp",
    "duration, duration -> duration",
  ])
  private static let subtraction = FunctionTable.read([
    "int, int -> int", "uint, uint -> uint", "double, double -> double",
    "timestamp, timestamp -> duration", "timestamp, duration -> timestamp",
    "duration, duration -> duration",
  ])
  private static let multiplication = FunctionTable.read([
    "int, int -> int", "uint, uint -> uint", "double, double -> double",
  ])
  private static let remainder = FunctionTable.read(["int, int -> int", "uint, uint -> uint"])

  private static func overloads(of operation: Arithmetic) -> [FunctionDefinition.Signature] {
    switch operation {
    case .add: addition
    case .subtract: subtraction
    case .multiply, .divide: multiplication
    case .remainder: remainder
    }
  }

  private static func overloads(of comparison: Comparison) -> [FunctionDefinition.Signature] {
    switch comparison {
    case .equal, .notEqual: equality
    case .isIn: membership
    default: ordering
    }
  }
}
