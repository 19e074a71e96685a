import Glibc

/// Opens a file of the state directory. Refuses links, and everything that is not a plain file.
///
/// `open` waits for the other end of a named pipe. So a pipe in the place of a file would block the
/// start of the daemon, without a message.
func openPlainFile(
  _ path: String, _ flags: Int32, _ mode: mode_t = 0
) throws(StorageError) -> Int32 {
  let descriptor = open(path, flags | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW, mode)
  guard descriptor >= 0 else { throw StorageError(errno: errno, path: path) }
  do throws(StorageError) { try checkIsPlain(descriptor, path) } catch {
    _ = Glibc.close(descriptor)
    throw error
  }
  return descriptor
}

/// Throws if an open file is not a plain file.
func checkIsPlain(_ descriptor: Int32, _ path: String) throws(StorageError) {
  var status = stat()
  guard fstat(descriptor, &status) == 0 else { throw StorageError(errno: errno, path: path) }
  guard status.st_mode & S_IFMT == S_IFREG else {
    throw .unsafe(path: path, detail: "it is not a plain file; move it away, and try again")
  }
}
