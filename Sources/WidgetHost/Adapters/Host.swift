import Glibc
public import WidgetBundle
public import WidgetClient
import WidgetModel

/// Runs bundles: the part with I/O.
///
/// One actor owns the state machine. A task reports each outside event to the actor, and waits
/// until the actor has handled the event. The actor never waits while it handles an event. So
/// nobody sees the state in the middle of a change, and no queue grows. Effects run in separate
/// tasks, at most one for each request, and each task ends with an answer.
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
    public var home: String
    /// The folders in which programs are found by name. Also the `PATH` of programs.
    public var programFolders: [String]
    /// This process's environment. Bundles get the variables that their permissions name.
    public var variables: [String: String]
    public var isStub: Bool
    public var limits: HostLimits
    /// Rest before changed folders are looked into, and the longest that a change can wait.
    public var settling = Duration.milliseconds(200)
    public var settlingMax = Duration.milliseconds(600)
    public var seed: UInt64

    public init(
      roots: [String], home: String,
      programFolders: [String] = BundlePermissions.systemFolders,
      variables: [String: String] = [:], isStub: Bool = false, limits: HostLimits = HostLimits(),
      seed: UInt64 = .random(in: 0 ... .max)
    ) {
      self.roots = roots
      self.home = home
      self.programFolders = programFolders
      self.variables = variables
      self.isStub = isStub
      self.limits = limits
      self.seed = seed
    }
  }

  let options: Options
  let daemon: any DaemonConnection
  let read: BundleFolders.Reader
  let manager: BundleManager
  private let sayReport: @Sendable (String) -> Void
  private let sayNote: @Sendable (String) -> Void
  /// The held reports; nil as soon as it is known that no other host serves the daemon.
  private var held: HeldReports?
  /// Told whenever it has changed: how many bundles run, and how many cannot.
  let status: @Sendable (_ running: Int, _ failed: Int) -> Void

  let watcher: FileWatcher
  let processes: ProcessRunner
  let web = WebFetcher()
  let clock = ContinuousClock()
  let start: ContinuousClock.Instant

  var state: HostState
  /// The running tasks, by request.
  var tasks: [RequestID: Task<Void, Never>] = [:]
  /// The host's own session.
  var session: (any DaemonSession)?
  /// The bundles' conversations, by generation.
  var links: [UInt64: Link] = [:]
  /// The fields that were reported as kept by their owners, by bundle.
  var toldKept: [String: Set<HostState.KeptField>] = [:]
  /// The sessions of bundles' earlier versions, by bundle, until those of the next are open: so nobody
  /// sees their widgets without a provider in between.
  var retiring: [String: [any DaemonSession]] = [:]
  /// Whether the host's own session is open, so no other host shows the state of bundles.
  var isHolding = false
  /// Whether the host has also taken over or removed the widgets of an earlier host.
  var isServing = false
  /// The tasks that remove the kinds and widgets of removed bundles, by bundle.
  var withdrawals: [String: Task<Void, Never>] = [:]
  var alarm: (deadline: Duration, task: Task<Void, Never>)?
  var standing: [WidgetSpec] = []
  /// How the bundles stand that are in folders of another host.
  var elsewhere: [WidgetSpec] = []
  var isStandingDirty = false
  var standingTask: Task<Void, Never>?
  /// The tasks that retry refused versions whose former versions still run, by bundle.
  var retries: [String: Task<Void, Never>] = [:]
  var retryNumbers: [String: UInt64] = [:]
  var lastRetry: UInt64 = 0
  /// The task that carries out calls about bundles.
  var managing: Task<Void, Never>?
  /// Lines of traces that are not sent yet, by bundle, and the task that sends them.
  var traces: [String: (lines: [TraceLine], dropped: Int)] = [:]
  var tracing: Task<Void, Never>?
  /// How many lines of traces the daemon has refused, by bundle.
  var tracesRefused: [String: Int] = [:]
  /// Kinds and widgets of the host that somebody removed.
  var restoration = Restoration()
  /// The task that declares them again.
  var restoring: Task<Void, Never>?
  var isDaemonKnown = false
  /// The folders in which bundles can be, that are watched.
  var watchedFolders: Set<String> = []
  var isStopped = false

  /// A bundle's conversation with the daemon.
  struct Link {
    let bundle: Bundle
    var session: (any DaemonSession)?
    /// Hears what the daemon wants.
    var following: Task<Void, Never>?
    /// Declares the widgets, and hears how they are.
    var watching: Task<Void, Never>?
    /// Declared kinds and widgets that somebody removed.
    var restoration = Restoration()
    /// The task that declares them again.
    var restoring: Task<Void, Never>?
    /// The wait after a refusal. To end the wait, cancel the task.
    var pause: Task<Void, Never>?
    /// Calls that are to be made one after the other.
    var calls: [Effect] = []
    var calling: Task<Void, Never>?
  }

  /// - Parameters:
  ///   - read: reads a bundle from a file's text and the user's settings, if there are any.
  ///   - report: prints errors and warnings, one or several lines at a time.
  ///   - note: prints what the host does.
  ///   - manager: installs, lists, deletes and rolls back bundles for callers of the daemon.
  /// - Throws: why the host cannot watch files.
  public init(
    _ options: Options, daemon: any DaemonConnection,
    read: @escaping @Sendable (String, String?) -> Result<Bundle, BundleRefusal>,
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
    held = HeldReports(countMax: options.limits.heldReportsMax)
    self.status = status
    watcher = try FileWatcher()
    processes = ProcessRunner(
      home: options.home, programFolders: options.programFolders, variables: options.variables)
    state = HostState(
      limits: options.limits, isStub: options.isStub, home: options.home,
      programFolders: options.programFolders, seed: options.seed)
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
  /// - Throws: why the daemon does not have this host: another serves it, or nothing may be provided.
  public func run(ready: @escaping @Sendable () -> Void) async throws(Failure) {
    for root in options.roots {
      if let complaint = BundleFolders.complaint(about: root) { report(complaint) }
      watch(.root(root), root)
    }
    await look(into: Set(options.roots.map { FileWatcher.Key.root($0) }))
    ready()
    let refusal = await withTaskGroup(of: Failure?.self) { group in
      group.addTask {
        await self.followFiles()
        return nil
      }
      group.addTask {
        do throws(Failure) {
          try await self.serve()
          return nil
        } catch {
          return error
        }
      }
      group.addTask {
        // Nothing wakes it but the end.
        let (never, continuation) = AsyncStream<Void>.makeStream()
        defer { continuation.finish() }
        for await _ in never {}
        self.watcher.close()
        return nil
      }
      var refusal: Failure?
      for await failure in group {
        guard let failure else { continue }
        refusal = failure
        group.cancelAll()
      }
      return refusal
    }
    await stop()
    if let refusal { throw refusal }
  }

  /// Ends everything. The host is of no more use.
  func stop() async {
    isStopped = true
    release()
    alarm?.task.cancel()
    let (cancelled, specs) = state.stop()
    for effect in cancelled { perform(effect) }
    for task in tasks.values { task.cancel() }
    for generation in Array(links.keys) { close(generation) }
    for task in withdrawals.values { task.cancel() }
    for task in retries.values { task.cancel() }
    standingTask?.cancel()
    restoring?.cancel()
    tracing?.cancel()
    // Best effort: who stopped the daemon first has stopped all its widgets too.
    let (daemon, isServing, last) = (
      daemon, isServing, ownWidget + specs + others(than: specs)
    )
    let sessions = retiring.values.flatMap { $0 }
    let goodbye = Task {
      if isServing { try? await daemon.declare(widgets: last, set: HostState.provider) }
      for session in sessions { await session.close() }
      await self.session?.close()
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

  var now: HostTime {
    HostTime(wall: Host.wall(), uptime: clock.now - start)
  }

  // MARK: Messages

  /// Prints an error or a warning.
  func report(_ text: String) { say(.report(text)) }

  /// Prints what the host does.
  func note(_ text: String) { say(.note(text)) }

  private func say(_ line: HeldReports.Line) {
    if held?.hold(line) == true { return }
    // The held reports are full.
    release()
    sayNow(line)
  }

  func sayNow(_ line: HeldReports.Line) {
    switch line {
    case .report(let text): sayReport(text)
    case .note(let text): sayNote(text)
    }
  }

  /// Prints the held reports. Later reports are printed at once.
  func release() {
    guard let held else { return }
    self.held = nil
    for line in held.lines { sayNow(line) }
  }

  /// Drops the held reports: another host serves the daemon, so no loaded bundle runs.
  func discard() { held?.discard() }

  // MARK: Outputs of the state machine

  func handle(_ outputs: [HostState.Output]) {
    for output in outputs {
      switch output {
      case .open(let generation, let bundle): open(generation, bundle)
      case .close(let generation): close(generation)
      case .withdraw(let id): withdraw(id)
      case .mark(let id, let problem): mark(id, problem)
      case .refused(let id, let bundle): awaitRetry(id, bundle)
      case .effect(let effect): perform(effect)
      case .standing(let specs):
        standing = specs
        isStandingDirty = true
        updateStanding()
        let failed = state.standings.count { $0.state == .failed }
        status(specs.count - failed, failed)
      case .report(let text): report(text)
      case .note(let text): note(text)
      }
    }
    closeRetired()
    setAlarm()
  }

  func tell(_ input: BundleInput, _ generation: UInt64) {
    guard !isStopped else { return }
    handle(state.handle(input, generation: generation, at: now))
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
      do throws(Failure) {
        try watcher.watch(.request(id), path: path, isFolder: isFolder)
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
    case .connect(let id, let request):
      begin(id) {
        .failed(
          id, await SocketReading.run(request) { await self.tell(.line(id, $0), id.generation) })
      }
    case .bus(let id, let request):
      let address = BusConnection.address(of: request.bus, options.variables)
      begin(id) {
        let outcome = await BusReading.run(request, address: address) { told in
          switch told {
          case .value(let value): await self.tell(.value(id, value), id.generation)
          case .absent(let failure): await self.tell(.absent(id, failure), id.generation)
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
    case .acknowledge(let id, let event): links[id.generation]?.session?.acknowledge(event)
    case .patch(let id, _, _), .presence(let id, _, _), .send(let id, _, _, _, _),
      .fetchWidget(let id, _), .answer(let id, _, _):
      guard links[id.generation] != nil else { return }
      links[id.generation]?.calls.append(effect)
      makeCalls(id.generation)
    case .cancel(let id):
      watcher.unwatch(.request(id))
      tasks[id]?.cancel()
    case .trace(let id, let lines, let dropped): trace(id.generation, lines, dropped)
    case .report(let text): report(text)
    case .note(let text): note(text)
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
    for task in Array(withdrawals.values) { await task.value }
  }

  /// How much is under way, for tests.
  var load: (tasks: Int, links: Int, watches: Int, programs: Int) {
    (tasks.count, links.count, watcher.watchCount, processes.count)
  }

  // MARK: Time

  func setAlarm() {
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

  func alarmRings(_ deadline: Duration) {
    guard !isStopped, alarm?.deadline == deadline else { return }
    alarm = nil
    handle(state.tick(at: now))
  }
}

extension Host {
  fileprivate static func wall() -> Timestamp {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Timestamp(seconds: Int64(time.tv_sec), nanoseconds: Int32(time.tv_nsec)) ?? .epoch
  }
}
