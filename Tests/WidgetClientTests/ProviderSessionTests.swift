import Testing
import WidgetClient

/// Sessions of providers, against a daemon that the test plays.
struct ProviderSessionTests {
  private static func gauge() throws -> Kind {
    Kind(name: try #require(KindName("gauge")), data: [Field(name: "load", type: .double)])
  }

  private static func opened(
    epoch: UInt64 = 7, lease: Duration = .seconds(60), firstSequence: UInt64 = 1
  ) -> ProvideOpened {
    ProvideOpened(
      sessionID: 1, epoch: epoch, revision: 3, lease: lease, firstSequence: firstSequence)
  }

  /// Seconds without an answer, as a busy machine has them, are no silence of the daemon.
  private static func options(
    _ clock: InstantClock = InstantClock(), attemptsMax: Int? = nil, takesOver: Bool = false
  ) -> ProviderOptions {
    ProviderOptions(
      takesOver: takesOver,
      retry: RetryPolicy(attemptsMax: attemptsMax, jitter: { 0 }, clock: clock),
      liveness: LivenessPolicy(quietMax: .seconds(3600), answerMax: .seconds(3600)))
  }

  /// Lets a session begin, and declare its kinds.
  private static func begin(
    _ calls: inout AsyncStream<FakeDaemon.Call>.Iterator, epoch: UInt64 = 7,
    firstSequence: UInt64 = 1
  ) async throws -> (call: FakeDaemon.Call, open: ProvideOpen) {
    let call = try await calls.expect("Provide")
    guard case .open(let open) = try call.decode(ProvideRequest.self) else {
      throw Unexpected("no open")
    }
    try call.send(ProvideResponse.opened(opened(epoch: epoch, firstSequence: firstSequence)))
    guard case .kinds(let kinds) = try await calls.message(ProvideRequest.self) else {
      throw Unexpected("no kinds")
    }
    #expect(kinds.kinds == [try gauge()])
    try call.send(
      ProvideResponse.result(
        ProvideResult(
          id: kinds.id, revision: 4, kinds: [KindResult(name: gauge().name, action: .created)])))
    return (call, open)
  }

  private static func event(_ sequence: UInt64) -> Event {
    Event(sequence: sequence, widgetID: .of("a"), name: "click")
  }

  @Test func `a session opens, declares its kinds, and then changes widgets`() async throws {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    var calls = daemon.calls
    let session = client.provide("desk", kinds: [try Self.gauge()], options: Self.options())
    let patch = WidgetPatch(setData: ["load": .double(1)])
    async let revision = session.update(.of("a"), patch)
    let (call, open) = try await Self.begin(&calls)
    #expect(open == ProvideOpen(provider: "desk"))
    guard case .update(let update) = try await calls.message(ProvideRequest.self) else {
      throw Unexpected("no update")
    }
    #expect(update.updates == [ProvidedUpdate(.of("a"), patch)])
    try call.send(ProvideResponse.result(ProvideResult(id: update.id, revision: 9)))
    #expect(try await revision == 9)
    var requests = session.requests.makeAsyncIterator()
    #expect(try await requests.next() == .connected(Self.opened()))
    await session.close()
    #expect(try await requests.next() == nil)
    await #expect(throws: ClientError.closed) { try await session.update([]) }
    try await call.connectionEnded()
    try await daemon.stop()
  }

  @Test func `a refused update names the widget, and the session goes on`() async throws {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    var calls = daemon.calls
    let session = client.provide("desk", kinds: [try Self.gauge()], options: Self.options())
    let (call, _) = try await Self.begin(&calls)
    let status = RPCStatus(
      code: .notFound, message: "no",
      errorInfo: ErrorInfo(reason: "WIDGET_NOT_FOUND", metadata: ["widget_id": "b"]))
    for _ in 0..<2 {
      async let update = Self.failure { try await session.update([ProvidedUpdate(.of("b"))]) }
      guard case .update(let frame) = try await calls.message(ProvideRequest.self) else {
        throw Unexpected("no update")
      }
      try call.send(ProvideResponse.result(ProvideResult(id: frame.id, error: status)))
      #expect(await update == .status(status))
    }
    await session.close()
    try await daemon.stop()
  }

  @Test func `after a lost connection a session resumes after the acknowledged event`() async throws
  {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    var calls = daemon.calls
    let clock = InstantClock()
    let session = client.provide("desk", kinds: [try Self.gauge()], options: Self.options(clock))
    var requests = session.requests.makeAsyncIterator()
    let (first, _) = try await Self.begin(&calls)
    for sequence: UInt64 in [4, 5, 6] {
      try first.send(ProvideResponse.event(Self.event(sequence)))
    }
    #expect(try await requests.next() == .connected(Self.opened()))
    #expect(try await requests.next() == .event(Self.event(4)))
    #expect(try await requests.next() == .event(Self.event(5)))
    async let acknowledged: Void = session.acknowledge(Self.event(4))
    guard case .acknowledge(let frame) = try await calls.message(ProvideRequest.self) else {
      throw Unexpected("no acknowledgement")
    }
    #expect(frame.sequence == 4)
    try first.send(ProvideResponse.result(ProvideResult(id: frame.id)))
    try await acknowledged
    // A change is under way when the connection is lost.
    async let lost = Self.failure { try await session.update([]) }
    _ = try await calls.message(ProvideRequest.self)
    first.closeConnection()
    let loss = ClientError.connectionLost(socketPath: daemon.socketPath)
    #expect(await lost == loss)
    // Event 6 was not read; it comes again.
    #expect(try await requests.next() == .disconnected(loss))
    // The event is acknowledged before a session is open.
    let call = try await calls.expect("Provide")
    guard case .open(let open) = try call.decode(ProvideRequest.self) else {
      throw Unexpected("no open")
    }
    #expect(open.acknowledgedSequence == 4)
    #expect(open.epoch == 7)
    #expect(!open.takeOver)
    try await session.acknowledge(Self.event(5))
    try call.send(ProvideResponse.opened(Self.opened()))
    _ = try await calls.message(ProvideRequest.self)
    try call.send(ProvideResponse.event(Self.event(5)))
    try call.send(ProvideResponse.event(Self.event(6)))
    // An acknowledged event is not delivered again.
    guard case .acknowledge(let again) = try await calls.message(ProvideRequest.self) else {
      throw Unexpected("no acknowledgement")
    }
    #expect(again.sequence == 5)
    #expect(try await requests.next() == .connected(Self.opened()))
    #expect(try await requests.next() == .event(Self.event(6)))
    await session.close()
    try await daemon.stop()
  }

  @Test func `the error of an event is sent when the event comes again`() async throws {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    var calls = daemon.calls
    let session = client.provide("desk", kinds: [try Self.gauge()], options: Self.options())
    var requests = session.requests.makeAsyncIterator()
    let error = WidgetError(reason: "BROKEN", message: "")
    let (first, _) = try await Self.begin(&calls)
    try first.send(ProvideResponse.event(Self.event(5)))
    _ = try await requests.next()
    #expect(try await requests.next() == .event(Self.event(5)))
    first.closeConnection()
    guard case .disconnected? = try await requests.next() else { throw Unexpected("no loss") }
    try await session.acknowledge(Self.event(5), error: error)
    let (call, open) = try await Self.begin(&calls)
    #expect((open.acknowledgedSequence ?? 4) == 4)
    try call.send(ProvideResponse.event(Self.event(5)))
    guard case .acknowledge(let frame) = try await calls.message(ProvideRequest.self) else {
      throw Unexpected("no acknowledgement")
    }
    #expect(frame == ProvideAcknowledge(sequence: 5, error: error))
    await session.close()
    try await daemon.stop()
  }

  @Test func `a session that loses its connection before its first event misses no event`()
    async throws
  {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    var calls = daemon.calls
    let session = client.provide("desk", kinds: [try Self.gauge()], options: Self.options())
    var requests = session.requests.makeAsyncIterator()
    let (first, open) = try await Self.begin(&calls, firstSequence: 30)
    #expect(open.acknowledgedSequence == nil)
    _ = try await requests.next()
    first.closeConnection()
    guard case .disconnected? = try await requests.next() else { throw Unexpected("no loss") }
    let (second, again) = try await Self.begin(&calls, firstSequence: 30)
    #expect(again.acknowledgedSequence == 29)
    #expect(again.epoch == 7)
    second.closeConnection()
    // No number of another epoch is known.
    _ = try await requests.next()
    guard case .disconnected? = try await requests.next() else { throw Unexpected("no loss") }
    let (third, _) = try await Self.begin(&calls, epoch: 8, firstSequence: 3)
    third.closeConnection()
    let (_, last) = try await Self.begin(&calls, epoch: 8, firstSequence: 3)
    #expect(last.acknowledgedSequence == 2)
    await session.close()
    try await daemon.stop()
  }

  @Test func `an event of another epoch does not count as one of this epoch`() async throws {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    var calls = daemon.calls
    let session = client.provide("desk", kinds: [try Self.gauge()], options: Self.options())
    var requests = session.requests.makeAsyncIterator()
    let (first, _) = try await Self.begin(&calls)
    try first.send(ProvideResponse.event(Self.event(20)))
    _ = try await requests.next()
    #expect(try await requests.next() == .event(Self.event(20)))
    first.closeConnection()
    guard case .disconnected? = try await requests.next() else { throw Unexpected("no loss") }
    let (second, _) = try await Self.begin(&calls, epoch: 8)
    #expect(try await requests.next() == .connected(Self.opened(epoch: 8)))
    // The program acknowledges it only now, when numbers begin at 1 again.
    try await session.acknowledge(Self.event(20))
    try second.send(ProvideResponse.event(Self.event(5)))
    #expect(try await requests.next() == .event(Self.event(5)))
    await session.close()
    try await daemon.stop()
  }

  @Test func `a data request of a session that has ended cannot be answered`() async throws {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    var calls = daemon.calls
    let session = client.provide("desk", kinds: [try Self.gauge()], options: Self.options())
    var requests = session.requests.makeAsyncIterator()
    let (first, _) = try await Self.begin(&calls)
    let asked = ProvideResponse.dataRequest(
      DataRequest(id: 1, widget: .sample("a"), reason: .providerReturned))
    try first.send(asked)
    _ = try await requests.next()
    guard case .dataRequest(let old)? = try await requests.next() else {
      throw Unexpected("no data request")
    }
    first.closeConnection()
    let (second, _) = try await Self.begin(&calls)
    try second.send(asked)
    _ = try await requests.next()
    _ = try await requests.next()
    guard case .dataRequest(let new)? = try await requests.next() else {
      throw Unexpected("no data request")
    }
    let failure = await Self.failure { try await session.answer(old, with: WidgetPatch()) }
    #expect(failure?.reason == "DATA_REQUEST_NOT_FOUND")
    async let revision = session.answer(new, with: WidgetPatch(isStale: false))
    guard case .answer(let answer) = try await calls.message(ProvideRequest.self) else {
      throw Unexpected("no answer")
    }
    #expect(answer.dataRequestID == 1)
    #expect(answer.outcome == .patch(WidgetPatch(isStale: false)))
    try second.send(ProvideResponse.result(ProvideResult(id: answer.id, revision: 5)))
    #expect(try await revision == 5)
    await session.close()
    try await daemon.stop()
  }

  @Test func `only the last data request about a widget waits to be read`()
    async throws
  {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    var calls = daemon.calls
    let session = client.provide("desk", kinds: [try Self.gauge()], options: Self.options())
    let (call, _) = try await Self.begin(&calls)
    for id: UInt64 in 1...3 {
      try call.send(
        ProvideResponse.dataRequest(
          DataRequest(id: id, widget: .sample("a"), reason: .parametersChanged)))
    }
    try call.send(
      ProvideResponse.dataRequest(
        DataRequest(id: 4, widget: .sample("b"), reason: .parametersChanged)))
    try call.send(ProvideResponse.removed(ProvidedRemoval(widgetIDs: [.of("b")])))
    try call.send(ProvideResponse.synced(ProvideSynced(revision: 8)))
    // All requests have come when this frame has its result.
    async let settled = session.update([])
    guard case .update(let frame) = try await calls.message(ProvideRequest.self) else {
      throw Unexpected("no update")
    }
    try call.send(ProvideResponse.result(ProvideResult(id: frame.id)))
    _ = try await settled
    var requests = session.requests.makeAsyncIterator()
    _ = try await requests.next()
    guard case .dataRequest? = try await requests.next() else {
      throw Unexpected("no data request")
    }
    #expect(try await requests.next() == .removed([.of("b")]))
    #expect(try await requests.next() == .synced(8))
    await session.close()
    try await daemon.stop()
  }

  @Test func `the lease is kept alive`() async throws {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    var calls = daemon.calls
    let session = client.provide("desk", kinds: [], options: Self.options())
    let call = try await calls.expect("Provide")
    try call.send(ProvideResponse.opened(Self.opened(lease: .milliseconds(30))))
    for _ in 0..<2 { #expect(try await calls.message(ProvideRequest.self) == .keepAlive) }
    await session.close()
    try await daemon.stop()
  }

  @Test(arguments: [
    (StatusCode.aborted, "PROVIDER_REPLACED"), (.permissionDenied, "PERMISSION_DENIED"),
    (.alreadyExists, "PROVIDER_ACTIVE"), (.invalidArgument, "INVALID_REQUEST"),
  ])
  func `an error that a retry cannot help ends the session`(
    code: StatusCode, reason: String
  ) async throws {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    var calls = daemon.calls
    let session = client.provide("desk", kinds: [], options: Self.options(takesOver: true))
    let call = try await calls.expect("Provide")
    guard case .open(let open) = try call.decode(ProvideRequest.self) else {
      throw Unexpected("no open")
    }
    #expect(open.takeOver)
    try call.fail(code, reason)
    let failure = await Self.failure {
      for try await request in session.requests { throw Unexpected("\(request)") }
    }
    #expect(failure?.reason == reason)
    #expect(await Self.failure { try await session.update([]) }?.reason == reason)
    await session.close()
    try await daemon.stop()
  }

  @Test func `a name that is still taken after a loss is waited for`() async throws {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    var calls = daemon.calls
    let session = client.provide("desk", kinds: [try Self.gauge()], options: Self.options())
    let (first, _) = try await Self.begin(&calls)
    try first.fail(.deadlineExceeded, "LEASE_EXPIRED")
    try await calls.expect("Provide").fail(.alreadyExists, "PROVIDER_ACTIVE")
    _ = try await Self.begin(&calls)
    var requests = session.requests.makeAsyncIterator()
    guard case .disconnected(let loss)? = try await requests.next() else {
      throw Unexpected("not told of the loss")
    }
    #expect(loss.reason == "LEASE_EXPIRED")
    #expect(try await requests.next()?.isConnected == true)
    await session.close()
    try await daemon.stop()
  }

  @Test func `kinds that are refused end the session`() async throws {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    var calls = daemon.calls
    let session = client.provide("desk", kinds: [try Self.gauge()], options: Self.options())
    let call = try await calls.expect("Provide")
    try call.send(ProvideResponse.opened(Self.opened()))
    guard case .kinds(let kinds) = try await calls.message(ProvideRequest.self) else {
      throw Unexpected("no kinds")
    }
    let status = RPCStatus(
      code: .alreadyExists, message: "no", errorInfo: ErrorInfo(reason: "KIND_CLAIMED"))
    try call.send(ProvideResponse.result(ProvideResult(id: kinds.id, error: status)))
    let failure = await Self.failure { for try await _ in session.requests {} }
    #expect(failure?.reason == "KIND_CLAIMED")
    try await daemon.stop()
  }

  @Test func `kinds that are refused for now are declared again, less and less often`()
    async throws
  {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    var calls = daemon.calls
    let clock = InstantClock()
    let session = client.provide("desk", kinds: [try Self.gauge()], options: Self.options(clock))
    var requests = session.requests.makeAsyncIterator()
    let status = RPCStatus(
      code: .resourceExhausted, message: "full", errorInfo: ErrorInfo(reason: "QUOTA_EXCEEDED"))
    for _ in 0..<4 {
      let call = try await calls.expect("Provide")
      try call.send(ProvideResponse.opened(Self.opened()))
      guard case .kinds(let kinds) = try await calls.message(ProvideRequest.self) else {
        throw Unexpected("no kinds")
      }
      try call.send(ProvideResponse.result(ProvideResult(id: kinds.id, error: status)))
      var told = try await requests.next()
      // The session reports `connected` while it is connected.
      if told?.isConnected == true { told = try await requests.next() }
      guard case .disconnected(let loss)? = told else { throw Unexpected("not told why") }
      #expect(loss.reason == "QUOTA_EXCEEDED")
    }
    let (call, _) = try await Self.begin(&calls)
    #expect(clock.sleeps == [1, 2, 4, 8].map { .milliseconds($0 * 100) })
    #expect(try await requests.next()?.isConnected == true)
    // The kinds were accepted, so the next loss begins a new series of attempts.
    async let settled = session.update([])
    guard case .update(let frame) = try await calls.message(ProvideRequest.self) else {
      throw Unexpected("no update")
    }
    try call.send(ProvideResponse.result(ProvideResult(id: frame.id)))
    _ = try await settled
    call.closeConnection()
    _ = try await Self.begin(&calls)
    #expect(clock.sleeps.last == .milliseconds(100))
    await session.close()
    try await daemon.stop()
  }

  @Test func `a call that waits for the connection can be cancelled`() async throws {
    let client = WidgetClient(socketPath: FakeDaemon.freshPath())
    let session = client.provide(
      "desk", kinds: [], options: ProviderOptions(retry: RetryPolicy(delayInitial: .seconds(600))))
    let update = Task { await Self.failure { try await session.update([]) } }
    let reader = Task { await Self.failure { for try await _ in session.requests {} } }
    update.cancel()
    reader.cancel()
    #expect(await update.value == .cancelled)
    #expect(await reader.value == .cancelled)
    await session.close()
  }

  @Test func `a single session sends frames, closes its half, and reads to the end`()
    async throws
  {
    let daemon = try await FakeDaemon()
    let client = WidgetClient(socketPath: daemon.socketPath)
    var calls = daemon.calls
    let open = ProvideRequest.open(ProvideOpen(provider: "desk"))
    async let opening = client.provideOnce(open)
    let call = try await calls.expect("Provide")
    #expect(try call.decode(ProvideRequest.self) == open)
    let line = try await opening
    line.send(.keepAlive)
    #expect(try await calls.message(ProvideRequest.self) == .keepAlive)
    line.finish()
    // The frame is not sent. Otherwise the fake daemon would report it.
    line.send(.keepAlive)
    line.finish()
    _ = try await calls.expect("last")
    try call.send(ProvideResponse.keepAlive)
    call.end()
    var messages = line.messages.makeAsyncIterator()
    #expect(try await messages.next() == .keepAlive)
    #expect(try await messages.next() == nil)
    try await daemon.stop()
  }

  /// The error of a call. Nil if it succeeds.
  private static func failure<R>(_ body: () async throws -> R) async -> ClientError? {
    do {
      _ = try await body()
      return nil
    } catch {
      return error as? ClientError
    }
  }

  private struct Unexpected: Error {
    let what: String
    init(_ what: String) { self.what = what }
  }
}

extension ProviderRequest {
  fileprivate var isConnected: Bool { if case .connected = self { true } else { false } }
}
