import Testing
import WidgetModel
import WidgetProto

@testable import widgetctl

/// The text about the program that sets the next timeline of a widget.
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

  @Test func `a cell without text shows the reason`() {
    func words(_ nodes: Node...) -> String {
      let root = Node(id: "top", type: .stack, childIDs: nodes.map(\.id))
      return TimelineText.words(Content(rootID: "top", nodes: [root] + nodes), at: Self.time)
    }
    func node(_ id: String, _ type: NodeType, _ properties: ValueMap) -> Node {
      Node(id: id, type: type, properties: properties)
    }
    var failing = Node(id: "title", type: .label)
    failing.problem = "text: no such key"
    #expect(words(failing) == "! title: text: no such key")
    let text = node("a", .label, ["text": .string("boards at 9")])
    #expect(words(text, failing) == "boards at 9 ! title: text: no such key")
    #expect(words(node("g", .gauge, ["text": .string("cpu"), "value": .double(0.5)])) == "cpu 50%")
    #expect(
      words(node("i", .image, ["source": .string("/does/not/exist.png"), "alt": .string("map")]))
        == "map ! i: source: /does/not/exist.png: No such file or directory")
    #expect(words() == "(no text)")
    #expect(TimelineText.words(nil, at: Self.time) == "(no content)")
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
