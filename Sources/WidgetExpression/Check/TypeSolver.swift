/// Infers the parameters of types.
///
/// `[]` is a list of a fresh parameter; using it with a list of ints binds that parameter to `int`.
/// Gradual: `dyn` fits everything and everything fits it.
struct TypeSolver {
  private var bound: [Int: ExpressionType] = [:]
  /// The bindings, in order, so that a failed attempt can be undone.
  private var trail: [Int] = []
  /// Below are the parameters of signatures, which are instantiated before use.
  private var next = 1_000

  /// A new parameter, which is not bound yet.
  mutating func fresh() -> ExpressionType {
    next += 1
    return .parameter(next)
  }

  /// A signature's types with its type parameters replaced by fresh ones, the same for all of them.
  mutating func instantiate(
    _ signature: FunctionDefinition.Signature
  ) -> (parameters: [ExpressionType], result: ExpressionType) {
    guard signature.isGeneric else { return (signature.parameters, signature.result) }
    var replacements: [Int: ExpressionType] = [:]
    let parameters = signature.parameters.map { instantiate($0, &replacements) }
    return (parameters, instantiate(signature.result, &replacements))
  }

  private mutating func instantiate(
    _ type: ExpressionType, _ replacements: inout [Int: ExpressionType]
  ) -> ExpressionType {
    switch type {
    case .parameter(let number):
      if let known = replacements[number] { return known }
      let new = fresh()
      replacements[number] = new
      return new
    case .list(let element): return .list(instantiate(element, &replacements))
    case .map(let key, let value):
      return .map(instantiate(key, &replacements), instantiate(value, &replacements))
    default: return type
    }
  }

  /// The type as far as it is known now, at its outermost level.
  func resolved(_ type: ExpressionType) -> ExpressionType {
    var type = type
    while case .parameter(let number) = type, let known = bound[number] { type = known }
    return type
  }

  /// The type, with `dyn` for the parts that are still open.
  func final(_ type: ExpressionType) -> ExpressionType {
    switch resolved(type) {
    case .parameter: .dyn
    case .list(let element): .list(final(element))
    case .map(let key, let value): .map(final(key), final(value))
    case let other: other
    }
  }

  /// Whether a value of type `from` can be used as `to`. If so, binds parameters.
  mutating func fits(_ from: ExpressionType, _ to: ExpressionType) -> Bool {
    let mark = self.mark
    guard !unify(from, to) else { return true }
    rewind(to: mark)
    return false
  }

  /// Whether each type fits its counterpart.
  mutating func fit(_ from: [ExpressionType], _ to: [ExpressionType]) -> Bool {
    guard from.count == to.count else { return false }
    let mark = trail.count
    for (a, b) in zip(from, to) where !unify(a, b) {
      rewind(to: mark)
      return false
    }
    return true
  }

  /// The number of bindings, for ``rewind(to:)``.
  var mark: Int { trail.count }

  mutating func rewind(to mark: Int) {
    guard trail.count > mark else { return }
    for number in trail[mark...] { bound[number] = nil }
    trail.removeSubrange(mark...)
  }

  private mutating func bind(_ number: Int, _ type: ExpressionType) {
    bound[number] = type
    trail.append(number)
  }

  private mutating func unify(_ from: ExpressionType, _ to: ExpressionType) -> Bool {
    let (from, to) = (resolved(from), resolved(to))
    switch (from, to) {
    case (.parameter(let x), .parameter(let y)):
      if x != y { bind(y, from) }
      return true
    case (_, .parameter(let y)):
      guard !contains(from, y) else { return false }
      bind(y, from)
      return true
    case (.parameter(let x), _):
      guard !contains(to, x) else { return false }
      bind(x, to)
      return true
    case (.dyn, _), (_, .dyn): return true
    case (.list(let x), .list(let y)): return unify(x, y)
    case (.map(let k, let v), .map(let l, let w)): return unify(k, l) && unify(v, w)
    case (.record, .map(let key, let value)), (.map(let key, let value), .record):
      return unify(.string, key) && unify(.dyn, value)
    // In CEL, a missing time is null, because a time is a message in protobuf.
    case (.null, .timestamp), (.null, .duration), (.timestamp, .null), (.duration, .null):
      return true
    default: return from == to
    }
  }

  private func contains(_ type: ExpressionType, _ number: Int) -> Bool {
    switch resolved(type) {
    case .parameter(let other): other == number
    case .list(let element): contains(element, number)
    case .map(let key, let value): contains(key, number) || contains(value, number)
    default: false
    }
  }

  /// The common type of two values, as in a list: the more general one, else `dyn`.
  mutating func join(_ a: ExpressionType, _ b: ExpressionType) -> ExpressionType {
    if fits(b, a) {
      let (x, y) = (resolved(a), resolved(b))
      if x == .dyn || y == .dyn { return .dyn }
      return x == .null ? y : a
    }
    return .dyn
  }
}
