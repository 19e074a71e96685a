import Testing
import WidgetModel

@testable import WidgetCore

/// The size of what schedules compute, which counts like the content of widgets.
struct ScheduleMemoryTests {
  private static let list = Kind(
    name: "list", data: [Field(name: "n", type: .int, defaultValue: .int(0))],
    events: [EventType(name: "grow")],
    reducers: [Reducer(event: "grow", assignments: ["n": "data.n + 1"])],
    entry: [Field(name: "title", type: .string, defaultValue: .string("x"))],
    schedule: EntrySchedule(entries: "lists.range(data.n).map(i, {'date': timestamp(i)})"))

  /// The size of one entry: `title`, and its value "x".
  private static let entryBytes = 32 + 5 + 17

  private func store(_ ids: [WidgetID], limits: StoreLimits = StoreLimits()) throws -> Store {
    var store = Store(limits: limits)
    try store.register([Self.list])
    for id in ids { try store.create(id, kind: "list", data: ["n": .int(10)]) }
    store.commitGroup(at: .at(0))
    return store
  }

  private func restarted(_ store: Store, limits: StoreLimits = StoreLimits()) -> Store {
    var image = StoreImage(epoch: 7, revision: store.revision)
    image.records = store.records.map { RecordImage($0) }
    image.kinds = store.kinds().kinds
    var after = Store(image: image, limits: limits)
    after.advance(to: .at(0))
    return after
  }

  private func problem(of id: WidgetID, _ store: Store) -> String {
    store.widget(id)?.timeline?.problem ?? ""
  }

  @Test func `computed entries count for their user, until they are gone`() throws {
    var store = try store(["a", "b"])
    #expect(store.highestUsage.contentBytes == 20 * Self.entryBytes)
    try store.send("grow", to: "a")
    #expect(store.highestUsage.contentBytes == 21 * Self.entryBytes)
    try store.set("a", ["n": .int(0)])
    #expect(store.highestUsage.contentBytes == 10 * Self.entryBytes)
    #expect(store.checkInvariants() == [])
    try store.delete("b")
    #expect(store.highestUsage.contentBytes == 0)
    store.rollbackGroup()
    #expect(store.highestUsage.contentBytes == 20 * Self.entryBytes)
    #expect(store.checkInvariants() == [])
  }

  @Test(arguments: [
    Command.create(WidgetSpec(id: "z", kind: "list", data: ["n": .int(1)])),
    .update("a", .set(["n": .int(11)])),
    .sendEvent(EventDraft(widgetID: "a", name: "grow")),
  ])
  func `a change is refused if its entries make the contents of the user exceed the limit`(
    command: Command
  ) throws {
    var store = try store(["a", "b"])
    let used = store.highestUsage.contentBytes
    store.limits.contentBytesPerUIDMax = used + Self.entryBytes - 1
    #expect(
      store.refusal(of: command)
        == .quotaExceeded(
          limit: "content_bytes_per_uid_max", maximum: used + Self.entryBytes - 1))
    store.limits.contentBytesPerUIDMax = used + Self.entryBytes
    try store.run(command)
    #expect(store.highestUsage.contentBytes == used + Self.entryBytes)
  }

  @Test func `a list of entries above the limit of a widget is a problem, and nothing is kept`()
    throws
  {
    var store = try store([], limits: .with { $0.contentBytesMax = 10 * Self.entryBytes })
    try store.create("a", kind: "list", data: ["n": .int(11)])
    #expect(problem(of: "a", store).contains("content_bytes_max"))
    #expect(store.widget("a")?.timeline?.current == nil)
    #expect(store.highestUsage.contentBytes == problem(of: "a", store).utf8.count)
    #expect(store.checkInvariants() == [])
    try store.set("a", ["n": .int(10)])
    #expect(problem(of: "a", store) == "")
    #expect(store.highestUsage.contentBytes == 10 * Self.entryBytes)
  }

  @Test func `after a restart, the same entries count`() throws {
    let store = try store(["a", "b"])
    let after = restarted(store)
    #expect(after.highestUsage.contentBytes == store.highestUsage.contentBytes)
    #expect(after.checkInvariants() == [])
  }

  @Test func `entries without room after a restart are a problem until there is room`() throws {
    let limit = 25 * Self.entryBytes
    var store = restarted(
      try store(["a", "b", "c"]), limits: .with { $0.contentBytesPerUIDMax = limit })
    let ids: [WidgetID] = ["a", "b", "c"]
    let lacking = ids.filter { !problem(of: $0, store).isEmpty }
    #expect(lacking.count == 1)
    let id = try #require(lacking.first)
    #expect(problem(of: id, store).contains("content_bytes_per_uid_max"))
    #expect(store.widget(id)?.timeline?.current == nil)
    // Only the text of the problem may exceed the limit.
    #expect(
      store.highestUsage.contentBytes == 20 * Self.entryBytes + problem(of: id, store).utf8.count)
    #expect(store.checkInvariants() == [])
    // The widget's next change has room.
    try store.delete(try #require(ids.first { $0 != id }))
    try store.update(id, .with { $0.setLabels = ["room": "yes"] })
    #expect(problem(of: id, store) == "")
    #expect(store.widget(id)?.timeline?.current != nil)
    #expect(store.highestUsage.contentBytes == 20 * Self.entryBytes)
    #expect(store.checkInvariants() == [])
  }

  @Test func `entries without room do not take the room of the widget's nodes`() throws {
    let label = NodeTemplate(
      id: "text", type: .label, properties: ["text": Binding("data.text")])
    let kind = Kind(
      name: "list",
      data: Self.list.data + [Field(name: "text", type: .string, defaultValue: .string(""))],
      content: [ContentTemplate(root: label)], entry: Self.list.entry,
      schedule: Self.list.schedule)
    let text = Value.string(String(repeating: "x", count: 5_000))
    var before = Store()
    try before.register([kind])
    try before.create("a", kind: "list", data: ["n": .int(50), "text": text])
    before.commitGroup(at: .at(0))
    let limit = before.highestUsage.contentBytes - 1
    let store = restarted(before, limits: .with { $0.contentBytesPerUIDMax = limit })
    #expect(problem(of: "a", store).contains("content_bytes_per_uid_max"))
    #expect(store.highestUsage.contentBytes <= limit)
    #expect(store.widget("a")?.content == before.widget("a")?.content)
    #expect(store.checkInvariants() == [])
    // With the missing byte, both fit.
    let roomier = restarted(before, limits: .with { $0.contentBytesPerUIDMax = limit + 1 })
    #expect(problem(of: "a", roomier) == "")
    #expect(roomier.highestUsage.contentBytes == limit + 1)
  }

  @Test func `the current entry of a recurrence counts with its defaults`() throws {
    let text = String(repeating: "x", count: 500)
    let clock = Kind(
      name: "clock",
      entry: (0..<10).map { Field(name: "f\($0)", type: .string, defaultValue: .string(text)) },
      schedule: EntrySchedule(every: .seconds(60)))
    var store = Store()
    try store.register([clock])
    try store.create("a", kind: "clock")
    store.commitGroup(at: .at(0))
    let bytes = 32 + 10 * (2 + 16 + 500)
    #expect(store.highestUsage.contentBytes == bytes)
    store.advance(to: .at(600))
    #expect(store.highestUsage.contentBytes == bytes)
    #expect(store.checkInvariants() == [])
  }

  @Test func `the entries of a timeline count as state, and not as content`() throws {
    var store = try store(["a"])
    let entries = (0..<10).map { TimelineEntry(date: .at(Int64($0))) }
    try store.update("a", WidgetPatch(timeline: .some(Timeline(entries: entries, policy: .never))))
    #expect(store.highestUsage.contentBytes == 0)
    try store.update("a", WidgetPatch(timeline: .some(nil)))
    #expect(store.highestUsage.contentBytes == 10 * Self.entryBytes)
    #expect(store.checkInvariants() == [])
  }
}
