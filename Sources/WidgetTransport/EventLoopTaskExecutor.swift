package import NIOCore

/// Runs tasks on an event loop.
///
/// On the default threads of tasks, every step of a call would wake another thread. Tasks that prefer
/// this executor, and their children, stay on the loop. In the daemon, such calls of gRPC take part in
/// its turns like any other.
package final class EventLoopTaskExecutor: TaskExecutor {
  private let eventLoop: any EventLoop
  private let run: @Sendable (_ job: () -> Void) -> Void

  /// - Parameter run: runs a part of a task on the event loop.
  package init(
    eventLoop: any EventLoop,
    running run: @escaping @Sendable (_ job: () -> Void) -> Void = { $0() }
  ) {
    self.eventLoop = eventLoop
    self.run = run
  }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    eventLoop.execute {
      self.run { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
  }
}
