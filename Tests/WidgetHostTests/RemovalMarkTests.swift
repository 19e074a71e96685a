import Foundation
import Glibc
import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// The marks of removals that count: no clock decides, because somebody can set it.
struct RemovalMarkTests {
  private let folder: Folder
  private let name = BundleRemovalMark.name(of: "desk")
  private var mark: String { "\(folder.path)/\(name)" }

  init() throws { folder = try Folder() }

  /// A host sees the bundle's file, and the marks beside it. The next host knows the same from the
  /// daemon.
  private func look() -> HostState.Remembered {
    let marks = Set(BundleFolders.removalMarks(in: folder.path).map(\.identity))
    // Its clock was far ahead.
    return HostState.Remembered(
      id: "desk", path: "\(folder.path)/desk", loaded: .latest,
      shown: [HostState.marksKey: HostState.value(of: marks)])
  }

  /// Gives the mark a former time, as `cp -p` and `tar` do.
  private func setTime(_ seconds: Double) throws {
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: seconds)], ofItemAtPath: mark)
  }

  private func absence(of known: HostState.Remembered) -> HostState.Absence {
    BundleFolders.absence(of: known, in: folder.path)
  }

  @Test func `a mark that is newer than the last look counts`() throws {
    let known = look()
    try folder.write(name, "")
    #expect(absence(of: known) == .removed)
    BundleFolders.dropMarks(in: [folder.path], but: [known])
    #expect(access(mark, F_OK) == 0)
  }

  @Test func `a mark that was there when a host saw the bundle does not count`() throws {
    try folder.write(name, "")
    var known = look()
    // The clock was far behind.
    known.loaded = .epoch
    #expect(absence(of: known) == .missing)
    // A second removal makes its own mark.
    try #require(rename(mark, "\(folder.path)/former") == 0)
    try folder.write(name, "")
    #expect(absence(of: known) == .removed)
  }

  @Test func `a mark that was there when a host saw the bundle is deleted`() throws {
    try folder.write(name, "")
    let known = look()
    BundleFolders.dropMarks(in: [folder.path], but: [known])
    #expect(access(mark, F_OK) != 0)
  }

  /// The bundle may be installed since, and its folder may be away for a moment.
  @Test(arguments: [1_000_000_000, 4_000_000_000])
  func `a copy of a mark with its former time does not count, and is deleted`(time: Double) throws {
    let known = look()
    try folder.write(name, "")
    try setTime(time)
    #expect(absence(of: known) == .missing)
    BundleFolders.dropMarks(in: [folder.path], but: [known])
    #expect(access(mark, F_OK) != 0)
  }

  @Test func `the next host knows the marks that the last one saw beside a file`() throws {
    let bundle = try BundleReader.read(
      "{bundle: desk, format: 1, version: 1.0.0, kinds: {k: {content: {label: x}}}}")
    let now = HostTime(wall: .epoch, uptime: .zero)
    var state = HostState(home: "/home/me", seed: 1)
    _ = state.found(.bundle(bundle, digest: 1), in: "/b/desk", at: now)
    func told() -> [Value?] { state.standings.compactMap(HostState.spec).map { $0.data["marks"] } }
    #expect(told() == [.list([])])
    let first = state.saw(["desk 7 1.2", "memo 8 1.2"], in: "/b/desk")
    #expect(!first.isEmpty)
    #expect(told() == [.list([.string("desk 7 1.2")])])
    let second = state.saw(["desk 7 1.2", "memo 8 1.2"], in: "/b/desk")
    #expect(second.isEmpty)
    let spec = try #require(state.standings.compactMap(HostState.spec).first)
    let known = HostState.Remembered(
      id: "desk", path: "/b/desk", loaded: .epoch, absence: .missing, shown: spec.data)
    #expect(known.seenMarks == ["desk 7 1.2"])
    // The next host has not seen the file, and passes the marks on.
    var next = HostState(home: "/home/me", seed: 1)
    _ = next.remembered([known], at: now)
    #expect(next.occupants.map(\.seenMarks) == [["desk 7 1.2"]])
    #expect(
      next.standings.compactMap(HostState.spec).map { $0.data["marks"] }
        == [.list([.string("desk 7 1.2")])])
  }
}
