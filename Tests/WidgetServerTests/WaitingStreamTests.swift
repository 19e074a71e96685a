import NIOCore
import Testing
import WidgetModel
import WidgetProto

@testable import WidgetServer

/// Streams whose requests have arrived, and that are not open yet.
@Suite struct `A stream that waits to be opened` {
  private final class Sink: StreamSink {
    var isWritable: Bool { true }
    func send(_ message: EncodedMessage) {}
    func finish(_ status: RPCStatus?) {}
  }

  private static func prepare(
    _ method: RPCMethod, _ message: some WireMessage, of uid: UInt32 = 1,
    _ level: AccessPolicy.Level = .client, in service: ServiceLoop
  ) throws -> WaitingStream {
    try service.prepare(
      method, ByteBuffer(bytes: service.context.codec.encode(message)), sink: Sink(),
      peer: Peer(uid: uid, gid: 1, pid: 1), level: level)
  }

  /// The limit that refuses a stream.
  private static func limit(_ prepare: () throws -> WaitingStream) -> String? {
    do {
      try prepare().drop()
      return nil
    } catch {
      return (error as? RPCStatus)?.errorInfo?.metadata["limit"]
    }
  }

  @Test func `a waiting stream counts with its request, and one too many is refused at once`()
    async throws
  {
    let limits = ServerLimits.with { $0.selectorMemoryBytesPerUIDMax = 10_000 }
    try await withServer(limits: limits) { server in
      try server.onLoop { service in
        let request = WatchEventsRequest(names: [String(repeating: "x", count: 4_000)])
        let waiting = try (0..<2).map { _ in
          try Self.prepare(.watchEvents, request, in: service)
        }
        #expect(service.context.streamAccounts.count(of: 1) == 2)
        let bytes = service.context.streamAccounts.highestSelectorBytes
        #expect((8_000...8_200).contains(bytes))
        #expect(service.streams.isEmpty)
        let refused = Self.limit { try Self.prepare(.watchEvents, request, in: service) }
        #expect(refused == "selector_memory_bytes_per_uid_max")
        // The bytes of a request that are not a part of its filter count, too.
        let token = WatchWidgetsRequest(resumeToken: [UInt8](repeating: 0, count: 4_000))
        let long = Self.limit { try Self.prepare(.watchWidgets, token, in: service) }
        #expect(long == "selector_memory_bytes_per_uid_max")
        let other = Self.limit { try Self.prepare(.watchEvents, request, of: 2, in: service) }
        #expect(other == nil)
        // An open stream counts once.
        _ = try waiting[0].open()
        waiting[0].drop()
        #expect(service.context.streamAccounts.count(of: 1) == 2)
        waiting[1].drop()
        #expect(service.context.streamAccounts.count(of: 1) == 1)
        let next = Self.limit { try Self.prepare(.watchEvents, request, in: service) }
        #expect(next == nil)
        for stream in service.streams.all { service.streams.forget(stream) }
        #expect(service.context.streamAccounts.count == 0)
        #expect(service.context.streamAccounts.highestSelectorBytes == 0)
      }
    }
  }

  @Test func `a waiting stream counts with the set of its ids, as an open one does`() async throws {
    try await withServer { server in
      try server.onLoop { service in
        let selector = Selector(ids: try (0..<100).map { try .make("w\($0)") })
        let waiting = try Self.prepare(
          .watchEvents, WatchEventsRequest(selector: selector), in: service)
        let bytes = service.context.streamAccounts.highestSelectorBytes
        #expect(bytes == 100 * (16 + 48) + selector.idSetBytes)
        _ = try waiting.open()
        #expect(service.context.streamAccounts.highestSelectorBytes == bytes)
      }
    }
  }

  @Test func `waiting streams count for the number of their user's streams`() async throws {
    try await withServer(limits: .with { $0.subscriptionsPerUIDMax = 2 }) { server in
      try server.onLoop { service in
        let request = WatchWidgetsRequest()
        let waiting = try (0..<2).map { _ in
          try Self.prepare(.watchWidgets, request, in: service)
        }
        let refused = Self.limit { try Self.prepare(.watchWidgets, request, in: service) }
        #expect(refused == "subscriptions_per_uid_max")
        for stream in waiting { stream.drop() }
        let next = Self.limit { try Self.prepare(.watchWidgets, request, in: service) }
        #expect(next == nil)
      }
    }
  }

  @Test func `waiting streams of all users have a limit, and owners open some more`() async throws {
    try await withServer(limits: .with { $0.subscriptionsMax = 16 }) { server in
      try server.onLoop { service in
        func limit(of uid: UInt32, _ level: AccessPolicy.Level) -> String? {
          Self.limit {
            try Self.prepare(.watchHealth, HealthCheckRequest(), of: uid, level, in: service)
          }
        }
        let waiting = try (1...14 as ClosedRange<UInt32>).map {
          try Self.prepare(.watchEvents, WatchEventsRequest(), of: $0, in: service)
        }
        #expect(limit(of: 15, .client) == "subscriptions_max")
        #expect(limit(of: 15, .nothing) == "subscriptions_max")
        let widgets = try Self.prepare(
          .watchWidgets, WatchWidgetsRequest(), of: 0, .owner, in: service)
        let events = try Self.prepare(
          .watchEvents, WatchEventsRequest(), of: 0, .owner, in: service)
        for stream in [widgets, events] { _ = try stream.open() }
        #expect(limit(of: 0, .owner) == "subscriptions_max")
        for stream in waiting { stream.drop() }
        #expect(limit(of: 15, .client) == nil)
        for stream in service.streams.all { service.streams.forget(stream) }
        #expect(service.context.streamAccounts.count == 0)
      }
    }
  }

  @Test func `users who may only ask for health have few bytes of waiting streams together`()
    async throws
  {
    let limits = ServerLimits.with { $0.incompleteBytesUnauthorizedMax = 1_000 }
    try await withServer(limits: limits) { server in
      try server.onLoop { service in
        let request = HealthCheckRequest(service: String(repeating: "x", count: 600))
        func limit(of uid: UInt32) -> String? {
          Self.limit {
            try Self.prepare(.watchHealth, request, of: uid, .nothing, in: service)
          }
        }
        let waiting = try Self.prepare(.watchHealth, request, of: 1, .nothing, in: service)
        #expect(limit(of: 2) == "incomplete_bytes_unauthorized_max")
        waiting.drop()
        #expect(limit(of: 2) == nil)
        #expect(service.context.streamAccounts.unauthorizedCount == 0)
      }
    }
  }

  @Test func `a client's input waits while many of its streams wait`() async throws {
    try await withServer { server in
      try server.onLoop { service in
        service.context.work.clock = SliceClock.makeStill()
        let calls = InProcessCalls(of: .current, .owner, service.context.work)
        for _ in 0..<WaitingStream.countMax { calls.openingBegins() }
        var passed = 0
        calls.addInput { _ in passed += 1 }
        calls.add { _ in }
        #expect(passed == 0)
        calls.openingEnded()
        service.turn.finish()
        #expect(passed == 1)
        // The input passes when the service stops.
        calls.openingBegins()
        calls.addInput { isAbandoned in passed += isAbandoned ? 10 : 1 }
        calls.abandon()
        #expect(passed == 11)
      }
    }
  }

  /// The room of a stream whose connection can be closed.
  private final class Room: StreamRoom {
    var isLost = false
    var hasRoom: Bool { !isLost }
    var onRoom: (() -> Void)?
    func take(_ byteCount: Int) {}
  }

  /// The objects that are used only on the loop.
  private final class Held: @unchecked Sendable {
    let room = Room()
    let sink: InProcessSink

    init(_ service: ServiceLoop) {
      sink = InProcessSink(
        peer: .current, service: service,
        calls: InProcessCalls(of: .current, .owner, service.context.work), room: room)
    }
  }

  @Test func `a stream that is lost while it waits is never opened`() async throws {
    try await onThreads {
      let server = try await startServer(folder: TestFolder())
      let held = try server.onLoop { service in
        service.context.work.clock = SliceClock.makeStill()
        return Held(service)
      }
      let waited = Box(false)
      let result = await withCheckedContinuation {
        (opened: CheckedContinuation<Result<InProcessStream, RPCStatus>, Never>) in
        _ = try? server.onLoop { service in
          held.sink.open(.watchWidgets, ByteBuffer(), nil, opened)
          waited.set(service.turn.hasOpenings && service.context.streamAccounts.count == 1)
          held.room.isLost = true
        }
      }
      #expect(waited.get())
      #expect(throws: RPCStatus.cancelled) { _ = try result.get() }
      let left = try server.onLoop { service in
        [service.streams.count, service.context.streamAccounts.count]
          + [Int(service.context.streamAccounts.lastID)]
      }
      #expect(left == [0, 0, 0])
      try await server.server.stop()
    }
  }

  @Test func `the last turn before a handover opens no more streams than it has time for`()
    async throws
  {
    try await withServer { server in
      let (outcomes, hasOpenings) = try server.onLoop { service in
        service.context.work.clock = SliceClock.makeOver()
        let outcomes = Box<[String]>([])
        for _ in 0..<1_000 {
          service.turn.whenDurable(for: WorkShare(uid: 1)) { refusal in
            outcomes.update { $0.append(refusal?.reason ?? "opened") }
          }
        }
        service.finishTurnAndRound()
        service.context.work.clock = { .now() }
        return (outcomes.get(), service.turn.hasOpenings)
      }
      #expect(!hasOpenings)
      #expect(outcomes.count == 1_000)
      #expect((1..<1_000).contains(outcomes.filter { $0 == "opened" }.count))
      #expect(outcomes.last == "SHUTTING_DOWN")
    }
  }

  @Test func `streams that wait are refused when the server stops`() async throws {
    let server = try await startServer(folder: TestFolder())
    let outcomes = Box<[String]>([])
    try server.onLoop { service in
      service.context.work.clock = SliceClock.makeOver()
      // No turn is open.
      for _ in 0..<100 {
        service.turn.whenDurable(for: WorkShare(uid: 1)) { refusal in
          outcomes.update { $0.append(refusal?.reason ?? "opened") }
        }
      }
    }
    try await server.server.stop()
    #expect(outcomes.get().count == 100)
    #expect(outcomes.get().last == "SHUTTING_DOWN")
  }
}
