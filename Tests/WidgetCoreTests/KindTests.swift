import Testing
import WidgetModel

@testable import WidgetCore

/// Kinds, and their effects on widgets.
struct KindTests {
  static let clock = Kind(
    name: "clock", displayName: "Clock", summary: "Shows the time.", families: [.small, .inline],
    parameters: [
      Field(name: "zone", type: .string, defaultValue: .string("UTC"), summary: "IANA name."),
      Field(name: "title", type: .string, isRequired: true),
    ],
    data: [
      Field(name: "ticks", type: .int, defaultValue: .int(0)),
      Field(name: "drift", type: .double),
    ],
    events: [
      EventType(
        name: "click",
        payload: [
          Field(name: "button", type: .int, defaultValue: .int(1)),
          Field(name: "where", type: .string, isRequired: true),
        ])
    ], transition: .slow)

  func store(_ kinds: [Kind] = [clock]) throws -> Store {
    var store = Store()
    try store.register(kinds)
    return store
  }

  func spec(
    _ id: WidgetID = "a", parameters: ValueMap = ["title": .string("T")], data: ValueMap = [:],
    family: Family? = nil
  ) -> WidgetSpec {
    WidgetSpec(id: id, kind: "clock", family: family, parameters: parameters, data: data)
  }

  // MARK: - Registering

  @Test func `a kind is registered in one commit, and again without one`() throws {
    var store = Store()
    let commit = try store.register([Self.clock])
    #expect(commit.isChange)
    #expect(store.revision == 1)
    let registered = try #require(store.kind("clock"))
    #expect(registered.kind == Self.clock)
    #expect(registered.provider == "desk")
    #expect(registered.revision == 1)
    #expect(registered.ownerUID == 1_000)
    let again = try store.register([Self.clock])
    #expect(!again.isChange)
    #expect(store.revision == 1)
    #expect(results(again) == ["=clock"])
  }

  @Test func `a pruning set removes only the undeclared kinds of its provider`()
    throws
  {
    var store = Store()
    try store.register([Kind(name: "a"), Kind(name: "b")])
    try store.register([Kind(name: "c")], provider: "other")
    #expect(results(try store.register([Kind(name: "a")])) == ["=a"])
    let commit = try store.register([Kind(name: "a", summary: "new")], prunes: true)
    #expect(results(commit) == ["~a", "-b"])
    #expect(store.kinds().kinds.map(\.kind.name) == ["a", "activity", "c", "help", "smart-stack"])
  }

  @Test func `a kind belongs to the provider that registered it first`() throws {
    var store = try store()
    #expect(
      store.refusal(of: .applyKinds(.init(provider: "other", kinds: [Self.clock])))
        == .kindClaimed("clock", by: "desk"))
    #expect(
      store.refusal(of: .applyKinds(.init(provider: "desk", kinds: [Kind(name: "help")])))
        == .kindClaimed("help", by: "widgetd"))
    try store.run(.deleteKind("clock"))
    try store.register([Self.clock], provider: "other")
    #expect(store.kind("clock")?.provider == "other")
  }

  @Test func `a dry run returns the result and changes nothing`() throws {
    var store = try store()
    try store.run(.create(spec()))
    let before = store.observation()
    var changed = Self.clock
    changed.data.append(Field(name: "new", type: .int, defaultValue: .int(7)))
    let commit = try store.run(
      .applyKinds(.init(provider: "desk", kinds: [changed, Kind(name: "b")], isDryRun: true)))
    #expect(results(commit) == ["~clock(1)", "+b"])
    #expect(!commit.isChange)
    #expect(store.observation() == before)
  }

  @Test func `one refused kind refuses the whole set`() throws {
    var store = Store()
    let bad = Kind(name: "bad", data: [Field(name: "1x")])
    let refusal = store.refusal(
      of: .applyKinds(.init(provider: "desk", kinds: [Self.clock, bad])))
    guard case .invalid(let field, _) = refusal else {
      Issue.record("\(refusal as Any)")
      return
    }
    #expect(field == "kinds[1].data[0].name")
  }

  @Test(arguments: [
    (Kind(name: "k", families: [.small, .small]), "families"),
    (Kind(name: "k", parameters: [Field(name: "a"), Field(name: "a")]), "parameters[1].name"),
    (Kind(name: "k", data: [Field(name: "")]), "data[0].name"),
    (Kind(name: "k", data: [Field(name: "a-b")]), "data[0].name"),
    (Kind(name: "k", data: [Field(name: "é")]), "data[0].name"),
    (Kind(name: "k", data: [Field(name: "a", isRequired: true)]), "data[0].required"),
    (
      Kind(
        name: "k", parameters: [Field(name: "a", defaultValue: .int(1), isRequired: true)]),
      "parameters[0].required"
    ),
    (
      Kind(name: "k", data: [Field(name: "a", type: .int, defaultValue: .string("1"))]),
      "data[0].default_value"
    ),
    (Kind(name: "k", events: [EventType(name: "")]), "events[0].name"),
    (Kind(name: "k", events: [EventType(name: "e"), EventType(name: "e")]), "events[1].name"),
    (
      Kind(name: "k", events: [EventType(name: "e", payload: [Field(name: "a b")])]),
      "events[0].payload[0].name"
    ),
  ])
  func `an impossible kind is refused, with the place`(kind: Kind, place: String) {
    var store = Store()
    let refusal = store.refusal(of: .applyKinds(.init(provider: "desk", kinds: [kind])))
    guard case .invalid(let field, let description) = refusal else {
      Issue.record("\(refusal as Any)")
      return
    }
    #expect(field == "kinds[0].\(place)")
    #expect(!description.isEmpty)
  }

  @Test func `a whole number is a double's default`() throws {
    let whole = Kind(
      name: "k", data: [Field(name: "a", type: .list(.double), defaultValue: .list([.int(1)]))])
    var store = try store([whole])
    #expect(store.kind("k")?.kind.data[0].defaultValue == .list([.double(1)]))
    #expect(try !store.register([whole]).isChange)
    try store.create("a", kind: "k")
    #expect(store.widget("a")?.data["a"] == .list([.double(1)]))
  }

  /// Swift takes the sign for kelvin for the letter K.
  @Test func `a sample value has the type of the field with the same bytes`() throws {
    let kind = Kind(
      name: "k", data: [Field(name: "K", type: .double)], isOpen: true,
      sample: ValueMap([
        .init(key: "K", value: .int(1)), .init(key: "\u{212A}", value: .int(1)),
      ]))
    let store = try store([kind])
    let sample = try #require(store.kind("k")?.kind.sample)
    let values = Dictionary(
      uniqueKeysWithValues: sample.entries.map { (Array($0.key.utf8), $0.value) })
    #expect(values == [Array("K".utf8): .double(1), Array("\u{212A}".utf8): .int(1)])
  }

  @Test func `the number and the size of kinds are limited`() throws {
    var store = Store(
      limits: .with {
        $0.kindsMax = 2
        $0.kindBytesMax = 200
      })
    try store.register([Kind(name: "a"), Kind(name: "b")])
    #expect(
      store.refusal(of: .applyKinds(.init(provider: "desk", kinds: [Kind(name: "c")])))
        == .quotaExceeded(limit: "kinds_max", maximum: 2))
    // Removed kinds make room for new kinds.
    try store.register([Kind(name: "c")], prunes: true)
    let large = Kind(name: "c", summary: String(repeating: "x", count: 200))
    #expect(
      store.refusal(of: .applyKinds(.init(provider: "desk", kinds: [large])))
        == .quotaExceeded(limit: "kind_bytes_max", maximum: 200))
  }

  @Test func `the memory of expressions is limited, for a kind and for a user`() throws {
    func kind(_ name: KindName, _ count: Int, repeats: Int = 900) -> Kind {
      Kind(
        name: name, isOpen: true,
        reducers: (0..<count).map {
          Reducer(
            event: "e\($0)", assignments: ["a": "string(data.n).matches('a{\(repeats)}')"])
        })
    }
    let one = KindSchema(kind("a", 1)).memoryBytes
    #expect(one > 900 * 8 && !KindSchema(kind("a", 1)).exceedsMemory)
    var store = Store(
      limits: .with {
        $0.kindMemoryBytesMax = 3 * one
        $0.kindMemoryBytesPerUIDMax = 5 * one
      })
    func refusal(_ kinds: [Kind], prunes: Bool = false) -> StoreError? {
      store.refusal(
        of: .applyKinds(.init(provider: "desk", kinds: kinds, prunes: prunes)))
    }
    #expect(
      refusal([kind("a", 4)])
        == .quotaExceeded(limit: "kind_memory_bytes_max", maximum: 3 * one))
    try store.register([kind("a", 2), kind("b", 2)])
    #expect(store.highestKindMemory > 3 * one)
    let full = StoreError.quotaExceeded(
      limit: "kind_memory_bytes_per_uid_max", maximum: 5 * one)
    #expect(refusal([kind("c", 2)]) == full)
    #expect(refusal([kind("c", 1), kind("d", 1)]) == full)
    // Removed kinds make room, and a smaller kind is always possible.
    #expect(refusal([kind("c", 2)], prunes: true) == nil)
    store.limits.kindMemoryBytesPerUIDMax = one
    #expect(refusal([kind("c", 3)]) != nil)
    #expect(refusal([kind("c", 2, repeats: 500)]) == nil)
    #expect(refusal([kind("c", 1, repeats: 500)]) == nil)
  }

  @Test func `kinds are listed by name, a page at a time`() throws {
    var store = Store()
    try store.register([Kind(name: "z"), Kind(name: "a"), Kind(name: "k")])
    var page = store.kinds(limit: 2)
    #expect(page.kinds.map(\.kind.name) == ["a", "activity"])
    #expect(page.hasMore)
    page = store.kinds(after: "help", limit: 2)
    #expect(page.kinds.map(\.kind.name) == ["k", "smart-stack"])
    #expect(page.hasMore)
    page = store.kinds(after: "smart-stack", limit: 2)
    #expect(page.kinds.map(\.kind.name) == ["z"])
    #expect(!page.hasMore)
    page = store.kinds(bytesMax: 1)
    #expect(page.kinds.count == 1)
    #expect(page.hasMore)
  }

  @Test func `the widgets of a removed kind stay, as widgets of an unknown kind`() throws {
    var store = try store()
    try store.run(.create(spec()))
    try store.run(.deleteKind("clock"))
    #expect(store.kind("clock") == nil)
    try store.set("a", ["anything": .string("goes")])
    #expect(store.refusal(of: .deleteKind("clock")) == .kindNotFound("clock"))
    #expect(try store.run(.deleteKind("clock", allowMissing: true)).isChange == false)
    #expect(store.refusal(of: .deleteKind("help")) == .kindClaimed("help", by: "widgetd"))
  }

  // MARK: - Widgets

  @Test func `a new widget has the fields that its kind declares`() throws {
    var store = try store()
    try store.run(.create(spec(data: ["drift": .int(2)])))
    let widget = try #require(store.widget("a"))
    #expect(widget.family == .small)
    #expect(widget.parameters == ["title": .string("T"), "zone": .string("UTC")])
    #expect(widget.data == ["drift": .double(2), "ticks": .int(0)])
    guard case .added(_, let transition) = try store.changes(since: 1).changes.first else {
      Issue.record("not added")
      return
    }
    #expect(transition == .slow)
  }

  @Test func `a widget of an unknown kind can have any fields`() throws {
    var store = try store()
    try store.create("free", kind: "unknown", data: ["x": .list([.int(1)])])
    #expect(store.widget("free")?.data == ["x": .list([.int(1)])])
  }

  @Test func `a field that a kind does not declare is refused, with a hint`() throws {
    var store = try store()
    try store.run(.create(spec()))
    let title = ["title": Value.string("T")] as ValueMap
    let commands: [(Command, String, String)] = [
      (.create(spec("b", parameters: [:])), "widget.parameters[title]", "needs it"),
      (
        .create(spec("b", parameters: ["title": .null])), "widget.parameters[title]", "needs it"
      ),
      (
        .create(spec("b", parameters: ["title": .string("T"), "zoen": .string("")])),
        "widget.parameters[zoen]", "did you mean \"zone\"?"
      ),
      (
        .create(spec("b", data: ["ticks": .string("1")])), "widget.data[ticks]",
        "type int, not string"
      ),
      (.create(spec("b", parameters: title, family: .large)), "widget.family", "small, inline"),
      (.update("a", .set(["tick": .int(1)])), "patch.set_data[tick]", "did you mean \"ticks\"?"),
      (
        .update("a", .set(["data.ticks": .int(1)])), "patch.set_data[data.ticks]",
        "did you mean \"ticks\"?"
      ),
      (.update("a", .set(["drift": .bool(true)])), "patch.set_data[drift]", "double"),
      (
        .update("a", .with { $0.unsetParameters = ["title"] }), "patch.unset_parameters",
        "required"
      ),
      (
        .apply(Declaration(widgets: [spec("a", parameters: [:])])),
        "widgets[0].parameters[title]", "needs it"
      ),
      (
        .apply(Declaration(widgets: [spec("b", data: ["x": .null])])), "widgets[0].data[x]",
        "there is: ticks, drift"
      ),
      (
        .sendEvent(EventDraft(widgetID: "a", name: "clik")), "name", "did you mean \"click\"?"
      ),
      (
        .sendEvent(EventDraft(widgetID: "a", name: "click")), "payload[where]", "needs it"
      ),
      (
        .sendEvent(
          EventDraft(
            widgetID: "a", name: "click", payload: ["where": .string(""), "butto": .int(1)])),
        "payload[butto]", "did you mean \"button\"?"
      ),
    ]
    for (command, place, hint) in commands {
      guard case .invalid(let field, let description) = store.refusal(of: command) else {
        Issue.record("not refused: \(command)")
        continue
      }
      #expect(field == place)
      #expect(description.contains(hint), "\(description)")
    }
  }

  @Test func `keys that only look like declared keys are undeclared`() throws {
    var store = try self.store([Kind(name: "clock", data: [Field(name: "K")])])
    // U+212A KELVIN SIGN
    guard
      case .invalid = store.refusal(
        of: .create(WidgetSpec(kind: "clock", data: ["\u{212A}": .int(1)])))
    else {
      Issue.record("taken")
      return
    }
  }

  @Test func `an open kind takes more than it declares`() throws {
    var open = Self.clock
    open.isOpen = true
    var store = try store([open])
    try store.run(
      .create(spec(parameters: ["title": .string("T"), "x": .int(1)], data: ["y": .int(2)])))
    try store.send("anything", to: "a", payload: ["z": .int(1)])
    #expect(store.widget("a")?.data == ["ticks": .int(0), "y": .int(2)])
  }

  @Test func `a field with a default gets it when the field is unset`() throws {
    var store = try store()
    try store.run(.create(spec(data: ["drift": .double(1), "ticks": .int(5)])))
    try store.update(
      "a",
      .with {
        $0.unsetData = ["ticks", "drift", "nothing"]
        $0.setParameters = ["zone": .string("CET")]
      })
    #expect(store.widget("a")?.data == ["ticks": .int(0)])
    try store.update("a", .with { $0.unsetParameters = ["zone"] })
    #expect(store.widget("a")?.parameters["zone"] == .string("UTC"))
    try store.set("a", ["ticks": .int(5)])
    try store.update(
      "a",
      .with {
        $0.setData = ["drift": .int(3)]
        $0.replaceData = true
      })
    #expect(store.widget("a")?.data == ["drift": .double(3), "ticks": .int(0)])
  }

  @Test func `equal data after fitting makes no commit`() throws {
    var store = try store()
    try store.run(.create(spec(data: ["drift": .double(2)])))
    let revision = store.revision
    #expect(try !store.set("a", ["drift": .int(2)]).isChange)
    #expect(try !store.unset("a", ["ticks"]).isChange)
    #expect(store.revision == revision)
  }

  @Test func `a set that is declared twice makes one commit, with and without defaults`() throws {
    var store = try store()
    let declared = [spec("a"), spec("b", data: ["drift": .int(1)])]
    try store.declare(declared)
    try store.set("a", ["ticks": .int(9)])
    let again = try store.declare(declared, prunes: true)
    #expect(words(again) == ["=a", "=b"])
    #expect(store.widget("a")?.data["ticks"] == .int(9))
    #expect(store.widget("a")?.family == .small)
  }

  @Test func `an event has its kind's details`() throws {
    var store = try store()
    try store.run(.create(spec()))
    try store.send("click", to: "a", payload: ["where": .string("left")])
    #expect(
      store.events(after: 0).events.map(\.payload)
        == [["button": .int(1), "where": .string("left")]])
  }

  func results(_ commit: Commit) -> [String] {
    guard case .kindsApplied(let results) = commit.outcome else { return ["no kinds"] }
    let signs: [ApplyAction: String] = [
      .created: "+", .updated: "~", .unchanged: "=", .deleted: "-",
    ]
    return results.map { result in
      "\(signs[result.action] ?? "?")\(result.name)"
        + (result.widgetsChanged > 0 ? "(\(result.widgetsChanged))" : "")
    }
  }
}

extension Store {
  @discardableResult
  mutating func register(
    _ kinds: [Kind], provider: String = "desk", prunes: Bool = false
  ) throws(StoreError) -> Commit {
    try run(.applyKinds(KindDeclaration(provider: provider, kinds: kinds, prunes: prunes)))
  }
}

extension Store {
  mutating func change(
    _ kind: Kind, provider: String = "desk", isDryRun: Bool = false
  ) throws -> KindResult {
    let declaration = KindDeclaration(provider: provider, kinds: [kind], isDryRun: isDryRun)
    guard case .kindsApplied(let results) = try run(.applyKinds(declaration)).outcome else {
      throw StoreError.kindNotFound(kind.name)
    }
    return try #require(results.first)
  }
}

extension Widget {
  /// The differences between a widget and its kind, computed in the simplest way.
  func misfit(_ kind: Kind) -> String? {
    for (map, fields) in [(data, kind.data), (parameters, kind.parameters)] {
      for entry in map.entries {
        let field = fields.first { $0.name == entry.key }
        if field == nil, !kind.isOpen { return "undeclared \(entry.key)" }
        if let field, field.type.fitted(entry.value) != entry.value { return "type \(entry.key)" }
        if let field, !field.choices.isEmpty, entry.value != .null,
          !field.choices.contains(entry.value)
        {
          return "choice \(entry.key)"
        }
      }
      for field in fields where field.defaultValue != nil && map[field.name] == nil {
        return "missing \(field.name)"
      }
    }
    return nil
  }
}
