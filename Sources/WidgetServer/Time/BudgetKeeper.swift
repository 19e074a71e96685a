import NIOCore
import WidgetCore
import WidgetModel
import WidgetStorage

/// Keeps the budgets of RefreshWidgets over restarts.
///
/// They are stored in a separate group, after the turn's group. So a full disk refuses no refresh.
/// The store cannot refuse a refresh, because a refresh is not a change.
final class BudgetKeeper {
  private let context: ServiceContext
  private let log: any CommitLog
  private let storage: StorageHealth
  private var budgets: RefreshBudgets
  /// The end of the pause after storing failed.
  private var pausedUntil: NIODeadline?

  private static let pause = TimeAmount.seconds(1)

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
    budgets.take(kind, capacity: capacity(of: kind), at: context.turn.runningTime)
  }

  /// Stores the budgets that need it. Call it only between groups.
  func save() {
    guard budgets.needsStoring, log.needsGroups else { return }
    if let until = pausedUntil, NIODeadline.now() < until { return }
    pausedUntil = nil
    do throws(StorageError) { try store(budgets.takeImages(at: context.turn.runningTime)) } catch {
      budgets.storingFailed()
      pausedUntil = .now() + BudgetKeeper.pause
      storage.failed(error)
    }
  }

  /// Stores the exact budgets, before the daemon ends. Call it only between groups.
  func saveAtEnd() throws(StorageError) {
    guard log.needsGroups, let images = budgets.takeLastImages(at: context.turn.runningTime) else {
      return
    }
    try store(images)
  }

  private func store(_ images: [RefreshBudgetImage]) throws(StorageError) {
    var group = context.store.pendingGroup()
    group.runningTime = context.turn.runningTime
    group.refreshBudgets = images
    try log.append(group)
  }

  private func capacity(of kind: KindName) -> Int {
    context.store.kind(kind)?.kind.refreshesPerHour ?? context.limits.refreshesPerHourMax
  }
}
