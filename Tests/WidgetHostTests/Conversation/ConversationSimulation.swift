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
    var takings = 0
    var holds = 0
    var absences = 0
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
      left.takings += right.takings
      left.holds += right.holds
      left.absences += right.absences
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
      /// The widgets with values of users that the call may remove.
      let removable: Set<WidgetID>
      /// The answer, if the daemon has none because the connection was lost.
      var failure: Failure?
    }

    var machine: HostMachine
    var sessions: [SessionID: Session] = [:]
    var watches: [WatchID: Watch] = [:]
    var calls: [Call] = []
    var folders: Set<String> = []
    /// When a running version last had a widget, by its id and its kind. The version of a missing
    /// folder has its widgets only while the daemon does not have the host.
    var seen: [String: Duration] = [:]
    /// The folders that the host knows as missing.
    var missing: Set<String> = []
    var stoppedAt: Duration?
    var hasEnded = false
  }

  /// An answer or a message under way that can be delivered.
  enum Item {
    case connect(SessionID)
    case register(SessionID)
    case news(SessionID)
    case connectWatch(WatchID)
    case watchNews(WatchID)
    case call(Int)
    case folder(String)
  }

  static let lost = Failure("UNAVAILABLE", "the connection was lost", isTransient: true)
  static let taken = Failure("PROVIDER_ACTIVE", "another program has the session")
  static let paths = ["/b/a", "/b/b"]

  let choices: [HostState.Found]
  let stranger: [(widget: WidgetID, kind: KindName)]
  var random: SeededNumbers
  var now = Duration.zero
  var daemon = NaiveDaemon()
  var processes: [Process?] = [nil, nil]
  var disk: [String: Int] = [:]
  var violations: [String] = []
  var counts = Counts()
  /// Whether the widget that tells the next host of a bundle may be gone while the bundle is not.
  var canLeaveRemains = false
  /// Whether the history is over, and nothing does harm any more.
  var isMended = false
  /// Whether nobody removes bundles, and folders are only missing or unavailable. Then the hosts
  /// remove widgets with values of users only after their time.
  let isGentle: Bool
  let log: Log

  /// The steps, for a failure's report.
  final class Log {
    let isOn: Bool
    var lines: [String] = []

    init(isOn: Bool) { self.isOn = isOn }

    func note(_ line: @autoclosure () -> String) { if isOn { lines.append(line()) } }
  }

  /// - Parameter isLogged: whether a violation comes with the last steps, which takes time.
  init(seed: UInt64, choices: [HostState.Found], isLogged: Bool = false) {
    log = Log(isOn: isLogged)
    random = SeededNumbers(seed: seed)
    isGentle = seed % 2 == 0
    self.choices = choices
    stranger = [("wa", "ka"), ("wb", "kb"), ("wc", "kc")].compactMap { widget, kind in
      WidgetID(widget).flatMap { id in KindName(kind).map { (id, $0) } }
    }
  }

  /// Reads the possible bundles of the folders.
  static func choices() throws -> [HostState.Found] {
    try [
      ("a", "1", ["ka"], "wa: {kind: ka}"),
      ("a", "2", ["ka", "kc"], "wa: {kind: ka}, wc: {kind: kc}"),
      ("a", "3", ["ka", "kc"], "wa: {kind: kc}"),
      ("b", "1", ["kb"], "wb: {kind: kb}"),
      // These two take a kind and a widget of bundle a.
      ("b", "2", ["kb", "kc"], "wb: {kind: kb}"),
      ("b", "3", ["kb"], "wa: {kind: kb}"),
      // These two are bundle a with another id.
      ("b", "4", ["ka"], "wa: {kind: ka}"),
      ("c", "1", ["ka"], "wa: {kind: ka}, wd: {kind: ka}"),
    ].enumerated().map { (index, file: (id: String, version: String, [String], String)) in
      let kinds = file.2.map { "\($0): {data: {n: ''}}" }.joined(separator: ", ")
      let text =
        "{bundle: \(file.id), format: 1, version: \(file.version).0.0, kinds: {\(kinds)},"
        + " widgets: {\(file.3)}}"
      return .bundle(try BundleReader.read(text), digest: UInt64(index + 1))
    }
      + [.broken(problem: "/b/a/bundle.yaml:1:1: broken", digest: 100)]
  }

  var time: HostTime { HostTime(wall: .epoch, uptime: now) }

  mutating func roll(_ count: Int) -> Int { Int(random.next() % UInt64(max(count, 1))) }

  mutating func violate(_ text: String) {
    violations.append("\(text)\n\(log.lines.suffix(120).joined(separator: "\n"))")
  }

  // MARK: Running

  mutating func run(steps: Int) -> [String] {
    disk["/b/a"] = 0
    if roll(2) == 0 { disk["/b/b"] = 2 }
    startHost(0)
    if isGentle { setValues() }
    for _ in 0..<steps where violations.isEmpty {
      counts.steps += 1
      if roll(4) > 0 { deliverOne() } else { harm() }
    }
    if violations.isEmpty { settle() }
    return violations
  }

  /// Lets the bundles run, and users set a value on each widget.
  private mutating func setValues() {
    for _ in 0..<60 where violations.isEmpty { deliverOne() }
    for widget in daemon.sortedWidgets where widget.applySet.hasPrefix("bundle/") {
      daemon.setValue(of: widget.id)
    }
    tellNews()
  }

  mutating func startHost(_ host: Int) {
    guard processes[host] == nil else { return }
    log.note("host \(host) starts")
    var limits = HostLimits()
    limits.refusalLookInterval = .seconds(10)
    limits.clearedLookInterval = .seconds(60)
    let machine = HostMachine(
      limits: limits, roots: ["/b"], home: "/home/me", uid: 0, seed: random.next())
    processes[host] = Process(machine: machine, folders: Set(ConversationSimulation.paths))
    for widget in daemon.sortedWidgets { processes[host]?.seen[widget.place] = now }
    input(host) { $0.start(at: $1) }
  }

  mutating func input(
    _ host: Int, _ body: (inout HostMachine, HostTime) -> [HostMachine.Output]
  ) {
    let time = time
    see()
    guard let outputs = processes[host]?.machine.act(time, body) else { return }
    see()
    for output in outputs { perform(output, host) }
    tellNews()
    if processes[host]?.hasEnded == true { endProcess(host) }
  }

  /// - Parameter failed: the call or session whose failure was just told.
  mutating func fail(
    _ host: Int, _ failed: String, _ body: (inout HostMachine, HostTime) -> [HostMachine.Output]
  ) {
    let before = processes[host]?.calls.last?.id.number ?? 0
    input(host, body)
    for call in processes[host]?.calls ?? [] where call.id.number > before {
      // A bundle repeats its mark on a widget that is gone until the watch reports the removal.
      if case .update = call.call { continue }
      if call.call.signature == failed { violate("\(failed) is made again without a wait") }
    }
  }

  mutating func perform(_ output: HostMachine.Output, _ host: Int) {
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
      if text.contains("undo that") { counts.holds += 1 }
    case .note(let text):
      if text.contains("takes over") { counts.takings += 1 }
    case .effect, .kept, .removalsConfirmed, .status: break
    }
  }

  mutating func perform(_ effect: DaemonEffect, _ host: Int) {
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
        processes[host]?.machine.daemon.links.all.contains(where: {
          HostState.provider(of: $0.bundle.id) == set
        }) == true
      {
        // Users' values would be lost with the widgets.
        violate("\(set) is withdrawn, and its bundle is loaded")
      }
      let removable = removable(by: host)
      processes[host]?.calls.append(.init(id: id, call: call, removable: removable))
    case .cancel(let id):
      guard let index = processes[host]?.calls.firstIndex(where: { $0.id == id }),
        let call = processes[host]?.calls.remove(at: index)
      else { return violate("a call that is not under way is cancelled") }
      if call.failure == nil { perhapsExecute(call) }
    case .acknowledge(let id, _):
      if processes[host]?.sessions[id] == nil { violate("an event of a closed session") }
    case .manage, .answerSnapshot: break
    }
  }

  // MARK: The daemon's side

  mutating func perhapsExecute(_ call: Process.Call) {
    guard daemon.isUp, call.call.session == nil, roll(2) == 0 else { return }
    _ = execute(call)
  }

  mutating func execute(_ call: Process.Call) -> Result<DaemonAnswer, Failure> {
    let result = daemon.answer(call.call)
    let lost = daemon.lost.subtracting(call.removable)
    daemon.lost = []
    if isGentle, !isMended, !lost.isEmpty {
      violate("the values of users on \(lost) are lost by \(call.call.signature)")
    }
    return result
  }

  // MARK: Values of users

  /// Notes which widgets the running versions have. If a folder is missing, the time of its widgets
  /// runs only while the daemon has the host.
  mutating func see() {
    for host in processes.indices {
      guard let links = processes[host]?.machine.daemon.links,
        let bundles = processes[host]?.machine.bundles, let missing = processes[host]?.missing
      else { continue }
      let isAway = processes[host]?.machine.daemon.host.isHolding == false
      for link in links.all {
        let folder = bundles.running[link.bundle.id]?.folder ?? ""
        guard isAway || !missing.contains(folder) else { continue }
        for spec in link.bundle.widgets {
          processes[host]?.seen["\(spec.id?.rawValue ?? "") \(spec.kind)"] = now
        }
      }
      guard isAway else { continue }
      // An earlier host has run the bundles of these folders.
      let remembered = bundles.folders.all.filter { $0.folder.absence != nil }
        .flatMap(\.folder.remembered)
      for widget in daemon.sortedWidgets
      where remembered.contains(where: { HostState.provider(of: $0.id) == widget.applySet }) {
        processes[host]?.seen[widget.place] = now
      }
    }
  }

  /// The widgets that a host may remove now: nobody has set values on them, or no running version
  /// has had them for a while.
  private func removable(by host: Int) -> Set<WidgetID> {
    Set(
      daemon.sortedWidgets.filter { widget in
        guard daemon.valued.contains(widget.id) else { return true }
        let seen = processes[host]?.seen[widget.place]
        return seen.map { now - $0 >= HostLimits().absenceMax } ?? false
      }.map(\.id))
  }

  /// Passes the daemon's news to the sessions and watches that get it.
  mutating func tellNews() {
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

  mutating func tell(_ provider: String, _ news: SessionNews) {
    guard let holder = daemon.holders[provider], holder.isRegistered, let id = holder.session,
      processes[holder.host]?.sessions[id]?.state == .open
    else { return }
    processes[holder.host]?.sessions[id]?.news.append(news)
  }

  mutating func tellWatches(of kind: KindName, _ news: DaemonNews) {
    for host in processes.indices {
      for (id, watch) in processes[host]?.watches ?? [:]
      where watch.isConnected && watch.kinds.contains(kind) {
        processes[host]?.watches[id]?.news.append(news)
      }
    }
  }
}

extension ConversationSimulation.Item {
  var order: UInt64 {
    switch self {
    case .connect(let id), .register(let id), .news(let id): id.number
    case .connectWatch(let id), .watchNews(let id): id.number
    case .call, .folder: 0
    }
  }
}

extension Widget {
  fileprivate var place: String { "\(id) \(kind)" }
}

extension HostMachine {
  mutating func act(
    _ time: HostTime, _ body: (inout HostMachine, HostTime) -> [Output]
  ) -> [Output] { body(&self, time) }

  /// Whether a waiting action can change the state of the daemon. A refused version, whose former
  /// version runs, waits for as long as it takes.
  var isWaiting: Bool {
    if isStopped { return true }
    var other = daemon
    for holder in other.rests.holders {
      if case .version = holder { other.cancelRest(holder) }
    }
    return other.nextDeadline != nil || bundles.nextDeadline != nil || !daemon.host.isServing
  }
}
