import WidgetBundle
import WidgetClient
import WidgetModel

@testable import WidgetHost

/// One random history of hosts, the naive daemon, folders with bundles, and strangers.
///
/// Everything is decided by the seed. Each step delivers one thing that is under way, or does harm.
/// Rules are checked after each step. At the end the harm is undone, everything under way is
/// delivered, and the daemon must have what the folders say.
struct ConversationSimulation {
  struct Counts {
    var losses = 0
    var kills = 0
    var stops = 0
    var hostRefusals = 0
    var bundleRefusals = 0
    var reloads = 0
    var takeOvers = 0
    var restorations = 0
    var withdrawals = 0
    var steps = 0

    static func += (left: inout Counts, right: Counts) {
      left.losses += right.losses
      left.kills += right.kills
      left.stops += right.stops
      left.hostRefusals += right.hostRefusals
      left.bundleRefusals += right.bundleRefusals
      left.reloads += right.reloads
      left.takeOvers += right.takeOvers
      left.restorations += right.restorations
      left.withdrawals += right.withdrawals
      left.steps += right.steps
    }
  }

  /// A host's process: the state machine, and what its adapter and its client library hold.
  struct Process {
    struct Session {
      enum State { case connecting, open, ended }
      let request: SessionRequest
      var state = State.connecting
      var news: [SessionNews] = []
    }

    struct Watch {
      let kinds: [KindName]
      var isConnected = false
      var news: [DaemonNews] = []
    }

    struct Call {
      let id: CallID
      let call: DaemonCall
      /// The answer, if the daemon has none because the connection was lost.
      var failure: Failure?
    }

    var machine: HostMachine
    var sessions: [SessionID: Session] = [:]
    var watches: [WatchID: Watch] = [:]
    var calls: [Call] = []
    var folders: Set<String> = []
    var stoppedAt: Duration?
    var hasEnded = false
  }

  /// Something under way that can be delivered.
  fileprivate enum Item {
    case connect(SessionID)
    case register(SessionID)
    case news(SessionID)
    case connectWatch(WatchID)
    case watchNews(WatchID)
    case call(Int)
    case folder(String)
  }

  private static let lost = Failure("UNAVAILABLE", "the connection was lost", isTransient: true)
  private static let taken = Failure("PROVIDER_ACTIVE", "another program has the session")
  private static let paths = ["/b/a", "/b/b"]

  private let choices: [HostState.Found]
  private let stranger: [(widget: WidgetID, kind: KindName)]
  private var random: SeededNumbers
  private var now = Duration.zero
  private(set) var daemon = NaiveDaemon()
  private(set) var processes: [Process?] = [nil, nil]
  private var disk: [String: Int] = [:]
  private(set) var violations: [String] = []
  private(set) var counts = Counts()
  /// Whether the widget that tells the next host of a bundle may be gone while the bundle is not.
  private var canLeaveRemains = false
  private let log: Log

  /// The steps, for a failure's report.
  private final class Log {
    let isOn: Bool
    var lines: [String] = []

    init(isOn: Bool) { self.isOn = isOn }

    func note(_ line: @autoclosure () -> String) { if isOn { lines.append(line()) } }
  }

  /// - Parameter isLogged: whether a violation comes with the last steps, which takes time.
  init(seed: UInt64, choices: [HostState.Found], isLogged: Bool = false) {
    log = Log(isOn: isLogged)
    random = SeededNumbers(seed: seed)
    self.choices = choices
    stranger = [("wa", "ka"), ("wb", "kb"), ("wc", "kc")].compactMap { widget, kind in
      WidgetID(widget).flatMap { id in KindName(kind).map { (id, $0) } }
    }
  }

  /// Reads what the folders can hold.
  static func choices() throws -> [HostState.Found] {
    try [
      ("a", "1", ["ka"], "wa: {kind: ka}"),
      ("a", "2", ["ka", "kc"], "wa: {kind: ka}, wc: {kind: kc}"),
      ("a", "3", ["ka", "kc"], "wa: {kind: kc}"),
      ("b", "1", ["kb"], "wb: {kind: kb}"),
      // These two take a kind and a widget of bundle a.
      ("b", "2", ["kb", "kc"], "wb: {kind: kb}"),
      ("b", "3", ["kb"], "wa: {kind: kb}"),
    ].enumerated().map { (index, file: (id: String, version: String, [String], String)) in
      let kinds = file.2.map { "\($0): {data: {n: ''}}" }.joined(separator: ", ")
      let text =
        "{bundle: \(file.id), format: 1, version: \(file.version).0.0, kinds: {\(kinds)},"
        + " widgets: {\(file.3)}}"
      return .bundle(try BundleReader.read(text), digest: UInt64(index + 1))
    }
      + [.broken(problem: "/b/a/bundle.yaml:1:1: broken", digest: 100)]
  }

  private var time: HostTime { HostTime(wall: .epoch, uptime: now) }

  private mutating func roll(_ count: Int) -> Int { Int(random.next() % UInt64(max(count, 1))) }

  private mutating func violate(_ text: String) {
    violations.append("\(text)\n\(log.lines.suffix(120).joined(separator: "\n"))")
  }

  // MARK: Running

  mutating func run(steps: Int) -> [String] {
    disk["/b/a"] = 0
    if roll(2) == 0 { disk["/b/b"] = 2 }
    startHost(0)
    for _ in 0..<steps where violations.isEmpty {
      counts.steps += 1
      if roll(4) > 0 { deliverOne() } else { harm() }
    }
    if violations.isEmpty { settle() }
    return violations
  }

  private mutating func startHost(_ host: Int) {
    guard processes[host] == nil else { return }
    log.note("host \(host) starts")
    var limits = HostLimits()
    limits.refusalLookInterval = .seconds(10)
    let machine = HostMachine(
      limits: limits, roots: ["/b"], home: "/home/me", uid: 0, seed: random.next())
    processes[host] = Process(machine: machine, folders: Set(ConversationSimulation.paths))
    input(host) { $0.start(at: $1) }
  }

  private mutating func input(
    _ host: Int, _ body: (inout HostMachine, HostTime) -> [HostMachine.Output]
  ) {
    let time = time
    guard let outputs = processes[host]?.machine.act(time, body) else { return }
    for output in outputs { perform(output, host) }
    tellNews()
    if processes[host]?.hasEnded == true { endProcess(host) }
  }

  /// - Parameter failed: the call or session whose failure was just told.
  private mutating func fail(
    _ host: Int, _ failed: String, _ body: (inout HostMachine, HostTime) -> [HostMachine.Output]
  ) {
    let before = processes[host]?.calls.last?.id.number ?? 0
    input(host, body)
    for call in processes[host]?.calls ?? [] where call.id.number > before {
      if call.call.signature == failed { violate("\(failed) is made again without a wait") }
    }
  }

  private mutating func perform(_ output: HostMachine.Output, _ host: Int) {
    switch output {
    case .daemon(let effect):
      if processes[host]?.hasEnded == true { violate("an effect after the end: \(effect)") }
      perform(effect, host)
    case .ended(let failure):
      log.note("host \(host) ends: \(failure?.code ?? "")")
      if failure != nil { counts.hostRefusals += 1 }
      processes[host]?.hasEnded = true
    case .report(let text):
      log.note("host \(host) reports: \(text.prefix(100))")
      if text.contains("restoring") { counts.restorations += 1 }
      if text.contains("refuses") { counts.bundleRefusals += 1 }
    case .effect, .note, .kept, .status: break
    }
  }

  private mutating func perform(_ effect: DaemonEffect, _ host: Int) {
    switch effect {
    case .open(let id, let request):
      log.note("host \(host) opens \(id.number) \(request.provider)")
      if request.takesOver { counts.takeOvers += 1 }
      if processes[host]?.sessions[id] != nil { violate("a session is opened twice") }
      if processes[host]?.stoppedAt != nil { violate("a session is opened after the stop") }
      let open = processes[host]?.sessions.values.filter {
        $0.request.provider == request.provider && $0.state != .ended
      }
      if !request.takesOver, open?.isEmpty == false { violate("two sessions of one provider") }
      processes[host]?.sessions[id] = Process.Session(request: request)
    case .watch(let id, let kinds): processes[host]?.watches[id] = Process.Watch(kinds: kinds)
    case .endWatch(let id):
      if processes[host]?.watches.removeValue(forKey: id) == nil {
        violate("a watch that does not exist is ended")
      }
    case .call(let id, let call):
      log.note("host \(host) calls \(id.number) \(call.signature)")
      if let session = call.session, processes[host]?.sessions[session] == nil {
        violate("a call to a closed session: \(call.signature)")
      }
      if let set = call.changedSet,
        processes[host]?.calls.contains(where: { $0.call.changedSet == set }) == true
      {
        violate("two changes of \(set) are under way")
      }
      if processes[host]?.stoppedAt != nil {
        switch call {
        case .close: break
        case .declare(_, HostState.provider): break
        default: violate("a call after the stop: \(call.signature)")
        }
      }
      if processes[host]?.machine.daemon.host.isOusted == true, call.changesWidgets {
        violate("a call of a host that another has ousted: \(call.signature)")
      }
      if case .removeKinds = call { counts.withdrawals += 1 }
      if let set = call.withdrawnSet,
        processes[host]?.machine.daemon.links.values.contains(where: {
          HostState.provider(of: $0.bundle.id) == set
        }) == true
      {
        // Users' values would be lost with the widgets.
        violate("\(set) is withdrawn, and its bundle is loaded")
      }
      processes[host]?.calls.append(.init(id: id, call: call))
    case .cancel(let id):
      guard let index = processes[host]?.calls.firstIndex(where: { $0.id == id }),
        let call = processes[host]?.calls.remove(at: index)
      else { return violate("a call that is not under way is cancelled") }
      if call.failure == nil { perhapsExecute(call.call) }
    case .acknowledge(let id, _):
      if processes[host]?.sessions[id] == nil { violate("an event of a closed session") }
    case .manage, .answerSnapshot: break
    }
  }

  // MARK: The daemon's side

  private mutating func perhapsExecute(_ call: DaemonCall) {
    guard daemon.isUp, call.session == nil, roll(2) == 0 else { return }
    _ = daemon.answer(call)
  }

  /// Passes what the daemon tells to the sessions and watches that hear it.
  private mutating func tellNews() {
    let news = daemon.news
    daemon.news = []
    for one in news {
      switch one {
      case .removed(let widget):
        tellWatches(of: widget.kind, .removed(widget.id))
        if let provider = daemon.kinds[widget.kind] { tell(provider, .removed([widget.id])) }
      case .changed(let widget): tellWatches(of: widget.kind, .widget(widget))
      case .kindsRemoved(let provider, let names): tell(provider, .kindsRemoved(names))
      }
    }
  }

  private mutating func tell(_ provider: String, _ news: SessionNews) {
    guard let holder = daemon.holders[provider], holder.isRegistered, let id = holder.session,
      processes[holder.host]?.sessions[id]?.state == .open
    else { return }
    processes[holder.host]?.sessions[id]?.news.append(news)
  }

  private mutating func tellWatches(of kind: KindName, _ news: DaemonNews) {
    for host in processes.indices {
      for (id, watch) in processes[host]?.watches ?? [:]
      where watch.isConnected && watch.kinds.contains(kind) {
        processes[host]?.watches[id]?.news.append(news)
      }
    }
  }

  // MARK: Delivering

  private func items(_ host: Int) -> [Item] {
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

  private mutating func deliverOne() {
    let first = roll(2)
    for host in [first, 1 - first] {
      let items = items(host)
      guard !items.isEmpty else { continue }
      return deliver(items[roll(items.count)], host)
    }
    passTime()
  }

  /// Lets the time pass to the next deadline.
  private mutating func passTime() {
    guard let next = processes.compactMap({ $0?.machine.nextDeadline }).min() else { return }
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

  private mutating func deliver(_ item: Item, _ host: Int) {
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
      input(host) { $0.found(found, in: path, at: $1) }
    }
  }

  private mutating func connect(_ id: SessionID, _ host: Int) {
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

  private mutating func register(_ id: SessionID, _ host: Int) {
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

  private mutating func endSession(_ id: SessionID, _ host: Int, _ failure: Failure) {
    guard let session = processes[host]?.sessions[id] else { return }
    log.note(
      "host \(host) session \(id.number) of \(session.request.provider) ends: \(failure.code)")
    processes[host]?.sessions[id]?.state = .ended
    processes[host]?.sessions[id]?.news = []
    fail(host, "open \(session.request.provider)") {
      $0.handle(.sessionEnded(id, failure), at: $1)
    }
  }

  private mutating func answer(_ index: Int, _ host: Int) {
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
    case .folders(let paths): result = .success(.folders(Set(paths.filter { disk[$0] != nil })))
    default:
      if let failure = call.failure {
        result = .failure(failure)
      } else {
        result = daemon.isUp ? daemon.answer(call.call) : .failure(ConversationSimulation.lost)
      }
    }
    if case .failure(let failure) = result {
      log.note("host \(host) call \(call.id.number) fails: \(failure.code)")
      fail(host, call.call.signature) { $0.handle(.answered(call.id, result), at: $1) }
    } else {
      input(host) { $0.handle(.answered(call.id, result), at: $1) }
    }
  }

  private mutating func closeSession(_ id: SessionID, _ host: Int) {
    guard let session = processes[host]?.sessions.removeValue(forKey: id) else { return }
    if daemon.holders[session.request.provider]?.session == id,
      daemon.holders[session.request.provider]?.host == host
    {
      daemon.holders[session.request.provider] = nil
    }
  }

  // MARK: Harm

  private mutating func harm() {
    switch roll(16) {
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
    default: passTime()
    }
  }

  private mutating func loseConnections(_ host: Int) {
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
      perhapsExecute(call.call)
      processes[host]?.calls[index].failure = ConversationSimulation.lost
    }
    tellNews()
  }

  /// The connections of a host are gone. The daemon may not know yet.
  private mutating func leaveDaemon(_ host: Int) {
    for (provider, holder) in daemon.holders.sorted(by: { $0.key < $1.key })
    where holder.host == host && holder.session != nil {
      daemon.holders[provider] = roll(4) == 0 ? .init(session: nil, host: host) : nil
    }
  }

  private mutating func kill(_ host: Int) {
    guard let process = processes[host] else { return }
    log.note("host \(host) is killed")
    counts.kills += 1
    for call in process.calls where call.failure == nil { perhapsExecute(call.call) }
    leaveDaemon(host)
    processes[host] = nil
    tellNews()
  }

  private mutating func endProcess(_ host: Int) {
    guard let process = processes[host] else { return }
    if process.machine.nextDeadline != nil { violate("an ended host waits") }
    leaveDaemon(host)
    processes[host] = nil
  }

  // MARK: The end

  /// Undoes the harm, delivers everything, and compares the daemon with the folders.
  private mutating func settle() {
    log.note("everything is mended")
    daemon.isUp = true
    daemon.isFull = false
    daemon.holders = daemon.holders.filter { $0.value.session != nil }
    daemon.removeKinds(stranger.map(\.kind).filter { daemon.kinds[$0] == "stranger" })
    for widget in daemon.sortedWidgets where widget.applySet.isEmpty { daemon.remove(widget.id) }
    tellNews()
    if processes.allSatisfy({ $0 == nil || $0?.stoppedAt != nil }) {
      startHost(processes[0] == nil ? 0 : 1)
    }
    var rounds = 0
    // What waits after a refusal is tried again after half a minute.
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

  private mutating func check() {
    let living = processes.compactMap(\.self)
    guard living.count == 1, let process = living.first else {
      return violate("\(living.count) hosts live")
    }
    let conversation = process.machine.daemon
    guard conversation.host.isServing else { return violate("the host does not serve") }
    var owners: Set<String> = [HostState.provider]
    for link in conversation.links.values {
      let provider = HostState.provider(of: link.bundle.id)
      owners.insert(provider)
      let kinds = link.bundle.kinds.map(\.kind.name)
      let ids = link.bundle.widgets.compactMap(\.id)
      if link.connection == .resting || link.work == .resting {
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
      for spec in link.bundle.widgets
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
    let loaded = Set(conversation.links.values.map(\.bundle.id))
    let expected = Set(disk.values.compactMap { choices[$0].bundleID })
    if !expected.isSubset(of: loaded) { violate("\(expected) are not all loaded: \(loaded)") }
    // A broken file does not say what it was, so its kinds and widgets stay, with a mark.
    let canRemain =
      canLeaveRemains || disk.values.contains { choices[$0].bundleID == nil }
    for (kind, owner) in daemon.kinds where !owners.contains(owner) && !canRemain {
      violate("kind \(kind) of \(owner) is left behind")
    }
    for widget in daemon.sortedWidgets
    where !owners.contains(widget.applySet) && !canRemain {
      violate("widget \(widget.id) of \(widget.applySet) is left behind")
    }
    let own = Set(
      daemon.sortedWidgets.filter { $0.applySet == HostState.provider }.map(\.id.rawValue))
    let specs = Set(conversation.standing.all.compactMap(\.id?.rawValue))
    if own != specs { violate("the host's widgets are \(own), not \(specs)") }
    for name in [HostWidget.kind?.name, HostState.kind?.name].compactMap(\.self)
    where daemon.kinds[name] != HostState.provider {
      violate("kind \(name) is not registered by the host")
    }
    if process.sessions.count != 1 + conversation.links.values.filter({ $0.session != nil }).count {
      violate("sessions are left open: \(process.sessions.values.map(\.request.provider))")
    }
    if process.watches.count != conversation.links.values.filter({ $0.watch != nil }).count {
      violate("watches are left open")
    }
  }
}

extension ConversationSimulation.Item {
  fileprivate var order: UInt64 {
    switch self {
    case .connect(let id), .register(let id), .news(let id): id.number
    case .connectWatch(let id), .watchNews(let id): id.number
    case .call, .folder: 0
    }
  }
}

extension HostMachine {
  fileprivate mutating func act(
    _ time: HostTime, _ body: (inout HostMachine, HostTime) -> [Output]
  ) -> [Output] { body(&self, time) }

  /// Whether something waits that can change what the daemon has. A refused version, whose former
  /// version runs, waits for as long as it takes.
  fileprivate var isWaiting: Bool {
    if isStopped { return true }
    var other = daemon
    for holder in other.rests.keys {
      if case .version = holder { other.rests[holder] = nil }
    }
    return other.nextDeadline != nil || !daemon.host.isServing
  }
}

extension HostState.Found {
  fileprivate var bundleID: String? {
    if case .bundle(let bundle, _) = self { bundle.id } else { nil }
  }
}

extension DaemonCall {
  /// The session that the call goes through; nil for the connection of all other calls.
  fileprivate var session: SessionID? {
    switch self {
    case .ready(let id), .declareKinds(let id), .flush(let id), .close(let id),
      .answer(let id, _, _), .acknowledgeMissed(let id, _):
      id
    default: nil
    }
  }

  /// The set whose kinds or widgets the call changes.
  fileprivate var changedSet: String? {
    switch self {
    case .declare(_, let set), .own(_, let set), .removeKinds(let set): set
    default: nil
    }
  }

  /// The set of a removed bundle whose widgets or kinds the call removes.
  fileprivate var withdrawnSet: String? {
    switch self {
    case .declare([], let set) where set != HostState.provider: set
    case .removeKinds(let set): set
    default: nil
    }
  }

  /// Whether a host that serves nothing must not make this call.
  fileprivate var changesWidgets: Bool {
    switch self {
    case .update, .send, .presence: true
    default: changedSet != nil
    }
  }

  fileprivate var signature: String {
    switch self {
    case .ready(let id): "ready \(id.number)"
    case .declareKinds(let id): "declareKinds \(id.number)"
    case .flush(let id): "flush \(id.number)"
    case .close(let id): "close \(id.number)"
    case .answer(let id, let widget, _): "answer \(id.number) \(widget)"
    case .acknowledgeMissed(let id, _): "missed \(id.number)"
    case .declare(let specs, let set): "declare \(set) \(specs.count)"
    case .own(let specs, let set): "own \(set) \(specs.count)"
    case .removeKinds(let set): "removeKinds \(set)"
    case .update(let id, _, let provider): "update \(id) \(provider)"
    case .presence(let ids, _): "presence \(ids)"
    case .send(let id, let name, _, _): "send \(id) \(name)"
    case .widget(let id): "widget \(id)"
    case .widgets(let kinds): "widgets \(kinds.map(\.rawValue))"
    case .standing(let kinds, let ids): "standing \(kinds.map(\.rawValue)) \(ids.map(\.rawValue))"
    case .folders(let paths): "folders \(paths)"
    }
  }
}
