import NIOCore
import WidgetCore
import WidgetModel
import WidgetProto

/// Sends providers events and questions about widgets, as long as they take them.
final class ProviderDelivery {
  private let context: ServiceContext
  private let audience: ProviderAudience
  /// The version of the kinds that the sessions know.
  private var kindsVersion: UInt64 = 0
  private var isUnfinished = false

  init(_ context: ServiceContext, audience: ProviderAudience) {
    self.context = context
    self.audience = audience
  }

  /// Whether a session could be given more.
  var hasMore: Bool { isUnfinished || audience.servesAgain }

  /// Serves all sessions. Call when the turn's group is durable.
  func serve(_ sessions: some Collection<ServedSession>, at instant: NIODeadline) {
    isUnfinished = false
    audience.beginServing()
    defer { audience.schedule(after: instant) }
    guard !sessions.isEmpty else { return audience.look(at: instant) }
    if kindsVersion != context.kindsVersion {
      kindsVersion = context.kindsVersion
      for session in sessions where session.isStarted { refreshKinds(session) }
      audience.lookAgain()
    }
    audience.look(at: instant)
    for session in Array(sessions) where session.isStarted { serve(session, at: instant) }
  }

  /// Tells a session about widgets of newly gained kinds.
  private func refreshKinds(_ session: ServedSession) {
    guard let provider = session.provider else { return }
    let kinds = context.store.kindNames(of: provider)
    let added = kinds.subtracting(session.kinds)
    session.kindRemovals.formUnion(session.kinds.subtracting(kinds))
    session.kindRemovals.subtract(kinds)
    session.kinds = kinds
    guard !added.isEmpty else { return }
    for id in context.store.widgetIDs(of: added) { session.ask(about: id, .providerReturned) }
    session.syncWhenAsked()
  }

  private func serve(_ session: ServedSession, at instant: NIODeadline) {
    var steps = 0
    while !session.isOver, session.sink.isWritable {
      steps += 1
      guard steps <= ProviderDelivery.providerStepsMax else {
        isUnfinished = true
        return
      }
      guard
        sendKeepAlive(to: session) || sendEvents(to: session) || sendKindRemovals(to: session)
          || sendRemovals(to: session) || takeChanges(for: session) || sendPending(to: session)
          || sendAudience(to: session, at: instant)
      else { return }
    }
  }

  /// The maximum number of steps for one session in one turn.
  private static var providerStepsMax: Int { 64 }
  /// The maximum number of ids in a frame of removed widgets.
  private static var removalsPerFrameMax: Int { 256 }

  private func sendKeepAlive(to session: ServedSession) -> Bool {
    guard session.owesKeepAlive else { return false }
    session.owesKeepAlive = false
    session.send(.keepAlive)
    return true
  }

  private func sendEvents(to session: ServedSession) -> Bool {
    let room = context.limits.providerEventsUnacknowledgedMax - session.unacknowledged.count
    guard room > 0, session.eventCursor < context.store.lastEventSequence else { return false }
    let page = context.store.events(after: session.eventCursor, limit: room, of: session.kinds)
    // A provider without kinds misses no events.
    if let gap = page.gap, !session.kinds.isEmpty {
      // The gap takes room like an event. Events after it are read again.
      session.eventCursor = gap.upperBound
      session.unacknowledged.append(
        .init(first: gap.lowerBound, last: gap.upperBound, widgetID: nil))
      session.send(.gap(EventGap(firstSequence: gap.lowerBound, lastSequence: gap.upperBound)))
      return true
    }
    session.eventCursor = page.cursor
    for event in page.events {
      session.unacknowledged.append(
        .init(first: event.sequence, last: event.sequence, widgetID: event.widgetID))
      session.send(.event(event))
    }
    return !page.events.isEmpty
  }

  /// Processes the changes of widgets. Returns whether any of them matters.
  private func takeChanges(for session: ServedSession) -> Bool {
    guard session.revisionCursor < context.store.revision else { return false }
    let changes: WidgetStore.ProvidedChanges
    do throws(StoreError) {
      changes = try context.store.providedChanges(since: session.revisionCursor, of: session.kinds)
    } catch {
      context.counters.readersCompacted += 1
      session.finish(RPCStatus(error))
      return false
    }
    session.revisionCursor = context.store.revision
    for id in changes.removed { session.forgetWidget(id) }
    session.removals += changes.removed
    for id in changes.created { session.ask(about: id, .created) }
    for id in changes.reconfigured { session.ask(about: id, .parametersChanged) }
    return true
  }

  private func sendKindRemovals(to session: ServedSession) -> Bool {
    guard !session.kindRemovals.isEmpty else { return false }
    let names = session.kindRemovals.sorted { $0.rawValue.precedesByBytes($1.rawValue) }
    session.kindRemovals = []
    session.send(.kindsRemoved(ProvidedKindRemoval(kinds: names)))
    return true
  }

  private func sendRemovals(to session: ServedSession) -> Bool {
    guard !session.removals.isEmpty else { return false }
    let ids = Array(session.removals.prefix(ProviderDelivery.removalsPerFrameMax))
    session.removals.removeFirst(ids.count)
    for id in ids { session.audience?.forget(id) }
    session.send(.removed(ProvidedRemoval(widgetIDs: ids)))
    return true
  }

  private func sendAudience(to session: ServedSession, at instant: NIODeadline) -> Bool {
    guard let frame = audience.frame(for: session, at: instant) else { return false }
    session.send(.audience(frame))
    return true
  }

  private func sendPending(to session: ServedSession) -> Bool {
    guard let (pending, reason) = session.nextPending() else { return false }
    switch pending {
    case .synced:
      session.hasSynced = true
      session.send(.synced(ProvideSynced(revision: context.store.revision)))
    case .request(let id):
      guard let kind = context.store.kind(of: id), session.kinds.contains(kind),
        let widget = context.store.widget(id)
      else { return true }
      let number = session.numberRequest(about: id, reason, at: .now())
      session.send(.dataRequest(DataRequest(id: number, widget: widget, reason: reason)))
    }
    return true
  }
}
