import NIOCore
import WidgetProto

/// The files that clients have uploaded for the programs that handle their events.
///
/// A blob that nobody uses expires. The table is a value with private state: the owner of the timer
/// asks for `nextExpiry` after each call. To read and write can block, so the table only prepares this
/// work (`BlobUpload`, `BlobPiece`). The caller carries it out, and then calls `finish`.
///
/// Thousands of calls can come in a second, so no call looks at all blobs. The table keeps the order
/// of the expiries and the amounts that count in limits.
///
/// Invariants: `expiries` has each id of `blobs`; `usage` is the sum of `blobs`, of `unused` and of the
/// uploads that are not finished; `oldestUnused` has each user whose next unused file is that of a
/// client.
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
    let file: BlobFile
    let name: String
    let contentType: String
    var size = 0
  }

  /// The file of a forgotten blob.
  private struct UnusedFile {
    let isOwners: Bool
    let file: BlobFile
    /// The number of files that were forgotten before it.
    let number: UInt64
    var size: Int
  }

  private let folder: String
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

  /// - Parameter folder: the folder for the files.
  init(folder: String) { self.folder = folder }

  /// When the next blob expires, if nobody uses it before.
  var nextExpiry: NIODeadline? { expiries.first?.rank }

  /// Forgets the blobs that are due. `freePart` then frees their files. O(due blobs).
  mutating func expire(at now: NIODeadline) {
    while let next = expiries.first, next.rank <= now, let blob = blobs[next.key] {
      forget(next.key, blob)
    }
  }

  mutating func removeAll() { self = BlobTable(folder: folder) }

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
    if next.size > 0, next.file.shorten(to: next.size) {
      unused[uid]?.prepend(next)
      usage.add(bytes: -BlobTable.freedBytesMax, of: uid, isOwners: next.isOwners)
      return BlobTable.freedBytesMax
    }
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

  /// Admits a piece, which counts from now on. O(1).
  mutating func prepare(
    _ request: UploadBlobRequest, by uid: UInt32, isOwner: Bool = false, at now: NIODeadline,
    _ limits: ServerLimits
  ) throws(RPCStatus) -> BlobUpload {
    expire(at: now)
    guard !request.blobID.isEmpty else { return try begin(request, by: uid, isOwner, limits) }
    guard let blob = blobs[request.blobID], blob.uid == uid else {
      throw .blobNotFound(request.blobID)
    }
    let upload = BlobUpload(
      request: request, uid: uid, isOwners: blob.isOwners, file: blob.file, size: blob.size,
      folder: folder)
    // A client that has lost the answer sends the piece again.
    guard !upload.isRepeated else { return upload }
    guard request.offset == UInt64(blob.size) else {
      throw .blobOffset(request.blobID, size: UInt64(blob.size))
    }
    try admit(request.data.count, after: blob.size, of: uid, isOwner, limits)
    usage.add(bytes: request.data.count, of: uid, isOwners: blob.isOwners)
    return upload
  }

  /// Adds a piece to its blob, after `BlobUpload.run`. O(1).
  mutating func finish(
    _ upload: BlobUpload, _ result: Result<BlobFile, RPCStatus>, at now: NIODeadline,
    _ limits: ServerLimits
  ) throws(RPCStatus) -> UploadBlobResponse {
    let known = blobs[upload.request.blobID]
    // An owner may have deleted the blob meanwhile.
    guard upload.file == nil || known != nil else {
      release(upload)
      throw .blobNotFound(upload.request.blobID)
    }
    let file: BlobFile
    switch result {
    case .success(let used): file = used
    case .failure(let error):
      release(upload)
      throw error
    }
    let idle = Duration.seconds(limits.blobIdleSeconds)
    let expiry = now + .seconds(Int64(limits.blobIdleSeconds))
    let (request, count) = (upload.request, upload.request.data.count)
    guard var blob = known else {
      let id = BlobTable.newID()
      blobs[id] = Blob(
        uid: upload.uid, isOwners: upload.isOwners, file: file, name: request.name,
        contentType: request.contentType, size: count)
      expiries.set(id, to: expiry)
      return UploadBlobResponse(blobID: id, size: UInt64(count), idle: idle)
    }
    if !upload.isRepeated {
      // Another call may have added the same piece meanwhile.
      let added = max(0, upload.size + count - blob.size)
      usage.add(bytes: added - count, of: upload.uid, isOwners: upload.isOwners)
      blob.size += added
      blobs[request.blobID] = blob
    }
    expiries.set(request.blobID, to: expiry)
    return UploadBlobResponse(
      blobID: request.blobID, size: UInt64(blob.size), idle: idle)
  }

  /// Stops counting a piece that is not added.
  private mutating func release(_ upload: BlobUpload) {
    guard !upload.isRepeated else { return }
    usage.add(
      files: upload.file == nil ? -1 : 0, bytes: -upload.request.data.count, of: upload.uid,
      isOwners: upload.isOwners)
  }

  /// Finds a piece of a blob. Only owners can read other users' blobs, and they may name the user
  /// with `forUID`. O(1).
  mutating func prepare(
    _ request: ReadBlobRequest, for uid: UInt32, isOwner: Bool, at now: NIODeadline,
    _ limits: ServerLimits
  ) throws(RPCStatus) -> BlobPiece {
    expire(at: now)
    guard let blob = blobs[request.blobID], blob.uid == uid || isOwner,
      blob.uid == request.forUID ?? blob.uid
    else { throw .blobNotFound(request.blobID) }
    expiries.set(request.blobID, to: now + .seconds(Int64(limits.blobIdleSeconds)))
    let start = Int(clamping: min(request.offset, UInt64(blob.size)))
    let wanted = request.sizeMax == 0 ? BlobTable.pieceBytesMax : Int(request.sizeMax)
    return BlobPiece(
      file: blob.file, offset: start,
      count: min(wanted, BlobTable.pieceBytesMax, blob.size - start),
      answer: ReadBlobResponse(
        size: UInt64(blob.size), name: blob.name, contentType: blob.contentType))
  }

  mutating func delete(_ id: String, by uid: UInt32, isOwner: Bool) {
    guard let blob = blobs[id], blob.uid == uid || isOwner else { return }
    guard blob.size <= BlobTable.smallFileBytesMax else { return forget(id, blob) }
    usage.add(files: -1, bytes: -blob.size, of: blob.uid, isOwners: blob.isOwners)
    blobs[id] = nil
    expiries.remove(id)
  }

  // MARK: - Parts

  private mutating func begin(
    _ request: UploadBlobRequest, by uid: UInt32, _ isOwner: Bool, _ limits: ServerLimits
  ) throws(RPCStatus) -> BlobUpload {
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
    guard isOwner || usage.clients.files < limits.blobsMax else {
      throw .quotaExceeded("blobs_max", limits.blobsMax)
    }
    try admit(request.data.count, after: 0, of: uid, isOwner, limits)
    usage.add(files: 1, bytes: request.data.count, of: uid, isOwners: isOwner)
    return BlobUpload(
      request: request, uid: uid, isOwners: isOwner, file: nil, size: 0, folder: folder)
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
}
