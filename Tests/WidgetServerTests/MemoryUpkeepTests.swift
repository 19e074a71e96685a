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
    #expect(!early)
    #expect(memory.isDue(at: MemoryUpkeep.workMin))
  }

  @Test func `memory is given back once, in the first quiet period after a load`() {
    var memory = MemoryUpkeep()
    var work: UInt64 = 100_000
    let loaded = memory.look(at: work)
    #expect(!loaded, "the load goes on")
    work += MemoryUpkeep.quietWorkMax + 1
    let busy = memory.look(at: work)
    #expect(!busy, "the load goes on")
    work += MemoryUpkeep.quietWorkMax
    #expect(memory.isDue(at: work))
    let quiet = memory.look(at: work)
    #expect(quiet)
    #expect(!memory.isDue(at: work))
    let again = memory.look(at: work)
    #expect(!again)
    // A little work is no new load. As much work as a load is a new load, even if it takes long.
    for _ in 1..<(MemoryUpkeep.workMin / MemoryUpkeep.quietWorkMax) {
      work += MemoryUpkeep.quietWorkMax
      let light = memory.look(at: work)
      #expect(!light)
    }
    work += MemoryUpkeep.quietWorkMax
    let due = memory.look(at: work)
    #expect(due)
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
