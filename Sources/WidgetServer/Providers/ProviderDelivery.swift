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

  /// The maximum number of steps for one session in one turn.
  private static let stepsMax = 64

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
      for session in sessions where session.isStarted { session.takeKinds(in: context.store) }
      audience.lookAgain()
    }
    audience.look(at: instant)
    for session in Array(sessions) where session.isStarted { serve(session, at: instant) }
  }

  private func serve(_ session: ServedSession, at instant: NIODeadline) {
    let eventsMax = context.limits.providerEventsUnacknowledgedMax
    var steps = 0
    while !session.isOver, session.sink.isWritable {
      steps += 1
      guard steps <= ProviderDelivery.stepsMax else {
        isUnfinished = true
        return
      }
      switch session.next(in: context.store, eventsMax: eventsMax) {
      case .frame(let frame): session.send(frame)
      case .events(let events): for event in events { session.send(.event(event)) }
      case .again: break
      case .fail(let error):
        context.counters.countCompactedReader()
        return session.finish(RPCStatus(error))
      case nil:
        guard let frame = audience.frame(for: session, at: instant) else { return }
        session.send(.audience(frame))
      }
    }
  }
}
