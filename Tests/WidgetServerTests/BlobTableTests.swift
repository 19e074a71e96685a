import Foundation
import NIOCore
import Testing
import WidgetProto

@testable import WidgetServer

/// Uploaded files: their pieces, their users, and when they expire.
struct BlobTableTests {
  private let start = NIODeadline.uptimeNanoseconds(1_000)
  private let limits = {
    var limits = ServerLimits()
    (limits.blobBytesMax, limits.blobBytesPerUIDMax) = (8, 12)
    (limits.blobsPerUIDMax, limits.blobIdleSeconds) = (2, 60)
    return limits
  }()

  private func reason(_ body: () throws(RPCStatus) -> Void) -> String? {
    do throws(RPCStatus) {
      try body()
      return nil
    } catch { return error.reason }
  }

  @Test func `pieces make a file, and a repeated piece counts once`() throws {
    var table = BlobTable(folder: "/tmp")
    let first = try table.add(
      UploadBlobRequest(data: [1, 2, 3], name: "a.png", contentType: "image/png"), by: 1, at: start,
      limits)
    let piece = UploadBlobRequest(blobID: first.blobID, offset: 3, data: [4, 5])
    for _ in 0..<2 {
      #expect(try table.add(piece, by: 1, at: start, limits).size == 5)
    }
    let all = try table.piece(
      ReadBlobRequest(blobID: first.blobID), for: 1, isOwner: false, at: start, limits)
    #expect(
      all
        == ReadBlobResponse(
          data: [1, 2, 3, 4, 5], size: 5, name: "a.png", contentType: "image/png"))
    let part = ReadBlobRequest(blobID: first.blobID, offset: 3, sizeMax: 1)
    #expect(try table.piece(part, for: 1, isOwner: false, at: start, limits).data == [4])
    let end = ReadBlobRequest(blobID: first.blobID, offset: .max)
    #expect(try table.piece(end, for: 1, isOwner: false, at: start, limits).data == [])
  }

  @Test func `pieces that do not fit are refused, and change nothing`() throws {
    var table = BlobTable(folder: "/tmp")
    let id = try table.add(UploadBlobRequest(data: [1, 2]), by: 1, at: start, limits).blobID
    for (offset, data) in [(3, [9]), (1, [9]), (1, [2, 3])] as [(UInt64, [UInt8])] {
      let wrong = reason { () throws(RPCStatus) in
        _ = try table.add(
          UploadBlobRequest(blobID: id, offset: offset, data: data), by: 1, at: start, limits)
      }
      #expect(wrong == "BLOB_OFFSET_MISMATCH", "\(offset) \(data)")
    }
    let whole = try table.piece(
      ReadBlobRequest(blobID: id), for: 1, isOwner: false, at: start, limits)
    #expect(whole.data == [1, 2])
  }

  @Test func `only its user and owners can read a blob`() throws {
    var table = BlobTable(folder: "/tmp")
    let id = try table.add(UploadBlobRequest(data: [7]), by: 1, at: start, limits).blobID
    let read = ReadBlobRequest(blobID: id)
    #expect(
      reason { () throws(RPCStatus) in
        _ = try table.piece(read, for: 2, isOwner: false, at: start, limits)
      } == "BLOB_NOT_FOUND")
    #expect(
      reason { () throws(RPCStatus) in
        let more = UploadBlobRequest(blobID: id, offset: 1, data: [8])
        _ = try table.add(more, by: 2, at: start, limits)
      } == "BLOB_NOT_FOUND")
    #expect(try table.piece(read, for: 0, isOwner: true, at: start, limits).data == [7])
    table.delete(id, by: 2, isOwner: false)
    #expect(try table.piece(read, for: 1, isOwner: false, at: start, limits).size == 1)
    table.delete(id, by: 1, isOwner: false)
    table.delete(id, by: 1, isOwner: false)
    #expect(table.nextExpiry == nil)
  }

  @Test func `an owner who reads for a user gets only that user's blobs`() throws {
    var table = BlobTable(folder: "/tmp")
    let id = try table.add(UploadBlobRequest(data: [7]), by: 1, at: start, limits).blobID
    func read(for other: UInt32, by uid: UInt32, isOwner: Bool) -> String? {
      reason { () throws(RPCStatus) in
        let request = ReadBlobRequest(blobID: id, forUID: other)
        _ = try table.piece(request, for: uid, isOwner: isOwner, at: start, limits)
      }
    }
    #expect(read(for: 1, by: 0, isOwner: true) == nil)
    #expect(read(for: 2, by: 0, isOwner: true) == "BLOB_NOT_FOUND")
    #expect(read(for: 0, by: 0, isOwner: true) == "BLOB_NOT_FOUND")
    #expect(read(for: 1, by: 1, isOwner: false) == nil)
    // `forUID` gives a caller who is not an owner no access to that user's blobs.
    #expect(read(for: 1, by: 2, isOwner: false) == "BLOB_NOT_FOUND")
    #expect(read(for: 2, by: 1, isOwner: false) == "BLOB_NOT_FOUND")
  }

  @Test func `limits hold exactly, for each user separately`() throws {
    var table = BlobTable(folder: "/tmp")
    func add(_ count: Int, to id: String = "", at offset: UInt64 = 0, by uid: UInt32 = 1) -> String?
    {
      reason { () throws(RPCStatus) in
        let data = [UInt8](repeating: 0, count: count)
        _ = try table.add(
          UploadBlobRequest(blobID: id, offset: offset, data: data), by: uid, at: start, limits)
      }
    }
    #expect(add(9) == "QUOTA_EXCEEDED")
    let id = try table.add(
      UploadBlobRequest(data: [UInt8](repeating: 0, count: 7)), by: 1, at: start, limits
    ).blobID
    #expect(add(2, to: id, at: 7) == "QUOTA_EXCEEDED")
    #expect(add(1, to: id, at: 7) == nil)
    #expect(add(5) == "QUOTA_EXCEEDED")
    #expect(add(4) == nil)
    #expect(add(0) == "QUOTA_EXCEEDED")
    #expect(add(8, by: 2) == nil)
  }

  @Test func `the blobs of all clients have a limit, and those of owners do not count`() throws {
    var table = BlobTable(folder: "/tmp")
    var limits = limits
    limits.blobBytesTotalMax = 10
    func add(_ count: Int, by uid: UInt32, isOwner: Bool = false) -> RPCStatus? {
      do throws(RPCStatus) {
        let data = [UInt8](repeating: 0, count: count)
        _ = try table.add(
          UploadBlobRequest(data: data), by: uid, isOwner: isOwner, at: start, limits)
        return nil
      } catch { return error }
    }
    #expect(add(8, by: 0, isOwner: true) == nil)
    #expect(add(6, by: 1) == nil)
    #expect(add(5, by: 2)?.errorInfo?.metadata["limit"] == "blob_bytes_total_max")
    #expect(add(4, by: 2) == nil)
    #expect(add(4, by: 0, isOwner: true) == nil)
    table.expire(at: start + .seconds(60))
    // The call frees the files of both users, but not those of the owner.
    #expect(table.unusedCount == 4)
    #expect(add(8, by: 2) == nil)
    #expect(table.unusedUIDs == [0])
    table.removeAll()
  }

  @Test func `with few open files, clients have fewer blobs, and the refusal names the files`() {
    // 16 files are for the daemon, and a quarter of the others is for blobs.
    var table = BlobTable(folder: "/tmp", files: OpenFiles(allowed: 64))
    var limits = limits
    limits.blobsPerUIDMax = 20
    func add(by uid: UInt32, isOwner: Bool = false) -> RPCStatus? {
      do throws(RPCStatus) {
        _ = try table.add(UploadBlobRequest(data: []), by: uid, isOwner: isOwner, at: start, limits)
        return nil
      } catch { return error }
    }
    for _ in 0..<12 { #expect(add(by: 1) == nil) }
    let refusal = add(by: 1)
    #expect(refusal?.errorInfo?.metadata == ["limit": "open_files", "maximum": "64"])
    #expect(refusal?.message.contains("at most 12 blobs of clients") == true)
    #expect(refusal?.message.contains("raise LimitNOFILE=") == true)
    #expect(add(by: 0, isOwner: true) == nil)
    table.removeAll()
  }

  @Test func `clients have few blobs together, also without content, and owners have others`()
    throws
  {
    var table = BlobTable(folder: "/tmp")
    var limits = limits
    limits.blobsMax = 3
    func add(by uid: UInt32, isOwner: Bool = false) -> RPCStatus? {
      do throws(RPCStatus) {
        _ = try table.add(UploadBlobRequest(data: []), by: uid, isOwner: isOwner, at: start, limits)
        return nil
      } catch { return error }
    }
    for uid in [0, 1, 2, 3] as [UInt32] { #expect(add(by: uid, isOwner: uid == 0) == nil) }
    #expect(add(by: 4)?.errorInfo?.metadata == ["limit": "blobs_max", "maximum": "3"])
    #expect(add(by: 0, isOwner: true) == nil)
    // The files of forgotten blobs are open until they are freed.
    table.expire(at: start + .seconds(60))
    #expect(table.unusedCount == 5)
    #expect(add(by: 4)?.errorInfo?.metadata["limit"] == "blobs_max")
    for uid in table.unusedUIDs {
      while table.unusedCount(of: uid) > 0 { table.freePart(of: uid) }
    }
    #expect(add(by: 4) == nil)
    table.removeAll()
  }

  @Test func `a blob that nobody uses expires`() throws {
    var table = BlobTable(folder: "/tmp")
    let id = try table.add(UploadBlobRequest(data: [1]), by: 1, at: start, limits).blobID
    let read = ReadBlobRequest(blobID: id)
    let later = start + .seconds(59)
    #expect(try table.piece(read, for: 1, isOwner: false, at: later, limits).size == 1)
    #expect(table.nextExpiry == later + .seconds(60))
    table.expire(at: later + .seconds(59))
    #expect(table.nextExpiry != nil)
    #expect(
      reason { () throws(RPCStatus) in
        _ = try table.piece(read, for: 1, isOwner: false, at: later + .seconds(60), limits)
      } == "BLOB_NOT_FOUND")
    #expect(table.nextExpiry == nil)
  }

  @Test func `the next expiry is that of the blob whose last use is oldest`() throws {
    var table = BlobTable(folder: "/tmp")
    var limits = limits
    limits.blobsPerUIDMax = 8
    var ids: [String] = []
    for second in 0..<6 as Range<Int64> {
      ids.append(
        try table.add(
          UploadBlobRequest(data: [1]), by: 1, at: start + .seconds(second), limits
        ).blobID)
    }
    #expect(table.nextExpiry == start + .seconds(60))
    _ = try table.piece(
      ReadBlobRequest(blobID: ids[0]), for: 1, isOwner: false, at: start + .seconds(9), limits)
    #expect(table.nextExpiry == start + .seconds(61))
    table.delete(ids[1], by: 1, isOwner: false)
    table.delete(ids[3], by: 1, isOwner: false)
    #expect(table.nextExpiry == start + .seconds(62))
    _ = try table.add(
      UploadBlobRequest(blobID: ids[2], offset: 1, data: [2]), by: 1, at: start + .seconds(10),
      limits)
    #expect(table.nextExpiry == start + .seconds(64))
    table.expire(at: start + .seconds(65))
    #expect(table.nextExpiry == start + .seconds(69))
    #expect(table.unusedCount == 2)
    table.removeAll()
    #expect(table.nextExpiry == nil)
  }

  @Test func `blobs that were deleted, expired and freed leave nothing in the limits`() throws {
    var table = BlobTable(folder: "/tmp")
    var limits = limits
    let part = BlobTable.freedBytesMax
    (limits.blobBytesMax, limits.blobBytesPerUIDMax) = (2 * part, 2 * part)
    (limits.blobBytesTotalMax, limits.blobsMax) = (3 * part, 3)
    func add(_ count: Int, by uid: UInt32) -> String? {
      do throws(RPCStatus) {
        let data = [UInt8](repeating: 1, count: count)
        _ = try table.add(UploadBlobRequest(data: data), by: uid, at: start, limits)
        return nil
      } catch { return error.errorInfo?.metadata["limit"] }
    }
    for _ in 0..<3 {
      #expect(add(part + 1, by: 1) == nil)
      #expect(add(3, by: 2) == nil)
      let id = try table.add(UploadBlobRequest(data: [4]), by: 2, at: start, limits).blobID
      table.delete(id, by: 2, isOwner: false)
      table.expire(at: start + .seconds(60))
      let (first, second) = (table.takeUsersToFree(), table.takeUsersToFree())
      #expect(Set(first) == [1, 2])
      #expect(second.isEmpty)
      for uid in [1, 2] as [UInt32] {
        while table.unusedCount(of: uid) > 0 { table.freePart(of: uid) }
      }
      #expect(table.unusedCount == 0)
    }
    #expect(add(2 * part, by: 1) == nil)
    #expect(add(1, by: 1) == "blob_bytes_per_uid_max")
    #expect(add(part, by: 2) == nil)
    #expect(add(0, by: 3) == nil)
    #expect(add(0, by: 4) == "blobs_max")
    limits.blobsMax = 4
    #expect(add(1, by: 4) == "blob_bytes_total_max")
    table.removeAll()
  }

  @Test func `the files of forgotten blobs are freed in parts, and then closed`() throws {
    let folder = try TestFolder()
    var table = BlobTable(folder: folder.path)
    var limits = limits
    let size = 2 * BlobTable.freedBytesMax + 1
    (limits.blobBytesMax, limits.blobBytesPerUIDMax) = (size, size)
    let large = [UInt8](repeating: 1, count: size)
    _ = try table.add(UploadBlobRequest(data: large), by: 1, at: start, limits)
    _ = try table.add(UploadBlobRequest(data: [1]), by: 2, at: start, limits)
    table.expire(at: start + .seconds(60))
    #expect(table.nextExpiry == nil)
    #expect(openFiles(in: folder.path) == 2)
    // The file of one user does not wait for that of another.
    table.freePart(of: 2)
    #expect(table.unusedUIDs == [1])
    #expect(openFiles(in: folder.path) == 1)
    var parts = 0
    while table.unusedCount > 0 {
      parts += 1
      table.freePart(of: 1)
    }
    #expect(parts == 3)
    #expect(openFiles(in: folder.path) == 0)
    let id = try table.add(UploadBlobRequest(data: [1]), by: 1, at: start, limits).blobID
    table.delete(id, by: 1, isOwner: false)
    table.removeAll()
    #expect(openFiles(in: folder.path) == 0)
  }

  @Test func `a user who deletes empty blobs takes no places of others`() throws {
    let folder = try TestFolder()
    var table = BlobTable(folder: folder.path)
    var limits = limits
    limits.blobsMax = 2
    for _ in 0..<5 {
      let id = try table.add(UploadBlobRequest(data: []), by: 1, at: start, limits).blobID
      table.delete(id, by: 1, isOwner: false)
    }
    #expect(openFiles(in: folder.path) == 0)
    for _ in 0..<2 {
      _ = try table.add(UploadBlobRequest(data: []), by: 2, at: start, limits)
    }
    table.removeAll()
  }

  @Test func `the files of deleted blobs count for their user until they are closed`() throws {
    var table = BlobTable(folder: "/tmp")
    var limits = limits
    let size = BlobTable.freedBytesMax + 1
    (limits.blobBytesMax, limits.blobBytesPerUIDMax) = (size, 4 * size)
    limits.blobsMax = 3
    for _ in 0..<limits.blobsPerUIDMax {
      let large = UploadBlobRequest(data: [UInt8](repeating: 1, count: size))
      let id = try table.add(large, by: 1, at: start, limits).blobID
      table.delete(id, by: 1, isOwner: false)
    }
    #expect(table.unusedCount(of: 1) == 2)
    func add(by uid: UInt32) -> String? {
      do throws(RPCStatus) {
        _ = try table.add(UploadBlobRequest(data: [1]), by: uid, at: start, limits)
        return nil
      } catch { return error.errorInfo?.metadata["limit"] }
    }
    // Each call of the user frees a part of the first file, which has two parts.
    #expect(add(by: 1) == "blobs_per_uid_max")
    #expect(add(by: 2) == nil)
    #expect(add(by: 1) == nil)
    #expect(table.unusedCount(of: 1) == 1)
    table.removeAll()
  }

  @Test func `the bytes of deleted blobs count for their user until they are freed`() throws {
    var table = BlobTable(folder: "/tmp")
    var limits = limits
    let part = BlobTable.freedBytesMax
    (limits.blobBytesMax, limits.blobBytesPerUIDMax) = (3 * part, 4 * part)
    limits.blobsPerUIDMax = 8
    func add(_ count: Int, by uid: UInt32 = 1) -> String? {
      do throws(RPCStatus) {
        let data = [UInt8](repeating: 1, count: count)
        _ = try table.add(UploadBlobRequest(data: data), by: uid, at: start, limits)
        return nil
      } catch { return error.errorInfo?.metadata["limit"] }
    }
    let large = UploadBlobRequest(data: [UInt8](repeating: 1, count: 3 * part))
    let id = try table.add(large, by: 1, at: start, limits).blobID
    table.delete(id, by: 1, isOwner: false)
    #expect(add(part) == nil)
    #expect(table.unusedCount(of: 1) == 1)
    // A call frees one part, which is enough for the largest piece that a frame has.
    #expect(add(2 * part) == "blob_bytes_per_uid_max")
    #expect(add(2 * part) == nil)
    #expect(add(4 * part, by: 2) == "blob_bytes_max")
    #expect(add(3 * part, by: 2) == nil)
    // No call frees more than it needs.
    #expect(table.unusedCount(of: 1) == 1)
    #expect(add(part) == nil)
    #expect(table.unusedCount(of: 1) == 0)
    #expect(add(1) == "blob_bytes_per_uid_max")
    table.removeAll()
  }

  @Test func `an upload frees bytes of others' deleted blobs, first of the oldest`() throws {
    var table = BlobTable(folder: "/tmp")
    var limits = limits
    let part = BlobTable.freedBytesMax
    (limits.blobBytesMax, limits.blobBytesPerUIDMax) = (2 * part, 4 * part)
    (limits.blobBytesTotalMax, limits.blobsPerUIDMax) = (4 * part, 8)
    func add(_ count: Int) -> String? {
      do throws(RPCStatus) {
        let data = [UInt8](repeating: 1, count: count)
        _ = try table.add(UploadBlobRequest(data: data), by: 2, at: start, limits)
        return nil
      } catch { return error.errorInfo?.metadata["limit"] }
    }
    for uid in [3, 1] as [UInt32] {
      let large = UploadBlobRequest(data: [UInt8](repeating: 1, count: 2 * part))
      let id = try table.add(large, by: uid, at: start, limits).blobID
      table.delete(id, by: uid, isOwner: false)
    }
    #expect(add(1) == nil)
    #expect(add(part - 1) == nil)
    #expect(table.unusedCount(of: 3) == 1)
    // A call frees one part at most. So the next one has room.
    #expect(add(2 * part) == "blob_bytes_total_max")
    #expect(table.unusedCount(of: 3) == 0)
    #expect(add(2 * part) == nil)
    #expect(table.unusedCount(of: 1) == 1)
    table.removeAll()
  }

  /// The number of open files of a folder, also of those without a name.
  private func openFiles(in folder: String) -> Int {
    let all = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    return all.count { number in
      let path = try? FileManager.default.destinationOfSymbolicLink(
        atPath: "/proc/self/fd/\(number)")
      return path?.hasPrefix(folder + "/") ?? false
    }
  }

  @Test(arguments: [
    UploadBlobRequest(offset: 1, data: [1]), UploadBlobRequest(data: [1], name: "a/b"),
    UploadBlobRequest(data: [1], name: String(repeating: "n", count: 256)),
    UploadBlobRequest(data: [1], contentType: "a\r\nb"),
  ])
  func `a wrong first piece is refused`(request: UploadBlobRequest) {
    var table = BlobTable(folder: "/tmp")
    #expect(
      reason { () throws(RPCStatus) in
        _ = try table.add(request, by: 1, at: start, limits)
      } == "INVALID_FIELD")
    #expect(table.nextExpiry == nil)
  }

  @Test func `a missing folder is an error that names it`() {
    var table = BlobTable(folder: "/nowhere/at/all")
    #expect(
      reason { () throws(RPCStatus) in
        _ = try table.add(UploadBlobRequest(data: [1]), by: 1, at: start, limits)
      } == "STORAGE_FAILED")
  }
}
