import NIOCore
import NIOEmbedded
import Testing
import WidgetModel
import WidgetProto

@testable import WidgetServer

/// The shares of the loop's time. The clock belongs to the tests.
@Suite struct WorkQueues {
  /// A clock that work moves.
  private final class Clock {
    var now = NIODeadline.uptimeNanoseconds(1)
  }

  /// Work of many parts, each of which takes the same time.
  private final class Parts: SlicedWork {
    let share: WorkShare
    let clock: Clock
    let cost: TimeAmount
    var left: Int
    private(set) var done = 0
    private(set) var isAbandoned = false

    init(uid: UInt32, _ clock: Clock, cost: TimeAmount, count: Int) {
      share = WorkShare(uid: uid)
      (self.clock, self.cost, left) = (clock, cost, count)
    }

    var used: TimeAmount { .nanoseconds(cost.nanoseconds * Int64(done)) }

    func work(_ slice: TimeSlice) -> Bool {
      while left > 0 {
        left -= 1
        done += 1
        clock.now = clock.now + cost
        if slice.isOver { break }
      }
      return left > 0
    }

    func abandon() { isAbandoned = true }
  }

  private let clock = Clock()
  private let queue: WorkQueue

  init() {
    queue = WorkQueue(turn: Turn(eventLoop: EmbeddedEventLoop(), remembersCalls: false))
    queue.clock = { [clock] in clock.now }
  }

  private func parts(uid: UInt32 = 1, cost: TimeAmount, count: Int = 1_000_000) -> Parts {
    Parts(uid: uid, clock, cost: cost, count: count)
  }

  @Test func `small work is done at once if the queue is empty`() {
    let work = parts(cost: .microseconds(5), count: 3)
    queue.submit(work)
    #expect(work.done == 3 && !queue.hasMore)
  }

  /// The time would count for both.
  @Test func `work that is submitted in a slice waits for the end of the slice`() {
    let inner = parts(cost: .microseconds(50), count: 1)
    var wasDone: Int?
    let outer = ClosureWork { [queue] in
      queue.submit(inner)
      wasDone = inner.done
    }
    queue.submit(outer)
    #expect(wasDone == 0 && queue.hasMore)
    queue.serve()
    #expect(inner.done == 1 && !queue.hasMore)
    // Work is done at once again.
    inner.left = 1
    queue.submit(inner)
    #expect(inner.done == 2)
  }

  @Test func `changes by time are not charged to the call that opens the turn`() {
    let turn = Turn(eventLoop: EmbeddedEventLoop(), remembersCalls: false)
    var (pass, runs) = (UInt64(0), 0)
    turn.loopPass = { pass }
    let queue = WorkQueue(turn: turn)
    queue.clock = { [clock] in clock.now }
    let opening = ClosureWork { [clock] in
      queue.withoutCharge { clock.now = clock.now + .milliseconds(5) }
      runs += 1
    }
    for _ in 0..<20 {
      pass += 1
      queue.submit(opening)
    }
    pass += 1
    queue.submit(parts(cost: .microseconds(5), count: 1))
    // A call with long slices would wait for a pass of its own.
    queue.submit(opening)
    #expect(runs == 21 && !queue.hasMore)
  }

  @Test func `a pass does less work after changes by time, but at least a slice of it`() {
    let turn = Turn(eventLoop: EmbeddedEventLoop(), remembersCalls: false)
    var pass = UInt64(0)
    turn.loopPass = { pass }
    let queue = WorkQueue(turn: turn)
    queue.clock = { [clock] in clock.now }
    func work(after changes: TimeAmount) -> TimeAmount {
      pass += 1
      for _ in 0..<16 { queue.enqueue(parts(cost: .microseconds(50))) }
      queue.withoutCharge { clock.now = clock.now + changes }
      let start = clock.now
      queue.serve()
      #expect(queue.hasMore)
      return clock.now - start
    }
    let (all, rest, least) = (
      work(after: .zero), work(after: .milliseconds(2)), work(after: .milliseconds(9))
    )
    #expect(rest <= all - .milliseconds(2))
    #expect(least > .zero && least <= 2 * WorkQueue.sliceMax)
  }

  @Test func `a turn has a bounded length, however much work waits`() {
    let works = (0..<16).map { _ in parts(cost: .microseconds(50)) }
    for work in works { queue.submit(work) }
    for _ in 0..<20 {
      let start = clock.now
      queue.serve()
      #expect(clock.now - start <= WorkQueue.turnMax + WorkQueue.sliceMax)
      #expect(queue.hasMore)
    }
  }

  /// Tasks that run in a pass of the loop can open any number of turns in it.
  @Test func `the turns of one pass share its time`() {
    let turn = Turn(eventLoop: EmbeddedEventLoop(), remembersCalls: false)
    var pass: UInt64 = 1
    turn.loopPass = { pass }
    let queue = WorkQueue(turn: turn)
    queue.clock = { [clock] in clock.now }
    let work = parts(cost: .microseconds(50))
    for _ in 0..<3 {
      let before = work.used
      for _ in 0..<20 {
        queue.submit(work)
        queue.serve()
      }
      #expect(work.used - before >= WorkQueue.turnMax)
      #expect(work.used - before <= WorkQueue.turnMax + WorkQueue.sliceMax)
      pass += 1
    }
  }

  @Test func `small work is done within a turn, despite large work of the same user`() {
    let works = (0..<16).map { _ in parts(cost: .microseconds(900)) }
    for work in works { queue.submit(work) }
    for _ in 0..<20 { queue.serve() }
    for _ in 0..<50 {
      let small = parts(cost: .microseconds(10), count: 1)
      queue.submit(small)
      queue.serve()
      #expect(small.done == 1)
    }
  }

  @Test(arguments: [1, 2])
  func `work that was done while nobody waited delays nobody later`(floodUID: UInt32) {
    let small = parts(uid: 1, cost: .milliseconds(1), count: 0)
    for _ in 0..<5_000 {
      small.left = 1
      queue.submit(small)
      queue.serve()
    }
    #expect(small.done == 5_000)
    let flood = (0..<16).map { _ in parts(uid: floodUID, cost: .microseconds(900)) }
    for work in flood { queue.submit(work) }
    small.left = 1
    queue.submit(small)
    // Each of the other workloads has one turn.
    for _ in 0..<10 { queue.serve() }
    #expect(small.done == 5_001)
  }

  /// The answers of a turn are sent when all of its work is done.
  @Test func `a part that is longer than a turn is done in a turn of its own`() {
    let long = parts(uid: 1, cost: .milliseconds(10))
    queue.submit(long)
    queue.serve()
    for _ in 0..<20 {
      let start = clock.now
      let small = parts(uid: 2, cost: .microseconds(10), count: 1)
      queue.submit(small)
      queue.serve()
      #expect(small.done == 1)
      #expect(clock.now - start < WorkQueue.turnMax)
      let before = long.done
      queue.serve()
      #expect(long.done == before + 1)
    }
  }

  /// Each of the 16 connections has sent many calls of the same cost. Another one calls again and
  /// again, when it has its answer.
  @Test(arguments: [300, 900, 1_900, 2_400, 4_600, 7_000] as [Int64])
  func `calls are answered within two passes, however many connections have long calls`(
    microseconds: Int64
  ) throws {
    let turn = Turn(eventLoop: EmbeddedEventLoop(), remembersCalls: false)
    var pass: UInt64 = 1
    turn.loopPass = { pass }
    let queue = WorkQueue(turn: turn)
    queue.clock = { [clock] in clock.now }
    let small = parts(cost: .microseconds(40), count: 0)
    let cost = TimeAmount.microseconds(microseconds)
    func serve() {
      pass += 1
      queue.serve()
    }
    // It has called before.
    for _ in 0..<20 {
      small.left = 1
      queue.submit(small)
      serve()
    }
    let long = (0..<16).map { _ in parts(cost: cost) }
    for work in long { queue.submit(work) }
    // The first call of a connection is longer than expected.
    for _ in 0..<32 { serve() }
    for _ in 0..<400 {
      // It sends the call at the beginning of a pass that has not read it.
      let start = clock.now
      serve()
      small.left = 1
      queue.submit(small)
      serve()
      #expect(small.left == 0)
      let bound = WorkQueue.turnMax + WorkQueue.sliceMax
      #expect(clock.now - start <= max(cost, bound) + bound)
    }
    let shares = long.map(\.used.nanoseconds)
    let most = try #require(shares.max()), least = try #require(shares.min())
    #expect(most - least <= 2 * max(cost, .milliseconds(2)).nanoseconds)
  }

  @Test func `a long part is not put off for ever by small work`() {
    let long = parts(uid: 1, cost: .milliseconds(10))
    let small = parts(uid: 2, cost: .microseconds(100))
    for work in [long, small] { queue.submit(work) }
    for _ in 0..<1_000 { queue.serve() }
    let share = Double(long.used.nanoseconds) / Double((long.used + small.used).nanoseconds)
    #expect((0.45...0.55).contains(share))
  }

  @Test func `a user with many connections gets no more than a user with one`() {
    let many = (0..<16).map { _ in parts(uid: 1, cost: .microseconds(300)) }
    let one = parts(uid: 2, cost: .microseconds(40))
    for work in many + [one] { queue.submit(work) }
    for _ in 0..<1_000 { queue.serve() }
    let all = many.reduce(0) { $0 + $1.used.nanoseconds }
    let share = Double(one.used.nanoseconds) / Double(all + one.used.nanoseconds)
    #expect((0.45...0.55).contains(share))
  }

  @Test func `a user with processes of many subordinate uids gets the time of one user`() {
    let subordinates = SubordinateUIDs("1:100000:65536", userNamed: { _ in nil })
    let policy = AccessPolicy(ownerUIDs: [0], clientGID: 1)
    let peers = (100_000..<100_016 as Range<UInt32>).map {
      policy.counted(Peer(uid: $0, gid: 1, pid: 1), with: subordinates)
    }
    let many = peers.map { parts(uid: $0.uid, cost: .microseconds(300)) }
    let one = parts(uid: 2, cost: .microseconds(40))
    for work in many + [one] { queue.submit(work) }
    for _ in 0..<1_000 { queue.serve() }
    let all = many.reduce(0) { $0 + $1.used.nanoseconds }
    let share = Double(one.used.nanoseconds) / Double(all + one.used.nanoseconds)
    #expect((0.45...0.55).contains(share))
  }

  @Test func `connections of one user get the same time`() {
    let works = [20, 100, 700, 3_000].map { parts(cost: .microseconds($0)) }
    for work in works { queue.submit(work) }
    for _ in 0..<2_000 { queue.serve() }
    let used = works.map(\.used.nanoseconds)
    #expect(used.max()! - used.min()! <= 2 * 3_000_000)
  }

  /// The rows of the group of the turn.
  private final class Group {
    let queue: WorkQueue
    var count = 0
    var bytes = 0 { didSet { queue.noteRows(count: count, bytes: bytes) } }

    init(_ queue: WorkQueue) { self.queue = queue }
  }

  /// Calls that take no time, each of which changes a row.
  private final class Rows: SlicedWork {
    let share: WorkShare
    let group: Group
    let rows: Int
    let bytes: Int
    let countMax: Int
    private(set) var done = 0

    init(uid: UInt32, _ group: Group, rows: Int = 0, bytes: Int, countMax: Int = .max) {
      (share, self.group, self.bytes) = (WorkShare(uid: uid), group, bytes)
      (self.rows, self.countMax) = (rows, countMax)
    }

    func work(_ slice: TimeSlice) -> Bool {
      repeat {
        done += 1
        group.count += rows
        group.bytes += bytes
      } while !slice.isOver && done < countMax
      return done < countMax
    }

    func abandon() {}
  }

  @Test(arguments: [300 << 10, 1 << 20, 5 << 20])
  func `a group takes no more work when its rows are large`(bytes: Int) {
    let group = Group(queue)
    let rows = Rows(uid: 1, group, bytes: bytes)
    let small = parts(uid: 2, cost: .zero, count: 1)
    queue.submit(rows)
    // Work that comes later waits for the next group, too.
    queue.submit(small)
    queue.serve()
    let perGroup = WorkQueue.rowBytesMax / bytes + 1
    #expect(rows.done == perGroup && small.done == 0)
    for number in 2...5 {
      group.bytes = 0
      queue.serve()
      #expect(small.done == 1 && queue.hasMore)
      #expect(rows.done == perGroup * number)
      #expect(group.bytes <= WorkQueue.rowBytesMax + bytes)
    }
  }

  /// The rows of a database take time to write, however small they are.
  @Test(arguments: [(0, 10_000...10_000), (1, 500...625), (4, 124...160)])
  func `a pass has fewer calls if they change many small rows`(
    rows: Int, expected: ClosedRange<Int>
  ) {
    let calls = Rows(uid: 1, Group(queue), rows: rows, bytes: 0, countMax: 10_000)
    queue.submit(calls)
    queue.serve()
    #expect(expected.contains(calls.done), "\(calls.done)")
  }

  @Test func `the time to write rows counts for the user who has changed them`() {
    let group = Group(queue)
    let rows = Rows(uid: 1, group, bytes: 800 << 10)
    let other = parts(uid: 2, cost: .microseconds(300))
    for work in [rows, other] as [any SlicedWork] { queue.submit(work) }
    for _ in 0..<2_000 {
      queue.serve()
      group.bytes = 0
    }
    let written = queue.rowCosts.time(count: 0, bytes: rows.bytes * rows.done)
    let share = Double(other.used.nanoseconds) / Double((other.used + written).nanoseconds)
    #expect((0.45...0.55).contains(share), "\(share)")
  }

  @Test func `the time of large groups corrects the expected time to write rows`() {
    var costs = RowCosts()
    let mebibyte = 1 << 20
    // 100 rows alone take 0.8 ms.
    costs.note(count: 100, bytes: mebibyte, .microseconds(4_800))
    let slow = costs.time(count: 0, bytes: mebibyte)
    #expect(abs(slow.nanoseconds - 4_000_000) < 2_000)
    #expect(costs.time(count: 100, bytes: mebibyte) == slow + .microseconds(800))
    // A lower cost counts gradually.
    costs.note(count: 0, bytes: 2 * mebibyte, .milliseconds(1))
    #expect(costs.time(count: 0, bytes: mebibyte) < slow)
    #expect(costs.time(count: 0, bytes: mebibyte) > .milliseconds(3))
    // Small groups and stalls of the disk say little.
    let before = costs.kibibyteNanoseconds
    costs.note(count: 1_000, bytes: RowCosts.countedBytesMin - 1, .seconds(1))
    #expect(costs.kibibyteNanoseconds == before)
    costs.note(count: 1, bytes: mebibyte, .seconds(10))
    #expect(costs.kibibyteNanoseconds == RowCosts.kibibyteNanosecondsMax)
    #expect(costs.time(count: 0, bytes: 0) == .zero && costs.time(count: -1, bytes: -1) == .zero)
    // The stall is forgotten, also if no large group follows.
    for _ in 0..<100 { costs.noteSmall() }
    #expect(costs.kibibyteNanoseconds <= RowCosts().kibibyteNanoseconds + 15)
    let usual = costs.kibibyteNanoseconds
    costs.noteSmall()
    #expect(costs.kibibyteNanoseconds <= usual)
  }

  @Test func `work at the end of a turn is charged with its time if the group becomes full`() {
    let share = WorkShare(uid: 1)
    queue.charge(share) {
      clock.now = clock.now + .milliseconds(1)
      queue.noteRows(count: 1, bytes: WorkQueue.rowBytesMax + 1)
    }
    queue.charge(share) {
      clock.now = clock.now + .milliseconds(1)
      queue.noteRows(count: 0, bytes: 0)
    }
    #expect(queue.time == clock.now)
  }

  @Test func `waiting work is abandoned when the service stops`() {
    let works = (0..<8).map { parts(uid: $0 % 2, cost: .milliseconds(9)) }
    for work in works { queue.submit(work) }
    queue.abandonAll()
    #expect(!queue.hasMore && works.dropFirst().allSatisfy(\.isAbandoned))
  }
}

/// The same over sockets.
@Suite struct SharedTurns {
  @Test func `a call is answered before thousands that another client sent at once`() async throws {
    try await withServer { server in
      let (flood, other) = (try server.connect(), try server.connect())
      for client in [flood, other] { #expect(try client.health() == .serving) }
      let count = 1_000
      func many() throws -> (first: UInt32, bytes: [UInt8]) {
        let first = flood.nextStreamID
        let requests = try (0..<count).map { _ in
          try flood.request("ListWidgets", ListWidgetsRequest(), id: flood.takeStreamID())
        }
        return (first, Array(requests.joined()))
      }
      func readAnswers(from first: UInt32) throws {
        for number in 0..<UInt32(count) {
          _ = try flood.answer(to: first + 2 * number, as: ListWidgetsResponse.self)
        }
      }
      // The daemon reads more at a time from a peer that sends much.
      let warmUp = try many()
      try flood.send(warmUp.bytes)
      try readAnswers(from: warmUp.first)
      let before = try #require(other.stats().counters["calls"])
      let calls = try many()
      let id = other.takeStreamID()
      let held = Held(
        flood, calls.bytes, other,
        try other.request("GetStats", GetStatsRequest(), service: RawClient.admin, id: id))
      try server.onLoop { service in
        // Every read of the clock takes long, so each call is a separate slice.
        var now = NIODeadline.now()
        service.context.work.clock = {
          now = now + .microseconds(400)
          return now
        }
        try held.flood.send(held.calls)
        try held.other.send(held.call)
      }
      let stats = try other.answer(to: id, as: GetStatsResponse.self)
      let meanwhile = try #require(stats.counters["calls"]) - before
      #expect(meanwhile < UInt64(count / 2))
      try readAnswers(from: calls.first)
    }
  }

  /// The objects that are used only on the loop.
  private final class Held: @unchecked Sendable {
    let flood, other: RawClient
    let calls, call: [UInt8]

    init(_ flood: RawClient, _ calls: [UInt8], _ other: RawClient, _ call: [UInt8]) {
      (self.flood, self.calls, self.other, self.call) = (flood, calls, other, call)
    }
  }
}
