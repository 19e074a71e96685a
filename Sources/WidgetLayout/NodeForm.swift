import WidgetModel

/// The form of a node's layout. Several roles can have one form. A new form of leaf also needs its
/// size and its places; the compiler asks for them.
enum NodeForm: Hashable, Sendable {
  /// The children along an axis.
  case stack
  /// The children below each other.
  case column
  case form
  case grid
  case table
  /// A text with its children beside it.
  case inline
  case space
  case leaf(Leaf)

  /// Nodes that draw themselves, without children.
  enum Leaf: Hashable, Sendable {
    case label
    case toggle
    case input
    case gauge
    case chart
    case image
    case date
    case spinner
  }

  init(_ role: NodeRole) {
    switch role {
    case .stack, .embed: self = .stack
    case .unknown: self = .column
    case .form: self = .form
    case .grid: self = .grid
    case .table: self = .table
    case .button, .link: self = .inline
    case .space: self = .space
    case .label: self = .leaf(.label)
    case .toggle: self = .leaf(.toggle)
    case .input: self = .leaf(.input)
    case .gauge: self = .leaf(.gauge)
    case .chart: self = .leaf(.chart)
    case .image: self = .leaf(.image)
    case .date: self = .leaf(.date)
    case .spinner: self = .leaf(.spinner)
    }
  }
}

extension NodeRole {
  /// Whether the node moves, without growing, in room that is wider than it needs.
  var movesInRoom: Bool {
    switch self {
    case .toggle, .gauge, .image, .spinner: true
    case .stack, .grid, .table, .form, .space, .embed, .unknown, .button, .date, .link, .label,
      .input, .chart:
      false
    }
  }

  /// Whether users can move the focus to the node.
  var focus: Focus {
    switch self {
    case .button, .toggle, .link, .input: .always
    case .stack, .grid, .image, .label: .ifPressable
    case .table, .form, .space, .embed, .unknown, .gauge, .date, .spinner, .chart: .never
    }
  }

  enum Focus { case always, ifPressable, never }

  /// Whether a column of a table keeps the minimum width of the node.
  var isControl: Bool {
    switch self {
    case .button, .toggle, .input: true
    case .stack, .grid, .table, .form, .space, .embed, .unknown, .gauge, .image, .date, .spinner,
      .link, .label, .chart:
      false
    }
  }
}
