import CSQLite
import Glibc
import Synchronization

@testable import WidgetStorage

/// Makes writes to chosen files fail, below SQLite and above the kernel.
///
/// SQLite lets its system calls be replaced. The replacement passes every write on to the kernel,
/// unless a fault is armed for the file. So SQLite's own error handling is tested too. The calls
/// that are not SQLite's are in `FileCalls`.
enum WriteFaults {
  /// An armed fault.
  private struct Fault {
    let pathPrefix: String
    let pathSuffix: String
    var writesBefore: Int
    let code: Int32
    /// The fault is active while this file exists.
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

  /// Ends the process at a call that changes files: before it, or when half of the bytes of a write
  /// are there.
  static func kill(pathPrefix: String, atCall number: Int) {
    install
    FileCalls.setFaults { call, path in
      guard fault(path: path) != nil else { return nil }
      guard call != .write else { return .tear { Glibc.kill(getpid(), SIGKILL) } }
      Glibc.kill(getpid(), SIGKILL)
      return nil
    }
    armed.withLock {
      $0.append(
        Fault(
          pathPrefix: pathPrefix, pathSuffix: "", writesBefore: number, code: killing, file: nil,
          offsetMin: 0))
    }
  }

  /// Refuses one call that is not SQLite's, while `body` runs. Returns the refused call; nil if
  /// there were fewer calls.
  static func refuse(
    pathPrefix: String, atCall number: Int, code: CInt, _ body: () throws -> Void
  ) rethrows -> FileCalls.Call? {
    refusal.withLock { $0 = (number, nil) }
    FileCalls.setFaults { call, path in
      guard path.hasPrefix(pathPrefix) else { return nil }
      return refusal.withLock { refusal in
        defer { refusal.callsBefore -= 1 }
        guard refusal.callsBefore == 0 else { return nil }
        refusal.call = call
        return .failure(code)
      }
    }
    defer { FileCalls.setFaults(nil) }
    try body()
    return refusal.withLock { $0.call }
  }

  private static let refusal = Mutex<(callsBefore: Int, call: FileCalls.Call?)>((0, nil))

  /// Stands for the error number of a write at which the process ends.
  private static let killing: Int32 = -1

  /// The error number if the write is to fail.
  private static func fault(
    _ descriptor: Int32, offset: Int = .max, onlyKills: Bool = false
  ) -> Int32? {
    guard armed.withLock({ !$0.isEmpty }) else { return nil }
    var buffer = [CChar](repeating: 0, count: 4_096)
    let count = readlink("/proc/self/fd/\(descriptor)", &buffer, buffer.count)
    let bytes = buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) }
    return fault(
      path: String(decoding: bytes, as: UTF8.self), offset: offset, onlyKills: onlyKills)
  }

  private static func fault(
    path: String, offset: Int = .max, onlyKills: Bool = false
  ) -> Int32? {
    armed.withLock { faults in
      for index in faults.indices
      where path.hasPrefix(faults[index].pathPrefix) && path.hasSuffix(faults[index].pathSuffix)
        && offset >= faults[index].offsetMin && (!onlyKills || faults[index].code == killing)
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
    // Of the calls below, only kills are armed: they end the process before the call.
    let truncate: @convention(c) (Int32, Int) -> Int32 = { descriptor, bytes in
      if fault(descriptor, onlyKills: true) == killing { Glibc.kill(getpid(), SIGKILL) }
      return Glibc.ftruncate(descriptor, bytes)
    }
    let unlink: @convention(c) (UnsafePointer<CChar>?) -> Int32 = { path in
      guard let path else { return -1 }
      if fault(path: String(cString: path), onlyKills: true) == killing {
        Glibc.kill(getpid(), SIGKILL)
      }
      return Glibc.unlink(path)
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
    replace("ftruncate", unsafeBitCast(truncate, to: sqlite3_syscall_ptr.self))
    replace("unlink", unsafeBitCast(unlink, to: sqlite3_syscall_ptr.self))
  }()
}
