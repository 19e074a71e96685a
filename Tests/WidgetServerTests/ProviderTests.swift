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
  private static let gauge = Kind(
    name: kind("gauge"), parameters: [Field(name: "unit", type: .string)],
    data: [Field(name: "load", type: .double, defaultValue: .double(0))])

  private static func kind(_ name: String) -> KindName {
    guard let kind = KindName(name) else { preconditionFailure("\(name) is not a kind") }
    return kind
  }

  private static func update(_ id: UInt64, _ updates: [(String, ValueMap)]) throws -> ProvideRequest
  {
    .update(
      ProvideUpdate(
        id: id,
        updates: try updates.map { ProvidedUpdate(try .make($0), WidgetPatch(setData: $1)) }))
  }

  private func provide(
    limits: ServerLimits = ServerLimits(), log: TestLog.State = TestLog.State(),
    _ body: @escaping @Sendable (TestServer, RawClient, RawProvider) throws -> Void
  ) async throws {
    try await withServer(limits: limits, log: log) { server in
      let provider = try RawProvider(server.connect())
      try provider.open(kinds: [Self.gauge])
      try body(server, try server.connect(), provider)
    }
  }

  /// Lets so much time pass, as far as leases go.
  private func pass(_ seconds: Int64, _ server: TestServer) throws {
    try server.server.onLoop { Self.look($0, after: seconds) }.wait()
  }

  /// Looks whose time is over, and once more.
  private static func look(_ service: ServiceLoop, after seconds: Int64) {
    let instant = NIODeadline.now() + .seconds(seconds)
    service.providers.expire(at: instant)
    service.providers.expire(at: instant + LeaseWatch.secondLook)
  }

  // MARK: - Opening

  @Test func `say who they are and learn where the store is`() async throws {
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

  @Test func `declare kinds, and are told what became of them`() async throws {
    try await withServer { server in
      let client = try server.connect()
      // Widgets of the kind are there already, with and without what it takes.
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
            lostFields: [LostField(widgetID: lost, path: "data.old")], lostFieldsCount: 1)
        ])
      let request = try provider.dataRequest()
      #expect(request.widget.id.rawValue == "a")
      #expect(request.reason == .providerReturned)
      #expect(request.widget.data == ["load": .double(0)])
      #expect(try provider.next() == .synced(ProvideSynced(revision: 2)))
      // The same again is nothing new.
      try provider.send(.kinds(ProvideKinds(id: 8, kinds: [Self.gauge])))
      #expect(try provider.result().kinds.map(\.action) == [.unchanged])
      try provider.send(.kinds(ProvideKinds(kinds: [], prune: true)))
      try provider.send(.kinds(ProvideKinds(id: 9)))
      #expect(try provider.result().revision == 3)
    }
  }

  @Test func `cannot have another's kinds`() async throws {
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

  @Test func `have one session at a time`() async throws {
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

  @Test func `take over from an older session of the same user`() async throws {
    try await provide { server, client, first in
      try client.create("a", kind: "gauge")
      _ = try first.dataRequest()
      let second = try RawProvider(server.connect())
      let (_, requests) = try second.open(takeOver: true)
      #expect(requests.map(\.widget.id.rawValue) == ["a"])
      let status = try #require(try first.stream.end())
      #expect(status.code == .aborted)
      #expect(status.reason == "PROVIDER_REPLACED")
      // Nobody was gone meanwhile.
      #expect(try client.get("a").isStale == false)
      #expect(try second.update("a", ["load": .double(1)]).error == nil)
    }
  }

  @Test func `have a quota`() async throws {
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
  func `must be owners`(policy: AccessPolicy) async throws {
    try await withServer(policy: policy) { server in
      let status = try RawProvider(server.connect()).stream.end()
      #expect(status?.reason == "PERMISSION_DENIED")
    }
  }

  @Test func `can say everything at once`() async throws {
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
      #expect(try provider.result().kinds.count == 1)
      #expect(try provider.result().revision == 3)
      #expect(try provider.result().error?.reason == "WIDGET_NOT_FOUND")
      #expect(try provider.stream.end() == nil)
      let widget = try client.get("a")
      #expect(widget.data == ["load": .double(0.5)])
      #expect(widget.isStale)
    }
  }

  @Test func `may send their first frame with the request`() async throws {
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

  @Test func `change several widgets in one commit that a watcher sees as one`() async throws {
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
      // Nobody is asked about what it says itself.
      try provider.settle()
    }
  }

  @Test func `change nothing if one update is bad, and learn which`() async throws {
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

  @Test func `change only so many widgets at once`() async throws {
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

  @Test func `get no result they did not ask for`() async throws {
    try await provide { _, client, provider in
      try client.create("a", kind: "gauge")
      _ = try provider.dataRequest()
      try provider.send(Self.update(0, [("a", ["load": .double(3)])]))
      try provider.settle()
      #expect(try client.get("a").data == ["load": .double(3)])
    }
  }

  // MARK: - Events

  @Test func `get the events of their widgets in order, and no others`() async throws {
    try await provide { _, client, provider in
      try client.create("a", kind: "gauge")
      _ = try provider.dataRequest()
      try client.create("k")
      let first = try client.event("a", "click")
      try client.event("k", "click")
      let second = try client.event("a", "hold")
      #expect(try provider.event().sequence == first)
      let event = try provider.event()
      #expect(event.sequence == second)
      #expect(event.name == "hold")
      #expect(event.widgetID.rawValue == "a")
      try provider.send(.acknowledge(ProvideAcknowledge(id: 3, sequence: second)))
      #expect(try provider.result().error == nil)
      try provider.settle()
    }
  }

  @Test func `are sent so many events at a time`() async throws {
    let limits = ServerLimits.with { $0.providerEventsUnacknowledgedMax = 2 }
    try await provide(limits: limits) { _, client, provider in
      try client.create("a", kind: "gauge")
      _ = try provider.dataRequest()
      let sequences = try (0..<5).map { _ in try client.event("a") }
      #expect(try provider.event().sequence == sequences[0])
      #expect(try provider.event().sequence == sequences[1])
      try provider.settle()
      try provider.send(.acknowledge(ProvideAcknowledge(sequence: sequences[0])))
      #expect(try provider.event().sequence == sequences[2])
      try provider.settle()
      try provider.send(.acknowledge(ProvideAcknowledge(sequence: sequences[2])))
      #expect(try provider.event().sequence == sequences[3])
      #expect(try provider.event().sequence == sequences[4])
    }
  }

  @Test func `are sent again what they did not acknowledge`() async throws {
    try await provide { server, client, provider in
      try client.create("a", kind: "gauge")
      _ = try provider.dataRequest()
      let sequences = try (0..<3).map { _ in try client.event("a") }
      for sequence in sequences { #expect(try provider.event().sequence == sequence) }
      try provider.send(.acknowledge(ProvideAcknowledge(id: 1, sequence: sequences[0])))
      _ = try provider.result()
      provider.client.close()
      try server.eventually { $0.providers.table.byName.isEmpty }
      let missed = try client.event("a")
      let again = try RawProvider(server.connect())
      try again.send(.open(ProvideOpen(provider: "desk")))
      guard case .opened(let opened) = try again.next() else { throw TestFault("not opened") }
      #expect(opened.firstSequence == sequences[0] + 1)
      for sequence in sequences[1...] + [missed] {
        #expect(try again.event().sequence == sequence)
      }
    }
  }

  @Test(arguments: [(77, 1), (78, 3)] as [(UInt64, Int)])
  func `say themselves what they acknowledged, if it is of this epoch`(
    epoch: UInt64, skipped: Int
  ) async throws {
    try await withServer { server in
      let client = try server.connect()
      try client.create("a", kind: "gauge")
      let sequences = try (0..<3).map { _ in try client.event("a") }
      let provider = try RawProvider(server.connect())
      try provider.send(
        .open(
          ProvideOpen(provider: "desk", acknowledgedSequence: sequences[0], epoch: epoch)))
      guard case .opened(let opened) = try provider.next() else { throw TestFault("not opened") }
      #expect(opened.firstSequence == sequences[0] + UInt64(skipped))
    }
  }

  @Test(arguments: [false, true])
  func `have acknowledged what they say with their last word`(hangsUp: Bool) async throws {
    try await provide { server, client, first in
      try client.create("a", kind: "gauge")
      _ = try first.dataRequest()
      let sequences = try (0..<3).map { _ in try client.event("a") }
      for _ in sequences { _ = try first.event() }
      // In one piece, so that both are read in one turn.
      try first.client.send(
        first.frame(
          .acknowledge(ProvideAcknowledge(sequence: sequences[1])), flags: .remoteClosed))
      if hangsUp { first.client.close() } else { #expect(try first.stream.end() == nil) }
      try server.eventually { $0.providers.table.isEmpty }
      let again = try RawProvider(server.connect())
      try again.send(.open(ProvideOpen(provider: "desk")))
      guard case .opened(let opened) = try again.next() else { throw TestFault("not opened") }
      #expect(opened.firstSequence == sequences[2])
    }
  }

  @Test func `learn of events that are lost`() async throws {
    let limits = ServerLimits.with {
      $0.store.eventsKeptMax = 2
      $0.providerEventsUnacknowledgedMax = 1
    }
    try await provide(limits: limits) { _, client, provider in
      try client.create("a", kind: "gauge")
      _ = try provider.dataRequest()
      let sequences = try (0..<5).map { _ in try client.event("a") }
      #expect(try provider.event().sequence == sequences[0])
      try provider.send(.acknowledge(ProvideAcknowledge(sequence: sequences[0])))
      #expect(
        try provider.next()
          == .gap(EventGap(firstSequence: sequences[1], lastSequence: sequences[2])))
      // It counts as one that is not acknowledged.
      try provider.settle()
      for sequence in sequences[2...] {
        try provider.send(.acknowledge(ProvideAcknowledge(sequence: sequence)))
        guard sequence < sequences[4] else { break }
        #expect(try provider.event().sequence == sequence + 1)
      }
      try provider.settle()
    }
  }

  @Test func `tell a widget's users what went wrong with an event`() async throws {
    try await provide { _, client, provider in
      try client.create("a", kind: "gauge")
      _ = try provider.dataRequest()
      let sequence = try client.event("a")
      _ = try provider.event()
      let error = WidgetError(reason: "NO_SUCH_SENSOR", message: "Plug it in.")
      let frame = ProvideRequest.acknowledge(
        ProvideAcknowledge(id: 1, sequence: sequence, error: error))
      try provider.send(frame)
      #expect(try provider.result().error == nil)
      #expect(try client.get("a").error == error)
      // It is dealt with.
      try provider.send(frame)
      #expect(try provider.result().error?.reason == "INVALID_FIELD")
      // What was never sent cannot be dealt with.
      try provider.send(.acknowledge(ProvideAcknowledge(sequence: sequence + 1)))
      #expect(try provider.result().error?.fieldViolations.map(\.field) == ["acknowledge.sequence"])
    }
  }

  // MARK: - Data requests

  @Test func `are asked about widgets that are new or have other parameters`() async throws {
    try await provide { _, client, provider in
      try client.create("a", kind: "gauge")
      let created = try provider.dataRequest()
      #expect(created.reason == .created)
      #expect(created.widget.id.rawValue == "a")
      #expect(created.widget.data == ["load": .double(0)])
      try client.patch("a", WidgetPatch(setParameters: ["unit": .string("C")]))
      let changed = try provider.dataRequest()
      #expect(changed.reason == .parametersChanged)
      #expect(changed.widget.parameters == ["unit": .string("C")])
      #expect(changed.id > created.id)
      // The first was replaced.
      try provider.send(
        .answer(
          ProvideAnswer(id: 1, dataRequestID: created.id, outcome: .patch(WidgetPatch()))))
      #expect(try provider.result().error?.reason == "DATA_REQUEST_NOT_FOUND")
      let answer = ProvideRequest.answer(
        ProvideAnswer(
          id: 2, dataRequestID: changed.id,
          outcome: .patch(WidgetPatch(setData: ["load": .double(7)]))))
      try provider.send(answer, answer)
      #expect(try provider.result().error == nil)
      #expect(try provider.result().error?.code == .notFound)
      #expect(try client.get("a").data == ["load": .double(7)])
      // Others' changes of data are no business of the provider.
      try client.set("a", ["load": .double(8)])
      try provider.settle()
    }
  }

  @Test func `answer that there is no data, and later that there is`() async throws {
    try await provide { server, client, provider in
      try client.create("a", kind: "gauge")
      let error = WidgetError(reason: "NO_SIGNAL", message: "")
      try provider.send(
        .answer(
          ProvideAnswer(
            id: 1, dataRequestID: provider.dataRequest().id, outcome: .error(error))))
      #expect(try provider.result().error == nil)
      #expect(try client.get("a").error == error)
      let refreshed = try client.call(
        "RefreshWidgets", RefreshWidgetsRequest(.all), as: RefreshWidgetsResponse.self)
      #expect(refreshed == RefreshWidgetsResponse(askedCount: 1))
      let request = try provider.dataRequest()
      #expect(request.reason == .refresh)
      #expect(request.widget.error == error)
      try provider.send(
        .answer(
          ProvideAnswer(
            id: 2, dataRequestID: request.id,
            outcome: .patch(WidgetPatch(setData: ["load": .double(2)])))))
      #expect(try provider.result().error == nil)
      #expect(try client.get("a").error == nil)
    }
  }

  /// Wants fresh data of all widgets, so much later as far as leases go.
  private func refresh(_ server: TestServer, after seconds: Int64 = 0) throws {
    let asked = try server.server.onLoop { service in
      let response = try service.providers.refresh(
        RefreshWidgetsRequest(.all), at: .now() + .seconds(seconds))
      service.turn.open()
      return response.askedCount
    }.wait()
    #expect(asked == 1)
  }

  @Test func `answer what they were asked, however often it is asked meanwhile`() async throws {
    try await provide { server, client, provider in
      try client.create("a", kind: "gauge")
      let request = try provider.dataRequest()
      for value in 1...3 {
        for _ in 0..<3 { try self.refresh(server) }
        // Nothing is asked twice.
        try provider.settle()
        let answer = ProvideAnswer(
          id: 1, dataRequestID: value == 1 ? request.id : request.id + UInt64(value - 1),
          outcome: .patch(WidgetPatch(setData: ["load": .double(Double(value))])))
        try provider.send(.answer(answer))
        #expect(try provider.result().error == nil)
        #expect(try client.get("a").data == ["load": .double(Double(value))])
        // But it is once more, when it is answered.
        let again = try provider.dataRequest()
        #expect(again.reason == .refresh)
        #expect(again.id == request.id + UInt64(value))
        #expect(again.widget.data == ["load": .double(Double(value))])
      }
      try provider.settle()
      // What was to be asked again goes with the widget, and an update answers it as well.
      try self.refresh(server)
      #expect(try provider.update("a", ["load": .double(9)]).error == nil)
      _ = try provider.dataRequest()
      try self.refresh(server)
      try client.delete("a")
      #expect(try provider.next() == .removed(ProvidedRemoval(widgetIDs: [.make("a")])))
      try provider.settle()
    }
  }

  @Test func `are asked again what they have not answered for long, and may answer it late`()
    async throws
  {
    try await provide { server, client, provider in
      try client.create("a", kind: "gauge")
      let request = try provider.dataRequest()
      for _ in 0..<3 {
        try self.refresh(server, after: 16)
        let again = try provider.dataRequest()
        #expect(again.id == request.id)
        #expect(again.reason == .refresh)
      }
      let answer = ProvideRequest.answer(
        ProvideAnswer(
          id: 1, dataRequestID: request.id,
          outcome: .patch(WidgetPatch(setData: ["load": .double(4)]))))
      try provider.send(answer)
      #expect(try provider.result().error == nil)
      #expect(try client.get("a").data == ["load": .double(4)])
      try provider.send(answer)
      #expect(try provider.result().error?.reason == "DATA_REQUEST_NOT_FOUND")
      // Other parameters are another question.
      try self.refresh(server)
      let fresh = try provider.dataRequest()
      try self.refresh(server)
      try client.patch("a", WidgetPatch(setParameters: ["unit": .string("C")]))
      let other = try provider.dataRequest()
      #expect(other.id > fresh.id)
      #expect(other.reason == .parametersChanged)
      try provider.settle()
    }
  }

  @Test func `learn which widgets are gone`() async throws {
    try await provide { _, client, provider in
      try client.create("a", kind: "gauge")
      let request = try provider.dataRequest()
      try client.delete("a")
      #expect(try provider.next() == .removed(ProvidedRemoval(widgetIDs: [request.widget.id])))
      try provider.send(
        .answer(
          ProvideAnswer(id: 2, dataRequestID: request.id, outcome: .patch(WidgetPatch()))))
      #expect(try provider.result().error?.reason == "DATA_REQUEST_NOT_FOUND")
    }
  }

  @Test func `learn which of their kinds are gone, and get events again once they are back`()
    async throws
  {
    try await provide { _, client, provider in
      try client.create("a", kind: "gauge")
      _ = try provider.dataRequest()
      _ = try client.call(
        "DeleteKind", DeleteKindRequest(name: Self.kind("gauge")),
        as: DeleteKindResponse.self, service: "widgetd.v1.CatalogService")
      #expect(
        try provider.next()
          == .kindsRemoved(ProvidedKindRemoval(kinds: [Self.kind("gauge")])))
      // No provider gets events that are sent meanwhile.
      _ = try client.event("a")
      try provider.settle()
      try provider.send(.kinds(ProvideKinds(id: 9, kinds: [Self.gauge])))
      #expect(try provider.result().error == nil)
      #expect(try provider.dataRequest().reason == .providerReturned)
      guard case .synced = try provider.next() else { throw TestFault("not synced") }
      let sequence = try client.event("a")
      guard case .event(let event) = try provider.next() else { throw TestFault("no event") }
      #expect(event.sequence == sequence)
    }
  }

  // MARK: - Bundles

  private static let catalog = "widgetd.v1.CatalogService"

  /// Opens a session that manages bundles.
  private func manager(_ server: TestServer, _ name: String = "host") throws -> RawProvider {
    let provider = try RawProvider(server.connect())
    try provider.send(.open(ProvideOpen(provider: name, managesBundles: true)))
    guard case .opened = try provider.next() else { throw TestFault("not opened") }
    guard case .synced = try provider.next() else { throw TestFault("not synced") }
    return provider
  }

  private func failure(_ client: RawClient, _ call: UInt32) throws -> RPCStatus {
    try #require(client.response(to: call).status)
  }

  @Test func `the provider that manages bundles answers the calls about them`() async throws {
    try await withServer { server in
      let provider = try self.manager(server)
      let client = try server.connect()
      let install = InstallBundleRequest(content: [1, 2, 0], fileName: "a.zip", sha256: "00")
      let call = try client.start("InstallBundle", install, service: Self.catalog)
      guard case .bundleRequest(let request) = try provider.next() else {
        throw TestFault("no request")
      }
      #expect(request.request == .install(install))
      let response = InstallBundleResponse(
        bundle: InstalledBundle(id: "a", version: "1.0.0"), formerVersion: "0.9.0", warnings: ["w"])
      // The response to another request is refused, and the call still waits.
      try provider.send(
        .bundleAnswer(
          ProvideBundleAnswer(
            id: 1, bundleRequestID: request.id, outcome: .list(ListBundlesResponse()))))
      #expect(try provider.result().error?.reason == "INVALID_FIELD")
      try provider.send(
        .bundleAnswer(
          ProvideBundleAnswer(id: 2, bundleRequestID: request.id, outcome: .install(response))))
      #expect(try client.answer(to: call, as: InstallBundleResponse.self) == response)
      #expect(try provider.result().error == nil)
      // A second answer is ignored, because nobody waits for it.
      try provider.send(
        .bundleAnswer(
          ProvideBundleAnswer(id: 3, bundleRequestID: request.id, outcome: .install(response))))
      #expect(try provider.result().error == nil)
    }
  }

  @Test func `a refusal of the host is the status of the call`() async throws {
    try await withServer { server in
      let provider = try self.manager(server)
      let client = try server.connect()
      let call = try client.start(
        "DeleteBundle", DeleteBundleRequest(id: "x"), service: Self.catalog)
      guard case .bundleRequest(let request) = try provider.next() else {
        throw TestFault("no request")
      }
      let status = RPCStatus(
        code: .notFound, message: "there is no bundle \"x\"",
        errorInfo: ErrorInfo(reason: "BUNDLE_NOT_FOUND"))
      try provider.send(
        .bundleAnswer(ProvideBundleAnswer(bundleRequestID: request.id, outcome: .error(status))))
      let failure = try failure(client, call)
      #expect(failure.code == .notFound && failure.message == status.message)
      #expect(failure.errorInfo?.reason == "BUNDLE_NOT_FOUND")
    }
  }

  @Test func `calls about bundles end when no host can answer`() async throws {
    try await withServer { server in
      let client = try server.connect()
      func list() throws -> UInt32 {
        try client.start("ListBundles", ListBundlesRequest(), service: Self.catalog)
      }
      #expect(try failure(client, list()).errorInfo?.reason == "BUNDLE_HOST_MISSING")
      // A provider that does not manage bundles gets no calls.
      let other = try RawProvider(server.connect())
      try other.open(kinds: [Self.gauge])
      #expect(try failure(client, list()).errorInfo?.reason == "BUNDLE_HOST_MISSING")
      let provider = try self.manager(server)
      let call = try list()
      guard case .bundleRequest = try provider.next() else { throw TestFault("no request") }
      try provider.halfClose()
      let failure = try failure(client, call)
      #expect(failure.code == .unavailable && failure.errorInfo?.reason == "BUNDLE_HOST_GONE")
      try other.settle()
    }
  }

  @Test func `calls about bundles have quotas`() async throws {
    var limits = ServerLimits()
    (limits.bundleArchiveBytesMax, limits.bundleCallsMax) = (3, 1)
    try await withServer(limits: limits) { server in
      let provider = try self.manager(server)
      let client = try server.connect()
      func install(_ count: Int) throws -> UInt32 {
        try client.start(
          "InstallBundle", InstallBundleRequest(content: [UInt8](repeating: 1, count: count)),
          service: Self.catalog)
      }
      let large = try failure(client, install(4))
      #expect(large.errorInfo?.metadata["limit"] == "bundle_archive_bytes_max")
      _ = try install(3)
      guard case .bundleRequest = try provider.next() else { throw TestFault("no request") }
      let second = try failure(client, install(3))
      #expect(second.errorInfo?.metadata["limit"] == "bundle_calls_max")
    }
  }

  @Test func `a call about bundles that the host does not answer ends, and makes room`()
    async throws
  {
    var limits = ServerLimits()
    (limits.bundleCallsMax, limits.bundleCallSeconds) = (1, 0)
    try await withServer(limits: limits) { server in
      let provider = try self.manager(server)
      let client = try server.connect()
      for _ in 0..<2 {
        let call = try client.start("ListBundles", ListBundlesRequest(), service: Self.catalog)
        guard case .bundleRequest(let request) = try provider.next() else {
          throw TestFault("no request")
        }
        let status = try failure(client, call)
        #expect(status.code == .deadlineExceeded)
        #expect(status.message.contains("bundle_call_seconds"))
        // A late answer is not a mistake of the host.
        try provider.send(
          .bundleAnswer(
            ProvideBundleAnswer(
              id: 1, bundleRequestID: request.id, outcome: .list(ListBundlesResponse()))))
        #expect(try provider.result().error == nil)
      }
    }
  }

  @Test func `callers who are not owners cannot use up the calls of owners`() {
    var limits = ServerLimits()
    (limits.bundleCallsMax, limits.bundleCallsOfClientsMax) = (3, 1)
    func limit(_ level: AccessPolicy.Level, _ waiting: [AccessPolicy.Level]) -> String? {
      limits.reachedByBundleCall(of: level, waiting: waiting)?.limit
    }
    #expect(limit(.client, [.owner]) == nil)
    #expect(limit(.client, [.client]) == "bundle_calls_of_clients_max")
    #expect(limit(.owner, [.client, .owner]) == nil)
    for level in [AccessPolicy.Level.client, .owner] {
      #expect(limit(level, [.client, .owner, .owner]) == "bundle_calls_max")
    }
    #expect(ServerLimits().bundleCallsOfClientsMax * 4 <= ServerLimits().bundleCallsMax)
  }

  @Test(arguments: [
    ("InstallBundle", false), ("DeleteBundle", false), ("RollbackBundle", false),
    ("SetBundleDefaults", false), ("DiffBundle", false), ("ListBundles", true),
  ])
  func `those who may only read can only list bundles`(method: String, isAllowed: Bool)
    async throws
  {
    try await withServer(policy: .client) { server in
      let client = try server.connect()
      let call = try client.start(method, ListBundlesRequest(), service: Self.catalog)
      #expect(
        try failure(client, call).errorInfo?.reason
          == (isAllowed ? "BUNDLE_HOST_MISSING" : "PERMISSION_DENIED"))
    }
  }

  @Test func `an update answers what was asked about its widget`() async throws {
    try await provide { _, client, provider in
      try client.create("a", kind: "gauge")
      let request = try provider.dataRequest()
      #expect(try provider.update("a", ["load": .double(1)]).error == nil)
      try provider.send(
        .answer(ProvideAnswer(dataRequestID: request.id, outcome: .patch(WidgetPatch()))))
      #expect(try provider.result().error?.reason == "DATA_REQUEST_NOT_FOUND")
    }
  }

  @Test func `of widgets to refresh, those that nobody provides are counted`() async throws {
    try await provide { server, client, provider in
      try client.create("a", kind: "gauge")
      _ = try provider.dataRequest()
      #expect(try provider.update("a", [:]).error == nil)
      try client.create("k")
      func refresh(_ target: PresenceTarget) throws -> RefreshWidgetsResponse {
        try client.call(
          "RefreshWidgets", RefreshWidgetsRequest(target), as: RefreshWidgetsResponse.self)
      }
      #expect(
        try refresh(.all) == RefreshWidgetsResponse(askedCount: 1, unprovidedCount: 1))
      #expect(
        try refresh(.ids([.make("k"), .make("k")]))
          == RefreshWidgetsResponse(askedCount: 0, unprovidedCount: 1))
      #expect(
        try refresh(.selector(Selector(kinds: [Self.gauge.name]))).askedCount == 1)
      #expect(
        try client.refusal("RefreshWidgets", RefreshWidgetsRequest(.ids([.make("x")]))).reason
          == "WIDGET_NOT_FOUND")
      // Asked twice, told at least once; each time about a widget that is there.
      #expect(try provider.dataRequest().reason == .refresh)
      try provider.halfClose()
      try server.eventually { $0.providers.table.byName.isEmpty }
      #expect(
        try refresh(.all) == RefreshWidgetsResponse(askedCount: 0, unprovidedCount: 2))
    }
  }

  // MARK: - Leases and staleness

  @Test func `their kinds tell whether they are connected`() async throws {
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
      let others = ["plain": [false, false], "help": [false, false]]
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

  enum Departure: CaseIterable { case halfClose, hangUp, silence, unsubscribe, garbage }

  @Test(arguments: Departure.allCases)
  func `their widgets are stale once they are gone, which a watcher sees`(
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
      case .silence: try self.pass(16, server)
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
      // They come back, and are asked for everything; what they say makes fresh.
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

  @Test func `are there as long as they say anything`() async throws {
    try await provide { server, client, provider in
      try self.pass(14, server)
      try provider.settle()
      #expect(try client.stats().providers == 1)
    }
  }

  @Test func `are not given up for what was not read while the daemon was busy`() async throws {
    try await provide { server, client, provider in
      try client.create("a", kind: "gauge")
      _ = try provider.dataRequest()
      let late = NIODeadline.now() + .seconds(16)
      try server.server.onLoop { $0.providers.expire(at: late) }.wait()
      // It comes too late to be seen at first, but was sent.
      try provider.send(.keepAlive)
      #expect(try provider.next() == .keepAlive)
      try server.server.onLoop { service in
        for session in service.providers.table.all { session.lastHeardAt = late }
        service.providers.expire(at: late + LeaseWatch.secondLook)
      }.wait()
      #expect(try client.stats().providers == 1)
      #expect(try client.get("a").isStale == false)
      try self.pass(40, server)
      #expect(try provider.stream.end()?.reason == "LEASE_EXPIRED")
    }
  }

  /// Lets the end of a provider's session, and all that the next one says, be read in one turn.
  private func comeBack(
    _ server: TestServer, _ peer: Peer, saying frames: [ProvideRequest]
  ) throws {
    try server.server.onLoop { service in
      for session in service.providers.table.all { session.halfClosed() }
      let stream = try service.providers.converse(
        .provide, sink: DeafSink(), peer: peer, level: .owner)
      for frame in frames {
        stream.receive(ByteBuffer(bytes: try service.context.codec.encode(frame)))
      }
    }.wait()
  }

  @Test(arguments: [true, false])
  func `who comes back at once has fresh what it says at once`(isDurable: Bool) async throws {
    try await provide { server, client, provider in
      for id in ["a", "b"] {
        try client.create(id, kind: "gauge")
        _ = try provider.dataRequest()
      }
      let peers = try server.server.onLoop { $0.providers.table.all.map(\.peer) }.wait()
      let peer = try #require(peers.first)
      if !isDurable {
        // That it is gone cannot be stored at first, and is tried again after a second.
        server.log.failure = .closed(path: "test")
        try provider.halfClose()
        try server.eventually { $0.providers.waitsForRetry }
        server.log.failure = nil
      }
      try self.comeBack(
        server, peer,
        saying: [
          .open(ProvideOpen(provider: "desk", epoch: 77)),
          try Self.update(1, [("a", ["load": .double(1)])]),
        ])
      #expect(try client.get("a").isStale == false)
      #expect(try client.get("b").isStale)
      let left = try server.server.onLoop { service in
        service.providers.retryNow()
        service.turn.finish()
        return service.providers.lostProviders
      }.wait()
      #expect(left == [])
      #expect(try client.get("a").isStale == false)
    }
  }

  @Test func `who begins and does not say who it is, is given up`() async throws {
    try await withServer { server in
      let provider = try RawProvider(server.connect())
      try server.eventually { !$0.providers.table.isEmpty }
      try self.pass(16, server)
      #expect(try provider.stream.end()?.reason == "LEASE_EXPIRED")
      try server.eventually { $0.providers.table.isEmpty && $0.context.streamAccounts.count == 0 }
    }
  }

  @Test(arguments: [0, 301, -1])
  func `cannot have any lease`(seconds: Int) async throws {
    try await withServer { server in
      let provider = try RawProvider(server.connect())
      try provider.send(.open(ProvideOpen(provider: "desk", lease: .seconds(seconds))))
      #expect(try provider.stream.end()?.fieldViolations.map(\.field) == ["open.lease"])
    }
  }

  @Test func `who does not come back after a restart of the daemon is given up`() async throws {
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
      // Somebody who declares kinds and has no session.
      _ = try client.call(
        "ApplyKinds", ApplyKindsRequest(provider: "file", kinds: [Kind(name: .make("plain"))]),
        as: ApplyKindsResponse.self, service: "widgetd.v1.CatalogService")
      try client.create("plain", kind: "plain")
    }
    try await withServer(log: log, folder: folder) { server in
      // Its start is put off, so that the time that the test itself takes does not count.
      let pause: Int64 = 3_600
      try server.server.onLoop { $0.context.startedAt = $0.context.startedAt + .seconds(pause) }
        .wait()
      let client = try server.connect()
      // As if the daemon had been killed before the providers were gone.
      for id in ["desk", "other"] { try client.patch(id, WidgetPatch(isStale: false)) }
      let provider = try RawProvider(server.connect())
      try provider.open("other")
      let start = try server.server.onLoop { $0.context.startedAt }.wait()
      try server.server.onLoop { $0.providers.lookAtAbsent(at: start + .seconds(14)) }.wait()
      #expect(try client.get("desk").isStale == false)
      try provider.settle()
      // Time passes for the provider as well; it is there, so it speaks.
      try server.server.onLoop { service in
        for session in service.providers.table.all {
          session.lastHeardAt = start + .seconds(60)
        }
        service.providers.expire(at: start + .seconds(16))
        service.providers.expire(at: start + .seconds(16) + LeaseWatch.secondLook)
      }.wait()
      #expect(try client.get("desk").isStale)
      #expect(try client.get("other").isStale == false)
      #expect(try client.get("plain").isStale == false)
    }
  }

  @Test func `who had all events misses none after a restart in order`() async throws {
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

  @Test func `get what was sent while they were away and the daemon was restarted`() async throws {
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
        // It has forgotten how far it was; the daemon has not.
        let provider = try RawProvider(server.connect())
        try provider.send(.open(ProvideOpen(provider: "desk")))
        guard case .opened(let opened) = try provider.next() else { throw TestFault("not opened") }
        #expect(opened.firstSequence == 2)
        // No gap: event 3 was nobody's.
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
      // What it says it has done last counts for nothing: the daemon knows better.
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

  // MARK: - What cannot be stored

  @Test func `an update that cannot be stored was never made`() async throws {
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

  @Test func `a result comes when what it tells of is durable`() async throws {
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

  @Test func `flags must fit`() async throws {
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
      // Data with the mark of none, and data after the last.
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

  @Test func `who does not read holds up nobody and costs no queue`() async throws {
    try await provide { server, client, provider in
      try client.create("a", kind: "gauge", data: [:])
      _ = try provider.dataRequest()
      let text = String(repeating: "x", count: 100_000)
      // Far more than sockets hold, all of it about one widget.
      for round in 0..<40 {
        try client.patch(
          "a", WidgetPatch(setParameters: ["unit": .string("\(round)" + text)]))
      }
      let waiting = try server.server.onLoop { $0.providers.table.byName["desk"]?.queue.count }
        .wait()
      #expect(try #require(waiting) <= 1)
      // The last state comes in the end.
      var last: DataRequest?
      while last?.widget.parameters["unit"] != .string("39" + text) {
        last = try provider.dataRequest()
      }
      try provider.settle()
    }
  }
}

/// Takes everything, and nobody reads it.
private final class DeafSink: StreamSink {
  var isWritable: Bool { true }
  func send(_ message: EncodedMessage) {}
  func finish(_ status: RPCStatus?) {}
}
