import WidgetModel

/// The content of a widget, for its family and for readers of other families.
struct ShownContent {
  /// The content for the widget's family; nil if its kind has none for the family.
  private(set) var own: ContentBox?
  /// The revision at which the widget last lost its content, or `isPlain` last changed.
  fileprivate(set) var revision: Revision = 0
  /// Whether the widget's kind is not registered. The widget then shows its data; see
  /// `PlainContent`.
  fileprivate(set) var isPlain = false
  /// The cached content for other families that are watched.
  var families: [FamilyContent] = []
  /// The stored starts of failures, until the content is made.
  private var storedFailures: FailureTimes

  init(revision: Revision = 0, failures: FailureTimes = FailureTimes()) {
    self.revision = revision
    storedFailures = failures
  }

  /// The size of `families` in bytes.
  var familyBytes: Int { families.reduce(0) { $0 + $1.bytes } }

  /// Evicts the cached content of all but some families. Returns its size in bytes, and whether it
  /// showed other widgets; nil if there is none.
  mutating func evictFamilies(except kept: Set<Family>) -> (bytes: Int, hadEmbeds: Bool)? {
    guard families.contains(where: { !kept.contains($0.family) }) else { return nil }
    let bytes = familyBytes
    let hadEmbeds = families.contains { !kept.contains($0.family) && $0.hasEmbedTargets }
    families.removeAll { !kept.contains($0.family) }
    return (bytes - familyBytes, hadEmbeds)
  }

  /// Whether any of the content has embeds.
  var hasEmbeds: Bool {
    own?.table.program.hasEmbeds ?? false
      || families.contains { $0.content?.table.program.hasEmbeds ?? false }
  }

  /// The widgets that its embeds name.
  var embedTargets: Set<WidgetID> {
    families.reduce(into: own?.table.embedTargets ?? []) {
      $0.formUnion($1.content?.table.embedTargets ?? [])
    }
  }

  /// Updates the embeds in all of the content. Returns whether that changed anything.
  mutating func resolveEmbeds(
    _ resolve: (inout ContentTable, Family?) -> Bool
  ) -> Bool {
    var differs = false
    if let changed = ContentBox.resolveEmbeds(&own, { resolve(&$0, nil) }) { differs = changed }
    for index in families.indices {
      let family = families[index].family
      if families[index].resolveEmbeds({ resolve(&$0, family) }) { differs = true }
    }
    return differs
  }

  /// Uses a table that exists already.
  mutating func show(_ table: ContentTable?) { own = table.map(ContentBox.init) }

  /// Drops the content, because the state that it was made from is lost. The starts of its failures
  /// are kept for the next content.
  mutating func forget() {
    if let own { storedFailures = own.table.failureTimes }
    own = nil
  }

  /// Updates the widget's content to its state. Returns the cost, which depends on the changes.
  fileprivate mutating func refresh(
    _ program: ContentProgram?, of record: Record, limits: StoreLimits
  ) -> Int {
    guard let program else {
      if own != nil { (own, revision) = (nil, record.revision) }
      if !storedFailures.isEmpty { storedFailures = FailureTimes() }
      return 0
    }
    guard !storedFailures.isEmpty else {
      return ContentBox.refresh(&own, program, of: record, limits: limits)
    }
    defer { storedFailures = FailureTimes() }
    return ContentBox.refresh(
      &own, program, of: record, limits: limits, knowing: storedFailures)
  }
}

/// Keeps a content in separate memory, so that a widget without content costs only a pointer.
/// Copies of a record share it until it changes.
final class ContentBox {
  private(set) var table: ContentTable
  init(_ table: ContentTable) { self.table = table }

  /// Updates the embeds of a content. Returns whether that changed it; nil if there is no content.
  static func resolveEmbeds(
    _ content: inout ContentBox?, _ resolve: (inout ContentTable) -> Bool
  ) -> Bool? {
    guard let shared = content, shared.table.program.hasEmbeds else { return nil }
    // Copies of the record may share the box.
    var table = shared.table
    let differs = resolve(&table)
    // The table also changes if it has forgotten the failures of its former content.
    if differs || shared.table.knowsFormerFailures { content = ContentBox(table) }
    return differs
  }

  /// Updates a content to the state. Returns the cost, which depends on the changes.
  ///
  /// - Parameter known: The starts of the failures of the content before a restart.
  static func refresh(
    _ content: inout ContentBox?, _ program: ContentProgram, of record: Record,
    as family: Family? = nil, limits: StoreLimits, knowing known: FailureTimes = FailureTimes()
  ) -> Int {
    if content?.table.program === program {
      if !isKnownUniquelyReferenced(&content), let shared = content {
        content = ContentBox(shared.table)
      }
      content?.table.refresh(record, limits: limits)
    } else {
      var table = ContentTable(
        program, of: record, as: family, limits: limits,
        knowing: content?.table.failureTimes ?? known)
      if let old = content?.table, old.content == table.content { table.inheritHistory(of: old) }
      content = ContentBox(table)
    }
    return content?.table.cost ?? 0
  }
}

/// Makes the content of widgets from their state and the templates of their kinds, and counts the
/// cost.
struct ContentMaker {
  private(set) var schemas = KindSchemas()
  /// The families whose content is cached, with the number of watchers.
  private var keptFamilies: [Family: Int] = [:]
  /// The cost of the contents that the current command has made; see `checkContents`.
  private(set) var cost = 0
  /// The time of the current command; nil while the store is being read.
  private(set) var now: Timestamp?
  /// Widgets whose providers must be asked for a new timeline.
  var refreshes: [WidgetID] = []
  /// The cost of the current command for cached content of other families.
  private var familyCost = 0

  mutating func beginCommand(at time: Timestamp) {
    (cost, familyCost) = (0, 0)
    now = time
  }

  mutating func setSchema(_ schema: KindSchema?, of kind: KindName, isAttended: Bool = false) {
    schemas.set(kind, to: schema, isAttended: isAttended)
  }

  /// Counts a content that a command made itself.
  mutating func count(_ table: ContentTable) { cost += table.cost }

  mutating func count(_ cost: Int) { self.cost += cost }

  /// The program for the content of a widget in its family; nil if it has none.
  func program(of record: Record) -> ContentProgram? {
    schema(of: record.kind)?.content.program(for: record.family)
  }

  private func schema(of kind: KindName) -> KindSchema? {
    kind == HelpKind.name ? HelpKind.schema : schemas[kind]
  }

  /// The program that makes a kind's content for a family. Nil if the kind has none.
  static func program(
    of kind: KindName, for family: Family, in schemas: KindSchemas
  ) -> ContentProgram? {
    let schema = kind == HelpKind.name ? HelpKind.schema : schemas[kind]
    guard let schema,
      schema.kind.families.isEmpty || schema.kind.families.contains(family)
    else { return nil }
    return schema.content.program(for: family)
  }

  // MARK: - Widgets

  /// Makes the content of a new widget. `others`: the size of the rest of the cache, in bytes.
  mutating func begin(
    _ shown: inout ShownContent, of record: Record, beside others: Int, limits: StoreLimits
  ) {
    shown.isPlain = schema(of: record.kind) == nil
    refresh(&shown, of: record, beside: others, limits: limits)
  }

  /// Updates the content of a widget to its state. `others`: the size of the rest of the cache, in
  /// bytes.
  mutating func refresh(
    _ shown: inout ShownContent, of record: Record, beside others: Int, limits: StoreLimits
  ) {
    let schema = schema(of: record.kind)
    if shown.isPlain != (schema == nil) {
      (shown.isPlain, shown.revision) = (schema == nil, record.revision)
    }
    let program = schema?.content.program(for: record.family)
    let ownCost = shown.refresh(program, of: record, limits: limits)
    cost += ownCost
    guard !shown.families.isEmpty else { return }
    refreshFamilies(of: record, &shown, beside: others, costing: ownCost, limits: limits)
  }

  /// Updates the cached content of a widget for other families. Evicts it if the cache is full or
  /// the command's budget is spent. Also evicts what is left after a quarter of `contentCostMax`,
  /// so that a change does not cost more with every watched family. `ownCost`: the cost of the
  /// widget's own content.
  private mutating func refreshFamilies(
    of record: Record, _ shown: inout ShownContent, beside others: Int, costing ownCost: Int,
    limits: StoreLimits
  ) {
    guard familyCost <= limits.contentCostPerCommandMax else {
      shown.families.removeAll()
      return
    }
    let isPlain = shown.isPlain
    shown.families.removeAll {
      keptFamilies[$0.family] == nil || isPlain || record.family == $0.family
    }
    var spent = ownCost
    for index in shown.families.indices {
      guard spent <= limits.contentCostMax / 4 else {
        shown.families.removeSubrange(index...)
        break
      }
      let program = ContentMaker.program(
        of: record.kind, for: shown.families[index].family, in: schemas)
      let cost = shown.families[index].refresh(record, program, limits: limits)
      spent += cost
      familyCost += cost
    }
    while others + shown.familyBytes > limits.familyContentBytesMax,
      shown.families.popLast() != nil
    {}
  }

  // MARK: - Families

  /// Whether content for a family is cached.
  func keeps(_ family: Family) -> Bool { keptFamilies[family] != nil }

  /// The families whose content is cached.
  var families: Set<Family> { Set(keptFamilies.keys) }

  mutating func keepContent(of family: Family) { keptFamilies[family, default: 0] += 1 }

  /// Ends one `keepContent(of:)`. Returns whether it was the last one.
  mutating func dropContent(of family: Family) -> Bool {
    guard let count = keptFamilies[family] else { return false }
    keptFamilies[family] = count > 1 ? count - 1 : nil
    return count == 1
  }
}
