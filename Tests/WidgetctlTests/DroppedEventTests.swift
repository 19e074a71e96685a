import Testing
import WidgetClient
import WidgetModel
import WidgetProto

@testable import widgetctl

/// Events that the daemon drops while their host is away.
@Suite struct DroppedEventTests {
  private static func bundle(_ ranges: [(Int64, Int64)]) -> Widget {
    let values = ranges.map { range in
      Value.map(["first": .int(range.0), "last": .int(range.1)])
    }
    return LiveSamples.widget("bundle/feed") { $0.data = ["droppedEvents": .list(values)] }
  }

  @Test(
    arguments: [(30, false), (31, true), (47, true), (48, false), (50, true)] as [(UInt64, Bool)])
  func `the widget of a bundle tells which events were dropped`(event: UInt64, isDropped: Bool) {
    let bundle = Self.bundle([(31, 47), (50, 50)])
    #expect(DroppedEvent.isReported(event, by: bundle) == isDropped)
    #expect(!DroppedEvent.isReported(event, by: LiveSamples.widget("bundle/feed") { _ in }))
    #expect(!DroppedEvent.isReported(event, by: nil))
  }

  @Test(
    arguments: [
      (.opened(WatchEventsOpened(afterSequence: 6)), nil),
      (.opened(WatchEventsOpened(afterSequence: 3)), false),
      (.gap(EventGap(firstSequence: 7, lastSequence: 9)), true),
      (.gap(EventGap(firstSequence: 8, lastSequence: 9)), false), (.events(EventBatch()), false),
      (.reconnected, nil),
    ] as [(EventFrame, Bool?)])
  func `an event is missing if a gap has its number`(frame: EventFrame, isMissing: Bool?) {
    #expect(DroppedEvent.isMissing(7, in: frame) == isMissing)
  }

  @Test func `a dropped event has failed, and can be sent again`() {
    let failure = DroppedEvent.failure(7)
    #expect(failure.exit == .actionFailed)
    #expect(failure.message.hasPrefix("event 7 was dropped before widgetd-host got it, because "))
    #expect(failure.message.hasSuffix("; send it again"))
  }

  @Test(
    arguments: [
      (.missing(), "a host that starts handles the event only if the daemon still has it: `"),
      (.returning(folders: []), "when it returns only if the daemon still has it; send it again"),
      (
        .silent(
          SilentProcess(ProviderSilence(since: .epoch, pid: 42), isStopped: false), folders: []),
        "it continues the event then only if the daemon still has it; send it again"
      ),
    ] as [(BundleHost, String)])
  func `at the timeout, nothing is promised for an event that may have been dropped`(
    host: BundleHost, words: String
  ) {
    let text = OutcomeWait.words(
      event: 7, of: Samples.id("w"), within: "1s", isStored: true, mayBeDropped: true,
      isProvided: false, host: host)
    #expect(text.hasPrefix("event 7 has not ended within 1s; it may have been dropped, because "))
    #expect(!text.contains("it is stored") && text.contains(words))
    #expect(text.hasSuffix("; send it again if it has no effect"))
  }

  @Test func `Ctrl-C of send --wait says that it does not stop the event, and how to look`() {
    let words = OutcomeWait.interrupted(event: 7, of: Samples.id("w"))
    #expect(words.contains("the outcome of event 7") && words.contains("does not stop it"))
    #expect(words.hasSuffix("`widgetctl get w --field data.status` shows its state"))
  }

  @Test func `questions after the time limit have one second together, and no more`() {
    let start = ContinuousClock.now
    let time = OutcomeWait.Allowance(.seconds(1), from: start)
    #expect(time.left(at: start) == .seconds(1))
    #expect(time.left(at: start + .milliseconds(700)) == .milliseconds(300))
    #expect(time.left(at: start + .seconds(3)) == .zero)
  }

  @Test func `a notice is repeated only if it changes`() {
    func news(_ words: [String], isNoted: Bool) -> [Bool] {
      var notices = OutcomeWait.Notices()
      return words.map { notices.isNews($0, isNoted: isNoted) }
    }
    let words = ["away", "away", "runs", "runs", "away"]
    #expect(news(words, isNoted: false) == [true, false, true, false, true])
    // The command has told the first state before.
    #expect(news(words, isNoted: true) == [false, false, true, false, true])
  }
}
