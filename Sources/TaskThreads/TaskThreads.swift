#if compiler(>=6.3)
  @_spi(ExperimentalCustomExecutors) import _Concurrency
#else
  import Dispatch
#endif
import Glibc

/// Runs a program's tasks on threads that sleep until there is a job or a timer is due.
///
/// Linux's standard executor is libdispatch. It wakes once a second to count its threads, also in a
/// program that has nothing to do: `workqueue.c` has a timer for this since
/// https://github.com/swiftlang/swift-corelibs-libdispatch/pull/206.
///
/// Swift 6.3 lets a program replace its executors before its first task. That interface is still
/// experimental. With older compilers, the standard executor stays.
public enum TaskThreads {
  /// Runs the main function of a program, and exits with status 0 after it.
  ///
  /// Call it once, before the program's first task.
  public static func run(_ main: @escaping @MainActor @Sendable () async -> Void) -> Never {
    #if compiler(>=6.3)
      _createExecutors(factory: Executors.self)
    #endif
    Task { @MainActor in
      await main()
      exit(0)
    }
    #if compiler(>=6.3)
      Executors.main.serve()
    #else
      dispatchMain()
    #endif
  }

  /// Limits the number of jobs that run at the same time, without the main actor's.
  ///
  /// A program with short jobs that follow each other, such as a status bar, needs one thread. With
  /// more threads, each job wakes another thread. With one thread, a job that blocks delays all
  /// others.
  public static func limit(to count: Int) {
    #if compiler(>=6.3)
      Executors.pool.limit(to: count)
    #endif
  }
}

#if compiler(>=6.3)
  /// The executors of the process.
  private enum Executors: ExecutorFactory {
    static let main = MainThread()
    static let pool = ThreadPool()

    static var mainExecutor: any MainExecutor { main }
    static var defaultExecutor: any TaskExecutor { pool }
  }
#endif
