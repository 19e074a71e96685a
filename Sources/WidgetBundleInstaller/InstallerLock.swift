import Glibc

/// A lock for one writer at a time. Other writers wait.
final class InstallerLock {
  private let file: Int32

  init(_ bundles: Folder) throws(BundleInstallerError) {
    file = openat(bundles.descriptor, ".lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o644)
    guard file >= 0 else { throw Folder.failure("write", "\(bundles.path)/.lock") }
    while flock(file, LOCK_EX) != 0 {
      guard errno == EINTR else {
        close(file)
        throw Folder.failure("lock", "\(bundles.path)/.lock")
      }
    }
  }

  func release() {
    // A child that is being started may have a copy of the descriptor, so closing it does not
    // release the lock.
    flock(file, LOCK_UN)
    close(file)
  }
}
