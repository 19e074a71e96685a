import NIOCore
import WidgetCore
import WidgetModel
import WidgetProto

/// Messages about the store, and progress.
extension WatchRounds {
  /// Tells all readers of state that the store takes changes again, or takes none.
  func storeHasChanged() {
    for group in roster.all where group.filter.wantsState {
      for subscription in group.members.all { markReady(subscription) }
    }
  }

  /// Tells a new reader, unless the store takes changes.
  func tellStore(to subscription: Subscription) {
    if storage.failure == nil { knowsStore(subscription) } else { sendStore(to: subscription) }
  }

  /// The reader knows whether the store takes changes.
  func knowsStore(_ subscription: Subscription) { subscription.knowsStore(at: storage.version) }

  /// Whether the next process must tell the reader whether the store takes changes: the reader was
  /// not told the last change, or knows a failure that the next process does not have.
  func lacksStore(_ subscription: Subscription) -> Bool {
    subscription.lacksStore(at: storage.version)
      || subscription.group.filter.wantsState && storage.failure != nil
  }

  func sendStore(to subscription: Subscription) {
    knowsStore(subscription)
    context.counters.countFrames()
    var failure = storage.failure
    // A locked screen must not show paths.
    if subscription.group.filter.isRedacted { failure?.message = "`widgetctl status` shows why" }
    send(WatchWidgetsResponse.store(WatchStore(failure: failure)), to: subscription)
  }

  // MARK: - Progress

  func sendProgress(_ subscription: Subscription) {
    subscription.sentProgress(at: .now())
    context.counters.countFrames()
    send(
      WatchWidgetsResponse.progress(
        WatchProgress(
          revision: sentRevision, resumeToken: frames.token(subscription.group, sentRevision),
          lastSequence: sentSequence)),
      to: subscription)
  }

  func send(_ message: some WireMessage, to subscription: Subscription) {
    if let encoded = context.encode(message) { subscription.sink.send(encoded) }
  }
}
