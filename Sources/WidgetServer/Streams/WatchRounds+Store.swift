import NIOCore
import WidgetCore
import WidgetModel
import WidgetProto

/// Messages about the store, and progress.
extension WatchRounds {
  /// Tells all readers of state that the store takes changes again, or takes none. The next rounds
  /// find these readers. A search under way goes on, for the same reason as for a theme.
  func storeHasChanged() {
    guard !roster.isEmpty else { return }
    if storeSearch == nil {
      storeSearch = MemberSearch(roster.all)
    } else {
      storeSearch?.isOutdated = true
    }
    context.turn.open()
  }

  /// Lets readers be told of a change of the store, as long as there is time. Readers that are served
  /// for another reason are told first.
  func searchForStore() {
    guard let search = storeSearch else { return }
    storeSearch = continueSearch(search) { $0.lacksStore(at: storage.version) }
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
