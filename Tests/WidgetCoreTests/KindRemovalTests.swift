import SeededRandom
import Testing
import WidgetModel

@testable import WidgetCore

/// The removal of a kind, and of its defaults from its widgets.
struct KindRemovalTests {
  private static func gauge(_ level: Int64, zone: String) -> Kind {
    Kind(
      name: "gauge",
      parameters: [Field(name: "zone", type: .string, defaultValue: .string(zone))],
      data: [
        Field(name: "level", type: .int, defaultValue: .int(level)),
        Field(name: "note", type: .string),
      ],
      events: [EventType(name: "press")],
      reducers: [Reducer(event: "press", assignments: ["level": "data.level + 50"])])
  }

  /// The values stayed, so the registered kind took them for values that somebody had set.
  @Test(arguments: [false, true], [false, true])
  func `a kind that is removed and registered again has its new defaults`(
    isPruned: Bool, isRestarted: Bool
  ) throws {
    var image = StoreImage(epoch: 1)
    var store = Store(image: image)
    try store.register([Self.gauge(1, zone: "UTC")])
    try store.create("plain", kind: "gauge", data: ["note": .string("n")])
    try store.create("set", kind: "gauge")
    try store.set("set", ["level": .int(9)])
    try store.create("pressed", kind: "gauge")
    try store.send("press", to: "pressed")
    let declared = WidgetSpec(id: "declared", kind: "gauge", data: ["level": .int(1)])
    try store.declare([declared], in: "bundle/b", owns: true)
    image.apply(store.pendingGroup())
    store.commitGroup(at: .at(0))
    let cursor = store.revision
    if isPruned {
      try store.register([], prunes: true)
    } else {
      try store.run(.deleteKind("gauge"))
    }
    #expect(store.widget("plain")?.data == ["note": .string("n")])
    #expect(store.widget("plain")?.parameters == [:])
    #expect(store.widget("set")?.data == ["level": .int(9)])
    #expect(store.widget("pressed")?.data == ["level": .int(51)])
    #expect(store.widget("declared")?.data == ["level": .int(1)])
    #expect(store.checkInvariants() == [])
    if isRestarted {
      image.apply(store.pendingGroup())
      store = Store(image: image)
    }
    let changes = try store.changes(since: cursor).changes
    #expect(Set(changes.map(word)) == ["+plain", "+set", "+pressed", "+declared"])
    try store.register([Self.gauge(7, zone: "CET")], provider: "other")
    #expect(store.widget("plain")?.data == ["level": .int(7), "note": .string("n")])
    #expect(store.widget("plain")?.parameters == ["zone": .string("CET")])
    #expect(store.widget("set")?.data["level"] == .int(9))
    #expect(store.widget("pressed")?.data["level"] == .int(51))
    #expect(store.widget("declared")?.data["level"] == .int(1))
    #expect(store.checkInvariants() == [])
  }

  @Test func `an unchanged kind that is registered again gives the same values`() throws {
    var store = Store()
    try store.register([Self.gauge(1, zone: "UTC")])
    try store.create("a", kind: "gauge", data: ["level": .int(3)])
    try store.create("b", kind: "gauge")
    let ids: [WidgetID] = ["a", "b"]
    let before = ids.map { store.widget($0)?.data }
    try store.run(.deleteKind("gauge"))
    try store.register([Self.gauge(1, zone: "UTC")])
    #expect(ids.map { store.widget($0)?.data } == before)
    #expect(store.checkInvariants() == [])
  }

  /// The ways to undo a removal.
  enum Undoing: CaseIterable { case rollback, dryRun, refusal }

  @Test(arguments: Undoing.allCases)
  func `a removal of a kind that is undone leaves everything as it was`(way: Undoing) throws {
    var store = Store(limits: .with { $0.kindsMax = 2 })
    try store.register([Self.gauge(1, zone: "UTC")])
    try store.register([Kind(name: "other")], provider: "other")
    try store.create("a", kind: "gauge", data: ["level": .int(3)])
    try store.create("b", kind: "gauge", data: ["note": .string("n")])
    try store.unset("b", ["note"])
    store.commitGroup(at: .at(0))
    let before = store.observation()
    switch way {
    case .rollback:
      try store.run(.deleteKind("gauge"))
      #expect(store.widget("b")?.data == [:])
      store.rollbackGroup()
    case .dryRun:
      let declaration = KindDeclaration(provider: "desk", kinds: [], prunes: true, isDryRun: true)
      try store.run(.applyKinds(declaration))
    case .refusal:
      // The first kind has room after the removal, and the second one has none.
      let declaration = KindDeclaration(
        provider: "desk", kinds: [Kind(name: "x"), Kind(name: "y")], prunes: true)
      let refusal = store.refusal(of: .applyKinds(declaration))
      #expect(refusal == .quotaExceeded(limit: "kinds_max", maximum: 2))
    }
    #expect(store.observation() == before)
    #expect(store.checkInvariants() == [])
  }

  /// Each removed default left a tombstone and an inverse. So the removal of one large kind pushed
  /// the removals out that other readers needed.
  @Test(arguments: [false, true])
  func `the defaults of a removed kind push no other removals out`(isRestarted: Bool) throws {
    var image = StoreImage(epoch: 1)
    let limits = StoreLimits.with { $0.tombstonesMax = 8 }
    var store = Store(image: image, limits: limits)
    try store.register([Self.gauge(1, zone: "UTC")])
    let ids = try (0..<20).map { try #require(WidgetID("w\($0)")) }
    for id in ids { try store.create(id, kind: "gauge", data: ["note": .string("n")]) }
    try store.create("gone")
    image.apply(store.pendingGroup())
    store.commitGroup(at: .at(0))
    let cursor = store.revision
    var mirror = Mirror(widgets: store.selected(by: Selector()))
    try store.delete("gone")
    image.apply(store.pendingGroup())
    store.commitGroup(at: .at(0))
    let compacted = store.compactRevision

    try store.run(.deleteKind("gauge"))
    #expect(store.removalCount == 1)
    #expect(!store.mayForgetRemovals(since: cursor))
    // One for each widget, and those of the revision, the kind and its events.
    #expect(store.journalCount <= ids.count + 3)
    image.apply(store.pendingGroup())
    store.commitGroup(at: .at(0))
    #expect(store.compactRevision == compacted)
    if isRestarted { store = Store(image: image, limits: limits) }
    let delta = try store.changes(since: cursor)
    #expect(words(delta).contains("-gone"))
    #expect(mirror.apply(delta) == [])
    #expect(mirror.widgets == store.selected(by: Selector()))
    #expect(mirror.widgets["w0"]?.data == ["note": .string("n")])
    #expect(store.checkInvariants() == [])
  }

  @Test func `a reader whose expression reads a removed default loses the widget`() throws {
    var store = Store()
    try store.register([Self.gauge(1, zone: "UTC")])
    try store.create("w", kind: "gauge")
    let cursor = store.revision
    try store.run(.deleteKind("gauge"))
    for expression in ["data.level == 1", "parameters.zone == 'UTC'"] {
      let selector = Selector(expression: expression)
      #expect(words(try store.changes(since: cursor, selecting: selector)) == ["-w"])
    }
  }

  @Test func `a provider learns that a parameter has no default any more`() throws {
    var store = Store()
    try store.register([Self.gauge(1, zone: "UTC")])
    try store.create("w", kind: "gauge")
    let cursor = store.revision
    try store.run(.deleteKind("gauge"))
    try store.register([Kind(name: "gauge")])
    #expect(try store.providedChanges(since: cursor, of: ["gauge"]).reconfigured == ["w"])
  }

  @Test(arguments: UInt64(1)...20)
  func `keys that are removed without a tombstone leave a sound map`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var map = RevisedMap()
    var model: [String: Int64] = [:]
    for revision in Revision(1)...200 {
      let key = "k\(random.below(12))"
      switch random.below(4) {
      case 0:
        let isThere = map[key] != nil
        map.remove(key, at: revision)
        #expect(map.hasChanges(since: revision - 1) == isThere)
        #expect(!isThere || !map.changedKeys(since: 0).contains(key))
        model[key] = nil
      case 1:
        _ = map.unset(key, at: revision)
        model[key] = nil
      default:
        let value = Int64(random.below(4))
        _ = map.set(key, to: .int(value), at: revision)
        model[key] = value
      }
      #expect(map.checkInvariants() == [], "\(seed)")
      let expected = model.map { ValueMap.Entry(key: $0.key, value: .int($0.value)) }
      #expect(map.map == ValueMap(expected), "\(seed)")
    }
  }
}
