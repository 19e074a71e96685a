import WidgetBundle
import WidgetModel

// The order in which widgets go that wait for their removal (`Holds`).
extension DaemonConversation {
  /// Lets widgets stay that another bundle can still take over with the values of users.
  ///
  /// The daemon refuses a bundle as a whole. If the bundle also declares the id of a widget with
  /// another kind, it can take over nothing before that widget is gone. So that widget goes first.
  /// Then the refused bundle is retried. Each delay is at most `HostLimits.absenceMax`, and all delays
  /// of a widget together are at most `HostLimits.holdDelayMax`.
  mutating func delayHolds(at now: HostTime) {
    let due = holds.due(at: now.uptime)
    guard !due.isEmpty else { return }
    let obstacles = obstacles(to: Set(due))
    let longest = limits.holdDelayMax
    var delayed = due.filter {
      obstacles[$0] != nil && holds.canStay($0, beyond: now.uptime, longest: longest)
    }
    guard !delayed.isEmpty else { return }
    // If each one waits for another one of them, one must go first.
    let others = Set(delayed.flatMap { obstacles[$0] ?? [] })
    if delayed.count == due.count, others.isSubset(of: delayed),
      let first = others.sorted(by: WidgetID.inOrder).first
    {
      delayed.removeAll { $0 == first }
    }
    for id in delayed {
      let others = (obstacles[id] ?? []).sorted(by: WidgetID.inOrder)
      let last = others.compactMap { holds.end(of: $0) }.max() ?? now.uptime
      holds.delay(id, until: max(last, now.uptime) + limits.absenceMax, longest: longest)
      let owner = (holds.set(of: id) ?? "").dropFirst(HostState.provider(of: "").count)
      let end = Holds.time(of: holds.end(of: id) ?? now.uptime, at: now)
      put(
        .note(
          "bundle \(owner): widget \(id) stays until \(RFC3339.text(end)): another bundle can take it"
            + " over after the removal of \(DaemonConversation.list(others))"))
    }
  }

  /// `widget a, widget b and widget c`
  private static func list(_ ids: [WidgetID]) -> String {
    var names = ids.map { "widget \($0)" }
    let last = names.popLast() ?? ""
    return names.isEmpty ? last : names.joined(separator: ", ") + " and " + last
  }

  /// By widget, the widgets of other kinds that must go before a bundle can take over the widget.
  private func obstacles(to due: Set<WidgetID>) -> [WidgetID: Set<WidgetID>] {
    var obstacles: [WidgetID: Set<WidgetID>] = [:]
    let bundles = rests.bundles + links.all.filter { !$0.hasDeclared }.map(\.bundle)
    for bundle in bundles {
      let kinds = bundle.kindsOfWidgets
      let leaving = leaving(wantedBy: bundle)
      let others = leaving.filter { holds.kind(of: $0) != kinds[$0] }
      guard !others.isEmpty else { continue }
      for id in leaving where due.contains(id) && !others.contains(id) {
        obstacles[id, default: []].formUnion(others)
      }
    }
    return obstacles
  }
}
