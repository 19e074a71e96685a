import WidgetBar
import WidgetModel

/// The text of `--print-config`: a snippet for the configuration of a bar.
struct BarConfiguration {
  let format: BarFormat
  /// The arguments of `widgetctl bar`, quoted for a shell.
  let arguments: String

  private var name: String {
    let word = arguments.prefix { $0 != " " }
    return word.isEmpty || word.first == "-" || word.first == "'" ? "widgets" : String(word)
  }

  private var command: String {
    "widgetctl bar --format \(format.rawValue)" + (arguments.isEmpty ? "" : " \(arguments)")
  }

  private func click(_ button: Int) -> String { "widgetctl bar --click \(button) \(name)" }

  var text: String {
    switch format {
    case .waybar:
      """
      // In ~/.config/waybar/config; add "custom/\(name)" to a list of modules.
      "custom/\(name)": {
        "return-type": "json",
        "exec": \(JSONWriter.quoted(command)),
        "on-click": \(JSONWriter.quoted(click(1))),
        "on-click-right": \(JSONWriter.quoted(click(3))),
        "on-scroll-up": \(JSONWriter.quoted(click(4))),
        "on-scroll-down": \(JSONWriter.quoted(click(5)))
      }

      """
    case .i3bar, .swaybar:
      """
      # In ~/.config/\(format == .i3bar ? "i3" : "sway")/config.
      bar {
        status_command \(command)
      }

      """
    case .i3blocks:
      """
      # In ~/.config/i3blocks/config.
      [\(name)]
      command=\(command)
      interval=persist
      format=json
      markup=pango

      """
    case .polybar:
      """
      ; In ~/.config/polybar/config.ini; add \(name) to the modules of a bar.
      [module/\(name)]
      type = custom/script
      exec = \(command)
      tail = true

      """
    case .yambar:
      """
      # In ~/.config/yambar/config.yml, in a list of modules.
      - script:
          path: /usr/bin/widgetctl
          args: [\(command.dropFirst("widgetctl ".count).split(separator: " ").joined(separator: ", "))]
          content:
            string:
              text: "{text}"
              on-click:
                left: \(click(1))
                right: \(click(3))

      """
    case .eww:
      """
      ; In ~/.config/eww/eww.yuck.
      (deflisten \(name) :initial "[]" \(JSONWriter.quoted(command)))
      (defwidget \(name)-view []
        (box (for block in \(name)
          (button :tooltip {block.tooltip} :class {block.classes[0]}
                  :onclick "widgetctl bar --click 1 ${block.id}" {block.text}))))

      """
    case .tmux:
      """
      # In ~/.tmux.conf.
      set -g status-right '#(\(command.replacingQuotes)) %H:%M'

      """
    case .json, .plain: "\(command)\n"
    }
  }

  /// The shell command that sends a click on a part of a widget.
  static func command(
    _ button: Int, _ widget: WidgetID, _ part: BarPart, socket: String?
  ) -> String {
    var words = ["widgetctl", "bar", "--click", "\(button)", widget.rawValue]
    if !part.node.isEmpty { words += ["--node", part.node] }
    if let socket { words += ["--socket", socket] }
    return words.map(\.inShell).joined(separator: " ")
  }
}

extension String {
  /// The text quoted as one shell word.
  var inShell: String {
    let isPlain =
      !isEmpty
      && utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"):
          true
        default: "-_./:@%+,=".utf8.contains(byte)
        }
      }
    return isPlain
      ? self
      : "'" + split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''")
        + "'"
  }

  /// The text with double quotes for single ones: tmux cannot escape a quote in single quotes.
  fileprivate var replacingQuotes: String { map { $0 == "'" ? "\"" : String($0) }.joined() }
}
