import Testing
import WidgetModel

@testable import WidgetServer

/// The dates until which groups know their widgets.
struct UpcomingHorizonTests {
  private static func date(_ second: Int64) -> Timestamp {
    Timestamp(nanosecondsSinceEpoch: second * 1_000_000_000)
  }

  @Test func `all groups keep at most the budget, and one without room knows no dates`() throws {
    let budget = HorizonBudget(datesMax: 3)
    let ids = try (0..<4).map { try WidgetID.make("w\($0)") }
    var (first, second) = (UpcomingHorizon(), UpcomingHorizon())
    for (index, id) in ids.prefix(2).enumerated() {
      first.set(id, Self.date(10 + Int64(index)), within: budget)
      second.set(id, Self.date(20), within: budget)
    }
    #expect(first.isKnown && first.date() == Self.date(10))
    #expect(!second.isKnown && second.date() == nil)
    #expect(budget.dates == 2)
    // Another date of the same widget takes no more room.
    first.set(ids[0], Self.date(12), within: budget)
    #expect(first.date() == Self.date(11) && budget.dates == 2)
    first.set(ids[2], Self.date(9), within: budget)
    first.remove(ids[1])
    first.remove(ids[1])
    #expect(first.date() == Self.date(9) && budget.dates == 2)
    second.set(ids[3], Self.date(5), within: budget)
    #expect(!second.isKnown && budget.dates == 2)
    first.forget()
    #expect(!first.isKnown && first.date() == nil && budget.dates == 0)
  }
}
