import NIOCore
import WidgetCore
import WidgetModel
import WidgetProto

/// The calls of TimelineService.
extension ServiceLoop {
  func dispatch(
    _ method: RPCMethod.TimelineMethod, _ payload: UnsafeRawBufferPointer, _ call: UInt32,
    _ responder: any CallResponder
  ) throws(RPCStatus) {
    switch method {
    case .getTimeline: try getTimeline(payload, call, responder)
    case .getPlaceholder: try getPlaceholder(payload, call, responder)
    case .getSnapshot: try getSnapshot(payload, call, responder)
    }
  }

  /// GetTimeline.
  func getTimeline(
    _ payload: UnsafeRawBufferPointer, _ call: UInt32, _ responder: any CallResponder
  ) throws(RPCStatus) {
    responder.respond(
      try timeline(try context.decode(GetTimelineRequest.self, payload)), to: call)
  }

  /// GetPlaceholder.
  func getPlaceholder(
    _ payload: UnsafeRawBufferPointer, _ call: UInt32, _ responder: any CallResponder
  ) throws(RPCStatus) {
    let request = try context.decode(GetPlaceholderRequest.self, payload)
    let preview = try preview(request.kind, request.family, nil, nil)
    responder.respond(GetPlaceholderResponse(preview: preview), to: call)
  }

  /// GetSnapshot.
  func getSnapshot(
    _ payload: UnsafeRawBufferPointer, _ call: UInt32, _ responder: any CallResponder
  ) throws(RPCStatus) {
    let request = try context.decode(
      GetSnapshotRequest.self, payload, quota: "widget_bytes_max",
      context.limits.store.widgetBytesMax)
    // An invalid request is refused before a provider is asked. The content is made only for the
    // answer.
    let asked: WidgetSpec
    do throws(StoreError) {
      asked = try context.store.previewSpec(
        of: request.kind, family: request.family, parameters: request.parameters)
    } catch {
      throw RPCStatus(error)
    }
    try providers.snapshots.begin(
      request, as: asked, call, responder, in: providers.table,
      counting: incompleteRequests.account(of: responder.peer)
    ) { (snapshot, reason) throws(RPCStatus) in
      var preview = try self.preview(
        request.kind, request.family, request.parameters,
        snapshot?.data ?? self.sample(of: request.kind), entry: snapshot?.entry ?? [:])
      preview.isSample = snapshot == nil
      preview.reason = reason
      return GetSnapshotResponse(preview: preview)
    }
  }

  // MARK: - Parts

  /// The default and the maximum number of entries in GetTimeline.
  private static let entriesDefault = 60
  private static let entriesMax = 1_000

  private func timeline(_ request: GetTimelineRequest) throws(RPCStatus) -> GetTimelineResponse {
    guard request.limit <= ServiceLoop.entriesMax else {
      throw .invalidField("limit", "Use at most \(ServiceLoop.entriesMax).")
    }
    if let family = request.contentFamily {
      do throws(StoreError) {
        try context.store.check(family, isOfferedBy: request.id, field: "content_family")
      } catch {
        throw RPCStatus(error)
      }
    }
    let content: ContentChoice =
      request.includeContent ? request.contentFamily.map { .family($0) } ?? .own : .none
    guard
      let page = context.store.timeline(
        of: request.id, from: request.startTime ?? turn.now,
        limit: request.limit == 0 ? ServiceLoop.entriesDefault : request.limit, taking: content)
    else { throw RPCStatus(.widgetNotFound(request.id)) }
    return GetTimelineResponse(
      entries: page.entries, more: page.hasMore, policy: page.policy, status: page.status,
      scheduled: page.isScheduled, revision: context.store.revision)
  }

  private func sample(of kind: KindName) -> ValueMap {
    context.store.kind(kind)?.kind.sample ?? [:]
  }

  private func preview(
    _ kind: KindName, _ family: Family?, _ parameters: ValueMap?, _ data: ValueMap?,
    entry: ValueMap = [:]
  ) throws(RPCStatus) -> Preview {
    do throws(StoreError) {
      return try context.store.preview(
        of: kind, family: family, parameters: parameters, data: data, entry: entry,
        at: turn.now)
    } catch {
      throw RPCStatus(error)
    }
  }
}
