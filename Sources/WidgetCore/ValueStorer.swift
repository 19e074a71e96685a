import WidgetExpression
import WidgetModel

/// Turns what expressions give into values that the store keeps.
///
/// Every element costs: an expression can name one large list a thousand times at no cost, but it is
/// stored as many times.
struct ValueStorer {
  /// What may still be spent.
  var budget: Int
  /// How deep lists and maps may be nested.
  let depthMax: Int

  enum Problem: Error, Hashable {
    case tooCostly, tooDeep, keyWithoutText, keysOfSameText, nul, uintTooLarge

    /// For the author of the expression. `tooCostly` is for the caller to word: it knows the limit.
    func message(depthMax: Int) -> String {
      switch self {
      case .tooCostly: "it costs too much"
      case .tooDeep: "lists and maps may be nested \(depthMax) deep at most"
      case .keyWithoutText: "a map needs keys that are text"
      case .keysOfSameText: "two keys of a map become the same text"
      case .nul: "text cannot hold a NUL character; use bytes"
      case .uintTooLarge: "a uint beyond an int cannot be stored"
      }
    }
  }

  mutating func stored(_ result: ExpressionValue) throws(Problem) -> Value {
    try stored(result, depth: depthMax)
  }

  private mutating func stored(
    _ result: ExpressionValue, depth: Int
  ) throws(Problem) -> Value {
    budget -= 1
    switch result {
    case .list(let list):
      guard depth > 0 else { throw .tooDeep }
      var elements: [Value] = []
      for element in list {
        elements.append(try stored(element, depth: depth - 1))
        guard budget > 0 else { throw .tooCostly }
      }
      return .list(elements)
    case .map(let map):
      guard depth > 0 else { throw .tooDeep }
      var entries: [ValueMap.Entry] = []
      for (key, value) in map.entries {
        guard let name = Value(key).flatMap({ ValueStorer.text(ofKey: $0) }) else {
          throw .keyWithoutText
        }
        entries.append(.init(key: try text(name), value: try stored(value, depth: depth - 1)))
        guard budget > 0 else { throw .tooCostly }
      }
      let stored = ValueMap(entries)
      guard stored.count == entries.count else { throw .keysOfSameText }
      return .map(stored)
    case .string(let string): return .string(try text(string))
    case .bytes(let bytes):
      budget -= bytes.count / 16
      return .bytes(bytes)
    default:
      guard let value = Value(result) else { throw .uintTooLarge }
      return value
    }
  }

  private mutating func text(_ string: String) throws(Problem) -> String {
    budget -= string.utf8.count / 16
    guard budget > 0 else { throw .tooCostly }
    guard !string.utf8.contains(0) else { throw .nul }
    return string
  }

  /// The text of a key of a map: `1`, `true`.
  private static func text(ofKey key: Value) -> String? {
    switch key {
    case .string(let text): text
    case .bool(let flag): "\(flag)"
    case .int(let number): "\(number)"
    default: nil
    }
  }
}
