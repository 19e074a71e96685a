import WidgetCore
import WidgetModel
import WidgetProto

/// The calls of ActivityService.
extension ServiceLoop {
  func dispatch(
    _ method: RPCMethod.ActivityMethod, _ payload: UnsafeRawBufferPointer, _ call: UInt32,
    _ responder: any CallResponder
  ) throws(RPCStatus) {
    switch method {
    case .startActivity: try startActivity(payload, call, responder)
    case .updateActivity: try updateActivity(payload, call, responder)
    case .endActivity: try endActivity(payload, call, responder)
    }
  }

  /// StartActivity.
  func startActivity(
    _ payload: UnsafeRawBufferPointer, _ call: UInt32, _ responder: any CallResponder
  ) throws(RPCStatus) {
    let request = try context.decode(StartActivityRequest.self, payload)
    try idempotently(request.requestID, payload, .startActivity, call, responder) {
      () throws(RPCStatus) in
      let commit = try context.apply(
        .startActivity(
          request.widget, lifetime: request.lifetime, staleAfter: request.staleAfter,
          transition: request.transition), by: responder.peer)
      guard case .created(let id) = commit.outcome else { throw .lost }
      let tagged = try self.tagged(id)
      return StartActivityResponse(
        widget: tagged.widget, etag: tagged.etag, warnings: self.warnings(for: [request.widget]))
    }
  }

  /// UpdateActivity.
  func updateActivity(
    _ payload: UnsafeRawBufferPointer, _ call: UInt32, _ responder: any CallResponder
  ) throws(RPCStatus) {
    let request = try context.decode(UpdateActivityRequest.self, payload)
    try idempotently(request.requestID, payload, .updateActivity, call, responder) {
      () throws(RPCStatus) in
      _ = try context.apply(
        .updateActivity(
          request.id, request.patch, staleAfter: request.staleAfter,
          transition: request.transition), by: responder.peer)
      let tagged = try self.tagged(request.id)
      return UpdateActivityResponse(widget: tagged.widget, etag: tagged.etag)
    }
  }

  /// EndActivity.
  func endActivity(
    _ payload: UnsafeRawBufferPointer, _ call: UInt32, _ responder: any CallResponder
  ) throws(RPCStatus) {
    let request = try context.decode(EndActivityRequest.self, payload)
    try idempotently(request.requestID, payload, .endActivity, call, responder) {
      () throws(RPCStatus) in
      let commit = try context.apply(
        .endActivity(
          request.id, request.patch, request.dismissal, transition: request.transition),
        by: responder.peer)
      guard case .updated(let id) = commit.outcome else {
        return EndActivityResponse(revision: commit.revision)
      }
      let tagged = try self.tagged(id)
      return EndActivityResponse(
        widget: tagged.widget, etag: tagged.etag, revision: commit.revision)
    }
  }
}
