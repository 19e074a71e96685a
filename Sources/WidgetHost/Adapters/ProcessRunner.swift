import CHostSystem
import Dispatch
import Glibc
import Synchronization

/// Runs programs for bundles: each in a new process group, with a few variables in its environment,
/// bounded output and a bounded lifetime.
///
/// Each program has a thread, which waits for its output, its end, its timeout and its
/// cancellation. So a program can block no other. When a program has ended, its whole group is
/// killed, and so are its processes in other groups. This process is the parent of orphans
/// (`becomeSubreaper`). It finds the orphans of programs, and ends them. If this process is killed,
/// `ProgramGuard` ends the groups.
final class ProcessRunner: Sendable {
  /// The maximum number of programs of all bundles together.
  static let countMax = 128
  /// The time between SIGTERM and SIGKILL.
  static let grace = Duration.seconds(2)

  private struct Table {
    /// The programs that are not reaped.
    var running: Set<pid_t> = []
    /// The groups that the guard knows: those of programs that have not ended.
    var guarded: Set<pid_t> = []
    /// Whether a later attempt to replace the guard is planned.
    var isRenewalPlanned = false
    var keeper = ProgramGuard()
    var count = 0

    mutating func take() -> Bool {
      guard count < ProcessRunner.countMax else { return false }
      count += 1
      return true
    }
  }

  private let table = Mutex(Table())
  private let begin = ContinuousClock.now
  /// The variables that every program gets.
  private let standard: [(name: String, value: String)]
  /// This process's environment. A program gets the variables that its bundle's permissions name.
  private let variables: [String: String]

  /// - Parameters:
  ///   - home: the user's folder.
  ///   - programFolders: the `PATH` of programs.
  ///   - variables: this process's environment.
  init(
    home: String, programFolders: [String] = BundlePermissions.systemFolders,
    variables: [String: String] = [:]
  ) {
    self.variables = variables
    standard =
      [
        ("PATH", programFolders.joined(separator: ":")), ("HOME", home), ("LANG", "C.UTF-8"),
      ]
      + ProcessRunner.ofSession.compactMap { name in
        variables[name].flatMap { $0.isEmpty ? nil : (name, $0) }
      }
  }

  deinit { table.withLock { $0.keeper.finish() } }

  /// The shell that outlives this process, for tests.
  var guardProcess: pid_t? { table.withLock { $0.keeper.process } }

  /// `NAME=value`, for the programs of a bundle.
  func environment(_ permissions: BundlePermissions) -> [String] {
    let named = variables.filter { permissions.allowsVariable($0.key) }
    return standard.filter { named[$0.name] == nil }.map { "\($0.name)=\($0.value)" }
      + named.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
  }

  /// The variables for the user's services, such as systemd. They are passed on if they are set.
  private static let ofSession = ["XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"]

  /// The number of running programs, for tests.
  var count: Int { table.withLock { $0.count } }

  /// From now on orphans of this process's descendants become its children.
  static func becomeSubreaper() { _ = host_become_subreaper() }

  /// Runs a program until it ends, and returns its output.
  ///
  /// - Parameter line: takes each line of a continuous program; the program prints no more until it
  ///   returns.
  func run(
    _ request: CommandRequest, line: @escaping @Sendable ([UInt8]) async -> Void
  ) async throws(Failure) -> [UInt8] {
    guard table.withLock({ $0.take() }) else {
      throw Failure(
        "RESOURCE_EXHAUSTED", "\(ProcessRunner.countMax) programs run already; try again later",
        isTransient: true)
    }
    let stop = host_open_event()
    guard stop >= 0 else {
      table.withLock { $0.count -= 1 }
      throw Failure(
        "RESOURCE_EXHAUSTED", "no program can be run: \(errorText())", isTransient: true)
    }
    let result: Result<[UInt8], Failure> = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isStarted = startThread {
          let result = self.execute(request, stop: stop, line: line)
          self.sweep()
          self.table.withLock { $0.count -= 1 }
          continuation.resume(returning: result)
        }
        if !isStarted {
          table.withLock { $0.count -= 1 }
          continuation.resume(
            returning: .failure(
              Failure(
                "RESOURCE_EXHAUSTED", "no program can be run: there are too many threads",
                isTransient: true)))
        }
      }
    } onCancel: {
      _ = host_signal_event(stop)
    }
    // The handler has run, or will never run.
    close(stop)
    return try result.get()
  }

  // MARK: On the program's thread

  private func execute(
    _ request: CommandRequest, stop: CInt, line: @escaping @Sendable ([UInt8]) async -> Void
  ) -> Result<[UInt8], Failure> {
    do throws(Failure) {
      let program = try ProcessRunner.find(request)
      let started = try start(program, request)
      defer { started.close() }
      var conversation = ProgramConversation(started, request, stop: stop) { bytes in
        let taken = DispatchSemaphore(value: 0)
        Task {
          await line(bytes)
          taken.signal()
        }
        taken.wait()
      }
      conversation.hold()
      let status = end(started.process)
      conversation.drain()
      return conversation.result(status, program: request.program)
    } catch {
      return .failure(error)
    }
  }

  /// The program's path: the first place that has it, if permissions name that place.
  private static func find(_ request: CommandRequest) throws(Failure) -> String {
    let permitted = Set(request.permissions.commandCandidates.compactMap { canonical($0) })
    var plain: String?
    for candidate in request.permissions.candidates(request.program) {
      guard let path = canonical(candidate) else { continue }
      guard access(path, X_OK) == 0 else {
        if plain == nil, errno == EACCES, access(path, F_OK) == 0 { plain = path }
        continue
      }
      guard permitted.contains(path) else { throw request.permissions.programRefused(path) }
      return path
    }
    if let plain {
      throw Failure(
        "FAILED_PRECONDITION",
        "\(plain) is not executable for widgetd-host; make it executable with `chmod +x \(plain)`")
    }
    throw Failure("NOT_FOUND", "there is no program \(request.program) that can be run")
  }

  /// The path without symbolic links among its folders. The last component stays, because some
  /// programs have several names and act by their name.
  private static func canonical(_ path: String) -> String? {
    FileReading.resolved(Paths.parent(path)).map { folder in
      (folder == "/" ? "" : folder) + "/" + Paths.lastComponent(path)
    }
  }

  private func start(_ program: String, _ request: CommandRequest) throws(Failure) -> StartedProgram
  {
    var started = StartedProgram()
    do throws(Failure) {
      let output = try PipeEnds()
      started.output = output.reading
      defer { close(output.writing) }
      let errors = try PipeEnds()
      started.errors = errors.reading
      defer { close(errors.writing) }
      var input: CInt
      if request.input.isEmpty {
        input = open("/dev/null", O_RDONLY | O_CLOEXEC)
      } else {
        let pipe = try PipeEnds()
        (input, started.input) = (pipe.reading, pipe.writing)
      }
      defer { close(input) }
      for descriptor in [started.output, started.errors, started.input] where descriptor >= 0 {
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
      }
      let arguments = [program] + request.arguments
      let folder = request.permissions.folder
      let environment = environment(request.permissions)
      // The lock is held, so that the new process does not count as an orphan.
      let (code, process) = table.withLock { table in
        var process: pid_t = 0
        let code = spawn(
          program, arguments, environment, folder, input, output.writing, errors.writing, &process)
        if code == 0 {
          table.running.insert(process)
          table.guarded.insert(process)
          table.keeper.add(process, of: table.guarded)
        }
        return (code, process)
      }
      guard code == 0 else {
        let reason = ProcessRunner.reason(code, program, in: folder)
        throw Failure("UNAVAILABLE", "\(program) cannot be run: \(reason)")
      }
      started.process = process
      started.ending = host_pidfd_open(process)
      return started
    } catch {
      started.close()
      throw error
    }
  }

  /// The reason why the kernel does not start an existing program. The kernel's reason does not
  /// tell the program from its interpreter and its folder.
  private static func reason(_ code: CInt, _ program: String, in folder: String) -> String {
    if access("\(folder)/.", F_OK) != 0 {
      return errno == ENOENT
        ? "the folder of the bundle, \(folder), is missing; put it back"
        : "the folder of the bundle, \(folder), cannot be entered: \(errorText())"
    }
    let reason = String(cString: strerror(code))
    guard code == ENOENT || code == EACCES, let interpreter = interpreter(of: program) else {
      return reason
    }
    if interpreter.hasSuffix("\r") {
      return "its first line ends with a carriage return; save the file with line feeds only"
    }
    guard access(interpreter, X_OK) != 0 else { return reason }
    return access(interpreter, F_OK) == 0
      ? "its interpreter \(interpreter) is not executable; name another one in its first line"
      : "its interpreter \(interpreter) does not exist; install it, or correct the first line"
  }

  /// The program that the first line of a script names, after `#!`. Nil if the file is no script.
  private static func interpreter(of program: String) -> String? {
    let file = open(program, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 256)
    let count = read(file, &bytes, bytes.count)
    guard count > 2, bytes.starts(with: "#!".utf8) else { return nil }
    let line = bytes[2..<count].prefix { $0 != UInt8(ascii: "\n") }
    let blanks = " \t".utf8
    let path = line.drop { blanks.contains($0) }.prefix { !blanks.contains($0) }
    return path.isEmpty ? nil : String(decoding: path, as: UTF8.self)
  }

  /// Reaps the ended process, and kills the rest of its group.
  private func end(_ process: pid_t) -> CInt {
    // The process is not reaped yet, so no other process has its number.
    kill(-process, SIGKILL)
    table.withLock { table in
      table.guarded.remove(process)
      table.keeper.remove(process, of: table.guarded)
    }
    var status: CInt = 0
    while waitpid(process, &status, 0) < 0, errno == EINTR {}
    table.withLock { _ = $0.running.remove(process) }
    return status
  }

  // MARK: The guard

  /// Replaces the guard if somebody has killed it. If that happens too often, tries again later.
  private func renewGuard() {
    let uptime = begin.duration(to: .now)
    let isPlanned = table.withLock { table in
      guard table.keeper.renew(for: table.guarded, at: uptime), !table.isRenewalPlanned else {
        return false
      }
      table.isRenewalPlanned = true
      return true
    }
    guard isPlanned else { return }
    Task { [weak self] in
      try? await Task.sleep(for: ProcessRunner.renewalPause)
      self?.retryRenewal()
    }
  }

  private func retryRenewal() {
    table.withLock { $0.isRenewalPlanned = false }
    renewGuard()
  }

  /// The pause before another attempt to replace the guard.
  private static let renewalPause = Duration.seconds(1)

  // MARK: Orphans

  /// Kills and reaps the processes that programs left behind. Replaces the guard if it has ended.
  func sweep() {
    renewGuard()
    for orphan in orphans() {
      kill(orphan, SIGKILL)
      let ending = host_pidfd_open(orphan)
      if ending >= 0 {
        var entry = pollfd(fd: ending, events: Int16(POLLIN), revents: 0)
        poll(&entry, 1, 1_000)
        close(ending)
      }
      var status: CInt = 0
      waitpid(orphan, &status, WNOHANG)
    }
  }

  /// Children that were not started here, except those in the groups of running programs.
  private func orphans() -> [pid_t] {
    table.withLock { table in
      ProcessRunner.children().filter { child in
        guard !table.running.contains(child), child != table.keeper.process else { return false }
        return !table.running.contains(getpgid(child)) || ProcessRunner.isZombie(child)
      }
    }
  }

  private static func isZombie(_ process: pid_t) -> Bool {
    guard let bytes = try? FileReading.read(path: "/proc/\(process)/stat", bytesMax: 4_096),
      let bracket = bytes.lastIndex(of: UInt8(ascii: ")")), bracket + 2 < bytes.count
    else { return false }
    return bytes[bracket + 2] == UInt8(ascii: "Z")
  }

  /// This process's children, from the kernel.
  static func children() -> [pid_t] {
    guard let tasks = opendir("/proc/self/task") else { return [] }
    defer { closedir(tasks) }
    var children: [pid_t] = []
    while let entry = readdir(tasks) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      guard name.first != ".",
        let bytes = try? FileReading.read(
          path: "/proc/self/task/\(name)/children", bytesMax: 1 << 20)
      else { continue }
      children += String(decoding: bytes, as: UTF8.self).split(separator: " ").compactMap {
        pid_t($0)
      }
    }
    return children
  }
}

/// Runs a closure on a new thread. False if no thread can be created.
func startThread(_ body: @escaping @Sendable () -> Void) -> Bool {
  final class Box {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }
  var attributes = pthread_attr_t()
  pthread_attr_init(&attributes)
  defer { pthread_attr_destroy(&attributes) }
  pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
  pthread_attr_setstacksize(&attributes, 512 << 10)
  let box = Unmanaged.passRetained(Box(body))
  var thread = pthread_t()
  let code = pthread_create(
    &thread, &attributes,
    { argument in
      guard let argument else { return nil }
      // A program that stops reading its input must not cause a signal (SIGPIPE). Another thread
      // handles the signals of the process.
      var all = sigset_t()
      sigfillset(&all)
      pthread_sigmask(SIG_SETMASK, &all, nil)
      Unmanaged<Box>.fromOpaque(argument).takeRetainedValue().body()
      return nil
    }, box.toOpaque())
  guard code != 0 else { return true }
  box.release()
  return false
}
