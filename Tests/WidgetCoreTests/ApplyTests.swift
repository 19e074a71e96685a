import Testing
import WidgetModel

@testable import WidgetCore

/// Applying a declared set.
struct ApplyTests {
  private func spec(
    _ id: WidgetID, kind: KindName = "k", data: ValueMap = [:], parameters: ValueMap = [:],
    labels: Labels = [:]
  ) -> WidgetSpec {
    WidgetSpec(id: id, kind: kind, labels: labels, parameters: parameters, data: data)
  }

  @Test func `missing widgets are created in the declared order, in one commit`() throws {
    var store = Store()
    let commit = try store.declare([spec("b"), spec("a"), spec("c")], in: "home")
    #expect(words(commit) == ["+b", "+a", "+c"])
    #expect(commit.revision == 1)
    #expect(commit.isChange)
    #expect(store.ids == ["b", "a", "c"])
    #expect(store.widget("a")?.applySet == "home")
    #expect(store.checkInvariants() == [])
  }

  @Test func `a declaration at the quota can replace widgets, because removals make room`() throws {
    var store = Store(limits: .with { $0.widgetsMax = 2 })
    try store.declare([spec("a"), spec("b")])
    #expect(
      words(try store.declare([spec("c"), spec("d")], prunes: true)) == ["+c", "+d", "-a", "-b"])
    #expect(store.ids == ["c", "d"])
    #expect(store.checkInvariants() == [])
  }

  @Test func `the same declaration again makes no commit`() throws {
    var store = Store()
    let declared = [
      spec("b", data: ["x": .double(.nan)], labels: ["l": "1"]),
      spec("a", parameters: ["p": .list([.int(1)])]),
    ]
    try store.declare(declared)
    let before = store.observation()
    let commit = try store.declare(declared, prunes: true, transition: .quick)
    #expect(words(commit) == ["=b", "=a"])
    #expect(!commit.isChange)
    #expect(commit.revision == 1)
    #expect(store.observation() == before)
    #expect(store.checkInvariants() == [])
  }

  @Test func `an update replaces labels and parameters, and sets only the named data`()
    throws
  {
    var store = Store()
    try store.declare([
      spec(
        "a", data: ["x": .int(1)], parameters: ["p": .int(1), "q": .int(2)], labels: ["l": "1"]),
      spec("same"),
    ])
    try store.set("a", ["fed": .int(9)])
    let commit = try store.declare(
      [
        spec("a", data: ["x": .int(2)], parameters: ["q": .int(3)], labels: ["m": "1"]),
        spec("same"),
      ],
      transition: .slow)
    #expect(words(commit) == ["~a", "=same"])
    let widget = try #require(store.widget("a"))
    #expect(widget.data == ["fed": .int(9), "x": .int(2)])
    #expect(widget.parameters == ["q": .int(3)])
    #expect(widget.labels == ["m": "1"])
    #expect(widget.revision == 3)
    #expect(store.revision(of: "same") == 1)
    guard case .updated(let update) = try store.changes(since: 2).changes.first else {
      Issue.record("not an update")
      return
    }
    #expect(update.setData == ["x": .int(2)])
    #expect(update.unsetParameters == ["p"])
    #expect(update.labels == ["m": "1"])
    #expect(update.presence == nil)
    #expect(update.transition == .slow)
    #expect(store.checkInvariants() == [])
  }

  @Test func `presence and family stay unless they are declared`() throws {
    var store = try Store(widgets: ["a"])
    try store.run(.setPresence(.ids(["a"]), .hide))
    try store.declare([spec("a")])
    #expect(store.widget("a")?.presence == Presence(isVisible: false, isEnabled: true))
    let declared = WidgetSpec(id: "a", kind: "k", family: .small, isVisible: true, isEnabled: false)
    #expect(words(try store.declare([declared])) == ["~a"])
    #expect(store.widget("a")?.presence == Presence(isVisible: true, isEnabled: false))
    #expect(store.widget("a")?.family == .small)
    #expect(words(try store.declare([spec("a")])) == ["=a"])
    #expect(store.widget("a")?.family == .small)
  }

  @Test func `a widget is adopted into the set that declares it`() throws {
    var store = try Store(widgets: ["a"])
    #expect(words(try store.declare([spec("a")], in: "one")) == ["~a"])
    #expect(words(try store.declare([spec("a")], in: "one")) == ["=a"])
    #expect(words(try store.declare([spec("a")], in: "two")) == ["~a"])
    #expect(words(try store.declare([], in: "one", prunes: true)) == [])
    #expect(store.widget("a")?.applySet == "two")
  }

  @Test func `prune removes only widgets that the set no longer declares`() throws {
    var store = try Store(widgets: ["mine"])
    try store.declare([spec("a"), spec("b"), spec("c")], in: "one")
    try store.declare([spec("x")], in: "two")
    #expect(words(try store.declare([spec("b")], in: "one")) == ["=b"])
    let commit = try store.declare(
      [spec("b"), spec("d")], in: "one", prunes: true, transition: .quick)
    #expect(words(commit) == ["=b", "+d", "-a", "-c"])
    #expect(store.ids == ["mine", "b", "x", "d"])
    #expect(
      Set(words(try store.changes(since: 3))) == ["-a", "-c", "+d"])
    #expect(store.checkInvariants() == [])
  }

  @Test func `declared widgets take the declared order in the places they have`() throws {
    var store = try Store(widgets: ["1", "a", "2", "b", "3", "c"])
    let before = store.revision
    let commit = try store.declare([spec("c"), spec("b"), spec("a")])
    #expect(words(commit) == ["~c", "~b", "~a"])
    #expect(commit.revision == before + 1)
    #expect(store.ids == ["1", "c", "2", "b", "3", "a"])
    let again = store.observation()
    #expect(try !store.declare([spec("c"), spec("b"), spec("a")]).isChange)
    #expect(store.observation() == again)
    #expect(words(try store.declare([spec("b"), spec("c")])) == ["~b", "~c"])
    #expect(store.ids == ["1", "b", "2", "c", "3", "a"])
    #expect(store.checkInvariants() == [])
  }

  @Test func `a widget that only moved is reported updated`() throws {
    var store = Store()
    try store.declare([spec("a"), spec("b"), spec("c")])
    #expect(words(try store.declare([spec("b"), spec("a"), spec("c")])) == ["~b", "~a", "=c"])
    #expect(store.revision(of: "c") == 1)
  }

  @Test func `a new widget in front takes a declared place`() throws {
    var store = Store()
    try store.declare([spec("a"), spec("b")])
    #expect(words(try store.declare([spec("new"), spec("a"), spec("b")])) == ["+new", "~a", "~b"])
    #expect(store.ids == ["new", "a", "b"])
    #expect(words(try store.changes(since: 1)).sorted() == ["+new", "~a", "~b"])
  }

  @Test func `a dry run returns the result and changes nothing at all`() throws {
    var store = try Store(widgets: ["old"])
    try store.declare([spec("a"), spec("b"), spec("c")], in: "one")
    store.commitGroup(at: .at(0))
    let declared = [
      spec("c"), spec("a", data: ["x": .int(1)]), spec("new"), spec("old", labels: ["l": "1"]),
    ]
    let before = store.observation()
    let chunks = (0..<store.chunkCount).map(store.chunkRevision)
    let dry = try store.declare(declared, in: "one", prunes: true, isDryRun: true)
    #expect(words(dry) == ["~c", "~a", "+new", "~old", "-b"])
    #expect(!dry.isChange)
    #expect(dry.revision == 2)
    #expect(store.observation() == before)
    #expect((0..<store.chunkCount).map(store.chunkRevision) == chunks)
    #expect(!store.hasPendingGroup)
    #expect(store.checkInvariants() == [])
    let real = try store.declare(declared, in: "one", prunes: true)
    #expect(real.outcome == dry.outcome)
    #expect(real.revision == 3)
  }

  @Test func `a dry run changes nothing in a store that cannot be rolled back either`() throws {
    var store = Store(isRevocable: false)
    try store.declare([spec("a")])
    let before = store.observation()
    let dry = try store.declare([spec("b")], prunes: true, isDryRun: true)
    #expect(words(dry) == ["+b", "-a"])
    #expect(store.observation() == before)
    #expect(store.checkInvariants() == [])
  }

  @Test func `another kind takes back everything that came before it`() throws {
    var store = try Store(widgets: ["a", "b", "c"])
    let refusal = store.refusal(
      of: .apply(
        Declaration(widgets: [
          spec("new"), spec("c", data: ["x": .int(1)]), spec("a"), spec("b", kind: "other"),
        ])))
    #expect(refusal == .kindMismatch("b", is: "k", declared: "other", of: ""))
  }

  @Test func `a quota reached halfway takes back everything`() throws {
    var store = try Store(widgets: ["a"], limits: .with { $0.widgetsMax = 2 })
    let refusal = store.refusal(
      of: .apply(Declaration(widgets: [spec("a", data: ["x": .int(1)]), spec("b"), spec("c")])))
    #expect(refusal == .quotaExceeded(limit: "widgets_max", maximum: 2))
  }

  @Test func `a chunk with an unchanged revision has the same widgets, despite rollbacks`() throws {
    var store = try Store(widgets: ["a", "b"])
    let (revision, widgets) = (store.chunkRevision(0), store.widgets(inChunk: 0))
    let refusal = store.refusal(
      of: .apply(
        Declaration(widgets: [spec("a", data: ["x": .int(1)]), spec("b", kind: "other")])))
    #expect(refusal != nil)
    #expect(store.chunkRevision(0) == revision)
    #expect(store.widgets(inChunk: 0) == widgets)
    try store.set("a", ["x": .int(2)])
    #expect(store.chunkRevision(0) != revision)
  }

  @Test func `a declaration needs ids, each once, and a name`() throws {
    var store = Store()
    let field = { (error: StoreError?) -> String? in
      guard case .invalid(let field, _) = error else { return nil }
      return field
    }
    let anonymous = Declaration(widgets: [spec("a"), WidgetSpec(id: nil, kind: "k")])
    #expect(field(store.refusal(of: .apply(anonymous))) == "widgets[1].id")
    let twice = Declaration(widgets: [spec("a"), spec("b"), spec("a")])
    #expect(field(store.refusal(of: .apply(twice))) == "widgets[2].id")
    let invalid = Declaration(widgets: [spec("a", data: ["": .null])])
    #expect(field(store.refusal(of: .apply(invalid))) == "widgets[0].data")
    for name in ["", "-x", "a b", String(repeating: "a", count: 129)] {
      let unnamed = Declaration(applySet: name, widgets: [spec("a")])
      #expect(field(store.refusal(of: .apply(unnamed))) == "apply_set")
    }
    #expect(store.revision == 0)
  }

  @Test func `an empty declaration with prune removes the whole set`() throws {
    var store = Store()
    try store.declare([spec("a"), spec("b")])
    #expect(words(try store.declare([], prunes: true)) == ["-a", "-b"])
    #expect(store.count == 0)
    #expect(try !store.declare([], prunes: true).isChange)
  }
}
