import WidgetLayout
import WidgetModel
import WidgetTerminal

/// Clicks, drags and the wheel.
extension LiveBoard {
  mutating func take(_ event: MouseEvent) -> [Effect] {
    switch event.action {
    case .wheel(let direction):
      selection = nil
      return wheel(direction, event) + askForMore()
    case .press(.left): return click(event)
    case .drag(.left): extendSelection(event)
    case .release: return endSelection()
    case .move:
      hover = overlay == nil ? target(at: event)?.focus : nil
      pointed = overlay == nil ? place(event)?.widget : nil
    default: break
    }
    return []
  }

  /// Hit test: the focus target under the pointer. Inner targets come after outer ones, so the
  /// last hit is the innermost.
  func target(at event: MouseEvent) -> (focus: LiveFocus, target: FocusTarget)? {
    guard let (id, x, y) = place(event) else { return nil }
    // In a scrolling node, the mouse selects text, and the wheel scrolls.
    let hit = panes[id]?.targets.last {
      $0.kind != .scroll && $0.frame.intersection($0.clip).contains(x: x, y: y)
    }
    return hit.map { (LiveFocus(widget: id, node: $0.id, kind: $0.kind), $0) }
  }

  /// Hit test: the widget under the pointer, and the position in its content.
  func place(_ event: MouseEvent) -> (widget: WidgetID, x: Int, y: Int)? {
    guard event.row < pageRows else { return nil }
    let (column, row) = (event.column, event.row + top)
    guard let id = order.first(where: { frames[$0]?.contains(x: column, y: row) == true })
    else { return nil }
    let origin = origin(of: id)
    return (id, column - origin.x, row - origin.y)
  }

  private mutating func click(_ event: MouseEvent) -> [Effect] {
    notice = ""
    guard overlay == nil else {
      overlay = nil
      return []
    }
    isFiltering = false
    selection = nil
    guard let (focus, _) = target(at: event) else {
      setFocus(nil)
      (pointed, leftFocus) = (place(event)?.widget, nil)
      if let id = pointed { beginSelection(id, event) }
      return []
    }
    setFocus(focus)
    return activate(focus)
  }

  private mutating func wheel(_ direction: MouseEvent.Direction, _ event: MouseEvent) -> [Effect] {
    let step = direction == .up || direction == .left ? -3 : 3
    if overlay != nil {
      scrollOverlay(by: step)
      return []
    }
    var isVertical = direction == .up || direction == .down
    if let (id, x, y) = place(event), let pane = panes[id] {
      var regions = pane.layout.scrollRegions.filter { $0.viewport.contains(x: x, y: y) }
      let hasHorizontal = regions.contains { $0.axis == .horizontal }
      // Most wheels turn in one direction only. With Shift, the wheel scrolls horizontally, if that
      // is possible.
      if event.modifiers.contains(.shift), hasHorizontal { isVertical = false }
      if !isVertical { regions.removeAll { $0.axis == .vertical } }
      // The innermost region scrolls first. At its end, the region around it scrolls.
      for region in regions.reversed() where panes[id]?.scroll(region, by: step) == true {
        arrange()
        return []
      }
    }
    if isVertical { scrollPage(by: step) }
    return []
  }
}
