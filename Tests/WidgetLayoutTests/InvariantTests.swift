import NodeSamples
import SeededRandom
import Testing
import WidgetModel

@testable import WidgetLayout

/// Properties of every content at every width, on random trees. A failure names its seed.
@Suite struct InvariantTests {
  private static let metrics = LayoutMetrics.cells(dateText: { $0.text("format") })
  private static let points = LayoutMetrics(scale: .points, measure: PointMeasure()) {
    $0.text("format")
  }

  @Test(arguments: 0..<250 as Range<UInt64>)
  func `no node overlaps another or leaves its frame`(seed: UInt64) {
    checkPlaces(seed, RandomTree(seed: seed))
  }

  @Test(arguments: 2_000..<2_250 as Range<UInt64>)
  func `nodes stay in their frames if paddings exceed the room`(seed: UInt64) {
    checkPlaces(seed, RandomTree(seed: seed, tight: 50))
  }

  private func checkPlaces(_ seed: UInt64, _ trees: RandomTree) {
    var trees = trees
    let content = trees.tree().content
    let table = NodeTable(content)
    for _ in 0..<4 {
      let isCells = trees.chance(75)
      let width = Int.random(in: 0...300, using: &trees.random) * (isCells ? 1 : 512)
      let height: Int? =
        trees.chance(40)
        ? Int.random(in: 0...40, using: &trees.random) * (isCells ? 1 : 1_024) : nil
      let scroll = Dictionary(
        uniqueKeysWithValues: content.nodes.map {
          ($0.id, Int.random(in: -5...50, using: &trees.random))
        })
      var engine = LayoutEngine(metrics: isCells ? Self.metrics : Self.points)
      let result = engine.layout(table, width: width, height: height, scroll: scroll)
      let problems = Self.problems(result, table)
      #expect(problems.prefix(2) == [], "seed \(seed), width \(width), height \(height ?? -1)")
      var other = LayoutEngine(metrics: isCells ? Self.metrics : Self.points)
      #expect(other.layout(table, width: width, height: height, scroll: scroll) == result)
      guard problems.isEmpty else { return }
    }
  }

  @Test(arguments: 1_000..<1_250 as Range<UInt64>)
  func `an update gives the same as a complete layout`(seed: UInt64) {
    var trees = RandomTree(seed: seed)
    var table = NodeTable(trees.tree().content)
    var engine = LayoutEngine(metrics: Self.metrics)
    for step in 0..<12 {
      let width = step % 3 == 0 ? Int.random(in: 1...120, using: &trees.random) : 60
      let height: Int? = trees.chance(30) ? 20 : nil
      let scroll =
        trees.chance(50) ? [:] : [table.rootID: Int.random(in: 0...9, using: &trees.random)]
      var updated = engine.layout(table, width: width, height: height, scroll: scroll)
      var fresh = LayoutEngine(metrics: Self.metrics)
      var whole = fresh.layout(table, width: width, height: height, scroll: scroll)
      (updated.measuredCount, whole.measuredCount) = (0, 0)
      let isSame = updated == whole
      #expect(isSame, "seed \(seed), step \(step)")
      guard isSame else { return }
      for _ in 0..<Int.random(in: 1...3, using: &trees.random) {
        engine.invalidate(table.apply(change(of: table, &trees)))
      }
    }
  }

  private func change(of table: NodeTable, _ trees: inout RandomTree) -> ContentChange {
    guard var node = table.content?.nodes.randomElement(using: &trees.random) else {
      return ContentChange()
    }
    switch Int.random(in: 0..<4, using: &trees.random) {
    case 0 where !node.childIDs.isEmpty:
      node.childIDs.removeLast()
      return ContentChange(setNodes: [node])
    case 1 where node.type?.isContainer ?? true:
      let new = Node(
        id: "new\(trees.random.next())", type: .label, properties: ["text": "new one"])
      node.childIDs.insert(new.id, at: 0)
      return ContentChange(setNodes: [node, new])
    case 2:
      node.childIDs.reverse()
      return ContentChange(setNodes: [node])
    default: return ContentChange(setNodes: [trees.changed(node)])
    }
  }

  // MARK: - Invariants

  static func problems(_ result: LayoutResult, _ table: NodeTable) -> [String] {
    var problems: [String] = []
    var byIndex: [Int: PlacedNode] = [:]
    for node in result.placed {
      let name = "\(node.id) (\(node.type?.name ?? "?"))"
      if byIndex.updateValue(node, forKey: node.index) != nil { problems.append("\(name) twice") }
      if node.frame.width < 0 || node.frame.height < 0 { problems.append("\(name) is negative") }
      if !node.frame.contains(node.inner) { problems.append("\(name): inner outside \(node)") }
      if !node.frame.contains(node.clip) { problems.append("\(name): clip outside of frame") }
      problems += columns(node, name)
      if let parent = table.parent(of: node.index) {
        guard let parent = byIndex[parent] else {
          problems.append("\(name) is before its parent")
          continue
        }
        if !node.clip.isEmpty, !parent.clip.contains(node.clip) {
          problems.append("\(name) is seen outside of \(parent.id)")
        }
        if parent.scroll?.axis != .horizontal, !isScrolled(node.index, table, byIndex),
          node.frame.endX > result.size.width || node.frame.x < 0
        {
          problems.append("\(name) is pushed off")
        }
        if parent.scroll?.axis != .horizontal,
          node.frame.x < parent.frame.x || node.frame.endX > parent.frame.endX
        {
          problems.append("\(name) is beside \(parent.id)")
        }
      } else if node.frame.endX > result.size.width || node.frame.x < 0 {
        problems.append("\(name) is wider than there is room")
      }
      problems += inside(node, name)
    }
    for node in result.placed where !isLayered(node, table) {
      let children = (table[node.index]?.children ?? []).compactMap { byIndex[$0] }
      // A scrolled child can extend below the accessory, where it is hidden.
      let areas = children.map { child in
        node.scroll == nil ? child.frame : child.frame.intersection(child.clip)
      }
      for (position, area) in areas.enumerated() {
        for other in areas.indices[(position + 1)...] where area.overlaps(areas[other]) {
          problems.append(
            "\(children[position].id) overlaps \(children[other].id) in \(node.id)")
        }
      }
    }
    return problems
  }

  private static func isScrolled(
    _ index: Int, _ table: NodeTable, _ placed: [Int: PlacedNode]
  ) -> Bool {
    var above = table.parent(of: index)
    while let parent = above {
      if placed[parent]?.scroll?.axis == .horizontal { return true }
      above = table.parent(of: parent)
    }
    return false
  }

  private static func isLayered(_ node: PlacedNode, _ table: NodeTable) -> Bool {
    node.type == .stack && table[node.index]?.node.properties["axis"] == .string("layered")
  }

  /// The columns, lines and viewport of one node.
  private static func columns(_ node: PlacedNode, _ name: String) -> [String] {
    var problems: [String] = []
    for column in node.columns
    where column.length < 0 || column.start < node.frame.x || column.end > node.frame.endX {
      problems.append("\(name): column \(column) outside of \(node.frame)")
    }
    for line in node.dividers where !node.frame.contains(line) {
      problems.append("\(name): divider outside")
    }
    if let viewport = node.scroll?.viewport, !node.frame.contains(viewport) {
      problems.append("\(name): viewport outside")
    }
    return problems
  }

  /// The texts and parts of one node.
  private static func inside(_ node: PlacedNode, _ name: String) -> [String] {
    var problems: [String] = []
    let reserved = [node.separator, node.accessory].compactMap { $0 }
    if let separator = node.separator, !node.frame.contains(separator) {
      problems.append("\(name): separator outside")
    }
    if let accessory = node.accessory, !node.frame.contains(accessory) {
      problems.append("\(name): accessory outside")
    }
    let drawn = node.texts.map(\.frame) + node.parts.map(\.frame)
    for frame in drawn {
      if frame.x < node.frame.x || frame.endX > node.frame.endX {
        problems.append("\(name): text or part at \(frame) outside of \(node.frame)")
      }
      for other in reserved
      where frame.intersection(node.clip).intersection(node.inner).overlaps(other) {
        problems.append("\(name): text or part over separator or accessory")
      }
    }
    for (position, text) in node.texts.enumerated() {
      if text.text.unicodeScalars.contains(where: { $0.value < 32 || $0.value == 127 }) {
        problems.append("\(name): control characters")
      }
      for other in node.texts[(position + 1)...] where text.frame.overlaps(other.frame) {
        problems.append("\(name): '\(text.text)' overlaps '\(other.text)'")
      }
      for part in node.parts
      where ![.button, .submit, .field].contains(part.kind) && part.frame.overlaps(text.frame) {
        problems.append("\(name): '\(text.text)' overlaps \(part.kind)")
      }
    }
    return problems
  }
}

/// Seven points for each column, and lines of 1.25 times the font's size.
struct PointMeasure: TextMeasure {
  func width(of text: Substring, font: ThemeFont) -> Int { TextColumns.width(of: text) * 7 * 64 }
  func lineHeight(of font: ThemeFont) -> Int { Int(font.size * 1.25 * 64) }
}
