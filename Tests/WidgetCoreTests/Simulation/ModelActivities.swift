import WidgetModel

@testable import WidgetCore

/// Activities as the model keeps them.
extension Draft {
  mutating func startActivity(
    _ spec: WidgetSpec, _ lifetime: Duration?, _ staleAfter: Duration?
  ) throws(StoreError) -> Commit.Outcome {
    let most = Duration.seconds(limits.activityLifetimeSecondsMax)
    if let lifetime, lifetime <= .zero || lifetime > most {
      throw .invalid(field: "lifetime", description: "")
    }
    let activity = Activity(
      startTime: now, expireTime: now.advanced(by: lifetime ?? most),
      staleTime: try staleTime(staleAfter))
    // An ended activity makes room for one of the same name.
    if let id = spec.id, let old = widgets[id], old.activity?.endTime != nil,
      old.ownerUID == caller.uid
    {
      try checkShape(spec, "widget")
      remove(id)
    }
    let outcome = try create(spec, activity: activity)
    if spec.data.cost > limits.activityStateBytesMax {
      throw .invalid(field: "widget.data", description: "")
    }
    return outcome
  }

  mutating func updateActivity(
    _ id: WidgetID, _ patch: StatePatch, _ staleAfter: Duration?
  ) throws(StoreError) -> Commit.Outcome {
    var activity = try active(id)
    activity.staleTime = try staleTime(staleAfter)
    try change(id, patch, to: activity)
    return .updated(id)
  }

  mutating func endActivity(
    _ id: WidgetID, _ patch: StatePatch, _ dismissal: Activity.Dismissal
  ) throws(StoreError) -> Commit.Outcome {
    var activity = try active(id)
    var stay = Duration.seconds(limits.activityDismissalSecondsMax)
    switch dismissal {
    case .standard: break
    case .immediate: stay = .zero
    case .after(let wanted):
      guard wanted >= .zero, wanted <= stay else {
        throw .invalid(field: "dismiss_after", description: "")
      }
      stay = wanted
    }
    activity.state = .ended
    activity.staleTime = nil
    activity.endTime = now
    activity.dismissTime = now.advanced(by: stay)
    try change(id, patch, to: activity)
    guard dismissal == .immediate else { return .updated(id) }
    remove(id)
    return .deleted
  }

  private func active(_ id: WidgetID) throws(StoreError) -> Activity {
    guard let widget = widgets[id] else { throw .widgetNotFound(id) }
    guard let activity = widget.activity else { throw .notAnActivity(id) }
    guard activity.endTime == nil else { throw .activityEnded(id) }
    return activity
  }

  private func staleTime(_ delay: Duration?) throws(StoreError) -> Timestamp? {
    guard let delay else { return nil }
    guard delay > .zero else { throw .invalid(field: "stale_after", description: "") }
    return now.advanced(by: delay)
  }

  private mutating func change(
    _ id: WidgetID, _ patch: StatePatch, to activity: Activity
  ) throws(StoreError) {
    guard let old = widgets[id] else { return }
    let patch = WidgetPatch(setData: patch.setData, unsetData: patch.unsetData, isStale: false)
    try checkShape(patch)
    var new = patched(old, patch)
    try checkActivity(new, over: old, data: "patch.set_data", parameters: "patch.set_parameters")
    new.activity = activity
    var after = owners[id]
    after?.changed(from: old, to: new, by: FieldOwner.user(caller.uid))
    try store(new, replacing: old, owners: after)
  }

  /// The state of an activity is small, its attributes stay, and nothing changes after its end.
  func checkActivity(
    _ new: Widget, over old: Widget, data: String, parameters: String
  ) throws(StoreError) {
    guard let activity = old.activity else { return }
    guard new.data != old.data || new.parameters != old.parameters else { return }
    guard activity.endTime == nil else { throw .activityEnded(old.id) }
    guard new.parameters == old.parameters else {
      throw .invalid(field: parameters, description: "")
    }
    if new.data.cost > max(old.data.cost, limits.activityStateBytesMax) {
      throw .invalid(field: data, description: "")
    }
  }

  /// The effects of time on activities.
  struct Passed {
    var stale = 0
    var expired = 0
    var dismissed = 0
  }

  /// Makes the changes that time makes.
  mutating func settleActivities() -> Passed {
    var passed = Passed()
    for id in order {
      guard var widget = widgets[id], var activity = widget.activity else { continue }
      if let date = activity.staleTime, date <= now {
        activity.staleTime = nil
        widget.isStale = true
        passed.stale += 1
      }
      if activity.endTime == nil, activity.expireTime <= now {
        activity.state = .expired
        activity.staleTime = nil
        activity.endTime = activity.expireTime
        activity.dismissTime = activity.expireTime.advanced(
          by: .seconds(limits.activityDismissalSecondsMax))
        widget.isStale = true
        passed.expired += 1
      }
      if let date = activity.dismissTime, date <= now {
        remove(id)
        passed.dismissed += 1
      } else if activity != widget.activity {
        widget.activity = activity
        touch(widget)
      }
    }
    return passed
  }
}

extension Model {
  /// Makes the changes of activities that are due, in one revision.
  mutating func settleActivities(at now: Timestamp) -> Draft.Passed {
    var draft = Draft(model: self, caller: Caller(uid: 0), now: now)
    let passed = draft.settleActivities()
    adopt(draft, transition: nil)
    return passed
  }
}
