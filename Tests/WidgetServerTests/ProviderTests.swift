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

  /// Lets so much time pass, as far as leases go.
  func pass(_ seconds: Int64, _ server: TestServer) throws {
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
            lostFields: [LostField(widgetID: lost, path: "data.old", isSetAside: true)],
            lostFieldsCount: 1)
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
      #expect(refreshed.askedCount == 1)
      #expect(refreshed.budgets.map(\.remaining) == [599])
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
      let all = try refresh(.all)
      #expect((all.askedCount, all.unprovidedCount, all.limitedCount) == (1, 1, 0))
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
final class DeafSink: StreamSink {
  var isWritable: Bool { true }
  func send(_ message: EncodedMessage) {}
  func finish(_ status: RPCStatus?) {}
}
