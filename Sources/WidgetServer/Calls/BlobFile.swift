import Glibc
import WidgetProto

/// The file of a blob. It has no name, so the kernel deletes it when the daemon ends, also after a
/// crash.
///
/// The file is closed with the last reference, because another thread can still use the file of a
/// deleted blob. All methods can block.
final class BlobFile: Sendable {
  private let descriptor: CInt

  /// Makes an empty file.
  init(in folder: String) throws(RPCStatus) {
    var path = Array("\(folder)/.blob-XXXXXX".utf8CString)
    let file = mkstemp(&path)
    guard file >= 0 else { throw .blobFailed("make a file in \(folder)", errno) }
    unlink(path)
    _ = fcntl(file, F_SETFD, FD_CLOEXEC)
    descriptor = file
  }

  deinit { close(descriptor) }

  func write(_ bytes: [UInt8], at offset: Int) throws(RPCStatus) {
    var written = 0
    while written < bytes.count {
      let count = bytes.withUnsafeBytes {
        pwrite(
          descriptor, $0.baseAddress?.advanced(by: written), bytes.count - written,
          off_t(offset + written))
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw .blobFailed("write the blob", errno) }
      written += count
    }
  }

  func read(at offset: Int, count: Int) throws(RPCStatus) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: max(0, count))
    var done = 0
    while done < bytes.count {
      let rest = bytes.count - done
      let read = bytes.withUnsafeMutableBytes {
        pread(descriptor, $0.baseAddress?.advanced(by: done), rest, off_t(offset + done))
      }
      if read < 0, errno == EINTR { continue }
      guard read > 0 else { throw .blobFailed("read the blob", errno) }
      done += read
    }
    return bytes
  }

  /// Frees the bytes after a size. Returns whether this succeeded.
  func shorten(to size: Int) -> Bool { ftruncate(descriptor, off_t(size)) == 0 }
}

/// A piece that is admitted, and counts in the limits. `run` puts it into the file of its blob.
struct BlobUpload: Sendable {
  let request: UploadBlobRequest
  let uid: UInt32
  let isOwners: Bool
  /// The blob's file; nil for a new blob.
  let file: BlobFile?
  /// The size of the blob before the piece.
  let size: Int
  /// The folder for the file of a new blob.
  let folder: String

  /// Whether the client may have sent the piece again.
  var isRepeated: Bool { request.offset < UInt64(size) }

  /// Writes the piece, or compares a repeated piece with the file. Returns the file. It can block, so it
  /// runs on another thread.
  func run() -> Result<BlobFile, RPCStatus> {
    do throws(RPCStatus) { return .success(try carryOut()) } catch { return .failure(error) }
  }

  private func carryOut() throws(RPCStatus) -> BlobFile {
    guard let file else {
      let new = try BlobFile(in: folder)
      try new.write(request.data, at: 0)
      return new
    }
    let offset = Int(clamping: request.offset)
    guard isRepeated else {
      try file.write(request.data, at: offset)
      return file
    }
    let known = try file.read(at: offset, count: min(request.data.count, size - offset))
    guard known == request.data else { throw .blobOffset(request.blobID, size: UInt64(size)) }
    return file
  }
}

/// A piece to be read.
struct BlobPiece: Sendable {
  let file: BlobFile
  let offset: Int
  let count: Int
  /// The answer without the bytes.
  let answer: ReadBlobResponse

  /// Reads the piece. It can block, so it runs on another thread.
  func run() -> Result<ReadBlobResponse, RPCStatus> {
    var answer = answer
    do throws(RPCStatus) { answer.data = try file.read(at: offset, count: count) } catch {
      return .failure(error)
    }
    return .success(answer)
  }
}

extension RPCStatus {
  static func blobNotFound(_ id: String) -> RPCStatus {
    RPCStatus(
      .notFound, "BLOB_NOT_FOUND",
      "There is no blob \"\(id.prefix(64))\". It may have expired because no client used it. Upload "
        + "the file again.",
      metadata: ["blob_id": String(id.prefix(64))])
  }

  static func blobOffset(_ id: String, size: UInt64) -> RPCStatus {
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
