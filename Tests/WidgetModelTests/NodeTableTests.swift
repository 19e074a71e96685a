import SeededRandom
import Testing
import WidgetModel

@Suite struct NodeTableTests {
  private func node(_ id: String, _ children: [String] = [], text: String = "") -> Node {
    Node(
      id: id, type: children.isEmpty ? .label : .stack, properties: ["text": .string(text)],
      childIDs: children)
  }

  private func table(_ nodes: Node...) -> NodeTable {
    NodeTable(Content(rootID: nodes[0].id, nodes: nodes))
  }

  private func ids(_ indices: [Int], in table: NodeTable) -> [String] {
    indices.compactMap { table[$0]?.node.id }
  }

  @Test func `nodes know their parent and their children`() throws {
    let table = table(node("top", ["a", "b"]), node("a"), node("b", ["c"]), node("c"))
    let root = try #require(table.root)
    #expect(ids(table[root]?.children ?? [], in: table) == ["a", "b"])
    let index = try #require(table.index(of: "c"))
    #expect(table[index]?.parent == table.index(of: "b"))
    #expect(table[root]?.parent == nil)
    #expect(table.count == 4)
  }

  @Test(arguments: [
    // A row is added, is removed, and moves to the front; two rows exchange their places.
    (["top a b c"], ["top a x b c", "x"], ContentDifference(changed: ["top"], inserted: ["x"])),
    (["top a b c"], ["top a c"], ContentDifference(changed: ["top"], removed: ["b"])),
    (
      ["top a b c"], ["top c a b"],
      ContentDifference(changed: ["top"], moved: ["a", "b", "c"])
    ),
    (["top a b c"], ["top a c b"], ContentDifference(changed: ["top"], moved: ["b", "c"])),
    // Only the order of the remaining children counts: a new or removed child moves no other.
    (
      ["top a b c"], ["top x b c", "x"],
      ContentDifference(
        changed: ["top"], inserted: ["x"], removed: ["a"])
    ),
    // A node moves to another parent, from above, from below, and with its descendants.
    (
      ["top a b", "a c", "c d"], ["top a b", "a", "b c"],
      ContentDifference(changed: ["a", "b"], moved: ["c"])
    ),
    (["top a", "a b"], ["top a b", "a"], ContentDifference(changed: ["top", "a"], moved: ["b"])),
    (
      ["top a", "a b"], ["top b", "b"],
      ContentDifference(changed: ["top"], removed: ["a"], moved: ["b"])
    ),
    // A node moves with a new node in between, and below a new one.
    (
      ["top a"], ["top x", "x a"],
      ContentDifference(changed: ["top"], inserted: ["x"], moved: ["a"])
    ),
    // The same again.
    (["top a b"], ["top a b"], ContentDifference()),
  ])
  func `a change names the changed, new, removed and moved nodes`(
    _ before: [String], _ set: [String], _ expected: ContentDifference
  ) {
    func nodes(_ lines: [String]) -> [Node] {
      let words = lines.map { $0.split(separator: " ").map(String.init) }
      let known = words.map { node($0[0], Array($0.dropFirst())) }
      let named = Set(known.map(\.id))
      return known + Set(words.flatMap { $0.dropFirst() }).subtracting(named).map { node($0) }
    }
    let start = ContentChange(replaces: true, rootID: "top", setNodes: nodes(before))
    var table = NodeTable()
    table.apply(start)
    let old = table.content
    let words = set.map { $0.split(separator: " ").map(String.init) }
    let change = ContentChange(setNodes: words.map { node($0[0], Array($0.dropFirst())) })
    // A node without children is a label here, so a node that lost its children has changed.
    #expect(table.apply(change).ids == expected)
    #expect(ContentDifference(from: old, to: table.content) == expected)
    #expect(NaiveContent.applying(change, to: old) == table.content)
  }

  @Test func `a copy keeps its nodes`() throws {
    var nodes = [node("top", (0..<100).map { "n\($0)" })]
    nodes += (0..<100).map { node("n\($0)") }
    var content: Content? = Content(rootID: "top", nodes: nodes)
    content?.makeTable()
    let copy = content
    Content.apply(ContentChange(setNodes: [node("n40", text: "new")]), to: &content)
    Content.apply(ContentChange(setNodes: [node("top", ["n40"])]), to: &content)
    #expect(copy?.nodes == nodes)
    #expect(copy?["n40"]?.properties["text"] == .string(""))
    #expect(content?.nodes.map(\.id) == ["top", "n40"])
    #expect(content?["n40"]?.properties["text"] == .string("new"))
    #expect(content?["n41"] == nil)
  }

  @Test func `a list and a table of the same nodes are equal`() {
    let list = Content(rootID: "top", nodes: [node("top", ["a"]), node("a")])
    var table = list
    table.makeTable()
    #expect(list == table)
    #expect(list.hashValue == table.hashValue)
    #expect(list["a"] == table["a"])
    #expect(table["x"] == nil && list["x"] == nil)
    table.nodes[1].problem = "p"
    #expect(table["a"]?.problem == "p")
    #expect(list != table)
  }

  @Test func `a changed node is the only index that changed`() throws {
    var table = table(node("top", ["a", "b"]), node("a"), node("b"))
    let index = try #require(table.index(of: "b"))
    let changes = table.apply(ContentChange(setNodes: [node("a"), node("b", text: "new")]))
    #expect(
      changes == NodeTable.Changes(changed: [index], ids: ContentDifference(changed: ["b"])))
    #expect(table[index]?.node.properties["text"] == .string("new"))
  }

  @Test func `a node that its parent leaves out goes with all below it`() throws {
    var table = table(node("top", ["a", "b"]), node("a", ["c"]), node("b"), node("c"))
    let gone = ["a", "c"].compactMap { table.index(of: $0) }
    let root = try #require(table.root)
    let changes = table.apply(ContentChange(setNodes: [node("top", ["b"])], removedIDs: ["a"]))
    #expect(changes.changed == [root])
    #expect(Set(changes.removed) == Set(gone))
    #expect(table.count == 2)
    #expect(table.index(of: "c") == nil)
    #expect(gone.allSatisfy { table[$0] == nil })
  }

  @Test func `a node that moves keeps its index`() throws {
    var table = table(
      node("top", ["a", "b"]), node("a", ["c"]), node("b", ["d"]), node("c"), node("d"))
    let index = try #require(table.index(of: "c"))
    let changes = table.apply(
      ContentChange(setNodes: [node("top", ["b"]), node("b", ["c", "d"])]))
    #expect(!changes.replacesAll)
    #expect(table.index(of: "c") == index)
    #expect(table[index]?.parent == table.index(of: "b"))
    #expect(table.index(of: "a") == nil)
  }

  @Test func `a free index is used again and reported as changed`() throws {
    var table = table(node("top", ["a"]), node("a"))
    let index = try #require(table.index(of: "a"))
    table.apply(ContentChange(setNodes: [node("top", [])]))
    let changes = table.apply(ContentChange(setNodes: [node("top", ["z"]), node("z")]))
    #expect(table.index(of: "z") == index)
    #expect(changes.changed.contains(index))
    #expect(table.indexEnd == 2)
  }

  @Test func `no content and a root that is missing have no nodes`() {
    var table = NodeTable(nil)
    #expect(table.content == nil)
    #expect(table.root == nil)
    table = NodeTable(Content(rootID: "top", nodes: []))
    #expect(table.content == Content(rootID: "top", nodes: []))
    table.apply(ContentChange(setNodes: [node("top")]))
    #expect(table.content == Content(rootID: "top", nodes: [node("top")]))
    #expect(table[-1] == nil && table[99] == nil)
  }

  @Test(arguments: [
    // A cycle below the root, a cycle without the root, and the root below itself.
    [("top", ["a"]), ("a", ["b"]), ("b", ["a"])],
    [("top", []), ("a", ["b"]), ("b", ["a"])],
    [("top", ["a"]), ("a", ["top"])],
    // A child of itself, a child of two parents, a repeated child, and a missing child.
    [("top", ["a"]), ("a", ["a"])],
    [("top", ["a", "b"]), ("a", ["c"]), ("b", ["c"]), ("c", [])],
    [("top", ["a", "a"]), ("a", [])],
    [("top", ["a", "ghost"]), ("a", [])],
    // Nodes outside the tree.
    [("top", ["a"]), ("a", []), ("lost", ["x"]), ("x", [])],
  ])
  func `faulty content is cut to a tree`(_ faulty: [(String, [String])]) {
    let nodes = faulty.map { node($0.0, $0.1) }
    let change = ContentChange(replaces: true, rootID: "top", setNodes: nodes)
    var table = NodeTable()
    table.apply(change)
    #expect(table.content == NaiveContent.applying(change, to: nil))
    expectTree(table)
    // The same, as a change to a valid content.
    table = self.table(node("top", ["x"]), node("x"))
    let later = ContentChange(setNodes: nodes)
    let before = table.content
    let expected = NaiveContent.applying(later, to: before)
    let ids = table.apply(later).ids
    #expect(table.content == expected)
    #expect(ids == NaiveContent.difference(from: before, to: expected))
    expectTree(table)
  }

  @Test func `content of any depth is taken`() {
    let depth = 100_000
    let nodes = (0..<depth).map { node("\($0)", $0 + 1 < depth ? ["\($0 + 1)"] : []) }
    let table = NodeTable(Content(rootID: "0", nodes: nodes))
    #expect(table.count == depth)
    #expect(table.content?.nodes.count == depth)
  }

  @Test(arguments: 0..<300 as Range<UInt64>)
  func `random changes give the state of a simple reader`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let names = (0..<12).map { "n\($0)" }
    var content: Content?
    var table = NodeTable()
    for step in 0..<40 {
      var change = ContentChange()
      // Every second history has some faulty changes; the others stay well-formed.
      if let current = content, !current.nodes.isEmpty, seed % 2 == 0 || !random.chance(10) {
        change = wellFormed(current, &random)
      } else {
        change.replaces = random.chance(30)
        change.rootID = random.chance(30) || content == nil ? random.pick(names) : ""
        change.removedIDs = (0..<random.below(3)).map { _ in random.pick(names) }
        change.setNodes = (0..<random.below(8)).map { _ in
          node(
            random.pick(names), (0..<random.below(4)).map { _ in random.pick(names) },
            text: "\(random.below(3))")
        }
        if seed % 2 == 0 {
          change = ContentChange(replacingBy: Content(rootID: "r", nodes: [node("r")]))
        }
      }
      let before = table
      let old = content
      content = NaiveContent.applying(change, to: content)
      let changes = table.apply(change)
      let same = table.content == content
      #expect(same, "seed \(seed), step \(step)")
      let ids = NaiveContent.difference(from: old, to: content)
      #expect(changes.ids == ids, "seed \(seed), step \(step)")
      #expect(table.index(of: "nobody") == nil)
      for node in content?.nodes ?? [] {
        #expect(table.content?[node.id] == node, "seed \(seed), step \(step), \(node.id)")
      }
      expectTree(table)
      // Nodes without a change are the same as before.
      for index in 0..<table.indexEnd where !changes.changed.contains(index) {
        let isSame =
          before[index]?.node == table[index]?.node
          && before[index]?.children == table[index]?.children
        #expect(isSame || changes.removed.contains(index), "seed \(seed), step \(step), \(index)")
      }
      if seed % 2 == 0, step > 0 { #expect(!changes.replacesAll, "seed \(seed), step \(step)") }
      guard same else { return }
    }
  }

  /// A change that keeps the tree a tree: new texts, new and removed children, and moved ones.
  private func wellFormed(_ content: Content, _ random: inout SeededGenerator) -> ContentChange {
    var nodes = Dictionary(content.nodes.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
    var change = ContentChange()
    for _ in 0..<(1 + random.below(3)) {
      var node = nodes[random.pick(nodes.keys.sorted())] ?? self.node("r")
      switch random.below(4) {
      case 0: node.properties["text"] = .int(Int64(random.below(5)))
      case 1:
        let child = self.node("x\(random.below(1_000_000))")
        node.childIDs.insert(child.id, at: random.below(node.childIDs.count + 1))
        nodes[child.id] = child
        change.setNodes.append(child)
      case 2:
        if let child = node.childIDs.last, child != content.rootID, child != node.id {
          node.childIDs.removeLast()
          change.removedIDs.append(child)
          nodes[child] = nil
        }
      default: node.childIDs.reverse()
      }
      nodes[node.id] = node
      change.setNodes.append(node)
      // The descendants of a removed node are removed too.
      let reached = Set(
        NaiveContent.applying(
          ContentChange(replaces: true, rootID: content.rootID, setNodes: Array(nodes.values)),
          to: nil)?.nodes.map(\.id) ?? [])
      nodes = nodes.filter { reached.contains($0.key) }
      change.setNodes.removeAll { !reached.contains($0.id) }
      change.removedIDs.removeAll { reached.contains($0) }
    }
    return change
  }

  private func expectTree(_ table: NodeTable) {
    var reached = 0
    var waiting = table.root.map { [$0] } ?? []
    while let index = waiting.popLast(), let entry = table[index] {
      reached += 1
      guard reached <= table.count else { break }
      for child in entry.children { #expect(table[child]?.parent == index) }
      waiting += entry.children
    }
    #expect(reached == table.count)
  }
}
