import WidgetCore
import WidgetModel
import WidgetProto

/// The calls of CatalogService.
extension ServiceLoop {
  func dispatch(
    _ method: RPCMethod.CatalogMethod, _ payload: UnsafeRawBufferPointer, _ call: UInt32,
    _ responder: any CallResponder
  ) throws(RPCStatus) {
    switch method {
    case .applyKinds: try applyKinds(payload, call, responder)
    case .getKind: try getKind(payload, call, responder)
    case .listKinds: try listKinds(payload, call, responder)
    case .deleteKind: try deleteKind(payload, call, responder)
    case .getTheme: try getTheme(payload, call, responder)
    case .updateTheme: try updateTheme(payload, call, responder)
    case .installBundle: try installBundle(payload, call, responder)
    case .listBundles: try listBundles(payload, call, responder)
    case .deleteBundle: try deleteBundle(payload, call, responder)
    case .rollbackBundle: try rollbackBundle(payload, call, responder)
    case .setBundleDefaults: try setBundleDefaults(payload, call, responder)
    case .diffBundle: try diffBundle(payload, call, responder)
    }
  }

  /// ApplyKinds.
  func applyKinds(
    _ payload: UnsafeRawBufferPointer, _ call: UInt32, _ responder: any CallResponder
  ) throws(RPCStatus) {
    let request = try context.decode(ApplyKindsRequest.self, payload)
    try idempotently(request.requestID, payload, .applyKinds, call, responder) {
      () throws(RPCStatus) in
      let isForeign = try self.isForeign(
        request.provider, isWhole: request.prune, to: responder.peer)
      let declaration = KindDeclaration(
        provider: request.provider.isEmpty ? "default" : request.provider,
        kinds: request.kinds, prunes: request.prune, isDryRun: request.validateOnly,
        isForeign: isForeign)
      let commit = try context.apply(.applyKinds(declaration), by: responder.peer)
      guard case .kindsApplied(let results) = commit.outcome else { throw .lost }
      return ApplyKindsResponse(results: results, revision: commit.revision)
    }
  }

  /// GetKind.
  func getKind(
    _ payload: UnsafeRawBufferPointer, _ call: UInt32, _ responder: any CallResponder
  ) throws(RPCStatus) {
    let name = try context.decode(GetKindRequest.self, payload).name
    guard let kind = context.store.kind(name) else { throw RPCStatus(.kindNotFound(name)) }
    var look = SilenceLook(providers.silent)
    responder.respond(GetKindResponse(kind: answered(kind, &look)), to: call)
  }

  /// ListKinds.
  func listKinds(
    _ payload: UnsafeRawBufferPointer, _ call: UInt32, _ responder: any CallResponder
  ) throws(RPCStatus) {
    responder.respond(try list(try context.decode(ListKindsRequest.self, payload)), to: call)
  }

  /// DeleteKind.
  func deleteKind(
    _ payload: UnsafeRawBufferPointer, _ call: UInt32, _ responder: any CallResponder
  ) throws(RPCStatus) {
    let request = try context.decode(DeleteKindRequest.self, payload)
    try idempotently(request.requestID, payload, .deleteKind, call, responder) {
      () throws(RPCStatus) in
      let commit = try context.apply(
        .deleteKind(request.name, allowMissing: request.allowMissing), by: responder.peer)
      return DeleteKindResponse(revision: commit.revision)
    }
  }

  /// GetTheme.
  func getTheme(
    _ payload: UnsafeRawBufferPointer, _ call: UInt32, _ responder: any CallResponder
  ) throws(RPCStatus) {
    _ = try context.decode(GetThemeRequest.self, payload)
    responder.respond(
      GetThemeResponse(
        theme: ThemeState(context.store.theme, etag: etag(context.store.theme.revision))),
      to: call
    )
  }

  /// UpdateTheme.
  func updateTheme(
    _ payload: UnsafeRawBufferPointer, _ call: UInt32, _ responder: any CallResponder
  ) throws(RPCStatus) {
    let request = try context.decode(UpdateThemeRequest.self, payload)
    try idempotently(request.requestID, payload, .updateTheme, call, responder) {
      () throws(RPCStatus) in
      let update = ThemeUpdate(
        set: request.set, unset: request.unset, replaces: request.replace,
        isDryRun: request.validateOnly)
      let current = context.store.theme.revision
      // A foreign or malformed etag matches no revision.
      let expected: Revision? =
        request.etag.isEmpty ? nil : request.etag == self.etag(current) ? current : .max
      let commit = try context.apply(
        .updateTheme(update, ifRevision: expected), by: responder.peer)
      guard case .themeUpdated(let theme, let differs) = commit.outcome else { throw .lost }
      return UpdateThemeResponse(
        theme: ThemeState(theme, etag: self.etag(theme.revision)), changed: differs,
        revision: commit.revision)
    }
  }

  // MARK: - Parts

  /// The kind, with whether its provider has a session.
  private func answered(_ kind: RegisteredKind, _ look: inout SilenceLook) -> RegisteredKind {
    var kind = kind
    kind.isProviderConnected = providers.table.byName[kind.provider] != nil
    if kind.isAttended, !kind.isProviderConnected {
      kind.providerSilence = look.silence(of: kind.provider)
    }
    if kind.isAttended { kind.refreshBudget = budgets.budget(of: kind.kind.name) }
    return kind
  }

  private func list(_ request: ListKindsRequest) throws(RPCStatus) -> ListKindsResponse {
    guard request.pageSize >= 0 else {
      throw .invalidField("page_size", "It must not be negative.")
    }
    guard request.pageToken.isEmpty || KindName(request.pageToken) != nil else {
      throw .invalidField("page_token", "Send the previous page's next_page_token unchanged.")
    }
    let wanted = request.pageSize == 0 ? context.limits.pageSizeDefault : Int(request.pageSize)
    let page = context.store.kinds(
      after: request.pageToken, limit: min(wanted, context.limits.pageSizeMax),
      bytesMax: context.limits.pageBytesMax)
    var look = SilenceLook(providers.silent)
    var response = ListKindsResponse(
      kinds: page.kinds.map { answered($0, &look) }, revision: context.store.revision)
    if page.hasMore, let last = page.kinds.last {
      response.nextPageToken = last.kind.name.rawValue
    }
    return response
  }
}
