import WidgetModel

@testable import WidgetCore

/// The state of a reader, built only from the changes that it got.
struct Mirror {
  var widgets: [WidgetID: Widget] = [:]
  var mask = ReadMask.all

  /// Applies a delta. Returns its mistakes as text.
  ///
  /// - Parameter changesOwnersOnly: whether nothing that a reader holds but the revision changed with the last
  ///   change of a widget. Only then may an update say nothing.
  mutating func apply(
    _ delta: Delta, changesOwnersOnly: (WidgetUpdate) -> Bool = { _ in false }
  ) -> [String] {
    var violations: [String] = []
    var seen: Set<WidgetID> = []
    for change in delta.changes {
      let id: WidgetID
      switch change {
      case .added(let widget, _): id = widget.id
      case .updated(let update):
        id = update.id
        if widgets[id] == nil { violations.append("\(id) is updated but was never added") }
        if update.isEmpty, !changesOwnersOnly(update) {
          violations.append("\(id) is updated by nothing")
        }
        if mask.wants(.content), let change = update.content {
          violations += strays(of: change, in: id)
        }
      case .removed(let removed, _):
        id = removed
      }
      if !seen.insert(id).inserted { violations.append("\(id) is changed twice") }
      apply(change)
    }
    return violations
  }

  /// Nodes that exist after a change, but are not reachable.
  private func strays(of change: ContentChange, in id: WidgetID) -> [String] {
    var ids = Set(change.replaces ? [] : widgets[id]?.content?.nodes.map(\.id) ?? [])
    ids.subtract(change.removedIDs)
    ids.formUnion(change.setNodes.map(\.id))
    let reached = Content.applying(change, to: widgets[id]?.content)?.nodes.map(\.id) ?? []
    return ids.subtracting(reached).sorted().map { "nothing leads to \(id)#\($0)" }
  }

  mutating func apply(_ change: WidgetChange) {
    switch change {
    case .added(let widget, _): widgets[widget.id] = mask.filter(widget)
    case .updated(let update):
      if let update = mask.filter(update) { widgets[update.id]?.apply(update) }
    case .removed(let id, _): widgets[id] = nil
    }
  }
}

extension Store {
  func selected(by selector: Selector) -> [WidgetID: Widget] {
    Dictionary(
      uniqueKeysWithValues: list(after: nil, limit: .max, selecting: selector).widgets.map {
        ($0.id, $0)
      })
  }
}
