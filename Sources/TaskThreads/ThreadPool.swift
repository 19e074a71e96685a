#if compiler(>=6.3)
  @_spi(ExperimentalScheduling) import _Concurrency
  import DequeModule
  import Glibc

  /// The executor of everything that is not on an actor of its own: a few threads and one queue.
  ///
  /// Threads start as jobs come, and wait for the next job after that. Priorities are ignored.
  final class ThreadPool: TaskExecutor, SchedulingExecutor, @unchecked Sendable {
    /// The number of threads at most. A job that blocks, such as a read of a file, holds up one thread,
    /// so there are some on small machines as well.
    let threadsMax = max(4, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    private let monitor = Monitor()
    // Guarded by `monitor`.
    private var jobs: Deque<UnownedJob> = []
    private var threads = 0
    private var idle = 0
    private var timers: TimerThread<UnownedJob>?

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      monitor.lock()
      jobs.append(job)
      // Idle threads that were signalled count as idle until they run.
      if idle >= jobs.count || threads == threadsMax {
        if idle > 0 { monitor.signal() }
      } else {
        threads += 1
        let status = startThread { self.serve() }
        if status != 0 {
          threads -= 1
          // Those that run do the job later.
          precondition(threads > 0, "the program cannot start a thread: error \(status)")
          if idle > 0 { monitor.signal() }
        }
      }
      monitor.unlock()
    }

    private func serve() -> Never {
      monitor.lock()
      while true {
        while jobs.isEmpty {
          idle += 1
          monitor.wait()
          idle -= 1
        }
        let job = jobs.removeFirst()
        monitor.unlock()
        job.runSynchronously(on: asUnownedTaskExecutor())
        monitor.lock()
      }
    }

    // MARK: - Jobs that are due later

    func enqueue<C: Clock>(
      _ job: consuming ExecutorJob, after delay: C.Duration, tolerance: C.Duration?, clock: C
    ) {
      schedule(job, after: delay)
    }

    func enqueue<C: Clock>(
      _ job: consuming ExecutorJob, at instant: C.Instant, tolerance: C.Duration?, clock: C
    ) {
      schedule(job, after: clock.now.duration(to: instant))
    }

    /// Enqueues a job after a delay of the continuous clock. Clocks of other programs' making have
    /// durations of their own; their jobs are due at once, and they look at their clock again.
    private func schedule(_ job: consuming ExecutorJob, after delay: some DurationProtocol) {
      guard let delay = delay as? Duration, delay > .zero else { return enqueue(job) }
      let job = UnownedJob(job)
      monitor.lock()
      let timers = timers ?? TimerThread<UnownedJob> { [unowned self] in enqueue(ExecutorJob($0)) }
      self.timers = timers
      monitor.unlock()
      timers.schedule(job, after: delay)
    }
  }
#endif
