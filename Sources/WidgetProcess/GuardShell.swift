package import Glibc

/// A shell that outlives this process, for work that a killed process cannot do.
///
/// The shell reads a pipe. Only this process has the other end, and the kernel closes that end in any case.
/// The shell is named `sh`, has a separate process group, and ignores the signals that a terminal sends to
/// stop or end jobs. So a signal that ends this process does not end the shell.
package struct GuardShell: Sendable {
  /// The descriptor of the shell's input.
  package let input: CInt
  package let process: pid_t

  /// Starts a shell; nil if that is not possible.
  ///
  /// - Parameters:
  ///   - script: reads words to the end of standard input. The word `q` says that nothing is left to do.
  ///   - arguments: `$1` and so on.
  ///   - terminal: a descriptor that the shell gets as number 3.
  package static func start(
    _ script: String, _ arguments: [String], terminal: CInt? = nil
  ) -> GuardShell? {
    guard let ends = SystemPipe.make() else { return nil }
    defer { close(ends.reading) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    // The descriptors are copied, so that none is overwritten before it is used.
    let copy = terminal.map { fcntl($0, F_DUPFD_CLOEXEC, 10) }
    guard copy ?? 0 >= 0 else {
      close(ends.writing)
      return nil
    }
    defer { if let copy { close(copy) } }
    posix_spawn_file_actions_adddup2(&actions, ends.reading, 0)
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
    if let copy { posix_spawn_file_actions_adddup2(&actions, copy, 3) }
    for descriptor in inheritableDescriptors where descriptor > (copy == nil ? 2 : 3) {
      posix_spawn_file_actions_addclose(&actions, descriptor)
    }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK))
    posix_spawnattr_setpgroup(&attributes, 0)
    var mask = sigset_t()
    sigemptyset(&mask)
    posix_spawnattr_setsigmask(&attributes, &mask)
    let traps = "trap '' HUP INT QUIT TERM TSTP TTIN TTOU\n"
    let words = ["sh", "-c", traps + script, "sh"] + arguments
    var strings = words.map { strdup($0) } + [nil]
    defer { for string in strings { free(string) } }
    var process: pid_t = 0
    let status = posix_spawn(&process, "/bin/sh", &actions, &attributes, &strings, environ)
    guard status == 0 else {
      close(ends.writing)
      return nil
    }
    return GuardShell(input: ends.writing, process: process)
  }

  /// The descriptors that exec does not close, such as sockets of libraries. The peers of such sockets
  /// would see no end while the shell has them.
  private static var inheritableDescriptors: [CInt] {
    guard let folder = opendir("/proc/self/fd") else { return [] }
    defer { closedir(folder) }
    var found: [CInt] = []
    while let entry = readdir(folder) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      guard let descriptor = CInt(name), fcntl(descriptor, F_GETFD) == 0 else { continue }
      found.append(descriptor)
    }
    return found
  }

  /// Whether the shell has ended by itself, or somebody has killed it. `abandon` reaps it.
  package var hasEnded: Bool {
    var info = siginfo_t()
    return waitid(P_PID, id_t(process), &info, WEXITED | WNOHANG | WNOWAIT) == 0
      && info.si_signo == SIGCHLD
  }

  /// Ends the shell without any work.
  package func finish() {
    _ = write("q\n")
    abandon()
  }

  /// Sends words to the shell. Returns false if the shell has ended, or does not take them at once. A
  /// shell that was killed causes no SIGPIPE in this process.
  package func write(_ words: String) -> Bool {
    var pipe = sigset_t()
    sigemptyset(&pipe)
    sigaddset(&pipe, SIGPIPE)
    var former = sigset_t()
    pthread_sigmask(SIG_BLOCK, &pipe, &former)
    defer { pthread_sigmask(SIG_SETMASK, &former, nil) }
    let bytes = Array(words.utf8)
    let count = Glibc.write(input, bytes, bytes.count)
    if count < 0, errno == EPIPE {
      var none = timespec()
      sigtimedwait(&pipe, nil, &none)
    }
    return count == bytes.count
  }

  /// Ends the shell by force, without any work.
  package func kill() {
    _ = Glibc.kill(process, SIGKILL)
    abandon()
  }

  /// Closes the pipe, as the kernel does when a process ends, and waits for the shell.
  package func abandon() {
    close(input)
    while waitpid(process, nil, 0) < 0, errno == EINTR {}
  }
}

/// A pipe that programs started by this one do not inherit.
package struct SystemPipe {
  package let reading: CInt
  package let writing: CInt

  /// Nil, with `errno` set, if there are no descriptors left.
  package static func make() -> SystemPipe? {
    var ends: [CInt] = [-1, -1]
    guard pipe(&ends) == 0 else { return nil }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return SystemPipe(reading: ends[0], writing: ends[1])
  }

  package func close() {
    Glibc.close(reading)
    Glibc.close(writing)
  }
}
