import Foundation
import SeededRandom
import Testing
import WidgetExpression
import WidgetModel
import WidgetTimeZones

@testable import WidgetCore

/// A year of many widgets: schedules in zones whose clocks change, timelines with requests that fail,
/// steps of the clock in both directions, and restarts. A naive model looks for each entry minute by
/// minute.
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
  func `of widgets is what the naive model says`(plan: Plan) throws {
    let (seed, widgets) = (plan.seed, plan.widgets)
    var year = try TimelineYear(seed: seed, widgets: widgets)
    let violations = try year.run()
    #expect(violations.isEmpty, "WIDGETD_SIM_SEED=\(seed) \(violations.joined(separator: "\n"))")
    // A simulation that does not do these things proves nothing about them.
    let counts = year.counts
    #expect(counts.flips > 50 * widgets, "\(counts)")
    #expect(counts.restarts > 10 && counts.backward > 10, "\(counts)")
    #expect(counts.requests > widgets && counts.retries > 10, "\(counts)")
    #expect(counts.errors > 10 && counts.stale > 10, "\(counts)")
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
  }

  private(set) var counts = Counts()
  private var random: SeededGenerator
  private var store: Store
  private var image = StoreImage(epoch: 7)
  private var models: [WidgetID: NaiveWidget] = [:]
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
    switch random.below(20) {
    case 0: restart()
    case 1: try changeZone()
    case 2:
      // The clock is set back, at most to the start.
      let target = max(Self.start, now - Int64(random.pick([1, 59, 3_600, 100_000])))
      if target < now { counts.backward += 1 }
      now = target
      store.clockWentBack(to: time)
      for id in models.keys {
        guard case .train(var timeline)? = models[id] else { continue }
        timeline.clockWentBack(to: time)
        models[id] = .train(timeline)
      }
    default:
      // Longer steps than those back, so that the year ends.
      now += Int64(random.pick([1, 59, 60, 61, 899, 3_600, 7_200, 86_400, 200_000, 500_000]))
    }
    latest = max(latest, now)
    advance()
    try answer()
  }

  private mutating func advance() {
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

  /// Widgets that were asked about wrongly, and those that wait for an answer.
  private var unexpected: [String] = []
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

  /// The process is killed, and another one opens what was stored.
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
    // Widgets of one schedule and zone show the same, which is looked for once.
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

  /// The texts of the widgets at the last look.
  private var seen: [WidgetID: Timestamp] = [:]
}

/// The text of a widget, according to the model.
private enum NaiveWidget {
  case scheduled(NaiveSchedule, String)
  case train(NaiveTimeline)
}

/// A schedule that is looked for minute by minute.
private enum NaiveSchedule: Sendable {
  struct Local {
    let hour: Int
    let minute: Int
    /// From 0, Sunday.
    let weekday: Int
  }

  /// A period and an offset, in seconds.
  case every(Int64, Int64)
  case cron(@Sendable (Local) -> Bool)

  func last(notAfter now: Int64, in zone: TimeZoneRules) -> Timestamp {
    var minute = now - now % 60
    while !fits(minute + Int64(zone.offset(at: Int(minute)))) { minute -= 60 }
    return Timestamp(seconds: minute, nanoseconds: 0) ?? .epoch
  }

  private func fits(_ local: Int64) -> Bool {
    switch self {
    case .every(let period, let offset): return (local - offset) % period == 0
    case .cron(let holds):
      let days = local / 86_400
      let minutes = Int(local % 86_400) / 60
      // 1 January 1970 was a Thursday.
      return holds(
        Local(hour: minutes / 60, minute: minutes % 60, weekday: Int((days + 4) % 7)))
    }
  }
}

/// A timeline, the requests for a new one, and whether the widget is stale.
private struct NaiveTimeline {
  let timeline: Timeline
  let setTime: Timestamp
  private(set) var attempts = 0
  private(set) var nextAttempt: Timestamp?
  private(set) var isStale = false
  private var wasStale = false
  private var storedStale = false
  private(set) var refreshTime: Timestamp?

  init(_ timeline: Timeline, setAt time: Timestamp) {
    self.timeline = timeline
    setTime = time
  }

  func current(at time: Timestamp) -> TimelineEntry? {
    var best: TimelineEntry?
    for entry in timeline.entries where entry.date <= time {
      if best.map({ $0.date <= entry.date }) ?? true { best = entry }
    }
    return best
  }

  /// When the provider is asked for the first time.
  private var wanted: Timestamp? {
    let time: Timestamp?
    switch timeline.policy {
    case .atEnd: time = timeline.entries.map(\.date).max()
    case .after: time = timeline.refreshTime
    case .never: time = nil
    }
    return time.map { max($0, setTime.advanced(by: .seconds(60))) }
  }

  mutating func advance(to time: Timestamp) -> (isAsked: Bool, becomesStale: Bool) {
    var becomesStale = false
    if let stale = timeline.staleTime, stale <= time, !wasStale {
      (wasStale, becomesStale) = (true, !isStale)
      isStale = true
    }
    return (ask(at: time), becomesStale)
  }

  private mutating func ask(at time: Timestamp) -> Bool {
    let due = attempts == 0 ? wanted : nextAttempt
    refreshTime = due
    guard let due, due <= time else { return false }
    attempts += 1
    nextAttempt = time.advanced(by: pause)
    refreshTime = nextAttempt
    return true
  }

  /// How long the daemon waits after the last request.
  private var pause: Duration {
    var seconds = 60
    for _ in 1..<max(attempts, 1) { seconds = min(2 * seconds, 3_600) }
    return .seconds(seconds)
  }

  /// No pause becomes longer.
  mutating func clockWentBack(to time: Timestamp) {
    nextAttempt = nextAttempt.map { min($0, time.advanced(by: pause)) }
  }

  /// The widget has just got the timeline.
  mutating func place(at time: Timestamp) { refreshTime = wanted }

  /// The provider has answered with an error.
  mutating func fail(at time: Timestamp) {
    isStale = timeline.staleTime.map { $0 <= time } ?? false ? isStale : false
    storedStale = isStale
  }

  /// Only the timeline is stored, and whether the widget was stale at the last command.
  mutating func restart() {
    (attempts, nextAttempt, wasStale, isStale) = (0, nil, false, storedStale)
  }
}
