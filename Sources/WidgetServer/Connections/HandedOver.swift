import Glibc
import WidgetProto

/// The connections of a server that ended, for the next server.
///
/// The sockets are open. The owner must give the value to `WidgetServer.start`, pass the parts on
/// to another process, or `discard` it.
public struct HandedOver: Sendable {
  /// The state of the connections, as bytes for another process of the same program.
  public let description: [UInt8]
  /// The connections' sockets, by identity. The description names a socket by its identity.
  public let sockets: [String: CInt]

  /// The connections of another process.
  public init(description: [UInt8], sockets: [String: CInt]) {
    self.description = description
    self.sockets = sockets
  }

  init(records: [[UInt8]] = [], sockets: [String: CInt]) {
    var description: [UInt8] = []
    // The records can have hundreds of MiB.
    description.reserveCapacity(records.reduce(0) { $0 + 4 + $1.count })
    for record in records {
      withUnsafeBytes(of: UInt32(clamping: record.count).bigEndian) { description += $0 }
      description += record
    }
    self.init(description: description, sockets: sockets)
  }

  /// The inode of a socket. It identifies the open socket on this machine, in every process and
  /// under every descriptor. nil if the descriptor is not a socket.
  public static func identity(of socket: CInt) -> String? {
    var status = stat()
    guard fstat(socket, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return nil }
    return "\(status.st_ino)"
  }

  /// Closes the connections.
  public func discard() {
    for socket in sockets.values { close(socket) }
  }

  /// The limits of a description. A connection may have all bytes that its peer did not read.
  static let limits = WireLimits(arenaBytesMax: 1 << 30)

  /// The readable part of a description.
  struct Parsed {
    var head: Handover
    var connections: [HandedConnection] = []
    /// Connections that cannot be read.
    var unreadableCount = 0
  }

  /// nil if this is no description that this version knows, or not a whole one.
  func parsed(limits: WireLimits = HandedOver.limits) -> Parsed? {
    let codec = WireCodec(limits: limits)
    var rest = description[...]
    guard let first = HandedOver.takeRecord(&rest),
      let head = try? HandedOver.decode(Handover.self, first, codec),
      head.format == Handover.currentFormat
    else { return nil }
    var parsed = Parsed(head: head)
    while let record = HandedOver.takeRecord(&rest) {
      do throws(WireError) {
        parsed.connections.append(
          try HandedOver.decode(HandedConnection.self, record, codec))
      } catch {
        parsed.unreadableCount += 1
      }
    }
    let count = parsed.connections.count + parsed.unreadableCount
    guard rest.isEmpty, count == Int(head.connectionCount) else { return nil }
    return parsed
  }

  /// Decodes a record without a copy of its bytes.
  private static func decode<M: WireMessage>(
    _ type: M.Type, _ record: ArraySlice<UInt8>, _ codec: WireCodec
  ) throws(WireError) -> M {
    let result: Result<M, WireError> = record.withUnsafeBytes { bytes in
      do throws(WireError) { return .success(try codec.decode(type, from: bytes)) } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  private static func takeRecord(_ bytes: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    guard bytes.count >= 4 else { return nil }
    let count = bytes.prefix(4).reduce(0) { $0 << 8 | Int($1) }
    guard bytes.count - 4 >= count else { return nil }
    defer { bytes = bytes.dropFirst(4 + count) }
    return bytes.dropFirst(4).prefix(count)
  }
}
