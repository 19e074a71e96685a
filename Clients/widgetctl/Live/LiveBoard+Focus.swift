import WidgetLayout
import WidgetModel
import WidgetTerminal

/// Moving the focus, and scrolling to it.
extension LiveBoard {
  /// Focuses the first input of a form, or else the only focus target, as soon as there is any target. A
  /// user who has pressed a key keeps the focus.
  mutating func focusFirst() {
    guard options.focusesFirst, !hasFocusedFirst else { return }
    let all = targets.map(\.focus)
    guard !all.isEmpty else { return }
    hasFocusedFirst = true
    guard focus == nil, leftFocus == nil else { return }
    let input = all.first { focus in
      guard focus.kind == .control, let pane = panes[focus.widget],
        let node = pane.node(focus.node)
      else { return false }
      return node.type == .input && node.properties["readOnly"] != .bool(true)
        && pane.form(around: focus.node) != nil
    }
    if let first = input ?? (all.count == 1 ? all[0] : nil) { setFocus(first) }
  }

  mutating func moveFocus(by step: Int) {
    let all = targets.map(\.focus)
    guard !all.isEmpty else { return }
    let known = focus ?? leftFocus
    leftFocus = nil
    guard let known, let index = all.firstIndex(of: known) else {
      return setFocus(step > 0 ? all.first : all.last)
    }
    setFocus(all[(index + step + all.count) % all.count])
  }

  /// Moves the focus to the nearest target in a direction. If there is none in the scrolling node around
  /// the focus, scrolls that node. If there is none at all, scrolls the page.
  mutating func moveFocus(_ key: TerminalKey) {
    guard let focus, let own = target(focus) else {
      if focus == nil, key == .left || key == .right { return moveFocus(by: 1) }
      return scrollPage(by: key == .up ? -1 : key == .down ? 1 : 0)
    }
    let others = targets.filter { $0.focus != focus }
    let isVertical = key == .up || key == .down
    let regions = panes[focus.widget]?.regions(around: own) ?? []
    for region in regions where (region.axis == .vertical) == isVertical {
      let near = others.filter {
        $0.focus.widget == focus.widget
          && panes[focus.widget]?.isTarget($0.target, in: region) == true
      }
      if let next = nearest(key, from: focus, own, among: near) { return setFocus(next) }
      if scroll(region, of: focus.widget, by: key == .up || key == .left ? -1 : 1) { return }
    }
    // A hidden target in another scrolling node is no neighbour.
    let seen = others.filter { other, target in
      guard target.frame.intersection(target.clip).isEmpty else { return true }
      return other.widget == focus.widget
        && regions.contains { panes[focus.widget]?.isTarget(target, in: $0) == true }
    }
    if let next = nearest(key, from: focus, own, among: seen) {
      setFocus(next)
    } else {
      scrollPage(by: key == .up ? -3 : key == .down ? 3 : 0)
    }
  }

  /// The nearest target in a direction. Nil if there is none.
  private func nearest(
    _ key: TerminalKey, from focus: LiveFocus, _ own: FocusTarget,
    among targets: [(focus: LiveFocus, target: FocusTarget)]
  ) -> LiveFocus? {
    let frame = pageFrame(focus.widget, own.frame)
    let from = frame.center
    var best: (distance: Int, focus: LiveFocus)?
    for (other, target) in targets {
      let place = pageFrame(other.widget, target.frame)
      var to = place.center
      // A scrolling node is wide, so a target below any part of it counts as below it.
      if target.kind == .scroll || own.kind == .scroll, place.x < frame.endX, frame.x < place.endX {
        to.x = from.x
      }
      // A cell is about twice as high as wide.
      let (dx, dy) = (to.x - from.x, (to.y - from.y) * 2)
      let (along, across) =
        switch key {
        case .up: (-dy, abs(dx))
        case .down: (dy, abs(dx))
        case .left: (-dx, abs(dy))
        default: (dx, abs(dy))
        }
      guard along > 0 else { continue }
      let distance = along + across * 2
      if distance < best?.distance ?? .max { best = (distance, other) }
    }
    return best?.focus
  }

  /// Scrolls a node around the focus by pages: the node with the focus itself, then vertical ones, then
  /// horizontal ones. Returns false if there is none, or if all are at their ends.
  mutating func scrollAroundFocus(pages: Int) -> Bool {
    guard let focus, let own = target(focus) else { return false }
    let all = panes[focus.widget]?.regions(around: own) ?? []
    let isOwn = { (region: ScrollRegion) in region.index == own.index }
    let regions =
      all.filter(isOwn) + all.filter { !isOwn($0) && $0.axis == .vertical }
      + all.filter { !isOwn($0) && $0.axis == .horizontal }
    for region in regions {
      let step = max(1, region.viewportLength - 1)
      if scroll(region, of: focus.widget, by: pages * step) { return true }
    }
    return false
  }

  /// Scrolls a node that has or contains the focus. If that hides the focus, the focus goes to the
  /// nearest target of the node that is completely visible. Returns false if the node is at its
  /// end.
  mutating func scroll(_ region: ScrollRegion, of id: WidgetID, by distance: Int) -> Bool {
    guard panes[id]?.scroll(region, by: distance) == true else { return false }
    arrange()
    guard let focus, focus.kind != .scroll, let own = target(focus),
      own.frame.intersection(own.clip).isEmpty, let pane = panes[id]
    else { return true }
    let seen = pane.targets.filter { pane.isTarget($0, in: region) && $0.frame == $0.clip }
    if let next = distance > 0 ? seen.first : seen.last {
      setFocus(LiveFocus(widget: id, node: next.id, kind: next.kind))
    }
    return true
  }

  mutating func scrollPage(by rows: Int) {
    top = min(max(0, top + rows), max(0, pageHeight - pageRows))
  }
}

extension LayoutRect {
  fileprivate var center: (x: Int, y: Int) { (x + width / 2, y + height / 2) }
}
