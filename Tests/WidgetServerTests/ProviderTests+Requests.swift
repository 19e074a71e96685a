import NIOCore
import Testing
import WidgetCore
import WidgetModel
import WidgetProto
import WidgetStorage
import WidgetTransport

@testable import WidgetServer

/// The frames to providers: events, and requests for data.
extension Providers {
  // MARK: - Events

  @Test func `providers get the events of their widgets in order, and no others`() async throws {
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

  @Test func `a provider gets a limited number of events at a time`() async throws {
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

  @Test func `a provider gets unacknowledged events again`() async throws {
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
      try again.send(.open(ProvideOpen(provider: "desk", lease: RawProvider.leaseMax)))
      guard case .opened(let opened) = try again.next() else { throw TestFault("not opened") }
      #expect(opened.firstSequence == sequences[0] + 1)
      for sequence in sequences[1...] + [missed] {
        #expect(try again.event().sequence == sequence)
      }
    }
  }

  @Test(arguments: [(77, 1), (78, 3)] as [(UInt64, Int)])
  func `a provider can name its last acknowledged event of this epoch`(
    epoch: UInt64, skipped: Int
  ) async throws {
    try await withServer { server in
      let client = try server.connect()
      try client.create("a", kind: "gauge")
      let sequences = try (0..<3).map { _ in try client.event("a") }
      let provider = try RawProvider(server.connect())
      try provider.send(
        .open(
          ProvideOpen(
            provider: "desk", lease: RawProvider.leaseMax, acknowledgedSequence: sequences[0],
            epoch: epoch)))
      guard case .opened(let opened) = try provider.next() else { throw TestFault("not opened") }
      #expect(opened.firstSequence == sequences[0] + UInt64(skipped))
    }
  }

  @Test(arguments: [false, true])
  func `a provider can acknowledge in its last frame`(hangsUp: Bool) async throws {
    try await provide { server, client, first in
      try client.create("a", kind: "gauge")
      _ = try first.dataRequest()
      let sequences = try (0..<3).map { _ in try client.event("a") }
      for _ in sequences { _ = try first.event() }
      // Both are in one piece, so that they are read in one turn.
      try first.client.send(
        first.frame(
          .acknowledge(ProvideAcknowledge(sequence: sequences[1])), flags: .remoteClosed))
      if hangsUp { first.client.close() } else { #expect(try first.stream.end() == nil) }
      try server.eventually { $0.providers.table.isEmpty }
      let again = try RawProvider(server.connect())
      try again.send(.open(ProvideOpen(provider: "desk", lease: RawProvider.leaseMax)))
      guard case .opened(let opened) = try again.next() else { throw TestFault("not opened") }
      #expect(opened.firstSequence == sequences[2])
    }
  }

  @Test func `a provider is told of lost events`() async throws {
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
      // The event counts as one that is not acknowledged.
      try provider.settle()
      for sequence in sequences[2...] {
        try provider.send(.acknowledge(ProvideAcknowledge(sequence: sequence)))
        guard sequence < sequences[4] else { break }
        #expect(try provider.event().sequence == sequence + 1)
      }
      try provider.settle()
    }
  }

  @Test func `a provider can report the failure of an event to the widget's users`() async throws {
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
      // The daemon adds the time, so that every reader can tell the error's age.
      let marked = try #require(try client.get("a").error)
      #expect(marked.isSame(as: error) && marked.since != nil)
      // The event is acknowledged.
      try provider.send(frame)
      #expect(try provider.result().error?.reason == "INVALID_FIELD")
      // An event that was not sent cannot be acknowledged.
      try provider.send(.acknowledge(ProvideAcknowledge(sequence: sequence + 1)))
      #expect(try provider.result().error?.fieldViolations.map(\.field) == ["acknowledge.sequence"])
    }
  }

  // MARK: - Data requests

  @Test func `a provider is asked about new widgets and changed parameters`() async throws {
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
      // The first request was replaced.
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
      // Changes of data by others do not concern the provider.
      try client.set("a", ["load": .double(8)])
      try provider.settle()
    }
  }

  @Test func `a provider can answer without data, and send data later`() async throws {
    try await provide { server, client, provider in
      try client.create("a", kind: "gauge")
      let error = WidgetError(reason: "NO_SIGNAL", message: "")
      try provider.send(
        .answer(
          ProvideAnswer(
            id: 1, dataRequestID: provider.dataRequest().id, outcome: .error(error))))
      #expect(try provider.result().error == nil)
      // The daemon adds the time, so that every reader can tell the error's age.
      let marked = try #require(try client.get("a").error)
      #expect(marked.isSame(as: error) && marked.since != nil)
      let refreshed = try client.call(
        "RefreshWidgets", RefreshWidgetsRequest(.all), as: RefreshWidgetsResponse.self)
      #expect(refreshed.askedCount == 1)
      #expect(refreshed.budgets.map(\.remaining) == [599])
      let request = try provider.dataRequest()
      #expect(request.reason == .refresh)
      #expect(request.widget.error == marked)
      try provider.send(
        .answer(
          ProvideAnswer(
            id: 2, dataRequestID: request.id,
            outcome: .patch(WidgetPatch(setData: ["load": .double(2)])))))
      #expect(try provider.result().error == nil)
      #expect(try client.get("a").error == nil)
    }
  }

  /// Requests fresh data of all widgets, after this time on the clock of leases.
  private func refresh(_ server: TestServer, after seconds: Int64 = 0) throws {
    let asked = try server.server.onLoop { service in
      let response = try service.providers.refresh(
        RefreshWidgetsRequest(.all), at: .now() + .seconds(seconds))
      service.turn.open()
      return response.askedCount
    }.wait()
    #expect(asked == 1)
  }

  @Test func `a provider can answer a request after it got further requests`() async throws {
    try await provide { server, client, provider in
      try client.create("a", kind: "gauge")
      let request = try provider.dataRequest()
      for value in 1...3 {
        for _ in 0..<3 { try self.refresh(server) }
        // The daemon sends no second request.
        try provider.settle()
        let answer = ProvideAnswer(
          id: 1, dataRequestID: value == 1 ? request.id : request.id + UInt64(value - 1),
          outcome: .patch(WidgetPatch(setData: ["load": .double(Double(value))])))
        try provider.send(.answer(answer))
        #expect(try provider.result().error == nil)
        #expect(try client.get("a").data == ["load": .double(Double(value))])
        // The daemon sends one more request after the answer.
        let again = try provider.dataRequest()
        #expect(again.reason == .refresh)
        #expect(again.id == request.id + UInt64(value))
        #expect(again.widget.data == ["load": .double(Double(value))])
      }
      try provider.settle()
      // The second request ends with the widget, and an update answers it as well.
      try self.refresh(server)
      #expect(try provider.update("a", ["load": .double(9)]).error == nil)
      _ = try provider.dataRequest()
      try self.refresh(server)
      try client.delete("a")
      #expect(try provider.next() == .removed(ProvidedRemoval(widgetIDs: [.make("a")])))
      try provider.settle()
    }
  }

  @Test func `an unanswered request comes again, and a late answer counts`()
    async throws
  {
    try await provide { server, client, provider in
      try client.create("a", kind: "gauge")
      let request = try provider.dataRequest()
      for _ in 0..<3 {
        try self.refresh(server, after: 301)
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
      // Other parameters make another request.
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

  @Test func `a provider is told of removed widgets`() async throws {
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

  @Test func `a provider is told of its removed kinds, and declares them again`()
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

  @Test func `a provider is told which of its kinds others have declared`() async throws {
    try await provide { _, client, provider in
      var other = Self.gauge
      other.summary = "Another one."
      for kind in [other, Self.gauge] {
        _ = try client.call(
          "ApplyKinds", ApplyKindsRequest(provider: "desk", kinds: [kind]),
          as: ApplyKindsResponse.self, service: "widgetd.v1.CatalogService")
        #expect(
          try provider.next()
            == .kindsRemoved(ProvidedKindRemoval(kinds: [Self.kind("gauge")])))
        try provider.send(.kinds(ProvideKinds(id: 9, kinds: [Self.gauge])))
        #expect(try provider.result().error == nil)
      }
      try provider.settle()
      let kind = try client.call(
        "GetKind", GetKindRequest(name: Self.kind("gauge")), as: GetKindResponse.self,
        service: "widgetd.v1.CatalogService")
      #expect(kind.kind.kind == Self.gauge)
    }
  }

  @Test func `an update answers the request about its widget`() async throws {
    try await provide { _, client, provider in
      try client.create("a", kind: "gauge")
      let request = try provider.dataRequest()
      #expect(try provider.update("a", ["load": .double(1)]).error == nil)
      try provider.send(
        .answer(ProvideAnswer(dataRequestID: request.id, outcome: .patch(WidgetPatch()))))
      #expect(try provider.result().error?.reason == "DATA_REQUEST_NOT_FOUND")
    }
  }

  @Test func `widgets to refresh without a provider are counted`() async throws {
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
      // Two requests for fresh data give at least one data request, always about an existing
      // widget.
      #expect(try provider.dataRequest().reason == .refresh)
      try provider.halfClose()
      try server.eventually { $0.providers.table.byName.isEmpty }
      #expect(
        try refresh(.all) == RefreshWidgetsResponse(askedCount: 0, unprovidedCount: 2))
    }
  }
}
