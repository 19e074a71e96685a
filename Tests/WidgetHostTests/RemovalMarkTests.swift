import Glibc
import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// The marks of removals if the clock was set back after the start of the bundle.
struct RemovalMarkTests {
  private let folder: Folder
  private let known: HostState.Remembered
  private var mark: String { "\(folder.path)/\(name)" }
  private let name = BundleRemovalMark.name(of: "desk")

  init() throws {
    folder = try Folder()
    known = HostState.Remembered(id: "desk", path: "\(folder.path)/desk", loaded: .latest)
  }

  /// The host sees the bundle's file, and the marks beside it.
  private func look() -> SeenMarks {
    var seen = SeenMarks()
    seen.saw(BundleFolders.removalMarks(in: folder.path), before: known.path)
    return seen
  }

  @Test func `a mark that is newer than the last look counts`() throws {
    let seen = look()
    try folder.write(name, "")
    #expect(BundleFolders.absence(of: known, in: folder.path, seen: seen) == .removed)
    // Another host ran the bundle, so this host only has the times.
    #expect(BundleFolders.absence(of: known, in: folder.path) == .missing)
  }

  @Test func `a mark that was there when the host saw the bundle does not count`() throws {
    try folder.write(name, "")
    let seen = look()
    #expect(BundleFolders.absence(of: known, in: folder.path, seen: seen) == .missing)
    // A second removal makes its own mark.
    try #require(rename(mark, "\(folder.path)/former") == 0)
    try folder.write(name, "")
    #expect(BundleFolders.absence(of: known, in: folder.path, seen: seen) == .removed)
  }

  @Test(arguments: [true, false])
  func `a mark that is newer than the last look stays`(isNewer: Bool) throws {
    if !isNewer { try folder.write(name, "") }
    let seen = look()
    if isNewer { try folder.write(name, "") }
    BundleFolders.dropMarks(in: [folder.path], but: [known], seen: seen)
    #expect((access(mark, F_OK) == 0) == isNewer)
  }

  @Test func `marks of folders that the host no longer knows are forgotten`() throws {
    var seen = look()
    try folder.write(name, "")
    let made = try #require(RemovalMark(at: mark))
    seen.keep(only: [known.path])
    #expect(seen.isNew(made, for: known.path))
    seen.keep(only: [])
    #expect(!seen.isNew(made, for: known.path))
  }
}
