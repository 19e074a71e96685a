import Glibc
import Synchronization
import Testing
import WidgetModel

@testable import WidgetHost

// The way to a watched file or folder.
extension AdapterTests {
  private static let key = FileWatcher.Key.request(RequestID(generation: 1, number: 1))

  /// Begins to watch a path below the test's folder, or the path of another key.
  private func watching(
    _ name: String, _ key: FileWatcher.Key = key, isFolder: Bool = false
  ) throws -> FileWatcher {
    let watcher = try FileWatcher()
    watcher.watch(key, path: "\(folder.path)/\(name)", isFolder: isFolder)
    return watcher
  }

  private func makeFolders(_ names: String...) {
    for name in names { folder.makeFolder(name) }
  }

  private func move(_ name: String, _ other: String) {
    rename("\(folder.path)/\(name)", "\(folder.path)/\(other)")
  }

  private func link(_ name: String, _ target: String) {
    symlink(target, "\(folder.path)/\(name)")
  }

  @Test func `files of one folder share a watch`() throws {
    let watcher = try FileWatcher()
    var counts: [Int] = []
    for number in 0..<100 {
      watcher.watch(
        .request(RequestID(generation: 1, number: UInt64(number))),
        path: "\(folder.path)/f\(number)")
      counts.append(watcher.watchCount)
    }
    // One for each folder: /tmp, and the test's folder.
    #expect(Set(counts) == [2])
    watcher.close()
  }

  @Test func `a file is noticed when a folder above it is moved, and comes back`() async throws {
    makeFolders("deep", "deep/er")
    try folder.write("deep/er/b", "old")
    let watcher = try watching("deep/er/b")
    move("deep", "deep9")
    #expect(await watcher.next() == [Self.key])
    // The file at its former place does not count any more.
    try folder.write("deep9/er/b", "other")
    makeFolders("deep")
    #expect(await watcher.next() == [Self.key])
    makeFolders("deep/er")
    #expect(await watcher.next() == [Self.key])
    try folder.write("deep/er/b", "new")
    #expect(await watcher.next() == [Self.key])
    watcher.unwatch(Self.key)
    #expect(watcher.watchCount == 0)
    watcher.close()
  }

  @Test func `a folder is noticed when a folder above it is moved`() async throws {
    makeFolders("deep", "deep/er")
    let root = FileWatcher.Key.root("deep/er")
    let watcher = try watching("deep/er", root, isFolder: true)
    move("deep", "deep9")
    #expect(await watcher.next() == [root])
    makeFolders("deep", "deep/er", "deep/er/q")
    #expect(await watcher.next() == [root])
    watcher.close()
  }

  @Test func `a file is noticed when a link to its folder is replaced`() async throws {
    makeFolders("v1", "v2")
    try folder.write("v1/val", "one")
    try folder.write("v2/val", "two")
    link("current", "v1")
    let watcher = try watching("current/val")
    link("next", "v2")
    move("next", "current")
    #expect(await watcher.next() == [Self.key])
    try folder.write("v2/val", "three")
    #expect(await watcher.next() == [Self.key])
    watcher.unwatch(Self.key)
    #expect(watcher.watchCount == 0)
    watcher.close()
  }

  @Test func `a folder of bundles notices links that its entries lead over`() async throws {
    makeFolders("bundles", "releases", "releases/v1", "releases/v2")
    makeFolders("releases/v1/q", "releases/v2/q")
    link("releases/current", "v1")
    link("bundles/q", "../releases/current/q")
    let root = FileWatcher.Key.root("bundles")
    let watcher = try watching("bundles", root, isFolder: true)
    link("releases/next", "v2")
    move("releases/next", "releases/current")
    #expect(await watcher.next() == [root])
    // The new way is watched, too. Files in the bundle's folder do not count.
    try folder.write("releases/v2/q/val", "1")
    link("releases/next", "v1")
    move("releases/next", "releases/current")
    #expect(await watcher.next() == [root])
    // A link that comes later belongs to the way.
    link("bundles/r", "../releases/current/q")
    #expect(await watcher.next() == [root])
    Folder.remove("\(folder.path)/releases/current")
    #expect(await watcher.next() == [root])
    watcher.unwatch(root)
    #expect(watcher.watchCount == 0)
    watcher.close()
  }

  @Test func `a file is noticed when the target of its link changes`() async throws {
    makeFolders("store")
    try folder.write("store/a", "1")
    link("store/middle", "a")
    link("link", "\(folder.path)/store/../store/middle")
    let watcher = try watching("link")
    try folder.write("store/a", "2")
    #expect(await watcher.next() == [Self.key])
    Folder.remove("\(folder.path)/store/middle")
    #expect(await watcher.next() == [Self.key])
    link("store/middle", "b")
    #expect(await watcher.next() == [Self.key])
    try folder.write("store/b", "3")
    #expect(await watcher.next() == [Self.key])
    watcher.close()
  }

  @Test func `a file that becomes a link is watched at its target`() async throws {
    try folder.write("a", "1")
    makeFolders("store")
    try folder.write("store/a", "2")
    let watcher = try watching("a")
    link("new", "store/a")
    move("new", "a")
    #expect(await watcher.next() == [Self.key])
    try folder.write("store/a", "3")
    #expect(await watcher.next() == [Self.key])
    watcher.close()
  }

  @Test func `links in a circle can be replaced by a file`() async throws {
    link("a", "b")
    link("b", "a")
    let watcher = try watching("a")
    Folder.remove("\(folder.path)/b")
    #expect(await watcher.next() == [Self.key])
    try folder.write("b", "1")
    #expect(await watcher.next() == [Self.key])
    watcher.close()
  }

  @Test func `a file that the kernel does not watch is reported, and again when it is watched`()
    async throws
  {
    let isFull = Mutex(true)
    let watcher = try FileWatcher(retryPause: .milliseconds(1)) { inotify, path, mask in
      guard isFull.withLock({ $0 }) else { return inotify_add_watch(inotify, path, mask) }
      errno = ENOSPC
      return -1
    }
    try folder.write("f", "1")
    watcher.watch(Self.key, path: "\(folder.path)/f")
    #expect(await watcher.next() == [Self.key])
    let failure = try #require(watcher.failure(of: Self.key))
    #expect(failure.code == "RESOURCE_EXHAUSTED" && failure.message.contains("max_user_watches"))
    isFull.withLock { $0 = false }
    #expect(await watcher.next() == [Self.key])
    #expect(watcher.failure(of: Self.key) == nil)
    try folder.write("f", "2")
    #expect(await watcher.next() == [Self.key])
    watcher.close()
  }

  @Test(
    arguments: [
      (65_536, "fs.inotify.max_user_watches=131072`"),
      (1_048_576, "fs.inotify.max_user_watches=2097152`"),
      (nil, "raise the limit in /proc/sys/fs/inotify/max_user_watches"),
      (Int.max, "raise the limit in /proc/sys/fs/inotify/max_user_watches"),
    ] as [(Int?, String)])
  func `the remedy for missing watches raises the limit of this machine`(
    limit: Int?, end: String
  ) {
    #expect(FileWatcher.remedy(watchesMax: limit).hasSuffix(end))
  }

  @Test func `a file is reported when its moved folder leaves it without a watch`() async throws {
    makeFolders("deep")
    try folder.write("deep/f", "1")
    let isFull = Mutex(false)
    let watcher = try FileWatcher(retryPause: .milliseconds(1)) { inotify, path, mask in
      guard isFull.withLock({ $0 }) else { return inotify_add_watch(inotify, path, mask) }
      errno = ENOSPC
      return -1
    }
    watcher.watch(Self.key, path: "\(folder.path)/deep/f")
    #expect(watcher.failure(of: Self.key) == nil)
    isFull.withLock { $0 = true }
    move("deep", "deep9")
    #expect(await watcher.next() == [Self.key])
    #expect(watcher.failure(of: Self.key) != nil)
    isFull.withLock { $0 = false }
    while watcher.failure(of: Self.key) != nil { _ = await watcher.next() }
    watcher.unwatch(Self.key)
    #expect(watcher.watchCount == 0 && watcher.failure(of: Self.key) == nil)
    watcher.close()
  }

  /// Whether this process may mount file systems.
  private static let canMount: Bool = {
    guard geteuid() == 0, let folder = try? Folder() else { return false }
    guard mount("none", folder.path, "tmpfs", 0, nil) == 0 else { return false }
    return umount(folder.path) == 0
  }()

  @Test(.enabled(if: canMount, "it needs the right to mount"))
  func `a file is noticed when a file system with it is mounted and unmounted`() async throws {
    makeFolders("stick", "other")
    let watcher = try watching("stick/x")
    let path = "\(folder.path)/stick"
    // A mount elsewhere does not concern the file.
    try #require(mount("none", "\(folder.path)/other", "tmpfs", 0, nil) == 0)
    defer { umount("\(folder.path)/other") }
    try #require(mount("none", path, "tmpfs", 0, nil) == 0)
    defer { umount2(path, CInt(MNT_DETACH)) }
    #expect(await watcher.next() == [Self.key])
    try folder.write("stick/x", "hello")
    #expect(await watcher.next() == [Self.key])
    umount2(path, CInt(MNT_DETACH))
    #expect(await watcher.next() == [Self.key])
    try folder.write("stick/x", "below")
    #expect(await watcher.next() == [Self.key])
    watcher.close()
  }

  @Test func `the target of a bundle's linked file is watched`() async throws {
    makeFolders("bundle", "store")
    try folder.write("store/bundle.yaml", "1")
    link("bundle/bundle.yaml", "../store/bundle.yaml")
    let key = FileWatcher.Key.folder("bundle")
    let watcher = try watching("bundle", key, isFolder: true)
    try folder.write("store/bundle.yaml", "2")
    #expect(await watcher.next() == [key])
    watcher.close()
  }

  @Test func `a folder that is only on the way causes no events for its entries`() async throws {
    makeFolders("deep")
    let watcher = try watching("deep/file")
    let other = FileWatcher.Key.request(RequestID(generation: 1, number: 2))
    watcher.watch(other, path: "\(folder.path)/other")
    watcher.unwatch(other)
    try folder.write("other", "1")
    try folder.write("deep/other", "1")
    try folder.write("deep/file", "1")
    #expect(await watcher.next() == [Self.key])
    watcher.close()
  }
}
