import Testing
import WidgetModel

@testable import widgetctl

@Suite struct TraceTextTests {
  private let payload: ValueMap = [
    "lines": .list([
      .map([
        "time": .timestamp(.epoch), "widget": .string("w"), "subject": .string("source"),
        "name": .string("feed"), "text": .string("sends a GET request to http://a/\u{1B}[2J"),
      ]),
      .map([
        "time": .timestamp(.epoch), "widget": .string(""), "subject": .string("bundle"),
        "name": .string("b"), "text": .string("1.0.0 is loaded"),
      ]),
    ]), "dropped": .int(3),
  ]

  @Test func `a line for people has the time, the place and what happened`() {
    let text = TraceText.text(payload, only: [], .table, Painter(usesColour: false))
    #expect(text.hasPrefix("00:00:00.000  w  source feed  sends a GET request to http://a/"))
    #expect(!text.contains("\u{1B}"))
    #expect(text.contains("\n00:00:00.000  bundle b  1.0.0 is loaded\n"))
    #expect(text.hasSuffix("… 3 more lines were left out\n"))
  }

  @Test func `with jsonl each line is one object, for the chosen widgets`() {
    let text = TraceText.text(payload, only: ["w"], .jsonl, Painter(usesColour: false))
    let lines = text.split(separator: "\n")
    #expect(lines.count == 2)
    #expect(lines.first?.contains(#""name":"feed""#) == true)
    #expect(lines.last == #"{"dropped":3}"#)
  }

  @Test func `each problem of a failed bundle has a line`() {
    #expect(BundleTraceCommand.failed("a: wrong") == "the bundle has failed: a: wrong")
    #expect(
      BundleTraceCommand.failed("a: wrong\nb: \u{1B}[2J") == """
        the bundle has failed:
          a: wrong
          b: \\u{1b}[2J
        """)
  }

  @Test(arguments: [
    ("2026-11-21T14:30:00Z", "14:30:00.000"), ("2026-11-21T14:30:00.5Z", "14:30:00.500"),
    ("2026-11-21T14:30:00.123456Z", "14:30:00.123"),
  ])
  func `times are of the same width`(time: String, clock: String) {
    #expect(TraceText.clock(time) == clock)
  }
}
