import NIOCore
import Testing
import WidgetCore
import WidgetModel
import WidgetProto
import WidgetStorage
import WidgetTransport

@testable import WidgetServer

/// The pause before the daemon retries a change of its own.
@Suite struct RetryPauseTests {
  private static func at(_ seconds: Int64) -> NIODeadline {
    .uptimeNanoseconds(0) + .seconds(seconds)
  }

  @Test func `each failure in a row doubles the pause, up to the longest one`() {
    var retry = RetryPause()
    var now = Self.at(0)
    var pauses: [Int64] = []
    for _ in 0..<8 {
      let end = retry.fail(at: now)
      pauses.append((end - now).nanoseconds / 1_000_000_000)
      let isHeld = retry.holds(at: end - .nanoseconds(1))
      #expect(isHeld && retry.isOn)
      let isStillHeld = retry.holds(at: end)
      #expect(!isStillHeld && !retry.isOn)
      now = end
    }
    #expect(pauses == [1, 2, 4, 8, 16, 32, 60, 60])
    retry.succeed()
    let end = retry.fail(at: now)
    #expect(end == now + RetryPause.shortest)
  }

  @Test func `a pause that ends early does not make the next one shorter`() {
    var retry = RetryPause()
    _ = retry.fail(at: Self.at(0))
    retry.end()
    let isHeld = retry.holds(at: Self.at(0))
    let end = retry.fail(at: Self.at(0))
    #expect(!isHeld && end == Self.at(2))
  }
}

/// The widgets of providers whose sessions have ended, in parts.
@Suite struct LostProviderTests {
  private static let count = 1_000

  /// A store with the widgets of "desk".
  private static func log(count: Int = count) throws -> TestLog.State {
    var image = StoreImage.sample(count: count, kind: "gauge") { _ in [:] }
    image.kinds = [
      RegisteredKind(kind: Kind(name: try .make("gauge")), provider: "desk", isAttended: true)
    ]
    return TestLog.State(image: image)
  }

  private static func staleCount(_ log: TestLog.State) -> Int {
    log.image.records.count { $0.widget.isStale }
  }

  /// The number of stale widgets in each group that has some.
  private static func parts(_ log: TestLog.State) -> [Int] {
    log.groups.map { group in group.upserts.count { $0.widget.isStale } }.filter { $0 > 0 }
  }

  /// Opens a session of "desk" that reads nothing, and sends frames.
  private static func open(_ service: ServiceLoop, _ frames: [ProvideRequest] = []) throws {
    let stream = try service.providers.converse(
      .provide, sink: DeafSink(), peer: Peer(uid: 0, gid: 0, pid: 0), level: .owner)
    let open = ProvideRequest.open(
      ProvideOpen(provider: "desk", lease: RawProvider.leaseMax, epoch: 77))
    for frame in [open] + frames {
      stream.receive(ByteBuffer(bytes: try service.context.codec.encode(frame)))
    }
  }

  /// Opens and ends a session, and ends some turns.
  private static func lose(_ service: ServiceLoop, turns: Int = 0) throws {
    try open(service)
    service.turn.finish()
    for session in service.providers.table.all { service.providers.end(session, nil) }
    take(turns, service)
  }

  private static func take(_ turns: Int, _ service: ServiceLoop) {
    for _ in 0..<turns {
      service.turn.open()
      service.turn.finish()
    }
  }

  private static func isDone(_ service: ServiceLoop) -> Bool {
    service.providers.stale.lostProviders.isEmpty
  }

  @Test func `one group makes at most so many widgets stale, and further groups the rest`()
    async throws
  {
    let log = try Self.log()
    try await withServer(log: log) { server in
      try server.onLoop { service in
        service.context.work.clock = SliceClock.makeStill()
        try Self.lose(service, turns: 4)
      }
      try server.eventually(Self.isDone)
      #expect(Self.parts(log) == [256, 256, 256, 232])
      #expect(Self.staleCount(log) == Self.count)
    }
  }

  @Test func `a turn without time makes one widget stale`() async throws {
    let log = try Self.log()
    try await withServer(log: log) { server in
      try server.onLoop { service in
        service.context.work.clock = SliceClock.makeOver()
        try Self.lose(service, turns: 3)
        #expect(Self.parts(log) == [1, 1, 1])
        #expect(service.providers.stale.hasMore)
      }
    }
  }

  @Test func `when the provider is back, the other widgets stay fresh`() async throws {
    let log = try Self.log()
    try await withServer(log: log) { server in
      try server.onLoop { service in
        service.context.work.clock = SliceClock.makeOver()
        try Self.lose(service, turns: 3)
        #expect(Self.staleCount(log) == 3)
        try Self.open(service)
        Self.take(5, service)
        #expect(Self.staleCount(log) == 3)
        #expect(!service.providers.stale.hasMore)
        // The next loss begins from the start.
        for session in service.providers.table.all { service.providers.end(session, nil) }
        Self.take(3, service)
        #expect(Self.staleCount(log) == 6)
        let update = try WidgetID.make("w0")
        try Self.open(
          service, [.update(ProvideUpdate(id: 1, updates: [ProvidedUpdate(update)]))])
        Self.take(3, service)
        #expect(Self.staleCount(log) == 5)
      }
    }
  }

  @Test func `after a failed group, the parts begin again with one widget`() async throws {
    let log = try Self.log()
    try await withServer(log: log) { server in
      try server.onLoop { service in
        service.context.work.clock = SliceClock.makeStill()
        log.failure = .full(path: "widgetd.db")
        try Self.lose(service, turns: 3)
        #expect(service.providers.stale.waitsForRetry && !service.providers.stale.hasMore)
        #expect(Self.staleCount(log) == 0)
        // Without an end of the pause, there was one attempt.
        let failed = service.context.counters.byName.first { $0.name == "groups_failed" }
        #expect(failed?.value == 1)
        log.failure = nil
        service.providers.stale.retryNow()
        Self.take(4, service)
        #expect(Self.parts(log) == [1, 2, 4, 8])
      }
      try server.eventually(Self.isDone)
      #expect(Self.staleCount(log) == Self.count)
    }
  }

  @Test func `when the store takes changes again, the daemon retries at once`() async throws {
    let log = try Self.log()
    try await withServer(log: log) { server in
      try server.onLoop { service in
        log.failure = .full(path: "widgetd.db")
        try Self.lose(service, turns: 1)
        #expect(service.providers.stale.waitsForRetry)
        log.failure = nil
      }
      // A change of a user shows that the store works.
      try server.connect().create("other", kind: "plain")
      try server.eventually(Self.isDone)
      #expect(Self.staleCount(log) == Self.count)
    }
  }

  @Test func `while the log is behind, no widgets become stale`() async throws {
    let log = try Self.log()
    try await withServer(log: log) { server in
      try server.onLoop { service in
        service.context.work.clock = SliceClock.makeOver()
        try Self.lose(service, turns: 2)
        #expect(service.context.pause.begin())
        Self.take(3, service)
        #expect(Self.staleCount(log) == 2)
        #expect(!service.providers.stale.hasMore)
        service.context.work.clock = SliceClock.makeStill()
        service.context.pause.end()
      }
      try server.eventually(Self.isDone)
      #expect(Self.staleCount(log) == Self.count)
    }
  }

  @Test func `after a stop in the middle, the next process makes the rest stale`() async throws {
    let log = try Self.log()
    let folder = try TestFolder()
    try await withServer(log: log, folder: folder) { server in
      try server.onLoop { service in
        service.context.work.clock = SliceClock.makeOver()
        try Self.lose(service, turns: 2)
        // No further part before the stop.
        _ = service.context.pause.begin()
        service.turn.finish()
      }
    }
    #expect(Self.staleCount(log) == 2)
    try await withServer(log: log, folder: folder) { server in
      try server.onLoop { service in
        let end = service.context.startedAt + LostProviders.returnTime
        service.providers.stale.lookAtAbsent(at: end)
        service.providers.stale.lookAtAbsent(at: end + LeaseWatch.secondLook)
        #expect(!Self.isDone(service))
      }
      try server.eventually(Self.isDone)
      #expect(Self.staleCount(log) == Self.count)
    }
  }

  @Test func `a widget that an owner calls fresh meanwhile stays fresh`() async throws {
    let log = try Self.log()
    try await withServer(log: log) { server in
      let client = try server.connect()
      // From now on, the daemon reads the connection.
      _ = try client.stats()
      log.closeGate()
      let losing = server.server.onLoop { service in
        service.context.work.clock = SliceClock.makeStill()
        try Self.lose(service)
      }
      // The first part waits for the disk, and the call waits for the first part.
      try log.waitForAppend()
      let call = try client.start(
        "UpdateWidget",
        UpdateWidgetRequest(id: .make("w999"), patch: WidgetPatch(isStale: false)))
      log.openGate()
      try losing.wait()
      _ = try client.answer(to: call, as: UpdateWidgetResponse.self)
      try server.eventually(Self.isDone)
      #expect(try client.get("w999").isStale == false)
      #expect(try client.get("w998").isStale)
      #expect(Self.staleCount(log) == Self.count - 1)
    }
  }
}

/// The widgets of lost providers, after the failure of a group.
extension LostProviderTests {
  /// A change that makes the walk pass the only widget.
  enum Passing: CaseIterable { case update, delete, deleteKind }

  private static func carryOut(_ passing: Passing, _ service: ServiceLoop) throws {
    let (id, kind): (WidgetID, KindName) = (try .make("w0"), try .make("gauge"))
    let patch = WidgetPatch(setLabels: ["room": "yes"], isStale: false)
    let command: Command =
      switch passing {
      case .update: .update(id, patch)
      case .delete: .delete(id)
      case .deleteKind: .deleteKind(kind)
      }
    _ = try service.context.apply(command, by: Peer(uid: 0, gid: 0, pid: 0))
    if passing == .update { service.providers.stale.spare(id) }
  }

  @Test(arguments: Passing.allCases)
  func `if the change fails that a part depends on, the widget becomes stale`(passing: Passing)
    async throws
  {
    let log = try Self.log(count: 1)
    try await withServer(log: log) { server in
      try server.onLoop { service in
        try Self.open(service)
        service.turn.finish()
        for session in service.providers.table.all { service.providers.end(session, nil) }
        service.turn.open()
        try Self.carryOut(passing, service)
        log.failure = .full(path: "widgetd.db")
        service.turn.finish()
        #expect(service.providers.stale.lostProviders == ["desk"])
        #expect(service.providers.stale.hasMore, "the part has changed nothing")
        log.failure = nil
        Self.take(1, service)
        #expect(Self.staleCount(log) == 1)
        #expect(Self.isDone(service))
      }
    }
  }

  @Test func `after the provider was back, the first failure has the shortest pause`() async throws
  {
    let log = try Self.log()
    try await withServer(log: log) { server in
      try server.onLoop { service in
        service.context.work.clock = SliceClock.makeStill()
        log.failure = .full(path: "widgetd.db")
        try Self.lose(service, turns: 1)
        #expect(service.providers.stale.waitsForRetry)
        log.failure = nil
        try Self.open(service)
        service.turn.finish()
        for session in service.providers.table.all { service.providers.end(session, nil) }
        Self.take(1, service)
        // Neither the pause nor the small first part of a retry is left.
        #expect(Self.parts(log) == [256])
      }
    }
  }
}

/// The providers without a session, without a daemon.
@Suite struct LostProviderValues {
  @Test func `providers that are lost during a walk wait for the next one`() throws {
    var lost = LostProviders()
    lost.lose("a")
    var part = lost.beginPart()
    let first = try #require(part)
    #expect(first.providers == ["a"])
    lost.endPart(first, isChange: true, hasMore: true)
    lost.lose("b")
    part = lost.beginPart()
    let second = try #require(part)
    #expect(second.providers == ["a"])
    lost.endPart(second, isChange: true, hasMore: false)
    #expect(lost.names == ["b"])
    part = lost.beginPart()
    let third = try #require(part)
    #expect(third.providers == ["b"])
    lost.endPart(third, isChange: false, hasMore: false)
    #expect(!lost.hasMore)
    part = lost.beginPart()
    #expect(part == nil)
  }

  @Test func `a failed group brings the walk back, without providers that are back`() throws {
    var lost = LostProviders()
    lost.lose("a")
    lost.lose("b")
    let begun = lost.beginPart()
    lost.endPart(try #require(begun), isChange: true, hasMore: false)
    lost.comeBack("a")
    let hadPart = lost.groupFailed()
    #expect(hadPart && lost.names == ["b"])
    let hadMore = lost.groupFailed()
    #expect(!hadMore && lost.names == ["b"])
    lost.comeBack("b")
    #expect(!lost.hasMore)
  }

  @Test func `a call of a failed group spares no widget`() throws {
    let (a, b): (WidgetID, WidgetID) = (try .make("a"), try .make("b"))
    var lost = LostProviders()
    lost.lose("desk")
    lost.spare(a, of: "desk")
    _ = lost.groupEnded()
    lost.spare(b, of: "desk")
    lost.spare(b, of: "other")
    _ = lost.groupFailed()
    let part = lost.beginPart()
    #expect(part == Abandonment(of: ["desk": [a]]))
  }

  @Test func `a failed group brings back a part that has changed nothing`() throws {
    let id: WidgetID = try .make("a")
    var lost = LostProviders()
    lost.lose("desk")
    lost.spare(id, of: "desk")
    let begun = lost.beginPart()
    lost.endPart(try #require(begun), isChange: false, hasMore: false)
    let hadChanged = lost.groupFailed()
    #expect(!hadChanged && lost.names == ["desk"])
    let part = lost.beginPart()
    #expect(part == Abandonment(of: ["desk": []]))
  }

  @Test func `a failed group takes back the revision at which the walk began`() throws {
    var store = WidgetStore(image: StoreImage(epoch: 1), isRevocable: true)
    var lost = LostProviders()
    lost.lose("desk")
    let begun = lost.beginPart()
    var walk = try #require(begun)
    _ = store.abandon(&walk, at: .epoch)
    #expect(walk != Abandonment(of: ["desk": []]))
    lost.endPart(walk, isChange: false, hasMore: true)
    _ = lost.groupFailed()
    let part = lost.beginPart()
    #expect(part == Abandonment(of: ["desk": []]))
  }

  @Test func `a failed group leaves widgets fresh that an earlier group has spared`() throws {
    let id: WidgetID = try .make("a")
    var lost = LostProviders()
    lost.lose("desk")
    let begun = lost.beginPart()
    lost.endPart(try #require(begun), isChange: true, hasMore: true)
    lost.lose("dial")
    for provider in ["desk", "dial"] { lost.spare(id, of: provider) }
    _ = lost.groupEnded()
    for provider in ["desk", "dial"] { lost.spare(id, of: provider) }
    _ = lost.groupFailed()
    let part = lost.beginPart()
    #expect(part == Abandonment(of: ["desk": [id]]))
    lost.endPart(try #require(part), isChange: true, hasMore: false)
    _ = lost.groupEnded()
    let next = lost.beginPart()
    #expect(next == Abandonment(of: ["dial": [id]]))
  }
}
