import Testing
import WidgetBar
import WidgetLayout
import WidgetModel

private func text(_ output: BarOutput) -> String {
  switch output {
  case .text(let text): text
  case .json(let value): fullText(value)
  }
}

/// The drawn part of a JSON output.
private func fullText(_ value: Value) -> String {
  switch value {
  case .list(let values): values.map(fullText).joined()
  case .map(let map):
    if case .string(let text)? = map["full_text"] ?? map["text"] { text } else { "" }
  default: ""
  }
}

/// The tooltip of a whole line, or of its first block.
private func tooltip(of output: BarOutput) -> String {
  guard case .json(var value) = output else { return "" }
  if case .list(let blocks) = value, let first = blocks.first { value = first }
  if case .map(let map) = value, case .string(let text)? = map["tooltip"] { return text }
  return ""
}

private func block(_ text: String, node: String = "") -> BarBlock {
  BarBlock(
    widget: "w",
    parts: [BarPart(text, color: ThemeColor("#ff0000"), isBold: true, node: node)])
}

@Suite struct BarEncoderTests {
  private let hostile =
    "<b>&amp;'\"</b> %{A1:rm -rf ~:}x%{A} %%{F#f00} #[fg=red]#(id)##{pane} }] ]\\ {{\"a\":1}}"

  @Test func `text that looks like Pango markup is escaped`() {
    let waybar = text(BarEncoder(format: .waybar).output([block("<b>&\"'")]))
    #expect(
      waybar == "<span foreground='#ff0000' weight='bold'>&lt;b&gt;&amp;&quot;&#39;</span>")
    #expect(text(BarEncoder(format: .swaybar).output([block("<b>")])).contains("&lt;b&gt;"))
    // Without markup the bar takes the text as it is.
    let plain = BarBlock(widget: "w", parts: [BarPart("<b>")])
    let output = BarEncoder(format: .swaybar).output([plain])
    #expect(text(output) == "<b>")
    guard case .json(.list(let list)) = output, case .map(let map) = list[0] else {
      Issue.record("\(output)")
      return
    }
    #expect(map["markup"] == .string("none"))
  }

  @Test func `i3blocks gets no escapes of JSON, which 1.4 shows as they are`() {
    let hebrew = BarPart("\u{2068}\u{5e9}\u{5dc}\u{2069} C:\\x \"q\"")
    var block = BarBlock(widget: "w", parts: [hebrew])
    block.shortText = "a\\b"
    let encoder = BarEncoder(format: .i3blocks)
    guard case .json(.map(let map)) = encoder.output([block]) else {
      Issue.record("no object")
      return
    }
    #expect(map["full_text"] == .string("&#8296;\u{5e9}\u{5dc}&#8297; C:&#92;x &quot;q&quot;"))
    #expect(map["short_text"] == .string("a&#92;b"))
  }

  @Test(arguments: [
    String(repeating: "x", count: 10_000), String(repeating: "line\n", count: 2_000),
    String(repeating: "日本", count: 3_000),
  ])
  func `a tooltip for GTK is not larger than a window can be`(whole: String) {
    var one = block("x")
    (one.widget, one.tooltip) = ("w", whole)
    for format in [BarFormat.waybar, .eww] {
      let encoded = tooltip(of: BarEncoder(format: format).output([one, one]))
      let lines = encoded.split(separator: "\n", omittingEmptySubsequences: false)
      #expect(lines.count > 1 && lines.count <= 40)
      #expect(lines.allSatisfy { TextColumns.width(of: String($0)) <= 100 })
    }
  }

  @Test func `polybar's tags cannot come from a text`() {
    let encoded = text(
      BarEncoder(format: .polybar).output([block(hostile), block("%"), block("{F-}")]))
    // The rest, without the encoder's own tags, has no tag.
    var rest = encoded
    for tag in ["%{F#ff0000}", "%{F-}", "%{O0}"] {
      rest = rest.split(separator: tag, omittingEmptySubsequences: false).joined(separator: "\u{0}")
    }
    #expect(!rest.contains("%{"), "\(encoded)")
    #expect(rest.filter { $0 != "\u{0}" }.contains("%{A1:rm -rf ~:}") == true)
  }

  @Test func `polybar runs a command at a click`() {
    var clicked = block("x", node: "a")
    clicked.parts[0].buttons = [1, 4]
    let encoder = BarEncoder(format: .polybar) { button, id, part in
      "go \(button) \(id):\(part.node)"
    }
    #expect(
      text(encoder.output([clicked]))
        == "%{A1:go 1 w\\:a:}%{A4:go 4 w\\:a:}%{F#ff0000}x%{F-}%{A}%{A}")
  }

  @Test func `tmux's formats cannot come from a text`() {
    let encoded = text(BarEncoder(format: .tmux).output([block("#[fg=red]#(id)#")]))
    #expect(encoded == "#[fg=#ff0000,bold]###[][fg=red]###[](id)###[]#[default]")
  }

  @Test(arguments: BarFormat.allCases)
  func `a widget without text has no place in the bar`(format: BarFormat) {
    var empty = block("")
    let encoder = BarEncoder(format: format)
    #expect(encoder.output([empty, block("x"), empty]) == encoder.output([block("x")]))
    // eww and other programs can show an icon instead.
    empty.icon = "bell"
    let count: Int? =
      if case .json(.list(let list)) = encoder.output([empty]) { list.count } else { nil }
    #expect(count == ([.eww, .json].contains(format) ? 1 : count.map { _ in 0 }))
  }

  @Test func `yambar's tags are one line each, and end`() {
    var long = block("a|b")
    long.tooltip = "x\ntext|string|y"
    let lines = text(BarEncoder(format: .yambar).output([long])).split(
      separator: "\n", omittingEmptySubsequences: false)
    #expect(lines[0] == "text|string|a|b")
    #expect(lines.filter { $0.hasPrefix("text|") }.count == 1)
    #expect(
      lines.last == ""
        && lines.dropLast().allSatisfy { $0.split(separator: "|").count >= 2 || $0.hasSuffix("|") })
  }

  @Test(arguments: [
    "👩\u{200D}👩\u{200D}👧\u{200D}👦", "a" + String(repeating: "\u{301}", count: 23), "漢",
  ])
  func `yambar never gets more bytes at once than it takes`(character: String) {
    var blocks = (0..<4).map { _ in block(String(repeating: character, count: 60)) }
    blocks[0].icon = String(repeating: character, count: 60)
    let output = text(BarEncoder(format: .yambar).output(blocks))
    #expect(output.utf8.count < 1024)
    let lines = output.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines[0].hasPrefix("text|string|\(character)") && lines[0].hasSuffix("…"))
    #expect(lines.contains { $0.hasPrefix("percentage|") })
  }

  @Test func `a tooltip of several widgets has their names, and a common notice once`() {
    func tooltip(_ tooltips: [String]) -> Value? {
      let blocks = tooltips.enumerated().map { index, tooltip in
        var one = block("x")
        (one.widget, one.tooltip) = (WidgetID("w\(index)"), tooltip)
        return one
      }
      guard
        case .json(.map(let map)) = BarEncoder(format: .waybar).output(blocks, notice: "away")
      else { return nil }
      return map["tooltip"]
    }
    #expect(tooltip(["a\nb", "", "c"]) == .string("away\nw0: a\n  b\nw2: c"))
    #expect(tooltip(["a\nb"]) == .string("away\na\nb"))
    let output = BarEncoder(format: .eww).output([block("x"), block("y")], notice: "away")
    guard case .json(.list(let blocks)) = output else { return #expect(Bool(false)) }
    for case .map(let map) in blocks { #expect(map["tooltip"] == .string("away")) }
  }

  @Test(arguments: [
    ("<span foreground='red'>&#0;", "-span-foreground--red----0-"),
    ("Kein Bild ü", "Kein-Bild-ü"), ("e\u{301}t\u{e9} 2", "e\u{301}t\u{e9}-2"),
    ("☀\u{fe0f}", "-"), ("a\u{202e}b", "a-b"),
  ])
  func `waybar's alt is a name, which is no markup`(icon: String, alt: String) {
    #expect(waybarAlt(icon) == alt)
    // U+0D4E joins the character after it.
    #expect(waybarAlt("\u{d4e}\(icon)")?.unicodeScalars.contains("<") == false)
  }

  private func waybarAlt(_ icon: String) -> String? {
    var one = block("x")
    one.icon = icon
    guard case .json(.map(let map)) = BarEncoder(format: .waybar).output([one]),
      case .string(let alt)? = map["alt"]
    else { return nil }
    return alt
  }

  @Test func `i3bar has a block for each node that can be clicked`() {
    let both = BarBlock(
      widget: "w", parts: [BarPart("<", node: "back"), BarPart(">", node: "next")],
      shortText: "x")
    guard case .json(.list(let list)) = BarEncoder(format: .i3bar).output([both]) else {
      Issue.record("no list")
      return
    }
    let maps = list.compactMap { if case .map(let map) = $0 { map } else { nil } }
    #expect(maps.map { $0["instance"] } == [.string("back"), .string("next")])
    #expect(maps.map { $0["name"] } == [.string("w"), .string("w")])
    #expect(maps.map { $0["separator"] } == [.bool(false), nil])
    #expect(maps.allSatisfy { $0["short_text"] == nil })
  }

  @Test func `a block without text has no separator`() {
    let empty = BarBlock(widget: "empty")
    let encoder = BarEncoder(format: .plain, separator: " | ")
    #expect(text(encoder.output([empty, block("a"), empty, block("b"), empty])) == "a | b")
  }

  @Test func `a bar without blocks has an empty text`() {
    for format in BarFormat.allCases where format != .yambar {
      #expect(text(BarEncoder(format: format).output([])) == "", "\(format)")
    }
  }
}

@Suite struct BarClickTests {
  private let button = Node(
    id: "mute", type: .button, properties: ["text": .string("m")], events: ["press"])

  @Test func `the left button presses`() {
    let widget = widget(stack([button, label("x")]))
    #expect(
      BarClick(button: 1, node: "mute").event(for: widget, kind: nil)
        == .init(node: "mute", name: "press"))
    // For a bar that does not know the node, the event is for the first node.
    #expect(BarClick(button: 1).event(for: widget, kind: nil)?.node == "mute")
  }

  @Test func `a click on a toggle sends the opposite value`() {
    let toggle = Node(
      id: "t", type: .toggle, properties: ["value": .bool(true)], events: ["change"])
    #expect(
      BarClick(button: 1).event(for: widget([toggle]), kind: nil)
        == .init(node: "t", name: "change", payload: ["value": .bool(false)]))
  }

  @Test func `the wheel and other buttons are events of nodes and kinds that take them`() {
    var volume = label("50%", id: "volume")
    volume.events = ["scroll"]
    let widget = widget(stack([volume, button]))
    let up = BarClick(button: 4, node: "volume").event(for: widget, kind: nil)
    #expect(
      up
        == .init(
          node: "volume", name: "scroll", payload: ["button": .int(4), "direction": .string("up")]))
    let none = Kind(name: "cpu", events: [EventType(name: "other")])
    #expect(BarClick(button: 3).event(for: widget, kind: none) == nil)
    let declared = Kind(name: "cpu", events: [EventType(name: "click")])
    // The event has only details that the kind declares.
    #expect(BarClick(button: 3).event(for: widget, kind: declared) == .init(name: "click"))
    #expect(BarClick(button: 10).event(for: widget, kind: nil) == nil)
  }

  @Test func `a click on a disabled node or widget sends no event`() {
    var disabled = button
    disabled.properties["enabled"] = .bool(false)
    let kind = Kind(name: "cpu", events: [EventType(name: "other")])
    #expect(BarClick(button: 1).event(for: widget([disabled]), kind: kind) == nil)
    var off = widget([button])
    off.presence.isEnabled = false
    #expect(BarClick(button: 1).event(for: off, kind: nil) == nil)
  }

  @Test func `a click beside all nodes presses none of them`() {
    let widget = widget(stack([label("x"), button]))
    let block = BarReader().block(of: widget)
    #expect(block.parts.first?.node == "")
    let declared = Kind(name: "cpu", events: [EventType(name: "click")])
    for kind in [declared, Kind(name: "cpu", events: [EventType(name: "other")])] {
      let event = BarClick(button: 1, node: "").event(for: widget, kind: kind)
      #expect(event == (kind == declared ? .init(name: "click") : nil))
    }
  }

  @Test func `a click on a disabled button presses nothing`() {
    var disabled = button
    disabled.id = "off"
    disabled.properties["enabled"] = .bool(false)
    disabled.events = []
    let widget = widget(stack([disabled, button]))
    let block = BarReader().block(of: widget)
    #expect(block.parts.map(\.node) == ["off", "", "mute"])
    #expect(BarClick(button: 1, node: "off").event(for: widget, kind: nil) == nil)
  }

  @Test func `a click on a removed node sends no event`() {
    let widget = widget(stack([button]))
    #expect(BarClick(button: 1, node: "gone").event(for: widget, kind: nil) == nil)
  }

  @Test func `a click that names no node presses only what is shown`() {
    var top = button
    top.id = "top"
    let layers = Node(
      id: "layers", type: .stack, properties: ["axis": .string("layered")],
      childIDs: ["mute", "top"])
    let layered = widget([layers, button, top])
    #expect(BarClick(button: 1).event(for: layered, kind: nil)?.node == "top")
    let form = Node(id: "form", type: .form, childIDs: ["mute"])
    let kind = Kind(name: "cpu", events: [EventType(name: "other")])
    #expect(BarClick(button: 1).event(for: widget([form, button]), kind: kind) == nil)
  }

  @Test func `a kind that takes press gets it from the left button`() {
    let widget = widget(stack([label("x")]))
    let kind = Kind(name: "cpu", events: [EventType(name: "press")])
    #expect(BarClick(button: 1).event(for: widget, kind: kind) == .init(name: "press"))
    #expect(BarClick(button: 3).event(for: widget, kind: kind) == nil)
  }

  @Test func `the block name of i3blocks is not taken for a node`() {
    let value = Value.map(["instance": .string("n"), "button": .int(3)])
    #expect(I3Click(value, namesNodes: false)?.click == BarClick(button: 3))
  }

  @Test func `a click of i3bar is read with leading or trailing commas`() {
    #expect(I3Click.json(in: "[") == nil)
    #expect(I3Click.json(in: ",{\"a\":[1]}") == "{\"a\":[1]}")
    #expect(I3Click.json(in: "{\"button\":1},") == "{\"button\":1}")
    let click = I3Click(
      .map(["name": .string("cpu"), "instance": .string("n"), "button": .int(3)]))
    #expect(click?.widget == WidgetID("cpu") && click?.click == BarClick(button: 3, node: "n"))
    #expect(I3Click(.int(2))?.click.button == 2)
    #expect(I3Click(.string("x")) == nil && I3Click(.map(["button": .string("1")])) == nil)
  }
}
