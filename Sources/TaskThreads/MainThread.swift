#if compiler(>=6.3)
  @_spi(ExperimentalCustomExecutors) import _Concurrency
  import DequeModule
  import Glibc

  /// The executor of the main actor: runs jobs on the thread that calls `serve`, in order.
  final class MainThread: MainExecutor, @unchecked Sendable {
    private let monitor = Monitor()
    private let thread = pthread_self()
    /// Guarded by `monitor`.
    private var jobs: Deque<UnownedJob> = []

    /// Runs jobs for ever.
    func serve() -> Never {
      while true {
        monitor.lock()
        while jobs.isEmpty { monitor.wait() }
        let job = jobs.removeFirst()
        monitor.unlock()
        unsafe job.runSynchronously(on: asUnownedSerialExecutor())
      }
    }

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      monitor.lock()
      jobs.append(job)
      monitor.signal()
      monitor.unlock()
    }

    func run() throws { serve() }

    /// Does nothing: the program ends by `exit`.
    func stop() {}

    func isIsolatingCurrentContext() -> Bool? { pthread_equal(pthread_self(), thread) != 0 }

    func checkIsolated() {
      precondition(isIsolatingCurrentContext() == true, "this is not the main thread")
    }
  }
#endif
