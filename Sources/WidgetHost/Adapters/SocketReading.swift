import Dispatch
import Glibc
import WidgetModel

/// Reads lines from a Unix stream socket. Each connection has a thread, which waits for data and
/// for cancellation.
enum SocketReading {
  /// The longest path of a socket, in bytes; see unix(7).
  static let pathBytesMax = 107

  /// Connects, and delivers lines one by one: each line waits until the previous one was taken.
  ///
  /// - Returns: the reason of the end.
  static func run(
    _ request: SocketRequest, line: @escaping @Sendable ([UInt8]) async -> Void
  ) async -> Failure {
    await StoppableThread.run {
      Failure(
        "RESOURCE_EXHAUSTED", "\(request.path) cannot be connected to: \($0)", isTransient: true)
    } _: { stop in
      let conversation = request.i3.map { I3Conversation($0, bytesMax: request.lineBytesMax) }
      return hold(request, conversation, stop: stop) {
        give($0, line)
        return true
      }
    }
  }

  /// Sends a command to i3 or sway, and waits for the answer.
  static func run(_ request: SocketCommand) async -> Result<Value, Failure> {
    await StoppableThread.run {
      .failure(
        Failure(
          "RESOURCE_EXHAUSTED", "\(request.path) cannot be connected to: \($0)", isTransient: true))
    } _: { stop in
      var answer: [UInt8]?
      let socket = SocketRequest(
        path: request.path, greeting: [], lineBytesMax: request.answerBytesMax,
        timeout: request.timeout)
      let conversation = I3Conversation(
        command: request.command, bytesMax: request.answerBytesMax)
      let failure = hold(socket, conversation, stop: stop) {
        answer = $0
        return false
      }
      guard let answer else { return .failure(failure) }
      return Result { () throws(Failure) in try JSONText.parse(answer, from: request.path) }
    }
  }

  // MARK: On the thread

  /// - Parameter take: takes a result, and returns whether to continue.
  private static func hold(
    _ request: SocketRequest, _ conversation: I3Conversation?, stop: CInt,
    take: ([UInt8]) -> Bool
  ) -> Failure {
    var conversation = conversation
    let path = request.path
    let descriptor = socket(
      AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard descriptor >= 0 else { return failure(path) }
    defer { close(descriptor) }
    if let failure = connect(descriptor, path) { return failure }
    var outgoing = (conversation?.begin() ?? request.greeting)[...]
    var wait = AnswerWait()
    wait.update(conversation, request.timeout, at: .now)
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let events = POLLIN | (outgoing.isEmpty ? 0 : POLLOUT)
      var entries = [
        pollfd(fd: stop, events: Int16(POLLIN), revents: 0),
        pollfd(fd: descriptor, events: Int16(events), revents: 0),
      ]
      let ready = poll(&entries, 2, milliseconds(until: wait.deadline))
      if ready == 0 {
        guard let timeout = request.timeout else { continue }
        return Failure(
          "DEADLINE_EXCEEDED", "\(path) has not answered for \(timeout)", isTransient: true)
      }
      guard ready > 0 else {
        if errno == EINTR { continue }
        return failure(path)
      }
      if entries[0].revents != 0 { return ended(path) }
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
        // The last line can lack its newline, like that of a program.
        if conversation == nil, !bytes.isEmpty, !take(bytes) { return ended(path) }
        return Failure(
          "UNAVAILABLE", "\(path) has ended the connection; the host reconnects",
          isTransient: true)
      }
      if conversation != nil {
        do throws(Failure) {
          guard let step = try conversation?.take(buffer[..<count]) else { continue }
          outgoing += step.outgoing
          for result in step.results where !take(result) { return ended(path) }
        } catch {
          return Failure(error.code, "\(path): \(error.message)")
        }
        wait.update(conversation, request.timeout, at: .now)
        continue
      }
      bytes += buffer[..<count]
      while let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
        guard take(Array(bytes[..<end])) else { return ended(path) }
        bytes.removeSubrange(...end)
      }
      guard bytes.count <= request.lineBytesMax else {
        return Failure(
          "OUT_OF_RANGE", "\(path) gave more than \(request.lineBytesMax) bytes on one line")
      }
    }
  }

  /// The wait for an answer of i3 or sway. Events do not prolong it, and the time between two
  /// requests does not count.
  struct AnswerWait {
    /// Nil if no answer is awaited.
    private(set) var deadline: ContinuousClock.Instant?
    private var requestCount = 0

    /// Call it after each step of the conversation.
    mutating func update(
      _ conversation: I3Conversation?, _ timeout: Duration?, at now: ContinuousClock.Instant
    ) {
      guard let conversation, let timeout, conversation.isWaiting else {
        deadline = nil
        return
      }
      guard conversation.requestCount != requestCount || deadline == nil else { return }
      requestCount = conversation.requestCount
      deadline = now + timeout
    }
  }

  private static func ended(_ path: String) -> Failure {
    Failure("CANCELLED", "\(path) was closed")
  }

  /// For poll(2): -1 for no limit.
  private static func milliseconds(until deadline: ContinuousClock.Instant?) -> CInt {
    guard let deadline else { return -1 }
    let left = (deadline - .now) / .milliseconds(1)
    return CInt(min(max(left.rounded(.up), 0), Double(CInt.max)))
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
