#if compiler(>=6.3)
  import CTimerFile
  import Glibc
  import HeapModule

  /// A thread that sleeps until the earliest of some deadlines.
  ///
  /// It sleeps in a read of a timer of the boot clock, which goes on while the machine is suspended.
  final class TimerThread<Item: Sendable>: @unchecked Sendable {
    private struct Entry: Comparable {
      /// Nanoseconds of the boot clock.
      let deadline: UInt64
      /// Orders entries with the same deadline.
      let number: UInt64
      let item: Item

      static func < (a: Entry, b: Entry) -> Bool {
        (a.deadline, a.number) < (b.deadline, b.number)
      }
      static func == (a: Entry, b: Entry) -> Bool { a.number == b.number }
    }

    private let monitor = Monitor()
    private let timer = timerfd_create(CLOCK_BOOTTIME, Int32(TFD_CLOEXEC))
    private let fire: @Sendable (Item) -> Void
    // Guarded by `monitor`.
    private var entries = Heap<Entry>()
    private var lastNumber: UInt64 = 0

    /// - Parameter fire: Called on the thread with each item that is due, in the order of deadlines.
    init(fire: @escaping @Sendable (Item) -> Void) {
      precondition(timer >= 0, "a program needs a file descriptor for its timers")
      self.fire = fire
      let status = startThread { self.serve() }
      precondition(status == 0, "the program cannot start a thread: error \(status)")
    }

    func schedule(_ item: Item, after delay: Duration) {
      let (seconds, attoseconds) = delay.components
      // A deadline is at most a century ahead, so that it cannot overflow.
      let capped = UInt64(min(seconds, 3_155_760_000))
      let delay = capped * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
      monitor.lock()
      lastNumber += 1
      entries.insert(Entry(deadline: Self.now + delay, number: lastNumber, item: item))
      if entries.min?.number == lastNumber { arm() }
      monitor.unlock()
    }

    private func serve() -> Never {
      while true {
        var count: UInt64 = 0
        // After EINTR, or if the timer was set again meanwhile, the loop only checks the deadlines.
        _ = read(timer, &count, MemoryLayout<UInt64>.size)
        var due: [Item] = []
        monitor.lock()
        let now = Self.now
        while let first = entries.min, first.deadline <= now {
          due.append(first.item)
          entries.removeMin()
        }
        arm()
        monitor.unlock()
        due.forEach(fire)
      }
    }

    /// Sets the timer for the earliest deadline. Called with the lock.
    private func arm() {
      guard let deadline = entries.min?.deadline else { return }
      var setting = itimerspec()
      setting.it_value.tv_sec = Int(deadline / 1_000_000_000)
      setting.it_value.tv_nsec = Int(deadline % 1_000_000_000)
      timerfd_settime(timer, Int32(TFD_TIMER_ABSTIME), &setting, nil)
    }

    private static var now: UInt64 {
      var time = timespec()
      clock_gettime(CLOCK_BOOTTIME, &time)
      return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
  }
#endif
