import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// The notes about values that are gone with removed widgets, and about dropped events, stay until the
/// bundle's file changes.
struct FormerLossesTests {
  private let now = HostTime(wall: .epoch, uptime: .zero)
  private let line = "widget w is removed, and with it the value of data.n, 7"

  private func bundle(_ file: UInt64) throws -> Bundle {
    var bundle = try BundleReader.read(
      "{bundle: b, format: 1, version: 1.0.0, kinds: {k: {data: {n: 1}, content: {label: x}}}}")
    bundle.fileDigest = file
    return bundle
  }

  /// A host that has noted a lost value, and its widget `bundle/b`.
  private func former() throws -> (state: HostState, shown: ValueMap) {
    var state = HostState(home: "/home/me", seed: 1)
    _ = state.remembered([], at: now)
    let outputs = state.found(.bundle(try bundle(1), digest: 1), in: "/b/x", at: now)
    let generation = try #require(outputs.generations.first)
    _ = state.declared(generation: generation, refusal: nil, at: now)
    _ = state.noteLoss(line, of: "b")
    let standing = try #require(state.standings.first)
    #expect(remarks(state) == [line])
    return (state, try #require(HostState.spec(standing)).data)
  }

  private func remarks(_ state: HostState) -> [String] {
    (state.standings.first?.remarks ?? []).filter { $0.hasPrefix("widget w ") }
  }

  @Test(arguments: [Int64.max, .min])
  func `a wrong number of earlier losses in the data of a bundle stops no host`(
    count: Int64
  ) throws {
    let data: ValueMap = [
      "file": .string("1"), "lines": .list([.string("a"), .string("b")]), "earlier": .int(count),
    ]
    var lines = try #require(FormerLosses(Value.map(data))).lines
    lines.add("c", countMax: 1)
    lines.add(earlier: lines, countMax: 1)
    #expect(lines.newest == ["c"])
    #expect(lines.earlierCount == (count > 0 ? LossLines.earlierCountMax : 4))
  }

  @Test(arguments: [true, false], [true, false])
  func `the next host has the notes if the file has not changed`(
    isRead: Bool, isSame: Bool
  ) throws {
    let known = HostState.Remembered(
      id: "b", path: "/b/x", loaded: .epoch, shown: try former().shown)
    var next = HostState(home: "/home/me", seed: 2)
    let file = HostState.Found.bundle(try bundle(isSame ? 1 : 2), digest: isSame ? 1 : 2)
    // The folder has another name, and the file a mistake at first, or not.
    if isRead {
      _ = next.found(file, in: "/b/y", at: now)
      _ = next.remembered([known], at: now)
    } else {
      _ = next.found(.broken(problem: "line 1: no", digest: 9), in: "/b/x", at: now)
      _ = next.remembered([known], at: now)
      #expect(remarks(next) == [])
      _ = next.found(file, in: "/b/x", at: now)
    }
    #expect(remarks(next) == (isSame ? [line] : []))
    // The host after that has them, too.
    let standing = try #require(next.standings.first)
    let data = try #require(HostState.spec(standing)).data
    #expect((FormerLosses(data[HostState.lossesKey])?.lines.newest == [line]) == isSame)
  }

  @Test func `the newest notes are kept, with the number of earlier ones, also by the next host`()
    throws
  {
    let most = HostLimits().failuresShownMax
    var (state, _) = try former()
    for number in 1...most { _ = state.noteLoss("widget w loses \(number)", of: "b") }
    let wanted = (1...most).map { "widget w loses \($0)" }
    let earlier = "1 earlier value is gone, too; the log of widgetd-host names it"
    #expect(remarks(state) == wanted)
    #expect(state.standings.first?.remarks.contains(earlier) == true)
    var next = try self.next(after: state)
    #expect(remarks(next) == wanted)
    #expect(next.standings.first?.remarks.contains(earlier) == true)
    _ = next.noteLoss("widget w loses the last", of: "b")
    #expect(remarks(next) == Array(wanted.dropFirst()) + ["widget w loses the last"])
    #expect(next.standings.first?.remarks.contains { $0.hasPrefix("2 earlier values") } == true)
  }

  /// The next host, which has read the same file.
  ///
  /// - Parameter isRead: whether it reads the file before the daemon tells it the bundles.
  private func next(after state: HostState, isRead: Bool = true) throws -> HostState {
    let standing = try #require(state.standings.first)
    let known = HostState.Remembered(
      id: "b", path: "/b/x", loaded: .epoch, shown: try #require(HostState.spec(standing)).data)
    var next = HostState(home: "/home/me", seed: 2)
    if !isRead { _ = next.found(.broken(problem: "line 1: no", digest: 9), in: "/b/x", at: now) }
    if !isRead { _ = next.remembered([known], at: now) }
    _ = next.found(.bundle(try bundle(1), digest: 1), in: "/b/x", at: now)
    if isRead { _ = next.remembered([known], at: now) }
    return next
  }

  @Test(arguments: [true, false], [true, false])
  func `the next host has the numbers of dropped events, unless the epoch has changed`(
    isRead: Bool, isSame: Bool
  ) throws {
    var state = HostState(home: "/home/me", seed: 1)
    _ = state.remembered([], at: now)
    let outputs = state.found(.bundle(try bundle(1), digest: 1), in: "/b/x", at: now)
    let generation = try #require(outputs.generations.first)
    _ = state.handle(.opened(epoch: 7, tellsAudience: false), generation: generation, at: now)
    _ = state.dropped(31...47, generation: generation)
    var next = try self.next(after: state, isRead: isRead)
    #expect(next.standings.first?.drops == [31...47])
    #expect(next.standings.first?.remarks.contains(HostState.dropRemark(31...47)) == true)
    let running = try #require(next.running["b"]).instance.generation
    _ = next.handle(
      .opened(epoch: isSame ? 7 : 8, tellsAudience: false), generation: running, at: now)
    _ = next.dropped(50...50, generation: running)
    #expect(next.standings.first?.drops == (isSame ? [31...47, 50...50] : [50...50]))
  }

  @Test func `dropped events of an earlier host stand before those of this one`() throws {
    var state = HostState(home: "/home/me", seed: 1)
    _ = state.remembered([], at: now)
    let outputs = state.found(.bundle(try bundle(1), digest: 1), in: "/b/x", at: now)
    let generation = try #require(outputs.generations.first)
    _ = state.handle(.opened(epoch: 7, tellsAudience: false), generation: generation, at: now)
    _ = state.dropped(31...47, generation: generation)
    let standing = try #require(state.standings.first)
    let known = HostState.Remembered(
      id: "b", path: "/b/x", loaded: .epoch, shown: try #require(HostState.spec(standing)).data)
    for epoch in [7, 8] as [UInt64] {
      var next = HostState(home: "/home/me", seed: 2)
      let starts = next.found(.bundle(try bundle(1), digest: 1), in: "/b/x", at: now)
      let own = try #require(starts.generations.first)
      _ = next.handle(.opened(epoch: epoch, tellsAudience: false), generation: own, at: now)
      // The daemon repeats a range whose acknowledgement was lost.
      _ = next.dropped(31...47, generation: own)
      _ = next.dropped(50...50, generation: own)
      _ = next.remembered([known], at: now)
      #expect(next.standings.first?.drops == [31...47, 50...50])
    }
  }

  @Test(arguments: [1, 2] as [UInt64])
  func `the notes stay if the folder gets another name, until the file changes`(
    file: UInt64
  ) throws {
    var (state, _) = try former()
    _ = state.lost("/b/x", .missing, at: now)
    _ = state.found(.bundle(try bundle(file), digest: 5), in: "/b/y", at: now)
    #expect(state.standings.map(\.path) == ["/b/y"])
    #expect(remarks(state) == (file == 1 ? [line] : []))
  }
}
