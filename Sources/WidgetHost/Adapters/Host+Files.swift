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
      let failure = watcher.failure(of: key)
      tell(failure.map { .unwatched(id, $0) } ?? .fileChanged(id), id.generation)
    }
  }

  /// Reports folders of bundles, and folders in them, that the kernel does not watch, and those that
  /// it watches again.
  ///
  /// - Parameter removed: folders that are gone.
  /// - Returns: whether the problems of the folders of bundles may have changed.
  func noteWatches(of keys: Set<FileWatcher.Key>, removed: Set<FileWatcher.Key>) -> Bool {
    let news = unwatched.look(at: keys, removed: removed) { watcher.failure(of: $0)?.message }
    if let line = news.report { report(line) }
    if news.areAllWatched {
      handle([.note("all folders of bundles are watched for changes again")])
    }
    return news.hasChanged
  }

  /// The content of a folder that the host has looked into.
  private struct Look: Sendable {
    let path: String
    /// Nil if the folder has no bundle's file, for the reason `absence`.
    let found: HostState.Found?
    var absence: HostState.Absence
    /// The problem, if somebody probably meant this folder without a bundle's file as a bundle.
    var suspicion: HostState.Found?
    /// The identities of the marks of removals that were there before this.
    var marks: Set<String> = []
    /// Whether the folder without a bundle's file exists; nil if nobody knows.
    var isFolderThere: Bool?
  }

  /// Reads folders, and tells the state machine their content.
  func look(into keys: Set<FileWatcher.Key>) async {
    let roots = options.roots
    let isRoot = keys.contains { if case .root = $0 { true } else { false } }
    let named = Set(keys.compactMap { if case .folder(let path) = $0 { path } else { nil } })
    let known = Dictionary(machine.bundles.occupants.map { ($0.path, $0) }) { first, _ in first }
    let (read, before, former, order) = (read, watchedFolders, rootOfFolder, order)
    let (all, looks) = await Host.blocking { () -> ([(path: String, root: String)], [Look]) in
      var all: [(path: String, root: String)] = []
      var folders = named
      if isRoot {
        for root in roots {
          for path in BundleFolders.subfolders(of: root)
          where !all.contains(where: { $0.path == path }) {
            all.append((path, root))
          }
        }
        // The watch of a folder does not see what takes its place.
        folders.formUnion(
          all.map(\.path).filter { !before.contains($0) || BundleFolders.isUnwatchable($0) })
        folders.formUnion(known.keys.filter { path in !all.contains { $0.path == path } })
      }
      // In the order of the roots, then by name. The first folder that is read has the bundle.
      let paths = all.map(\.path)
      let sorted = paths.filter { folders.contains($0) } + order.sorted(folders.subtracting(paths))
      let rootOf = Dictionary(all.map { ($0.path, $0.root) }) { first, _ in first }
      var marks: [String: Set<RemovalMark>] = [:]
      func places(of path: String) -> Set<String> {
        let parent = Paths.parent(path)
        return [rootOf[path] ?? former[path] ?? parent, parent]
      }
      for place in Set(sorted.flatMap { places(of: $0) }) {
        marks[place] = BundleFolders.removalMarks(in: place)
      }
      return (
        all,
        sorted.map { path in
          let found =
            !isRoot || paths.contains(path) ? BundleFolders.look(into: path, read) : nil
          let suspicion =
            found == nil && (!isRoot || paths.contains(path))
            ? BundleFolders.suspicion(about: path) : nil
          var look = Look(path: path, found: found, absence: .missing, suspicion: suspicion)
          for place in places(of: path) {
            look.marks.formUnion((marks[place] ?? []).map(\.identity))
          }
          guard found == nil else { return look }
          look.isFolderThere = BundleFolders.isThere(path)
          guard let bundle = known[path] else { return look }
          look.absence = BundleFolders.absence(of: bundle, in: former[path])
          return look
        }
      )
    }
    guard !machine.isStopped else { return }
    var removed: Set<FileWatcher.Key> = []
    if isRoot {
      let paths = Set(all.map(\.path))
      for path in before where !paths.contains(path) || BundleFolders.isUnwatchable(path) {
        watcher.unwatch(.folder(path))
        watchedFolders.remove(path)
        removed.insert(.folder(path))
      }
    }
    let haveWatchesChanged = noteWatches(of: keys, removed: removed)
    if isRoot || haveWatchesChanged {
      await lookAtRoots()
      guard !machine.isStopped else { return }
    }
    if isRoot {
      for (path, root) in all {
        rootOfFolder[path] = root
        guard !before.contains(path), !BundleFolders.isUnwatchable(path) else { continue }
        watchedFolders.insert(path)
        watcher.watch(.folder(path), path: path)
        // A change between the first look and the watch causes no event.
        watcher.touch(.folder(path))
      }
    }
    for look in looks {
      // A bundle that has run here is missing. It does not have another name all along.
      let isMissing = machine.bundles.hasBundle(in: look.path)
      tell(
        look.found ?? (isMissing ? nil : look.suspicion), in: look.path, absence: look.absence,
        suspicion: look.suspicion, marks: look.marks, isFolderThere: look.isFolderThere)
    }
    handle(machine.looked(at: now))
    if isRoot { await dropMarks() }
    let kept = Set(machine.bundles.knownFolders).union(watchedFolders)
    rootOfFolder = rootOfFolder.filter { kept.contains($0.key) }
  }

  /// Deletes the marks of removed bundles that say nothing any more. Before the daemon's first answer,
  /// the host does not know all bundles.
  func dropMarks() async {
    guard machine.bundles.formerIDs != nil else { return }
    let (roots, bundles, rootOf) = (options.roots, machine.bundles.occupants, rootOfFolder)
    let unconfirmed = machine.daemon.withdrawals.unconfirmed
    await Host.blocking { () -> Void in
      BundleFolders.dropMarks(in: roots, but: bundles, rootOf, keeping: unconfirmed)
    }
  }

  /// Waits until the removals from a folder of bundles are carried out, so that a bundle that was just
  /// removed does not get its former values back with an installation. A removal that the daemon
  /// refuses can last, so the wait has a limit.
  static func awaitRemovals(in root: String, atMost limit: Duration) async {
    let deadline = ContinuousClock.now + limit
    while await Host.blocking({ () -> Bool in BundleFolders.hasMarks(in: root) }),
      ContinuousClock.now < deadline
    {
      guard (try? await Task.sleep(for: .milliseconds(20))) != nil else { return }
    }
  }

  private func lookAtRoots() async {
    let (roots, isUsual) = (options.roots, options.areRootsUsual)
    var problems = await Host.blocking { () -> [String: String] in
      var problems: [String: String] = [:]
      for root in roots { problems[root] = BundleFolders.problem(of: root, isUsual: isUsual) }
      return problems
    }
    for root in roots where problems[root] == nil {
      problems[root] = unwatched.problem(of: root, rootOfFolder)
    }
    handle(machine.looked(atRoots: problems, at: now))
  }

  /// Takes the content of a folder; nil if it has no bundle's file, for the reason `absence`.
  func tell(
    _ found: HostState.Found?, in path: String, absence: HostState.Absence = .missing,
    suspicion: HostState.Found? = nil, marks: Set<String> = [], isFolderThere: Bool? = nil
  ) {
    handle(
      machine.found(
        found, in: path, absence: absence, suspicion: suspicion, marks: marks,
        isFolderThere: isFolderThere, at: now))
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
