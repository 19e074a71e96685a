import Foundation
import Testing
import WidgetCore
import WidgetModel
import WidgetProto

@testable import WidgetServer

/// Events: in order, at most once, before their consequences, and with reported losses.
@Suite struct `Events` {
  @Test func `events come before their effects, in the same order for all readers`() async throws {
    try await withServer(limits: .with { $0.frameIntervalMicroseconds = 0 }) { server in
      let client = try server.connect()
      try client.create("a")
      try client.create("b")
      let watchers = try (0..<2).map { _ in
        try Watcher(server.connect(), WatchWidgetsRequest(includeEvents: true)).sync()
      }
      let work = Worker {
        let client = try server.connect()
        for n in 0..<150 {
          // Both are in one write, so that one round of frames has both.
          let (event, update) = (client.takeStreamID(), client.takeStreamID())
          let sent = SendEventRequest(widgetID: try .make(n % 3 == 0 ? "b" : "a"), name: "e\(n)")
          let changed = UpdateWidgetRequest(
            id: try .make("a"), patch: WidgetPatch(setData: ["n": .int(Int64(n))]))
          try client.send(
            client.request("SendEvent", sent, id: event)
              + client.request("UpdateWidget", changed, id: update))
          _ = try client.answer(to: event, as: SendEventResponse.self)
          _ = try client.answer(to: update, as: UpdateWidgetResponse.self)
        }
      }
      for watcher in watchers {
        while watcher.mirror.events.count < 150 || watcher.mirror.revision < 152 {
          let before = watcher.mirror.revision
          if case .events(let batch) = try watcher.step() {
            for event in batch.events {
              #expect(before <= event.revision, "event \(event.sequence) came after its effect")
            }
          }
        }
        #expect(watcher.mirror.gaps.isEmpty)
        #expect(watcher.mirror.events.map(\.name) == (0..<150).map { "e\($0)" })
      }
      #expect(watchers[0].mirror.events == watchers[1].mirror.events)
      try work.join()
    }
  }

  @Test func `events have their sender, its process, and their time`() async throws {
    try await withServer { server in
      let client = try server.connect()
      let revision = try client.create("a").revision
      let watcher = try Watcher(server.connect(), WatchWidgetsRequest(includeEvents: true)).sync()
      let sent = try client.call(
        "SendEvent",
        SendEventRequest(
          widgetID: .make("a"), nodeID: "ok", name: "click", payload: ["x": .int(3)],
          client: "bar"), as: SendEventResponse.self)
      #expect(sent.revision == revision)
      let event = try #require(try watcher.events(1).first)
      #expect(event.sequence == sent.sequence)
      #expect(event.widgetID.rawValue == "a")
      #expect(event.nodeID == "ok")
      #expect(event.payload == ["x": .int(3)])
      #expect(event.origin == EventOrigin(uid: geteuid(), pid: UInt32(getpid()), client: "bar"))
      #expect(event.revision == revision)
      #expect(!event.isForced)
      #expect(event.time > .epoch)
    }
  }

  @Test func `events of other widgets or with other names are not sent`() async throws {
    try await withServer { server in
      let client = try server.connect()
      try client.create("a", kind: "button")
      try client.create("b", kind: "clock")
      let watcher = try Watcher(
        server.connect(),
        WatchWidgetsRequest(
          selector: Selector(kinds: [.make("button")]), includeEvents: true)
      ).sync()
      let named = try server.connect().watchEvents(WatchEventsRequest(names: ["hold", "drop"]))
      guard case .opened(let opened)? = try named.next() else { throw TestFault("not opened") }
      #expect(opened.afterSequence == 0)
      for name in ["click", "hold", "drop"] {
        try client.event("b", name)
        try client.event("a", name)
      }
      #expect(try watcher.events(3).map(\.sequence) == [2, 4, 6])
      #expect(try events(4, of: named).map(\.sequence) == [3, 4, 5, 6])
    }
  }

  @Test func `events are not sent to a watch that did not ask for them`() async throws {
    try await withServer { server in
      let client = try server.connect()
      try client.create("a")
      let watcher = try Watcher(server.connect()).sync()
      try client.event("a")
      try client.set("a", ["n": .int(1)])
      try watcher.catchUp(to: 2)
      #expect(watcher.mirror.events.isEmpty)
    }
  }

  @Test func `a watch repeats the events after a sequence number`() async throws {
    try await withServer { server in
      let client = try server.connect()
      try client.create("a")
      for n in 1...5 { try client.event("a", "e\(n)") }
      let watcher = try Watcher(
        server.connect(), WatchWidgetsRequest(includeEvents: true, afterSequence: 2))
      #expect(try watcher.events(3).map(\.name) == ["e3", "e4", "e5"])
      let stream = try server.connect().watchEvents(WatchEventsRequest(afterSequence: 3))
      guard case .opened(let opened)? = try stream.next() else { throw TestFault("not opened") }
      #expect(opened.afterSequence == 3)
      #expect(try events(2, of: stream).map(\.name) == ["e4", "e5"])
      try client.event("a", "e6")
      #expect(try events(1, of: stream).map(\.name) == ["e6"])
      try watcher.sync()
      #expect(try watcher.events(4).last?.name == "e6")
      #expect(watcher.mirror.gaps.isEmpty)
    }
  }

  @Test func `events that are no longer kept are reported as a gap`() async throws {
    try await withServer(limits: .with { $0.store.eventsKeptMax = 4 }) { server in
      let client = try server.connect()
      try client.create("a")
      for n in 1...10 { try client.event("a", "e\(n)") }
      let watcher = try Watcher(
        server.connect(), WatchWidgetsRequest(includeEvents: true, afterSequence: 1))
      #expect(try watcher.events(4).map(\.name) == ["e7", "e8", "e9", "e10"])
      #expect(watcher.mirror.gaps == [2...6])
      let stream = try server.connect().watchEvents(WatchEventsRequest(afterSequence: 5))
      guard case .opened? = try stream.next(), case .gap(let gap)? = try stream.next() else {
        throw TestFault("no gap")
      }
      #expect(gap == EventGap(firstSequence: 6, lastSequence: 6))
      #expect(try events(4, of: stream).map(\.sequence) == [7, 8, 9, 10])
    }
  }

  /// A reader stalls, the ring overflows, and the reader continues.
  @Test func `only the events that a slow reader lost are reported as a gap`()
    async throws
  {
    let limits = ServerLimits.with {
      $0.store.eventsKeptMax = 16
      $0.frameIntervalMicroseconds = 0
    }
    try await withServer(limits: limits) { server in
      let client = try server.connect()
      try client.create("a")
      let watcher = try Watcher(server.connect(), WatchWidgetsRequest(includeEvents: true)).sync()
      try server.stall(watcher, widget: "a")
      for _ in 0..<400 { try client.event("a") }
      var seen: Set<UInt64> = []
      while seen.count < 400 {
        try watcher.step()
        seen = Set(watcher.mirror.events.map(\.sequence)).union(watcher.mirror.gaps.joined())
      }
      #expect(seen == Set(1...400))
      #expect(!watcher.mirror.gaps.isEmpty)
      #expect(watcher.mirror.events.last?.sequence == 400)
    }
  }

  @Test(arguments: [
    (PresenceAction.hide, "WIDGET_HIDDEN"), (PresenceAction.disable, "WIDGET_DISABLED"),
  ])
  func `an event of a disabled widget is refused unless it is forced`(
    action: PresenceAction, reason: String
  ) async throws {
    try await withServer { server in
      let client = try server.connect()
      try client.create("a")
      try client.presence(action)
      let status = try client.refusal(
        "SendEvent", SendEventRequest(widgetID: .make("a"), name: "click"))
      #expect(status.code == .failedPrecondition)
      #expect(status.reason == reason)
      #expect(status.errorInfo?.metadata["widget_id"] == "a")
      let watcher = try Watcher(server.connect(), WatchWidgetsRequest(includeEvents: true)).sync()
      // The refused event took no number.
      #expect(try client.event("a", force: true) == 1)
      #expect(try watcher.events(1).first?.isForced == true)
    }
  }

  private func events(
    _ count: Int, of stream: RawStream<WatchEventsResponse>
  ) throws -> [Event] {
    var events: [Event] = []
    while events.count < count {
      guard case .events(let batch)? = try stream.next() else { throw TestFault("no events") }
      events += batch.events
    }
    return events
  }
}

extension TestServer {
  /// Makes changes until a watcher that does not read is behind: its socket is full.
  func stall(_ watcher: Watcher, widget: String) throws {
    let client = try connect()
    let before = try client.stats().counters["readers_behind"] ?? 0
    var n = 0
    while try client.stats().counters["readers_behind"] ?? 0 == before {
      n += 1
      try client.set(widget, ["pad": .string("\(n)" + String(repeating: "x", count: 32 << 10))])
      guard n < 1_000 else { throw TestFault("the reader never stalls") }
    }
  }
}
