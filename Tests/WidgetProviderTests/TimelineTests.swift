import Synchronization
import Testing
import WidgetClient
import WidgetModel

@testable import WidgetProvider

/// Timelines, samples and snapshots of widgets written in Swift.
@Suite struct ProvidedTimelineTests {
  private struct Train: ProvidedWidget {
    struct State: Fields {
      var line = "S1"
      static let fields: [FieldOf<State>] = [.init("line", \.line)]
    }
    struct Parameters: Fields {
      var city = "Oslo"
      static let fields: [FieldOf<Parameters>] = [.init("city", \.city)]
    }
    struct Entry: Fields {
      var platform = 0
      static let fields: [FieldOf<Entry>] = [.init("platform", \.platform, "Where it leaves.")]
    }
    /// Delays snapshots of this city until it is opened.
    let gate: Gate

    var content: [ContentTemplate] {
      let text = Binding("data.line + ' ' + string(entry.platform)")
      return [
        ContentTemplate(root: NodeTemplate(id: "text", type: .label, properties: ["text": text]))
      ]
    }
    var sample: State? { State(line: "S9") }
    var recommendations: [Recommended<Parameters>] {
      [.init("bergen", "Bergen") { $0.city = "Bergen" }]
    }
    var answersSnapshots: Bool { true }

    func refresh(_ train: inout Instance<Train>) {
      train.state.line = "to \(train.parameters.city)"
      train.timeline = EntryTimeline(
        [
          .init(train.now.advanced(by: .seconds(3_600)), Entry(platform: 5), score: 2),
          .init(train.now, Entry(platform: 2)),
        ], policy: .never)
    }

    func snapshot(_ train: inout Instance<Train>) async throws {
      guard train.parameters.city != "Nowhere" else { throw Lost() }
      if train.parameters.city == "Slow" { await gate.wait() }
      train.timeline = EntryTimeline(
        [
          .init(train.now.advanced(by: .seconds(60)), Entry(platform: 5)),
          .init(train.now, Entry(platform: 2)),
        ],
        policy: .never)
      train.state.line = "\(train.isPreview ? "preview" : "widget") of \(train.parameters.city)"
    }
  }

  private struct Lost: Error, CustomStringConvertible {
    var description: String { "there is no such city" }
  }

  /// Opened once.
  private final class Gate: Sendable {
    private let state = Mutex<(isOpen: Bool, waiting: [CheckedContinuation<Void, Never>])>(
      (false, []))

    func wait() async {
      await withCheckedContinuation { continuation in
        let isOpen = state.withLock { state in
          if !state.isOpen { state.waiting.append(continuation) }
          return state.isOpen
        }
        if isOpen { continuation.resume() }
      }
    }

    func open() {
      let waiting = state.withLock { state in
        defer { state = (true, []) }
        return state.waiting
      }
      for continuation in waiting { continuation.resume() }
    }
  }

  private func withTrain(_ body: @escaping (WidgetClient, Gate) async throws -> Void) async throws {
    try await withDaemon { client in
      let gate = Gate()
      @WidgetsBuilder var widgets: Widgets { Train(gate: gate) }
      let runner = ProviderRunner(
        name: "desk", widgets: widgets, instances: [WidgetSpec("t", of: Train.self)],
        client: client)
      let run = Task { try await runner.run() }
      try await until("t", in: client) { $0.timeline?.current != nil }
      try await body(client, gate)
      gate.open()
      run.cancel()
      try await run.value
    }
  }

  private func snapshot(_ city: String, _ client: WidgetClient) async throws -> Preview {
    let request = GetSnapshotRequest(kind: Train.kind, parameters: ["city": .string(city)])
    while true {
      let preview = try await client.getSnapshot(request).preview
      // A slow machine can exceed the daemon's time limit.
      guard preview.reason.contains("within 2 s"), city != "Slow" else { return preview }
    }
  }

  @Test func `a timeline that refresh sets is the widget's, with typed entries`() async throws {
    try await withTrain { client, _ in
      try await until("t", in: client) {
        $0.timeline?.current?.values == ["platform": .int(2)]
          && $0.timeline?.nextTime != nil && $0.data["line"] == .string("to Oslo")
      }
      let page = try await client.getTimeline(GetTimelineRequest(id: try #require(WidgetID("t"))))
      #expect(page.entries.map(\.entry.values) == [["platform": .int(2)], ["platform": .int(5)]])
      #expect(page.entries.map(\.entry.score) == [0, 2])
      #expect(page.policy == .never)
    }
  }

  @Test func `the kind has the sample, the entry's fields and the recommendations`() async throws {
    try await withTrain { client, _ in
      let kind = try await client.getKind(GetKindRequest(name: Train.kind)).kind.kind
      #expect(kind.sample == ["line": .string("S9")])
      #expect(kind.entry.map(\.name) == ["platform"])
      #expect(kind.recommendations.map(\.name) == ["bergen"])
      #expect(kind.recommendations.first?.parameters == ["city": .string("Bergen")])
    }
  }

  @Test func `a snapshot is a preview, and changes no widget`() async throws {
    try await withTrain { client, _ in
      let preview = try await snapshot("Bergen", client)
      #expect(!preview.isSample)
      #expect(preview.data == ["line": .string("preview of Bergen")])
      #expect(preview.content?.nodes.first?.properties["text"] == .string("preview of Bergen 2"))
      let widgets = try await client.listWidgets(ListWidgetsRequest()).widgets
      #expect(widgets.map(\.widget.id.rawValue) == ["t"])
    }
  }

  @Test func `a snapshot that fails shows the sample, with the reason`() async throws {
    try await withTrain { client, _ in
      let preview = try await snapshot("Nowhere", client)
      #expect(preview.isSample)
      #expect(preview.reason.contains("there is no such city"))
      #expect(preview.data == ["line": .string("S9")])
    }
  }

  @Test func `a slow snapshot delays neither another one nor an update`() async throws {
    try await withTrain { client, gate in
      async let slow = snapshot("Slow", client)
      #expect(try await snapshot("Bergen", client).data == ["line": .string("preview of Bergen")])
      _ = try await client.updateWidget(
        UpdateWidgetRequest(
          id: try #require(WidgetID("t")),
          patch: WidgetPatch(setParameters: ["city": .string("Bodø")])))
      try await until("t", in: client) { $0.data["line"] == .string("to Bodø") }
      gate.open()
      // The answer can come after the daemon's time limit. The snapshot is then the sample.
      let late = try await slow
      #expect(late.data == ["line": .string("preview of Slow")] || late.isSample)
    }
  }
}
