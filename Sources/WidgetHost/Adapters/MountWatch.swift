import CHostSystem
import Glibc

/// Reports changes of the mounted file systems.
///
/// A mount on a folder causes no event of inotify(7). The kernel reports it to readers of the table
/// of mounts, by `POLLPRI`; see proc(5). A thread waits for that. It does not run otherwise.
final class MountWatch: Sendable {
  private let stop: CInt

  /// Nil if the table cannot be watched.
  init?(_ changed: @escaping @Sendable () -> Void) {
    let table = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)
    guard table >= 0 else { return nil }
    let stop = host_open_event()
    guard stop >= 0, startThread({ MountWatch.run(table, stop, changed) }) else {
      close(table)
      if stop >= 0 { close(stop) }
      return nil
    }
    self.stop = stop
  }

  deinit { _ = host_signal_event(stop) }

  /// Waits until `stop` becomes readable, and closes both descriptors.
  private static func run(_ table: CInt, _ stop: CInt, _ changed: @Sendable () -> Void) {
    defer {
      close(table)
      close(stop)
    }
    var entries = [
      pollfd(fd: stop, events: Int16(POLLIN), revents: 0),
      pollfd(fd: table, events: Int16(POLLPRI), revents: 0),
    ]
    while true {
      let count = poll(&entries, nfds_t(entries.count), -1)
      if count < 0 { continue }
      if entries[0].revents != 0 { return }
      // The kernel sets POLLERR together with POLLPRI. Without POLLPRI, it means an error.
      if entries[1].revents & Int16(POLLPRI) != 0 {
        changed()
      } else if entries[1].revents != 0 {
        entries[1].fd = -1
      }
    }
  }
}
