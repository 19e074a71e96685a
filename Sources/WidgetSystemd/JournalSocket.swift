import Glibc
import Synchronization

/// Writes structured entries to the journal (journald's native protocol, one datagram an entry).
///
/// An entry that is too large for a datagram goes as a sealed memory file. No call waits: while
/// journald does not read, entries are refused and counted.
public final class JournalSocket: Sendable {
  private let socket: DatagramSocket
  private let refused = Atomic<Int>(0)

  /// The address of journald.
  public static let standardPath = "/run/systemd/journal/socket"

  /// Opens a socket for sending. Only `send` shows whether journald listens.
  public init(path: String = JournalSocket.standardPath) throws(SystemdError) {
    guard path.utf8.first == UInt8(ascii: "/"), let address = UnixAddress(path) else {
      throw .argument(
        name: "The journal's socket",
        expected: "an absolute path of at most \(UnixAddress.pathBytesMax) bytes")
    }
    socket = try DatagramSocket(to: address)
  }

  /// The number of refused entries so far.
  public var refusedCount: Int { refused.load(ordering: .relaxed) }

  /// Sends an entry, as a whole or not at all. Throws `busy` while journald has too much to read,
  /// and `system` if journald cannot be reached.
  public func send(_ entry: JournalEntry) throws(SystemdError) {
    do {
      try deliver(entry.bytes)
    } catch {
      refused.wrappingAdd(1, ordering: .relaxed)
      throw error
    }
  }

  private func deliver(_ bytes: [UInt8]) throws(SystemdError) {
    guard !bytes.isEmpty else { throw .argument(name: "A journal entry", expected: "not empty") }
    var status = socket.send(bytes)
    if status == EMSGSIZE || status == ENOBUFS {
      let file = try MemoryFile(name: "journal-entry", bytes: bytes)
      status = socket.send([], descriptors: [file.descriptor])
    }
    switch status {
    case 0: return
    case EAGAIN: throw .busy(operation: "Writing to the journal")
    default: throw .system(operation: "Writing to the journal", errno: status)
    }
  }

  /// Whether output to a descriptor goes to the journal. `$JOURNAL_STREAM` has the device and inode
  /// of the stream that the service manager connected. The variable alone is not enough, because
  /// the descriptor may have been redirected since.
  public static func isJournal(
    _ descriptor: CInt, environment: ProcessEnvironment = .process
  ) -> Bool {
    guard let text = environment.value("JOURNAL_STREAM") else { return false }
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, let device = decimal(parts[0]), let inode = decimal(parts[1]) else {
      return false
    }
    var status = stat()
    return fstat(descriptor, &status) == 0 && UInt64(status.st_dev) == device
      && UInt64(status.st_ino) == inode
  }
}
