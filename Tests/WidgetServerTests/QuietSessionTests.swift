import NIOCore
import Testing
import WidgetCore
import WidgetModel
import WidgetProto
import WidgetTransport

@testable import WidgetServer

/// Sessions of providers whose widgets do not change.
@Suite struct QuietSessions {
  private static let lamp = Kind(name: Providers.kind("lamp"))

  /// Two providers: `desk` of `gauge`, and `hall` of `lamp` with the widget `l`.
  private func provide(
    limits: ServerLimits,
    _ body: @escaping @Sendable (TestServer, RawClient, RawProvider, RawProvider) throws -> Void
  ) async throws {
    try await withServer(limits: limits) { server in
      let desk = try RawProvider(server.connect())
      try desk.open(kinds: [Providers.gauge])
      let hall = try RawProvider(server.connect())
      try hall.open("hall", kinds: [Self.lamp])
      let client = try server.connect()
      try client.create("l", kind: "lamp")
      _ = try hall.dataRequest()
      try body(server, client, desk, hall)
    }
  }

  /// Sends events of the lamp, one after another, and acknowledges each.
  private func flash(_ count: Int, _ client: RawClient, _ hall: RawProvider) throws {
    for _ in 0..<count {
      let sequence = try client.event("l")
      #expect(try hall.event().sequence == sequence)
      try hall.send(.acknowledge(ProvideAcknowledge(id: sequence, sequence: sequence)))
      #expect(try hall.result().error == nil)
    }
  }

  @Test func `the events of others cause no gap in a quiet session`() async throws {
    let limits = ServerLimits.with { $0.store.eventsKeptMax = 4 }
    try await provide(limits: limits) { server, client, desk, hall in
      try flash(20, client, hall)
      try client.create("g", kind: "gauge")
      #expect(try desk.dataRequest().widget.id == .make("g"))
      let sequence = try client.event("g")
      #expect(try desk.event().sequence == sequence)
      try desk.send(.acknowledge(ProvideAcknowledge(id: 1, sequence: sequence)))
      #expect(try desk.result().error == nil)
      try desk.settle()
    }
  }

  @Test func `a quiet session continues after the skipped events of others`() async throws {
    let limits = ServerLimits.with { $0.store.eventsKeptMax = 4 }
    try await provide(limits: limits) { server, client, desk, hall in
      try flash(20, client, hall)
      let last = try client.event("l")
      _ = try hall.event()
      // The session may acknowledge the events that it has skipped.
      try desk.send(.acknowledge(ProvideAcknowledge(id: 1, sequence: last)))
      #expect(try desk.result().error == nil)
      try desk.halfClose()
      #expect(try desk.stream.end() == nil)
      let again = try RawProvider(server.connect())
      try again.send(.open(ProvideOpen(provider: "desk", lease: RawProvider.leaseMax)))
      guard case .opened(let opened) = try again.next() else { throw TestFault("not opened") }
      #expect(opened.firstSequence == last + 1)
    }
  }

  @Test func `a quiet session goes on after dropped removals of others`() async throws {
    let limits = ServerLimits.with { $0.store.tombstonesMax = 4 }
    try await provide(limits: limits) { _, client, desk, _ in
      for round in 0..<20 {
        try client.create("free\(round)")
        _ = try client.delete("free\(round)")
      }
      try client.create("g", kind: "gauge")
      #expect(try desk.dataRequest().widget.id == .make("g"))
      _ = try client.delete("g")
      #expect(try desk.next() == .removed(ProvidedRemoval(widgetIDs: [.make("g")])))
    }
  }

  @Test func `a quiet session costs nothing when widgets of others change`() async throws {
    try await provide(limits: ServerLimits()) { server, client, desk, hall in
      try desk.settle()
      try server.eventually { $0.providers.table.all.allSatisfy(\.isQuiet) }
      let sequence = try client.event("l")
      #expect(try hall.event().sequence == sequence)
      let quiet = try server.server.onLoop { service in
        let sessions = service.providers.table.byName
        // Only now, a change concerns the provider `desk`.
        let before = sessions["desk"]?.isQuiet
        if let desk = sessions["desk"] { service.providers.delivery.attend(desk) }
        return (before, sessions["desk"]?.isQuiet)
      }.wait()
      #expect(quiet.0 == true)
      #expect(quiet.1 == false)
    }
  }

  @Test func `a quiet session does not outlive its provider`() async throws {
    let limits = ServerLimits.with { $0.providerEventsUnacknowledgedMax = 1 }
    try await withServer(limits: limits) { server in
      let client = try server.connect()
      for round in 0..<3 {
        // The first and the last frame are in one piece, so that both are read in one turn.
        let brief = try RawProvider(server.connect())
        try brief.client.send(
          brief.frame(.open(ProvideOpen(provider: "brief")), flags: .remoteClosed))
        guard case .opened = try brief.next() else { throw TestFault("not opened") }
        #expect(try brief.stream.end() == nil)

        let desk = try RawProvider(server.connect())
        try desk.open("desk\(round)", kinds: [Kind(name: Providers.kind("gauge\(round)"))])
        try client.create("g\(round)", kind: "gauge\(round)")
        _ = try desk.dataRequest()
        for _ in 0..<2 { try client.event("g\(round)") }
        _ = try desk.event()
        // An event waits for room, so the session is not quiet.
        #expect(try server.server.onLoop { $0.providers.attendedCount }.wait() == 1)
        desk.client.close()
        try server.eventually { $0.providers.table.isEmpty }
        #expect(try server.server.onLoop { $0.providers.attendedCount }.wait() == 0)
      }
    }
  }

  @Test func `a quiet session gets the events of a new kind`() async throws {
    try await provide(limits: ServerLimits()) { _, client, desk, hall in
      try desk.settle()
      try client.create("c", kind: "clock")
      try hall.settle()
      try desk.send(.kinds(ProvideKinds(id: 3, kinds: [Kind(name: Providers.kind("clock"))])))
      #expect(try desk.result().error == nil)
      #expect(try desk.dataRequest().widget.id == .make("c"))
      guard case .synced = try desk.next() else { throw TestFault("not synced") }
      let sequence = try client.event("c")
      #expect(try desk.event().sequence == sequence)
      try hall.settle()
    }
  }
}
