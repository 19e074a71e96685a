import NIOCore
import Testing
import WidgetCore
import WidgetModel
import WidgetProto
import WidgetStorage
import WidgetTransport

@testable import WidgetServer

/// Sessions of providers, over ttrpc.
@Suite struct Providers {
  static let gauge = Kind(
    name: kind("gauge"), parameters: [Field(name: "unit", type: .string)],
    data: [Field(name: "load", type: .double, defaultValue: .double(0))])

  static func kind(_ name: String) -> KindName {
    guard let kind = KindName(name) else { preconditionFailure("\(name) is not a kind") }
    return kind
  }

  static func update(_ id: UInt64, _ updates: [(String, ValueMap)]) throws -> ProvideRequest {
    .update(
      ProvideUpdate(
        id: id,
        updates: try updates.map { ProvidedUpdate(try .make($0), WidgetPatch(setData: $1)) }))
  }

  func provide(
    limits: ServerLimits = ServerLimits(), log: TestLog.State = TestLog.State(),
    _ body: @escaping @Sendable (TestServer, RawClient, RawProvider) throws -> Void
  ) async throws {
    try await withServer(limits: limits, log: log) { server in
      let provider = try RawProvider(server.connect())
      try provider.open(kinds: [Self.gauge])
      try body(server, try server.connect(), provider)
    }
  }

  /// Moves the clock of leases by this time.
  func pass(_ seconds: Int64, _ server: TestServer) throws {
    try server.server.onLoop { Self.look($0, after: seconds) }.wait()
  }

  /// Checks the leases twice.
  static func look(_ service: ServiceLoop, after seconds: Int64) {
    let instant = NIODeadline.now() + .seconds(seconds)
    service.providers.expire(at: instant)
    service.providers.expire(at: instant + LeaseWatch.secondLook)
  }

  // MARK: - Opening

  @Test func `providers name themselves, and get the position of the store`() async throws {
    try await withServer { server in
      let client = try server.connect()
      try client.create("a")
      let sequence = try client.event("a")
      let provider = try RawProvider(server.connect())
      let (opened, requests) = try provider.open(lease: .seconds(20))
      #expect(opened.epoch == 77)
      #expect(opened.revision == 1)
      #expect(opened.lease == .seconds(20))
      #expect(opened.firstSequence == sequence + 1)
      #expect(requests == [])
      #expect(try client.stats().providers == 1)
      #expect(try client.stats().usage["providers_per_uid_max"] == 1)
    }
  }

  @Test func `providers declare kinds, and get a result for each`() async throws {
    try await withServer { server in
      let client = try server.connect()
      // Widgets of the kind exist already, with and without the required parameters.
      try client.create("a", kind: "gauge", data: ["old": .int(1)])
      let lost = try #require(WidgetID("a"))
      let provider = try RawProvider(server.connect())
      try provider.open()
      try provider.send(.kinds(ProvideKinds(id: 7, kinds: [Self.gauge])))
      let result = try provider.result()
      #expect(result.id == 7)
      #expect(result.revision == 2)
      #expect(
        result.kinds == [
          KindResult(
            name: Self.gauge.name, action: .created, widgetsChanged: 1,
            lostFields: [LostField(widgetID: lost, path: "data.old", isSetAside: true)],
            lostFieldsCount: 1)
        ])
      let request = try provider.dataRequest()
      #expect(request.widget.id.rawValue == "a")
      #expect(request.reason == .providerReturned)
      #expect(request.widget.data == ["load": .double(0)])
      #expect(try provider.next() == .synced(ProvideSynced(revision: 2)))
      // The same declaration again changes nothing.
      try provider.send(.kinds(ProvideKinds(id: 8, kinds: [Self.gauge])))
      #expect(try provider.result().kinds.map(\.action) == [.unchanged])
      try provider.send(.kinds(ProvideKinds(kinds: [], prune: true)))
      try provider.send(.kinds(ProvideKinds(id: 9)))
      #expect(try provider.result().revision == 3)
    }
  }

  @Test func `a provider cannot declare another provider's kinds`() async throws {
    try await provide { server, _, _ in
      let other = try RawProvider(server.connect())
      try other.open("other")
      try other.send(.kinds(ProvideKinds(kinds: [Self.gauge])))
      let result = try other.result()
      #expect(result.error?.code == .alreadyExists)
      #expect(result.error?.reason == "KIND_CLAIMED")
      // The session goes on.
      try other.settle()
    }
  }

  @Test func `a provider has one session at a time`() async throws {
    try await provide { server, client, first in
      let second = try RawProvider(server.connect())
      try second.send(.open(ProvideOpen(provider: "desk")))
      let status = try #require(try second.stream.end())
      #expect(status.code == .alreadyExists)
      #expect(status.reason == "PROVIDER_ACTIVE")
      #expect(status.errorInfo?.metadata["provider"] == "desk")
      try first.settle()
      #expect(try client.stats().providers == 1)
    }
  }

  @Test func `a new session replaces an older one of the same user`() async throws {
    try await provide { server, client, first in
      try client.create("a", kind: "gauge")
      _ = try first.dataRequest()
      let second = try RawProvider(server.connect())
      let (_, requests) = try second.open(takeOver: true)
      #expect(requests.map(\.widget.id.rawValue) == ["a"])
      let status = try #require(try first.stream.end())
      #expect(status.code == .aborted)
      #expect(status.reason == "PROVIDER_REPLACED")
      // The provider was not away meanwhile.
      #expect(try client.get("a").isStale == false)
      #expect(try second.update("a", ["load": .double(1)]).error == nil)
    }
  }

  @Test func `a user cannot open more sessions than providers_per_uid_max`() async throws {
    try await provide(limits: .with { $0.providersPerUIDMax = 1 }) { server, _, first in
      let second = try RawProvider(server.connect())
      try second.send(.open(ProvideOpen(provider: "other")))
      #expect(try second.stream.end()?.errorInfo?.metadata["limit"] == "providers_per_uid_max")
      try first.halfClose()
      #expect(try first.stream.end() == nil)
      try RawProvider(server.connect()).open("other")
    }
  }

  @Test(arguments: [AccessPolicy.client, .nobody])
  func `a provider without the rights of an owner is refused`(policy: AccessPolicy) async throws {
    try await withServer(policy: policy) { server in
      let status = try RawProvider(server.connect()).stream.end()
      #expect(status?.reason == "PERMISSION_DENIED")
    }
  }

  @Test func `a provider can send all frames at once`() async throws {
    try await withServer { server in
      let client = try server.connect()
      try client.create("a", kind: "gauge")
      let provider = try RawProvider(server.connect())
      var bytes = try provider.frame(.open(ProvideOpen(provider: "desk")))
      bytes += try provider.frame(.kinds(ProvideKinds(id: 1, kinds: [Self.gauge])))
      bytes += try provider.frame(Self.update(2, [("a", ["load": .double(0.5)])]))
      bytes += try provider.frame(Self.update(3, [("b", [:])]), flags: .remoteClosed)
      try provider.client.send(bytes)
      guard case .opened = try provider.next() else { throw TestFault("not opened") }
      // If the server reads the frames in several turns, it asks about the widget in between.
      func result() throws -> ProvideResult {
        while true {
          switch try provider.next() {
          case .result(let result): return result
          case .dataRequest, .synced: continue
          case let other: throw TestFault("unexpected \(other)")
          }
        }
      }
      #expect(try result().kinds.count == 1)
      #expect(try result().revision == 3)
      #expect(try result().error?.reason == "WIDGET_NOT_FOUND")
      while let more = try provider.stream.next() {
        switch more {
        case .dataRequest, .synced: continue
        default: throw TestFault("unexpected \(more)")
        }
      }
      let widget = try client.get("a")
      #expect(widget.data == ["load": .double(0.5)])
      #expect(widget.isStale)
    }
  }

  @Test func `a provider may send its first frame with the request`() async throws {
    try await withServer { server in
      let client = try server.connect()
      let open = try client.codec.encode(ProvideRequest.open(ProvideOpen(provider: "desk")))
      let id = client.takeStreamID()
      try client.send(
        client.request(
          "Provide", payload: open, service: RawProvider.service, id: id, flags: .remoteOpen))
      let stream = RawStream<ProvideResponse>(client: client, id: id)
      guard case .opened? = try stream.next() else { throw TestFault("not opened") }
      #expect(try stream.next() == .synced(ProvideSynced(revision: 0)))
    }
  }

  // MARK: - Updates

  @Test func `an update of several widgets is one commit for watchers`() async throws {
    try await provide { server, client, provider in
      for id in ["a", "b"] {
        try client.create(id, kind: "gauge")
        _ = try provider.dataRequest()
      }
      let watcher = try Watcher(server.connect()).sync()
      try provider.send(
        Self.update(4, [("a", ["load": .double(1)]), ("b", ["load": .double(2)])]))
      let result = try provider.result()
      #expect(result.id == 4)
      #expect(result.error == nil)
      #expect(result.revision == 4)
      let changes = try watcher.nextChanges()
      #expect(changes.count == 2)
      #expect(try client.get("b").data == ["load": .double(2)])
      // A provider gets no request about its own update.
      try provider.settle()
    }
  }

  @Test func `one invalid update refuses all, and names its widget`() async throws {
    try await provide { server, client, provider in
      try client.create("a", kind: "gauge")
      try client.create("k")
      _ = try provider.dataRequest()
      let good = ("a", ["load": .double(1)] as ValueMap)
      func refusal(_ bad: (String, ValueMap)) throws -> RPCStatus? {
        try provider.send(Self.update(0, [good, bad]))
        let result = try provider.result()
        #expect(result.id == 0)
        #expect(result.revision == 3)
        #expect(result.error?.errorInfo?.metadata["widget_id"] == bad.0)
        return result.error
      }
      #expect(try refusal(("none", [:]))?.reason == "WIDGET_NOT_FOUND")
      #expect(try refusal(("k", [:]))?.reason == "NOT_PROVIDED")
      #expect(try refusal(("k", [:]))?.code == .failedPrecondition)
      #expect(try refusal(("a", [:]))?.reason == "INVALID_FIELD")
      try client.create("b", kind: "gauge")
      _ = try provider.dataRequest()
      try provider.send(Self.update(0, [good, ("b", ["load": .string("x")])]))
      let error = try #require(try provider.result().error)
      #expect(error.fieldViolations.map(\.field) == ["updates[1].patch.set_data[load]"])
      #expect(error.message.hasPrefix("updates[1].patch.set_data[load]: "))
      #expect(try client.get("a").data == ["load": .double(0)])
    }
  }

  @Test func `a provider can change a limited number of widgets at once`() async throws {
    try await provide(limits: .with { $0.providerUpdatesMax = 1 }) { server, client, provider in
      for id in ["a", "b"] {
        try client.create(id, kind: "gauge")
        _ = try provider.dataRequest()
      }
      #expect(try provider.update("a", ["load": .double(1)]).error == nil)
      try provider.send(Self.update(2, [("a", [:]), ("b", [:])]))
      #expect(
        try provider.result().error?.errorInfo?.metadata["limit"] == "provider_updates_max")
    }
  }

  @Test func `frames without an id get no results`() async throws {
    try await provide { _, client, provider in
      try client.create("a", kind: "gauge")
      _ = try provider.dataRequest()
      try provider.send(Self.update(0, [("a", ["load": .double(3)])]))
      try provider.settle()
      #expect(try client.get("a").data == ["load": .double(3)])
    }
  }

  // MARK: - What cannot be stored

  @Test func `an update that cannot be stored leaves no trace`() async throws {
    let failure = StorageError.closed(path: "test")
    try await provide { server, client, provider in
      try client.create("a", kind: "gauge")
      let request = try provider.dataRequest()
      let sequence = try client.event("a")
      _ = try provider.event()
      server.log.failure = failure
      let error = WidgetError(reason: "X", message: "")
      try provider.send(
        Self.update(1, [("a", ["load": .double(1)])]),
        .acknowledge(ProvideAcknowledge(id: 2, sequence: sequence, error: error)),
        .answer(
          ProvideAnswer(id: 3, dataRequestID: request.id, outcome: .error(error))),
        .kinds(ProvideKinds(id: 4, kinds: [], prune: true)))
      for id in 1...4 {
        let result = try provider.result()
        #expect(result.id == UInt64(id))
        #expect(result.error?.reason == "STORAGE_FAILED")
        #expect(result.error?.retryDelay == .seconds(1))
      }
      server.log.failure = nil
      #expect(try client.get("a").data == ["load": .double(0)])
      // The event and the data request still wait.
      try provider.send(
        .acknowledge(ProvideAcknowledge(id: 5, sequence: sequence, error: error)),
        .answer(
          ProvideAnswer(id: 6, dataRequestID: request.id, outcome: .patch(WidgetPatch()))))
      #expect(try provider.result().error == nil)
      #expect(try provider.result().error == nil)
    }
  }

  @Test func `a result comes when its effect is durable`() async throws {
    try await provide { server, client, provider in
      try client.create("a", kind: "gauge")
      _ = try provider.dataRequest()
      server.log.closeGate()
      try provider.send(Self.update(1, [("a", ["load": .double(1)])]))
      try server.log.waitForAppend()
      #expect(!provider.client.hasInput)
      server.log.openGate()
      #expect(try provider.result().revision == 3)
    }
  }

  // MARK: - Bad peers

  @Test func `a message that is not a frame ends the session and nothing else`() async throws {
    try await provide { server, client, first in
      func status(_ bytes: [UInt8]) throws -> RPCStatus? {
        let provider = try RawProvider(first.client)
        try provider.client.send(RawClient.frame(.data, provider.stream.id, bytes))
        return try provider.stream.end()
      }
      #expect(try status([])?.reason == "INVALID_REQUEST")
      #expect(try status([0xff])?.reason == "INVALID_REQUEST")
      #expect(try status([0x32, 0x00])?.reason == "INVALID_FIELD")  // keep_alive comes first.
      let second = try RawProvider(first.client)
      try second.open("other")
      try second.send(.open(ProvideOpen(provider: "other")))
      #expect(try second.stream.end()?.reason == "INVALID_FIELD")
      try first.settle()
      try server.eventually { $0.providers.table.all.count == 1 }
    }
  }

  @Test func `a session with the flags of another call is refused`() async throws {
    try await withServer { server in
      let client = try server.connect()
      for flags: FrameFlags in [[], .remoteClosed] {
        let status = try client.refusal(
          "Provide", payload: [], service: RawProvider.service, flags: flags)
        #expect(status.reason == "WRONG_CALL_TYPE")
      }
      for method in ["GetWidget", "WatchWidgets"] {
        #expect(
          try client.refusal(method, payload: [], flags: .remoteOpen).reason == "WRONG_CALL_TYPE")
      }
      // Data in a frame with the no-data flag, and data after the last message.
      var provider = try RawProvider(client)
      try client.send(RawClient.frame(.data, provider.stream.id, flags: .noData, [1]))
      #expect(try provider.stream.end()?.reason == "PROTOCOL_ERROR")
      provider = try RawProvider(client)
      let bytes = RawClient.frame(.data, provider.stream.id, flags: [.remoteClosed, .noData])
      try client.send(bytes + bytes)
      #expect(try provider.stream.end()?.reason == "PROTOCOL_ERROR")
      #expect(try client.health() == .serving)
    }
  }

  @Test func `a deadline ends the session`() async throws {
    try await withServer { server in
      let provider = try RawProvider(server.connect(), timeout: 1_000_000)
      #expect(try provider.stream.end()?.reason == "DEADLINE_EXCEEDED")
      #expect(
        try RawProvider(server.connect(), timeout: -1).stream.end()?.reason
          == "DEADLINE_EXCEEDED")
    }
  }

  @Test func `a provider that does not read delays nobody and has no queue`() async throws {
    try await provide { server, client, provider in
      try client.create("a", kind: "gauge", data: [:])
      _ = try provider.dataRequest()
      let text = String(repeating: "x", count: 100_000)
      // Far more bytes than sockets hold, all about one widget.
      for round in 0..<40 {
        try client.patch(
          "a", WidgetPatch(setParameters: ["unit": .string("\(round)" + text)]))
      }
      let waiting = try server.server.onLoop { $0.providers.table.byName["desk"]?.waitingCount }
        .wait()
      #expect(try #require(waiting) <= 1)
      // The provider gets the last state in the end.
      var last: DataRequest?
      while last?.widget.parameters["unit"] != .string("39" + text) {
        last = try provider.dataRequest()
      }
      try provider.settle()
    }
  }
}

/// A sink that takes all frames.
final class DeafSink: StreamSink {
  var isWritable: Bool { true }
  func send(_ message: EncodedMessage) {}
  func finish(_ status: RPCStatus?) {}
}
