import WidgetBundle
import WidgetClient
import WidgetModel

/// The host without I/O: the bundles (`HostState`) and the conversation with the daemon
/// (`DaemonConversation`).
///
/// An input goes to one of the two. Their messages to each other are passed on here, until only
/// work for the adapters is left.
struct HostMachine: Sendable {
  /// Work for the adapters.
  enum Output: Sendable {
    /// A file, program, request or anything else that is not a call to the daemon.
    case effect(Effect)
    case daemon(DaemonEffect)
    /// Print this error or warning.
    case report(String)
    /// Print the host's progress.
    case note(String)
    /// A field of a bundle's file has no effect, or a value is gone with its widget.
    case kept(BundleClaims.KeptField, bundle: String)
    /// The daemon has nothing of further removed bundles, or this host knows now which bundles the
    /// daemon has. So marks can go.
    case removalsConfirmed
    /// The number of running bundles, and of broken ones.
    case status(running: Int, failed: Int)
    /// The end. A failure tells why the daemon does not have this host.
    case ended(Failure?)
  }

  private(set) var bundles: HostState
  private(set) var daemon: DaemonConversation
  private var previews: Previews
  private let limits: HostLimits
  private let roots: [String]
  /// The same folders without symbolic links.
  private let resolvedRoots: [String]
  private let isStub: Bool
  /// The folders of bundles that cannot be read, with the reason and its beginning.
  private var rootProblems: [String: (reason: String, since: Timestamp)] = [:]
  /// The user of the host, who may trace bundles. Bundles count the host's events for the host.
  private let uid: UInt32
  /// The held reports. Nil from the time when the host knows that no other host serves the daemon.
  private var held: HeldReports?
  private var refusal: Failure?
  private var outputs: [Output] = []

  /// - Parameters:
  ///   - roots: the folders that hold bundles' folders.
  ///   - resolved: the same folders without symbolic links. Default: `roots`.
  ///   - uid: the user of the host.
  ///   - userName: the name of a user; nil if no user has the number.
  init(
    limits: HostLimits = HostLimits(), roots: [String] = [], resolved: [String]? = nil,
    isStub: Bool = false, home: String,
    programFolders: [String] = BundlePermissions.systemFolders, uid: UInt32, seed: UInt64,
    userName: @escaping @Sendable (UInt32) -> String? = { _ in nil }
  ) {
    self.limits = limits
    self.roots = roots
    resolvedRoots = resolved ?? roots
    self.isStub = isStub
    self.uid = uid
    bundles = HostState(
      limits: limits, roots: resolved ?? roots, isStub: isStub, home: home,
      programFolders: programFolders, uid: uid, seed: seed, userName: userName)
    daemon = DaemonConversation(limits: limits)
    previews = Previews(limits)
    held = HeldReports(countMax: limits.heldReportsMax)
    daemon.setStanding(hostWidget())
  }

  var isStopped: Bool { daemon.isStopped }

  /// The widget that shows this host.
  private func hostWidget(isStopped: Bool = false) -> [WidgetSpec] {
    let spec = HostWidget.spec(
      folders: roots, standings: bundles.standings, isStopped: isStopped, isStub: isStub,
      problem: roots.compactMap { root in
        rootProblems[root].map { problem in
          let words = MissingRoot.words(
            problem.reason, of: root, hadBundles: hasBundles(of: root),
            absenceMax: limits.absenceMax)
          return "\(words) (since \(RFC3339.text(problem.since.wholeSeconds)))"
        }
      }.joined(separator: "\n"), marks: bundles.knownMarks.ofRemoved)
    return spec.map { [$0] } ?? []
  }

  /// Whether the host knows bundles of a folder of bundles.
  private func hasBundles(of root: String) -> Bool {
    let places = zip(roots, resolvedRoots).filter { $0.0 == root }.flatMap { [$0.0, $0.1] }
    return bundles.standings.contains { places.contains(Paths.parent($0.path)) }
  }

  // MARK: Inputs

  /// Begins the conversation with the daemon.
  mutating func start(at now: HostTime) -> [Output] {
    daemon.start()
    return drain(at: now)
  }

  /// The host has looked into a folder. nil: it has no bundle's file, for the reason `absence`.
  ///
  /// - Parameters:
  ///   - suspicion: a file that probably was meant as the file of a missing bundle.
  ///   - marks: the identities of the marks of removals that were there before this.
  mutating func found(
    _ found: HostState.Found?, in path: String, absence: HostState.Absence = .missing,
    suspicion: HostState.Found? = nil, marks: Set<String> = [], isFolderThere: Bool? = nil,
    at now: HostTime
  ) -> [Output] {
    guard !isStopped else { return [] }
    if let found {
      pass(bundles.found(found, in: path, at: now), at: now)
      pass(bundles.saw(marks, in: path), at: now)
    } else {
      let outputs = bundles.lost(
        path, absence, suspicion: suspicion, marks: marks, isFolderThere: isFolderThere, at: now)
      pass(outputs, at: now)
    }
    daemon.setFolders(bundles.knownFolders)
    return drain(at: now)
  }

  /// The host has looked into all folders of bundles. `problems` has the reasons why some cannot be
  /// read, or be watched for changes.
  mutating func looked(atRoots problems: [String: String], at now: HostTime) -> [Output] {
    guard !isStopped, problems != rootProblems.mapValues(\.reason) else { return [] }
    for root in roots where problems[root] != rootProblems[root]?.reason {
      rootProblems[root] = problems[root].map { ($0, now.wall) }
    }
    daemon.setStanding(hostWidget() + bundles.standings.compactMap(HostState.spec))
    return drain(at: now)
  }

  /// The host has looked into all changed folders.
  mutating func looked(at now: HostTime) -> [Output] {
    guard !isStopped else { return [] }
    pass(bundles.looked(), at: now)
    return drain(at: now)
  }

  /// Something happened to a bundle.
  mutating func handle(
    _ input: BundleInput, generation: UInt64, at now: HostTime
  ) -> [Output] {
    guard !isStopped else { return [] }
    if previews.has(generation) {
      pass(previews.handle(input, generation: generation, at: now), at: now)
    } else {
      pass(bundles.handle(input, generation: generation, at: now), at: now)
    }
    return drain(at: now)
  }

  mutating func handle(_ input: DaemonInput, at now: HostTime) -> [Output] {
    daemon.handle(input, at: now)
    return drain(at: now)
  }

  /// Prints an error or a warning of an adapter.
  mutating func report(_ text: String) -> [Output] {
    say(.report(text))
    return take()
  }

  var nextDeadline: Duration? {
    guard !isStopped else { return daemon.nextDeadline }
    return [bundles.nextDeadline, previews.nextDeadline, daemon.nextDeadline].compactMap(\.self)
      .min()
  }

  /// Time has passed.
  mutating func tick(at now: HostTime) -> [Output] {
    if !isStopped, let deadline = bundles.nextDeadline, deadline <= now.uptime {
      pass(bundles.tick(at: now), at: now)
    }
    if !isStopped, let deadline = previews.nextDeadline, deadline <= now.uptime {
      pass(previews.tick(at: now), at: now)
    }
    if let deadline = daemon.nextDeadline, deadline <= now.uptime { daemon.tick(at: now) }
    return drain(at: now)
  }

  /// Whether the adapters must tell when the clock is set.
  var followsClock: Bool { !isStopped && bundles.followsClock }

  /// The clock was set.
  mutating func clockWasSet(at now: HostTime) -> [Output] {
    guard !isStopped else { return [] }
    pass(bundles.tick(at: now, isClockSet: true), at: now)
    return drain(at: now)
  }

  /// Ends everything. `ended` follows.
  mutating func stop(at now: HostTime) -> [Output] {
    guard !isStopped else { return [] }
    end(at: now)
    return drain(at: now)
  }

  private mutating func end(at now: HostTime) {
    // The other host runs the bundles, so this host has loaded nothing.
    if daemon.isTaken { held?.discard() }
    release()
    pass(previews.stop(), at: now)
    let (cancelled, specs) = bundles.stop()
    pass(cancelled.map { HostState.Output.effect($0) }, at: now)
    daemon.stop(hostWidget(isStopped: true) + specs, at: now)
  }

  // MARK: Passing on

  private mutating func take() -> [Output] {
    defer { outputs = [] }
    return outputs
  }

  private mutating func drain(at now: HostTime) -> [Output] {
    while true {
      if !isStopped, bundles.mayHaveNewTroubles {
        let unread = bundles.unread
        daemon.setUnread(
          broken: unread.broken, missing: unread.missing, removals: unread.removals)
        pass(bundles.showTroubles(at: now), at: now)
      }
      var new = daemon.takeOutputs()
      if new.isEmpty {
        daemon.settle(at: now)
        new = daemon.takeOutputs()
      }
      guard !new.isEmpty else { return take() }
      for output in new { pass(output, at: now) }
    }
  }

  private mutating func pass(_ output: DaemonConversation.Output, at now: HostTime) {
    switch output {
    case .effect(let effect): outputs.append(.daemon(effect))
    case .tell(let input, let generation):
      guard !isStopped else { return }
      pass(bundles.handle(input, generation: generation, at: now), at: now)
    case .declared(let generation, let refusal, let isLimit):
      guard !isStopped else { return }
      pass(
        bundles.declared(generation: generation, refusal: refusal, isLimit: isLimit, at: now),
        at: now)
    case .retry(let id): pass(bundles.retry(id, at: now), at: now)
    case .reworded(let id, let refusal):
      pass(bundles.reworded(id, refusal: refusal, at: now), at: now)
    case .blocked(let id, let others):
      pass(bundles.blocked(id, by: others), at: now)
      daemon.setFolders(bundles.knownFolders)
    case .remembered(let known, let marks):
      pass(bundles.remembered(known, removals: marks, at: now), at: now)
      daemon.setFolders(bundles.knownFolders)
      // The marks change the widget of the host, and perhaps no other one.
      if !isStopped {
        daemon.setStanding(hostWidget() + bundles.standings.compactMap(HostState.spec))
      }
      // The looks before this one could not tell which marks say nothing.
      outputs.append(.removalsConfirmed)
    case .attendance(let isAway):
      guard !isStopped else { return }
      pass(isAway ? bundles.daemonIsAway(at: now) : bundles.daemonIsBack(at: now), at: now)
    case .event(let event): trace(event, at: now)
    case .preview(let question, let generation, let session):
      guard !isStopped, let (bundle, instance) = bundles.preview(of: generation) else { return }
      pass(previews.begin(question, in: session, of: bundle, instance, at: now), at: now)
    case .report(let text): say(.report(text))
    case .note(let text): say(.note(text))
    case .release: release()
    case .reportNow(let text): outputs.append(.report(text))
    case .discard: held?.discard()
    case .kept(let field, let bundle):
      outputs.append(.kept(field, bundle: bundle))
      if field.isLost { pass(bundles.lost(field, of: bundle), at: now) }
    case .loss(let line, let bundle):
      guard !isStopped else { return }
      pass(bundles.noteLoss(line, of: bundle), at: now)
    case .dropped(let events, let generation):
      guard !isStopped else { return }
      pass(bundles.dropped(events, generation: generation), at: now)
    case .edits(let fields, let generation):
      guard !isStopped else { return }
      pass(bundles.edited(fields, generation: generation), at: now)
    case .programKinds(let kinds):
      guard !isStopped else { return }
      pass(bundles.note(programKinds: kinds), at: now)
    case .removalsConfirmed: outputs.append(.removalsConfirmed)
    case .held(let widgets, let kinds, let generation):
      guard !isStopped else { return }
      pass(bundles.held(widgets, of: kinds, generation: generation, at: now), at: now)
    case .refused(let failure):
      guard !isStopped else { return }
      refusal = failure
      end(at: now)
    case .ended: outputs.append(.ended(refusal))
    }
  }

  private mutating func pass(_ new: [HostState.Output], at now: HostTime) {
    for output in new {
      switch output {
      case .open(let generation, let bundle):
        daemon.open(generation, bundle, isInstalled: bundles.isInstalled(bundle.id))
      case .close(let generation): daemon.close(generation)
      case .withdraw(let id, let note): daemon.withdraw(id, note: note)
      case .handOver(let id, let heir): daemon.withdraw(id, heir: heir)
      case .troubles(let troubles): daemon.showTroubles(troubles)
      case .unmark(let errors): daemon.unmark(errors)
      case .refused(let id, let bundle): daemon.refusedVersion(id, bundle)
      case .effect(let effect): pass(effect, at: now)
      case .leave(let id, let patch, let bundle): daemon.leave(id, patch, of: bundle)
      case .standing(let specs):
        daemon.setStanding(hostWidget() + specs)
        let failed = bundles.standings.count { $0.state == .failed }
        outputs.append(.status(running: specs.count - failed, failed: failed))
      case .report(let text): say(.report(text))
      case .note(let text): say(.note(text))
      }
    }
  }

  private mutating func pass(_ new: [Previews.Output], at now: HostTime) {
    for output in new {
      switch output {
      case .effect(let effect): pass(effect, at: now)
      case .answer(let question, let generation, let session, let result):
        daemon.answer(question, result, generation, session)
      }
    }
  }

  private mutating func pass(_ effect: Effect, at now: HostTime) {
    switch effect {
    case .acknowledge(let id, let event): daemon.acknowledge(event, id.generation)
    case .patch(let id, _, _), .presence(let id, _, _), .send(let id, _, _, _, _),
      .fetchWidget(let id, _), .answer(let id, _, _):
      daemon.add(effect, id.generation)
    case .lead(let sent, let names, let generation):
      tellOthers(.led(sent, names: names), than: generation, at: now)
    case .unlead(let name, let names, let generation):
      tellOthers(.unled(name: name, names: names), than: generation, at: now)
    case .trace(let id, let lines, let dropped):
      guard let bundle = daemon.links[id.generation]?.bundle.id, !isStopped else { return }
      daemon.traces.keep(lines, dropped, of: bundle, at: now.uptime)
    case .report(let text): say(.report(text))
    case .note(let text): say(.note(text))
    case .readFile, .readFolder, .watchFile, .run, .web, .connect, .tellSocket, .bus, .cancel:
      outputs.append(.effect(effect))
    }
  }

  private mutating func tellOthers(
    _ input: BundleInput, than generation: UInt64, at now: HostTime
  ) {
    guard !isStopped else { return }
    for other in daemon.links.generations where other != generation {
      pass(bundles.handle(input, generation: other, at: now), at: now)
    }
  }

  // MARK: Traces

  /// Starts the trace that an event asks for.
  ///
  /// A client asks with the event `trace` of a bundle's widget. The host answers with events
  /// `traced` of the same widget, which are lost if nobody listens.
  private mutating func trace(_ event: Event, at now: HostTime) {
    let prefix = HostState.provider(of: "")
    guard event.name == "trace", event.widgetID.rawValue.hasPrefix(prefix), !isStopped else {
      return
    }
    var lease = Duration.seconds(10)
    if case .duration(let given)? = event.payload["lease"] { lease = given }
    let id = String(event.widgetID.rawValue.dropFirst(prefix.count))
    guard HostMachine.mayTrace(event.origin, hostUID: uid) else {
      let line = TraceLine(
        time: now.wall, widgetID: nil, subject: .bundle, name: id,
        text: "is traced only for root and for the user of widgetd-host")
      return daemon.traces.keep([line], 0, of: id, at: now.uptime)
    }
    pass(bundles.trace(id, for: lease, at: now), at: now)
  }

  /// Whether the sender of the event may trace bundles: root, or the user of the host.
  static func mayTrace(_ origin: EventOrigin, hostUID: UInt32) -> Bool {
    origin.uid == 0 || origin.uid == hostUID
  }

  // MARK: Messages

  private mutating func say(_ line: HeldReports.Line) {
    if held?.hold(line) == true { return }
    // The held reports are full.
    release()
    print(line)
  }

  private mutating func print(_ line: HeldReports.Line) {
    switch line {
    case .report(let text): outputs.append(.report(text))
    case .note(let text): outputs.append(.note(text))
    }
  }

  /// Prints the held reports. Later reports are printed at once.
  private mutating func release() {
    guard let held else { return }
    self.held = nil
    for line in held.lines { print(line) }
  }
}
