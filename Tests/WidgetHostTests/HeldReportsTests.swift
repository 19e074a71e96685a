import Testing

@testable import WidgetHost

@Suite struct HeldReportsTests {
  @Test func `lines are held in order, up to the limit`() {
    var held = HeldReports(countMax: 2)
    let taken = [held.hold(.note("a")), held.hold(.report("b")), held.hold(.note("c"))]
    #expect(taken == [true, true, false])
    #expect(held.lines == [.note("a"), .report("b")])
  }

  @Test func `discarded lines are not printed`() {
    var held = HeldReports(countMax: 2)
    _ = held.hold(.note("a"))
    held.discard()
    #expect(held.lines.isEmpty)
  }
}
