import Glibc
import Logging
import NIOCore
import NIOEmbedded
import Testing
import WidgetCore
import WidgetModel
import WidgetProto
import WidgetTransport

@testable import WidgetServer

/// Requests that do not arrive completely.
@Suite struct `An incomplete request` {
  /// A whole request of about a MiB, which is answered.
  static func large(_ client: RawClient, id: UInt32) throws -> [UInt8] {
    try client.request(
      "GetWidget", GetWidgetRequest(id: .make("w0")), id: id,
      metadata: [MetadataEntry(key: "k", value: String(repeating: "x", count: 1 << 20))])
  }

  static func limits(_ change: (inout ServerLimits) -> Void) -> ServerLimits {
    var limits = ServerLimits()
    change(&limits)
    return limits
  }

  /// Waits until the daemon holds this many bytes.
  static func wait(for bytes: Int, in server: TestServer) throws {
    try server.eventually { $0.incompleteRequests.bytes(of: geteuid()) == bytes }
  }

  @Test func `an incomplete request beyond the user's bytes is refused alone`()
    async throws
  {
    let limits = Self.limits { $0.incompleteBytesPerUIDMax = 3 << 19 }
    try await withServer(limits: limits, log: TestLog.State(image: .sample(count: 1))) { server in
      let first = try server.connect()
      let second = try server.connect()
      let whole = try Self.large(first, id: 1)
      try first.send(Array(whole.dropLast()))
      try Self.wait(for: whole.count - 1, in: server)
      // The second exceeds the limit with the first half of the request.
      try second.send(Array(whole.dropLast()))
      let status = try #require(try second.response(to: 1).status)
      #expect(status.code == .resourceExhausted)
      #expect(status.errorInfo?.metadata["limit"] == "incomplete_bytes_per_uid_max")
      // The rest of the request is dropped, and the connection continues.
      try second.send([whole[whole.count - 1]])
      second.nextStreamID = 3
      #expect(try second.get("w0").revision == 1)
      // The earlier bytes are kept.
      try first.send([whole[whole.count - 1]])
      #expect(try first.response(to: 1).status == nil)
      try Self.wait(for: 0, in: server)
      try second.send(Self.large(second, id: 5))
      #expect(try second.response(to: 5).status == nil)
    }
  }

  @Test(arguments: [
    (AccessPolicy.nobody, "incomplete_bytes_unauthorized_max"),
    (.client, "incomplete_bytes_max"),
  ])
  func `an incomplete request is refused above the bytes of all users together`(
    policy: AccessPolicy, limit: String
  )
    async throws
  {
    let limits = Self.limits {
      $0.incompleteBytesMax = 1 << 19
      $0.incompleteBytesUnauthorizedMax = 1 << 19
    }
    try await withServer(limits: limits, policy: policy) { server in
      let client = try server.connect()
      try client.send(Array(Self.large(client, id: 1).dropLast()))
      let status = try #require(try client.response(to: 1).status)
      #expect(status.code == .resourceExhausted)
      #expect(status.errorInfo?.metadata["limit"] == limit)
    }
  }

  @Test func `an incomplete request ends its connection, an idle connection stays`()
    async throws
  {
    let limits = Self.limits { $0.requestMilliseconds = 1 }
    try await withServer(limits: limits) { server in
      let idle = try server.connect()
      #expect(try idle.health() == .serving)
      let late = try server.connect()
      #expect(try late.health() == .serving)
      try late.send(Array(try Self.large(late, id: 3).prefix(1_000)))
      try late.readToEnd()
      try Self.wait(for: 0, in: server)
      #expect(try idle.health() == .serving)
    }
  }

  /// A stream that waits to be opened keeps the connection.
  @Test func `an incomplete request takes no memory after its connection has ended`()
    async throws
  {
    try await withServer { server in
      let counts = try server.onLoop { service -> [Int] in
        var pair: [CInt] = [-1, -1]
        try #require(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &pair) == 0)
        let connection = TTRPCConnection(peer: .current, socket: pair[0], service: service)
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandler(connection)
        try channel.connect(to: SocketAddress(unixDomainSocketPath: "/x")).wait()
        let part = RawClient.frame(.request, 1, [0], announcing: 1_000)
        try channel.writeInbound(ByteBuffer(bytes: part))
        var counts = [connection.reader.bufferedBytes - part.count]
        channel.close(promise: nil)
        channel.embeddedEventLoop.run()
        for descriptor in pair { close(descriptor) }
        counts.append(connection.reader.bufferedBytes)
        return counts
      }
      #expect(counts == [0, 0])
    }
  }

  /// Very many can be late at once.
  @Test func `an incomplete request is ended between other work of the loop`() async throws {
    try await withServer(limits: Self.limits { $0.requestMilliseconds = 1 }) { server in
      let ended = try server.onLoop { service in
        // Every read of the clock takes as long as a search.
        var now = NIODeadline.now()
        service.context.work.clock = {
          now = now + .milliseconds(1)
          return now
        }
        let ended = Ended()
        for _ in 0..<10 {
          let account = service.incompleteRequests.account(of: .current)
          #expect(account.hold(1) == nil)
          ended.accounts.append(account)
          account.endLate = {
            ended.passes.append(service.turn.loopPass?() ?? 0)
            return true
          }
        }
        return ended
      }
      try server.eventually { _ in ended.passes.count == 10 }
      let passes = try server.onLoop { _ in Set(ended.passes).count }
      #expect(passes >= 5)
    }
  }

  /// The time of each search is over before its first request.
  @Test func `an incomplete request is ended however busy the machine is`() async throws {
    try await withServer(limits: Self.limits { $0.requestMilliseconds = 1 }) { server in
      let ended = try server.onLoop { service in
        service.context.work.clock = SliceClock.makeOver()
        let ended = Ended()
        for _ in 0..<3 {
          let account = service.incompleteRequests.account(of: .current)
          #expect(account.hold(1) == nil)
          ended.accounts.append(account)
          account.endLate = {
            ended.passes.append(service.turn.loopPass?() ?? 0)
            return true
          }
        }
        return ended
      }
      try server.eventually { _ in ended.passes.count == 3 }
      let isSearching = try server.onLoop { $0.incompleteRequests.isSearching }
      #expect(!isSearching)
    }
  }

  /// The objects that are used only on the loop.
  private final class Ended: @unchecked Sendable {
    var accounts: [IncompleteRequest] = []
    var passes: [UInt64] = []
  }

  @Test func `a request sets no timer if its time is not limited`() async throws {
    try await withServer { server in
      let searches = try server.onLoop { loop -> [Bool] in
        let all = loop.incompleteRequests
        let account = all.account(of: Peer(uid: 1_000, gid: 1_000, pid: 1))
        account.isTimed = false
        _ = account.hold(10)
        let untimed = all.isSearching
        account.isTimed = true
        _ = account.hold(0)
        _ = account.hold(10)
        defer { _ = account.hold(0) }
        return [untimed, all.isSearching]
      }
      #expect(searches == [false, true])
    }
  }

  @Test func `a request after a lowered limit is late before an earlier request`() async throws {
    let long = Self.limits { $0.requestMilliseconds = 1_000_000 }
    try await withServer(limits: long) { server in
      let ended = try server.onLoop { service in
        let ended = Ended()
        let first = service.incompleteRequests.account(of: .current)
        _ = first.hold(1)
        service.context.reconfigure(Self.limits { $0.requestMilliseconds = 1 }, .error)
        let second = service.incompleteRequests.account(of: .current)
        second.endLate = {
          ended.passes.append(0)
          return true
        }
        _ = second.hold(1)
        ended.accounts = [first, second]
        return ended
      }
      try server.eventually { _ in !ended.passes.isEmpty }
      try server.onLoop { _ in _ = ended.accounts[0].hold(0) }
    }
  }

  @Test func `bytes that may stay uncounted have to be complete in time`() async throws {
    let limits = Self.limits { $0.incompleteBytesPerUIDMax = 100 }
    try await withServer(limits: limits) { server in
      try server.onLoop { service in
        let all = service.incompleteRequests
        let account = all.account(of: .current)
        #expect(account.hold(101, uncountedMax: 100) != nil)
        #expect(!all.isSearching)
        // Other requests of the user have taken the room.
        let other = all.account(of: .current)
        other.isTimed = false
        #expect(other.hold(100) == nil)
        #expect(account.hold(10, uncountedMax: 100) == nil)
        #expect(all.bytes(of: geteuid()) == 100)
        #expect(all.isSearching)
        _ = other.hold(0)
        // There is room again.
        #expect(account.hold(11, uncountedMax: 100) == nil)
        #expect(all.bytes(of: geteuid()) == 11)
        _ = account.hold(0)
        #expect(all.bytes(of: geteuid()) == 0)
      }
    }
    let short = Self.limits { ($0.incompleteBytesPerUIDMax, $0.requestMilliseconds) = (100, 1) }
    try await withServer(limits: short) { server in
      let ended = try server.onLoop { service in
        let ended = Ended()
        let account = service.incompleteRequests.account(of: .current)
        ended.accounts.append(account)
        account.endLate = {
          ended.passes.append(0)
          return true
        }
        #expect(account.hold(101, uncountedMax: 200) == nil)
        return ended
      }
      try server.eventually { _ in ended.passes.count == 1 }
      let isSearching = try server.onLoop { $0.incompleteRequests.isSearching }
      #expect(!isSearching)
    }
  }

  @Test func `an incomplete request is not counted after its connection has ended`() async throws {
    try await withServer { server in
      let client = try server.connect()
      let part = Array(try Self.large(client, id: 1).dropLast())
      try client.send(part)
      try Self.wait(for: part.count, in: server)
      client.close()
      try Self.wait(for: 0, in: server)
    }
  }
}
