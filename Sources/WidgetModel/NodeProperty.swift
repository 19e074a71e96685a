/// A property of nodes: what it can be, and what it is where a node does not say.
public struct NodeProperty: Hashable, Sendable {
  public let name: String
  public let type: PropertyType
  /// What holds where a node does not have it; nil for nothing.
  public let defaultValue: Value?
  public let unit: Unit?
  /// What it means: half a sentence, for the reference.
  public let summary: String

  /// What its numbers count.
  public enum Unit: String, Hashable, Sendable {
    /// Eight to a column of a terminal, sixteen to a row.
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
  /// A property of such nodes; nil if they have none of that name.
  public func property(_ name: String) -> NodeProperty? { tableByName[name] }

  /// All properties that such nodes can have: their own, then the common ones.
  public var allProperties: [NodeProperty] { properties + common }

  /// What every node can have. The padding of containers is 0 by default: their children have theirs.
  public var common: [NodeProperty] { isLayout ? NodeType.layoutCommon : NodeType.common }

  /// What every node can have, as leaf nodes have it.
  public static let common = commonProperties(padding: 4)
  private static let layoutCommon = commonProperties(padding: 0)

  /// Whether it only arranges what is in it.
  private var isLayout: Bool {
    switch self {
    case .stack, .grid, .table, .form, .space: true
    case .label, .image, .button, .toggle, .input, .gauge, .chart, .date, .spinner, .link: false
    }
  }

  private static func commonProperties(padding: Double) -> [NodeProperty] {
    [
      .init(
        "visible", .field(.bool), .bool(true), "Whether it is shown; takes no events otherwise."),
      .init("enabled", .field(.bool), .bool(true), "Whether it takes events."),
      .init("color", .color, nil, "Its text's colour; the parent's or the theme's without."),
      .init("background", .color, nil, "The colour behind it, padding included."),
      .init("tint", .color, .string("color.tint"), "The colour of what is switched on or filled."),
      .init("selectedColor", .color, nil, "Its text's colour while it is selected."),
      .init(
        "selectedBackground", .color, .string("color.selected"),
        "Its background while it is selected."),
      .init(
        "font", .font, .string("font.default"),
        "Its font: title, headline, body, caption, monospace."),
      .init(
        "align", .choice(["start", "center", "end", "fill"]), .string("start"),
        "Where its content stands if there is more room than it needs."),
      .init(
        "padding", .edges, .double(padding), .points, "The room between its edge and its content."),
      .init("margin", .edges, .double(0.0), .points, "The room around it."),
      .init("width", .length, nil, .points, "Its width; what its content needs without."),
      .init("height", .length, nil, .points, "Its height; what its content needs without."),
      .init("minWidth", .length, nil, .points, "The least width it can be given."),
      .init("maxWidth", .length, nil, .points, "The greatest width it can be given."),
      .init("minHeight", .length, nil, .points, "The least height it can be given."),
      .init("maxHeight", .length, nil, .points, "The greatest height it can be given."),
      .init(
        "grow", .number(0...1000), .double(0.0),
        "Its share of the room that is left along its parent's axis."),
      .init("corner", .length, .double(0.0), .points, "The radius of its corners."),
      .init(
        "separator", .separator, .bool(true),
        "The line below it. By default there is one if the parent has divider, but not below the last child."
      ),
      .init(
        "accessory", .accessory, .string("none"),
        "The mark at its right end: an arrow, a spinner, a check mark, an image, or one of its children."
      ),
      .init("tooltip", .field(.string), nil, "What it is, in words."),
      .init(
        "classes", .field(.list(.string)), nil, "Names that a bar's style sheet can choose by."),
      .init("urgent", .field(.bool), .bool(false), "Whether it asks for attention: bars mark it."),
      .init(
        "privacy", .field(.bool), .bool(false),
        "Whether viewers can hide it, as view --redact does."),
    ]
  }

  /// What nodes of this type can have, beside the common ones.
  public var properties: [NodeProperty] { NodeType.ownProperties[Int(rawValue)] }

  private var tableByName: [String: NodeProperty] { NodeType.tables[Int(rawValue)] }

  /// By raw value.
  private static let ownProperties: [[NodeProperty]] =
    [[]] + allCases.map { $0.makeProperties() }
  private static let tables: [[String: NodeProperty]] =
    [[:]]
    + allCases.map { type in
      Dictionary(type.allProperties.map { ($0.name, $0) }, uniquingKeysWith: { own, _ in own })
    }

  private func makeProperties() -> [NodeProperty] {
    switch self {
    case .label:
      [
        .init("text", .field(.string), .string(""), "What it says."),
        .init("shortText", .field(.string), nil, "What it says in a bar with little room."),
        .init("runs", .runs, nil, "What it says in pieces, each with its look; instead of text."),
        .init(
          "lines", .whole(0...1000), .int(0), .lines, "How many lines at most; 0 for any number."),
      ]
    case .image:
      [
        .init("source", .field(.string), nil, "A path, an https URL, or an icon's name."),
        .init("alt", .field(.string), .string(""), "What it shows, in words."),
        .init(
          "mode", .choice(["fit", "fill", "center"]), .string("fill"), "How it fills its frame."),
        .init("fallback", .field(.string), nil, "The source to show if there is none."),
      ]
    case .button:
      [
        .init("text", .field(.string), .string(""), "What it says."),
        .init("icon", .field(.string), nil, "An icon's name."),
        .init(
          "style", .choice(["plain", "primary", "destructive"]), .string("plain"),
          "What it looks like."),
      ]
    case .toggle:
      [
        .init("text", .field(.string), .string(""), "What it says."),
        .init("value", .field(.bool), .bool(false), "Whether it is on."),
      ]
    case .input:
      [
        .init("value", .field(.string), .string(""), "What is in it."),
        .init("text", .field(.string), .string(""), "What it is called."),
        .init("placeholder", .field(.string), .string(""), "What it shows while it is empty."),
        .init("name", .field(.string), nil, "What its form calls its value."),
        .init("required", .field(.bool), .bool(false), "Whether its form needs it."),
        .init(
          "readOnly", .field(.bool), .bool(false), "Whether its value can only be read and copied."),
        .init("problem", .field(.string), .string(""), "What is wrong with what is in it."),
        .init(
          "mode", .choice(["text", "multiline", "number", "search", "secret", "file"]),
          .string("text"),
          "What is typed into it."),
        .init(
          "minLength", .whole(0...1_000_000), .int(0), .characters,
          "Send changes from this length on."),
        .init("throttle", .field(.duration), nil, "Send changes after this rest."),
      ]
    case .gauge:
      [
        .init("value", PropertyType.anyNumber, nil, "Where it stands."),
        .init("min", PropertyType.anyNumber, .double(0.0), "Its lowest value."),
        .init("max", PropertyType.anyNumber, .double(1.0), "Its highest value."),
        .init("text", .field(.string), .string(""), "What it says."),
        .init("style", .choice(["bar", "ring"]), .string("bar"), "What it looks like."),
      ]
    case .chart:
      [
        .init("values", .field(.list(.double)), nil, "The numbers, the oldest first."),
        .init("labels", .field(.list(.string)), nil, "What the numbers are called."),
        .init(
          "style", .choice(["line", "bar", "sparkline"]), .string("line"), "What it looks like."),
        .init(
          "min", PropertyType.anyNumber, nil,
          "The axis' start; by default the lowest value, or 0 for bars."),
        .init("max", PropertyType.anyNumber, nil, "The axis' end; the highest without."),
        .init("text", .field(.string), .string(""), "What it is called."),
      ]
    case .stack:
      [
        .init(
          "axis", .choice(["vertical", "horizontal", "layered"]), .string("vertical"),
          "Whether its children stand below, beside or on each other."),
        .init("spacing", .length, .double(0.0), .points, "Room between children."),
        .init(
          "distribution", .choice(["start", "center", "end", "fill", "equal", "between"]),
          .string("start"),
          "Where its children stand along its axis if there is more room than they need."),
        .init(
          "crossAlign", .choice(["start", "center", "end", "fill"]), .string("fill"),
          "Where its children stand across its axis."),
        .init("scroll", .field(.bool), .bool(false), "Whether it scrolls what does not fit."),
        .init(
          "itemWidth", .length, nil, .points, "The width of each child of a horizontal stack."),
        .init("paging", .field(.bool), .bool(false), "Whether it scrolls by whole pages."),
        .init(
          "divider", .field(.bool), .bool(false), "Whether lines are drawn between its children."),
        .init(
          "section", .field(.bool), .bool(false), "In a table: whether it is a section's heading."),
      ]
    case .grid:
      [
        .init("columns", .whole(1...64), .int(2), "How many columns."),
        .init("spacing", .length, .double(0.0), .points, "Room between children."),
      ]
    case .table:
      [
        .init("columns", .columns, nil, "The columns: headings, or maps with align and width."),
        .init("empty", .field(.string), .string(""), "What it says while it has no rows."),
        .init(
          "more", .field(.bool), .bool(false),
          "Whether there are more rows than these. Clients send the event more when users reach the end."
        ),
        .init("divider", .field(.bool), .bool(false), "Whether lines are drawn between its rows."),
        .init(
          "selection", .choice(["none", "single", "multiple"]), .string("none"),
          "How many rows can be selected; clients then send select."),
        .init("selected", .field(.list(.string)), nil, "The keys of the selected rows."),
        .init(
          "deletable", .field(.bool), .bool(false),
          "Whether rows can be deleted; clients then send delete."),
        .init("scroll", .field(.bool), .bool(false), "Whether it scrolls what does not fit."),
      ]
    case .space:
      [.init("size", .length, nil, .points, "How much; as much as there is without.")]
    case .date:
      [
        .init("date", .field(.timestamp), nil, "The point in time."),
        .init(
          "style", .choice(["date", "time", "datetime", "relative", "timer"]), .string("datetime"),
          "How it is written."),
        .init(
          "format", .field(.string), nil, "A pattern such as \"%d %B %Y\", which replaces style."
        ),
        .init("zone", .field(.string), nil, "A time zone; the client's without."),
      ]
    case .form:
      [
        .init("text", .field(.string), .string(""), "What it is called."),
        .init("submit", .field(.string), .string("Submit"), "What its button says."),
      ]
    case .spinner:
      [
        .init("text", .field(.string), .string(""), "What is going on."),
        .init("active", .field(.bool), .bool(true), "Whether it is."),
      ]
    case .link:
      [
        .init("text", .field(.string), .string(""), "What it says."),
        .init("url", .field(.string), nil, "What it opens."),
      ]
    }
  }
}

extension NodeProperty {
  fileprivate init(
    _ name: String, _ type: PropertyType, _ defaultValue: Value?, _ summary: String
  ) {
    self.init(name, type, defaultValue, nil, summary)
  }
}
