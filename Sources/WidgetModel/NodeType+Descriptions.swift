extension NodeType {
  /// The description of this type. No other code has it; see `NodeDescription`.
  ///
  /// The reference in `docs/content.md` has the types, properties and events in the same order.
  func makeDescription() -> NodeDescription {
    switch self {
    case .label:
      NodeDescription(
        "A text: `text`.",
        role: .label, main: "text",
        properties: [
          .init("text", .field(.string), .string(""), "Text."),
          .init("shortText", .field(.string), nil, "Shorter text, for a bar with little room."),
          .init(
            "percentage", PropertyType.anyNumber, nil,
            "Percentage for status bars, 0 to 100. A bar can use it to choose an icon."),
          .init("runs", .runs, nil, "Parts of the text, each with a style. Replaces `text`."),
          .init(
            "lines", .whole(0...1000), .int(0), .lines, "Maximum number of lines; 0 for no limit."),
        ],
        events: [.press, .open, .click, .scroll])
    case .image:
      NodeDescription(
        "A picture or an icon: `source`.",
        role: .image, main: "source",
        properties: [
          .init("source", .field(.string), nil, "A path, an https URL, or an icon's name."),
          .init("alt", .field(.string), .string(""), "Description of the picture."),
          .init(
            "mode", .choice(["fit", "fill", "center"]), .string("fill"),
            "How the picture fills the frame."),
          .init(
            "fallback", .field(.string), nil,
            "Another source, which is used if `source` is empty or cannot be loaded."),
        ],
        events: [.press, .load, .error, .click, .scroll])
    case .button:
      NodeDescription(
        "A button: `text`, or nodes.",
        role: .button, main: "text", hasChildren: true,
        properties: [
          .init("text", .field(.string), .string(""), "Text."),
          .init("icon", .field(.string), nil, "An icon's name."),
          .init(
            "style", .choice(["plain", "primary", "destructive"]), .string("plain"),
            "Look of the button."),
        ],
        events: [.press, .click, .scroll],
        defaultEvents: ["press"])
    case .toggle:
      NodeDescription(
        "A switch that is on or off: `text`.",
        role: .toggle, main: "text",
        properties: [
          .init("text", .field(.string), .string(""), "Text."),
          .init("value", .field(.bool), .bool(false), "Whether the toggle is on."),
          .init("name", .field(.string), nil, "Key of the value in the form's values."),
        ],
        events: [.change(to: .bool), .click, .scroll],
        defaultEvents: ["change"])
    case .input:
      NodeDescription(
        "A field for text, numbers or files: `name`.",
        role: .input, main: "name",
        properties: [
          .init("value", .field(.string), .string(""), "Current text."),
          .init("text", .field(.string), .string(""), "Label."),
          .init(
            "placeholder", .field(.string), .string(""),
            "Text that is shown while the input is empty."),
          .init("name", .field(.string), nil, "Key of the value in the form's values."),
          .init("required", .field(.bool), .bool(false), "Whether the form requires a value."),
          .init(
            "readOnly", .field(.bool), .bool(false),
            "Whether users can only read and copy the value."
          ),
          .init("problem", .field(.string), .string(""), "Error message for the value."),
          .init(
            "mode", .choice(["text", "multiline", "number", "search", "secret", "file"]),
            .string("text"),
            "Type of the input."),
          .init(
            "minLength", .whole(0...1_000_000), .int(0), .characters,
            "Minimum length of the text: in a form, for `submit`; elsewhere, for `change`."),
          .init(
            "maxLength", .whole(0...1_000_000), .int(0), .characters,
            "Maximum length of the text in a form. 0 means no limit."),
          .init(
            "throttle", .field(.duration), nil,
            "Debounce: time without typing before a change event is sent."),
        ],
        events: [.change(to: .string), .submit("value", .string)],
        defaultEvents: ["change", "submit"])
    case .gauge:
      NodeDescription(
        "A number between `min` and `max`: `value`.",
        role: .gauge, main: "value",
        properties: [
          .init("value", PropertyType.anyNumber, nil, "Current value."),
          .init("min", PropertyType.anyNumber, .double(0.0), "Lowest value."),
          .init("max", PropertyType.anyNumber, .double(1.0), "Highest value."),
          .init("text", .field(.string), .string(""), "Label."),
          .init("style", .choice(["bar", "ring"]), .string("bar"), "Look of the gauge."),
        ],
        ranges: [PropertyRange(least: "min", most: "max")],
        events: [.click, .scroll])
    case .chart:
      NodeDescription(
        "A chart of numbers: `values`.",
        role: .chart, main: "values",
        properties: [
          .init("values", .field(.list(.double)), nil, "Numbers, the oldest first."),
          .init("labels", .field(.list(.string)), nil, "Labels of the numbers."),
          .init(
            "style", .choice(["line", "bar", "sparkline"]), .string("line"), "Look of the chart."),
          .init(
            "min", PropertyType.anyNumber, nil,
            "Start of the axis. Default: the lowest value, but at most 0 with `style: bar`."),
          .init("max", PropertyType.anyNumber, nil, "End of the axis. Default: the highest value."),
          .init("text", .field(.string), .string(""), "Label."),
        ],
        ranges: [PropertyRange(least: "min", most: "max")],
        events: [.click, .scroll])
    case .stack:
      NodeDescription(
        "Nodes below each other, side by side, or on top of each other.",
        role: .stack, hasChildren: true,
        properties: [
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
            "Whether the stack, as a row of a table, is a section heading."),
        ],
        events: [.press, .click, .scroll])
    case .grid:
      NodeDescription(
        "Nodes in columns.",
        role: .grid, hasChildren: true,
        properties: [
          .init("columns", .whole(1...64), .int(2), "Number of columns."),
          .init("spacing", .length, .double(0.0), .points, "Space between children."),
        ],
        events: [.press, .click, .scroll])
    case .table:
      NodeDescription(
        "Nodes as rows of a table.",
        role: .table, hasChildren: true,
        properties: [
          .init("columns", .columns, nil, "Columns of the table."),
          .init(
            "empty", .field(.string), .string(""), "Text that is shown while the table has no rows."
          ),
          .init(
            "more", .field(.bool), .bool(false),
            "Whether more rows exist. When users reach the end, clients send the event `more`."
          ),
          .init("divider", .field(.bool), .bool(false), "Whether lines separate the rows."),
          .init(
            "selection", .choice(["none", "single", "multiple"]), .string("none"),
            "How many rows users can select. At each selection, clients send the event `select`."),
          .init("selected", .field(.list(.string)), nil, "Keys of the selected rows."),
          .init(
            "deletable", .field(.bool), .bool(false),
            "Whether users can delete rows. At each deletion, clients send the event `delete`."),
          .init(
            "scroll", .field(.bool), .bool(false),
            "Whether users can scroll to content that does not fit."),
        ],
        events: [.press, .more, .select, .delete])
    case .space:
      NodeDescription(
        "Empty space: `size`.",
        role: .space, main: "size",
        properties: [
          .init("size", .length, nil, .points, "Size. Default: the spare space.")
        ])
    case .date:
      NodeDescription(
        "A point in time: `date`. Clients keep its text up to date. With `type: date`, this key is "
          + "the property `date`.",
        role: .date, main: "date",
        properties: [
          .init("date", .field(.timestamp), nil, "Point in time."),
          .init(
            "style", .choice(["date", "time", "datetime", "relative", "timer"]),
            .string("datetime"),
            "Style of the date."),
          .init(
            "format", .field(.string), nil, "Pattern such as \"%d %B %Y\". Replaces `style`."
          ),
          .init("zone", .field(.string), nil, "Time zone. Default: the client's."),
        ],
        events: [.click, .scroll])
    case .form:
      NodeDescription(
        "Inputs that are submitted together. `on: {submit: NAME}` names the action.",
        role: .form, hasChildren: true,
        properties: [
          .init("text", .field(.string), .string(""), "Title."),
          .init("submit", .field(.string), .string("Submit"), "Text of the submit button."),
        ],
        events: [.submit("values", .map(.any))],
        defaultEvents: ["submit"])
    case .spinner:
      NodeDescription(
        "A mark of work in progress: `text`.",
        role: .spinner, main: "text",
        properties: [
          .init("text", .field(.string), .string(""), "Text beside the spinner."),
          .init("active", .field(.bool), .bool(true), "Whether the work is in progress."),
        ])
    case .link:
      NodeDescription(
        "A link that users open: `text`, or nodes.",
        role: .link, main: "text", hasChildren: true,
        properties: [
          .init("text", .field(.string), .string(""), "Text."),
          .init("url", .field(.string), nil, "URL that the link opens."),
        ],
        events: [.openLink],
        defaultEvents: ["open"])
    case .embed:
      NodeDescription(
        "The content of another widget: `widget`.",
        role: .embed, main: "widget",
        properties: [
          .init("widget", .field(.string), .string(""), "Id of the widget to show."),
          .init(
            "family", .choice(Family.allCases.map(\.name)), nil,
            "Family in which the widget is shown. Default: the outer widget's family, if the kind "
              + "of the shown widget supports this family; else the shown widget's own family."),
          .init(
            "fallback", .field(.string), nil,
            "Text that is shown if the widget cannot be shown. Default: the reason."),
        ])
    }
  }
}

// The events of nodes.
extension EventType {
  fileprivate static let press = EventType(name: "press")
  fileprivate static let more = EventType(name: "more")
  fileprivate static let select = EventType(
    name: "select", payload: [Field(name: "selected", type: .list(.string), isRequired: true)])
  fileprivate static let delete = EventType(
    name: "delete", payload: [Field(name: "row", type: .string, isRequired: true)])
  fileprivate static let openLink = EventType(name: "open")
  /// A part of a text has a link.
  fileprivate static let open = EventType(
    name: "open", payload: [Field(name: "url", type: .string)])
  fileprivate static let load = EventType(
    name: "load", payload: [Field(name: "source", type: .string)])
  fileprivate static let error = EventType(
    name: "error",
    payload: [Field(name: "source", type: .string), Field(name: "reason", type: .string)])

  fileprivate static func change(to type: FieldType) -> EventType {
    EventType(name: "change", payload: [Field(name: "value", type: type, isRequired: true)])
  }

  fileprivate static func submit(_ detail: String, _ type: FieldType) -> EventType {
    EventType(name: "submit", payload: [Field(name: detail, type: type, isRequired: true)])
  }

  // The events of status bars besides `press`: other buttons, and the wheel.
  private static let pointerButton = Field(
    name: "button", type: .int, summary: "1 left, 2 middle, 3 right")
  fileprivate static let click = EventType(name: "click", payload: [pointerButton])
  fileprivate static let scroll = EventType(
    name: "scroll",
    payload: [
      pointerButton,
      Field(name: "direction", type: .string, summary: "up, down, left or right"),
    ])
}
