import Testing
import WidgetClient
import WidgetModel
import WidgetProto

@testable import widgetctl

/// The state and the failure in tables for terminals of any width.
struct TableStateTests {
  private static let longID = "bundle/a-widget-with-a-long-id"
  static let widths = [24, 30, 40, 50, 60, 80]

  /// The lines of a table without its header, of which none is wider than the terminal.
  private static func rows(_ text: String, _ width: Int) -> [String] {
    let lines = text.split(separator: "\n").map(String.init)
    for line in lines {
      #expect(line.columns <= width && !line.hasSuffix(" "), "\(width): \(line)")
    }
    return Array(lines.dropFirst())
  }

  private static func widget(_ id: String, _ change: (inout Widget) -> Void) -> Widget {
    var widget = Samples.widget
    widget.id = Samples.id(id)
    widget.presence = Presence()
    change(&widget)
    return widget
  }

  // MARK: - Bundles

  private static func bundles(hasFolders: Bool) -> BundleTable {
    let reason = "widget note: Feed failed: no answer"
    let folder = "/usr/share/widgetd/bundles"
    var table = BundleTable(hasFolders: hasFolders)
    table.add(
      "desk", version: "1.2.0", kinds: 2, widgets: 3, in: folder,
      .init("failing: \(reason)", .bad, reason: reason, lead: "failing: "))
    table.add(
      "clicks", version: "1.0.0", kinds: 1, widgets: 1, in: folder, .init("running", .good))
    return table
  }

  @Test(arguments: [
    (80, "desk    1.2.0    2      3        /usr/share/w…  failing: widget note…: no answer"),
    (60, "desk    1.2.0    failing: widget note: Feed fail…: no answer"),
    (50, "desk    1.2.0    failing: widget note…: no answer"),
    (40, "desk    failing: widget note…: no answer"),
    (30, "desk    failing: no answer"),
    (24, "desk    failing: no ans…"),
  ])
  func `the state and the reason of a bundle have room before other columns`(
    width: Int, row: String
  ) {
    let printer = Printer(format: .table, painter: Samples.plain, width: width)
    let rows = Self.rows(Self.bundles(hasFolders: true).text(printer), width)
    #expect(rows.first == row)
    #expect(rows.last?.hasSuffix("  running") == true)
  }

  @Test func `a very narrow list has the id and the state on separate lines`() {
    func text(_ width: Int) -> String {
      Self.bundles(hasFolders: false).text(
        Printer(format: .table, painter: Samples.plain, width: width))
    }
    #expect(
      text(20) == """
        ID
          STATE
        desk
          failing: no answer
        clicks
          running

        """)
    #expect(
      text(7) == """
        ID
        STATE
        desk
        failin…
        clicks
        running

        """)
  }

  // MARK: - Widgets

  @Test(arguments: widths)
  func `each state of a widget is visible in narrow lists`(width: Int) {
    let widgets = [
      Self.widget(Self.longID) { $0.presence.isVisible = false },
      Self.widget(Self.longID) { $0.presence.isEnabled = false },
      Self.widget(Self.longID) { $0.isStale = true },
      Self.widget(Self.longID) { $0.error = WidgetError(reason: "R", message: "no answer") },
      Samples.unregistered { $0.id = Samples.id(Self.longID) },
    ]
    let table = Table.of(widgets, now: Samples.time(1060), reasons: true)
    let rows = Self.rows(table.text(width: width, Samples.plain), width)
    for (row, state) in zip(rows, ["hidden", "disabled", "stale", "error", "unregistered"]) {
      #expect(row.contains(state), "\(width): \(row)")
    }
    #expect(rows.count == widgets.count)
  }

  @Test(arguments: [
    (24, "bundle/…  error,stale,…"), (28, "bundle/a-wi…  error,stale,…"),
    (40, "bundle/a-widget-wit…  hidden,stale,error"),
  ])
  func `the most important words of a state stay`(width: Int, row: String) {
    let widget = Self.widget(Self.longID) {
      $0.error = WidgetError(reason: "R", message: "no answer")
      $0.isStale = true
      $0.presence.isVisible = false
    }
    let text = Table.of([widget], now: Samples.time(1060)).text(width: width, Samples.plain)
    #expect(Self.rows(text, width) == [row])
  }

  @Test func `a state leaves out the word visible before the reason of a failure`() {
    let widget = Self.widget("notes") {
      $0.error = WidgetError(reason: "R", message: "no answer")
    }
    let table = Table.of([widget], now: Samples.time(1060), reasons: true)
    #expect(
      table.text(width: 30, Samples.plain) == """
        ID     STATE      DATA
        notes  error      ! no answer

        """)
  }

  @Test(arguments: [50, 60])
  func `one long id is shortened before all rows lose their data`(width: Int) {
    let long = String(repeating: "i", count: 40)
    let widgets = [long, "a"].map { id in Self.widget(id) { _ in } }
    let table = Table.of(widgets, now: Samples.time(1060))
    let rows = Self.rows(table.text(width: width, Samples.plain), width)
    #expect(rows.allSatisfy { $0.contains("  visible  text=\"12:00") }, "\(rows)")
    // The id keeps half of the terminal.
    #expect(rows.first?.hasPrefix(long.prefix(width / 2 - 1)) == true, "\(rows)")
  }

  @Test func `data stays in 24 columns if it has room`() {
    let widget = Self.widget("a") {
      $0.presence.isVisible = false
      $0.data = ["n": .int(1)]
    }
    #expect(
      Table.of([widget], now: Samples.time(1060)).text(width: 24, Samples.plain) == """
        ID  KIND   STATE   DATA
        a   clock  hidden  n=1

        """)
  }

  @Test func `the state names an unregistered kind only if the kind is not shown`() {
    let table = Table.of(
      [Samples.unregistered { $0.data = ["n": .int(1)] }], now: Samples.time(1060))
    func row(_ width: Int) -> String {
      Self.rows(table.text(width: width, Samples.plain), width).first ?? ""
    }
    #expect(row(80).hasPrefix("w   clock (unregistered)  visible  "), "\(row(80))")
    #expect(row(24) == "w   unregistered    n=1")
  }

  @Test(arguments: [24, 40, 60, 70, 76, 78, 79, 80, 100])
  func `a row says once that the kind is not registered`(width: Int) throws {
    let widget = Samples.unregistered {
      $0.id = Samples.id(Self.longID)
      $0.data = ["n": .int(1)]
    }
    let text = Table.of([widget], now: Samples.time(1060)).text(width: width, Samples.plain)
    let row = try #require(Self.rows(text, width).first)
    #expect(row.ranges(of: "unreg").count == 1, "\(row)")
    #expect(row.contains("unregistered"), "\(row)")
  }

  // MARK: - Others

  @Test(arguments: widths)
  func `the provider of a kind is visible in narrow lists`(width: Int) throws {
    var kind = RegisteredKind(
      kind: Kind(
        name: Samples.kind("trains-of-a-station"), summary: "The departures of a station."),
      provider: "trains")
    kind.isAttended = true
    let text = KindsCommand.table([kind]).text(width: width, Samples.plain)
    #expect(Self.rows(text, width).first?.contains("  away") == true, "\(text)")
    guard width == 24 else { return }
    #expect(
      text == """
        NAME            PROVIDER
        trains-of-a-s…  away

        """)
  }

  @Test func `one long name of a kind is shortened before all kinds lose their description`() {
    let long = String(repeating: "k", count: 40)
    let kinds = [long, "clock"].map { name in
      RegisteredKind(
        kind: Kind(name: Samples.kind(name), summary: "The departures of a station."),
        provider: "")
    }
    let rows = Self.rows(KindsCommand.table(kinds).text(width: 60, Samples.plain), 60)
    #expect(rows.count == 2 && rows.allSatisfy { $0.hasSuffix("  The departu…") }, "\(rows)")
    #expect(rows.first?.hasPrefix(long.prefix(30)) == true, "\(rows)")
  }

  @Test(arguments: [
    (
      26,
      """
      NAME              STATE
      日本語日本語日…   running
      a                 失敗した

      """
    ),
    (
      20,
      """
      NAME
        STATE
      日本語日本語日本語…
        running
      a
        失敗した

      """
    ),
    (
      9,
      """
      NAME
        STATE
      日本語日…
        running
      a
        失敗し…

      """
    ),
  ])
  func `wide characters are cut at their columns, and columns stay aligned`(
    width: Int, text: String
  ) {
    var table = Table("NAME", "STATE", state: "STATE")
    table.add(.init(String(repeating: "日本語", count: 4)), .init("running"))
    table.add(.init("a"), .init("失敗した"))
    #expect(table.text(width: width, Samples.plain) == text)
  }

  @Test(arguments: widths)
  func `the outcome of an activity is visible in narrow lists`(width: Int) {
    let widget = Self.widget("backup") {
      $0.activity = Activity(
        state: .ended, startTime: Samples.time(1000), expireTime: Samples.time(9000),
        endTime: Samples.time(1060))
      $0.data = ["outcome": .string("failed"), "status": .string("no network")]
    }
    let text = Table.of(activities: [widget], now: Samples.time(1060))
      .text(width: width, Samples.plain)
    let row = Self.rows(text, width).first ?? ""
    #expect(row.contains("ended") && row.contains("failed"), "\(row)")
    if width == 24 { #expect(row == "backup  ended,failed") }
  }

  @Test(arguments: widths)
  func `the problem of a node is visible behind long properties`(width: Int) {
    let node = Node(
      id: "a", type: .label, properties: ["text": .string(String(repeating: "x", count: 80))],
      problem: "text: no such key: 'load'")
    let widget = Self.widget("w") { $0.content = Content(rootID: "a", nodes: [node]) }
    let text = Table.nodes(of: [widget]).text(width: width, Samples.plain)
    let row = Self.rows(text, width).first ?? ""
    #expect(row.contains("! ") && row.contains("no such"), "\(row)")
  }

  @Test(arguments: [1_099_511_627_776, UInt64.max], Array(24...40) + [50, 60, 80])
  func `numbers of statistics are not cut`(number: UInt64, width: Int) {
    let name = "a_limit_with_a_long_name_per_uid_and_client_max"
    let table = StatsCommand.table(GetStatsResponse(store: "sqlite", limits: [name: number]))
    let rows = Self.rows(table.text(width: width, Samples.plain), width)
    #expect(rows.last?.hasSuffix("  \(number)") == true, "\(rows)")
  }

  @Test(arguments: Array(1...39) + [40, 50, 60, 80])
  func `a line of a watch keeps the failure`(width: Int) {
    var printer = WatchPrinter(format: .table, mask: .all, painter: Samples.plain, width: width)
    printer.clock = { _ in "12:00:00" }
    let widget = Self.widget("clock") { $0.error = WidgetError(reason: "R", message: "no answer") }
    let frame = WatchFrame.changes(
      ChangeSet(fromRevision: 1, toRevision: 2, changes: [.added(widget, nil)]))
    let line = printer.text(frame, difference: nil, mirror: nil, isFirst: true)
    #expect(String(line.dropLast()).columns <= width && line.hasSuffix("\n"), "\(line)")
    guard width >= 24 else { return }
    #expect(line.contains("clock") && line.contains("! "), "\(line)")
    #expect(line.contains("no an"), "\(line)")
    #expect(line.hasPrefix("12:00:00 ") == (width >= 40))
  }

  /// The line for one change, without a known former state.
  private static func line(_ change: WidgetChange, _ width: Int) -> String {
    var printer = WatchPrinter(format: .table, mask: .all, painter: Samples.plain, width: width)
    printer.clock = { _ in "12:00:00" }
    let frame = WatchFrame.changes(ChangeSet(fromRevision: 1, toRevision: 2, changes: [change]))
    return printer.text(frame, difference: nil, mirror: nil, isFirst: true)
  }

  @Test(arguments: [
    (60, "12:00:00 updated clock  error: SOURCE_FAILED: no answer\n"),
    (40, "12:00:00 updated clock  ! no answer\n"),
    (30, "updated clock  ! no answer\n"),
    (24, "updated clock  ! no ans…\n"),
  ])
  func `a new error is visible behind long data`(width: Int, line: String) {
    var update = WidgetUpdate(id: Samples.id("clock"), revision: 2, updateTime: Samples.time(1))
    update.setData = ["text": .string(String(repeating: "x", count: 60))]
    update.error = WidgetError(reason: "SOURCE_FAILED", message: "no answer")
    #expect(Self.line(.updated(update), width) == line)
  }

  @Test func `a new error is visible behind former data`() throws {
    var printer = WatchPrinter(format: .table, mask: .all, painter: Samples.plain, width: 50)
    printer.clock = { _ in "12:00:00" }
    var mirror = WidgetMirror()
    var text = ""
    var update = WidgetUpdate(
      id: Samples.widget.id, revision: 10, updateTime: Samples.time(3000))
    update.setData = ["text": .string(String(repeating: "x", count: 60))]
    update.error = WidgetError(reason: "R", message: "no answer")
    let change = ChangeSet(fromRevision: 9, toRevision: 10, changes: [.updated(update)])
    for frame in WatchPrinterTests.start + [.changes(change)] {
      let isFirst = !mirror.isSynced
      let difference = try mirror.apply(frame)
      text = printer.text(frame, difference: difference, mirror: mirror, isFirst: isFirst)
    }
    #expect(text == "12:00:00 updated clock  error: R: no answer\n")
  }

  @Test func `data with the name of a failure is no failure`() {
    var update = WidgetUpdate(id: Samples.id("clock"), revision: 2, updateTime: Samples.time(1))
    update.setData = ["error": .string(String(repeating: "x", count: 60))]
    update.error = WidgetError(reason: "R", message: "no answer")
    #expect(Self.line(.updated(update), 40).hasSuffix(" clock  ! R: no answer\n"))
  }

  @Test func `a failure that fits behind a cut id is whole`() {
    let widget = Self.widget(Self.longID) {
      $0.error = WidgetError(reason: "R", message: "failed")
    }
    #expect(Self.line(.added(widget, nil), 30) == "added   bundle/a-wi…  ! failed\n")
  }

  @Test(arguments: [
    (24, "added   a  ! 失敗 failed\n"), (20, "added   a  ! 失敗 f…\n"),
  ])
  func `a line of a watch cuts wide characters at their columns`(width: Int, line: String) {
    let widget = Self.widget("a") { $0.error = WidgetError(reason: "R", message: "失敗 failed") }
    #expect(Self.line(.added(widget, nil), width) == line)
  }
}
