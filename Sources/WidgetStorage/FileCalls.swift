import Glibc
import Synchronization

/// The system calls that change the files of a store, beside those of SQLite.
///
/// Each is a failpoint: a test can end the process before it, let a write end in its middle, or
/// refuse the call. So a test that counts from 0 drives a store through every moment at which a
/// process can end.
enum FileCalls {
  enum Call: String, Hashable, Sendable, CaseIterable {
    case write, rename, unlink, flush, truncate, allocate
  }

  /// The failure in place of a call.
  enum Fault: Sendable {
    /// The call fails with an error number.
    case failure(CInt)
    /// Half of the bytes are written. Then the closure ends the process.
    case tear(then: @Sendable () -> Void)
  }

  /// Decides before each call; nil lets the call happen.
  typealias Decision = @Sendable (Call, _ path: String) -> Fault?

  private static let decision = Mutex<Decision?>(nil)

  /// Arms the failpoints, or disarms them. Only for tests.
  static func setFaults(_ decide: Decision?) { decision.withLock { $0 = decide } }

  private static func fault(_ call: Call, _ path: String) -> Fault? {
    guard let decide = decision.withLock({ $0 }) else { return nil }
    return decide(call, path)
  }

  /// Whether the call must fail. If so, sets `errno`.
  private static func refuses(_ call: Call, _ path: String) -> Bool {
    guard case .failure(let code)? = fault(call, path) else { return false }
    errno = code
    return true
  }

  /// Writes at the start of a file. Returns the number of bytes, or -1.
  static func write(_ bytes: [UInt8], to descriptor: CInt, _ path: String) -> Int {
    switch fault(.write, path) {
    case nil: break
    case .tear(let end):
      _ = pwrite(descriptor, bytes, bytes.count / 2, 0)
      end()
    case .failure(let code):
      errno = code
      return -1
    }
    return pwrite(descriptor, bytes, bytes.count, 0)
  }

  static func rename(_ old: String, to new: String) -> CInt {
    refuses(.rename, new) ? -1 : Glibc.rename(old, new)
  }

  @discardableResult
  static func unlink(_ path: String) -> CInt {
    refuses(.unlink, path) ? -1 : Glibc.unlink(path)
  }

  static func flush(_ descriptor: CInt, _ path: String) -> CInt {
    refuses(.flush, path) ? -1 : fsync(descriptor)
  }

  static func truncate(_ descriptor: CInt, _ path: String, to bytes: Int) -> CInt {
    refuses(.truncate, path) ? -1 : ftruncate(descriptor, off_t(bytes))
  }

  /// Returns an error number, or 0.
  static func allocate(_ descriptor: CInt, _ path: String, _ bytes: Int) -> CInt {
    refuses(.allocate, path) ? errno : posix_fallocate(descriptor, 0, off_t(bytes))
  }
}
