import Glibc
import NIOCore
import Testing
import WidgetCore
import WidgetModel
import WidgetProto

@testable import WidgetServer

/// Output that nobody reads.
@Suite struct `Unsent output` {
  private static func peer(_ uid: UInt32) -> Peer { Peer(uid: uid, gid: 100, pid: 1) }
  private static let policy = AccessPolicy(ownerUIDs: [0], clientGID: 100)

  /// Accounts of users, each with the number of its notices of room.
  private final class Accounts {
    let all: UnsentBytes
    private(set) var told: [UInt32: Int] = [:]
    private var accounts: [UInt32: UnsentAccount] = [:]

    init(_ service: ServiceLoop) { all = UnsentBytes(service.context, `Unsent output`.policy) }

    subscript(uid: UInt32) -> UnsentAccount {
      if let account = accounts[uid] { return account }
      let account = all.account(of: `Unsent output`.peer(uid))
      account.onRoom = { [unowned self] in told[uid, default: 0] += 1 }
      accounts[uid] = account
      return account
    }
  }

  @Test func `unsent output stops its user until a quarter of the limit is free`() async throws {
    try await withServer(limits: .with { $0.unsentBytesPerUIDMax = 100 }) { server in
      let accounts = try server.onLoop {
        NIOLoopBoundBox(Accounts($0), eventLoop: $0.context.eventLoop)
      }
      let room = try server.onLoop { _ in
        let (accounts, all) = (accounts.value, accounts.value.all)
        let other = all.account(of: Self.peer(1))
        accounts[1].hold(60)
        other.hold(39)
        let before = accounts[1].hasRoom
        other.hold(40)
        return [before, accounts[1].hasRoom, other.hasRoom, accounts[2].hasRoom]
      }
      #expect(room == [true, false, false, true])
      try server.onLoop { _ in accounts.value[1].hold(36) }
      // The look comes later.
      #expect(try server.onLoop { _ in accounts.value[1].hasRoom } == false)
      try server.onLoop { _ in accounts.value[1].hold(34) }
      #expect(try server.onLoop { _ in accounts.value[1].hasRoom })
      try server.eventually { _ in accounts.value.told == [1: 1] }
    }
  }

  @Test func `connections with little unsent output do not wait for others of their user`()
    async throws
  {
    // A connection may have 100 bytes then, and all of them together a quarter more.
    try await withServer(limits: .with { $0.unsentBytesPerUIDMax = 102_400 }) { server in
      let held = try server.onLoop { service in
        let all = UnsentBytes(service.context, Self.policy)
        let accounts = (0..<3).map { _ in all.account(of: Self.peer(1)) }
        return NIOLoopBoundBox(Named(accounts), eventLoop: service.context.eventLoop)
      }
      /// Sets unsent bytes. Returns whether there is room, for each of the three.
      func set(_ index: Int, _ bytes: Int) throws -> [Bool] {
        try server.onLoop { _ in held.value.accounts[index].hold(bytes) }
        // The look comes later.
        return try server.onLoop { _ in held.value.accounts.map(\.hasRoom) }
      }
      #expect(try set(0, 102_400) == [false, true, true])
      #expect(try set(1, 99) == [false, true, true])
      #expect(try set(1, 100) == [false, false, true])
      #expect(try set(1, 99) == [false, true, true])
      try server.eventually { _ in held.value.told == [0, 1, 0] }
      #expect(try set(2, 25_501) == [false, false, false])
      #expect(try set(2, 12_800) == [false, false, false])
      #expect(try set(2, 12_700) == [false, true, false])
      try server.eventually { _ in held.value.told == [0, 2, 0] }
      #expect(try set(0, 0) == [true, true, true])
      try server.eventually { _ in held.value.told == [1, 3, 1] }
    }
  }

  /// Accounts of one user, each with the number of its notices of room.
  private final class Named {
    let accounts: [UnsentAccount]
    private(set) var told: [Int]

    init(_ accounts: [UnsentAccount]) {
      self.accounts = accounts
      told = accounts.map { _ in 0 }
      for (index, account) in accounts.enumerated() {
        account.onRoom = { [unowned self] in told[index] += 1 }
      }
    }
  }

  /// Each slice is over at the first look at the clock.
  @Test func `connections are told of room one by one, if there still is room then`()
    async throws
  {
    let count = 20
    try await withServer(limits: .with { $0.unsentBytesPerUIDMax = 100 }) { server in
      let toldInTurns = Box<[Int]>([])
      let held = try server.onLoop { service in
        service.context.work.clock = SliceClock.makeOver()
        let all = UnsentBytes(service.context, Self.policy)
        let named = Named((0..<count).map { _ in all.account(of: Self.peer(1)) })
        let end = service.turn.atEnd
        service.turn.atEnd = {
          let before = named.told.reduce(0, +)
          end()
          let raise = named.told.reduce(0, +) - before
          if raise > 0 { toldInTurns.update { $0.append(raise) } }
        }
        named.accounts[0].hold(200)
        named.accounts[0].hold(0)
        // After the look, and before the slices that it asks for.
        service.context.eventLoop.assumeIsolated().execute { named.accounts[0].hold(200) }
        return NIOLoopBoundBox(named, eventLoop: service.context.eventLoop)
      }
      try server.eventually { !$0.context.work.hasMore }
      let isUntold = try server.onLoop { _ in held.value.told.allSatisfy { $0 == 0 } }
      #expect(isUntold)
      try server.onLoop { _ in held.value.accounts[0].hold(0) }
      try server.eventually { _ in held.value.told.allSatisfy { $0 > 0 } }
      #expect(toldInTurns.get() == Array(repeating: 1, count: count))
    }
  }

  @Test func `all clients together have a reserve for little unsent output`() async throws {
    try await withServer(
      limits: .with { ($0.unsentBytesMax, $0.unsentBytesPerUIDMax) = (10_240, 10_240) }
    ) { server in
      let room = try server.onLoop { service in
        let accounts = Accounts(service)
        accounts[1].hold(10_240)
        let little = accounts.all.account(of: Self.peer(1))
        let before = little.hasRoom
        accounts[2].hold(2_559)
        little.hold(1)
        return [before, little.hasRoom, accounts[1].hasRoom, accounts[2].hasRoom]
      }
      #expect(room == [true, false, false, true])
    }
  }

  @Test func `unsent output stops only clients above an equal share, never owners`()
    async throws
  {
    try await withServer(
      limits: .with { ($0.unsentBytesMax, $0.unsentBytesPerUIDMax) = (100, 1_000) }
    ) { server in
      let room = try server.onLoop { service in
        let accounts = Accounts(service)
        for (uid, bytes) in [(0, 90), (1, 70), (2, 29), (2, 30), (3, 10)] as [(UInt32, Int)] {
          accounts[uid].hold(bytes)
        }
        // Their number is counted when they hold more.
        accounts[1].hold(71)
        return ([0, 1, 2, 3] as [UInt32]).map { accounts[$0].hasRoom }
      }
      #expect(room == [true, false, true, true])
    }
  }

  @Test func `unsent output of users without rights stops only such users`() async throws {
    try await withServer(
      limits: .with { ($0.unsentBytesMax, $0.unsentBytesPerUIDMax) = (1_600, 10_000) }
    ) { server in
      let room = try server.onLoop { service in
        let all = UnsentBytes(service.context, Self.policy)
        let strangers = (11...14).map { all.account(of: Peer(uid: $0, gid: 1, pid: 1)) }
        let clients = (1...2).map { all.account(of: Self.peer($0)) }
        // A sixteenth of the limit is for strangers, with equal shares.
        for stranger in strangers.dropLast() { stranger.hold(24) }
        strangers[3].hold(1_500)
        // The whole limit is for clients. With the strangers' bytes, and shares of a sixth, both
        // would wait.
        for client in clients { client.hold(700) }
        let before = clients.map(\.hasRoom)
        clients[0].hold(900)
        return before + clients.map(\.hasRoom) + strangers.map(\.hasRoom)
      }
      // The reserve is used up, too, so the waiting stranger has no room.
      #expect(room == [true, true, false, true, true, true, true, false])
    }
  }

  /// A process of the same user, without the group of the clients.
  private static func stranger(_ uid: UInt32) -> Peer { Peer(uid: uid, gid: 1, pid: 2) }

  @Test(arguments: [true, false])
  func `unsent output counts with the rights of its connection, whichever is opened first`(
    isStrangerFirst: Bool
  ) async throws {
    // A sixteenth of the limit is 100 bytes.
    try await withServer(
      limits: .with { ($0.unsentBytesMax, $0.unsentBytesPerUIDMax) = (1_600, 10_000) }
    ) { server in
      let room = try server.onLoop { service in
        let all = UnsentBytes(service.context, Self.policy)
        let first = all.account(of: isStrangerFirst ? Self.stranger(1) : Self.peer(1))
        let second = all.account(of: isStrangerFirst ? Self.peer(1) : Self.stranger(1))
        let (stranger, client) = isStrangerFirst ? (first, second) : (second, first)
        client.hold(700)
        stranger.hold(99)
        let before = [stranger.hasRoom, client.hasRoom]
        stranger.hold(100)
        return before + [stranger.hasRoom, client.hasRoom]
      }
      #expect(room == [true, true, false, true])
    }
  }

  @Test func `connections of a user with different rights have one limit together`()
    async throws
  {
    try await withServer(limits: .with { $0.unsentBytesPerUIDMax = 100 }) { server in
      let held = try server.onLoop { service in
        let all = UnsentBytes(service.context, Self.policy)
        let peers = [Self.peer(1), Self.stranger(1), Self.peer(2)]
        let named = Named(peers.map { all.account(of: $0) })
        return NIOLoopBoundBox(named, eventLoop: service.context.eventLoop)
      }
      /// Sets unsent bytes. Returns whether there is room, for each of the three.
      func set(_ index: Int, _ bytes: Int) throws -> [Bool] {
        try server.onLoop { _ in held.value.accounts[index].hold(bytes) }
        // The look comes later.
        return try server.onLoop { _ in held.value.accounts.map(\.hasRoom) }
      }
      #expect(try set(0, 60) == [true, true, true])
      #expect(try set(1, 39) == [true, true, true])
      #expect(try set(1, 40) == [false, false, true])
      #expect(try set(0, 35) == [false, false, true])
      #expect(try set(0, 34) == [true, true, true])
      try server.eventually { _ in held.value.told == [1, 1, 0] }
    }
  }

  @Test func `a connection with other rights begins to wait if its user has no reserve`()
    async throws
  {
    try await withServer(limits: .with { $0.unsentBytesPerUIDMax = 100 }) { server in
      let held = try server.onLoop { service in
        let all = UnsentBytes(service.context, Self.policy)
        let client = all.account(of: Self.peer(1))
        client.hold(125)
        let named = Named([client, all.account(of: Self.stranger(1))])
        return NIOLoopBoundBox(named, eventLoop: service.context.eventLoop)
      }
      let room = { try server.onLoop { _ in held.value.accounts.map(\.hasRoom) } }
      #expect(try room() == [false, false])
      // The end of the last connection with some rights frees its bytes for the others.
      try server.onLoop { _ in held.value.accounts[0].close() }
      try server.eventually { _ in held.value.told[1] == 1 }
      #expect(try room()[1])
    }
  }

  @Test func `the end of a connection frees its unsent output for others`() async throws {
    try await withServer(limits: .with { $0.unsentBytesPerUIDMax = 100 }) { server in
      let accounts = try server.onLoop {
        NIOLoopBoundBox(Accounts($0), eventLoop: $0.context.eventLoop)
      }
      try server.onLoop { _ in
        let gone = accounts.value.all.account(of: Self.peer(1))
        accounts.value[1].hold(1)
        gone.hold(200)
        gone.close()
        gone.hold(50)
      }
      #expect(try server.onLoop { _ in accounts.value.all.bytes(of: 1) } == 1)
      #expect(try server.onLoop { _ in accounts.value[1].hasRoom })
      try server.eventually { _ in accounts.value.told == [1: 1] }
    }
  }

  /// Many connections ask for large pages and do not read. The daemon holds few answers, and every
  /// connection gets all of them in the end.
  @Test func `unsent output is bounded for all connections of a user`() async throws {
    let limit = 1 << 20
    let connections = 12
    let callsOfEach = 4
    try await withServer(limits: .with { $0.unsentBytesPerUIDMax = limit }) { server in
      let owner = try server.connect()
      let text = Value.string(String(repeating: "y", count: 600_000))
      try owner.create("large", kind: "plain", data: ["t": text])
      var clients: [RawClient] = []
      for _ in 0..<connections {
        let client = try server.connect()
        for _ in 0..<callsOfEach {
          try client.start("GetWidget", GetWidgetRequest(id: .make("large")))
        }
        clients.append(client)
      }
      try server.eventually { $0.unsentBytes.bytes(of: geteuid()) >= limit }
      var answers = [Int](repeating: 0, count: connections)
      while answers.contains(where: { $0 < callsOfEach }) {
        for (index, client) in clients.enumerated() where client.hasInput {
          // Not more than the limit, its reserve, and the last answer, of about 600,000 bytes.
          let unsent = try server.onLoop { $0.unsentBytes.bytes(of: geteuid()) }
          #expect(unsent <= limit + limit / 4 + 700_000)
          #expect(try client.response(to: UInt32(2 * answers[index] + 1)).status == nil)
          answers[index] += 1
        }
        usleep(1_000)
      }
      try server.eventually { $0.unsentBytes.bytes(of: geteuid()) == 0 }
    }
  }

  /// The calls and the streams of a client that reads, while other connections of its user do not.
  @Test func `unread output of one connection does not stop another of its user`() async throws {
    let limit = 4 << 20
    try await withServer(limits: .with { $0.unsentBytesPerUIDMax = limit }) { server in
      let owner = try server.connect()
      let text = Value.string(String(repeating: "y", count: 600_000))
      try owner.create("large", kind: "plain", data: ["t": text])
      try owner.create("a")
      let watcher = try Watcher(server.connect(), .init(selector: .init(ids: [.make("a")]))).sync()
      var deaf: [RawClient] = []
      var unsent = 0
      // One answer fits into the reserve.
      while unsent < limit {
        let (client, before) = (try server.connect(), unsent)
        deaf.append(client)
        for _ in 0..<4 { try client.start("GetWidget", GetWidgetRequest(id: .make("large"))) }
        try server.eventually { $0.unsentBytes.bytes(of: geteuid()) > before }
        unsent = try server.onLoop { $0.unsentBytes.bytes(of: geteuid()) }
      }
      for number in 0..<20 {
        let patch = WidgetPatch(setData: ["n": .int(Int64(number))])
        let id = try owner.start("UpdateWidget", UpdateWidgetRequest(id: .make("a"), patch: patch))
        #expect(try owner.response(to: id).status == nil)
        #expect(try watcher.nextChanges().count == 1)
      }
      #expect(try server.onLoop { $0.unsentBytes.bytes(of: geteuid()) } >= limit)
    }
  }

  /// A stream of a stopped user makes no frames, and gets everything afterwards.
  @Test func `unsent output at the limit stops streams too`() async throws {
    try await withServer(limits: .with { $0.unsentBytesPerUIDMax = 1_000 }) { server in
      let owner = try server.connect()
      try owner.create("a")
      let watcher = try Watcher(server.connect()).sync()
      let block = try server.onLoop { service in
        // More than the reserve.
        let account = service.unsentBytes.account(of: .current)
        account.hold(5_000)
        return NIOLoopBoundBox(account, eventLoop: service.context.eventLoop)
      }
      // An owner whose own output waits cannot make calls, because they wait in the socket.
      let id = try owner.start(
        "UpdateWidget",
        UpdateWidgetRequest(id: .make("a"), patch: WidgetPatch(setData: ["n": .int(1)])))
      for _ in 0..<3 { try server.onLoop { _ in } }
      #expect(!owner.hasInput && !watcher.client.hasInput)
      try server.onLoop { _ in block.value.close() }
      #expect(try owner.response(to: id).status == nil)
      #expect(try watcher.nextChanges().count == 1)
    }
  }

  /// Asks for widgets with one write.
  private static func ask(_ client: RawClient, for ids: [String]) throws -> [UInt32] {
    let streams = ids.map { _ in client.takeStreamID() }
    try client.send(
      zip(ids, streams).flatMap { id, stream in
        try client.request("GetWidget", GetWidgetRequest(id: .make(id)), id: stream)
      })
    return streams
  }

  @Test func `calls behind unread output count as unsent output`() async throws {
    try await withServer { server in
      let owner = try server.connect()
      try owner.create("a")
      let text = Value.string(String(repeating: "y", count: 600_000))
      try owner.create("large", kind: "plain", data: ["t": text])
      let held = { try server.onLoop { $0.unsentBytes.bytes(of: geteuid()) } }
      /// Asks for the large widget, and then for the small one. Returns the bytes that are held then.
      func hold(_ client: RawClient, _ smallCalls: Int) throws -> (bytes: Int, streams: [UInt32]) {
        // The daemon reads as much at once as earlier reads have found.
        for _ in 0..<20 {
          for stream in try Self.ask(client, for: Array(repeating: "a", count: 500)) {
            #expect(try client.response(to: stream).status == nil)
          }
        }
        try server.eventually { $0.unsentBytes.bytes(of: geteuid()) == 0 }
        let ids = ["large"] + Array(repeating: "a", count: smallCalls)
        // All calls are there when the loop reads.
        let asking = SendableBox(client)
        let streams = try server.onLoop { _ in try Self.ask(asking.value, for: ids) }
        try server.eventually { $0.unsentBytes.bytes(of: geteuid()) > 0 }
        return (try held(), streams)
      }
      let client = try server.connect()
      let alone = try hold(client, 0)
      #expect(try client.response(to: alone.streams[0]).status == nil)
      let behind = try hold(client, 500)
      #expect(behind.bytes > alone.bytes + 20_000)
      for stream in behind.streams { #expect(try client.response(to: stream).status == nil) }
      #expect(try held() == 0)
    }
  }
}
