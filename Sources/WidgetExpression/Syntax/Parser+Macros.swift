/// Calls and macros. A macro looks like a call and declares variables.
extension Parser {
  /// A call without a target.
  mutating func call(
    _ name: String, _ arguments: [Int], isAbsolute: Bool, at offset: Int
  ) throws(ParseFailure) -> Int {
    if name == "has", !isAbsolute {
      guard arguments.count == 1, case .select(let operand, let field) = tree[arguments[0]] else {
        throw ParseFailure("has() takes one field, such as has(data.load)", at: offset)
      }
      return try add(.has(operand, field: field), at: offset, over: [operand])
    }
    return try add(
      .call(name, target: nil, arguments: arguments, isAbsolute: isAbsolute), at: offset,
      over: arguments)
  }

  /// A call of a method, or of a function with a qualified name: `math.abs(x)` looks the same.
  mutating func call(
    _ name: String, target: Int, _ arguments: [Int], at offset: Int
  ) throws(ParseFailure) -> Int {
    if name == "bind", arguments.count == 3, dottedName(target) == "cel" {
      return try macro(.bind, range: arguments[1], [arguments[0]], [arguments[2]], at: offset)
    }
    let count = arguments.count
    switch (name, count) {
    case ("all", 2), ("exists", 2), ("exists_one", 2), ("existsOne", 2), ("map", 2), ("map", 3),
      ("filter", 2), ("sortBy", 2):
      return try macro(
        Self.kind(name), range: target, [arguments[0]], Array(arguments[1...]), at: offset)
    case ("all", 3), ("exists", 3), ("exists_one", 3), ("existsOne", 3), ("transformList", 3),
      ("transformList", 4), ("transformMap", 3), ("transformMap", 4), ("transformMapEntry", 3),
      ("transformMapEntry", 4):
      return try macro(
        Self.kind(name), range: target, [arguments[0], arguments[1]], Array(arguments[2...]),
        at: offset)
    default:
      return try add(
        .call(name, target: target, arguments: arguments, isAbsolute: false), at: offset,
        over: [target] + arguments)
    }
  }

  private static func kind(_ name: String) -> MacroKind {
    name == "existsOne" ? .existsOne : MacroKind(rawValue: name) ?? .all
  }

  private mutating func macro(
    _ kind: MacroKind, range: Int, _ names: [Int], _ bodies: [Int], at offset: Int
  ) throws(ParseFailure) -> Int {
    var variables: [String] = []
    for node in names {
      guard case .identifier(let name, isAbsolute: false) = tree[node] else {
        throw ParseFailure(
          "\(kind.rawValue)() needs the name of a variable here, such as x", at: tree.offsets[node])
      }
      if variables.contains(name) {
        throw ParseFailure("the two variables need different names", at: tree.offsets[node])
      }
      variables.append(name)
    }
    return try add(
      .macro(.init(kind: kind, range: range, variables: variables, bodies: bodies)), at: offset,
      over: [range] + bodies)
  }
}
