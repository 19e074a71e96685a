import Synchronization
public import WidgetModel
import WidgetProto

/// A program's session as the provider of kinds, as `WidgetClient.provide` opens it.
///
/// ```swift
/// let session = client.provide("thermometer", kinds: [gauge])
/// for try await request in session.requests {
///   switch request {
///   case .dataRequest(let request):
///     try await session.answer(request, with: WidgetPatch(setData: ["value": .double(read())]))
///   case .event(let event):
///     …
///     try await session.acknowledge(event)
///   default: break
///   }
/// }
/// ```
///
/// The session connects by itself, declares its kinds each time, and keeps its lease. After a loss
/// it reconnects and continues behind the last acknowledged event. Changes wait for the connection.
/// If the connection is lost, the change under way fails with `connectionLost`, and is not
/// repeated: the daemon asks for every widget after the reconnect. A daemon that does not answer counts
/// as lost, too (`ProviderOptions.liveness`).
///
/// Unread requests have a bound: the events that the daemon sends without an acknowledgement, and
/// one data request for each widget. The session runs until `close`.
public actor ProviderSession {
  /// The provider's name.
  public nonisolated let provider: String
  private let client: WidgetClient
  private let options: ProviderOptions
  private nonisolated let runner = Mutex<Task<Void, Never>?>(nil)

  typealias Line = Conversation<ProvideRequest, ProvideResponse>

  private enum State {
    case connecting
    /// The daemon has opened the session; the kinds are being declared.
    case declaring(Line)
    case open(Line)
    /// The session has ended for good; nil if it was closed.
    case over(ClientError?)
  }

  private var kinds: [Kind]
  /// The daemon's results for the kinds, of their last declaration.
  public private(set) var kindResults: [KindResult] = []
  private var state = State.connecting
  /// The number of opened sessions.
  private var generation = 0
  private var events: ProviderEvents
  private var isLossTold = false
  private var attempts = SessionAttempts()

  private var lastNumber: UInt64 = 0
  private var results: [UInt64: CheckedContinuation<Result<ProvideResult, ClientError>, Never>] =
    [:]
  private var waiting: [UInt64: CheckedContinuation<Void, Never>] = [:]
  private var unread = UnreadRequests()
  private var reader: CheckedContinuation<Void, Never>?

  init(client: WidgetClient, provider: String, kinds: [Kind], options: ProviderOptions) {
    self.client = client
    self.provider = provider
    self.kinds = kinds
    self.options = options
    events = ProviderEvents(
      epoch: options.acknowledged?.epoch ?? 0, acknowledged: options.acknowledged?.sequence)
  }

  nonisolated func start() {
    runner.withLock { runner in runner = Task { await self.run() } }
  }

  // MARK: - What a provider does

  /// The daemon's requests.
  public nonisolated var requests: ProviderRequests { ProviderRequests(session: self) }

  /// Waits until the session is open and the daemon has taken the kinds.
  ///
  /// - Throws: the error that ended the session for good; `closed`; `cancelled`.
  public func ready() async throws(ClientError) { _ = try await connected() }

  /// Changes widgets of this provider's kinds: all of them in one commit, or none. They are fresh
  /// afterwards.
  ///
  /// - Returns: the store's revision afterwards.
  /// - Throws: `status` with the widget's id in `errorInfo.metadata["widget_id"]`, if one of the
  ///   updates was refused.
  @discardableResult
  public func update(_ updates: [ProvidedUpdate]) async throws(ClientError) -> Revision {
    try await perform { .update(ProvideUpdate(id: $0, updates: updates)) }.revision
  }

  /// Changes one widget.
  @discardableResult
  public func update(
    _ id: WidgetID, _ patch: WidgetPatch, transition: Transition? = nil
  ) async throws(ClientError) -> Revision {
    try await update([ProvidedUpdate(id, patch, transition: transition)])
  }

  /// Acknowledges an event and all events before it.
  ///
  /// - Parameter error: the event's error; becomes its widget's error.
  public func acknowledge(
    _ event: Event, error: WidgetError? = nil
  ) async throws(ClientError) {
    guard events.isHandedOut(event) else { return }
    try await acknowledge(event.sequence, error: error)
  }

  /// Acknowledges all events up to a sequence number, also lost ones.
  public func acknowledge(
    _ sequence: UInt64, error: WidgetError? = nil
  ) async throws(ClientError) {
    guard isOfThisSession(sequence, error) else { return }
    let line = try await connected()
    guard isOfThisSession(sequence, error) else { return }
    events.acknowledge(sequence)
    _ = try await send(
      { .acknowledge(ProvideAcknowledge(id: $0, sequence: sequence, error: error)) }, on: line)
  }

  /// Whether an event came in this session. An event of an earlier session is acknowledged when it
  /// comes again, or when the next session opens.
  private func isOfThisSession(_ sequence: UInt64, _ error: WidgetError?) -> Bool {
    switch events.place(of: sequence) {
    case .unknown: return false
    case .thisSession: return true
    case .earlierSession:
      events.keep(sequence, error)
      return false
    }
  }

  /// Answers a data request. The widget's error is cleared, unless the patch sets one.
  ///
  /// - Throws: `DATA_REQUEST_NOT_FOUND` if the widget is gone, was answered, or got other parameters;
  ///   also if the connection was lost meanwhile, because the daemon then sends all data requests
  ///   again.
  @discardableResult
  public func answer(
    _ request: ProviderDataRequest, with patch: WidgetPatch, transition: Transition? = nil
  ) async throws(ClientError) -> Revision {
    try await answer(request, .patch(patch), transition)
  }

  /// Answers a data request with the reason why there is no data.
  @discardableResult
  public func answer(
    _ request: ProviderDataRequest, error: WidgetError
  ) async throws(ClientError) -> Revision {
    try await answer(request, .error(error), nil)
  }

  private func answer(
    _ request: ProviderDataRequest, _ outcome: ProvideAnswer.Outcome, _ transition: Transition?
  ) async throws(ClientError) -> Revision {
    _ = try await connected()
    guard request.generation == generation else {
      throw .status(
        RPCStatus(
          code: .notFound, message: "the data request belongs to a session that has ended",
          errorInfo: ErrorInfo(reason: "DATA_REQUEST_NOT_FOUND")))
    }
    return try await perform {
      .answer(
        ProvideAnswer(
          id: $0, dataRequestID: request.id, outcome: outcome, transition: transition))
    }.revision
  }

  /// Answers a call about bundles. Does nothing if the connection was lost meanwhile, because the
  /// call has then ended.
  public func answer(
    _ request: ProviderBundleRequest, with outcome: ProvideBundleAnswer.Outcome
  ) async throws(ClientError) {
    let line = try await connected()
    guard request.generation == generation else { return }
    _ = try await send(
      {
        .bundleAnswer(ProvideBundleAnswer(id: $0, bundleRequestID: request.id, outcome: outcome))
      }, on: line)
  }

  /// Answers a snapshot request. Does nothing if the connection was lost meanwhile, because the
  /// request has then ended.
  public func answer(
    _ request: ProviderSnapshotRequest, with outcome: ProvideSnapshot.Outcome
  ) async throws(ClientError) {
    let line = try await connected()
    guard request.generation == generation else { return }
    _ = try await send(
      { .snapshot(ProvideSnapshot(id: $0, snapshotRequestID: request.id, outcome: outcome)) },
      on: line)
  }

  /// Declares other kinds than before, now and whenever the session is opened again.
  ///
  /// - Parameter prunes: remove kinds of this provider that are not among them.
  @discardableResult
  public func declare(
    _ kinds: [Kind], prunes: Bool = false
  ) async throws(ClientError) -> [KindResult] {
    let result = try await perform { .kinds(ProvideKinds(id: $0, kinds: kinds, prune: prunes)) }
    self.kinds = kinds
    kindResults = result.kinds
    return result.kinds
  }

  /// Ends the session for good. Its widgets become stale.
  public func close() async {
    end(nil)
    let task = runner.withLock { $0 }
    task?.cancel()
    await task?.value
  }

  // MARK: - Reading

  func next() async throws(ClientError) -> ProviderRequest? {
    while true {
      if let request = unread.popFirst() { return request }
      if case .over(let error) = state {
        if let error { throw error }
        return nil
      }
      if Task.isCancelled { throw .cancelled }
      await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          // A second reader replaces the first one, which then checks the state again.
          reader?.resume()
          reader = continuation
        }
      } onCancel: {
        Task { await self.wakeReader() }
      }
    }
  }

  private func wakeReader() {
    reader?.resume()
    reader = nil
  }

  private func deliver(_ request: ProviderRequest) {
    unread.append(request)
    wakeReader()
  }

  // MARK: - Frames out

  /// Sends a frame and waits for its result.
  private func perform(
    _ frame: (UInt64) -> ProvideRequest
  ) async throws(ClientError) -> ProvideResult {
    try await send(frame, on: connected())
  }

  private func send(
    _ frame: (UInt64) -> ProvideRequest, on line: Line
  ) async throws(ClientError) -> ProvideResult {
    lastNumber += 1
    let number = lastNumber
    let answer = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        results[number] = continuation
        line.send(frame(number)) { error in
          Task { await self.complete(number, .failure(error)) }
        }
      }
    } onCancel: {
      Task { await self.complete(number, .failure(.cancelled)) }
    }
    let result = try answer.get()
    if let error = result.error { throw .status(error) }
    return result
  }

  private func complete(_ number: UInt64, _ result: Result<ProvideResult, ClientError>) {
    results.removeValue(forKey: number)?.resume(returning: result)
  }

  /// Waits until the session is open.
  private func connected() async throws(ClientError) -> Line {
    while true {
      switch state {
      case .open(let line): return line
      case .over(let error): throw error ?? .closed
      case .connecting, .declaring: break
      }
      if Task.isCancelled { throw .cancelled }
      lastNumber += 1
      let number = lastNumber
      await withTaskCancellationHandler {
        await withCheckedContinuation { waiting[number] = $0 }
      } onCancel: {
        Task { await self.stopWaiting(number) }
      }
    }
  }

  private func stopWaiting(_ number: UInt64) { waiting.removeValue(forKey: number)?.resume() }

  private func change(to next: State) {
    state = next
    let all = waiting
    waiting = [:]
    for continuation in all.values { continuation.resume() }
  }

  // MARK: - The connection

  /// Opens the session repeatedly, until it has ended for good.
  private nonisolated func run() async {
    var attempt = 0
    while await !isOver {
      var failure: ClientError?
      do throws(ClientError) {
        let line: Line = try await client.converse(
          .provide, await opening(), metadata: options.metadata, liveness: options.liveness)
        try await serve(line)
      } catch {
        failure = error
      }
      failure = await takeRefusal() ?? failure
      if await takeWasOpen() { attempt = 0 }
      guard let least = await lose(failure) else { return }
      guard let delay = options.retry.delay(beforeAttempt: attempt, least: least) else {
        return await end(failure ?? .connectionLost(socketPath: client.socketPath))
      }
      attempt += 1
      do { try await options.retry.clock.sleep(for: delay) } catch { return await end(nil) }
    }
  }

  /// Reads messages until the session ends.
  private nonisolated func serve(_ line: Line) async throws(ClientError) {
    defer { line.close() }
    var messages = line.messages.makeAsyncIterator()
    while let frame = try await messages.next() {
      try await receive(frame, line)
    }
  }

  private var isOver: Bool { if case .over = state { true } else { false } }

  private func takeWasOpen() -> Bool { attempts.takeWasOpen() }

  private func takeRefusal() -> ClientError? { attempts.takeRefusal() }

  private func opening() -> ProvideRequest {
    .open(
      ProvideOpen(
        provider: provider, lease: options.lease, acknowledgedSequence: events.acknowledged,
        epoch: events.epoch,
        // Only the first session takes over. A later one must not end a session that replaced this
        // one.
        takeOver: options.takesOver && generation == 0, managesBundles: options.managesBundles,
        includeAudience: options.includesAudience, answersSnapshots: options.answersSnapshots))
  }

  private func receive(_ frame: ProvideResponse, _ line: Line) throws(ClientError) {
    guard !isOver else { return }
    switch frame {
    case .opened(let opened): open(opened, line)
    case .result(let result): complete(result.id, .success(result))
    case .event(let event):
      switch events.receive(event) {
      case .new: deliver(.event(event))
      case .known(let failure):
        line.send(
          .acknowledge(ProvideAcknowledge(sequence: event.sequence, error: failure)))
      }
    case .gap(let gap):
      events.pass(gap.lastSequence)
      deliver(.gap(gap))
    case .dataRequest(let request):
      deliver(.dataRequest(ProviderDataRequest(request, generation: generation)))
    case .removed(let removal):
      for id in removal.widgetIDs { unread.forgetDataRequest(about: id) }
      deliver(.removed(removal.widgetIDs))
    case .synced(let synced): deliver(.synced(synced.revision))
    case .kindsRemoved(let removal): deliver(.kindsRemoved(removal.kinds))
    case .bundleRequest(let request):
      deliver(.bundleRequest(ProviderBundleRequest(request, generation: generation)))
    case .audience(let audience): deliver(.audience(audience))
    case .snapshotRequest(let request):
      deliver(.snapshotRequest(ProviderSnapshotRequest(request, generation: generation)))
    case .keepAlive, .unknown: break
    }
  }

  private func open(_ opened: ProvideOpened, _ line: Line) {
    generation += 1
    isLossTold = false
    attempts.opened()
    events.sessionOpened(epoch: opened.epoch, firstSequence: opened.firstSequence)
    deliver(.connected(opened))
    if opened.lease > .zero { line.send(.keepAlive, every: opened.lease / 3) }
    guard !kinds.isEmpty || options.prunesKinds else { return acceptKinds(line) }
    change(to: .declaring(line))
    let (kinds, prunes, generation) = (kinds, options.prunesKinds, generation)
    Task {
      do throws(ClientError) {
        let result = try await send(
          { .kinds(ProvideKinds(id: $0, kinds: kinds, prune: prunes)) }, on: line)
        guard case .declaring = state, self.generation == generation else { return }
        kindResults = result.kinds
        acceptKinds(line)
      } catch {
        refuseKinds(error, generation, line)
      }
    }
  }

  private func acceptKinds(_ line: Line) {
    attempts.acceptedKinds()
    change(to: .open(line))
  }

  private func refuseKinds(_ error: ClientError, _ generation: Int, _ line: Line) {
    guard case .declaring = state, self.generation == generation else { return }
    if case .status = error {
      attempts.refusedKinds(error)
      if SessionAttempts.delay(after: error, isAgain: true) == nil { end(error) }
    }
    line.close()
  }

  /// The session has ended. Returns how long to wait before another attempt; nil if it is over.
  private func lose(_ failure: ClientError?) -> Duration? {
    guard !isOver else { return nil }
    // The stream ended without an error, but the program still needs the session.
    let error = failure ?? .connectionLost(socketPath: client.socketPath)
    guard
      let least = attempts.delay(
        after: error, isAgain: generation > 0, lease: options.lease)
    else {
      end(error)
      return nil
    }
    change(to: .connecting)
    events.sessionLost()
    failResults(.connectionLost(socketPath: client.socketPath))
    guard !isLossTold else { return least }
    isLossTold = true
    // The daemon sends all requests again.
    unread.removeAll()
    deliver(.disconnected(error))
    return least
  }

  private func end(_ error: ClientError?) {
    guard !isOver else { return }
    switch state {
    case .open(let line), .declaring(let line): line.close()
    case .connecting, .over: break
    }
    change(to: .over(error))
    failResults(error ?? .closed)
    if error == nil { unread.removeAll() }
    wakeReader()
  }

  private func failResults(_ error: ClientError) {
    let all = results
    results = [:]
    for continuation in all.values { continuation.resume(returning: .failure(error)) }
  }
}
