import NIOCore
import WidgetCore
import WidgetModel
import WidgetProto

/// Telling providers which of their widgets somebody watches.
///
/// Only for sessions that asked for it; without one, nothing is looked at, and no timer runs. Nor does one
/// while nobody comes or goes and no widget changes.
extension ServiceLoop {
  /// A stream counts from now on, if it is one of state and not passive.
  func noteWatch(_ subscription: Subscription) {
    guard subscription.counts else { return }
    watchedSelectors.add(subscription.group.filter.selector, in: store)
    lookAtAudienceAgain()
  }

  func forgetWatch(_ subscription: Subscription) {
    guard subscription.counts else { return }
    watchedSelectors.remove(subscription.group.filter.selector)
    lookAtAudienceAgain()
  }

  /// Whether a provider wants to know.
  private var hasAudienceSessions: Bool {
    providers.byName.values.contains { $0.audience != nil && !$0.isOver }
  }

  /// Who watches, or who provides what, has changed.
  func lookAtAudienceAgain() {
    guard hasAudienceSessions else { return }
    watched.invalidate()
    // Also if this turn has served the providers already.
    providers.hasMore = true
    openTurn()
  }

  /// A session that asked for it has opened.
  func beginAudience(of session: ProviderSession) {
    guard session.audience != nil else { return }
    session.firstPass = watched.passesBegun + 1
    lookAtAudienceAgain()
  }

  /// Looks at who is watched, if that may have changed.
  func lookAtAudience(at instant: NIODeadline) {
    guard hasAudienceSessions else {
      watched.clear()
      audienceTimer?.cancel()
      audienceTimer = nil
      return
    }
    watched.look(in: store, watchedSelectors, at: instant) {
      var owners: [KindName: String] = [:]
      for (name, session) in providers.byName where session.audience != nil {
        for kind in session.kinds { owners[kind] = name }
      }
      return owners
    }
  }

  /// Sends what is different from what was told. Comes last of all that a session is sent, so a widget that
  /// is named has been asked about.
  func sendAudience(to session: ProviderSession, at instant: NIODeadline) -> Bool {
    guard session.hasSynced, let provider = session.provider, let audience = session.audience,
      watched.passesEnded >= session.firstPass
    else { return false }
    let share = watched[provider]
    let isFirst = session.toldVersion == nil
    // While it is not known who is watched now, nobody is said to be gone because of the time.
    let isTime = audience.nextDeadline.map { $0 <= instant } ?? false
    guard
      isFirst || session.toldVersion != share.version
        || (isTime && !watched.isBehind(store.revision))
    else { return false }
    let update =
      session.audience?.update(
        watched: share.ids, now: instant,
        linger: .milliseconds(Int64(limits.audienceLingerMilliseconds)),
        bytesMax: limits.frameBytesTarget) ?? .init()
    // What did not fit is another difference.
    session.toldVersion = update.hasMore ? .max : share.version
    guard isFirst || !update.isEmpty else { return false }
    send(
      .audience(ProvideAudience(attached: update.attached, detached: update.detached)),
      to: session)
    return true
  }

  /// Sets the timer for the next look, or for the next widget that nobody has come back to.
  func scheduleAudience(after instant: NIODeadline) {
    guard hasAudienceSessions else { return }
    var next: NIODeadline?
    if watched.isBehind(store.revision) {
      // What is due at once would run before anything is read: a pass leaves time for that.
      next = watched.isInPass ? .now() + WatchedWidgets.pause : watched.nextLookAt
    }
    for session in providers.byName.values {
      guard let deadline = session.audience?.nextDeadline, deadline > instant else { continue }
      next = min(next ?? deadline, deadline)
    }
    guard let next, next < audienceTimerAt || audienceTimer == nil else { return }
    audienceTimer?.cancel()
    audienceTimerAt = next
    audienceTimer = eventLoop.assumeIsolated().scheduleTask(deadline: next) {
      self.audienceTimer = nil
      self.openTurn()
    }
  }
}

extension Subscription {
  /// Whether its reader is somebody who watches.
  fileprivate var counts: Bool { group.filter.wantsState && !isPassive }
}
