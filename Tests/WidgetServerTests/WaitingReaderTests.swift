import Logging
import NIOCore
import Testing
import WidgetCore
import WidgetModel
import WidgetProto
import WidgetStorage

@testable import WidgetServer

/// Readers that wait for the end of their `min_interval` or `batch_delay`, or for their turn.
@Suite struct `A waiting reader` {
  private static let caller = Caller(uid: 0, pid: 0, client: "")
  private static let tombstonesMax = 8
  private static let scanCostMax = 100

  /// A transport that checks what it gets. Used only on the loop.
  private final class CheckingSink: StreamSink {
    private(set) var mirror = Mirror()
    private(set) var fault: (any Error)?
    var isWritable = true
    /// Called once, with the next message.
    var onSend: (() -> Void)?

    func send(_ message: EncodedMessage) {
      let onSend = self.onSend
      self.onSend = nil
      onSend?()
      do {
        try mirror.apply(
          WireCodec().decode(
            WatchWidgetsResponse.self, from: Array(message.payload.readableBytesView)))
      } catch {
        fault = error
      }
    }

    func finish(_ status: RPCStatus?) { if fault == nil { fault = status } }
  }

  /// Runs a test on the loop of a server with `w0` to `w19`. No slice ends, and a delay can be an hour.
  private static func onLoop<R: Sendable>(
    _ body: @escaping @Sendable (ServiceLoop) throws -> R
  ) async throws -> R {
    let limits = ServerLimits.with {
      $0.store.tombstonesMax = tombstonesMax
      $0.store.scanCostMax = scanCostMax
    }
    return try await withServer(limits: limits, log: TestLog.State(image: .sample(count: 20))) {
      server in
      try server.onLoop { service -> R in
        service.context.work.clock = SliceClock.makeStill()
        service.streams.batchDelayMax = .seconds(3_600)
        service.streams.minIntervalMax = .seconds(3_600)
        return try body(service)
      }
    }
  }

  /// Opens a stream, and sends its snapshot.
  private static func open(
    _ request: WatchWidgetsRequest, _ sink: CheckingSink, in service: ServiceLoop
  ) throws -> Subscription {
    let subscription = try service.streams.open(
      request, sink: sink, peer: Peer(uid: 1, gid: 1, pid: 1))
    try turns(service)
    return subscription
  }

  /// A turn with a round, and further turns until nobody is ready.
  private static func turns(_ service: ServiceLoop, _ commands: [Command] = []) throws {
    let rounds = service.streams.rounds
    service.turn.open()
    for command in commands { _ = try service.context.commit(command, by: caller) }
    repeat {
      rounds.hurry()
      service.turn.open()
      service.turn.finish()
    } while rounds.hasMore
  }

  private static func set(_ id: String, _ value: Int64) throws -> Command {
    try .update(.make(id), WidgetPatch(setData: ["n": .int(value)]))
  }

  /// Removes widgets, each in a turn.
  private static func remove(_ numbers: Range<Int>, in service: ServiceLoop) throws {
    for number in numbers { try turns(service, [.delete(.make("w\(number)"))]) }
  }

  @Test func `that ends as the last one keeps no removals`() async throws {
    let count = try await Self.onLoop { service -> Int in
      let subscription = try Self.open(
        WatchWidgetsRequest(batchDelay: .seconds(3_600)), CheckingSink(), in: service)
      try Self.turns(service, [Self.set("w19", 1)])
      service.streams.forget(subscription)
      try Self.remove(0..<15, in: service)
      return service.context.store.removalCount
    }
    #expect(count <= Self.tombstonesMax)
  }

  /// A user can begin and end streams faster than they are served.
  @Test func `that ends before its turn keeps no memory`() async throws {
    let (isInLine, isFreed) = try await Self.onLoop { service -> (Bool, Bool) in
      weak var group: WatchGroup?
      do {
        let subscription = try Self.open(WatchWidgetsRequest(), CheckingSink(), in: service)
        service.streams.requestProgress(of: subscription)
        group = subscription.group
        service.streams.forget(subscription)
      }
      return (service.streams.rounds.hasMore, group == nil)
    }
    #expect(isInLine && isFreed)
  }

  /// The budget for content is spent, so the round leaves the reader out before it ends.
  @Test func `that ends in the round that leaves it out keeps no removals`() async throws {
    let (wasKept, isOver, revision) = try await Self.onLoop { service -> (Bool, Bool, Revision?) in
      let (rounds, streams) = (service.streams.rounds, service.streams)
      var limits = service.context.limits
      limits.store.contentCostMax = -1
      service.context.reconfigure(limits, .critical)
      let leftOut = try streams.open(
        WatchWidgetsRequest(contentFamily: .large), sink: CheckingSink(),
        peer: Peer(uid: 1, gid: 1, pid: 1))
      let sink = CheckingSink()
      _ = try streams.open(WatchWidgetsRequest(), sink: sink, peer: Peer(uid: 1, gid: 1, pid: 1))
      sink.onSend = { streams.forget(leftOut) }
      rounds.keepRemovals(since: service.context.store.revision)
      let wasKept = rounds.postponed.revision != nil
      rounds.send(at: .now())
      return (wasKept, leftOut.isFinished && !rounds.hasMore, rounds.postponed.revision)
    }
    #expect(wasKept && isOver && revision == nil)
  }

  /// The time for the search is over at the first look at the clock, after 256 readers.
  @Test func `gets a new theme, also if one turn cannot look at all readers`() async throws {
    let (isUnderWay, haveTheme, faultCount) = try await Self.onLoop {
      service -> (Bool, Bool, Int) in
      let rounds = service.streams.rounds
      let sinks = (0..<600).map { _ in CheckingSink() }
      let request = WatchWidgetsRequest(minInterval: .seconds(3_600), includeTheme: true)
      for sink in sinks { _ = try Self.open(request, sink, in: service) }
      // All of them wait from now on.
      try Self.turns(service, [Self.set("w0", 1)])
      service.context.work.clock = SliceClock.makeOver()
      rounds.hurry()
      service.turn.open()
      _ = try service.context.commit(
        .updateTheme(ThemeUpdate(set: ["offset.mine": .offset(6)])), by: Self.caller)
      service.turn.finish()
      let isUnderWay = rounds.themeSearch != nil
      try Self.turns(service)
      let revision = service.context.store.theme.revision
      return (
        isUnderWay, sinks.allSatisfy { $0.mirror.theme?.revision == revision },
        sinks.count { $0.fault != nil }
      )
    }
    #expect(isUnderWay && haveTheme && faultCount == 0)
  }

  /// The same bound holds for the search for readers that do not know the state of the store.
  @Test func `learns that the store fails, also if one turn cannot look at all readers`()
    async throws
  {
    let (isUnderWay, toldCount, faultCount) = try await Self.onLoop {
      service -> (Bool, Int, Int) in
      let rounds = service.streams.rounds
      service.storage.probePause = .hours(1)
      let sinks = (0..<600).map { _ in CheckingSink() }
      for sink in sinks { _ = try Self.open(WatchWidgetsRequest(), sink, in: service) }
      try Self.turns(service)
      service.context.work.clock = SliceClock.makeOver()
      service.storage.failed(.full(path: "/db"))
      service.turn.finish()
      let isUnderWay = rounds.storeSearch != nil
      service.context.work.clock = SliceClock.makeStill()
      try Self.turns(service)
      return (
        isUnderWay, sinks.count { $0.mirror.storeFailure != nil },
        sinks.count { $0.fault != nil }
      )
    }
    #expect(isUnderWay && toldCount == 600 && faultCount == 0)
  }

  /// Each turn looks at 256 readers, and serves one.
  @Test func `gets a theme that changes in every turn`() async throws {
    let (gotTheme, haveLast, faultCount) = try await Self.onLoop { service -> (Int, Int, Int) in
      let rounds = service.streams.rounds
      let sinks = (0..<300).map { _ in CheckingSink() }
      let request = WatchWidgetsRequest(minInterval: .seconds(3_600), includeTheme: true)
      for sink in sinks { _ = try Self.open(request, sink, in: service) }
      // All of them wait from now on.
      try Self.turns(service, [Self.set("w0", 1)])
      let start = service.context.store.revision
      service.context.work.clock = SliceClock.makeOver()
      for number in 1...320 {
        rounds.hurry()
        service.turn.open()
        let theme = ThemeUpdate(set: ["offset.mine": .offset(Double(number % 2 + 1))])
        _ = try service.context.commit(.updateTheme(theme), by: Self.caller)
        service.turn.finish()
      }
      let gotTheme = sinks.count { $0.mirror.theme.map { $0.revision > start } ?? false }
      service.context.work.clock = SliceClock.makeStill()
      try Self.turns(service)
      let revision = service.context.store.theme.revision
      return (
        gotTheme, sinks.count { $0.mirror.theme?.revision == revision },
        sinks.count { $0.fault != nil }
      )
    }
    #expect(gotTheme == 300 && haveLast == 300 && faultCount == 0)
  }

  /// Rounds have no time for the reader, so they serve it by itself.
  @Test(arguments: [false, true])
  func `without a change gets each event at once`(othersChange: Bool) async throws {
    let counts = try await Self.onLoop { service -> [Int] in
      let sink = CheckingSink()
      let request = WatchWidgetsRequest(
        selector: Selector(ids: [try .make("w0")]), minInterval: .seconds(3_600),
        includeEvents: true)
      _ = try Self.open(request, sink, in: service)
      service.context.work.clock = SliceClock.makeOver()
      return try (0..<3).map { number in
        let event = try Command.sendEvent(
          EventDraft(widgetID: .make("w0"), name: "click", isForced: true))
        let change = try Self.set("w1", Int64(100 + number))
        try Self.turns(service, othersChange ? [change, event] : [event])
        return sink.mirror.events.count
      }
    }
    #expect(counts == [1, 2, 3])
  }

  /// The search for an event of the reader's widget ends before it.
  @Test func `does not wait if it is unknown whether an event concerns it`() async throws {
    let count = try await Self.onLoop { service -> Int in
      let sink = CheckingSink()
      let request = WatchWidgetsRequest(
        selector: Selector(ids: [try .make("w0")]), batchDelay: .seconds(3_600))
      _ = try Self.open(request, sink, in: service)
      let events = try (0...Self.scanCostMax).map { number in
        let id = try WidgetID.make(number < Self.scanCostMax ? "w1" : "w0")
        return Command.sendEvent(EventDraft(widgetID: id, name: "click", isForced: true))
      }
      try Self.turns(service, events + [Self.set("w0", 100)])
      return sink.mirror.changeSets
    }
    #expect(count == 1)
  }

  @Test func `that could not take its change at first misses no removals`() async throws {
    let fault = try await Self.onLoop { service -> String? in
      try Self.remove(0..<4, in: service)
      let sink = CheckingSink()
      let subscription = try Self.open(
        WatchWidgetsRequest(batchDelay: .seconds(3_600)), sink, in: service)
      // The other reader has each change before the next.
      _ = try Self.open(WatchWidgetsRequest(), CheckingSink(), in: service)
      sink.isWritable = false
      try Self.turns(service, [Self.set("w19", 1)])
      sink.isWritable = true
      service.streams.rounds.becameWritable(subscription)
      try Self.remove(4..<14, in: service)
      _ = subscription.endBatch(at: .now())
      service.streams.rounds.markReady(subscription)
      try Self.turns(service)
      if let fault = sink.fault { return "\(fault)" }
      let (count, all) = (sink.mirror.widgets.count, service.context.store.count)
      return count == all ? nil : "it has \(count) of \(all) widgets"
    }
    #expect(fault == nil)
  }

  /// The interval of a stream of the former process begins again.
  @Test func `of the former process misses no removals`() async throws {
    let (retained, cursor) = try await Self.onLoop { service -> (Revision, Revision) in
      let rounds = service.streams.rounds
      let request = WatchWidgetsRequest(minInterval: .seconds(3_600))
      let former = try Self.open(request, CheckingSink(), in: service)
      let handed = former.handOver(
        streamID: 1, sentRevision: rounds.sentRevision, sentSequence: rounds.sentSequence)
      service.streams.forget(former)
      _ = try service.streams.takeOver(
        request, of: handed, sink: CheckingSink(), peer: Peer(uid: 1, gid: 1, pid: 1))
      try Self.turns(service, [Self.set("w19", 1)])
      return (rounds.retainedRevision, handed.cursor)
    }
    #expect(retained == cursor)
  }
}
