import Testing
import WidgetClient

@testable import WidgetHost

/// The return of the host's sessions and watches after the return of the daemon.
struct ReconnectionTests {
  @Test func `after a long absence of the daemon, all sessions are back at nearly the same time`()
    throws
  {
    var (first, last) = (ClientConnection.retry(among: 20), ClientConnection.retry(among: 20))
    first.jitter = { 1 }
    last.jitter = { 0 }
    let shortest = try #require(first.delay(beforeAttempt: 100))
    let longest = try #require(last.delay(beforeAttempt: 100))
    #expect(longest - shortest < .seconds(2))
  }

  /// The numbers of bundles, each with a session and a watch.
  @Test(arguments: [1, 20, 50, 100, 1_000])
  func `many bundles make a limited number of attempts while the daemon is away`(count: Int)
    throws
  {
    var policy = ClientConnection.retry(among: count)
    policy.jitter = { 0 }
    let wait = try #require(policy.delay(beforeAttempt: 100))
    #expect(wait >= .seconds(2) && wait <= .seconds(10))
    #expect(Double(count * 2) / (wait / .seconds(1)) <= max(20, Double(count) / 5))
  }
}
