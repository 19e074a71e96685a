#if compiler(>=6.3)
  @_spi(ExperimentalScheduling) import _Concurrency
  import DequeModule
  import Glibc

  /// The executor of all jobs without another executor: a few threads and one queue.
  ///
  /// Threads start as jobs come, and wait for the next job after that. Priorities are ignored.
  final class ThreadPool: TaskExecutor, SchedulingExecutor, @unchecked Sendable {
    /// The maximum number of threads. A job that blocks, such as a read of a file, occupies one
    /// thread, so small machines have several threads, too.
    static let threadsMaxDefault = max(4, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    private let monitor = Monitor()
    // Guarded by `monitor`.
    private var threadsMax = ThreadPool.threadsMaxDefault
    private var jobs: Deque<UnownedJob> = []
    private var threads = 0
    /// The threads that wait for a job.
    private var idle = 0
    /// The number of these threads that were woken and do not run yet.
    private var woken = 0
    private var timers: TimerThread<UnownedJob>?

    /// Limits the number of jobs that run at the same time. Existing threads above the limit sleep
    /// for ever.
    func limit(to count: Int) {
      monitor.lock()
      threadsMax = max(1, count)
      monitor.unlock()
    }

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      monitor.lock()
      jobs.append(job)
      // If the maximum number of threads runs, one of them takes the job after its present job.
      if threads - idle + woken < threadsMax {
        if idle > woken {
          wake()
        } else {
          start()
        }
      }
      monitor.unlock()
    }

    /// Wakes an idle thread. Called with the lock.
    private func wake() {
      woken += 1
      monitor.signal()
    }

    /// Starts a thread. Called with the lock.
    private func start() {
      threads += 1
      let status = startThread { self.serve() }
      guard status != 0 else { return }
      threads -= 1
      // The running threads do the job later.
      precondition(threads > 0, "the program cannot start a thread: error \(status)")
    }

    private func serve() -> Never {
      monitor.lock()
      while true {
        // The limit may have been lowered while this thread ran a job.
        if threads - idle > threadsMax { sleep() }
        while jobs.isEmpty {
          if threads > threadsMax { sleep() }
          idle += 1
          monitor.wait()
          idle -= 1
          // A thread can wake without a signal. It then finds no job, and waits again.
          woken = max(0, woken - 1)
        }
        let job = jobs.removeFirst()
        monitor.unlock()
        job.runSynchronously(on: asUnownedTaskExecutor())
        monitor.lock()
      }
    }

    /// Takes this thread out of the pool. Otherwise the threads take turns, each with cold caches.
    /// Called with the lock.
    private func sleep() -> Never {
      threads -= 1
      monitor.unlock()
      while true { pause() }
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

    /// Enqueues a job after a delay of the continuous clock. Custom clocks can have other types of
    /// durations. Their jobs are due at once, and check their clock again.
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
