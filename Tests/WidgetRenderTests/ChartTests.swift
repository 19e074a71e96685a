import NodeSamples
import Testing
import WidgetLayout
import WidgetModel
import WidgetRender

struct ChartTests {
  private func text(
    _ width: Int, _ height: Int, _ draw: (inout CellGrid) -> Void
  ) -> String {
    var grid = CellGrid(width: width, height: height)
    draw(&grid)
    return PlainTextEncoder.text(grid)
  }

  @Test(
    arguments: [
      (0, "░░░░░\n"), (1, "█████\n"), (0.5, "██▌░░\n"), (0.03, "▏░░░░\n"), (-3, "░░░░░\n"),
      (7, "█████\n"), (.nan, "░░░░░\n"), (.infinity, "█████\n"),
    ] as [(Double, String)])
  func `a bar is filled by eighths of a cell`(share: Double, _ expected: String) {
    #expect(text(5, 1) { $0.bar(share, in: $0.bounds, style: .plain, track: .plain) } == expected)
  }

  @Test func `a bar has dots only without a coloured track`() {
    #expect(text(3, 1) { $0.bar(nil, in: $0.bounds, style: .plain, track: .plain) } == "···\n")
    let track = CellStyle(background: .palette(8))
    #expect(text(3, 1) { $0.bar(0.5, in: $0.bounds, style: .plain, track: track) } == "█▌\n")
  }

  private func chart(_ values: [Value], _ properties: ValueMap = [:]) -> String {
    var properties = properties
    properties["values"] = .list(values)
    let content = Gallery.content(Gallery.part(.chart, "c", properties))
    return WidgetPicture(format: .text).text(of: content, width: 12)
  }

  @Test func `the scale of bars begins at 0, unless it is given`() {
    #expect(
      ChartScale(ofBars: [90, 100]).map { [$0.low, $0.high] } == [0, 100])
    #expect(ChartScale(ofBars: [-1, 3]).map { [$0.low, $0.high] } == [-1, 3])
    #expect(ChartScale(ofBars: [-4, nil]).map { [$0.low, $0.high] } == [-4, 0])
    #expect(ChartScale(ofBars: [90, 100], low: 80).map { [$0.low, $0.high] } == [80, 100])
    #expect(ChartScale(ofBars: [0, 0]) == nil)
    let bars = chart([5, 10], ["style": "bar"]).split(separator: "\n")
    #expect(bars.count == 2)
    // Half as long, to an eighth of a cell.
    #expect(abs(2 * bars[0].count { $0 == "█" } - bars[1].count { $0 == "█" }) <= 1)
    #expect(!chart([0, 0], ["style": "bar"]).contains("█"))
  }

  @Test func `bars that have no room leave out the oldest values`() {
    let bars = chart([5, 10, 37, 42], ["style": "bar", "height": 32]).split(separator: "\n")
    #expect(bars.count == 2)
    #expect(bars.first?.contains("37") == true && bars.last?.contains("42") == true, "\(bars)")
  }

  @Test(arguments: ["bar", "sparkline", "line"])
  func `an empty chart shows that it has no values`(style: String) {
    #expect(chart([], ["style": .string(style)]).contains("no values"))
    if style != "bar" {
      #expect(chart([.null], ["style": .string(style)]).contains("no values"))
    }
    #expect(!chart([1, 2], ["style": .string(style)]).contains("no values"))
  }

  @Test func `a sparkline has the newest values, as high as they are`() {
    let values: [Double?] = [99, 0, 1, nil, 4, 8]
    let scale = ChartScale(0, 8)
    #expect(
      text(5, 1) { $0.sparkline(values, scale: scale, in: $0.bounds, style: .plain) } == "▁▁ ▄█\n")
    #expect(
      text(5, 2) { $0.sparkline(values, scale: scale, in: $0.bounds, style: .plain) }
        == "    █\n▁▂ ██\n")
    #expect(
      text(2, 1) { $0.sparkline([3, 3], scale: nil, in: $0.bounds, style: .plain) } == "▄▄\n")
  }

  @Test func `a line connects its values, and a gap breaks it`() {
    let up: [Double?] = [0, 1]
    #expect(
      text(4, 2) { $0.line(up, scale: ChartScale(0, 1), in: $0.bounds, style: .plain) }
        == "  ⡠⠊\n⡠⠊\n")
    let gap: [Double?] = [0, 0, nil, 1, 1]
    #expect(
      text(4, 1) { $0.line(gap, scale: ChartScale(0, 1), in: $0.bounds, style: .plain) }
        == "⣀ ⠈⠉\n")
    #expect(text(2, 1) { $0.line([1], scale: nil, in: $0.bounds, style: .plain) } == " ⠂\n")
  }

  @Test func `values that cannot be drawn do not trap`() {
    let values: [Double?] = [.nan, .infinity, -.infinity, nil, 1e308, -1e308]
    for scale in [ChartScale(of: values), ChartScale(0, 1), nil] {
      _ = text(4, 2) { grid in
        for rect in [
          grid.bounds, LayoutRect(x: -3, y: -1, width: 2, height: 1), .zero,
          LayoutRect(x: .max - 1, y: .max - 9, width: 1, height: 4),
        ] {
          grid.sparkline(values, scale: scale, in: rect, style: .plain)
          grid.line(values, scale: scale, in: rect, style: .plain)
          grid.bar(0.5, in: rect, style: .plain, track: .plain)
        }
      }
    }
    #expect(ChartScale(1, 1) == nil)
    #expect(ChartScale(-1e308, 1e308) == nil)
    #expect(ChartScale(.nan, 1) == nil)
  }
}
