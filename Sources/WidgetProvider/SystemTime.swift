import Glibc
public import WidgetModel

extension Timestamp {
  /// What the system's clock says.
  public static var ofSystem: Timestamp {
    // A `timespec` by its layout: with Dispatch in the same module the compiler may take the struct for one
    // of a module that has no name, and then lets nobody at its fields.
    var time: (seconds: Int, nanoseconds: Int) = (0, 0)
    withUnsafeMutablePointer(to: &time) { pointer in
      _ = clock_gettime(
        CLOCK_REALTIME, UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: timespec.self))
    }
    return Timestamp(seconds: Int64(time.seconds), nanoseconds: Int32(time.nanoseconds)) ?? .epoch
  }
}
