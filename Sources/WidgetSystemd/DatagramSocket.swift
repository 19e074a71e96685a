import Glibc

/// The address of a Unix socket: a path, or a name in the abstract namespace.
struct UnixAddress: Sendable {
  private let address: sockaddr_un
  private let length: socklen_t

  /// The maximum size of a path, or of a name with its `@`, in bytes.
  static let pathBytesMax = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

  /// An absolute path, or `@` and a name. Nil for other texts, and for texts that are too long.
  init?(_ text: String) {
    var bytes = Array(text.utf8)
    guard let first = bytes.first, bytes.count <= UnixAddress.pathBytesMax, !bytes.contains(0)
    else {
      return nil
    }
    let isAbstract = first == UInt8(ascii: "@")
    guard isAbstract || first == UInt8(ascii: "/"), bytes.count > 1 else { return nil }
    // An abstract name begins with a zero byte and ends with the address; a path ends with a zero.
    if isAbstract { bytes[0] = 0 } else { bytes.append(0) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    self.address = address
    length = socklen_t(UnixAddress.pathOffset + bytes.count)
  }

  /// The offset of the path in a `sockaddr_un`.
  static let pathOffset = MemoryLayout.offset(of: \sockaddr_un.sun_path) ?? 2

  func withSocketAddress<R>(_ body: (UnsafeMutableRawPointer, socklen_t) -> R) -> R {
    var copy = address
    return withUnsafeMutableBytes(of: &copy) { bytes in
      guard let start = bytes.baseAddress else { preconditionFailure("an address has bytes") }
      return body(start, length)
    }
  }
}

/// Sends datagrams, and descriptors with them, to one Unix address.
///
/// It is opened once and kept, so that sending still works when the process has run out of
/// descriptors. The socket is not connected, because another process may take over the address.
/// Sending never waits and never raises SIGPIPE.
final class DatagramSocket: Sendable {
  private let descriptor: CInt
  private let address: UnixAddress

  /// The maximum number of descriptors that the kernel takes in one message (`SCM_MAX_FD`).
  static let descriptorsMax = 253

  init(to address: UnixAddress) throws(SystemdError) {
    let flags = CInt(SOCK_NONBLOCK.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
    descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue) | flags, 0)
    guard descriptor >= 0 else { throw .system(operation: "Making a socket", errno: errno) }
    self.address = address
  }

  deinit { close(descriptor) }

  /// Sends one datagram. Returns 0 or the errno.
  func send(_ bytes: some Collection<UInt8>, descriptors: [CInt] = []) -> CInt {
    let sent = bytes.withContiguousStorageIfAvailable {
      send(UnsafeRawBufferPointer($0), descriptors)
    }
    return sent ?? Array(bytes).withUnsafeBytes { send($0, descriptors) }
  }

  private func send(_ bytes: UnsafeRawBufferPointer, _ descriptors: [CInt]) -> CInt {
    var control = ControlMessage.words(passing: descriptors)
    var piece = iovec(
      iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
    return address.withSocketAddress { name, length in
      control.withUnsafeMutableBytes { control in
        withUnsafeMutablePointer(to: &piece) { piece in
          var message = msghdr()
          message.msg_name = name
          message.msg_namelen = length
          message.msg_iov = bytes.isEmpty ? nil : piece
          message.msg_iovlen = bytes.isEmpty ? 0 : 1
          message.msg_control = control.isEmpty ? nil : control.baseAddress
          message.msg_controllen = control.count
          let flags = CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT)
          while sendmsg(descriptor, &message, flags) < 0 {
            if errno != EINTR { return errno }
          }
          return 0
        }
      }
    }
  }
}

/// The part of a message that carries descriptors (`SCM_RIGHTS`): a header of a length, a level and
/// a type, then the numbers, padded to the size of a word. Swift does not import C's macros for it.
private enum ControlMessage {
  static func words(passing descriptors: [CInt]) -> [UInt] {
    guard !descriptors.isEmpty else { return [] }
    let headerBytes = MemoryLayout<cmsghdr>.size
    let dataBytes = MemoryLayout<CInt>.stride * descriptors.count
    let wordBytes = MemoryLayout<UInt>.size
    var words = [UInt](
      repeating: 0, count: (headerBytes + dataBytes + wordBytes - 1) / wordBytes)
    words.withUnsafeMutableBytes { bytes in
      var header = cmsghdr()
      header.cmsg_len = headerBytes + dataBytes
      header.cmsg_level = SOL_SOCKET
      header.cmsg_type = CInt(SCM_RIGHTS)
      bytes.storeBytes(of: header, as: cmsghdr.self)
      for (index, descriptor) in descriptors.enumerated() {
        bytes.storeBytes(
          of: descriptor, toByteOffset: headerBytes + index * MemoryLayout<CInt>.stride,
          as: CInt.self)
      }
    }
    return words
  }
}
