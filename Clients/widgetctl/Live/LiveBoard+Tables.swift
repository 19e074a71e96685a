import WidgetLayout
import WidgetModel

/// Selecting and deleting rows of tables, and loading more of them.
extension LiveBoard {
  /// The deletion of a row that the user asked for.
  struct Deletion {
    /// The row, or the control in it that had the focus.
    let row: LiveFocus
    /// The next targets of the focus after the row is removed: the first one that exists.
    let neighbours: [LiveFocus]
    /// Whether the daemon has accepted or refused the event.
    var isAnswered = false
  }

  /// A row of a table.
  private struct Row {
    let table: Node
    let key: String
  }

  /// The table row that has or contains the focus.
  private func row(of focus: LiveFocus) -> Row? {
    guard let pane = panes[focus.widget] else { return nil }
    var index = pane.table.index(of: focus.node)
    while let found = index, let entry = pane.table[found] {
      if let parent = entry.parent, let table = pane.table[parent]?.node, table.role == .table {
        return Row(table: table, key: LiveBoard.key(ofRow: entry.node.id))
      }
      index = entry.parent
    }
    return nil
  }

  /// The key of a row: the part of its node id after the template's id and `/`.
  private static func key(ofRow id: String) -> String {
    id.split(separator: "/", maxSplits: 1).last.map(String.init) ?? id
  }

  /// Toggles the selection of a row.
  mutating func select(_ focus: LiveFocus) -> [Effect] {
    guard let row = row(of: focus), row.table.events.contains("select") else { return [] }
    var selected: [String] = []
    if case .list(let keys)? = row.table.properties["selected"] {
      selected = keys.map(\.plainText)
    }
    switch row.table.text("selection") {
    case "multiple":
      if selected.contains(row.key) {
        selected.removeAll { $0 == row.key }
      } else {
        selected.append(row.key)
      }
    case "single": selected = selected == [row.key] ? [] : [row.key]
    default: return []
    }
    return [
      .send(
        LiveEvent(
          widget: focus.widget, node: row.table.id, name: "select",
          payload: ["selected": .list(selected.map { .string($0) })]), after: nil)
    ]
  }

  /// Deletes the focused row, if its table allows that.
  mutating func deleteRow() -> [Effect] {
    guard let focus, let row = row(of: focus) else {
      notice = "move the focus to a row of a table with Tab; Delete then deletes it"
      return []
    }
    guard row.table.properties["deletable"] == .bool(true), row.table.events.contains("delete")
    else {
      notice = "rows of this table cannot be deleted"
      return []
    }
    // A second key before the answer means the same row.
    guard deletion?.row != focus || deletion?.isAnswered == true else { return [] }
    deletion = Deletion(row: focus, neighbours: neighbours(of: focus, in: row.table))
    return [
      .send(
        LiveEvent(
          widget: focus.widget, node: row.table.id, name: "delete",
          payload: ["row": .string(row.key)]), after: nil)
    ]
  }

  /// The same control of the table's other rows: the rows below, then those above, nearest first.
  private func neighbours(of focus: LiveFocus, in table: Node) -> [LiveFocus] {
    let template = focus.node.prefix { $0 != "/" }
    let same = (panes[focus.widget]?.targets ?? [])
      .map { LiveFocus(widget: focus.widget, node: $0.id, kind: $0.kind) }
      .filter {
        $0.kind == focus.kind && $0.node.prefix { $0 != "/" } == template
          && row(of: $0)?.table.id == table.id
      }
    guard let index = same.firstIndex(of: focus) else { return [] }
    return same[(index + 1)...] + same[..<index].reversed()
  }

  /// The daemon has answered an event.
  mutating func answered(_ event: LiveEvent) {
    if event.name == "delete", event.widget == deletion?.row.widget { deletion?.isAnswered = true }
  }

  /// Takes the focus from a removed target. From a deleted row it moves to the next row.
  mutating func leaveLostFocus() {
    guard let focus, target(focus) == nil else { return }
    let neighbours = deletion?.row == focus ? deletion?.neighbours : nil
    setFocus(neighbours?.first { target($0) != nil })
  }

  /// The last event `more` of a table.
  struct MoreRequest {
    /// The rows that the table had.
    let rows: [String]
    let time: Timestamp
  }

  /// The time after which a table is asked again, although its rows are the same. The program that
  /// handles `more` can have failed after the daemon accepted the event.
  static let moreWait = Duration.seconds(5)

  /// Sends `more` for tables whose last row is in view: once for the same rows, and again after
  /// `moreWait`. The callers do so only when the user moves.
  mutating func askForMore() -> [Effect] {
    var effects: [Effect] = []
    for id in order {
      guard let pane = panes[id], pane.widget.presence.isEnabled else { continue }
      let origin = origin(of: id)
      for placed in pane.layout.placed where placed.type?.role == .table {
        guard let part = placed.parts.first(where: { $0.kind == .more }),
          let entry = pane.table[placed.index], entry.node.events.contains("more")
        else { continue }
        let seen = part.frame.intersection(placed.clip)
        let row = seen.y + origin.y - top
        guard !seen.isEmpty, (0..<pageRows).contains(row) else { continue }
        let place = LiveFocus(widget: id, node: entry.node.id, kind: .control)
        let now = options.now()
        if let last = asked[place], last.rows == entry.node.childIDs {
          guard now.isPast(LiveBoard.moreWait, since: last.time) else { continue }
        }
        asked[place] = MoreRequest(rows: entry.node.childIDs, time: now)
        effects.append(
          .send(LiveEvent(widget: id, node: entry.node.id, name: "more"), after: nil))
      }
    }
    return effects
  }
}
