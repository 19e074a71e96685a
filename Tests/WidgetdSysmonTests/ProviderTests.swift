import Foundation
import Logging
import Synchronization
import Testing
import WidgetClient
import WidgetModel
import WidgetProvider
import WidgetServer
import WidgetStorage

@testable import widgetd_sysmon

/// The program's kinds against a daemon in the same process, with a simulated machine and clock.
struct ProviderTests {
  private func runner(
    _ machine: SampleMachine, _ client: WidgetClient, clock: TickClock = TickClock(),
    report: @escaping @Sendable (String) -> Void = { _ in }
  ) -> ProviderRunner {
    Sysmon.runner(machine, every: .seconds(1), client: client, clock: clock, report: report)
  }

  @Test func `each tick samples the machine, and the widgets are stale after the end`()
    async throws
  {
    try await withDaemon { client in
      let machine = SampleMachine()
      let clock = TickClock()
      let provider = runner(machine, client, clock: clock)
      let run = Task { try await provider.run() }
      for available in [1_024, 2_048] {
        machine.readings.withLock {
          $0.memory = "MemTotal: 8388608 kB\nMemAvailable: \(available) kB\n"
        }
        try await until("memory", in: client, ticking: clock) {
          $0.data["available_kib"] == .int(Int64(available))
        }
      }
      run.cancel()
      try await run.value
      for name in ["clock", "load", "memory", "network", "disk", "counter"] {
        try await until(name, in: client, ticking: nil) { $0.isStale }
      }
    }
  }

  @Test func `an unreadable value is reported once and retried, and other widgets go on`()
    async throws
  {
    try await withDaemon { client in
      let machine = SampleMachine()
      let clock = TickClock()
      let reports = Mutex<[String]>([])
      let provider = runner(machine, client, clock: clock) { line in
        reports.withLock { $0.append(line) }
      }
      let run = Task { try await provider.run() }
      try await until("load", in: client, ticking: clock) { $0.data["text"] != nil }
      machine.readings.withLock { $0.load = "?" }
      try await until("load", in: client, ticking: clock) { $0.error != nil }
      machine.readings.withLock { $0.clock.time = "23:59:59" }
      try await until("clock", in: client, ticking: clock) {
        $0.data["text"] == .string("23:59:59")
      }
      machine.readings.withLock { $0.load = "2.00 2.00 2.00 2/345 678" }
      try await until("load", in: client, ticking: clock) {
        $0.error == nil && $0.data["one"] == .double(2)
      }
      run.cancel()
      try await run.value
      #expect(
        reports.withLock { $0 } == ["sysmon/load: /proc/loadavg: expected at least four words"])
    }
  }

  @Test func `no quick click on a widget is lost`() async throws {
    try await withDaemon { client in
      let machine = SampleMachine()
      try await runner(machine, client).runOnce()
      // The provider gets events once its session is open. The daemon then asks it about every
      // widget.
      let clock = try #require(WidgetID("sysmon/clock"))
      _ = try await client.updateWidget(
        UpdateWidgetRequest(id: clock, patch: WidgetPatch(isStale: true)))
      let provider = runner(machine, client)
      let run = Task { try await provider.run() }
      try await until("clock", in: client, ticking: nil) { !$0.isStale }
      let id = try #require(WidgetID("sysmon/counter"))
      for _ in 0..<50 {
        _ = try await client.sendEvent(SendEventRequest(widgetID: id, name: "click"))
      }
      try await until("counter", in: client, ticking: nil) { $0.data["n"] == .int(50) }
      run.cancel()
      try await run.value
    }
  }

  @Test func `one sample fills the widgets, and they stay fresh`() async throws {
    try await withDaemon { client in
      try await runner(SampleMachine(), client).runOnce()
      let widgets = try await client.listWidgets(ListWidgetsRequest()).widgets.map(\.widget)
      #expect(widgets.map(\.id.rawValue) == Sysmon.instances.map { $0.id?.rawValue })
      #expect(widgets.allSatisfy { !$0.isStale && $0.error == nil })
      #expect(
        widgets.map { $0.data["text"] } == [
          .string("03:04:05"), .string("0.50  1.00  1.50"), .string("4.0 GiB of 8.0 GiB"),
          .string("in 0 B/s  out 0 B/s"), .string("300 GiB free of 400 GiB"), nil,
        ])
      #expect(widgets.map { $0.data["unit"] }[1] == .string("tasks"))
      #expect(widgets.last?.data == ["n": .int(0)])
    }
  }

  // MARK: Support

  /// Follows a widget until the condition holds. Time passes whenever a task waits for it.
  private func until(
    _ name: String, in client: WidgetClient, ticking clock: TickClock?,
    _ condition: @escaping @Sendable (Widget) -> Bool
  ) async throws {
    let id = try #require(WidgetID("sysmon/\(name)"))
    try await withThrowingTaskGroup(of: Void.self) { group in
      if let clock {
        group.addTask { while !Task.isCancelled { await clock.tick() } }
      }
      var mirror = WidgetMirror()
      for try await frame in client.watch(WatchOptions(selector: Selector(ids: [id]))) {
        _ = try mirror.apply(frame)
        if let widget = mirror[id], condition(widget) { break }
      }
      group.cancelAll()
    }
  }

  private func withDaemon(_ body: (WidgetClient) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.path + "/sysmon-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let server = try await WidgetServer.start(
      .init(socketPath: folder + "/s", policy: .current(clientGID: nil)),
      logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }),
      makeLog: { () throws(StorageError) in MemoryCommitLog(epoch: 1) })
    let client = WidgetClient(socketPath: folder + "/s")
    let outcome: Result<Void, any Error>
    do {
      try await body(client)
      outcome = .success(())
    } catch {
      outcome = .failure(error)
    }
    await client.close()
    try await server.stop()
    try outcome.get()
  }
}

/// A clock on which every wait lasts until the next call of `tick`.
private final class TickClock: Clock {
  typealias Instant = ContinuousClock.Instant

  private struct State {
    var lastID = 0
    var sleepers: [Int: CheckedContinuation<Void, any Error>] = [:]
    var ticker: CheckedContinuation<Void, Never>?

    mutating func takeSleepers() -> [CheckedContinuation<Void, any Error>] {
      defer { sleepers = [:] }
      return Array(sleepers.values)
    }
  }

  private let state = Mutex(State())

  var now: Instant { ContinuousClock().now }
  var minimumResolution: Duration { .zero }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    let id = state.withLock { state in
      state.lastID += 1
      return state.lastID
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let ticker = state.withLock { state in
          state.sleepers[id] = continuation
          return state.ticker.take()
        }
        ticker?.resume()
        if Task.isCancelled { wake(id) }
      }
    } onCancel: {
      wake(id)
    }
  }

  private func wake(_ id: Int) {
    state.withLock { $0.sleepers.removeValue(forKey: id) }?.resume(throwing: CancellationError())
  }

  /// Ends all present waits; if there are none, ends the next one.
  func tick() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isAwaited = state.withLock { state in
          if state.sleepers.isEmpty { state.ticker = continuation }
          return !state.sleepers.isEmpty
        }
        if isAwaited {
          continuation.resume()
        } else if Task.isCancelled {
          state.withLock { $0.ticker.take() }?.resume()
        }
      }
    } onCancel: {
      state.withLock { $0.ticker.take() }?.resume()
    }
    for sleeper in state.withLock({ $0.takeSleepers() }) { sleeper.resume() }
  }
}
