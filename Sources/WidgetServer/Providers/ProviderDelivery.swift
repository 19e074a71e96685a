import NIOCore
import WidgetCore
import WidgetModel
import WidgetProto

/// The place of all sessions that have nothing to send: they have looked at everything up to it.
///
/// So a change costs nothing for the providers that it does not concern.
struct QuietSessions: Equatable {
  var revision: Revision
  var sequence: UInt64
}

/// The place of the quiet sessions now. The delivery moves it, and the sessions read it.
final class QuietPlace {
  fileprivate(set) var sessions: QuietSessions

  fileprivate init(_ sessions: QuietSessions) { self.sessions = sessions }
}

/// Sends providers events and questions about widgets, as long as they take them.
///
/// Invariant: each started session that does not end is quiet, or it is once in `attended`. No other session
/// is there after `serve`.
final class ProviderDelivery {
  private let context: ServiceContext
  private let audience: ProviderAudience
  /// The version of the kinds that the sessions know.
  private var kindsVersion: UInt64 = 0
  private var isUnfinished = false
  /// The sessions that are not quiet.
  private var attended: [ServedSession] = []
  /// The lowest revision of the sessions that the last turn had no time for; nil if there were none.
  private var leftOutRevision: Revision?
  let quietPlace: QuietPlace
  private var quiet: QuietSessions { quietPlace.sessions }

  /// The maximum number of steps for one session in one turn.
  private static let stepsMax = 64
  /// The time that a turn may take to serve all sessions.
  static let servingMax = TimeAmount.milliseconds(2)

  init(_ context: ServiceContext, audience: ProviderAudience) {
    self.context = context
    self.audience = audience
    quietPlace = QuietPlace(
      QuietSessions(
        revision: context.store.revision, sequence: context.store.lastEventSequence))
  }

  /// Whether a session could be given more.
  var hasMore: Bool { isUnfinished || audience.servesAgain }

  /// The store keeps all removals after this revision for sessions that wait for their turn, unless
  /// it has too many.
  var retainedRevision: Revision {
    let isFull =
      context.store.removalCount / PostponedReaders.removalsFactor
      > context.limits.store.tombstonesMax
    return isFull ? .max : leftOutRevision ?? .max
  }

  /// Looks at a session that has started, from the next turn's end on.
  func begin(_ session: ServedSession) {
    if !session.isEnding { attended.append(session) }
  }

  /// Looks at a session again until it is quiet.
  func attend(_ session: ServedSession) {
    guard session.isQuiet, !session.isEnding else { return }
    session.wake(from: quiet)
    attended.append(session)
  }

  /// Forgets a session that is over.
  func forget(_ session: ServedSession) { attended.removeAll { $0 === session } }

  /// The number of sessions that are not quiet, for tests.
  var attendedCount: Int { attended.count }

  /// Serves the sessions that this turn concerns. Call when the turn's group is durable.
  func serve(_ sessions: [String: ServedSession], at instant: NIODeadline) {
    isUnfinished = false
    leftOutRevision = nil
    let present = QuietSessions(
      revision: context.store.revision, sequence: context.store.lastEventSequence)
    audience.beginServing()
    defer {
      quietPlace.sessions = present
      audience.schedule(after: instant)
    }
    guard !sessions.isEmpty else { return audience.look(at: instant) }
    if kindsVersion != context.kindsVersion {
      kindsVersion = context.kindsVersion
      for session in sessions.values
      where session.isStarted && session.hasOtherKinds(in: context.store) {
        attend(session)
        session.takeKinds(in: context.store)
      }
      audience.lookAgain()
    }
    audience.look(at: instant)
    attendAffected(sessions, until: present)
    serveAttended(until: present, at: instant)
    if isUnfinished {
      leftOutRevision = attended.lazy.filter { $0.sink.isWritable }.map(\.revision).min()
    }
    if !audience.tellQuietSessions(at: instant) { isUnfinished = true }
  }

  /// Serves the sessions that are not quiet, as long as there is time. The others are the first of
  /// the next turn.
  private func serveAttended(until present: QuietSessions, at instant: NIODeadline) {
    let visited = attended
    attended = []
    let slice = context.work.slice(of: ProviderDelivery.servingMax)
    for (index, session) in visited.enumerated() where !session.isEnding {
      if index > 0, slice.isOver {
        attended = visited[index...].filter { !$0.isEnding } + attended
        isUnfinished = true
        return
      }
      serve(session, slice, at: instant)
      if !session.isOver, !session.rest(at: present) { attended.append(session) }
    }
  }

  /// Attends to the sessions whose widgets had changes or events since the last turn.
  private func attendAffected(_ sessions: [String: ServedSession], until present: QuietSessions) {
    guard quiet != present else { return }
    guard let changed = context.store.kindsWithProvidedChanges(since: quiet.revision),
      let happened = context.store.kindsOfEvents(after: quiet.sequence)
    else {
      for session in sessions.values { attend(session) }
      return
    }
    for kind in changed.union(happened) {
      guard let provider = context.store.provider(of: kind), let session = sessions[provider]
      else { continue }
      attend(session)
    }
  }

  private func serve(_ session: ServedSession, _ slice: TimeSlice, at instant: NIODeadline) {
    let eventsMax = context.limits.providerEventsUnacknowledgedMax
    var steps = 0
    while !session.isOver, session.sink.isWritable {
      steps += 1
      guard steps <= ProviderDelivery.stepsMax, steps == 1 || !slice.isOver else {
        isUnfinished = true
        return
      }
      switch session.next(in: context.store, eventsMax: eventsMax) {
      case .frame(let frame): session.send(frame)
      case .events(let events): for event in events { session.send(.event(event)) }
      case .again: break
      case .fail(let error):
        context.counters.countCompactedReader()
        return session.fail(RPCStatus(error))
      case nil:
        guard let frame = audience.frame(for: session, at: instant) else {
          // A session that waits for acknowledgements does not become quiet.
          if audience.isComparing(for: session) { isUnfinished = true }
          return
        }
        session.send(.audience(frame))
      }
    }
  }
}
