import Testing
import WidgetBar
import WidgetLayout
import WidgetModel

func widget(_ nodes: [Node], isStale: Bool = false, error: WidgetError? = nil) -> Widget {
  Widget(
    id: "cpu", kind: "cpu", isStale: isStale, error: error,
    content: Content(rootID: nodes[0].id, nodes: nodes))
}

func stack(_ children: [Node], _ properties: ValueMap = [:]) -> [Node] {
  [Node(id: "root", type: .stack, properties: properties, childIDs: children.map(\.id))] + children
}

func label(_ text: String, id: String = "label", _ more: ValueMap = [:]) -> Node {
  var properties = more
  properties["text"] = .string(text)
  return Node(id: id, type: .label, properties: properties)
}

private let red = ThemeColor(red: 255, green: 0, blue: 0)

@Suite struct BarReaderTests {
  private let reader = BarReader(failures: { $0.error.map { [$0.message] } ?? [] })

  @Test func `children are side by side, with blanks only between visible ones`() {
    let nodes = stack([
      label("cpu", id: "a"), label("", id: "b"),
      label("hidden", id: "c", ["visible": .bool(false)]),
      Node(id: "d", type: .gauge, properties: ["value": .double(0.426), "text": .string("load")]),
      Node(id: "e", type: .toggle, properties: ["value": .bool(true), "text": .string("on")]),
    ])
    let block = reader.block(of: widget(nodes))
    #expect(block.text == "cpu load 43% [x] on")
    #expect(block.percentage == 43)
    #expect(block.classes == ["cpu"])
    #expect(
      reader.block(
        of: widget(stack([label("a", id: "a"), label("b", id: "b")], ["spacing": .int(0)]))
      ).text == "ab")
  }

  @Test(
    arguments: [
      (Value.int(83), 83), (.double(42.6), 43), (.double(150), 100), (.int(-1), 0),
      (.double(.nan), nil), (.string("7"), nil),
    ] as [(Value, Int?)])
  func `a label can state a percentage`(stated: Value, percentage: Int?) {
    let block = reader.block(of: widget([label("bat 83%", ["percentage": stated])]))
    #expect(block.percentage == percentage)
    #expect(block.text == "bat 83%")
  }

  @Test func `the first percentage of a widget is that of its block`() {
    let gauge = Node(id: "g", type: .gauge, properties: ["value": .double(0.5)])
    let first = label("a", id: "a", ["percentage": .int(7)])
    #expect(reader.block(of: widget(stack([first, gauge]))).percentage == 7)
    #expect(reader.block(of: widget(stack([gauge, first]))).percentage == 50)
  }

  @Test func `content that cannot be computed shows itself`() {
    let problem = "text: 1:12: index 0 is out of range"
    func failing(_ text: String) -> Node {
      var node = label(text, id: "a")
      node.problem = problem
      return node
    }
    let block = reader.block(of: widget(stack([failing(""), label("ok", id: "b")])))
    #expect(block.text == "ok !")
    #expect(block.classes == ["cpu", "failed"])
    #expect(block.tooltip == problem)
    #expect(reader.block(of: widget(stack([failing("")]))).text == "!")
    var uncoloured = label("", id: "a")
    uncoloured.problem = "color: \"\" is no color"
    #expect(reader.block(of: widget(stack([uncoloured]))).text == "")
    // With a placeholder, the text needs no mark.
    let placeholder = reader.block(of: widget(stack([failing("nothing yet")])))
    #expect(placeholder.text == "nothing yet")
    #expect(placeholder.classes == ["cpu"])
    #expect(placeholder.tooltip == problem)
    var short = reader
    short.showsReasons = true
    let reason = short.block(of: widget(stack([failing("")]))).text
    #expect(reason == "! text…: index 0 is out of range")
  }

  @Test func `an embed marks a failed widget, and not a stale one`() {
    func block(_ problem: String) -> BarBlock {
      var embed = Node(id: "e", type: .embed, childIDs: ["e::text"])
      embed.problem = problem
      return reader.block(of: widget(stack([embed]) + [label("20°", id: "e::text")]))
    }
    #expect(block("").text == "20°")
    let problem = "content: The widget \"w\" has an error: no answer"
    #expect(block(problem).text == "20° !")
    #expect(block(problem).classes == ["cpu", "failed"])
    #expect(block(problem).tooltip == problem)
    #expect(block("content: The widget \"w\" is stale.").text == "20°")
  }

  @Test func `a gauge without a value, because its expression fails, has the mark`() {
    var gauge = Node(id: "g", type: .gauge)
    gauge.problem = "value: division by zero"
    #expect(reader.block(of: widget([gauge])).text == "- !")
  }

  @Test func `a chart is a sparkline of its last values`() {
    let values = (0..<20).map { Value.double(Double($0)) }
    let chart = Node(id: "c", type: .chart, properties: ["values": .list(values)])
    let text = reader.block(of: widget([chart])).text
    #expect(text.count == BarReader.sparklineMax)
    #expect(text.first == "▁" && text.last == "█")
    let flat = Node(
      id: "c", type: .chart, properties: ["values": .list([.double(1), .double(1)])])
    #expect(reader.block(of: widget([flat])).text == "▄▄")
  }

  @Test func `colour and weight come from a node, its runs and its parents`() {
    let run: Value = .map([
      "text": .string("x"), "weight": .string("bold"), "color": .string("#ff0000"),
    ])
    let nodes = stack(
      [Node(id: "a", type: .label, properties: ["runs": .list([.string("n "), run])])],
      ["color": .string("color.error")])
    let parts = reader.block(of: widget(nodes)).parts
    #expect(parts.map(\.text) == ["n ", "x"])
    #expect(parts[0].color == Theme.standard.color("color.error", .dark))
    #expect(parts[1].color == red && parts[1].isBold)
  }

  @Test func `text in the token color.text has the bar's colour, except on a background`() {
    let run: Value = .map(["text": .string("x"), "color": .string("color.text")])
    let nodes = stack([
      label("a", id: "a", ["color": .string("text")]),
      Node(id: "b", type: .label, properties: ["runs": .list([run]), "color": .string("error")]),
      label("c", id: "c", ["color": .string("text"), "background": .string("#ff0000")]),
    ])
    let parts = reader.block(of: widget(nodes)).parts
    #expect(parts.first { $0.text == "a" }?.color == nil)
    #expect(parts.first { $0.text == "x" }?.color == nil)
    #expect(
      parts.first { $0.text == "c" }?.color == Theme.standard.color("color.text", .dark))
    let plain = reader.block(of: widget([label("a", ["color": .string("color.text")])]))
    #expect(plain.parts.map(\.color) == [nil])
  }

  @Test func `a long text is cut, and the tooltip has all of it`() {
    var short = reader
    short.columnsMax = 10
    let long = String(repeating: "日本", count: 5000)
    let block = short.block(of: widget([label(long)]))
    #expect(block.text == "日本日本…")
    #expect(block.tooltip.hasPrefix("日本日本日本"))
    #expect(block.tooltip.utf8.count <= BarReader.tooltipBytesMax)
  }

  @Test func `a cut text is not wider than the bar`() {
    var narrow = reader
    narrow.columnsMax = 5
    let nodes = [label("abcde", id: "a"), label("f", id: "b")]
    #expect(narrow.block(of: widget(stack(nodes, ["spacing": .int(0)]))).text == "abcd…")
    #expect(narrow.block(of: widget([label("abcde")])).text == "abcde")
    narrow.columnsMax = 1
    #expect(narrow.block(of: widget([label("日本")])).text == "…")
  }

  @Test(arguments: 1...12)
  func `marks count as columns`(columns: Int) {
    var narrow = reader
    narrow.columnsMax = columns
    let error = WidgetError(reason: "SOURCE_FAILED", message: "no answer")
    for (isStale, error) in [(false, error), (true, nil), (true, error)] {
      let block = narrow.block(of: widget([label("water level")], isStale: isStale, error: error))
      let marks = (isStale ? 2 : 0) + (error == nil ? 0 : 2)
      #expect(TextColumns.width(of: block.text) <= max(columns, marks), "\(block.text)")
      #expect(block.text.hasSuffix("!") == (error != nil))
      #expect(block.text.contains("↻") == isStale)
    }
  }

  @Test func `line breaks are blanks, also in the short text`() {
    let node = label("a\nb", ["shortText": .string("c\nd")])
    let block = reader.block(of: widget([node]))
    #expect(block.text == "a b" && block.shortText == "c d")
  }

  @Test func `a label says something shorter where there is little room`() {
    let nodes = stack([
      label("battery", id: "a", ["shortText": .string("B")]), label("43%", id: "b"),
    ])
    #expect(reader.block(of: widget(nodes)).shortText == "B 43%")
    #expect(reader.block(of: widget([label("x")])).shortText == nil)
  }

  @Test func `failed and stale widgets are marked without help of their content`() {
    let error = WidgetError(reason: "SOURCE_FAILED", message: "no such file")
    let block = reader.block(of: widget([label("5")], error: error))
    #expect(block.text == "5 !")
    #expect(block.classes == ["cpu", "failed"])
    #expect(block.tooltip == "no such file")
    let stale = reader.block(of: widget([label("5")], isStale: true))
    #expect(stale.classes == ["cpu", "stale"])
    #expect(stale.parts[0].color == Theme.standard.color("color.secondary", .dark))
    #expect(stale.text == "5 ↻")
    #expect(reader.block(of: widget([label("")], isStale: true)).text == "↻")
    #expect(reader.block(of: widget([label("5")], isStale: true, error: error)).text == "5 ↻ !")
    let lost = reader.block(of: widget([label("5")]), isConnected: false)
    // The bar shows the notice once.
    #expect(lost.classes.contains("stale") && lost.tooltip.isEmpty)
  }

  @Test(arguments: BarFormat.allCases)
  func `no format shows staleness only by a colour`(format: BarFormat) {
    let encoder = BarEncoder(format: format)
    func text(_ isStale: Bool) -> String {
      switch encoder.output([reader.block(of: widget([label("5")], isStale: isStale))]) {
      case .text(let text): text
      case .json(let value): "\(value)"
      }
    }
    #expect(text(true).contains("5 ↻") || text(true).contains("5 \\u{21BB}"), "\(text(true))")
    #expect(!text(false).contains("↻"))
  }

  @Test func `the mark of a stale widget belongs to its last part, so that a click meets it`() {
    let node = Node(
      id: "b", type: .button, properties: ["text": .string("ok")], events: ["press"])
    let block = reader.block(of: widget([node], isStale: true))
    #expect(block.parts.map(\.text) == ["ok ↻"])
    #expect(block.parts.map(\.node) == ["b"])
  }

  @Test func `an image without its file has the reason in the tooltip, and a mark without text`() {
    var reader = reader
    reader.imageProblem = {
      $0.properties["source"] == .string("/x.png") ? "source: /x.png: no such file" : nil
    }
    func image(_ properties: ValueMap) -> BarBlock {
      reader.block(of: widget([Node(id: "i", type: .image, properties: properties)]))
    }
    let shown = image(["source": .string("/x.png"), "alt": .string("a cat")])
    #expect(shown.text == "a cat" && shown.tooltip == "source: /x.png: no such file")
    #expect(image(["source": .string("/x.png")]).text == "!")
    #expect(image(["source": .string("/y.png"), "alt": .string("a cat")]).tooltip.isEmpty)
  }

  @Test(
    arguments: [
      ("sun", "moon", "sun"), ("", "moon", "moon"), (nil, "moon", "moon"), (nil, nil, ""),
    ] as [(String?, String?, String)])
  func `the icon of an image without a source is its fallback`(
    source: String?, fallback: String?, icon: String
  ) {
    var properties = ValueMap()
    properties["source"] = source.map { .string($0) }
    properties["fallback"] = fallback.map { .string($0) }
    let block = reader.block(of: widget([Node(id: "i", type: .image, properties: properties)]))
    #expect(block.icon == icon)
  }

  @Test(
    arguments: [
      (["fallback": "no cover"], "no cover"),
      (["source": "", "fallback": "no cover"], "no cover"),
      (["source": "sun", "fallback": "no cover"], ""),
      (["fallback": "no cover", "alt": "the cover"], "the cover"),
      (["fallback": "/usr/share/cover.png"], ""),
    ] as [([String: String], String)])
  func `a bar without icons shows the fallback of an image without a source`(
    texts: [String: String], shown: String
  ) {
    var properties = ValueMap()
    for (name, text) in texts { properties[name] = .string(text) }
    let image = widget([Node(id: "i", type: .image, properties: properties)])
    var reader = reader
    reader.takesIcons = false
    #expect(reader.block(of: image).text == shown)
    reader.takesIcons = true
    #expect(reader.block(of: image).text == texts["alt"] ?? "")
  }

  @Test func `a wrong timeline and a failed activity are marked like an error`() {
    var reader = reader
    reader.showsReasons = true
    var schedule = widget([label("now")])
    schedule.timeline = TimelineStatus(problem: "The entries cannot be computed")
    #expect(reader.block(of: schedule).text == "now ! The entries cannot be computed")
    #expect(reader.block(of: schedule).classes == ["cpu", "failed"])
    var task = widget([label("Build")])
    task.activity = Activity(state: .ended, startTime: .epoch, expireTime: .epoch)
    (task.data["outcome"], task.data["status"]) = (.string("failed"), .string("status 1"))
    #expect(reader.block(of: task).text == "Build ! status 1")
    // The content of the built-in kind has the reason.
    task.kind = .activity
    #expect(reader.block(of: task).text == "Build !")
    #expect(reader.block(of: task).classes == ["activity", "failed"])
    task.data["outcome"] = .string("succeeded")
    #expect(reader.block(of: task).text == "Build")
    task.data["outcome"] = .string("failed")
    task.activity?.state = .active
    #expect(reader.block(of: task).text == "Build")
  }

  @Test func `the reason of a failure fits beside the text, or is left out`() {
    let error = WidgetError(
      reason: "SOURCE_FAILED", message: "weather: the server does not answer, and has not for long")
    var reader = reader
    reader.showsReasons = true
    let block = reader.block(of: widget([label("12 °C")], error: error))
    #expect(block.text == "12 °C ! the server does not answer, and…")
    #expect(block.shortText == "12 °C !")
    #expect(block.parts.map(\.isBold) == [false, true, false])
    #expect(block.parts[2].text.count == BarReader.reasonColumnsMax + 1)
    for columns in 1...60 {
      reader.columnsMax = columns
      let text = reader.block(of: widget([label("12 °C")], error: error)).text
      // The mark is beyond the limit, as it always was; the reason is not.
      #expect(TextColumns.width(of: text) <= max(columns, min(columns, 5) + 2), "\(text)")
    }
    reader.columnsMax = 12
    #expect(reader.block(of: widget([label("12 °C")], error: error)).text == "12 °C !")
  }

  @Test func `an author names classes, and asks for attention`() {
    let node = label(
      "5", ["classes": .list([.string("charging"), .string("a b\"c")]), "urgent": .bool(true)])
    let block = reader.block(of: widget([node]))
    #expect(block.isUrgent)
    #expect(block.classes == ["cpu", "urgent", "charging", "a-b-c"])
  }

  @Test func `text is on one line without control characters`() {
    let block = reader.block(of: widget([label("a\nb\u{1b}[31m\tc\u{202E}d\u{7}")]))
    #expect(!block.text.contains { $0.isNewline })
    let unsafe = block.text.unicodeScalars.filter { $0.value < 0x20 || $0.value == 0x202E }
    #expect(unsafe.isEmpty)
  }

  @Test func `nodes in a circle are read once and give no text`() {
    let circle = [
      Node(id: "a", type: .stack, childIDs: ["b"]), Node(id: "b", type: .stack, childIDs: ["a"]),
    ]
    #expect(reader.block(of: widget(circle)).text == "")
  }
}
