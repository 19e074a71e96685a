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

  static let plain = Painter(usesColour: false)
}
