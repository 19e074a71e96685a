import WidgetModel

/// Writes a tree back as source, with no more parentheses than needed.
///
/// Reading the result gives an equal tree; layout and comments are lost.
struct SyntaxPrinter {
  private let tree: SyntaxTree

  static func print(_ tree: SyntaxTree) -> String {
    SyntaxPrinter(tree: tree).text(tree.root, above: 0)
  }

  /// The text of a node, in parentheses if its level is below what its place needs.
  private func text(_ node: Int, above lowest: Int) -> String {
    let (text, level) = plain(node)
    return level < lowest ? "(\(text))" : text
  }

  /// Levels as in the parser: 0 conditional, 1 to 5 binary, 6 unary, 7 member.
  private func plain(_ node: Int) -> (String, level: Int) {
    switch tree[node] {
    case .literal(let value): return (Self.literal(value), isNegative(value) ? 6 : 7)
    case .identifier(let name, let isAbsolute): return ((isAbsolute ? "." : "") + name, 7)
    case .select(let operand, let field): return ("\(target(operand)).\(name(field))", 7)
    case .has(let operand, let field): return ("has(\(target(operand)).\(name(field)))", 7)
    case .index(let operand, let index): return ("\(target(operand))[\(text(index, above: 0))]", 7)
    case .call(let name, let target, let arguments, let isAbsolute):
      let list = arguments.map { text($0, above: 0) }.joined(separator: ", ")
      if let target { return ("\(self.target(target)).\(name)(\(list))", 7) }
      return ("\(isAbsolute ? "." : "")\(name)(\(list))", 7)
    case .not(let operand): return ("!" + text(operand, above: 6), 6)
    case .negate(let operand): return ("-" + negated(operand), 6)
    case .arithmetic(let first, let links):
      let level = links.first.map { $0.operation == .add || $0.operation == .subtract ? 4 : 5 } ?? 4
      let rest = links.map { " \($0.operation.rawValue) \(text($0.operand, above: level + 1))" }
      return (text(first, above: level + 1) + rest.joined(), level)
    case .comparison(let comparison, let left, let right):
      return ("\(text(left, above: 3)) \(comparison.rawValue) \(text(right, above: 4))", 3)
    case .and(let operands):
      return (operands.map { text($0, above: 3) }.joined(separator: " && "), 2)
    case .or(let operands):
      return (operands.map { text($0, above: 2) }.joined(separator: " || "), 1)
    case .conditional(let branches, let otherwise):
      let parts = branches.map {
        "\(text($0.condition, above: 1)) ? \(text($0.value, above: 1)) : "
      }
      return (parts.joined() + text(otherwise, above: 1), 0)
    case .list(let elements):
      return ("[\(elements.map { text($0, above: 0) }.joined(separator: ", "))]", 7)
    case .map(let entries):
      let parts = entries.map { "\(text($0.key, above: 0)): \(text($0.value, above: 0))" }
      return ("{\(parts.joined(separator: ", "))}", 7)
    case .message(let name): return ("\(name){}", 7)
    case .macro(let macro):
      let bodies = macro.bodies.map { text($0, above: 0) }
      if macro.kind == .bind {
        let parts = macro.variables + [text(macro.range, above: 0)] + bodies
        return ("cel.bind(\(parts.joined(separator: ", ")))", 7)
      }
      let parts = (macro.variables + bodies).joined(separator: ", ")
      return ("\(target(macro.range)).\(macro.kind.rawValue)(\(parts))", 7)
    }
  }

  /// A minus before a number would become part of it.
  private func negated(_ operand: Int) -> String {
    let text = text(operand, above: 6)
    guard let first = text.utf8.first, isDigit(first) || first == UInt8(ascii: ".") else {
      return text
    }
    return "(\(text))"
  }

  /// A node before a dot or a bracket, as text.
  private func target(_ node: Int) -> String { text(node, above: 7) }

  private func name(_ field: String) -> String {
    let isPlain =
      field.utf8.allSatisfy { isLetter($0) || isDigit($0) } && !isDigit(field.utf8.first)
      && !["true", "false", "null", "in"].contains(field)
    return isPlain ? field : "`\(field)`"
  }

  private func isNegative(_ value: ExpressionValue) -> Bool {
    switch value {
    case .int(let x): x < 0
    case .double(let x): x.sign == .minus
    default: false
    }
  }

  /// A literal in CEL's words.
  static func literal(_ value: ExpressionValue) -> String {
    switch value {
    case .null: return "null"
    case .bool(let x): return String(x)
    case .int(let x): return String(x)
    case .uint(let x): return "\(x)u"
    case .double(let x):
      let text = String(describing: x)
      return text.contains(".") || text.contains("e") ? text : text + ".0"
    case .string(let text): return quoted(text)
    case .bytes(let bytes):
      return "b\"" + bytes.map { "\\x" + hex(UInt32($0), 2) }.joined() + "\""
    default: return "null"
    }
  }

  /// The start of a text in quotes, for messages. It is counted in code points, because one
  /// character can have any number of them.
  static func quotedStart(of text: String, scalarsMax: Int = 60) -> String {
    quoted(String(String.UnicodeScalarView(text.unicodeScalars.prefix(scalarsMax))))
  }

  static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": result += "\\" + String(scalar)
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case _ where scalar.value < 32 || scalar.value == 127: result += "\\x" + hex(scalar.value, 2)
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }

  private static func hex(_ value: UInt32, _ width: Int) -> String {
    let text = String(value, radix: 16)
    return String(repeating: "0", count: max(0, width - text.count)) + text
  }
}

extension SyntaxTree {
  /// Whether two trees are equal; places in their sources do not matter.
  func hasSameStructure(as other: SyntaxTree) -> Bool { same(root, other, other.root) }

  private func same(_ a: Int, _ other: SyntaxTree, _ b: Int) -> Bool {
    func all(_ x: [Int], _ y: [Int]) -> Bool {
      x.count == y.count && zip(x, y).allSatisfy { same($0, other, $1) }
    }
    switch (self[a], other[b]) {
    case (.literal(let x), .literal(let y)): return x == y
    case (.identifier(let x, let m), .identifier(let y, let n)): return x == y && m == n
    case (.select(let x, let f), .select(let y, let g)): return f == g && same(x, other, y)
    case (.has(let x, let f), .has(let y, let g)): return f == g && same(x, other, y)
    case (.index(let x, let i), .index(let y, let j)): return all([x, i], [y, j])
    case (.call(let f, let s, let x, let m), .call(let g, let t, let y, let n)):
      return f == g && m == n && all(s.map { [$0] } ?? [], t.map { [$0] } ?? []) && all(x, y)
    case (.not(let x), .not(let y)), (.negate(let x), .negate(let y)): return same(x, other, y)
    case (.arithmetic(let x, let l), .arithmetic(let y, let m)):
      return same(x, other, y) && l.map(\.operation) == m.map(\.operation)
        && all(l.map(\.operand), m.map(\.operand))
    case (.comparison(let c, let x, let i), .comparison(let d, let y, let j)):
      return c == d && all([x, i], [y, j])
    case (.and(let x), .and(let y)), (.or(let x), .or(let y)), (.list(let x), .list(let y)):
      return all(x, y)
    case (.conditional(let x, let i), .conditional(let y, let j)):
      return all(x.map(\.condition), y.map(\.condition)) && all(x.map(\.value), y.map(\.value))
        && same(i, other, j)
    case (.map(let x), .map(let y)):
      return all(x.map(\.key), y.map(\.key)) && all(x.map(\.value), y.map(\.value))
    case (.message(let x), .message(let y)): return x == y
    case (.macro(let x), .macro(let y)):
      return x.kind == y.kind && x.variables == y.variables && same(x.range, other, y.range)
        && all(x.bodies, y.bodies)
    default: return false
    }
  }
}
