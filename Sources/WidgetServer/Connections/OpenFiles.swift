import Glibc
import WidgetProto

/// The number of files that the process may have open, and the parts of connections and blobs.
///
/// If there are too few files, there are fewer connections and blobs than their limits allow.
/// Otherwise the kernel would refuse the connections of owners, too.
package struct OpenFiles: Hashable, Sendable {
  /// The maximum number of open files.
  let allowed: Int

  static let unlimited = OpenFiles(allowed: .max)
  /// The files for the store, sockets, timers and the blobs of owners, which `blobs_max` does not
  /// count. With few files, a quarter of them.
  private static let otherFiles = 192
  /// Higher limits count as this number, so that sums do not overflow.
  private static let limitMax = 1 << 40

  /// Too few open files for the limits.
  struct Shortage: Hashable {
    let allowed: Int
    let needed: Int

    /// What the administrator can do, within a sentence.
    var remedy: String {
      "raise LimitNOFILE= of the daemon's unit, or `ulimit -n` of its shell, to at least \(needed)"
    }
  }

  /// The open files that the system allows this process now.
  package static var current: OpenFiles {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
      return .unlimited
    }
    return OpenFiles(allowed: Int(clamping: limit.rlim_cur))
  }

  /// The files for connections and for blobs of clients.
  private var shared: Int { allowed - min(OpenFiles.otherFiles, allowed / 4) }

  /// The most blobs of clients: what `connections_max` connections leave, and at least a quarter.
  func blobs(_ limits: ServerLimits) -> Int {
    min(limits.blobsMax, max(shared / 4, shared - OpenFiles.connectionFiles(limits)))
  }

  /// The most connections.
  func connections(_ limits: ServerLimits) -> Int {
    min(limits.connectionsMax, (shared - blobs(limits)) / 2)
  }

  /// nil if there are enough files for all connections and blobs.
  func shortage(_ limits: ServerLimits) -> Shortage? {
    guard connections(limits) < limits.connectionsMax || blobs(limits) < limits.blobsMax else {
      return nil
    }
    return Shortage(
      allowed: allowed,
      needed: OpenFiles.otherFiles + OpenFiles.connectionFiles(limits)
        + min(limits.blobsMax, OpenFiles.limitMax))
  }

  /// A line for the log if there are too few files for the limits.
  package func warning(_ limits: ServerLimits) -> String? {
    guard let shortage = shortage(limits) else { return nil }
    return "the system allows the daemon only \(allowed) open files; so it takes at most"
      + " \(connections(limits)) connections (connections_max = \(limits.connectionsMax)) and"
      + " \(blobs(limits)) blobs of clients (blobs_max = \(limits.blobsMax)); \(shortage.remedy)"
  }

  /// Each connection is an open file, and a second one while it is handed over.
  private static func connectionFiles(_ limits: ServerLimits) -> Int {
    2 * min(limits.connectionsMax, limitMax)
  }
}

extension RPCStatus {
  /// - Parameters:
  ///   - objects: Connections or blobs, in words.
  ///   - own: What the caller can do, as the beginning of a sentence.
  static func fewOpenFiles(
    _ maximum: Int, _ objects: String, _ own: String, _ shortage: OpenFiles.Shortage
  ) -> RPCStatus {
    RPCStatus(
      .resourceExhausted, "QUOTA_EXCEEDED",
      "The daemon takes at most \(maximum) \(objects), because the system allows it only "
        + "\(shortage.allowed) open files. \(own), or \(shortage.remedy).",
      metadata: ["limit": "open_files", "maximum": "\(shortage.allowed)"])
  }
}
