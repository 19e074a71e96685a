import CSystemd
import Glibc
import WidgetBundle
import WidgetModel

/// A connection to a bus, for one thread.
final class BusConnection {
  static let driver = "org.freedesktop.DBus"
  static let driverPath = "/org/freedesktop/DBus"
  static let propertiesInterface = "org.freedesktop.DBus.Properties"

  private let bus: OpaquePointer
  private let place: String
  private let stop: CInt

  /// Connects, without waiting for the bus.
  ///
  /// - Parameter stop: a descriptor that becomes readable when the work must end.
  init(_ bus: BusInput.Bus, address: String?, stop: CInt) throws(Failure) {
    place = "the \(bus.rawValue) bus"
    self.stop = stop
    guard let address else {
      throw Failure(
        "NOT_FOUND",
        "there is no \(bus.rawValue) bus: neither DBUS_SESSION_BUS_ADDRESS nor XDG_RUNTIME_DIR is set"
      )
    }
    var pointer: OpaquePointer?
    guard sd_bus_new(&pointer) >= 0, let pointer else {
      throw Failure("RESOURCE_EXHAUSTED", "\(place) cannot be used: there is no memory")
    }
    self.bus = pointer
    var code = sd_bus_set_address(pointer, address)
    if code >= 0 { code = sd_bus_set_bus_client(pointer, 1) }
    if code >= 0 { code = sd_bus_start(pointer) }
    // The deinitializer closes the connection.
    if code < 0 { throw failure(code) }
  }

  deinit { sd_bus_close_unref(bus) }

  /// The address of a bus; nil if the host's environment does not have it.
  static func address(of bus: BusInput.Bus, _ variables: [String: String]) -> String? {
    switch bus {
    case .system:
      return variables["DBUS_SYSTEM_BUS_ADDRESS"] ?? "unix:path=/run/dbus/system_bus_socket"
    case .session:
      if let address = variables["DBUS_SESSION_BUS_ADDRESS"], !address.isEmpty { return address }
      return variables["XDG_RUNTIME_DIR"].flatMap { folder in
        folder.hasPrefix("/") ? "unix:path=\(escaped(folder))/bus" : nil
      }
    }
  }

  /// A path, encoded for an address.
  private static func escaped(_ path: String) -> String {
    let plain = Array("-_/.\\*abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789".utf8)
    return path.utf8.map { byte in
      plain.contains(byte)
        ? String(UnicodeScalar(byte)) : "%" + String(UInt16(byte) + 0x100, radix: 16).suffix(2)
    }.joined()
  }

  // MARK: Messages

  /// A call of a method, without its arguments.
  func call(
    _ name: String, _ path: String, _ interface: String, _ member: String
  ) throws(Failure) -> BusMessage {
    var message: OpaquePointer?
    let code = sd_bus_message_new_method_call(bus, &message, name, path, interface, member)
    guard code >= 0, let message else { throw failure(code) }
    return BusMessage(message)
  }

  /// Sends a call.
  ///
  /// - Returns: the number of the call, which the answer has, too.
  func send(_ message: BusMessage) throws(Failure) -> UInt64 {
    var cookie: UInt64 = 0
    let code = sd_bus_send(bus, message.pointer, &cookie)
    guard code >= 0 else { throw failure(code) }
    return cookie
  }

  /// The next message. Nil if the time is over before a message comes.
  ///
  /// - Throws: the reason why the connection has ended; CANCELLED if the work must end.
  func next(until deadline: ContinuousClock.Instant?) throws(Failure) -> BusMessage? {
    while true {
      // A service may send messages without a pause, so the descriptor is checked before each
      // message.
      if isReadable(stop) { throw Failure("CANCELLED", "\(place) was closed") }
      var message: OpaquePointer?
      let code = sd_bus_process(bus, &message)
      guard code >= 0 else { throw failure(code) }
      if let message { return BusMessage(message) }
      if code > 0 { continue }
      guard try wait(until: deadline) else { return nil }
    }
  }

  private func isReadable(_ descriptor: CInt) -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&entry, 1, 0) > 0
  }

  /// Waits until there is something to do. False if the time is over.
  private func wait(until deadline: ContinuousClock.Instant?) throws(Failure) -> Bool {
    let descriptor = sd_bus_get_fd(bus)
    let events = sd_bus_get_events(bus)
    var microseconds: UInt64 = .max
    let code = sd_bus_get_timeout(bus, &microseconds)
    guard descriptor >= 0, events >= 0, code >= 0 else {
      throw failure([descriptor, events, code].min() ?? -EIO)
    }
    var milliseconds: Int64 = -1
    var isOver = false
    if microseconds != .max {
      var now = timespec()
      clock_gettime(CLOCK_MONOTONIC, &now)
      let passed = UInt64(now.tv_sec) * 1_000_000 + UInt64(now.tv_nsec) / 1_000
      let left = microseconds > passed ? microseconds - passed : 0
      milliseconds = Int64(min(left / 1_000 + 1, 1_000_000))
    }
    if let deadline {
      let left = deadline - .now
      guard left > .zero else { return false }
      let own = left.nanoseconds / 1_000_000 + 1
      if milliseconds < 0 || own < milliseconds {
        milliseconds = min(own, 1_000_000)
        isOver = own == milliseconds
      }
    }
    var entries = [
      pollfd(fd: stop, events: Int16(POLLIN), revents: 0),
      pollfd(fd: descriptor, events: Int16(truncatingIfNeeded: events), revents: 0),
    ]
    let count = poll(&entries, 2, CInt(milliseconds))
    return count != 0 || !isOver
  }

  /// A failure of the connection, from a negated `errno`.
  private func failure(_ code: CInt) -> Failure {
    switch -code {
    case ENOENT, ECONNREFUSED:
      Failure("NOT_FOUND", "\(place) does not run: \(errorText(code: -code))")
    case EACCES, EPERM:
      Failure("PERMISSION_DENIED", "\(place) cannot be used: \(errorText(code: -code))")
    case ECONNRESET, ENOTCONN, EPIPE:
      Failure(
        "UNAVAILABLE", "\(place) has ended the connection; the host reconnects",
        isTransient: true)
    default:
      Failure(
        "UNAVAILABLE", "\(place) cannot be used: \(errorText(code: -code))", isTransient: true)
    }
  }
}
