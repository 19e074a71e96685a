// Both imports are for `timespec`. CTimerFile includes its header, too, and the compiler attributes
// the type to the module that it reads first: https://github.com/apple/swift-system/pull/320.
import CTimerFile
import Glibc
public import WidgetModel

extension Timestamp {
  /// The time of the system's clock.
  public static func wallClock() -> Timestamp {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Timestamp(seconds: Int64(time.tv_sec), nanoseconds: Int32(time.tv_nsec)) ?? .epoch
  }
}
