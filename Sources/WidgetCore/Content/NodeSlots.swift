import WidgetModel

/// The nodes of a content in stable slots, with a log of the changes.
///
/// `log` has the slots of the changed nodes, in order of revisions. It is bounded: readers from
/// before `logStart` get all nodes. A removed node keeps its slot (`isDead`) until the log has
/// forgotten it.
///
/// Nodes in an embed come from another widget. `embed` inserts them. They are removed with their
/// embed.
///
/// Invariants: `index` has the id of every slot that is not free; the children of a live entry are
/// live; `liveCount` counts entries that are not dead; `bytes` is the sum of their `costBytes`;
/// `embeds` has the slots of this widget's live embeds, without those from other widgets.
struct NodeSlots {
  private var entries = RevertibleArray<Entry>()
  private var index: [String: Int32] = [:]
  private var free: [Int32] = []
  private var log: [Change] = []
  /// Changes at and before this revision are not in the log.
  private(set) var logStart: Revision
  private(set) var liveCount = 0
  private(set) var bytes = 0
  private var embeds: [Int32] = []
  /// Increases with every change of a node.
  private(set) var changeCount: UInt32 = 0

  /// The cost of a node beside its id, its properties and its problems.
  static let nodeCostBytes = 32

  /// The cost of a node's events.
  static func costBytes(ofEvents events: [String]) -> Int {
    events.reduce(0) { $0 + 2 + $1.utf8.count }
  }

  /// The maximum number of changes in the log. Most late readers have missed fewer.
  private static let logMax = 512

  /// The maximum length of the text of one problem, in bytes.
  private static let failureBytesMax = 512

  /// The maximum number of listed problems of a node. The others are counted.
  static let problemsMax = 8

  /// The name for a failure of a node's condition.
  static let condition = "condition"

  /// The name for a failure of an embed to show its widget.
  private static let embedded = "content"

  /// The name for the failures of a node of another widget, which are text already.
  private static let ofOthers = ""

  private struct Entry {
    var id: String
    var type: NodeType
    var properties: ValueMap
    /// Slots, including those of nodes that are not shown.
    var children: [Int32] = []
    var parent: Int32
    /// Whether its condition holds. A node is in the content if it and all nodes above it are
    /// shown.
    var isShown = true
    var isDead = false
    var revision: Revision = 0
    /// The problems, by the part that has the problem.
    var failures: [String: String] = [:]
    /// The events that the node takes: always those of its plan.
    var events: [String] = []
    /// The id of the node in the widget that it comes from; nil for nodes of this widget.
    var origin: String?

    var costBytes: Int {
      properties.costBytes + id.utf8.count + NodeSlots.nodeCostBytes
        + NodeSlots.costBytes(ofEvents: events)
        + failures.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
    }
  }

  private struct Change {
    let revision: Revision
    let slot: Int32
  }

  /// No nodes, for readers that hold nothing from before a revision.
  init(at revision: Revision) { logStart = revision }

  // MARK: - History

  /// The revision that last changed a node, or an earlier one that makes no difference to readers.
  private var lastChange: Revision { log.last?.revision ?? logStart }

  /// Makes readers from before a revision get all nodes.
  mutating func begin(at revision: Revision) {
    logStart = revision
    log.removeAll()
  }

  /// Continues the history of other slots with the same nodes. Readers of those slots need no
  /// nodes.
  mutating func inheritHistory(of other: NodeSlots) {
    logStart = other.lastChange
    // No node has changed since, so a change at this same revision is new to readers.
    for slot in entries.indices { entries[slot].revision = logStart }
  }

  /// Continues the log of other slots. These nodes replace the others at a revision, and only nodes
  /// that look different are changes.
  mutating func replace(_ old: NodeSlots, at revision: Revision) {
    logStart = old.logStart
    for slot in entries.indices {
      let before = old.index[entries[slot].id]
      if let before, looks(Int32(slot), like: before, in: old) {
        entries[slot].revision = old.entries[Int(before)].revision
      } else {
        entries[slot].revision = revision
      }
    }
    var isLogged: Set<Int32> = []
    for change in old.log {
      let slot = slot(of: old.entries[Int(change.slot)])
      log.append(Change(revision: change.revision, slot: slot))
      if change.revision == revision { isLogged.insert(slot) }
    }
    for entry in old.entries where !entry.isDead && !entry.id.isEmpty {
      let slot = slot(of: entry)
      if entries[Int(slot)].isDead { entries[Int(slot)].revision = revision }
    }
    for slot in entries.indices.lazy.map({ Int32($0) })
    where entries[Int(slot)].revision == revision && !isLogged.contains(slot) {
      log.append(Change(revision: revision, slot: slot))
    }
  }

  /// Whether a node looks to readers like a node of other slots.
  private func looks(_ slot: Int32, like before: Int32, in old: NodeSlots) -> Bool {
    let isPresent = isPresent(slot)
    guard isPresent == old.isPresent(before) else { return false }
    return !isPresent || node(slot) == old.node(before)
  }

  /// The slot for a node of other slots. If the node is missing here, adds it as a removed one.
  private mutating func slot(of old: Entry) -> Int32 {
    if let slot = index[old.id] { return slot }
    let slot = Int32(entries.count)
    var entry = Entry(id: old.id, type: .space, properties: [:], parent: -1)
    (entry.isDead, entry.revision) = (true, old.revision)
    entries.append(entry)
    index[old.id] = slot
    return slot
  }

  /// Forgets the older half of the changes. A revision's changes stay or go together.
  mutating func trimLog() {
    guard log.count > NodeSlots.logMax else { return }
    var kept = log.count - NodeSlots.logMax / 2
    while kept < log.count, log[kept].revision == log[kept - 1].revision { kept += 1 }
    logStart = log[kept - 1].revision
    for change in log[..<kept] {
      let entry = entries[Int(change.slot)]
      guard entry.isDead, entry.revision == change.revision else { continue }
      index[entry.id] = nil
      entries[Int(change.slot)] = Entry(id: "", type: .space, properties: [:], parent: -1)
      free.append(change.slot)
    }
    log.removeFirst(kept)
  }

  // MARK: - Reading

  /// All shown nodes, from a node down.
  func content(below root: Int32) -> Content {
    var nodes: [Node] = []
    nodes.reserveCapacity(liveCount)
    appendNodes(from: root, to: &nodes)
    return Content(rootID: entries[Int(root)].id, nodes: nodes)
  }

  /// Whether there is a node with an id.
  func hasNode(_ id: String) -> Bool { index[id].map { !entries[Int($0)].isDead } ?? false }

  private func appendNodes(from slot: Int32, to nodes: inout [Node]) {
    nodes.append(node(slot))
    for child in entries[Int(slot)].children where entries[Int(child)].isShown {
      appendNodes(from: child, to: &nodes)
    }
  }

  private func node(_ slot: Int32) -> Node {
    let entry = entries[Int(slot)]
    return Node(
      id: entry.id, type: entry.type, properties: entry.properties,
      childIDs: entry.children.compactMap { child in
        entries[Int(child)].isShown ? entries[Int(child)].id : nil
      },
      problem: problem(of: entry), events: entry.events)
  }

  /// The problems of a node, and those of the conditions of its children, because a missing child
  /// cannot show them. One line for each problem, at most `problemsMax`.
  private func problem(of entry: Entry) -> String {
    if entry.origin != nil { return entry.failures[NodeSlots.ofOthers] ?? "" }
    var (lines, count) = ([String](), 0)
    func add(_ name: @autoclosure () -> String, _ message: String) {
      count += 1
      guard count <= NodeSlots.problemsMax else { return }
      lines.append(
        "\(name()): " + message.split(whereSeparator: \.isNewline).joined(separator: " "))
    }
    if !entry.failures.isEmpty {
      for own in entry.failures.sorted(by: { $0.key.precedesByBytes($1.key) }) {
        add(own.key, own.value)
      }
    }
    for child in entry.children where !entries[Int(child)].isShown {
      if let message = entries[Int(child)].failures[NodeSlots.condition] {
        add("\(entries[Int(child)].id).\(NodeSlots.condition)", message)
      }
    }
    if count > lines.count { lines.append("and \(count - lines.count) more") }
    return lines.joined(separator: "\n")
  }

  /// The changes after a cursor; nil for none. `root` is the top node. O(changes).
  func change(since cursor: Revision, below root: Int32) -> ContentChange? {
    guard cursor >= logStart else { return ContentChange(replacingBy: content(below: root)) }
    var change = ContentChange()
    for entry in log.reversed() {
      guard entry.revision > cursor else { break }
      // If a node changed several times, the last change counts.
      guard entries[Int(entry.slot)].revision == entry.revision else { continue }
      if isPresent(entry.slot) {
        change.setNodes.append(node(entry.slot))
      } else {
        change.removedIDs.append(entries[Int(entry.slot)].id)
      }
    }
    guard !change.setNodes.isEmpty || !change.removedIDs.isEmpty else { return nil }
    change.setNodes.reverse()
    change.removedIDs.sort { $0.precedesByBytes($1) }
    return change
  }

  func typeAndProperties(of slot: Int32) -> (type: NodeType, properties: ValueMap) {
    (entries[Int(slot)].type, entries[Int(slot)].properties)
  }

  private func isPresent(_ slot: Int32) -> Bool {
    var slot = slot
    while slot >= 0 {
      let entry = entries[Int(slot)]
      if entry.isDead || !entry.isShown { return false }
      slot = entry.parent
    }
    return true
  }

  /// The state of a node; nil if it does not exist now.
  func standing(of id: String) -> NodeStanding? {
    guard let found = index[id], entries[Int(found)].id.hasSameBytes(as: id), isPresent(found)
    else {
      return nil
    }
    var (isVisible, isEnabled) = (true, true)
    var slot = found
    while slot >= 0 {
      let entry = entries[Int(slot)]
      if entry.properties["visible"] == .bool(false) { isVisible = false }
      if entry.properties["enabled"] == .bool(false) { isEnabled = false }
      slot = entry.parent
    }
    let entry = entries[Int(found)]
    var widget: String?
    if entry.type == .embed, entry.origin == nil, case .string(let id)? = entry.properties["widget"]
    {
      widget = id
    }
    return NodeStanding(
      type: entry.type, isVisible: isVisible, isEnabled: isEnabled,
      takesNumber: entry.type == .input && entry.properties["mode"] == .string("number"),
      embeddedWidget: widget)
  }

  // MARK: - Changing

  /// Adds a node from its plan. Its children are set later.
  mutating func insert(
    _ plan: ContentProgram.NodePlan, id: String, parent: Int32
  ) -> Int32 {
    var entry = Entry(
      id: id, type: plan.type, properties: plan.constants, parent: parent, events: plan.events)
    let slot = insert(&entry)
    if plan.type == .embed { embeds.append(slot) }
    return slot
  }

  private mutating func insert(_ entry: inout Entry) -> Int32 {
    liveCount += 1
    bytes += entry.costBytes
    if let slot = index[entry.id] {
      entry.revision = entries[Int(slot)].revision
      entries[Int(slot)] = entry
      return slot
    }
    let slot: Int32
    if let reused = free.popLast() {
      slot = reused
      entries[Int(slot)] = entry
    } else {
      slot = Int32(entries.count)
      entries.append(entry)
    }
    index[entry.id] = slot
    return slot
  }

  mutating func remove(_ slot: Int32, at revision: Revision) {
    if entries[Int(slot)].type == .embed || entries[Int(slot)].origin != nil {
      embeds.removeAll { $0 == slot }
      for child in entries[Int(slot)].children { remove(child, at: revision) }
    }
    liveCount -= 1
    bytes -= entries[Int(slot)].costBytes
    entries[Int(slot)].isDead = true
    // Late readers only need its id.
    (entries[Int(slot)].properties, entries[Int(slot)].failures) = ([:], [:])
    (entries[Int(slot)].children, entries[Int(slot)].events) = ([], [])
    entries[Int(slot)].origin = nil
    mark(slot, at: revision)
  }

  mutating func setChildren(of slot: Int32, to children: [Int32], at revision: Revision) {
    guard entries[Int(slot)].children != children else { return }
    entries[Int(slot)].children = children
    mark(slot, at: revision)
  }

  /// Shows or hides a node and all nodes below it.
  mutating func setShown(_ slot: Int32, _ isShown: Bool, at revision: Revision) {
    guard entries[Int(slot)].isShown != isShown else { return }
    entries[Int(slot)].isShown = isShown
    markParent(of: slot, at: revision)
    markAll(from: slot, revision)
  }

  private mutating func markAll(from slot: Int32, _ revision: Revision) {
    mark(slot, at: revision)
    for child in entries[Int(slot)].children { markAll(from: child, revision) }
  }

  /// Sets or (with nil) removes a property. Returns false, and changes nothing, if the content
  /// would exceed `bytesMax`.
  mutating func set(
    _ name: String, to value: Value?, on slot: Int32, at revision: Revision, bytesMax: Int
  ) -> Bool {
    let old = entries[Int(slot)].properties[name]
    guard old != value else { return true }
    let cost = { (value: Value?) in value.map { $0.costBytes + name.utf8.count } ?? 0 }
    let growth = cost(value) - cost(old)
    guard growth <= 0 || bytes + growth <= bytesMax else { return false }
    bytes += growth
    entries[Int(slot)].properties[name] = value
    mark(slot, at: revision)
    return true
  }

  /// Records, or (with nil) clears, the problem of a part of a node. Returns whether that changed
  /// it, and whether there was room for the text.
  mutating func setFailure(
    _ name: String, to message: String?, on slot: Int32, at revision: Revision, bytesMax: Int
  ) -> (isNews: Bool, hasRoom: Bool) {
    guard slot >= 0, message != nil || !entries[Int(slot)].failures.isEmpty else {
      return (false, true)
    }
    var message = message.map {
      String(decoding: $0.utf8.prefix(NodeSlots.failureBytesMax), as: UTF8.self)
    }
    var hasRoom = true
    // The text of problems may take as much room as the content.
    if let words = message, (bytes + words.utf8.count) / 2 > bytesMax {
      (message, hasRoom) = (nil, false)
    }
    let old = entries[Int(slot)].failures[name]
    guard old != message else { return (false, hasRoom) }
    let cost = { (message: String?) in message.map { $0.utf8.count + name.utf8.count } ?? 0 }
    bytes += cost(message) - cost(old)
    entries[Int(slot)].failures[name] = message
    mark(slot, at: revision)
    return (true, hasRoom)
  }

  /// Records in the log that a node changed.
  mutating func mark(_ slot: Int32, at revision: Revision) {
    changeCount &+= 1
    guard slot >= 0, entries[Int(slot)].revision != revision else { return }
    entries[Int(slot)].revision = revision
    log.append(Change(revision: revision, slot: slot))
  }

  mutating func markParent(of slot: Int32, at revision: Revision) {
    mark(entries[Int(slot)].parent, at: revision)
  }
}

/// The state of a node for users.
struct NodeStanding {
  let type: NodeType
  /// The node, and all nodes above it, are shown.
  let isVisible: Bool
  /// The node, and all nodes above it, take events.
  let isEnabled: Bool
  /// An input for a number.
  let takesNumber: Bool
  /// For an embed: the id of its widget, as the node has it.
  var embeddedWidget: String?
}

// MARK: - Embeds

extension NodeSlots {
  /// The requests of the shown embeds.
  var embedRequests: [(slot: Int32, request: EmbedRequest)] {
    embeds.compactMap { slot in isPresent(slot) ? (slot, request(of: slot)) : nil }
  }

  /// The slots of all embeds.
  var embedSlots: [Int32] { embeds }

  private func request(of slot: Int32) -> EmbedRequest {
    let properties = entries[Int(slot)].properties
    func text(_ name: String) -> String {
      if case .string(let text)? = properties[name] { text } else { "" }
    }
    return EmbedRequest(widget: text("widget"), family: text("family"))
  }

  /// The id of a node in the widget that it comes from; nil if no embed has such a node.
  func origin(of id: String) -> String? {
    guard let slot = index[id], isPresent(slot) else { return nil }
    return entries[Int(slot)].origin
  }

  /// Puts the nodes of another widget, or the reason for their absence, into an embed. Returns the
  /// depth of nested embeds, including this embed.
  mutating func show(
    _ result: EmbedResult, inEmbed slot: Int32, at revision: Revision, limits: StoreLimits
  ) -> Int {
    switch result {
    case .hidden:
      _ = embed(nil, in: slot, at: revision, limits)
      setEmbedFailure(nil, slot, at: revision, limits)
      return 1
    case .content(let content, let depth, let problem):
      if embed(content, in: slot, at: revision, limits) {
        setEmbedFailure(problem.isEmpty ? nil : problem, slot, at: revision, limits)
        return depth + 1
      }
      showFailure(
        "There is no room for it: a widget's content has at most \(limits.contentNodesMax) nodes "
          + "(content_nodes_max) and \(limits.contentBytesMax) bytes (content_bytes_max).",
        in: slot, at: revision, limits)
    case .failure(let reason): showFailure(reason, in: slot, at: revision, limits)
    }
    return 1
  }

  /// Shows the reason for an empty embed, so that users see it too.
  private mutating func showFailure(
    _ reason: String, in slot: Int32, at revision: Revision, _ limits: StoreLimits
  ) {
    setEmbedFailure(reason, slot, at: revision, limits)
    var text = reason
    if case .string(let fallback)? = entries[Int(slot)].properties["fallback"] { text = fallback }
    let label = Node(
      id: "problem", type: .label,
      properties: ["text": .string(text), "font": .string("font.caption")])
    let content = text.isEmpty ? nil : Content(rootID: label.id, nodes: [label])
    if !embed(content, in: slot, at: revision, limits) {
      _ = embed(nil, in: slot, at: revision, limits)
    }
  }

  private mutating func setEmbedFailure(
    _ reason: String?, _ slot: Int32, at revision: Revision, _ limits: StoreLimits
  ) {
    _ = setFailure(
      NodeSlots.embedded, to: reason, on: slot, at: revision, bytesMax: limits.contentBytesMax)
  }

  /// Makes the nodes in an embed match a content, and records the changes. Returns false, and
  /// changes nothing, if there is no room.
  private mutating func embed(
    _ content: Content?, in slot: Int32, at revision: Revision, _ limits: StoreLimits
  ) -> Bool {
    var old: Set<Int32> = []
    collect(entries[Int(slot)].children, into: &old)
    let prefix = entries[Int(slot)].id
    var new: [Entry] = []
    var ids: [String: String] = [:]
    for node in content?.nodes ?? [] {
      let id = NodeID.embedded(node.id, in: prefix)
      ids[node.id] = id
      var entry = Entry(
        id: id, type: node.type ?? .stack, properties: node.properties, parent: slot,
        events: node.events, origin: node.id)
      if !node.problem.isEmpty { entry.failures[NodeSlots.ofOthers] = node.problem }
      new.append(entry)
    }
    let oldBytes = old.reduce(0) { $0 + entries[Int($1)].costBytes }
    let newBytes = new.reduce(0) { $0 + $1.costBytes }
    guard liveCount - old.count + new.count <= limits.contentNodesMax || new.isEmpty,
      bytes - oldBytes + newBytes <= limits.contentBytesMax || newBytes <= oldBytes
    else { return false }
    var slots: [String: Int32] = [:]
    for entry in new { slots[entry.id] = put(entry, at: revision) }
    for node in content?.nodes ?? [] {
      guard let own = ids[node.id].flatMap({ slots[$0] }) else { continue }
      let children = node.childIDs.compactMap { ids[$0].flatMap { slots[$0] } }
      for child in children { entries[Int(child)].parent = own }
      setChildren(of: own, to: children, at: revision)
    }
    let top = (content?.rootID).flatMap { ids[$0] }.flatMap { slots[$0] }
    if let top { entries[Int(top)].parent = slot }
    setChildren(of: slot, to: top.map { [$0] } ?? [], at: revision)
    let kept = Set(slots.values)
    for gone in old where !kept.contains(gone) {
      // Its children are removed separately, or have another parent by now.
      entries[Int(gone)].children = []
      remove(gone, at: revision)
    }
    return true
  }

  private func collect(_ slots: [Int32], into all: inout Set<Int32>) {
    for slot in slots where all.insert(slot).inserted {
      collect(entries[Int(slot)].children, into: &all)
    }
  }

  /// Updates a node of another widget.
  private mutating func put(_ entry: Entry, at revision: Revision) -> Int32 {
    var entry = entry
    guard let slot = index[entry.id], !entries[Int(slot)].isDead else {
      let slot = insert(&entry)
      mark(slot, at: revision)
      return slot
    }
    let old = entries[Int(slot)]
    guard
      old.type != entry.type || old.properties != entry.properties || old.events != entry.events
        || old.failures != entry.failures || old.origin != entry.origin
    else { return slot }
    bytes += entry.costBytes - old.costBytes
    entry.children = old.children
    (entry.revision, entry.parent) = (old.revision, old.parent)
    entries[Int(slot)] = entry
    mark(slot, at: revision)
    return slot
  }
}

extension NodeSlots {
  /// The violated invariants, in words; for tests.
  func checkInvariants() -> [String] {
    var violations: [String] = []
    let isFree = Set(free)
    var live = 0
    var sum = 0
    for slot in 0..<Int32(entries.count) where !isFree.contains(slot) {
      let entry = entries[Int(slot)]
      if index[entry.id] != slot { violations.append("\(entry.id) is not where the index says") }
      if entry.isDead {
        if !log.contains(where: { $0.slot == slot && $0.revision == entry.revision }) {
          violations.append("nothing will forget \(entry.id)")
        }
        continue
      }
      live += 1
      sum += entry.costBytes
      for child in entry.children {
        if entries[Int(child)].isDead { violations.append("\(entry.id) has a dead child") }
        if entries[Int(child)].parent != slot { violations.append("a child has another parent") }
      }
      if entry.revision > logStart, entry.revision != log.last(where: { $0.slot == slot })?.revision
      {
        violations.append("the log does not know of \(entry.id)")
      }
    }
    if live != liveCount { violations.append("liveCount is \(liveCount) of \(live)") }
    if sum != bytes { violations.append("bytes is \(bytes) of \(sum)") }
    if index.count != entries.count - free.count { violations.append("the index has others") }
    for (a, b) in zip(log, log.dropFirst()) where a.revision > b.revision {
      violations.append("the log is out of order")
    }
    return violations
  }
}
