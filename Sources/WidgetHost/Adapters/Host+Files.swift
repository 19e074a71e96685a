import NIOPosix
import WidgetBundle

// Changes of folders and files.
extension Host {
  func followFiles() async {
    var unsettled: Set<FileWatcher.Key> = []
    while !Task.isCancelled {
      var changed = await watcher.next()
      if Task.isCancelled { return }
      deliver(&changed)
      unsettled.formUnion(changed)
      guard !unsettled.isEmpty else { continue }
      // Editors write in several steps, so wait for a pause, up to a limit.
      let latest = clock.now + options.settlingMax
      while clock.now < latest, !Task.isCancelled {
        let rest = min(clock.now + options.settling, latest)
        guard let more = await changes(until: rest) else { break }
        var others = more
        deliver(&others)
        unsettled.formUnion(others)
        if others.isEmpty, clock.now >= rest { break }
      }
      let folders = unsettled
      unsettled = []
      await look(into: folders)
    }
  }

  /// The next changes; nil if there are none until then.
  func changes(until instant: ContinuousClock.Instant) async -> Set<FileWatcher.Key>? {
    let watcher = watcher
    let clock = clock
    let alarm = Task {
      do { try await clock.sleep(until: instant) } catch { return }
      watcher.wake()
    }
    let changed = await watcher.next()
    alarm.cancel()
    return changed.isEmpty ? nil : changed
  }

  /// Reports the changed files that bundles watch, and removes them from `changed`. The folders
  /// stay in it.
  func deliver(_ changed: inout Set<FileWatcher.Key>) {
    for key in changed {
      guard case .request(let id) = key else { continue }
      changed.remove(key)
      tell(.fileChanged(id), id.generation)
    }
  }

  func watch(_ key: FileWatcher.Key, _ path: String) {
    do throws(Failure) {
      try watcher.watch(key, path: path)
    } catch {
      report(error.message)
    }
  }

  /// Reads folders, and tells the state machine their content.
  func look(into keys: Set<FileWatcher.Key>) async {
    let roots = options.roots
    let isRoot = keys.contains { if case .root = $0 { true } else { false } }
    let named = Set(keys.compactMap { if case .folder(let path) = $0 { path } else { nil } })
    let known = machine.bundles.knownFolders
    let read = read
    let before = watchedFolders
    let (all, found) = await Host.blocking { () -> ([String], [(String, HostState.Found?)]) in
      var all: [String] = []
      var folders = named
      if isRoot {
        for root in roots {
          for path in BundleFolders.subfolders(of: root) where !all.contains(path) {
            all.append(path)
          }
        }
        folders.formUnion(all.filter { !before.contains($0) })
        folders.formUnion(known.filter { !all.contains($0) })
      }
      // In the order of the roots, then by name. The order decides which folder has a bundle.
      let sorted = all.filter { folders.contains($0) } + folders.subtracting(all).sorted()
      return (all, sorted.map { ($0, BundleFolders.look(into: $0, read)) })
    }
    guard !machine.isStopped else { return }
    if isRoot {
      for path in before.subtracting(all) {
        watcher.unwatch(.folder(path))
        watchedFolders.remove(path)
      }
      for path in all where !before.contains(path) {
        watchedFolders.insert(path)
        watch(.folder(path), path)
        // A change between the first look and the watch causes no event.
        watcher.touch(.folder(path))
      }
    }
    for (path, result) in found { tell(!isRoot || all.contains(path) ? result : nil, in: path) }
  }

  /// Takes the content of a folder; nil if it is missing.
  func tell(_ found: HostState.Found?, in path: String) {
    handle(machine.found(found, in: path, at: now))
  }

  /// Runs blocking code on a thread that may block.
  static func blocking<R: Sendable, E: Error>(
    _ body: @escaping @Sendable () throws(E) -> R
  ) async throws(E) -> R {
    let result: Result<R, E>
    do {
      result = try await NIOThreadPool.singleton.runIfActive {
        do throws(E) {
          return .success(try body())
        } catch {
          return .failure(error)
        }
      }
    } catch {
      // The pool has ended, or the task is cancelled, so this thread runs the code at once.
      return try body()
    }
    return try result.get()
  }
}
