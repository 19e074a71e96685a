import WidgetExpression
import WidgetModel

/// The rows of a repeated node, matched by their keys, so that an unchanged row costs only a
/// comparison.
struct RowList {
  private var rows: [Row] = []

  private struct Row {
    /// The end of its nodes' ids: `/42`.
    let path: String
    var element: ExpressionValue
    var place: Int
    var instance: BlockInstance
  }

  init() {}

  /// The slots of the rows' top nodes.
  var tops: [Int32] { rows.map(\.instance.top) }

  /// The number of nodes, including rows within rows.
  var nodeCount: Int { rows.reduce(0) { $0 + $1.instance.nodeCount } }

  /// Removes all rows.
  func remove(from slots: inout NodeSlots, at revision: Revision) {
    for row in rows { row.instance.remove(from: &slots, at: revision) }
  }

  /// Evaluates the expressions in the rows that read changed inputs, while the list stays the same.
  mutating func update(
    _ plan: ContentProgram.RowPlan, _ changed: Set<ContentProgram.Input>,
    in slots: inout NodeSlots, _ evaluation: inout ContentEvaluation
  ) {
    for row in rows.indices {
      evaluation.enter(rows[row].element, rows[row].place)
      rows[row].instance.update(
        plan.block, path: rows[row].path, changed, in: &slots, &evaluation)
      evaluation.leave()
    }
  }

  /// Evaluates the list, and updates the rows. `changed`: the changed inputs; nil for all.
  mutating func reconcile(
    _ plan: ContentProgram.RowPlan, parent: Int32, path: String,
    _ changed: Set<ContentProgram.Input>?, in slots: inout NodeSlots,
    _ evaluation: inout ContentEvaluation
  ) {
    var failure: String?
    let elements = elements(plan, &evaluation, &failure)
    var old = Dictionary(rows.map { ($0.path, $0) }, uniquingKeysWith: { first, _ in first })
    var paths: [String] = []
    var seen: Set<String> = []
    for (place, element) in elements.enumerated() {
      evaluation.enter(element, place)
      let key = key(plan, place, &evaluation, &failure)
      evaluation.leave()
      paths.append(RowList.path(path, key: key, seen: &seen))
    }
    // Removals come first, because they make room for new rows.
    for row in rows where !seen.contains(row.path) {
      old[row.path] = nil
      row.instance.remove(from: &slots, at: evaluation.revision)
    }
    let kept = roomForRows(paths, old, plan, slots, evaluation.limits)
    if kept < paths.count { evaluation.meetLimit() }
    for path in paths[kept...] {
      guard let row = old.removeValue(forKey: path) else { continue }
      row.instance.remove(from: &slots, at: evaluation.revision)
    }
    if kept < paths.count {
      failure =
        "\(paths.count - kept) of \(paths.count) rows are left out: a widget's content has at most "
        + "\(evaluation.limits.contentNodesMax) nodes (content_nodes_max) and "
        + "\(evaluation.limits.contentBytesMax) bytes (content_bytes_max)"
    }
    // Avoids a second copy of the rows that change below.
    rows = []
    var next: [Row] = []
    next.reserveCapacity(kept)
    let outer = changed?.intersection(plan.innerInputs) ?? []
    for (place, element) in elements.prefix(kept).enumerated() {
      evaluation.enter(element, place)
      defer { evaluation.leave() }
      if var row = old.removeValue(forKey: paths[place]) {
        var inputs = outer
        if row.element != element || (plan.readsPlace && row.place != place) {
          inputs.insert(.row(evaluation.depth - 1))
        }
        (row.element, row.place) = (element, place)
        if !plan.innerInputs.isDisjoint(with: inputs) {
          row.instance.update(plan.block, path: row.path, inputs, in: &slots, &evaluation)
        }
        next.append(row)
      } else {
        let path = freePath(paths[place], plan, slots)
        // The path depends on the order in which two rows were added, so the content counts as cut.
        if path != paths[place] { evaluation.meetLimit() }
        let instance = BlockInstance(
          plan.block, path: path, parent: parent, in: &slots, &evaluation)
        next.append(Row(path: path, element: element, place: place, instance: instance))
      }
    }
    rows = next
    _ = slots.setFailure("\(plan.id).rows", failure, on: parent, &evaluation)
  }

  /// The number of rows, from the first on, for which there is room.
  private func roomForRows(
    _ paths: [String], _ old: [String: Row], _ plan: ContentProgram.RowPlan,
    _ slots: NodeSlots, _ limits: StoreLimits
  ) -> Int {
    let counts = old.mapValues { $0.instance.nodeCount }
    var nodes = limits.contentNodesMax - slots.liveCount + counts.values.reduce(0, +)
    var room = limits.contentBytesMax - slots.bytes
    for (place, path) in paths.enumerated() {
      if let count = counts[path] {
        nodes -= count
      } else {
        nodes -= plan.block.nodes.count
        room -= plan.block.constantBytes + plan.block.nodes.count * path.utf8.count
        if room < 0 { return place }
      }
      if nodes < 0 { return place }
    }
    return paths.count
  }

  /// A free path. It differs from the key's path if two shortened keys are the same.
  private func freePath(
    _ path: String, _ plan: ContentProgram.RowPlan, _ slots: NodeSlots
  ) -> String {
    var (free, number) = (path, 2)
    while slots.hasNode(plan.id + free) {
      free = "\(path):\(number)"
      number += 1
    }
    return free
  }

  private func elements(
    _ plan: ContentProgram.RowPlan, _ evaluation: inout ContentEvaluation, _ failure: inout String?
  ) -> [ExpressionValue] {
    switch evaluation.value(plan.list) {
    case .success(.null): return []
    case .success(.list(let list)):
      switch evaluation.stored(.list(list)) {
      case .success(.list(let elements)): return elements.map { ExpressionValue($0) }
      case .success: return []
      case .failure(let error): failure = error.message
      }
    case .success(let value):
      failure = "expected a list, not a value of type \(value.kind.rawValue)"
    case .failure(let error): failure = error.message
    }
    return []
  }

  private func key(
    _ plan: ContentProgram.RowPlan, _ place: Int, _ evaluation: inout ContentEvaluation,
    _ failure: inout String?
  ) -> String {
    guard let expression = plan.key else { return "\(place)" }
    switch evaluation.value(expression) {
    case .success(let value):
      if let text = value.text { return text }
      failure = "a row's key must be text or a number, not a value of type \(value.kind.rawValue)"
    case .failure(let error): failure = "key: \(error.message)"
    }
    return "\(place)"
  }

  // MARK: - Paths

  /// The end of the ids of a row's nodes: short enough, and unique for each row.
  static func path(_ outer: String, key: String, seen: inout Set<String>) -> String {
    var path = "\(outer)/\(NodeID.encoded(key: key))"
    // Leaves room for the number below. No encoded key begins with a colon.
    if path.utf8.count > NodeID.rowsLengthMax - NodeID.rowNumberLengthMax {
      path = "/:\(NodeID.hash(path))"
    }
    if seen.insert(path).inserted { return path }
    var number = 2
    while !seen.insert("\(path):\(number)").inserted { number += 1 }
    return "\(path):\(number)"
  }
}
