@preconcurrency import Dispatch
import Glibc
import Synchronization

/// Reports changes of files and folders, by inotify(7).
///
/// It watches a file's folder. So it notices a missing file that is created, and a file that is
/// replaced by another, as editors do. For a missing folder it watches the nearest existing parent.
/// It also watches the way to this folder: a folder that is moved, a symbolic link that gets another
/// target, and a file system that is mounted. Changes are collected by key until they are taken. So
/// their memory is bounded by the number of keys.
///
/// The kernel limits the watches of a user, and other programs can use them up. A key that is not
/// watched completely is reported as changed, and has a `failure`. The watcher tries again after
/// pauses, and reports the key again when it is watched.
final class FileWatcher: Sendable {
  enum Key: Hashable, Sendable {
    case request(RequestID)
    /// A bundle's folder: all its entries.
    case folder(String)
    /// A folder of bundles: the folders in it.
    case root(String)
  }

  /// inotify_add_watch(2).
  typealias AddWatch = @Sendable (_ inotify: CInt, _ path: String, _ mask: UInt32) -> CInt

  /// A kernel watch of a folder, for a reason.
  private struct Link: Hashable {
    let descriptor: CInt
    let interest: PathWalk.Interest
  }

  private struct Watched {
    let path: String
    /// Whether the entries of the path are watched, and not the path itself.
    let isFolder: Bool
    var walk: PathWalk
    var links: Set<Link>
    /// The reason why a part of the way is not watched; nil if the whole way is.
    var failure: Failure?
  }

  /// A folder that the kernel watches. Several keys can share it.
  private struct Kernel {
    let path: String
    var users: [Key: Int] = [:]
    /// The keys for the entries of one name.
    var named: [String: [Key: Int]] = [:]
    /// The keys for all entries.
    var all: Set<Key> = []
    /// The number of links that need the mask.
    var masks: [UInt32: Int] = [:]

    var mask: UInt32 { masks.keys.reduce(0, |) }
  }

  private struct State {
    var watched: [Key: Watched] = [:]
    var kernel: [CInt: Kernel] = [:]
    var changed: Set<Key> = []
    var waiter: CheckedContinuation<Set<Key>, Never>?
    var isClosed = false
    var isRetryPlanned = false
    var mounts: MountWatch?
  }

  private let inotify: CInt
  private let addWatch: AddWatch
  private let retryPause: Duration
  private let queue = DispatchQueue(label: "widgetd-host.inotify")
  private let source: any DispatchSourceRead
  private let state = Mutex(State())

  private static let selfMask = UInt32(IN_DELETE_SELF) | UInt32(IN_MOVE_SELF)
  private static let stepMask =
    selfMask | UInt32(IN_CREATE) | UInt32(IN_DELETE) | UInt32(IN_MOVED_FROM)
    | UInt32(IN_MOVED_TO) | UInt32(IN_ATTRIB)
  private static let contentMask = stepMask | UInt32(IN_CLOSE_WRITE) | UInt32(IN_MODIFY)

  /// The kernel's events for an interest. A folder that is only on the way causes no events for
  /// its entries.
  private static func mask(_ interest: PathWalk.Interest) -> UInt32 {
    switch interest {
    case .itself: selfMask
    case .step: stepMask
    case .target, .entries: contentMask
    }
  }

  /// - Parameters:
  ///   - retryPause: the pause before the next attempt to watch what the kernel does not watch.
  ///   - addWatch: for tests.
  init(
    retryPause: Duration = .seconds(5),
    addWatch: @escaping AddWatch = { inotify_add_watch($0, $1, $2) }
  ) throws(Failure) {
    self.retryPause = retryPause
    self.addWatch = addWatch
    inotify = inotify_init1(CInt(IN_NONBLOCK) | CInt(IN_CLOEXEC))
    guard inotify >= 0 else {
      throw Failure(
        "RESOURCE_EXHAUSTED",
        "files cannot be watched: \(errorText()); see /proc/sys/fs/inotify/max_user_instances")
    }
    source = DispatchSource.makeReadSource(fileDescriptor: inotify, queue: queue)
    source.setEventHandler { [weak self] in self?.read() }
    let descriptor = inotify
    source.setCancelHandler { Glibc.close(descriptor) }
    source.activate()
    let mounts = MountWatch { [weak self] in self?.walkAgain() }
    state.withLock { $0.mounts = mounts }
  }

  deinit { source.cancel() }

  /// The number of used kernel watches, for tests.
  var watchCount: Int { state.withLock { $0.kernel.count } }

  /// Begins to watch. For a folder, every entry counts; for a file, only the file. A key that is
  /// watched already is watched at the new path. If that fails, the key is reported as changed.
  func watch(_ key: Key, path: String, isFolder asked: Bool = false) {
    let isFolder = if case .request = key { asked } else { true }
    state.withLock { state in
      arm(key, path, isFolder: isFolder, &state)
      if state.watched[key]?.failure != nil { state.changed.insert(key) }
      wake(&state)
    }
  }

  /// The reason why changes of a key can stay unnoticed; nil if the key is watched completely.
  func failure(of key: Key) -> Failure? { state.withLock { $0.watched[key]?.failure } }

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
      state.mounts = nil
      state.waiter.take()?.resume(returning: [])
    }
    source.cancel()
  }

  // MARK: In the lock

  /// Watches the way to a path. The key's former watches end if they are not needed any more.
  private func arm(_ key: Key, _ path: String, isFolder: Bool, _ state: inout State) {
    var joined = state.watched[key]?.links ?? []
    var walk = walk(key, path, isFolder)
    var links: Set<Link> = []
    var failure: Failure?
    // A folder or link can change while it is not watched yet. Then the way is another one.
    for _ in 0..<FileWatcher.walksMax {
      links = []
      for place in walk.places {
        switch add(place, path) {
        case .success(let found):
          guard let (link, folder) = found else { continue }
          links.insert(link)
          if joined.insert(link).inserted { join(key, link, folder, &state) }
        case .failure(let reason): failure = reason
        }
      }
      let again = self.walk(key, path, isFolder)
      guard again != walk, failure == nil else { break }
      walk = again
    }
    for link in joined.subtracting(links) { leave(key, link, &state) }
    state.watched[key] = Watched(
      path: path, isFolder: isFolder, walk: walk, links: links, failure: failure)
    if failure != nil { planRetry(&state) }
  }

  private func planRetry(_ state: inout State) {
    guard !state.isRetryPlanned, !state.isClosed else { return }
    state.isRetryPlanned = true
    let seconds: Double = retryPause / .seconds(1)
    queue.asyncAfter(deadline: DispatchTime.now() + seconds) { [weak self] in self?.retry() }
  }

  /// Tries again to watch the keys that are not watched completely.
  private func retry() {
    state.withLock { state in
      state.isRetryPlanned = false
      guard !state.isClosed else { return }
      for (key, watched) in state.watched where watched.failure != nil {
        arm(key, watched.path, isFolder: watched.isFolder, &state)
        if state.watched[key]?.failure == nil { state.changed.insert(key) }
      }
      wake(&state)
    }
  }

  private static let walksMax = 4

  /// Adds a kernel watch, in the nearest folder above if this process may not read the folder.
  /// Nil if a folder on the way cannot be watched itself.
  private func add(
    _ place: PathWalk.Place, _ path: String
  ) -> Result<(Link, folder: String)?, Failure> {
    var (folder, interest) = (place.folder, place.interest)
    while true {
      // Another key may need more events of the same folder.
      let mask = FileWatcher.mask(interest) | UInt32(IN_ONLYDIR) | UInt32(IN_MASK_ADD)
      let descriptor = addWatch(inotify, folder, mask)
      if descriptor >= 0 {
        return .success((Link(descriptor: descriptor, interest: interest), folder))
      }
      let number = errno
      guard [ENOENT, ENOTDIR, EACCES].contains(number), folder != "/" else {
        return .failure(FileWatcher.failure(path, number))
      }
      if interest == .itself { return .success(nil) }
      interest = .step(String(Paths.lastComponent(folder)))
      folder = Paths.parent(folder)
    }
  }

  private static func failure(_ path: String, _ number: CInt) -> Failure {
    guard number == ENOSPC else {
      return Failure(
        "UNAVAILABLE", "\(path) cannot be watched for changes: \(errorText(code: number))",
        isTransient: true)
    }
    return Failure(
      "RESOURCE_EXHAUSTED",
      "\(path) cannot be watched for changes: this user has no inotify watches left;"
        + " \(remedy(watchesMax: watchesMax()))",
      isTransient: true)
  }

  private static let watchesMaxPath = "/proc/sys/fs/inotify/max_user_watches"

  /// The kernel's limit; nil if it cannot be read.
  private static func watchesMax() -> Int? {
    guard let bytes = try? FileReading.read(path: watchesMaxPath, bytesMax: 64) else { return nil }
    return Int(String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
  }

  /// The next step for a user without watches. Kernels choose the limit by the size of the memory, so
  /// a constant could lower it.
  static func remedy(watchesMax: Int?) -> String {
    guard let watchesMax, watchesMax > 0, watchesMax <= Int(Int32.max) / 2 else {
      return "raise the limit in \(watchesMaxPath)"
    }
    return "double the limit until the next boot with"
      + " `sudo sysctl fs.inotify.max_user_watches=\(watchesMax * 2)`"
  }

  private func join(_ key: Key, _ link: Link, _ folder: String, _ state: inout State) {
    var kernel = state.kernel.removeValue(forKey: link.descriptor) ?? Kernel(path: folder)
    kernel.users[key, default: 0] += 1
    kernel.masks[FileWatcher.mask(link.interest), default: 0] += 1
    switch link.interest {
    case .itself: break
    case .step(let name), .target(let name): kernel.named[name, default: [:]][key, default: 0] += 1
    case .entries: kernel.all.insert(key)
    }
    state.kernel[link.descriptor] = kernel
  }

  /// Ends a link. Call it when the key has all its new links.
  private func leave(_ key: Key, _ link: Link, _ state: inout State) {
    guard var kernel = state.kernel.removeValue(forKey: link.descriptor) else { return }
    let former = kernel.mask
    FileWatcher.reduce(&kernel.users, key)
    FileWatcher.reduce(&kernel.masks, FileWatcher.mask(link.interest))
    switch link.interest {
    case .itself: break
    case .step(let name), .target(let name):
      FileWatcher.reduce(&kernel.named[name, default: [:]], key)
      if kernel.named[name]?.isEmpty == true { kernel.named[name] = nil }
    case .entries: kernel.all.remove(key)
    }
    guard !kernel.users.isEmpty else {
      inotify_rm_watch(inotify, link.descriptor)
      return
    }
    state.kernel[link.descriptor] = kernel
    if kernel.mask != former { narrow(link.descriptor, kernel, &state) }
  }

  /// Tells the kernel that a watch needs fewer events.
  private func narrow(_ descriptor: CInt, _ kernel: Kernel, _ state: inout State) {
    let got = inotify_add_watch(inotify, kernel.path, kernel.mask | UInt32(IN_ONLYDIR))
    guard got >= 0, got != descriptor else { return }
    // The path leads to another folder by now.
    guard let other = state.kernel[got] else {
      inotify_rm_watch(inotify, got)
      return
    }
    _ = inotify_add_watch(
      inotify, kernel.path, other.mask | UInt32(IN_ONLYDIR) | UInt32(IN_MASK_ADD))
    state.changed.formUnion(other.users.keys)
  }

  private static func reduce<Counted>(_ counts: inout [Counted: Int], _ counted: Counted) {
    guard let count = counts[counted] else { return }
    counts[counted] = count > 1 ? count - 1 : nil
  }

  private func release(_ key: Key, _ state: inout State) {
    guard let watched = state.watched.removeValue(forKey: key) else { return }
    for link in watched.links { leave(key, link, &state) }
  }

  private func read() {
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    state.withLock { state in
      var moved: Set<Key> = []
      while true {
        let count = Glibc.read(inotify, &buffer, buffer.count)
        guard count > 0 else { break }
        handle(buffer[..<count], &moved, &state)
      }
      for key in moved { armAgain(key, &state) }
      wake(&state)
    }
  }

  /// Reports the keys whose way has changed without an event, and watches their new way.
  private func walkAgain() {
    state.withLock { state in
      for (key, watched) in state.watched
      where walk(key, watched.path, watched.isFolder) != watched.walk {
        armAgain(key, &state)
      }
      wake(&state)
    }
  }

  private func walk(_ key: Key, _ path: String, _ isFolder: Bool) -> PathWalk {
    let linked =
      switch key {
      case .request: [String]()
      case .folder: BundleFolders.fileNames
      // An entry can lead over links in other folders: `q -> ../releases/current/q`.
      case .root: BundleFolders.links(in: path)
      }
    return PathWalk(path, isFolder: isFolder, linked: linked)
  }

  private func wake(_ state: inout State) {
    guard !state.changed.isEmpty, let waiter = state.waiter.take() else { return }
    waiter.resume(returning: state.changed)
    state.changed = []
  }

  /// - Parameter moved: takes the keys whose way may be another one.
  private func handle(
    _ bytes: ArraySlice<UInt8>, _ moved: inout Set<Key>, _ state: inout State
  ) {
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
        moved.formUnion(state.watched.keys)
        continue
      }
      guard let kernel = state.kernel[descriptor] else { continue }
      if mask & FileWatcher.endMask != 0 {
        moved.formUnion(kernel.users.keys)
        if mask & UInt32(IN_IGNORED) != 0 { state.kernel[descriptor] = nil }
        continue
      }
      let name = String(decoding: nameBytes, as: UTF8.self)
      let isNew = mask & (UInt32(IN_CREATE) | UInt32(IN_MOVED_TO)) != 0
      let step = Link(descriptor: descriptor, interest: .step(name))
      for key in kernel.all.union((kernel.named[name] ?? [:]).keys) {
        state.changed.insert(key)
        // A new entry can be a symbolic link.
        if isNew || state.watched[key]?.links.contains(step) == true { moved.insert(key) }
      }
    }
  }

  /// The events after which a folder is not at its place any more.
  private static let endMask = selfMask | UInt32(IN_IGNORED) | UInt32(IN_UNMOUNT)

  private func armAgain(_ key: Key, _ state: inout State) {
    guard let watched = state.watched[key] else { return }
    state.changed.insert(key)
    arm(key, watched.path, isFolder: watched.isFolder, &state)
  }
}

/// The text of errno.
func errorText() -> String { String(cString: strerror(errno)) }
