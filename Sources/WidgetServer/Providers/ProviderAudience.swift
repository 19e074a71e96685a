import NIOCore
import WidgetCore
import WidgetModel
import WidgetProto

/// Tells providers which of their widgets are watched.
///
/// This part costs nothing if no session has set `include_audience`. No timer runs while watches,
/// providers and widgets stay the same.
final class ProviderAudience {
  private let context: ServiceContext
  /// The sessions that have set `include_audience`, by their providers.
  private var sessions: [String: ServedSession] = [:]
  /// The selectors of all streams that count as watchers.
  private var selectors = WatchedSelectors()
  private var watched = WatchedWidgets()
  /// The quiet sessions that the last turn had no time for.
  private var leftOut: [ServedSession] = []
  private var timer: Scheduled<Void>?
  private var timerAt = NIODeadline.uptimeNanoseconds(0)
  /// Whether the providers are to be served again, even if this turn has already served them.
  private(set) var servesAgain = false

  init(_ context: ServiceContext) { self.context = context }

  // MARK: - Watchers, and providers that include the audience

  /// Adds the selector of a new stream that counts as a watcher.
  func watchBegan(_ selector: Selector) {
    selectors.add(selector, in: context.store)
    lookAgain()
  }

  func watchEnded(_ selector: Selector) {
    selectors.remove(selector)
    lookAgain()
  }

  /// Adds a session that has set `include_audience`. It takes the place of the provider's last one.
  func join(_ session: ServedSession, _ provider: String) { sessions[provider] = session }

  /// Removes a provider's session, if it is still the one.
  func leave(_ session: ServedSession, _ provider: String) {
    guard sessions[provider] === session else { return }
    sessions[provider] = nil
    watched.forget(provider, kinds: session.kinds)
  }

  /// Starts a pass for a session that has opened.
  func begin(_ session: ServedSession) {
    guard session.includesAudience else { return }
    session.waitForAudience(ofPass: watched.passesBegun + 1)
    lookAgain()
  }

  /// Invalidates the watched widgets after a change of watches, providers or kinds.
  func lookAgain() {
    guard !sessions.isEmpty else { return }
    watched.invalidate()
    servesAgain = true
    context.turn.open()
  }

  // MARK: - In a turn

  func beginServing() { servesAgain = false }

  /// Updates the watched widgets, if they may have changed.
  func look(at instant: NIODeadline) {
    guard !sessions.isEmpty else {
      watched.clear()
      cancelTimer()
      return
    }
    watched.look(in: context.store, selectors, at: instant) {
      var owners: [KindName: String] = [:]
      for (name, session) in sessions {
        for kind in session.kinds { owners[kind] = name }
      }
      return owners
    }
  }

  /// The changes that a provider does not know; nil if it knows everything. The frame is sent after
  /// all others: the provider has then been asked about each widget in the frame.
  func frame(for session: ServedSession, at instant: NIODeadline) -> ProvideAudience? {
    guard let provider = session.provider, session.takesAudience(ofPass: watched.passesEnded)
    else { return nil }
    // While a pass is pending, the watched widgets may be out of date: send no `detached` then.
    return session.tell(
      of: watched[provider], isCurrent: !watched.isBehind(context.store.revision), at: instant,
      linger: .milliseconds(Int64(context.limits.audienceLingerMilliseconds)),
      bytesMax: context.limits.frameBytesTarget)
  }

  /// Whether the next step for a session only needs another turn.
  func isComparing(for session: ServedSession) -> Bool {
    session.comparesAudience && session.takesAudience(ofPass: watched.passesEnded)
  }

  /// The time that a turn may take to tell quiet sessions.
  private static let tellingMax = TimeAmount.milliseconds(1)

  /// Takes a step for each session that has nothing else to send, as long as there is time. The
  /// others are the first of the next turn. Returns false if there may be another step.
  func tellQuietSessions(at instant: NIODeadline) -> Bool {
    guard !sessions.isEmpty else {
      leftOut = []
      return true
    }
    let slice = context.work.slice(of: ProviderAudience.tellingMax)
    let first = leftOut.filter { isJoined($0) }
    let visited = first + sessions.values.filter { session in !first.contains { $0 === session } }
    leftOut = []
    var isFinished = true
    for (index, session) in visited.enumerated() where session.isQuiet && !session.isOver {
      if !isFinished, slice.isOver {
        leftOut = Array(visited[index...])
        return false
      }
      guard session.sink.isWritable else { continue }
      if let frame = frame(for: session, at: instant) {
        session.send(.audience(frame))
        isFinished = false
      } else if isComparing(for: session) {
        isFinished = false
      }
    }
    return isFinished
  }

  /// Whether the session is the present one of its provider.
  private func isJoined(_ session: ServedSession) -> Bool {
    session.provider.map { sessions[$0] === session } ?? false
  }

  /// Sets the timer for the next pass or the next `detached`.
  func schedule(after instant: NIODeadline) {
    guard !sessions.isEmpty else { return }
    var next: NIODeadline?
    if watched.isBehind(context.store.revision) {
      // The pause leaves time for calls between the parts of a pass.
      next = watched.isInPass ? .now() + WatchedWidgets.pause : watched.nextLookAt
    }
    for session in sessions.values {
      guard let deadline = session.nextDetachment, deadline > instant else { continue }
      next = min(next ?? deadline, deadline)
    }
    guard let next, next < timerAt || timer == nil else { return }
    timer?.cancel()
    timerAt = next
    let pass = context.turn.loopPass?()
    timer = context.schedule(at: next) {
      self.timer = nil
      self.context.turn.open(afterPass: pass)
    }
  }

  func cancelTimer() {
    timer?.cancel()
    timer = nil
  }

  // MARK: - For tests

  /// Whether a pass has begun and not ended.
  var isInPass: Bool { watched.isInPass }
  /// Whether the watched widgets may be out of date, or are being compared.
  var isBehind: Bool {
    watched.isBehind(context.store.revision) || sessions.values.contains { $0.comparesAudience }
  }
  /// Whether this part has never done anything, and nothing is due.
  var isIdle: Bool { watched.passesBegun == 0 && hasNoTimer }
  var hasNoTimer: Bool { timer == nil }
}
