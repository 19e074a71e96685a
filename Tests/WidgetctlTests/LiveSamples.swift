import WidgetClient
import WidgetLayout
import WidgetModel
import WidgetProto
import WidgetRender
import WidgetTerminal

@testable import widgetctl

/// Boards for tests: values, without a terminal and without a daemon.
enum LiveSamples {
  /// A widget that shows a text.
  static func widget(
    _ id: String, says text: String = "words", position: Int64 = 1, lines: Int = 1,
    change: (inout Widget) -> Void = { _ in }
  ) -> Widget {
    let children = (0..<lines).map { index in
      Node(id: "n\(index)", type: .label, properties: ["text": .string("\(text) \(index)")])
    }
    return widget(
      id,
      content: Content(
        rootID: "box",
        nodes: [Node(id: "box", type: .stack, childIDs: children.map(\.id))] + children),
      position: position, change: change)
  }

  static func widget(
    _ id: String, content: Content, position: Int64 = 1, change: (inout Widget) -> Void = { _ in }
  ) -> Widget {
    var widget = Widget(
      id: Samples.id(id), kind: Samples.kind("k"), family: .medium, position: position,
      createdRevision: 1, revision: 1, createTime: .epoch, updateTime: .epoch, content: content)
    change(&widget)
    return widget
  }

  static func board(
    _ widgets: [Widget], columns: Int = 80, rows: Int = 24,
    look: CellLook = CellLook(usesColor: false),
    change: (inout LiveOptions) -> Void = { _ in }
  ) throws -> LiveBoard {
    var options = LiveOptions(metrics: .cells(), now: { .epoch })
    options.arrangementFile = ArrangementFile(path: "/home/u/dashboard.yaml")
    change(&options)
    var board = LiveBoard(
      options: options, size: TerminalSize(columns: columns, rows: rows), look: look)
    try board.take(.opened(WatchOpened(subscriptionID: 1, epoch: 1, revision: 1)))
    try board.take(.snapshot(SnapshotChunk(widgets: widgets)))
    try board.take(.synced(WatchSynced(revision: 1)))
    return board
  }

  static func lines(_ board: inout LiveBoard) -> [String] {
    PlainTextEncoder.text(board.picture().grid).split(
      separator: "\n", omittingEmptySubsequences: false
    ).map(String.init)
  }

  /// Another text for a node.
  static func change(
    _ id: String, _ node: String, to text: String, from revision: Revision
  ) -> WatchFrame {
    var update = WidgetUpdate(id: Samples.id(id), revision: revision + 1, updateTime: .epoch)
    update.content = ContentChange(setNodes: [
      Node(id: node, type: .label, properties: ["text": .string(text)])
    ])
    return .changes(
      ChangeSet(fromRevision: revision, toRevision: revision + 1, changes: [.updated(update)]))
  }
}
