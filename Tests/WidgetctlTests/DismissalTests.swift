import Testing
import WidgetClient
import WidgetModel
import WidgetProto

@testable import widgetctl

struct DismissalTests {
  private static func widget(_ id: String, dismissed: Bool?) -> Widget {
    var root = Node(id: "root", type: .stack)
    root.properties["dismissed"] = dismissed.map { .bool($0) }
    return LiveSamples.widget(id, content: Content(rootID: "root", nodes: [root]))
  }

  private func look(_ dismissals: inout Dismissals, _ widget: Widget, at seconds: Int64 = 0) {
    dismissals.look(
      at: widget, revision: 1, now: Timestamp.epoch.advanced(by: .seconds(seconds)))
  }

  private static func answer(revision: Revision) -> EventAnswer {
    EventAnswer(response: SendEventResponse(sequence: 7, revision: revision), at: .epoch)
  }

  @Test func `a view closes when its widget becomes dismissed while it is shown`() {
    var dismissals = Dismissals(of: [Samples.id("a")])
    #expect(!dismissals.areComplete)
    // A value from an earlier use does not close the view.
    look(&dismissals, Self.widget("a", dismissed: true))
    #expect(!dismissals.areComplete)
    look(&dismissals, Self.widget("a", dismissed: nil))
    #expect(!dismissals.areComplete)
    look(&dismissals, Self.widget("a", dismissed: true))
    #expect(dismissals.areComplete)
  }

  @Test func `a view of several widgets closes when all are dismissed`() {
    var dismissals = Dismissals(of: [Samples.id("a"), Samples.id("b")])
    for id in ["a", "b", "c"] { look(&dismissals, Self.widget(id, dismissed: false)) }
    for id in ["a", "c"] { look(&dismissals, Self.widget(id, dismissed: true)) }
    #expect(!dismissals.areComplete)
    look(&dismissals, Self.widget("a", dismissed: false))
    look(&dismissals, Self.widget("b", dismissed: true))
    #expect(!dismissals.areComplete)
    look(&dismissals, Self.widget("a", dismissed: true))
    #expect(dismissals.areComplete)
  }

  @Test func `a view without named widgets stays`() {
    var dismissals = Dismissals(of: [])
    look(&dismissals, Self.widget("a", dismissed: false))
    look(&dismissals, Self.widget("a", dismissed: true))
    #expect(!dismissals.areComplete)
  }

  @Test func `an event of the view closes it, even if dismissed was never false in the view`() {
    var dismissals = Dismissals(of: [Samples.id("a")])
    look(&dismissals, Self.widget("a", dismissed: true))
    dismissals.accepted(by: Samples.id("a"), Self.answer(revision: 1))
    look(&dismissals, Self.widget("a", dismissed: true))
    #expect(dismissals.areComplete)
  }

  @Test func `an event closes the view when it has had its effect`() {
    var dismissals = Dismissals(of: [Samples.id("a")])
    look(&dismissals, Self.widget("a", dismissed: true))
    // The view may never reach this revision, because the event has changed nothing.
    dismissals.accepted(by: Samples.id("a"), Self.answer(revision: 2))
    look(&dismissals, Self.widget("a", dismissed: true))
    #expect(!dismissals.areComplete)
    #expect(dismissals.nextDecision(after: .epoch) == Timestamp.epoch.advanced(by: .seconds(1)))
    look(&dismissals, Self.widget("a", dismissed: true), at: 1)
    #expect(dismissals.areComplete)
    #expect(dismissals.nextDecision(after: .epoch) == nil)
  }

  @Test(arguments: [(0, false), (1, true), (-1, true), (-3_600, true)])
  func `an event does not keep the view for longer if the clock is set back`(
    seconds: Int64, closes: Bool
  ) {
    var dismissals = Dismissals(of: [Samples.id("a")])
    look(&dismissals, Self.widget("a", dismissed: true))
    dismissals.accepted(by: Samples.id("a"), Self.answer(revision: 2))
    look(&dismissals, Self.widget("a", dismissed: true), at: seconds)
    #expect(dismissals.areComplete == closes)
  }

  @Test func `an event of a bundle closes the view when the bundle has done it`() {
    func widget(_ outcomes: ValueMap) -> Widget {
      var widget = Self.widget("a", dismissed: true)
      widget.data["status"] = .map(["$outcomes": .map(outcomes)])
      return widget
    }
    var dismissals = Dismissals(of: [Samples.id("a")])
    look(&dismissals, widget([:]))
    dismissals.accepted(by: Samples.id("a"), Self.answer(revision: 1))
    look(&dismissals, widget([:]), at: 60)
    #expect(!dismissals.areComplete)
    look(&dismissals, widget(["7": .map(["failed": .bool(true)])]), at: 60)
    #expect(!dismissals.areComplete)
    look(&dismissals, widget(["7": .map(["failed": .bool(false)])]), at: 60)
    #expect(dismissals.areComplete)
  }
}
