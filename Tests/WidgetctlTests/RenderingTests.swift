import Testing
import WidgetClient
import WidgetModel

@testable import widgetctl

struct DocumentTests {
  @Test func `a widget has the fields of the message in lower camel case`() {
    #expect(
      JSONWriter.pretty(Samples.widget.document(etag: "e9")) == """
        {
          "createTime": "1970-01-01T00:16:40Z",
          "createdRevision": 3,
          "data": {
            "n": 1,
            "text": "12:00"
          },
          "enabled": false,
          "etag": "e9",
          "family": "extra-large",
          "id": "clock",
          "kind": "clock",
          "labels": {
            "panel": "top"
          },
          "ownerUid": 1000,
          "parameters": {
            "zone": "UTC"
          },
          "position": 1024,
          "revision": 9,
          "state": "disabled",
          "updateTime": "1970-01-01T00:33:20Z",
          "visible": true
        }
        """)
  }

  @Test func `stale, error and applySet are in the document only if they are set`() {
    var widget = Samples.widget
    widget.isStale = true
    widget.error = WidgetError(reason: "FETCH_FAILED", message: "no answer")
    widget.applySet = "panel"
    let text = JSONWriter.compact(widget.document())
    #expect(text.contains(#""applySet":"panel""#))
    #expect(text.contains(#""error":{"message":"no answer","reason":"FETCH_FAILED"}"#))
    #expect(text.contains(#""stale":true"#))
  }

  @Test func `a read mask leaves out all other fields`() throws {
    let mask = try ReadMask(paths: ["data.n"])
    #expect(
      JSONWriter.compact(mask.filter(Samples.widget).document(mask: mask))
        == #"{"createdRevision":3,"data":{"n":1},"id":"clock","kind":"clock","revision":9}"#)
  }

  @Test func `a change frame is one object`() {
    var update = WidgetUpdate(id: Samples.id("a"), revision: 5, updateTime: .epoch)
    update.setData = ["n": .int(2)]
    update.unsetData = ["m"]
    update.presence = Presence(isVisible: false)
    update.error = .some(nil)
    update.transition = Transition(curve: .spring, duration: .milliseconds(300))
    let set = ChangeSet(
      fromRevision: 4, toRevision: 6,
      changes: [.removed(Samples.id("b"), nil), .updated(update)], resumeToken: [1])
    #expect(
      WatchFrame.changes(set).documents(mask: .all).map(JSONWriter.compact) == [
        #"{"changes":[{"removed":{"id":"b"}},{"updated":{"enabled":true,"error":null,"id":"a","#
          + #""revision":5,"setData":{"n":2},"state":"hidden","transition":{"curve":"spring","#
          + #""duration":"0.3s"},"unsetData":["m"],"updateTime":"1970-01-01T00:00:00Z","#
          + #""visible":false}}],"fromRevision":4,"resumeToken":"AQ==","toRevision":6,"#
          + #""type":"changes"}"#
      ])
  }

  @Test func `a change has only requested times`() throws {
    let update = WidgetUpdate(id: Samples.id("a"), revision: 5, updateTime: .epoch)
    let set = ChangeSet(fromRevision: 4, toRevision: 6, changes: [.updated(update)])
    let mask = try ReadMask(paths: ["data"])
    #expect(
      WatchFrame.changes(set).documents(mask: mask).map(JSONWriter.compact) == [
        #"{"changes":[{"updated":{"id":"a","revision":5}}],"fromRevision":4,"resumeToken":"","#
          + #""toRevision":6,"type":"changes"}"#
      ])
  }

  @Test func `a part of a change set says that more parts follow`() {
    let set = ChangeSet(fromRevision: 4, more: true)
    #expect(
      WatchFrame.changes(set).documents(mask: .all).map(JSONWriter.compact)
        == [#"{"changes":[],"fromRevision":4,"more":true,"type":"changes"}"#])
  }

  @Test func `events and other frames are one object each`() {
    let event = Event(
      sequence: 12, widgetID: Samples.id("a"), nodeID: "button", name: "click",
      payload: ["n": .int(1)], time: .epoch, revision: 3,
      origin: EventOrigin(uid: 1000, pid: 7, client: "t"))
    #expect(
      WatchFrame.events(EventBatch(events: [event])).documents(mask: .all).map(JSONWriter.compact)
        == [
          #"{"name":"click","nodeId":"button","origin":{"client":"t","pid":7,"uid":1000},"#
            + #""payload":{"n":1},"revision":3,"sequence":12,"time":"1970-01-01T00:00:00Z","#
            + #""type":"event","widgetId":"a"}"#
        ])
    #expect(
      WatchFrame.gap(EventGap(firstSequence: 1, lastSequence: 2)).documents(mask: .all)
        .map(JSONWriter.compact) == [#"{"firstSequence":1,"lastSequence":2,"type":"gap"}"#])
    #expect(
      WatchFrame.synced(WatchSynced(revision: 4, resumeToken: [1])).documents(mask: .all)
        .map(JSONWriter.compact) == [#"{"resumeToken":"AQ==","revision":4,"type":"synced"}"#])
  }
}

struct TableTests {
  @Test(
    arguments: [
      (["data.status.save.state", "data.load[1]"], #"load[1]=2 status.save.state="failure""#),
      (["data.load", "data.status.x.y"], "load=[1,2]"), (["data.load"], #"load=[1,2] status"#),
    ] as [([String], String)])
  func `a table shows the requested parts of values`(paths: [String], summary: String) {
    var widget = Samples.widget
    widget.data = [
      "load": .list([.int(1), .int(2)]),
      "status": .map(["save": .map(["state": .string("failure"), "n": .int(1)])]),
    ]
    #expect(FieldOptions.projected(widget, paths).data.dataSummary.hasPrefix(summary))
  }

  @Test func `a long list or map does not hide the data behind it`() {
    let data: ValueMap = [
      "a": .map(["message": .string(String(repeating: "x", count: 40))]),
      "b": .list((0..<40).map { .int($0) }), "c": .list([.int(1)]),
      "d": .timestamp(Samples.time(60)), "e": .duration(.seconds(90)), "f": .int(1),
    ]
    #expect(data.dataSummary == "a={…} b=[…] c=[1] d=1970-01-01T00:01:00Z e=90s f=1")
    #expect(data.summary.contains("[0,1,2"))
  }

  @Test func `a table marks a kind that is not registered`() {
    var widget = Samples.unregistered()
    let table = Table.of([widget], now: Samples.time(1060)).text(width: nil, Samples.plain)
    #expect(table.contains("clock (unregistered)"))
    widget.content?.nodes.removeAll { $0.id == "kind" }
    #expect(!Table.of([widget], now: .epoch).text(width: nil, Samples.plain).contains("unreg"))
  }

  @Test func `columns are aligned and lines have no trailing blanks`() {
    var other = Samples.widget
    other.id = Samples.id("a-longer-one")
    other.presence = Presence()
    other.data = [:]
    other.isStale = true
    let table = Table.of([Samples.widget, other], now: Samples.time(1060))
    #expect(
      table.text(width: nil, Samples.plain) == """
        ID            KIND   STATE          REVISION  AGE  DATA
        clock         clock  disabled       9         60s  text="12:00" n=1
        a-longer-one  clock  visible,stale  9         60s

        """)
  }

  @Test func `a row shows the messages of sources, and cuts long data also in a pipe`() {
    func row(_ data: ValueMap) -> String {
      var widget = Samples.widget
      widget.data = data
      return Table.of([widget], now: Samples.time(1060)).text(width: nil, Samples.plain)
    }
    let idle: Value = .map(["state": .string("idle"), "message": .string("")])
    let failed: Value = .map(["state": .string("failure"), "message": .string("no answer")])
    #expect(row(["n": .int(1), "status": .map(["save": idle])]).hasSuffix("n=1\n"))
    let both = row(["status": .map(["save": idle, "load": failed])])
    #expect(both.contains(#"status.load="no answer""#) && !both.contains("save"))
    let done: Value = .map(["state": .string("success"), "message": .string("")])
    #expect(row(["n": .int(1), "status": .map(["load": done])]).hasSuffix("n=1\n"))
    #expect(row(["status": .map(["load": .int(1)])]).hasSuffix("status={\"load\":1}\n"))
    let long = row(["text": .string(String(repeating: "x", count: 2_000))])
    #expect(long.hasSuffix("xxx…\n") && long.utf8.count < 400)
  }

  @Test func `without rows only the header is printed`() {
    #expect(
      Table.of([], now: .epoch).text(width: nil, Samples.plain)
        == "ID  KIND  STATE  REVISION  AGE  DATA\n")
  }

  @Test func `a terminal has one message for a list without widgets`() {
    func text(width: Int?, isNoted: Bool) -> [String] {
      let printer = Printer(format: .table, painter: Samples.plain, width: width)
      return [
        printer.table(of: [], isNoted: isNoted),
        printer.table(of: ["data.n"], in: [], mask: .all, isNoted: isNoted),
      ]
    }
    #expect(text(width: 80, isNoted: false) == ["no widgets\n", "no widgets\n"])
    // The note is on standard error.
    #expect(text(width: 80, isNoted: true) == ["", ""])
    #expect(
      text(width: nil, isNoted: true)
        == ["ID  KIND  STATE  REVISION  AGE  DATA\n", "ID  KIND  data.n\n"])
  }

  @Test func `columns of fields outside the read mask are empty`() throws {
    let mask = try ReadMask(paths: ["data.n"])
    let table = Table.of([mask.filter(Samples.widget)], now: Samples.time(1060), mask: mask)
    #expect(
      table.text(width: nil, Samples.plain) == """
        ID     KIND   STATE  REVISION  AGE  DATA
        clock  clock         9              n=1

        """)
  }

  @Test func `the last column is cut to the terminal's width`() {
    var table = Table("A", "B")
    table.add(.init("1"), .init("0123456789abcdefghijklmnop"))
    #expect(table.text(width: 24, Samples.plain) == "A  B\n1  0123456789abcdefghij…\n")
  }

  @Test func `a reason that is cut keeps its cause`() {
    var widget = Samples.widget
    widget.error = WidgetError(
      reason: "SOURCE_FAILED",
      message: "Bad failed: ls failed: cannot access /a/long/path/x.json: No such file")
    func row(_ width: Int) -> String {
      Table.of([widget], now: Samples.time(2000), reasons: true)
        .text(width: width, Samples.plain).split(separator: "\n").last.map(String.init) ?? ""
    }
    #expect(row(70).hasSuffix("…: No such file") && row(70).columns <= 70, "\(row(70))")
    #expect(row(160).contains("x.json: No such file n=1") || row(160).contains("No such file text"))
    var printer = WatchPrinter(
      format: .table, mask: .all, painter: Samples.plain, width: 70)
    printer.now = { .epoch }
    printer.clock = { "\($0.seconds)" }
    let frame = WatchFrame.changes(
      ChangeSet(fromRevision: 1, toRevision: 2, changes: [.added(widget, nil)]))
    let line = printer.text(frame, difference: nil, mirror: nil, isFirst: true)
    #expect(line.hasSuffix(": No such file\n") && line.columns <= 71, "\(line)")
  }

  @Test(arguments: [
    // A short last column needs no more room.
    (80, "n=1", "panel/overview/extended (unregistered)  n=1"),
    (
      60, "n=1 text=\"0123456789abcdef\"",
      "panel/overview/extended (u…  n=1 text=\"0123456789abcdef\""
    ),
    (30, "n=1 text=\"0123456789abcdef\"", "panel/overv…  n=1 text=\"0…"),
  ])
  func `a column that may shrink is cut before the last one`(
    width: Int, data: String, row: String
  ) {
    var table = Table("ID", "KIND", "DATA", yielding: "KIND")
    table.add(.init("a"), .init("panel/overview/extended (unregistered)"), .init(data))
    #expect(table.text(width: width, Samples.plain).split(separator: "\n").last == "a   \(row)")
  }

  @Test func `colours of a table do not widen its columns`() {
    var table = Table("A", "B")
    table.add(.init("on", .good), .init("x"))
    #expect(
      table.text(width: nil, Painter(usesColour: true))
        == "\u{1B}[1mA\u{1B}[0m   \u{1B}[1mB\u{1B}[0m\n\u{1B}[32mon\u{1B}[0m  x\n")
  }

  @Test(arguments: [
    ("abc", 3), ("日本", 4), ("é", 1), ("e\u{301}", 1), ("😀", 2), ("", 0), ("🇩🇪", 2),
    ("1\u{FE0F}\u{20E3}", 2), ("a\u{FE0F}", 1),
  ])
  func `wide characters take two columns`(_ text: String, columns: Int) {
    #expect(text.columns == columns)
  }

  @Test func `text from a widget cannot control the terminal`() {
    #expect(
      "a\u{1B}[2Jb\n\u{9B}1m\u{202E}\u{61C}".safeForTerminal
        == "a\\u{1b}[2Jb\\u{a}\\u{9b}1m\\u{202e}\\u{61c}")
    let data: ValueMap = ["\u{1B}k": .string("\u{1B}]0;x\u{7}")]
    #expect(data.summary == #"\u{1b}k="\u001b]0;x\u0007""#)
  }
}

struct WatchPrinterTests {
  static func printer() -> WatchPrinter {
    var printer = WatchPrinter(format: .table, mask: .all, painter: Samples.plain)
    printer.now = { .epoch }
    printer.clock = { "\($0.seconds)" }
    return printer
  }

  @Test(arguments: [(true, "0 left    clock\n"), (false, "0 removed clock\n")])
  func `a widget that may only have left the selection is not called removed`(
    mayLeave: Bool, line: String
  ) {
    var printer = WatchPrinter(
      format: .table, mask: .all, painter: Samples.plain, mayLeave: mayLeave)
    printer.now = { .epoch }
    printer.clock = { "\($0.seconds)" }
    let frame = WatchFrame.changes(
      ChangeSet(fromRevision: 1, toRevision: 2, changes: [.removed(Samples.id("clock"), nil)]))
    #expect(printer.text(frame, difference: nil, mirror: nil, isFirst: true) == line)
  }

  @Test func `with --field, a widget that appears shows the named fields`() throws {
    var widget = Samples.widget
    widget.data = [:]
    widget.labels = ["panel": "top"]
    widget.presence = Presence()
    widget.position = 3
    let mask = try ReadMask(paths: ["presence", "labels", "position", "update_time", "stale"])
    var printer = WatchPrinter(format: .table, mask: mask, painter: Samples.plain)
    printer.now = { .epoch }
    printer.clock = { _ in "0" }
    let frame = WatchFrame.changes(
      ChangeSet(fromRevision: 1, toRevision: 2, changes: [.added(widget, nil)]))
    let text = printer.text(frame, difference: nil, mirror: nil, isFirst: true)
    #expect(text.contains("visible"))
    #expect(text.contains("labels: {\"panel\":\"top\"}"))
    #expect(text.contains("position: 3  stale: false  updateTime: 1970"))
    #expect(!text.contains("family"))
  }

  /// Feeds frames as the command does, and collects what is printed.
  static func text(_ frames: [WatchFrame]) throws -> String {
    var printer = printer()
    var mirror = WidgetMirror()
    var text = ""
    for frame in frames {
      let isFirst = !mirror.isSynced
      let difference = try mirror.apply(frame)
      text += printer.text(frame, difference: difference, mirror: mirror, isFirst: isFirst)
    }
    return text
  }

  static let start: [WatchFrame] = [
    .opened(WatchOpened(subscriptionID: 1, epoch: 1, revision: 9)),
    .snapshot(SnapshotChunk(widgets: [Samples.widget])),
    .synced(WatchSynced(revision: 9, resumeToken: [1])),
  ]

  @Test func `a change is a line with the former value`() throws {
    var added = Samples.widget
    added.id = Samples.id("cpu")
    added.presence = Presence()
    added.data = [:]
    added.position = 2048
    var update = WidgetUpdate(
      id: Samples.widget.id, revision: 11, updateTime: Samples.time(3000))
    update.setData = ["text": .string("12:01"), "new": .bool(true)]
    update.unsetData = ["n"]
    update.presence = Presence()
    let frames =
      Self.start + [
        .changes(
          ChangeSet(
            fromRevision: 9, toRevision: 11, changes: [.added(added, nil), .updated(update)])),
        .changes(
          ChangeSet(
            fromRevision: 11, toRevision: 12, changes: [.removed(Samples.widget.id, nil)])),
      ]
    #expect(
      try Self.text(frames) == """
        2000 current clock  clock  disabled  text="12:00" n=1
        2000 added   cpu  clock
        3000 updated clock  state: disabled -> visible  text: "12:00" -> "12:01"  n: 1 -> nothing  \
        new: true
        0 removed clock

        """)
  }

  @Test func `after a reset only the differences are printed`() throws {
    var changed = Samples.widget
    changed.data["n"] = .int(2)
    let frames =
      Self.start + [
        .disconnected(.connectionLost(socketPath: "/s")), .reset(.compacted), .reconnected,
        .opened(WatchOpened(subscriptionID: 2, epoch: 1, revision: 20)),
        .snapshot(SnapshotChunk(widgets: [changed])), .synced(WatchSynced(revision: 20)),
      ]
    #expect(
      try Self.text(frames) == """
        2000 current clock  clock  disabled  text="12:00" n=1
        2000 updated clock  n: 1 -> 2

        """)
  }

  @Test func `without a state a change has the new values`() {
    var printer = Self.printer()
    var update = WidgetUpdate(id: Samples.id("a"), revision: 1, updateTime: Samples.time(5))
    update.setData = ["n": .int(1)]
    let frame = WatchFrame.changes(
      ChangeSet(fromRevision: 0, toRevision: 1, changes: [.updated(update)]))
    #expect(
      printer.text(frame, difference: nil, mirror: WidgetMirror(), isFirst: true)
        == "5 updated a  n: 1\n")
  }

  /// A widget with a node that fails.
  static func failing(_ problem: String) -> Widget {
    var widget = Samples.widget
    widget.presence = Presence()
    var node = Node(id: "top", type: .label, properties: ["color": .string("color.text")])
    node.problem = problem
    widget.content = Content(rootID: "top", nodes: [node])
    return widget
  }

  @Test func `a widget that fails is shown with the reason, also when the failure comes and goes`()
    throws
  {
    func change(_ problem: String, _ revision: Revision) -> WatchFrame {
      var update = WidgetUpdate(
        id: Samples.widget.id, revision: revision, updateTime: Samples.time(3000))
      update.content = ContentChange(setNodes: Self.failing(problem).content?.nodes ?? [])
      return .changes(
        ChangeSet(fromRevision: revision - 1, toRevision: revision, changes: [.updated(update)]))
    }
    let start: [WatchFrame] = [
      .opened(WatchOpened(subscriptionID: 1, epoch: 1, revision: 9)),
      .snapshot(SnapshotChunk(widgets: [Self.failing("text: no such key")])),
      .synced(WatchSynced(revision: 9, resumeToken: [1])),
    ]
    let text = try Self.text(
      start + [change("text: division by zero", 10), change("", 11), change("text: no", 12)])
    #expect(
      text == """
        2000 current clock  clock  visible,error  ! top: text: no such key  text="12:00" n=1
        3000 updated clock  ! top: text: division by zero  content: 1 node
        3000 updated clock  top: works now  content: 1 node
        3000 updated clock  ! top: text: no  content: 1 node

        """)
  }

  @Test func `without a state a change still has the failures`() {
    var printer = Self.printer()
    var update = WidgetUpdate(id: Samples.id("a"), revision: 1, updateTime: Samples.time(5))
    update.error = WidgetError(reason: "NO_ANSWER", message: "refused")
    update.timeline = TimelineStatus(problem: "no zone")
    update.content = ContentChange(setNodes: Self.failing("text: no").content?.nodes ?? [])
    let frame = WatchFrame.changes(
      ChangeSet(fromRevision: 0, toRevision: 1, changes: [.updated(update)]))
    #expect(
      printer.text(frame, difference: nil, mirror: WidgetMirror(), isFirst: true)
        == "5 updated a  error: NO_ANSWER: refused  timeline: no zone  ! top: text: no\n")
  }

  @Test func `events and gaps are lines of their own`() {
    let printer = Self.printer()
    let event = Event(
      sequence: 12, widgetID: Samples.id("a"), nodeID: "b", name: "click",
      payload: ["n": .int(1)], time: Samples.time(7),
      origin: EventOrigin(uid: 1000, client: "t\u{1B}"), isForced: true)
    #expect(
      printer.text(event) == "7 event   a  click  node=b  n=1  forced  (#12 uid 1000 t\\u{1b})\n")
    #expect(
      printer.text(EventGap(firstSequence: 3, lastSequence: 9))
        == "0 gap     events 3 to 9 may be missing; a restart of the daemon skips numbers that no "
        + "event has\n")
  }
}
