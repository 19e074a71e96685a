import Testing

@testable import WidgetHost

/// The shares of an allowance that several have together.
struct FairAllowanceTests {
  private var allowance = FairAllowance<Int>(burst: 10, perSecond: 6)

  init() { allowance.refill(at: .zero) }

  /// Takes until nothing is left.
  private func takeAll(_ allowance: inout FairAllowance<Int>, by sharer: Int) -> Int {
    var count = 0
    while count < 100, allowance.takeOne(by: sharer) { count += 1 }
    return count
  }

  @Test func `a lone sharer has the full amounts`() {
    var allowance = self.allowance
    let burst = takeAll(&allowance, by: 1)
    allowance.refill(at: .seconds(1))
    let later = takeAll(&allowance, by: 1)
    allowance.refill(at: .seconds(100))
    let muchLater = takeAll(&allowance, by: 1)
    #expect([burst, later, muchLater] == [10, 6, 10])
  }

  @Test func `a sharer who begins has a share, although another one takes everything`() {
    var allowance = self.allowance
    let first = takeAll(&allowance, by: 1)
    let second = takeAll(&allowance, by: 2)
    #expect([first, second] == [10, 5])
    allowance.refill(at: .seconds(1))
    let shares = [1, 2].map { takeAll(&allowance, by: $0) }
    #expect(shares == [3, 3])
  }

  @Test func `a sharer with a full share no longer counts`() {
    var allowance = self.allowance
    _ = [1, 2].map { takeAll(&allowance, by: $0) }
    for second in 1...3 {
      allowance.refill(at: .seconds(second))
      _ = takeAll(&allowance, by: 1)
    }
    allowance.refill(at: .seconds(4))
    let alone = takeAll(&allowance, by: 1)
    #expect(alone == 6)
  }

  @Test func `a share can become negative, and refills from there`() {
    var allowance = self.allowance
    allowance.take(16, by: 1)
    let left = allowance.available(to: 1)
    allowance.refill(at: .seconds(1))
    #expect(left == -6 && allowance.available(to: 1) == 0)
  }

  @Test func `sharers above the limit have one share together`() {
    var allowance = self.allowance
    let taken = (0..<100).filter { allowance.takeOne(by: $0) }
    #expect(taken == Array(0...FairAllowance<Int>.sharersMax))
  }

  @Test func `a few sharers can have the full amounts side by side`() {
    var allowance = FairAllowance<Int>(burst: 9, perSecond: 1, fullShares: 2)
    let counts = [1, 2, 3].map { takeAll(&allowance, by: $0) }
    #expect(counts == [9, 9, 6])
  }
}
