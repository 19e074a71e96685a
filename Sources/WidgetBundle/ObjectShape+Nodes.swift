import WidgetModel

// The keys of nodes, made of what the model knows of their types.
extension ObjectShape {
  /// The type of the value after a node type's name.
  static func mainType(_ type: NodeType) -> KeyType {
    let children = KeyType.oneOrMore(.shape("node"))
    return switch type {
    case .stack, .grid, .table, .form: children
    case .button, .link: .any([.template, .list(.shape("node"))])
    default: .template
    }
  }

  static func mainSummary(_ type: NodeType) -> String {
    switch type {
    case .label: "A text: `text`."
    case .image: "A picture or an icon: `source`."
    case .button: "Something to press: `text`, or nodes."
    case .toggle: "Something to switch on and off: `text`."
    case .input: "A field to type into: `name`."
    case .gauge: "A number between two others: `value`."
    case .chart: "A series of numbers: `values`."
    case .stack: "Nodes below each other, or side by side."
    case .grid: "Nodes in columns."
    case .table: "Nodes as rows."
    case .space: "Empty room: `size`."
    case .date:
      "A point in time: `date`. If the `type` of the node is `date`, the point in time."
    case .form: "Inputs that are submitted together. `on: {submit: NAME}` names the action."
    case .spinner: "An activity that is under way: `text`."
    case .link: "Something to open elsewhere: `text`, or nodes."
    }
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
        return propertyKey([property], property.words(ofDefault: name != "padding"))
      }
      let owners = NodeType.allCases.compactMap { type in
        type.properties.first { $0.name == name }.map { (type, $0) }
      }
      let isSame = Set(owners.map(\.1)).count == 1
      let types = owners.map(\.0.name).joined(separator: ", ")
      return propertyKey(
        owners.map(\.1),
        isSame
          ? "Of \(types): \(owners[0].1.words())"
          : owners.map { "\($0.name): \($1.words())" }.joined(separator: " "))
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
  /// The meaning, type, unit and default, in words.
  fileprivate func words(ofDefault tellsDefault: Bool = true) -> String {
    var facts: [String] = []
    switch type {
    case .field(let type):
      if type != .string { facts.append("`\(type)`") }
    case .choice(let words): facts.append(words.map { "`\($0)`" }.joined(separator: ", "))
    default: facts.append(type.words)
    }
    if let unit, unit != .points { facts.append(unit.rawValue) }
    if tellsDefault, let value = defaultValue, value != .string("") {
      facts.append("default `\(value.inReference)`")
    }
    return facts.isEmpty ? summary : "\(summary.dropLast()) (\(facts.joined(separator: "; ")))."
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
