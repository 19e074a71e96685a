import Glibc
import WidgetProcess

/// A command with this process's terminal: its input, output, errors, folder and process group.
struct ChildCommand {
  private let process: pid_t

  /// Starts a command from `$PATH`.
  ///
  /// - Parameters:
  ///   - variables: its variables beside this process's environment.
  ///   - progress: a further descriptor for the command, with the number of `ProgressPipe`.
  /// - Throws: `Failure`.
  init(
    _ words: [String], variables: [(name: String, value: String)], progress: ProgressPipe?
  ) throws(Failure) {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    if let progress {
      posix_spawn_file_actions_adddup2(&actions, progress.input, progress.number)
    }
    // exec resets handlers, but not ignored signals. This process ignores SIGPIPE; the command must not.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    sigaddset(&signals, SIGPIPE)
    posix_spawnattr_setsigdefault(&attributes, &signals)
    var process: pid_t = 0
    let error = ChildCommand.withCStrings(words) { arguments in
      ChildCommand.withCStrings(ChildCommand.environment(adding: variables)) {
        posix_spawnp(&process, words[0], &actions, &attributes, arguments, $0)
      }
    }
    guard error == 0 else { throw Failure(command: words[0], errno: error) }
    self.process = process
    SignalRelay.begin(process)
  }

  /// The reason why a command was not started.
  struct Failure: Error {
    let command: String
    let errno: Int32

    var words: String {
      errno == ENOENT
        ? "there is no command \"\(command)\"; check its name and $PATH"
        : "cannot run \"\(command)\": \(String(cString: strerror(errno)))"
    }

    /// The exit status, as a shell would have it.
    var status: Int32 { errno == ENOENT ? 127 : 126 }
  }

  /// The end of a command.
  enum End: Hashable, Sendable {
    case exited(Int32)
    case signaled(Int32)

    init(waitStatus: Int32) {
      let signal = waitStatus & 0x7F
      self = signal == 0 ? .exited((waitStatus >> 8) & 0xFF) : .signaled(signal)
    }
  }

  /// Waits for its end on a separate thread.
  func end() async -> End {
    await withCheckedContinuation { continuation in
      let wait: @Sendable () -> Void = { [process] in
        var info = siginfo_t()
        while waitid(P_PID, id_t(process), &info, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        SignalRelay.end()
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        continuation.resume(returning: End(waitStatus: status))
      }
      // If no thread can be started, this one waits.
      if !DetachedThread.start(wait) { wait() }
    }
  }

  private static func environment(adding variables: [(name: String, value: String)]) -> [String] {
    var result: [String] = []
    var next = environ
    while let entry = next.pointee {
      let text = String(cString: entry)
      if !variables.contains(where: { text.hasPrefix("\($0.name)=") }) { result.append(text) }
      next += 1
    }
    return result + variables.map { "\($0.name)=\($0.value)" }
  }

  private static func withCStrings(
    _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Int32
  ) -> Int32 {
    let copies = strings.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    return body(copies + [nil])
  }
}

/// A pipe on which a command writes lines about its progress.
struct ProgressPipe {
  /// This process's end.
  let output: CInt
  /// The command's end, in this process.
  let input: CInt
  /// The number of that end in the command. It has one digit, because some shells allow only one.
  /// The command does not inherit this number otherwise.
  let number: CInt

  /// Returns nil if there are no descriptors left.
  init?() {
    let free = (CInt(3)...9).first { number in
      let flags = fcntl(number, F_GETFD)
      return flags < 0 || flags & FD_CLOEXEC != 0
    }
    var ends: [CInt] = [-1, -1]
    guard let free, pipe(&ends) == 0 else { return nil }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    if ends[1] == free {
      // If both numbers were the same, dup2 would leave the descriptor to be closed at exec.
      ends[1] = fcntl(free, F_DUPFD_CLOEXEC, 10)
      close(free)
    }
    guard ends[1] >= 0 else { return nil }
    (output, input, number) = (ends[0], ends[1], free)
  }

  /// Reads lines to the end on a separate thread. The command's end in this process is closed.
  func read(_ line: @escaping @Sendable (ProgressLine) -> Void) {
    close(input)
    _ = DetachedThread.start { [output] in
      var bytes: [UInt8] = []
      var chunk = [UInt8](repeating: 0, count: 4_096)
      while true {
        let count = Glibc.read(output, &chunk, chunk.count)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return }
        for byte in chunk[..<count] {
          guard byte == UInt8(ascii: "\n") else {
            // Ignore the end of a line that is too long.
            if bytes.count < 4_096 { bytes.append(byte) }
            continue
          }
          line(ProgressLine(String(decoding: bytes, as: UTF8.self)))
          bytes.removeAll(keepingCapacity: true)
        }
      }
    }
  }
}
