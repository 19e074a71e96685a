import Testing
import WidgetBundle
import WidgetModel

@testable import WidgetHost

/// The kinds of programs that the host suggests in place of a misspelt kind. This daemon answers at
/// once. `LookTests` has the answer that comes after the widget.
extension HandOverTests {
  /// The daemon tells all widgets of each watch.
  private mutating func tellAll() {
    for (id, kinds) in watches {
      run(machine.handle(.watch(id, .snapshot(daemon.shown(of: kinds))), at: time))
    }
  }

  @Test(arguments: [("sysmon", true), ("bundle/gone", false)])
  mutating func `the note about a misspelt kind has the similar kind of a program`(
    provider: String, isNamed: Bool
  ) throws {
    daemon.kinds[try #require(KindName("gauge"))] = provider
    try edit("a", "w: {kind: gaugee}")
    run(machine.looked(at: time))
    run(machine.start(at: time))
    tellAll()
    let advice = isNamed ? "did you mean \"gauge\"?" : MissingKind.advice
    let lines = reports.filter { $0.contains("the kind \"gaugee\" is not registered") }
    #expect(lines.count == 1 && lines.first?.hasSuffix("; \(advice)") == true)
    // The note of `bundle ls`.
    let notes = lines.map { Value.string(String($0.dropFirst("bundle a: ".count))) }
    #expect(widget("bundle/a")?.data["remarks"] == .list(notes))
  }
}
