import NIOCore
import Testing
import WidgetCore
import WidgetModel
import WidgetProto

@testable import WidgetServer

/// Rounds that very many streams read. A message takes 100 us of the test's clock.
@Suite struct `A round for very many streams` {
  private static let caller = Caller(uid: 0, pid: 0, client: "")
  /// More than a round has time for: 4 ms, then 3 ms, and the messages until the next look at the
  /// clock.
  private static let messagesMax = 100

  /// The time, and the messages so far. Used only on the loop.
  private final class Record {
    var now = NIODeadline.now()
    var messageCount = 0
    /// The number of calls that the service had at each message.
    var callsAtMessages: [UInt64] = []
    /// Called with the next message.
    var onMessage: (() -> Void)?
  }

  /// A reader that always takes more, and checks what it gets.
  private final class CheckingSink: StreamSink {
    private(set) var mirror = Mirror()
    private(set) var messageCount = 0
    private(set) var fault: (any Error)?
    private let record: Record
    private unowned let service: ServiceLoop

    init(_ record: Record, _ service: ServiceLoop) {
      self.record = record
      self.service = service
    }

    var isWritable: Bool { true }

    func send(_ message: EncodedMessage) {
      messageCount += 1
      record.messageCount += 1
      record.callsAtMessages.append(service.context.counters.calls)
      record.now = record.now + .microseconds(100)
      record.onMessage?()
      record.onMessage = nil
      do {
        try mirror.apply(
          WireCodec().decode(
            WatchWidgetsResponse.self, from: Array(message.payload.readableBytesView)))
      } catch {
        fault = error
      }
    }

    func finish(_ status: RPCStatus?) {}
  }

  /// Opens streams and sends their snapshots.
  private static func open(
    _ count: Int, _ record: Record, _ service: ServiceLoop,
    _ request: (Int) throws -> WatchWidgetsRequest
  ) throws -> [CheckingSink] {
    service.context.work.clock = { record.now }
    let sinks = try (0..<count).map { number in
      let sink = CheckingSink(record, service)
      _ = try service.streams.open(
        try request(number), sink: sink, peer: Peer(uid: 1, gid: 1, pid: 1))
      return sink
    }
    sendAll(service)
    return sinks
  }

  private static func sendAll(_ service: ServiceLoop) {
    repeat { service.streams.rounds.send(at: .now()) } while service.streams.rounds.hasMore
  }

  private static func set(_ id: String, _ value: Int64, in service: ServiceLoop) throws {
    service.turn.open()
    try service.context.commit(
      .update(.make(id), WidgetPatch(setData: ["n": .int(value)])), by: caller)
  }

  /// The same filter, and a filter for each stream.
  private static func request(_ number: Int, areDifferent: Bool) throws -> WatchWidgetsRequest {
    let label = LabelRequirement(key: "x\(number)", operator: .notExists)
    return WatchWidgetsRequest(selector: Selector(labels: areDifferent ? [label] : []))
  }

  @Test(arguments: [false, true])
  func `a round ends within its time, and each stream gets every change once and in order`(
    areDifferent: Bool
  ) async throws {
    try await withServer(log: TestLog.State(image: .sample(count: 5))) { server in
      let (counts, mirrors, faults) = try server.onLoop {
        service -> ([Int], [Mirror], [String]) in
        let record = Record()
        let sinks = try Self.open(500, record, service) {
          try Self.request($0, areDifferent: areDifferent)
        }
        let rounds = service.streams.rounds
        var counts: [Int] = []
        func round() {
          record.messageCount = 0
          rounds.send(at: .now())
          counts.append(record.messageCount)
        }
        for number in 0..<20 {
          try Self.set("w\(number % 3)", Int64(100 + number), in: service)
          round()
          // The next change comes while streams are behind, or when none is.
          if number % 7 == 6 { while rounds.hasMore { round() } }
          if number == 9 || number == 15 {
            try service.context.commit(
              .delete(.make(number == 9 ? "w3" : "w4")), by: Self.caller)
            round()
          }
        }
        Self.sendAll(service)
        return (counts, sinks.map(\.mirror), sinks.compactMap { $0.fault.map { "\($0)" } })
      }
      #expect(counts.allSatisfy { (1...Self.messagesMax).contains($0) }, "\(counts)")
      #expect(faults.isEmpty, "\(faults.prefix(3))")
      let truth = try server.connect().list()
      #expect(mirrors.count == 500)
      for mirror in mirrors {
        #expect(mirror.widgets == truth.widgets && mirror.revision == truth.revision)
      }
    }
  }

  /// Each round brings a change, and has time for some of the streams.
  @Test(arguments: [false, true])
  func `no stream waits longer than all streams in line take, however often others get changes`(
    areDifferent: Bool
  ) async throws {
    let (streams, roundCount) = (500, 200)
    try await withServer(log: TestLog.State(image: .sample(count: 5))) { server in
      let longest = try server.onLoop { service -> [Int] in
        let record = Record()
        let sinks = try Self.open(streams, record, service) {
          try Self.request($0, areDifferent: areDifferent)
        }
        var counts = sinks.map(\.messageCount)
        var last = Array(repeating: 0, count: streams)
        var longest = last
        for round in 1...roundCount {
          try Self.set("w0", Int64(1_000 + round), in: service)
          service.streams.rounds.send(at: .now())
          for index in sinks.indices {
            longest[index] = max(longest[index], round - last[index])
            guard sinks[index].messageCount != counts[index] else { continue }
            (counts[index], last[index]) = (sinks[index].messageCount, round)
          }
        }
        Self.sendAll(service)
        return longest
      }
      // A short round serves at least five streams of the line.
      #expect(longest.allSatisfy { $0 <= streams / 5 }, "\(longest.max() ?? 0)")
      // The rounds had too little time for all streams.
      #expect(longest.contains { $0 > 2 })
    }
  }

  @Test func `events come once and in order to streams that a round leaves out`() async throws {
    try await withServer(log: TestLog.State(image: .sample(count: 2))) { server in
      let client = try server.connect()
      let held = Held(client)
      try server.onLoop { service in
        held.sinks = try Self.open(300, held.record, service) { _ in
          WatchWidgetsRequest(includeEvents: true)
        }
      }
      let sequences = try (0..<5).map { number in
        try client.event("w\(number % 2)", force: true)
      }
      try server.eventually { _ in
        held.sinks.allSatisfy { $0.mirror.events.count == sequences.count }
      }
      let (events, faults) = try server.onLoop { _ in
        (
          held.sinks.map { $0.mirror.events.map(\.sequence) },
          held.sinks.compactMap { $0.fault.map { "\($0)" } }
        )
      }
      #expect(events.allSatisfy { $0 == sequences })
      #expect(faults.isEmpty, "\(faults.prefix(3))")
    }
  }

  private static func sendEvent(in service: ServiceLoop) throws {
    service.turn.open()
    try service.context.commit(
      .sendEvent(EventDraft(widgetID: .make("w0"), name: "click", isForced: true)), by: caller)
  }

  /// No time is left after the first members. They wait again when the next event comes.
  @Test func `events end the delay of each member of a large group in turn`() async throws {
    try await withServer(log: TestLog.State(image: .sample(count: 1))) { server in
      let counts = try server.onLoop { service -> [Int] in
        let rounds = service.streams.rounds
        rounds.eventEffectsMax = .zero
        service.streams.batchDelayMax = .seconds(3_600)
        let part = WatchRounds.hurriedPerLook - 1
        let sinks = try Self.open(3 * part, Record(), service) { _ in
          WatchWidgetsRequest(batchDelay: .seconds(3_600))
        }
        service.context.work.clock = SliceClock.makeOver()
        return try (0..<3).map { number in
          try Self.set("w0", Int64(100 + number), in: service)
          Self.sendAll(service)
          try Self.sendEvent(in: service)
          Self.sendAll(service)
          return sinks.count { $0.mirror.changeSets > 0 } / part
        }
      }
      #expect(counts == [1, 2, 3])
    }
  }

  /// Another process does not have the events.
  @Test(arguments: [false, true])
  func `events go to all streams before the process gives its connections away`(
    someWait: Bool
  ) async throws {
    try await withServer(log: TestLog.State(image: .sample(count: 2))) { server in
      let counts = try server.onLoop { service -> [Int] in
        let record = Record()
        let sinks = try Self.open(300, record, service) { _ in
          WatchWidgetsRequest(includeEvents: true)
        }
        if someWait {
          service.streams.batchDelayMax = .seconds(3_600)
          _ = try Self.open(1, record, service) { _ in
            WatchWidgetsRequest(
              selector: Selector(ids: [try .make("w1")]), batchDelay: .seconds(3_600))
          }
          try Self.set("w1", 100, in: service)
          Self.sendAll(service)
        }
        try Self.sendEvent(in: service)
        service.finishTurnAndRound()
        return sinks.map(\.mirror.events.count)
      }
      #expect(counts == Array(repeating: 1, count: 300))
    }
  }

  /// A look at the clock takes 10 ms, so there are too many streams for the time.
  @Test func `events delay the handover for a bounded time`() async throws {
    try await withServer(log: TestLog.State(image: .sample(count: 1))) { server in
      let time = try server.onLoop { service -> TimeAmount in
        _ = try Self.open(300, Record(), service) { _ in WatchWidgetsRequest(includeEvents: true) }
        try Self.sendEvent(in: service)
        let clock = SliceClock.makeOver()
        service.context.work.clock = clock
        let start = clock()
        service.finishTurnAndRound()
        return clock() - start
      }
      #expect(time < ServiceLoop.lastEventsMax + .seconds(1))
    }
  }

  @Test func `calls are answered while a change goes to the members of one group`() async throws {
    try await withServer(log: TestLog.State(image: .sample(count: 1))) { server in
      let count = 2_000
      let client = try server.connect()
      let request = try client.request(
        "GetWidget", GetWidgetRequest(id: .make("w0")), id: client.takeStreamID())
      let held = Held(client)
      try server.onLoop { service in
        held.sinks = try Self.open(count, held.record, service) { _ in WatchWidgetsRequest() }
        held.record.callsAtMessages = []
        try Self.set("w0", 7, in: service)
        held.record.onMessage = { _ = try? held.client.send(request) }
      }
      try server.eventually { _ in held.record.callsAtMessages.count >= count }
      let calls = try server.onLoop { _ in held.record.callsAtMessages }
      let first = try #require(calls.first)
      #expect(calls.contains { $0 > first }, "no call came meanwhile")
    }
  }

  /// The objects that are used only on the loop.
  private final class Held: @unchecked Sendable {
    let client: RawClient
    let record = Record()
    var sinks: [CheckingSink] = []

    init(_ client: RawClient) { self.client = client }
  }
}

/// The `batch_delay` of readers, and events.
@Suite struct `An event` {
  @Test(arguments: [false, true])
  func `ends the batch delay only of readers of its widget`(isPending: Bool) async throws {
    try await withServer(log: TestLog.State(image: .sample(count: 2))) { server in
      try server.onLoop { service in
        service.streams.batchDelayMax = .seconds(3_600)
        service.streams.rounds.eventEffectsMax = .hours(1)
      }
      let client = try server.connect()
      let watchers = try (0..<2).map { number in
        try Watcher(
          server.connect(),
          WatchWidgetsRequest(
            selector: Selector(ids: [.make("w\(number)")]), batchDelay: .seconds(3_600))
        ).sync()
      }
      func change(to value: Int64) throws {
        for number in 0..<2 { try client.set("w\(number)", ["n": .int(value)]) }
      }
      if isPending {
        // The round that begins the delays is over when another reader has the changes.
        let other = try Watcher(server.connect()).sync()
        try change(to: 10)
        try other.catchUp(to: client.stats().revision)
      }
      _ = try client.event("w0", force: true)
      try change(to: 11)
      let value = { (watcher: Watcher) in watcher.mirror.widgets.values.first?.data["n"] }
      while value(watchers[0]) != .int(11) { _ = try watchers[0].nextChanges() }
      // The changes of both are in rounds that have ended when a later change has come.
      let last = try client.set("w0", ["n": .int(12)]).revision
      try watchers[0].catchUp(to: last)
      #expect(!watchers[1].client.hasInput)
    }
  }
}
