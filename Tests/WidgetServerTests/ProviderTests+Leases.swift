import NIOCore
import Testing
import WidgetCore
import WidgetModel
import WidgetProto
import WidgetStorage
import WidgetTimers
import WidgetTransport

@testable import WidgetServer

/// Leases of providers, their widgets while they are away, and their return.
extension Providers {
  @Test func `a kind shows whether its provider is connected`() async throws {
    try await provide { server, client, provider in
      let service = "widgetd.v1.CatalogService"
      _ = try client.call(
        "ApplyKinds", ApplyKindsRequest(provider: "file", kinds: [Kind(name: Self.kind("plain"))]),
        as: ApplyKindsResponse.self, service: service)
      func states() throws -> [String: [Bool]] {
        let listed = try client.call(
          "ListKinds", ListKindsRequest(), as: ListKindsResponse.self, service: service)
        var states: [String: [Bool]] = [:]
        for kind in listed.kinds {
          let one = try client.call(
            "GetKind", GetKindRequest(name: kind.kind.name), as: GetKindResponse.self,
            service: service)
          #expect(one.kind == kind)
          states[kind.kind.name.rawValue] = [kind.isAttended, kind.isProviderConnected]
        }
        return states
      }
      let others = [
        "plain": [false, false], "help": [false, false], "activity": [false, false],
        "smart-stack": [false, false],
      ]
      func expected(_ gauge: [Bool]) -> [String: [Bool]] { others.merging(["gauge": gauge]) { $1 } }
      #expect(try states() == expected([true, true]))
      try provider.halfClose()
      _ = try provider.stream.end()
      #expect(try states() == expected([true, false]))
      let again = try RawProvider(server.connect())
      try again.open()
      #expect(try states() == expected([true, true]))
    }
  }

  @Test func `a provider whose process runs is silent after its lease, until it is back`()
    async throws
  {
    try await provide { server, client, provider in
      func silence() throws -> ProviderSilence? {
        try client.call(
          "GetKind", GetKindRequest(name: Self.kind("gauge")), as: GetKindResponse.self,
          service: "widgetd.v1.CatalogService"
        ).kind.providerSilence
      }
      #expect(try silence() == nil)
      try self.pass(301, server)
      _ = try provider.stream.end()
      let silent = try #require(try silence())
      #expect(silent.pid == Peer.current.pid)
      #expect(Timestamp.wallClock().duration(since: silent.since) >= RawProvider.leaseMax)
      let again = try RawProvider(server.connect())
      try again.open()
      #expect(try silence() == nil)
      // A provider that ends its session is away.
      try again.halfClose()
      _ = try again.stream.end()
      #expect(try silence() == nil)
    }
  }

  @Test func `a process that has ended is not silent`() {
    var silent = SilentProviders()
    silent.expired("a", pid: Peer.current.pid, since: .epoch)
    #expect(silent["a"] == ProviderSilence(since: .epoch, pid: Peer.current.pid))
    #expect(silent["b"] == nil)
    var look = SilenceLook(silent)
    for _ in 0..<2 {
      #expect(look.silence(of: "a") == ProviderSilence(since: .epoch, pid: Peer.current.pid))
      #expect(look.silence(of: "b") == nil)
    }
    // No process has this number.
    silent.expired("c", pid: .max, since: .epoch)
    #expect(silent["c"] == nil)
    silent.comeBack("a")
    #expect(silent["a"] == nil)
  }

  enum Departure: CaseIterable { case halfClose, hangUp, silence, unsubscribe, garbage }

  @Test(arguments: Departure.allCases)
  func `a watcher sees that the widgets of a lost provider are stale`(
    departure: Departure
  ) async throws {
    try await provide { server, client, provider in
      for id in ["a", "b"] {
        try client.create(id, kind: "gauge")
        _ = try provider.dataRequest()
      }
      try client.create("k")
      let watcher = try Watcher(server.connect()).sync()
      switch departure {
      case .halfClose: try provider.halfClose()
      case .hangUp: provider.client.close()
      case .silence: try self.pass(301, server)
      case .garbage: try provider.client.send(RawClient.frame(.data, provider.stream.id, [0xff]))
      case .unsubscribe:
        let id = try server.server.onLoop { $0.providers.table.byName["desk"]?.id ?? 0 }.wait()
        try client.unsubscribe(id)
      }
      let changes = try watcher.nextChanges()
      #expect(changes.count == 2)
      for case .updated(let update) in changes { #expect(update.isStale == true) }
      #expect(try client.get("a").isStale)
      #expect(try client.get("k").isStale == false)
      let status = departure == .hangUp ? nil : try provider.stream.end()
      switch departure {
      case .halfClose, .unsubscribe, .hangUp: #expect(status == nil)
      case .silence:
        #expect(status?.code == .deadlineExceeded)
        #expect(status?.reason == "LEASE_EXPIRED")
      case .garbage: #expect(status?.reason == "INVALID_REQUEST")
      }
      // The providers come back, and get a request for each widget. Their answers make the widgets
      // fresh.
      let again = try RawProvider(server.connect())
      let (_, requests) = try again.open()
      #expect(requests.map(\.widget.id.rawValue) == ["a", "b"])
      #expect(requests.allSatisfy { $0.reason == .providerReturned && $0.widget.isStale })
      try again.send(
        .answer(
          ProvideAnswer(id: 1, dataRequestID: requests[0].id, outcome: .patch(WidgetPatch()))))
      #expect(try again.result().error == nil)
      #expect(try again.update("b", [:]).error == nil)
      #expect(try client.get("a").isStale == false)
      #expect(try client.get("b").isStale == false)
    }
  }

  @Test func `any frame keeps the lease of a provider`() async throws {
    try await provide { server, client, provider in
      let ends = { try server.onLoop { $0.providers.table.all.map(\.leaseEnd) } }
      let before = try #require(ends().first)
      try provider.settle()
      let after = try #require(ends().first)
      #expect(after > before)
      try server.onLoop { service in
        for session in service.providers.table.all {
          let last = session.leaseEnd - .seconds(1)
          service.providers.expire(at: last)
          service.providers.expire(at: last + LeaseWatch.secondLook)
        }
      }
      #expect(try client.stats().providers == 1)
    }
  }

  @Test func `a busy daemon does not count unread frames as silence`() async throws {
    try await provide { server, client, provider in
      try client.create("a", kind: "gauge")
      _ = try provider.dataRequest()
      let late = NIODeadline.now() + .seconds(301)
      try server.server.onLoop { $0.providers.expire(at: late) }.wait()
      // The frame was sent, but comes too late for the first check.
      try provider.send(.keepAlive)
      #expect(try provider.next() == .keepAlive)
      try server.server.onLoop { service in
        for session in service.providers.table.all { session.heard(at: late) }
        service.providers.expire(at: late + LeaseWatch.secondLook)
      }.wait()
      #expect(try client.stats().providers == 1)
      #expect(try client.get("a").isStale == false)
      try self.pass(700, server)
      #expect(try provider.stream.end()?.reason == "LEASE_EXPIRED")
    }
  }

  /// Lets the daemon read the end of a provider's session, and all frames of the next one, in one
  /// turn.
  private func comeBack(
    _ server: TestServer, _ peer: Peer, saying frames: [ProvideRequest]
  ) throws {
    try server.server.onLoop { service in
      for session in service.providers.table.all { service.providers.end(session, nil) }
      let stream = try service.providers.converse(
        .provide, sink: DeafSink(), peer: peer, level: .owner)
      for frame in frames {
        stream.receive(ByteBuffer(bytes: try service.context.codec.encode(frame)))
      }
    }.wait()
  }

  @Test(arguments: [true, false])
  func `a provider that reconnects and updates at once has fresh widgets`(isDurable: Bool)
    async throws
  {
    try await provide { server, client, provider in
      for id in ["a", "b"] {
        try client.create(id, kind: "gauge")
        _ = try provider.dataRequest()
      }
      let peers = try server.server.onLoop { $0.providers.table.all.map(\.peer) }.wait()
      let peer = try #require(peers.first)
      if !isDurable {
        // The stale widgets cannot be stored at first. The daemon retries after a second.
        server.log.failure = .closed(path: "test")
        try provider.halfClose()
        try server.eventually { $0.providers.stale.waitsForRetry }
        server.log.failure = nil
      }
      try self.comeBack(
        server, peer,
        saying: [
          .open(ProvideOpen(provider: "desk", lease: RawProvider.leaseMax, epoch: 77)),
          try Self.update(1, [("a", ["load": .double(1)])]),
        ])
      #expect(try client.get("a").isStale == false)
      // The provider is asked for fresh data, as after a replacement of its session.
      #expect(try client.get("b").isStale == false)
      let left = try server.server.onLoop { service in
        service.providers.stale.retryNow()
        service.turn.finish()
        return service.providers.stale.lostProviders
      }.wait()
      #expect(left == [])
      for id in ["a", "b"] { #expect(try client.get(id).isStale == false) }
    }
  }

  @Test func `a session without open ends after its time`() async throws {
    try await withServer { server in
      let provider = try RawProvider(server.connect())
      try server.eventually { !$0.providers.table.isEmpty }
      try self.pass(16, server)
      #expect(try provider.stream.end()?.reason == "LEASE_EXPIRED")
      try server.eventually { $0.providers.table.isEmpty && $0.context.streamAccounts.count == 0 }
    }
  }

  @Test(arguments: [0, 301, -1])
  func `a lease out of range is refused`(seconds: Int) async throws {
    try await withServer { server in
      let provider = try RawProvider(server.connect())
      try provider.send(.open(ProvideOpen(provider: "desk", lease: .seconds(seconds))))
      #expect(try provider.stream.end()?.fieldViolations.map(\.field) == ["open.lease"])
    }
  }

  @Test func `a provider that stays away after a restart of the daemon is lost`() async throws {
    let log = TestLog.State()
    let folder = try TestFolder()
    try await withServer(log: log, folder: folder) { server in
      let client = try server.connect()
      for name in ["desk", "other"] {
        let provider = try RawProvider(server.connect())
        try provider.open(
          name, kinds: [Kind(name: .make("kind-of-" + name))])
        try client.create(name, kind: "kind-of-" + name)
        _ = try provider.dataRequest()
      }
      // A provider that declares kinds without a session.
      _ = try client.call(
        "ApplyKinds", ApplyKindsRequest(provider: "file", kinds: [Kind(name: .make("plain"))]),
        as: ApplyKindsResponse.self, service: "widgetd.v1.CatalogService")
      try client.create("plain", kind: "plain")
    }
    try await withServer(log: log, folder: folder) { server in
      // The start is moved, so that the time of the test itself does not count.
      let pause: Int64 = 3_600
      try server.server.onLoop { $0.context.moveStart(by: .seconds(pause)) }
        .wait()
      let client = try server.connect()
      // As if the daemon had been killed before the providers were gone.
      for id in ["desk", "other"] { try client.patch(id, WidgetPatch(isStale: false)) }
      let provider = try RawProvider(server.connect())
      try provider.open("other")
      let start = try server.server.onLoop { $0.context.startedAt }.wait()
      try server.server.onLoop { $0.providers.stale.lookAtAbsent(at: start + .seconds(14)) }.wait()
      #expect(try client.get("desk").isStale == false)
      try provider.settle()
      // The time passes for the provider, too, so it renews its lease.
      try server.server.onLoop { service in
        for session in service.providers.table.all {
          session.heard(at: start + .seconds(60))
        }
        service.providers.expire(at: start + .seconds(16))
        service.providers.expire(at: start + .seconds(16) + LeaseWatch.secondLook)
      }.wait()
      #expect(try client.get("desk").isStale)
      #expect(try client.get("other").isStale == false)
      #expect(try client.get("plain").isStale == false)
    }
  }

  @Test func `a provider that had all events misses none after an orderly restart`() async throws {
    let log = TestLog.State()
    let folder = try TestFolder()
    for last: UInt64 in 0..<3 {
      try await withServer(log: log, folder: folder) { server in
        let client = try server.connect()
        let provider = try RawProvider(server.connect())
        // Fails if a gap comes.
        let (opened, _) = try provider.open(kinds: [Self.gauge], after: last)
        #expect(opened.firstSequence == last + 1)
        if last == 0 {
          try client.create("a", kind: "gauge")
          _ = try provider.dataRequest()
        }
        #expect(try client.event("a") == last + 1)
        #expect(try provider.event().sequence == last + 1)
      }
    }
  }

  @Test func `a provider gets the events of its absence after a restart`() async throws {
    let log = TestLog.State()
    let folder = try TestFolder()
    try await withServer(log: log, folder: folder) { server in
      let client = try server.connect()
      let provider = try RawProvider(server.connect())
      try provider.open(kinds: [Self.gauge])
      try client.create("a", kind: "gauge")
      try client.create("free")
      _ = try provider.dataRequest()
      #expect(try client.event("a") == 1)
      _ = try provider.event()
      try provider.send(.acknowledge(ProvideAcknowledge(id: 1, sequence: 1)))
      _ = try provider.result()
      try provider.halfClose()
      #expect(try provider.stream.end() == nil)
      for id in ["a", "free", "a"] { try client.event(id) }
    }
    for acknowledges in [false, true] {
      try await withServer(log: log, folder: folder) { server in
        // The provider has forgotten its place. The daemon has not.
        let provider = try RawProvider(server.connect())
        try provider.send(.open(ProvideOpen(provider: "desk", lease: RawProvider.leaseMax)))
        guard case .opened(let opened) = try provider.next() else { throw TestFault("not opened") }
        #expect(opened.firstSequence == 2)
        // There is no gap, because event 3 belongs to no provider.
        #expect(try provider.event().sequence == 2)
        #expect(try provider.event().sequence == 4)
        _ = try provider.dataRequest()
        guard case .synced = try provider.next() else { throw TestFault("not synced") }
        guard acknowledges else { return }
        try provider.send(.acknowledge(ProvideAcknowledge(id: 1, sequence: 4)))
        _ = try provider.result()
      }
    }
    try await withServer(log: log, folder: folder) { server in
      let client = try server.connect()
      let provider = try RawProvider(server.connect())
      // The number that the provider names does not count, because the daemon has a later one.
      try provider.open(after: 2)
      try provider.settle()
      #expect(try client.event("a") == 5)
      #expect(try provider.event().sequence == 5)
    }
  }

  @Test func `an event that cannot be stored is refused, and one that may be lost is not`()
    async throws
  {
    try await withServer { server in
      let client = try server.connect()
      let provider = try RawProvider(server.connect())
      var log = Self.gauge
      (log.name, log.hasLosableEvents) = (try .make("log"), true)
      try provider.open(kinds: [Self.gauge, log])
      for kind in ["gauge", "log"] {
        try client.create(kind, kind: kind)
        _ = try provider.dataRequest()
      }
      try client.event("log")
      _ = try provider.event()
      server.log.failure = .closed(path: "test")
      #expect(throws: RPCStatus.self) { try client.event("gauge") }
      try client.event("log")
      #expect(try provider.event().widgetID == .make("log"))
    }
  }
}
