import WidgetModel

@testable import WidgetCore

/// What a reader holds, built from nothing but what it was sent.
struct Mirror {
  var widgets: [WidgetID: Widget] = [:]
  var mask = ReadMask.all

  /// Applies a delta. Returns what was wrong with it, in words.
  mutating func apply(_ delta: Delta) -> [String] {
    var violations: [String] = []
    var seen: Set<WidgetID> = []
    for change in delta.changes {
      let id: WidgetID
      switch change {
      case .added(let widget, _): id = widget.id
      case .updated(let update):
        id = update.id
        if widgets[id] == nil { violations.append("\(id) is updated but was never added") }
        if update.isEmpty { violations.append("\(id) is updated by nothing") }
      case .removed(let removed, _):
        id = removed
      }
      if !seen.insert(id).inserted { violations.append("\(id) is changed twice") }
      apply(change)
    }
    return violations
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
