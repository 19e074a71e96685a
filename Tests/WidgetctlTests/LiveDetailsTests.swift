import Testing
import WidgetModel

@testable import widgetctl

/// The details of a widget, which explain its look.
@Suite struct LiveDetailsTests {
  private func words(
    kind: RegisteredKind? = nil, bundle: Widget? = nil, host: Widget? = nil,
    isConnected: Bool = true,
    change: (inout Widget) -> Void
  ) -> String {
    let widget = LiveSamples.widget("w") {
      $0.updateTime = Samples.time(1000)
      change(&$0)
    }
    var details = LiveDetails(
      widget: widget, nodes: NodeTable(widget.content), kind: kind, bundle: bundle, host: host,
      dates: DateText(now: Samples.time(1300)))
    details.isConnected = isConnected
    return details.lines.map(\.text).joined(separator: "\n")
  }

  private func registered(
    _ provider: String, isAttended: Bool = true, isConnected: Bool = false
  ) -> RegisteredKind {
    var registered = RegisteredKind(
      kind: Kind(
        name: Samples.kind("k"),
        events: [EventType(name: "click", payload: [Field(name: "button", type: .int)])]),
      provider: provider, isAttended: isAttended)
    registered.isProviderConnected = isConnected
    return registered
  }

  @Test func `an unregistered kind is named, with the next step`() {
    let text = words {
      $0 = Samples.unregistered { $0.updateTime = Samples.time(1180) }
      $0.data = ["n": .int(1)]
    }
    #expect(
      text.hasPrefix(
        "Why it shows a table\nThe kind \"clock\" is not registered; not updated for 2m.\n"
          + "`widgetctl apply -f FILE` registers a kind"))
  }

  @Test func `an unregistered kind is the reason why a widget without data is empty`() {
    let text = words {
      $0 = Samples.unregistered { $0.updateTime = Samples.time(1180) }
      $0.data = [:]
    }
    #expect(text.hasPrefix("Why it is empty\nThe kind \"clock\" is not registered"))
  }

  @Test func `nodes are listed in the order on the screen`() {
    func row(_ id: String) -> Node { Node(id: id, type: .button, events: ["press"]) }
    var nodes = NodeTable(
      Content(
        rootID: "box",
        nodes: [Node(id: "box", type: .stack, childIDs: ["a", "d"]), row("a"), row("d")]))
    nodes.apply(
      ContentChange(setNodes: [
        Node(id: "box", type: .stack, childIDs: ["a", "b", "c", "d"]), row("c"), row("b"),
      ]))
    let details = LiveDetails(
      widget: LiveSamples.widget("w"), nodes: nodes, dates: DateText(now: Samples.time(1300)))
    let listed = details.lines.map(\.text).filter { $0.hasSuffix(": press") }
    #expect(listed == ["a: press", "b: press", "c: press", "d: press"])
  }

  @Test func `a disconnected provider is named, with the time since then`() {
    let text = words(kind: registered("sysmon")) { $0.isStale = true }
    #expect(text.hasPrefix("Why it is stale\nNo provider \"sysmon\" is connected."))
    #expect(text.contains("It became stale 5m ago at the latest"))
    #expect(text.contains("Start the provider's program"))
    // The daemon does not report whether the provider is connected.
    let unknown = words(kind: registered("sysmon", isAttended: false)) { $0.isStale = true }
    #expect(unknown.hasPrefix("Why it is stale\nIts kind is declared by \"sysmon\"."))
  }

  @Test func `a connected provider is asked for new data`() {
    let text = words(kind: registered("sysmon", isConnected: true)) { $0.isStale = true }
    #expect(text.hasPrefix("Why it is stale\nIts provider \"sysmon\" is connected."))
    #expect(text.contains("`widgetctl refresh w`"))
    #expect(!text.contains("Start"))
  }

  @Test func `a disconnected host is named, with the time since then`() {
    let host = LiveSamples.widget("widgetd-host") {
      $0.isStale = true
      $0.updateTime = Samples.time(1180)
    }
    let text = words(kind: registered("bundle/feed"), host: host) { $0.isStale = true }
    #expect(text.contains("widgetd-host, which runs it, ended 2m ago"))
  }

  @Test func `a failed source is named with its age and reason`() {
    let text = words(kind: registered("bundle/feed")) {
      $0.isStale = true
      $0.data = [
        "status": .map([
          "posts": .map([
            "state": .string("failure"), "failed": .bool(true),
            "since": .timestamp(Samples.time(1240)), "message": .string("no\u{1B} answer"),
            "stale": .bool(true),
          ])
        ])
      ]
    }
    #expect(text.contains("posts has failed for 1m: no"))
    #expect(text.contains("staleAfter"))
    #expect(text.contains("Sources and actions\nposts: failure, 1m ago: no"))
    #expect(!text.contains("\u{1B}"))
  }

  @Test func `a bundle that does not run is named with its problem`() {
    let bundle = LiveSamples.widget("bundle/feed") {
      $0.data = ["state": .string("broken"), "problem": .string("feed.yaml:3: no")]
    }
    let text = words(kind: registered("bundle/feed"), bundle: bundle) { $0.isStale = true }
    #expect(text.contains("Its bundle is broken.\nfeed.yaml:3: no"))
  }

  @Test func `a mark without provider names the command that removes it`() {
    #expect(words { $0.isStale = true }.contains("`widgetctl set w --no-stale`"))
    #expect(
      words(isConnected: false) { _ in }.hasPrefix("Why it is stale\nThe daemon cannot be reached"))
    #expect(!words { _ in }.contains("stale"))
  }

  @Test func `errors have reason and age, nodes their problems`() {
    let text = words {
      $0.error = WidgetError(
        reason: "SOURCE_FAILED", message: "first\nsecond", since: Samples.time(1000))
      $0.content?.nodes[1].problem = "no such key\nat 3"
    }
    #expect(text.contains("Error\nSOURCE_FAILED, since 5m ago\nfirst\nsecond"))
    #expect(text.contains("Problems of nodes\nn0: no such key\n  at 3"))
  }

  @Test func `events are those of nodes and of the kind`() {
    let text = words(kind: registered("sysmon")) { $0.content?.nodes[1].events = ["press"] }
    #expect(text.contains("Events\nn0: press\nthe widget: click with button"))
    #expect(words { $0.presence.isEnabled = false }.contains("widgetctl enable w"))
    #expect(words { $0.presence.isVisible = false }.contains("widgetctl show w"))
  }
}
