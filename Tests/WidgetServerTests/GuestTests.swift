import Glibc
import Logging
import NIOCore
import Testing
import WidgetProto
import WidgetStorage

@testable import WidgetServer

@Suite struct `A guest protocol` {
  @Test func `a guest without connections is never started`() async throws {
    let guest = EchoGuest()
    let server = try await startServer(folder: try TestFolder(), guests: [guest])
    try await onThread {
      try server.expectHealthy()
      let client = try server.connect()
      try client.send(Array("Plaese".utf8))
      #expect(try client.fill() == false)
    }
    try await server.server.stop()
    #expect(guest.calls.get() == [])
  }

  @Test func `a guest starts once for all connections that wait for it`() async throws {
    let gate = Gate()
    let guest = EchoGuest { await gate.pass() }
    let server = try await startServer(folder: try TestFolder(), guests: [guest])
    try await onThread {
      let clients = [try server.connect(), try server.connect()]
      for (client, name) in zip(clients, ["a", "b"]) {
        try client.send(Array("Please, \(name)".utf8))
      }
      while guest.calls.get().isEmpty { usleep(1_000) }
      // A start delays nobody else. What comes meanwhile is read later.
      try server.expectHealthy()
      for client in clients { try client.send(Array(" and more".utf8)) }
      #expect(guest.peers.get().isEmpty)
      gate.open()
      for (client, name) in zip(clients, ["a", "b"]) {
        let bytes = Array("Please, \(name) and more".utf8)
        #expect(try client.receive(bytes.count) == bytes)
      }
      let late = try server.connect()
      try late.send(guest.opening)
      #expect(try late.receive(guest.opening.count) == guest.opening)
      #expect(guest.calls.get() == ["start"])
    }
    try await server.server.stop()
    #expect(guest.calls.get() == ["start", "beginShutdown", "stop"])
  }

  @Test func `a guest whose start fails starts again for the next connection`()
    async throws
  {
    let mustFail = Box(true)
    let guest = EchoGuest { if mustFail.get() { throw TestFault("no pipe is left") } }
    let server = try await startServer(folder: try TestFolder(), guests: [guest])
    try await onThread {
      let refused = try server.connect()
      try refused.send(guest.opening)
      #expect(try refused.fill() == false)
      let failure = try server.connect().stats().recentErrors.first
      #expect(failure?.area == "connections")
      #expect(failure?.message.contains("echo cannot start: no pipe is left") == true)
      mustFail.set(false)
      let client = try server.connect()
      try client.send(guest.opening)
      #expect(try client.receive(guest.opening.count) == guest.opening)
      refused.close()
      client.close()
      try server.eventually { $0.connections.shares.count == 0 }
    }
    try await server.server.stop()
    #expect(guest.calls.get() == ["start", "start", "beginShutdown", "stop"])
  }

  @Test func `a thousand failed starts in a moment are few lines in the log`() async throws {
    let lines = Box<[String]>([])
    let folder = try TestFolder()
    let server = try await WidgetServer.start(
      .init(socketPath: folder.socketPath, policy: .own),
      logger: Logger(label: "test") { _ in CountingLogHandler(lines: lines) },
      makeLog: { () throws(StorageError) in MemoryCommitLog(epoch: 9) })
    let guest = EchoGuest()
    try await server.onLoop { service in
      let context = service.context
      let host = GuestHost(
        eventLoop: context.eventLoop, limits: context.limits, logger: context.logger,
        service: NIOLoopBound(service, eventLoop: context.eventLoop))
      for _ in 0..<1_000 { host.noteFailedStart(of: guest, TestFault("no pipe is left")) }
    }.get()
    try await server.stop()
    let found = lines.get().filter { $0.contains("cannot start echo") }
    #expect((1..<100).contains(found.count))
  }

  @Test func `a guest forgets a connection whose peer leaves during its start`() async throws {
    let gate = Gate()
    let guest = EchoGuest { await gate.pass() }
    let server = try await startServer(folder: try TestFolder(), guests: [guest])
    try await onThread {
      let client = try server.connect()
      try client.send(guest.opening)
      while guest.calls.get().isEmpty { usleep(1_000) }
      client.close()
      gate.open()
      try server.eventually { $0.connections.shares.count == 0 }
      try server.expectHealthy()
    }
    try await server.server.stop()
  }

  @Test func `a guest takes no connection if the server stops during its start`() async throws {
    let gate = Gate()
    let guest = EchoGuest { await gate.pass() }
    let server = try await startServer(folder: try TestFolder(), guests: [guest])
    let begun = Gate()
    async let read: Bool = onThread {
      let client = try server.connect()
      try client.send(guest.opening)
      while !guest.calls.get().contains("start") { usleep(1_000) }
      begun.open()
      while !guest.calls.get().contains("beginShutdown") { usleep(1_000) }
      gate.open()
      return try client.fill()
    }
    await begun.pass()
    try await server.server.stop()
    #expect(try await !read)
    #expect(guest.peers.get().isEmpty)
    #expect(guest.calls.get() == ["start", "beginShutdown", "stop"])
  }
}

/// Holds tasks back until it is opened.
private final class Gate: Sendable {
  private let stream: AsyncStream<Void>
  private let continuation: AsyncStream<Void>.Continuation

  init() { (stream, continuation) = AsyncStream.makeStream() }

  func pass() async { for await _ in stream {} }

  func open() { continuation.finish() }
}

/// Keeps the messages of the log.
private struct CountingLogHandler: LogHandler {
  let lines: Box<[String]>
  var metadata: Logger.Metadata = [:]
  var logLevel: Logger.Level = .error

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) { lines.update { $0.append("\(event.message)") } }
}
