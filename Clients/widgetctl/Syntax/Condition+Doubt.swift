import WidgetModel

/// The reason why a condition may never hold, although its widget exists: the widget has no such
/// value, or a value of another type. `watch --until` reports it, because no other check does.
extension Condition {
  /// - Parameters:
  ///   - widget: the whole widget.
  ///   - kind: its kind. Nil if it is not registered.
  /// - Returns: nil if there is no doubt.
  func doubt(about widget: Widget, _ kind: Kind?) -> String? {
    guard case .compare(let property, let comparison, let value) = test, !holds(for: widget) else {
      return nil
    }
    switch property {
    case .data(let path):
      return doubt(
        path, in: widget.data, declared: kind?.data ?? [], isOpen: kind?.isOpen ?? true, "data",
        comparison, value)
    case .parameter(let path):
      return doubt(
        path, in: widget.parameters, declared: kind?.parameters ?? [], isOpen: kind == nil,
        "parameter", comparison, value)
    case .label(let key):
      guard widget.labels[key] == nil, comparison != .notEqual else { return nil }
      return "widget \"\(id)\" has no label \"\(key)\" yet; waiting for it"
        + suggestion(for: key, among: widget.labels.entries.map(\.key))
    case .revision: return nil
    }
  }

  private func doubt(
    _ path: ValuePath, in map: ValueMap, declared: [Field], isOpen: Bool, _ noun: String,
    _ comparison: Comparison, _ value: Value
  ) -> String? {
    if let actual = path.value(in: map) {
      guard actual != .null, value != .null, !actual.isComparable(to: value) else { return nil }
      return "\"\(path.text)\" of widget \"\(id)\" is \(actual.typeWithArticle) now, and the "
        + "condition compares it with the \(value.typeName) \(JSONWriter.compact(value)); waiting"
    }
    // A missing value is unequal to everything.
    if comparison == .notEqual { return nil }
    let names = declared.map(\.name)
    let isDeclared = path.keys.contains { key in names.contains { $0.hasSameBytes(as: key) } }
    if isDeclared { return nil }
    let suggestion = suggestion(for: path.text, among: names + map.entries.map(\.key))
    return isOpen
      ? "widget \"\(id)\" has no \(noun) \"\(path.text)\" yet; waiting for it" + suggestion
      : "the kind of widget \"\(id)\" declares no \(noun) \"\(path.text)\"; the condition cannot "
        + "hold before the kind declares it" + suggestion
  }

  private func suggestion(for name: String, among names: [String]) -> String {
    name.closest(among: names).map { "; did you mean \"\($0)\"?" } ?? ""
  }
}

extension Value {
  /// Whether two values can be equal or ordered.
  fileprivate func isComparable(to other: Value) -> Bool {
    switch (self, other) {
    case (.int, .double), (.double, .int): true
    default: typeName == other.typeName
    }
  }
}
