import WidgetBar
import WidgetClient
import WidgetLayout
import WidgetModel

/// What a status bar shows: a value that takes frames and says what to write.
struct BarBoard: Sendable {
  /// The widgets in the order of the command line; empty for a selection in display order.
  let ids: [WidgetID]
  /// Whether the widgets that say how a host and its bundles stand are left out while all is well.
  let leavesOutStanding: Bool
  var encoder: BarEncoder
  var appearance: Theme.Appearance
  var columnsMax: Int
  private(set) var mirror = WidgetMirror()
  private var theme = Theme.standard
  /// Why there is no connection; nil if there is one.
  private var loss: String?
  /// What the kinds of the widgets declare, as far as it is known.
  private(set) var kinds: [KindName: Kind] = [:]
  private var printed: String?

  init(
    ids: [WidgetID], leavesOutStanding: Bool, encoder: BarEncoder, appearance: Theme.Appearance,
    columnsMax: Int
  ) {
    self.ids = ids
    self.leavesOutStanding = leavesOutStanding
    self.encoder = encoder
    self.appearance = appearance
    self.columnsMax = columnsMax
  }

  mutating func take(_ frame: WatchFrame) throws(WidgetMirror.Inconsistency) {
    switch frame {
    case .theme(let state): theme = state.theme
    case .disconnected(let error): loss = CommandFailure(error).message
    case .opened, .reconnected: loss = nil
    default: break
    }
    _ = try mirror.apply(frame)
  }

  mutating func describe(_ kind: Kind) { kinds[kind.name] = kind }

  /// The widgets that are shown.
  var widgets: [Widget] {
    let all = ids.isEmpty ? mirror.widgets : ids.compactMap { mirror[$0] }
    return all.filter {
      $0.presence.isVisible && (!leavesOutStanding || $0.isShownUnnamed(withStanding: false))
    }
  }

  /// The next text to write, with its newline; nil if the bar shows it already.
  mutating func next(_ dates: DateText) -> String? {
    // Until the state is there, nothing is known to be missing.
    guard mirror.isSynced || loss != nil else { return nil }
    let line = text(blocks(dates))
    guard line != printed else { return nil }
    printed = line
    return line
  }

  /// What is written before all else; empty for most bars.
  var header: String {
    switch encoder.format {
    case .i3bar, .swaybar:
      JSONWriter.compact(
        .map([
          "version": .int(1), "click_events": .bool(true),
          "stop_signal": .int(Int64(BarSignals.stop)), "cont_signal": .int(Int64(BarSignals.go)),
        ])) + "\n[\n"
    case .waybar, .i3blocks, .polybar, .yambar, .eww, .tmux, .json, .plain: ""
    }
  }

  /// How long until a date in a shown widget says something else; nil if none does.
  func quiet(_ dates: DateText) -> Duration? {
    widgets.lazy.compactMap { $0.content }.flatMap(\.nodes)
      .compactMap { dates.untilChange(of: $0) }.min()
  }

  func blocks(_ dates: DateText) -> [BarBlock] {
    let reader = BarReader(
      theme: theme, appearance: appearance, columnsMax: columnsMax,
      dateText: { dates.text(of: $0) }, failures: { BarBoard.failures(of: $0, dates) })
    guard mirror.isSynced else { return [notice("widgetd?", loss ?? "", reader)] }
    let isConnected = loss == nil
    var blocks = widgets.map { widget in
      var block = reader.block(of: widget, isConnected: isConnected)
      guard encoder.format == .polybar else { return block }
      for index in block.parts.indices {
        block.parts[index].buttons = BarClick.buttons.filter { button in
          let click = BarClick(button: button, node: block.parts[index].node)
          return click.event(for: widget, kind: kinds[widget.kind]) != nil
        }
      }
      return block
    }
    let missing = ids.filter { mirror[$0] == nil }
    blocks += missing.map { id in
      notice(
        "\(id)?", "there is no widget \"\(id)\" yet; `widgetctl ls` lists those that are there",
        reader)
    }
    if let loss, !blocks.isEmpty {
      for index in blocks.indices { blocks[index].tooltip += "\n\(loss)" }
    }
    return blocks
  }

  /// A block that says what is wrong.
  private func notice(_ text: String, _ tooltip: String, _ reader: BarReader) -> BarBlock {
    let color = reader.theme.color("color.error", appearance)
    return BarBlock(
      widget: nil, parts: [BarPart(text, color: color)],
      tooltip: DisplayText.lines(of: tooltip).joined(separator: "\n"), classes: ["missing"])
  }

  /// What is wrong with a widget. Times are points, so that the text stays the same while nothing
  /// happens.
  private static func failures(of widget: Widget, _ dates: DateText) -> [String] {
    var lines = widget.isStale ? ["stale: its data may be old"] : []
    if let error = widget.error {
      let since = error.since.map {
        " since " + dates.text($0, style: "datetime", pattern: "", zone: "")
      }
      lines.append(
        error.reason.onOneLine + (since ?? "")
          + (error.message.isEmpty ? "" : ": \(error.message.onOneLine)"))
    }
    return lines
  }

  private func text(_ blocks: [BarBlock]) -> String {
    switch encoder.output(blocks) {
    case .text(let text): text + "\n"
    case .json(let value):
      JSONWriter.compact(value)
        + (encoder.format == .i3bar || encoder.format == .swaybar ? ",\n" : "\n")
    }
  }
}
