import Logging
import NIOCore
import NIOEmbedded
import Testing
import WidgetModel
import WidgetProto
import WidgetStorage

@testable import WidgetServer

/// Work that many streams of a user need at once. Each slice is over at the first look at the
/// clock.
@Suite struct `Work on many streams of a user` {
  /// Records by how much each turn raises a number of streams from now on.
  private static func record(
    _ raises: Box<[Int]>, of number: @escaping (WatchStreams) -> Int, in service: ServiceLoop
  ) {
    service.context.work.clock = SliceClock.makeOver()
    let end = service.turn.atEnd
    service.turn.atEnd = { [unowned service] in
      let before = number(service.streams)
      end()
      let raise = number(service.streams) - before
      if raise > 0 { raises.update { $0.append(raise) } }
    }
  }

  /// A reader on the loop.
  private final class Sink: StreamSink {
    let isWritable: Bool
    private let reasons: Box<[String?]>
    private let sent: Box<[[UInt8]]>

    init(
      isWritable: Bool, reasons: Box<[String?]> = Box([]), sent: Box<[[UInt8]]> = Box([])
    ) {
      (self.isWritable, self.reasons, self.sent) = (isWritable, reasons, sent)
    }

    func send(_ message: EncodedMessage) {
      sent.update { $0.append(Array(message.payload.readableBytesView)) }
    }

    func finish(_ status: RPCStatus?) { reasons.update { $0.append(status?.reason) } }
  }

  private static let peer = Peer(uid: 1, gid: 1, pid: 1)

  @Test func `the streams of a closed connection end one by one, and count until then`()
    async throws
  {
    let count = 20
    try await withServer { server in
      let client = try server.connect()
      for number in 0..<count {
        let selector = Selector(ids: [try .make("w\(number)")])
        _ = try client.watch(WatchWidgetsRequest(selector: selector))
      }
      try server.eventually { $0.streams.count == count }
      let (ended, atClose) = (Box<[Int]>([]), Box<[Int]>([]))
      try server.onLoop { service in
        Self.record(ended, of: { count - $0.count }, in: service)
        service.connections.onClosed = { [unowned service] in
          let writable = service.streams.all.count { $0.sink.isWritable }
          atClose.set([
            service.connections.shares.count, service.streams.count,
            service.context.streamAccounts.count, writable,
          ])
        }
      }
      client.close()
      try server.eventually { $0.streams.isEmpty }
      #expect(atClose.get() == [0, count, count, 0])
      #expect(ended.get() == Array(repeating: 1, count: count))
      let left = try server.onLoop {
        [$0.context.streamAccounts.count, $0.streams.rounds.groupCount]
      }
      #expect(left == [0, 0])
    }
  }

  @Test func `streams with the same deadline end one by one`() async throws {
    let count = 20
    try await withServer { server in
      let (ended, reasons) = (Box<[Int]>([]), Box<[String?]>([]))
      try server.onLoop { service in
        Self.record(ended, of: { count - $0.count }, in: service)
        for _ in 0..<count {
          let subscription = try service.streams.open(
            WatchWidgetsRequest(), sink: Sink(isWritable: true, reasons: reasons), peer: Self.peer)
          WatchStream(subscription, of: service.streams)
            .setDeadline(in: .nanoseconds(1), service.context)
        }
      }
      try server.eventually { $0.streams.isEmpty }
      #expect(ended.get() == Array(repeating: 1, count: count))
      #expect(reasons.get() == Array(repeating: "DEADLINE_EXCEEDED", count: count))
    }
  }

  @Test func `at a stop of the daemon, the streams end one by one`() async throws {
    let count = 20
    try await withServer(limits: .with { $0.drainMilliseconds = 3_600_000 }) { server in
      let (ended, reasons) = (Box<[Int]>([]), Box<[String?]>([]))
      let end = try server.onLoop { service -> EventLoopFuture<Void> in
        for _ in 0..<count {
          _ = try service.streams.open(
            WatchWidgetsRequest(), sink: Sink(isWritable: true, reasons: reasons), peer: Self.peer)
        }
        Self.record(ended, of: { count - $0.count }, in: service)
        return service.streamsEnded()
      }
      try end.wait()
      // The last end is counted after its step.
      try server.eventually { _ in ended.get().reduce(0, +) == count }
      #expect(ended.get() == Array(repeating: 1, count: count))
      #expect(reasons.get() == Array(repeating: "SHUTTING_DOWN", count: count))
    }
  }

  @Test func `at a stop, a provider sees the end of its session and no refusal before it`()
    async throws
  {
    try await withServer { server in
      let provider = try RawProvider(server.connect())
      try provider.open(kinds: [Providers.gauge])
      try server.onLoop { _ = $0.streamsEnded() }
      try provider.send(Providers.update(7, [("a", ["load": .double(1)])]))
      let error = #expect(throws: RPCStatus.self) { try provider.next() }
      #expect(error?.reason == "SHUTTING_DOWN")
    }
  }

  @Test func `a stop ends the streams that are left after their time, once`() async throws {
    try await withServer(limits: .with { $0.drainMilliseconds = 3_600_000 }) { server in
      let reasons = Box<[String?]>([])
      let end = try server.onLoop { service -> EventLoopFuture<Void> in
        for _ in 0..<3 {
          _ = try service.streams.open(
            WatchWidgetsRequest(), sink: Sink(isWritable: true, reasons: reasons), peer: Self.peer)
        }
        let end = service.streamsEnded()
        service.streams.endAll()
        return end
      }
      try end.wait()
      #expect(reasons.get() == Array(repeating: "SHUTTING_DOWN", count: 3))
    }
  }

  @Test func `streams whose progress is due together are looked at one by one`() async throws {
    let count = 20
    try await withServer { server in
      let due = Box<[Int]>([])
      try server.onLoop { service in
        Self.record(due, of: { $0.all.count { $0.wantsProgress } }, in: service)
        for _ in 0..<count {
          _ = try service.streams.open(
            WatchWidgetsRequest(progressInterval: .milliseconds(100)),
            sink: Sink(isWritable: false), peer: Self.peer)
        }
      }
      try server.eventually { $0.streams.all.allSatisfy { $0.wantsProgress } }
      #expect(due.get() == Array(repeating: 1, count: count))
    }
  }

  /// Opens watches of the health of the store, which the daemon does not try by itself. Returns what
  /// they are sent from now on.
  private static func watchStore(_ count: Int, in service: ServiceLoop) throws -> Box<[[UInt8]]> {
    let sent = Box<[[UInt8]]>([])
    service.storage.probePause = .hours(1)
    for _ in 0..<count {
      _ = try service.health.open(
        HealthCheckRequest(service: HealthCheckRequest.store),
        sink: Sink(isWritable: true, sent: sent), peer: peer, level: .client)
    }
    sent.set([])
    return sent
  }

  private static let notServing: [UInt8] = [8, 2]

  @Test func `watches of health are told a change one by one, with one encoded message`()
    async throws
  {
    let count = 20
    try await withServer { server in
      let told = Box<[Int]>([])
      let (sent, encodedBefore) = try server.onLoop { service in
        let sent = try Self.watchStore(count, in: service)
        Self.record(told, of: { _ in sent.get().count }, in: service)
        let encoded = Self.counter("frames_encoded", of: service)
        service.storage.failed(.full(path: "/db"))
        return (sent, encoded)
      }
      try server.eventually { _ in sent.get().count == count }
      #expect(told.get() == Array(repeating: 1, count: count))
      #expect(sent.get() == Array(repeating: Self.notServing, count: count))
      let encoded = try server.onLoop { Self.counter("frames_encoded", of: $0) }
      #expect(encoded == encodedBefore + 1)
    }
  }

  @Test func `a watch of health is not told a state that is over`() async throws {
    try await withServer { server in
      let sent = try server.onLoop { service in
        let sent = try Self.watchStore(2, in: service)
        service.storage.failed(.full(path: "/db"))
        service.storage.stored()
        return sent
      }
      try server.eventually { !$0.context.work.hasMore }
      #expect(sent.get().isEmpty)
      try server.onLoop { $0.storage.failed(.full(path: "/db")) }
      try server.eventually { _ in sent.get().count == 2 }
      #expect(sent.get() == [Self.notServing, Self.notServing])
    }
  }

  private static func counter(_ name: String, of service: ServiceLoop) -> UInt64 {
    service.context.counters.byName.first { $0.name == name }?.value ?? 0
  }

  @Test func `silent connections are refused one by one`() async throws {
    let count = 20
    try await withServer(limits: .with { $0.firstByteMilliseconds = 50 }) { server in
      let refused = Box<[Int]>([])
      try server.onLoop { service in
        Self.record(
          refused,
          of: { [unowned service] _ in Int(Self.counter("protocol_errors", of: service)) },
          in: service)
      }
      let clients = try (0..<count).map { _ in try server.connect() }
      for client in clients { #expect(try client.fill() == false) }
      // The turn of the last refusal is over.
      try server.onLoop { _ in }
      #expect(refused.get() == Array(repeating: 1, count: count))
    }
  }

  @Test func `the files of blobs that expire together are closed one by one`() async throws {
    let count = 8
    try await withServer(limits: .with { $0.blobIdleSeconds = 3_600 }) { server in
      let client = try server.connect()
      for _ in 0..<count {
        _ = try client.call(
          "UploadBlob", UploadBlobRequest(data: [1]), as: UploadBlobResponse.self,
          service: "widgetd.v1.BlobService")
      }
      let closed = Box<[Int]>([])
      try server.onLoop { service in
        Self.record(closed, of: { [unowned service] _ in -service.blobs.unusedCount }, in: service)
        service.blobs.expire(at: .now() + .hours(2))
      }
      try server.eventually { $0.blobs.unusedCount == 0 }
      #expect(closed.get() == Array(repeating: 1, count: count))
    }
  }

  @Test func `a blob after a lowered limit expires before an earlier blob`() async throws {
    try await withServer(limits: .with { $0.blobIdleSeconds = 3_600 }) { server in
      let client = try server.connect()
      for idleSeconds in [3_600, 60] {
        try server.onLoop { service in
          service.context.reconfigure(.with { $0.blobIdleSeconds = idleSeconds }, .error)
        }
        _ = try client.call(
          "UploadBlob", UploadBlobRequest(data: [1]), as: UploadBlobResponse.self,
          service: "widgetd.v1.BlobService")
      }
      let isSoon = try server.onLoop { $0.blobs.nextExpiry < .now() + .minutes(10) }
      #expect(isSoon)
    }
  }

  @Test func `a stream that is left at a handover has no timers any more`() async throws {
    try await withServer { server in
      let (hasFired, isDone) = (Box(false), Box(false))
      try server.onLoop { service in
        let subscription = try service.streams.open(
          WatchWidgetsRequest(), sink: Sink(isWritable: true), peer: Self.peer)
        subscription.pause(service.context) { hasFired.set(true) }
        _ = service.handOver(connectionsMax: 0)
        // It has the time of the other timer, and fires after it.
        service.context.schedule(at: subscription.delayedUntil) { isDone.set(true) }
      }
      try server.eventually { _ in isDone.get() }
      #expect(!hasFired.get())
    }
  }

  @Test func `work that waits when the service ends is dropped`() {
    let queue = WorkQueue(turn: Turn(eventLoop: EmbeddedEventLoop(), remembersCalls: false))
    let upkeep = StreamUpkeep(in: queue)
    var done: [Int] = []
    upkeep.add(of: 1) { done.append(1) }
    queue.serve()
    upkeep.add(of: 1) { done.append(2) }
    upkeep.stop()
    upkeep.add(of: 2) { done.append(3) }
    queue.abandonAll()
    queue.serve()
    #expect(done == [1] && !queue.hasMore)
  }
}
