public import WidgetModel

/// Between the domain's values and the language's.
extension ExpressionValue {
  /// The same value. O(1): lists and maps are read in place.
  public init(_ value: Value) {
    switch value {
    case .null: self = .null
    case .bool(let x): self = .bool(x)
    case .int(let x): self = .int(x)
    case .double(let x): self = .double(x)
    case .string(let x): self = .string(x)
    case .bytes(let x): self = .bytes(x)
    case .list(let x): self = .list(ExpressionList(x))
    case .map(let x): self = .map(ExpressionMap(x))
    case .timestamp(let x): self = .timestamp(x)
    case .duration(let x): self = .duration(x)
    }
  }

  /// A map of the domain. O(1).
  public init(_ map: ValueMap) { self = .map(ExpressionMap(map)) }

  /// The value as text, as `string(…)` gives it; nil for null, lists, maps, bytes and types.
  public var text: String? {
    switch self {
    case .string(let text): text
    case .bool(let flag): String(flag)
    case .int(let number): String(number)
    case .uint(let number): String(number)
    case .double(let number): DecimalText.shortest(number)
    case .timestamp(let time): Times.text(time)
    case .duration(let duration): Times.text(duration)
    case .null, .bytes, .list, .map, .type: nil
    }
  }
}

extension Value {
  /// The same value in the domain, which has fewer kinds: a uint becomes an int, a type its name, and
  /// the keys of a map become text (`1`, `true`).
  ///
  /// Nil if a uint is beyond an `Int64`, or two keys of a map become the same text.
  public init?(_ value: ExpressionValue) {
    switch value {
    case .null: self = .null
    case .bool(let x): self = .bool(x)
    case .int(let x): self = .int(x)
    case .uint(let x):
      guard let signed = Int64(exactly: x) else { return nil }
      self = .int(signed)
    case .double(let x): self = .double(x)
    case .string(let x): self = .string(x)
    case .bytes(let x): self = .bytes(x)
    case .list(let list):
      var elements: [Value] = []
      elements.reserveCapacity(list.count)
      for element in list {
        guard let converted = Value(element) else { return nil }
        elements.append(converted)
      }
      self = .list(elements)
    case .map(let map):
      guard let converted = ValueMap(map) else { return nil }
      self = .map(converted)
    case .timestamp(let x): self = .timestamp(x)
    case .duration(let x): self = .duration(x)
    case .type(let kind): self = .string(kind.rawValue)
    }
  }
}

extension ValueMap {
  /// The same map in the domain; see `Value.init(_: ExpressionValue)`.
  public init?(_ map: ExpressionMap) {
    if case .domain(let same) = map.storage {
      self = same
      return
    }
    var entries: [Entry] = []
    for (key, value) in map.entries {
      guard let converted = Value(value) else { return nil }
      let name: String
      switch key {
      case .string(let text): name = text
      case .bool(let flag): name = String(flag)
      case .int(let number): name = String(number)
      case .uint(let number): name = String(number)
      default: return nil
      }
      entries.append(Entry(key: name, value: converted))
    }
    self.init(entries)
    guard count == entries.count else { return nil }
  }
}
