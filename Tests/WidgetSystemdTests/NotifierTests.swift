import Glibc
import Testing

@testable import WidgetSystemd

@Suite struct NotifierTests {
  /// A notifier, and its service manager.
  private func pair() throws -> (ServiceNotifier, Receiver) {
    let receiver = try Receiver()
    return (
      try ServiceNotifier(environment: .fake(["NOTIFY_SOCKET": receiver.address])), receiver
    )
  }

  @Test(arguments: [[:], ["NOTIFY_SOCKET": ""]])
  func `without a service manager each call does nothing and returns false`(
    variables: [String: String]
  ) throws {
    let notifier = try ServiceNotifier(environment: .fake(variables))
    #expect(!notifier.isActive)
    #expect(try !notifier.notify(.ready))
    #expect(try !notifier.store([0], name: "a"))
    #expect(try !notifier.removeStored(name: "a"))
    #expect(try notifier.startBarrier() == nil)
    #expect(try !notifier.waitForBarrier(timeout: .seconds(60)))
  }

  @Test(
    arguments: [
      ([.ready], "READY=1"),
      ([.stopping], "STOPPING=1"),
      ([.status("two widgets")], "STATUS=two widgets"),
      ([.reloading(monotonicMicroseconds: 12_345)], "RELOADING=1\nMONOTONIC_USEC=12345"),
      ([.watchdog], "WATCHDOG=1"),
      ([.watchdogTrigger], "WATCHDOG=trigger"),
      ([.mainProcess(42)], "MAINPID=42"),
      ([.extendTimeout(.milliseconds(1_500))], "EXTEND_TIMEOUT_USEC=1500000"),
      ([.errorNumber(ENOSPC)], "ERRNO=28"),
      ([.ready, .status("serving")], "READY=1\nSTATUS=serving"),
    ] as [([ServiceState], String)])
  func `a state is the line that the manager reads`(
    states: [ServiceState], text: String
  ) throws {
    let (notifier, receiver) = try pair()
    switch states.count {
    case 1: #expect(try notifier.notify(states[0]))
    default: #expect(try notifier.notify(states[0], states[1]))
    }
    #expect(receiver.receiveText() == text)
    #expect(receiver.receive() == nil)
  }

  @Test(
    arguments: [
      ("a\nREADY=1", "a READY=1"), ("a\r\n\0b", "a   b"), ("tab\there", "tab here"),
      ("\u{85}\u{7F}x", "  x"), ("Grüße \u{1F600}", "Grüße \u{1F600}"), ("", ""),
    ])
  func `a status with line breaks is sent as one line`(text: String, expected: String) throws {
    let (notifier, receiver) = try pair()
    try notifier.notify(.status(text))
    #expect(receiver.receiveText() == "STATUS=" + expected)
  }

  @Test func `a long status is cut where a character ends`() throws {
    let (notifier, receiver) = try pair()
    let most = ServiceState.statusBytesMax
    try notifier.notify(.status(String(repeating: "a", count: most)))
    #expect(receiver.receiveText()?.utf8.count == "STATUS=".utf8.count + most)
    // Each character has two bytes, with one byte before, so the limit is inside the last one.
    try notifier.notify(.status("a" + String(repeating: "ü", count: most)))
    let cut = try #require(receiver.receiveText())
    #expect(cut == "STATUS=a" + String(repeating: "ü", count: (most - 1) / 2))
  }

  @Test func `a message longer than the manager reads is refused`() throws {
    let (notifier, receiver) = try pair()
    let long = ServiceState.status(String(repeating: "a", count: ServiceState.statusBytesMax))
    #expect(throws: SystemdError.self) { try notifier.notify(long, long) }
    #expect(receiver.receive() == nil)
  }

  @Test(
    arguments: [
      .mainProcess(0), .mainProcess(-1), .mainProcess(.min), .errorNumber(0), .errorNumber(-5),
      .extendTimeout(.zero), .extendTimeout(.seconds(-1)), .extendTimeout(.nanoseconds(999)),
      .extendTimeout(.seconds(Int64.min)),
    ] as [ServiceState])
  func `a process id, an errno or a timeout below its minimum is refused`(state: ServiceState)
    throws
  {
    let (notifier, receiver) = try pair()
    #expect(throws: SystemdError.self) { try notifier.notify(state) }
    #expect(receiver.receive() == nil)
  }

  @Test func `an empty notification is refused`() throws {
    let (notifier, _) = try pair()
    #expect(throws: SystemdError.self) { try notifier.notify() }
  }

  @Test func `the longest duration does not overflow`() throws {
    let (notifier, receiver) = try pair()
    try notifier.notify(.extendTimeout(.seconds(Int64.max)))
    #expect(receiver.receiveText() == "EXTEND_TIMEOUT_USEC=\(Int64.max)")
  }

  @Test func `reloading says the time of the monotonic clock`() throws {
    let before = UInt64(monotonicNanoseconds() / 1_000)
    guard case .reloading(let now) = ServiceState.reloadingNow else {
      Issue.record("not reloading")
      return
    }
    #expect((before...UInt64(monotonicNanoseconds() / 1_000)).contains(now))
  }

  @Test(
    arguments: [
      ("/run/x", Array("/run/x".utf8) + [0]), ("@name", [0] + Array("name".utf8)),
    ] as [(String, [UInt8])])
  func `an address has the bytes of the kernel`(text: String, bytes: [UInt8]) throws {
    let address = try #require(UnixAddress(text))
    let found = address.withSocketAddress { start, length in
      Array(UnsafeRawBufferPointer(start: start, count: Int(length)))
    }
    #expect(found == withUnsafeBytes(of: UInt16(AF_UNIX)) { Array($0) } + bytes)
  }

  @Test func `an abstract socket is reached`() throws {
    let receiver = try Receiver(
      address: "@widgetd-test-\(getpid())-\(UInt64.random(in: 0 ... .max))")
    let notifier = try ServiceNotifier(environment: .fake(["NOTIFY_SOCKET": receiver.address]))
    try notifier.notify(.ready)
    #expect(receiver.receiveText() == "READY=1")
  }

  @Test(arguments: [
    "relative/path", "@", "/", "vsock:2:1234", "-1", "/with\0zero",
    "/" + String(repeating: "a", count: 107), "@" + String(repeating: "a", count: 107),
    String(repeating: "x", count: 1 << 20),
  ])
  func `an invalid NOTIFY_SOCKET is named in a short error`(address: String) {
    #expect {
      try ServiceNotifier(environment: .fake(["NOTIFY_SOCKET": address]))
    } throws: { error in
      guard case SystemdError.variable("NOTIFY_SOCKET", address, _)? = error as? SystemdError
      else { return false }
      // The log has one short line about the text.
      return "\(error)".utf8.count < 400 && !"\(error)".contains("\0")
    }
  }

  @Test func `the longest paths are taken`() throws {
    for first in ["/", "@"] {
      let address = first + String(repeating: "a", count: UnixAddress.pathBytesMax - 1)
      #expect(try ServiceNotifier(environment: .fake(["NOTIFY_SOCKET": address])).isActive)
    }
  }

  @Test func `a missing or closed manager is an error and not a SIGPIPE`() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let path = folder.path + "/socket"
    let notifier = try ServiceNotifier(environment: .fake(["NOTIFY_SOCKET": path]))
    #expect(throws: SystemdError.system(operation: "Telling the service manager", errno: ENOENT)) {
      try notifier.notify(.ready)
    }
    do { _ = try Receiver(address: path) }
    #expect(
      throws: SystemdError.system(operation: "Telling the service manager", errno: ECONNREFUSED)
    ) { try notifier.notify(.ready) }
    // The socket is not connected, so it finds another manager at the same address.
    unlink(path)
    let receiver = try Receiver(address: path)
    try notifier.notify(.ready)
    #expect(receiver.receiveText() == "READY=1")
  }

  @Test func `a manager that does not read makes calls fail, not wait`() throws {
    let (notifier, receiver) = try pair()
    var sent = 0
    var failure: SystemdError?
    while failure == nil && sent < 1_000_000 {
      do {
        try notifier.notify(.watchdog)
        sent += 1
      } catch { failure = error }
    }
    #expect(failure == .busy(operation: "Telling the service manager"))
    // When it reads again, every accepted message is there, and there is room.
    for _ in 0..<sent { #expect(receiver.receiveText() == "WATCHDOG=1") }
    #expect(receiver.receive() == nil)
    #expect(try notifier.notify(.watchdog))
  }

  // MARK: Descriptors

  @Test func `stored descriptors arrive with their name, and stay open here`() throws {
    let (notifier, receiver) = try pair()
    let one = try MemoryFile(name: "one", bytes: [1])
    let two = try MemoryFile(name: "two", bytes: [2])
    try notifier.store([one.descriptor, two.descriptor], name: "state")
    let message = try #require(receiver.receive())
    defer { for descriptor in message.descriptors { close(descriptor) } }
    #expect(String(decoding: message.bytes, as: UTF8.self) == "FDSTORE=1\nFDNAME=state")
    #expect(message.descriptors.map(inode) == [inode(one.descriptor), inode(two.descriptor)])
    #expect(inode(one.descriptor) != inode(two.descriptor))
    #expect(try MemoryFile.bytes(of: one.descriptor, bytesMax: 1) == [1])
  }

  @Test func `a descriptor can be stored with FDPOLL=0`() throws {
    let (notifier, receiver) = try pair()
    try notifier.store([0], name: "c", droppingOnHangup: false)
    #expect(receiver.receiveText() == "FDSTORE=1\nFDNAME=c\nFDPOLL=0")
  }

  @Test func `stored descriptors are removed by name`() throws {
    let (notifier, receiver) = try pair()
    try notifier.removeStored(name: "state")
    #expect(receiver.receiveText() == "FDSTOREREMOVE=1\nFDNAME=state")
  }

  @Test func `one message has at most descriptorsMax descriptors`() throws {
    let (notifier, receiver) = try pair()
    let most = ServiceNotifier.descriptorsMax
    try notifier.store(Array(repeating: 0, count: most), name: "a")
    let message = try #require(receiver.receive())
    for descriptor in message.descriptors { close(descriptor) }
    #expect(message.descriptors.count == most)
    for count in [0, most + 1] {
      #expect(throws: SystemdError.self) {
        try notifier.store(Array(repeating: 0, count: count), name: "a")
      }
    }
    #expect(receiver.receive() == nil)
  }

  @Test(arguments: [-1, CInt.max, CInt.min])
  func `a descriptor that is not open is an error`(descriptor: CInt) throws {
    let (notifier, receiver) = try pair()
    #expect(throws: SystemdError.system(operation: "Telling the service manager", errno: EBADF)) {
      try notifier.store([descriptor], name: "a")
    }
    #expect(receiver.receive() == nil)
  }

  @Test(
    arguments: [
      ("a", true), ("client 7/~", true), (String(repeating: "n", count: 255), true),
      (String(repeating: "n", count: 256), false), ("", false), ("a:b", false), ("a\nb", false),
      ("\u{7F}", false), ("\u{1F}", false), ("\0", false), ("ü", false),
    ])
  func `stored descriptors have valid names only`(name: String, isValid: Bool) throws {
    #expect(ServiceNotifier.isValidName(name) == isValid)
    let (notifier, receiver) = try pair()
    if isValid {
      try notifier.removeStored(name: name)
      #expect(receiver.receiveText() == "FDSTOREREMOVE=1\nFDNAME=" + name)
    } else {
      #expect(throws: SystemdError.self) { try notifier.removeStored(name: name) }
      #expect(throws: SystemdError.self) { try notifier.store([0], name: name) }
      #expect(receiver.receive() == nil)
    }
  }

  // MARK: Barriers

  @Test func `a barrier is reached when the manager closes its descriptor`() throws {
    let (notifier, receiver) = try pair()
    let barrier = try #require(try notifier.startBarrier())
    defer { close(barrier) }
    let message = try #require(receiver.receive())
    #expect(String(decoding: message.bytes, as: UTF8.self) == "BARRIER=1")
    #expect(message.descriptors.count == 1)
    var entry = pollfd(fd: barrier, events: 0, revents: 0)
    #expect(poll(&entry, 1, 0) == 0)
    for descriptor in message.descriptors { close(descriptor) }
    #expect(poll(&entry, 1, 60_000) == 1)
    #expect(entry.revents & Int16(POLLHUP) != 0)
  }

  @Test(arguments: [Duration.zero, .milliseconds(1), .seconds(-5), .seconds(Int64.min)])
  func `waiting for a barrier that nobody reads ends`(timeout: Duration) throws {
    let (notifier, receiver) = try pair()
    #expect {
      try notifier.waitForBarrier(timeout: timeout)
    } throws: { error in
      if case SystemdError.timedOut? = error as? SystemdError { true } else { false }
    }
    #expect(receiver.receiveText() == "BARRIER=1")
  }

  @Test(arguments: [Duration.seconds(60), .seconds(Int64.max)])
  func `waiting for a barrier ends when it is read`(timeout: Duration) throws {
    let (notifier, receiver) = try pair()
    try receiver.receiveInBackground()
    #expect(try notifier.waitForBarrier(timeout: timeout))
  }
}
