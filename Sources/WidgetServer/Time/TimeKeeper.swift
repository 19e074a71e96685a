import Logging
import NIOCore
import WidgetCore
import WidgetModel
import WidgetProto
import WidgetStorage
import WidgetTimers

/// Makes the changes of widgets that time causes: at the end of a turn, after its group, in steps
/// that fit into a turn.
///
/// Changes of timelines by time are never stored. Only their revisions are reserved, in a separate
/// group, many at once. Changes of activities by time are stored with the turn's group.
final class TimeKeeper {
  private let context: ServiceContext
  private let log: any CommitLog
  private let storage: StorageHealth
  private let readers: WatchRounds
  private(set) var timer: WallClockTimer?
  /// Whether more is due than the last step did.
  private var hasMoreMoments = false
  var hasMore: Bool { hasMoreMoments || hasMoreEmbeds || hasMoreActivities }
  /// Whether the last step has left embeds to process.
  private var hasMoreEmbeds = false
  /// Whether the turn has left due changes of activities.
  private var hasMoreActivities = false
  /// Whether the turn's group has changes of activities that time made.
  private var hasSettled = false
  /// The pause of activities after a group with their changes failed.
  private var activityRetry = RetryPause()
  /// The pause after reserving revisions failed.
  private var reservationRetry = RetryPause()
  /// The time of the last step.
  private var lastTime = Timestamp.earliest
  /// The time that this turn has spent on changes by time.
  private var spent = TimeAmount.zero

  /// The approximate maximum number of expression steps that one turn spends on changes by time.
  private var costMax: Int { context.clock.isFake ? .max : 200_000 }
  /// The time that the steps of one turn may take together. The rest waits for the next turn, so
  /// that calls do not wait for thousands of widgets that change at a full minute.
  static let turnMax = TimeAmount.milliseconds(2)
  /// The minimum time of each step, so that no step waits until the others have nothing to do.
  private static let stepMin = TimeAmount.microseconds(250)
  /// The maximum number of activities that one turn changes: their rows take time, too.
  private var activitiesMax: Int { context.clock.isFake ? .max : 256 }

  init(
    _ context: ServiceContext, log: any CommitLog, storage: StorageHealth, readers: WatchRounds
  ) {
    self.context = context
    self.log = log
    self.storage = storage
    self.readers = readers
  }

  private var isActivityDue: Bool {
    context.store.nextActivityDate.map { $0 <= context.turn.now } ?? false
  }

  /// Ends and removes the activities whose time has come, as a part of the turn's group.
  func settleActivities() {
    (hasSettled, hasMoreActivities) = (false, false)
    guard isActivityDue, context.phase == .serving, !activityRetry.holds(at: .now()) else { return }
    // Thousands of rows would make the log longer, so they wait like the changes of calls.
    guard !context.pause.isOn else { return }
    let result = timed {
      context.settleActivities(costMax: costMax, widgetsMax: activitiesMax, $0)
    }
    guard result.isChange else { return }
    context.turn.noteOwnChange()
    context.counters.countCommit()
    (hasSettled, hasMoreActivities) = (true, result.hasMore)
  }

  /// The turn's group was taken back. If time had changed activities in it, it does so again after a
  /// pause.
  func groupFailed() {
    guard hasSettled else { return }
    (hasSettled, hasMoreActivities) = (false, false)
    context.schedule(at: activityRetry.fail(at: .now())) { self.context.turn.open() }
  }

  /// The turn's group is durable, or was taken back.
  func groupEnded() {
    // A call may have removed the activities that could not be changed.
    if hasSettled || !isActivityDue { activityRetry.succeed() }
  }

  /// Retries now the changes that the store did not take.
  func retryNow() {
    guard activityRetry.isOn || reservationRetry.isOn else { return }
    activityRetry.end()
    reservationRetry.end()
    context.turn.open()
  }

  /// Updates widgets to the time of the turn. Call it before the turn's first call.
  func beginTurn() {
    spent = .zero
    advance()
  }

  /// Updates widgets to the time of the turn. Call it again when the turn's group has ended.
  func advance() {
    (hasMoreMoments, hasMoreEmbeds) = (false, false)
    let now = context.turn.now
    // Most daemons and most turns have nothing to do here.
    guard context.store.nextDate != nil || now < lastTime || context.store.needsSettling else {
      lastTime = now
      reservationRetry.succeed()
      return
    }
    var isDone = true
    context.work.withoutCharge { isDone = step() }
    if !isDone {
      _ = timer?.set(nil)
      context.schedule(at: reservationRetry.fail(at: .now())) { self.context.turn.open() }
    }
  }

  /// Returns false if revisions could not be reserved.
  private func step() -> Bool {
    guard !reservationRetry.holds(at: .now()) else { return true }
    if context.turn.now < lastTime { context.clockWentBack() }
    lastTime = context.turn.now
    var result = timed { context.advance(costMax: costMax, $0) }
    if result.needsReservation {
      guard reserve() else { return false }
      result = timed { context.advance(costMax: costMax, $0) }
    }
    if result.isChange {
      context.counters.countCommit()
      context.counters.countAdvance()
    }
    hasMoreMoments = result.hasMore
    guard settle() else { return false }
    // A call may have removed the widgets for which no revisions could be reserved.
    reservationRetry.succeed()
    return true
  }

  /// Updates embeds after changes of the embedded widgets. Returns false if revisions could not be
  /// reserved.
  private func settle() -> Bool {
    guard context.store.needsSettling else { return true }
    var result = timed { context.settleEmbeds(costMax: costMax, $0) }
    if result.needsReservation {
      guard reserve() else { return false }
      result = timed { context.settleEmbeds(costMax: costMax, $0) }
    }
    if result.isChange { context.counters.countCommit() }
    hasMoreEmbeds = result.hasMore
    return true
  }

  /// Runs a step in the rest of the turn's time.
  private func timed(_ step: (TimeSlice) -> WidgetStore.Advance) -> WidgetStore.Advance {
    // If a caller moves a fake clock, all changes are made before the caller's next call.
    let left = context.clock.isFake ? .hours(1) : TimeKeeper.turnMax - spent
    let slice = context.work.slice(of: max(left, TimeKeeper.stepMin))
    defer { spent = spent + (slice.clock() - slice.start) }
    return step(slice)
  }

  /// Makes more revisions durable. Returns whether that worked. Call it only between groups.
  @discardableResult
  func reserve() -> Bool {
    context.reserveRevisions()
    do throws(StorageError) {
      let pending = context.store.pendingChanges()
      var group = pending.group
      group.runningTime = context.turn.runningTime
      try log.append(group, writing: pending.widgets)
      // Readers may be at the revision before the turn: the turn's own commit forgets removals.
      context.commitGroup(retaining: 0)
      reservationRetry.succeed()
      storage.stored(isSmall: true)
      return true
    } catch {
      context.rollbackGroup()
      storage.failed(error)
      return false
    }
  }

  /// Sets the timer for the next change. Call it at the end of the turn, after sending readers
  /// their changes.
  func setTimer() {
    // The timer leaves the dates of activities out during a pause. The turn after it sets them again.
    if context.pause.isOn, context.store.nextActivityDate != nil {
      context.pause.wait(self) { [context] in context.turn.open() }
    }
    // Only a caller moves a fake clock.
    guard !context.clock.isFake, !reservationRetry.holds(at: .now()),
      timer != nil || context.store.nextDate != nil || context.store.nextActivityDate != nil
    else { return }
    let isHeld = activityRetry.holds(at: .now()) || context.pause.isOn
    let activities = isHeld ? nil : context.store.nextActivityDate
    let date = hasMore ? nil : [wakeDate, activities].compactMap { $0 }.min()
    if timer == nil {
      guard date != nil else { return }
      timer = WallClockTimer(eventLoop: context.eventLoop) { [unowned self] in
        context.turn.open()
      }
    }
    timer?.set(date)
  }

  /// The next date with work. While no reader needs the changes that time makes, they wait for the
  /// next turn.
  var wakeDate: Timestamp? {
    guard let next = context.store.nextDate else { return nil }
    return [context.nextDuty(), readers.horizon(next)].compactMap { $0 }.min()
  }

  func close() { timer?.close() }
}
