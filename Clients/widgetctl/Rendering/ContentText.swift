import WidgetModel

/// What a widget shows, as lines of text.
///
/// Plain: no colours, and no more of the layout than what is below and beside each other. A node of a
/// type that this version does not know shows its children. Whatever a daemon sends, each node is
/// shown at most once and at most `depthMax` deep, so that the work is bounded by the nodes.
struct ContentText {
  /// The columns there are; nil for any number.
  var width: Int?
  var dates: DateText
  /// Whether problems are told of for which a placeholder stands in.
  var tellsAll = false

  private static let depthMax = 64
  private static let barWidth = 10
  private static let chartWidth = 20

  /// The lines, and one that begins with `!` for each node of which something cannot be shown.
  func lines(of content: Content) -> [String] {
    var walk = Walk(text: self, content)
    let shown = walk.block(content.rootID, width: width, depth: 0)
    let problems = ContentText.problems(of: content, tellsAll: tellsAll)
    return (shown.lines + problems).map { line in width.map { line.cut(toColumns: $0) } ?? line }
  }

  /// A line that begins with `!` for each node of which something cannot be shown.
  static func problems(of content: Content, tellsAll: Bool) -> [String] {
    content.nodes.filter { !$0.problem.isEmpty && (tellsAll || !$0.hasPlaceholderForProblem) }
      .map { "! \($0.id.safeForTerminal): \($0.problem.onOneLine)" }
  }

  /// Whether what is shown changes with the time alone.
  static func follows(time content: Content) -> Bool {
    content.nodes.contains { node in
      node.type == .date && node.text("format").isEmpty
        && ["relative", "timer"].contains(node.text("style"))
    }
  }

  /// One pass over a content.
  private struct Walk {
    let text: ContentText
    private var rest: [String: Node]

    init(text: ContentText, _ content: Content) {
      self.text = text
      rest = Dictionary(content.nodes.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
    }

    /// A node and all in it; empty if there is nothing to be seen of it.
    mutating func block(_ id: String, width: Int?, depth: Int) -> TextBlock {
      guard let node = rest.removeValue(forKey: id), node.bool("visible") ?? true else {
        return TextBlock()
      }
      guard depth < ContentText.depthMax else { return TextBlock("…") }
      var block = block(node, width: width, depth: depth)
      if node.bool("separator") == true, !block.isEmpty {
        block.lines.append(String(repeating: "─", count: max(block.width, 1)))
      }
      return block
    }

    private mutating func block(_ node: Node, width: Int?, depth: Int) -> TextBlock {
      switch node.type {
      case .label:
        return .lines(of: node.text("text"), width: width, most: node.int("lines") ?? 0)
      case .image:
        let words =
          [node.text("alt"), node.text("source"), node.text("fallback")].first {
            !$0.isEmpty
          } ?? "image"
        return TextBlock("[\(words.onOneLine)]")
      case .button:
        return pressable(node, width: width, depth: depth)
      case .toggle:
        let mark = node.bool("value") == true ? "[x]" : "[ ]"
        return TextBlock(mark.followed(by: node.text("text").onOneLine))
      case .input: return input(node)
      case .gauge: return gauge(node)
      case .chart: return chart(node, width: width)
      case .stack where node.text("axis") == "horizontal":
        return horizontal(node, width: width, depth: depth)
      case .stack, nil:
        return .column(children(node, width: width, depth: depth))
      case .grid:
        let columns = min(max(node.int("columns") ?? 2, 1), 64)
        let cells = children(node, width: width, depth: depth).filter { !$0.isEmpty }
        return .rows(
          stride(from: 0, to: cells.count, by: columns).map { start in
            Array(cells[start..<min(start + columns, cells.count)])
          })
      case .table: return table(node, width: width, depth: depth)
      case .space: return node.double("size") == 0 ? TextBlock() : TextBlock("")
      case .date:
        return TextBlock(text.dates.text(of: node).onOneLine)
      case .form:
        var blocks = children(node, width: width, depth: depth)
        let title = node.text("text")
        if !title.isEmpty { blocks.insert(.lines(of: title, width: width), at: 0) }
        let submit = node.text("submit")
        return .column(blocks + [TextBlock("[ \(submit.isEmpty ? "Submit" : submit.onOneLine) ]")])
      case .spinner:
        guard node.bool("active") ?? true else { return TextBlock() }
        return TextBlock("…".followed(by: node.text("text").onOneLine))
      case .link:
        let inner = children(node, width: width, depth: depth)
        let words = node.text("text").onOneLine
        let url = node.text("url")
        return .row(
          [TextBlock(words.isEmpty ? [] : [words])] + inner
            + [TextBlock(url.isEmpty ? [] : ["<\(url.onOneLine)>"])], gap: 1)
      }
    }

    private mutating func children(_ node: Node, width: Int?, depth: Int) -> [TextBlock] {
      node.childIDs.map { block($0, width: width, depth: depth + 1) }
    }

    /// Each child has the room that those before it left.
    private mutating func horizontal(_ node: Node, width: Int?, depth: Int) -> TextBlock {
      var blocks: [TextBlock] = []
      var used = 0
      for id in node.childIDs {
        let block = block(id, width: width.map { max($0 - used, 8) }, depth: depth + 1)
        guard !block.isEmpty else { continue }
        used += block.width + 2
        blocks.append(block)
      }
      return .row(blocks)
    }

    /// `[ text ]`, around all lines of what is in it.
    private mutating func pressable(_ node: Node, width: Int?, depth: Int) -> TextBlock {
      let words = [node.text("text"), node.text("icon")].first { !$0.isEmpty } ?? ""
      var inner = TextBlock.row(
        [TextBlock(words.isEmpty ? [] : [words.onOneLine])]
          + children(node, width: width, depth: depth))
      if inner.isEmpty { inner = TextBlock("") }
      let last = inner.lines.count - 1
      return TextBlock(
        inner.lines.enumerated().map { index, line in
          (index == 0 ? "[ " : "  ") + line + (index == last ? " ]" : "")
        })
    }

    private func input(_ node: Node) -> TextBlock {
      let value = node.text("value")
      let placeholder = node.text("placeholder").onOneLine
      let shown =
        switch (value.isEmpty, node.text("mode")) {
        case (true, _): placeholder.isEmpty ? "" : "(\(placeholder))"
        case (false, "secret"): String(repeating: "•", count: 8)
        case (false, _): value.onOneLine
        }
      let name = node.text("text").onOneLine
      var lines = [(name.isEmpty ? "" : name + ": ") + "[\(shown)]"]
      let problem = node.text("problem")
      if !problem.isEmpty { lines.append("! \(problem.onOneLine)") }
      return TextBlock(lines)
    }

    private func gauge(_ node: Node) -> TextBlock {
      let (low, high) = (node.double("min") ?? 0, node.double("max") ?? 1)
      let name = node.text("text").onOneLine
      let width = ContentText.barWidth
      guard let value = node.double("value"), let share = Scale(low, high)?.share(of: value) else {
        return TextBlock(name.followed(by: "[\(String(repeating: "·", count: width))] -"))
      }
      let filled = Int((share * Double(width)).rounded())
      let bar =
        String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
      return TextBlock(name.followed(by: "[\(bar)] \(Int((share * 100).rounded()))%"))
    }

    private func chart(_ node: Node, width: Int?) -> TextBlock {
      guard case .list(let list)? = node.properties["values"] else { return TextBlock() }
      let values = list.map(\.number)
      let finite = values.compactMap { $0 }
      let scale = Scale(
        node.double("min") ?? finite.min() ?? 0, node.double("max") ?? finite.max() ?? 0)
      let name = node.text("text").onOneLine
      guard node.text("style") == "bar" else {
        // The newest are at the end.
        let room = max((width ?? .max) - (name.isEmpty ? 0 : name.columns + 1), 8)
        let line = String(values.suffix(room).map { $0.map { Scale.height($0, scale) } ?? " " })
        return TextBlock(name.followed(by: line))
      }
      var labels: [String] = []
      if case .list(let list)? = node.properties["labels"] {
        labels = list.map { $0.plainText.onOneLine }
      }
      let rows = values.enumerated().map { index, value in
        [
          TextBlock(index < labels.count ? labels[index] : ""),
          TextBlock(value.map { Scale.bar($0, scale, width: ContentText.chartWidth) } ?? ""),
          TextBlock(value.map { Value.double($0).plainText } ?? "-"),
        ]
      }
      let bars = TextBlock.rows(labels.isEmpty ? rows.map { Array($0.dropFirst()) } : rows)
      return .column([TextBlock(name.isEmpty ? [] : [name]), bars])
    }

    /// A row that is a stack gives its children as cells.
    private mutating func table(_ node: Node, width: Int?, depth: Int) -> TextBlock {
      var rows: [[TextBlock]] = []
      for id in node.childIDs {
        guard let row = rest[id], row.bool("visible") ?? true else { continue }
        if row.type == .stack {
          rest[id] = nil
          // An empty cell keeps its place.
          rows.append(children(row, width: width, depth: depth + 1))
        } else {
          rows.append([block(id, width: width, depth: depth + 1)])
        }
      }
      var headings: [String] = []
      if case .list(let list)? = node.properties["columns"] {
        headings = list.map { $0.plainText.onOneLine }
      }
      let head = headings.isEmpty ? [] : [headings.map { TextBlock($0) }]
      var block = TextBlock.rows(
        head
          + rows.map { row in
            row.map { $0.isEmpty ? TextBlock("") : $0 }
          })
      let empty = node.text("empty")
      if rows.isEmpty, !empty.isEmpty {
        block = .column([block, .lines(of: empty, width: width)])
      }
      if node.bool("more") == true { block = .column([block, TextBlock("…")]) }
      return block
    }
  }
}

/// From which number to which something is measured.
private struct Scale {
  let low: Double
  let high: Double

  /// Nil if there is nothing between them.
  init?(_ low: Double, _ high: Double) {
    guard low.isFinite, high.isFinite, low < high, (high - low).isFinite else { return nil }
    (self.low, self.high) = (low, high)
  }

  /// 0 to 1; nil for what is no number.
  func share(of value: Double) -> Double? {
    value.isNaN ? nil : min(max((value - low) / (high - low), 0), 1)
  }

  private static let heights: [Character] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]
  private static let parts: [Character] = ["▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"]

  /// One of eight blocks. All are half high where everything is the same.
  static func height(_ value: Double, _ scale: Scale?) -> Character {
    guard let scale else { return heights[3] }
    return scale.share(of: value).map { heights[Int(($0 * 7).rounded())] } ?? " "
  }

  /// A bar of whole and partial blocks, at least a thin one.
  static func bar(_ value: Double, _ scale: Scale?, width: Int) -> String {
    let share = scale.map { $0.share(of: value) ?? 0 } ?? 0.5
    let eighths = max(1, Int((share * Double(width * 8)).rounded()))
    return String(repeating: "█", count: eighths / 8)
      + (eighths % 8 == 0 ? "" : String(parts[eighths % 8 - 1]))
  }
}

extension Node {
  /// Whether what it says is wrong is of a property that it has all the same: what its author wanted to be
  /// shown then is shown.
  fileprivate var hasPlaceholderForProblem: Bool {
    properties[String(problem.prefix { $0 != ":" })] != nil
  }

  fileprivate func bool(_ name: String) -> Bool? {
    if case .bool(let flag)? = properties[name] { flag } else { nil }
  }

  fileprivate func double(_ name: String) -> Double? { properties[name]?.number }

  fileprivate func int(_ name: String) -> Int? {
    if case .int(let number)? = properties[name] { Int(clamping: number) } else { nil }
  }
}

extension Value {
  /// What it is as a number; nil for NaN and what is none.
  fileprivate var number: Double? {
    switch self {
    case .int(let number): Double(number)
    case .double(let number) where !number.isNaN: number
    default: nil
    }
  }

  /// Text as it is, whole numbers without a point, nothing for null, the rest as JSON.
  var plainText: String {
    switch self {
    case .null: ""
    case .string(let text): text
    case .double(let number) where number == number.rounded() && number.magnitude < 1e15:
      "\(Int64(number))"
    default: JSONWriter.compact(self)
    }
  }
}

extension String {
  /// Both with a blank between them, if there are both.
  fileprivate func followed(by more: String) -> String {
    isEmpty || more.isEmpty ? self + more : "\(self) \(more)"
  }
}
