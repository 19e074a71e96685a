/// The role of a node: how it is laid out, drawn and read in a line, and what users can do with it.
///
/// Each type of node has one role, and several types can have the same one. Layouts, painters, bars
/// and live views know only roles, so a new type with an existing role needs no code there. A new
/// role needs code in each of them, and the compiler asks for it.
package enum NodeRole: Hashable, Sendable, CaseIterable {
  // The order is that of the sentences that list types, such as the default padding.
  /// The children along an axis.
  case stack
  /// The children in columns.
  case grid
  /// The children as rows with cells.
  case table
  /// Inputs with a button that submits them.
  case form
  /// Empty space.
  case space
  /// The content of another widget.
  case embed
  /// A type that this version does not know: its children below each other.
  case unknown
  /// A text with a border, and its children beside it. Users press it.
  case button
  /// A text behind a box that users check.
  case toggle
  /// A bar or ring that is filled in part.
  case gauge
  /// A picture.
  case image
  /// A point in time as text.
  case date
  /// A text behind a mark that moves.
  case spinner
  /// A text with a link, and its children beside it. Users open it.
  case link
  /// A text of any number of lines.
  case label
  /// A field that users type into.
  case input
  /// A plot of numbers.
  case chart

  /// Whether the node only arranges its children. It has no padding by default, because they have.
  package var isFrame: Bool {
    switch self {
    case .stack, .grid, .table, .form, .space, .embed, .unknown: true
    case .button, .toggle, .gauge, .image, .date, .spinner, .link, .label, .input, .chart: false
    }
  }

  /// Whether the node takes the whole width of a column, if no property sets its alignment.
  package var fillsColumn: Bool {
    switch self {
    case .button, .toggle, .gauge, .image, .date, .spinner, .link: false
    case .stack, .grid, .table, .form, .space, .embed, .unknown, .label, .input, .chart: true
    }
  }

  /// Whether the node has a value that the form around it submits.
  package var hasFormValue: Bool {
    switch self {
    case .toggle, .input: true
    case .stack, .grid, .table, .form, .space, .embed, .unknown, .button, .gauge, .image, .date,
      .spinner, .link, .label, .chart:
      false
    }
  }
}

extension Node {
  /// The role of its type.
  package var role: NodeRole { type?.role ?? .unknown }
}
