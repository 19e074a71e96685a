import Glibc
import WidgetServer
import WidgetSystemd

/// An environment variable that is set and not empty.
func environment(_ name: String) -> String? {
  guard let value = getenv(name) else { return nil }
  let text = String(cString: value)
  return text.isEmpty ? nil : text
}

/// The log before the logger exists.
let errorLog = StandardErrorLog(name: "widgetd")

/// Writes a line to standard error, in one piece.
func writeError(_ line: String) {
  let bytes = Array((line + "\n").utf8)
  _ = write(STDERR_FILENO, bytes, bytes.count)
}

/// Lets the process have as many open files as the system allows: each connection is one.
func raiseOpenFileLimit() {
  var limit = rlimit()
  guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
  limit.rlim_cur = limit.rlim_max
  setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
}

/// Gives unused memory back to the system: freed memory that malloc keeps, and the code pages that
/// only the start, or a burst, needed. The kernel loads the code pages again on use.
@Sendable func releaseMemory(_ memory: WidgetServer.ReleasedMemory) {
  trimHeap()
  if memory == .freedAndCode { releaseCodePages() }
}

private func trimHeap() {
  // The C module does not have this constant.
  guard let symbol = dlsym(nil, "malloc_trim") else { return }
  typealias Trim = @convention(c) (Int) -> CInt
  _ = unsafeBitCast(symbol, to: Trim.self)(0)
}

private func releaseCodePages() {
  guard let file = fopen("/proc/self/maps", "re") else { return }
  defer { fclose(file) }
  var line = [CChar](repeating: 0, count: 4_096)
  while fgets(&line, CInt(line.count), file) != nil {
    let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    let fields = text.split(separator: " ", omittingEmptySubsequences: true)
    guard fields.count >= 6, fields[1] == "r-xp", fields[5].hasPrefix("/") else { continue }
    let bounds = fields[0].split(separator: "-").compactMap { UInt(String($0), radix: 16) }
    guard bounds.count == 2, let start = UnsafeMutableRawPointer(bitPattern: bounds[0]) else {
      continue
    }
    // Code is never written to, so nothing can be lost.
    madvise(start, Int(bounds[1] - bounds[0]), MADV_DONTNEED)
  }
}

/// The id of a group; nil if there is none of that name.
func groupID(named name: String) -> UInt32? {
  if let number = UInt32(name) { return number }
  return getgrnam(name).map { $0.pointee.gr_gid }
}

/// The uid of an account; nil if there is none of that name.
func userID(named name: String) -> UInt32? {
  var size = 1_024
  while size <= 1 << 20 {
    var account = passwd()
    var found: UnsafeMutablePointer<passwd>?
    var texts = [CChar](repeating: 0, count: size)
    let status = getpwnam_r(name, &account, &texts, size, &found)
    guard status == ERANGE else { return found == nil ? nil : account.pw_uid }
    size *= 4
  }
  return nil
}

/// A number that no other store has. It identifies a new history. Never 0.
func randomEpoch() -> UInt64 {
  UInt64.random(in: 1...UInt64.max)
}
