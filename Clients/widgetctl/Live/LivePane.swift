import WidgetLayout
import WidgetModel
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

  /// What was typed into inputs, by node, and has not been submitted.
  private var drafts: [String: LiveDraft] = [:]
  /// What a form submitted, by node: it comes back if the form's problems come.
  private var submitted: [String: LiveDraft] = [:]
  /// Toggles that were switched and that the daemon has not answered yet.
  private var switched: [String: Bool] = [:]

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
    let before = table
    version.content += 1
    if let change, widget.content != nil, !change.replaces {
      let changes = table.apply(change)
      engine.invalidate(changes)
    } else {
      table = NodeTable(LivePane.content(of: widget))
      engine.invalidateAll()
    }
    isLaidOut = false
    settle(before)
  }

  /// Puts what the user typed and switched over what the daemon says.
  private mutating func settle(_ before: NodeTable) {
    for (id, flag) in switched {
      guard let node = node(id) else {
        switched[id] = nil
        continue
      }
      // The daemon's word counts as soon as it differs from what was there.
      if node.properties["value"] == .bool(flag) { switched[id] = nil }
    }
    if submitted.keys.contains(where: { node($0)?.text("problem").isEmpty == false }) {
      drafts.merge(submitted) { typed, _ in typed }
      submitted = [:]
    }
    for id in drafts.keys where node(id) == nil { drafts[id] = nil }
    showDrafts()
  }

  private mutating func showDrafts() {
    for (id, draft) in drafts { show(.string(draft.text), of: id) }
    for (id, flag) in switched { show(.bool(flag), of: id) }
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
    drafts[id] ?? LiveDraft(node(id)?.text("value") ?? "")
  }

  /// Changes what is in an input. Returns whether the text changed.
  mutating func edit(_ id: String, _ change: (inout LiveDraft) -> Void) -> Bool {
    guard let node = node(id), node.type == .input else { return false }
    var draft = draft(id)
    let before = draft.text
    change(&draft)
    guard node.properties["readOnly"] != .bool(true) || draft.text == before else { return false }
    drafts[id] = draft
    showDrafts()
    return draft.text != before
  }

  /// Switches a toggle at once; `unswitch` takes it back. Returns the new value.
  mutating func flip(_ id: String) -> Bool {
    let value = node(id)?.properties["value"] != .bool(true)
    switched[id] = value
    showDrafts()
    return value
  }

  /// The daemon refused: what it said before holds.
  mutating func unflip(_ id: String) {
    guard let flag = switched.removeValue(forKey: id) else { return }
    show(.bool(!flag), of: id)
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

  /// The values of a form's inputs, by name.
  func values(ofForm id: String) -> ValueMap {
    var entries: [ValueMap.Entry] = []
    for input in inputs(ofForm: id) {
      let name = input.text("name")
      guard !name.isEmpty else { continue }
      let text = draft(input.id).text
      let value: Value
      switch input.text("mode") {
      case "number":
        value = Int64(text).map { .int($0) } ?? Double(text).map { .double($0) } ?? .string(text)
      default: value = .string(text)
      }
      if text.isEmpty, input.text("mode") == "number" { continue }
      entries.append(.init(key: name, value: value))
    }
    return ValueMap(entries)
  }

  /// The form was sent: its inputs are empty again, unless problems come.
  mutating func submit(form id: String) {
    for input in inputs(ofForm: id) {
      guard let draft = drafts.removeValue(forKey: input.id) else { continue }
      submitted[input.id] = draft
      show(.string(widget.content?[input.id]?.text("value") ?? ""), of: input.id)
    }
  }

  /// The event was refused: what was typed is there again.
  mutating func unsubmit() {
    drafts.merge(submitted) { typed, _ in typed }
    submitted = [:]
    showDrafts()
  }

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

/// Text that is being typed.
struct LiveDraft: Hashable {
  private var characters: [Character]
  /// Before which character the next one goes.
  private(set) var cursor: Int

  init(_ text: String) {
    characters = Array(text)
    cursor = characters.count
  }

  var text: String { String(characters) }
  /// What is left of the cursor.
  var head: String { String(characters[..<cursor]) }

  mutating func insert(_ text: String) {
    let added = Array(text)
    characters.insert(contentsOf: added, at: cursor)
    cursor += added.count
  }

  mutating func deleteBackward() {
    guard cursor > 0 else { return }
    cursor -= 1
    characters.remove(at: cursor)
  }

  mutating func deleteForward() {
    guard cursor < characters.count else { return }
    characters.remove(at: cursor)
  }

  mutating func deleteWord() {
    while cursor > 0, characters[cursor - 1] == " " { deleteBackward() }
    while cursor > 0, characters[cursor - 1] != " " { deleteBackward() }
  }

  mutating func deleteToStart() {
    characters.removeFirst(cursor)
    cursor = 0
  }

  mutating func deleteToEnd() { characters.removeLast(characters.count - cursor) }

  mutating func move(by distance: Int) {
    cursor = min(max(0, cursor + distance), characters.count)
  }

  mutating func moveToStart() { cursor = 0 }
  mutating func moveToEnd() { cursor = characters.count }
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
