import WidgetModel

/// The language's equality and order, which compare numbers of different kinds by their value.
extension ExpressionValue {
  /// CEL's `==`: numbers by value whatever their kind, a NaN equal to nothing, values of different
  /// kinds unequal. O(size of the smaller).
  public func isEqual(to other: ExpressionValue) -> Bool {
    var unlimited = CostMeter(budget: .max)
    return (try? isEqual(to: other, &unlimited)) ?? false
  }

  /// The same. Each element, and each 16 bytes of text, costs 1. Each entry of a map costs 2.
  func isEqual(
    to other: ExpressionValue, _ meter: inout CostMeter
  ) throws(ExpressionFailure) -> Bool {
    switch (self, other) {
    case (.null, .null): return true
    case (.bool(let x), .bool(let y)): return x == y
    case (.int(let x), .int(let y)): return x == y
    case (.string(let x), .string(let y)):
      try meter.chargeRead(min(x.utf8.count, y.utf8.count))
      return x.hasSameBytes(as: y)
    case (.bytes(let x), .bytes(let y)):
      try meter.chargeRead(min(x.count, y.count))
      return x == y
    case (.list(let x), .list(let y)):
      guard x.count == y.count else { return false }
      for index in 0..<x.count {
        try meter.charge(1)
        guard try x[index].isEqual(to: y[index], &meter) else { return false }
      }
      return true
    case (.map(let x), .map(let y)):
      guard x.count == y.count else { return false }
      try meter.charge(x.listingCost)
      for (key, value) in x.entries {
        try meter.charge(1)
        if case .string(let name) = key { try meter.charge(name.utf8.count >> 4) }
        guard let counterpart = y[key], try value.isEqual(to: counterpart, &meter) else {
          return false
        }
      }
      return true
    case (.timestamp(let x), .timestamp(let y)): return x == y
    case (.duration(let x), .duration(let y)): return x == y
    case (.type(let x), .type(let y)): return x == y
    default: return numericOrder(relativeTo: other) == .same
    }
  }

  /// The order of two values that the language can order (numbers, text, bytes, bools, times).
  /// `.unordered` with a NaN; nil if there is no order between such kinds.
  func order(relativeTo other: ExpressionValue) -> ExpressionOrder? {
    switch (self, other) {
    case (.int(let x), .int(let y)): .init(x, y)
    case (.double(let x), .double(let y)): .init(x, y)
    case (.string(let x), .string(let y)):
      x.precedesByBytes(y) ? .before : x.hasSameBytes(as: y) ? .same : .after
    case (.bytes(let x), .bytes(let y)): .init(bytes: x, y)
    case (.bool(let x), .bool(let y)): .init(x ? 1 : 0, y ? 1 : 0)
    case (.timestamp(let x), .timestamp(let y)): .init(x, y)
    case (.duration(let x), .duration(let y)): .init(x, y)
    default: numericOrder(relativeTo: other)
    }
  }

  private func numericOrder(relativeTo other: ExpressionValue) -> ExpressionOrder? {
    switch (self, other) {
    case (.int(let x), .int(let y)): .init(x, y)
    case (.uint(let x), .uint(let y)): .init(x, y)
    case (.double(let x), .double(let y)): .init(x, y)
    case (.int(let x), .uint(let y)): x < 0 ? .before : .init(UInt64(x), y)
    case (.uint(let x), .int(let y)): y < 0 ? .after : .init(x, UInt64(y))
    case (.int(let x), .double(let y)): .init(integer: x, y)
    case (.double(let x), .int(let y)): ExpressionOrder(integer: y, x).reversed
    case (.uint(let x), .double(let y)): .init(integer: x, y)
    case (.double(let x), .uint(let y)): ExpressionOrder(integer: y, x).reversed
    default: nil
    }
  }
}

/// The order of one value and another.
enum ExpressionOrder {
  case before, same, after
  /// One of them is a NaN.
  case unordered

  init<T: Comparable>(_ a: T, _ b: T) {
    self = a < b ? .before : a == b ? .same : a > b ? .after : .unordered
  }

  init(bytes a: [UInt8], _ b: [UInt8]) {
    if let (x, y) = zip(a, b).first(where: { $0 != $1 }) {
      self.init(x, y)
    } else {
      self.init(a.count, b.count)
    }
  }

  /// The comparison uses the integer's nearest double, as CEL does: 2^63 - 1 and 2.0^63 are equal.
  init<I: FixedWidthInteger>(integer: I, _ double: Double) { self.init(Double(integer), double) }

  var reversed: ExpressionOrder {
    switch self {
    case .before: .after
    case .after: .before
    default: self
    }
  }
}
