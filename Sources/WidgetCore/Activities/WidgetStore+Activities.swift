public import WidgetModel

/// Activities: widgets that show a task while it lasts.
///
/// A change of an activity, by a call or by time, is a commit like any other, and is stored. Time
/// changes an activity only a few times in its life, so the cost does not matter, and every reader
/// can resume after it. After a restart, `settleActivities` makes the changes that came due
/// meanwhile.
extension WidgetStore {
  // MARK: - Calls

  mutating func startActivity(
    _ spec: WidgetSpec, lifetime: Duration?, staleAfter: Duration?, _ transition: Transition?,
    by caller: Caller, at now: Timestamp
  ) throws(StoreError) -> WidgetID {
    let lifetimeMax = Duration.seconds(limits.activityLifetimeSecondsMax)
    if let lifetime, !(lifetime > .zero && lifetime <= lifetimeMax) {
      throw .invalid(
        field: "lifetime",
        description: "Use more than 0 and at most \(limits.activityLifetimeSecondsMax) s "
          + "(activity_lifetime_seconds_max).")
    }
    let activity = Activity(
      startTime: now, expireTime: now.advanced(by: lifetime ?? lifetimeMax),
      staleTime: try staleTime(after: staleAfter, now))
    // The former activity of the same name is history. Its readers get the new activity in its
    // place.
    let former = spec.id.flatMap { slot(of: $0) }.flatMap { slot in
      records[slot].map { isEnded($0) && $0.ownerUID == caller.uid } ?? false ? slot : nil
    }
    let id = try create(spec, transition, by: caller, at: now, replacing: former) { state in
      state.activity = activity
    }
    if let bytes = slot(of: id).flatMap({ records[$0]?.data.costBytes }) {
      try checkState(bytes, field: "widget.data")
    }
    return id
  }

  mutating func updateActivity(
    _ id: WidgetID, _ patch: StatePatch, staleAfter: Duration?, _ transition: Transition?,
    by caller: Caller, at now: Timestamp
  ) throws(StoreError) {
    let (slot, activity) = try activeActivity(id)
    var next = activity
    next.staleTime = try staleTime(after: staleAfter, now)
    try change(slot, patch, to: next, transition, by: caller, at: now)
  }

  mutating func endActivity(
    _ id: WidgetID, _ patch: StatePatch, _ dismissal: Activity.Dismissal,
    _ transition: Transition?, by caller: Caller, at now: Timestamp
  ) throws(StoreError) {
    let (slot, activity) = try activeActivity(id)
    var next = activity
    next.end(.ended, at: now, stayingFor: try stay(dismissal))
    try change(slot, patch, to: next, transition, by: caller, at: now)
    if dismissal == .immediate { removeWidget(slot, transition ?? defaultTransition(slot)) }
  }

  /// Changes an activity and its state, in one commit, and makes the widget fresh.
  private mutating func change(
    _ slot: Int, _ change: StatePatch, to activity: Activity, _ transition: Transition?,
    by caller: Caller, at now: Timestamp
  ) throws(StoreError) {
    guard let record = records[slot] else { return }
    var patch = WidgetPatch(
      setData: change.setData, unsetData: change.unsetData, isStale: false)
    try validate(patch, field: "patch")
    let asked = patch
    patch = try fitted(patch, for: record, field: "patch")
    let ownership = record.ownership(after: patch, by: .user(caller.uid), asked: asked)
    let effect = try admittedEffect(of: patch, on: slot, plus: record.growth(to: ownership))
    guard effect.isChange || ownership != nil || activity != record.activity else { return }
    let revision = advanceRevision()
    modify(
      slot, by: patch, effect, ownership, transition ?? defaultTransition(slot), at: now
    ) { state in
      if state.activity != activity { state.statusRevision = revision }
      state.activity = activity
    }
  }

  private func isEnded(_ record: Record) -> Bool {
    record.activity.map { $0.state != .active } ?? false
  }

  /// The slot of an active activity.
  private func activeActivity(
    _ id: WidgetID
  ) throws(StoreError) -> (slot: Int, activity: Activity) {
    guard let slot = slot(of: id), let record = records[slot] else { throw .widgetNotFound(id) }
    guard let activity = record.activity else { throw .notAnActivity(id) }
    guard activity.state == .active else { throw .activityEnded(id) }
    return (slot, activity)
  }

  // MARK: - Checks

  private func staleTime(
    after delay: Duration?, _ now: Timestamp
  ) throws(StoreError) -> Timestamp? {
    guard let delay else { return nil }
    guard delay > .zero else {
      throw .invalid(field: "stale_after", description: "Use more than 0, for example 5 minutes.")
    }
    return now.advanced(by: delay)
  }

  /// The time for which the widget of an ended activity stays.
  private func stay(_ dismissal: Activity.Dismissal) throws(StoreError) -> Duration {
    let most = Duration.seconds(limits.activityDismissalSecondsMax)
    switch dismissal {
    case .standard: return most
    case .immediate: return .zero
    case .after(let stay):
      guard stay >= .zero, stay <= most else {
        throw .invalid(
          field: "dismiss_after",
          description: "Use 0 to \(limits.activityDismissalSecondsMax) s "
            + "(activity_dismissal_seconds_max).")
      }
      return stay
    }
  }

  private func checkState(_ bytes: Int, field: String) throws(StoreError) {
    guard bytes > limits.activityStateBytesMax else { return }
    throw .invalid(
      field: field,
      description: "The state of an activity would have \(bytes) bytes; at most "
        + "\(limits.activityStateBytesMax) are allowed (activity_state_bytes_max).")
  }

  /// Refuses an invalid patch of an activity: the attributes cannot change, the state has a size
  /// limit, and nothing changes after the end. Other widgets take all patches.
  ///
  /// - Parameters:
  ///   - data: the field of the request that changes the data.
  ///   - parameters: the field that changes the parameters.
  func checkActivity(
    _ patch: WidgetPatch, of record: Record, data: @autoclosure () -> String,
    parameters: @autoclosure () -> String
  ) throws(StoreError) {
    guard let activity = record.activity else { return }
    let attributes = record.parameters.effect(
      setting: patch.setParameters, unsetting: patch.unsetParameters, replacing: false)
    let state = record.data.effect(
      setting: patch.setData, unsetting: patch.unsetData, replacing: patch.replaceData)
    guard activity.state == .active || !(attributes.isChange || state.isChange) else {
      throw .activityEnded(record.id)
    }
    guard !attributes.isChange else {
      throw .invalid(
        field: parameters(),
        description: "The attributes of an activity do not change; change its data, or start "
          + "another activity.")
    }
    if state.bytes > 0 { try checkState(record.data.costBytes + state.bytes, field: data()) }
  }

  // MARK: - Time

  /// The next time for `settleActivities`, on the wall clock.
  public var nextActivityDate: Timestamp? { records.nextActivityDate }

  /// Makes the changes that are due: makes activities stale, ends those whose lifetime is over, and
  /// removes dismissed ones. All changes have one revision, and are a part of the group. The method
  /// stops at the cost `costMax`, after `widgetsMax` changes, when the rows of the group exceed
  /// `bytesMax`, or when `isOver` returns true, but not before the first change. The changes cannot
  /// be refused: content without room is cut. O(due changes).
  public mutating func settleActivities(
    to now: Timestamp, costMax: Int = .max, widgetsMax: Int = .max, bytesMax: Int = .max,
    isOver: () -> Bool = { false }
  ) -> Advance {
    var result = Advance()
    guard let date = nextActivityDate, date <= now else { return result }
    contents.beginCommand(at: now)
    records.beginCommand()
    let stay = Duration.seconds(limits.activityDismissalSecondsMax)
    var changed = 0
    while contents.cost < costMax, changed < widgetsMax,
      !(result.isChange && (pendingBytes > bytesMax || isOver())),
      let slot = records.popDueActivity(at: now)
    {
      guard var activity = records[slot]?.activity else { continue }
      if !result.isChange {
        _ = advanceRevision()
        result.isChange = true
      }
      let (revision, transition) = (revision, defaultTransition(slot))
      let passage = activity.pass(to: now, stayingFor: stay)
      if passage.isOver {
        removeWidget(slot, transition)
      } else {
        records.modify(slot, at: revision, &contents, limits: limitsForAdvance(of: slot)) { state in
          (state.activity, state.statusRevision) = (activity, revision)
          if passage.becameStale { state.isStale = true }
          state.finish(transition, at: revision, time: now)
        }
      }
      contents.count(ContentEvaluation.nodeCost)
      changed += 1
    }
    result.hasMore = nextActivityDate.map { $0 <= now } ?? false
    return result
  }
}
