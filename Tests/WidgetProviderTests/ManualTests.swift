import Testing
import WidgetProvider

struct ManualTests {
  @Test func `the manual's example is a provider of two kinds`() {
    #expect(ManualDesk.name == "manual-desk")
    #expect(ManualCounter.kind.rawValue == "manual-counter")
    #expect(ManualDesk().instances.map(\.kind.rawValue) == ["manual-clock"])
  }
}
