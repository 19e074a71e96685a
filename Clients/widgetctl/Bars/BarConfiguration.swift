import WidgetBar
import WidgetModel

/// Text for users to copy into the configuration of a bar.
struct BarConfiguration {
  let format: BarFormat
  /// The arguments of the command line: widgets and options.
  let arguments: [String]
  /// The widget that gets clicks. Nil if there are several.
  let widget: WidgetID?
  var socket: String?

  /// The name of the module in the bar: letters, digits, `_` and `-`.
  private var name: String {
    let name = widget?.rawValue ?? "widgets"
    return String(
      name.map { $0.isASCII && ($0.isLetter || $0.isNumber) || $0 == "_" ? $0 : "-" })
  }

  private var words: [String] { ["widgetctl", "bar", "--format", format.rawValue] + arguments }
  private var command: String { words.map(\.inShell).joined(separator: " ") }

  /// The command for a button. Nil if the clicked widget is unknown.
  private func click(_ button: Int) -> String? {
    widget.map { BarConfiguration.command(button, $0, BarPart(""), socket: socket) }
  }

  /// A line for each button. Empty if the clicked widget is unknown.
  private func clicks(_ names: [(Int, String)], _ line: (String, String) -> String) -> [String] {
    names.compactMap { button, name in click(button).map { line(name, $0) } }
  }

  var text: String { lines.joined(separator: "\n") + "\n" }

  private var lines: [String] {
    switch format {
    case .waybar:
      let buttons = [
        (1, "on-click"), (3, "on-click-right"), (4, "on-scroll-up"), (5, "on-scroll-down"),
      ]
      let keys =
        ["\"return-type\": \"json\"", "\"exec\": \(JSONWriter.quoted(command))"]
        + clicks(buttons) { "\"\($0)\": \(JSONWriter.quoted($1))" }
      return [
        "// All of ~/.config/waybar/config. If you have this file, add the module to it, and",
        "// \"custom/\(name)\" to a list of modules.",
        "{", "  \"modules-right\": [\"custom/\(name)\"],", "  \"custom/\(name)\": {",
        keys.map { "    " + $0 }.joined(separator: ",\n"), "  }", "}",
      ]
    case .i3bar, .swaybar:
      return [
        "# In ~/.config/\(format == .i3bar ? "i3" : "sway")/config.", "bar {",
        "  status_command exec \(command)", "}",
      ]
    case .i3blocks:
      return [
        "# In ~/.config/i3blocks/config.", "[\(name)]", "command=\(command)", "interval=persist",
        "format=json", "markup=pango",
      ]
    case .polybar:
      return [
        "; In ~/.config/polybar/config.ini; add \(name) to the modules of a bar.",
        "[module/\(name)]", "type = custom/script", "exec = \(command)", "tail = true",
      ]
    case .yambar:
      let onClick = clicks([(1, "left"), (3, "right")]) { "        \($0): \($1)" }
      return [
        "# In ~/.config/yambar/config.yml, in a list of modules.", "- script:",
        "    path: /usr/bin/env",
        "    args: [\(words.map(JSONWriter.quoted).joined(separator: ", "))]", "    content:",
        "      string:", "        text: \"{text}\"",
      ] + (onClick.isEmpty ? [] : ["        on-click:"] + onClick.map { "  " + $0 })
    case .eww:
      let onClick =
        "widgetctl bar --click 1 ${block.id}"
        + (socket.map { " --socket \($0.inShell.inEwwString)" } ?? "") + " &"
      // eww ends a command that takes longer than 200 ms, unless it is in the background.
      return [
        "; In ~/.config/eww/eww.yuck; add (\(name)-view) to a window.",
        "(deflisten \(name) :initial \"[]\" \"\(command.inEwwString)\")",
        "(defwidget \(name)-view []", "  (box (for block in \(name)",
        "    (button :tooltip {block.tooltip} :class {block.classes[0]}",
        "            :onclick \"\(onClick)\" {block.text}))))",
      ]
    case .tmux:
      return [
        "# In ~/.tmux.conf.", "set -g status-interval 1", "set -g status-right-length 120",
        "set -g status-right \"\(command.inTmuxStatus) %H:%M\"",
      ]
    case .json, .plain: return [command]
    }
  }

  /// The command that sends a click on a part of a widget.
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
  /// The text, quoted as one word of a shell.
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

  /// A text inside a string of eww's configuration, where `${` begins an expression and a backslash
  /// makes any character plain.
  fileprivate var inEwwString: String {
    unicodeScalars.reduce(into: "") { result, scalar in
      if ["\\", "\"", "$"].contains(scalar) { result += "\\" }
      result.unicodeScalars.append(scalar)
    }
  }

  /// The shell command as `#(…)`, for a status line in double quotes in tmux's configuration.
  ///
  /// tmux reads the text three times:
  /// 1. The configuration: a backslash quotes `\`, `"` and `$`.
  /// 2. The status line: `##` is `#`, and `%%` is `%`. `##[` stays, so an empty pair of quotes goes
  ///    between the two characters; the shell has them in quotes.
  /// 3. `#(` ends at the parenthesis that closes it, whatever the shell has in quotes. So commands
  ///    that do nothing supply the missing parentheses.
  fileprivate var inTmuxStatus: String {
    var (open, lowest) = (0, 0)
    for byte in utf8 {
      if byte == UInt8(ascii: "(") { open += 1 }
      if byte == UInt8(ascii: ")") { open -= 1 }
      lowest = min(lowest, open)
    }
    var command = self
    if lowest < 0 { command = ": '\(String(repeating: "(", count: -lowest))'; " + command }
    if open > lowest { command += "; : '\(String(repeating: ")", count: open - lowest))'" }
    var result = ""
    var previous: Unicode.Scalar?
    for scalar in command.unicodeScalars {
      switch scalar {
      case "#": result += "##"
      case "%": result += "%%"
      case "[" where previous == "#": result += "''["
      case "\\", "\"", "$": result += "\\\(scalar)"
      case "\n": result += "\\n"
      default: result.unicodeScalars.append(scalar)
      }
      previous = scalar
    }
    return "#(\(result))"
  }
}
