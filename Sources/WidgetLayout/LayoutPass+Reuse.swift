import WidgetModel

/// The layout before the present one.
struct PreviousLayout: Sendable {
  var result = LayoutResult()
  var scroll: [String: Int] = [:]
}

/// The lengths of the lists of a result.
struct PlacedCounts: Hashable, Sendable {
  var placed = 0
  var focusable = 0
  var scrollRegions = 0

  init() {}

  init(_ result: LayoutResult) {
    placed = result.placed.count
    focusable = result.focusable.count
    scrollRegions = result.scrollRegions.count
  }

  static func + (a: PlacedCounts, b: PlacedCounts) -> PlacedCounts {
    var sum = a
    sum.placed += b.placed
    sum.focusable += b.focusable
    sum.scrollRegions += b.scrollRegions
    return sum
  }

  static func - (a: PlacedCounts, b: PlacedCounts) -> PlacedCounts {
    var rest = a
    rest.placed -= b.placed
    rest.focusable -= b.focusable
    rest.scrollRegions -= b.scrollRegions
    return rest
  }
}

/// The placing of a node, and the part of the result with the node and all nodes below it.
struct PlacedBefore: Sendable {
  var slot: LayoutPass.Slot
  var parent: Int?
  /// The start of the part, relative to the start of the parent's part. So it stays valid if the
  /// parent's part is reused as a whole.
  var start: PlacedCounts
  var count: PlacedCounts
  /// Whether something in it is clipped.
  var isClipped: Bool
}

/// Reuse of parts of the previous layout. A node is placed by copying if the node, all nodes below
/// it, and the room from its parent are unchanged.
extension LayoutPass {
  /// Places a node by copying, or else with `body`.
  mutating func placing(
    _ index: Int, _ slot: Slot, _ body: (inout LayoutPass) -> Void
  ) {
    let parent = table.parent(of: index)
    let before = start(of: index, parent)
    let now = PlacedCounts(result)
    if let before, let known = nodes[index].placed, nodes[index].isPlaced, known.slot == slot,
      known.count.scrollRegions == 0 || scroll == previous.scroll
    {
      let end = before + known.count
      let old = previous.result
      result.placed += old.placed[before.placed..<end.placed]
      result.focusable += old.focusable[before.focusable..<end.focusable]
      result.scrollRegions += old.scrollRegions[before.scrollRegions..<end.scrollRegions]
      if known.isClipped { result.isClipped = true }
      nodes[index].placed?.start = now - origin.now
      return
    }
    let (outer, wasClipped) = (origin, result.isClipped)
    origin = (now, before)
    result.isClipped = false
    body(&self)
    nodes[index].placed = PlacedBefore(
      slot: slot, parent: parent, start: now - outer.now, count: PlacedCounts(result) - now,
      isClipped: result.isClipped)
    nodes[index].isPlaced = true
    origin = outer
    if wasClipped { result.isClipped = true }
  }

  /// The start of a node's part in the previous layout. Nil if the node was not in it, or had
  /// another parent.
  private func start(of index: Int, _ parent: Int?) -> PlacedCounts? {
    guard let outer = origin.before, let known = nodes[index].placed, known.parent == parent else {
      return nil
    }
    let start = outer + known.start
    guard previous.result.placed.indices.contains(start.placed),
      previous.result.placed[start.placed].index == index
    else { return nil }
    return start
  }
}
