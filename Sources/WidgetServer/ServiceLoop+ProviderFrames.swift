import NIOCore
import WidgetCore
import WidgetModel
import WidgetProto

/// Giving providers what they lack, as long as they take it: events, and questions about widgets.
extension ServiceLoop {
  /// Gives every session what it lacks. To be called when the turn's group is durable.
  func serveProviders(at instant: NIODeadline = .now()) {
    providers.hasMore = false
    defer { scheduleAudience(after: instant) }
    guard !providers.byName.isEmpty else { return lookAtAudience(at: instant) }
    if providers.kindsMayHaveChanged {
      providers.kindsMayHaveChanged = false
      for session in providers.byName.values where session.isStarted { refreshKinds(session) }
      lookAtAudienceAgain()
    }
    lookAtAudience(at: instant)
    for session in Array(providers.byName.values) where session.isStarted {
      serve(session, at: instant)
    }
  }

  /// Lets a session know of widgets whose kinds it has got.
  private func refreshKinds(_ session: ProviderSession) {
    guard let provider = session.provider else { return }
    let kinds = store.kindNames(of: provider)
    let added = kinds.subtracting(session.kinds)
    session.kindRemovals.formUnion(session.kinds.subtracting(kinds))
    session.kindRemovals.subtract(kinds)
    session.kinds = kinds
    guard !added.isEmpty else { return }
    for id in store.widgetIDs(of: added) { session.ask(about: id, .providerReturned) }
    session.syncWhenAsked()
  }

  private func serve(_ session: ProviderSession, at instant: NIODeadline) {
    var steps = 0
    while !session.isOver, session.sink.isWritable {
      steps += 1
      guard steps <= ServiceLoop.providerStepsMax else {
        providers.hasMore = true
        return
      }
      guard
        sendKeepAlive(to: session) || sendEvents(to: session) || sendKindRemovals(to: session)
          || sendRemovals(to: session) || takeChanges(for: session) || sendPending(to: session)
          || sendAudience(to: session, at: instant)
      else { return }
    }
  }

  /// How many steps one session is served in one turn.
  private static var providerStepsMax: Int { 64 }
  /// How many ids a frame has that names removed widgets.
  private static var removalsPerFrameMax: Int { 256 }

  private func sendKeepAlive(to session: ProviderSession) -> Bool {
    guard session.owesKeepAlive else { return false }
    session.owesKeepAlive = false
    send(.keepAlive, to: session)
    return true
  }

  private func sendEvents(to session: ProviderSession) -> Bool {
    let room = limits.providerEventsUnacknowledgedMax - session.unacknowledged.count
    guard room > 0, session.eventCursor < store.lastEventSequence else { return false }
    let page = store.events(after: session.eventCursor, limit: room, of: session.kinds)
    // Who has no widgets misses none of their events.
    if let gap = page.gap, !session.kinds.isEmpty {
      // The gap takes room like an event. Events after it are read again.
      session.eventCursor = gap.upperBound
      session.unacknowledged.append(
        .init(first: gap.lowerBound, last: gap.upperBound, widgetID: nil))
      send(
        .gap(EventGap(firstSequence: gap.lowerBound, lastSequence: gap.upperBound)), to: session)
      return true
    }
    session.eventCursor = page.cursor
    for event in page.events {
      session.unacknowledged.append(
        .init(first: event.sequence, last: event.sequence, widgetID: event.widgetID))
      send(.event(event), to: session)
    }
    return !page.events.isEmpty
  }

  /// Looks at what happened to widgets. Returns whether that is of any interest.
  private func takeChanges(for session: ProviderSession) -> Bool {
    guard session.revisionCursor < store.revision else { return false }
    let changes: WidgetStore.ProvidedChanges
    do throws(StoreError) {
      changes = try store.providedChanges(since: session.revisionCursor, of: session.kinds)
    } catch {
      counters.readersCompacted += 1
      finish(session, RPCStatus(error))
      return false
    }
    session.revisionCursor = store.revision
    for id in changes.removed { session.forgetWidget(id) }
    session.removals += changes.removed
    for id in changes.created { session.ask(about: id, .created) }
    for id in changes.reconfigured { session.ask(about: id, .parametersChanged) }
    return true
  }

  private func sendKindRemovals(to session: ProviderSession) -> Bool {
    guard !session.kindRemovals.isEmpty else { return false }
    let names = session.kindRemovals.sorted { $0.rawValue.precedesByBytes($1.rawValue) }
    session.kindRemovals = []
    send(.kindsRemoved(ProvidedKindRemoval(kinds: names)), to: session)
    return true
  }

  private func sendRemovals(to session: ProviderSession) -> Bool {
    guard !session.removals.isEmpty else { return false }
    let ids = Array(session.removals.prefix(ServiceLoop.removalsPerFrameMax))
    session.removals.removeFirst(ids.count)
    for id in ids { session.audience?.forget(id) }
    send(.removed(ProvidedRemoval(widgetIDs: ids)), to: session)
    return true
  }

  private func sendPending(to session: ProviderSession) -> Bool {
    guard let (pending, reason) = session.nextPending() else { return false }
    switch pending {
    case .synced:
      session.hasSynced = true
      send(.synced(ProvideSynced(revision: store.revision)), to: session)
    case .request(let id):
      guard let kind = store.kind(of: id), session.kinds.contains(kind),
        let widget = store.widget(id)
      else { return true }
      let number = session.numberRequest(about: id, reason, at: .now())
      send(
        .dataRequest(DataRequest(id: number, widget: widget, reason: reason)), to: session)
    }
    return true
  }

  func send(_ frame: ProvideResponse, to session: ProviderSession) {
    guard let message = encode(frame) else { return finish(session, .frameTooLarge) }
    session.sink.send(message)
    counters.frames += 1
  }

  // MARK: - RefreshWidgets

  /// Queues requests for fresh data of widgets. Counts the widgets without a provider.
  func refresh(
    _ request: RefreshWidgetsRequest, at instant: NIODeadline = .now()
  ) throws(RPCStatus) -> RefreshWidgetsResponse {
    if case .selector(let selector) = request.target { try checkTerms(selector) }
    var response = RefreshWidgetsResponse()
    do throws(StoreError) {
      try store.forEachWidget(in: request.target) { id, kind in
        if let name = store.provider(of: kind), let session = providers.byName[name] {
          response.askedCount += 1
          // One that is being opened is asked about everything anyway.
          if session.isStarted { session.refresh(id, at: instant) }
        } else {
          response.unprovidedCount += 1
        }
      }
    } catch {
      throw RPCStatus(error)
    }
    return response
  }
}
