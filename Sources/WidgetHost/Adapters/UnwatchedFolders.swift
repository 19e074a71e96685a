/// The folders of bundles, and the folders in them, that the kernel does not watch now.
struct UnwatchedFolders {
  /// The reasons, with the paths in front.
  private var reasons: [FileWatcher.Key: String] = [:]

  /// The news of one look.
  struct News: Equatable {
    /// A line about new folders that are not watched.
    var report: String?
    /// Whether the last such folder is watched again, or gone.
    var areAllWatched = false
    /// Whether the problems of the folders of bundles may have changed.
    var hasChanged = false
  }

  /// - Parameters:
  ///   - keys: the folders to look at.
  ///   - removed: folders that are gone. They have no problem any more.
  ///   - reason: the reason why the kernel does not watch a folder; nil if it does.
  mutating func look(
    at keys: Set<FileWatcher.Key>, removed: Set<FileWatcher.Key>,
    reason: (FileWatcher.Key) -> String?
  ) -> News {
    let before = reasons
    for key in removed { reasons[key] = nil }
    for key in keys.subtracting(removed) { reasons[key] = reason(key) }
    var news = News()
    news.hasChanged = reasons != before
    news.areAllWatched = reasons.isEmpty && !before.isEmpty
    let new = reasons.filter { before[$0.key] == nil }.map { (key: $0.key, reason: $0.value) }
    if let first = new.min(by: { $0.reason < $1.reason }) {
      news.report = UnwatchedFolders.line(first.key, first.reason, further: new.count - 1)
    }
    return news
  }

  /// The reason why changes of bundles in a folder of bundles can stay unnoticed.
  ///
  /// - Parameter rootOfFolder: the folder of bundles that has each folder.
  func problem(of root: String, _ rootOfFolder: [String: String]) -> String? {
    reasons.filter { key, _ in
      switch key {
      case .request: false
      case .root(let path): path == root
      case .folder(let path): rootOfFolder[path] == root
      }
    }.values.min()
  }

  private static func line(_ key: FileWatcher.Key, _ reason: String, further count: Int) -> String {
    guard count > 0 else { return reason }
    let others = count == 1 ? "1 more folder" : "\(count) more folders"
    // The reason ends with a command, so the number comes before it.
    switch key {
    case .folder(let path), .root(let path):
      guard reason.hasPrefix(path) else { break }
      return "\(path) (and \(others))\(reason.dropFirst(path.count))"
    case .request: break
    }
    return "\(reason) (and \(others))"
  }
}
