import WidgetBar
import WidgetClient
import WidgetLayout
import WidgetModel

/// The state machine of a status bar: takes frames, and returns the text to write.
struct BarBoard: Sendable {
  /// The ids of the command line, in their order. Empty: all widgets of the watch in display order.
  let ids: [WidgetID]
  /// Whether to leave out status widgets of hosts and bundles that run without errors.
  let leavesOutStanding: Bool
  /// Whether there is one text, which is no part of a stream.
  var isOnce = false
  var encoder: BarEncoder
  var appearance: Theme.Appearance
  var columnsMax: Int
  private(set) var mirror = WidgetMirror()
  private var theme = Theme.standard
  /// Nil while the connection is up.
  private var loss: ConnectionLoss?
  /// The reason why no more frames come.
  private var end: String?
  /// Whether a mistake in the selection has caused the end.
  private var isSelectionWrong = false
  /// The named widgets that have existed.
  private var seen: Set<WidgetID> = []
  /// The kinds of the widgets, as far as the daemon has described them.
  private(set) var kinds: [KindName: Kind] = [:]
  /// The daemon's facts about the providers of stale widgets.
  var providers = ProviderFacts()
  /// The kinds of the selection that nobody has registered, in their order.
  var unknownKinds: [KindName] = []
  /// The ids that were probably meant, by missing ids.
  var nearest: [WidgetID: String] = [:]
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

  mutating func take(
    _ frame: WatchFrame, at now: Timestamp
  ) throws(WidgetMirror.Inconsistency) {
    if case .theme(let state) = frame { theme = state.theme }
    loss = .after(frame, loss, at: now)
    _ = try mirror.apply(frame)
    seen.formUnion(ids.filter { mirror[$0] != nil })
  }

  /// Shows the entries of timelines whose date has come.
  mutating func advance(to now: Timestamp) { _ = mirror.advance(to: now) }

  /// Sets the reason why no more frames come.
  ///
  /// - Parameter isSelectionWrong: Whether the reason is a mistake in the selection.
  mutating func fail(_ words: String, isSelectionWrong: Bool = false) {
    (end, self.isSelectionWrong) = (words, isSelectionWrong)
  }

  private var isConnected: Bool { loss == nil && end == nil }

  /// The notice about all widgets: the reason why their state may be old. Empty while there is a
  /// connection.
  private func notice(_ dates: DateText) -> String {
    if let end { return end }
    guard let loss else { return "" }
    if !mirror.isSynced, !loss.absence.isEmpty { return loss.absence }
    return "\(loss.words) \(BarBoard.since(loss.since, dates))"
  }

  mutating func describe(_ kind: Kind) { kinds[kind.name] = kind }

  /// The widgets that are shown.
  var widgets: [Widget] {
    let all = ids.isEmpty ? mirror.widgets : ids.compactMap { mirror[$0] }
    return all.filter(shows)
  }

  private func shows(_ widget: Widget) -> Bool {
    widget.presence.isVisible
      && (!leavesOutStanding || widget.isShownUnnamed(withStanding: false))
  }

  /// The next text to write, with its newline. Nil if it equals the last one.
  mutating func next(_ dates: DateText) -> String? {
    // Before the first snapshot, an absent widget is not yet a missing one. The daemon reports its store
    // before the snapshot.
    guard mirror.isSynced || end != nil || loss.map({ !$0.isOfStore }) ?? false else { return nil }
    let line = text(blocks(dates), notice(dates))
    guard line != printed else { return nil }
    printed = line
    return line
  }

  /// Whether there was a text to write.
  var hasText: Bool { printed != nil }

  /// The text to write once at the start. Empty for most bars.
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

  /// The time until something in a shown widget reads differently. Nil for never.
  func quiet(_ dates: DateText) -> Duration? {
    (widgets.map { dates.untilChange(of: $0) } + [mirror.untilNextDate(dates.now)])
      .compactMap(\.self).min()
  }

  func blocks(_ dates: DateText) -> [BarBlock] {
    let providers = providers
    var reader = BarReader(
      theme: theme, appearance: appearance, columnsMax: columnsMax,
      dateText: { dates.text(of: $0) },
      failures: { BarBoard.failures(of: $0, providers.staleness(of: $0), dates) })
    reader.isUnregistered = { $0.isOfUnknownKind }
    reader.sinceText = { BarBoard.since($0, dates) }
    reader.showsReasons = !encoder.format.showsTooltips
    reader.takesIcons = encoder.format.takesIcons
    reader.isolatesTexts = encoder.format.usesPango
    reader.imageProblem = { PictureFile.absence(of: $0) }
    guard mirror.isSynced else {
      return [notice(isSelectionWrong ? "selection?" : "widgetd?", "", reader)]
    }
    let isConnected = isConnected
    func block(of widget: Widget) -> BarBlock {
      var block = reader.block(of: widget, isConnected: isConnected)
      guard encoder.format == .polybar else { return block }
      for index in block.parts.indices {
        block.parts[index].buttons = BarClick.buttons.filter { button in
          let node = block.parts[index].node
          // The command of a part without a node names no node.
          let click = BarClick(button: button, node: node.isEmpty ? nil : node)
          return click.event(for: widget, kind: kinds[widget.kind]) != nil
        }
      }
      return block
    }
    var blocks: [BarBlock] = []
    if ids.isEmpty {
      blocks = widgets.map(block)
      let known = Set(mirror.widgets.map(\.kind))
      blocks += unknownKinds.filter { !known.contains($0) }.map { kind in
        notice("\(kind)?", words(forMissing: kind), reader)
      }
    } else {
      for id in ids {
        if let widget = mirror[id] {
          if shows(widget) { blocks.append(block(of: widget)) }
        } else {
          blocks.append(
            notice("\(id)?", words(forMissing: id), reader, of: id))
        }
      }
    }
    return blocks
  }

  /// The named widgets that do not exist.
  var missing: [WidgetID] { mirror.isSynced ? ids.filter { mirror[$0] == nil } : [] }

  /// The names in the selection that the daemon does not have. A bar shows them in tooltips, and
  /// the command reports them on standard error.
  var selectionProblems: [String] {
    let known = Set(mirror.widgets.map(\.kind))
    return missing.map { words(forMissing: $0) }
      + unknownKinds.filter { !known.contains($0) }.map { words(forMissing: $0) }
  }

  private func words(forMissing id: WidgetID) -> String {
    let question = nearest[id].map { "did you mean \"\($0)\"? " } ?? ""
    return "there is no widget \"\(id)\" \(seen.contains(id) ? "any more" : "yet"); "
      + question + "`widgetctl ls` lists all widgets"
  }

  private func words(forMissing kind: KindName) -> String {
    "there is no kind \"\(kind)\" yet; `widgetctl kinds` lists all kinds"
  }

  /// A block that shows a problem.
  private func notice(
    _ text: String, _ tooltip: String, _ reader: BarReader, of id: WidgetID? = nil
  ) -> BarBlock {
    let color = reader.theme.color("color.error", appearance)
    return BarBlock(
      widget: id, parts: [BarPart(text, color: color)],
      tooltip: DisplayText.lines(of: tooltip).joined(separator: "\n"), classes: ["missing"])
  }

  /// The problems of a widget, one per line. Times are absolute: an age would change the text, and
  /// so wake the bar.
  private static func failures(
    of widget: Widget, _ staleness: Staleness?, _ dates: DateText
  ) -> [String] {
    func since(_ time: Timestamp) -> String { BarBoard.since(time, dates) }
    var lines = widget.kindProblem(since).map { [$0] } ?? []
    if let staleness {
      lines.append(
        widget.repeatsError(staleness)
          ? "stale: its data may be old" : "stale: \(staleness.words(since))")
    }
    let kept = widget.keepingPromises(at: dates.now, staleness)
    return lines + kept.untoldFailures.map { $0.words(since) }
  }

  private static func since(_ time: Timestamp, _ dates: DateText) -> String {
    "since \(dates.text(time, style: "datetime", pattern: "", zone: ""))"
  }

  /// Whether each text is an element of the list that the header begins.
  private var isElement: Bool {
    !isOnce && (encoder.format == .i3bar || encoder.format == .swaybar)
  }

  private func text(_ blocks: [BarBlock], _ notice: String) -> String {
    var encoder = encoder
    let notice = DisplayText.lines(of: notice).joined(separator: "\n")
    // Dim like the widgets beside it.
    if !isConnected { encoder.separatorColor = theme.color("color.secondary", appearance) }
    return switch encoder.output(blocks, notice: notice) {
    case .text(let text): text + "\n"
    case .json(let value):
      JSONWriter.compact(value) + (isElement ? ",\n" : "\n")
    }
  }
}
