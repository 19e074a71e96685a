import WidgetModel

/// The content of one widget, node by node, with the revision that last changed each node.
///
/// It follows the widget: `refresh` evaluates only the expressions that read changed inputs.
/// `NodeSlots` has the nodes and the log of their changes. `BlockInstance` maps nodes to the parts
/// of the template. `RowList` matches rows by their keys. `ContentEvaluation` is one run of the
/// expressions.
///
/// Readers are cursors here too; see `NodeSlots`.
///
/// The table is never stored, because the widget and its kind determine it. After a restart its log
/// begins at the widget's revision. If the content met a limit, each change makes the whole content
/// again, because the room for new nodes depends on the existing nodes. Content that met no limit
/// is the same, whether it was made in steps or at once. The exception is `contentCostMax`, which
/// limits one step. So `isCut` is checked after a restart, see `WidgetStore.markReplaced`.
struct ContentTable {
  let program: ContentProgram
  private var slots: NodeSlots
  private var root: BlockInstance
  private var evaluatedAt: Revision
  private var family: Family
  /// The family for which the content is made; nil for the widget's family.
  private let shownFamily: Family?
  /// Whether the content met a limit, so that nodes may be missing.
  private(set) var isCut: Bool
  /// Whether evaluation exceeded `contentCostMax`. Valid only for a table that was just made.
  let ranOut: Bool
  /// The cost of the last evaluation, including the nodes that it made.
  private(set) var cost: Int
  /// The depth of nested embeds; 0 without embeds.
  private(set) var embedDepth = 0

  /// The whole content of a widget, for its family or another one.
  ///
  /// - Parameters:
  ///   - known: The starts of the failures of the widget's former content.
  ///   - time: The time at which other failures begin; nil for the widget's change.
  init(
    _ program: ContentProgram, of record: Record, as shownFamily: Family? = nil,
    limits: StoreLimits, knowing known: FailureTimes = FailureTimes(), at time: Timestamp? = nil
  ) {
    self.program = program
    self.shownFamily = shownFamily
    evaluatedAt = record.revision
    family = record.family
    var evaluation = ContentEvaluation(record, limits, for: program, as: shownFamily, at: time)
    var slots = NodeSlots(at: record.revision, knowing: known)
    root = BlockInstance(program.root, path: "", parent: -1, in: &slots, &evaluation)
    // Readers without this revision get everything.
    slots.begin(at: record.revision)
    // Embeds fail later, in `resolveEmbeds`.
    if !program.hasEmbeds { slots.forgetKnownFailures() }
    self.slots = slots
    (cost, isCut, ranOut) = (evaluation.spent, evaluation.metLimit, evaluation.ranOut)
  }

  /// Continues the history of another table with the same nodes. Readers of that table need no
  /// nodes.
  mutating func inheritHistory(of other: ContentTable) { slots.inheritHistory(of: other.slots) }

  /// Makes readers from before a revision get all nodes. The table was made from the widget as of
  /// that revision.
  mutating func begin(at revision: Revision) {
    slots.begin(at: revision)
    evaluatedAt = revision
  }

  // MARK: - Reading

  /// The size of its nodes, as limits of one content count it.
  var bytes: Int { slots.bytes }

  /// The size of its nodes, and of the slots of removed nodes, as quotas count it.
  var storedBytes: Int {
    slots.bytes + (slots.entries.count - slots.liveCount) * NodeEntry.costBytes
  }

  /// The whole content.
  var content: Content { slots.content(below: root.top) }

  /// The starts of the failures of its nodes. O(nodes that fail).
  var failureTimes: FailureTimes { slots.failureTimes }

  /// Whether failures that begin now get the start of a failure of the former content.
  var knowsFormerFailures: Bool { slots.knowsFormerFailures }

  /// The changes after a cursor; nil for none. O(changes).
  func change(since cursor: Revision) -> ContentChange? {
    slots.change(since: cursor, below: root.top)
  }

  /// The state of a node; nil if it does not exist now.
  func standing(of id: String) -> NodeStanding? { slots.standing(of: id) }

  /// The properties of a node; nil if there is no such node.
  func properties(of id: String) -> ValueMap? { slots.properties(of: id) }

  /// The violated invariants, in words; for tests.
  func checkInvariants() -> [String] { slots.checkInvariants() }

  // MARK: - Embeds

  /// The widgets that its embeds name.
  var embedTargets: Set<WidgetID> {
    guard program.hasEmbeds else { return [] }
    return Set(slots.embedRequests.compactMap { WidgetID($0.request.widget) })
  }

  /// The requests of its embeds.
  var embedRequests: Set<EmbedRequest> {
    guard program.hasEmbeds else { return [] }
    return Set(slots.embedRequests.map(\.request))
  }

  /// The id of a node in the widget that it comes from; nil if no embed has such a node.
  func origin(of id: String) -> String? { slots.origin(of: id) }

  /// Shows in each embed the result of `find`. Returns whether that changed anything.
  ///
  /// - Parameter time: The start of failures that this finds.
  mutating func resolveEmbeds(
    at revision: Revision, time: Timestamp?, limits: StoreLimits,
    _ find: (EmbedRequest) -> EmbedResult
  ) -> Bool {
    guard program.hasEmbeds else { return false }
    let before = (slots.changeCount, embedDepth)
    embedDepth = 0
    let requests = slots.embedRequests
    let shown = Set(requests.map(\.slot))
    // Removals come first, because they make room for new nodes.
    for slot in slots.embedSlots where !shown.contains(slot) {
      _ = slots.show(.hidden, inEmbed: slot, at: revision, time: time, limits: limits)
    }
    for (slot, request) in requests {
      let depth = slots.show(
        find(request), inEmbed: slot, at: revision, time: time, limits: limits)
      embedDepth = max(embedDepth, depth)
    }
    let differs = before != (slots.changeCount, embedDepth)
    slots.forgetKnownFailures()
    slots.trimLog()
    return differs
  }

  // MARK: - Following

  /// Updates the content after a change of the widget.
  mutating func refresh(_ record: Record, limits: StoreLimits) {
    let changed = changedInputs(record).intersection(program.root.inputs)
    (evaluatedAt, family) = (record.revision, record.family)
    cost = 0
    guard !changed.isEmpty else { return }
    if !isCut {
      // Beyond this, the whole content is made again. So a change costs at most half more than the
      // limit.
      var limits = limits
      limits.contentCostMax = max(1, limits.contentCostMax / 2)
      var evaluation = ContentEvaluation(record, limits, for: program, as: shownFamily)
      root.update(program.root, path: "", changed, in: &slots, &evaluation)
      // The text of problems may have used the room for nodes.
      isCut = evaluation.metLimit || bytes > limits.contentBytesMax
      cost = evaluation.spent
    }
    if isCut { makeAgain(record, limits) }
    slots.trimLog()
  }

  /// Makes the whole content again, and records only the differences as changes.
  private mutating func makeAgain(_ record: Record, _ limits: StoreLimits) {
    let old = self
    self = ContentTable(
      program, of: record, as: shownFamily, limits: limits, knowing: old.failureTimes)
    cost += old.cost
    slots.replace(old.slots, at: record.revision)
  }

  private func changedInputs(_ record: Record) -> Set<ContentProgram.Input> {
    // All changes of one commit have one revision, even in several steps.
    let since = record.revision == evaluatedAt ? evaluatedAt - 1 : evaluatedAt
    var changed: Set<ContentProgram.Input> = []
    let data = record.data.changedKeys(since: since)
    if !data.isEmpty { changed.insert(.allData) }
    for key in data { changed.insert(.data(key)) }
    let parameters = record.parameters.changedKeys(since: since)
    if !parameters.isEmpty { changed.insert(.allParameters) }
    for key in parameters { changed.insert(.parameter(key)) }
    if record.momentRevision > since { changed.insert(.entry) }
    // `stale` is not one of these inputs.
    if max(record.labelsRevision, record.presenceRevision) > since
      || record.isActivity && record.statusRevision > since
      || shownFamily == nil && record.family != family
    {
      changed.insert(.widget)
    }
    return changed
  }
}
