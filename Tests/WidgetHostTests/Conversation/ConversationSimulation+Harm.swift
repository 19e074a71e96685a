import WidgetBundle
import WidgetClient
import WidgetModel

@testable import WidgetHost

/// Lost connections, kills, stops, reloads, and a stranger that takes names.
extension ConversationSimulation {
  mutating func harm() {
    switch roll(19) {
    case 0, 1: loseConnections(roll(2))
    case 2:
      log.note("the daemon ends")
      daemon.isUp = false
      if roll(2) == 0 { daemon.forget() }
      daemon.holders = daemon.holders.filter { $0.value.session == nil && $0.value.host < 0 }
      for host in processes.indices { loseConnections(host) }
    case 3, 4: daemon.isUp = true
    case 5, 6, 7:
      let path = ConversationSimulation.paths[roll(2)]
      disk[path] = roll(4) == 0 ? nil : roll(choices.count)
      counts.reloads += 1
      for host in processes.indices { processes[host]?.folders.insert(path) }
    case 8:
      let widgets = daemon.sortedWidgets
      guard !widgets.isEmpty else { return }
      let id = widgets[roll(widgets.count)].id
      log.note("a stranger removes \(id)")
      if id.rawValue.hasPrefix("bundle/") { canLeaveRemains = true }
      daemon.remove(id)
      tellNews()
    case 9:
      let kinds = daemon.kinds.keys.sorted { $0.rawValue < $1.rawValue }
      guard !kinds.isEmpty else { return }
      let kind = kinds[roll(kinds.count)]
      log.note("a stranger removes kind \(kind)")
      daemon.removeKinds([kind])
      tellNews()
    case 10:
      let one = stranger[roll(stranger.count)]
      if daemon.kinds[one.kind] == nil, roll(2) == 0 { daemon.kinds[one.kind] = "stranger" }
      if !daemon.sortedWidgets.contains(where: { $0.id == one.widget }) {
        daemon.put(one.widget, one.kind, set: "")
      }
      log.note("a stranger makes \(one.widget)")
      tellNews()
    case 11:
      let providers = daemon.holders.keys.sorted()
      guard !providers.isEmpty else { return }
      let provider = providers[roll(providers.count)]
      let holder = daemon.holders[provider]
      log.note("a stranger takes over \(provider)")
      daemon.holders[provider] = .init(session: nil, host: -1)
      if let holder, let session = holder.session {
        endSession(session, holder.host, ConversationSimulation.taken)
      }
    case 12:
      daemon.isFull.toggle()
      canLeaveRemains = true
    case 13:
      if roll(2) == 0 { startHost(1) } else { kill(roll(2)) }
    case 14:
      let host = roll(2)
      guard processes[host] != nil, processes[host]?.stoppedAt == nil else {
        return startHost(host)
      }
      log.note("host \(host) is told to stop")
      counts.stops += 1
      processes[host]?.stoppedAt = now
      input(host) { $0.stop(at: $1) }
    case 15, 16:
      let widgets = daemon.sortedWidgets.filter { $0.applySet.hasPrefix("bundle/") }
      guard !widgets.isEmpty else { return }
      let id = widgets[roll(widgets.count)].id
      log.note("a user sets a value of \(id)")
      daemon.setValue(of: id)
      tellNews()
    case 17: missFolder()
    default: passTime()
    }
  }

  /// A folder goes, and then the daemon ends. Both stay away for longer than the widgets of a
  /// missing folder stay. Only the daemon comes back.
  private mutating func missFolder() {
    let host = roll(2)
    let path = ConversationSimulation.paths[roll(2)]
    guard processes[host]?.machine.bundles.hasBundle(in: path) == true,
      processes[host]?.stoppedAt == nil
    else { return }
    log.note("\(path) is missing, and the daemon ends")
    counts.absences += 1
    disk[path] = nil
    for other in processes.indices { processes[other]?.folders.insert(path) }
    processes[host]?.folders.remove(path)
    find(nil, in: path, .missing, host)
    daemon.isUp = false
    daemon.holders = daemon.holders.filter { $0.value.session == nil && $0.value.host < 0 }
    for other in processes.indices { loseConnections(other) }
    let end = now + HostLimits().absenceMax * 1.5
    for _ in 0..<200 where now < end && violations.isEmpty { deliverOne() }
    see()
    now = max(now, end)
    daemon.isUp = true
    for _ in 0..<40 where violations.isEmpty { deliverOne() }
  }

  mutating func loseConnections(_ host: Int) {
    guard let process = processes[host] else { return }
    log.note("host \(host) loses its connections")
    counts.losses += 1
    leaveDaemon(host)
    for id in process.sessions.keys where process.sessions[id]?.state == .open {
      processes[host]?.sessions[id]?.state = .connecting
      processes[host]?.sessions[id]?.news = [.lost("lost")]
    }
    for id in process.watches.keys {
      processes[host]?.watches[id]?.isConnected = false
      processes[host]?.watches[id]?.news = []
    }
    for (index, call) in process.calls.enumerated()
    where call.call.session == nil && call.failure == nil {
      perhapsExecute(call)
      processes[host]?.calls[index].failure = ConversationSimulation.lost
    }
    tellNews()
  }

  /// The connections of a host are gone. The daemon may not know yet.
  mutating func leaveDaemon(_ host: Int) {
    for (provider, holder) in daemon.holders.sorted(by: { $0.key < $1.key })
    where holder.host == host && holder.session != nil {
      daemon.holders[provider] = roll(4) == 0 ? .init(session: nil, host: host) : nil
    }
  }

  mutating func kill(_ host: Int) {
    guard let process = processes[host] else { return }
    log.note("host \(host) is killed")
    counts.kills += 1
    for call in process.calls where call.failure == nil { perhapsExecute(call) }
    leaveDaemon(host)
    processes[host] = nil
    tellNews()
  }

  mutating func endProcess(_ host: Int) {
    guard let process = processes[host] else { return }
    if process.machine.nextDeadline != nil { violate("an ended host waits") }
    leaveDaemon(host)
    processes[host] = nil
  }
}
