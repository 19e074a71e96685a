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
  /// The property with a name. Nil if nodes of this type do not have it.
  public func property(_ name: String) -> NodeProperty? { tableByName[name] }

  /// All properties of nodes of this type: the specific ones, then the common ones.
  public var allProperties: [NodeProperty] { properties + common }

  /// The common properties. The default padding of containers is 0, because their children have
  /// padding.
  public var common: [NodeProperty] { isLayout ? NodeType.layoutCommon : NodeType.common }

  /// The common properties, with the defaults of leaf nodes.
  public static let common = commonProperties(padding: 4)
  private static let layoutCommon = commonProperties(padding: 0)

  /// Whether nodes of this type only arrange their children.
  private var isLayout: Bool {
    switch self {
    case .stack, .grid, .table, .form, .space, .embed: true
    case .label, .image, .button, .toggle, .input, .gauge, .chart, .date, .spinner, .link: false
    }
  }

  private static func commonProperties(padding: Double) -> [NodeProperty] {
    [
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
        "Font: title, headline, body, caption, monospace."),
      .init(
        "align", .choice(["start", "center", "end", "fill"]), .string("start"),
        "Alignment of the content in a node that is larger than its content."),
      .init(
        "padding", .edges, .double(padding), .points,
        "Space between the node's edge and its content. Default: 4; 0 for stack, grid, table, "
          + "form, space and embed."),
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
        "Line below the node. Default: shown if the parent has divider, except below the last child."
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
        "Whether viewers can hide the node, as view --redact does."),
      .init(
        "dismissed", .field(.bool), .bool(false),
        "On the root: whether a viewer that shows only this widget closes."),
    ]
  }

  /// The properties of this type, without the common ones.
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
        .init("text", .field(.string), .string(""), "Text."),
        .init("shortText", .field(.string), nil, "Shorter text, for a bar with little room."),
        .init("runs", .runs, nil, "Parts of the text, each with a style. Replaces text."),
        .init(
          "lines", .whole(0...1000), .int(0), .lines, "Maximum number of lines; 0 for no limit."),
      ]
    case .image:
      [
        .init("source", .field(.string), nil, "A path, an https URL, or an icon's name."),
        .init("alt", .field(.string), .string(""), "Description of the picture."),
        .init(
          "mode", .choice(["fit", "fill", "center"]), .string("fill"),
          "How the picture fills the frame."),
        .init(
          "fallback", .field(.string), nil, "Source to use if source is empty or cannot be loaded."),
      ]
    case .button:
      [
        .init("text", .field(.string), .string(""), "Text."),
        .init("icon", .field(.string), nil, "An icon's name."),
        .init(
          "style", .choice(["plain", "primary", "destructive"]), .string("plain"),
          "Look of the button."),
      ]
    case .toggle:
      [
        .init("text", .field(.string), .string(""), "Text."),
        .init("value", .field(.bool), .bool(false), "Whether the toggle is on."),
        .init("name", .field(.string), nil, "Key of the value in the form's values."),
      ]
    case .input:
      [
        .init("value", .field(.string), .string(""), "Current text."),
        .init("text", .field(.string), .string(""), "Label."),
        .init(
          "placeholder", .field(.string), .string(""),
          "Text that is shown while the input is empty."),
        .init("name", .field(.string), nil, "Key of the value in the form's values."),
        .init("required", .field(.bool), .bool(false), "Whether the form requires a value."),
        .init(
          "readOnly", .field(.bool), .bool(false), "Whether users can only read and copy the value."
        ),
        .init("problem", .field(.string), .string(""), "Error message for the value."),
        .init(
          "mode", .choice(["text", "multiline", "number", "search", "secret", "file"]),
          .string("text"),
          "Type of the input."),
        .init(
          "minLength", .whole(0...1_000_000), .int(0), .characters,
          "Minimum length of the text for change events and forms."),
        .init(
          "maxLength", .whole(0...1_000_000), .int(0), .characters,
          "Maximum length of the text in a form. 0 means no limit."),
        .init(
          "throttle", .field(.duration), nil,
          "Debounce: time without typing before a change event is sent."),
      ]
    case .gauge:
      [
        .init("value", PropertyType.anyNumber, nil, "Current value."),
        .init("min", PropertyType.anyNumber, .double(0.0), "Lowest value."),
        .init("max", PropertyType.anyNumber, .double(1.0), "Highest value."),
        .init("text", .field(.string), .string(""), "Label."),
        .init("style", .choice(["bar", "ring"]), .string("bar"), "Look of the gauge."),
      ]
    case .chart:
      [
        .init("values", .field(.list(.double)), nil, "Numbers, the oldest first."),
        .init("labels", .field(.list(.string)), nil, "Labels of the numbers."),
        .init(
          "style", .choice(["line", "bar", "sparkline"]), .string("line"), "Look of the chart."),
        .init(
          "min", PropertyType.anyNumber, nil,
          "Start of the axis. Default: the lowest value, or 0 for bars."),
        .init("max", PropertyType.anyNumber, nil, "End of the axis. Default: the highest value."),
        .init("text", .field(.string), .string(""), "Label."),
      ]
    case .stack:
      [
        .init(
          "axis", .choice(["vertical", "horizontal", "layered"]), .string("vertical"),
          "Whether children are below each other, side by side, or on top of each other."),
        .init("spacing", .length, .double(0.0), .points, "Space between children."),
        .init(
          "distribution", .choice(["start", "center", "end", "fill", "equal", "between"]),
          .string("start"),
          "Arrangement of the children along the axis, if the stack has spare space."),
        .init(
          "crossAlign", .choice(["start", "center", "end", "fill"]), .string("fill"),
          "Alignment of the children across the axis. Default: center in horizontal stacks; else "
            + "start for buttons, toggles, gauges, images, dates, spinners and links, and fill for "
            + "other nodes."),
        .init(
          "scroll", .field(.bool), .bool(false),
          "Whether users can scroll to content that does not fit."),
        .init(
          "itemWidth", .length, nil, .points, "Width of each child of a horizontal stack."),
        .init("paging", .field(.bool), .bool(false), "Whether scrolling moves by whole pages."),
        .init(
          "divider", .field(.bool), .bool(false), "Whether lines separate the children."),
        .init(
          "section", .field(.bool), .bool(false),
          "In a table: whether the row is a section heading."),
      ]
    case .grid:
      [
        .init("columns", .whole(1...64), .int(2), "Number of columns."),
        .init("spacing", .length, .double(0.0), .points, "Space between children."),
      ]
    case .table:
      [
        .init(
          "columns", .columns, nil, "Columns: headings, or maps with title, align, width and grow."),
        .init(
          "empty", .field(.string), .string(""), "Text that is shown while the table has no rows."),
        .init(
          "more", .field(.bool), .bool(false),
          "Whether more rows exist. Clients send the event more when users reach the end."
        ),
        .init("divider", .field(.bool), .bool(false), "Whether lines separate the rows."),
        .init(
          "selection", .choice(["none", "single", "multiple"]), .string("none"),
          "How many rows users can select. Clients send the event select."),
        .init("selected", .field(.list(.string)), nil, "Keys of the selected rows."),
        .init(
          "deletable", .field(.bool), .bool(false),
          "Whether users can delete rows. Clients send the event delete."),
        .init(
          "scroll", .field(.bool), .bool(false),
          "Whether users can scroll to content that does not fit."),
      ]
    case .space:
      [.init("size", .length, nil, .points, "Size. Default: the spare space.")]
    case .date:
      [
        .init("date", .field(.timestamp), nil, "Point in time."),
        .init(
          "style", .choice(["date", "time", "datetime", "relative", "timer"]), .string("datetime"),
          "Style of the date."),
        .init(
          "format", .field(.string), nil, "Pattern such as \"%d %B %Y\". Replaces style."
        ),
        .init("zone", .field(.string), nil, "Time zone. Default: the client's."),
      ]
    case .form:
      [
        .init("text", .field(.string), .string(""), "Title."),
        .init("submit", .field(.string), .string("Submit"), "Text of the submit button."),
      ]
    case .spinner:
      [
        .init("text", .field(.string), .string(""), "Text beside the spinner."),
        .init("active", .field(.bool), .bool(true), "Whether the activity is running."),
      ]
    case .link:
      [
        .init("text", .field(.string), .string(""), "Text."),
        .init("url", .field(.string), nil, "URL that the link opens."),
      ]
    case .embed:
      [
        .init("widget", .field(.string), .string(""), "Id of the widget to show."),
        .init(
          "family", .choice(Family.allCases.map(\.name)), nil,
          "Family in which the widget is shown. Default: the family in which the widget around it is "
            + "shown, or the widget's own family if its kind does not support that one."),
        .init(
          "fallback", .field(.string), nil,
          "Text that is shown if the widget cannot be shown. Default: the reason."),
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
