import NIOCore
import SeededRandom
import Testing
import WidgetCore
import WidgetModel
import WidgetProto
import WidgetStorage

@testable import WidgetServer

/// The news of one provider about watched widgets, as a value.
@Suite struct AudienceValues {
  private static let linger = TimeAmount.milliseconds(1_000)

  private static func ids(_ names: String...) throws -> Set<WidgetID> {
    Set(try names.map { try .make($0) })
  }

  private static func at(_ milliseconds: Int64) -> NIODeadline {
    .uptimeNanoseconds(0) + .milliseconds(milliseconds)
  }

  @Test func `a widget is attached at once and detached after the linger`() throws {
    var audience = Audience()
    func look(_ watched: Set<WidgetID>, _ time: Int64) -> Audience.Update {
      audience.update(
        watched: watched, now: Self.at(time), linger: Self.linger, bytesMax: 1 << 16)
    }
    let a = try Self.ids("a")
    #expect(look(a, 0) == .init(attached: Array(a)))
    #expect(audience.nextDeadline == nil)
    #expect(look([], 10).isEmpty)
    #expect(audience.nextDeadline == Self.at(1_010))
    #expect(look([], 1_009).isEmpty)
    #expect(look([], 1_010) == .init(detached: Array(a)))
    #expect(audience.nextDeadline == nil)
  }

  @Test func `a watcher that comes back in time begins the linger again`() throws {
    var audience = Audience()
    func look(_ watched: Set<WidgetID>, _ time: Int64) -> Audience.Update {
      audience.update(
        watched: watched, now: Self.at(time), linger: Self.linger, bytesMax: 1 << 16)
    }
    let a = try Self.ids("a")
    _ = look(a, 0)
    #expect(look([], 10).isEmpty)
    #expect(look(a, 1_000).isEmpty)
    #expect(look([], 1_005).isEmpty)
    #expect(look([], 2_004).isEmpty)
    #expect(look([], 2_005).detached.count == 1)
  }

  @Test func `ids that do not fit in a frame come in the next one`() throws {
    var audience = Audience()
    let all = try Self.ids("aaaa", "bbbb", "cccc", "dddd", "eeee")
    var told: [WidgetID] = []
    var frames = 0
    var hasMore = true
    while hasMore {
      // Each takes 7 bytes: two fit in 20.
      let update = audience.update(
        watched: all, now: Self.at(0), linger: Self.linger, bytesMax: 20)
      #expect(update.attached.count <= 2)
      told += update.attached
      hasMore = update.hasMore
      frames += 1
    }
    #expect(frames == 3)
    #expect(told.count == 5 && Set(told) == all)
    // An id that alone is too long is sent all the same.
    let long = try WidgetID.make(String(repeating: "x", count: 100))
    let update = audience.update(
      watched: all.union([long]), now: Self.at(0), linger: Self.linger, bytesMax: 20)
    #expect(update == .init(attached: [long]))
  }

  @Test func `the comparison of many widgets takes several steps`() throws {
    let all = Set(try (0..<(3 * Audience.stepMax + 1)).map { try WidgetID.make("w\($0)") })
    var audience = Audience()
    var mirror: Set<WidgetID> = []
    /// Takes the steps for some watched widgets, and returns the number of ids in each frame.
    func steps(_ watched: Set<WidgetID>, _ time: Int64) -> [Int] {
      var counts: [Int] = []
      var hasMore = true
      while hasMore {
        let update = audience.update(
          watched: watched, now: Self.at(time), linger: Self.linger, bytesMax: 1 << 24)
        mirror.formUnion(update.attached)
        mirror.subtract(update.detached)
        counts.append(update.attached.count + update.detached.count)
        hasMore = update.hasMore
      }
      return counts
    }
    let most = Audience.stepMax
    #expect(steps(all, 0) == [most, most, most, 1])
    #expect(mirror == all)
    // All of them leave, and one comes back.
    #expect(steps([], 10) == [0, 0, 0, 0])
    let one = try Self.ids("w7")
    #expect(steps(one, 20).allSatisfy { $0 == 0 } && mirror == all)
    #expect(audience.nextDeadline == Self.at(1_010))
    let detached = steps(one, 1_010)
    #expect(detached.allSatisfy { $0 <= most })
    #expect(mirror == one && audience.nextDeadline == nil)
  }

  @Test func `a widget that is removed during a comparison does not linger`() throws {
    let all = Set(try (0..<(2 * Audience.stepMax)).map { try WidgetID.make("w\($0)") })
    var audience = Audience()
    func step(_ watched: Set<WidgetID>) -> Audience.Update {
      audience.update(
        watched: watched, now: Self.at(0), linger: Self.linger, bytesMax: 1 << 24)
    }
    while step(all).hasMore {}
    #expect(step([]).hasMore)
    for id in all { audience.forget(id) }
    while step([]).hasMore {}
    #expect(audience.nextDeadline == nil)
  }

  /// Random histories, and a model that has the time since when nobody watches each widget.
  @Test(arguments: 0..<20 as Range<UInt64>)
  func `the sum of the frames equals a naive model`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let all = try (0..<6).map { try WidgetID.make("w\($0)") }
    var audience = Audience()
    var mirror: Set<WidgetID> = []
    var unwatchedSince: [WidgetID: Int64] = [:]
    var time: Int64 = 0
    for _ in 0..<300 {
      time += Int64.random(in: 0...400, using: &random)
      if Int.random(in: 0..<8, using: &random) == 0, let gone = all.randomElement(using: &random) {
        audience.forget(gone)
        mirror.remove(gone)
        unwatchedSince[gone] = nil
      }
      let watched = Set(all.filter { _ in Bool.random(using: &random) })
      let bytesMax = Int.random(in: 1...40, using: &random)
      for id in mirror {
        unwatchedSince[id] = watched.contains(id) ? nil : unwatchedSince[id] ?? time
      }
      let due = Set(unwatchedSince.filter { time - $0.value >= 1_000 }.keys)
      var hasMore = true
      while hasMore {
        let update = audience.update(
          watched: watched, now: Self.at(time), linger: Self.linger, bytesMax: bytesMax)
        #expect(mirror.isDisjoint(with: update.attached), "seed \(seed)")
        #expect(due.isSuperset(of: update.detached), "seed \(seed)")
        mirror.formUnion(update.attached)
        mirror.subtract(update.detached)
        for id in update.detached { unwatchedSince[id] = nil }
        hasMore = update.hasMore
      }
      #expect(mirror == watched.union(unwatchedSince.keys), "seed \(seed)")
      #expect(
        audience.nextDeadline == unwatchedSince.values.min().map { Self.at($0 + 1_000) },
        "seed \(seed)")
    }
  }
}

/// Providers get the ids of their watched widgets.
@Suite struct Audiences {
  /// A server with the kind `gauge` and these widgets of it, and a session with `include_audience`.
  private func withProvider(
    _ widgets: [String] = ["a", "b"], limits: ServerLimits = ServerLimits(),
    log: TestLog.State = TestLog.State(),
    _ body: @escaping @Sendable (TestServer, RawClient, RawProvider) throws -> Void
  ) async throws {
    try await withServer(limits: limits, log: log) { server in
      let client = try server.connect()
      try Self.declare(client)
      for id in widgets { try client.create(id, kind: "gauge", labels: ["name": id]) }
      let provider = try RawProvider(server.connect())
      let (opened, _) = try provider.open(includeAudience: true)
      #expect(opened.includesAudience)
      #expect(try provider.audience() == ProvideAudience())
      try body(server, client, provider)
    }
  }

  private static func declare(_ client: RawClient) throws {
    _ = try client.call(
      "ApplyKinds",
      ApplyKindsRequest(
        provider: "desk",
        kinds: [
          Kind(
            name: .make("gauge"),
            data: [Field(name: "n", type: .int, defaultValue: .int(0))])
        ]),
      as: ApplyKindsResponse.self, service: "widgetd.v1.CatalogService")
  }

  /// Waits until the daemon has handled all earlier changes, without another frame.
  private func expectNothing(_ server: TestServer, _ provider: RawProvider) throws {
    try server.eventually { !$0.providers.audience.isBehind }
    try provider.settle()
  }

  /// Lets the linger pass.
  private func pass(_ server: TestServer) throws {
    try server.eventually { !$0.providers.audience.isBehind }
    try server.onLoop { service in service.providers.serve(at: .now() + .hours(2)) }
  }

  private func close(_ watcher: Watcher, _ server: TestServer) throws {
    let id = watcher.mirror.subscriptionID
    watcher.client.close()
    try server.eventually { !$0.streams.all.contains { $0.id == id } }
  }

  private static func watch(
    _ server: TestServer, _ selector: Selector = Selector()
  ) throws -> Watcher {
    try Watcher(server.connect(), WatchWidgetsRequest(selector: selector)).sync()
  }

  @Test func `a widget is attached at once, and detached after the linger`() async throws {
    try await withProvider { server, _, provider in
      let watcher = try Self.watch(server)
      #expect(
        Set(try provider.audience().attached.map(\.rawValue)) == ["a", "b"])
      try close(watcher, server)
      try expectNothing(server, provider)
      try pass(server)
      let frame = try provider.audience()
      #expect(Set(frame.detached.map(\.rawValue)) == ["a", "b"] && frame.attached == [])
    }
  }

  @Test func `a timer sends detached after audience_linger_milliseconds`() async throws {
    let limits = ServerLimits.with { $0.audienceLingerMilliseconds = 30 }
    try await withProvider(["a"], limits: limits) { server, _, provider in
      let watcher = try Self.watch(server)
      #expect(try provider.audience().attached.count == 1)
      try close(watcher, server)
      #expect(try provider.audience() == ProvideAudience(detached: [.make("a")]))
      // The watchers do not change, so there is no timer.
      try server.eventually { $0.providers.audience.hasNoTimer }
    }
  }

  @Test func `a watcher that returns in time, and a second watcher, cause no frame`() async throws {
    try await withProvider(["a"]) { server, _, provider in
      let first = try Self.watch(server)
      _ = try provider.audience()
      let second = try Self.watch(server, Selector(kinds: [.make("gauge")]))
      try expectNothing(server, provider)
      try close(first, server)
      try pass(server)
      try provider.settle()
      try close(second, server)
      try expectNothing(server, provider)
      let watcher = try Self.watch(server, Selector(ids: [.make("a")]))
      defer { watcher.client.close() }
      try pass(server)
      try provider.settle()
    }
  }

  @Test func `selected widgets are attached, also when the selection changes`() async throws {
    let name = LabelRequirement(key: "name", operator: .isIn, values: ["b"])
    let selectors = [
      Selector(ids: [try .make("b")]), Selector(labels: [name]),
      Selector(expression: "widget.id == 'b'"),
      Selector(ids: [try .make("b"), try .make("z")], kinds: [try .make("gauge")]),
      Selector(kinds: [try .make("gauge")], labels: [name]),
    ]
    for selector in selectors {
      try await withProvider { server, _, provider in
        let watcher = try Self.watch(server, selector)
        defer { watcher.client.close() }
        #expect(try provider.audience() == ProvideAudience(attached: [.make("b")]))
      }
    }
    try await withProvider { server, client, provider in
      let watcher = try Self.watch(server, Selector(expression: "data.n > 5"))
      defer { watcher.client.close() }
      try expectNothing(server, provider)
      try client.set("a", ["n": .int(7)])
      #expect(try provider.audience() == ProvideAudience(attached: [.make("a")]))
      try client.set("a", ["n": .int(1)])
      try expectNothing(server, provider)
      try pass(server)
      #expect(try provider.audience() == ProvideAudience(detached: [.make("a")]))
    }
  }

  @Test func `streams of events and passive streams do not count`() async throws {
    try await withProvider { server, _, provider in
      let events = try server.connect().watchEvents()
      defer { events.client.close() }
      _ = try events.next()
      let passive = try Watcher(server.connect(), WatchWidgetsRequest(isPassive: true)).sync()
      defer { passive.client.close() }
      try expectNothing(server, provider)
      // A stream that shares its frames with a passive one counts.
      let watcher = try Self.watch(server)
      defer { watcher.client.close() }
      #expect(try provider.audience().attached.count == 2)
    }
  }

  @Test func `widgets are attached when they are made, and forgotten when they are gone`()
    async throws
  {
    try await withProvider([]) { server, client, provider in
      let watcher = try Self.watch(server)
      defer { watcher.client.close() }
      try client.create("a", kind: "gauge")
      try client.create("other", kind: "clock")
      // The provider is asked about it first.
      #expect(try provider.dataRequest().widget.id == .make("a"))
      #expect(try provider.audience() == ProvideAudience(attached: [.make("a")]))
      try client.delete("a")
      #expect(
        try provider.next() == .removed(ProvidedRemoval(widgetIDs: [.make("a")])))
      try pass(server)
      try provider.settle()
      // A widget with the same id is another widget.
      try client.create("a", kind: "gauge")
      _ = try provider.dataRequest()
      #expect(try provider.audience() == ProvideAudience(attached: [.make("a")]))
    }
  }

  @Test func `a provider without include_audience gets no frames and costs nothing`() async throws {
    try await withServer { server in
      let client = try server.connect()
      try Self.declare(client)
      try client.create("a", kind: "gauge")
      let provider = try RawProvider(server.connect())
      let (opened, _) = try provider.open()
      #expect(!opened.includesAudience)
      let watcher = try Self.watch(server)
      try client.set("a", ["n": .int(7)])
      try close(watcher, server)
      try provider.settle()
      #expect(try server.onLoop { $0.providers.audience.isIdle })
    }
  }

  @Test func `the first frame of a session has all that are attached`() async throws {
    try await withProvider { server, _, first in
      let watcher = try Self.watch(server, Selector(ids: [.make("b")]))
      _ = try first.audience()
      // The new session knows nothing.
      let second = try RawProvider(server.connect())
      try second.open(takeOver: true, includeAudience: true)
      #expect(try second.audience() == ProvideAudience(attached: [.make("b")]))
      second.client.close()
      try server.eventually { $0.providers.table.byName.isEmpty }
      try close(watcher, server)
      let third = try RawProvider(server.connect())
      try third.open(includeAudience: true)
      #expect(try third.audience() == ProvideAudience())
    }
  }

  @Test func `a large audience comes in frames of the target's size`() async throws {
    let limits = ServerLimits.with { $0.frameBytesTarget = 1_024 }
    try await withServer(limits: limits) { server in
      let client = try server.connect()
      try Self.declare(client)
      let specs = try (0..<300).map { number in
        WidgetSpec(id: try .make("widget\(number)"), kind: try .make("gauge"))
      }
      _ = try client.apply(specs)
      let watcher = try Self.watch(server)
      defer { watcher.client.close() }
      let provider = try RawProvider(server.connect())
      try provider.open(includeAudience: true)
      var attached: Set<WidgetID> = []
      while attached.count < 300 {
        let frame = try provider.audience()
        #expect(frame.attached.reduce(0) { $0 + $1.rawValue.utf8.count + 2 } <= 1_024)
        #expect(attached.isDisjoint(with: frame.attached))
        attached.formUnion(frame.attached)
      }
      try provider.settle()
    }
  }

  @Test func `a provider of many widgets gets all that come and go`() async throws {
    let count = 2 * Audience.stepMax + 1
    try await withServer(limits: .with { $0.audienceLingerMilliseconds = 1 }) { server in
      let client = try server.connect()
      try Self.declare(client)
      _ = try client.apply(
        (0..<count).map { WidgetSpec(id: try .make("w\($0)"), kind: try .make("gauge")) })
      let provider = try RawProvider(server.connect())
      try provider.open(includeAudience: true)
      #expect(try provider.audience() == ProvideAudience())
      let watcher = try Self.watch(server)
      var known: Set<WidgetID> = []
      while known.count < count { known.formUnion(try provider.audience().attached) }
      try close(watcher, server)
      while !known.isEmpty { known.subtract(try provider.audience().detached) }
      try provider.settle()
    }
  }

  @Test func `others are served while many widgets are compared with many expressions`()
    async throws
  {
    try await withServer { server in
      let client = try server.connect()
      try Self.declare(client)
      _ = try client.apply(
        (0..<4_000).map { WidgetSpec(id: try .make("w\($0)"), kind: try .make("gauge")) })
      try server.onLoop { service in
        for number in 0..<WatchedSelectors.expressionsMax {
          service.providers.audience.watchBegan(
            Selector(expression: "data.n == \(number + 1)"))
        }
      }
      let provider = try RawProvider(server.connect())
      try provider.open(includeAudience: true)
      try server.eventually { $0.providers.audience.isInPass }
      // The tests of a widget cost a whole part, so there are thousands of parts with a pause after each.
      for _ in 0..<3 { _ = try client.get("w0") }
      #expect(try server.onLoop { $0.providers.audience.isInPass })
    }
  }

  @Test func `widgets of a given up kind are not attached, until the kind is back`()
    async throws
  {
    try await withProvider(["a"]) { server, _, provider in
      let watcher = try Self.watch(server)
      defer { watcher.client.close() }
      _ = try provider.audience()
      try provider.send(.kinds(ProvideKinds(id: 5, prune: true)))
      _ = try provider.result()
      try pass(server)
      #expect(try provider.audience() == ProvideAudience(detached: [.make("a")]))
      try provider.send(.kinds(ProvideKinds(id: 6, kinds: [Kind(name: .make("gauge"))])))
      _ = try provider.result()
      _ = try provider.dataRequest()
      guard case .synced = try provider.next() else { throw TestFault("not synced") }
      #expect(try provider.audience() == ProvideAudience(attached: [.make("a")]))
    }
  }

  @Test func `a rolled back turn sends no audience frame`() async throws {
    let log = TestLog.State()
    try await withProvider(["a"], log: log) { server, client, provider in
      let watcher = try Self.watch(server)
      defer { watcher.client.close() }
      _ = try provider.audience()
      log.failure = .full(path: "db")
      #expect(
        try client.refusal(
          "CreateWidget",
          CreateWidgetRequest(widget: WidgetSpec(id: .make("b"), kind: .make("gauge")))
        ).reason == "STORAGE_FAILED")
      try expectNothing(server, provider)
      log.failure = nil
      try client.create("b", kind: "gauge")
      _ = try provider.dataRequest()
      #expect(try provider.audience() == ProvideAudience(attached: [.make("b")]))
    }
  }
}
