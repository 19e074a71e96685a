import Testing
import WidgetModel
import WidgetTimeZones

@testable import WidgetCore

/// Timelines whose kind changes.
extension TimelineTests {
  @Test func `the result of a changed kind names the values of entries that it sets aside`() throws
  {
    var store = try store()
    try store.create("t", kind: "train")
    try set(
      Timeline(entries: [entry(-5, "0"), entry(10, "1")], policy: .never), of: "t", in: &store)
    var kind = Self.train
    kind.content = [Self.label("string(entry.platform)")]
    kind.entry = [Field(name: "platform", type: .int, defaultValue: .int(0))]
    for isDryRun in [true, false] {
      let result = try store.change(kind, isDryRun: isDryRun)
      #expect(
        result.lostFields == [LostField(widgetID: "t", path: "entry.platform", isSetAside: true)])
      #expect(result.widgetsChanged == 1)
    }
    // Values that were set aside before are not reported again.
    kind.summary = "Trains."
    #expect(try store.change(kind).lostFields == [])
  }

  @Test func `each name of a value that is set aside occurs once, by its bytes`() {
    func timeline(_ keys: [[String]]) -> Timeline {
      var timeline = Timeline()
      timeline.asides = keys.enumerated().map { index, keys in
        TimelineEntry(
          date: .at(Int64(index)),
          values: ValueMap(keys.map { ValueMap.Entry(key: $0, value: .int(1)) }))
      }
      return timeline
    }
    // The last two are one letter in two forms.
    let many = timeline([["b", "a"], ["a", "\u{E9}"], ["e\u{301}", "c"]])
    #expect(many.asideNames.map { Array($0.utf8) }.count == 5)
    #expect(many.asideNames.prefix(3) == ["a", "b", "c"])
    #expect(many.asideNames(notIn: nil) == many.asideNames)
    #expect(many.asideNames(notIn: many) == [])
    #expect(many.asideNames(notIn: timeline([["b", "aa", "z"]])).prefix(2) == ["a", "c"])
    #expect(timeline([]).asideNames(notIn: many) == [])
  }

  private static let numbered = Kind(
    name: "train", data: train.data, content: [label("string(entry.platform)")],
    entry: [Field(name: "platform", type: .int, defaultValue: .int(0))])

  private func shown(_ store: Store) -> [Value?] {
    store.timeline(of: "t", from: .at(0), limit: 9)?.entries.map { $0.entry.values["platform"] }
      ?? []
  }

  @Test func `values of entries that do not fit a changed kind come back when they fit again`()
    throws
  {
    var store = try store()
    try store.create("t", kind: "train")
    let timeline = Timeline(entries: [entry(-5, "2"), entry(10, "3")], policy: .never)
    try set(timeline, of: "t", in: &store)
    func problem(_ store: Store) -> String? { store.widget("t")?.timeline?.problem }
    #expect(problem(store) == "")

    try store.register([Self.numbered, Self.clock, Self.agenda])
    let words = "Values of the entries (platform) are set aside: they do not fit the changed kind."
    #expect(problem(store)?.hasPrefix(words) == true)
    #expect(shown(store) == [.int(0), .int(0)])
    #expect(store.timeline(of: "t", from: .at(0), limit: 1)?.status?.problem == problem(store))
    store.commitGroup(at: .at(0))
    #expect(store.checkInvariants() == [])

    var image = StoreImage(epoch: 7, revision: store.revision)
    image.records = store.records.map { RecordImage($0) }
    image.kinds = store.kinds().kinds
    store = Store(image: image, timeZones: SystemTimeZones().rules)
    store.advance(to: .at(0))
    #expect(problem(store)?.hasPrefix(words) == true)

    // A third version, then the first one again.
    var bare = Self.numbered
    bare.entry = []
    bare.content = [Self.label("'no platform'")]
    try store.register([bare, Self.clock, Self.agenda])
    #expect(shown(store) == [nil, nil])
    try store.register([Self.train, Self.clock, Self.agenda])
    #expect(shown(store) == [.string("2"), .string("3")])
    #expect(text("t", store) == "S1 2")
    #expect(problem(store) == "")
    #expect(store.storedTimeline(of: "t")?.isSame(as: timeline) == true)
    store.commitGroup(at: .at(0))
    #expect(store.checkInvariants() == [])
  }

  @Test func `values of entries come back when the kind is removed`() throws {
    var store = try store()
    try store.create("t", kind: "train")
    try set(Timeline(entries: [entry(-5, "2")], policy: .never), of: "t", in: &store)
    try store.register([Self.numbered, Self.clock, Self.agenda])
    #expect(shown(store) == [.int(0)])
    try store.run(.deleteKind("train"))
    #expect(shown(store) == [.string("2")])
    #expect(store.widget("t")?.timeline?.problem == "")
    store.commitGroup(at: .at(0))
    #expect(store.checkInvariants() == [])
  }

  @Test func `a new timeline discards the values that were set aside, even with the same entries`()
    throws
  {
    for isSame in [true, false] {
      var store = try store()
      try store.create("t", kind: "train")
      try set(Timeline(entries: [entry(-5, "2")], policy: .never), of: "t", in: &store)
      try store.register([Self.numbered, Self.clock, Self.agenda])
      let next = TimelineEntry(
        date: .at(-5), values: isSame ? [:] : ["platform": .int(4)])
      try set(Timeline(entries: [next], policy: .never), of: "t", in: &store)
      #expect(store.widget("t")?.timeline?.problem == "")
      try store.register([Self.train, Self.clock, Self.agenda])
      #expect(shown(store) == [.string("?")])
    }
  }

  @Test func `a default that a changed kind does not take is not set aside`() throws {
    var store = try store()
    try store.create("t", kind: "train")
    try set(Timeline(entries: [TimelineEntry(date: .at(-5))], policy: .never), of: "t", in: &store)
    let result = try store.change(Self.numbered)
    #expect(result.lostFields == [])
    #expect(shown(store) == [.int(0)])
    #expect(store.widget("t")?.timeline?.problem == "")
  }
}
