import Glibc

/// A state for the service manager: the assignments of sd_notify(3).
public enum ServiceState: Sendable, Equatable {
  /// The start, or the reload of the settings, is complete (`READY=1`).
  case ready
  /// The settings are being read again; `ready` follows. The time is that of the monotonic clock;
  /// see `reloadingNow` (`RELOADING=1`, `MONOTONIC_USEC=`).
  case reloading(monotonicMicroseconds: UInt64)
  /// The service ends (`STOPPING=1`).
  case stopping
  /// One line for `systemctl status` (`STATUS=`). Line breaks and other control characters become
  /// spaces. The line is cut after `ServiceState.statusBytesMax`.
  case status(String)
  /// The sign of life for the watchdog; see `Watchdog` (`WATCHDOG=1`).
  case watchdog
  /// Triggers the watchdog's timeout at once (`WATCHDOG=trigger`).
  case watchdogTrigger
  /// The number of the service's new main process, above 0 (`MAINPID=`).
  case mainProcess(CInt)
  /// The further time that the start or the stop needs from now on. At least a microsecond
  /// (`EXTEND_TIMEOUT_USEC=`).
  case extendTimeout(Duration)
  /// The reason of the service's failure, as an errno above 0 (`ERRNO=`).
  case errorNumber(CInt)

  /// The maximum size of a status, in bytes.
  public static let statusBytesMax = 2_048

  /// `reloading`, with the present time.
  public static var reloadingNow: ServiceState {
    .reloading(monotonicMicroseconds: UInt64(clamping: monotonicNanoseconds() / 1_000))
  }

  /// The lines of the message, without a line break at the end.
  func lines() throws(SystemdError) -> String {
    switch self {
    case .ready: return "READY=1"
    case .reloading(let microseconds): return "RELOADING=1\nMONOTONIC_USEC=\(microseconds)"
    case .stopping: return "STOPPING=1"
    case .status(let text):
      return "STATUS=" + singleLine(prefix(of: text, bytesMax: ServiceState.statusBytesMax))
    case .watchdog: return "WATCHDOG=1"
    case .watchdogTrigger: return "WATCHDOG=trigger"
    case .mainProcess(let number):
      guard number > 0 else { throw .argument(name: "The main process", expected: "above 0") }
      return "MAINPID=\(number)"
    case .extendTimeout(let duration):
      let microseconds = duration.wholeMicroseconds
      guard microseconds > 0 else {
        throw .argument(name: "The longer timeout", expected: "at least a microsecond")
      }
      return "EXTEND_TIMEOUT_USEC=\(microseconds)"
    case .errorNumber(let number):
      guard number > 0 else { throw .argument(name: "The error number", expected: "above 0") }
      return "ERRNO=\(number)"
    }
  }
}

extension Duration {
  /// Microseconds, rounded down, up to the maximum value.
  var wholeMicroseconds: Int64 {
    let (seconds, attoseconds) = components
    let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
    guard !overflow else { return seconds > 0 ? .max : .min }
    let (sum, sumOverflow) = scaled.addingReportingOverflow(attoseconds / 1_000_000_000_000)
    return sumOverflow ? (seconds > 0 ? .max : .min) : sum
  }
}

/// The time of the monotonic clock, which the service manager uses, too.
func monotonicNanoseconds() -> Int64 {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}
