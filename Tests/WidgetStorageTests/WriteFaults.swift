import CSQLite
import Glibc
import Synchronization

/// Makes writes to chosen files fail, below SQLite and above the kernel.
///
/// SQLite lets its system calls be replaced. The replacement passes every write on to the kernel,
/// unless a fault is armed for the file; so all of SQLite's own error handling is at work.
enum WriteFaults {
  /// An armed fault.
  private struct Fault {
    let pathPrefix: String
    let pathSuffix: String
    var writesBefore: Int
    let code: Int32
    /// The fault is there as long as this file is.
    let file: String?
    /// Only writes that begin at this byte of the file or later fail.
    let offsetMin: Int
    var hits = 0
  }

  private static let armed = Mutex<[Fault]>([])

  /// Runs `body` while writes to matching files fail with an error number, after the first few have
  /// succeeded. Returns how many have failed.
  static func during(
    pathPrefix: String, pathSuffix: String = "", after writesBefore: Int = 0, code: Int32,
    whileExists file: String? = nil, fromByte offsetMin: Int = 0,
    _ body: () throws -> Void
  ) rethrows -> Int {
    install
    armed.withLock {
      $0.append(
        Fault(
          pathPrefix: pathPrefix, pathSuffix: pathSuffix, writesBefore: writesBefore, code: code,
          file: file, offsetMin: offsetMin))
    }
    func disarm() -> Int {
      armed.withLock { faults in
        let hits = faults.filter { $0.pathPrefix == pathPrefix }.reduce(0) { $0 + $1.hits }
        faults.removeAll { $0.pathPrefix == pathPrefix }
        return hits
      }
    }
    do { try body() } catch {
      _ = disarm()
      throw error
    }
    return disarm()
  }

  /// Ends the process at a write to a file: half of its bytes get there.
  static func kill(pathPrefix: String, atWrite number: Int) {
    install
    armed.withLock {
      $0.append(
        Fault(
          pathPrefix: pathPrefix, pathSuffix: "", writesBefore: number, code: killing, file: nil,
          offsetMin: 0))
    }
  }

  /// Stands for the error number of a write at which the process ends.
  private static let killing: Int32 = -1

  /// The error number if the write is to fail.
  private static func fault(_ descriptor: Int32, offset: Int = .max) -> Int32? {
    armed.withLock { faults in
      guard !faults.isEmpty else { return nil }
      var buffer = [CChar](repeating: 0, count: 4_096)
      let count = readlink("/proc/self/fd/\(descriptor)", &buffer, buffer.count)
      let bytes = buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) }
      let path = String(decoding: bytes, as: UTF8.self)
      for index in faults.indices
      where path.hasPrefix(faults[index].pathPrefix) && path.hasSuffix(faults[index].pathSuffix)
        && offset >= faults[index].offsetMin
      {
        if let file = faults[index].file, access(file, F_OK) != 0 { continue }
        faults[index].writesBefore -= 1
        guard faults[index].writesBefore < 0 else { continue }
        faults[index].hits += 1
        return faults[index].code
      }
      return nil
    }
  }

  private static let install: Void = {
    let write: @convention(c) (Int32, UnsafeRawPointer?, Int) -> Int = { descriptor, bytes, count in
      if let code = fault(descriptor) {
        if code == killing {
          _ = Glibc.write(descriptor, bytes, count / 2)
          Glibc.kill(getpid(), SIGKILL)
        }
        errno = code
        return -1
      }
      return Glibc.write(descriptor, bytes, count)
    }
    let pwrite: @convention(c) (Int32, UnsafeRawPointer?, Int, Int) -> Int = {
      descriptor, bytes, count, offset in
      if let code = fault(descriptor, offset: offset) {
        if code == killing {
          _ = Glibc.pwrite(descriptor, bytes, count / 2, offset)
          Glibc.kill(getpid(), SIGKILL)
        }
        errno = code
        return -1
      }
      return Glibc.pwrite(descriptor, bytes, count, offset)
    }
    sqlite3_initialize()
    guard let vfs = sqlite3_vfs_find(nil) else { return }
    func replace(_ name: String, _ pointer: sqlite3_syscall_ptr?) {
      guard vfs.pointee.xGetSystemCall(vfs, name) != nil else { return }
      _ = vfs.pointee.xSetSystemCall(vfs, name, pointer)
    }
    replace("write", unsafeBitCast(write, to: sqlite3_syscall_ptr.self))
    replace("pwrite", unsafeBitCast(pwrite, to: sqlite3_syscall_ptr.self))
    replace("pwrite64", unsafeBitCast(pwrite, to: sqlite3_syscall_ptr.self))
  }()
}
