import Glibc
import Logging
import Testing
import WidgetModel
import WidgetProto

@testable import WidgetServer

/// The users of uids from `/etc/subuid`: text in, users out.
@Suite struct `Subordinate uids` {
  private static let users: [String: UInt32] = ["ann": 1_000, "bob": 1_001, "root": 0]

  private func read(_ text: String, accounts: Set<UInt32> = []) -> SubordinateUIDs {
    SubordinateUIDs(text, accounts: accounts, userNamed: { Self.users[$0] })
  }

  /// The users of some uids.
  private func users(of uids: [UInt32], in subordinates: SubordinateUIDs) -> [UInt32?] {
    uids.map { subordinates.user(of: $0) }
  }

  @Test func `each uid of a range has the range's user, and no other uid has one`() {
    let uids = read("bob:165536:65536\nann:100000:65536\n")
    #expect(
      users(of: [99_999, 100_000, 165_535, 165_536, 231_071, 231_072], in: uids)
        == [nil, 1_000, 1_000, 1_001, 1_001, nil])
    #expect(users(of: [0, 1_000, UInt32.max - 1, UInt32.max], in: uids) == [nil, nil, nil, nil])
    #expect(uids.invalidLines.isEmpty)
  }

  @Test func `every uid has the user that a search through all lines finds`() {
    var lines: [String] = []
    var expected: [UInt32: UInt32] = [:]
    for number in 0..<50 as Range<UInt32> {
      // Ranges with gaps and overlaps, in a mixed order.
      let (user, start) = (2_000 + number, 70_000 + number * 37 % 50 * 10)
      lines.append("\(user):\(start):15")
      for uid in start..<(start + 15) where expected[uid] == nil { expected[uid] = user }
    }
    let uids = read(lines.joined(separator: "\n"))
    for uid in 69_990..<70_600 as Range<UInt32> {
      #expect(uids.user(of: uid) == expected[uid], "\(uid)")
    }
  }

  @Test func `a user can have several ranges, also by number`() {
    let uids = read("ann:100000:10\n1000:200000:10\nann:300000:10")
    #expect(users(of: [100_009, 200_000, 300_009], in: uids) == [1_000, 1_000, 1_000])
  }

  @Test func `the first line has the uids of ranges that overlap`() {
    let uids = read("ann:100010:10\nbob:100000:30\nann:100000:100\n")
    #expect(
      users(of: [100_000, 100_009, 100_010, 100_019, 100_020, 100_029, 100_030], in: uids)
        == [1_001, 1_001, 1_000, 1_000, 1_001, 1_001, 1_000])
  }

  @Test func `a range does not have the uids of the system and of accounts`() {
    let uids = read("ann:0:4294967295\n", accounts: [1_000, 1_001, 200_000, .max])
    #expect(
      users(of: [0, 33, 999, 1_000, 1_001, 61_184, 65_534, 65_535, 200_000], in: uids)
        == Array(repeating: nil, count: 9))
    #expect(
      users(of: [1_002, 61_183, 65_536, 199_999, 200_001, UInt32.max - 1], in: uids)
        == Array(repeating: 1_000, count: 6))
    #expect(uids.user(of: .max) == nil)
  }

  @Test func `the ranges of an unknown name are one user`() {
    let uids = read("eve:100000:10\nmal:200000:10\neve:300000:10\n", accounts: [100_000])
    #expect(
      users(of: [100_000, 100_001, 100_009, 200_009, 300_000], in: uids)
        == [nil, 100_001, 100_001, 200_000, 100_001])
  }

  @Test func `comments and blank lines are skipped`() {
    let uids = read("\n# ann:100000:1\n  \t\n  # b\nann:100000:1\n\n")
    #expect(uids.invalidLines.isEmpty && uids.user(of: 100_000) == 1_000)
  }

  @Test(arguments: [
    "ann", "ann:100000", "ann:100000:", "ann::5", ":100000:5", "ann:x:5", "ann:100000:5\r",
    "ann:-5:5", "ann:100000:5 5", "ann:100000:99999999999999999999", "ann:0x:5", "ann:08:5",
  ])
  func `an invalid line is reported and gives nobody a uid`(line: String) {
    let uids = read("ann:200000:1\n\(line)\nbob:300000:1\n")
    #expect(uids.invalidLines == [2])
    #expect(
      users(of: [5, 99_999, 100_000, 100_004, 200_000, 300_000], in: uids)
        == [nil, nil, nil, nil, 1_000, 1_001])
  }

  @Test func `numbers and further fields mean the same as for newuidmap`() {
    let uids = read("ann:0x186A0:0x0A\nbob:0303240: 10:more\n")
    #expect(uids.invalidLines.isEmpty)
    // 0x186A0 and 0303240 are 100,000, so the second line has nothing left.
    #expect(
      users(of: [99_999, 100_000, 100_009, 100_010], in: uids) == [nil, 1_000, 1_000, nil])
    #expect(read("bob:0303240:\t10:more").user(of: 100_009) == 1_001)
  }

  @Test(arguments: ["ann:100000:0", "ann:4294967295:5", "ann:99999999999:5", ""])
  func `a line without uids gives nobody a uid`(line: String) {
    #expect(read(line) == SubordinateUIDs())
  }
}

/// The user for whom the daemon counts a connection.
@Suite struct `A peer with a subordinate uid` {
  private static let subordinates = SubordinateUIDs(
    "ann:100000:65536\nroot:1000000:65536\ndaemon:2000000:65536\n",
    userNamed: { ["ann": 1_000, "root": 0, "daemon": 1_900][$0] })
  private static let policy = AccessPolicy(ownerUIDs: [0, 1_900, 100_007], clientGID: 50)

  private static func counted(_ uid: UInt32, groups: [UInt32] = [50]) -> Peer {
    policy.counted(Peer(uid: uid, gid: 100_000, pid: 7, groups: groups), with: subordinates)
  }

  @Test func `the peer shares its uid with its user, and keeps its groups and its process`() {
    #expect(
      Self.counted(165_535) == Peer(uid: 1_000, gid: 100_000, pid: 7, groups: [50]))
    #expect(Self.counted(165_535) == Self.counted(1_000))
    #expect(Self.counted(1_001).uid == 1_001)
  }

  @Test func `the peer has the connections of its user`() {
    let limits = ServerLimits.with { $0.connectionsPerUIDMax = 3 }
    var shares = ConnectionShares()
    for uid in [1_000, 100_000, 100_001] as [UInt32] {
      #expect(shares.admit(Self.counted(uid).uid, .client, limits) == nil)
    }
    let full = ConnectionShares.Refusal(limit: "connections_per_uid_max", maximum: 3)
    #expect(shares.admit(Self.counted(100_002).uid, .client, limits) == full)
    #expect(shares.admit(Self.counted(1_000).uid, .client, limits) == full)
    #expect(shares.admit(Self.counted(1_001).uid, .client, limits) == nil)
  }

  @Test(arguments: [1_000_000, 1_065_535, 2_000_000] as [UInt32])
  func `the range of an owner gives no rights`(uid: UInt32) {
    #expect(Self.counted(uid).uid == uid)
    #expect(Self.policy.level(of: Self.counted(uid)) == .client)
    #expect(Self.policy.level(of: Self.counted(uid, groups: [])) == .nothing)
  }

  @Test(arguments: [0, 1_000, 1_001, 1_900, 100_000, 100_007, 1_000_000, 2_000_000] as [UInt32])
  func `the level of a peer does not depend on the ranges`(uid: UInt32) {
    for groups in [[], [50], [51]] as [[UInt32]] {
      let peer = Peer(uid: uid, gid: 1, pid: 7, groups: groups)
      let counted = Self.policy.counted(peer, with: Self.subordinates)
      #expect(Self.policy.level(of: counted) == Self.policy.level(of: peer))
    }
  }

  // MARK: - Connections

  private static let own = SubordinateUIDs(geteuid()...geteuid(), of: 4_000_000_005)

  /// The user of a connection that may not remove widgets, according to the daemon.
  private static func uid(of client: RawClient) throws -> String? {
    let request = try DeleteWidgetRequest(id: .make("w0"))
    return try client.refusal("DeleteWidget", request).errorInfo?.metadata["uid"]
  }

  @Test func `a new connection has the user of the present ranges`() async throws {
    let server = try await startServer(
      policy: .client, folder: TestFolder(), subordinateUIDs: Self.own)
    try await onThread {
      let uid = try Self.uid(of: server.connect())
      #expect(uid == "4000000005")
    }
    let limits = ServerLimits().patient
    await server.server.reconfigure(limits: limits, logLevel: .critical)
    try await onThread {
      let uid = try Self.uid(of: server.connect())
      #expect(uid == "4000000005")
    }
    await server.server.reconfigure(
      limits: limits, logLevel: .critical, subordinateUIDs: SubordinateUIDs())
    try await onThread {
      let uid = try Self.uid(of: server.connect())
      #expect(uid == "\(geteuid())")
    }
    try await server.server.stop()
  }

  @Test func `a handed-over connection has the user of the next server's ranges`() async throws {
    try await onThreads {
      let folder = try TestFolder()
      let log = TestLog.State()
      let server = try await startServer(policy: .client, log: log, folder: folder)
      let client = try server.connect()
      #expect(try Self.uid(of: client) == "\(geteuid())")
      let handed = try #require(try await server.server.handOver())
      let next = try await startServer(
        policy: .client, log: log, folder: folder, takingOver: handed, subordinateUIDs: Self.own)
      let uid = Result { try Self.uid(of: client) }
      try await next.server.stop()
      #expect(try uid.get() == "4000000005")
    }
  }
}
