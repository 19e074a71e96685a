import Glibc

extension Duration {
  /// The time since the machine's start, with the time that it slept.
  static func sinceMachineStart() -> Duration {
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
  }
}
