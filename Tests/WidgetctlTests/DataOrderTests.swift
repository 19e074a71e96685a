import Testing
import WidgetClient
import WidgetModel

@testable import widgetctl

/// Lines whose end may be cut off begin with the same values.
struct DataOrderTests {
  /// In the order of their keys, the most useful values are at the end.
  private static let memory: ValueMap = [
    "available_kib": .int(5_000_000), "free_kib": .int(900_000), "state": .string("ok"),
    "text": .string("1.1 GiB"), "title": .string("Memory"), "value": .double(0.25),
  ]
  private static let keys = ["text", "title", "value", "state", "available_kib", "free_kib"]

  /// The keys of the data in a line, each followed by a mark.
  private static func found(in line: String, before mark: Character) -> [String] {
    line.split(separator: " ").compactMap { $0.split(separator: mark).first.map(String.init) }
      .filter { keys.contains($0) }
  }

  @Test func `the table and the lines of a watch have the data in one order`() {
    var before = Samples.widget
    before.data = Self.memory
    var after = before
    for key in Self.keys { after.data[key] = .string("new") }
    #expect(Self.found(in: after.dataSummary, before: "=") == Self.keys)
    let differences = ChangeText.differences(before, after).joined(separator: " ")
    #expect(Self.found(in: differences, before: ":") == Self.keys)
    var update = WidgetUpdate(id: before.id, revision: 2, updateTime: Samples.time(5))
    update.setData = after.data
    update.unsetData = ["title"]
    update.setData["title"] = nil
    var printer = WatchPrinterTests.printer()
    let frame = WatchFrame.changes(
      ChangeSet(fromRevision: 1, toRevision: 2, changes: [.updated(update)]))
    let line = printer.text(frame, difference: nil, mirror: nil, isFirst: true)
    #expect(Self.found(in: line, before: ":") == Self.keys)
  }

  @Test func `a line of a watch at 80 columns shows the text before other data`() throws {
    var start = Samples.widget
    start.data = Self.memory
    var update = WidgetUpdate(id: start.id, revision: 10, updateTime: Samples.time(3000))
    update.setData = [
      "available_kib": .int(4_000_000), "free_kib": .int(800_000), "text": .string("1.2 GiB"),
    ]
    let frames: [WatchFrame] = [
      .opened(WatchOpened(subscriptionID: 1, epoch: 1, revision: 9)),
      .snapshot(SnapshotChunk(widgets: [start])),
      .synced(WatchSynced(revision: 9, resumeToken: [1])),
      .changes(ChangeSet(fromRevision: 9, toRevision: 10, changes: [.updated(update)])),
    ]
    var printer = WatchPrinter(format: .table, mask: .all, painter: Samples.plain, width: 80)
    printer.clock = { _ in "12:00:00" }
    var mirror = WidgetMirror()
    var text = ""
    for frame in frames {
      let isFirst = !mirror.isSynced
      let difference = try mirror.apply(frame)
      text = printer.text(frame, difference: difference, mirror: mirror, isFirst: isFirst)
    }
    #expect(
      text.hasPrefix(#"12:00:00 updated clock  text: "1.1 GiB" -> "1.2 GiB"  available_kib: "#),
      "\(text)")
  }

  @Test func `changes of parameters and labels stay in the order of their keys`() {
    var before = Samples.widget
    before.parameters = ["a": .int(1), "text": .int(1)]
    before.labels = ["panel": "top", "text": "a"]
    var after = before
    after.parameters = ["a": .int(2), "text": .int(2)]
    after.labels = ["panel": "left", "text": "b"]
    #expect(
      ChangeText.differences(before, after) == [
        "parameters.a: 1 -> 2", "parameters.text: 1 -> 2",
        #"labels.panel: "top" -> "left""#, #"labels.text: "a" -> "b""#,
      ])
  }
}
