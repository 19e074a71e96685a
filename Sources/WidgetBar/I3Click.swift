public import WidgetModel

/// A line that i3bar, swaybar or i3blocks writes at a click.
///
/// i3bar and swaybar write a list that has no end: `[`, then `{…}` and `,{…}`. i3blocks writes an
/// object, or a number alone.
public struct I3Click: Hashable, Sendable {
  /// The widget; nil if the line does not say one.
  public var widget: WidgetID?
  public var click: BarClick

  /// The JSON text of a line, without what makes it a part of a list; nil if there is none.
  public static func json(in line: some StringProtocol) -> String? {
    let text = line.drop { $0 == "[" || $0 == "," || $0.isWhitespace }
    guard let end = text.lastIndex(where: { !($0 == "," || $0 == "]" || $0.isWhitespace) }) else {
      return nil
    }
    return String(text[...end])
  }

  /// Nil if the value is no click.
  public init?(_ value: Value) {
    switch value {
    case .int(let button):
      (widget, click) = (nil, BarClick(button: Int(clamping: button)))
    case .map(let map):
      guard case .int(let button)? = map["button"] else { return nil }
      var node = ""
      if case .string(let instance)? = map["instance"] { node = instance }
      if case .string(let name)? = map["name"] { widget = WidgetID(name) } else { widget = nil }
      click = BarClick(button: Int(clamping: button), node: node)
    default: return nil
    }
  }
}
