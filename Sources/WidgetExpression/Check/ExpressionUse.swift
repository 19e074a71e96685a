/// How an expression uses a part of a variable: `status.feed.message`, `status.feed == null`,
/// `has(status.feed)`.
///
/// Paths go further than those of references: a computed key is the step `any`, and the variable of
/// a macro stands for the value that it is bound to, or for the entries of the map.
public struct ExpressionUse: Hashable, Sendable, CustomStringConvertible {
  public enum Kind: Hashable, Sendable {
    /// The value decides the result.
    case value
    /// Only whether the value is null decides the result: a comparison with null, `type(x)`.
    case null
    /// Only whether the part exists decides the result: `has(x.y)`, `"y" in x`. With `any` as the
    /// last step, also the number or the keys of a map's entries: `size(x)`, `x.exists(key, …)`.
    case presence
  }

  public let reference: ExpressionReference
  public let kind: Kind

  public init(_ reference: ExpressionReference, _ kind: Kind) {
    self.reference = reference
    self.kind = kind
  }

  public var description: String {
    switch kind {
    case .value: "\(reference)"
    case .null: "\(reference) == null"
    case .presence: "has(\(reference))"
    }
  }
}

/// Collects references and uses.
extension Checker {
  /// Notes that the expression uses a part.
  ///
  /// - Parameter dependency: the reference of the use, if it is another one.
  mutating func note(
    _ reference: ExpressionReference, _ kind: ExpressionUse.Kind = .value,
    dependency: ExpressionReference? = nil
  ) {
    let known = (dependency ?? reference).known
    if kind == .value, known.path.count == reference.path.count {
      references.insert(reference)
      return
    }
    uses.insert(ExpressionUse(reference, kind))
    dependencies.insert(known)
  }

  /// All references, and the uses. The uses are nil if each reference is used for its value, as in
  /// most expressions.
  func reads() -> (references: [ExpressionReference], uses: [ExpressionUse]?) {
    let values = ExpressionReference.minimal(references)
    guard !dependencies.isEmpty else { return (values, nil) }
    let all = ExpressionReference.minimal(references.union(dependencies))
    if uses.isEmpty, all == values { return (all, nil) }
    var sorted = values.map { ExpressionUse($0, .value) }
    sorted += uses
    sorted.sort { $0.description < $1.description }
    return (all, sorted)
  }

  /// Notes the use of a macro's range, and returns the parts that the macro's variables stand for.
  mutating func partsOfVariables(
    of macro: SyntaxTree.Macro, _ range: ExpressionReference?, _ type: ExpressionType
  ) -> (first: ExpressionReference?, second: ExpressionReference?) {
    guard let range else { return (nil, nil) }
    // Each use of a variable takes time for the whole path.
    let isShort = range.path.count <= 8
    if macro.kind == .bind, isShort {
      dependencies.insert(range.known)
      return (range, nil)
    }
    // A macro with one variable sees only the keys of a map.
    guard macro.kind != .bind, macro.kind != .sortBy, hasEntries(type), isShort else {
      note(range)
      return (nil, nil)
    }
    note(range.appending(.any), .presence)
    return (nil, range.appending(.any))
  }

  /// Checks a value of which only the number of entries matters, if it is a map.
  mutating func counted(_ node: Int) -> Typed {
    let (typed, reference) = access(node)
    guard let reference else { return typed }
    if hasEntries(typed.type) {
      note(reference.appending(.any), .presence)
    } else {
      note(reference)
    }
    return typed
  }

  /// Checks a value that is compared with another one. A comparison with null or `{}` does not use
  /// the value.
  mutating func compared(_ node: Int, with other: Int) -> Typed {
    switch tree[other] {
    case .literal(.null): return testedForNull(node)
    case .map(let entries) where entries.isEmpty: return counted(node)
    default: return check(node)
    }
  }

  /// Checks the only argument of a function, or the value before the dot of a method.
  mutating func argument(_ node: Int, of function: String) -> Typed {
    // The caller can replace the functions of the language.
    guard environment.functions.isEmpty else { return check(node) }
    switch function {
    case "size": return counted(node)
    case "type": return testedForNull(node)
    default: return check(node)
    }
  }

  private mutating func testedForNull(_ node: Int) -> Typed {
    let (typed, reference) = access(node)
    if let reference { note(reference, .null) }
    return typed
  }

  /// Whether values of the type are maps.
  func hasEntries(_ type: ExpressionType) -> Bool {
    switch solver.resolved(type) {
    case .map, .record: true
    default: false
    }
  }
}
