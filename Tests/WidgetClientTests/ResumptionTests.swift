import Testing

@testable import WidgetClient

/// The memory and the decisions of a watch, as values.
@Suite struct ResumptionTests {
  private static func status(_ code: StatusCode, _ reason: String, retry: Duration? = nil)
    -> ClientError
  {
    .status(RPCStatus(code: code, errorInfo: ErrorInfo(reason: reason), retryDelay: retry))
  }

  private static func watch(
    _ options: WatchOptions = WatchOptions(), after messages: [WatchWidgetsResponse] = []
  ) throws -> WidgetWatchResumption {
    var watch = WidgetWatchResumption(options)
    watch.willOpen()
    let opened = WatchOpened(lastSequence: options.afterSequence ?? 2)
    for message in [.opened(opened)] + messages { _ = try watch.receive(message) }
    return watch
  }

  /// The token with which a watch resumes after these frames.
  @Test(
    arguments: [
      ([], []),
      ([.snapshot(SnapshotChunk())], []),
      ([.synced(WatchSynced(revision: 1, resumeToken: [1]))], [1]),
      (
        [
          .synced(WatchSynced(revision: 1, resumeToken: [1])),
          .changes(ChangeSet(fromRevision: 1, toRevision: 2, resumeToken: [2])),
        ], [2]
      ),
      (
        [
          .synced(WatchSynced(revision: 1, resumeToken: [1])),
          .changes(ChangeSet(fromRevision: 1, more: true)),
        ], [1]
      ),
      (
        [
          .synced(WatchSynced(revision: 1, resumeToken: [1])),
          .progress(WatchProgress(revision: 5, resumeToken: [5])),
          .progress(WatchProgress(revision: 6)), .unknown,
        ], [5]
      ),
    ] as [([WatchWidgetsResponse], [UInt8])])
  func `a watch resumes after the last whole frame`(
    messages: [WatchWidgetsResponse], token: [UInt8]
  ) throws {
    #expect(try ResumptionTests.watch(after: messages).request.resumeToken == token)
  }

  @Test func `events are requested from the daemon's first event`() throws {
    let options = WatchOptions(includeEvents: true)
    #expect(try ResumptionTests.watch(options).request.afterSequence == 2)
    #expect(try ResumptionTests.watch().request.afterSequence == nil)
  }

  @Test func `events are not requested twice`() throws {
    let events = EventBatch(
      events: [4, 6].map { Event(sequence: $0, widgetID: .of("a"), name: "e") })
    let messages: [WatchWidgetsResponse] = [.events(events)]
    var options = WatchOptions(includeEvents: true, afterSequence: 3)
    #expect(try ResumptionTests.watch(options).request.afterSequence == 3)
    #expect(try ResumptionTests.watch(options, after: messages).request.afterSequence == 6)
    let gap: [WatchWidgetsResponse] = [.gap(EventGap(firstSequence: 4, lastSequence: 9))]
    #expect(try ResumptionTests.watch(options, after: gap).request.afterSequence == 9)
    options.includeEvents = false
    #expect(try ResumptionTests.watch(options, after: messages).request.afterSequence == nil)
  }

  @Test(arguments: [
    ("REVISION_COMPACTED", ResetReason.compacted), ("EPOCH_CHANGED", .epochChanged),
  ])
  func `an invalid token is dropped and the watch starts over`(
    reason: String, expected: ResetReason
  ) throws {
    var watch = WidgetWatchResumption(
      WatchOptions(includeEvents: true, afterSequence: 8, resumeToken: [1, 2]))
    watch.willOpen()
    let recovery = watch.recover(from: ResumptionTests.status(.outOfRange, reason))
    #expect(recovery == .restart(.reset(expected)))
    #expect(watch.request.resumeToken == [])
    #expect(watch.request.afterSequence == (expected == .epochChanged ? 0 : 8))
  }

  @Test func `a watch that is told REVISION_COMPACTED starts over`() throws {
    var watch = try ResumptionTests.watch(after: [.snapshot(SnapshotChunk())])
    let error = ResumptionTests.status(.outOfRange, "REVISION_COMPACTED")
    #expect(watch.recover(from: error) == .restart(.reset(.compacted)))
  }

  @Test func `a watch without a token that is told REVISION_COMPACTED fails`() {
    var watch = WidgetWatchResumption(WatchOptions())
    watch.willOpen()
    let error = ResumptionTests.status(.outOfRange, "REVISION_COMPACTED")
    #expect(watch.recover(from: error) == .fail)
  }

  /// The errors that are retried, and those that are final.
  @Test(
    arguments: [
      (.connectionLost(socketPath: "/s"), .retry(least: .zero)),
      (.unresponsive(socketPath: "/s", answerMax: .seconds(5)), .retry(least: .zero)),
      (.unavailable(.noSuchFile, socketPath: "/s"), .retry(least: .zero)),
      (.unavailable(.refused, socketPath: "/s"), .retry(least: .zero)),
      (.unavailable(.backlogFull, socketPath: "/s"), .retry(least: .zero)),
      (.unavailable(.permissionDenied, socketPath: "/s"), .fail),
      (.unavailable(.pathTooLong, socketPath: "/s"), .fail),
      (status(.unavailable, "STORAGE_FAILED"), .retry(least: .zero)),
      (
        status(.resourceExhausted, "QUOTA_EXCEEDED", retry: .seconds(3)),
        .retry(least: .seconds(3))
      ),
      (status(.unavailable, "X", retry: .seconds(-3)), .retry(least: .zero)),
      (status(.invalidArgument, "RESUME_TOKEN_MISMATCH"), .fail),
      (status(.permissionDenied, "X"), .fail),
      (status(.unimplemented, "X"), .fail),
      (.cancelled, .fail),
      (.closed, .fail),
      (.protocolViolation("x"), .fail),
      (.wire(.tooDeep(limit: 64)), .fail),
    ] as [(ClientError, Recovery<WatchFrame>)])
  func `a temporary error is retried`(
    error: ClientError, expected: Recovery<WatchFrame>
  ) throws {
    var watch = try ResumptionTests.watch(WatchOptions(resumeToken: [1]))
    #expect(watch.recover(from: error) == expected)
    #expect(watch.request.resumeToken == [1])
  }

  @Test func `a stream must begin with opened, and only once`() throws {
    var watch = WidgetWatchResumption(WatchOptions())
    watch.willOpen()
    #expect(throws: ClientError.self) { try watch.receive(.synced(WatchSynced())) }
    _ = try watch.receive(.opened(WatchOpened()))
    #expect(throws: ClientError.self) { try watch.receive(.opened(WatchOpened())) }
    watch.willOpen()
    _ = try watch.receive(.opened(WatchOpened()))
    var events = EventWatchResumption(WatchEventsOptions())
    events.willOpen()
    #expect(throws: ClientError.self) { try events.receive(.gap(EventGap())) }
    _ = try events.receive(.opened(WatchEventsOpened()))
    #expect(throws: ClientError.self) { try events.receive(.opened(WatchEventsOpened())) }
  }

  @Test func `a watch of events resumes after the last event, or where it was opened`() throws {
    var watch = EventWatchResumption(WatchEventsOptions(names: ["click"]))
    #expect(watch.request.afterSequence == nil)
    watch.willOpen()
    _ = try watch.receive(.opened(WatchEventsOpened(subscriptionID: 1, afterSequence: 10)))
    #expect(watch.request.afterSequence == 10)
    _ = try watch.receive(
      .events(EventBatch(events: [Event(sequence: 12, widgetID: .of("a"), name: "click")])))
    #expect(watch.request.afterSequence == 12)
    _ = try watch.receive(.gap(EventGap(firstSequence: 13, lastSequence: 20)))
    #expect(watch.request.afterSequence == 20)
    #expect(watch.request.names == ["click"])
  }
}
