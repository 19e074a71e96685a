public import WidgetModel

/// Changes for readers. A reader is only a cursor.
extension WidgetStore {
  /// Changes of the selected widgets after a cursor, conflated. O(changes) for any selector; with
  /// ids in the selector, O(ids + removals since).
  ///
  /// Removals come first, then the changed widgets, the least recently changed first. Applied to
  /// the state at `cursor`, the result gives the state at `revision`. It may also report a removal
  /// of a widget that the reader never held; see `Record.change`.
  ///
  /// `content`: the content that the reader takes.
  ///
  /// Throws `revisionCompacted` if removals after the cursor are forgotten, and `revisionUnknown`
  /// if the cursor lies in the future.
  public func changes(
    since cursor: Revision, selecting selector: Selector = Selector(),
    taking content: ContentChoice = .own
  ) throws(StoreError) -> Delta {
    try checkCursor(cursor)
    let removals = removals(since: cursor, selecting: selector, readerHeldUpTo: cursor)
    return Delta(
      fromRevision: cursor, toRevision: revision,
      changes: removals
        + changedRecords(
          since: cursor, selecting: selector, mayHoldNewer: false, taking: content))
  }

  /// Ends a transfer that `changes(inChunk:since:)` or `widgets(inChunk:)` made piece by piece
  /// while the store changed.
  ///
  /// The reader held the state at `cursor` (0: nothing) when the transfer started at revision
  /// `start`. Since then it got every chunk as of some revision from `start` on. With the result it
  /// holds the state at `revision`.
  ///
  /// If there were several passes over the chunks, `lastPass` is the revision at which the last
  /// pass started. After that pass, the reader has everything up to that revision. If the transfer
  /// has sent removals with `removals(from:through:)`, `removalsSince` is the revision up to which
  /// it has sent all.
  ///
  /// Throws as `changes(since:)`.
  public func changes(
    endingTransferSince cursor: Revision, startedAt start: Revision, lastPass: Revision? = nil,
    removalsSince: Revision? = nil, selecting selector: Selector = Selector(),
    taking content: ContentChoice = .own
  ) throws(StoreError) -> Delta {
    if cursor > 0 { try checkCursor(cursor) }
    try checkCursor(start)
    // Removals before the start matter only to a reader that held something.
    let removals = removals(
      since: removalsSince ?? (cursor > 0 ? cursor : start), selecting: selector,
      readerHeldUpTo: cursor, transferStartedAt: start)
    var changes = changedRecords(
      since: lastPass ?? start, selecting: selector, mayHoldNewer: true,
      taking: content)
    // A widget that is not selected is in both lists if its id was removed and used again.
    let removed = Set(removals.map(\.id))
    if !removed.isEmpty { changes.removeAll { removed.contains($0.id) } }
    return Delta(fromRevision: cursor, toRevision: revision, changes: removals + changes)
  }

  /// Whether the changes after a cursor exceed a limit: `limit` widgets, `bytesMax` bytes for the
  /// reader, or the cost of one content. O(limit).
  ///
  /// The selector only limits the widgets whose content is made.
  public func hasChanges(
    since cursor: Revision, moreThan limit: Int, orBytes bytesMax: Int = .max,
    selecting selector: Selector = Selector(), taking content: ContentChoice = .own
  ) -> Bool {
    let (selection, reader) = (selection(selector), reader(content))
    // An expression makes a look expensive.
    let cost = selection.predicate == nil || limit == .max ? 1 : 8
    var (seen, bytes) = (0, 0)
    var isMore = false
    records.forEachRecord(changedSince: cursor) { record in
      seen += cost
      isMore = seen > limit
      if isMore { return false }
      bytes += record.costBytes
      if !reader.makesContent || selection.picks(record) { reader.count(record) }
      isMore = reader.isFull(with: bytes, bytesMax: bytesMax)
      return !isMore
    }
    return isMore
  }

  /// Whether the tests of the widgets that changed after a cursor cost more than one part of a
  /// scan. False if a test costs little. O(one part of a scan).
  public func testsCostTooMuch(since cursor: Revision, selecting selector: Selector) -> Bool {
    let selection = selection(selector)
    let highest = selection.costOfTestMax
    guard highest > WidgetStore.smallTestMax else { return false }
    // A few tests cannot cost as much, so most calls end here.
    var rest = limits.scanCostMax / highest
    records.forEachRecord(changedSince: cursor) { _ in
      rest -= 1
      return rest >= 0
    }
    guard rest < 0 else { return false }
    var budget = max(1, limits.scanCostMax)
    records.forEachRecord(changedSince: cursor) { record in
      _ = selection.picks(record, spending: &budget)
      return budget > 0
    }
    return budget <= 0
  }

  /// The cost of a test that is not worth counting. Making the widget costs more.
  private static var smallTestMax: Int { 8 }

  // MARK: - Chunks

  /// The number of chunks. A chunk holds up to `chunkSlotCount` widgets. A widget never changes its
  /// chunk.
  public var chunkCount: Int { records.chunkRevisions.count }

  /// A revision at or after the last change of any widget in a chunk. While it stays the same, so
  /// does the chunk.
  public func chunkRevision(_ chunk: Int) -> Revision { records.chunkRevisions[chunk] }

  /// The selected widgets of a chunk. O(chunk).
  public func widgets(inChunk chunk: Int, selecting selector: Selector = Selector()) -> [Widget] {
    widgets(inChunk: chunk, from: 0, bytesMax: .max, selecting: selector).widgets
  }

  /// Changes of a chunk's widgets after a cursor, without removals. O(chunk).
  public func changes(
    inChunk chunk: Int, since cursor: Revision, selecting selector: Selector = Selector()
  ) -> [WidgetChange] {
    changes(inChunk: chunk, from: 0, bytesMax: .max, since: cursor, selecting: selector).changes
  }

  /// A page of a chunk's selected widgets, starting at a slot. It ends when it exceeds `bytesMax`
  /// for the reader, or the cost of one content. `next` is the next slot; nil at the chunk's end.
  /// O(chunk).
  public func widgets(
    inChunk chunk: Int, from slot: Int, bytesMax: Int, selecting selector: Selector = Selector(),
    taking content: ContentChoice = .own
  ) -> (widgets: [Widget], next: Int?) {
    var widgets: [Widget] = []
    let next = forEachWidget(
      ofChunk: chunk, from: slot, bytesMax: bytesMax, selecting: selector, taking: content,
      unless: { _, _ in false }
    ) { widget, _ in widgets.append(widget) }
    return (widgets, next)
  }

  /// Calls a closure with each widget of a page, and its slot; see
  /// `widgets(inChunk:from:bytesMax:selecting:taking:)`. A widget exists only during its call,
  /// because a page has hundreds of them. Returns the next slot; nil at the chunk's end.
  ///
  /// - Parameters:
  ///   - countMax: The maximum number of widgets, at least 1.
  ///   - isKnown: Whether the reader has the widget of a slot at this revision. The widget is then
  ///     not made. It counts as a widget of the page.
  public func forEachWidget(
    ofChunk chunk: Int, from slot: Int, bytesMax: Int, countMax: Int = .max,
    selecting selector: Selector = Selector(), taking content: ContentChoice = .own,
    unless isKnown: (Int, Revision) -> Bool, _ body: (Widget, Int) -> Void
  ) -> Int? {
    let (selection, reader) = (selection(selector), reader(content))
    return piece(
      ofChunk: chunk, from: slot, bytesMax: bytesMax, countMax: countMax, selecting: selector,
      taking: reader, where: { selection.picks($0, spending: &$1) }
    ) { slot, record, _ -> Void? in
      if !isKnown(slot, record.revision) { body(record.widget(reader), slot) }
      return ()
    }.next
  }

  /// A page of the changes of a chunk's widgets; see `changes(inChunk:since:selecting:)` and
  /// `widgets(inChunk:from:bytesMax:selecting:)`. `isFirstPass`: the reader holds nothing newer
  /// than the cursor.
  public func changes(
    inChunk chunk: Int, from slot: Int, bytesMax: Int, countMax: Int = .max, since cursor: Revision,
    isFirstPass: Bool = true, selecting selector: Selector = Selector(),
    taking content: ContentChoice = .own
  ) -> (changes: [WidgetChange], next: Int?) {
    guard chunkRevision(chunk) > cursor else { return ([], nil) }
    let (selection, reader) = (selection(selector), reader(content))
    return piece(
      ofChunk: chunk, from: slot, bytesMax: bytesMax, countMax: countMax, selecting: selector,
      taking: reader, where: { record, _ in record.revision > cursor }
    ) { _, record, budget in
      record.change(
        since: cursor, selecting: selection, mayHoldNewer: !isFirstPass, taking: reader,
        spending: &budget)
    }
  }

  private func piece<Element>(
    ofChunk chunk: Int, from start: Int, bytesMax: Int, countMax: Int, selecting selector: Selector,
    taking reader: ContentReader, where isWanted: (Record, inout Int) -> Bool,
    _ element: (Int, Record, inout Int) -> Element?
  ) -> ([Element], next: Int?) {
    var elements: [Element] = []
    var bytes = 0
    var budget = max(1, limits.scanCostMax)
    for slot in slots(ofChunk: chunk, selecting: selector) where slot >= start {
      if budget <= 0 || elements.count >= countMax { return (elements, slot) }
      guard let record = records[slot], isWanted(record, &budget) else { continue }
      // The limit is checked before the next content is made, because a content may be expensive.
      if reader.isFull(with: bytes, bytesMax: bytesMax) { return (elements, slot) }
      guard let found = element(slot, record, &budget) else { continue }
      bytes += record.costBytes
      elements.append(found)
    }
    return (elements, nil)
  }

  /// The slots of a chunk that can have selected widgets, in order.
  private func slots(ofChunk chunk: Int, selecting selector: Selector) -> [Int] {
    let first = chunk * WidgetStore.chunkSlotCount
    let range = first..<min(first + WidgetStore.chunkSlotCount, records.indices.upperBound)
    guard !selector.ids.isEmpty else { return Array(range) }
    return Set(selector.ids.compactMap { slot(of: $0) }.filter(range.contains)).sorted()
  }

  // MARK: - Parts

  func checkCursor(_ cursor: Revision) throws(StoreError) {
    if cursor > revision { throw .revisionUnknown(current: revision) }
    if cursor < compactRevision { throw .revisionCompacted(compactRevision: compactRevision) }
  }

  private func changedRecords(
    since cursor: Revision, selecting selector: Selector, mayHoldNewer: Bool,
    taking content: ContentChoice
  ) -> [WidgetChange] {
    var changed: [Record] = []
    if selector.ids.isEmpty {
      records.forEachRecord(changedSince: cursor) { record in
        changed.append(record)
        return true
      }
      changed.reverse()
    } else {
      for id in selector.idSet {
        if let slot = slot(of: id), let record = records[slot], record.revision > cursor {
          changed.append(record)
        }
      }
      // Widgets of one commit share a revision; the id makes the order the same every time.
      changed.sort { a, b in
        a.revision != b.revision
          ? a.revision < b.revision : a.id.rawValue.precedesByBytes(b.id.rawValue)
      }
    }
    let (selection, reader) = (selection(selector), reader(content))
    var budget = Int.max
    return changed.compactMap {
      $0.change(
        since: cursor, selecting: selection, mayHoldNewer: mayHoldNewer, taking: reader,
        spending: &budget)
    }
  }
}

extension WidgetChange {
  fileprivate var id: WidgetID {
    switch self {
    case .added(let widget, _): widget.id
    case .updated(let update): update.id
    case .removed(let id, _): id
    }
  }
}
