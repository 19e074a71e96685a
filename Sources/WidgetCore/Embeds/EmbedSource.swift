import WidgetModel

/// The request of an embed.
struct EmbedRequest: Hashable {
  /// The id of the widget, as the node has it.
  var widget: String
  /// The family, as the node has it; empty for the default.
  var family: String
}

/// The result for an embed.
enum EmbedResult {
  /// Content, the depth of nested embeds in it, and the problem of its widget; empty for none.
  case content(Content, depth: Int, problem: String)
  /// Nothing, because the widget is hidden.
  case hidden
  /// The reason why there is no content.
  case failure(String)
}

/// Finds the content of embeds: a view of all records, for one check of one widget.
struct EmbedSource {
  /// The maximum depth of nested embeds.
  static let depthMax = 4
  /// The maximum number of embeds of a content that show something.
  static let countMax = 32

  let slots: [Record?]
  let index: [WidgetID: Int32]
  let schemas: KindSchemas
  let limits: StoreLimits
  let links: EmbedLinks

  func record(_ id: WidgetID) -> Record? { index[id].flatMap { slots[Int($0)] } }

  /// One check of the embeds of a widget.
  final class Look {
    /// The widget that is checked.
    let id: WidgetID
    /// The family in which it is shown.
    let family: Family
    /// The targets of embeds in content that is made for the embeds.
    fileprivate(set) var furtherTargets: Set<WidgetID> = []
    /// The cost of the check, in steps of expressions.
    fileprivate(set) var cost = 0
    /// The number of embeds around the one that is looked up.
    fileprivate var level = 0
    /// The content that was made for the embeds, each with the level of its embed. It has no embeds
    /// below the level `depthMax`.
    fileprivate var made: [Made: (content: Content, depth: Int, level: Int)] = [:]

    fileprivate struct Made: Hashable {
      let id: WidgetID
      let family: Family
    }

    init(_ id: WidgetID, as family: Family) {
      self.id = id
      self.family = family
    }
  }

  /// The result for an embed in the content of a widget. It depends neither on the cache nor on the
  /// widget that is checked.
  ///
  /// - Parameters:
  ///   - outer: the widget with the embed.
  ///   - shown: the family in which that widget is shown.
  private func find(
    _ request: EmbedRequest, of outer: WidgetID, in shown: Family, _ look: Look
  ) -> EmbedResult {
    look.cost += ContentEvaluation.nodeCost
    guard !request.widget.isEmpty else { return .failure("The embed names no widget.") }
    guard let id = WidgetID(request.widget) else {
      return .failure("\"\(request.widget.prefix(64))\" is not the id of a widget.")
    }
    if outer != look.id { look.furtherTargets.insert(id) }
    // `cut` removes what is below this level. Widgets that show each other only in another family
    // have no links yet, so the recursion would end only with the budget.
    guard look.level < EmbedSource.depthMax else { return .hidden }
    guard id != outer else { return .failure("The widget \"\(id)\" would show itself.") }
    guard let record = record(id) else { return .failure("There is no widget \"\(id)\".") }
    // The work after this point is bounded, so one check exceeds the limit by one content at most.
    guard look.cost < limits.contentCostMax else {
      return .failure(
        "The embeds cost more together than content_cost_max (\(limits.contentCostMax)) allows; "
          + "show fewer or smaller widgets.")
    }
    switch links.reach(from: id, to: outer, spending: &look.cost) {
    case .circle:
      let verb = record.kind == .smartStack ? "can show" : "shows"
      return .failure("The widget \"\(id)\" \(verb) this one, so it cannot be shown here.")
    case .tooMany:
      return .failure(
        "The widget \"\(id)\" shows too many other widgets. At most \(EmbedLinks.reachMax) "
          + "widgets with \(EmbedLinks.linksMax) links are allowed.")
    case .apart: break
    }
    guard record.presence.isVisible else { return .hidden }
    guard let family = family(request.family, of: record, in: shown) else {
      return .failure(
        "The kind \"\(record.kind)\" does not support the family \(request.family)."
          + advice(record, schemas[record.kind]?.kind.families ?? []))
    }
    guard var (content, depth) = content(of: record, as: family, look) else {
      let declared = schemas[record.kind]?.kind.content ?? []
      return .failure(
        declared.isEmpty
          ? "The kind \"\(record.kind)\" declares no content."
          : "The kind \"\(record.kind)\" has no content for the family \(family.name)."
            + advice(record, declared.flatMap(\.families)))
    }
    if depth >= EmbedSource.depthMax {
      content = EmbedSource.cut(content)
      depth = EmbedSource.depthMax - 1
    }
    // The embed makes each node again.
    look.cost += content.nodes.count * ContentEvaluation.nodeCost
    let problem = problem(of: record)
    guard !record.presence.isEnabled || record.isPlain else {
      return .content(content, depth: depth, problem: problem)
    }
    var nodes = content.nodes
    if let top = nodes.firstIndex(where: { $0.id == content.rootID }) {
      if !record.presence.isEnabled { nodes[top].properties["enabled"] = .bool(false) }
      // A kind that is not registered does not declare which data is private, so all data is
      // private.
      if record.isPlain { nodes[top].properties["privacy"] = .bool(true) }
    }
    return .content(
      Content(rootID: content.rootID, nodes: nodes), depth: depth, problem: problem)
  }

  /// The hint for the author of an embed without content: a family that has content.
  private func advice(_ record: Record, _ families: [Family]) -> String {
    guard let best = families.contains(record.family) ? record.family : families.first else {
      return ""
    }
    return " Set \"family\" of the embed to \(best.name)."
  }

  /// The problem of a widget in an embed: its failure, or that it is stale.
  private func problem(of record: Record) -> String {
    let failures = WidgetFailure.all(
      error: record.error, timeline: record.moment?.status, activity: record.activity
    ) { record.data.map[$0] }
    let (words, details) =
      switch failures.first {
      case .error(let error):
        ("has an error", error.message.isEmpty ? error.reason : error.message)
      case .timeline(let problem, _): ("has a problem of its timeline", problem)
      // The content of the built-in kind has the outcome.
      case .activity where record.kind == .activity: ("", "")
      case .activity(let status, _): ("has failed", status)
      // The nodes of the content show their problems.
      case .content: ("", "")
      case nil: ("", "")
      }
    if !words.isEmpty {
      let end = details.isEmpty ? "." : ": \(details.prefix(EmbedSource.wordsMax))"
      return "The widget \"\(record.id)\" \(words)\(end)"
    }
    return record.isStale ? "The widget \"\(record.id)\" is stale." : ""
  }

  /// The maximum number of characters of an error in an embed.
  private static let wordsMax = 200

  /// The content of an inner widget, without nodes that would be nested too deep in the outer one.
  /// The embeds at the first level that is too deep show the reason. O(nodes).
  private static func cut(_ content: Content) -> Content {
    let reason = "Embeds are nested more than \(depthMax) deep."
    let byID = Dictionary(
      content.nodes.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    var result: [Node] = []
    var waiting = [(id: content.rootID, depth: 0)]
    while let (id, depth) = waiting.popLast() {
      guard var node = byID[id] else { continue }
      let isTooDeep = node.type == .embed && depth == depthMax - 1
      guard isTooDeep else {
        let next = node.type == .embed ? depth + 1 : depth
        waiting += node.childIDs.reversed().map { ($0, next) }
        result.append(node)
        continue
      }
      let label = Node(
        id: NodeID.embedded("problem", in: node.id), type: .label,
        properties: [
          "text": node.properties["fallback"] ?? .string(reason), "font": .string("font.caption"),
        ])
      (node.childIDs, node.problem) = ([label.id], "content: \(reason)")
      result += [node, label]
    }
    return Content(rootID: content.rootID, nodes: result)
  }

  /// Nil if the embed names a family that the kind does not support.
  private func family(_ name: String, of record: Record, in shown: Family) -> Family? {
    let families = schemas[record.kind]?.kind.families ?? []
    let supports = { (family: Family) in families.isEmpty || families.contains(family) }
    guard name.isEmpty else {
      return Family.allCases.first { $0.name == name }.flatMap { supports($0) ? $0 : nil }
    }
    return supports(shown) ? shown : record.family
  }

  /// The content of a widget for a family, and the depth of nested embeds in it. The recursion is at
  /// most `depthMax` deep. A content is made again only for an embed with fewer embeds around it.
  private func content(
    of record: Record, as family: Family, _ look: Look
  ) -> (content: Content, depth: Int)? {
    if record.isPlain || record.family == family {
      return record.shownContent.map { ($0, record.content?.table.embedDepth ?? 0) }
    }
    if let kept = record.familyContents.first(where: { $0.family == family }) {
      return kept.content.map { ($0.table.content, $0.table.embedDepth) }
    }
    let place = Look.Made(id: record.id, family: family)
    if let made = look.made[place], made.level <= look.level { return (made.content, made.depth) }
    guard let program = ContentMaker.program(of: record.kind, for: family, in: schemas) else {
      return nil
    }
    var limits = limits
    limits.contentCostMax -= min(limits.contentCostMax, look.cost)
    var table = ContentTable(
      program, of: record, as: family, limits: limits,
      knowing: record.content?.table.failureTimes ?? FailureTimes())
    look.cost += table.cost
    look.level += 1
    defer { look.level -= 1 }
    _ = resolve(
      &table, of: record, in: family, at: record.revision, time: record.updateTime,
      limits: limits, look)
    let content = table.content
    look.made[place] = (content: content, depth: table.embedDepth, level: look.level - 1)
    return (content, table.embedDepth)
  }

  /// Updates the embeds of a content. Returns whether that changed it.
  func resolve(
    _ table: inout ContentTable, of record: Record, in family: Family, at revision: Revision,
    time: Timestamp?, limits: StoreLimits, _ look: Look
  ) -> Bool {
    var count = 0
    return table.resolveEmbeds(at: revision, time: time, limits: limits) { request in
      count += 1
      guard count <= EmbedSource.countMax else {
        return .failure("A widget shows at most \(EmbedSource.countMax) others.")
      }
      return find(request, of: record.id, in: family, look)
    }
  }

  /// Updates the embeds of a content that was just made for one answer. Nothing updates this
  /// content, so its widget gets no links. Returns the cost.
  func resolveOnce(_ table: inout ContentTable, of record: Record, as family: Family) -> Int {
    look(&table, of: record, as: family).cost
  }

  /// Updates the embeds of a content that was just made for a reader, and adds the links. Returns
  /// the cost.
  func resolve(_ table: inout ContentTable, of record: Record, as family: Family) -> Int {
    guard table.program.hasEmbeds else { return 0 }
    let direct = table.embedTargets
    let look = look(&table, of: record, as: family)
    links.addTargets(of: record.id, direct.union(look.furtherTargets))
    return look.cost
  }

  private func look(_ table: inout ContentTable, of record: Record, as family: Family) -> Look {
    let look = Look(record.id, as: family)
    _ = resolve(
      &table, of: record, in: family, at: record.revision, time: record.updateTime,
      limits: limits, look)
    return look
  }
}
