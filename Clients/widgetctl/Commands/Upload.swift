import Glibc
import Synchronization
import WidgetClient

/// Uploads files for events.
enum Upload {
  /// Media types by a file's extension. Files with another extension get no media type.
  private static let types = [
    "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif",
    "webp": "image/webp", "svg": "image/svg+xml", "pdf": "application/pdf", "txt": "text/plain",
    "json": "application/json", "mp3": "audio/mpeg", "mp4": "video/mp4", "zip": "application/zip",
  ]

  /// The time for the deletion of blobs, also after the end of `--timeout`. If the daemon reads the
  /// requests later, it still deletes the blobs. All others expire (`blob_idle_seconds`).
  static let deletionTime = Duration.milliseconds(500)

  /// Uploads the files of one event. If one fails, the daemon keeps none of them.
  ///
  /// - Returns: the blobs' ids, in the order of the paths.
  static func run(_ paths: [String], _ session: Session) async throws -> [String] {
    try await all(paths, upload: { try await run($0, session) }) { await delete($0, session) }
  }

  /// Sends the event with these blobs. If the daemon has certainly not taken the event, it keeps none of
  /// them.
  static func send(
    _ request: SendEventRequest, with blobs: [String], _ session: Session
  ) async throws -> SendEventResponse {
    let isSent = Mutex(false)
    var options = session.options
    let pendingChange = options.pendingChange
    options.pendingChange = { isPending in
      isSent.withLock { $0 = $0 || isPending }
      pendingChange?(isPending)
    }
    let sending = options
    return try await send(
      with: blobs, isSent: { isSent.withLock { $0 } }, delete: { await delete($0, session) }
    ) {
      try await session.client.sendEvent(request, options: sending)
    }
  }

  /// Sends an event. Deletes its blobs if the daemon has certainly not taken it: nobody can use them, and
  /// they count in the user's quota.
  ///
  /// - Parameter isSent: whether the event has left this process. The failure of a cancelled call, or of
  ///   a call whose message has no encoding, does not tell this.
  static func send<Answer: Sendable>(
    with blobs: [String], isSent: () -> Bool, delete: ([String]) async -> Void,
    _ send: () async throws -> Answer
  ) async throws -> Answer {
    do {
      guard !Task.isCancelled else { throw ClientError.cancelled }
      return try await send()
    } catch {
      if !isSent() || (error as? ClientError)?.isOfUnmadeChange == true {
        await delete(blobs)
      }
      throw error
    }
  }

  /// Deletes blobs that nobody can use, as far as the daemon answers in `deletionTime`.
  static func delete(_ blobs: [String], _ session: Session) async {
    // A task of its own, because cancellation may be the reason.
    await Task {
      await deleteAtOnce(blobs) { blob, options in
        _ = try? await session.client.deleteBlob(DeleteBlobRequest(blobID: blob), options: options)
      }
    }
    .value
  }

  /// Makes the calls for all blobs at the same time, so that they share one limited time.
  static func deleteAtOnce(
    _ blobs: [String], _ call: @escaping @Sendable (String, CallOptions) async -> Void
  ) async {
    await withTaskGroup(of: Void.self) { group in
      for blob in blobs {
        group.addTask { await call(blob, CallOptions(timeout: deletionTime)) }
      }
    }
  }

  /// Uploads files one after the other. If one fails, deletes the others: nobody can use them, and they
  /// count in the user's quota.
  static func all(
    _ paths: [String], upload: (String) async throws -> String, delete: ([String]) async -> Void
  ) async throws -> [String] {
    var blobs: [String] = []
    do {
      for path in paths { blobs.append(try await upload(path)) }
    } catch {
      await delete(blobs)
      throw error
    }
    return blobs
  }

  /// - Returns: the blob's id.
  private static func run(_ path: String, _ session: Session) async throws -> String {
    // Do not block on a pipe without a writer.
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { throw failure(path) }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      let what =
        switch status.st_mode & S_IFMT {
        case S_IFIFO: "a pipe, and its length is not known; write it to a file, and upload that"
        case S_IFDIR: "a folder; upload its files, or an archive of it"
        default: "not a regular file; upload a file"
        }
      throw CommandFailure(.otherError, "cannot upload \(path): it is \(what)")
    }
    let name = String(path.split(separator: "/").last ?? "file")
    let ending = name.split(separator: ".").last.map { $0.lowercased() } ?? ""
    do {
      return try await session.client.upload(
        name: name, contentType: types[ending] ?? "", options: session.options
      ) { bytesMax in try piece(of: file, bytesMax, path) }
    } catch let error as ClientError where error.reason == "QUOTA_EXCEEDED" {
      let reason = reason(CommandFailure(error), bytes: Int64(status.st_size))
      throw CommandFailure(.quotaExceeded, "\(path) cannot be uploaded: \(reason)")
    }
  }

  /// - Parameter bytes: the file's size.
  static func reason(_ failure: CommandFailure, bytes: Int64) -> String {
    guard failure.metadata["limit"] == "blob_bytes_max",
      let most = failure.metadata["maximum"].flatMap(Int64.init)
    else { return failure.message }
    return "it has \(bytes) bytes, and a file may have at most \(most); upload a smaller one, "
      + "or raise blob_bytes_max in the daemon's configuration"
  }

  private static func piece(of file: CInt, _ bytesMax: Int, _ path: String) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: bytesMax)
    while true {
      let count = read(file, &bytes, bytesMax)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw failure(path) }
      return Array(bytes.prefix(count))
    }
  }

  private static func failure(_ path: String) -> CommandFailure {
    let error = errno
    guard error != ENOENT else {
      return CommandFailure(
        .notFound, "cannot upload \(path): there is no such file; check the path")
    }
    return CommandFailure(
      ExitStatus(errno: error), "cannot read \(path): \(String(cString: strerror(error)))")
  }
}

extension ClientError {
  /// Whether the change of the failed call was certainly not made.
  var isOfUnmadeChange: Bool {
    switch self {
    case .status(let status):
      switch status.code {
      case .invalidArgument, .notFound, .alreadyExists, .permissionDenied, .failedPrecondition,
        .aborted, .outOfRange, .unimplemented, .unauthenticated:
        true
      // The change was made, and only its answer is too large.
      case .resourceExhausted: reason != "RESPONSE_TOO_LARGE"
      case .unavailable: reason == "STORAGE_FAILED"
      case .ok, .cancelled, .unknown, .deadlineExceeded, .internalError, .dataLoss: false
      }
    // Nothing was sent.
    case .unavailable, .socketNotFound, .requestTooLong, .wire(.unrepresentable): true
    case .connectionLost(_, let mayBeMade), .deadlineExceeded(_, let mayBeMade): !mayBeMade
    case .unresponsive, .cancelled, .closed, .protocolViolation, .wire: false
    }
  }
}
