@preconcurrency import Dispatch
import Glibc
import Synchronization

/// Reports changes of files and folders, by inotify(7).
///
/// It watches a file's folder. So it notices a missing file that is created, and a file that is
/// replaced by another, as editors do. For a missing folder it watches the nearest existing parent.
/// Changes are collected by key until they are taken. So their memory is bounded by the number of
/// keys.
final class FileWatcher: Sendable {
  enum Key: Hashable, Sendable {
    case request(RequestID)
    /// A bundle's folder: all its entries.
    case folder(String)
    /// A folder of bundles: the folders in it.
    case root(String)
  }

  private struct Watched {
    let path: String
    /// Whether the entries of the path are watched, and not the path itself.
    let isFolder: Bool
    var descriptor: CInt
    /// The name that matters in the watched folder; nil for all.
    var name: String?
    /// Whether the path or its folder is watched, not a folder above.
    var isNearest: Bool
  }

  private struct State {
    var watched: [Key: Watched] = [:]
    var keys: [CInt: Set<Key>] = [:]
    var changed: Set<Key> = []
    var waiter: CheckedContinuation<Set<Key>, Never>?
    var isClosed = false
  }

  private let inotify: CInt
  private let source: any DispatchSourceRead
  private let state = Mutex(State())

  private static let mask =
    UInt32(IN_CREATE) | UInt32(IN_CLOSE_WRITE) | UInt32(IN_MODIFY) | UInt32(IN_DELETE)
    | UInt32(IN_MOVED_FROM) | UInt32(IN_MOVED_TO) | UInt32(IN_ATTRIB) | UInt32(IN_DELETE_SELF)
    | UInt32(IN_MOVE_SELF) | UInt32(IN_ONLYDIR)

  init() throws(Failure) {
    inotify = inotify_init1(CInt(IN_NONBLOCK) | CInt(IN_CLOEXEC))
    guard inotify >= 0 else {
      throw Failure(
        "RESOURCE_EXHAUSTED",
        "files cannot be watched: \(errorText()); see /proc/sys/fs/inotify/max_user_instances")
    }
    source = DispatchSource.makeReadSource(
      fileDescriptor: inotify, queue: DispatchQueue(label: "widgetd-host.inotify"))
    source.setEventHandler { [weak self] in self?.read() }
    let descriptor = inotify
    source.setCancelHandler { Glibc.close(descriptor) }
    source.activate()
  }

  deinit { source.cancel() }

  /// The number of used kernel watches, for tests.
  var watchCount: Int { state.withLock { $0.keys.count } }

  /// Begins to watch. For a folder, every entry counts; for a file, only the file. A key that is
  /// watched already is watched at the new path.
  func watch(_ key: Key, path: String, isFolder asked: Bool = false) throws(Failure) {
    let isFolder = if case .request = key { asked } else { true }
    let result: Result<Void, Failure> = state.withLock { state in
      release(key, &state)
      defer { wake(&state) }
      return arm(key, path, isFolder: isFolder, &state)
    }
    try result.get()
  }

  func unwatch(_ key: Key) {
    state.withLock { state in
      release(key, &state)
      state.changed.remove(key)
    }
  }

  /// Resumes the waiting caller, with nothing if nothing has changed.
  func wake() {
    state.withLock { $0.waiter.take()?.resume(returning: []) }
  }

  /// Reports a watched key as changed.
  func touch(_ key: Key) {
    state.withLock { state in
      guard state.watched[key] != nil else { return }
      state.changed.insert(key)
      wake(&state)
    }
  }

  /// Waits until something has changed, and returns the keys. Only one caller may wait. Empty after
  /// `close` and `wake`.
  func next() async -> Set<Key> {
    await withCheckedContinuation { continuation in
      state.withLock { state in
        if state.changed.isEmpty, !state.isClosed {
          state.waiter = continuation
        } else {
          continuation.resume(returning: state.changed)
          state.changed = []
        }
      }
    }
  }

  /// Ends the watcher, and resumes the waiting caller.
  func close() {
    state.withLock { state in
      state.isClosed = true
      state.waiter.take()?.resume(returning: [])
    }
    source.cancel()
  }

  // MARK: In the lock

  private func arm(
    _ key: Key, _ path: String, isFolder: Bool, _ state: inout State
  ) -> Result<Void, Failure> {
    var folder = isFolder ? path : Paths.parent(path)
    var name: String? = isFolder ? nil : String(Paths.lastComponent(path))
    var isNearest = true
    while true {
      let descriptor = inotify_add_watch(inotify, folder, FileWatcher.mask)
      if descriptor >= 0 {
        // The key counts as changed, because a file may have been created in between.
        if !isNearest, let name, access("\(folder)/\(name)", F_OK) == 0 {
          state.changed.insert(key)
        }
        state.watched[key] = Watched(
          path: path, isFolder: isFolder, descriptor: descriptor, name: name,
          isNearest: isNearest)
        state.keys[descriptor, default: []].insert(key)
        return .success(())
      }
      guard errno == ENOENT || errno == ENOTDIR || errno == EACCES, folder != "/" else {
        return .failure(
          Failure(
            "RESOURCE_EXHAUSTED",
            "\(path) cannot be watched: \(errorText());"
              + " see /proc/sys/fs/inotify/max_user_watches"))
      }
      name = String(Paths.lastComponent(folder))
      folder = Paths.parent(folder)
      isNearest = false
    }
  }

  private func release(_ key: Key, _ state: inout State) {
    guard let watched = state.watched.removeValue(forKey: key) else { return }
    state.keys[watched.descriptor]?.remove(key)
    if state.keys[watched.descriptor]?.isEmpty == true {
      state.keys[watched.descriptor] = nil
      inotify_rm_watch(inotify, watched.descriptor)
    }
  }

  private func read() {
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    state.withLock { state in
      while true {
        let count = Glibc.read(inotify, &buffer, buffer.count)
        guard count > 0 else { break }
        handle(buffer[..<count], &state)
      }
      wake(&state)
    }
  }

  private func wake(_ state: inout State) {
    guard !state.changed.isEmpty, let waiter = state.waiter.take() else { return }
    waiter.resume(returning: state.changed)
    state.changed = []
  }

  private func handle(_ bytes: ArraySlice<UInt8>, _ state: inout State) {
    var rest = bytes
    let headSize = MemoryLayout<inotify_event>.size
    while rest.count >= headSize {
      let (descriptor, mask, length) = rest.withUnsafeBytes { raw in
        (
          raw.loadUnaligned(fromByteOffset: 0, as: Int32.self),
          raw.loadUnaligned(fromByteOffset: 4, as: UInt32.self),
          Int(raw.loadUnaligned(fromByteOffset: 12, as: UInt32.self))
        )
      }
      let nameBytes = rest.dropFirst(headSize).prefix(length).prefix { $0 != 0 }
      rest = rest.dropFirst(headSize + length)
      if mask & UInt32(IN_Q_OVERFLOW) != 0 {
        // Notifications were lost, so every key may have changed.
        state.changed.formUnion(state.watched.keys)
        for key in Array(state.watched.keys) { armAgain(key, &state) }
        continue
      }
      let name = String(decoding: nameBytes, as: UTF8.self)
      let isItself =
        mask & (UInt32(IN_DELETE_SELF) | UInt32(IN_MOVE_SELF) | UInt32(IN_IGNORED)) != 0
      for key in state.keys[descriptor] ?? [] {
        guard let watched = state.watched[key] else { continue }
        guard isItself || watched.name == nil || watched.name == name else { continue }
        state.changed.insert(key)
        // The folder was removed, or a folder nearer to the path was created.
        if isItself || !watched.isNearest { armAgain(key, &state) }
      }
      if mask & UInt32(IN_IGNORED) != 0 { state.keys[descriptor] = nil }
    }
  }

  private func armAgain(_ key: Key, _ state: inout State) {
    guard let watched = state.watched[key] else { return }
    release(key, &state)
    if case .failure = arm(key, watched.path, isFolder: watched.isFolder, &state) {
      // The kernel has no more watches. The next request tries again.
      state.changed.insert(key)
    }
  }
}

/// The text of errno.
func errorText() -> String { String(cString: strerror(errno)) }
