public import WidgetModel

/// Which content of widgets a reader takes.
public enum ContentChoice: Hashable, Sendable {
  case none
  /// That of each widget's own family.
  case own
  /// That of one family, whatever the widgets' own is.
  case family(Family)
}

/// What a widget shows in a family that is not its own.
///
/// It is made when somebody reads it. While somebody watches that family, it is kept and followed, as far
/// as `familyContentBytesMax` goes: who reads counts against no owner's quota, and no change is refused
/// for the readers' sake. What is not kept is made for each reader again, who gets it as a whole.
struct FamilyContent {
  let family: Family
  /// Nil if the kind says nothing of the family.
  var content: ContentBox?
  /// When it was made, or last lost its content.
  var revision: Revision

  init(_ family: Family, _ program: ContentProgram?, of record: Record, limits: StoreLimits) {
    self.family = family
    content = program.map {
      ContentBox(ContentTable($0, of: record, as: family, limits: limits))
    }
    revision = record.revision
  }

  /// How much memory it takes, as quotas count contents.
  var bytes: Int { content?.table.bytes ?? 0 }

  /// Makes it true again after the widget or its kind changed. Returns what that cost.
  mutating func refresh(
    _ record: Record, _ program: ContentProgram?, limits: StoreLimits
  ) -> Int {
    guard let program else {
      if content != nil { (content, revision) = (nil, record.revision) }
      return 0
    }
    if content?.table.program === program {
      if !isKnownUniquelyReferenced(&content), let shared = content {
        content = ContentBox(shared.table)
      }
      content?.table.refresh(record, limits: limits)
    } else {
      var table = ContentTable(program, of: record, as: family, limits: limits)
      if let old = content?.table, old.content == table.content { table.inheritHistory(of: old) }
      content = ContentBox(table)
    }
    return content?.table.cost ?? 0
  }

  func change(since cursor: Revision) -> ContentChange? {
    if let content { return content.table.change(since: cursor) }
    return revision > cursor ? ContentChange(replacingBy: nil) : nil
  }
}

/// How much memory the kept contents of other families take, and what making contents for readers has
/// cost. Readers share it with the store, because they keep what they make.
final class FamilyContentUsage {
  var bytes: Int
  /// The sum since the store began; it only grows.
  var readingCost = 0
  init(bytes: Int = 0) { self.bytes = bytes }
}

/// Reads the content that a reader takes, and adds up how much that is.
struct ContentReader {
  let choice: ContentChoice
  let schemas: [KindName: KindSchema]
  let limits: StoreLimits
  /// Whether what is made for the reader is kept, because somebody watches that family.
  let keeps: Bool
  let usage: FamilyContentUsage
  let meter = Meter()

  /// How much a reader has read.
  final class Meter {
    /// About how many bytes its contents come to in frames, at most.
    fileprivate(set) var bytes = 0
    /// What making contents on the spot has cost.
    fileprivate(set) var cost = 0
  }

  /// Whether it has read so much that the rest is left for another turn.
  func isFull(with stateBytes: Int, bytesMax: Int) -> Bool {
    stateBytes + meter.bytes > bytesMax || meter.cost > limits.contentCostMax
  }

  /// Whether contents may have to be made for it.
  var makesContent: Bool { if case .family = choice { true } else { false } }

  /// Adds up what a widget shows the reader, without reading it.
  func count(_ record: Record) {
    switch choice {
    case .none: break
    case .own: countOwn(record)
    case .family(let family):
      if isOwn(family, record) { countOwn(record) } else { _ = table(of: record, family) }
    }
  }

  /// What a widget shows the reader; nil for nothing.
  func content(of record: Record) -> Content? {
    switch choice {
    case .none: nil
    case .own: own(record)
    case .family(let family):
      isOwn(family, record) ? own(record) : table(of: record, family).content?.table.content
    }
  }

  /// What of it changed after a cursor; nil for nothing.
  func change(of record: Record, since cursor: Revision) -> ContentChange? {
    switch choice {
    case .none: return nil
    case .own: return ownChange(of: record, since: cursor)
    case .family(let family):
      // What the reader holds may be the other of the two.
      if record.familyRevision > cursor {
        return ContentChange(replacingBy: content(of: record))
      }
      if isOwn(family, record) { return ownChange(of: record, since: cursor) }
      if max(record.contentRevision, record.familyRevision) > cursor {
        return ContentChange(replacingBy: content(of: record))
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
      record.contentBytes + (record.isPlain ? PlainContent.sizeBytes(of: record) : 0)
  }

  private func table(of record: Record, _ family: Family) -> FamilyContent {
    if let kept = record.familyContents.first(where: { $0.family == family }) {
      meter.bytes += kept.bytes
      return kept
    }
    let program = WidgetStore.program(of: record.kind, for: family, in: schemas)
    let made = FamilyContent(family, program, of: record, limits: limits)
    meter.bytes += made.bytes
    let cost = made.content?.table.cost ?? 0
    meter.cost += cost
    usage.readingCost += cost
    if keeps, usage.bytes + made.bytes <= limits.familyContentBytesMax {
      record.familyContents.append(made)
      usage.bytes += made.bytes
    }
    return made
  }
}

extension WidgetStore {
  /// What making contents of other families for readers has cost since the store began, in steps of
  /// expressions. The difference of two readings is what happened between them.
  public var readingCost: Int { familyUsage.readingCost }

  /// A reader of some content.
  func reader(_ choice: ContentChoice) -> ContentReader {
    let keeps = if case .family(let family) = choice { keptFamilies[family] != nil } else { false }
    return ContentReader(
      choice: choice, schemas: schemas, limits: limits, keeps: keeps, usage: familyUsage)
  }

  /// Keeps the content of a family that somebody watches, so that changes come as differences. Without
  /// it, and beyond `familyContentBytesMax`, readers of the family get whole contents. Ends with
  /// `dropContent(of:)`.
  public mutating func keepContent(of family: Family) { keptFamilies[family, default: 0] += 1 }

  /// One watcher of a family is gone; with the last one goes what was kept. O(all widgets) then.
  public mutating func dropContent(of family: Family) {
    guard let count = keptFamilies[family] else { return }
    keptFamilies[family] = count > 1 ? count - 1 : nil
    guard count == 1 else { return }
    for slot in records.indices {
      guard let record = records[slot] else { continue }
      familyUsage.bytes -= record.familyBytes
      record.familyContents.removeAll { $0.family == family }
      familyUsage.bytes += record.familyBytes
    }
  }

  /// Throws if a widget's kind is not made for a family. `field` is where the request names it.
  public func check(
    _ family: Family, isOfferedBy id: WidgetID, field: String
  ) throws(StoreError) {
    guard let record = slot(of: id).flatMap({ records[$0] }) else { return }
    try schemas[record.kind]?.check(family, path: field)
  }

  /// What widgets of a kind show in a family; nil for nothing.
  static func program(
    of kind: KindName, for family: Family, in schemas: [KindName: KindSchema]
  ) -> ContentProgram? {
    let schema = kind == HelpKind.name ? HelpKind.schema : schemas[kind]
    guard let schema,
      schema.kind.families.isEmpty || schema.kind.families.contains(family)
    else { return nil }
    return schema.content.program(for: family)
  }

  /// Makes what a widget shows in other families follow from its state. What there is no room for, or
  /// what costs too much in this command, is kept no longer.
  mutating func refreshFamilies(of record: Record) {
    guard !record.familyContents.isEmpty else { return }
    let others = familyUsage.bytes - record.familyBytes
    guard familyCost <= limits.contentCostPerCommandMax else {
      record.familyContents.removeAll()
      return
    }
    record.familyContents.removeAll {
      keptFamilies[$0.family] == nil || record.isPlain || record.family == $0.family
    }
    for index in record.familyContents.indices {
      let program = WidgetStore.program(
        of: record.kind, for: record.familyContents[index].family, in: schemas)
      familyCost += record.familyContents[index].refresh(record, program, limits: limits)
    }
    while others + record.familyBytes > limits.familyContentBytesMax,
      record.familyContents.popLast() != nil
    {}
  }
}
