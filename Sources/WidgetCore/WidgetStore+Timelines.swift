public import WidgetModel

/// Time: the content of widgets at each moment, and the changes that time makes.
///
/// A change that time makes is not stored, because it follows from the stored state and the time.
/// It takes revisions like any other change. These must not be used again after a crash, so a block
/// of them is reserved durably before use (`revisionCeiling`). After a restart, the first `advance`
/// makes readers get the widgets with a timeline as a whole, because their last entry is unknown.
extension WidgetStore {
  /// The step by which the ceiling of revisions is raised: one durable write for that many
  /// advances.
  static var revisionBlock: UInt64 { 4_096 }

  /// The next time for `advance`, on the wall clock.
  public var nextDate: Timestamp? { records.nextDate }

  /// The next time for `advance` even without readers: widgets become stale, or providers are
  /// asked.
  public func nextDuty() -> Timestamp? { records.nextDuty }

  /// The result of `advance`.
  public struct Advance: Hashable, Sendable {
    /// Whether widgets changed.
    public var isChange = false
    /// Whether more is due, because its cost did not fit into this step.
    public var hasMore = false
    /// Whether revisions must first be reserved and made durable; see `reserveRevisions`.
    public var needsReservation = false
  }

  /// Updates all widgets to a time, in one revision. The method stops at the cost `costMax`, or
  /// when `isOver` returns true, but not before the first widget. The changes cannot be refused:
  /// content without room is cut. Call it between groups only. O(due changes).
  public mutating func advance(
    to now: Timestamp, costMax: Int = .max, isOver: () -> Bool = { false }
  ) -> Advance {
    var result = Advance()
    guard let date = nextDate, date <= now else { return result }
    assert(!hasPendingGroup, "what time changes cannot be taken back with a group")
    guard !keepsInverses || revision < revisionCeiling else {
      result.needsReservation = true
      return result
    }
    let keptInverses = keepsInverses
    keepsInverses = false
    defer { keepsInverses = keptInverses }
    contents.beginCommand(at: now)
    records.beginCommand()
    while contents.cost < costMax, !(result.isChange && isOver()),
      let slot = records.popDue(at: now)
    {
      if !result.isChange { revision += 1 }
      result.isChange = true
      let (revision, isPlaced) = (revision, records[slot]?.moment?.isPlaced ?? true)
      let transition = defaultTransition(slot)
      records.modify(slot, at: revision, &contents, limits: limitsForAdvance(of: slot)) { state in
        if !isPlaced { state.replacedRevision = revision }
        state.finish(transition, at: revision, time: now)
      }
      // Each look has a cost, even if nothing is evaluated.
      contents.count(ContentEvaluation.nodeCost)
    }
    result.hasMore = nextDate.map { $0 <= now } ?? false
    return result
  }

  /// Makes the next `advance` go back to earlier entries, because the clock went back. O(all
  /// widgets).
  public mutating func clockWentBack(to now: Timestamp) {
    records.appointAhead(of: now)
    for stack in records.embeds.stacks.keys { records.embeds.enqueue(stack) }
  }

  /// The limits for content that cannot be refused: at most the free part of its owner's quota, for
  /// the nodes and for what a schedule computes. `forNodes` and `forEntries` divide this room.
  func limitsForAdvance(of slot: Int) -> StoreLimits {
    var limits = limits
    guard let record = records[slot] else { return limits }
    let used = records.usage[record.ownerUID]?.contentBytes ?? 0
    limits.contentRoomBytes = max(
      0, limits.contentBytesPerUIDMax - used + record.contentBytes)
    return limits
  }

  /// Reserves revisions for `advance`. They can be used after the group is durable.
  public mutating func reserveRevisions() {
    addInverse(.lowerRevisionCeiling(to: revisionCeiling))
    revisionCeiling = revision + WidgetStore.revisionBlock
  }

  /// The widgets whose providers must be asked for a new timeline. Clears the list.
  public mutating func takeRefreshes() -> [WidgetID] {
    guard !contents.refreshes.isEmpty else { return [] }
    defer { contents.refreshes.removeAll() }
    return contents.refreshes
  }

  // MARK: - Reading

  /// The timeline that was set for a widget; nil for none. O(1).
  public func storedTimeline(of id: WidgetID) -> Timeline? {
    slot(of: id).flatMap { records[$0]?.timeline }
  }

  /// A page of a widget's timeline.
  public struct TimelinePage: Hashable, Sendable {
    public var entries: [ShownEntry] = []
    /// Whether there are more entries.
    public var hasMore = false
    /// The policy of a stored timeline.
    public var policy: Timeline.Policy?
    public var status: TimelineStatus?
    /// Whether the kind's schedule makes the entries.
    public var isScheduled = false
    /// The date of the first later entry whose content embeds something that the current entry does
    /// not embed. What it shows may change before that date, and the widget does not follow. Nil if
    /// there is no such entry.
    public var newEmbedDate: Timestamp?
  }

  /// The entry of a widget that is current at a time, and the entries after it. With `content`,
  /// also the widget's content at each entry; the page then ends early at the cost of one content, but
  /// not before an entry after `start`. A page of a schedule ends early at `scan_cost_max`.
  /// Nil if the widget does not exist.
  public func timeline(
    of id: WidgetID, from start: Timestamp, limit: Int, taking content: ContentChoice = .none
  ) -> TimelinePage? {
    guard let record = slot(of: id).flatMap({ records[$0] }) else { return nil }
    var page = TimelinePage(policy: record.timeline?.policy, status: record.moment?.status)
    page.isScheduled = record.timeline == nil && schemas[record.kind]?.schedule != nil
    if record.kind == .smartStack {
      page.status = page.status ?? TimelineStatus()
      page.status?.problem = "A smart stack has no timeline; see the timelines of its widgets."
    }
    var entries: [TimelineEntry] = []
    if let known = record.timeline?.entries ?? record.moment?.entries, !known.isEmpty {
      let rest = known[(known.current(at: start) ?? 0)...]
      entries = Array(rest.prefix(limit))
      page.hasMore = rest.count > limit
    } else if page.isScheduled, let schedule = schemas[record.kind]?.schedule {
      let found = schedule.entries(
        from: start, limit: limit, parameters: record.parameters, limits: limits)
      (entries, page.hasMore) = (found.entries, found.hasMore)
      records.familyUsage.readingCost += found.cost
    }
    let reader = reader(content)
    var followed: Set<EmbedRequest> = []
    for entry in entries {
      let draft = record.draft { $0.moment = $0.moment?.showing(entry) }
      let made = content == .none ? nil : self.content(of: draft, content)
      let embeds = made?.table.embedRequests ?? []
      if entry.date <= start {
        followed = embeds
      } else if page.newEmbedDate == nil, !embeds.isSubset(of: followed) {
        page.newEmbedDate = entry.date
      }
      page.entries.append(shown(entry, made?.table.content, to: reader))
      reader.meter.add(cost: made?.cost ?? 0, bytes: made?.table.bytes ?? 0)
      records.familyUsage.readingCost += made?.cost ?? 0
      // The next page begins at the date of the last entry. Without a later entry, it would be the
      // same page.
      guard entry.date > start, reader.isFull(with: 0, bytesMax: WidgetStore.previewBytesMax)
      else { continue }
      page.hasMore = page.hasMore || page.entries.count < entries.count
      break
    }
    return page
  }

  /// The date of a widget's next entry, or of the next choice of a stack. Nil if there is none. O(1).
  public func nextTime(of id: WidgetID) -> Timestamp? {
    slot(of: id).flatMap { records[$0]?.moment?.status.nextTime }
  }

  /// The entries that a widget shows after its current one. Nil if it has neither a timeline nor a
  /// schedule. See `timeline(of:from:limit:taking:)`.
  public func upcoming(
    of id: WidgetID, at now: Timestamp, limit: Int, taking content: ContentChoice
  ) -> TimelinePage? {
    guard let moment = slot(of: id).flatMap({ records[$0] })?.moment else { return nil }
    let start = moment.status.current?.date ?? now
    var page = timeline(of: id, from: start, limit: limit + 1, taking: content)
    if let current = moment.status.current {
      page?.entries.removeAll { $0.entry.date <= current.date }
    } else if let count = page?.entries.count, count > limit {
      page?.entries.removeLast()
      page?.hasMore = true
    }
    return page
  }

  /// The maximum size of the content in a page of a timeline, in bytes.
  private static var previewBytesMax: Int { 1 << 20 }

  private func shown(
    _ entry: TimelineEntry, _ content: Content?, to reader: ContentReader
  ) -> ShownEntry {
    guard reader.isRedacted else { return ShownEntry(entry: entry, content: content) }
    var entry = entry
    entry.values = [:]
    return ShownEntry(entry: entry, content: content.map(Redaction.redacted))
  }

  /// The content of a draft, and its cost with that of its embeds. Nil if it has none.
  private func content(
    of draft: Record, _ choice: ContentChoice
  ) -> (table: ContentTable, cost: Int)? {
    let family = choice.family ?? draft.family
    guard let program = ContentMaker.program(of: draft.kind, for: family, in: schemas) else {
      return nil
    }
    var table = ContentTable(
      program, of: draft, as: family == draft.family ? nil : family, limits: limits)
    var cost = table.cost
    if program.hasEmbeds { cost += embedSource.resolveOnce(&table, of: draft, as: family) }
    return (table, cost)
  }

  /// A preview of an instance of a kind with some data; without data, with the kind's sample.
  ///
  /// - Parameter entry: the values of the entry that the preview shows. Absent fields have their
  ///   defaults. A schedule of the kind computes its entry instead.
  public func preview(
    of kind: KindName, family: Family?, parameters: ValueMap?, data: ValueMap?,
    entry: ValueMap = [:], at now: Timestamp
  ) throws(StoreError) -> Preview {
    let schema = try previewedSchema(of: kind)
    let spec = try previewedSpec(schema, family, parameters, data)
    guard let id = WidgetID("preview") else { throw .kindNotFound(kind) }
    var maker = contents
    maker.beginCommand(at: now)
    let record = makeRecord(
      spec, id: id, nil, by: Caller(uid: 0, pid: 0, client: ""), at: now, revision: revision
    ) { state in
      maker.place(&state, of: id, kind: kind, at: revision, limits: limits)
    }
    var shown = record
    if record.moment == nil, !(schema.kind.entry.isEmpty && entry.isEmpty) {
      // A preview has no timeline.
      let entry = TimelineEntry(date: now, values: try schema.fitted(entry: entry, path: "entry"))
      shown = record.draft { $0.moment = Moment(revision: revision).showing(entry) }
    }
    return Preview(
      kind: kind, family: record.family, parameters: spec.parameters, data: spec.data,
      content: content(of: shown, .own)?.table.content, isSample: data == nil,
      reason: parameters == nil ? schema.missingParameter(of: spec) ?? "" : "")
  }

  /// The widget that `preview` would show, without its content: with the declared types and
  /// defaults. Throws what `preview` throws about the kind, the family and the parameters.
  public func previewSpec(
    of kind: KindName, family: Family?, parameters: ValueMap
  ) throws(StoreError) -> WidgetSpec {
    var spec = try previewedSpec(try previewedSchema(of: kind), family, parameters, [:])
    spec.family = spec.family ?? .medium
    return spec
  }

  private func previewedSchema(of kind: KindName) throws(StoreError) -> KindSchema {
    guard let schema = kind == HelpKind.name ? HelpKind.schema : schemas[kind] else {
      throw .kindNotFound(kind)
    }
    return schema
  }

  private func previewedSpec(
    _ schema: KindSchema, _ family: Family?, _ parameters: ValueMap?, _ data: ValueMap?
  ) throws(StoreError) -> WidgetSpec {
    var spec = WidgetSpec(kind: schema.kind.name, family: family)
    spec.data = data ?? schema.kind.sample
    guard let parameters else { return try schema.fittedSample(spec) }
    spec.parameters = parameters
    return try schema.fitted(spec, .new)
  }

  // MARK: - Checks

  /// A timeline as the widget's kind declares it: in order, with types and defaults.
  func fitted(
    _ timeline: Timeline, for kind: KindName, field: String
  ) throws(StoreError) -> Timeline {
    guard timeline.entries.count <= limits.timelineEntriesMax else {
      throw .invalid(
        field: "\(field).entries",
        description: "A timeline has at most \(limits.timelineEntriesMax) entries "
          + "(timeline_entries_max), not \(timeline.entries.count).")
    }
    var result = timeline
    for (index, entry) in timeline.entries.enumerated() {
      let place = "\(field).entries[\(index)]"
      guard (0...TimelineEntry.scoreMax).contains(entry.score) else {
        throw .invalid(field: "\(place).score", description: "Use 0 to 1000000.")
      }
      if let duration = entry.duration, duration < .zero {
        throw .invalid(field: "\(place).duration", description: "It must not be negative.")
      }
      for pair in entry.values.entries where !pair.value.isNested(atMost: limits.valueDepthMax) {
        throw .invalid(
          field: "\(place).values[\(pair.key)]",
          description: "Lists and maps may be nested \(limits.valueDepthMax) deep at most.")
      }
      if let schema = schemas[kind] {
        result.entries[index].values = try schema.fitted(
          entry: entry.values, path: "\(place).values")
      }
    }
    if result.policy == .after, result.refreshTime == nil {
      throw .invalid(
        field: "\(field).refresh_time", description: "The policy \"after\" needs a time.")
    }
    if result.policy != .after, result.refreshTime != nil {
      throw .invalid(
        field: "\(field).refresh_time", description: "Only the policy \"after\" has a time.")
    }
    result = result.ordered
    result.setTime = contents.now ?? .epoch
    return result
  }
}

extension KindSchema {
  /// A sample. If the kind requires parameters, the sample has those of the first recommendation.
  /// If the kind has none that fits, the sample has no required parameters.
  fileprivate func fittedSample(_ spec: WidgetSpec) throws(StoreError) -> WidgetSpec {
    guard kind.parameters.contains(where: \.isRequired), let first = kind.recommendations.first
    else { return try fitted(spec, .sample) }
    var recommended = spec
    recommended.parameters = first.parameters
    do throws(StoreError) {
      return try fitted(recommended, .sample)
    } catch {
      return try fitted(spec, .sample)
    }
  }

  /// The missing required parameter of a sample, in words. Nil if none is missing.
  fileprivate func missingParameter(of spec: WidgetSpec) -> String? {
    kind.parameters.first { $0.isRequired && (spec.parameters[$0.name] ?? .null) == .null }.map {
      """
      The required parameter "\($0.name)" has no value; give the kind a recommendation with this \
      parameter.
      """
    }
  }
}
