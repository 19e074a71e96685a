import Testing
import WidgetClient

@testable import widgetctl

/// The warnings after an installation by the host.
struct BundleDoubtsTests {
  @Test(arguments: [false, true])
  func `an installation by the host says if nobody could check what keeps the bundle from running`(
    isOld: Bool
  ) {
    let bundle = InstalledBundle(
      id: "cnt", version: "1.0.0", folder: "/l/cnt", kinds: ["k"], widgets: ["w"],
      widgetKinds: isOld ? [] : ["k"])
    func doubts(_ refusals: [String]?, _ host: BundleHost) -> [String] {
      BundleRemote.doubts(about: bundle, refusals, host)
    }
    let unknown =
      "this command could not check whether other bundles or folders keep bundle cnt from running; "
      + "`widgetctl bundle ls --remote` shows its state"
    let host = BundleHost.running(folders: ["/l"])
    #expect(doubts([], host) == (isOld ? [unknown] : []))
    #expect(doubts(["taken"], host) == (isOld ? ["taken", unknown] : ["taken"]))
    #expect(doubts(nil, host) == [unknown])
    let silent = BundleHost.running(folders: [], problem: BundleHost.unreported)
    #expect(doubts([], silent) == [unknown] && doubts([], .unknown) == [unknown])
  }
}
