import WidgetModel

/// How a node is laid out. A new type of node chooses one of these forms, and the compiler asks for
/// the choice. A new form of leaf also needs its size and its places; the compiler asks for them
/// too.
enum NodeForm: Hashable, Sendable {
  /// Its children along an axis.
  case stack
  /// Its children below each other: a type that this version does not know.
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

  init(_ type: NodeType?) {
    switch type {
    case .stack, .embed: self = .stack
    case nil: self = .column
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

  /// Whether the node has no padding of its own, because it only arranges its children.
  var isFrame: Bool {
    switch self {
    case .stack, .column, .form, .grid, .table, .space: true
    case .inline, .leaf: false
    }
  }
}

extension NodeType {
  /// Whether the node takes the whole width of a column, if nothing says how it is aligned.
  var fillsColumn: Bool {
    switch self {
    case .button, .toggle, .gauge, .image, .date, .spinner, .link: false
    case .label, .input, .chart, .stack, .grid, .table, .space, .form, .embed: true
    }
  }

  /// Whether the node moves, without growing, in room that is wider than it needs.
  var movesInRoom: Bool {
    switch self {
    case .toggle, .spinner, .gauge, .image: true
    case .label, .button, .input, .chart, .stack, .grid, .table, .space, .date, .form, .link,
      .embed:
      false
    }
  }

  /// Whether users can move the focus to the node.
  var focus: Focus {
    switch self {
    case .button, .toggle, .input, .link: .always
    case .label, .image, .stack, .grid: .ifPressable
    case .gauge, .chart, .table, .space, .date, .form, .spinner, .embed: .never
    }
  }

  enum Focus { case always, ifPressable, never }

  /// Whether a column of a table keeps the width that the node needs at least.
  var isControl: Bool {
    switch self {
    case .button, .toggle, .input: true
    case .label, .image, .gauge, .chart, .stack, .grid, .table, .space, .date, .form, .spinner,
      .link, .embed:
      false
    }
  }
}
