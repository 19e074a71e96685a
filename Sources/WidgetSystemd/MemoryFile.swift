import Glibc

/// Bytes in a sealed memory file (memfd_create(2)). Nobody can change the content of the descriptor
/// any more. So it can be passed to another process, or to the next process of the service with
/// `ServiceNotifier.store`. The file uses memory while any copy of the descriptor is open.
///
/// The descriptor is close-on-exec, and closed with the value.
public struct MemoryFile: ~Copyable {
  /// The open, sealed file.
  public let descriptor: CInt

  /// Makes a file of the bytes.
  ///
  /// - Parameter name: the name in `/proc/PID/fd`, for people. At most `nameBytesMax` bytes without
  ///   a zero. It need not be unique.
  public init(name: String, bytes: [UInt8]) throws(SystemdError) {
    guard name.utf8.count <= MemoryFile.nameBytesMax, !name.utf8.contains(0) else {
      throw .argument(
        name: "A memory file's name",
        expected: "at most \(MemoryFile.nameBytesMax) bytes without a zero")
    }
    let made = try MemoryFile.makeUnsealed(name: name)
    if let error = MemoryFile.fill(made, bytes) {
      close(made)
      throw error
    }
    descriptor = made
  }

  deinit { close(descriptor) }

  /// Returns the descriptor, which the caller must then close.
  public consuming func release() -> CInt {
    let descriptor = descriptor
    discard self
    return descriptor
  }

  /// The maximum size of a name, in bytes.
  public static let nameBytesMax = 249

  /// All bytes of a sealed file. The descriptor and its offset do not change.
  ///
  /// Throws `notSealed` if the bytes could change, or it is not a memory file, and `tooLarge`, before
  /// reading, if there are more than `bytesMax`.
  public static func bytes(
    of descriptor: CInt, bytesMax: Int
  ) throws(SystemdError) -> [UInt8] {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else {
      throw .system(operation: "Reading a memory file", errno: errno)
    }
    guard let seals = Seals.of(descriptor), seals & Seals.contents == Seals.contents else {
      throw .notSealed
    }
    let size = Int(status.st_size)
    guard size <= bytesMax else {
      throw .tooLarge(what: "The memory file", bytes: size, bytesMax: bytesMax)
    }
    var failure: CInt = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, filled in
      while filled < size {
        let count = pread(
          descriptor, buffer.baseAddress.map { $0 + filled }, size - filled, off_t(filled))
        if count < 0 && errno == EINTR { continue }
        guard count > 0 else {
          // The size is sealed, so an early end is an error as well.
          failure = count < 0 ? errno : EIO
          break
        }
        filled += count
      }
    }
    guard failure == 0 else { throw .system(operation: "Reading a memory file", errno: failure) }
    return bytes
  }

  /// An empty file that can be written and sealed. The caller must close it.
  static func makeUnsealed(name: String) throws(SystemdError) -> CInt {
    guard let create else { throw .system(operation: "Making a memory file", errno: ENOSYS) }
    let made = create(name, Flags.closeOnExec | Flags.allowSealing)
    guard made >= 0 else { throw .system(operation: "Making a memory file", errno: errno) }
    return made
  }

  /// Writes and seals.
  private static func fill(_ descriptor: CInt, _ bytes: [UInt8]) -> SystemdError? {
    let failure = bytes.withUnsafeBytes { buffer -> CInt in
      var written = 0
      while written < buffer.count {
        let count = write(
          descriptor, buffer.baseAddress.map { $0 + written }, buffer.count - written)
        if count < 0 && errno == EINTR { continue }
        guard count > 0 else { return count < 0 ? errno : EIO }
        written += count
      }
      return 0
    }
    guard failure == 0 else { return .system(operation: "Writing a memory file", errno: failure) }
    guard fcntl(descriptor, Seals.add, Seals.contents | Seals.further) == 0 else {
      return .system(operation: "Sealing a memory file", errno: errno)
    }
    return nil
  }

  private enum Flags {
    static let closeOnExec: CUnsignedInt = 1
    static let allowSealing: CUnsignedInt = 2
  }

  // The C module does not have this constant, because it is not in POSIX.
  private typealias Create = @convention(c) (UnsafePointer<CChar>, CUnsignedInt) -> CInt
  private static let create: Create? = dlsym(nil, "memfd_create").map {
    unsafeBitCast($0, to: Create.self)
  }
}

/// The seals of a memory file, with the numbers of Linux (fcntl(2), "File sealing").
enum Seals {
  static let add: CInt = 1033
  static let get: CInt = 1034
  /// `F_SEAL_SEAL`: no more seals.
  static let further: CInt = 1
  /// `F_SEAL_SHRINK`, `F_SEAL_GROW` and `F_SEAL_WRITE`: neither the size nor the bytes change.
  static let contents: CInt = 2 | 4 | 8

  /// The seals of a file; nil if files of this kind have no seals.
  static func of(_ descriptor: CInt) -> CInt? {
    let seals = fcntl(descriptor, get)
    return seals < 0 ? nil : seals
  }
}
