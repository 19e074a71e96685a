import Glibc

/// Runs another program and reads its output, with a limit on time and on length.
///
/// A program that asks a service can wait for ever, but a diagnosis must not. So a program that
/// exceeds the limit is killed. It gets few environment variables, no input, and no descriptors of
/// this process.
enum BoundedCommand {
  /// The result of a run.
  enum Outcome: Hashable {
    /// The command ended within the limit. The status is nil if a signal ended it.
    case ended(status: Int32?, output: String)
    case timedOut
    /// The program is missing, or cannot be started.
    case notFound
  }

  /// The maximum size of the kept output, in bytes. The rest is read and dropped.
  static let outputBytesMax = 64 << 10

  /// The environment variables that a program gets.
  private static let variables = [
    "PATH", "HOME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
  ]

  /// Runs a program from `$PATH`. Blocks until it ends or the time is over.
  static func run(_ words: [String], within limit: Duration) -> Outcome {
    switch bytes(words, within: limit, bytesMax: nil) {
    case .ended(let status, let output):
      .ended(status: status, output: String(decoding: output, as: UTF8.self))
    case .timedOut, .tooLong: .timedOut
    case .notFound: .notFound
    }
  }

  /// The result of a run, for programs whose whole output is needed.
  enum BytesOutcome: Hashable {
    case ended(status: Int32?, output: [UInt8])
    case timedOut
    /// The command printed too much, and was killed.
    case tooLong
    case notFound
  }

  /// The same, with all of the output.
  ///
  /// - Parameters:
  ///   - bytesMax: the maximum size of its output; nil to keep `outputBytesMax` and drop the rest.
  ///   - names: more environment variables that it gets.
  ///   - showsErrors: whether its errors go to this process's standard error.
  static func bytes(
    _ words: [String], within limit: Duration, bytesMax: Int?, keeping names: [String] = [],
    showsErrors: Bool = false
  ) -> BytesOutcome {
    guard let name = words.first else { return .notFound }
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return .notFound }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    defer { close(ends[0]) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
    if !showsErrors {
      posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
    }
    let environment =
      (variables + names).compactMap { name in
        Terminal.environment(name).map { "\(name)=\($0)" }
      } + ["LC_ALL=C"]
    // The program gets the default signals, even if this thread blocks some or this process ignores
    // some.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    sigfillset(&signals)
    posix_spawnattr_setsigdefault(&attributes, &signals)
    var process: pid_t = 0
    let error = withCStrings(words) { arguments in
      withCStrings(environment) {
        posix_spawnp(&process, name, &actions, &attributes, arguments, $0)
      }
    }
    close(ends[1])
    guard error == 0 else { return .notFound }
    let deadline = ContinuousClock.now + limit
    var output: [UInt8] = []
    let reading = read(ends[0], until: deadline, bytesMax: bytesMax, into: &output)
    guard reading == .end, let status = wait(for: process, until: deadline) else {
      kill(process, SIGKILL)
      var status: Int32 = 0
      while waitpid(process, &status, 0) < 0, errno == EINTR {}
      return reading == .tooLong ? .tooLong : .timedOut
    }
    return .ended(status: status & 0x7F == 0 ? (status >> 8) & 0xFF : nil, output: output)
  }

  private enum Reading { case end, late, tooLong }

  /// Reads to the end, or until the time is over.
  private static func read(
    _ descriptor: Int32, until deadline: ContinuousClock.Instant, bytesMax: Int?,
    into bytes: inout [UInt8]
  ) -> Reading {
    var chunk = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let left = deadline - ContinuousClock.now
      guard left > .zero else { return .late }
      let milliseconds =
        left.components.seconds * 1000 + 1
        + left.components.attoseconds / 1_000_000_000_000_000
      var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&ready, 1, Int32(clamping: milliseconds)) > 0 else { continue }
      let count = Glibc.read(descriptor, &chunk, chunk.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return .end }
      if let bytesMax, bytes.count + count > bytesMax { return .tooLong }
      bytes += chunk[..<(bytesMax == nil ? min(count, outputBytesMax - bytes.count) : count)]
    }
  }

  /// Waits for a program that has closed its output. Most programs do so by ending, so the wait is
  /// short, and polling suffices for the others. Nil if the program still runs at the deadline.
  private static func wait(for process: pid_t, until deadline: ContinuousClock.Instant) -> Int32? {
    var status: Int32 = 0
    while waitpid(process, &status, WNOHANG) != process {
      guard ContinuousClock.now < deadline else { return nil }
      usleep(1_000)
    }
    return status
  }

  /// A list of C strings with a null at its end, for as long as the body runs.
  private static func withCStrings(
    _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Int32
  ) -> Int32 {
    let copies = strings.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    return body(copies + [nil])
  }
}
