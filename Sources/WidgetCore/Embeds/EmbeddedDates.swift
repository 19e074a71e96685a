public import WidgetModel

/// The next time at which a widget in the embeds of another one changes by time.
public enum EmbeddedDate: Hashable, Sendable {
  case never
  case at(Timestamp)
  /// The search for the date costs too much, so it can be any date.
  case unknown
}

/// The dates of widgets with embeds, each found once for all readers.
///
/// A search follows each link once, also through stacks of the same stacks. All widgets of a circle of
/// links have the same date, so a search finds the circles (Tarjan's algorithm for strongly connected
/// components). The next search continues a search that ended early, also inside a circle.
///
/// The dates are valid for one state of the store. They are found again after another revision or
/// after a change of links. The owner drops them before any other change.
public struct EmbeddedDates {
  /// `latest` for widgets that never change.
  private var known: [WidgetID: Timestamp] = [:]
  /// The search that ended early; nil for none.
  private var search: Search?
  private var version: UInt64 = 0
  private var revision: Revision = 0

  public init() {}

  /// A widget that the search has reached, and whose links it follows.
  private struct Visit {
    let id: WidgetID
    let number: Int
    /// The lowest number that its links lead back to.
    var lowest: Int
    var links: Set<WidgetID>.Iterator
    var date = Timestamp.latest
  }

  /// The state of a search.
  private struct Search {
    /// The numbers of the reached widgets, in the order of the search.
    var numbers: [WidgetID: Int] = [:]
    /// The reached widgets whose circle is not complete.
    var open: [WidgetID] = []
    var path: [Visit] = []
    /// The widget that the search reaches next; nil to follow the links of the path.
    var next: WidgetID?

    init(from id: WidgetID) { next = id }
  }

  /// Finds the date of a widget.
  ///
  /// - Parameter due: Returns the next time at which one widget changes by time.
  /// - Returns: The date, and the cost in steps of expressions. The date is `latest` for never, and
  ///   nil if the cost exceeds `costMax`.
  mutating func find(
    _ id: WidgetID, in links: EmbedLinks, at revision: Revision, costMax: Int,
    due: (WidgetID) -> Timestamp?
  ) -> (date: Timestamp?, cost: Int) {
    if version != links.version || self.revision != revision {
      (known, search) = ([:], nil)
      (version, self.revision) = (links.version, revision)
    }
    var cost = 0
    while true {
      if let date = known[id] { return (date, cost) }
      var search = self.search ?? Search(from: id)
      self.search = nil
      guard follow(&search, in: links, spending: &cost, atMost: costMax, due: due) else {
        self.search = search
        return (nil, cost)
      }
    }
  }

  /// Continues a search. Returns false if the cost exceeds `costMax` before the end. At the end,
  /// the dates of all reached widgets are known.
  private mutating func follow(
    _ search: inout Search, in links: EmbedLinks, spending cost: inout Int, atMost costMax: Int,
    due: (WidgetID) -> Timestamp?
  ) -> Bool {
    while true {
      guard cost <= costMax else { return false }
      if let id = search.next {
        cost += ContentEvaluation.nodeCost
        let number = search.numbers.count
        search.numbers[id] = number
        search.open.append(id)
        search.path.append(
          Visit(
            id: id, number: number, lowest: number, links: links.targets(of: id).makeIterator()))
        search.next = nil
      }
      let last = search.path.count - 1
      if let target = search.path[last].links.next() {
        cost += EmbeddedDates.linkCost
        if let date = due(target) { search.path[last].date = min(search.path[last].date, date) }
        if let date = known[target] {
          search.path[last].date = min(search.path[last].date, date)
        } else if let number = search.numbers[target] {
          search.path[last].lowest = min(search.path[last].lowest, number)
        } else if links.hasTargets(target) {
          search.next = target
        }
        continue
      }
      let visit = search.path.removeLast()
      if visit.lowest == visit.number {
        // The links lead back to no earlier widget, so its circle is complete.
        while let member = search.open.popLast() {
          known[member] = visit.date
          if member == visit.id { break }
        }
      }
      guard !search.path.isEmpty else { return true }
      search.path[last - 1].lowest = min(search.path[last - 1].lowest, visit.lowest)
      search.path[last - 1].date = min(search.path[last - 1].date, visit.date)
    }
  }

  /// The cost of a link: some look-ups of ids.
  private static let linkCost = 4
}

extension WidgetStore {
  /// The next time at which a widget in the embeds of a widget changes by time. The cost counts in
  /// `readingCost`.
  ///
  /// - Parameters:
  ///   - known: The dates that were found before.
  ///   - costMax: The maximum cost, in steps of expressions. The last look can exceed it.
  public func embeddedDate(
    of id: WidgetID, knowing known: inout EmbeddedDates, costMax: Int
  ) -> EmbeddedDate {
    let links = records.embeds
    guard links.hasTargets(id) else { return .never }
    let (date, cost) = known.find(id, in: links, at: revision, costMax: costMax) { other in
      slot(of: other).flatMap { records[$0]?.moment?.due }
    }
    records.familyUsage.readingCost += cost
    guard let date else { return .unknown }
    return date < .latest ? .at(date) : .never
  }
}
