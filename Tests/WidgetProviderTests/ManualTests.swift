import Testing
import WidgetProvider

struct ManualTests {
  @Test func `the manual's example is a provider of two kinds`() {
    #expect(ManualDesk.name == "manual-desk")
    #expect(ManualCounter.kind.rawValue == "desk/counter")
    #expect(ManualDesk().instances.map(\.kind.rawValue) == ["manual-clock"])
  }

  @Test func `the manual's counter can be tried out without a daemon`() {
    var visits = Instance<ManualCounter>("visits", parameters: .init(step: 2))
    ManualCounter().handle(.press, &visits)
    #expect(visits.state.count == 2)
  }
}
