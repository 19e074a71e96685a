import WidgetModel

/// The place of a widget in its timeline, or in the schedule of its kind.
///
/// It follows from those and the time, so it is never stored: after a restart the first `advance`
/// finds it again.
struct Moment {
  /// The status for readers.
  fileprivate(set) var status = TimelineStatus()
  /// The revision that last changed `status`.
  fileprivate(set) var revision: Revision
  /// The next time of a change; nil for never. `earliest` if the time is not known yet.
  fileprivate(set) var due: Timestamp?
  /// The next time at which the daemon must act for the widget, even if nobody reads it; nil for
  /// never.
  fileprivate(set) var duty: Timestamp?
  /// The entries from an expression of the schedule.
  fileprivate(set) var entries: [TimelineEntry] = [] {
    didSet { entriesBytes = entries.reduce(0) { $0 + $1.costBytes } }
  }
  /// The size of `entries` in bytes.
  private var entriesBytes = 0
  /// Whether `entries` is empty because there was no room.
  fileprivate var lacksRoom = false
  /// Whether the moment belongs to a known time.
  fileprivate(set) var isPlaced = false
  fileprivate var schedule: KindSchedule?
  /// The revision of the last evaluation of the schedule.
  fileprivate var scheduledAt: Revision = 0
  /// The `setTime` of the timeline for which the provider was asked to send the next one.
  fileprivate var askedFor: Timestamp?
  /// The requests to the provider; nil if it has answered.
  fileprivate var attempts: TimelineAttempts?
  /// The `setTime` of the timeline whose stale time has come.
  fileprivate var staleFor: Timestamp?
  /// Whether the widget is stale only because that time has come.
  fileprivate var isStaleByTime = false
  /// The start of the problem of the timeline or the schedule; nil for none.
  fileprivate(set) var problemTime: Timestamp?

  /// The size of what the schedule of its kind has made, and of the problem, in bytes. It counts
  /// against the quota for contents. The entries of a timeline count in `RecordState.cost`.
  var bytes: Int {
    // A current entry shares the values of its list. Without a list, a recurrence has made it.
    let isMade = schedule != nil && entries.isEmpty
    let currentBytes = isMade ? status.current?.costBytes ?? 0 : 0
    return entriesBytes + currentBytes + status.problem.utf8.count
  }

  /// Whether the provider was asked for a new timeline and has not answered.
  var awaitsTimeline: Bool { attempts != nil }

  /// Stops the requests, because the provider has answered without a timeline.
  mutating func stopAsking() { attempts = nil }

  /// Lets the provider be asked, even if it was asked for the same timeline before.
  mutating func askAgain() { (askedFor, attempts) = (nil, nil) }

  /// Keeps the widget stale even if the clock is set back: its provider is gone.
  mutating func stayStale() { isStaleByTime = false }

  /// Whether the current entry begins after a time, so the moment cannot be valid then.
  func isAhead(of now: Timestamp) -> Bool { status.current.map { $0.date > now } ?? false }

  /// Whether the clock was set back so far that the moment must be updated.
  func isOutdated(at now: Timestamp) -> Bool {
    isAhead(of: now) || attempts?.isTooLate(at: now) ?? false
      || staleFor != nil && status.staleTime.map { $0 > now } ?? false
  }

  /// The same moment, due as soon as possible.
  var dueAtOnce: Moment {
    var moment = self
    moment.due = .earliest
    return moment
  }

  /// - Parameter problemTime: The start of the problem before a restart.
  init(revision: Revision, problemTime: Timestamp? = nil) {
    self.revision = revision
    self.problemTime = problemTime
  }

  /// The moment of a smart stack, which shows another widget at a time. It has no entries.
  init(stackUntil date: Timestamp?, revision: Revision, after former: Moment?) {
    self.init(revision: revision)
    status.nextTime = date
    if let former, former.status == status { self.revision = former.revision }
    (due, isPlaced) = (date, true)
  }

  /// The same moment with another current entry, for future content of the widget.
  func showing(_ entry: TimelineEntry) -> Moment {
    var moment = self
    moment.status.current = entry
    return moment
  }
}

/// Requests for a new timeline that the provider has not answered.
private struct TimelineAttempts {
  /// The wait after the last request: twice as long as the wait before.
  let pause: Duration
  /// The time of the next request.
  var next: Timestamp

  /// The longest pause, unless the floor is longer.
  private static let pauseMax = Duration.seconds(3_600)

  init(after former: TimelineAttempts?, at now: Timestamp, floor: Duration) {
    let least = max(floor, .seconds(1))
    pause = former.map { max(least, min($0.pause * 2, TimelineAttempts.pauseMax)) } ?? least
    next = now.advanced(by: pause)
  }

  /// Whether the clock was set back since the last request.
  func isTooLate(at now: Timestamp) -> Bool { next > now.advanced(by: pause) }
}

extension ContentMaker {
  /// Updates a widget's moment after a change of its state, its kind or the time. Also makes the
  /// widget stale if its timeline says so.
  mutating func place(
    _ state: inout RecordState, of id: WidgetID, kind: KindName, at revision: Revision,
    limits: StoreLimits
  ) {
    // `WidgetStore.settleEmbeds` places it. A due moment is placed again.
    if kind == .smartStack {
      if let due = state.moment?.due, let now, due <= now { state.moment?.due = nil }
      return
    }
    let schedule = schemas[kind]?.schedule
    guard state.timeline != nil || schedule != nil else {
      // Readers must get the removal of the status once.
      if state.moment != nil {
        state.moment = nil
        state.momentClearedRevision = revision
      }
      return
    }
    var moment = state.moment ?? Moment(revision: revision)
    guard let now else {
      (moment.due, moment.duty, moment.isPlaced) = (.earliest, .earliest, false)
      state.moment = moment
      return
    }
    var status = TimelineStatus()
    if let timeline = state.timeline {
      (moment.schedule, moment.entries) = (nil, [])
      follow(timeline, &state, &moment, &status, at: now, revision)
      if isTimelineDue(timeline, of: kind, &moment, &status, at: now, limits) {
        refreshes.append(id)
      }
    } else if let schedule {
      guard follow(schedule, state, &moment, &status, at: now, revision, limits) else { return }
    }
    moment.isPlaced = true
    moment.problemTime = status.problem.isEmpty ? nil : moment.problemTime ?? now
    status.problemSince = moment.problemTime
    let staleTime = status.staleTime.flatMap { $0 > now ? $0 : nil }
    // A time that is not after `now` would be due for ever: nothing follows the last timestamp.
    moment.duty = [status.refreshTime, staleTime].compactMap { $0 }.filter { $0 > now }.min()
    moment.due = [status.nextTime, moment.duty].compactMap { $0 }.filter { $0 > now }.min()
    if status != moment.status { (moment.status, moment.revision) = (status, revision) }
    state.moment = moment
  }

  private func follow(
    _ timeline: Timeline, _ state: inout RecordState, _ moment: inout Moment,
    _ status: inout TimelineStatus, at now: Timestamp, _ revision: Revision
  ) {
    let place = timeline.entries.current(at: now)
    status.current = place.map { timeline.entries[$0] }
    let following = (place ?? -1) + 1
    if following < timeline.entries.count { status.nextTime = timeline.entries[following].date }
    status.staleTime = timeline.staleTime
    status.problem = timeline.problem
    guard let time = timeline.staleTime, time <= now else {
      // The clock was set back, or the timeline is another one.
      let endsStaleness = moment.isStaleByTime && moment.staleFor == timeline.setTime
      (moment.staleFor, moment.isStaleByTime) = (nil, false)
      if endsStaleness, state.isStale { (state.isStale, state.statusRevision) = (false, revision) }
      return
    }
    guard moment.staleFor != timeline.setTime else { return }
    (moment.staleFor, moment.isStaleByTime) = (timeline.setTime, !state.isStale)
    if !state.isStale { (state.isStale, state.statusRevision) = (true, revision) }
  }

  /// Whether to ask the provider for a new timeline now.
  ///
  /// If the provider does not answer, or answers with an error, the daemon asks again, each time
  /// after twice the pause. Only kinds that were declared in a session have a provider to ask
  /// again.
  private func isTimelineDue(
    _ timeline: Timeline, of kind: KindName, _ moment: inout Moment,
    _ status: inout TimelineStatus, at now: Timestamp, _ limits: StoreLimits
  ) -> Bool {
    let floor = Duration.seconds(limits.timelineRefreshFloorSeconds)
    let isAsked = moment.askedFor == timeline.setTime
    if !isAsked { moment.attempts = nil }
    if let attempts = moment.attempts, attempts.isTooLate(at: now) {
      moment.attempts?.next = now.advanced(by: attempts.pause)
    }
    guard let time = isAsked ? moment.attempts?.next : timeline.refreshTime(floor: floor) else {
      return false
    }
    guard time <= now else {
      status.refreshTime = time
      return false
    }
    let next = TimelineAttempts(after: moment.attempts, at: now, floor: floor)
    (moment.askedFor, moment.attempts) = (timeline.setTime, nil)
    if schemas.isAttended(kind) {
      moment.attempts = next
      status.refreshTime = next.next
    }
    return true
  }

  /// Returns false if the moment does not change.
  private mutating func follow(
    _ schedule: KindSchedule, _ state: RecordState, _ moment: inout Moment,
    _ status: inout TimelineStatus, at now: Timestamp, _ revision: Revision, _ limits: StoreLimits
  ) -> Bool {
    let hasNewInputs =
      moment.schedule !== schedule || !moment.isPlaced || moment.lacksRoom
      || state.parameters.hasChanges(since: moment.scheduledAt)
      || schedule.readsData && state.data.hasChanges(since: moment.scheduledAt)
    // If the clock went back, the schedule must be evaluated too.
    let isDue = moment.due.map { $0 <= now } ?? false || moment.isAhead(of: now)
    guard hasNewInputs || isDue else { return false }
    let result: KindSchedule.Result
    if hasNewInputs || !schedule.readsData {
      result = schedule.place(
        data: state.data, parameters: state.parameters, at: now, limits: limits)
      moment.entries = result.entries ?? []
      moment.lacksRoom = result.lacksRoom
    } else {
      result = KindSchedule.Result(moment.entries, at: now, problem: moment.status.problem)
    }
    count(result.cost)
    (moment.schedule, moment.scheduledAt) = (schedule, revision)
    status.current = result.current
    status.nextTime = result.next
    status.problem = result.problem
    return true
  }
}

extension Timeline {
  /// The message about values that are set aside; empty for none.
  fileprivate var problem: String {
    guard !asideNames.isEmpty else { return "" }
    let names = asideNames.prefix(8).joined(separator: ", ")
    let others = asideNames.count - 8
    return
      "Values of the entries (\(names)\(others > 0 ? ", and \(others) more" : "")) are set aside: "
      + "they do not fit the changed kind. The entries have the defaults until the values fit again, "
      + "or the widget gets a new timeline."
  }

  /// The time at which to ask the provider for a new timeline; nil for never.
  func refreshTime(floor: Duration) -> Timestamp? {
    let wanted: Timestamp?
    switch policy {
    case .atEnd: wanted = entries.last?.date ?? setTime
    case .after: wanted = refreshTime
    case .never: wanted = nil
    }
    // Entries without some of their values cannot wait for the policy.
    if !asides.isEmpty { return setTime.advanced(by: floor) }
    return wanted.map { max($0, setTime.advanced(by: floor)) }
  }
}
