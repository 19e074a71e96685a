import Testing
import WidgetClient
import WidgetModel

/// The effects of changed contents on a mirror.
@Suite struct MirrorContentTests {
  private static func node(_ id: String, _ children: [String] = [], text: String = "") -> Node {
    Node(
      id: id, type: children.isEmpty ? .label : .stack, properties: ["text": .string(text)],
      childIDs: children)
  }

  private static let list = Content(
    rootID: "top", nodes: [node("top", ["a", "b"]), node("a"), node("b")])

  /// A mirror that shows `w` with the list, and `bare` without content, at revision 5.
  private static func synced() throws -> WidgetMirror {
    var mirror = WidgetMirror()
    var widget = Widget.sample("w", position: 1)
    widget.content = list
    for frame: WatchFrame in [
      .opened(WatchOpened(subscriptionID: 1, epoch: 7, revision: 5)),
      .snapshot(SnapshotChunk(widgets: [widget, .sample("bare", position: 2)])),
      .synced(WatchSynced(revision: 5)),
    ] {
      _ = try mirror.apply(frame)
    }
    return mirror
  }

  private static func update(_ id: String = "w", _ change: ContentChange) -> WidgetChange {
    var update = WidgetUpdate(id: .of(id), revision: 6, updateTime: .epoch)
    update.content = change
    return .updated(update)
  }

  private static func set(_ changes: WidgetChange..., more: Bool = false) -> WatchFrame {
    .changes(ChangeSet(fromRevision: 5, toRevision: more ? 0 : 6, changes: changes, more: more))
  }

  private static func widget(_ id: String, _ content: Content?) -> Widget {
    var widget = Widget.sample(id, position: 1)
    widget.content = content
    return widget
  }

  @Test func `a change names the nodes that it changed`() throws {
    var mirror = try Self.synced()
    let change = ContentChange(setNodes: [Self.node("b", text: "new")])
    let difference = try mirror.apply(Self.set(Self.update("w", change)))
    #expect(difference?.updated == [.of("w")])
    #expect(difference?.contents == [.of("w"): ContentDifference(changed: ["b"])])
    #expect(mirror[.of("w")]?.content?["b"] == Self.node("b", text: "new"))
    #expect(mirror[.of("w")]?.content?["a"] == Self.node("a"))
  }

  @Test func `a widget that is held keeps its content`() throws {
    var mirror = try Self.synced()
    let held = try #require(mirror[.of("w")])
    let change = ContentChange(setNodes: [Self.node("b", text: "new"), Self.node("top", ["b"])])
    _ = try mirror.apply(Self.set(Self.update("w", change)))
    #expect(held.content == Self.list)
    #expect(mirror[.of("w")]?.content?.nodes.map(\.id) == ["top", "b"])
  }

  @Test func `changes of other things name no nodes`() throws {
    var mirror = try Self.synced()
    var update = WidgetUpdate(id: .of("w"), revision: 6, updateTime: .epoch)
    update.setData = ["n": .int(1)]
    let same = ContentChange(setNodes: [Self.node("a")], removedIDs: ["nobody"])
    let difference = try mirror.apply(Self.set(.updated(update), Self.update("bare", same)))
    #expect(difference?.updated.contains(.of("w")) == true)
    #expect(difference?.contents == [:])
    #expect(mirror[.of("bare")]?.content == nil)
  }

  @Test(arguments: [false, true])
  func `several updates of a widget come to one difference`(inPieces: Bool) throws {
    var mirror = try Self.synced()
    let first = Self.update(
      "w",
      ContentChange(setNodes: [
        Self.node("top", ["b", "x"]), Self.node("x"), Self.node("b", text: "1"),
      ]))
    let second = Self.update(
      "w",
      ContentChange(
        setNodes: [Self.node("top", ["c", "b"]), Self.node("c"), Self.node("b")],
        removedIDs: ["x"]))
    if inPieces { #expect(try mirror.apply(Self.set(first, more: true)) == nil) }
    let difference = try mirror.apply(inPieces ? Self.set(second) : Self.set(first, second))
    // `x` was added and removed, and `b` has its former state again.
    #expect(
      difference?.contents == [
        .of("w"): ContentDifference(changed: ["top"], inserted: ["c"], removed: ["a"])
      ])
  }

  @Test func `a widget that is replaced is compared`() throws {
    var mirror = try Self.synced()
    let new = Content(
      rootID: "top",
      nodes: [Self.node("top", ["a", "b"]), Self.node("a", text: "n"), Self.node("b")])
    let added = try mirror.apply(Self.set(.added(Self.widget("w", new), nil)))
    #expect(added?.contents == [.of("w"): ContentDifference(changed: ["a"])])
    #expect(mirror[.of("w")]?.content == new)
    // The same after a reset, and beside a widget that is removed.
    _ = try mirror.apply(.reset(.compacted))
    _ = try mirror.apply(.opened(WatchOpened(subscriptionID: 2, epoch: 7, revision: 9)))
    _ = try mirror.apply(.snapshot(SnapshotChunk(widgets: [Self.widget("w", Self.list)])))
    let synced = try mirror.apply(.synced(WatchSynced(revision: 9)))
    #expect(synced?.contents == [.of("w"): ContentDifference(changed: ["a"])])
    #expect(synced?.removed.map(\.id) == [.of("bare")])
  }

  @Test func `a change beside a removed widget is named too`() throws {
    var mirror = try Self.synced()
    let change = ContentChange(setNodes: [Self.node("b", text: "new")])
    let difference = try mirror.apply(
      Self.set(.removed(.of("bare"), nil), Self.update("w", change)))
    #expect(difference?.removed.map(\.id) == [.of("bare")])
    #expect(difference?.contents == [.of("w"): ContentDifference(changed: ["b"])])
  }

  @Test func `a mirror names the nodes of content that comes or goes`() throws {
    var mirror = try Self.synced()
    let difference = try mirror.apply(
      Self.set(
        Self.update("bare", ContentChange(replacingBy: Self.list)),
        Self.update("w", ContentChange(replacingBy: nil))))
    let all: Set = ["top", "a", "b"]
    #expect(
      difference?.contents == [
        .of("bare"): ContentDifference(inserted: all, isRootChanged: true),
        .of("w"): ContentDifference(removed: all, isRootChanged: true),
      ])
    #expect(mirror[.of("w")]?.content == nil)
    #expect(mirror[.of("bare")]?.content == Self.list)
  }

  @Test(arguments: [
    // A circle, a child of itself and a node beside the tree, children first, nodes twice, no top.
    ([node("top", ["a"]), node("a", ["top"])], ["top", "a"]),
    ([node("top", ["a"]), node("a", ["a"]), node("b")], ["top", "a"]),
    ([node("a", ["ghost"]), node("top", ["a"])], ["top", "a"]),
    ([node("top", ["a", "a"]), node("a"), node("a", text: "1")], ["top", "a"]),
    ([node("a", ["a"])], []),
  ])
  func `content that comes with faults is cut to a tree`(
    _ nodes: [Node], _ shown: [String]
  ) throws {
    var mirror = try Self.synced()
    let content = Content(rootID: "top", nodes: nodes)
    _ = try mirror.apply(Self.set(.added(Self.widget("w", content), nil)))
    let held = mirror[.of("w")]?.content
    #expect(held?.nodes.map(\.id) == shown)
    for node in held?.nodes ?? [] { #expect(held?[node.id] == node) }
  }

  @Test(arguments: [
    // Unknown children and removals, a node twice, circles, the parent of a node that stays, the top.
    ContentChange(setNodes: [node("top", ["a", "ghost", "b"])], removedIDs: ["nobody"]),
    ContentChange(setNodes: [node("a", text: "1"), node("a", text: "2")]),
    ContentChange(setNodes: [node("top", ["a", "a", "b"])]),
    ContentChange(setNodes: [node("a", ["b"]), node("b", ["a"])]),
    ContentChange(setNodes: [node("a", ["top"])]),
    ContentChange(setNodes: [node("a", ["a"])]),
    ContentChange(setNodes: [node("lost", ["b"])]),
    ContentChange(removedIDs: ["a"]),
    ContentChange(removedIDs: ["top"]),
    ContentChange(rootID: "nobody"),
    ContentChange(replaces: true, rootID: "a", setNodes: [node("a", ["b"]), node("b", ["a"])]),
  ])
  func `an inconsistent change leaves a tree`(_ change: ContentChange) throws {
    var mirror = try Self.synced()
    let before = mirror[.of("w")]?.content
    let difference = try mirror.apply(Self.set(Self.update("w", change)))
    let after = mirror[.of("w")]?.content
    let nodes = after?.nodes ?? []
    #expect(Set(nodes.map(\.id)).count == nodes.count)
    for node in nodes { #expect(after?[node.id] == node) }
    let expected = ContentDifference(from: before, to: after)
    #expect(difference?.contents[.of("w")] ?? ContentDifference() == expected)
    // Valid changes continue from this state.
    let good = ContentChange(replacingBy: Self.list)
    _ = try mirror.apply(
      .changes(ChangeSet(fromRevision: 6, toRevision: 7, changes: [Self.update("w", good)])))
    #expect(mirror[.of("w")]?.content == Self.list)
  }
}
