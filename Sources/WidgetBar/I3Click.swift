public import WidgetModel

/// A click as i3bar, swaybar or i3blocks reports it: one line on standard input.
///
/// i3bar and swaybar write an endless list: `[`, then `{…}` and `,{…}`. i3blocks writes an object,
/// or only a number.
public struct I3Click: Hashable, Sendable {
  /// The widget. Nil if the line does not name it.
  public var widget: WidgetID?
  public var click: BarClick

  /// The JSON text of a line, without the list's brackets and commas. Nil if the rest is empty.
  public static func json(in line: some StringProtocol) -> String? {
    let text = line.drop { $0 == "[" || $0 == "," || $0.isWhitespace }
    guard let end = text.lastIndex(where: { !($0 == "," || $0 == "]" || $0.isWhitespace) }) else {
      return nil
    }
    return String(text[...end])
  }

  /// Parses a click. Nil if the value is not a click.
  ///
  /// - Parameter namesNodes: Whether the bar reports the instance of the clicked block, which is
  ///   the node. i3blocks reports the instance of its configuration.
  public init?(_ value: Value, namesNodes: Bool = true) {
    switch value {
    case .int(let button):
      (widget, click) = (nil, BarClick(button: Int(clamping: button)))
    case .map(let map):
      guard case .int(let button)? = map["button"] else { return nil }
      var node: String?
      if namesNodes, case .string(let instance)? = map["instance"] { node = instance }
      if case .string(let name)? = map["name"] { widget = WidgetID(name) } else { widget = nil }
      click = BarClick(button: Int(clamping: button), node: node)
    default: return nil
    }
  }
}
