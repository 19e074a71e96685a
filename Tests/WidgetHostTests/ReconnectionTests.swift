import Testing
import WidgetClient

@testable import WidgetHost

/// The return of the host's sessions and watches after the return of the daemon.
struct ReconnectionTests {
  @Test func `after a long absence of the daemon, all sessions are back at nearly the same time`()
    throws
  {
    var (first, last) = (ClientConnection.retry, ClientConnection.retry)
    first.jitter = { 1 }
    last.jitter = { 0 }
    let shortest = try #require(first.delay(beforeAttempt: 100))
    let longest = try #require(last.delay(beforeAttempt: 100))
    #expect(longest - shortest < .seconds(2))
  }
}
