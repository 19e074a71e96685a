import SeededRandom
import Testing
import WidgetModel

@testable import WidgetCore

/// The search for the next change in embeds.
struct EmbeddedDatesTests {
  private static func layer(_ name: String) -> [WidgetID] {
    (0..<64).map { WidgetID(stringLiteral: "\(name)\($0)") }
  }

  /// Four layers of 64 widgets. Each widget shows all of the next layer.
  private static func layers() -> EmbedLinks {
    let links = EmbedLinks()
    for (upper, lower) in [("a", "b"), ("b", "c"), ("c", "d")] {
      for id in layer(upper) { links.setTargets(of: id, to: Set(layer(lower))) }
    }
    return links
  }

  private static func date(_ second: Int) -> Timestamp { .at(Int64(second)) }

  @Test func `all stacks of the same stacks follow each link once`() {
    let (links, due) = (Self.layers(), Self.date(7))
    var dates = EmbeddedDates()
    var cost = 0
    for id in Self.layer("a") + Self.layer("b") + Self.layer("c") {
      let found = dates.find(id, in: links, at: 1, costMax: .max) { $0 == "d5" ? due : nil }
      #expect(found.date == due)
      cost += found.cost
    }
    let linkCount = 3 * 64 * 64
    #expect(cost >= linkCount)
    // Each link and each look at one of 192 widgets.
    #expect(cost <= 4 * linkCount + 192 * ContentEvaluation.nodeCost)
  }

  @Test func `a search that costs too much finds nothing, and a later one goes on`() {
    let links = Self.layers()
    var dates = EmbeddedDates()
    var costs: [Int] = []
    var date: Timestamp?
    while date == nil, costs.count < 100 {
      let found = dates.find("a0", in: links, at: 1, costMax: 2_000) { _ in Self.date(7) }
      date = found.date
      costs.append(found.cost)
    }
    #expect(date == Self.date(7))
    #expect(costs.count > 1)
    #expect(costs.allSatisfy { $0 <= 2_000 + ContentEvaluation.nodeCost + 4 })
    #expect(dates.find("a0", in: links, at: 1, costMax: 0) { _ in nil }.cost == 0)
  }

  @Test func `a search in a circle that costs too much continues in the next one`() {
    let links = EmbedLinks()
    let ids = (0..<200).map { WidgetID(stringLiteral: "w\($0)") }
    for (index, id) in ids.enumerated() {
      links.setTargets(of: id, to: Set((1...3).map { ids[(index + $0) % ids.count] }))
    }
    var dates = EmbeddedDates()
    var cost = 0
    // Each search is for another widget, like those of a frame.
    let found = ids.map { id in
      let result = dates.find(id, in: links, at: 1, costMax: 500) { other in
        other == "w77" ? Self.date(7) : nil
      }
      cost += result.cost
      return result.date
    }
    let failures = found.prefix { $0 == nil }
    #expect((2...13).contains(failures.count))
    #expect(found.dropFirst(failures.count).allSatisfy { $0 == Self.date(7) })
    #expect(cost == 200 * ContentEvaluation.nodeCost + 600 * 4)
  }

  @Test func `a change of links or another revision makes dates unknown`() {
    let links = EmbedLinks()
    links.setTargets(of: "a", to: ["b"])
    var dates = EmbeddedDates()
    func find(at revision: Revision, due: [WidgetID: Int]) -> Timestamp? {
      dates.find("a", in: links, at: revision, costMax: .max) { due[$0].map(Self.date) }.date
    }
    #expect(find(at: 1, due: ["b": 9, "c": 4]) == Self.date(9))
    #expect(find(at: 1, due: ["b": 3, "c": 4]) == Self.date(9))
    #expect(find(at: 2, due: ["b": 3, "c": 4]) == Self.date(3))
    links.setTargets(of: "b", to: ["c"])
    #expect(find(at: 2, due: ["b": 8, "c": 4]) == Self.date(4))
    links.setTargets(of: "a", to: ["x"])
    #expect(find(at: 2, due: ["b": 8, "c": 4]) == .latest)
  }

  @Test func `dates are those of all widgets that links lead to, also in circles`() {
    for seed in 0..<200 as Range<UInt64> {
      var random = SeededGenerator(seed: seed)
      let ids = (0..<10).map { WidgetID(stringLiteral: "w\($0)") }
      let links = EmbedLinks()
      var targets: [WidgetID: Set<WidgetID>] = [:]
      for id in ids {
        targets[id] = Set((0..<random.below(3)).map { _ in ids[random.below(ids.count)] })
        links.setTargets(of: id, to: targets[id] ?? [])
      }
      var due: [WidgetID: Timestamp] = [:]
      for id in ids where random.below(2) == 0 { due[id] = Self.date(random.below(100)) }
      var dates = EmbeddedDates()
      for id in ids {
        var reached: Set<WidgetID> = []
        var waiting = Array(targets[id] ?? [])
        while let next = waiting.popLast() {
          if reached.insert(next).inserted { waiting += targets[next] ?? [] }
        }
        let expected = reached.compactMap { due[$0] }.min() ?? .latest
        let found = dates.find(id, in: links, at: 1, costMax: .max) { due[$0] }
        #expect(found.date == expected, "seed \(seed), \(id)")
      }
    }
  }
}
