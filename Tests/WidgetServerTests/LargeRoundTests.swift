import NIOCore
import Testing
import WidgetCore
import WidgetModel
import WidgetProto

@testable import WidgetServer

/// One command that changes very many widgets.
@Suite struct LargeRounds {
  private static let count = 3_000

  private static func image() -> StoreImage {
    StoreImage.sample(count: count) { ["n": .int(Int64($0))] }
  }

  private static func encodedFrames(_ service: ServiceLoop) -> UInt64 {
    service.context.counters.byName.first { $0.name == "frames_encoded" }?.value ?? 0
  }

  /// A part has a chunk of 256 widgets, and the last part has the revision.
  private static let parts = (count + 255) / 256 + 1

  @Test func `readers get the changes in parts`() async throws {
    let limits = ServerLimits.with { $0.eagerChangesMax = 100 }
    try await withServer(limits: limits, log: TestLog.State(image: Self.image())) { server in
      let all = WatchWidgetsRequest()
      let one = WatchWidgetsRequest(selector: Selector(ids: [try .make("w7")]))
      let readers = try [all, all, one].map { try Watcher(server.connect(), $0).sync() }
      let client = try server.connect()
      try client.presence(.toggle)
      let truth = try client.list()
      for reader in readers { try reader.catchUp(to: truth.revision) }
      #expect(readers.prefix(2).map(\.mirror.changeFrames) == [Self.parts, Self.parts])
      // The daemon may have no time left in the turn. Then the reader's chunk comes before the end.
      #expect((1...2).contains(readers[2].mirror.changeFrames))
      #expect(readers[0].mirror.widgets == truth.widgets)
      #expect(readers[1].mirror.widgets == truth.widgets)
      #expect(try readers[2].mirror.widgets == client.list(one.selector).widgets)
    }
  }

  @Test func `readers of the same state share the parts`() async throws {
    try await withServer(log: TestLog.State(image: Self.image())) { server in
      let client = try server.connect()
      let before = try client.list().revision
      try client.presence(.toggle)
      let encoded = try server.onLoop { service in
        let group = WatchGroup(
          .widgets(
            Selector(), .all, includesEvents: false, contentFamily: nil, upcomingEntries: 0,
            isRedacted: false))
        return [before, before, before - 1].map { cursor in
          var transfer = StreamCursor.Transfer(
            cursor: cursor, isSnapshot: false, startedAt: service.context.store.revision,
            chunkCount: service.context.store.chunkCount)
          let start = Self.encodedFrames(service)
          while !transfer.isThrough {
            _ = service.streams.rounds.frames.chunkMessages(group, &transfer)
          }
          return Self.encodedFrames(service) - start
        }
      }
      let chunks = UInt64(Self.parts - 1)
      #expect(encoded == [chunks, 0, chunks])
    }
  }

  @Test func `readers of two states share the parts for each`() async throws {
    let limits = ServerLimits.with { $0.eagerChangesMax = 100 }
    try await withServer(limits: limits, log: TestLog.State(image: Self.image())) { server in
      let client = try server.connect()
      // Readers that read little are still behind when the next command comes.
      let connection = try server.connect()
      connection.readBytesMax = 1_024
      let slow = try Watcher(connection).sync()
      let readers = try (0..<2).map { _ in try Watcher(server.connect()).sync() } + [slow]
      for _ in 0..<4 { try client.presence(.toggle) }
      try client.set("w1", ["n": .int(-1)])
      let truth = try client.list()
      for reader in readers {
        try reader.catchUp(to: truth.revision)
        #expect(reader.mirror.widgets == truth.widgets)
      }
    }
  }

  @Test func `fewer changes come at once`() async throws {
    let limits = ServerLimits.with { $0.eagerChangesMax = 100 }
    let image = StoreImage.sample(count: 800) { ["n": .int(Int64($0))] }
    try await withServer(limits: limits, log: TestLog.State(image: image)) { server in
      let reader = try Watcher(server.connect()).sync()
      let client = try server.connect()
      try client.presence(.toggle)
      let truth = try client.list()
      try reader.catchUp(to: truth.revision)
      #expect(reader.mirror.changeSets == 1 && reader.mirror.changeFrames < Self.parts)
      #expect(reader.mirror.widgets == truth.widgets)
    }
  }

  /// A reader that got them in parts could find that they are forgotten.
  @Test func `very many removals come at once, so they end no stream`() async throws {
    try await Self.removeMany(SliceClock.makeStill)
  }

  /// The round may have no time for the reader. Then the removals are kept for it.
  @Test func `very many removals end no stream that a round leaves to later turns`() async throws {
    try await Self.removeMany(SliceClock.makeOver)
  }

  /// One turn removes many more keys than the store remembers.
  private static func removeMany(
    _ makeClock: @escaping @Sendable () -> () -> NIODeadline
  ) async throws {
    let limits = ServerLimits.with {
      $0.eagerChangesMax = 10
      $0.store.tombstonesMax = 100
    }
    try await withServer(limits: limits, log: TestLog.State(image: Self.image())) { server in
      let reader = try Watcher(server.connect()).sync()
      let client = try server.connect()
      try server.onLoop { service in
        service.context.work.clock = makeClock()
        service.turn.open()
        let caller = Caller(uid: 0, pid: 0, client: "")
        for number in 0..<Self.count / 2 {
          try service.context.commit(
            .update(.make("w\(number)"), WidgetPatch(unsetData: ["n"])), by: caller)
        }
      }
      let truth = try client.list()
      try reader.catchUp(to: truth.revision)
      #expect(reader.mirror.widgets == truth.widgets)
    }
  }

  @Test func `removals that nobody needs any more are freed in the turns that follow`() async throws
  {
    let limits = ServerLimits.with { $0.store.tombstonesMax = 8 }
    try await withServer(limits: limits, log: TestLog.State(image: Self.image())) { server in
      try server.onLoop { service in
        service.turn.open()
        let caller = Caller(uid: 0, pid: 0, client: "")
        for number in 0..<Self.count {
          try service.context.commit(.delete(.make("w\(number)")), by: caller)
        }
      }
      // The turn after the round forgets them.
      try server.eventually {
        $0.turn.open()
        return $0.context.store.removalCount <= 8
      }
      try server.eventually { !$0.context.store.hasForgottenRemovals }
    }
  }

  @Test func `a delay of changes and the events come before the parts`() async throws {
    let limits = ServerLimits.with { $0.eagerChangesMax = 100 }
    try await withServer(limits: limits, log: TestLog.State(image: Self.image())) { server in
      try server.onLoop { $0.streams.batchDelayMax = .seconds(3_600) }
      let request = WatchWidgetsRequest(
        includeEvents: true, batchDelay: .seconds(3_600))
      let stream = try server.connect().watch(request)
      var mirror = Mirror()
      while !mirror.isSynced { try mirror.apply(#require(try stream.next())) }
      let client = try server.connect()
      try client.presence(.toggle)
      // An event ends the delay, and comes first.
      let sequence = try client.event("w1", force: true)
      let next = try #require(try stream.next())
      guard case .events(let batch) = next else {
        Issue.record("\(next)")
        return
      }
      #expect(batch.events.map(\.sequence) == [sequence])
      let truth = try client.list()
      while mirror.changeSets == 0 { try mirror.apply(#require(try stream.next())) }
      #expect(mirror.widgets == truth.widgets)
    }
  }
}
