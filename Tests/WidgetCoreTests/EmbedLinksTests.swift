import Testing
import WidgetModel

@testable import WidgetCore

/// The links between widgets, and the queue of widgets to check.
struct EmbedLinksTests {
  /// Takes all widgets from the queue.
  private func drain(_ links: EmbedLinks) -> Set<WidgetID> {
    while links.spread(atMost: 7) > 0 {}
    var found: Set<WidgetID> = []
    while let id = links.next() { found.insert(id) }
    return found
  }

  @Test func `a change queues the widgets that show the widget in parts`() throws {
    let links = EmbedLinks()
    let around = Set(try (0..<100).map { try #require(WidgetID("f\($0)")) })
    for id in around { links.setTargets(of: id, to: ["c"]) }
    _ = drain(links)
    links.noteChange(of: "c", hasEmbeds: false)
    // The change itself queues none of them.
    #expect(links.next() == nil)
    #expect(links.hasQueue)
    #expect(links.spread(atMost: 30) == 30)
    var found: Set<WidgetID> = []
    while let id = links.next() { found.insert(id) }
    #expect(found.count == 30)
    // A change in the middle of a walk reaches all of them again.
    links.noteChange(of: "c", hasEmbeds: false)
    #expect(drain(links) == around)
    #expect(!links.hasQueue)
  }

  @Test func `a change of links queues every widget with a chain of links to the widget`() {
    let links = EmbedLinks()
    for (id, target) in [("a", "b"), ("b", "c"), ("x", "c"), ("y", "z")] as [(WidgetID, WidgetID)] {
      links.setTargets(of: id, to: [target])
    }
    _ = drain(links)
    links.setTargets(of: "c", to: ["d"])
    #expect(drain(links) == ["a", "b", "x"])
    // The walk around a circle comes to an end.
    links.setTargets(of: "c", to: ["a"])
    #expect(drain(links) == ["a", "b", "c", "x"])
    #expect(!links.hasQueue)
  }

  @Test func `a search counts links, and ends at their limit`() {
    let links = EmbedLinks()
    func layer(_ name: String) -> [WidgetID] {
      (0..<64).map { WidgetID(stringLiteral: "\(name)\($0)") }
    }
    for (upper, lower) in [("a", "b"), ("b", "c"), ("c", "d")] {
      for id in layer(upper) { links.setTargets(of: id, to: Set(layer(lower))) }
    }
    var cost = 0
    #expect(links.reach(from: "c0", to: "root", spending: &cost) == .apart)
    #expect(cost == 64)
    cost = 0
    // The layers have only 192 widgets, but 8,256 links.
    #expect(links.reach(from: "a0", to: "root", spending: &cost) == .tooMany)
    #expect(cost == EmbedLinks.linksMax + 1)
  }

  @Test func `a search finds a circle behind other widgets, and passes no limit behind it`() {
    let links = EmbedLinks()
    links.setTargets(of: "a", to: ["b", "x"])
    links.setTargets(of: "b", to: ["end"])
    links.setTargets(of: "end", to: Set((0..<2_000).map { WidgetID(stringLiteral: "w\($0)") }))
    var cost = 0
    #expect(links.reach(from: "a", to: "end", spending: &cost) == .circle)
    #expect(cost == 3)
    #expect(links.reach(from: "a", to: "y", spending: &cost) == .tooMany)
    #expect(links.reach(from: "x", to: "end", spending: &cost) == .apart)
  }

  @Test func `a change of a widget without an audience queues nothing`() {
    let links = EmbedLinks()
    links.noteChange(of: "c", hasEmbeds: false)
    #expect(!links.hasQueue)
  }
}
