import NIOCore
import Testing
import WidgetModel

@testable import WidgetServer

/// The time at which the memory of a load is given back.
@Suite struct MemoryUpkeepTests {
  @Test func `an idle daemon does not check its memory`() {
    var memory = MemoryUpkeep()
    #expect(!memory.isDue(at: 0))
    #expect(!memory.isDue(at: MemoryUpkeep.workMin - 1))
    let early = memory.look(at: MemoryUpkeep.workMin - 1)
    #expect(early == .nothing)
    #expect(memory.isDue(at: MemoryUpkeep.workMin))
  }

  @Test func `memory is given back once, in the first quiet period after a load`() {
    var memory = MemoryUpkeep()
    var work: UInt64 = 100_000
    let loaded = memory.look(at: work)
    #expect(loaded == .nothing, "the load goes on")
    work += MemoryUpkeep.quietWorkMax + 1
    let busy = memory.look(at: work)
    #expect(busy == .nothing, "the load goes on")
    work += MemoryUpkeep.quietWorkMax
    #expect(memory.isDue(at: work))
    let quiet = memory.look(at: work)
    #expect(quiet == .freedAndCaches)
    #expect(!memory.isDue(at: work))
    let again = memory.look(at: work)
    #expect(again == .nothing)
    // A little work is no new load. As much work as a load is a new load, even if it takes long.
    for _ in 1..<(MemoryUpkeep.workMin / MemoryUpkeep.quietWorkMax) {
      work += MemoryUpkeep.quietWorkMax
      let light = memory.look(at: work)
      #expect(light == .nothing)
    }
    work += MemoryUpkeep.quietWorkMax
    let due = memory.look(at: work)
    #expect(due == .freedAndCaches)
  }

  /// The periods in which a daemon gives memory back, if each period has so much work.
  private static func releases(
    of memory: inout MemoryUpkeep, at work: inout UInt64, each amount: UInt64, periods: Int
  ) -> [Int] {
    var found: [Int] = []
    for period in 1...periods {
      work += amount
      let release = memory.look(at: work)
      if release != .nothing { found.append(period) }
      #expect(release != .freedAndCaches)
    }
    return found
  }

  @Test func `memory is given back some minutes after a load if others do not stop reading`() {
    var (memory, work) = (MemoryUpkeep(), UInt64(0))
    work += 100_000
    let loaded = memory.look(at: work)
    #expect(loaded == .nothing)
    // 40 calls in a second.
    let reading = Self.releases(of: &memory, at: &work, each: 600, periods: 40)
    #expect(reading == [MemoryUpkeep.busyChecksMin - 1])
    // The caches are in use. They are dropped in the first quiet period.
    #expect(memory.isDue(at: work))
    let quiet = memory.look(at: work)
    #expect(quiet == .freedAndCaches)
    #expect(!memory.isDue(at: work))
  }

  @Test func `during a long load, memory is given back rarely and after much work`() {
    var (memory, work) = (MemoryUpkeep(), UInt64(0))
    let (checks, much) = (MemoryUpkeep.busyChecksMin, MemoryUpkeep.busyWorkMin)
    let heavy = Self.releases(of: &memory, at: &work, each: much, periods: 3 * checks)
    #expect(heavy == [checks, 2 * checks, 3 * checks])
    let light = Self.releases(of: &memory, at: &work, each: much / 32, periods: 64)
    #expect(light == [32, 64])
    #expect(Int64(checks) * MemoryUpkeep.period.nanoseconds >= 120_000_000_000)
  }

  @Test func `under load, only freed memory is given back, and the rest when the daemon is quiet`()
    async throws
  {
    try await withServer { server in
      let (busy, quiet) = try server.onLoop { service in
        let released = Box<[WidgetServer.ReleasedMemory]>([])
        service.releaseMemory = { memory in released.update { $0.append(memory) } }
        for _ in 0..<MemoryUpkeep.busyChecksMin {
          service.context.counters.countBytes(
            Int(MemoryUpkeep.busyWorkMin) * Int(Counters.pageBytes))
          service.lookAtMemory()
        }
        let busy = released.get()
        service.lookAtMemory()
        return (busy, Array(released.get().dropFirst(busy.count)))
      }
      #expect(busy == [.freed])
      #expect(quiet == [.freedAndCode])
    }
  }

  @Test func `a few large answers are a load, and so are streams that never become calls`()
    async throws
  {
    try await withServer { server in
      let client = try server.connect()
      let text = Value.string(String(repeating: "y", count: 600_000))
      try client.create("large", kind: "plain", data: ["t": text])
      var before = try server.onLoop { $0.context.counters.work }
      for _ in 0..<20 { _ = try client.get("large") }
      var after = try server.onLoop { $0.context.counters.work }
      #expect(after - before >= MemoryUpkeep.workMin)
      (before, after) = try server.onLoop { service in
        let before = service.context.counters.work
        let guest = InProcessClient(peer: .current, service: service)
        for _ in 0..<400 { _ = guest.incompleteRequest() }
        #expect(guest.requestBytes / 400 > Int(Counters.pageBytes))
        return (before, service.context.counters.work)
      }
      #expect(after - before >= MemoryUpkeep.workMin)
    }
  }
}
