import NIOCore
import WidgetCore
import WidgetModel
import WidgetProto

/// Asks providers for fresh data, within the budget of each kind.
final class Refreshes {
  private let context: ServiceContext
  private let delivery: ProviderDelivery
  private let budgets: BudgetKeeper

  init(_ context: ServiceContext, delivery: ProviderDelivery, budgets: BudgetKeeper) {
    self.context = context
    self.delivery = delivery
    self.budgets = budgets
  }

  /// Queues requests for fresh data of widgets. Counts the widgets without a provider.
  func request(
    _ request: RefreshWidgetsRequest, of table: ProviderTable, at instant: NIODeadline = .now()
  ) throws(RPCStatus) -> RefreshWidgetsResponse {
    try context.checkTerms(request.target)
    var response = RefreshWidgetsResponse()
    var allowed: [KindName: Bool] = [:]
    do throws(StoreError) {
      try context.store.forEachWidget(in: request.target) { id, kind in
        guard let name = context.store.provider(of: kind), let session = table.byName[name] else {
          response.unprovidedCount += 1
          return
        }
        // A request takes one call from the budget of each kind, for any number of widgets.
        let isAllowed = allowed[kind] ?? budgets.take(kind)
        allowed[kind] = isAllowed
        guard isAllowed else {
          response.limitedCount += 1
          return
        }
        response.askedCount += 1
        // A session that is being opened gets requests for all its widgets anyway.
        guard session.isStarted else { return }
        session.refresh(id, at: instant)
        delivery.attend(session)
      }
    } catch {
      if case .all = request.target, case .quotaExceeded(let limit, let maximum) = error {
        throw .quotaExceeded(limit, maximum, field: "all")
      }
      throw RPCStatus(error)
    }
    response.budgets = allowed.keys.sorted { $0.rawValue.precedesByBytes($1.rawValue) }
      .map(budgets.budget)
    if response.askedCount == 0, let exhausted = response.budgets.first {
      throw .refreshBudgetExhausted(exhausted, at: context.turn.now)
    }
    return response
  }

  /// Asks providers for new timelines. An absent provider gets requests for all its widgets when it
  /// is back.
  func requestTimelines(
    _ ids: [WidgetID], of table: ProviderTable, at instant: NIODeadline = .now()
  ) {
    for id in ids {
      guard let kind = context.store.kind(of: id), let name = context.store.provider(of: kind),
        let session = table.byName[name], session.isStarted
      else { continue }
      session.refresh(id, .timeline, at: instant)
      delivery.attend(session)
    }
  }
}
