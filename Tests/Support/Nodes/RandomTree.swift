package import SeededRandom
package import WidgetModel

/// Trees of all types with properties good and bad, decided by a seed.
package struct RandomTree {
  package var random: SeededGenerator
  private var left: Int
  /// How many of a hundred nodes have paddings and margins that may be wider than all there is.
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
    for name in names(of: type) where chance(40) {
      properties[name == "headings" ? "columns" : name] = chance(12) ? hostile() : value(of: name)
    }
    for name in Self.common where chance(7) {
      properties[name] = chance(20) ? hostile() : value(of: name)
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

  /// Another node in the place of one, with the same children.
  package mutating func changed(_ node: Node) -> Node {
    var node = node
    let name = pick(names(of: node.type) + Self.common)
    node.properties[name] = chance(20) ? nil : value(of: name)
    return node
  }

  /// Types for nodes with children: of all types that have some, and stacks more often.
  private static let containers: [NodeType?] =
    [.stack, .stack, nil] + NodeType.allCases.filter { $0.isContainer || $0 == .embed }

  /// Types for nodes without children: of all types that can do without, and labels more often.
  private static let leaves: [NodeType?] =
    [.label, .label]
    + NodeType.allCases.filter { !$0.isContainer && $0 != .embed || $0 == .button || $0 == .link }

  static let common = [
    "visible", "padding", "margin", "width", "height", "minWidth", "maxWidth", "minHeight",
    "maxHeight", "grow", "align", "separator", "accessory", "enabled", "font",
  ]

  private func names(of type: NodeType?) -> [String] {
    switch type {
    case .label: ["text", "text", "lines", "runs"]
    case .stack, nil:
      [
        "axis", "spacing", "distribution", "crossAlign", "scroll", "itemWidth", "paging", "divider",
        "section",
      ]
    case .grid: ["columns", "spacing", "crossAlign"]
    case .table: ["scroll", "headings", "empty", "more", "divider", "selection"]
    case .form: ["text", "submit", "spacing"]
    case .space: ["size"]
    case .gauge: ["text", "value", "style"]
    case .chart: ["text", "values", "labels", "style"]
    case .input: ["text", "value", "placeholder", "problem", "mode"]
    case .link: ["text", "url"]
    case .date: ["format"]
    case .spinner: ["text", "active"]
    case .image: ["alt"]
    case .embed: ["widget"]
    case .button, .toggle: ["text", "text", "icon"]
    }
  }

  private mutating func value(of name: String) -> Value {
    switch name {
    case "visible": .bool(chance(80))
    case "enabled", "scroll", "paging", "divider", "section", "more", "active": .bool(chance(60))
    case "padding", "margin":
      chance(50) ? length() : ["top": length(), "horizontal": length(), "leading": length()]
    case "width", "maxWidth", "height", "maxHeight", "minWidth", "minHeight", "spacing",
      "itemWidth",
      "size":
      length()
    case "grow": pick([0, 1, 2, 0.5])
    case "align", "crossAlign": pick(["start", "center", "end", "fill"])
    case "distribution": pick(["start", "center", "end", "fill", "equal", "between"])
    case "axis": pick(["horizontal", "horizontal", "vertical", "layered"])
    case "separator": pick([true, false, ["color": "#ff0000", "insets": ["leading": 16]]])
    case "accessory": pick(["none", "disclosure", "activity", "checkmark", ["image": "star"]])
    case "lines": pick([0, 1, 2])
    case "columns": pick([1, 2, 3, 5])
    case "headings": [text(), ["title": text(), "grow": 1], ["width": length(), "align": "end"]]
    case "selection": pick(["none", "single", "multiple"])
    case "style": pick(["line", "bar", "ring", "sparkline"])
    case "values": [1, 2.5, 3, .null]
    case "labels": [text(), text()]
    case "runs": [["text": text()], ["text": text(), "weight": "bold"], ["text": "\u{301}x"]]
    case "value": pick([0.5, true, text()])
    case "mode": pick(["text", "multiline", "secret"])
    default: text()
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
