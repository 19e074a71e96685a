import Glibc
import Synchronization

/// Turns signals into async sequences of their numbers, without loss.
///
/// A program calls `take` before it does anything else. From then on a signal no longer ends the
/// process. The signal waits until a caller asks for it with `arrivals`, even much later.
///
/// The handler writes to a pipe, which is safe in a handler. A thread that sleeps in `read` passes the
/// numbers on. Dispatch is not a substitute: it loses a signal that comes before its source is active, and
/// its workers wake up every second for the life of the process.
public enum Signals {
  private static let pipeEnd = Atomic<CInt>(-1)
  private static let delivery = Mutex(Delivery())

  /// The signals that ask every program to end.
  public static let terminating: [CInt] = [SIGTERM, SIGINT]

  /// The signals that ask a program to end, for programs without another use of SIGHUP. A terminal
  /// sends SIGHUP when it is closed. Without SIGHUP if the signal was ignored at the start, as by
  /// `nohup`.
  public static let stopping: [CInt] = terminating + (isIgnored(SIGHUP) ? [] : [SIGHUP])

  private static func isIgnored(_ number: CInt) -> Bool {
    var action = sigaction()
    guard sigaction(number, nil, &action) == 0 else { return false }
    return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
      == unsafeBitCast(SIG_IGN, to: Int.self)
  }

  /// Takes signals over. A second call for the same signal changes nothing.
  ///
  /// If no pipe can be made, the signals keep their default actions: SIGTERM still ends the
  /// process, without an orderly end. `complain` gets a message about this.
  public static func take(_ numbers: [CInt], complain: (String) -> Void = { _ in }) {
    let new = delivery.withLock { state -> [CInt]? in
      guard state.isOpen || open() else { return nil }
      state.isOpen = true
      return numbers.filter { state.taken.insert($0).inserted }
    }
    guard let new else {
      return complain("signals are not handled: no pipe can be made (errno \(errno))")
    }
    for number in new {
      signal(number) { number in
        let before = errno
        var byte = UInt8(truncatingIfNeeded: number)
        _ = write(Signals.pipeEnd.load(ordering: .relaxed), &byte, 1)
        errno = before
      }
    }
  }

  /// A sequence of the signals with these numbers. It begins with signals that came after `take`
  /// and that no sequence has got. Every sequence gets all later signals. Signals that were not
  /// taken are taken now.
  public static func arrivals(of numbers: [CInt]) -> AsyncStream<CInt> {
    take(numbers)
    let (stream, continuation) = AsyncStream.makeStream(
      of: CInt.self, bufferingPolicy: .bufferingNewest(16))
    let id = delivery.withLock { $0.add(numbers, continuation) }
    continuation.onTermination = { _ in _ = delivery.withLock { $0.readers.removeValue(forKey: id) }
    }
    return stream
  }

  /// Runs a body. If a signal of `stopping` comes before the body returns, the body's task is
  /// cancelled.
  ///
  /// - Throws: the error of the body, unless a signal came first.
  public static func untilStopped(
    _ body: @escaping @Sendable () async throws -> Void
  ) async throws {
    let stop = arrivals(of: stopping)
    try await withThrowingTaskGroup(of: Bool.self) { group in
      group.addTask {
        try await body()
        return false
      }
      group.addTask {
        for await _ in stop { break }
        return true
      }
      defer { group.cancelAll() }
      let isStopped = try await group.next() ?? false
      guard isStopped else { return }
      group.cancelAll()
      // An error of the body after its cancellation does not count.
      do { while try await group.next() != nil {} } catch {}
    }
  }

  // MARK: The pipe

  /// Makes the pipe and starts the thread that reads it.
  private static func open() -> Bool {
    var ends: [CInt] = [-1, -1]
    guard pipe(&ends) == 0 else { return false }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
    pipeEnd.store(ends[1], ordering: .sequentiallyConsistent)
    let input = ends[0]
    return DetachedThread.start {
      var byte: UInt8 = 0
      while true {
        let count = read(input, &byte, 1)
        if count == 1 { delivery.withLock { $0.arrived(CInt(byte)) } }
        if count == 0 || (count < 0 && errno != EINTR) { return }
      }
    }
  }
}

/// The caught signals, their readers, and the signals that wait for a first reader.
private struct Delivery {
  struct Reader {
    let numbers: [CInt]
    let continuation: AsyncStream<CInt>.Continuation
  }

  var isOpen = false
  var taken: Set<CInt> = []
  var readers: [Int: Reader] = [:]
  private var waiting: Set<CInt> = []
  private var lastID = 0

  mutating func add(_ numbers: [CInt], _ continuation: AsyncStream<CInt>.Continuation) -> Int {
    lastID += 1
    readers[lastID] = Reader(numbers: numbers, continuation: continuation)
    for number in numbers where waiting.remove(number) != nil { continuation.yield(number) }
    return lastID
  }

  mutating func arrived(_ number: CInt) {
    let listening = readers.values.filter { $0.numbers.contains(number) }
    guard !listening.isEmpty else {
      waiting.insert(number)
      return
    }
    for reader in listening { reader.continuation.yield(number) }
  }
}
