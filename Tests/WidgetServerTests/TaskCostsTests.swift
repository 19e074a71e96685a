import NIOCore
import NIOEmbedded
import Testing

@testable import WidgetServer

/// The cost of calls' tasks, which run outside of the daemon's slices.
@Suite struct `Tasks of calls` {
  @Test func `a slow call counts at once, and its cost falls gradually`() {
    var costs = TaskCosts()
    let usual = costs.average
    for _ in 0..<10 { costs.count(parts: 1) }
    costs.count(.microseconds(400))
    costs.endPass()
    #expect(costs.average == .microseconds(40))
    for _ in 0..<10 { costs.count(parts: 1) }
    costs.count(.microseconds(320))
    costs.endPass()
    #expect(costs.average == .microseconds(39))
    // A pass without parts says nothing about them: its tasks have done other work.
    costs.count(.seconds(1))
    costs.endPass()
    #expect(costs.average == .microseconds(39) && usual < .microseconds(39))
  }

  /// Their changes then share frames. Otherwise a thousand readers get a frame for each change.
  @Test func `the measured cost leaves room for 64 calls in a turn`() {
    var costs = TaskCosts()
    costs.count(parts: 1)
    costs.count(.seconds(1))
    costs.endPass()
    #expect(costs.average == TaskCosts.averageMax)
    #expect(WorkQueue.turnMax >= costs.average * 64)
  }

  /// Parts that take a microsecond and start a task.
  private final class Calls: SlicedWork {
    let share: WorkShare
    let queue: WorkQueue
    var makesTasks = true
    var left: Int
    private(set) var done = 0

    init(uid: UInt32, _ queue: WorkQueue, count: Int) {
      (share, self.queue, left) = (WorkShare(uid: uid), queue, count)
    }

    func work(_ slice: TimeSlice) -> Bool {
      while left > 0 {
        left -= 1
        done += 1
        if makesTasks { queue.expectTasks() }
        if slice.isOver { break }
      }
      return left > 0
    }

    func abandon() {}
  }

  /// A call over gRPC takes several passes of the loop, so long passes would delay it several times.
  @Test func `a pass that starts tasks is shorter, but not for one client alone`() {
    var now = NIODeadline.uptimeNanoseconds(1)
    let queue = WorkQueue(turn: Turn(eventLoop: EmbeddedEventLoop(), remembersCalls: false))
    queue.clock = {
      now = now + .microseconds(1)
      return now
    }
    /// The expected time of the tasks that one pass starts.
    func pass(_ works: Calls...) -> TimeAmount {
      let (average, done) = (queue.taskCosts.average, works.map(\.done).reduce(0, +))
      for work in works { queue.enqueue(work) }
      queue.serve()
      let begun = works.map(\.done).reduce(0, +) - done
      queue.abandonAll()
      return .nanoseconds(average.nanoseconds * Int64(begun))
    }
    let calls = (1...2).map { Calls(uid: UInt32($0), queue, count: 1_000_000) }
    queue.expectTasks()
    queue.runTask { now = now + .milliseconds(1) }
    queue.serve()
    let bound = WorkQueue.turnWithTasksMax + WorkQueue.sliceMax
    let both = pass(calls[0], calls[1])
    #expect(both > WorkQueue.sliceMax && both <= bound, "\(both)")
    let alone = pass(calls[0])
    #expect(alone > bound && alone <= WorkQueue.turnMax + WorkQueue.sliceMax, "\(alone)")
  }

  @Test func `changes by time in a task are no cost of tasks`() {
    var now = NIODeadline.uptimeNanoseconds(1)
    let queue = WorkQueue(turn: Turn(eventLoop: EmbeddedEventLoop(), remembersCalls: false))
    queue.clock = { now }
    queue.submit(Calls(uid: 1, queue, count: 1))
    queue.runTask {
      queue.submit(ClosureWork { queue.withoutCharge { now = now + .milliseconds(5) } })
    }
    queue.serve()
    #expect(queue.taskCosts.average < TaskCosts.averageMax)
  }

  @Test func `tasks of calls count in the slices and turns of their calls`() {
    var now = NIODeadline.uptimeNanoseconds(1)
    let queue = WorkQueue(turn: Turn(eventLoop: EmbeddedEventLoop(), remembersCalls: false))
    queue.clock = {
      now = now + .microseconds(1)
      return now
    }
    // Each of ten calls took 100 us in tasks, of which 50 count.
    let first = Calls(uid: 1, queue, count: 10)
    queue.submit(first)
    queue.runTask { now = now + .milliseconds(1) }
    queue.serve()
    #expect(queue.taskCosts.average == TaskCosts.averageMax && first.left == 0)

    let calls = Calls(uid: 1, queue, count: 1_000)
    let plain = Calls(uid: 2, queue, count: 1_000_000)
    plain.makesTasks = false
    queue.submit(calls)
    // A slice of a millisecond has twenty calls with their tasks, not hundreds.
    #expect((10...25).contains(calls.done), "\(calls.done)")
    queue.submit(plain)
    queue.serve()
    // The tasks also count for the shares of users.
    #expect((20...85).contains(calls.done), "\(calls.done)")
    #expect(plain.done > 500, "\(plain.done)")
  }
}
