import WidgetCore
import WidgetModel
import WidgetProto

/// The calls of CatalogService.
extension ServiceLoop {
  /// How many warnings an answer has.
  static var warningsMax: Int { 64 }

  /// What may be a mistake in widgets that were declared: kinds that nobody has registered, each once.
  func warnings(for specs: [WidgetSpec]) -> [RequestWarning] {
    var seen: Set<KindName> = []
    var warnings: [RequestWarning] = []
    for spec in specs where warnings.count < ServiceLoop.warningsMax {
      guard seen.insert(spec.kind).inserted, store.kind(spec.kind) == nil else { continue }
      warnings.append(
        .kindNotRegistered(spec.kind, nearest: store.nearestKind(to: spec.kind)))
    }
    return warnings
  }

  func performCatalog(
    _ method: Method, _ payload: UnsafeRawBufferPointer, _ call: UInt32,
    _ responder: any CallResponder
  ) throws(RPCStatus) {
    switch method {
    case .applyKinds:
      let request = try decode(ApplyKindsRequest.self, payload)
      try idempotently(request.requestID, payload, method, call, responder) {
        () throws(RPCStatus) in
        let declaration = KindDeclaration(
          provider: request.provider.isEmpty ? "default" : request.provider,
          kinds: request.kinds, prunes: request.prune, isDryRun: request.validateOnly)
        let commit = try self.apply(.applyKinds(declaration), responder)
        guard case .kindsApplied(let results) = commit.outcome else { throw .lost }
        return ApplyKindsResponse(results: results, revision: commit.revision)
      }
    case .getKind:
      let name = try decode(GetKindRequest.self, payload).name
      guard let kind = store.kind(name) else { throw RPCStatus(.kindNotFound(name)) }
      responder.respond(GetKindResponse(kind: kind), to: call)
    case .listKinds:
      responder.respond(try list(try decode(ListKindsRequest.self, payload)), to: call)
    case .deleteKind:
      let request = try decode(DeleteKindRequest.self, payload)
      try idempotently(request.requestID, payload, method, call, responder) {
        () throws(RPCStatus) in
        let commit = try self.apply(
          .deleteKind(request.name, allowMissing: request.allowMissing), responder)
        return DeleteKindResponse(revision: commit.revision)
      }
    case .getTheme:
      _ = try decode(GetThemeRequest.self, payload)
      responder.respond(
        GetThemeResponse(theme: ThemeState(store.theme, etag: etag(store.theme.revision))), to: call
      )
    case .updateTheme:
      let request = try decode(UpdateThemeRequest.self, payload)
      try idempotently(request.requestID, payload, method, call, responder) {
        () throws(RPCStatus) in
        let update = ThemeUpdate(
          set: request.set, unset: request.unset, replaces: request.replace,
          isDryRun: request.validateOnly)
        let current = self.store.theme.revision
        // A foreign or malformed etag matches no revision.
        let expected: Revision? =
          request.etag.isEmpty ? nil : request.etag == self.etag(current) ? current : .max
        let commit = try self.apply(.updateTheme(update, ifRevision: expected), responder)
        guard case .themeUpdated(let theme, let isOther) = commit.outcome else { throw .lost }
        return UpdateThemeResponse(
          theme: ThemeState(theme, etag: self.etag(theme.revision)), changed: isOther,
          revision: commit.revision)
      }
    default: throw .lost
    }
  }

  private func list(_ request: ListKindsRequest) throws(RPCStatus) -> ListKindsResponse {
    guard request.pageSize >= 0 else {
      throw .invalidField("page_size", "It must not be negative.")
    }
    guard request.pageToken.isEmpty || KindName(request.pageToken) != nil else {
      throw .invalidField("page_token", "Send the previous page's next_page_token unchanged.")
    }
    let wanted = request.pageSize == 0 ? limits.pageSizeDefault : Int(request.pageSize)
    let page = store.kinds(
      after: request.pageToken, limit: min(wanted, limits.pageSizeMax),
      bytesMax: limits.pageBytesMax)
    var response = ListKindsResponse(kinds: page.kinds, revision: store.revision)
    if page.hasMore, let last = page.kinds.last {
      response.nextPageToken = last.kind.name.rawValue
    }
    return response
  }
}
