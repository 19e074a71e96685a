import Synchronization
import Testing
import WidgetClient
import WidgetCore
import WidgetModel
import WidgetServer

@testable import WidgetProvider

/// Changes that the daemon refuses, against a daemon in the same process.
@Suite struct RefusalTests {
  private struct Item: ProvidedWidget {
    struct State: Fields {
      var refreshes = 0
      var text = ""
      static let fields: [FieldOf<State>] = [
        .init("refreshes", \.refreshes), .init("text", \.text),
      ]
    }
    struct Parameters: Fields {
      var title = ""
      static let fields: [FieldOf<Parameters>] = [.init("title", \.title)]
    }
    /// The new text of a widget, for its id and the number of its refreshes.
    let text: @Sendable (String, Int) async throws -> String
    var schedule: Schedule { .every(.seconds(1), isAligned: false) }

    func refresh(_ item: inout Instance<Item>) async throws {
      item.state.refreshes += 1
      item.state.text = try await text(item.id.rawValue, item.state.refreshes)
    }
  }

  /// A clock whose waits end with `tick`, one wait each.
  private final class TickClock: Clock {
    typealias Instant = ContinuousClock.Instant

    private let ticks = AsyncStream.makeStream(of: Void.self)

    var now: Instant { .now }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
      for await _ in ticks.stream { return }
      throw CancellationError()
    }

    func tick() { ticks.continuation.yield() }
  }

  private final class Lines: Sendable {
    private let lines = Mutex<[String]>([])
    private let news = AsyncStream.makeStream(of: String.self)

    var all: [String] { lines.withLock { $0 } }

    func add(_ line: String) {
      lines.withLock { $0.append(line) }
      news.continuation.yield(line)
    }

    /// Waits until a line begins in this way.
    func wait(for beginning: String) async {
      for await line in news.stream where line.hasPrefix(beginning) { return }
    }
  }

  private let clock = TickClock()
  private let reports = Lines()
  private let notes = Lines()

  private func runner(_ item: Item, _ instances: [WidgetSpec], _ client: WidgetClient)
    -> ProviderRunner
  {
    @WidgetsBuilder var widgets: Widgets { item }
    return ProviderRunner(
      name: "desk", widgets: widgets, instances: instances, client: client, clock: clock,
      report: { [reports] in reports.add($0) }, note: { [notes] in notes.add($0) })
  }

  private func specs(_ names: String...) -> [WidgetSpec] {
    names.map { WidgetSpec($0, of: Item.self) }
  }

  private func untilAll(
    _ names: [String], in client: WidgetClient, refreshes: Int64
  ) async throws {
    for name in names {
      try await until(name, in: client) {
        $0.data["refreshes"] == .int(refreshes)
      }
    }
  }

  @Test func `a widget that is removed during a refresh does not keep others from theirs`()
    async throws
  {
    try await withDaemon { client in
      let item = Item { id, refreshes in
        // The daemon asks for the first refresh, and the schedule for the second one.
        if id == "gone", refreshes == 2, let gone = WidgetID(id) {
          _ = try await client.deleteWidget(DeleteWidgetRequest(id: gone))
        }
        return ""
      }
      let provider = runner(item, specs("a", "gone", "b"), client)
      let run = Task { try await provider.run() }
      try await untilAll(["a", "gone", "b"], in: client, refreshes: 1)
      clock.tick()
      try await untilAll(["a", "b"], in: client, refreshes: 2)
      #expect(reports.all == [])
      run.cancel()
      _ = await run.result
    }
  }

  @Test func `a refused change is its widget's error until a change is accepted, and others go on`()
    async throws
  {
    var limits = ServerLimits()
    limits.store.widgetBytesMax = 4_096
    try await withDaemon(limits: limits) { client in
      let isBig = Mutex(true)
      let isLarge: @Sendable () -> Bool = { isBig.withLock { $0 } }
      let item = Item { id, refreshes in
        id == "big" && refreshes == 2 && isLarge() ? String(repeating: "x", count: 10_000) : ""
      }
      let provider = runner(item, specs("a", "big", "b"), client)
      let run = Task { try await provider.run() }
      try await untilAll(["a", "big", "b"], in: client, refreshes: 1)
      clock.tick()
      try await untilAll(["a", "b"], in: client, refreshes: 2)
      try await until("big", in: client) {
        $0.error?.reason == "PROVIDER_FAILED" && $0.data["refreshes"] == .int(1)
          && $0.error?.message.contains("updates[") == false
      }
      clock.tick()
      try await untilAll(["a", "b"], in: client, refreshes: 3)
      #expect(reports.all.count == 1 && reports.all.first?.hasPrefix("big: ") == true)
      isBig.withLock { $0 = false }
      clock.tick()
      try await until("big", in: client) {
        $0.error == nil && $0.data["refreshes"] == .int(2)
      }
      run.cancel()
      _ = await run.result
    }
  }

  @Test func `a refused answer to a data request is its widget's error`() async throws {
    var limits = ServerLimits()
    limits.store.widgetBytesMax = 4_096
    try await withDaemon(limits: limits) { client in
      let item = Item { _, _ in String(repeating: "x", count: 10_000) }
      let provider = runner(item, specs("big"), client)
      let run = Task { try await provider.run() }
      try await until("big", in: client) {
        $0.error?.reason == "PROVIDER_FAILED"
      }
      run.cancel()
      _ = await run.result
    }
  }

  @Test func `changes that are too long for one frame are sent in several`() async throws {
    try await withDaemon { client in
      let names = ["a", "b", "c", "d", "e", "f"]
      // Six of these texts are longer than a frame, and a widget may have each of them.
      let item = Item { _, refreshes in
        refreshes == 2 ? String(repeating: "x", count: 800_000) : ""
      }
      let provider = runner(item, names.map { WidgetSpec($0, of: Item.self) }, client)
      let run = Task { try await provider.run() }
      try await untilAll(names, in: client, refreshes: 1)
      clock.tick()
      try await untilAll(names, in: client, refreshes: 2)
      #expect(reports.all == [])
      run.cancel()
      _ = await run.result
    }
  }

  @Test func `a widget that cannot be created does not keep later ones from being created`()
    async throws
  {
    var limits = ServerLimits()
    limits.store.widgetBytesMax = 4_096
    try await withDaemon(limits: limits) { client in
      let big = WidgetSpec("big", of: Item.self) {
        $0.title = String(repeating: "x", count: 10_000)
      }
      let provider = runner(Item { _, _ in "" }, [big] + specs("small"), client)
      let run = Task { try await provider.run() }
      try await untilAll(["small"], in: client, refreshes: 1)
      #expect(reports.all.count == 1)
      #expect(reports.all.first?.hasPrefix("cannot create the widget big: ") == true)
      run.cancel()
      _ = await run.result
    }
  }

  @Test func `a widget that could not be created is created when the daemon has room`()
    async throws
  {
    var limits = ServerLimits()
    limits.store.widgetsMax = 2
    try await withDaemon(limits: limits) { client in
      let other = WidgetSpec("other", of: Item.self)
      _ = try await client.createWidget(CreateWidgetRequest(widget: other))
      let provider = runner(Item { _, _ in "" }, specs("a", "b"), client)
      let run = Task { try await provider.run() }
      await reports.wait(for: "cannot create the widget b: ")
      let id = try #require(other.id)
      _ = try await client.deleteWidget(DeleteWidgetRequest(id: id))
      try await untilAll(["a", "b"], in: client, refreshes: 1)
      await notes.wait(for: "the widget b is created now")
      run.cancel()
      _ = await run.result
    }
  }

  @Test func `a single run refreshes the other widgets before it throws a refusal`() async throws {
    var limits = ServerLimits()
    limits.store.widgetBytesMax = 4_096
    try await withDaemon(limits: limits) { client in
      let big = WidgetSpec("big", of: Item.self) {
        $0.title = String(repeating: "x", count: 10_000)
      }
      let item = Item { id, _ in id == "long" ? String(repeating: "x", count: 10_000) : "" }
      let provider = runner(item, [big] + specs("long", "small"), client)
      await #expect { try await provider.runOnce() } throws: {
        ($0 as? ClientError)?.reason == "QUOTA_EXCEEDED"
      }
      try await untilAll(["small"], in: client, refreshes: 1)
      try await until("long", in: client) {
        $0.error?.reason == "PROVIDER_FAILED"
      }
    }
  }

  @Test func `the error of a refused change does not name its place in the frame`() {
    let status = RPCStatus(
      code: .invalidArgument, message: "updates[12].patch.data: \"n\" must be a number.",
      fieldViolations: [
        FieldViolation(field: "updates[12].patch.data", description: "\"n\" must be a number.")
      ])
    let problem = ProviderRunner.problem(.status(status), at: 12)
    #expect(problem.reason == "PROVIDER_FAILED")
    #expect(!problem.message.contains("updates[") && problem.message.contains("patch.data"))
  }

  @Test(arguments: [
    (StatusCode.unavailable, "STORAGE_FAILED", true, false),
    (.resourceExhausted, "QUOTA_EXCEEDED", false, true),
    (.notFound, "WIDGET_NOT_FOUND", false, false),
    (.failedPrecondition, "NOT_PROVIDED", false, false),
  ])
  func `an error that passes and a refused change differ from an obsolete change`(
    code: StatusCode, reason: String, isPassing: Bool, isRefused: Bool
  ) {
    let metadata = isPassing ? [:] : ["widget_id": "a"]
    let error = ClientError.status(
      RPCStatus(code: code, errorInfo: ErrorInfo(reason: reason, metadata: metadata)))
    #expect(error.isPassing == isPassing)
    #expect(error.isRefusedChange == isRefused)
  }
}
