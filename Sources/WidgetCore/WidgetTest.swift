public import WidgetModel

/// A selector, prepared for tests against many widgets.
public struct WidgetTest {
  let selection: Selection
  /// The ids of the selector as a set. Nil if it selects any id.
  let ids: Set<WidgetID>?
}

/// Tests and scans of single widgets.
extension WidgetStore {
  /// Prepares a selector for tests against many widgets. O(1) without an expression.
  public func test(for selector: Selector) -> WidgetTest {
    WidgetTest(
      selection: selection(selector), ids: selector.ids.isEmpty ? nil : selector.idSet)
  }

  /// Whether a widget exists and is selected.
  public func passes(_ id: WidgetID, _ test: WidgetTest) -> Bool {
    guard test.ids?.contains(id) ?? true, let slot = slot(of: id), let record = records[slot]
    else { return false }
    return test.selection.picks(record)
  }

  /// The same. Takes the cost of the test from a budget: a step of the expression costs 1. The
  /// result is right even if the budget is spent.
  public func passes(_ id: WidgetID, _ test: WidgetTest, spending budget: inout Int) -> Bool {
    guard test.ids?.contains(id) ?? true, let slot = slot(of: id), let record = records[slot]
    else { return false }
    return test.selection.picks(record, spending: &budget)
  }

  /// Scans the widgets from a slot on, until the closure returns false. A widget keeps its slot
  /// until it is removed.
  ///
  /// - Returns: The slot to resume from. Nil at the end.
  public func scanWidgets(from first: Int, _ body: (WidgetID, KindName) -> Bool) -> Int? {
    var slot = first
    // Removed widgets leave empty slots, so there are more slots than widgets.
    let end = records.indices.upperBound
    while slot < end {
      let record = records[slot]
      slot += 1
      if let record, !body(record.id, record.kind) { return slot < end ? slot : nil }
    }
    return nil
  }

  /// The widgets that were changed and removed after a cursor, and the kinds of the removed ones, in
  /// the same order. A widget that was removed and created again is in both lists. Nil if a list
  /// exceeds `limit`, or the cursor is compacted. O(limit).
  public func changedWidgets(
    since cursor: Revision, atMost limit: Int
  ) -> (changed: [WidgetID], removed: [WidgetID], removedKinds: [KindName])? {
    guard cursor >= compactRevision, cursor <= revision else { return nil }
    var changed: [WidgetID] = []
    var isMore = false
    records.forEachRecord(changedSince: cursor) { record in
      isMore = changed.count == limit
      if !isMore { changed.append(record.id) }
      return !isMore
    }
    guard !isMore else { return nil }
    var removed: [WidgetID] = []
    var removedKinds: [KindName] = []
    var seen = 0
    for removal in tombstones.reversed() {
      guard removal.revision > cursor else { break }
      seen += 1
      guard seen <= limit else { return nil }
      if case .widget(let tombstone) = removal.what {
        removed.append(tombstone.id)
        removedKinds.append(tombstone.kind)
      }
    }
    return (changed, removed, removedKinds)
  }
}
