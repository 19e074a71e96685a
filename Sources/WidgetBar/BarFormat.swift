public import WidgetModel

/// The input format of a status bar.
public enum BarFormat: String, Hashable, Sendable, CaseIterable {
  /// A custom module with `"return-type": "json"`.
  case waybar
  /// i3's status line protocol, also with clicks.
  case i3bar
  /// sway's variant of the same protocol.
  case swaybar
  /// A block with `interval=persist` and `format=json`.
  case i3blocks
  /// A module `custom/script` with `tail = true`.
  case polybar
  /// A module `script`.
  case yambar
  /// A `deflisten` variable.
  case eww
  /// `#(…)` in a status line.
  case tmux
  /// All fields of all blocks, one JSON list per line.
  case json
  /// Text alone.
  case plain

  /// Whether the bar writes clicks to standard input.
  public var takesClicks: Bool {
    switch self {
    case .i3bar, .swaybar, .i3blocks: true
    case .waybar, .polybar, .yambar, .eww, .tmux, .json, .plain: false
    }
  }

  /// Whether the bar has tooltips, or its configuration can show one.
  public var showsTooltips: Bool {
    switch self {
    case .waybar, .eww, .json: true
    case .i3bar, .swaybar, .i3blocks, .polybar, .yambar, .tmux, .plain: false
    }
  }

  /// Whether the bar takes the name of an icon beside the text.
  public var takesIcons: Bool {
    switch self {
    case .waybar, .yambar, .eww, .json: true
    case .i3bar, .swaybar, .i3blocks, .polybar, .tmux, .plain: false
    }
  }

  /// Whether the bar draws with Pango, which reorders right-to-left text.
  public var usesPango: Bool {
    switch self {
    case .waybar, .i3bar, .swaybar, .i3blocks, .eww: true
    case .polybar, .yambar, .tmux, .json, .plain: false
    }
  }

  /// Whether the bar separates widgets. Otherwise the encoder writes a separator.
  public var keepsApart: Bool {
    switch self {
    case .i3bar, .swaybar, .eww, .json: true
    case .waybar, .i3blocks, .polybar, .yambar, .tmux, .plain: false
    }
  }
}

/// The output for one state of a bar.
public enum BarOutput: Hashable, Sendable {
  /// Text without the newline at the end.
  case text(String)
  case json(Value)
}

/// Encodes blocks in the format of a bar.
///
/// In every format, text of widgets is escaped: it cannot inject markup, actions or lines.
public struct BarEncoder: Sendable {
  public var format: BarFormat
  /// The text between two widgets, for bars that do not separate them.
  public var separator: String
  /// The colour of separators, for bars in which text has colours. Nil for the bar's colour.
  public var separatorColor: ThemeColor?
  /// The shell command that sends a click on a part. Nil if the part takes no click. Used for bars
  /// that run a command at a click. It must not contain a newline.
  public var command: @Sendable (_ button: Int, _ widget: WidgetID, _ part: BarPart) -> String?

  public init(
    format: BarFormat, separator: String = " | ",
    command: @escaping @Sendable (_ button: Int, _ widget: WidgetID, _ part: BarPart) -> String? = {
      _, _, _ in nil
    }
  ) {
    self.format = format
    self.separator = separator
    self.command = command
  }

  /// Encodes the blocks. Leaves out blocks without text. A block for eww, or in JSON, can have an icon
  /// instead.
  ///
  /// - Parameter notice: A message about all blocks, such as a lost connection. The bar's tooltip
  ///   has it once. If each block has a tooltip, each of them has it.
  public func output(_ blocks: [BarBlock], notice: String = "") -> BarOutput {
    switch format {
    case .i3bar, .swaybar: .json(.list(blocks.filter { !$0.text.isEmpty }.flatMap(i3Blocks)))
    case .i3blocks:
      .json(
        .map(
          i3Properties(
            PangoMarkup.withoutJSONEscapes(joined(blocks, PangoMarkup.text)),
            blocks.filter { !$0.text.isEmpty })))
    case .waybar: .json(waybar(blocks, notice))
    case .polybar: .text(joined(blocks, polybar))
    case .tmux: .text(joined(blocks, TmuxMarkup.text))
    case .yambar: .text(yambar(blocks))
    case .plain: .text(joined(blocks, \.text))
    case .eww, .json:
      .json(
        .list(
          blocks.filter(\.isShown).map { block in
            var block = block
            block.tooltip = [notice, block.tooltip].filter { !$0.isEmpty }.joined(separator: "\n")
            if format == .eww { block.tooltip = TooltipText.bounded(block.tooltip) }
            return document(block)
          }))
    }
  }

  private func joined(_ blocks: [BarBlock], _ text: (BarBlock) -> String) -> String {
    blocks.filter { !$0.text.isEmpty }.map(text).joined(separator: separatorText)
  }

  /// The separator, coloured and escaped like the text of widgets.
  private var separatorText: String {
    let part = BarPart(separator, color: separatorColor)
    let block = BarBlock(widget: nil, parts: [part])
    return switch format {
    case .waybar, .i3blocks: PangoMarkup.text(of: block)
    case .polybar: PolybarMarkup.text(of: part, in: block)
    case .tmux: TmuxMarkup.text(of: block)
    case .i3bar, .swaybar, .yambar, .eww, .json, .plain: separator
    }
  }

  // MARK: - i3bar

  /// One i3bar block per run of parts with the same node, so that a click names the node.
  private func i3Blocks(_ block: BarBlock) -> [Value] {
    var groups: [[BarPart]] = []
    for part in block.parts {
      if groups.last?.last?.node == part.node {
        groups[groups.count - 1].append(part)
      } else {
        groups.append([part])
      }
    }
    return groups.enumerated().map { index, parts in
      var group = block
      group.parts = parts
      var map = i3Properties(i3Text(group).text, [group])
      map["markup"] = .string(i3Text(group).isMarkup ? "pango" : "none")
      map["name"] = .string(block.widget?.rawValue ?? "")
      map["instance"] = .string(parts[0].node)
      if groups.count == 1, let short = block.shortText {
        map["short_text"] = .string(
          i3Text(group).isMarkup ? PangoMarkup.escaped(short) : short)
      }
      if index < groups.count - 1 {
        map["separator"] = .bool(false)
        map["separator_block_width"] = .int(0)
      }
      return .map(map)
    }
  }

  /// Plain text if the block is one part without attributes: bars without Pango show it too.
  private func i3Text(_ block: BarBlock) -> (text: String, isMarkup: Bool) {
    if block.parts.count == 1, let part = block.parts.first, !part.hasAttributes {
      return (part.text, false)
    }
    return (PangoMarkup.text(of: block), true)
  }

  private func i3Properties(_ text: String, _ blocks: [BarBlock]) -> ValueMap {
    var map: ValueMap = ["full_text": .string(text)]
    let first = blocks.first
    if blocks.count == 1, let first {
      if let color = first.wholeColor { map["color"] = .string(color.description) }
      if let background = first.wholeBackground {
        map["background"] = .string(background.description)
      }
      if format == .i3blocks, let short = first.shortText {
        map["short_text"] = .string(PangoMarkup.withoutJSONEscapes(PangoMarkup.escaped(short)))
      }
    }
    if format == .i3blocks { map["markup"] = .string("pango") }
    let isUrgent = blocks.contains { $0.isUrgent }
    // i3blocks takes text alone.
    map["urgent"] = format == .i3blocks ? .string("\(isUrgent)") : .bool(isUrgent)
    return map
  }

  // MARK: - waybar

  private func waybar(_ blocks: [BarBlock], _ notice: String) -> Value {
    let tooltips = ([notice] + blocks.map { blocks.count > 1 ? $0.namedTooltip : $0.tooltip })
      .filter { !$0.isEmpty }
    let tooltip = TooltipText.bounded(tooltips.joined(separator: "\n"))
    let classes = blocks.flatMap(\.classes)
    var map: ValueMap = [
      "text": .string(joined(blocks, PangoMarkup.text)),
      "tooltip": .string(PangoMarkup.escaped(tooltip)),
      "class": .list(classes.map { .string($0) }),
      // waybar reads the text as markup, so it must be a plain name. It is also a key of
      // `format-icons`.
      "alt": .string(BarReader.iconName(blocks.first?.icon ?? "")),
    ]
    if let percentage = blocks.lazy.compactMap(\.percentage).first {
      map["percentage"] = .int(Int64(percentage))
    }
    return .map(map)
  }

  // MARK: - polybar

  /// The text, wrapped in an action for each button that it takes.
  private func polybar(_ block: BarBlock) -> String {
    block.parts.map { part in
      let actions = part.buttons.compactMap { button in
        block.widget.flatMap { command(button, $0, part) }
          .map { PolybarMarkup.action(button, $0) }
      }
      let text = PolybarMarkup.text(of: part, in: block)
      return actions.joined() + text + String(repeating: "%{A}", count: actions.count)
    }.joined()
  }

  // MARK: - yambar

  /// The maximum size of `text` and `short` for yambar. Together with the other tags, they stay
  /// below 1024 bytes.
  static let yambarTextBytesMax = 380
  /// The maximum size of `icon` for yambar.
  static let yambarIconBytesMax = 80

  /// Tags for yambar's configuration. A blank line ends them.
  ///
  /// There is no tooltip: yambar shows none, and 1.9 aborts if more than 1024 bytes come at once. So the
  /// texts are cut.
  private func yambar(_ blocks: [BarBlock]) -> String {
    let classes = Set(blocks.flatMap(\.classes))
    func text(_ name: String, _ text: String, bytesMax: Int) -> String {
      "\(name)|string|\(text.onOneLine.prefix(bytes: bytesMax))"
    }
    var tags = [
      text("text", joined(blocks, \.text), bytesMax: BarEncoder.yambarTextBytesMax),
      text(
        "short", joined(blocks) { $0.shortText ?? $0.text },
        bytesMax: BarEncoder.yambarTextBytesMax),
      text("icon", blocks.first?.icon ?? "", bytesMax: BarEncoder.yambarIconBytesMax),
      "urgent|bool|\(blocks.contains { $0.isUrgent })",
    ]
    for state in ["stale", "failed", "disabled"] {
      tags.append("\(state)|bool|\(classes.contains(state))")
    }
    let percentage = blocks.lazy.compactMap(\.percentage).first
    tags.append("percentage|range:0-100|\(percentage ?? 0)")
    return tags.joined(separator: "\n") + "\n"
  }

  // MARK: - JSON

  private func document(_ block: BarBlock) -> Value {
    .map([
      "id": .string(block.widget?.rawValue ?? ""), "text": .string(block.text),
      "shortText": .string(block.shortText ?? block.text), "tooltip": .string(block.tooltip),
      "color": .string(block.wholeColor?.description ?? ""),
      "background": .string(block.wholeBackground?.description ?? ""),
      "percentage": block.percentage.map { .int(Int64($0)) } ?? .null,
      "icon": .string(block.icon), "urgent": .bool(block.isUrgent),
      "classes": .list(block.classes.map { .string($0) }),
      // The classes are one text, because eww cannot join a list.
      "class": .string(block.classes.joined(separator: " ")),
      "parts": .list(
        block.parts.map { part in
          .map([
            "text": .string(part.text), "color": .string(part.color?.description ?? ""),
            "background": .string(part.background?.description ?? ""),
            "bold": .bool(part.isBold), "italic": .bool(part.isItalic),
            "underline": .bool(part.isUnderlined), "strikethrough": .bool(part.isStruckThrough),
            "node": .string(part.node),
          ])
        }),
    ])
  }
}

extension BarBlock {
  /// The tooltip for a list of several tooltips. Its first line begins with the widget's id, and
  /// the other lines are indented. The tooltip of a missing widget has the id already.
  fileprivate var namedTooltip: String {
    guard let widget, !tooltip.isEmpty, !classes.contains("missing") else { return tooltip }
    let lines = tooltip.split(separator: "\n", omittingEmptySubsequences: false)
    return "\(widget): " + lines.joined(separator: "\n  ")
  }

  /// The colour of the whole text. Nil if there are several colours, or none.
  fileprivate var wholeColor: ThemeColor? { color ?? only(parts.map(\.color)) }
  fileprivate var wholeBackground: ThemeColor? { background ?? only(parts.map(\.background)) }

  private func only(_ colors: [ThemeColor?]) -> ThemeColor? {
    Set(colors).count == 1 ? colors[0] : nil
  }
}

extension BarPart {
  /// Whether its style has more than colours.
  fileprivate var hasAttributes: Bool { isBold || isItalic || isUnderlined || isStruckThrough }
}

extension String {
  fileprivate var onOneLine: String {
    String(map { $0.isNewline ? " " : $0 })
  }
}
