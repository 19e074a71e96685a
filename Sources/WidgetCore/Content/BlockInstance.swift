import WidgetExpression
import WidgetModel

/// The nodes that a block of a template makes: once for the content, and once for each row.
struct BlockInstance {
  /// The slot of each of the block's nodes.
  private var nodes: [Int32] = []
  /// The rows of each of the block's repeated nodes.
  private var rows: [RowList]

  /// The slot of the block's top node.
  var top: Int32 { nodes[0] }

  /// The number of nodes, including rows.
  var nodeCount: Int { rows.reduce(nodes.count) { $0 + $1.nodeCount } }

  /// Makes the nodes, with ids that end with `path`.
  init(
    _ block: ContentProgram.Block, path: String, parent: Int32, in slots: inout NodeSlots,
    _ evaluation: inout ContentEvaluation
  ) {
    evaluation.count(nodes: block.nodes.count)
    rows = Array(repeating: RowList(), count: block.rows.count)
    for plan in block.nodes {
      let parent = plan.parent < 0 ? parent : nodes[plan.parent]
      nodes.append(slots.insert(plan, id: plan.id + path, parent: parent))
    }
    for slot in nodes { slots.mark(slot, at: evaluation.revision) }
    for node in block.nodes.indices {
      setChildren(of: node, block, in: &slots, evaluation.revision)
    }
    update(block, path: path, nil, in: &slots, &evaluation)
  }

  /// Removes all nodes.
  func remove(from slots: inout NodeSlots, at revision: Revision) {
    for slot in nodes { slots.remove(slot, at: revision) }
    for list in rows { list.remove(from: &slots, at: revision) }
  }

  /// Evaluates the expressions in the block and its rows that read changed inputs, or (nil) all of
  /// them.
  mutating func update(
    _ block: ContentProgram.Block, path: String, _ changed: Set<ContentProgram.Input>?,
    in slots: inout NodeSlots, _ evaluation: inout ContentEvaluation
  ) {
    for place in bindings(of: block, reading: changed) {
      evaluate(block.bindings[place], in: &slots, &evaluation)
    }
    for (place, plan) in block.rows.enumerated() {
      if changed.map({ !plan.listInputs.isDisjoint(with: $0) }) ?? true {
        rows[place].reconcile(
          plan, parent: nodes[plan.parent], path: path, changed, in: &slots, &evaluation)
        setChildren(of: plan.parent, block, in: &slots, evaluation.revision)
      } else if let inner = changed?.intersection(plan.innerInputs), !inner.isEmpty {
        rows[place].update(plan, inner, in: &slots, &evaluation)
      }
    }
  }

  /// The places of the bindings to evaluate, in order.
  private func bindings(
    of block: ContentProgram.Block, reading changed: Set<ContentProgram.Input>?
  ) -> [Int] {
    guard let changed else { return Array(block.bindings.indices) }
    var places: Set<Int> = []
    if changed.count <= block.bindingsByInput.count {
      for input in changed { places.formUnion(block.bindingsByInput[input] ?? []) }
    } else {
      for (input, reading) in block.bindingsByInput where changed.contains(input) {
        places.formUnion(reading)
      }
    }
    return places.sorted()
  }

  private func evaluate(
    _ plan: ContentProgram.BindingPlan, in slots: inout NodeSlots,
    _ evaluation: inout ContentEvaluation
  ) {
    let slot = nodes[plan.node]
    let result = evaluation.value(plan.expression)
    switch plan.target {
    case .condition:
      var (isShown, failure) = (false, String?.none)
      switch result {
      case .success(.bool(let holds)): isShown = holds
      case .success: failure = "expected true or false"
      case .failure(let error): failure = error.message
      }
      slots.setShown(slot, isShown, at: evaluation.revision)
      // The parent shows the problem.
      if slots.setFailure(NodeFailures.condition, failure, on: slot, &evaluation) {
        slots.markParent(of: slot, at: evaluation.revision)
      }
    case .property(let property):
      let name = property.name
      // If `privacy` fails, the node is private: a locked screen must not show it because of a
      // mistake.
      let placeholder = plan.placeholder ?? (name == "privacy" ? .bool(true) : nil)
      var (value, failure) = (placeholder, String?.none)
      switch result {
      case .success(.null): break
      case .success(let result):
        switch evaluation.stored(result, as: property) {
        case .success(let fitted): value = fitted
        case .failure(let error): failure = error.message
        }
      case .failure(let error): failure = error.message
      }
      if !slots.set(name, to: value, on: slot, evaluation) {
        evaluation.meetLimit()
        failure =
          failure
          ?? "there is no room for it: a widget's content has at most "
          + "\(evaluation.limits.contentBytesMax) bytes (content_bytes_max)"
        if !slots.set(name, to: placeholder, on: slot, evaluation) {
          _ = slots.set(name, to: nil, on: slot, evaluation)
        }
      }
      _ = slots.setFailure(name, failure, on: slot, &evaluation)
      if plan.isRangeEnd { checkRanges(of: slot, in: &slots, &evaluation) }
    }
  }

  /// Records the ranges of a node whose end is below their start. The values stay, because another
  /// one may change next.
  private func checkRanges(
    of slot: Int32, in slots: inout NodeSlots, _ evaluation: inout ContentEvaluation
  ) {
    let (type, values) = slots.typeAndProperties(of: slot)
    for range in type.ranges {
      let mismatch = type.mismatch(of: range, among: values)
      _ = slots.setFailure(range.name, mismatch?.description, on: slot, &evaluation)
    }
  }

  private func setChildren(
    of node: Int, _ block: ContentProgram.Block, in slots: inout NodeSlots, _ revision: Revision
  ) {
    let children = block.nodes[node].children.flatMap { child in
      switch child {
      case .node(let place): [nodes[place]]
      case .rows(let place): rows[place].tops
      }
    }
    slots.setChildren(of: nodes[node], to: children, at: revision)
  }
}

extension NodeSlots {
  /// Sets or (with nil) removes a property, within the limits of an evaluation. Returns false if
  /// there is no room.
  fileprivate mutating func set(
    _ name: String, to value: Value?, on slot: Int32, _ evaluation: ContentEvaluation
  ) -> Bool {
    set(
      name, to: value, on: slot, at: evaluation.revision,
      bytesMax: evaluation.limits.contentBytesMax)
  }

  /// Records, or (with nil) clears, the problem of a part of a node. Returns whether that changed
  /// it.
  mutating func setFailure(
    _ name: String, _ message: String?, on slot: Int32, _ evaluation: inout ContentEvaluation
  ) -> Bool {
    let (isNews, hasRoom) = setFailure(
      name, to: message, on: slot, at: evaluation.revision, time: evaluation.time,
      bytesMax: evaluation.limits.contentBytesMax)
    if !hasRoom { evaluation.meetLimit() }
    return isNews
  }
}
