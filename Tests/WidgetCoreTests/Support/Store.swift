import WidgetModel

@testable import WidgetCore

/// A store that can be copied, unlike `WidgetStore`. Tests compare copies, and pass stores to
/// macros. A copy is made when one of two is about to change.
struct Store {
  private final class Box {
    var store: WidgetStore

    init(_ store: consuming WidgetStore) { self.store = store }
  }

  private var box: Box

  init(
    image: StoreImage, limits: StoreLimits = StoreLimits(), isRevocable: Bool = true,
    timeZones: WidgetStore.TimeZones? = nil
  ) {
    box = Box(
      WidgetStore(image: image, limits: limits, isRevocable: isRevocable, timeZones: timeZones))
  }

  /// Makes the box this value's own.
  private mutating func detach() {
    if !isKnownUniquelyReferenced(&box) { box = Box(box.store.copy()) }
  }

  // MARK: - Changing

  mutating func apply(
    _ command: Command, by caller: Caller, at now: Timestamp
  ) throws(StoreError) -> Commit {
    detach()
    return try box.store.apply(command, by: caller, at: now)
  }

  mutating func remember(
    requestID: String, of uid: UInt32, fingerprint: UInt64, response: [UInt8], at now: RunningTime
  ) {
    detach()
    box.store.remember(
      requestID: requestID, of: uid, fingerprint: fingerprint, response: response, at: now)
  }

  mutating func commitGroup(
    at now: RunningTime, retaining retained: Revision = .max, onlyRemoved: Bool = false
  ) {
    detach()
    box.store.commitGroup(at: now, retaining: retained, onlyRemoved: onlyRemoved)
  }

  /// Advances like the daemon: reserves revisions if necessary, in a separate group. Returns the
  /// number of steps.
  @discardableResult
  mutating func advance(to now: Timestamp, costMax: Int = .max) -> Int {
    proceed { $0.advance(to: now, costMax: costMax) }
  }

  /// Takes steps between groups until no work is left.
  private mutating func proceed(_ step: (inout WidgetStore) -> WidgetStore.Advance) -> Int {
    detach()
    var steps = 0
    while true {
      let result = step(&box.store)
      if result.needsReservation {
        box.store.reserveRevisions()
        reserved.append(box.store.pendingGroup())
        box.store.commitGroup(at: .at(0))
        continue
      }
      if result.isChange { steps += 1 }
      if !result.hasMore { return steps }
    }
  }

  /// Updates embeds and stacks like the daemon. Returns the number of steps.
  @discardableResult
  mutating func settleEmbeds(at now: Timestamp = .at(0), costMax: Int = .max) -> Int {
    proceed { $0.settleEmbeds(at: now, costMax: costMax) }
  }

  /// Takes the shortest step of `settleEmbeds`. Returns whether more is left.
  mutating func settleStep(at now: Timestamp = .at(0)) -> Bool {
    detach()
    box.store.reserveRevisions()
    box.store.commitGroup(at: .at(0))
    return box.store.settleEmbeds(at: now) { true }.hasMore
  }

  /// Makes the due changes of activities like the daemon. Returns the number of steps.
  @discardableResult
  mutating func settle(
    to now: Timestamp, costMax: Int = .max, widgetsMax: Int = .max, bytesMax: Int = .max
  ) -> Int {
    detach()
    var steps = 0
    while true {
      let result = box.store.settleActivities(
        to: now, costMax: costMax, widgetsMax: widgetsMax, bytesMax: bytesMax)
      if result.isChange { steps += 1 }
      if !result.hasMore { return steps }
    }
  }

  /// Makes the widgets of lost providers stale. Returns the number of parts that changed widgets.
  @discardableResult
  mutating func abandon(
    _ providers: Set<String>, at now: Timestamp = .at(0), widgetsMax: Int = .max
  ) -> Int {
    let spared = Dictionary(uniqueKeysWithValues: providers.map { ($0, Set<WidgetID>()) })
    var walk = Abandonment(of: spared)
    var parts = 0
    while true {
      let result = abandon(&walk, at: now, widgetsMax: widgetsMax)
      if result.isChange { parts += 1 }
      if !result.hasMore { return parts }
    }
  }

  /// Takes one part of a walk.
  mutating func abandon(
    _ walk: inout Abandonment, at now: Timestamp = .at(0), widgetsMax: Int = .max,
    bytesMax: Int = .max
  ) -> WidgetStore.Advance {
    detach()
    return box.store.abandon(&walk, at: now, widgetsMax: widgetsMax, bytesMax: bytesMax)
  }

  mutating func clockWentBack(to now: Timestamp) {
    detach()
    box.store.clockWentBack(to: now)
  }

  mutating func takeRefreshes() -> [WidgetID] {
    detach()
    return box.store.takeRefreshes()
  }

  /// The groups that reserved revisions.
  private(set) var reserved: [CommitGroup] = []
  var nextDate: Timestamp? { box.store.nextDate }
  var nextActivityDate: Timestamp? { box.store.nextActivityDate }
  /// The number of dates in all agendas.
  var appointmentCount: Int {
    box.store.records.agenda.count + box.store.records.duties.count
      + box.store.records.activityAgenda.count
  }
  var revisionCeiling: Revision { box.store.revisionCeiling }

  func timeline(
    of id: WidgetID, from start: Timestamp, limit: Int, taking content: ContentChoice = .none
  ) -> WidgetStore.TimelinePage? {
    box.store.timeline(of: id, from: start, limit: limit, taking: content)
  }

  func preview(
    of kind: KindName, family: Family? = nil, parameters: ValueMap? = nil, data: ValueMap? = nil,
    entry: ValueMap = [:]
  ) throws(StoreError) -> Preview {
    try box.store.preview(
      of: kind, family: family, parameters: parameters, data: data, entry: entry, at: .at(0))
  }

  func previewSpec(
    of kind: KindName, family: Family?, parameters: ValueMap
  ) throws(StoreError) -> WidgetSpec {
    try box.store.previewSpec(of: kind, family: family, parameters: parameters)
  }

  mutating func rollbackGroup() {
    detach()
    box.store.rollbackGroup()
  }

  func nextDuty() -> Timestamp? { box.store.nextDuty() }

  func storedTimeline(of id: WidgetID) -> Timeline? { box.store.storedTimeline(of: id) }

  var theme: RevisedTheme { box.store.theme }

  var limits: StoreLimits {
    get { box.store.limits }
    set {
      detach()
      box.store.limits = newValue
    }
  }

  // MARK: - Reading

  var revision: Revision { box.store.revision }
  var compactRevision: Revision { box.store.compactRevision }
  var count: Int { box.store.count }
  var stateBytes: Int { box.store.stateBytes }
  var lastEventSequence: UInt64 { box.store.lastEventSequence }
  var eventSequenceCeiling: UInt64 { box.store.eventSequenceCeiling }
  var nextDeadline: RunningTime? { box.store.nextDeadline }
  var hasPendingGroup: Bool { box.store.hasPendingGroup }
  var pendingBytes: Int { box.store.pendingBytes }
  var pendingRows: Int { box.store.pendingRows }
  var chunkCount: Int { box.store.chunkCount }
  var removalCount: Int { box.store.removalCount }
  /// The number of forgotten removals that are not freed.
  var forgottenCount: Int { box.store.forgottenCount }
  /// The kept answers, oldest first.
  var answers: [RequestImage] { box.store.ledger.newest(.max) }
  var journalCount: Int { box.store.journal.inverses.count + box.store.records.inverses.count }
  var highestUsage: (widgets: Int, bytes: Int, contentBytes: Int) { box.store.highestUsage }
  var contentCost: Int { box.store.contents.cost }
  var records: [Record] { box.store.records.slots.compactMap { $0 } }

  func events(after sequence: UInt64, limit: Int, of kinds: Set<KindName>) -> EventPage {
    box.store.events(after: sequence, limit: limit, of: kinds)
  }
  func sequenceBeforeUnacknowledged(of provider: String) -> UInt64? {
    box.store.sequenceBeforeUnacknowledged(of: provider)
  }
  var unacknowledgedCount: Int { box.store.unacknowledgedCount }

  var attendingProviders: Set<String> { box.store.attendingProviders }

  func providedChanges(
    since cursor: Revision, of kinds: Set<KindName>
  ) throws(StoreError) -> WidgetStore.ProvidedChanges {
    try box.store.providedChanges(since: cursor, of: kinds)
  }

  func kinds(
    after name: String = "", limit: Int = .max, bytesMax: Int = .max
  ) -> (kinds: [RegisteredKind], hasMore: Bool) {
    box.store.kinds(after: name, limit: limit, bytesMax: bytesMax)
  }

  func checkInvariants() -> [String] { box.store.checkInvariants() }

  func observation(cursors: [Revision]? = nil) -> Observation {
    box.store.observation(cursors: cursors)
  }

  func pendingGroup(onlyRemoves: Bool = false) -> CommitGroup {
    box.store.pendingGroup(onlyRemoves: onlyRemoves)
  }

  func pendingChanges() -> (group: CommitGroup, widgets: PendingWidgets) {
    box.store.pendingChanges()
  }

  func closingGroup() -> CommitGroup? { box.store.closingGroup() }
  func widget(_ id: WidgetID) -> Widget? { box.store.widget(id) }
  func checkExpression(of selector: Selector) throws(StoreError) {
    try box.store.checkExpression(of: selector)
  }

  func expressionBytes(of selector: Selector) -> Int { box.store.expressionBytes(of: selector) }
  func keepExpression(of selector: Selector) { box.store.keepExpression(of: selector) }
  func dropExpression(of selector: Selector) -> Int { box.store.dropExpression(of: selector) }
  func forgetRecentExpressions() { box.store.forgetRecentExpressions() }
  var predicates: PredicateCache { box.store.predicates }
  var readingCost: Int { box.store.readingCost }

  func owners(of id: WidgetID) -> [FieldOwner] { box.store.owners(of: id) }
  func kind(_ name: KindName) -> RegisteredKind? { box.store.kind(name) }
  var highestKindMemory: Int { box.store.highestKindMemory }
  func revision(of id: WidgetID) -> Revision? { box.store.revision(of: id) }

  func forEachWidget(
    in target: PresenceTarget, _ body: (WidgetID, KindName) -> Void
  ) throws(StoreError) {
    try box.store.forEachWidget(in: target, body)
  }

  func list(
    after position: Int64?, limit: Int, bytesMax: Int = .max,
    selecting selector: Selector = Selector(), taking content: ContentChoice = .own
  ) -> WidgetPage {
    box.store.list(
      after: position, limit: limit, bytesMax: bytesMax, selecting: selector, taking: content)
  }

  func events(
    after sequence: UInt64, limit: Int = .max, selecting selector: Selector = Selector(),
    names: [String] = [], costMax: Int = .max
  ) -> EventPage {
    box.store.events(
      after: sequence, limit: limit, costMax: costMax, selecting: selector, names: names)
  }

  func recall(
    requestID: String, of uid: UInt32, fingerprint: UInt64, at now: RunningTime
  ) throws(StoreError) -> [UInt8]? {
    try box.store.recall(requestID: requestID, of: uid, fingerprint: fingerprint, at: now)
  }

  func changes(
    since cursor: Revision, selecting selector: Selector = Selector(),
    taking content: ContentChoice = .own
  ) throws(StoreError) -> Delta {
    try box.store.changes(since: cursor, selecting: selector, taking: content)
  }

  func scanned(from first: Int = 0, atMost limit: Int = .max) -> (ids: [WidgetID], next: Int?) {
    var ids: [WidgetID] = []
    let next = box.store.scanWidgets(from: first) { id, _ in
      ids.append(id)
      return ids.count < limit
    }
    return (ids, next)
  }

  func changes(
    endingTransferSince cursor: Revision, startedAt start: Revision,
    removalsSince: Revision? = nil, selecting selector: Selector = Selector()
  ) throws(StoreError) -> Delta {
    try box.store.changes(
      endingTransferSince: cursor, startedAt: start, removalsSince: removalsSince,
      selecting: selector)
  }

  func removals(
    from place: RemovalCursor, through end: Revision, readerHeldUpTo held: Revision,
    transferStartedAt start: Revision, atMost countMax: Int,
    selecting selector: Selector = Selector()
  ) throws(StoreError) -> (changes: [WidgetChange], next: RemovalCursor) {
    try box.store.removals(
      from: place, through: end, readerHeldUpTo: held, transferStartedAt: start, atMost: countMax,
      selecting: selector)
  }

  func compilation(of kinds: [Kind]) -> KindCompilation { box.store.compilation(of: kinds) }
  func step(_ compilation: inout KindCompilation) -> Bool { compilation.step(in: box.store) }
  func schema(of name: KindName) -> KindSchema? { box.store.schemas[name] }

  mutating func use(_ compiled: CompiledKinds?) {
    detach()
    box.store.use(compiled)
  }

  var hasDroppedKinds: Bool { box.store.hasDroppedKinds }

  mutating func takeDroppedKinds() -> DroppedKinds {
    detach()
    return box.store.takeDroppedKinds()
  }

  func mayForgetRemovals(since cursor: Revision) -> Bool {
    box.store.mayForgetRemovals(since: cursor)
  }

  func hasRemovals(since cursor: Revision, moreThan limit: Int) -> Bool {
    box.store.hasRemovals(since: cursor, moreThan: limit)
  }

  func testsCostTooMuch(since cursor: Revision, selecting selector: Selector) -> Bool {
    box.store.testsCostTooMuch(since: cursor, selecting: selector)
  }

  func widget(_ id: WidgetID, taking content: ContentChoice) -> Widget? {
    box.store.widget(id, taking: content)
  }

  mutating func keepContent(of family: Family) {
    detach()
    box.store.keepContent(of: family)
  }

  /// Drops and evicts the content in one step.
  mutating func dropContent(of family: Family) {
    if endContent(of: family) { _ = evictContents(from: 0) { false } }
  }

  /// Leaves the content to `evictContents`.
  @discardableResult
  mutating func endContent(of family: Family) -> Bool {
    detach()
    return box.store.dropContent(of: family)
  }

  mutating func evictContents(from slot: Int, until isOver: () -> Bool) -> Int? {
    detach()
    return box.store.evictContents(from: slot, until: isOver)
  }

  func check(_ family: Family, isOfferedBy id: WidgetID) throws(StoreError) {
    try box.store.check(family, isOfferedBy: id, field: "content_family")
  }

  func embeddedDate(of id: WidgetID, costMax: Int = .max) -> EmbeddedDate {
    var known = EmbeddedDates()
    return box.store.embeddedDate(of: id, knowing: &known, costMax: costMax)
  }

  var needsSettling: Bool { box.store.needsSettling }
  func embedders(of id: WidgetID) -> Set<WidgetID> { box.store.embedders(of: id) }
  var embedVersion: UInt64 { box.store.embedVersion }
  var embeds: EmbedLinks { box.store.records.embeds }

  func hasChanges(since cursor: Revision, moreThan limit: Int) -> Bool {
    box.store.hasChanges(since: cursor, moreThan: limit)
  }

  func widgets(
    inChunk chunk: Int, from slot: Int, bytesMax: Int, taking content: ContentChoice
  ) -> (widgets: [Widget], next: Int?) {
    box.store.widgets(inChunk: chunk, from: slot, bytesMax: bytesMax, taking: content)
  }

  var familyBytes: Int { box.store.records.familyUsage.bytes }

  func hasChanges(
    since cursor: Revision, bytesMax: Int, selecting selector: Selector = Selector(),
    taking content: ContentChoice
  ) -> Bool {
    box.store.hasChanges(
      since: cursor, moreThan: .max, orBytes: bytesMax, selecting: selector, taking: content)
  }

  func chunkRevision(_ chunk: Int) -> Revision { box.store.chunkRevision(chunk) }

  func widgets(inChunk chunk: Int, selecting selector: Selector = Selector()) -> [Widget] {
    box.store.widgets(inChunk: chunk, selecting: selector)
  }

  func changes(
    inChunk chunk: Int, since cursor: Revision, selecting selector: Selector = Selector()
  ) -> [WidgetChange] {
    box.store.changes(inChunk: chunk, since: cursor, selecting: selector)
  }

  /// A piece of the first chunk.
  func piece(from slot: Int, selecting selector: Selector) -> (widgets: [Widget], next: Int?) {
    box.store.widgets(inChunk: 0, from: slot, bytesMax: .max, selecting: selector)
  }

  func changedPiece(
    from slot: Int, since cursor: Revision, selecting selector: Selector
  ) -> (changes: [WidgetChange], next: Int?) {
    box.store.changes(
      inChunk: 0, from: slot, bytesMax: .max, since: cursor, selecting: selector)
  }
}
