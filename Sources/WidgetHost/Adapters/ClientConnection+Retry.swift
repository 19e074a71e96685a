import Synchronization
import WidgetClient

extension ClientConnection {
  /// Each session and each watch reconnects alone. A longer maximum would bring them back many
  /// seconds apart. Bundles and widgets would then show different states. But many bundles must not
  /// occupy the machine while the daemon is away, so the maximum grows with their number.
  static func retry(among sessions: Int) -> RetryPolicy {
    let wait = Duration.milliseconds(100) * sessions
    return RetryPolicy(delayMax: min(max(wait, Duration.seconds(2)), Duration.seconds(10)))
  }
}

/// The number of the host's sessions.
final class SessionCount: Sendable {
  private let count = Mutex(0)

  var number: Int { count.withLock { $0 } }

  /// - Returns: the number with the new session.
  func begin() -> Int {
    count.withLock { count in
      count += 1
      return count
    }
  }

  func end() { count.withLock { $0 -= 1 } }
}
