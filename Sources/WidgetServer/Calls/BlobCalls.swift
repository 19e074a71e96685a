import NIOCore
import WidgetProto

/// The calls of BlobService, and the timer of the blobs that expire.
final class Blobs {
  private let context: ServiceContext
  private var table: BlobTable
  private var timer: Scheduled<Void>?
  /// The time of the timer.
  private(set) var nextExpiry = NIODeadline.distantFuture
  /// The users whose slices will free a part of a file.
  private var freeing: Set<UInt32> = []

  /// - Parameter folder: the folder for the files.
  init(_ context: ServiceContext, folder: String) {
    self.context = context
    table = BlobTable(folder: folder, files: .current)
  }

  /// UploadBlob.
  func upload(
    _ payload: UnsafeRawBufferPointer, _ call: UInt32, _ responder: any CallResponder
  ) throws(RPCStatus) {
    let request = try context.decode(UploadBlobRequest.self, payload)
    defer { scheduleExpiry() }
    responder.respond(
      try table.add(
        request, by: responder.peer.uid, isOwner: responder.level >= .owner, at: .now(),
        context.limits), to: call)
  }

  /// ReadBlob.
  func read(
    _ payload: UnsafeRawBufferPointer, _ call: UInt32, _ responder: any CallResponder
  ) throws(RPCStatus) {
    let request = try context.decode(ReadBlobRequest.self, payload)
    defer { scheduleExpiry() }
    responder.respond(
      try table.piece(
        request, for: responder.peer.uid, isOwner: responder.level >= .owner, at: .now(),
        context.limits), to: call)
  }

  /// DeleteBlob.
  func delete(
    _ payload: UnsafeRawBufferPointer, _ call: UInt32, _ responder: any CallResponder
  ) throws(RPCStatus) {
    let request = try context.decode(DeleteBlobRequest.self, payload)
    table.delete(
      request.blobID, by: responder.peer.uid, isOwner: responder.level >= .owner)
    freeFiles()
    responder.respond(DeleteBlobResponse(), to: call)
  }

  /// Sets the timer for the next blob that expires. Without blobs there is no timer. A call can find
  /// expired blobs before the timer does.
  private func scheduleExpiry() {
    freeFiles()
    // With a limit that was lowered, a blob can expire before all earlier ones.
    guard let expiry = table.nextExpiry, timer == nil || expiry < nextExpiry else { return }
    timer?.cancel()
    nextExpiry = expiry
    timer = context.schedule(at: expiry) {
      self.timer = nil
      self.expire(at: .now())
    }
  }

  /// Forgets the blobs that are due at a time.
  func expire(at now: NIODeadline) {
    table.expire(at: now)
    scheduleExpiry()
  }

  /// Frees the files of forgotten blobs in slices of their users' time. Many large blobs can expire
  /// together, and the kernel takes long to free their pages.
  private func freeFiles() {
    for uid in table.takeUsersToFree() where !freeing.contains(uid) { freePart(of: uid) }
  }

  private func freePart(of uid: UInt32) {
    freeing.insert(uid)
    context.upkeep.add(of: uid) { [self] in
      table.freePart(of: uid)
      freeing.remove(uid)
      if table.unusedCount(of: uid) > 0 { freePart(of: uid) }
    }
  }

  /// The number of files of forgotten blobs that are not closed yet.
  var unusedCount: Int { table.unusedCount }

  /// Deletes all blobs, because the process ends.
  func removeAll() {
    timer?.cancel()
    table.removeAll()
  }
}

extension ServiceLoop {
  func dispatch(
    _ method: RPCMethod.BlobMethod, _ payload: UnsafeRawBufferPointer, _ call: UInt32,
    _ responder: any CallResponder
  ) throws(RPCStatus) {
    switch method {
    case .uploadBlob: try blobs.upload(payload, call, responder)
    case .readBlob: try blobs.read(payload, call, responder)
    case .deleteBlob: try blobs.delete(payload, call, responder)
    }
  }
}
