import WidgetLayout
import WidgetModel
import WidgetProto
import WidgetRender

/// One widget of a dashboard: what it shows, laid out, and what its user types and scrolls in it.
struct LivePane {
  /// Names a state of what is laid out.
  struct Version: Hashable {
    /// Which pane of the board's life it is.
    let pane: Int
    /// Grows with each change that the daemon says.
    fileprivate(set) var content = 0
    fileprivate(set) var layout = 0
  }

  private(set) var widget: Widget
  private(set) var table: NodeTable {
    didSet { traits = nil }
  }
  private(set) var version: Version
  private(set) var layout = LayoutResult()
  /// How far each scrolling node is scrolled, in rows or columns.
  private var scroll: [String: Int] = [:]
  private var engine: LayoutEngine
  private var width = -1
  private var isLaidOut = false

  /// What the user typed and switched, over what the daemon says.
  private var edits = LiveEdits()
  /// Nodes that are shown with a value of `edits`.
  private var overridden: Set<String> = []

  init(_ widget: Widget, metrics: LayoutMetrics, number: Int = 0) {
    self.widget = widget
    version = Version(pane: number)
    table = NodeTable(LivePane.content(of: widget))
    engine = LayoutEngine(metrics: metrics)
  }

  /// What a widget shows; its data, a line a key, if its kind says nothing.
  static func content(of widget: Widget) -> Content {
    if let content = widget.content { return content }
    let lines = widget.data.entries.enumerated().map { index, entry in
      Node(
        id: "\(index)", type: .label,
        properties: ["text": .string("\(entry.key): \(entry.value.plainText.onOneLine)")])
    }
    return Content(
      rootID: "data",
      nodes: [Node(id: "data", type: .stack, childIDs: lines.map(\.id))] + lines)
  }

  // MARK: - What the daemon says

  /// Takes the widget as it is now. `change` is what of its content changed; nil if all of it may have.
  mutating func take(_ widget: Widget, change: ContentChange?, isContentSame: Bool) {
    self.widget = widget
    if isContentSame, widget.content != nil { return }
    version.content += 1
    if let change, widget.content != nil, !change.replaces {
      let changes = table.apply(change)
      engine.invalidate(changes)
    } else {
      table = NodeTable(LivePane.content(of: widget))
      engine.invalidateAll()
    }
    isLaidOut = false
    // What the daemon says now is under what the user typed.
    overridden = []
    showEdits()
  }

  /// Compares what the user typed and switched with what the daemon says. Returns what the user is to
  /// be told; empty for nothing.
  mutating func settle(revision: Revision, now: Timestamp) -> String {
    guard !edits.isEmpty else { return "" }
    let words = edits.settle(widget, revision: revision, now: now)
    showEdits()
    return words
  }

  /// Whether there is something for `settle` to compare.
  var isEdited: Bool { !edits.isEmpty }

  /// When `settle` decides by the time alone; nil for never.
  func nextDecision(after now: Timestamp) -> Timestamp? { edits.nextDecision(after: now) }

  private mutating func showEdits() {
    var shown: Set<String> = []
    for (id, value) in edits.shown {
      shown.insert(id)
      show(value, of: id)
    }
    for id in overridden.subtracting(shown) { showTold(id) }
    overridden = shown
  }

  /// Shows what the daemon says of a node.
  private mutating func showTold(_ id: String) {
    guard let told = widget.content?[id] else { return }
    engine.invalidate(table.apply(ContentChange(setNodes: [told])))
    isLaidOut = false
  }

  private mutating func show(_ value: Value, of id: String) {
    guard var node = node(id), node.properties["value"] != value else { return }
    node.properties["value"] = value
    engine.invalidate(table.apply(ContentChange(setNodes: [node])))
    isLaidOut = false
  }

  /// Lets nodes that follow the time be measured again.
  mutating func timeHasPassed() {
    guard followsTime else { return }
    for index in 0..<table.indexEnd where table[index]?.node.followsTime == true {
      engine.invalidate(index: index)
      isLaidOut = false
    }
  }

  /// What moves in it without news from the daemon.
  private struct Traits {
    var followsTime = false
    var isSpinning = false
  }
  /// Where a picture is, in what is laid out.
  struct Image {
    let index: Int
    let frame: LayoutRect
    let clip: LayoutRect
  }
  private(set) var images: [Image] = []
  /// Nil after a change, until it is laid out.
  private var traits: Traits?

  private mutating func findTraits() {
    var found = Traits()
    for index in 0..<table.indexEnd {
      guard let node = table[index]?.node else { continue }
      if node.followsTime { found.followsTime = true }
      if node.isSpinning { found.isSpinning = true }
    }
    traits = found
  }

  /// Whether something in it changes with the time alone.
  var followsTime: Bool { traits?.followsTime ?? true }
  /// How long until it says something else because of the time; nil for never.
  func nextChange(_ dates: DateText) -> Duration? {
    let error = widget.error?.since.map { dates.untilAgeChanges(of: $0) }
    guard followsTime else { return error }
    let nodes = (0..<table.indexEnd).lazy.compactMap { table[$0]?.node }
      .compactMap { dates.untilChange(of: $0) }
    return (Array(nodes) + [error].compactMap(\.self)).min()
  }
  /// Whether a spinner turns in it.
  var isSpinning: Bool { traits?.isSpinning ?? true }

  func node(_ id: String) -> Node? { table.index(of: id).flatMap { table[$0]?.node } }

  // MARK: - Layout

  /// Lays it out for a width, as far as anything changed.
  mutating func layOut(width: Int) {
    guard width != self.width || !isLaidOut else { return }
    self.width = width
    layout = engine.layout(table, width: width, scroll: scroll)
    version.layout += 1
    if traits == nil { findTraits() }
    images = layout.placed.flatMap { placed in
      placed.type != .image
        ? []
        : placed.parts.filter { $0.kind == .image }.map {
          Image(index: placed.index, frame: $0.frame, clip: placed.clip)
        }
    }
    isLaidOut = true
  }

  /// What can have the focus: nothing of a disabled widget, or in a disabled node.
  var targets: [FocusTarget] {
    guard widget.presence.isEnabled else { return [] }
    return layout.focusable.filter { target in
      guard takes(target) else { return false }
      var index: Int? = target.index
      while let found = index, let entry = table[found] {
        if entry.node.properties["enabled"] == .bool(false) { return false }
        index = entry.parent
      }
      return true
    }
  }

  /// Whether something comes of it, as the daemon says. Inputs are filled in and links opened also
  /// without events.
  private func takes(_ target: FocusTarget) -> Bool {
    guard widget.content != nil, let node = table[target.index]?.node else { return true }
    switch (target.kind, node.type) {
    case (.row, _):
      guard let parent = table[target.index]?.parent, let table = table[parent]?.node else {
        return false
      }
      return table.events.contains { $0 == "select" || $0 == "delete" }
    case (.submit, _): return node.events.contains("submit")
    case (.control, .button): return node.events.contains("press")
    case (.control, .toggle): return node.events.contains("change")
    default: return true
    }
  }

  /// Takes another theme.
  mutating func setMetrics(_ metrics: LayoutMetrics) {
    engine = LayoutEngine(metrics: metrics)
    isLaidOut = false
  }

  /// Scrolls a node by some rows or columns. Returns whether it could.
  mutating func scroll(_ region: ScrollRegion, by distance: Int) -> Bool {
    let offset = min(max(0, region.offset + distance), region.offsetMax)
    guard offset != region.offset else { return false }
    scroll[region.id] = offset
    isLaidOut = false
    return true
  }

  /// Scrolls so that a target is seen.
  mutating func reveal(_ target: FocusTarget) {
    for region in layout.scrollRegions where target.clip != target.frame {
      let offset = region.offset(showing: target.frame)
      if offset != region.offset, scroll(region, by: offset - region.offset) { return }
    }
  }

  // MARK: - What the user does

  /// What is in an input now.
  func draft(_ id: String) -> LiveDraft {
    edits.draft(id) ?? LiveDraft(widget.content?[id]?.text("value") ?? "")
  }

  /// Changes what is in an input. Returns whether the text changed.
  mutating func edit(_ id: String, _ change: (inout LiveDraft) -> Void) -> Bool {
    guard let node = node(id), node.type == .input else { return false }
    var draft = draft(id)
    let before = draft.text
    change(&draft)
    guard node.properties["readOnly"] != .bool(true) || draft.text == before else { return false }
    draft.fit(columns: columns(ofInput: id))
    edits.set(id, draft)
    showEdits()
    return draft.text != before
  }

  /// How many columns of a one-line input are for text; nil for an input of several lines.
  private func columns(ofInput id: String) -> Int? {
    guard node(id)?.text("mode") != "multiline",
      let placed = layout.placed.first(where: { $0.id == id }),
      let field = placed.parts.first(where: { $0.kind == .field })
    else { return nil }
    return field.frame.width - 2
  }

  /// An input lost the focus. What was typed into it and is no longer of use gives way to the daemon's
  /// text.
  mutating func leave(_ id: String) {
    guard form(around: id) == nil, widget.content?[id]?.properties["value"] != nil,
      widget.content?[id]?.events.contains("change") == true
    else { return }
    edits.leave(id)
    showEdits()
  }

  /// Switches a toggle at once, until the daemon says otherwise. Returns the new value.
  mutating func flip(_ id: String) -> Bool {
    let value = node(id)?.properties["value"] != .bool(true)
    edits.flip(id, to: value)
    showEdits()
    return value
  }

  /// The daemon took an event.
  mutating func accepted(_ event: LiveEvent, _ response: SendEventResponse, at time: Timestamp) {
    edits.accepted(event, response, at: time)
    showEdits()
  }

  /// The daemon refused an event: what it said before holds, and what was typed stays.
  mutating func refused(_ event: LiveEvent) {
    edits.refused(event)
    showEdits()
  }

  /// Whether a node is in a form; then its id.
  func form(around id: String) -> String? {
    var index = table.index(of: id)
    while let found = index, let entry = table[found] {
      if entry.node.type == .form { return entry.node.id }
      index = entry.parent
    }
    return nil
  }

  /// The values of a form's inputs, by name, and the paths of files that it takes.
  ///
  /// - Throws: `InputProblem` for the first input that may not be sent so.
  func values(
    ofForm id: String
  ) throws(InputProblem) -> (values: ValueMap, files: [String: String]) {
    var entries: [ValueMap.Entry] = []
    var files: [String: String] = [:]
    for input in inputs(ofForm: id) {
      let name = input.text("name")
      guard !name.isEmpty else { continue }
      let text = draft(input.id).text
      let value = try InputProblem.value(of: text, in: input)
      if input.text("mode") == "file", !text.isEmpty { files[name] = text }
      if let value { entries.append(.init(key: name, value: value)) }
    }
    return (ValueMap(entries), files)
  }

  /// An event with what is in these inputs was sent to a node, a form or an input.
  mutating func submit(_ id: String, inputs: [String]) { edits.submit(id, inputs: inputs) }

  mutating func submit(form id: String) { submit(id, inputs: inputs(ofForm: id).map(\.id)) }

  private func inputs(ofForm id: String) -> [Node] {
    guard let root = table.index(of: id) else { return [] }
    var found: [Node] = []
    var waiting = [root]
    while let index = waiting.popLast(), let entry = table[index] {
      if entry.node.type == .input { found.append(entry.node) }
      waiting += entry.children.reversed()
    }
    return found
  }
}

extension Node {
  /// A property as text; empty if there is none.
  func text(_ name: String) -> String { properties[name]?.plainText ?? "" }

  /// Whether a spinner turns in it: a node that is one, or the mark of an activity.
  fileprivate var isSpinning: Bool {
    type == .spinner && properties["active"] != .bool(false)
      || properties["accessory"] == .string("activity")
  }

  /// Whether it says something else as time goes by.
  var followsTime: Bool {
    type == .date && text("format").isEmpty && ["relative", "timer"].contains(text("style"))
  }
}

/// Why the text of an input cannot be sent.
struct InputProblem: Error, Hashable {
  let node: String
  let words: String

  /// The value that a text stands for; nil if it is left out.
  ///
  /// Checks the rules that the input states: a bundle or a reducer may have more.
  static func value(of text: String, in input: Node) throws(InputProblem) -> Value? {
    func problem(_ words: String) -> InputProblem {
      let name = [input.text("text"), input.text("name"), input.id].first { !$0.isEmpty } ?? ""
      return InputProblem(node: input.id, words: "\(name.onOneLine) \(words)")
    }
    guard !text.isEmpty else {
      if input.properties["required"] == .bool(true) { throw problem("is needed") }
      return input.text("mode") == "number" ? nil : .string("")
    }
    if case .int(let most)? = input.properties["maxLength"], text.count > most {
      throw problem("takes \(most) characters; these are \(text.count)")
    }
    if case .int(let least)? = input.properties["minLength"], text.count < least {
      throw problem("takes \(least) characters or more; these are \(text.count)")
    }
    guard input.text("mode") == "number" else { return .string(text) }
    let digits = text.utf8.allSatisfy { byte in
      (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || "+-.eE".utf8.contains(byte)
    }
    if digits, let whole = Int64(text) { return .int(whole) }
    guard digits, let number = Double(text), number.isFinite else {
      throw problem("takes a number, such as 12 or 0.5")
    }
    return .double(number)
  }
}
