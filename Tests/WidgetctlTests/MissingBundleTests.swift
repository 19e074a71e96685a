import Foundation
import Testing
import WidgetBundleInstaller
import WidgetModel
import WidgetProto

@testable import widgetctl

/// The lists of bundles, with those that have no folder.
@Suite struct MissingBundleTests {
  private static let now = Samples.time(1300)
  private static let words =
    "the folder /b/feed has no bundle file; put the file or folder back by 1970-01-01T00:22:00Z, or"
    + " the widgets of the bundle are removed with their data"

  private static func standing(
    _ state: String, _ problem: String = "", path: String = "/b/feed", isStale: Bool = false,
    session: HostSession = .connected, now: Timestamp = MissingBundleTests.now
  ) -> BundleStanding {
    let id = path.split(separator: "/").last.map(String.init) ?? ""
    var widget = Samples.widget
    widget.isStale = isStale
    widget.data = [
      "id": .string(id), "state": .string(state), "problem": .string(problem),
      "path": .string(path), "widgets": .int(2), "handled": .map(["k": .list([])]),
    ]
    return BundleStanding(widget, session, now: now)
  }

  private static func missing(
    _ standing: BundleStanding, in folder: String = "/b", besides there: [String] = []
  ) -> BundleStanding? {
    BundleStanding.missing(among: [standing.path: standing], in: folder, besides: there).first
  }

  @Test func `a bundle whose folder is missing is listed with the words of its host`() {
    let found = Self.missing(Self.standing("failed", Self.words))
    #expect(found?.text == "missing: \(Self.words)")
    #expect(found?.removal == Samples.time(1320))
    let document = String(describing: found?.document(isLive: true))
    #expect(document.contains("00:22:00"))
    #expect(Self.missing(Self.standing("failed", Self.words), besides: ["feed"]) == nil)
    #expect(Self.missing(Self.standing("failed", Self.words), in: "/c") == nil)
    #expect(Self.missing(Self.standing("running")) == nil)
  }

  /// This machine knows whether the file or the folder is missing. The host may say neither, or
  /// something that is over.
  @Test(arguments: [", or is missing", ", because the folder is missing"])
  func `a missing bundle is listed with the missing file or folder of this machine`(
    cause: String
  ) throws {
    let root = BundleHost.resolved(NSTemporaryDirectory() + "bundles-\(UUID().uuidString)")
    let files = FileManager.default
    defer { try? files.removeItem(atPath: root) }
    try files.createDirectory(atPath: "\(root)/empty", withIntermediateDirectories: true)
    func problem(_ path: String) -> String? {
      let told = "the folder \(path) has no bundle file\(cause); put the file back"
      return Self.standing("failed", told, path: path).asMissing.problem
    }
    #expect(
      problem("\(root)/empty") == "the folder \(root)/empty has no bundle file; put the file back")
    #expect(problem("\(root)/gone") == "the folder \(root)/gone is missing; put the file back")
    // The folder of bundles can be on another machine.
    #expect(
      problem("/nonexistent/b/feed")
        == "the folder /nonexistent/b/feed has no bundle file\(cause); put the file back")
  }

  /// The host has ended, or was killed, before or after the folder went missing.
  @Test(arguments: [("stopped", ""), ("stopped", words), ("running", ""), ("failed", words)])
  func `a bundle is missing while no host runs, and has no time in the past`(
    state: String, problem: String
  ) {
    let later = Samples.time(1400)
    let stopped = Self.standing(state, problem, isStale: true, session: .away, now: later)
    let found = Self.missing(stopped)
    #expect(found?.state == "missing" && found?.removal == nil)
    #expect(found?.problem.hasPrefix("the folder /b/feed has no bundle file; put the file") == true)
    // A sentence without a time does not speak of one.
    let hasTime = state == "stopped" && !problem.isEmpty
    #expect(
      found?.problem.contains(
        hasTime
          ? "(the host is not running; after its next start, the host waits again before the removal)"
          : "(the host is not running)") == true)
    #expect(found?.problem.contains("1970") == false)
  }

  /// The host was stopped or killed before the time.
  @Test(arguments: [true, false])
  func `a removal waits for the host while no host runs`(isStopped: Bool) {
    let state = isStopped ? "stopped" : "failed"
    let found = Self.missing(Self.standing(state, Self.words, isStale: true, session: .away))
    #expect(found?.problem.contains("1970") == false && found?.removal == nil)
    #expect(found?.problem.contains(isStopped ? Promise.stopped : Promise.notRunning) == true)
    let hung = Self.standing(
      "stopped", Self.words,
      session: .silent(SilentProcess(ProviderSilence(since: .epoch, pid: 42), isStopped: false)))
    #expect(hung.problem == Self.words)
  }

  @Test func `a command about a missing bundle has the words of its host only about the folder`() {
    let killed = Self.standing("running", isStale: true, session: .away)
    let words = "the folder /b/feed of bundle feed is missing. "
    #expect(
      MissingFolder.of(killed, at: "/b/feed").failure
        == words + "Put it back to keep the widgets of the bundle with their data")
    let told = MissingFolder.of(Self.standing("failed", Self.words), at: "/b/feed")
    #expect(told.failure == words + "widgetd-host: \(Self.words)")
  }

  @Test func `a host that does not answer or has not returned is named`() {
    let process = SilentProcess(ProviderSilence(since: .epoch, pid: 42), isStopped: false)
    let silent = Self.missing(Self.standing("running", isStale: true, session: .silent(process)))
    #expect(silent?.problem.contains("; widgetd-host (process 42) has not answered since") == true)
    let waiting = Self.missing(Self.standing("running", session: .away))
    #expect(waiting?.problem.hasSuffix("; \(BundleHost.waiting)") == true)
  }

  @Test func `a missing bundle that another folder has waits for the start of the host`() throws {
    let root = BundleHost.resolved(NSTemporaryDirectory() + "moved-\(UUID().uuidString)")
    let files = FileManager.default
    defer { try? files.removeItem(atPath: root) }
    let (a, b) = ("\(root)/a", "\(root)/b")
    for path in [a, "\(b)/mv"] {
      try files.createDirectory(atPath: path, withIntermediateDirectories: true)
    }
    let text = "{bundle: mv, format: 1, version: 1.0.0, kinds: {k: {}}, widgets: {w: {kind: k}}}"
    try Data(text.utf8).write(to: URL(fileURLWithPath: "\(b)/mv/bundle.yaml"))
    let standing = Self.standing("running", path: "\(a)/mv", isStale: true, session: .away)
    let lacking = BundleSection(a, [], among: [standing.path: standing], isLive: false)
    let having = BundleSection(b, try BundleInstaller(path: b).list(), among: [:], isLive: false)
    let found = BundleSection.awaitingStart([lacking, having])
    #expect(
      found.first?.missing.map(\.text) == [
        "missing: the folder \(a)/mv is missing; \(b)/mv takes its widgets over when widgetd-host "
          + "starts"
      ])
    #expect(found.last?.installed.count == 1)
    // No other folder has the bundle.
    #expect(BundleSection.awaitingStart([lacking]).first?.missing == lacking.missing)
  }

  @Test func `a bundle that bundle rm has removed is not missing`() throws {
    let folder = BundleHost.resolved(NSTemporaryDirectory() + "bundles-\(UUID().uuidString)")
    let files = FileManager.default
    try files.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? files.removeItem(atPath: folder) }
    let standing = Self.standing("running", path: "\(folder)/feed", isStale: true)
    #expect(Self.missing(standing, in: folder) != nil)
    try Data().write(to: URL(fileURLWithPath: "\(folder)/.removed-feed"))
    #expect(Self.missing(standing, in: folder) == nil)
  }

  @Test func `widgets of a bundle that no widget shows are listed with the folder of the host`() {
    func widget(_ id: String, _ set: String) -> Widget {
      var widget = Samples.widget
      (widget.id, widget.applySet) = (Samples.id(id), set)
      return widget
    }
    let widgets = [
      widget("bundle/feed", "widgetd-host"), widget("a", "bundle/feed"),
      widget("b", "bundle/lost"), widget("c", "bundle/lost"), widget("d", "mine"),
    ]
    let left = BundleStanding.left(in: widgets, isHosted: false)
    #expect(left.map(\.id) == ["lost"] && left.map(\.widgetCount) == [2])
    #expect(
      left.first?.text
        == "missing: its widgets are left, and no folder has the bundle; install it again, or "
        + "remove the widgets with `widgetctl rm ID --force` (the host is not running)")
    func local(_ host: BundleHost, _ there: [String] = []) -> [BundleStanding] {
      BundleStanding.left(left, in: "/b", besides: there, host)
    }
    #expect(local(.missing(former: ["/b"])) == left && local(.missing(former: ["/c"])) == [])
    #expect(local(.unknown) == [] && local(.missing(former: ["/b"]), ["lost"]) == [])
  }

  @Test func `the list of a host has a bundle with a broken file once`() {
    let broken = Self.standing("failed", "/b/torn/bundle.yaml:1:1: mistake", path: "/b/torn")
    for folder in ["/b", "/b/torn"] {
      let listed = BundleRemote.placed(
        InstalledBundle(id: "torn", folder: folder, problem: "mistake"), in: "/b")
      #expect(listed.folder == "/b/torn")
      #expect(BundleRemote.others(than: [listed], among: ["/b/torn": broken]).isEmpty)
    }
  }

  @Test func `the list of a host has the bundles of its other folders, and missing ones`() {
    let standings = [
      Self.standing("running", path: "/b/clock"), Self.standing("failed", Self.words),
      Self.standing("failing", "x", path: "/c/lamp"),
    ]
    let others = BundleRemote.others(
      than: [InstalledBundle(id: "clock", version: "1.0.0", folder: "/b/clock")],
      among: Dictionary(standings.map { ($0.path, $0) }) { first, _ in first })
    #expect(others.map(\.id) == ["feed", "lamp"] && others.map(\.folder) == ["/b", "/c"])
    #expect(others.map(\.state) == ["missing", "failing"] && others.map(\.kindCount) == [1, 1])
    #expect(others.first?.removal == Samples.time(1320))
  }
}
