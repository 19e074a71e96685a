import NIOCore
import WidgetCore
import WidgetModel
import WidgetProto

/// One session of a provider. Its parts hold its progress: `events`, `widgets`, `requests`,
/// `audience`.
///
/// A session has no queue of messages. `next` reads the store when the provider takes more. So a
/// provider that does not read costs only a set of ids.
///
/// The result of a frame is sent at the end of its turn, when it is durable, and takes effect only
/// then; see `SessionTurn`.
///
/// A session that has nothing to send is *quiet*: the delivery does not look at it until something concerns
/// it. The cursors of all quiet sessions are at one place, `QuietSessions`.
///
/// Invariants: `isStarted` from the end of the turn that received `open`. A started session is quiet, or
/// the delivery looks at it in each turn.
final class ServedSession {
  let id: UInt64
  let peer: Peer
  let sink: any StreamSink
  private let output: SessionOutput
  private let quietPlace: QuietPlace
  /// The provider's name. Nil until `open`.
  private(set) var provider: String?
  /// Whether the session gets the calls about bundles.
  private(set) var managesBundles = false
  /// Whether the session gets snapshot requests.
  private(set) var answersSnapshots = false
  /// Whether the provider gets events and requests.
  private(set) var isStarted = false
  private(set) var isOver = false
  private(set) var isQuiet = false
  /// Set when the session ends with the turn. Later frames are ignored.
  private(set) var ending: Ending?

  /// Whether the session is over, or ends with the turn.
  var isEnding: Bool { isOver || ending != nil }

  private var lease = Lease(from: .now())
  private var leaseTimer: Scheduled<Void>?
  private var deadline: StreamDeadline?
  private var turn = SessionTurn()
  private var events = SessionEvents()
  private var widgets = SessionWidgets()
  private var requests = DataRequests()
  /// The kinds about whose widgets the provider is still to be asked.
  private var searches: [Search] = []
  private var owesKeepAlive = false
  /// The provider's knowledge of watched widgets. Nil if it did not set `include_audience`.
  private var audience: Audience?

  /// A search for the widgets of kinds, which takes several steps.
  ///
  /// Requests that were sent since the search was added are not repeated. Earlier ones can be from
  /// the time before the provider lost the kind.
  private struct Search {
    var kinds: Set<KindName>
    /// The session learns of later widgets as changes.
    let revision: Revision
    /// The number of requests that were sent before.
    let sentBefore: Int
    var nextSlot = 0
  }

  /// The number of slots of the store that a step looks at.
  private static let slotsPerStep = 1_024

  struct Ending {
    let status: RPCStatus?
  }

  /// - Parameters:
  ///   - output: The way of the session's frames to its sink.
  ///   - quietPlace: The place of the quiet sessions.
  init(
    id: UInt64, peer: Peer, sink: any StreamSink, output: SessionOutput, quietPlace: QuietPlace
  ) {
    self.id = id
    self.peer = peer
    self.sink = sink
    self.output = output
    self.quietPlace = quietPlace
  }

  /// The provider's kinds, as far as the session has been told.
  var kinds: Set<KindName> { widgets.kinds }
  /// Whether the provider is told which of its widgets are watched.
  var includesAudience: Bool { audience != nil }
  /// The session has looked at all changes of widgets up to this revision. Quiet sessions are at the
  /// place of all quiet sessions instead.
  var revision: Revision { widgets.cursor }
  /// The event after which another session of this provider begins.
  var resumePoint: UInt64 { progress.resumePoint }
  /// The number of data requests that wait to be sent.
  var waitingCount: Int { requests.waitingCount }

  // MARK: - From `open` to the end

  /// Takes the provider's first frame.
  ///
  /// - Parameter sequence: The event after which the session begins.
  func open(_ open: ProvideOpen, after sequence: UInt64) {
    provider = open.provider
    managesBundles = open.managesBundles
    answersSnapshots = open.answersSnapshots
    if let duration = open.lease { lease.take(duration) }
    if open.includeAudience { audience = Audience() }
    events.begin(after: sequence)
    turn.add(.opened)
  }

  /// Starts the session: from now on the provider gets events and requests.
  ///
  /// - Returns: The frame that tells the provider.
  func start(_ provider: String, in store: borrowing WidgetStore) -> ProvideResponse {
    // Events whose group was rolled back since have never happened.
    events.begin(
      atMost: min(
        store.lastEventSequence, store.sequenceBeforeUnacknowledged(of: provider) ?? .max))
    isStarted = true
    widgets = SessionWidgets(
      kinds: store.kindNames(of: provider), attended: store.attendedKindNames(of: provider),
      at: store.revision)
    ask(aboutWidgetsOf: kinds, in: store)
    return .opened(
      ProvideOpened(
        sessionID: id, epoch: store.epoch, revision: store.revision, lease: lease.duration,
        firstSequence: events.cursor + 1, includesAudience: includesAudience))
  }

  /// Has the session end with the turn. Returns false if it ends already.
  func end(with status: RPCStatus?) -> Bool {
    guard !isOver, ending == nil else { return false }
    ending = Ending(status: status)
    return true
  }

  /// Ends the session now. Returns false if it has ended before.
  func close() -> Bool {
    guard !isOver else { return false }
    isOver = true
    leaseTimer?.cancel()
    deadline?.cancel()
    return true
  }

  // MARK: - The lease

  var leaseEnd: NIODeadline { lease.end }
  var leaseDuration: Duration { lease.duration }

  func heard(at instant: NIODeadline) { lease.heard(at: instant) }

  func lookAtLease(at instant: NIODeadline) -> LeaseWatch.Verdict { lease.look(at: instant) }

  /// Replaces the timer of the lease.
  func setLeaseTimer(_ timer: Scheduled<Void>?) {
    leaseTimer?.cancel()
    leaseTimer = timer
  }

  // MARK: - The turn

  /// Has the session take part in the turn. Returns false if it already does.
  func joinTurn() -> Bool { turn.join() }

  /// How a frame uses the room on the disk. Call it once for each frame, in their order.
  func roomUse(of frame: ProvideRequest) -> Method.RoomUse { turn.roomUse(of: frame) }

  func add(_ output: SessionTurn.Output) { turn.add(output) }
  func add(_ effect: SessionTurn.Effect) { turn.add(effect) }

  /// Whether frames of the turn have effects. The delivery must then look at the session.
  var hasEffects: Bool { turn.hasEffects }

  /// Ends the turn: the effects of its frames come into force.
  ///
  /// - Parameter send: Sends an output. The session may end in it.
  func endTurn(sending send: (SessionTurn.Output) -> Void) {
    let (refused, stored) = (turn.refused, turn.stored)
    let (outputs, effects) = turn.end()
    for output in outputs where !isOver { send(output) }
    events.changesWereStored(stored)
    if let refused { events.changesWereRefused(refused) }
    for effect in effects {
      switch effect {
      case .acknowledged(let sequence): acknowledge(through: sequence)
      case .heard(let ids): for id in ids { requests.heard(of: id) }
      case .gaveUp(let names): widgets.giveUp(names)
      }
    }
  }

  // MARK: - Events

  /// The provider has handled all events up to this one, and this is durable.
  func acknowledge(through sequence: UInt64) { events.acknowledge(through: sequence) }

  /// Whether changes were refused, and not all of them were made later.
  var lacksChanges: Bool { events.lacksChanges }

  /// Notes that a frame was refused, because its group was not stored.
  func noteRefused(_ parts: ChangeParts) { turn.noteRefused(parts) }

  /// Notes that the changes of a frame are stored with the turn's group.
  func noteStored(_ parts: ChangeParts) { turn.noteStored(parts) }

  /// Whether the store may forget the events up to this one; see `SessionEvents`.
  func mayForget(through sequence: UInt64) -> Bool {
    events.mayForget(through: sequence, storing: turn.stored)
  }

  /// Whether an event may be acknowledged.
  func hasSent(_ sequence: UInt64) -> Bool { sequence <= progress.sentThrough }

  /// `events`, with the events that a quiet session has skipped.
  private var progress: SessionEvents {
    guard isQuiet else { return events }
    var events = events
    events.skip(to: quietPlace.sessions.sequence)
    return events
  }

  /// The widget of an event that was sent and not acknowledged.
  func widget(ofEvent sequence: UInt64) -> WidgetID? { events.widget(ofEvent: sequence) }

  /// Owes the provider an answer to its `keep_alive`. The delivery must then look at the session.
  func keepAlive() { owesKeepAlive = true }

  // MARK: - Data requests

  /// The widget of an open data request that was not answered in this turn.
  func widget(ofRequest number: UInt64) -> WidgetID? {
    turn.hasAnswered(number) ? nil : requests.widget(ofRequest: number)
  }

  func answer(_ number: UInt64, about id: WidgetID) { turn.answer(number, about: id) }

  /// Queues a request for fresh data of a widget. The session must be started. The delivery must then
  /// look at the session.
  func refresh(_ id: WidgetID, _ reason: DataRequestReason = .refresh, at instant: NIODeadline) {
    requests.refresh(id, reason, patience: lease.length, at: instant)
  }

  private func ask(aboutWidgetsOf kinds: Set<KindName>, in store: borrowing WidgetStore) {
    // This search finds all widgets of the kinds, so the earlier ones need not.
    for index in searches.indices { searches[index].kinds.subtract(kinds) }
    searches.removeAll { $0.kinds.isEmpty }
    searches.append(
      Search(kinds: kinds, revision: widgets.cursor, sentBefore: requests.sentCount))
    if searches.count == 1 { _ = search(in: store) }
  }

  /// Takes a step of the next search; nil if there is none.
  private func search(in store: borrowing WidgetStore) -> Step? {
    guard let search = searches.first else { return nil }
    let (ids, next) = store.widgetIDs(
      of: search.kinds, createdUpTo: search.revision, from: search.nextSlot,
      slotsMax: ServedSession.slotsPerStep)
    for id in ids where !requests.isOpen(about: id, sentAfter: search.sentBefore) {
      requests.ask(about: id, .providerReturned)
    }
    if let next {
      searches[0].nextSlot = next
    } else {
      searches.removeFirst()
      requests.sync()
    }
    return .again
  }

  // MARK: - Quiet

  /// Makes the session quiet, if it has looked at everything and has nothing to send. Returns whether it
  /// is quiet now.
  func rest(at quiet: QuietSessions) -> Bool {
    isQuiet =
      !owesKeepAlive && requests.isEmpty && searches.isEmpty && widgets.hasToldEverything
      && widgets.cursor >= quiet.revision && events.cursor >= quiet.sequence
    return isQuiet
  }

  /// Ends the quiet: the session continues from the place of the quiet sessions.
  func wake(from quiet: QuietSessions) {
    isQuiet = false
    events.skip(to: quiet.sequence)
    widgets.skip(to: quiet.revision)
  }

  // MARK: - Output

  /// The next output for a provider that can take more.
  enum Step {
    case frame(ProvideResponse)
    case events([Event])
    /// The session has nothing to send now, but must be asked again.
    case again
    /// The session cannot continue.
    case fail(StoreError)
  }

  /// Whether the provider's kinds differ from the kinds that the session knows. O(the provider's
  /// kinds).
  func hasOtherKinds(in store: borrowing WidgetStore) -> Bool {
    guard let provider else { return false }
    return store.kindNames(of: provider) != kinds
      || store.attendedKindNames(of: provider) != widgets.attendedKinds
  }

  /// Takes the provider's kinds after a possible change. Asks about the widgets of new kinds.
  func takeKinds(in store: borrowing WidgetStore) {
    guard let provider else { return }
    let added = widgets.take(
      store.kindNames(of: provider), attended: store.attendedKindNames(of: provider))
    if !added.isEmpty { ask(aboutWidgetsOf: added, in: store) }
  }

  /// The next output; nil if there is none but the audience.
  ///
  /// - Parameter eventsMax: The maximum number of events that are sent and not acknowledged.
  func next(in store: borrowing WidgetStore, eventsMax: Int) -> Step? {
    if owesKeepAlive {
      owesKeepAlive = false
      return .frame(.keepAlive)
    }
    if let step = nextEvents(in: store, room: events.room(of: eventsMax)) { return step }
    if let names = widgets.nextKindRemovals() {
      return .frame(.kindsRemoved(ProvidedKindRemoval(kinds: names)))
    }
    if let ids = widgets.nextRemovals() {
      for id in ids { audience?.forget(id) }
      return .frame(.removed(ProvidedRemoval(widgetIDs: ids)))
    }
    return takeChanges(in: store) ?? nextRequest(in: store)
  }

  private func nextEvents(in store: borrowing WidgetStore, room: Int) -> Step? {
    guard room > 0, events.cursor < store.lastEventSequence else { return nil }
    let page = store.events(after: events.cursor, limit: room, of: kinds)
    // A provider without kinds misses no events.
    if let gap = page.gap, !kinds.isEmpty {
      events.sent(gap)
      return .frame(
        .gap(EventGap(firstSequence: gap.lowerBound, lastSequence: gap.upperBound)))
    }
    events.sent(page)
    return page.events.isEmpty ? nil : .events(page.events)
  }

  private func takeChanges(in store: borrowing WidgetStore) -> Step? {
    guard widgets.cursor < store.revision else { return nil }
    do throws(StoreError) {
      let changes = try store.providedChanges(since: widgets.cursor, of: kinds)
      for id in changes.removed { requests.forget(id) }
      widgets.take(changes.removed, upTo: store.revision)
      for id in changes.created { requests.ask(about: id, .created) }
      for id in changes.reconfigured { requests.ask(about: id, .parametersChanged) }
      return .again
    } catch {
      return .fail(error)
    }
  }

  private func nextRequest(in store: borrowing WidgetStore) -> Step? {
    switch requests.next() {
    case .again: return .again
    case .synced:
      audience?.synced()
      return .frame(.synced(ProvideSynced(revision: store.revision)))
    case .request(let id, let reason):
      guard let kind = store.kind(of: id), kinds.contains(kind), let widget = store.widget(id)
      else { return .again }
      let number = requests.number(requestAbout: id, reason, at: .now())
      return .frame(.dataRequest(DataRequest(id: number, widget: widget, reason: reason)))
    case nil: return search(in: store)
    }
  }

  /// Sends a frame, or ends the session if the frame is too large.
  func send(_ frame: ProvideResponse) { output.send(frame, of: self) }

  /// Ends the session, which cannot continue.
  func fail(_ status: RPCStatus) { output.end(self, status) }

  /// Takes the time of its end with DEADLINE_EXCEEDED, and cancels it if it ends before.
  func end(at deadline: StreamDeadline) { self.deadline = deadline }

  // MARK: - The audience

  /// The time of the next `detached`; nil if there is none.
  var nextDetachment: NIODeadline? { audience?.nextDeadline }

  /// Lets the first frame about the audience wait for a pass that covers the provider's widgets.
  func waitForAudience(ofPass pass: UInt64) { audience?.wait(forPass: pass) }

  /// Whether the provider can be told of its audience.
  func takesAudience(ofPass pass: UInt64) -> Bool { audience?.isReady(pass: pass) ?? false }

  /// Whether the comparison of watched widgets goes on; see `Audience.isUnfinished`.
  var comparesAudience: Bool { audience?.isUnfinished ?? false }

  /// The next frame about the audience; see `Audience.next`.
  func tell(
    of share: WatchedWidgets.Share, isCurrent: Bool, at instant: NIODeadline, linger: TimeAmount,
    bytesMax: Int
  ) -> ProvideAudience? {
    audience?.next(
      share, isCurrent: isCurrent, now: instant, linger: linger, bytesMax: bytesMax)
  }
}

extension ServedSession: TurnParticipant {
  /// Results are sent after the turn's answers; see `Providers.takePart`.
  func flushResponses() {}

  func discardResponses() { turn.rollBack() }
}
