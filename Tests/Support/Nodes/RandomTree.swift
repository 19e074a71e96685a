package import SeededRandom
package import WidgetModel

/// Trees of all types with valid and invalid properties, which a seed determines. The types and
/// their properties are those of the descriptions of WidgetModel.
package struct RandomTree {
  package var random: SeededGenerator
  private var left: Int
  /// The percentage of nodes whose paddings and margins may exceed the available room.
  private let tight: Int

  package init(seed: UInt64, nodes: Int = 40, tight: Int = 0) {
    random = SeededGenerator(seed: seed)
    left = nodes
    self.tight = tight
  }

  package mutating func tree(depth: Int = 0) -> Tree {
    left -= 1
    let isContainer = depth == 0 || (depth < 7 && chance(45))
    let type = pick(isContainer ? Self.containers : Self.leaves)
    var properties = ValueMap()
    for property in Self.properties(of: type) where chance(40) {
      properties[property.name] = chance(12) ? hostile() : value(of: property)
    }
    for property in NodeType.common where chance(5) {
      properties[property.name] = chance(20) ? hostile() : value(of: property)
    }
    if tight > 0 {
      for name in ["padding", "margin"] where chance(tight) { properties[name] = edges() }
    }
    var tree = Tree(type, properties)
    if isContainer {
      let count = Int.random(in: 0...5, using: &random)
      for _ in 0..<count where left > 0 { tree.children.append(self.tree(depth: depth + 1)) }
    }
    if !tree.children.isEmpty, chance(8) {
      let id = "accessory\(random.next())"
      tree.children[0].id = id
      tree.properties["accessory"] = ["node": .string(id)]
    }
    return tree
  }

  /// Replaces a node with another one that has the same children.
  package mutating func changed(_ node: Node) -> Node {
    var node = node
    let property = pick(Self.properties(of: node.type) + NodeType.common)
    node.properties[property.name] = chance(20) ? nil : value(of: property)
    return node
  }

  /// Types for nodes with children: of all types that have some, and stacks more often.
  private static let containers: [NodeType?] =
    [.stack, .stack, nil] + NodeType.allCases.filter { $0.isContainer || $0.role == .embed }

  /// Types for nodes without children: all types that need none, and labels more often.
  private static let leaves: [NodeType?] =
    [.label, .label]
    + NodeType.allCases.filter { type in
      type.isContainer ? type.mainProperty != nil : type.role != .embed
    }

  /// The properties of a type: the main one more often. Nodes of unknown types have those of stacks.
  private static func properties(of type: NodeType?) -> [NodeProperty] {
    let type = type ?? .stack
    return (type.mainProperty.flatMap(type.property).map { [$0] } ?? []) + type.properties
  }

  /// A value of the property's type, in sizes that matter for a layout.
  private mutating func value(of property: NodeProperty) -> Value {
    switch property.type {
    // A tree of hidden nodes tests nothing.
    case .field(.bool) where property.name == "visible": .bool(chance(80))
    case .field(let type): value(of: type)
    case .whole(let range): .int(min(range.lowerBound + pick([0, 0, 1, 2, 4]), range.upperBound))
    case .number(let range):
      .double(min(max(range.lowerBound, pick([0, 1, 2, 0.5])), range.upperBound))
    case .choice(let words): .string(pick(words))
    case .color: pick(["color.primary", "#ff0000", "#20406080"])
    case .length: length()
    case .edges:
      chance(50) ? length() : ["top": length(), "horizontal": length(), "leading": length()]
    case .font: pick(["font.title", "caption", "monospace"])
    case .separator: pick([true, false, ["color": "#ff0000", "insets": ["leading": 16]]])
    case .accessory: pick(["none", "disclosure", "activity", "checkmark", ["image": "star"]])
    case .runs: [["text": text()], ["text": text(), "weight": "bold"], ["text": "\u{301}x"]]
    case .columns: [text(), ["title": text(), "grow": 1], ["width": length(), "align": "end"]]
    }
  }

  private mutating func value(of type: FieldType) -> Value {
    switch type {
    case .bool: .bool(chance(60))
    case .int: pick([0, 1, 7])
    case .double: pick([1, 2.5, 3, .null])
    case .string, .any: text()
    case .bytes: .bytes([1])
    case .timestamp: .timestamp(.epoch)
    case .duration: .duration(.seconds(90))
    case .list(let element): .list((0..<3).map { _ in value(of: element) })
    case .map(let element): ["key": value(of: element)]
    }
  }

  private mutating func length() -> Value { pick([0, 4, 8, 16, 40, 100, 1.5]) }

  private mutating func edges() -> Value {
    let room: [Value] = [0, 8, 24, 100, 400, 5_000]
    return chance(30)
      ? pick(room)
      : [
        "leading": pick(room), "trailing": pick(room), "top": pick(room), "bottom": pick(room),
      ]
  }

  private mutating func hostile() -> Value {
    pick([
      .null, .double(.nan), .double(.infinity), -1, .int(.max), .int(.min), "offset.none", [], [:],
      1e300, .bytes([1]), "\u{1B}[2J",
    ])
  }

  private mutating func text() -> Value {
    let words = [
      "a", "word", "incomprehensibilities", "日本語", "👩\u{200D}👩\u{200D}👧", "e\u{301}", "\n", "\t",
      "12", "\u{1B}[31m",
      "well-known", "\u{200B}",
    ]
    let count = Int.random(in: 0...6, using: &random)
    return .string((0..<count).map { _ in pick(words) }.joined(separator: " "))
  }

  package mutating func chance(_ percent: Int) -> Bool {
    Int.random(in: 0..<100, using: &random) < percent
  }

  package mutating func pick<T>(_ choices: [T]) -> T {
    choices[Int.random(in: 0..<choices.count, using: &random)]
  }
}
