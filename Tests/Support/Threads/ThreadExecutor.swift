import Foundation

/// Runs each job on a separate thread, where it may block. Issues are still recorded for the job's
/// test.
package final class ThreadExecutor: TaskExecutor {
  package static let shared = ThreadExecutor()

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    Thread.detachNewThread { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
