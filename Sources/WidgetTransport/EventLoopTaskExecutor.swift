package import NIOCore
import Synchronization

/// Runs tasks on an event loop.
///
/// On the default threads of tasks, every step of a call would wake another thread. Tasks that prefer
/// this executor, and their children, stay on the loop. In the daemon, such calls of gRPC take part in
/// its turns like any other.
///
/// The loop runs tasks until none is left before it reads again. So after `passMax`, the other jobs
/// wait for a pause in which the loop reads: the end of a connection can resume thousands of tasks.
package final class EventLoopTaskExecutor: TaskExecutor {
  private let eventLoop: any EventLoop
  private let run: @Sendable (_ job: () -> Void) -> Void
  private let waiting = Mutex(Waiting())

  private struct Waiting {
    var jobs = CircularBuffer<UnownedJob>()
    /// Whether the loop will run the jobs.
    var isScheduled = false

    /// The next job. After the last one, the jobs have to be scheduled again.
    mutating func next() -> UnownedJob? {
      let job = jobs.popFirst()
      if job == nil { isScheduled = false }
      return job
    }
  }

  /// The time that jobs may take before the loop reads again.
  private static let passMax = TimeAmount.milliseconds(4)
  /// The pause in which the loop reads.
  private static let pause = TimeAmount.microseconds(50)

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
    let isFirst = waiting.withLock { waiting in
      waiting.jobs.append(job)
      defer { waiting.isScheduled = true }
      return !waiting.isScheduled
    }
    if isFirst { eventLoop.execute { self.runJobs() } }
  }

  private func runJobs() {
    let end = NIODeadline.now() + EventLoopTaskExecutor.passMax
    while let job = waiting.withLock({ $0.next() }) {
      run { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
      guard NIODeadline.now() < end else {
        eventLoop.scheduleTask(in: EventLoopTaskExecutor.pause) { self.runJobs() }
        return
      }
    }
  }
}
