import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// The step that the host's widget names for a folder of bundles that is missing.
struct MissingRootTests {
  private var machine = HostMachine(
    roots: ["/b", "/link", "/new"], resolved: ["/b", "/target", "/new"], home: "/home/me", uid: 0,
    seed: 1)
  private var outputs: [HostMachine.Output] = []

  private var time: HostTime { HostTime(wall: .epoch, uptime: .zero) }

  private mutating func answer(_ answer: DaemonAnswer = .done) throws {
    let ids = outputs.compactMap { if case .daemon(.call(let id, _)) = $0 { id } else { nil } }
    outputs = machine.handle(.answered(try #require(ids.first), .success(answer)), at: time)
  }

  @Test(arguments: [("/b", true), ("/link", true), ("/new", false)])
  mutating func `only a missing folder that had no bundles is to be made`(
    root: String, hadBundles: Bool
  ) throws {
    for (id, path) in [("a", "/b/a"), ("c", "/target/c")] {
      outputs = machine.found(
        .bundle(Bundle(id: id, version: "1.0.0"), digest: 1), in: path, at: time)
    }
    outputs = machine.start(at: time)
    let opened = outputs.compactMap {
      if case .daemon(.open(let id, _)) = $0 { id } else { nil }
    }
    outputs = machine.handle(.session(try #require(opened.first), .opened(epoch: 1)), at: time)
    try answer()
    try answer(.widgets([]))
    try answer()
    let problem = "\(root) does not exist; make it a folder that widgetd-host can read"
    outputs = machine.looked(atRoots: [root: problem], at: time)
    var shown: [Value?] = []
    for case .daemon(.call(_, .declare(let specs, _))) in outputs {
      shown += specs.filter { $0.id?.rawValue == HostWidget.name }.map { $0.data["problem"] }
    }
    let words =
      hadBundles
      ? "\(root) does not exist; bring the folder back, because an empty folder removes its widgets"
        + " after 30 s" : problem
    #expect(shown == [.string("\(words) (since 1970-01-01T00:00:00Z)")])
  }

  @Test func `a folder that cannot be read keeps its step`() {
    let problem = "widgetd-host cannot read /b: Permission denied; \(MissingRoot.advice)"
    let words = MissingRoot.words(
      problem, of: "/b", hadBundles: true, absenceMax: .seconds(30))
    #expect(words == problem)
  }
}
