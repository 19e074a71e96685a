import Glibc
import Synchronization

/// The note on standard error that a change may still be made, if a signal such as Ctrl-C ends the
/// command before the daemon has answered.
enum PendingChanges {
  private static let numbers = [SIGINT, SIGTERM]
  private static let count = Atomic<Int>(0)
  private static let isInstalled = Atomic<Bool>(false)
  private static let writesJSON = Atomic<Bool>(false)

  /// Makes the note JSON, like the errors of the command. Call it before the first change.
  static func useJSON() { writesJSON.store(true, ordering: .sequentiallyConsistent) }

  /// For `CallOptions.pendingChange`.
  @Sendable static func note(isPending: Bool) {
    guard isPending else {
      count.subtract(1, ordering: .sequentiallyConsistent)
      return
    }
    count.add(1, ordering: .sequentiallyConsistent)
    guard !isInstalled.exchange(true, ordering: .sequentiallyConsistent) else { return }
    // The handler must not create this value.
    _ = writesJSON.load(ordering: .sequentiallyConsistent)
    for number in numbers { install(number) }
  }

  /// Handles a signal, unless the process already handles or ignores it.
  private static func install(_ number: CInt) {
    var action = sigaction()
    guard sigaction(number, nil, &action) == 0, action.__sigaction_handler.sa_handler == nil else {
      return
    }
    action = sigaction()
    action.__sigaction_handler.sa_handler = onEnd
    sigaction(number, &action, nil)
  }

  private static let onEnd: @convention(c) (CInt) -> Void = { number in
    // A reader that does not read must not keep the command from its end. Two signals give one note.
    var output = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
    if PendingChanges.count.exchange(0, ordering: .sequentiallyConsistent) > 0,
      poll(&output, 1, 0) == 1
    {
      let words = PendingChanges.words(
        isJSON: PendingChanges.writesJSON.load(ordering: .sequentiallyConsistent), signal: number)
      _ = Glibc.write(STDERR_FILENO, words.utf8Start, words.utf8CodeUnitCount)
    }
    signal(number, SIG_DFL)
    // The signal is blocked in its handler, so it ends the process after the handler.
    raise(number)
  }

  /// The note: the message and, with JSON, the exit status that a shell reports for the signal. Static,
  /// because a handler of a signal must not allocate memory.
  static func words(isJSON: Bool, signal: CInt) -> StaticString {
    guard isJSON else {
      // The terminal has printed ^C.
      return """

        widgetctl: the command ended before the daemon answered. The change may still be made

        """
    }
    return signal == SIGTERM
      ? #"""
      {"error":{"exitCode":143,"message":"the command ended before the daemon answered. \#
      The change may still be made"}}

      """#
      : #"""
      {"error":{"exitCode":130,"message":"the command ended before the daemon answered. \#
      The change may still be made"}}

      """#
  }
}
