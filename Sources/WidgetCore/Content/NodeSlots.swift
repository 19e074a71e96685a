import WidgetModel

/// The nodes of a content in stable slots, with a log of the changes.
///
/// `log` has the slots of the changed nodes. A removed node keeps its slot (`isDead`) until the log
/// has forgotten it.
///
/// Nodes in an embed come from another widget. `embed` inserts them. They are removed with their
/// embed.
///
/// Invariants: `index` has the id of every slot that is not free; the children of a live entry are
/// live; `liveCount` counts entries that are not dead; `bytes` is the sum of their `costBytes`;
/// `embeds` has the slots of this widget's live embeds, without those from other widgets, and
/// `failing` the slots of its live nodes with failures.
struct NodeSlots {
  private(set) var entries = RevertibleArray<NodeEntry>()
  private(set) var index: [String: Int32] = [:]
  private(set) var free: [Int32] = []
  private(set) var log: NodeLog
  private(set) var liveCount = 0
  private(set) var bytes = 0
  private var embeds: [Int32] = []
  /// The slots of this widget's live nodes with failures.
  private(set) var failing: Set<Int32> = []
  /// The starts of failures of an earlier content with the same nodes.
  private var knownFailures: FailureTimes
  /// Increases with every change of a node.
  private(set) var changeCount: UInt32 = 0

  /// No nodes, for readers that hold nothing from before a revision.
  ///
  /// - Parameter known: The starts of the failures of an earlier content.
  init(at revision: Revision, knowing known: FailureTimes = FailureTimes()) {
    log = NodeLog(at: revision)
    knownFailures = known
  }

  // MARK: - History

  /// Readers from before this revision get all nodes.
  var logStart: Revision { log.start }

  /// Makes readers from before a revision get all nodes.
  mutating func begin(at revision: Revision) { log.restart(at: revision) }

  /// Continues the history of other slots with the same nodes. Readers of those slots need no
  /// nodes.
  mutating func inheritHistory(of other: NodeSlots) {
    log = NodeLog(at: other.log.lastChange)
    // No node has changed since this revision, so a later change at the same revision is new to
    // readers.
    for slot in entries.indices { entries[slot].revision = log.start }
  }

  /// Continues the log of other slots. These nodes replace the others at a revision, and only nodes
  /// that look different are changes.
  mutating func replace(_ old: NodeSlots, at revision: Revision) {
    for slot in entries.indices {
      let before = old.index[entries[slot].id]
      if let before, looks(Int32(slot), like: before, in: old) {
        entries[slot].revision = old.entries[Int(before)].revision
      } else {
        entries[slot].revision = revision
      }
    }
    var log = NodeLog(at: old.log.start)
    log.continue(old.log) { slot(of: old.entries[Int($0)]) }
    self.log = log
    let isLogged = log.slots(at: revision)
    for entry in old.entries where !entry.isDead && !entry.id.isEmpty {
      let slot = slot(of: entry)
      if entries[Int(slot)].isDead { entries[Int(slot)].revision = revision }
    }
    for slot in entries.indices.lazy.map({ Int32($0) })
    where entries[Int(slot)].revision == revision && !isLogged.contains(slot) {
      self.log.append(slot, at: revision)
    }
  }

  /// Whether a node looks to readers like a node of other slots.
  private func looks(_ slot: Int32, like before: Int32, in old: NodeSlots) -> Bool {
    let isPresent = isPresent(slot)
    guard isPresent == old.isPresent(before) else { return false }
    return !isPresent || node(slot) == old.node(before)
  }

  /// The slot for a node of other slots. If the node is missing here, adds it as a removed one.
  private mutating func slot(of old: NodeEntry) -> Int32 {
    if let slot = index[old.id] { return slot }
    let slot = Int32(entries.count)
    entries.append(.dead(old.id, at: old.revision))
    index[old.id] = slot
    return slot
  }

  /// Bounds the log. The slots of removed nodes that it forgets are free, or gone if they are last.
  mutating func trimLog() {
    let forgotten = log.trim()
    guard !forgotten.isEmpty else { return }
    for change in forgotten {
      let entry = entries[Int(change.slot)]
      guard entry.isDead, entry.revision == change.revision else { continue }
      index[entry.id] = nil
      entries[Int(change.slot)] = .free
      free.append(change.slot)
    }
    while let last = entries.last, last.id.isEmpty { entries.removeLast() }
    let end = Int32(entries.count)
    free.removeAll { $0 >= end }
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
    let problem = problem(of: entry)
    return Node(
      id: entry.id, type: entry.type, properties: entry.properties,
      childIDs: entry.children.compactMap { child in
        entries[Int(child)].isShown ? entries[Int(child)].id : nil
      },
      problem: problem.text, problemSince: problem.since, events: entry.events)
  }

  /// The problems of a node, and those of the conditions of its children, because a missing child
  /// cannot show them.
  private func problem(of entry: NodeEntry) -> (text: String, since: Timestamp?) {
    if entry.origin != nil {
      let name = NodeFailures.ofOthers
      return (entry.failures[name] ?? "", entry.failures.start(of: name))
    }
    var problems = ProblemList()
    for own in entry.failures.inOrder {
      problems.add(own.name, own.message, since: entry.failures.start(of: own.name))
    }
    for child in entry.children where !entries[Int(child)].isShown {
      let (name, failures) = (NodeFailures.condition, entries[Int(child)].failures)
      if let message = failures[name] {
        problems.add(
          "\(entries[Int(child)].id).\(name)", message, since: failures.start(of: name))
      }
    }
    return (problems.text, problems.since)
  }

  /// The starts of the failures of this widget's nodes. O(nodes that fail).
  var failureTimes: FailureTimes {
    var times = FailureTimes()
    for slot in failing {
      let entry = entries[Int(slot)]
      for failure in entry.failures.inOrder {
        times[entry.id, failure.name] = entry.failures.start(of: failure.name)
      }
    }
    return times
  }

  /// Whether it knows failures of the earlier content.
  var knowsFormerFailures: Bool { !knownFailures.isEmpty }

  /// Forgets the failures of the earlier content: later failures begin at their time.
  mutating func forgetKnownFailures() {
    if !knownFailures.isEmpty { knownFailures = FailureTimes() }
  }

  /// The changes after a cursor; nil for none. `root` is the top node. O(changes).
  func change(since cursor: Revision, below root: Int32) -> ContentChange? {
    guard cursor >= log.start else { return ContentChange(replacingBy: content(below: root)) }
    var change = ContentChange()
    log.forEachReversed(since: cursor) { entry in
      // If a node changed several times, the last change counts.
      guard entries[Int(entry.slot)].revision == entry.revision else { return }
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
      takesNumber: entry.type.role == .input && entry.properties["mode"] == .string("number"),
      embeddedWidget: widget)
  }

  func properties(of id: String) -> ValueMap? {
    guard let found = index[id], entries[Int(found)].id.hasSameBytes(as: id), isPresent(found)
    else { return nil }
    return entries[Int(found)].properties
  }

  // MARK: - Changing

  /// Adds a node from its plan. Its children are set later.
  mutating func insert(
    _ plan: ContentProgram.NodePlan, id: String, parent: Int32
  ) -> Int32 {
    var entry = NodeEntry(
      id: id, type: plan.type, properties: plan.constants, parent: parent, events: plan.events)
    let slot = insert(&entry)
    if plan.type == .embed { embeds.append(slot) }
    return slot
  }

  private mutating func insert(_ entry: inout NodeEntry) -> Int32 {
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
    if !failing.isEmpty { failing.remove(slot) }
    bytes -= entries[Int(slot)].costBytes
    entries[Int(slot)].die()
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
    _ name: String, to message: String?, on slot: Int32, at revision: Revision, time: Timestamp?,
    bytesMax: Int
  ) -> (isNews: Bool, hasRoom: Bool) {
    guard slot >= 0, message != nil || !entries[Int(slot)].failures.isEmpty else {
      return (false, true)
    }
    var message = message.map(NodeFailures.kept)
    var hasRoom = true
    // The text of problems may take as much room as the content.
    if let words = message, (bytes + words.utf8.count) / 2 > bytesMax {
      (message, hasRoom) = (nil, false)
    }
    let old = entries[Int(slot)].failures[name]
    guard old != message else { return (false, hasRoom) }
    bytes +=
      NodeFailures.costBytes(of: message, as: name) - NodeFailures.costBytes(of: old, as: name)
    entries[Int(slot)].failures.set(
      name, to: message, since: knownFailures[entries[Int(slot)].id, name] ?? time)
    if entries[Int(slot)].failures.isEmpty { failing.remove(slot) } else { failing.insert(slot) }
    mark(slot, at: revision)
    return (true, hasRoom)
  }

  /// Records in the log that a node changed.
  mutating func mark(_ slot: Int32, at revision: Revision) {
    changeCount &+= 1
    guard slot >= 0, entries[Int(slot)].revision != revision else { return }
    entries[Int(slot)].revision = revision
    log.append(slot, at: revision)
  }

  mutating func markParent(of slot: Int32, at revision: Revision) {
    mark(entries[Int(slot)].parent, at: revision)
  }
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
    _ result: EmbedResult, inEmbed slot: Int32, at revision: Revision, time: Timestamp?,
    limits: StoreLimits
  ) -> Int {
    switch result {
    case .hidden:
      _ = embed(nil, in: slot, at: revision, limits)
      setEmbedFailure(nil, slot, at: revision, time: time, limits)
      return 1
    case .content(let content, let depth, let problem):
      if embed(content, in: slot, at: revision, limits) {
        setEmbedFailure(problem.isEmpty ? nil : problem, slot, at: revision, time: time, limits)
        return depth + 1
      }
      showFailure(
        "There is no room for it: a widget's content has at most \(limits.contentNodesMax) nodes "
          + "(content_nodes_max) and \(limits.contentBytesMax) bytes (content_bytes_max).",
        in: slot, at: revision, time: time, limits)
    case .failure(let reason):
      showFailure(reason, in: slot, at: revision, time: time, limits)
    }
    return 1
  }

  /// Shows the reason for an empty embed, so that users see it too.
  private mutating func showFailure(
    _ reason: String, in slot: Int32, at revision: Revision, time: Timestamp?,
    _ limits: StoreLimits
  ) {
    setEmbedFailure(reason, slot, at: revision, time: time, limits)
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
    _ reason: String?, _ slot: Int32, at revision: Revision, time: Timestamp?,
    _ limits: StoreLimits
  ) {
    _ = setFailure(
      NodeFailures.embedded, to: reason, on: slot, at: revision, time: time,
      bytesMax: limits.contentBytesMax)
  }

  /// Makes the nodes in an embed match a content, and records the changes. Returns false, and
  /// changes nothing, if there is no room.
  private mutating func embed(
    _ content: Content?, in slot: Int32, at revision: Revision, _ limits: StoreLimits
  ) -> Bool {
    var old: Set<Int32> = []
    collect(entries[Int(slot)].children, into: &old)
    let new = EmbeddedNodes(content, in: slot, id: entries[Int(slot)].id)
    let oldBytes = old.reduce(0) { $0 + entries[Int($1)].costBytes }
    let newBytes = new.bytes
    guard liveCount - old.count + new.count <= limits.contentNodesMax || new.count == 0,
      bytes - oldBytes + newBytes <= limits.contentBytesMax || newBytes <= oldBytes
    else { return false }
    let places = new.place { put($0, at: revision) }
    for (own, children) in places.children {
      for child in children { entries[Int(child)].parent = own }
      setChildren(of: own, to: children, at: revision)
    }
    if let top = places.top { entries[Int(top)].parent = slot }
    setChildren(of: slot, to: places.top.map { [$0] } ?? [], at: revision)
    for gone in old where !places.all.contains(gone) {
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
  private mutating func put(_ entry: NodeEntry, at revision: Revision) -> Int32 {
    var entry = entry
    guard let slot = index[entry.id], !entries[Int(slot)].isDead else {
      let slot = insert(&entry)
      mark(slot, at: revision)
      return slot
    }
    let old = entries[Int(slot)]
    guard !old.isLike(entry) else { return slot }
    bytes += entry.costBytes - old.costBytes
    entry.children = old.children
    (entry.revision, entry.parent) = (old.revision, old.parent)
    entries[Int(slot)] = entry
    mark(slot, at: revision)
    return slot
  }
}
