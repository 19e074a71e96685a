import Foundation
import SeededRandom
import Testing
import WidgetExpression
import WidgetModel
import WidgetTimeZones

@testable import WidgetCore

/// A year of many widgets: schedules in zones whose clocks change, timelines with requests that fail,
/// activities, steps of the clock in both directions, and restarts. A naive model looks for each entry
/// minute by minute. The budgets of RefreshWidgets have a year of their own, in running time.
///
/// One year has 1,000 widgets, the others 64. A failure names its seed. `WIDGETD_SIM_SEED=<seed>` runs
/// that year alone, and `WIDGETD_SIM_WIDGETS=<number>` sets the number of widgets.
struct TimelineYearTests {
  struct Plan: Sendable {
    var seed: UInt64
    var widgets: Int
  }

  private static let environment = ProcessInfo.processInfo.environment

  private static var plans: [Plan] {
    let widgets = environment["WIDGETD_SIM_WIDGETS"].flatMap(Int.init)
    if let seed = environment["WIDGETD_SIM_SEED"].flatMap(UInt64.init) {
      return [Plan(seed: seed, widgets: widgets ?? 1_000)]
    }
    return (1...4).map { Plan(seed: $0, widgets: widgets ?? ($0 == 1 ? 1_000 : 64)) }
  }

  @Test(arguments: plans)
  func `a year of timelines equals the naive model`(plan: Plan) throws {
    let (seed, widgets) = (plan.seed, plan.widgets)
    var year = try TimelineYear(seed: seed, widgets: widgets)
    let violations = try year.run()
    #expect(violations.isEmpty, "WIDGETD_SIM_SEED=\(seed) \(violations.joined(separator: "\n"))")
    // The simulation must have done these things. Otherwise it proves nothing about them.
    let counts = year.counts
    #expect(counts.flips > 50 * widgets, "\(counts)")
    #expect(counts.restarts > 10 && counts.backward > 10, "\(counts)")
    #expect(counts.requests > widgets && counts.retries > 10, "\(counts)")
    #expect(counts.errors > 10 && counts.stale > 10, "\(counts)")
    #expect(counts.activities > 20 && counts.expired > 5, "\(counts)")
    #expect(counts.refreshes > 5, "\(counts)")
    if widgets >= 1_000 { #expect(counts.fresh > 0, "\(counts)") }
  }
}

/// The store and the model, side by side.
private struct TimelineYear {
  struct Counts {
    var flips = 0
    var restarts = 0
    var backward = 0
    var requests = 0
    var retries = 0
    var errors = 0
    var stale = 0
    /// Widgets that are fresh again, because the clock was set back.
    var fresh = 0
    var activities = 0
    var expired = 0
    var refreshes = 0
    /// Updates of activities.
    var steps = 0
  }

  private(set) var counts = Counts()
  private var random: SeededGenerator
  private var store: Store
  private var image = StoreImage(epoch: 7)
  private var models: [WidgetID: NaiveWidget] = [:]
  private var activities: [WidgetID: NaiveActivity] = [:]
  private var now: Int64
  /// The latest time so far. What is set has never the same time.
  private var latest: Int64

  private static let start: Int64 = 1_767_225_600  // 2026-01-01T00:00:00Z
  private static let year: Int64 = 366 * 86_400
  private static let zones = [
    "UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu",
  ]
  private static let rules = SystemTimeZones().rules
  private static let schedules: [(name: KindName, schedule: EntrySchedule, naive: NaiveSchedule)] =
    [
      ("minutely", EntrySchedule(every: .seconds(60), zone: "parameters.zone"), .every(60, 0)),
      (
        "quarterly", EntrySchedule(every: .seconds(900), zone: "parameters.zone"), .every(900, 0)
      ),
      (
        "morning",
        EntrySchedule(every: .seconds(86_400), offset: .seconds(9_000), zone: "parameters.zone"),
        .every(86_400, 9_000)
      ),
      (
        "nightly", EntrySchedule(cron: "30 2 * * *", zone: "parameters.zone"),
        .cron { $0.hour == 2 && $0.minute == 30 }
      ),
      (
        "work", EntrySchedule(cron: "*/20 7-19 * * mon-fri", zone: "parameters.zone"),
        .cron { $0.minute % 20 == 0 && (7...19).contains($0.hour) && (1...5).contains($0.weekday) }
      ),
    ]

  init(seed: UInt64, widgets: Int) throws {
    random = SeededGenerator(seed: seed)
    (now, latest) = (Self.start, Self.start)
    store = Store(image: image, timeZones: Self.rules)
    let kinds = Self.schedules.map { name, schedule, _ in
      Kind(
        name: name,
        parameters: [Field(name: "zone", type: .string, defaultValue: .string("UTC"))],
        content: [Self.label("string(entry.date)")], schedule: schedule)
    }
    let train = Kind(
      name: "train", content: [Self.label("string(entry.n)")],
      entry: [Field(name: "n", type: .int, defaultValue: .int(0))])
    try run(.applyKinds(KindDeclaration(provider: "test", kinds: kinds)))
    try run(
      .applyKinds(KindDeclaration(provider: "rail", kinds: [train], isAttended: true)))
    for number in 0..<widgets {
      guard let id = WidgetID("w\(number)") else { continue }
      if number % 3 == 0 {
        let timeline = newTimeline()
        try run(.create(WidgetSpec(id: id, kind: "train", timeline: timeline)))
        models[id] = .train(NaiveTimeline(timeline, setAt: time))
      } else {
        let chosen = random.pick(Self.schedules)
        let zone = random.pick(Self.zones)
        try run(
          .create(
            WidgetSpec(id: id, kind: chosen.name, parameters: ["zone": .string(zone)])))
        models[id] = .scheduled(chosen.naive, zone)
      }
    }
  }

  private static func label(_ expression: String) -> ContentTemplate {
    ContentTemplate(
      root: NodeTemplate(id: "text", type: .label, properties: ["text": Binding(expression)]))
  }

  private var time: Timestamp { Timestamp(seconds: now, nanoseconds: 0) ?? .epoch }

  /// A command in a group of its own, which is stored.
  private mutating func run(_ command: Command) throws {
    try store.run(command, at: time)
    image.apply(store.pendingGroup())
    store.commitGroup(at: .at(0))
  }

  private mutating func newTimeline() -> Timeline {
    var date = now - Int64(random.below(7_200))
    let entries = (0..<random.below(6) + 1).map { number in
      date += Int64(random.pick([0, 60, 600, 3_600, 86_400]))
      return TimelineEntry(
        date: Timestamp(seconds: date, nanoseconds: 0) ?? .epoch,
        values: ["n": .int(Int64(number))])
    }
    var timeline = Timeline(
      entries: entries, policy: random.pick([.atEnd, .atEnd, .after, .never]))
    if timeline.policy == .after {
      timeline.refreshTime = time.advanced(by: .seconds(random.below(90_000)))
    }
    if random.chance(50) { timeline.staleTime = time.advanced(by: .seconds(random.below(90_000))) }
    return timeline
  }

  // MARK: - The year

  mutating func run() throws -> [String] {
    var violations: [String] = []
    while now < Self.start + Self.year, violations.isEmpty {
      try step()
      violations += check()
    }
    return violations + store.checkInvariants()
  }

  private mutating func step() throws {
    switch random.below(24) {
    case 0:
      // The clock may be set back while no daemon runs.
      if random.chance(50) { setBack() }
      restart()
    case 1: try changeZone()
    case 2:
      setBack()
      store.clockWentBack(to: time)
    case 3, 4: try startActivity()
    case 5: try changeActivity()
    case 6: try refresh()
    default:
      // The steps forward are longer than the steps back, so that the year ends.
      now += Int64(random.pick([1, 59, 60, 61, 899, 3_600, 7_200, 86_400, 200_000, 500_000]))
    }
    latest = max(latest, now)
    advance()
    try answer()
  }

  /// The clock is set back, at most to the start.
  private mutating func setBack() {
    let target = max(Self.start, now - Int64(random.pick([1, 59, 3_600, 100_000])))
    if target < now { counts.backward += 1 }
    now = target
    for id in models.keys {
      guard case .train(var timeline)? = models[id] else { continue }
      counts.fresh += timeline.clockWentBack(to: time) ? 1 : 0
      models[id] = .train(timeline)
    }
  }

  private mutating func advance() {
    // As in the daemon, changes of activities by time are stored with a group.
    store.settle(to: time, costMax: random.pick([1, 1_000, .max]))
    image.apply(store.pendingGroup())
    store.commitGroup(at: .at(0))
    for id in activities.keys {
      let passage = activities[id]?.advance(to: now) ?? .nothing
      counts.expired += passage == .expired ? 1 : 0
      if passage == .dismissed { activities[id] = nil }
    }
    store.advance(to: time, costMax: random.pick([1, 1_000, .max]))
    for group in store.reserved.suffix(1) { image.revision = max(image.revision, group.revision) }
    var asked: [WidgetID] = []
    for id in models.keys {
      guard case .train(var timeline)? = models[id] else { continue }
      let outcome = timeline.advance(to: time)
      if outcome.isAsked { asked.append(id) }
      counts.requests += outcome.isAsked ? 1 : 0
      counts.retries += timeline.attempts > 1 && outcome.isAsked ? 1 : 0
      counts.stale += outcome.becomesStale ? 1 : 0
      models[id] = .train(timeline)
    }
    let taken = store.takeRefreshes()
    unexpected = Set(taken).symmetricDifference(asked).map(\.rawValue).sorted()
    if taken.count != Set(taken).count { unexpected.append("twice") }
    waiting = asked
  }

  /// Widgets with a wrong request, and widgets that wait for an answer.
  private var unexpected: [String] = []
  /// Calls of RefreshWidgets that have found other widgets.
  private var unexpectedTargets: [String] = []
  private var waiting: [WidgetID] = []

  /// The provider answers some requests, with a timeline or with an error.
  private mutating func answer() throws {
    for id in waiting.sorted(by: { $0.rawValue < $1.rawValue }) {
      guard case .train(var timeline)? = models[id] else { continue }
      // Two changes at different times must differ.
      let isNew = now == latest && time != timeline.setTime
      switch random.below(3) {
      case 0 where isNew:
        let next = newTimeline()
        try run(.provide([ProvidedUpdate(id, WidgetPatch(timeline: .some(next)))], by: "rail"))
        timeline = NaiveTimeline(next, setAt: time)
        timeline.place(at: time)
      case 1:
        let error = WidgetError(reason: "NO_NETWORK", message: "", since: time)
        try run(.provide([ProvidedUpdate(id, WidgetPatch(error: .some(error)))], by: "rail"))
        timeline.fail(at: time)
        counts.errors += 1
      default: break
      }
      models[id] = .train(timeline)
    }
    // A new timeline can have an entry that is due at once.
    let before = unexpected
    advance()
    unexpected += before
  }

  private mutating func changeZone() throws {
    let scheduled = models.keys.sorted { $0.rawValue < $1.rawValue }
    guard !scheduled.isEmpty else { return }
    let id = random.pick(scheduled)
    guard case .scheduled(let schedule, _)? = models[id] else { return }
    let zone = random.pick(Self.zones)
    try run(.update(id, WidgetPatch(setParameters: ["zone": .string(zone)])))
    models[id] = .scheduled(schedule, zone)
  }

  private mutating func startActivity() throws {
    counts.activities += 1
    guard let id = WidgetID("a\(counts.activities)") else { return }
    let lifetime = random.pick([nil, 60, 3_600, 28_800] as [Int64?])
    let staleAfter = random.pick([nil, 30, 600, 40_000] as [Int64?])
    try run(
      .startActivity(
        WidgetSpec(id: id, kind: .activity, parameters: ["title": .string("Backup")]),
        lifetime: lifetime.map { .seconds($0) }, staleAfter: staleAfter.map { .seconds($0) }))
    activities[id] = NaiveActivity(
      startedAt: now, lifetime: lifetime ?? 8 * 3_600, staleAfter: staleAfter)
  }

  private mutating func changeActivity() throws {
    let active = activities.filter { $0.value.end == nil }.keys
    guard !active.isEmpty else { return }
    let id = random.pick(active.sorted { $0.rawValue < $1.rawValue })
    if random.chance(50) {
      let staleAfter = random.pick([nil, 30, 600, 40_000] as [Int64?])
      counts.steps += 1
      try run(
        .updateActivity(
          id, StatePatch(setData: ["status": .string("step \(counts.steps)")]),
          staleAfter: staleAfter.map { .seconds($0) }))
      activities[id]?.update(at: now, staleAfter: staleAfter)
    } else {
      let stay = random.pick([0, 60, 14_400] as [Int64])
      try run(.endActivity(id, StatePatch(), .after(.seconds(stay))))
      activities[id]?.finish(at: now, stay: stay)
    }
  }

  /// A caller asks for fresh data, and the provider of trains answers about some of them.
  private mutating func refresh() throws {
    counts.refreshes += 1
    let trains = models.filter { if case .train = $0.value { true } else { false } }.keys
      .sorted { $0.rawValue < $1.rawValue }
    guard !trains.isEmpty else { return }
    let some = (0..<3).map { _ in random.pick(trains) }
    let (target, expected): (PresenceTarget, Set<WidgetID>) = random.pick([
      (.ids(some), Set(some)), (.selector(Selector(kinds: ["train"])), Set(trains)),
      (.all, Set(models.keys).union(activities.keys)),
    ])
    var found: [WidgetID] = []
    try store.forEachWidget(in: target) { id, _ in found.append(id) }
    if Set(found) != expected || found.count != expected.count {
      unexpectedTargets.append("\(target): \(found.count) widgets, not \(expected.count)")
    }
    // Fresh data without a timeline.
    let id = some[0]
    guard case .train(var timeline)? = models[id] else { return }
    try run(.provide([ProvidedUpdate(id, WidgetPatch())], by: "rail"))
    timeline.answerWithoutTimeline()
    models[id] = .train(timeline)
  }

  /// The process is killed, and another one opens the stored state.
  private mutating func restart() {
    counts.restarts += 1
    store = Store(image: image, timeZones: Self.rules)
    for id in models.keys {
      guard case .train(var timeline)? = models[id] else { continue }
      timeline.restart()
      models[id] = .train(timeline)
    }
  }

  // MARK: - Comparing

  private mutating func check() -> [String] {
    var violations = unexpected.map { "at \(time): wrongly asked or not asked about \($0)" }
    violations += unexpectedTargets.map { "at \(time): \($0)" }
    for (id, activity) in activities {
      guard let widget = store.widget(id), let found = widget.activity else {
        return ["at \(time): \(id) is gone"]
      }
      if !activity.isEqual(to: found, isStale: widget.isStale) {
        violations.append(
          "at \(time): \(id) is \(found), stale \(widget.isStale); the model has \(activity)")
      }
    }
    if store.count != models.count + activities.count {
      violations.append("at \(time): \(store.count) widgets")
    }
    // Widgets with the same schedule and zone show the same entry, so the model searches it once.
    var found: [String: Timestamp] = [:]
    for (id, model) in models {
      guard let widget = store.widget(id) else { return ["\(id) is gone"] }
      let current = widget.timeline?.current
      switch model {
      case .scheduled(let schedule, let zone):
        let key = "\(widget.kind) \(zone)"
        let expected = found[key] ?? schedule.last(notAfter: now, in: Self.rules(zone) ?? .utc)
        found[key] = expected
        if current?.date != expected {
          violations.append(
            "at \(time): \(id) of \(key) shows \(String(describing: current?.date)), not "
              + "\(expected)")
        }
      case .train(let timeline):
        let expected = timeline.current(at: time)
        if current != expected || widget.isStale != timeline.isStale
          || widget.timeline?.refreshTime != timeline.refreshTime
        {
          violations.append(
            "at \(time): \(id) is \(String(describing: widget.timeline)), stale \(widget.isStale); "
              + "the model has \(timeline)")
        }
      }
      if seen[id] != current?.date { counts.flips += 1 }
      seen[id] = current?.date
    }
    return violations
  }

  /// The texts of the widgets at the last check.
  private var seen: [WidgetID: Timestamp] = [:]
}
