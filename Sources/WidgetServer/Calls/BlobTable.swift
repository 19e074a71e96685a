import Glibc
import NIOCore
import WidgetProto

/// The files that clients have uploaded for the programs that handle their events.
///
/// A blob is a file without a name, so the kernel deletes it when the daemon ends, also after a
/// crash. A blob that nobody uses expires. The table is a value with private state: the owner of
/// the timer asks for `nextExpiry` after each call.
///
/// Thousands of calls can come in a second, so no call looks at all blobs. The table keeps the order
/// of the expiries and the amounts that count in limits.
///
/// Invariants: `expiries` has each id of `blobs`; `usage` is the sum of `blobs` and `unused`;
/// `oldestUnused` has each user whose next unused file is that of a client.
struct BlobTable {
  /// The maximum number of bytes of a blob in one answer.
  static let pieceBytesMax = 1 << 20
  /// The maximum number of bytes of a file that `freePart` frees. To free all pages of a large file
  /// takes long.
  static let freedBytesMax = 4 << 20
  /// The maximum number of bytes of a file that the deleting call closes. The kernel frees so few
  /// pages in microseconds.
  static let smallFileBytesMax = 64 << 10

  private struct Blob {
    let uid: UInt32
    let isOwners: Bool
    let file: CInt
    let name: String
    let contentType: String
    var size = 0
  }

  /// The file of a forgotten blob.
  private struct UnusedFile {
    let isOwners: Bool
    let file: CInt
    /// The number of files that were forgotten before it.
    let number: UInt64
    var size: Int
  }

  private let folder: String
  private let files: OpenFiles
  private var blobs: [String: Blob] = [:]
  /// When each blob expires, if nobody uses it before.
  private var expiries = RankedKeys<String, NIODeadline>()
  private var usage = BlobUsage()
  /// The files of forgotten blobs, by user.
  private var unused: [UInt32: CircularBuffer<UnusedFile>] = [:]
  /// The number of files of forgotten blobs that are not closed yet.
  private(set) var unusedCount = 0
  /// The number of the next file of each user, if it is the file of a client's blob.
  private var oldestUnused = RankedKeys<UInt32, UInt64>()
  /// The users that have unused files since the last `takeUsersToFree`, and had none before.
  private var usersToFree: [UInt32] = []
  /// The number of files that were forgotten.
  private var forgottenFiles: UInt64 = 0

  /// - Parameters:
  ///   - folder: the folder for the files.
  ///   - files: the open files that the process may have.
  init(folder: String, files: OpenFiles = .unlimited) {
    self.folder = folder
    self.files = files
  }

  /// When the next blob expires, if nobody uses it before.
  var nextExpiry: NIODeadline? { expiries.first?.rank }

  /// Forgets the blobs that are due. `freePart` then frees their files. O(due blobs).
  mutating func expire(at now: NIODeadline) {
    while let next = expiries.first, next.rank <= now, let blob = blobs[next.key] {
      forget(next.key, blob)
    }
  }

  mutating func removeAll() {
    for (id, blob) in blobs { forget(id, blob) }
    for files in unused.values {
      for next in files { close(next.file) }
    }
    self = BlobTable(folder: folder, files: files)
  }

  // MARK: - Files of forgotten blobs

  /// The users with files of forgotten blobs.
  var unusedUIDs: [UInt32] { Array(unused.keys) }

  /// The users whose files the caller begins to free now. A user is returned again if all files
  /// were freed and another blob was forgotten.
  mutating func takeUsersToFree() -> [UInt32] {
    defer { usersToFree.removeAll() }
    return usersToFree
  }

  /// The number of files of a user's forgotten blobs that are not closed yet.
  func unusedCount(of uid: UInt32) -> Int { unused[uid]?.count ?? 0 }

  /// Frees a part of the file of a user's forgotten blob. Closes a small file. Returns the number of
  /// freed bytes.
  @discardableResult
  mutating func freePart(of uid: UInt32) -> Int {
    guard var next = unused[uid]?.popFirst() else { return 0 }
    let size = next.size
    next.size -= BlobTable.freedBytesMax
    // If the file cannot be made shorter, the kernel frees all of it at once.
    if next.size > 0, ftruncate(next.file, off_t(next.size)) == 0 {
      unused[uid]?.prepend(next)
      usage.add(bytes: -BlobTable.freedBytesMax, of: uid, isOwners: next.isOwners)
      return BlobTable.freedBytesMax
    }
    close(next.file)
    unusedCount -= 1
    usage.add(files: -1, bytes: -size, of: uid, isOwners: next.isOwners)
    if unused[uid]?.isEmpty == true { unused[uid] = nil }
    noteOldestUnused(of: uid)
    return size
  }

  private mutating func noteOldestUnused(of uid: UInt32) {
    if let next = unused[uid]?.first, !next.isOwners {
      oldestUnused.set(uid, to: next.number)
    } else {
      oldestUnused.remove(uid)
    }
  }

  // MARK: - Calls

  /// Adds a piece. O(piece).
  mutating func add(
    _ request: UploadBlobRequest, by uid: UInt32, isOwner: Bool = false, at now: NIODeadline,
    _ limits: ServerLimits
  ) throws(RPCStatus) -> UploadBlobResponse {
    expire(at: now)
    let idle = Duration.seconds(limits.blobIdleSeconds)
    let expiry = now + .seconds(Int64(limits.blobIdleSeconds))
    guard !request.blobID.isEmpty else {
      return UploadBlobResponse(
        blobID: try begin(request, by: uid, isOwner, until: expiry, limits),
        size: UInt64(request.data.count), idle: idle)
    }
    guard var blob = blobs[request.blobID], blob.uid == uid else {
      throw .blobNotFound(request.blobID)
    }
    let size = UInt64(blob.size)
    if request.offset < size {
      // A retry: the client has lost the answer and sends the piece again.
      let known = try read(blob, at: Int(request.offset), count: request.data.count)
      guard known == request.data else { throw .blobOffset(request.blobID, size: size) }
    } else {
      guard request.offset == size else { throw .blobOffset(request.blobID, size: size) }
      try admit(request.data.count, after: blob.size, of: uid, isOwner, limits)
      try BlobTable.write(request.data, to: blob.file, at: blob.size)
      blob.size += request.data.count
      blobs[request.blobID] = blob
      usage.add(bytes: request.data.count, of: uid, isOwners: blob.isOwners)
    }
    expiries.set(request.blobID, to: expiry)
    return UploadBlobResponse(blobID: request.blobID, size: UInt64(blob.size), idle: idle)
  }

  /// Reads a piece of a blob. Only owners can read other users' blobs, and they may name the user
  /// with `forUID`. O(piece).
  mutating func piece(
    _ request: ReadBlobRequest, for uid: UInt32, isOwner: Bool, at now: NIODeadline,
    _ limits: ServerLimits
  ) throws(RPCStatus) -> ReadBlobResponse {
    expire(at: now)
    guard let blob = blobs[request.blobID], blob.uid == uid || isOwner,
      blob.uid == request.forUID ?? blob.uid
    else { throw .blobNotFound(request.blobID) }
    expiries.set(request.blobID, to: now + .seconds(Int64(limits.blobIdleSeconds)))
    let start = Int(clamping: min(request.offset, UInt64(blob.size)))
    let wanted = request.sizeMax == 0 ? BlobTable.pieceBytesMax : Int(request.sizeMax)
    let count = min(wanted, BlobTable.pieceBytesMax, blob.size - start)
    return ReadBlobResponse(
      data: try read(blob, at: start, count: count), size: UInt64(blob.size), name: blob.name,
      contentType: blob.contentType)
  }

  mutating func delete(_ id: String, by uid: UInt32, isOwner: Bool) {
    guard let blob = blobs[id], blob.uid == uid || isOwner else { return }
    guard blob.size <= BlobTable.smallFileBytesMax else { return forget(id, blob) }
    close(blob.file)
    usage.add(files: -1, bytes: -blob.size, of: blob.uid, isOwners: blob.isOwners)
    blobs[id] = nil
    expiries.remove(id)
  }

  // MARK: - Parts

  private mutating func begin(
    _ request: UploadBlobRequest, by uid: UInt32, _ isOwner: Bool, until expiry: NIODeadline,
    _ limits: ServerLimits
  ) throws(RPCStatus) -> String {
    guard request.offset == 0 else {
      throw .invalidField("offset", "The first piece of a blob has the offset 0.")
    }
    guard request.name.utf8.count <= 255, !request.name.utf8.contains(UInt8(ascii: "/")) else {
      throw .invalidField("name", "At most 255 bytes without a slash are allowed.")
    }
    guard request.contentType.utf8.count <= 127,
      request.contentType.utf8.allSatisfy({ (0x21...0x7E).contains($0) || $0 == 0x20 })
    else {
      throw .invalidField(
        "content_type", "At most 127 printable characters of ASCII are allowed.")
    }
    let count = usage.amount(of: uid).files - unusedCount(of: uid)
    // The files of the user's forgotten blobs count for the user, because they also take places of
    // all users. The user's own call frees a part of them, so that the next ones fit.
    if count < limits.blobsPerUIDMax, count + unusedCount(of: uid) >= limits.blobsPerUIDMax {
      freePart(of: uid)
    }
    guard count + unusedCount(of: uid) < limits.blobsPerUIDMax else {
      throw .quotaExceeded("blobs_per_uid_max", limits.blobsPerUIDMax)
    }
    let blobsMax = files.blobs(limits)
    guard isOwner || usage.clients.files < blobsMax else {
      if blobsMax < limits.blobsMax, let shortage = files.shortage(limits) {
        throw .fewOpenFiles(
          blobsMax, "blobs of clients", "Try again when other users have deleted uploaded files",
          shortage)
      }
      throw .quotaExceeded("blobs_max", limits.blobsMax)
    }
    try admit(request.data.count, after: 0, of: uid, isOwner, limits)
    let file = try makeFile()
    do throws(RPCStatus) { try BlobTable.write(request.data, to: file, at: 0) } catch {
      close(file)
      throw error
    }
    let id = BlobTable.newID()
    blobs[id] = Blob(
      uid: uid, isOwners: isOwner, file: file, name: request.name, contentType: request.contentType,
      size: request.data.count)
    expiries.set(id, to: expiry)
    usage.add(files: 1, bytes: request.data.count, of: uid, isOwners: isOwner)
    return id
  }

  private mutating func admit(
    _ count: Int, after size: Int, of uid: UInt32, _ isOwner: Bool, _ limits: ServerLimits
  ) throws(RPCStatus) {
    guard size + count <= limits.blobBytesMax else {
      throw .quotaExceeded("blob_bytes_max", limits.blobBytesMax)
    }
    // As with the files, the user's own call frees some of the bytes of forgotten blobs.
    let ownExcess = usage.amount(of: uid).bytes + count - limits.blobBytesPerUIDMax
    let sharedExcess = isOwner ? 0 : usage.clients.bytes + count - limits.blobBytesTotalMax
    var freed = 0
    while freed < min(max(ownExcess, sharedExcess), BlobTable.freedBytesMax),
      unusedCount(of: uid) > 0
    {
      freed += freePart(of: uid)
    }
    guard usage.amount(of: uid).bytes + count <= limits.blobBytesPerUIDMax else {
      throw .quotaExceeded("blob_bytes_per_uid_max", limits.blobBytesPerUIDMax)
    }
    // The deleted blobs of other users must not keep the user from uploading.
    while freed < min(sharedExcess, BlobTable.freedBytesMax), let oldest = oldestUnused.first {
      freed += freePart(of: oldest.key)
    }
    guard isOwner || usage.clients.bytes + count <= limits.blobBytesTotalMax else {
      throw .quotaExceeded("blob_bytes_total_max", limits.blobBytesTotalMax)
    }
  }

  private mutating func forget(_ id: String, _ blob: Blob) {
    if unused[blob.uid] == nil { usersToFree.append(blob.uid) }
    unused[blob.uid, default: CircularBuffer()].append(
      UnusedFile(
        isOwners: blob.isOwners, file: blob.file, number: forgottenFiles, size: blob.size))
    forgottenFiles += 1
    unusedCount += 1
    noteOldestUnused(of: blob.uid)
    blobs[id] = nil
    expiries.remove(id)
  }

  /// 128 random bits, so nobody can guess an id.
  private static func newID() -> String {
    (0..<2).map { _ in
      let digits = String(UInt64.random(in: .min ... .max), radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }.joined()
  }

  private func makeFile() throws(RPCStatus) -> CInt {
    var path = Array("\(folder)/.blob-XXXXXX".utf8CString)
    let file = mkstemp(&path)
    guard file >= 0 else { throw .blobFailed("make a file in \(folder)", errno) }
    unlink(path)
    _ = fcntl(file, F_SETFD, FD_CLOEXEC)
    return file
  }

  private static func write(_ bytes: [UInt8], to file: CInt, at offset: Int) throws(RPCStatus) {
    var written = 0
    while written < bytes.count {
      let count = bytes.withUnsafeBytes {
        pwrite(
          file, $0.baseAddress?.advanced(by: written), bytes.count - written,
          off_t(offset + written))
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw .blobFailed("write the blob", errno) }
      written += count
    }
  }

  private func read(_ blob: Blob, at offset: Int, count: Int) throws(RPCStatus) -> [UInt8] {
    let count = max(0, min(count, blob.size - offset))
    var bytes = [UInt8](repeating: 0, count: count)
    var done = 0
    while done < count {
      let read = bytes.withUnsafeMutableBytes {
        pread(blob.file, $0.baseAddress?.advanced(by: done), count - done, off_t(offset + done))
      }
      if read < 0, errno == EINTR { continue }
      guard read > 0 else { throw .blobFailed("read the blob", errno) }
      done += read
    }
    return bytes
  }
}

extension RPCStatus {
  fileprivate static func blobNotFound(_ id: String) -> RPCStatus {
    RPCStatus(
      .notFound, "BLOB_NOT_FOUND",
      "There is no blob \"\(id.prefix(64))\". It may have expired because no client used it. Upload "
        + "the file again.",
      metadata: ["blob_id": String(id.prefix(64))])
  }

  fileprivate static func blobOffset(_ id: String, size: UInt64) -> RPCStatus {
    RPCStatus(
      .failedPrecondition, "BLOB_OFFSET_MISMATCH",
      "The blob has \(size) bytes. Send the piece that begins there.",
      metadata: ["blob_id": id, "size": "\(size)"])
  }

  fileprivate static func blobFailed(_ what: String, _ number: CInt) -> RPCStatus {
    RPCStatus(
      .unavailable, "STORAGE_FAILED",
      "The daemon cannot \(what): \(String(cString: strerror(number))). Make room, then retry.",
      metadata: [
        "cause": [ENOSPC, EDQUOT, EFBIG].contains(number) ? "FULL" : "INPUT_OUTPUT"
      ], retryDelay: .seconds(1))
  }
}
