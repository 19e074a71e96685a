#if compiler(>=6.3)
  import Glibc

  /// A mutex with a condition.
  final class Monitor: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    init() {
      pthread_mutex_init(mutex, nil)
      pthread_cond_init(condition, nil)
    }

    deinit {
      pthread_cond_destroy(condition)
      pthread_mutex_destroy(mutex)
      condition.deallocate()
      mutex.deallocate()
    }

    func lock() { pthread_mutex_lock(mutex) }
    func unlock() { pthread_mutex_unlock(mutex) }
    /// Unlocks while it waits. May return without a signal.
    func wait() { pthread_cond_wait(condition, mutex) }
    func signal() { pthread_cond_signal(condition) }
  }

  /// Starts a thread that runs as long as the program. Returns an error number if the system has no
  /// room for it, or 0.
  ///
  /// The thread blocks signals, so that they reach the main thread. It does not block signals that
  /// report the thread's own faults.
  func startThread(_ body: @escaping @Sendable () -> Never) -> CInt {
    final class Body {
      let run: @Sendable () -> Never
      init(_ run: @escaping @Sendable () -> Never) { self.run = run }
    }
    var (blocked, before) = (sigset_t(), sigset_t())
    sigfillset(&blocked)
    for fault in [SIGILL, SIGTRAP, SIGABRT, SIGFPE, SIGBUS, SIGSEGV, SIGSYS] {
      sigdelset(&blocked, fault)
    }
    // The thread inherits the mask, so that no signal reaches it before it could set one.
    pthread_sigmask(SIG_SETMASK, &blocked, &before)
    defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
    var thread = pthread_t()
    let held = Unmanaged.passRetained(Body(body))
    let status = pthread_create(
      &thread, nil,
      { argument in
        guard let argument else { return nil }
        Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
      }, held.toOpaque())
    if status == 0 { pthread_detach(thread) } else { held.release() }
    return status
  }
#endif
