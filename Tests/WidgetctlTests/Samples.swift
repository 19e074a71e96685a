import WidgetModel

@testable import widgetctl

enum Samples {
  static func id(_ text: String) -> WidgetID {
    guard let id = WidgetID(text) else { preconditionFailure("\(text) is not an id") }
    return id
  }

  static func kind(_ text: String) -> KindName {
    guard let kind = KindName(text) else { preconditionFailure("\(text) is not a kind") }
    return kind
  }

  static func time(_ seconds: Int64) -> Timestamp {
    Timestamp(nanosecondsSinceEpoch: seconds * 1_000_000_000)
  }

  /// Every field that is usual has a value.
  static var widget: Widget {
    Widget(
      id: id("clock"), kind: kind("clock"), family: .extraLarge, labels: ["panel": "top"],
      presence: Presence(isVisible: true, isEnabled: false), position: 1024,
      parameters: ["zone": .string("UTC")], data: ["n": .int(1), "text": .string("12:00")],
      createdRevision: 3, revision: 9, createTime: time(1000), updateTime: time(2000),
      ownerUID: 1000)
  }

  /// A widget of the unregistered kind `clock`, with the content that the daemon makes of its data.
  static func unregistered(
    hasData: Bool = true, _ change: (inout Widget) -> Void = { _ in }
  ) -> Widget {
    func label(_ id: String, _ text: String) -> Node {
      Node(id: id, type: .label, properties: ["text": .string(text)])
    }
    let row = Node(
      id: "row/max", type: .stack, properties: ["axis": .string("horizontal")],
      childIDs: ["key/max", "value/max"])
    let table = Node(
      id: "table", type: .table,
      properties: ["columns": .list([.string("Key"), .string("Value")])], childIDs: [row.id])
    let data = [table, row, label("key/max", "max"), label("value/max", "21.5")]
    var widget = Widget(id: id("w"), kind: kind("clock"), family: .small)
    widget.content = Content(
      rootID: "plain",
      nodes: [Node(id: "plain", type: .stack, childIDs: (hasData ? ["table"] : []) + ["kind"])]
        + (hasData ? data : []) + [label("kind", "The kind \"clock\" is not registered.")])
    change(&widget)
    return widget
  }

  static let plain = Painter(usesColour: false)
}
