import WidgetBundle
import WidgetClient
import WidgetModel

@testable import WidgetHost

/// The end of a history, and its final checks.
extension ConversationSimulation {
  /// Undoes the harm, delivers everything, and compares the daemon with the folders.
  mutating func settle() {
    log.note("everything is mended")
    isMended = true
    daemon.isUp = true
    daemon.isFull = false
    // The folder of bundles can be read again, so each host looks into it.
    for host in processes.indices {
      processes[host]?.folders.formUnion(ConversationSimulation.paths)
    }
    daemon.holders = daemon.holders.filter { $0.value.session != nil }
    daemon.removeKinds(stranger.map(\.kind).filter { daemon.kinds[$0] == "stranger" })
    for widget in daemon.sortedWidgets where widget.applySet.isEmpty { daemon.remove(widget.id) }
    tellNews()
    if processes.allSatisfy({ $0 == nil || $0?.stoppedAt != nil }) {
      startHost(processes[0] == nil ? 0 : 1)
    }
    var rounds = 0
    // A call that waits after a refusal is retried after half a minute.
    let end = now + .seconds(130)
    while violations.isEmpty {
      rounds += 1
      guard rounds < 5_000 else { return violate("the hosts do not come to rest") }
      var hasDelivered = false
      for host in processes.indices {
        let items = items(host)
        guard !items.isEmpty else { continue }
        deliver(items[roll(items.count)], host)
        hasDelivered = true
      }
      if hasDelivered { continue }
      let isBusy = processes.contains { $0?.machine.isWaiting ?? false }
      if processes.allSatisfy({ $0 == nil }) { startHost(0) } else if !isBusy || now > end { break }
      passTime()
    }
    if violations.isEmpty { check() }
  }

  mutating func check() {
    let living = processes.compactMap(\.self)
    guard living.count == 1, let process = living.first else {
      return violate("\(living.count) hosts live")
    }
    let conversation = process.machine.daemon
    guard conversation.host.isServing else { return violate("the host does not serve") }
    var owners: Set<String> = [HostState.provider]
    // These widgets wait for a refused version that has them again.
    let recalled = conversation.holds.ids.filter { conversation.isRecalled($0) }
    owners.formUnion(recalled.compactMap { conversation.holds.set(of: $0) })
    for link in conversation.links.all {
      let provider = HostState.provider(of: link.bundle.id)
      owners.insert(provider)
      let kinds = link.bundle.kinds.map(\.kind.name)
      let ids = link.bundle.widgets.compactMap(\.id)
      if link.connection == .resting || link.work == .resting {
        // What it would take over waits for it.
        for former in conversation.withdrawals.inherited(by: link.bundle.id) {
          owners.insert(HostState.provider(of: former))
        }
        // Only what another bundle has may stop a bundle.
        let isTaken =
          kinds.contains { daemon.kinds[$0].map { $0 != provider } ?? false }
          || daemon.sortedWidgets.contains { ids.contains($0.id) && $0.applySet != provider }
        if !isTaken { violate("bundle \(link.bundle.id) is refused for no reason") }
        continue
      }
      let holder = daemon.holders[provider]
      if holder == nil || holder?.session != link.session || holder?.isRegistered != true {
        violate("bundle \(link.bundle.id) has no session")
      }
      for kind in kinds where daemon.kinds[kind] != provider {
        violate("kind \(kind) is not registered by \(provider)")
      }
      let expected = link.bundle.widgets.filter { spec in
        spec.id.map { !recalled.contains($0) } ?? true
      }
      for spec in expected
      where !daemon.sortedWidgets.contains(where: {
        $0.id == spec.id && $0.kind == spec.kind && $0.applySet == provider
      }) {
        violate("widget \(spec.id?.rawValue ?? "") is not declared by \(provider)")
      }
      guard let watch = link.watch, process.watches[watch]?.isConnected == true else {
        violate("bundle \(link.bundle.id) is not watched")
        continue
      }
    }
    let loaded = Set(conversation.links.all.map(\.bundle.id))
    let expected = Set(disk.values.compactMap { choices[$0].bundleID })
    if !expected.isSubset(of: loaded) { violate("\(expected) are not all loaded: \(loaded)") }
    // A broken file does not show its former bundle, so the kinds and widgets stay, with a mark.
    let canRemain =
      canLeaveRemains || disk.values.contains { choices[$0].bundleID == nil }
    for (kind, owner) in daemon.kinds where !owners.contains(owner) && !canRemain {
      violate("kind \(kind) of \(owner) is left behind")
    }
    for widget in daemon.sortedWidgets
    where !owners.contains(widget.applySet) && !canRemain {
      violate("widget \(widget.id) of \(widget.applySet) is left behind")
    }
    // Every problem is over, so no widget shows one.
    if process.machine.bundles.troubles.isEmpty, conversation.holds.isEmpty, !canRemain {
      for widget in daemon.sortedWidgets {
        let problems = widget.error?.all.filter { $0.reason == BundleInstance.invalid } ?? []
        for problem in problems { violate("widget \(widget.id) shows \"\(problem.message)\"") }
      }
    }
    let own = Set(
      daemon.sortedWidgets.filter { $0.applySet == HostState.provider }.map(\.id.rawValue))
    let specs = Set(conversation.standing.all.compactMap(\.id?.rawValue))
    // A bundle whose id changed before the daemon heard of it leaves no widget.
    let leaving = Set(conversation.withdrawals.heirs.keys.map(\.rawValue))
    if !specs.isSubset(of: own) || !own.isSubset(of: specs.union(leaving)) {
      violate("the host's widgets are \(own), not \(specs) with some of \(leaving)")
    }
    for name in [HostWidget.kind?.name, HostState.kind?.name].compactMap(\.self)
    where daemon.kinds[name] != HostState.provider {
      violate("kind \(name) is not registered by the host")
    }
    if process.sessions.count != 1 + conversation.links.all.filter({ $0.session != nil }).count {
      violate("sessions are left open: \(process.sessions.values.map(\.request.provider))")
    }
    if process.watches.count != conversation.links.all.filter({ $0.watch != nil }).count {
      violate("watches are left open")
    }
  }
}
