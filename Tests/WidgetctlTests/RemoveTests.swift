import Testing

@testable import widgetctl

struct RemoveTests {
  @Test(arguments: [
    (1, "widget \"w\" may be removed; run"), (2, "may be removed, and 1 more widget is left; run"),
    (9, "may be removed, and 8 more widgets are left; run"),
  ])
  func `the loss of the daemon names the widget and what is left`(left: Int, words: String) {
    let lost = CommandFailure(.unavailable, "the connection was lost")
    let named = RemoveCommand.ending(lost, at: Samples.id("w"), left: left, isSelection: false)
    #expect(named.exit == .unavailable)
    #expect(named.message.hasPrefix("the connection was lost; widget \"w\" may be removed"))
    #expect(named.message.contains(words))
    #expect(named.message.hasSuffix("run the command again with --allow-missing"))
    #expect(named.metadata == ["widget_id": "w", "left": "\(left)"])
    let selected = RemoveCommand.ending(lost, at: Samples.id("w"), left: left, isSelection: true)
    #expect(selected.message.hasSuffix("run the command again"))
  }
}
