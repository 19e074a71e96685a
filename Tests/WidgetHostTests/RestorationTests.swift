import Testing
import WidgetModel

@testable import WidgetHost

@Suite struct RestorationTests {
  private let limits: HostLimits = {
    var limits = HostLimits()
    limits.restoreWaitInitial = .seconds(1)
    limits.restoreWaitMax = .seconds(5)
    return limits
  }()

  @Test func `all widgets that are removed during a wait are declared together`() throws {
    var restoration = Restoration()
    let (a, b) = (try #require(WidgetID("a")), try #require(WidgetID("b")))
    restoration.lost([b], at: .zero, limits)
    restoration.lost([a, b], at: .zero, limits)
    let ids = restoration.begin(at: .seconds(1)).ids
    #expect(ids == [a, b])
    #expect(restoration.missing.isEmpty)
    restoration.lost([a], at: .seconds(1), limits)
    #expect(restoration.missing == [a])
    restoration.settle()
    #expect(restoration.missing.isEmpty)
  }

  @Test func `the wait doubles while a program removes widgets again and again`() throws {
    var restoration = Restoration()
    let id = try #require(WidgetID("a"))
    var now = Duration.zero
    var waits: [Duration] = []
    for _ in 0..<6 {
      restoration.lost([id], at: now, limits)
      let wait = restoration.wait(limits)
      waits.append(wait)
      now += wait
      _ = restoration.begin(at: now)
    }
    #expect(waits == [1, 2, 4, 5, 5, 5].map { .seconds($0) })
  }

  @Test(arguments: [(4, 4), (5, 1), (500, 1)])
  func `the first wait is used again after the longest wait without a removal`(
    stayed: Int, wait: Int
  ) throws {
    var restoration = Restoration()
    let id = try #require(WidgetID("a"))
    for second in 0..<2 {
      restoration.lost([id], at: .seconds(second), limits)
      _ = restoration.begin(at: .seconds(second))
    }
    restoration.lost([id], at: .seconds(1 + stayed), limits)
    #expect(restoration.wait(limits) == .seconds(wait))
  }

  @Test func `a widget that somebody has by now is not restored`() throws {
    var restoration = Restoration()
    let (a, b, c) = (
      try #require(WidgetID("a")), try #require(WidgetID("b")), try #require(WidgetID("c"))
    )
    restoration.lost([a, b, c], at: .zero, limits)
    restoration.found(a)
    restoration.taken(b, at: .zero, limits)
    #expect(!restoration.isComplete)
    let restored = restoration.begin(at: .seconds(1)).ids
    #expect(restored == [c] && restoration.isComplete)
    // To declare the widget again gives a refusal that names the owner.
    restoration.taken(b, at: .seconds(1), limits)
    #expect(!restoration.isComplete)
    let none = restoration.begin(at: .seconds(2)).ids
    #expect(none.isEmpty)
    restoration.taken(b, at: .seconds(2), limits)
    restoration.lost([b], at: .seconds(2), limits)
    let again = restoration.begin(at: .seconds(3)).ids
    #expect(again == [b])
    restoration.lost([a], at: .seconds(3), limits)
    restoration.found(a)
    #expect(restoration.isComplete)
  }

  @Test func `kinds are restored together with widgets`() throws {
    var restoration = Restoration()
    let (kind, id) = (try #require(KindName("k")), try #require(WidgetID("a")))
    restoration.lost(kinds: [kind], at: .zero, limits)
    #expect(!restoration.isComplete)
    restoration.lost([id], at: .zero, limits)
    let (ids, kinds) = restoration.begin(at: .seconds(1))
    #expect(ids == [id] && kinds == [kind])
    #expect(restoration.isComplete)
    restoration.lost(kinds: [kind], at: .seconds(1), limits)
    restoration.settle()
    #expect(restoration.isComplete)
  }
}
