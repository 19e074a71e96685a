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
    let parts = KnownParts(tree: tree, variables: program.variables, bindings: bindings)
    for node in tree.kinds.indices where tree.offsets[node] == error.offset {
      guard case .select(let operand, let field) = tree[node] else { continue }
      let holders = parts.values(of: operand).compactMap { value -> ExpressionMap? in
        guard case .map(let map) = value, map.field(named: field) == nil else { return nil }
        return map
      }
      guard !holders.isEmpty else { continue }
      let meant = holders.lazy.compactMap { map in
        Suggestion.closest(
          to: field,
          among: map.keys.compactMap { key -> String? in
            if case .string(let name) = key { name } else { nil }
          })
      }.first
      guard let meant else { return nil }
      return EvaluationError(
        reason: error.reason, message: "there is no field '\(field)'; did you mean '\(meant)'?",
        offset: error.offset, source: error.source)
    }
    return nil
  }
}

/// The values that parts of an expression have, or can have, as far as they are known without an
/// evaluation.
private struct KnownParts<Bindings: ExpressionBindings> {
  let tree: SyntaxTree
  /// The names of the variables, by slot.
  let variables: [String]
  let bindings: Bindings
  /// The parent of each node; nil for the root.
  private let parents: [SyntaxTree.Node?]

  /// The elements of a list that the search looks at.
  private static var elementsMax: Int { 100 }

  init(tree: SyntaxTree, variables: [String], bindings: Bindings) {
    (self.tree, self.variables, self.bindings) = (tree, variables, bindings)
    var parents = [SyntaxTree.Node?](repeating: nil, count: tree.kinds.count)
    for node in tree.kinds.indices {
      for child in tree.children(of: node) { parents[child] = node }
    }
    self.parents = parents
  }

  /// The values of a variable or of a part of it. The variable of a macro has a value for each
  /// element. Empty for most other nodes, such as calls.
  func values(of node: SyntaxTree.Node) -> [ExpressionValue] {
    switch tree[node] {
    case .identifier(let name, let isAbsolute):
      if !isAbsolute, let known = valuesOfMacro(variable: name, at: node) { return known }
      guard let slot = variables.lastIndex(of: name),
        let value = bindings.value(of: name, slot: slot)
      else { return [] }
      return [value]
    case .select(let operand, let field):
      return values(of: operand).compactMap { value in
        if case .map(let map) = value { map.field(named: field) } else { nil }
      }
    case .index(let operand, let index):
      guard case .literal(let key) = tree[index] else { return [] }
      return values(of: operand).compactMap { value in
        switch (value, key) {
        case (.map(let map), _): return map[key]
        case (.list(let list), .int(let place)):
          return place >= 0 && place < list.count ? list[Int(place)] : nil
        default: return nil
        }
      }
    case .macro(let macro) where macro.kind == .filter || macro.kind == .sortBy:
      // The result has no other elements.
      return values(of: macro.range)
    default: return []
    }
  }

  /// The values of the variable of a macro around a node. Nil if no macro there has the variable.
  private func valuesOfMacro(
    variable name: String, at node: SyntaxTree.Node
  ) -> [ExpressionValue]? {
    var node = node
    while let parent = parents[node] {
      if case .macro(let macro) = tree[parent], macro.bodies.contains(node),
        let index = macro.variables.firstIndex(of: name)
      {
        return values(of: macro, variable: index)
      }
      node = parent
    }
    return nil
  }

  /// - Parameter index: of the variable. The first one of two is the place or the key of an element.
  private func values(of macro: SyntaxTree.Macro, variable index: Int) -> [ExpressionValue] {
    let ranges = values(of: macro.range)
    guard macro.kind != .bind else { return ranges }
    let isElement = macro.variables.count == 1 || index == 1
    var found: [ExpressionValue] = []
    for range in ranges {
      switch range {
      case .list(let list) where isElement: found += list.prefix(KnownParts.elementsMax)
      case .map(let map) where index == 1:
        found += map.entries.prefix(KnownParts.elementsMax).map(\.value)
      // Places and keys have no fields.
      default: break
      }
    }
    return Array(found.prefix(KnownParts.elementsMax))
  }
}

extension SyntaxTree {
  /// The nodes below a node, without the names of a macro's variables.
  fileprivate func children(of node: Node) -> [Node] {
    switch self[node] {
    case .literal, .identifier, .message: []
    case .select(let operand, _), .has(let operand, _), .not(let operand), .negate(let operand):
      [operand]
    case .index(let operand, let index): [operand, index]
    case .call(_, let target, let arguments, _): (target.map { [$0] } ?? []) + arguments
    case .arithmetic(let first, let links): [first] + links.map(\.operand)
    case .comparison(_, let left, let right): [left, right]
    case .and(let operands), .or(let operands), .list(let operands): operands
    case .conditional(let branches, let otherwise):
      branches.flatMap { [$0.condition, $0.value] } + [otherwise]
    case .map(let entries): entries.flatMap { [$0.key, $0.value] }
    case .macro(let macro): [macro.range] + macro.bodies
    }
  }
}
