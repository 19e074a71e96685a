import Testing
import WidgetModel

@testable import WidgetCore

/// All changes since the last group can be taken back, and a group has exactly the changes.
struct GroupTests {
  /// A store with some history: changed, hidden, moved and removed widgets, events, an answer.
  static func makeStore(isRevocable: Bool = true) throws -> Store {
    var store = try makePendingStore(isRevocable: isRevocable)
    store.commitGroup(at: .at(0))
    return store
  }

  /// The same, with all of its history still in one group.
  static func makePendingStore(isRevocable: Bool = true) throws -> Store {
    var store = Store(isRevocable: isRevocable)
    for id in ["a", "b", "c", "d"] as [WidgetID] {
      try store.create(id, labels: ["on": "1"], data: ["x": .int(1), "y": .int(2)])
    }
    try store.create(nil)
    try store.unset("b", ["x"])
    try store.run(.setPresence(.ids(["c"]), .hide))
    try store.run(.move("d", to: .first))
    try store.create("gone")
    try store.delete("gone")
    try store.declare([WidgetSpec(id: "set", kind: "k")])
    try store.send("click", to: "a")
    store.remember(requestID: "r0", of: 1, fingerprint: 1, response: [1], at: .at(0))
    return store
  }

  static let histories: [[Command]] = [
    [.create(WidgetSpec(id: "new", kind: "k"))],
    [.create(WidgetSpec(id: nil, kind: "k")), .create(WidgetSpec(id: nil, kind: "other"))],
    [.update("a", .set(["x": .int(5), "z": .int(6)], unset: ["y"]))],
    [.update("a", .set(["x": .int(5)])), .update("a", .set(["x": .int(6)])), .delete("a")],
    [.delete("a"), .create(WidgetSpec(id: "a", kind: "other")), .update("a", .set(["q": .null]))],
    [.delete("a"), .delete("b"), .create(WidgetSpec(id: "b", kind: "k")), .delete("b")],
    [.create(WidgetSpec(id: "new", kind: "k")), .delete("new")],
    [.delete("c"), .create(WidgetSpec(id: "n1", kind: "k")), .delete("d"), .delete("n1")],
    [.setPresence(.selector(Selector()), .toggle), .setPresence(.ids(["a"]), .disable)],
    [.move("a", to: .last), .move("b", to: .first), .move("c", to: .after("a"))],
    [
      .apply(
        Declaration(
          widgets: [
            WidgetSpec(id: "c", kind: "k", family: .small), WidgetSpec(id: "n1", kind: "k"),
            WidgetSpec(id: "a", kind: "k", parameters: ["p": .null]),
          ], prunes: true)), .delete("n1"), .update("c", .set(["x": .int(8)])),
    ],
    [
      .sendEvent(EventDraft(widgetID: "a", name: "click")),
      .sendEvent(EventDraft(widgetID: "b", name: "click")), .delete("a"),
    ],
    [
      .update("d", .with { $0.setLabels = ["l": "2"] }, transition: .quick),
      .update("d", .with { $0.error = .some(WidgetError(reason: "R", message: "")) }),
      .update("d", .with { $0.unsetLabels = ["on"] }, transition: .slow),
    ],
    [
      .update("b", .set(["n": .int(5)])), .update("a", .set(["x": .int(5)])),
      .update("b", .set(["n": .int(6)], unset: ["y"])), .update("c", .set(["x": .int(5)])),
      .update("a", .set(["x": .int(6)])), .move("b", to: .last), .delete("a"),
      .update("b", .set(["n": .int(7)])), .update("c", .set(["x": .int(6)])), .delete("c"),
    ],
    [
      .create(WidgetSpec(id: "new", kind: "k")), .update("a", .set(["x": .int(5)])),
      .update("new", .set(["x": .int(5)])), .setPresence(.ids(["a", "new", "b"]), .toggle),
      .update("a", .set(["x": .int(6)])), .update("b", .set(["y": .int(6)])),
      .setPresence(.ids(["b", "a"]), .toggle), .update("new", .set(["x": .int(6)])),
    ],
  ]

  @Test(arguments: histories)
  func `a rollback restores everything exactly`(commands: [Command]) throws {
    var store = try GroupTests.makeStore()
    let before = store.observation()
    let chunk = store.chunkRevision(0)
    for round in 1...2 {
      for command in commands { try store.run(command, at: .at(9)) }
      store.remember(requestID: "r1", of: 1, fingerprint: 1, response: [2], at: .at(9))
      #expect(store.observation() != before)
      #expect(store.checkInvariants() == [])
      store.rollbackGroup()
      #expect(store.observation() == before, "in round \(round)")
      #expect(store.chunkRevision(0) == chunk)
      #expect(!store.hasPendingGroup)
      #expect(store.checkInvariants() == [])
    }
  }

  @Test(arguments: histories)
  func `changes after a rollback are the same as without the group`(
    commands: [Command]
  ) throws {
    var store = try GroupTests.makeStore()
    var other = store
    for command in commands { try store.run(command) }
    store.rollbackGroup()
    for command in [
      .create(WidgetSpec(id: nil, kind: "k")), .update("b", .set(["n": .int(1)])), .delete("c"),
      .sendEvent(EventDraft(widgetID: "a", name: "drag")),
    ] as [Command] {
      #expect(try store.run(command) == other.run(command))
    }
    #expect(store.observation() == other.observation())
    #expect(store.checkInvariants() == [])
  }

  @Test(arguments: histories)
  func `a group names exactly the widgets that changed, and makes the image the store`(
    commands: [Command]
  ) throws {
    var store = try GroupTests.makePendingStore()
    var image = StoreImage(epoch: 7)
    image.apply(store.pendingGroup())
    store.commitGroup(at: .at(0))
    let base = store.revision
    let before = Dictionary(
      uniqueKeysWithValues: store.list(after: nil, limit: .max).widgets.map { ($0.id, $0) })
    for command in commands { try store.run(command) }
    let after = Dictionary(
      uniqueKeysWithValues: store.list(after: nil, limit: .max).widgets.map { ($0.id, $0) })
    let group = store.pendingGroup()
    let changed = after.keys.filter { after[$0] != before[$0] }
    #expect(Set(group.upserts.map(\.widget.id)) == Set(changed))
    #expect(group.upserts.count == changed.count)
    #expect(
      Set(before.keys).subtracting(after.keys).isSubset(of: group.deletions))
    #expect(
      Set(group.deletions).isDisjoint(with: after.keys.filter { before[$0] == after[$0] }))
    #expect(group.revision == store.revision)
    #expect(group.tombstones.allSatisfy { $0.revision > base })
    image.apply(group)
    store.commitGroup(at: .at(0))
    let restored = Store(image: image, isRevocable: true)
    #expect(restored.checkInvariants() == [])
    #expect(restored.observation().durable == store.observation().durable)
  }

  @Test func `a group carries answers and the ceiling of event numbers`() throws {
    var store = try GroupTests.makeStore()
    #expect(!store.hasPendingGroup)
    store.remember(requestID: "r1", of: 2, fingerprint: 3, response: [4], at: .at(1))
    #expect(store.hasPendingGroup)
    #expect(
      store.pendingGroup().requests == [
        RequestImage(
          uid: 2, requestID: "r1", fingerprint: 3, response: [4],
          expires: RunningTime.at(1).advanced(by: store.limits.requestLifetime))
      ])
    store.commitGroup(at: .at(1))
    #expect(!store.hasPendingGroup)
    #expect(store.pendingGroup().requests.isEmpty)
  }

  @Test func `a raised ceiling that is taken back is raised again`() throws {
    var store = try Store(widgets: ["a"])
    try store.send("lost", to: "a")
    store.rollbackGroup()
    #expect(store.eventSequenceCeiling == 0)
    #expect(try store.send("click", to: "a").outcome == .accepted(sequence: 1))
    #expect(store.hasPendingGroup)
    #expect(store.pendingGroup().eventSequenceCeiling >= 1)
  }

  @Test(arguments: histories)
  func `a copy and its original go on without touching each other`(commands: [Command]) throws {
    var original = try GroupTests.makeStore()
    try original.set("b", ["pending": .int(1)])
    let before = original.observation()
    var copy = original
    for command in commands { try copy.run(command) }
    #expect(original.observation() == before)
    let changed = copy.observation()
    for command in commands.reversed() { _ = try? original.run(command) }
    original.rollbackGroup()
    #expect(copy.observation() == changed)
    copy.rollbackGroup()
    #expect(copy.observation() == original.observation())
    #expect(copy.checkInvariants() + original.checkInvariants() == [])
  }

  @Test func `after a group is committed a rollback takes nothing back`() throws {
    var store = try GroupTests.makeStore()
    try store.set("a", ["x": .int(7)])
    store.commitGroup(at: .at(0))
    let before = store.observation()
    store.rollbackGroup()
    #expect(store.observation() == before)
  }

  @Test func `many changes of a few widgets in a group are saved once for each widget`() throws {
    var store = try GroupTests.makeStore()
    let before = store.observation()
    for value in 10..<42 {
      try store.set("a", ["x": .int(Int64(value))])
      try store.set("b", ["n": .int(Int64(value))])
    }
    // One inverse for each widget, and one for the revision.
    #expect(store.journalCount == 3)
    #expect(store.pendingGroup().upserts.map(\.widget.id) == ["a", "b"])
    store.rollbackGroup()
    #expect(store.observation() == before)
    #expect(store.checkInvariants() == [])
  }

  @Test func `a refused command takes back only its own changes of widgets that changed before`()
    throws
  {
    var store = try GroupTests.makeStore()
    let start = store.observation()
    for value in 10..<14 {
      for id in ["c", "a", "b"] as [WidgetID] { try store.set(id, ["x": .int(Int64(value))]) }
      let before = store.observation()
      let specs: [WidgetSpec] = [
        WidgetSpec(id: "b", kind: "k", parameters: ["n": .int(Int64(value))]),
        WidgetSpec(id: "d", kind: "k", parameters: ["n": .int(Int64(value))]),
        WidgetSpec(id: "c", kind: "k", parameters: ["n": .int(Int64(value))]),
      ]
      #expect(
        store.refusal(
          of: .apply(Declaration(widgets: specs + [WidgetSpec(id: "a", kind: "other")])))
          == .kindMismatch("a", is: "k", declared: "other", of: ""))
      #expect(store.observation() == before)
      #expect(store.checkInvariants() == [])
      try store.declare(specs)
    }
    store.rollbackGroup()
    #expect(store.observation() == start)
    #expect(store.checkInvariants() == [])
  }

  @Test(arguments: histories)
  func `the widgets of a group have the same images one by one`(commands: [Command]) throws {
    var store = try GroupTests.makeStore()
    for command in commands { try store.run(command) }
    let whole = store.pendingGroup()
    var (rest, widgets) = store.pendingChanges()
    #expect(widgets.count == whole.upserts.count)
    #expect((0..<widgets.count).map { widgets[$0] } == whole.upserts)
    #expect(rest.upserts.isEmpty)
    rest.upserts = widgets.images
    #expect(rest == whole)
    widgets.sortByID()
    let ids = whole.upserts.map(\.widget.id.rawValue)
    #expect(widgets.images.map(\.widget.id.rawValue) == ids.sorted())
  }

  @Test func `a group stores the widgets of all kinds whose persistence has changed`() throws {
    var store = Store()
    let names: [KindName] = ["one", "two", "same"]
    try store.register(names.map { Kind(name: $0, isOpen: true) })
    for name in names {
      for number in 1...2 {
        try store.create(
          WidgetID("\(name)-\(number)"), kind: name, data: ["x": .int(Int64(number))])
      }
    }
    store.commitGroup(at: .at(0))
    let volatile = names.dropLast().map {
      var kind = Kind(name: $0, isOpen: true)
      kind.persistence = .volatile
      return kind
    }
    try store.register(volatile)
    let written = store.pendingGroup().upserts
    #expect(Set(written.map(\.widget.id)) == ["one-1", "one-2", "two-1", "two-2"])
    #expect(written.count == 4 && written.allSatisfy(\.data.isEmpty))
    store.commitGroup(at: .at(0))
    try store.run(.deleteKind("one"))
    #expect(store.pendingGroup().upserts.map(\.data.count) == [1, 1])
    #expect(store.checkInvariants() == [])
  }

  @Test func `a group knows the bytes that it writes, each widget once`() throws {
    var store = try GroupTests.makeStore()
    func bytes(_ ids: WidgetID...) -> Int {
      store.records.reduce(0) { $0 + (ids.contains($1.id) ? $1.costBytes : 0) }
    }
    #expect(store.pendingBytes == 0)
    for count in [100, 300, 200] {
      try store.set("a", ["x": .string(String(repeating: "y", count: count))])
      #expect(store.pendingBytes == bytes("a"))
    }
    try store.set("b", ["n": .int(1)])
    try store.create("new")
    #expect(store.pendingBytes == bytes("a", "b", "new"))
    let refused = Declaration(widgets: [
      WidgetSpec(id: "c", kind: "k", parameters: ["n": .int(1)]),
      WidgetSpec(id: "a", kind: "other"),
    ])
    #expect(store.refusal(of: .apply(refused)) != nil)
    #expect(store.pendingBytes == bytes("a", "b", "new"))
    try store.delete("a")
    try store.delete("new")
    #expect(store.pendingBytes == bytes("b"))
    #expect(store.checkInvariants() == [])
    store.commitGroup(at: .at(0))
    #expect(store.pendingBytes == 0)
    try store.set("b", ["n": .int(2)])
    store.rollbackGroup()
    #expect(store.pendingBytes == 0)
  }

  @Test func `a group knows the number of rows that it writes`() throws {
    var store = try GroupTests.makeStore()
    // Changes of one widget are one row, also by commands that can fail in part.
    for number in 0..<3 {
      try store.set("a", ["n": .int(Int64(number))])
      try store.run(.setPresence(.ids(["a"]), number % 2 == 0 ? .hide : .show))
    }
    #expect(store.pendingRows == 1)
    try store.create("new")
    #expect(store.pendingRows == 2)
    // A removal deletes the row, and adds a tombstone.
    try store.delete("b")
    #expect(store.pendingRows == 4)
    try store.delete("new")
    #expect(store.pendingRows == 5)
    #expect(store.checkInvariants() == [])
    store.rollbackGroup()
    #expect(store.pendingRows == 0)
    try store.delete("b")
    store.commitGroup(at: .at(0))
    #expect(store.pendingRows == 0)
  }

  @Test func `a store that cannot be rolled back keeps no journal`() throws {
    var store = try GroupTests.makeStore(isRevocable: false)
    try store.set("a", ["x": .int(7)])
    #expect(!store.hasPendingGroup && store.pendingBytes == 0)
    #expect(store.journalCount == 0)
    let refusal = store.refusal(
      of: .apply(
        Declaration(widgets: [
          WidgetSpec(id: "b", kind: "k", data: ["n": .null]), WidgetSpec(id: "a", kind: "other"),
        ])))
    #expect(refusal == .kindMismatch("a", is: "k", declared: "other", of: ""))
    #expect(store.journalCount == 0)
  }

  @Test func `a refused command leaves what the group did before it`() throws {
    var store = try GroupTests.makeStore()
    try store.set("a", ["x": .int(7)])
    let group = store.pendingGroup()
    #expect(
      store.refusal(
        of: .apply(
          Declaration(widgets: [
            WidgetSpec(id: "a", kind: "k", data: ["x": .int(9)]), WidgetSpec(id: "b", kind: "z"),
          ]))) != nil)
    #expect(store.pendingGroup() == group)
    #expect(store.widget("a")?.data["x"] == .int(7))
  }

  @Test func `a restored store forgets removed keys that were compacted`() throws {
    var store = Store(limits: .with { $0.tombstonesMax = 1 })
    var image = StoreImage(epoch: 7)
    try store.create("a", data: ["x": .int(1), "y": .int(1), "z": .int(1)])
    try store.unset("a", ["x"])
    try store.unset("a", ["y"])
    image.apply(store.pendingGroup())
    store.commitGroup(at: .at(0))
    try store.create("b")
    image.apply(store.pendingGroup())
    store.commitGroup(at: .at(0))
    #expect(image.compactRevision == 3)
    let restored = Store(image: image, limits: store.limits, isRevocable: true)
    #expect(restored.checkInvariants() == [])
    #expect(restored.observation().durable == store.observation().durable)
  }
}
