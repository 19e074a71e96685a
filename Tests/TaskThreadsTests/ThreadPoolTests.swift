#if compiler(>=6.3)
  import Glibc
  import Synchronization
  import Testing

  @testable import TaskThreads

  struct ThreadPoolTests {
    static let pool = ThreadPool()

    @Test func `every job of many tasks runs`() async {
      let sum = await withTaskExecutorPreference(Self.pool) {
        await withTaskGroup(of: Int.self) { group in
          for number in 1...1_000 {
            group.addTask {
              await Task.yield()
              return number
            }
          }
          return await group.reduce(0, +)
        }
      }
      #expect(sum == 500_500)
    }

    @Test func `a job runs while all threads but one are blocked`() async {
      let pool = ThreadPool()
      let gates = (1..<ThreadPool.threadsMaxDefault).map { _ in Gate() }
      let blocked = gates.map { gate in Task(executorPreference: pool) { gate.wait() } }
      await Task(executorPreference: pool) {}.value
      for gate in gates { gate.open() }
      for task in blocked { await task.value }
    }

    @Test func `a limited pool runs no more jobs at a time than its limit`() async {
      for limit in [1, 2] {
        let pool = ThreadPool()
        // Threads that exist already must stay idle.
        let gates = (0..<3).map { _ in Gate() }
        let blocked = gates.map { gate in Task(executorPreference: pool) { gate.wait() } }
        for gate in gates { gate.open() }
        for task in blocked { await task.value }
        pool.limit(to: limit)
        let counter = Counter()
        await withTaskExecutorPreference(pool) {
          await withTaskGroup(of: Void.self) { group in
            for _ in 0..<200 {
              group.addTask {
                counter.begin()
                for _ in 0..<10 { sched_yield() }
                counter.end()
              }
            }
          }
        }
        #expect((1...limit).contains(counter.most))
      }
    }

    @Test func `a task that sleeps goes on, and one that is cancelled at once`() async throws {
      try await withTaskExecutorPreference(Self.pool) {
        try await Task.sleep(for: .milliseconds(5))
        try await Task.sleep(until: .now + .milliseconds(5), clock: .suspending)
        let sleeper = Task { try await Task.sleep(for: .seconds(3_600)) }
        sleeper.cancel()
        await #expect(throws: CancellationError.self) { try await sleeper.value }
      }
    }

    @Test func `an earlier deadline does not wait for a later one that was there first`() async {
      let (fired, fire) = AsyncStream<Int>.makeStream()
      var items = fired.makeAsyncIterator()
      let timers = TimerThread<Int> { fire.yield($0) }
      timers.schedule(-1, after: .seconds(Int64.max))
      timers.schedule(-2, after: .seconds(3_600))
      timers.schedule(1, after: .milliseconds(10))
      #expect(await items.next() == 1)
      timers.schedule(2, after: .zero)
      #expect(await items.next() == 2)
    }

    /// Counts jobs that run at the same time.
    private final class Counter: Sendable {
      private let state = Mutex((running: 0, most: 0))

      var most: Int { state.withLock { $0.most } }
      func begin() {
        state.withLock {
          $0.running += 1
          $0.most = max($0.most, $0.running)
        }
      }
      func end() { state.withLock { $0.running -= 1 } }
    }

    /// Blocks a thread until it is opened.
    private final class Gate: Sendable {
      private let monitor = Monitor()
      private let isOpen = Atomic(false)

      func wait() {
        monitor.lock()
        while !isOpen.load(ordering: .relaxed) { monitor.wait() }
        monitor.unlock()
      }

      func open() {
        monitor.lock()
        isOpen.store(true, ordering: .relaxed)
        monitor.signal()
        monitor.unlock()
      }
    }
  }
#endif
