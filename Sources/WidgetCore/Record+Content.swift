import WidgetModel

/// Keeps a content in memory of its own, so that a widget without one pays a pointer. It is shared
/// between copies of a record, and copied before it changes.
final class ContentBox {
  var table: ContentTable
  init(_ table: ContentTable) { self.table = table }
}

extension Record {
  /// Makes the content what the state says now. Returns what that cost, which depends on what changed.
  func refreshContent(_ program: ContentProgram?, limits: StoreLimits) -> Int {
    guard let program else {
      if content != nil { (content, contentRevision) = (nil, revision) }
      return 0
    }
    if content?.table.program === program {
      if !isKnownUniquelyReferenced(&content), let shared = content {
        content = ContentBox(shared.table)
      }
      content?.table.refresh(self, limits: limits)
    } else {
      var table = ContentTable(program, of: self, limits: limits)
      if let old = content?.table, old.content == table.content { table.inheritHistory(of: old) }
      content = ContentBox(table)
    }
    return content?.table.cost ?? 0
  }

  /// What of the content changed after a cursor; nil for nothing.
  func contentChange(since cursor: Revision) -> ContentChange? {
    if let content { return content.table.change(since: cursor) }
    guard isPlain else {
      return contentRevision > cursor ? ContentChange(replacingBy: nil) : nil
    }
    if max(contentRevision, data.keysRevision) > cursor {
      return ContentChange(replacingBy: PlainContent.content(of: self))
    }
    return PlainContent.change(of: self, since: cursor)
  }

  /// The widget's content now; nil if it has none.
  var shownContent: Content? {
    if let content { return content.table.content }
    return isPlain ? PlainContent.content(of: self) : nil
  }

  /// What its content counts against its owner's quota.
  var contentBytes: Int { content?.table.bytes ?? 0 }
}
