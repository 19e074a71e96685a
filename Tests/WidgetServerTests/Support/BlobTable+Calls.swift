import NIOCore
import WidgetProto

@testable import WidgetServer

extension BlobTable {
  /// Adds a piece, without another thread.
  mutating func add(
    _ request: UploadBlobRequest, by uid: UInt32, isOwner: Bool = false, at now: NIODeadline,
    _ limits: ServerLimits
  ) throws(RPCStatus) -> UploadBlobResponse {
    let upload = try prepare(request, by: uid, isOwner: isOwner, at: now, limits)
    return try finish(upload, upload.run(), at: now, limits)
  }

  /// Reads a piece, without another thread.
  mutating func piece(
    _ request: ReadBlobRequest, for uid: UInt32, isOwner: Bool, at now: NIODeadline,
    _ limits: ServerLimits
  ) throws(RPCStatus) -> ReadBlobResponse {
    try prepare(request, for: uid, isOwner: isOwner, at: now, limits).run().get()
  }
}
