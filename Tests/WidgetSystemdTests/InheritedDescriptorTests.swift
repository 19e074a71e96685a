import Glibc
import Testing

@testable import WidgetSystemd

/// Real descriptors, with numbers far from those of other tests.
@Suite(.serialized) struct InheritedDescriptorTests {
  private static let first: CInt = 900

  /// Runs with copies of the descriptors at numbers that follow each other, as a manager leaves them.
  private func take(
    _ variables: FakeVariables, from descriptors: [CInt] = []
  ) throws -> [InheritedDescriptor] {
    let first = InheritedDescriptorTests.first
    for (index, descriptor) in descriptors.enumerated() {
      guard dup2(descriptor, first + CInt(index)) >= 0 else { throw TestFailure("dup2: \(errno)") }
    }
    defer { for index in descriptors.indices { close(first + CInt(index)) } }
    let taken = try InheritedDescriptors.take(
      from: variables.environment, processID: 77, firstNumber: first)
    for descriptor in taken.all {
      #expect(fcntl(descriptor.number, F_GETFD) & FD_CLOEXEC != 0)
    }
    return taken.all
  }

  @Test(
    arguments: [
      [:], ["LISTEN_FDS": "1"], ["LISTEN_PID": "77"], ["LISTEN_PID": "77", "LISTEN_FDS": "0"],
      ["LISTEN_PID": "78", "LISTEN_FDS": "1"], ["LISTEN_PID": "1", "LISTEN_FDS": "nonsense"],
      ["LISTEN_PID": "", "LISTEN_FDS": "1"], ["LISTEN_PID": "77", "LISTEN_FDS": ""],
      ["LISTEN_PID": "77", "LISTEN_FDS": "0", "LISTEN_FDNAMES": "a:b"],
    ])
  func `variables of another process give no descriptors`(
    values: [String: String]
  ) throws {
    let variables = FakeVariables(values)
    #expect(try take(variables, from: [0]) == [])
    #expect(variables.names == [])
  }

  @Test(
    arguments: [
      ["LISTEN_PID": "nonsense"], ["LISTEN_PID": "-77"], ["LISTEN_PID": "0"],
      ["LISTEN_PID": "2147483648"], ["LISTEN_PID": "99999999999999999999999999"],
      ["LISTEN_PID": " 77"], ["LISTEN_PID": "+77"], ["LISTEN_PID": "0x4d"],
      ["LISTEN_FDS": "-1"], ["LISTEN_FDS": "1.0"], ["LISTEN_FDS": "1 "], ["LISTEN_FDS": "+1"],
      ["LISTEN_FDS": "1048577"], ["LISTEN_FDS": "2147483647"], ["LISTEN_FDS": "2147483648"],
      ["LISTEN_FDS": "18446744073709551615"], ["LISTEN_FDS": "99999999999999999999999999"],
      ["LISTEN_FDS": "\u{0661}"], ["LISTEN_FDS": "2"], ["LISTEN_FDS": "1048576"],
      ["LISTEN_FDNAMES": "a:b"], ["LISTEN_FDNAMES": ":"],
      ["LISTEN_FDNAMES": String(repeating: ":", count: 100_000)],
    ])
  func `an invalid variable is named in the error, and all variables are removed`(
    wrong: [String: String]
  ) throws {
    let right = ["LISTEN_PID": "77", "LISTEN_FDS": "1", "LISTEN_PIDFDID": "12", "OTHER": "stays"]
    let variables = FakeVariables(right.merging(wrong) { $1 })
    let expected = try #require(wrong.keys.first)
    #expect {
      try take(variables, from: [0])
    } throws: { error in
      guard case SystemdError.variable(expected, _, _)? = error as? SystemdError else {
        return false
      }
      return "\(error)".utf8.count < 400
    }
    #expect(variables.names == ["OTHER"])
  }

  @Test func `descriptors have their names, and are found by them`() throws {
    let file = try MemoryFile(name: "state", bytes: [1, 2, 3])
    var ends: [CInt] = [-1, -1]
    #expect(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0)
    defer { for end in ends { close(end) } }
    let variables = FakeVariables([
      "LISTEN_PID": "77", "LISTEN_FDS": "4", "LISTEN_FDNAMES": "client:state::client",
    ])
    let all = try take(variables, from: [ends[0], file.descriptor, 0, ends[1]])
    #expect(all.map(\.name) == ["client", "state", "", "client"])
    #expect(all.map(\.number) == [900, 901, 902, 903])
    #expect(all[1].kind == .memoryFile(bytes: 3))
    let found = InheritedDescriptors(all: all)
    #expect(found.named("client").map(\.number) == [900, 903])
    #expect(found.named("client").map(\.kind) == [.connection, .connection])
    #expect(found.named("nobody") == [])
  }

  @Test func `without LISTEN_FDNAMES all descriptors have the name unknown`() throws {
    let variables = FakeVariables(["LISTEN_PID": "77", "LISTEN_FDS": "2"])
    #expect(try take(variables, from: [0, 0]).map(\.name) == ["unknown", "unknown"])
  }

  @Test func `inherited descriptors close on exec even if their count is wrong`() throws {
    let first = InheritedDescriptorTests.first
    #expect(dup2(0, first) == first)
    defer { close(first) }
    #expect(fcntl(first, F_GETFD) & FD_CLOEXEC == 0)
    #expect(throws: SystemdError.self) {
      try InheritedDescriptors.take(
        from: .fake(["LISTEN_PID": "77", "LISTEN_FDS": "2"]), processID: 77, firstNumber: first)
    }
    #expect(fcntl(first, F_GETFD) & FD_CLOEXEC != 0)
  }

  @Test func `this process's own variables are read and removed`() throws {
    // No other test reads these from the real environment.
    setenv("LISTEN_PID", "\(getpid())", 1)
    setenv("LISTEN_FDS", "0", 1)
    setenv("LISTEN_FDNAMES", "", 1)
    #expect(try InheritedDescriptors.take().all == [])
    for name in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] { #expect(getenv(name) == nil) }
  }
}

@Suite struct DescriptorKindTests {
  /// A stream socket, bound to an address if there is one.
  private func stream(_ address: String?, listening: Bool) throws -> CInt {
    let made = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
    if let address {
      guard let name = UnixAddress(address) else { throw TestFailure("no address: \(address)") }
      let status = name.withSocketAddress { start, length in
        bind(made, start.assumingMemoryBound(to: sockaddr.self), length)
      }
      guard status == 0 else { throw TestFailure("bind: \(errno)") }
    }
    if listening { guard listen(made, 1) == 0 else { throw TestFailure("listen: \(errno)") } }
    return made
  }

  @Test func `a socket that listens is known with its path`() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let path = folder.path + "/socket"
    let socket = try stream(path, listening: true)
    defer { close(socket) }
    #expect(DescriptorKind(of: socket) == .listener(path: path))
  }

  @Test func `a path of the full length is read whole`() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    // A longer address that is bound by hand can have 108 bytes and no zero at the end.
    let room = UnixAddress.pathBytesMax + 1 - folder.path.utf8.count - 1
    let path = folder.path + "/" + String(repeating: "p", count: room)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let made = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
    defer {
      close(made)
      unlink(path)
    }
    let status = withUnsafeBytes(of: &address) { bytes in
      bytes.withMemoryRebound(to: sockaddr.self) {
        bind(made, $0.baseAddress, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    #expect(status == 0 && listen(made, 1) == 0)
    #expect(path.utf8.count == 108)
    #expect(DescriptorKind(of: made) == .listener(path: path))
  }

  @Test func `an abstract socket is known by its name`() throws {
    let name = "@widgetd-kind-\(getpid())-\(UInt64.random(in: 0 ... .max))"
    let socket = try stream(name, listening: true)
    defer { close(socket) }
    #expect(DescriptorKind(of: socket) == .listener(path: name))
  }

  @Test func `a socket that neither listens nor is connected has no known kind`() {
    let made = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
    defer { close(made) }
    #expect(DescriptorKind(of: made) == .other)
  }

  @Test func `a connection is still a connection after its peer has closed`() throws {
    var ends: [CInt] = [-1, -1]
    #expect(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0)
    #expect(DescriptorKind(of: ends[0]) == .connection)
    close(ends[1])
    #expect(DescriptorKind(of: ends[0]) == .connection)
    close(ends[0])
  }

  @Test func `memory files and regular files are known with their size`() throws {
    let file = try MemoryFile(name: "x", bytes: Array(repeating: 7, count: 5_000))
    #expect(DescriptorKind(of: file.descriptor) == .memoryFile(bytes: 5_000))
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let opened = open(folder.path + "/file", O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
    defer { close(opened) }
    #expect(ftruncate(opened, 12) == 0)
    #expect(DescriptorKind(of: opened) == .regularFile(bytes: 12))
  }

  @Test(.enabled(if: access("/dev/shm", W_OK) == 0, "it needs /dev/shm"))
  func `a named file in a file system in memory is not taken for a memory file`() throws {
    let path = "/dev/shm/widgetd-kind-\(getpid())-\(UInt64.random(in: 0 ... .max))"
    let opened = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
    defer {
      close(opened)
      unlink(path)
    }
    #expect(DescriptorKind(of: opened) == .regularFile(bytes: 0))
  }

  @Test func `datagram sockets, internet sockets, folders, devices and pipes have no known kind`()
    throws
  {
    let receiver = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue), 0)
    let internet = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
    let folder = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    let null = open("/dev/null", O_RDONLY | O_CLOEXEC)
    var ends: [CInt] = [-1, -1]
    #expect(pipe(&ends) == 0)
    for descriptor in [receiver, internet, folder, null] + ends {
      #expect(DescriptorKind(of: descriptor) == .other)
      close(descriptor)
    }
    for descriptor in [-1, CInt.max, CInt.min] {
      #expect(DescriptorKind(of: descriptor) == .other)
    }
  }
}
