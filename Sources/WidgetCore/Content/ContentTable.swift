import WidgetModel

/// What one widget shows, node by node, and when each node last changed.
///
/// It follows the widget: `refresh` evaluates what reads something that has changed since, and nothing
/// else. `NodeSlots` has the nodes and the log of their changes, `BlockInstance` knows which node is made
/// from which part of the template, `RowList` matches rows by their keys, `ContentEvaluation` is one run
/// of the expressions.
///
/// Readers are cursors here too; see `NodeSlots`.
///
/// The table is never stored, because the widget and its kind determine it. After a restart it
/// begins with its log at the widget's revision. If the content met a limit, each change makes
/// the whole content again, because what fits depends on the nodes that are there already. Content
/// that met no limit is the same, whether made in steps or at once. The exception is
/// `contentCostMax`, which bounds a step; so `isCut` is checked after a restart, see
/// `WidgetStore.markReplaced`.
struct ContentTable {
  let program: ContentProgram
  private var slots: NodeSlots
  private var root: BlockInstance
  private var evaluatedAt: Revision
  private var family: Family
  /// The family that the widget is shown in; nil for its own.
  private let shownFamily: Family?
  /// Whether something met a limit, so that it may have less than the state says.
  private(set) var isCut: Bool
  /// Whether evaluation exceeded `contentCostMax`. Valid only for a table that was just made.
  let ranOut: Bool
  /// What the last evaluation cost, nodes that it made included.
  private(set) var cost: Int
  /// How deep embeds are nested in it; 0 without embeds.
  private(set) var embedDepth = 0

  /// The whole content of a widget, in its own family or in another.
  init(
    _ program: ContentProgram, of record: Record, as shownFamily: Family? = nil,
    limits: StoreLimits
  ) {
    self.program = program
    self.shownFamily = shownFamily
    evaluatedAt = record.revision
    family = record.family
    var evaluation = ContentEvaluation(record, limits, for: program, as: shownFamily)
    var slots = NodeSlots(at: record.revision)
    root = BlockInstance(program.root, path: "", parent: -1, in: &slots, &evaluation)
    // Whoever does not have this revision gets everything.
    slots.begin(at: record.revision)
    self.slots = slots
    (cost, isCut, ranOut) = (evaluation.spent, evaluation.metLimit, evaluation.ranOut)
  }

  /// Goes on from where another table with the same nodes is: readers that have those need none.
  mutating func inheritHistory(of other: ContentTable) { slots.inheritHistory(of: other.slots) }

  /// Lets whoever comes from before a revision get all nodes. What the widget is at that revision is
  /// what the table was made of.
  mutating func begin(at revision: Revision) {
    slots.begin(at: revision)
    evaluatedAt = revision
  }

  // MARK: - Reading

  /// What its nodes count.
  var bytes: Int { slots.bytes }

  /// All of it.
  var content: Content { slots.content(below: root.top) }

  /// What changed after a cursor; nil for nothing. O(what changed).
  func change(since cursor: Revision) -> ContentChange? {
    slots.change(since: cursor, below: root.top)
  }

  /// How a node stands; nil if there is none now.
  func standing(of id: String) -> NodeStanding? { slots.standing(of: id) }

  /// What is wrong with it, in words; for tests.
  func checkInvariants() -> [String] { slots.checkInvariants() }

  // MARK: - Embeds

  /// The widgets that its embeds name.
  var embedTargets: Set<WidgetID> {
    guard program.hasEmbeds else { return [] }
    return Set(slots.embedRequests.compactMap { WidgetID($0.request.widget) })
  }

  /// The id of a node in the widget that it comes from; nil if there is no such node in an embed.
  func origin(of id: String) -> String? { slots.origin(of: id) }

  /// Shows in each embed what `find` says. Returns whether that changed anything.
  mutating func resolveEmbeds(
    at revision: Revision, limits: StoreLimits, _ find: (EmbedRequest) -> EmbedResult
  ) -> Bool {
    guard program.hasEmbeds else { return false }
    let before = (slots.changeCount, embedDepth)
    embedDepth = 0
    let requests = slots.embedRequests
    let shown = Set(requests.map(\.slot))
    // First, so that what goes makes room for what comes.
    for slot in slots.embedSlots where !shown.contains(slot) {
      _ = slots.show(.hidden, inEmbed: slot, at: revision, limits: limits)
    }
    for (slot, request) in requests {
      let depth = slots.show(find(request), inEmbed: slot, at: revision, limits: limits)
      embedDepth = max(embedDepth, depth)
    }
    let isOther = before != (slots.changeCount, embedDepth)
    slots.trimLog()
    return isOther
  }

  // MARK: - Following

  /// Makes it true again after the widget changed.
  mutating func refresh(_ record: Record, limits: StoreLimits) {
    let changed = changedInputs(record).intersection(program.root.inputs)
    (evaluatedAt, family) = (record.revision, record.family)
    cost = 0
    guard !changed.isEmpty else { return }
    if !isCut {
      var evaluation = ContentEvaluation(record, limits, for: program, as: shownFamily)
      root.update(program.root, path: "", changed, in: &slots, &evaluation)
      // Words about what is wrong may have taken the room of nodes.
      isCut = evaluation.metLimit || bytes > limits.contentBytesMax
      cost = evaluation.spent
    }
    if isCut { makeAgain(record, limits) }
    slots.trimLog()
  }

  /// Makes it as if there had been nothing before, and tells only what is other than it was.
  private mutating func makeAgain(_ record: Record, _ limits: StoreLimits) {
    let old = self
    self = ContentTable(program, of: record, as: shownFamily, limits: limits)
    cost += old.cost
    slots.replace(old.slots, at: record.revision)
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
    if record.momentRevision > since { changed.insert(.entry) }
    // Whether it is stale is none of them.
    if max(record.labelsRevision, record.presenceRevision) > since
      || record.isActivity && record.statusRevision > since
      || shownFamily == nil && record.family != family
    {
      changed.insert(.widget)
    }
    return changed
  }
}
