import WidgetModel

/// A place in data or parameters: a key, and steps into its value: `status.note.state`, `load[0]`.
///
/// Keys may contain dots and brackets. If the whole path is a key, that key counts. Otherwise the
/// longest prefix of the path that is a key counts.
struct ValuePath: Hashable {
  let text: String

  init(_ text: String) { self.text = text }

  /// All keys whose value may contain the place, so that a read mask can name each of them.
  var keys: [String] {
    [text]
      + text.indices.filter { text[$0] == "." || text[$0] == "[" }.map { String(text[..<$0]) }
      .filter { !$0.isEmpty }
  }

  /// The value at the place; nil if there is none.
  func value(in map: ValueMap) -> Value? { Self.value(text[...], in: map) }

  private static func value(_ path: Substring, in map: ValueMap) -> Value? {
    if let value = map[String(path)] { return value }
    for index in path.indices.reversed() where path[index] == "." || path[index] == "[" {
      if let value = map[String(path[..<index])] { return step(path[index...], into: value) }
    }
    return nil
  }

  /// The part of a value for `.KEY…` or `[INDEX]…`.
  private static func step(_ rest: Substring, into value: Value) -> Value? {
    switch value {
    case _ where rest.isEmpty: return value
    case .map(let map) where rest.first == ".": return self.value(rest.dropFirst(), in: map)
    case .list(let elements) where rest.first == "[":
      guard let end = rest.firstIndex(of: "]"), let index = Int(rest.dropFirst().prefix(upTo: end)),
        elements.indices.contains(index)
      else { return nil }
      return step(rest[rest.index(after: end)...], into: elements[index])
    default: return nil
    }
  }
}
