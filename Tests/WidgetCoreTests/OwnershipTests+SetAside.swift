import Testing
import WidgetModel

@testable import WidgetCore

/// Values that do not fit a changed kind are set aside, and come back.
extension OwnershipTests {
  @Test func `a user's value of a field that its kind loses is set aside`() throws {
    var store = try store(spec(data: ["note": .string("n")]))
    try store.set("c", ["note": .string("mine")])
    var kind = Self.counter()
    kind.data.removeLast()
    let commit = try store.register([kind], provider: Self.manager)
    #expect(store.widget("c")?.data["note"] == nil)
    #expect(
      store.owners(of: "c") == [
        FieldOwner(path: "data.note", owner: "user 1000", declared: .string("mine"))
      ])
    guard case .kindsApplied(let results) = commit.outcome else { return }
    #expect(
      results[0].lostFields == [LostField(widgetID: "c", path: "data.note", isSetAside: true)])
    #expect(store.checkInvariants() == [])
  }

  @Test(arguments: [
    (Value.string("short"), true), (.string(String(repeating: "x", count: 1100)), false),
  ])
  func `a lost value is named if it is small`(value: Value, isNamed: Bool) throws {
    var store = try store(spec(data: ["note": .string("n")]))
    try store.run(
      .provide([ProvidedUpdate("c", .set(["note": value]))], by: Self.manager))
    var kind = Self.counter()
    kind.data.removeLast()
    let result = try store.change(kind, provider: Self.manager)
    #expect(
      result.lostFields == [
        LostField(widgetID: "c", path: "data.note", value: isNamed ? value : nil)
      ])
  }

  @Test(arguments: [
    (FieldType.string, Value.string("mine"), "user 1000"), (.int, .int(4), OwnershipTests.manager),
  ])
  func `a user's value comes back with its field, if it fits`(
    type: FieldType, value: Value, owner: String
  ) throws {
    var store = try store(spec(data: ["note": .string("n")]))
    try store.set("c", ["note": .string("mine")])
    var kind = Self.counter()
    kind.data[1] = Field(name: "nota", type: .string, defaultValue: .string("new"))
    try store.register([kind], provider: Self.manager)
    try own(&store, spec(data: ["nota": .string("n")]))
    #expect(store.widget("c")?.data["nota"] == .string("n"))
    #expect(store.widget("c")?.data["note"] == nil)
    kind.data[1] = Field(name: "note", type: type)
    try store.register([kind], provider: Self.manager)
    try own(&store, spec(data: ["note": type == .int ? .int(4) : .string("n")]))
    #expect(store.widget("c")?.data["note"] == value)
    #expect(store.widget("c")?.data["nota"] == nil)
    #expect(self.owner("data.note", in: store) == owner)
    // Beside the file's value, the user's value stays aside.
    #expect(store.owners(of: "c").contains(where: \.isAside) == (type == .int))
    #expect(store.checkInvariants() == [])
  }

  @Test func `a value that is set aside can be given up without a set`() throws {
    var store = Store()
    try store.register([Self.counter()], provider: "desk")
    try store.create("plain", kind: "counter")
    try store.set("plain", ["note": .string("mine")])
    var kind = Self.counter()
    kind.data.removeLast()
    try store.register([kind], provider: "desk")
    #expect(store.owners(of: "plain").count(where: \.isAside) == 1)
    try store.update("plain", .with { $0.releases = ["data.note"] })
    #expect(store.owners(of: "plain") == [])
    #expect(store.checkInvariants() == [])
  }

  @Test func `a value that is set aside can be given up`() throws {
    var store = try store()
    try store.set("c", ["note": .string("mine")])
    var kind = Self.counter()
    kind.data.removeLast()
    try store.register([kind], provider: Self.manager)
    try store.update("c", .with { $0.releases = ["data.note"] })
    #expect(owner("data.note", in: store) == nil)
    #expect(store.checkInvariants() == [])
    try store.register([Self.counter()], provider: Self.manager)
    #expect(store.widget("c")?.data["note"] == nil)
  }

  @Test(arguments: [
    (FieldType.double, Value.double(0), Value.double(1), OwnershipTests.manager as String?),
    (.string, .string("none"), .string("none"), "user 1000"),
  ])
  func `the declared value or the default replaces a user's value that no longer fits`(
    type: FieldType, initial: Value, value: Value, owner: String?
  ) throws {
    func kind(_ type: FieldType, _ initial: Value) -> Kind {
      Kind(name: "counter", data: [Field(name: "count", type: type, defaultValue: initial)])
    }
    var store = Store()
    try store.register([kind(.any, .null)], provider: Self.manager)
    try own(&store, spec(data: ["count": .int(1)]))
    try store.set("c", ["count": .list([.int(7)])])
    #expect(self.owner("data.count", in: store) == "user 1000")
    try store.register([kind(type, initial)], provider: Self.manager)
    #expect(store.widget("c")?.data["count"] == value)
    #expect(self.owner("data.count", in: store) == owner)
    #expect(store.owners(of: "c").allSatisfy { $0.manager.isEmpty })
    #expect(store.owners(of: "c").last?.declared == .list([.int(7)]))
    #expect(store.checkInvariants() == [])
    // The declared value did not replace the user's value for good.
    try store.register([kind(.any, .null)], provider: Self.manager)
    #expect(store.widget("c")?.data["count"] == .list([.int(7)]))
    #expect(self.owner("data.count", in: store) == "user 1000")
    #expect(store.owners(of: "c").allSatisfy { !$0.isAside })
    try store.update("c", .with { $0.releases = ["data.count"] })
    #expect(store.widget("c")?.data["count"] == (owner == Self.manager ? value : .null))
  }

  /// Another owner of a field beside a user's value that is set aside.
  enum Between: Sendable, CaseIterable {
    case nothing, manager, event, user, otherSet, release
    var discards: Bool { self != .nothing && self != .manager }
  }

  @Test(arguments: Between.allCases, [false, true])
  func `a user's value comes back over the file's value, and over no other`(
    between: Between, restarts: Bool
  ) throws {
    func kind(_ type: FieldType, _ initial: Value) -> Kind {
      Kind(
        name: "counter", data: [Field(name: "count", type: type, defaultValue: initial)],
        events: [EventType(name: "press")],
        reducers: type == .string
          ? [Reducer(event: "press", assignments: ["count": "'pressed'"])] : [])
    }
    func restart(_ store: inout Store) throws {
      guard restarts else { return }
      store.commitGroup(at: .at(0))
      store = Store(image: Self.image(of: store))
    }
    var store = Store()
    try store.register([kind(.int, .int(0))], provider: Self.manager)
    try own(&store, spec())
    try store.set("c", ["count": .int(7)])
    try store.register([kind(.string, .string(""))], provider: Self.manager)
    try own(&store, spec(data: ["count": .string("file")]))
    #expect(store.widget("c")?.data["count"] == .string("file"))
    #expect(
      store.owners(of: "c") == [
        FieldOwner(path: "data.count", owner: Self.manager),
        FieldOwner(path: "data.count", owner: "user 1000", declared: .int(7)),
      ])
    try restart(&store)
    switch between {
    case .nothing: break
    case .manager: try own(&store, spec(data: ["count": .string("again")]))
    case .event: try store.send("press", to: "c")
    case .user: try store.set("c", ["count": .string("other")])
    case .otherSet: try store.declare([spec(data: ["count": .string("desk")])], in: "desk")
    case .release: try store.update("c", .with { $0.releases = ["data.count"] })
    }
    #expect(store.owners(of: "c").contains(where: \.isAside) != between.discards)
    #expect(store.checkInvariants() == [])
    try restart(&store)

    try store.register([kind(.int, .int(0))], provider: Self.manager)
    try own(&store, spec(data: ["count": .int(3)]))
    guard !between.discards else {
      #expect(store.widget("c")?.data["count"] != .int(7))
      return
    }
    #expect(store.widget("c")?.data["count"] == .int(7))
    #expect(
      store.owners(of: "c") == [
        FieldOwner(
          path: "data.count", owner: "user 1000", manager: Self.manager, declared: .int(3))
      ])
    #expect(store.checkInvariants() == [])
    try store.update("c", .with { $0.releases = ["data.count"] })
    #expect(store.widget("c")?.data["count"] == .int(3))
  }

  @Test func `a value that is set aside comes back when the kind is removed`() throws {
    var store = try store(spec(data: ["note": .string("n")]))
    try store.set("c", ["note": .string("mine")])
    var kind = Self.counter()
    kind.data[1] = Field(name: "note", type: .int)
    try store.register([kind], provider: Self.manager)
    try own(&store, spec(data: ["note": .int(4)]))
    try store.run(.deleteKind("counter"))
    #expect(store.widget("c")?.data["note"] == .string("mine"))
    #expect(owner("data.note", in: store) == "user 1000")
    #expect(store.checkInvariants() == [])
  }

  @Test func `a manager that no longer declares a field leaves the value that is aside`() throws {
    var store = try store(spec(data: ["note": .string("n")]))
    try store.set("c", ["note": .string("mine")])
    var kind = Self.counter()
    kind.data[1] = Field(name: "note", type: .int)
    try store.register([kind], provider: Self.manager)
    try own(&store, spec(data: ["note": .int(4)]))
    try own(&store, spec(data: [:]))
    #expect(store.widget("c")?.data["note"] == nil)
    #expect(store.owners(of: "c").map(\.isAside) == [true])
    try store.register([Self.counter()], provider: Self.manager)
    #expect(store.widget("c")?.data["note"] == .string("mine"))
    #expect(store.checkInvariants() == [])
  }

  @Test func `a value that does not fit a changed type comes back with the former type`() throws {
    func kind(_ type: FieldType, _ initial: Value) -> Kind {
      Kind(name: "counter", data: [Field(name: "count", type: type, defaultValue: initial)])
    }
    var store = Store()
    try store.register([kind(.int, .int(1))], provider: Self.manager)
    try own(&store, spec())
    try store.create("mine", kind: "counter", data: ["count": .int(42)])
    try store.create("plain", kind: "counter")
    try store.set("c", ["count": .int(2)])

    let commit = try store.register([kind(.string, .string("zz"))], provider: Self.manager)
    guard case .kindsApplied(let results) = commit.outcome else { return }
    #expect(
      Set(results[0].lostFields) == [
        LostField(widgetID: "c", path: "data.count", isSetAside: true),
        LostField(widgetID: "mine", path: "data.count", isSetAside: true),
      ])
    for id in ["c", "mine", "plain"] as [WidgetID] {
      #expect(store.widget(id)?.data["count"] == .string("zz"))
    }
    #expect(store.checkInvariants() == [])

    try store.register([kind(.int, .int(1))], provider: Self.manager)
    #expect(store.widget("c")?.data["count"] == .int(2))
    #expect(owner("data.count", in: store) == "user 1000")
    #expect(store.widget("mine")?.data["count"] == .int(42))
    #expect(store.owners(of: "mine").isEmpty)
    #expect(store.widget("plain")?.data["count"] == .int(1))
    #expect(store.checkInvariants() == [])
  }

  @Test(arguments: [FieldOwner.Part.data, .parameters])
  func `a value that is no longer a choice is set aside, and comes back with the choice`(
    part: FieldOwner.Part
  ) throws {
    func kind(_ choices: [Value], _ initial: Value?) -> Kind {
      let fields = [
        Field(name: "face", type: .string, defaultValue: initial, choices: choices)
      ]
      return part == .data
        ? Kind(name: "counter", data: fields) : Kind(name: "counter", parameters: fields)
    }
    func value(_ id: WidgetID) -> Value? {
      store.widget(id).flatMap { part == .data ? $0.data["face"] : $0.parameters["face"] }
    }
    func spec(_ id: WidgetID, _ face: String) -> WidgetSpec {
      let values: ValueMap = ["face": .string(face)]
      return part == .data
        ? WidgetSpec(id: id, kind: "counter", data: values)
        : WidgetSpec(id: id, kind: "counter", parameters: values)
    }
    var store = Store()
    let path = part.path("face")
    let all = kind(["smile", "frown", "wink"].map { .string($0) }, .string("smile"))
    try store.register([all], provider: Self.manager)
    try store.run(.create(spec("mine", "frown")))
    try store.run(.create(spec("fits", "wink")))
    try own(&store, spec("c", "wink"))
    try store.update("c", .with { $0.set([(part, "face", .string("frown"))]) })

    let fewer = kind(["smile", "wink"].map { .string($0) }, .string("smile"))
    let dry = try store.change(fewer, provider: Self.manager, isDryRun: true)
    let commit = try store.register([fewer], provider: Self.manager)
    guard case .kindsApplied(let results) = commit.outcome else { return }
    for result in [dry, results[0]] {
      #expect(
        Set(result.lostFields) == [
          LostField(widgetID: "c", path: path, isSetAside: true),
          LostField(widgetID: "mine", path: path, isSetAside: true),
        ])
    }
    #expect(value("mine") == .string("smile"))
    #expect(value("fits") == .string("wink"))
    // The value that the manager declares is still a choice.
    #expect(value("c") == .string("wink"))
    #expect(store.checkInvariants() == [])

    try store.register([all], provider: Self.manager)
    for id in ["mine", "c"] as [WidgetID] { #expect(value(id) == .string("frown")) }
    #expect(owner(path, in: store) == "user 1000")
    #expect(store.checkInvariants() == [])

    // Without a default, the field disappears.
    try store.register([kind([.string("wink")], nil)], provider: Self.manager)
    #expect(value("mine") == nil)
    #expect(store.owners(of: "mine").first?.declared == .string("frown"))
  }

  @Test func `choices have the type of their field`() throws {
    var store = Store()
    let field = Field(
      name: "size", type: .double, defaultValue: .int(1), choices: [.int(1), .double(2.5)])
    try store.register([Kind(name: "counter", data: [field])])
    try store.create("mine", kind: "counter", data: ["size": .int(1)])
    #expect(store.widget("mine")?.data["size"] == .double(1))
  }

  @Test func `a kind that takes widgets over gives their values back when it is removed`() throws {
    var store = Store()
    try store.create("w", kind: "weather", data: ["city": .string("Oslo"), "t": .int(5)])
    let kind = Kind(
      name: "weather",
      data: [
        Field(name: "temp", type: .int, defaultValue: .int(0)),
        Field(name: "t", type: .string, defaultValue: .string("")),
      ])
    try store.register([kind])
    #expect(store.widget("w")?.data == ["temp": .int(0), "t": .string("")])
    #expect(store.owners(of: "w").map(\.isAside) == [true, true])
    #expect(store.checkInvariants() == [])

    try store.run(.deleteKind("weather"))
    #expect(store.widget("w")?.data == ["city": .string("Oslo"), "t": .int(5)])
    #expect(store.owners(of: "w").isEmpty)
    #expect(store.checkInvariants() == [])
  }

  @Test func `a new value discards the one that is set aside, in a widget without a manager`()
    throws
  {
    var store = Store()
    try store.create("w", kind: "weather", data: ["t": .int(5)])
    try store.register([
      Kind(name: "weather", data: [Field(name: "t", type: .string, defaultValue: .string(""))])
    ])
    try store.set("w", ["t": .string("warm")])
    #expect(store.owners(of: "w").isEmpty)
    try store.run(.deleteKind("weather"))
    #expect(store.widget("w")?.data == ["t": .string("warm")])
    #expect(store.checkInvariants() == [])
  }

  @Test func `a field of a widget that another set has taken is released to the kind's default`()
    throws
  {
    var store = try store()
    try store.set("c", ["count": .int(7)])
    try own(&store, spec(data: ["count": .int(5)]))
    try store.declare([spec(data: ["count": .int(7)])], in: "mine")
    #expect(owner("data.count", in: store) == "user 1000")
    try store.update("c", .with { $0.releases = ["data.count"] })
    #expect(store.widget("c")?.data["count"] == .int(0))
    #expect(owner("data.count", in: store) == nil)
    #expect(store.checkInvariants() == [])
  }
}
