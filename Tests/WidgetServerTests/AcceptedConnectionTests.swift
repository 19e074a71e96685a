import Glibc
import NIOCore
import Testing
import WidgetProto

@testable import WidgetServer

@Suite struct `A connection's first byte` {
  @Test(arguments: [
    "GET / HTTP/1.1\r\n\r\n", "POST / HTTP/1.1\r\n\r\n", "\u{16}\u{03}\u{01}", "\u{01}", "\u{7f}",
  ])
  func `a connection with an unknown first byte is closed`(bytes: String) async throws {
    try await withServer { server in
      let client = try server.connect()
      try client.send(Array(bytes.utf8))
      #expect(try client.fill() == false)
      try server.expectHealthy()
    }
  }

  @Test func `a connection without a first byte is closed after a time`() async throws {
    try await withServer(limits: .with { $0.firstByteMilliseconds = 3_000 }) { server in
      let (speaker, call) = try server.connectWithCall()
      #expect(try speaker.answer(to: call, as: HealthCheckResponse.self).status == .serving)
      let silent = try server.connect()
      #expect(try silent.fill() == false)
      // This connection is older, so its time would be over, too.
      #expect(try speaker.health() == .serving)
      #expect(try speaker.stats().connections == 1)
      #expect(try speaker.stats().counters["protocol_errors"] == 1)
    }
  }

  @Test func `a connection counts against its limit before the first byte`() async throws {
    try await withServer(limits: .with { $0.connectionsMax = 2 }) { server in
      let silent = try server.connect()
      let speaker = try server.connect()
      #expect(try speaker.stats().connections == 2)
      let refused = try server.connect()
      #expect(try refused.fill() == false)
      _ = silent
    }
  }

  @Test func `a first byte gives the connection to its guest, with peer and bytes`() async throws {
    let folder = try TestFolder()
    let guest = EchoGuest()
    let server = try await startServer(folder: folder, guests: [guest])
    try await onThread {
      let client = try server.connect()
      let bytes = Array("Please echo this".utf8)
      try client.send(bytes)
      #expect(try client.receive(bytes.count) == bytes)
      #expect(guest.peers.get().map(\.pid) == [UInt32(getpid())])
      #expect(try server.onLoop { $0.connections.shares.count } == 1)
      // ttrpc beside it.
      try server.expectHealthy()
      client.close()
      try server.eventually { $0.connections.shares.count == 0 }
    }
    try await server.server.stop()
    #expect(guest.calls.get() == ["start", "beginShutdown", "stop"])
  }

  @Test func `the first byte decides on an inherited listener too, and its file stays`()
    async throws
  {
    let folder = try TestFolder()
    let listener = try listen(at: folder.socketPath)
    let guest = EchoGuest()
    let server = try await startServer(
      folder: folder, guests: [guest], inheritedListener: listener)
    try await onThread {
      #expect(try server.connect().health() == .serving)
      let client = try server.connect()
      let bytes = Array("Please".utf8)
      try client.send(bytes)
      #expect(try client.receive(bytes.count) == bytes)
    }
    try await server.server.stop()
    #expect(access(folder.socketPath, F_OK) == 0)
  }

  @Test func `many first bytes wait in the kernel while the daemon is busy`() async throws {
    try await withServer { server in
      let isBusy = Box(false)
      let isFree = Box(false)
      let busy = server.server.onLoop { _ in
        isBusy.set(true)
        while !isFree.get() { sched_yield() }
      }
      while !isBusy.get() { sched_yield() }
      var waiting: [CInt] = []
      for _ in 0..<500 {
        let client = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
        waiting.append(client)
        guard connect(client, to: server.path) == 0 else { break }
      }
      #expect(waiting.count == 500)
      for client in waiting { close(client) }
      isFree.set(true)
      try busy.wait()
      try server.expectHealthy()
    }
  }

  private func connect(_ client: CInt, to path: String) -> CInt {
    withAddress(path) { Glibc.connect(client, $0, $1) }
  }

  private func withAddress<R>(
    _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> R
  ) -> R {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }

  /// The steps of a service manager before it starts a service.
  private func listen(at path: String) throws -> CInt {
    let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
    let result = withAddress(path) { bind(descriptor, $0, $1) }
    guard result == 0, Glibc.listen(descriptor, 8) == 0 else {
      throw TestFault("listen: errno \(errno)")
    }
    return descriptor
  }

  @Test func `a stopped server leaves no connection without a first byte`() async throws {
    let folder = try TestFolder()
    let server = try await startServer(folder: folder)
    let silent = try server.connect()
    try await server.server.stop()
    #expect(try silent.fill() == false)
  }
}
