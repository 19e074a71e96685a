public import WidgetModel

/// The content of widgets that a reader takes.
public enum ContentChoice: Hashable, Sendable {
  case none
  /// The content for each widget's family.
  case own
  /// The content for one family, whatever the widgets' families are.
  case family(Family)
  /// A redacted view, with the content for one family; nil for each widget's family. See
  /// `Redaction`.
  case redacted(Family?)

  /// The family in this choice.
  public var family: Family? {
    switch self {
    case .none, .own: nil
    case .family(let family): family
    case .redacted(let family): family
    }
  }
}

/// A widget's content for a family other than the widget's.
///
/// The store makes it on demand. While the family is watched, the store caches it within
/// `familyContentBytesMax`, and updates it with the widget. The cache counts against no owner's
/// quota, and never causes a change to be refused. Content outside the cache is made again for each
/// reader, and sent whole.
struct FamilyContent {
  let family: Family
  /// Nil if the kind has no content for the family.
  private(set) var content: ContentBox?
  /// The revision at which it was made, or last lost its content.
  private(set) var revision: Revision

  init(_ family: Family, _ program: ContentProgram?, of record: Record, limits: StoreLimits) {
    self.family = family
    content = program.map {
      ContentBox(
        ContentTable(
          $0, of: record, as: family, limits: limits,
          knowing: record.content?.table.failureTimes ?? FailureTimes()))
    }
    revision = record.revision
  }

  /// The size in bytes, counted as quotas count content.
  var bytes: Int { content?.table.storedBytes ?? 0 }

  /// Updates it after a change of the widget or its kind. Returns the cost in evaluation steps.
  mutating func refresh(
    _ record: Record, _ program: ContentProgram?, limits: StoreLimits
  ) -> Int {
    guard let program else {
      if content != nil { (content, revision) = (nil, record.revision) }
      return 0
    }
    return ContentBox.refresh(&content, program, of: record, as: family, limits: limits)
  }

  /// Whether it shows other widgets.
  var hasEmbedTargets: Bool { !(content?.table.embedTargets.isEmpty ?? true) }

  /// Updates its embeds. Returns whether that changed it.
  mutating func resolveEmbeds(_ resolve: (inout ContentTable) -> Bool) -> Bool {
    ContentBox.resolveEmbeds(&content, resolve) ?? false
  }

  func change(since cursor: Revision) -> ContentChange? {
    if let content { return content.table.change(since: cursor) }
    return revision > cursor ? ContentChange(replacingBy: nil) : nil
  }
}

/// Reads the content that a reader chose, and meters size and cost.
struct ContentReader {
  /// The reader's choice, redacted or not.
  private let choice: ContentChoice
  /// Whether the reader gets a redacted view.
  let isRedacted: Bool
  let schemas: KindSchemas
  let limits: StoreLimits
  /// Whether to cache the content that is made for the reader: true while its family is watched.
  let keeps: Bool
  let usage: FamilyContentUsage
  let embeds: EmbedSource
  let meter = Meter()

  init(
    _ choice: ContentChoice, schemas: KindSchemas, limits: StoreLimits, keeps: Bool,
    usage: FamilyContentUsage, embeds: EmbedSource
  ) {
    if case .redacted(let family) = choice {
      self.choice = family.map { .family($0) } ?? .own
      isRedacted = true
    } else {
      self.choice = choice
      isRedacted = false
    }
    self.schemas = schemas
    self.limits = limits
    self.keeps = keeps
    self.usage = usage
    self.embeds = embeds
  }

  /// The meter of a reader.
  final class Meter {
    /// An upper estimate of the bytes of its content in frames.
    fileprivate(set) var bytes = 0
    /// The cost of content that was made for it, in evaluation steps.
    fileprivate(set) var cost = 0

    func add(cost: Int, bytes: Int) {
      self.cost += cost
      self.bytes += bytes
    }
  }

  /// Whether the reader has spent its budget for this turn.
  func isFull(with stateBytes: Int, bytesMax: Int) -> Bool {
    stateBytes + meter.bytes > bytesMax || meter.cost > limits.contentCostMax / 2
  }

  /// Whether content may have to be made for the reader.
  var makesContent: Bool { if case .family = choice { true } else { false } }

  /// Meters the content of a widget. Makes it if it is not cached, but does not copy it.
  func count(_ record: Record) {
    switch choice {
    case .none, .redacted: break
    case .own: countOwn(record)
    case .family(let family):
      if isOwn(family, record) { countOwn(record) } else { _ = table(of: record, family) }
    }
  }

  /// The content of a widget for the reader. Nil if it has none.
  func content(of record: Record) -> Content? {
    guard isRedacted else { return wholeContent(of: record) }
    return record.isPlain
      ? Redaction.plainContent(of: record) : wholeContent(of: record).map(Redaction.redacted)
  }

  private func wholeContent(of record: Record) -> Content? {
    switch choice {
    case .none, .redacted: nil
    case .own: own(record)
    case .family(let family):
      isOwn(family, record) ? own(record) : table(of: record, family).content?.table.content
    }
  }

  /// The change of the content after a cursor. Nil if it is unchanged.
  func change(of record: Record, since cursor: Revision) -> ContentChange? {
    guard isRedacted else { return wholeChange(of: record, since: cursor) }
    if record.isPlain, record.contentRevision <= cursor { return nil }
    guard var change = wholeChange(of: record, since: cursor) else { return nil }
    guard !mayBePrivate(record) else {
      // Changes in private nodes cannot be told from changes in other nodes.
      return ContentChange(replacingBy: content(of: record))
    }
    change.setNodes = change.setNodes.map(Redaction.withoutProblem)
    return change
  }

  /// Whether the content of a widget for the reader can have private nodes.
  private func mayBePrivate(_ record: Record) -> Bool {
    if record.isPlain { return true }
    let program = ContentMaker.program(
      of: record.kind, for: choice.family ?? record.family, in: schemas)
    return program.map { $0.mayBePrivate || $0.hasEmbeds } ?? false
  }

  private func wholeChange(of record: Record, since cursor: Revision) -> ContentChange? {
    switch choice {
    case .none, .redacted: return nil
    case .own: return ownChange(of: record, since: cursor)
    case .family(let family):
      // The reader may hold the other of the two contents.
      if record.familyRevision > cursor {
        return ContentChange(replacingBy: wholeContent(of: record))
      }
      if isOwn(family, record) { return ownChange(of: record, since: cursor) }
      if max(record.contentRevision, record.familyRevision) > cursor {
        return ContentChange(replacingBy: wholeContent(of: record))
      }
      return table(of: record, family).change(since: cursor)
    }
  }

  private func isOwn(_ family: Family, _ record: Record) -> Bool {
    record.isPlain || record.family == family
  }

  private func own(_ record: Record) -> Content? {
    countOwn(record)
    return record.shownContent
  }

  private func ownChange(of record: Record, since cursor: Revision) -> ContentChange? {
    countOwn(record)
    return record.contentChange(since: cursor)
  }

  private func countOwn(_ record: Record) {
    meter.bytes +=
      record.nodesBytes + (record.isPlain ? PlainContent.sizeBytes(of: record) : 0)
  }

  private func table(of record: Record, _ family: Family) -> FamilyContent {
    if let kept = record.familyContents.first(where: { $0.family == family }) {
      meter.bytes += kept.bytes
      return kept
    }
    let program = ContentMaker.program(of: record.kind, for: family, in: schemas)
    var made = FamilyContent(family, program, of: record, limits: limits)
    var cost = made.content?.table.cost ?? 0
    if program?.hasEmbeds ?? false {
      _ = made.resolveEmbeds { table in
        cost += embeds.resolve(&table, of: record, as: family)
        return true
      }
    }
    meter.bytes += made.bytes
    meter.cost += cost
    usage.readingCost += cost
    if keeps, usage.bytes + made.bytes <= limits.familyContentBytesMax {
      usage.keep(made, of: record)
    } else if made.hasEmbedTargets {
      embeds.links.noteUnkeptContent(of: record.id)
    }
    return made
  }
}

extension WidgetStore {
  /// The cost of contents for other families that were made for readers, since the store began, in
  /// steps of expressions. The difference of two readings is the cost between them.
  public var readingCost: Int { records.familyUsage.readingCost }

  /// A reader of some content.
  func reader(_ choice: ContentChoice) -> ContentReader {
    let keeps = choice.family.map { contents.keeps($0) } ?? false
    return ContentReader(
      choice, schemas: schemas, limits: limits, keeps: keeps, usage: records.familyUsage,
      embeds: embedSource)
  }

  /// Starts to cache the content of a watched family, so that its readers get differences. Content
  /// outside the cache is sent whole. Balance each call with `dropContent(of:)`.
  public mutating func keepContent(of family: Family) { contents.keepContent(of: family) }

  /// Ends one `keepContent(of:)`. Returns whether it was the last one. The family's content then
  /// waits for `evictContents`.
  ///
  /// The waiting content stays right, because a change of its widget evicts it. So a reader that comes
  /// back can read it.
  public mutating func dropContent(of family: Family) -> Bool {
    contents.dropContent(of: family)
  }

  /// Evicts the cached content of families without a watcher, in steps. O(widgets of the step).
  ///
  /// - Parameters:
  ///   - slot: 0, or the result of the last step.
  ///   - isOver: Whether the step ends. Called after each widget whose content was evicted, and now
  ///     and then after others.
  /// - Returns: The start of the next step; nil after the last one.
  public mutating func evictContents(from slot: Int, until isOver: () -> Bool) -> Int? {
    records.evictContents(except: contents.families, from: slot, until: isOver)
  }

  /// Throws if a widget's kind does not support a family. `field` is the family's path in the
  /// request.
  public func check(
    _ family: Family, isOfferedBy id: WidgetID, field: String
  ) throws(StoreError) {
    guard let record = slot(of: id).flatMap({ records[$0] }) else { return }
    try schemas[record.kind]?.check(family, path: field)
  }
}
