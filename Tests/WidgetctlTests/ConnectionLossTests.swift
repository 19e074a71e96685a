import Testing
import WidgetClient
import WidgetModel
import WidgetProto

@testable import widgetctl

struct ConnectionLossTests {
  private func loss(after frames: [WatchFrame]) -> ConnectionLoss? {
    frames.reduce(into: nil) { loss, frame in loss = .after(frame, loss, at: .epoch) }
  }

  private let lost = WatchFrame.disconnected(.connectionLost(socketPath: "/s"))
  private let opened = WatchFrame.opened(WatchOpened(subscriptionID: 1, epoch: 1, revision: 1))

  @Test func `a stream that continues is up to date when it opens`() {
    #expect(loss(after: [lost, lost]) != nil)
    #expect(loss(after: [lost, .reconnected]) != nil)
    #expect(loss(after: [lost, .reconnected, opened]) == nil)
  }

  @Test func `after a reset, the old state stays marked until the snapshot is complete`() {
    let begun: [WatchFrame] = [lost, .reconnected, .reset(.epochChanged), opened]
    #expect(loss(after: begun) != nil)
    #expect(loss(after: begun + [.snapshot(SnapshotChunk())]) != nil)
    #expect(loss(after: begun + [.synced(WatchSynced(revision: 1))]) == nil)
  }

  @Test func `a further attempt changes the reason, and not the time`() {
    var loss = ConnectionLoss.after(
      .disconnected(.unavailable(.noSuchFile, socketPath: "/s")), nil, at: .epoch)
    #expect(loss?.words == "widgetd has been away")
    for (error, words) in [
      (ClientError.unresponsive(socketPath: "/s", answerMax: .seconds(5)), "has not answered"),
      (.protocolViolation("no"), "another program answers"),
    ] {
      loss = .after(.disconnected(error), loss, at: Timestamp.epoch.advanced(by: .seconds(9)))
      #expect(loss?.words.contains(words) == true)
      #expect(loss?.absence.isEmpty == false)
      #expect(loss?.since == .epoch)
    }
  }

  @Test func `a reset without a lost connection is not a loss`() {
    #expect(loss(after: [.reset(.compacted), opened]) == nil)
  }

  @Test func `widgets may be old while the store takes no changes`() {
    let failure = StoreFailure(message: "full", since: .epoch)
    let failing = WatchFrame.store(WatchStore(failure: failure))
    let works = WatchFrame.store(WatchStore())
    #expect(loss(after: [opened, failing])?.words == "widgetd cannot store changes")
    #expect(loss(after: [opened, failing])?.next == "`widgetctl status` shows why")
    #expect(loss(after: [opened, failing, works]) == nil)
    // The daemon reports it again after `opened`.
    #expect(loss(after: [opened, failing, lost])?.words == "widgetd has been away")
    #expect(loss(after: [opened, failing, lost, .reconnected, opened]) == nil)
    let begun: [WatchFrame] = [lost, .reconnected, .reset(.epochChanged), opened, failing]
    #expect(loss(after: begun)?.words == "widgetd has been away")
    #expect(
      loss(after: begun + [.synced(WatchSynced())])?.words == "widgetd cannot store changes")
  }
}
