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
      switch (a, b) {
      case (.string(let x), .string(let y)):
        try meter.chargeRead(min(x.utf8.count, y.utf8.count))
      case (.bytes(let x), .bytes(let y)): try meter.chargeRead(min(x.count, y.count))
      default: break
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
    case .map(let map):
      try meter.charge(element.readBytes >> 4)
      return map[element] != nil
    default: return nil
    }
  }

  /// One column of sort keys: a value for each element of a list.
  struct SortColumn {
    let isDescending: Bool
    var keys: [ExpressionValue]
  }

  /// The elements in the order of the first column. The next column decides between equal elements,
  /// and so on. Elements whose keys are all equal keep their order. NaN is last in both directions.
  static func sorted(
    _ list: ExpressionList, by columns: [SortColumn], _ meter: inout CostMeter
  ) throws(ExpressionFailure) -> [ExpressionValue] {
    let count = list.count
    let levels = Int.bitWidth - count.leadingZeroBitCount
    for column in columns {
      try meter.charge(count * levels)
      for key in column.keys { try meter.charge((key.readBytes >> 4) * levels) }
      try checkOneKind(column.keys)
    }
    func precedes(_ a: Int, _ b: Int) -> Bool {
      for column in columns {
        let (x, y) = (column.keys[a], column.keys[b])
        switch x.order(relativeTo: y) {
        case .before: return !column.isDescending
        case .after: return column.isDescending
        case .unordered where isNaN(x) != isNaN(y): return isNaN(y)
        default: continue
        }
      }
      return a < b
    }
    return (0..<count).sorted(by: precedes).map { list[$0] }
  }

  private static func checkOneKind(_ keys: [ExpressionValue]) throws(ExpressionFailure) {
    guard let first = keys.first else { return }
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
  }

  private static func isNaN(_ value: ExpressionValue) -> Bool {
    if case .double(let x) = value { x.isNaN } else { false }
  }
}
