import Testing
import WidgetModel

@testable import WidgetCore

/// The changes for a reader that is only a cursor.
struct ChangesTests {
  @Test func `a reader at the current revision gets nothing`() throws {
    let store = try Store(widgets: ["a"])
    #expect(try store.changes(since: 1) == Delta(fromRevision: 1, toRevision: 1, changes: []))
    #expect(!store.hasChanges(since: 1, moreThan: 0))
  }

  @Test func `new widgets are added, changed ones updated, removed ones removed`() throws {
    var store = try Store(widgets: ["a", "b", "c"])
    try store.set("b", ["x": .int(1)])
    try store.delete("a", transition: .quick)
    try store.create("d", transition: .slow)
    let delta = try store.changes(since: 3)
    #expect((delta.fromRevision, delta.toRevision) == (3, 6))
    var update = WidgetUpdate(id: "b", revision: 4, updateTime: .at(0))
    update.setData = ["x": .int(1)]
    update.content = ContentChange(replacingBy: store.widget("b")?.content)
    let added = try #require(store.widget("d"))
    #expect(
      delta.changes == [.removed("a", .quick), .updated(update), .added(added, .slow)])
  }

  @Test func `removals come first, then the least recently changed`() throws {
    var store = try Store(widgets: ["a", "b", "c", "d"])
    for id in ["c", "a", "d", "c"] as [WidgetID] { try store.set(id, ["x": .int(store.next)]) }
    try store.delete("b")
    #expect(words(try store.changes(since: 4)) == ["-b", "~a", "~d", "~c"])
    #expect(words(try store.changes(since: 0)) == ["+a", "+d", "+c"])
  }

  @Test func `a reader gets only the last of several changes of a key`() throws {
    var store = try Store(widgets: ["a"])
    for number in 1...5 as ClosedRange<Int64> { try store.set("a", ["x": .int(number)]) }
    try store.set("a", ["y": .int(1)])
    try store.unset("a", ["y"])
    try store.run(.setPresence(.ids(["a"]), .hide))
    try store.run(.setPresence(.ids(["a"]), .show))
    var update = WidgetUpdate(id: "a", revision: 10, updateTime: .at(0))
    update.setData = ["x": .int(5)]
    update.unsetData = ["y"]
    update.presence = Presence()
    update.content = ContentChange(replacingBy: store.widget("a")?.content)
    #expect(try store.changes(since: 1).changes == [.updated(update)])
  }

  @Test func `an update names only what changed after the cursor`() throws {
    var store = try Store(widgets: ["a"])
    try store.set("a", ["x": .int(1), "y": .int(2)])
    try store.update("a", .with { $0.setLabels = ["l": "1"] })
    try store.update("a", .with { $0.isStale = true })
    try store.update("a", .with { $0.setParameters = ["p": .int(1)] })
    try store.set("a", ["y": .int(3)])
    guard case .updated(let update) = try store.changes(since: 4).changes.first else {
      Issue.record("not an update")
      return
    }
    var expected = WidgetUpdate(id: "a", revision: 6, updateTime: .at(0))
    expected.setData = ["y": .int(3)]
    expected.setParameters = ["p": .int(1)]
    // The change of content is one node.
    expected.content = ContentChange(setNodes: [
      Node(id: "value/y", type: .label, properties: ["text": .string("3")])
    ])
    #expect(update == expected)
  }

  @Test func `a widget created and removed since the cursor is not mentioned`() throws {
    var store = try Store(widgets: ["a"])
    try store.create("b")
    try store.delete("b")
    #expect(try store.changes(since: 1).changes.isEmpty)
    #expect(words(try store.changes(since: 2)) == ["-b"])
  }

  @Test func `an id removed and used again since the cursor is added only`() throws {
    var store = try Store(widgets: ["a", "b"])
    try store.delete("a")
    try store.create("a", kind: "other")
    let widget = try #require(store.widget("a"))
    #expect(try store.changes(since: 2).changes == [.added(widget, nil)])
    #expect(try store.changes(since: 3).changes == [.added(widget, nil)])
  }

  @Test
  func `an id removed twice since the cursor is removed once, with the first hint`()
    throws
  {
    var store = try Store(widgets: ["a"])
    try store.delete("a", transition: .quick)
    try store.create("a")
    try store.delete("a", transition: .slow)
    #expect(try store.changes(since: 1).changes == [.removed("a", .quick)])
    #expect(try store.changes(since: 2).changes.isEmpty)
    #expect(try store.changes(since: 3).changes == [.removed("a", .slow)])
  }

  @Test func `an id used again for a kind that is not selected is removed`() throws {
    var store = try Store(widgets: ["a"])
    try store.delete("a")
    try store.create("a", kind: "other")
    let selector = Selector(kinds: ["k"])
    #expect(words(try store.changes(since: 1, selecting: selector)) == ["-a"])
    let other = Selector(kinds: ["other"])
    #expect(words(try store.changes(since: 1, selecting: other)) == ["+a"])
  }

  @Test func `selectors by id and kind select only these widgets`() throws {
    var store = try Store(widgets: ["a", "b"])
    try store.create("c", kind: "other")
    try store.set("a", ["x": .int(1)])
    try store.delete("b")
    let ids = Selector(ids: ["c", "a", "missing"])
    #expect(words(try store.changes(since: 2, selecting: ids)) == ["+c", "~a"])
    #expect(words(try store.changes(since: 2, selecting: Selector(ids: ["b"]))) == ["-b"])
    #expect(words(try store.changes(since: 2, selecting: Selector(kinds: ["other"]))) == ["+c"])
    #expect(words(try store.changes(since: 2, selecting: Selector(kinds: ["k"]))) == ["-b", "~a"])
  }

  @Test func `a widget whose labels enter or leave a selector is added or removed`() throws {
    var store = Store()
    try store.create("a", labels: ["room": "hall"])
    try store.create("b")
    let hall = Selector(labels: [.init(key: "room", operator: .isIn, values: ["hall"])])
    try store.update("a", .with { $0.setLabels = ["room": "attic"] }, transition: .quick)
    try store.update("b", .with { $0.setLabels = ["room": "hall"] })
    let b = try #require(store.widget("b"))
    #expect(
      try store.changes(since: 2, selecting: hall).changes == [
        .removed("a", .quick), .added(b, nil),
      ])
    try store.set("a", ["x": .int(1)])
    try store.set("b", ["x": .int(1)])
    #expect(words(try store.changes(since: 4, selecting: hall)) == ["~b"])
    #expect(words(try store.changes(since: 0, selecting: hall)) == ["+b"])
  }

  @Test func `a widget whose family enters or leaves a selector is added or removed`() throws {
    var store = try Store(widgets: ["a"])
    let small = Selector(families: [.small])
    try store.declare([WidgetSpec(id: "a", kind: "k", family: .small)])
    #expect(words(try store.changes(since: 1, selecting: small)) == ["+a"])
    try store.declare([WidgetSpec(id: "a", kind: "k", family: .large)])
    #expect(words(try store.changes(since: 2, selecting: small)) == ["-a"])
  }

  @Test func `a widget that was removed after leaving the selector may be removed again`() throws {
    var store = Store()
    try store.create("a", labels: ["on": ""])
    let on = Selector(labels: [.init(key: "on", operator: .exists)])
    try store.update("a", .with { $0.unsetLabels = ["on"] })
    try store.delete("a")
    #expect(words(try store.changes(since: 1, selecting: on)) == ["-a"])
  }

  @Test func `a hint is the latest one after the cursor`() throws {
    var store = try Store(widgets: ["a"])
    try store.update("a", .set(["x": .int(1)]), transition: .quick)
    try store.update("a", .set(["x": .int(2)]), transition: .slow)
    try store.update("a", .set(["x": .int(3)]))
    let hint = { (delta: Delta) -> Transition? in
      guard case .updated(let update) = delta.changes.first else { return nil }
      return update.transition
    }
    #expect(hint(try store.changes(since: 1)) == .slow)
    #expect(hint(try store.changes(since: 2)) == .slow)
    #expect(hint(try store.changes(since: 3)) == nil)
  }

  @Test func `removed keys are reported sorted, and a key set again is not`() throws {
    var store = Store()
    try store.create("a", data: ["z": .int(1), "b": .int(2), "m": .int(3), "\u{E9}": .int(4)])
    try store.unset("a", ["z", "b"])
    try store.unset("a", ["\u{E9}", "m"])
    try store.set("a", ["m": .int(9)])
    guard case .updated(let update) = try store.changes(since: 1).changes.first else {
      Issue.record("not an update")
      return
    }
    #expect(update.unsetData == ["b", "z", "\u{E9}"])
    #expect(update.setData == ["m": .int(9)])
  }

  @Test func `a cursor in the future belongs to another history`() throws {
    let store = try Store(widgets: ["a", "b"])
    #expect(throws: StoreError.revisionUnknown(current: 2)) { try store.changes(since: 3) }
  }

  @Test func `changes are counted only up to a limit`() throws {
    var store = try Store(widgets: ["a", "b", "c"])
    try store.set("a", ["x": .int(1)])
    try store.set("b", ["x": .int(1)])
    #expect(store.hasChanges(since: 3, moreThan: 1))
    #expect(!store.hasChanges(since: 3, moreThan: 2))
    #expect(store.hasChanges(since: 0, moreThan: 2))
    #expect(!store.hasChanges(since: 0, moreThan: 3))
  }
}

/// The number of remembered removals is limited.
struct CompactionTests {
  @Test func `nothing is forgotten up to the limit`() throws {
    var store = try Store(widgets: ["a", "b", "c"], limits: .with { $0.tombstonesMax = 2 })
    try store.delete("a")
    try store.delete("b")
    store.commitGroup(at: .at(0))
    #expect(store.compactRevision == 0)
    #expect(words(try store.changes(since: 3)) == ["-a", "-b"])
  }

  @Test func `above a small limit the older half is dropped, and older cursors are compacted`()
    throws
  {
    let ids = (1...5).compactMap { WidgetID("w\($0)") }
    var store = try Store(widgets: ids, limits: .with { $0.tombstonesMax = 4 })
    for id in ids { try store.delete(id) }
    #expect(words(try store.changes(since: 5)).count == 5)
    store.commitGroup(at: .at(0))
    // Revisions 6 to 10 removed them; half of four is kept.
    #expect(store.compactRevision == 8)
    for cursor in 0..<8 as Range<Revision> {
      #expect(throws: StoreError.revisionCompacted(compactRevision: 8)) {
        try store.changes(since: cursor)
      }
    }
    #expect(words(try store.changes(since: 8)) == ["-w4", "-w5"])
    #expect(words(try store.changes(since: 9)) == ["-w5"])
    #expect(store.checkInvariants() == [])
  }

  @Test func `no group forgets many more removals than it adds`() throws {
    let ids = (1...1_000).compactMap { WidgetID("w\($0)") }
    var store = try Store(widgets: ids, limits: .with { $0.tombstonesMax = 600 })
    // Each removal has one revision.
    let start = store.revision
    var rises: [Int: Revision] = [:]
    var before = start
    for (index, id) in ids.prefix(900).enumerated() {
      try store.delete(id)
      store.commitGroup(at: .at(0))
      let compacted = max(start, store.compactRevision)
      if compacted > before { rises[index + 1] = compacted - before }
      before = compacted
    }
    #expect(rises == [601: 257, 858: 257])
    // A group with many removals forgets as many.
    for id in ids.suffix(100) { try store.delete(id) }
    for id in ids.prefix(400) { try store.create(id) }
    for id in ids.prefix(400) { try store.delete(id) }
    store.commitGroup(at: .at(0))
    let kept = try store.changes(since: store.compactRevision).changes.count
    #expect(kept == 600 - 256)
    #expect(store.checkInvariants() == [])
  }

  @Test func `removals that were kept for a reader are forgotten at once, and freed in parts`()
    throws
  {
    let ids = (1...2_000).compactMap { WidgetID("w\($0)") }
    var store = try Store(widgets: ids, limits: .with { $0.tombstonesMax = 4 })
    let cursor = store.revision
    for id in ids {
      try store.delete(id)
      store.commitGroup(at: .at(0), retaining: cursor)
    }
    #expect(store.removalCount == 2_000 && store.compactRevision == 0)
    var waiting: [Int] = []
    repeat {
      store.commitGroup(at: .at(0))
      waiting.append(store.forgottenCount)
      #expect(store.compactRevision == store.revision - 2 && store.removalCount == 2)
      #expect(store.checkInvariants() == [])
    } while store.forgottenCount > 0
    #expect(waiting == [1_486, 974, 462, 0])
  }

  /// A group that removes one key would otherwise pay for all keys of an earlier one.
  @Test func `the keys of one revision are forgotten at once, and freed in parts`() throws {
    var store = Store(limits: .with { $0.tombstonesMax = 0 })
    let keys = (0..<1_000).map { "k\($0)" }
    try store.create("a", data: ValueMap(keys.map { .init(key: $0, value: .int(1)) }))
    try store.unset("a", keys)
    store.commitGroup(at: .at(0), retaining: 0)
    try store.set("a", ["k0": .int(2)])
    store.commitGroup(at: .at(0))
    #expect(store.compactRevision == 2 && store.forgottenCount == 488)
    #expect(store.records.first.map { $0.data.slots.count < 500 } == true)
    #expect(try store.changes(since: 2).changes.count == 1)
    #expect(store.checkInvariants() == [])
    store.commitGroup(at: .at(0))
    #expect(store.forgottenCount == 0)
    #expect(store.records.first?.data.revisedEntries.map(\.key) == ["k0"])
    #expect(store.checkInvariants() == [])
  }

  @Test func `compaction never splits the removals of a revision`() throws {
    let specs = (1...6).compactMap { WidgetID("w\($0)") }.map { WidgetSpec(id: $0, kind: "k") }
    var store = Store(limits: .with { $0.tombstonesMax = 4 })
    try store.declare(specs)
    try store.declare(Array(specs.prefix(1)), prunes: true)
    store.commitGroup(at: .at(0))
    #expect(store.compactRevision == 2)
    #expect(throws: StoreError.revisionCompacted(compactRevision: 2)) {
      try store.changes(since: 1)
    }
    #expect(try store.changes(since: 2).changes.isEmpty)
    #expect(store.observation(cursors: [2]).removals.isEmpty)
  }

  @Test func `removed keys count as removals and are forgotten with them`() throws {
    var store = Store(limits: .with { $0.tombstonesMax = 2 })
    try store.create("a", data: ["x": .int(1), "y": .int(1), "z": .int(1)])
    for key in ["x", "y", "z"] { try store.unset("a", [key]) }
    store.commitGroup(at: .at(0))
    #expect(store.compactRevision == 3)
    guard case .updated(let update) = try store.changes(since: 3).changes.first else {
      Issue.record("not an update")
      return
    }
    #expect(update.unsetData == ["z"])
    #expect(store.checkInvariants() == [])
    #expect(store.records.first?.data.revisedEntries.map(\.key) == ["z"])
  }

  @Test func `a key that was set again outlives the removal that is forgotten`() throws {
    var store = Store(limits: .with { $0.tombstonesMax = 0 })
    try store.create("a", data: ["x": .int(1), "y": .int(1)])
    try store.unset("a", ["x", "y"])
    try store.set("a", ["x": .int(2)])
    store.commitGroup(at: .at(0))
    #expect(store.compactRevision == 2)
    #expect(store.widget("a")?.data == ["x": .int(2)])
    #expect(store.checkInvariants() == [])
  }

  @Test func `a forgotten key of a widget that is gone does not touch its slot's next one`() throws
  {
    var store = Store(limits: .with { $0.tombstonesMax = 1 })
    try store.create("a", data: ["x": .int(1)])
    try store.unset("a", ["x"])
    try store.delete("a")
    try store.create("b", data: ["x": .int(1)])
    try store.unset("b", ["x"])
    store.commitGroup(at: .at(0))
    #expect(store.widget("b")?.data.isEmpty == true)
    #expect(store.checkInvariants() == [])
  }

  @Test func `a rollback never takes a compaction back`() throws {
    var store = try Store(widgets: ["a", "b"], limits: .with { $0.tombstonesMax = 1 })
    try store.delete("a")
    try store.delete("b")
    store.commitGroup(at: .at(0))
    let before = store.observation()
    #expect(before.compactRevision == 4)
    try store.create("c")
    store.rollbackGroup()
    #expect(store.observation() == before)
  }
}

extension Store {
  /// A number that differs for every commit.
  fileprivate var next: Int64 { Int64(revision) }
}
