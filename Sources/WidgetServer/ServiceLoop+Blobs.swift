import NIOCore
import WidgetProto

/// The calls of BlobService.
extension ServiceLoop {
  func performBlob(
    _ method: Method, _ payload: UnsafeRawBufferPointer, _ call: UInt32,
    _ responder: any CallResponder
  ) throws(RPCStatus) {
    let (uid, now) = (responder.peer.uid, NIODeadline.now())
    let isOwner = responder.level >= .owner
    defer { scheduleBlobExpiry() }
    switch method {
    case .uploadBlob:
      let request = try decode(UploadBlobRequest.self, payload)
      responder.respond(try blobs.add(request, by: uid, at: now, limits), to: call)
    case .readBlob:
      let request = try decode(ReadBlobRequest.self, payload)
      responder.respond(
        try blobs.piece(request, for: uid, isOwner: isOwner, at: now, limits), to: call)
    case .deleteBlob:
      let request = try decode(DeleteBlobRequest.self, payload)
      blobs.delete(request.blobID, by: uid, isOwner: isOwner)
      responder.respond(DeleteBlobResponse(), to: call)
    default: throw .lost
    }
  }
}
