import Glibc
import Testing
import WidgetCore
import WidgetModel
import WidgetProto

@testable import WidgetServer

@Suite struct `The policy` {
  static let policy = AccessPolicy(ownerUIDs: [0, 1000], clientGID: 50)

  @Test(arguments: [
    (Peer(uid: 0, gid: 0, pid: 1), AccessPolicy.Level.owner),
    (Peer(uid: 1000, gid: 7, pid: 1), .owner),
    (Peer(uid: 1000, gid: 50, pid: 1), .owner),
    (Peer(uid: 1001, gid: 50, pid: 1), .client),
    (Peer(uid: 1001, gid: 7, pid: 1, groups: [8, 50]), .client),
    (Peer(uid: 1001, gid: 7, pid: 1, groups: [8, 51]), .nothing),
    (Peer(uid: 50, gid: 1000, pid: 1), .nothing),
  ])
  func `the policy decides by user, group and supplementary groups`(
    peer: Peer, level: AccessPolicy.Level
  ) {
    #expect(Self.policy.level(of: peer) == level)
  }

  @Test func `without a client group only owners have rights`() {
    let policy = AccessPolicy(ownerUIDs: [0], clientGID: nil)
    #expect(policy.level(of: Peer(uid: 5, gid: 0, pid: 1, groups: [0])) == .nothing)
  }

  @Test func `processes without a visible id are the same only if the kernel says so`() {
    func peer(_ pid: UInt32, _ hiddenProcess: UInt64 = 0) -> Peer {
      var peer = Peer(uid: 1, gid: 1, pid: pid)
      peer.hiddenProcess = hiddenProcess
      return peer
    }
    #expect(peer(7).isSameProcess(as: peer(7)) && !peer(7).isSameProcess(as: peer(8)))
    #expect(!peer(0).isSameProcess(as: peer(0)))
    #expect(peer(0, 5).isSameProcess(as: peer(0, 5)))
    #expect(!peer(0, 5).isSameProcess(as: peer(0, 6)) && !peer(0, 5).isSameProcess(as: peer(0)))
    #expect(!peer(0, 5).isSameProcess(as: peer(7)))
  }

  @Test func `a process without a visible id is unknown if the kernel does not name it`() {
    #expect(Peer.hiddenProcess(5, own: 4) == 5)
    #expect(Peer.hiddenProcess(nil, own: 4) == 0)
    // Without a number of its own, the daemon cannot tell whether numbers differ.
    #expect(Peer.hiddenProcess(5, own: nil) == 0)
    #expect(Peer.hiddenProcess(nil, own: nil) == 0)
    // Before Linux 6.9, all processes have one number.
    #expect(Peer.hiddenProcess(4, own: 4) == 0)
  }

  @Test func `the kernel names the process behind a connected socket only`() throws {
    var pair: [CInt] = [-1, -1]
    try #require(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &pair) == 0)
    let file = open("/dev/null", O_RDONLY)
    defer { for descriptor in pair + [file] { close(descriptor) } }
    #expect(Peer.processNumber(of: pair[0]) == Peer.ownNumber)
    #expect(Peer(socket: pair[0])?.pid == Peer.current.pid)
    #expect(Peer(socket: pair[0])?.hiddenProcess == 0)
    for descriptor in [file, -1] {
      #expect(Peer.processNumber(of: descriptor) == nil && Peer(socket: descriptor) == nil)
    }
  }

  @Test func `an error names no process 0`() throws {
    let other = RPCStatus.providerActive("p", uid: 1, pid: 0, canTakeOver: false)
    #expect(other.message.contains("(a process in another PID namespace, user 1)"))
    let known = RPCStatus.providerActive("p", uid: 1, pid: 7, canTakeOver: false)
    #expect(known.message.contains("(process 7, user 1)"))
  }

  static let mutations: [(String, any WireMessage)] = {
    guard let id = WidgetID("w0"), let kind = KindName("clock") else { return [] }
    return [
      ("CreateWidget", CreateWidgetRequest(widget: WidgetSpec(id: id, kind: kind))),
      ("UpdateWidget", UpdateWidgetRequest(id: id)),
      ("DeleteWidget", DeleteWidgetRequest(id: id)),
      ("SetPresence", SetPresenceRequest(target: .all, action: .hide)),
      ("MoveWidget", MoveWidgetRequest(id: id, destination: .first)),
      ("ApplyWidgets", ApplyWidgetsRequest()),
    ]
  }()

  static let admin: [(String, any WireMessage)] = [
    ("GetStats", GetStatsRequest()), ("Reload", ReloadRequest()),
    ("SetLogLevel", SetLogLevelRequest(level: .debug)),
  ]

  @Test func `a client reads, watches and sends events, and cannot change widgets`() async throws {
    try await withServer(policy: .client, log: TestLog.State(image: .sample(count: 2))) { server in
      let client = try server.connect()
      #expect(try client.get("w0").revision == 1)
      #expect(try client.list().widgets.count == 2)
      let watcher = try Watcher(client, WatchWidgetsRequest(includeEvents: true)).sync()
      try client.event("w0")
      #expect(try watcher.events(1).count == 1)
      let events = try client.watchEvents()
      guard case .opened(let opened)? = try events.next() else { throw TestFault("not opened") }
      try client.requestProgress(watcher.mirror.subscriptionID)
      try client.unsubscribe(opened.subscriptionID)
      for (method, message) in Self.mutations {
        let status = try client.refusal(method, message)
        #expect(status.code == .permissionDenied, "\(method)")
        #expect(status.reason == "PERMISSION_DENIED")
        #expect(status.errorInfo?.metadata["method"] == "widgetd.v1.WidgetService/\(method)")
      }
      for (method, message) in Self.admin {
        let status = try client.refusal(method, message, service: RawClient.admin)
        #expect(status.code == .permissionDenied, "\(method)")
      }
      let forced = try client.refusal(
        "SendEvent", SendEventRequest(widgetID: .make("w0"), name: "x", force: true))
      #expect(forced.code == .permissionDenied)
      #expect(server.log.groups.allSatisfy { $0.upserts.isEmpty })
    }
  }

  @Test(arguments: [
    (Method.getStats, "Only the daemon's own user and root may call it; members"),
    (.updateWidget, "Only the daemon's own user and root may call it; members"),
    (
      .listWidgets,
      "Only the daemon's own user, root and members of the client group (`--client-group`) may"
    ),
  ])
  func `a refusal says who may make the call`(method: Method, words: String) {
    let status = RPCStatus.permissionDenied(method, 1001)
    #expect(status.message.hasPrefix("User 1001 may not call \(method.fullName). \(words)"))
    #expect(!status.message.contains("change widgets"))
  }

  @Test func `users outside of the client group can only ask for health`() async throws {
    try await withServer(policy: .nobody, log: TestLog.State(image: .sample(count: 2))) { server in
      let client = try server.connect()
      #expect(try client.health() == .serving)
      let id = try WidgetID.make("w0")
      let reads: [(String, any WireMessage)] = [
        ("GetWidget", GetWidgetRequest(id: id)), ("ListWidgets", ListWidgetsRequest()),
        ("SendEvent", SendEventRequest(widgetID: id, name: "x")),
        ("Unsubscribe", UnsubscribeRequest(subscriptionID: 1)),
        ("RequestProgress", RequestProgressRequest(subscriptionID: 1)),
      ]
      for (method, message) in reads + Self.mutations {
        #expect(try client.refusal(method, message).code == .permissionDenied, "\(method)")
      }
      #expect(try client.watch().end()?.code == .permissionDenied)
      #expect(try client.watchEvents().end()?.code == .permissionDenied)
      #expect(try client.health() == .serving)
    }
  }

  /// Users can only end their own streams. The test has two users without a change of the process's
  /// user.
  @Test func `the policy keeps users from each other's streams`() async throws {
    try await withServer(log: TestLog.State(image: .sample(count: 1))) { server in
      let watcher = try Watcher(server.connect()).sync()
      let id = watcher.mirror.subscriptionID
      let codec = WireCodec()
      for (method, payload) in [
        (Method.unsubscribe, try codec.encode(UnsubscribeRequest(subscriptionID: id))),
        (.requestProgress, try codec.encode(RequestProgressRequest(subscriptionID: id))),
      ] {
        let statuses = try server.onLoop { service in
          let stranger = FakeResponder(Peer(uid: 4_000_000_003, gid: 0, pid: 1))
          payload.withUnsafeBytes { service.perform(method, $0, call: 1, for: stranger) }
          return stranger.refusals
        }
        #expect(statuses.map(\.code) == [.notFound])
        #expect(statuses.map(\.reason) == ["SUBSCRIPTION_NOT_FOUND"])
      }
      // The stream still runs, and its own user ends it from another connection.
      let client = try server.connect()
      try client.set("w0", ["n": .int(5)])
      #expect(try watcher.nextChanges().count == 1)
      try client.unsubscribe(id)
      #expect(try watcher.stream.end() == nil)
    }
  }
}

/// A caller with the id of another user.
final class FakeResponder: CallResponder {
  let peer: Peer
  let level = AccessPolicy.Level.owner
  private(set) var refusals: [RPCStatus] = []

  init(_ peer: Peer) { self.peer = peer }

  func respond<M: WireMessage>(_ message: M, to call: UInt32) {}
  func respond(encoded message: [UInt8], to call: UInt32) {}
  func refuse(_ status: RPCStatus, to call: UInt32) { refusals.append(status) }
  func flushResponses() {}
  func answerNow(_ body: () -> Void) { body() }
  func discardResponses() {}
}
