import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// The words about a folder without a bundle's file: the file is missing, or the folder.
struct AbsentFolderTests {
  private var now = HostTime(wall: .epoch, uptime: .zero)
  private var state = HostState(home: "/home/me", seed: 1)
  private let end = "; put the file or folder back by 1970-01-01T00:00:30Z, or"

  init() throws {
    _ = state.daemonIsBack(at: now)
    let bundle = try BundleReader.read(
      "{bundle: a, format: 1, version: 1.0.0, kinds: {k: {data: {n: 1}}}, widgets: {w: {kind: k}}}")
    let opened = state.found(.bundle(bundle, digest: 1), in: "/b/x", at: now)
    _ = state.declared(
      generation: try #require(opened.generations.first), refusal: nil, at: now)
  }

  private var problem: String { state.standings.first?.problem ?? "" }

  @Test(arguments: [
    (true as Bool?, ""), (false, ", because the folder is missing"), (nil, ", or is missing"),
  ])
  mutating func `the host tells a missing file from a missing folder`(
    isFolderThere: Bool?, cause: String
  ) {
    let lost = state.lost("/b/x", .missing, isFolderThere: isFolderThere, at: now)
    let words = "the folder /b/x has no bundle file\(cause)\(end)"
    #expect(problem.hasPrefix(words))
    #expect(lost.reports.count == 1)
    #expect(lost.reports.first?.hasPrefix("bundle a: \(words)") == true)
    #expect(HostState.isAbsence(problem, of: "/b/x"))
  }

  /// The file is gone first, then the folder.
  @Test
  mutating func `a folder that goes after its file is named, and its time does not begin again`() {
    _ = state.lost("/b/x", .missing, isFolderThere: true, at: now)
    let deadline = state.nextDeadline
    now.uptime += .seconds(20)
    let lost = state.lost("/b/x", .missing, isFolderThere: false, at: now)
    #expect(lost.reports.count == 1)
    #expect(problem.hasPrefix("the folder /b/x has no bundle file, because the folder is missing"))
    #expect(state.nextDeadline == deadline)
    #expect(state.lost("/b/x", .missing, isFolderThere: false, at: now).isEmpty)
  }

  @Test mutating func `the log has no second line if only the words are more exact`() {
    _ = state.lost("/b/x", .missing, at: now)
    #expect(state.lost("/b/x", .missing, isFolderThere: false, at: now).reports == [])
    #expect(problem.hasPrefix("the folder /b/x has no bundle file, because the folder is missing"))
  }

  @Test func `the system tells whether a folder is there`() {
    #expect(BundleFolders.isThere("/") == true)
    #expect(BundleFolders.isThere("/nonexistent/widgetd") == false)
    #expect(BundleFolders.isThere("/dev/null/x") == nil)
  }
}
