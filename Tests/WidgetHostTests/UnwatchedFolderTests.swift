import Testing

@testable import WidgetHost

/// Folders of bundles that the kernel does not watch.
struct UnwatchedFolderTests {
  private static let full = "cannot be watched for changes: run `sysctl x=2`"
  private var folders = UnwatchedFolders()
  private let rootOfFolder = ["/r/a": "/r", "/r/b": "/r", "/s/c": "/s"]

  private mutating func look(
    _ keys: Set<FileWatcher.Key>, removed: Set<FileWatcher.Key> = [], isFull: Bool = true
  ) -> UnwatchedFolders.News {
    folders.look(at: keys, removed: removed) { key in
      guard isFull else { return nil }
      switch key {
      case .request: return nil
      case .folder(let path), .root(let path): return "\(path) \(UnwatchedFolderTests.full)"
      }
    }
  }

  @Test mutating func `a removed folder is no problem of its folder of bundles any more`() {
    let first = look([.folder("/r/a")])
    #expect(first.report == "/r/a \(UnwatchedFolderTests.full)" && first.hasChanged)
    #expect(folders.problem(of: "/r", rootOfFolder) == "/r/a \(UnwatchedFolderTests.full)")
    #expect(folders.problem(of: "/s", rootOfFolder) == nil)
    // The watcher does not know the removed folder any more, and its news can come late.
    let second = look([.root("/s"), .folder("/r/a")], removed: [.folder("/r/a")], isFull: false)
    #expect(folders.problem(of: "/r", rootOfFolder) == nil)
    #expect(second == UnwatchedFolders.News(areAllWatched: true, hasChanged: true))
  }

  @Test mutating func `several folders have one line, with their number after the first path`() {
    let news = look([.root("/r"), .folder("/r/a"), .folder("/r/b")])
    #expect(news.report == "/r (and 2 more folders) \(UnwatchedFolderTests.full)")
    let same = look([.root("/r")])
    #expect(same == UnwatchedFolders.News())
    let other = look([.folder("/s/c")])
    #expect(other.report == "/s/c \(UnwatchedFolderTests.full)")
  }

  @Test mutating func `the last folder that is watched again is reported once`() {
    _ = look([.folder("/r/a"), .folder("/r/b")])
    let first = look([.folder("/r/a")], isFull: false)
    let second = look([.folder("/r/b")], isFull: false)
    let third = look([.folder("/r/b")], isFull: false)
    #expect(first.hasChanged && !first.areAllWatched && second.areAllWatched)
    #expect(third == UnwatchedFolders.News())
  }
}
