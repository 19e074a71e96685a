import WidgetModel

/// What it costs a mirror that one text of a content of 1,000 nodes changes, beside making the content
/// again of all its nodes; with looking the node up afterwards.
///
/// Prints both in microseconds: the best of many rounds, which other programs disturb least.
@main
struct MirrorBenchmark {
  static let rounds = 300
  static let changesPerRound = 20

  static func main() {
    let names = (0..<999).map { "text-\($0)" }
    let top = Node(id: "top", type: .stack, childIDs: names)
    let list = Content(rootID: "top", nodes: [top] + names.map { text(of: $0, "") })
    var number = 0
    func next() -> ContentChange {
      number += 1
      return ContentChange(setNodes: [text(of: "text-500", "changed \(number % 10)")])
    }
    var rebuilt = list
    let whole = best {
      rebuilt = again(rebuilt, next())
      precondition(rebuilt.nodes.first { $0.id == "text-500" } != nil)
    }
    var content: Content? = list
    content?.makeTable()
    let one = best {
      let difference = Content.apply(next(), to: &content)
      precondition(difference.changed.count == 1 && content?["text-500"] != nil)
    }
    // As in a program that holds the widget as it was.
    var held = content
    let shared = best {
      held = content
      Content.apply(next(), to: &content)
      precondition(held?["text-500"] != content?["text-500"])
    }
    print("\(whole) \(one) \(shared)")
  }

  static func text(of id: String, _ text: String) -> Node {
    Node(id: id, type: .label, properties: ["text": .string(text)])
  }

  /// All nodes by id, then those that the tree reaches.
  static func again(_ content: Content, _ change: ContentChange) -> Content {
    var table = Dictionary(content.nodes.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
    for node in change.setNodes { table[node.id] = node }
    var nodes: [Node] = []
    var waiting = [content.rootID]
    while let id = waiting.popLast() {
      guard let node = table.removeValue(forKey: id) else { continue }
      nodes.append(node)
      waiting.append(contentsOf: node.childIDs.reversed())
    }
    return Content(rootID: content.rootID, nodes: nodes)
  }

  /// Microseconds for one of the changes.
  static func best(_ work: () -> Void) -> Double {
    work()
    let times = (0..<rounds).map { _ in
      let elapsed = ContinuousClock().measure { for _ in 0..<changesPerRound { work() } }
      let (seconds, attoseconds) = elapsed.components
      return (Double(seconds) * 1e6 + Double(attoseconds) / 1e12) / Double(changesPerRound)
    }
    return times.min() ?? 0
  }
}
