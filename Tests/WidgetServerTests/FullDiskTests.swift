import NIOCore
import Testing
import WidgetCore
import WidgetModel
import WidgetProto
import WidgetStorage

@testable import WidgetServer

/// Removals on a full disk: the calls of their turn that need room do not refuse them.
@Suite struct `On a full disk` {
  private static let catalog = "widgetd.v1.CatalogService"
  private static let full = StorageError.full(path: "/disk")
  private static let store = "widgetd.v1.Store"

  /// Fills the disk: only groups that `fits` accepts can be stored, and the one of the call that
  /// holds the event loop.
  private static func fill(
    _ server: TestServer, except fits: @escaping @Sendable (CommitGroup) -> Bool
  ) throws {
    let blocker = try WidgetID.make("blocker")
    server.log.refusal = { group in
      group.upserts.map(\.widget.id) == [blocker] || fits(group) ? nil : Self.full
    }
  }

  private static func createKind(_ client: RawClient) throws {
    _ = try client.call(
      "ApplyKinds",
      ApplyKindsRequest(kinds: [
        Kind(name: try .make("gauge"), data: [Field(name: "load", type: .double)])
      ]), as: ApplyKindsResponse.self, service: catalog)
    for id in ["g0", "g1"] { try client.create(id, kind: "gauge", data: ["load": .double(1)]) }
  }

  private static func deleteKind(_ client: RawClient) throws -> UInt32 {
    try client.start(
      "DeleteKind", DeleteKindRequest(name: .make("gauge"), requestID: "kind"), service: catalog)
  }

  @Test func `a widget is removed although another client changes one in the same turn`()
    async throws
  {
    try await withServer { server in
      let (writer, remover) = (try server.connect(), try server.connect())
      for id in ["a", "b", "c"] { try writer.create(id, data: ["n": .int(1)]) }
      #expect(try remover.health() == .serving)
      try Self.fill(server) { $0.onlyRemoves }
      var (update, ids): (UInt32, [UInt32]) = (0, [])
      let (a, b, c) = (try WidgetID.make("a"), try WidgetID.make("b"), try WidgetID.make("c"))
      try `A group of commits`.gather(server) {
        update = try writer.start(
          "UpdateWidget",
          UpdateWidgetRequest(id: a, patch: WidgetPatch(setData: ["n": .int(2)])))
        // The calls of one connection keep their order.
        ids = [
          try remover.start("GetWidget", GetWidgetRequest(id: b)),
          try remover.start("DeleteWidget", DeleteWidgetRequest(id: b, requestID: "once")),
          try remover.start("GetWidget", GetWidgetRequest(id: b)),
          try remover.start("DeleteWidget", DeleteWidgetRequest(id: c)),
          try remover.start("DeleteWidget", DeleteWidgetRequest(id: .make("nobody"))),
        ]
      }
      #expect(try writer.response(to: update).status?.reason == "STORAGE_FAILED")
      #expect(try remover.response(to: ids[0]).status == nil)
      #expect(try remover.response(to: ids[1]).status == nil)
      #expect(try remover.response(to: ids[2]).status?.code == .notFound)
      #expect(try remover.response(to: ids[3]).status == nil)
      #expect(try remover.response(to: ids[4]).status?.code == .notFound)
      let last = try #require(server.log.groups.last)
      #expect(last.onlyRemoves && Set(last.deletions) == [b, c] && last.upserts.isEmpty)
      #expect(last.requests.map(\.requestID) == ["once"])
      #expect(try remover.list().widgets.keys.map(\.rawValue).sorted() == ["a", "blocker"])
      #expect(try remover.get("a").data == ["n": .int(1)])
      // Changes were refused in the turn, so the store still counts as failing.
      #expect(try remover.health(Self.store) == .notServing)
      // No call was answered twice.
      #expect(!writer.hasInput && !remover.hasInput)
    }
  }

  @Test func `a kind is removed although the removal changes its widgets`() async throws {
    try await withServer { server in
      let client = try server.connect()
      try Self.createKind(client)
      try Self.fill(server) { $0.onlyRemoves }
      let id = try Self.deleteKind(client)
      #expect(try client.response(to: id).status == nil)
      let last = try #require(server.log.groups.last)
      #expect(last.kindDeletions.map(\.rawValue) == ["gauge"])
      #expect(last.upserts.map(\.widget.id.rawValue).sorted() == ["g0", "g1"])
      // Nobody's change was refused.
      #expect(try client.health(Self.store) == .serving)
      #expect(
        try client.refusal(
          "GetKind", GetKindRequest(name: .make("gauge")), service: Self.catalog
        ).code == .notFound)
    }
  }

  @Test func `a kind whose widgets do not fit does not refuse the removal of a widget`()
    async throws
  {
    try await withServer { server in
      let (first, second) = (try server.connect(), try server.connect())
      try Self.createKind(first)
      try second.create("a")
      try Self.fill(server) { $0.onlyRemoves && $0.kindDeletions.isEmpty }
      var (kind, widget): (UInt32, UInt32) = (0, 0)
      try `A group of commits`.gather(server) {
        kind = try Self.deleteKind(first)
        widget = try second.start("DeleteWidget", DeleteWidgetRequest(id: .make("a")))
      }
      #expect(try first.response(to: kind).status?.reason == "STORAGE_FAILED")
      #expect(try second.response(to: widget).status == nil)
      #expect(try second.list().widgets.keys.map(\.rawValue).sorted() == ["blocker", "g0", "g1"])
      // The failed answer was not kept.
      server.log.refusal = nil
      #expect(try first.response(to: Self.deleteKind(first)).status == nil)
    }
  }

  @Test func `removals that cannot be stored either are refused, and change nothing`()
    async throws
  {
    try await withServer { server in
      let client = try server.connect()
      try Self.createKind(client)
      let before = try client.list()
      try Self.fill(server) { _ in false }
      let kind = try Self.deleteKind(client)
      #expect(try client.response(to: kind).status?.reason == "STORAGE_FAILED")
      #expect(
        try client.refusal("DeleteWidget", DeleteWidgetRequest(id: .make("g0"))).reason
          == "STORAGE_FAILED")
      let after = try client.list()
      #expect(after.widgets == before.widgets && after.revision == before.revision)
    }
  }

  /// The calls of a turn.
  enum Calls: CaseIterable, Sendable {
    case widget, kind, widgetAndKind, widgetAndChange, all
  }

  @Test(arguments: zip(Calls.allCases, [1, 1, 2, 2, 3]))
  func `no attempt to store removals is made twice`(calls: Calls, attempts: Int) async throws {
    try await withServer { server in
      try server.onLoop { $0.storage.probePause = .hours(1) }
      let client = try server.connect()
      try Self.createKind(client)
      try client.create("a")
      let seen = Box(0)
      try Self.fill(server) { _ in
        seen.update { $0 += 1 }
        return false
      }
      var ids: [UInt32] = []
      try `A group of commits`.gather(server) {
        if calls != .kind {
          ids.append(try client.start("DeleteWidget", DeleteWidgetRequest(id: .make("a"))))
        }
        if [.kind, .widgetAndKind, .all].contains(calls) {
          ids.append(try Self.deleteKind(client))
        }
        if [.widgetAndChange, .all].contains(calls) {
          let patch = WidgetPatch(setLabels: ["room": "desk"])
          ids.append(
            try client.start("UpdateWidget", UpdateWidgetRequest(id: .make("g0"), patch: patch)))
        }
      }
      for id in ids {
        #expect(try client.response(to: id).status?.reason == "STORAGE_FAILED")
      }
      #expect(seen.get() == attempts)
    }
  }

  @Test func `another failure than a full disk ends the attempts to store removals`() async throws {
    try await withServer { server in
      let client = try server.connect()
      try Self.createKind(client)
      try client.create("a")
      try server.onLoop { $0.storage.probePause = .hours(1) }
      let seen = Box(0)
      let blocker = try WidgetID.make("blocker")
      server.log.refusal = { group in
        if group.upserts.map(\.widget.id) == [blocker] { return nil }
        seen.update { $0 += 1 }
        return group.onlyRemoves ? StorageError.readOnly(path: "/disk") : Self.full
      }
      var ids: [UInt32] = []
      try `A group of commits`.gather(server) {
        let patch = WidgetPatch(setLabels: ["room": "desk"])
        ids = [
          try client.start("UpdateWidget", UpdateWidgetRequest(id: .make("g0"), patch: patch)),
          try Self.deleteKind(client),
          try client.start("DeleteWidget", DeleteWidgetRequest(id: .make("a"))),
        ]
      }
      for id in ids {
        let status = try client.response(to: id).status
        #expect(
          status?.errorInfo?.metadata["cause"] == StorageError.readOnly(path: "/disk").reason)
      }
      #expect(seen.get() == 2)
      #expect(try client.stats().storeFailure?.message == "\(StorageError.readOnly(path: "/disk"))")
    }
  }

  @Test func `events are forgotten although another change of the turn has no room`() async throws {
    try await withServer { server in
      let provider = try RawProvider(server.connect())
      try provider.open(kinds: [
        Kind(name: try .make("gauge"), events: [EventType(name: "press")])
      ])
      let client = try server.connect()
      try client.create("g", kind: "gauge")
      _ = try provider.dataRequest()
      let sequence = try client.event("g", "press")
      #expect(try provider.event().sequence == sequence)
      try Self.fill(server) { $0.onlyRemoves }
      var update: UInt32 = 0
      try `A group of commits`.gather(server) {
        try provider.send(.acknowledge(ProvideAcknowledge(id: 5, sequence: sequence)))
        update = try client.start(
          "UpdateWidget",
          UpdateWidgetRequest(id: .make("g"), patch: WidgetPatch(setLabels: ["room": "desk"])))
      }
      #expect(try client.response(to: update).status?.reason == "STORAGE_FAILED")
      #expect(try provider.result().error == nil)
      let last = try #require(server.log.groups.last)
      #expect(last.onlyRemoves && last.eventTrims.map(\.kind.rawValue) == ["gauge"])
    }
  }

  /// A session of a provider that has got an event of the widget `g`.
  private static func provider(
    with client: RawClient, _ server: TestServer
  ) throws -> (RawProvider, sequence: UInt64) {
    let provider = try RawProvider(server.connect())
    try provider.open(kinds: [
      Kind(
        name: try .make("gauge"), data: [Field(name: "load", type: .double)],
        events: [EventType(name: "press")])
    ])
    try client.create("g", kind: "gauge", data: ["load": .double(0)])
    _ = try provider.dataRequest()
    let sequence = try client.event("g", "press")
    #expect(try provider.event().sequence == sequence)
    return (provider, sequence)
  }

  /// The first event of the provider's next session.
  private static func firstEventOfNextSession(_ server: TestServer) throws -> UInt64 {
    let provider = try RawProvider(server.connect())
    try provider.send(
      .open(ProvideOpen(provider: "desk", lease: RawProvider.leaseMax, takeOver: true)))
    guard case .opened(let opened) = try provider.next() else { throw TestFault("not opened") }
    return opened.firstSequence
  }

  @Test func `an event is not forgotten if its effect in the same turn has no room`() async throws {
    try await withServer { server in
      let client = try server.connect()
      let (provider, sequence) = try Self.provider(with: client, server)
      try Self.fill(server) { $0.onlyRemoves }
      try `A group of commits`.gather(server) {
        try provider.send(
          .update(
            ProvideUpdate(
              id: 5,
              updates: [ProvidedUpdate(.make("g"), WidgetPatch(setData: ["load": .double(1)]))])),
          .acknowledge(ProvideAcknowledge(id: 6, sequence: sequence)))
      }
      #expect(try provider.result().error?.reason == "STORAGE_FAILED")
      #expect(try provider.result().id == 6)
      #expect(server.log.groups.allSatisfy { $0.eventTrims.isEmpty })
      server.log.refusal = nil
      #expect(try Self.firstEventOfNextSession(server) == sequence)
    }
  }

  /// Over gRPC, each frame of a provider is in another turn.
  @Test func `an event is not forgotten if its effect in an earlier turn had no room`()
    async throws
  {
    try await withServer { server in
      let client = try server.connect()
      let (provider, sequence) = try Self.provider(with: client, server)
      try Self.fill(server) { $0.onlyRemoves }
      #expect(try provider.update("g", ["load": .double(1)]).error?.reason == "STORAGE_FAILED")
      // The daemon cannot know whether the provider has read the result.
      try provider.send(.acknowledge(ProvideAcknowledge(id: 6, sequence: sequence)))
      let result = try provider.result()
      #expect(result.id == 6 && result.error == nil)
      #expect(server.log.groups.allSatisfy { $0.eventTrims.isEmpty })
      server.log.refusal = nil
      #expect(try Self.firstEventOfNextSession(server) == sequence)
    }
  }

  @Test func `acknowledgements are stored after a further change, and of later events`()
    async throws
  {
    try await withServer { server in
      let client = try server.connect()
      let (provider, first) = try Self.provider(with: client, server)
      try server.onLoop { $0.storage.probePause = .hours(1) }
      func acknowledge(_ sequence: UInt64) throws -> [UInt64] {
        try provider.send(.acknowledge(ProvideAcknowledge(id: 6, sequence: sequence)))
        #expect(try provider.result().error == nil)
        return server.log.groups.last?.eventTrims.map(\.before) ?? []
      }
      try Self.fill(server) { _ in false }
      #expect(try provider.update("g", ["load": .double(1)]).error?.reason == "STORAGE_FAILED")
      server.log.refusal = nil
      #expect(try provider.update("g", ["load": .double(1)]).error == nil)
      #expect(try acknowledge(first) == [first + 1])

      try Self.fill(server) { _ in false }
      #expect(try provider.update("g", ["load": .double(2)]).error?.reason == "STORAGE_FAILED")
      server.log.refusal = nil
      let second = try client.event("g", "press")
      #expect(try provider.event().sequence == second)
      #expect(try acknowledge(second) == [second + 1])
    }
  }

  /// These frames may be on their way when the first result is sent.
  @Test func `an event is not forgotten if other changes follow its refused effect`() async throws {
    try await withServer { server in
      let client = try server.connect()
      let (provider, sequence) = try Self.provider(with: client, server)
      try client.create("h", kind: "gauge", data: ["load": .double(0)])
      _ = try provider.dataRequest()
      try server.onLoop { $0.storage.probePause = .hours(1) }
      func acknowledge() throws -> [UInt64] {
        try provider.send(.acknowledge(ProvideAcknowledge(id: 6, sequence: sequence)))
        #expect(try provider.result().error == nil)
        return server.log.groups.last?.eventTrims.map(\.before) ?? []
      }
      let widget = try WidgetID.make("g")
      server.log.refusal = { group in
        group.upserts.map(\.widget.id) == [widget] ? Self.full : nil
      }
      #expect(try provider.update("g", ["load": .double(1)]).error?.reason == "STORAGE_FAILED")
      #expect(try provider.update("h", ["load": .double(1)]).error == nil)
      #expect(try provider.update("nobody", ["load": .double(1)]).error != nil)
      #expect(try acknowledge() == [])
      // A change of the same field makes up for the refused one.
      server.log.refusal = nil
      #expect(try provider.update("g", ["load": .double(2)]).error == nil)
      #expect(try acknowledge() == [sequence + 1])
    }
  }

  @Test func `an event whose acknowledgement was not stored comes again`() async throws {
    try await withServer { server in
      let client = try server.connect()
      let (provider, sequence) = try Self.provider(with: client, server)
      server.log.failure = Self.full
      try provider.send(.acknowledge(ProvideAcknowledge(id: 5, sequence: sequence)))
      #expect(try provider.result().id == 5)
      server.log.failure = nil
      #expect(try Self.firstEventOfNextSession(server) == sequence)
    }
  }
}
