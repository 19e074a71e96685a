import WidgetModel

/// The texts of a node, made safe to show and measured once.
struct LeafContent: Sendable {
  /// Text of any number of lines: a label's text, a form's name, an empty table's text.
  var paragraphs: [String] = []
  /// The width of the widest one.
  var paragraphsWidth = 0
  /// Whether a label has places for line breaks whose characters must not be shown.
  var hasBreaks = false
  /// The ends of a label's runs in its paragraphs.
  var runs: [RunEnd] = []
  /// The maximum number of lines of a label; 0 for any number.
  var lines = 0
  /// On one line: the name of a control.
  var name = ""
  var nameWidth = 0
  /// On one line: the value of an input or gauge, or the text of a form's button.
  var value = ""
  var valueWidth = 0
  /// Whether an input is empty, so that `value` is its placeholder.
  var isPlaceholder = false
  /// The problem of an input.
  var problem: [String] = []
  /// Whether an input has several lines.
  var isMultiline = false
  /// The bars of a chart.
  var bars: [Bar] = []
  var barLabelWidth = 0
  /// The number of values of a chart, or of columns of a grid. 1 for a button with an icon, and for
  /// an active spinner.
  var count = 0
  /// The form that a gauge or a chart has.
  var form = ""
  /// Whether users can interact with the node.
  var canFocus = true
  /// Whether it can be pressed although it is not a control.
  var isPressable = false
  /// Whether all visible text is a number.
  var isNumeric = false

  struct RunEnd: Hashable, Sendable {
    var paragraph: Int
    /// In bytes from the paragraph's start.
    var end: Int
    var run: Int
  }

  struct Bar: Hashable, Sendable {
    var label: String
    var value: String
    var valueWidth: Int
  }

  /// The minimum lines of an input with several lines, and the maximum lines before it scrolls.
  static let multilineRows = 3...10

  init() {}

  init(
    _ node: borrowing Node, _ metrics: borrowing LayoutMetrics, _ style: borrowing NodeStyle
  ) {
    canFocus = node.bool("enabled") ?? true
    isPressable = node.events.contains("press")
    let role = node.role
    switch role {
    case .label:
      readLabel(node, metrics, style)
    case .button:
      name = DisplayText.onOneLine(node.text("text"))
      if name.isEmpty, !metrics.drawsIcons { name = DisplayText.onOneLine(node.text("icon")) }
      if !node.text("icon").isEmpty { count = 1 }
    case .toggle: name = DisplayText.onOneLine(node.text("text"))
    case .input: readInput(node)
    case .gauge:
      name = DisplayText.onOneLine(node.text("text"))
      form = node.text("style")
      value = node.percentage.map { "\($0)%" } ?? "-"
    case .chart: readChart(node, metrics, style)
    case .image:
      name = "[\(DisplayText.onOneLine(node.alternative))]"
    case .date: value = DisplayText.onOneLine(metrics.dateText(node))
    case .form:
      let title = node.text("text")
      if !title.isEmpty { paragraphs = DisplayText.lines(of: title) }
      paragraphsWidth = metrics.widest(paragraphs, style.font)
      let submit = node.text("submit")
      value = submit.isEmpty ? "Submit" : DisplayText.onOneLine(submit)
    case .spinner:
      name = DisplayText.onOneLine(node.text("text"))
      count = node.bool("active") ?? true ? 1 : 0
    case .link:
      name = DisplayText.onOneLine(node.text("text"))
      let url = DisplayText.onOneLine(node.text("url"))
      if url.isEmpty { canFocus = false }
      if !url.isEmpty, metrics.showsURLs { value = "<\(url)>" }
    case .table:
      let empty = node.text("empty")
      if !empty.isEmpty { paragraphs = DisplayText.lines(of: empty) }
      paragraphsWidth = metrics.widest(paragraphs, style.font)
    case .grid: count = min(max(node.int("columns") ?? 2, 1), LayoutPass.gridColumnsMax)
    case .stack, .space, .embed, .unknown: break
    }
    if !name.isEmpty { nameWidth = metrics.width(of: name, font: style.font) }
    if !value.isEmpty { valueWidth = metrics.width(of: value, font: style.font) }
    // The width is reserved, so that the bar keeps its place when the number gets another digit.
    if role == .gauge {
      valueWidth = max(valueWidth, metrics.width(of: "100%", font: style.font))
    }
  }

  private mutating func readLabel(_ node: Node, _ metrics: LayoutMetrics, _ style: NodeStyle) {
    lines = max(0, node.int("lines") ?? 0)
    let runs = node.list("runs")
    guard runs.isEmpty else {
      readRuns(runs)
      paragraphsWidth = metrics.widest(paragraphs, style.font)
      return
    }
    let text = node.text("text")
    isNumeric = Self.isNumber(text)
    if metrics.measuresColumns, let columns = TextColumns.plainWidth(of: text) {
      (paragraphs, paragraphsWidth) = ([text], columns)
      return
    }
    paragraphs = DisplayText.lines(of: text)
    hasBreaks = paragraphs[0].hasZeroWidthSpace
    paragraphsWidth = metrics.widest(paragraphs, style.font)
  }

  private mutating func readRuns(_ runs: [Value]) {
    paragraphs = [""]
    for (index, text) in Self.texts(of: runs).enumerated() {
      for (line, part) in DisplayText.lines(of: text).enumerated() {
        if line > 0 { paragraphs.append("") }
        let last = paragraphs.count - 1
        paragraphs[last] += part.hasZeroWidthSpace ? part.filter { $0 != "\u{200B}" } : part
        self.runs.append(RunEnd(paragraph: last, end: paragraphs[last].utf8.count, run: index))
      }
    }
  }

  /// The texts of runs. A scalar that joins the last character of the previous run, such as an
  /// accent, moves to that run: each character is in one run, and is measured whole.
  private static func texts(of runs: [Value]) -> [String] {
    var texts: [String] = []
    var last: Int?
    for run in runs {
      var text: String
      if case .map(let map) = run {
        text = map["text"]?.scalarText ?? ""
      } else {
        text = run.scalarText
      }
      if let last, let character = texts[last].last, let joined = (String(character) + text).first,
        joined != character
      {
        let extra = joined.unicodeScalars.count - character.unicodeScalars.count
        texts[last].unicodeScalars.append(contentsOf: text.unicodeScalars.prefix(extra))
        text = String(text.unicodeScalars.dropFirst(extra))
      }
      texts.append(text)
      if !text.isEmpty { last = texts.count - 1 }
    }
    return texts
  }

  private mutating func readInput(_ node: Node) {
    let title = DisplayText.onOneLine(node.text("text"))
    name = title.isEmpty ? "" : title + ":"
    let (text, mode) = (node.text("value"), node.text("mode"))
    isPlaceholder = text.isEmpty
    isMultiline = mode == "multiline"
    let shown = isPlaceholder ? node.text("placeholder") : text
    if !isPlaceholder, mode == "secret" {
      value = "••••••••"
    } else if isMultiline {
      paragraphs = DisplayText.lines(of: shown)
    } else {
      value = DisplayText.onOneLine(shown)
    }
    let problem = node.text("problem")
    if !problem.isEmpty { self.problem = DisplayText.lines(of: problem) }
  }

  private mutating func readChart(_ node: Node, _ metrics: LayoutMetrics, _ style: NodeStyle) {
    name = DisplayText.onOneLine(node.text("text"))
    form = node.text("style")
    let values = node.list("values")
    count = values.count
    // Without values the chart shows a line of text.
    if values.isEmpty, form == "bar" { form = "sparkline" }
    guard form == "bar" else { return }
    let labels = node.list("labels")
    for (index, value) in values.enumerated() {
      let label = index < labels.count ? DisplayText.onOneLine(labels[index].scalarText) : ""
      let text = value.number.map { Value.double($0).scalarText } ?? "-"
      barLabelWidth = max(barLabelWidth, metrics.width(of: label, font: style.font))
      let width = metrics.width(of: text, font: style.font)
      valueWidth = max(valueWidth, width)
      bars.append(Bar(label: label, value: text, valueWidth: width))
    }
  }

  /// Whether a text is a number as people write them: with signs, separators, and a unit of one
  /// character.
  private static func isNumber(_ text: String) -> Bool {
    var hasDigit = false
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): hasDigit = true
      case UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: ","),
        UInt8(ascii: "%"), UInt8(ascii: " "):
        continue
      default: return false
      }
    }
    return hasDigit
  }
}

extension Node {
  /// The text in place of a picture.
  fileprivate var alternative: String {
    for name in ["alt", "source", "fallback"] {
      let words = text(name)
      if !words.isEmpty { return words }
    }
    return "image"
  }
}

extension LayoutMetrics {
  func widest(_ lines: [String], _ font: ThemeFont) -> Int {
    lines.reduce(0) { max($0, width(of: $1, font: font)) }
  }

  func lineHeight(_ style: NodeStyle) -> Int {
    measuresColumns ? 1 : max(1, measure.lineHeight(of: style.font))
  }
}
