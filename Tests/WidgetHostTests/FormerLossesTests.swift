import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// The notes about values that are gone with removed widgets stay until the bundle's file changes.
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
    #expect((FormerLosses(data[HostState.lossesKey])?.lines == [line]) == isSame)
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
