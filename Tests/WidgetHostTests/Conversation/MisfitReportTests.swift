import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// The values that do not fit a version which ends before the host knows the widgets.
struct MisfitReportTests {
  private var machine = HostMachine(home: "/home/me", uid: 0, seed: 1)
  private let time = HostTime(wall: .epoch, uptime: .zero)
  private var lines: [String] = []

  private func found(_ version: String, _ widget: String) throws -> HostState.Found {
    .bundle(
      try BundleReader.read(
        "{bundle: a, format: 1, version: \(version), widgets: {\(widget): {kind: k}},"
          + " kinds: {k: {data: {n: ''}, content: {label: x}}}}"),
      digest: UInt64(version.utf8.reduce(0) { $0 + UInt64($1) }))
  }

  /// Answers everything but the question about all widgets, which a bundle asks before its first
  /// declaration.
  private mutating func run(_ outputs: [HostMachine.Output], _ results: [KindResult] = []) {
    var queue = outputs
    while !queue.isEmpty {
      var input: DaemonInput?
      switch queue.removeFirst() {
      case .daemon(.open(let id, _)): input = .session(id, .opened(epoch: 1))
      case .daemon(.call(let id, .ready)): input = .answered(id, .success(.kinds(results)))
      case .daemon(.call(let id, .widgets(let kinds))):
        if !kinds.isEmpty { input = .answered(id, .success(.widgets([]))) }
      case .daemon(.call(let id, let call)) where call.asksForWidgets:
        input = .answered(id, .success(call.answer(with: [])))
      case .daemon(.call(let id, _)): input = .answered(id, .success(.done))
      case .report(let text): lines.append(text)
      default: break
      }
      if let input { queue += machine.handle(input, at: time) }
    }
  }

  /// The widget is in the next version, or goes with it.
  @Test(arguments: ["w", "other"])
  mutating func `a version that ends before the widgets are known promises nothing`(
    next: String
  ) throws {
    let result = KindResult(
      name: try #require(KindName("k")), action: .updated, widgetsChanged: 1,
      lostFields: [
        LostField(widgetID: try #require(WidgetID("w")), path: "data.n", isSetAside: true)
      ], lostFieldsCount: 1)
    run(machine.start(at: time))
    run(machine.found(try found("1.0.0", "w"), in: "/b/a", at: time), [result])
    #expect(lines.isEmpty, "the host does not know the widgets")
    run(machine.found(try found("1.0.1", next), in: "/b/a", at: time))
    #expect(
      lines == [
        "bundle a: widget w: the value of data.n is set aside, and is lost if the widget is"
          + " removed: the field takes values of type string now"
      ])
  }
}
