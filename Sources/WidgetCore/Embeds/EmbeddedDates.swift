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
/// components). A search that ends early leaves the dates of the widgets behind it, and the next one
/// goes on with them.
///
/// The dates are valid for one state of the store. They are found again after another revision or
/// after a change of links. The owner drops them before any other change.
public struct EmbeddedDates {
  /// `latest` for widgets that never change.
  private var known: [WidgetID: Timestamp] = [:]
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
      (known, version, self.revision) = ([:], links.version, revision)
    }
    if let date = known[id] { return (date, 0) }
    var cost = 0
    // Widgets without a known date have a number. Those whose circle is not complete are in `open`.
    var numbers: [WidgetID: Int] = [:]
    var open: [WidgetID] = []
    var path: [Visit] = []
    var next: WidgetID? = id
    while true {
      if let id = next {
        cost += ContentEvaluation.nodeCost
        let number = numbers.count
        numbers[id] = number
        open.append(id)
        path.append(
          Visit(
            id: id, number: number, lowest: number, links: links.targets(of: id).makeIterator()))
        next = nil
      }
      let last = path.count - 1
      if let target = path[last].links.next() {
        cost += EmbeddedDates.linkCost
        guard cost <= costMax else { return (nil, cost) }
        if let date = due(target) { path[last].date = min(path[last].date, date) }
        if let date = known[target] {
          path[last].date = min(path[last].date, date)
        } else if let number = numbers[target] {
          path[last].lowest = min(path[last].lowest, number)
        } else if links.hasTargets(target) {
          next = target
        }
        continue
      }
      let visit = path.removeLast()
      if visit.lowest == visit.number {
        // The links lead back to no earlier widget, so its circle is complete.
        while let member = open.popLast() {
          known[member] = visit.date
          if member == visit.id { break }
        }
      }
      guard !path.isEmpty else { return (visit.date, cost) }
      path[last - 1].lowest = min(path[last - 1].lowest, visit.lowest)
      path[last - 1].date = min(path[last - 1].date, visit.date)
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
