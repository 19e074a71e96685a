import Glibc

/// Tells the service manager the state of the service, and stores descriptors there (sd_notify(3)).
///
/// Without a service manager (`$NOTIFY_SOCKET` is not set) every call does nothing and returns
/// false or nil. Only `waitForBarrier` waits. If the manager does not read, calls fail with `busy`.
/// Each message is one datagram, so messages arrive as a whole or not at all, in their order.
///
/// The manager does not answer a message. It ignores messages that the unit does not allow: from
/// processes that `NotifyAccess=` leaves out, and descriptors above `FileDescriptorStoreMax=`,
/// which is 0 by default.
public final class ServiceNotifier: Sendable {
  private let socket: DatagramSocket?

  /// The maximum size of a message that the manager reads, in bytes.
  static let messageBytesMax = 4_096
  /// The maximum number of characters in a stored descriptor's name.
  public static let nameBytesMax = 255
  /// The maximum number of descriptors that one `store` takes.
  public static let descriptorsMax = DatagramSocket.descriptorsMax
  private static let waitMicrosecondsMax: Int64 = 3_600_000_000

  /// A notifier for the socket in `$NOTIFY_SOCKET`: a path, or `@` and an abstract name. Fails if
  /// the variable is set to anything else, or there are no descriptors left.
  public init(environment: ProcessEnvironment = .process) throws(SystemdError) {
    let variable = "NOTIFY_SOCKET"
    guard let text = environment.value(variable) else {
      socket = nil
      return
    }
    guard let address = UnixAddress(text) else {
      throw .variable(
        name: variable, value: text,
        expected: "an absolute path or @name of at most \(UnixAddress.pathBytesMax) bytes")
    }
    socket = try DatagramSocket(to: address)
  }

  /// Whether there is a service manager.
  public var isActive: Bool { socket != nil }

  /// Sends states as one message. Returns false without a service manager.
  @discardableResult
  public func notify(_ states: ServiceState...) throws(SystemdError) -> Bool {
    guard let socket else { return false }
    guard !states.isEmpty else { throw .argument(name: "A message", expected: "not empty") }
    var lines: [String] = []
    for state in states { lines.append(try state.lines()) }
    try send(lines, on: socket)
    return true
  }

  /// Stores copies of descriptors in the manager, which passes them to the service's next process;
  /// see `InheritedDescriptors`. The caller's descriptors stay open.
  ///
  /// - Parameters:
  ///   - descriptors: 1 to `descriptorsMax` open descriptors. The same file is stored only once,
  ///     under its first name.
  ///   - name: the name for the next process. Several descriptors may have the same name. See
  ///     `isValidName`.
  ///   - droppingOnHangup: whether the manager forgets a descriptor when its other end is closed.
  @discardableResult
  public func store(
    _ descriptors: [CInt], name: String, droppingOnHangup: Bool = true
  ) throws(SystemdError) -> Bool {
    try ServiceNotifier.check(name: name)
    guard (1...ServiceNotifier.descriptorsMax).contains(descriptors.count) else {
      throw .argument(
        name: "The number of descriptors to store",
        expected: "1 to \(ServiceNotifier.descriptorsMax)")
    }
    guard let socket else { return false }
    var lines = ["FDSTORE=1", "FDNAME=\(name)"]
    if !droppingOnHangup { lines.append("FDPOLL=0") }
    try send(lines, descriptors: descriptors, on: socket)
    return true
  }

  /// Has the manager close all stored descriptors of a name.
  @discardableResult
  public func removeStored(name: String) throws(SystemdError) -> Bool {
    try ServiceNotifier.check(name: name)
    guard let socket else { return false }
    try send(["FDSTOREREMOVE=1", "FDNAME=\(name)"], on: socket)
    return true
  }

  /// Whether descriptors can be stored under a name: 1 to `nameBytesMax` characters of printable
  /// ASCII without colons.
  public static func isValidName(_ name: String) -> Bool {
    (1...nameBytesMax).contains(name.utf8.count)
      && name.utf8.allSatisfy { (0x20...0x7E).contains($0) && $0 != UInt8(ascii: ":") }
  }

  private static func check(name: String) throws(SystemdError) {
    guard !isValidName(name) else { return }
    throw .argument(
      name: "A stored descriptor's name",
      expected: "1 to \(nameBytesMax) printable ASCII characters without a colon")
  }

  /// Sends a barrier. Returns a descriptor that hangs up (`POLLHUP`) when the manager has read all
  /// earlier messages; nil if there is no manager. The caller must close the descriptor.
  public func startBarrier() throws(SystemdError) -> CInt? {
    guard let socket else { return nil }
    var ends: [CInt] = [-1, -1]
    let type = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, type, 0, &ends) == 0 else {
      throw .system(operation: "Making a barrier", errno: errno)
    }
    defer { close(ends[1]) }
    do {
      try send(["BARRIER=1"], descriptors: [ends[1]], on: socket)
    } catch {
      close(ends[0])
      throw error
    }
    return ends[0]
  }

  /// Waits until the manager has read all messages so far. The call blocks the thread. An event
  /// loop must watch the descriptor of `startBarrier` instead.
  ///
  /// Returns false if there is no manager. Throws `timedOut` after the timeout, which is at most an
  /// hour. The manager may still read the earlier messages later.
  @discardableResult
  public func waitForBarrier(timeout: Duration) throws(SystemdError) -> Bool {
    guard let descriptor = try startBarrier() else { return false }
    defer { close(descriptor) }
    let microseconds = min(max(0, timeout.wholeMicroseconds), ServiceNotifier.waitMicrosecondsMax)
    let deadline = monotonicNanoseconds() + microseconds * 1_000
    var entry = pollfd(fd: descriptor, events: 0, revents: 0)
    while true {
      // The time is rounded up, so that `poll` does not return before the timeout.
      let milliseconds = max(0, deadline - monotonicNanoseconds() + 999_999) / 1_000_000
      let count = poll(&entry, 1, CInt(clamping: milliseconds))
      if count > 0 { return true }
      if count == 0 {
        throw .timedOut(operation: "Waiting for the service manager to read all messages")
      }
      if errno != EINTR {
        throw .system(operation: "Waiting for the service manager", errno: errno)
      }
    }
  }

  private func send(
    _ lines: [String], descriptors: [CInt] = [], on socket: DatagramSocket
  ) throws(SystemdError) {
    let message = lines.joined(separator: "\n")
    let bytes = message.utf8.count
    guard bytes <= ServiceNotifier.messageBytesMax else {
      throw .tooLarge(
        what: "The message to the service manager", bytes: bytes,
        bytesMax: ServiceNotifier.messageBytesMax)
    }
    let operation = "Telling the service manager"
    switch socket.send(message.utf8, descriptors: descriptors) {
    case 0: return
    case EAGAIN: throw .busy(operation: operation)
    case let number: throw .system(operation: operation, errno: number)
    }
  }
}
