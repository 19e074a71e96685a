public import WidgetModel

extension Value {
  /// The same value in the domain. Its cost is charged: an expression can name one large list a
  /// thousand times at no cost, but here the list is copied each time.
  ///
  /// A uint becomes an int, a type its name, and the keys of a map become text. Every element costs
  /// 1, and 16 bytes of text 1; a failed conversion costs too.
  ///
  /// - Throws: `COST_EXCEEDED`, `TOO_DEEP`, or `OUT_OF_RANGE` for a uint beyond an int, `DUPLICATE_KEY`
  ///   if two keys become the same text, `INVALID_ARGUMENT` for text with a NUL character.
  public init(
    _ value: ExpressionValue, budget: inout Int, depthMax: Int = 64
  ) throws(EvaluationError) {
    var meter = CostMeter(budget: budget)
    defer { budget = meter.remaining }
    do throws(ExpressionFailure) {
      self = try Value.made(of: value, &meter, depth: min(depthMax, 200))
    } catch {
      throw EvaluationError(reason: error.reason, message: error.message, offset: 0, source: "")
    }
  }

  private static func made(
    of value: ExpressionValue, _ meter: inout CostMeter, depth: Int
  ) throws(ExpressionFailure) -> Value {
    try meter.charge(1)
    switch value {
    case .list(let list):
      guard depth > 0 else { throw tooDeep }
      var elements: [Value] = []
      for element in list { elements.append(try made(of: element, &meter, depth: depth - 1)) }
      return .list(elements)
    case .map(let map):
      guard depth > 0 else { throw tooDeep }
      try meter.charge(map.listingCost - map.count)
      try meter.require(map.count)
      var entries: [ValueMap.Entry] = []
      for (key, value) in map.entries {
        let name: String
        switch key {
        case .string(let text): name = try checked(text, &meter)
        case .bool(let flag): name = String(flag)
        case .int(let number): name = String(number)
        case .uint(let number): name = String(number)
        default: throw ExpressionFailure(.invalidArgument, "a map needs keys that are text")
        }
        entries.append(.init(key: name, value: try made(of: value, &meter, depth: depth - 1)))
      }
      let made = ValueMap(entries)
      guard made.count == entries.count else {
        throw ExpressionFailure(.duplicateKey, "two keys of a map become the same text")
      }
      return .map(made)
    case .string(let text): return .string(try checked(text, &meter))
    case .bytes(let bytes):
      try meter.chargeRead(bytes.count)
      return .bytes(bytes)
    default:
      guard let value = Value(value) else {
        throw ExpressionFailure(.outOfRange, "a uint above the largest int cannot be stored")
      }
      return value
    }
  }

  private static var tooDeep: ExpressionFailure {
    ExpressionFailure(.tooDeep, "the value has too many lists and maps inside one another")
  }

  private static func checked(
    _ text: String, _ meter: inout CostMeter
  ) throws(ExpressionFailure) -> String {
    try meter.chargeRead(text.utf8.count)
    guard !text.utf8.contains(0) else {
      throw ExpressionFailure(.invalidArgument, "text cannot hold a NUL character; use bytes")
    }
    return text
  }
}
