import WidgetBundle
import WidgetClient
import WidgetModel

@testable import WidgetHost

/// Delivers answers and news, each at a random time.
extension ConversationSimulation {
  func items(_ host: Int) -> [Item] {
    guard let process = processes[host] else { return [] }
    var items: [Item] = []
    for (id, session) in process.sessions {
      if !session.news.isEmpty {
        items.append(.news(id))
      } else if session.state == .connecting, daemon.isUp {
        items.append(.connect(id))
      } else if session.state == .open,
        daemon.holders[session.request.provider]?.isRegistered == false
      {
        items.append(.register(id))
      }
    }
    for (id, watch) in process.watches {
      if !watch.news.isEmpty {
        items.append(.watchNews(id))
      } else if !watch.isConnected, daemon.isUp {
        items.append(.connectWatch(id))
      }
    }
    items.sort { $0.order < $1.order }
    var hasUnary = false
    for (index, call) in process.calls.enumerated() {
      if case .ready(let id) = call.call {
        let session = process.sessions[id]
        let isReady =
          session?.state == .open
          && daemon.holders[session?.request.provider ?? ""]?.isRegistered == true
        if !isReady, session?.state != .ended { continue }
      }
      // One connection has the calls, in order.
      if call.call.session == nil {
        if hasUnary { continue }
        hasUnary = true
      }
      items.append(.call(index))
    }
    items += process.folders.sorted().map { .folder($0) }
    return items
  }

  mutating func deliverOne() {
    let first = roll(2)
    for host in [first, 1 - first] {
      let items = items(host)
      guard !items.isEmpty else { continue }
      return deliver(items[roll(items.count)], host)
    }
    passTime()
  }

  /// Lets the time pass to the next deadline.
  mutating func passTime() {
    guard let next = processes.compactMap({ $0?.machine.nextDeadline }).min() else { return }
    see()
    now = max(now, next)
    for host in processes.indices {
      guard let deadline = processes[host]?.machine.nextDeadline, deadline <= now else { continue }
      input(host) { $0.tick(at: $1) }
      if let deadline = processes[host]?.machine.nextDeadline, deadline <= now {
        violate("host \(host) wants to be woken at once, again")
      }
    }
    for case let process? in processes {
      if let stopped = process.stoppedAt, now > stopped + HostLimits().closeWaitMax {
        violate("a stopped host has not ended")
      }
    }
  }

  mutating func deliver(_ item: Item, _ host: Int) {
    switch item {
    case .connect(let id): connect(id, host)
    case .register(let id): register(id, host)
    case .news(let id):
      guard let news = processes[host]?.sessions[id]?.news.removeFirst() else { return }
      log.note("host \(host) session \(id.number) hears \(news)")
      input(host) { $0.handle(.session(id, news), at: $1) }
    case .connectWatch(let id):
      guard let kinds = processes[host]?.watches[id]?.kinds else { return }
      processes[host]?.watches[id]?.isConnected = true
      processes[host]?.watches[id]?.news = [
        .snapshot(daemon.sortedWidgets.filter { kinds.contains($0.kind) })
      ]
    case .watchNews(let id):
      guard let news = processes[host]?.watches[id]?.news.removeFirst() else { return }
      input(host) { $0.handle(.watch(id, news), at: $1) }
    case .call(let index): answer(index, host)
    case .folder(let path):
      processes[host]?.folders.remove(path)
      let found = disk[path].map { choices[$0] }
      log.note("host \(host) finds \(disk[path] ?? -1) in \(path)")
      find(found, in: path, absence(), host)
    }
  }

  /// The host looks into a folder.
  mutating func find(
    _ found: HostState.Found?, in path: String, _ absence: HostState.Absence, _ host: Int
  ) {
    let isMissing = found == nil && absence == .missing
    if !isMissing { processes[host]?.missing.remove(path) }
    input(host) { $0.found(found, in: path, absence: absence, at: $1) }
    if isMissing { processes[host]?.missing.insert(path) }
  }

  /// Why a folder has no bundle: any reason, until everything is mended.
  private mutating func absence() -> HostState.Absence {
    guard !isMended else { return .missing }
    let absences: [HostState.Absence] = [.missing, .unavailable("/b does not exist"), .removed]
    return absences[roll(isGentle ? 2 : 3)]
  }

  mutating func connect(_ id: SessionID, _ host: Int) {
    guard let request = processes[host]?.sessions[id]?.request else { return }
    if let holder = daemon.holders[request.provider] {
      guard request.takesOver, holder.host == host else {
        return endSession(id, host, ConversationSimulation.taken)
      }
      if let old = holder.session { endSession(old, host, ConversationSimulation.taken) }
    }
    daemon.holders[request.provider] = .init(session: id, host: host)
    processes[host]?.sessions[id]?.state = .open
    processes[host]?.sessions[id]?.news.append(.opened(epoch: daemon.epoch))
  }

  mutating func register(_ id: SessionID, _ host: Int) {
    guard let request = processes[host]?.sessions[id]?.request else { return }
    if let failure = daemon.register(request.kinds.map(\.name), of: request.provider) {
      daemon.holders[request.provider] = nil
      endSession(id, host, failure)
    } else {
      daemon.holders[request.provider]?.isRegistered = true
      let isServed = daemon.holders[HostState.provider].map { $0.host != host } ?? false
      // The host does not know yet that another one serves, and has removed this bundle perhaps.
      if isServed { canLeaveRemains = true }
    }
  }

  mutating func endSession(_ id: SessionID, _ host: Int, _ failure: Failure) {
    guard let session = processes[host]?.sessions[id] else { return }
    log.note(
      "host \(host) session \(id.number) of \(session.request.provider) ends: \(failure.code)")
    processes[host]?.sessions[id]?.state = .ended
    processes[host]?.sessions[id]?.news = []
    fail(host, "open \(session.request.provider)") {
      $0.handle(.sessionEnded(id, failure), at: $1)
    }
  }

  mutating func answer(_ index: Int, _ host: Int) {
    guard let call = processes[host]?.calls.remove(at: index) else { return }
    var result: Result<DaemonAnswer, Failure> = .success(.done)
    switch call.call {
    case .close(let id): closeSession(id, host)
    case .ready(let id):
      if processes[host]?.sessions[id]?.state == .ended {
        result = .failure(Failure("CANCELLED", "closed"))
      }
    case .declareKinds(let id):
      guard let session = processes[host]?.sessions[id], session.state == .open else {
        result = .failure(ConversationSimulation.lost)
        break
      }
      if let failure = daemon.register(
        session.request.kinds.map(\.name), of: session.request.provider)
      {
        result = .failure(failure)
      }
    case .flush, .answer, .acknowledgeMissed: break
    case .folders(let bundles):
      var absences: [String: HostState.Absence] = [:]
      for bundle in bundles where disk[bundle.path] == nil { absences[bundle.path] = absence() }
      result = .success(.absences(absences))
    default:
      if let failure = call.failure {
        result = .failure(failure)
      } else {
        result = daemon.isUp ? execute(call) : .failure(ConversationSimulation.lost)
      }
    }
    if case .failure(let failure) = result {
      log.note("host \(host) call \(call.id.number) fails: \(failure.code)")
      fail(host, call.call.signature) { $0.handle(.answered(call.id, result), at: $1) }
    } else {
      input(host) { $0.handle(.answered(call.id, result), at: $1) }
    }
  }

  mutating func closeSession(_ id: SessionID, _ host: Int) {
    guard let session = processes[host]?.sessions.removeValue(forKey: id) else { return }
    if daemon.holders[session.request.provider]?.session == id,
      daemon.holders[session.request.provider]?.host == host
    {
      daemon.holders[session.request.provider] = nil
    }
  }
}
