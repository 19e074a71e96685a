import Glibc

/// The memory that the process occupies, as the kernel reports it.
///
/// Read from /proc, which the service's sandbox leaves to the daemon. Each call reads a file, so it
/// is for statistics, not for the hot path.
enum ResidentMemory {
  /// The resident set in bytes; nil where /proc does not tell.
  static var bytes: UInt64? {
    let descriptor = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var text = [UInt8](repeating: 0, count: 256)
    let count = read(descriptor, &text, text.count)
    guard count > 0 else { return nil }
    return pages(in: String(decoding: text[..<count], as: UTF8.self))
      .map { $0 * UInt64(clamping: sysconf(Int32(_SC_PAGESIZE))) }
  }

  /// The second number of statm(5), the resident pages.
  static func pages(in statm: String) -> UInt64? {
    let numbers = statm.split(separator: " ")
    return numbers.count > 1 ? UInt64(numbers[1]) : nil
  }
}
