import Testing
import WidgetClient

@Suite struct RetryPolicyTests {
  @Test func `the wait doubles up to its bound`() {
    let policy = RetryPolicy(
      delayInitial: .milliseconds(100), delayMax: .seconds(1), jitter: { 0 })
    let delays = (0..<6).map { policy.delay(beforeAttempt: $0) }
    #expect(
      delays == [
        .milliseconds(100), .milliseconds(200), .milliseconds(400), .milliseconds(800),
        .seconds(1), .seconds(1),
      ])
    #expect(policy.delay(beforeAttempt: .max) == .seconds(1))
  }

  @Test(arguments: [0, 0.25, 0.999, 1, 5, -3, .nan])
  func `the wait is shortened by at most half`(jitter: Double) throws {
    let policy = RetryPolicy(
      delayInitial: .milliseconds(100), delayMax: .seconds(1), jitter: { jitter })
    let delay = try #require(policy.delay(beforeAttempt: 0))
    #expect((.milliseconds(50)...(.milliseconds(100))).contains(delay))
  }

  @Test func `the daemon can ask for a longer wait`() {
    let policy = RetryPolicy(jitter: { 0 })
    #expect(policy.delay(beforeAttempt: 0, least: .seconds(60)) == .seconds(60))
    #expect(policy.delay(beforeAttempt: 0, least: .milliseconds(1)) == .milliseconds(100))
  }

  @Test func `a policy gives no delay after its last attempt`() {
    #expect(RetryPolicy.never.delay(beforeAttempt: 0) == nil)
    let policy = RetryPolicy(attemptsMax: 2)
    #expect(policy.delay(beforeAttempt: 1) != nil)
    #expect(policy.delay(beforeAttempt: 2) == nil)
    #expect(RetryPolicy.forever.delay(beforeAttempt: 1_000_000) != nil)
  }
}
