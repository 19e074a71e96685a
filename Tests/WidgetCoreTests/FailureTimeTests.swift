import Testing
import WidgetModel

@testable import WidgetCore

/// Since when a part of a content, a schedule or an embed fails.
struct FailureTimeTests {
  private static func kind(_ text: String, summary: String = "") -> Kind {
    Kind(
      name: "share", summary: summary,
      data: [
        Field(name: "cups", type: .int, defaultValue: .int(1)),
        Field(name: "name", type: .string, defaultValue: .string("")),
      ],
      content: [
        ContentTemplate(
          root: NodeTemplate(
            id: "top", type: .stack,
            children: [
              NodeTemplate(id: "a", type: .label, properties: ["text": Binding(text)]),
              NodeTemplate(
                id: "b", type: .label, properties: ["text": Binding("string(1 % data.cups)")],
                condition: "1 / data.cups >= 0"),
            ]))
      ])
  }

  private func store(_ text: String = "string(10 / data.cups) + data.name") throws -> Store {
    var store = Store()
    try store.register([Self.kind(text)])
    try store.create("w", kind: "share")
    store.commitGroup(at: .at(0))
    return store
  }

  private func set(_ data: ValueMap, _ store: inout Store, at seconds: Int64) throws {
    try store.run(.update("w", .set(data)), at: .at(seconds))
    store.commitGroup(at: .at(0))
    #expect(store.checkInvariants().isEmpty)
  }

  private func since(_ node: String, _ store: Store) -> Timestamp? {
    store.widget("w")?.content?[node]?.problemSince
  }

  private func restarted(_ store: Store) -> Store {
    var image = StoreImage(epoch: 7, revision: store.revision)
    image.records = store.records.map { RecordImage($0) }
    image.kinds = store.kinds().kinds
    return Store(image: image)
  }

  @Test func `a failure keeps its start, and one that begins again has another start`() throws {
    var store = try store()
    #expect(since("a", store) == nil)
    try set(["cups": .int(0)], &store, at: 5)
    #expect(since("a", store) == .at(5))
    // The problem of a hidden node is the one of its parent.
    #expect(since("top", store) == .at(5))
    try set(["name": .string("x")], &store, at: 7)
    #expect(since("a", store) == .at(5))
    #expect(store.widget("w")?.failures.map(\.since) == [.at(5), .at(5)])
    try set(["cups": .int(2)], &store, at: 8)
    #expect(since("a", store) == nil && since("top", store) == nil)
    #expect(store.widget("w")?.failures == [])
    try set(["cups": .int(0)], &store, at: 9)
    #expect(since("a", store) == .at(9))
  }

  @Test func `the start of a failure survives a restart`() throws {
    var store = try store()
    try set(["cups": .int(0)], &store, at: 5)
    try set(["name": .string("x")], &store, at: 60)
    var other = restarted(store)
    #expect(other.widget("w") == store.widget("w"))
    #expect(since("a", other) == .at(5))
    // The stored start counts only for the failure that was there.
    try set(["cups": .int(1)], &other, at: 70)
    try set(["cups": .int(0)], &other, at: 80)
    #expect(since("a", other) == .at(80))
  }

  @Test func `a changed kind begins its failures, and ends none that stays`() throws {
    var store = try store("data.name")
    try set(["cups": .int(0)], &store, at: 5)
    #expect(since("a", store) == nil && since("top", store) == .at(5))
    let kind = Self.kind("string(10 / data.cups)", summary: "other")
    try store.run(
      .applyKinds(KindDeclaration(provider: "desk", kinds: [kind])), at: .at(30))
    store.commitGroup(at: .at(0))
    #expect(since("a", store) == .at(30) && since("top", store) == .at(5))
    #expect(store.checkInvariants().isEmpty)
    #expect(since("a", restarted(store)) == .at(30))
  }

  @Test func `a failed group takes the start back`() throws {
    var store = try store()
    try set(["cups": .int(0)], &store, at: 5)
    try store.run(.update("w", .set(["cups": .int(1)])), at: .at(6))
    try store.run(.update("w", .set(["cups": .int(0)])), at: .at(7))
    #expect(since("a", store) == .at(7))
    store.rollbackGroup()
    #expect(since("a", store) == .at(5))
    #expect(store.checkInvariants().isEmpty)
  }

  @Test func `the problem of a schedule keeps its start, also after a restart`() throws {
    var store = Store()
    try store.register([
      Kind(
        name: "share", parameters: [Field(name: "zone", type: .string)],
        schedule: EntrySchedule(every: .seconds(60), zone: "parameters.zone"))
    ])
    func problemSince(_ store: Store) -> Timestamp? { store.widget("w")?.timeline?.problemSince }
    try store.run(
      .create(
        WidgetSpec(id: "w", kind: "share", parameters: ["zone": .string("Mars/Base")])),
      at: .at(5))
    #expect(problemSince(store) == .at(5))
    store.commitGroup(at: .at(0))
    try store.run(
      .update("w", .with { $0.setParameters = ["zone": .string("Mars/Other")] }), at: .at(65))
    store.commitGroup(at: .at(0))
    store.advance(to: .at(130))
    #expect(problemSince(store) == .at(5))
    var other = restarted(store)
    other.advance(to: .at(200))
    #expect(problemSince(other) == .at(5))
    try other.run(.update("w", .with { $0.setParameters = ["zone": .string("UTC")] }), at: .at(201))
    #expect(problemSince(other) == nil)
  }
}

/// The same for widgets that show others.
struct EmbedFailureTimeTests: EmbedSuite {
  /// A widget with a label that can fail, and an embed that shows nothing.
  private static func kind(label: String = "label") -> Kind {
    Kind(
      name: "share", data: [Field(name: "cups", type: .int, defaultValue: .int(1))],
      content: [
        ContentTemplate(
          root: NodeTemplate(
            id: "top", type: .stack,
            children: [
              NodeTemplate(
                id: label, type: .label, properties: ["text": Binding("string(10 / data.cups)")]),
              NodeTemplate(
                id: "a", type: .label, properties: ["text": Binding("string(10 / data.cups)")]),
              NodeTemplate(
                id: "e", type: .embed, properties: ["widget": Binding("'gone'")],
                condition: "data.cups > 5"),
            ]))
      ])
  }

  private func set(_ cups: Int64, _ store: inout Store, at seconds: Int64) throws {
    try store.run(.update("w", .set(["cups": .int(cups)])), at: .at(seconds))
    store.commitGroup(at: .at(0))
    store.settleEmbeds(at: .at(seconds))
    #expect(store.checkInvariants().isEmpty)
  }

  private func failing() throws -> Store {
    var store = Store()
    try store.register([Self.kind()])
    try store.create("w", kind: "share")
    store.commitGroup(at: .at(0))
    try set(0, &store, at: 5)
    #expect(store.widget("w")?.content?["a"]?.problemSince == .at(5))
    return store
  }

  @Test func `a failure beside an embed keeps its start over a restart`() throws {
    let store = try failing()
    var image = StoreImage(epoch: 7, revision: store.revision)
    image.records = store.records.map { RecordImage($0) }
    image.kinds = store.kinds().kinds
    var other = Store(image: image)
    other.settleEmbeds(at: .at(50))
    #expect(other.widget("w")?.content?["a"]?.problemSince == .at(5))
    try set(-1, &other, at: 60)
    try set(0, &other, at: 70)
    #expect(other.widget("w")?.content?["a"]?.problemSince == .at(70))
  }

  @Test func `a failure beside an embed that begins again has another start`() throws {
    var store = try failing()
    try store.run(
      .applyKinds(KindDeclaration(provider: "desk", kinds: [Self.kind(label: "other")])),
      at: .at(30))
    store.commitGroup(at: .at(0))
    store.settleEmbeds(at: .at(30))
    #expect(store.widget("w")?.content?["a"]?.problemSince == .at(5))
    try set(1, &store, at: 40)
    try set(0, &store, at: 50)
    #expect(store.widget("w")?.content?["a"]?.problemSince == .at(50))
  }

  @Test func `an embed of a missing widget fails since the daemon has looked for it`() throws {
    var store = try store()
    try frame("f", showing: "gone", &store)
    store.commitGroup(at: .at(0))
    store.settleEmbeds(at: .at(5))
    #expect(store.widget("f")?.content?["inner"]?.problemSince == .at(5))
    try store.run(.update("f", .with { $0.setLabels = ["a": "b"] }), at: .at(9))
    store.commitGroup(at: .at(0))
    store.settleEmbeds(at: .at(9))
    #expect(store.widget("f")?.content?["inner"]?.problemSince == .at(5))
    #expect(store.checkInvariants().isEmpty)
  }
}
