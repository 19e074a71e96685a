import SeededRandom
import Testing
import WidgetModel

@testable import WidgetServer

/// The next user, when each call takes time.
@Suite struct FairQueues {
  /// Members that always have work, and the used time of each.
  private struct Bench {
    var queue = FairQueue<Int>()
    var accounts: [FairQueue<Int>.Account]
    var used: [UInt64]

    init(count: Int) {
      accounts = Array(repeating: .init(), count: count)
      used = Array(repeating: 0, count: count)
    }

    mutating func add(_ member: Int) { queue.add(member, &accounts[member]) }

    /// Lets the next member work.
    mutating func step(_ cost: (Int) -> UInt64) throws -> Int {
      let next = queue.next()
      let member = try #require(next)
      let cost = cost(member)
      used[member] += cost
      queue.charge(cost, to: &accounts[member])
      return member
    }
  }

  @Test(arguments: 1...20)
  func `members that always have work get the same time, even if their pieces cost more`(seed: Int)
    throws
  {
    var random = SeededGenerator(seed: UInt64(seed))
    var bench = Bench(count: 5)
    let costMax: [UInt64] = (0..<5).map { _ in UInt64.random(in: 1...1_000, using: &random) }
    for member in 0..<5 { bench.add(member) }
    for _ in 0..<2_000 {
      let member = try bench.step { UInt64.random(in: 1...costMax[$0], using: &random) }
      bench.add(member)
      for other in 0..<5 where other != member {
        let difference = bench.used[member].distance(to: bench.used[other])
        #expect(abs(difference) <= costMax[member] + costMax[other])
      }
    }
  }

  @Test func `a newcomer is served before members that always have work`() throws {
    var bench = Bench(count: 11)
    for member in 0..<10 { bench.add(member) }
    for _ in 0..<1_000 { bench.add(try bench.step { 100 + UInt64($0) }) }
    bench.add(10)
    var waited = 0
    while try bench.step({ _ in 100 }) != 10 { waited += 1 }
    #expect(waited <= 1)
  }

  /// All of them begin at the same cost, which their first pieces exceed by far.
  @Test func `a member with small pieces does not wait for one piece of each other`() throws {
    var bench = Bench(count: 17)
    for member in 0..<16 { bench.add(member) }
    for _ in 0..<16 { bench.add(try bench.step { _ in 1_000 }) }
    for _ in 0..<100 {
      bench.add(16)
      var waited = 0
      while true {
        let member = try bench.step { $0 == 16 ? 10 : 1_000 }
        if member == 16 { break }
        bench.add(member)
        waited += 1
      }
      #expect(waited == 0)
      // The others work until it comes back.
      for _ in 0..<2 { bench.add(try bench.step { _ in 1_000 }) }
    }
  }

  @Test func `a small piece before each large one puts nobody ahead of small pieces`() throws {
    var bench = Bench(count: 17)
    var isLarge = Array(repeating: false, count: 16)
    func cost(_ member: Int) -> UInt64 {
      guard member < 16 else { return 10 }
      isLarge[member].toggle()
      return isLarge[member] ? 1_000 : 10
    }
    for member in 0..<16 { bench.add(member) }
    for _ in 0..<32 { bench.add(try bench.step(cost)) }
    for _ in 0..<100 {
      bench.add(16)
      while true {
        let member = try bench.step(cost)
        if member == 16 { break }
        bench.add(member)
        #expect(!isLarge[member])
      }
      for _ in 0..<2 { bench.add(try bench.step(cost)) }
    }
  }

  @Test func `newcomers without end do not keep a member waiting`() throws {
    var bench = Bench(count: 1_000)
    for newcomer in 1...4 { bench.add(newcomer) }
    bench.add(0)
    var turns = 0
    for newcomer in 5..<1_000 {
      let member = try bench.step { _ in 1_000 }
      turns += member == 0 ? 1 : 0
      bench.add(member == 0 ? 0 : newcomer)
    }
    #expect(turns > 1_000 / 5 / 10)
  }

  @Test func `other work of a waiting member counts for its next turn`() throws {
    var bench = Bench(count: 2)
    for member in 0..<2 { bench.add(member) }
    bench.queue.charge(100, to: &bench.accounts[0], isPiece: false)
    var turns: [Int] = []
    for _ in 0..<20 {
      let member = try bench.step { _ in 10 }
      turns.append(member)
      bench.add(member)
    }
    #expect((4...6).contains(turns.count { $0 == 0 }))
  }

  @Test func `an idle member gets no extra turns afterwards`() throws {
    var bench = Bench(count: 2)
    bench.add(0)
    for _ in 0..<1_000 { bench.add(try bench.step { _ in 10 }) }
    bench.add(1)
    var turns: [Int] = []
    for _ in 0..<20 {
      let member = try bench.step { _ in 10 }
      turns.append(member)
      bench.add(member)
    }
    #expect((9...11).contains(turns.count { $0 == 1 }))
  }

  @Test func `a member that was away keeps no credit while another works without waiting`() throws {
    var bench = Bench(count: 2)
    bench.queue.charge(10, to: &bench.accounts[0])
    for _ in 0..<1_000 { bench.queue.charge(10, to: &bench.accounts[1]) }
    bench.add(1)
    bench.add(0)
    var turns: [Int] = []
    for _ in 0..<20 {
      let member = try bench.step { _ in 10 }
      turns.append(member)
      bench.add(member)
    }
    #expect((9...11).contains(turns.count { $0 == 0 }), "\(turns)")
  }

  @Test func `a member that was alone gets its turns at once when others come`() throws {
    var bench = Bench(count: 2)
    for _ in 0..<1_000 { bench.queue.charge(10, to: &bench.accounts[0]) }
    bench.add(1)
    bench.add(0)
    var turns: [Int] = []
    for _ in 0..<20 {
      let member = try bench.step { _ in 10 }
      turns.append(member)
      bench.add(member)
    }
    #expect((9...11).contains(turns.count { $0 == 0 }))
  }

  @Test func `members with equal time are served in order of arrival`() throws {
    var bench = Bench(count: 4)
    for member in [2, 0, 3, 1] { bench.add(member) }
    var order: [Int] = []
    while !bench.queue.isEmpty { order.append(try bench.step { _ in 0 }) }
    #expect(order == [2, 0, 3, 1])
  }
}
