import Testing
import WidgetModel
import WidgetProto

@testable import widgetctl

/// Tables in terminals with little room.
struct NarrowTableTests {
  private static func widget(_ id: String, _ kind: String, _ text: String) -> Widget {
    var widget = Samples.widget
    widget.id = Samples.id(id)
    widget.kind = Samples.kind(kind)
    widget.data = ["n": .int(1), "text": .string(text)]
    return widget
  }

  @Test(arguments: [
    (
      51,
      """
      ID     KIND   STATE     REVISION  AGE  DATA
      clock  clock  disabled  9         60s  text="12:00…

      """
    ),
    (
      50,
      """
      ID     KIND   STATE     AGE  DATA
      clock  clock  disabled  60s  text="12:00" n=1

      """
    ),
    (
      40,
      """
      ID     KIND   STATE     DATA
      clock  clock  disabled  text="12:00" n=1

      """
    ),
    (
      30,
      """
      ID     STATE     DATA
      clock  disabled  text="12:00"…

      """
    ),
    (
      24,
      """
      ID     STATE
      clock  disabled

      """
    ),
  ])
  func `a narrow list of widgets leaves out the least important columns first`(
    width: Int, text: String
  ) {
    let table = Table.of([Samples.widget], now: Samples.time(1060))
    #expect(table.text(width: width, Samples.plain) == text)
  }

  @Test func `a column is shortened before another one is left out`() {
    let table = Table.of(
      [Self.widget("a", "a-kind-with-a-long-name", "12:00")], now: Samples.time(1060))
    #expect(
      table.text(width: 60, Samples.plain) == """
        ID  KIND           STATE     REVISION  AGE  DATA
        a   a-kind-with-…  disabled  9         60s  text="12:00" n=1

        """)
  }

  @Test(arguments: 1...120)
  func `every row fits into the terminal`(width: Int) {
    let widgets = [
      Samples.widget,
      Self.widget("bundle/a-widget-with-a-long-id", "a-kind-with-a-long-name", "日本語日本語日本語"),
    ]
    var bundles = BundleTable(hasFolders: true)
    bundles.add(
      "a-bundle-with-a-long-name", version: "10.20.30", kinds: 12, widgets: 120,
      in: "/usr/share/widgetd/bundles", .init("failed: 日本語: there is no such program", .bad))
    var owners = Table(
      "FIELD", "VALUE", "OWNER", "DECLARED", dispensable: ["DECLARED", "VALUE"])
    owners.add(
      .init("data.a-key-with-a-long-name"), .init("[1,2,3,4,5,6,7,8,9,10,11,12]"),
      .init("user alice (1000)"), .init("[] by bundle/a-bundle-with-a-long-name"))
    var entries = Table("", "DATE", "SCORE", "TEXT", dispensable: ["SCORE"])
    entries.add(.init("*"), .init("2026-11-30T10:00:00Z"), .init("0.5"), .init("日本語日本語日本語"))
    let texts = [
      Table.of(widgets, now: Samples.time(1060)).text(width: width, Samples.plain),
      bundles.text(Printer(format: .table, painter: Samples.plain, width: width)),
      owners.text(width: width, Samples.plain), entries.text(width: width, Samples.plain),
    ]
    for line in texts.joined(separator: "").split(separator: "\n").map(String.init) {
      #expect(line.columns <= width, "\(line)")
    }
  }

  @Test func `without a terminal, no column is shortened or left out`() {
    let id = "bundle/a-widget-with-a-long-id"
    let text = Table.of(
      [Self.widget(id, "a-kind-with-a-long-name", "12:00")], now: Samples.time(1060)
    ).text(width: nil, Samples.plain)
    #expect(
      text.hasSuffix(
        "\n\(id)  a-kind-with-a-long-name  disabled  9         60s  text=\"12:00\" n=1\n"),
      "\(text)")
  }

  @Test(arguments: [24, 30, 60])
  func `a narrow report of the daemon's state continues its lines below`(width: Int) {
    let report = StatusTests.report(.running(.serving))
    func words(_ text: String) -> String { text.filter { $0 != " " && $0 != "\n" } }
    let narrow = report.text(Samples.plain, width: width)
    for line in narrow.split(separator: "\n").map(String.init) {
      #expect(line.columns <= width, "\(line)")
    }
    #expect(words(narrow) == words(report.text(Samples.plain)))
  }

  @Test func `a line that continues keeps its colours`() {
    var line = WrappedText("●", .good)
    line.add(" widgetd - ")
    line.add("not serving", .bad)
    line.add(" now")
    #expect(
      line.lines(width: 16, Painter(usesColour: true)) == [
        "\u{1B}[32m●\u{1B}[0m widgetd - \u{1B}[31mnot\u{1B}[0m",
        "\u{1B}[31mserving\u{1B}[0m now",
      ])
    #expect(line.lines(width: nil, Samples.plain) == ["● widgetd - not serving now"])
  }

  @Test func `a table leaves out data of bundles and of the host that only programs read`() {
    var widget = Self.widget("bundle/desk", "bundle", "")
    widget.data = [
      "droppedEvents": .list([]), "handled": .map([:]), "name": .string("Desk"),
      "path": .string("/b/desk"), "problem": .string(""), "settable": .map(["k": .map([:])]),
      "state": .string("running"), "version": .string("1.2.0"), "widgets": .int(3),
    ]
    #expect(
      widget.dataSummary == #"state="running" version="1.2.0" path="/b/desk" name="Desk" "#
        + "widgets=3")
    var host = Self.widget("widgetd-host", "widgetd-host", "")
    host.data = [
      "bundles": .int(3), "marks": .list([.string("a")]), "problem": .string(""),
      "state": .string("running"),
    ]
    #expect(host.dataSummary == #"state="running" bundles=3"#)
    host.data["failed"] = .int(0)
    host.data["stub"] = .bool(false)
    host.data["folders"] = .list([.string("/home/ann/widgets"), .string("/srv/widgets")])
    #expect(
      host.dataSummary == #"state="running" bundles=3 folders="/home/ann/widgets, /srv/widgets""#)
    host.data["failed"] = .int(1)
    host.data["stub"] = .bool(true)
    #expect(host.dataSummary.hasPrefix(#"state="running" bundles=3 failed=1 "#))
    #expect(host.dataSummary.hasSuffix(" stub=true"))
    // `watch --field data.marks` has nothing else.
    host.data = ["marks": .list([])]
    #expect(host.dataSummary == "marks=[]")
    var after = widget
    after.data["settable"] = .map([:])
    after.data["state"] = .string("failed")
    #expect(
      ChangeText.differences(widget, after)
        == [#"state: "running" -> "failed""#, #"settable: {"k":{}} -> {}"#])
    let keys = widget.dataForPeople.map(\.key)
    #expect(keys == ["name", "path", "problem", "state", "version", "widgets"])
  }

  @Test func `a table leaves out empty lists and maps beside other data`() {
    let data: ValueMap = [
      "a": .list([]), "b": .map([:]), "n": .int(1), "text": .string(""), "z": .list([.int(1)]),
    ]
    #expect(data.dataSummary == #"text="" n=1 z=[1]"#)
    #expect(data.wholeDataSummary == #"text="" a=[] b={} n=1 z=[1]"#)
    let empty: ValueMap = ["a": .list([]), "b": .map([:])]
    #expect(empty.dataSummary == "a=[] b={}")
  }
}
