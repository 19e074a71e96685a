import NIOCore
import WidgetCore
import WidgetModel
import WidgetStorage

/// Keeps the budgets of RefreshWidgets over restarts.
///
/// Only changed budgets are stored, with the turn's group, or in a separate group if the turn has none.
/// Their cost counts for the callers. The store cannot refuse a refresh, because a refresh is not a
/// change. If the turn's group fails, the budgets are stored at once in a separate group. If this group
/// fails, too, they are stored after a pause, in parts, because no call pays for them.
final class BudgetKeeper {
  private let context: ServiceContext
  private let log: any CommitLog
  private let storage: StorageHealth
  private var budgets: RefreshBudgets
  /// The changes in the turn's group.
  private var inGroup = RefreshBudgets.Changes()
  /// The pause after a separate group failed.
  private var retry = RetryPause()

  init(
    _ context: ServiceContext, log: any CommitLog, storage: StorageHealth,
    stored: [RefreshBudgetImage]
  ) {
    self.context = context
    self.log = log
    self.storage = storage
    budgets = RefreshBudgets(stored)
  }

  /// The remaining refreshes of a kind's widgets.
  func budget(of kind: KindName) -> RefreshBudget {
    budgets.budget(
      of: kind, capacity: capacity(of: kind), at: context.turn.runningTime,
      clock: context.turn.now)
  }

  /// Takes one call of a kind. Returns whether there was one.
  func take(_ kind: KindName) -> Bool {
    let before = budgets.unstoredCount
    let isTaken = budgets.take(
      kind, capacity: capacity(of: kind), at: context.turn.runningTime)
    // In a pause, the turn does not write the row.
    if budgets.unstoredCount > before, log.needsGroups, !retry.holds(at: .now()) {
      context.noteBudgetRows(budgets.unstoredCount - before)
    }
    return isTaken
  }

  // MARK: - Storing

  /// Adds the budgets that need storing to the turn's group.
  func add(to group: inout CommitGroup) {
    guard budgets.needsStoring, !retry.holds(at: .now()) else { return }
    inGroup = budgets.takeChanges(at: context.turn.runningTime)
    inGroup.add(to: &group)
  }

  /// The turn's group is durable.
  func groupEnded() {
    if !inGroup.isEmpty { retry.succeed() }
    inGroup = RefreshBudgets.Changes()
  }

  /// The turn's group was taken back, and its calls are repeated.
  func groupFailed() {
    budgets.takeBack()
    budgets.storingFailed(inGroup)
    inGroup = RefreshBudgets.Changes()
  }

  /// Whether budgets that waited are left for the next turn.
  var hasMore: Bool { budgets.needsStoring && log.needsGroups && !retry.isOn }

  /// Stores the budgets that need it, if no group of the turn has stored them. Call it only between
  /// groups, after the last attempt of the turn's calls.
  func save() {
    context.forgetBudgetRows()
    budgets.keepCalls()
    budgets.dropRemoved(kindsMax: context.limits.store.kindsMax) {
      context.store.kind($0) != nil
    }
    guard budgets.needsStoring, log.needsGroups else { return retry.succeed() }
    guard !retry.holds(at: .now()) else { return budgets.postpone() }
    let changes = budgets.takeChanges(at: context.turn.runningTime)
    do throws(StorageError) {
      try store(changes)
      retry.succeed()
    } catch {
      budgets.storingFailed(changes)
      budgets.postpone()
      context.schedule(at: retry.fail(at: .now())) { self.context.turn.open() }
      storage.failed(error)
    }
  }

  /// Retries now the budgets that the store did not take.
  func retryNow() {
    guard retry.isOn else { return }
    retry.end()
    context.turn.open()
  }

  /// Stores the exact budgets, before the daemon ends. Call it only between groups.
  func saveAtEnd() throws(StorageError) {
    guard log.needsGroups else { return }
    let changes = budgets.takeLastChanges(at: context.turn.runningTime)
    guard !changes.isEmpty else { return }
    try store(changes)
  }

  private func store(_ changes: RefreshBudgets.Changes) throws(StorageError) {
    var group = context.store.pendingGroup()
    group.runningTime = context.turn.runningTime
    changes.add(to: &group)
    try log.append(group)
  }

  private func capacity(of kind: KindName) -> Int {
    context.store.kind(kind)?.kind.refreshesPerHour ?? context.limits.refreshesPerHourMax
  }
}

extension RefreshBudgets.Changes {
  fileprivate func add(to group: inout CommitGroup) {
    group.refreshBudgets = upserts
    group.refreshBudgetDeletions = deletions
  }
}
