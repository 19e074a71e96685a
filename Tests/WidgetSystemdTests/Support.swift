import Glibc
import Synchronization

@testable import WidgetSystemd

/// A folder that is removed with its last user.
final class TemporaryFolder: Sendable {
  let path: String

  init() throws {
    var template = Array("/tmp/widgetd-systemd-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw TestFailure("mkdtemp: \(errno)") }
    path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  deinit {
    for name in ["socket", "file", "other"] { unlink("\(path)/\(name)") }
    rmdir(path)
  }
}

struct TestFailure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// The other end: it reads like the service manager or journald.
final class Receiver: Sendable {
  let address: String
  private let descriptor: CInt
  private let folder: TemporaryFolder?

  /// Listens in a temporary folder.
  convenience init() throws {
    let folder = try TemporaryFolder()
    try self.init(address: folder.path + "/socket", folder: folder)
  }

  init(address: String, folder: TemporaryFolder? = nil) throws {
    guard let name = UnixAddress(address) else { throw TestFailure("no address: \(address)") }
    let opened = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
    let status = name.withSocketAddress { start, length in
      bind(opened, start.assumingMemoryBound(to: sockaddr.self), length)
    }
    guard status == 0 else { throw TestFailure("bind: \(errno)") }
    descriptor = opened
    self.address = address
    self.folder = folder
  }

  deinit { close(descriptor) }

  /// The oldest message, and the descriptors with it; nil if there is none, unless it is waited for.
  func receive(waiting: Bool = false) -> (bytes: [UInt8], descriptors: [CInt])? {
    var bytes = [UInt8](repeating: 0, count: 1 << 20)
    var control = [CInt](repeating: 0, count: 512)
    let counts = bytes.withUnsafeMutableBytes { bytes in
      control.withUnsafeMutableBytes { control in
        var piece = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
        return withUnsafeMutablePointer(to: &piece) { piece in
          var message = msghdr()
          message.msg_iov = piece
          message.msg_iovlen = 1
          message.msg_control = control.baseAddress
          message.msg_controllen = control.count
          let count = recvmsg(descriptor, &message, waiting ? 0 : CInt(MSG_DONTWAIT))
          return (count, message.msg_controllen)
        }
      }
    }
    guard counts.0 >= 0 else { return nil }
    // A header of 16 bytes that begins with its own length; padded at the end.
    let passed = counts.1 == 0 ? 0 : (Int(control[0]) - 16) / 4
    return (Array(bytes.prefix(counts.0)), Array(control.dropFirst(4).prefix(passed)))
  }

  /// Reads one message on a separate thread, and closes its descriptors.
  func receiveInBackground() throws {
    var thread = pthread_t()
    let status = pthread_create(
      &thread, nil,
      { argument in
        guard let argument else { return nil }
        let receiver = Unmanaged<Receiver>.fromOpaque(argument).takeRetainedValue()
        for descriptor in receiver.receive(waiting: true)?.descriptors ?? [] { close(descriptor) }
        return nil
      }, Unmanaged.passRetained(self).toOpaque())
    guard status == 0 else { throw TestFailure("pthread_create: \(status)") }
    pthread_detach(thread)
  }

  /// The oldest message as text; nil if there is none. Descriptors with it are closed.
  func receiveText() -> String? {
    guard let message = receive() else { return nil }
    for descriptor in message.descriptors { close(descriptor) }
    return String(decoding: message.bytes, as: UTF8.self)
  }
}

/// Variables of this test only.
final class FakeVariables: Sendable {
  private let values: Mutex<[String: String]>

  init(_ values: [String: String]) { self.values = Mutex(values) }

  var names: [String] { values.withLock { $0.keys.sorted() } }

  var environment: ProcessEnvironment {
    ProcessEnvironment(
      read: { name in self.values.withLock { $0[name] } },
      remove: { name in self.values.withLock { $0[name] = nil } })
  }
}

extension ProcessEnvironment {
  static func fake(_ values: [String: String]) -> ProcessEnvironment {
    FakeVariables(values).environment
  }
}

/// The inode behind a descriptor: two descriptors of one file have the same.
func inode(_ descriptor: CInt) -> UInt64? {
  var status = stat()
  return fstat(descriptor, &status) == 0 ? UInt64(status.st_ino) : nil
}
