import Testing
import WidgetBar
import WidgetLayout
import WidgetModel

/// Texts with right-to-left letters, beside others in one line.
@Suite struct TextDirectionTests {
  /// LEFT-TO-RIGHT MARK, FIRST STRONG ISOLATE, and POP DIRECTIONAL ISOLATE.
  private let start = "\u{200E}\u{2068}"
  private let end = "\u{2069}"
  private let shalom = "\u{5E9}\u{5DC}\u{5D5}\u{5DD}"
  private let salam = "\u{633}\u{644}\u{627}\u{645}"

  private func reader(columnsMax: Int = 60) -> BarReader {
    var reader = BarReader(columnsMax: columnsMax, failures: { _ in [] })
    reader.isolatesTexts = true
    return reader
  }

  @Test func `each text with right-to-left letters is in an isolate`() {
    let nodes = stack([
      label(shalom, id: "a"), label("3/5", id: "b"), label("a \(salam)", id: "c"),
      label("x", id: "d"),
    ])
    #expect(
      reader().block(of: widget(nodes)).text
        == "\(start)\(shalom)\(end) 3/5 \(start)a \(salam)\(end) x")
  }

  @Test func `text without right-to-left letters gets no marks`() {
    let nodes = stack([label("caf\u{e9} \u{65e5}\u{672c}", id: "a"), label("3/5", id: "b")])
    #expect(reader().block(of: widget(nodes)).text == "caf\u{e9} \u{65e5}\u{672c} 3/5")
  }

  @Test func `bars that do not reorder text get no marks`() {
    let nodes = stack([label(shalom, id: "a"), label("3/5", id: "b")])
    let plain = BarReader(failures: { _ in [] })
    #expect(plain.block(of: widget(nodes)).text == "\(shalom) 3/5")
    #expect(
      BarFormat.allCases.filter(\.usesPango) == [.waybar, .i3bar, .swaybar, .i3blocks, .eww])
  }

  @Test func `the runs of a label are one text`() {
    let runs: Value = .list([
      .map(["text": .string("\(shalom) ")]),
      .map(["text": .string("12"), "weight": .string("bold")]),
    ])
    let nodes = stack([label("", id: "a", ["runs": runs]), label("x", id: "b")])
    let block = reader().block(of: widget(nodes))
    #expect(block.text == "\(start)\(shalom) 12\(end) x")
    #expect(block.parts.map(\.isBold) == [false, true, false])
  }

  @Test func `a cut ends the isolate, and marks take no columns`() {
    let nodes = stack([label(shalom, id: "a"), label(shalom, id: "b")])
    let whole = reader(columnsMax: 9).block(of: widget(nodes))
    #expect(whole.text == "\(start)\(shalom)\(end) \(start)\(shalom)\(end)")
    let cut = reader(columnsMax: 8).block(of: widget(nodes))
    #expect(
      cut.text
        == "\(start)\(shalom)\(end) \(start)\(shalom.prefix(2))\(TextColumns.ellipsis)\(end)")
  }

  @Test func `the mark of a failure comes after the isolate of a cut text`() {
    let failing = widget(
      stack([label(shalom, id: "a"), label(shalom, id: "b")]),
      error: WidgetError(reason: "X", message: "y"))
    let text = reader(columnsMax: 10).block(of: failing).text
    #expect(text.hasSuffix("\(end) !"))
    #expect(text.filter { $0 == "\u{2068}" }.count == text.filter { $0 == "\u{2069}" }.count)
  }

  @Test func `a mark in a widget's text cannot end its isolate`() {
    let block = reader().block(of: widget(stack([label("\(shalom)\u{2069}\u{202E}x", id: "a")])))
    #expect(block.text == "\(start)\(shalom)\\u{2069}\\u{202e}x\(end)")
  }

  @Test func `short texts and reasons have isolates, too`() {
    var failing = widget(
      stack([label("a", id: "a", ["shortText": .string(shalom)])]),
      error: WidgetError(reason: "X", message: salam))
    failing.id = "a"
    var reader = reader()
    reader.showsReasons = true
    let block = reader.block(of: failing)
    #expect(block.shortText == "\(start)\(shalom)\(end) !")
    #expect(block.text == "a ! \(start)\(salam)\(end)")
  }
}
