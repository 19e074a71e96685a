/// The macros: iterations over the elements of a list or the keys of a map.
extension Evaluator {
  @inline(never)
  mutating func macro(_ macro: Program.Macro, _ node: Int32) throws(EvaluationError)
    -> ExpressionValue
  {
    let range = try value(macro.range)
    if macro.kind == .bind {
      locals[macro.first] = range
      defer { locals[macro.first] = .null }
      return try value(macro.result)
    }
    switch range {
    case .list(let list): return try over(Elements(list), macro, node)
    case .map(let map) where macro.kind != .sortBy:
      try charge(map.listingCost, node)
      return try over(Elements(map, withValues: macro.second >= 0), macro, node)
    default:
      throw error(
        .noSuchOverload,
        "\(macro.kind.rawValue)() needs a list or a map, not \(range.kind.shortName)", node)
    }
  }

  /// The elements to iterate over, without a copy of the list.
  private struct Elements {
    let list: ExpressionList
    /// The values of a map, in the order of its keys.
    let values: [ExpressionValue]?
    let isMap: Bool

    init(_ list: ExpressionList) {
      self.list = list
      values = nil
      isMap = false
    }

    init(_ map: ExpressionMap, withValues: Bool) {
      isMap = true
      if withValues {
        let entries = map.entries
        list = ExpressionList(entries.map(\.key))
        values = entries.map(\.value)
      } else {
        list = ExpressionList(map.keys)
        values = nil
      }
    }
  }

  private mutating func over(
    _ elements: Elements, _ macro: Program.Macro, _ node: Int32
  ) throws(EvaluationError) -> ExpressionValue {
    defer {
      locals[macro.first] = .null
      if macro.second >= 0 { locals[macro.second] = .null }
    }
    switch macro.kind {
    case .all: return .bool(try any(elements, macro, false, node))
    case .exists: return .bool(try any(elements, macro, true, node))
    case .existsOne:
      var found = 0
      for index in 0..<elements.list.count where try holds(elements, index, macro, node) {
        found += 1
      }
      return .bool(found == 1)
    case .map, .transformList:
      var results: [ExpressionValue] = []
      for index in 0..<elements.list.count where try isWanted(elements, index, macro, node) {
        results.append(try value(macro.result))
      }
      return try made(results, node)
    case .filter:
      var results: [ExpressionValue] = []
      for index in 0..<elements.list.count where try holds(elements, index, macro, node) {
        results.append(elements.list[index])
      }
      return try made(results, node)
    case .transformMap, .transformMapEntry:
      var builder = MapBuilder()
      for index in 0..<elements.list.count where try isWanted(elements, index, macro, node) {
        let result = try value(macro.result)
        if macro.kind == .transformMap {
          let key = elements.isMap ? elements.list[index] : .int(Int64(index))
          try insert(result, for: key, into: &builder, node)
        } else {
          guard case .map(let entries) = result else {
            throw error(
              .noSuchOverload, "transformMapEntry() needs a map, not \(result.kind.shortName)", node
            )
          }
          try charge(entries.listingCost, node)
          for (key, value) in entries.entries { try insert(value, for: key, into: &builder, node) }
        }
      }
      return try made(builder, node)
    case .sortBy:
      var columns = macro.sortKeys.map {
        Operators.SortColumn(isDescending: $0.isDescending, keys: [])
      }
      for index in 0..<elements.list.count {
        try bind(elements, index, macro, node)
        for (column, key) in macro.sortKeys.enumerated() {
          columns[column].keys.append(try value(key.code))
        }
      }
      do throws(ExpressionFailure) {
        return .list(
          ExpressionList(try Operators.sorted(elements.list, by: columns, &context.meter)))
      } catch { throw located(error, node) }
    case .bind: return .null
    }
  }

  /// `exists`, and `all` with the opposite outcome. The first element that decides ends the macro,
  /// and hides the errors of earlier elements.
  private mutating func any(
    _ elements: Elements, _ macro: Program.Macro, _ deciding: Bool, _ node: Int32
  ) throws(EvaluationError) -> Bool {
    var failure: EvaluationError?
    for index in 0..<elements.list.count {
      do throws(EvaluationError) {
        if try holds(elements, index, macro, node) == deciding { return deciding }
      } catch {
        if error.isFatal { throw error }
        try charge(CostMeter.hiddenErrorCost, node)
        failure = failure ?? error
      }
    }
    if let failure { throw failure }
    return !deciding
  }

  private mutating func bind(
    _ elements: Elements, _ index: Int, _ macro: Program.Macro, _ node: Int32
  ) throws(EvaluationError) {
    try charge(1, node)
    if macro.second < 0 {
      locals[macro.first] = elements.list[index]
    } else if let values = elements.values {
      locals[macro.first] = elements.list[index]
      locals[macro.second] = values[index]
    } else {
      locals[macro.first] = .int(Int64(index))
      locals[macro.second] = elements.list[index]
    }
  }

  private mutating func holds(
    _ elements: Elements, _ index: Int, _ macro: Program.Macro, _ node: Int32
  ) throws(EvaluationError) -> Bool {
    try bind(elements, index, macro, node)
    return try flag(macro.result, macro)
  }

  private mutating func isWanted(
    _ elements: Elements, _ index: Int, _ macro: Program.Macro, _ node: Int32
  ) throws(EvaluationError) -> Bool {
    try bind(elements, index, macro, node)
    return macro.condition < 0 ? true : try flag(macro.condition, macro)
  }

  private mutating func flag(
    _ condition: Int32, _ macro: Program.Macro
  ) throws(EvaluationError) -> Bool {
    guard case .bool(let flag) = try value(condition) else {
      throw error(
        .noSuchOverload, "the condition of \(macro.kind.rawValue)() must be a bool", condition)
    }
    return flag
  }
}
