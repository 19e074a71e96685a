import WidgetExpression
import WidgetModel

/// What one widget shows, node by node, and when each node last changed.
///
/// It follows the widget: `refresh` evaluates what reads something that has changed since, and nothing
/// else. Rows are matched by their keys, so that one that stays costs a comparison.
///
/// Readers are cursors here too. `log` has the slots of the nodes that changed, in order of revisions;
/// it is bounded, and who comes from before `logStart` gets all nodes. A node that is gone keeps its slot
/// (`isDead`) until the log has forgotten it.
///
/// The table is never stored, because the widget and its kind determine it. After a restart it
/// begins with `logStart` at the widget's revision. If the content met a limit, each change makes
/// the whole content again, because what fits depends on the nodes that are there already. Content
/// that met no limit is the same, whether made in steps or at once. The exception is
/// `contentCostMax`, which bounds a step; so `isCut` is checked after a restart, see
/// `WidgetStore.beginAnew`.
///
/// Invariants: `index` has the id of every slot that is not free; the children of a live entry are live;
/// `liveCount` counts entries that are not dead; `bytes` is the sum of their `costBytes`.
struct ContentTable {
  let program: ContentProgram
  private var entries = RevertibleArray<Entry>()
  private var index: [String: Int32] = [:]
  private var free: [Int32] = []
  private var log: [Change] = []
  /// Changes at and before this revision are not in the log.
  private(set) var logStart: Revision
  private var evaluatedAt: Revision
  private var family: Family
  /// The family that the widget is shown in; nil for its own.
  private let shownFamily: Family?
  private var root = Instance()
  private var liveCount = 0
  private(set) var bytes = 0
  /// Whether something met a limit, so that it may have less than the state says.
  private(set) var isCut = false
  /// Whether evaluation exceeded `contentCostMax`. Valid only for a table that was just made.
  private(set) var ranOut = false
  /// What the last evaluation cost, nodes that it made included.
  private(set) var cost = 0

  /// What a node counts beside its id, its properties and what is wrong with it.
  static let nodeCostBytes = 32

  /// What the events of a node count.
  static func costBytes(ofEvents events: [String]) -> Int {
    events.reduce(0) { $0 + 2 + $1.utf8.count }
  }

  /// What making a node costs, in steps of expressions.
  static let nodeCost = 20

  /// How many changes are remembered: of late readers, most have less to catch up with.
  private static let logMax = 512

  private struct Entry {
    var id: String
    var type: NodeType
    var properties: ValueMap
    /// Slots, those of nodes that are not shown included.
    var children: [Int32] = []
    var parent: Int32
    /// Whether its condition holds. It is in the content if it and all above it are shown.
    var isShown = true
    var isDead = false
    var revision: Revision = 0
    /// What is wrong, by what it is wrong with.
    var failures: [String: String] = [:]
    /// The events that it takes: always those of its plan.
    var events: [String] = []

    var costBytes: Int {
      properties.costBytes + id.utf8.count + ContentTable.nodeCostBytes
        + ContentTable.costBytes(ofEvents: events)
        + failures.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
    }
  }

  private struct Change {
    let revision: Revision
    let slot: Int32
  }

  /// The nodes made from a block.
  private struct Instance {
    /// For each of the block's nodes its slot.
    var slots: [Int32] = []
    /// For each of the block's repeated nodes its rows.
    var rows: [[Row]] = []
  }

  private struct Row {
    /// What its nodes' ids end with: `/42`.
    let path: String
    var element: ExpressionValue
    var place: Int
    var instance: Instance
  }

  /// The whole content of a widget, in its own family or in another.
  init(
    _ program: ContentProgram, of record: Record, as shownFamily: Family? = nil,
    limits: StoreLimits
  ) {
    self.program = program
    self.shownFamily = shownFamily
    logStart = record.revision
    evaluatedAt = record.revision
    family = record.family
    var context = Context(record, limits, hasStatus: program.hasStatus, as: shownFamily)
    root = instantiate(program.root, path: "", parent: -1, &context)
    (cost, isCut, ranOut) = (context.spent, context.metLimit, context.ranOut)
    // Whoever does not have this revision gets everything.
    log.removeAll()
  }

  /// Goes on from where another table with the same nodes is: readers that have those need none.
  mutating func inheritHistory(of other: ContentTable) {
    logStart = other.lastChange
    // No node has changed since, so that a change at this very revision is news.
    for slot in entries.indices { entries[slot].revision = logStart }
  }

  /// Lets whoever comes from before a revision get all nodes. What the widget is at that revision is
  /// what the table was made of.
  mutating func begin(at revision: Revision) { (logStart, evaluatedAt) = (revision, revision) }

  /// The revision that last changed a node, or an earlier one that nobody needs to tell from it.
  private var lastChange: Revision { log.last?.revision ?? logStart }

  // MARK: - Reading

  /// All of it.
  var content: Content {
    var nodes: [Node] = []
    nodes.reserveCapacity(liveCount)
    appendNodes(from: root.slots[0], to: &nodes)
    return Content(rootID: rootID, nodes: nodes)
  }

  private var rootID: String { entries[Int(root.slots[0])].id }

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

  /// What is wrong with a node, or with the condition of a child: one that is not there cannot say so.
  private func problem(of entry: Entry) -> String {
    if let own = entry.failures.min(by: { $0.key.precedesByBytes($1.key) }) {
      return "\(own.key): \(own.value)"
    }
    for child in entry.children where !entries[Int(child)].isShown {
      if let message = entries[Int(child)].failures[ContentTable.condition] {
        return "\(entries[Int(child)].id).\(ContentTable.condition): \(message)"
      }
    }
    return ""
  }

  /// What a failure of a node's condition is called.
  private static let condition = "condition"

  /// What changed after a cursor; nil for nothing. O(what changed).
  func change(since cursor: Revision) -> ContentChange? {
    guard cursor >= logStart else { return ContentChange(replacingBy: content) }
    var change = ContentChange()
    for entry in log.reversed() {
      guard entry.revision > cursor else { break }
      // Of several changes to one node, the last counts.
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

  private func isPresent(_ slot: Int32) -> Bool {
    var slot = slot
    while slot >= 0 {
      let entry = entries[Int(slot)]
      if entry.isDead || !entry.isShown { return false }
      slot = entry.parent
    }
    return true
  }

  /// How a node stands towards users.
  struct Standing {
    let type: NodeType
    /// Shown, with all above it.
    let isVisible: Bool
    /// Takes events, with all above it.
    let isEnabled: Bool
  }

  /// How a node stands; nil if there is none now.
  func standing(of id: String) -> Standing? {
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
    return Standing(
      type: entries[Int(found)].type, isVisible: isVisible, isEnabled: isEnabled)
  }

  // MARK: - Following

  /// Makes it true again after the widget changed.
  mutating func refresh(_ record: Record, limits: StoreLimits) {
    let changed = changedInputs(record).intersection(program.root.inputs)
    (evaluatedAt, family) = (record.revision, record.family)
    cost = 0
    guard !changed.isEmpty else { return }
    if !isCut {
      var context = Context(record, limits, hasStatus: program.hasStatus, as: shownFamily)
      var instance = root
      root = Instance()
      update(&instance, program.root, path: "", changed, &context)
      root = instance
      // Words about what is wrong may have taken the room of nodes.
      isCut = context.metLimit || bytes > limits.contentBytesMax
      cost = context.spent
    }
    if isCut { makeAnew(record, limits) }
    trimLog()
  }

  /// Makes it as if there had been nothing before, and tells only what is other than it was.
  private mutating func makeAnew(_ record: Record, _ limits: StoreLimits) {
    let old = self
    self = ContentTable(program, of: record, as: shownFamily, limits: limits)
    (logStart, cost) = (old.logStart, cost + old.cost)
    for slot in entries.indices {
      let before = old.index[entries[slot].id]
      if let before, looks(Int32(slot), like: before, in: old) {
        entries[slot].revision = old.entries[Int(before)].revision
      } else {
        entries[slot].revision = record.revision
      }
    }
    var isLogged: Set<Int32> = []
    for change in old.log {
      let slot = slot(of: old.entries[Int(change.slot)])
      log.append(Change(revision: change.revision, slot: slot))
      if change.revision == record.revision { isLogged.insert(slot) }
    }
    for entry in old.entries where !entry.isDead && !entry.id.isEmpty {
      let slot = slot(of: entry)
      if entries[Int(slot)].isDead { entries[Int(slot)].revision = record.revision }
    }
    for slot in entries.indices.lazy.map({ Int32($0) })
    where entries[Int(slot)].revision == record.revision && !isLogged.contains(slot) {
      log.append(Change(revision: record.revision, slot: slot))
    }
  }

  /// Whether a node is what one of another table is, to readers.
  private func looks(_ slot: Int32, like before: Int32, in old: ContentTable) -> Bool {
    let isPresent = isPresent(slot)
    guard isPresent == old.isPresent(before) else { return false }
    return !isPresent || node(slot) == old.node(before)
  }

  /// Where a node of another table is, as one that is gone if it is not in this one.
  private mutating func slot(of old: Entry) -> Int32 {
    if let slot = index[old.id] { return slot }
    let slot = Int32(entries.count)
    var entry = Entry(id: old.id, type: .space, properties: [:], parent: -1)
    (entry.isDead, entry.revision) = (true, old.revision)
    entries.append(entry)
    index[old.id] = slot
    return slot
  }

  private func changedInputs(_ record: Record) -> Set<ContentProgram.Input> {
    // What one commit changes in several steps has one revision.
    let since = record.revision == evaluatedAt ? evaluatedAt - 1 : evaluatedAt
    var changed: Set<ContentProgram.Input> = []
    let data = record.data.changedKeys(since: since)
    if !data.isEmpty { changed.insert(.allData) }
    for key in data { changed.insert(.data(key)) }
    let parameters = record.parameters.changedKeys(since: since)
    if !parameters.isEmpty { changed.insert(.allParameters) }
    for key in parameters { changed.insert(.parameter(key)) }
    // Whether it is stale is none of them.
    if max(record.labelsRevision, record.presenceRevision) > since
      || shownFamily == nil && record.family != family
    {
      changed.insert(.widget)
    }
    return changed
  }

  /// What an evaluation needs.
  private struct Context {
    /// The widget's variables, then those of the rows.
    var bindings: SlotBindings
    var budget: Int
    /// Whether something was left out for want of room, or of budget.
    var metLimit = false
    /// Whether the budget was used up.
    private(set) var ranOut = false
    /// What was spent, nodes that were made included.
    var spent = 0
    let limits: StoreLimits
    let revision: Revision
    /// How many rows this is in.
    var depth = 0

    init(_ record: Record, _ limits: StoreLimits, hasStatus: Bool, as family: Family?) {
      bindings = SlotBindings([
        .map(ExpressionMap(RecordMap(record.data))),
        .map(ExpressionMap(RecordMap(record.parameters))),
        WidgetVariable.value(of: record, as: family ?? record.family),
      ])
      if hasStatus {
        bindings.values.append(
          record.data[ContentCompiler.statusKey].map { ExpressionValue($0) } ?? .null)
      }
      self.limits = limits
      budget = limits.contentCostMax
      revision = record.revision
    }

    mutating func enter(_ element: ExpressionValue, _ place: Int) {
      bindings.values += [element, .int(Int64(place))]
      depth += 1
    }

    mutating func leave() {
      bindings.values.removeLast(2)
      depth -= 1
    }

    /// A value, or what is wrong.
    mutating func value(_ expression: CompiledExpression) -> Result<ExpressionValue, Failure> {
      guard budget > 0 else {
        (metLimit, ranOut) = (true, true)
        return .failure(.tooCostly)
      }
      var rest = budget - 1
      do throws(EvaluationError) {
        let value = try expression.evaluate(bindings, spending: &rest)
        spend(budget - rest)
        return .success(value)
      } catch {
        if error.reason == .costExceeded { (metLimit, ranOut) = (true, true) }
        // One that costs too much by itself is not to take everything else with it.
        let paid = error.reason == .costExceeded ? max(1, budget / 8) : budget - rest
        spent += budget - rest - paid
        spend(paid)
        return .failure(Failure(message: error.quoted))
      }
    }

    private mutating func spend(_ cost: Int) {
      budget -= cost
      spent += cost
    }

    /// A value as it is stored, or what is wrong.
    mutating func stored(_ value: ExpressionValue) -> Result<Value, Failure> {
      var rest = budget
      defer { spend(budget - rest) }
      do throws(EvaluationError) {
        return .success(try Value(value, budget: &rest, depthMax: limits.valueDepthMax))
      } catch {
        if error.reason == .costExceeded { (metLimit, ranOut) = (true, true) }
        return .failure(
          error.reason == .costExceeded
            ? .tooCostly : Failure(message: error.storageMessage(depthMax: limits.valueDepthMax)))
      }
    }
  }

  private struct Failure: Error {
    let message: String

    static let tooCostly = Failure(
      message: "the content costs more than content_cost_max allows; simplify the expressions")
  }

  /// Evaluates what reads something changed, or (nil) everything, in a block and its rows.
  private mutating func update(
    _ instance: inout Instance, _ block: ContentProgram.Block, path: String,
    _ changed: Set<ContentProgram.Input>?, _ context: inout Context
  ) {
    for place in bindings(of: block, reading: changed) {
      evaluate(block.bindings[place], on: instance.slots[block.bindings[place].node], &context)
    }
    for (place, plan) in block.rows.enumerated() {
      let parent = instance.slots[plan.parent]
      if changed.map({ !plan.listInputs.isDisjoint(with: $0) }) ?? true {
        // Out of the instance while it changes, so that nothing is copied.
        var rows = instance.rows[place]
        instance.rows[place] = []
        reconcile(&rows, plan, parent: parent, path: path, changed, &context)
        instance.rows[place] = rows
        setChildren(of: plan.parent, block, instance, context.revision)
      } else if let inner = changed?.intersection(plan.innerInputs), !inner.isEmpty {
        var rows = instance.rows[place]
        instance.rows[place] = []
        for row in rows.indices {
          context.enter(rows[row].element, rows[row].place)
          update(&rows[row].instance, plan.block, path: rows[row].path, inner, &context)
          context.leave()
        }
        instance.rows[place] = rows
      }
    }
  }

  /// The places of the bindings to evaluate, in order.
  private func bindings(
    of block: ContentProgram.Block, reading changed: Set<ContentProgram.Input>?
  ) -> [Int] {
    guard let changed else { return Array(block.bindings.indices) }
    var places: Set<Int> = []
    if changed.count <= block.bindingsByInput.count {
      for input in changed { places.formUnion(block.bindingsByInput[input] ?? []) }
    } else {
      for (input, reading) in block.bindingsByInput where changed.contains(input) {
        places.formUnion(reading)
      }
    }
    return places.sorted()
  }

  private mutating func evaluate(
    _ plan: ContentProgram.BindingPlan, on slot: Int32, _ context: inout Context
  ) {
    let result = context.value(plan.expression)
    switch plan.target {
    case .condition:
      var (isShown, failure) = (false, String?.none)
      switch result {
      case .success(.bool(let holds)): isShown = holds
      case .success: failure = "expected true or false"
      case .failure(let error): failure = error.message
      }
      setShown(slot, isShown, context.revision)
      // Its parent tells of it.
      if setFailure(ContentTable.condition, failure, on: slot, &context) {
        mark(entries[Int(slot)].parent, context.revision)
      }
    case .property(let property):
      let name = property.name
      var (value, failure) = (plan.placeholder, String?.none)
      switch result {
      case .success(.null): break
      case .success(let result):
        switch stored(result, as: property, &context) {
        case .success(let fitted): value = fitted
        case .failure(let error): failure = error.message
        }
      case .failure(let error): failure = error.message
      }
      let problem = set(name, to: value, on: slot, context)
      if problem != nil { context.metLimit = true }
      if problem != nil, set(name, to: plan.placeholder, on: slot, context) != nil {
        _ = set(name, to: nil, on: slot, context)
      }
      setFailure(name, failure ?? problem, on: slot, &context)
    }
  }

  /// A value as a property has it.
  private func stored(
    _ result: ExpressionValue, as property: NodeProperty, _ context: inout Context
  ) -> Result<Value, Failure> {
    switch context.stored(result) {
    case .failure(let error): return .failure(error)
    case .success(let value):
      do throws(PropertyMismatch) {
        return .success(try property.fitted(value))
      } catch {
        return .failure(Failure(message: error.description))
      }
    }
  }

  // MARK: - Rows

  private mutating func reconcile(
    _ rows: inout [Row], _ plan: ContentProgram.RowPlan, parent: Int32, path: String,
    _ changed: Set<ContentProgram.Input>?, _ context: inout Context
  ) {
    var failure: String?
    let elements = elements(plan, &context, &failure)
    var old = Dictionary(rows.map { ($0.path, $0) }, uniquingKeysWith: { first, _ in first })
    var paths: [String] = []
    var seen: Set<String> = []
    for (place, element) in elements.enumerated() {
      context.enter(element, place)
      let key = key(plan, place, &context, &failure)
      context.leave()
      paths.append(ContentTable.path(path, key: key, seen: &seen))
    }
    // First, so that what goes makes room for what comes.
    for row in rows where !seen.contains(row.path) {
      old[row.path] = nil
      remove(row.instance, context.revision)
    }
    let kept = roomForRows(paths, old, plan, context)
    if kept < paths.count { context.metLimit = true }
    for path in paths[kept...] {
      guard let row = old.removeValue(forKey: path) else { continue }
      remove(row.instance, context.revision)
    }
    if kept < paths.count {
      failure =
        "\(paths.count - kept) of \(paths.count) rows are left out: a widget's content has at most "
        + "\(context.limits.contentNodesMax) nodes (content_nodes_max) and "
        + "\(context.limits.contentBytesMax) bytes (content_bytes_max)"
    }
    var next: [Row] = []
    next.reserveCapacity(kept)
    let outer = changed?.intersection(plan.innerInputs) ?? []
    for (place, element) in elements.prefix(kept).enumerated() {
      context.enter(element, place)
      defer { context.leave() }
      if var row = old.removeValue(forKey: paths[place]) {
        var inputs = outer
        if row.element != element || (plan.readsPlace && row.place != place) {
          inputs.insert(.row(context.depth - 1))
        }
        (row.element, row.place) = (element, place)
        if !plan.innerInputs.isDisjoint(with: inputs) {
          update(&row.instance, plan.block, path: row.path, inputs, &context)
        }
        next.append(row)
      } else {
        let path = freePath(paths[place], plan)
        // Which of two gets the path depends on which came first.
        if path != paths[place] { context.metLimit = true }
        let instance = instantiate(plan.block, path: path, parent: parent, &context)
        next.append(Row(path: path, element: element, place: place, instance: instance))
      }
    }
    rows = next
    setFailure("\(plan.id).rows", failure, on: parent, &context)
  }

  /// How many rows, from the first on, there is room for.
  private func roomForRows(
    _ paths: [String], _ old: [String: Row], _ plan: ContentProgram.RowPlan, _ context: Context
  ) -> Int {
    let counts = old.mapValues { nodeCount($0.instance) }
    var nodes = context.limits.contentNodesMax - liveCount + counts.values.reduce(0, +)
    var room = context.limits.contentBytesMax - bytes
    for (place, path) in paths.enumerated() {
      if let count = counts[path] {
        nodes -= count
      } else {
        nodes -= plan.block.nodes.count
        room -= plan.block.constantBytes + plan.block.nodes.count * path.utf8.count
        if room < 0 { return place }
      }
      if nodes < 0 { return place }
    }
    return paths.count
  }

  private func nodeCount(_ instance: Instance) -> Int {
    instance.rows.joined().reduce(instance.slots.count) { $0 + nodeCount($1.instance) }
  }

  /// A path that no row has: another than the key's if two that were shortened are the same.
  private func freePath(_ path: String, _ plan: ContentProgram.RowPlan) -> String {
    var (free, number) = (path, 2)
    while let slot = index[plan.id + free], !entries[Int(slot)].isDead {
      free = "\(path):\(number)"
      number += 1
    }
    return free
  }

  private func elements(
    _ plan: ContentProgram.RowPlan, _ context: inout Context, _ failure: inout String?
  ) -> [ExpressionValue] {
    switch context.value(plan.list) {
    case .success(.null): return []
    case .success(.list(let list)):
      switch context.stored(.list(list)) {
      case .success(.list(let elements)): return elements.map { ExpressionValue($0) }
      case .success: return []
      case .failure(let error): failure = error.message
      }
    case .success(let value):
      failure = "expected a list, not a value of type \(value.kind.rawValue)"
    case .failure(let error): failure = error.message
    }
    return []
  }

  private func key(
    _ plan: ContentProgram.RowPlan, _ place: Int, _ context: inout Context,
    _ failure: inout String?
  ) -> String {
    guard let expression = plan.key else { return "\(place)" }
    switch context.value(expression) {
    case .success(let value):
      if let text = value.text { return text }
      failure = "a row's key must be text or a number, not a value of type \(value.kind.rawValue)"
    case .failure(let error): failure = "key: \(error.message)"
    }
    return "\(place)"
  }

  /// What the ids of a row's nodes end with: short enough, and another for each row.
  static func path(_ outer: String, key: String, seen: inout Set<String>) -> String {
    var path = "\(outer)/\(NodeID.encoded(key: key))"
    // Room for the number below. No key is written with a colon in front.
    if path.utf8.count > NodeID.rowsLengthMax - 8 { path = "/:\(hash(path))" }
    if seen.insert(path).inserted { return path }
    var number = 2
    while !seen.insert("\(path):\(number)").inserted { number += 1 }
    return "\(path):\(number)"
  }

  /// 128 bits in hexadecimal: FNV-1a from two beginnings.
  private static func hash(_ text: String) -> String {
    let hashes = [UInt64(0xcbf2_9ce4_8422_2325), 0x9e37_79b9_7f4a_7c15].map { start in
      text.utf8.reduce(start) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
    return hashes.map { String($0, radix: 16) }.joined()
  }

  // MARK: - Parts

  private mutating func instantiate(
    _ block: ContentProgram.Block, path: String, parent: Int32, _ context: inout Context
  ) -> Instance {
    var instance = Instance()
    context.spent += block.nodes.count * ContentTable.nodeCost
    instance.rows = Array(repeating: [], count: block.rows.count)
    for plan in block.nodes {
      let entry = Entry(
        id: plan.id + path, type: plan.type, properties: plan.constants,
        parent: plan.parent < 0 ? parent : instance.slots[plan.parent], events: plan.events)
      instance.slots.append(insert(entry))
    }
    for slot in instance.slots { mark(slot, context.revision) }
    for node in block.nodes.indices { setChildren(of: node, block, instance, context.revision) }
    update(&instance, block, path: path, nil, &context)
    return instance
  }

  private mutating func insert(_ entry: Entry) -> Int32 {
    liveCount += 1
    bytes += entry.costBytes
    if let slot = index[entry.id] {
      var entry = entry
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

  private mutating func remove(_ instance: Instance, _ revision: Revision) {
    for slot in instance.slots {
      liveCount -= 1
      bytes -= entries[Int(slot)].costBytes
      entries[Int(slot)].isDead = true
      // Its id alone is of use to those who are late.
      (entries[Int(slot)].properties, entries[Int(slot)].failures) = ([:], [:])
      (entries[Int(slot)].children, entries[Int(slot)].events) = ([], [])
      mark(slot, revision)
    }
    for row in instance.rows.joined() { remove(row.instance, revision) }
  }

  private mutating func setChildren(
    of node: Int, _ block: ContentProgram.Block, _ instance: Instance, _ revision: Revision
  ) {
    let children = block.nodes[node].children.flatMap { child in
      switch child {
      case .node(let place): [instance.slots[place]]
      case .rows(let place): instance.rows[place].map { $0.instance.slots[0] }
      }
    }
    let slot = instance.slots[node]
    guard entries[Int(slot)].children != children else { return }
    entries[Int(slot)].children = children
    mark(slot, revision)
  }

  private mutating func setShown(_ slot: Int32, _ isShown: Bool, _ revision: Revision) {
    guard entries[Int(slot)].isShown != isShown else { return }
    entries[Int(slot)].isShown = isShown
    if entries[Int(slot)].parent >= 0 { mark(entries[Int(slot)].parent, revision) }
    markAll(from: slot, revision)
  }

  private mutating func markAll(from slot: Int32, _ revision: Revision) {
    mark(slot, revision)
    for child in entries[Int(slot)].children { markAll(from: child, revision) }
  }

  /// Sets or (with nil) removes a property. Returns what is wrong if there is no room.
  private mutating func set(
    _ name: String, to value: Value?, on slot: Int32, _ context: Context
  ) -> String? {
    let old = entries[Int(slot)].properties[name]
    guard old != value else { return nil }
    let cost = { (value: Value?) in value.map { $0.costBytes + name.utf8.count } ?? 0 }
    let growth = cost(value) - cost(old)
    guard growth <= 0 || bytes + growth <= context.limits.contentBytesMax else {
      return "there is no room for it: a widget's content has at most "
        + "\(context.limits.contentBytesMax) bytes (content_bytes_max)"
    }
    bytes += growth
    entries[Int(slot)].properties[name] = value
    mark(slot, context.revision)
    return nil
  }

  /// Notes, or (with nil) forgets, what is wrong with a part of a node. Returns whether that is news.
  @discardableResult
  private mutating func setFailure(
    _ name: String, _ message: String?, on slot: Int32, _ context: inout Context
  ) -> Bool {
    guard slot >= 0, message != nil || !entries[Int(slot)].failures.isEmpty else { return false }
    var message = message.map { String(decoding: $0.utf8.prefix(512), as: UTF8.self) }
    // Words have the room of the content once more, and no more.
    if let words = message, (bytes + words.utf8.count) / 2 > context.limits.contentBytesMax {
      message = nil
      context.metLimit = true
    }
    let old = entries[Int(slot)].failures[name]
    guard old != message else { return false }
    let cost = { (message: String?) in message.map { $0.utf8.count + name.utf8.count } ?? 0 }
    bytes += cost(message) - cost(old)
    entries[Int(slot)].failures[name] = message
    mark(slot, context.revision)
    return true
  }

  private mutating func mark(_ slot: Int32, _ revision: Revision) {
    guard slot >= 0, entries[Int(slot)].revision != revision else { return }
    entries[Int(slot)].revision = revision
    log.append(Change(revision: revision, slot: slot))
  }

  /// Forgets the older half of the changes, and all of a revision or none.
  private mutating func trimLog() {
    guard log.count > ContentTable.logMax else { return }
    var kept = log.count - ContentTable.logMax / 2
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
}

extension ContentTable {
  /// What is wrong with it, in words; for tests.
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
