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
    // If widgets wait for one another in a circle, one must go first.
    while let first = delayed.first(where: {
      DaemonConversation.isInCircle($0, obstacles, among: Set(delayed))
    }) {
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
          "bundle \(owner): widget \(id) stays until \(RFC3339.text(end)): another bundle can take"
            + " it over after the removal of \(DaemonConversation.list(others))"))
    }
  }

  /// Whether a widget waits for others that wait, directly or not, for this widget.
  private static func isInCircle(
    _ id: WidgetID, _ obstacles: [WidgetID: Set<WidgetID>], among delayed: Set<WidgetID>
  ) -> Bool {
    var seen: Set<WidgetID> = []
    var next = (obstacles[id] ?? []).intersection(delayed)
    while let other = next.popFirst() {
      if other == id { return true }
      guard seen.insert(other).inserted else { continue }
      next.formUnion((obstacles[other] ?? []).intersection(delayed))
    }
    return false
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
