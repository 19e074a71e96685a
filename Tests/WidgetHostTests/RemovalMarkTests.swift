import Foundation
import Glibc
import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// The marks of removals that count. Their ids decide, because somebody can set the clock, and copies
/// change the times of files.
struct RemovalMarkTests {
  private let folder: Folder
  private let name = BundleRemovalMark.name(of: "desk")
  private var mark: String { "\(folder.path)/\(name)" }

  init() throws { folder = try Folder() }

  /// `bundle rm` makes a mark. The new file can have the number of the former one.
  private func remove() throws { try write(BundleRemovalMark.Record()) }

  private func write(_ record: BundleRemovalMark.Record) throws {
    unlink(mark)
    try folder.write(name, String(decoding: record.bytes, as: UTF8.self))
  }

  /// A host sees the bundle's file, and the marks beside it. The next host knows the same from the
  /// daemon.
  private func look() -> HostState.Remembered {
    let marks = Set(BundleFolders.removalMarks(in: folder.path).map(\.identity))
    // Its clock was far ahead.
    return HostState.Remembered(
      id: "desk", path: "\(folder.path)/desk", loaded: .latest,
      shown: [HostState.marksKey: HostState.value(of: marks)])
  }

  private func setTime(_ seconds: Double) throws {
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: seconds)], ofItemAtPath: mark)
  }

  private func absence(of known: HostState.Remembered) -> HostState.Absence {
    BundleFolders.absence(of: known, in: folder.path)
  }

  private func isKept(but known: HostState.Remembered) -> Bool {
    BundleFolders.dropMarks(in: [folder.path], but: [known])
    return access(mark, F_OK) == 0
  }

  // MARK: - Marks with an id

  @Test func `a mark that is newer than the last look counts`() throws {
    let known = look()
    try remove()
    #expect(absence(of: known) == .removed)
    #expect(isKept(but: known))
  }

  /// A change of the owner or the mode, a hard link or another label changes the time of the change.
  @Test(arguments: [1_000_000_000, 4_000_000_000])
  func `a new mark counts whatever its times and its links are`(time: Double) throws {
    let known = look()
    try remove()
    try setTime(time)
    try #require(link(mark, "\(folder.path)/backup") == 0)
    #expect(chmod(mark, 0o600) == 0)
    #expect(absence(of: known) == .removed)
    #expect(isKept(but: known))
  }

  @Test func `a mark that was there when a host saw the bundle does not count`() throws {
    try remove()
    var known = look()
    // The clock was far behind.
    known.loaded = .epoch
    #expect(absence(of: known) == .missing)
    try remove()
    #expect(absence(of: known) == .removed)
  }

  /// As `cp` does, or a backup. Some file systems change the numbers of files with each mount.
  @Test func `a copy of a mark that a host has seen does not count, and is deleted`() throws {
    let record = BundleRemovalMark.Record()
    try write(record)
    var known = look()
    known.loaded = .epoch
    try #require(rename(mark, "\(folder.path)/former") == 0)
    try write(record)
    #expect(absence(of: known) == .missing)
    #expect(!isKept(but: known))
  }

  /// `bundle rm` can run between the look and the deletion.
  @Test func `a mark that has replaced a judged one stays`() throws {
    try remove()
    let judged = try #require(RemovalMark(of: "desk", in: folder.path))
    try remove()
    BundleFolders.delete(judged, of: "desk", in: folder.path)
    let later = try #require(RemovalMark(of: "desk", in: folder.path))
    BundleFolders.delete(later, of: "desk", in: folder.path)
    #expect(access(mark, F_OK) != 0)
  }

  // MARK: - Programs that know no ids

  /// The bundle, and the mark, of older programs. If in doubt, the widgets stay for a while.
  @Test(arguments: [(true, false), (false, true), (false, false)])
  func `without an id, or without known ids, the times decide`(
    hasID: Bool, hasSeen: Bool
  ) throws {
    var known = look()
    if !hasSeen { known.shown = [:] }
    if hasID { try remove() } else { try folder.write(name, "") }
    try setTime(1_000_000_000)
    for (seconds, isRemoved) in [(999_999_999, true), (1_000_000_001, false)] as [(Int64, Bool)] {
      known.loaded = Timestamp(seconds: seconds, nanoseconds: 0)
      #expect(absence(of: known) == (isRemoved ? .removed : .missing))
    }
    #expect(!isKept(but: known))
  }

  /// The folder of the bundle is still there, so only the mark tells of the removal.
  @Test func `a mark with the target of a link is not deleted because of its time`() throws {
    let path = "/elsewhere/desk"
    try folder.write(name, path)
    var known = HostState.Remembered(id: "desk", path: path, loaded: .latest)
    #expect(isKept(but: known))
    known.shown = look().shown
    #expect(!isKept(but: known))
  }

  // MARK: - The next host

  @Test func `the next host knows the marks that the last one saw beside a file`() throws {
    let bundle = try BundleReader.read(
      "{bundle: desk, format: 1, version: 1.0.0, kinds: {k: {content: {label: x}}}}")
    let now = HostTime(wall: .epoch, uptime: .zero)
    var state = HostState(home: "/home/me", seed: 1)
    _ = state.found(.bundle(bundle, digest: 1), in: "/b/desk", at: now)
    func told() -> [Value?] { state.standings.compactMap(HostState.spec).map { $0.data["marks"] } }
    #expect(told() == [.null])
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

  @Test func `a mark stays known after its file is gone, and after its removal`() throws {
    let bundle = try BundleReader.read(
      "{bundle: desk, format: 1, version: 1.0.0, kinds: {k: {content: {label: x}}}}")
    let now = HostTime(wall: .epoch, uptime: .zero)
    var state = HostState(home: "/home/me", seed: 1)
    _ = state.found(.bundle(bundle, digest: 1), in: "/b/desk", at: now)
    _ = state.saw(["desk a"], in: "/b/desk")
    _ = state.saw([], in: "/b/desk")
    _ = state.lost("/b/desk", .removed, marks: ["desk b", "memo c"], at: now)
    _ = state.found(.bundle(bundle, digest: 1), in: "/b/desk", at: now)
    _ = state.saw([], in: "/b/desk")
    #expect(state.occupants.map(\.seenMarks) == [["desk a", "desk b"]])
    // The next host sees the file before the daemon answers.
    let spec = try #require(state.standings.compactMap(HostState.spec).first)
    var next = HostState(home: "/home/me", seed: 1)
    _ = next.found(.bundle(bundle, digest: 1), in: "/b/desk", at: now)
    _ = next.saw([], in: "/b/desk")
    _ = next.remembered([.init(id: "desk", path: "/b/desk", shown: spec.data)], at: now)
    #expect(next.occupants.map(\.seenMarks) == [["desk a", "desk b"]])
    #expect(
      next.standings.compactMap(HostState.spec).map { $0.data["marks"] }
        == [.list([.string("desk a"), .string("desk b")])])
  }

  @Test func `the number of known marks has a limit`() throws {
    var known = KnownMarks()
    for number in 100..<200 {
      known.add(["desk \(number)"], of: "desk")
      #expect(known["desk"].contains("desk \(number)"))
    }
    #expect(known["desk"].count == 32 && known["memo"].isEmpty)
  }

  @Test func `the newest marks of removed bundles are kept for the next host`() {
    var known = KnownMarks()
    for number in 100..<140 {
      known.add(["b\(number) x"], of: "b\(number)")
      known.removed("b\(number)")
    }
    #expect(known.ofRemoved == (108..<140).map { "b\($0) x" })
    var next = KnownMarks()
    next.add(["desk y"], of: "desk")
    next.removed("desk")
    for _ in 0..<2 { next.restore(known.ofRemoved) }
    #expect(next.ofRemoved == (109..<140).map { "b\($0) x" } + ["desk y"])
    #expect(next["b139"] == ["b139 x"])
  }

  @Test func `the marks of a removed bundle are those of its folder and of the given ones`() throws
  {
    try remove()
    let bundle = look()
    let other = try Folder()
    try other.write(name, String(decoding: BundleRemovalMark.Record().bytes, as: UTF8.self))
    let marks = [folder, other].map { BundleFolders.removalMarks(in: $0.path).map(\.identity) }
    #expect(BundleFolders.marks(of: bundle, in: []) == Set(marks[0]))
    #expect(BundleFolders.marks(of: bundle, in: [other.path]) == Set(marks[0] + marks[1]))
    #expect(Set(marks[0] + marks[1]).count == 2)
  }
}
