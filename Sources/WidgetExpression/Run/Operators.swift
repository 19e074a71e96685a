import WidgetModel

/// The operators on values. They return nil if there is no overload for the kinds.
enum Operators {
  // MARK: Arithmetic

  static func negate(_ value: ExpressionValue) throws(ExpressionFailure) -> ExpressionValue? {
    switch value {
    case .int(let x):
      guard x != .min else { throw overflow("int") }
      return .int(-x)
    case .double(let x): return .double(-x)
    default: return nil
    }
  }

  @inline(__always)
  static func apply(
    _ operation: Arithmetic, _ a: consuming ExpressionValue, _ b: ExpressionValue,
    _ context: inout FunctionContext
  ) throws(ExpressionFailure) -> ExpressionValue? {
    switch (a, b) {
    case (.int(let x), .int(let y)): return .int(try integer(operation, x, y, "int"))
    case (.uint(let x), .uint(let y)): return .uint(try integer(operation, x, y, "uint"))
    case (.double(let x), .double(let y)):
      switch operation {
      case .add: return .double(x + y)
      case .subtract: return .double(x - y)
      case .multiply: return .double(x * y)
      case .divide: return .double(x / y)
      case .remainder: return nil
      }
    case (.string(let x), .string(let y)) where operation == .add:
      try context.meter.charge(x.utf8.count + y.utf8.count)
      return .string(x + y)
    case (.bytes(let x), .bytes(let y)) where operation == .add:
      try context.meter.charge(x.count + y.count)
      return .bytes(x + y)
    case (.list(let x), .list(let y)) where operation == .add:
      try context.meter.charge(x.count + y.count)
      if y.isEmpty { return .list(x) }
      if x.isEmpty { return .list(y) }
      return .list(ExpressionList(x.elements + y.elements))
    default: return try time(operation, a, b)
    }
  }

  private static func integer<I: FixedWidthInteger>(
    _ operation: Arithmetic, _ x: I, _ y: I, _ name: String
  ) throws(ExpressionFailure) -> I {
    let (result, overflows): (I, Bool)
    switch operation {
    case .add: (result, overflows) = x.addingReportingOverflow(y)
    case .subtract: (result, overflows) = x.subtractingReportingOverflow(y)
    case .multiply: (result, overflows) = x.multipliedReportingOverflow(by: y)
    case .divide, .remainder:
      if y == 0 { throw ExpressionFailure(.divisionByZero, "division by zero") }
      (result, overflows) =
        operation == .divide
        ? x.dividedReportingOverflow(by: y) : x.remainderReportingOverflow(dividingBy: y)
    }
    if overflows { throw overflow(name) }
    return result
  }

  static func overflow(_ name: String) -> ExpressionFailure {
    ExpressionFailure(
      .outOfRange, "the result does not fit in \(name == "int" ? "an" : "a") \(name)")
  }

  private static func time(
    _ operation: Arithmetic, _ a: ExpressionValue, _ b: ExpressionValue
  ) throws(ExpressionFailure) -> ExpressionValue? {
    switch (operation, a, b) {
    case (.add, .timestamp(let x), .duration(let y)), (.add, .duration(let y), .timestamp(let x)):
      return .timestamp(try Times.add(x, y))
    case (.subtract, .timestamp(let x), .duration(let y)):
      return .timestamp(try Times.add(x, .zero - y))
    case (.add, .duration(let x), .duration(let y)): return .duration(try Times.checked(x + y))
    case (.subtract, .duration(let x), .duration(let y)):
      return .duration(try Times.checked(x - y))
    case (.subtract, .timestamp(let x), .timestamp(let y)):
      return .duration(try Times.checked(x.duration(since: y)))
    default: return nil
    }
  }

  // MARK: Comparing

  @inline(__always)
  static func compare(
    _ comparison: Comparison, _ a: ExpressionValue, _ b: ExpressionValue, _ meter: inout CostMeter
  ) throws(ExpressionFailure) -> Bool? {
    switch comparison {
    case .equal: return try a.isEqual(to: b, &meter)
    case .notEqual: return try !a.isEqual(to: b, &meter)
    case .isIn: return try contains(b, a, &meter)
    case .less, .lessEqual, .greater, .greaterEqual:
      if case .string(let x) = a, case .string(let y) = b {
        try meter.chargeRead(min(x.utf8.count, y.utf8.count))
      }
      guard let order = a.order(relativeTo: b) else { return nil }
      switch comparison {
      case .less: return order == .before
      case .lessEqual: return order == .before || order == .same
      case .greater: return order == .after
      default: return order == .after || order == .same
      }
    }
  }

  private static func contains(
    _ container: ExpressionValue, _ element: ExpressionValue, _ meter: inout CostMeter
  ) throws(ExpressionFailure) -> Bool? {
    switch container {
    case .list(let list):
      for index in 0..<list.count {
        try meter.charge(1)
        if try list[index].isEqual(to: element, &meter) { return true }
      }
      return false
    case .map(let map): return map[element] != nil
    default: return nil
    }
  }

  /// The elements in the order of their keys; equal keys keep their order.
  static func sorted(
    _ list: ExpressionList, by keys: [ExpressionValue], _ meter: inout CostMeter
  ) throws(ExpressionFailure) -> [ExpressionValue] {
    guard let first = keys.first else { return [] }
    let numbers: Set<ExpressionKind> = [.int, .uint, .double]
    for key in keys {
      let isSame = key.kind == first.kind || numbers.isSuperset(of: [key.kind, first.kind])
      guard isSame, key.order(relativeTo: first) != nil else {
        throw ExpressionFailure(
          .noSuchOverload,
          "cannot sort by \(first.kind.shortName) and \(key.kind.shortName) keys; "
            + "they must be of one kind that has an order")
      }
    }
    let levels = Int.bitWidth - keys.count.leadingZeroBitCount
    try meter.charge(keys.count * levels)
    for case .string(let text) in keys { try meter.charge((text.utf8.count >> 4) * levels) }
    // A NaN goes last, so that there is one order.
    func precedes(_ a: ExpressionValue, _ b: ExpressionValue) -> Bool? {
      switch a.order(relativeTo: b) {
      case .before: return true
      case .after: return false
      case .unordered:
        let (x, y) = (isNaN(a), isNaN(b))
        return x == y ? nil : y
      default: return nil
      }
    }
    return keys.indices.sorted { precedes(keys[$0], keys[$1]) ?? ($0 < $1) }.map { list[$0] }
  }

  private static func isNaN(_ value: ExpressionValue) -> Bool {
    if case .double(let x) = value { x.isNaN } else { false }
  }
}
