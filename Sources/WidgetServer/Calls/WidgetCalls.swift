import WidgetCore
import WidgetModel
import WidgetProto

/// The calls about widgets of WidgetService.
extension ServiceLoop {
  func dispatch(
    _ method: RPCMethod.WidgetMethod, _ payload: UnsafeRawBufferPointer, _ call: UInt32,
    _ responder: any CallResponder
  ) throws(RPCStatus) {
    switch method {
    case .getWidget: try getWidget(payload, call, responder)
    case .updateWidget: try updateWidget(payload, call, responder)
    case .createWidget: try createWidget(payload, call, responder)
    case .listWidgets: try listWidgets(payload, call, responder)
    case .deleteWidget: try deleteWidget(payload, call, responder)
    case .setPresence: try setPresence(payload, call, responder)
    case .moveWidget: try moveWidget(payload, call, responder)
    case .applyWidgets: try applyWidgets(payload, call, responder)
    case .sendEvent: try sendEvent(payload, call, responder)
    case .refreshWidgets: try refreshWidgets(payload, call, responder)
    case .unsubscribe: try unsubscribe(payload, call, responder)
    case .requestProgress: try requestProgress(payload, call, responder)
    case .watchWidgets: throw .wrongShape(.watchWidgets)  // It opens a stream; see `prepare`.
    case .watchEvents: throw .wrongShape(.watchEvents)  // It opens a stream; see `prepare`.
    }
  }

  // MARK: - The hot calls

  /// GetWidget. Whole widgets that are asked for often are encoded once for each revision.
  func getWidget(
    _ payload: UnsafeRawBufferPointer, _ call: UInt32, _ responder: any CallResponder
  ) throws(RPCStatus) {
    let request = try context.decode(GetWidgetRequest.self, payload)
    if !request.readMask.isEverything { try context.checkTerms(Selector(), request.readMask) }
    guard let revision = context.store.revision(of: request.id) else {
      throw RPCStatus(.widgetNotFound(request.id))
    }
    let isWhole =
      request.readMask.isEverything && request.contentFamily == nil && !request.isRedacted
    if isWhole, let response = widgetCache.response(for: request.id, at: revision) {
      return responder.respond(encoded: response, to: call)
    }
    if let family = request.contentFamily {
      do throws(StoreError) {
        try context.store.check(family, isOfferedBy: request.id, field: "content_family")
      } catch {
        throw RPCStatus(error)
      }
    }
    let tagged = try tagged(
      request.id,
      taking: ContentChoice(
        request.contentFamily, request.readMask, isRedacted: request.isRedacted))
    let response = GetWidgetResponse(
      widget: tagged.widget,
      etag: request.readMask.wants(.etag) ? tagged.etag : "",
      owners: request.readMask.wants(.owners) && !request.isRedacted
        ? context.store.owners(of: request.id) : [],
      storedTimeline: request.readMask.wants(.storedTimeline) && !request.isRedacted
        ? context.store.storedTimeline(of: request.id) : nil)
    let bytes = try encode(response, mask: request.readMask)
    if isWhole { widgetCache.keep(bytes, for: request.id, at: revision) }
    responder.respond(encoded: bytes, to: call)
  }

  /// UpdateWidget.
  func updateWidget(
    _ payload: UnsafeRawBufferPointer, _ call: UInt32, _ responder: any CallResponder
  ) throws(RPCStatus) {
    let request = try context.decode(UpdateWidgetRequest.self, payload)
    guard request.provider.isEmpty || request.provider.isIdentifier(lengthMax: WidgetID.lengthMax)
    else {
      throw .invalidField(
        "provider",
        "Use 1 to 128 of a-z, A-Z, 0-9 and . _ - / :, beginning with a letter or digit.")
    }
    try idempotently(request.requestID, payload, .updateWidget, call, responder) {
      () throws(RPCStatus) in
      let commit = try context.apply(
        .update(
          request.id, request.patch,
          ifRevision: try self.revision(fromETag: request.etag, of: request.id),
          transition: request.transition, provider: request.provider), by: responder.peer)
      if request.patch.isStale == false { providers.stale.spare(request.id) }
      var response = UpdateWidgetResponse(
        revision: context.store.revision(of: request.id) ?? commit.revision,
        changed: commit.isChange)
      if !request.omitWidget {
        let tagged = try self.tagged(request.id)
        (response.widget, response.etag) = (tagged.widget, tagged.etag)
      }
      return response
    }
  }

  // MARK: - Other reads

  /// ListWidgets.
  func listWidgets(
    _ payload: UnsafeRawBufferPointer, _ call: UInt32, _ responder: any CallResponder
  ) throws(RPCStatus) {
    let request = try context.decode(ListWidgetsRequest.self, payload)
    responder.respond(encoded: try encode(try list(request), mask: request.readMask), to: call)
  }

  /// RefreshWidgets.
  func refreshWidgets(
    _ payload: UnsafeRawBufferPointer, _ call: UInt32, _ responder: any CallResponder
  ) throws(RPCStatus) {
    let request = try context.decode(RefreshWidgetsRequest.self, payload)
    responder.respond(try providers.refresh(request), to: call)
  }

  // MARK: - Other changes

  /// CreateWidget.
  func createWidget(
    _ payload: UnsafeRawBufferPointer, _ call: UInt32, _ responder: any CallResponder
  ) throws(RPCStatus) {
    let request = try context.decode(CreateWidgetRequest.self, payload)
    try idempotently(request.requestID, payload, .createWidget, call, responder) {
      () throws(RPCStatus) in
      let commit = try context.apply(
        .create(request.widget, transition: request.transition), by: responder.peer)
      guard case .created(let id) = commit.outcome else { throw .lost }
      let tagged = try self.tagged(id)
      return CreateWidgetResponse(
        widget: tagged.widget, etag: tagged.etag, warnings: self.warnings(for: [request.widget]))
    }
  }

  /// DeleteWidget.
  func deleteWidget(
    _ payload: UnsafeRawBufferPointer, _ call: UInt32, _ responder: any CallResponder
  ) throws(RPCStatus) {
    let request = try context.decode(DeleteWidgetRequest.self, payload)
    try idempotently(request.requestID, payload, .deleteWidget, call, responder) {
      () throws(RPCStatus) in
      let commit = try context.apply(
        .delete(
          request.id, ifRevision: try self.revision(fromETag: request.etag, of: request.id),
          allowMissing: request.allowMissing, transition: request.transition), by: responder.peer)
      return DeleteWidgetResponse(revision: commit.revision)
    }
  }

  /// SetPresence.
  func setPresence(
    _ payload: UnsafeRawBufferPointer, _ call: UInt32, _ responder: any CallResponder
  ) throws(RPCStatus) {
    let request = try context.decode(SetPresenceRequest.self, payload)
    try context.checkTerms(request.target)
    try idempotently(request.requestID, payload, .setPresence, call, responder) {
      () throws(RPCStatus) in
      let commit = try context.apply(
        .setPresence(request.target, request.action, transition: request.transition),
        by: responder.peer)
      guard case .presence(let ids) = commit.outcome else { throw .lost }
      return SetPresenceResponse(
        changedIDs: Array(ids.prefix(ServiceLoop.listedMax)), revision: commit.revision,
        changedCount: UInt64(ids.count))
    }
  }

  /// MoveWidget.
  func moveWidget(
    _ payload: UnsafeRawBufferPointer, _ call: UInt32, _ responder: any CallResponder
  ) throws(RPCStatus) {
    let request = try context.decode(MoveWidgetRequest.self, payload)
    try idempotently(request.requestID, payload, .moveWidget, call, responder) {
      () throws(RPCStatus) in
      _ = try context.apply(
        .move(request.id, to: request.destination, transition: request.transition),
        by: responder.peer)
      let tagged = try self.tagged(request.id)
      return MoveWidgetResponse(widget: tagged.widget, etag: tagged.etag)
    }
  }

  /// ApplyWidgets.
  func applyWidgets(
    _ payload: UnsafeRawBufferPointer, _ call: UInt32, _ responder: any CallResponder
  ) throws(RPCStatus) {
    let request = try context.decode(ApplyWidgetsRequest.self, payload)
    try idempotently(request.requestID, payload, .applyWidgets, call, responder) {
      () throws(RPCStatus) in
      let isForeign = try self.isForeign(
        request.applySet, isWhole: request.ownFields || request.prune, to: responder.peer)
      let declaration = Declaration(
        applySet: request.applySet.isEmpty ? "default" : request.applySet,
        widgets: request.widgets, prunes: request.prune, isDryRun: request.validateOnly,
        ownsFields: request.ownFields,
        isForeign: isForeign)
      let commit = try context.apply(
        .apply(declaration, transition: request.transition), by: responder.peer)
      guard case .applied(let results) = commit.outcome else { throw .lost }
      let deleted = results.count - declaration.widgets.count
      return ApplyWidgetsResponse(
        results: Array(results.prefix(declaration.widgets.count + ServiceLoop.listedMax)),
        revision: commit.revision, deletedCount: UInt64(deleted),
        warnings: self.warnings(for: declaration.widgets))
    }
  }

  /// SendEvent.
  func sendEvent(
    _ payload: UnsafeRawBufferPointer, _ call: UInt32, _ responder: any CallResponder
  ) throws(RPCStatus) {
    let request = try context.decode(
      SendEventRequest.self, payload, quota: "event_payload_bytes_max",
      context.limits.store.eventPayloadBytesMax)
    if request.force, responder.level < .owner { throw .forceDenied(responder.peer.uid) }
    guard request.client.utf8.count <= 64 else {
      throw .invalidField("client", "At most 64 bytes are allowed.")
    }
    try idempotently(request.requestID, payload, .sendEvent, call, responder) {
      () throws(RPCStatus) in
      let commit = try context.apply(
        .sendEvent(
          EventDraft(
            widgetID: request.widgetID, nodeID: request.nodeID, name: request.name,
            payload: request.payload, isForced: request.force,
            wantsOutcome: request.wantsOutcome)), by: responder.peer,
        client: request.client)
      guard case .accepted(let sequence) = commit.outcome else { throw .lost }
      context.counters.countEvent()
      return SendEventResponse(sequence: sequence, revision: commit.revision)
    }
  }

  // MARK: - Parts

  /// Whether a set or provider is a bundle's or the host's, and another process makes the call than
  /// the one that has the host's session, or the session of this name.
  ///
  /// - Parameter isWhole: Whether the call owns or prunes, as the host's calls do.
  /// - Throws: If the host has no session, such a call can be the host's, which tries again.
  func isForeign(_ set: String, isWhole: Bool, to peer: Peer) throws(RPCStatus) -> Bool {
    let host = "widgetd-host"
    guard set == host || set.hasPrefix("bundle/") else { return false }
    let isForeign = ![host, set].contains {
      providers.table.byName[$0]?.peer.isSameProcess(as: peer) == true
    }
    if isForeign, isWhole, providers.table.byName[host] == nil { throw .noBundleHost }
    return isForeign
  }

  /// The maximum number of widgets in an answer to a request that does not name them.
  private static var listedMax: Int { 10_000 }

  /// The maximum number of warnings in an answer.
  static var warningsMax: Int { 64 }

  /// Possible mistakes in declared widgets: kinds that nobody has registered, each once.
  func warnings(for specs: [WidgetSpec]) -> [RequestWarning] {
    var seen: Set<KindName> = []
    var warnings: [RequestWarning] = []
    for spec in specs where warnings.count < ServiceLoop.warningsMax {
      guard seen.insert(spec.kind).inserted, context.store.kind(spec.kind) == nil else { continue }
      warnings.append(
        .kindNotRegistered(spec.kind, nearest: context.store.nearestKind(to: spec.kind)))
    }
    return warnings
  }

  func tagged(
    _ id: WidgetID, taking content: ContentChoice = .own
  ) throws(RPCStatus) -> TaggedWidget {
    guard let widget = context.store.widget(id, taking: content) else {
      throw RPCStatus(.widgetNotFound(id))
    }
    return TaggedWidget(widget: widget, etag: etag(widget.revision))
  }

  func etag(_ revision: Revision) -> String {
    String(context.store.epoch, radix: 36) + "." + String(revision, radix: 36)
  }

  /// The revision of an etag; nil if there is no etag, or no widget. An etag of another epoch, or a
  /// text that is not an etag, matches no widget.
  private func revision(fromETag etag: String, of id: WidgetID) throws(RPCStatus) -> Revision? {
    guard !etag.isEmpty else { return nil }
    let parts = etag.split(separator: ".", omittingEmptySubsequences: false)
    guard let current = context.store.revision(of: id) else { return nil }
    guard parts.count == 2, UInt64(parts[0], radix: 36) == context.store.epoch,
      let revision = UInt64(parts[1], radix: 36)
    else { throw RPCStatus(.etagMismatch(id, current: current)) }
    return revision
  }

  private func list(_ request: ListWidgetsRequest) throws(RPCStatus) -> ListWidgetsResponse {
    try context.checkTerms(request.selector, request.readMask)
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
    let wanted = request.pageSize == 0 ? context.limits.pageSizeDefault : Int(request.pageSize)
    let page = context.store.list(
      after: position, limit: min(wanted, context.limits.pageSizeMax),
      bytesMax: context.limits.pageBytesMax,
      selecting: request.selector,
      taking: ContentChoice(
        request.contentFamily, request.readMask, isRedacted: request.isRedacted))
    var response = ListWidgetsResponse(
      widgets: page.widgets.map { widget in
        TaggedWidget(
          widget: widget,
          etag: request.readMask.wants(.etag) ? etag(widget.revision) : "",
          owners: request.readMask.wants(.owners) && !request.isRedacted
            ? context.store.owners(of: widget.id) : [],
          storedTimeline: request.readMask.wants(.storedTimeline) && !request.isRedacted
            ? context.store.storedTimeline(of: widget.id) : nil)
      }, revision: context.store.revision)
    if let next = page.next {
      response.nextPageToken = String(UInt64(bitPattern: next), radix: 36)
    }
    return response
  }
}
