import Foundation
import Logging
import Synchronization
import Testing
import WidgetClient
import WidgetModel
import WidgetServer
import WidgetStorage

@testable import WidgetProvider

/// Tests of widgets written in Swift, against a daemon in the same process.
@Suite struct RunnerTests {
  private struct Full: Error, CustomStringConvertible {
    var description: String { "it is full" }
  }

  private struct Tally: ProvidedWidget {
    struct State: Fields {
      var count = 0
      var refreshes = 0
      static let fields: [FieldOf<State>] = [
        .init("count", \.count), .init("refreshes", \.refreshes),
      ]
    }
    struct Parameters: Fields {
      var step = 1
      static let fields: [FieldOf<Parameters>] = [.init("step", \.step)]
    }
    enum Event: Events {
      case press
      case overflow
      static let events: [EventOf<Event>] = [
        .init("press") { .press }, .init("overflow") { .overflow },
      ]
    }
    var schedule = Schedule.never

    func refresh(_ tally: inout Instance<Tally>) { tally.state.refreshes += 1 }
    func handle(_ event: Event, _ tally: inout Instance<Tally>) throws {
      guard case .press = event else { throw Full() }
      tally.state.count += tally.parameters.step
    }
  }

  private func runner(
    _ tally: Tally, _ client: WidgetClient, instances: [WidgetSpec] = []
  ) -> ProviderRunner {
    @WidgetsBuilder var widgets: Widgets { tally }
    return ProviderRunner(name: "desk", widgets: widgets, instances: instances, client: client)
  }

  @Test func `widgets are created, refreshed, pressed in order, and stale without their program`()
    async throws
  {
    try await withDaemon { client in
      let instances = [WidgetSpec("t", of: Tally.self) { $0.step = 2 }]
      let run = Task { try await runner(Tally(), client, instances: instances).run() }
      try await until("t", in: client) { $0.data["refreshes"] == .int(1) }
      let id = try #require(WidgetID("t"))
      for _ in 0..<50 {
        _ = try await client.sendEvent(SendEventRequest(widgetID: id, name: "press"))
      }
      try await until("t", in: client) { $0.data["count"] == .int(100) }
      // A later handler sees another client's change.
      _ = try await client.updateWidget(
        UpdateWidgetRequest(id: id, patch: WidgetPatch(setData: ["count": .int(1)])))
      _ = try await client.sendEvent(SendEventRequest(widgetID: id, name: "press"))
      try await until("t", in: client) { $0.data["count"] == .int(3) }
      // A widget that another client creates is updated too.
      _ = try await client.createWidget(
        CreateWidgetRequest(widget: WidgetSpec("other", of: Tally.self)))
      try await until("other", in: client) { $0.data["refreshes"] == .int(1) }
      run.cancel()
      try await run.value
      try await until("t", in: client) { $0.isStale }
      // An existing widget keeps its values when the program returns.
      let again = Task { try await runner(Tally(), client, instances: instances).run() }
      try await until("t", in: client) {
        !$0.isStale && $0.data["count"] == .int(3) && $0.data["refreshes"] == .int(2)
      }
      again.cancel()
      try await again.value
    }
  }

  @Test func `a failure is the widget's error until a call succeeds`() async throws {
    try await withDaemon { client in
      let run = Task {
        try await runner(Tally(), client, instances: [WidgetSpec("t", of: Tally.self)]).run()
      }
      try await until("t", in: client) { $0.data["refreshes"] == .int(1) }
      let id = try #require(WidgetID("t"))
      _ = try await client.sendEvent(SendEventRequest(widgetID: id, name: "overflow"))
      try await until("t", in: client) {
        $0.error?.reason == "PROVIDER_FAILED" && $0.error?.message == "it is full"
          && $0.error?.since != nil
      }
      _ = try await client.sendEvent(SendEventRequest(widgetID: id, name: "press"))
      try await until("t", in: client) { $0.error == nil && $0.data["count"] == .int(1) }
      run.cancel()
      try await run.value
    }
  }

  @Test func `a schedule refreshes all widgets of its kind`() async throws {
    try await withDaemon { client in
      let names = ["a", "b", "c"]
      let run = Task {
        try await runner(
          Tally(schedule: .every(.milliseconds(1), isAligned: false)), client,
          instances: names.map { WidgetSpec($0, of: Tally.self) }
        ).run()
      }
      for name in names {
        try await until(name, in: client) { widget in
          if case .int(let count)? = widget.data["refreshes"] { count >= 5 } else { false }
        }
      }
      run.cancel()
      try await run.value
    }
  }

  @Test(arguments: [72, -72])
  func `an aligned schedule refreshes at once if the clock is set to another day`(hours: Int)
    async throws
  {
    try await withDaemon { client in
      @WidgetsBuilder var widgets: Widgets { Tally(schedule: .every(.seconds(86_400))) }
      let clock = WallClock(Timestamp(nanosecondsSinceEpoch: 1_800_000_000_000_000_000))
      var runner = ProviderRunner(
        name: "desk", widgets: widgets, instances: [WidgetSpec("t", of: Tally.self)],
        client: client, now: { clock.now })
      runner.watchClock = { clock.watch($0) }
      let run = Task { [runner] in try await runner.run() }
      try await until("t", in: client) { $0.data["refreshes"] == .int(1) }
      for count in 2...4 {
        clock.step(by: .seconds(hours * 3_600))
        try await until("t", in: client) { $0.data["refreshes"] == .int(Int64(count)) }
      }
      run.cancel()
      try await run.value
    }
  }

  @Test func `once brings the widgets up to date, and leaves them fresh`() async throws {
    try await withDaemon { client in
      let id = try #require(WidgetID("t"))
      let instances = [WidgetSpec("t", of: Tally.self)]
      try await runner(Tally(), client, instances: instances).runOnce()
      let first = try await client.getWidget(GetWidgetRequest(id: id)).widget
      #expect(first.data == ["count": .int(0), "refreshes": .int(1)] && !first.isStale)
      // Widgets that a program left stale are fresh again.
      let run = Task { try await runner(Tally(), client, instances: instances).run() }
      try await until("t", in: client) { $0.data["refreshes"] == .int(2) }
      run.cancel()
      try await run.value
      try await until("t", in: client) { $0.isStale }
      try await runner(Tally(), client, instances: instances).runOnce()
      let last = try await client.getWidget(GetWidgetRequest(id: id)).widget
      #expect(last.data["refreshes"] == .int(3) && !last.isStale)
    }
  }

  @Test func `a single run without a daemon throws`() async throws {
    let client = WidgetClient(socketPath: "/nonexistent/widgetd.sock")
    await #expect(throws: ClientError.self) { try await runner(Tally(), client).runOnce() }
    await client.close()
  }

  @Test func `a kind of another provider ends the program with KIND_CLAIMED`() async throws {
    try await withDaemon { client in
      _ = try await client.applyKinds(
        ApplyKindsRequest(provider: "other", kinds: [AnyProvidedWidget(Tally()).kind]))
      await #expect { try await runner(Tally(), client).run() } throws: { error in
        (error as? ClientError)?.reason == "KIND_CLAIMED"
      }
    }
  }

  private struct Radio: ProvidedWidget {
    struct State: Fields {
      var refreshes = 0
      var visits = 0
      var farewells = 0
      static let fields: [FieldOf<State>] = [
        .init("refreshes", \.refreshes), .init("visits", \.visits),
        .init("farewells", \.farewells),
      ]
    }
    var followsAudience: Bool { true }
    var schedule: Schedule { .every(.milliseconds(20), isAligned: false) }

    func refresh(_ radio: inout Instance<Radio>) {
      guard radio.isAttached else { return }
      radio.state.refreshes += 1
    }
    func attached(_ radio: inout Instance<Radio>) { radio.state.visits += 1 }
    func detached(_ radio: inout Instance<Radio>) { radio.state.farewells += 1 }
  }

  @Test func `widgets are refreshed while they are watched, and notified of watchers`()
    async throws
  {
    var limits = ServerLimits()
    limits.audienceLingerMilliseconds = 50
    try await withDaemon(limits: limits) { client in
      @WidgetsBuilder var widgets: Widgets { Radio() }
      let runner = ProviderRunner(
        name: "desk", widgets: widgets, instances: [WidgetSpec("r", of: Radio.self)],
        client: client)
      let run = Task { try await runner.run() }
      // A passive watcher does not count.
      try await until("r", in: client, isPassive: true) { $0.data["visits"] == .int(0) }
      try await until("r", in: client) {
        $0.data["visits"] == .int(1) && ($0.data["refreshes"]?.integer ?? 0) >= 2
      }
      try await until("r", in: client, isPassive: true) { $0.data["farewells"] == .int(1) }
      try await until("r", in: client) { $0.data["visits"] == .int(2) }
      run.cancel()
      _ = await run.result
    }
  }
}

/// A wall clock that stands still, and that can be set.
private final class WallClock: Sendable {
  private struct State {
    var now: Timestamp
    var wasSet: (@Sendable () -> Void)?
  }

  private let state: Mutex<State>

  init(_ now: Timestamp) { state = Mutex(State(now: now)) }

  var now: Timestamp { state.withLock { $0.now } }

  func watch(_ wasSet: @escaping @Sendable () -> Void) -> WallClock {
    state.withLock { $0.wasSet = wasSet }
    return self
  }

  func step(by duration: Duration) {
    let wasSet = state.withLock { state in
      state.now = state.now.advanced(by: duration)
      return state.wasSet
    }
    wasSet?()
  }
}

extension Value {
  fileprivate var integer: Int64? { if case .int(let number) = self { number } else { nil } }
}
