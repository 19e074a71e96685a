import Foundation
import Logging
import Synchronization
import Testing
import WidgetClient
import WidgetModel
import WidgetServer
import WidgetStorage

@testable import widgetd_sysmon

/// The provider against a daemon in the same process, with a machine and a time made up here.
@Suite(.timeLimit(.minutes(1))) struct ProviderTests {
  @Test func `it samples when the clock says, and ends when it is cancelled`() async throws {
    try await withDaemon { client in
      let machine = Machine(try reading())
      let clock = TickClock()
      let provider = Provider(
        client: client, source: machine, interval: .seconds(1), clock: clock, report: { _ in })
      let run = Task { try await provider.run() }
      // The first sample may come before the widgets are known; from the second on they are.
      machine.reading.withLock { $0.memory.availableKiB = 1_024 }
      try await until("memory", in: client, ticking: clock) {
        $0.data["available_kib"] == .int(1_024)
      }
      machine.reading.withLock { $0.memory.availableKiB = 2_048 }
      try await until("memory", in: client, ticking: clock) {
        $0.data["available_kib"] == .int(2_048)
      }
      run.cancel()
      try await run.value
    }
  }

  @Test func `a machine that cannot be read is reported once, and tried again`() async throws {
    try await withDaemon { client in
      let machine = Machine(try reading())
      let clock = TickClock()
      let reports = Mutex<[String]>([])
      try await withThrowingTaskGroup(of: Void.self) { group in
        let provider = Provider(
          client: client, source: machine, interval: .seconds(1), clock: clock,
          report: { line in reports.withLock { $0.append(line) } })
        group.addTask { try await provider.run() }
        try await until("clock", in: client, ticking: clock) { $0.data["text"] != nil }
        machine.isBroken.store(true, ordering: .sequentiallyConsistent)
        for _ in 0..<3 { await clock.tick() }
        // The third tick is taken: two samples are over.
        machine.isBroken.store(false, ordering: .sequentiallyConsistent)
        machine.reading.withLock { $0.local.time = "23:59:59" }
        try await until("clock", in: client, ticking: clock) {
          $0.data["text"] == .string("23:59:59")
        }
        group.cancelAll()
      }
      #expect(
        reports.withLock { $0 } == ["cannot read the machine, and try again: /proc: out of order"])
    }
  }

  @Test func `clicks that come fast all count`() async throws {
    try await withDaemon { client in
      let provider = Provider(
        client: client, source: Machine(try reading()), interval: .seconds(1), clock: TickClock(),
        report: { _ in })
      try await provider.once()
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await provider.run() }
        let id = try #require(WidgetID("sysmon/counter"))
        // It hears events from when its watch is open; nobody else has one.
        while try await client.getStats().subscriptions == 0 {}
        for _ in 0..<50 {
          _ = try await client.sendEvent(SendEventRequest(widgetID: id, name: "click"))
        }
        try await until("counter", in: client, ticking: nil) { $0.data["n"] == .int(50) }
        group.cancelAll()
      }
    }
  }

  @Test func `retired widgets are stale, and one that is gone is no error`() async throws {
    try await withDaemon { client in
      let provider = Provider(
        client: client, source: Machine(try reading()), interval: .seconds(1), clock: TickClock(),
        report: { _ in })
      try await provider.once()
      let gone = try #require(WidgetID("sysmon/disk"))
      _ = try await client.deleteWidget(DeleteWidgetRequest(id: gone))
      try await provider.retire()
      let widgets = try await client.listWidgets(ListWidgetsRequest()).widgets.map(\.widget)
      #expect(widgets.count == Provided.allCases.count - 1)
      #expect(widgets.allSatisfy { $0.isStale })
    }
  }

  // MARK: Support

  /// Follows a widget until the condition holds, letting time pass whenever somebody waits for it.
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

/// A machine that says what it is told to say.
private final class Machine: ReadingSource {
  let reading: Mutex<Reading>
  let isBroken = Atomic<Bool>(false)

  init(_ reading: Reading) { self.reading = Mutex(reading) }

  func now() -> Timestamp { reading.withLock { $0.time } }

  func read() throws -> Reading {
    guard !isBroken.load(ordering: .sequentiallyConsistent) else {
      throw ProcTextError(path: "/proc", problem: "out of order")
    }
    return reading.withLock { $0 }
  }
}

/// A clock on which every wait lasts until somebody says `tick`.
private final class TickClock: Clock {
  typealias Instant = ContinuousClock.Instant

  private struct State {
    var sleeper: CheckedContinuation<Void, any Error>?
    var ticker: CheckedContinuation<Void, Never>?
  }

  private let state = Mutex(State())

  var now: Instant { ContinuousClock().now }
  var minimumResolution: Duration { .zero }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let ticker = state.withLock { state in
          defer { state.ticker = nil }
          if state.ticker == nil { state.sleeper = continuation }
          return state.ticker
        }
        if let ticker {
          continuation.resume()
          ticker.resume()
        } else if Task.isCancelled {
          wake(throwing: CancellationError())
        }
      }
    } onCancel: {
      wake(throwing: CancellationError())
    }
  }

  private func wake(throwing error: any Error) {
    state.withLock { $0.sleeper.take() }?.resume(throwing: error)
  }

  /// Ends the wait that somebody is in, or the next one that somebody begins; returns when it has.
  func tick() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let sleeper = state.withLock { state in
          defer { state.sleeper = nil }
          if state.sleeper == nil { state.ticker = continuation }
          return state.sleeper
        }
        if let sleeper {
          sleeper.resume()
          continuation.resume()
        } else if Task.isCancelled {
          state.withLock { $0.ticker.take() }?.resume()
        }
      }
    } onCancel: {
      state.withLock { $0.ticker.take() }?.resume()
    }
  }
}
