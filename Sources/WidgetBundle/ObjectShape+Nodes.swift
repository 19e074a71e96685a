import WidgetModel

// The keys of nodes, from the model's node types.
extension ObjectShape {
  /// The type of the value after a node type's name.
  static func mainType(_ type: NodeType) -> KeyType {
    guard type.isContainer else { return .template }
    return type.mainProperty == nil
      ? .oneOrMore(.shape("node")) : .any([.template, .list(.shape("node"))])
  }

  /// The properties of nodes of all types. Each takes a constant, `=EXPRESSION` or a binding.
  static let propertyKeys: [Key] = {
    let typeNames = Set(NodeType.allCases.map(\.name))
    var names: [String] = []
    for property in NodeType.common + NodeType.allCases.flatMap(\.properties)
    where !typeNames.contains(property.name) && !names.contains(property.name) {
      names.append(property.name)
    }
    return names.map { name in
      if let property = NodeType.common.first(where: { $0.name == name }) {
        return propertyKey([property], property.words)
      }
      let owners = NodeType.allCases.compactMap { type in
        type.properties.first { $0.name == name }.map { (type, $0) }
      }
      let isSame = Set(owners.map(\.1)).count == 1
      let types = owners.map(\.0.name).joined(separator: ", ")
      return propertyKey(
        owners.map(\.1),
        isSame
          ? "Of \(types): \(owners[0].1.words)"
          : owners.map { "\($0.name): \($1.words)" }.joined(separator: " "))
    }
  }()

  private static func propertyKey(_ properties: [NodeProperty], _ summary: String) -> Key {
    let words = properties.flatMap { property in
      if case .choice(let words) = property.type { words } else { [] as [String] }
    }
    let constant: KeyType = words.isEmpty ? .template : .any([.words(words.unique), .expression])
    return Key(properties[0].name, .any([constant, .shape("binding")]), summary)
  }
}

extension NodeProperty {
  /// The meaning, type, unit and default, in words. The default can be a part of the meaning.
  fileprivate var words: String {
    var sentences = [summary]
    let unit = unit.flatMap { $0 == .points ? nil : ", in \($0.rawValue)" } ?? ""
    switch type {
    case .field(.string): break
    case .field(let type): sentences.append("Type: `\(type)`\(unit).")
    case .choice(let words):
      sentences.append("Values: \(words.map { "`\($0)`" }.joined(separator: ", "))\(unit).")
    default: sentences.append("Values: \(type.words)\(unit).")
    }
    if !summary.contains("Default: "), let value = defaultValue, value != .string("") {
      sentences.append("Default: `\(value.inReference)`.")
    }
    return sentences.joined(separator: " ")
  }
}

extension Value {
  /// A default in the form of the reference.
  fileprivate var inReference: String {
    switch self {
    case .string(let text): text
    case .bool(let flag): "\(flag)"
    case .int(let number): "\(number)"
    case .double(let number): "\(Int(number))"
    default: "\(self)"
    }
  }
}

extension [String] {
  /// The elements without duplicates, in order.
  fileprivate var unique: [String] {
    reduce(into: []) { words, word in if !words.contains(word) { words.append(word) } }
  }
}
