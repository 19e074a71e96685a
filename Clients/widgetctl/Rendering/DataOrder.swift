import WidgetModel

/// The order of a widget's data on one line. The most useful values come first, because the end of the line may
/// be cut off.
struct DataOrder: Sendable {
  /// The keys at the beginning, in this order.
  var first: [String]
  /// The keys at the end.
  var last: [String] = []

  /// The order for widgets of most kinds.
  static let usual = DataOrder(first: ["text", "title", "value", "state"])
  /// No key has a place of its own.
  static let unchanged = DataOrder(first: [])

  /// The elements in this order. Elements with other keys stay in their order.
  func sorted<Element>(_ elements: [Element], key: (Element) -> String) -> [Element] {
    let named = first.compactMap { name in elements.first { key($0) == name } }
    let rest = elements.filter { !first.contains(key($0)) && !last.contains(key($0)) }
    return named + rest + elements.filter { last.contains(key($0)) }
  }
}

extension Widget {
  /// The order of the widget's data.
  var dataOrder: DataOrder {
    programKeys.isEmpty
      ? .usual
      : DataOrder(
        first: ["state", "problem", "bundles", "failed", "version", "path"], last: programKeys)
  }
}
