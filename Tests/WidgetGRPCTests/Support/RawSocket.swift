#if GRPC
  import Foundation
  import TestThreads

  /// A blocking socket without a protocol.
  final class RawSocket {
    private let fd: CInt

    init(path: String) throws {
      fd = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
      guard fd >= 0 else { throw TestFault("socket: errno \(errno)") }
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
      let size = socklen_t(MemoryLayout<sockaddr_un>.size)
      let result = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.connect(fd, $0, size) }
      }
      // The deinitializer closes it.
      guard result == 0 else { throw TestFault("connect to \(path): errno \(errno)") }
    }

    deinit { Glibc.close(fd) }

    /// Closes the connection. The object still has the earlier data.
    func close() { Glibc.shutdown(fd, CInt(SHUT_RDWR)) }

    /// Closes the sending half; reading still works.
    func closeWriting() { Glibc.shutdown(fd, CInt(SHUT_WR)) }

    func send(_ bytes: [UInt8]) throws {
      var rest = bytes[...]
      while !rest.isEmpty {
        var poller = pollfd(fd: fd, events: Int16(POLLOUT), revents: 0)
        guard poll(&poller, 1, Patience.milliseconds) > 0 else {
          throw TestFault("the server does not read")
        }
        let part = Array(rest.prefix(1 << 16))
        let sent = Glibc.send(fd, part, part.count, CInt(MSG_NOSIGNAL | MSG_DONTWAIT))
        if sent < 0 && errno == EAGAIN { continue }
        guard sent >= 0 else { throw TestFault("send: errno \(errno)") }
        rest = rest.dropFirst(sent)
      }
    }

    /// Whether bytes wait to be received.
    var hasInput: Bool {
      var poller = pollfd(fd: fd, events: Int16(POLLIN), revents: 0)
      return poll(&poller, 1, 0) > 0
    }

    /// The bytes that have arrived, at least one. Empty at the end of the connection.
    func receive() throws -> [UInt8] {
      var poller = pollfd(fd: fd, events: Int16(POLLIN), revents: 0)
      guard poll(&poller, 1, Patience.milliseconds) > 0 else {
        throw TestFault("nothing arrived within \(Patience.seconds) s")
      }
      var bytes = [UInt8](repeating: 0, count: 1 << 16)
      let count = recv(fd, &bytes, bytes.count, 0)
      if count == 0 || (count < 0 && [ECONNRESET, EPIPE].contains(errno)) { return [] }
      guard count > 0 else { throw TestFault("recv: errno \(errno)") }
      return Array(bytes.prefix(count))
    }
  }

  extension Array where Element == UInt8 {
    func contains(sequence: [UInt8]) -> Bool {
      guard count >= sequence.count else { return false }
      return (0...count - sequence.count).contains {
        Array(self[$0..<$0 + sequence.count]) == sequence
      }
    }
  }
#endif
