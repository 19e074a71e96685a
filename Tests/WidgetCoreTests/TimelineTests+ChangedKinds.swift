import Testing
import WidgetModel
import WidgetTimeZones

@testable import WidgetCore

/// Timelines whose kind changes.
extension TimelineTests {
  @Test func `the result of a changed kind names the values of entries that it drops`() throws {
    var store = try store()
    try store.create("t", kind: "train")
    try set(
      Timeline(entries: [entry(-5, "0"), entry(10, "1")], policy: .never), of: "t", in: &store)
    var kind = Self.train
    kind.content = [Self.label("string(entry.platform)")]
    kind.entry = [Field(name: "platform", type: .int, defaultValue: .int(0))]
    for isDryRun in [true, false] {
      let result = try store.change(kind, isDryRun: isDryRun)
      #expect(result.lostFields == [LostField(widgetID: "t", path: "entry.platform")])
      #expect(result.widgetsChanged == 1)
    }
    // What was dropped before is no news.
    kind.summary = "Trains."
    #expect(try store.change(kind).lostFields == [])
  }

  @Test func `a widget says which values of its entries a changed kind has dropped`() throws {
    var store = try store()
    try store.create("t", kind: "train")
    let timeline = Timeline(entries: [entry(-5, "0"), entry(10, "1")], policy: .never)
    try set(timeline, of: "t", in: &store)
    func problem(_ store: Store) -> String? { store.widget("t")?.timeline?.problem }
    #expect(problem(store) == "")

    var kind = Self.train
    kind.content = [Self.label("string(entry.platform)")]
    kind.entry = [Field(name: "platform", type: .int, defaultValue: .int(0))]
    try store.register([kind, Self.clock, Self.agenda])
    let words =
      "An earlier change of the kind dropped values of the entries that did not fit: platform."
    #expect(problem(store)?.hasPrefix(words) == true)
    #expect(store.timeline(of: "t", from: .at(0), limit: 1)?.status?.problem == problem(store))
    store.commitGroup(at: .at(0))
    var image = StoreImage(epoch: 7, revision: store.revision)
    image.records = store.records.map { RecordImage($0) }
    image.kinds = store.kinds().kinds
    store = Store(image: image, timeZones: SystemTimeZones().rules)
    store.advance(to: .at(10))
    #expect(problem(store)?.hasPrefix(words) == true)
    // The kind changes back, which brings no value back. The notice is about the past.
    try store.register([Self.train, Self.clock, Self.agenda])
    #expect(problem(store)?.hasPrefix(words) == true)
    try store.register([kind, Self.clock, Self.agenda])

    // The provider sends the same entries again, without the values.
    let bare = Timeline(
      entries: [TimelineEntry(date: .at(-5)), TimelineEntry(date: .at(10))], policy: .never)
    try set(bare, of: "t", in: &store, at: .at(10))
    #expect(problem(store) == "")

    let next = TimelineEntry(date: .at(-5), values: ["platform": .int(4)])
    try set(Timeline(entries: [next], policy: .never), of: "t", in: &store, at: .at(10))
    #expect(problem(store) == "")
    #expect(store.checkInvariants() == [])
  }
}
