import WidgetLayout
import WidgetModel

/// What it costs to lay out a content of 1,000 nodes: all of it, and again after one text changed.
///
/// Prints the median and the minimum of many rounds, in microseconds, and what the change costs in
/// proportion to the whole. A cold round begins with a new engine, which measures every node. A warm
/// round has an engine that has laid out the same nodes before.
@main
struct LayoutBenchmark {
  static let rounds = 300

  static func main() {
    for (name, content) in [("a table", table()), ("stacks", stacks())] {
      let nodes = NodeTable(content)
      print("\(name) of \(nodes.count) nodes")
      let whole = times {
        var engine = LayoutEngine(metrics: .cells())
        let result = engine.layout(nodes, width: 80)
        precondition(result.measuredCount == nodes.count)
      }
      var (changing, engine) = (nodes, LayoutEngine(metrics: .cells()))
      _ = engine.layout(changing, width: 80)
      var number = 0
      let update = times {
        number += 1
        let node = Node(
          id: "text-500", type: .label, properties: ["text": .string("changed \(number % 10)")])
        engine.invalidate(changing.apply(ContentChange(setNodes: [node])))
        let result = engine.layout(changing, width: 80)
        precondition(result.measuredCount < 10)
      }
      print("  all nodes, cold engine          \(whole.words)")
      let share = (update.median / whole.median).thousandths
      print("  one changed text, warm engine   \(update.words), \(share) of the cold median")
    }
  }

  /// Rows of a label, a number and a button.
  static func table() -> Content {
    var nodes = [Node(id: "top", type: .table, properties: ["columns": .list([.string("Title")])])]
    for row in 0..<250 {
      let cells = [
        Node(
          id: "text-\(row * 4)", type: .label,
          properties: ["text": .string("what is in row \(row)")]),
        Node(id: "number-\(row)", type: .label, properties: ["text": .string("\(row * 17)")]),
        Node(id: "button-\(row)", type: .button, properties: ["text": .string("Remove")]),
      ]
      nodes[0].childIDs.append("row-\(row)")
      nodes.append(
        Node(
          id: "row-\(row)", type: .stack, properties: ["axis": .string("horizontal")],
          childIDs: cells.map(\.id)))
      nodes += cells
    }
    return Content(rootID: "top", nodes: nodes)
  }

  /// Ten groups of rows with two labels, of which one is wrapped, and a toggle.
  static func stacks() -> Content {
    var nodes = [Node(id: "top", type: .stack)]
    for group in 0..<10 {
      nodes[0].childIDs.append("group-\(group)")
      let rows = (0..<25).map { group * 25 + $0 }
      nodes.append(Node(id: "group-\(group)", type: .stack, childIDs: rows.map { "row-\($0)" }))
      for row in rows {
        let cells = [
          Node(
            id: "text-\(row * 4)", type: .label,
            properties: [
              "text": .string(
                "The quick brown fox jumps over the lazy dog, and row \(row) has more words than one line"
              )
            ]),
          Node(id: "number-\(row)", type: .label, properties: ["text": .string("日本語 \(row)")]),
          Node(id: "toggle-\(row)", type: .toggle, properties: ["text": .string("On")]),
        ]
        nodes.append(
          Node(
            id: "row-\(row)", type: .stack, properties: ["axis": .string("horizontal")],
            childIDs: cells.map(\.id)))
        nodes += cells
      }
    }
    return Content(rootID: "top", nodes: nodes)
  }

  /// The times of the rounds.
  struct Times {
    /// In microseconds, ascending.
    let sorted: [Double]

    var median: Double {
      let middle = sorted.count / 2
      return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }

    var words: String { "median \(median.tenths) us, minimum \((sorted.first ?? 0).tenths) us" }
  }

  static func times(_ work: () -> Void) -> Times {
    work()
    let times = (0..<rounds).map { _ in
      let (seconds, attoseconds) = ContinuousClock().measure(work).components
      return Double(seconds) * 1e6 + Double(attoseconds) / 1e12
    }
    return Times(sorted: times.sorted())
  }
}

extension Double {
  /// With one digit behind the point.
  fileprivate var tenths: String { "\((self * 10).rounded() / 10)" }
  fileprivate var thousandths: String { "\((self * 1_000).rounded() / 1_000)" }
}
