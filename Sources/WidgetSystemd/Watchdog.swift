import Glibc

/// The interval of this process's signs of life for the service manager (`WatchdogSec=`,
/// sd_watchdog_enabled(3)).
///
/// This type has no timer. The part that must not get stuck, such as the event loop, sends
/// `ServiceState.watchdog` every `interval`.
public struct Watchdog: Sendable, Equatable {
  /// The time without a sign of life after which the manager kills the process.
  public let timeout: Duration

  /// The watchdog of this process in `$WATCHDOG_USEC` and `$WATCHDOG_PID`; nil if there is none, or
  /// it is another process's. Throws if the variables are not numbers above 0.
  public init?(environment: ProcessEnvironment = .process) throws(SystemdError) {
    try self.init(environment: environment, processID: getpid())
  }

  init?(environment: ProcessEnvironment, processID: CInt) throws(SystemdError) {
    // Without the variable, the watchdog is for every process that reads the other variable.
    guard try environment.isProcess("WATCHDOG_PID", processID) ?? true else { return nil }
    // The largest number would mean no limit, and the manager never sends it.
    guard
      let microseconds = try environment.number(
        "WATCHDOG_USEC", in: 1...UInt64.max - 1, expected: "a number of microseconds above 0")
    else { return nil }
    timeout = .microseconds(microseconds)
  }

  /// Half of the timeout, so that one late sign does no harm. At least `intervalMin`, so that the
  /// process can do other work. At most `intervalMax`, which fits any timer.
  public var interval: Duration {
    min(max(timeout / 2, Watchdog.intervalMin), Watchdog.intervalMax)
  }

  public static let intervalMin = Duration.milliseconds(1)
  public static let intervalMax = Duration.seconds(3_600)
}
