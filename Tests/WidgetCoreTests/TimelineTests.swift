import Testing
import WidgetModel
import WidgetTimeZones

@testable import WidgetCore

/// The effects of time on widgets: entries, schedules and refreshes, even after a restart.
struct TimelineTests {
  static func label(_ expression: String) -> ContentTemplate {
    ContentTemplate(
      root: NodeTemplate(
        id: "text", type: .label,
        properties: ["text": Binding(expression, placeholder: .string("--"))]))
  }

  static let train = Kind(
    name: "train", families: [.medium, .inline],
    data: [Field(name: "line", type: .string, defaultValue: .string("S1"))],
    content: [label("data.line + ' ' + entry.platform")],
    entry: [Field(name: "platform", type: .string, defaultValue: .string("?"))],
    sample: ["line": .string("S9")])

  static let clock = Kind(
    name: "clock", parameters: [Field(name: "zone", type: .string, defaultValue: .string("UTC"))],
    content: [label("formatDate(entry.date, '%H:%M', parameters.zone)")],
    schedule: EntrySchedule(every: .seconds(60), zone: "parameters.zone"))

  static let agenda = Kind(
    name: "agenda", data: [Field(name: "events", type: .list(.map(.any)), defaultValue: .list([]))],
    content: [label("entry.title")], entry: [Field(name: "title", type: .string)],
    schedule: EntrySchedule(entries: "data.events.map(e, {'date': e.start, 'title': e.name})"))

  func store(
    _ kinds: [Kind] = [train, clock, agenda], limits: StoreLimits = StoreLimits()
  ) throws -> Store {
    var store = Store(
      image: StoreImage(epoch: 7), limits: limits, timeZones: SystemTimeZones().rules)
    try store.register(kinds)
    store.commitGroup(at: .at(0))
    return store
  }

  func entry(_ seconds: Int64, _ platform: String) -> TimelineEntry {
    TimelineEntry(date: .at(seconds), values: ["platform": .string(platform)])
  }

  func set(
    _ timeline: Timeline, of id: WidgetID, in store: inout Store, at now: Timestamp = .at(0)
  ) throws {
    try store.run(.update(id, WidgetPatch(timeline: .some(timeline))), at: now)
    store.commitGroup(at: .at(0))
  }

  func text(_ id: WidgetID, _ store: Store) -> String? {
    store.widget(id)?.content?["text"]?.properties["text"]?.words
  }

  // MARK: - Entries

  @Test func `the current entry is the newest that is not after now`() throws {
    var store = try store()
    try store.create("t", kind: "train")
    // Out of order, with two entries at the same date.
    try set(
      Timeline(
        entries: [entry(20, "2"), entry(-5, "0"), entry(10, "x"), entry(10, "1")], policy: .never),
      of: "t", in: &store)
    #expect(text("t", store) == "S1 0")
    #expect(store.nextDate == .at(10))
    #expect(store.advance(to: .at(9, nanoseconds: 999_999_999)) == 0)
    #expect(store.advance(to: .at(10)) == 1)
    #expect(text("t", store) == "S1 1")
    #expect(store.widget("t")?.timeline?.nextTime == .at(20))
    #expect(store.advance(to: .at(1_000)) == 1)
    #expect(text("t", store) == "S1 2")
    #expect(store.widget("t")?.timeline == TimelineStatus(current: entry(20, "2")))
    #expect(store.checkInvariants().isEmpty)
  }

  @Test func `an entry has the time for which its score counts`() throws {
    var store = try store()
    try store.create("t", kind: "train")
    let entry = TimelineEntry(date: .at(10), score: 3, duration: .seconds(5))
    #expect(entry.score(at: .at(14)) == 3)
    #expect(entry.score(at: .at(15)) == 0)
    var wrong = entry
    wrong.duration = .seconds(-1)
    let patch = WidgetPatch(timeline: .some(Timeline(entries: [entry, wrong])))
    #expect(
      store.refusal(of: .update("t", patch))
        == .invalid(
          field: "patch.timeline.entries[1].duration", description: "It must not be negative."))
    let list = Kind(
      name: "list",
      schedule: EntrySchedule(
        entries: "[{'date': timestamp('2026-01-01T00:00:00Z'), 'score': 2, "
          + "'duration': duration('90s')}]"))
    try store.register([list])
    try store.create("l", kind: "list")
    store.commitGroup(at: .at(0))
    let far = Timestamp.at(5_000_000_000)
    store.advance(to: far)
    #expect(store.widget("l")?.timeline?.current?.duration == .seconds(90))
  }

  @Test func `before its first entry a widget shows its placeholders`() throws {
    var store = try store()
    try store.create("t", kind: "train")
    try set(Timeline(entries: [entry(10, "1")], policy: .never), of: "t", in: &store)
    #expect(text("t", store) == "--")
    #expect(store.widget("t")?.timeline?.current == nil)
    #expect(store.widget("t")?.timeline?.nextTime == .at(10))
  }

  @Test func `missed entries are caught up in one revision`() throws {
    var store = try store()
    for id: WidgetID in ["a", "b", "c"] {
      try store.create(id, kind: "train")
      try set(
        Timeline(entries: (0..<100).map { entry(Int64($0), "\($0)") }, policy: .never), of: id,
        in: &store)
    }
    let before = store.revision
    #expect(store.advance(to: .at(50)) == 1)
    #expect(store.revision == before + 1)
    #expect(try words(store.changes(since: before)).sorted() == ["~a", "~b", "~c"])
    #expect(text("b", store) == "S1 50")
  }

  @Test func `due entries are spread over steps of bounded cost`() throws {
    var store = try store()
    for number in 0..<50 {
      let id = try #require(WidgetID("t\(number)"))
      try store.create(id, kind: "train")
      try set(Timeline(entries: [entry(1, "1")], policy: .never), of: id, in: &store)
    }
    #expect(store.advance(to: .at(1), costMax: 100) > 5)
    #expect(store.records.allSatisfy { $0.moment?.status.current?.date == .at(1) })
  }

  @Test func `a clock that goes back shows the earlier entry again`() throws {
    var store = try store()
    try store.create("t", kind: "train")
    try set(
      Timeline(entries: [entry(0, "0"), entry(10, "1")], policy: .never), of: "t", in: &store)
    store.advance(to: .at(15))
    #expect(text("t", store) == "S1 1")
    store.clockWentBack(to: .at(5))
    store.advance(to: .at(5))
    #expect(text("t", store) == "S1 0")
    #expect(store.nextDate == .at(10))
  }

  @Test func `a removed timeline leaves placeholders, and readers get the change`() throws {
    var store = try store()
    try store.create("t", kind: "train")
    try set(Timeline(entries: [entry(0, "0")], policy: .never), of: "t", in: &store)
    let cursor = store.revision
    try store.run(.update("t", WidgetPatch(timeline: .some(nil))))
    #expect(text("t", store) == "--")
    guard case .updated(let update)? = try store.changes(since: cursor).changes.first else {
      Issue.record("no update")
      return
    }
    #expect(update.timeline == .some(nil))
    #expect(store.widget("t")?.timeline == nil)
  }

  @Test func `a rolled back timeline leaves the former one, with its date`() throws {
    var store = try store()
    try store.create("t", kind: "train")
    try set(
      Timeline(entries: [entry(0, "0"), entry(50, "1")], policy: .never), of: "t", in: &store)
    let before = store.observation()
    try store.run(
      .update("t", WidgetPatch(timeline: .some(Timeline(entries: [entry(5, "5")])))))
    store.rollbackGroup()
    #expect(store.observation() == before)
    store.advance(to: .at(50))
    #expect(text("t", store) == "S1 1")
  }

  // MARK: - Refreshes

  @Test func `at the end of a timeline its provider is asked once`() throws {
    var store = try store()
    try store.create("t", kind: "train")
    try set(Timeline(entries: [entry(0, "0"), entry(100, "1")]), of: "t", in: &store)
    #expect(store.widget("t")?.timeline?.refreshTime == .at(100))
    store.advance(to: .at(99))
    #expect(store.takeRefreshes() == [])
    store.advance(to: .at(100))
    #expect(store.takeRefreshes() == ["t"])
    store.advance(to: .at(10_000))
    #expect(store.takeRefreshes() == [])
    #expect(store.widget("t")?.timeline?.refreshTime == nil)
  }

  @Test func `a timeline that ends at once is requested again after the floor at the earliest`()
    throws
  {
    var store = try store(limits: .with { $0.timelineRefreshFloorSeconds = 30 })
    try store.create("t", kind: "train")
    try set(Timeline(entries: [entry(-100, "0")]), of: "t", in: &store)
    #expect(store.takeRefreshes() == [])
    store.advance(to: .at(29))
    #expect(store.takeRefreshes() == [])
    store.advance(to: .at(30))
    #expect(store.takeRefreshes() == ["t"])
    // The same timeline again is a new beginning.
    try set(Timeline(entries: [entry(-100, "0")]), of: "t", in: &store, at: .at(40))
    #expect(store.widget("t")?.timeline?.refreshTime == .at(70))
  }

  @Test func `the policy after asks at its time, and never does not ask`() throws {
    var store = try store()
    for id: WidgetID in ["after", "never"] { try store.create(id, kind: "train") }
    try set(
      Timeline(entries: [entry(0, "0")], policy: .after, refreshTime: .at(500)), of: "after",
      in: &store)
    try set(Timeline(entries: [entry(0, "0")], policy: .never), of: "never", in: &store)
    store.advance(to: .at(499))
    #expect(store.takeRefreshes() == [])
    store.advance(to: .at(1_000_000))
    #expect(store.takeRefreshes() == ["after"])
  }

  @Test func `a widget is stale from its timeline's stale time on, until its provider sends data`()
    throws
  {
    var store = try store()
    try store.create("t", kind: "train")
    try set(
      Timeline(entries: [entry(0, "0")], policy: .never, staleTime: .at(60)), of: "t", in: &store)
    store.advance(to: .at(59))
    #expect(store.widget("t")?.isStale == false)
    store.advance(to: .at(60))
    #expect(store.widget("t")?.isStale == true)
    // Readers can see since when.
    #expect(store.widget("t")?.timeline?.staleTime == .at(60))
    #expect(text("t", store) == "S1 0")
    try store.run(.update("t", WidgetPatch(isStale: false)), at: .at(70))
    store.commitGroup(at: .at(0))
    store.advance(to: .at(100))
    #expect(store.widget("t")?.isStale == false)
  }

  // MARK: - Schedules

  @Test func `a schedule makes entries by itself, in the zone of each widget`() throws {
    var store = try store()
    try store.create("utc", kind: "clock")
    try store.run(
      .create(WidgetSpec(id: "tokyo", kind: "clock", parameters: ["zone": .string("Asia/Tokyo")])))
    store.commitGroup(at: .at(0))
    let start = store.widget("utc")?.timeline?.current?.date
    #expect(start.map { $0.seconds % 60 } == 0)
    let (utc, tokyo) = (text("utc", store), text("tokyo", store))
    #expect(utc != nil && tokyo != nil && utc != tokyo)
    store.advance(to: .at(60))
    #expect(text("utc", store) != utc)
    let page = store.timeline(of: "utc", from: .at(0), limit: 60)
    #expect(page?.entries.count == 60)
    #expect(page?.isScheduled == true)
    #expect(page?.hasMore == true)
  }

  @Test func `a page of rare times ends when its search has cost too much`() throws {
    var store = try store()
    let kind = Kind(name: "leap", schedule: EntrySchedule(cron: "0 0 29 2 *"))
    try store.run(.applyKinds(KindDeclaration(provider: "test", kinds: [kind])))
    try store.create("l", kind: "leap")
    let costBefore = store.readingCost
    let whole = try #require(store.timeline(of: "l", from: .at(0), limit: 100))
    #expect(whole.entries.count == 100 && whole.hasMore)
    #expect((500..<5_000).contains(store.readingCost - costBefore))
    store.limits.scanCostMax = 200
    var dates: [Timestamp] = []
    var start = Timestamp.at(0)
    for _ in 0..<100 where dates.count < 100 {
      let page = try #require(store.timeline(of: "l", from: start, limit: 100))
      #expect((2..<30).contains(page.entries.count) && page.hasMore)
      dates += page.entries.map(\.entry.date).filter { $0 > dates.last ?? .earliest }
      start = dates.last ?? start
    }
    #expect(Array(dates.prefix(100)) == whole.entries.map(\.entry.date))
    // Each page has two entries at least, so that its reader gets further.
    store.limits.scanCostMax = 1
    #expect(store.timeline(of: "l", from: start, limit: 100)?.entries.count == 2)
  }

  @Test func `an unknown zone is the problem of the timeline, and times are in UTC`() throws {
    var store = try store()
    try store.run(
      .create(WidgetSpec(id: "c", kind: "clock", parameters: ["zone": .string("Mars/Base")])))
    #expect(store.widget("c")?.timeline?.problem.contains("Mars/Base") == true)
    for (zone, near) in [
      ("berlin", "Europe/Berlin"), ("europe/berlin", "Europe/Berlin"),
      ("New York", "America/New_York"), ("utc", "UTC"),
    ] {
      try store.update("c", WidgetPatch(setParameters: ["zone": .string(zone)]))
      #expect(
        store.widget("c")?.timeline?.problem.contains("Did you mean \"\(near)\"?") == true,
        "\(zone)")
    }
    #expect(store.widget("c")?.timeline?.current != nil)
  }

  @Test func `entries that an expression gives follow the data`() throws {
    var store = try store()
    try store.create("a", kind: "agenda")
    func event(_ seconds: Int64, _ name: String) -> Value {
      .map(["start": .timestamp(.at(seconds)), "name": .string(name)])
    }
    try store.set("a", ["events": .list([event(30, "second"), event(0, "first")])])
    store.commitGroup(at: .at(0))
    #expect(text("a", store) == "first")
    store.advance(to: .at(30))
    #expect(text("a", store) == "second")
    try store.run(.update("a", .set(["events": .list([event(5, "other")])])), at: .at(31))
    #expect(text("a", store) == "other")
    try store.run(.update("a", .set(["events": .list([.map(["start": .int(1)])])])), at: .at(31))
    #expect(store.widget("a")?.timeline?.problem.isEmpty == false)
    #expect(text("a", store) == "--")
  }

  @Test(arguments: [
    (EntrySchedule(), "exactly one"),
    (EntrySchedule(every: .seconds(1), cron: "* * * * *"), "exactly one"),
    (EntrySchedule(every: .milliseconds(500)), "whole seconds"),
    (EntrySchedule(every: .zero), "whole seconds"),
    (EntrySchedule(cron: "0 0 30 2 *"), "never fits"),
    (EntrySchedule(every: .seconds(60), zone: "1 + 1"), "time zone"),
    (
      EntrySchedule(every: .seconds(60), zone: "'europe/berlin'"), "did you mean \"Europe/Berlin\"?"
    ),
    (
      EntrySchedule(every: .seconds(60), zone: "parameters.x ? 'UTC' : 'Nowhere'"),
      "no time zone \"Nowhere\""
    ),
    (EntrySchedule(cron: String(repeating: "1,", count: 600) + "1 * * * *"), "1000 bytes"),
    (EntrySchedule(entries: "'text'"), "list of maps"),
    (EntrySchedule(offset: .seconds(1), cron: "* * * * *"), "offset"),
  ])
  func `a schedule that cannot be used is refused`(schedule: EntrySchedule, words: String) throws {
    var store = try store([])
    let refusal = store.refusal(
      of: .applyKinds(
        KindDeclaration(
          provider: "p",
          kinds: [Kind(name: "k", parameters: [Field(name: "x", type: .bool)], schedule: schedule)])
      ))
    guard case .invalid(let field, let description)? = refusal else {
      Issue.record("\(String(describing: refusal))")
      return
    }
    #expect(field.hasPrefix("kinds[0].schedule"))
    #expect(description.contains(words))
  }

  // MARK: - Refusals

  @Test func `a timeline that does not fit its kind is refused with the field's name`() throws {
    var store = try store(limits: .with { $0.timelineEntriesMax = 3 })
    try store.create("t", kind: "train")
    store.commitGroup(at: .at(0))
    func refusal(_ timeline: Timeline) -> StoreError? {
      store.refusal(of: .update("t", WidgetPatch(timeline: .some(timeline))))
    }
    #expect(
      refusal(Timeline(entries: (0..<4).map { entry(Int64($0), "x") }))
        == .invalid(
          field: "patch.timeline.entries",
          description: "A timeline has at most 3 entries (timeline_entries_max), not 4."))
    guard
      case .invalid(let field, let words)? = refusal(
        Timeline(entries: [TimelineEntry(date: .at(0), values: ["platfrom": .string("1")])]))
    else {
      Issue.record("not refused")
      return
    }
    #expect(field == "patch.timeline.entries[0].values[platfrom]")
    #expect(words.contains("did you mean \"platform\""))
    guard
      case .invalid("patch.timeline.entries[0].values[platform]", _)? = refusal(
        Timeline(entries: [TimelineEntry(date: .at(0), values: ["platform": .int(1)])])),
      case .invalid("patch.timeline.entries[0].score", _)? = refusal(
        Timeline(entries: [TimelineEntry(date: .at(0), score: -1)])),
      case .invalid("patch.timeline.refresh_time", _)? = refusal(Timeline(policy: .after)),
      case .invalid("patch.timeline.refresh_time", _)? = refusal(
        Timeline(policy: .never, refreshTime: .at(1)))
    else {
      Issue.record("something was not refused")
      return
    }
  }

  @Test func `content that an entry makes too large is cut instead of refused`() throws {
    let wide = Kind(
      name: "wide", content: [Self.label("entry.words")],
      entry: [Field(name: "words", type: .string, defaultValue: .string(""))])
    var store = try store(
      [wide], limits: .with { $0.contentBytesPerUIDMax = 3_000 })
    try store.create("w", kind: "wide")
    let long = String(repeating: "x", count: 5_000)
    try set(
      Timeline(
        entries: [
          TimelineEntry(date: .at(0), values: ["words": .string("short")]),
          TimelineEntry(date: .at(1), values: ["words": .string(long)]),
        ], policy: .never), of: "w", in: &store)
    #expect(text("w", store) == "short")
    store.advance(to: .at(1))
    #expect(store.widget("w")?.timeline?.current?.date == .at(1))
    #expect(text("w", store) != long)
    #expect(store.highestUsage.contentBytes <= 3_000)
    #expect(store.widget("w")?.content != nil)
  }

  // MARK: - Restarts

  @Test func `changes by time are not stored, and their revisions are not used again`() throws {
    var store = try store()
    try store.create("t", kind: "train")
    try store.run(
      .update(
        "t", WidgetPatch(timeline: .some(Timeline(entries: [entry(0, "0"), entry(10, "1")])))))
    var image = StoreImage(epoch: 7)
    image.kinds = store.kinds().kinds
    image.apply(store.pendingGroup())
    store.commitGroup(at: .at(0))
    store.advance(to: .at(10))
    let seen = store.revision
    #expect(!store.hasPendingGroup)
    for group in store.reserved { image.apply(group) }
    // The process is killed.
    var after = Store(image: image, timeZones: SystemTimeZones().rules)
    #expect(after.revision >= seen)
    after.advance(to: .at(11))
    #expect(text("t", after) == "S1 1")
    // A reader that saw the widget at its last revision gets the whole widget again.
    #expect(try words(after.changes(since: seen)) == ["+t"])
    #expect(after.widget("t")?.timeline?.current == entry(10, "1"))
    #expect(after.checkInvariants().isEmpty)
  }

  @Test func `a clean end returns reserved revisions`() throws {
    var store = try store()
    try store.create("t", kind: "train")
    try set(Timeline(entries: [entry(0, "0"), entry(10, "1")]), of: "t", in: &store)
    store.advance(to: .at(10))
    #expect(store.closingGroup()?.revision == store.revision)
  }

  // MARK: - Previews

  @Test func `a preview shows the sample, and makes no widget`() throws {
    let store = try store()
    let preview = try store.preview(of: "train", family: .inline)
    #expect(preview.isSample)
    #expect(preview.data["line"] == .string("S9"))
    // Without a timeline, the entry has its defaults.
    #expect(preview.content?.nodes.first?.properties["text"] == .string("S9 ?"))
    #expect(preview.family == .inline)
    #expect(store.count == 0)
    #expect(throws: StoreError.kindNotFound("nope")) { try store.preview(of: "nope") }
    #expect(throws: StoreError.self) { try store.preview(of: "train", family: .large) }
  }

  @Test func `a preview with data shows the given entry, or the entry's defaults`() throws {
    let store = try store()
    func text(_ entry: ValueMap) throws -> Value? {
      let preview = try store.preview(of: "train", data: ["line": .string("S1")], entry: entry)
      #expect(preview.content?.nodes.allSatisfy { $0.problem.isEmpty } == true)
      return preview.content?.nodes.first?.properties["text"]
    }
    #expect(try text(["platform": .string("7")]) == .string("S1 7"))
    #expect(try text([:]) == .string("S1 ?"))
    #expect(throws: StoreError.self) { try text(["gate": .string("7")]) }
  }

  @Test func `pages of a timeline have the content of each entry`() throws {
    var store = try store()
    try store.create("t", kind: "train")
    try set(
      Timeline(entries: [entry(0, "0"), entry(10, "1"), entry(20, "2")], policy: .never), of: "t",
      in: &store)
    let page = try #require(store.timeline(of: "t", from: .at(10), limit: 5, taking: .own))
    #expect(page.entries.map(\.entry.date) == [.at(10), .at(20)])
    #expect(
      page.entries.map { $0.content?["text"]?.properties["text"]?.words } == ["S1 1", "S1 2"])
    #expect(store.timeline(of: "missing", from: .at(0), limit: 5) == nil)
  }
}

extension Value {
  fileprivate var words: String? { if case .string(let text) = self { text } else { nil } }
}
