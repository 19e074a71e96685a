import WidgetModel

// Bundles that wait for the daemon's first answer to another bundle. After a start, several files
// can have changed, and the order of the bundles says nothing about them.
extension DaemonConversation {
  /// Whether the widget that prevents a declaration belongs to a bundle that is about to give the
  /// widget up.
  func waitsForOwner(_ link: BundleLink) -> Bool {
    guard let rival = link.rival,
      limits.daemonWait(link.ownerWaits + 1) < limits.daemonWaitMax
    else { return false }
    return links.all.contains { owner in
      owner.isAboutToDeclare && owner.bundle.kindsOfWidgets[rival.id] == nil
        && claims(of: owner.bundle).has(rival.applySet)
    }
  }

  /// Reports that a widget waits for its removal. If another bundle is about to take it over, the
  /// report waits for the daemon's answer.
  mutating func report(hold text: String, of id: WidgetID) {
    unsaidHolds[id] = text
    reportHolds()
  }

  mutating func reportHolds() {
    for (id, text) in unsaidHolds.sorted(by: { WidgetID.inOrder($0.key, $1.key) }) {
      guard let kind = holds.kind(of: id), holds.saysWaiting(id) else {
        unsaidHolds[id] = nil
        continue
      }
      let isWanted = links.all.contains {
        $0.awaitsAnswer && $0.bundle.kindsOfWidgets[id] == kind
      }
      guard !isWanted else { continue }
      unsaidHolds[id] = nil
      report(text)
    }
  }
}
