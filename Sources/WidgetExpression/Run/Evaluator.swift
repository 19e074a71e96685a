/// Evaluates a program: one walk over its instructions, paid from a budget.
///
/// Its recursion is as deep as the syntax tree, which is bounded. Logical operators absorb the
/// errors of the side that does not decide, in either order, but never the end of the budget. The
/// evaluator cannot be copied, because copies would cost a reference count at every step.
struct Evaluator: ~Copyable {
  let program: Program
  let bindings: any ExpressionBindings
  var locals: [ExpressionValue]
  var context: FunctionContext

  init(_ program: Program, _ bindings: any ExpressionBindings, budget: Int) {
    self.program = program
    self.bindings = bindings
    locals = [ExpressionValue](repeating: .null, count: program.localCount)
    context = FunctionContext(
      meter: CostMeter(budget: budget), timeZones: program.timeZones,
      valueDepthMax: program.valueDepthMax)
  }

  mutating func value(_ node: Int32) throws(EvaluationError) -> ExpressionValue {
    try charge(1, node)
    switch program.instructions[Int(node)] {
    case .constant(let index): return program.constants[Int(index)]
    case .variable(let slot): return try variable(Int(slot), node)
    case .local(let slot): return locals[Int(slot)]
    case .select(let operand, let name):
      let base = try value(operand)
      let name = program.names[Int(name)]
      try charge(name.utf8.count >> 4, node)
      return try field(name, of: base, node)
    case .declared(let operand, let name):
      let base = try value(operand)
      let name = program.names[Int(name)]
      guard case .map(let map) = base else { return try field(name, of: base, node) }
      return map.field(named: name) ?? .null
    case .has(let operand, let name):
      guard case .map(let map) = try value(operand) else {
        throw error(.noSuchOverload, "has() looks for a field of a map", node)
      }
      let name = program.names[Int(name)]
      try charge(name.utf8.count >> 4, node)
      return .bool(map.field(named: name) != nil)
    case .index(let operand, let index):
      let base = try value(operand)
      return try element(of: base, at: value(index), node)
    case .call1(let function, let argument):
      let a = try value(argument)
      return try call(program.functions[Int(function)], a, node)
    case .call2(let function, let first, let second):
      let a = try value(first)
      return try call(program.functions[Int(function)], a, value(second), node)
    case .call(let function, let children, let count):
      return try call(program.functions[Int(function)], children, count, node)
    case .matches(let operand, let pattern): return try matches(operand, Int(pattern), node)
    case .not(let operand):
      guard case .bool(let flag) = try value(operand) else {
        throw error(.noSuchOverload, "! needs a bool", node)
      }
      return .bool(!flag)
    case .negate(let operand):
      let value = try value(operand)
      do throws(ExpressionFailure) {
        if let result = try Operators.negate(value) { return result }
      } catch { throw located(error, node) }
      throw error(.noSuchOverload, "'-' does not take \(value.kind.shortName)", node)
    case .arithmetic(let operation, let left, let right):
      let a = try value(left)
      return try arithmetic(operation, a, value(right), program.offsets[Int(node)])
    case .row(let first, let links, let count): return try row(first, Int(links), Int(count))
    case .comparison(let comparison, let left, let right):
      let a = try value(left)
      return .bool(try compare(comparison, a, value(right), node))
    case .and(let children, let count):
      return .bool(try logical(Int(children), Int(count), decidedBy: false, node))
    case .or(let children, let count):
      return .bool(try logical(Int(children), Int(count), decidedBy: true, node))
    case .conditional(let children, let count, let otherwise):
      return try conditional(Int(children), Int(count), otherwise)
    case .list(let children, let count): return try list(Int(children), Int(count), node)
    case .map(let children, let count): return try map(Int(children), Int(count), node)
    case .macro(let index): return try macro(program.macros[Int(index)], node)
    case .fail(let index): throw located(program.failures[Int(index)], node)
    }
  }

  // MARK: Reading

  private func variable(_ slot: Int, _ node: Int32) throws(EvaluationError) -> ExpressionValue {
    guard let value = bindings.value(of: program.variables[slot], slot: slot) else {
      throw error(
        .unboundVariable, "the variable '\(program.variables[slot])' has no value", node)
    }
    return value
  }

  private func field(
    _ name: String, of base: ExpressionValue, _ node: Int32
  ) throws(EvaluationError) -> ExpressionValue {
    guard case .map(let map) = base else {
      throw error(
        .noSuchOverload,
        "a value of type \(base.kind.shortName) has no field '\(name)'"
          + ForeignWords.advice(
            aboutField: name, hasSize: [.string, .bytes, .list].contains(base.kind),
            of: SourceText(program.source).operand(before: Int(program.offsets[Int(node)]))),
        node)
    }
    guard let value = map.field(named: name) else {
      throw error(
        .noSuchKey, "there is no field '\(name)'; test with has() first", node)
    }
    return value
  }

  private mutating func element(
    of base: ExpressionValue, at index: ExpressionValue, _ node: Int32
  ) throws(EvaluationError) -> ExpressionValue {
    switch base {
    case .list(let list):
      let position: Int64?
      switch index {
      case .int(let x): position = x
      case .uint(let x): position = Int64(exactly: x)
      case .double(let x): position = Int64(exactly: x)
      default:
        throw error(
          .noSuchOverload, "a list's index is an int, not \(index.kind.shortName)", node)
      }
      guard let position, position >= 0, position < list.count else {
        throw error(
          .indexOutOfRange,
          "there is no element \(SyntaxPrinter.literal(index)) in a list of \(list.count)", node)
      }
      return list[Int(position)]
    case .map(let map):
      try charge(index.readBytes >> 4, node)
      guard let value = map[index] else {
        throw error(
          .noSuchKey, "there is no key \(Self.shown(index)); test with 'in' first", node)
      }
      return value
    default:
      throw error(
        .noSuchOverload, "a value of type \(base.kind.shortName) has no elements", node)
    }
  }

  private static func shown(_ key: ExpressionValue) -> String {
    switch key {
    case .string(let text) where text.utf8.count > 60: "of that text"
    case .bool, .int, .uint, .double, .string: SyntaxPrinter.literal(key)
    default: "of type \(key.kind.shortName)"
    }
  }

  // MARK: Calling

  @inline(never)
  private mutating func call(
    _ function: FunctionDefinition, _ a: ExpressionValue, _ node: Int32
  ) throws(EvaluationError) -> ExpressionValue {
    guard case .one(let body) = function.body else { throw noOverload(function, [a], node) }
    do throws(ExpressionFailure) {
      if let result = try body(a, &context) { return result }
    } catch { throw located(error, node) }
    throw noOverload(function, [a], node)
  }

  @inline(never)
  private mutating func call(
    _ function: FunctionDefinition, _ a: ExpressionValue, _ b: ExpressionValue, _ node: Int32
  ) throws(EvaluationError) -> ExpressionValue {
    guard case .two(let body) = function.body else { throw noOverload(function, [a, b], node) }
    do throws(ExpressionFailure) {
      if let result = try body(a, b, &context) { return result }
    } catch { throw located(error, node) }
    throw noOverload(function, [a, b], node)
  }

  @inline(never)
  private mutating func call(
    _ function: FunctionDefinition, _ children: Int32, _ count: Int32, _ node: Int32
  ) throws(EvaluationError) -> ExpressionValue {
    let arguments = try values(Int(children), Int(count))
    guard case .many(let body) = function.body else {
      throw noOverload(function, arguments, node)
    }
    do throws(ExpressionFailure) {
      if let result = try body(arguments, &context) { return result }
    } catch { throw located(error, node) }
    throw noOverload(function, arguments, node)
  }

  @inline(never)
  private mutating func matches(
    _ operand: Int32, _ pattern: Int, _ node: Int32
  ) throws(EvaluationError) -> ExpressionValue {
    guard case .string(let text) = try value(operand) else {
      throw error(.noSuchOverload, "matches() needs text", node)
    }
    do throws(ExpressionFailure) {
      return .bool(try program.patterns[pattern].matches(text, &context.meter))
    } catch { throw located(error, node) }
  }

  private mutating func values(
    _ children: Int, _ count: Int
  ) throws(EvaluationError) -> [ExpressionValue] {
    var result: [ExpressionValue] = []
    result.reserveCapacity(count)
    for index in children..<(children + count) {
      result.append(try value(program.children[index]))
    }
    return result
  }

  // MARK: Operators

  private mutating func arithmetic(
    _ operation: Arithmetic, _ a: consuming ExpressionValue, _ b: ExpressionValue, _ offset: Int32
  ) throws(EvaluationError) -> ExpressionValue {
    let kind = a.kind
    do throws(ExpressionFailure) {
      if let result = try Operators.apply(operation, a, b, &context) { return result }
    } catch { throw located(error, at: offset) }
    throw located(
      ExpressionFailure(
        .noSuchOverload,
        "'\(operation.rawValue)' does not take \(kind.shortName) and \(b.kind.shortName)"),
      at: offset)
  }

  /// Several operators of one level, from the left. Text grows in place.
  @inline(never)
  private mutating func row(
    _ first: Int32, _ links: Int, _ count: Int
  ) throws(EvaluationError) -> ExpressionValue {
    var result = try value(first)
    for index in links..<(links + count) {
      let link = program.links[index]
      let operand = try value(link.operand)
      if link.operation == .add, index > links, case .string(let more) = operand,
        case .string(var text) = result
      {
        // Drops the other reference, so that appending does not copy the elements.
        result = .null
        do throws(ExpressionFailure) {
          try context.meter.charge(more.utf8.count + 1)
        } catch { throw located(error, at: link.offset) }
        text += more
        result = .string(text)
        continue
      }
      result = try arithmetic(link.operation, result, operand, link.offset)
    }
    return result
  }

  private mutating func compare(
    _ comparison: Comparison, _ a: ExpressionValue, _ b: ExpressionValue, _ node: Int32
  ) throws(EvaluationError) -> Bool {
    do throws(ExpressionFailure) {
      if let result = try Operators.compare(comparison, a, b, &context.meter) { return result }
    } catch { throw located(error, node) }
    throw error(
      .noSuchOverload,
      "'\(comparison.rawValue)' does not take \(a.kind.shortName) and \(b.kind.shortName)", node)
  }

  @inline(never)
  private mutating func logical(
    _ children: Int, _ count: Int, decidedBy deciding: Bool, _ node: Int32
  ) throws(EvaluationError) -> Bool {
    var failure: EvaluationError?
    for index in children..<(children + count) {
      do throws(EvaluationError) {
        switch try value(program.children[index]) {
        case .bool(let flag): if flag == deciding { return deciding }
        case let other:
          try charge(CostMeter.hiddenErrorCost, node)
          failure =
            failure
            ?? error(
              .noSuchOverload,
              "\(deciding ? "||" : "&&") needs a bool, not \(other.kind.shortName)",
              program.children[index])
        }
      } catch {
        if error.isFatal { throw error }
        try charge(CostMeter.hiddenErrorCost, node)
        failure = failure ?? error
      }
    }
    if let failure { throw failure }
    return !deciding
  }

  @inline(never)
  private mutating func conditional(
    _ children: Int, _ count: Int, _ otherwise: Int32
  ) throws(EvaluationError) -> ExpressionValue {
    for index in 0..<count {
      let condition = program.children[children + 2 * index]
      guard case .bool(let flag) = try value(condition) else {
        throw error(.noSuchOverload, "the condition before ? must be a bool", condition)
      }
      if flag { return try value(program.children[children + 2 * index + 1]) }
    }
    return try value(otherwise)
  }

  @inline(never)
  private mutating func list(
    _ children: Int, _ count: Int, _ node: Int32
  ) throws(EvaluationError) -> ExpressionValue {
    try made(try values(children, count), node)
  }

  @inline(never)
  private mutating func map(
    _ children: Int, _ count: Int, _ node: Int32
  ) throws(EvaluationError) -> ExpressionValue {
    var builder = MapBuilder()
    for index in 0..<count {
      let keyNode = program.children[children + 2 * index]
      let key = try value(keyNode)
      let value = try value(program.children[children + 2 * index + 1])
      try insert(value, for: key, into: &builder, keyNode)
    }
    return try made(builder, node)
  }

  mutating func insert(
    _ value: ExpressionValue, for key: ExpressionValue, into builder: inout MapBuilder,
    _ node: Int32
  ) throws(EvaluationError) {
    guard let mapKey = MapKey(key) else {
      throw error(
        .noSuchOverload, "a map's key is a bool, int, uint or string, not \(key.kind.shortName)",
        node)
    }
    try charge(key.readBytes >> 4, node)
    guard builder.insert(value, for: mapKey) else {
      throw error(.duplicateKey, "the key \(Self.shown(key)) appears twice", node)
    }
  }

  /// A list as a value, unless it is too deep.
  func made(_ elements: [ExpressionValue], _ node: Int32) throws(EvaluationError) -> ExpressionValue
  {
    let list = ExpressionList(elements)
    try checkDepth(list.depth, node)
    return .list(list)
  }

  func made(_ builder: MapBuilder, _ node: Int32) throws(EvaluationError) -> ExpressionValue {
    let map = ExpressionMap(builder.build())
    try checkDepth(map.depth, node)
    return .map(map)
  }

  private func checkDepth(_ depth: Int, _ node: Int32) throws(EvaluationError) {
    guard depth > program.valueDepthMax else { return }
    throw error(
      .tooDeep, "more than \(program.valueDepthMax) lists and maps would be inside one another",
      node)
  }

  // MARK: Cost and errors

  @inline(__always)
  mutating func charge(_ amount: Int, _ node: Int32) throws(EvaluationError) {
    do throws(ExpressionFailure) {
      try context.meter.charge(amount)
    } catch { throw located(error, node) }
  }

  func error(
    _ reason: EvaluationError.Reason, _ message: String, _ node: Int32
  ) -> EvaluationError {
    EvaluationError(
      reason: reason, message: message, offset: Int(program.offsets[Int(node)]),
      source: program.source)
  }

  func located(_ failure: ExpressionFailure, _ node: Int32) -> EvaluationError {
    error(failure.reason, failure.message, node)
  }

  private func located(_ failure: ExpressionFailure, at offset: Int32) -> EvaluationError {
    EvaluationError(
      reason: failure.reason, message: failure.message, offset: Int(offset),
      source: program.source)
  }

  private func noOverload(
    _ function: FunctionDefinition, _ arguments: [ExpressionValue], _ node: Int32
  ) -> EvaluationError {
    let kinds = arguments.map(\.kind.shortName).joined(separator: ", ")
    return error(
      .noSuchOverload,
      "no overload of '\(function.name)' takes (\(kinds)); it has \(function.usage)", node)
  }
}
