import Glibc
import NIOCore
import Testing
import WidgetCore
import WidgetModel
import WidgetProto
import WidgetTransport

@testable import WidgetServer

/// Received calls that wait for the time of their user.
@Suite struct `Received bytes` {
  private static let small = ReadBuffers.smallBytesMax
  private static let policy = AccessPolicy(ownerUIDs: [0], clientGID: 100)

  private static func peer(_ uid: UInt32) -> Peer { Peer(uid: uid, gid: 100, pid: 1) }

  /// The reads of one connection, as its channel makes them.
  private struct Reads {
    private var pool: NIOPooledRecvBufferAllocator

    init(_ buffers: ReadBuffers) {
      pool = NIOPooledRecvBufferAllocator(capacity: 1, recvAllocator: buffers)
    }

    /// Reads as much of the waiting bytes as the buffer takes.
    mutating func read(_ waiting: Int = 1 << 20) -> ByteBuffer {
      let (bytes, count) = pool.buffer(allocator: ByteBufferAllocator()) { buffer -> Int in
        buffer.writeRepeatingByte(0, count: min(waiting, buffer.writableBytes))
      }
      pool.record(actualReadBytes: count)
      return bytes
    }

    /// Reads until the buffers do not grow any more.
    mutating func grow() { for _ in 0..<20 { _ = read() } }
  }

  @Test func `reads of a user are small while many received bytes of the user wait`() async throws {
    try await withServer { server in
      let sizes = try server.onLoop { service -> [Int] in
        let all = ReceivedBytes(Self.policy)
        all.limits.ofUser = 100_000
        let loop = service.context.eventLoop
        var own = Reads(all.buffers(for: Self.peer(1), on: loop))
        var other = Reads(all.buffers(for: Self.peer(2), on: loop))
        own.grow()
        other.grow()
        let (first, second) = (all.account(of: Self.peer(1)), all.account(of: Self.peer(1)))
        first.add(60_000)
        var sizes = [own.read().readableBytes]
        second.add(40_000)
        sizes += [own.read().readableBytes, other.read().readableBytes]
        second.clear()
        second.clear()
        #expect(all.bytes(of: 1) == 60_000)
        own.grow()
        return sizes + [own.read().readableBytes]
      }
      #expect(sizes == [65_536, Self.small, 65_536, 65_536])
    }
  }

  @Test func `reads of clients are small while the received bytes of all clients reach a limit`()
    async throws
  {
    try await withServer { server in
      let sizes = try server.onLoop { service -> [Int] in
        let all = ReceivedBytes(Self.policy)
        all.limits.ofClients = 100_000
        let accounts = (0...2).map { all.account(of: Self.peer($0)) }
        return ([0, 50_000, 50_000] as [Int]).enumerated().flatMap { index, bytes -> [Int] in
          // An owner's bytes do not count.
          accounts[index].add(index == 0 ? 1_000_000 : bytes)
          return ([0, 3] as [UInt32]).map { uid in
            var reads = Reads(
              all.buffers(for: Self.peer(uid), on: service.context.eventLoop))
            for _ in 0..<20 { _ = reads.read() }
            return reads.read().readableBytes
          }
        }
      }
      // For an owner and for a client.
      #expect(sizes == [65_536, 65_536, 65_536, 65_536, 65_536, Self.small])
    }
  }

  /// Small and large reads of a connection whose earlier bytes are processed.
  @Test func `a channel keeps no large buffer for the next reads of its connection`() async throws {
    try await withServer { server in
      let sizes = try server.onLoop { service -> [Int] in
        let all = ReceivedBytes(Self.policy)
        all.limits.ofUser = 1
        var reads = Reads(all.buffers(for: Self.peer(1), on: service.context.eventLoop))
        reads.grow()
        let large = reads.read().storageCapacity
        let account = all.account(of: Self.peer(1))
        account.add(1)
        let kept = reads.read().storageCapacity
        account.clear()
        for _ in 0..<40 { _ = reads.read(1) }
        return [large, kept, reads.read(1).storageCapacity]
      }
      #expect(sizes[0] == 65_536)
      #expect(sizes.dropFirst().allSatisfy { $0 <= Self.small }, "\(sizes)")
    }
  }

  @Test func `received calls count while they wait, and not after they are served`() async throws {
    try await withServer(limits: .with { $0.unsentBytesPerUIDMax = 1_000 }) { server in
      let client = try server.connect()
      try client.create("a")
      let block = try server.onLoop { service in
        // More than the reserve, so all connections of the user wait.
        let account = service.unsentBytes.account(of: .current)
        account.hold(5_000)
        return NIOLoopBoundBox(account, eventLoop: service.context.eventLoop)
      }
      let calls = try (0..<3).map { _ in
        try client.start("GetWidget", GetWidgetRequest(id: .make("a")))
      }
      try server.eventually { $0.receivedBytes.bytes(of: geteuid()) > 0 }
      try server.onLoop { _ in block.value.close() }
      for call in calls { #expect(try client.response(to: call).status == nil) }
      try server.eventually { $0.receivedBytes.bytes(of: geteuid()) == 0 }
    }
  }

  @Test func `received bytes do not count after their connection broke the protocol`()
    async throws
  {
    try await withServer { server in
      let client = try server.connect()
      // The daemon does not process the bytes after a response. One call sends all of them, and the
      // first read of a connection has room for all. So the daemon has them when it closes the
      // connection.
      let bytes = RawClient.frame(.response, 1) + [UInt8](repeating: 0, count: 100)
      let room = try server.onLoop { service -> Int in
        let all = service.receivedBytes
        return all.buffers(for: .current, on: service.context.eventLoop).nextBufferSize() ?? 0
      }
      try #require(bytes.count <= room)
      try client.send(bytes)
      try client.readToEnd()
      let waiting = try server.onLoop { $0.receivedBytes.bytes(of: geteuid()) }
      #expect(waiting == 0)
    }
  }

  @Test func `received calls do not count after their connection has ended`() async throws {
    try await withServer(limits: .with { $0.unsentBytesPerUIDMax = 1_000 }) { server in
      let client = try server.connect()
      try client.create("a")
      try server.onLoop { service in
        service.unsentBytes.account(of: .current).hold(5_000)
      }
      _ = try client.start("GetWidget", GetWidgetRequest(id: .make("a")))
      try server.eventually { $0.receivedBytes.bytes(of: geteuid()) > 0 }
      client.close()
      try server.eventually { $0.receivedBytes.bytes(of: geteuid()) == 0 }
    }
  }

  /// Asks for a widget many times. All calls are there when the loop reads.
  private static func ask(_ server: TestServer, _ client: RawClient) throws -> [UInt32] {
    let streams = (0..<500).map { _ in client.takeStreamID() }
    let calls = try streams.flatMap {
      try client.request("GetWidget", GetWidgetRequest(id: .make("a")), id: $0)
    }
    let sending = SendableBox(client)
    try server.onLoop { _ in try sending.value.send(calls) }
    return streams
  }

  @Test(arguments: [true, false])
  func `a connection of the daemon reads little at once only while its user has to`(isFull: Bool)
    async throws
  {
    let limit = 1 << 20
    try await withServer(limits: .with { $0.unsentBytesPerUIDMax = limit }) { server in
      let client = try server.connect()
      try client.create("a")
      // The daemon reads as much at once as earlier reads have found.
      for _ in 0..<20 {
        for call in try Self.ask(server, client) {
          #expect(try client.response(to: call).status == nil)
        }
      }
      try server.eventually { $0.unsentBytes.bytes(of: geteuid()) == 0 }
      let block = try server.onLoop { service in
        if isFull { service.receivedBytes.limits.ofUser = 0 }
        let account = service.unsentBytes.account(of: .current)
        account.hold(2 * limit)
        return NIOLoopBoundBox(account, eventLoop: service.context.eventLoop)
      }
      let calls = try Self.ask(server, client)
      try server.eventually { $0.receivedBytes.bytes(of: geteuid()) > 0 }
      let waiting = try server.onLoop { $0.receivedBytes.bytes(of: geteuid()) }
      #expect((waiting <= Self.small) == isFull, "\(waiting) bytes wait")
      try server.onLoop { _ in block.value.close() }
      for call in calls { #expect(try client.response(to: call).status == nil) }
      try server.eventually { $0.receivedBytes.bytes(of: geteuid()) == 0 }
    }
  }
}
