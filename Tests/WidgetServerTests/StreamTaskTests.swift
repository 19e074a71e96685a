import NIOCore
import Testing
import WidgetCore
import WidgetModel
import WidgetProto

@testable import WidgetServer

/// The tasks that pass a stream's messages on, after the turn. The clock of the tests stands still.
@Suite struct `Tasks of streams` {
  /// The messages so far. Used only on the loop.
  private final class Record {
    var uids: [UInt32] = []
  }

  /// A reader with a task for each message, like one over gRPC.
  private final class TaskSink: StreamSink {
    private let uid: UInt32
    private let record: Record
    private let work: WorkQueue

    init(_ uid: UInt32, _ record: Record, _ work: WorkQueue) {
      self.uid = uid
      self.record = record
      self.work = work
    }

    var isWritable: Bool { true }

    func send(_ message: EncodedMessage) {
      record.uids.append(uid)
      work.expectTasks()
    }

    func finish(_ status: RPCStatus?) {}
  }

  /// 7 ms of a round, at 25 us for a task, and the messages until the next look at the clock.
  private static let messagesMax = 400

  private static func open(_ uids: [UInt32], _ record: Record, _ service: ServiceLoop) throws {
    service.context.work.clock = SliceClock.makeStill()
    for uid in uids {
      _ = try service.streams.open(
        WatchWidgetsRequest(), sink: TaskSink(uid, record, service.context.work),
        peer: Peer(uid: uid, gid: 1, pid: 1))
    }
    record.uids = []
  }

  @Test func `a message to a stream inside the process costs the time of a task`() async throws {
    try await withServer { server in
      let isOver = try server.onLoop { service -> [Bool] in
        let work = service.context.work
        work.clock = SliceClock.makeStill()
        let peer = Peer(uid: 1, gid: 1, pid: 1)
        let sink = InProcessSink(
          peer: peer, service: service, calls: InProcessCalls(of: peer, .owner, work), room: nil)
        let slice = work.slice(of: .milliseconds(1))
        let before = slice.isOver
        for _ in 0..<1_000 {
          sink.send(EncodedMessage(byteCount: 1) { $0.storeBytes(of: 0, as: UInt8.self) })
        }
        return [before, slice.isOver]
      }
      #expect(isOver == [false, true])
    }
  }

  @Test func `a round counts the tasks that it starts`() async throws {
    try await withServer(log: TestLog.State(image: .sample(count: 1))) { server in
      let (count, rest) = try server.onLoop { service -> (Int, Int) in
        let (record, rounds) = (Record(), service.streams.rounds)
        try Self.open(Array(repeating: 1, count: 1_000), record, service)
        repeat { rounds.send(at: .now()) } while rounds.hasMore
        service.turn.open()
        try service.context.commit(
          .update(.make("w0"), WidgetPatch(setData: ["n": .int(7)])),
          by: Caller(uid: 0, pid: 0, client: ""))
        record.uids = []
        rounds.send(at: .now())
        let count = record.uids.count
        while rounds.hasMore { rounds.send(at: .now()) }
        return (count, record.uids.count - count)
      }
      #expect((1...Self.messagesMax).contains(count), "\(count)")
      #expect(count + rest == 1_000)
    }
  }

  /// A call that starts a task.
  private final class Call: SlicedWork {
    let share = WorkShare(uid: 2)
    private let queue: WorkQueue
    init(_ queue: WorkQueue) { self.queue = queue }

    func work(_ slice: TimeSlice) -> Bool {
      queue.expectTasks()
      return false
    }

    func abandon() {}
  }

  @Test func `rounds are shorter while readers and calls wait`() async throws {
    try await withServer(log: TestLog.State(image: .sample(count: 1))) { server in
      let counts = try server.onLoop { service -> [Int] in
        let (record, rounds, work) = (Record(), service.streams.rounds, service.context.work)
        // So `serve` ends the pass.
        service.turn.loopPass = nil
        try Self.open(Array(repeating: 1, count: 500), record, service)
        repeat { rounds.send(at: .now()) } while rounds.hasMore
        service.turn.open()
        try service.context.commit(
          .update(.make("w0"), WidgetPatch(setData: ["n": .int(7)])),
          by: Caller(uid: 0, pid: 0, client: ""))
        return (0..<3).map { round in
          record.uids = []
          if round == 1 { work.submit(Call(work)) }
          // A pass without calls ends.
          if round == 2 { work.serve() }
          rounds.send(at: .now())
          return record.uids.count
        }
      }
      // At 50 us for a message: 4 and 3 ms, a quarter of 3 ms, and 3 ms.
      #expect(counts[0] > 120 && counts[1] <= 20 && counts[2] > 50, "\(counts)")
    }
  }

  @Test func `the tasks of a user's streams count for the user's share`() async throws {
    try await withServer { server in
      let uids = try server.onLoop { service -> [UInt32] in
        let record = Record()
        try Self.open(Array(repeating: 1, count: 1_000) + [2], record, service)
        service.streams.rounds.send(at: .now())
        return record.uids
      }
      #expect(uids.contains(2))
      #expect(uids.count <= Self.messagesMax, "\(uids.count)")
    }
  }

  /// A reader whose task asks for more in the same pass of the loop. A message takes 100 us.
  private final class AskingSink: StreamSink {
    private unowned let service: ServiceLoop
    var subscription: Subscription?
    private(set) var isWritable = true
    private var now = NIODeadline.uptimeNanoseconds(1)
    /// The number of messages in each pass.
    private(set) var counts: [UInt64: Int] = [:]

    init(_ service: ServiceLoop) {
      self.service = service
      service.context.work.clock = { [unowned self] in now }
    }

    func send(_ message: EncodedMessage) {
      now = now + .microseconds(100)
      counts[service.turn.loopPass?() ?? 0, default: 0] += 1
      guard isWritable else { return }
      isWritable = false
      service.context.eventLoop.assumeIsolated().execute { [self] in
        isWritable = true
        if let subscription { service.streams.rounds.becameWritable(subscription) }
      }
    }

    func finish(_ status: RPCStatus?) { subscription = nil }
  }

  private final class Held: @unchecked Sendable {
    var sink: AskingSink?
  }

  @Test func `a stream that asks again and again does not keep the loop from reading`()
    async throws
  {
    let limits = ServerLimits.with { $0.eagerBytesMax = 1 }
    let image = StoreImage.sample(count: 1_000)
    try await withServer(limits: limits, log: TestLog.State(image: image)) { server in
      let held = Held()
      try server.onLoop { service in
        let sink = AskingSink(service)
        held.sink = sink
        sink.subscription = try service.streams.open(
          WatchWidgetsRequest(), sink: sink, peer: Peer(uid: 1, gid: 1, pid: 1))
      }
      try server.eventually { _ in held.sink?.subscription?.isCaughtUp == true }
      let counts = try server.onLoop { service -> [Int] in
        // The clock of the sink ends with it.
        service.context.work.clock = { .now() }
        return held.sink.map { Array($0.counts.values) } ?? []
      }
      #expect(counts.reduce(0, +) >= 500)
      #expect(counts.allSatisfy { $0 <= 100 }, "\(counts)")
    }
  }
}
