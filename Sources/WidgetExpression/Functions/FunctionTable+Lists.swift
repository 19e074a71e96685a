/// The lists extension of CEL. `sortBy` is a macro.
extension FunctionTable {
  mutating func addLists() {
    one("lists.range", "int -> list(int)") { value, context throws(ExpressionFailure) in
      guard case .int(let count) = value else { return nil }
      guard count >= 0 else {
        throw ExpressionFailure(.invalidArgument, "lists.range() needs a count of 0 or more")
      }
      try context.meter.charge(Int(count))
      return .list((0..<count).map { .int($0) })
    }
    one("distinct", isMember: true, "list(A) -> list(A)") {
      value, context throws(ExpressionFailure) in
      guard case .list(let list) = value else { return nil }
      return .list(try Self.distinct(list, &context))
    }
    one("flatten", isMember: true, "list(list(A)) -> list(A)", "list(dyn) -> list(dyn)") {
      value, context throws(ExpressionFailure) in
      guard case .list(let list) = value else { return nil }
      return .list(try Self.flattened(list, levels: 1, &context))
    }
    two("flatten", isMember: true, "list(dyn), int -> list(dyn)") {
      a, b, context throws(ExpressionFailure) in
      guard case .list(let list) = a, case .int(let levels) = b else { return nil }
      guard levels >= 0 else {
        throw ExpressionFailure(.invalidArgument, "flatten() needs a number of levels of 0 or more")
      }
      return .list(try Self.flattened(list, levels: levels, &context))
    }
    many("slice", isMember: true, "list(A), int, int -> list(A)") {
      values, context throws(ExpressionFailure) in
      guard case .list(let list) = values[0], case .int(let start) = values[1],
        case .int(let end) = values[2]
      else { return nil }
      guard start >= 0, start <= end else { throw Self.outside(start) }
      guard end <= list.count else { throw Self.outside(end) }
      try context.meter.charge(Int(end - start))
      return .list((start..<end).map { list[Int($0)] })
    }
    for isLast in [false, true] {
      two(isLast ? "last" : "first", isMember: true, "list(A), int -> list(A)") {
        a, b, context throws(ExpressionFailure) in
        guard case .list(let list) = a, case .int(let count) = b else { return nil }
        guard count >= 0 else { throw Self.outside(count) }
        let taken = Int(min(count, Int64(list.count)))
        try context.meter.charge(taken)
        let start = isLast ? list.count - taken : 0
        return .list((start..<(start + taken)).map { list[$0] })
      }
    }
    // Always a double: the type of the numbers in an empty list is unknown.
    one("sum", isMember: true, "list(dyn) -> double") {
      value, context throws(ExpressionFailure) in
      guard case .list(let list) = value else { return nil }
      try context.meter.charge(list.count)
      var sum = 0.0
      for element in list {
        switch element {
        case .double(let x): sum += x
        case .int(let x): sum += Double(x)
        case .uint(let x): sum += Double(x)
        default: return nil
        }
      }
      return .double(sum)
    }
    one("sort", isMember: true, "list(A) -> list(A)") { value, context throws(ExpressionFailure) in
      guard case .list(let list) = value else { return nil }
      try context.meter.charge(list.count)
      return .list(
        try Operators.sorted(
          list, by: [.init(isDescending: false, keys: list.elements)], &context.meter))
    }
  }

  /// The first of all equal elements, in order. Elements that can be keys are looked up. The others
  /// are compared.
  private static func distinct(
    _ list: ExpressionList, _ context: inout FunctionContext
  ) throws(ExpressionFailure) -> [ExpressionValue] {
    var keys: Set<MapKey> = []
    var others: [ExpressionValue] = []
    var result: [ExpressionValue] = []
    for element in list {
      try context.meter.charge(1)
      if let key = MapKey(lookingUp: element) {
        if case .string(let text) = element { try context.meter.chargeRead(text.utf8.count) }
        guard keys.insert(key).inserted else { continue }
      } else {
        var isKnown = false
        for other in others where !isKnown {
          try context.meter.charge(1)
          isKnown = try other.isEqual(to: element, &context.meter)
        }
        if isKnown { continue }
        others.append(element)
      }
      result.append(element)
    }
    return result
  }

  private static func flattened(
    _ list: ExpressionList, levels: Int64, _ context: inout FunctionContext
  ) throws(ExpressionFailure) -> [ExpressionValue] {
    var result: [ExpressionValue] = []
    try flatten(list, levels: levels, into: &result, &context)
    return result
  }

  /// Appends to one array, so that nested lists are not copied once for each level.
  private static func flatten(
    _ list: ExpressionList, levels: Int64, into result: inout [ExpressionValue],
    _ context: inout FunctionContext
  ) throws(ExpressionFailure) {
    for element in list {
      try context.meter.charge(1)
      if levels > 0, case .list(let inner) = element {
        try flatten(inner, levels: levels - 1, into: &result, &context)
      } else {
        result.append(element)
      }
    }
  }
}
