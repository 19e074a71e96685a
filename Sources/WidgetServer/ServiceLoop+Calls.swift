import Glibc
import Logging
import NIOCore
import WidgetCore
import WidgetModel
import WidgetProto
import WidgetStorage

/// Unary calls: decode, do, answer.
extension ServiceLoop {
  /// Carries out one call. The answer goes to the responder, which sends it at the end of the turn.
  func perform(
    _ method: Method, _ payload: UnsafeRawBufferPointer, call: UInt32,
    for responder: any CallResponder
  ) {
    counters.calls += 1
    do throws(RPCStatus) {
      guard responder.level >= method.requiredLevel else {
        throw .permissionDenied(method.fullName, responder.peer.uid)
      }
      if method.isMutation {
        if isDraining { throw .shuttingDown }
        if let storageFailure { throw .storageFailed(storageFailure) }
      }
      try dispatch(method, payload, call, responder)
    } catch {
      note(method, error, of: responder.peer)
      responder.refuse(error, to: call)
    }
  }

  /// Counts and logs a call or stream that was refused or failed, and keeps it if it tells of the
  /// daemon.
  func note(_ method: Method, _ status: RPCStatus, of peer: Peer) {
    counters.callsFailed += 1
    var level = Logger.Level.debug
    if RecentErrors.isWorthKeeping(status) {
      let count = recentErrors.record(status, area: method.fullName, uid: peer.uid, at: now)
      // The first, and then ever fewer: a caller that goes on does not fill the journal.
      if count & (count - 1) == 0 { level = .warning }
    }
    guard logger.logLevel <= level else { return }
    var metadata: Logger.Metadata = [
      "method": "\(method.fullName)", "code": "\(status.code)",
      "reason": "\(status.errorInfo?.reason ?? "")", "uid": "\(peer.uid)", "pid": "\(peer.pid)",
      "revision": "\(store.revision)",
    ]
    if let id = status.errorInfo?.metadata["widget_id"] { metadata["widget_id"] = "\(id)" }
    logger.log(level: level, "a call failed: \(status.message)", metadata: metadata)
  }

  private func dispatch(
    _ method: Method, _ payload: UnsafeRawBufferPointer, _ call: UInt32,
    _ responder: any CallResponder
  ) throws(RPCStatus) {
    switch method {
    case .getWidget: try getWidget(payload, call, responder)
    case .updateWidget: try updateWidget(payload, call, responder)
    case .createWidget:
      let request = try decode(CreateWidgetRequest.self, payload)
      try idempotently(request.requestID, payload, method, call, responder) {
        () throws(RPCStatus) in
        let commit = try self.apply(
          .create(request.widget, transition: request.transition), responder)
        guard case .created(let id) = commit.outcome else { throw .lost }
        let tagged = try self.tagged(id)
        return CreateWidgetResponse(
          widget: tagged.widget, etag: tagged.etag, warnings: self.warnings(for: [request.widget]))
      }
    case .listWidgets:
      let request = try decode(ListWidgetsRequest.self, payload)
      responder.respond(
        encoded: try encode(try list(request), mask: request.readMask), to: call)
    case .deleteWidget:
      let request = try decode(DeleteWidgetRequest.self, payload)
      try idempotently(request.requestID, payload, method, call, responder) {
        () throws(RPCStatus) in
        let commit = try self.apply(
          .delete(
            request.id, ifRevision: try self.revision(fromETag: request.etag, of: request.id),
            allowMissing: request.allowMissing, transition: request.transition), responder)
        return DeleteWidgetResponse(revision: commit.revision)
      }
    case .setPresence:
      let request = try decode(SetPresenceRequest.self, payload)
      if case .selector(let selector) = request.target { try checkTerms(selector) }
      try idempotently(request.requestID, payload, method, call, responder) {
        () throws(RPCStatus) in
        let commit = try self.apply(
          .setPresence(request.target, request.action, transition: request.transition), responder)
        guard case .presence(let ids) = commit.outcome else { throw .lost }
        return SetPresenceResponse(
          changedIDs: Array(ids.prefix(ServiceLoop.listedMax)), revision: commit.revision,
          changedCount: UInt64(ids.count))
      }
    case .moveWidget:
      let request = try decode(MoveWidgetRequest.self, payload)
      try idempotently(request.requestID, payload, method, call, responder) {
        () throws(RPCStatus) in
        _ = try self.apply(
          .move(request.id, to: request.destination, transition: request.transition), responder)
        let tagged = try self.tagged(request.id)
        return MoveWidgetResponse(widget: tagged.widget, etag: tagged.etag)
      }
    case .applyWidgets:
      let request = try decode(ApplyWidgetsRequest.self, payload)
      try idempotently(request.requestID, payload, method, call, responder) {
        () throws(RPCStatus) in
        let declaration = Declaration(
          applySet: request.applySet.isEmpty ? "default" : request.applySet,
          widgets: request.widgets, prunes: request.prune, isDryRun: request.validateOnly,
          ownsFields: request.ownFields)
        let commit = try self.apply(
          .apply(declaration, transition: request.transition), responder)
        guard case .applied(let results) = commit.outcome else { throw .lost }
        let deleted = results.count - declaration.widgets.count
        return ApplyWidgetsResponse(
          results: Array(results.prefix(declaration.widgets.count + ServiceLoop.listedMax)),
          revision: commit.revision, deletedCount: UInt64(deleted),
          warnings: self.warnings(for: declaration.widgets))
      }
    case .sendEvent:
      let request = try decode(SendEventRequest.self, payload)
      if request.force, responder.level < .owner { throw .forceDenied(responder.peer.uid) }
      guard request.client.utf8.count <= 64 else {
        throw .invalidField("client", "At most 64 bytes are allowed.")
      }
      try idempotently(request.requestID, payload, method, call, responder) {
        () throws(RPCStatus) in
        let commit = try self.apply(
          .sendEvent(
            EventDraft(
              widgetID: request.widgetID, nodeID: request.nodeID, name: request.name,
              payload: request.payload, isForced: request.force,
              wantsOutcome: request.wantsOutcome)), responder,
          client: request.client)
        guard case .accepted(let sequence) = commit.outcome else { throw .lost }
        self.counters.events += 1
        return SendEventResponse(sequence: sequence, revision: commit.revision)
      }
    case .applyKinds, .getKind, .listKinds, .deleteKind, .getTheme, .updateTheme:
      try performCatalog(method, payload, call, responder)
    case .installBundle, .listBundles, .deleteBundle, .rollbackBundle, .setBundleDefaults,
      .diffBundle:
      try performBundles(method, payload, call, responder)
    case .uploadBlob, .readBlob, .deleteBlob: try performBlob(method, payload, call, responder)
    case .refreshWidgets:
      responder.respond(
        try refresh(try decode(RefreshWidgetsRequest.self, payload)), to: call)
    case .unsubscribe:
      let id = try decode(UnsubscribeRequest.self, payload).subscriptionID
      if let session = providers.sessions.values.first(where: { $0.id == id }),
        session.peer.uid == responder.peer.uid
      {
        finish(session, .unsubscribed)
      } else {
        finish(try subscription(id, of: responder.peer), .unsubscribed)
      }
      responder.respond(UnsubscribeResponse(), to: call)
    case .requestProgress:
      let id = try decode(RequestProgressRequest.self, payload).subscriptionID
      let subscription = try subscription(id, of: responder.peer)
      guard subscription.group.filter.wantsState else { throw .noSubscription(id) }
      subscription.wantsProgress = true
      markReady(subscription)
      responder.respond(RequestProgressResponse(), to: call)
    case .getStats: responder.respond(stats(), to: call)
    case .reload: reload(call, responder)
    case .setLogLevel:
      let request = try decode(SetLogLevelRequest.self, payload)
      let previous = logger.logLevel
      logger.logLevel = request.level.logger
      responder.respond(SetLogLevelResponse(previous: LogLevel(previous)), to: call)
    case .checkHealth:
      responder.respond(
        try checkHealth(try decode(HealthCheckRequest.self, payload)), to: call)
    case .listHealth:
      _ = try decode(HealthListRequest.self, payload)
      responder.respond(listHealth(), to: call)
    case .watchWidgets, .watchEvents, .watchHealth, .provide:
      throw .wrongShape(method)
    }
  }

  // MARK: - The hot calls

  /// GetWidget. Whole widgets that are asked for often are encoded once for each revision.
  private func getWidget(
    _ payload: UnsafeRawBufferPointer, _ call: UInt32, _ responder: any CallResponder
  ) throws(RPCStatus) {
    let request = try decode(GetWidgetRequest.self, payload)
    guard let revision = store.revision(of: request.id) else {
      throw RPCStatus(.widgetNotFound(request.id))
    }
    let slot = ServiceLoop.cacheSlot(of: request.id)
    let isWhole = request.readMask.isEverything && request.contentFamily == nil
    if isWhole, let cached = widgetCache[slot], cached.revision == revision,
      cached.id == request.id
    {
      return responder.respond(encoded: cached.response, to: call)
    }
    if let family = request.contentFamily {
      do throws(StoreError) {
        try store.check(family, isOfferedBy: request.id, field: "content_family")
      } catch {
        throw RPCStatus(error)
      }
    }
    let tagged = try tagged(
      request.id, taking: ContentChoice(request.contentFamily, request.readMask))
    let response = GetWidgetResponse(
      widget: tagged.widget,
      etag: request.readMask.wants(.etag) ? tagged.etag : "",
      owners: request.readMask.wants(.owners) ? store.owners(of: request.id) : [])
    let bytes = try encode(response, mask: request.readMask)
    if isWhole {
      widgetCache[slot] = CachedWidget(id: request.id, revision: revision, response: bytes)
    }
    responder.respond(encoded: bytes, to: call)
  }

  /// A place in the table of encoded widgets. Two widgets may share one; then they take turns.
  private static func cacheSlot(of id: WidgetID) -> Int {
    let bytes = id.rawValue.utf8
    return (bytes.count &* 31 &+ Int(bytes.last ?? 0)) & (widgetCacheCount - 1)
  }

  private func updateWidget(
    _ payload: UnsafeRawBufferPointer, _ call: UInt32, _ responder: any CallResponder
  ) throws(RPCStatus) {
    let request = try decode(UpdateWidgetRequest.self, payload)
    guard request.provider.isEmpty || request.provider.isIdentifier(lengthMax: WidgetID.lengthMax)
    else {
      throw .invalidField(
        "provider",
        "Use 1 to 128 of a-z, A-Z, 0-9 and . _ - / :, beginning with a letter or digit.")
    }
    try idempotently(request.requestID, payload, .updateWidget, call, responder) {
      () throws(RPCStatus) in
      let commit = try self.apply(
        .update(
          request.id, request.patch,
          ifRevision: try self.revision(fromETag: request.etag, of: request.id),
          transition: request.transition, provider: request.provider), responder)
      var response = UpdateWidgetResponse(
        revision: self.store.revision(of: request.id) ?? commit.revision, changed: commit.isChange)
      if !request.omitWidget {
        let tagged = try self.tagged(request.id)
        (response.widget, response.etag) = (tagged.widget, tagged.etag)
      }
      return response
    }
  }

  // MARK: - Parts

  /// How many widgets an answer lists that the request did not name.
  private static var listedMax: Int { 10_000 }

  func apply(
    _ command: Command, _ responder: any CallResponder, client: String = ""
  ) throws(RPCStatus) -> Commit {
    try apply(command, by: responder.peer, client: client)
  }

  func apply(
    _ command: Command, by peer: Peer, client: String = ""
  ) throws(RPCStatus) -> Commit {
    let caller = Caller(uid: peer.uid, pid: peer.pid, client: client)
    switch command {
    case .applyKinds, .deleteKind: providers.kindsMayHaveChanged = true
    default: break
    }
    do throws(StoreError) {
      let commit = try store.apply(command, by: caller, at: now)
      if commit.isChange { counters.commits += 1 }
      return commit
    } catch {
      throw RPCStatus(error)
    }
  }

  /// Gives a retried request its first answer, or does it and keeps the answer.
  func idempotently<M: WireMessage>(
    _ requestID: String, _ payload: UnsafeRawBufferPointer, _ method: Method, _ call: UInt32,
    _ responder: any CallResponder, _ body: () throws(RPCStatus) -> M
  ) throws(RPCStatus) {
    guard !requestID.isEmpty else { return responder.respond(try body(), to: call) }
    var hash = StableHash()
    hash.combine("\(method.name)")
    hash.combine(payload)
    let uid = responder.peer.uid
    do throws(StoreError) {
      if let response = try store.recall(
        requestID: requestID, of: uid, fingerprint: hash.value, at: now)
      {
        counters.requestsReplayed += 1
        return responder.respond(encoded: response, to: call)
      }
    } catch {
      throw RPCStatus(error)
    }
    let response = try encode(try body())
    store.remember(
      requestID: requestID, of: uid, fingerprint: hash.value, response: response, at: now)
    responder.respond(encoded: response, to: call)
  }

  func decode<M: WireMessage>(
    _ type: M.Type, _ payload: UnsafeRawBufferPointer
  ) throws(RPCStatus) -> M {
    do throws(WireError) { return try codec.decode(type, from: payload) } catch {
      throw RPCStatus(error)
    }
  }

  private func encode<M: WireMessage>(
    _ message: M, mask: ReadMask = .all
  ) throws(RPCStatus) -> [UInt8] {
    do throws(WireError) { return try codec.encode(message, mask: mask) } catch {
      throw .unencodable(error)
    }
  }

  private func tagged(
    _ id: WidgetID, taking content: ContentChoice = .own
  ) throws(RPCStatus) -> TaggedWidget {
    guard let widget = store.widget(id, taking: content) else {
      throw RPCStatus(.widgetNotFound(id))
    }
    return TaggedWidget(widget: widget, etag: etag(widget.revision))
  }

  func etag(_ revision: Revision) -> String {
    String(store.epoch, radix: 36) + "." + String(revision, radix: 36)
  }

  /// The revision that an etag stands for; nil if there is no etag, or no widget. An etag of another
  /// epoch, or what is no etag, matches nothing.
  private func revision(fromETag etag: String, of id: WidgetID) throws(RPCStatus) -> Revision? {
    guard !etag.isEmpty else { return nil }
    let parts = etag.split(separator: ".", omittingEmptySubsequences: false)
    guard let current = store.revision(of: id) else { return nil }
    guard parts.count == 2, UInt64(parts[0], radix: 36) == store.epoch,
      let revision = UInt64(parts[1], radix: 36)
    else { throw RPCStatus(.etagMismatch(id, current: current)) }
    return revision
  }

  private func subscription(_ id: UInt64, of peer: Peer) throws(RPCStatus) -> Subscription {
    guard let subscription = subscriptions[id], subscription.uid == peer.uid else {
      throw .noSubscription(id)
    }
    return subscription
  }

  private func list(_ request: ListWidgetsRequest) throws(RPCStatus) -> ListWidgetsResponse {
    try checkTerms(request.selector, request.readMask)
    guard request.pageSize >= 0 else {
      throw .invalidField("page_size", "It must not be negative.")
    }
    var position: Int64?
    if !request.pageToken.isEmpty {
      guard let bits = UInt64(request.pageToken, radix: 36) else {
        throw .invalidField("page_token", "Send the previous page's next_page_token unchanged.")
      }
      position = Int64(bitPattern: bits)
    }
    let wanted = request.pageSize == 0 ? limits.pageSizeDefault : Int(request.pageSize)
    let page = store.list(
      after: position, limit: min(wanted, limits.pageSizeMax), bytesMax: limits.pageBytesMax,
      selecting: request.selector,
      taking: ContentChoice(request.contentFamily, request.readMask))
    var response = ListWidgetsResponse(
      widgets: page.widgets.map { widget in
        TaggedWidget(
          widget: widget,
          etag: request.readMask.wants(.etag) ? etag(widget.revision) : "",
          owners: request.readMask.wants(.owners) ? store.owners(of: widget.id) : [])
      }, revision: store.revision)
    if page.hasMore, let last = page.widgets.last {
      response.nextPageToken = String(UInt64(bitPattern: last.position), radix: 36)
    }
    return response
  }

  /// Reads the settings off the loop and answers when that is done.
  private func reload(_ call: UInt32, _ responder: any CallResponder) {
    lastReload += 1
    let number = lastReload
    reloads[number] = (call, responder)
    let bound = NIOLoopBound(self, eventLoop: eventLoop)
    let (onReload, eventLoop) = (onReload, eventLoop)
    Task {
      let outcome = await onReload()
      eventLoop.execute {
        guard let (call, responder) = bound.value.reloads.removeValue(forKey: number) else {
          return
        }
        responder.answerNow {
          if let error = outcome.error {
            let status = RPCStatus.invalidConfiguration(error)
            bound.value.recentErrors.record(
              status, area: "settings", uid: responder.peer.uid, at: ServiceLoop.wallClock())
            responder.refuse(status, to: call)
          } else {
            responder.respond(
              ReloadResponse(applied: outcome.applied, needsRestart: outcome.needsRestart),
              to: call)
          }
        }
      }
    }
  }

  private func stats() -> GetStatsResponse {
    var response = GetStatsResponse()
    response.version = version
    response.startTime = startTime
    response.uptime = .nanoseconds((NIODeadline.now() - startedAt).nanoseconds)
    response.store = log.name
    response.epoch = store.epoch
    response.revision = store.revision
    response.compactRevision = store.compactRevision
    response.widgets = UInt64(store.count)
    response.stateBytes = UInt64(store.stateBytes)
    response.lastSequence = store.lastEventSequence
    response.connections = UInt64(connectionCount)
    response.subscriptions = UInt64(subscriptions.count)
    response.counters = Dictionary(
      uniqueKeysWithValues: counters.byName.map { ($0.name, $0.value) })
    response.limits = Dictionary(
      uniqueKeysWithValues: ServerLimits.names.map {
        ($0.name, UInt64(clamping: limits[keyPath: $0.path]))
      })
    response.pid = UInt32(clamping: getpid())
    response.recentErrors = recentErrors.entries
    let highest = store.highestUsage
    response.usage = [
      "widgets_max": store.count, "widgets_per_uid_max": highest.widgets,
      "state_bytes_per_uid_max": highest.bytes,
      "content_bytes_per_uid_max": highest.contentBytes, "connections_max": connectionCount,
      "connections_per_uid_max": connectionsByUID.values.max() ?? 0,
      "subscriptions_per_uid_max": subscriptionsByUID.values.max() ?? 0,
      "providers_per_uid_max": providers.highestCount,
    ].mapValues { UInt64(clamping: $0) }
    response.providers = UInt64(providers.byName.count)
    response.memoryBytes = ResidentMemory.bytes ?? 0
    return response
  }
}

extension RPCStatus {
  /// A command did not do what it is for: our bug.
  static let lost = RPCStatus(
    .internalError, "INTERNAL", "The daemon lost track of what it did. Please report this.")
}

extension LogLevel {
  init(_ level: Logger.Level) {
    switch level {
    case .trace: self = .trace
    case .debug: self = .debug
    case .info: self = .info
    case .notice: self = .notice
    case .warning: self = .warning
    case .error: self = .error
    case .critical: self = .critical
    }
  }

  var logger: Logger.Level {
    switch self {
    case .trace: .trace
    case .debug: .debug
    case .info: .info
    case .notice: .notice
    case .warning: .warning
    case .error: .error
    case .critical: .critical
    }
  }
}
