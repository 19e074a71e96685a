import Glibc
import NIOCore
import NIOEmbedded
import Testing
import WidgetCore
import WidgetModel
import WidgetProto
import WidgetStorage

@testable import WidgetServer

/// A reader on the loop.
private final class Sink: StreamSink {
  /// The messages about the health of a service.
  private(set) var states: [HealthCheckResponse.ServingStatus] = []

  var isWritable: Bool { true }

  func send(_ message: EncodedMessage) {
    let bytes = Array(message.payload.readableBytesView)
    guard let response = try? WireCodec().decode(HealthCheckResponse.self, from: bytes) else {
      return
    }
    states.append(response.status)
  }

  func finish(_ status: RPCStatus?) {}
}

/// A connection with the streams of a former process.
@Suite struct `A connection that is taken over` {
  /// A connection on a socket that nobody reads.
  private struct TakenOver {
    let connection: TTRPCConnection
    let channel = EmbeddedChannel()
    let sockets: [CInt]

    init(_ service: ServiceLoop, streamCount: UInt32) throws {
      var pair: [CInt] = [-1, -1]
      try #require(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &pair) == 0)
      sockets = pair
      let streams = (0..<streamCount).map { number in
        HandedStream(
          streamID: 2 * number + 1, request: .widgets(WatchWidgetsRequest()),
          subscriptionID: UInt64(number) + 1)
      }
      connection = TTRPCConnection(
        peer: .current, socket: pair[0], service: service,
        former: HandedConnection(lastStreamID: 2 * streamCount, streams: streams))
      try channel.pipeline.syncOperations.addHandler(connection)
      try channel.connect(to: SocketAddress(unixDomainSocketPath: "/x")).wait()
    }

    /// Does one part of the work.
    func work() -> Bool {
      let now = NIODeadline.uptimeNanoseconds(1)
      return connection.work(TimeSlice(start: now, end: now, clock: { now }))
    }

    /// Hands the connection over, and returns the ids of its streams.
    func handOver() throws -> [UInt32] {
      guard let (handed, socket) = connection.handOver() else { throw TestFault("not handed over") }
      for descriptor in sockets + [socket] { close(descriptor) }
      channel.embeddedEventLoop.run()
      return handed.streams.map(\.streamID)
    }
  }

  @Test func `its streams are taken over in parts, and the rest can be handed over again`()
    async throws
  {
    try await withServer { server in
      let (counts, known, ids) = try server.onLoop { service -> ([Int], [Int], [UInt32]) in
        let taken = try TakenOver(service, streamCount: 5)
        var (counts, known) = ([service.streams.count], [taken.connection.streamCount])
        for _ in 0..<3 {
          #expect(taken.work())
          counts.append(service.streams.count)
          known.append(taken.connection.streamCount)
        }
        return (counts, known, try taken.handOver())
      }
      #expect(counts == [0, 1, 2, 3])
      #expect(known == [5, 5, 5, 5])
      #expect(ids == [1, 3, 5, 7, 9])
      try server.eventually { $0.streams.isEmpty }
    }
  }

  @Test func `its streams count before they are taken over, and no quota refuses them`()
    async throws
  {
    let limit = "subscriptions_per_uid_max"
    try await withServer(limits: .with { $0.subscriptionsPerUIDMax = 2 }) { server in
      let (counts, ids) = try server.onLoop { service -> ([Int], [UInt32]) in
        let taken = try TakenOver(service, streamCount: 3)
        var counts = [service.context.streamAccounts.count]
        #expect(throws: RPCStatus.quotaExceeded(limit, 2)) {
          try service.context.openStream(of: .current)
        }
        for _ in 0..<3 {
          _ = taken.work()
          counts.append(service.context.streamAccounts.count)
        }
        counts.append(service.streams.count)
        return (counts, try taken.handOver())
      }
      #expect(counts == [3, 3, 3, 3, 3])
      #expect(ids == [1, 3, 5])
      try server.eventually { $0.context.streamAccounts.count == 0 }
    }
  }

  @Test func `a call can end a stream that is not taken over yet`() async throws {
    try await withServer { server in
      try server.onLoop { service in
        let taken = try TakenOver(service, streamCount: 3)
        let other = Peer(uid: Peer.current.uid + 1, gid: 1, pid: 1)
        #expect(throws: RPCStatus.noSubscription(2)) { try service.streams.find(2, of: other) }
        #expect(service.streams.count == 0)
        let found = try service.streams.find(2, of: .current)
        #expect(found.id == 2 && service.streams.count == 1)
        #expect(service.context.streamAccounts.count == 3)
        service.streams.finish(found, .unsubscribed)
        #expect(throws: RPCStatus.noSubscription(2)) { try service.streams.find(2, of: .current) }
        #expect(service.context.streamAccounts.count == 2)
        #expect(try taken.handOver() == [1, 5])
        // The connection has no streams any more.
        #expect(throws: RPCStatus.noSubscription(1)) { try service.streams.find(1, of: .current) }
      }
    }
  }

  @Test func `the streams that are not taken over end with it`() async throws {
    try await withServer { server in
      try server.onLoop { service in
        let taken = try TakenOver(service, streamCount: 3)
        #expect(service.context.streamAccounts.count == 3)
        _ = try taken.handOver()
        #expect(service.context.streamAccounts.count == 0)
      }
    }
  }
}

/// Streams of a former process that wait to be taken over.
@Suite struct `Streams that are not taken over yet` {
  @Test func `their deadlines come nearer`() async throws {
    let second: Int64 = 1_000_000_000
    try await withServer { server in
      try server.onLoop { service in
        let untaken = UntakenStreams(of: .current, .owner, in: service)
        let start = NIODeadline.uptimeNanoseconds(1)
        let streams = [10 * second, 0, 2 * second].map { HandedStream(timeoutNanoseconds: $0) }
        untaken.begin(streams, at: start)
        let left = untaken.remaining(at: start + .seconds(3)).map(\.timeoutNanoseconds)
        // The last one ends when it is taken over. 0 means no deadline.
        #expect(left == [7 * second, 0, 1])
        let next = untaken.next(at: start + .seconds(4))
        #expect(next?.timeoutNanoseconds == 6 * second)
        untaken.removeAll()
      }
    }
  }

  @Test func `the store keeps the removals that their readers lack`() async throws {
    let limits = ServerLimits.with { $0.store.tombstonesMax = 8 }
    try await withServer(limits: limits) { server in
      try server.onLoop { service in
        let caller = Caller(uid: 0, pid: 0, client: "")
        func remove(_ numbers: Range<Int>) throws {
          for number in numbers {
            service.turn.open()
            try service.context.commit(.delete(.make("w\(number)")), by: caller)
            service.turn.finish()
          }
        }
        service.turn.open()
        for number in 0..<40 {
          let spec = WidgetSpec(id: try .make("w\(number)"), kind: try .make("clock"))
          try service.context.commit(.create(spec), by: caller)
        }
        service.turn.finish()
        let cursor = service.context.store.revision
        let untaken = UntakenStreams(of: .current, .owner, in: service)
        untaken.begin([
          HandedStream(
            streamID: 1, request: .widgets(WatchWidgetsRequest()), subscriptionID: 1,
            cursor: cursor)
        ])
        try remove(0..<20)
        #expect(service.context.store.compactRevision <= cursor)
        let stream = try service.takeOver(
          try #require(untaken.next()), sink: Sink(), peer: .current, level: .owner)
        // A later turn serves the stream.
        #expect(service.streams.retainedRevision <= cursor)
        stream.forget()
        try remove(20..<40)
        #expect(service.context.store.compactRevision > cursor)
      }
    }
  }
}

/// Watches of health that a former process has told SERVING, or something else.
@Suite struct `A watch of health that is taken over` {
  /// The states that the watches of some services get when they are taken over, by service. And
  /// whether the process after this one has to tell them.
  private static func takeOver(
    lacksState: Bool, in service: ServiceLoop
  ) throws -> (states: [String: [HealthCheckResponse.ServingStatus]], lacking: Set<String>) {
    var states: [String: [HealthCheckResponse.ServingStatus]] = [:]
    var lacking: Set<String> = []
    for name in ["", HealthCheckRequest.store, "nope"] {
      let sink = Sink()
      let watch = try service.health.continueWatch(
        HealthCheckRequest(service: name), of: HandedStream(lacksStore: lacksState), sink: sink,
        peer: .current, level: .owner)
      states[name] = sink.states
      if watch.handOver(streamID: 1).lacksStore { lacking.insert(name) }
      watch.forget()
    }
    return (states, lacking)
  }

  @Test func `its reader learns that the store has failed in this process`() async throws {
    try await withServer { server in
      try server.onLoop { service in
        let before = try Self.takeOver(lacksState: false, in: service)
        #expect(before.states == ["": [], HealthCheckRequest.store: [], "nope": []])
        #expect(before.lacking == ["nope"])
        service.storage.failed(.full(path: "/db"))
        let after = try Self.takeOver(lacksState: false, in: service)
        #expect(after.states == ["": [], HealthCheckRequest.store: [.notServing], "nope": []])
        #expect(after.lacking == [HealthCheckRequest.store, "nope"])
      }
    }
  }

  @Test func `a reader that was told NOT_SERVING is told SERVING`() async throws {
    try await withServer { server in
      try server.onLoop { service in
        let taken = try Self.takeOver(lacksState: true, in: service)
        #expect(
          taken.states == ["": [.serving], HealthCheckRequest.store: [.serving], "nope": []])
      }
    }
  }

  @Test func `a failure that ends with the handover is no change for other services`()
    async throws
  {
    try await withServer { server in
      let sinks = try server.onLoop { service -> SendableBox<[Sink]> in
        let sinks = [Sink(), Sink()]
        for (sink, name) in zip(sinks, ["", HealthCheckRequest.store]) {
          _ = try service.health.open(
            HealthCheckRequest(service: name), sink: sink, peer: .current, level: .owner)
        }
        service.storage.failed(.full(path: "/db"))
        return SendableBox(sinks)
      }
      try server.eventually { _ in sinks.value[1].states == [.serving, .notServing] }
      try server.onLoop { service in
        service.endGuestStreams()
        service.storage.handOver()
      }
      try server.eventually { !$0.context.work.hasMore }
      let states = try server.onLoop { _ in sinks.value.map(\.states) }
      #expect(states == [[.serving], [.serving, .notServing]])
    }
  }
}
