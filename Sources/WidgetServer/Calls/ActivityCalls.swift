import WidgetCore
import WidgetModel
import WidgetProto

/// The calls of ActivityService.
extension ServiceLoop {
  func performActivity(
    _ method: Method, _ payload: UnsafeRawBufferPointer, _ call: UInt32,
    _ responder: any CallResponder
  ) throws(RPCStatus) {
    switch method {
    case .startActivity:
      let request = try context.decode(StartActivityRequest.self, payload)
      try idempotently(request.requestID, payload, method, call, responder) {
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
    case .updateActivity:
      let request = try context.decode(UpdateActivityRequest.self, payload)
      try idempotently(request.requestID, payload, method, call, responder) {
        () throws(RPCStatus) in
        _ = try context.apply(
          .updateActivity(
            request.id, request.patch, staleAfter: request.staleAfter,
            transition: request.transition), by: responder.peer)
        let tagged = try self.tagged(request.id)
        return UpdateActivityResponse(widget: tagged.widget, etag: tagged.etag)
      }
    case .endActivity:
      let request = try context.decode(EndActivityRequest.self, payload)
      try idempotently(request.requestID, payload, method, call, responder) {
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
    default: throw .lost
    }
  }
}
