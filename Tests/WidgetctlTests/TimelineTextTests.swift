import Testing
import WidgetModel
import WidgetProto

@testable import widgetctl

/// Who sets the next timeline of a widget, in words.
struct TimelineTextTests {
  private static let time = Timestamp(nanosecondsSinceEpoch: 1_700_000_000_000_000_000)

  struct Case: Sendable {
    let provider: TimelineText.Provider
    let policy: Timeline.Policy
    let refreshTime: Timestamp?
    let words: String
  }

  private static let cases = [
    Case(
      provider: .connected, policy: .atEnd, refreshTime: time,
      words: "The provider is asked for a new timeline at 2023-11-14T22:13:20Z."),
    Case(
      provider: .connected, policy: .never, refreshTime: nil,
      words: "The provider is asked for a new timeline when somebody refreshes the widget."),
    Case(
      provider: .away("trains"), policy: .atEnd, refreshTime: time,
      words: "The provider \"trains\" is away. It is asked for a new timeline when it returns."),
    Case(
      provider: .none, policy: .atEnd, refreshTime: time,
      words: "No program provides the kind, so nobody is asked for a new timeline. "
        + "The last entry stays."),
    Case(
      provider: .unknown, policy: .atEnd, refreshTime: time,
      words: "A new timeline is due at 2023-11-14T22:13:20Z."),
  ]

  @Test(arguments: cases)
  func `the next timeline comes from the provider, if there is one`(test: Case) throws {
    let answer = GetTimelineResponse(
      policy: test.policy, status: TimelineStatus(refreshTime: test.refreshTime))
    let text = TimelineText(answer, showsText: false, Samples.plain, test.provider)
      .text(of: try #require(WidgetID("w")), width: nil)
    #expect(text == "no entries\n\(test.words)\n")
  }

  @Test func `a kind has a provider while a session of it is open, or was`() throws {
    var kind = RegisteredKind(
      kind: Kind(name: try #require(KindName("k"))), provider: "trains")
    #expect(TimelineText.Provider(kind) == .none)
    kind.isAttended = true
    #expect(TimelineText.Provider(kind) == .away("trains"))
    kind.isProviderConnected = true
    #expect(TimelineText.Provider(kind) == .connected)
  }
}
