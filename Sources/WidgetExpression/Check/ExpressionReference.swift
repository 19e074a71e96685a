import WidgetModel

/// A part of a variable that an expression reads: `data`, `data.load`, `data.cpu.total`,
/// `data.load[0]`.
///
/// The path goes as far as is known without evaluating. An expression that reads a variable in a way
/// that depends on values (`data[parameters.key]`) has the path up to there. A result can only change
/// if something at or below one of its references does.
public struct ExpressionReference: Hashable, Sendable, CustomStringConvertible {
  /// One step into a map or a list.
  public enum Step: Hashable, Sendable {
    case field(String)
    case index(Int64)
    /// A step whose key only the evaluation knows. Only the paths of an ``ExpressionUse`` have it.
    case any

    /// Names are compared byte by byte, as the fields of a map are.
    public static func == (a: Step, b: Step) -> Bool {
      switch (a, b) {
      case (.field(let x), .field(let y)): x.hasSameBytes(as: y)
      case (.index(let x), .index(let y)): x == y
      case (.any, .any): true
      default: false
      }
    }
  }

  public let variable: String
  public let path: [Step]

  public init(_ variable: String, _ path: [Step] = []) {
    self.variable = variable
    self.path = path
  }

  public var description: String {
    path.reduce(variable) { text, step in
      switch step {
      case .index(let index): return "\(text)[\(index)]"
      case .any: return "\(text)[*]"
      case .field(let name):
        let isPlain =
          !name.isEmpty && !isDigit(name.utf8.first)
          && name.utf8.allSatisfy { isLetter($0) || isDigit($0) }
        return isPlain ? "\(text).\(name)" : "\(text)[\(SyntaxPrinter.quoted(name))]"
      }
    }
  }

  /// The approximate memory, in bytes.
  var memoryBytes: Int {
    path.reduce(64 + variable.utf8.count) { sum, step in
      guard case .field(let name) = step else { return sum + 16 }
      return sum + 16 + name.utf8.count
    }
  }

  /// The reference up to its first step `any`.
  var known: ExpressionReference {
    guard let end = path.firstIndex(of: .any) else { return self }
    return ExpressionReference(variable, Array(path[..<end]))
  }

  /// The references that are not parts of others, sorted by their text.
  static func minimal(_ references: Set<ExpressionReference>) -> [ExpressionReference] {
    guard references.count > 1 else { return Array(references) }
    let sorted = references.sorted {
      ($0.path.count, $0.description) < ($1.path.count, $1.description)
    }
    var kept: Set<ExpressionReference> = []
    for reference in sorted {
      let isCovered = (0...reference.path.count).contains { length in
        kept.contains(ExpressionReference(reference.variable, Array(reference.path.prefix(length))))
      }
      if !isCovered { kept.insert(reference) }
    }
    return kept.sorted { $0.description < $1.description }
  }
}
