import WidgetBar
import WidgetModel

/// Text for users to copy into the configuration of a bar, as in Clients/bars, for other widgets.
struct BarConfiguration {
  let format: BarFormat
  /// The arguments of the command line: widgets and options.
  let arguments: [String]
  /// The widget that gets clicks. Nil if there are several.
  let widget: WidgetID?
  /// The family whose nodes take the clicks.
  var family = Family.inline
  var socket: String?

  /// The name of the module in the bar: letters, digits, `_` and `-`.
  private var name: String {
    let name = widget?.rawValue ?? "widgets"
    return String(
      name.map { $0.isASCII && ($0.isLetter || $0.isNumber) || $0 == "_" ? $0 : "-" })
  }

  private func words(_ more: [String] = []) -> [String] {
    ["widgetctl", "bar", "--format", format.rawValue] + more + arguments
  }
  private var command: String { words().map(\.shellQuoted).joined(separator: " ") }

  /// The command for a button. Nil if the clicked widget is unknown.
  private func click(_ button: Int) -> String? {
    widget.map {
      BarConfiguration.command(button, $0, BarPart(""), family: family, socket: socket)
    }
  }

  /// A line for each button. Empty if the clicked widget is unknown.
  private func clicks(_ names: [(Int, String)], _ line: (String, String) -> String) -> [String] {
    names.compactMap { button, name in click(button).map { line(name, $0) } }
  }

  var text: String { lines.joined(separator: "\n") + "\n" }

  /// The classes that a style sheet can name.
  private static let classes =
    "the kind's name, unregistered, stale, failed, disabled, urgent, and classes of nodes"

  private var lines: [String] {
    switch format {
    case .waybar: waybar
    case .i3bar, .swaybar:
      [
        "# In ~/.config/\(format == .i3bar ? "i3" : "sway")/config. Clicks need no configuration.",
        "bar {", "  status_command exec \(command)", "  position top", "}",
      ]
    case .i3blocks: i3blocks
    case .polybar:
      [
        "; In ~/.config/polybar/config.ini; add \(name) to the modules of a bar. Clicks need no",
        "; configuration.",
        "[module/\(name)]", "type = custom/script", "exec = \(command)", "tail = true",
      ]
    case .yambar: yambar
    case .eww: eww
    case .tmux: tmux
    case .json, .plain: [command]
    }
  }

  private var waybar: [String] {
    let buttons = [
      (1, "on-click"), (3, "on-click-right"), (4, "on-scroll-up"), (5, "on-scroll-down"),
    ]
    let keys =
      ["\"return-type\": \"json\"", "\"exec\": \(JSONWriter.quoted(command))"]
      + clicks(buttons) { "\"\($0)\": \(JSONWriter.quoted($1))" }
    return [
      "// All of ~/.config/waybar/config. If you have this file, add the module to it, and",
      "// \"custom/\(name)\" to a list of modules.",
    ] + (widget == nil ? ["// For clicks, make a module for each widget."] : []) + [
      "// For ~/.config/waybar/style.css: #custom-\(name).stale { opacity: 0.6; }",
      "// Classes: \(BarConfiguration.classes).",
      "{", "  \"modules-right\": [\"custom/\(name)\"],", "  \"custom/\(name)\": {",
      keys.map { "    " + $0 }.joined(separator: ",\n"), "  }", "}",
    ]
  }

  private var i3blocks: [String] {
    let lines = [
      "# In ~/.config/i3blocks/config.", "[\(name)]", "command=\(command)", "interval=persist",
      "format=json", "markup=pango",
    ]
    guard let widget else {
      return lines + ["# i3blocks passes clicks to a block with one widget only."]
    }
    // The button is a variable of the shell that i3blocks starts.
    let click = BarConfiguration.command(
      "\"$BLOCK_BUTTON\"", widget, BarPart(""), family: family, socket: socket)
    let once = words(["--once"]).map(\.shellQuoted).joined(separator: " ")
    return lines + [
      "# i3blocks 1.4 passes no clicks to a command that keeps running. For clicks, use this block",
      "# instead. i3blocks starts its command every 2 seconds and at each click.",
      "#[\(name)]", "#command=[ -z \"$BLOCK_BUTTON\" ] || \(click); \(once)", "#interval=2",
      "#format=json", "#markup=pango",
    ]
  }

  private var yambar: [String] {
    let buttons = [(1, "left"), (3, "right"), (4, "wheel-up"), (5, "wheel-down")]
    let onClick = clicks(buttons) { "            \($0): \(JSONWriter.quoted($1))" }
    return [
      "# In ~/.config/yambar/config.yml, in a list of modules.",
      "# The colours are those of this file.",
    ] + (widget == nil ? ["# For clicks, make a module for each widget."] : []) + [
      "- script:", "    path: /usr/bin/env",
      "    args: [\(words().map(JSONWriter.quoted).joined(separator: ", "))]", "    content:",
      "      map:", "        default:", "          string: &\(name)",
      "            text: \"{text}\"",
    ] + (onClick.isEmpty ? [] : ["            on-click:"] + onClick.map { "  " + $0 }) + [
      "        conditions:",
      "          failed: {string: {<<: *\(name), foreground: ff6060ff}}",
      "          urgent: {string: {<<: *\(name), foreground: ffff00ff}}",
      "          stale: {string: {<<: *\(name), foreground: 808080ff}}",
      "          disabled: {string: {<<: *\(name), foreground: 808080ff}}",
    ]
  }

  private var eww: [String] {
    let options =
      BarConfiguration.clickOptions(family: family, socket: socket)
      .map { " " + $0.shellQuoted.inEwwString }.joined()
    // eww ends a command that takes longer than 200 ms, unless it is in the background.
    func click(_ button: String) -> String {
      "\"widgetctl bar --click \(button) ${block.id}\(options) &\""
    }
    let color = "${block.color == '' ? '' : 'color: ${block.color};'}"
    let background =
      "${block.background == '' ? '' : 'background-color: ${block.background};'}"
    return [
      "; In ~/.config/eww/eww.yuck; add (\(name)-view) to a window.",
      "; For ~/.config/eww/eww.scss: .stale { opacity: 0.6; }",
      "; Classes: \(BarConfiguration.classes).",
      "(deflisten \(name) :initial \"[]\" \"\(command.inEwwString)\")",
      "(defwidget \(name)-view []",
      "  (box :orientation \"h\" :space-evenly false :spacing 8",
      "    (for block in \(name)",
      "      (eventbox :onclick \(click("1"))",
      "                :onrightclick \(click("3"))",
      "                :onscroll \(click("$(test {} = up && echo 4 || echo 5)"))",
      "                :tooltip {block.tooltip}",
      "        (label :class \"block ${block.class}\"",
      "               :style \"\(color) \(background)\"",
      "               :text {block.text})))))",
    ]
  }

  private var tmux: [String] {
    let buttons = [
      (1, "MouseDown1StatusRight"), (3, "MouseDown3StatusRight"), (4, "WheelUpStatusRight"),
      (5, "WheelDownStatusRight"),
    ]
    let bindings = clicks(buttons) {
      // tmux shows the failure of a command in the user's pane, and a widget may not take all
      // buttons. So failures are hidden.
      "bind -n \($0) run-shell -b \"\("\($1) || true".inTmuxCommand)\""
    }
    return [
      "# In ~/.tmux.conf.", "set -g status-interval 1", "set -g status-right-length 120",
      "set -g status-right \"\(command.inTmuxStatus) %H:%M\"",
    ]
      + (bindings.isEmpty
        ? ["# A click in tmux names no widget. For clicks, print the configuration of one widget."]
        : ["# Clicks on the right end of the status line.", "set -g mouse on"] + bindings)
  }

  /// The command that sends a click on a part of a widget.
  static func command(
    _ button: Int, _ widget: WidgetID, _ part: BarPart, family: Family = .inline, socket: String?
  ) -> String {
    command("\(button)", widget, part, family: family, socket: socket)
  }

  /// The same, with the button as text of a shell.
  private static func command(
    _ button: String, _ widget: WidgetID, _ part: BarPart, family: Family, socket: String?
  ) -> String {
    var words = [widget.rawValue]
    if !part.node.isEmpty { words += ["--node", part.node] }
    words += clickOptions(family: family, socket: socket)
    return "widgetctl bar --click \(button) " + words.map(\.shellQuoted).joined(separator: " ")
  }

  /// The options of the bar that a click also needs, because its nodes are those of the shown
  /// family.
  private static func clickOptions(family: Family, socket: String?) -> [String] {
    (family == .inline ? [] : ["--as", family.name]) + (socket.map { ["--socket", $0] } ?? [])
  }
}
