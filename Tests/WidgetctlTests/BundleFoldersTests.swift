import Foundation
import Glibc
import Testing
import WidgetBundle
import WidgetModel

@testable import widgetctl

/// A host with several folders of bundles.
@Suite struct BundleFoldersTests {
  private static func standing(
    _ path: String, _ state: String = "running", runs: Bool = true, problem: String = "",
    remarks: [String] = []
  ) -> BundleStanding {
    var widget = Samples.widget
    widget.isStale = false
    widget.data = [
      "id": .string(path.split(separator: "/").last.map(String.init) ?? ""),
      "version": .string("1.0.0"), "state": .string(state),
      "problem": .string(problem), "path": .string(path), "widgets": .int(1), "runs": .bool(runs),
      "handled": .map(["k": .list([])]), "remarks": .list(remarks.map { .string($0) }),
    ]
    return BundleStanding(widget)
  }

  private static let standings = Dictionary(
    uniqueKeysWithValues: [
      standing("/b/clicks"), standing("/c/okay"), standing("/c/mine"),
      standing("/d/gone", "stopped"),
    ].map { ($0.path, $0) })

  @Test func `the list without a folder has the bundles of the host's other folders`() {
    let host = BundleHost.running(folders: ["/b", "/c"])
    #expect(host.folders(besides: "/b") == ["/c"])
    let others = BundleStanding.inFolders(["/c"], among: Self.standings)
    #expect(others.map(\.path) == ["/c/mine", "/c/okay"])
    var table = BundleTable(hasFolders: true)
    table.add(
      "clicks", version: "1.0.0", kinds: 1, widgets: 2, in: "/b", .init("running", .good))
    for standing in others { table.add(standing) }
    #expect(
      table.text(Printer(format: .table, painter: Samples.plain, width: nil)) == """
        ID      VERSION  KINDS  WIDGETS  FOLDER  STATE
        clicks  1.0.0    1      2        /b      running
        mine    1.0.0    1      1        /c      running
        okay    1.0.0    1      1        /c      running

        """)
  }

  @Test(
    arguments: [
      ("running", "", "1.1.0", "1.0.0 runs; 1.1.0 is not loaded yet"),
      ("running", "", "1.0.0", nil),
      ("failing", "no answer", "1.1.0", "1.0.0 is failing: no answer; 1.1.0 is not loaded yet"),
      ("failed", "3:7: unknown key", "1.1.0", nil), ("stopped", "", "1.1.0", nil),
    ] as [(String, String, String, String?)])
  func `the list says which version runs until the host has loaded the one in the file`(
    state: String, problem: String, version: String, words: String?
  ) {
    let standing = Self.standing("/b/feed", state, problem: problem)
    #expect(standing.awaiting(version, of: "feed") == words)
    #expect(standing.awaiting(version, of: "other") == nil)
    let cell = BundleTable.state(standing, having: version, of: "feed")
    #expect(cell == words.map { Table.Cell($0, .warning) } ?? BundleTable.state(standing))
    var map: ValueMap = [:]
    standing.describe(in: &map, having: version, of: "feed")
    #expect(map["runningVersion"] == words.map { _ in Value.string("1.0.0") })
    #expect(map["state"] == .string(state))
  }

  @Test func `a bundle that has just been installed is not reported yet`() throws {
    let folder = NSTemporaryDirectory() + "bundles-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var status = stat()
    let result = stat(folder, &status)
    try #require(result == 0)
    let changed = status.st_ctim.tv_sec
    #expect(BundleSection.isNew(folder, now: changed + 2))
    #expect(!BundleSection.isNew(folder, now: changed + 60))
    #expect(!BundleSection.isNew(folder, now: changed - 60))
    #expect(!BundleSection.isNew(folder + "-none", now: changed))
    #expect(
      BundleTable.unreported(.warning, isNew: true).text
        == "unknown: widgetd-host has not reported this bundle yet")
    #expect(
      BundleTable.unreported(.warning).text
        == "unknown: widgetd-host has not reported this bundle; its log shows why")
  }

  @Test(arguments: [("bundle/zed", "zed"), ("bundle/zed-2", "zed (second copy in /b/zed)")])
  func `the second copy of a bundle is named with its folder`(id: String, title: String) throws {
    var widget = Samples.widget
    widget.id = try #require(WidgetID(id))
    widget.data = ["id": .string("zed"), "path": .string("/b/zed")]
    #expect(BundleStanding(widget).title == title)
  }

  @Test func `a bundle that runs from another folder is named with this folder`() throws {
    let root = BundleHost.resolved(NSTemporaryDirectory() + "bundles-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(atPath: root) }
    for path in ["\(root)/b", "\(root)/c/okay"] {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }
    let folders = ["\(root)/b", "\(root)/c"]
    let host = BundleHost.running(folders: folders)
    #expect(
      host.place(of: "okay", besides: "\(root)/b")
        == "widgetd-host runs it in \(root)/c: add --dir \(root)/c")
    #expect(
      host.place(of: "okay", besides: "\(root)/b", isNamed: true)
        == "widgetd-host runs it in \(root)/c: use --dir \(root)/c")
    #expect(
      BundleHost.missing(former: folders).place(of: "okay", besides: "\(root)/b")
        == "\(root)/c has it: add --dir \(root)/c")
    #expect(host.place(of: "lost", besides: "\(root)/b") == nil)
    #expect(host.place(of: "lost", besides: "\(root)/d", isNamed: true) == nil)
  }

  @Test func `an error with --remote names the folder of the host that has the bundle`() {
    func words(_ name: String, _ host: BundleHost) -> String? {
      BundleRemote.absence(of: name, among: Self.standings, host)
    }
    let host = BundleHost.running(folders: ["/b", "/c"])
    #expect(
      words("okay", host)
        == "--remote changes only the first folder of widgetd-host, and bundle \"okay\" is in /c. "
        + "On the host's machine, use --dir /c instead of --remote")
    #expect(words("gone", host) == nil && words("lost", host) == nil)
    #expect(words("okay", .missing(former: ["/b", "/c"])) == nil)
  }

  /// Somebody has moved or removed the folder, and the host has not noticed yet.
  @Test func `an error with --remote does not call the first folder of the host another one`()
    throws
  {
    let root = BundleHost.resolved(NSTemporaryDirectory()) + "/bundles-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: root) }
    let known = [Self.standing("\(root)/okay"), Self.standing("/c/mine")]
    let standings = Dictionary(uniqueKeysWithValues: known.map { ($0.path, $0) })
    func words() -> String? {
      BundleRemote.absence(of: "okay", among: standings, .running(folders: [root, "/c"]))
    }
    #expect(
      words()
        == "the folder \(root)/okay of bundle okay is missing. Put it back to keep the widgets of "
        + "the bundle with their data")
    try Data().write(to: URL(fileURLWithPath: "\(root)/.removed-okay"))
    #expect(words() == nil)
  }

  @Test func `a broken file has the version and the widgets that run, in all lists`() {
    var table = BundleTable(hasFolders: false)
    table.add("uk", failed: Self.standing("/b/uk", "failed"), in: "/b", "x: a mistake")
    table.add("new", failed: nil, in: "/b", "y: a mistake")
    #expect(
      table.text(Printer(format: .table, painter: Samples.plain, width: nil)) == """
        ID   VERSION  KINDS  WIDGETS  STATE
        uk   1.0.0    -      1        failed, the previous version runs: x: a mistake
        new  -        -      -        y: a mistake

        """)
  }

  @Test(arguments: [("failing", 80), ("failing", 40), ("failed", 80), ("stopped", 40)])
  func `a narrow list keeps the state before the reason`(state: String, width: Int) {
    let reason = "widget ev3: on every 2s: there is no program nosuchprogram that can be run"
    let standing = Self.standing("/b/src3", state, problem: reason)
    var table = BundleTable(hasFolders: false)
    table.add(standing)
    table.add("src3", failed: Self.standing("/b/src3", "failed"), in: "/b", reason)
    let text = table.text(Printer(format: .table, painter: Samples.plain, width: width))
    let rows = text.split(separator: "\n").dropFirst()
    // The state needs the room of the other columns.
    let start = width == 80 ? "  1        " : "src3  "
    #expect(rows.first?.contains("\(start)\(state)") == true, "\(text)")
    #expect(rows.last?.contains("\(start)failed") == true, "\(text)")
    guard width == 80 else { return }
    let cause = "there is no program nosuchprogram"
    #expect(rows.first?.contains("\(state): \(cause)") == true, "\(text)")
    #expect(rows.last?.contains("failed: \(cause)") == true, "\(text)")
    #expect(rows.allSatisfy { $0.count <= width })
  }

  @Test func `a bundle that runs from a folder with another name has a note, not a failure`() {
    var table = BundleTable(hasFolders: false)
    let reason = "/b/odd holds the bundle \"okay\"; rename the folder to okay"
    table.add("odd", failed: Self.standing("/b/okay"), in: "/b", reason)
    #expect(
      table.text(Printer(format: .table, painter: Samples.plain, width: nil)) == """
        ID    VERSION  KINDS  WIDGETS  STATE
        okay  1.0.0    1      1        running

        """)
    #expect(table.notes == ["bundle okay: \(reason)"])
    var failed = BundleTable(hasFolders: false)
    let copy = Self.copy("okay", at: "/b/odd", of: "/a/okay")
    failed.add("odd", failed: copy, in: "/b", reason)
    #expect(failed.notes == [])
    let text = failed.text(Printer(format: .table, painter: Samples.plain, width: nil))
    #expect(text.contains("\nokay  "))
    #expect(text.contains("failed: \(reason)"))
  }

  /// The name is no reason why a bundle does not run while the host is stopped.
  @Test(arguments: [true, false])
  func `a bundle in a folder with another name has a note while the host is stopped`(
    wasKilled: Bool
  ) throws {
    let reason = "/b/odd holds the bundle \"okay\"; /b/okay already exists; remove one of them"
    let words = "bundle okay runs from /b/okay, so /b/odd does not run; remove /b/odd"
    func standing(_ id: String, at path: String, problem: String = "") throws -> BundleStanding {
      var widget = Samples.widget
      widget.id = try #require(WidgetID(id))
      widget.isStale = wasKilled
      widget.data = [
        "id": .string("okay"), "version": .string("1.0.0"), "problem": .string(problem),
        "state": .string(wasKilled ? "running" : "stopped"), "path": .string(path),
        "runs": .bool(wasKilled), "handled": .map(["k": .list([])]), "widgets": .int(1),
      ]
      return BundleStanding(widget, .away)
    }
    var table = BundleTable(hasFolders: false)
    table.add(
      "odd", failed: try standing("bundle/okay-2", at: "/b/odd", problem: words), in: "/b", reason)
    let original = try standing("bundle/okay", at: "/b/okay")
    table.add(
      "okay", version: "1.0.0", kinds: 1, widgets: 1, in: "/b", BundleTable.state(original))
    #expect(
      table.text(Printer(format: .table, painter: Samples.plain, width: nil)) == """
        ID    VERSION  KINDS  WIDGETS  STATE
        okay  1.0.0    1      1        stopped: widgetd-host is not running; start it
        okay  1.0.0    1      1        stopped: widgetd-host is not running; start it

        """)
    #expect(table.notes == ["bundle okay: \(reason)"])
    var mistaken = BundleTable(hasFolders: false)
    mistaken.add("okay", failed: original, in: "/b", "/b/okay/bundle.yaml:1:1: unknown key")
    #expect(mistaken.notes == [])
    let text = mistaken.text(Printer(format: .table, painter: Samples.plain, width: nil))
    #expect(text.contains("stopped: /b/okay/bundle.yaml:1:1: unknown key"))
  }

  @Test func `the entry of a bundle in a folder that the host does not run is not live`() {
    let host = BundleHost.running(folders: ["/b", "/c"])
    func live(_ standing: BundleStanding, _ host: BundleHost) -> Value? {
      guard case .map(let map) = standing.document(host) else { return nil }
      return map["live"]
    }
    #expect(live(Self.standing("/c/okay"), host) == .bool(true))
    #expect(live(Self.standing("/d/gone", "stopped"), host) == .bool(false))
    #expect(live(Self.standing("/c/okay"), .unknown) == .null)
    let left = BundleStanding(left: "lost", widgetCount: 1, isHosted: true)
    #expect(live(left, host) == .null)
  }

  @Test func `a user's widget of the kind of bundles is no bundle`() {
    func widget(_ id: String, _ set: String) -> Widget {
      var widget = Samples.widget
      (widget.id, widget.kind, widget.applySet) = (Samples.id(id), Samples.kind("bundle"), set)
      widget.data = ["id": .string("okay"), "path": .string("/b/okay"), "state": .string("")]
      return widget
    }
    let shown = BundleStanding.shown(
      by: [
        widget("mybun", ""), widget("bundle/mine", "mine"), widget("mybun", "widgetd-host"),
        widget("bundle/okay", "widgetd-host"),
      ])
    #expect(shown.map(\.0) == ["/b/okay"])
    #expect(shown.map(\.1.id) == ["okay"])
  }

  @Test func `the entry of a bundle has its remarks`() {
    let standing = Self.standing("/b/uk", remarks: ["did you mean \"ukk\"?"])
    guard case .map(let map) = standing.document(isLive: true) else {
      Issue.record("no map")
      return
    }
    #expect(map["remarks"] == .list([.string("did you mean \"ukk\"?")]))
    #expect(BundleListCommand.remarks([standing]) == ["bundle uk: did you mean \"ukk\"?"])
  }

  @Test func `the notes about a bundle are together, in the order of the bundles`() {
    let standings = ["/b/uk", "/b/us"].map { Self.standing($0, remarks: ["its file is old"]) }
    let lines = BundleListCommand.remarks(standings) + ["bundle uk: set aside", "all else"]
    #expect(
      BundleListCommand.notes(lines, about: standings)
        == """
        note: bundle uk: its file is old
        note: bundle uk: set aside
        note: bundle us: its file is old
        note: all else

        """)
  }

  private static func copy(_ id: String, at path: String, of other: String) -> BundleStanding {
    var widget = Samples.widget
    widget.data = [
      "id": .string("\(id)-2"), "state": .string("failed"), "path": .string(path),
      "problem": .string(
        "bundle \(id) runs from \(other), so \(path) does not run; remove \(path), or change the id "
          + "in its file"),
    ]
    return BundleStanding(widget)
  }

  @Test func `a removal loses only what another folder of the host does not take over`() throws {
    let known = [
      Self.standing("/b/okay"), Self.copy("okay", at: "/a/okay", of: "/b/okay"),
      Self.standing("/b/mine"),
    ]
    let standings = Dictionary(uniqueKeysWithValues: known.map { ($0.path, $0) })
    func successors(_ folder: String) -> [String: String] {
      BundleStanding.successors(
        of: ["okay", "mine", "lost"], removedFrom: folder, among: standings,
        in: BundleHost.running(folders: ["/b", "/a"]).order)
    }
    #expect(successors("/b") == ["okay": "/a/okay"])
    #expect(successors("/a") == [:])
    let kind = Samples.kind("k")
    func entry(_ widget: String, of bundle: String) -> LostValues.Entry {
      LostValues.Entry(
        widget: Samples.id(widget),
        field: FieldOwner(path: "data.n", owner: "user 7", declared: .int(1)), bundle: bundle,
        kind: kind)
    }
    // The copy lacks one widget, and has another one with another kind.
    var copy = Bundle(id: "okay", version: "1.0.0")
    copy.widgets = [
      WidgetSpec(id: Samples.id("w"), kind: kind),
      WidgetSpec(id: Samples.id("x"), kind: Samples.kind("j")),
    ]
    let all = BundleLosses(
      values: ["w", "x", "y"].map { entry($0, of: "okay") } + [entry("z", of: "mine")])
    let losses = all.takenOver(by: successors("/b")) { $0 == "/a/okay" ? copy : nil }
    #expect(losses.values.map(\.widget.rawValue) == ["x", "y", "z"])
    let unread = all.takenOver(by: successors("/b")) { _ in nil }
    #expect(unread.values.count == 4 && unread.successors == [:])
    let text = BundleLosses(successors: losses.successors).of(["okay"])
      .text(removed: ["okay"], .done)
    #expect(text == "bundle okay removed\n  bundle okay in /a/okay takes its widgets over\n")
    #expect(losses.of(["mine"]).successors == [:])
  }

  @Test func `a folder that a stopped host has not seen yet takes the widgets over`() throws {
    let root = BundleHost.resolved(NSTemporaryDirectory()) + "/bundles-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: root) }
    for (path, id) in [("b/moved", "gauge"), ("b/other", "other"), ("c/gauge", "gauge")] {
      try FileManager.default.createDirectory(
        atPath: "\(root)/\(path)", withIntermediateDirectories: true)
      try Data("bundle: \(id)\nformat: 1\nversion: 1.0.0\n".utf8)
        .write(to: URL(fileURLWithPath: "\(root)/\(path)/bundle.yaml"))
    }
    let folders = ["a", "b", "c"].map { "\(root)/\($0)" }
    func successors(_ host: BundleHost, removedFrom name: String = "a") -> [String: String] {
      BundleStanding.successors(
        of: ["gauge", "lost"], removedFrom: "\(root)/\(name)", whenStarted: host)
    }
    #expect(successors(.missing(former: folders)) == ["gauge": "\(root)/b/moved"])
    #expect(successors(.missing(former: folders), removedFrom: "d") == [:])
    // A running host knows its copies.
    #expect(successors(.running(folders: folders)) == [:])
    #expect(successors(.unknown) == [:])
  }

  @Test func `of several copies, the first one in the order of the host takes over`() {
    let known = [
      Self.standing("/c/okay"), Self.copy("okay", at: "/a/okay", of: "/c/okay"),
      Self.copy("okay", at: "/b/other", of: "/c/okay"),
      Self.copy("okay", at: "/b/okay", of: "/c/okay"),
    ]
    let standings = Dictionary(uniqueKeysWithValues: known.map { ($0.path, $0) })
    func successor(_ host: BundleHost) -> String? {
      BundleStanding.successors(
        of: ["okay"], removedFrom: "/c", among: standings, in: host.order)["okay"]
    }
    #expect(successor(.running(folders: ["/c", "/b", "/a"])) == "/b/okay")
    #expect(successor(.missing(former: ["/c", "/a", "/b"])) == "/a/okay")
  }

  /// `bundle rm --remote` removes the bundle from the first folder.
  @Test func `a bundle in a later folder of the host is known`() {
    let host = BundleHost.running(folders: ["/a", "/b"])
    #expect(host.runsLater("/b") && !host.runsLater("/a") && !host.runsLater("/c"))
    #expect(!host.runsLater(nil) && !BundleHost.unknown.runsLater("/b"))
    #expect(BundleStanding.folder(of: "mine", among: Self.standings) == "/c")
  }

  @Test func `a second copy has the id that commands take, and its folder`() {
    let copy = Self.copy("okay", at: "/a/okay", of: "/b/okay")
    #expect(copy.title == "okay (second copy in /a/okay)")
    #expect(Self.standing("/b/okay").title == "okay")
    guard case .map(let map) = copy.document(isLive: true) else {
      Issue.record("no map")
      return
    }
    #expect(map["id"] == .string("okay"))
    let words = "bundle okay is in /b/okay, too, and the host uses that one; remove /a/okay"
    #expect(BundleStanding.original(in: words, at: "/a/okay") == "okay")
    #expect(BundleStanding.original(in: "bundle okay: unknown key", at: "/a/okay") == nil)
  }

  @Test func `a folder keeps another one from running while a version runs or is refused`() {
    #expect(Self.standing("/b/okay").holder?.path == "/b/okay")
    #expect(Self.standing("/b/okay", "failed").holder?.path == "/b/okay")
    #expect(Self.standing("/b/okay", "failed", runs: false).holder == nil)
    let mistake = Self.standing(
      "/b/okay", "failed", runs: false, problem: "/b/okay/bundle.yaml:1:1: unknown key")
    #expect(mistake.holder == nil)
    let reason = "/b/okay: the daemon refuses the bundle: kind \"k\" belongs to bundle mine; rename"
    let refused = Self.standing("/b/okay", "failed", runs: false, problem: reason)
    #expect(refused.holder == BundleStanding.Holder(path: "/b/okay", isRefused: true))
    let previous = Self.standing("/b/okay", "failed", problem: reason)
    #expect(previous.holder?.isRefused == false)
    let words = "the folder /b/okay has no bundle file; put the file or folder back"
    let missing = Self.standing("/b/okay", "failed", problem: words)
    #expect(missing.holder == nil)
  }
}
