package import NIOCore

/// Runs tasks on an event loop.
///
/// On the default threads of tasks, every step of a call would wake another thread. Tasks that prefer
/// this executor, and their children, stay on the loop. In the daemon, such calls of gRPC take part in
/// its turns like any other.
package final class EventLoopTaskExecutor: TaskExecutor {
  private let eventLoop: any EventLoop

  package init(eventLoop: any EventLoop) {
    self.eventLoop = eventLoop
  }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    eventLoop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
