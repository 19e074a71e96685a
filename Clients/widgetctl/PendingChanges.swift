import Glibc
import Synchronization
import WidgetModel

/// The note on standard error if a signal such as Ctrl-C ends the command before the daemon has
/// answered a change: the change may still be made. `send --wait` has a note while it waits, too.
enum PendingChanges {
  private static let numbers = [SIGINT, SIGTERM]
  private static let count = Atomic<Int>(0)
  private static let isInstalled = Atomic<Bool>(false)
  private static let writesJSON = Atomic<Bool>(false)
  /// The addresses of the notes of a command that waits, for SIGINT and for SIGTERM. 0 for none.
  private static let interrupted = Atomic<UInt>(0)
  private static let terminated = Atomic<UInt>(0)

  /// Makes the note JSON, like the errors of the command. Call it before the first change.
  static func useJSON() { writesJSON.store(true, ordering: .sequentiallyConsistent) }

  /// For `CallOptions.pendingChange`.
  @Sendable static func note(isPending: Bool) {
    guard isPending else {
      count.subtract(1, ordering: .sequentiallyConsistent)
      return
    }
    count.add(1, ordering: .sequentiallyConsistent)
    install()
  }

  /// Sets the note for a signal while no change is pending. Nil for none.
  static func setNote(_ message: String?) {
    let isJSON = writesJSON.load(ordering: .sequentiallyConsistent)
    interrupted.store(
      address(message.map { text($0, isJSON: isJSON, signal: SIGINT) }),
      ordering: .sequentiallyConsistent)
    terminated.store(
      address(message.map { text($0, isJSON: isJSON, signal: SIGTERM) }),
      ordering: .sequentiallyConsistent)
    if message != nil { install() }
  }

  /// A copy of the text for the handler. Nothing frees it, because the handler may read it while
  /// another text takes its place.
  private static func address(_ text: String?) -> UInt {
    guard let text, let copy = strdup(text) else { return 0 }
    return UInt(bitPattern: copy)
  }

  /// A note with the same form as that of a pending change.
  static func text(_ message: String, isJSON: Bool, signal: CInt) -> String {
    // The terminal has printed ^C.
    guard isJSON else { return "\nwidgetctl: \(message.safeForTerminal)\n" }
    let status: Int64 = signal == SIGTERM ? 143 : 130
    let error: Value = .map(["exitCode": .int(status), "message": .string(message)])
    return JSONWriter.compact(.map(["error": error])) + "\n"
  }

  private static func install() {
    guard !isInstalled.exchange(true, ordering: .sequentiallyConsistent) else { return }
    // The handler must not create these values.
    _ = count.load(ordering: .sequentiallyConsistent)
    _ = writesJSON.load(ordering: .sequentiallyConsistent)
    _ = interrupted.load(ordering: .sequentiallyConsistent)
    _ = terminated.load(ordering: .sequentiallyConsistent)
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
    // Two signals give one note.
    let pending = PendingChanges.count.exchange(0, ordering: .sequentiallyConsistent)
    let interrupted = PendingChanges.interrupted.exchange(0, ordering: .sequentiallyConsistent)
    let terminated = PendingChanges.terminated.exchange(0, ordering: .sequentiallyConsistent)
    // A reader that does not read must not keep the command from its end.
    var output = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
    if poll(&output, 1, 0) == 1 {
      let address = number == SIGTERM ? terminated : interrupted
      if pending > 0 {
        let words = PendingChanges.words(
          isJSON: PendingChanges.writesJSON.load(ordering: .sequentiallyConsistent), signal: number)
        _ = Glibc.write(STDERR_FILENO, words.utf8Start, words.utf8CodeUnitCount)
      } else if let text = UnsafePointer<CChar>(bitPattern: address) {
        _ = Glibc.write(STDERR_FILENO, text, strlen(text))
      }
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
