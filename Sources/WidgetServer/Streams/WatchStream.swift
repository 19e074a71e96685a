import WidgetProto

/// A stream of widgets or events as its transport sees it.
///
/// `WatchStreams` opens, serves and ends subscriptions, and a subscription does not know it.
final class WatchStream: ServedStream {
  private let subscription: Subscription
  private let streams: WatchStreams

  init(_ subscription: Subscription, of streams: WatchStreams) {
    self.subscription = subscription
    self.streams = streams
  }

  var uid: UInt32 { subscription.uid }

  func end(at deadline: StreamDeadline) { subscription.end(at: deadline) }
  func becameWritable() { streams.rounds.becameWritable(subscription) }
  func forget() { streams.forget(subscription) }
  func finish(_ status: RPCStatus?) { streams.finish(subscription, status) }

  func handOver(streamID: UInt32) -> HandedStream {
    var handed = subscription.handOver(
      streamID: streamID, sentRevision: streams.rounds.sentRevision,
      sentSequence: streams.rounds.sentSequence)
    handed.lacksStore = streams.rounds.lacksStore(subscription)
    return handed
  }
}
