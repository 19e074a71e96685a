import NIOCore
import Testing
import WidgetCore
import WidgetModel
import WidgetProto
import WidgetStorage

@testable import WidgetServer

/// Budgets of RefreshWidgets: their return over time, and their stored part.
@Suite struct RefreshBudgetsTests {
  private static let start = RunningTime(elapsed: .seconds(1_000))

  private func time(_ seconds: Int64) -> RunningTime {
    Self.start.advanced(by: .seconds(seconds))
  }

  @Test func `calls come back evenly over an hour`() throws {
    var budgets = RefreshBudgets()
    let kind: KindName = try .make("gauge")
    let taken = (0..<4).map { _ in budgets.take(kind, capacity: 4, at: time(0)) }
    #expect(taken == [true, true, true, true])
    let early = budgets.take(kind, capacity: 4, at: time(899))
    #expect(!early)
    #expect(budgets.budget(of: kind, capacity: 4, at: time(0)).nextTime == time(900).clock)
    let late = budgets.take(kind, capacity: 4, at: time(900))
    #expect(late)
    #expect(budgets.budget(of: kind, capacity: 4, at: time(4_500)).remaining == 4)
  }

  @Test func `the oldest budgets of removed kinds are dropped above twice the number of kinds`()
    throws
  {
    var budgets = RefreshBudgets()
    let declared: KindName = try .make("declared")
    _ = budgets.take(declared, capacity: 4, at: time(0))
    var deleted: Set<KindName> = []
    for number in 1...1_000 {
      let kind: KindName = try .make("removed-\(number)")
      _ = budgets.take(kind, capacity: 4, at: time(Int64(number)))
      budgets.keepCalls()
      deleted.formUnion(budgets.takeChanges(at: time(Int64(number))).deletions)
      budgets.dropRemoved(kindsMax: 10) { $0 == declared }
      #expect(budgets.count <= 20)
    }
    // The newest removed kind and the declared kind still have one call fewer.
    let last: KindName = try .make("removed-1000")
    #expect(budgets.budget(of: last, capacity: 4, at: time(1_000)).remaining == 3)
    #expect(budgets.budget(of: declared, capacity: 4, at: time(0)).remaining == 3)
    let first: KindName = try .make("removed-1")
    #expect(budgets.budget(of: first, capacity: 4, at: time(1_000)).remaining == 4)
    // The rows of dropped budgets are removed.
    #expect(deleted.count + budgets.count == 1_001)
  }

  @Test func `the stored budgets of removed kinds do not add up`() throws {
    var budgets = RefreshBudgets()
    var stored: Set<KindName> = []
    for round in 0..<20 {
      let now = time(Int64(round))
      for number in 0..<500 {
        _ = budgets.take(try .make("k\(round)-\(number)"), capacity: 4, at: now)
      }
      let changes = budgets.takeChanges(at: now)
      stored.subtract(changes.deletions)
      stored.formUnion(changes.upserts.map(\.kind))
      budgets.keepCalls()
      budgets.dropRemoved(kindsMax: 500) { _ in false }
      #expect(budgets.count <= 1_000)
      #expect(stored.count <= 1_500)
    }
    #expect(stored.count > budgets.count)
  }

  @Test func `a removal of a kind that the store refuses gives the kind no calls`() async throws {
    let log = TestLog.State()
    let gauge = Kind(name: try .make("gauge"), refreshesPerHour: 4)
    let old: KindName = try .make("old")
    let others = try (0..<8).map { try KindName.make("removed-\($0)") }
    try await withServer(limits: .with { $0.store.kindsMax = 2 }, log: log) { server in
      let provider = try RawProvider(server.connect())
      try provider.open(kinds: [gauge])
      try server.onLoop { service in
        let peer = Peer(uid: 0, gid: 0, pid: 0)
        func call(_ use: Method.RoomUse, _ perform: @escaping (Attempt) -> Void) {
          service.turn.open()
          perform(.first)
          service.turn.remember(callOf: peer, use, perform)
        }
        call(.unused) { _ in
          for kind in [gauge.name, old] { _ = service.budgets.take(kind) }
        }
        service.turn.finish()
        #expect(service.budgets.budget(of: gauge.name).remaining == 3)
        log.failure = .full(path: "widgetd.db")
        var isRemoved = false
        call(.needs) { attempt in
          guard attempt.isFirst else { return }
          _ = try? service.context.apply(.deleteKind(gauge.name), by: peer)
          isRemoved = service.context.store.kind(gauge.name) == nil
        }
        call(.unused) { _ in for kind in others { _ = service.budgets.take(kind) } }
        service.turn.finish()
        let isBack = service.context.store.kind(gauge.name) != nil
        #expect(isRemoved && isBack)
        #expect(service.budgets.budget(of: gauge.name).remaining == 3)
        // The older of the other kinds, which nobody has declared, has a full budget again.
        let full = service.context.limits.refreshesPerHourMax
        #expect(service.budgets.budget(of: old).remaining == full)
        log.failure = nil
      }
    }
  }

  @Test func `a stored time of the clock, from an earlier version, blocks nothing`() throws {
    var budgets = RefreshBudgets()
    let kind: KindName = try .make("gauge")
    let later: Int64 = 300_000_000
    while budgets.take(kind, capacity: 4, at: time(later)) {}
    var restarted = RefreshBudgets(budgets.takeChanges(at: time(later)).upserts)
    for _ in 0..<2 {
      let isEarly = restarted.take(kind, capacity: 4, at: time(0))
      #expect(!isEarly)
      let isTaken = restarted.take(kind, capacity: 4, at: time(900))
      #expect(isTaken)
      restarted = budgets
    }
  }

  /// A run that is killed at any call.
  @Test(arguments: [1, 4, 16, 100, 600])
  func `a stored budget never has more calls than the real one, and few fewer`(capacity: Int) throws
  {
    let kind: KindName = try .make("gauge")
    var budgets = RefreshBudgets()
    var images: [RefreshBudgetImage] = []
    var writes = 0
    for call in 0..<capacity {
      let now = time(Int64(call))
      let isTaken = budgets.take(kind, capacity: capacity, at: now)
      #expect(isTaken)
      if budgets.needsStoring {
        images = budgets.takeChanges(at: now).upserts
        writes += 1
      }
      let left = budgets.budget(of: kind, capacity: capacity, at: now).remaining
      let restored = RefreshBudgets(images).budget(of: kind, capacity: capacity, at: now).remaining
      #expect(restored <= left)
      #expect(restored >= left - max(1, capacity / 16) - 1, "call \(call): \(restored) of \(left)")
    }
    #expect(writes <= 17)
  }

  @Test(arguments: [1, 4, 16, 100, 600])
  func `after an orderly end, the remaining budget is exact`(capacity: Int) throws {
    let kind: KindName = try .make("gauge")
    var budgets = RefreshBudgets()
    var images: [RefreshBudgetImage] = []
    for call in 0..<capacity {
      let now = Self.start.advanced(by: .milliseconds(1_710 * call))
      let isTaken = budgets.take(kind, capacity: capacity, at: now)
      #expect(isTaken)
      if budgets.needsStoring { images = budgets.takeChanges(at: now).upserts }
      var ending = budgets
      // The levels are already stored if there was no reserve.
      let last = ending.takeLastChanges(at: now)
      if !last.isEmpty { images = last.upserts }
      for later in [0, 3, 1_000, 3_599] as [Int64] {
        let time = now.advanced(by: .seconds(later))
        let restored = RefreshBudgets(images).budget(of: kind, capacity: capacity, at: time)
        let left = budgets.budget(of: kind, capacity: capacity, at: time)
        // A thousandth of a call is stored. If next to nothing is left, a part of a second is lost.
        let difference = left.calls(at: time) - restored.calls(at: time)
        let lost = left.calls(at: now) < 0.2 ? Double(capacity) / 3_600 : 0
        #expect(
          (-0.002...(0.002 + lost)).contains(difference),
          "call \(call), \(later) s later: \(restored), \(left)")
      }
      #expect(images.allSatisfy { $0.leftThousandths >= 0 }, "the store refuses negative numbers")
      let again = ending.takeLastChanges(at: now)
      #expect(again.isEmpty)
      // A daemon that has no more calls writes nothing at its end.
      var restarted = RefreshBudgets(images)
      let changed = restarted.takeLastChanges(at: now)
      #expect(changed.isEmpty)
    }
  }

  @Test func `kinds with a full budget are not stored`() throws {
    var budgets = RefreshBudgets()
    _ = budgets.take(try .make("a"), capacity: 4, at: time(0))
    _ = budgets.take(try .make("b"), capacity: 4, at: time(3_600))
    let changes = budgets.takeChanges(at: time(3_600))
    #expect(changes.upserts.map(\.kind.rawValue) == ["b"] && changes.deletions.isEmpty)
  }

  @Test func `only changed budgets are stored`() throws {
    var budgets = RefreshBudgets()
    for kind in ["a", "b", "c"] { _ = budgets.take(try .make(kind), capacity: 4, at: time(0)) }
    let first = budgets.takeChanges(at: time(0))
    #expect(first.upserts.map(\.kind.rawValue) == ["a", "b", "c"])
    // The stored budget of "b" has room for one call more.
    for _ in 0..<2 { _ = budgets.take(try .make("b"), capacity: 4, at: time(1)) }
    #expect(budgets.unstoredCount == 1)
    let second = budgets.takeChanges(at: time(1))
    #expect(second.upserts.map(\.kind.rawValue) == ["b"])
    #expect(!budgets.needsStoring)
    budgets.storingFailed(second)
    let third = budgets.takeChanges(at: time(1))
    #expect(third == second)
  }

  @Test func `calls that are taken back are left again`() throws {
    let kinds: [KindName] = [try .make("a"), try .make("b")]
    var budgets = RefreshBudgets()
    _ = budgets.take(kinds[0], capacity: 4, at: time(0))
    budgets.keepCalls()
    for _ in 0..<2 {
      for kind in kinds { _ = budgets.take(kind, capacity: 4, at: time(0)) }
    }
    budgets.takeBack()
    let left = kinds.map { budgets.budget(of: $0, capacity: 4, at: time(0)).remaining }
    #expect(left == [3, 4])
    budgets.takeBack()
    #expect(budgets.budget(of: kinds[0], capacity: 4, at: time(0)).remaining == 3)
  }

  @Test func `budgets that waited are stored in parts, and those of new calls at once`() throws {
    let kinds = try (0..<2 * RefreshBudgets.lateMax).map { try KindName.make("k\($0)") }
    var budgets = RefreshBudgets()
    for kind in kinds { _ = budgets.take(kind, capacity: 4, at: time(0)) }
    // The store has refused them.
    budgets.storingFailed(budgets.takeChanges(at: time(0)))
    budgets.postpone()
    #expect(budgets.unstoredCount == 0 && budgets.needsStoring)
    _ = budgets.take(kinds[7], capacity: 4, at: time(1_800))
    #expect(budgets.unstoredCount == 1)
    var stored: Set<KindName> = []
    var parts: [Int] = []
    while budgets.needsStoring, parts.count < kinds.count {
      let part = budgets.takeChanges(at: time(1_800)).upserts.map(\.kind)
      if parts.isEmpty { #expect(part.contains(kinds[7])) }
      parts.append(part.count)
      stored.formUnion(part)
    }
    #expect(parts == [RefreshBudgets.lateMax + 1, RefreshBudgets.lateMax - 1])
    #expect(stored == Set(kinds))
  }

  @Test func `budgets that are full again are removed from the store, in parts`() throws {
    var budgets = RefreshBudgets()
    let count = RefreshBudgets.usedMin
    for number in 0..<count {
      _ = budgets.take(try .make("k\(number)"), capacity: 4, at: time(0))
    }
    let first = budgets.takeChanges(at: time(0))
    #expect(first.upserts.count == count && first.deletions.isEmpty)
    var removed: Set<KindName> = []
    var parts = 0
    while removed.count < count, parts < count {
      _ = budgets.take(try .make("new\(parts)"), capacity: 4, at: time(7_200))
      let changes = budgets.takeChanges(at: time(7_200))
      #expect(changes.upserts.count == 1)
      #expect(changes.deletions.count <= RefreshBudgets.deletionsMax)
      removed.formUnion(changes.deletions)
      parts += 1
    }
    #expect(removed == Set(first.upserts.map(\.kind)))
  }

  @Test func `a kind that is used again before its removal is not removed`() throws {
    var budgets = RefreshBudgets()
    for number in 0..<RefreshBudgets.usedMin {
      _ = budgets.take(try .make("k\(number)"), capacity: 4, at: time(0))
    }
    _ = budgets.takeChanges(at: time(0))
    for kind in ["new", "k7"] { _ = budgets.take(try .make(kind), capacity: 4, at: time(7_200)) }
    let changes = budgets.takeLastChanges(at: time(7_200))
    #expect(changes.upserts.map(\.kind.rawValue) == ["k7", "new"])
    #expect(changes.deletions.count == RefreshBudgets.usedMin - 1)
    #expect(try !changes.deletions.contains(.make("k7")))
  }

  @Test func `budgets survive a restart without a write for each call`() async throws {
    let log = TestLog.State()
    let kind = Kind(name: try .make("gauge"))
    let used = 100
    let start = NIODeadline.now()
    try await withServer(log: log, clock: .fake()) { server in
      let client = try server.connect()
      let provider = try RawProvider(server.connect())
      try provider.open(kinds: [kind])
      try client.create("a", kind: "gauge")
      let groups = log.groups.count
      for _ in 0..<used {
        _ = try client.call(
          "RefreshWidgets", RefreshWidgetsRequest(.all), as: RefreshWidgetsResponse.self)
      }
      #expect(log.groups.count - groups <= 4)
      let stored = try #require(log.image.refreshBudgets.first)
      #expect(stored.kind == kind.name)
    }
    try await withServer(log: log, clock: .fake()) { server in
      let client = try server.connect()
      let budget = try #require(
        client.call(
          "GetKind", GetKindRequest(name: kind.name), as: GetKindResponse.self,
          service: "widgetd.v1.CatalogService"
        ).kind.refreshBudget)
      // A call comes back every six seconds.
      let back = Int((NIODeadline.now() - start).nanoseconds / 6_000_000_000) + 1
      #expect((600 - used...600 - used + back).contains(budget.remaining), "\(budget)")
    }
  }

  @Test func `a clock set forward does not refill budgets`() async throws {
    // A call comes back every 15 minutes.
    let kind = Kind(name: try .make("gauge"), refreshesPerHour: 4)
    let clock = ServiceClock.fake()
    try await withServer(clock: clock) { server in
      let client = try server.connect()
      let provider = try RawProvider(server.connect())
      try provider.open(kinds: [kind])
      try client.create("a", kind: "gauge")
      let refresh = {
        try client.call(
          "RefreshWidgets", RefreshWidgetsRequest(.all), as: RefreshWidgetsResponse.self
        ).budgets.map(\.remaining)
      }
      #expect(try refresh() == [3])
      clock.set(clock.now.advanced(by: .seconds(3_600)))
      #expect(try refresh() == [2])
      clock.set(clock.now.advanced(by: .seconds(-7_200)))
      #expect(try refresh() == [1])
    }
  }

  @Test func `a used-up budget refuses only a call for its widgets alone`()
    async throws
  {
    let gauge = Kind(name: try .make("gauge"), refreshesPerHour: 1)
    let dial = Kind(name: try .make("dial"))
    try await withServer { server in
      let client = try server.connect()
      let provider = try RawProvider(server.connect())
      try provider.open(kinds: [gauge, dial])
      try client.create("a", kind: "gauge")
      try client.create("b", kind: "gauge")
      try client.create("c", kind: "dial")
      let refresh = { (target: PresenceTarget) in
        try client.call(
          "RefreshWidgets", RefreshWidgetsRequest(target), as: RefreshWidgetsResponse.self)
      }
      let gauges = PresenceTarget.selector(Selector(kinds: [gauge.name]))
      #expect(try refresh(gauges).askedCount == 2)
      let all = try refresh(.all)
      #expect((all.askedCount, all.limitedCount, all.unprovidedCount) == (1, 2, 0))
      #expect(all.budgets.map(\.kind) == [dial.name, gauge.name])
      #expect(all.budgets.map(\.remaining) == [599, 0])
      #expect(all.budgets.allSatisfy { $0.nextTime != nil })

      let status = try client.refusal("RefreshWidgets", RefreshWidgetsRequest(gauges))
      #expect(status.code == .resourceExhausted)
      #expect(status.reason == "REFRESH_BUDGET_EXHAUSTED")
      #expect(status.errorInfo?.metadata == ["kind": "gauge", "capacity": "1"])
      #expect(status.message.contains("widgetctl describe gauge"))
      let delay = try #require(status.retryDelay)
      #expect(delay > .zero && delay <= .seconds(3_600))
    }
  }

  @Test func `a refresh stores only the budgets of its kinds, with the turn's group`()
    async throws
  {
    let log = TestLog.State()
    let kinds = try ["a", "b"].map { Kind(name: try .make($0)) }
    try await withServer(log: log) { server in
      let client = try server.connect()
      let provider = try RawProvider(server.connect())
      try provider.open(kinds: kinds)
      for name in ["a", "b"] { try client.create(name, kind: name) }
      let refresh = { (name: String) in
        _ = try client.call(
          "RefreshWidgets",
          RefreshWidgetsRequest(.selector(Selector(kinds: [try .make(name)]))),
          as: RefreshWidgetsResponse.self)
      }
      try refresh("a")
      try refresh("b")
      let budgets = log.groups.map { $0.refreshBudgets.map(\.kind.rawValue) }.filter { !$0.isEmpty }
      #expect(budgets == [["a"], ["b"]])
      #expect(log.image.refreshBudgets.count == 2)
      // A change and many refreshes in one turn.
      let count = log.groups.count
      try server.onLoop { service in
        service.turn.open()
        let kind = try KindName.make("a")
        for _ in 0..<40 { _ = service.budgets.take(kind) }
        let spec = WidgetSpec(id: try .make("new"), kind: try .make("plain"))
        _ = try service.context.apply(.create(spec), by: Peer(uid: 0, gid: 0, pid: 0))
        service.turn.finish()
      }
      let added = log.groups[count...].map { ($0.upserts.count, $0.refreshBudgets.count) }
      #expect(added.count == 1 && added[0] == (1, 1))
    }
  }

  /// The calls of one turn: a refresh, and a change that the store refuses. With removals, the calls
  /// are repeated once more.
  @Test(arguments: [false, true])
  func `a refused change costs a refresh nothing, and its budget is stored in the same turn`(
    removes: Bool
  ) async throws {
    let log = TestLog.State(image: .sample(count: 1))
    let kind = try KindName.make("gauge")
    let (old, new): (WidgetID, WidgetID) = (try .make("w0"), try .make("new"))
    let spec = WidgetSpec(id: new, kind: try .make("plain"))
    try await withServer(log: log) { server in
      try server.onLoop { service in
        let peer = Peer(uid: 0, gid: 0, pid: 0)
        func call(_ use: Method.RoomUse, _ perform: @escaping (Attempt) -> Void) {
          service.turn.open()
          perform(.first)
          service.turn.remember(callOf: peer, use, perform)
        }
        let before = service.budgets.budget(of: kind).remaining
        log.refusal = { $0.upserts.isEmpty ? nil : .full(path: "widgetd.db") }
        call(.unused) { _ in _ = service.budgets.take(kind) }
        call(.needs) { attempt in
          guard attempt.isFirst else { return }
          _ = try? service.context.apply(.create(spec), by: peer)
        }
        if removes {
          call(.frees) { attempt in
            guard attempt.isStored else { return }
            _ = try? service.context.apply(.delete(old), by: peer)
          }
        }
        service.turn.finish()
        #expect(service.budgets.budget(of: kind).remaining == before - 1)
        #expect(log.image.refreshBudgets.map(\.kind) == [kind])
        #expect(log.image.records.map(\.widget.id) == (removes ? [] : [old]))
      }
    }
  }

  @Test func `unstorable budgets refuse no refresh, and are stored later`() async throws {
    let log = TestLog.State()
    let kind = Kind(name: try .make("gauge"))
    try await withServer(log: log) { server in
      let client = try server.connect()
      let provider = try RawProvider(server.connect())
      try provider.open(kinds: [kind])
      try client.create("a", kind: "gauge")
      let refresh = {
        try client.call(
          "RefreshWidgets", RefreshWidgetsRequest(.all), as: RefreshWidgetsResponse.self
        ).askedCount
      }
      log.failure = .full(path: "widgetd.db")
      #expect(try refresh() == 1)
      #expect(log.image.refreshBudgets.isEmpty)
      log.failure = nil
      try server.eventually { loop in
        loop.turn.open()
        return !log.image.refreshBudgets.isEmpty
      }
    }
  }
}

extension RunningTime {
  /// The time of a clock that is never set.
  fileprivate var clock: Timestamp { Timestamp.fakeStart.advanced(by: elapsed) }
}

extension RefreshBudgets {
  fileprivate func budget(
    of kind: KindName, capacity: Int, at now: RunningTime
  ) -> RefreshBudget {
    budget(of: kind, capacity: capacity, at: now, clock: now.clock)
  }
}

extension RefreshBudget {
  /// The calls that are left, with the part of the next one that is back.
  fileprivate func calls(at now: RunningTime) -> Double {
    guard let nextTime else { return Double(remaining) }
    let missing = nextTime.duration(since: now.clock) / .seconds(1) * Double(capacity) / 3_600
    return Double(remaining + 1) - missing
  }
}
