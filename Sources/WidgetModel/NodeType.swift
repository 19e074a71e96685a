/// What a node is: decides its properties and what users can do to it.
public enum NodeType: UInt8, Hashable, Sendable, CaseIterable {
  /// A text.
  case label = 1
  /// A picture or an icon.
  case image
  /// Something to press.
  case button
  /// Something to switch on and off.
  case toggle
  /// A field to type into.
  case input
  /// A number between two others.
  case gauge
  /// A series of numbers.
  case chart
  /// Its children side by side or one below the other.
  case stack
  /// Its children in columns.
  case grid
  /// Its children as rows with cells.
  case table
  /// Empty room.
  case space
  /// A point in time, which the client keeps up to date by itself.
  case date
  /// Inputs that are submitted together.
  case form
  /// Says that something is going on.
  case spinner
  /// Something to open elsewhere.
  case link

  /// As it is written: `label`, `stack`.
  public var name: String { "\(self)" }

  /// The type with this name.
  public init?(name: String) {
    guard let type = NodeType.allCases.first(where: { $0.name == name }) else { return nil }
    self = type
  }

  /// Whether it has children.
  public var isContainer: Bool {
    switch self {
    case .stack, .grid, .table, .form, .link, .button: true
    case .label, .image, .toggle, .input, .gauge, .chart, .space, .date, .spinner: false
    }
  }

  /// The type of a property of such nodes; nil if they have none of that name.
  public func property(_ name: String) -> FieldType? {
    properties.first { $0.name == name }?.type ?? NodeType.common.first { $0.name == name }?.type
  }

  /// The events that users cause on such nodes, each with its details.
  public var events: [EventType] {
    let value = { (type: FieldType) in Field(name: "value", type: type, isRequired: true) }
    switch self {
    case .button: return [EventType(name: "press")]
    case .toggle: return [EventType(name: "change", payload: [value(.bool)])]
    case .input:
      return [
        EventType(name: "change", payload: [value(.string)]),
        EventType(name: "submit", payload: [value(.string)]),
      ]
    case .form:
      return [
        EventType(
          name: "submit", payload: [Field(name: "values", type: .map(.any), isRequired: true)])
      ]
    case .link: return [EventType(name: "open")]
    case .table: return [EventType(name: "press"), EventType(name: "more")]
    case .stack, .grid, .label, .image: return [EventType(name: "press")]
    case .gauge, .chart, .space, .date, .spinner: return []
    }
  }

  /// What every node can have.
  public static let common: [Field] = [
    Field(name: "visible", type: .bool, summary: "Whether it is shown; takes no events otherwise."),
    Field(name: "enabled", type: .bool, summary: "Whether it takes events."),
    Field(name: "color", type: .string, summary: "#rrggbb, #rrggbbaa, or a theme's token."),
    Field(name: "background", type: .string, summary: "As color."),
    Field(name: "tint", type: .string, summary: "As color: of what is switched on or filled."),
    Field(name: "font", type: .string, summary: "title, headline, body, caption, monospace."),
    Field(name: "align", type: .string, summary: "start, center, end or fill."),
    Field(name: "padding", type: .any, summary: "Room inside: a number, or by edge."),
    Field(name: "margin", type: .any, summary: "Room outside: a number, or by edge."),
    Field(name: "width", type: .double, summary: "Its width; its own without."),
    Field(name: "height", type: .double, summary: "Its height; its own without."),
    Field(name: "separator", type: .bool, summary: "Whether a line is drawn below it."),
    Field(name: "accessory", type: .string, summary: "none, disclosure, activity or checkmark."),
    Field(name: "tooltip", type: .string, summary: "What it is, in words."),
    Field(name: "privacy", type: .bool, summary: "Whether it is hidden while nobody may look."),
  ]

  /// What nodes of this type can have, beside `common`.
  public var properties: [Field] {
    switch self {
    case .label:
      [
        Field(name: "text", type: .string, summary: "What it says."),
        Field(name: "lines", type: .int, summary: "How many lines at most; 0 for any number."),
      ]
    case .image:
      [
        Field(name: "source", type: .string, summary: "A path, an https URL, or an icon's name."),
        Field(name: "alt", type: .string, summary: "What it shows, in words."),
        Field(name: "mode", type: .string, summary: "fit, fill or center."),
        Field(name: "fallback", type: .string, summary: "The source to show if there is none."),
      ]
    case .button:
      [
        Field(name: "text", type: .string, summary: "What it says."),
        Field(name: "icon", type: .string, summary: "An icon's name."),
        Field(name: "style", type: .string, summary: "plain, primary or destructive."),
      ]
    case .toggle:
      [
        Field(name: "text", type: .string, summary: "What it says."),
        Field(name: "value", type: .bool, summary: "Whether it is on."),
      ]
    case .input:
      [
        Field(name: "value", type: .string, summary: "What is in it."),
        Field(name: "text", type: .string, summary: "What it is called."),
        Field(name: "placeholder", type: .string, summary: "What it shows while it is empty."),
        Field(name: "name", type: .string, summary: "What its form calls its value."),
        Field(name: "required", type: .bool, summary: "Whether its form needs it."),
        Field(name: "problem", type: .string, summary: "What is wrong with what is in it."),
        Field(
          name: "mode", type: .string, summary: "text, multiline, number, search, secret, file."),
        Field(name: "minLength", type: .int, summary: "Send changes from this length on."),
        Field(name: "throttle", type: .duration, summary: "Send changes after this rest."),
      ]
    case .gauge:
      [
        Field(name: "value", type: .double, summary: "Where it stands."),
        Field(name: "min", type: .double, summary: "Its lowest; 0 without."),
        Field(name: "max", type: .double, summary: "Its highest; 1 without."),
        Field(name: "text", type: .string, summary: "What it says."),
      ]
    case .chart:
      [
        Field(name: "values", type: .list(.double), summary: "The numbers, the oldest first."),
        Field(name: "labels", type: .list(.string), summary: "What the numbers are called."),
        Field(name: "style", type: .string, summary: "line or bar."),
        Field(name: "min", type: .double, summary: "The axis' start; the lowest without."),
        Field(name: "max", type: .double, summary: "The axis' end; the highest without."),
        Field(name: "text", type: .string, summary: "What it is called."),
      ]
    case .stack:
      [
        Field(name: "axis", type: .string, summary: "vertical (without) or horizontal."),
        Field(name: "spacing", type: .double, summary: "Room between children."),
        Field(name: "distribution", type: .string, summary: "start, center, end, fill or equal."),
      ]
    case .grid:
      [
        Field(name: "columns", type: .int, summary: "How many; 2 without."),
        Field(name: "spacing", type: .double, summary: "Room between children."),
      ]
    case .table:
      [
        Field(name: "columns", type: .list(.string), summary: "The headings."),
        Field(name: "empty", type: .string, summary: "What it says while it has no rows."),
        Field(
          name: "more", type: .bool,
          summary: "Whether there are more rows to come; at its end clients then send more."),
      ]
    case .space:
      [Field(name: "size", type: .double, summary: "How much; as much as there is without.")]
    case .date:
      [
        Field(name: "date", type: .timestamp, summary: "The point in time."),
        Field(name: "style", type: .string, summary: "date, time, datetime, relative or timer."),
        Field(name: "format", type: .string, summary: "A date pattern, instead of a style."),
        Field(name: "zone", type: .string, summary: "A time zone; the client's without."),
      ]
    case .form:
      [
        Field(name: "text", type: .string, summary: "What it is called."),
        Field(name: "submit", type: .string, summary: "What its button says."),
      ]
    case .spinner:
      [
        Field(name: "text", type: .string, summary: "What is going on."),
        Field(name: "active", type: .bool, summary: "Whether it is; true without."),
      ]
    case .link:
      [
        Field(name: "text", type: .string, summary: "What it says."),
        Field(name: "url", type: .string, summary: "What it opens."),
      ]
    }
  }
}
