import WidgetModel

/// Values as nodes, and nodes as values.
extension SourceNode {
  /// A node without a place, for text that is read by JSON's rules.
  init(_ value: Value) {
    let content: Content
    switch value {
    case .string(let text): content = .scalar(text, isPlain: false)
    case .null: content = .scalar("null", isPlain: true)
    case .bool(let flag): content = .scalar("\(flag)", isPlain: true)
    case .int(let number): content = .scalar("\(number)", isPlain: true)
    case .double(let number):
      content = .scalar(
        number.isNaN ? ".nan" : number.isFinite ? "\(number)" : number < 0 ? "-.inf" : ".inf",
        isPlain: true)
    case .list(let values): content = .list(values.map { SourceNode($0) })
    case .map(let map):
      content = .map(
        map.entries.map {
          Entry(key: $0.key, line: 0, column: 0, value: SourceNode($0.value))
        })
    case .bytes, .timestamp, .duration: content = SourceNode(DataDocument.tagged(value)).content
    }
    self.init(line: 0, column: 0, content: content)
  }

  /// The value as it is written, with all tags.
  var value: Value {
    switch content {
    case .scalar(let text, let isPlain):
      isPlain ? PlainScalar.value(text) ?? .string(text) : .string(text)
    case .list(let elements): .list(elements.map(\.value))
    case .map(let entries):
      .map(ValueMap(entries.map { .init(key: $0.key, value: $0.value.value) }))
    }
  }
}

extension Reading {
  /// A constant of the long form, which has tags (`$bytes`) and no escapes for `=`.
  func printedConstant(_ item: Item) -> Value? {
    switch item.node.content {
    case .scalar: return item.node.value
    case .list(let elements):
      let values = elements.enumerated().map { printedConstant(item.element($0, $1)) }
      return values.contains { $0 == nil } ? nil : .list(values.compactMap(\.self))
    case .map(let entries):
      if entries.count == 1, entries[0].key.utf8.first == UInt8(ascii: "$") {
        return untagged(item)
      }
      var values: [ValueMap.Entry] = []
      for entry in entries {
        let item = Item(node: entry.value, path: "\(item.path).\(entry.key)")
        if let value = printedConstant(item) { values.append(.init(key: entry.key, value: value)) }
      }
      return values.count == entries.count ? .map(ValueMap(values)) : nil
    }
  }

  private func untagged(_ item: Item) -> Value? {
    do throws(DataDocument.Failure) { return try DataDocument.untagged(item.node.value) } catch {
      report(
        item, "\(error)",
        hint: "use $bytes with Base64, $timestamp with RFC 3339, $duration, or $double")
      return nil
    }
  }
}
