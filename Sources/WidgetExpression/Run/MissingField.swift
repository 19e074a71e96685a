/// The corrections of misspelt fields, for tools. A program that evaluates an expression often does
/// not look for them, because the search can take longer than the evaluation.
extension CompiledExpression {
  /// The same error with the field that was probably meant in place of a missing one. Nil for other
  /// errors, and if no field has a similar name.
  ///
  /// - Parameter bindings: those of the evaluation.
  public func corrected(
    _ error: EvaluationError, _ bindings: some ExpressionBindings
  ) -> EvaluationError? {
    guard error.reason == .noSuchKey, let tree else { return nil }
    for node in tree.kinds.indices where tree.offsets[node] == error.offset {
      guard case .select(let operand, let field) = tree[node],
        case .map(let map)? = value(of: operand, in: tree, bindings),
        map.field(named: field) == nil
      else { continue }
      let names = map.keys.compactMap { key -> String? in
        if case .string(let name) = key { name } else { nil }
      }
      guard let meant = Suggestion.closest(to: field, among: names) else { return nil }
      return EvaluationError(
        reason: error.reason, message: "there is no field '\(field)'; did you mean '\(meant)'?",
        offset: error.offset, source: error.source)
    }
    return nil
  }

  /// The value of a variable or of a part of it. Nil for other nodes, such as calls and the
  /// variables of macros.
  private func value(
    of node: Int, in tree: SyntaxTree, _ bindings: some ExpressionBindings
  ) -> ExpressionValue? {
    switch tree[node] {
    case .identifier(let name, _):
      guard let slot = program.variables.lastIndex(of: name) else { return nil }
      return bindings.value(of: name, slot: slot)
    case .select(let operand, let field):
      guard case .map(let map)? = value(of: operand, in: tree, bindings) else { return nil }
      return map.field(named: field)
    case .index(let operand, let index):
      guard case .literal(let key) = tree[index] else { return nil }
      switch (value(of: operand, in: tree, bindings), key) {
      case (.map(let map)?, _): return map[key]
      case (.list(let list)?, .int(let place)):
        return place >= 0 && place < list.count ? list[Int(place)] : nil
      default: return nil
      }
    default: return nil
    }
  }
}
