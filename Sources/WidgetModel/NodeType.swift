/// The type of a node, which decides its properties and its events.
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
  /// Empty space.
  case space
  /// A point in time, which the client updates by itself.
  case date
  /// Inputs that are submitted together.
  case form
  /// An indicator of activity.
  case spinner
  /// A target to open elsewhere.
  case link
  /// The content of another widget.
  case embed

  /// The written form: `label`, `stack`.
  public var name: String { "\(self)" }

  /// The property after the type in the short form: `label: TEXT` for `text`. Nil if children stand
  /// there.
  public var mainProperty: String? {
    switch self {
    case .label, .button, .toggle, .link, .spinner: "text"
    case .image: "source"
    case .input: "name"
    case .gauge: "value"
    case .chart: "values"
    case .date: "date"
    case .space: "size"
    case .embed: "widget"
    case .stack, .grid, .table, .form: nil
    }
  }

  /// The type with this name.
  public init?(name: String) {
    guard let type = NodeType.allCases.first(where: { $0.name == name }) else { return nil }
    self = type
  }

  /// Whether templates give it children. The children of an embed come from another widget.
  public var isContainer: Bool {
    switch self {
    case .stack, .grid, .table, .form, .link, .button: true
    case .label, .image, .toggle, .input, .gauge, .chart, .space, .date, .spinner, .embed: false
    }
  }

  /// The events that users and clients cause on such nodes, each with its details.
  public var events: [EventType] {
    let value = { (type: FieldType) in Field(name: "value", type: type, isRequired: true) }
    let link = Field(name: "url", type: .string)
    switch self {
    case .button: return [EventType(name: "press")] + NodeType.pointerEvents
    case .toggle:
      return [EventType(name: "change", payload: [value(.bool)])] + NodeType.pointerEvents
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
    case .table:
      return [
        EventType(name: "press"), EventType(name: "more"),
        EventType(
          name: "select",
          payload: [Field(name: "selected", type: .list(.string), isRequired: true)]),
        EventType(
          name: "delete", payload: [Field(name: "row", type: .string, isRequired: true)]),
      ]
    case .label:
      return [EventType(name: "press"), EventType(name: "open", payload: [link])]
        + NodeType.pointerEvents
    case .image:
      let source = Field(name: "source", type: .string)
      return [
        EventType(name: "press"), EventType(name: "load", payload: [source]),
        EventType(name: "error", payload: [source, Field(name: "reason", type: .string)]),
      ] + NodeType.pointerEvents
    case .stack, .grid: return [EventType(name: "press")] + NodeType.pointerEvents
    case .gauge, .chart, .date: return NodeType.pointerEvents
    case .space, .spinner, .embed: return []
    }
  }

  /// The events of status bars besides `press`: other buttons, and the wheel.
  private static let pointerEvents: [EventType] = {
    let button = Field(name: "button", type: .int, summary: "1 left, 2 middle, 3 right")
    return [
      EventType(name: "click", payload: [button]),
      EventType(
        name: "scroll",
        payload: [
          button, Field(name: "direction", type: .string, summary: "up, down, left or right"),
        ]),
    ]
  }()
}
