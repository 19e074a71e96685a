import Glibc
import Synchronization

/// Turns signals into an async sequence of their numbers.
///
/// The handlers write to a pipe, the one thing that is safe in a handler; a thread that sleeps in
/// `read` passes on what comes out. Dispatch could do this too, but its workers wake up every second
/// for the life of the process, and an idle daemon should sleep.
enum Signals {
  private static let pipeEnd = Atomic<CInt>(-1)

  /// Begins to catch the signals. To be called once.
  static func catching(_ numbers: [CInt]) -> AsyncStream<CInt> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: CInt.self, bufferingPolicy: .bufferingNewest(16))
    var ends: [CInt] = [-1, -1]
    guard pipe(&ends) == 0 else {
      // Their default actions then stay: SIGTERM still ends the daemon, without draining.
      writeError("widgetd: signals are not handled: no pipe can be made (errno \(errno))")
      return stream
    }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    pipeEnd.store(ends[1], ordering: .sequentiallyConsistent)
    for number in numbers {
      signal(number) { number in
        var byte = UInt8(truncatingIfNeeded: number)
        _ = write(Signals.pipeEnd.load(ordering: .relaxed), &byte, 1)
      }
    }
    let input = ends[0]
    startThread {
      var byte: UInt8 = 0
      while true {
        let count = read(input, &byte, 1)
        if count == 1 { continuation.yield(CInt(byte)) }
        if count == 0 || (count < 0 && errno != EINTR) { break }
      }
      continuation.finish()
    }
    return stream
  }

  /// Runs a closure on a thread of its own, with a small stack.
  private static func startThread(_ body: @escaping @Sendable () -> Void) {
    final class Box: Sendable {
      let body: @Sendable () -> Void
      init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    pthread_attr_setstacksize(&attributes, 128 << 10)
    pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
    defer { pthread_attr_destroy(&attributes) }
    var thread = pthread_t()
    let box = Unmanaged.passRetained(Box(body))
    let status = pthread_create(
      &thread, &attributes,
      { argument in
        if let argument { Unmanaged<Box>.fromOpaque(argument).takeRetainedValue().body() }
        return nil
      }, box.toOpaque())
    if status != 0 { box.release() }
  }
}
