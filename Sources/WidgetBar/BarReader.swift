import WidgetLayout
public import WidgetModel

/// Turns a widget's content into a block: a line of text.
///
/// - Children of stacks and grids stand side by side. A blank separates them, unless `spacing` is
///   `offset.none` or 0. A layered stack shows its last visible child.
/// - The percentage is the one of the first gauge, or of the first label with `percentage`.
/// - A gauge shows its text and percentage, a chart a sparkline of its last values, and a toggle
///   `[x]` or `[ ]` and its text.
/// - A stale widget is dim, and its text ends with `↻`. A widget has failed if it has an error, if its schedule or timeline has a
///   problem, or if its activity has. The text of a failed widget ends with `!` in the error colour; its tooltip
///   has the reason. With `showsReasons` the reason follows the `!`, as far as there is room.
/// - A node with a problem that shows nothing marks the widget as failed, too. The tooltip has the
///   problems of all nodes.
public struct BarReader: Sendable {
  public var theme: Theme
  public var appearance: Theme.Appearance
  /// The maximum number of columns of a block's text, including marks. Longer text is cut, and ends
  /// with `…`.
  public var columnsMax: Int
  /// The maximum size of a tooltip, in bytes.
  public static let tooltipBytesMax = 4096
  /// The maximum number of values in the sparkline of a chart.
  public static let sparklineMax = 16
  /// Whether the text of a failed widget has the reason, for bars without tooltips.
  public var showsReasons = false
  /// The maximum number of columns of a reason in the text. A longer reason loses the text before
  /// its cause.
  public static let reasonColumnsMax = 32
  /// The minimum room for a reason. If there is less room, the reason is left out.
  static let reasonColumnsMin = 8
  /// Whether the bar takes the name of an icon beside the text.
  public var takesIcons = true
  /// Whether marks keep the direction of each text to itself; see `TextDirection`.
  public var isolatesTexts = false
  /// Formats the text of a `date` node.
  public var dateText: @Sendable (Node) -> String
  /// The reason why an image has no picture. Nil if there is no problem. Bars draw no pictures, so
  /// the reason is only in the tooltip.
  public var imageProblem: @Sendable (Node) -> String? = { _ in nil }
  /// The problems of a widget, one line each.
  public var failures: @Sendable (Widget) -> [String]
  /// The words for the start of a node's problem: `since 1 May, 10:00`.
  public var sinceText: @Sendable (Timestamp) -> String = { _ in "" }
  /// Whether the kind of a widget is not registered. Such a widget has the mark of a failed one.
  public var isUnregistered: @Sendable (Widget) -> Bool = { _ in false }

  public init(
    theme: Theme = .standard, appearance: Theme.Appearance = .dark, columnsMax: Int = 60,
    dateText: @escaping @Sendable (Node) -> String = { _ in "" },
    failures: @escaping @Sendable (Widget) -> [String] = { _ in [] }
  ) {
    self.theme = theme
    self.appearance = appearance
    self.columnsMax = columnsMax
    self.dateText = dateText
    self.failures = failures
  }

  /// The block of a widget.
  ///
  /// - Parameter isConnected: False if the connection is lost. The widget then looks stale; the
  ///   tooltip of the bar has the reason.
  public func block(of widget: Widget, isConnected: Bool = true) -> BarBlock {
    var block = BarBlock(widget: widget.id)
    let isStale = widget.isStale || !isConnected
    let isUnregistered = isUnregistered(widget)
    let isEnabled = widget.presence.isEnabled
    let reading = widget.content.map { content in
      // The mark and the reason replace the sentence about the kind.
      var reading = Reading(
        reader: self, content: content, without: isUnregistered ? DataTable.kindNoteID : nil)
      reading.read(content.rootID, Surroundings(isEnabled: isEnabled), depth: 0)
      return reading
    }
    let hasFailed = widget.hasFailed || reading?.isMarked == true
    let isMarked = hasFailed || isUnregistered
    let textColumns =
      columnsMax - (isMarked ? BarReader.mark.count : 0) - (isStale ? BarReader.staleMark.count : 0)
    var line = BarLine(columnsMax: textColumns)
    var short = BarLine(columnsMax: textColumns)
    if let reading {
      line.append(reading.parts)
      short.append(reading.shortParts)
      block.tooltip = reading.tooltips.joined(separator: "\n")
      block.icon = reading.icon
      block.percentage = reading.percentage
      block.isUrgent = reading.isUrgent
      block.classes = reading.classes
      block.background = reading.background
    } else {
      let data = widget.data.entries.map { "\($0.key): \($0.value.scalarText)" }
      var parts = data.map { BarPart(BarReader.onOneLine($0)) }
      for index in parts.indices {
        if isolatesTexts { TextDirection.isolate(&parts[index...index]) }
        if index < parts.count - 1 { parts[index].text += ", " }
      }
      line.append(parts.isEmpty ? [BarPart("")] : parts)
      short = line
    }
    let failures = failures(widget) + (reading?.datedProblems ?? [])
    // The mark and the reason stand outside of a text that is cut.
    if isolatesTexts {
      line.completeDirections()
      short.completeDirections()
    }
    if isStale {
      line.extend(with: BarReader.staleMark)
      short.extend(with: BarReader.staleMark)
    }
    let textCount = line.parts.count
    if isMarked {
      let mark = BarPart(BarReader.mark, color: color("color.error"), isBold: true)
      line.end(with: mark)
      short.end(with: mark)
      let message =
        hasFailed
        ? widget.untoldFailures.first?.reasonText ?? reading?.problems.first
        : "unregistered kind \(widget.kind)"
      if showsReasons, let message,
        let reason = reason(message, room: columnsMax - line.columns)
      {
        var parts = [BarPart(reason, color: color("color.error"))][...]
        if isolatesTexts { TextDirection.isolate(&parts) }
        parts[0].text = " " + parts[0].text
        line.end(with: parts[0])
      }
    }
    block.parts = line.parts
    block.shortText = short.text == line.text ? nil : short.text
    if isStale || !isEnabled {
      let dim = color(isStale ? "color.secondary" : "color.disabled")
      for index in 0..<textCount { block.parts[index].color = dim }
    }
    if line.isCut {
      block.tooltip = line.whole + (block.tooltip.isEmpty ? "" : "\n" + block.tooltip)
    }
    let states = failures + (isEnabled ? [] : ["disabled: it takes no clicks"])
    block.tooltip = (states + (block.tooltip.isEmpty ? [] : [block.tooltip]))
      .joined(separator: "\n").prefix(bytes: BarReader.tooltipBytesMax)
    let stateClasses = [
      isUnregistered ? "unregistered" : nil, isStale ? "stale" : nil,
      hasFailed ? "failed" : nil, isEnabled ? nil : "disabled",
      block.isUrgent ? "urgent" : nil,
    ]
    block.classes = ([widget.kind.rawValue] + stateClasses.compactMap(\.self) + block.classes)
      .map(BarReader.className).removingDuplicates()
    return block
  }

  /// The text of a content: one line, without a limit, and without marks and reasons.
  public func text(of content: Content) -> String {
    var reading = Reading(reader: self, content: content)
    reading.read(content.rootID, Surroundings(), depth: 0)
    return reading.parts.map(\.text).joined()
  }

  /// The mark of a failed widget, after its text.
  static let mark = " !"
  /// The mark of a stale widget, after its text, for people who cannot see colours, and for bars
  /// without colours.
  static let staleMark = " ↻"

  /// The text with blanks for line breaks, and without control characters.
  static func onOneLine(_ text: String) -> String {
    DisplayText.lines(of: text).joined(separator: " ").filter { $0 != "\u{200B}" }
  }

  /// The reason of a failure, shortened to the room beside the text. Nil if there is too little.
  private func reason(_ message: String, room: Int) -> String? {
    let text = DisplayText.lines(of: message).joined(separator: " ")
    // One column is for the blank before it.
    let room = min(room - 1, BarReader.reasonColumnsMax)
    guard !text.isEmpty, room >= BarReader.reasonColumnsMin else { return nil }
    return ReasonText.shortened(text, to: room)
  }

  /// The children of a node that a line of text shows.
  static func shownChildren(of node: Node, _ find: (String) -> Node?) -> [String] {
    switch node.role {
    case .stack where node.isLayered:
      node.childIDs.last { find($0)?.properties["visible"] != .bool(false) }.map { [$0] } ?? []
    case .button, .link, .stack, .grid, .table, .embed, .unknown: node.childIDs
    case .label, .toggle, .input, .gauge, .chart, .date, .image, .spinner, .form, .space: []
    }
  }

  /// Parses `#rrggbb`, `#rrggbbaa` or a colour token. Nil if the text is neither.
  func color(_ text: String) -> ThemeColor? {
    theme.color(named: text, appearance)
  }

  /// The colour of text. `text`, the token of ordinary text, gives none: the bar has its own colour
  /// for it, on a background that the theme does not know.
  fileprivate func foreground(_ value: Value?, within around: Surroundings) -> ThemeColor? {
    guard case .string(let text)? = value else { return around.color }
    let isOrdinary = ThemeToken(text, of: .color)?.name == "color.text"
    if isOrdinary, around.background == nil { return nil }
    return color(text) ?? around.color
  }

  func color(_ value: Value?) -> ThemeColor? {
    if case .string(let text)? = value { color(text) } else { nil }
  }
}

/// The properties that a node inherits from its ancestors.
private struct Surroundings {
  var color: ThemeColor?
  var background: ThemeColor?
  var isBold = false
  var isItalic = false
  /// The nearest ancestor that can be pressed.
  var node = ""
  var isEnabled = true
}

/// One traversal of a content's nodes, from the root.
private struct Reading {
  let reader: BarReader
  let nodes: [String: Node]
  var parts: [BarPart] = []
  var shortParts: [BarPart] = []
  var tooltips: [String] = []
  var classes: [String] = []
  var icon = ""
  var percentage: Int?
  var isUrgent = false
  var background: ThemeColor?
  /// The problems of the nodes that were read, each once.
  var problems: [String] = []
  /// The starts of these problems, as far as they are known.
  private var problemTimes: [String: Timestamp] = [:]
  /// Whether a node with a problem shows nothing, or an embedded widget fails.
  var isMarked = false

  init(reader: BarReader, content: Content, without id: String? = nil) {
    self.reader = reader
    nodes = Dictionary(
      content.nodes.filter { $0.id != id }.map { ($0.id, $0) },
      uniquingKeysWith: { first, _ in first })
  }

  mutating func read(_ id: String, _ around: Surroundings, depth: Int) {
    guard depth < NodeTable.drawnDepthMax, let node = nodes[id],
      node.properties["visible"] != .bool(false)
    else { return }
    var around = around
    around.isEnabled = around.isEnabled && node.properties["enabled"] != .bool(false)
    if let background = reader.color(node.properties["background"]) {
      around.background = background
      if depth == 0 { self.background = background }
    }
    if !around.isEnabled {
      around.color = reader.color("color.disabled")
    } else {
      around.color = reader.foreground(node.properties["color"], within: around)
    }
    readFont(node.properties["font"], &around)
    // A click on a disabled part names it, and so presses nothing else.
    if node.isPressable || node.properties["enabled"] == .bool(false) { around.node = node.id }
    let tooltip = node.text("tooltip")
    if !tooltip.isEmpty {
      tooltips.append(DisplayText.lines(of: tooltip).joined(separator: "\n"))
    }
    if case .list(let names)? = node.properties["classes"] {
      classes += names.map(\.scalarText).filter { !$0.isEmpty }
    }
    if node.properties["urgent"] == .bool(true) { isUrgent = true }
    let count = parts.count
    readContent(of: node, around, depth: depth)
    if node.role == .image, let problem = reader.imageProblem(node) {
      note(problem)
      if parts.count == count { isMarked = true }
    }
    guard !node.problem.isEmpty else { return }
    note(node.problem, since: node.problemSince)
    let isEmpty = parts.count == count && !node.problems.allSatisfy(Node.isOfLook)
    if isEmpty || node.isEmbedOfFailure { isMarked = true }
  }

  private mutating func note(_ problem: String, since: Timestamp? = nil) {
    let problem = BarReader.onOneLine(problem)
    if !problems.contains(problem) { problems.append(problem) }
    if let since { problemTimes[problem] = min(problemTimes[problem] ?? since, since) }
  }

  /// The problems with their starts, for the tooltip.
  var datedProblems: [String] {
    problems.map { problem in
      let since = problemTimes[problem].map(reader.sinceText) ?? ""
      return since.isEmpty ? problem : "\(problem) (\(since))"
    }
  }

  private func readFont(_ value: Value?, _ around: inout Surroundings) {
    guard let value else { return }
    switch value {
    case .string(let name):
      guard let token = ThemeToken(name, of: .font),
        let font = reader.theme.font(token.name) ?? Theme.standard.font(token.name)
      else { return }
      (around.isBold, around.isItalic) = (font.weight == .bold, font.isItalic)
    case .map(let map):
      if case .string(let weight)? = map["weight"] { around.isBold = weight == "bold" }
      if case .bool(let isItalic)? = map["italic"] { around.isItalic = isItalic }
    default: break
    }
  }

  private mutating func readContent(of node: Node, _ around: Surroundings, depth: Int) {
    switch node.role {
    case .label: readLabel(node, around)
    case .button:
      add(node.text("text"), around)
      readIcon(node)
      if node.text("text").isEmpty, node.childIDs.isEmpty { add(node.text("icon"), around) }
      readChildren(of: node, around, depth: depth)
    case .toggle:
      add("[\(node.properties["value"] == .bool(true) ? "x" : " ")] \(node.text("text"))", around)
    case .input:
      let title = node.text("text")
      let value = node.text("mode") == "secret" ? "••••" : node.text("value")
      add(title.isEmpty ? value : "\(title): \(value)", around)
    case .gauge:
      let share = node.percentage
      if percentage == nil { percentage = share }
      let title = node.text("text")
      let value = share.map { "\($0)%" } ?? "-"
      add(title.isEmpty ? value : "\(title) \(value)", around)
    case .chart:
      add(
        [node.text("text"), node.sparkline].filter { !$0.isEmpty }.joined(separator: " "), around)
    case .date: add(reader.dateText(node), around)
    case .image:
      readIcon(node)
      add(reader.text(ofImage: node), around)
    case .spinner:
      if node.properties["active"] != .bool(false) { add("\(node.text("text"))…", around) }
    case .link:
      var link = around
      if link.color == nil { link.color = reader.color("color.link") }
      add(node.text("text"), link)
      readChildren(of: node, link, depth: depth)
    case .form: add(node.text("text"), around)
    case .table where node.childIDs.isEmpty: add(node.text("empty"), around)
    case .stack where node.isLayered:
      for id in BarReader.shownChildren(of: node, { nodes[$0] }) {
        read(id, around, depth: depth + 1)
      }
    case .stack, .grid, .table, .embed, .unknown:
      readChildren(of: node, around, depth: depth)
    case .space: add(" ", around)
    }
  }

  private mutating func readIcon(_ node: Node) {
    guard icon.isEmpty else { return }
    let names = node.role == .image ? ["source", "fallback"] : ["icon"]
    icon = names.lazy.map { BarReader.onOneLine(node.text($0)) }.first { !$0.isEmpty } ?? ""
  }

  private mutating func readChildren(of node: Node, _ around: Surroundings, depth: Int) {
    let gap: String
    switch node.properties["spacing"] {
    case .double(0), .int(0), .string("offset.none"), .string("none"): gap = ""
    default: gap = " "
    }
    for id in node.childIDs {
      let (start, shortStart) = (parts.count, shortParts.count)
      read(id, around, depth: depth + 1)
      // A child that shows nothing gets no gap.
      if !gap.isEmpty, start > 0, parts.count > start, !parts[start - 1].text.hasSuffix(" ") {
        parts.insert(BarPart(gap, background: around.background, node: around.node), at: start)
      }
      if !gap.isEmpty, shortStart > 0, shortParts.count > shortStart,
        !shortParts[shortStart - 1].text.hasSuffix(" ")
      {
        shortParts.insert(BarPart(gap), at: shortStart)
      }
    }
  }

  private mutating func readLabel(_ node: Node, _ around: Surroundings) {
    if percentage == nil { percentage = node.statedPercentage }
    let short = node.text("shortText")
    let (count, shortCount) = (parts.count, shortParts.count)
    defer { isolate(from: count, shortCount) }
    if case .list(let runs)? = node.properties["runs"], !runs.isEmpty {
      for run in runs {
        guard case .map(let map) = run else {
          append(run.scalarText, around)
          continue
        }
        var look = around
        if around.isEnabled { look.color = reader.foreground(map["color"], within: around) }
        if case .string(let weight)? = map["weight"] { look.isBold = weight == "bold" }
        if case .bool(let isItalic)? = map["italic"] { look.isItalic = isItalic }
        append(
          map["text"]?.scalarText ?? "", look, isUnderlined: map["underline"] == .bool(true),
          isStruckThrough: map["strikethrough"] == .bool(true))
      }
    } else {
      append(node.text("text"), around)
    }
    if !short.isEmpty {
      shortParts.removeSubrange(shortCount...)
      shortParts.append(BarPart(BarReader.onOneLine(short)))
    }
  }

  /// Adds a whole text.
  private mutating func add(_ text: String, _ around: Surroundings) {
    let (count, shortCount) = (parts.count, shortParts.count)
    append(text, around)
    isolate(from: count, shortCount)
  }

  /// Marks the parts from these places on as one text.
  private mutating func isolate(from count: Int, _ shortCount: Int) {
    guard reader.isolatesTexts else { return }
    TextDirection.isolate(&parts[count...])
    TextDirection.isolate(&shortParts[shortCount...])
  }

  /// Adds a text, or a part of one.
  private mutating func append(
    _ text: String, _ around: Surroundings, isUnderlined: Bool = false,
    isStruckThrough: Bool = false
  ) {
    let text = BarReader.onOneLine(text)
    guard !text.isEmpty else { return }
    let part = BarPart(
      text, color: around.color, background: around.background, isBold: around.isBold,
      isItalic: around.isItalic, isUnderlined: isUnderlined, isStruckThrough: isStruckThrough,
      node: around.node)
    parts.append(part)
    shortParts.append(part)
  }
}

extension Node {
  fileprivate var isLayered: Bool { properties["axis"] == .string("layered") }

  /// A property as text. Empty if the node does not have it.
  func text(_ name: String) -> String { properties[name]?.scalarText ?? "" }

  /// The property `percentage`, rounded and limited to 0 to 100.
  fileprivate var statedPercentage: Int? {
    guard let number = properties["percentage"]?.number, number.isFinite else { return nil }
    return Int(min(max(number, 0), 100) + 0.5)
  }

  /// Whether a click on the node causes an event.
  var isPressable: Bool {
    !Set(events).isDisjoint(with: ["press", "click", "scroll"])
      || role == .toggle && events.contains("change")
  }

  /// The last values of a chart as blocks of eight heights.
  fileprivate var sparkline: String {
    guard case .list(let values)? = properties["values"] else { return "" }
    let numbers = values.suffix(BarReader.sparklineMax).compactMap(\.number)
    guard let low = properties["min"]?.number ?? numbers.min(),
      let high = properties["max"]?.number ?? numbers.max()
    else { return "" }
    let blocks: [Character] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]
    return String(
      numbers.map { number in
        guard low < high, (high - low).isFinite else { return "▄" }
        let share = min(max((number - low) / (high - low), 0), 1)
        return blocks[min(Int(share * 8), 7)]
      })
  }
}

extension String {
  /// Cuts the text to a limit of UTF-8 bytes, with `…` included.
  func prefix(bytes limit: Int) -> String {
    guard utf8.count > limit else { return self }
    var result = ""
    var used = 3  // Of the ellipsis.
    for character in self {
      used += character.utf8.count
      guard used <= limit else { break }
      result.append(character)
    }
    return result + "…"
  }
}

extension [String] {
  fileprivate func removingDuplicates() -> [String] {
    var seen: Set<String> = []
    return filter { seen.insert($0).inserted }
  }
}
