import Glibc
import Glibc
import WidgetLayout
import WidgetModel

/// What it costs to lay out a content of 1,000 nodes: all of it, and again after one text changed.
///
/// Prints the median and the minimum of many rounds, in microseconds. A cold round begins with a new
/// engine, which measures every node. A warm round has an engine that has laid out the same nodes before.
/// The yardstick is the table of the nodes, which a client makes of each content: ratios to it hold on
/// any machine. The aims are about minima, which other work disturbs least. Leaves with 1 if one is missed.
@main
struct LayoutBenchmark {
  static let rounds = 300
  /// The most that a cold layout takes, as a share of making the table of its nodes.
  static let coldMax = 4.0
  /// The most that a change takes, as a share of a cold layout.
  static let warmMax = 0.25

  static func main() {
    var missed: [String] = []
    for (name, content) in [("a table", table()), ("stacks", stacks())] {
      let nodes = NodeTable(content)
      print("\(name) of \(nodes.count) nodes")
      var (changing, engine) = (nodes, LayoutEngine(metrics: .cells()))
      _ = engine.layout(changing, width: 80)
      var number = 0
      // In turns, so that other work on the machine disturbs all of them alike.
      let times = times(
        {
          let table = NodeTable(content)
          precondition(table.count == nodes.count)
        },
        {
          var engine = LayoutEngine(metrics: .cells())
          let result = engine.layout(nodes, width: 80)
          precondition(result.measuredCount == nodes.count)
        },
        {
          number += 1
          let node = Node(
            id: "text-500", type: .label, properties: ["text": .string("changed \(number % 10)")])
          engine.invalidate(changing.apply(ContentChange(setNodes: [node])))
          let result = engine.layout(changing, width: 80)
          precondition(result.measuredCount < 10)
        })
      let (made, whole, update) = (times[0], times[1], times[2])
      let (cold, warm) = (whole.least / made.least, update.least / whole.least)
      print("  the table of the nodes          \(made.words)")
      print("  all nodes, cold engine          \(whole.words), \(cold.thousandths) of the table")
      print("  one changed text, warm engine   \(update.words), \(warm.thousandths) of cold")
      if cold >= coldMax { missed.append("\(name): \(cold.thousandths) of the table") }
      if warm >= warmMax { missed.append("\(name): a change is \(warm.thousandths)") }
    }
    let aims = "cold below \(coldMax) of the table of the nodes, a change below \(warmMax) of cold"
    let outcome = missed.isEmpty ? "met" : "missed: \(missed.joined(separator: "; "))"
    print("aims (\(aims)): \(outcome)")
    if !missed.isEmpty { exit(1) }
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

    var least: Double { sorted.first ?? 0 }

    var words: String { "median \(median.tenths) us, minimum \(least.tenths) us" }
  }

  /// The times of each work, which take turns.
  static func times(_ works: () -> Void...) -> [Times] {
    var times = works.map { _ in [Double]() }
    for work in works { work() }
    for _ in 0..<rounds {
      for (index, work) in works.enumerated() {
        let (seconds, attoseconds) = ContinuousClock().measure(work).components
        times[index].append(Double(seconds) * 1e6 + Double(attoseconds) / 1e12)
      }
    }
    return times.map { Times(sorted: $0.sorted()) }
  }
}

extension Double {
  /// With one digit behind the point.
  fileprivate var tenths: String { "\((self * 10).rounded() / 10)" }
  fileprivate var thousandths: String { "\((self * 1_000).rounded() / 1_000)" }
}
