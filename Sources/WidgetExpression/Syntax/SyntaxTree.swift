/// An expression as read: nodes in one array, children before their parents.
///
/// The tree is an array and not a tree of references, so that copying and freeing it use no stack.
/// A sequence of operators of one level is one node (`a + b - c`, `a && b && c`, `c ? x : d ? y :
/// z`), so that a long sequence is not deep.
struct SyntaxTree: Sendable {
  typealias Node = Int

  enum Kind: Sendable {
    case literal(ExpressionValue)
    /// Absolute: written with a leading dot.
    case identifier(String, isAbsolute: Bool)
    case select(Node, field: String)
    /// `has(operand.field)`.
    case has(Node, field: String)
    case index(Node, Node)
    /// A function, or with a target a method.
    case call(String, target: Node?, arguments: [Node], isAbsolute: Bool)
    case not(Node)
    case negate(Node)
    /// `first op operand op operand …`, all of one level.
    case arithmetic(Node, [Link])
    case comparison(Comparison, Node, Node)
    case and([Node])
    case or([Node])
    /// `condition ? value : condition ? value : … : otherwise`
    case conditional([(condition: Node, value: Node)], otherwise: Node)
    case list([Node])
    case map([(key: Node, value: Node)])
    /// Read only to be refused with a clear message.
    case message(String)
    case macro(Macro)
  }

  /// One step of a row of arithmetic operators; `offset` is the operator's.
  struct Link: Sendable {
    let operation: Arithmetic
    let operand: Node
    let offset: Int
  }

  /// A macro that declares variables.
  struct Macro: Sendable {
    let kind: MacroKind
    /// The value to iterate over. For `cel.bind`, the bound value.
    let range: Node
    /// One or two names.
    let variables: [String]
    /// The conditions and results, as written.
    let bodies: [Node]
  }

  private(set) var kinds: [Kind] = []
  /// The place of each node in the source, in bytes: its operator if it has one, else its
  /// beginning.
  private(set) var offsets: [Int] = []
  private(set) var heights: [Int32] = []
  var root: Node = 0

  mutating func add(_ kind: Kind, at offset: Int, height: Int) -> Node {
    kinds.append(kind)
    offsets.append(offset)
    heights.append(Int32(height))
    return kinds.count - 1
  }

  subscript(node: Node) -> Kind { kinds[node] }
}

enum Arithmetic: String, Sendable {
  case add = "+"
  case subtract = "-"
  case multiply = "*"
  case divide = "/"
  case remainder = "%"
}

enum Comparison: String, Sendable {
  case equal = "=="
  case notEqual = "!="
  case less = "<"
  case lessEqual = "<="
  case greater = ">"
  case greaterEqual = ">="
  case isIn = "in"
}

/// The macros that declare variables.
enum MacroKind: String, Sendable, CaseIterable {
  case all, exists, map, filter
  case existsOne = "exists_one"
  case transformList, transformMap, transformMapEntry
  case sortBy
  case bind

  /// How a call of the macro is written.
  func form(_ name: String) -> String {
    switch self {
    case .all, .exists, .existsOne, .filter: "list.\(name)(x, CONDITION)"
    case .map: "list.\(name)(x, VALUE) or list.\(name)(x, CONDITION, VALUE)"
    case .transformList: "list.\(name)(i, x, VALUE)"
    case .transformMap: "map.\(name)(k, v, VALUE)"
    case .transformMapEntry: "map.\(name)(k, v, {KEY: VALUE})"
    case .sortBy: "list.\(name)(x, KEY) or list.\(name)(x, [asc(KEY), desc(KEY)])"
    case .bind: "cel.\(name)(x, VALUE, RESULT)"
    }
  }
}
