import Dispatch
import Glibc

/// Reads lines from a Unix stream socket. Each connection has a thread, which waits for data and
/// for cancellation.
enum SocketReading {
  /// The longest path of a socket, in bytes; see unix(7).
  static let pathBytesMax = 107

  /// Connects and delivers lines, one at a time: each waits until the last one was taken.
  ///
  /// - Returns: Why it has ended.
  static func run(
    _ request: SocketRequest, line: @escaping @Sendable ([UInt8]) async -> Void
  ) async -> Failure {
    await StoppableThread.run {
      Failure(
        "RESOURCE_EXHAUSTED", "\(request.path) cannot be connected to: \($0)", isTransient: true)
    } _: { stop in
      hold(request, stop: stop, line: line)
    }
  }

  // MARK: On the thread

  private static func hold(
    _ request: SocketRequest, stop: CInt, line: @escaping @Sendable ([UInt8]) async -> Void
  ) -> Failure {
    let path = request.path
    let descriptor = socket(
      AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard descriptor >= 0 else { return failure(path) }
    defer { close(descriptor) }
    if let failure = connect(descriptor, path) { return failure }
    var conversation = request.i3.map { I3Conversation($0, bytesMax: request.lineBytesMax) }
    var outgoing = (conversation?.begin() ?? request.greeting)[...]
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let events = POLLIN | (outgoing.isEmpty ? 0 : POLLOUT)
      var entries = [
        pollfd(fd: stop, events: Int16(POLLIN), revents: 0),
        pollfd(fd: descriptor, events: Int16(events), revents: 0),
      ]
      guard poll(&entries, 2, -1) > 0 else {
        if errno == EINTR { continue }
        return failure(path)
      }
      if entries[0].revents != 0 { return Failure("CANCELLED", "\(path) was closed") }
      if !outgoing.isEmpty {
        let count = outgoing.withUnsafeBytes {
          send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
        }
        if count < 0, errno != EAGAIN, errno != EINTR { return failure(path) }
        outgoing = outgoing.dropFirst(max(0, count))
      }
      let count = read(descriptor, &buffer, buffer.count)
      if count < 0 {
        if errno == EAGAIN || errno == EINTR { continue }
        return failure(path)
      }
      guard count > 0 else {
        return Failure(
          "UNAVAILABLE", "\(path) has ended the connection, and is connected to again",
          isTransient: true)
      }
      if conversation != nil {
        do throws(Failure) {
          guard let step = try conversation?.take(buffer[..<count]) else { continue }
          outgoing += step.outgoing
          for result in step.results { give(result, line) }
        } catch {
          return Failure(error.code, "\(path): \(error.message)")
        }
        continue
      }
      bytes += buffer[..<count]
      while let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
        give(Array(bytes[..<end]), line)
        bytes.removeSubrange(...end)
      }
      guard bytes.count <= request.lineBytesMax else {
        return Failure(
          "OUT_OF_RANGE", "\(path) gave more than \(request.lineBytesMax) bytes on one line")
      }
    }
  }

  private static func give(
    _ bytes: [UInt8], _ line: @escaping @Sendable ([UInt8]) async -> Void
  ) {
    let taken = DispatchSemaphore(value: 0)
    Task {
      await line(bytes)
      taken.signal()
    }
    taken.wait()
  }

  /// nil if it is connected.
  private static func connect(_ descriptor: CInt, _ path: String) -> Failure? {
    let bytes = Array(path.utf8)
    guard bytes.count <= pathBytesMax else {
      return Failure(
        "INVALID_ARGUMENT", "\(path) is longer than the \(pathBytesMax) bytes of a socket's path")
    }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let code = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    return code == 0 ? nil : failure(path)
  }

  private static func failure(_ path: String) -> Failure {
    let code =
      switch errno {
      case ENOENT: "NOT_FOUND"
      case EACCES, EPERM: "PERMISSION_DENIED"
      default: "UNAVAILABLE"
      }
    return Failure(
      code, "\(path) cannot be connected to: \(errorText())", isTransient: code == "UNAVAILABLE")
  }
}
