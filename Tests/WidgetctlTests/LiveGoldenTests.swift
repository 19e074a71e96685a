import Foundation
import Testing
import WidgetClient
import WidgetLayout
import WidgetModel
import WidgetProto
import WidgetRender
import WidgetTerminal

@testable import widgetctl

/// The look of a whole dashboard, compared with the files in `Golden`.
///
/// After an intended change: `WIDGETD_RECORD_GOLDEN=1 swift test --filter LiveGoldenTests`, look at
/// `git diff Tests/WidgetctlTests/Golden`, and commit it. Escape characters are written as `␛`.
@Suite struct LiveGoldenTests {
  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appending(path: "Golden")
  private static let isRecording =
    ProcessInfo.processInfo.environment["WIDGETD_RECORD_GOLDEN"] == "1"

  @Test(
    arguments: [(80, 24), (200, 60)],
    [Theme.Appearance.light, .dark])
  func `a dashboard looks as it was recorded`(
    size: (columns: Int, rows: Int), appearance: Theme.Appearance
  ) throws {
    var board = try Self.board(size.columns, size.rows, CellLook(appearance: appearance))
    let now =
      ANSIEncoder(depth: .truecolor).text(board.picture().grid)
      .replacing("\u{1B}", with: "␛")
    let file = Self.folder.appending(
      path: "dashboard-\(size.columns)x\(size.rows)-\(appearance.name).txt")
    if Self.isRecording {
      try FileManager.default.createDirectory(at: Self.folder, withIntermediateDirectories: true)
      try now.write(to: file, atomically: true, encoding: .utf8)
    }
    #expect(try now == String(contentsOf: file, encoding: .utf8))
  }

  @Test func `the documentation shows the recorded dashboard`() throws {
    var board = try Self.board(80, 24, CellLook(appearance: .dark))
    let now = PlainTextEncoder.text(board.picture().grid)
    let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appending(path: "../../docs/dashboard.md")
    #expect(try String(contentsOf: page, encoding: .utf8).contains("```text\n\(now)```"))
  }

  private static func board(_ columns: Int, _ rows: Int, _ look: CellLook) throws -> LiveBoard {
    func node(
      _ id: String, _ type: NodeType, _ properties: ValueMap = [:], _ children: [String] = [],
      events: [String] = []
    ) -> Node {
      Node(id: id, type: type, properties: properties, childIDs: children, events: events)
    }
    let counter = Content(
      rootID: "top",
      nodes: [
        node("top", .stack, [:], ["n", "row"]),
        node("n", .label, ["text": .string("3"), "font": .string("title")]),
        node("row", .stack, ["axis": .string("horizontal")], ["less", "more"]),
        node("less", .button, ["text": .string("-")], events: ["press"]),
        node(
          "more", .button, ["text": .string("+"), "style": .string("primary")], events: ["press"]),
      ])
    let disk = Content(
      rootID: "top",
      nodes: [
        node("top", .stack, [:], ["bar", "load"]),
        node(
          "bar", .gauge,
          ["text": .string("/ 58.6 GiB free"), "value": .double(38), "max": .double(100)]),
        node(
          "load", .chart,
          [
            "values": .list([1, 3, 2, 5, 8, 4].map { .double($0) }),
            "style": .string("sparkline"),
          ]),
      ])
    let todo = Content(
      rootID: "top",
      nodes: [
        node("top", .stack, [:], ["table", "form"]),
        node(
          "table", .table,
          ["selection": .string("single"), "selected": .list([.string("b")])],
          ["row/a", "row/b"], events: ["select"]),
        node("row/a", .stack, ["axis": .string("horizontal")], ["t/a"]),
        node("t/a", .label, ["text": .string("water the plants")]),
        node("row/b", .stack, ["axis": .string("horizontal")], ["t/b"]),
        node("t/b", .label, ["text": .string("buy milk 牛乳")]),
        node("form", .form, ["submit": .string("Add")], ["in"], events: ["submit"]),
        node("in", .input, ["name": .string("title"), "text": .string("New")]),
      ])
    var board = try LiveSamples.board(
      [
        LiveSamples.widget("counter", content: counter, position: 1),
        LiveSamples.widget("disk", content: disk, position: 2) { $0.isStale = true },
        LiveSamples.widget("todo", content: todo, position: 3) { $0.family = .large },
        LiveSamples.widget("feed", says: "post", position: 4, lines: 3) {
          $0.error = WidgetError(
            reason: "SOURCE_FAILED", message: "no answer",
            since: Timestamp(seconds: -300, nanoseconds: 0))
        },
        LiveSamples.widget("lamp", says: "off", position: 5) { $0.presence.isEnabled = false },
      ], columns: columns, rows: rows, look: look)
    let host = LiveSamples.widget("widgetd-host") {
      $0.isStale = true
      $0.updateTime = Timestamp.epoch.advanced(by: .seconds(-120))
    }
    var facts = ProviderFacts()
    facts.kinds[Samples.kind("k")] = RegisteredKind(
      kind: Kind(name: Samples.kind("k")), provider: "bundle/disk")
    facts.widgets[host.id] = host
    board.describe(facts)
    _ = board.take(.key(.tab, []))
    return board
  }
}
