import Glibc
import NIOPosix
public import WidgetBundle
import WidgetModel

/// Runs bundles: the part with I/O.
///
/// One actor owns the state machine. Whatever happens outside is told to it by a task that waits until
/// it has been dealt with, and nothing in it waits while it deals with something; so the state is never
/// seen in the middle of a change, and nothing piles up. What the state machine wants done runs in tasks
/// of its own, at most one for each request, each of which ends with an answer.
public actor Host {
  public struct Options: Sendable {
    /// Folders that hold bundles' folders. They need not exist yet.
    public var roots: [String]
    public var home: String
    public var isStub: Bool
    public var limits: HostLimits
    /// Rest before changed folders are looked into, and the longest that a change can wait.
    public var settling = Duration.milliseconds(200)
    public var settlingMax = Duration.milliseconds(600)
    public var seed: UInt64

    public init(
      roots: [String], home: String, isStub: Bool = false, limits: HostLimits = HostLimits(),
      seed: UInt64 = .random(in: 0 ... .max)
    ) {
      self.roots = roots
      self.home = home
      self.isStub = isStub
      self.limits = limits
      self.seed = seed
    }
  }

  private let options: Options
  private let daemon: any DaemonConnection
  private let read: @Sendable (String) -> Result<Bundle, BundleRefusal>
  private let report: @Sendable (String) -> Void
  /// Told whenever it has changed: how many bundles run, and how many cannot.
  private let status: @Sendable (_ running: Int, _ failed: Int) -> Void

  private let watcher: FileWatcher
  private let processes: ProcessRunner
  private let web = WebFetcher()
  private let clock = ContinuousClock()
  private let start: ContinuousClock.Instant

  private var state: HostState
  /// What is under way, by request.
  private var tasks: [RequestID: Task<Void, Never>] = [:]
  /// By generation.
  private var links: [UInt64: Link] = [:]
  /// What removes what is left of a bundle, by its id.
  private var withdrawals: [String: Task<Void, Never>] = [:]
  private var alarm: (deadline: Duration, task: Task<Void, Never>)?
  private var standing: [WidgetSpec] = []
  private var isStandingDirty = false
  private var standingTask: Task<Void, Never>?
  private var isDaemonKnown = false
  private var isStopped = false

  /// A bundle's conversation with the daemon.
  private struct Link {
    let bundle: Bundle
    var following: Task<Void, Never>?
    /// Calls that are to be made one after the other.
    var calls: [Effect] = []
    var calling: Task<Void, Never>?
  }

  /// - Parameters:
  ///   - read: makes a bundle of a file's text.
  ///   - report: says what is worth knowing, a line or several at a time.
  /// - Throws: what keeps it from watching files.
  public init(
    _ options: Options, daemon: any DaemonConnection,
    read: @escaping @Sendable (String) -> Result<Bundle, BundleRefusal>,
    report: @escaping @Sendable (String) -> Void,
    status: @escaping @Sendable (_ running: Int, _ failed: Int) -> Void = { _, _ in }
  ) throws(Failure) {
    self.options = options
    self.daemon = daemon
    self.read = read
    self.report = report
    self.status = status
    watcher = try FileWatcher()
    processes = ProcessRunner(home: options.home)
    state = HostState(
      limits: options.limits, isStub: options.isStub, home: options.home, seed: options.seed)
    start = clock.now
  }

  /// Has orphans of bundles' programs become this process's, which then ends them.
  public static func becomeSubreaper() { ProcessRunner.becomeSubreaper() }

  /// Takes away what programs left behind; for whoever is told that a child has ended.
  public nonisolated func reapOrphans() { processes.sweep() }

  // MARK: Its life

  /// Runs until the task is cancelled, then ends everything.
  ///
  /// - Parameter ready: called when all folders have been looked into once.
  public func run(ready: @escaping @Sendable () -> Void) async {
    for root in options.roots { watch(.root(root), root) }
    await look(into: Set(options.roots.map { FileWatcher.Key.root($0) }))
    ready()
    updateStanding()
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.followFiles() }
      group.addTask { await self.followDaemon() }
      group.addTask {
        // Nothing wakes it but the end.
        let (never, continuation) = AsyncStream<Void>.makeStream()
        defer { continuation.finish() }
        for await _ in never {}
        self.watcher.close()
      }
      await group.waitForAll()
    }
    await stop()
  }

  /// Ends everything. The host is of no more use.
  func stop() async {
    isStopped = true
    alarm?.task.cancel()
    let (cancelled, retirements, specs) = state.stop()
    for effect in cancelled { perform(effect) }
    for task in tasks.values { task.cancel() }
    for link in links.values {
      link.following?.cancel()
      link.calling?.cancel()
    }
    for task in withdrawals.values { task.cancel() }
    standingTask?.cancel()
    // Best effort: who stopped the daemon first has stopped all its widgets too.
    let daemon = daemon
    let goodbye = Task {
      for (id, patch) in retirements {
        do throws(Failure) {
          _ = try await daemon.update(id, patch)
        } catch {
          if error.isTransient || error.code == "CANCELLED" { return }
        }
      }
      try? await daemon.declare(widgets: specs, set: HostState.provider)
    }
    let limit = Task {
      try? await Task.sleep(for: .seconds(3))
      goodbye.cancel()
    }
    await goodbye.value
    limit.cancel()
    for task in tasks.values { await task.value }
    await web.shutdown()
  }

  private var now: HostTime {
    HostTime(wall: Host.wall(), uptime: clock.now - start)
  }

  // MARK: What came out of the state machine

  private func handle(_ outputs: [HostState.Output]) {
    for output in outputs {
      switch output {
      case .open(let generation, let bundle): open(generation, bundle)
      case .close(let generation): close(generation)
      case .withdraw(let id): withdraw(id)
      case .mark(let id, let problem): mark(id, problem)
      case .effect(let effect): perform(effect)
      case .standing(let specs):
        standing = specs
        isStandingDirty = true
        updateStanding()
        let failed = state.standings.count { $0.state == .failed }
        status(specs.count - failed, failed)
      case .report(let text): report(text)
      }
    }
    setAlarm()
  }

  private func tell(_ input: BundleInput, _ generation: UInt64) {
    guard !isStopped else { return }
    handle(state.handle(input, generation: generation, at: now))
  }

  private func perform(_ effect: Effect) {
    switch effect {
    case .readFile(let id, let file):
      begin(id) {
        do throws(Failure) {
          return .bytes(
            id,
            try await Host.blocking { () throws(Failure) in
              try FileReading.read(file)
            })
        } catch {
          return .failed(id, error)
        }
      }
    case .watchFile(let id, let path):
      do throws(Failure) {
        try watcher.watch(.request(id), path: path)
      } catch {
        begin(id) { .failed(id, error) }
      }
    case .run(let id, let request):
      begin(id) { [processes] in
        do throws(Failure) {
          return .bytes(
            id, try await processes.run(request) { await self.tell(.line(id, $0), id.generation) })
        } catch {
          return .failed(id, error)
        }
      }
    case .web(let id, let request):
      begin(id) { [web] in
        do throws(Failure) {
          return .web(id, try await web.fetch(request))
        } catch {
          return .failed(id, error)
        }
      }
    case .patch(let id, _, _), .presence(let id, _, _), .send(let id, _, _, _, _),
      .fetchWidget(let id, _):
      guard links[id.generation] != nil else { return }
      links[id.generation]?.calls.append(effect)
      makeCalls(id.generation)
    case .cancel(let id):
      watcher.unwatch(.request(id))
      tasks[id]?.cancel()
    case .report(let text): report(text)
    }
  }

  private func begin(_ id: RequestID, _ body: @escaping @Sendable () async -> BundleInput) {
    tasks[id] = Task {
      let input = await body()
      self.ended(id, input)
    }
  }

  private func ended(_ id: RequestID, _ input: BundleInput) {
    tasks[id] = nil
    tell(input, id.generation)
  }

  /// Waits until nothing is under way any more of what was begun before, for tests.
  func settle() async {
    for task in Array(tasks.values) { await task.value }
    for task in Array(withdrawals.values) { await task.value }
  }

  /// How much is under way, for tests.
  var load: (tasks: Int, links: Int, watches: Int, programs: Int) {
    (tasks.count, links.count, watcher.watchCount, processes.count)
  }

  // MARK: Time

  private func setAlarm() {
    guard !isStopped, let deadline = state.nextDeadline else {
      alarm?.task.cancel()
      alarm = nil
      return
    }
    if let alarm, alarm.deadline == deadline { return }
    alarm?.task.cancel()
    let instant = start + deadline
    alarm = (
      deadline,
      Task {
        do { try await clock.sleep(until: instant) } catch { return }
        self.alarmRings(deadline)
      }
    )
  }

  private func alarmRings(_ deadline: Duration) {
    guard !isStopped, alarm?.deadline == deadline else { return }
    alarm = nil
    handle(state.tick(at: now))
  }

  // MARK: Files

  private func followFiles() async {
    var unsettled: Set<FileWatcher.Key> = []
    while !Task.isCancelled {
      var changed = await watcher.next()
      if Task.isCancelled { return }
      deliver(&changed)
      unsettled.formUnion(changed)
      guard !unsettled.isEmpty else { continue }
      // Editors write in several steps: wait for a rest, but not for ever.
      let latest = clock.now + options.settlingMax
      while clock.now < latest, !Task.isCancelled {
        let rest = min(clock.now + options.settling, latest)
        guard let more = await changes(until: rest) else { break }
        var others = more
        deliver(&others)
        unsettled.formUnion(others)
        if others.isEmpty, clock.now >= rest { break }
      }
      let folders = unsettled
      unsettled = []
      await look(into: folders)
    }
  }

  /// The next changes; nil if there are none until then.
  private func changes(until instant: ContinuousClock.Instant) async -> Set<FileWatcher.Key>? {
    let watcher = watcher
    let clock = clock
    let alarm = Task {
      do { try await clock.sleep(until: instant) } catch { return }
      watcher.wake()
    }
    let changed = await watcher.next()
    alarm.cancel()
    return changed.isEmpty ? nil : changed
  }

  /// Tells of the files that bundles watch, and leaves the folders.
  private func deliver(_ changed: inout Set<FileWatcher.Key>) {
    for key in changed {
      guard case .request(let id) = key else { continue }
      changed.remove(key)
      tell(.fileChanged(id), id.generation)
    }
  }

  private func watch(_ key: FileWatcher.Key, _ path: String) {
    do throws(Failure) {
      try watcher.watch(key, path: path)
    } catch {
      report(error.message)
    }
  }

  /// Looks into folders, and tells the state machine what is there.
  private func look(into keys: Set<FileWatcher.Key>) async {
    let roots = options.roots
    let isRoot = keys.contains { if case .root = $0 { true } else { false } }
    let named = Set(keys.compactMap { if case .folder(let path) = $0 { path } else { nil } })
    let known = state.knownFolders
    let read = read
    let before = watchedFolders
    let (all, found) = await Host.blocking { () -> ([String], [(String, HostState.Found?)]) in
      var all: [String] = []
      var folders = named
      if isRoot {
        for root in roots {
          for path in BundleFolders.subfolders(of: root) where !all.contains(path) {
            all.append(path)
          }
        }
        folders.formUnion(all.filter { !before.contains($0) })
        folders.formUnion(known.filter { !all.contains($0) })
      }
      // In the order of the roots, then by name: it decides who is first.
      let sorted = all.filter { folders.contains($0) } + folders.subtracting(all).sorted()
      return (all, sorted.map { ($0, BundleFolders.look(into: $0, read)) })
    }
    guard !isStopped else { return }
    if isRoot {
      for path in before.subtracting(all) {
        watcher.unwatch(.folder(path))
        watchedFolders.remove(path)
      }
      for path in all where !before.contains(path) {
        watchedFolders.insert(path)
        watch(.folder(path), path)
        // What was written between the look and now is told of by nobody.
        watcher.touch(.folder(path))
      }
    }
    for (path, result) in found { tell(!isRoot || all.contains(path) ? result : nil, in: path) }
  }

  /// Takes what was found in a folder; nil for nothing.
  func tell(_ found: HostState.Found?, in path: String) {
    if let found {
      handle(state.found(found, in: path, at: now))
    } else {
      handle(state.lost(path, at: now))
    }
  }

  private var watchedFolders: Set<String> = []

  /// Runs what blocks on a thread that may.
  private static func blocking<R: Sendable, E: Error>(
    _ body: @escaping @Sendable () throws(E) -> R
  ) async throws(E) -> R {
    let result: Result<R, E>
    do {
      result = try await NIOThreadPool.singleton.runIfActive {
        do throws(E) {
          return .success(try body())
        } catch {
          return .failure(error)
        }
      }
    } catch {
      // The process's own pool ends with the process; a cancelled task does it here and now.
      return try body()
    }
    return try result.get()
  }

  // MARK: The daemon

  private func open(_ generation: UInt64, _ bundle: Bundle) {
    withdrawals.removeValue(forKey: bundle.id)?.cancel()
    links[generation] = Link(bundle: bundle)
    links[generation]?.following = Task { await self.follow(generation, bundle) }
  }

  private func close(_ generation: UInt64) {
    guard let link = links.removeValue(forKey: generation) else { return }
    link.following?.cancel()
    link.calling?.cancel()
  }

  /// Declares a bundle and follows its widgets, until it is closed.
  private func follow(_ generation: UInt64, _ bundle: Bundle) async {
    // Without kinds of its own there is nothing to follow but the daemon itself.
    var kinds = bundle.kinds.map(\.kind.name)
    if kinds.isEmpty { kinds = KindName("bundle").map { [$0] } ?? [] }
    // The widget that tells of a bundle is there before anything of the bundle is: by it the next host
    // knows what to remove if the folder goes while none runs.
    await standingTask?.value
    var last: Failure?
    while !Task.isCancelled {
      guard await declare(generation, bundle) else {
        // Another may have what the daemon refuses this one, and let go of it some time.
        try? await clock.sleep(for: .seconds(30))
        continue
      }
      do throws(Failure) {
        try await daemon.follow(kinds: kinds) { await self.heard($0, generation, bundle) }
      } catch {
        if Task.isCancelled { return }
        if error != last { report("bundle \(bundle.id): \(error.message)") }
        last = error
        try? await clock.sleep(for: .seconds(1))
      }
    }
  }

  private func heard(_ news: DaemonNews, _ generation: UInt64, _ bundle: Bundle) async {
    guard links[generation] != nil else { return }
    switch news {
    case .returned: _ = await declare(generation, bundle)
    case .lost: break
    case .snapshot(let widgets): tell(.snapshot(widgets), generation)
    case .widget(let widget): tell(.widget(widget), generation)
    case .removed(let id): tell(.removed(id), generation)
    case .event(let event): tell(.event(event), generation)
    case .missedEvents: report("bundle \(bundle.id): more events came than could be told of")
    }
  }

  /// Declares a bundle's kinds and widgets, as often as it takes.
  ///
  /// - Returns: whether the daemon has taken them.
  private func declare(_ generation: UInt64, _ bundle: Bundle) async -> Bool {
    let name = HostState.provider(of: bundle.id)
    var attempts = 0
    while !Task.isCancelled, links[generation] != nil {
      do throws(Failure) {
        try await daemon.declare(kinds: bundle.kinds.map(\.kind), provider: name)
        let known = try await daemon.widgets(kinds: Array(Set(bundle.widgets.map(\.kind))))
        try await daemon.declare(
          widgets: HostState.specs(of: bundle, beside: known),
          set: name)
        guard links[generation] != nil else { return false }
        handle(state.declared(generation: generation, refusal: nil, at: now))
        return true
      } catch {
        guard links[generation] != nil, error.code != "CANCELLED" else { return false }
        guard error.isTransient else {
          handle(state.declared(generation: generation, refusal: error.message, at: now))
          return false
        }
        attempts += 1
        try? await clock.sleep(for: Host.wait(attempts))
      }
    }
    return false
  }

  private static func wait(_ attempts: Int) -> Duration {
    min(.milliseconds(100) * (1 << min(attempts, 7)), .seconds(5))
  }

  /// Makes the calls of a bundle, one after the other.
  private func makeCalls(_ generation: UInt64) {
    guard links[generation]?.calling == nil, links[generation]?.calls.isEmpty == false else {
      return
    }
    links[generation]?.calling = Task {
      while let call = self.nextCall(generation) {
        let input = await self.answer(to: call)
        if Task.isCancelled { return }
        if let input { self.tell(input, generation) }
      }
    }
  }

  private func nextCall(_ generation: UInt64) -> Effect? {
    guard let link = links[generation], !link.calls.isEmpty, !Task.isCancelled else {
      links[generation]?.calling = nil
      return nil
    }
    return links[generation]?.calls.removeFirst()
  }

  private nonisolated func answer(to call: Effect) async -> BundleInput? {
    switch call {
    case .patch(let request, let id, let patch):
      do throws(Failure) {
        return .sent(request, try await daemon.update(id, patch))
      } catch {
        return .failed(request, error)
      }
    case .presence(let request, let action, let ids):
      do throws(Failure) {
        try await daemon.setPresence(ids, action)
        return .sent(request, 0)
      } catch {
        return .failed(request, error)
      }
    case .send(let request, let id, let name, let payload, let force):
      do throws(Failure) {
        try await daemon.send(id, name: name, payload: payload, force: force)
        return .sent(request, 0)
      } catch {
        return .failed(request, error)
      }
    case .fetchWidget(let request, let id):
      do throws(Failure) {
        return .fetched(request, try await daemon.widget(id))
      } catch {
        return .failed(request, error)
      }
    case .readFile, .watchFile, .run, .web, .cancel, .report: return nil
    }
  }

  /// Removes what is left of a bundle, as often as it takes.
  private func withdraw(_ id: String) {
    withdrawals[id]?.cancel()
    withdrawals[id] = Task {
      let name = HostState.provider(of: id)
      let isDone = await self.persist { () async throws(Failure) in
        try await self.daemon.declare(widgets: [], set: name)
        try await self.daemon.declare(kinds: [], provider: name)
      }
      if isDone { self.withdrawals[id] = nil }
    }
  }

  /// Shows a problem on what an earlier host declared for a bundle.
  private func mark(_ id: String, _ problem: String) {
    let set = HostState.provider(of: id)
    let error = WidgetError(reason: BundleInstance.invalid, message: problem)
    Task {
      _ = await self.persist { () async throws(Failure) in
        for widget in try await self.daemon.widgets(kinds: [])
        where widget.applySet == set && widget.error != error {
          _ = try await self.daemon.update(
            widget.id, WidgetPatch(isStale: true, error: .some(error)))
        }
      }
    }
  }

  /// Shows how all bundles stand.
  private func updateStanding() {
    guard isStandingDirty, standingTask == nil, !isStopped else { return }
    standingTask = Task {
      while let specs = self.nextStanding() {
        _ = await self.persist { () async throws(Failure) in
          try await self.daemon.declare(
            kinds: HostState.kind.map { [$0] } ?? [], provider: HostState.provider)
          // What an earlier host left is taken care of before its widget, which tells of it, is gone.
          try await self.remember()
          try await self.daemon.declare(widgets: specs, set: HostState.provider)
        }
      }
    }
  }

  private func nextStanding() -> [WidgetSpec]? {
    guard isStandingDirty, !isStopped else {
      standingTask = nil
      return nil
    }
    isStandingDirty = false
    return standing
  }

  private func remember() async throws(Failure) {
    guard !isDaemonKnown, let kind = KindName("bundle") else { return }
    let widgets = try await daemon.widgets(kinds: [kind])
    isDaemonKnown = true
    let known = widgets.compactMap { widget -> (id: String, path: String)? in
      guard widget.applySet == HostState.provider, case .string(let id)? = widget.data["id"],
        case .string(let path)? = widget.data["path"]
      else { return nil }
      return (id, path)
    }
    handle(state.remembered(known))
    for id in Array(withdrawals.keys) { await withdrawals[id]?.value }
  }

  /// Follows the daemon itself: when it comes back it may have forgotten everything.
  private func followDaemon() async {
    guard let kind = KindName("bundle") else { return }
    var last: Failure?
    while !Task.isCancelled {
      do throws(Failure) {
        try await daemon.follow(kinds: [kind]) { await self.heard($0) }
      } catch {
        if Task.isCancelled { return }
        if error != last { report(error.message) }
        last = error
        try? await clock.sleep(for: .seconds(1))
      }
    }
  }

  private func heard(_ news: DaemonNews) {
    switch news {
    case .returned:
      report("the daemon is back")
      isStandingDirty = true
      updateStanding()
    case .lost(let words): report("lost the daemon, and try to reach it again: \(words)")
    default: break
    }
  }

  /// Does something as often as it takes, unless it can never be done.
  private func persist(_ body: () async throws(Failure) -> Void) async -> Bool {
    var attempts = 0
    while !Task.isCancelled {
      do throws(Failure) {
        try await body()
        return true
      } catch {
        guard error.isTransient else {
          if error.code != "CANCELLED" { report(error.message) }
          return error.code != "CANCELLED"
        }
        attempts += 1
        try? await clock.sleep(for: Host.wait(attempts))
      }
    }
    return false
  }
}

extension Host {
  fileprivate static func wall() -> Timestamp {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Timestamp(seconds: Int64(time.tv_sec), nanoseconds: Int32(time.tv_nsec)) ?? .epoch
  }
}
