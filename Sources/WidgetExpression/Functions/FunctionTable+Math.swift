/// The math extension of CEL.
extension FunctionTable {
  /// The maximum number of arguments of `math.greatest` and `math.least`.
  private static let extremesMax = 10

  mutating func addMath() {
    addExtremes()
    addRounding()
    addBits()
  }

  private mutating func addExtremes() {
    for isGreatest in [true, false] {
      let name = isGreatest ? "math.greatest" : "math.least"
      one(
        name, "int -> int", "uint -> uint", "double -> double", "list(int) -> int",
        "list(uint) -> uint", "list(double) -> double", "list(dyn) -> dyn"
      ) { value, context throws(ExpressionFailure) in
        guard case .list(let list) = value else {
          return try Self.extreme([value], isGreatest, &context)
        }
        if list.isEmpty {
          throw ExpressionFailure(.invalidArgument, "\(name)() needs at least one number")
        }
        return try Self.extreme(list.elements, isGreatest, &context)
      }
      for count in 2...Self.extremesMax {
        let types = ["int", "uint", "double", "dyn"].map { type in
          [String](repeating: type, count: count).joined(separator: ", ") + " -> \(type)"
        }
        add(
          .init(
            name: name, isMember: false, signatures: Self.read(types),
            body: .many { values, context throws(ExpressionFailure) in
              try Self.extreme(values, isGreatest, &context)
            }))
      }
    }
  }

  private static func extreme(
    _ values: [ExpressionValue], _ isGreatest: Bool, _ context: inout FunctionContext
  ) throws(ExpressionFailure) -> ExpressionValue? {
    try context.meter.charge(values.count)
    var best: ExpressionValue?
    for value in values {
      switch value {
      case .int, .uint, .double: break
      default: return nil
      }
      guard let known = best else {
        best = value
        continue
      }
      let order = value.order(relativeTo: known)
      if isGreatest ? order == .after : order == .before { best = value }
    }
    return best
  }

  private mutating func addRounding() {
    let rules: [(String, FloatingPointRoundingRule)] = [
      ("ceil", .up), ("floor", .down), ("round", .toNearestOrAwayFromZero), ("trunc", .towardZero),
    ]
    for (name, rule) in rules {
      one("math.\(name)", "double -> double") { value, _ in
        if case .double(let x) = value { .double(x.rounded(rule)) } else { nil }
      }
    }
    one("math.abs", "int -> int", "uint -> uint", "double -> double") {
      value, _ throws(ExpressionFailure) in
      switch value {
      case .int(let x):
        guard x != .min else { throw Operators.overflow("int") }
        return .int(abs(x))
      case .uint: return value
      case .double(let x): return .double(x.magnitude)
      default: return nil
      }
    }
    one("math.sign", "int -> int", "uint -> uint", "double -> double") { value, _ in
      switch value {
      case .int(let x): .int(x.signum())
      case .uint(let x): .uint(x == 0 ? 0 : 1)
      case .double(let x): .double(x.isNaN || x == 0 ? x : x < 0 ? -1 : 1)
      default: nil
      }
    }
    one("math.sqrt", "double -> double", "int -> double", "uint -> double") { value, _ in
      switch value {
      case .int(let x): .double(Double(x).squareRoot())
      case .uint(let x): .double(Double(x).squareRoot())
      case .double(let x): .double(x.squareRoot())
      default: nil
      }
    }
    let tests: [(String, @Sendable (Double) -> Bool)] = [
      ("isNaN", { $0.isNaN }), ("isInf", { $0.isInfinite }), ("isFinite", { $0.isFinite }),
    ]
    for (name, test) in tests {
      one("math.\(name)", "double -> bool") { value, _ in
        if case .double(let x) = value { .bool(test(x)) } else { nil }
      }
    }
  }

  private mutating func addBits() {
    let operations: [(String, @Sendable (UInt64, UInt64) -> UInt64)] = [
      ("bitAnd", { $0 & $1 }), ("bitOr", { $0 | $1 }), ("bitXor", { $0 ^ $1 }),
    ]
    for (name, operation) in operations {
      two("math.\(name)", "int, int -> int", "uint, uint -> uint") { a, b, _ in
        switch (a, b) {
        case (.int(let x), .int(let y)):
          .int(Int64(bitPattern: operation(UInt64(bitPattern: x), UInt64(bitPattern: y))))
        case (.uint(let x), .uint(let y)): .uint(operation(x, y))
        default: nil
        }
      }
    }
    one("math.bitNot", "int -> int", "uint -> uint") { value, _ in
      switch value {
      case .int(let x): .int(~x)
      case .uint(let x): .uint(~x)
      default: nil
      }
    }
    for isLeft in [true, false] {
      let name = isLeft ? "math.bitShiftLeft" : "math.bitShiftRight"
      two(name, "int, int -> int", "uint, int -> uint") { a, b, _ throws(ExpressionFailure) in
        guard case .int(let count) = b else { return nil }
        if count < 0 {
          throw ExpressionFailure(.invalidArgument, "\(name)() cannot shift by \(count)")
        }
        // The shift ignores the sign. Swift's smart shift gives 0 for counts from 64 on.
        switch a {
        case .int(let x):
          let bits = UInt64(bitPattern: x)
          return .int(Int64(bitPattern: isLeft ? bits << count : bits >> count))
        case .uint(let x): return .uint(isLeft ? x << count : x >> count)
        default: return nil
        }
      }
    }
  }
}
