import NIOCore
import WidgetCore
import WidgetModel
import WidgetProto

/// Tells providers which of their widgets are watched.
///
/// Costs nothing if no session has set `include_audience`. No timer runs while watches, providers
/// and widgets stay the same.
extension ServiceLoop {
  /// Adds the selector of a new stream, if the stream counts as a watcher.
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

  /// Whether a session has set `include_audience`.
  private var hasAudienceSessions: Bool {
    providers.byName.values.contains { $0.audience != nil && !$0.isOver }
  }

  /// Invalidates the watched widgets after a change of watches or providers.
  func lookAtAudienceAgain() {
    guard hasAudienceSessions else { return }
    watched.invalidate()
    // Serve the providers again, even if this turn has already served them.
    providers.hasMore = true
    openTurn()
  }

  /// Starts a pass for a new session that has set `include_audience`.
  func beginAudience(of session: ProviderSession) {
    guard session.audience != nil else { return }
    session.firstPass = watched.passesBegun + 1
    lookAtAudienceAgain()
  }

  /// Updates the watched widgets, if they may have changed.
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

  /// Sends the difference to what the provider knows. It comes after all other frames: the provider
  /// has then been asked about each widget that the frame names.
  func sendAudience(to session: ProviderSession, at instant: NIODeadline) -> Bool {
    guard session.hasSynced, let provider = session.provider, let audience = session.audience,
      watched.passesEnded >= session.firstPass
    else { return false }
    let share = watched[provider]
    let isFirst = session.toldVersion == nil
    // While a pass is pending, the watched widgets may be out of date: send no `detached` then.
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
    // No share has this version, so the next call sends the rest.
    session.toldVersion = update.hasMore ? .max : share.version
    guard isFirst || !update.isEmpty else { return false }
    send(
      .audience(ProvideAudience(attached: update.attached, detached: update.detached)),
      to: session)
    return true
  }

  /// Sets the timer for the next pass or the next `detached`.
  func scheduleAudience(after instant: NIODeadline) {
    guard hasAudienceSessions else { return }
    var next: NIODeadline?
    if watched.isBehind(store.revision) {
      // A timer that is due at once would run before any read: the pause lets the loop read.
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
  /// Whether the stream counts as a watcher: it carries state and is not passive.
  fileprivate var counts: Bool { group.filter.wantsState && !isPassive }
}
