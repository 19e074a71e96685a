import NIOCore
import WidgetProto

/// The calls of BlobService, and the timer of the blobs that expire.
final class Blobs {
  private let context: ServiceContext
  private var table: BlobTable
  private var timer: Scheduled<Void>?

  /// - Parameter folder: the folder for the files.
  init(_ context: ServiceContext, folder: String) {
    self.context = context
    table = BlobTable(folder: folder)
  }

  func perform(
    _ method: Method, _ payload: UnsafeRawBufferPointer, _ call: UInt32,
    _ responder: any CallResponder
  ) throws(RPCStatus) {
    let (uid, now) = (responder.peer.uid, NIODeadline.now())
    let isOwner = responder.level >= .owner
    defer { scheduleExpiry() }
    switch method {
    case .uploadBlob:
      let request = try context.decode(UploadBlobRequest.self, payload)
      responder.respond(try table.add(request, by: uid, at: now, context.limits), to: call)
    case .readBlob:
      let request = try context.decode(ReadBlobRequest.self, payload)
      responder.respond(
        try table.piece(request, for: uid, isOwner: isOwner, at: now, context.limits), to: call)
    case .deleteBlob:
      let request = try context.decode(DeleteBlobRequest.self, payload)
      table.delete(request.blobID, by: uid, isOwner: isOwner)
      responder.respond(DeleteBlobResponse(), to: call)
    default: throw .lost
    }
  }

  /// Sets the timer for the next blob that expires. Without blobs there is no timer.
  private func scheduleExpiry() {
    guard timer == nil, let expiry = table.nextExpiry else { return }
    timer = context.schedule(at: expiry) {
      self.timer = nil
      self.table.expire(at: .now())
      self.scheduleExpiry()
    }
  }

  /// Deletes all blobs, because the process ends.
  func removeAll() {
    timer?.cancel()
    table.removeAll()
  }
}
