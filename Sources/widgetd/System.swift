import Glibc
import NIOCore

/// An environment variable that is set and not empty.
func environment(_ name: String) -> String? {
  guard let value = getenv(name) else { return nil }
  let text = String(cString: value)
  return text.isEmpty ? nil : text
}

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

/// The id of a group; nil if there is none of that name.
func groupID(named name: String) -> UInt32? {
  if let number = UInt32(name) { return number }
  return getgrnam(name).map { $0.pointee.gr_gid }
}

/// A number that no other store has: what identifies a new history. Never 0.
func randomEpoch() -> UInt64 {
  UInt64.random(in: 1...UInt64.max)
}
