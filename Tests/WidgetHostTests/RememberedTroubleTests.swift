import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// The problems of bundles that only an earlier host ran, and the promises about their widgets.
struct RememberedTroubleTests {
  private let now = HostTime(wall: Timestamp.epoch.advanced(by: .seconds(100)), uptime: .zero)
  private let later = HostTime(
    wall: Timestamp.epoch.advanced(by: .seconds(120)), uptime: .seconds(20))
  private var state = HostState(home: "/home/me", seed: 1)

  init() { _ = state.daemonIsBack(at: now) }

  private static let missing =
    "the folder /b/x has no bundle file, or is missing; put the file or folder back by"
    + " 1970-01-01T00:00:30Z, or the widgets of the bundle are removed with their data"
  private static let suspected =
    "/b/x has bundel.yaml; rename it to bundle.yaml. Do this by 1970-01-01T00:00:30Z, or the widgets"
    + " of the bundle are removed with their data"
  private static let broken = "/b/x/bundle.yaml:1:1: wrong"

  private func known(
    _ problem: String, _ absence: HostState.Absence? = nil
  ) -> HostState.Remembered {
    .init(id: "a", path: "/b/x", absence: absence, shown: ["problem": .string(problem)])
  }

  @Test(arguments: [("", true), (broken, true), (missing, false), (suspected, false)])
  mutating func `a missing folder has its age from the host that missed it first`(
    former: String, isFirst: Bool
  ) {
    _ = state.remembered([known(former, .missing)], at: now)
    #expect(state.troubles["bundle/a"]?.since == (isFirst ? now.wall : nil))
    // The words change with the time of the removal, and the age does not.
    _ = state.daemonIsAway(at: later)
    #expect(state.troubles["bundle/a"]?.since == (isFirst ? now.wall : nil))
  }

  @Test(arguments: [("", true), (missing, true), (broken, false)])
  mutating func `a file with a mistake has its age from the host that read it first`(
    former: String, isFirst: Bool
  ) {
    for (digest, time) in [(UInt64(1), now), (2, later)] {
      _ = state.found(
        .broken(problem: "\(Self.broken) \(digest)", digest: digest), in: "/b/x", at: time)
    }
    _ = state.remembered([known(former)], at: later)
    #expect(state.troubles["bundle/a"]?.since == (isFirst ? now.wall : nil))
  }

  @Test mutating func `a widget that waits is named by the next host if the file has a mistake`() {
    _ = state.found(.broken(problem: Self.broken, digest: 1), in: "/b/x", at: now)
    let lines = [
      "the file no longer has widget w; undo that by 1970-01-01T00:00:30Z, or declare it",
      "the file gives widget v another kind; undo that, or the widget is removed",
      "3:1: unknown kind",
    ]
    var former = known(Self.broken)
    former.shown["remarks"] = .list(lines.map { .string($0) })
    let told = [lines[0].replacing(" by 1970-01-01T00:00:30Z", with: ""), lines[1]]
    #expect(state.remembered([former], at: now).reports == told.map { "bundle a: \($0)" })
    #expect(state.standings.first?.remarks == told)
    #expect(state.remembered([former], at: now).reports == [], "only once")
  }

  /// A version with the widget is loaded or refused, or another bundle takes the widget over. The
  /// error can still have the time.
  @Test(arguments: [true, false])
  mutating func `a missing bundle stays as long as a widget's error has promised`(runs: Bool) throws
  {
    let bundle = try BundleReader.read(
      "{bundle: a, format: 1, version: 1.0.0, kinds: {k: {content: {label: x}}},"
        + " widgets: {v: {kind: k}}}")
    let opened = state.found(.bundle(bundle, digest: 1), in: "/b/x", at: now)
    let generation = try #require(opened.generations.first)
    _ = state.declared(generation: generation, refusal: nil, at: now)
    let end = Duration.seconds(50)
    let widget = Holds.Waiting(
      id: try #require(WidgetID("w")), end: now.wall.advanced(by: end), deadline: end, runs: runs)
    _ = state.held([widget], generation: generation, at: now)
    #expect(state.standings.first?.remarks.isEmpty == !runs)
    _ = state.lost("/b/x", .missing, at: now)
    #expect(state.nextDeadline == end)
    #expect(state.standings.first?.problem.contains("back by 1970-01-01T00:02:30Z, or") == true)
  }
}
