import Glibc
import Logging
import NIOCore
import Testing
import WidgetProto

@testable import WidgetServer

/// Connections that wait in the listen queue while the loop is busy.
@Suite struct WaitingConnections {
  /// Opens connections while the loop is busy.
  ///
  /// - Parameters:
  ///   - beside: What else the caller does while the loop is busy.
  ///   - atEnd: The last thing that the loop does before it goes on.
  private func wait(
    _ count: Int, at server: TestServer, beside: () throws -> Void = {},
    atEnd: @escaping @Sendable (ServiceLoop) -> Void = { _ in }
  ) throws -> [RawClient] {
    let (isBusy, isFree) = (Box(false), Box(false))
    let busy = server.server.onLoop { service in
      isBusy.set(true)
      while !isFree.get() { sched_yield() }
      atEnd(service)
    }
    while !isBusy.get() { sched_yield() }
    defer { isFree.set(true) }
    let clients = try (0..<count).map { _ in try server.connect() }
    try beside()
    isFree.set(true)
    try busy.wait()
    return clients
  }

  private static let one = ServerLimits.with { $0.connectionsPerUIDMax = 1 }

  @Test func `hundreds of waiting connections are refused in few passes of the loop`() async throws
  {
    try await withServer(limits: WaitingConnections.one) { server in
      let first = try server.connect()
      #expect(try first.health() == .serving)
      let before = Box<UInt64?>(nil)
      let waiting = try wait(
        300, at: server,
        atEnd: { service in
          // The time for new connections is never over.
          let now = NIODeadline.now()
          service.context.work.clock = { now }
          before.set(service.turn.loopPass?())
        })
      for client in waiting { #expect(try client.fill() == false) }
      let after = try server.onLoop { $0.turn.loopPass?() }
      let passes = try #require(after) - (try #require(before.get()))
      #expect(passes < 50)
      #expect(try first.stats().counters["connections_refused"] == 300)
      #expect(try server.onLoop { $0.connections.shares.count } == 1)
    }
  }

  @Test func `waiting connections delay an open one for a bounded time`() async throws {
    try await withServer(limits: WaitingConnections.one) { server in
      let first = try server.connect()
      #expect(try first.health() == .serving)
      let id = first.takeStreamID()
      let call = try first.request(
        "GetStats", GetStatsRequest(), service: RawClient.admin, id: id)
      let waiting = try wait(
        300, at: server, beside: { try first.send(call) },
        atEnd: { service in
          // Every read of the clock takes long.
          var now = NIODeadline.now()
          service.context.work.clock = {
            now = now + .microseconds(400)
            return now
          }
        })
      let stats = try first.answer(to: id, as: GetStatsResponse.self)
      #expect(try #require(stats.counters["connections_refused"]) < 300)
      for client in waiting { #expect(try client.fill() == false) }
    }
  }

  @Test func `the listen queue is short while connections are refused`() async throws {
    try await withServer(limits: WaitingConnections.one) { server in
      let first = try server.connect()
      #expect(try first.health() == .serving)
      #expect(try waitWithoutBlocking(300, at: server, first) == 300)
      // Each of the next connections is refused.
      var queued = try waitWithoutBlocking(300, at: server, first)
      // After a second without refusals, the queue is long again.
      while queued == 300 { queued = try waitWithoutBlocking(300, at: server, first) }
      #expect(queued > 0 && queued < 200)
      #expect(try first.health() == .serving)
      _ = try server.onLoop { $0.context.reconfigure(ServerLimits(), .error) }
      // The queue becomes long again. This takes a second.
      while try waitWithoutBlocking(300, at: server, first) < 300 {}
    }
  }

  /// Connects while the loop is busy. Returns how many connections the queue has taken, when all of
  /// them are accepted or refused.
  private func waitWithoutBlocking(
    _ count: Int, at server: TestServer, _ first: RawClient
  ) throws -> Int {
    let before = try met(first)
    var sockets: [CInt] = []
    defer { for socket in sockets { close(socket) } }
    var queued = 0
    _ = try wait(
      0, at: server,
      beside: {
        for _ in 0..<count {
          let client = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
          sockets.append(client)
          if connect(client, to: server.path) { queued += 1 }
        }
      })
    while try met(first) < before + UInt64(queued) {}
    return queued
  }

  /// The connections that were accepted or refused so far.
  private func met(_ client: RawClient) throws -> UInt64 {
    let counters = try client.stats().counters
    return counters["connections_accepted", default: 0]
      + counters["connections_refused", default: 0]
  }

  private func connect(_ client: CInt, to path: String) -> Bool {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(client, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
  }

  @Test func `all waiting connections are served if the limit permits`() async throws {
    try await withServer { server in
      let waiting = try wait(100, at: server)
      for client in waiting { #expect(try client.health() == .serving) }
      #expect(try server.onLoop { $0.connections.shares.count } == 100)
    }
  }
}
