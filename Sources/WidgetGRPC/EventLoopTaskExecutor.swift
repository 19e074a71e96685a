#if GRPC
  import NIOCore

  /// Runs tasks on an event loop.
  ///
  /// grpc-swift handles each call in a task. On the default threads of tasks, every step of a call
  /// would wake another thread. Such calls would also take part in the daemon's turns one by one.
  /// Tasks that prefer this executor, and their children, stay on the loop.
  final class EventLoopTaskExecutor: TaskExecutor {
    private let eventLoop: any EventLoop

    init(eventLoop: any EventLoop) {
      self.eventLoop = eventLoop
    }

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      eventLoop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
  }
#endif
