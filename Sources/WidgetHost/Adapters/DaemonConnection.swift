import Synchronization
public import WidgetClient
public import WidgetModel

/// What becomes of the widgets of a set that a declaration does not name.
public enum OwnManner: Hashable, Sendable {
  /// They are removed.
  case wholly
  /// They stay.
  case beside
  /// Nothing changes; the results say what `wholly` would do.
  case dryRun
}

/// The calls of the host to the daemon.
///
/// Every call is made once. After a transient failure (the daemon is away or busy) the host can
/// retry.
public protocol DaemonConnection: Sendable {
  /// Begins a session as the provider of `kinds`, and removes the provider's other kinds. A lost
  /// session is opened again until `close` is called.
  ///
  /// - Parameters:
  ///   - takesOver: Whether to end another session of the provider.
  ///   - includesAudience: Whether to ask which widgets are watched.
  func session(
    _ provider: String, kinds: [Kind], takesOver: Bool, includesAudience: Bool
  ) -> any DaemonSession
  /// Removes all kinds of a provider.
  func removeKinds(of provider: String) async throws(Failure)
  /// Declares the widgets of a set, and removes widgets of the set that are not in `widgets`.
  ///
  /// - Returns: the result for each widget.
  func declare(widgets: [WidgetSpec], set: String) async throws(Failure) -> [ApplyResult]
  /// Declares the widgets of a set, which owns its fields: fields that somebody else owns, or that
  /// are not declared, stay as they are.
  ///
  /// - Returns: the result for each widget.
  func own(
    widgets: [WidgetSpec], set: String, _ manner: OwnManner
  ) async throws(Failure) -> [ApplyResult]
  /// Removes a widget, if it exists.
  func delete(_ id: WidgetID) async throws(Failure)
  /// Changes a widget.
  ///
  /// - Parameters:
  ///   - provider: the provider that owns the changed fields; empty for the host's user.
  ///   - etag: the etag that the widget must still have; empty for no condition.
  /// - Returns: the widget's revision after the change.
  func update(
    _ id: WidgetID, _ patch: WidgetPatch, for provider: String, etag: String
  ) async throws(Failure) -> Revision
  func setPresence(_ ids: [WidgetID], _ action: PresenceAction) async throws(Failure)
  /// - Returns: the event's sequence number.
  func send(
    _ id: WidgetID, name: String, payload: ValueMap, force: Bool
  ) async throws(Failure) -> UInt64
  func widget(_ id: WidgetID, _ mask: ReadMask) async throws(Failure) -> ListedWidget
  /// A file that `uid` uploaded. Fails with NOT_FOUND if the blob is another user's.
  func blob(
    _ id: String, of uid: UInt32, bytesMax: Int
  ) async throws(Failure) -> WebRequest.Upload
  /// The registered ones among these kinds, and the existing ones among these widgets.
  func standing(
    kinds: [KindName], widgets: [WidgetID]
  ) async throws(Failure) -> Circumstances
  /// All registered kinds.
  func registeredKinds() async throws(Failure) -> Circumstances
  /// All widgets of these kinds; of any kind if there are none.
  func widgets(kinds: [KindName], _ mask: ReadMask) async throws(Failure) -> [ListedWidget]
  /// Calls `tell` with each change to the widgets of these kinds, in order, until the task is
  /// cancelled. Waits for one call to return before the next. Reconnects after a lost connection.
  ///
  /// - Throws: a failure that an immediate retry does not solve.
  func follow(
    kinds: [KindName], _ tell: @Sendable (DaemonNews) async -> Void
  ) async throws(Failure)
}

/// The host's session as the provider of kinds.
public protocol DaemonSession: Sendable {
  /// Calls `tell` with each request of the daemon, in order, until the task is cancelled or the
  /// session is closed. Waits for one call to return before the next.
  ///
  /// - Throws: a failure that an immediate retry does not solve: the kinds are refused, or another
  ///   program has the provider's session (`Failure.isProvidedAlready`).
  func follow(_ tell: @Sendable (SessionNews) async -> Void) async throws(Failure)
  /// Waits until the daemon has taken the kinds. Returns its results.
  func ready() async throws(Failure) -> [KindResult]
  /// Declares the kinds again, after some were removed. Returns the daemon's results.
  func declareKinds() async throws(Failure) -> [KindResult]
  /// Acknowledges an event and all events before it. The acknowledgement is sent soon, and before
  /// the session closes. Of several pending ones only the last is sent.
  func acknowledge(_ event: Event)
  /// Waits, for a short time, until pending acknowledgements are sent.
  func flush() async
  /// Acknowledges that all events up to a number are lost.
  func acknowledge(missed last: UInt64) async throws(Failure)
  /// Answers a data request for a widget, if the request is still open.
  func answer(_ id: WidgetID, _ patch: WidgetPatch) async throws(Failure)
  /// Answers the snapshot question with this number, if its session is still open.
  func answer(snapshot number: UInt64, with data: Result<ValueMap, Failure>) async
  /// Answers a call about bundles.
  func answer(
    _ request: ProviderBundleRequest, with outcome: ProvideBundleAnswer.Outcome
  ) async throws(Failure)
  /// Ends the session. Its widgets become stale, unless another session has taken over.
  func close() async
}

/// The daemon, as an ordinary client sees it.
public struct ClientConnection: DaemonConnection {
  let client: WidgetClient
  /// The maximum time of one call.
  let options = CallOptions(timeout: .seconds(10))
  private let sessions = SessionCount()

  public init(_ client: WidgetClient) { self.client = client }

  public func session(
    _ provider: String, kinds: [Kind], takesOver: Bool, includesAudience: Bool
  ) -> any DaemonSession {
    let isHosts = provider == HostState.provider
    var options = ProviderOptions(
      takesOver: takesOver, prunesKinds: true, managesBundles: isHosts,
      retry: ClientConnection.retry(among: sessions.begin()), includesAudience: includesAudience)
    options.answersSnapshots = !isHosts
    // One question is enough: all sessions and watches of the host have the same daemon.
    if !isHosts { options.liveness = nil }
    return ClientSession(
      client.provide(provider, kinds: kinds, options: options), kinds: kinds, among: sessions)
  }

  public func removeKinds(of provider: String) async throws(Failure) {
    do throws(ClientError) {
      _ = try await client.applyKinds(
        ApplyKindsRequest(provider: provider, kinds: [], prune: true), options: options)
    } catch {
      throw Failure(error)
    }
  }

  public func declare(
    widgets: [WidgetSpec], set: String
  ) async throws(Failure) -> [ApplyResult] {
    do throws(ClientError) {
      return try await client.applyWidgets(
        ApplyWidgetsRequest(applySet: set, widgets: widgets, prune: true), options: options
      ).results
    } catch {
      throw Failure(error)
    }
  }

  public func own(
    widgets: [WidgetSpec], set: String, _ manner: OwnManner
  ) async throws(Failure) -> [ApplyResult] {
    do throws(ClientError) {
      return try await client.applyWidgets(
        ApplyWidgetsRequest(
          applySet: set, widgets: widgets, prune: manner != .beside,
          validateOnly: manner == .dryRun, ownFields: true),
        options: options
      ).results
    } catch {
      throw Failure(error)
    }
  }

  public func delete(_ id: WidgetID) async throws(Failure) {
    do throws(ClientError) {
      _ = try await client.deleteWidget(
        DeleteWidgetRequest(id: id, allowMissing: true), options: options)
    } catch {
      throw Failure(error)
    }
  }

  public func update(
    _ id: WidgetID, _ patch: WidgetPatch, for provider: String, etag: String
  ) async throws(Failure) -> Revision {
    do throws(ClientError) {
      return try await client.updateWidget(
        UpdateWidgetRequest(id: id, patch: patch, etag: etag, omitWidget: true, provider: provider),
        options: options
      ).revision
    } catch {
      throw Failure(error)
    }
  }

  public func setPresence(_ ids: [WidgetID], _ action: PresenceAction) async throws(Failure) {
    do throws(ClientError) {
      _ = try await client.setPresence(
        SetPresenceRequest(target: .ids(ids), action: action), options: options)
    } catch {
      throw Failure(error)
    }
  }

  public func send(
    _ id: WidgetID, name: String, payload: ValueMap, force: Bool
  ) async throws(Failure) -> UInt64 {
    do throws(ClientError) {
      return try await client.sendEvent(
        SendEventRequest(
          widgetID: id, name: name, payload: payload, force: force, client: BundleInstance.sender),
        options: options
      ).sequence
    } catch {
      throw Failure(error)
    }
  }

  public func blob(
    _ id: String, of uid: UInt32, bytesMax: Int
  ) async throws(Failure) -> WebRequest.Upload {
    let blob: ReadBlobResponse
    do throws(ClientError) {
      blob = try await client.blob(id, bytesMax: bytesMax, of: uid, options: options)
    } catch {
      throw Failure(error)
    }
    guard UInt64(blob.data.count) == blob.size, blob.data.count <= bytesMax else {
      throw Failure(
        "OUT_OF_RANGE", "the uploaded file has \(blob.size) bytes; at most \(bytesMax) can be sent")
    }
    return WebRequest.Upload(bytes: blob.data, name: blob.name, contentType: blob.contentType)
  }

  public func widget(_ id: WidgetID, _ mask: ReadMask) async throws(Failure) -> ListedWidget {
    let request = GetWidgetRequest(id: id, readMask: mask)
    do throws(ClientError) {
      let answer = try await client.getWidget(request, options: options)
      return ListedWidget(widget: answer.widget, etag: answer.etag)
    } catch {
      throw Failure(error)
    }
  }

  public func follow(
    kinds: [KindName], _ tell: @Sendable (DaemonNews) async -> Void
  ) async throws(Failure) {
    var mirror = WidgetMirror()
    let watch = client.watch(
      // The host stores the widgets but does not show them, so it does not count as a watcher.
      WatchOptions(
        selector: Selector(kinds: kinds),
        retry: ClientConnection.retry(among: sessions.number), isPassive: true))
    do throws(ClientError) {
      for try await frame in watch {
        let isSnapshot = if case .synced = frame { true } else { false }
        let difference: WidgetMirror.Difference?
        do throws(WidgetMirror.Inconsistency) {
          difference = try mirror.apply(frame)
        } catch {
          throw ClientError.protocolViolation("the changes do not fit together: \(error)")
        }
        if isSnapshot {
          await tell(.snapshot(mirror.widgets))
        } else if let difference {
          for widget in difference.removed { await tell(.removed(widget.id)) }
          for id in difference.added + difference.updated {
            if let widget = mirror[id] { await tell(.widget(widget)) }
          }
        }
      }
    } catch {
      throw Failure(error)
    }
    throw Failure("UNAVAILABLE", "the daemon ended the watch", isTransient: true)
  }
}

/// A session of the client library's.
private final class ClientSession: DaemonSession {
  private let session: ProviderSession
  private let kinds: [Kind]
  private let sessions: SessionCount
  /// The last data request for each widget.
  private let questions = Mutex<[WidgetID: ProviderDataRequest]>([:])
  /// The snapshot questions without an answer.
  private let snapshots = Mutex(SnapshotQuestions())
  private let isOpen = Mutex(false)
  private let acknowledging = Mutex(Acknowledging())

  private struct SnapshotQuestions {
    var open: [UInt64: ProviderSnapshotRequest] = [:]
    var lastNumber: UInt64 = 0

    mutating func add(_ request: ProviderSnapshotRequest) -> SnapshotQuestion {
      lastNumber += 1
      open[lastNumber] = request
      return SnapshotQuestion(
        number: lastNumber, kind: request.kind, family: request.family,
        parameters: request.parameters, uid: request.uid, isOwner: request.isByOwner)
    }
  }

  private struct Acknowledging {
    /// The last event to acknowledge; nil if there is none.
    var event: Event?
    /// The task that sends the acknowledgement.
    var task: Task<Void, Never>?
  }

  init(_ session: ProviderSession, kinds: [Kind], among sessions: SessionCount) {
    self.session = session
    self.kinds = kinds
    self.sessions = sessions
  }

  deinit { sessions.end() }

  func follow(_ tell: @Sendable (SessionNews) async -> Void) async throws(Failure) {
    do throws(ClientError) {
      for try await request in session.requests {
        switch request {
        case .connected(let opened):
          questions.withLock { $0 = [:] }
          snapshots.withLock { $0.open = [:] }
          isOpen.withLock { $0 = true }
          await tell(
            .opened(epoch: opened.epoch, tellsAudience: opened.includesAudience))
        case .disconnected(let error):
          isOpen.withLock { $0 = false }
          await tell(error.isRefusal ? .refused(error.wordsOfCause) : .lost(error.wordsOfCause))
        case .event(let event): await tell(.event(event))
        case .gap(let gap):
          await tell(.missed(first: gap.firstSequence, last: gap.lastSequence))
        case .dataRequest(let request):
          questions.withLock { $0[request.widget.id] = request }
          await tell(
            .asked(
              request.widget.id,
              isRefresh: request.reason == .refresh || request.reason == .timeline))
        case .removed(let ids):
          questions.withLock { questions in for id in ids { questions[id] = nil } }
          await tell(.removed(ids))
        case .kindsRemoved(let names): await tell(.kindsRemoved(names))
        case .bundleRequest(let request): await tell(.bundles(request))
        case .audience(let audience):
          await tell(.audience(attached: audience.attached, detached: audience.detached))
        case .snapshotRequest(let request):
          await tell(.snapshot(snapshots.withLock { $0.add(request) }))
        case .synced: break
        }
      }
    } catch {
      throw Failure(error)
    }
  }

  func ready() async throws(Failure) -> [KindResult] {
    try await call { () async throws(ClientError) in try await session.ready() }
    return await session.kindResults
  }

  func declareKinds() async throws(Failure) -> [KindResult] {
    try await call { () async throws(ClientError) in
      try await session.declare(kinds, prunes: true)
    }
  }

  func acknowledge(_ event: Event) {
    acknowledging.withLock { state in
      state.event = event
      guard state.task == nil else { return }
      state.task = Task {
        // The daemon sends a failed event again.
        while let next = self.takeDealtWith() { try? await self.session.acknowledge(next) }
      }
    }
  }

  private func takeDealtWith() -> Event? {
    acknowledging.withLock { state in
      if state.event == nil { state.task = nil }
      return state.event.take()
    }
  }

  func acknowledge(missed last: UInt64) async throws(Failure) {
    try await call { () async throws(ClientError) in try await session.acknowledge(last) }
  }

  func answer(_ id: WidgetID, _ patch: WidgetPatch) async throws(Failure) {
    // If the session is opened again, the daemon sends the question again.
    guard isOpen.withLock({ $0 }),
      let request = questions.withLock({ $0.removeValue(forKey: id) })
    else { return }
    try await call { () async throws(ClientError) in try await session.answer(request, with: patch)
    }
  }

  func answer(snapshot number: UInt64, with data: Result<ValueMap, Failure>) async {
    guard let request = snapshots.withLock({ $0.open.removeValue(forKey: number) }) else { return }
    let outcome: ProvideSnapshot.Outcome =
      switch data {
      case .success(let data): .data(SnapshotData(data: data))
      case .failure(let failure):
        .error(WidgetError(reason: failure.code, message: failure.message))
      }
    // If the answer is lost, the daemon answers its caller with the sample.
    try? await session.answer(request, with: outcome)
  }

  func answer(
    _ request: ProviderBundleRequest, with outcome: ProvideBundleAnswer.Outcome
  ) async throws(Failure) {
    try await call { () async throws(ClientError) in
      try await session.answer(request, with: outcome)
    }
  }

  func flush() async {
    guard let task = acknowledging.withLock({ $0.task }) else { return }
    let limit = Task {
      do { try await Task.sleep(for: .seconds(1)) } catch { return }
      task.cancel()
    }
    await task.value
    limit.cancel()
  }

  func close() async {
    await flush()
    await session.close()
  }

  @discardableResult
  private func call<T: Sendable>(
    _ body: () async throws(ClientError) -> T
  ) async throws(Failure) -> T {
    do throws(ClientError) {
      return try await body()
    } catch {
      throw Failure(error)
    }
  }
}

extension ClientError {
  /// Whether the daemon refused the declaration, so that somebody has to act. If the next attempt
  /// succeeds without help, the end of a session is no refusal.
  fileprivate var isRefusal: Bool {
    guard case .status(let status) = self,
      !["LEASE_EXPIRED", "REVISION_COMPACTED", "PROVIDER_ACTIVE"].contains(reason)
    else { return false }
    switch status.code {
    case .invalidArgument, .alreadyExists, .permissionDenied, .resourceExhausted,
      .failedPrecondition, .unauthenticated:
      return true
    default: return false
    }
  }
}
