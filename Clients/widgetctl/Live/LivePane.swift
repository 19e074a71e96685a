import WidgetLayout
import WidgetModel
import WidgetProto
import WidgetRender

/// One widget of a dashboard: its content, layout, scroll offsets and edits.
struct LivePane {
  /// The version of a pane's layout. Equal versions have equal content and layout.
  struct Version: Hashable {
    /// The number of the pane. The board never reuses a number.
    let pane: Int
    /// Grows with each content change from the daemon.
    fileprivate(set) var content = 0
    fileprivate(set) var layout = 0
  }

  private(set) var widget: Widget
  private(set) var table: NodeTable {
    didSet { traits = nil }
  }
  private(set) var version: Version
  private(set) var layout = LayoutResult()
  /// The scroll offset of each scrolling node, in rows or columns.
  private var scroll: [String: Int] = [:]
  private var engine: LayoutEngine
  private var width = -1
  private var isLaidOut = false

  /// The user's edits, which overlay the daemon's content.
  private var edits = LiveEdits()
  /// Nodes whose value in `table` comes from `edits`.
  private var overridden: Set<String> = []

  init(_ widget: Widget, metrics: LayoutMetrics, number: Int = 0) {
    self.widget = widget
    version = Version(pane: number)
    table = NodeTable(LivePane.content(of: widget))
    engine = LayoutEngine(metrics: metrics)
  }

  /// The widget's content. A widget without content shows its data, one line per key.
  static func content(of widget: Widget) -> Content {
    if let content = widget.shownContent { return content }
    let lines = widget.dataForPeople.enumerated().map { index, entry in
      Node(
        id: "\(index)", type: .label,
        properties: ["text": .string("\(entry.key): \(entry.value.plainText.onOneLine)")])
    }
    return Content(
      rootID: "data",
      nodes: [Node(id: "data", type: .stack, childIDs: lines.map(\.id))] + lines)
  }

  // MARK: - News from the daemon

  /// Updates the widget. `difference` names the nodes that changed; nil if all of them may have.
  mutating func take(_ widget: Widget, _ difference: ContentDifference?) {
    self.widget = widget
    if difference?.isEmpty == true, widget.content != nil { return }
    version.content += 1
    if let difference, !difference.isRootChanged, let content = widget.shownContent {
      let set = difference.changed.union(difference.inserted).compactMap { content[$0] }
      engine.invalidate(
        table.apply(ContentChange(setNodes: set, removedIDs: Array(difference.removed))))
    } else {
      table = NodeTable(LivePane.content(of: widget))
      engine.invalidateAll()
    }
    isLaidOut = false
    // The table now holds the daemon's values, so apply the edits again.
    overridden = []
    showEdits()
  }

  /// Removes edits that the daemon has settled. Returns a message for the user; may be empty.
  mutating func settle(revision: Revision, now: Timestamp) -> String {
    guard !edits.isEmpty else { return "" }
    let words = edits.settle(widget, revision: revision, now: now)
    showEdits()
    return words
  }

  /// Whether the pane has edits that are not settled.
  var isEdited: Bool { !edits.isEmpty }

  /// The next time at which an edit times out in `settle`. Nil for never.
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

  /// Reverts a node to the daemon's value.
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

  /// Invalidates nodes whose text depends on the time.
  mutating func timeHasPassed() {
    guard followsTime else { return }
    for index in 0..<table.indexEnd where table[index]?.node.followsTime == true {
      engine.invalidate(index: index)
      isLaidOut = false
    }
  }

  /// The parts of the pane that change without news from the daemon.
  private struct Traits {
    var followsTime = false
    var isSpinning = false
  }
  /// The place of an image node in the layout.
  struct Image {
    let index: Int
    let frame: LayoutRect
    let clip: LayoutRect
  }
  private(set) var images: [Image] = []
  /// The indices of image nodes that are only text, because they have no size.
  private(set) var unframedImages: [Int] = []
  /// Whether the pane shows image nodes.
  var hasImages: Bool { !images.isEmpty || !unframedImages.isEmpty }
  /// Nil after a change, until the next layout.
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

  /// Whether a node's text depends on the time. True until the next layout has found out.
  var followsTime: Bool { traits?.followsTime ?? true }
  /// The time until a date or an error's age reads differently. Nil for never.
  func nextChange(_ dates: DateText) -> Duration? {
    let error = widget.failures.compactMap(\.since).map { dates.untilAgeChanges(of: $0) }.min()
    guard followsTime else { return error }
    let nodes = (0..<table.indexEnd).lazy.compactMap { table[$0]?.node }
      .compactMap { dates.untilChange(of: $0) }
    return (Array(nodes) + [error].compactMap(\.self)).min()
  }
  /// Whether a spinner is active. True until the next layout has found out.
  var isSpinning: Bool { traits?.isSpinning ?? true }

  func node(_ id: String) -> Node? { table.index(of: id).flatMap { table[$0]?.node } }

  // MARK: - Layout

  /// Lays out the pane for a width. Does nothing if the layout is valid.
  mutating func layOut(width: Int) {
    guard width != self.width || !isLaidOut else { return }
    self.width = width
    // A field of several lines grows with its text, so measure it with all rows that it can show.
    for (id, text) in edits.tallDrafts { show(.string(text), of: id) }
    layout = engine.layout(table, width: width, scroll: scroll)
    if fitDrafts() { layout = engine.layout(table, width: width, scroll: scroll) }
    version.layout += 1
    if traits == nil { findTraits() }
    images = layout.placed.flatMap { placed in
      placed.type?.role != .image
        ? []
        : placed.parts.filter { $0.kind == .image }.map {
          Image(index: placed.index, frame: $0.frame, clip: placed.clip)
        }
    }
    unframedImages = layout.placed.filter {
      $0.type?.role == .image && !$0.parts.contains { $0.kind == .image }
    }.map(\.index)
    isLaidOut = true
  }

  /// Fits the drafts of several lines into the rows that their fields have. Returns whether that
  /// changes the picture.
  private mutating func fitDrafts() -> Bool {
    var isChanged = false
    for (id, text) in edits.tallDrafts {
      guard let room = room(ofInput: id),
        let shown = edits.fit(id, columns: room.columns, rows: room.rows), shown != text
      else { continue }
      show(.string(shown), of: id)
      isChanged = true
    }
    return isChanged
  }

  /// The focus targets. Empty for a disabled widget; targets in disabled nodes are left out.
  var targets: [FocusTarget] {
    guard widget.presence.isEnabled else { return [] }
    let controls = layout.focusable.filter { takes($0) && isEnabled($0.index) }
    return layout.scrollRegions.isEmpty ? controls : withRegions(controls)
  }

  private func isEnabled(_ index: Int) -> Bool {
    var index: Int? = index
    while let found = index, let entry = table[found] {
      if entry.node.properties["enabled"] == .bool(false) { return false }
      index = entry.parent
    }
    return true
  }

  /// Adds the scrolling nodes without a control in them, in reading order. The keys scroll the others
  /// when one of their controls has the focus.
  private func withRegions(_ controls: [FocusTarget]) -> [FocusTarget] {
    var all = controls
    let places = Dictionary(
      layout.placed.enumerated().map { ($0.element.index, $0.offset) },
      uniquingKeysWith: { first, _ in first })
    for region in layout.scrollRegions.reversed() {
      guard region.offsetMax > 0, isEnabled(region.index),
        !all.contains(where: { isNode($0.index, in: region.index) })
      else { continue }
      let place = places[region.index] ?? 0
      let next = all.firstIndex { $0.kind != .submit && places[$0.index] ?? 0 > place }
      all.insert(
        FocusTarget(
          index: region.index, id: region.id, kind: .scroll, frame: region.viewport,
          clip: region.viewport), at: next ?? all.count)
    }
    return all
  }

  /// Whether a node is another one, or is in it.
  private func isNode(_ index: Int, in outer: Int) -> Bool {
    var index: Int? = index
    while let found = index {
      if found == outer { return true }
      index = table[found]?.parent
    }
    return false
  }

  /// The scrolling nodes that are or contain a node, the innermost first.
  func regions(around target: FocusTarget) -> [ScrollRegion] {
    layout.scrollRegions.reversed().filter { isNode(target.index, in: $0.index) }
  }

  /// Whether a target is in a scrolling node.
  func isTarget(_ target: FocusTarget, in region: ScrollRegion) -> Bool {
    isNode(target.index, in: region.index)
  }

  /// Whether the target's node takes the event that its activation sends. Inputs, links and toggles
  /// of a form's values need no event: they can always be filled in and opened.
  private func takes(_ target: FocusTarget) -> Bool {
    guard widget.content != nil, let node = table[target.index]?.node else { return true }
    switch (target.kind, node.role) {
    case (.row, _):
      guard let parent = table[target.index]?.parent, let table = table[parent]?.node else {
        return false
      }
      return table.events.contains { $0 == "select" || $0 == "delete" }
    case (.submit, _): return node.events.contains("submit")
    case (.control, .button): return node.events.contains("press")
    case (.control, .toggle): return node.events.contains("change") || isFormValue(node)
    default: return true
    }
  }

  /// Sets other metrics, such as those of another theme, and invalidates the layout.
  mutating func setMetrics(_ metrics: LayoutMetrics) {
    engine = LayoutEngine(metrics: metrics)
    isLaidOut = false
  }

  /// Scrolls a node by rows or columns, or to the next page if it pages. Returns false if it is at the
  /// end.
  mutating func scroll(_ region: ScrollRegion, by distance: Int) -> Bool {
    scroll(region, to: region.offset(scrolledBy: distance))
  }

  private mutating func scroll(_ region: ScrollRegion, to offset: Int) -> Bool {
    guard offset != region.offset else { return false }
    scroll[region.id] = offset
    isLaidOut = false
    return true
  }

  /// Scrolls a target into the viewports of the nodes around it, one of them at a call. Returns false
  /// if it is in sight.
  mutating func reveal(_ target: FocusTarget) -> Bool {
    guard target.clip != target.frame else { return false }
    for region in regions(around: target) where region.index != target.index {
      if scroll(region, to: region.offset(showing: target.frame)) { return true }
    }
    return false
  }

  // MARK: - Input of the user

  /// The current text of an input: the edit, or else the daemon's value.
  func draft(_ id: String) -> LiveDraft {
    edits.draft(id) ?? LiveDraft(widget.content?[id]?.text("value") ?? "")
  }

  /// Edits the text of an input. Returns whether the text changed. A read-only input only moves the
  /// cursor.
  mutating func edit(_ id: String, _ change: (inout LiveDraft) -> Void) -> Bool {
    guard let node = node(id), node.role == .input else { return false }
    var draft = draft(id)
    let before = draft.text
    change(&draft)
    guard node.properties["readOnly"] != .bool(true) || draft.text == before else { return false }
    if let room = room(ofInput: id) {
      draft.fit(columns: room.columns, isMultiline: node.text("mode") == "multiline")
    }
    edits.set(id, draft, isTyped: draft.text != before)
    showEdits()
    return draft.text != before
  }

  /// A change of an input goes to the daemon.
  mutating func send(_ id: String, _ text: String) { edits.send(id, text) }

  /// The columns and rows for text in an input. Nil if it is not laid out.
  private func room(ofInput id: String) -> (columns: Int, rows: Int)? {
    guard let placed = layout.placed.first(where: { $0.id == id }),
      let field = placed.parts.first(where: { $0.kind == .field })?.frame
    else { return nil }
    var seen = field.intersection(placed.inner)
    // A target that a scrolling node cuts off can be scrolled into view.
    if !layout.scrollRegions.contains(where: { isNode(placed.index, in: $0.index) }) {
      seen = seen.intersection(placed.clip)
    }
    return (field.width - 2, seen.height)
  }

  /// An input lost the focus. If it sends changes, the daemon's text replaces the typed one after
  /// the last change is answered. Inputs in forms keep the typed text.
  mutating func leave(_ id: String) {
    guard edits.isTyped(id) else {
      edits.drop(id)
      return showEdits()
    }
    guard form(around: id) == nil, widget.content?[id]?.properties["value"] != nil,
      widget.content?[id]?.events.contains("change") == true
    else { return }
    edits.leave(id)
    showEdits()
  }

  /// Switches a toggle before the daemon confirms it. Returns the value to send; nil if the toggle's
  /// form will send it.
  mutating func flip(_ id: String) -> Bool? {
    guard let node = node(id) else { return nil }
    let value = node.properties["value"] != .bool(true)
    let isFormValue = isFormValue(node)
    if isFormValue { edits.mark(id, value) } else { edits.flip(id, to: value) }
    showEdits()
    return isFormValue ? nil : value
  }

  /// The daemon accepted an event.
  mutating func accepted(
    _ event: LiveEvent, _ response: SendEventResponse, at time: Timestamp, isWaiting: Bool
  ) {
    edits.accepted(event, response, at: time, isWaiting: isWaiting)
    showEdits()
  }

  /// The daemon refused an event: a switched toggle is reverted, and typed text stays.
  mutating func refused(_ event: LiveEvent) {
    edits.refused(event)
    showEdits()
  }

  /// The id of the form that contains a node. Nil if it is in no form.
  func form(around id: String) -> String? {
    var index = table.index(of: id)
    while let found = index, let entry = table[found] {
      if entry.node.role == .form { return entry.node.id }
      index = entry.parent
    }
    return nil
  }

  /// Whether a node is a toggle that is submitted with a form: it has a name.
  private func isFormValue(_ node: Node) -> Bool {
    node.role == .toggle && !node.text("name").isEmpty && form(around: node.id) != nil
  }

  /// The values of a form's inputs and toggles by name, and the paths of the files to upload.
  ///
  /// - Throws: `InputProblem` for the first invalid input.
  func values(
    ofForm id: String
  ) throws(InputProblem) -> (values: ValueMap, files: [String: String]) {
    var entries: [ValueMap.Entry] = []
    var files: [String: String] = [:]
    for input in inputs(ofForm: id) {
      let name = input.text("name")
      guard !name.isEmpty else { continue }
      if input.role == .toggle {
        entries.append(.init(key: name, value: .bool(input.properties["value"] == .bool(true))))
        continue
      }
      let text = draft(input.id).text
      let value = try InputProblem.value(of: text, in: input)
      if input.text("mode") == "file", !text.isEmpty { files[name] = text }
      if let value { entries.append(.init(key: name, value: value)) }
    }
    return (ValueMap(entries), files)
  }

  /// Records that these inputs were submitted to a node: a form or an input.
  mutating func submit(_ id: String, inputs: [String]) { edits.submit(id, inputs: inputs) }

  mutating func submit(form id: String) { submit(id, inputs: inputs(ofForm: id).map(\.id)) }

  private func inputs(ofForm id: String) -> [Node] {
    guard let root = table.index(of: id) else { return [] }
    var found: [Node] = []
    var waiting = [root]
    while let index = waiting.popLast(), let entry = table[index] {
      if entry.node.role.hasFormValue { found.append(entry.node) }
      // The inputs of a form inside, or of an embedded widget, are of another submission.
      guard index == root || (entry.node.role != .form && entry.node.role != .embed) else {
        continue
      }
      waiting += entry.children.reversed()
    }
    return found
  }
}

extension Node {
  /// A property as text. Empty if the node does not have it.
  func text(_ name: String) -> String { properties[name]?.plainText ?? "" }

  /// Whether the node shows an active spinner: as its type, or as its accessory.
  fileprivate var isSpinning: Bool {
    type == .spinner && properties["active"] != .bool(false)
      || properties["accessory"] == .string("activity")
  }

  /// Whether the node's text depends on the time: a date in the style `relative` or `timer`.
  var followsTime: Bool {
    type == .date && text("format").isEmpty && ["relative", "timer"].contains(text("style"))
  }
}

/// Why the text of an input cannot be sent.
struct InputProblem: Error, Hashable {
  let node: String
  let words: String

  /// Converts an input's text to the value to send. Nil if the value is left out.
  ///
  /// Checks only the rules in the input's properties. A bundle or reducer may have more rules.
  static func value(of text: String, in input: Node) throws(InputProblem) -> Value? {
    func problem(_ words: String) -> InputProblem {
      let name = [input.text("text"), input.text("name"), input.id].first { !$0.isEmpty } ?? ""
      return InputProblem(node: input.id, words: "\(name.onOneLine) \(words)")
    }
    guard !text.isEmpty else {
      if input.properties["required"] == .bool(true) { throw problem("is needed") }
      return input.text("mode") == "number" ? nil : .string("")
    }
    if case .int(let most)? = input.properties["maxLength"], most > 0, text.count > most {
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
