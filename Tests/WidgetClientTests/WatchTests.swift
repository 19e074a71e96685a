import NIOCore
import Testing
import WidgetClient
import WidgetTransport

/// Watches against a daemon that the test plays. A watch does nothing until it is read. So the
/// reader runs as a separate task, and puts the frames into a channel for the test.
struct WatchTests {
  private static let opened = WatchOpened(subscriptionID: 1, epoch: 7, revision: 1)
  private static let snapshot = SnapshotChunk(widgets: [.sample("a")])

  /// Never waits, so that tests are fast.
  private static func retry(
    _ clock: InstantClock = InstantClock(), attemptsMax: Int? = nil
  ) -> RetryPolicy {
    RetryPolicy(
      delayInitial: .milliseconds(100), attemptsMax: attemptsMax, jitter: { 0 }, clock: clock)
  }

  /// Seconds without an answer, as a busy machine has them, are no silence of the daemon.
  private static let patient = LivenessPolicy(quietMax: .seconds(3600), answerMax: .seconds(3600))

  private static func options(
    _ clock: InstantClock = InstantClock(), attemptsMax: Int? = nil
  ) -> WatchOptions {
    WatchOptions(retry: retry(clock, attemptsMax: attemptsMax), liveness: patient)
  }

  private static func open(_ call: FakeDaemon.Call, token: UInt8) throws {
    try call.send(WatchWidgetsResponse.opened(opened))
    try call.send(WatchWidgetsResponse.snapshot(snapshot))
    try call.send(WatchWidgetsResponse.synced(WatchSynced(revision: 1, resumeToken: [token])))
  }

  private static func opening(token: UInt8) -> [WatchFrame] {
    [
      .opened(opened), .snapshot(snapshot),
      .synced(WatchSynced(revision: 1, resumeToken: [token])),
    ]
  }

  @Test func `a watch delivers the frames in order and ends when the daemon ends it`()
    async throws
  {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    var calls = daemon.calls
    let reader = Reader(
      client.watch(
        WatchOptions(
          selector: Selector(ids: [.of("a")]), minInterval: .milliseconds(16),
          includeEvents: true, retry: WatchTests.retry(), liveness: WatchTests.patient)))
    let call = try await calls.expect("WatchWidgets")
    #expect(call.isStream)
    #expect(
      try call.decode(WatchWidgetsRequest.self)
        == WatchWidgetsRequest(
          selector: Selector(ids: [.of("a")]), minInterval: .milliseconds(16), includeEvents: true))
    try WatchTests.open(call, token: 1)
    let events = EventBatch(events: [Event(sequence: 3, widgetID: .of("a"), name: "click")])
    try call.send(WatchWidgetsResponse.events(events))
    call.end()
    #expect(try await reader.rest() == WatchTests.opening(token: 1) + [.events(events)])
    try await daemon.stop()
  }

  @Test func `after a lost connection the watch continues after the last frame`() async throws {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    var calls = daemon.calls
    let reader = Reader(client.watch(WatchTests.options()))
    let first = try await calls.expect("WatchWidgets")
    try WatchTests.open(first, token: 5)
    #expect(try await reader.take(3) == WatchTests.opening(token: 5))
    first.closeConnection()
    let second = try await calls.expect("WatchWidgets")
    #expect(second.connection == 2)
    #expect(try second.decode(WatchWidgetsRequest.self).resumeToken == [5])
    try second.send(WatchWidgetsResponse.opened(WatchTests.opened))
    let changes = ChangeSet(
      fromRevision: 1, toRevision: 2, changes: [.removed(.of("a"), nil)], resumeToken: [6])
    try second.send(WatchWidgetsResponse.changes(changes))
    second.end()
    #expect(
      try await reader.rest() == [
        .disconnected(.connectionLost(socketPath: daemon.socketPath)), .reconnected,
        .opened(WatchTests.opened), .changes(changes),
      ])
    try await daemon.stop()
  }

  @Test func `after a successful connection the waits start again at the first`() async throws {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    var calls = daemon.calls
    let clock = InstantClock()
    let reader = Reader(client.watch(WatchTests.options(clock)))
    for _ in 0..<3 {
      let call = try await calls.expect("WatchWidgets")
      try WatchTests.open(call, token: 1)
      call.closeConnection()
    }
    let last = try await calls.expect("WatchWidgets")
    try WatchTests.open(last, token: 1)
    last.end()
    _ = try await reader.rest()
    #expect(clock.sleeps == Array(repeating: .milliseconds(100), count: 3))
    try await daemon.stop()
  }

  @Test(arguments: [
    (StatusCode.outOfRange, "REVISION_COMPACTED", ResetReason.compacted),
    (.failedPrecondition, "EPOCH_CHANGED", .epochChanged),
  ])
  func `if the changes in between are lost the watch starts over with a snapshot`(
    code: StatusCode, reason: String, expected: ResetReason
  ) async throws {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    var calls = daemon.calls
    let clock = InstantClock()
    let reader = Reader(
      client.watch(
        WatchOptions(
          resumeToken: [9], retry: WatchTests.retry(clock), liveness: WatchTests.patient)))
    let first = try await calls.expect("WatchWidgets")
    #expect(try first.decode(WatchWidgetsRequest.self).resumeToken == [9])
    try first.fail(code, reason)
    let second = try await calls.expect("WatchWidgets")
    #expect(try second.decode(WatchWidgetsRequest.self).resumeToken == [])
    try WatchTests.open(second, token: 1)
    second.end()
    #expect(try await reader.rest() == [.reset(expected)] + WatchTests.opening(token: 1))
    #expect(clock.sleeps == [], "there is nothing to wait for")
    try await daemon.stop()
  }

  @Test func `a watch waits for a daemon that does not run yet`() async throws {
    let path = FakeDaemon.freshPath()
    let client = WidgetClient(socketPath: path)
    let clock = InstantClock()
    let reader = Reader(client.watch(WatchTests.options(clock)))
    #expect(
      try await reader.take(1) == [.disconnected(.unavailable(.noSuchFile, socketPath: path))])
    let daemon = try await FakeDaemon(at: path)
    var calls = daemon.calls
    let call = try await calls.expect("WatchWidgets")
    try WatchTests.open(call, token: 1)
    call.end()
    #expect(try await reader.rest() == [.reconnected] + WatchTests.opening(token: 1))
    #expect(clock.sleeps.first == .milliseconds(100))
    #expect(clock.sleeps == clock.sleeps.sorted(), "waits grow")
    try await daemon.stop()
  }

  @Test func `a watch that waits for a daemon is told that the daemon hangs`() async throws {
    let path = FakeDaemon.freshPath()
    let client = WidgetClient(socketPath: path)
    let answerMax = Duration.milliseconds(200)
    let reader = Reader(
      client.watch(
        WatchOptions(
          retry: WatchTests.retry(),
          liveness: LivenessPolicy(quietMax: .seconds(3600), answerMax: answerMax))))
    #expect(
      try await reader.take(1) == [.disconnected(.unavailable(.noSuchFile, socketPath: path))])
    let daemon = try await FakeDaemon(at: path)
    // The second silent attempt is no news.
    #expect(
      try await reader.take(1)
        == [.disconnected(.unresponsive(socketPath: path, answerMax: answerMax))])
    var calls = daemon.calls
    for _ in 0..<2 { try await calls.expect("WatchWidgets").connectionEnded() }
    let answers = Task { [calls] in
      // An answer that comes too late reaches nobody, and another request comes.
      var calls = calls
      while let call = await calls.next() {
        try WatchTests.open(call, token: 1)
        call.end()
      }
    }
    defer { answers.cancel() }
    #expect(try await reader.rest() == [.reconnected] + WatchTests.opening(token: 1))
    try await daemon.stop()
  }

  @Test func `a watch fails after the attempts of its policy`() async throws {
    let path = FakeDaemon.freshPath()
    let client = WidgetClient(socketPath: path)
    let clock = InstantClock()
    let reader = Reader(
      client.watch(WatchTests.options(clock, attemptsMax: 3)))
    let error = ClientError.unavailable(.noSuchFile, socketPath: path)
    #expect(try await reader.take(1) == [.disconnected(error)])
    await #expect(throws: error) { try await reader.rest() }
    #expect(clock.sleeps == [.milliseconds(100), .milliseconds(200), .milliseconds(400)])
  }

  @Test func `a watch waits for the retry delay of the daemon`() async throws {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    var calls = daemon.calls
    let clock = InstantClock()
    let reader = Reader(client.watch(WatchTests.options(clock)))
    try await calls.expect("WatchWidgets").fail(
      .resourceExhausted, "QUOTA_EXCEEDED", retryDelay: .seconds(30))
    let second = try await calls.expect("WatchWidgets")
    try WatchTests.open(second, token: 1)
    second.end()
    #expect(try await reader.rest().count == 5)
    #expect(clock.sleeps == [.seconds(30)])
    try await daemon.stop()
  }

  @Test func `a refusal that a retry cannot solve reaches the reader`() async throws {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    var calls = daemon.calls
    let reader = Reader(client.watch(WatchTests.options()))
    try await calls.expect("WatchWidgets").fail(.invalidArgument, "RESUME_TOKEN_MISMATCH")
    let error = await #expect(throws: ClientError.self) { try await reader.rest() }
    #expect(error?.reason == "RESUME_TOKEN_MISMATCH")
    try await daemon.stop()
  }

  @Test func `a cancelled reader ends its connection`() async throws {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    var calls = daemon.calls
    let reader = Reader(client.watch(WatchTests.options()))
    let call = try await calls.expect("WatchWidgets")
    try WatchTests.open(call, token: 1)
    _ = try await reader.take(3)
    reader.task.cancel()
    await #expect(throws: ClientError.cancelled) { try await reader.rest() }
    try await call.connectionEnded()
    try await daemon.stop()
  }

  @Test func `a reader that stops reading ends its connection`() async throws {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    var calls = daemon.calls
    let task = Task {
      for try await _ in client.watch(WatchTests.options()) { break }
    }
    let call = try await calls.expect("WatchWidgets")
    try WatchTests.open(call, token: 1)
    try await task.value
    try await call.connectionEnded()
    try await daemon.stop()
  }

  @Test func `cancelling a watch that waits to connect ends the wait`() async throws {
    let client = WidgetClient(socketPath: FakeDaemon.freshPath())
    let policy = RetryPolicy(delayInitial: .seconds(3600), delayMax: .seconds(3600))
    let reader = Reader(client.watch(WatchOptions(retry: policy)))
    _ = try await reader.take(1)
    reader.task.cancel()
    await #expect(throws: ClientError.cancelled) { try await reader.rest() }
  }

  @Test func `an unread watch uses no memory, and delays no other calls`()
    async throws
  {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    var frames = client.watch(WatchTests.options()).makeAsyncIterator()
    // Nothing is opened before `next` is called, so the daemon answers in a task of its own.
    let answering = Task {
      var calls = daemon.calls
      let call = try await calls.expect("WatchWidgets")
      try WatchTests.open(call, token: 1)
      return call
    }
    for expected in WatchTests.opening(token: 1) { #expect(try await frames.next() == expected) }
    let call = try await answering.value
    var calls = daemon.calls

    // The daemon sends more than sockets and the reader's buffer hold, a frame at a time.
    let frameCount = 400
    let text = String(repeating: "x", count: 32 << 10)
    let sent = Counter(loop: call.channel.eventLoop)
    for index in 1...frameCount {
      var widget = Widget.sample("a")
      widget.data = ["text": .string(text)]
      let changes = ChangeSet(
        fromRevision: Revision(index), toRevision: Revision(index) + 1,
        changes: [.added(widget, nil)], resumeToken: [UInt8(index & 0xFF)])
      let message = try WireCodec().encode(WatchWidgetsResponse.changes(changes))
      let promise = call.channel.eventLoop.makePromise(of: Void.self)
      promise.futureResult.whenSuccess { sent.increment() }
      call.channel.writeAndFlush(
        FakeDaemon.frame(.data, [], call.streamID, message), promise: promise)
    }

    // While the watch is not read, another call is answered. Its round trips also give the client
    // time for all possible reads.
    for _ in 0..<50 {
      let answer = Task { try await client.getStats() }
      try await calls.expect("GetStats").respond(GetStatsResponse())
      _ = try await answer.value
    }
    let held = try await sent.value()
    #expect(held < frameCount / 2, "the daemon was not held up: \(held) frames were taken")

    // When it is read again, everything comes, in order.
    for index in 1...frameCount {
      guard case .changes(let set) = try await frames.next() else {
        Issue.record("frame \(index) is no change")
        break
      }
      #expect(set.fromRevision == Revision(index))
    }
    #expect(try await sent.value() == frameCount)
    try await daemon.stop()
  }

  @Test func `a mirror fed by a watch survives a restart of the daemon`() async throws {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    var calls = daemon.calls
    let reader = Reader(client.watch(WatchTests.options()))
    let first = try await calls.expect("WatchWidgets")
    try WatchTests.open(first, token: 1)
    first.closeConnection()
    try await calls.expect("WatchWidgets").fail(.failedPrecondition, "EPOCH_CHANGED")
    let third = try await calls.expect("WatchWidgets")
    try third.send(WatchWidgetsResponse.opened(WatchOpened(epoch: 8)))
    try third.send(
      WatchWidgetsResponse.snapshot(SnapshotChunk(widgets: [.sample("b")])))
    try third.send(WatchWidgetsResponse.synced(WatchSynced(revision: 1)))
    third.end()
    var mirror = WidgetMirror()
    var seen: [[WidgetID]] = []
    for frame in try await reader.rest() where try mirror.apply(frame) != nil {
      seen.append(mirror.ids)
    }
    #expect(seen == [[.of("a")], [.of("b")]])
    #expect(mirror.epoch == 8)
    try await daemon.stop()
  }

  @Test func `a watch of events resumes after the last event and reports gaps`() async throws {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    var calls = daemon.calls
    let reader = Reader(
      client.watchEvents(
        WatchEventsOptions(
          names: ["click"], retry: WatchTests.retry(), liveness: WatchTests.patient)))
    let first = try await calls.expect("WatchEvents")
    #expect(try first.decode(WatchEventsRequest.self) == WatchEventsRequest(names: ["click"]))
    let opened = WatchEventsOpened(subscriptionID: 4, afterSequence: 10)
    let events = EventBatch(events: [Event(sequence: 11, widgetID: .of("a"), name: "click")])
    try first.send(WatchEventsResponse.opened(opened))
    try first.send(WatchEventsResponse.events(events))
    #expect(try await reader.take(2) == [.opened(opened), .events(events)])
    first.closeConnection()
    let second = try await calls.expect("WatchEvents")
    #expect(try second.decode(WatchEventsRequest.self).afterSequence == 11)
    let again = WatchEventsOpened(subscriptionID: 5, afterSequence: 11)
    let gap = EventGap(firstSequence: 12, lastSequence: 20)
    try second.send(WatchEventsResponse.opened(again))
    try second.send(WatchEventsResponse.gap(gap))
    second.end()
    #expect(
      try await reader.rest() == [
        .disconnected(.connectionLost(socketPath: daemon.socketPath)), .reconnected,
        .opened(again), .gap(gap),
      ])
    try await daemon.stop()
  }

  @Test func `a daemon that accepts the connection and does not answer counts as away`()
    async throws
  {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    var calls = daemon.calls
    let answerMax = Duration.milliseconds(200)
    let reader = Reader(
      client.watch(
        WatchOptions(
          retry: WatchTests.retry(),
          liveness: LivenessPolicy(quietMax: .seconds(3600), answerMax: answerMax))))
    let first = try await calls.expect("WatchWidgets")
    try await first.connectionEnded()
    let answers = Task { [calls] in
      // An answer that comes too late reaches nobody, and another request comes.
      var calls = calls
      while let call = await calls.next() {
        try call.send(WatchWidgetsResponse.opened(WatchTests.opened))
        call.end()
      }
    }
    defer { answers.cancel() }
    #expect(
      try await reader.rest() == [
        .disconnected(.unresponsive(socketPath: daemon.socketPath, answerMax: answerMax)),
        .reconnected, .opened(WatchTests.opened),
      ])
    try await daemon.stop()
  }

  @Test func `a silent daemon is asked on the same connection, and any answer is one`()
    async throws
  {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    var calls = daemon.calls
    let reader = Reader(
      client.watch(
        WatchOptions(
          retry: WatchTests.retry(),
          liveness: LivenessPolicy(quietMax: .milliseconds(20), answerMax: .seconds(3600)))))
    let first = try await calls.expect("WatchWidgets")
    try WatchTests.open(first, token: 5)
    for _ in 0..<3 {
      let question = try await calls.expect("Check")
      #expect(question.connection == first.connection)
      try question.fail(.unimplemented, "X")
    }
    first.end()
    #expect(try await reader.rest() == WatchTests.opening(token: 5))
    try await daemon.stop()
  }

  @Test func `a silent daemon is asked about events, too`() async throws {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    var calls = daemon.calls
    let reader = Reader(
      client.watchEvents(
        WatchEventsOptions(
          retry: WatchTests.retry(),
          liveness: LivenessPolicy(quietMax: .milliseconds(20), answerMax: .seconds(3600)))))
    let stream = try await calls.expect("WatchEvents")
    try stream.send(WatchEventsResponse.opened(WatchEventsOpened(subscriptionID: 1, epoch: 1)))
    let question = try await calls.expect("Check")
    #expect(question.connection == stream.connection)
    reader.task.cancel()
    try await daemon.stop()
  }

  /// Reads a watch in a task of its own.
  private final class Reader<Frame: Sendable & Equatable>: Sendable {
    let task: Task<Void, any Error>
    private let frames: AsyncThrowingStream<Frame, any Error>

    init(_ watch: some AsyncSequence<Frame, ClientError> & Sendable) {
      let (frames, continuation) = AsyncThrowingStream.makeStream(of: Frame.self)
      self.frames = frames
      task = Task {
        do {
          for try await frame in watch { continuation.yield(frame) }
          continuation.finish()
        } catch {
          continuation.finish(throwing: error)
        }
      }
    }

    /// The next frames.
    func take(_ count: Int) async throws -> [Frame] {
      var result: [Frame] = []
      var iterator = frames.makeAsyncIterator()
      while result.count < count {
        result.append(try #require(try await iterator.next()))
      }
      return result
    }

    /// All frames up to the end of the watch.
    func rest() async throws -> [Frame] {
      var result: [Frame] = []
      for try await frame in frames { result.append(frame) }
      return result
    }
  }

  /// Counts on a loop.
  private final class Counter: Sendable {
    private let count: NIOLoopBoundBox<Int>

    init(loop: any EventLoop) { count = .makeBoxSendingValue(0, eventLoop: loop) }

    func increment() { count.value += 1 }

    func value() async throws -> Int {
      try await count.eventLoop.submit { [count] in count.value }.get()
    }
  }
}
