import Glibc

/// The kind of an open descriptor, for a service.
public enum DescriptorKind: Sendable, Equatable {
  /// A Unix stream socket that listens. The path is nil if it is bound to none; an abstract name
  /// begins with `@`.
  case listener(path: String?)
  /// A Unix stream socket that is, or was, connected to a peer.
  case connection
  /// A file in memory without a name in the file system; see `MemoryFile`.
  case memoryFile(bytes: Int)
  /// Any other regular file.
  case regularFile(bytes: Int)
  /// Another descriptor, or one that is not open.
  case other

  /// Finds the kind of a descriptor, without changing it.
  public init(of descriptor: CInt) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else {
      self = .other
      return
    }
    switch status.st_mode & S_IFMT {
    case S_IFSOCK: self = DescriptorKind.socket(descriptor)
    case S_IFREG where status.st_nlink == 0 && Seals.of(descriptor) != nil:
      self = .memoryFile(bytes: Int(status.st_size))
    case S_IFREG: self = .regularFile(bytes: Int(status.st_size))
    default: self = .other
    }
  }

  private static func socket(_ descriptor: CInt) -> DescriptorKind {
    guard option(SO_DOMAIN, of: descriptor) == AF_UNIX,
      option(SO_TYPE, of: descriptor) == CInt(SOCK_STREAM.rawValue)
    else { return .other }
    if option(SO_ACCEPTCONN, of: descriptor) == 1 { return .listener(path: path(of: descriptor)) }
    var address = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let isConnected = withUnsafeMutableBytes(of: &address) {
      $0.withMemoryRebound(to: sockaddr.self) {
        getpeername(descriptor, $0.baseAddress, &length) == 0
      }
    }
    return isConnected ? .connection : .other
  }

  private static func option(_ name: CInt, of descriptor: CInt) -> CInt? {
    var value: CInt = 0
    var length = socklen_t(MemoryLayout<CInt>.size)
    return getsockopt(descriptor, SOL_SOCKET, name, &value, &length) == 0 ? value : nil
  }

  private static func path(of descriptor: CInt) -> String? {
    // A path of the full length has no zero at its end; the longer storage has.
    var address = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return withUnsafeMutableBytes(of: &address) { bytes in
      let status = bytes.withMemoryRebound(to: sockaddr.self) {
        getsockname(descriptor, $0.baseAddress, &length)
      }
      guard status == 0, Int(length) > UnixAddress.pathOffset, Int(length) <= bytes.count else {
        return nil
      }
      let name = bytes[UnixAddress.pathOffset..<Int(length)]
      guard name.first == 0 else { return String(decoding: name.prefix { $0 != 0 }, as: UTF8.self) }
      return name.count > 1 ? "@" + String(decoding: name.dropFirst(), as: UTF8.self) : nil
    }
  }
}
