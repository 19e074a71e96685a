import Testing
import WidgetModel

@testable import WidgetCore

/// Owners of fields: a declared field follows its manager's declarations until somebody else sets
/// it.
struct OwnershipTests: ContentSamples {
  static let manager = "bundle/clock"

  static func counter(count: Int64 = 0, zone: String = "UTC") -> Kind {
    Kind(
      name: "counter",
      parameters: [Field(name: "zone", type: .string, defaultValue: .string(zone))],
      data: [
        Field(name: "count", type: .int, defaultValue: .int(count)),
        Field(name: "note", type: .string),
      ],
      events: [EventType(name: "press")],
      reducers: [Reducer(event: "press", assignments: ["count": "data.count + 1"])])
  }

  func spec(
    data: ValueMap = ["count": .int(1)], parameters: ValueMap = [:], labels: Labels = [:]
  ) -> WidgetSpec {
    WidgetSpec(id: "c", kind: "counter", labels: labels, parameters: parameters, data: data)
  }

  @discardableResult
  func own(_ store: inout Store, _ spec: WidgetSpec) throws -> ApplyResult {
    let commit = try store.declare([spec], in: Self.manager, prunes: true, owns: true)
    #expect(store.checkInvariants() == [])
    guard case .applied(let results) = commit.outcome else {
      return ApplyResult(id: "c", action: .unspecified)
    }
    return try #require(results.first)
  }

  func store(_ spec: WidgetSpec? = nil) throws -> Store {
    var store = Store()
    try store.register([Self.counter()], provider: Self.manager)
    try own(&store, spec ?? self.spec())
    store.commitGroup(at: .at(0))
    return store
  }

  func owner(_ path: String, in store: Store) -> String? {
    store.owners(of: "c").first { $0.path == path }?.owner
  }

  func order(_ store: Store) -> [WidgetID] {
    store.list(after: nil, limit: 10).widgets.map(\.id)
  }

  @Test func `a user who replaces all data owns the removed keys`() throws {
    var store = try store(spec(data: ["count": .int(5), "note": .string("n")]))
    let patch = WidgetPatch(setData: ["count": .int(7)], replaceData: true)
    try store.update("c", patch)
    #expect(owner("data.count", in: store)?.hasPrefix("user ") == true)
    #expect(owner("data.note", in: store)?.hasPrefix("user ") == true)
    // The next start of the manager changes nothing.
    try own(&store, spec(data: ["count": .int(5), "note": .string("n")]))
    #expect(store.widget("c")?.data == ["count": .int(7)])
  }

  @Test func `a user who unsets and sets a field in one patch owns it`() throws {
    var store = try store(spec(data: [:]))
    let patch = WidgetPatch(setData: ["note": .string("mine")], unsetData: ["note"])
    try store.update("c", patch)
    #expect(owner("data.note", in: store)?.hasPrefix("user ") == true)
  }

  @Test func `a field that the manager owns follows its declarations`() throws {
    var store = try store()
    #expect(store.widget("c")?.data["count"] == .int(1))
    let result = try own(&store, spec(data: ["count": .int(2), "note": .string("n")]))
    #expect(store.widget("c")?.data == ["count": .int(2), "note": .string("n")])
    #expect(result.changedFields == ["data.count", "data.note"])
    #expect(result.keptFields == [])
    #expect(store.owners(of: "c").map(\.owner) == [Self.manager, Self.manager])
    #expect(
      try own(&store, spec(data: ["count": .int(2), "note": .string("n")])).action == .unchanged)
  }

  @Test func `a field that is no longer declared is removed, or gets the default`() throws {
    var store = try store(
      spec(data: ["count": .int(1), "note": .string("n")], labels: ["room": "hall"]))
    try own(&store, spec(data: [:]))
    #expect(store.widget("c")?.data == ["count": .int(0)])
    #expect(store.widget("c")?.labels == [:])
    #expect(store.owners(of: "c") == [])
  }

  struct Change: Sendable, CustomTestStringConvertible {
    let command: Command
    let owner: String
    var testDescription: String { owner }
  }

  @Test(arguments: [
    Change(
      command: .update("c", .set(["count": .int(7)])), owner: "user 1000"),
    Change(
      command: .update("c", .set(["count": .int(7)]), provider: "bundle/clock"),
      owner: "provider bundle/clock"),
    Change(
      command: .sendEvent(EventDraft(widgetID: "c", name: "press")),
      owner: "events of kind counter"),
    Change(
      command: .provide([ProvidedUpdate("c", .set(["count": .int(7)]))], by: "bundle/clock"),
      owner: "provider bundle/clock"),
    Change(
      command: .apply(
        Declaration(
          applySet: "desk",
          widgets: [WidgetSpec(id: "c", kind: "counter", data: ["count": .int(7)])])),
      owner: "desk"),
  ])
  func `a field that somebody else sets belongs to them, and stays`(change: Change) throws {
    var store = try store()
    try store.run(change.command)
    let set = try #require(store.widget("c")?.data["count"])
    #expect(set != .int(1))
    #expect(owner("data.count", in: store) == change.owner)
    #expect(store.checkInvariants() == [])
    let result = try own(&store, spec(data: ["count": .int(5)]))
    #expect(store.widget("c")?.data["count"] == set)
    #expect(
      result.keptFields == [
        FieldOwner(
          path: "data.count", owner: change.owner, manager: Self.manager, declared: .int(5))
      ])
    // The same declaration again changes nothing, and reports the kept field again.
    let again = try own(&store, spec(data: ["count": .int(5)]))
    #expect(again.action == .unchanged)
    #expect(again.keptFields == result.keptFields)
  }

  @Test func `setting a key to the value that it has changes no owner`() throws {
    var store = try store()
    #expect(try !store.set("c", ["count": .int(1)]).isChange)
    #expect(owner("data.count", in: store) == Self.manager)
  }

  @Test func `a released field has the declared value at once, and follows again`() throws {
    var store = try store()
    try store.set("c", ["count": .int(7)])
    try own(&store, spec(data: ["count": .int(5)]))
    try store.update("c", .with { $0.releases = ["data.count"] })
    #expect(store.widget("c")?.data["count"] == .int(5))
    #expect(owner("data.count", in: store) == Self.manager)
    try own(&store, spec(data: ["count": .int(6)]))
    #expect(store.widget("c")?.data["count"] == .int(6))
    #expect(store.checkInvariants() == [])
  }

  @Test func `a user's own field is released to the kind's default`() throws {
    var store = try store(spec(data: [:]))
    try store.set("c", ["count": .int(7)])
    #expect(owner("data.count", in: store) == "user 1000")
    try store.update("c", .with { $0.releases = ["data.count"] })
    #expect(store.widget("c")?.data["count"] == .int(0))
    #expect(store.owners(of: "c") == [])
  }

  @Test(arguments: ["data.other", "count", "data.", "weather.count"])
  func `a field without an owner cannot be released`(path: String) throws {
    var store = try store()
    let refusal = store.refusal(of: .update("c", .with { $0.releases = [path] }))
    guard case .invalid("patch.release[0]", _)? = refusal else {
      Issue.record("\(String(describing: refusal))")
      return
    }
  }

  @Test func `a patch cannot set and release the same field`() throws {
    var store = try store()
    let refusal = store.refusal(
      of: .update("c", WidgetPatch(setData: ["count": .int(3)], releases: ["data.count"])))
    #expect(refusal?.reason == "INVALID_FIELD")
  }

  @Test func `a patch cannot release a field twice`() throws {
    var store = try store()
    try store.set("c", ["count": .int(7)])
    let refusal = store.refusal(
      of: .update("c", .with { $0.releases = ["data.count", "data.count"] }))
    #expect(
      refusal
        == .invalid(
          field: "patch.release[1]", description: "data.count is named twice; name it once."))
  }

  @Test func `parameters and labels of users stay, even if no manager declares them`() throws {
    var store = try store(spec(parameters: ["zone": .string("A")], labels: ["room": "hall"]))
    try store.update(
      "c",
      WidgetPatch(
        setParameters: ["zone": .string("B")], setLabels: ["mine": "1"]))
    try own(&store, spec(parameters: ["zone": .string("A")], labels: ["room": "attic"]))
    #expect(store.widget("c")?.parameters == ["zone": .string("B")])
    #expect(store.widget("c")?.labels == ["mine": "1", "room": "attic"])
    // If the manager declares the field later, the user still owns it.
    let result = try own(&store, spec(labels: ["mine": "2"]))
    #expect(store.widget("c")?.labels == ["mine": "1"])
    #expect(result.keptFields.map(\.path) == ["labels.mine"])
  }

  @Test func `a field that a user unsets stays unset`() throws {
    var store = try store(spec(labels: ["room": "hall"]))
    try store.update("c", WidgetPatch(unsetLabels: ["room"]))
    try own(&store, spec(labels: ["room": "hall"]))
    #expect(store.widget("c")?.labels == [:])
    #expect(owner("labels.room", in: store) == "user 1000")
    // When the manager no longer declares the field, it has no entry.
    try own(&store, spec())
    #expect(owner("labels.room", in: store) == nil)
  }

  @Test func `the first declaration keeps earlier values, except defaults`() throws {
    var store = Store()
    try store.register([Self.counter()], provider: Self.manager)
    try store.declare(
      [spec(data: ["note": .string("old")], labels: ["room": "hall"])], in: Self.manager)
    let result = try own(
      &store, spec(data: ["note": .string("new"), "count": .int(4)], labels: ["room": "hall"]))
    #expect(store.widget("c")?.data == ["count": .int(4), "note": .string("old")])
    #expect(result.keptFields.map(\.owner) == [FieldOwner.earlier])
    #expect(owner("labels.room", in: store) == Self.manager)
  }

  @Test func `a kind's new default reaches fields that nobody has set`() throws {
    var store = Store()
    try store.register([Self.counter()])
    try store.create("plain", kind: "counter")
    try store.create("pressed", kind: "counter")
    try store.send("press", to: "pressed")
    try store.declare([spec(data: ["count": .int(0)])], in: Self.manager, owns: true)
    try store.register([Self.counter(count: 10, zone: "CET")])
    #expect(store.widget("plain")?.data["count"] == .int(10))
    #expect(store.widget("plain")?.parameters["zone"] == .string("CET"))
    #expect(store.widget("pressed")?.data["count"] == .int(1))
    // A declared value is no default, even if both are equal.
    #expect(store.widget("c")?.data["count"] == .int(0))
    #expect(store.checkInvariants() == [])
  }

  @Test func `a new default that comes with a new type reaches them, too`() throws {
    var store = Store()
    try store.register([
      Kind(name: "gauge", data: [Field(name: "n", type: .int, defaultValue: .int(8))])
    ])
    try store.create("plain", kind: "gauge")
    try store.create("set", kind: "gauge", data: ["n": .int(3)])
    try store.register([
      Kind(name: "gauge", data: [Field(name: "n", type: .double, defaultValue: .double(8.5))])
    ])
    #expect(store.widget("plain")?.data["n"] == .double(8.5))
    #expect(store.widget("set")?.data["n"] == .double(3))
    #expect(store.checkInvariants() == [])
  }

  @Test func `after a declaration without fields, users own what they set`() throws {
    var store = Store()
    try store.create("c", kind: "counter", data: ["note": .int(1)])
    try store.register([Self.counter()], provider: Self.manager)
    try store.declare([WidgetSpec(id: "c", kind: "counter")], in: Self.manager, owns: true)
    // From now on, the value that did not fit has an owner.
    #expect(owner("data.note", in: store) == "user 1000")
    #expect(store.checkInvariants() == [])
    try store.set("c", ["count": .int(4)])
    #expect(owner("data.count", in: store) == "user 1000")
    try store.create("plain", kind: "counter")
    try store.declare([WidgetSpec(id: "plain", kind: "counter")], in: "desk", owns: true)
    try store.set("plain", ["count": .int(4)])
    #expect(store.owners(of: "plain").map(\.owner) == ["user 1000"])
  }

  @Test func `a widget that a user has moved stays where it is`() throws {
    var store = Store()
    try store.register([Self.counter()], provider: Self.manager)
    func declare() throws {
      try store.declare(
        ["a", "b", "c"].map { WidgetSpec(id: $0, kind: "counter") }, in: Self.manager, owns: true)
    }
    try declare()
    try store.run(.move("c", to: .first))
    try declare()
    #expect(order(store) == ["c", "a", "b"])
    #expect(owner("position", in: store) == "user 1000")
    try store.run(.move("b", to: .before("a")))
    try declare()
    #expect(order(store) == ["c", "b", "a"])
    #expect(store.checkInvariants() == [])

    try store.update("c", .with { $0.releases = ["position"] })
    try store.update("b", .with { $0.releases = ["position"] })
    try declare()
    #expect(order(store) == ["a", "b", "c"])
    #expect(store.checkInvariants() == [])
  }

  @Test func `a user owns a presence that differs from the declared one`() throws {
    var store = try store()
    try store.run(.setPresence(.ids(["c"]), .hide))
    try store.run(.setPresence(.ids(["c"]), .disable))
    #expect(
      owner("visible", in: store) == "user 1000" && owner("enabled", in: store) == "user 1000")
    try own(&store, spec())
    #expect(store.widget("c")?.presence.state == .hidden)
    try store.run(.setPresence(.ids(["c"]), .toggle))
    #expect(owner("visible", in: store) == nil && owner("enabled", in: store) == "user 1000")
    // A manager that declares the presence owns it.
    var declared = spec()
    declared.isEnabled = true
    try own(&store, declared)
    #expect(owner("enabled", in: store) == nil && store.widget("c")?.presence.isEnabled == true)
    #expect(throws: StoreError.self) {
      try store.update("c", .with { $0.releases = ["visible"] })
    }
    // Another set that names the state as it is leaves it the user's.
    try store.run(.setPresence(.ids(["c"]), .hide))
    var same = spec()
    (same.isVisible, same.isEnabled) = (false, true)
    try store.declare([same], in: "mine")
    #expect(owner("visible", in: store) == "user 1000")
    same.isVisible = true
    try store.declare([same], in: "mine")
    #expect(owner("visible", in: store) == nil)
    // A widget that nobody has declared has no owners.
    try store.create("plain", kind: "counter")
    try store.run(.setPresence(.ids(["plain"]), .hide))
    #expect(store.owners(of: "plain") == [])
    #expect(store.checkInvariants() == [])
  }

  @Test func `the result of a removed widget names presence and position, too`() throws {
    var store = try store()
    try store.declare([spec(), WidgetSpec(id: "d", kind: "counter")], in: Self.manager, owns: true)
    try store.run(.setPresence(.ids(["c"]), .hide))
    try store.run(.move("c", to: .last))
    let commit = try store.declare([], in: Self.manager, prunes: true)
    guard case .applied(let results) = commit.outcome else {
      Issue.record("\(commit.outcome)")
      return
    }
    #expect(
      results.first { $0.id == "c" }?.keptFields == [
        FieldOwner(path: "position", owner: "user 1000"),
        FieldOwner(path: "visible", owner: "user 1000", declared: .bool(false)),
      ])
  }

  @Test func `the result of a removed widget names the values of others`() throws {
    var store = try store(spec(data: ["count": .int(1), "note": .string("n")]))
    try store.set("c", ["count": .int(7)])
    try store.update("c", .with { $0.setLabels = ["mine": "1"] })
    store.commitGroup(at: .at(0))
    let gone = [
      FieldOwner(path: "data.count", owner: "user 1000", declared: .int(7)),
      FieldOwner(path: "labels.mine", owner: "user 1000", declared: .string("1")),
    ]
    for isDryRun in [true, false] {
      let commit = try store.declare([], in: Self.manager, prunes: true, isDryRun: isDryRun)
      guard case .applied(let results) = commit.outcome else {
        Issue.record("\(commit.outcome)")
        return
      }
      #expect(results == [ApplyResult(id: "c", action: .deleted, keptFields: gone)])
    }
    #expect(store.checkInvariants() == [])
  }

  @Test func `values that another program applies in the set of a manager belong to its user`()
    throws
  {
    var store = try store(spec(data: ["count": .int(1), "note": .string("n")]))
    let edited = spec(
      data: ["count": .int(7), "note": .string("n")], parameters: ["zone": .string("CET")],
      labels: ["mine": "1"])
    for owns in [true, false] {
      var copy = store
      _ = try copy.declare([edited], in: Self.manager, owns: owns, isForeign: true)
      #expect(copy.checkInvariants() == [])
      for path in ["data.count", "parameters.zone", "labels.mine"] {
        #expect(owner(path, in: copy) == "user 1000")
      }
      #expect(owner("data.note", in: copy) == Self.manager)
      copy.commitGroup(at: .at(0))
      try own(&copy, spec(data: ["count": .int(2), "note": .string("m")]))
      let widget = try #require(copy.widget("c"))
      #expect(widget.data["count"] == .int(7) && widget.data["note"] == .string("m"))
      #expect(widget.parameters["zone"] == .string("CET") && widget.labels["mine"] == "1")
    }
    // A call that owns fields leaves those that it does not declare.
    var whole2 = store
    try whole2.update("c", .with { $0.setLabels = ["kept": "1"] })
    let part = spec(data: ["count": .int(7)])
    _ = try whole2.declare([part], in: Self.manager, owns: true, isForeign: true)
    #expect(whole2.widget("c")?.labels["kept"] == "1")
    #expect(whole2.widget("c")?.data["count"] == .int(7))
    // What changes nothing is taken; the set gets no widgets and loses none.
    let same = try #require(store.widget("c"))
    let whole = spec(data: same.data, parameters: same.parameters)
    let commit = try store.declare([whole], in: Self.manager, isForeign: true)
    #expect(commit.outcome == .applied([ApplyResult(id: "c", action: .unchanged)]))
    let more = WidgetSpec(id: "d", kind: "counter")
    #expect(throws: StoreError.claimed(Self.manager, field: "apply_set")) {
      try store.declare([whole, more], in: Self.manager, isForeign: true)
    }
    #expect(throws: StoreError.claimed(Self.manager, field: "apply_set")) {
      try store.declare([], in: Self.manager, prunes: true, isForeign: true)
    }
    #expect(store.checkInvariants() == [])
  }

  @Test func `a set that takes a widget over also takes over the fields`() throws {
    var store = try store(
      spec(data: ["count": .int(1), "note": .string("n")], labels: ["room": "hall", "at": "1"]))
    try store.update(
      "c", WidgetPatch(setLabels: ["at": "2", "mine": "1"]))
    try store.declare([spec(data: ["count": .int(2)])], in: "desk", owns: true)
    #expect(store.checkInvariants() == [])
    #expect(store.widget("c")?.data == ["count": .int(2)])
    #expect(store.widget("c")?.labels == ["at": "2", "mine": "1"])
    #expect(
      store.owners(of: "c") == [
        FieldOwner(path: "data.count", owner: "desk"),
        FieldOwner(path: "labels.at", owner: "user 1000"),
        FieldOwner(path: "labels.mine", owner: "user 1000"),
      ])
    try store.declare([spec(data: ["count": .int(3)])], in: "desk", owns: true)
    #expect(store.widget("c")?.data == ["count": .int(3)])
  }

  @Test func `a set without ownsFields does not give its fields to the manager`() throws {
    var store = try store()
    try store.declare([spec(data: ["note": .string("n")])], in: "desk")
    try own(&store, spec())
    #expect(store.widget("c")?.data == ["count": .int(1), "note": .string("n")])
    #expect(owner("data.note", in: store) == "desk")
  }

  @Test func `owners count against the quota, and a rolled back group restores them`() throws {
    var store = try store()
    let before = (store.observation(), store.owners(of: "c"), store.stateBytes)
    try store.set("c", ["count": .int(7)])
    #expect(store.stateBytes > before.2)
    store.rollbackGroup()
    #expect(store.observation() == before.0)
    #expect(store.owners(of: "c") == before.1)
    #expect(store.stateBytes == before.2)
  }

  @Test func `a dry run names the fields that it would set and leave`() throws {
    var store = try store(spec(data: ["count": .int(1), "note": .string("a")]))
    try store.set("c", ["count": .int(7)])
    let before = store.observation()
    let commit = try store.declare(
      [spec(data: ["count": .int(2), "note": .string("b")])], in: Self.manager, isDryRun: true,
      owns: true)
    #expect(store.observation() == before)
    guard case .applied(let results) = commit.outcome else { return }
    #expect(results.first?.changedFields == ["data.note"])
    #expect(results.first?.keptFields.map(\.path) == ["data.count"])
  }

  @Test func `a widget without a manager has no owners`() throws {
    var store = Store()
    try store.register([Self.counter()])
    try store.create("c", kind: "counter")
    try store.set("c", ["count": .int(2)])
    try store.declare([spec()], in: "desk")
    #expect(store.owners(of: "c") == [])
    #expect(store.pendingGroup().upserts.map(\.owners) == [nil])
  }

  @Test func `owners of volatile data are not stored`() throws {
    var store = Store()
    var kind = Self.counter()
    kind.persistence = .volatile
    try store.register([kind])
    try store.declare(
      [spec(labels: ["room": "hall"])], in: Self.manager, owns: true)
    let stored = store.pendingGroup().upserts.first?.owners
    #expect(stored?.map(\.path) == ["labels.room"])
  }
}
