import WidgetProto

/// A watch of widgets, as `WidgetClient.watch` returns it. Nothing happens until it is iterated.
/// Each iteration is a separate watch, on a separate connection.
///
/// It ends only when somebody ends it with `unsubscribe`. It throws when a retry cannot help: the
/// daemon refused the request, the user may not connect, or the retry policy gave up.
public struct Watch: AsyncSequence, Sendable {
  public typealias Element = WatchFrame
  public typealias Failure = ClientError

  let options: WatchOptions
  let client: WidgetClient

  public func makeAsyncIterator() -> Iterator {
    Iterator(
      base: ResumingIterator(WidgetWatchResumption(options), retry: options.retry) {
        [client, options] (request) throws(ClientError) in
        try await client.openStream(
          .watchWidgets, request, metadata: options.metadata, liveness: options.liveness)
      })
  }

  public struct Iterator: AsyncIteratorProtocol {
    public typealias Failure = ClientError

    var base: ResumingIterator<WidgetWatchResumption>

    /// Returns the next frame. Cancelling the task makes it throw `cancelled`.
    public mutating func next() async throws(ClientError) -> WatchFrame? {
      try await base.nextFrame()
    }
  }
}

/// A watch of events, as `WidgetClient.watchEvents` returns it. Otherwise like `Watch`.
public struct EventWatch: AsyncSequence, Sendable {
  public typealias Element = EventFrame
  public typealias Failure = ClientError

  let options: WatchEventsOptions
  let client: WidgetClient

  public func makeAsyncIterator() -> Iterator {
    Iterator(
      base: ResumingIterator(EventWatchResumption(options), retry: options.retry) {
        [client, options] (request) throws(ClientError) in
        try await client.openStream(
          .watchEvents, request, metadata: options.metadata, liveness: options.liveness)
      })
  }

  public struct Iterator: AsyncIteratorProtocol {
    public typealias Failure = ClientError

    var base: ResumingIterator<EventWatchResumption>

    /// Returns the next frame. Cancelling the task makes it throw `cancelled`.
    public mutating func next() async throws(ClientError) -> EventFrame? {
      try await base.nextFrame()
    }
  }
}
