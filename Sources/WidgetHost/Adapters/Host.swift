import Glibc
public import WidgetBundle
public import WidgetClient
import WidgetModel
import WidgetTimers

/// Runs bundles: the part with I/O.
///
/// One actor owns the state machine (`HostMachine`). A task reports each outside event to the actor,
/// and waits until the actor has handled the event. The actor never waits while it handles an event.
/// So nobody sees the state in the middle of a change, and no queue grows. Effects run in separate
/// tasks, at most one for each request or call, and each task ends with an answer. The state machine
/// decides about every wait for the daemon; the actor has one timer for all of them.
public actor Host {
  /// Carries out a call about bundles. May block.
  public typealias BundleManager =
    @Sendable (ProvideBundleRequest.Request) -> ProvideBundleAnswer.Outcome

  /// Installs nothing.
  public static let noManager: BundleManager = { _ in
    .error(
      RPCStatus(code: .unimplemented, message: "This host installs no bundles. Use widgetd-host."))
  }

  public struct Options: Sendable {
    /// Folders that hold bundles' folders. They need not exist yet.
    public var roots: [String]
    /// Whether nobody has named the roots, so that it is no problem if they are missing.
    public var areRootsUsual: Bool
    public var home: String
    /// The folders in which programs are found by name. Also the `PATH` of programs.
    public var programFolders: [String]
    /// This process's environment. Bundles get the variables that their permissions name.
    public var variables: [String: String]
    public var isStub: Bool
    public var limits: HostLimits
    /// The pause before the host looks into changed folders, and the maximum time that a change
    /// waits.
    public var settling = Duration.milliseconds(200)
    public var settlingMax = Duration.milliseconds(600)
    public var seed: UInt64

    public init(
      roots: [String], areRootsUsual: Bool = false, home: String,
      programFolders: [String] = BundlePermissions.systemFolders,
      variables: [String: String] = [:], isStub: Bool = false, limits: HostLimits = HostLimits(),
      seed: UInt64 = .random(in: 0 ... .max)
    ) {
      self.roots = roots
      self.areRootsUsual = areRootsUsual
      self.home = home
      self.programFolders = programFolders
      self.variables = variables
      self.isStub = isStub
      self.limits = limits
      self.seed = seed
    }
  }

  let options: Options
  /// The order of folders with the same bundle.
  let order: BundleFolderOrder
  let daemon: any DaemonConnection
  let read: BundleFolders.Reader
  let manager: BundleManager
  private let sayReport: @Sendable (String) -> Void
  private let sayNote: @Sendable (String) -> Void
  /// Called after each change of the numbers of running and of broken bundles.
  let status: @Sendable (_ running: Int, _ failed: Int) -> Void

  let watcher: FileWatcher
  let processes: ProcessRunner
  let web = WebFetcher()
  let clock = ContinuousClock()
  let start: ContinuousClock.Instant
  /// The marks of removals that were there at this time.
  let marksAtStart: Set<RemovalMark>

  var machine: HostMachine
  /// The running tasks of requests.
  var tasks: [RequestID: Task<Void, Never>] = [:]
  /// The sessions that are not being closed.
  var sessions: [SessionID: OpenSession] = [:]
  var watches: [WatchID: Task<Void, Never>] = [:]
  /// The calls to the daemon that are under way.
  var calls: [CallID: Task<Void, Never>] = [:]
  /// The task that carries out calls about bundles.
  var managing: Task<Void, Never>?
  private var alarm: (deadline: Duration, task: Task<Void, Never>)?
  /// Nil while no bundle needs to hear when the clock is set.
  private var clockWatch: ClockWatch?
  /// The folders in which bundles can be, that are watched.
  var watchedFolders: Set<String> = []
  /// The folders of bundles, and the folders in them, that the kernel does not watch now.
  var unwatched = UnwatchedFolders()
  /// The folder of bundles that has, or had, each of these folders.
  var rootOfFolder: [String: String] = [:]
  private(set) var hasEnded = false
  /// The reason why the daemon does not accept this host.
  private var refusal: Failure?
  /// The callers that wait for the end.
  private var waiting: [CheckedContinuation<Void, Never>] = []

  /// - Parameters:
  ///   - read: reads a bundle from a file's text and the user's settings, if there are any; the flag
  ///     says whether the text must be JSON.
  ///   - report: prints errors and warnings, one or several lines at a time.
  ///   - note: prints the host's progress.
  ///   - manager: installs, lists, deletes and rolls back bundles for callers of the daemon.
  /// - Throws: the reason why the host cannot watch files.
  public init(
    _ options: Options, daemon: any DaemonConnection,
    read: @escaping @Sendable (String, Bool, SettingsFile?) -> Result<Bundle, BundleRefusal>,
    report: @escaping @Sendable (String) -> Void,
    note: @escaping @Sendable (String) -> Void = { _ in },
    status: @escaping @Sendable (_ running: Int, _ failed: Int) -> Void = { _, _ in },
    manager: @escaping BundleManager = Host.noManager
  ) throws(Failure) {
    self.manager = manager
    self.options = options
    self.daemon = daemon
    self.read = read
    sayReport = report
    sayNote = note
    self.status = status
    watcher = try FileWatcher()
    processes = ProcessRunner(
      home: options.home, programFolders: options.programFolders, variables: options.variables)
    marksAtStart = Set(options.roots.flatMap { BundleFolders.removalMarks(in: $0) })
    let resolved = options.roots.map { FileReading.resolved($0) ?? $0 }
    order = BundleFolderOrder(roots: resolved)
    machine = HostMachine(
      limits: options.limits, roots: options.roots, resolved: resolved, isStub: options.isStub,
      home: options.home, programFolders: options.programFolders, uid: geteuid(),
      seed: options.seed, userName: { BundleFolders.name(ofUser: $0) })
    start = clock.now
  }

  /// Makes this process the parent of orphans of bundles' programs, so that it can end them.
  public static func becomeSubreaper() { ProcessRunner.becomeSubreaper() }

  /// Reaps the processes that programs left behind. Call it after a child has ended.
  public nonisolated func reapOrphans() { processes.sweep() }

  // MARK: Its life

  /// Runs until the task is cancelled, then ends everything.
  ///
  /// - Parameter ready: called when all folders have been looked into once.
  /// - Throws: why the daemon does not have this host: another serves it, or nothing may be provided.
  public func run(ready: @escaping @Sendable () -> Void) async throws(Failure) {
    for root in options.roots {
      if let complaint = BundleFolders.complaint(about: root) { report(complaint) }
      watcher.watch(.root(root), path: root)
    }
    await look(into: Set(options.roots.map { FileWatcher.Key.root($0) }))
    ready()
    begin()
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.followFiles() }
      group.addTask {
        // This loop waits until the task is cancelled.
        let (never, continuation) = AsyncStream<Void>.makeStream()
        defer { continuation.finish() }
        for await _ in never {}
        self.watcher.close()
        await self.stop()
      }
      // Ends after `stop`, or when the daemon does not have this host.
      group.addTask { await self.waitForEnd() }
      for await _ in group where hasEnded { group.cancelAll() }
    }
    await release()
    if let refusal { throw refusal }
  }

  /// Begins the conversation with the daemon.
  func begin() { handle(machine.start(at: now)) }

  /// Ends everything. The host cannot be used afterwards.
  func stop() async {
    handle(machine.stop(at: now))
    await waitForEnd()
    await release()
  }

  /// Waits for the last tasks, then closes connections to servers.
  private func release() async {
    for task in tasks.values { await task.value }
    await web.shutdown()
  }

  private func waitForEnd() async {
    guard !hasEnded else { return }
    await withCheckedContinuation { waiting.append($0) }
  }

  private func end(_ failure: Failure?) {
    hasEnded = true
    refusal = failure
    for task in calls.values { task.cancel() }
    for task in watches.values { task.cancel() }
    for session in sessions.values { session.following.cancel() }
    for waiter in waiting { waiter.resume() }
    waiting = []
  }

  var now: HostTime {
    HostTime(wall: .wallClock(), uptime: clock.now - start, machine: .sinceMachineStart())
  }

  // MARK: Messages

  /// Prints an error or a warning.
  func report(_ text: String) { handle(machine.report(text)) }

  // MARK: Outputs of the state machine

  func handle(_ outputs: [HostMachine.Output]) {
    for output in outputs {
      switch output {
      case .effect(let effect): perform(effect)
      case .daemon(let effect): perform(effect)
      case .report(let text): sayReport(text)
      case .note(let text): sayNote(text)
      case .kept(let field, let bundle):
        sayReport(field.message(by: bundle, names: BundleFolders.name(ofUser:)))
      case .removalsConfirmed: Task { await self.dropMarks() }
      case .status(let running, let failed): status(running, failed)
      case .ended(let failure): end(failure)
      }
    }
    if machine.isStopped { for task in tasks.values { task.cancel() } }
    setAlarm()
    followClock()
  }

  func tell(_ input: BundleInput, _ generation: UInt64) {
    guard !hasEnded else { return }
    handle(machine.handle(input, generation: generation, at: now))
  }

  func perform(_ effect: Effect) {
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
    case .readFolder(let id, let folder):
      begin(id) {
        do throws(Failure) {
          return .value(
            id,
            try await Host.blocking { () throws(Failure) in
              try FolderReading.read(folder)
            })
        } catch {
          return .failed(id, error)
        }
      }
    case .watchFile(let id, let path, let isFolder):
      watcher.watch(.request(id), path: path, isFolder: isFolder)
    case .run(let id, let request):
      begin(id) { [processes] in
        do throws(Failure) {
          return .bytes(
            id, try await processes.run(request) { await self.tell(.line(id, $0), id.generation) })
        } catch {
          return .failed(id, error)
        }
      }
    case .connect(let id, let request):
      begin(id) {
        .failed(
          id, await SocketReading.run(request) { await self.tell(.line(id, $0), id.generation) })
      }
    case .tellSocket(let id, let request):
      begin(id) {
        switch await SocketReading.run(request) {
        case .success(let value): return .value(id, value)
        case .failure(let failure): return .failed(id, failure)
        }
      }
    case .bus(let id, let request):
      let address = BusConnection.address(of: request.bus, options.variables)
      begin(id) {
        let outcome = await BusReading.run(request, address: address) { told in
          switch told {
          case .value(let value): await self.tell(.value(id, value), id.generation)
          case .absent(let failure): await self.tell(.absent(id, failure), id.generation)
          case .present: await self.tell(.present(id), id.generation)
          }
        }
        switch outcome {
        case .value(let value): return .value(id, value)
        case .failed(let failure): return .failed(id, failure)
        }
      }
    case .web(let id, let request):
      begin(id) { [web, daemon] in
        do throws(Failure) {
          let request = try await request.readingBlobs(from: daemon)
          return .web(
            id,
            try await web.fetch(request) { await self.tell(.progress(id, $0), id.generation) })
        } catch {
          return .failed(id, error)
        }
      }
    case .cancel(let id):
      watcher.unwatch(.request(id))
      tasks[id]?.cancel()
    case .acknowledge, .patch, .presence, .send, .lead, .unlead, .fetchWidget, .answer, .trace,
      .report,
      .note:
      // The state machine has handled these effects.
      break
    }
  }

  func begin(_ id: RequestID, _ body: @escaping @Sendable () async -> BundleInput) {
    tasks[id] = Task {
      let input = await body()
      self.ended(id, input)
    }
  }

  func ended(_ id: RequestID, _ input: BundleInput) {
    tasks[id] = nil
    tell(input, id.generation)
  }

  /// Waits until all tasks that run now have ended, for tests.
  func settle() async {
    for task in Array(tasks.values) { await task.value }
    while let call = calls.first?.value { await call.value }
  }

  /// The work under way, for tests.
  var load: (tasks: Int, links: Int, watches: Int, programs: Int) {
    (tasks.count, machine.daemon.links.count, watcher.watchCount, processes.count)
  }

  // MARK: Time

  private func setAlarm() {
    guard !hasEnded, let deadline = machine.nextDeadline else {
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
        await self.alarmRings(deadline)
      }
    )
  }

  private func alarmRings(_ deadline: Duration) async {
    guard !hasEnded, alarm?.deadline == deadline else { return }
    alarm = nil
    // After a suspension of the machine, the alarm can come before the news that a folder is back.
    let due = machine.bundles.absentFolders(dueAt: now)
    if !due.isEmpty {
      let folders = due.map { FileWatcher.Key.folder($0) }
      await look(into: Set(folders + options.roots.map { FileWatcher.Key.root($0) }))
    }
    guard !hasEnded else { return }
    handle(machine.tick(at: now))
  }

  private func followClock() {
    let follows = !hasEnded && machine.followsClock
    guard follows != (clockWatch != nil) else { return }
    clockWatch = nil
    guard follows else { return }
    clockWatch = ClockWatch { [weak self] in
      Task { [weak self] in await self?.clockWasSet() }
    }
  }

  private func clockWasSet() {
    guard !hasEnded else { return }
    handle(machine.clockWasSet(at: now))
  }
}
