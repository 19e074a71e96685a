/// A property of nodes: name, type, default and meaning.
public struct NodeProperty: Hashable, Sendable {
  public let name: String
  public let type: PropertyType
  /// The value if a node does not have the property. Nil for none.
  public let defaultValue: Value?
  public let unit: Unit?
  /// The meaning, for the reference.
  public let summary: String

  /// The unit of its numbers.
  public enum Unit: String, Hashable, Sendable {
    /// A terminal column is 8 points, a row 16.
    case points
    case lines
    case characters
  }

  init(
    _ name: String, _ type: PropertyType, _ defaultValue: Value? = nil, _ unit: Unit? = nil,
    _ summary: String
  ) {
    self.name = name
    self.type = type
    self.defaultValue = defaultValue
    self.unit = unit
    self.summary = summary
  }
}

extension NodeType {
  /// The common properties, with the defaults of leaf nodes.
  public static let common = commonProperties(padding: 4)
  static let commonOfFrames = commonProperties(padding: 0)

  private static func commonProperties(padding: Double) -> [NodeProperty] {
    let frames = names { $0.isFrame }
    return [
      .init(
        "visible", .field(.bool), .bool(true),
        "Whether the node is shown. A hidden node takes no events."),
      .init("enabled", .field(.bool), .bool(true), "Whether the node takes events."),
      .init("color", .color, nil, "Text colour. Default: the parent's, else the theme's."),
      .init("background", .color, nil, "Background colour, also of the padding."),
      .init(
        "tint", .color, .string("color.tint"),
        "Colour of the active part, such as a checked box or the filled part of a gauge."),
      .init("selectedColor", .color, nil, "Text colour while the node is selected."),
      .init(
        "selectedBackground", .color, .string("color.selected"),
        "Background colour while the node is selected."),
      .init(
        "font", .font, .string("font.default"),
        "Font, such as title, headline, body, caption or monospace."),
      .init(
        "align", .choice(["start", "center", "end", "fill"]), .string("start"),
        "Alignment of the content in a node that is larger than its content."),
      .init(
        "padding", .edges, .double(padding), .points,
        "Space between the node's edge and its content. Default: 4; 0 for \(frames)."),
      .init("margin", .edges, .double(0.0), .points, "Space around the node."),
      .init("width", .length, nil, .points, "Width. Default: as wide as its content."),
      .init("height", .length, nil, .points, "Height. Default: as high as its content."),
      .init("minWidth", .length, nil, .points, "Minimum width."),
      .init("maxWidth", .length, nil, .points, "Maximum width."),
      .init("minHeight", .length, nil, .points, "Minimum height."),
      .init("maxHeight", .length, nil, .points, "Maximum height."),
      .init(
        "grow", .number(0...1000), .double(0.0),
        "Share of the spare space along the parent's axis."),
      .init("corner", .length, .double(0.0), .points, "Radius of the corners."),
      .init(
        "separator", .separator, .bool(true),
        "Line below the node. Default: shown if the parent has `divider`, except below the last child."
      ),
      .init(
        "accessory", .accessory, .string("none"),
        "Mark at the right end: an arrow, a spinner, a check mark, an image, or one of the node's children."
      ),
      .init("tooltip", .field(.string), nil, "Tooltip text."),
      .init(
        "classes", .field(.list(.string)), nil, "Class names for a bar's style sheet."),
      .init(
        "urgent", .field(.bool), .bool(false), "Whether the node needs attention. Bars mark it."),
      .init(
        "privacy", .field(.bool), .bool(false),
        "Whether the node is private: viewers can hide it, as `view --redact` does."),
      .init(
        "dismissed", .field(.bool), .bool(false),
        "On the root node: true closes a viewer that shows only this widget."),
    ]
  }

  /// The names of the types with some roles, in the order of the roles: `stack, grid and table`.
  private static func names(_ isIncluded: (NodeRole) -> Bool) -> String {
    var names = NodeRole.allCases.filter(isIncluded).flatMap { role in
      allCases.filter { $0.role == role }.map(\.name)
    }
    let last = names.popLast() ?? ""
    return names.isEmpty ? last : names.joined(separator: ", ") + " and " + last
  }
}

extension NodeProperty {
  init(
    _ name: String, _ type: PropertyType, _ defaultValue: Value?, _ summary: String
  ) {
    self.init(name, type, defaultValue, nil, summary)
  }
}
