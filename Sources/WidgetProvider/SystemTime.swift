import Glibc
public import WidgetModel

extension Timestamp {
  /// The time of the system's clock.
  public static var ofSystem: Timestamp {
    // A `timespec` by its layout. With Dispatch in the same module, the compiler may take the
    // struct from a module without a name, and then its fields are not accessible.
    var time: (seconds: Int, nanoseconds: Int) = (0, 0)
    withUnsafeMutablePointer(to: &time) { pointer in
      _ = clock_gettime(
        CLOCK_REALTIME, UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: timespec.self))
    }
    return Timestamp(seconds: Int64(time.seconds), nanoseconds: Int32(time.nanoseconds)) ?? .epoch
  }
}
