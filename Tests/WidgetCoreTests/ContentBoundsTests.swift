import SeededRandom
import Testing
import WidgetExpression
import WidgetModel

@testable import WidgetCore

/// Content that is too large, or costs too much.
struct ContentBoundsTests: ContentSamples {
  @Test func `rows over the limit are left out, and the list's problem names the limit`() throws {
    var store = try store(limits: .with { $0.contentNodesMax = 20 })
    let items = (0..<10).map { Self.item("\($0)", "\($0)") }
    try store.set("a", ["items": .list(items)])
    #expect(ids(store).count <= 20)
    #expect(store.widget("a")?.content?["list"]?.problem.contains("content_nodes_max") == true)
    #expect(store.checkInvariants() == [])
    try store.set("a", ["items": .list(Array(items.suffix(2)))])
    #expect(store.widget("a")?.content?["list"]?.problem == "")
    #expect(store.widget("a")?.content?["list"]?.childIDs == ["row/8", "row/9"])
    #expect(store.checkInvariants() == [])
  }

  @Test func `content over a limit has a problem, and the change is made`() throws {
    var store = try store(limits: .with { $0.contentCostMax = 200 })
    try store.set("a", ["items": .list((0..<50).map { Self.item("\($0)", "\($0)") })])
    let content = try #require(store.widget("a")?.content)
    #expect(content.nodes.contains { $0.problem.contains("cost") })
    store = try self.store(limits: .with { $0.contentBytesMax = 2_000 })
    try store.set("a", ["suffix": .string(String(repeating: "s", count: 3_000))])
    try store.set("a", ["items": .list([Self.item("x", "X")])])
    #expect(store.widget("a")?.content?["name/x"]?.problem.contains("content_bytes_max") == true)
  }

  private static let growing: [(String, Command)] = [
    ("create", .create(WidgetSpec(id: "z", kind: "list"))),
    ("update", .update("a", .set(["suffix": .string(String(repeating: "s", count: 60))]))),
    ("event", .sendEvent(EventDraft(widgetID: "a", name: "fill"))),
    ("presence", .setPresence(.all, .hide)),
    ("updates", .provide([ProvidedUpdate("a", .set(["count": .int(3)]))], by: "desk")),
    ("set", .apply(Declaration(applySet: "s", widgets: [WidgetSpec(id: "z", kind: "list")]))),
    (
      "kinds",
      .applyKinds(
        KindDeclaration(
          provider: "desk",
          kinds: [growingKind("'1234567890' + data.suffix + string(data.count)")]))
    ),
  ]

  private static func growingKind(_ text: String) -> Kind {
    let root = NodeTemplate(
      id: "r", type: .stack,
      children: [
        NodeTemplate(id: "l", type: .label, properties: ["text": Binding(text)]),
        NodeTemplate(
          id: "more", type: .label, properties: ["text": Binding("'more'")],
          rows: RowTemplate(list: "!widget.visible || data.count > 2 ? [1, 2, 3] : []")),
      ])
    var kind = Self.kind([ContentTemplate(root: root)])
    kind.reducers = [Reducer(event: "fill", assignments: ["suffix": "'0123456789'"])]
    kind.events = [EventType(name: "fill")]
    return kind
  }

  @Test(arguments: growing, [true, false])
  func `a change that makes a user's contents exceed the limit is refused`(
    growing: (name: String, command: Command), isRevocable: Bool
  ) throws {
    var store = Store(isRevocable: isRevocable)
    try store.register([Self.growingKind("data.suffix + string(data.count)")])
    for id: WidgetID in ["a", "b"] { try store.create(id, kind: "list") }
    store.commitGroup(at: .at(0))
    let used = store.highestUsage.contentBytes
    store.limits.contentBytesPerUIDMax = used + 5
    #expect(
      store.refusal(of: growing.command)
        == .quotaExceeded(limit: "content_bytes_per_uid_max", maximum: used + 5))
    #expect(store.checkInvariants() == [])
    // The limit is the owner's, not the caller's.
    let makes = ["create", "set"].contains(growing.name)
    store.limits.contentBytesPerUIDMax = used
    let other = WidgetSpec(id: "o", kind: "list")
    try store.run(.create(other), uid: 9)
    #expect(store.refusal(of: growing.command, uid: makes ? 1_000 : 9) != nil)
    store.limits.contentBytesPerUIDMax = used + 1_000
    try store.run(growing.command)
    #expect(store.highestUsage.contentBytes > used)
    #expect(store.checkInvariants() == [])
  }

  @Test(arguments: [true, false])
  func `the limit counts for the first widget of all, too`(isRevocable: Bool) throws {
    var store = Store(isRevocable: isRevocable)
    try store.register([Self.growingKind("data.suffix + string(data.count)")])
    store.commitGroup(at: .at(0))
    store.limits.contentBytesPerUIDMax = 5
    #expect(
      store.refusal(of: .create(WidgetSpec(id: "a", kind: "list")))
        == .quotaExceeded(limit: "content_bytes_per_uid_max", maximum: 5))
  }

  @Test func `a change that makes contents smaller is not refused, and frees room`() throws {
    var store = try store()
    try store.set("a", ["items": .list((0..<5).map { Self.item("\($0)", "n") })])
    store.limits.contentBytesPerUIDMax = 100
    try store.set("a", ["items": .list((0..<4).map { Self.item("\($0)", "n") })])
    #expect(store.refusal(of: .create(WidgetSpec(id: "b", kind: "list"))) != nil)
    try store.run(.delete("a"))
    #expect(store.highestUsage.contentBytes == 0)
    store.limits.contentBytesPerUIDMax = 1_000
    try store.create("b", kind: "list")
    #expect(store.checkInvariants() == [])
  }

  @Test(arguments: [true, false])
  func `limits of Int.max do not overflow`(isRevocable: Bool) throws {
    var limits = StoreLimits()
    (limits.contentNodesMax, limits.contentBytesMax) = (.max, .max)
    (limits.contentBytesPerUIDMax, limits.contentCostMax) = (.max, .max)
    limits.contentCostPerCommandMax = .max
    var store = Store(limits: limits, isRevocable: isRevocable)
    try store.register([Self.kind([ContentTemplate(root: Self.root)])])
    try store.create("a", kind: "list")
    try store.set("a", ["items": .list([.map(["id": .int(1), "name": .int(2)])])])
    #expect(store.widget("a")?.content?["name/1"]?.problem != "")
    #expect(store.checkInvariants() == [])
  }

  @Test func `a new first row pushes the last row out of a full list`() throws {
    var store = try store(limits: .with { $0.contentNodesMax = 5 + 3 * 5 })
    let items = (0..<5).map { Self.item("\($0)", "\($0)") }
    try store.set("a", ["items": .list(items)])
    #expect(store.widget("a")?.content?["list"]?.childIDs.count == 5)
    try store.set("a", ["items": .list([Self.item("new", "N")] + items)])
    #expect(
      store.widget("a")?.content?["list"]?.childIDs
        == ["row/new", "row/0", "row/1", "row/2", "row/3"])
    #expect(store.checkInvariants() == [])
  }

  @Test func `constants count in each row, and a template with larger ones is refused`() throws {
    let large = NodeTemplate(
      id: "row", type: .label,
      properties: ["text": Binding(value: .string(String(repeating: "x", count: 1_000)))],
      rows: RowTemplate(list: "data.items"))
    var store = Store(limits: .with { $0.contentBytesMax = 4_500 })
    let stack = NodeTemplate(id: "r", type: .stack, children: [large])
    try store.register([Self.kind([ContentTemplate(root: stack)])])
    try store.create("a", kind: "list")
    try store.set("a", ["items": .list((0..<50).map { Self.item("\($0)", "") })])
    #expect(store.widget("a")?.content?["r"]?.childIDs.count == 4)
    #expect(store.widget("a")?.content?["r"]?.problem.contains("content_bytes_max") == true)
    #expect(store.checkInvariants() == [])
    var alone = large
    alone.rows = nil
    alone.properties["text"] = Binding(value: .string(String(repeating: "x", count: 9_000)))
    #expect(
      store.refusal(
        of: .applyKinds(
          KindDeclaration(
            provider: "desk", kinds: [Self.kind([ContentTemplate(root: alone)])]))) != nil)
  }

  @Test func `a failing condition is the problem of the parent while it fails`() throws {
    var store = Store()
    let row = NodeTemplate(
      id: "row", type: .label, condition: "item.missing == 1",
      rows: RowTemplate(list: "data.items", key: "item.id"))
    let stack = NodeTemplate(id: "r", type: .stack, children: [row])
    try store.register([Self.kind([ContentTemplate(root: stack)])])
    try store.create("a", kind: "list")
    for round in 0..<5 {
      let items = (0..<20).map { Self.item("\(round)-\($0)", "") }
      try store.set("a", ["items": .list(items)])
      #expect(
        store.widget("a")?.content?["r"]?.problem.hasPrefix("row/\(round)-0.condition: ") == true)
      #expect(store.checkInvariants() == [])
    }
    try store.set("a", ["items": .list([])])
    #expect(store.widget("a")?.content?["r"]?.problem == "")
  }

  @Test func `a value without room is replaced by the placeholder, not by the old value`() throws {
    var store = Store(limits: .with { $0.contentBytesMax = 2_000 })
    let root = NodeTemplate(
      id: "r", type: .label,
      properties: ["text": Binding("data.suffix", placeholder: .string("--"))])
    try store.register([Self.kind([ContentTemplate(root: root)])])
    try store.create("a", kind: "list", data: ["suffix": .string("old")])
    try store.set("a", ["suffix": .string(String(repeating: "s", count: 3_000))])
    #expect(text("r", store) == .string("--"))
    #expect(store.checkInvariants() == [])
  }

  @Test(arguments: 0..<12)
  func `keys of any length and form make separate rows`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var store = Store(limits: .with { $0.contentNodesMax = 200 })
    let cell = NodeTemplate(
      id: "cell", type: .stack, rows: RowTemplate(list: "row.cells", name: "cell", key: "cell"),
      children: [NodeTemplate(id: "leaf", type: .label, properties: ["text": Binding("cell")])])
    let row = NodeTemplate(
      id: "row", type: .stack,
      rows: RowTemplate(list: "data.items", name: "row", key: "row.id"), children: [cell])
    try store.register([
      Self.kind([ContentTemplate(root: NodeTemplate(id: "r", type: .stack, children: [row]))])
    ])
    try store.create("a", kind: "list")
    store.commitGroup(at: .at(0))
    // Some of the keys equal the shortened ids of other keys.
    var keys =
      [22, 23, 24, 25, 55, 60, 200].map { String(repeating: "a", count: $0) } + ["b", "", "a/b"]
    for _ in 0..<60 {
      let items = (0..<random.below(5)).map { _ in
        Value.map([
          "id": .string(random.pick(keys)),
          "cells": .list((0..<random.below(4)).map { _ in .string(random.pick(keys)) }),
        ])
      }
      try store.set("a", ["items": .list(items)])
      if random.chance(30) { store.rollbackGroup() } else { store.commitGroup(at: .at(0)) }
      let violations = store.checkInvariants()
      guard violations.isEmpty else {
        Issue.record("\(violations)")
        return
      }
      let parts = ids(store).flatMap { NodeID.rowKeys(of: $0) } + ids(store)
      if !parts.isEmpty { keys += random.some(parts, max: 2) }
      if keys.count > 40 { keys.removeFirst(20) }
    }
  }
}
