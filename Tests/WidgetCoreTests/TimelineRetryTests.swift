import Testing
import WidgetModel

@testable import WidgetCore

/// Requests for a new timeline that fail.
struct TimelineRetryTests {
  private static let start = Timeline(
    entries: [TimelineEntry(date: .at(0), values: ["platform": .string("2")])], staleTime: .at(300))

  /// A store with a widget whose timeline is at its end, and whose provider is asked at 60.
  private func store(isAttended: Bool = true) throws -> Store {
    var store = Store()
    try store.run(
      .applyKinds(
        KindDeclaration(
          provider: "rail", kinds: [TimelineTests.train], isAttended: isAttended)))
    try store.run(.create(WidgetSpec(id: "t", kind: "train", timeline: Self.start)))
    store.commitGroup(at: .at(0))
    store.advance(to: .at(59))
    #expect(store.takeRefreshes() == [])
    store.advance(to: .at(60))
    #expect(store.takeRefreshes() == ["t"])
    return store
  }

  private func provide(
    _ patch: WidgetPatch, in store: inout Store, at seconds: Int64
  ) throws {
    try store.run(
      .provide([ProvidedUpdate("t", patch)], by: "rail"), at: .at(seconds))
    store.commitGroup(at: .at(0))
  }

  @Test func `a provider that does not answer is asked again, each time after twice the pause`()
    throws
  {
    var store = try store()
    var dates: [Int64] = []
    for seconds in stride(from: Int64(60), through: 20_000, by: 10) {
      store.advance(to: .at(seconds))
      if !store.takeRefreshes().isEmpty { dates.append(seconds) }
    }
    #expect(dates == [120, 240, 480, 960, 1_920, 3_840, 7_440, 11_040, 14_640, 18_240])
    #expect(store.widget("t")?.timeline?.refreshTime == .at(21_840))
    // The last good entry stays.
    #expect(store.widget("t")?.timeline?.current?.values == ["platform": .string("2")])
    #expect(store.checkInvariants() == [])
  }

  @Test func `at the last timestamp, the provider is asked once`() throws {
    var store = try store()
    store.advance(to: .latest)
    #expect(store.takeRefreshes() == ["t"])
    #expect(store.nextDate == nil)
    store.advance(to: .latest)
    #expect(store.takeRefreshes() == [])
  }

  @Test func `a widget is fresh again if the clock is set back before its stale time`() throws {
    var store = try store()
    store.advance(to: .at(299))
    #expect(store.widget("t")?.isStale == false)
    store.advance(to: .at(300))
    #expect(store.widget("t")?.isStale == true)
    let cursor = store.revision
    store.clockWentBack(to: .at(100))
    store.advance(to: .at(100))
    #expect(store.widget("t")?.isStale == false)
    // Readers get the change.
    #expect(try store.changes(since: cursor).changes.count == 1)
    store.advance(to: .at(299))
    #expect(store.widget("t")?.isStale == false)
    store.advance(to: .at(300))
    #expect(store.widget("t")?.isStale == true)
    #expect(store.checkInvariants() == [])
  }

  @Test func `a widget with another reason to be stale stays so when the clock is set back`()
    throws
  {
    var abandoned = try store()
    abandoned.advance(to: .at(300))
    abandoned.abandon(["rail"], at: .at(310))
    abandoned.commitGroup(at: .at(0))
    var marked = try store()
    try provide(.with { $0.isStale = true }, in: &marked, at: 200)
    marked.advance(to: .at(300))
    // It is stale by its timeline already.
    var told = try store()
    told.advance(to: .at(300))
    let revision = told.revision
    try told.run(.update("t", .with { $0.isStale = true }), at: .at(310))
    told.commitGroup(at: .at(0))
    #expect(told.revision == revision)
    var provided = try store()
    provided.advance(to: .at(300))
    try provide(.with { $0.isStale = true }, in: &provided, at: 310)
    for var store in [abandoned, marked, told, provided] {
      store.clockWentBack(to: .at(100))
      store.advance(to: .at(100))
      #expect(store.widget("t")?.isStale == true)
    }
  }

  @Test func `an error is no answer, and a widget after its stale time stays stale`() throws {
    var store = try store()
    let error = WidgetError(reason: "NO_NETWORK", message: "no route")
    try provide(.with { $0.error = .some(error) }, in: &store, at: 70)
    #expect(store.widget("t")?.isStale == false)
    #expect(store.widget("t")?.timeline?.refreshTime == .at(120))
    store.advance(to: .at(310))
    #expect(store.takeRefreshes() == ["t"])
    try provide(.with { $0.error = .some(error) }, in: &store, at: 320)
    let widget = try #require(store.widget("t"))
    #expect(widget.isStale)
    #expect(widget.error?.reason == "NO_NETWORK")
    #expect(widget.timeline?.refreshTime == .at(430))
    #expect(widget.timeline?.current?.date == .at(0))
  }

  @Test func `a new timeline begins again`() throws {
    var store = try store()
    store.advance(to: .at(120))
    #expect(store.takeRefreshes() == ["t"])
    var next = Self.start
    next.entries[0].date = .at(1_000)
    try provide(.with { $0.timeline = .some(next) }, in: &store, at: 130)
    #expect(store.widget("t")?.timeline?.refreshTime == .at(1_000))
    store.advance(to: .at(1_000))
    #expect(store.takeRefreshes() == ["t"])
    #expect(store.widget("t")?.timeline?.refreshTime == .at(1_060))
  }

  @Test func `an answer without a timeline ends the requests, also if it changes nothing`() throws {
    var store = try store()
    try provide(WidgetPatch(), in: &store, at: 70)
    #expect(store.widget("t")?.timeline?.refreshTime == nil)
    store.advance(to: .at(100_000))
    #expect(store.takeRefreshes() == [])
    #expect(store.checkInvariants() == [])
  }

  @Test func `if nobody can answer, nobody is asked again`() throws {
    var store = try store(isAttended: false)
    #expect(store.widget("t")?.timeline?.refreshTime == nil)
    store.advance(to: .at(100_000))
    #expect(store.takeRefreshes() == [])
    #expect(store.nextDuty() == nil)
  }

  @Test func `a rolled back answer leaves the next request`() throws {
    var store = try store()
    try store.run(.provide([ProvidedUpdate("t", WidgetPatch())], by: "rail"), at: .at(70))
    store.rollbackGroup()
    #expect(store.widget("t")?.timeline?.refreshTime == .at(120))
    store.advance(to: .at(120))
    #expect(store.takeRefreshes() == ["t"])
  }

  @Test(arguments: [Timeline.Policy.never, .after, .atEnd])
  func `the provider is asked if a changed kind sets values of the entries aside`(
    _ policy: Timeline.Policy
  ) throws {
    var store = Store()
    func apply(_ kind: Kind, isDryRun: Bool = false) throws {
      try store.run(
        .applyKinds(
          KindDeclaration(provider: "rail", kinds: [kind], isDryRun: isDryRun, isAttended: true)),
        at: .at(100))
      store.commitGroup(at: .at(0))
      store.advance(to: .at(100))
    }
    try apply(TimelineTests.train)
    let entries = [0, 1_000].map {
      TimelineEntry(date: .at($0), values: ["platform": .string("2")])
    }
    let timeline = Timeline(
      entries: entries, policy: policy, refreshTime: policy == .after ? .at(2_000) : nil)
    try store.run(.create(WidgetSpec(id: "t", kind: "train", timeline: timeline)))
    store.commitGroup(at: .at(0))
    var kind = TimelineTests.train
    kind.entry[0].type = .int
    kind.entry[0].defaultValue = .int(0)
    kind.content = []
    try apply(kind, isDryRun: true)
    #expect(store.takeRefreshes() == [])
    try apply(kind)
    #expect(store.takeRefreshes() == ["t"])
    // An unanswered request is repeated.
    store.advance(to: .at(160))
    #expect(store.takeRefreshes() == ["t"])
    try provide(WidgetPatch(), in: &store, at: 170)
    store.advance(to: .at(900))
    #expect(store.takeRefreshes() == [])
    #expect(store.checkInvariants() == [])
  }
}
